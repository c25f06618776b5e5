"""Run all checks on the known mistakes of a kata, and keep what was judged for the next verification.

The mistakes run in this process, with the same checks in the same order as a submission. The record of a
mistake holds while its own code, the declaration, the reference, the libraries and the judging code stay the
same. Another mistake in the same file may change.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

import grader
from grader.answer_keys.answers import Recorded, RecordedMistake, digest
from grader.answer_keys.file import Entry, KataKey, KeyUnusable, declaration_digest, pack, pack_records
from grader.cases.oracle import locked, read_entry, write_entry
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.points import points_of
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course, KataInfo
from grader.course.files import read_file
from grader.course.known_solutions import KnownSolutions
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.compared_failures import RecordedFailure, record
from grader.report import CheckStatus
from grader.worker.calls import Call
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.codec import Malformed
from grader.worker.student import Student

#: The packages and modules that decide how an answer is judged. What was judged is void once one of them
#: changes. `tests/plugins/authoring/test_judged.py` compares the list with what judging imports.
JUDGING = (
    "__init__.py",
    "answer_keys",
    "cases",
    "checks",
    "course",
    "diagnosis/closeness.py",
    "diagnosis/compared_failures.py",
    "diagnosis/known_mistakes.py",
    "diagnosis/candidate.py",
    "diagnosis/matcher.py",
    "diagnosis/several_mistakes.py",
    "errors.py",
    "expect.py",
    "grading",
    "inputs.py",
    "installing.py",
    "kata.py",
    "kernels.py",
    "kinds.py",
    "mistakes.py",
    "processes",
    "ranks.py",
    "reading",
    "report.py",
    "strategies.py",
    "texts",
    "values",
    "worker",
)

#: The modules beside this one that decide it too.
RECORDING = ("judged.py", "katas.py", "laws.py", "mistakes.py", "random_draws.py", "trivial.py")

MOST_PASSED = 256  # judgements without a fault that are kept of a kata

#: How the message begins if the code is wrong as Python. Mistakes may raise other errors on purpose.
TYPOS = tuple(
    f"The code raised {kind}Error"
    for kind in ("Name", "UnboundLocal", "Attribute", "Type", "Import", "ModuleNotFound")
)


@dataclass
class JudgedMistake:
    """A mistake with the result of every check and its points in hundredths.

    `code` is a digest of the code that it needs. `is_general` is true if it is not the kata's own. `raised`
    is what it raises in every case, if its docstring does not mention an error. `steady` is true if other
    random numbers are known to change nothing.
    """

    recorded: RecordedMistake
    level: str
    results: list[CheckResult]
    points: int
    code: str
    raised: str = ""
    steady: bool = False
    is_general: bool = False


@dataclass(frozen=True)
class Facts:
    """What the record of a mistake holds beside the failures: the cases that were not judged by check, the
    failed checks whose answers are empty, and why the mistake keeps checks from being judged."""

    name: str
    points: int
    skipped: dict[str, list[int]]
    empty: list[str]
    prevented: dict[str, str]
    steady: bool


class Records:
    """What was judged of a kata before, for this state of its declaration, its reference, the libraries and
    the judging code. With `fresh`, nothing was."""

    def __init__(self, course: Course, info: KataInfo, seed: int, *, fresh: bool = False) -> None:
        self._course, self._info, self._seed = course, info, seed
        self._files = self._digests()
        self._key: KataKey | None = None
        self._passed: list[str] = []  # digests of the judgements that found no fault
        self._facts: dict[str, Facts] = {}  # by the code of a mistake
        self._files_of_mistakes = ""
        self._verified: dict[str, Any] = {}
        self._is_new = False
        self._noted: dict[str, RecordedMistake] | None = None  # the mistakes, if they are judged anew
        key = None if fresh else read_entry(self._name, info.name)
        with suppress(KeyUnusable, KeyError, TypeError, ValueError):
            if key is not None:
                found = key.file.message(info.name, "answers")
                self._facts = {code: Facts(**facts) for code, facts in found["facts"].items()}
                self._passed, self._verified = found["passed"], found["verified"]
                self._key, self._files_of_mistakes = key, found["mistakes"]

    def _digests(self) -> dict[str, str]:
        """Return a digest of what every judgement rests on, and one of each other file."""
        paths = {part: self._course.solution(self._info, part) for part in ("mistakes", "variants")}
        paths |= {"edits": self._course.edits(self._info), "stub": self._course.stub(self._info)}
        found = {part: text for part, path in paths.items() if (text := _digest_of_file(path))}
        return {"all": _digest(self._course, self._info, self._seed), **found}

    @property
    def _name(self) -> str:
        return f"{self._info.name}-{self._files['all']}.judged"

    @property
    def _mistakes(self) -> dict[str, RecordedMistake]:
        return self._read if self._noted is None else self._noted

    @cached_property
    def _read(self) -> dict[str, RecordedMistake]:
        with suppress(KeyUnusable):
            return {mistake.id: mistake for mistake in self._key.mistakes} if self._key else {}
        return {}

    @property
    def unchanged_mistakes(self) -> list[RecordedMistake] | None:
        """The record of every mistake, if the files of mistakes are those that were judged; else None."""
        unchanged = self._files_of_mistakes == self._digest_of_mistakes()
        if not unchanged or self._facts.keys() != self._mistakes.keys():
            return None
        return [replace(self._mistakes[code], id=facts.name) for code, facts in self._facts.items()]

    def mistake(self, code: str, level: str, checks: list[Check]) -> JudgedMistake | None:
        """Return a mistake as it was judged before, or None."""
        recorded, facts = self._mistakes.get(code), self._facts.get(code)
        if recorded is None or facts is None or recorded.outcomes.keys() != {check.name for check in checks}:
            return None
        recorded = replace(recorded, id=facts.name)
        results = [_result(check, recorded.outcomes[check.name], facts) for check in checks]
        return JudgedMistake(recorded, level, results, facts.points, code, steady=facts.steady)

    def note_mistakes(self, mistakes: list[JudgedMistake]) -> None:
        """Replace the mistakes. One that raises what a typo raises is judged anew: its message has a line."""
        self._is_new = True
        kept = [mistake for mistake in mistakes if not mistake.raised]
        self._facts = {mistake.code: _facts(mistake) for mistake in kept}
        self._noted = {one.code: replace(one.recorded, id=one.code) for one in kept}
        self._files_of_mistakes = self._digest_of_mistakes() if len(kept) == len(mistakes) else ""

    def _digest_of_mistakes(self) -> str:
        return _text_digest([self._files.get("edits"), self._files.get("mistakes")])

    def has_passed(self, *judgement: str) -> bool:
        """Return whether a judgement, described by texts, was made before and found no fault."""
        return _text_digest(judgement) in self._passed

    def note_passed(self, *judgement: str) -> None:
        """Note that a judgement has found no fault."""
        self._is_new = True
        self._passed.append(_text_digest(judgement))

    def verified(self, *options: str) -> dict[str, Any] | None:
        """Return what was noted about all files of the kata as they are, with the same options."""
        found = self._verified
        return found if found.get("files") == self._digest_of_files(options) else None

    def note_verified(self, found: dict[str, Any], *options: str) -> None:
        """Note what was found about all files of the kata as they are."""
        self._is_new = True
        self._verified = {**found, "files": self._digest_of_files(options)}

    def _digest_of_files(self, options: tuple[str, ...]) -> str:
        return _text_digest([*sorted(self._files.items()), *options])

    def save(self) -> None:
        """Write what is new, unless a file has changed since it was read. What cannot be written is judged
        again."""
        if not self._is_new or self._digests() != self._files:
            return
        message = {
            "facts": {code: vars(facts) for code, facts in self._facts.items()},
            "passed": [*dict.fromkeys(self._passed)][-MOST_PASSED:],
            "verified": self._verified,
            "mistakes": self._files_of_mistakes,
        }
        with suppress(Malformed):
            write_entry(self._name, pack_records(self._info.name, message, [*self._mistakes.values()]))


def _digest_of_file(path: Path) -> str:
    """Return a digest of a file; empty if it cannot be read, since a student may have put anything there."""
    try:
        return hashlib.sha256(read_file(path, follows_links=True)).hexdigest()
    except OSError:
        return ""


def _digest(course: Course, info: KataInfo, seed: int) -> str:
    files = filter(Path.is_file, (info.path, course.solution(info, "reference")))
    machine = sys.platform, platform.machine()
    by_hand = course.syllabus.by_hand and course.syllabus.shortcuts.get(info.name, True)
    return digest(files, "judged", seed, by_hand, machine, _digest_of_code())


@cache
def _digest_of_code(package: Path = Path(grader.__file__).parent) -> str:
    """Return a digest of the judging code."""
    state = hashlib.sha256()
    for folder, parts in ((package, JUDGING), (Path(__file__).parent, RECORDING)):
        for part in (folder / name for name in parts):
            for file in sorted(part.rglob("*.py")) if part.is_dir() else [part]:
                text = str(file.relative_to(folder)).encode() + file.read_bytes()
                state.update(hashlib.sha256(text).digest())
    return state.hexdigest()


def _text_digest(texts: Iterable[object]) -> str:
    return hashlib.sha256(repr((*texts,)).encode()).hexdigest()


def _result(check: Check, outcomes: list[Recorded | None], facts: Facts) -> CheckResult:
    """Return the result of a check as it was recorded."""
    skipped = facts.skipped.get(check.name, [])
    asked = [case for index, case in enumerate(check.cases) if index not in skipped]
    failures = []
    for case, outcome in zip(check.cases, outcomes, strict=True):
        if outcome is not None:
            calls = [
                Call("", [], {}, answer.value, (answer.error,) if answer.error else (), answer.gradients)
                for answer in outcome.answers
            ]
            found = RecordedFailure(
                case,
                cast(CheckStatus, outcome.status),
                "",
                None,
                calls,
                recorded=outcome,
                is_empty=check.name in facts.empty,
            )
            failures.append(found)
    return CheckResult(check, failures, asked, prevented=facts.prevented.get(check.name, ""))


def _facts(mistake: JudgedMistake) -> Facts:
    skipped = {}
    for result in mistake.results:
        check = result.check
        asked = set(map(check.position, result.asked))
        if positions := [index for index in range(len(check.cases)) if index not in asked]:
            skipped[check.name] = positions
    empty = [r.check.name for r in mistake.results if r.failures and FailedCheck(r).is_empty]
    prevented = {result.check.name: result.prevented for result in mistake.results if result.prevented}
    return Facts(mistake.recorded.id, mistake.points, skipped, empty, prevented, mistake.steady)


def recorded_mistakes(course: Course, prepared: PreparedKata) -> list[RecordedMistake]:
    """Return how each mistake fails: as it was judged before, or judged now."""
    oracle, info = prepared.oracle, prepared.info
    if not course.mistakes(info):
        return []
    if not oracle.keeps:
        return [mistake.recorded for mistake in judge_mistakes(course, prepared)]
    found = Records(course, info, oracle.seed).unchanged_mistakes
    if found is None:
        with locked(f"{info.name}.judged"):
            records = Records(course, info, oracle.seed)  # another process may have judged them meanwhile
            found = records.unchanged_mistakes
            if found is None:
                judged = list(judge_mistakes(course, prepared, records))
                records.note_mistakes(judged)
                records.save()
                found = [mistake.recorded for mistake in judged]
    return found


def key_entry(course: Course, prepared: PreparedKata) -> Entry:
    """Return a kata's entry for a file of answer keys."""
    info = prepared.info
    mistakes = recorded_mistakes(course, prepared)
    return pack(info.name, declaration_digest(info), prepared.oracle.answered, mistakes)


def judge_mistakes(
    course: Course, prepared: PreparedKata, records: Records | None = None
) -> Iterator[JudgedMistake]:
    """Yield the mistakes in the order of the files, and then the general ones that show in this kata: as
    recorded, or after running all checks."""
    if not course.mistakes(prepared.info):
        return
    answers = KnownSolutions(course, prepared.info, "mistakes")
    general = answers.general_names(prepared.kata)
    for name in [*answers.names, *general]:
        code, is_general = _text_digest([answers.code(name)]), name in general
        if records and is_general and records.has_passed("general mistake", name):
            continue
        found = records.mistake(code, answers.level(name), prepared.checks) if records else None
        found = found or judge_mistake(prepared, answers, name, is_general=is_general)
        if found:
            yield replace(found, is_general=is_general)
        elif records:
            records.note_passed("general mistake", name)


def judge_mistake(
    prepared: PreparedKata,
    answers: KnownSolutions,
    name: str,
    *,
    is_general: bool = False,
    student: Student | None = None,
) -> JudgedMistake | None:
    """Run all checks on one mistake, in this process or as `student`; the laws of a general one only if it
    fails a built-in check, else the result is None."""
    student = student or LocalStudent(answers.fresh(name))
    context = CheckContext(prepared.kata, prepared.oracle, student)
    laws = [check for check in prepared.checks if check.parameters is not None]
    results = run_checks([check for check in prepared.checks if check.parameters is None], context)
    if is_general and not any(result.failures for result in results):
        return None
    results += run_checks(laws, context)
    file = answers.file_of(name)
    outcomes = {r.check.name: _outcomes(r, file, answers.reference_source) for r in results}
    points = points_of(results, context)
    # a report says of such a check that it gives no points, and not that it fails
    results = [replace(r, prevented="") if points.checks[r.check.name].why else r for r in results]
    recorded = RecordedMistake(name, answers.text(name), outcomes)
    raised = _raised(recorded.text, results[0])
    code = _text_digest([answers.code(name)])
    return JudgedMistake(recorded, answers.level(name), results, points.total, code, raised)


def run_checks(checks: list[Check], context: CheckContext) -> list[CheckResult]:
    """Run checks in this process, without warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a law may sum wrong answers that overflow
        return [run_check(check, context) for check in checks]


def _raised(text: str, agreement: CheckResult) -> str:
    """Return the message of a mistake that raises what a typo raises in every case, if its text does not
    mention an error."""
    always = len(agreement.failures) == len(agreement.asked) > 0
    if not always or not all(failure.message.startswith(TYPOS) for failure in agreement.failures):
        return ""
    mentions = re.search(r"error|rais|refuse|exception", text, re.IGNORECASE)
    return "" if mentions else re.sub(r" \(line \d+\)", "", agreement.failures[0].message)


def _outcomes(result: CheckResult, file: str, reference: str) -> list[Recorded | None]:
    """Return how each case fails, or None for a case that passes or cannot be judged."""
    outcomes: list[Recorded | None] = [None] * len(result.check.cases)
    for failure in result.failures:
        outcomes[result.check.position(failure.case)] = record(failure, file, reference)
    return outcomes
