"""What goes wrong in rolling_kv_cache: one class or function a mistake, its docstring what the student is
told.
"""

import math

import torch

from grader.mistakes import crude, subtle


class _Cache:
    """The right cache; mistakes override a part of it."""

    def __init__(self, window):
        self.check(window)
        self.window, self.length = window, 0
        self.keys = self.values = None

    def check(self, window):
        if window < 1:
            raise ValueError("window")

    def __len__(self):
        return self.length

    def join(self, old, new):
        return new if old is None else torch.cat([old, new], dim=2)

    def kept(self, joined):
        return joined[:, :, -self.window :].clone()

    def positions(self, columns, device):
        return torch.arange(self.length - columns, self.length, device=device)

    def append(self, k, v):
        keys, values = self.join(self.keys, k), self.join(self.values, v)
        self.length += k.shape[2]
        self.keys, self.values = self.kept(keys), self.kept(values)
        return keys, values, self.positions(keys.shape[2], k.device)


def _seen(own, at, window):
    return (at <= own) & (at > own - window)


def _hide(scores, seen):
    return scores.masked_fill(~seen, -torch.inf)


def _softmax(scores):
    return scores.softmax(-1)


def _attend(q, k, v, cache, *, first=None, seen=_seen, hide=_hide, softmax=_softmax, divisor=None):
    """Right attention, but for the part that is given."""
    own = (len(cache) if first is None else first) + torch.arange(q.shape[2], device=q.device)[:, None]
    keys, values, at = cache.append(k, v)
    scores = q @ keys.mT / (divisor or math.sqrt(q.shape[-1]))
    return softmax(hide(scores, seen(own, at, cache.window))) @ values


@crude
class forgets_the_past(_Cache):
    """append returns the new tokens alone: what is held is not joined to them."""

    def join(self, old, new):  # noqa: ARG002 - the mistake
        return new


class forgets_before_the_piece_is_seen(_Cache):
    """One-token steps are right. In a piece of several tokens the early ones find their keys gone: the cache
    is cut to the last `window` tokens before it is returned. Return first, then forget.
    """

    def append(self, k, v):
        super().append(k, v)
        return self.keys, self.values, self.positions(self.keys.shape[2], k.device)


class overwrites_the_ring_by_a_long_piece(_Cache):
    """Right for pieces up to the window. A longer piece is written into a ring, where its last tokens take
    the place of its first ones, before those are read.
    """

    def append(self, k, v):
        keys, values, at = super().append(k, v)
        return (
            (keys, values, at) if k.shape[2] <= self.window else (self.keys, self.values, at[-self.window :])
        )


@crude
class keeps_the_first_tokens(_Cache):
    """When the window is full, nothing new is kept: the cut keeps the oldest tokens. Check which end of the
    token axis stays.
    """

    def kept(self, joined):
        return joined[:, :, : self.window].clone()

    def append(self, k, v):
        before = self.length
        held = 0 if self.keys is None else self.keys.shape[2]
        keys, values, _ = super().append(k, v)
        new = torch.arange(before, self.length, device=k.device)
        return keys, values, torch.cat([torch.arange(held, device=k.device), new])


class keeps_one_token_too_few(_Cache):
    """A query sees window - 1 tokens where it should see `window`: one token too few is kept. At least the
    last window - 1 must be left when the next token comes.
    """

    def kept(self, joined):
        return joined[:, :, max(0, joined.shape[2] - max(0, self.window - 2)) :].clone()


class forgets_all_when_the_window_is_full(_Cache):
    """After `window` tokens the next one sees itself alone: the cache is emptied when it is full. Only the
    oldest token leaves.
    """

    def kept(self, joined):
        return joined[:, :, joined.shape[2] // self.window * self.window :].clone()


@crude
class numbers_the_columns_anew(_Cache):
    """positions begins with 0 in every append: the columns are numbered by their place in the result. They
    name the place in the sequence. Right until the first token is forgotten.
    """

    def positions(self, columns, device):
        return torch.arange(columns, device=device)


class numbers_the_ring_by_slots(_Cache):
    """Positions are right up to the window and then start anew: they are slots, the position modulo the
    window. Keep the position itself.
    """

    def positions(self, columns, device):
        return super().positions(columns, device) % self.window


class numbers_from_one(_Cache):
    """Every position is too large by one: the first token of the sequence has position 0."""

    def positions(self, columns, device):
        return super().positions(columns, device) + 1


class turns_the_positions_round(_Cache):
    """The positions are right as a set, and belong to other columns: the columns are in one order and the
    positions in another.
    """

    def positions(self, columns, device):
        return super().positions(columns, device).flip(0)


class counts_what_is_held(_Cache):
    """len(cache) stops growing at the window: it is the number of tokens held. It is the number of tokens
    ever appended, from which the next positions follow.
    """

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[2]


class counts_the_appends(_Cache):
    """len(cache) grows by one for each append, however many tokens it brings."""

    def __init__(self, window):
        super().__init__(window)
        self.appends = 0

    def __len__(self):
        return self.appends

    def append(self, k, v):
        self.appends += 1
        return super().append(k, v)


class returns_values_before_keys(_Cache):
    """append returns values, keys, positions. Keys come first."""

    def append(self, k, v):
        keys, values, at = super().append(k, v)
        return values, keys, at


class returns_no_positions(_Cache):
    """append returns keys and values alone. Where columns are forgotten, a caller needs their positions."""

    def append(self, k, v):
        return super().append(k, v)[:2]


class keeps_one_sequence_of_the_batch(_Cache):
    """The whole batch attends to the history of its first sequence: k[:1] is kept."""

    def kept(self, joined):
        return super().kept(joined)[:1].expand_as(super().kept(joined)).clone()


@subtle
class shares_one_history(_Cache):
    """A cache is right alone, and two side by side mix: the history belongs to the class and not to the
    object.
    """

    history = {}  # noqa: RUF012 - the mistake

    def __init__(self, window):
        super().__init__(window)
        self.history.clear()

    def append(self, k, v):
        self.keys, self.values = self.history.get("kept", (None, None))
        if self.keys is not None and self.keys.shape[:2] != k.shape[:2]:
            self.keys = self.values = None
        result = super().append(k, v)
        self.history["kept"] = self.keys, self.values
        return result


@subtle
class keeps_every_token(_Cache):
    """The results are right, and memory grows with every token: older ones are hidden and not forgotten, or
    what is kept is a view, which keeps all of the memory behind it alive.
    """

    def kept(self, joined):
        return joined

    def append(self, k, v):
        keys, values, at = super().append(k, v)
        last = self.window + k.shape[2] - 1
        return keys[:, :, -last:], values[:, :, -last:], at[-last:]


@subtle
class keeps_every_token_for_a_window_of_one(_Cache):
    """Right but for a window of 1, where memory grows and all tokens are returned: window - 1 tokens are kept
    by a slice from 1 - window on, and from 0 on it takes all. Check what is kept where it should be nothing.
    """

    def kept(self, joined):
        return joined[:, :, 1 - self.window :].clone()


@subtle
class keeps_every_token_and_returns_the_last(_Cache):
    """The results and each step's tensors are right, and the cache holds every token that it was given: a
    list of pieces is never shortened.
    """

    def append(self, k, v):
        self.pieces = [*getattr(self, "pieces", []), (k.clone(), v.clone())]
        return super().append(k, v)


@subtle
class returns_more_than_it_may(_Cache):
    """append returns more columns than window + T_new: older tokens are kept longer than needed."""

    def kept(self, joined):
        return joined[:, :, -2 * self.window - 1 :].clone()


@subtle
class keeps_the_history_in_float32(_Cache):
    """float64 keys come back as float32, with half of their digits gone."""

    def append(self, k, v):
        keys, values, at = super().append(k.float(), v.float())
        return keys.to(k.dtype), values.to(v.dtype), at


@subtle
class keeps_the_history_in_float64(_Cache):
    """float32 keys come back as float64: the cache has a dtype of its own."""

    def append(self, k, v):
        return super().append(k.double(), v.double())


@subtle
class counts_positions_in_int32(_Cache):
    """positions is no int64: its dtype is another."""

    def positions(self, columns, device):
        return super().positions(columns, device).int()


@subtle
class makes_positions_on_the_cpu(_Cache):
    """Right on the CPU; on a GPU positions and masks meet on two devices: arange without device=k.device."""

    def positions(self, columns, device):  # noqa: ARG002 - the mistake
        return super().positions(columns, "cpu")


@subtle
class accepts_an_empty_window(_Cache):
    """window=0 raises no ValueError: such a cache would forget each token before it is seen."""

    def check(self, window):
        pass


@crude
def masks_nothing(q, k, v, cache):
    """Queries see all columns that append returns, later tokens of their piece and forgotten ones among them:
    there is no mask.
    """
    return _attend(q, k, v, cache, hide=lambda scores, _: scores)


def forgets_the_window(q, k, v, cache):
    """Queries see tokens that lie before their window: only later ones are hidden. What append returns may
    hold more than a query may see.
    """
    return _attend(q, k, v, cache, seen=lambda own, at, _: at <= own)


def sees_later_tokens(q, k, v, cache):
    """Queries see later tokens of their own piece: only those before the window are hidden. One-token steps
    are right.
    """
    return _attend(q, k, v, cache, seen=lambda own, at, window: at > own - window)


def sees_one_token_too_many(q, k, v, cache):
    """Queries see window + 1 tokens where the columns allow it: p - window <= j is one too many."""
    return _attend(q, k, v, cache, seen=lambda own, at, window: _seen(own, at, window + 1))


def sees_one_token_too_few(q, k, v, cache):
    """Queries see window - 1 tokens, and with window 1 nothing at all: the own token counts among the
    `window`.
    """
    return _attend(q, k, v, cache, seen=lambda own, at, window: _seen(own, at, window - 1))


def hides_the_own_token(q, k, v, cache):
    """The very first output is NaN, and later ones ignore their own token: the comparison hides it."""
    return _attend(q, k, v, cache, seen=lambda own, at, window: (at < own) & (at > own - window))


def takes_columns_for_positions(q, k, v, cache):
    """Right until the first token is forgotten: the mask compares the numbers of columns with the positions
    of queries. positions says where a column stands.
    """

    def seen(own, at, window):
        return _seen(own, torch.arange(len(at), device=at.device), window)

    return _attend(q, k, v, cache, seen=seen)


def starts_every_piece_at_zero(q, k, v, cache):
    """The first piece is right, and later ones see nothing of the past or nothing at all: the queries are
    numbered from 0 in every piece.
    """
    return _attend(q, k, v, cache, first=0)


def asks_the_length_after_the_append(q, k, v, cache):
    """Queries see later tokens and miss old ones: the position of the first query is taken from len(cache)
    after the append.
    """
    return _attend(q, k, v, cache, first=len(cache) + q.shape[2])


def attends_to_the_piece_alone(q, k, v, cache):
    """Each piece attends to itself alone: the scores are made with k, and not with what append returns."""
    at = torch.arange(q.shape[2], device=q.device)
    cache.append(k, v)
    scores = _hide(q @ k.mT / math.sqrt(q.shape[-1]), _seen(at[:, None], at, cache.window))
    return scores.softmax(-1) @ v


def forgets_the_scale(q, k, v, cache):
    """The weights are too uneven: scores are not divided by sqrt(d_head). Right for d_head = 1."""
    return _attend(q, k, v, cache, divisor=1)


def scales_by_the_width_of_the_values(q, k, v, cache):
    """Right where d_v equals d_head: the scale is taken from the values."""
    return _attend(q, k, v, cache, divisor=math.sqrt(v.shape[-1]))


@crude
def takes_no_softmax(q, k, v, cache):
    """The scores are used as weights: the softmax is missing."""
    return _attend(q, k, v, cache, softmax=lambda scores: scores.masked_fill(scores.isinf(), 0))


@crude
def takes_the_softmax_over_the_queries(q, k, v, cache):
    """The weights of a query do not sum to 1: the softmax runs over axis -2."""
    return _attend(q, k, v, cache, softmax=lambda scores: scores.softmax(-2).nan_to_num())


def hides_after_the_softmax(q, k, v, cache):
    """Results are too small where something is hidden: weights are set to zero after the softmax, and no
    longer sum to 1.
    """
    return _attend(
        q, k, v, cache, hide=lambda scores, seen: scores.softmax(-1) * seen, softmax=lambda weights: weights
    )


@subtle
def overflows_on_large_scores(q, k, v, cache):
    """NaN for scores of a hundred and more: exp is taken of scores as they are."""

    def softmax(scores):
        powers = scores.exp()
        return powers / powers.sum(-1, keepdim=True)

    return _attend(q, k, v, cache, softmax=softmax)


@subtle
def clips_the_scores(q, k, v, cache):
    """Large scores are too alike: they are cut to a range before the softmax."""
    return _attend(q, k, v, cache, softmax=lambda scores: scores.clamp(max=80).softmax(-1))


@subtle
def hides_with_a_small_penalty(q, k, v, cache):
    """Hidden tokens are seen where scores are in the hundreds: the number that hides them is too small."""
    return _attend(q, k, v, cache, hide=lambda scores, seen: scores - 100.0 * ~seen)


@subtle
def scales_q_in_place(q, k, v, cache):
    """The caller's q is smaller after the call: the scale is multiplied into it in place."""
    q /= math.sqrt(q.shape[-1])
    return _attend(q, k, v, cache, divisor=1)


@subtle
class writes_a_long_piece_from_the_first_slot(_Cache):
    """Right until a piece is longer than the window; two steps later a token that is expected is missing. The
    ring took the piece from its first slot on, and a step goes to the slot of its position, where a young
    token may stand now. One rule must name the slot in both cases.
    """

    def append(self, k, v):
        slots, window = vars(self).setdefault("slots", {}), self.window
        new = list(range(self.length, self.length + k.shape[2]))
        places = [*[slots[slot] for slot in sorted(slots)], *new]
        keys, values = self.join(self.keys, k), self.join(self.values, v)
        for slot, place in enumerate(new[-window:]):
            slots[slot if len(new) > window else place % window] = place
        columns = [places.index(slots[slot]) for slot in sorted(slots)]
        self.length += len(new)
        self.keys, self.values = keys[:, :, columns], values[:, :, columns]
        return keys, values, torch.tensor(places, device=k.device)
