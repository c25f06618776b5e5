"""What another course shows with `grade see`: an entry of its path.toml and a package beside it."""

import json

import pytest
from click.testing import CliRunner

from dojo_authoring.release.starter import starter_files
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.record import write_record
from dojo_notebooks import magics
from dojo_show.demonstration import open_demonstration, render_page
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.course.catalog import Course

from ...conftest import DOUBLE

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
SYLLABUS = 'title = "Twice"\nsee = "shown/here"\n[path]\nattention = ["double"]\n'
SHOWN = """
from pathlib import Path

import numpy as np

from dojo_show.demonstration import Demonstration
from dojo_show.demonstration import recorded
from dojo_show.sections import Section, figure_of

from .calls import twice


def show(answers, recording, text):
    tracer = twice(answers, recording.get("steps", {}) if text is None else {}, text)
    figure = figure_of(tracer.steps["twice"], "double(x)", [""], ["one", "two"])
    own = sum(status == "yours" for status in answers.statuses.values())
    return [
        Section("overview", "Twice & more", [f"{own} of 1 is yours."], data={"statuses": answers.statuses}),
        Section("twice", "Twice as much", ["Every number is doubled."], [figure]),
    ]


def record(answers):
    return {"steps": recorded(twice(answers, {}, None).steps)}


TITLES = {"overview": "Twice & more", "twice": "Twice as much"}
SEE = Demonstration({"double": ("double",)}, TITLES, show, record, Path(__file__).parent)
"""
CALLS = """
import numpy as np

from dojo_show.tracing import Tracer


def twice(answers, recorded, text):
    x = np.array([[float(word) for word in (text or "1 2").split()]], "f4")
    tracer = Tracer(answers, recorded)
    tracer.apply("twice", "double", [x], [(1, 2)])
    return tracer
"""
FILES = {
    **DOUBLE,
    "tests/katas/path.toml": SYLLABUS,
    "shown/here/__init__.py": SHOWN,
    "shown/here/calls.py": CALLS,
    "shown/here/recording.json": '{"steps": {"twice": [[[2.0, 4.0]]]}}',
}


@pytest.fixture
def course(write, tmp_path):
    """`course(path=text)`: a course that shows its kata, with some files changed."""

    def change(**changes):
        here = Course(write(tmp_path / "course", {**FILES, **changes}))
        write_record(here, list(here.katas.values()))  # so that it can be released
        return here

    return change


def run(command, *words):
    return CliRunner().invoke(command, [str(word) for word in words])


def shown_here(folder, *words):
    return run(grade, "--see", "--text", "--course", folder, *words)


def test_a_course_shows_its_own_sections(course):
    folder = course().root
    assert "0 of 1 is yours." in shown_here(folder).stdout
    assert "double(x)   not yours yet: grade double" in shown_here(folder, "twice").stdout
    (folder / "exercises/attention/double.py").write_text(RIGHT)
    assert "1 of 1 is yours." in shown_here(folder).stdout
    figure = shown_here(folder, "twice", "--tokens", "3 4").stdout
    assert "Twice as much\n  Every number is doubled." in figure
    assert "6" in figure
    assert "8" in figure
    said = shown_here(folder, "once")
    assert (said.exit_code, said.stderr) == (
        4, "There is no section `once` to see; say overview, twice.\n",
    )  # fmt: skip


def test_its_page_has_its_title_and_needs_no_script_of_its_own(course):
    demonstration = open_demonstration(course())
    text = render_page(demonstration, [])
    assert "<title>Twice &amp; more</title>" in text
    assert "%%" not in text
    (demonstration.folder / "page.js").write_text("special.twice = () => {};\n")
    (demonstration.folder / "page.css").write_text("main { color: red; }\n")
    text = render_page(demonstration, [])
    assert "special.twice = () => {};\nshow();\n</script>" in text
    assert "main { color: red; }\n</style>" in text


def test_it_is_recorded_beside_the_course(course):
    here = course(**{"shown/here/recording.json": "{}"})
    said = run(kata, "record-see", "--course", here.root)
    assert said.stdout == "1 steps are in recording.json.\n"
    assert json.loads((here.root / "shown/here/recording.json").read_text()) == {
        "steps": {"twice": [[[2.0, 4.0]]]}
    }


def test_two_courses_are_not_mixed_up(course, write, tmp_path):
    first = open_demonstration(course())
    other = {name: text.replace("Twice as much", "Again") for name, text in FILES.items()}
    second = open_demonstration(Course(write(tmp_path / "other", other)))
    assert first.titles["twice"] == "Twice as much"
    assert second.titles["twice"] == "Again"
    assert first.show.__module__ != second.show.__module__


def test_nothing_is_run_from_a_submission(course, write, tmp_path):
    folder = course(**{"tests/katas/path.toml": SYLLABUS.replace("see =", "about =")}).root
    theirs = write(tmp_path / "theirs", {**FILES, "shown/here/__init__.py": "raise SystemExit('run')"})
    said = shown_here(folder, "--exercises", theirs / "exercises")
    assert said.stderr == "The course has nothing to see: its path.toml names no folder with `see`.\n"
    assert said.exit_code == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SEE = 1\n", "shown/here/__init__.py must bind SEE = Demonstration(…)."),
        ("1 / 0\n", "cannot be loaded: line 1 raises ZeroDivisionError: division by zero."),
        (SHOWN.replace('{"double": ("double",)}', '{"double": ("twice",), "half": ("double",)}'),
         "shown/here/ names `twice` of `double`, which is not there; mend the name.\n"
         "shown/here/ names `double` of `half`, which is not there; mend the name."),
    ],
)  # fmt: skip
def test_verify_finds_what_is_wrong(course, text, told):
    assert "\n".join(static_checks.unknown_in_see(course(**{"shown/here/__init__.py": text}))).endswith(told)


def test_a_folder_that_is_missing_is_named(course):
    here = course(**{"tests/katas/path.toml": SYLLABUS.replace("shown/here", "lost")})
    (message,) = static_checks.unknown_in_see(here)
    assert message == "The file __init__.py is missing."
    assert shown_here(here.root).exit_code == 4


def test_verify_has_nothing_to_say_about_the_courses_that_are_right(course, tiny_course):
    assert static_checks.unknown_in_see(course()) == []
    assert static_checks.unknown_in_see(tiny_course) == []


def test_students_get_it_with_a_release(course, tmp_path):
    folder = course().root
    (folder / "shown/here/__pycache__").mkdir()
    (folder / "shown/here/__pycache__/calls.pyc").write_bytes(b"")
    said = run(kata, "release", tmp_path / "release", "--course", folder)
    assert said.exit_code == 0, said.output
    released = tmp_path / "release"
    given = {path.relative_to(released).as_posix() for path in (released / "shown").rglob("*.*")}
    assert given == {f"shown/here/{name}" for name in ("__init__.py", "calls.py", "recording.json")}
    (released / "exercises/attention/double.py").write_text(RIGHT)
    assert "1 of 1 is yours." in shown_here(released).stdout
    (released / "shown/here/calls.py").write_text(CALLS + "# changed\n")
    assert run(grade, "--protect", "--course", released).stdout == "changed: shown/here/calls.py\n"


def test_students_get_it_with_a_wheel_and_without_solutions(course, tmp_path):
    here = course()
    files = starter_files(here, list(here.katas.values()), seed=1)
    assert {"shown/here/__init__.py", "shown/here/calls.py", "shown/here/recording.json"} <= files.keys()
    assert not [name for name in files if name.startswith("solutions/")]
    for name, data in files.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_bytes(data)
    (tmp_path / "mine/exercises/attention/double.py").write_text(RIGHT)
    assert "1 of 1 is yours." in shown_here(tmp_path / "mine").stdout


@pytest.mark.slow
def test_it_lies_beside_the_notebooks_of_an_assignment(course, tmp_path):
    pytest.importorskip("nbformat", reason="nbformat is not installed")
    said = run(kata, "notebooks", tmp_path / "notebooks", "--course", course().root)
    assert said.exit_code == 0, said.output
    assignment = Course(tmp_path / "notebooks/source/attention")
    shown, text = magics.see_sources(assignment, {"double": RIGHT}, [])
    assert "<title>Twice &amp; more</title>" in shown
    assert "1 of 1 is yours." in text
