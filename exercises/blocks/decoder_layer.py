"""One decoder layer: look back, look at the source, think.

A decoder layer holds three sublayers. Masked self-attention lets each target token read
itself and the tokens before it; cross-attention lets it read the encoder's output, the
`memory`; a feed-forward network then works on each token by itself. Every sublayer
*adds* to its input, the residual stream, so `x` runs through the layer with only
additions on its way. Layer norm stands in front of each sublayer (pre-norm):

    x = x + self_attention(norm(x))                 causal: token t reads tokens 0 … t
    x = x + cross_attention(norm(x), norm(memory))  queries: x; keys, values: memory
    x = x + max(0, norm(x) w1) w2                   no biases

`norm` here has no gamma and no beta: subtract the row's mean, divide by sqrt(variance +
1e-5), with the biased variance, over the features of each token. Each attention is
multi-head: q, k and v are products with `[d_model, d_model]` matrices, head `h` owns
the `h`-th block of `d_head = d_model / num_heads` neighbouring columns, its weights are
softmax(q kᵀ / sqrt(d_head)), and the heads, side by side again, go through `o`. There
is no batch axis.

    x       [T_tgt, d_model]      the target so far
    memory  [T_src, d_model]      the encoder's output; T_src and T_tgt are unrelated
    params  {"self_attention":  {"q", "k", "v", "o"},      each [d_model, d_model]
             "cross_attention": {"q", "k", "v", "o"},      each [d_model, d_model]
             "feed_forward":    {"w1", "w2"}}           [d_model, d_ff], [d_ff, d_model]
    result  [T_tgt, d_model]

An example to do by hand: one target token [3, 1], one memory token [0, 2], one head,
every matrix the identity. With one token to read, each attention weight is 1.

    norm([3, 1]) = [1, -1]                    x = [3, 1] + [1, -1]  = [4, 0]
    norm(memory) = [-1, 1]                    x = [4, 0] + [-1, 1]  = [3, 1]
    max(0, norm([3, 1])) = [1, 0]             x = [3, 1] + [1, 0]   = [4, 1]

(1e-5 in the root moves these by 0.00001 or less.)

What goes wrong: training loss falls towards zero and generation is nonsense (the mask
is missing, or off by one); deep stacks do not train (the residual starts from the
normalised row, or the norm comes last); translations ignore their source (keys or
values come from x).

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, scores in the hundreds.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.3 (the
sublayers); Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
section 3 (where the norm stands).
"""

import numpy as np

LayerParams = dict[str, dict[str, np.ndarray]]


def decoder_layer(
    x: np.ndarray,
    memory: np.ndarray,
    params: LayerParams,
    num_heads: int,
) -> np.ndarray:
    """Run one pre-norm decoder layer; return the new stream, `[T_tgt, d_model]`.

    x:       [T_tgt, d_model].
    memory:  [T_src, d_model].

    `num_heads` divides `d_model`. The result has the dtype of `x`; no argument is
    changed.
    """
    raise NotImplementedError
