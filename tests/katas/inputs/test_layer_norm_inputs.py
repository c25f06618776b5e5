"""layer_norm_inputs: a right layer norm, three wrong ones, and what they may get."""

import numpy as np

from grader.inputs import Versions
from grader.kata import Kata

KATA = Kata(
    "layer_norm_inputs",
    track="inputs",
    title="Inputs that show what is wrong with a layer norm",
    source="Ba, Kiros and Hinton 2016, section 3",
    hints=(
        "Each function differs from the right one in one number: which values are averaged, what the sum of "
        "squares is divided by, or where eps is added.",
        "A difference that is always there shows on almost any input. For the others, ask what makes the "
        "number large: several tokens, or a variance that is small beside eps.",
        "eps is 0.00001. Beside a variance of 1 it does not matter where it stands; beside a variance of "
        "0.00001 it does. Which two numbers have so small a variance?",
    ),
    kind_name="inputs",
    questions={
        "WHOLE": (
            "WHOLE shows that all tokens are normalized as one.",
            "How many tokens does the input have?",
        ),
        "SAMPLE": (
            "SAMPLE shows that the squares are divided by one less than their number.",
            "Is there a feature that differs from the others?",
        ),
        "OUTSIDE": (
            "OUTSIDE shows that eps is added to the root, not under it.",
            "How large are the variance and eps?",
        ),
    },
)
EPS = 1e-5


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + EPS)


def whole(x):
    centred = x - x.mean()
    return centred / np.sqrt(x.var() + EPS)


def sample(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True, ddof=1) + EPS)


def outside(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / (x.std(-1, keepdims=True) + EPS)


def allowed(x):
    if getattr(x, "ndim", 0) != 2 or x.dtype.kind not in "if" or not x.shape[0] or x.shape[1] < 2:
        return "x must have two axes: one or more tokens, of two or more features each."
    if np.abs(x).max() > 1000:
        return "Features from -1,000 to 1,000 are allowed."
    return ""


WRONG = {"WHOLE": whole, "SAMPLE": sample, "OUTSIDE": outside}
KATA.judges(Versions(right=layer_norm, wrong=WRONG, allowed=allowed, close=0.01).complaint)
