"""Softmax of each row: one program a row, and one look at memory.

Softmax needs a row three times: for its maximum, for the sum of the powers, and for the
division. Written with array operations it reads and writes the matrix at every step. A
kernel loads a row once, keeps it while it computes, and stores the result: the time of
a softmax is the time of its memory, so that is all that matters.

Program r has row r. Its block is the row and as many lanes more as a power of two asks
for, since `tl.arange` takes no other sizes:

    BLOCK   = next_power_of_2(columns)
    at      = arange(0, BLOCK)                            [BLOCK]
    inside  = at < columns                                [BLOCK]
    scores  = load(x_ptr + r * x.stride(0) + at)          [BLOCK]
              where inside, else -inf
    powers  = exp(scores - the maximum of scores)         [BLOCK]
    store powers / the sum of powers at
              out_ptr + r * out.stride(0) + at, where inside

A masked lane takes part in the maximum and in the sum, so it must change neither. That
is what `other` is for: -inf is no maximum, and exp(-inf) = 0 adds nothing. With 0 the
sum has a power too many, and the maximum is wrong where all scores are negative.

The rows of an array need not follow each other. Of a matrix with 5 columns, the first 3
are an array whose rows begin 5 entries apart, and its `stride(0)` is 5. What lies
between the rows belongs to others. Here x and out each have a stride of their own, and
the entries of a row are neighbours: `stride(1)` is 1.

Example: x has 2 rows and 3 columns, x.stride(0) = 5, out.stride(0) = 3. BLOCK = 4.

                 loads x_ptr +        stores at out_ptr +
    lane         0   1   2   3        0   1   2   3
    program 0    0   1   2   -        0   1   2   -      - is masked
    program 1    5   6   7   -        3   4   5   -

    row 0    scores [0, 0, 0.693, -inf]    powers [0.5, 0.5, 1, 0]       sum 2
    row 1    scores [1.099, 0, 0, -inf]    powers [1, 0.333, 0.333, 0]   sum 1.667

    out = [[0.25, 0.25, 0.5], [0.6, 0.2, 0.2]]

Bound: every score is loaded once and every probability stored once. With R rows and C
columns of float32 that is 4 * R * C bytes loaded and 4 * R * C bytes stored: 24 and 24
in the example.

Neither Triton nor a GPU is needed: `grader.kernels` runs this file in NumPy, checks
each load and store, and counts the bytes. A try:

    from grader.kernels import DeviceArray
    x = DeviceArray(np.ones((2, 3), np.float32), "x", strides=(5, 1))
    out = DeviceArray.empty((2, 3), "float32", "out")
    row_softmax(x, out)
    print(out.numpy())

Where public code differs: the tutorial launches fewer programs than rows, and each goes
on to further rows in a loop. That is right here too.

What goes wrong: masked lanes hold 0, or NaN since there is no `other`; a large number
below zero in the place of -inf; no mask; the stride of x for the rows of `out`, or the
number of columns for either; a block that is no power of two, or shorter than the row;
exp without the maximum; a row that is loaded again for each step; powers that go to
memory and come back.

Edge cases with their own checks: scores far from 0, scores of -inf, a row of more than
a thousand scores.

Source: Triton's tutorial "Fused Softmax"; for the stable form, Goodfellow, Bengio and
Courville 2016, "Deep Learning", section 4.1.
"""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    """Compute the softmax of one row: the code of one program.

    x_ptr, out_ptr:       pointers to the first entry of each array.
    x_stride, out_stride: by how many entries their rows are apart.
    columns:              the entries of a row.
    BLOCK:                the lanes of a program, a power of two.
    """
    raise NotImplementedError


def row_softmax(x, out) -> None:
    """Write the softmax of each row of x to `out`.

    x:       float32 [R, C] on the device, R and C at least 1. Its rows are
             x.stride(0) entries apart, and x.stride(1) is 1. Entries may be -inf; each
             row has one that is not.
    out:     float32 [R, C] on the device, with a stride(0) of its own. What is in it
             counts for nothing.
    returns: nothing: the probabilities are in `out`.

    The kernel may have other parameters than those above.
    """
    raise NotImplementedError
