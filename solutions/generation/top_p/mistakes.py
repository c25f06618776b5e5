"""What goes wrong in top_p: one function a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle


def _require_mass(p):
    if p <= 0:
        raise ValueError(f"p={p} must be above 0")


def _ordered(logits, dim=-1):
    """Tokens from the most likely down: their places, probabilities, and the mass before each."""
    ordered, order = logits.sort(dim=dim, descending=True)
    probabilities = ordered.softmax(dim=dim)
    return order, probabilities, probabilities.cumsum(dim=dim) - probabilities


def _filter(logits, kept_in_order, order):
    kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)
    return logits.masked_fill(~kept, float("-inf"))


def _keep(logits, p, rule, whole=True):
    """The right filter, but for the rule that keeps: from the mass before, the probabilities and p."""
    _require_mass(p)
    if p >= 1 and whole:
        return logits.clone()
    order, probabilities, before = _ordered(logits)
    return _filter(logits, rule(before, probabilities, p), order)


def _before_is_less(before, _, p):
    kept = before < p
    kept[..., 0] = True
    return kept


def _right(logits, p):
    return _keep(logits, p, _before_is_less)


def drops_the_crossing_token(logits, p):
    """The tokens that are kept hold less than p: the one that takes the sum past p is dropped, and only the
    first of a row is spared. The nucleus is the smallest set whose mass is at least p, so the crossing
    token belongs to it.
    """

    def rule(before, probabilities, p):
        kept = before + probabilities <= p
        kept[..., 0] = True
        return kept

    return _keep(logits, p, rule)


def leaves_sure_rows_empty(logits, p):
    """A row whose first token holds more than p is all -inf, and the softmax after it NaN: the token that
    takes the sum past p is dropped, in that row the only one. It belongs to the nucleus.
    """
    return _keep(logits, p, lambda before, probabilities, p: before + probabilities <= p)


def keeps_one_token_too_many(logits, p):
    """One token beyond the nucleus is kept: the tokens before it reach p already. The cumulative sum may
    have been shifted twice, or by one place too far. Is the mass before a token below p? Then it is needed.
    """

    def rule(before, probabilities, p):
        kept = _before_is_less(before, probabilities, p)
        return torch.cat([torch.ones_like(kept[..., :1]), kept[..., :-1]], dim=-1)

    return _keep(logits, p, rule)


def keeps_at_least_two_tokens(logits, p):
    """Sure rows keep a second token: at least two are kept whatever p. One token is a nucleus, if it holds
    p by itself.
    """

    def rule(before, _, p):
        kept = before < p
        kept[..., :2] = True
        return kept

    return _keep(logits, p, rule)


@crude
def keeps_the_first_token_only(logits, p):
    """Rows keep one token, their most likely, and never a second: the comparison ends at the first one. Where
    it happens with large logits alone, the sums are NaN, and no comparison with NaN is true. Follow p=0.8
    through the example, then with 10000 added to the logits.
    """

    return _keep(logits, p, lambda before, _, p: before <= 0)  # noqa: ARG005 - the mistake


def leaves_the_logits_sorted(logits, p):
    """The result runs from the largest logit down: the sorted logits are filtered and returned, so token 0
    gets the logit of the most likely one. Each logit must go back to its own place.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered = logits.sort(dim=-1, descending=True).values
    _, _, before = _ordered(logits)
    return ordered.masked_fill(~_before_is_less(before, None, p), float("-inf"))


def leaves_the_verdicts_sorted(logits, p):
    """The wrong tokens are dropped, although their number is right: the verdicts follow the sorted order, the
    logits the order of the vocabulary. A verdict belongs to the token that was sorted to its place.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    _, _, before = _ordered(logits)
    return logits.masked_fill(~_before_is_less(before, None, p), float("-inf"))


def undoes_the_sort_by_sorting_again(logits, p):
    """Two tokens that changed places come out right, three that moved in a circle do not: the verdicts are
    gathered by the order of the sort, which sorts them a second time. The way back is a scatter, or a
    gather by the inverse order.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    order, _, before = _ordered(logits)
    kept = _before_is_less(before, None, p).gather(-1, order)
    return logits.masked_fill(~kept, float("-inf"))


@crude
def sorts_upwards(logits, p):
    """The unlikely tokens are kept: the sum starts at the least likely one. The nucleus is filled from the
    most likely token down; check the direction of the sort.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered, order = logits.sort(dim=-1)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return _filter(logits, _before_is_less(before, probabilities, p), order)


@crude
def adds_up_in_the_order_of_the_vocabulary(logits, p):
    """The first tokens of the vocabulary are kept until they hold p, however unlikely each is: nothing is
    sorted. The sum goes from the most likely token down.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    probabilities = logits.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return logits.masked_fill(before >= p, float("-inf"))


@crude
def compares_each_probability_with_p(logits, p):
    """Unless one token holds more than p, the row keeps nothing or only its first: single probabilities are
    compared with p. The nucleus is about their sum.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    probabilities = logits.softmax(dim=-1)
    top = probabilities.amax(dim=-1, keepdim=True)
    return logits.masked_fill((probabilities < p) & (probabilities < top), float("-inf"))


@crude
def compares_with_a_share_of_the_top(logits, p):
    """What is kept depends on the most likely token alone: each probability is compared with p times the
    largest, which is min-p filtering. The nucleus is filled until the sum reaches p.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    probabilities = logits.softmax(dim=-1)
    return logits.masked_fill(probabilities < p * probabilities.amax(dim=-1, keepdim=True), float("-inf"))


@crude
def compares_with_what_may_be_missing(logits, p):
    """Each token less likely than 1 - p is dropped, even where many small ones together matter: single
    probabilities are compared with the mass that may be left out. The nucleus is about their sum.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    probabilities = logits.softmax(dim=-1)
    top = probabilities.amax(dim=-1, keepdim=True)
    return logits.masked_fill((probabilities < 1 - p) & (probabilities < top), float("-inf"))


@crude
def keeps_a_share_of_the_vocabulary(logits, p):
    """Every row keeps the same number of tokens, p times the vocabulary: p is read as a share of the tokens.
    It is a share of the probability.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    order, _, before = _ordered(logits)
    count = max(1, round(p * logits.shape[-1]))
    return _filter(
        logits, (torch.arange(logits.shape[-1], device=logits.device) < count).expand(before.shape), order
    )


def reads_p_as_the_mass_to_drop(logits, p):
    """A larger p keeps fewer tokens: the nucleus reaches 1 - p. p is the mass that stays."""

    def rule(before, probabilities, p):
        return _before_is_less(before, probabilities, 1 - p)

    return _keep(logits, p, rule)


def drops_every_token_as_likely_as_the_last(logits, p):
    """The least likely token of the nucleus is dropped, with every other that ties with it: the threshold is
    its probability, and the comparison is strict. Compare with >=.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    _, ordered, before = _ordered(logits)
    threshold = ordered.masked_fill(before >= p, 2.0).amin(dim=-1, keepdim=True)
    top = ordered[..., :1]
    probabilities = logits.softmax(dim=-1)
    return logits.masked_fill((probabilities <= threshold) & (probabilities < top), float("-inf"))


def pours_all_rows_together(logits, p):
    """One row keeps many tokens and another none of its own: all rows are flattened into one distribution.
    Each row has a softmax, an order and a nucleus of its own.
    """
    return _right(logits.reshape(-1), p).reshape(logits.shape)


@crude
def normalises_down_the_batch(logits, p):
    """A single row is right, several are not: the softmax runs along the first axis. Probabilities sum to
    one over the vocabulary, the last axis.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered, order = logits.softmax(dim=0).sort(dim=-1, descending=True)
    return _filter(logits, _before_is_less(ordered.cumsum(dim=-1) - ordered, ordered, p), order)


@crude
def sorts_down_the_batch(logits, p):
    """Logits without leading axes are right, batches are not: sort, softmax and sum run along the first axis,
    so rows compete with each other and tokens do not. The vocabulary is the last axis.
    """
    _require_mass(p)
    return _right(logits.transpose(0, -1), p).transpose(0, -1)


def adds_up_across_the_rows(logits, p):
    """The first row is right, later rows keep too little: the cumulative sum goes on from one row to the
    next. It begins anew in each row.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    order, probabilities, _ = _ordered(logits)
    before = probabilities.flatten().cumsum(0).reshape(logits.shape) - probabilities
    return _filter(logits, _before_is_less(before, probabilities, p), order)


def uses_the_nucleus_of_the_first_row(logits, p):
    """All rows keep the same tokens, those of the first: one set of verdicts is applied to the whole batch.
    It is right for one row. Each row has a nucleus of its own.
    """
    first = _right(logits.reshape(-1, logits.shape[-1])[0], p)
    return logits.masked_fill(first.isneginf(), float("-inf"))


def cuts_all_rows_after_the_same_number(logits, p):
    """Sure rows keep as many tokens as the least sure one: the size of the largest nucleus is used for all
    rows. Each row has a size of its own.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    order, _, before = _ordered(logits)
    kept = _before_is_less(before, None, p)
    return _filter(logits, kept.reshape(-1, logits.shape[-1]).any(dim=0).expand(kept.shape), order)


@subtle
def expects_two_axes(logits, p):
    """Logits of one axis or of three raise: their shape is unpacked into batch and vocabulary. Any leading
    axes may come, or none; the last one is the vocabulary.
    """
    _require_mass(p)
    _batch, _vocab = logits.shape
    return _right(logits, p)


@subtle
def filters_the_first_of_the_beams(logits, p):
    """With three axes, only the first of the middle ones is filtered, and the others stay whole: the code
    goes through the first axis and takes what it finds for a row. Rows lie along the last axis, whatever
    comes before.
    """
    if logits.ndim < 3:
        return _right(logits, p)
    result = logits.clone()
    result[:, 0] = _right(logits[:, 0], p)
    return result


@crude
def adds_up_the_logits(logits, p):
    """Adding a number to all logits changes what is kept: the cumulative sum is of logits. They may be
    negative and sum to anything; the mass is a sum of probabilities.
    """

    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered, order = logits.sort(dim=-1, descending=True)
    return _filter(logits, _before_is_less(ordered.cumsum(dim=-1) - ordered, ordered, p), order)


@crude
def forgets_to_normalise(logits, p):
    """Adding a number to all logits changes what is kept: exponentials are added up without division by their
    sum. p is a share of the whole.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered, order = logits.sort(dim=-1, descending=True)
    powers = ordered.exp()
    return _filter(logits, _before_is_less(powers.cumsum(dim=-1) - powers, powers, p), order)


@subtle
def overflows_on_large_logits(logits, p):
    """Logits of large size keep all tokens: exp overflows to inf, or every exponential is 0, sums are NaN,
    and no comparison with NaN is true. Take the softmax in its stable form.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    ordered, order = logits.sort(dim=-1, descending=True)
    powers = ordered.exp()
    probabilities = powers / powers.sum(dim=-1, keepdim=True)
    dropped = probabilities.cumsum(dim=-1) - probabilities >= p
    return _filter(logits, ~dropped, order)


def returns_probabilities(logits, p):
    """The result holds probabilities, with 0 where a token is dropped. It must hold logits: a temperature or
    another filter may follow, and a softmax will.
    """
    return _right(logits, p).softmax(dim=-1)


def returns_log_probabilities(logits, p):
    """Kept logits have changed: they are logarithms of probabilities that sum to one again. The softmax that
    follows shares the mass anyway; leave the logits as they are.
    """
    return _right(logits, p).log_softmax(dim=-1)


def moves_the_largest_logit_to_zero(logits, p):
    """Kept logits have changed: the shift that keeps exp from overflowing is still in them. Shift a copy, and
    return the logits that came in.
    """
    return _right(logits, p) - logits.amax(dim=-1, keepdim=True)


def drops_tokens_to_zero(logits, p):
    """Dropped tokens get the logit 0, which is a logit like any other: exp(0) = 1, and the softmax that
    follows gives them mass. Which logit has the probability 0?
    """
    kept = _right(logits, p)
    return torch.where(kept.isneginf() & ~logits.isneginf(), torch.zeros_like(kept), kept)


def drops_tokens_to_a_large_negative_number(logits, p):
    """Dropped tokens are finite, a large negative number. It wins where real logits lie lower, and cannot be
    told from a logit. The statement asks for -inf.
    """
    kept = _right(logits, p)
    return torch.where(kept.isneginf() & ~logits.isneginf(), torch.full_like(kept, -1e9), kept)


def multiplies_by_the_verdicts(logits, p):
    """Kept logits become NaN: the verdicts are multiplied with -inf and added, and 0 * inf is NaN. Choose
    between the logit and -inf, in place of computing with it.
    """
    dropped = (_right(logits, p).isneginf() & ~logits.isneginf()).to(logits.dtype)
    return logits + dropped * float("-inf")


@subtle
def overwrites_the_logits(logits, p):
    """The caller's logits hold -inf after the call: they are filled in place. Fill a copy."""
    return logits.copy_(_right(logits, p))


@subtle
def cuts_the_tail_at_one(logits, p):
    """p = 1 drops the most unlikely tokens: the rounded sum reaches 1.0 before the tail, whose probabilities
    are too small to count. p of 1 or more keeps everything, and needs no sum.
    """
    return _keep(logits, p, _before_is_less, whole=False)


@subtle
def looks_at_the_first_hundred(logits, p):
    """p = 1 keeps a hundred tokens of a large vocabulary: the candidates were cut before the nucleus was
    sought, to sort fewer of them. The nucleus may be of any size.
    """
    result = _right(logits, p)
    hundredth = result.topk(min(100, logits.shape[-1]), dim=-1).values[..., -1:]
    return result.masked_fill(result < hundredth, float("-inf"))


@subtle
def refuses_p_of_one(logits, p):
    """p = 1 raises: it is taken for out of range. p of 1 or more is a nucleus of all tokens."""
    if p >= 1:
        raise ValueError(f"p={p} must be below 1")
    return _right(logits, p)


@subtle
def refuses_p_above_one(logits, p):
    """p = 1.5 raises, p = 1 does not: values above 1 are taken for out of range. p of 1 or more keeps all
    tokens.
    """
    if p > 1:
        raise ValueError(f"p={p} must be at most 1")
    return _right(logits, p)


@subtle
def accepts_every_p(logits, p):
    """p = 0 is answered with the most likely token, and no error: the check is missing, or lets 0 or negative
    values through. A nucleus without mass is no request that makes sense, and a clear ValueError says so.
    """
    return _right(logits, p if p > 0 else 1e-9)


@subtle
def empties_every_row_at_zero(logits, p):
    """p = 0 gives rows of nothing but -inf, and a softmax after them NaN: the check refuses negative values
    alone, and no token has a mass below 0 before it. 0 is refused too.
    """
    if p == 0:
        return torch.full_like(logits, float("-inf"))
    return _right(logits, p)


@subtle
def clamps_p_into_its_range(logits, p):
    """p <= 0 returns everything: a p out of range is replaced by 1 and not refused. A clear ValueError tells
    the caller.
    """
    return _right(logits, p if p > 0 else 1.0)


@subtle
def builds_the_verdicts_on_the_cpu(logits, p):
    """The results are right on the CPU, and on a GPU the call raises: the tensor that takes the verdicts, or
    the -inf, is made without a device. Take it from `logits`.
    """
    _require_mass(p)
    if p >= 1:
        return logits.clone()
    order, _, before = _ordered(logits)
    kept = torch.zeros(logits.shape, dtype=torch.bool).scatter(-1, order, _before_is_less(before, None, p))
    return logits.masked_fill(~kept, float("-inf"))


@subtle
def looks_at_the_first_thousand(logits, p):
    """Small vocabularies come out right, and with 50,257 tokens the nucleus falls short of p: only the 1,000
    most likely tokens are looked at, to save work. A flat row needs more of them.
    """
    thousand = min(1000, logits.shape[-1])
    least = logits.topk(thousand, dim=-1).values[..., -1:]
    result = _right(logits, p)
    return result if p >= 1 else result.masked_fill(logits < least, float("-inf"))


@subtle
def adds_up_in_float32(logits, p):
    """For float64 logits a nucleus has a token too many or too few where p is close to a sum: the
    probabilities are computed in float32. Compute in the dtype of the logits.
    """
    return logits.masked_fill(_right(logits.float(), p).isneginf(), float("-inf"))


@subtle
def takes_nearly_one_for_one(logits, p):
    """A p such as 0.9995 keeps everything: it is taken for 1, to be safe from rounding. From 1 on everything
    is kept, and below it the tail is cut off.
    """
    return _right(logits, p if p < 0.9995 else 1.0)


_kept = {}


@subtle
def keeps_the_result_for_p_of_one(logits, p):
    """With p of 1 or more each call is right, and overwrites what the call before returned: the logits are
    copied into one tensor, which is kept for all calls with logits of this shape. Return a new copy.
    """
    if p < 1:
        return _right(logits, p)
    kept = _kept.setdefault((logits.shape, logits.dtype), logits.clone())
    return kept.copy_(logits)
