"""Linear attention: a decoder with a memory of fixed size.

The cache of softmax attention grows with every token, and so does the work of the next
one. Linear attention takes another weight than exp(q . k): a product of features, all
of them above zero. Since a product can be regrouped, the sum over all earlier tokens
need not be made anew for each query. It is kept, in a state that never grows:

    f(x)      = elu(x) + 1, number by number: x + 1 above zero, exp(x) elsewhere
    result_i  = (sum over j <= i of (f(q_i) . f(k_j)) v_j)
                / (sum over j <= i of f(q_i) . f(k_j))                       [d_v]

    S_i       = sum over j <= i of f(k_j) v_j^T                              [d_k, d_v]
    z_i       = sum over j <= i of f(k_j)                                    [d_k]
    result_i  = f(q_i)^T S_i / (f(q_i) . z_i)           the same number, regrouped

There is no scale by sqrt(d_k): it would cancel. Nothing is added to the denominator,
which is above zero. Write the three forms in which it is used:

    parallel   all T x T weights at once: for training on short sequences
    step       one token; takes a state and returns the next one: for generation
    chunked    T tokens, chunk_size at a time: within a chunk the weights, from all
               earlier chunks the state: for training on long sequences

For one query of a chunk, the numerator is the sum over the keys of its chunk up to
itself plus f(q_i)^T S, and the denominator likewise, where S and z are those before the
chunk. chunk_size need not divide T; the last chunk is then smaller. A state that is
given holds the tokens before the first one; without one there are none.

In the chunked form no tensor that the call makes may have more than twice as many
elements as the largest of these: q, k, v, S, and the weights of one chunk (B * H *
chunk_size**2). And the state is brought up to date once a chunk, not once a token: for
64 tokens with d_k = d_v = 32 in chunks of 16, all tensors that the call makes may
together have no more elements than 64 states S. Views and work in place do not count.

Example: one head, d_k = 2, d_v = 1, two tokens.

    q = [0, 0], [1, 0]     f(q) = [1, 1], [2, 1]
    k = [0, 1], [1, 0]     f(k) = [1, 2], [2, 1]       v = [10], [20]

    weights of token 1     [2, 1] . [1, 2] = 4 and [2, 1] . [2, 1] = 5
    results                10 and (4 * 10 + 5 * 20) / 9 = 15.556
    state after both       S = [[50], [40]], z = [3, 3]
    again by the state     (2 * 50 + 1 * 40) / (2 * 3 + 1 * 3) = 140 / 9 = 15.556

Elsewhere: the code of Katharopoulos et al. adds 1e-6 to the denominator. Later models
take other features, leave the denominator out, or let the state fade (RetNet, Mamba-2,
gated DeltaNet); the three forms stay.

What goes wrong: a token is missing from its own result (it was asked before it was
added to the state); the chunks after the first have too small a denominator; results
are averaged chunk by chunk, though only numerators and denominators add up.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, entries in the hundreds, another device than the CPU.

Not graded: entries below -5, where elu(x) + 1 loses digits; chunk_size below 1.

Source: Katharopoulos et al. 2020, "Transformers are RNNs: Fast Autoregressive
Transformers with Linear Attention"; the chunked form: Hua et al. 2022, "Transformer
Quality in Linear Time".
"""

import torch


def linear_attention_parallel(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
) -> torch.Tensor:
    """Causal linear attention by the matrix of all weights.

    q, k:    [B, H, T, d_k].
    v:       [B, H, T, d_v]; d_v may differ from d_k.
    returns: [B, H, T, d_v].
    """
    raise NotImplementedError


def linear_attention_step(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    state: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Take one more token in.

    q, k:    [B, H, d_k], of one token.
    v:       [B, H, d_v].
    state:   (S [B, H, d_k, d_v], z [B, H, d_k]) of the tokens before; None where there
             are none. It is not changed.
    returns: the result of this token, [B, H, d_v], and the state with this token.
    """
    raise NotImplementedError


def linear_attention_chunked(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    chunk_size: int,
    state: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Take T more tokens in, chunk_size at a time.

    q, k:       [B, H, T, d_k].
    v:          [B, H, T, d_v].
    chunk_size: 1 or more; may be larger than T.
    state:      (S, z) of the tokens before, as in a step; None where there are none.
                It is not changed.
    returns:    the results, [B, H, T, d_v], and the state with all T tokens.
    """
    raise NotImplementedError
