"""The gradients of attention, block by block.

The backward pass of attention takes more than half of the time that training spends in
attention, and written down at once it holds several T x T matrices. The backward pass
of FlashAttention holds none: it computes the weights again, one block at a time, from
two results of the forward pass that are small.

For the gradient `dout` of the loss with respect to the output, return the gradients by
q, k and v. In the forward pass, with a scale of 1 / sqrt(d_k):

    scores  = q kᵀ * scale                                   [..., Tq, Tk]
    lse     = log of the sum of exp(scores) of each row      [..., Tq]
    weights = exp(scores - lse), the softmax of each row     [..., Tq, Tk]
    out     = weights v                                      [..., Tq, d_v]

`out` and `lse` are given. The backward pass is

    D        = the sum of dout * out of each row             [..., Tq, 1]
    dv       = weightsᵀ dout                                 [..., Tk, d_v]
    dweights = dout vᵀ                                       [..., Tq, Tk]
    dscores  = weights * (dweights - D)                      [..., Tq, Tk]
    dq       = dscores k * scale                             [..., Tq, d_k]
    dk       = dscoresᵀ q * scale                            [..., Tk, d_k]

The softmax asks for the sum of weights * dweights of each whole row. D is that number:
dout * (weights v) and weights * (dout vᵀ) have the same sum. So no row has to be
complete, and each block of `block_size` queries and `block_size` keys adds its part to
dq, dk and dv. `block_size` need not divide the numbers of queries and keys; the last
block is then smaller.

No tensor that the call makes may have more than twice as many elements as the largest
of these: q, k, v, out, and the scores of one block (L * block_size**2, with L the
product of the leading axes). Masks and temporaries count as well. Views and work in
place do not. The work may be at most twice that of the five products above, each
computed once.

`causal` hides later keys. The queries are the last Tq of the Tk positions, so query i
sees the keys 0 ... Tk - Tq + i, and `lse` and `out` are those of the visible keys. The
weight of a hidden key is 0. Blocks of keys that no query of the block sees are not
computed. For 64 queries and 64 keys in blocks of 8, the work with `causal` may be at
most three quarters of the work without it.

Example: q = [[1]], k = [[0], [1.0986]], v = [[2], [6]] and dout = [[1]]. The scores are
[0, 1.0986], the weights [0.25, 0.75], lse = 1.3863 and out = [[5]]. Then D = 5,
dweights = [2, 6] and dscores = [0.25 * (2 - 5), 0.75 * (6 - 5)] = [-0.75, 0.75]. So

    dq = [[0.824]]        dk = [[-0.75], [0.75]]        dv = [[0.25], [0.75]]

Each row of dscores sums to 0, since adding one number to all scores of a row changes
nothing. For the same reason dk sums to 0 over the keys.

Elsewhere: the paper has the keys in the outer loop; either order is right here, and so
are two passes, one for dq and one for dk and dv. Some code passes the largest score and
the sum of the powers of each row in place of their one number lse.

What goes wrong: D of each block by itself, which is right as long as one block holds
all keys; a block that overwrites what earlier blocks gave to dk and dv; a scale that is
missing in dq and dk, or applied twice; a mask that counts queries from 0 behind a
cache.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, scores beyond 88 in size, another device than the CPU.

Work in PyTorch, without autograd.

Source: Dao 2023, "FlashAttention-2", algorithm 2; Dao et al. 2022, "FlashAttention",
appendix B.
"""

import torch


def attention_backward(
    dout: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    block_size: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients (dq, dk, dv) of softmax(q kᵀ / sqrt(d_k)) v.

    dout:       [..., Tq, d_v], the gradient of the loss with respect to the output; the
                leading axes, possibly none, are the same for all tensors.
    q:          [..., Tq, d_k].
    k:          [..., Tk, d_k].
    v:          [..., Tk, d_v]; d_v may differ from d_k.
    out:        [..., Tq, d_v], the output of the forward pass.
    lse:        [..., Tq], the logarithm of the sum of exp(scores) of each query.
    block_size: at least 1; may exceed Tq and Tk.
    causal:     whether later keys are hidden. If so, Tk is at least Tq.
    returns:    dq [..., Tq, d_k], dk [..., Tk, d_k] and dv [..., Tk, d_v], in the dtype
                and on the device of q.

    No argument is changed.
    """
    raise NotImplementedError
