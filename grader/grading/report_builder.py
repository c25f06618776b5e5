"""Turn check results into the checks of a report: the call, the case, the expected value and the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from grader.checks.error_words import KEEPDIMS
from grader.checks.parts import JudgedParts
from grader.checks.points import Earned, points_of_check
from grader.checks.runner import CheckResult, Failure, fails_alike, smallest
from grader.course.torch_words import shape_in_torch, text_in_torch
from grader.grading.easier_case import is_extreme
from grader.grading.parameters import Signatures, signatures_of, with_parameters
from grader.grading.place_of_difference import place_in
from grader.grading.snippet import Script, script_of
from grader.kata import Kata
from grader.report import (
    CheckReport,
    CheckStatus,
    Mistake,
    Place,
    Repair,
)
from grader.texts.bounds import cut_pair
from grader.values.arrays import holds_arrays, is_contiguous
from grader.values.comparison import MOST_SHOWN, Difference
from grader.values.formatting import axis_names, describe, show

if TYPE_CHECKING:
    from grader.edits.candidates import EditPlace
from grader.grading.pictures import pictures_of
from grader.values.exchange import AS_IT_IS, ArrayExchange

#: The failure of a check that a report shows, and its call as code; None if it cannot be printed.
Told = tuple[Failure, Script | None]
NEW_LINE = re.compile(r"\r\n?|\n")  # as Python counts lines; `splitlines` counts form feeds too


def place_of(source: str, line: int | None, columns: tuple[int, int] | None) -> Place | None:
    """Return a line of the source, and the columns of an expression given in bytes; None if there is no such
    line."""
    lines = NEW_LINE.split(source)
    lines = lines if lines[-1] else lines[:-1]  # behind the end of the last line
    if line is None or not 1 <= line <= len(lines):
        return None
    text = lines[line - 1]
    if columns is None or not 0 <= columns[0] < columns[1] <= len(text.encode()):
        return Place(line, text)
    start, end = (len(text.encode()[:column].decode(errors="ignore")) for column in columns)
    return Place(line, text, start, end)


FEW_ROWS = 8  # of a call as code, for which no shorter one is looked for
SHORT = 300  # characters of a call as code, for which no easier case is looked for
MOST_TRIED = 6  # failing cases of a check beside the smallest, for a call that is shorter code
MOST_LEAVES = 12  # the most arrays of one dict or list that a report shows
DEVICE = re.compile(r" on that device: device=(.+?)\.device")
LINE = re.compile(r"\(line (\d+)\)")
REDUCTIONS = {
    *["sum", "mean", "max", "min", "amax", "amin", "var", "std", "prod", "norm", "median", "logsumexp"]
}
NOT_IN_TORCH = "all its cases hold integers that PyTorch lacks"
NUMBER, WORD = re.compile(r"_\d+$"), re.compile(r"\w+")


@dataclass(frozen=True)
class QuotedAnswer:
    """What reports quote of an answer: its source, which is not parsed if it is not plain; the names of its
    parameters, by default those that the source says; the parts of which some are not written; and what
    arrays are in the code of a failing call."""

    source: str = ""
    names: Signatures | None = None
    parts: JudgedParts | None = None
    exchange: ArrayExchange = AS_IT_IS
    is_plain: bool = True


def as_check(
    result: CheckResult,
    kata: Kata,
    mistake: Mistake | None,
    answer: QuotedAnswer,
    earned: Earned | None = None,
    shown_before: tuple[Told | None, str] = (None, ""),
) -> CheckReport:
    """Return the report of a check: the smallest input that fails, the mistake that explains it and, if the
    code raised, the line of its source. It has the points that are `earned`; without them, those that it
    earns by itself. `shown_before` is what `shown` returns, if known already, and what the submission
    printed for that input."""
    check, source = result.check, answer.source
    told, printed = shown_before
    earned = earned or points_of_check(result)
    if not result.failures:
        status: CheckStatus = "passed" if result.asked and (earned.points or not earned.why) else "skipped"
        message = earned.why
        if answer.parts is None and not result.asked and not message:
            status, message = result.status, f"Not judged: {result.prevented or NOT_IN_TORCH}."
        return CheckReport(
            check.name, check.title, status, earned.points, check.points, message, role=check.nature.role
        )
    names = signatures_of(source) if answer.names is None else answer.names
    failure, script = told or shown(result, kata, names, answer.exchange)
    difference, message = failure.difference, with_parameters(failure.message, failure, names)
    if difference and difference.what:  # the message has both values
        difference = None
    return CheckReport(
        check.name,
        check.title,
        failure.status,
        earned.points,
        check.points,
        message=fitting(message, source) if answer.is_plain else message,
        call="\n".join(script.shown) if script else None,
        counterexample=_counterexample(failure, script, kata),
        expected=difference.expected if difference else None,
        got=difference.got if difference else None,
        difference=difference.where if difference else None,
        came=_came(failure, difference) if difference else "",
        mistake=mistake,
        pictures=(failure.picture,) if failure.picture else pictures_of(difference, kata.axes),
        place=place_of(source, failure.line, failure.columns),
        snippet=script.code if script else "",
        printed=printed,
        role=check.nature.role,
        differs=check.nature.differs,
    )


def fitting(message: str, source: str) -> str:
    """Return the message without an advice that does not fit the source: a parameter that the function of the
    line does not have, or an axis that is kept where none is lost."""
    if KEEPDIMS not in message and not DEVICE.search(message):
        return message
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return message
    if KEEPDIMS in message and not any(map(_loses_an_axis, nodes)):
        message = message.replace(KEEPDIMS, "")
    found, line = DEVICE.search(message), LINE.search(message)
    if found is None or line is None:
        return message
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    around = [node for node in functions if node.lineno <= int(line[1]) <= (node.end_lineno or 0)]
    names = {part.arg for node in around for part in ast.walk(node.args) if isinstance(part, ast.arg)}
    return message if found[1] in names else message.replace(found[0], " on that device")


def _loses_an_axis(node: ast.AST) -> bool:
    """Return whether a call takes the sum, or something like it, and keeps no axis of length 1."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in REDUCTIONS and not {"keepdims", "keepdim"} & {key.arg for key in node.keywords}


def in_torch(check: CheckReport) -> CheckReport:
    """Return the report of a check in PyTorch's words. What the code raised is left as it is."""
    mistake, given = check.mistake, check.counterexample
    return replace(
        check,
        message=check.message if check.status == "error" else text_in_torch(check.message),
        counterexample=given and {name: shape_in_torch(text) for name, text in given.items()},
        expected=check.expected and shape_in_torch(check.expected),
        got=check.got and shape_in_torch(check.got),
        came=shape_in_torch(check.came),
        mistake=mistake and replace(mistake, text=text_in_torch(mistake.text)),
    )


def as_repair(place: EditPlace, source: str) -> Repair:
    """Return a place that a search has found, with its line of the source."""
    where = place_of(source, place.line, place.columns) or Place(place.line, "")
    return Repair(place.kind, where, place.fact)


def shown(
    result: CheckResult,
    kata: Kata,
    names: Signatures,
    exchange: ArrayExchange = AS_IT_IS,
    easier: Callable[[Failure], Iterable[Failure]] = lambda _: (),
) -> Told:
    """Return the failure that a report shows and its call: the smallest; one of the next whose call is
    shorter code; or the last of those on `easier` cases."""
    first = smallest(result)
    if not kata.kind.is_code:  # nothing is called
        return first, None

    def script(failure: Failure) -> Script | None:
        of_state = result.check.nature.of_state
        return script_of(failure, kata.name, names, of_state=of_state, exchange=exchange)

    found = first, script(first)
    if found[1] is None:
        return found
    alike = [failure for failure in result.failures if fails_alike(failure, first) and failure is not first]
    if found[1].rows > FEW_ROWS:
        for failure in sorted(alike, key=lambda failure: failure.case.weight)[:MOST_TRIED]:
            found = _shorter(found, (failure, script(failure)))
    is_long = found[1] is not None and found[1].length > SHORT
    if (is_long or is_extreme(first.case.arguments)) and first.status != "timeout":
        for failure in easier(first):
            found = _shorter((failure, script(failure)), found)
            if found[1] is not None and found[1].length <= SHORT:
                break
    return found


def _shorter(found: Told, other: Told) -> Told:
    """Return the one whose call is shorter code; the first of two that are as long."""
    if found[1] is None or other[1] is None:
        return found if found[1] is not None else other
    return other if other[1].length < found[1].length else found


def _came(failure: Failure, difference: Difference) -> str:
    """Return what came and what is expected where they first differ: in what the call that is shown returned,
    or in what the kata makes of it."""
    place = place_in(failure.call, difference) if failure.call else None
    where = difference.where if place is None else f"result{place}"
    if not where:  # the kata compares parts that the result does not have, as the message says
        return ""
    expected, got = cut_pair(*difference.entries, MOST_SHOWN)
    return f"{where}: {got}, expected {expected}"


def _counterexample(failure: Failure, script: Script | None, kata: Kata) -> dict[str, str] | None:
    """Return the variables of the calls that the report shows; the case if nothing was called."""
    if (shown := kata.kind.counterexample(failure.case.arguments)) is not None:
        return shown
    if script is None:
        return _show_values(failure.case.arguments, kata.axes)
    words = set(WORD.findall(" ".join(script.calls)))
    return _show_values({n: value for n, value in script.values.items() if n in words}, kata.axes)


def _show_values(values: dict[str, Any], axes: dict[str, str]) -> dict[str, str] | None:
    """Return the values of variables as text; a container of arrays has an entry for each of them."""
    shown: dict[str, str] = {}
    for name, value in values.items():
        leaves = _leaves(name, value)
        listed = leaves[:MOST_LEAVES]
        shown |= {where: _show_argument(leaf, _axes_of(where, axes, leaf)) for where, leaf in listed}
        if len(listed) < len(leaves):
            shown[f"{name}…"] = f"{len(leaves) - len(listed)} more arrays"
    return shown or None


def _axes_of(name: str, axes: dict[str, str], value: object) -> list[str]:
    """Return the names of an argument's axes; `x_2` is another `x`."""
    text = axes.get(name) or axes.get(NUMBER.sub("", name), "")
    return axis_names(text, len(getattr(value, "shape", ())))


def _leaves(name: str, value: object) -> list[tuple[str, object]]:
    """Return the arrays in nested dicts and lists with their names; any other value is one entry."""
    if not isinstance(value, dict | list | tuple) or not holds_arrays(value):
        return [(name, value)]
    items = value.items() if isinstance(value, dict) else enumerate(cast("list[object]", value))
    return [leaf for key, item in items for leaf in _leaves(f"{name}[{key!r}]", item)]


def _show_argument(value: object, axes: list[str]) -> str:
    text = show(value)
    if not hasattr(value, "shape"):
        return text
    layout = "" if is_contiguous(value) else ", not contiguous"
    return f"{text}    {describe(value, axes)}{layout}"
