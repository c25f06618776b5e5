"""int4_matmul: its cases and its laws.

Entries of x are multiples of 1/8, and scales of 1/16 with three bits: float16 has a byte times a scale, and
float32 every sum of products. A right answer is exact, in whatever order it adds up. A case has them as
float32, so that answers are compared as finely.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

KATA = Kata(
    "int4_matmul",
    track="kernels",
    entry_points=("int4_matmul",),
    title="Weights of four bits",
    source="Frantar et al. 2023, section 5; Lin et al. 2024, section 4",
    libraries=("numpy",),
    axes={"x": "M K", "packed": "bytes N", "scales": "groups N", "out": "M N"},
    bank_size=20,
    hints=(
        "Take the byte 163 of the example and write down its eight bits. Which four are the code of the "
        "even k, and which are that of the odd k? Which k, and which group, does row 16 of packed have?",
        "Write `tiled_matmul` with half a tile: p counts bytes, and the two codes of a byte have k = 2p and "
        "2p + 1. Everything of packed is counted in p, with the end K / 2; everything of x in k, with the "
        "end K.\n\n"
        "    x at k = 2p, and x at k = 2p + 1        [BLOCK_M, BLOCK_K / 2] each\n"
        "    bytes at p                              [BLOCK_K / 2, BLOCK_N]\n"
        "    scales of the tile                      [1, BLOCK_N]\n\n"
        "A tile has one group, that of its first k. From one load of bytes come two blocks of weights: one "
        "with `& 15`, one with `>> 4`. Make each a float before 8 is subtracted.",
        "In the kernel, with row as [:, None] and column as [None, :]:\n\n"
        "    for every tile, which has its first k at begin:\n"
        "        p       begin // 2 + tl.arange(0, BLOCK_K // 2)\n"
        "        k       2 * p[None, :]\n"
        "        x       two loads, at row * K + k and one entry further,\n"
        "                masked by row < M and k < K, other=0.0\n"
        "        byte    tl.load at p[:, None] * N + column, masked by\n"
        "                p[:, None] < K // 2 and column < N, other=0\n"
        "        scale   tl.load at (begin // group) * N + column\n"
        "        even    ((byte & 15).to(tl.float16) - 8) * scale\n"
        "        odd     the same with byte >> 4\n"
        "        acc     tl.dot of each half of x with its weights, onto acc\n"
        "    tl.store acc at row * N + column, masked by both\n\n"
        "The launcher: the grid (triton.cdiv(M, block_m), triton.cdiv(N, block_n)).",
    ),
    hint_for={
        "takes_the_high_nibble_first": 1,
        "keeps_the_high_nibble_in_the_low_one": 1,
        "forgets_to_shift": 1,
        "takes_the_halves_of_a_tile_for_neighbours": 1,
        "takes_the_group_of_the_byte": 1,
        "subtracts_in_uint8": 2,
        "masks_bytes_by_K": 2,
        "masks_numbers_by_bytes": 2,
        "takes_the_number_of_the_tile_for_the_group": 2,
        "loads_each_byte_twice": 2,
        "loads_a_scale_for_each_number": 2,
        "leaves_masked_entries_undefined": 3,
        "forgets_the_last_tile": 3,
    },
)


def eighths(rng, *shape):
    """Multiples of 1/8, from -2 to 2."""
    return (rng.integers(-16, 17, shape) / 8).astype(np.float32)


def sized(draw, block):
    """How many rows or columns there are, at most 8: one or two blocks, of which the last is seldom full."""
    return draw(st.sampled_from([2, 1, 2] if block < 8 else [1])) * block - draw(st.integers(0, block - 1))


def made(seed, rows, k, columns, group, blocks):
    """A case with numbers drawn by a seed."""
    rng = np.random.default_rng(seed)
    return {
        "x": eighths(rng, rows, k),
        "packed": rng.integers(0, 256, (k // 2, columns)).astype(np.uint8),
        "scales": (rng.integers(1, 8, (-(-k // group), columns)) / 16).astype(np.float32),
        "group": group,
        **dict(zip(("block_m", "block_n", "block_k"), blocks, strict=True)),
    }


@KATA.cases
def cases(draw):
    """One or two blocks of rows and of columns, up to four tiles; a group is one to three tiles."""
    block_m, block_n = draw(st.sampled_from([2, 4, 1])), draw(st.sampled_from([4, 2, 1, 8]))
    k, block_k = draw(st.sampled_from([(40, 32), (100, 32), (70, 32), (68, 64), (34, 32), (64, 32), (6, 32)]))
    group = block_k * draw(st.sampled_from([1, 2, 1, 3]))
    rows, columns = sized(draw, block_m), sized(draw, block_n)
    return made(draw(st.integers(0, 2**16)), rows, k, columns, group, (block_m, block_n, block_k))


@KATA.example
def printed():
    """The example of the statement."""
    x = np.ones((2, 40), np.float32)
    x[1, 1::2] = 0
    packed = np.tile(np.array([163, 136, 240], np.uint8), (20, 1))
    scales = np.array([[0.5, 1, 1], [1, 1, 0.5]], np.float32)
    blocks = {"block_m": 2, "block_n": 2, "block_k": 32}
    return {"x": x, "packed": packed, "scales": scales, "group": 32, **blocks}


@KATA.example
def more_rows_than_columns():
    return made(1, 5, 36, 2, 32, (4, 2, 32))


@KATA.example
def more_groups_than_tiles_in_a_group():
    """Three groups of two tiles, the last with one."""
    return made(2, 1, 150, 2, 64, (1, 2, 32))


@KATA.example
def more_columns_than_numbers_in_a_tile():
    return made(3, 1, 40, 33, 32, (1, 64, 32))


@KATA.corner(points=1)
def groups_of_several_tiles(scales, group, block_k):
    """Groups may have several tiles."""
    return group > block_k and len(scales) > 1


@KATA.corner(points=0.5)
def a_last_tile_that_is_not_full(x, block_k):
    """The last tile may have fewer k than block_k."""
    return x.shape[1] > block_k and x.shape[1] % block_k != 0


@KATA.corner(points=0.5)
def blocks_that_are_larger_than_the_arrays(x, packed, block_m, block_n, block_k):
    """A single program, whose tiles are larger than all arrays, is right."""
    return x.shape[0] < block_m and packed.shape[1] < block_n and x.shape[1] < block_k


@KATA.example
def a_single_tile_that_is_larger():
    return made(4, 1, 6, 3, 64, (2, 4, 32))


def loads(x, packed, block_m, block_n, block_k):
    """The rows of x and the bytes of each block of outputs once, and a scale for each column of a tile."""
    (rows, k), columns = x.shape, packed.shape[1]
    blocks = -(-rows // block_m) * -(-columns // block_n)
    return (2 * block_m * k + block_n * k // 2 + 2 * block_n * -(-k // block_k)) * blocks


@kernel(KATA, loads=loads, stores=lambda x, packed: 4 * x.shape[0] * packed.shape[1])
def launch(device, student, x, packed, scales, group, block_m, block_n, block_k):
    arrays = (
        device.array(x.astype(np.float16), "x"),
        device.array(packed, "packed"),
        device.array(scales.astype(np.float16), "scales"),
    )
    out = device.empty((x.shape[0], packed.shape[1]), "float32", "out")
    device.run(student.int4_matmul, *arrays, out, group, block_m, block_n, block_k)
    return {"out": out}


def weights(packed, scales, group):
    """The weights of a packed array, [K, N] in float32."""
    codes = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1, packed.shape[1])
    return (codes.astype(np.float32) - 8) * np.repeat(scales, group, axis=0)[: len(codes)]


@KATA.law(points=1)
def test_each_k_has_its_weight(student, packed, scales, group, block_m, block_n, block_k):
    """A row with a single 1 gives the weights of its k."""
    k = 2 * len(packed)
    asked = sorted({0, 1, k - 2, k - 1, *(at for at in (group - 1, group) if at < k)})
    rows = np.eye(k, dtype=np.float32)[asked]
    out = launch(Device(), student, rows, packed, scales, group, block_m, block_n, block_k)["out"].numpy()
    expect.equal(out, weights(packed, scales, group)[asked], f"the weights of k = {asked}")


@KATA.law(points=0.5)
def test_sums_have_the_digits_of_float32(student, x, packed, scales, group, block_m, block_n, block_k):
    """Products are added up and stored in float32, and nothing is rounded to float16."""
    out = launch(Device(), student, x, packed, scales, group, block_m, block_n, block_k)["out"].numpy()
    product = x.astype(np.float64) @ weights(packed, scales, group)
    expect.equal(out, product.astype(np.float32), "the product in float32")


def with_other_blocks(draw):
    """A case, and other sizes of blocks."""
    case = cases(draw)
    before = tuple(case[name] for name in ("block_m", "block_n", "block_k"))
    sizes = [(1, 4, 32), (8, 1, 32), (2, 8, 32), *([(2, 2, 64)] if case["group"] % 64 == 0 else [])]
    return {**case, "other": draw(st.sampled_from([size for size in sizes if size != before]))}


@KATA.law(points=0.5, cases=with_other_blocks)
def test_the_sizes_of_blocks_do_not_matter(
    student, x, packed, scales, group, block_m, block_n, block_k, other
):
    """Other sizes of blocks and tiles give the same product."""
    before = block_m, block_n, block_k
    results = [
        launch(Device(), student, x, packed, scales, group, *sizes)["out"].numpy()
        for sizes in (before, other)
    ]
    what = f"the product for block_m, block_n, block_k = {other}, against that for {before},"
    expect.equal(results[1], results[0], what)
