"""What people write instead, and what to tell them."""

import numpy as np

from grader.mistakes import crude, subtle


def _softmax(logits, axis=-1):
    exps = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


def _from_logits(logits):
    return logits, _softmax(logits), int(logits.argmax())


def takes_the_first_position(hidden, output_weight):
    """Right for one position; a longer text changes nothing. The first hidden state has read only the first
    token. Check which row of hidden is asked."""
    return _from_logits(hidden[0] @ output_weight)


def averages_the_positions(hidden, output_weight):
    """Right for one position; earlier ones blur the answer. The hidden states were averaged. The last one has
    already read the others through attention; it alone is asked."""
    return _from_logits(hidden.mean(axis=0) @ output_weight)


def takes_the_last_position_but_one(hidden, output_weight):
    """The answer lags behind the text by one token. Indices from the end begin at -1. Check which row of
    hidden is asked."""
    return _from_logits(hidden[max(len(hidden) - 2, 0)] @ output_weight)


def answers_for_every_position(hidden, output_weight):
    """Logits and probabilities come back for all positions, [T, V]. Only the last one is asked what comes
    next: both are [V]."""
    logits = hidden @ output_weight
    return logits, _softmax(logits), int(logits[-1].argmax())


def searches_all_positions(hidden, output_weight):
    """Right for one position; otherwise the id may be V or more, which is no token: argmax ran over the
    logits of all positions, as one long row. Search the last position's logits."""
    logits = hidden @ output_weight
    return logits[-1], _softmax(logits)[-1], int(logits.argmax())


@crude
def takes_the_softmax_over_the_positions(hidden, output_weight):
    """The probabilities do not sum to one; with one position they are all 1. The softmax ran along the
    positions. It belongs to the vocabulary; check `axis`."""
    logits = hidden @ output_weight
    return logits[-1], _softmax(logits, axis=0)[-1], int(logits[-1].argmax())


@subtle
def squeezes_a_single_position_away(hidden, output_weight):
    """Fails for a text of one token: squeeze removes the axis of the positions, and the last entry is then a
    number and not a vector. Name the row that you want."""
    return _from_logits(hidden.squeeze()[-1] @ output_weight)


def normalises_again(hidden, output_weight):
    """Twice as large a hidden state gives the same logits: it was layer-normed here. The final norm has been
    applied already. Take hidden as it is."""
    last = hidden[-1] - hidden[-1].mean()
    return _from_logits(last / np.sqrt((last * last).mean() + hidden.dtype.type(1e-5)) @ output_weight)


def scales_the_logits(hidden, output_weight):
    """The probabilities are too flat: the logits were divided by sqrt(d_model), as attention scores are. The
    output has no scale. Check the line of the product."""
    return _from_logits(hidden[-1] @ output_weight / hidden.dtype.type(hidden.shape[1] ** 0.5))


def transposes_the_output_matrix(hidden, output_weight):
    """The shapes fit only where V equals d_model, and the scores are others. A token is a column of
    output_weight, [d_model, V]; embedding tables have tokens in rows. Check the product."""
    return _from_logits(hidden[-1] @ output_weight.T)


@crude
def forgets_the_softmax(hidden, output_weight):
    """The probabilities are the logits themselves: some are negative, and they do not sum to one. Check the
    second entry of the tuple."""
    logits = hidden[-1] @ output_weight
    return logits, logits, int(logits.argmax())


def returns_log_probabilities(hidden, output_weight):
    """The probabilities are all negative or 0: their logarithms were returned. Check the second entry of the
    tuple."""
    logits = hidden[-1] @ output_weight
    return logits, np.log(_softmax(logits)), int(logits.argmax())


def divides_by_the_largest(hidden, output_weight):
    """The most likely token has probability 1 and the sum is larger than that: the exps were divided by the
    largest of them, where their sum is due."""
    logits = hidden[-1] @ output_weight
    return logits, np.exp(logits - logits.max()), int(logits.argmax())


@subtle
def lets_exp_overflow(hidden, output_weight):
    """NaN where a logit is large: exp overflows above 88 in float32 and above 709 in float64. Softmax is the
    same for logits minus their maximum, and then no exponent is above 0."""
    logits = hidden[-1] @ output_weight
    return logits, np.exp(logits) / np.exp(logits).sum(), int(logits.argmax())


@subtle
def clips_the_logits(hidden, output_weight):
    """Right for logits up to 50; above, the likely tokens share the probability evenly: the logits were
    clipped before exp, against its overflow. Softmax is the same for logits minus their maximum, and nothing
    is lost."""
    logits = hidden[-1] @ output_weight
    return logits, _softmax(np.clip(logits, -50, 50)), int(logits.argmax())


@subtle
def subtracts_one_maximum_for_all_positions(hidden, output_weight):
    """NaN or zeros where the last position's logits are far below another's: the largest logit of all
    positions was subtracted, and exp of what is left is 0. Subtract the last position's own maximum."""
    logits = hidden @ output_weight
    exps = np.exp(logits - logits.max())
    return logits[-1], exps[-1] / exps[-1].sum(), int(logits[-1].argmax())


def shifts_the_logits(hidden, output_weight):
    """Probabilities and id are right, but the largest logit is always 0: the maximum was subtracted from the
    logits themselves, and they were returned like that. Keep them for the tuple as they were."""
    logits = hidden[-1] @ output_weight
    return _from_logits(logits - logits.max())


def swaps_logits_and_probabilities(hidden, output_weight):
    """The tuple begins with the probabilities. The order is logits, probabilities, token_id."""
    logits, probabilities, token_id = _from_logits(hidden[-1] @ output_weight)
    return probabilities, logits, token_id


def takes_the_least_likely(hidden, output_weight):
    """The id is that of the smallest logit. An argsort goes upwards; its first entry is the least likely
    token. Check which end is taken."""
    logits, probabilities, _ = _from_logits(hidden[-1] @ output_weight)
    return logits, probabilities, int(logits.argsort()[0])


def compares_sizes_without_signs(hidden, output_weight):
    """A very negative logit is chosen: the largest absolute value was looked for. A negative logit makes a
    token unlikely, the more so the larger it is."""
    logits, probabilities, _ = _from_logits(hidden[-1] @ output_weight)
    return logits, probabilities, int(np.abs(logits).argmax())


def returns_the_largest_probability(hidden, output_weight):
    """The third entry is a fraction, the probability of the chosen token. Its place is asked for, the id; max
    gives the value, argmax the place."""
    logits, probabilities, _ = _from_logits(hidden[-1] @ output_weight)
    return logits, probabilities, probabilities.max()


@subtle
def returns_the_id_in_an_array(hidden, output_weight):
    """token_id is an array with one number, and not a number. A slice of one position keeps its axis; take
    the number out of it."""
    logits, probabilities, token_id = _from_logits(hidden[-1] @ output_weight)
    return logits, probabilities, np.array([token_id])


def counts_tokens_from_one(hidden, output_weight):
    """The id is one too large, and V for the last token. Ids begin at 0, as indices do."""
    logits, probabilities, token_id = _from_logits(hidden[-1] @ output_weight)
    return logits, probabilities, token_id + 1


@subtle
def overwrites_the_hidden_state(hidden, output_weight):
    """The caller's hidden states are others after the call: `-=` on a row of hidden writes into the caller's
    memory, since a row is a view. Make a new array in the first step."""
    logits = hidden[-1] @ output_weight
    hidden[-1] -= hidden[-1].max()
    return _from_logits(logits)


@subtle
def takes_zeros_for_padding(hidden, output_weight):
    """A last position of zeros is passed over, as if it were padding. The last position is asked, whatever it
    holds."""
    real = np.flatnonzero(hidden.any(axis=1))
    return _from_logits(hidden[real[-1] if len(real) else -1] @ output_weight)
