"""Calls sent before they are due give what they would give one by one, or the check is begun anew."""

from dataclasses import replace

import numpy as np
import pytest

from grader.worker import ahead
from grader.worker.ahead import step
from grader.worker.codec import Callback, Handle, Malformed
from grader.worker.executor import Request
from grader.worker.remote import BegunAnew

CODE = """
import os, time
import numpy as np

calls = []

class Sum:
    def __init__(self): self.value = 0
    def add(self, x): self.value = self.value + x; return self.value

def negative(x): calls.append(x); return -x
def how_many(): return len(calls)
def end(): os._exit(1)
def sleep(): time.sleep(60)
def refuse(x): raise ValueError("too small")
"""


def array(*numbers):
    return np.array(numbers, dtype=float)


def script_of(*cases):
    """Requests as (name, arguments…), in cases numbered from 1; the k-th of case n has the number 100n+k."""
    return {
        number: [
            step(Request(name, None, list(args), number=100 * number + k))
            for k, (name, *args) in enumerate(case)
        ]
        for number, case in enumerate(cases, 1)
    }


@pytest.fixture
def student(connect):
    return connect(CODE)


def ask(student, script, *calls, whole=False):
    """Make these calls, (name, arguments…), in the one case of the script."""
    with student.foreseeing(script, whole) as begin:
        begin(1)
        return [getattr(student, name)(*args) for name, *args in calls]


def test_the_answers_are_those_of_one_call_at_a_time(student):
    cases = [[("negative", array(n, n + 1))] for n in range(100)]
    with student.foreseeing(script_of(*cases)) as begin:
        got = []
        for number, [(_, x)] in enumerate(cases, 1):
            begin(number)
            got.append(student.negative(x).tolist())
    assert got == [[-n, -n - 1] for n in range(100)]
    assert [call.args[0].tolist() for call in student.trace][:2] == [[0, 1], [1, 2]]


def test_a_hundred_calls_are_two_pieces(student, monkeypatch):
    pieces = []
    write = student._channel.send_all
    monkeypatch.setattr(student._channel, "send_all", lambda *args: pieces.append(write(*args)))
    monkeypatch.setattr(student._channel, "send", lambda *_: pytest.fail("sent by itself"))
    x = array(1)
    with student.foreseeing(script_of(*[[("negative", x)]] * 100)) as begin:
        for number in range(1, 101):
            begin(number)
            student.negative(x)
    assert len(pieces) == 2


def test_an_equal_array_made_anew_is_the_same_question(student):
    [got] = ask(student, script_of([("negative", array(1, 2))]), ("negative", array(1, 2)))
    assert got.tolist() == [-1, -2]


@pytest.mark.parametrize(
    "asked",
    [
        ("negative", array(1, 3)),
        ("negative", array(1, 2).astype(np.float32)),
        ("negative", array(1, -0.0)),
        ("negative", array(1, 0), 2),
        ("how_many",),
    ],
    ids=["values", "dtype", "sign of zero", "arguments", "name"],
)
def test_any_other_question_begins_the_check_anew(student, asked):
    with pytest.raises(BegunAnew):
        ask(student, script_of([("negative", array(1, 0))]), asked)


def test_a_question_after_the_last_begins_it_anew(student):
    with pytest.raises(BegunAnew):
        ask(student, script_of([("how_many",)]), ("how_many",), ("how_many",))


def test_what_a_case_leaves_is_dropped_and_the_next_gets_its_own(student):
    cases = [("negative", array(1)), ("negative", array(2))], [("negative", array(3))]
    with student.foreseeing(script_of(*cases)) as begin:
        begin(1)
        student.negative(array(1))
        begin(2)
        assert student.negative(array(3)).tolist() == [-3]
    assert student.how_many() == 3, "the worker is asked on, one by one"


def test_nothing_may_be_left_of_a_script_that_must_be_asked_as_a_whole(student):
    script = script_of([("negative", array(1)), ("negative", array(2))])
    with pytest.raises(BegunAnew):
        ask(student, script, ("negative", array(1)), whole=True)


def test_objects_made_ahead_are_called_and_handed_over(student):
    made = Handle((100 << 32) + 1, "")
    asked = [
        Request("Sum"),
        Request("add", made, read=True),
        Request("add", made, [2]),
        Request("add", made, read=True),
        Request("add", made, [3]),
    ]
    script = {1: [step(replace(request, number=100 + k)) for k, request in enumerate(asked)]}
    with student.foreseeing(script) as begin:
        begin(1)
        total = student.Sum()
        assert [total.add(2), total.add(3)] == [2, 5]
    assert total.add(4) == 9


def test_an_error_is_the_answer_to_its_own_call(student):
    with student.foreseeing(script_of([("refuse", 1), ("negative", array(1))])) as begin:
        begin(1)
        with pytest.raises(Exception, match="too small"):
            student.refuse(1)
        assert student.negative(array(1)).tolist() == [-1]


def test_arrays_larger_than_any_buffer_go_both_ways(student):
    """Each end writes while the other does: neither may wait for the other to read first."""
    large = [np.full(1 << 15, float(n)) for n in range(4)]
    calls = [("negative", x) for x in large]
    assert [got[0] for got in ask(student, script_of(calls), *calls)] == [-n for n in range(4)]


@pytest.mark.parametrize("name", ["end", "sleep"])
def test_a_worker_that_is_lost_begins_the_check_anew(student, name, monkeypatch):
    monkeypatch.setattr(ahead, "PATIENCE", 0.3)
    with pytest.raises(BegunAnew):
        ask(student, script_of([(name,)]), (name,))


def test_functions_cannot_be_sent_ahead():
    with pytest.raises(Malformed):
        step(Request("apply", None, [abs]))
    assert step(Request("apply", None, [Callback(0)])).size > 0
