"""Find the known mistake behind a wrong answer to a question: the one with the same answer."""

from __future__ import annotations

from grader.answer_keys.answers import RecordedMistake
from grader.checks.questions import agrees, plain
from grader.checks.runner import CheckResult
from grader.diagnosis.matcher import MistakeMatcher
from grader.kata import Kata
from grader.report import Mistake


class QuestionMatcher(MistakeMatcher):
    """Names the known mistake that gives the same wrong answer in the same row of numbers."""

    def name(self, findings: list[CheckResult]) -> dict[str, Mistake]:
        """Return, by name of the check, the mistake that gives the same answers."""
        named = {}
        for finding in findings:
            found = next((m for m in self.mistakes if finding.failures and _answers_alike(m, finding)), None)
            if found:
                named[finding.plan.name] = Mistake(found.id, found.text)
        return named


def _answers_alike(mistake: RecordedMistake, finding: CheckResult) -> bool:
    """True if the mistake fails the cases that the submission fails, with the same answers."""
    outcomes, order = mistake.outcomes.get(finding.plan.name, []), finding.plan.positions
    pairs = [(outcomes[order[id(f.case)]] if outcomes else None, f) for f in finding.failures]
    return all(
        theirs is not None
        and [call.error for call in failure.trace] == [()]
        and agrees(plain(theirs.answers[-1].value), failure.trace[-1].value)
        for theirs, failure in pairs
    )


def matcher_of(kata: Kata, mistakes: list[RecordedMistake]) -> MistakeMatcher:
    """Return the matcher of a kata's mistakes."""
    return (QuestionMatcher if kata.questions else MistakeMatcher)(mistakes)
