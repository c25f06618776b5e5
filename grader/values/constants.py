"""Compare constants that stand as answers with those that are due, and say what is wrong with one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grader.values.formatting import describe_type, show

CLOSE = 0.005  # the largest relative error of a number with a fraction
EMPTY = "ellipsis"  # the type of `...`, which stands for an answer in a stub
TYPE_WORDS: Mapping[type, str] = {
    bool: "True or False",
    int: "a number",
    float: "a number",
    str: "a text in quotes",
    tuple: "a tuple such as (2, 3)",
}


def plain(value: Any) -> Any:
    """Return a list or an array as a tuple, and a number of NumPy as Python's, also in a dict."""
    if type(value) is dict:
        return {name: plain(item) for name, item in value.items()}
    if hasattr(type(value), "tolist"):  # a proxy would ask the worker for an attribute of its own
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value


def agrees(expected: Any, answer: Any) -> bool:
    """Return whether an answer is the expected one. Numbers with a fraction may differ by CLOSE, and texts in
    upper and lower case and in the spaces around them."""
    if _kind(expected) != _kind(answer):
        return False
    if isinstance(expected, dict):
        same = isinstance(answer, dict) and expected.keys() == answer.keys()
        return same and all(agrees(expected[name], answer[name]) for name in expected)
    if isinstance(expected, tuple):
        return len(expected) == len(answer) and all(map(agrees, expected, answer))
    if isinstance(expected, float):
        return math.isclose(expected, answer, rel_tol=CLOSE)
    if isinstance(expected, str):
        return bool(expected.strip().upper() == answer.strip().upper())
    return bool(expected == answer)


def what_is_wrong(name: str, expected: Any, answer: Any) -> str:
    """Return what is wrong with an answer, without the right one."""
    given = getattr(answer, "type_name", "") or describe_type(answer)  # a proxy knows the type in the worker
    if given == EMPTY:
        return f"{name} has no answer yet."
    if _kind(expected) != _kind(answer):
        return f"{name} is {_kind(answer) or given}, and {_kind(expected)} is expected."
    return f"{name} = {show(answer)} is not right."


def _kind(value: Any) -> str:
    """Return the kind of an answer, or "" if it is no answer."""
    return TYPE_WORDS.get(type(value), "")
