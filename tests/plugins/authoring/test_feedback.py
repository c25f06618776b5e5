"""Tests of `kata feedback DIR`, which writes the report on each mistake."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.feedback import feedback
from grader.cli.kata import kata
from grader.course.catalog import Course

from ...conftest import DOUBLE


@pytest.fixture
def course(tmp_path, write):
    return Course(write(tmp_path / "course", DOUBLE))


@pytest.mark.slow
def test_a_page_holds_each_mistake_with_its_report(course, tmp_path):
    pages = tmp_path / "pages"
    done = CliRunner().invoke(kata, ["feedback", str(pages), "--course", str(course.root)])
    assert (done.exit_code, done.output.split()) == (0, ["double.md"])
    text = (pages / "double.md").read_text()
    assert text.startswith("# `double`: what each mistake is told\n")
    names = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert names == ["triples", "takes_the_size", "forgets_the_first_row", "accepts_text"]
    assert "\n  The result is three times x: one x too many was added.\n" in text
    assert "\x1b" not in text


def test_an_unknown_kata_is_refused_in_one_sentence(course, tmp_path):
    done = CliRunner().invoke(kata, ["feedback", str(tmp_path / "p"), "trible", "--course", str(course.root)])
    assert (done.exit_code, done.stderr) == (
        4,
        "There is no kata called `trible`. Did you mean `double`?\n",
    )


GOLDEN = Path(__file__).parents[2] / "grader" / "golden"


@pytest.mark.slow
def test_the_golden_page_is_what_students_of_causal_mask_read():
    course = Course(Path(__file__).parents[3])
    text = feedback(course, course.kata_info("causal_mask"))
    assert text == (GOLDEN / "causal_mask.md").read_text(), (
        "run: kata feedback tests/grader/golden causal_mask, and read the difference"
    )
