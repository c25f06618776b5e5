"""What people write instead, and what to tell them."""

import math

import numpy as np

from grader.mistakes import crude, subtle

_BUFFERS = {}


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


def _stack(x, memory, layers, num_heads, layer=_layer, **changes):
    states = [x]
    for params in layers:
        states.append(layer(states[-1], memory, params, num_heads, **changes))
    return states


def gives_every_layer_the_first_weights(x, memory, layers, num_heads):
    """h_1 is right and everything above it is not: each layer works with the weights of the first. The
    index into the list of layers never moves. Check which params each turn of the loop hands on."""
    return _stack(x, memory, layers[:1] * len(layers), num_heads)


def gives_every_layer_the_last_weights(x, memory, layers, num_heads):
    """Right for one layer; with more, h_1 is wrong already. Each layer works with the weights of the last:
    the functions were made in a loop and look at its variable later, when the loop is over. Check when the
    params are read."""
    return _stack(x, memory, layers[-1:] * len(layers), num_heads)


def applies_the_layers_in_reverse(x, memory, layers, num_heads):
    """Right for one layer; with more, h_1 is what the top layer makes of x. The list is walked from its
    end. The first entry of the list is the layer nearest to the embedding; check the direction."""
    return _stack(x, memory, layers[::-1], num_heads)


@subtle
def keeps_the_first_mask(x, memory, layers, num_heads):
    """The first call is right, and calls with fewer tokens are; with more, later tokens are hidden from
    themselves. The causal mask was made for the first call's length and kept. Make it for each length."""
    made = _MASKS.setdefault("causal", _causal(len(x)))

    def mask(tokens):
        visible = np.zeros((tokens, tokens), dtype=bool)
        visible[: len(made), : len(made)] = made[:tokens, :tokens]
        return visible

    return _stack(x, memory, layers, num_heads, mask=mask)


_MASKS = {}


@subtle
def keeps_the_memory_of_an_earlier_call(x, memory, layers, num_heads):
    """The first call is right; later ones of the same size read its memory. What was made of the memory
    outlives the call, as a cache would that is never emptied. Every call brings its own memory."""
    kept = _MEMORIES.setdefault((memory.shape, memory.dtype), memory)
    return _stack(x, kept, layers, num_heads)


_MEMORIES = {}


@crude
def starts_every_layer_from_x(x, memory, layers, num_heads):
    """h_1 is right, and h_2 knows nothing of it: each layer is given x, so they stand side by side and not
    on each other. Check what the layer is called with on the second turn of the loop."""
    return [x] + [_layer(x, memory, params, num_heads) for params in layers]


def omits_the_first_state(x, memory, layers, num_heads):
    """The list has one entry for each layer and begins with h_1. h_0, the stream before any layer, is
    a state too. Check what the list holds before the loop begins, and so what no layers give."""
    return _stack(x, memory, layers, num_heads)[1:]


def omits_the_last_state(x, memory, layers, num_heads):
    """The list begins with h_0 and ends before h_N: each state is recorded when its layer begins, and
    nobody records what the last layer made. Check what happens after the last turn of the loop."""
    return _stack(x, memory, layers, num_heads)[:-1]


def returns_the_last_state_alone(x, memory, layers, num_heads):
    """One array came back, where a list of N + 1 states is due. A model needs h_N; this kata shows the
    stream on its way, from h_0 on. Check what is returned."""
    return _stack(x, memory, layers, num_heads)[-1]


@subtle
def returns_one_stacked_array(x, memory, layers, num_heads):
    """The states are right and come as one array [N + 1, T_tgt, d_model], where a list of arrays is due.
    Check the last line for a stack or an array call around the list."""
    return np.stack(_stack(x, memory, layers, num_heads))


@subtle
def fails_without_layers(x, memory, layers, num_heads):
    """An empty list of layers breaks the call. Something looks at layers[0] before it is known to be there;
    a stack of no layers is legal and gives [h_0]. Check what is read outside the loop."""
    assert layers[0]["self_attention"]["q"].shape[0] % num_heads == 0
    return _stack(x, memory, layers, num_heads)


@subtle
def returns_nothing_without_layers(x, memory, layers, num_heads):
    """No layers give an empty list, while one or more are right. h_0 enters the list along with the first
    layer only. Check where x is put into the list."""
    return _stack(x, memory, layers, num_heads) if layers else []


def records_every_sublayer(x, memory, layers, num_heads):
    """The list holds 3 N + 1 states: one for each sublayer. A hidden state is what a whole layer leaves
    behind. Check in which function, and how often, a state is recorded."""
    states = [x]
    for params in layers:
        states += [_layer(states[-1], memory, _ending(params, after), num_heads) for after in (1, 2, 3)]
    return states


def _ending(params, after):
    """The first `after` sublayers as they are, the others silenced."""
    attentions = {
        name: weights if place < after else {**weights, "o": weights["o"] * 0}
        for place, (name, weights) in enumerate(params.items())
        if name != "feed_forward"
    }
    weights = params["feed_forward"]
    return {**attentions, "feed_forward": weights if after == 3 else {**weights, "w2": weights["w2"] * 0}}


def records_what_each_layer_added(x, memory, layers, num_heads):
    """h_0 is right, and each later entry is the difference that its layer made. The layer returns the
    update without the stream, or the stream was taken away from it. h_i is the whole stream after layer i:
    check that the sublayers' sums are what is recorded."""
    states = _stack(x, memory, layers, num_heads)
    return states[:1] + list(np.diff(states, axis=0))


def records_normalised_states(x, memory, layers, num_heads):
    """Every state in the list, h_0 too, has rows of mean 0 and variance 1, though the layers worked with
    the right ones. The norm of the stream was recorded and not the stream. Check what is appended."""
    return [_norm(state) for state in _stack(x, memory, layers, num_heads)]


def normalises_the_last_state(x, memory, layers, num_heads):
    """All states are right but the last, whose rows have mean 0 and variance 1. A pre-norm model does end
    on one more norm, but whoever reads h_N applies it. Check what happens after the loop."""
    states = _stack(x, memory, layers, num_heads)
    return [*states[:-1], _norm(states[-1])]


def normalises_x_first(x, memory, layers, num_heads):
    """h_0 is not x: its rows have mean 0 and variance 1, and every later state starts from there. Each
    sublayer has its own norm, and x enters the stream as it is. Check what happens ahead of the loop."""
    return _stack(_norm(x), memory, layers, num_heads)


def updates_one_array_in_place(x, memory, layers, num_heads):
    """All entries of the list are equal: it holds the same array N + 1 times, and each layer adds to it in
    place. The last state is right, the others were overwritten. Check for `+=` on an array that is already
    in the list."""
    return _stack(x, memory, layers, num_heads)[-1:] * (len(layers) + 1)


@subtle
def writes_into_x(x, memory, layers, num_heads):
    """The states are right and the caller's x is overwritten: it holds h_N after the call. The loop adds to
    x in place and records copies. Check every operation that changes an array instead of making one."""
    states = [state.copy() for state in _stack(x, memory, layers, num_heads)]
    x[...] = states[-1]
    return states


@subtle
def empties_the_list_of_layers(x, memory, layers, num_heads):
    """The states are right and the caller's list of layers is empty afterwards: the loop takes the params
    out of it. Check for pop or remove; walking along a list leaves it as it is."""
    states = [x]
    while layers:
        states.append(_layer(states[-1], memory, layers.pop(0), num_heads))
    return states


@subtle
def keeps_the_states_of_earlier_calls(x, memory, layers, num_heads):
    """The first call is right; the second returns its own states behind those of the first. The list lives
    longer than the call, as a default argument or a global does. Check where the list is made."""
    _remembered.extend(_stack(x, memory, layers, num_heads))
    del _remembered[:-8]
    return list(_remembered)


_remembered = []


def reads_the_state_as_memory(x, memory, layers, num_heads):
    """h_1 is right; from the second layer on, the source plays no part. The first layer's result took the
    place of the memory, so later layers cross-attend to the target. Check what each turn of the loop calls
    memory: it is the encoder's output every time."""
    states = [x]
    for index, params in enumerate(layers):
        states.append(_layer(states[-1], states[-1] if index else memory, params, num_heads))
    return states


@subtle
def normalises_the_memory_again(x, memory, layers, num_heads):
    """h_1 is right and later states differ in the fifth or sixth digit: the memory is normalised anew in
    each layer, on top of the norm of the layer before. With eps under the root, a second norm is not quite
    nothing. Check whether the layer, or the loop, overwrites the memory it was given."""
    states = [x]
    for params in layers:
        states.append(_layer(states[-1], memory, params, num_heads))
        memory = _norm(memory)
    return states


def adds_to_the_normalised_input(x, memory, layers, num_heads):
    """Even sublayers that add nothing change x. The sum starts from the normalised row, so the stream is
    rescaled at every sublayer and loses what the embedding put there. Check which x stands on the left of
    the plus sign: perhaps one name holds both the row and its norm."""

    def layer(x, memory, params, num_heads):
        normed = _norm(x)
        x = normed + _attend(normed, normed, params["self_attention"], num_heads, _causal(len(x)))
        normed = _norm(x)
        x = normed + _attend(normed, _norm(memory), params["cross_attention"], num_heads)
        normed = _norm(x)
        return normed + _relu(normed @ params["feed_forward"]["w1"]) @ params["feed_forward"]["w2"]

    return _stack(x, memory, layers, num_heads, layer=layer)


@crude
def skips_the_cross_attention(x, memory, layers, num_heads):
    """No state depends on the memory: these are decoder-only layers. The middle sublayer, which reads the
    source, is missing. Check that all three lines of the statement are there."""
    silent = [{**params, "cross_attention": _without_output(params["cross_attention"])} for params in layers]
    return _stack(x, memory, silent, num_heads)


def _without_output(weights):
    return {**weights, "o": np.zeros_like(weights["o"])}


def reads_the_memory_first(x, memory, layers, num_heads):
    """All parts are there, in another order: the cross-attention runs before the self-attention. The token
    first gathers its own context, then asks the source with it. Check the order of the lines."""

    def layer(x, memory, params, num_heads):
        x = x + _attend(_norm(x), _norm(memory), params["cross_attention"], num_heads)
        normed = _norm(x)
        x = x + _attend(normed, normed, params["self_attention"], num_heads, _causal(len(x)))
        return x + _relu(_norm(x) @ params["feed_forward"]["w1"]) @ params["feed_forward"]["w2"]

    return _stack(x, memory, layers, num_heads, layer=layer)


def swaps_the_attentions(x, memory, layers, num_heads):
    """Every formula is right and the numbers are not: the self-attention works with the cross-attention's
    matrices, and the other way round. Check which entry of params each sublayer is given."""
    swapped = [
        {**params, "self_attention": params["cross_attention"], "cross_attention": params["self_attention"]}
        for params in layers
    ]
    return _stack(x, memory, swapped, num_heads)


def normalises_x_once(x, memory, layers, num_heads):
    """Within a layer, cross-attention and feed-forward do not notice what the sublayers before them added:
    all three work on the norm of the layer's input. Check that x has a new value after each line, and that
    each norm is taken of the newest one."""

    def layer(x, memory, params, num_heads):
        once = _norm(x)
        return _layer(x, memory, params, num_heads, norms=(lambda _: once,) * 3)

    return _stack(x, memory, layers, num_heads, layer=layer)


@crude
def forgets_the_causal_mask(x, memory, layers, num_heads):
    """Changing a later target token changes earlier rows. The self-attention reads the whole target, so in
    training each position sees its own answer. Check that the softmax
    leaves out the scores above the diagonal."""
    return _stack(x, memory, layers, num_heads, mask=lambda _: None)


def shows_the_next_token(x, memory, layers, num_heads):
    """Each row changes with the token right after it. The causal mask is off by one: it shows every
    position the very token that it has to predict. Check which diagonal is the first hidden one."""
    return _stack(x, memory, layers, num_heads, mask=_with(_causal, offset=1))


def hides_the_token_itself(x, memory, layers, num_heads):
    """No token reads itself, and the first one has nothing to read. The causal mask hides the diagonal too.
    Token t reads tokens 0 to t: check whether the diagonal belongs to the visible part."""
    return _stack(x, memory, layers, num_heads, mask=_with(_causal, offset=-1))


def masks_the_cross_attention(x, memory, layers, num_heads):
    """The order of the memory tokens matters: the first target token reads the first memory token alone.
    The causal mask was applied to the cross-attention as well. The source is known in full before the
    first target token is written; check which of the two attentions needs a mask."""

    def attend(x_q, x_kv, weights, num_heads, _=None):
        return _attend(x_q, x_kv, weights, num_heads, np.tri(len(x_q), len(x_kv), dtype=bool))

    return _stack(x, memory, layers, num_heads, attend=attend)


def normalises_after_adding(x, memory, layers, num_heads):
    """Every row of the result has mean 0 and variance 1: this is the post-norm layer of 2017, which
    normalises the sum. Here the norm stands in front of each sublayer, and nothing touches the residual
    stream but additions. Check what each norm is given."""
    return _stack(x, memory, layers, num_heads, norm=_plain, after=_norm)


def forgets_the_residual_of_self_attention(x, memory, layers, num_heads):
    """The result does not hold x: where self-attention adds nothing, x is gone. The first sublayer's output
    replaces its input. Check that each of the three lines begins with what came before it."""
    return _stack(x, memory, layers, num_heads, kept=(0, 1, 1))


def forgets_the_residual_of_cross_attention(x, memory, layers, num_heads):
    """What self-attention found is lost, and all target rows look alike. The cross-attention's output
    replaces the stream. Check that each of the three lines begins with what came before it."""
    return _stack(x, memory, layers, num_heads, kept=(1, 0, 1))


def forgets_the_residual_of_the_feed_forward(x, memory, layers, num_heads):
    """The result is the feed-forward's output alone; with w2 at zero, it is zero. The last line replaces
    the stream. Check that each of the three lines begins with what came before it."""
    return _stack(x, memory, layers, num_heads, kept=(1, 1, 0))


def leaves_the_memory_unnormalised(x, memory, layers, num_heads):
    """Adding a constant to the memory's features changes the result. Keys and values are made from the
    memory as it came. In this layer the cross-attention reads normalised memory, just as it asks with
    normalised x; check both of its inputs."""
    return _stack(x, memory, layers, num_heads, of_memory=_plain)


def forgets_the_norm_before_cross_attention(x, memory, layers, num_heads):
    """The size of x sharpens or flattens the attention to the memory. The queries of the cross-attention
    are made from the stream as it is. Check that all three sublayers are given a normalised row."""
    return _stack(x, memory, layers, num_heads, norms=(_norm, _plain, _norm))


def forgets_the_norm_before_the_feed_forward(x, memory, layers, num_heads):
    """Both attentions are right and the feed-forward grows with the size of its input. It is given the
    stream as it is. Check that all three sublayers are given a normalised row."""
    return _stack(x, memory, layers, num_heads, norms=(_norm, _norm, _plain))


@crude
def reads_keys_and_values_from_x(x, memory, layers, num_heads):
    """The result does not depend on the memory at all, and earlier rows see later tokens. The
    cross-attention's keys and values are made from the target. Check which rows k and v are products of."""

    def attend(x_q, _, *rest):
        return _attend(x_q, x_q, *rest)

    return _stack(x, memory, layers, num_heads, attend=attend)


def asks_with_the_memory(x, memory, layers, num_heads):
    """The cross-attention's output has one row for each source token, so it cannot be added to x, or is
    spread over it where one length is 1. Queries and keys have changed places: the target asks, the memory
    answers. Check which rows q is a product of."""

    def attend(x_q, x_kv, *rest):
        return _attend(x_kv, x_q, *rest)

    return _stack(x, memory, layers, num_heads, attend=attend)


def transposes_the_matrices(x, memory, layers, num_heads):
    """Shapes fit, as q, k, v and o are square, and every product is another one. Matrices here are
    [inputs, outputs], so rows are multiplied from the left; only nn.Linear stores them the other way.
    Check each matrix product of the attentions for a transpose."""

    def attend(x_q, x_kv, weights, *rest):
        return _attend(x_q, x_kv, {name: matrix.T for name, matrix in weights.items()}, *rest)

    return _stack(x, memory, layers, num_heads, attend=attend)


def forgets_the_output_matrix(x, memory, layers, num_heads):
    """The heads are added to x side by side, unmixed; setting o to zero changes nothing. Check what
    becomes of the merged heads before they are added."""

    def attend(x_q, x_kv, weights, *rest):
        return _attend(x_q, x_kv, {**weights, "o": np.eye(len(weights["o"]), dtype=x.dtype)}, *rest)

    return _stack(x, memory, layers, num_heads, attend=attend)


def forgets_to_scale(x, memory, layers, num_heads):
    """Attention is too sharp, and the more so the wider the heads. The scores were not divided by
    sqrt(d_head). Check the line between the product of q and k and the softmax."""
    return _stack(x, memory, layers, num_heads, attend=_with(_attend, scale=1))


def scales_by_d_model(x, memory, layers, num_heads):
    """With one head all is right; with more, attention is too flat. The scores were divided by
    sqrt(d_model), but the products run over the d_head columns of one head. Check which width is under
    the root."""
    scale = math.sqrt(x.shape[1])
    return _stack(x, memory, layers, num_heads, attend=_with(_attend, scale=scale))


def ignores_num_heads(x, memory, layers, num_heads):  # noqa: ARG001 - the mistake
    """Right for one head only: a single attention runs over the full width, whatever num_heads says. Check
    that q, k and v are cut into num_heads blocks of columns, each with a softmax of its own."""
    return _stack(x, memory, layers, 1)


def merges_heads_without_transposing(x, memory, layers, num_heads):
    """Right for one head or one token, and otherwise rows hold other tokens' numbers. The heads
    [H, T, d_head] were reshaped to [T, d_model] while the heads were still in front. Check the order of
    axes right before the last reshape."""

    def merge(heads):
        return heads.reshape(heads.shape[1], -1)

    return _stack(x, memory, layers, num_heads, attend=_with(_attend, merge=merge))


def splits_heads_without_transposing(x, memory, layers, num_heads):
    """Right for one head or one token, and otherwise a head holds whole tokens and not its columns of every
    token. [T, d_model] was reshaped to [H, T, d_head] in one go. Reshape keeps the order of the numbers;
    check that tokens stay in front until an exchange of axes moves them."""

    def split(rows, num_heads):
        return rows.reshape(num_heads, len(rows), -1)

    return _stack(x, memory, layers, num_heads, attend=_with(_attend, split=split))


def interleaves_the_heads(x, memory, layers, num_heads):
    """Each head takes every num_heads-th column, where a block of neighbours is due. The reshape names
    (tokens, d_head, heads), so neighbouring columns go to different heads. Check which axis of the reshape
    runs fastest."""

    def split(rows, num_heads):
        return rows.reshape(len(rows), -1, num_heads).transpose(2, 0, 1)

    def merge(heads):
        return heads.transpose(1, 2, 0).reshape(heads.shape[1], -1)

    return _stack(x, memory, layers, num_heads, attend=_with(_attend, split=split, merge=merge))


def takes_the_unbiased_variance(x, memory, layers, num_heads):
    """Every norm is too small, the more so the narrower the model. The squares were divided by d_model - 1.
    Layer norm takes the biased variance, the mean of the squares; check ddof."""
    return _stack(x, memory, layers, num_heads, norm=_with(_norm, ddof=1))


@subtle
def puts_eps_outside_the_root(x, memory, layers, num_heads):
    """Results differ in the fifth or sixth digit. The 1e-5 was added to the standard deviation; it belongs
    to the variance, under the root. Check the order of the root and the addition in the norm."""
    return _stack(x, memory, layers, num_heads, norm=_norm_with_eps_outside)


def _norm_with_eps_outside(x):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)


@subtle
def forgets_eps(x, memory, layers, num_heads):
    """Results differ in the fifth or sixth digit, and a row of equal numbers gives NaN. Nothing was added
    to the variance. Check the root's argument in the norm."""
    return _stack(x, memory, layers, num_heads, norm=_with(_norm, eps=0.0))


@subtle
def takes_a_smaller_eps(x, memory, layers, num_heads):
    """Results differ in the fifth or sixth digit: the norm's eps is 1e-6 here, a value that some libraries
    use. The statement names 1e-5; check the constant."""
    return _stack(x, memory, layers, num_heads, norm=_with(_norm, eps=1e-6))


def normalises_over_the_tokens(x, memory, layers, num_heads):
    """A later target token changes earlier rows although the mask is right, and a lone token is normalised
    to zero. Mean and variance were taken down the columns. Each token is normalised by itself, over its
    features; check the axis."""
    return _stack(x, memory, layers, num_heads, norm=_with(_norm, axis=0))


def normalises_the_whole_matrix(x, memory, layers, num_heads):
    """Right for one token; with more, every row depends on all the others, the future ones too. Mean and
    variance were taken over all numbers at once. Check that the norm names an axis."""
    return _stack(x, memory, layers, num_heads, norm=_with(_norm, axis=None))


def uses_gelu(x, memory, layers, num_heads):
    """Results are near the right ones: a smooth relative of ReLU, as in GPT, stands between w1 and w2. This
    layer is the one of 2017, where everything below zero becomes zero; check the activation."""
    return _stack(x, memory, layers, num_heads, activate=_gelu)


def _gelu(x):
    return x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))) / 2


def forgets_relu(x, memory, layers, num_heads):
    """Negative numbers pass through the feed-forward, so w1 and w2 act as one matrix. Nothing stands
    between the two products. Check what becomes of a negative hidden number."""
    return _stack(x, memory, layers, num_heads, activate=_plain)


@subtle
def widens_float32(x, memory, layers, num_heads):
    """The numbers are right and float32 has become float64 (in NumPy, np.sqrt of an integer is a float64
    scalar, which widens every array it meets). Take the root with math.sqrt or `** 0.5`; check masks that
    are made without a dtype as well."""
    return _stack(x, memory, layers, num_heads, attend=_with(_attend, scale=np.sqrt(x.shape[1] // num_heads)))


def _weighed(weigh):
    """The right stack, with other weights."""

    def stack(x, memory, layers, num_heads):
        with np.errstate(all="ignore"):
            return _stack(x, memory, layers, num_heads, attend=_with(_attend, weigh=weigh))

    return stack


@subtle
def subtracts_one_maximum_for_all_heads(x, memory, layers, num_heads):
    """Scores of ordinary size are right; where those of one head lie far above those of another, the latter's
    rows are NaN. One maximum is subtracted from all heads. Check the axis of the maximum."""

    def weigh(scores, visible):
        seen = scores if visible is None else np.where(visible, scores, -1e9).astype(scores.dtype)
        exps = np.exp(seen - seen.max())
        return exps / exps.sum(axis=-1, keepdims=True)

    return _weighed(weigh)(x, memory, layers, num_heads)


@subtle
def takes_the_maximum_of_hidden_scores_too(x, memory, layers, num_heads):
    """Scores of ordinary size are right; where a hidden one lies far above those that are seen, rows are NaN.
    The maximum was taken before the mask, and every exp that counts is 0. Check their order."""

    def weigh(scores, visible):
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True)) * (True if visible is None else visible)
        return exps / exps.sum(axis=-1, keepdims=True)

    return _weighed(weigh)(x, memory, layers, num_heads)


@subtle
def writes_the_states_into_one_buffer(x, memory, layers, num_heads):
    """A second call with inputs of the same shape changes the result of the first: both are written into one
    array that is kept between the calls. Make the result anew in every call."""
    states = _stack(x, memory, layers, num_heads)
    for index, state in enumerate(states):
        kept = _BUFFERS.setdefault((index, state.shape, state.dtype), np.empty_like(state))
        kept[...] = state
        states[index] = kept
    return states
