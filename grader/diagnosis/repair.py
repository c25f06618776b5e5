"""Search for the place of a mistake: a small edit of the submission that makes every check pass proves it.

The candidates are untrusted like the submission. A worker gets many of them at once, each with a failing
call, and answers in turn; the grader compares the answers. A candidate that agrees is judged by all checks
in a fresh worker.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.builtin import leaves_arguments_unchanged
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckAborted, CheckResult, Failure, judge_case, run_check
from grader.course.files import read
from grader.course.submission import Submission
from grader.diagnosis.hidden import HiddenMistakes, LineMend, hidden_mistakes, keeps_numbers, raising
from grader.diagnosis.matcher import MistakeMatcher
from grader.diagnosis.parting import Parting, parting_of
from grader.diagnosis.proved_places import (
    Label,
    Undone,
    changing_line,
    keeping,
    keeping_places,
    traced,
    widening_place,
)
from grader.diagnosis.search_options import SearchOptions
from grader.diagnosis.trial import Clock, Trial
from grader.diagnosis.wrong_numbers import mistake_at
from grader.edits.candidates import CallTrace, EditPlace, Sources, place_of_edit, ranked
from grader.edits.walk import Edit
from grader.expect import SubmissionFailed
from grader.reading.rules import first_use
from grader.report import Mistake
from grader.worker.batches import TOGETHER, run_together
from grader.worker.calls import CaseFailed
from grader.worker.client import Outdated, WorkerLost
from grader.worker.fork_server import WorkerFactory
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student

UNBOUND = re.compile(r"raised (?:NameError|UnboundLocalError): [^']*'(\w+)'")
MOST_PLACES = 3
MOST_GOALS = 4  # failing checks with which the goals begin, the cases that a candidate has to pass first
LONGER = 1.0  # how much longer to look for other places, as a share of the time until the first was tried
AT_LEAST = 0.15  # seconds to look for other places


@dataclass(frozen=True)
class Candidate:
    """The submission with one edit."""

    edit: Edit
    source: str


class CandidateStudent(Student):
    """A candidate among those of one batch; its source goes to the worker with its first request."""

    def __init__(self, student: Student, number: int, source: str) -> None:
        super().__init__()
        self._student, self._number, self._source = student, number, source

    def perform(self, request: Request) -> Outcome:
        request.candidate, request.source, self._source = self._number, self._source, ""
        return self._student.perform(request)


class SearchEnded(Exception):
    """No worker can be started, or the submission itself does not load, so there is nothing to search."""


class LostBy(Exception):
    """A candidate of a batch ended the worker, or was too slow."""

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        self.candidate = candidate


class RepairSearch:
    """The search for the places of one submission's mistake."""

    def __init__(  # noqa: PLR0913  # each has a class of its own
        self,
        prepared: PreparedKata,
        submission: Submission,
        factory: WorkerFactory,
        device: str,
        results: Sequence[CheckResult],
        options: SearchOptions,
        matcher: MistakeMatcher,
    ) -> None:
        self.prepared, self.submission, self.options = prepared, submission, options
        self.factory, self.device = factory, device
        self.results, self.matcher = results, matcher
        self.failing = [result for result in results if result.failures]
        passing = [result for result in results if result.asked and not result.failures]
        few = [*self.failing[:MOST_GOALS], *passing[:1]]  # so that no candidate breaks what is right
        raised = raising(self.failing)
        goals = (goal for result in few for goal in _goals(result))
        self.goals = sorted(goals, key=lambda goal: (goal.name, goal.cases[0].index) not in raised)
        self.raises, self.mends = bool(raised), list[LineMend]()  # candidates that stop the exceptions
        self.clock = Clock(options)
        self.trial: Trial | None = None
        self.judged = 0  # candidates
        self.places: list[EditPlace] = []
        self.parting: Parting | None = None  # where its numbers part from the right ones
        self.reasons: dict[str, Mistake] = {}  # that they do, by name of the check
        self.hidden: HiddenMistakes | None = None  # behind an exception

    def run(self) -> None:
        """Fill `places` with those where one edit makes every check pass, or of which a run shows a fact."""
        try:
            own = [result for result in self.failing if result.check.nature.of_state] or self.failing
            lines, kept = self._traced(own[0])
            if kept and self._locate_state(own, kept):
                return
            self._part()
            self._locate()
            if self.parting and self._name(self.parting):
                return
            if not self.places or any(not result.check.nature.is_traced for result in self.failing):
                failures = [failure for result in self.failing for failure in result.failures]
                raised = frozenset(failure.line for failure in failures if failure.line)
                unbound = next(filter(None, (UNBOUND.search(failure.message) for failure in failures)), None)
                arguments = [*next(_goals(own[0])).cases[0].arguments.values()]
                keys = tuple(dict.fromkeys(_keys(arguments)))
                self._search(CallTrace(frozenset(lines), raised, unbound[1] if unbound else "", keys))
                if self.mends and all(place.fact for place in self.places):
                    self.clock.begin_again()
                    self.hidden = hidden_mistakes(self.mends, self.matcher, self.results, self._results)
        except (Outdated, SearchEnded):
            pass
        finally:
            self._close()

    def _traced(self, result: CheckResult) -> tuple[set[int], dict[Label, int]]:
        """Return the lines that run in a failing case, and those that change something for later calls."""
        goal = next(_goals(result))
        try:
            student = traced(self._context(), goal, goal.cases[0])
        except (SubmissionFailed, WorkerLost, CheckAborted):
            self._close()
            return set(), {}
        return student.lines, student.kept

    def _locate_state(self, own: list[CheckResult], kept: dict[Label, int]) -> bool:
        """Add the lines that change something for later calls, if that makes the checks of `own` fail. Return
        whether it explains all that fails."""
        goals = [goal for result in own[:MOST_GOALS] for goal in _goals(result)]
        checks = [*goals, *(result.check for result in own)]
        passes = partial(self._passes, self.submission.source, checks)
        found = keeping(kept, lambda labels: not self.clock.is_over() and passes(labels))
        self.places += keeping_places(self.submission.source, {label: kept[label] for label in found})
        others = [result.check for result in self.failing if result not in own]
        return bool(self.places) and self._passes(self.submission.source, others, found)

    def _part(self) -> None:
        """Find where the numbers part from those of the reference, if it is at hand."""
        if self.prepared.oracle.recorded is not None or self.clock.is_over():
            return
        oracle = self.prepared.oracle
        reference = read(oracle.course.solution(oracle.info, "reference"))
        try:
            self.parting = parting_of(self.submission.source, reference, self.failing, self._context)
        except (SubmissionFailed, WorkerLost, CheckAborted):
            self._close()

    def _name(self, parting: Parting) -> bool:
        """Return whether a known mistake computes the wrong numbers. It is one of the reasons; if others
        explain all together with it, these are."""
        mistake = mistake_at(parting, self.matcher.mistakes, self.prepared.oracle)
        if mistake is None:
            return False
        self.reasons = {parting.check.name: Mistake(mistake.id, mistake.text, partial=True)}
        naming = self.matcher.naming(self.results, self.submission.source)
        naming.run_from(mistake)
        if naming.found and naming.is_explained:
            self.reasons = naming.found
        return True

    def _locate(self) -> None:
        """Add the places that runs of the submission prove: of a changed argument and of a wrong dtype."""
        for result in self.failing:
            check, case = result.check, min((f.case for f in result.failures), key=attrgetter("weight"))
            if not check.nature.is_traced or self.clock.is_over():
                continue
            try:
                context = self._context()
                if check.judge is leaves_arguments_unchanged:
                    place = changing_line(context, check, case)
                else:
                    own = replace(check, cases=[case])
                    keeps = partial(self._passes, checks=[own])
                    place = widening_place(self.submission.source, context, case, keeps)
            except (SubmissionFailed, CaseFailed, WorkerLost, CheckAborted):
                place = None
                self._close()
            self.places += [place] if place and self._is_new(place) else []

    def _search(self, trace: CallTrace) -> None:
        tree = ast.parse(self.submission.source)
        candidates = self._candidates(tree, trace)
        while not self.clock.is_over() and (batch := list(islice(candidates, TOGETHER))):
            passing, spent = self._passing(batch), self.clock.spent
            while passing:
                candidate, *passing = passing
                if self._is_new(place := place_of_edit(candidate.edit)):
                    if self._passes_everything(candidate.source):
                        self._add(place, spent)
                    else:
                        if self._may_mend(candidate):
                            self.mends.append(LineMend(candidate.edit, candidate.source, ()))
                        passing = self._passing(passing)  # there are more goals now
                if len(self.places) == MOST_PLACES:
                    return

    def _candidates(self, tree: ast.Module, trace: CallTrace) -> Iterator[Candidate]:
        """Yield the candidates whose edits are not in a place that is already found."""
        sources = Sources(tree)
        seen = {sources.plain}
        for number, edit in enumerate(ranked(tree, self.prepared.kata.library, trace)):
            self.options.progress(number)
            source = sources.of(edit)
            if source not in seen and (not self.places or self._is_new(place_of_edit(edit))):
                yield Candidate(edit, source)
            seen.add(source)

    def _is_new(self, place: EditPlace) -> bool:
        return not any(map(place.overlaps, self.places))

    def _passing(self, batch: list[Candidate]) -> list[Candidate]:
        """Return the candidates that pass the goals. One that loses its worker is left out."""
        self.judged += len(batch)
        while batch and not self.clock.is_over():
            try:
                self.trial = self.trial or self._open_own()
                runs = [partial(self._passes_goals, n, candidate) for n, candidate in enumerate(batch, 1)]
                passed = list(run_together(self.trial.student, runs))
                return [candidate for candidate, passes in zip(batch, passed, strict=True) if passes]
            except LostBy as lost:
                self._close()
                batch = [candidate for candidate in batch if candidate is not lost.candidate]
        return []

    def _passes_goals(self, number: int, candidate: Candidate, student: Student) -> bool:
        """Return whether a candidate of a batch passes the goals. One that raises in none of them, where the
        submission does, is kept in `mends`. Raises LostBy."""
        student = CandidateStudent(student, number, candidate.source)
        context = CheckContext(self.prepared.kata, self.prepared.oracle, student)
        failed: list[tuple[Check, Case, Failure]] = []
        try:
            for check, case in [(goal, case) for goal in self.goals for case in goal.cases]:
                failure = judge_case(check, context, case, student).failure
                if failure and (failure.status == "error" or not self._may_mend(candidate)):
                    return False
                failed += [(check, case, failure)] if failure else []
        except CheckAborted:
            raise LostBy(candidate) from None
        if failed:
            self.mends.append(LineMend(candidate.edit, candidate.source, failed))
        return not failed

    def _may_mend(self, candidate: Candidate) -> bool:
        """Return whether a candidate may show what an exception hides."""
        return self.raises and keeps_numbers(candidate.edit)

    def _add(self, place: EditPlace, found_after: float) -> None:
        """Add a place whose edit was tried after so many seconds."""
        if all(one.fact for one in self.places):
            longer = max(AT_LEAST, LONGER * found_after)
            self.clock.limit = min(self.clock.limit, self.clock.spent + longer)
        self.places.append(place)

    def _passes(self, source: str, checks: list[Check], undo: Sequence[Label] = ()) -> bool:
        """Return whether a candidate passes the checks; a lost worker is replaced for the next one. Each call
        puts back the variables in `undo`."""
        try:
            context = self._context(source)
            context.student = Undone(context.student, [*undo]) if undo else context.student
            return all(not run_check(check, context).failures for check in checks)
        except (SubmissionFailed, WorkerLost, CheckAborted) as error:
            if not isinstance(error, SubmissionFailed):
                self._close()
            return False

    def _passes_everything(self, source: str) -> bool:
        """Return whether a candidate keeps the rules and passes every check, in a worker of its own. If not,
        what it has failed becomes a goal."""
        if not self._keeps_rules(source):
            return False
        failing = {result.check.name for result in self.failing}
        checks = sorted(self.prepared.checks, key=lambda check: check.name not in failing)
        try:
            with closing(self._open(source)) as trial:
                results = (run_check(check, trial.context) for check in checks)
                failed = next((result for result in results if result.failures), None)
                self.goals += _goals(failed) if failed else []
                return failed is None
        except (SubmissionFailed, WorkerLost, CheckAborted):
            return False

    def _results(self, source: str) -> list[CheckResult] | None:
        """Return the results of all checks of a candidate that keeps the rules, in a worker of its own."""
        if not self._keeps_rules(source):
            return None
        try:
            with closing(self._open(source)) as trial:
                return [run_check(check, trial.context) for check in self.prepared.checks]
        except (SubmissionFailed, WorkerLost, CheckAborted, Outdated):
            return None

    def _keeps_rules(self, source: str) -> bool:
        return not any(first_use(ast.parse(source), rule.forbidden) for rule in self.prepared.kata.rules)

    def _context(self, source: str = "", recorder: str = "") -> CheckContext:
        """Return a context of a source, or of the submission, that has just been loaded. `recorder` names
        what records in it. Raises SearchEnded, SubmissionFailed, WorkerLost."""
        if self.trial is None:
            self.trial = self._open_own()
            if not source:
                return self.trial.context
        return self.trial.load(source or self.submission.source, recorder)

    def _open(self, source: str) -> Trial:
        return Trial(self.prepared, self.submission, self.factory, self.device, self.clock, source)

    def _open_own(self) -> Trial:
        """Return a trial of the submission. Raises SearchEnded."""
        try:
            return self._open(self.submission.source)
        except (SubmissionFailed, WorkerLost):
            raise SearchEnded from None

    def _close(self) -> None:
        if self.trial is not None:
            self.trial.close()
            self.trial = None


def _goals(result: CheckResult) -> Iterator[Check]:
    """Yield the check with its smallest failing case, whose calls are the shortest, and with a medium one. Of
    a check that passes, they are passing cases."""
    check = result.check
    cases = sorted([failure.case for failure in result.failures] or result.asked, key=attrgetter("weight"))
    for case in dict.fromkeys([cases[0], cases[len(cases) // 2]]):
        yield Check(
            check.name, check.title, check.points, [case], check.judge, check.parameters, nature=check.nature
        )


def _keys(value: Any) -> Iterator[str]:
    """Yield the keys of the dictionaries inside the arguments of a call."""
    for inner in value if isinstance(value, list | tuple) else ():
        yield from _keys(inner)
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from [key] if isinstance(key, str) else []
        yield from _keys(inner)
