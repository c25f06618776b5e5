"""One submission, one report: load it in a worker, run every check, name the mistake, score."""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import grader
from grader import bank
from grader.attempt import Attempt, Prepared
from grader.catalog import Card, Course
from grader.judge_limits import JudgingStopped, limited
from grader.kata import Kata
from grader.keyring import Keyring
from grader.oracle import Oracle
from grader.plan import plan
from grader.report import Check, Isolation, KataReport, Provenance
from grader.report_texts import bounded
from grader.submission import Submission
from grader.telling import as_check, unearned
from grader.worker.processes import Source
from grader.worker.rules import first_use

if TYPE_CHECKING:
    from grader.diagnosis import Lineup

NAMING_SECONDS = 4.0  # that the search for the mistake may compute


class Grader:
    """Grades submissions of one course, each kata prepared once, each submission in its own worker."""

    def __init__(
        self,
        course: Course,
        sources: Mapping[str, Source],
        device: str = "cpu",
        seed: int = bank.SEED,
        keyring: Keyring | None = None,
    ) -> None:
        self.course, self.sources, self.device, self.seed = course, sources, device, seed
        self.keyring = keyring
        self._isolation: Isolation | None = None
        self._prepared: dict[str, Prepared] = {}
        self.lineups: dict[str, Lineup] = {}  # by kata, as far as they were needed

    @property
    def isolation(self) -> Isolation:
        """What held for every worker so far."""
        return self._isolation or Isolation()

    @property
    def provenance(self) -> Provenance:
        """What judged, as far as it was loaded."""
        torch = sys.modules.get("torch")
        return Provenance(
            grader.__version__,
            ".".join(map(str, sys.version_info[:3])),
            np.__version__,
            str(torch.__version__) if torch else "",
            self.keyring.digest if self.keyring else "",
        )

    def note_isolation(self, found: Isolation) -> None:
        """What a worker has said of itself before it knew a submission."""
        self._isolation = self._isolation.weakened_by(found) if self._isolation else found

    def prepare(self, card: Card) -> Prepared:
        """Declaration, bank and expected values of a kata, made or read once."""
        if card.name not in self._prepared:
            kata = self.course.declaration(card)
            recorded = self.keyring.kata(card) if self.keyring else None
            oracle = Oracle(kata, self.course, card, self.seed, recorded=recorded)
            self._prepared[card.name] = Prepared(card, kata, oracle, plan(kata, oracle))
        return self._prepared[card.name]

    def lineup(self, prepared: Prepared) -> Lineup:
        """The kata's mistakes, read when the first submission fails."""
        from grader.diagnosis import Lineup  # a submission that passes needs none of it
        from grader.recorded_mistakes import mistakes_of

        name = prepared.card.name
        if name not in self.lineups:
            self.lineups[name] = Lineup(mistakes_of(self.course, prepared))
        return self.lineups[name]

    def grade(self, submission: Submission) -> KataReport:
        """The report of one submission; whatever it does, a report comes back. Raises Refused
        where the file cannot be loaded at all."""
        began = time.monotonic()
        prepared = self.prepare(submission.card)
        broken = _broken_rule(prepared.kata, submission)
        checks, output = (broken, "") if broken else self._judge(prepared, submission)
        checks = self._told_of_shortcuts(prepared.kata, submission, checks)
        passed = all(check.status in ("passed", "skipped") for check in checks)
        report = KataReport(
            submission.card.name,
            submission.card.track,
            "passed" if passed else "failed",
            submission.card.max_score,
            time.monotonic() - began,
            checks=tuple(checks),
            output=output,
            digest=hashlib.sha256(submission.source.encode()).hexdigest(),
        )
        return bounded(report)

    def _told_of_shortcuts(self, kata: Kata, submission: Submission, checks: list[Check]) -> list[Check]:
        """Return the checks with a note where a library function does all of the kata. In a course that is
        done by hand, agreement earns nothing then."""
        used = first_use(submission.source, kata.shortcuts, methods=True) if kata.shortcuts else None
        if used is None or checks[0].status != "passed":
            return checks
        note = f"Line {used[1]} uses {used[0]}, which does all of this kata."
        if self.course.syllabus.by_hand:
            note += " In this course it is built by hand."
            return [replace(checks[0], status="failed", score=0, message=note), *checks[1:]]
        return [replace(checks[0], message=f"{note} The points stand."), *checks[1:]]

    def _judge(self, prepared: Prepared, submission: Submission) -> tuple[list[Check], str]:
        attempt = Attempt(self.sources, self.device, prepared, submission, self.note_isolation)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a law computes of strange answers is no news
            try:
                findings = attempt.run_all()
            finally:
                attempt.close()
            mistakes = {}
            if any(finding.failures for finding in findings):
                lineup = self.lineup(prepared)
                with suppress(JudgingStopped, MemoryError), limited(NAMING_SECONDS):
                    mistakes = lineup.name(findings)
            free = unearned(findings, attempt.session.answers())
            checks = [
                as_check(f, mistakes.get(f.plan.name), prepared.kata.axes, free.get(f.plan.name, ""))
                for f in findings
            ]
            return checks, attempt.printed


def _broken_rule(kata: Kata, submission: Submission) -> list[Check]:
    """A report with one failed check where the source itself breaks a rule of the kata."""
    for rule in kata.rules:
        broken = first_use(submission.source, rule.forbidden)
        if broken:
            message = f"A rule of this kata is broken: line {broken[1]} uses {broken[0]}. {rule.because}"
            points = round(kata.points * 100)
            return [
                Check(
                    "keeps_the_rules", "The code keeps the rules of the kata.", "failed", 0, points, message
                )
            ]
    return []
