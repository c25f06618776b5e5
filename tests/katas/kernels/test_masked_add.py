"""masked_add: its cases and its laws.

Numbers are multiples of 1/4, so that sums are exact in float32.
"""

import numpy as np

from grader import strategies as st
from grader.kata import Kata
from grader.kernels import kernel

KATA = Kata(
    "masked_add",
    track="kernels",
    entry_points=("masked_add",),
    title="One program a block",
    source="Tillet, Kung and Cox 2019, section 3; Triton's tutorial Vector Addition",
    libraries=("numpy",),
    bank_size=40,
    hints=(
        "Take n = 6 and blocks of 4, and write down for both programs which entries they load. Which of them "
        "does the array not have?",
        "The numbers of a program's entries are a sum: where its block begins, and the numbers from 0 to "
        "BLOCK - 1. A comparison of them with n is the mask of both loads and of the store.",
        "In the kernel:\n\n"
        "    begin   = tl.program_id(0) * BLOCK\n"
        "    at      = begin plus tl.arange(0, BLOCK)                     [BLOCK]\n"
        "    inside  where at < n                                         [BLOCK]\n"
        "    tl.load(x_ptr + at, mask=inside), the same for y             [BLOCK]\n"
        "    tl.store(out_ptr + at, the sum, mask=inside)\n\n"
        "The launcher: add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block).",
    ),
)


@KATA.cases
def cases(draw):
    """One to six blocks, of which the last is seldom full."""
    block = draw(st.sampled_from([4, 8, 2, 16, 1]))
    n = draw(st.integers(1, 5)) * block - draw(st.integers(0, block - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x, y = (rng.integers(-40, 41, n).astype(np.float32) / 4 for _ in range(2))
    return {"x": x, "y": y, "block": block}


@KATA.example
def printed():
    """The example of the statement."""
    x, y = np.arange(1, 7, dtype=np.float32), np.array([10, 10, 10, 20, 20, 20], dtype=np.float32)
    return {"x": x, "y": y, "block": 4}


@KATA.corner(points=1)
def a_block_that_is_larger_than_the_array(x, block):
    """A single program, with more lanes than there are entries."""
    return len(x) < block


@kernel(
    KATA,
    loads=lambda x, y: x.nbytes + y.nbytes,
    stores=lambda x: x.nbytes,
    programs=lambda x, block: -(-len(x) // block),
)
def launch(device, student, x, y, block):
    out = device.empty(x.shape, "float32", "out")
    device.run(student.masked_add, device.array(x, "x"), device.array(y, "y"), out, block)
    return {"out": out}
