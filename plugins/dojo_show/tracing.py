"""Call the student's functions one after the other, and keep what each of them gave.

For a function that does not pass, the value that the reference gave for the same arguments is read from a
recording. A recording holds for its own arguments alone. So behind a wrong value, and for tokens that are
typed, nothing takes the place of a function that does not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dojo_show.answers import Answers
from grader.expect import SubmissionFailed
from grader.texts.escaping import harmless
from grader.worker.client import WorkerLost
from grader.worker.student import Student

Array = np.ndarray[Any, np.dtype[Any]]
Value = Any  # an array, or None if it is missing
Shapes = Sequence[tuple[int, ...]]
#: `plain` is a product or a sum of the grader's own.
Source = Literal["yours", "fails", "recorded", "missing", "plain"]
SAME = 1e-3  # a smaller difference from the recording, which has five decimals, is none
DTYPE_KINDS = {"f4": "fiu", "i8": "iu", "?": "b"}  # the kinds of dtype that do where one is needed
BLOCKED = "A value is missing."


class Unusable(Exception):
    """A function did not return the arrays that the next one takes."""


@dataclass(frozen=True)
class Step:
    """The values of one call, the kata and the source that they are from, and why they are missing.

    `changed` has, for each value, a mask of the cells that differ from the recording; it is empty if none do.
    """

    kata: str
    source: Source
    values: list[Value]
    note: str = ""
    changed: tuple[Value, ...] = ()

    def mask(self, place: int) -> Value:
        """Return the mask of the cells of one value that differ from the recording, or None if none do."""
        return self.changed[place] if self.changed else None


@dataclass
class Tracer:
    """Calls functions one after another and keeps the steps by their names.

    `recorded` has the values of the reference by the name of the step. Once a value is missing or differs,
    `altered` is true, and the recording is not used any more.
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
        shapes: Shapes,
        needs: Sequence[Value] = (),
        kind: str = "f4",
    ) -> list[Value]:
        """Return the arrays that `run` gives with the kata's student, or those recorded, or Nones.

        They must have these shapes and this kind of dtype. `needs` are arguments that other steps gave;
        the call is left out if one of them is None.
        """
        student, missing = self.answers.students.get(kata), [None] * len(shapes)
        if student is None and name in self.recorded and not self.altered:
            step = Step(kata, "recorded", [np.array(value, kind) for value in self.recorded[name]])
        elif student is not None and any(value is None for value in needs):
            step = Step("", "missing", missing, BLOCKED)
        elif student is None or kata in self.answers.lost:
            step = Step(kata, "missing", missing, self.answers.lost.get(kata, ""))
        else:
            step = self._run(name, kata, lambda: _checked(run(student), shapes, kind), missing)
        self.steps[name] = step
        self.altered = self.altered or step.source == "missing" or bool(step.changed)
        return step.values

    def _run(self, name: str, kata: str, run: Callable[[], list[Value]], missing: list[None]) -> Step:
        """Return the step of a call that runs now."""
        try:
            values = run()
        except Exception as error:  # `run` computes with what the student returned, which can be anything
            if isinstance(error, WorkerLost):  # the next call would wait as long again
                self.answers.lost[kata] = _note(error)
            return Step(kata, "missing", missing, _note(error))
        source: Source = "fails" if self.answers.statuses[kata] == "fails" else "yours"
        return Step(kata, source, values, changed=self._changed(name, values))

    def apply(self, name: str, function: str, arguments: Sequence[Any], shapes: Shapes) -> list[Value]:
        """Return what `call` returns for one function of the student's with these arguments."""

        def run(student: Student) -> Any:
            return getattr(student, function)(*arguments)

        return self.call(name, self.answers.kata_of(function), run, shapes, arguments)

    def keep(self, name: str, value: Value) -> None:
        """Keep a sum of the grader's own as a step, so that it is compared with the recording as well."""
        source: Source = "missing" if value is None else "plain"
        self.steps[name] = Step("", source, [value], changed=self._changed(name, [value]))

    def within(self, prefix: str) -> list[Step]:
        """Return the steps whose names begin with `prefix`."""
        return [step for name, step in self.steps.items() if name.startswith(prefix)]

    def _changed(self, name: str, values: list[Value]) -> tuple[Value, ...]:
        """Return the masks of the cells that differ from the recording, or nothing if none do."""
        pairs = zip(values, self.recorded.get(name, ()), strict=False)
        masks = [
            plain(lambda value, expected=expected: gaps(value, expected) > SAME, value)
            for value, expected in pairs
        ]
        return tuple(masks) if any(mask is not None and mask.any() for mask in masks) else ()


def gaps(value: Array, expected: Any) -> Array:
    """Return the absolute differences of two arrays, which are infinite for NaN against a number."""
    one, other = np.asarray(value, "f8"), np.asarray(expected, "f8")
    if one.shape != other.shape:
        return np.full(one.shape, np.inf)
    with np.errstate(invalid="ignore"):
        found = np.where(one == other, 0.0, np.abs(one - other))
    return np.nan_to_num(found, nan=np.inf)


def cells_of(mask: Value) -> list[list[int]]:
    """Return the cells that a mask marks, or none if there is no mask."""
    found: list[list[int]] = plain(lambda mask: np.argwhere(mask).tolist(), mask) or []
    return found


def plain(function: Callable[..., Any], *values: Value) -> Value:
    """Return `function(*values)`, a product or a sum of the grader's own, or None if a value is missing."""
    return None if any(value is None for value in values) else function(*values)


def _checked(result: Any, shapes: Shapes, kind: str) -> list[Value]:
    """Return the result as arrays of these shapes. Raises Unusable if it is anything else."""
    parts = list(result) if isinstance(result, list | tuple) and len(shapes) > 1 else [result]
    if len(parts) != len(shapes):
        raise Unusable(f"It returned {len(parts)} values, and {len(shapes)} are needed.")
    return [_array(part, shape, kind) for part, shape in zip(parts, shapes, strict=True)]


def _array(value: Any, shape: tuple[int, ...], kind: str) -> Array:
    if type(value).__module__ == "torch":
        value = value.detach().numpy()
    if not isinstance(value, int | float | np.ndarray | np.generic):
        raise Unusable(f"It returned an object of type {type(value).__name__}, and an array is needed.")
    array = np.asarray(value)
    if array.dtype.kind not in DTYPE_KINDS[kind]:
        raise Unusable(f"It returned the dtype {array.dtype}, and {np.dtype(kind)} is needed.")
    if array.shape != shape:
        raise Unusable(f"It returned the shape {list(array.shape)}, and {list(shape)} is needed.")
    return array


def _note(error: Exception) -> str:
    """Return why there is no value, as a sentence."""
    if isinstance(error, SubmissionFailed):
        note = f"{error.kinds[0]}: {error.message}"
    else:
        note = str(error) if isinstance(error, WorkerLost | Unusable) else "What it returned cannot be used."
    return harmless(note[:200], one_line=True)
