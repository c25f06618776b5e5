"""Which mistake explains what came back.

A mistake explains a failed check if, asked the same, it fails the same cases with the same verdict
and the same answer to every call, and passes the others. What mistakes answer is recorded beforehand
(`recorded_mistakes`).
"""

from __future__ import annotations

from functools import cached_property

from grader.answer_key import Recorded, RecordedMistake
from grader.judging import Finding
from grader.report import Mistake
from grader.resemblance import Compared


class Lineup:
    """All mistakes of a kata, against which each submission that fails is held."""

    def __init__(self, mistakes: list[RecordedMistake]) -> None:
        self.mistakes = mistakes

    def name(self, findings: list[Finding]) -> dict[str, Mistake]:
        """For each failed check that a mistake explains, the mistake that explains it best."""
        failed = [Failed(finding) for finding in findings if finding.status in ("failed", "error")]
        suspects = [Suspect(mistake, findings, failed) for mistake in self.mistakes]
        named = {}
        for check in failed:
            fitting = [suspect for suspect in suspects if suspect.explains(check)]
            if fitting:
                best = max(fitting, key=lambda suspect: suspect.rank)
                named[check.name] = Mistake(best.mistake.id, best.mistake.text)
        return named


class Failed:
    """One failed check of a submission: its failing cases by their number, ready to be compared."""

    def __init__(self, finding: Finding) -> None:
        self.name = finding.plan.name
        order = finding.plan.positions
        self.failures = {order[id(f.case)]: Compared(f) for f in finding.failures}

    def is_explained_by(self, outcomes: list[Recorded | None]) -> bool:
        """True if the same cases fail, each with the same verdict after the same answers."""
        failing = {number: outcome for number, outcome in enumerate(outcomes) if outcome is not None}
        if failing.keys() != self.failures.keys():
            return False
        return all(theirs.alike(failing[number]) for number, theirs in self.failures.items())


class Suspect:
    """One mistake, confronted with everything that was found about one submission."""

    def __init__(self, mistake: RecordedMistake, findings: list[Finding], failed: list[Failed]) -> None:
        self.mistake, self._findings, self._failed = mistake, findings, failed
        self._explained: dict[str, bool] = {}

    def explains(self, check: Failed) -> bool:
        """True if the mistake explains the whole check."""
        if check.name not in self._explained:
            outcomes = self.mistake.outcomes.get(check.name, [])
            self._explained[check.name] = check.is_explained_by(outcomes)
        return self._explained[check.name]

    @cached_property
    def rank(self) -> tuple[int, int]:
        """How many of the failed checks it explains, and how many of the passed ones it passes."""
        passed = [finding.plan.name for finding in self._findings if finding.status == "passed"]
        passes = sum(not any(self.mistake.outcomes.get(name, [])) for name in passed)
        return sum(map(self.explains, self._failed)), passes
