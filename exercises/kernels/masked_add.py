"""A first kernel: one program a block.

A GPU runs thousands of programs at once. A kernel is the code of one of them. In Triton
a program works on a block of numbers at a time: it computes which entries are its own,
loads them, computes, and stores. `kernel[grid](...)` launches as many programs as the
grid says, and `tl.program_id(0)` is the number of the program that runs.

The kernel here adds two vectors. Program p has the `block` entries from p * block on:

    at      = p * block + arange(0, block)     [block]   the numbers of its entries
    inside  = at < n                           [block]   which of them exist
    x       = load(x_ptr + at) where inside    [block]
    store x + y at out_ptr + at where inside

Example: n = 6 entries in blocks of 4 make two programs.

    entry        0   1   2   3   4   5   6   7
    program 0    x   x   x   x
    program 1                    x   x   -   -      - is masked: entries 6 and 7 are of
                                                    nobody

    x = [1, 2, 3, 4, 5, 6],  y = [10, 10, 10, 20, 20, 20]  gives
    out = [11, 12, 13, 24, 25, 26]

The grid has n / block programs, rounded up: `triton.cdiv(n, block)`. The last block is
seldom full, so its loads and stores take a `mask`. A lane that is masked is not read;
what it holds is undefined unless `other` says what. Without the mask a kernel reads and
writes beyond the end of the array, where other arrays lie: nothing stops it on a GPU,
and here the report names the entry.

Every number is loaded once and stored once: 2 n entries loaded, n stored. Programs run
in any order, at the same time, so no two may store the same entry.

Neither Triton nor a GPU is needed. `grader.kernels` runs this file in NumPy, checks
each load and store, and counts the bytes; where Triton is installed, the same file runs
on the GPU. A try:

    from grader.kernels import DeviceArray
    x = DeviceArray(np.ones(6, np.float32), "x")
    out = DeviceArray(np.zeros(6, np.float32), "out")
    masked_add(x, x, out, 4)
    print(out.numpy())

What goes wrong: no mask, on the load or on the store; n // block programs, which lose
the last block; blocks that overlap, or that all begin at 0; `<=` in the mask; lanes of
the last block that are moved back and stored twice.

Source: Tillet, Kung and Cox 2019, "Triton: An Intermediate Language and Compiler for
Tiled Neural Network Computations", section 3 (programs and blocks); Triton's tutorial
"Vector Addition".
"""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Add BLOCK entries of x and y: the code of one program.

    x_ptr, y_ptr, out_ptr: pointers to the first entry of each array.
    n:                     the number of entries.
    BLOCK:                 how many entries one program has, a power of two.
    """
    raise NotImplementedError


def masked_add(x, y, out, block: int) -> None:
    """Write x + y to `out`, with a program for each block.

    x, y, out: float32 arrays [n] on the device, of one length, contiguous. They have
               `x.shape`, `x.stride(0)` and `x.numel()`, and no numbers that are read
               here.
    block:     entries a program, a power of two from 1.
    returns:   nothing: the sums are in `out`.
    """
    raise NotImplementedError
