"""What a known mistake answers to a case, and whether a submission fails like it.

A mistake is looked up in an answer key, or runs when it is asked: in this process, from a file with lines,
with the same checks as a submission. Two failures are the same if the verdicts and the answers are equal.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
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
from grader.diagnosis.closeness import closeness
from grader.kata import Kata
from grader.mistakes import LEVELS
from grader.values.arrays import dtype_name, float_dtype, leaves, terms_of
from grader.values.comparison import FLOAT32_SOURCES, LOST_DIGITS, Tolerance, epsilon_of, first_difference
from grader.worker.calls import Call, Calls, Listener
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.codec import Handle, TensorOutline

MOST_JOINED = 4000  # joined mistakes of a kata that keep their answers, some 2 KB each
MOST_WITH_CODE = 100  # of them that keep their code, some 50 KB each


class KnownMistake(Protocol):
    """A known mistake of a kata. Both questions return None for a case that it passes or cannot judge."""

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
        """Return on how many wrong numbers it agrees with a submission in one case: see `closeness.py`. It is
        0 with an answer key."""


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
        return tuple(map(_answer, judged))

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


def record(failure: Failure, source: str = "", reference: str = "") -> Recorded:
    """Return the facts of a failure that are compared. The message is stored as a digest: it may quote the
    code that raised it, and students receive the answer keys. What a `raise` in the `source` of the answer
    says, or one in the `reference` that it calls, does not count, and its digest is "". Calls of a rank that
    waits for the others do not count either: how many there are depends on how a right answer sends its
    arrays."""
    if isinstance(failure, RecordedFailure):
        return failure.recorded
    answers = tuple(_answer(call) for call in failure.trace if not _waits(call, failure))
    is_own = failure.status == "error" and _is_raised(failure, source, reference)
    said = "" if is_own else _digest(_comparable_message(failure))
    return Recorded(failure.status, said, bool(failure.difference), answers)


def _waits(call: Call, failure: Failure) -> bool:
    """True if a passed function stopped the call, and the check went on."""
    return failure.status == "failed" and call.is_stopped and bool(call.error)


def _is_raised(failure: Failure, source: str, reference: str) -> bool:
    """Return whether a `raise` in the answer, or in the reference that it calls, has made an error."""
    lines = source.splitlines()
    if failure.line and failure.line <= len(lines) and re.search(r"\braise\b", lines[failure.line - 1]):
        return True
    text = failure.message.partition(" (line")[0].partition(": ")[2]
    return bool(text) and text in reference


@dataclass(frozen=True)
class RecordedFailure(Failure):
    """A failure of a mistake that was judged before. It has the facts that are compared, and no message."""

    recorded: Recorded = field(kw_only=True)
    is_empty: bool = field(kw_only=True)  # what `FailedCheck.is_empty` was


def _digest(message: str) -> str:
    return hashlib.sha256(message.encode("utf-8", "replace")).hexdigest()[:16]


LOST = {_digest(LOST_DIGITS + sources) for sources in FLOAT32_SOURCES.values()}


#: This method returns the names of the buffers that it was not given, and an answer may have any buffers.
LOADING = "load_state_dict"


def _answer(call: Call) -> Answer:
    if call.error:
        return Answer(None, call.error[0])
    is_free = call.target is not None and call.name == LOADING
    value = None if is_free else _without_handles(call.graded)
    return Answer([value, call.on_device] if call.on_device else value, None, call.gradients)


class AnswersOtherwise(BaseException):  # no check that expects an exception catches it
    """A mistake has answered a call otherwise than the submission with which it is compared."""


class ComparedFailure:
    """A failure of a submission that can be compared with the failures of mistakes in the same case."""

    def __init__(self, failure: Failure, source: str = "") -> None:
        self._recorded = record(failure, source)
        self._is_whole = _is_whole(failure, self._recorded)
        self.counts_work = _is_counted(failure)
        given = failure.case.arguments or failure.passed
        self._tolerance, self._finest = Tolerance(terms_of(given), 16), float_dtype(given)

    @property
    def differs(self) -> bool:
        """True if a value differs from the one that is due."""
        return self._recorded.differs

    @property
    def raises(self) -> bool:
        """True if the submission raised an exception."""
        return self._recorded.status == "error"

    def comparison(self, kata: Kata) -> Listener:
        """Return what compares the calls of a mistake, one after the other, with those of the submission, as
        far as these are known. It raises AnswersOtherwise at the first that answers otherwise."""
        theirs = list(self._recorded.answers if self._is_whole else ())

        def compare(call: Call) -> None:
            if call.is_stopped:
                theirs.clear()  # such a call may be none that counts
            if not theirs:
                return
            call.graded_part = kata.graded_parts.get(call.name)
            pair = _without_moved(theirs.pop(0)), _without_moved(_answer(call))
            if not _same_answer(*pair, self._tolerance, self._finest):
                raise AnswersOtherwise

        return compare

    def matches(self, mine: Recorded | None) -> bool:
        """True if the verdict and all answers are the same. None is no failure."""
        theirs = self._recorded
        if mine is None:
            return False
        if theirs.status != mine.status or len(theirs.answers) != len(mine.answers):
            return False
        by_value = theirs.status == "failed" and theirs.differs
        is_raised = theirs.status == "error" and not (theirs.said and mine.said)
        if theirs.said != mine.said and not by_value and not is_raised:
            return False
        answers = theirs.answers, mine.answers
        if by_value:  # what a kernel moves depends on its style, and tells only mistakes with right numbers
            answers = tuple(map(_without_moved, answers[0])), tuple(map(_without_moved, answers[1]))
        # where both have lost the digits of float64, the last ones of float32 say only at which step
        finest = "float32" if theirs.said == mine.said and theirs.said in LOST else self._finest
        return all(_same_answer(a, b, self._tolerance, finest) for a, b in zip(*answers, strict=True))

    def closeness(self, mine: Recorded, right: tuple[Answer, ...]) -> int:
        """Return on how many wrong numbers a mistake agrees: see `closeness.py`."""
        return closeness(self._recorded.answers, mine.answers, right)

    def is_outrun_by(self, mine: Recorded) -> bool:
        """True if a mistake answers the same to all calls of this failure, and fails a later one: what this
        submission would have answered there is not known. A failure without answers was stopped in its first
        call, as a kernel is that reads beyond an array; no mistake that goes on answers the same."""
        theirs = self._recorded.answers
        pairs = zip(theirs, mine.answers, strict=False)
        return 0 < len(theirs) < len(mine.answers) and all(
            _same_answer(a, b, self._tolerance, self._finest) for a, b in pairs
        )


def _is_whole(failure: Failure, found: Recorded) -> bool:
    """Return whether the answers that are compared are those of all calls that the check has made up to this
    failure, in order, and to the last digit that the arguments have."""
    made = Calls(tuple(failure.history))
    if found.said in LOST or any(call.is_aside for call in made.requests):
        return False
    return len(made.judged) == len(failure.trace) == len(found.answers)


def _without_moved(answer: Answer) -> Answer:
    """Return an answer without the counts of what kernels moved, if there are any."""
    match answer.value:
        case [value, {"moved": _, **left}]:
            return replace(answer, value=[value, left])
    return answer


def _same_answer(theirs: Answer, mine: Answer, tolerance: Tolerance, given: str | None) -> bool:
    if theirs.error or mine.error:
        return theirs.error == mine.error
    pair = _as_numbers(theirs.value, mine.value), _as_numbers(mine.value, theirs.value)
    if (theirs.gradients is None) != (mine.gradients is None):
        return False
    dtype = _dtype_to_compare_in(_dtype(pair[0]), _dtype(pair[1]), given)
    if epsilon_of(dtype) > epsilon_of("float64"):
        tolerance = replace(tolerance, floor=UNDERFLOW)
    same = first_difference(*pair, tolerance, dtype) is None
    if not same and not hasattr(theirs.value, "shape"):  # plain numbers: an integer 1 is a 1.0, either way
        same = first_difference(*pair[::-1], tolerance, dtype) is None
    floored = tolerance.with_floor_of(mine.gradients)
    return same and first_difference(theirs.gradients, mine.gradients, floored, dtype) is None


def _as_numbers(value: Any, other: Any) -> Any:
    """Return an array of booleans as numbers if another one is of numbers: another check judges the dtype."""
    kinds = [getattr(getattr(one, "dtype", None), "kind", "") for one in (value, other)]
    return value.astype(other.dtype) if kinds[0] == "b" and kinds[1] in "iuf" and kinds[1] else value


#: Answers far below this are 0 in float32, and not in code that computes with Python floats.
UNDERFLOW = 1e-30
#: A Python float has no other digits than NumPy's float64: `loss.item()` and `loss` are one answer.
FLOAT64 = {"float64", "float"}


def _dtype_to_compare_in(theirs: str, mine: str, given: str | None) -> str:
    """Return the less precise dtype of the two answers, but not less precise than the arguments if the dtypes
    differ: a mistake that loses digits does not explain an answer that has them. Where both answers are
    float64 and no argument is, the digits beyond those of the arguments say only where the code widens."""
    if given is None and epsilon_of(mine) > epsilon_of(theirs):
        return theirs
    coarser = max(theirs, mine, key=epsilon_of)
    is_widened = {theirs, mine} <= FLOAT64 and given not in FLOAT64
    if given and (is_widened or (theirs != mine and epsilon_of(coarser) > epsilon_of(given))):
        return given
    return coarser


#: What NumPy and PyTorch say of operands whose shapes do not go together.
SHAPES = re.compile(
    r"(?<=Error: ).*(?:broadcast|core dimension|[Ss]izes? of tensor|shapes? cannot be multiplied|not aligned"
    r"|must match (?:exactly|the existing size)|invalid for input of size|cannot reshape).*",
    re.DOTALL,
)

#: Whole numbers of three digits or more, with commas or without.
COUNTS = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d{3,})(?![\d.]*\d)")


def _comparable_message(failure: Failure) -> str:
    """Return the message without its lines. An error's numbers become 0, as they vary with the case. What a
    RecursionError was about to call goes, and the key of a KeyError: code of another style has other keys.
    What was returned goes too, since it is compared as a value. Which shapes do not fit is said in other
    words by each operation: `@`, `einsum`, an assignment. Code of another style needs a few operations more
    or fewer, so counts are rounded to two digits, and numbers the programs of a kernel in another order, so
    these numbers become 0."""
    message = re.sub(r"\bin line \d+", "in a line", failure.message.split(" (line")[0])
    message = re.sub(r"(?<=[Pp]rogram )\d+", "0", message)
    message = re.sub(r"(?<=recursion depth exceeded) .*", "", message)
    message = re.sub(r"\bKeyError: .*", "KeyError", message, flags=re.DOTALL)
    message = re.sub(r"\bIt returned .*", "It returned", message, flags=re.DOTALL)
    if failure.status == "error":
        return re.sub(r"\d+", "0", SHAPES.sub("about shapes", message))
    return COUNTS.sub(_rounded, message) if _is_counted(failure) else message


def _is_counted(failure: Failure) -> bool:
    """Return whether the operations of a call, or the tensors that it makes, were counted."""
    return any(call.options.measure in ("flops", "tensors") for call in failure.trace)


def _rounded(count: re.Match[str]) -> str:
    return f"{float(count[0].replace(',', '')):.1e}"


def _dtype(value: Any) -> str:
    if isinstance(value, list | tuple):  # integers before the floats must not make the comparison exact
        names = set(map(dtype_name, leaves(value)))
        return float_dtype(value) or ("float" if "float" in names else _dtype(value[0]) if value else "")
    return dtype_name(value)


def _without_handles(value: Any) -> Any:
    """Return the value with the kind of object in place of objects that stay in the worker."""
    if isinstance(value, list | tuple):
        return [_without_handles(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_handles(item) for key, item in value.items()}
    if isinstance(value, Handle | TensorOutline):
        return f"<{type(value).__name__}>"
    return value
