"""What a submission is asked, and what comes of it, as both ends of the channel write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.worker.protocol.codec import Handle


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
    hold: bool = False  # the result is held, and compared when the next one is there
    number: int = 0  # objects that the request makes are known by it
    functions: list[Callable[..., Any]] = field(
        default_factory=list
    )  # the grader's, by the number of a Callback

    def message(self) -> dict[str, Any]:
        """What has to travel: the name, and the fields that say something."""
        said = {field: value for field, value in vars(self).items() if value and field != "functions"}
        return {**said, "name": self.name}


@dataclass
class Outcome:
    """What came of a request; `arguments` are the arguments as the call left them."""

    value: Any = None
    arguments: Any = None
    flops: int = 0
    gradients: dict[str, Any] | None = None
    overwritten: bool = False  # the result that is held is no longer what it was

    def message(self) -> dict[str, Any]:
        """What has to travel: the value, and the fields that say something."""
        said = {"value": self.value}
        if self.arguments is not None:
            said["arguments"] = self.arguments
        if self.flops:
            said["flops"] = self.flops
        if self.gradients is not None:
            said["gradients"] = self.gradients
        if self.overwritten:
            said["overwritten"] = True
        return said
