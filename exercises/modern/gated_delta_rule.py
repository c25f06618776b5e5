"""The gated delta rule: a memory of fixed size that can correct itself.

Linear attention adds every token to its state and never takes anything out, so after
many tokens the sums overlap. The gated delta rule removes in two ways. A gate makes the
whole state fade. And before a value is written, what the state already holds for this
key is taken out, by a share beta:

    S_t       = a_t S_(t-1) (I - b_t k_t k_t^T) + b_t v_t k_t^T               [d_v, d_k]
    result_t  = S_t q_t                                                       [d_v]

with the gate a_t above 0 and at most 1, and beta b_t from 0 to 1, both one number for
each token and head. The caller gives keys of norm 1, so with beta 1 the new state holds
exactly v_t for k_t: S_t k_t = v_t. There is no scale and no softmax. The same rule, as
something that is written at the key:

    u_t       = b_t (v_t - a_t S_(t-1) k_t)                                   [d_v]
    S_t       = a_t S_(t-1) + u_t k_t^T                                       [d_v, d_k]

Write the three forms in which it is used:

    step       one token; takes a state and returns the next one: for generation
    parallel   all tokens at once, from no state: for short sequences
    chunked    T tokens, chunk_size at a time: within a chunk as in the parallel form,
               from all earlier chunks the state: for training on long sequences

The u of one token depends on those before it. For the C tokens of a chunk, with S the
state before it, they are the solution of a triangular system:

    g_i       = a_1 a_2 ... a_i, within the chunk                             [C]
    D_ij      = a_(j+1) ... a_i for j <= i (so D_ii = 1), else 0              [C, C]
    L_ij      = b_i D_ij (k_i . k_j) for j < i, else 0                        [C, C]
    (I + L) U = the rows b_i (v_i - g_i S k_i)                                [C, d_v]
    result_i  = g_i S q_i + sum over j <= i of D_ij (q_i . k_j) u_j           [d_v]
    next S    = g_C S + sum over j of D_Cj u_j k_j^T                          [d_v, d_k]

The parallel form is one chunk of all tokens with S = 0. torch.linalg.solve_triangular
solves the system; so do a loop over the rows and an inverse. D_ij is g_i / g_j, but in
float32 a product of small gates may be 0, and 0 / 0 is NaN. The difference of two sums
of logarithms stays finite for j <= i.

chunk_size need not divide T; the last chunk is then smaller. A state that is given
holds the tokens before the first one; without one there are none, and S is zero.

In the chunked form no tensor that the call makes may have more than twice as many
elements as the largest of these: q, k, v, S, and the products of one chunk (B * H *
chunk_size**2). And the state is brought up to date once a chunk, not once a token: for
64 tokens with d_k = d_v = 64 in chunks of 16, all tensors that the call makes may
together have no more elements than 48 states S. Views do not count.

Example: one head, d_k = 2, d_v = 1, two tokens.

    k = [1, 0], [0.6, 0.8]     q = [1, 0], [1, 0]       v = [10], [20]
    gate = 1, 0.5              beta = 1, 0.5

    token 0    u = 10                            S = [[10, 0]]        result 10
    token 1    0.5 S = [[5, 0]] holds 3 for k    u = 0.5 (20 - 3) = 8.5
               S = [[5 + 0.6 * 8.5, 0.8 * 8.5]] = [[10.1, 6.8]]       result 10.1

    at once    D_10 = 0.5, L_10 = 0.5 * 0.5 * 0.6 = 0.15, u_1 = 10 - 0.15 * 10 = 8.5

Elsewhere: flash-linear-attention takes the logarithms of the gates, divides q by
sqrt(d_k), and its state is [d_k, d_v], as in the kata linear_attention. Qwen3-Next and
others let the function normalise q and k. The paper keeps two matrices W and U in place
of one solution.

What goes wrong: the value that is taken out comes from the state before it fades; the
new value fades, too; the chunks after the first forget what the state holds for their
keys.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, gates whose product is 0, another device than the CPU.

Not graded: keys of another norm, gates of 0, chunk_size below 1, gradients.

Source: Yang, Kautz and Hatamizadeh 2025, "Gated Delta Networks: Improving Mamba2 with
Delta Rule", sections 3.1 and 3.3.
"""

import torch


def gated_delta_step(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gate: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Take one more token in.

    q, k:       [B, H, d_k], of one token.
    v:          [B, H, d_v]; d_v may differ from d_k.
    gate, beta: [B, H].
    state:      S of the tokens before, [B, H, d_v, d_k]; None where there are none. It
                is not changed.
    returns:    the result of this token, [B, H, d_v], and S with this token.
    """
    raise NotImplementedError


def gated_delta_parallel(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gate: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:
    """Give the results of a whole sequence at once, from no state.

    q, k:       [B, H, T, d_k].
    v:          [B, H, T, d_v].
    gate, beta: [B, H, T].
    returns:    [B, H, T, d_v].
    """
    raise NotImplementedError


def gated_delta_chunked(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gate: torch.Tensor,
    beta: torch.Tensor,
    chunk_size: int,
    state: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Take T more tokens in, chunk_size at a time.

    q, k:       [B, H, T, d_k].
    v:          [B, H, T, d_v].
    gate, beta: [B, H, T].
    chunk_size: 1 or more; may be larger than T.
    state:      S of the tokens before, [B, H, d_v, d_k]; None where there are none. It
                is not changed.
    returns:    the results, [B, H, T, d_v], and S with all T tokens.
    """
    raise NotImplementedError
