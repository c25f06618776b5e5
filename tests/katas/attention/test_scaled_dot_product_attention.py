"""scaled_dot_product_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8  # a score of some hundreds is rounded before its exponential is taken

KATA = Kata(
    "scaled_dot_product_attention",
    track="attention",
    entry_points=("scaled_dot_product_attention",),
    title="Queries, keys and values",
    source="Vaswani et al. 2017, section 3.2.1",
    roundings=ROUNDINGS,
    bank_size=36,
    axes={
        "q": "batch heads queries d_k",
        "k": "batch heads keys d_k",
        "v": "batch heads keys d_v",
        "mask": "batch heads queries keys",
    },
    hints=(
        "Take one query by itself: one score for each key, one weight for each key, and the weights sum to "
        "one. At which of these steps must the mask come in, so that the keys that are left share all of it?",
        "Only the last two axes of k change places, whatever stands before them. A score of -inf has the "
        "weight exp(-inf) = 0; a row of nothing but -inf has no finite maximum to take away and no sum to "
        "divide by, so it needs a rule of its own.",
        "Multiply q by k with its last two axes exchanged, over math.sqrt of the length of q's last axis. "
        "Where the mask is False, -inf. Take away each row's largest score (0 in rows that are all -inf), "
        "exp, divide by the row's sum (1 where that is 0). Return weights times v, and the weights.",
    ),
    hint_for={
        "masks_after_the_softmax": 1,
        "transposes_every_axis": 2,
        "reshapes_the_keys": 2,
        "leaves_blind_queries_nan": 2,
        "spreads_blind_queries_evenly": 2,
        "gives_hidden_keys_a_score_of_zero": 2,
    },
)

LENGTHS = (2, 3, 1, 4)
LEADING = ((2,), (3,), (2, 3), (1, 2), (2, 1), (2,), (), (2, 1, 2))
SLACK = {"terms": 6, "roundings": ROUNDINGS}


def draw_shape(draw, lengths=LENGTHS):
    """The leading axes, then how many queries, keys, d_k and d_v."""
    lead = draw(st.sampled_from(LEADING))
    return lead, *(draw(st.sampled_from(lengths)) for _ in range(4))


def draw_inputs(draw, scale=1.0, lengths=LENGTHS):
    """Queries, keys and values whose scores are of ordinary size."""
    lead, queries, keys, d_k, d_v = draw_shape(draw, lengths)
    dtype = draw(st.float_dtypes())
    return {
        "q": draw(st.permuted(st.arrays((*lead, queries, d_k), dtype, scale))),
        "k": draw(st.permuted(st.arrays((*lead, keys, d_k), dtype, scale))),
        "v": draw(st.permuted(st.arrays((*lead, keys, d_v), dtype))),
    }


def draw_large_scores(draw):
    """Whole numbers whose scores are exact and large: on one level, or some keys far from the others.
    Ties stay in the thousands, so that exp(scores - logsumexp(scores)) is right as well."""
    lead, queries, keys, d_k, d_v = draw_shape(draw)
    dtype = draw(st.float_dtypes())
    q, k = whole_numbers(draw, (*lead, queries, d_k)), whole_numbers(draw, (*lead, keys, d_k))
    q[..., 0] = np.where(q[..., 0] == 0, draw(st.sampled_from([1, -1])), q[..., 0])
    if draw(st.booleans()):
        d_k, level = 1, draw(st.sampled_from([300, -300, 1000, -1000]))
        q, k = q[..., :1], k[..., :1] + level
    else:
        d_k = 4 if d_k > 1 else 1  # their roots are exact
        q, k = np.repeat(q[..., :1], d_k, axis=-1), np.repeat(k[..., :1], d_k, axis=-1)
        standing_out = draw(st.lists(st.sampled_from([0, 250, -250]), min_size=keys, max_size=keys))
        k[..., 0] += np.array(standing_out)
    return {
        "q": draw(st.permuted(st.just(q.astype(dtype)))),
        "k": draw(st.permuted(st.just(k.astype(dtype)))),
        "v": draw(st.permuted(st.arrays((*lead, keys, d_v), dtype))),
    }


def whole_numbers(draw, shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(-2, 2), min_size=size, max_size=size))).reshape(shape)


def draw_mask(draw, q, k):
    """True more often than not; it may lack axes and have axes of length 1. Every query sees some key."""
    shape = (*q.shape[:-1], k.shape[-2])
    shape = shape[len(shape) - draw(st.sampled_from([*range(2, len(shape) + 1), 2, 1])) :]
    shape = tuple(draw(st.sampled_from([length, length, length, 1])) for length in shape)
    size = int(np.prod(shape))
    bits = draw(st.lists(st.sampled_from([True, True, False]), min_size=size, max_size=size))
    mask = np.array(bits).reshape(shape)
    return draw(st.permuted(st.just(mask | ~mask.any(axis=-1, keepdims=True))))


@KATA.cases
def cases(draw):
    kind = draw(st.sampled_from(["plain", "plain", "plain", "sharp", "blind", "large", "large"]))
    if kind == "blind":
        return with_nothing_to_see(draw)
    case = draw_large_scores(draw) if kind == "large" else draw_inputs(draw, 3.0 if kind == "sharp" else 1.0)
    masked = draw(st.integers(0, 2)) > 0
    return {**case, "mask": draw_mask(draw, case["q"], case["k"]) if masked else None}


def with_nothing_to_see(draw):
    """At least one query that may attend to nothing."""
    case = draw_inputs(draw)
    mask = visible(case["q"], case["k"], draw_mask(draw, case["q"], case["k"])).copy()
    mask[..., draw(st.integers(0, mask.shape[-2] - 1)), :] = False
    return {**case, "mask": mask}


def visible(q, k, mask):
    """The mask at its full shape."""
    return np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))


@KATA.corner(points=0.5)
def extreme_scores(q, k):
    """Scores beyond what exp can take give weights as well."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return np.abs(scores).max() > 50


@KATA.corner(points=0.5)
def queries_that_see_nothing(q, k, mask):
    """Beside queries that may attend to nothing, the others attend as usual."""
    return not visible(q, k, mask).any(axis=-1).all()


@KATA.corner(points=0.5)
def unusual_leading_axes(q):
    """Leading axes may be none, or more than batch and heads."""
    return q.ndim not in (3, 4)


@KATA.example
def three_tokens():
    """The queries, keys and values whose raw scores are printed."""
    return {
        "q": np.array([[1.0, 0.0], [0.5, 1.0], [0.2, 1.2]]),
        "k": np.array([[1.0, 0.0], [0.4, 1.0], [0.0, 0.8]]),
        "v": np.array([[1.0, 0.0], [0.3, 1.0], [0.0, 0.6]]),
        "mask": None,
    }


@KATA.example
def three_tokens_looking_back():
    """The same with a causal mask, in float32 and as a batch of two."""
    case = {name: x.astype(np.float32) for name, x in three_tokens().items() if x is not None}
    batch = {name: np.stack([x, 2 * x]) for name, x in case.items()}
    return {**batch, "mask": np.tril(np.ones((3, 3), dtype=bool))}


@KATA.example
def padding_of_two_sequences():
    """A batch of two with two heads each; the mask hides other keys in each sequence, for all its queries."""
    case = three_tokens()
    scaled = np.array([1.0, 2.0, -1.0, 0.5]).reshape(2, 2, 1, 1)
    batch = {name: scaled * x for name, x in case.items() if x is not None}
    return {**batch, "mask": np.array([[True, True, False], [False, True, True]])[:, None, None, :]}


@KATA.example
def one_query_sees_nothing():
    mask = np.array([[True, False, True], [False, False, False]])
    return {**three_tokens(), "q": np.array([[1.0, 0.0], [0.5, 1.0]]), "mask": mask}


@KATA.example
def a_hidden_key_stands_out():
    """The scores of the visible keys are lost beside that of the hidden one."""
    k = np.array([[1.0], [2.0], [20000.0]], dtype=np.float32)
    v = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], dtype=np.float32)
    return {
        "q": np.ones((2, 1), dtype=np.float32),
        "k": k,
        "v": v,
        "mask": np.array([[True, True, False], [True, True, True]]),
    }


@KATA.example
def a_hidden_key_among_low_scores():
    """The visible scores are lower than a penalty of some thousands."""
    return {
        "q": np.array([[[-3.0], [1.0]]], dtype=np.float32),
        "k": np.array([[[1e4], [2e4], [0.0]]], dtype=np.float32),
        "v": np.array([[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]], dtype=np.float32),
        "mask": np.array([True, True, False]),
    }


@KATA.example
def a_hidden_key_among_very_low_scores():
    """The visible scores are nearly as low as scores can be."""
    return {
        "q": np.array([[-3.0], [1.0]]),
        "k": np.array([[3e7], [3e7 + 1], [0.0]]),
        "v": np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]),
        "mask": np.array([True, True, False]),
    }


def two_heads_of_two_sequences():
    """As many sequences as heads, and as many queries as keys: a mask may be laid along the wrong axis."""
    case = three_tokens()
    scaled = np.array([1.0, 2.0, -1.0, 0.5]).reshape(2, 2, 1, 1)
    return {name: scaled * x for name, x in case.items() if x is not None}


@KATA.example
def a_mask_for_each_of_two_heads():
    """Three axes: those of heads, queries and keys."""
    return {**two_heads_of_two_sequences(), "mask": np.stack([np.tri(3, dtype=bool), ~np.eye(3, dtype=bool)])}


@KATA.example
def queries_hidden_by_a_column():
    """One entry a query serves all keys."""
    case = {name: x.astype(np.float32) for name, x in two_heads_of_two_sequences().items()}
    return {**case, "mask": np.array([[True], [False], [True]])}


@KATA.example
def no_query_sees_anything():
    """One row for all queries, and nothing visible."""
    case = {name: x.astype(np.float32) for name, x in two_heads_of_two_sequences().items()}
    return {**case, "mask": np.zeros((1, 3), dtype=bool)}


@KATA.example
def a_hidden_key_far_above_the_lowest_scores():
    """The scores are as far apart as they can be."""
    return {
        "q": np.array([[1.0], [-1.0]], dtype=np.float32),
        "k": np.array([[1e8], [-1e8], [0.0]], dtype=np.float32),
        "v": np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], dtype=np.float32),
        "mask": np.array([[False, True, False], [True, False, False]]),
    }


def call(student, q, k, v, mask):
    """None is left out of the call, so that the default is judged too."""
    if mask is None:
        return student.scaled_dot_product_attention(q, k, v)
    return student.scaled_dot_product_attention(q, k, v, mask)


@KATA.observe
def observe(student, q, k, v, mask):
    output, weights = call(student, q, k, v, mask)
    return {"output": output, "weights": weights}


def attend(student, q, k, v, mask=None):
    """The pair that comes back, once both have their shapes."""
    pair = call(student, q, k, v, mask)
    expect.true(
        isinstance(pair, tuple | list) and len(pair) == 2, "The result must be a pair, (output, weights)."
    )
    due = (*q.shape[:-1], v.shape[-1]), (*q.shape[:-1], k.shape[-2])
    for name, part, shape in zip(("output", "weights"), pair, due, strict=True):
        found = getattr(part, "shape", None)
        expect.true(
            found == shape,
            f"The {name} must have the shape {shape}; it has {found or 'none'}.",
        )
    return pair


@KATA.law(points=0.5)
def test_weights_sum_to_one(student, q, k, v, mask):
    """The weights of every query that may attend to some key are at least 0 and sum to one."""
    _, weights = attend(student, q, k, v, mask)
    seeing = visible(q, k, mask).any(axis=-1)
    expect.true((weights[seeing] >= 0).all(), "No weight may be negative, or NaN.")
    total = weights.sum(axis=-1)[seeing]
    expect.close(total, np.ones(total.shape), "the sum of a query's weights", terms=k.shape[-2])


@KATA.law(points=0.5)
def test_output_mixes_the_values(student, q, k, v, mask):
    """The output is the product of the weights and the values."""
    output, weights = attend(student, q, k, v, mask)
    expect.true(np.isfinite(weights).all(), "No weight may be NaN or infinite.")
    expect.close(output, weights @ v, "the output, beside weights @ v,", **SLACK)


def with_a_hidden_key(draw):
    """Some key is hidden from every query; another key and another value are given for it."""
    case = draw_inputs(draw, lengths=LENGTHS[:2])
    q, k, v = case.values()
    hidden = draw(st.integers(0, k.shape[-2] - 1))
    mask = visible(q, k, draw_mask(draw, q, k)).copy()
    mask[..., hidden] = False
    mask[..., hidden - 1] |= ~mask.any(axis=-1)
    other_k, other_v = k.copy(), v.copy()
    other_k[..., hidden, :] = draw(st.sampled_from([3, -2, 500])) * np.sign(q[..., 0, :] + k.dtype.type(0.1))
    other_v[..., hidden, :] += draw(st.sampled_from([1, -20]))
    return {**case, "mask": mask, "other_k": other_k, "other_v": other_v}


@KATA.law(points=0.5, cases=with_a_hidden_key)
def test_hidden_keys_do_not_count(student, q, k, v, mask, other_k, other_v):
    """A hidden key gets weight 0, and neither it nor its value changes anything."""
    output, weights = attend(student, q, k, v, mask)
    expect.equal(weights[~mask], np.zeros((~mask).sum()), "the weight of the hidden keys")
    after = attend(student, q, other_k, other_v, mask)
    what = "the pair (output, weights), after a key that is hidden from all queries was changed,"
    expect.close(list(after), [output, weights], what, **SLACK)


@KATA.law(points=0.5, cases=with_nothing_to_see)
def test_nothing_to_attend_to(student, q, k, v, mask):
    """A query that may attend to nothing gets weights 0 and output 0."""
    output, weights = attend(student, q, k, v, mask)
    blind = ~mask.any(axis=-1)
    expect.equal(weights[blind], np.zeros_like(weights[blind]), "a weight of a query that sees nothing")
    expect.equal(output[blind], np.zeros_like(output[blind]), "the output of a query that sees nothing")


@KATA.law(points=1, cases=draw_inputs)
def test_scores_grow_with_the_root_of_d_k(student, q, k, v):
    """Queries and keys repeated four times over, for four times d_k, act as twice the query."""
    doubled = attend(student, 2 * q, k, v)
    repeated = attend(student, np.concatenate([q] * 4, axis=-1), np.concatenate([k] * 4, axis=-1), v)
    what = "the pair (output, weights) for q and k with their columns repeated four times"
    expect.close(list(repeated), list(doubled), what, **SLACK)


@KATA.law(points=0.5)
def test_leading_entries_stay_apart(student, q, k, v, mask):
    """Each entry of the leading axes is attended to as if it stood alone."""
    together, seen = attend(student, q, k, v, mask), visible(q, k, mask)
    for at in np.ndindex(q.shape[:-2]):
        alone = attend(student, q[at], k[at], v[at], None if mask is None else seen[at])
        what = f"the pair (output, weights) of entry {list(at)} of the leading axes, against itself alone,"
        expect.close([part[at] for part in together], list(alone), what, **SLACK)


@KATA.law(points=0.5)
def test_worked_example(student):
    """The raw scores 0.2, 1.28 and 0.96 of the worked example give its weights and its output."""
    output, weights = attend(student, **three_tokens())
    raw = np.exp(np.array([0.20, 1.28, 0.96]) / np.sqrt(2))
    expect.decimals(weights[-1], raw / raw.sum(), 3, "the row of weights of the last query")
    expect.decimals(weights[-1], np.array([0.206, 0.442, 0.352]), 3, "the row of weights of the last query")
    expect.decimals(output[-1], np.array([0.338, 0.653]), 3, "the output of the last query")
