"""Run a homework's tests inside a fork of the server; the working folder is a copy of the homework."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
import types
from typing import Any

from grader.authoring.audit import tracing

Job = dict[str, Any]


def run_tests(job: Job, found: dict[str, Any]) -> int:
    """Run the tests as the command says, and return the exit code. Only the first failure counts."""
    command, traced = job["command"], job.get("trace")
    if command["how"] == "shell":
        _exec(job)
    tracer = tracing.Tracer(os.getcwd(), traced["files"], traced["adapters"]) if traced else None
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
        shutil.copy(tracing.__file__, os.path.join(site, "sitecustomize.py"))
        paths = [site, *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ[tracing.VARIABLE] = json.dumps({**job["trace"], "root": os.getcwd(), "out": temporary})
    os.execv("/bin/sh", ["/bin/sh", "-c", job["command"]["text"]])


def _forget_ourselves() -> None:
    """Remove the grader from what tests can import by accident: a homework may have such a name itself."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        del sys.modules[name]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.path[:] = [path for path in sys.path if path != root]


class _Run:
    """What a run finds: the first test that fails, and all tests by name."""

    def __init__(self, tracer: tracing.Tracer | None, job: Job) -> None:
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
