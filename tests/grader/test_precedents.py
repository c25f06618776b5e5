"""What was found of the same answers before is found again, and nothing else is."""

import dataclasses

import pytest

from grader import grading, judging
from grader.grading import Grader
from grader.precedents import ENTRY, Grounds, Precedents
from grader.submission import Submission
from grader.worker.ahead import Answers
from grader.worker.remote import RemoteStudent

GUARD = 'if isinstance(x, str): raise ValueError("text")'
RIGHT = f"def double(x):\n    {GUARD}\n    return 2 * x"
WRONG = f"def double(x):\n    {GUARD}\n    return 3 * x"
RIGHT_AGAIN = f"def double(x):\n    {GUARD}\n    numbers = x\n    return numbers + numbers"
WRONG_ONCE = f"def double(x):\n    {GUARD}\n    return 2 * x if x.size != 9 else 3 * x"
KEEPS_COUNT = (
    f"n = 0\ndef double(x):\n    global n\n    {GUARD}\n    n += 1\n    return 2 * x if n < 25 else x"
)


@pytest.fixture
def grade(numpy_source, tiny_course, monkeypatch):
    """`grade(code)`: the report but for its time, and how many cases were judged."""
    grader, judged = Grader(tiny_course, numpy_source, shrinks=False), []
    judge = judging.judge_case

    def noted(plan, session, case):
        judged.extend([case] if isinstance(session.student, RemoteStudent) else [])  # no mistake is counted
        return judge(plan, session, case)

    monkeypatch.setattr(judging, "judge_case", noted)

    def grade(code):
        del judged[:]
        report = grader.grade(Submission(tiny_course.card("double"), code, "double.py"))
        return dataclasses.replace(report, seconds=0.0, digest=""), len(judged)

    grade(RIGHT)  # what is asked is learnt when a second one comes
    return grade


@pytest.mark.parametrize("code", [RIGHT, WRONG], ids=["right", "wrong"])
def test_the_same_answers_are_judged_once(grade, code):
    (first, judged), (second, again) = grade(code), grade(code)
    assert first == second
    assert judged > 50
    assert again == 0


def test_another_program_with_the_same_answers_needs_no_judging(grade):
    (right, _), (report, judged) = grade(RIGHT), grade(RIGHT_AGAIN)
    assert report == right
    assert judged == 0


@pytest.mark.parametrize("code", [RIGHT, WRONG], ids=["right", "wrong"])
def test_the_same_findings_are_told_once(grade, code, monkeypatch):
    first, _ = grade(code)
    monkeypatch.setattr(grading, "as_check", None)
    assert grade(code)[0] == first


def test_findings_that_only_look_alike_are_told_anew(grade):
    """Both fail the same checks in the same cases, with other answers."""
    (wrong, _), (twice_as_wrong, _) = grade(WRONG), grade(WRONG.replace("3 * x", "6 * x"))
    assert [check.status for check in wrong.checks] == [check.status for check in twice_as_wrong.checks]
    assert wrong.checks[0].got != twice_as_wrong.checks[0].got


def test_what_is_new_is_judged(grade):
    _, everything = grade(RIGHT)
    report, judged = grade(WRONG_ONCE)
    assert report.status == "failed"
    assert 0 < judged < everything / 2


def test_nobody_is_taken_for_another(grade):
    known = [grade(code)[0] for code in (RIGHT, WRONG, WRONG_ONCE, KEEPS_COUNT)]
    assert [report.status for report in known] == ["passed", "failed", "failed", "failed"]
    assert len({report.score for report in known}) > 2
    for code, report in zip((KEEPS_COUNT, WRONG_ONCE, WRONG, RIGHT), reversed(known), strict=True):
        assert grade(code)[0] == report


def answers(*bodies):
    return Answers([None] * len(bodies), [(b"{}", bytearray(body)) for body in bodies])


def test_grounds_have_one_name_for_the_same_answers():
    def named(about, *cases, **how):
        return Grounds(about, dict(enumerate(cases)), **how).name

    assert named("a law", answers(b"1"), answers(b"2")) == named("a law", answers(b"1"), answers(b"2"))
    others = [
        named("a law", answers(b"1"), answers(b"2")),
        named("a law", answers(b"2"), answers(b"1")),
        named("a law", answers(b"1", b"2"), answers()),
        named("a law", answers(b"12"), answers()),
        named("another", answers(b"1"), answers(b"2")),
        Grounds("a law", {0: answers(b"1"), 1: answers(b"2")}).of_case(1).name,
        Grounds("a law", {0: answers(b"2"), 1: answers(b"2")}).of_case(0).name,
    ]
    assert len(set(others)) == len(others)


def test_where_nothing_may_be_in_vain_nothing_rests_on_what_was():
    held = {1: answers(b"1"), 2: answers(b"2")}
    strict, lenient = Grounds("the bank", held, strict=True), Grounds("a law", held)
    assert not strict.hold
    assert not strict.of_case(1).hold
    assert lenient.hold
    known = Precedents()
    known.keep(lenient.name, "a finding")
    assert not known.settle(strict)
    assert known.settle(lenient)
    assert strict.hold, "what is known needs not be read"


def test_what_nobody_has_come_upon_for_longest_is_forgotten():
    found = Precedents(most_bytes=3 * ENTRY)
    for name in "abc":
        found.keep(name, None)
    assert found["a"] is None
    found.keep("d", "a finding", 0)
    assert [name in found for name in "abcd"] == [True, False, True, True]


def test_a_large_finding_takes_the_place_of_many():
    found = Precedents(most_bytes=10 * ENTRY)
    for number in range(10):
        found.keep(number, None)
    found.keep("large", "a finding", 8 * ENTRY)
    assert [number in found for number in range(10)] == [False] * 9 + [True]
    assert found["large"] == "a finding"
