"""Draw arguments like those that tests have passed: their kinds, dtypes, shapes and relations."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from grader.values.arrays import leaves, to_numpy

Array = np.ndarray[Any, Any]
STYLES = ("values", "sizes", "both", "simple", "large", "ties", "numbers")
OUTER = 2  # dicts around an argument; what is further inside, such as weights, is never large
SIMPLE = np.arange(-8, 9) / 4.0


class Drawer:
    """Draws from a seeded generator, so that all versions of a homework are asked the same."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def redraw(self, trees: list[Any], style: str) -> list[Any]:
        """Return trees like these; equal sizes stay equal, and what is one object stays one."""
        self.style, self.depth = style, 0
        self.sizes = self._new_sizes(trees) if style in ("sizes", "both") else {}
        self.memo: dict[int, Any] = {}
        return [self._tree(tree) for tree in trees]

    def _new_sizes(self, trees: list[Any]) -> dict[int, int]:
        """Map each length in the trees to a new one."""
        sizes = {int(n) for leaf in leaves(trees) for n in getattr(leaf, "shape", ())}
        sizes |= {len(row) for row in _rows(trees)}
        return {n: self._size(n) for n in sorted(sizes) if n}

    def _size(self, n: int) -> int:
        near = [n, n + 1, n - 1, n + 2, 2 * n, 1, 2, 3, 4, 5]
        return int(max(1, min(self.rng.choice(near), 12 if n <= 12 else n)))

    def _tree(self, value: Any) -> Any:
        if id(value) in self.memo:
            return self.memo[id(value)]
        made = self._made(value)
        if not isinstance(value, bool | int | float | str | type(None)):
            self.memo[id(value)] = made
        return made

    def _made(self, value: Any) -> Any:
        if isinstance(value, bool):
            return not value if self.style == "numbers" and self.rng.random() < 0.3 else value
        if isinstance(value, int):
            return self._int(value)
        if isinstance(value, float):
            return self._float(value)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return value
        if isinstance(value, np.random.Generator):
            return np.random.default_rng(int(self.rng.integers(1000)))
        if isinstance(value, dict):
            self.depth += 1
            made = {key: self._tree(item) for key, item in value.items()}
            self.depth -= 1
            return made
        if isinstance(value, list | tuple):
            return self._list(value)
        if type(value).__module__ == "torch" and hasattr(value, "detach"):
            return self._tensor(value)
        return copy.deepcopy(value)

    def _int(self, value: int) -> int:
        if value in self.sizes:
            return self.sizes[value]
        if self.style not in ("numbers", "both"):
            return value
        if value < 0:
            return int(self.rng.choice([value, -1, -2]))
        return int(self.rng.choice([value, value + 1, max(value - 1, min(value, 1)), 2 * value, 1, 2, 3]))

    def _float(self, value: float) -> float:
        if self.style == "values" or not math.isfinite(value):
            return value
        if 0 <= value <= 1 and value > 0.01:
            return float(self.rng.choice([value, 0.25, 0.5, 0.9, round(float(self.rng.uniform()), 2)]))
        if 0 < value < 0.01:
            return float(self.rng.choice([value, 10 * value, 0.1 * value, 0.1]))
        return float(self.rng.choice([value, 0.5 * value, 2 * value, value + 1]))

    def _text(self, value: str) -> str:
        if self.style == "sizes" or len(value) < 2:
            return value
        letters = list(value)
        ways = [value, "".join(self.rng.permutation(letters)), value[: len(value) // 2], value + value[:3]]
        ways.append("".join(self.rng.choice(letters, size=int(self.rng.integers(1, len(value) + 3)))))
        return str(ways[int(self.rng.integers(len(ways)))])

    def _list(self, value: Any) -> Any:
        kinds = {type(item) for item in value}
        if type(value) not in (list, tuple):
            return copy.deepcopy(value)  # a named tuple
        if isinstance(value, list) and value and kinds <= {int, float}:
            n = self.sizes.get(len(value), len(value))
            drawn = self._numbers(np.array(value), (n,))
            return [float(x) if float in kinds else int(x) for x in drawn]
        items = list(value)
        if isinstance(value, list) and items and len(value) in self.sizes and len(kinds) == 1:
            items = [items[i % len(items)] for i in range(self.sizes[len(value)])]
            if kinds == {list}:
                return [self._made(item) for item in items]
        return type(value)(self._tree(item) for item in items)

    def _tensor(self, value: Any) -> Any:
        import torch

        array = to_numpy(value)
        assert array is not None
        made = torch.from_numpy(np.ascontiguousarray(self._array(array))).to(value.dtype)
        return made.requires_grad_(value.requires_grad)

    def _array(self, old: Array) -> Array:
        shape = tuple(self.sizes.get(n, n) for n in old.shape)
        if old.dtype.kind not in "biuf" or not old.size or 0 in shape:
            return old.copy()
        return np.asarray(self._numbers(old, shape)).astype(old.dtype)

    def _numbers(self, old: Array, shape: tuple[int, ...]) -> Array:
        """Return numbers of a shape that are like the old ones."""
        if old.dtype.kind == "b":
            return self._bools(old, shape)
        if old.dtype.kind in "iu":
            return self._ints(old, shape)
        finite = old[np.isfinite(old)].astype(np.float64)
        if not finite.size:
            return np.resize(old, shape)
        drawn = self._floats(finite, shape)
        if finite.min() >= 0:
            drawn = np.abs(drawn)
            if finite.max() <= 1:
                drawn = drawn / max(1.0, float(drawn.max()))
        if old.ndim and old.shape[-1] > 1 and not np.isinf(old).any():
            total = old.sum(axis=-1)
            if finite.min() >= 0 and np.allclose(total, 1, atol=1e-3):
                drawn = drawn + 1e-3
                drawn = drawn / drawn.sum(axis=-1, keepdims=True)
            elif (np.diff(old, axis=-1) >= 0).all() and not (old == old.flat[0]).all():
                drawn = np.sort(drawn, axis=-1)
        if np.isinf(old).any() and old.shape == shape:
            drawn = np.where(np.isinf(old), old, drawn)
        return drawn

    def _floats(self, finite: Array, shape: tuple[int, ...]) -> Array:
        spread = float(np.abs(finite).max()) or 1.0
        if self.style == "simple":
            return self.rng.choice(SIMPLE, size=shape)
        if self.style == "ties":
            return self.rng.choice([-1.0, 0.0, 1.0], size=shape)
        if self.style == "large" and self.depth <= OUTER:
            return self.rng.normal(size=shape) * spread * float(self.rng.choice([10.0, 100.0, 1000.0]))
        if (finite == np.round(finite)).all() and self.rng.random() < 0.5:
            return np.round(self.rng.normal(size=shape) * spread)
        return np.round(self.rng.normal(size=shape) * min(spread, 3.0), 3)

    def _ints(self, old: Array, shape: tuple[int, ...]) -> Array:
        low, high = int(old.min()), int(old.max())
        if low >= 0 and high + 1 in self.sizes:  # positions in an axis whose length changes
            high = self.sizes[high + 1] - 1
        count = math.prod(shape)
        if old.size > 1 and len(np.unique(old)) == old.size and high - low + 1 >= count:
            return (self.rng.permutation(high - low + 1)[:count] + low).reshape(shape)
        return self.rng.integers(low, max(high, low) + 1, size=shape)

    def _bools(self, old: Array, shape: tuple[int, ...]) -> Array:
        if len(shape) >= 2 and old.ndim >= 2 and (np.tril(old) == old).all() and self.rng.random() < 0.5:
            return np.tril(np.ones(shape, dtype=bool))
        drawn = self.rng.random(shape) < float(np.clip(old.mean(), 0.2, 0.8))
        if old.ndim and old.any(axis=-1).all():
            first = np.zeros(shape, dtype=bool)
            first[..., 0] = True
            drawn = np.where(drawn.any(axis=-1, keepdims=True), drawn, first)
        return drawn


def _rows(tree: Any) -> list[list[Any]]:
    """Return the lists of numbers in a tree."""
    if isinstance(tree, list) and tree and all(type(item) in (int, float) for item in tree):
        return [tree]
    if isinstance(tree, dict | list | tuple):
        return [row for item in (tree.values() if isinstance(tree, dict) else tree) for row in _rows(item)]
    return []


def smaller(trees: list[Any], old: int, new: int) -> list[Any]:
    """Return the trees with every axis, list and number of size `old` cut to `new`."""

    def cut(value: Any) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return new if value == old else value
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items()}
        if isinstance(value, list) and len(value) == old:
            return [cut(item) if not isinstance(item, int | float) else item for item in value[:new]]
        if isinstance(value, list):
            return [cut(item) if not isinstance(item, int | float) else item for item in value]
        if type(value) is tuple:
            return tuple(map(cut, value))
        if hasattr(value, "shape") and len(value.shape):
            part = tuple(slice(0, new) if n == old else slice(None) for n in value.shape)
            cut_part = value[part]
            return cut_part.copy() if hasattr(cut_part, "copy") else cut_part.detach().clone()
        return value

    return [cut(tree) for tree in trees]


def simpler(trees: list[Any], step: float) -> list[Any]:
    """Return the arguments with every float, also in lists and dicts, rounded to a multiple of `step`."""

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rounded(item) for key, item in value.items()}
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(map(rounded, value))
        if isinstance(value, float) and math.isfinite(value) and abs(value) > step:
            return round(value / step) * step + 0.0
        if hasattr(value, "shape") and "float" in str(value.dtype) and hasattr(value, "round"):
            return (value / step).round() * step + 0.0  # no -0.0
        return value

    return [rounded(tree) for tree in trees]
