"""Layer norm as one kernel: a row is loaded once, and the result stored.

Layer norm takes the mean of a row from its numbers, divides by the root of their
variance, and gives each column a scale, gamma, and an offset, beta. Written with array
operations that is a mean, a difference, a square, a second mean, and so on. Each of
them reads the matrix, and most write another one. They are fused here: one kernel does
all of it, and what lies between the load and the store never reaches memory.

Program r has row r, in a block of as many lanes as the next power of two asks for:

    BLOCK    = next_power_of_2(columns)
    at       = arange(0, BLOCK)                               [BLOCK]
    inside   = at < columns                                   [BLOCK]
    x        = load(x_ptr + r * x.stride(0) + at)             [BLOCK]
               where inside, else 0, in float32
    mean     = the sum of x / columns                         one number
    centred  = x - mean where inside, else 0                  [BLOCK]
    variance = the sum of centred^2 / columns                 one number
    root     = sqrt(variance + eps)                           one number
    store gamma * centred / root + beta at
               out_ptr + r * out.stride(0) + at, where inside

A masked lane must count in neither sum. For the mean `other=0.0` is enough. For the
variance it is not: a masked lane holds 0, so x - mean is -mean there, and its square is
added. `tl.where(inside, x - mean, 0.0)` makes it 0 again. Both sums are divided by the
number of columns, which is how many numbers were added, and not by the lanes.

The rows of x and `out` may lie apart, as in `row_softmax`: row r begins at r *
stride(0), and x and `out` each have a stride of their own. gamma and beta have one
entry for each column, and every program loads all of them.

x is float32 or float16. float16 has 11 bits and ends at 65,504: the sum of 70 numbers
near 1,000 is beyond it. So x is converted once it is loaded, `.to(tl.float32)`, and all
else is float32.

Example: x has 2 rows and 3 columns, x.stride(0) = 5, out.stride(0) = 3; BLOCK = 4.
gamma = [1.5, 3, 1.5], beta = [0, 0, 1], and eps = 0.25, so that the numbers are short.

                 loads x_ptr +        gamma_ptr + and beta_ptr +    stores out_ptr +
    lane         0   1   2   3        0   1   2   3                 0   1   2   3
    program 0    0   1   2   -        0   1   2   -                 0   1   2   -
    program 1    5   6   7   -        0   1   2   -                 3   4   5   -

    - is masked

             x               mean   centred            variance              root
    row 0    [0, 3, 3, 0]    2      [-2, 1, 1, 0]      (4 + 1 + 1) / 3 = 2   1.5
    row 1    [5, 5, 8, 0]    6      [-1, -1, 2, 0]     (1 + 1 + 4) / 3 = 2   1.5

    out = [[-2, 2, 2], [-1, -2, 3]]

If its masked lane were not made 0, row 1 would have (1 + 1 + 4 + 36) / 3 = 14.

Bound: a program loads its row, gamma and beta once, and stores its row once. With R
rows and C columns that is 12 * R * C bytes loaded where x is float32, 10 * R * C where
it is float16, and 4 * R * C bytes stored: 72 loaded and 24 stored in the example. A
program that has several rows may load gamma and beta once for all of them.

Neither Triton nor a GPU is needed: `grader.kernels` runs this file in NumPy, checks
each load and store, and counts the bytes. A try:

    from grader.kernels import DeviceArray
    x = DeviceArray(np.array([[0, 3, 3], [5, 5, 8]], np.float32), "x", strides=(5, 1))
    gamma = DeviceArray(np.array([1.5, 3, 1.5], np.float32), "gamma")
    beta = DeviceArray(np.array([0, 0, 1], np.float32), "beta")
    out = DeviceArray.empty((2, 3), "float32", "out")
    fused_layer_norm(x, gamma, beta, out, 0.25)
    print(out.numpy())

Where public code differs: Triton's tutorial takes a row in blocks, so that it may be
longer than a block, and goes over it three times: for the mean, for the variance and
for the result. Each number of x is loaded three times, which is more than the bound
allows; here a row fits a block. It also stores the mean and 1 / root of each row for
the backward pass, and takes one stride for x and the result.

What goes wrong: a masked lane counts in the variance; no `other`, so that the mean is
NaN; sums divided by the block, or by columns - 1; no mask on a load or the store; the
mean of the squares minus the square of the mean, which has no digits left where a row
is far from 0; eps outside the root; sums in float16; the stride of x for the rows of
`out`, or the number of columns for either; a row of gamma for each program; a row that
is loaded for each step, or stored and loaded in between.

Edge cases with their own checks: rows far from 0, float16, another eps or rows with a
small spread, a row of more than a thousand numbers.

Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3; Triton's tutorial
"Layer Normalization", the forward pass.
"""

import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr,
    gamma_ptr,
    beta_ptr,
    out_ptr,
    x_stride,
    out_stride,
    columns,
    eps,
    BLOCK: tl.constexpr,
):
    """Normalise one row: the code of one program.

    x_ptr, gamma_ptr, beta_ptr, out_ptr: pointers to the first entry of each array.
    x_stride, out_stride: by how many entries the rows of x and `out` are apart.
    columns:              the entries of a row.
    eps:                  added to the variance, under the root.
    BLOCK:                the lanes of a program, a power of two.
    """
    raise NotImplementedError


def fused_layer_norm(x, gamma, beta, out, eps: float) -> None:
    """Write the layer norm of each row of x to `out`.

    x:       float32 or float16 [R, C] on the device, R and C at least 1, C at most
             8,192. Its rows are x.stride(0) entries apart, and x.stride(1) is 1. Rows
             may stand as far as 1e4 from 0 with a spread of 1.
    gamma:   float32 [C] on the device, contiguous: the scale of each column.
    beta:    float32 [C] on the device, contiguous: the offset of each column.
    out:     float32 [R, C] on the device, with a stride(0) of its own, and stride(1) of
             1. What is in it counts for nothing.
    eps:     above 0, added to the variance, under the root.
    returns: nothing: the result is in `out`.

    The kernel may have other parameters than those above.
    """
    raise NotImplementedError
