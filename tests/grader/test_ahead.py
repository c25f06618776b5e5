"""Answers that come before they are due are those of one call at a time, or the check is begun anew."""

from dataclasses import replace

import numpy as np
import pytest

from grader.expect import SubmissionFailed
from grader.worker import ahead, server
from grader.worker.ahead import Answers
from grader.worker.codec import Callback, Handle, Malformed, encode
from grader.worker.remote import BegunAnew
from grader.worker.requests import GROUP, Request
from grader.worker.script import Script, step

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
def spoil(x): x += 7; return x
"""


def array(*numbers):
    return np.array(numbers, dtype=float)


def script_of(*cases):
    """Requests as (name, arguments…), in cases numbered from 1, each a group of its own."""
    return Script(
        {
            number: [
                step(Request(name, None, list(args), number=GROUP * number + k))
                for k, (name, *args) in enumerate(case)
            ]
            for number, case in enumerate(cases, 1)
        }
    )


@pytest.fixture
def taught(connect, numpy_source):
    """`taught(script)`: a submission in a worker that knows the script by heart."""

    def start(script):
        numpy_source.teach([script])
        return connect(CODE)

    return start


def ask(student, script, *calls, whole=False):
    """Make these calls, (name, arguments…), in the first case of the script."""
    with student.foreseeing(script, whole) as answers, student.answering(answers[1]):
        return [getattr(student, name)(*args) for name, *args in calls]


def test_the_answers_are_those_of_one_call_at_a_time(taught):
    cases = [[("negative", array(n, n + 1))] for n in range(100)]
    student, got = taught(script_of(*cases)), []
    with student.foreseeing(script_of(*cases)) as answers:
        for number, [(_, x)] in enumerate(cases, 1):
            with student.answering(answers[number]):
                got.append(student.negative(x).tolist())
    assert got == [[-n, -n - 1] for n in range(100)]
    assert [call.args[0].tolist() for call in student.trace][:2] == [[0, 1], [1, 2]]


def test_a_hundred_calls_are_asked_for_once(taught, monkeypatch):
    x = array(1)
    script, sent = script_of(*[[("negative", x)]] * 100), []
    student = taught(script)
    send = student._channel.send
    monkeypatch.setattr(student._channel, "send", lambda *frame: (sent.append(frame), send(*frame)))
    with student.foreseeing(script) as answers:
        for number in range(1, 101):
            with student.answering(answers[number]):
                student.negative(x)
    assert len(sent) == 1


def test_cases_may_be_passed_over(taught):
    script = script_of(*[[("negative", array(n))] for n in range(5)])
    student = taught(script)
    with student.foreseeing(script) as answers, student.answering(answers[4]):
        assert student.negative(array(3)).tolist() == [-3]


def test_cases_may_be_left_out(taught):
    script = script_of([("negative", array(1))], [("negative", array(2))])
    student = taught(script)
    with student.foreseeing(script, left_out={1}) as answers:
        assert [len(answers[number].frames) for number in (1, 2)] == [0, 1]
    assert student.how_many() == 1


def test_an_equal_array_made_anew_is_the_same_question(taught):
    script = script_of([("negative", array(1, 2))])
    [got] = ask(taught(script), script, ("negative", array(1, 2)))
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
def test_any_other_question_begins_the_check_anew(taught, asked):
    script = script_of([("negative", array(1, 0))])
    with pytest.raises(BegunAnew):
        ask(taught(script), script, asked)


def test_a_question_after_the_last_begins_it_anew(taught):
    script = script_of([("how_many",)])
    with pytest.raises(BegunAnew):
        ask(taught(script), script, ("how_many",), ("how_many",))


def test_what_a_case_leaves_is_dropped_and_the_next_gets_its_own(taught):
    script = script_of([("negative", array(1)), ("negative", array(2))], [("negative", array(3))])
    student = taught(script)
    with student.foreseeing(script) as answers:
        with student.answering(answers[1]):
            student.negative(array(1))
        with student.answering(answers[2]):
            assert student.negative(array(3)).tolist() == [-3]
    assert student.how_many() == 3, "the worker is asked on, one by one"


def test_nothing_may_be_left_of_a_script_that_must_be_asked_as_a_whole(taught):
    script = script_of([("negative", array(1)), ("negative", array(2))])
    with pytest.raises(BegunAnew):
        ask(taught(script), script, ("negative", array(1)), whole=True)


def test_answers_that_are_known_need_not_be_read(taught):
    script = script_of([("negative", array(1)), ("negative", array(2))])
    student = taught(script)
    with student.foreseeing(script, whole=True) as answers:
        answers[1].accept()


def test_answers_may_be_read_later(taught):
    script = script_of([("negative", array(1))], [("negative", array(2))])
    student = taught(script)
    with student.foreseeing(script) as answers:
        pass
    with student.answering(answers[1]):
        assert student.negative(array(1)).tolist() == [-1]
    assert student.negative(array(5)).tolist() == [-5]


def test_equal_answers_have_equal_digests(taught):
    asked = ([("negative", array(n)), ("negative", array(2))] for n in (1, 1, 2, -0.0, 0.0))
    script = script_of(*asked)
    student = taught(script)
    with student.foreseeing(script) as answers:
        one, same, other, zero, negative_zero = (answers[number].digest for number in range(1, 6))
    assert one == same
    assert len({one, other, zero, negative_zero}) == 4


def test_objects_made_ahead_are_called_and_handed_over(taught):
    made = Handle((GROUP << 32) + 1, "")
    asked = [
        Request("Sum"),
        Request("add", made, read=True),
        Request("add", made, [2]),
        Request("add", made, read=True),
        Request("add", made, [3]),
    ]
    script = Script({1: [step(replace(request, number=GROUP + k)) for k, request in enumerate(asked)]})
    student = taught(script)
    with student.foreseeing(script) as answers, student.answering(answers[1]):
        total = student.Sum()
        assert [total.add(2), total.add(3)] == [2, 5]
    assert total.add(4) == 9


def handing_on(*names):
    """A script: what the first function answers is the argument of all others."""
    first = Request(names[0], None, [array(1, 2)], number=GROUP, hands_on=True)
    others = [Request(name, None, [first.answer], number=GROUP + k) for k, name in enumerate(names[1:], 1)]
    return Script({1: [step(request) for request in (first, *others)]})


def test_an_answer_is_handed_on(taught):
    script = handing_on("negative", "negative")
    student = taught(script)
    with student.foreseeing(script, whole=True) as answers, student.answering(answers[1]):
        assert student.negative(student.negative(array(1, 2))).tolist() == [1, 2]


def test_an_answer_that_is_spoilt_is_handed_on_as_it_was(taught):
    script = handing_on("negative", "spoil", "negative")
    student = taught(script)
    with student.foreseeing(script, whole=True) as answers, student.answering(answers[1]):
        x = student.negative(array(1, 2))
        assert [student.spoil(x).tolist(), student.negative(x).tolist()] == [[6, 5], [1, 2]]


def test_an_answer_that_the_check_has_changed_begins_it_anew(taught):
    script = handing_on("negative", "negative")
    student = taught(script)
    with student.foreseeing(script) as answers, student.answering(answers[1]):
        x = student.negative(array(1, 2))
        x[0] = 7
        with pytest.raises(BegunAnew):
            student.negative(x)


def test_anything_but_the_answer_itself_begins_the_check_anew(taught):
    script = handing_on("negative", "negative")
    student = taught(script)
    with student.foreseeing(script) as answers, student.answering(answers[1]):
        student.negative(array(1, 2))
        with pytest.raises(BegunAnew):
            student.negative(array(1, 2))


@pytest.mark.parametrize("forged", [{"ok": 5}, {"ok": {"other": 1}}, {"neither": 1}])
def test_an_answer_that_is_forged_is_handed_on_by_nobody(forged):
    [steps] = handing_on("negative", "negative").cases.values()
    header, buffers = encode(forged)
    answers = Answers(steps, [(header, bytearray(b"".join(buffers)))])
    assert answers.take(Request("negative", None, [array(1, 2)])) == forged


def test_an_error_is_the_answer_to_its_own_call(taught):
    script = script_of([("refuse", 1)], [("negative", array(1))])
    student = taught(script)
    with student.foreseeing(script) as answers:
        with student.answering(answers[1]), pytest.raises(SubmissionFailed, match="too small"):
            student.refuse(1)
        with student.answering(answers[2]):
            assert student.negative(array(1)).tolist() == [-1]


def test_what_follows_on_an_error_is_passed_over(taught):
    """Most checks stop there; nothing is done in vain for them."""
    script = script_of([("refuse", 1), ("negative", array(1))], [("how_many",)])
    student = taught(script)
    with student.foreseeing(script, whole=True) as answers:
        with student.answering(answers[1]), pytest.raises(SubmissionFailed, match="too small"):
            student.refuse(1)
        with student.answering(answers[2]):
            assert student.how_many() == 0


def test_a_check_that_goes_on_after_an_error_is_begun_anew(taught):
    script = script_of([("refuse", 1), ("negative", array(1))])
    student = taught(script)
    with student.foreseeing(script) as answers, student.answering(answers[1]):
        with pytest.raises(SubmissionFailed):
            student.refuse(1)
        with pytest.raises(BegunAnew):
            student.negative(array(1))


def test_arrays_larger_than_any_buffer_come_back(taught):
    large = [np.full(1 << 15, float(n)) for n in range(4)]
    calls = [("negative", x) for x in large]
    script = script_of(calls)
    assert [got[0] for got in ask(taught(script), script, *calls)] == [-n for n in range(4)]


def test_a_submission_that_writes_into_a_question_spoils_it_for_itself_alone(taught):
    script = script_of([("spoil", array(1))])
    first, second = taught(script), taught(script)
    for student in (first, second):
        with student.foreseeing(script) as answers, student.answering(answers[1]):
            assert student.spoil(array(1)).tolist() == [8]


@pytest.mark.parametrize("name", ["end", "sleep"])
def test_a_worker_that_is_lost_begins_the_check_anew(taught, name, monkeypatch):
    monkeypatch.setattr(ahead, "PATIENCE", 0.3)
    script = script_of([(name,)])
    with pytest.raises(BegunAnew):
        ask(taught(script), script, (name,))


def test_a_worker_that_never_learnt_it_begins_the_check_anew(connect):
    script = script_of([("how_many",), ("how_many",)])
    with pytest.raises(BegunAnew):
        ask(connect(CODE), script, ("how_many",))


def test_a_server_holds_no_more_than_it_may(numpy_source, monkeypatch):
    monkeypatch.setattr(server, "MOST_LESSONS", 0)
    script = script_of([("negative", array(1, 2, 3, 4, 5))])
    numpy_source.teach([script])
    process = numpy_source.start("cpu")
    assert script.digest not in process.lessons
    process.kill()


def test_functions_cannot_be_known_beforehand():
    with pytest.raises(Malformed):
        step(Request("apply", None, [abs]))
    assert step(Request("apply", None, [Callback(0)])).size > 0
