"""Call a submission between other calls, and report what they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from grader.answer_keys.answers import Case, spread
from grader.cases.generation import LAYOUT
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Arguments, Kata
from grader.values.arrays import dtype_name, float_dtype, in_leaves, leaves
from grader.values.comparison import Difference, Tolerance, first_difference
from grader.worker.calls import Call, Calls, KeptCalls
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.proxies import RemoteObject, without_objects
from grader.worker.student import Student

SWITCHES = ("train", "eval", "double", "float")  # methods that change how a module answers
PLAIN_CASES = 3
EARLIER_CALLS = "earlier_calls_change_nothing"
BY_CASE = ("mode", "in mode", "double", "float", "training")  # kinds that other cases may still be judged by
ENABLE = " A function that differentiates opens torch.enable_grad() itself."
RAISED = "raised"  # the kind that says that a call with other values raised

Change: TypeAlias = tuple[str, str, Difference | None]  # its kind, a sentence and the difference

SENTENCES = {
    "no_grad": "Inside torch.no_grad() the same call gives another answer.",
    "gradients": "The call leaves gradients switched on, where its caller had switched them off.",
    "gradients off": "The call leaves gradients switched off, where its caller had switched them on.",
    "dtype": "The call leaves PyTorch with another default dtype, and its caller's tensors are made in it.",
    "training": "The call leaves a module that it was given in another mode, training or evaluation.",
    "again": "After calls with other arguments, the same call gives another answer.",
    "module": "After calls with other inputs, weights, dtypes and modes, the module gives another answer.",
    "mode": "In training and in evaluation mode the module gives different answers.",
    "in mode": "In the other mode, training or evaluation, a call after another one gives another answer.",
    "double": "After module.double() the module gives another answer.",
    "float": "After module.float() the module gives another answer.",
    "shared": "Two calls return the same array: a change of one result changes the other.",
    "entangled": "Some entries of the result have the same memory: a change of one changes another.",
    "overwritten": "A call changes the result of an earlier one, which its caller still holds.",
    "argument": "Without gradients, or in the other mode, the call changes its arguments in place.",
}


class StateChange(NamedTuple):
    """What changes between calls, as a kind, a sentence and a difference, and the calls that show it."""

    kind: str
    sentence: str
    difference: Difference | None
    calls: Calls


class Use(NamedTuple):
    """A call of an object that a case makes, or of a wrapper around it, and what it returned."""

    target: Handle
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any


class Revisited(Student):
    """A student whose modules are called with other inputs, in other dtypes and modes, around a case's calls.

    `uses` are the calls that a case makes on each object; `earlier` are those of a run before, by which the
    other calls are made up. Calls that raise since the made up inputs do not fit count for nothing. Its calls
    are made in a block of `KeptCalls`.
    """

    def __init__(self, student: Student, earlier: list[list[Use]], *, is_double: bool = False) -> None:
        super().__init__()
        self._student, self._earlier = student, earlier
        self._casts = ("float", "double") if is_double else ("double", "float")  # the case's own is the last
        self._made: list[Handle] = []
        self._numbers: dict[int, int] = {}  # the number of the object, by the id of its handle or a wrapper's
        self.uses: list[list[Use]] = []

    def perform(self, request: Request) -> Outcome:
        return self._student.perform(request)

    def build(self, source: str, name: str, *args: Any, **kwargs: Any) -> Any:
        built = super().build(source, name, *args, **kwargs)
        wrapped = [arg for arg in args if isinstance(arg, RemoteObject) and arg._handle.id in self._numbers]
        if isinstance(built, RemoteObject) and wrapped:
            self._numbers[built._handle.id] = self._numbers[wrapped[0]._handle.id]
        return built

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        value = super().call(name, target, args, kwargs)
        returned = self._calls_made()[-1].value
        if target is None and isinstance(returned, Handle):
            number = self._numbers[returned.id] = len(self.uses)
            self._made.append(returned)
            self.uses.append([])
            if number < len(self._earlier):
                self._visit(returned, self._earlier[number])
        elif target is not None and target.id in self._numbers and name != "load_state_dict":
            self.uses[self._numbers[target.id]].append(Use(target, name, args, kwargs, returned))
        return value

    def _value_to_keep(self, value: Any) -> Any:
        return in_leaves(_copied, value)

    def _calls_made(self) -> list[Call]:
        assert self._kept is not None
        return self._kept

    def _visit(self, module: Handle, uses: list[Use]) -> None:
        """Call a new module with other inputs, in other dtypes and modes, before it gets its weights: what it
        keeps from these calls shows later. They count for nothing, for their answers come from random
        weights, and would be those of a known mistake by chance alone."""
        other, own = self._casts
        calls, before = _calls_of_module(uses), len(self._calls_made())
        for switch, cast, change in (
            (own, own, _shorter),
            (other, other, other_values),
            (own, own, _longer),
            ("eval", own, _unchanged),
            ("train", own, _shorter),
        ):
            if calls:
                self._try(switch, module)
            for use in calls:
                self._try(use.name, module, change(CASTS[cast](use.args)), change(CASTS[cast](use.kwargs)))
        for made in self._calls_made()[before:]:
            made.is_aside = True

    def _try(self, name: str, target: Handle, args: Any = (), kwargs: Any = None) -> None:
        try:
            super().call(name, target, list(args), dict(kwargs or {}))
        except SubmissionFailed:  # the made up inputs may not fit
            self._calls_made()[-1].is_aside = True

    def revisit(self, tolerance: Tolerance) -> Iterator[Change]:
        """Repeat the calls of a case after other calls, in the other mode and in the other dtype."""
        for uses in self.uses:
            calls = _calls_of_module(uses)
            if not calls:
                continue
            module = calls[-1].target
            for use in calls:
                self._try(use.name, use.target, other_values(use.args), other_values(use.kwargs))
            yield from self._repeated("module", calls[::-1], tolerance)
            self._try("eval" if _is_training(uses) else "train", module)
            yield from self._repeated("mode", calls, tolerance)
            with self.in_grad_mode(is_on=False):
                both = [*self._shortened(calls), *calls]
            for use in both:
                with self.in_grad_mode(is_on=False):
                    self._try(use.name, use.target, other_values(use.args), other_values(use.kwargs))
                yield from self._repeated("in mode", [use], tolerance)
            self._try("train" if _is_training(uses) else "eval", module)
            own = CASTS[self._casts[-1]]
            calls = [use for use in calls if _dtypes(use.value) == _dtypes(own(use.value))]
            for switch in self._casts:  # another check judges results of another dtype than the arguments
                self._try(switch, module)
                yield from self._repeated(switch, calls, tolerance)

    def _shortened(self, calls: list[Use]) -> Iterator[Use]:
        """Make the calls with the first token alone, for which some keep what they were shown before, and
        yield those that do not raise."""
        for use in calls:
            args, kwargs = _shorter(use.args), _shorter(use.kwargs)
            self._try(use.name, use.target, args, kwargs)
            if not (made := self._calls_made()[-1]).is_aside:
                yield use._replace(args=args, kwargs=kwargs, value=made.value)

    def _repeated(self, kind: str, calls: list[Use], tolerance: Tolerance) -> Iterator[Change]:
        """Yield what is different where calls are repeated, in float32 or float64 if that is their kind, and
        without gradients in the other mode: so a generation calls a module."""
        change = CASTS.get(kind, _unchanged)
        for use in calls:
            try:
                with (
                    self.in_grad_mode(is_on=False)
                    if kind == "in mode"
                    else self.watching_arguments() as watched
                ):
                    super().call(use.name, use.target, change(use.args), change(use.kwargs))
            except SubmissionFailed as failure:
                yield kind, f"{SENTENCES[kind].split(' gives ')[0]} raises {failure}.", None
                continue
            expected, got = change(use.value), self._calls_made()[-1].value
            yield from _difference(kind, expected, got, tolerance, in_float32=kind in CASTS)
            if watched.changed:
                yield "argument", SENTENCES["argument"], None

    def overwrites(self) -> bool:
        """Return whether a call of a module with other values changes the result of the call before, with
        gradients or without."""
        for module, uses in zip(self._made, self.uses, strict=True):
            for is_on in (True, False):
                with self.in_grad_mode(is_on=is_on) as held:
                    for use in [use for use in uses if use.name == "__call__"][-1:]:
                        self._try(use.name, module, use.args, use.kwargs)
                        self._try(use.name, module, other_values(use.args), other_values(use.kwargs))
                if held.overwritten:
                    return True
        return False


def _calls_of_module(uses: list[Use]) -> list[Use]:
    """Return the calls that compute something, if the object is a module; else none."""
    calls = [use for use in uses if use.name not in SWITCHES]
    return calls if any(use.name == "__call__" for use in calls) else []


def _is_training(uses: list[Use]) -> bool:
    switched = [use.name == "train" and use.args != [False] for use in uses if use.name in ("train", "eval")]
    return switched[-1] if switched else True


def findings(
    kata: Kata,
    student: Student,
    case: Arguments,
    others: list[Arguments],
    first: dict[str, Any],
    tolerance: Tolerance,
) -> Iterator[StateChange]:
    """Yield what calls with other arguments, dtypes and modes change about the answer `first` to a case.
    Raises CaseFailed."""
    answer = case, first, tolerance
    if kata.library == "torch":
        with KeptCalls(student) as made:
            yield from _with_calls(_in_grad_modes(kata, student, *answer), made)
    with KeptCalls(student) as before, student.holding_results() as held:
        dict(kata.observed(student, case))
        try:
            kata.observed(student, other_values(case))
        except (SubmissionFailed, ExpectationFailed):
            yield StateChange(RAISED, "", None, Calls(tuple(before)))
        for other in others:
            _attempt(kata, student, other)
        with KeptCalls(student, before) as made:
            yield from _with_calls(_compared("again", kata, student, *answer), made, before)
    kinds = {"overwritten": held.overwritten, "shared": held.shared, "entangled": held.entangled}
    found = ((kind, SENTENCES[kind], None) for kind, is_found in kinds.items() if is_found)
    yield from _with_calls(found, made, before)
    plain = Revisited(student, [])
    with KeptCalls(plain):
        kata.observed(plain, case)
    if any(map(_calls_of_module, plain.uses)):
        module = Revisited(student, plain.uses, is_double=float_dtype(case) == "float64")
        with KeptCalls(module) as made:
            yield from _with_calls(_of_modules(kata, module, *answer), made)


def _with_calls(
    changes: Iterable[Change], made: list[Call], earlier: Sequence[Call] = ()
) -> Iterator[StateChange]:
    """Yield the changes as findings, each with the calls made so far."""
    for change in changes:
        yield StateChange(*change, Calls(tuple(made), tuple(earlier)))


def _in_grad_modes(
    kata: Kata, student: Student, case: Arguments, first: dict[str, Any], tolerance: Tolerance
) -> Iterator[Change]:
    with student.in_grad_mode(is_on=False) as mode:
        yield from _compared("no_grad", kata, student, case, first, tolerance)
    if mode.left_changed:
        yield mode.left_changed, SENTENCES[mode.left_changed], None
    if mode.changed:
        yield "argument", SENTENCES["argument"], None
    with student.in_grad_mode(is_on=True) as mode:
        _attempt(kata, student, case)
    if mode.left_changed == "gradients":
        yield "gradients", SENTENCES["gradients off"], None


def _of_modules(
    kata: Kata, module: Revisited, case: Arguments, first: dict[str, Any], tolerance: Tolerance
) -> Iterator[Change]:
    with module.in_grad_mode(is_on=False):  # some keep a table only where no gradients are recorded
        yield from _compared("module", kata, module, case, first, tolerance)
    yield from module.revisit(tolerance)
    if module.overwrites():
        yield "overwritten", SENTENCES["overwritten"], None


def _compared(
    kind: str, kata: Kata, student: Student, case: Arguments, first: dict[str, Any], tolerance: Tolerance
) -> Iterator[Change]:
    try:
        again = dict(kata.observed(student, case))
    except (SubmissionFailed, ExpectationFailed) as failure:
        needs = ENABLE if "does not require grad" in str(failure) else ""
        yield kind, f"{SENTENCES[kind].split(' gives ')[0]} raises {failure}.{needs}", None
        return
    yield from _difference(kind, first, again, tolerance)


def _difference(
    kind: str, expected: Any, got: Any, tolerance: Tolerance, *, in_float32: bool = False
) -> Iterator[Change]:
    pair = (_in_float32(expected), _in_float32(got)) if in_float32 else (expected, got)
    found = first_difference(without_objects(pair[0]), without_objects(pair[1]), tolerance)
    dtypes = _dtypes(expected), _dtypes(got)
    if found:
        yield kind, SENTENCES[kind], found
    elif dtypes[0] != dtypes[1]:
        wanted, have = next(pair for pair in zip(*dtypes, strict=True) if pair[0] != pair[1])
        yield kind, f"{SENTENCES[kind]} It must be {wanted}; it is {have}.", None


def _dtypes(tree: Any) -> list[str]:
    return [dtype_name(leaf) for leaf in leaves(tree)]


def _attempt(kata: Kata, student: Student, case: Arguments) -> None:
    with suppress(SubmissionFailed, ExpectationFailed):  # another check judges this case
        kata.observed(student, case)


def others_than(case: Case, cases: list[Case]) -> list[Arguments]:
    """Return the arguments of two other cases, one before and one after this one, which are smaller and
    larger."""
    others = [cases[case.index - 1], cases[(case.index + 1) % len(cases)]] if len(cases) > 2 else []
    return [other.arguments for other in others]


def chosen(cases: list[Case], corners: list[str]) -> list[Case]:
    """Return the cases that are judged between other calls: some plain ones, and the last of each corner."""
    last = {corner: case for case, corner in zip(cases, corners, strict=True)}
    plain = [case for case, corner in zip(cases, corners, strict=True) if not corner]
    return spread(plain, PLAIN_CASES) + [last[corner] for corner in last if corner not in ("", LAYOUT)]


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
    if len(value) == 1 and value.ndim > 1:
        return value.flip(1) if _is_tensor(value) else value[:, ::-1].copy()
    return value.flip(0) if _is_tensor(value) else value[::-1].copy()


def _in_float64(tree: Any) -> Any:
    return in_leaves(lambda v: v.double() if _is_tensor(v) and v.is_floating_point() else v, tree)


def _in_float32(tree: Any) -> Any:
    return in_leaves(lambda v: v.float() if _is_tensor(v) and v.is_floating_point() else v, tree)


def _shorter(tree: Any) -> Any:
    """Return the tensors with the first entry along their second axis alone."""
    return in_leaves(lambda v: v[:, :1] if _is_tensor(v) and v.ndim > 1 else v, tree)


def _longer(tree: Any) -> Any:
    """Return the tensors with one entry more along each of their first two axes."""
    return in_leaves(lambda v: _with_more(v) if _is_tensor(v) and v.ndim > 1 else v, tree)


def _with_more(value: Any) -> Any:
    rows, columns = ([*range(size), 0] if size else [] for size in value.shape[:2])
    return value[rows][:, columns]


def _copied(value: Any) -> Any:
    """Return a copy of an array: within one process a later call may write into the one that was returned."""
    if _is_tensor(value):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _unchanged(tree: Any) -> Any:
    return tree


CASTS = {"double": _in_float64, "float": _in_float32}
