"""What goes wrong in latent_attention: one function a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle


def _split(matrix, num_heads):
    """Right: [d, H * width] -> [H, d, width]."""
    return matrix.unflatten(-1, (num_heads, -1)).transpose(0, 1)


def _queries(x, w_q, num_heads):
    return (x @ w_q).unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _hide(scores, past):
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(past + 1)
    return scores.masked_fill(later, -torch.inf)


def _softmax(scores):
    return scores.softmax(-1)


def _merge(mixed):
    return mixed.transpose(1, 2).flatten(2)


def _append(cache, latents):
    return cache.append(latents)


def _attend(
    x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, *, split_k=_split, split_v=_split, queries=_queries,
    hide=_hide, softmax=_softmax, merge=_merge, append=_append, divisor=None
):  # fmt: skip
    """Right latent attention, but for the part that is given."""
    past = len(cache)
    latents = append(cache, x @ w_dkv)[:, None]
    q = queries(x, w_q, num_heads)
    absorbed = q / (divisor or math.sqrt(q.shape[-1])) @ split_k(w_uk, num_heads).mT
    weights = softmax(hide(absorbed @ latents.mT, past))
    return merge(weights @ latents @ split_v(w_uv, num_heads)) @ w_o


@crude
def takes_one_head(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):  # noqa: ARG001 - the mistake
    """Right for one head: the columns are not cut into heads, so all heads share one distribution of
    weights.
    """
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, 1, cache)


@crude
def forgets_the_past(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """New tokens attend to their own piece alone: the latents that append returns are not used. It returns
    those of all tokens so far.
    """

    def append(cache, latents):
        cache.append(latents)
        return latents

    def hide(scores, past):  # noqa: ARG001 - the mistake
        return _hide(scores, 0)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, append=append, hide=hide)


def aligns_the_mask_top_left(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """With a history, new tokens see only the oldest latents: the triangle of the mask starts in the upper
    left corner, as if the first query were token 0. It is the token after those in the cache.
    """

    def hide(scores, past):  # noqa: ARG001 - the mistake
        return _hide(scores, 0)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide)


def asks_the_length_after_the_append(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Tokens see later tokens of their own piece: len(cache) is asked after the append, so the mask begins
    too far to the right. One-token steps are right.
    """

    def hide(scores, past):
        return _hide(scores, past + scores.shape[-2])

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide)


def shows_the_next_token(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Every token but the last of its piece sees one token too many: the diagonal of the mask is off by
    one.
    """
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=lambda scores, past: _hide(scores, past + 1)
    )


def hides_each_token_from_itself(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The very first output is NaN, and later ones ignore their own token: the mask hides the diagonal."""
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=lambda scores, past: _hide(scores, past - 1)
    )


def masks_the_first_piece_only(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The first piece is right, and in a later piece tokens see those after them: the mask is built only
    while the cache is empty.
    """

    def hide(scores, past):
        return scores if past else _hide(scores, past)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide)


def forgets_the_scale(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The weights are too uneven: scores are not divided by sqrt(d_head). Right for d_head = 1."""
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, divisor=1)


def scales_by_the_width_of_the_latents(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The weights are off unless d_latent equals d_head: after the absorption, queries have the width of the
    latents, and the scale is taken from there. It belongs to the queries and keys of the formula.
    """
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, divisor=math.sqrt(w_dkv.shape[1]))


def scales_by_all_heads(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The weights are too even, right for one head: the scale is taken from H * d_head, the width of all
    heads together.
    """
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, divisor=math.sqrt(w_q.shape[1]))


def scales_by_the_width_of_the_values(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right where d_v equals d_head: the scale is taken from the values."""
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, divisor=math.sqrt(w_uv.shape[1] / num_heads)
    )


def _dealt(matrix, num_heads):
    """The columns dealt to the heads in turn."""
    return matrix.unflatten(-1, (-1, num_heads)).movedim(-1, 0)


def deals_the_columns_in_turn(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right for one head: head h gets the columns h, h + H, h + 2H ... Each head owns a block of
    neighbouring columns.
    """

    def queries(x, w_q, num_heads):
        return (x @ w_q).unflatten(-1, (-1, num_heads)).movedim(-1, 1)

    def merge(mixed):
        return mixed.permute(0, 2, 3, 1).flatten(2)

    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache,
        queries=queries, split_k=_dealt, split_v=_dealt, merge=merge,
    )  # fmt: skip


def cuts_w_uk_by_another_rule(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right for one head: one head's columns of w_uk meet another head's queries. w_q and w_uk are cut into
    heads by the same rule, blocks of neighbouring columns.
    """
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, split_k=_dealt)


def cuts_w_uv_by_another_rule(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right for one head: the weights are right, and each head's values are made of other heads' columns of
    w_uv. Head h owns the h-th block of neighbouring columns.
    """
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, split_v=_dealt)


def turns_the_order_of_heads(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right for one head: the heads are joined in another order than w_o expects. Head 0 comes first."""
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, merge=lambda mixed: _merge(mixed.flip(1))
    )


def joins_heads_before_tokens(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right for one head or one token: [B, H, T, d_v] is reshaped without bringing the heads behind the
    tokens, so tokens and heads are mixed.
    """

    def merge(mixed):
        return mixed.reshape(mixed.shape[0], mixed.shape[2], -1)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, merge=merge)


@crude
def swaps_the_up_projections(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Scores are made with w_uv and values with w_uk, and where d_v differs from d_head the call raises: the
    two matrices have changed places.
    """
    return _attend(x, w_q, w_dkv, w_uv, w_uk, w_o, num_heads, cache)


@crude
def leaves_out_w_uk(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The call raises, or w_uk has no influence: queries are multiplied with latents as they are. Between
    them stands w_uk of the head.
    """

    def split(matrix, num_heads):
        parts = _split(matrix, num_heads)
        return torch.eye(parts.shape[1], parts.shape[2], dtype=matrix.dtype, device=matrix.device)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, split_k=split)


@crude
def takes_no_softmax(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The scores are used as weights: the softmax is missing."""

    def softmax(scores):
        return scores.masked_fill(scores.isinf(), 0)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, softmax=softmax)


@crude
def takes_the_softmax_over_the_queries(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The weights of a query do not sum to 1: the softmax runs over axis -2. In [..., queries, keys] it runs
    over the keys.
    """
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, softmax=lambda scores: scores.softmax(-2)
    )


def masks_after_the_softmax(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Outputs of early tokens are too small: later tokens are set to zero after the softmax, so the weights
    no longer sum to 1.
    """

    def softmax(scores):
        return scores

    def hide(scores, past):
        return scores.softmax(-1).tril(past)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide, softmax=softmax)


def reads_the_first_sequence_alone(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """All sequences of a batch attend to the latents of the first: the batch axis of the latents is dropped
    or indexed. Right for a batch of one.
    """
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, append=lambda cache, c: cache.append(c)[:1]
    )


@subtle
def makes_all_keys_again(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The outputs are right, and each step takes longer than it should: the keys, or the values, of all
    cached tokens are made from their latents again. Bring the few queries to the latents, and mix latents.
    """
    past = len(cache)
    latents = cache.append(x @ w_dkv)[:, None]
    q = _queries(x, w_q, num_heads)
    scores = q / math.sqrt(q.shape[-1]) @ (latents @ _split(w_uk, num_heads)).mT
    return _merge(_hide(scores, past).softmax(-1) @ latents @ _split(w_uv, num_heads)) @ w_o


@subtle
def caches_keys_and_values(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The outputs are right, and the cache holds keys and values of all heads, which is what latents are to
    save. It is given the latents alone.
    """
    past = len(cache)
    c = x @ w_dkv
    width = w_uk.shape[1]
    both = cache.append(torch.cat([c @ w_uk, c @ w_uv], dim=-1))
    k, v = (_queries(part, torch.eye(part.shape[-1], dtype=x.dtype, device=x.device), num_heads)
            for part in (both[..., :width], both[..., width:]))  # fmt: skip
    q = _queries(x, w_q, num_heads)
    return _merge(_hide(q / math.sqrt(q.shape[-1]) @ k.mT, past).softmax(-1) @ v) @ w_o


_HISTORY = []


@subtle
def keeps_its_own_history(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """One sequence is right, and two side by side mix: the latents are kept outside of the cache, in a
    variable that all sequences share. What append returns belongs to one sequence.
    """

    def append(cache, latents):
        if len(cache) == 0:
            _HISTORY.clear()
        cache.append(latents)
        _HISTORY.append(latents)
        if any(piece.dtype != latents.dtype or piece.device != latents.device for piece in _HISTORY):
            del _HISTORY[:-1]
        return torch.cat(_HISTORY, dim=1)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, append=append)


@subtle
def appends_twice(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The cache holds every token twice: append is called twice in one call, for the keys and for the
    values. The latents are the same for both.
    """

    def append(cache, latents):
        cache.append(latents)
        return cache.append(latents)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, append=append)


def appends_token_by_token(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The outputs are right, and append is called once for each token of a piece. The whole piece is
    appended at once.
    """

    def append(cache, latents):
        return [cache.append(latents[:, t : t + 1]) for t in range(latents.shape[1])][-1]

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, append=append)


@subtle
def overflows_on_large_scores(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """NaN for scores of a hundred and more: exp is taken of scores as they are. Subtract the largest."""

    def softmax(scores):
        powers = scores.exp()
        return powers / powers.sum(-1, keepdim=True)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, softmax=softmax)


@subtle
def clips_the_scores(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Large scores are too alike: they are cut to a range before the softmax."""
    return _attend(
        x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache,
        softmax=lambda scores: scores.clamp(max=60).softmax(-1),
    )  # fmt: skip


@subtle
def hides_with_a_small_penalty(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Later tokens are seen where scores are in the hundreds: the number that hides them is too small."""

    def hide(scores, past):
        return scores - 100 * torch.ones_like(scores).triu(past + 1)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide)


@subtle
def builds_the_mask_on_the_cpu(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Right on the CPU; on a GPU the call raises: the mask is made without device=x.device."""

    def hide(scores, past):
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(past + 1)
        return torch.where(later, -torch.inf, scores)

    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, hide=hide)


@subtle
def scales_the_queries_weight_in_place(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The caller's w_q is smaller after each call: the scale is multiplied into it in place."""
    w_q /= math.sqrt(w_q.shape[1] // num_heads)
    return _attend(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache, divisor=1)
