"""What people write instead, and what to tell them."""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _with(function, **options):
    return lambda *arguments: function(*arguments, **options)


def _norm(x, eps=1e-5, axis=-1, ddof=0):
    variance = x.var(axis=axis, ddof=ddof, keepdims=True)
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(variance + eps)


def _plain(x):
    return x


def _causal(tokens, offset=0):
    return np.tri(tokens, k=offset, dtype=bool)


def _split(x, num_heads):
    return x.reshape(len(x), num_heads, -1).transpose(1, 0, 2)


def _merge(heads):
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def _softmax(scores, axis=-1):
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


def _weigh(scores, visible):
    return _softmax(scores if visible is None else np.where(visible, scores, -1e9))


def _attend(
    x_q,
    x_kv,
    weights,
    num_heads,
    visible=None,
    *,
    values=None,
    scale=None,
    split=_split,
    merge=_merge,
    weigh=_weigh,
):
    q = split(x_q @ weights["q"], num_heads)
    k = split(x_kv @ weights["k"], num_heads)
    v = split((x_kv if values is None else values) @ weights["v"], num_heads)
    scores = q @ k.swapaxes(1, 2) / (scale or math.sqrt(q.shape[-1]))
    return merge(weigh(scores, visible) @ v) @ weights["o"]


def _relu(x):
    return np.maximum(x, 0)


def _layer(
    x,
    memory,
    params,
    num_heads,
    *,
    norm=_norm,
    norms=None,
    of_memory=None,
    mask=_causal,
    attend=_attend,
    activate=_relu,
    kept=(1, 1, 1),
    after=_plain,
):
    before = norms or (norm, norm, norm)
    n = before[0](x)
    x = after(kept[0] * x + attend(n, n, params["self_attention"], num_heads, mask(len(x))))
    n, read = before[1](x), (of_memory or norm)(memory)
    x = after(kept[1] * x + attend(n, read, params["cross_attention"], num_heads))
    hidden = activate(before[2](x) @ params["feed_forward"]["w1"])
    return after(kept[2] * x + hidden @ params["feed_forward"]["w2"])


@crude
def forgets_the_causal_mask(x, memory, params, num_heads):
    """Changing a later target token changes earlier rows. The self-attention reads the whole target, so in
    training each position sees its own answer. Check that the softmax
    leaves out the scores above the diagonal."""
    return _layer(x, memory, params, num_heads, mask=lambda _: None)


def shows_the_next_token(x, memory, params, num_heads):
    """Each row changes with the token right after it. The causal mask is off by one: it shows every
    position the very token that it has to predict. Check which diagonal is the first hidden one."""
    return _layer(x, memory, params, num_heads, mask=_with(_causal, offset=1))


def hides_the_token_itself(x, memory, params, num_heads):
    """No token reads itself, and the first one has nothing to read. The causal mask hides the diagonal too.
    Token t reads tokens 0 to t: check whether the diagonal belongs to the visible part."""
    return _layer(x, memory, params, num_heads, mask=_with(_causal, offset=-1))


def hides_the_past(x, memory, params, num_heads):
    """Each token reads itself and what comes after it: the triangle is upside down. Rows of the scores are
    queries, columns are keys. Check which triangle your mask marks, and whether True hides or shows."""
    return _layer(x, memory, params, num_heads, mask=lambda tokens: _causal(tokens).T)


def masks_after_the_softmax(x, memory, params, num_heads):
    """The first rows of the target take too little from the values: their attention weights sum to less
    than one. Weights were set to zero after the softmax had shared the mass among all tokens. Check that
    the mask acts on the scores."""

    def weigh(scores, visible):
        return _softmax(scores) * (1 if visible is None else visible)

    return _layer(x, memory, params, num_heads, attend=_with(_attend, weigh=weigh))


def masks_with_zero_scores(x, memory, params, num_heads):
    """Future tokens keep some attention: a score of zero is no small score, its exponential is one. Check
    what a hidden entry holds when the softmax sees it; its exponential has to be zero."""

    def weigh(scores, visible):
        return _softmax(scores * (1 if visible is None else visible))

    return _layer(x, memory, params, num_heads, attend=_with(_attend, weigh=weigh))


@subtle
def clips_the_scores(x, memory, params, num_heads):
    """Right for small scores; keys with scores above 50 share the attention evenly, however far apart they
    are. The scores were clipped against the overflow of exp. Subtract the maximum of each row instead."""
    attend = _with(_attend, weigh=lambda scores, visible: _weigh(np.clip(scores, -50, 50), visible))
    return _layer(x, memory, params, num_heads, attend=attend)


@subtle
def keeps_the_first_mask(x, memory, params, num_heads):
    """The first call is right, and calls with fewer tokens are; with more, later tokens are hidden from
    themselves. The causal mask was made for the first call's length and kept. Make it for each length."""
    made = _MASKS.setdefault("causal", _causal(len(x)))

    def mask(tokens):
        visible = np.zeros((tokens, tokens), dtype=bool)
        visible[: len(made), : len(made)] = made[:tokens, :tokens]
        return visible

    return _layer(x, memory, params, num_heads, mask=mask)


_MASKS = {}


def masks_the_cross_attention(x, memory, params, num_heads):
    """The order of the memory tokens matters: the first target token reads the first memory token alone.
    The causal mask was applied to the cross-attention as well. The source is known in full before the
    first target token is written; check which of the two attentions needs a mask."""

    def attend(x_q, x_kv, weights, num_heads, _=None):
        return _attend(x_q, x_kv, weights, num_heads, np.tri(len(x_q), len(x_kv), dtype=bool))

    return _layer(x, memory, params, num_heads, attend=attend)


def sizes_the_mask_by_the_memory(x, memory, params, num_heads):
    """The code runs where source and target are equally long and breaks, or masks wrongly, elsewhere. The
    self-attention's mask was given the memory's length. Check how many queries and how many keys the
    self-attention has."""
    return _layer(x, memory, params, num_heads, mask=lambda _: _causal(len(memory)))


def normalises_after_adding(x, memory, params, num_heads):
    """Every row of the result has mean 0 and variance 1: this is the post-norm layer of 2017, which
    normalises the sum. Here the norm stands in front of each sublayer, and nothing touches the residual
    stream but additions. Check what each norm is given."""
    return _layer(x, memory, params, num_heads, norm=_plain, after=_norm)


def normalises_the_result(x, memory, params, num_heads):
    """Every row of the result has mean 0 and variance 1, though the sublayers are right. One norm too many:
    the last one belongs to the whole decoder, after its last layer, and is not part of this kata."""
    return _norm(_layer(x, memory, params, num_heads))


def adds_to_the_normalised_input(x, memory, params, num_heads):
    """Even sublayers that add nothing change x. The sum starts from the normalised row, so the stream is
    rescaled at every sublayer and loses what the embedding put there. Check which x stands on the left of
    the plus sign: perhaps one name holds both the row and its norm."""
    normed = _norm(x)
    x = normed + _attend(normed, normed, params["self_attention"], num_heads, _causal(len(x)))
    normed = _norm(x)
    x = normed + _attend(normed, _norm(memory), params["cross_attention"], num_heads)
    normed = _norm(x)
    return normed + _relu(normed @ params["feed_forward"]["w1"]) @ params["feed_forward"]["w2"]


def forgets_the_residual_of_self_attention(x, memory, params, num_heads):
    """The result does not hold x: where self-attention adds nothing, x is gone. The first sublayer's output
    replaces its input. Check that each of the three lines begins with what came before it."""
    return _layer(x, memory, params, num_heads, kept=(0, 1, 1))


def forgets_the_residual_of_cross_attention(x, memory, params, num_heads):
    """What self-attention found is lost, and all target rows look alike. The cross-attention's output
    replaces the stream. Check that each of the three lines begins with what came before it."""
    return _layer(x, memory, params, num_heads, kept=(1, 0, 1))


def forgets_the_residual_of_the_feed_forward(x, memory, params, num_heads):
    """The result is the feed-forward's output alone; with w2 at zero, it is zero. The last line replaces
    the stream. Check that each of the three lines begins with what came before it."""
    return _layer(x, memory, params, num_heads, kept=(1, 1, 0))


def leaves_the_memory_unnormalised(x, memory, params, num_heads):
    """Adding a constant to the memory's features changes the result. Keys and values are made from the
    memory as it came. In this layer the cross-attention reads normalised memory, just as it asks with
    normalised x; check both of its inputs."""
    return _layer(x, memory, params, num_heads, of_memory=_plain)


def takes_values_from_raw_memory(x, memory, params, num_heads):
    """The attention weights are right, but what they gather depends on the memory's offset. Keys are made
    from normalised memory, values from memory as it came. Check that k and v read the same rows."""

    def attend(x_q, x_kv, weights, num_heads, visible=None):
        values = x_kv if visible is not None else memory
        return _attend(x_q, x_kv, weights, num_heads, visible, values=values)

    return _layer(x, memory, params, num_heads, attend=attend)


def forgets_the_norm_before_self_attention(x, memory, params, num_heads):
    """Rows of larger numbers get larger updates from the self-attention. It is given x as it came. Check
    that all three sublayers are given a normalised row."""
    return _layer(x, memory, params, num_heads, norms=(_plain, _norm, _norm))


def normalises_the_queries_alone(x, memory, params, num_heads):
    """The self-attention asks with normalised rows, and reads keys and values from x as it came. Queries,
    keys and values of a self-attention are made from the same rows; check both of its inputs."""

    def attend(x_q, x_kv, weights, num_heads, visible=None):
        return _attend(x_q, x_kv if visible is None else x, weights, num_heads, visible)

    return _layer(x, memory, params, num_heads, attend=attend)


def forgets_the_norm_before_cross_attention(x, memory, params, num_heads):
    """The size of x sharpens or flattens the attention to the memory. The queries of the cross-attention
    are made from the stream as it is. Check that all three sublayers are given a normalised row."""
    return _layer(x, memory, params, num_heads, norms=(_norm, _plain, _norm))


def forgets_the_norm_before_the_feed_forward(x, memory, params, num_heads):
    """Both attentions are right and the feed-forward grows with the size of its input. It is given the
    stream as it is. Check that all three sublayers are given a normalised row."""
    return _layer(x, memory, params, num_heads, norms=(_norm, _norm, _plain))


def normalises_x_once(x, memory, params, num_heads):
    """Cross-attention and feed-forward do not notice what the sublayers before them added: all three work
    on the norm of the layer's input. Check that x has a new value after each line, and that each norm is
    taken of the newest one."""
    once = _norm(x)
    return _layer(x, memory, params, num_heads, norms=(lambda _: once,) * 3)


@crude
def reads_keys_and_values_from_x(x, memory, params, num_heads):
    """The result does not depend on the memory at all, and earlier rows see later tokens. The
    cross-attention's keys and values are made from the target. Check which rows k and v are products of."""

    def attend(x_q, _, *rest):
        return _attend(x_q, x_q, *rest)

    return _layer(x, memory, params, num_heads, attend=attend)


def asks_with_the_memory(x, memory, params, num_heads):
    """The cross-attention's output has one row for each source token, so it cannot be added to x, or is
    spread over it where one length is 1. Queries and keys have changed places: the target asks, the memory
    answers. Check which rows q is a product of."""

    def attend(x_q, x_kv, *rest):
        return _attend(x_kv, x_q, *rest)

    return _layer(x, memory, params, num_heads, attend=attend)


@crude
def skips_the_cross_attention(x, memory, params, num_heads):
    """The result does not depend on the memory: this is a decoder-only layer. The middle sublayer, which
    reads the source, is missing. Check that all three lines of the statement are there."""
    silent = {**params["cross_attention"], "o": np.zeros_like(params["cross_attention"]["o"])}
    return _layer(x, memory, {**params, "cross_attention": silent}, num_heads)


def reads_the_memory_first(x, memory, params, num_heads):
    """All parts are there, in another order: the cross-attention runs before the self-attention. The token
    first gathers its own context, then asks the source with it. Check the order of the lines."""
    x = x + _attend(_norm(x), _norm(memory), params["cross_attention"], num_heads)
    normed = _norm(x)
    x = x + _attend(normed, normed, params["self_attention"], num_heads, _causal(len(x)))
    return x + _relu(_norm(x) @ params["feed_forward"]["w1"]) @ params["feed_forward"]["w2"]


def swaps_the_attentions(x, memory, params, num_heads):
    """Every formula is right and the numbers are not: the self-attention works with the cross-attention's
    matrices, and the other way round. Check which entry of params each sublayer is given."""
    swapped = {"self_attention": params["cross_attention"], "cross_attention": params["self_attention"]}
    return _layer(x, memory, {**params, **swapped}, num_heads)


def swaps_keys_and_values(x, memory, params, num_heads):
    """Scores are computed from the values and the keys are what is gathered. Check that k meets q in the
    scores and that the weights multiply v; a wrong order of unpacking does this as well."""

    def attend(x_q, x_kv, weights, *rest):
        return _attend(x_q, x_kv, {**weights, "k": weights["v"], "v": weights["k"]}, *rest)

    return _layer(x, memory, params, num_heads, attend=attend)


def transposes_the_matrices(x, memory, params, num_heads):
    """Shapes fit, as q, k, v and o are square, and every product is another one. Matrices here are
    [inputs, outputs], so rows are multiplied from the left; only nn.Linear stores them the other way.
    Check each matrix product of the attentions for a transpose."""

    def attend(x_q, x_kv, weights, *rest):
        return _attend(x_q, x_kv, {name: matrix.T for name, matrix in weights.items()}, *rest)

    return _layer(x, memory, params, num_heads, attend=attend)


def forgets_the_output_matrix(x, memory, params, num_heads):
    """The heads are added to x side by side, unmixed; setting o to zero changes nothing. Check what
    becomes of the merged heads before they are added."""

    def attend(x_q, x_kv, weights, *rest):
        return _attend(x_q, x_kv, {**weights, "o": np.eye(len(weights["o"]), dtype=x.dtype)}, *rest)

    return _layer(x, memory, params, num_heads, attend=attend)


def forgets_to_scale(x, memory, params, num_heads):
    """Attention is too sharp, and the more so the wider the heads. The scores were not divided by
    sqrt(d_head). Check the line between the product of q and k and the softmax."""
    return _layer(x, memory, params, num_heads, attend=_with(_attend, scale=1))


def scales_by_d_model(x, memory, params, num_heads):
    """With one head all is right; with more, attention is too flat. The scores were divided by
    sqrt(d_model), but the products run over the d_head columns of one head. Check which width is under
    the root."""
    scale = math.sqrt(x.shape[1])
    return _layer(x, memory, params, num_heads, attend=_with(_attend, scale=scale))


def scales_without_the_root(x, memory, params, num_heads):
    """Attention is too flat, except with heads of width 1. The scores were divided by d_head where its
    square root is due. Check the divisor of the scores."""
    scale = x.shape[1] // num_heads
    return _layer(x, memory, params, num_heads, attend=_with(_attend, scale=scale))


def takes_the_softmax_over_the_queries(x, memory, params, num_heads):
    """Attention weights sum to one down the columns and not along the rows; a single memory token is shared
    out among the target tokens. The softmax runs over the wrong axis. Each query's weights over the keys,
    the last axis of the scores, sum to one."""

    def weigh(scores, visible):
        return _softmax(scores if visible is None else np.where(visible, scores, -1e9), axis=-2)

    return _layer(x, memory, params, num_heads, attend=_with(_attend, weigh=weigh))


def ignores_num_heads(x, memory, params, num_heads):  # noqa: ARG001 - the mistake
    """Right for one head only: a single attention runs over the full width, whatever num_heads says. Check
    that q, k and v are cut into num_heads blocks of columns, each with a softmax of its own."""
    return _layer(x, memory, params, 1)


def merges_heads_without_transposing(x, memory, params, num_heads):
    """Right for one head or one token, and otherwise rows hold other tokens' numbers. The heads
    [H, T, d_head] were reshaped to [T, d_model] while the heads were still in front. Check the order of
    axes right before the last reshape."""

    def merge(heads):
        return heads.reshape(heads.shape[1], -1)

    return _layer(x, memory, params, num_heads, attend=_with(_attend, merge=merge))


def splits_heads_without_transposing(x, memory, params, num_heads):
    """Right for one head or one token, and otherwise a head holds whole tokens and not its columns of every
    token. [T, d_model] was reshaped to [H, T, d_head] in one go. Reshape keeps the order of the numbers;
    check that tokens stay in front until an exchange of axes moves them."""

    def split(rows, num_heads):
        return rows.reshape(num_heads, len(rows), -1)

    return _layer(x, memory, params, num_heads, attend=_with(_attend, split=split))


def interleaves_the_heads(x, memory, params, num_heads):
    """Each head takes every num_heads-th column, where a block of neighbours is due. The reshape names
    (tokens, d_head, heads), so neighbouring columns go to different heads. Check which axis of the reshape
    runs fastest."""

    def split(rows, num_heads):
        return rows.reshape(len(rows), -1, num_heads).transpose(2, 0, 1)

    def merge(heads):
        return heads.transpose(1, 2, 0).reshape(heads.shape[1], -1)

    return _layer(x, memory, params, num_heads, attend=_with(_attend, split=split, merge=merge))


def takes_the_unbiased_variance(x, memory, params, num_heads):
    """Every norm is too small, the more so the narrower the model. The squares were divided by d_model - 1.
    Layer norm takes the biased variance, the mean of the squares; check ddof."""
    return _layer(x, memory, params, num_heads, norm=_with(_norm, ddof=1))


@subtle
def puts_eps_outside_the_root(x, memory, params, num_heads):
    """Results differ in the fifth or sixth digit. The 1e-5 was added to the standard deviation; it belongs
    to the variance, under the root. Check the order of the root and the addition in the norm."""
    return _layer(x, memory, params, num_heads, norm=_norm_with_eps_outside)


def _norm_with_eps_outside(x):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)


@subtle
def forgets_eps(x, memory, params, num_heads):
    """Results differ in the fifth or sixth digit, and a row of equal numbers gives NaN. Nothing was added
    to the variance. Check the root's argument in the norm."""
    return _layer(x, memory, params, num_heads, norm=_with(_norm, eps=0.0))


@subtle
def takes_a_smaller_eps(x, memory, params, num_heads):
    """Results differ in the fifth or sixth digit: the norm's eps is 1e-6 here, a value that some libraries
    use. The statement names 1e-5; check the constant."""
    return _layer(x, memory, params, num_heads, norm=_with(_norm, eps=1e-6))


def divides_by_the_variance(x, memory, params, num_heads):
    """Normalised rows have a variance of one over the old one, right only where that is 1. The root is
    missing in the norm. Check what the centred row is divided by."""
    return _layer(x, memory, params, num_heads, norm=_norm_without_root)


def _norm_without_root(x):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5)


def normalises_over_the_tokens(x, memory, params, num_heads):
    """A later target token changes earlier rows although the mask is right, and a lone token is normalised
    to zero. Mean and variance were taken down the columns. Each token is normalised by itself, over its
    features; check the axis."""
    return _layer(x, memory, params, num_heads, norm=_with(_norm, axis=0))


def normalises_the_whole_matrix(x, memory, params, num_heads):
    """Right for one token; with more, every row depends on all the others, the future ones too. Mean and
    variance were taken over all numbers at once. Check that the norm names an axis."""
    return _layer(x, memory, params, num_heads, norm=_with(_norm, axis=None))


def uses_gelu(x, memory, params, num_heads):
    """Results are near the right ones: a smooth relative of ReLU, as in GPT, stands between w1 and w2. This
    layer is the one of 2017, where everything below zero becomes zero; check the activation."""
    return _layer(x, memory, params, num_heads, activate=_gelu)


def _gelu(x):
    return x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))) / 2


def forgets_relu(x, memory, params, num_heads):
    """Negative numbers pass through the feed-forward, so w1 and w2 act as one matrix. Nothing stands
    between the two products. Check what becomes of a negative hidden number."""
    return _layer(x, memory, params, num_heads, activate=_plain)


@subtle
def adds_in_place(x, memory, params, num_heads):
    """The numbers are right and the caller's x is overwritten. `x += …` writes into the array that came in;
    `x = x + …` makes a new one. Check every operation that changes an array instead of making one."""
    x[...] = _layer(x, memory, params, num_heads)
    return x


def _weighed(weigh):
    """The right layer, with other weights."""

    def layer(x, memory, params, num_heads):
        with np.errstate(all="ignore"):
            return _layer(x, memory, params, num_heads, attend=_with(_attend, weigh=weigh))

    return layer


@subtle
def subtracts_one_maximum_for_all_heads(x, memory, params, num_heads):
    """Scores of ordinary size are right; where those of one head lie far above those of another, the latter's
    rows are NaN. One maximum is subtracted from all heads. Check the axis of the maximum."""

    def weigh(scores, visible):
        seen = scores if visible is None else np.where(visible, scores, -1e9).astype(scores.dtype)
        exps = np.exp(seen - seen.max())
        return exps / exps.sum(axis=-1, keepdims=True)

    return _weighed(weigh)(x, memory, params, num_heads)


@subtle
def takes_the_maximum_of_hidden_scores_too(x, memory, params, num_heads):
    """Scores of ordinary size are right; where a hidden one lies far above those that are seen, rows are NaN.
    The maximum was taken before the mask, and every exp that counts is 0. Check their order."""

    def weigh(scores, visible):
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True)) * (True if visible is None else visible)
        return exps / exps.sum(axis=-1, keepdims=True)

    return _weighed(weigh)(x, memory, params, num_heads)
