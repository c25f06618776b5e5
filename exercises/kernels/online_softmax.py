"""Online softmax: a row that is longer than a block.

The softmax of a row needs its largest entry and the sum of its powers before the first
result can be stored. A program that holds a whole row has both at once. A row of a
vocabulary has 100,000 entries and does not fit: a program holds a block of it at a
time. Reading the row once for the maximum, once for the sum and once for the results
makes three passes over memory. Two are enough. The first keeps a maximum and a sum, and
corrects the sum whenever a larger entry comes:

    for each block of the row:                                     [block]
        maximum' = max(maximum, the largest entry of the block)    one number
        change   = exp(maximum - maximum')                         one number
        sum'     = change * sum + the sum of exp(block - maximum') one number

    for each block of the row:                                     [block]
        store exp(block - maximum) / sum                           [block]

The sum begins with 0. It is always relative to the maximum so far: exp(maximum) * sum
is the sum of the powers that have been read. Program p has row p:

    column       0   1   2   3   4   5
    program 0    a   a   b   b   c   -     row 0 of 5 columns in blocks a, b, c of 2;
    program 1    a   a   b   b   c   -     row 1.  - is masked: the row ends there

Both passes go over a, b, c. Between them nothing is stored: two numbers are kept.

Example: the row [1, 2, 4, 3, 1] in blocks of 2.

    block     maximum    change              sum
    [1, 2]    2          0                   e^-1 + 1                        = 1.368
    [4, 3]    4          e^-2 = 0.1353       0.1353 * 1.368 + 1 + e^-1       = 1.553
    [1, -]    4          1                   1.553 + e^-3                    = 1.603
    stored    [0.031, 0.084, 0.624, 0.23, 0.031]

Rows may lie apart: entry (i, j) of x is `i * x.stride(0) + j` entries behind the first,
and a view of a wider array has a stride that is larger than its rows are long. `out`
has strides of its own. In the last block, lanes behind the end of the row take a mask
and an `other` that changes neither maximum nor sum. Entries of -inf have the
probability 0. Where all that has been read is -inf, the maximum must not be: -inf -
-inf is NaN. It may begin with a number that is lower than any finite entry, such as
-3e38.

Each entry is loaded twice and stored once. For 4 rows of 1,000 columns in float32, at
most 32,000 bytes are loaded and 16,000 stored. No load or store takes more than `block`
entries of a row.

A try (neither Triton nor a GPU is needed, see `masked_add`):

    from grader.kernels import DeviceArray
    x = DeviceArray(np.array([[1, 2, 4, 3, 1]], np.float32), "x")
    out = DeviceArray(np.zeros((1, 5), np.float32), "out")
    online_softmax(x, out, 2)
    print(out.numpy())

Elsewhere: some code keeps a maximum and a sum for each lane and joins the lanes at the
end. That is as right, and so are programs that have several rows each.

What goes wrong: the old sum is not corrected, or the maximum is replaced before the
correction is computed; each block subtracts its own maximum; 0 for what is masked; a
mask that is forgotten reads the next row; three passes; a block as long as the row; NaN
where a row begins with -inf; the number of columns taken for the stride.

Edge cases with their own checks: rows that lie apart, blocks of -inf, entries in the
tens of thousands. Each row has a finite entry, and finite entries are between -1e5 and
1e5.

Source: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax",
section 3 and algorithm 3.
"""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    """Store the softmax of one row: the code of one program.

    x_ptr, out_ptr:       pointers to the first entry of each array.
    columns:              the number of entries of a row.
    x_stride, out_stride: how many entries lie between the beginnings of two rows.
    BLOCK:                how many entries of the row a program holds, a power of two.
    """
    raise NotImplementedError


def online_softmax(x, out, block: int) -> None:
    """Write the softmax of each row of x to `out`.

    x, out:  float32 arrays [rows, columns] on the device, whose columns are neighbours:
             stride(1) is 1.
    block:   how many entries of a row a program holds, a power of two from 2. It may be
             longer than a row.
    returns: nothing: the probabilities are in `out`.
    """
    raise NotImplementedError
