"""Compare how a submission fails a case with how a known mistake fails it.

Two failures are the same if the verdicts and the answers are equal.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any

from grader.answer_keys.answers import Answer, Recorded
from grader.checks.runner import Failure
from grader.diagnosis.closeness import closeness
from grader.kata import Kata
from grader.values.arrays import dtype_name, float_dtype, leaves, terms_of
from grader.values.comparison import FLOAT32_SOURCES, LOST_DIGITS, Tolerance, epsilon_of, first_difference
from grader.worker.calls import Call, Calls, Listener
from grader.worker.protocol.codec import Handle, TensorOutline


def record(failure: Failure, source: str = "", reference: str = "") -> Recorded:
    """Return the facts of a failure that are compared. The message is stored as a digest: it may quote the
    code that raised it, and students receive the answer keys. What a `raise` in the `source` of the answer
    says, or one in the `reference` that it calls, does not count, and its digest is "". Calls of a rank that
    waits for the others do not count either: how many there are depends on how a right answer sends its
    arrays."""
    if isinstance(failure, RecordedFailure):
        return failure.recorded
    answers = tuple(answer_of(call) for call in failure.trace if not _waits(call, failure))
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
    """A failure of a mistake that was read from a record: the facts that are compared, without a message."""

    recorded: Recorded = field(kw_only=True)
    is_empty: bool = field(kw_only=True)  # what `FailedCheck.is_empty` was


def _digest(message: str) -> str:
    return hashlib.sha256(message.encode("utf-8", "replace")).hexdigest()[:16]


LOST = {_digest(LOST_DIGITS + sources) for sources in FLOAT32_SOURCES.values()}


#: This method returns the names of the buffers that it was not given, and an answer may have any buffers.
LOADING = "load_state_dict"


def answer_of(call: Call) -> Answer:
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
            pair = _without_moved(theirs.pop(0)), _without_moved(answer_of(call))
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
        """Return how many wrong numbers a mistake shares with it, as `closeness.py` counts them."""
        return closeness(self._recorded.answers, mine.answers, right)

    def is_outrun_by(self, mine: Recorded) -> bool:
        """True if a mistake gives the same answers to all calls of this failure, and fails at a later call.
        The submission was stopped before that call, so what it would have answered is not known. A failure
        without answers was stopped in its first call, as a kernel is that reads beyond an array; no mistake
        that goes on answers the same."""
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
    """Return an answer without the counts of what kernels moved, which some answers hold."""
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
