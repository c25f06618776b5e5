"""latent_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8

KATA = Kata(
    "latent_attention",
    track="modern",
    entry_points=("latent_attention",),
    title="A cache of one small vector a token",
    source="DeepSeek-AI 2024, section 2.1.2",
    library="torch",
    hints=(
        "Write it first with keys and values made from all latents, and see that it is right. Then write one "
        "score as a product of four: x, w_q, w_uk, latent. Which two can be multiplied without the cache?",
        "Cut w_uk into heads, [d_latent, H, d_head], and w_uv likewise. A score is q_h times (c w_uk_h) "
        "transposed, with c for all latents. Move the bracket, so that c is read as it is:\n\n"
        "    q_h                    [T_new, d_head]\n"
        "    times w_uk_h^T         [T_new, d_latent]    for the new tokens alone\n"
        "    times c^T              [T_new, T]           the scores\n"
        "    weights times c        [T_new, d_latent]    mixed latents\n"
        "    times w_uv_h           [T_new, d_v]         for the new tokens alone\n\n"
        "Nothing here has T rows of width d_head: no keys are made. The absorbed queries have width "
        "d_latent; is this the width whose root scales the scores?",
        "In this order; H is the axis of the heads:\n\n"
        "    past       len(cache), asked before the append\n"
        "    latents    what append returns for x w_dkv        [B, T, d_latent]\n"
        "    q          x w_q in heads                         [B, H, T_new, d_head]\n"
        "    w_uk       in heads, turned                       [H, d_head, d_latent]\n"
        "    absorbed   q over the root of d_head, times it    [B, H, T_new, d_latent]\n"
        "    scores     absorbed times latents, turned         [B, H, T_new, T]\n"
        "    hidden     -inf for key j where j > past + i, for query i\n"
        "    weights    softmax along the keys\n"
        "    mixed      weights times latents, times w_uv      [B, H, T_new, d_v]\n\n"
        "For the two products with latents give them an axis for the heads, [B, 1, T, d_latent]: all "
        "heads read the same. w_uv is [H, d_latent, d_v] there. At the end the heads stand beside each "
        "other, [B, T_new, H * d_v], times w_o.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)

#: The caller's cache, which writes down the shape of everything that it is given.
CACHE = """
import torch

class LatentCache:
    def __init__(self):
        self.pieces, self.given = [], []

    def __len__(self):
        return sum(piece.shape[1] for piece in self.pieces)

    def append(self, latents):
        self.given.append(list(latents.shape))
        self.pieces.append(latents)
        return torch.cat(self.pieces, dim=1)
"""
WEIGHTS = "w_q", "w_dkv", "w_uk", "w_uv", "w_o"


def attention_case(draw, scale=1.0, same_width=True):
    """A sequence, weights, and how the sequence is cut into pieces."""
    pieces = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    num_heads, d_model, d_latent = (draw(st.sampled_from(n)) for n in ([2, 1, 3], [3, 2, 4], [2, 3, 1]))
    d_head = draw(st.sampled_from([2, 1, 3, 4]))
    d_v = d_head if same_width else draw(st.sampled_from([1, 2, 3, 4]))
    dtype, batch = draw(st.float_dtypes()), draw(st.integers(1, 2))

    def tensor(*shape, scale=1.0):
        return draw(st.tensors(st.permuted(st.normal_arrays(shape, dtype, scale))))

    return {
        "x": tensor(batch, sum(pieces), d_model),
        "w_q": tensor(d_model, num_heads * d_head, scale=scale),
        "w_dkv": tensor(d_model, d_latent),
        "w_uk": tensor(d_latent, num_heads * d_head, scale=scale),
        "w_uv": tensor(d_latent, num_heads * d_v),
        "w_o": tensor(num_heads * d_v, d_model, scale=0.5),
        "num_heads": num_heads,
        "pieces": pieces,
    }


@KATA.cases
def cases(draw):
    """Plain ones, ones with extreme scores, and ones with another width of the values."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "extreme", "width"]))
    return attention_case(draw, 40.0 if kind == "extreme" else 1.0, same_width=kind != "width")


@KATA.corner(points=0.5)
def extreme_scores(w_q, w_uk):
    """Scores far beyond what exp can hold are right."""
    return float(w_q.abs().max() * w_uk.abs().max()) > 100


@KATA.corner(points=0.5)
def another_width_of_the_values(w_uk, w_uv):
    """Values may be wider or narrower than keys."""
    return w_uk.shape[1] != w_uv.shape[1]


def worked(pieces):
    import torch

    numbers = {
        "x": [[[1.0, 0.0], [0.0, 1.0]]],
        "w_q": [[1.0], [1.0]],
        "w_dkv": [[1.0], [2.0]],
        "w_uk": [[1.0]],
        "w_uv": [[10.0]],
        "w_o": [[1.0, 0.0]],
    }
    tensors = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in numbers.items()}
    return {**tensors, "num_heads": 1, "pieces": pieces}


@KATA.example
def two_tokens():
    """The example of the statement."""
    return worked([2])


@KATA.example
def one_token_then_another():
    return worked([1, 1])


@KATA.example
def a_hidden_score_far_above_the_seen():
    """The first token's own score is -30,000, and the hidden one 20,000."""
    import torch

    numbers = {"w_q": [[100.0], [100.0]], "w_dkv": [[-3.0], [2.0]], "w_uk": [[100.0]]}
    return {**worked([2]), **{name: torch.tensor(rows).double() for name, rows in numbers.items()}}


@KATA.example
def values_wider_than_keys():
    import torch

    numbers = {"w_uv": [[10.0, 20.0]], "w_o": [[1.0, 0.0], [0.0, 1.0]]}
    return {**worked([1, 1]), **{name: torch.tensor(rows).double() for name, rows in numbers.items()}}


def spans(pieces):
    stops = np.cumsum(pieces).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))


def outputs(student, x, weights, num_heads, pieces, cache=None):
    """Each piece's output, from one fresh cache."""
    cache = student.build(CACHE, "LatentCache") if cache is None else cache
    found = []
    for start, stop in spans(pieces):
        piece = x[:, start:stop].clone()
        output = student.latent_attention(piece, *weights, num_heads, cache)
        due, shape = tuple(piece.shape), tuple(getattr(output, "shape", ()))
        expect.true(shape == due, f"The output has the shape [B, T_new, d_model] = {due}; it has {shape}.")
        found.append(output)
    return found


def piece_by_piece(student, x, weights, num_heads, pieces):
    cache = student.build(CACHE, "LatentCache")
    return [
        student.latent_attention(x[:, start:stop], *weights, num_heads, cache)
        for start, stop in spans(pieces)
    ]


@KATA.observe
def observe(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, pieces):
    found = piece_by_piece(student, x, (w_q, w_dkv, w_uk, w_uv, w_o), num_heads, pieces)
    return {f"output_{index}": output for index, output in enumerate(found)}


def close(got, expected, what):
    expect.close(got, expected, what, terms=16, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_any_cutting_gives_the_same(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, pieces):
    """A sequence gives the same right outputs whole, in pieces, and token by token."""
    weights, tokens = (w_q, w_dkv, w_uk, w_uv, w_o), x.shape[1]
    whole = expected_output(x, weights, num_heads)
    for cut in (pieces, [tokens], [1] * tokens):
        got = outputs(student, x, weights, num_heads, cut)
        what = f"the output of each piece, for pieces of {cut} tokens,"
        close(got, [whole[:, start:stop] for start, stop in spans(cut)], what)


def expected_output(x, weights, num_heads):
    w_q, w_dkv, w_uk, w_uv, w_o = weights
    return multi_head_attention(x, w_q, w_dkv @ w_uk, w_dkv @ w_uv, w_o, num_heads).to(x.dtype)


@KATA.law(points=1)
def test_it_is_multi_head_attention(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, pieces):
    """The outputs are those of multi-head attention with w_k = w_dkv w_uk and w_v = w_dkv w_uv."""
    got = outputs(student, x, (w_q, w_dkv, w_uk, w_uv, w_o), num_heads, pieces)
    expected = multi_head_attention(x, w_q, w_dkv @ w_uk, w_dkv @ w_uv, w_o, num_heads)
    due = [expected[:, start:stop].to(x.dtype) for start, stop in spans(pieces)]
    close(got, due, f"the output of each piece, cut {pieces},")


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    x, *weights = (tensor.double() for tensor in (x, w_q, w_k, w_v, w_o))
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2) for w in weights[:3])
    scores = q @ k.mT / q.shape[-1] ** 0.5
    later = scores.new_ones(scores.shape[-2:]).triu(1).bool()
    powers = (scores - scores.amax(-1, keepdim=True)).masked_fill(later, float("-inf"))
    powers = (powers - powers.amax(-1, keepdim=True)).exp()
    mixed = powers / powers.sum(-1, keepdim=True) @ v
    return mixed.transpose(1, 2).flatten(2) @ weights[3]


@KATA.law(points=0.5)
def test_the_cache_gets_latents_alone(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, pieces):
    """Each call appends the new tokens' latents once, [B, T_new, d_latent], and nothing else."""
    cache = student.build(CACHE, "LatentCache")
    outputs(student, x, (w_q, w_dkv, w_uk, w_uv, w_o), num_heads, pieces, cache)
    due = [[x.shape[0], new, w_dkv.shape[1]] for new in pieces]
    what = f"the list of shapes that the cache was given, for pieces of {pieces} tokens,"
    expect.equal(cache.given, due, what)
    for got, (start, stop) in zip(cache.pieces, spans(pieces), strict=True):
        close(got, x[:, start:stop] @ w_dkv, "what the cache was given")


@KATA.law(points=0.5)
def test_no_token_sees_a_later_one(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads):
    """No token's output depends on a later token of the same piece."""
    weights, tokens = (w_q, w_dkv, w_uk, w_uv, w_o), x.shape[1]
    changed = x.clone()
    changed[:, -1] = 1 - x[:, -1]
    [before], [after] = (outputs(student, rows, weights, num_heads, [tokens]) for rows in (x, changed))
    what = "the output of the earlier tokens, after the last one was changed,"
    close(after[:, :-1], before[:, :-1], what)


@KATA.law(points=0.5)
def test_caches_live_side_by_side(student, x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, pieces):
    """Two caches fed in turn give each its own right outputs."""
    weights, other = (w_q, w_dkv, w_uk, w_uv, w_o), x.flip(1) + 1
    caches = [student.build(CACHE, "LatentCache") for _ in range(2)]
    in_turn = [
        student.latent_attention(sequence[:, start:stop].clone(), *weights, num_heads, cache)
        for start, stop in spans(pieces)
        for sequence, cache in zip((x, other), caches, strict=True)
    ]
    for first, sequence in enumerate((x, other)):
        whole = expected_output(sequence, weights, num_heads)
        due = [whole[:, start:stop] for start, stop in spans(pieces)]
        close(in_turn[first::2], due, "the output of a sequence whose pieces took turns with another's")


@KATA.law(points=1, purpose=True)
def test_projects_no_cached_token_up(student):
    """The right result takes no keys or values of cached tokens."""
    import torch

    num_heads, d_head, d_latent, d_model, (short, long) = 2, 32, 4, 8, (16, 80)
    rng = np.random.default_rng(4)
    width = num_heads * d_head
    shapes = (d_model, width), (d_model, d_latent), (d_latent, width), (d_latent, width), (width, d_model)
    weights = [torch.from_numpy(rng.standard_normal(shape).astype("float32") / 3) for shape in shapes]
    x = torch.from_numpy(rng.standard_normal((1, long + 1, d_model)).astype("float32"))
    lengths = range(short, long + 1, 16)
    work = [work_of_a_step(student, x, weights, num_heads, length) for length in lengths]
    limit, growth = d_latent * width, (work[-1] - work[0]) / (long - short)
    bounds = [work[0] + limit * (length - short) for length in lengths]
    wrong = [index for index, bound in enumerate(bounds) if work[index] > bound]
    at = [f"{length} tokens" for length in lengths]
    expect.true(
        growth <= limit,
        f"With {num_heads} heads, d_head={d_head} and d_latent={d_latent}, a one-token step may cost {limit} "
        f"more floating-point operations for each token in the cache. With {long} tokens and not {short} it "
        f"costs {growth:,.0f} more for each.",
        expect.curve("operations of a one-token step", bounds, work, at, wrong=wrong),
    )


def work_of_a_step(student, x, weights, num_heads, length):
    """The operations of the step that brings the token after `length` others, if its result is right."""
    cache = student.build(CACHE, "LatentCache")
    student.latent_attention(x[:, :length].clone(), *weights, num_heads, cache)
    with student.counting_flops() as work:
        got = student.latent_attention(x[:, length : length + 1].clone(), *weights, num_heads, cache)
    w_q, w_dkv, w_uk, w_uv, w_o = weights
    expected = multi_head_attention(x[:, : length + 1], w_q, w_dkv @ w_uk, w_dkv @ w_uv, w_o, num_heads)
    expect.close(got, expected[:, -1:].float(), "the output", terms=length, roundings=ROUNDINGS)
    return work.flops
