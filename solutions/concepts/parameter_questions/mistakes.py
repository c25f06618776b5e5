"""Wrong answers to parameter_questions: each is wrong in one question, and its docstring is the reason."""

from reference import _attention, _block

from grader.mistakes import crude, subtle


class forgets_the_positions:
    """The table of positions is missing. It is learned here, so it counts; sinusoids would cost
    nothing."""

    def EMBEDDINGS(vocab, d_model, **_):
        return vocab * d_model


@crude
class forgets_the_width:
    """You counted the entries of the tables. Each entry is a vector of d_model numbers."""

    def EMBEDDINGS(vocab, positions, **_):
        return vocab + positions


class multiplies_the_tables:
    """You multiplied the tables. A token's vector and a position's vector are added, so each is stored
    once."""

    def EMBEDDINGS(vocab, positions, d_model, **_):
        return vocab * positions * d_model


@subtle
class forgets_the_biases_of_attention:
    """The biases are missing: each of the four layers has d_model of them."""

    def ATTENTION(d_model, **_):
        return 4 * d_model * d_model


class forgets_the_output_projection:
    """You counted queries, keys and values. The output projection, which mixes the heads, is a fourth
    layer."""

    def ATTENTION(d_model, **_):
        return 3 * (d_model * d_model + d_model)


class counts_each_head:
    """You counted every head with the whole width. The heads share it: all heads together cost as much
    as one."""

    def ATTENTION(d_model, heads, **_):
        return heads * _attention(d_model)


@subtle
class forgets_the_biases_of_the_feed_forward:
    """The biases are missing: d_ff in the first layer, d_model in the second."""

    def FEED_FORWARD(d_model, d_ff, **_):
        return 2 * d_model * d_ff


@subtle
class gives_both_biases_the_inner_width:
    """Both biases have the length d_ff in your count. A bias is as long as its layer's output."""

    def FEED_FORWARD(d_model, d_ff, **_):
        return 2 * d_model * d_ff + 2 * d_ff


class counts_one_layer_of_the_feed_forward:
    """That is the first layer alone. The second leads back to d_model."""

    def FEED_FORWARD(d_model, d_ff, **_):
        return d_model * d_ff + d_ff


class forgets_the_shift:
    """You counted the scale alone. That is an RMSNorm; a layer norm also learns a shift."""

    def LAYER_NORM(d_model, **_):
        return d_model


@crude
class learns_two_numbers:
    """You counted one scale and one shift in all. Each feature has its own."""

    def LAYER_NORM(**_):
        return 2


class stores_the_statistics:
    """You counted a mean and a variance. A layer norm computes them anew for each token, and stores
    none."""

    def LAYER_NORM(d_model, **_):
        return 4 * d_model


@subtle
class has_one_norm_in_a_block:
    """One layer norm is missing: there is one before the attention and one before the feed-forward."""

    def BLOCK(d_model, d_ff, **_):
        return _block(d_model, d_ff) - 2 * d_model


class forgets_the_norms:
    """The two layer norms are missing."""

    def BLOCK(d_model, d_ff, **_):
        return _block(d_model, d_ff) - 4 * d_model


class attends_to_an_encoder:
    """You counted a cross-attention with its norm. A GPT has no encoder to attend to."""

    def BLOCK(d_model, d_ff, **_):
        return _block(d_model, d_ff) + _attention(d_model) + 2 * d_model


class counts_the_tied_matrix_twice:
    """You counted the output layer besides the token embeddings. They are tied: one matrix serves
    both."""

    def MODEL(vocab, positions, d_model, d_ff, layers, **_):
        return (2 * vocab + positions) * d_model + layers * _block(d_model, d_ff) + 2 * d_model


@subtle
class forgets_the_last_norm:
    """The layer norm after the last block is missing."""

    def MODEL(vocab, positions, d_model, d_ff, layers, **_):
        return (vocab + positions) * d_model + layers * _block(d_model, d_ff)


class has_one_block:
    """You counted one block. Each layer has weights of its own."""

    def MODEL(vocab, positions, d_model, d_ff, **_):
        return (vocab + positions) * d_model + _block(d_model, d_ff) + 2 * d_model


class shares_the_feed_forward_width:
    """Your feed-forwards have the width d_model inside. Their inner width is d_ff."""

    def MODEL(vocab, positions, d_model, layers, **_):
        return (vocab + positions) * d_model + layers * _block(d_model, d_model) + 2 * d_model


class has_as_many_key_heads_as_queries:
    """That is plain multi-head attention: keys and values have fewer heads here."""

    def GROUPED_ATTENTION(d_model, **_):
        return 4 * d_model * d_model


@subtle
class groups_the_keys_alone:
    """You made the keys narrower and left the values whole. Values have kv_heads heads too."""

    def GROUPED_ATTENTION(d_model, heads, kv_heads, **_):
        return 3 * d_model * d_model + d_model * kv_heads * (d_model // heads)


class has_one_key_head:
    """You counted a single head of keys and values: that is multi-query attention."""

    def GROUPED_ATTENTION(d_model, heads, **_):
        return 2 * d_model * d_model + 2 * d_model * (d_model // heads)


class narrows_the_output_too:
    """Your output projection is narrow as well. It reads all query heads, so it is d_model by
    d_model."""

    def GROUPED_ATTENTION(d_model, heads, kv_heads, **_):
        return d_model * d_model + 3 * d_model * kv_heads * (d_model // heads)


@crude
class counts_the_weights_alone:
    """Those are the bytes of the weights. Training also holds gradients and AdamW's moments."""

    def TRAINING_BYTES(weights, **_):
        return 4 * weights


class forgets_the_moments:
    """You counted weights and gradients. AdamW keeps two moments for each parameter besides."""

    def TRAINING_BYTES(weights, **_):
        return 8 * weights


@subtle
class keeps_one_moment:
    """One number for each parameter is missing: AdamW keeps a first and a second moment, besides weight
    and gradient."""

    def TRAINING_BYTES(weights, **_):
        return 12 * weights
