"""Wrong answers to sampling_questions: each is wrong in one question, and its docstring is the reason."""

import numpy as np
from reference import _nucleus_size, _ranked, _softmax

from grader.mistakes import crude, subtle


class counts_tokens_from_one:
    """Token ids count from 0."""

    def GREEDY(logits, **_):
        return _ranked(logits)[0] + 1


class returns_the_logit:
    """That is the largest logit. The question asks for its index."""

    def GREEDY(logits, **_):
        return max(logits)


@crude
class takes_the_least_likely:
    """That token has the smallest logit, and is the least likely one."""

    def GREEDY(logits, **_):
        return _ranked(logits)[-1]


@crude
class forgets_to_normalise:
    """That is exp of the logit. A probability is its share of the sum of all of them."""

    def PROBABILITY(logits, **_):
        return float(np.exp(max(logits)))


class takes_the_share_of_the_logits:
    """That is the logit's share of the sum of the logits. Logits may be negative; the exponentials come
    first."""

    def PROBABILITY(logits, **_):
        return max(logits) / sum(logits)


class takes_the_sigmoid:
    """That is the sigmoid of the logit alone. The tokens compete: the sum of all exponentials is the
    divisor."""

    def PROBABILITY(logits, **_):
        return float(1 / (1 + np.exp(-max(logits))))


class multiplies_by_the_temperature:
    """You multiplied the logits by the temperature. It divides them: above 1 it makes the distribution
    flatter."""

    def AT_TEMPERATURE(logits, temperature, **_):
        return float(_softmax(np.asarray(logits) * temperature).max())


class divides_the_probability:
    """You divided the probability by the temperature. The probabilities would no longer sum to one;
    divide the logits."""

    def AT_TEMPERATURE(logits, temperature, **_):
        return float(_softmax(logits).max()) / temperature


@crude
class ignores_the_temperature:
    """That is the probability at temperature 1."""

    def AT_TEMPERATURE(logits, **_):
        return float(_softmax(logits).max())


@subtle
class leaves_a_gap_after_top_k:
    """You left out the normalising: what was removed is missing from the sum."""

    def AFTER_TOP_K(logits, **_):
        return float(_softmax(logits).max())


class removes_k_tokens:
    """You removed k tokens. The filter keeps k."""

    def AFTER_TOP_K(logits, k, **_):
        probabilities = np.sort(_softmax(logits))[::-1]
        return float(probabilities[0] / probabilities[: len(logits) - k].sum())


@subtle
class keeps_one_more_than_k:
    """You kept one token more than k."""

    def AFTER_TOP_K(logits, k, **_):
        probabilities = np.sort(_softmax(logits))[::-1]
        return float(probabilities[0] / probabilities[: k + 1].sum())


@subtle
class drops_the_token_that_crosses_p:
    """The token that takes the sum past p is missing: without it the set has less mass than p."""

    def NUCLEUS(logits, p, **_):
        return sorted(_ranked(logits)[: _nucleus_size(logits, p) - 1])


@subtle
class keeps_a_token_behind_the_nucleus:
    """One token too many: the set had enough mass without it."""

    def NUCLEUS(logits, p, **_):
        return sorted(_ranked(logits)[: _nucleus_size(logits, p) + 1])


class adds_up_in_the_order_of_the_ids:
    """You added up in the order of the ids. The nucleus begins with the likeliest token."""

    def NUCLEUS(logits, p, **_):
        mass = np.cumsum(_softmax(logits))
        return tuple(range(int((mass < p).sum()) + 1))


class lists_the_nucleus_by_rank:
    """Those are the right tokens; list their ids in rising order."""

    def NUCLEUS(logits, p, **_):
        return tuple(_ranked(logits)[: _nucleus_size(logits, p)].tolist())


@subtle
class compares_with_min_p_itself:
    """You compared with min_p itself. The threshold is min_p times the largest probability."""

    def AFTER_MIN_P(logits, min_p, **_):
        return np.flatnonzero(_softmax(logits) >= min_p)


class compares_logits:
    """You compared logits. A share of the largest probability is a difference of logits, not a share of
    them."""

    def AFTER_MIN_P(logits, min_p, **_):
        return np.flatnonzero(np.asarray(logits) >= min_p * max(logits))


@crude
class lists_what_is_removed:
    """Those are the tokens that the filter removes."""

    def AFTER_MIN_P(logits, min_p, **_):
        probabilities = _softmax(logits)
        return np.flatnonzero(probabilities < min_p * probabilities.max())


@subtle
class rewards_negative_logits:
    """You divided a negative logit, which brings it closer to zero: the repeated token becomes more
    likely."""

    def PENALISED(logits, seen, penalty, **_):
        return logits[seen] / penalty


@subtle
class rewards_positive_logits:
    """You multiplied a positive logit, which makes it larger: the repeated token becomes more
    likely."""

    def PENALISED(logits, seen, penalty, **_):
        return logits[seen] * penalty


class subtracts_the_penalty:
    """You subtracted the penalty: that is a presence penalty. This one multiplies or divides."""

    def PENALISED(logits, seen, penalty, **_):
        return logits[seen] - penalty


@crude
class leaves_the_seen_token:
    """That is the logit as it was."""

    def PENALISED(logits, seen, **_):
        return logits[seen]


class freezes_the_distribution:
    """That is the limit for the likeliest token as the temperature falls to 0."""

    def LIMIT(**_):
        return 1.0


class lets_all_vanish:
    """The probabilities sum to one at every temperature, so they cannot all approach 0."""

    def LIMIT(**_):
        return 0.0


class halves_every_probability:
    """That would be the sigmoid of 0. All tokens share one distribution; how many are there?"""

    def LIMIT(**_):
        return 0.5
