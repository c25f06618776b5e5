"""Record which lines of some files run, in which test, and with which arguments their functions are called.

This file stands alone: tests that start a Python of their own load it as `sitecustomize`.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import pickle
import sys
import threading
from typing import Any

MOST_CALLS = 24  # of one function
MOST_STEPS = 12  # of one object
LARGEST = 1 << 20  # bytes of the arguments of one call
VARIABLE = "KATA_AUDIT_TRACE"  # names what is traced, as JSON


class Tracer:
    """Traces files below a folder. `test` is the test that runs; its name is "" while files are loaded.

    `calls` are outermost calls: an object is made or a function called by code that is in none of the files.
    The calls of one object are one entry, in their order.
    """

    def __init__(self, root: str, files: list[str], adapters: list[str]) -> None:
        self.root, self.test = os.path.realpath(root), ""
        self._files = {os.path.join(self.root, name): name for name in [*files, *adapters]}
        self._adapters = set(adapters)
        self._known: dict[str, str] = {}
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.modules: dict[str, str] = {}
        self.calls: list[dict[str, Any]] = []
        self._counts: dict[str, int] = {}
        self._seen: set[Any] = set()
        self._objects: dict[int, tuple[Any, dict[str, Any], dict[str, Any]]] = {}
        self._inside: dict[int, int] = {}  # the depth of each thread
        self._reached: set[tuple[str, int]] = set()

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _name(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = self._files.get(os.path.realpath(path), "")
        return self._known[path]

    def _enter(self, frame: Any, event: str, _: Any) -> Any:
        name = self._name(frame.f_code.co_filename)
        if not name or event != "call":
            return None
        thread, code = threading.get_ident(), frame.f_code
        self.modules.setdefault(name, frame.f_globals.get("__name__", ""))
        if code.co_name == "<module>":
            return self._line_tracer(name, None)
        depth = self._inside.get(thread, 0)
        self._inside[thread] = depth + 1
        ended = None
        if depth == 0:
            self._reached = set()
            ended = self._called(name, frame)
        return self._line_tracer(name, ended, thread)

    def _line_tracer(self, name: str, ended: Any, thread: int = 0) -> Any:
        lines = self.lines.setdefault(self.test, set())

        def trace(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                lines.add((name, frame.f_lineno))
                self._reached.add((name, frame.f_lineno))
            elif event == "return" and thread:
                self._inside[thread] = max(self._inside[thread] - 1, 0)
                if ended is not None:
                    ended()
            return trace

        return trace

    def _called(self, name: str, frame: Any) -> Any:
        """Record an outermost call; return what is to be done when it ends."""
        code = frame.f_code
        qualified = getattr(code, "co_qualname", code.co_name)
        if "<" in qualified:
            return None
        held = frame.f_locals
        given = {shown: held[name] for name, shown in _parameters(code) if name in held}
        first = next(iter(given), "")
        is_method = "." in qualified and first == "self"
        step = {"name": qualified, "file": name, "args": b"", "sets": b"", "lines": self._reached}
        if is_method:
            return self._method(given.pop("self"), code.co_name, step, given)
        if first == "cls" and isinstance(given.get("cls"), type):
            del given["cls"]
        if self._counts.get(qualified, 0) >= MOST_CALLS:
            return None
        try:
            step["args"] = _pickled(given)
        except Exception:
            return None
        if (qualified, step["args"]) not in self._seen:
            self._seen.add((qualified, step["args"]))
            self._counts[qualified] = self._counts.get(qualified, 0) + 1
            self.calls.append({"test": self.test, "steps": [step]})
        return None

    def _method(self, owner: Any, name: str, step: dict[str, Any], given: dict[str, Any]) -> Any:
        entry: dict[str, Any] | None = None
        before: dict[str, Any] = {}
        if id(owner) in self._objects:
            _, entry, before = self._objects[id(owner)]
        count = self._counts.get(step["name"], 0)
        try:
            step["args"] = _pickled(given)
            if name == "__init__":
                entry = {"test": self.test, "steps": []}
            elif entry is None:
                entry = {"test": self.test, "steps": [{**step, "name": "", "args": _pickled(owner)}]}
            elif not entry.get("broken"):
                step["sets"] = _pickled(_changes(owner, before))
        except Exception:
            if entry is not None:
                entry["broken"] = True
            return None
        if not entry["steps"] and count >= MOST_CALLS:
            return None
        self._counts[step["name"]] = count + 1
        if not entry["steps"] or (len(entry["steps"]) == 1 and not entry["steps"][0]["name"]):
            self.calls.append(entry)
        if len(entry["steps"]) < MOST_STEPS and not entry.get("broken"):
            entry["steps"].append(step)
        kept: dict[str, Any] = {}
        self._objects[id(owner)] = (owner, entry, kept)

        def ended() -> None:
            kept.update(_state(owner))

        return ended

    def dump(self, folder: str) -> None:
        """Write `trace.json`, and the calls as `calls.pickle`."""
        self.stop()
        lines = {test: sorted(reached) for test, reached in self.lines.items()}
        if not self.modules:
            return  # another program than the tests
        with open(os.path.join(folder, "trace.json"), "w", encoding="utf-8") as file:
            json.dump({"lines": lines}, file)
        known = {"modules": self.modules, "path": list(sys.path), "root": self.root, "calls": self.calls}
        with open(os.path.join(folder, "calls.pickle"), "wb") as file:
            pickle.dump(known, file)


def _parameters(code: Any) -> list[tuple[str, str]]:
    """Return the parameters, and how they are shown: `*args` with its star, in the order of a call."""
    plain, only = code.co_argcount, code.co_kwonlyargcount
    names = list(code.co_varnames)
    extra = names[plain + only :]
    star = [(name, f"*{name}") for name in extra[: bool(code.co_flags & inspect.CO_VARARGS)]]
    rest = [
        (name, f"**{name}") for name in extra[len(star) :][: bool(code.co_flags & inspect.CO_VARKEYWORDS)]
    ]
    keywords = [(name, name) for name in names[plain : plain + only]]
    return [*((name, name) for name in names[:plain]), *star, *keywords, *rest]


def _pickled(value: Any) -> bytes:
    data = pickle.dumps(value)
    if len(data) > LARGEST:
        raise ValueError("too large")
    return data


def _state(owner: Any) -> dict[str, Any]:
    """Return what an object holds; of a module of PyTorch also copies of its parameters."""
    held = dict(getattr(owner, "__dict__", {}))
    if hasattr(owner, "state_dict"):
        held["state_dict()"] = {key: value.clone() for key, value in owner.state_dict().items()}
    return held


def _changes(owner: Any, before: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that were set from outside since the last call."""
    now = _state(owner)
    changed = {
        k: v for k, v in now.items() if k != "state_dict()" and (k not in before or before[k] is not v)
    }
    weights, old = now.get("state_dict()"), before.get("state_dict()", {})
    if weights and any(k not in old or not bool((old[k] == v).all()) for k, v in weights.items()):
        changed["state_dict()"] = weights
    return changed


def start_here() -> None:
    """Trace this process as the variable says, and write the result when it ends."""
    try:
        wanted = json.loads(os.environ[VARIABLE])
    except (KeyError, ValueError):
        return
    tracer = Tracer(wanted["root"], wanted["files"], wanted["adapters"])
    atexit.register(tracer.dump, wanted["out"])
    tracer.start()


if __name__ == "sitecustomize":
    start_here()
