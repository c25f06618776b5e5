"""The points of a submission are a property of the answer, and those of its checks add up to them."""

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
