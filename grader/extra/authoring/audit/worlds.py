"""Load two versions of a homework beside each other, and run the same calls in both."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import io
import itertools
import os
import pickle
import random
import re
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.extra.authoring.audit import driver
from grader.values.arrays import to_numpy

Step = dict[str, Any]
CALL_SECONDS = 2.0
LONGEST = 200  # items that are taken from a generator
ADDRESS = re.compile(r"0x[0-9a-f]+")
DEEPEST = 6


class Endless(BaseException):
    """A call has taken too long."""


@dataclass
class Outcome:
    """What a call gave: a tree of arrays, numbers and texts; its arguments afterwards; or the exception.

    `is_meant` is true if the code under test raises it by a statement of its own.
    """

    value: Any = None
    arguments: Any = None
    raised: str = ""
    is_meant: bool = False
    result: Any = None  # as it was returned
    later: Any = None  # the result once more, after all calls


class World:
    """One version of the homework's modules, loaded from one copy."""

    def __init__(self, root: str, recorded: dict[str, Any], cells: dict[str, Any] | None) -> None:
        self.root, self.recorded, self.cells = os.path.realpath(root), recorded, cells
        self._own: dict[str, Any] = {}
        self.path = [self._here(path) for path in recorded["path"]]
        self.files: dict[str, Any] = {}  # the module of each file
        self._meant: dict[str, set[int]] = {}
        self._defaults: dict[str, dict[str, Any]] = {}
        importlib.invalidate_caches()
        with self.active():
            self._load()

    def _here(self, path: str) -> str:
        """Return a path of the recording as one of this copy."""
        before = self.recorded["root"]
        return self.root + path[len(before) :] if path == before or path.startswith(before + os.sep) else path

    def _load(self) -> None:
        modules = self.recorded["modules"]
        if self.cells is not None:
            scope = driver.namespace(self.cells["label"], os.path.join(self.root, self.cells["at"]))
            os.chdir(os.path.join(self.root, self.cells["at"]))
            for file in self.cells["order"]:
                if file not in self.cells["checks"]:
                    driver.run_file(file, scope)
            module = types.SimpleNamespace(**scope)
            self.files = dict.fromkeys(modules, module)
            return
        for file, name in modules.items():
            self.files[file] = self._module(name, os.path.join(self.root, file))

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

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let imports and pickles find this world's modules, and none of another world's."""
        before, path, folder = dict(sys.modules), list(sys.path), os.getcwd()
        sys.modules.update(self._own)
        sys.path[:] = self.path
        os.chdir(self.root)
        silent = io.StringIO()
        try:
            with warnings.catch_warnings(), redirect_stdout(silent), redirect_stderr(silent):
                warnings.simplefilter("ignore")
                with np.errstate(all="ignore"):
                    yield
        finally:
            changed = {name: one for name, one in sys.modules.items() if before.get(name) is not one}
            for name, module in changed.items():
                file = getattr(module, "__file__", None) or ""
                if file.startswith(self.root + os.sep) or name in self._own:
                    self._own[name] = module
                    del sys.modules[name]
            sys.modules.update({name: before[name] for name in before.keys() - self._own.keys()})
            sys.path[:] = path
            os.chdir(folder)

    def load(self, data: bytes) -> Any:
        """Return a recorded value in this world. Raises what unpickling raises."""
        with self.active():
            return pickle.loads(data)

    def dump(self, value: Any) -> bytes:
        with self.active():
            return pickle.dumps(value)

    def named(self, step: Step) -> Any:
        """Return the function or class of a step. Raises AttributeError."""
        found = self.files[step["file"]]
        for part in step["name"].removesuffix(".__init__").split("."):
            found = getattr(found, part)
        return found

    def without_defaults(self, step: Step) -> dict[str, Any]:
        """Return the arguments of a step without those that equal a default: another version may have another
        one, and a recorded call does not say which were given."""
        arguments: dict[str, Any] = step["args"]
        name = step["name"]
        if name not in self._defaults:
            self._defaults[name] = {}
            with suppress(Exception):
                parameters = inspect.signature(self.named(step)).parameters
                self._defaults[name] = {key: one.default for key, one in parameters.items()}
        defaults = self._defaults[name]
        left = [key for key in arguments if key in defaults and _is_same(arguments[key], defaults[key])]
        return {key: value for key, value in arguments.items() if key not in left}

    def run(self, steps: list[Step], seed: int = 0, seed_of_objects: int = 0) -> list[Outcome]:
        """Run steps, each from a given state of random numbers, and return what each gave."""
        outcomes: list[Outcome] = []
        with self.active():
            owner: Any = None
            for step in steps:
                seed_all(seed_of_objects if step.get("makes") else seed)
                outcome = Outcome()
                outcomes.append(outcome)
                arguments = step["args"]
                try:
                    with _limited(CALL_SECONDS):
                        if step.get("scribble"):
                            scribble(outcomes[step["scribble"] - 1].result)
                            continue
                        owner, outcome.result = self._perform(step, owner)
                        if inspect.isgenerator(outcome.result):
                            outcome.result = list(itertools.islice(outcome.result, LONGEST))
                    outcome.value = tree_of(outcome.result)
                except Endless:
                    outcome.raised = "no end"
                    break
                except Exception as error:
                    outcome.raised = type(error).__name__
                    outcome.is_meant = self._is_meant(error)
                except SystemExit:
                    outcome.raised = "SystemExit"
                outcome.arguments = tree_of(arguments)
                if outcome.raised and step.get("makes"):
                    break
            for outcome in outcomes:
                outcome.later = None if outcome.raised else tree_of(outcome.result)
        return outcomes

    def _perform(self, step: Step, owner: Any) -> tuple[Any, Any]:
        """Do a step. Return the object whose methods the next steps call, and the result."""
        arguments = step["args"]
        if not step["name"]:
            return arguments["object"], None
        if step["name"].endswith(".__init__"):
            return called(self.named(step), arguments), None
        if owner is not None and step.get("of_object"):
            for name, value in step.get("sets", {}).items():
                if name == "state_dict()":
                    owner.load_state_dict(value)
                elif name == "training" and hasattr(owner, "train"):
                    owner.train(value)
                else:
                    setattr(owner, name, value)
            method = step["name"].rpartition(".")[2]
            if isinstance(inspect.getattr_static(type(owner), method, None), property):
                return owner, getattr(owner, method)
            return owner, called(getattr(owner, method), arguments)
        return owner, called(self.named(step), arguments)

    def _is_meant(self, error: BaseException) -> bool:
        """Return whether a statement of the code under test has raised the exception itself."""
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is None:
            return False
        path = last.tb_frame.f_code.co_filename
        if not os.path.realpath(path).startswith(self.root + os.sep):
            return False
        if path not in self._meant:
            self._meant[path] = set()
            with suppress(OSError, SyntaxError), open(path, encoding="utf-8") as file:
                for node in ast.walk(ast.parse(file.read())):
                    if isinstance(node, ast.Raise | ast.Assert):
                        self._meant[path] |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return last.tb_lineno in self._meant[path]


def _is_same(value: Any, default: Any) -> bool:
    simple = (bool, int, float, str, type(None))
    return type(value) is type(default) and isinstance(value, simple) and bool(value == default)


def seed_all(number: int) -> None:
    """Seed all random numbers."""
    random.seed(number)
    np.random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def called(function: Any, arguments: dict[str, Any]) -> Any:
    """Call a function with arguments by name; those of `*args` follow all before them."""
    star = next((name for name in arguments if name.startswith("*") and name[:2] != "**"), None)
    if star is None:
        extra: dict[str, Any] = next(
            (value for name, value in arguments.items() if name.startswith("**")), {}
        )
        return function(**{k: v for k, v in arguments.items() if k[0] != "*"}, **extra)
    ahead = list(itertools.takewhile(lambda name: name != star, arguments))
    after = {k: v for k, v in arguments.items() if k not in ahead and k[0] != "*"}
    return function(*(arguments[name] for name in ahead), *arguments[star], **after)


def scribble(value: Any) -> None:
    """Change a result in place, as a caller may."""
    if hasattr(value, "shape") and len(value.shape):
        with suppress(Exception):
            value[...] = 7


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tree_of(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value that two worlds can compare: objects of the homework become dicts."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if depth > DEEPEST:
        return "…"
    if isinstance(value, np.ndarray):
        return value.copy() if value.dtype != object else tree_of(value.tolist(), depth)
    if isinstance(value, np.generic):
        return value
    if isinstance(value, dict):
        return {_key(key): tree_of(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [tree_of(item, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return {"a set": sorted(repr(tree_of(item, depth + 1)) for item in value)}
    array = to_numpy(value)
    if array is not None:
        return value.detach().clone()
    if isinstance(value, np.random.Generator | random.Random) or callable(value) or isinstance(value, type):
        return type(value).__name__
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict) and hasattr(value, "state_dict"):
        return {"class": type(value).__name__, **tree_of(dict(value.state_dict()), depth + 1)}
    if isinstance(held, dict) and held:
        inside = {key: item for key, item in held.items() if not key.startswith("_")}
        return {"class": type(value).__name__, **tree_of(inside, depth + 1)}
    return ADDRESS.sub("", repr(value))[:500]


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | tuple) else ADDRESS.sub("", repr(key))
