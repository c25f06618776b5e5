"""Flash attention: attention without the matrix of all scores.

Attention over T tokens has T x T scores. Written to memory as one matrix they are what
a long context costs, and each is needed only once. But the softmax of a row can be
computed without its row: take the scores block by block, keep the largest score so far,
and correct what is already there when a larger one comes. For a block of queries, and
one block of keys after the other:

    scores   = q_block k_block^T / sqrt(d_k)                [..., block, block]
    maximum' = max(maximum, the largest score of the row)   -inf before the first block
    powers   = exp(scores - maximum')
    change   = exp(maximum - maximum')
    sum'     = change * sum + the sum of the row of powers  0 before the first block
    output'  = change * output + powers v_block             [..., block, d_v]; from 0

and when all keys are done, the result is output / sum. Both the queries and the keys
are taken in blocks of `block_size`, which need not divide their numbers; the last block
is then smaller.

No tensor that the call makes may have more than twice as many elements as the largest
of these: q, k, v, the output, and the scores of one block (L * block_size**2, with L
the product of the leading axes). Masks and temporaries count as well. Views and work in
place do not. The work may be at most three times that of computing each score, and its
part of the output, once.

`causal` hides later keys. The queries are the last Tq of the Tk positions, so query i
sees the keys 0 ... Tk - Tq + i. Blocks of keys that no query of the block sees are not
computed. For 64 queries and 64 keys in blocks of 8, the work with `causal` may be at
most three quarters of the work without it.

Example: one query with the scores [1, 2 | 4], the values 10, 20, 30 and blocks of two.
After the first block: maximum 2, sum e^-1 + 1 = 1.368, output 23.68. The second block
raises the maximum to 4: sum and output are multiplied by e^-2, and the last score adds
e^0 = 1 and 30. The sum is 1.185, the output 33.20, and the result 33.20 / 1.185 =
28.02.

Elsewhere: version 1 of the paper has the keys in the outer loop, version 2 the queries;
either is right here. Code that cuts only the queries, or only the keys, still holds
Tq * block_size scores or more; here both are cut.

What goes wrong: the result is right as long as the first block holds the largest score
(sum or output is not corrected); the last keys are missing where block_size does not
divide their number; NaN where all scores are far below zero.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, scores in the tens of thousands, another device than the CPU.

Work in PyTorch: every score is computed by an operation on tensors. PyTorch's own
attention is refused: `scaled_dot_product_attention` and `nn.MultiheadAttention`.

First solve `scaled_dot_product_attention`: this kata waits until that one passes.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Dao et al. 2022, "FlashAttention", section 3.1 and algorithm 1; Milakov and
Gimelshein 2018, "Online normalizer calculation for softmax".
"""

import torch


def flash_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    block_size: int,
    causal: bool = False,
) -> torch.Tensor:
    """softmax(q k^T / sqrt(d_k)) v, with queries and keys in blocks of `block_size`.

    q:          [..., Tq, d_k]; the leading axes, possibly none, are the same for q, k
                and v.
    k:          [..., Tk, d_k].
    v:          [..., Tk, d_v]; d_v may differ from d_k.
    block_size: at least 1; may exceed Tq and Tk.
    causal:     whether later keys are hidden.
    returns:    [..., Tq, d_v], in the dtype and on the device of q. Right for large
                scores too.

    ValueError where causal is True and Tk < Tq. No other mask; no gradients are needed.
    """
    raise NotImplementedError
