"""Right answers in other styles."""

import numpy as np


def writes_the_formulas_out(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Closed formulas, each key on its own."""
    layer = 8 * d_model**2 + 8 * d_model + 2 * d_model * d_ff + d_ff + d_model + 6 * d_model
    projection = (d_model + 1) * vocab_size * (not tied)
    return {
        "total": vocab_size * d_model + num_layers * layer + projection,
        "output_projection": projection,
        "stack": num_layers * layer,
        "layer": layer,
        "layer_norms": 6 * d_model,
        "feed_forward": 2 * d_model * d_ff + d_ff + d_model,
        "cross_attention": 4 * d_model * (d_model + 1),
        "self_attention": 4 * d_model * (d_model + 1),
        "token_embedding": vocab_size * d_model,
    }


def multiplies_shapes(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Another way: list the shape of every array and add up the products of its axes.

    The shape of every array, and NumPy's product of each; NumPy ints come back.
    """

    def size(*shapes):
        return np.sum([np.prod(shape, dtype=np.int64) for shape in shapes], dtype=np.int64)

    square = [(d_model, d_model), (d_model,)] * 4
    counts = {
        "token_embedding": size((vocab_size, d_model)),
        "self_attention": size(*square),
        "cross_attention": size(*square),
        "feed_forward": size((d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)),
        "layer_norms": size(*[(d_model,)] * 6),
    }
    counts["layer"] = np.sum(list(counts.values())[1:])
    counts["stack"] = np.int64(num_layers) * counts["layer"]
    counts["output_projection"] = np.int64(0) if tied else size((d_model, vocab_size), (vocab_size,))
    counts["total"] = counts["token_embedding"] + counts["stack"] + counts["output_projection"]
    return counts


def counts_head_by_head(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    """Heads one by one, their widths dealt out so that they add up; layers one by one."""
    widths = [d_model // num_heads + (head < d_model % num_heads) for head in range(num_heads)]
    attention = sum(3 * (d_model * width + width) + width * d_model for width in widths) + d_model
    parts = {
        "self_attention": attention,
        "cross_attention": attention,
        "feed_forward": (d_model + 1) * d_ff + (d_ff + 1) * d_model,
        "layer_norms": sum(2 * d_model for _ in range(3)),
    }
    layer = sum(parts.values())
    ends = {"token_embedding": vocab_size * d_model, "output_projection": vocab_size * (d_model + 1)}
    if tied:
        ends["output_projection"] = 0
    stack = sum(layer for _ in range(num_layers))
    return {**parts, **ends, "layer": layer, "stack": stack, "total": stack + sum(ends.values())}
