"""Call the student's functions one after the other, and keep what each of them gave.

A function that is not the student's yet is not replaced by another: the value that the reference gave for
the same arguments is read from a recording. A recording holds for its own arguments alone, so behind a wrong
value, and for tokens that the student typed, nothing takes the place of a function that does not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from grader.expect import SubmissionFailed
from grader.see.answers import Answers
from grader.worker.client import WorkerLost
from grader.worker.student import Student

Array = np.ndarray[Any, np.dtype[Any]]
Values = list[Array | None]
#: `plain` is a product or a sum of the grader's own.
Source = Literal["yours", "fails", "recorded", "missing", "plain"]
#: How much a value may differ from the recording, which has five decimals, without counting as changed.
SAME = 1e-3


@dataclass(frozen=True)
class Step:
    """The values of one call: of which kata, from where, why there are none, and how far from the recording.

    `changed` has a mask of the cells that differ from the recording, for each value.
    """

    kata: str
    source: Source
    values: Values
    note: str = ""
    difference: float = 0.0
    changed: tuple[Array | None, ...] = ()


@dataclass
class Tracer:
    """Calls functions and keeps the steps by their names.

    Attributes:
        answers: The student's functions.
        recorded: The values of the reference, by the name of the step; empty if there are none.
        steps: What the calls gave so far.
        altered: Whether a value differs from the recording, so that the recording holds no longer.
    """

    answers: Answers
    recorded: Mapping[str, list[Any]]
    steps: dict[str, Step] = field(default_factory=dict)
    altered: bool = False

    def call(
        self,
        name: str,
        kata: str,
        run: Callable[[Student], Any],
        shapes: Sequence[tuple[int, ...]],
        needs: Sequence[Array | None] = (),
        kind: str = "f",
    ) -> Values:
        """Return the arrays that `run` gives with the kata's student, or those recorded, or Nones.

        They must have these shapes, and NumPy's `kind` of dtype: f, i or b. `needs` are the arguments that
        other steps gave; the call is left out if one of them is None.
        """
        step = self._step(name, kata, run, shapes, needs, kind)
        self.steps[name] = step
        self.altered = self.altered or step.source == "missing" or step.difference > SAME
        return step.values

    def _step(
        self,
        name: str,
        kata: str,
        run: Callable[[Student], Any],
        shapes: Sequence[tuple[int, ...]],
        needs: Sequence[Array | None],
        kind: str,
    ) -> Step:
        nothing: Values = [None] * len(shapes)
        student = self.answers.students.get(kata)
        note = ""
        if student is not None:
            if any(value is None for value in needs):
                return Step(kata, "missing", nothing, "It needs a value that is missing.")
            try:
                values = _checked(run(student), shapes, kind)
                return self._compared(name, kata, self._used(kata), values)
            except (SubmissionFailed, WorkerLost, Unusable) as error:
                note = _told(error)
        if name in self.recorded and not self.altered and student is None:
            return Step(kata, "recorded", [np.array(value, kind) for value in self.recorded[name]])
        return Step(kata, "missing", nothing, note or "Nothing is recorded for these values.")

    def _used(self, kata: str) -> Source:
        return "fails" if self.answers.statuses[kata] == "fails" else "yours"

    def keep(self, name: str, value: Array | None) -> None:
        """Keep a sum of the grader's own as a step, so that it is compared with the recording as well."""
        self.steps[name] = self._compared(name, "", "missing" if value is None else "plain", [value])

    def _compared(self, name: str, kata: str, source: Source, values: Values) -> Step:
        pairs = list(zip(values, self.recorded.get(name, ()), strict=False))
        difference = max((largest_difference(value, due) for value, due in pairs), default=0.0)
        changed = tuple(_changed(value, due) for value, due in pairs) if difference > SAME else ()
        return Step(kata, source, values, "", difference, changed)

    def within(self, prefix: str) -> list[Step]:
        """Return the steps whose names begin with `prefix`."""
        return [step for name, step in self.steps.items() if name.startswith(prefix)]


class Unusable(Exception):
    """A function returned something else than the arrays that the next one takes."""


def largest_difference(value: Array | None, due: Any) -> float:
    """Return the largest difference of two arrays, which is infinite for NaN against a number."""
    return 0.0 if value is None else float(_gaps(value, due).max(initial=0.0))


def _changed(value: Array | None, due: Any) -> Array | None:
    return None if value is None else _gaps(value, due) > SAME


def _gaps(value: Array, due: Any) -> Array:
    one, other = np.asarray(value, "f8"), np.asarray(due, "f8")
    if one.shape != other.shape:
        return np.full(one.shape, np.inf)
    with np.errstate(invalid="ignore"):
        gaps = np.where(one == other, 0.0, np.abs(one - other))
    return np.nan_to_num(gaps, nan=np.inf)


def plain(function: Callable[..., Any], *values: Any) -> Any:
    """Return `function(*values)`, a product or a sum of the grader's own, or None if a value is missing."""
    return None if any(value is None for value in values) else function(*values)


def _checked(result: Any, shapes: Sequence[tuple[int, ...]], kind: str) -> Values:
    """Return the result as arrays. Raises Unusable if it is something else than arrays of these shapes."""
    parts = list(result) if isinstance(result, list | tuple) and len(shapes) > 1 else [result]
    if len(parts) != len(shapes):
        raise Unusable(f"It returned {len(parts)} values, and {len(shapes)} are needed.")
    return [_array(part, shape, kind) for part, shape in zip(parts, shapes, strict=True)]


def _array(value: Any, shape: tuple[int, ...], kind: str) -> Array:
    if type(value).__module__ == "torch":
        value = value.detach().numpy()
    plain_kind = isinstance(value, int | float | np.ndarray | np.generic)
    array = np.asarray(value) if plain_kind else np.empty(0, "O")
    if array.dtype.kind not in {"f": "fiu", "i": "iu", "b": "b"}[kind]:
        raise Unusable(f"It returned no array of the right dtype, but {type(value).__name__}.")
    if array.shape != shape:
        raise Unusable(f"It returned the shape {list(array.shape)}, and {list(shape)} is needed.")
    return array


def _told(error: Exception) -> str:
    if isinstance(error, SubmissionFailed):
        return f"{error.kinds[0]}: {error.message}"[:200]
    return str(error)[:200]
