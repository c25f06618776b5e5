"""A matrix product from tiles: a block of outputs a program.

out = a b needs M * N * K products, and each entry of a is part of N of them. A kernel
that loads two numbers for every product waits for memory. So a program computes a block
of outputs: for block_m rows and block_n columns it needs block_m rows of a and block_n
columns of b, and every number that it loads serves a whole row or column of the block.

The rows and columns are K long and need not fit. They are taken in tiles of block_k,
one after the other, and the products are added up in an accumulator:

    row     = pid_m * block_m + arange(0, block_m)      [block_m]
    column  = pid_n * block_n + arange(0, block_n)      [block_n]
    acc     = 0 everywhere                              [block_m, block_n] float32
    for every tile of k, from `begin` on:
        k   = begin + arange(0, block_k)                [block_k]
        a   = load(a_ptr + row * its stride, and k * its stride)    [block_m, block_k]
        b   = load(b_ptr + k * its stride, and column * its stride) [block_k, block_n]
        acc = acc + a b                                 tl.dot(a, b, acc)
    store acc at out_ptr, where row < M and column < N

`row[:, None]` and `k[None, :]` make the numbers of the entries of a tile. An entry that
does not exist is masked: a row or a column beyond the last one, whose outputs are not
stored, and above all a k beyond K, which counts in every output. What is masked there
must be 0 (`other=0.0`), and the last tile of k is seldom full.

The numbers of a and b are float16, which has 11 bits; a sum of many products needs
more. From 2048 on float16 has only even numbers. `tl.dot` adds up in float32, and the
accumulator is float32 too.

Example: a [3, 20] times b [20, 5], with block_m = 2, block_n = 4, block_k = 16. There
are 2 blocks of rows, 2 of columns, and 2 tiles of k, of which the second has 4 numbers.

    program (pid_m, pid_n)     outputs                      tiles of k
    (0, 0)                     rows 0 1, columns 0 1 2 3    0 ... 15 and 16 ... 19
    (0, 1)                     rows 0 1, column  4          0 ... 15 and 16 ... 19
    (1, 0)                     row  2,   columns 0 1 2 3    0 ... 15 and 16 ... 19
    (1, 1)                     row  2,   column  4          0 ... 15 and 16 ... 19

    a of ones, and column n of b holds n + 1 everywhere:
    each row of out is [20, 40, 60, 80, 100]

Bound: every program loads each number of its rows and columns once. So one block of
outputs costs at most (block_m + block_n) * K numbers of 2 bytes, also at the edges:

    loads     2 * (block_m + block_n) * K bytes for each of the
              cdiv(M, block_m) * cdiv(N, block_n) blocks
    stores    4 * M * N bytes: every output once

In the example 960 bytes are loaded at most, 240 a block, and 60 are stored. A program
for each output would load a row and a column each time, 1,200 bytes in all.

The arrays need not be contiguous. `a.stride(0)` says by how many entries two rows are
apart, and `a.stride(1)` two columns; in a transposed array the columns are further
apart than the rows.

Triton refuses a tl.dot with tiles of fewer than 16 k, and a variable that changes its
shape or its dtype in a loop.

Neither Triton nor a GPU is needed: `grader.kernels` runs this file in NumPy, checks
each load and store, and counts the bytes. A try:

    from grader.kernels import DeviceArray
    a = DeviceArray(np.ones((3, 20), np.float16), "a")
    b = DeviceArray(np.ones((20, 5), np.float16), "b")
    out = DeviceArray.empty((3, 5), "float32", "out")
    tiled_matmul(a, b, out, 2, 4, 16)
    print(out.numpy())

Where public code differs: the tutorial takes rows and columns modulo M and N in place
of a mask, orders the programs in groups so that the cache serves more of them, and has
a grid of one axis. All of that is right here too.

What goes wrong: no mask for the last tile of k, or no `other`; K // block_k tiles;
pointers that stay where they are, or move by one; block_m, block_n and block_k in each
other's place; strides of a contiguous array; tiles loaded anew for each output, or a
program for each output; sums in float16.

Edge cases with their own checks: arrays that are not contiguous, a single tile that is
larger than all of a.

Source: Triton's tutorial "Matrix Multiplication"; Tillet, Kung and Cox 2019, "Triton:
An Intermediate Language and Compiler for Tiled Neural Network Computations", section 3.
"""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    M,
    N,
    K,
    a_row,
    a_column,
    b_row,
    b_column,
    out_row,
    out_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Compute a block of BLOCK_M times BLOCK_N outputs: the code of one program.

    a_ptr, b_ptr, out_ptr: pointers to the first entry of each array.
    M, N, K:               a is [M, K], b is [K, N] and out is [M, N].
    a_row, a_column, ...:  by how many entries the rows, and the columns, of each array
                           are apart.
    BLOCK_M, BLOCK_N:      the rows and the columns of a block of outputs.
    BLOCK_K:               the columns of a, and rows of b, in one tile.
    """
    raise NotImplementedError


def tiled_matmul(a, b, out, block_m: int, block_n: int, block_k: int) -> None:
    """Write the matrix product a b to `out`, with a program for each block.

    a:                float16 [M, K] on the device, with any strides.
    b:                float16 [K, N] on the device, with any strides.
    out:              float32 [M, N] on the device, with any strides. What is in it
                      counts for nothing.
    block_m, block_n: rows and columns of a block of outputs, powers of two from 1.
    block_k:          how much of K a tile has, a power of two from 16.
    returns:          nothing: the product is in `out`, added up in float32.

    M, N and K are at least 1, and may be smaller than the blocks. The kernel may have
    other parameters than those above.
    """
    raise NotImplementedError
