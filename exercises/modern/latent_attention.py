"""Latent attention: a cache of one small vector a token.

A cache of keys and values holds H * (d_head + d_v) numbers for each token. DeepSeek's
multi-head latent attention holds d_latent numbers, from which the keys and values of
all heads are made by two matrices:

    c       = x w_dkv                       the latents            [B, T_new, d_latent]
    all_c   = cache.append(c)               those of all tokens    [B, T, d_latent]
    q, k, v = x w_q,  all_c w_uk,  all_c w_uv
              head h owns the h-th block of neighbouring columns of each
    result  = in each head softmax(q k^T / sqrt(d_head)) v, later tokens hidden;
              the heads joined, times w_o

That is what must come out, and not how to compute it. To make the keys of all tokens
again at each step takes more work than the small cache saves. The matrices can be moved
to where they are needed once:

    q_h k_h^T       = q_h (all_c w_uk_h)^T         = (q_h w_uk_h^T) all_c^T
    weights_h v_h   = weights_h (all_c w_uv_h)     = (weights_h all_c) w_uv_h

So the new tokens' queries are brought to the width of the latents, and the cached
latents are used as they are. The bound: each further token in the cache may add at most
d_latent * H * d_head floating-point operations to a step of one token. To make that
token's keys alone takes twice as many. What a step costs with a short cache is not
bounded.

The cache is the caller's. `cache.append(latents)` takes the new tokens' latents
[B, T_new, d_latent] and returns those of all tokens so far; `len(cache)` is the number
of tokens held. Each call appends once, and nothing else.

The attention is causal over all tokens so far, however a sequence is cut: with 2 tokens
in the cache, the 3 new ones are tokens 2, 3 and 4.

Example: one head, all widths 1 but d_model 2. x = [[1, 0], [0, 1]], w_q = [[1], [1]],
w_dkv = [[1], [2]], w_uk = [[1]], w_uv = [[10]], w_o = [[1, 0]]. The latents are
1 and 2. The second token has the scores [1, 2], the weights [0.269, 0.731] and the
values 10 and 20. The outputs are [10, 0] and [17.31, 0].

Elsewhere: this is the paper's core, equations 9 to 11, with plain queries. Left out are
the decoupled rotary part (equations 14 to 19), compressed queries (12 and 13), and the
code's RMSNorm on the latents.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, extreme scores, values of another width than the keys, another
device than the CPU.

What goes wrong: the scale is taken from the width of the latents, which are what the
absorbed queries are multiplied with; one head's columns of w_uk meet another head's
queries; the text is right, and each step takes longer than it should (keys are made
again for all tokens).

Not graded: how often len(cache) is asked; the work of a long piece.

Source: DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2.
"""

import torch


def latent_attention(
    x: torch.Tensor,
    w_q: torch.Tensor,
    w_dkv: torch.Tensor,
    w_uk: torch.Tensor,
    w_uv: torch.Tensor,
    w_o: torch.Tensor,
    num_heads: int,
    cache,
) -> torch.Tensor:
    """Causal attention of the new tokens over all tokens so far, by latents.

    x:         the new tokens, [B, T_new, d_model].
    w_q:       [d_model, H*d_head].
    w_dkv:     [d_model, d_latent].
    w_uk:      [d_latent, H*d_head].
    w_uv:      [d_latent, H*d_v]; d_v may differ from d_head.
    w_o:       [H*d_v, d_model]. There are no biases.
    num_heads: H.
    cache:     what earlier pieces of the same sequences left; it takes in the new
               tokens' latents.
    returns:   [B, T_new, d_model], in the dtype of x. Right for large scores too.
    """
    raise NotImplementedError
