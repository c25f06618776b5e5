"""Local and remote students behave in the same way, and a lost worker raises WorkerLost."""

import ctypes
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from grader.expect import SubmissionFailed
from grader.worker.batches import on_many_frames
from grader.worker.calls import Calls, CaseFailed, KeptCalls
from grader.worker.client import RemoteStudent, WorkerLost, _is_valid, unwrap
from grader.worker.process import Process
from grader.worker.protocol.channel import Channel
from grader.worker.protocol.codec import encode
from grader.worker.protocol.messages import CallFunction, CallOptions, CountNumbers, Outcome

CACHE = """
    import numpy as np
    class Cache:
        size = 3
        def __init__(self): self.items = []
        def append(self, item): self.items.append(item); return self
        def __len__(self): return len(self.items)
        def __call__(self, x): return x + len(self.items)
    def total(cache, nested=()):
        return sum(cache.items) + sum(sum(c.items) for c in nested)
    def make_pair(): return Cache(), {"one": Cache()}
"""


class TestBoth:
    def test_a_call_takes_arrays_and_gives_arrays(self, meet):
        student = meet("def f(x, *, by): return (x * by, [by])")
        value, rest = student.f(np.arange(3.0), by=2)
        assert value.tolist() == [0, 2, 4]
        assert rest == [2]

    def test_global_random_numbers_are_the_same_in_every_run(self, meet):
        student = meet(
            "import random\nimport numpy as np\ndef f(): return [random.random(), np.random.rand()]"
        )
        assert student.f() == [random.Random(0).random(), np.random.RandomState(0).rand()]
        assert student.f() != [random.Random(0).random(), np.random.RandomState(0).rand()]

    def test_an_object_stays_and_is_asked(self, meet):
        student = meet(CACHE)
        cache = student.Cache()
        assert cache.type_name == "Cache"
        assert len(cache) == 0
        cache.append(2)
        cache.append(item=3)
        assert len(cache) == 2
        assert cache(1) == 3
        assert (cache.size, cache.items) == (3, [2, 3])

    def test_operators_of_an_object_are_called_by_name_alone(self, meet):
        student = meet("class Price:\n    def __rmul__(self, other): return other * 3\n")
        price = student.Price()
        assert price.__rmul__(2) == 6
        with pytest.raises(TypeError):
            2 * price

    def test_calls_to_objects_of_the_grader_s_own_are_marked(self, meet):
        student = meet("def f(counter): return counter.up()")
        source = "class Counter:\n    n = 0\n    def up(self):\n        self.n += 1\n        return self.n\n"
        counter = student.build(source, "Counter")
        with KeptCalls(student) as made:
            assert [student.f(counter), counter.up()] == [1, 2]
        assert [(call.name, call.helping) for call in Calls(tuple(made)).judged] == [
            ("f", False),
            ("up", True),
        ]

    def test_objects_can_be_arguments_and_come_nested(self, meet):
        student = meet(CACHE)
        one, rest = student.make_pair()
        one.append(1)
        rest["one"].append(5)
        assert student.total(one, nested=[rest["one"]]) == 6

    def test_a_function_of_the_checks_can_be_called(self, meet):
        student = meet("def f(g, x): return g(x) + g(2 * x)")
        seen = []

        def g(x):
            seen.append(x)
            return x + 1

        assert student.f(g, 3) == 4 + 7
        assert seen == [3, 6]

    def test_an_error_is_told_with_kinds_message_and_line(self, meet):
        student = meet("def f(x):\n    raise ValueError('no ' + x)")
        with pytest.raises(CaseFailed) as caught, KeptCalls(student):
            student.f("way")
        assert isinstance(caught.value.why, SubmissionFailed)
        assert caught.value.why.kinds == ("ValueError", "Exception")
        assert str(caught.value) == "ValueError: no way (line 2)"
        assert caught.value.calls.judged[-1].error == ("ValueError", "Exception")

    def test_a_name_that_is_not_there_is_an_attribute_error(self, meet):
        with pytest.raises(SubmissionFailed) as caught:
            meet("").missing()
        assert caught.value.kinds[0] == "AttributeError"

    def test_the_arguments_of_the_checks_are_never_changed(self, meet):
        student = meet("def f(x, more): x[0] = 9; more['y'][0] = 9; more['l'].append(1)")
        x, more = np.zeros(2), {"y": np.zeros(1), "l": []}
        student.f(x, more)
        assert not x.any()
        assert more == {"y": np.zeros(1), "l": []}

    def test_strides_are_kept(self, meet):
        student = meet("def f(x): return list(x.strides)")
        x = np.arange(6.0).reshape(2, 3).T
        assert student.f(x) == list(x.strides)

    @pytest.mark.parametrize("length", ["-1", "'x'", "2.0"])
    def test_a_length_that_is_none_is_refused(self, meet, length):
        cache = meet(f"class C:\n    def __len__(self): return {length}").C()
        with pytest.raises(SubmissionFailed):
            len(cache)

    def test_changed_arguments_are_noticed(self, meet):
        student = meet("def f(x, y, z): x[0] = 9; z.append(1)")
        with student.watching_arguments() as watched:
            student.f(np.zeros(2), np.zeros(2), z=[])
        assert watched.changed == ["argument 1", "z"]
        assert [call.name for call, _, _ in watched.changed_arguments] == ["f", "f"]

    def test_arguments_left_alone_are_not(self, meet):
        student = meet(CACHE + "\n    def f(x, cache, g): return g(x)")
        cache = student.Cache()
        with student.watching_arguments() as watched:
            student.f(np.array([1.0, np.inf]), cache, lambda x: x)
        assert watched.changed == []

    def test_a_nan_left_alone_is_no_change(self, meet):
        student = meet("def f(x): return x")
        with student.watching_arguments() as watched:
            student.f(np.array([np.nan]))
        assert watched.changed == []

    def test_an_object_within_a_list_is_no_change(self, meet):
        student = meet(CACHE)
        cache = student.Cache()
        with student.watching_arguments() as watched:
            student.total(cache, [cache])
        assert watched.changed == []

    def test_options_end_with_their_block(self, meet):
        student = meet("def f(x): x[0] = 9")
        with student.watching_arguments() as watched:
            pass
        student.f(np.zeros(1))
        assert watched.changed == []

    def test_every_call_is_written_down(self, meet):
        student = meet(CACHE)
        with KeptCalls(student) as made:
            cache = student.Cache()
            cache.append(1)
            student.total(cache)
        assert [call.name for call in Calls(tuple(made)).judged] == ["Cache", "append", "total"]
        assert made[-1].value == 1

    def test_a_block_keeps_its_own_calls_and_an_error_has_them_all(self, meet):
        student = meet("def f(*xs):\n    return [1 / x for x in xs]")
        student.f(1)  # which is outside of a block, and kept nowhere
        with KeptCalls(student) as outer:
            student.f(2)
            with KeptCalls(student) as inner:
                student.f(4)
            with pytest.raises(CaseFailed) as caught, KeptCalls(student, inner) as failing:
                [student.f(5), student.f(0)]
            student.f(8)
        given = [[call.args for call in made] for made in (outer, inner, failing)]
        assert given == [[[2], [8]], [[4]], [[5], [0]]]
        calls = caught.value.calls
        assert (calls.requests, calls.earlier) == (tuple(failing), tuple(inner))
        assert calls.until(failing[0]).requests == (failing[0],)

    def test_an_object_with_an_eq_of_its_own_is_no_array(self, meet):
        student = meet(
            """
            class Yes:
                def __eq__(self, other): return True
                def __array__(self, *args): return 1 / 0
                __float__ = __sub__ = __rsub__ = __bool__ = __array__
            def f(): return Yes()
            """
        )
        got = student.f()
        assert got.type_name == "Yes"
        assert got != 1

    def test_a_subclass_arrives_as_the_plain_array(self, meet):
        student = meet(
            """
            import numpy as np
            class Sly(np.ndarray):
                def __eq__(self, other): return True
                def __array_function__(self, *args, **kwargs): return True
                def __array_ufunc__(self, *args, **kwargs): return True
            def f(x): return x.view(Sly)
            """
        )
        got = student.f(np.arange(2.0))
        assert type(got) is np.ndarray
        assert got.tolist() == [0, 1]


class TestTorchBoth:
    @pytest.fixture
    def meet_torch(self, meet):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        return lambda code: meet(code, library="torch")

    def test_flops_gradients_and_devices_are_measured_alike(self, meet_torch):
        import torch

        student = meet_torch("def f(a, b): return a @ b")
        a, b = torch.ones(2, 3), torch.ones(3, 4)
        with student.counting_flops() as work:
            student.f(a, b)
            student.f(a, b)
        assert work.flops == 2 * 48
        with student.recording_gradients() as tape:
            student.f(a, b)
        assert tape.gradients[0].keys() == {"args[0]", "args[1]"}
        with student.pretending_device() as life:
            assert student.f(a, b).tolist() == [[3.0] * 4] * 2
        assert life.devices == []

    def test_the_tensors_made_are_measured_over_all_calls(self, meet_torch):
        import torch

        student = meet_torch("def f(a): return (a @ a.mT).sum(-1)")
        with student.counting_largest_tensor() as made:
            student.f(torch.ones(2, 8, 3))
            student.f(torch.ones(2, 3))
        assert (made.largest.elements, made.largest.shape) == (128, (2, 8, 8))
        assert str(made.largest) == "a tensor of shape [2, 8, 8], made by aten.bmm"
        assert made.written == 128 + 16 + 4 + 2

    def test_a_call_that_makes_no_tensor_has_no_largest(self, meet_torch):
        import torch

        student = meet_torch("def f(a): return a.T")
        with student.counting_largest_tensor() as made:
            student.f(torch.ones(2, 3))
        assert (made.largest.elements, str(made.largest), made.written) == (0, "no tensor", 0)

    def test_the_memory_of_an_object_is_that_of_its_tensors(self, meet_torch):
        import torch

        student = meet_torch(
            """
            class Cache:
                def __init__(self): self.pieces = []
                def append(self, piece): self.pieces.append(piece[:1])
            """
        )
        one, two = student.Cache(), student.Cache()
        one.append(torch.ones(5))
        one.append(torch.ones(2))
        assert [student.memory_of(one), student.memory_of(two)] == [7, 0]

    def test_a_module_of_the_grader_s_own_can_be_an_argument_of_a_constructor(self, meet_torch):
        import torch

        student = meet_torch(
            """
            from torch import nn
            class Wrapped(nn.Module):
                def __init__(self, base, factor):
                    super().__init__()
                    self.base, self.factor = base, factor
                def forward(self, x): return self.factor * self.base(x)
            """
        )
        base = student.build("from torch.nn import Linear", "Linear", 2, 1)
        wrapped = student.Wrapped(base, 3.0)
        wrapped.load_state_dict({"base.weight": torch.ones(1, 2), "base.bias": torch.ones(1)})
        assert wrapped(torch.ones(1, 2)).tolist() == [[9]]
        assert base(torch.ones(1, 2)).tolist() == [[3]]

    def test_a_subclass_of_tensor_arrives_as_the_plain_tensor(self, meet_torch):
        import torch

        student = meet_torch(
            """
            import torch
            class Sly(torch.Tensor):
                @classmethod
                def __torch_function__(cls, *args, **kwargs): return True
            def f(x): return x.as_subclass(Sly)
            """
        )
        got = student.f(torch.ones(2))
        assert type(got) is torch.Tensor
        assert got.tolist() == [1, 1]

    def test_module_parameters_can_be_set_and_differentiated(self, meet_torch):
        import torch

        student = meet_torch("from torch import nn\nclass Layer(nn.Linear): pass")
        with student.recording_gradients() as tape:
            layer = student.Layer(2, 1, bias=False)
            layer.load_state_dict({"weight": torch.tensor([[2.0, 3.0]])})
            value = layer(torch.ones(1, 2))
        assert value.tolist() == [[5]]
        assert [sorted(gradients) for gradients in tape.gradients] == [["args[0]", "weight"]]

    def test_a_sparse_gradient_travels_as_a_dense_one(self, meet_torch):
        import torch

        student = meet_torch("from torch import nn\nclass Table(nn.Embedding): pass")
        with student.recording_gradients() as tape:
            student.Table(3, 1, sparse=True)(torch.tensor([1, 1]))
        assert (tape.gradients[0]["weight"] != 0).tolist() == [[False], [True], [False]]


@pytest.mark.parametrize(
    ("made", "valid"),
    [
        ([6, 6, [2, 3], "aten.add"], True),
        ([0, 0, [], ""], True),
        (None, False),
        ([6, 6, [2, 3]], False),
        ([6, "6", [2, 3], "aten.add"], False),
        ([6, 6, [2, True], "aten.add"], False),
        ([6, 6, [2, 3], "aten.add\n::error::"], False),
    ],
)
def test_a_count_of_tensors_that_has_another_form_is_no_outcome(made, valid):
    request = CallFunction(options=CallOptions(measure="tensors"))
    assert _is_valid(Outcome(tensors_made=made), request) == valid
    assert not _is_valid(Outcome(tensors_made=[6, 6, [2, 3], "aten.add"]), CallFunction())


@pytest.mark.parametrize(("held", "valid"), [(6, True), (6.0, False), ("6", False), (None, False)])
def test_a_memory_that_is_no_whole_number_is_no_outcome(held, valid):
    assert _is_valid(Outcome(value=held), CountNumbers()) == valid


@pytest.mark.parametrize(
    "code",
    ["import os\ndef f(): os._exit(0)", "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGKILL)"],
    ids=["exits", "killed"],
)
def test_a_worker_that_ends_is_lost(connect, code):
    with pytest.raises(WorkerLost, match=r"^The process that ran the submission ended") as lost:
        connect(code).f()
    assert not lost.value.timed_out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("while True: pass", "No answer within 0.2 seconds of computing, in line 2."),
        ("sum(range(10**15))", "No answer within 0.2 seconds of computing, in line 2."),
        ("__import__('time').sleep(99)", "No answer within 2 seconds, in line 2."),
    ],
)
def test_a_call_that_does_not_come_back_is_lost_with_its_line(connect, loop, told):
    with pytest.raises(WorkerLost) as lost:
        connect(f"def f():\n    {loop}", call_seconds=0.2).f()
    assert (str(lost.value), lost.value.timed_out) == (told, True)


def test_the_line_of_a_call_that_is_stopped_is_the_innermost_of_the_submission(connect):
    code = "import time\ndef wait():\n    time.sleep(99)\ndef f():\n    print('before')\n    wait()\n"
    student = connect(code, call_seconds=0.1)
    with pytest.raises(WorkerLost, match=r"in line 3\.$"):
        student.f()
    assert student.printed == "before\n"


def test_a_submission_that_hides_its_line_is_stopped_all_the_same(connect):
    code = "import signal\ndef f():\n    signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n    while True: pass"
    with pytest.raises(WorkerLost, match=r"^No answer within 0\.2 seconds of computing\.$"):
        connect(code, call_seconds=0.2).f()


@pytest.mark.slow
def test_time_in_which_no_processor_is_free_does_not_count(connect):
    student = connect("def f():\n    return sum(range(10**7))", call_seconds=2.0)
    with burning_processors():
        assert student.f() == sum(range(10**7))


@contextmanager
def burning_processors():
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def test_a_callback_that_never_ends_is_stopped_as_well(connect):
    student = connect("def f(g):\n    while True: g()", call_seconds=0.2)
    with pytest.raises(WorkerLost) as lost:
        student.f(lambda: None)
    assert lost.value.timed_out


@pytest.mark.parametrize(
    "error", ["SystemExit(0)", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "BaseException"]
)
def test_whatever_is_raised_is_an_error_and_no_end(connect, error):
    student = connect(f"def f(): raise {error}\ndef g(): return 1")
    with pytest.raises(SubmissionFailed) as caught:
        student.f()
    assert caught.value.kinds[0] == error.removesuffix("(0)")
    assert student.g() == 1


@pytest.mark.parametrize(
    "result",
    ["np.broadcast_to(0.0, (2**20, 2**20))", "nested", "['x' * 5_000_000]"],
    ids=["huge by strides", "nested", "long"],
)
def test_a_result_that_cannot_travel_is_an_error_and_no_end(connect, result):
    student = connect(
        f"import numpy as np\nnested = []\nnested.append(nested)\ndef f(): return {result}\ndef g(): return 1"
    )
    with pytest.raises(SubmissionFailed) as caught:
        student.f()
    assert caught.value.kinds == ("UnusableResult",)
    assert student.g() == 1


def test_an_integer_of_5000_digits_is_an_error_and_no_end(connect):
    with pytest.raises(SubmissionFailed):
        connect("def f(): return 10**5000").f()


def test_a_callback_must_be_one_that_was_given(connect):
    student = connect(
        """
        import sys
        def f():
            frame = sys._getframe()
            while not hasattr(frame.f_locals.get("self"), "_call_back"):
                frame = frame.f_back
            return frame.f_locals["self"]._call_back(7, [])
        """
    )
    with pytest.raises(WorkerLost, match="it calls a function that was not given"):
        student.f()


def test_an_error_of_a_callback_reaches_the_submission(connect):
    def g():
        raise ValueError("not now")

    student = connect("def f(g):\n    try: g()\n    except RuntimeError as error: return str(error)")
    assert student.f(g) == "ValueError: not now"


def test_a_runtime_error_of_a_callback_is_named_once(connect):
    def g():
        raise RuntimeError("not now")

    with pytest.raises(SubmissionFailed, match=r"^RuntimeError: not now"):
        connect("def f(g): g()").f(g)


def test_a_callback_from_another_thread_is_refused(connect):
    student = connect(
        """
        import threading
        def f(g):
            told = []
            def work():
                try: g()
                except RuntimeError as error: told.append(str(error))
            thread = threading.Thread(target=work); thread.start(); thread.join()
            return told
        """,
        source="plain",  # the sandbox allows no other thread
    )
    assert student.f(lambda: 1) == ["a supplied function may be called from the main thread only"]


def test_printed_text_is_kept_apart_from_answers(connect):
    student = connect(
        "import os\ndef f():\n    print('hello')\n    os.write(1, b'DOJO')\n    return 1\ndef g(): return 2"
    )
    assert student.f() == 1
    assert student.g() == 2
    student._channel.drain()
    assert student.printed == "hello\nDOJO"


class TestForgedFrames:
    """Replies from a raw pipe in place of a worker."""

    @pytest.fixture
    def forge(self):
        ends = []

        def answer(*frames):
            reader, far = os.pipe()
            nothing, writer = os.pipe()
            ends.extend([reader, far, nothing, writer])
            worker = Channel(nothing, far)
            for message, nonce in frames:
                worker.send(*encode(message), nonce)
            os.set_blocking(reader, False)
            return RemoteStudent(Process(Channel(reader, writer), 0), 0.02)

        yield answer
        for fd in ends:
            os.close(fd)

    def test_the_right_nonce_is_taken(self, forge):
        assert forge(({"ok": {"value": 4}}, 1)).f() == 4

    @pytest.mark.parametrize("nonce", [0, 2, 2**64 - 1])
    def test_another_nonce_is_not(self, forge, nonce):
        with pytest.raises(WorkerLost, match="it does not belong to this call"):
            forge(({"ok": {"value": 4}}, nonce)).f()

    def test_an_answer_given_twice_is_not_taken_for_the_next(self, forge):
        student = forge(*[({"ok": {"value": 4}}, 1)] * 2)
        assert student.f() == 4
        with pytest.raises(WorkerLost, match="it does not belong to this call"):
            student.f()

    @pytest.mark.parametrize(
        "message",
        [
            {},
            {"ok": 5},
            {"ok": {"verdict": "passed"}},
            {"ok": [1]},
            {"error": 5},
            {"error": {}},
            {"error": {"kinds": 3, "message": "", "line": 1}},
            {"callback": 0, "args": []},
            {"callback": -1, "args": []},
            {"callback": "f", "args": []},
        ],
        ids=repr,
    )
    def test_an_answer_that_is_none_loses_the_worker(self, forge, message):
        with pytest.raises(WorkerLost, match=r"^The answer could not be read"):
            forge((message, 1)).f()

    @pytest.mark.parametrize("message", [{}, {"in_force": 5}, {"ok": 1}], ids=repr)
    def test_a_greeting_that_is_none_loses_the_worker(self, forge, message):
        with pytest.raises(WorkerLost, match=r"^The answer could not be read"):
            forge((message, 0)).greeting(0.2)

    def test_silence_is_a_timeout(self, forge):
        with pytest.raises(WorkerLost) as lost:
            forge().f()
        assert lost.value.timed_out


def test_an_error_keeps_its_line_only_where_it_is_a_number():
    with pytest.raises(SubmissionFailed) as caught:
        unwrap({"error": {"kinds": [], "message": 3, "line": "7"}})
    assert (caught.value.kinds, caught.value.message, caught.value.line) == (("Exception",), "3", None)


def test_a_proxy_has_no_private_names(meet_locally):
    student = meet_locally(CACHE)
    for owner in (student, student.Cache()):
        with pytest.raises(AttributeError):
            owner.__wrapped__  # noqa: B018 - reading it is the test


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, True),
        ({"kept": [["global", "CACHE", 3]]}, True),
        ({"lines": [1, "2"]}, False),
        ({"changed": "3"}, False),
        ({"kept": None}, False),
        ({"kept": ["global"]}, False),
        ({"kept": [["global", "CACHE", "3"]]}, False),
        ({"kept": [["global", "C" * 500, 3]]}, False),
        ({"kept": [["global", "CACHE", 3]] * 21}, False),
    ],
)
def test_a_trace_that_is_none_loses_the_worker(changes, valid):
    trace = {"lines": [1, 2], "changed": 0, "kept": [], **changes}
    assert _is_valid(Outcome(trace=trace), CallFunction(options=CallOptions(trace=True))) == valid
    assert not _is_valid(Outcome(trace=trace), CallFunction())


@pytest.mark.parametrize(
    ("line", "valid"), [(0, True), (12, True), (-1, False), (1 << 40, False), ("12", False)]
)
def test_a_forged_detour_loses_the_worker(line, valid):
    assert _is_valid(Outcome(detour=line), CallFunction(options=CallOptions(measure="fake device"))) == valid
    assert _is_valid(Outcome(detour=line), CallFunction()) == (line == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="counts C frames by a function of glibc")
def test_the_stack_of_a_case_is_longer_than_pytorch_looks_at():
    addresses = (ctypes.c_void_p * 1000)()

    def count(_):
        return ctypes.CDLL(None).backtrace(addresses, 1000)

    def apart(run):
        with ThreadPoolExecutor(1) as thread:  # with a stack of its own
            return thread.submit(run).result()

    assert apart(lambda: on_many_frames(count, None)) - apart(lambda: count(None)) > 65
