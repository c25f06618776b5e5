"""Try what takes no thought: an argument handed back, zeros, ones, NaN, the first answer again, or None.

Each trivial answer takes the place of all entry points of the reference. Modules keep their parameters, and
objects of other classes never change. Arrays on a device get it as their numbers. It is judged in this
process, as mistakes are.
"""

from __future__ import annotations

import copy
import inspect
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from dojo_authoring.verify.time_limit import limited_time
from grader.checks.builtin import agrees_with_reference
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.points import points_of
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course, load_file
from grader.values.arrays import in_leaves
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.outlines import ArrayOutline, stored

MOST_TRIVIAL = 10  # hundredths that a trivial answer may earn of each point of a kata
Answer = Callable[[Any, list[Any]], Any]  # from the right result, and the arguments in their order


def points_of_trivial_answers(course: Course, prepared: PreparedKata) -> dict[str, int]:
    """Return the points in hundredths of each trivial answer, by what it does. Raises TookTooLong."""
    info, found = prepared.info, {}
    reference = load_file(f"dojo_reference_{info.name}", course.solution(info, "reference"))
    entries = {name: getattr(reference, name) for name in prepared.kata.entry_points}
    for what, answer in _answers(entries).items():
        with limited_time(course, info):
            found[what] = _points(prepared, entries, answer)
    return found


def _answers(entries: dict[str, Any]) -> dict[str, Answer]:
    """Return the trivial answers to a kata with these entry points."""
    functions = [
        function
        for entry in entries.values()
        for function in (_methods(entry).values() if isinstance(entry, type) else [entry])
    ]
    longest = max(
        (list(inspect.signature(function).parameters) for function in functions), key=len, default=[]
    )
    longest = [name for name in longest if name != "self"]
    back: dict[str, Answer] = {f"hands back `{name}`": _handing_back(at) for at, name in enumerate(longest)}
    return {
        **back,
        "zeros": lambda right, _: in_leaves(lambda leaf: _filled(leaf, 0), right),
        "ones": lambda right, _: in_leaves(lambda leaf: _filled(leaf, 1), right),
        "NaN": lambda right, _: in_leaves(lambda leaf: _filled(leaf, float("nan")), right),
        "the first answer again": _repeating([]),
        "None": lambda *_: None,
    }


def _repeating(kept: list[Any]) -> Answer:
    def answer(right: Any, _: list[Any]) -> Any:
        kept.append(right)
        del kept[1:]
        return kept[0]

    return answer


def _methods(kind: type) -> dict[str, Any]:
    """Return the public methods that the course's own code gives a class."""
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if method.__module__ == kind.__module__ and (not name.startswith("_") or name == "__call__")
    }


def _handing_back(position: int) -> Answer:
    def answer(right: Any, given: list[Any]) -> Any:
        value = given[min(position, len(given) - 1)] if given else None
        is_one_of_several = type(right) is tuple and type(value) is not tuple
        return tuple(value for _ in right) if is_one_of_several else value

    return answer


def _filled(leaf: Any, number: float) -> Any:
    """Return an array or a number with one number everywhere, as far as its dtype holds it."""
    if isinstance(leaf, bool | int | float):
        return number if number != number else type(leaf)(number)
    if not hasattr(leaf, "dtype"):
        return "" if isinstance(leaf, str) else leaf
    if number != number and "float" not in str(leaf.dtype):
        return leaf * 0
    if isinstance(leaf, np.ndarray | np.generic):
        return np.full_like(leaf, number)
    return leaf.new_full(leaf.shape, number)


def _in_place_of(entry: Any, answer: Answer) -> Any:
    """Return a function or a class that gives the trivial answer in each call."""
    if not isinstance(entry, type):
        return _replaced(entry, answer, is_module=False)
    is_module = hasattr(entry, "forward")
    methods = {
        name: _replaced(method, answer, is_module=is_module, skipped=1)
        for name, method in _methods(entry).items()
    }
    return type(entry.__name__, (entry,), {**methods, "__module__": entry.__module__})


def _replaced(right: Any, answer: Answer, *, is_module: bool, skipped: int = 0) -> Any:
    signature = inspect.signature(right)

    def replacement(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = list(bound.arguments.values())[skipped:]
        arrays = [value for value in given if isinstance(value, ArrayOutline)]
        if arrays:
            return _store(
                arrays, answer([np.zeros(one.shape, stored(one.type_name)) for one in arrays], given)
            )
        own = [] if not skipped else [args[0] if is_module else copy.deepcopy(args[0])]
        value: Any = 0.0  # for arguments that the right answer refuses
        with suppress(Exception):
            value = right(*own, *copy.deepcopy(args[skipped:]), **kwargs)
        return copy.deepcopy(answer(value, given)) if value is not None else None

    return replacement


def _store(arrays: list[ArrayOutline], values: Any) -> None:
    """Write what a trivial answer has to arrays on a device, as a kernel with one program would."""
    if not isinstance(values, list):
        return
    arrays[0].access("launch", "trivial", [1], [one.name for one in arrays])
    for array, numbers in zip(arrays, values, strict=True):
        entries = np.arange(numbers.size)
        array.access("store", 0, 0, entries, None, numbers.reshape(-1))


def _points(prepared: PreparedKata, entries: dict[str, Any], answer: Answer) -> int:
    """Return the points of a trivial answer in hundredths. The checks that compare nothing with the reference
    are run only if the others find an answer that tells more."""
    replaced = {name: _in_place_of(entry, answer) for name, entry in entries.items()}
    module = types.SimpleNamespace(**replaced, __name__=prepared.info.name)
    context = CheckContext(prepared.kata, prepared.oracle, LocalStudent(module))
    comparing = [check for check in prepared.checks if check.judge is agrees_with_reference]
    results = _results(comparing, context)
    if not points_of(results, context).total:
        return 0
    others = {r.check.name: r for r in _results([c for c in prepared.checks if c not in comparing], context)}
    found = {result.check.name: result for result in results} | others
    results = [found[check.name] for check in prepared.checks]
    return points_of(results, context).total


def _results(checks: list[Check], context: CheckContext) -> list[CheckResult]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a law may compute with wrong answers that overflow
        return [run_check(check, context) for check in checks]
