"""Run a homework's tests inside a fork of the server; the working folder is a copy of the homework.

Record which lines of some files run in which test, and with which arguments their functions are called.

This file stands alone: tests that start a Python of their own load it as `sitecustomize`.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import operator
import os
import pickle
import random
import re
import shutil
import sys
import threading
import types
from typing import Any

MOST_CALLS = 24  # of one function
MOST_STEPS = 12  # of one object
LARGEST_ARGUMENTS = 1 << 20  # bytes of the arguments of one call
VARIABLE = "KATA_AUDIT_RUN"  # tells a Python that the tests start what it records, as JSON
#: The key of a dict that stands for an object of the homework's own classes: the step that makes it. `then`
#: are the calls of its methods that follow, and `sets` the attributes that tests have set.
MADE = "\0made"
OPTIMIZED, STAR, STARS = 1, 4, 8  # flags of code: a function's; with `*args`; with `**kwargs`


class TestTracer:
    """Traces files below a folder. `test` is the test that runs; its name is "" while files are loaded.

    `calls` are outermost calls: a function is called, or an object made, by code that is in none of the
    files. The calls of one object are one entry, in their order, behind the call that made it.
    """

    def __init__(self, root: str, files: list[str], adapters: list[str], writes: list[str]) -> None:
        self.root, self.test = os.path.realpath(root), ""
        self._files = {os.path.join(self.root, name): name for name in [*files, *adapters]}
        self._writes = set(writes)
        self._known: dict[str, str] = {}
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.modules: dict[str, str] = {}
        self.calls: list[dict[str, Any]] = []
        self._counts: dict[str, int] = {}
        self._seen: set[Any] = set()
        self._objects: dict[int, tuple[Any, dict[str, Any], dict[str, Any]]] = {}
        self._parts: dict[
            int, tuple[Any, dict[str, Any], int]
        ] = {}  # containers in tuples that were returned
        self._inside: dict[int, int] = {}  # the depth of each thread
        self._reached: set[tuple[str, int]] = set()
        self.tests: set[Any] | None = None  # their code, once pytest has found them
        self._plain: dict[int, Any] = {}  # by the id of an object, while arguments are pickled
        self.slots: set[tuple[str, str]] = set()  # constructors' parameters that are given own objects

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _name(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = self._files.get(os.path.realpath(path), "")
        return self._known[path]

    def _enter(self, frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        name = self._name(code.co_filename)
        if not name or event != "call" or self._is_test(code):
            return None
        self.modules.setdefault(name, frame.f_globals.get("__name__", ""))
        if not code.co_flags & OPTIMIZED:
            return None  # the body of a module or of a class
        thread, ended = threading.get_ident(), None
        depth = self._inside.get(thread, 0)
        self._inside[thread] = depth + 1
        if code.co_name == "__init__":
            self._note_slots(frame)
        if depth == 0:
            self._reached = set()
            ended = self._called(name, frame)
        lines = self.lines.setdefault(self.test, set())

        def trace(frame: Any, event: str, value: Any) -> Any:
            if event == "line":
                lines.add((name, frame.f_lineno))
                self._reached.add((name, frame.f_lineno))
            elif event == "return":
                self._inside[thread] = max(self._inside[thread] - 1, 0)
                if ended is not None:
                    ended(value)
            return trace

        return trace

    def _is_test(self, code: Any) -> bool:
        """Return whether code is a test that stands beside the solution. Without pytest, its name says so."""
        return code.co_name.startswith("test_") if self.tests is None else code in self.tests

    def _called(self, file: str, frame: Any) -> Any:
        """Record an outermost call; return what is to be done with its result."""
        qualified = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        if "<" in qualified or self._counts.get(qualified, 0) >= MOST_CALLS * (1 + ("." in qualified)):
            return None
        held = frame.f_locals
        given = {shown: held[name] for name, shown in _parameters(frame.f_code) if name in held}
        first = next(iter(given), "")
        step = {"name": qualified, "file": file, "sets": b"", "lines": self._reached, "links": {}}
        step["positional"] = frame.f_code.co_argcount - (first == "self")
        owner = given.pop("self") if first == "self" and "." in qualified else None
        if first == "cls" and isinstance(given.get("cls"), type):
            del given["cls"]
        try:
            makers = [self._parts[id(value)] for value in given.values() if id(value) in self._parts]
            step["links"] = {k: self._parts[id(v)][2] for k, v in given.items() if id(v) in self._parts}
            step["args"] = self.pickled({k: None if k in step["links"] else v for k, v in given.items()})
            assert len({id(maker) for _, maker, _ in makers}) <= (owner is None)
        except Exception:
            if owner is not None and id(owner) in self._objects:
                self._objects[id(owner)][1]["broken"] = True
            return None
        if owner is not None:
            return self._method(owner, step)
        if (qualified, step["args"]) in self._seen:
            return None
        self._seen.add((qualified, step["args"]))
        self._counts[qualified] = self._counts.get(qualified, 0) + 1
        entry: dict[str, Any] = {"test": self.test, "steps": [*(maker for _, maker, _ in makers[:1]), step]}
        self.calls.append(entry)
        return lambda result: self._made(result, step)

    def _made(self, result: Any, step: dict[str, Any]) -> None:
        """Follow an object that a function of the files has made, or a container that it returns beside other
        values, such as a cache: another version may keep other things there."""
        for n, part in enumerate(result if type(result) is tuple and not step["links"] else ()):
            if isinstance(part, tuple | list | dict):
                self._parts[id(part)] = (part, step, n)
        if self._is_own(type(result)) and id(result) not in self._objects:
            entry = {"test": self.test, "steps": [{**step, "makes": True}]}
            self._objects[id(result)] = (result, entry, self._state(result))

    def _method(self, owner: Any, step: dict[str, Any]) -> Any:
        if step["name"].endswith(".__init__"):
            self._objects[id(owner)] = (owner, {"test": self.test, "steps": []}, {})
            step["makes"] = True
        elif id(owner) not in self._objects:
            return None
        _, entry, before = self._objects[id(owner)]
        try:
            step["sets"] = b"" if "makes" in step else self.pickled(self._changes(owner, before))
        except Exception:
            entry["broken"] = True
        if entry.get("broken") or len(entry["steps"]) >= MOST_STEPS:
            entry["is_cut"] = True
            return None
        self._counts[step["name"]] = self._counts.get(step["name"], 0) + 1
        entry["steps"].append(step)
        if not any(entry is one for one in self.calls[-MOST_STEPS:]):
            self.calls.append(entry)
        return lambda _: before.update(self._state(owner))

    def _is_own(self, kind: type) -> bool:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return kind.__module__ == "__main__" or bool(file and self._name(file))

    def _note_slots(self, frame: Any) -> None:
        """Note which parameters of a constructor are given objects of the homework's own classes."""
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        for parameter, _ in _parameters(frame.f_code)[1:]:
            if self._is_own(type(frame.f_locals.get(parameter))):
                self.slots.add((name, parameter))

    def pickled(self, value: Any) -> bytes:
        """Return plain data as bytes; the steps that made them stand for objects of the solution's classes.
        Raises an exception for what else the homework defines, an object that holds itself, or too much."""
        stream = io.BytesIO()
        self._plain = {}
        _Pickler(stream, self.root).dump(self._as_plain(value))
        if stream.tell() > LARGEST_ARGUMENTS:
            raise ValueError("too large")
        return stream.getvalue()

    def _as_plain(self, value: Any) -> Any:
        """Return a value in which the steps that made them stand for objects of the solution's classes."""
        kind = type(value)
        if kind in (list, tuple):
            items = [self._as_plain(item) for item in value]
            return value if all(map(operator.is_, items, value)) else kind(items)
        if kind is dict:
            held = {key: self._as_plain(item) for key, item in value.items()}
            return value if all(held[key] is item for key, item in value.items()) else held
        if isinstance(value, type | types.FunctionType) or not self._is_own(kind):
            return value
        if id(value) not in self._plain:
            self._plain[id(value)] = None
            self._plain[id(value)] = self._as_made(value)
        if self._plain[id(value)] is None:
            raise ValueError("an object that holds itself")
        return self._plain[id(value)]

    def _as_made(self, value: Any) -> dict[str, Any]:
        """Return the steps that make an object like this one. Raises ValueError if they are not known."""
        kind, entry = type(value), {}
        if id(value) in self._objects:
            entry = self._objects[id(value)][1]
        sets = {k: self._as_plain(v) for k, v in getattr(value, "__dict__", {}).items() if k in self._writes}
        if entry.get("steps") and not (entry.get("broken") or entry.get("is_cut")):
            steps = [{**step, "args": pickle.loads(step["args"]), "sets": b""} for step in entry["steps"]]
            if any(step["links"] for step in steps):
                raise ValueError("a part of a result")
            plain = [{key: item for key, item in step.items() if key != "lines"} for step in steps]
            return {MADE: plain[0], "then": plain[1:], "sets": sets}
        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is None and kind.__init__ is not object.__init__:
            raise ValueError("it is not known how it was made")
        given = {
            name: self._as_plain(getattr(value, name)) for name, one in (fields or {}).items() if one.init
        }
        file = self._name(getattr(sys.modules[kind.__module__], "__file__", None) or "")
        step = {"name": f"{kind.__qualname__}.__init__", "file": file, "args": given, "links": {}}
        return {MADE: {**step, "positional": 0, "sets": b""}, "then": [], "sets": {} if fields else sets}

    def _state(self, owner: Any) -> dict[str, Any]:
        """Return the attributes that tests set; of a module of PyTorch its mode and its parameters."""
        held = {k: v for k, v in getattr(owner, "__dict__", {}).items() if k in self._writes}
        if hasattr(owner, "state_dict") and hasattr(owner, "training"):
            held["training"] = owner.training
            held["state_dict()"] = {key: value.clone() for key, value in owner.state_dict().items()}
        return held

    def _changes(self, owner: Any, before: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes that were set from outside since the last call."""
        now = self._state(owner)
        weights, old = now.pop("state_dict()", {}), before.get("state_dict()", {})
        changed = {key: value for key, value in now.items() if before.get(key, self) is not value}
        if any(k not in old or not bool((old[k] == v).all()) for k, v in weights.items()):
            changed["state_dict()"] = weights
        return changed

    def dump(self, folder: str) -> None:
        """Write `trace.json`, and the calls as `calls.pickle`."""
        sys.settrace(None)
        threading.settrace(None)
        if not self.modules:
            return  # another program than the tests
        lines = {test: sorted(reached) for test, reached in self.lines.items()}
        with open(os.path.join(folder, "trace.json"), "w", encoding="utf-8") as file:
            json.dump({"lines": lines}, file)
        known = {"modules": self.modules, "path": list(sys.path), "root": self.root, "calls": self.calls}
        known["slots"] = self.slots
        with open(os.path.join(folder, "calls.pickle"), "wb") as data:
            pickle.dump(known, data)


class _Pickler(pickle.Pickler):
    """Refuses classes and functions that are defined in a folder, and objects of them."""

    def __init__(self, stream: io.BytesIO, root: str) -> None:
        super().__init__(stream)
        self.root = root + os.sep

    def reducer_override(self, value: Any) -> Any:
        kind = value if isinstance(value, type | types.FunctionType) else type(value)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
        if kind.__module__ == "__main__" or (file and os.path.realpath(file).startswith(self.root)):
            raise pickle.PicklingError(f"{kind} is the homework's own")
        return NotImplemented


def _parameters(code: Any) -> list[tuple[str, str]]:
    """Return the parameters, and how they are shown: `*args` with its star, in the order of a call."""
    plain, only = code.co_argcount, code.co_kwonlyargcount
    names = list(code.co_varnames)
    extra = names[plain + only :]
    star = [(name, f"*{name}") for name in extra[: bool(code.co_flags & STAR)]]
    rest = [(name, f"**{name}") for name in extra[len(star) :][: bool(code.co_flags & STARS)]]
    keywords = [(name, name) for name in names[plain : plain + only]]
    return [*((name, name) for name in names[:plain]), *star, *keywords, *rest]


def start_here() -> None:
    """Trace this process as the variable says, and write the result when it ends. A file stands for a Python
    that has begun, and is removed where it ends by itself: `os._exit(0)` is no success."""
    try:
        wanted = json.loads(os.environ[VARIABLE])
        begun = os.path.join(wanted["out"], f"begun-{os.getpid()}")
        with open(begun, "x"):
            atexit.register(_remove, begun)
    except (KeyError, ValueError, OSError):
        return
    if traced := wanted["trace"]:
        tracer = TestTracer(wanted["root"], **traced)
        atexit.register(tracer.dump, wanted["out"])
        tracer.start()


def _remove(file: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(file)


if __name__ == "sitecustomize":
    start_here()


Job = dict[str, Any]


def run_tests(job: Job, found: dict[str, Any]) -> int:
    """Run the tests as the command says, and return the exit code. Only the first failure counts."""
    command, traced = job["command"], job.get("trace")
    if command["how"] == "shell":
        _exec(job)
    tracer = TestTracer(os.getcwd(), **traced) if traced else None
    _forget_ourselves()
    run = _Run(tracer, job)
    seed_all(job.get("seed", 0))
    if tracer:
        tracer.start()
    try:
        return _RUNS[command["how"]](run, command)
    finally:
        if tracer:
            tracer.dump(os.environ["TMPDIR"])
        found.update(failed=run.failed, tests=run.tests, ran=len(run.tests) - run.skipped, values=run.values)


def seed_all(number: int) -> None:
    """Seed all random numbers."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def _exec(job: Job) -> None:
    """Become the shell that runs the command; a Python that it starts says how it ends, and may be traced."""
    temporary = os.environ["TMPDIR"]
    site = os.path.join(temporary, "site")
    os.mkdir(site)
    shutil.copy(__file__, os.path.join(site, "sitecustomize.py"))
    os.environ["PYTHONPATH"] = os.pathsep.join([site, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ[VARIABLE] = json.dumps({"trace": job.get("trace"), "root": os.getcwd(), "out": temporary})
    os.execv("/bin/sh", ["/bin/sh", "-c", job["command"]["text"]])


def _forget_ourselves() -> None:
    """Remove the grader from what tests can import by accident: a homework may have such a name itself."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("grader", "dojo_audit")]:
        del sys.modules[name]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [path for path in sys.path if path != root]


class _Run:
    """What a run finds: the first test that fails, all tests by name, and the values of generated tests."""

    def __init__(self, tracer: TestTracer | None, job: Job) -> None:
        self.tracer, self.first = tracer, set(job.get("first", ()))
        self.backwards = bool(job.get("backwards"))
        self.files = [os.path.abspath(name) for name in job["files"]]
        self.failed = self.now = ""
        self.tests: list[str] = []
        self.skipped = 0
        self.values: list[str] = []
        self.due: list[str] | None = job.get("values")

    def begin(self, test: str) -> None:
        self.tests.append(test)
        self.now = test
        if self.tracer:
            self.tracer.test = test

    def end(self) -> None:
        if self.tracer:
            self.tracer.test = ""

    def fail(self, test: str) -> None:
        self.failed = self.failed or test

    def autotest(self, value: Any) -> None:
        """Assert that a value has the type that it has in the solution, and is equal up to two decimals."""
        text = re.sub(r"-?\d+\.\d*(?:e[-+]?\d+)?", lambda number: f"{float(number[0]):.2f}", repr(value))
        text = f"{type(value).__name__} {re.sub(r' at 0x[0-9a-f]+', '', text)}"
        self.values.append(text)
        number = len(self.values) - 1
        assert self.due is None or self.due[number : number + 1] == [text], (
            f"another value is expected: {text}"
        )

    # what pytest calls

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.backwards:
            items.reverse()
        if self.tracer:
            functions = (getattr(item, "function", None) for item in items)
            self.tracer.tests = {getattr(function, "__code__", None) for function in functions}
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

    alone = ["-n0"] if any(argument.startswith("-n") for argument in arguments) else []
    fixed = ["-x", "--tb=short", "--color=no", "-p", "no:cacheprovider", *alone]
    fixed += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # its plugins are imported before the fork
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
    """Run the cells of a notebook in order; otter's tests where a cell asks for them, or at the end."""
    cells, otter = command["cells"], dict(command["cells"]["otter"])
    os.chdir(command["at"] or ".")

    def check(name: str = "", *_: Any, **__: Any) -> None:
        if str(name) in otter:
            ask(otter.pop(str(name)))

    def ask(file: str) -> None:
        run.begin(file)
        try:
            _otter_test(file, scope)
        finally:
            run.end()

    scope = namespace(cells["label"], os.getcwd(), check, run.autotest)
    try:
        for file in cells["order"]:
            if file in cells["checks"]:
                run.begin(file)
                _run_check(file, scope, cells["checks"][file])
                run.end()
            elif file not in cells["otter"].values():
                run.now = file
                run_file(file, scope)
        for name in list(otter):
            check(name)
    except BaseException as error:
        import traceback

        shown = error.__traceback__
        while shown is not None and shown.tb_next and shown.tb_frame.f_code.co_filename == __file__:
            shown = shown.tb_next
        traceback.print_exception(error.with_traceback(shown))
        run.fail(run.now)
        return 1
    return 0


def namespace(label: str, folder: str, check: Any = None, autotest: Any = None) -> dict[str, Any]:
    """Return the globals of a notebook: those of `__main__`, as in Jupyter, with stand-ins for what otter,
    nbgrader and IPython provide."""
    module = types.ModuleType("__main__")
    module.__file__ = os.path.join(folder, os.path.basename(label))
    sys.modules["__main__"] = module
    sys.path.insert(0, folder)
    notebook = types.SimpleNamespace(check=check or _nothing, check_all=_nothing, export=_nothing)
    otter = types.ModuleType("otter")
    otter.Notebook = lambda *_, **__: notebook  # type: ignore[attr-defined]
    files = types.ModuleType("otter.test_files")
    files.test_case = _test_case  # type: ignore[attr-defined]
    sys.modules.update({"otter": otter, "otter.test_files": files})
    scope = vars(module)
    scope.update(display=_nothing, get_ipython=lambda: None, grader=notebook)
    scope["__autotest__"] = autotest or _nothing
    return scope


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: a homework calls this in place of functions that only show something."""


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


def _run_check(file: str, scope: dict[str, Any], due: str | None) -> None:
    """Run a cell of tests. Where an output is due, as in otter's source notebooks, compare that of its last
    expression, and call the tests that it defines."""
    if due is None:
        return run_file(file, scope)
    import ast

    with open(file, encoding="utf-8") as text:
        tree = ast.parse(text.read(), file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, os.path.abspath(file), "exec"), scope)
    value = eval(compile(ast.Expression(last.value), file, "eval"), scope) if last else None  # type: ignore[attr-defined]
    with _as_due(due):
        shown = "" if value is None else repr(value)
    assert not due or shown.split() == due.split(), f"{shown} is shown; expected {due}"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            _call_with(scope[node.name], scope)
    return None


def _as_due(text: str) -> Any:
    """Return a context where NumPy shows scalars as an output does: `True`, or since 2.0 `np.True_`."""
    numpy = sys.modules.get("numpy")
    if numpy is None or "np." in text:
        return contextlib.nullcontext()
    return numpy.printoptions(legacy="1.25")


def _call_with(function: Any, scope: dict[str, Any]) -> None:
    known = {**scope, "env": scope}
    function(*(known[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]))


def _otter_test(file: str, scope: dict[str, Any]) -> None:
    """Run a test file of otter: a dict of doctests, or marked functions. Raises what its tests raise."""
    import doctest

    own: dict[str, Any] = {}
    run_file(file, own)
    for name, function in own.items():
        if getattr(function, "is_otter_test", False):
            print(name)
            _call_with(function, scope)
    for suite in own.get("test", {}).get("suites", ()):
        globals_ = dict(scope)
        exec(doctest.script_from_examples(suite.get("setup") or ""), globals_)
        for number, case in enumerate(suite["cases"], 1):
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            text = doctest.DocTestParser().get_doctest(case["code"], globals_, f"{file} {number}", file, 0)
            with _as_due("".join(example.want for example in text.examples)):
                assert not runner.run(text, clear_globs=False).failed, f"case {number} of {file} fails"


_RUNS = {"module": _module, "script": _script, "cells": _cells}
