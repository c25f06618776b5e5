"""Compare what two versions of a homework answer to the same calls, beyond rounding and chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.authoring.audit.worlds import Outcome, Step, World
from grader.values.arrays import dtype_name, float_dtype, in_leaves, leaves, to_numpy
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import show, show_pair
from grader.values.tolerance import CANCELLED, precision_of

#: How many roundings may stand between two right answers, by dtype: a chain of steps repeats them.
ROUNDINGS = {"float64": 2.0**16}
FEW_ROUNDINGS = 2.0**4

Trial = list[Step]


@dataclass(frozen=True)
class Found:
    """A difference at one step of a trial: its kind, and the two answers as texts."""

    kind: str  # value, dtype, argument, later, raises, missing
    step: int
    expected: str
    got: str
    name: str = ""  # of the argument that is changed


class Pair:
    """The right version and another one. Where chance is looked for, objects are made from `seed_of_objects`:
    another one if both versions may begin with other random numbers and be right."""

    def __init__(self, right: World, other: World, seed_of_objects: int) -> None:
        self.right, self.other, self.seed_of_objects = right, other, seed_of_objects

    def difference(self, trial: Trial, careful: bool = False) -> Found | None:
        """Return the first difference that a trial shows; `careful` looks at what else may explain it."""
        trial = [{**step, "args": self.right.without_defaults(step)} for step in trial]
        try:
            given = given_of(self.right, trial)
            mine = self.right.run(loaded_from(self.right, trial, given))
            if not mine or (mine[0].raised and not mine[0].is_meant):
                return None
            if trial[-1].get("is_odd") and not mine[-1].is_meant:
                return None  # arguments that do not fit show something only where they are refused
            theirs = self.other.run(loaded_from(self.other, trial, given))
        except Exception:
            return None
        found = compared(trial, mine, theirs)
        if found and careful and not self._is_sure(trial, given, mine, found):
            return None
        return found

    def _is_sure(self, trial: Trial, given: list[bytes], mine: list[Outcome], found: Found) -> bool:
        """Return whether neither chance nor rounding explains a difference of values."""
        if found.kind not in ("value", "later"):
            return True
        again = self.right.run(loaded_from(self.right, trial, given))
        if compared(trial, mine, again):
            return False
        if self._is_random(trial, given, mine):
            return False
        if all(_is_dyadic(leaf) for step in trial for leaf in leaves(step["args"])):
            return True
        for sign in (1, -1):
            near = loaded_from(self.right, trial, given)
            for step in near:
                step["args"] = in_leaves(partial(_moved, sign=sign), step["args"])
            if compared(trial, mine, self.right.run(near)):
                return False
        return True

    def _is_random(self, trial: Trial, given: list[bytes], mine: list[Outcome]) -> bool:
        """Return whether the right version answers otherwise from another state of random numbers."""
        again = self.right.run(loaded_from(self.right, trial, given), 1, self.seed_of_objects)
        return bool(compared(trial, mine, again))


def with_values(trial: Trial, values: list[Any]) -> Trial:
    """Return the trial with these arguments and attributes."""
    return [{**s, "args": args, "sets": sets or {}} for s, (args, sets) in zip(trial, values, strict=True)]


def given_of(world: World, trial: Trial) -> list[bytes]:
    """Return the arguments of each step as bytes, so that no step can change those of another."""
    return [world.dump([step["args"], step.get("sets")]) for step in trial]


def loaded_from(world: World, trial: Trial, given: list[bytes]) -> Trial:
    return with_values(trial, [world.load(data) for data in given])


def compared(trial: Trial, mine: list[Outcome], theirs: list[Outcome]) -> Found | None:
    """Return the first difference between what two versions gave."""
    tolerance = _tolerance(trial)
    for n, (due, got) in enumerate(zip(mine, theirs, strict=False)):
        if due.raised:
            if not due.is_meant:
                return None
            if got.raised != due.raised:
                return Found("raises", n, due.raised, got.raised or show(got.value))
            continue
        if got.raised:
            return Found("raises", n, show(due.value), got.raised)
        if _is_undefined(due.value, trial[n]):
            return None
        if found := _difference(due.value, got.value, tolerance, n):
            return found
        if isinstance(due.arguments, dict) and isinstance(got.arguments, dict):
            for name, value in due.arguments.items():
                texts = _pair_of(value, got.arguments.get(name), tolerance)
                if texts and trial[n]["name"]:
                    return Found("argument", n, *texts, name)
    for n, (due, got) in enumerate(zip(mine, theirs, strict=False)):
        if not (due.raised or got.raised) and (texts := _pair_of(due.later, got.later, tolerance)):
            return Found("later", n, *texts)
    return None


def _difference(due: Any, got: Any, tolerance: Tolerance, n: int) -> Found | None:
    if texts := _pair_of(due, got, tolerance):
        return Found("value", n, *texts)
    for one, other in zip(leaves(due), leaves(got), strict=False):
        kinds = dtype_name(one), dtype_name(other)
        if (
            kinds[0] != kinds[1]
            and hasattr(one, "dtype")
            and hasattr(other, "dtype")
            and hasattr(one, "shape")
        ):
            return Found("dtype", n, *kinds)
    return None


def _pair_of(due: Any, got: Any, tolerance: Tolerance) -> tuple[str, str] | None:
    """Return two values as texts if they differ."""
    found = first_difference(due, got, tolerance, _coarser(due, got))
    if found is None:
        return None
    return show_pair(due, got) if found.kind == "value" else (found.expected, found.got)


def _coarser(due: Any, got: Any) -> str | None:
    """Return the coarser of two float dtypes, in whose tolerance the values are compared."""
    names = [float_dtype(tree) or "float64" for tree in (due, got)]
    return next((name for name in ("bfloat16", "float16", "float32") if name in names), None)


def _tolerance(trial: Trial) -> Tolerance:
    arguments = [step["args"] for step in trial]
    precision = precision_of(arguments)
    roundings = FEW_ROUNDINGS if float_dtype(arguments) not in (None, "float64") else ROUNDINGS["float64"]
    largest = max((_largest(leaf) for leaf in leaves(arguments)), default=0.0)
    return Tolerance(precision.terms, roundings, max(precision.floor, CANCELLED * min(largest, 1e6)))


def _largest(leaf: Any) -> float:
    array = to_numpy(leaf)
    if array is None or array.dtype.kind != "f" or not array.size:
        return 0.0
    finite = array[np.isfinite(array)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _is_undefined(value: Any, step: Step) -> bool:
    """Return whether a result has NaN where the arguments have none: no test would ask for it."""

    def holds_nan(tree: Any) -> bool:
        arrays = [array for array in map(to_numpy, leaves(tree)) if array is not None]
        return any(array.dtype.kind == "f" and np.isnan(array).any() for array in arrays)

    return holds_nan(value) and not holds_nan(step["args"])


def _is_dyadic(leaf: Any) -> bool:
    """Return whether sums and products of a value are exact: it has no floats, or multiples of 1/4."""
    array = to_numpy(leaf)
    if array is None or array.dtype.kind != "f":
        return True
    finite = array[np.isfinite(array)].astype(np.float64)
    return bool((finite * 4 == np.round(finite * 4)).all())


def _moved(leaf: Any, sign: int) -> Any:
    """Return a float or an array of floats, moved by two roundings."""
    array = to_numpy(leaf)
    if array is None or array.dtype.kind != "f" or not hasattr(leaf, "shape"):
        return leaf
    signs = np.where(np.arange(array.size).reshape(array.shape) % 2, sign, -sign)
    step = 1 + 2 * signs * np.finfo(array.dtype).eps
    if isinstance(leaf, np.ndarray):
        return (leaf * step).astype(leaf.dtype)
    return leaf.detach() * leaf.new_tensor(step)
