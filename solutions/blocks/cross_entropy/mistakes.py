"""What people write instead, and what to tell them."""

import numpy as np

from grader.mistakes import crude, subtle


def _log_softmax(logits, axis=-1):
    shifted = logits - logits.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _losses(logits, targets, counted, log_softmax=_log_softmax):
    safe = np.where(counted, targets, 0).astype(np.int64)
    return -np.take_along_axis(log_softmax(logits), safe[..., None], axis=-1)[..., 0] * counted


def _mean(logits, targets, ignore_index, log_softmax=_log_softmax):
    counted = targets != ignore_index
    rows, chosen = logits[counted], targets[counted]
    return -log_softmax(rows[None])[0][np.arange(len(rows)), chosen].mean()


def divides_by_all_positions(logits, targets, ignore_index=-100):
    """Right where nothing is ignored; the loss shrinks as padding grows. Ignored positions add nothing, and
    do not belong to the number that the sum is divided by either. Check the divisor."""
    return _losses(logits, targets, targets != ignore_index).mean()


@subtle
def knows_no_ignore_index_but_minus_100(logits, targets, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Right by default; another ignore_index is counted, or is an index error. The number -100 is written
    into the code. Check that the parameter is what targets are compared with."""
    return _mean(logits, targets, -100)


@subtle
def ignores_negative_targets(logits, targets, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Right where ignore_index is negative; where it is a token's id, that token is counted. Whatever is
    below zero was dropped. Compare targets with ignore_index itself."""
    counted = (targets >= 0) & (targets < logits.shape[-1])
    return _losses(logits, targets, counted).sum() / counted.sum()


def counts_ignored_positions(logits, targets, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Ignored positions are counted like the others: a target of -100 is an index error or picks some token,
    since negative indices count from the end. Check that ignored positions leave before the average."""
    return _losses(logits, targets.astype(np.int64) % logits.shape[-1], np.ones(targets.shape, bool)).mean()


def drops_zero_targets(logits, targets, ignore_index=-100):
    """Token 0 never counts, as though it were padding everywhere. Only `ignore_index` says what is ignored,
    and 0 is a token like any other. Check the condition, and truth values of ids."""
    counted = (targets != ignore_index) & (targets != 0)
    return _losses(logits, targets, counted).sum() / max(counted.sum(), 1)


def averages_sequence_by_sequence(logits, targets, ignore_index=-100):
    """Right where every sequence has equally many targets that count. Each sequence was averaged first, so a
    token of a short sequence weighs more. One average runs over the whole batch."""
    counted = targets != ignore_index
    sums, counts = _losses(logits, targets, counted).sum(axis=1), counted.sum(axis=1)
    return (sums[counts > 0] / counts[counts > 0]).mean()


def sums_up(logits, targets, ignore_index=-100):
    """Right for one position; the loss grows with the number of tokens. The losses were added and not
    averaged. Check the last step."""
    return _losses(logits, targets, targets != ignore_index).sum()


def divides_by_the_batch(logits, targets, ignore_index=-100):
    """Right for sequences of one token; longer ones cost more. The sum was divided by the number of
    sequences, where the number of targets that count is due."""
    return _losses(logits, targets, targets != ignore_index).sum() / len(targets)


def returns_a_loss_for_each_position(logits, targets, ignore_index=-100):
    """The result is an array, [B, T]: the losses were not averaged. One number is due."""
    return _losses(logits, targets, targets != ignore_index)


def returns_the_perplexity(logits, targets, ignore_index=-100):
    """The result is e to the loss, and overflows for a surprised model. That is the perplexity, often
    reported beside the loss; here the loss itself is due."""
    return np.exp(_mean(logits, targets, ignore_index))


def forgets_the_minus_sign(logits, targets, ignore_index=-100):
    """The loss is negative, and a better model has a larger one: logarithms of probabilities are below zero.
    Check the sign."""
    return -_mean(logits, targets, ignore_index)


def takes_the_binary_logarithm(logits, targets, ignore_index=-100):
    """The loss is 1.44 times too large: it is in bits. The natural logarithm is due, the inverse of the
    exp in the softmax."""
    return _mean(logits, targets, ignore_index) / np.log(2)


@subtle
def lets_exp_overflow(logits, targets, ignore_index=-100):
    """NaN or infinity for large logits, which are as legal as small ones: exp overflows above 88 in float32
    and above 709 in float64. Adding one number to all logits of a position changes no probability: use that
    freedom before exp."""

    def log_softmax(rows):
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))

    return _mean(logits, targets, ignore_index, log_softmax)


@subtle
def takes_the_logarithm_of_zero(logits, targets, ignore_index=-100):
    """Infinity where the target is very unlikely: its probability was rounded to 0 before the logarithm. The
    logarithm of a quotient is a difference; take it on paper, and neither rounding is left."""
    return _mean(logits, targets, ignore_index, lambda rows: np.log(np.exp(_log_softmax(rows))))


@subtle
def adds_a_little_inside_the_logarithm(logits, targets, ignore_index=-100):
    """No loss exceeds about 20.7: 1e-9 was added to the probability so that its logarithm exists. That hides
    how wrong the model is, and its gradient. Work with the logarithm of the softmax from the start."""
    return _mean(logits, targets, ignore_index, lambda rows: np.log(np.exp(_log_softmax(rows)) + 1e-9))


@subtle
def clips_the_logits(logits, targets, ignore_index=-100):
    """Right for logits up to 50; no loss exceeds 100, and levels beyond 50 vanish: the logits were clipped
    against the overflow of exp. Subtract each position's maximum instead, and nothing is lost."""
    return _mean(np.clip(logits, -50, 50), targets, ignore_index)


@subtle
def subtracts_one_maximum_for_all(logits, targets, ignore_index=-100):
    """Infinity or NaN where one position's logits are far below another's: the largest logit of the whole
    array was subtracted, and exp of the others is 0. Every position has its own maximum."""

    def log_softmax(rows):
        rows = rows - logits.max()
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))

    return _mean(logits, targets, ignore_index, log_softmax)


@crude
def takes_the_softmax_over_the_tokens(logits, targets, ignore_index=-100):
    """The probabilities of a token sum to one over the positions, so each position's loss changes with its
    neighbours. The softmax belongs to the vocabulary, the last axis. Check `axis`."""
    counted = targets != ignore_index
    losses = _losses(logits, targets, counted, lambda rows: _log_softmax(rows, axis=1))
    return losses.sum() / counted.sum()


def takes_the_softmax_twice(logits, targets, ignore_index=-100):
    """Even a sure and right model pays something: probabilities were put through another softmax, which
    flattens them. The logits come as they are. Check what the last softmax is given."""
    return _mean(logits, targets, ignore_index, lambda rows: _log_softmax(np.exp(_log_softmax(rows))))


@crude
def forgets_the_softmax(logits, targets, ignore_index=-100):
    """The loss can be negative and has no lower bound: the target's logit was taken for its log-probability.
    The other tokens' logits count too. Check what the target is compared with."""
    return _mean(logits, targets, ignore_index, lambda rows: rows)


@crude
def asks_for_the_most_likely_token(logits, targets, ignore_index=-100):
    """The targets have no effect but for being ignored: the loss is that of the model's own favourite. Check
    which token's log-probability is picked."""
    return _mean(logits, np.where(targets == ignore_index, ignore_index, logits.argmax(-1)), ignore_index)


def shifts_the_targets(logits, targets, ignore_index=-100):
    """The first target and the last logits are dropped: the targets were shifted by one. That is done where
    inputs and targets are made; here each position meets its own target."""
    return _mean(logits[:, :-1], targets[:, 1:], ignore_index)


def looks_at_the_first_sequence(logits, targets, ignore_index=-100):
    """Right for a batch of one: the other sequences have no effect. Check the first axis."""
    return _mean(logits[:1], targets[:1], ignore_index)


@subtle
def overwrites_the_targets(logits, targets, ignore_index=-100):
    """The caller's ignored targets are 0 after the call, and the next epoch counts them. The assignment wrote
    into the caller's array; work on a copy, or choose with np.where."""
    counted = targets != ignore_index
    targets[~counted] = 0
    return _losses(logits, targets, counted).sum() / counted.sum()


@subtle
def computes_in_float32(logits, targets, ignore_index=-100):
    """float64 logits give a loss with half of its digits: the work was done in float32. Check casts."""
    return _mean(logits.astype(np.float32), targets, ignore_index)


@subtle
def subtracts_the_mean(logits, targets, ignore_index=-100):
    """Infinity where one logit is far above the rest of its position: the mean is subtracted, and exp of what
    is left overflows all the same. Only the maximum leaves nothing above 0."""

    def log_softmax(rows):
        rows = rows - rows.mean(axis=-1, keepdims=True)
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))

    return _mean(logits, targets, ignore_index, log_softmax)


@subtle
def casts_the_ignored_index(logits, targets, ignore_index=-100):
    """Right where the dtype of the targets can hold ignore_index. Elsewhere some token is ignored: cast to
    uint8, 256 is 0 and -1 is 255. Compare the targets with the number as it is."""
    return _mean(logits, targets, np.array(ignore_index).astype(targets.dtype))


@subtle
def counts_places_in_the_dtype_of_targets(logits, targets, ignore_index=-100):
    """Right for small batches; in a larger one the logits of other tokens are read: the places of the targets
    in the flattened logits were computed in the targets' own dtype, which may hold 127 at most. Make them
    int64 first."""
    vocab, counted = logits.shape[-1], (targets != ignore_index).ravel()
    safe = np.where(counted, targets.ravel(), 0).astype(targets.dtype)
    places = safe + (np.arange(safe.size) * vocab).astype(safe.dtype)
    return -_log_softmax(logits).ravel()[places.astype(np.int64) % logits.size][counted].mean()
