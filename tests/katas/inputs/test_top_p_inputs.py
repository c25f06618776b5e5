"""top_p_inputs: a right nucleus, three wrong ones, and what they may get."""

import numpy as np

from grader.inputs import Versions
from grader.kata import Kata

KATA = Kata(
    "top_p_inputs",
    track="inputs",
    title="Inputs that show what is wrong with a nucleus",
    source="Holtzman et al. 2020, section 3.1",
    hints=(
        "Take three probabilities, and say by hand which tokens the right nucleus keeps. Then do the same "
        "for each function.",
        "The nucleus is the smallest set whose mass is at least p. The token that takes the sum past p "
        "belongs to it.",
        "Change one thing at a time: the order of the probabilities, where p lies between two sums, and how "
        "even the probabilities are.",
    ),
    kind_name="inputs",
    questions={
        "DROPS_LAST": (
            "DROPS_LAST shows that the token that crosses p is dropped.",
            "Which is the last token that the right nucleus keeps?",
        ),
        "UNSORTED": (
            "UNSORTED shows that the tokens are taken in the order of their ids.",
            "For which order of the probabilities does sorting change nothing?",
        ),
        "BY_ITSELF": (
            "BY_ITSELF shows that each token is judged by itself.",
            "How many tokens does the right nucleus keep if all are nearly even, and p is small?",
        ),
    },
)


def nucleus(probs, p):
    order = np.argsort(-probs)
    before = np.cumsum(probs[order]) - probs[order]
    return sorted(order[before < p].tolist())


def drops_last(probs, p):
    order = np.argsort(-probs)
    return sorted(order[np.cumsum(probs[order]) <= p].tolist())


def unsorted(probs, p):
    before = np.cumsum(probs) - probs
    return np.flatnonzero(before < p).tolist()


def by_itself(probs, p):
    return np.flatnonzero(probs >= 1 - p).tolist()


def allowed(probs, p):
    if getattr(probs, "ndim", 0) != 1 or probs.dtype.kind != "f" or not probs.size:
        return "probs must be one row of numbers."
    if not (probs > 0).all() or abs(probs.sum() - 1) > 1e-6:
        return "probs must be above 0 and sum to 1."
    if np.unique(probs).size < probs.size:
        return "Two tokens have the same probability, so their order is open."
    if not isinstance(p, float) or not 0 < p < 1:
        return "p must be a number between 0 and 1."
    sums = np.cumsum(-np.sort(-probs))
    if min(abs(sums - p).min(), abs(np.cumsum(probs) - p).min()) < 1e-6:
        return "p is the sum of some probabilities, where rounding decides; take another p."
    return ""


WRONG = {"DROPS_LAST": drops_last, "UNSORTED": unsorted, "BY_ITSELF": by_itself}
KATA.judges(Versions(right=nucleus, wrong=WRONG, allowed=allowed).complaint)
