"""What goes wrong in min_p: one function a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle

_SEEN = {}


def _require_share(p):
    if not 0 <= p <= 1:
        raise ValueError("p must lie between 0 and 1")


def _fill(logits, dropped):
    return logits.masked_fill(dropped, float("-inf"))


def _right(logits, p):
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.amax(dim=-1, keepdim=True))


def _dropped(logits, p):
    return _right(logits, p).isneginf() & ~logits.isneginf()


def compares_with_p_itself(logits, p):
    """Rows that are not sure keep too little: probabilities are compared with p. The threshold is p times the
    row's largest probability, and follows it."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    best = probabilities == probabilities.amax(dim=-1, keepdim=True)
    return _fill(logits, (probabilities < p) & ~best)


def leaves_unsure_rows_empty(logits, p):
    """A row whose largest probability is below p is all -inf, and the softmax after it NaN: probabilities are
    compared with p. The threshold is p times the row's largest probability, so the best always stays."""
    _require_share(p)
    return _fill(logits, logits.softmax(dim=-1) < p)


@subtle
def asks_for_more_than_the_threshold(logits, p):
    """p = 1 leaves rows of nothing but -inf: the comparison is strict, and the best is exactly at the
    threshold. A probability that equals it is kept; compare with >=."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, (probabilities <= p * probabilities.amax(dim=-1, keepdim=True)) & (p > 0))


@subtle
def drops_what_ties_with_the_best(logits, p):
    """p = 1 keeps one token a row, or none, where several tie: the comparison is strict and only the first of
    the best is spared. What is as likely as the best is kept as well."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    dropped = (probabilities <= p * probabilities.amax(dim=-1, keepdim=True)) & (p > 0)
    first = torch.zeros_like(dropped).scatter(-1, probabilities.argmax(-1, keepdim=True), True)
    return _fill(logits, dropped & ~first)


@crude
def keeps_a_mass_of_p(logits, p):
    """What is kept depends on all tokens: the most likely ones are added up until they hold p. That is top-p;
    here each token is compared with the best alone."""
    _require_share(p)
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    dropped = (ordered.cumsum(dim=-1) - ordered >= p) & (0 < p < 1)
    dropped[..., 0] = False
    return _fill(logits, torch.zeros_like(dropped).scatter(-1, order, dropped))


@crude
def compares_with_the_mean(logits, p):
    """What is kept depends on the size of the vocabulary: the threshold is p times the mean probability. It
    is p times the largest."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.mean(dim=-1, keepdim=True))


@crude
def compares_logits(logits, p):
    """Adding a number to all logits changes what is kept: the logits are compared with p times the largest
    logit. A share makes sense of probabilities alone, and logits may be negative."""
    _require_share(p)
    return _fill(logits, (logits < p * logits.amax(dim=-1, keepdim=True)) & (logits < logits.amax(-1, True)))


@crude
def takes_p_for_a_distance(logits, p):
    """Nearly everything is dropped: a logit is kept if it lies at most p below the largest. A share of the
    probability is a distance of -log(p) between logits."""
    _require_share(p)
    return _fill(logits, logits < logits.amax(dim=-1, keepdim=True) - p)


def takes_the_logarithm_to_base_ten(logits, p):
    """Too much is dropped: the distance between logits is log10(p). Softmax is made with e, so the logarithm
    is the natural one."""
    _require_share(p)
    distance = math.log10(p) if p > 0 else -math.inf
    return _fill(logits, logits < logits.amax(dim=-1, keepdim=True) + distance)


@crude
def drops_the_likely_tokens(logits, p):
    """The best are gone and the unlikely stay: the comparison is turned round. What lies below the threshold
    is dropped."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities >= p * probabilities.amax(dim=-1, keepdim=True))


@crude
def keeps_the_best_only(logits, p):
    """Every row keeps its most likely token and those that tie with it, whatever p: that is p = 1. Check
    whether p reaches the comparison."""
    _require_share(p)
    return _right(logits, 1.0)


def keeps_at_least_two_tokens(logits, p):
    """Sure rows keep a second token: two are kept whatever p. Only the best is sure to stay."""
    _require_share(p)
    second = logits.topk(min(2, logits.shape[-1]), dim=-1).indices
    return _fill(logits, _dropped(logits, p).scatter(-1, second, False))


def takes_the_best_of_the_whole_batch(logits, p):
    """A single row is right; in a batch, rows that are less sure than the surest keep too little, or nothing:
    the largest probability is taken over all rows. Each row has its own; check `dim`."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.max())


def uses_the_verdicts_of_the_first_row(logits, p):
    """All rows keep the same tokens, those of the first: one set of verdicts is applied to the whole batch.
    Each row has its own."""
    first = _dropped(logits.reshape(-1, logits.shape[-1])[0], p)
    return _fill(logits, first.expand(logits.shape))


@crude
def normalises_down_the_batch(logits, p):
    """A single row is right, several are not: softmax and maximum run along the first axis. A row lies along
    the last one, the vocabulary."""
    _require_share(p)
    probabilities = logits.softmax(dim=0)
    return _fill(logits, probabilities < p * probabilities.amax(dim=0, keepdim=True))


@crude
def takes_the_best_down_the_batch(logits, p):
    """A single row keeps everything, several are compared with each other: the maximum runs along the first
    axis. It runs along the vocabulary, the last."""
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.amax(dim=0, keepdim=True))


def pours_all_rows_together(logits, p):
    """Rows with low logits keep nothing: softmax and maximum run over all rows as one. Each row is a
    distribution of its own."""
    return _right(logits.reshape(-1), p).reshape(logits.shape)


@subtle
def expects_two_axes(logits, p):
    """Logits of one axis or of three raise: their shape is unpacked into batch and vocabulary. Any leading
    axes may come, or none."""
    _batch, _vocab = logits.shape
    return _right(logits, p)


@subtle
def overflows_on_large_logits(logits, p):
    """Large logits are all kept, or all dropped: exp overflows to inf, and no comparison with NaN is true.
    Take the softmax in its stable form, or compare differences of logits."""
    _require_share(p)
    powers = logits.exp()
    probabilities = powers / powers.sum(dim=-1, keepdim=True)
    return _fill(logits, probabilities < p * probabilities.amax(dim=-1, keepdim=True))


@subtle
def drops_rounded_tails_at_zero(logits, p):
    """p = 0 drops what is very unlikely: tokens whose probability is rounded to 0 are taken out. p = 0 keeps
    everything; 0 is not below 0."""
    _require_share(p)
    return _fill(_right(logits, p), logits.softmax(dim=-1) == 0)


def returns_probabilities(logits, p):
    """The result holds probabilities, with 0 where a token is dropped. It must hold logits: a softmax will
    follow."""
    return _right(logits, p).softmax(dim=-1)


def moves_the_largest_logit_to_zero(logits, p):
    """Kept logits have changed: the largest was subtracted from all, and is still missing in the result.
    Compare with the differences, and return the logits that came in."""
    return _right(logits, p) - logits.amax(dim=-1, keepdim=True)


def drops_tokens_to_a_large_negative_number(logits, p):
    """Dropped tokens are finite, a large negative number, which wins where real logits lie lower and cannot
    be told from a logit. The statement asks for -inf."""
    return logits.masked_fill(_dropped(logits, p), -1e9)


def multiplies_by_the_verdicts(logits, p):
    """Kept logits become NaN: verdicts are multiplied with -inf and added, and 0 * inf is NaN. Choose between
    the logit and -inf, in place of computing with it."""
    return logits + _dropped(logits, p).to(logits.dtype) * float("-inf")


@subtle
def overwrites_the_logits(logits, p):
    """The caller's logits hold -inf after the call: they are filled in place. Fill a copy."""
    return logits.copy_(_right(logits, p))


@subtle
def answers_as_the_first_time(logits, p):
    """The first call is right, and later ones of the same shape get its verdicts again: something outlives
    the call. Check what is kept between calls."""
    return _fill(logits, _SEEN.setdefault((logits.shape, logits.dtype, p), _dropped(logits, p)))


@subtle
def accepts_p_above_one(logits, p):
    """p = 2 is answered, with rows of nothing but -inf: only p below 0 is refused. No token is twice as
    likely as the best; a ValueError is due."""
    if p < 0:
        raise ValueError("p must not be negative")
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.amax(dim=-1, keepdim=True))


@subtle
def accepts_negative_p(logits, p):
    """p = -1 is answered, with everything: only p above 1 is refused. A negative share makes no sense; a
    ValueError is due."""
    if p > 1:
        raise ValueError("p must be at most 1")
    return _right(logits, max(p, 0.0))


@subtle
def refuses_p_of_zero(logits, p):
    """p = 0 raises: it is taken for out of range. It keeps everything."""
    if p == 0:
        raise ValueError("p must be above 0")
    return _right(logits, p)


@subtle
def refuses_p_of_one(logits, p):
    """p = 1 raises: it is taken for out of range. It keeps the best, and what ties with it."""
    if p == 1:
        raise ValueError("p must be below 1")
    return _right(logits, p)


@subtle
def makes_the_threshold_on_the_cpu(logits, p):
    """Right on the CPU, and on a GPU the call raises: the tensor of -inf that fills the result is made
    without a device. Take it from `logits`."""
    dropped = _dropped(logits, p)
    return torch.where(dropped, torch.full(logits.shape, -math.inf, dtype=logits.dtype), logits)


@subtle
def drops_what_is_rarer_than_one_in_a_million(logits, p):
    """Small vocabularies come out right, and with 50,257 tokens too few are kept: whatever has a probability
    below 1e-6 is dropped, to be safe. In a large vocabulary even likely tokens have little.
    """
    rare = (logits.softmax(dim=-1) < 1e-6) & (logits.shape[-1] > 1000)
    return _fill(_right(logits, p), rare)


@subtle
def decides_in_float32(logits, p):
    """For float64 logits, tokens just below the threshold stay, or just above it go: the probabilities are
    computed in float32. Compute in the dtype of the logits.
    """
    return _fill(logits, _dropped(logits.float(), p))


@subtle
def keeps_what_nearly_ties(logits, p):
    """Tokens a little below the threshold stay: something is taken off it, such as 1e-6, to be safe from
    rounding. What is less likely than the threshold is dropped.
    """
    _require_share(p)
    probabilities = logits.softmax(dim=-1)
    return _fill(logits, probabilities < p * probabilities.amax(dim=-1, keepdim=True) - 1e-6)
