"""One submission, one report: load it in a worker, run every check, name the mistake, score."""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

import grader
from grader import bank
from grader.attempt import Attempt, Prepared
from grader.catalog import Card, Course
from grader.judging import Finding
from grader.kata import Kata
from grader.keyring import Keyring
from grader.oracle import Oracle
from grader.plan import plan
from grader.report import Check, Isolation, KataReport, Provenance
from grader.submission import Submission
from grader.telling import as_check
from grader.worker.processes import Source
from grader.worker.rules import broken_in_source

if TYPE_CHECKING:
    from grader.diagnosis import Lineup


class Grader:
    """Grades submissions of one course, each kata prepared once, each submission in its own worker."""

    def __init__(
        self,
        course: Course,
        source: Source,
        device: str = "cpu",
        seed: int = bank.SEED,
        shrinks: bool = True,
        keyring: Keyring | None = None,
    ) -> None:
        self.course, self.source, self.device, self.seed = course, source, device, seed
        self.keyring = keyring
        self.shrinks = shrinks and keyring is None  # a key answers its own cases and no others
        self._isolation: Isolation | None = None
        self._prepared: dict[str, Prepared] = {}

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

        if prepared.lineup is None:
            prepared.lineup = Lineup(prepared.kata, self.course, prepared.card, prepared.oracle)
        return prepared.lineup

    def grade(self, submission: Submission) -> KataReport:
        """The report of one submission; whatever it does, a report comes back. Raises Refused
        where the file cannot be loaded at all."""
        began = time.monotonic()
        prepared = self.prepare(submission.card)
        broken = _broken_rule(prepared.kata, submission)
        checks, output = (broken, "") if broken else self._judge(prepared, submission)
        passed = all(check.status in ("passed", "skipped") for check in checks)
        return KataReport(
            submission.card.name,
            submission.card.track,
            "passed" if passed else "failed",
            submission.card.max_score,
            time.monotonic() - began,
            checks=tuple(checks),
            output=output,
            digest=hashlib.sha256(submission.source.encode()).hexdigest(),
        )

    def _foresee(self, prepared: Prepared) -> None:
        """What the checks ask, learnt when a second submission shows that more may come."""
        prepared.graded += 1
        known = prepared.scripts is not None or prepared.oracle.recorded is not None
        if prepared.graded > 1 and not known and self.device == "cpu":
            from grader.foresight import scripts

            prepared.scripts = scripts(prepared.oracle, prepared.checks)
            self.source.teach(prepared.scripts.values())

    def _judge(self, prepared: Prepared, submission: Submission) -> tuple[list[Check], str]:
        self._foresee(prepared)
        attempt = Attempt(self.source, self.device, prepared, submission, self.note_isolation)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a law computes of strange answers is no news
            try:
                checks = self._conclude(attempt, attempt.run_all())
            finally:
                attempt.close()
        return checks, attempt.printed

    def _conclude(self, attempt: Attempt, findings: list[Finding]) -> list[Check]:
        """The findings as checks, as they were told before where the same was found before."""
        names = tuple(finding.name for finding in findings)
        if self.shrinks or None in names:
            return self._told(attempt, findings)
        known = attempt.prepared.precedents
        if names in known:
            return list(known[names])
        checks = self._told(attempt, findings)
        known.keep(names, checks, len(repr(checks)))
        return checks

    def _told(self, attempt: Attempt, findings: list[Finding]) -> list[Check]:
        """The findings as checks, each failure with its smallest case and its mistake."""
        if all(finding.status in ("passed", "skipped") for finding in findings):
            return [as_check(finding, None, {}) for finding in findings]
        from grader.shrinking import put_smallest_first, shrink

        suspects = self.lineup(attempt.prepared).name(findings)
        for finding in findings:
            if finding.failures:
                put_smallest_first(finding, suspects.get(finding.plan.name))
        first = next((f for f in findings if f.status in ("failed", "error")), None)
        if first and self.shrinks and not attempt.losses:
            shrink(first, suspects.get(first.plan.name), attempt.session, self.seed)
        mistakes = {name: suspect.mistake for name, suspect in suspects.items()}
        axes = attempt.prepared.kata.axes
        return [as_check(finding, mistakes.get(finding.plan.name), axes) for finding in findings]


def _broken_rule(kata: Kata, submission: Submission) -> list[Check]:
    """A report with one failed check where the source itself breaks a rule of the kata."""
    for rule in kata.rules:
        broken = broken_in_source(submission.source, rule.forbidden)
        if broken:
            message = f"A rule of this kata is broken: line {broken[1]} uses {broken[0]}. {rule.because}"
            points = round(kata.points * 100)
            return [
                Check(
                    "keeps_the_rules", "The code keeps the rules of the kata.", "failed", 0, points, message
                )
            ]
    return []
