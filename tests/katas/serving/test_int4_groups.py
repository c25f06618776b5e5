"""int4_groups: its cases and its laws.

A group is drawn as whole steps and what is left of them, at most `REST` of a step, and so is its zero point.
So no number lies nearly half-way between two steps, where ways of computing that are all right would round
differently. Exact halves have a scale that is a power of two.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
REST = 0.45
KINDS = (*["plain"] * 4, "zeros", "one sign", "halves")

KATA = Kata(
    "int4_groups",
    track="serving",
    entry_points=("quantize_groups", "pack_codes", "unpack_codes", "int4_linear"),
    title="Four bits, a scale for each group",
    source="Frantar et al. 2023, GPTQ; Lin et al. 2023, AWQ",
    axes={
        "weight": "d_out d_in",
        "codes": "d_out d_in",
        "x": "d_in",
        "packed": "d_out bytes",
        "scale": "d_out groups",
        "zero": "d_out groups",
        "codes_of_groups": "d_out d_in",
        "scale_of_groups": "d_out groups",
        "zero_of_groups": "d_out groups",
        "packed_codes": "d_out bytes",
        "unpacked": "d_out d_in",
        "result": "d_out",
    },
    roundings=ROUNDINGS,
    bank_size=44,
    hints=(
        "Quantise the group [-1, 0.25, 2] by hand. Which number does code 0 stand for, which code 15, and "
        "which code stands for 0?",
        "Give the groups an axis of their own; then scale and zero need one number for each row of it:\n\n"
        "    [d_out, d_in]   ->   [d_out, groups, group_size]\n"
        "    [ a b c d e f ]      [ a b c ]  scale 0, zero 0\n"
        "                         [ d e f ]  scale 1, zero 1\n\n"
        "A byte holds two neighbours of a row, the first in the low four bits:\n\n"
        "    codes    6   15        bits  1111 0110\n"
        "                                  15    6     = 15 * 16 + 6\n\n"
        "Where do the codes of even places go, and where those of odd places? In which dtype is 3 - 5 not "
        "254?",
        "quantize_groups: refuse a size that does not divide. Reshape to [d_out, groups, group_size]; the "
        "minimum and the maximum along the last axis, the axis kept; 0 goes into both. scale is their "
        "distance over 15, and 1 where that is 0; zero is minus the minimum over the scale, rounded. Round "
        "numbers over scale first, then add zero, then clip, then reshape back and cast to uint8.\n\n"
        "    pack_codes    even columns, plus 16 times odd columns   [d_out, d_in / 2]\n"
        "    unpack_codes  low bits by a mask, high bits by a shift; stacked on a\n"
        "                  new last axis                             [d_out, n, 2]\n"
        "                  and flattened                             [d_out, 2 * n]\n"
        "    int4_linear   codes, as floats                          [d_out, d_in]\n"
        "                  cut into groups                  [d_out, groups, size]\n"
        "                  minus zero, times scale, each [d_out, groups, 1]\n"
        "                  back to [d_out, d_in], and x times its transpose",
    ),
    hint_for={
        "packs_the_high_bits_first": 2,
        "unpacks_the_high_bits_first": 2,
        "subtracts_in_uint8": 2,
        "leaves_zero_out_of_the_range": 1,
        "cuts_groups_across": 2,
        "repeats_the_scales_in_turn": 3,
    },
)


def draw_steps(rng, kind, size):
    """The numbers of one group, in steps of its scale."""
    if kind == "zeros":
        return np.zeros(size)
    if kind == "one sign" or size == 1:
        steps = rng.integers(5, 15, size) + rng.uniform(-REST, REST, size)
        steps[rng.integers(size)] = 15
        return steps * rng.choice([-1, 1])
    zero = rng.integers(1, 14)
    rest = rng.choice([0.5, 0]) if kind == "halves" else rng.uniform(-REST, REST)
    steps = rng.integers(1 - zero, 14 - zero, size) + rng.uniform(-REST, REST, size)
    if kind == "halves":
        steps = np.trunc(steps) + rng.choice([0.5, -0.5, 0.5, 0], size)
        steps = steps.clip(-zero, 14 - zero)
    ends = rng.permutation(size)[:2]
    steps[ends] = -zero - rest, 15 - zero - rest
    return steps


def draw_weight(draw, shape, kind, dtype):
    """A weight [d_out, groups * size]; one that is not plain has at least one group of its kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    d_out, groups, size = shape
    weight = np.empty(shape)
    chosen = rng.integers(d_out * groups)
    for at, (row, group) in enumerate(np.ndindex(d_out, groups)):
        its_kind = kind if at == chosen or rng.random() < 0.4 else "halves" if kind == "halves" else "plain"
        scale = (
            2.0 ** rng.integers(-4, 3) if kind == "halves" else np.exp(rng.choice([rng.uniform(-3, 1), -6]))
        )
        weight[row, group] = draw_steps(rng, its_kind, size) * scale
    return weight.reshape(d_out, -1).astype(dtype)


def draw_case(draw, kind="plain"):
    dtype = draw(st.float_dtypes())
    size = draw(st.sampled_from([2, 4, 3, 6] + [1, 5] * (kind == "one sign")))
    groups = draw(st.sampled_from([2, 4] if size % 2 else [2, 1, 3]))
    d_out = draw(st.integers(1, 3))
    lead = draw(st.sampled_from([(), (2,), (1,), (3,), (2, 2)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    arrays = {
        "weight": draw_weight(draw, (d_out, groups, size), kind, dtype),
        "codes": rng.integers(0, 16, (d_out, size * groups)).astype(np.uint8),
        "x": draw(st.normal_arrays((*lead, size * groups), dtype)),
        "packed": rng.integers(0, 256, (d_out, size * groups // 2)).astype(np.uint8),
        "scale": rng.uniform(0.1, 2, (d_out, groups)).astype(dtype),
        "zero": rng.integers(0, 16, (d_out, groups)).astype(np.uint8),
    }
    return {"group_size": size, **{name: draw(st.permuted(st.just(x))) for name, x in arrays.items()}}


@KATA.cases
def cases(draw):
    """Plain groups, and groups of zeros, of one sign and of exact halves."""
    return draw_case(draw, draw(st.sampled_from(KINDS)))


def grouped(weight, group_size):
    return np.asarray(weight, np.float64).reshape(len(weight), -1, group_size)


def in_steps(weight, group_size):
    """The numbers in steps of their scale, [d_out, groups, group_size]; zeros where the scale is 0."""
    groups = grouped(weight, group_size)
    low, high = groups.min(-1, keepdims=True).clip(max=0), groups.max(-1, keepdims=True).clip(min=0)
    return 15 * np.divide(groups, high - low, out=np.zeros(groups.shape), where=high > low)


@KATA.corner(points=0.5)
def groups_of_zeros(weight, group_size):
    """A group of zeros has the scale 1, the zero point 0 and the codes 0."""
    return bool((grouped(weight, group_size) == 0).all(-1).any())


@KATA.corner(points=0.5)
def groups_of_one_sign(weight, group_size):
    """A group of positive or of negative numbers alone has 0 in its range."""
    groups = grouped(weight, group_size)
    return bool(((groups > 0).all(-1) | (groups < 0).all(-1)).any())


@KATA.corner(points=0.5)
def exact_halves(weight, group_size):
    """Exact halves are rounded to even, before the zero point is added, and no code leaves 0 to 15."""
    return bool((abs(abs(in_steps(weight, group_size)) % 1 - 0.5) < 1e-3).any())


def pinned(weight, group_size, dtype="float64", **given):
    """A case from nested lists, the layer's arguments those of the statement."""
    printed = {
        "codes": [[0, 6, 14, 15, 2, 5, 10, 15]],
        "x": [1, 1, 0, 0, 0, 0, 0, 2],
        "packed": [[96, 254, 82, 250]],
        "scale": [[0.2, 0.2]],
        "zero": [[5, 0]],
    }
    of_bytes = {"codes", "packed", "zero"}
    arrays = {
        name: np.array(x, dtype=np.uint8 if name in of_bytes else dtype)
        for name, x in {"weight": weight, **printed, **given}.items()
    }
    return {"weight": arrays.pop("weight"), "group_size": group_size, **arrays}


@KATA.example
def printed_example():
    return pinned([[-1, 0.25, 1.85, 2, 0.45, 1, 2, 3]], 4)


@KATA.example
def groups_of_three_in_two_rows():
    """A byte holds codes of two groups."""
    return pinned(
        [[-4, 1, 11, 2, -6, 9], [0.5, -7, 8, -2, 13, 0]],
        3,
        "float32",
        codes=[[1, 2, 3, 4, 5, 6], [15, 0, 8, 9, 7, 10]],
        x=[[1, 0, 0, 2, 0, -1], [0, 1, 0, 0, 1, 0]],
        packed=[[33, 67, 101], [15, 152, 167]],
        scale=[[0.5, 1], [2, 0.25]],
        zero=[[4, 6], [7, 2]],
    )


@KATA.example
def a_group_of_zeros_among_others():
    return pinned([[-4, 1, 11, 2, 0, 0, 0, 0]], 4)


@KATA.example
def positive_and_negative_groups():
    """Without 0 in their range both would have a scale of 0.4."""
    return pinned([[12, 10, 9, 15, -9, -15, -11, -12]], 4, "float32")


@KATA.example
def groups_of_one_number():
    return pinned(
        [[3, -6]],
        1,
        codes=[[9, 4]],
        x=[1, 1],
        packed=[[73]],
        scale=[[0.5, 2]],
        zero=[[3, 8]],
    )


@KATA.example
def halves_of_a_step():
    """The scale is 1. Group 0 has a zero point of 1, group 1 one of 4."""
    return pinned([[-1, 0.5, 1.5, 14, -4, 0.5, -2.5, 11]], 4)


@KATA.example
def a_code_beyond_fifteen():
    """1.5 and 13.5 are both rounded up, to 2 and to 14: their sum is one too many."""
    return pinned([[-1.5, 3, 13.5, 1, -2.5, 3, 12.5, 1]], 4)


@KATA.observe
def observe(student, weight, group_size, codes, x, packed, scale, zero):
    """Each part by itself."""
    answer = student.quantize_groups(weight, group_size)
    names = ("codes_of_groups", "scale_of_groups", "zero_of_groups")
    if isinstance(answer, tuple | list) and len(answer) == 3:
        quantised = dict(zip(names, answer, strict=True))
    else:
        quantised = {"quantised": answer}
    return {
        **quantised,
        "packed_codes": student.pack_codes(codes),
        "unpacked": student.unpack_codes(packed),
        "result": student.int4_linear(x, packed, scale, zero),
    }


def parts(student, weight, group_size):
    """(codes, scale, zero), once they are arrays of the right shapes, the codes and zero points of uint8."""
    answer = student.quantize_groups(weight, group_size)
    triple = isinstance(answer, tuple | list) and len(answer) == 3
    expect.true(triple, "quantize_groups must return the tuple (codes, scale, zero).")
    of_groups = len(weight), weight.shape[1] // group_size
    due = {"codes": weight.shape, "scale": of_groups, "zero": of_groups}
    for (name, shape), part in zip(due.items(), answer, strict=True):
        found = getattr(part, "shape", None)
        expect.true(found == shape, f"{name} must have the shape {shape}; it is {found}.")
        if name != "scale":
            expect.true(part.dtype == np.uint8, f"{name} must be uint8; it came as {part.dtype}.")
    return answer


def back(codes, scale, zero):
    """What the codes stand for, [d_out, groups, group_size], by the formula of the statement."""
    codes = codes.reshape(*scale.shape, -1).astype(np.float64)
    return (codes - zero[..., None].astype(np.float64)) * scale[..., None].astype(np.float64)


@KATA.law(points=0.5)
def test_no_weight_is_off_by_more_than_half_a_scale(student, weight, group_size):
    """What comes back is off by half a scale of its group at most."""
    codes, scale, zero = parts(student, weight, group_size)
    expect.true(bool((scale > 0).all()), "Every scale must be above 0.")
    error = np.abs(back(codes, scale, zero) - grouped(weight, group_size)) / scale[..., None]
    worst = float(error.max())
    expect.true(worst < 0.5 + 1e-4, f"A weight is off by {worst:.3g} scales; half a scale is the most.")


def with_zeros(draw):
    """Each group has numbers of both signs and a 0 between them."""
    size, dtype = draw(st.sampled_from([3, 4, 5])), draw(st.float_dtypes())
    shape = draw(st.integers(1, 2)), draw(st.integers(1, 2)), size
    rows = draw_weight(draw, shape, "plain", dtype).reshape(-1, size)
    for row in rows:
        inner = np.flatnonzero((row > row.min()) & (row < row.max()))
        row[inner[0]] = 0
    return {"weight": rows.reshape(shape[0], -1), "group_size": size}


@KATA.law(points=0.5, cases=with_zeros)
def test_zero_comes_back_as_zero(student, weight, group_size):
    """The code of a weight of 0 is the zero point of its group."""
    codes, _, zero = parts(student, weight, group_size)
    for row, column in np.argwhere(weight == 0):
        code, due = codes[row, column], zero[row, column // group_size]
        told = f"The weight 0 at [{row}, {column}] has the code {code}; the zero point of its group is {due}."
        expect.true(code == due, told)


@KATA.law(points=0.5)
def test_groups_stand_alone(student, weight, group_size):
    """A group's codes, scale and zero point do not depend on other groups."""
    together = parts(student, weight, group_size)
    due = zip(*(parts(student, row[None], group_size) for row in weight.reshape(-1, group_size)), strict=True)
    for name, got, alone in zip(("codes", "scales", "zero points"), together, due, strict=True):
        what = f"the {name} of all groups, against each group by itself,"
        expect.close(got, np.concatenate(alone).reshape(got.shape), what)


def some_bytes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    return {"packed": rng.integers(0, 256, shape).astype(np.uint8)}


def codes_of(packed):
    """The codes in bytes, by the formula of the statement."""
    codes = np.empty((len(packed), 2 * packed.shape[1]), np.uint8)
    codes[:, ::2], codes[:, 1::2] = packed % 16, packed // 16
    return codes


@KATA.law(points=0.5, cases=some_bytes)
def test_packing_loses_nothing(student, packed):
    """Two codes become the first plus 16 times the second."""
    got = student.pack_codes(codes_of(packed))
    expect.equal(got, packed, f"pack_codes({codes_of(packed).tolist()})")


@KATA.law(points=0.5, cases=some_bytes)
def test_unpacking_is_exact(student, packed):
    """A byte gives its remainder by 16, then the byte divided by 16."""
    expect.equal(student.unpack_codes(packed), codes_of(packed), f"unpack_codes({packed.tolist()})")


@KATA.law(points=0.5)
def test_unit_vectors_give_the_weight(student, x, packed, scale, zero):
    """Inputs with a single 1 give columns of the weight: code minus zero point, times scale."""
    d_in = x.shape[-1]
    result = student.int4_linear(np.eye(d_in, dtype=x.dtype), packed, scale, zero)
    due = back(codes_of(packed), scale, zero).reshape(len(packed), d_in).T.astype(x.dtype)
    shape = getattr(result, "shape", None)
    expect.true(shape == due.shape, f"The result must have the shape {due.shape}; it is {shape}.")
    expect.close(result, due, "the result for an identity matrix as x", terms=8)


@KATA.law(points=0.5)
def test_what_does_not_fit_is_refused(student):
    """A group_size that does not divide d_in and an odd number of codes are refused."""
    weight = np.arange(-2.0, 4.0)[None]
    for size in (4, 12):
        why = f"group_size = {size} does not divide d_in = 6"
        expect.refuses(student.quantize_groups, weight, size, why=why)
    expect.refuses(student.pack_codes, np.array([[1, 2, 3]], np.uint8), why="three codes are not pairs")
