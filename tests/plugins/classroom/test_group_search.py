"""A search for each group of files of a class that no mistake explains, and the drafts of mistakes."""

import ast

import pytest
from click.testing import CliRunner

from dojo_classroom import analytics
from dojo_classroom.analytics import TODO, WARNING, write_drafts
from grader.cli.kata import kata
from grader.course.catalog import CourseError

WRONG = '''
"""My answer."""
import numpy as np
import os

TIMES = 5
OTHER = os.environ.get("HOME")


def twice(y, z=print("twice"), *, w: print("w") = 1):
    return y * TIMES


@print
def unused(x):
    pass


def double(x):
    """Return x + x."""
    if isinstance(x, str):
        raise ValueError("text")
    return twice(np.asarray(x))
'''


@pytest.fixture(scope="module")
def graded(tmp_path_factory, tiny_course):
    """The output of `kata grade --draft-mistakes`, the class page and the drafts."""
    return grade_class(tmp_path_factory.mktemp("class"), tiny_course)


def grade_class(folder, tiny_course):
    for student in ("ada", "bob"):
        (folder / "in" / student).mkdir(parents=True)
        (folder / "in" / student / "double.py").write_text(WRONG + f"\n# {student}\n")
    words = ["grade", folder / "in", "--course", tiny_course.root, "--kata", "double", "--graders", "1"]
    words += ["--output", folder / "out", "--draft-mistakes", folder / "drafts.py"]
    result = CliRunner().invoke(kata, list(map(str, words)), catch_exceptions=False)
    return result, (folder / "out" / "class.html").read_text(), (folder / "drafts.py").read_text()


@pytest.mark.slow
def test_the_class_page_shows_the_place_beside_the_group(graded):
    result, page, _ = graded
    assert result.exit_code == 0
    assert page.count("Changing only this spot makes every check pass: a number.") == 1
    assert "TIMES = 5" in page


def test_a_group_is_drafted_as_a_function_without_a_text(graded):
    result, _, drafts = graded
    assert "1 draft of mistakes written to " in result.output
    names = {node.name: ast.get_docstring(node) for node in ast.parse(drafts).body if hasattr(node, "name")}
    assert names == {"twice": None, "draft_1_of_double": TODO}
    assert drafts.startswith(WARNING)
    assert "# double: 2 files. " in drafts
    assert "# Changing only this spot makes every check pass: a number." in drafts
    assert "My answer." not in drafts


def test_a_draft_that_is_imported_runs_nothing_of_the_student(graded, capsys):
    names = {}
    exec(graded[2], names)
    assert capsys.readouterr().out == ""
    assert "os" not in names
    assert "# OTHER = os.environ.get('HOME')" in graded[2]
    assert names["draft_1_of_double"](2) == 10


def test_drafts_that_cannot_be_written_are_one_sentence(tmp_path):
    with pytest.raises(CourseError, match="The drafts cannot be written to"):
        write_drafts(tmp_path / "none" / "drafts.py", [], {})


def test_a_search_that_takes_too_long_is_ended_and_the_class_is_graded(tmp_path, tiny_course, monkeypatch):
    monkeypatch.setattr(analytics, "TASK_SECONDS", 0.0)
    result, page, drafts = grade_class(tmp_path, tiny_course)
    assert result.exit_code == 0
    assert "2 failing files in 1 group no mistake explains yet." in result.output
    assert "Changing only this spot" not in page + drafts
