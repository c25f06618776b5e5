"""The executor carries out requests on a module and returns values that can be encoded."""

import collections
import textwrap

import numpy as np
import pytest

from grader.worker.child.executor import Executor, describe_error, load_module
from grader.worker.protocol.codec import Callback, Handle, Malformed
from grader.worker.protocol.messages import CallFunction, CallOptions, ReadAttribute


def executor(code, call_back=None):
    return Executor(load_module("kata", textwrap.dedent(code)), call_back)


def plain(value):
    return Executor(None).plain(value)


def test_a_function_is_called_with_its_arguments():
    ran = executor("def add(a, b): return a + b").run(CallFunction(name="add", args=[1], kwargs={"b": 2}))
    assert ran.value == 3
    assert ran.arguments is None


def test_an_attribute_is_read():
    assert executor("WIDTH = 3").run(ReadAttribute(name="WIDTH")).value == 3


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        executor("").run(CallFunction(name="missing"))


def test_objects_stay_and_can_be_asked():
    runs = executor(
        """
        class Counter:
            def __init__(self): self.n = 0
            def __call__(self, by): self.n += by; return self.n
            def __len__(self): return self.n
        """
    )
    handle = runs.run(CallFunction(name="Counter")).value
    assert handle == Handle(1, "Counter", True)
    assert runs.run(CallFunction(name="__call__", target=handle, args=[2])).value == 2
    assert runs.run(CallFunction(name="__len__", target=handle)).value == 2
    assert runs.run(ReadAttribute(name="n", target=handle)).value == 2


def test_handles_become_their_objects_wherever_they_stand():
    runs = executor(
        """
        def make(): return object()
        def same(a, nested): return a is nested["x"][0][0]
        """
    )
    handle = runs.run(CallFunction(name="make")).value
    nested = {"nested": {"x": [(handle,)]}}
    assert runs.run(CallFunction(name="same", args=[handle], kwargs=nested)).value is True


def test_a_handle_of_nothing_is_a_key_error():
    with pytest.raises(KeyError):
        executor("def f(x): return x").run(CallFunction(name="f", args=[Handle(99, "ghost")]))


def test_callbacks_become_functions():
    asked = []

    def call_back(number, args):
        asked.append((number, args))
        return 5

    ran = executor("def f(g): return g(1, (2,))", call_back).run(CallFunction(name="f", args=[Callback(3)]))
    assert ran.value == 5
    assert asked == [(3, [1, (2,)])]


def test_arguments_come_back_as_the_call_left_them():
    ran = executor("def f(x, y): x[0] = 9").run(
        CallFunction(name="f", args=[np.zeros(2)], kwargs={"y": 1}, options=CallOptions(echo=True))
    )
    assert ran.arguments[0][0].tolist() == [9, 0]
    assert ran.arguments[1] == {"y": 1}


class Loud(np.ndarray):
    __array_priority__ = 99

    def __eq__(self, other):
        return True

    @property
    def shape(self):
        return (1,)


@pytest.mark.parametrize(
    "value",
    [np.arange(3.0).view(Loud), np.ma.masked_array(np.arange(3.0)), np.arange(3.0).view(np.recarray)],
    ids=["a class of its own", "masked", "recarray"],
)
def test_subclasses_of_arrays_come_back_as_the_array_that_they_hold(value):
    got = plain(value)
    assert type(got) is np.ndarray
    assert got.shape == (3,)
    assert got.tolist() == [0, 1, 2]


def test_views_and_fortran_order_are_left_as_they_are():
    array = np.arange(6.0).reshape(2, 3).T
    assert plain(array).strides == array.strides


def test_subclasses_of_tuples_lists_and_dicts_come_back_plain():
    pair = collections.namedtuple("Pair", "a b")(1, [2])
    got = plain({"pair": pair, "counter": collections.Counter("a")})
    assert type(got["pair"]) is tuple
    assert type(got["counter"]) is dict
    assert got == {"pair": (1, [2]), "counter": {"a": 1}}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"),
        ({1, 2}, "set"),
        (b"x", "bytes"),
        (1j, "complex"),
        ((i for i in ()), "generator"),
        ({(1,): 2}, "dict"),
        (type("Text", (str,), {})("x"), "Text"),
        (np.array([None]), "ndarray of dtype object"),
        (np.array(["x"]), "ndarray of dtype str32"),
        (np.arange(2, dtype=">i4"), "ndarray of dtype int32"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_everything_else_stays_and_is_named(value, name):
    got = plain(value)
    assert isinstance(got, Handle)
    assert got.type_name == name


def test_functions_are_handles_that_can_be_called():
    assert plain(len).callable
    assert not plain(object()).callable


def test_a_list_that_holds_itself_is_malformed():
    endless = []
    endless.append(endless)
    with pytest.raises(Malformed, match="nested too deeply"):
        plain(endless)


def test_an_array_of_two_to_the_forty_elements_is_malformed():
    with pytest.raises(Malformed, match="too large"):
        plain(np.broadcast_to(np.float64(0), (2**20, 2**20)))


def raised(code, **names):
    module = load_module("kata", textwrap.dedent(code))
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it raises is described
        module.f(**names)
    return describe_error(caught.value, "kata.py")


def test_an_error_is_told_with_the_innermost_line_of_the_submission():
    told = raised(
        """
        import json
        def f():
            return g()
        def g():
            return json.loads("[")
        """
    )
    assert told["line"] == 6
    assert told["kinds"] == ["JSONDecodeError", "ValueError", "Exception"]


def test_an_error_that_leaves_before_the_submission_has_no_line():
    told = raised("def f(x): pass")
    assert told["line"] is None
    assert told["kinds"] == ["TypeError", "Exception"]


def test_an_error_whose_text_raises_has_none():
    told = raised(
        """
        class Mute(Exception):
            def __str__(self): raise ValueError
        def f(): raise Mute
        """
    )
    assert (told["kinds"][0], told["message"]) == ("Mute", "")


def test_a_long_message_is_cut():
    assert len(raised("def f(): raise ValueError('x' * 10_000)")["message"]) == 2000


def test_base_exceptions_keep_a_name():
    assert raised("def f(): raise KeyboardInterrupt")["kinds"] == ["KeyboardInterrupt"]
    assert raised("def f(): raise BaseException('x')")["kinds"] == ["BaseException"]


def test_a_syntax_error_is_told_with_its_own_line():
    with pytest.raises(SyntaxError) as caught:
        load_module("kata", "x = 1\ny = (")
    told = describe_error(caught.value, "kata.py")
    assert (told["line"], told["message"]) == (2, "'(' was never closed")


def test_a_module_does_not_inherit_future_imports():
    module = load_module("kata", "def f(x: int): pass")
    assert module.f.__annotations__["x"] is int
