"""Grade a submission: judge it in a worker, name the mistake, make the report, and search for the place.

`Grader.grade` returns a `Graded`; nothing is written into it later.
"""

from __future__ import annotations

import gc
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

import grader
from grader.answer_keys.file import Keyring
from grader.cases import generation
from grader.cases.oracle import Oracle
from grader.checks.constants import written_answers
from grader.checks.context import PreparedKata
from grader.checks.kata_checks import checks_of
from grader.checks.points import Points, points_of
from grader.checks.runner import CheckResult
from grader.course.catalog import Course, KataInfo
from grader.course.files import text_of
from grader.course.general_mistakes import GENERAL
from grader.course.submission import Submission, first_use, parse, shortcut_in
from grader.grading.easier_case import MOST_TRIES, EasierCases, Retry
from grader.grading.missing_return import MissingReturn, missing_return, reported_once
from grader.grading.parameters import Signatures, signatures_of
from grader.grading.report_builder import QuotedAnswer, Told, as_check, as_repair, in_torch, shown
from grader.grading.submission_run import JudgedSubmission, WorkerReader, judge_submission
from grader.kata import Kata, Library, hundredths
from grader.processes.limits import JudgingStopped, limited
from grader.report import CheckReport, Isolation, KataReport, Mistake, Provenance
from grader.texts.bounds import bounded, with_places
from grader.worker.fork_server import WorkerFactory

if TYPE_CHECKING:
    from grader.diagnosis.matcher import MistakeMatcher, Naming
    from grader.diagnosis.search_options import SearchOptions

NAMING_SECONDS = 4.0  # of CPU time for the search for the mistake
Use = tuple[str, int]  # of a library function: its name and the line
GARBAGE = 10_000  # objects between two garbage collections: a mistake may build a list for a whole vocabulary


@dataclass(frozen=True)
class Unexplained:
    """A submission that fails for a reason without a name: what a search for the place of its mistake, and
    for what an exception hides, needs."""

    prepared: PreparedKata
    submission: Submission
    factory: WorkerFactory
    device: str
    results: Sequence[CheckResult]
    matcher: MistakeMatcher


class Located(NamedTuple):
    """A report with the places that a search has found, and the CPU time of the search."""

    report: KataReport
    seconds: float = 0.0


@dataclass(frozen=True)
class Graded:
    """The report of a submission; the isolation of its workers, None if none was started; and what is
    `unexplained`: None if the submission passes or its mistake has a name."""

    report: KataReport
    isolation: Isolation | None = None
    unexplained: Unexplained | None = None

    @property
    def is_searched(self) -> bool:
        """True if `locate` searches for the place of the mistake."""
        return self.unexplained is not None

    def locate(self, options: SearchOptions) -> Located:
        """Search for the place of the mistake, and return the report with the places that are found. An error
        of the search ends it."""
        if self.unexplained is None or options.seconds <= 0:
            return Located(self.report)
        from grader.diagnosis.repair import RepairSearch  # most gradings do not need it

        one = self.unexplained
        search = RepairSearch(
            one.prepared, one.submission, one.factory, one.device, one.results, options, one.matcher
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(Exception, JudgingStopped), limited(2 * options.seconds):
                search.run()
        places, report = search.places, self.report
        if search.hidden:
            places = [*places, search.hidden.place]
            report = bounded(replace(report, checks=search.hidden.added_to(report.checks)))
        elif search.reasons:
            report = bounded(replace(report, checks=_with_names(report.checks, search.reasons)))
        places = places or ([search.parting.place] if search.parting else [])
        repairs = tuple(as_repair(place, one.submission.source) for place in places)
        return Located(with_places(report, repairs), search.clock.spent)


def _with_names(checks: Iterable[CheckReport], found: Mapping[str, Mistake]) -> tuple[CheckReport, ...]:
    """Return the reports of checks with the mistakes that are found, but where a check has a certain one."""

    def is_new(check: CheckReport) -> bool:
        return check.name in found and not (check.mistake and check.mistake.certain)

    return tuple(replace(one, mistake=found[one.name]) if is_new(one) else one for one in checks)


def isolation_of(graded: Iterable[Graded]) -> Isolation | None:
    """Return the protections that were in force in every worker of some gradings; None if there were no
    workers."""
    held = [one.isolation for one in graded if one.isolation is not None]
    return reduce(Isolation.weakened_by, held) if held else None


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
        gc.set_threshold(GARBAGE)
        self.course, self.factories, self.device, self.seed = course, factories, device, seed
        self.keyring = keyring
        self._prepared: dict[tuple[str, str], PreparedKata] = {}  # by kata and library of the answer
        self._readers: dict[str, WorkerReader] = {}  # by library
        self.matchers: dict[str, MistakeMatcher] = {}  # by kata; filled when a submission fails
        #: What a running grading does, in words: the check that is judged, after the first call that was
        #: stopped; "" between gradings. A display may read it from another thread.
        self.doing = ""

    def _tell(self, text: str) -> None:
        self.doing = text

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
            gc.freeze()  # what was imported and drawn stays: no collection needs to look at it again
        return self._prepared[key]

    def reader(self, info: KataInfo) -> WorkerReader | None:
        """Return what reads the answers to a kata: the worker that judges them afterwards. None if there are
        no workers of its library, which may be one that is not installed: then any reader will do."""
        if info.library not in self.factories:
            return None
        if info.library not in self._readers:
            self._readers[info.library] = WorkerReader(self.factories[info.library], self.device)
        return self._readers[info.library]

    def matcher(self, prepared: PreparedKata) -> MistakeMatcher:
        """Return the matcher of a kata's mistakes, created when the first submission fails."""
        from grader.diagnosis.known_mistakes import known_mistakes
        from grader.diagnosis.matcher import matcher_of  # a submission that passes does not need it

        name, prepared = prepared.info.name, self.prepare(prepared.info)  # mistakes are in the kata's library
        if name not in self.matchers:
            self.matchers[name] = matcher_of(prepared.kata, known_mistakes(self.course, prepared))
        return self.matchers[name]

    def grade(self, submission: Submission, is_outdated: Callable[[], bool] = lambda: False) -> Graded:
        """Grade one submission, even if it crashes. Raises SubmissionRejected if the file cannot be loaded,
        and Outdated once `is_outdated` returns True: the result is then of no use any more."""
        began, info = time.monotonic(), submission.info
        if submission.known is None:
            submission = parse(info, submission.source, submission.label, self.reader(info))
        if submission.as_tensors:
            self.factories[submission.library]  # starts while the kata is loaded
        self.doing = "preparing the cases"
        prepared = self.prepare(info, submission.library)
        kata, reader = prepared.kata, self.reader(info)
        if broken := _broken_rule(kata, submission, reader):
            return Graded(_report(submission, kata, [broken], time.monotonic() - began))
        names = self.course.shortcuts(kata)  # looked for before the worker has loaded the submission
        shortcut = shortcut_in(submission, names, kata.library, reader) if names else None
        first = None if submission.as_tensors or reader is None else reader.take()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a law computes with wrong answers, which may overflow
            chosen = self._chosen(prepared, submission)
            judged = judge_submission(
                self.factories, self.device, prepared, submission, is_outdated, chosen, self._tell, first
            )
            self.doing = "naming the mistake"
            explained = self._explain(prepared, judged, submission)
            points = points_of(judged.results, judged.context, judged.parts)
            checks = self._reported(prepared, submission, judged, explained, points)
            checks = self._with_shortcut(checks, shortcut)
        self.doing, seconds = "", time.monotonic() - began
        report = replace(_report(submission, kata, checks, seconds, judged), cap=points.cap)
        if explained.is_enough or not kata.kind.is_code or not submission.record.plain:
            return Graded(report, judged.isolation)
        factory, matcher = self.factories[kata.library], self.matcher(prepared)
        unexplained = Unexplained(prepared, submission, factory, self.device, judged.results, matcher)
        return Graded(report, judged.isolation, unexplained)

    def _chosen(self, prepared: PreparedKata, submission: Submission) -> Callable[[CheckResult, Retry], Told]:
        """Return the function that chooses what a report shows of a failing check."""
        kata, oracle = prepared.kata, prepared.oracle
        tries = MOST_TRIES if oracle.recorded is None else 0  # a key has no reference to ask
        easier = EasierCases(kata, oracle.answered.cases, tries)

        @cache
        def names() -> Signatures:
            return self._names(submission)

        def chosen(result: CheckResult, retry: Retry) -> Told:
            return shown(result, kata, names(), submission.exchange, partial(easier.failures, retry=retry))

        return chosen

    def _names(self, submission: Submission) -> Signatures:
        """Return the names of parameters that the stub and the submission say; the stub may be the student's
        own file."""
        if not submission.record.plain:
            return {}
        stub = text_of(self.course.stub(submission.info))
        return signatures_of(stub) | signatures_of(submission.source)

    def _explain(
        self, prepared: PreparedKata, judged: JudgedSubmission, submission: Submission
    ) -> _Explanation:
        """Return why checks fail: a missing `return`, or the mistakes that are found in NAMING_SECONDS."""
        if not judged.fails:
            return _Explanation(is_enough=True)
        source, is_plain = submission.source, submission.record.plain
        if is_plain and (missing := missing_return(judged.results, source)):
            return _Explanation(missing, is_enough=True)
        naming: Naming | None = None
        with suppress(JudgingStopped, MemoryError), limited(NAMING_SECONDS):
            naming = self.matcher(prepared).naming(judged.results, source)
            naming.run()
        found = naming.found if naming else {}
        proved = (m for m in found.values() if m.certain and not m.partial)
        is_named = any(m.id not in GENERAL for m in proved)  # those say no place
        is_enough = is_named or bool(judged.parts) or _raises_unwritten(source, judged.results)
        return _Explanation(None, found, is_enough, naming.shown if naming else {})

    def _reported(
        self,
        prepared: PreparedKata,
        submission: Submission,
        judged: JudgedSubmission,
        explained: _Explanation,
        points: Points,
    ) -> list[CheckReport]:
        """Return what the report says of each check."""
        kata, judged = prepared.kata, explained.showing(judged)
        names = self._names(submission) if judged.fails else {}
        is_plain = submission.record.plain
        answer = QuotedAnswer(submission.source, names, judged.parts, submission.exchange, is_plain)
        checks = [
            as_check(
                result,
                kata,
                explained.mistakes.get(name),
                answer,
                points.checks[name],
                (judged.told.get(name), judged.printed.get(name, "")),
            )
            for name, result in ((result.check.name, result) for result in judged.results)
        ]
        if submission.as_tensors:
            checks = list(map(in_torch, checks))
        if explained.missing:
            checks = reported_once(checks, explained.missing)
        if kata.written:
            checks += written_answers(kata, submission.record.words)
        return checks

    def _with_shortcut(self, checks: list[CheckReport], used: Use | None) -> list[CheckReport]:
        """Return the checks with a note if a library function does all of the kata. With `by_hand` in the
        syllabus, the check of agreement with the reference then fails."""
        if used is None or checks[0].status != "passed":
            return checks
        note = f"Line {used[1]} uses {used[0]}, which does what this kata is about."
        if self.course.syllabus.by_hand:
            note += " In this course it is built by hand."
            return [replace(checks[0], status="failed", score=0, message=note), *checks[1:]]
        return [replace(checks[0], message=f"{note} The points stand."), *checks[1:]]


def _installed(package: str) -> str:
    from importlib.metadata import version  # takes longer to import than a kata to judge

    return version(package)


@dataclass(frozen=True)
class _Explanation:
    """Why checks fail: a missing `return`, or the mistakes by name of the check. If that is enough, no search
    for the place is due."""

    missing: MissingReturn | None = None
    mistakes: Mapping[str, Mistake] = field(default_factory=dict)
    is_enough: bool = False
    shown: Mapping[str, set[int]] = field(default_factory=dict)  # positions of cases that show the mistake

    def showing(self, judged: JudgedSubmission) -> JudgedSubmission:
        """Return the results with the failures that show the mistakes of the checks."""
        results, told = [*judged.results], {**judged.told}
        for at, result in enumerate(results):
            positions = self.shown.get(result.check.name, ())
            failures = [f for f in result.failures if result.check.position(f.case) in positions]
            shown = told.get(result.check.name)
            if failures and not (shown and any(shown[0] is failure for failure in failures)):
                results[at] = replace(result, failures=failures)
                told.pop(result.check.name, None)
        return replace(judged, results=tuple(results), told=told)


def _report(
    submission: Submission,
    kata: Kata,
    checks: Sequence[CheckReport],
    seconds: float,
    judged: JudgedSubmission | None = None,
) -> KataReport:
    """Return the report of a kata; without `judged`, no worker has run the submission."""
    parts = judged.parts.verdicts() if judged and judged.parts else ()
    passed = not parts and kata.kind.passes(kata, checks)
    report = KataReport(
        submission.info.name,
        submission.info.track,
        "passed" if passed else "failed",
        submission.info.max_score,
        seconds,
        checks=tuple(checks),
        output=judged.output if judged else "",
        digest=hashlib.sha256(submission.source.encode()).hexdigest(),
        cost=judged.cost if judged and passed else None,
        parts=parts,
        library=submission.library if submission.as_tensors else "",
    )
    return bounded(report)


def _raises_unwritten(source: str, results: Sequence[CheckResult]) -> bool:
    """Return whether a part of the submission is not written yet; PyTorch raises this error as well."""
    if "NotImplementedError" not in source:
        return False
    calls = (call for result in results for failure in result.failures for call in failure.trace)
    return any("NotImplementedError" in call.error for call in calls)


def _broken_rule(kata: Kata, submission: Submission, reader: WorkerReader | None) -> CheckReport | None:
    """Return a failed check if a submission breaks a rule of the kata."""
    for rule in kata.rules:
        broken = first_use(submission, rule.forbidden, by=reader)
        if broken:
            message = f"A rule of this kata is broken: line {broken[1]} uses {broken[0]}. {rule.because}"
            title, points = "The code keeps the rules of the kata.", hundredths(kata.points)
            return CheckReport("keeps_the_rules", title, "failed", 0, points, message)
    return None
