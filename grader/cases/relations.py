"""Learn from the cases of a kata which sizes and whole numbers its cases can have, and how they are related.

How a kata draws its cases is code, which does not say whether it could have drawn a certain case. But what
holds of all its cases is likely to be meant: that `d_model` is a multiple of `num_heads`, that the cache and
what is new make the length of the mask, that a vocabulary has at least three tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from grader.kata import Arguments
from grader.values.arrays import to_numpy

Table = np.ndarray[Any, np.dtype[np.float64]]

MOST_COMPARED = 24  # different columns of numbers of which sums and products are looked at
AXIS = "axis"


class CaseRelations:
    """What holds of the sizes and the whole numbers of all the cases: the least and the largest of each;
    which are equal, or differ by a fixed number or by a least one; which divides another; and which is the
    sum or the product of two others. What fewer than `fewest` cases show does not count; equal ones do."""

    def __init__(self, cases: Iterable[Arguments], fewest: int = 1) -> None:
        rows = [dict(_numbers(case)) for case in cases] or [{}]
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = np.array([[row.get(name, np.nan) for name in names] for row in rows], float)
        table = table.reshape(len(rows), len(names))
        self.groups: dict[bytes, list[str]] = {}  # names of equal columns
        for name, column in zip(names, table.T, strict=True):
            self.groups.setdefault(column.tobytes(), []).append(name)
        firsts = [names.index(group[0]) for group in self.groups.values()]
        self.table = table[:, firsts]
        self.shown = (~np.isnan(self.table)).astype(int)  # 1 where a case has the number
        self.fewest = min(fewest, len(rows))
        self.least = dict(zip(names, np.fmin.reduce(table, initial=np.inf).tolist(), strict=True))
        with np.errstate(all="ignore"):
            apart = self.table[:, :, None] - self.table[:, None, :]
            self.nearest, self.farthest = np.fmin.reduce(apart), np.fmax.reduce(apart)
            self.divided = _divides(self.table).all(0)
            self.is_made = [make(self.table).all(0) for make in MAKES] if len(firsts) <= MOST_COMPARED else []

    def hold(self, arguments: Arguments) -> bool:
        """Return whether all that holds of the cases holds of new arguments."""
        return not self.broken(arguments)

    def broken(self, arguments: Arguments) -> str:
        """Return what holds of the cases and not of new arguments, in words; "" if there is nothing."""
        numbers = dict(_numbers(arguments))
        groups = [[name for name in group if name in numbers] for group in self.groups.values()]
        rows = [[numbers[name] for name in group] for group in groups]
        for group, row in zip(groups, rows, strict=True):
            for name, number in zip(group, row, strict=True):
                if number != row[0]:
                    return f"{_in_words(group[0])} is {row[0]}, and {_in_words(name)} is {number}"
        new = np.array([[row[0] if row else np.nan for row in rows]], float)
        known = ~np.isnan(new[0]) & (self.shown.sum(0) >= self.fewest)
        new, pairs = new[:, known], np.ix_(known, known)
        names = [_in_words(group[0]) for group, is_known in zip(groups, known, strict=True) if is_known]
        both = (self.shown.T @ self.shown >= self.fewest)[pairs]
        least, largest = np.fmin.reduce(self.table)[known], np.fmax.reduce(self.table)[known]
        for at in np.flatnonzero((new[0] < least) | (new[0] > largest))[:1]:
            range_ = f"{least[at]:g} to {largest[at]:g} is allowed"
            return f"{names[at]} is {new[0][at]:g}, and {range_}"
        apart, nearest, farthest = new[0][:, None] - new[0], self.nearest[pairs], self.farthest[pairs]
        is_fixed = nearest == farthest
        broken = (apart < nearest) & (is_fixed | (nearest >= 0)) | (apart > farthest) & is_fixed
        with np.errstate(all="ignore"):
            broken |= self.divided[pairs] & ~_divides(new)[0]
            for one, other in np.argwhere(broken & both)[:1]:
                return f"{names[one]} is {new[0][one]:g}, and {names[other]} is {new[0][other]:g}"
            triples = np.ix_(known, known, known)
            for is_so, make in zip(self.is_made, MAKES, strict=False):
                for one, *_ in np.argwhere(is_so[triples] & ~make(new)[0])[:1]:
                    return f"{names[one]} is {new[0][one]:g}, which the others do not make"
        return ""

    def least_length(self, arguments: Arguments, size: int) -> int:
        """Return the least length that all axes of this size can have together."""
        axes = [name for name, number in _numbers(arguments) if name.startswith(AXIS) and number == size]
        return int(max((self.least.get(name, 1) for name in axes), default=1))


class KnownRelations:
    """What holds of the cases of a bank, by their flags: a statement may allow sizes for one flag that it
    does not allow for another. What fewer than `fewest` of them show does not count."""

    def __init__(self, bank: Sequence[Arguments], fewest: int = 1) -> None:
        self.bank, self.fewest = bank, fewest
        self._known: dict[frozenset[tuple[str, bool | None]], CaseRelations] = {}

    def of(self, arguments: Arguments) -> CaseRelations:
        """Return what holds of all cases whose flags are those of the arguments."""
        flags = _flags(arguments)
        if flags not in self._known:
            self._known[flags] = CaseRelations(
                (case for case in self.bank if flags <= _flags(case)), self.fewest
            )
        return self._known[flags]

    def broken(self, arguments: Arguments) -> str:
        """Return what holds of those cases and not of the arguments, in words; "" if there is nothing."""
        return self.of(arguments).broken(arguments)


def _flags(arguments: Arguments) -> frozenset[tuple[str, bool | None]]:
    """Return the arguments that are True, False or None, with their names."""
    return frozenset(
        (name, value) for name, value in arguments.items() if value is None or type(value) is bool
    )


def _in_words(name: str) -> str:
    """Return the name of a number as it is said: axis 0 from the end is the last one."""
    kind, _, path = name.rpartition(" ")
    path = f"`{path.removeprefix('/').replace('/', '.')}`"
    if not kind:
        return path
    if kind.startswith(AXIS):
        return f"axis {-1 - int(kind.split()[1])} of {path}"
    return f"the {kind} of {path}"


def _divides(table: Table) -> Any:
    return table[:, :, None] % table[:, None, :] == 0


def _is_sum(table: Table) -> Any:
    return table[:, :, None, None] == table[:, None, :, None] + table[:, None, None, :]


def _is_product(table: Table) -> Any:
    return table[:, :, None, None] == table[:, None, :, None] * table[:, None, None, :]


MAKES = [_is_sum, _is_product]


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Yield the sizes and the whole numbers of a tree by name: lengths of axes from the last one on, lengths
    of lists, integers, and the least, the largest and the sum of several."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        yield f"length {path}", len(value)
        if value and all(type(item) is int for item in value):
            yield from _of_several(value, path)
        for index, item in enumerate(value):
            yield from _numbers(item, f"{path}/{index}")
    elif type(value) is int:
        yield path, value
    elif hasattr(value, "shape"):
        yield from ((f"{AXIS} {at} {path}", int(size)) for at, size in enumerate(value.shape[::-1]))
        array = to_numpy(value)
        if array is not None and array.dtype.kind in "iu" and array.size:
            yield from _of_several(array, path)


def _of_several(numbers: Any, path: str) -> Iterator[tuple[str, int]]:
    array = np.asarray(numbers)
    yield f"least {path}", int(array.min())
    yield f"largest {path}", int(array.max())
    yield f"sum {path}", int(array.sum())
