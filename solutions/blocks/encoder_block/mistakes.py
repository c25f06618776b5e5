"""What people write instead, and what to tell them."""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _with(function, **options):
    return lambda *arguments: function(*arguments, **options)


def _split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


def _merge(heads):
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


def _shares(scores, mask):
    seen = np.where(mask, scores, np.finfo(scores.dtype).min)
    exps = np.where(mask, np.exp(seen - seen.max(axis=-1, keepdims=True)), 0)
    total = exps.sum(axis=-1, keepdims=True)
    return exps / np.where(total == 0, 1, total)


def _attend(x, p, num_heads, mask, *, split=_split, merge=_merge, weigh=_shares, scale=None):
    q, k, v = (split(x @ p[name], num_heads) for name in ("w_q", "w_k", "w_v"))
    scores = q @ k.swapaxes(-1, -2) / (scale or math.sqrt(q.shape[-1]))
    return merge(weigh(scores, True if mask is None else mask) @ v) @ p["w_o"]


def _norm(x, p, name, *, axis=-1, ddof=0):
    variance = x.var(axis=axis, ddof=ddof, keepdims=True)
    return (
        p[name + "_gamma"] * (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(variance + 1e-5)
        + p[name + "_beta"]
    )


def _plain(x, p, name):  # noqa: ARG001 - in the place of a norm
    return x


def _feed(x, p):
    return np.maximum(x @ p["w1"] + p["b1"], 0) @ p["w2"] + p["b2"]


def _block(
    x, p, num_heads, mask, *, attend=_attend, norms=(_norm, _norm), norm=None, feed=_feed, kept=(1, 1)
):
    first, second = (norm, norm) if norm else norms
    h = first(kept[0] * x + attend(x, p, num_heads, mask), p, "norm1")
    return second(kept[1] * h + feed(h, p), p, "norm2")


@crude
def ignores_the_mask(x, params, num_heads, mask=None):  # noqa: ARG001 - the mistake
    """Hidden tokens are read all the same; padding leaks into every real token. The mask never reaches the
    scores. Follow the parameter from the signature to the softmax."""
    return _block(x, params, num_heads, None)


def reads_the_mask_the_other_way_round(x, params, num_heads, mask=None):
    """Exactly the hidden tokens are read. The mask is True where attention is allowed, not where it is
    forbidden. Check which of the two values keeps the score."""
    return _block(x, params, num_heads, None if mask is None else ~mask)


def masks_queries_for_keys(x, params, num_heads, mask=None):
    """The mask is right only where it is symmetric: its last two axes have changed places. Rows are queries,
    columns are keys, in the mask as in the scores. Check both for a transpose."""
    turned = mask if mask is None or mask.ndim < 2 else mask.swapaxes(-1, -2)
    return _block(x, params, num_heads, turned)


def gives_all_sequences_the_first_mask(x, params, num_heads, mask=None):
    """Right for a batch of one: with more, every sequence is masked as the first one is. Check what happens
    to the batch axis of the mask."""
    return _block(x, params, num_heads, mask[:1] if mask is not None and mask.ndim == 4 else mask)


def masks_after_the_softmax(x, params, num_heads, mask=None):
    """The weights of a masked row sum to less than one: they were set to zero after the softmax had shared
    the mass among all tokens. Check that the mask acts on the scores."""
    return _block(
        x, params, num_heads, mask, attend=_with(_attend, weigh=lambda s, seen: _shares(s, True) * seen)
    )


@subtle
def shares_where_nothing_is_visible(x, params, num_heads, mask=None):
    """A token that may attend to nothing gets the average of all values: where every score is -1e9, softmax
    makes them equal. Its weights, and so its attention, must be 0. Check a mask with an empty row."""

    def weigh(scores, seen):
        return _shares(np.where(seen, scores, x.dtype.type(-1e9)), True)

    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=weigh))


@subtle
def divides_zero_by_zero(x, params, num_heads, mask=None):
    """A token that may attend to nothing comes out as NaN, and in the next block the whole sequence does:
    -inf minus -inf, or 0 / 0. Its weights must be 0. Check a mask with an empty row."""

    def weigh(scores, seen):
        return _shares(np.where(seen, scores, x.dtype.type(-np.inf)), True)

    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=weigh))


@subtle
def subtracts_one_maximum_for_all(x, params, num_heads, mask=None):
    """Right for small tokens; among large ones, queries with low scores gather nothing: the largest score of
    the whole batch was subtracted, and exp of the others is 0. Each query has a maximum of its own."""

    def weigh(scores, seen):
        exps = np.where(seen, np.exp(scores - scores.max()), 0)
        total = exps.sum(axis=-1, keepdims=True)
        return exps / np.where(total == 0, 1, total)

    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=weigh))


@subtle
def takes_the_maximum_of_hidden_keys_too(x, params, num_heads, mask=None):
    """Right for small tokens; where a hidden score is far above the visible ones, the query gathers nothing:
    the softmax ran over all keys, and the visible ones were rounded to 0. Hide the scores first, then take
    the maximum."""
    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=_shares_of_all))


def _shares_of_all(scores, seen):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True)) * np.broadcast_to(seen, scores.shape)
    total = exps.sum(axis=-1, keepdims=True)
    return exps / np.where(total == 0, 1, total)


@subtle
def clips_the_scores(x, params, num_heads, mask=None):
    """Right for small tokens; keys with scores above 50 share the attention evenly, however far apart they
    are: the scores were clipped against the overflow of exp. Subtract their maximum instead."""

    def attend(x, p, num_heads, mask):
        return _attend(x, p, num_heads, mask, weigh=lambda s, seen: _shares(np.clip(s, -50, 50), seen))

    return _block(x, params, num_heads, mask, attend=attend)


@subtle
def lowers_hidden_scores_by_ten_thousand(x, params, num_heads, mask=None):
    """Right for small tokens; a hidden key whose score is 10,000 above the visible ones is read: the mask
    subtracts too little. Put -inf, or -1e9, in the place of hidden scores."""

    def weigh(scores, seen):
        seen = np.broadcast_to(seen, scores.shape)
        shares = _shares(scores - x.dtype.type(1e4) * ~seen, True)
        return shares * seen.any(axis=-1, keepdims=True)

    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=weigh))


@subtle
def keeps_the_first_mask(x, params, num_heads, mask=None):
    """The first call is right; later ones of the same shape are masked as it was. The mask outlives the call,
    though every call brings its own. Check what is kept between calls."""
    return _block(x, params, num_heads, _MASKS.setdefault((x.shape, num_heads), mask))


_MASKS = {}


@subtle
def lets_exp_overflow(x, params, num_heads, mask=None):
    """Large tokens come out as NaN: exp overflows at scores above 88 in float32 and 709 in float64. Softmax
    is the same for scores minus their maximum, and then no exponent is above 0. Check the line with exp."""

    def weigh(scores, seen):
        exps = np.where(seen, np.exp(scores), 0)
        total = exps.sum(axis=-1, keepdims=True)
        return exps / np.where(total == 0, 1, total)

    return _block(x, params, num_heads, mask, attend=_with(_attend, weigh=weigh))


def hides_the_future(x, params, num_heads, mask=None):
    """Without a mask no token reads the ones after it: that is the decoder's self-attention. An encoder sees
    the whole source at once. Check what None means."""
    causal = np.tri(x.shape[1], dtype=bool)
    return _block(x, params, num_heads, causal if mask is None else mask & causal)


def normalises_before_each_sublayer(x, params, num_heads, mask=None):
    """The rows of the result are not normalised: this is the pre-norm block of later models, which norms a
    sublayer's input. Here the sum is normed, x plus attention, h plus feed-forward. Check what each norm is
    given."""
    h = x + _attend(_norm(x, params, "norm1"), params, num_heads, mask)
    return h + _feed(_norm(h, params, "norm2"), params)


def forgets_the_last_norm(x, params, num_heads, mask=None):
    """norm2_gamma and norm2_beta have no effect, and the rows of the result have any size. There is a norm
    after each of the two sublayers."""
    return _block(x, params, num_heads, mask, norms=(_norm, _plain))


def forgets_the_first_residual(x, params, num_heads, mask=None):
    """The attention's output replaces the token; where it is zero, nothing is left. The first norm is given
    attention(x) alone, where x + attention(x) is due."""
    return _block(x, params, num_heads, mask, kept=(0, 1))


def forgets_the_second_residual(x, params, num_heads, mask=None):
    """The feed-forward's output replaces the token; with w2 at zero, all rows are alike. The second norm is
    given feed_forward(h) alone, where h + feed_forward(h) is due."""
    return _block(x, params, num_heads, mask, kept=(1, 0))


def adds_x_to_the_feed_forward(x, params, num_heads, mask=None):
    """The second sum starts from x, so the attention acts only through the feed-forward. Each residual
    carries the sublayer's own input, and that of the second one is h."""
    h = _norm(x + _attend(x, params, num_heads, mask), params, "norm1")
    return _norm(x + _feed(h, params), params, "norm2")


def forgets_to_scale(x, params, num_heads, mask=None):
    """Right for heads of width 1; the wider they are, the sharper the attention. The scores are not divided
    by sqrt(d_k). Check the line between the product of q and k and the softmax."""
    return _block(x, params, num_heads, mask, attend=_with(_attend, scale=1))


def scales_by_the_full_width(x, params, num_heads, mask=None):
    """Right for one head; with more, attention is too flat. The scores are divided by the root of the width
    of all heads together. The products run over the d_k columns of one head."""
    scale = math.sqrt(params["w_q"].shape[1])
    return _block(x, params, num_heads, mask, attend=_with(_attend, scale=scale))


def ignores_num_heads(x, params, num_heads, mask=None):
    """Right for one head: a single attention runs over the full width, whatever num_heads says. Check that
    q, k and v are cut into num_heads blocks of columns, each with a softmax of its own."""

    def attend(x, p, num_heads, mask):
        every = x.shape[0], num_heads, x.shape[1], x.shape[1]
        return _attend(x, p, 1, None if mask is None else np.broadcast_to(mask, every)[:, :1])

    return _block(x, params, num_heads, mask, attend=attend)


def merges_heads_without_transposing(x, params, num_heads, mask=None):
    """Right for one head or one token, and otherwise rows hold other tokens' numbers: the heads
    [B, H, T, d_v] were reshaped while the heads still stood in front of the tokens. Check the order of axes
    right before the reshape."""

    def merge(heads):
        return heads.reshape(heads.shape[0], heads.shape[2], -1)

    return _block(x, params, num_heads, mask, attend=_with(_attend, merge=merge))


def deals_columns_out_in_turn(x, params, num_heads, mask=None):
    """Each head takes every num_heads-th column, where a block of neighbours is due: the reshape names
    (d_k, heads) in that order. Weights trained elsewhere would not fit. Check which of the two comes last."""

    def split(rows, num_heads):
        return rows.reshape(*rows.shape[:2], -1, num_heads).transpose(0, 3, 1, 2)

    return _block(x, params, num_heads, mask, attend=_with(_attend, split=split))


@subtle
def expects_values_as_wide_as_keys(x, params, num_heads, mask=None):
    """Right where d_v equals d_k; elsewhere the reshape of the values fails or mixes tokens. The width of a
    head of v is that of w_v divided by num_heads. Check where each width comes from."""
    d_k = params["w_q"].shape[1] // num_heads

    def split(rows, num_heads):
        return rows.reshape(*rows.shape[:2], num_heads, d_k).swapaxes(1, 2)

    return _block(x, params, num_heads, mask, attend=_with(_attend, split=split))


def takes_the_unbiased_variance(x, params, num_heads, mask=None):
    """Every norm is too small, the more so the narrower the model: the squares were divided by d_model - 1.
    Layer norm takes their plain average; check ddof."""
    return _block(x, params, num_heads, mask, norm=_with(_norm, ddof=1))


def normalises_over_the_tokens(x, params, num_heads, mask=None):
    """A token's result changes with tokens that it may not read: mean and variance run over all tokens of a
    sequence. Layer norm looks at each token's features alone. Check the axis of both averages."""
    return _block(x, params, num_heads, mask, norm=_with(_norm, axis=(-2, -1)))


@subtle
def adds_into_x(x, params, num_heads, mask=None):
    """The caller's x is another one after the call: `+=` on an argument writes into the caller's memory.
    Make a new array of the first sum."""
    x += _attend(x, params, num_heads, mask)
    h = _norm(x, params, "norm1")
    return _norm(h + _feed(h, params), params, "norm2")


@subtle
def takes_the_parameters_out(x, params, num_heads, mask=None):
    """The dict of parameters is empty after the call, and the next call fails: `pop` removes what it returns.
    The caller still needs its params; read them, or work on a copy."""
    p = {name: params.pop(name) for name in list(params)}
    return _block(x, p, num_heads, mask)


@subtle
def subtracts_the_square_of_the_mean(x, params, num_heads, mask=None):
    """Rows around zero are right, and rows far from it come out too large, too small or NaN: the variance is
    the mean of the squares less the square of the mean, two large numbers whose difference is rough.
    Subtract the mean first, then square."""

    def norm(x, p, name):
        mean, squares = x.mean(axis=-1, keepdims=True), (x * x).mean(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            root = np.sqrt(squares - mean * mean + 1e-5)
        return p[name + "_gamma"] * (x - mean) / root + p[name + "_beta"]

    return _block(x, params, num_heads, mask, norm=norm)


@subtle
def takes_three_axes_for_those_of_the_batch(x, params, num_heads, mask=None):
    """A mask of three axes is laid along the batch, [B, T, T]. Broadcasting begins at the last axis, so its
    first one is that of the heads.
    """
    if mask is not None and mask.ndim == 3 and len(mask) == len(x):
        mask = mask[:, None]
    return _block(x, params, num_heads, mask)
