"""qk_norm_softcap: its cases and its laws.

With a sink of 0 a score can be read from the result: with the identity as values the result is the weights,
and a score is the logarithm of a weight over what all weights leave to the sink.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16
KINDS = (*["plain"] * 5, "sharp", "sharp", "far sink", "far sink", "small", "small")

KATA = Kata(
    "qk_norm_softcap",
    track="modern",
    entry_points=("qk_norm_softcap",),
    title="Attention whose scores cannot run away",
    source="Henry et al. 2020; Gemma Team 2024; OpenAI 2025",
    axes={
        "q": "batch heads queries d_head",
        "k": "batch heads keys d_head",
        "v": "batch heads keys d_v",
        "gamma_q": "d_head",
        "gamma_k": "d_head",
        "sink": "heads",
    },
    hints=(
        "Take two scores, 0 and 3, and a sink of 0. Write the three powers of e by hand and divide. To which "
        "of the three does no value belong? And what would tanh make of a score that is already -inf?",
        "The steps have one order: normalise, multiply, scale, cap, hide, softmax. The sink is one more "
        "number in each row's denominator:\n\n"
        "    scores of a row    0      3      hidden\n"
        "    powers             1     20.1    0\n"
        "    sink 0             1\n"
        "    weights            1/22.1   20.1/22.1   0       together 21.1/22.1\n\n"
        "Each query and each key is normalised by itself, over its d_head numbers, so the axis of that "
        "average is kept with length 1. The sinks are [H]: which axes must they get to meet the scores "
        "[B, H, Tq, Tk]?",
        "In this order, with n the RMS norm of a vector and its gamma:\n\n"
        "    scores     n(q) times n(k), its last two axes exchanged,\n"
        "               over the root of d_head           [B, H, Tq, Tk]\n"
        "    capped     softcap times tanh of scores over softcap\n"
        "    hidden     -inf at key j for query i where j > Tk - Tq + i\n"
        "    extra      the sinks as [H, 1, 1]\n"
        "    largest    the larger of the row's maximum and extra   [B, H, Tq, 1]\n"
        "    powers     exp of capped minus largest\n"
        "    total      the row's sum of powers, plus exp of extra minus largest\n"
        "    result     powers over total, times v        [B, H, Tq, d_v]\n\n"
        "A sink of -inf needs no branch: the row's maximum is finite, so its power is exp(-inf) = 0. Take "
        "the root as a Python float, so that float32 stays float32.",
    ),
    hint_for={"hides_before_the_cap": 2, "normalises_over_all_heads": 2, "adds_the_sink_to_the_scores": 2},
    roundings=ROUNDINGS,
    bank_size=40,
)


def attention_case(draw, kind="plain", longest=3):
    """Arguments of one call; the kind says what is special about them."""
    batch, heads, queries = (
        draw(st.integers(1, 2)),
        draw(st.sampled_from([2, 3, 1])),
        draw(st.integers(1, longest)),
    )
    keys, d_head, d_v = queries + draw(st.integers(0, 2)), draw(st.integers(2, 4)), draw(st.integers(1, 4))
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    # Vectors about as long as the root of eps, where it takes part.
    size = draw(st.sampled_from([0.001, 0.0005])) if kind == "small" else draw(st.sampled_from([1.0, 3.0]))
    gain = draw(st.sampled_from([30.0, 60.0])) if kind == "sharp" else 1.0
    softcap = draw(st.sampled_from([500.0, 2000.0] if kind == "sharp" else [2.0, 0.5, 5.0, 50.0]))
    sinks = rng.choice([-np.inf, -300.0, 300.0] if kind == "far sink" else [-1.0, 0.5, 2.0, 0.0], heads)

    def drawn(*shape):
        return np.round(rng.standard_normal(shape), 2)

    return {
        "q": draw(st.permuted(st.just((size * drawn(batch, heads, queries, d_head)).astype(dtype)))),
        "k": draw(st.permuted(st.just((size * drawn(batch, heads, keys, d_head)).astype(dtype)))),
        "v": draw(st.permuted(st.just(drawn(batch, heads, keys, d_v).astype(dtype)))),
        "gamma_q": (gain * (1 + 0.5 * drawn(d_head))).astype(dtype),
        "gamma_k": (1 + 0.5 * drawn(d_head)).astype(dtype),
        "softcap": softcap,
        "sink": sinks.astype(dtype),
    }


@KATA.cases
def cases(draw):
    return attention_case(draw, draw(st.sampled_from(KINDS)))


@KATA.corner(points=0.5)
def scores_in_the_hundreds(gamma_q):
    """Scores in the hundreds, below a cap as high, give weights."""
    return float(np.abs(gamma_q).max()) > 10


@KATA.corner(points=0.5)
def far_sinks(sink):
    """A sink far above or far below all scores, or at -inf, has its share."""
    return bool((np.abs(sink) > 100).any())


@KATA.corner(points=0.5)
def vectors_as_small_as_eps(q):
    """Vectors so small that eps shows are normalised with it."""
    return bool((np.abs(q) < 0.01).all())


def pinned(q, k, v, softcap, sink, gamma=(1.0, 1.0), dtype="float64"):
    """One sequence, one head for each sink, gammas alike."""
    q, k, v = (np.array([[rows] * len(sink)], dtype) for rows in (q, k, v))
    gammas = {"gamma_q": np.array(gamma, dtype), "gamma_k": np.array(gamma, dtype)}
    return {"q": q, "k": k, "v": v, **gammas, "softcap": softcap, "sink": np.array(sink, dtype)}


@KATA.example
def printed():
    """The example of the statement."""
    return pinned([[3.0, 3.0]], [[0.1, -0.1], [5.0, 5.0]], [[10.0], [20.0]], 1.0, [0.0, -np.inf])


@KATA.example
def a_hidden_key_that_fits_best():
    """The first query must not see the second key, whatever the cap is."""
    return pinned([[1.0, 0.0]] * 2, [[-1.0, 0.0], [1.0, 0.0]], [[1.0], [100.0]], 0.5, [-np.inf, 1.0])


@KATA.example
def a_query_of_zeros():
    """All its scores are 0."""
    return pinned([[0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]], [[3.0], [6.0]], 5.0, [0.0, 1.0], dtype="float32")


@KATA.example
def two_tokens_behind_a_cache():
    return pinned([[1.0, 2.0], [-2.0, 1.0]], [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [2.0, -1.0]],
                  [[1.0], [2.0], [4.0], [8.0]], 3.0, [0.5, -0.5], gamma=(2.0, 0.5))  # fmt: skip


@KATA.example
def scores_of_a_thousand():
    """All of them positive for one query and all negative for the other."""
    return pinned([[1.0, 1.0], [-1.0, -1.0]], [[1.0, 1.0], [1.0, 0.9], [1.0, 0.8]], [[1.0], [2.0], [4.0]],
                  2000.0, [-np.inf, 0.0], gamma=(30.0, 30.0), dtype="float32")  # fmt: skip


@KATA.example
def a_hidden_key_far_above_the_seen():
    """The first query's own score is about -50,000, and that of the hidden key as far above zero."""
    return pinned([[1.0, 1.0]] * 2, [[-1.0, -1.0], [1.0, 1.0]], [[1.0], [2.0]],
                  100000.0, [-np.inf, -np.inf], gamma=(200.0, 200.0), dtype="float32")  # fmt: skip


@KATA.example
def a_sink_that_takes_all():
    return pinned([[1.0, 1.0]], [[1.0, 1.0]], [[5.0]], 10.0, [1000.0, -1000.0, -np.inf], dtype="float32")


def attended(student, q, k, v, gamma_q, gamma_k, softcap, sink):
    """The result, once it is an array of the due shape."""
    result = student.qk_norm_softcap(q, k, v, gamma_q, gamma_k, softcap, sink)
    due, shape = (*q.shape[:3], v.shape[-1]), getattr(result, "shape", None)
    expect.true(
        shape == due, f"The result must have the shape [B, H, Tq, d_v] = {due}; it came with {shape}."
    )
    return result


def one_row(draw, cap=None):
    """One query of a head with two or three keys, in float64: no key is hidden, and scores can be read."""
    rng, d_head = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.integers(2, 4))
    keys = draw(st.integers(2, 3))
    return {
        "q": np.round(rng.standard_normal((1, 2, 1, d_head)), 2) + 0.005,
        "k": np.round(rng.standard_normal((1, 2, keys, d_head)), 2) + 0.005,
        "gamma_q": np.round(1 + rng.random(d_head), 1),
        "gamma_k": np.round(1 + rng.random(d_head), 1),
        "softcap": cap or draw(st.sampled_from([0.5, 1.0, 2.0])),
    }


def scores_of(student, q, k, gamma_q, gamma_k, softcap):
    """The scores of the only query, [1, H, 1, Tk], read from its weights beside a sink of 0."""
    keys = k.shape[2]
    values = np.broadcast_to(np.eye(keys), (*k.shape[:2], keys, keys)).copy()
    weights = attended(student, q, k, values, gamma_q, gamma_k, softcap, np.zeros(q.shape[1]))
    rest = 1 - weights.sum(axis=-1, keepdims=True)
    readable = bool((weights > 0).all() and (rest > 0).all())
    told = (
        f"Beside a sink of 0 all weights must be above 0 and sum to less than 1; they are {weights[0, 0, 0]}."
    )
    expect.true(readable, told)
    return np.log(weights / rest)


@KATA.law(points=0.5, cases=one_row)
def test_no_score_passes_the_cap(student, q, k, gamma_q, gamma_k, softcap):
    """No score is above softcap or below -softcap, however long q, k and the gammas are."""
    scores = scores_of(student, 100 * q, k, 10 * gamma_q, gamma_k, softcap)
    largest = float(np.abs(scores).max())
    expect.true(
        largest <= softcap * 1.0001,
        f"With softcap={softcap:g} no score may be larger in size; one is {largest:.5g}.",
    )


@KATA.law(points=0.5, cases=one_row)
def test_opposite_keys_have_opposite_scores(student, q, k, gamma_q, gamma_k, softcap):
    """The keys turned round give the scores turned round."""
    before, after = (scores_of(student, q, sign * k, gamma_q, gamma_k, softcap) for sign in (1, -1))
    what = "each score for -k, read from the weights beside a sink of 0,"
    expect.close(after, -before, what, terms=8, roundings=ROUNDINGS, dtype="float32")


@KATA.law(points=0.5, cases=lambda draw: one_row(draw, cap=1e5))
def test_small_scores_stay(student, q, k, gamma_q, gamma_k, softcap):
    """A score far below the cap stays as it is: the product of the normalised vectors over sqrt(d_head)."""
    unit_q, unit_k = (x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) for x in (q, k))
    expected = (gamma_q * unit_q) @ (gamma_k * unit_k).swapaxes(-1, -2) / q.shape[-1] ** 0.5
    scores = scores_of(student, q, k, gamma_q, gamma_k, softcap)
    what = f"each score for softcap={softcap:g}, read from the weights beside a sink of 0,"
    expect.close(scores, expected, what, terms=8, roundings=ROUNDINGS, dtype="float32")


def equal_scores(draw):
    """Queries of zeros, so that every score is 0."""
    case = attention_case(draw)
    return {**case, "q": np.zeros_like(case["q"])}


@KATA.law(points=0.5, cases=equal_scores)
def test_equal_scores_share_with_the_sink(student, q, k, v, gamma_q, gamma_k, softcap, sink):
    """Where n scores are 0, each key has the weight 1 / (n + exp(sink)), and no value belongs to the rest."""
    queries, keys = q.shape[2], k.shape[2]
    seen = np.tri(queries, keys, keys - queries)
    total = seen.sum(axis=-1)[:, None] + np.exp(sink.astype(np.float64))[:, None, None]
    result = attended(student, q, k, v, gamma_q, gamma_k, softcap, sink)
    what = f"the result for a query of zeros and the sinks {sink.tolist()}"
    expect.close(result, (seen @ v / total).astype(v.dtype), what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_without_a_sink_weights_sum_to_one(student, q, k, v, gamma_q, gamma_k, softcap, sink):
    """With a sink of -inf the weights sum to one, with any other to less."""
    ones = np.ones_like(v)
    none = attended(student, q, k, ones, gamma_q, gamma_k, softcap, np.full_like(sink, -np.inf))
    expect.close(
        none, ones[:, :, : q.shape[2]], "the result for values of 1 and sinks of -inf", roundings=ROUNDINGS
    )
    level = np.full_like(sink, softcap)
    total = attended(student, q, k, ones, gamma_q, gamma_k, softcap, level)
    largest, bound = float(total.max()), k.shape[2] / (k.shape[2] + 1)
    expect.true(
        largest <= bound * 1.0001,
        f"Beside a sink as high as softcap, {k.shape[2]} weights sum to {bound:.5g} at most; they sum to "
        f"{largest:.5g}.",
    )


def scaled_cases(draw):
    """Queries and keys long enough for eps not to show, and a factor for each vector."""
    case = attention_case(draw)
    for name in ("q", "k"):
        case[name] = np.where(abs(case[name]) < 0.3, 0.3, case[name]).astype(case[name].dtype)
    return {**case, "factor": draw(st.sampled_from([8.0, 1000.0]))}


@KATA.law(points=0.5, cases=scaled_cases)
def test_lengths_do_not_matter(student, q, k, v, gamma_q, gamma_k, softcap, sink, factor):
    """Each query and each key may be longer by a factor of its own, and nothing changes."""
    by_token = [np.where(np.arange(x.shape[2]) % 2, 1, factor).astype(x.dtype)[:, None] for x in (q, k)]
    before = attended(student, q, k, v, gamma_q, gamma_k, softcap, sink)
    after = attended(student, q * by_token[0], k * by_token[1], v, gamma_q, gamma_k, softcap, sink)
    what = f"the result after every other query and key was multiplied by {factor:g}"
    expect.close(after, before, what, terms=32, roundings=ROUNDINGS, dtype="float32")


@KATA.law(points=0.5)
def test_later_keys_are_hidden(student, q, k, v, gamma_q, gamma_k, softcap, sink):
    """What the last key and value hold reaches the last query alone."""
    last = np.ones_like(v)
    last[:, :, -1] = -100
    before = attended(student, q, k, v, gamma_q, gamma_k, softcap, sink)
    after = attended(student, q, k * last[..., :1], v * last, gamma_q, gamma_k, softcap, sink)
    what = "the result of all queries but the last"
    expect.close(after[:, :, :-1], before[:, :, :-1], what, terms=8, roundings=ROUNDINGS)
