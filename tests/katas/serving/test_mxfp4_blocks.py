"""mxfp4_blocks: its cases and its laws.

Dividing by a power of two is exact, so codes are exact in whatever way they are computed. Plain cases leave
out what only the corners ask for: numbers half-way between two values, negative ones that become -0, and a
largest number at a power of two or just below one, where a rounded logarithm gives the next exponent.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

SIZES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
HALFWAY = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
KINDS = (*["plain"] * 4, "halfway", "minus zero", "powers", "least")
LEAST = -125  # blocks below 2 to this have the scale byte 0

KATA = Kata(
    "mxfp4_blocks",
    track="serving",
    entry_points=("encode_e2m1", "quantize_mxfp4", "dequantize_mxfp4"),
    title="A floating-point number of four bits",
    source="Open Compute Project 2023, OCP Microscaling Formats 1.0, section 6.3",
    axes={
        "numbers": "numbers",
        "x": "numbers",
        "codes": "numbers",
        "scales": "blocks",
        "encoded": "numbers",
        "quantised": "numbers",
        "scale_bytes": "blocks",
        "back": "numbers",
    },
    bank_size=44,
    hints=(
        "Write down the eight sizes and their codes. How large is the step below 2, from 2 to 4, and from 4 "
        "on? Which code do 0.75, 2.5 and 5 get?",
        "In each of the three ranges the values are whole multiples of one step, and a step further is the "
        "next code:\n\n"
        "    sizes   0  0.5  1  1.5   2   3   4   6\n"
        "    codes   0   1   2   3    4   5   6   7\n"
        "    step    -- a half --     1 ---   2 ---\n\n"
        "So a size over its step, rounded, is a code but for a number that is added. Is that number even, so "
        "that halves still go to the even code?\n\n"
        "Blocks want an axis of their own, [..., blocks, block_size], as groups do. Which function of NumPy "
        "takes a float apart into a mantissa and an exponent, without a logarithm? What does it give for 0?",
        "encode_e2m1: the size, cut off at 6; below 2 the code is twice the size, rounded; below 4 it is 2 "
        "plus the size, rounded; else 4 plus half the size, rounded. Then the sign bit, which is worth 8; "
        "signbit sees it in -0.0 too.\n\n"
        "    quantize    x in blocks                       [..., blocks, block_size]\n"
        "                largest size of each              [..., blocks]\n"
        "                its exponent by frexp, less 1, for frexp gives a\n"
        "                mantissa from a half up to 1\n"
        "                less 2; -127 for a largest of 0; clipped\n"
        "                blocks times 2 to minus that, encoded, [..., n] again\n"
        "    dequantize  a table of 16 values, asked for all codes\n"
        "                in blocks, as many as scales has  [..., blocks, block_size]\n"
        "                times 2 to (byte - 127), the byte cast to a signed\n"
        "                integer first                     [..., blocks, 1]\n\n"
        "ldexp multiplies by a power of two, and float32 stays float32.",
    ),
    hint_for={
        "rounds_in_steps_of_a_half": 2,
        "lets_a_size_reach_code_eight": 3,
        "subtracts_the_bias_in_uint8": 3,
        "takes_the_exponent_of_frexp_as_it_is": 3,
        "takes_the_logarithm_in_float32": 2,
    },
)


def units(rng, shape, kind, longest=7.8):
    """Numbers in units of the scale, as float32; below a quarter they are positive, unless they become -0."""
    sizes = rng.choice([rng.uniform(0.3, longest, shape), rng.uniform(0.05, 2.4, shape)])
    if kind == "halfway":
        sizes = np.where(rng.random(shape) < 0.6, rng.choice(HALFWAY, shape), sizes)
    signs = np.where(sizes > 0.25, rng.choice([-1, 1], shape), 1)
    numbers = sizes * signs
    if kind == "minus zero":
        numbers = np.where(rng.random(shape) < 0.5, -rng.choice([0, 0.1, 0.2], shape), numbers)
        numbers.flat[rng.integers(numbers.size)] = -0.0
    return numbers.astype(np.float32)


def with_largest(rng, blocks, sizes):
    """Blocks with one number of the given size each, the sign drawn."""
    at = rng.integers(0, blocks.shape[-1], sizes.shape)
    np.put_along_axis(blocks, at[..., None], (sizes * rng.choice([-1, 1], sizes.shape))[..., None], axis=-1)
    return blocks


def draw_blocks(draw, shape, kind):
    """float32 [..., blocks, block_size], each block with a largest number of its own size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    blocks = units(rng, shape, kind, 3.9)
    blocks = with_largest(rng, blocks, rng.uniform(4.1, 7.8, shape[:-1]).astype(np.float32))
    if kind == "powers":
        just_below = np.nextafter(np.float32(8), np.float32(0))
        blocks = with_largest(rng, blocks, rng.choice([np.float32(4), just_below], shape[:-1]))
    exponents = rng.integers(-9, 7, (*shape[:-1], 1)) + draw(st.sampled_from([0, 0, 110, -90]))
    if kind == "least":
        exponents = rng.choice([-127, -128, -129, -131, -140], exponents.shape)
        exponents[..., 0, :] = rng.choice([-128, -129])  # a block of it, or of zeros, has the byte 0
        blocks = abs(blocks) * rng.choice([0, 1], exponents.shape)
    return np.ldexp(blocks, exponents).astype(np.float32)


def draw_case(draw, kind="plain"):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    lead = draw(st.sampled_from([(), (2,), (3,), (2, 2), (1,)]))
    size, blocks = draw(st.sampled_from([2, 4, 3, 1, 8])), draw(st.integers(1, 3))
    if left_out := draw(st.sampled_from([False, False, False, False, True])):
        size, lead = 32, draw(st.sampled_from([(), (2,)]))
    numbers = units(rng, draw(st.integers(2, 6)), kind)
    arrays = {
        "numbers": numbers * np.float32(rng.choice([1, 1, 4])) if kind == "plain" else numbers,
        "x": draw_blocks(draw, (*lead, blocks, size), kind).reshape(*lead, -1),
        "codes": rng.integers(0, 16, (*lead, blocks * size)).astype(np.uint8),
        "scales": rng.integers(110, 140, (*lead, blocks)).astype(np.uint8),
    }
    if kind == "least":
        arrays["scales"] = rng.choice([0, 0, 1, 2, 252], arrays["scales"].shape).astype(np.uint8)
    given = {name: draw(st.permuted(st.just(x))) for name, x in arrays.items()}
    return {"numbers": given.pop("numbers"), "block_size": None if left_out else size, **given}


@KATA.cases
def cases(draw):
    """Plain blocks, and those of the corners."""
    return draw_case(draw, draw(st.sampled_from(KINDS)))


def in_blocks(x, block_size):
    return np.asarray(x, np.float64).reshape(-1, block_size or 32)


def in_units(x, block_size):
    """The numbers in units of the scale of their block; what is in a block of zeros stays."""
    blocks = in_blocks(x, block_size)
    largest = abs(blocks).max(-1, keepdims=True)
    shared = np.where(largest == 0, 0, (np.frexp(largest)[1] - 3).clip(-127, 127))
    return np.ldexp(blocks, -shared)


@KATA.corner(points=0.5)
def the_scale_byte_zero(x, block_size, scales):
    """Blocks of zeros, and of numbers below 2 ** -125, have the byte 0, which stands for 2 ** -127."""
    return bool((abs(in_blocks(x, block_size)).max(-1) < 2.0**LEAST).any() or (scales == 0).any())


@KATA.corner(points=0.5)
def the_largest_beside_a_power_of_two(x, block_size):
    """A largest number that is a power of two, or just below one, has the right scale."""
    largest = abs(in_blocks(x, block_size)).max(-1)
    mantissa = np.frexp(largest)[0]
    return bool(((mantissa == 0.5) | (mantissa > 1 - 1e-6)).any())


@KATA.corner(points=0.5)
def halfway_between_two_values(numbers, x, block_size):
    """A number half-way between two values gets the even code."""
    both = np.append(np.ravel(numbers), in_units(x, block_size))
    return bool(np.isin(abs(both), HALFWAY).any())


@KATA.corner(points=0.5)
def minus_zero(numbers, x, block_size):
    """The code of -0.0, and of a negative number that becomes 0, is 8."""
    both = np.append(np.ravel(numbers), in_units(x, block_size))
    return bool((np.signbit(both) & (abs(both) < 0.25)).any())


def pinned(numbers, x, block_size, codes, scales):
    """A case from nested lists."""
    return {
        "numbers": np.array(numbers, dtype=np.float32),
        "block_size": block_size,
        "x": np.array(x, dtype=np.float32),
        "codes": np.array(codes, dtype=np.uint8),
        "scales": np.array(scales, dtype=np.uint8),
    }


PRINTED = [0.9, -2.2, 7, 0.3, 0.05, -0.01, 0.02, 0.012]
PRINTED_CODES = [2, 12, 7, 1, 7, 11, 5, 3]


@KATA.example
def printed_example():
    return pinned(PRINTED, PRINTED, 4, PRINTED_CODES, [127, 120])


@KATA.example
def all_codes():
    return pinned([0.1, 0.6, 1.1, 1.4, 2.2, 3.3, 4.4, 6, 99], [5.5, -1], 2, list(range(16)), [129, 126])


@KATA.example
def blocks_of_32_in_two_rows():
    """block_size is left out; the largest number of the first row is negative."""
    x = np.linspace(0.3, 3, 64).reshape(2, 32)
    x[0, 5], x[1, 7] = -45, 0.75 * 2**-20
    codes = np.arange(64).reshape(2, 32) * 7 % 16
    return pinned([-0.6, -9], x, None, codes, [[130], [120]])


@KATA.example
def all_numbers_half_way():
    return pinned([*HALFWAY, *-HALFWAY[1:]], [5, -2.5, 1.75, -1.25], 4, [1, 9], [128])


@KATA.example
def signs_of_small_numbers():
    return pinned([-0.0, 0.0, -0.1, 0.1], [6, -0.2, -0.0, 0.5], 4, [1, 9], [128])


@KATA.example
def a_block_of_zeros_among_others():
    return pinned([1.2, -3.3], [0, 0, 5, -1.1], 2, [5, 9], [0])


@KATA.example
def the_smallest_numbers_of_float32():
    return pinned([1.2, -3.3], [2.0**-126, 2.0**-128, 2.0**-140, 0], 2, [1, 15], [0])


@KATA.example
def just_below_eight():
    below = np.nextafter(np.float32(8), np.float32(0))
    return pinned([1.2, -3.3], [below, 1, 8, 1], 2, [1, 15], [130])


@KATA.observe
def observe(student, numbers, block_size, x, codes, scales):
    """Each part by itself."""
    result = {"encoded": student.encode_e2m1(numbers)}
    answer = student.quantize_mxfp4(x, *([] if block_size is None else [block_size]))
    if isinstance(answer, tuple | list) and len(answer) == 2:
        result |= {"quantised": answer[0], "scale_bytes": answer[1]}
    else:
        result["quantised"] = answer
    return {**result, "back": student.dequantize_mxfp4(codes, scales)}


def quantised(student, x, block_size):
    """(codes, scales), once they are arrays of bytes of the right shapes."""
    answer = student.quantize_mxfp4(x, block_size)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "quantize_mxfp4 must return the tuple (codes, scales).")
    shapes = x.shape, (*x.shape[:-1], x.shape[-1] // block_size)
    for name, part, due in zip(("codes", "scales"), answer, shapes, strict=True):
        found = getattr(part, "shape", None)
        expect.true(found == due, f"{name} must have the shape {due}; it is {found}.")
        expect.true(part.dtype == np.uint8, f"{name} must be uint8; it came as {part.dtype}.")
    return answer


def values_of(codes, scales):
    """What codes and scale bytes stand for, by the tables of the statement, in float64."""
    values = np.concatenate([SIZES, -SIZES])[codes & 15].reshape(*scales.shape, -1)
    return np.ldexp(values, scales[..., None].astype(int) - 127).reshape(codes.shape)


@KATA.law(points=0.5)
def test_values_keep_their_codes(student):
    """Each value of E2M1 is its own nearest one, and sizes above 6 become 6."""
    sizes = np.array([*SIZES, 6.5, 8, 1000], dtype=np.float32)
    due = np.array([*range(8), 7, 7, 7], dtype=np.uint8)
    expect.equal(student.encode_e2m1(sizes), due, f"encode_e2m1({sizes.tolist()})")
    expect.equal(student.encode_e2m1(-sizes[1:]), due[1:] + 8, f"encode_e2m1({(-sizes[1:]).tolist()})")


def plain_blocks(draw):
    """Plain blocks, as `x` and `block_size`."""
    size = draw(st.sampled_from([2, 4, 3]))
    lead, blocks = draw(st.sampled_from([(), (2,)])), draw(st.integers(1, 3))
    return {"x": draw_blocks(draw, (*lead, blocks, size), "plain").reshape(*lead, -1), "block_size": size}


@KATA.law(points=0.5, cases=plain_blocks)
def test_the_largest_lies_between_4_and_8_scales(student, x, block_size):
    """The largest size of a block is at least 4 and below 8 times 2 ** (byte - 127)."""
    _, scales = quantised(student, x, block_size)
    for largest, byte in zip(abs(in_blocks(x, block_size)).max(-1), scales.ravel(), strict=True):
        ratio = float(np.ldexp(largest, 127 - int(byte)))
        told = f"A block whose largest size is {largest:.6g} has the byte {byte}: that is {ratio:.4g} scales."
        expect.true(4 <= ratio < 8, told)


@KATA.law(points=0.5, cases=plain_blocks)
def test_powers_of_two_change_the_byte_alone(student, x, block_size):
    """A block times 8 has the same codes and a scale byte that is larger by 3."""
    codes, scales = quantised(student, x, block_size)
    codes_of_8, scales_of_8 = quantised(student, x * np.float32(8), block_size)
    expect.equal(codes_of_8, codes, "codes for 8 times x")
    expect.equal(scales_of_8.astype(int), scales.astype(int) + 3, "scales for 8 times x")


def exact_blocks(draw):
    """What some codes and bytes stand for; each block has a size of 4 or 6, and there is no -0."""
    size, blocks = draw(st.sampled_from([2, 4, 3])), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    codes = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15], (blocks, size))
    codes[:, 0] = rng.choice([7, 15], blocks)
    scales = rng.integers(100, 150, blocks).astype(np.uint8)
    x = values_of(codes.astype(np.uint8).reshape(-1), scales)
    return {"x": x.astype(np.float32), "block_size": size}


@KATA.law(points=0.5, cases=exact_blocks)
def test_what_fits_stays_as_it_is(student, x, block_size):
    """Numbers that a block can hold come back exactly, so quantising a second time changes nothing."""
    codes, scales = quantised(student, x, block_size)
    expect.equal(values_of(codes, scales).astype(np.float32), x, "what the codes and scales of x stand for")


def one_byte_a_block(draw):
    """All 16 codes in each block, with different bytes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scales = rng.choice(np.arange(90, 165), draw(st.integers(1, 2)), replace=False).astype(np.uint8)
    return {"codes": np.tile(rng.permutation(16), len(scales)).astype(np.uint8), "scales": scales}


def require_values(student, codes, scales):
    """Require what the codes stand for, to the bit but for the sign of 0."""
    back = student.dequantize_mxfp4(codes, scales)
    shape = getattr(back, "shape", None)
    expect.true(shape == codes.shape, f"The result must have the shape {codes.shape}; it is {shape}.")
    expect.equal(back, values_of(codes, scales).astype(np.float32), "dequantize_mxfp4(codes, scales)")


@KATA.law(points=0.5, cases=one_byte_a_block)
def test_every_code_comes_back(student, codes, scales):
    """Each code comes back as its value times 2 ** (byte - 127), exactly."""
    require_values(student, codes, scales)


def least_bytes(draw):
    """Bytes of the smallest scales, one of them 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scales = rng.permutation([0, *rng.integers(1, 4, draw(st.integers(0, 2)))]).astype(np.uint8)
    codes = rng.integers(1, 16, 3 * len(scales)).astype(np.uint8)
    codes[::3] = 6
    return {"codes": codes, "scales": scales}


@KATA.law(points=0.5, cases=least_bytes)
def test_byte_zero_is_a_scale_too(student, codes, scales):
    """The byte 0 stands for 2 ** -127, by which no value but 0 becomes 0."""
    require_values(student, codes, scales)


@KATA.law(points=0.5)
def test_what_does_not_divide_is_refused(student):
    """A block_size that does not divide the length of a row is refused."""
    x = np.arange(1, 7, dtype=np.float32)
    for size in (4, 12):
        expect.refuses(student.quantize_mxfp4, x, size, why=f"block_size = {size} does not divide 6")
    expect.refuses(student.quantize_mxfp4, x, why="the default, 32, does not divide 6")
