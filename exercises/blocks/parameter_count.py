"""Counting parameters: where the numbers of a decoder are.

Before a model is trained it can be counted. The decoder here is that of 2017: an
embedding, num_layers layers of self-attention, cross-attention and feed-forward, and a
linear layer that turns hidden states into logits. A linear layer from n to m numbers
holds n * m weights and m biases, and every linear layer here has its biases. A layer
norm holds gamma and beta, 2 * d_model.

    token_embedding    one vector of d_model for each token (positions are sinusoidal
                       and cost nothing)
    self_attention     four linear layers (q, k, v, o), each from d_model to d_model
    cross_attention    the same again
    feed_forward       d_model to d_ff, and d_ff back to d_model
    layer_norms        three, one for each sublayer
    layer              the four lines above together, for one layer
    stack              num_layers layers
    output_projection  d_model to vocab_size; 0 if tied: the embedding serves twice
    total              token_embedding + stack + output_projection

There is no final layer norm in these totals. num_heads divides d_model
and changes nothing: the heads share the width.

Example: vocab_size = 1000, d_model = 128, num_heads = 4, d_ff = 512, num_layers = 2.

    token_embedding   128,000 = 1000 * 128           layer              264,576
    self_attention     66,048 = 4 * (128^2 + 128)    stack              529,152
    cross_attention    66,048                        output_projection        0 if tied,
    feed_forward      131,712                                           129,000 if not
    layer_norms           768 = 3 * 256              total              657,152 if tied,
                                                                        786,152 if not

What goes wrong: biases are left out, or added with the wrong width (a layer from
d_model to d_ff has d_ff of them); attention is counted once for each head;
cross-attention is forgotten, which makes it a GPT.

Corner with a check of its own: models so large that a count exceeds 32 bits.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.4, and
table 3 for such counts; Press and Wolf 2017, "Using the Output Embedding to Improve
Language Models", for tying.
"""


def parameter_count(
    vocab_size: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    num_layers: int,
    tied: bool = True,
) -> dict[str, int]:
    """Count the parameters of a decoder, part by part.

    tied:    whether the output projection uses the embedding's matrix, and has no
             parameters of its own.
    returns: a dict of ints with exactly these keys: token_embedding, self_attention,
             cross_attention, feed_forward, layer_norms, layer (these four and their sum
             are for one layer), stack, output_projection, total.
    """
    raise NotImplementedError
