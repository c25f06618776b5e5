"""What goes wrong in kv_cache: one class or function a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle


class _Cache:
    """The right cache; mistakes override a part of it."""

    def __init__(self):
        self.keys = self.values = None

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, k, v):
        self.keys, self.values = self._join(self.keys, k), self._join(self.values, v)
        return self.keys, self.values

    def _join(self, old, new):
        return new if old is None else torch.cat([old, new], dim=-2)


def _visible(past, new, device):
    """Right mask: key position at most the query's position."""
    query_at = torch.arange(past, past + new, device=device)[:, None]
    return torch.arange(past + new, device=device) <= query_at


def _split(x, w_qkv, num_heads, names="qkv"):
    """q, k and v, each [B, H, T_new, d_head], from columns in the order of `names`."""
    batch, new, d_model = x.shape
    parts = (x @ w_qkv).view(batch, new, 3, num_heads, d_model // num_heads).permute(2, 0, 3, 1, 4)
    return [parts[names.index(name)] for name in "qkv"]


def _merge(mixed):
    return mixed.transpose(1, 2).flatten(2)


def _attend(
    x, w_qkv, w_out, num_heads, cache, split=_split, visible=_visible, divisor=None, axis=-1, merge=_merge
):
    """Right attention, but for the part that is given."""
    past, new = len(cache), x.shape[1]
    q, k, v = split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    scores = q @ all_k.transpose(-2, -1) / (divisor or math.sqrt(q.shape[-1]))
    hidden = ~visible(past, new, x.device)
    weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=axis)
    return merge(weights @ all_v) @ w_out


@crude
class forgets_the_past(_Cache):
    """After every append the cache holds the newest piece alone: the new keys and values take the place of
    the old ones and are not joined to them. Compare len(cache) after two appends with the sum of the
    pieces.
    """

    def _join(self, old, new):  # noqa: ARG002 - the mistake
        return new


@subtle
class shares_one_history(_Cache):
    """A new cache is not empty: it holds the tokens of another one. The history belongs to the class (or to
    a mutable default argument, or to the module), so all caches write into the same one. Check where it
    is created, and how often.
    """

    pieces = []  # noqa: RUF012 - the mistake

    def __init__(self):
        pass

    def __len__(self):
        return sum(k.shape[-2] for k, _ in self.pieces)

    def append(self, k, v):
        self.pieces.append((k, v))
        return tuple(torch.cat(parts, dim=-2) for parts in zip(*self.pieces, strict=True))


@crude
class joins_along_the_batch(_Cache):
    """all_k has more sequences than the batch and no more tokens than the piece: the pieces are joined along
    axis 0. Print all_k.shape after two appends; which of the four axes should have grown?
    """

    def _join(self, old, new):
        return new if old is None else torch.cat([old, new], dim=0)


@crude
class joins_along_the_heads(_Cache):
    """all_k has more heads after every append, and no more tokens: the pieces are joined along axis 1. That
    is the token axis of [B, T, ...], but in [B, H, T, d_head] the heads come first.
    """

    def _join(self, old, new):
        return new if old is None else torch.cat([old, new], dim=1)


@crude
class joins_along_the_features(_Cache):
    """all_k grows wider than d_head, or append raises where two pieces differ in length: the pieces are
    joined along the last axis. Tokens lie along the one before it.
    """

    def _join(self, old, new):
        return new if old is None else torch.cat([old, new], dim=-1)


class puts_new_tokens_in_front(_Cache):
    """The newest token comes first in all_k and all_v. Step by step the outputs are right, since attention
    to everything does not mind the order; in a longer piece the mask then hides the wrong tokens. Check
    the order inside the join.
    """

    def _join(self, old, new):
        return new if old is None else torch.cat([new, old], dim=-2)


@crude
class returns_only_the_new_tokens(_Cache):
    """append returns what it was given, although the cache holds more: the new queries then meet no key of
    the past. Return what is held after the append.
    """

    def append(self, k, v):
        super().append(k, v)
        return k, v


class returns_what_was_held_before(_Cache):
    """append leaves the new tokens out of its result: it returns the history from before the append. A token
    attends to itself too, so its own key and value belong to the result.
    """

    def append(self, k, v):
        before = (k[:, :, :0], v[:, :, :0]) if self.keys is None else (self.keys, self.values)
        super().append(k, v)
        return before


class returns_only_the_keys(_Cache):
    """append returns one tensor where a pair is due, all_k and all_v. Where it is unpacked, its first axis
    is taken for the pair.
    """

    def append(self, k, v):
        return super().append(k, v)[0]


class returns_values_before_keys(_Cache):
    """append returns (all_v, all_k). Scores are then products of queries and values. Check the order of the
    pair.
    """

    def append(self, k, v):
        return super().append(k, v)[::-1]


class keeps_the_keys_twice(_Cache):
    """The second of the pair holds the keys again: values are joined from `k`, or stored under the name of
    the keys. Append a k and a v that differ and look at both results.
    """

    def append(self, k, v):  # noqa: ARG002 - the mistake
        return super().append(k, k)


class joins_values_to_the_old_keys(_Cache):
    """all_v begins with earlier keys: the join of the values starts from the wrong history, or from one that
    the line before has overwritten. The first append is right; look at the second.
    """

    def append(self, k, v):
        old = self.keys
        self.keys, self.values = self._join(old, k), self._join(old, v)
        return self.keys, self.values


class appends_every_piece_twice(_Cache):
    """Each token is held twice, len(cache) grows by two a token, and a mask of T_new rows and past + T_new
    columns no longer fits the scores. Count the joins in one step.
    """

    def _join(self, old, new):
        return torch.cat([new, new] if old is None else [old, new, new], dim=-2)


class keeps_a_window_of_tokens(_Cache):
    """Only the last few tokens are held: older ones fall out of the cache, and later tokens no longer attend
    to them. Nothing in the statement bounds the history.
    """

    def _join(self, old, new):
        return super()._join(old, new)[..., -4:, :]


@subtle
class keeps_at_most_1024_tokens(_Cache):
    """Past 1024 tokens the oldest fall out of the cache, or the new ones find no place: the buffer has a
    fixed size. Let it grow with what it is given.
    """

    def _join(self, old, new):
        return super()._join(old, new)[..., -1024:, :]


class keeps_one_sequence_of_the_batch(_Cache):
    """The whole batch attends to the history of its first sequence: the cache keeps k[:1] and v[:1]. It is
    right for a batch of one. Check which axes are indexed on the way into the cache.
    """

    def _join(self, old, new):
        return super()._join(old, new[:1])


@subtle
class keeps_the_history_in_float32(_Cache):
    """float64 keys come back as float32, with half of their digits gone: the cache has a dtype of its own.
    Keep the tensors in the dtype they come in.
    """

    def _join(self, old, new):
        return super()._join(old, new.float())


@subtle
class keeps_the_history_in_float64(_Cache):
    """float32 keys come back as float64, and the outputs with them: the cache has a dtype of its own, and
    takes twice the memory. Keep the tensors in the dtype they come in.
    """

    def _join(self, old, new):
        return super()._join(old, new.double())


@subtle
class keeps_the_history_on_the_cpu(_Cache):
    """The results are right on the CPU, and on a GPU the step raises: the cache starts from an empty tensor,
    or from a buffer, that was made on the CPU. Take device and dtype from the first keys.
    """

    def _join(self, old, new):
        start = torch.zeros(*new.shape[:2], 0, new.shape[3], dtype=new.dtype)
        return torch.cat([start if old is None else old, new], dim=-2)


class counts_the_batch(_Cache):
    """len(cache) is the number of sequences: len() of a tensor [B, H, T, d_head] is B. Tokens lie along
    axis -2.
    """

    def __len__(self):
        return 0 if self.keys is None else len(self.keys)


class counts_the_heads(_Cache):
    """len(cache) is the number of heads: it is read from axis 1, which is H in [B, H, T, d_head]. Tokens lie
    along axis -2.
    """

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[1]


class counts_the_features(_Cache):
    """len(cache) is d_head: it is read from the last axis. Tokens lie along the one before it."""

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[-1]


class counts_the_appends(_Cache):
    """len(cache) is the number of pieces: every append counts one, however many tokens it brings. It agrees
    as long as tokens come one at a time. Check it after a prompt of three.
    """

    def __init__(self):
        super().__init__()
        self.appends = 0

    def __len__(self):
        return self.appends

    def append(self, k, v):
        self.appends += 1
        return super().append(k, v)


class counts_the_last_piece(_Cache):
    """len(cache) is the length of the newest piece: it is set at every append, where it should grow."""

    def __init__(self):
        super().__init__()
        self.newest = 0

    def __len__(self):
        return self.newest

    def append(self, k, v):
        self.newest = k.shape[-2]
        return super().append(k, v)


class counts_every_token_of_the_batch(_Cache):
    """len(cache) is too large by a factor of B: the tokens of all sequences are added up. It is the length
    of the history, which is the same for every sequence of the batch.
    """

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[0] * self.keys.shape[-2]


class starts_with_a_token_of_zeros(_Cache):
    """A new cache already holds one token, all zeros: a score of 0 is a score like any other, so it takes
    its share of the attention. An empty history has length 0 along the tokens.
    """

    def __len__(self):
        return 1 if self.keys is None else self.keys.shape[-2]

    def _join(self, old, new):
        return torch.cat([torch.zeros_like(new[:, :, :1]) if old is None else old, new], dim=-2)


def aligns_the_mask_top_left(x, w_qkv, w_out, num_heads, cache):
    """With a history, new tokens see only the oldest keys and not themselves: the triangle starts in the
    upper left corner of the T_new x T scores, as if the first query were token 0. It is the token at
    position len(cache) before the append.
    """

    def visible(past, new, device):
        return torch.ones(new, past + new, dtype=torch.bool, device=device).tril()

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def masks_nothing(x, w_qkv, w_out, num_heads, cache):
    """Tokens see later tokens of their own piece: no mask hides them. One token at a time needs none, since
    nothing later is in the cache yet; a prompt of several tokens does.
    """

    def visible(past, new, device):
        return torch.ones(new, past + new, dtype=torch.bool, device=device)

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def masks_the_first_piece_only(x, w_qkv, w_out, num_heads, cache):
    """The first piece is right, and in a later piece of several tokens each sees the ones after it: the mask
    is built only while the cache is empty. Whether a mask is needed depends on T_new, not on the history.
    """

    def visible(past, new, device):
        full = torch.ones(new, past + new, dtype=torch.bool, device=device)
        return full if past else full.tril()

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


@crude
def hides_the_past(x, w_qkv, w_out, num_heads, cache):
    """New tokens attend to their own piece alone: the mask hides everything older, or the scores are taken
    with the new keys and not with what append returns. Tokens in the cache are visible to every new one.
    """

    def visible(past, new, device):
        return _visible(past, new, device) & (torch.arange(past + new, device=device) >= past)

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def shows_the_next_token(x, w_qkv, w_out, num_heads, cache):
    """Every token but the last of its piece sees one token too many, its successor: the diagonal of the mask
    is off by one. Check the first row for an empty cache: it should show one key.
    """

    def visible(past, new, device):
        return torch.ones(new, past + new, dtype=torch.bool, device=device).tril(past + 1)

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def hides_each_token_from_itself(x, w_qkv, w_out, num_heads, cache):
    """The very first output is NaN, later ones ignore their own token: the mask hides the diagonal too, and
    the first token is left with nothing to attend to. A token attends to itself.
    """

    def visible(past, new, device):
        return torch.ones(new, past + new, dtype=torch.bool, device=device).tril(past - 1)

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def masks_after_the_softmax(x, w_qkv, w_out, num_heads, cache):
    """Rows with a hidden token have weights that sum to less than one: the mask is applied to the weights,
    when the hidden tokens have taken their share already. It belongs before the softmax.
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    weights = (q @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return _merge(weights.masked_fill(~_visible(past, new, x.device), 0.0) @ all_v) @ w_out


def gives_hidden_tokens_a_score_of_zero(x, w_qkv, w_out, num_heads, cache):
    """Hidden tokens keep some weight: their scores are set to 0, by multiplication with the mask or by a
    fill, and exp(0) = 1. What score gives the weight 0?
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    scores = q @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return _merge((scores * _visible(past, new, x.device)).softmax(dim=-1) @ all_v) @ w_out


@subtle
def leaves_the_mask_on_the_cpu(x, w_qkv, w_out, num_heads, cache):
    """The results are right on the CPU, and on a GPU the step raises: the mask is made without a device.
    Take the device from `x` or from the scores.
    """

    def visible(past, new, device):  # noqa: ARG001 - the mistake
        return _visible(past, new, "cpu")

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


def divides_by_the_root_of_d_model(x, w_qkv, w_out, num_heads, cache):
    """With several heads the weights are too even: scores are divided by sqrt(d_model). A score is a dot
    product of d_head numbers; with one head the two agree.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, divisor=math.sqrt(x.shape[-1]))


def divides_by_d_head(x, w_qkv, w_out, num_heads, cache):
    """The weights are too even: scores are divided by d_head and not by its root."""
    return _attend(x, w_qkv, w_out, num_heads, cache, divisor=x.shape[-1] // num_heads)


def divides_by_the_root_of_the_length(x, w_qkv, w_out, num_heads, cache):
    """The weights become more even as the sequence grows: scores are divided by the root of the number of
    keys, where the root of d_head belongs. Check which axis the divisor is read from.
    """
    total = len(cache) + x.shape[1]
    return _attend(x, w_qkv, w_out, num_heads, cache, divisor=math.sqrt(total))


def forgets_to_scale(x, w_qkv, w_out, num_heads, cache):
    """The weights are too sharp for d_head above 1: the scores are not divided by sqrt(d_head)."""
    return _attend(x, w_qkv, w_out, num_heads, cache, divisor=1.0)


@subtle
def scales_the_weights_in_place(x, w_qkv, w_out, num_heads, cache):
    """The caller's w_qkv is smaller after every call: its query columns are divided by sqrt(d_head) in place.
    The first call is right, and each later one scales again. Scale the queries or the scores.
    """
    d_model = x.shape[-1]
    w_qkv[:, :d_model] /= math.sqrt(d_model // num_heads)
    return _attend(x, w_qkv, w_out, num_heads, cache, divisor=1.0)


def reads_the_columns_as_k_q_v(x, w_qkv, w_out, num_heads, cache):
    """Queries and keys have changed places: the first block of columns is read as k. The columns are q,
    then k, then v. The first token's output does not show it, the second's does.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, split=lambda x, w, h: _split(x, w, h, "kqv"))


def reads_the_columns_as_v_k_q(x, w_qkv, w_out, num_heads, cache):
    """Queries and values have changed places: the last block of columns is read as q. The columns are q,
    then k, then v. For a single token, the output should be its v times w_out.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, split=lambda x, w, h: _split(x, w, h, "vkq"))


def reads_the_columns_as_q_v_k(x, w_qkv, w_out, num_heads, cache):
    """Keys and values have changed places: the second block of columns is read as v. The columns are q,
    then k, then v. For a single token, the output should be its v times w_out.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, split=lambda x, w, h: _split(x, w, h, "qvk"))


def reads_q_k_and_v_head_by_head(x, w_qkv, w_out, num_heads, cache):
    """With one head the outputs are right, with more they are not: the columns are read as q, k, v of the
    first head, then of the second. All queries come first, then all keys, then all values; cut into
    three, then into heads.
    """

    def split(x, w_qkv, num_heads):
        batch, new, d_model = x.shape
        parts = (x @ w_qkv).view(batch, new, num_heads, 3, d_model // num_heads)
        return parts.permute(3, 0, 2, 1, 4)

    return _attend(x, w_qkv, w_out, num_heads, cache, split=split)


def deals_columns_to_heads_in_turn(x, w_qkv, w_out, num_heads, cache):
    """With several heads of several columns the outputs are wrong: columns go to the heads in turn, so head
    h owns every H-th one. Each head owns a block of neighbours; check the order of H and d_head in the
    view.
    """

    def split(x, w_qkv, num_heads):
        batch, new, d_model = x.shape
        parts = (x @ w_qkv).view(batch, new, 3, d_model // num_heads, num_heads)
        return parts.permute(2, 0, 4, 1, 3)

    return _attend(x, w_qkv, w_out, num_heads, cache, split=split)


def cuts_heads_across_tokens(x, w_qkv, w_out, num_heads, cache):
    """Tokens of one piece mix before the attention: [B, T_new, d_model] is viewed as [B, H, T_new, d_head],
    which cuts the numbers in reading order. It agrees for one token or one head. View with the head axis
    beside d_head, then move it.
    """

    def split(x, w_qkv, num_heads):
        batch, new, d_model = x.shape
        thirds = (x @ w_qkv).split(d_model, dim=-1)
        return [part.reshape(batch, num_heads, new, d_model // num_heads) for part in thirds]

    return _attend(x, w_qkv, w_out, num_heads, cache, split=split)


def merges_heads_across_tokens(x, w_qkv, w_out, num_heads, cache):
    """Outputs of different tokens mix: [B, H, T_new, d_head] is reshaped to [B, T_new, d_model] as it
    stands. It agrees for one token or one head. The head axis must move beside d_head first.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, merge=lambda mixed: mixed.reshape(x.shape))


def merges_features_before_heads(x, w_qkv, w_out, num_heads, cache):
    """With several heads of several columns the outputs are wrong: the heads are joined with d_head outside
    and H inside, so that columns of different heads alternate. Head h fills the h-th block.
    """

    def merge(mixed):
        return mixed.permute(0, 2, 3, 1).flatten(2)

    return _attend(x, w_qkv, w_out, num_heads, cache, merge=merge)


def averages_the_heads(x, w_qkv, w_out, num_heads, cache):
    """All heads give the same columns: their outputs are averaged, where each should keep its own block of
    d_head columns. Check the shape before w_out.
    """

    def merge(mixed):
        return mixed.mean(dim=1).repeat(1, 1, num_heads)

    return _attend(x, w_qkv, w_out, num_heads, cache, merge=merge)


def uses_one_head(x, w_qkv, w_out, num_heads, cache):
    """num_heads has no effect on the outputs: all d_model columns form one score. Each head has its own
    weights, from its own columns.
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = (_merge(held) for held in cache.append(k, v))
    scores = _merge(q) @ all_k.transpose(-2, -1) / math.sqrt(x.shape[-1])
    hidden = ~_visible(past, new, x.device)
    return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ all_v @ w_out


@crude
def takes_the_softmax_over_the_queries(x, w_qkv, w_out, num_heads, cache):
    """With one new token every weight is 1: the softmax runs along the queries. The weights of one query sum
    to one over the keys, the last axis of the scores.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, axis=-2)


@crude
def takes_the_softmax_over_the_heads(x, w_qkv, w_out, num_heads, cache):
    """With one head every weight is 1, hidden ones are NaN: the softmax runs along the heads. The weights of
    one query sum to one over the keys, the last axis of the scores.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache, axis=1)


def _attend_by(x, w_qkv, w_out, num_heads, cache, weigh):
    """Right attention, with the weights that `weigh` makes of scores and of what is hidden."""
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    scores = q @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return _merge(weigh(scores, ~_visible(past, new, x.device)) @ all_v) @ w_out


@subtle
def overflows_on_large_scores(x, w_qkv, w_out, num_heads, cache):
    """Right for moderate scores; large ones give NaN: exp overflows, and inf / inf is NaN. Take the softmax
    in its stable form, with each row's largest score moved to 0.
    """

    def weigh(scores, hidden):
        powers = scores.exp().masked_fill(hidden, 0.0)
        return powers / powers.sum(dim=-1, keepdim=True)

    return _attend_by(x, w_qkv, w_out, num_heads, cache, weigh)


@subtle
def renormalises_after_the_softmax(x, w_qkv, w_out, num_heads, cache):
    """Right for moderate scores; where a later token of the piece has a much larger score than all visible
    ones, the result is NaN: the softmax ran over all keys, and what was left was divided by its sum, which
    is 0. Hide in the scores, before the softmax.
    """

    def weigh(scores, hidden):
        weights = scores.softmax(dim=-1).masked_fill(hidden, 0.0)
        return weights / weights.sum(dim=-1, keepdim=True)

    return _attend_by(x, w_qkv, w_out, num_heads, cache, weigh)


@subtle
def clips_the_scores(x, w_qkv, w_out, num_heads, cache):
    """Right for moderate scores; large ones are cut at 50, to keep exp from overflowing, and share the weight
    where the largest should have it all. Leave the scores as they are; the softmax does not overflow.
    """

    def weigh(scores, hidden):
        return scores.clamp(-50, 50).masked_fill(hidden, float("-inf")).softmax(dim=-1)

    return _attend_by(x, w_qkv, w_out, num_heads, cache, weigh)


@subtle
def hides_with_a_small_penalty(x, w_qkv, w_out, num_heads, cache):
    """Right for moderate scores; a later token gets weight where its score is by far larger than the visible
    ones: hidden scores were lowered by 10,000, which is not enough. Use -inf.
    """

    def weigh(scores, hidden):
        return (scores - 10_000 * hidden.to(scores.dtype)).softmax(dim=-1)

    return _attend_by(x, w_qkv, w_out, num_heads, cache, weigh)


@crude
def takes_no_softmax(x, w_qkv, w_out, num_heads, cache):
    """The outputs grow with the scores: values are mixed by the scores themselves. Weights come from a
    softmax over the keys.
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    scores = q @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return _merge(scores.masked_fill(~_visible(past, new, x.device), 0.0) @ all_v) @ w_out


def forgets_w_out(x, w_qkv, w_out, num_heads, cache):
    """The output is the joined heads: the last product, with w_out, is missing."""
    return _attend(x, w_qkv, torch.ones_like(w_out).diag().diag(), num_heads, cache)


def multiplies_by_the_transpose_of_w_out(x, w_qkv, w_out, num_heads, cache):
    """The output is multiplied by the transpose of w_out, as nn.Linear does with its own weight. Here
    vectors are rows, and w_out is [d_model in, d_model out]; being square, it fits either way.
    """
    return _attend(x, w_qkv, w_out.T, num_heads, cache)


def adds_the_input_to_the_output(x, w_qkv, w_out, num_heads, cache):
    """The output is off by `x`: a residual connection is built in. That belongs to the block around the
    attention.
    """
    return x + _attend(x, w_qkv, w_out, num_heads, cache)


def attends_before_the_append(x, w_qkv, w_out, num_heads, cache):
    """New tokens see only what was cached before them, and not themselves; the first of all sees nothing.
    The new keys and values go into the cache before the scores are taken.
    """
    q, k, v = _split(x, w_qkv, num_heads)
    past_k, past_v = cache.append(k[:, :, :0], v[:, :, :0])
    cache.append(k, v)
    scores = q @ past_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return _merge(scores.softmax(dim=-1) @ past_v) @ w_out


def appends_once_a_head(x, w_qkv, w_out, num_heads, cache):
    """With several heads len(cache) grows H times too fast: append is called once a head, with all heads each
    time. One step is one append, of all heads together.
    """
    output = _attend(x, w_qkv, w_out, num_heads, cache)
    _, k, v = _split(x, w_qkv, num_heads)
    for _ in range(num_heads - 1):
        cache.append(k, v)
    return output


@crude
def never_fills_the_cache(x, w_qkv, w_out, num_heads, cache):  # noqa: ARG001 - the mistake
    """len(cache) stays 0, and later pieces see none before them: nothing is appended to the cache that is
    passed in. Every call must leave its tokens there.
    """
    return _attend(x, w_qkv, w_out, num_heads, _Cache())


def starts_over_with_every_longer_piece(x, w_qkv, w_out, num_heads, cache):
    """A piece of several tokens after the first forgets the history: T_new above 1 is taken for a new prompt.
    A piece of any length continues the sequence that is in the cache.
    """
    if x.shape[1] == 1:
        return _attend(x, w_qkv, w_out, num_heads, cache)
    _, k, v = _split(x, w_qkv, num_heads)
    cache.append(k, v)
    return _attend(x, w_qkv, w_out, num_heads, _Cache())


def returns_the_last_token_only(x, w_qkv, w_out, num_heads, cache):
    """The output has one token, however many came in: only the last query is used. A piece of T_new tokens
    gives T_new outputs.
    """
    return _attend(x, w_qkv, w_out, num_heads, cache)[:, -1:]


def returns_all_tokens_so_far(x, w_qkv, w_out, num_heads, cache):
    """The output grows with the history: outputs of earlier tokens are computed and returned again. They were
    returned when those tokens came; a step gives the new ones.
    """
    earlier = getattr(cache, "earlier", x[:, :0])
    cache.earlier = torch.cat([earlier, x], dim=1)
    _, k, v = _split(x, w_qkv, num_heads)
    cache.append(k, v)
    return _attend(cache.earlier, w_qkv, w_out, num_heads, _Cache())


@subtle
def projects_the_history_again(x, w_qkv, w_out, num_heads, cache):
    """The outputs are right, but each step costs more than the one before by two whole projections a token:
    the inputs are kept, and keys and values of all tokens are computed from them at every step. Keep the
    keys and values.
    """
    cache.inputs = torch.cat([getattr(cache, "inputs", x[:, :0]), x], dim=1)
    past, new = len(cache), x.shape[1]
    q, k, v = _split(cache.inputs, w_qkv, num_heads)
    cache.append(k[:, :, past:], v[:, :, past:])
    scores = q[:, :, past:] @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = ~_visible(past, new, x.device)
    return _merge(scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ v) @ w_out


@subtle
def scores_every_query_again(x, w_qkv, w_out, num_heads, cache):
    """The outputs are right, but the work of a step grows with the square of the length: queries are kept
    besides keys and values, all T x T scores are taken, and all rows but the last are thrown away. Only
    the new tokens' queries are needed.
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    cache.queries = torch.cat([getattr(cache, "queries", q[:, :, :0]), q], dim=2)
    all_k, all_v = cache.append(k, v)
    scores = cache.queries @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = ~_visible(0, past + new, x.device)
    mixed = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ all_v
    return _merge(mixed[:, :, past:]) @ w_out


@subtle
def builds_a_square_mask(x, w_qkv, w_out, num_heads, cache):
    """The outputs are right, and each step makes a mask of all tokens against all to use its last rows: with
    4000 tokens in the cache, 16 million entries a token. Make the rows of the new tokens alone.
    """

    def visible(past, new, device):
        return torch.ones(past + new, past + new, dtype=torch.bool, device=device).tril()[past:]

    return _attend(x, w_qkv, w_out, num_heads, cache, visible=visible)


@subtle
def subtracts_one_maximum_for_all(x, w_qkv, w_out, num_heads, cache):
    """Small scores come out right, and where the scores of heads or queries lie far apart some outputs are
    NaN: one maximum is subtracted from all of them, and exp of the others is 0. Each query of each head needs
    a maximum of its own.
    """
    past, new = len(cache), x.shape[1]
    q, k, v = _split(x, w_qkv, num_heads)
    all_k, all_v = cache.append(k, v)
    scores = q @ all_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~_visible(past, new, x.device), float("-inf"))
    powers = (scores - scores.amax(dim=(1, 2, 3), keepdim=True)).exp()
    return _merge(powers / powers.sum(dim=-1, keepdim=True) @ all_v) @ w_out
