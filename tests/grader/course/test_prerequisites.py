"""A kata that needs another one is graded only when that one passes, and its report names it."""

import json

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade as run_grade
from grader.course.catalog import Course
from grader.kata import KataError

from ...conftest import DOUBLE

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
WRONG = "def double(x):\n    return 3 * x\n"
STUB = DOUBLE["exercises/attention/double.py"]
FILE = "exercises/attention/{}.py"


def kata(name, *needs):
    """Return the files of `double` with another name and with needs."""
    renamed = {path.replace("double", name): text for path, text in DOUBLE.items()}
    info = f"tests/katas/attention/test_{name}.py"
    renamed[info] = renamed[info].replace('"double",\n', f'"{name}",\n            needs={needs!r},\n', 1)
    return renamed


@pytest.fixture
def grade(write, tmp_path, monkeypatch):
    """`grade(files, *arguments)` changes files of a course and returns its JSON reports by kata."""

    def run(files, *arguments):
        write(tmp_path, {**DOUBLE, **kata("four", "double"), **kata("eight", "four"), **files})
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(run_grade, [*arguments, "--format", "json"])
        katas = json.loads(done.stdout)["katas"] if done.stdout else done.stderr
        return done.exit_code, {kata["name"]: kata for kata in katas} if done.stdout else katas

    return run


def test_a_kata_waits_for_the_one_that_it_needs(grade):
    code, found = grade({FILE.format("double"): WRONG, FILE.format("four"): RIGHT}, "four")
    assert code == 1
    assert (found["four"]["status"], found["four"]["score"]) == ("waiting", 0.0)
    assert found["four"]["message"] == "Waiting for `double`, which must pass first."


def test_it_is_judged_as_soon_as_that_one_passes(grade):
    code, found = grade({FILE.format("double"): RIGHT, FILE.format("four"): RIGHT}, "four", "double")
    assert (code, [kata["status"] for kata in found.values()]) == (0, ["passed", "passed"])


def test_it_waits_behind_one_that_waits_itself(grade):
    _, found = grade({FILE.format(name): RIGHT for name in ("four", "eight")})
    assert {name: kata["status"] for name, kata in found.items()} == {"four": "waiting", "eight": "waiting"}
    assert found["eight"]["message"] == "Waiting for `four`, which must pass first."


def test_a_kata_that_is_not_begun_does_not_wait(grade):
    _, found = grade({FILE.format("double"): STUB}, "four")
    assert found["four"]["status"] == "not_started"


def test_a_file_that_cannot_be_read_is_told_before_any_waiting(grade):
    code, found = grade({FILE.format("four"): "def double(x:"}, "four")
    assert (code, found["four"]["status"]) == (2, "error")


def refusal(course, name):
    with pytest.raises(KataError) as refused:
        course.with_needs([course.kata_info(name)])
    return str(refused.value)


def test_needs_in_a_circle_are_refused(write, tmp_path):
    files = {**kata("one", "two"), **kata("two", "three"), **kata("three", "two")}
    course = Course(write(tmp_path, files))
    said = "`two` needs `three` needs `two`: nobody could begin; take one of these needs out."
    assert refusal(course, "one") == said
    assert refusal(course, "two") == said


def test_an_unknown_need_is_refused(grade):
    code, said = grade(kata("four", "duble"), "four")
    assert code == 4
    assert said == "`four` needs `duble`, and there is no such kata.\n"
