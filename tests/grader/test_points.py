"""The points of a submission are a property of the answer, and those of its checks add up to them."""

from contextlib import closing
from pathlib import Path

import pytest

from grader.course.catalog import open_course
from grader.course.known_solutions import Answers
from grader.course.submission import Submission
from grader.formats import html, summary, terminal
from grader.grading.session import GraderSettings, open_grader
from grader.report import Report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def collecting_ring():
    """The report of a ring_attention that is right, and keeps every block."""
    course = open_course(ROOT)
    info = course.kata_info("ring_attention")
    source = Answers(course, info, "mistakes").source_of("keeps_every_block")
    grader, factories = open_grader(course, [info], GraderSettings())
    yield grader.grade(Submission(info, source, "ring_attention.py")).report
    factories.close()


def test_a_broken_purpose_caps_the_points(collecting_ring):
    (failing,) = [check for check in collecting_ring.checks if check.status == "failed"]
    assert failing.name == "holds_two_blocks"
    assert collecting_ring.score == 700
    assert collecting_ring.max_score == sum(check.max_score for check in collecting_ring.checks) == 1000


def test_every_report_says_why_the_points_are_capped(collecting_ring):
    said = (
        "At most 7 points while this fails, which the kata is about: A rank holds no block that it has passed"
        " on."
    )
    assert collecting_ring.cap == said
    report = Report((collecting_ring,))
    assert said in " ".join(terminal.render(report).split())
    assert said in html.render(report)
    assert said in summary.render(report)


KEEPS = """
import numpy as np

KEPT = {}

def of_all(what, value, meet):
    try:
        size = int(np.sum(meet(np.ones(1))))  # so that each rank runs twice
    except RuntimeError:  # the others have not come here yet
        KEPT.setdefault(what, []).append(value)
        raise
    return KEPT.get(what, [value] * size)[-size:]
"""
#: By kata, what of the reference becomes what, so that each rank takes the numbers of all from a global.
GIVES_ALL = {
    "tensor_parallel": {
        "all_reduce(hidden @ w2)": "sum(of_all(0, hidden @ w2, all_reduce))",
        "all_reduce(d_before @ w1.T)": "sum(of_all(1, d_before @ w1.T, all_reduce))",
    },
    "zero_step": {
        "reduce_scatter(np.pad(gradient, padding)) / size": "sum(of_all(0, np.pad(gradient, "
        "padding), all_gather)).reshape(size, -1)[rank] / size",
    },
    "ring_attention": {
        "    pair = attend(q": "    blocks = of_all(0, (k, v), lambda x: shift(x) * size)\n"
        "    pair = attend(q",
        "k, v = shift(k), shift(v)": "k, v = blocks[(rank - hop) % size]",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GIVES_ALL)
def test_a_rank_that_takes_the_numbers_of_all_from_a_global_gets_no_more_than_seven(name):
    """The law that a rank sees its own shard alone holds the purpose of these katas."""
    course = open_course(ROOT)
    info = course.kata_info(name)
    source = course.solution(info, "reference").read_text()
    for old, new in GIVES_ALL[name].items():
        assert old in source
        source = source.replace(old, new)
    grader, factories = open_grader(course, [info], GraderSettings())
    with closing(factories):
        report = grader.grade(Submission(info, KEEPS + source, f"{name}.py")).report
    assert "a_rank_sees_its_own_shard_only" in {check.name for check in report.checks if check.score == 0}
    assert report.score <= 700
    assert report.checks[0].status == "passed"
    assert report.cap.startswith("At most 7 points while this fails")
