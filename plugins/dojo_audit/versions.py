"""Run calls of a homework in one of its versions, and return what plain code can see of the answers.

A version has a process of its own, and each trial a fork of that. Between them pass plain data: numbers,
arrays, texts and containers. Of other objects one sees the public attributes that a test reads.
"""

from __future__ import annotations

import ast
import enum
import gc
import importlib
import importlib.util
import inspect
import io
import itertools
import os
import pickle
import random
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from dojo_audit import driver
from grader.values.arrays import to_numpy

#: A call: `name`, `file`, its arguments `args` and the attributes `sets` that are set before it, and how many
#: arguments go `by_position`. `links` are arguments that are parts of the result of the first call. `makes`
#: is true for a call whose result has the methods that follow.
Step = dict[str, Any]
Trial = list[Step]
#: What a call gave: `value`; or `raised`, and whether the code under test raises by a statement of its own
#: (`is_meant`); the arguments it was `given`, and its `arguments` afterwards, and `later` the value once
#: more, after all calls. Of a module of PyTorch that is made, the `shapes` of its parameters.
Outcome = dict[str, Any]
CALL_SECONDS = 2.0
LONGEST_ITERATOR = 200  # items that are taken from an iterator
DEEPEST = 12
OBJECT = "an object"  # stands for what plain code cannot see
SEEDS = ("seed", "random_state")  # arguments that choose random numbers


class CannotBeLoaded(Exception):
    """A version cannot be loaded; the message says why."""


class Endless(BaseException):
    """A call has taken too long."""


class HomeworkVersion:
    """One version of the homework, loaded from one copy. Raises CannotBeLoaded.

    With `forks` each trial has a fork of its own, so that none sees what another has left; without, a trial
    takes a tenth of the time.

    `signatures` are the parameters of what is called: name, kind, whether it has a default, and the default.
    `slots` are the parameters of constructors that are given objects of the homework's own classes.
    """

    def __init__(
        self, root: str, recorded: dict[str, Any], job: dict[str, Any], *, forks: bool = True
    ) -> None:
        (asking, self._asks), (self._answers, answering) = Pipe(duplex=False), Pipe(duplex=False)
        if os.fork() == 0:
            with suppress(BaseException):
                null = os.open(os.devnull, os.O_RDWR)
                for fd in (0, 1, 2):
                    os.dup2(null, fd)
                for fd in set(range(3, 64)) - {asking.fileno(), answering.fileno()}:  # that of the answer too
                    with suppress(OSError):
                        os.close(fd)
                _serve(partial(_World, root, recorded, job), asking, answering, forks=forks)
            os._exit(0)
        asking.close()
        answering.close()
        known: dict[str, Any] = {}
        with suppress(EOFError, OSError):
            known = _receive(self._answers)
        if "signatures" not in known:
            raise CannotBeLoaded(str(known.get("error", "the process ends")))
        self.signatures: dict[str, list[tuple[str, str, bool, Any]]] = known["signatures"]
        self.slots: set[tuple[str, str]] = recorded["slots"]

    def run(self, trial: Trial, seeds: tuple[int, ...] = (0,)) -> list[list[Outcome]]:
        """Run the calls of a trial once for each seed of the random numbers, and return what each call gave.
        Raises EOFError if the code ends its process."""
        _send(self._asks, (trial, seeds))
        found = [_receive(self._answers) for _ in seeds]
        if not all(found):
            raise EOFError
        return found


def _send(end: Connection, value: Any) -> None:
    end.send_bytes(pickle.dumps(value))  # and not `send`, which shares the memory of tensors


def _receive(end: Connection) -> Any:
    """Return the next value. Raises EOFError at the end."""
    return pickle.loads(end.recv_bytes())


def _serve(world: Callable[[], _World], asking: Connection, answering: Connection, *, forks: bool) -> None:
    """Load the version, and answer trials until there are no more."""
    try:
        loaded = world()
        _send(answering, {"signatures": loaded.signatures()})
    except BaseException as error:
        _send(answering, {"error": f"{type(error).__name__}: {error}"[:500]})
        return
    gc.freeze()
    while True:
        trial, seeds = _receive(asking)
        for seed in seeds:
            _send(answering, _in_fork(partial(loaded.run, trial, seed)) if forks else loaded.run(trial, seed))


def _in_fork(work: Callable[[], Any]) -> Any:
    """Return what the work returns in a fork of this process; None if the fork ends otherwise."""
    reading, writing = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            _send(writing, work())
        os._exit(0)
    writing.close()
    found = None
    with suppress(Exception):
        found = _receive(reading)
    reading.close()
    os.waitpid(child, 0)
    return found


class _World:
    """The homework's modules in this process."""

    def __init__(self, root: str, recorded: dict[str, Any], job: dict[str, Any]) -> None:
        self.root, self.names = os.path.realpath(root), recorded["calls"]
        self.reads, self._meant = set(job["reads"]), dict[str, set[int]]()
        driver._forget_ourselves()
        before = recorded["root"]
        sys.path[:] = [
            self.root + path[len(before) :] if (path + os.sep).startswith(before + os.sep) else path
            for path in recorded["path"]
        ]
        os.chdir(self.root)
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        importlib.invalidate_caches()
        cells = job["command"]["cells"]
        self.files: dict[str, Any] = {}  # the module of each file
        if cells is None:
            for file, name in recorded["modules"].items():
                self.files[file] = self._module(name, os.path.join(self.root, file))
            return
        os.chdir(job["command"]["at"] or ".")
        scope = driver.namespace(cells["label"], os.getcwd())
        for file in cells["order"]:
            if file not in cells["checks"] and file not in cells["otter"].values():
                driver.run_file(file, scope)
        self.files = dict.fromkeys(recorded["modules"], types.SimpleNamespace(**scope))

    def _module(self, name: str, path: str) -> Any:
        if name and name != "__main__":
            with suppress(ImportError):
                module = importlib.import_module(name)
                if os.path.realpath(getattr(module, "__file__", None) or "") == os.path.realpath(path):
                    return module
        name = name if name not in ("", "__main__") else os.path.basename(path).partition(".")[0]
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def signatures(self) -> dict[str, list[tuple[str, str, bool, Any]]]:
        """Return the parameters of all that is called, by name."""
        found = {}
        for step in (step for call in self.names for step in call["steps"]):
            with suppress(Exception):
                parameters = list(inspect.signature(self._named(step)).parameters.values())
                skipped = len(parameters) > 0 and parameters[0].name == "self"
                found[step["name"]] = [
                    (p.name, p.kind.name, p.default is not p.empty, self.tree(p.default))
                    for p in parameters[skipped:]
                ]
        return found

    def _named(self, step: Step) -> Any:
        """Return the function or class of a step. Raises AttributeError."""
        found = self.files[step["file"]]
        for part in step["name"].removesuffix(".__init__").split("."):
            found = getattr(found, part)
        return found

    def run(self, trial: Trial, seed: int) -> list[Outcome]:
        """Run the steps, each from a given state of random numbers, and return what each gave."""
        outcomes: list[Outcome] = []
        results: list[Any] = []
        owner: Any = None
        for step in trial:
            driver.seed_all(seed)
            outcome: Outcome = {"raised": "", "is_meant": False, "value": None}
            arguments = _seeded(step["args"], seed) if seed else step["args"]
            with suppress(Exception):
                arguments = arguments | {name: results[0][part] for name, part in step["links"].items()}
            result = None
            outcome["given"] = {}
            try:
                with _limited(CALL_SECONDS):
                    arguments = self._with_objects(arguments, {})
                    outcome["given"] = self.tree(arguments)
                    result = self._perform(step, arguments, owner)
                    if isinstance(result, Iterator) and not isinstance(result, io.IOBase):
                        result = list(itertools.islice(result, LONGEST_ITERATOR))
                    outcome["value"] = self.tree(result)
            except Endless:
                outcome["raised"] = "no end"
            except (Exception, SystemExit) as error:
                outcome.update(raised=type(error).__name__, is_meant=self._is_meant(error))
            if step.get("makes"):
                owner = result
                with suppress(Exception):
                    parameters = dict(owner.named_parameters())
                    outcome["shapes"] = [(name, tuple(p.shape)) for name, p in parameters.items()]
            outcome["arguments"] = self.tree(arguments)
            outcome["state"] = self.tree(owner) if owner is not None else None
            outcomes.append(outcome)
            results.append(result)
            if outcome["raised"] and (step.get("makes") or outcome["raised"] == "no end"):
                break
        for outcome, result in zip(outcomes, results, strict=True):
            outcome["later"] = None if outcome["raised"] else self.tree(result)
        return outcomes

    def _perform(self, step: Step, arguments: dict[str, Any], owner: Any) -> Any:
        by_position = int(step["by_position"] if "by_position" in step else step["positional"])
        if owner is None or step.get("makes"):
            return _called(self._named(step), arguments, by_position)
        for name, value in step["sets"].items():
            if name == "state_dict()":
                owner.load_state_dict(value)
            elif name == "training":
                owner.train(value)
            elif name == "parameters()":
                for n, parameter in enumerate(owner.parameters()):
                    numbers = np.sin(np.arange(parameter.numel()) + n).reshape(parameter.shape)
                    parameter.data = parameter.new_tensor(numbers)
            else:
                setattr(owner, name, value)
        method = step["name"].rpartition(".")[2]
        if isinstance(inspect.getattr_static(type(owner), method, None), property):
            return getattr(owner, method)
        return _called(getattr(owner, method), arguments, by_position)

    def _with_objects(self, value: Any, made: dict[int, Any]) -> Any:
        """Return a value with the objects that stand in it as the steps that make them."""
        if type(value) in (list, tuple):
            return type(value)(self._with_objects(item, made) for item in value)
        if type(value) is not dict:
            return value
        if driver.MADE not in value:
            return {key: self._with_objects(item, made) for key, item in value.items()}
        if id(value) not in made:
            first = value[driver.MADE]
            arguments = self._with_objects(first["args"], made)
            owner = _called(self._named(first), arguments, first["positional"])
            for step in value["then"]:
                self._perform({**step, "sets": {}}, self._with_objects(step["args"], made), owner)
            for name, item in value["sets"].items():
                setattr(owner, name, self._with_objects(item, made))
            made[id(value)] = owner
        return made[id(value)]

    def _is_meant(self, error: BaseException) -> bool:
        """Return whether a statement of the code under test has raised the exception itself."""
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        path = last.tb_frame.f_code.co_filename if last else ""
        if last is None or not os.path.realpath(path).startswith(self.root + os.sep):
            return False
        if path not in self._meant:
            self._meant[path] = set()
            with suppress(OSError, SyntaxError), open(path, encoding="utf-8") as file:
                for node in ast.walk(ast.parse(file.read())):
                    if isinstance(node, ast.Raise | ast.Assert):
                        self._meant[path] |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return last.tb_lineno in self._meant[path]

    def tree(self, value: Any, depth: int = 0) -> Any:
        """Return a copy of what plain code can see of a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return value
        if depth > DEEPEST:
            return OBJECT
        if isinstance(value, np.ndarray):
            return value.copy() if value.dtype != object else self.tree(value.tolist(), depth)
        if isinstance(value, np.generic):
            return value
        if isinstance(value, dict):
            return {_key(key): self.tree(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(item, depth + 1) for item in value]
        if isinstance(value, set | frozenset):
            return {"a set": sorted(repr(self.tree(item, depth + 1)) for item in value)}
        if to_numpy(value) is not None and hasattr(value, "detach"):
            return value.detach().clone()
        if isinstance(value, enum.Enum):
            return value.name
        kind = type(value)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
        if kind.__module__ == "__main__" or (file and os.path.realpath(file).startswith(self.root + os.sep)):
            return {
                f".{name}": item for name in sorted(self.reads) for item in self._read(value, name, depth)
            }
        text = "" if callable(value) else repr(value)
        return OBJECT if not text or " at 0x" in text or isinstance(value, random.Random) else text[:500]

    def _read(self, value: Any, name: str, depth: int) -> Iterator[Any]:
        """Yield what an attribute holds, if there is one and it is no method."""
        with suppress(Exception):
            held = getattr(value, name)
            if not callable(held):
                yield self.tree(held, depth + 1)


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | tuple) else repr(key)


def _seeded(arguments: Any, seed: int) -> Any:
    """Return arguments with generators and seeds that are others for each seed."""
    found = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, np.random.Generator):
            found[name] = np.random.default_rng(seed)
        elif isinstance(value, random.Random):
            found[name] = random.Random(seed)
        elif type(value).__name__ == "Generator" and hasattr(value, "manual_seed"):
            found[name] = value.manual_seed(seed)
        elif name in SEEDS and type(value) is int:
            found[name] = value + seed
    return found


def _called(function: Any, arguments: dict[str, Any], by_position: int) -> Any:
    """Call a function: the first arguments by position, all before those of `*args` too, others by name."""
    names = list(arguments)
    star = next((n for n, name in enumerate(names) if name.startswith("*") and name[:2] != "**"), None)
    first = names[: by_position if star is None else star]
    positional = [arguments[name] for name in first]
    extra: dict[str, Any] = next((arguments[name] for name in names if name.startswith("**")), {})
    named = {k: v for k, v in arguments.items() if k not in first and k[0] != "*"}
    return function(*positional, *(arguments[names[star]] if star is not None else ()), **named, **extra)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Endless

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
