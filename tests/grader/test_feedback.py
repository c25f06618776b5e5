"""`kata feedback`: the pages that hold what a student reads for each mistake, and whether they are fresh."""

from pathlib import Path

import pytest

from grader.authoring.feedback import PAGE, feedback, is_stale, verify_feedback, write_feedback
from grader.catalog import Course, find_course

from .conftest import DOUBLE

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "causal_mask"


@pytest.fixture
def course(tmp_path, write):
    return Course(write(tmp_path, DOUBLE))


@pytest.mark.slow
def test_a_page_holds_each_mistake_with_its_report(course):
    write_feedback(course, ("double",))
    text = (course.root / "solutions" / "attention" / "double" / PAGE).read_text()
    assert text.startswith(
        "# `double`: what each mistake is told\n\n`kata feedback double` writes this page anew."
    )
    names = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert names == ["triples", "takes_the_size", "forgets_the_first_row", "accepts_text"]
    assert "looks like  The result is three times x: one x too many was added.\n" in text
    assert "\x1b" not in text


@pytest.mark.slow
def test_a_page_is_as_old_as_the_files_it_was_made_from(course, capsys):
    card = course.card("double")
    assert is_stale(course, card)
    write_feedback(course, ())
    assert verify_feedback(course, ()) == 0
    mistakes = course.solution(card, "mistakes")
    mistakes.write_text(mistakes.read_text().replace("one x too many", "an x too many"))
    capsys.readouterr()
    assert verify_feedback(course, ()) == 1
    assert capsys.readouterr().out == (
        "✗ The feedback of double is older than the kata: kata feedback double\n"
        "0 of 1 pages are as new as their katas.\n"
    )


def test_no_page_of_the_course_is_older_than_its_kata():
    course = Course(find_course(ROOT))
    kept = [card for card in course.cards.values() if (course.folder(card) / PAGE).is_file()]
    assert kept
    stale = [card.name for card in kept if is_stale(course, card)]
    assert stale == [], f"run: kata feedback {' '.join(stale)}"


@pytest.mark.slow
def test_a_page_of_the_course_is_what_is_told_now():
    course = Course(find_course(ROOT))
    card = course.card(SAMPLE)
    page = (course.folder(card) / PAGE).read_text(encoding="utf-8")
    assert page.startswith(feedback(course, card, most=3))
