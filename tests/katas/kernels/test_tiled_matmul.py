"""tiled_matmul: its cases and its laws.

Entries are multiples of 1/8 that float16 has, and float32 has every sum of their products: a right answer is
exact, in whatever order it adds up. A case has them as float32, so that answers are compared as finely.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

KATA = Kata(
    "tiled_matmul",
    track="kernels",
    entry_points=("tiled_matmul",),
    title="A block of outputs a program",
    source="Triton's tutorial Matrix Multiplication; Tillet, Kung and Cox 2019, section 3",
    libraries=("numpy",),
    axes={"a": "M K", "b": "K N", "out": "M N"},
    bank_size=24,
    hints=(
        "Draw a, b and out of the example as rectangles, and colour what program (1, 0) needs of a and of b. "
        "Which entries of its two tiles do the arrays not have, and which of them would count in an output?",
        "Three vectors of numbers make all indices: the rows of the block, its columns, and the k of the "
        "tile. Two of them, as [:, None] and [None, :], make each tile:\n\n"
        "    a      rows and k          [BLOCK_M, BLOCK_K]\n"
        "    b      k and columns       [BLOCK_K, BLOCK_N]\n"
        "    out    rows and columns    [BLOCK_M, BLOCK_N]\n\n"
        "Each of the three vectors has its own end, M, N or K, so each mask has two parts. The accumulator "
        "is made before the loop over the tiles and stored after it.",
        "In the kernel:\n\n"
        "    row, column    number of the program * BLOCK + tl.arange(0, BLOCK)\n"
        "    acc            tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"
        "    for each tile, of which there are tl.cdiv(K, BLOCK_K):\n"
        "        k          tile * BLOCK_K + tl.arange(0, BLOCK_K)\n"
        "        a          tl.load at a_ptr + row[:, None] * a_row\n"
        "                   + k[None, :] * a_column, mask of both, other=0.0\n"
        "        b          tl.load at b_ptr + k[:, None] * b_row\n"
        "                   + column[None, :] * b_column, the same\n"
        "        acc        tl.dot(a, b, acc)\n"
        "    tl.store acc at out_ptr, with rows and columns\n\n"
        "The launcher: the grid (triton.cdiv(M, block_m), triton.cdiv(N, block_n)), and for each array its "
        "stride(0) and stride(1).",
    ),
    hint_for={
        "forgets_the_last_tile": 1,
        "leaves_masked_entries_undefined": 2,
        "masks_every_tile_like_the_first": 2,
        "adds_up_in_float16": 3,
        "loads_a_anew_for_each_column": 2,
    },
)

LAYOUTS = ("rows", "columns", "apart")


def eighths(rng, *shape, least=-16):
    """Multiples of 1/8, from least/8 to 4 more."""
    return (rng.integers(least, least + 33, shape) / 8).astype(np.float32)


def sized(draw, block):
    """How many rows or columns there are, at most 8: one or two blocks, of which the last is seldom full."""
    return draw(st.sampled_from([2, 1, 2] if block < 8 else [1])) * block - draw(st.integers(0, block - 1))


@KATA.cases
def cases(draw):
    """One or two blocks of rows and of columns, up to three tiles; each array with its own layout."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    block_m, block_n = draw(st.sampled_from([4, 2, 8, 1])), draw(st.sampled_from([2, 4, 1, 8]))
    rows, columns = sized(draw, block_m), sized(draw, block_n)
    k = draw(st.sampled_from([20, 5, 16, 33, 17, 32, 1, 36]))
    layouts = draw(st.sampled_from([("rows",) * 3, None]))
    layouts = layouts or tuple(draw(st.sampled_from(LAYOUTS)) for _ in range(3))
    return {
        "a": eighths(rng, rows, k),
        "b": eighths(rng, k, columns),
        "layouts": layouts,
        "block_m": block_m,
        "block_n": block_n,
        "block_k": draw(st.sampled_from([16, 16, 32])),
    }


@KATA.example
def printed():
    """The example of the statement."""
    a, b = np.ones((3, 20), np.float32), np.tile(np.arange(1, 6, dtype=np.float32), (20, 1))
    return {"a": a, "b": b, "layouts": ("rows",) * 3, "block_m": 2, "block_n": 4, "block_k": 16}


@KATA.example
def more_rows_than_columns():
    a, b = eighths(np.random.default_rng(1), 5, 18), eighths(np.random.default_rng(2), 18, 2)
    return {"a": a, "b": b, "layouts": ("rows",) * 3, "block_m": 4, "block_n": 2, "block_k": 16}


@KATA.example
def more_columns_in_a_block_than_numbers_in_a_tile():
    a, b = eighths(np.random.default_rng(3), 2, 20), eighths(np.random.default_rng(4), 20, 33)
    return {"a": a, "b": b, "layouts": ("rows",) * 3, "block_m": 2, "block_n": 32, "block_k": 16}


@KATA.example
def more_tiles_than_numbers_in_a_tile():
    a, b = eighths(np.random.default_rng(5), 1, 260), eighths(np.random.default_rng(6), 260, 1)
    return {"a": a, "b": b, "layouts": ("rows",) * 3, "block_m": 1, "block_n": 1, "block_k": 16}


@KATA.corner(points=0.5)
def blocks_that_are_larger_than_the_arrays(a, b, block_m, block_n, block_k):
    """A single program, whose tiles are larger than both arrays, is right."""
    return a.shape[0] < block_m and b.shape[1] < block_n and a.shape[1] < block_k


@KATA.corner(points=1)
def arrays_that_are_not_contiguous(layouts):
    """Arrays may be transposed, or parts of larger ones."""
    return set(layouts) != {"rows"}


def strides(shape, layout):
    """By how many entries rows and columns are apart; others lie between rows that are `apart`."""
    rows, columns = shape
    return {"rows": (columns, 1), "columns": (1, rows), "apart": (columns + 3, 1)}[layout]


def loads(a, b, block_m, block_n):
    """The rows and columns of each block of outputs, once."""
    blocks = -(-a.shape[0] // block_m) * -(-b.shape[1] // block_n)
    return 2 * (block_m + block_n) * a.shape[1] * blocks


@kernel(KATA, loads=loads, stores=lambda a, b: 4 * a.shape[0] * b.shape[1])
def launch(device, student, a, b, layouts, block_m, block_n, block_k):
    shapes = a.shape, b.shape, (a.shape[0], b.shape[1])
    steps = [strides(shape, layout) for shape, layout in zip(shapes, layouts, strict=True)]
    left = device.array(a.astype(np.float16), "a", strides=steps[0])
    right = device.array(b.astype(np.float16), "b", strides=steps[1])
    out = device.empty(shapes[2], "float32", "out", strides=steps[2])
    device.run(student.tiled_matmul, left, right, out, block_m, block_n, block_k)
    return {"out": out}


def product(student, a, b, blocks=(4, 2, 16)):
    """What is in `out` afterwards, all arrays contiguous."""
    return launch(Device(), student, a, b, ("rows",) * 3, *blocks)["out"].numpy()


def large_sums(draw):
    """Sums beyond 2048, of which float16 has no odd ones."""
    rng, k = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from([40, 48, 65]))
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return {"a": eighths(rng, rows, k, least=48), "b": eighths(rng, k, columns, least=64)}


@KATA.law(points=1, cases=large_sums)
def test_sums_are_kept_in_float32(student, a, b):
    """Sums are added up and stored in float32."""
    expect.equal(product(student, a, b), a @ b, "the product, whose sums float32 has to the last digit,")


def with_other_blocks(draw):
    case = cases(draw)
    sizes = ((1, 4, 16), (8, 1, 16), (2, 8, 32), (4, 4, 16))
    names = ("block_m", "block_n", "block_k")
    before = tuple(case[name] for name in names)
    other = draw(st.sampled_from([size for size in sizes if size != before]))
    return {"a": case["a"], "b": case["b"], "before": before, "other": other}


@KATA.law(points=0.5, cases=with_other_blocks)
def test_the_sizes_of_blocks_do_not_matter(student, a, b, before, other):
    """Other sizes of blocks and tiles give the same product."""
    what = f"the product for block_m, block_n, block_k = {other}, against that for {before},"
    expect.equal(product(student, a, b, other), product(student, a, b, before), what)


@KATA.law(points=0.5)
def test_the_identity_gives_b(student, a, b):
    """The identity times b is b."""
    identity = np.eye(len(b), dtype=np.float32)[: len(a)]
    expect.equal(product(student, identity, b), identity @ b, f"the first {len(identity)} rows of b")
