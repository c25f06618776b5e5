"""What people write instead, and what to tell them."""

import numpy as np

from grader.mistakes import crude, subtle


def _log_softmax(logits, axis=-1):
    shifted = logits - logits.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _check(smoothing):
    if not 0 <= smoothing <= 1:
        raise ValueError("smoothing is a share")


def _parts(logits, targets, counted, log_softmax=_log_softmax):
    """Return the loss of each target, [...], and the loss of each token of the vocabulary, [..., V].

    Both are 0 where the target is ignored.
    """
    losses = -log_softmax(logits)
    safe = np.where(counted, targets, 0).astype(np.int64)
    of_target = np.take_along_axis(losses, safe[..., None], axis=-1)[..., 0]
    return of_target * counted, losses * counted[..., None]


def _loss(logits, targets, smoothing=0.1, ignore_index=-100, log_softmax=_log_softmax):
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted, log_softmax)
    return _mix(of_target.sum() / counted.sum(), of_all.mean(axis=-1).sum() / counted.sum(), smoothing)


def _mix(one, other, smoothing):
    return (1 - smoothing) * one + smoothing * other


def shares_among_the_others(logits, targets, smoothing=0.1, ignore_index=-100):
    """The target has 1 - smoothing and no more: what was taken from it is divided among the V - 1 other
    tokens, as fairseq does. Here each of the V tokens has smoothing / V, the target among them."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    others = (of_all.sum(axis=-1) - of_target) / (logits.shape[-1] - 1)
    return _mix(of_target.sum(), others.sum(), smoothing) / counted.sum()


def shares_among_two_fewer(logits, targets, smoothing=0.1, ignore_index=-100):
    """The target has 1 - smoothing, and the others smoothing / (V - 2), as where one of them is padding and
    left out. Here every token of the vocabulary has smoothing / V."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    others = (of_all.sum(axis=-1) - of_target) / max(logits.shape[-1] - 2, 1)
    return _mix(of_target.sum(), others.sum(), smoothing) / counted.sum()


def leaves_out_the_share_of_the_target(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss is too small: the target has 1 - smoothing, each other token smoothing / V, and together that
    is less than 1. The target has its smoothing / V as well."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    others = (of_all.sum(axis=-1) - of_target) / logits.shape[-1]
    return _mix(of_target.sum(), others.sum(), smoothing) / counted.sum()


def keeps_the_whole_target(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss is too large: the share of all tokens was added and not taken from the target, so the weights
    add up to more than 1. Check the factor of the first part."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    return (of_target.sum() + smoothing * of_all.mean(axis=-1).sum()) / counted.sum()


def sums_over_the_vocabulary(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss grows with V: the losses of all tokens were added up where their average is due. Each token
    has smoothing / V, not smoothing."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    return _mix(of_target.sum(), of_all.sum(), smoothing) / counted.sum()


def swaps_the_weights(logits, targets, smoothing=0.1, ignore_index=-100):
    """A small smoothing gives nearly the loss of no target at all: the target has the weight smoothing, and
    the even share 1 - smoothing. Check which is which."""
    _check(smoothing)
    return _loss(logits, targets, 1 - smoothing, ignore_index)


def shrinks_the_target_alone(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss is cross-entropy times 1 - smoothing: the target lost its share, and no token was given it.
    The second part is missing."""
    _check(smoothing)
    return (1 - smoothing) * _loss(logits, targets, 0.0, ignore_index)


def smooths_the_probabilities(logits, targets, smoothing=0.1, ignore_index=-100):
    """The prediction was smoothed and not the target: the logarithm is that of a mixture of probabilities,
    and no loss exceeds log(V / smoothing). The mixture belongs outside of the logarithm."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, _ = _parts(logits, targets, counted)
    mixed = (1 - smoothing) * np.exp(-of_target) + smoothing / logits.shape[-1]
    return -(np.log(mixed) * counted).sum() / counted.sum()


def returns_the_divergence(logits, targets, smoothing=0.1, ignore_index=-100):
    """Too small by one number for all logits: the entropy of the smoothed target was subtracted, which makes
    a divergence of a cross-entropy. The gradients are the same, the loss is not."""
    share = smoothing / logits.shape[-1]
    q = np.array([1 - smoothing + share] + [share] * (logits.shape[-1] - 1))
    entropy = -(q * np.log(np.where(q > 0, q, 1))).sum()
    return _loss(logits, targets, smoothing, ignore_index) - entropy


def multiplies_zero_by_its_logarithm(logits, targets, smoothing=0.1, ignore_index=-100):
    """NaN for a smoothing of 0, elsewhere right: 0 times the logarithm of 0 was computed on the way. The loss
    needs the logarithms of the predictions alone, and none of the smoothed target."""
    share = smoothing / logits.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        nothing = 0 * (share * np.log(share))
    return _loss(logits, targets, smoothing, ignore_index) + nothing


def spreads_over_ignored_positions(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where nothing is ignored; the even share is averaged over all positions, the ignored ones too.
    They must be left out of both parts, not of the target's alone."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, _ = _parts(logits, targets, counted)
    return _mix(of_target.sum() / counted.sum(), -_log_softmax(logits).mean(), smoothing)


def adds_up_ignored_positions(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where nothing is ignored; with padding the loss is too large: ignored positions add their even
    share to the sum, and are left out of the count. They must add nothing."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, _ = _parts(logits, targets, counted)
    return _mix(of_target.sum(), -_log_softmax(logits).mean(axis=-1).sum(), smoothing) / counted.sum()


def divides_by_all_positions(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where nothing is ignored; the loss shrinks as padding grows: the sum was divided by all
    positions. Those that do not count do not belong to the divisor either."""
    return _loss(logits, targets, smoothing, ignore_index) * (targets != ignore_index).mean()


def counts_ignored_positions(logits, targets, smoothing=0.1, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Ignored positions are counted like the others: a target of -100 is an index error or picks some token,
    since negative indices count from the end. Check that ignored positions leave before the average."""
    return _loss(logits, targets.astype(np.int64) % logits.shape[-1], smoothing, None)


def averages_sequence_by_sequence(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where every sequence has equally many targets that count. Each sequence was averaged first, so a
    token of a short sequence weighs more. One average runs over the whole batch."""
    rows = [
        _loss(row[None], target[None], smoothing, ignore_index)
        for row, target in zip(logits, targets, strict=True)
        if (target != ignore_index).any()
    ]
    return np.mean(rows)


def sums_up(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right for one position; the loss grows with the number of tokens. The losses of the positions were
    added and not averaged. Check the last step."""
    return _loss(logits, targets, smoothing, ignore_index) * (targets != ignore_index).sum()


@crude
def returns_a_loss_for_each_position(logits, targets, smoothing=0.1, ignore_index=-100):
    """The result is an array, [B, T]: the positions were not averaged. One number is due."""
    _check(smoothing)
    of_target, of_all = _parts(logits, targets, targets != ignore_index)
    return _mix(of_target, of_all.mean(axis=-1), smoothing)


@crude
def forgets_the_minus_sign(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss is negative, and a better model has a larger one: logarithms of probabilities are below zero.
    Check the sign."""
    return -_loss(logits, targets, smoothing, ignore_index)


@crude
def forgets_the_softmax(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss can be negative and has no lower bound: logits were taken for log-probabilities. Each
    position's logits must be normalised first."""
    return _loss(logits, targets, smoothing, ignore_index, lambda rows: rows)


@crude
def takes_the_softmax_over_the_tokens(logits, targets, smoothing=0.1, ignore_index=-100):
    """The probabilities of a token sum to one over the positions, so each position's loss changes with its
    neighbours. The softmax belongs to the vocabulary, the last axis. Check `axis`."""
    return _loss(logits, targets, smoothing, ignore_index, lambda rows: _log_softmax(rows, axis=1))


def takes_the_softmax_twice(logits, targets, smoothing=0.1, ignore_index=-100):
    """Even a sure and right model pays too much: probabilities were put through another softmax, which
    flattens them. The logits come as they are."""
    return _loss(
        logits, targets, smoothing, ignore_index, lambda rows: _log_softmax(np.exp(_log_softmax(rows)))
    )


def takes_the_binary_logarithm(logits, targets, smoothing=0.1, ignore_index=-100):
    """The loss is 1.44 times too large: it is in bits. The natural logarithm is due, the inverse of the exp
    in the softmax."""
    return _loss(logits, targets, smoothing, ignore_index) / np.log(2)


def smooths_by_a_tenth_always(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right by default; another smoothing changes nothing: the number 0.1 is written into the code. Check
    that the parameter is what the formula uses."""
    _check(smoothing)
    return _loss(logits, targets, 0.1, ignore_index)


def takes_no_smoothing_for_the_default(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right but for a smoothing of 0, which gives the loss for 0.1: 0 is false in a condition and counts as
    not given. 0 is a legal smoothing, and gives cross-entropy."""
    return _loss(logits, targets, smoothing or 0.1, ignore_index)


@subtle
def refuses_the_ends(logits, targets, smoothing=0.1, ignore_index=-100):
    """A smoothing of 1 raises an error, although it is legal: the target then has 1 / V like the others. Both
    ends belong to the range."""
    if not 0 <= smoothing < 1:
        raise ValueError("smoothing")
    return _loss(logits, targets, smoothing, ignore_index)


@subtle
def accepts_any_smoothing(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right for shares; a smoothing of 10, which was meant as per cent, gives some number. Weights would be
    negative: refuse what is below 0 or above 1 with a ValueError."""
    one, other = (_loss(logits, targets, end, ignore_index) for end in (0.0, 1.0))
    return _mix(one, other, smoothing)


@subtle
def refuses_only_large_smoothings(logits, targets, smoothing=0.1, ignore_index=-100):
    """A smoothing above 1 raises an error, and one below 0 gives some number. Both sides of the range must be
    checked."""
    if smoothing < 0:
        return accepts_any_smoothing(logits, targets, smoothing, ignore_index)
    return _loss(logits, targets, smoothing, ignore_index)


@subtle
def pulls_the_smoothing_into_range(logits, targets, smoothing=0.1, ignore_index=-100):
    """A smoothing outside of [0, 1] counts as the nearest end, and whoever made the mistake never learns of
    it. A ValueError is due."""
    return _loss(logits, targets, min(max(smoothing, 0), 1), ignore_index)


@subtle
def gives_the_ignored_token_no_share(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where ignore_index is no token; where it is one, that token has no share of the smoothing at
    other positions. Only positions are ignored: as a class the token is one of the V."""
    _check(smoothing)
    counted = targets != ignore_index
    of_target, of_all = _parts(logits, targets, counted)
    if 0 <= ignore_index < logits.shape[-1]:
        of_all[..., ignore_index] = 0
    return _mix(of_target.sum(), of_all.mean(axis=-1).sum(), smoothing) / counted.sum()


@subtle
def knows_no_ignore_index_but_minus_100(logits, targets, smoothing=0.1, ignore_index=-100):  # noqa: ARG001
    """Positions with another ignore_index than -100 are counted, or are an index error: targets are compared
    with a number that is written into the code, or not at all. Compare them with the parameter."""
    counted = targets != -100
    _check(smoothing)
    losses, chosen = -_log_softmax(logits[counted]), targets[counted]
    return _mix(losses[np.arange(len(losses)), chosen].mean(), losses.mean(), smoothing)


@subtle
def ignores_negative_targets(logits, targets, smoothing=0.1, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Positions are counted where ignore_index is a token's id or V: whatever is below zero was dropped, and
    nothing else. Compare targets with ignore_index itself."""
    _check(smoothing)
    counted = targets >= 0
    losses, chosen = -_log_softmax(logits[counted]), targets[counted]
    return _mix(losses[np.arange(len(losses)), chosen].mean(), losses.mean(), smoothing)


def drops_zero_targets(logits, targets, smoothing=0.1, ignore_index=-100):
    """Token 0 never counts, as though it were padding everywhere. Only `ignore_index` says what is ignored,
    and 0 is a token like any other."""
    _check(smoothing)
    counted = (targets != ignore_index) & (targets != 0)
    of_target, of_all = _parts(logits, targets, counted)
    return _mix(of_target.sum(), of_all.mean(axis=-1).sum(), smoothing) / max(counted.sum(), 1)


@subtle
def lets_exp_overflow(logits, targets, smoothing=0.1, ignore_index=-100):
    """NaN or infinity for large logits, which are as legal as small ones: exp overflows above 88 in float32
    and above 709 in float64. Adding one number to all logits of a position changes no probability: use that
    freedom before exp."""

    def log_softmax(rows):
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))

    return _loss(logits, targets, smoothing, ignore_index, log_softmax)


@subtle
def takes_the_logarithm_of_zero(logits, targets, smoothing=0.1, ignore_index=-100):
    """Infinity or NaN where a token is very unlikely, and with smoothing every token takes part: its
    probability was rounded to 0 before the logarithm. Take the logarithm of the quotient on paper."""
    return _loss(logits, targets, smoothing, ignore_index, lambda rows: np.log(np.exp(_log_softmax(rows))))


@subtle
def adds_a_little_inside_the_logarithm(logits, targets, smoothing=0.1, ignore_index=-100):
    """No token's loss exceeds about 20.7: 1e-9 was added to the probability so that its logarithm exists.
    Work with the logarithm of the softmax from the start."""
    return _loss(
        logits, targets, smoothing, ignore_index, lambda rows: np.log(np.exp(_log_softmax(rows)) + 1e-9)
    )


@subtle
def clips_the_logits(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right for logits up to 50; no loss exceeds 100, and levels beyond 50 vanish: the logits were clipped
    against the overflow of exp. Subtract each position's maximum instead, and nothing is lost."""
    return _loss(np.clip(logits, -50, 50), targets, smoothing, ignore_index)


@subtle
def subtracts_one_maximum_for_all(logits, targets, smoothing=0.1, ignore_index=-100):
    """Infinity or NaN where one position's logits are far below another's: the largest logit of the whole
    array was subtracted, and exp of the others is 0. Every position has its own maximum."""

    def log_softmax(rows):
        rows = rows - rows.max()
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))

    return _loss(logits, targets, smoothing, ignore_index, log_softmax)


_SMOOTHED = {}


def keeps_the_smoothed_targets(logits, targets, smoothing=0.1, ignore_index=-100):
    """The first call is right, and later ones of the same shape are measured against its targets: the
    smoothed targets outlive the call. Check what is kept between calls."""
    _check(smoothing)
    counted = targets != ignore_index
    one_hot = np.arange(logits.shape[-1]) == targets[..., None]
    fresh = (_mix(one_hot, 1 / logits.shape[-1], smoothing) * counted[..., None]).astype(logits.dtype)
    smoothed = _SMOOTHED.setdefault(logits.shape, fresh)
    return -(smoothed * _log_softmax(logits)).sum() / counted.sum()


@subtle
def overwrites_the_targets(logits, targets, smoothing=0.1, ignore_index=-100):
    """The caller's ignored targets are 0 after the call, and the next epoch counts them. The assignment wrote
    into the caller's array; work on a copy, or choose with np.where."""
    result = _loss(logits, targets, smoothing, ignore_index)
    targets[targets == ignore_index] = 0
    return result


@subtle
def computes_in_float32(logits, targets, smoothing=0.1, ignore_index=-100):
    """float64 logits give a loss with half of its digits: the work was done in float32. Check casts."""
    return _loss(logits.astype(np.float32), targets, smoothing, ignore_index)


@subtle
def casts_the_ignored_index(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right where the dtype of the targets can hold ignore_index. Elsewhere some token is ignored: cast to
    uint8, 256 is 0 and -1 is 255. Compare the targets with the number as it is."""
    return _loss(logits, targets, smoothing, np.array(ignore_index).astype(targets.dtype))


@subtle
def counts_places_in_the_dtype_of_targets(logits, targets, smoothing=0.1, ignore_index=-100):
    """Right for small batches; in a larger one the losses of other tokens are read: the places of the targets
    in the flattened losses were computed in the targets' own dtype, which may hold 127 at most. Make them
    int64 first."""
    _check(smoothing)
    losses, counted = -_log_softmax(logits), (targets != ignore_index).ravel()
    safe = np.where(counted, targets.ravel(), 0).astype(targets.dtype)
    places = safe + (np.arange(safe.size) * logits.shape[-1]).astype(safe.dtype)
    of_target = losses.ravel()[places.astype(np.int64) % losses.size][counted].mean()
    return _mix(of_target, losses.mean(axis=-1).ravel()[counted].mean(), smoothing)


@subtle
def cuts_large_losses(logits, targets, smoothing=0.1, ignore_index=-100):
    """Losses of ten thousand and more come out as ten thousand: they were cut there, as PyTorch's binary
    cross-entropy cuts its logarithms. A loss is as large as the gap between two logits."""

    def cut(logits):
        return np.maximum(_log_softmax(logits), -1e4).astype(logits.dtype)

    return _loss(logits, targets, smoothing, ignore_index, log_softmax=cut)
