"""multi_head_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8  # four matrix products and a softmax

KATA = Kata(
    "multi_head_attention",
    track="attention",
    entry_points=("multi_head_attention",),
    title="Several attentions side by side",
    source="Vaswani et al. 2017, section 3.2.2",
    roundings=ROUNDINGS,
    bank_size=32,
    axes={
        "x_q": "batch queries d_model",
        "x_kv": "batch keys d_model",
        "w_q": "d_model H*d_k",
        "w_k": "d_model H*d_k",
        "w_v": "d_model H*d_v",
        "w_o": "H*d_v d_model",
        "mask": "batch heads queries keys",
    },
    hints=(
        "Write down the shape after every step, with B, H, Tq, Tk, d_k and d_v all different. Which of them "
        "comes from x_q, which from x_kv, and which from the matrices?",
        "Each projection is cut into heads as in head_split_merge, with its own width; then it is scaled "
        "dot-product attention with two leading axes, and the mask fits its scores as it comes. Only one "
        "head's columns count for the scale.",
        "The shapes, line by line; an arrow is a reshape to [B, T, H, width / H] and an exchange of axes "
        "1 and 2:\n\n"
        "    q         x_q w_q     [B, Tq, H * d_k]  ->  [B, H, Tq, d_k]\n"
        "    k         x_kv w_k    [B, Tk, H * d_k]  ->  [B, H, Tk, d_k]\n"
        "    v         x_kv w_v    [B, Tk, H * d_v]  ->  [B, H, Tk, d_v]\n"
        "    scores    q times k, its last two axes exchanged, over math.sqrt\n"
        "              of d_k                            [B, H, Tq, Tk]\n"
        "    hidden    -inf where the mask is False\n"
        "    weights   minus the row's maximum (0 in rows that are all -inf), exp,\n"
        "              over the row's sum (1 where that is 0)\n"
        "    mixed     weights times v                   [B, H, Tq, d_v]\n"
        "    result    exchange back, [B, Tq, H * d_v], times w_o",
    ),
    hint_for={
        "expects_values_as_wide_as_keys": 1,
        "expects_d_model_columns": 1,
        "attends_to_itself": 1,
        "scales_by_the_root_of_d_model": 2,
        "scales_by_the_width_of_all_heads": 2,
        "splits_without_a_transpose": 2,
    },
)

SLACK = {"terms": 6, "roundings": ROUNDINGS}
#: By d_model, the largest whole number of `draw_inputs`: scores stay below some thousands.
LARGEST_WHOLE = {1: 6, 2: 5, 3: 4}
ARGUMENTS = ("x_q", "x_kv", "w_q", "w_k", "w_v", "w_o")


def draw_inputs(draw, heads=(2, 3, 1), whole=False, square=True):
    """Tokens and matrices of tenths, the widths of `square` ones d_model; `whole` ones make large scores
    that are exact, and not so large that exp(scores - logsumexp(scores)) loses its digits."""
    batch, queries, keys = (draw(st.sampled_from([2, 3, 1, 4])) for _ in range(3))
    num_heads = draw(st.sampled_from(heads))
    d_k, d_v = draw(st.sampled_from([1, 4] if whole else [2, 1, 3])), draw(st.sampled_from([2, 1, 3]))
    d_v = d_k if square else d_v
    d_model = num_heads * d_k if square else draw(st.sampled_from([2, 3, 1, 4]))
    dtype, size = draw(st.float_dtypes()), LARGEST_WHOLE.get(d_model, 2) if whole else 10
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def numbers(*shape):
        drawn = rng.integers(-size, size + 1, shape) / (1 if whole else 10)
        return draw(st.permuted(st.just(drawn.astype(dtype))))

    return {
        "x_q": numbers(batch, queries, d_model),
        "x_kv": numbers(batch, keys, d_model),
        "w_q": numbers(d_model, num_heads * d_k),
        "w_k": numbers(d_model, num_heads * d_k),
        "w_v": numbers(d_model, num_heads * d_v),
        "w_o": numbers(num_heads * d_v, d_model),
        "num_heads": num_heads,
    }


def scores_shape(case):
    return len(case["x_q"]), case["num_heads"], case["x_q"].shape[1], case["x_kv"].shape[1]


def draw_mask(draw, shape, for_heads=False):
    """True more often than not; it may lack axes and have axes of length 1. Every query sees some key, and
    all heads see the same unless the mask is `for_heads`."""
    axes = 3 if for_heads else draw(st.sampled_from([4, 2, 4, 1]))
    own = shape[1] if for_heads else 1
    shape = (draw(st.sampled_from([shape[0], shape[0], 1])), own, *shape[2:])[-axes:]
    shape = (*shape[:-1], draw(st.sampled_from([shape[-1], shape[-1], shape[-1], 1])))
    size = int(np.prod(shape))
    bits = draw(st.lists(st.sampled_from([True, True, False]), min_size=size, max_size=size))
    mask = np.array(bits).reshape(shape)
    return draw(st.permuted(st.just(mask | ~mask.any(axis=-1, keepdims=True))))


@KATA.cases
def cases(draw):
    kind = draw(st.sampled_from(["plain", "plain", "plain", "large", "large", "wide", "blind", "heads"]))
    if kind == "blind":
        return with_nothing_to_see(draw)
    heads = (2, 3) if kind == "heads" else (2, 3, 1)
    case = draw_inputs(draw, heads, whole=kind == "large", square=kind != "wide")
    masked = kind == "heads" or draw(st.integers(0, 2)) > 0
    return {**case, "mask": draw_mask(draw, scores_shape(case), kind == "heads") if masked else None}


def with_nothing_to_see(draw):
    """At least one query may attend to nothing, in any head."""
    case = draw_inputs(draw)
    shape = scores_shape(case)
    mask = np.broadcast_to(draw_mask(draw, shape), shape).copy()
    mask[:, :, draw(st.integers(0, shape[2] - 1))] = False
    return {**case, "mask": mask}


@KATA.corner(points=0.5)
def extreme_scores(x_q, x_kv, w_q, w_k, num_heads):
    """Scores beyond what exp can take give weights as well."""
    q, k = (
        (x.astype(np.float64) @ w).reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
        for x, w in ((x_q, w_q), (x_kv, w_k))
    )
    return np.abs(q @ k.swapaxes(2, 3)).max() / np.sqrt(q.shape[-1]) > 50


@KATA.corner(points=0.5)
def queries_that_see_nothing(mask):
    """Beside queries that may attend to nothing, the others attend as usual."""
    return mask is not None and not mask.any(axis=-1).all()


@KATA.corner(points=0.5)
def widths_of_their_own(x_q, w_q, w_v):
    """The widths of the projections may be others than d_model, and two."""
    return not x_q.shape[2] == w_q.shape[1] == w_v.shape[1]


@KATA.corner(points=0.5)
def a_mask_for_each_head(mask):
    """Each head may have a mask of its own."""
    return mask is not None and mask.ndim > 2 and mask.shape[-3] > 1


@KATA.example
def two_heads_of_one_column():
    """The example of the statement."""
    eye = np.eye(2)
    return {
        "x_q": np.array([[[2.0, 0.0]]]),
        "x_kv": np.array([[[1.0, 0.0], [0.0, 1.0]]]),
        **{"w_q": eye, "w_k": eye, "w_v": eye, "w_o": np.array([[1.0, 0.0], [0.0, 2.0]])},
        "num_heads": 2,
        "mask": None,
    }


def two_sequences(dtype):
    """Two sequences, two heads, and every length another."""
    rng = np.random.default_rng(7)
    shapes = (2, 3, 5), (2, 4, 5), (5, 4), (5, 4), (5, 6), (6, 5)
    arrays = [(rng.integers(-10, 11, shape) / 10).astype(dtype) for shape in shapes]
    return {**dict(zip(ARGUMENTS, arrays, strict=True)), "num_heads": 2}


@KATA.example
def a_mask_for_each_sequence():
    """Padding: the last two tokens of the first sequence, none of the second."""
    mask = np.array([[True, True, False, False], [True, True, True, True]])[:, None, None, :]
    return {**two_sequences(np.float64), "mask": mask}


@KATA.example
def a_mask_for_two_heads():
    """Three axes: those of heads, queries and keys. One query of the second head sees nothing."""
    mask = np.tri(3, 4, 1, dtype=bool)
    return {**two_sequences(np.float32), "mask": np.stack([mask, mask & (np.arange(3) > 0)[:, None]])}


def two_heads():
    """Two sequences and two heads of square matrices, with a mask for each head."""
    rng = np.random.default_rng(8)
    arrays = [rng.integers(-10, 11, shape) / 10 for shape in ((2, 3, 4), (2, 3, 4), *[(4, 4)] * 4)]
    mask = np.stack([np.tri(3, dtype=bool), np.array([[False, True, True]] * 3)])
    return {**dict(zip(ARGUMENTS, arrays, strict=True)), "num_heads": 2, "mask": mask}


@KATA.example
def heads_that_see_different_tokens():
    """The first head looks back, the second at the last two tokens."""
    return two_heads()


@KATA.example
def a_mask_for_each_head_of_each_sequence():
    """Four axes, none of length one."""
    mask = two_heads()["mask"]
    return {**two_heads(), "mask": np.stack([mask, mask[::-1]])}


@KATA.example
def hidden_tokens_that_stand_out():
    """One is far above the visible tokens, one far above tokens with very low scores."""
    x_kv = np.array([[[1.0], [2.0], [20000.0]], [[-20000.0], [-30000.0], [0.0]]], dtype=np.float32)
    one, small = np.ones((1, 1), dtype=np.float32), np.full((1, 1), 1e-3, dtype=np.float32)
    return {
        "x_q": np.array([[[1.0], [-1.0]], [[1.0], [1.0]]], dtype=np.float32),
        **{"x_kv": x_kv, "w_q": one, "w_k": one, "w_v": small, "w_o": one},
        "num_heads": 1,
        "mask": np.array([[True, True, False]]),
    }


def as_many_queries_as_tokens_to_read():
    rng = np.random.default_rng(9)
    arrays = [rng.integers(-10, 11, shape) / 10 for shape in ((2, 3, 4), (2, 3, 4), *[(4, 4)] * 4)]
    return {**dict(zip(ARGUMENTS, arrays, strict=True)), "num_heads": 2}


@KATA.example
def a_mask_of_one_axis():
    """That of the keys, and not that of the queries, of which there are as many."""
    return {**as_many_queries_as_tokens_to_read(), "mask": np.array([True, False, True])}


@KATA.example
def queries_hidden_by_a_column():
    """One entry a query serves all tokens."""
    return {**as_many_queries_as_tokens_to_read(), "mask": np.array([[True], [False], [True]])}


def call(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask):
    """None is left out of the call, so that the default is judged too."""
    if mask is None:
        return student.multi_head_attention(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads)
    return student.multi_head_attention(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)


@KATA.observe
def observe(student, **case):
    return {"result": call(student, **case)}


def attend(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """The result, once it has a row for each query."""
    result = call(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    found = getattr(result, "shape", None)
    sentence = f"The result must have the shape of x_q, {x_q.shape}; it has {found or 'none'}."
    expect.true(found == x_q.shape, sentence)
    return result


def with_several_heads(draw):
    case = draw_inputs(draw, heads=[2, 3])
    return {**case, "mask": draw_mask(draw, scores_shape(case))}


@KATA.law(points=1, cases=with_several_heads)
def test_heads_add_up(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask):
    """The result is the sum of what each head gives alone, with its columns and its rows of w_o."""
    together = attend(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    seen = np.broadcast_to(mask, (len(x_q), num_heads, x_q.shape[1], x_kv.shape[1]))
    columns = zip(*(np.split(w, num_heads, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    alone = [
        attend(student, x_q, x_kv, *own, rows, 1, seen[:, head : head + 1])
        for head, (own, rows) in enumerate(zip(columns, np.split(w_o, num_heads), strict=True))
    ]
    what = f"the result of {num_heads} heads, beside the sum of what each gives alone,"
    expect.close(together, sum(alone), what, **SLACK)


@KATA.law(points=0.5, cases=draw_inputs)
def test_scale_is_that_of_one_head(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads):
    """Heads with four copies of each column of q and k act as heads with twice the queries."""
    doubled = attend(student, x_q, x_kv, 2 * w_q, w_k, w_v, w_o, num_heads)
    copies = (np.repeat(w, 4, axis=1) for w in (w_q, w_k))
    repeated = attend(student, x_q, x_kv, *copies, w_v, w_o, num_heads)
    what = "the result with every column of w_q and w_k four times over, in place,"
    expect.close(repeated, doubled, what, **SLACK)


def with_a_hidden_token(draw):
    """Some token is hidden from every query in every head; another is given for it."""
    case = draw_inputs(draw)
    if case["x_kv"].shape[1] == 1:
        case["x_kv"] = np.concatenate([case["x_kv"], -case["x_kv"]], axis=1)
    shape, x_kv = scores_shape(case), case["x_kv"]
    hidden = draw(st.integers(0, shape[-1] - 1))
    mask = np.broadcast_to(draw_mask(draw, shape), shape).copy()
    mask[..., hidden] = False
    mask[..., hidden - 1] |= ~mask.any(axis=-1)
    other = x_kv.copy()
    other[:, hidden] = draw(st.sampled_from([3, -3000, 3000])) * x_kv[:, hidden] + 1
    return {**case, "mask": mask, "other_kv": other}


@KATA.law(points=0.5, cases=with_a_hidden_token)
def test_hidden_tokens_do_not_count(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask, other_kv):
    """A token that is hidden from all queries may be any other and changes nothing."""
    before = attend(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    after = attend(student, x_q, other_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    expect.close(after, before, "the result, after a hidden token was replaced,", **SLACK)


@KATA.law(points=0.5, cases=with_nothing_to_see)
def test_nothing_to_attend_to(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask):
    """A query that may attend to nothing in any head gives 0."""
    result = attend(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    blind = ~mask.any(axis=(1, 3))
    expect.equal(result[blind], np.zeros_like(result[blind]), "the result of a query that sees nothing")


@KATA.law(points=0.5)
def test_sequences_stay_apart(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask):
    """Each sequence of the batch is attended to as if it stood alone."""
    together = attend(student, x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask)
    shape = (len(x_q), num_heads, x_q.shape[1], x_kv.shape[1])
    for at in range(len(x_q)):
        own = None if mask is None else np.broadcast_to(mask, shape)[at : at + 1]
        alone = attend(student, x_q[at : at + 1], x_kv[at : at + 1], w_q, w_k, w_v, w_o, num_heads, own)
        what = f"the result of sequence {at} in the batch, against itself alone,"
        expect.close(together[at : at + 1], alone, what, **SLACK)


@KATA.law(points=0.5)
def test_worked_example(student):
    """The worked example comes out, with two heads and with one."""
    case = two_heads_of_one_column()
    two = attend(student, **case)
    expect.decimals(two, np.array([[[0.881, 1.0]]]), 3, "the result of two heads")
    one = attend(student, **{**case, "num_heads": 1})
    expect.decimals(one, np.array([[[0.804, 0.391]]]), 3, "the result of one head")
