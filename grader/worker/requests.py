"""What a submission is asked, and what comes of it, as both ends of the channel write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.worker.codec import Handle, decode, encode

GROUP = 1 << 12  # numbers of one case's requests that are sent ahead; there are no more of them
FIRST_NUMBER = 1 << 30  # of requests that are not sent ahead
PASSED_OVER = {"passed_over": True}  # said of what was sent ahead to follow on an error


@dataclass
class Request:
    """One thing to do: call `name` of `target` (the submission itself where it is None), read it, tell
    of what a module consists (`anatomy`), or call `name` of a source text of the grader's (`build`)."""

    name: str = ""
    target: Handle | None = None
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    read: bool = False
    anatomy: bool = False
    build: str = ""
    echo: bool = False
    count_flops: bool = False
    gradients: bool = False
    pretend: bool = False
    number: int = 0  # objects that the request makes are known by it
    literal: bool = False  # nothing in its arguments stands for anything else, and nobody else uses them
    hands_on: bool = False  # known by heart, and its answer is an argument of what follows

    @property
    def options(self) -> tuple[bool | str, ...]:
        """How it is done, whatever it is done to."""
        ways = self.read, self.anatomy, self.build, self.echo
        return *ways, self.count_flops, self.gradients, self.pretend

    @property
    def group(self) -> int:
        """Requests sent ahead that follow on each other have the same; 0 for one that is sent alone."""
        return self.number // GROUP if self.number < FIRST_NUMBER else 0

    @property
    def answer(self) -> Handle:
        """What stands for the answer, in requests that follow, where it `hands_on`."""
        return Handle(self.number << 32, "")

    def message(self) -> dict[str, Any]:
        """What has to travel: the name, and the fields that say something."""
        silent = (None, False, "", 0)
        said = {field: value for field, value in vars(self).items() if not any(value is s for s in silent)}
        return {**said, "name": self.name}


@dataclass
class Outcome:
    """What came of a request; `arguments` are the arguments as the call left them."""

    value: Any = None
    arguments: Any = None
    flops: int = 0
    gradients: dict[str, Any] | None = None

    def message(self) -> dict[str, Any]:
        """What has to travel: the value, and the fields that say something."""
        said = {"value": self.value}
        if self.arguments is not None:
            said["arguments"] = self.arguments
        if self.flops:
            said["flops"] = self.flops
        if self.gradients is not None:
            said["gradients"] = self.gradients
        return said


@dataclass(frozen=True)
class HandedOn:
    """An answer as it travels: an argument that is new each time, as if it came from the grader."""

    header: bytes
    buffers: list[bytes]

    @classmethod
    def of(cls, value: Any) -> HandedOn:
        """Raises Malformed where the value cannot travel."""
        return cls(*encode({"value": value}))

    def anew(self) -> Any:
        """The value, and nobody else's."""
        return decode(self.header, bytearray(b"".join(self.buffers)))["value"]
