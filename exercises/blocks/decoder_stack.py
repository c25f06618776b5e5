"""A stack of decoder layers, and what the stream holds after each.

A decoder is one layer's form repeated with different weights. The target's hidden
states go through the layers one after the other, and every layer reads the *same*
memory, the encoder's output as it came:

    h_0 = x
    h_i = layer_i(h_{i-1}, memory)            i = 1 … N

Keeping every h_i is what tools for looking inside a model ask for: with the residual
stream in hand, you can see at which depth a token's vector begins to point at its
answer. Nothing normalises the last state here; that is the business of whoever reads
it.

Each layer is that of `decoder_layer`, and this file needs its own copy of it (pre-norm;
`norm` subtracts the row's mean and divides by sqrt(biased variance + 1e-5), without
gamma and beta; head `h` owns the `h`-th block of `d_head` neighbouring columns; weights
are softmax(q kᵀ / sqrt(d_head)) and `o` comes last):

    x = x + self_attention(norm(x))                 causal: token t reads tokens 0 … t
    x = x + cross_attention(norm(x), norm(memory))  queries: x; keys, values: memory
    x = x + max(0, norm(x) w1) w2                   no biases

    x       [T_tgt, d_model]
    memory  [T_src, d_model]
    layers  a list of N params, possibly none; each
            {"self_attention":  {"q", "k", "v", "o"},      each [d_model, d_model]
             "cross_attention": {"q", "k", "v", "o"},      each [d_model, d_model]
             "feed_forward":    {"w1", "w2"}}           [d_model, d_ff], [d_ff, d_model]
    result  the list [h_0, h_1, …, h_N] of N + 1 arrays [T_tgt, d_model]

An example to do by hand: one target token [3, 1], one memory token [0, 2], one head,
two layers whose matrices are all the identity. Each layer adds [1, -1], then [-1, 1],
then [1, 0]:

    h_0 = [[3, 1]]        h_1 = [[4, 1]]        h_2 = [[5, 1]]

(1e-5 in the root moves these by 0.00001 or less.) An empty list of layers gives [h_0].

What goes wrong: all states come out equal (one array, updated in place, stands in the
list N + 1 times); the stack is as good as one layer (each layer is given the first
one's weights); the list is one short (h_0 is a state too); the second layer reads
something else than the memory (it was overwritten).

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, scores in the hundreds, a stack without layers.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1, figure 1 (N
identical layers, each reading the encoder's output); Xiong et al. 2020, "On Layer
Normalization in the Transformer Architecture", section 3 (pre-norm).
"""

import numpy as np

LayerParams = dict[str, dict[str, np.ndarray]]


def decoder_stack(
    x: np.ndarray, memory: np.ndarray, layers: list[LayerParams], num_heads: int
) -> list[np.ndarray]:
    """Run `x` through all layers; return `[h_0, …, h_N]`, each `[T_tgt, d_model]`.

    `h_0` is `x` or a copy of it. `num_heads` divides `d_model`. The states have the
    dtype of `x`; no argument is changed.
    """
    raise NotImplementedError
