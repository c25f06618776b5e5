"""Flash attention as a kernel: queries in blocks, keys in blocks, no matrix of scores.

A program has one block of queries of one head. It loads them once, and goes over the
keys block by block. The scores of a block of queries with a block of keys live in the
program alone and never reach memory. The softmax of a row is computed as in
`online_softmax`, and the output is corrected together with the sum:

    queries  = block of q                                     [block_q, d_head]
    for each block of keys:
        scores   = queries keys^T / sqrt(d_head)              [block_q, block_k]
        scores   = -inf where the key stands after the query
        maximum' = max(maximum, the largest score of the row) [block_q]
        powers   = exp(scores - maximum')                     [block_q, block_k]
        change   = exp(maximum - maximum')                    [block_q]
        sum'     = change * sum + the row's sum of powers     [block_q]
        output'  = change * output + powers values            [block_q, d_head]
    store output / sum

The maximum begins with -inf, sum and output with 0. Query i sees the keys 0 to i. So a
program needs no keys behind its last query, and does not load a block that begins
there. With T = 40, block_q = 8 and block_k = 16:

                 queries   keys 0-15   keys 16-31   keys 32-39
    program 0    0-7           d
    program 1    8-15          d
    program 2    16-23         +            d
    program 3    24-31         +            d
    program 4    32-39         +            +            d

A block with + is seen by all queries of the program. The diagonal runs through one with
d: there some keys are hidden, by their positions in the sequence. What is empty is not
loaded. In the last block of queries and of keys, positions from T on are masked. A
masked value needs an `other`: its power is 0, and 0 * NaN is NaN.

The grid has two axes: axis 0 for the blocks of queries, axis 1 for the heads, or the
other way round. Entry (h, t, i) of an array lies `h * stride(0) + t * stride(1) + i`
entries behind the first. A model often has its heads side by side, so that stride(1) is
larger than d_head, and `out` has strides of its own.

`tl.dot(a, b)` is the product of blocks [M, K] and [K, N]. It takes K from 16 on: d_head
is 16 here, and block_k at least 16. On a GPU it rounds float32 to fewer digits, unless
it gets input_precision="ieee".

Queries are loaded once, results stored once, and each key and value once for each block
of queries that sees its block. With one head, T = 128 and blocks of 16 queries and 16
keys, at most 81,920 bytes are loaded and 8,192 stored: a query has 64 bytes, a key with
its value 128, and the programs load 16 + 32 + ... + 128 = 576 keys. No load or store
takes more than block_q queries or results, or block_k keys or values.

Example: 17 tokens, block_k = 16. All numbers are 0 but those in column 0: the values
are 1, that of key 16 is 6; query 16 is 4, and key 16 is log(4) = 1.386. So query 16 has
the scores 0 and, with key 16, 4 * 1.386 / sqrt(16) = 1.386:

    keys     maximum   change   sum             output in column 0
    0-15     0         0        16              16
    16       1.386     1/4      16/4 + 1 = 5    16/4 + 6 = 10
    stored                                      10 / 5 = 2

The powers of the second block are relative to the maximum 1.386, so key 16 has the
power 1. All other queries see the value 1 alone, and their result is 1.

A try (neither Triton nor a GPU is needed, see `masked_add`):

    from grader.kernels import DeviceArray
    numbers = np.random.default_rng(0).standard_normal((3, 1, 40, 16), np.float32)
    q, k, v = (DeviceArray(x, name) for x, name in zip(numbers, "qkv"))
    out = DeviceArray(np.zeros((1, 40, 16), np.float32), "out")
    flash_attention(q, k, v, out, 8, 16)
    print(out.numpy())

Elsewhere: kernels of today take 64 or 128 queries, exp2 with scores that were
multiplied by log2(e), and float16; they go over the blocks with + without a mask, and
over those with d afterwards. That is as right.

What goes wrong: output or sum is not corrected; the mask compares places in the block
and not positions; blocks behind the diagonal are loaded and hidden; the block on the
diagonal is left out; queries are loaded again for each block of keys; a masked value is
undefined; the strides of one array are used for another; heads follow each other only
where stride(0) says so.

Edge cases with their own checks: heads side by side, scores in the thousands.

Source: Dao et al. 2022, "FlashAttention: Fast and Memory-Efficient Exact Attention with
IO-Awareness", section 3.1 and algorithm 1; Dao 2023, "FlashAttention-2", section 3.1
(queries in the outer loop, the division at the end).
"""

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    tokens,
    scale,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Store the results of one block of queries: the code of one program.

    q_ptr, k_ptr, v_ptr, out_ptr: pointers to the first entry of each array.
    tokens:  T.
    scale:   1 / sqrt(d_head).
    BLOCK_Q: how many queries the program has.
    BLOCK_K: how many keys it holds at a time.

    The strides of the arrays are missing here: add what you need.
    """
    raise NotImplementedError


def flash_attention(q, k, v, out, block_q: int, block_k: int) -> None:
    """Write causal attention, softmax(q k^T / sqrt(d_head)) v, to `out`.

    q, k, v, out: float32 arrays [heads, T, 16] on the device. stride(2) is 1; the other
                  strides may be any, and those of `out` others than those of q, k and
                  v, which are alike.
    block_q:      queries a program, a power of two from 1.
    block_k:      keys at a time, a power of two from 16.
    returns:      nothing: the results are in `out`.
    """
    raise NotImplementedError
