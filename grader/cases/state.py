"""Call a submission between other calls, and report what they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Case, Kata
from grader.values.arrays import in_leaves
from grader.values.comparison import Difference, Tolerance, first_difference
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student

EARLIER_CALLS = "earlier_calls_change_nothing"
RAISED = "raised"  # the kind that says that a call with other values raised

Finding = tuple[str, str, Difference | None]  # its kind, a sentence and the difference

SENTENCES = {
    "no_grad": "Inside torch.no_grad() the same call gives another answer.",
    "gradients": "The call leaves gradients switched on, where its caller had switched them off.",
    "training": "The call leaves a module that it was given in another mode, training or evaluation.",
    "again": "After calls with other arguments, the same call gives another answer.",
    "module": "After calls with other inputs, weights, dtypes and modes, the module gives another answer.",
    "mode": "In training and in evaluation mode the module gives different answers.",
    "shared": "Two calls return the same array: a change of one result changes the other.",
    "overwritten": "A call changes the result of an earlier one, which its caller still holds.",
}


class Revisited(Student):
    """A student whose modules are called with other inputs, in other dtypes and modes, after they are made.

    `uses` are the calls that a case makes on each object; `earlier` are those of a run before, by which the
    other calls are made up.
    """

    def __init__(self, student: Student, earlier: list[list[Any]]) -> None:
        super().__init__()
        self._student, self._earlier = student, earlier
        self._made: list[Handle] = []
        self.uses: list[list[Any]] = []

    def perform(self, request: Request) -> Outcome:
        return self._student.perform(request)

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        value = super().call(name, target, args, kwargs)
        returned = self.trace[-1].value
        if target is None and isinstance(returned, Handle):
            self._made.append(returned)
            self.uses.append([])
            self._visit(returned)
        elif target in self._made and name != "load_state_dict":
            self.uses[self._made.index(target)].append((name, args, kwargs, returned))
        return value

    def _visit(self, module: Handle) -> None:
        """Call a new module as it will be called later, before it gets its weights."""
        index = len(self._made) - 1
        uses = self._earlier[index] if index < len(self._earlier) else []
        if not any(name == "__call__" for name, *_ in uses):
            return
        self._try("double", module)
        for change in (_in_float64, _shorter, _in_float64):
            self._repeat(module, uses, change)
        self._try("float", module)
        self._try("eval", module)
        for change in (other_values, _shorter, _longer):
            self._repeat(module, uses, change)
        self._try("train", module)
        self._repeat(module, uses, _in_float32)

    def _repeat(self, module: Handle, uses: list[Any], change: Callable[[Any], Any]) -> None:
        for name, args, kwargs, _ in uses:
            if name not in ("train", "eval", "double", "float"):
                self._try(name, module, change(args), change(kwargs))

    def _try(self, name: str, module: Handle, args: Any = (), kwargs: Any = None) -> None:
        with suppress(SubmissionFailed):  # the made up inputs may not fit
            super().call(name, module, list(args), dict(kwargs or {}))

    def in_the_other_mode(self) -> Iterator[tuple[Any, Any]]:
        """Yield pairs of results, in one mode and in the other, for every call of a module."""
        for module, uses in zip(self._made, self.uses, strict=True):
            calls = [use for use in uses if use[0] not in ("train", "eval", "double", "float")]
            if not any(name == "__call__" for name, *_ in calls):
                continue
            modes = [name for name, *_ in uses if name in ("train", "eval")]
            self._try("train" if modes[-1:] == ["eval"] else "eval", module)
            for name, args, kwargs, value in calls:
                super().call(name, module, args, kwargs)
                yield value, self.trace[-1].value

    def overwrites(self) -> bool:
        """Return whether a call of a module with other values changes the result of the call before."""
        for module, uses in zip(self._made, self.uses, strict=True):
            calls = [use for use in uses if use[0] == "__call__"]
            with self.holding_results() as held:
                for _, args, kwargs, _ in calls[-1:]:
                    self._try("__call__", module, args, kwargs)
                    self._try("__call__", module, other_values(args), other_values(kwargs))
            if held.overwritten:
                return True
        return False


def findings(
    kata: Kata,
    student: Student,
    case: Case,
    others: list[Case],
    first: dict[str, Any],
    tolerance: Tolerance,
) -> Iterator[Finding]:
    """Yield what calls with other arguments, dtypes and modes change about the answer `first` to a case."""
    if kata.library == "torch":
        with student.in_grad_mode(False) as mode:
            yield from _compared("no_grad", kata, student, case, first, tolerance)
        if mode.left_changed:
            yield mode.left_changed, SENTENCES[mode.left_changed], None
    with student.holding_results() as held:
        dict(kata.observed(student, case))
        try:
            kata.observed(student, other_values(case))
        except (SubmissionFailed, ExpectationFailed):
            yield RAISED, "", None
        for other in others:
            _attempt(kata, student, other)
        yield from _compared("again", kata, student, case, first, tolerance)
    if held.overwritten:
        yield "overwritten", SENTENCES["overwritten"], None
    if held.shared:
        yield "shared", SENTENCES["shared"], None
    plain = Revisited(student, [])
    kata.observed(plain, case)
    if any(name == "__call__" for uses in plain.uses for name, *_ in uses):
        yield from _of_modules(kata, Revisited(student, plain.uses), case, first, tolerance, student)


def _of_modules(
    kata: Kata, module: Revisited, case: Case, first: dict[str, Any], tolerance: Tolerance, student: Student
) -> Iterator[Finding]:
    yield from _compared("module", kata, module, case, first, tolerance)
    for value, other in module.in_the_other_mode():
        found = first_difference(value, other, tolerance)
        if found:
            yield "mode", SENTENCES["mode"], found
            break
    if module.overwrites():
        yield "overwritten", SENTENCES["overwritten"], None
    student.trace[:] = module.trace[-1:]


def _compared(
    kind: str, kata: Kata, student: Student, case: Case, first: dict[str, Any], tolerance: Tolerance
) -> Iterator[Finding]:
    student.trace.clear()
    try:
        again = dict(kata.observed(student, case))
    except (SubmissionFailed, ExpectationFailed) as failure:
        yield kind, f"{SENTENCES[kind].split(' gives ')[0]} raises {failure}.", None
        return
    found = first_difference(first, again, tolerance)
    if found:
        yield kind, SENTENCES[kind], found


def _attempt(kata: Kata, student: Student, case: Case) -> None:
    with suppress(SubmissionFailed, ExpectationFailed):  # another check judges this case
        kata.observed(student, case)


def others_than(case: Case, cases: list[Case]) -> list[Case]:
    """Return two other cases, one before and one after this one, which are smaller and larger."""
    at = next(index for index, other in enumerate(cases) if other is case)
    return [cases[at - 1], cases[(at + 1) % len(cases)]] if len(cases) > 2 else []


def other_values(tree: Any) -> Any:
    """Return the tree with other values of the same shapes: the arrays in reverse along their first axis."""
    return in_leaves(_reversed, tree)


def _is_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch" and hasattr(value, "flip")


def _reversed(value: Any) -> Any:
    if not (isinstance(value, np.ndarray) or _is_tensor(value)) or not value.ndim:
        return value
    if len(value) == 1 and "float" in str(value.dtype):
        return value * 0.5
    return value.flip(0) if _is_tensor(value) else value[::-1].copy()


def _in_float64(tree: Any) -> Any:
    return in_leaves(lambda v: v.double() if _is_tensor(v) and v.is_floating_point() else v, tree)


def _in_float32(tree: Any) -> Any:
    return in_leaves(lambda v: v.float() if _is_tensor(v) and v.is_floating_point() else v, tree)


def _shorter(tree: Any) -> Any:
    """Return the tensors with the first entry along their second axis alone."""
    return in_leaves(lambda v: v[:, :1] if _is_tensor(v) and v.ndim > 1 else v, _in_float32(tree))


def _longer(tree: Any) -> Any:
    """Return the tensors with their entries twice along the first two axes."""
    return in_leaves(
        lambda v: v.repeat(2, 2, *[1] * (v.ndim - 2)) if _is_tensor(v) and v.ndim > 1 else v,
        _in_float32(tree),
    )
