"""Search for calls to which two versions of a homework answer differently, and make them small.

This runs inside a fork of the server. A difference counts if it shows again in a fresh process, if rounding
cannot explain it, and if the right version answers at all.

Compare what two versions of a homework answer to the same calls, beyond rounding and chance.

Draw arguments like those that tests have passed: their kinds, dtypes, shapes and relations.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import os
import pickle
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.extra.authoring.audit.worlds import Outcome, Step, World, tree_of
from grader.grading.snippet import NotCode, code_of
from grader.values.arrays import dtype_name, float_dtype, in_leaves, leaves, to_numpy
from grader.values.comparison import CANCELLED, Tolerance, first_difference, precision_of
from grader.values.formatting import show, show_pair

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


MOST_TRIALS = 240
MOST_RECORDED = 8  # calls of one function that are tried as the tests make them
SHRINKING = 0.5  # of the time of the search
LONGEST = 1_500  # characters of code of one argument
#: Dtypes that the entries of an array show.
NEEDLESS = re.compile(r"(?<=\]), dtype=np\.(float64|bool|int64)(?=\))(?<!\[\], dtype=np\.float64)")
AXES = {"axis", "dim"}


def search(job: dict[str, Any]) -> dict[str, Any]:
    """Return the witness as JSON, or {} if none was found. The working folder holds the other version."""
    with open(job["calls"], "rb") as file:
        recorded = pickle.load(file)
    right = World(job["root"], recorded, job.get("cells"))
    where = job.get("where", "")
    entries = _entries(recorded["calls"], {tuple(line) for line in job["lines"]})
    try:
        other = World(os.getcwd(), recorded, job.get("cells"))
    except BaseException as error:
        return {
            "kind": "missing",
            "steps": [],
            "got": f"it cannot be loaded: {type(error).__name__}: {error}",
        }
    deadline = time.monotonic() + job["seconds"]
    is_init = not where or where.endswith("__init__")
    pair = Pair(right, other, 1 if is_init else 0)
    named = [entry for entry in entries if _key_of(entry[0]) == where]
    others = [entry for entry in entries if _key_of(entry[0]) != where]
    trials = [*_trials(right, named), *_trials(right, others)]
    start = 0
    while start < len(trials) and time.monotonic() < deadline:
        at = _in_fork(partial(_first, pair, trials, start, deadline))
        if at is None:
            break
        earlier = [trials[at]] + [[*trials[i], *trials[at]] for i in (at - 1, 0) if i >= 0 and at]
        for trial in earlier:
            if _is_plain(trial) and _in_fork(partial(pair.difference, trial, careful=True)):
                small = _shrunk(pair, trial, time.monotonic() + job["seconds"] * SHRINKING)
                return _in_fork(partial(_described, pair, small)) or {}
        start = at + 1
    return {}


def _is_plain(trial: Trial) -> bool:
    """Return whether a trial makes one object at most, and makes it first."""
    return all(not step.get("makes") for step in trial[1:])


def _first(pair: Pair, trials: list[Trial], start: int, deadline: float) -> int | None:
    """Return the first trial from `start` on that shows a difference."""
    for index in range(start, len(trials)):
        if time.monotonic() > deadline:
            return None
        if pair.difference(trials[index]):
            return index
    return None


def _in_fork(work: Callable[[], Any]) -> Any:
    """Return what the work returns in a fork of this process; None if the fork ends otherwise."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writing, "wb") as file:
                pickle.dump(work(), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def _entries(calls: list[dict[str, Any]], lines: set[tuple[str, int]]) -> list[list[list[Step]]]:
    """Return the recorded calls, by function or class; those that reach the lines, if any do."""
    groups: dict[str, list[list[Step]]] = {}
    reaching = set()
    for call in calls:
        if call.get("broken") or not any(step["name"] for step in call["steps"]):
            continue
        key, is_object = _key_of(call["steps"]), _is_object(call["steps"])
        steps = [{**step, "of_object": is_object, "makes": is_object and n == 0}
                 for n, step in enumerate(call["steps"])]  # fmt: skip
        groups.setdefault(key, []).append(steps)
        if any(step["lines"] & lines for step in steps):
            reaching.add(key)
    return [group for key, group in groups.items() if key in reaching or not reaching]


def _is_object(steps: list[Step]) -> bool:
    """Return whether the steps make an object, and then call its methods."""
    return not steps[0]["name"] or str(steps[0]["name"]).endswith(".__init__")


def _key_of(steps: list[Step]) -> str:
    """Return the function or the class that recorded steps call."""
    name = str(next((step["name"] for step in steps if step["name"]), ""))
    return name.rpartition(".")[0] if _is_object(steps) else name


def _trials(right: World, entries: list[list[list[Step]]]) -> Iterator[Trial]:
    """Yield trials, first the tests' own calls, then drawn ones, for each function in turn."""
    loaded = [[trial for steps in group if (trial := _loaded(right, steps))] for group in entries]
    loaded = [group for group in loaded if group]
    if not loaded:
        return
    each = [_of_entry(right, group, number) for number, group in enumerate(loaded)]
    rounds = itertools.islice(zip(*each, strict=False), MOST_TRIALS // len(each) + MOST_RECORDED)
    yield from itertools.chain.from_iterable(rounds)


def _loaded(world: World, steps: list[Step]) -> Trial:
    """Return recorded steps with their values; empty if one cannot be read."""
    trial = []
    try:
        for step in steps:
            value = world.load(step["args"])
            arguments = value if step["name"] else {"object": value}
            sets = world.load(step["sets"]) if step["sets"] else {}
            trial.append({**step, "args": arguments, "sets": sets, "lines": None})
    except Exception:
        return []
    return trial


def _of_entry(right: World, group: list[Trial], number: int) -> Iterator[Trial]:
    """Yield the trials of one function or class; each is copied before it runs."""
    is_object = group[0][0]["of_object"]
    yield from group[:MOST_RECORDED]
    for one in [one for one in group[:4] if not one[-1].get("makes")]:
        yield [*one, {"scribble": len(one), "args": {}, "name": "scribble"}, one[-1]]
    if not is_object:
        for one, other in itertools.pairwise(group[:5]):
            yield [*one, *other, *one]
    drawer = Drawer(number)
    for turn in itertools.count():
        style = STYLES[turn % len(STYLES)]
        base = _mixed(group, drawer.rng)
        if turn % 9 == 8:
            yield _mismatched(right, base, drawer) or group[0]
            continue
        drawn = _redrawn(right, base, drawer, style)
        if drawn and turn % 4 == 3:
            second = _redrawn(right, base[-1:], drawer, "both" if turn % 8 == 3 else "values")
            drawn = [*drawn, *second, drawn[-1]] if second and not drawn[-1].get("makes") else drawn
        yield drawn or group[0]


def _mixed(group: list[Trial], rng: Any) -> Trial:
    """Return a recorded trial, sometimes with an argument of another one."""
    base = group[int(rng.integers(len(group)))]
    if len(base) == 1 and rng.random() < 0.3:
        other = group[int(rng.integers(len(group)))][0]["args"]
        optional = [name for name, value in base[0]["args"].items() if value is None or name in AXES]
        changed = {name: other[name] for name in optional if name in other}
        base = [{**base[0], "args": base[0]["args"] | changed}]
    return base


def _redrawn(right: World, base: Trial, drawer: Drawer, style: str) -> Trial:
    """Return a trial with new arguments; empty if they cannot be made."""
    try:
        with right.active():
            trees = drawer.redraw([{"args": step["args"], "sets": step["sets"]} for step in base], style)
    except Exception:
        return []
    drawn = [{**step, **tree} for step, tree in zip(base, trees, strict=True)]
    for step in drawn:
        if style in ("values", "large") and _has_modes(right, step):
            step["sets"] = {**step["sets"], "training": bool(drawer.rng.random() < 0.5)}
        for name in AXES & set(step["args"]) if style == "numbers" else ():
            if isinstance(step["args"][name], int):
                step["args"][name] = int(drawer.rng.choice([-1, 0, 1, -2]))
    return drawn


def _mismatched(right: World, base: Trial, drawer: Drawer) -> Trial:
    """Return a trial whose last call has one argument of a size of its own, which code may refuse."""
    names = list(base[-1]["args"])
    if len(names) < 2:
        return []
    name = names[int(drawer.rng.integers(len(names)))]
    other = _redrawn(right, base[-1:], drawer, "sizes")
    if not other:
        return []
    return [
        *base[:-1],
        {**base[-1], "args": {**base[-1]["args"], name: other[0]["args"][name]}, "is_odd": True},
    ]


def _has_modes(world: World, step: Step) -> bool:
    """Return whether a method is one of a module of PyTorch, which has a mode for training."""
    if not step["of_object"] or step["makes"]:
        return False
    try:
        owner = world.named({**step, "name": step["name"].rpartition(".")[0]})
    except AttributeError:
        return False
    return hasattr(owner, "train") and hasattr(owner, "state_dict")


def _shrunk(pair: Pair, trial: Trial, deadline: float) -> Trial:
    """Return a smaller trial that still shows a difference."""

    def holds(other: Trial) -> bool:
        return bool(_in_fork(lambda: pair.difference(other, careful=True)))

    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for other in _smaller_trials(pair, trial):
            if time.monotonic() > deadline:
                break
            if holds(other):
                trial, changed = other, True
                break
    return trial


def _smaller_trials(pair: Pair, trial: Trial) -> Iterator[Trial]:
    """Yield trials with fewer calls, smaller sizes and simpler numbers."""
    for n in range(len(trial)):
        rest = [*trial[:n], *trial[n + 1 :]]
        if rest and not trial[n].get("makes") and not any("scribble" in step for step in trial):
            yield rest
    values = [(step["args"], step.get("sets", {})) for step in trial]
    sizes = {int(n) for leaf in leaves(values) for n in getattr(leaf, "shape", ())}
    sizes |= {len(leaf) for value in values for leaf in _lists(value)}
    sizes |= {leaf for leaf in leaves(values) if type(leaf) is int and 1 < leaf < 100}
    for old in sorted(sizes, reverse=True):
        for new in dict.fromkeys((1, 2, 3, old // 2, old - 1)):
            if 0 < new < old:
                with suppress(Exception):
                    yield with_values(trial, smaller(values, old, new))
    for step in (1.0, 0.5, 0.25, 0.01):
        with suppress(Exception):
            other = with_values(trial, simpler(values, step))
            if pair.right.dump(other) != pair.right.dump(trial):
                yield other


def _lists(tree: Any) -> Iterator[list[Any]]:
    if isinstance(tree, list):
        yield tree
    if isinstance(tree, dict | list | tuple):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _lists(item)


def _described(pair: Pair, trial: Trial) -> dict[str, Any]:
    """Return the witness as JSON: the calls as code, what differs, and what the right version gives."""
    found = pair.difference(trial, careful=True)
    if found is None:
        return {}
    with pair.right.active():
        steps = [
            _as_code(pair.right, step) for step in trial[: found.step + 1 if found.kind != "later" else None]
        ]
    outcomes = pair.right.run(loaded_from(pair.right, trial, given_of(pair.right, trial)))
    right = outcomes[found.step]
    begun = pair.right.run(loaded_from(pair.right, trial, given_of(pair.right, trial)), 0, 1)
    return {
        "kind": found.kind,
        "at": found.step,
        "steps": steps,
        "expected": found.expected,
        "got": found.got,
        "argument": found.name,
        "raised": right.raised,
        "is_random": bool(compared(trial, outcomes, begun)),
        "result": _result_code(right.later if found.kind == "later" else right.value),
        "dtype": float_dtype(right.value) or "",
        "library": "torch" if any(type(leaf).__module__ == "torch" for leaf in leaves(right.value)) else "",
    }


def _result_code(value: Any) -> str:
    with suppress(NotCode):
        code = NEEDLESS.sub("", code_of(value))
        return code if len(code) <= 4 * LONGEST else ""
    return ""


def _as_code(world: World, step: Step) -> dict[str, Any]:
    """Return a step as code: the name that is called, its file, and its arguments in order."""
    if step.get("scribble"):
        return {"scribble": step["scribble"], "name": "", "file": "", "given": []}
    given = []
    with suppress(Exception):
        signature = inspect.signature(world.named(step)) if step["name"] else None
        for name, value in step["args"].items():
            known = signature.parameters.get(name) if signature else None
            default = known.default if known is not None else inspect.Parameter.empty
            is_default = default is not inspect.Parameter.empty
            if is_default and not first_difference(tree_of(default), tree_of(value), Tolerance()):
                continue
            given.append([name, _argument_code(value), not is_default])
    return {
        "name": step["name"],
        "file": step["file"],
        "module": world.recorded["modules"].get(step["file"], ""),
        "of_object": bool(step.get("of_object")),
        "given": given,
        "sets": [[name, _argument_code(value)] for name, value in step.get("sets", {}).items()],
    }


def _argument_code(value: Any) -> str:
    """Return an argument as code; empty if it has none."""
    try:
        code = NEEDLESS.sub("", code_of(value))
    except NotCode:
        return ""
    return code if len(code) <= LONGEST else ""
