"""What people count instead, and what to tell them."""

import numpy as np

from grader.mistakes import subtle


def _linear(inputs, outputs):
    return inputs * outputs + outputs


def _count(vocab_size, d_model, d_ff, num_layers, tied, **parts):
    attention = 4 * _linear(d_model, d_model)
    counts = {
        "token_embedding": vocab_size * d_model,
        "self_attention": attention,
        "cross_attention": attention,
        "feed_forward": _linear(d_model, d_ff) + _linear(d_ff, d_model),
        "layer_norms": 6 * d_model,
        **parts,
    }
    of_layer = ("self_attention", "cross_attention", "feed_forward", "layer_norms")
    counts["layer"] = sum(counts[name] for name in of_layer)
    counts["stack"] = num_layers * counts["layer"]
    counts["output_projection"] = parts.get("output_projection", 0 if tied else _linear(d_model, vocab_size))
    counts["total"] = counts["token_embedding"] + counts["stack"] + counts["output_projection"]
    return counts


def forgets_all_biases(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Every part but the embedding is a little too small: only the matrices were counted. A linear layer
    has a bias for each of its outputs."""
    attention, projection = 4 * d_model * d_model, 0 if tied else d_model * vocab_size
    parts = {"self_attention": attention, "cross_attention": attention, "output_projection": projection}
    return _count(vocab_size, d_model, d_ff, num_layers, tied, feed_forward=2 * d_model * d_ff, **parts)


def counts_a_bias_for_each_input(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right where a layer is as wide as its input, and for the feed-forward as a whole; the output projection
    is too small. A bias belongs to an output, so a layer from n to m numbers has m of them."""
    projection = 0 if tied else (vocab_size + 1) * d_model
    return _count(vocab_size, d_model, d_ff, num_layers, tied, output_projection=projection)


def forgets_the_bias_of_the_projection(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right where tied. The untied output projection is a linear layer like the others, and has a bias for
    each token of the vocabulary."""
    projection = 0 if tied else vocab_size * d_model
    return _count(vocab_size, d_model, d_ff, num_layers, tied, output_projection=projection)


def counts_d_ff_biases_twice(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """The feed-forward is too large or too small: both of its layers were given d_ff biases. The way back
    ends at d_model numbers, and has as many biases."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied, feed_forward=2 * d_model * d_ff + 2 * d_ff)


def counts_one_way_of_the_feed_forward(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """The feed-forward is about half of what it must be: only the way from d_model to d_ff was counted. The
    second layer leads back."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied, feed_forward=_linear(d_model, d_ff))


@subtle
def takes_d_ff_for_four_times_d_model(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right where d_ff is 4 * d_model, the usual ratio, and nowhere else. The parameter d_ff has no effect;
    check the feed-forward."""
    return _count(vocab_size, d_model, 4 * d_model, num_layers, tied)


def forgets_the_output_of_attention(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Each attention is a quarter too small: q, k and v were counted, and not the linear layer that mixes the
    heads afterwards."""
    attention = 3 * _linear(d_model, d_model)
    parts = {"self_attention": attention, "cross_attention": attention}
    return _count(vocab_size, d_model, d_ff, num_layers, tied, **parts)


def counts_attention_for_each_head(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    """Right for one head; more heads cost more. The heads share the width, so that all of them together hold
    what one of full width would. num_heads changes nothing."""
    attention = num_heads * 4 * _linear(d_model, d_model)
    parts = {"self_attention": attention, "cross_attention": attention}
    return _count(vocab_size, d_model, d_ff, num_layers, tied, **parts)


def counts_the_width_of_one_head(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    """Right for one head; more heads cost less. q, k and v were counted for a single head of width d_model /
    num_heads. All heads together have the full width."""
    d_head = d_model // num_heads
    attention = 3 * _linear(d_model, d_head) + _linear(d_head, d_model)
    parts = {"self_attention": attention, "cross_attention": attention}
    return _count(vocab_size, d_model, d_ff, num_layers, tied, **parts)


def forgets_the_cross_attention(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """cross_attention is 0, as in a model without an encoder. This decoder reads a source; the second
    attention is as large as the first."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied, cross_attention=0)


def counts_two_layer_norms(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """layer_norms is a third too small: two were counted, as in an encoder. A decoder layer has three
    sublayers, each with a norm of its own."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied, layer_norms=4 * d_model)


def forgets_beta(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """layer_norms is half of what it must be: a norm has a gamma and a beta for each feature."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied, layer_norms=3 * d_model)


def adds_a_final_norm(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Only the total is too large, by 2 * d_model: a norm after the stack was added. Many decoders have one;
    these totals do not."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    return {**counts, "total": counts["total"] + 2 * d_model}


def counts_the_embedding_twice(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Tying saves nothing: the output projection is counted although it is the embedding's own matrix. A
    matrix that serves twice is counted once."""
    projection = _linear(d_model, vocab_size)
    return _count(vocab_size, d_model, d_ff, num_layers, tied, output_projection=projection)


def keeps_a_bias_when_tied(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """The tied output projection has vocab_size parameters, a bias of its own. Some models do that; here it
    is 0 when tied."""
    projection = vocab_size if tied else _linear(d_model, vocab_size)
    return _count(vocab_size, d_model, d_ff, num_layers, tied, output_projection=projection)


def is_untied_by_default(vocab_size, d_model, num_heads, d_ff, num_layers, tied=False):  # noqa: ARG001
    """Right where `tied` is given. Without it the output projection is counted; the default is tied. Check
    the signature."""
    return _count(vocab_size, d_model, d_ff, num_layers, tied)


def reads_tied_the_other_way_round(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """The output projection costs when it is tied, and nothing when it is not. Check which branch is 0."""
    return _count(vocab_size, d_model, d_ff, num_layers, not tied)


def counts_one_layer_for_the_stack(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right for one layer; num_layers has no effect on stack and total. The layers do not share their
    parameters."""
    return _count(vocab_size, d_model, d_ff, 1, tied)


def counts_all_layers_in_each_part(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """The total is right, but self_attention, cross_attention, feed_forward, layer_norms and layer are those
    of all layers together. They are asked for one layer; only stack is for all."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    parts = ("self_attention", "cross_attention", "feed_forward", "layer_norms", "layer")
    return {**counts, **{name: num_layers * counts[name] for name in parts}}


def adds_positions(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """There is a key too many, the positions. They are sinusoidal here, computed and not learnt; exactly the
    keys of the statement are due."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    return {**counts, "position_embedding": 0}


@subtle
def counts_in_32_bits(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right for small models; large ones get negative or far too small counts: an int32 ends at 2,147,483,647
    and begins again below zero. Python's integers have no end, and int64 suffices."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    return {name: (count + 2**31) % 2**32 - 2**31 for name, count in counts.items()}


@subtle
def counts_in_float32(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):  # noqa: ARG001
    """Right for small models; counts of large ones end in the wrong digits: a float32 holds whole numbers up
    to 16,777,216 and rounds the others. Count in integers from beginning to end."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    return {name: int(np.float32(count)) for name, count in counts.items()}


@subtle
def remembers_the_counts_without_tied(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    """The first call is right; the same sizes with another `tied` get the counts of the earlier call. A cache
    needs every argument in its key. Check what outlives the call."""
    sizes = vocab_size, d_model, num_heads, d_ff, num_layers
    return _COUNTS.setdefault(sizes, _count(vocab_size, d_model, d_ff, num_layers, tied))


_COUNTS = {}


def divides_into_floats(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    """The counts are floats: somewhere a division with / crept in. Parameters are counted in whole numbers;
    use //, or do without."""
    counts = _count(vocab_size, d_model, d_ff, num_layers, tied)
    return {name: count / num_heads * num_heads for name, count in counts.items()}
