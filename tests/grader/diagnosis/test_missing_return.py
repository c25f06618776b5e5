"""A function that returns None in each call is one finding."""

from contextlib import closing
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.formats import account, html, junit, lines, summary, terminal
from grader.grading.grader import Grader
from grader.report import Place, Report
from grader.worker.fork_server import WorkerFactories

COURSE = Course(Path(__file__).resolve().parents[3])


def failing(report):
    return [check for check in report.checks if check.status not in ("passed", "skipped")]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y = x + x", "line 2 computes `y`, nothing is returned."),
        ("y = x + x\n    y *= 1", "line 3 computes `y`, nothing is returned."),
        ("x + x", "line 2 computes `x + x`, nothing is returned."),
        ("y = x + x\n    print(y)", "line 2 computes `y`, nothing is returned."),
        ("y = x + x\n    return", "line 2 computes `y`, nothing is returned."),
        ("y = x + x\n    return None", "line 2 computes `y`, nothing is returned."),
        ("y = list(x)\n    return y.sort(key=id)", "line 3 returns `y.sort(key=id)`, which is None."),
        ("y = x + x\n    if y is None: return y", "line 2 computes `y`, no `return` is reached."),
        ("if x is None: return x", "no `return` is reached."),
        ("with open('/dev/null'):\n        y = x + x", "line 3 computes `y`, nothing is returned."),
        ("def twice():\n        return x + x\n    y = twice()", "line 4 computes `y`, nothing is returned."),
        ("pass", "its body computes nothing."),
        ("...", "its body computes nothing."),
        ('"""Return x + x."""', "its body computes nothing."),
    ],
)
def test_the_report_says_what_is_computed_and_not_returned(grade, body, said):
    report = grade(f"def double(x):\n    {body}\n")
    first, *others = failing(report)
    assert first.message == f"`double` returns None: {said}"
    assert {check.message for check in others} == {"`double` returns None: see the first check that fails."}
    assert (report.status, report.score, len(account.causes(report))) == ("failed", 0, 1)


def test_every_format_shows_one_finding(grade):
    report = grade("def double(x):\n    y = x + x\n")
    told = "`double` returns None: line 2 computes `y`, nothing is returned."
    assert failing(report)[0].place == Place(2, "    y = x + x", 4, 13)
    shown = terminal.render_kata(report)
    assert shown.count("returns None") == 1
    assert f"\n  ✗ {told}\n\n  6 of 9 checks fail, one reason\n" in shown
    assert "    2 │ y = x + x\n" in shown
    assert account.headline(report) == told
    whole = Report((report,))
    assert html.render(whole).count("computes") == 2  # in the table of all katas, and below it
    assert summary.render(whole).count("computes") == 2  # likewise
    assert lines.render(whole).count("computes") == 1
    assert junit.render(whole).count('message="`double` returns None: see') == len(failing(report)) - 1


@pytest.mark.parametrize(
    "body",
    [
        "return None if x.size > 2 else x + x",  # some answers are right
        "return x if x.size > 2 else None",
        "return helper(x)\n\ndef helper(x):\n    x + x",  # its own `return` is there
    ],
)
def test_a_function_that_returns_something_is_reported_as_before(grade, body):
    report = grade(f"def double(x):\n    {body}\n")
    assert not any("computes" in check.message for check in report.checks)


@pytest.fixture(scope="module")
def grader():
    with closing(WorkerFactories(["numpy", "torch"])) as sources:
        yield Grader(COURSE, sources)


def without_returns(info):
    source = COURSE.solution(info, "reference").read_text()
    return source.replace("return ", "found = ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("beam_search", "`beam_search` returns None: line 22 computes `found`, nothing is returned."),
        ("swiglu", "`SwiGLU.forward` returns None: line 19 computes `found`, nothing is returned."),
    ],
)
def test_functions_methods_and_lists_of_the_course_are_one_finding(grader, name, said):
    info = COURSE.kata_info(name)
    report = grader.grade(Submission(info, without_returns(info), f"{name}.py")).report
    assert failing(report)[0].message == said
    assert len(account.causes(report)) == 1
