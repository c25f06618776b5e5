"""Tests of writing scores into nbgrader's gradebook."""

import shutil

import pytest

from dojo_notebooks.gradebook import write_scores
from grader.course.catalog import CourseError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def empty(tiny_course, tmp_path_factory):
    """A new gradebook, which takes nbgrader seconds to make."""
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    write_scores(str(path), {}, [tiny_course.kata_info("double")])
    return path


@pytest.fixture
def opened(empty, tmp_path):
    """The gradebook that a test writes, opened again."""
    from nbgrader.api import Gradebook

    shutil.copy(empty, tmp_path)
    return lambda: Gradebook(f"sqlite:///{tmp_path}/gradebook.db")


def test_scores_are_exact_to_the_hundredth_and_updated(tiny_course, tmp_path, opened):
    double, center = tiny_course.kata_info("double"), tiny_course.kata_info("center")
    url = f"sqlite:///{tmp_path}/gradebook.db"
    write_scores(url, {"ann": {"double": 333}}, [double])
    both = {"ann": {"double": 725, "center": 1000}, "bob": {"center": 5}}
    write_scores(url, both, [double, center])
    with opened() as gradebook:
        found = {
            (submission.student_id, assignment.name): (submission.score, submission.max_score)
            for assignment in gradebook.assignments
            for submission in assignment.submissions
        }
    assert found == {
        ("ann", "attention"): (7.25, 10.0),
        ("ann", "modules"): (10.0, 10.0),
        ("bob", "attention"): (0.0, 10.0),
        ("bob", "modules"): (0.05, 10.0),
    }


def test_manual_scores_are_kept(tiny_course, tmp_path, opened):
    double, path = tiny_course.kata_info("double"), str(tmp_path / "gradebook.db")
    write_scores(path, {"ann": {"double": 300}}, [double])
    with opened() as gradebook:
        gradebook.find_grade("double-score", "double", "attention", "ann").manual_score = 4.0
        gradebook.db.commit()
    write_scores(path, {"ann": {"double": 500}}, [double])
    with opened() as gradebook:
        grade = gradebook.find_grade("double-score", "double", "attention", "ann")
        assert (grade.auto_score, grade.score, grade.needs_manual_grade) == (5.0, 4.0, True)


def test_the_score_of_a_kata_that_was_not_judged_is_kept(tiny_course, tmp_path, opened):
    double, path = tiny_course.kata_info("double"), str(tmp_path / "gradebook.db")
    write_scores(path, {"ann": {"double": 300}}, [double])
    write_scores(path, {"ann": {"double": 0}}, [double], {"ann": {"double"}})
    with opened() as gradebook:
        assert gradebook.find_grade("double-score", "double", "attention", "ann").auto_score == 3.0


UNUSABLE = {
    "missing/gradebook.db": r"cannot be written: \(sqlite3.OperationalError\) unable to open database file$",
    "text.db": r"cannot be written: \(sqlite3.DatabaseError\) file is not a database$",
    "oracle9://host/x": r"cannot be written: Can't load plugin",
    "postgresql+asyncpg://host/x": r"needs a driver: .* -m pip install asyncpg$",
}


@pytest.mark.usefixtures("opened")
def test_a_gradebook_that_cannot_be_opened_is_reported(tiny_course, tmp_path):
    text = "not a database, and long enough to be looked at\n" * 40
    (tmp_path / "text.db").write_text(text)
    for name, told in UNUSABLE.items():
        with pytest.raises(CourseError, match=told):
            write_scores(
                name if "://" in name else str(tmp_path / name), {}, [tiny_course.kata_info("double")]
            )
    assert (tmp_path / "text.db").read_text() == text
