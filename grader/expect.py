"""What a law says: a small vocabulary of expectations, each with one sentence for the student.

    expect.close(total, 1.0, "the sum of each slice")
    expect.equal(merged, x, "merge_heads(split_heads(x))")
    expect.true(kept.any(), "The most likely token is always kept.")
    expect.refuses(student.split_heads, x, 3)

Every one raises `ExpectationFailed`, an AssertionError, so the same law reads well under plain pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from grader.values.arrays import dtype_name, to_numpy
from grader.values.comparison import EPSILON, Difference, Tolerance, first_difference, of_values
from grader.values.formatting import show
from grader.values.tolerance import Precision


class SubmissionFailed(Exception):
    """A call of the student's code raised. `kinds` are the error's class names, nearest first."""

    def __init__(self, kinds: tuple[str, ...], message: str, line: int | None = None) -> None:
        super().__init__(kinds, message, line)  # all of them, so that it can be pickled
        self.kinds = kinds
        self.message = message
        self.line = line

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{self.kinds[0]}: {self.message}{where}" if self.message else f"{self.kinds[0]}{where}"

    @property
    def met_the_cpu(self) -> bool:
        """Whether, on a pretended device, a tensor met one that had stayed on the CPU."""
        return "DeviceMismatch" in self.kinds


class ExpectationFailed(AssertionError):
    """An expectation that did not hold: a sentence and, where values differ, how."""

    def __init__(self, message: str, difference: Difference | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.difference = difference

    def __str__(self) -> str:
        if self.difference is None:
            return self.message
        found = self.difference
        return f"{self.message}\n    expected  {found.expected}\n    got       {found.got}    {found.where}"


_precision: ContextVar[Precision] = ContextVar("precision", default=Precision())  # noqa: B039  # frozen


@contextmanager
def judged_in(precision: Precision) -> Iterator[None]:
    """Inside, no result is held to more digits than the case allows."""
    token = _precision.set(precision)
    try:
        yield
    finally:
        _precision.reset(token)


def _coarser(got: Any) -> str:
    return max(dtype_name(got), _precision.get().dtype or "", key=lambda dtype: EPSILON.get(dtype, 0.0))


def true(condition: object, sentence: str) -> None:
    """`sentence` states what must hold, as a full sentence."""
    if not bool(condition):
        raise ExpectationFailed(sentence)


def close(
    got: Any, expected: Any, what: str, *, terms: int = 1, roundings: float = 1, dtype: str | None = None
) -> None:
    """Equal within the tolerance for sums of `terms` numbers, `roundings` deep, in the coarser of the
    dtypes of `got` and of the case."""
    tolerance = Tolerance(terms, roundings, _precision.get().floor)
    found = first_difference(expected, got, tolerance, dtype or _coarser(got))
    if found:
        raise ExpectationFailed(f"{_begin(what)} is not what it must be.", found)


def decimals(got: Any, expected: Any, places: int, what: str) -> None:
    """Equal to `places` decimals, as a printed table gives them (one unit of the last place is allowed)."""
    have, wanted = to_numpy(got), to_numpy(expected)
    if wanted is None:
        raise TypeError(f"expected={expected!r} is no array")
    if have is None or have.shape != wanted.shape:
        close(got, expected, what)
        return
    wrong = ~(abs(have - wanted) <= 0.51 * 10.0**-places)
    if wrong.any():
        at = tuple(int(axis[0]) for axis in wrong.nonzero())
        raise ExpectationFailed(
            f"{_begin(what)} differs from the printed figures.",
            of_values(wanted, have, at, str(list(at))),
        )


def equal(got: Any, expected: Any, what: str) -> None:
    """Equal to the last bit, NaN equal to NaN."""
    found = first_difference(expected, got, Tolerance(terms=0))
    if found:
        raise ExpectationFailed(f"{_begin(what)} is not what it must be.", found)


def refuses(call: Callable[..., Any], *args: Any, why: str, **kwargs: Any) -> None:
    """The call must raise ValueError (AssertionError is taken as well); `why` completes the sentence."""
    try:
        result = call(*args, **kwargs)
    except SubmissionFailed as error:
        if {"ValueError", "AssertionError"} & set(error.kinds):
            return
        told = f"The call raised {error}."
    else:
        told = f"The call returned {show(result)}."
    raise ExpectationFailed(f"A ValueError is due: {why}. {told}")


def loads(student: Any, module: Any, weights: dict[str, Any]) -> Any:
    """`module` with these weights in its parameters, in their dtype. Its parameters must have just these
    names and shapes; buffers are its own business. Returns the module."""
    expected = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    has = {name: tuple(p.shape) for name, p in student.anatomy(module)["parameters"].items()}
    missing = [name for name in expected if name not in has]
    if missing:
        raise ExpectationFailed(f"The module has no parameter `{missing[0]}`; it has {_listed(has)}.")
    unknown = [name for name in has if name not in expected]
    if unknown:
        raise ExpectationFailed(
            f"The module has a parameter `{unknown[0]}`, which the statement does not name."
        )
    wrong = [name for name in expected if has[name] != expected[name]]
    if wrong:
        raise ExpectationFailed(
            f"`{wrong[0]}` has the shape {has[wrong[0]]}; it must be {expected[wrong[0]]}."
        )
    if any(dtype_name(tensor) == "float64" for tensor in weights.values()):
        module.double()
    module.load_state_dict(weights, strict=False)
    return module


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return ", ".join(quoted[:8]) + (", …" if len(quoted) > 8 else "") if quoted else "none"


def _begin(what: str) -> str:
    """`what` at the beginning of a sentence; code keeps its case."""
    return what[:1].upper() + what[1:] if what.split(" ")[0].isalpha() else what
