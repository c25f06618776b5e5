"""Grade a submission: load it in a worker, run every check, name the mistake and compute the score."""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

import grader
from grader.answer_keys.file import Keyring
from grader.cases import generation
from grader.cases.oracle import Oracle
from grader.checks.base import PreparedKata
from grader.checks.builtin import checks_of
from grader.checks.questions import written_answers
from grader.checks.runner import CheckResult, unearned
from grader.course.catalog import Course, KataInfo
from grader.course.files import text_of
from grader.course.general_mistakes import GENERAL
from grader.course.submission import Submission, first_use
from grader.grading.missing_return import missing_return, reported_once
from grader.grading.report_builder import as_check, as_repair, in_torch, shown
from grader.grading.snippet import signatures_of
from grader.grading.submission_run import JudgingStopped, SubmissionRun, limited
from grader.kata import Kata, Library, hundredths
from grader.report import CheckReport, Cost, Isolation, KataReport, Mistake, Part, Provenance
from grader.report_texts import bounded, with_places
from grader.worker.fork_server import WorkerFactory

if TYPE_CHECKING:
    from grader.diagnosis.matcher import MistakeMatcher, Naming
    from grader.diagnosis.repair import RepairSearch
    from grader.diagnosis.search_options import SearchOptions

PASSES_FROM = 75  # percent of the questions of a kata of questions
NAMING_SECONDS = 4.0  # of CPU time for the search for the mistake


@dataclass
class Graded:
    """The report of a submission, and how to begin a search for the place of its mistake: None if there is
    nothing to search, because the submission passes or its mistake has a name."""

    report: KataReport
    begin_search: Callable[[SearchOptions], RepairSearch] | None = None
    search_seconds: float = 0.0  # the CPU time of the search

    def locate(self, options: SearchOptions) -> KataReport:
        """Search, and return the report with the places that are found. An error of the search ends it."""
        if self.begin_search is None or options.seconds <= 0:
            return self.report
        search = self.begin_search(options)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(Exception, JudgingStopped), limited(options.seconds):
                search.run()
        self.search_seconds = search.clock.spent
        repairs = tuple(as_repair(place, search.submission.source) for place in search.places)
        self.report = with_places(self.report, repairs)
        return self.report


class Grader:
    """Grades submissions of one course: prepares each kata once and starts a worker for each submission."""

    def __init__(
        self,
        course: Course,
        factories: Mapping[str, WorkerFactory],
        device: str = "cpu",
        seed: int = generation.SEED,
        keyring: Keyring | None = None,
    ) -> None:
        self.course, self.factories, self.device, self.seed = course, factories, device, seed
        self.keyring = keyring
        self._isolation: Isolation | None = None
        self._prepared: dict[tuple[str, str], PreparedKata] = {}  # by kata and library of the answer
        #: Whether a running grading is of no use any more; it then raises Outdated.
        self.is_outdated: Callable[[], bool] = lambda: False
        self.matchers: dict[str, MistakeMatcher] = {}  # by kata; filled when a submission fails
        self._run: SubmissionRun | None = None  # that judges now
        self._step = ""  # what is done besides

    @property
    def doing(self) -> str:
        """What a running grading does, in words: the check that is judged, and the first call that was
        stopped; "" between gradings."""
        run = self._run
        if run is None:
            return self._step
        return f"{run.losses[0]} {run.judges}" if run.losses else run.judges

    @property
    def isolation(self) -> Isolation:
        """The protections that were in force for every worker so far."""
        return self._isolation or Isolation()

    @property
    def provenance(self) -> Provenance:
        """The versions of the grader and its libraries; PyTorch's only if it is imported, or an answer was
        judged in it."""
        torch = sys.modules.get("torch")
        uses_torch = any(library == "torch" for _, library in self._prepared)
        return Provenance(
            grader.__version__,
            ".".join(map(str, sys.version_info[:3])),
            np.__version__,
            str(torch.__version__) if torch else _installed("torch") if uses_torch else "",
            self.keyring.digest if self.keyring else "",
        )

    def note_isolation(self, found: Isolation) -> None:
        """Record the protections that a worker reported before it loaded a submission."""
        self._isolation = self._isolation.weakened_by(found) if self._isolation else found

    def prepare(self, info: KataInfo, library: str = "") -> PreparedKata:
        """Return the declaration, the oracle and the checks of a kata, loaded once. For answers in another
        `library` than the kata's the oracle is the same, which holds the kata's own arrays."""
        key = info.name, library or info.library
        if key not in self._prepared:
            if key[1] == info.library:
                kata = self.course.declaration(info)
                recorded = self.keyring.kata(info) if self.keyring else None
                oracle = Oracle(kata, self.course, info, self.seed, recorded=recorded)
            else:
                own = self.prepare(info)
                kata, oracle = replace(own.kata, library=cast("Library", key[1])), own.oracle
            self._prepared[key] = PreparedKata(info, kata, oracle, checks_of(kata, oracle))
        return self._prepared[key]

    def matcher(self, prepared: PreparedKata) -> MistakeMatcher:
        """Return the matcher of a kata's mistakes, created when the first submission fails."""
        from grader.diagnosis.known_mistakes import known_mistakes
        from grader.diagnosis.matcher import matcher_of  # a submission that passes does not need it

        name, prepared = prepared.info.name, self.prepare(prepared.info)  # mistakes are in the kata's library
        if name not in self.matchers:
            self.matchers[name] = matcher_of(prepared.kata, known_mistakes(self.course, prepared))
        return self.matchers[name]

    def grade(self, submission: Submission) -> Graded:
        """Grade one submission, even if it crashes. Raises SubmissionRejected if the file cannot be loaded,
        and Outdated."""
        began = time.monotonic()
        if submission.as_tensors:
            self.factories[submission.library]  # starts while the kata is loaded
        self._step = "preparing the cases"
        prepared = self.prepare(submission.info, submission.library)
        broken = _check_rules(prepared.kata, submission)
        judged = _Judged(broken) if broken else self._judge(prepared, submission)
        self._step = ""
        checks = self._note_shortcuts(prepared.kata, submission, judged.checks)
        passed = not judged.parts and all(check.status in ("passed", "skipped") for check in checks)
        if prepared.kata.questions:
            passed = sum(check.score for check in checks) >= PASSES_FROM * len(prepared.kata.questions)
        report = KataReport(
            submission.info.name,
            submission.info.track,
            "passed" if passed else "failed",
            submission.info.max_score,
            time.monotonic() - began,
            checks=tuple(checks),
            output=judged.output,
            digest=hashlib.sha256(submission.source.encode()).hexdigest(),
            cost=judged.cost if passed else None,
            parts=judged.parts,
            library=submission.library if submission.as_tensors else "",
        )
        return Graded(bounded(report), self._search_of(prepared, submission, judged.unexplained))

    def _search_of(
        self, prepared: PreparedKata, submission: Submission, unexplained: list[CheckResult]
    ) -> Callable[[SearchOptions], RepairSearch] | None:
        """Return how to begin a search; None if no result needs one, or if it would answer a question."""
        if not unexplained or prepared.kata.questions:
            return None

        def begin(options: SearchOptions) -> RepairSearch:
            from grader.diagnosis.repair import RepairSearch  # most gradings do not need it

            factory = self.factories[prepared.kata.library]
            return RepairSearch(prepared, submission, factory, self.device, unexplained, options)

        return begin

    def _note_shortcuts(
        self, kata: Kata, submission: Submission, checks: list[CheckReport]
    ) -> list[CheckReport]:
        """Return the checks with a note if a library function does all of the kata. With `by_hand` in the
        syllabus, the check of agreement with the reference then fails."""
        if not kata.shortcuts or checks[0].status != "passed":
            return checks
        used = first_use(submission.source, kata.shortcuts, methods=True)
        if used is None:
            return checks
        note = f"Line {used[1]} uses {used[0]}, which does what this kata is about."
        if self.course.syllabus.by_hand:
            note += " In this course it is built by hand."
            return [replace(checks[0], status="failed", score=0, message=note), *checks[1:]]
        return [replace(checks[0], message=f"{note} The points stand."), *checks[1:]]

    def _judge(self, prepared: PreparedKata, submission: Submission) -> _Judged:
        source = submission.source
        run = SubmissionRun(
            self.factories, self.device, prepared, submission, self.note_isolation, self.is_outdated
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a law computes with wrong answers, which may overflow
            try:
                self._run = run
                results = run.run_all()
                failed = [result for result in results if result.failures]
                stub = text_of(self.course.stub(prepared.info)) if failed else ""
                names = signatures_of(stub) | signatures_of(source)
                told = {f.check.name: shown(f, prepared.kata, names, submission.as_tensors) for f in failed}
                printed = {f.check.name: run.printed_for(f, told[f.check.name][0]) for f in failed}
                cost = None if failed or run.parts else run.cost()
            finally:
                self._run = None
                run.close()
            self._step = "naming the mistake"
            missing = missing_return(results, source) if failed else None
            mistakes = self._named(prepared, results, source) if failed and not missing else {}
            free = unearned(results, run.context)
            checks = [
                as_check(
                    f,
                    prepared.kata,
                    mistakes.get(f.check.name),
                    free.get(f.check.name, ""),
                    source,
                    printed.get(f.check.name, ""),
                    stub,
                    run.parts,
                    submission.as_tensors,
                    told.get(f.check.name),
                )
                for f in results
            ]
            if submission.as_tensors:
                checks = list(map(in_torch, checks))
            checks = reported_once(checks, missing) if missing else checks
            checks += written_answers(prepared.kata, source)
            # a general name says no place
            own = [m for m in mistakes.values() if m.certain and m.id not in GENERAL]
            explained = not failed or missing or own or run.parts or _raises_unwritten(source, results)
            parts = run.parts.verdicts() if run.parts else ()
            return _Judged(checks, run.printed, cost, [] if explained else results, parts)

    def _named(self, prepared: PreparedKata, results: list[CheckResult], source: str) -> dict[str, Mistake]:
        """Return the mistakes that explain failed checks, as far as they are found in NAMING_SECONDS."""
        naming: Naming | None = None
        with suppress(JudgingStopped, MemoryError), limited(NAMING_SECONDS):
            naming = self.matcher(prepared).naming(results, source)
            naming.run()
        return naming.found if naming else {}


def _installed(package: str) -> str:
    from importlib.metadata import version  # takes longer to import than a kata to judge

    return version(package)


@dataclass
class _Judged:
    """The checks of a submission, what it printed, what it costs if it passes, and all results if no mistake
    explains them and every part is written; the verdict on each part if some are not."""

    checks: list[CheckReport]
    output: str = ""
    cost: Cost | None = None
    unexplained: list[CheckResult] = field(default_factory=list)
    parts: tuple[Part, ...] = ()


def _raises_unwritten(source: str, results: list[CheckResult]) -> bool:
    """Return whether a part of the submission is not written yet; PyTorch raises this error as well."""
    if "NotImplementedError" not in source:
        return False
    calls = (call for result in results for failure in result.failures for call in failure.trace)
    return any("NotImplementedError" in call.error for call in calls)


def _check_rules(kata: Kata, submission: Submission) -> list[CheckReport]:
    """Return one failed check if the source breaks a rule of the kata, else an empty list."""
    for rule in kata.rules:
        broken = first_use(submission.source, rule.forbidden)
        if broken:
            message = f"A rule of this kata is broken: line {broken[1]} uses {broken[0]}. {rule.because}"
            points = hundredths(kata.points)
            return [
                CheckReport(
                    "keeps_the_rules", "The code keeps the rules of the kata.", "failed", 0, points, message
                )
            ]
    return []
