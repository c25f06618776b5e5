"""Judge what is there of a kata of several parts while others are not written.

A part is an entry point: a function or a class. A call of an unwritten part is not sent to the worker. Where
the kata observes answers, an `Absent` value stands for its result, and the answers that hold one are left
out. A law that calls such a part waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from grader.expect import SubmissionFailed
from grader.kata import Kata
from grader.report import Part
from grader.values.arrays import leaves
from grader.worker.calls import Call, Calls, Skip
from grader.worker.client import WorkerLost
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student


class NotWritten(Skip):
    """The case needs a part that is not written."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part


class Absent:
    """Stands for the result of an unwritten part, for its attributes and for what is computed from it."""

    def __init__(self, part: str) -> None:
        self.part = part

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("_"):
            raise NotWritten(self.part)
        return self

    def __call__(self, *_: Any, **__: Any) -> Absent:
        return self

    def __getitem__(self, _: Any) -> Absent:
        return self

    def __len__(self) -> int:
        raise NotWritten(self.part)

    def __bool__(self) -> bool:
        raise NotWritten(self.part)

    def __iter__(self) -> Iterator[Any]:
        raise NotWritten(self.part)


def absent_in(value: Any) -> str:
    """Return the unwritten part that a value stands for or holds; empty if there is none."""
    if isinstance(value, Absent):
        return value.part
    if type(value) in (list, tuple, dict):
        items = value.values() if type(value) is dict else value
        return next(filter(None, map(absent_in, items)), "")
    return ""


def _handles(value: Any) -> Iterator[int]:
    if isinstance(value, Handle):
        yield value.id
    elif type(value) in (list, tuple, dict):
        for item in value.values() if type(value) is dict else value:
            yield from _handles(item)


@dataclass
class Reached:
    """The parts that one case has called, and the unwritten ones that it needs. `last` is the part of the
    last call; `fails` says whether the case fails, None if it waits, and `raises` whether a call raised.
    `needs` are the unwritten parts by written ones that could not be called without them, and `wrong` the
    parts whose own answers differ from the reference's."""

    called: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    last: str = ""
    fails: bool | None = None
    raises: bool = False
    needs: dict[str, set[str]] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)

    def add(self, other: Reached) -> None:
        """Add what another case, or an earlier run of this one, has called."""
        self.called |= other.called
        self.missing |= other.missing
        self.last = other.last or self.last
        self.wrong |= other.wrong
        for part, missing in other.needs.items():
            self.needs.setdefault(part, set()).update(missing)


@dataclass(frozen=True)
class Parts:
    """The parts of a submission, of which some are not written; these have their lines."""

    names: tuple[str, ...]
    unwritten: Mapping[str, range]


class JudgedParts:
    """The parts of a submission, and what each check has judged of them: `cases` are by name of the check."""

    def __init__(self, parts: Parts, cases: Mapping[str, Sequence[Reached]]) -> None:
        self.names, self.unwritten, self.cases = parts.names, parts.unwritten, cases
        every = Reached()
        for reached in chain.from_iterable(cases.values()):
            every.add(reached)
        self.needs, self.wrong = every.needs, every.wrong

    def missing_of(self, check: str) -> list[str]:
        """Return the unwritten parts that a check needs, in the kata's order."""
        cases = self.cases.get(check, [])
        needed = [self.needs.get(name, set()) for case in cases for name in case.called]
        found = set().union(*(case.missing for case in cases), *needed)
        return [name for name in self.names if name in found]

    def judged_of(self, check: str) -> tuple[set[str], set[str]]:
        """Return the parts that a check has judged, and all that it calls. A part that calls an unwritten one
        in any case of the kata is not judged until that is written."""
        cases = self.cases.get(check, [])
        called = set().union(*(case.called for case in cases))
        judged = set().union(*(case.called for case in cases if case.fails is not None))
        return judged - set(self.unwritten) - set(self.needs), called

    def share(self, check: str, points: int) -> int:
        """Return the points of a check that holds for its written parts: as many as it has judged of all."""
        if not self.missing_of(check):
            return points
        judged, called = self.judged_of(check)
        return points * len(judged) // len(called)

    def message(self, check: str) -> str:
        """Return for which parts a check waits, as a sentence; empty if it waits for none."""
        missing = " and ".join(self.missing_of(check))
        if not missing:
            return ""
        lead = "Judged without" if self.judged_of(check)[0] else "Needs"
        return f"{lead} {missing}, which {'are' if ' and ' in missing else 'is'} not written."

    def verdicts(self) -> tuple[Part, ...]:
        """Return the verdict on each part."""
        wrong = set(self.wrong)
        failing = [case for cases in self.cases.values() for case in cases if case.fails]
        suspects = [{case.last} if case.raises else case.called - set(self.unwritten) for case in failing]
        for parts in sorted(suspects, key=len):  # first those that leave no choice
            wrong |= set() if parts & wrong else parts
        judged = [self.judged_of(check)[0] for check in self.cases]  # agreement with the reference runs first
        compared, all_judged = set().union(*judged[:1]), set().union(*judged)
        return tuple(self._verdict(name, wrong, compared, all_judged) for name in self.names)

    def _verdict(self, name: str, wrong: set[str], compared: set[str], judged: set[str]) -> Part:
        if name in self.unwritten:
            return Part(name, "not_written")
        if name in wrong:
            return Part(name, "failed")
        if name in judged:
            return Part(name, "passed" if name in compared else "partly")
        return Part(name, "waiting", tuple(n for n in self.names if n in self.needs.get(name, ())))


class PartsStudent(Student):
    """The student of one case, without the parts that are not written."""

    def __init__(self, student: Student, parts: Parts) -> None:
        super().__init__()
        self.reached = Reached()
        self._student, self._parts = student, parts
        self._observes = ""  # the part that is absent while the kata observes
        self._is_observed = False
        self._owners: dict[int, str] = {}  # the part that made an object, by its id
        self._stale: dict[int, str] = {}  # objects that an unwritten part should have changed

    def perform(self, request: Request) -> Outcome:
        """Carry out a request of written parts. Raises SubmissionFailed, WorkerLost, NotWritten."""
        part = self.part_of(request.name, request.target)
        if part:
            self.reached.called.add(part)
            self.reached.last = part
        missing = part if part in self._parts.unwritten else absent_in([request.args, request.kwargs])
        if not missing and request.target and request.target.id in self._stale:
            return self._without(request, "", self._stale[request.target.id])
        if missing:
            return self._without(request, part, missing)
        try:
            outcome = self._student.perform(request)
        except SubmissionFailed as failure:
            missing = self._stub_at(failure)
            if not missing:
                raise
            return self._without(request, part, missing)
        if part and isinstance(outcome.value, Handle):
            self._owners[outcome.value.id] = part
        return outcome

    def _without(self, request: Request, part: str, missing: str) -> Outcome:
        """Return what stands for the result of a request that needs an unwritten part, for which `part`
        waits. Raises NotWritten."""
        self.reached.missing.add(missing)
        if part and part not in self._parts.unwritten:
            self.reached.needs.setdefault(part, set()).add(missing)
        self._stale |= dict.fromkeys(_handles([request.args, request.kwargs]), missing)
        self._observes = missing
        if not self._is_observed or request.name == "__len__" or request.options.measure == "gradients":
            raise NotWritten(missing)
        return Outcome(Absent(missing))

    def part_of(self, name: str, target: Handle | None) -> str:
        """Return the part that a call belongs to; empty if it belongs to none."""
        if target is not None:
            return self._owners.get(target.id, "")
        return name if name in self._parts.names else ""

    def _stub_at(self, failure: SubmissionFailed) -> str:
        """Return the unwritten part in which a call has raised; empty if it was elsewhere."""
        if failure.kinds[0] != "NotImplementedError":
            return ""
        return next((name for name, lines in self._parts.unwritten.items() if failure.line in lines), "")

    def observing(self, kata: Kata) -> Kata:
        """Return the kata with the answers of this student left out that need an unwritten part."""

        def observe(student: Student, **case: Any) -> dict[str, Any]:
            self._is_observed, self._observes = True, ""
            try:
                seen = dict(kata.observed(student, case))
            except (SubmissionFailed, WorkerLost, NotWritten):
                raise
            except Exception:
                if self._observes:  # it cannot use what stands for a result
                    raise NotWritten(self._observes) from None
                raise
            finally:
                self._is_observed = False
            kept = {name: value for name, value in seen.items() if not absent_in(value)}
            if not kept and self._observes:
                raise NotWritten(self._observes)
            return kept

        return replace(kata, _observe=observe)

    def answering(self, name: str, value: Any, calls: list[Call]) -> set[str]:
        """Return the part that gave an answer to an observed case: the one that returned it, or that has its
        name, or the only one that was called. Return none if there are several."""
        returned = [call for call in calls if _holds(call.value, value)]
        named = [part for part in self._parts.names if name.startswith(part)]
        found = {self.part_of(call.name, call.target) for call in returned[:1]} - {""} or set(named)
        found = found or self.reached.called - set(self._parts.unwritten)
        return found if len(found) == 1 else set()


def _holds(value: Any, part: Any) -> bool:
    return any(leaf is part for leaf in (value, *leaves(value)))


def written_calls(calls: Calls) -> Calls:
    """Return the calls without those of unwritten parts."""
    written = [
        tuple(call for call in some if not absent_in(call.value)) for some in (calls.requests, calls.earlier)
    ]
    return Calls(*written)
