"""Keep the calls that a check makes: what each was given and gave, and which of them a verdict is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.expect import ExpectationFailed, SubmissionFailed
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.messages import AS_USUAL, CallOptions

if TYPE_CHECKING:
    from grader.worker.student import Student


@dataclass
class Call:
    """One call and its result: a value, its gradients if recorded, or the class names of its error. `helping`
    is True if the call went to an object from `build`. `flops` and `largest` are set if they are counted.

    `target` is the object whose method was called, `options` are those of the request, and `answers` hold the
    calls of each function that was passed, by its id: the arguments and the result. A call of `build` has its
    `source`, a reading of an attribute is marked by `is_read`, a call whose answer counts for nothing by
    `is_aside`, and one in which a passed function raised an exception by `is_stopped`. `graded_part` is the
    function of the kata for results of which a right answer may choose a part. `on_device` has what the call
    has left in arrays of a device, and what it has moved."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any = None
    error: tuple[str, ...] = ()
    gradients: dict[str, Any] | None = None
    helping: bool = False
    flops: int = 0
    largest: LargestTensor | None = None
    target: Handle | None = None
    options: CallOptions = AS_USUAL
    answers: dict[int, list[tuple[list[Any], Any]]] = field(default_factory=dict)
    source: str = ""
    is_read: bool = False
    is_aside: bool = False
    is_stopped: bool = False
    graded_part: Callable[..., Any] | None = None
    on_device: dict[str, Any] = field(default_factory=dict)

    @property
    def graded(self) -> Any:
        """The part of the value that is graded; all of it where none can be told."""
        if self.graded_part is not None:
            with suppress(Exception):
                return self.graded_part(self.value, *self.args, **self.kwargs)
        return self.value


Listener = Callable[[Call], None]  # is told each call that has ended


class Calls(NamedTuple):
    """The requests that a verdict is about, in order, and those made `earlier`, on which they may depend."""

    requests: tuple[Call, ...] = ()
    earlier: tuple[Call, ...] = ()

    @property
    def judged(self) -> list[Call]:
        """The calls of the submission whose answers are judged, and compared with those of known mistakes."""
        return [call for call in self.requests if not (call.source or call.is_read or call.is_aside)]

    def until(self, call: Call | None) -> Calls:
        """Return the calls up to this one and with it; all calls if it is not among them."""
        at = next((index for index, one in enumerate(self.requests) if one is call), len(self.requests))
        return Calls(self.requests[: at + 1], self.earlier)


class Skip(Exception):
    """The check cannot judge this case; `reason` says why if the submission prevents it."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class CaseFailed(Exception):
    """A case fails: `why` was raised, an expectation that does not hold or an error, and it is about `calls`.
    The last of them is the call that is complained about."""

    def __init__(self, why: Exception, calls: Calls) -> None:
        super().__init__(why, calls)
        self.why, self.calls = why, calls

    @property
    def is_refusal(self) -> bool:
        """Whether the submission raised, or an expectation of what it returned does not hold."""
        return isinstance(self.why, SubmissionFailed | ExpectationFailed)

    def __str__(self) -> str:
        return str(self.why)


@dataclass(frozen=True)
class LargestTensor:
    """The largest tensor that the calls of a `with` block have made, and the operation that made it. As text:
    `a tensor of shape [2, 96, 96], made by aten.bmm`."""

    elements: int = 0
    shape: tuple[int, ...] = ()
    operation: str = ""

    def __str__(self) -> str:
        return (
            f"a tensor of shape {list(self.shape)}, made by {self.operation}"
            if self.elements
            else "no tensor"
        )


@dataclass
class Measured:
    """The measurements of all calls in one `with` block."""

    flops: int = 0
    largest: LargestTensor = LargestTensor()
    written: int = 0
    gradients: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)  # the calls that `gradients` belong to, in order
    devices: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    changed_arguments: list[tuple[Call, str, Any]] = field(default_factory=list)  # call, name, value before
    overwritten: bool = False
    shared: bool = False
    entangled: bool = False
    left_changed: str = ""
    detour: int = 0


class KeptCalls:
    """A block that keeps the requests to a student in a list of its own; a block inside it does so as well.
    What the block raises is raised as CaseFailed, with its requests and those made `earlier`."""

    def __init__(self, student: Student, earlier: Sequence[Call] = ()) -> None:
        self._student, self._earlier = student, earlier
        self._made: list[Call] = []
        self._outer: list[Call] | None = None

    def __enter__(self) -> list[Call]:
        self._outer, self._student._kept = self._student._kept, self._made
        return self._made

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._student._kept = self._outer
        if isinstance(error, Exception) and not isinstance(error, CaseFailed):
            raise CaseFailed(error, Calls(tuple(self._made), tuple(self._earlier))) from error
