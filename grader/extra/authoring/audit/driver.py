"""Run a homework's tests inside a fork of the server; the working folder is a copy of the homework.

Record which lines of some files run, in which test, and with which arguments their functions are called.

This file stands alone: tests that start a Python of their own load it as `sitecustomize`.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import json
import os
import pickle
import random
import shutil
import sys
import threading
import types
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


Job = dict[str, Any]


def run_tests(job: Job, found: dict[str, Any]) -> int:
    """Run the tests as the command says, and return the exit code. Only the first failure counts."""
    command, traced = job["command"], job.get("trace")
    if command["how"] == "shell":
        _exec(job)
    tracer = Tracer(os.getcwd(), traced["files"], traced["adapters"]) if traced else None
    _forget_ourselves()
    run = _Run(tracer, job)
    random.seed(0)
    if tracer:
        tracer.start()
    try:
        return _RUNS[command["how"]](run, command)
    finally:
        if tracer:
            tracer.dump(os.environ["TMPDIR"])
        found.update(failed=run.failed, tests=run.tests, ran=len(run.tests) - run.skipped)


def _exec(job: Job) -> None:
    """Become the shell that runs the command; a Python that it starts traces itself if that is wanted."""
    temporary = os.environ["TMPDIR"]
    if job.get("trace"):
        site = os.path.join(temporary, "site")
        os.mkdir(site)
        shutil.copy(__file__, os.path.join(site, "sitecustomize.py"))
        paths = [site, *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ[VARIABLE] = json.dumps({**job["trace"], "root": os.getcwd(), "out": temporary})
    os.execv("/bin/sh", ["/bin/sh", "-c", job["command"]["text"]])


def _forget_ourselves() -> None:
    """Remove the grader from what tests can import by accident: a homework may have such a name itself."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        del sys.modules[name]
    root = os.path.abspath(__file__).partition(f"{os.sep}grader{os.sep}extra{os.sep}")[0]
    sys.path[:] = [path for path in sys.path if path != root]


class _Run:
    """What a run finds: the first test that fails, and all tests by name."""

    def __init__(self, tracer: Tracer | None, job: Job) -> None:
        self.tracer, self.first = tracer, set(job.get("first", ()))
        self.backwards = bool(job.get("backwards"))
        self.files = [os.path.abspath(name) for name in job["files"]]
        self.failed = ""
        self.tests: list[str] = []
        self.skipped = 0

    def begin(self, test: str) -> None:
        self.tests.append(test)
        if self.tracer:
            self.tracer.test = test

    def fail(self, test: str) -> None:
        self.failed = self.failed or test or "?"

    # what pytest calls

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.backwards:
            items.reverse()
        items.sort(key=lambda item: item.nodeid not in self.first)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.begin(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.fail(report.nodeid)
        self.skipped += report.skipped

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.fail(report.nodeid)


def _module(run: _Run, command: dict[str, Any]) -> int:
    if command["module"] == "pytest":
        return _pytest(run, list(command["arguments"]))
    sys.path.insert(0, os.getcwd())
    if command["module"] == "unittest":
        return _unittest(run, list(command["arguments"]))
    import runpy

    sys.argv = [command["module"], *command["arguments"]]
    return _exit_code(run, lambda: runpy.run_module(command["module"], run_name="__main__", alter_sys=True))


def _pytest(run: _Run, arguments: list[str]) -> int:
    import pytest

    alone = ["-n0"] * any(argument.startswith("-n") for argument in arguments)
    fixed = ["-x", "--tb=short", "--color=no", "-p", "no:cacheprovider", *alone]
    sys.argv = ["pytest", *arguments]
    return int(pytest.main([*arguments, *fixed], plugins=[run]))


def _unittest(run: _Run, arguments: list[str]) -> int:
    import unittest

    plain = unittest.TestCase.run

    def watched(case: unittest.TestCase, result: Any = None) -> Any:
        run.begin(case.id())
        return plain(case, result)

    unittest.TestCase.run = watched  # type: ignore[method-assign,assignment]
    sys.argv = ["python -m unittest", *arguments]
    with contextlib.suppress(SystemExit):
        result = unittest.main(module=None, argv=sys.argv, exit=False, failfast=True).result
        wrong = [*result.failures, *result.errors]
        if wrong:
            run.fail(wrong[0][0].id())
        run.skipped = len(result.skipped)
        return 0 if result.wasSuccessful() and result.testsRun else 1
    return 1


def _script(run: _Run, command: dict[str, Any]) -> int:
    import runpy

    file = command["module"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    sys.argv = [file, *command["arguments"]]
    return _exit_code(run, lambda: runpy.run_path(file, run_name="__main__"))


def _exit_code(run: _Run, work: Any) -> int:
    """Return the exit code of a script: 1 if a file that is under test ends it, with whatever code."""
    try:
        work()
    except SystemExit as end:
        last = end.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is not None and os.path.abspath(last.tb_frame.f_code.co_filename) in run.files:
            return 1
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0


def _cells(run: _Run, command: dict[str, Any]) -> int:
    """Run the cells in order, then otter's tests, until the first one fails."""
    import traceback

    cells = command["cells"]
    folder = os.path.join(os.getcwd(), command["at"])
    scope = namespace(cells["label"], folder)
    os.chdir(folder)
    for file in cells["order"]:
        if file in cells["checks"]:
            run.begin(file)
        try:
            run_file(file, scope)
        except BaseException:
            traceback.print_exc()
            run.fail(file)
            return 1
    for file in cells["otter"]:
        run.begin(file)
        if not otter_test(file, scope):
            run.fail(file)
            return 1
    return 0


def namespace(label: str, folder: str) -> dict[str, Any]:
    """Return the globals of a notebook, with stand-ins for what otter and IPython provide."""
    module = types.ModuleType(os.path.basename(label).partition(".")[0] or "notebook")
    module.__file__ = os.path.join(folder, os.path.basename(label))
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    notebook = types.SimpleNamespace(**dict.fromkeys(("check", "check_all", "export"), _nothing))
    otter = types.ModuleType("otter")
    otter.Notebook = lambda *_, **__: notebook  # type: ignore[attr-defined]
    files = types.ModuleType("otter.test_files")
    files.test_case = _test_case  # type: ignore[attr-defined]
    sys.modules.update({"otter": otter, "otter.test_files": files})
    scope = vars(module)
    scope.update(display=_nothing, get_ipython=lambda: None, grader=notebook)
    return scope


def _nothing(*_: Any, **__: Any) -> None:
    """Stand in for what only shows something."""


def _test_case(*_: Any, **__: Any) -> Any:
    def mark(function: Any) -> Any:
        function.is_otter_test = True
        return function

    return mark


def run_file(file: str, scope: dict[str, Any]) -> None:
    """Run a cell, which is a file of the copy."""
    path = os.path.abspath(file)
    with open(path, encoding="utf-8") as text:
        exec(compile(text.read(), path, "exec"), scope)


def otter_test(file: str, scope: dict[str, Any]) -> bool:
    """Run a test file of otter, a dict of doctests or marked functions; return whether it passes."""
    import doctest
    import traceback

    own: dict[str, Any] = {}
    try:
        run_file(file, own)
        for name, function in own.items():
            if getattr(function, "is_otter_test", False):
                known = {**scope, "env": scope}
                wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
                print(name)
                function(*(known[parameter] for parameter in wanted))
        for suite in own.get("test", {}).get("suites", ()):
            globals_ = dict(scope)
            exec(doctest.script_from_examples(suite.get("setup") or ""), globals_)
            for number, case in enumerate(suite["cases"], 1):
                runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
                text = doctest.DocTestParser().get_doctest(
                    case["code"], globals_, f"{file} {number}", file, 0
                )
                if runner.run(text, clear_globs=False).failed:
                    return False
    except BaseException:
        traceback.print_exc()
        return False
    return True


_RUNS = {"module": _module, "script": _script, "cells": _cells}
