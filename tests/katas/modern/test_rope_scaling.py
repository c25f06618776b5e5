"""rope_scaling: its cases and its laws.

Angles may be float32 where x is; `ROUNDINGS` leaves room for that, as in rotary_embedding.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

DEFAULTS = {"base": 10000.0, "beta_fast": 32.0, "beta_slow": 1.0}
KINDS = (*["plain"] * 4, "base", "betas", "betas")
ROUNDINGS = 8

KATA = Kata(
    "rope_scaling",
    track="modern",
    entry_points=("yarn_frequencies", "rope_scaling"),
    title="A longer context for positions that turn",
    source="Peng et al. 2023",
    libraries=("numpy",),
    axes={
        "x": "batch heads tokens d_head",
        "positions": "tokens",
        "frequencies": "pairs",
        "result": "batch heads tokens d_head",
    },
    hints=(
        "Take the example's last pair: how often does it turn in 4096 tokens, and which angle has it at the "
        "last of them? If the context becomes four times as long, which frequency gives it that same angle "
        "there? Why would you leave the first pair alone?",
        "For each pair ask how often it turned in training: original_length times its frequency over 2 pi. "
        "That number decides:\n\n"
        "    turns        below 1      1 ... 32           above 32\n"
        "    share kept   0            straight line      1\n"
        "    frequency    over factor  a mixture of both  as it was\n\n"
        "A straight line that is cut off at both ends needs no cases. In rope_scaling everything is as in "
        "rotary_embedding but for the frequencies and one number that lengthens the vector. What is the "
        "logarithm of factor 1?",
        "Refuse an odd d_head and a factor below 1. Then\n\n"
        "    frequencies  base to minus (0, 2, 4, … below d_head) over d_head\n"
        "    turns        original_length times that, over 2 pi\n"
        "    share        turns minus beta_slow, over beta_fast minus beta_slow,\n"
        "                 cut to [0, 1]\n"
        "    result       share times the old frequency, plus the rest of 1\n"
        "                 times the old frequency over factor\n\n"
        "all of them [d_head / 2], in float64. The angles are positions as a column times the result as a "
        "row. Multiply cosines and sines by a tenth of the natural logarithm of factor plus 1, bring them "
        "to x's dtype, and turn the pairs of neighbouring columns with them.",
    ),
    hint_for={"ramps_over_the_pairs": 2, "forgets_the_full_turn": 2},
    roundings=ROUNDINGS,
    bank_size=40,
)


def scaling(draw, kind="plain"):
    """The numbers that decide about the frequencies; fast, slow and middle pairs occur."""
    return {
        "factor": draw(st.sampled_from([4.0, 2.0, 2.5, 16.0, 1.0])),
        "original_length": draw(st.sampled_from([4096, 100, 512, 2000])),
        "base": draw(st.sampled_from([99.0, 500000.0])) if kind == "base" else 10000.0,
        "beta_fast": draw(st.sampled_from([4.0, 50.0])) if kind == "betas" else 32.0,
        "beta_slow": draw(st.sampled_from([0.5, 2.0])) if kind == "betas" else 1.0,
    }


def vectors(draw, tokens, dtype, d_head):
    lead = draw(st.sampled_from([(2, 3), (1, 2), (3,), ()]))
    return draw(st.permuted(st.arrays((*lead, tokens, d_head), dtype)))


def places(draw, tokens):
    """Positions from 0 to 250, in any order."""
    found = draw(st.lists(st.integers(0, 250), min_size=tokens, max_size=tokens, unique=True))
    return np.array(found).astype(draw(st.sampled_from(["int64", "int32"])))


@KATA.cases
def cases(draw):
    tokens, d_head = draw(st.integers(1, 3)), draw(st.sampled_from([8, 6, 4, 2]))
    return {
        "x": vectors(draw, tokens, draw(st.float_dtypes()), d_head),
        "positions": places(draw, tokens),
        **scaling(draw, draw(st.sampled_from(KINDS))),
    }


@KATA.corner(points=0.5)
def another_base(base):
    """Another base than the default sets the frequencies."""
    return base != 10000.0


@KATA.corner(points=0.5)
def other_borders(beta_fast):
    """The borders of the ramp are those that are given."""
    return beta_fast != 32.0


def pinned(x, positions, factor=4.0, original_length=4096, dtype="float64", **others):
    x, positions = np.array(x, dtype), np.array(positions)
    given = {"factor": factor, "original_length": original_length}
    return {"x": x, "positions": positions, **given, **DEFAULTS, **others}


@KATA.example
def printed():
    """The example of the statement."""
    return pinned([[1.0, 0.0] * 4], [100])


@KATA.example
def a_middle_pair_alone():
    return pinned(
        [[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, -1.0, 2.0]], [3, 250], original_length=512, dtype="float32"
    )


@KATA.example
def factor_1():
    return pinned([[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, -1.0, 2.0]], [0, 7], factor=1.0)


@KATA.example
def another_base_with_a_ramp():
    return pinned([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], [9], factor=2.0, original_length=100, base=100.0)


@KATA.example
def other_borders_of_the_ramp():
    """As in Llama 3.1: the ramp between 1 and 4 turns."""
    return pinned([[1.0, 2.0] * 4], [200], factor=8.0, original_length=2000, beta_fast=4.0)


@KATA.observe
def observe(student, x, positions, factor, original_length, base, beta_fast, beta_slow):
    """What has its default is left out, so that the defaults are judged too."""
    given = {"base": base, "beta_fast": beta_fast, "beta_slow": beta_slow}
    given = {name: number for name, number in given.items() if number != DEFAULTS[name]}
    return {
        "frequencies": student.yarn_frequencies(x.shape[-1], factor, original_length, **given),
        "result": student.rope_scaling(x, positions, factor, original_length, **given),
    }


def frequencies_and_turns(d_head, original_length, base):
    """The frequencies of RoPE, and how often each pair turns in the original length."""
    frequencies = np.array([base ** (-2 * i / d_head) for i in range(d_head // 2)])
    return frequencies, original_length * frequencies / (2 * math.pi)


def frequencies_of(student, d_head, factor, original_length, base, beta_fast, beta_slow):
    """What yarn_frequencies returns, once it is an array of one number for each pair."""
    result = student.yarn_frequencies(
        d_head, factor, original_length, base=base, beta_fast=beta_fast, beta_slow=beta_slow
    )
    shape = getattr(result, "shape", None)
    told = f"There must be one frequency for each pair, shape {(d_head // 2,)}; it has {shape or 'none'}."
    expect.true(shape == (d_head // 2,), told)
    return result


def turned(student, x, positions, **given):
    """The result of rope_scaling, once it is an array like x."""
    result = student.rope_scaling(x, positions, given.pop("factor"), given.pop("original_length"), **given)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


def compared(student, d_head, factor, original_length, base, beta_fast, beta_slow, part, what):
    """Require the frequencies of the pairs of one part: 0 slow, 1 middle, 2 fast."""
    plain, turns = frequencies_and_turns(d_head, original_length, base)
    ramp = (turns - beta_slow) / (beta_fast - beta_slow)
    chosen = np.flatnonzero([ramp < 0, (ramp > 0) & (ramp < 1), ramp > 1][part])
    due = [plain / factor, ramp * plain + (1 - ramp) * plain / factor, plain][part]
    result = frequencies_of(student, d_head, factor, original_length, base, beta_fast, beta_slow)
    if len(chosen):
        expect.close(result[chosen], due[chosen], f"{what} (pairs {chosen.tolist()})", roundings=4)


def spread_cases(draw):
    """Numbers with which pairs of all three parts occur."""
    kind = draw(st.sampled_from(["plain", "betas"]))
    case = {**scaling(draw, kind), "factor": draw(st.sampled_from([4.0, 2.0, 16.0]))}
    return {"d_head": draw(st.sampled_from([16, 12, 20])), **case, "original_length": 2000}


@KATA.law(points=0.5, cases=spread_cases)
def test_fast_pairs_keep_their_frequency(
    student, d_head, factor, original_length, base, beta_fast, beta_slow
):
    """A pair that turned more than beta_fast times in the original length keeps its frequency."""
    compared(
        student,
        d_head,
        factor,
        original_length,
        base,
        beta_fast,
        beta_slow,
        part=2,
        what="each frequency of the fast pairs",
    )


@KATA.law(points=0.5, cases=spread_cases)
def test_slow_pairs_are_divided_by_the_factor(
    student, d_head, factor, original_length, base, beta_fast, beta_slow
):
    """A pair that turned less than beta_slow times has its frequency divided by factor."""
    compared(
        student,
        d_head,
        factor,
        original_length,
        base,
        beta_fast,
        beta_slow,
        part=0,
        what="each frequency of the slow pairs",
    )


@KATA.law(points=0.5, cases=spread_cases)
def test_the_ramp_is_linear_in_the_turns(
    student, d_head, factor, original_length, base, beta_fast, beta_slow
):
    """Between both borders the share that is kept grows linearly with the number of turns."""
    compared(
        student,
        d_head,
        factor,
        original_length,
        base,
        beta_fast,
        beta_slow,
        part=1,
        what="each frequency of the pairs between",
    )


@KATA.law(points=0.5)
def test_factor_1_is_rope(student, x, positions, original_length, base, beta_fast, beta_slow):
    """With factor 1 the result is that of rotary embedding, whatever the borders are."""
    numbers = {"base": base, "beta_fast": beta_fast, "beta_slow": beta_slow}
    frequencies, _ = frequencies_and_turns(x.shape[-1], original_length, base)
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * positions[:, None] * frequencies)
    expected = np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape).astype(x.dtype)
    result = turned(student, x, positions, factor=1.0, original_length=original_length, **numbers)
    expect.close(result, expected, "the result for factor=1", terms=2, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_lengths_grow_by_the_temperature(
    student, x, positions, factor, original_length, base, beta_fast, beta_slow
):
    """Each pair is longer by 0.1 * ln(factor) + 1, and no other number changes a length."""
    numbers = {
        "factor": factor,
        "original_length": original_length,
        "base": base,
        "beta_fast": beta_fast,
        "beta_slow": beta_slow,
    }
    result, scale = turned(student, x, positions, **numbers), 0.1 * math.log(factor) + 1
    before, after = (np.hypot(a[..., 0::2], a[..., 1::2]) for a in (x, result))
    what = f"the length of each pair for factor={factor:g}"
    expect.close(after, (scale * before).astype(x.dtype), what, terms=2, roundings=ROUNDINGS)


def queries_and_keys(draw):
    tokens, dtype = draw(st.integers(1, 3)), draw(st.float_dtypes())
    q = draw(st.arrays((2, tokens, draw(st.sampled_from([8, 6]))), dtype))
    return {
        "q": q,
        "k": draw(st.arrays(q.shape, dtype)),
        "positions": np.arange(tokens) + draw(st.sampled_from([0, 5, 100])),
        "distance": draw(st.sampled_from([1, 0, 30])),
        "shift": draw(st.sampled_from([1, 10, 90])),
        **scaling(draw),
    }


@KATA.law(points=1, cases=queries_and_keys)
def test_scores_depend_on_the_distance(
    student, q, k, positions, distance, shift, factor, original_length, base, beta_fast, beta_slow
):
    """The dot product of a query and a key depends on how far apart they stand, and not on where."""
    numbers = {
        "factor": factor,
        "original_length": original_length,
        "base": base,
        "beta_fast": beta_fast,
        "beta_slow": beta_slow,
    }
    here, there = (
        (turned(student, q, at, **numbers) * turned(student, k, at + distance, **numbers)).sum(axis=-1)
        for at in (positions, positions + shift)
    )
    largest = 2 * float((abs(q) * abs(k)).sum()) + 1.0  # the products may cancel
    what = f"each score (plus {largest:g}), after query and key were moved by {shift},"
    expect.close(there + largest, here + largest, what, terms=q.shape[-1], roundings=ROUNDINGS)


def to_refuse(draw):
    d_head, factor = draw(st.sampled_from([(3, 2.0), (4, 0.5), (5, 1.0), (2, 0.0), (8, 0.99), (4, -2.0)]))
    return {"d_head": d_head, "factor": factor}


@KATA.law(points=0.5, cases=to_refuse)
def test_refuses_odd_widths_and_small_factors(student, d_head, factor):
    """An odd d_head or a factor below 1 is refused with a ValueError, by both functions."""
    why = f"d_head={d_head} is odd" if d_head % 2 else f"factor={factor:g} is below 1"
    expect.refuses(student.yarn_frequencies, d_head, factor, 512, why=why)
    expect.refuses(student.rope_scaling, np.ones((2, d_head)), np.arange(2), factor, 512, why=why)
