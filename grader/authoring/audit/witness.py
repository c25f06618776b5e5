"""Search for calls to which two versions of a homework answer differently, and make them small.

This runs inside a fork of the server. A difference counts if it shows again in a fresh process, if rounding
cannot explain it, and if the right version answers at all.
"""

from __future__ import annotations

import inspect
import itertools
import os
import pickle
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from grader.authoring.audit.comparing import Pair, Trial, compared, given_of, loaded_from, with_values
from grader.authoring.audit.drawing import STYLES, Drawer, simpler, smaller
from grader.authoring.audit.worlds import Step, World, tree_of
from grader.grading.snippet import NotCode, code_of
from grader.values.arrays import float_dtype, leaves
from grader.values.comparison import Tolerance, first_difference

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
