"""Say what an exception hides: the known mistakes that are left where a change of one spot stops it.

A changed submission is judged by every check and named like any other one. It counts if it fails nothing that
the submission passes, if every call that raised comes as far as before, and if certain mistakes explain all
that it fails. A change that leaves something out, or computes something else, does not count: this would look
like a mistake of the submission.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.diagnosis.compared_failures import ComparedFailure
from grader.diagnosis.matcher import MistakeMatcher
from grader.edits.candidates import EditPlace, place_of_edit
from grader.edits.context import MODULES
from grader.edits.walk import Edit
from grader.report import CheckReport, Mistake

FACT = "Changing only this spot stops the exception: {}. What still fails then has {} named."
MOST_JUDGED = 6  # changed submissions that are judged by every check
#: Attributes that keep all numbers.
KEEPING = {
    *("reshape", "view", "transpose", "swapaxes", "permute", "T", "mT", "unsqueeze", "contiguous", "copy"),
    *("clone", "astype", "to", "float", "double", "long", "bool", "dtype", "float32", "float64", "int64"),
}
COMPUTING = ast.BinOp | ast.Compare | ast.BoolOp | ast.IfExp


@dataclass(frozen=True)
class LineMend:
    """A submission with one edit that keeps all numbers and stops an exception, and the goals that it fails,
    without exceptions."""

    edit: Edit
    source: str
    failed: Sequence[tuple[Check, Case, Failure]]


@dataclass(frozen=True)
class HiddenMistakes:
    """Where a change stops the exceptions, and by name of the check the mistakes that explain the rest."""

    edited: EditPlace
    mistakes: Mapping[str, Mistake]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for one in self.mistakes.values() for name in one.id.split(" and "))

    @property
    def place(self) -> EditPlace:
        """The place with what the runs have shown."""
        others = "another reason, which is" if len(self.names) == 1 else "other reasons, which are"
        return replace(self.edited, fact=FACT.format(self.edited.kind, others))

    def added_to(self, checks: Sequence[CheckReport]) -> tuple[CheckReport, ...]:
        """Return the reports of checks with the mistakes. They explain the wrong values; if there are none,
        they are said beside the exceptions."""
        explained = [check for check in checks if check.name in self.mistakes]
        with_values = [check.name for check in explained if check.status == "failed"]
        shown = with_values or [check.name for check in explained if check.status == "error"]
        return tuple(self._added(check) if check.name in shown else check for check in checks)

    def _added(self, check: CheckReport) -> CheckReport:
        known, hidden = check.mistake, self.mistakes[check.name]
        if known and known.certain and known.id != hidden.id:
            return check
        return replace(check, mistake=replace(hidden, partial=check.status == "error"))


def raising(results: Iterable[CheckResult]) -> set[tuple[str, int]]:
    """Return the cases in which a submission raises, as the name of the check and the index."""
    return {(r.check.name, f.case.index) for r in results for f in r.failures if f.status == "error"}


def hidden_mistakes(
    mends: Iterable[LineMend],
    matcher: MistakeMatcher,
    own: Sequence[CheckResult],
    judged: Callable[[str], Sequence[CheckResult] | None],
) -> HiddenMistakes | None:
    """Return the fewest mistakes that are left where a change stops the exceptions of a submission with its
    `own` results; None if two changes leave different ones. `judged` returns the results of a source, None if
    it cannot be judged or the time is over."""
    found: list[HiddenMistakes] = []
    likely = (mend for mend in mends if _may_be_named(mend, matcher, own))
    for mend in islice(likely, MOST_JUDGED):
        results = judged(mend.source)
        if results is None or raising(results) or not _comes_as_far(results, own):
            continue
        naming = matcher.naming(results, mend.source)
        naming.run()
        if naming.found and naming.is_explained:
            found.append(HiddenMistakes(place_of_edit(mend.edit), naming.found))
    fewest = [one for one in found if len(one.names) == min(len(other.names) for other in found)]
    return fewest[0] if len({one.names for one in fewest}) == 1 else None


def _may_be_named(mend: LineMend, matcher: MistakeMatcher, own: Sequence[CheckResult]) -> bool:
    """Return whether some mistake answers each goal that the changed submission fails as it does, after as
    many calls as the submission has made."""
    checks = {result.check.name: result.check for result in own}
    reached = _calls(own)
    return all(
        len(failure.trace) >= reached.get((goal.name, case.index), 0)
        and any(
            outcome is not None and compared.matches(outcome)
            for mistake in matcher.mistakes
            for outcome in [mistake.outcome(checks[goal.name], case)]
        )
        for goal, case, failure in mend.failed
        for compared in [ComparedFailure(failure, mend.source)]
    )


def keeps_numbers(edit: Edit) -> bool:
    """Return whether an edit changes only shapes, dtypes, axes, keywords and where an entry is set: it leaves
    out no name and no part of the code, computes nothing new, and moves no statement, perhaps behind a
    `return`."""
    if edit.part in ("body", "orelse") and {*map(id, edit.old)} == {*map(id, edit.new)}:
        return False
    old, new = [*_parts(edit.old, edit.new)], [*_parts(edit.new, edit.old)]
    names, others = ({one.id for one in side if isinstance(one, ast.Name)} for side in (old, new))
    attributes = [{one.attr for one in side if isinstance(one, ast.Attribute)} for side in (old, new)]
    computing = [sum(isinstance(one, COMPUTING) or _is_cut(one) for one in side) for side in (old, new)]
    return (
        len(old) <= len(new)
        and names <= others <= names | {*MODULES, "IndexError"}
        and attributes[1] - attributes[0] <= KEEPING
        and computing[0] == computing[1]
    )


def _is_cut(node: ast.AST) -> bool:
    """Return whether a node takes a part of an array: an index other than `None`, `...` and `:`."""
    if not isinstance(node, ast.Subscript):
        return False
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(ast.unparse(one) not in ("None", "...", ":") for one in index)


def _parts(side: Any, other: Any) -> Iterator[ast.AST]:
    """Yield the nodes of one side of an edit, a node or a list of nodes, without those of both sides."""
    same = {*map(id, other)} if isinstance(other, list) else set()
    for node in side if isinstance(side, list) else [side]:
        if isinstance(node, ast.AST) and id(node) not in same:
            yield from ast.walk(node)


def _comes_as_far(results: Iterable[CheckResult], own: Sequence[CheckResult]) -> bool:
    """Return whether a changed submission fails no case that the submission passes, and no call before those
    that the complaints are about."""
    before, after = _calls(own), _calls(results)
    passed = {(r.check.name, case.index) for r in own for case in r.asked} - before.keys()
    return passed.isdisjoint(after) and all(count >= before.get(key, 0) for key, count in after.items())


def _calls(results: Iterable[CheckResult]) -> dict[tuple[str, int], int]:
    """Return the number of calls up to the one complained about, by failing case."""
    return {(r.check.name, f.case.index): len(f.trace) for r in results for f in r.failures}
