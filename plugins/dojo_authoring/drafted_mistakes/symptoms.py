"""What one sees of a mistake: the claims that do not hold, and in which cases."""

from __future__ import annotations

from dataclasses import dataclass

from dojo_authoring.verify.judged import JudgedMistake
from grader.checks.runner import CheckResult, smallest


@dataclass(frozen=True)
class Symptom:
    """A check that fails: its claim, in how many of the cases that it judges, and what the report says of the
    smallest one. `errors` are the exceptions of the cases that raise."""

    check: str
    claim: str
    is_law: bool
    failing: int
    cases: int
    message: str
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Symptoms:
    """The checks that a mistake fails, in the order in which they run."""

    failed: tuple[Symptom, ...]


def symptoms_of(judged: JudgedMistake) -> Symptoms:
    """Return what one sees of a mistake that was judged."""
    return Symptoms(tuple(_symptom(result) for result in judged.results if result.failures))


def _symptom(result: CheckResult) -> Symptom:
    check = result.check
    raised = [call.error[0] for one in result.failures for call in one.trace[-1:] if call.error]
    return Symptom(
        check.name,
        check.title,
        check.parameters is not None,
        len(result.failures),
        len(result.asked),
        smallest(result).message,
        tuple(dict.fromkeys(raised)),
    )
