"""softmax_inputs: a right softmax, three wrong ones, and what they may get."""

import numpy as np

from grader.inputs import Versions
from grader.kata import Kata

KATA = Kata(
    "softmax_inputs",
    track="inputs",
    title="Inputs that show what is wrong with a softmax",
    source="Vaswani et al. 2017, section 3.2.1; Goodfellow, Bengio and Courville 2016, section 4.1",
    hints=(
        "Say first what each wrong function forgets, and then for which scores that makes no difference: any "
        "others will do.",
        "One of the three needs a single slice, and two need two slices. How many slices has an array of one "
        "axis?",
        "In float64, exp(x) is inf from about 710 on, and 0 below about -746. Which scores, and in which "
        "slices, lead to inf / inf or to 0 / 0?",
    ),
    kind_name="inputs",
    questions={
        "NO_SHIFT": (
            "NO_SHIFT shows that the largest score is not subtracted.",
            "For which scores is exp(x) no finite number?",
        ),
        "ONE_SUM": (
            "ONE_SUM shows that all slices are divided by one sum.",
            "How many slices does the input have along the axis?",
        ),
        "ONE_SHIFT": (
            "ONE_SHIFT shows that one maximum is subtracted from all slices.",
            "What becomes of a slice that lies far below another one?",
        ),
    },
)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def no_shift(x, axis):
    powers = np.exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


def one_sum(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum()


def one_shift(x, axis):
    powers = np.exp(x - x.max())
    return powers / powers.sum(axis=axis, keepdims=True)


def allowed(x, axis):
    if getattr(x, "ndim", 0) not in (1, 2) or not x.size or x.dtype.kind not in "if":
        return "x must be an array of one or two axes, with numbers."
    if np.abs(x).max() > 10_000:
        return "Scores from -10,000 to 10,000 are allowed."
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return "x has no such axis."
    return ""


WRONG = {"NO_SHIFT": no_shift, "ONE_SUM": one_sum, "ONE_SHIFT": one_shift}
KATA.judges(Versions(right=softmax, wrong=WRONG, allowed=allowed).complaint)
