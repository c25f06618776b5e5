"""Radford et al. 2019; Ainslie et al. 2023, section 2."""


def _attention(d):
    return 4 * (d * d + d)


def _feed_forward(d, d_ff):
    return d * d_ff + d_ff + d_ff * d + d


def _block(d, d_ff):
    return _attention(d) + _feed_forward(d, d_ff) + 2 * 2 * d


def EMBEDDINGS(vocab, positions, d_model, **_):
    return vocab * d_model + positions * d_model


def ATTENTION(d_model, **_):
    return _attention(d_model)


def FEED_FORWARD(d_model, d_ff, **_):
    return _feed_forward(d_model, d_ff)


def LAYER_NORM(d_model, **_):
    return 2 * d_model


def BLOCK(d_model, d_ff, **_):
    return _block(d_model, d_ff)


def MODEL(vocab, positions, d_model, d_ff, layers, **_):
    return (vocab + positions) * d_model + layers * _block(d_model, d_ff) + 2 * d_model


def GROUPED_ATTENTION(d_model, heads, kv_heads, **_):
    return 2 * d_model * d_model + 2 * d_model * kv_heads * (d_model // heads)


def TRAINING_BYTES(weights, **_):
    return 16 * weights
