"""Judge drafts of mistakes: is one wrong, do the checks catch it, and is it no other mistake?

Each draft runs in a fork with limits of time and memory, with the checks of a submission.
"""

from __future__ import annotations

import ast
import pickle
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from dojo_authoring.drafted_mistakes.symptoms import Symptoms, symptoms_of
from dojo_authoring.mutation.equivalents import FILE_NAME, read_equivalents
from dojo_authoring.verify.judged import JudgedMistake, judge_mistake, recorded_mistakes, run_checks
from dojo_authoring.verify.time_limit import TookTooLong, limited_time
from grader.answer_keys.answers import RecordedMistake
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.context import CheckContext, PreparedKata
from grader.checks.kata_checks import checks_of
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions
from grader.course.mistake_edits import EditedMistake, read_drafts
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.diagnosis.matcher import matcher_of
from grader.edits.walk import changed_lines
from grader.kata import Kata, KataError
from grader.processes.limits import time_limit
from grader.processes.pool import Lost
from grader.texts.phrases import counted, listed
from grader.worker.in_process import LocalStudent, run_forked

Verdict = Literal["caught", "double", "not caught", "right", "unusable"]
SLOWER = 5  # times the reference's duration that a draft may take
LEAST_SECONDS = 3.0  # of CPU time that it may take in any case
MOST_SECONDS = 120.0
ON_THE_CLOCK = 10  # seconds on the clock for one of CPU time, where the machine has more to do
MOST_CHECKS = 4  # that a reason names
LOST = "takes more memory than a submission may have, or ends its process"


@dataclass(frozen=True)
class Judgement:
    """What the judge says of a draft.

    Attributes:
        verdict: "caught": it is a mistake, the checks tell it from a right answer and from all others.
            "double": it has the outcome of the mistake `double_of` in every case (`is_same`), or a report
            would take it for that one.
            "not caught": every check passes, so it is right too, or the checks lack a case.
            "right": every check passes, and `equivalent.toml` says why it is right.
            "unusable": it does not apply, cannot run, does not end, or raises in every case what a typo
            raises.
        reason: The verdict as one sentence.
        failed: The names of the checks that it fails.
        double_of: The name of the mistake or draft that has the same outcome; "" without one.
        symptoms: What one sees of it, if it runs.
        is_same: Whether it has the outcome of `double_of` in every case.
    """

    verdict: Verdict
    reason: str
    failed: tuple[str, ...] = ()
    double_of: str = ""
    symptoms: Symptoms | None = None
    is_same: bool = False


def judge_drafts(
    course: Course, info: KataInfo, drafts: Iterable[EditedMistake], seed: int = SEED
) -> list[Judgement]:
    """Return what the judge says of each draft, in their order.

    A draft is compared with the kata's mistakes, with the drafts in its `mistakes.edits` and with those
    before it that are caught. Nothing is written. `parse_edits` makes drafts of a text. Raises KataError if
    the kata cannot be judged: its reference is missing or wrong, or a file of it cannot be read.
    """
    judge = DraftJudge(course, info, seed)
    return [judge.judge(draft) for draft in drafts]


class DraftJudge:
    """Judges drafts of one kata. Those that it finds caught are known from then on."""

    def __init__(self, course: Course, info: KataInfo, seed: int = SEED) -> None:
        """Draw the cases and judge what is known. Raises KataError."""
        self.answers = KnownSolutions(course, info, "mistakes")
        self._equivalents = read_equivalents(course.folder(info) / FILE_NAME)
        self._info, kata = info, course.declaration(info)
        self._prepares = partial(_prepared, course, info, kata, seed)
        # a process in which PyTorch has already computed cannot be forked safely
        took = run_forked(partial(self._judge_reference, course), MOST_SECONDS * ON_THE_CLOCK)
        if isinstance(took, Lost):
            raise KataError(f"{info.name}: the reference or a mistake does not end; see `kata verify`.")
        if isinstance(took, str):
            raise KataError(f"{info.name}: {took.removeprefix(f'{info.name}: ')}")
        self._seconds = min(MOST_SECONDS, max(LEAST_SECONDS, SLOWER * took))
        self.prepared = self._prepares()
        self.known = recorded_mistakes(course, self.prepared)
        for draft in read_drafts(course.edits(info)):
            self.judge(draft)

    def _judge_reference(self, course: Course) -> float | str:
        """Cache the cases and how the known mistakes fail. Return the seconds of CPU time that the checks of
        the reference take, or why the kata cannot be judged."""
        try:
            with limited_time(course, self._info):
                prepared = self._prepares()
                prepared.oracle.answered  # noqa: B018  # draws the cases, and asks the reference
                student = LocalStudent.from_source(self._info.name, self.answers.reference_source)
                began = time.process_time()
                results = run_checks(prepared.checks, CheckContext(prepared.kata, prepared.oracle, student))
                took = time.process_time() - began
            if failed := [result.check.name for result in results if result.failures]:
                return f"the reference itself fails `{failed[0]}`; see `kata verify`."
            recorded_mistakes(course, prepared)
        except (KataError, TookTooLong) as error:
            return str(error)
        return took

    def judge(self, draft: EditedMistake) -> Judgement:
        """Return what the judge says of a draft. If it is caught, further ones are compared with it."""
        try:
            source = draft.applied(self.answers.reference_source)
        except KataError as error:
            return Judgement("unusable", str(error))
        found = run_forked(lambda: self._judge(draft), self._seconds * ON_THE_CLOCK)
        if isinstance(found, Lost):
            said = "does not end" if found.is_late else LOST
            return Judgement("unusable", f"`{draft.name}` {said}.")
        judgement, packed = found
        if judgement.verdict == "not caught":
            return self._unless_right(judgement, source)
        if judgement.verdict == "caught":
            self.known.append(pickle.loads(packed))  # which our own fork has written
            self.answers.add(draft)
        return judgement

    def _judge(self, draft: EditedMistake) -> tuple[Judgement, bytes]:
        """Judge a draft in this process. The second value is how it fails, with plain arrays."""

        def stop(_: object) -> None:
            raise TookTooLong

        try:
            self.answers.add(draft)
            with time_limit(self._seconds, stop):
                judged = judge_mistake(self.prepared, self.answers, draft.name)
        except TookTooLong:
            said = f"`{draft.name}` has not ended after {self._seconds:.0f} seconds of CPU time."
            return Judgement("unusable", said), b""
        except Exception as error:  # the file of a draft may raise anything
            return Judgement(
                "unusable", f"`{draft.name}` cannot be loaded: {type(error).__name__}: {error}"
            ), b""
        assert judged is not None  # only a general mistake may be none
        return self._judgement(judged), pickle.dumps(judged.recorded)

    def _judgement(self, judged: JudgedMistake) -> Judgement:
        name = judged.recorded.id
        failed = tuple(result.check.name for result in judged.results if result.failures)
        if not failed:
            return Judgement("not caught", f"`{name}` passes every check: it is right, or a case is missing.")
        symptoms = symptoms_of(judged)
        if judged.raised:
            said = f"`{name}` raises in every case, as a typo would: {judged.raised}"
            return Judgement("unusable", said, failed, symptoms=symptoms)
        if double := self._double(judged):
            said = f"`{name}` has the outcome of `{double}` in every case."
            return Judgement("double", said, failed, double, symptoms, is_same=True)
        if other := self._confused(judged):
            said = f"`{name}` would be taken for `{other}`: nearly all cases come out alike."
            return Judgement("double", said, failed, other, symptoms)
        shown = [f"`{one}`" for one in failed[:MOST_CHECKS]]
        shown += [counted(len(failed) - MOST_CHECKS, "other")] if len(failed) > MOST_CHECKS else []
        return Judgement("caught", f"`{name}` fails {listed(shown)}.", failed, symptoms=symptoms)

    def _double(self, judged: JudgedMistake) -> str:
        """Return the known mistake that fails the same cases with the same answers, or ""."""
        failed = [FailedCheck(result) for result in judged.results]
        alike = (one.id for one in self.known if _is_the_same(failed, one))
        return next(alike, "")

    def _confused(self, judged: JudgedMistake) -> str:
        """Return the known mistake that a report would name in place of this one, or ""."""
        known = [MistakeOfKey(one) for one in (*self.known, judged.recorded)]
        named = matcher_of(self.prepared.kata, known).name(judged.results)
        found = [named[result.check.name] for result in judged.results if result.check.name in named]
        first = next((one for one in found if one.certain), found[0] if found else None)
        return first.id if first and first.id != judged.recorded.id else ""

    def _unless_right(self, judgement: Judgement, source: str) -> Judgement:
        """Return the judgement, or that of a change which the author has listed as right."""
        plain, changed = (ast.unparse(ast.parse(one)) for one in (self.answers.reference_source, source))
        was, now = changed_lines(plain, changed)
        for entry in self._equivalents:
            if (entry.was.strip(), entry.now.strip()) == (was, now):
                return replace(judgement, verdict="right", reason=f"It is right: {entry.because}")
        return judgement


def _is_the_same(failed: list[FailedCheck], known: RecordedMistake) -> bool:
    outcomes = known.outcomes
    return all(check.name in outcomes and check.is_explained_by(outcomes[check.name]) for check in failed)


def _prepared(course: Course, info: KataInfo, kata: Kata, seed: int) -> PreparedKata:
    oracle = Oracle(kata, course, info, seed)
    return PreparedKata(info, kata, oracle, checks_of(kata, oracle))
