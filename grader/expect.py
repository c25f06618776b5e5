"""Expectations for laws; each raises `ExpectationFailed` with a sentence for the student.

    expect.close(total, 1.0, "the sum of each slice")
    expect.equal(joined, x, "join(split(x))")
    expect.true(kept.any(), "The most likely token is always kept.")
    expect.refuses(student.split, x, 3, why="3 does not divide the width")
    expect.frequency(heads, 400, 0.3, "heads")
    expect.frequencies(counts, 400, shares, "token")

`ExpectationFailed` is an AssertionError, so the same law works under plain pytest.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from grader.report import Panel, Picture, to_number
from grader.texts.phrases import counted
from grader.values.arrays import dtype_name, to_numpy
from grader.values.comparison import (
    Difference,
    Precision,
    Tolerance,
    capitalized,
    epsilon_of,
    first_difference,
    value_difference,
)
from grader.values.formatting import show

FALSE_ALARM = 1e-9  # the largest chance with which `frequency` refuses a right answer
MOST_POINTS = 32  # of a curve, and bars of a picture


class SubmissionFailed(Exception):
    """A call of the student's code raised an exception.

    Attributes:
        kinds: The names of the exception's classes, the most specific one first.
        message: The exception's message.
        line: The line of the student's file that raised it, if known.
        columns: The first column of the expression in that line and the one after its last, in bytes.
    """

    def __init__(
        self,
        kinds: tuple[str, ...],
        message: str,
        line: int | None = None,
        columns: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(kinds, message, line, columns)  # pickle calls the class with these arguments
        self.kinds = kinds
        self.message = message
        self.line = line
        self.columns = columns

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{self.kinds[0]}: {self.message}{where}" if self.message else f"{self.kinds[0]}{where}"

    @property
    def met_the_cpu(self) -> bool:
        """Whether an operation mixed tensors on the CPU with tensors on the fake device."""
        return "DeviceMismatch" in self.kinds


class ExpectationFailed(AssertionError):
    """An expectation does not hold.

    Attributes:
        message: A sentence for the student.
        difference: The first difference between the expected and the actual values, if values differ.
        picture: Numbers to draw beside the message, such as frequencies or a curve.
    """

    def __init__(
        self, message: str, difference: Difference | None = None, picture: Picture | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.difference = difference
        self.picture = picture

    def __str__(self) -> str:
        if self.difference is None:
            return self.message
        found = self.difference
        return f"{self.message}\n    expected  {found.expected}\n    got       {found.got}    {found.where}"


_precision: ContextVar[Precision] = ContextVar("precision", default=Precision())  # noqa: B039 - frozen


@contextmanager
def precision_limit(precision: Precision) -> Iterator[None]:
    """Make `close` allow for the precision that results for a case can have.

    Args:
        precision: The precision of the case, from `grader.values.comparison.precision_of`.
    """
    token = _precision.set(precision)
    try:
        yield
    finally:
        _precision.reset(token)


def _coarsest_dtype(got: Any, expected: Any) -> str:
    """Return the least precise of three dtypes: those of `got`, of `expected` and of the case's arguments."""
    dtypes = dtype_name(got), dtype_name(expected), _precision.get().dtype or ""
    return max(dtypes, key=epsilon_of)


def true(condition: object, sentence: str, picture: Picture | None = None) -> None:
    """Require a condition.

    Args:
        condition: Anything with a truth value.
        sentence: What must hold, as a full sentence.
        picture: What a report draws if the condition is false, such as a `curve`.

    Raises:
        ExpectationFailed: If the condition is false.

    Example:
        expect.true(kept.any(), "The most likely token is always kept.")
    """
    if not bool(condition):
        raise ExpectationFailed(sentence, picture=picture)


def curve(
    what: str,
    expected: Sequence[float],
    got: Sequence[float],
    at: Sequence[object],
    *,
    wrong: Collection[int] = (),
    titles: tuple[str, str] = ("at most", "got"),
) -> Picture:
    """Return a picture of two curves, for `true`: numbers of the submission beside those that are expected.

    Args:
        what: What the numbers are, as a noun phrase.
        expected: The bound, or the numbers to compare with.
        got: The submission's numbers.
        at: The label of each point, such as `64 tokens`. Of more than 32 points some are left out.
        wrong: The indices of points to mark.
        titles: The names of the two curves.

    Returns:
        The picture.

    Example:
        picture = expect.curve("operations of a step", bounds, counts, [f"{n} tokens" for n in lengths])
        expect.true(counts[-1] <= bounds[-1], "A step takes too many operations.", picture)
    """
    last = len(at) - 1
    most = min(len(at), MOST_POINTS)
    kept = sorted({round(number * last / max(most - 1, 1)) for number in range(most)})
    panels = [
        Panel(title, (tuple(to_number(f"{values[index]:.6g}") for index in kept),))
        for title, values in zip(titles, (expected, got), strict=True)
    ]
    columns, marked = tuple(str(at[index]) for index in kept), [kept.index(i) for i in wrong if i in kept]
    return Picture("curve", what, tuple(panels), ("",), columns, tuple((0, place) for place in marked))


def close(
    got: Any, expected: Any, what: str, *, terms: int = 1, roundings: float = 1, dtype: str | None = None
) -> None:
    """Require that two values are equal within the tolerance of `grader.values.comparison`.

    Args:
        got: The student's number, array or tensor, or a list, tuple or dict of them.
        expected: The expected value, of the same structure; a number stands for an array of it.
        what: What `got` is, as a noun phrase that begins the sentence for the student.
        terms: The length of the longest sum that the result is made of.
        roundings: How many stages of rounding the result goes through.
        dtype: The dtype whose precision is required. Without it, the least precise one of the dtypes of
            `got`, of `expected` and of the case.

    Raises:
        ExpectationFailed: If the values differ by more than the tolerance, or in structure or shape.

    Example:
        expect.close(weights.sum(axis=-1), 1.0, "the sum of each row")
    """
    tolerance = Tolerance(terms, roundings, _precision.get().floor)
    dtype = dtype or _coarsest_dtype(got, expected)
    found = first_difference(_as_large_as(got, expected), got, tolerance, dtype)
    if found:
        raise _differing(what, found)


def _differing(what: str, found: Difference) -> ExpectationFailed:
    """Return what to raise if a value differs from the one that it should be."""
    found = replace(found, what=what)
    return ExpectationFailed(found.sentence, found)


def _as_large_as(got: Any, expected: Any) -> Any:
    """Return an array of the shape of `got` if that is an array and `expected` a number, else `expected`."""
    is_one = isinstance(expected, int | float) and getattr(got, "shape", None)
    return np.full(tuple(got.shape), float(expected)) if is_one else expected


def decimals(got: Any, expected: Any, places: int, what: str) -> None:
    """Require that an array agrees with the figures of a printed table.

    Each entry may differ from its figure by 0.51 units of the last decimal.

    Args:
        got: The student's array or tensor.
        expected: The figures as an array; a number stands for an array of it.
        places: How many decimals the table has.
        what: What `got` is, as a noun phrase that begins the sentence for the student.

    Raises:
        ExpectationFailed: If an entry differs, or the shape does.
        TypeError: If `expected` is not a number or an array.

    Example:
        expect.decimals(result, np.array([0.0900, 0.2447, 0.6652]), 4, "the shares of [1, 2, 3]")
    """
    have, wanted = to_numpy(got), to_numpy(_as_large_as(got, expected))
    if wanted is None:
        raise TypeError(f"expected={expected!r} is no array")
    if have is None or have.shape != wanted.shape:
        close(got, expected, what)
        return
    wrong = ~(abs(have - wanted) <= 0.51 * 10.0**-places)
    if wrong.any():
        raise _differing(what, value_difference(wanted, have, wrong))


def equal(got: Any, expected: Any, what: str) -> None:
    """Require that two values are exactly equal, where NaN equals NaN.

    Args:
        got: The student's number, array or tensor, or a list, tuple or dict of them.
        expected: The expected value, of the same structure.
        what: What `got` is, as a noun phrase that begins the sentence for the student.

    Raises:
        ExpectationFailed: If the values differ.

    Example:
        expect.equal(student.join(parts), x, "join(split(x))")
    """
    found = first_difference(expected, got, Tolerance(terms=0))
    if found:
        raise _differing(what, found)


def frequency(hits: int, n: int, p: float, what: str = "the outcome") -> None:
    """Require that an outcome of probability `p` came up about `n * p` times in `n` independent draws.

    A right answer is refused with a chance of at most one in a billion, whatever random numbers it draws:
    `hits` is accepted if `2 * exp(-n * KL)` is at least 1e-9, where KL is the Kullback-Leibler divergence of
    the observed share from `p` (Chernoff's bound). For a `p` that is not extreme this allows about 6.5
    standard deviations, which are `sqrt(n * p * (1 - p))` each. With `p` 0 or 1 every draw must agree.

    Args:
        hits: How often the outcome came up.
        n: The number of draws.
        p: The probability of the outcome.
        what: What was counted, as a noun phrase that begins the sentence for the student.

    Raises:
        ExpectationFailed: If the outcome came up too often or too rarely.

    Example:
        heads = sum(student.coin(0.3, rng) for _ in range(400))
        expect.frequency(heads, 400, 0.3, "heads")
    """
    _require_frequencies([hits], n, [p], [what], [what], FALSE_ALARM)


def frequencies(
    hits: Sequence[int], n: int, p: Sequence[float], what: str = "outcome", chance: float = FALSE_ALARM
) -> None:
    """Require that each outcome of a draw came up about as often as its probability says, like `frequency`.

    The failure shows all frequencies as bars, with the range that is accepted for each.

    Args:
        hits: How often each outcome came up.
        n: The number of draws.
        p: The probability of each outcome.
        what: What one outcome is, as a noun phrase that an index follows, such as `token`.
        chance: The largest chance with which one right frequency is refused.

    Raises:
        ExpectationFailed: If an outcome came up too often or too rarely.

    Example:
        counts = np.bincount(student.draw(logits.repeat(400, 1)), minlength=len(due))
        expect.frequencies(counts, 400, due, "token")
    """
    names = [f"{what} {index}" for index in range(len(hits))]
    labels = [f"{what.split()[-1]} {index}" for index in range(len(hits))]
    _require_frequencies(
        [int(count) for count in hits], n, [float(share) for share in p], names, labels, chance
    )


def _require_frequencies(
    hits: list[int], n: int, p: list[float], names: list[str], labels: list[str], chance: float
) -> None:
    wrong = [
        i
        for i, (count, share) in enumerate(zip(hits, p, strict=True))
        if not _is_due(count, n, share, chance)
    ]
    if not wrong:
        return
    count, expected = hits[wrong[0]], n * p[wrong[0]]
    often = "often" if count > expected else "rarely"
    low, high = _accepted(n, p[wrong[0]], chance)
    accepted = f"{low} to {high} are accepted" if low < high else "nothing else is accepted"
    told = f"{capitalized(names[wrong[0]])} came up too {often}: {counted(count, 'time')} in {n} draws"
    raise ExpectationFailed(
        f"{told}, where about {expected:g} are expected and {accepted}.",
        picture=_frequency_bars(hits, n, p, labels, wrong, chance),
    )


def _is_due(hits: int, n: int, p: float, chance: float) -> bool:
    return 2 * math.exp(-n * _divergence(hits / n, p)) >= chance


def _frequency_bars(
    hits: list[int], n: int, p: list[float], labels: list[str], wrong: list[int], chance: float
) -> Picture:
    """Return bars of the shares that are expected and those that came up, with the range accepted."""
    start = max(0, min(wrong[0] - MOST_POINTS // 2, len(hits) - MOST_POINTS))
    kept = range(start, min(start + MOST_POINTS, len(hits)))
    ranges = [[hits / n for hits in _accepted(n, p[index], chance)] for index in kept]
    return Picture(
        "bars",
        f"shares of {n} draws",
        (
            Panel("expected", (tuple(to_number(f"{p[index]:.4g}") for index in kept),)),
            Panel("got", (tuple(to_number(f"{hits[index] / n:.4g}") for index in kept),)),
        ),
        ("",),
        tuple(labels[index] for index in kept),
        tuple((0, index - start) for index in wrong if index in kept),
        tuple(low for low, _ in ranges),
        tuple(high for _, high in ranges),
    )


def _accepted(n: int, p: float, chance: float) -> tuple[int, int]:
    """Return how often an outcome must come up in `n` draws at least, and how often at most."""
    low = bisect_left(range(n + 1), True, hi=int(n * p), key=lambda hits: _is_due(hits, n, p, chance))
    above = bisect_left(
        range(n + 1), True, lo=math.ceil(n * p), key=lambda hits: not _is_due(hits, n, p, chance)
    )
    return low, above - 1


def _divergence(share: float, p: float) -> float:
    """Return the Kullback-Leibler divergence of a share from a probability; inf if `p` rules it out."""
    pairs = [(share, p), (1 - share, 1 - p)]
    if any(a > 0 and b <= 0 for a, b in pairs):
        return math.inf
    return sum(a * math.log(a / b) for a, b in pairs if a > 0)


def refuses(call: Callable[..., Any], *args: Any, why: str, **kwargs: Any) -> None:
    """Require that a call raises ValueError; AssertionError is accepted as well.

    Args:
        call: A function of the student's.
        *args: Its positional arguments.
        why: Why the call must be refused, as a clause that follows "This call should raise a
            ValueError: ".
        **kwargs: Its keyword arguments.

    Raises:
        ExpectationFailed: If the call returns, or raises something else.

    Example:
        expect.refuses(student.split, x, 3, why="3 does not divide the width")
    """
    try:
        result = call(*args, **kwargs)
    except SubmissionFailed as error:
        if {"ValueError", "AssertionError"} & set(error.kinds):
            return
        outcome = f"It raised {error}."
    else:
        outcome = f"It returned {show(result)}."
    raise ExpectationFailed(f"This call should raise a ValueError: {why}. {outcome}")


def loads(student: Any, module: Any, weights: dict[str, Any]) -> Any:
    """Load weights into a module of the student's, whose parameters must have the same names and shapes.

    Buffers of the module are not checked. If a weight is float64, the module is converted to float64.

    Args:
        student: The submission.
        module: The module, made by a call of the student's class.
        weights: Tensors by the names of the parameters.

    Returns:
        The module.

    Raises:
        ExpectationFailed: If a parameter is missing, is not in `weights` or has another shape.

    Example:
        layer = expect.loads(student, student.LayerNorm(d_model), {"scale": scale, "shift": shift})
    """
    expected = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    has = {name: tuple(p.shape) for name, p in student.anatomy(module)["parameters"].items()}
    missing = [name for name in expected if name not in has]
    if missing:
        raise ExpectationFailed(f"The module has no parameter `{missing[0]}`; it has {_listed(sorted(has))}.")
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
