"""causal_mask_inputs: a right causal mask, three wrong ones, and what they may get."""

import numpy as np

from grader.inputs import Versions
from grader.kata import Kata

KATA = Kata(
    "causal_mask_inputs",
    track="inputs",
    title="Inputs that show what is wrong with a causal mask",
    source="Vaswani et al. 2017, section 3.2.3",
    hints=(
        "Draw the mask that is right for two queries and four keys, and beside it what each function gives.",
        "A cache makes key_len larger than query_len: the queries are then the last positions. Which of the "
        "three functions does not know that?",
        "One function is wrong for every input, one only for enough keys, and one only if there are more "
        "keys than queries. The smallest input of the first has one query.",
    ),
    kind_name="inputs",
    questions={
        "FIRST_CORNER": (
            "FIRST_CORNER shows that the triangle stands in the first corner.",
            "At which position does the first query stand if there are cached keys?",
        ),
        "BLIND": (
            "BLIND shows that no query sees itself.",
            "What does the first query see, if not itself?",
        ),
        "WINDOW": (
            "WINDOW shows that only the last four keys are seen.",
            "How many keys does the last query see?",
        ),
    },
)


def causal_mask(query_len, key_len):
    query = np.arange(key_len - query_len, key_len)[:, None]
    return np.arange(key_len) <= query


def first_corner(query_len, key_len):
    return np.arange(key_len) <= np.arange(query_len)[:, None]


def blind(query_len, key_len):
    query = np.arange(key_len - query_len, key_len)[:, None]
    return np.arange(key_len) < query


def window(query_len, key_len):
    query = np.arange(key_len - query_len, key_len)[:, None]
    key = np.arange(key_len)
    return (key <= query) & (key > query - 4)


def allowed(query_len, key_len):
    if type(query_len) is not int or type(key_len) is not int:
        return "query_len and key_len must be whole numbers."
    if not 1 <= query_len <= key_len <= 64:
        return "There are 1 to 64 keys, and at most as many queries as keys."
    return ""


WRONG = {"FIRST_CORNER": first_corner, "BLIND": blind, "WINDOW": window}
KATA.judges(Versions(right=causal_mask, wrong=WRONG, allowed=allowed).complaint)
