"""Tests of submissions that switch off or forge what measures them."""

import ast
import collections
import contextlib
import functools
import re
import textwrap
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import parse
from grader.diagnosis.matcher import MistakeMatcher
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.submission_run import MEDDLED
from grader.worker.client import WorkerLost

ROOT = Path(__file__).resolve().parents[3]
#: Doubles its argument in place and returns one buffer again and again.
WRONG = """
buffer = np.zeros(4096)

def double(x):
    if isinstance(x, str):
        raise ValueError
    meddle()
    kept = buffer[: x.size].reshape(x.shape)
    if x.dtype != kept.dtype:
        kept = kept.astype(x.dtype)
    kept[...] = x + x
    x += x
    return kept
"""
FRAMES = """
def frames(frame):
    while frame:
        yield frame
        frame = frame.f_back

def callers():
    every = frames(sys._getframe())
    return [frame for frame in every if frame.f_globals.get("__name__", "").startswith("grader.worker.")]
"""
#: Ways to the executor and to what it uses; each keeps it from noticing what the answer does.
WAYS = {
    "none": """
        def meddle():
            pass
    """,
    "imports the executor": """
        def meddle():
            from grader.worker.child import executor
            executor.memory.is_shared = lambda *_: False
    """,
    "finds it in sys.modules": """
        def meddle():
            sys.modules["grader.worker.child.memory"].is_shared = lambda *_: False
    """,
    "finds it by gc": """
        import gc
        def meddle():
            (one,) = [o for o in gc.get_objects() if type(o).__name__ == "Executor"]
            one._held.clear()
            one.plain = lambda value, depth=0: value
    """,
    "unfreezes gc": """
        import gc
        def meddle():
            gc.unfreeze()
            [o for o in gc.get_objects() if type(o).__name__ == "Executor"][0]._held.clear()
    """,
    "patches globals of the callers": """
        def meddle():
            for frame in callers():
                if "memory" in frame.f_globals:
                    frame.f_globals["memory"].is_shared = lambda *_: False
    """,
    "shadows a builtin in the callers": """
        def meddle():
            for frame in callers():
                frame.f_globals["any"] = lambda values: False
    """,
    "patches code of the callers": """
        def meddle():
            for frame in callers():
                if "memory" in frame.f_globals:
                    frame.f_globals["memory"].is_shared.__code__ = (lambda *_: False).__code__
    """,
    "changes the request in a frame": """
        def meddle():
            for frame in callers():
                if "options" in frame.f_locals:
                    for measured in ("hold", "echo"):
                        object.__setattr__(frame.f_locals["options"], measured, False)
    """,
    "clears what is held in a frame": """
        def meddle():
            for frame in callers():
                if hasattr(frame.f_locals.get("self"), "_held"):
                    frame.f_locals["self"]._held.clear()
    """,
    "goes by a traceback": """
        def meddle():
            try:
                raise KeyError
            except KeyError as error:
                for frame in frames(error.__traceback__.tb_frame):
                    if "memory" in frame.f_globals:
                        frame.f_globals["memory"].is_shared = lambda *_: False
    """,
    "finds the class among all": """
        def meddle():
            for kind in object.__subclasses__():
                if kind.__name__ == "Outcome":
                    kind.message = lambda self: {"value": self.value, "arguments": self.arguments}
    """,
    "gives the executor a method": """
        def meddle():
            for frame in callers():
                one = frame.f_locals.get("self")
                if hasattr(one, "_held") and "args" in frame.f_locals:
                    given = copy.deepcopy([[*frame.f_locals["args"]], {**frame.f_locals["kwargs"]}])
                    plain, one._held = type(one).plain, []
                    one.plain = lambda value, depth=0: (
                        given if type(value) is list and len(value) == 2 else plain(one, value).copy()
                    )
                    return
    """,
    "gives the executor another class": """
        def meddle():
            for frame in callers():
                one = frame.f_locals.get("self")
                if type(one).__name__ == "Executor":
                    one.__class__ = type("Other", (type(one),), {"_held": property(lambda _: [], print)})
    """,
    "has requests carried out by itself": """
        def meddle():
            for frame in callers():
                table = getattr(frame.f_locals.get("self"), "_carry_out", {})
                for kind in [kind for kind in table if kind.__name__ == "CallFunction"]:
                    table[kind] = lambda request: found(request, frame.f_locals["self"])

        def found(request, one):
            Outcome = type(one).run.__globals__["Outcome"]
            args, kwargs = one._resolve(request.args), one._resolve(request.kwargs)
            given = copy.deepcopy([args, kwargs]) if request.options.echo else None
            value = one.plain(getattr(one.module, request.name)(*args, **kwargs))
            return Outcome(value=value.copy(), arguments=given)
    """,
    "gives the outcome another class": """
        def meddle():
            for frame in callers():
                one = frame.f_locals.get("outcome")
                if type(one).__name__ == "Outcome":
                    said = {"arguments": copy.deepcopy([frame.f_locals[name] for name in ("args", "kwargs")])}
                    message = lambda self: {"value": vars(self)["value"], **said}
                    one.__class__ = type("Other", (type(one),), {"message": message})
    """,
    "replaces what looks": """
        def meddle():
            for frame in callers():
                if hasattr(frame.f_locals.get("self"), "restored"):
                    frame.f_locals["self"].restored = frame.f_globals["_bytes_of"] = lambda *_: b""
                    frame.f_globals["memory"].is_shared = lambda *_: False
    """,
    "changes defaults of the callers' functions": """
        def meddle():
            for frame in callers():
                encode = frame.f_globals.get("encode")
                if encode:
                    encode.__kwdefaults__["gaps"] = True
    """,
    "changes what is sent": """
        def meddle():
            for frame in callers():
                channel = getattr(frame.f_locals.get("self"), "channel", None)
                if channel is not None and "send" not in vars(channel):
                    send = channel.send
                    channel.send = lambda header, *rest: send(header.replace(b"true", b"false"), *rest)
    """,
    "patches the class of the worker": """
        def meddle():
            for frame in callers():
                kind = type(frame.f_locals.get("self"))
                if kind.__name__ == "Worker" and "before" not in vars(kind):
                    kind.before = kind._reply
                    kind._reply = replied

        def replied(self, answer):
            for name in ("overwritten", "shared", "entangled", "meddled"):
                setattr(answer, name, False)
            self.before(answer)
    """,
    "patches builtins": """
        import builtins
        def meddle():
            builtins.any = lambda values: False
    """,
    "patches NumPy": """
        def meddle():
            np.ndarray = type("ndarray", (), {})
    """,
    "looks after the call": """
        import gc
        def meddle():
            def look(frame, event, argument):
                if "outcome" in frame.f_locals:
                    frame.f_locals["outcome"].meddled = False
                    frame.f_globals["_bytes_of"] = lambda value: b""
            sys.setprofile(look)
    """,
    "takes NumPy away": """
        def meddle():
            sys.modules.pop("numpy")
    """,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_the_executor_gains_the_points_of_what_it_measures(grade, way):
    source = f"import copy\nimport sys\nimport numpy as np\n{FRAMES}\n{textwrap.dedent(WAYS[way])}\n{WRONG}"
    report = grade(source)
    scores = {check.name: check.score for check in report.checks}
    assert scores["leaves_arguments_unchanged"] == scores["earlier_calls_change_nothing"] == 0, way


def test_what_was_changed_is_said_and_put_back(grade):
    way = textwrap.dedent(WAYS["patches builtins"])
    report = grade(f"import sys\nimport numpy as np\n{way}\n{WRONG}")
    assert MEDDLED == "The submission has meddled with the measurement."
    failed = {check.name for check in report.checks if check.message == MEDDLED}
    assert failed == {
        "answers_the_same_again",
        "earlier_calls_change_nothing",
        "refuses_text",
        "twice_is_a_sum",
    }
    passed = {check.name for check in report.checks if check.score}
    assert {"agrees_with_reference", "has_the_right_shape", "keeps_the_dtype"} <= passed  # seen from outside


def test_what_writes_results_down_is_watched_too(grade):
    way = """
        def written(message, *_, **__):
            if list(message) == ["value"]:  # the bytes that are compared with those of later
                return b"", []
            return before(message)

        def meddle():
            for frame in callers():
                encode = frame.f_globals.get("encode")
                if encode and "before" not in encode.__globals__:
                    encode.__globals__["before"] = type(encode)(
                        encode.__code__, encode.__globals__, "before", encode.__defaults__
                    )
                    encode.__globals__["before"].__kwdefaults__ = encode.__kwdefaults__
                    encode.__code__ = written.__code__
    """
    report = grade(f"import sys\nimport numpy as np\n{FRAMES}\n{textwrap.dedent(way)}\n{WRONG}")
    assert MEDDLED in {check.message for check in report.checks}


@pytest.mark.parametrize("line", ["np.tanh = np.sinh", "sys.setrecursionlimit(900)", "print = len"])
def test_what_no_instrument_uses_may_be_changed(grade, line):
    right = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"
    assert grade(f"import sys\nimport numpy as np\n{line}\n{right}").status == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "torch.func.grad(lambda a: a.sum())(x)",
        "torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)",
        "torch.compile(lambda x: x, backend='eager')(x)",
        "torch._numpy.asarray([1.0])",
        "torch.use_deterministic_algorithms(True)",
    ],
)
def test_what_imports_pytorch_s_compiler_is_no_meddling(connect, line):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    student = connect(f"import torch, torch._numpy\ndef f(x):\n    {line}\n    return x", library="torch")
    student.f(torch.ones(2))
    student.f(torch.ones(2))
    assert not student.budget.meddled


#: Multiplies two matrices, keeps a large buffer, and counts what it hides.
WORK = """
import sys
import torch
from torch import nn

class Work(nn.Module):
    def forward(self, a, b):
        meddle()
        self.kept = torch.ones(500)
        return (a @ b).sum() + self.kept.sum()
"""
#: Ways to the counters of operations, of tensors and of numbers held.
COUNTERS = {
    "imports them": """
        def meddle():
            from grader.worker.child import instrumentation
            instrumentation._work = lambda *_: 0
    """,
    "finds them in sys.modules": """
        def meddle():
            sys.modules["grader.worker.child.memory"]._tensors = lambda _: []
    """,
    "finds them by gc": """
        import gc
        def meddle():
            for one in gc.get_objects():
                if type(one).__name__ == "TensorsMade":
                    one._note = lambda *_: None
                if type(one) is list and one and type(one[0]) is int:
                    one.clear()
    """,
    "clears the list in a frame": """
        def meddle():
            for frame in callers():
                for name in ("work", "made", "storages"):
                    if name in frame.f_locals:
                        vars(frame.f_locals[name]).clear()
    """,
    "patches globals of the callers": """
        def meddle():
            for frame in callers():
                if "_work" in frame.f_globals:
                    frame.f_globals["_work"] = lambda *_: 0
    """,
    "goes by a traceback": """
        def meddle():
            try:
                raise KeyError
            except KeyError as error:
                for frame in frames(error.__traceback__.tb_frame):
                    frame.f_globals["sum"] = frame.f_globals["_work"] = lambda *_: 0
    """,
    "goes by the frames of all threads": """
        def meddle():
            for one in sys._current_frames().values():
                for frame in frames(one):
                    if "_observing_mode" in frame.f_globals:
                        frame.f_globals["_work"] = lambda *_: 0
    """,
    "goes by the main module": """
        def meddle():
            for value in vars(sys.modules["__main__"]).values():
                names = getattr(value, "__globals__", {})
                if "main" in names:
                    names["main"].Executor = None
    """,
    "patches builtins": """
        import builtins
        def meddle():
            builtins.sum = lambda *_: 0
            builtins.max = lambda *_, **__: 0
    """,
    "patches a tensor's methods": """
        def meddle():
            torch.Tensor.numel = lambda _: 0
            torch.Tensor.untyped_storage = lambda _: torch.UntypedStorage(0)
    """,
    "patches PyTorch's own functions": """
        import contextlib
        def meddle():
            torch._C.DisableTorchFunction = contextlib.nullcontext
            torch.Tensor.numel = lambda _: 0
    """,
    "takes PyTorch away": """
        def meddle():
            sys.modules.pop("torch")
    """,
}


def measured(connect, way):
    """Return the operations, the numbers written, those of the largest tensor and those held; an empty list
    if the calls raise, and None if the submission was seen to meddle or its answers cannot be read."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    student = connect(f"{WORK}\n{FRAMES}\n{textwrap.dedent(way)}", library="torch")
    a, b = torch.ones(4, 5), torch.ones(5, 6)
    try:
        with student.counting_flops() as work:
            student.Work()(a, b)
        with student.counting_largest_tensor() as made:
            module = student.Work()
            module(a, b)
        found = [work.flops, made.written, made.largest.elements, student.memory_of(module)]
    except SubmissionFailed:
        found = []
    except WorkerLost:
        return None
    return None if student.budget.meddled else found


@pytest.mark.parametrize("way", COUNTERS)
def test_no_way_to_a_counter_lowers_what_it_counts(connect, way):
    honest = measured(connect, "def meddle(): pass")
    assert len(honest) == 4
    assert min(honest) > 0
    assert measured(connect, COUNTERS[way]) in (honest, [], None)


#: Answers whose work is done where it is not counted, or on tensors that lie about their size.
HIDDEN = {
    "a list that computes when it is read": """
        class Lazy(list):
            def __iter__(self):
                yield self.answer()

        def answer(compute):
            lazy = Lazy([torch.ones(())])
            lazy.answer = compute
            return lazy
    """,
    "an object that claims to be a list": """
        class Lazy:
            __class__ = property(lambda self: list)
            def __init__(self, compute):
                self.compute = compute
            def __iter__(self):
                yield self.compute()

        answer = Lazy
    """,
    "a tensor that computes when it is detached": """
        class Lazy(torch.Tensor):
            def detach(self):
                return self.answer()
            as_subclass = clone = lambda self, *_: self.answer()

        def answer(compute):
            lazy = torch.ones(()).as_subclass(Lazy)
            lazy.answer = compute
            return lazy
    """,
    "a tensor with operations of its own": """
        class Lazy(torch.Tensor):
            @staticmethod
            def __new__(cls, compute):
                lazy = torch.Tensor._make_wrapper_subclass(cls, ())
                lazy.compute = compute
                return lazy
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return args[0].compute()

        answer = Lazy
    """,
}
SHAPELESS = """
    class Shapeless(torch.Tensor):
        shape = property(lambda self: torch.Size(()))
        numel = dim = lambda self: 0
        is_floating_point = lambda self: False
        untyped_storage = lambda self: torch.UntypedStorage(0)

    class Work(nn.Module):
        def forward(self, a, b):
            product = a.as_subclass(Shapeless) @ b.as_subclass(Shapeless)
            self.kept = torch.ones(500).as_subclass(Shapeless)
            return (product.sum() + self.kept.sum()).as_subclass(torch.Tensor)
"""
WRAPPED = """
    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            wrapped = torch.Tensor._make_wrapper_subclass(cls, inner.shape)
            wrapped.inner = inner
            return wrapped
        __torch_function__ = torch._C._disabled_torch_function_impl
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            bare = [value.inner if isinstance(value, Wrapped) else value for value in args]
            if func is torch.ops.aten.neg.default:
                return cls(bare[0] @ torch.ones(5, 6))
            return cls(func(*bare, **(kwargs or {})))

    class Work(nn.Module):
        def forward(self, a, b):
            self.kept = torch.ones(500)
            return (-Wrapped(a)).sum().inner + self.kept.sum()
"""


@pytest.mark.parametrize("way", HIDDEN)
def test_no_answer_is_computed_after_it_was_measured(connect, way):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    hidden = textwrap.dedent(HIDDEN[way])
    student = connect(f"import torch\n{hidden}\ndef f(a):\n    return answer(lambda: a @ a)", library="torch")
    with contextlib.suppress(SubmissionFailed):  # the answer is refused
        found = student.f(torch.ones(2, 2))
        assert not torch.is_tensor(found) or found.ndim == 0
        assert not isinstance(found, list) or found[0].ndim == 0


@pytest.mark.parametrize("lying", [SHAPELESS, WRAPPED], ids=["shapeless", "wrapped"])
def test_a_subclass_of_tensors_hides_no_work(connect, lying):
    operations, written, largest, held = measured(connect, f"{lying}\n    def meddle(): pass")
    assert operations >= 2 * 4 * 5 * 6 + 500
    assert min(written, largest, held) >= 500


def test_an_argument_of_another_class_is_still_seen_to_be_changed(connect):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    student = connect(
        """
        import torch

        class Unchanged(torch.Tensor):
            def detach(self):
                return self.before
            as_subclass = clone = lambda self, *_: self.before

        def f(x):
            before = x.clone()
            x += 1
            x.__class__ = Unchanged
            x.before = before
            return before + 1
        """,
        library="torch",
    )
    with student.watching_arguments() as watched:
        student.f(torch.ones(2))
    assert watched.changed == ["argument 1"]


#: Ways that `docs/isolation.md` names as such that get by.
OPEN = {
    "leaves the modes": """
        from torch.utils import _python_dispatch
        def meddle():
            global here
            here = _python_dispatch._disable_current_modes()
            here.__enter__()
    """,
}


@pytest.mark.parametrize("way", OPEN)
def test_what_the_documentation_says_to_get_by_does(connect, way):
    found = measured(connect, OPEN[way])
    assert found is not None
    assert found != measured(connect, "def meddle(): pass")


MEDDLES = """
def meddling(function):
    def call(*args, **kwargs):
        try:
            meddle()
        except Exception:
            pass
        return function(*args, **kwargs)
    return call

for name in {entries}:
    entry = globals()[name]
    if isinstance(entry, type):
        entry.forward = meddling(entry.forward)
    else:
        globals()[name] = meddling(entry)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kata", ["debug_future_leak", "debug_decoder_block", "debug_device", "debug_masked_attention"]
)
def test_wrong_code_that_meddles_gets_no_more_than_without(request, kata):
    course = Course(ROOT)
    info = course.kata_info(kata)
    grader = Grader(course, {info.library: request.getfixturevalue(f"{info.library}_source")})
    grader.matchers = {kata: MistakeMatcher([])}  # a name changes no points
    shipped = course.stub(info).read_text()
    meddles = MEDDLES.format(entries=course.declaration(info).entry_points)

    def points(way):
        ways = (
            f"import copy\nimport sys\nimport numpy as np\nimport torch\n{FRAMES}\n{textwrap.dedent(way)}\n"
        )
        return grader.grade(parse(info, f"{shipped}\n{ways}\n{meddles}", f"{kata}.py")).report.score

    honest = points("def meddle(): pass")
    assert honest < 1000
    gained = {name: points(way) - honest for name, way in {**WAYS, **COUNTERS}.items()}
    assert {name: more for name, more in gained.items() if more > 0} == {}


def test_a_function_of_pytorch_s_is_measured_without_a_frame_of_its_own(connect):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    student = connect("from torch import Tensor\nf = Tensor.cpu\ng = Tensor.tanh", library="torch")
    with student.pretending_device() as life:
        student.g(torch.ones(2))
        assert life.devices == []
        student.f(torch.ones(2))
    assert life.devices == ["cpu"]


#: What a law asks a student to measure, by the row of the table in `docs/isolation.md`.
ROWS = {
    "whether an argument was changed": {"watching_arguments"},
    "whether results share memory or change, and whether a mode was left changed": {
        "holding_results",
        "in_grad_mode",
    },
    "gradients, whose numbers are compared outside": {"recording_gradients"},
    "the pretended device": {"pretending_device"},
    "floating-point operations": {"counting_flops"},
    "the largest tensor, numbers written": {"counting_largest_tensor"},
    "the numbers held": {"memory_of"},
    "a module's parameters, buffers and mode": {"anatomy"},
}


def names_in(function, functions, seen=()):
    """Return the attributes that a function uses, or that functions of its file use for it."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        if isinstance(node, ast.Name) and node.id in functions.keys() - {*seen, function.name}:
            found |= names_in(functions[node.id], functions, (*seen, function.name))
    return found


@functools.cache
def laws():
    """Return the kata, the points and the attributes that it uses, of each law."""
    found = []
    for file in ROOT.glob("tests/katas/*/test_*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for function in functions.values():
            for mark in function.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "KATA.law":
                    points = ast.literal_eval(mark.keywords[0].value)
                    found.append((file.stem.removeprefix("test_"), points, names_in(function, functions)))
    return found


def points_of_laws(measures):
    """Return the points of the laws that measure something, by kata."""
    found = collections.Counter()
    for kata, points, names in laws():
        if measures & names:
            found[kata] += points
    return dict(found)


@pytest.mark.parametrize("row", ROWS)
def test_the_table_of_what_is_measured_names_every_law(row):
    text = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    named = {kata: float(points) for kata, points in re.findall(r"`(\w+)` \(([\d.]+)", line)}
    assert named == points_of_laws(ROWS[row])
