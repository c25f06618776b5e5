"""What a known mistake answers to a case.

A mistake is looked up in an answer key, or runs when it is asked: in this process, from a file with lines,
with the same checks as a submission.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any, Protocol

import numpy as np

from grader.answer_keys.answers import Answer, Case, Recorded, RecordedMistake
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import Failure, judge_case, run_check
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions
from grader.course.mistake_edits import Change
from grader.diagnosis.compared_failures import AnswersOtherwise, ComparedFailure, answer_of, record
from grader.mistakes import LEVELS
from grader.worker.calls import Call, Calls, Listener
from grader.worker.in_process import LocalStudent

MOST_JOINED = 4000  # joined mistakes of a kata that keep their answers, some 2 KB each
MOST_WITH_CODE = 100  # of them that keep their code, some 50 KB each


class KnownMistake(Protocol):
    """A known mistake of a kata. A case that it passes, or that it cannot judge, has None."""

    @property
    def id(self) -> str:
        """The name of the mistake."""

    @property
    def text(self) -> str:
        """What a student is told."""

    @property
    def changes(self) -> frozenset[Change]:
        """What it changes in the reference; nothing if it is no edit of it, or no code is at hand."""

    @property
    def source(self) -> str:
        """The Python source that has the mistake in it; "" with an answer key, which holds no code."""

    @property
    def keeps_values(self) -> bool:
        """Whether a call may keep values, such as a mask, which later calls then use. Such a mistake is asked
        whole checks, since one call by itself does not show it. False with an answer key, whose answers
        were all recorded in whole checks."""

    @property
    def draws_itself(self) -> bool:
        """Whether the mistake itself draws random numbers. Then its answer to one call depends on the calls
        before it. False with an answer key, as above."""

    @property
    def likeliness(self) -> tuple[int, int]:
        """How far from right it is, crude ones first, and how much it changes: the order of joining them."""

    def with_another(self, other: KnownMistake) -> KnownMistake | None:
        """Return what makes both mistakes at once. It is None if they change the same text, and if no code is
        at hand, as with an answer key."""

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        """Return how the mistake fails one case."""

    def fails_like(self, failure: ComparedFailure, check: Check, case: Case) -> bool:
        """Return whether it fails one case as a submission does."""

    def outcomes(self, check: Check) -> list[Recorded | None]:
        """Return how it fails each case of a check, by position, after those before it that compare answers;
        an empty list if it does not know the check."""

    def closeness(self, failure: ComparedFailure, check: Check, case: Case) -> int:
        """Return how many wrong numbers of one case it shares with a submission, as `closeness.py` counts
        them; 0 with an answer key."""


@dataclass(frozen=True)
class MistakeOfKey:
    """A known mistake whose answers an answer key holds."""

    recorded: RecordedMistake

    @property
    def id(self) -> str:
        return self.recorded.id

    @property
    def text(self) -> str:
        return self.recorded.text

    @property
    def changes(self) -> frozenset[Change]:
        return frozenset()

    @property
    def source(self) -> str:
        return ""

    @property
    def keeps_values(self) -> bool:
        return False

    @property
    def draws_itself(self) -> bool:
        return False

    @property
    def likeliness(self) -> tuple[int, int]:
        return 0, 0

    def with_another(self, other: KnownMistake) -> None:  # noqa: ARG002  # a key has no code to change
        return None

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        found = self.outcomes(check)
        return found[check.position(case)] if found else None

    def fails_like(self, failure: ComparedFailure, check: Check, case: Case) -> bool:
        return failure.matches(self.outcome(check, case))

    def outcomes(self, check: Check) -> list[Recorded | None]:
        return self.recorded.outcomes.get(check.name, [])

    def closeness(self, failure: ComparedFailure, check: Check, case: Case) -> int:  # noqa: ARG002  # no joints
        return 0


class MistakeOfCourse:
    """A known mistake in the course's solutions, which runs when it is asked. It remembers what it has
    answered. Before a whole check those before it run that compare answers: the others, such as those of
    dtypes and devices, take as long again, and run only where an answer depends on the calls before it."""

    def __init__(self, name: str, joined: JoinedMistakes) -> None:
        self.id = name
        self._answers, self._prepared, self._joined = joined.answers, joined.prepared, joined
        self._file = self._answers.file_of(name)
        self._checks = {check.name: check for check in joined.prepared.checks}
        self._single: dict[tuple[str, int], Recorded | None] = {}
        self._stopped: set[tuple[str, int]] = set()  # which may have stopped at another answer
        self._whole: dict[str, list[Recorded | None]] = {}  # of the first checks
        self._contexts: dict[str, CheckContext] = {}

    @property
    def text(self) -> str:
        return self._answers.text(self.id)

    @cached_property
    def changes(self) -> frozenset[Change]:
        return frozenset(change for name in self.names for change in self._answers.changes(name))

    @cached_property
    def likeliness(self) -> tuple[int, int]:
        return sum(LEVELS.index(self._answers.level(name)) for name in self.names), len(self.changes)

    @cached_property
    def keeps_values(self) -> bool:
        return any(map(self._answers.keeps_values, self.names))

    @cached_property
    def draws_itself(self) -> bool:
        return any(map(self._answers.draws_itself, self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mistakes that it makes at once."""
        return (self.id,)

    def with_another(self, other: KnownMistake) -> KnownMistake | None:
        if not isinstance(other, MistakeOfCourse):
            return None
        return self._joined.of((*self.names, *other.names))

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        key = check.name, check.position(case)
        if check.name in self._whole:
            found = self.outcomes(check)
            return found[key[1]] if found else None
        if key not in self._single:
            self._single[key] = self._ask(check, case)
        return self._single[key]

    def fails_like(self, failure: ComparedFailure, check: Check, case: Case) -> bool:
        """Return whether it fails one case as a submission does. It stops at the first call that answers
        otherwise. If it is asked again, for another submission, it goes on and remembers what it answers."""
        key = check.name, check.position(case)
        is_known = key in self._single or key in self._stopped or check.name in self._whole
        if not is_known:
            self._stopped.add(key)
            with suppress(AnswersOtherwise):
                self._single[key] = self._ask(check, case, failure.comparison(self._prepared.kata))
            if key not in self._single:
                return False
        return failure.matches(self.outcome(check, case))

    def closeness(self, failure: ComparedFailure, check: Check, case: Case) -> int:
        outcome = self.outcome(check, case)
        return failure.closeness(outcome, self._joined.right(check, case)) if outcome else 0

    def answers_to(self, check: Check, case: Case) -> tuple[Answer, ...]:
        """Return what it answers to the calls of one case, also if it passes it."""
        made: list[Call] = []
        self._ask(check, case, made.append)
        judged = [call for call in Calls(tuple(made)).judged if not call.is_stopped]
        for call in judged:
            call.graded_part = self._prepared.kata.graded_parts.get(call.name)
        return tuple(map(answer_of, judged))

    def _ask(self, check: Check, case: Case, listener: Listener | None = None) -> Recorded | None:
        if check.name not in self._checks:
            return None
        with self._running("single") as shared:
            context = shared.for_student(LocalStudent(self._fresh()))  # without what an earlier call has left
            with context.student.telling(listener):
                found = judge_case(self._checks[check.name], context, case, context.student).failure
        return self._recorded(found) if found else None

    def outcomes(self, check: Check) -> list[Recorded | None]:
        if check.name not in self._checks:
            return []
        if check.name not in self._whole:
            with self._running("whole") as context:
                for own in self._up_to(check):
                    found: list[Recorded | None] = [None] * len(own.cases)
                    self._whole[own.name] = found
                    for failure in run_check(own, context).failures:
                        found[own.position(failure.case)] = self._recorded(failure)
        return self._whole[check.name]

    def _up_to(self, check: Check) -> Iterator[Check]:
        """Yield the checks that have to run so that the answers to this one are those of a grading, and this
        one last. They are all checks before it if an answer depends on earlier calls, and else those that
        compare answers. What has run is left out."""
        needs_all = self.keeps_values or self.draws_itself
        for own in self._prepared.checks:
            if (needs_all or own.nature.compares or own.name == check.name) and own.name not in self._whole:
                yield own
            if own.name == check.name:
                return

    @contextmanager
    def _running(self, which: str) -> Iterator[CheckContext]:
        """Give what calls the mistake for this purpose. Whole checks share one module, which is loaded again
        after an exception; but AnswersOtherwise leaves it as it is. Single cases share only the answers that
        are known."""
        if which not in self._contexts:
            student = LocalStudent(self._fresh())
            self._contexts[which] = CheckContext(self._prepared.kata, self._prepared.oracle, student)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # a law may sum wrong answers that overflow
                yield self._contexts[which]
        except AnswersOtherwise:
            raise
        except BaseException:
            self._contexts.pop(which, None)
            if which == "whole":
                self._whole.clear()
            raise

    def _fresh(self) -> Any:
        return self._answers.fresh(self.id)

    def _recorded(self, failure: Failure) -> Recorded:
        return record(failure, self.source, self._answers.reference_source)

    @property
    def source(self) -> str:
        return self._file


class MistakesAtOnce(MistakeOfCourse):
    """Several mistakes of a course at once: the reference with the edits of them all."""

    def __init__(self, names: tuple[str, ...], joined: JoinedMistakes) -> None:
        super().__init__(" and ".join(names), joined)
        self._names = names
        self._written: tuple[str, CodeType] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def text(self) -> str:
        return " ".join(map(self._answers.text, self._names))

    @property
    def can_be_made(self) -> bool:
        """Whether the edits go together, and the code that they make can be imported."""
        try:
            self._fresh()
        except Exception:
            return False
        return True

    def forget_code(self) -> None:
        """Drop the code, which takes room, and keep the answers. The code is made again when it is needed."""
        self._written = None
        self._contexts.pop("single", None)

    def _fresh(self) -> Any:
        return self._answers.fresh_at_once(self._names, self._make()[1])

    @property
    def source(self) -> str:
        return self._make()[0]

    def _make(self) -> tuple[str, CodeType]:
        if self._written is None:
            source = self._answers.at_once(self._names)
            if source is None:
                raise ValueError("the edits do not go together")
            code = compile(source, f"{self._answers.info.name}[{self.id}]", "exec", dont_inherit=True)
            self._written = source, code
            self._joined.keep_code_of(self)
        return self._written


class JoinedMistakes:
    """The mistakes of a kata that were joined, for all its submissions: many of these lead to the same ones.
    All keep what they have answered, and the last ones keep their code."""

    def __init__(self, answers: KnownSolutions, prepared: PreparedKata) -> None:
        self.answers, self.prepared = answers, prepared
        self._made: dict[tuple[str, ...], MistakesAtOnce | None] = {}
        self._right: dict[tuple[str, int], tuple[Answer, ...]] = {}
        self._with_code = deque[MistakesAtOnce]()

    def of(self, names: tuple[str, ...]) -> MistakesAtOnce | None:
        """Return several mistakes as one; None if their edits do not go together."""
        if names not in self._made:
            made = MistakesAtOnce(names, self)
            self._made[names] = made if made.can_be_made else None
            if len(self._made) > MOST_JOINED:
                del self._made[next(iter(self._made))]
        return self._made[names]

    def right(self, check: Check, case: Case) -> tuple[Answer, ...]:
        """Return what the reference answers to the calls of one case."""
        key = check.name, check.position(case)
        if key not in self._right:
            reference = self.of(())
            self._right[key] = reference.answers_to(check, case) if reference else ()
        return self._right[key]

    def keep_code_of(self, made: MistakesAtOnce) -> None:
        """Keep the code of one that was just made, and drop that of the one that was made first."""
        self._with_code.append(made)
        if len(self._with_code) > MOST_WITH_CODE:
            self._with_code.popleft().forget_code()


def known_mistakes(course: Course, prepared: PreparedKata) -> list[KnownMistake]:
    """Return the mistakes of a kata, its own before the general ones; none if there is no file of them."""
    if prepared.oracle.recorded is not None:
        return [MistakeOfKey(recorded) for recorded in prepared.oracle.recorded.mistakes]
    if not course.mistakes(prepared.info):
        return []
    answers = KnownSolutions(course, prepared.info, "mistakes")
    joined = JoinedMistakes(answers, prepared)
    names = [*answers.names, *answers.general_names(prepared.kata)]
    return [MistakeOfCourse(name, joined) for name in names]
