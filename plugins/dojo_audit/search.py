"""Search for calls to which two versions of a homework answer differently. Hypothesis draws and shrinks them.

This runs inside a fork of the server. A difference counts if the solution answers with finite values, if both
versions give the same answers from twenty states of random numbers, and if rounding cannot explain it.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import string
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from dojo_audit.driver import MADE
from dojo_audit.versions import CannotBeLoaded, HomeworkVersion, Outcome, Step, Trial
from grader.values.arrays import float_dtype, in_leaves, leaves, to_numpy
from grader.values.comparison import CANCELLED, Tolerance, first_difference, precision_of
from grader.values.formatting import show, show_pair

Array = np.ndarray[Any, Any]
Versions = tuple[HomeworkVersion, HomeworkVersion]  # the right one and the other one
Draw = Callable[[st.SearchStrategy[Any]], Any]
EXAMPLES, LEAST, MOST_RECORDED = 300, 100, 8  # drawn trials, those of one function; calls of the tests
SEEDS = tuple(range(20))
ENOUGH = 3  # calls of the tests, to say that arrays have an even number of columns
MOST_DOUBTS = 3  # after which the answers count as random
LONGEST_CHAIN = 4  # objects, each in the one before
FEW_ENTRIES = 24  # of an array whose entries are drawn one by one
LONGEST_ARGUMENT = 1_500  # characters of code of one argument
AXES = {"axis", "dim"}
#: How many roundings may stand between two right answers, in float64: a chain of steps repeats them.
ROUNDINGS, FEW_ROUNDINGS = 2.0**16, 2.0**4


class NoExpression(Exception):
    """A value cannot be written as code."""


@dataclass(frozen=True)
class Found:
    """A difference at one step of a trial: its kind, and the two answers as texts."""

    kind: str  # value, state, argument, later, raises, missing
    step: int
    expected: str
    got: str
    name: str = ""  # of the argument that is changed, or of the attribute that differs


def _clock() -> float:
    """Return the seconds of a search: of its processor time, so that it finds the same on a busy machine, and
    a part of the time that passes, so that calls without an end do not hold it up."""
    return time.process_time() + time.monotonic() / 20


def search(job: dict[str, Any]) -> dict[str, Any]:
    """Return the witness as JSON, or {} if none was found. The working folder holds the other version."""
    recorded = _recorded(job)
    places = job["root"], os.getcwd()
    where, deadline = job["where"], _clock() + job["seconds"]
    right = HomeworkVersion(places[0], recorded, job)
    try:
        versions = right, HomeworkVersion(places[1], recorded, job)
        quick = [HomeworkVersion(place, recorded, job, forks=False) for place in places]
    except CannotBeLoaded as error:
        return {"kind": "missing", "got": f"it cannot be loaded: {error}"}
    groups = _groups(recorded["calls"], {tuple(line) for line in job["lines"]}, where)
    for number, group in enumerate(groups):
        share = (deadline - _clock()) / (len(groups) - number)
        pair = Pair(versions, (quick[0], quick[1]), group, job)
        trial = pair.differing(_clock() + share, max(LEAST, EXAMPLES // len(groups)))
        if trial is not None:
            return _described(pair, trial, recorded["modules"])
    return {}


def calls(job: dict[str, Any]) -> dict[str, Any]:
    """Return, for each function whose calls the tests make, the arguments of those that return, as code; long
    ones are left out."""
    recorded = _recorded(job)
    right = HomeworkVersion(job["root"], recorded, job)
    found: dict[str, list[Any]] = {}
    for call in recorded["calls"]:
        [step, *more] = call["steps"]
        if more or "." in step["name"] or "makes" in step:
            continue
        with suppress(Exception):
            trial = _loaded(call["steps"])
            outcome = right.run(_placed(right, trial))[0][0]
            if not outcome["raised"]:
                codes = {name: literal_of(value) for name, value in trial[0]["args"].items()}
                if sum(map(len, codes.values())) <= LONGEST_ARGUMENT:
                    found.setdefault(step["name"], []).append(codes)
    return {"calls": found}


WORK = {"search": search, "calls": calls}


def _recorded(job: dict[str, Any]) -> dict[str, Any]:
    with open(job["calls"], "rb") as file:
        return dict(pickle.load(file))


def _groups(calls: list[dict[str, Any]], lines: set[tuple[str, int]], where: str) -> list[list[Trial]]:
    """Return the recorded calls, by function or class, those of `where` first; those that reach the lines, if
    any do."""
    groups: dict[str, list[Trial]] = {}
    reaching = set()
    for call in calls:
        with suppress(Exception):
            if not call.get("broken"):
                key = call["steps"][0]["name"].removesuffix(".__init__")
                key = key if "makes" in call["steps"][0] else call["steps"][-1]["name"]
                groups.setdefault(key, []).append(_loaded(call["steps"]))
                if any(step["lines"] & lines for step in call["steps"]):
                    reaching.add(key)
    chosen = [key for key in groups if key in reaching or not reaching]
    chosen.sort(key=lambda key: key not in (where, where.rpartition(".")[0]))
    return [groups[key] for key in chosen]


def _loaded(steps: list[dict[str, Any]]) -> Trial:
    """Return recorded steps with their values."""
    sets = [pickle.loads(step["sets"]) if step["sets"] else {} for step in steps]
    made = [
        {**step, "args": pickle.loads(step["args"]), "sets": s} for step, s in zip(steps, sets, strict=True)
    ]
    return [{key: value for key, value in step.items() if key != "lines"} for step in made]


def _placed(right: HomeworkVersion, trial: Trial) -> Trial:
    """Return the trial without arguments that equal a default: another version may have another one, and a
    recorded call does not say which were given. Those without a default go by position."""
    found = []
    for step in trial:
        known = {p[0]: p for p in right.signatures.get(step["name"], ())}
        args = {k: v for k, v in step["args"].items() if not (k in known and _is_default(known[k], v))}
        order = [
            p[0] in args and not p[2] and p[1].startswith("POSITIONAL")
            for p in right.signatures.get(step["name"], ())
        ]
        found.append({**step, "args": args, "by_position": [*order, False].index(False)})
    return found


def _is_default(parameter: tuple[str, str, bool, Any], value: Any) -> bool:
    simple = (bool, int, float, str, type(None))
    return (
        parameter[2]
        and type(value) is type(parameter[3])
        and isinstance(value, simple)
        and bool(value == parameter[3])
    )


class Pair:
    """The right version and another one, and the calls of one function or class that the tests make."""

    def __init__(self, versions: Versions, quick: Versions, group: list[Trial], job: dict[str, Any]) -> None:
        self.versions, self.quick, self.job = versions, quick, job
        self.right, self.other = versions
        self.is_lenient = bool(job["is_lenient"])  # for submissions, which may refuse more than the solution
        self.group = sorted(group, key=lambda trial: len(pickle.dumps(trial)))
        self.doubts = 0  # differences that another run did not show
        self.may_be_infinite = False  # the tests themselves ask for infinities

    def differing(self, deadline: float, most: int) -> Trial | None:
        """Return the smallest trial that was found on which the versions differ."""
        own = self.group[:MOST_RECORDED]
        with suppress(EOFError, OSError):
            runs = [self.right.run(_placed(self.right, trial))[0] for trial in self.group]
            self.may_be_infinite = any(_holds(np.isinf, outcome["value"]) for run in runs for outcome in run)
            fit = [all(not one["raised"] or one["is_meant"] for one in run) for run in runs]
            pairs = zip(self.group, runs, fit, strict=True)
            self.group = [_filled(trial, run) for trial, run, is_fit in pairs if is_fit]
        shown = [trial for trial in own if self.difference(trial)]
        if not self.group:
            return None
        best: Trial | None = None
        is_shrinking = False

        @settings(
            max_examples=most,
            database=None,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
        )
        @given(st.data())
        def check(data: st.DataObject) -> None:
            nonlocal best, deadline, is_shrinking
            if _clock() > deadline or self.doubts > MOST_DOUBTS:
                return
            trial = Redrawn(data.draw, self.group, is_lenient=self.is_lenient, right=self.right).trial()
            if trial and self.difference(trial) and (is_shrinking or self.is_sure(trial)):
                if not is_shrinking:
                    is_shrinking, deadline = True, max(deadline, _clock() + self.job["seconds"] / 2)
                best = trial
                raise AssertionError

        with suppress(Exception):
            check()
        return next((trial for trial in (best, *shown) if trial and self.is_sure(trial)), None)

    def difference(self, trial: Trial) -> Found | None:
        """Return the first difference that a trial shows, also in forks of their own."""
        return self._between(self.quick, trial) and self._between(self.versions, trial)

    def _between(self, versions: Versions, trial: Trial) -> Found | None:
        trial = _placed(self.right, trial)
        try:
            mine = versions[0].run(trial)[0]
            if not mine or (mine[0]["raised"] and not mine[0]["is_meant"]):
                return None
            if trial[-1].get("is_odd") and not mine[-1]["is_meant"]:
                return None  # arguments that do not fit show something only where they are refused
            theirs = versions[1].run(trial)[0]
        except (EOFError, OSError):  # the code ends its process
            self.quick = self.versions
            return None
        return self._compared(trial, mine, theirs)

    def is_sure(self, trial: Trial) -> bool:
        """Return whether neither chance nor rounding explains the difference that a trial shows."""
        placed = _placed(self.right, trial)
        try:
            mine, theirs = (version.run(placed, SEEDS) for version in (self.right, self.other))
        except (EOFError, OSError):
            return False
        if not (self._is_steady(placed, mine) and self._is_steady(placed, theirs)):
            self.doubts += 1
            return False
        if not self._compared(placed, mine[0], theirs[0]):
            return False
        if all(_is_dyadic(leaf) for step in trial for leaf in leaves(step["args"])):
            return True
        for sign in (1, -1):
            near = [{**step, "args": in_leaves(partial(_moved, sign=sign), step["args"])} for step in placed]
            with suppress(EOFError, OSError):
                if not self._is_steady(placed, [mine[0], self.right.run(near)[0]], arguments=False):
                    return False
        return True

    def _is_steady(self, trial: Trial, runs: list[list[Outcome]], *, arguments: bool = True) -> bool:
        """Return whether a version answers alike in all runs."""
        tolerance = _tolerance(trial)
        parts = ("value", "later", "arguments") if arguments else ("value", "later")
        for run in runs[1:]:
            for one, other in zip(runs[0], run, strict=False):
                if one["raised"] != other["raised"]:
                    return False
                if any(_texts(one.get(part), other.get(part), tolerance) for part in parts):
                    return False
        return True

    def _compared(self, trial: Trial, mine: list[Outcome], theirs: list[Outcome]) -> Found | None:
        """Return the first difference between what two versions gave."""
        tolerance = _tolerance(trial)
        mine, theirs = (
            [self._seen(*pair) for pair in zip(trial, run, strict=False)] for run in (mine, theirs)
        )
        shapes, other = ([outcome.get("shapes") for outcome in run] for run in (mine, theirs))
        if self.is_lenient and shapes != other:
            return None  # other parameters cannot be given the same numbers
        for n, (step, due, got) in enumerate(zip(trial, mine, theirs, strict=False)):
            if due["raised"]:
                if not due["is_meant"]:
                    return None
                is_named = due["raised"] in self.job["names"]  # the tests ask for this exception
                if due["raised"] == "AssertionError" and not is_named:
                    return None  # an `assert` says which arguments the function is not made for
                if not got["raised"] or (is_named and got["raised"] != due["raised"]):
                    return Found("raises", n, due["raised"], got["raised"] or show(got["value"]))
                continue
            if not self._is_finite(due, step):
                return None
            if got["raised"]:
                is_refused = self.is_lenient and got["is_meant"]
                return None if is_refused else Found("raises", n, show(due["value"]), got["raised"])
            if texts := _texts(due["value"], got["value"], tolerance):
                return Found("value", n, *texts)
            # An attribute that only one version has by now may be set later.
            for name in sorted(_attributes(due["state"]) & _attributes(got["state"])):
                if texts := _texts(due["state"][name], got["state"][name], tolerance):
                    return Found("state", n, *texts, name)
            for name in step["args"]:
                if name in step["links"]:  # a part of a result, which each version has in a form of its own
                    continue
                value = due["given"].get(name)
                own, their = (outcome["arguments"].get(name) for outcome in (due, got))
                if not _texts(value, own, tolerance) and (texts := _texts(own, their, tolerance)):
                    return Found("argument", n, *texts, name)
        for n, (due, got) in enumerate(zip(mine, theirs, strict=False)):
            if not (due["raised"] or got["raised"]) and (
                texts := _texts(due["later"], got["later"], tolerance)
            ):
                return Found("later", n, *texts)
        return None

    def _seen(self, step: Step, outcome: Outcome) -> Outcome:
        """Return what a call gave without the parts that the tests only pass on."""
        unread = self.job["unread"].get(step["name"].rpartition(".")[2], ())
        if not unread or not isinstance(outcome["value"], list):
            return outcome
        seen = {part: [None if n in unread else item for n, item in enumerate(outcome[part] or ())]
                for part in ("value", "later")}  # fmt: skip
        return {**outcome, **seen}

    def _is_finite(self, due: Outcome, step: Step) -> bool:
        """Return whether the solution gives finite values, or infinities where the tests ask for them."""
        values = [due["value"], due["state"]]
        if _holds(np.isinf, values) and not (self.may_be_infinite or _holds(np.isinf, step["args"])):
            return False
        return not _holds(np.isnan, values) or _holds(np.isnan, step["args"])


def _attributes(state: Any) -> set[str]:
    """Return the names of an object's attributes, each with a point before it."""
    return set(state) if isinstance(state, dict) else set()


def _holds(kind: Callable[[Any], Any], tree: Any) -> bool:
    arrays = [array for array in map(to_numpy, leaves(tree)) if array is not None and array.dtype.kind == "f"]
    return any(bool(kind(array).any()) for array in arrays)


def _texts(due: Any, got: Any, tolerance: Tolerance) -> tuple[str, str] | None:
    """Return two values as texts if they differ; a list of numbers may stand for an array."""
    if isinstance(due, np.ndarray) != isinstance(got, np.ndarray):
        with suppress(Exception):
            arrays = np.asarray(due), np.asarray(got)
            if all(array.dtype.kind in "biuf" for array in arrays):
                due, got = arrays
    found = first_difference(due, got, tolerance, _coarser(due, got))
    if found is None:
        return None
    texts = show_pair(due, got) if found.kind in ("value", "length") else (found.expected, found.got)
    return texts if texts[0] != texts[1] else (f"{texts[0]} at {found.where}", "another value there")


def _coarser(due: Any, got: Any) -> str | None:
    """Return the coarser of two float dtypes, in whose tolerance the values are compared."""
    names = [float_dtype(tree) or "float64" for tree in (due, got)]
    return next((name for name in ("bfloat16", "float16", "float32") if name in names), None)


def _tolerance(trial: Trial) -> Tolerance:
    arguments = [step["args"] for step in trial]
    precision = precision_of(arguments)
    roundings = FEW_ROUNDINGS if float_dtype(arguments) not in (None, "float64") else ROUNDINGS
    finite = [array[np.isfinite(array)] for array in map(_floats, leaves(arguments)) if array is not None]
    largest = max((float(np.abs(array).max()) for array in finite if array.size), default=0.0)
    return Tolerance(precision.terms, roundings, max(precision.floor, CANCELLED * min(largest, 1e6)))


def _floats(leaf: Any) -> Array | None:
    array = to_numpy(leaf)
    return array if array is not None and array.dtype.kind == "f" else None


def _is_dyadic(leaf: Any) -> bool:
    """Return whether sums and products of a value are exact: it has no floats, or multiples of 1/4."""
    array = _floats(leaf)
    finite = None if array is None else array[np.isfinite(array)].astype(np.float64)
    return finite is None or bool((finite * 4 == np.round(finite * 4)).all())


def _moved(leaf: Any, sign: int) -> Any:
    """Return a float or an array of floats, moved by two roundings."""
    array = _floats(leaf)
    if array is None or not hasattr(leaf, "shape"):
        return leaf
    signs = np.where(np.arange(array.size).reshape(array.shape) % 2, sign, -sign)
    step = 1 + 2 * signs * np.finfo(array.dtype).eps
    if isinstance(leaf, np.ndarray):
        return (leaf * step).astype(leaf.dtype)
    return leaf.detach() * leaf.new_tensor(step)


def _filled(trial: Trial, run: list[Outcome]) -> Trial:
    """Return a trial that gives a module's parameters the same numbers in every version, unless a test sets
    them: they begin at random."""
    if not run[0].get("shapes") or len(trial) == 1 or trial[1]["sets"]:
        return trial
    return [trial[0], {**trial[1], "sets": {"parameters()": True}}, *trial[2:]]


class Redrawn:
    """Draws a trial like those that the tests make: of the same kinds, dtypes, ranges and equal sizes."""

    def __init__(self, draw: Draw, group: list[Trial], *, is_lenient: bool, right: HomeworkVersion) -> None:
        self.draw, self.group, self.is_lenient, self.right = draw, group, is_lenient, right
        self.objects, self.depth = RecordedObjects(group, right.slots), 0
        self.sizes: dict[int, int] = {}
        self.scale = 1

    def trial(self) -> Trial:
        """Return a trial with new arguments; [] if they cannot be made."""
        base = self.draw(st.sampled_from(self.group))
        repeats = len(base) == 1 and self.draw(st.integers(0, 3)) == 3
        self.scale = self.draw(st.sampled_from((1, 1, 50, 1000)))
        if not self.draw(st.booleans()):
            self.sizes = self._sizes(base)
        is_odd = self.draw(st.integers(0, 7)) == 7
        drawn = [self._step(step) for step in base]
        if is_odd and len(drawn[-1]["args"]) > 1:
            self.sizes = self._sizes(base)
            name = self.draw(st.sampled_from(sorted(drawn[-1]["args"])))
            args = {**drawn[-1]["args"], name: self._step(base[-1])["args"][name]}
            return [*drawn[:-1], {**drawn[-1], "args": args, "is_odd": True}]
        return [drawn[0], self._step(base[0]), drawn[0]] if repeats else drawn

    def _sizes(self, base: Trial) -> dict[int, int]:
        """Return another length for each; one is 0 only if the tests have such a one."""
        sizes = {n: self.draw(st.integers(1, min(n + 2, 12))) for n in _lengths(base)}
        if len(self.group) >= ENOUGH and all(n % 2 == 0 for trial in self.group for n in _widths(trial)):
            sizes |= {n: sizes[n] + sizes[n] % 2 for n in _widths(base)}
        if any(0 in _lengths(trial) for trial in self.group) and self.draw(st.integers(0, 3)) == 3:
            sizes = sizes | {self.draw(st.sampled_from(sorted(sizes))): 0}
        return sizes

    def _step(self, step: Step) -> Step:
        self.memo: dict[int, Any] = {}
        args = {name: self._argument(step["name"], name, value) for name, value in step["args"].items()}
        return {
            **step,
            "args": args,
            "sets": {name: self._made(value) for name, value in step["sets"].items()},
        }

    def _argument(self, function: str, name: str, value: Any) -> Any:
        """Return an argument: drawn, or one that another call has, if these are no arrays."""
        steps = [step for trial in self.group for step in trial if step["name"] == function]
        seen = [step["args"][name] for step in steps if name in step["args"]]
        if made := self.objects.at(function, name, seen):
            return self._object(made, is_optional=None in (value, *map(_if_none, seen)))
        known = next((p for p in self.right.signatures.get(function, ()) if p[0] == name), None)
        if self.is_lenient and known and all(_is_default(known, one) for one in seen):
            return value  # the tests never give it, so another version may lack it
        if name in AXES and type(value) is int:
            return self.draw(st.sampled_from([value, *seen, -1, 0]))
        return self._like(value, seen)

    def _like(self, value: Any, seen: list[Any]) -> Any:
        """Return a value that is drawn like those that were seen in its place."""
        if value is None:
            return self.draw(st.sampled_from([one for one in seen if not hasattr(one, "shape")]))
        if any(one is None for one in seen) and self.draw(st.integers(0, 3)) == 3:
            return None
        seen = [one for one in seen if one is not None]
        if type(value) is bool and all(type(one) is bool for one in seen):
            return self.draw(st.booleans())
        if type(value) is int and value not in self.sizes and all(type(one) is int for one in seen):
            low, high = min(seen), max(seen)
            return self.draw(st.integers(min(low, 1) if low >= 0 else low - 1, high + max(2, high - low)))
        if type(value) is float and all(type(one) is float and math.isfinite(one) for one in seen):
            return self._float(min(seen), max(seen), value)
        if type(value) is str and all(type(one) is str for one in seen):
            return self._text(seen)
        return self._made(value)

    def _object(self, made: list[Any], *, is_optional: bool) -> Any:
        """Return an object like those that were made, or None where that was given too."""
        least = 0 if is_optional else 1
        if self.depth == 0 and self.objects.grows:
            return self._chain(made, self.draw(st.integers(least, LONGEST_CHAIN)))
        if is_optional and self.draw(st.integers(0, 3)) == 3:
            return None
        return self._in_order(self.draw(st.sampled_from(made)))

    def _chain(self, made: list[Any], length: int) -> Any:
        """Return a chain of objects, each of which is an argument of the one before; None for no object."""
        chain: Any = None
        links = [self.draw(st.sampled_from(made)) for _ in range(length)]
        drawn = [self._given(link) for link in links]
        for name in drawn[0] if drawn and self.objects.is_sorted else ():
            numbers = [given[name] for given in drawn]
            if all(type(number) in (int, float) for number in numbers):
                for given, number in zip(drawn, sorted(numbers), strict=True):
                    given[name] = number
        for link, given in reversed(list(zip(links, drawn, strict=True))):
            first = link[MADE]
            given |= dict.fromkeys(self.objects.slots_of(first["name"]), chain)
            chain = {**link, MADE: {**first, "args": given}}
        return chain

    def _given(self, made: Any) -> dict[str, Any]:
        """Return other arguments for the constructor of an object."""
        first, self.depth = made[MADE], self.depth + 1
        slots = self.objects.slots_of(first["name"])
        seen = self.objects.arguments(first["name"])
        given = {
            name: value if name in slots else self._like(value, [one[name] for one in seen if name in one])
            for name, value in first["args"].items()
        }
        self.depth -= 1
        return given

    def _in_order(self, made: Any) -> Any:
        """Return an object of the same structure with other numbers in the same order: it may be sorted."""
        numbers = sorted(
            {n for one in _objects_in(made) for n in one[MADE]["args"].values() if _is_number(n)}
        )
        steps = [self.draw(st.integers(1, 3)) for _ in numbers]
        first = self.draw(st.integers(-2, 2)) if numbers and numbers[0] < 0 else self.draw(st.integers(0, 2))
        others = [type(n)(first + sum(steps[:i])) for i, n in enumerate(numbers)]
        return _with_numbers(made, dict(zip(numbers, others, strict=True)))

    def _float(self, low: float, high: float, value: float) -> float:
        if low > 0 and high < 0.01:
            return float(self.draw(st.sampled_from((value, 0.1, 0.01))))
        if low >= 0 and high <= 1:
            return float(self.draw(st.integers(int(low > 0), 16)) / 16) if high > 0.01 else value
        first = math.floor(4 * low) - 4 if low < 0 else int(low > 0)
        return float(self.draw(st.integers(first, math.ceil(4 * high) + 8)) / 4)

    def _text(self, seen: list[str], least: int = 0) -> str:
        letters = sorted({letter for text in seen for letter in text}) or list(string.ascii_lowercase)
        longest = max(map(len, seen)) + 2
        mixed = st.lists(st.sampled_from(letters), min_size=least, max_size=longest).map("".join)
        return str(self.draw(st.one_of(mixed, st.sampled_from(seen))))

    def _made(self, value: Any) -> Any:
        """Return a value of the same kind; what is one object stays one."""
        if id(value) not in self.memo:
            self.memo[id(value)] = (value, self._new(value))
        return self.memo[id(value)][1]

    def _new(self, value: Any) -> Any:
        if type(value) is int:
            return self.sizes.get(value, value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if type(value) is dict:
            return {key: self._made(item) for key, item in value.items()}
        if type(value) is tuple:
            return tuple(map(self._made, value))
        if type(value) is list:
            return self._list(value)
        if type(value).__module__.startswith("torch") and hasattr(value, "detach"):
            array = to_numpy(value)
            assert array is not None
            made = value.new_tensor(np.ascontiguousarray(self._array(array)), dtype=value.dtype)
            return made.requires_grad_(value.requires_grad)
        return value

    def _list(self, value: list[Any]) -> list[Any]:
        kinds = {type(item) for item in value}
        if value and kinds <= {int, float}:
            n = self.sizes.get(len(value), len(value))
            return [float(x) if float in kinds else int(x) for x in self._numbers(np.array(value), (n,))]
        if kinds == {str}:
            n = self.sizes.get(len(value), len(value))
            return [self._text(value, least=int("" not in value)) for _ in range(n)]
        if len(kinds) == 1 and len(value) in self.sizes:
            return [self._new(value[i % len(value)]) for i in range(self.sizes[len(value)])]
        return [self._made(item) for item in value]

    def _array(self, old: Array) -> Array:
        shape = tuple(self.sizes.get(n, n) for n in old.shape)
        if old.dtype.kind not in "biuf" or not old.size or 0 in shape:
            return old if not old.size or old.dtype.kind not in "biuf" else np.zeros(shape, old.dtype)
        return np.asarray(self._numbers(old, shape)).astype(old.dtype)

    def _entries(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Return integers of a shape."""
        count = math.prod(shape)
        if count <= FEW_ENTRIES:
            drawn = self.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
            return np.array(drawn, dtype=np.int64).reshape(shape)
        return np.random.default_rng(self.draw(st.integers(0, 1000))).integers(low, high + 1, size=shape)

    def _numbers(self, old: Array, shape: tuple[int, ...]) -> Array:
        """Return numbers of a shape that are like the old ones."""
        if old.dtype.kind == "b":
            return self._bools(old, shape)
        if old.dtype.kind in "iu":
            return self._ints(old, shape)
        finite = old[np.isfinite(old)].astype(np.float64)
        if not finite.size or (np.isinf(old).any() and old.shape != shape):
            return np.resize(old, shape)
        is_fraction = finite.min() >= 0 and finite.max() <= 1
        sums_to_one = old.ndim and is_fraction and np.allclose(old.sum(axis=-1), 1, atol=1e-3)
        if sums_to_one and old.shape[-1] > 1:
            drawn = self._entries(shape, 1, 16).astype(np.float64)
            return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))
        if is_fraction:
            return self._entries(shape, 0, 4) / 4
        whole = bool((finite == np.round(finite)).all())
        low = 0 if finite.min() >= 0 and (self.is_lenient or self.draw(st.booleans())) else -16
        drawn = self._entries(shape, low, 16) / (1 if whole else 4) * self.scale
        is_sorted = (
            old.ndim and old.shape[-1] > 1 and (np.diff(finite.reshape(-1)[: old.shape[-1]]) > 0).all()
        )
        drawn = np.sort(drawn, axis=-1) if is_sorted and self.draw(st.booleans()) else drawn
        return np.where(np.isinf(old), old, drawn) if np.isinf(old).any() else drawn

    def _ints(self, old: Array, shape: tuple[int, ...]) -> Array:
        low, high = int(old.min()), int(old.max())
        if low >= 0 and high + 1 in self.sizes:  # positions in an axis whose length changes
            low, high = min(low, self.sizes[high + 1] - 1), self.sizes[high + 1] - 1
        count = math.prod(shape)
        if old.size > 1 and len(np.unique(old)) == old.size and high - low + 1 >= count:
            return np.array(self.draw(st.permutations(range(low, high + 1)))[:count]).reshape(shape)
        return self._entries(shape, low, high)

    def _bools(self, old: Array, shape: tuple[int, ...]) -> Array:
        if len(shape) >= 2 and (np.tril(old) == old).all() and self.draw(st.booleans()):
            return np.tril(np.ones(shape, dtype=bool))
        drawn = self._entries(shape, 0, 1).astype(bool)
        if old.ndim and old.any(axis=-1).all():
            drawn[..., 0] |= ~drawn.any(axis=-1)
        return drawn


class RecordedObjects:
    """The objects of the homework's own classes in the recorded calls. `slots` are the parameters of
    constructors that are given such objects, also inside of the solution."""

    def __init__(self, group: list[Trial], slots: Iterable[tuple[str, str]]) -> None:
        self.slots = set(slots)
        found = [made for trial in group for step in trial for made in _objects_in(step["args"])]
        self.all = list({id(made): made for made in found}.values())
        names = {made[MADE]["name"] for made in self.all}
        plain = all(not made["then"] and not made["sets"] for made in self.all)
        #: A list may be longer than those of the tests; of a tree it is not known where it may grow.
        self.grows = plain and len(names) == 1 and len(self.slots_of(*names)) == 1
        pairs = [(made, made[MADE]["args"].get(slot)) for made in self.all for _, slot in self.slots]
        #: Unless a chain of the tests is not sorted, none is drawn that is not: the function may need it.
        self.is_sorted = all(_is_before(one, other) for one, other in pairs if _is_made(other))

    def slots_of(self, constructor: str) -> list[str]:
        return sorted(name for owner, name in self.slots if owner == constructor)

    def at(self, function: str, name: str, seen: list[Any]) -> list[Any]:
        """Return the objects that may stand for an argument."""
        here = [one for one in seen if _is_made(one)]
        return here or (self.all if (function, name) in self.slots else [])

    def arguments(self, constructor: str) -> list[dict[str, Any]]:
        return [made[MADE]["args"] for made in self.all if made[MADE]["name"] == constructor]


def _is_made(value: Any) -> bool:
    return type(value) is dict and MADE in value


def _if_none(value: Any) -> Any:
    """Return None for None, and something else for all others, which may have an equality of their own."""
    return None if value is None else True


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_before(one: Any, other: Any) -> bool:
    """Return whether no number that one object is made from is larger than that of the other."""
    pairs = [(value, other[MADE]["args"].get(name)) for name, value in one[MADE]["args"].items()]
    return all(a <= b for a, b in pairs if _is_number(a) and _is_number(b))


def _objects_in(tree: Any) -> Iterator[Any]:
    """Yield the objects of the homework's own classes in a tree."""
    if _is_made(tree):
        yield tree
    if isinstance(tree, dict | list | tuple):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _objects_in(item)


def _with_numbers(tree: Any, others: dict[Any, Any]) -> Any:
    """Return objects that are made from other numbers."""
    if type(tree) in (list, tuple):
        return type(tree)(_with_numbers(item, others) for item in tree)
    if type(tree) is dict:
        kept = "positional"  # how many arguments go by position
        return {key: item if key == kept else _with_numbers(item, others) for key, item in tree.items()}
    return others.get(tree, tree) if _is_number(tree) else tree


def _lengths(trial: Trial) -> list[int]:
    """Return the lengths of all axes and lists in a trial."""
    values = [(step["args"], step["sets"]) for step in trial]
    found = {int(n) for leaf in leaves(values) for n in getattr(leaf, "shape", ())}
    return sorted(found | {len(one) for one in _lists(values)})


def _widths(trial: Trial) -> set[int]:
    """Return the lengths of the last axes in a trial."""
    shapes: list[Any] = [getattr(leaf, "shape", ()) for step in trial for leaf in leaves(step["args"])]
    return {int(shape[-1]) for shape in shapes if len(shape)}


def _lists(tree: Any) -> Iterator[list[Any]]:
    if isinstance(tree, list):
        yield tree
    if isinstance(tree, dict | list | tuple):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _lists(item)


def _described(pair: Pair, trial: Trial, modules: dict[str, str]) -> dict[str, Any]:
    """Return the witness as JSON: the calls as code, what differs, and what the right version gives."""
    found = pair.difference(trial)
    if found is None:
        return {}
    trial = trial if found.kind == "later" else trial[: found.step + 1]
    right = pair.right.run(_placed(pair.right, trial))[0][found.step]
    value = right["later"] if found.kind == "later" else right["value"]
    value = right["state"][found.name] if found.kind == "state" else value
    return {
        "kind": found.kind,
        "at": found.step,
        "steps": [_as_code(pair.right, step, modules) for step in trial],
        "expected": found.expected[:2_000],
        "got": found.got[:2_000],
        "argument": found.name,
        "raised": right["raised"],
        "result": _short(value, 4 * LONGEST_ARGUMENT),
    }


def _as_code(right: HomeworkVersion, step: Step, modules: dict[str, str]) -> dict[str, Any]:
    """Return a step as code: the name that is called, its file, and its arguments in order."""
    known = {name: has for name, _, has, _ in right.signatures.get(step["name"], ())}
    [placed] = _placed(right, [step])
    return {
        "name": step["name"],
        "file": step["file"],
        "module": modules.get(step["file"], ""),
        "makes": bool(step.get("makes")),
        "given": [
            [k, "" if k in step["links"] else _short(v, LONGEST_ARGUMENT), not known.get(k, False)]
            for k, v in placed["args"].items()
        ],
        "sets": [[name, _short(value, LONGEST_ARGUMENT)] for name, value in step["sets"].items()],
    }


def _short(value: Any, most: int) -> str:
    """Return a value as code; empty if it has none, or if that is long."""
    with suppress(NoExpression):
        code = literal_of(value)
        return code if len(code) <= most else ""
    return ""


def literal_of(value: Any) -> str:
    """Return an expression whose value is `value`. Raises NoExpression."""
    if isinstance(value, bool | int | str | bytes | type(None)) and type(value).__module__ == "builtins":
        return repr(value)
    if type(value) in (float, complex):
        return repr(value) if np.isfinite(value) else f"float('{value}')"
    if type(value) in (list, tuple):
        inside = ", ".join(map(literal_of, value))
        return f"[{inside}]" if type(value) is list else f"({inside}{',' if len(value) == 1 else ''})"
    if _is_made(value):
        return _made_code(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{literal_of(key)}: {literal_of(item)}" for key, item in value.items()) + "}"
    if type(value) is set and value:
        return "{" + ", ".join(sorted(map(literal_of, value))) + "}"
    array = to_numpy(value)
    if array is None or array.dtype.kind not in "biuf":
        raise NoExpression
    if isinstance(value, np.generic):
        return f"np.{value.dtype}({literal_of(value.item())})"
    is_torch = type(value).__module__.startswith("torch")
    dtype = str(value.dtype) if is_torch else f"np.{value.dtype}"
    maker, inside = ("torch.tensor" if is_torch else "np.array"), _rows(array)
    needless = r"torch\.(float32|bool|int64)" if is_torch else r"np\.(float64|bool|int64)"
    if re.fullmatch(needless, dtype) and array.size:
        return f"{maker}({inside})"
    shaped = f".reshape({tuple(array.shape)})" if not array.size else ""
    return f"{maker}({inside}, dtype={dtype}){shaped}"


def _made_code(made: dict[str, Any]) -> str:
    """Return the call of a constructor. Raises NoExpression for an object that more than this makes."""
    first = made[MADE]
    if made["then"] or made["sets"] or any(name.startswith("*") for name in first["args"]):
        raise NoExpression
    given = [
        literal_of(value) if place < first["positional"] else f"{name}={literal_of(value)}"
        for place, (name, value) in enumerate(first["args"].items())
    ]
    return f"{first['name'].removesuffix('.__init__')}({', '.join(given)})"


def _rows(array: Any) -> str:
    if array.ndim:
        return "[" + ", ".join(map(_rows, array)) + "]"
    return literal_of(float(str(array)) if array.dtype.kind == "f" else array.item())
