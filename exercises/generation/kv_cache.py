"""A key-value cache: attention that projects every token once.

A decoder writes one token at a time. At each step the new token's query is compared
with the keys of all tokens so far and mixes their values. Keys and values of earlier
tokens do not change, since each depends on its own token alone (within a layer's causal
attention), so projecting the whole sequence again at every step is waste. A cache keeps
them: a step projects only its new tokens, appends their keys and values, and attends
with the new queries over everything that the cache holds.

    q, k, v       = x @ w_qkv, its columns in three blocks      each [B, T_new, d_model]
    ... in heads: head h owns the h-th block of columns         [B, H, T_new, d_head]
    all_k, all_v  = cache.append(k, v)                          each [B, H, T, d_head]
    weights       = softmax(q all_k^T / sqrt(d_head))           [B, H, T_new, T]
    output        = heads joined again (weights all_v) @ w_out  [B, T_new, d_model]

with d_head = d_model / num_heads and T = len(cache) after the append. Usually
T_new is 1. For the prompt it is the prompt's length, and a sequence may be cut into
pieces in any way: the results are the same. So the mask must know where the piece
begins. With 2 tokens in the cache, the 3 new ones are tokens 2, 3 and 4 of the
sequence, and may attend to (1 = visible)

    token 2    1 1 1 0 0
    token 3    1 1 1 1 0
    token 4    1 1 1 1 1

Example: d_model 2, one head, w_qkv = [I, I, I] and w_out = I (I is the 2 x 2 identity),
so q = k = v = x. The tokens are [1, 0], then [0, 1]. The first attends only to itself:
output [1.0, 0.0]. The second has the scores [0, 1] / sqrt(2), the weights
[0.330, 0.670] and so the output [0.330, 0.670].

What goes wrong: one-token steps are right and a piece of several tokens is not, or the
other way round (the mask); two generations side by side mix (the history belongs to the
class and not to the object); the text is right, and each step takes longer than the
last by far more than it should (the history is projected again).

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, extreme scores, masks of no more than the new tokens' rows, another
device than the CPU.

Source: Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need",
section 2.4; the attention is that of Vaswani et al. 2017, section 3.2.
"""

import torch


class KVCache:
    """The keys and values of one attention layer for the tokens so far; empty at first.

    It holds as many tokens as it is given, in their own dtype and on their own device.
    """

    def __init__(self) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of tokens held."""
        raise NotImplementedError

    def append(
        self,
        k: torch.Tensor,
        v: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the keys and values of new tokens behind those already held.

        Gradients through what the cache holds are not graded: it serves generation.

        k, v:    [B, H, T_new, d_head].
        returns: all keys and all values so far, each [B, H, T, d_head], oldest token
                 first. They may be views of what the cache holds, which a later append
                 may write over.
        """
        raise NotImplementedError


def cached_attention(
    x: torch.Tensor,
    w_qkv: torch.Tensor,
    w_out: torch.Tensor,
    num_heads: int,
    cache: KVCache,
) -> torch.Tensor:
    """Causal multi-head attention of the new tokens over the cache and themselves.

    x:         the new tokens, [B, T_new, d_model].
    w_qkv:     [d_model, 3*d_model]; the columns are q, then k, then v. No bias.
    w_out:     [d_model, d_model]. No bias.
    num_heads: divides d_model.
    cache:     what earlier pieces of the same sequences left; it takes in the new
               tokens as well.
    returns:   [B, T_new, d_model].

    The work of a step, its mask included, grows with the cache's length, not with its
    square, and no token is projected twice.
    """
    raise NotImplementedError
