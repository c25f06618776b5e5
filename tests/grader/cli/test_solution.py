"""Tests of `grade solution`: what is shown after a pass, and to whom."""

import io
import zipfile

import pytest
from click.testing import CliRunner

from dojo_authoring.release import starter
from grader.cli.grade import grade
from grader.course import shown_solutions
from grader.course.catalog import Course
from grader.course.state import CourseState

RIGHT = '"""The statement."""\n\nimport operator\n\n\ndef double(x):\n    return operator.add(x, x)\n'
VARIANTS = '''
    import operator

    def _twice(x):
        return 2 * x

    def multiplies(x):
        """Another way: multiply by two."""
        return _twice(x)

    def shifts(x):
        """Only for the tests."""
        return x << 1
'''


@pytest.fixture
def course(tmp_path, tiny_files, write):
    files = {**tiny_files, "solutions/attention/double/variants.py": VARIANTS}
    course = Course(write(tmp_path / "course", files))
    course.stub(course.kata_info("double")).write_text(RIGHT)
    return course


@pytest.fixture
def passed(course):
    CourseState(course).change("double", status="passed", passed=True)
    return course


def run(course, *words, columns=80):
    environment = {"COLUMNS": str(columns)}
    return CliRunner().invoke(grade, [*words, "--course", str(course.root)], env=environment)


def test_after_a_pass_the_reference_and_another_way_are_shown(passed):
    shown = run(passed, "--solution", "double", columns=80)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("Your file\n\nimport operator\n\n\ndef double(x):\n")
    assert "\n\n\nThe reference\n\n" in shown.stdout
    assert "The statement." not in shown.stdout
    assert "\n\n\nAnother way: multiply by two.\n\nimport operator\n" in shown.stdout
    assert "def _twice(x):" in shown.stdout
    assert "shifts" not in shown.stdout


def test_in_a_wide_terminal_they_stand_side_by_side(passed):
    first = run(passed, "--solution", "double", columns=120).stdout.splitlines()[0]
    assert first.split(" │ ") == [f"{'Your file':{len('    return operator.add(x, x)')}}", "The reference"]


def test_a_long_line_goes_on_at_a_word(passed):
    path = passed.stub(passed.kata_info("double"))
    path.write_text(f"def double(x):\n    return x + x  # {'word ' * 40}\n")
    lines = run(passed, "--solution", "double").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[4] == f"            {('word ' * 13).strip()}"


def test_terminal_codes_in_the_file_are_shown_and_not_obeyed(passed):
    passed.stub(passed.kata_info("double")).write_text("x = '\x1b[2J'\n")
    assert "\x1b" not in run(passed, "--solution", "double").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--solution", "center"], "center has not passed yet: its solution is shown once it has."),
        (["--solution"], "`grade solution` goes with the name of one kata: grade solution double."),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(passed, words, sentence):
    refused = run(passed, *words)
    assert (refused.exit_code, refused.stdout, refused.stderr) == (4, "", f"{sentence}\n")


def test_a_course_without_solutions_keeps_them_to_itself(passed):
    passed.solution(passed.kata_info("double"), "reference").unlink()
    refused = run(passed, "--solution", "double")
    sentence = "There is no solution of double here: this course keeps it to itself.\n"
    assert (refused.exit_code, refused.stderr) == (4, sentence)


def test_a_wheel_with_solutions_shows_them_where_the_course_has_none(
    course, passed, tiny_files, write, monkeypatch, tmp_path
):
    write(course.root, {"exercises/attention/double.py": tiny_files["exercises/attention/double.py"]})
    _, wheel = starter.build_course_wheel(course, ("double",), seed=1, solutions=True)
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        held = archive.read(f"grader/{starter.SOLUTIONS}")
        record = archive.read(next(name for name in archive.namelist() if name.endswith("RECORD")))
    assert f"grader/{starter.SOLUTIONS},sha256=" in record.decode()
    with zipfile.ZipFile(io.BytesIO(held)) as archive:
        folder = "solutions/attention/double"
        assert archive.namelist() == [f"{folder}/reference.py", f"{folder}/variants.py"]
    (tmp_path / starter.SOLUTIONS).write_bytes(held)
    monkeypatch.setattr(shown_solutions, "PACKAGE", tmp_path)
    passed.solution(passed.kata_info("double"), "reference").unlink()
    assert "The reference" in run(passed, "--solution", "double").stdout
    (tmp_path / starter.SOLUTIONS).write_bytes(b"no zip")
    assert run(passed, "--solution", "double").exit_code == 4
