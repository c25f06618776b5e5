"""Vaswani et al. 2017, sections 3.1 to 3.4, with biases on every linear layer."""


def parameter_count(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001 - heads share
    """Every part of the decoder, and their sum."""
    attention = 4 * linear(d_model, d_model)  # q, k, v, o
    feed_forward = linear(d_model, d_ff) + linear(d_ff, d_model)
    layer_norms = 3 * 2 * d_model  # gamma and beta of each
    layer = 2 * attention + feed_forward + layer_norms
    embedding = vocab_size * d_model
    output_projection = 0 if tied else linear(d_model, vocab_size)
    counts = {
        "token_embedding": embedding,
        "self_attention": attention,
        "cross_attention": attention,
        "feed_forward": feed_forward,
        "layer_norms": layer_norms,
        "layer": layer,
        "stack": num_layers * layer,
        "output_projection": output_projection,
        "total": embedding + num_layers * layer + output_projection,
    }
    return counts


def linear(inputs, outputs):
    """Weights and biases of a linear layer."""
    return inputs * outputs + outputs
