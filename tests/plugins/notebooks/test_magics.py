"""Tests of `%%kata`, `%grade` and `%hint` in an IPython shell."""

import re
from pathlib import Path

import pytest

import grader
from dojo_notebooks import magics
from grader.course.catalog import Course, CourseError
from grader.reading.cells import answer_to
from grader.report import CheckReport, KataReport

pytest.importorskip("IPython", reason="IPython is not installed")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

ROOT = Path(__file__).resolve().parents[3]
SYLLABUS = {"tests/katas/path.toml": 'see = "see"\n[path]\nattention = []\nmodules = []'}
RIGHT = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"


@pytest.fixture
def shell(tiny_course, monkeypatch):
    """A shell in which the extension is loaded, as `%load_ext grader` loads it."""
    monkeypatch.chdir(tiny_course.root)
    shell = InteractiveShell.instance(colors="nocolor")
    grader.load_ipython_extension(shell)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def run_cell(shell):
    """`run_cell(cell)` runs a cell; the result has stdout, stderr, outputs and the value."""

    def run(cell):
        with capture_output() as captured:
            captured.result = shell.run_cell(cell)
        return captured

    return run


@pytest.fixture
def graded(monkeypatch):
    """The arguments of the calls of `grade`, whose score is always 3.5."""
    asked = []

    def grade_source(info, source, key, device):
        asked.append((info.name, source, key, device))
        check = CheckReport("a", "A title.", "failed", 350, 1000)
        return KataReport(info.name, info.track, "failed", 1000, checks=(check,))

    monkeypatch.setattr(magics, "grade_source", grade_source)
    return asked


def test_a_kata_cell_is_run_and_its_source_is_saved(shell, run_cell, graded):
    said = run_cell(f"%%kata double\n{RIGHT}")
    assert (said.stdout, said.stderr, said.result.success) == ("", "", True)
    assert shell.user_ns["double"](2) == 4
    run_cell("%grade double")
    assert graded == [("double", f"\n{RIGHT}", "", "cpu")]


@pytest.mark.parametrize(
    "cell",
    [
        f"%%time\n%%kata double\n{RIGHT}",
        f"%%capture out\n%%kata double\n{RIGHT}",
        f"%%kata double\n%%time\n{RIGHT}",
        f"\n\n%%kata double\n{RIGHT}",
        f"%%kata double\n%xmode Plain\n!true\n{RIGHT}double?\n",
        f"%%kata double\n%time y = 3\nx = !echo\n{RIGHT}",
        f'%%kata double\n{RIGHT}T = """\n!no command\n"""\n',
    ],
)
def test_the_kernel_a_file_and_autograding_see_the_same_source(shell, run_cell, graded, cell):
    assert run_cell(cell).result.success
    assert shell.user_ns["double"](2) == 4
    run_cell("%grade double")
    ((_, source, _, _),) = graded
    found = answer_to("double", [{"cell_type": "code", "source": cell, "metadata": {}}])
    assert source.strip("\n") == found.strip("\n")
    names = {}
    exec(found, names)
    assert names["double"](2) == 4


def test_the_last_cell_that_was_run_counts(run_cell, graded):
    run_cell("%%kata double\nx = 1\n")
    run_cell("%%kata double\nx = 2\n")
    run_cell("%grade --key some.key --device cuda double")
    assert graded == [("double", "\nx = 2\n", "some.key", "cuda")]


def test_a_stub_that_is_run_again_does_not_replace_an_answer(run_cell, graded):
    run_cell(f"%%kata double\n{RIGHT}")
    run_cell("%%kata double\ndef double(x):\n    raise NotImplementedError\n")
    run_cell("%grade double")
    assert graded[0][1] == f"\n{RIGHT}"


def test_without_a_name_the_kata_that_was_run_last_is_graded(run_cell, graded):
    said = run_cell("%grade")
    assert "Run a cell that begins with %%kata and the name of a kata first." in said.stderr + said.stdout
    run_cell("%%kata double\nx = 1\n")
    run_cell("%%kata center\nx = 1\n")
    run_cell("%%kata double\nx = 2\n")
    run_cell("%grade")
    assert graded == [("double", "\nx = 2\n", "", "cpu")]


def test_a_report_is_shown_as_html_and_as_text(run_cell, graded):
    run_cell("%%kata double\nx = 1\n")
    said = run_cell("%grade double")
    [shown] = said.outputs
    assert "<strong>double</strong> &nbsp; 3.5 / 10" in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("double  3.5 / 10")
    assert said.result.result is None
    assert graded


def test_a_score_is_a_plain_float_with_nothing_on_standard_error(run_cell, graded):
    run_cell("%%kata double\nx = 1\n")
    said = run_cell("%grade --score double")
    assert (type(said.result.result), said.result.result, said.stderr) == (float, 3.5, "")
    assert graded


def test_a_kata_that_was_not_run_scores_nothing(run_cell, graded):
    said = run_cell("%grade --score double")
    assert (said.result.result, said.stderr, graded) == (0.0, "", [])
    assert "Run the cell that begins with %%kata double first." in said.outputs[0].data["text/html"]


def test_a_failing_cell_shows_one_traceback_and_stops_the_notebook(run_cell, graded):
    said = run_cell("%%kata double\nx = 1\n1 / 0\n")
    assert said.stdout.count("ZeroDivisionError: division by zero") == 1
    assert not said.result.success
    run_cell("%grade double")
    assert graded[0][1] == "\nx = 1\n1 / 0\n"


@pytest.mark.parametrize("cell", ["%%kata doubel\nx = 1\n", "%grade doubel", "%hint doubel"])
def test_a_wrong_name_is_answered_with_the_nearest_one(shell, run_cell, cell):
    said = run_cell(cell)
    assert "There is no kata called `doubel`. Did you mean `double`?" in said.stderr + said.stdout
    assert "Traceback" not in said.stderr + said.stdout
    assert "x" not in shell.user_ns


def test_hints_come_one_by_one(run_cell):
    assert run_cell("%hint double").stdout == "Hint 1 of 1: Think of two.\n"


def test_loading_again_keeps_the_saved_sources(shell, run_cell, graded):
    run_cell("%%kata double\nx = 1\n")
    grader.load_ipython_extension(shell)
    run_cell("%grade double")
    assert len(graded) == 1


def test_grade_is_run_outside_of_the_kernel(tiny_course, monkeypatch, tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('not the library')")
    monkeypatch.chdir(tiny_course.root)
    monkeypatch.setenv("PYTHONPATH", str(grader.__path__[0]) + "/..", prepend=":")
    kata = magics.grade_source(tiny_course.kata_info("double"), f"\n{RIGHT}")
    assert (kata.status, kata.score) == ("passed", 1000)


def test_a_message_of_grade_is_shown(tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    with pytest.raises(CourseError, match=r"^The key none\.key cannot be read: no such"):
        magics.grade_source(tiny_course.kata_info("double"), RIGHT, key="none.key")


@pytest.fixture
def seen(tiny_files, tmp_path, write, monkeypatch):
    """The folder of a course that shows what ours shows, in which the shell runs now."""
    monkeypatch.chdir(write(tmp_path, {**tiny_files, **SYLLABUS}))  # after the shell's own
    (tmp_path / "see").symlink_to(ROOT / "see")


@pytest.mark.usefixtures("shell", "seen")
def test_see_shows_a_page_in_a_closed_frame_and_the_text_beside_it(run_cell):
    run_cell(f"%%kata double\n{RIGHT}")
    shown = run_cell("%see attention").outputs[0].data
    assert shown["text/html"].startswith('<iframe sandbox="allow-scripts" style=')
    assert shown["text/html"].count("<") == 2  # the page is an attribute, in which nothing is markup
    assert "Content-Security-Policy" in shown["text/html"]
    assert shown["text/plain"].startswith("Attention, step by step\n")


def test_the_cells_of_the_notebook_are_what_is_shown(tmp_path, write):
    softmax = {
        "tests/katas/attention/test_softmax.py": """
            from grader import strategies as st
            from grader.kata import Kata

            KATA = Kata(
                "softmax", track="attention", entry_points=("softmax",), title="Softmax", source="nowhere",
                hints=("Divide.",), bank_size=2,
            )

            @KATA.cases
            def cases(draw):
                return {"x": draw(st.arrays((2,), "float32"))}
        """,
        "solutions/attention/softmax/reference.py": "def softmax(x):\n    return x / x.size\n",
        "exercises/attention/softmax.py": "def softmax(x):\n    raise NotImplementedError\n",
    }
    course = Course(write(tmp_path, {**softmax, **SYLLABUS}))
    (tmp_path / "see").symlink_to(ROOT / "see")
    _, shown = magics.see_sources(course, {"softmax": "def softmax(x):\n    return x / x.size\n"}, [])
    assert re.search(r"1 of \d+ katas of the decoder are yours\.", shown)
    assert "● softmax" in shown
    assert "NotImplementedError" in (tmp_path / "exercises/attention/softmax.py").read_text()


@pytest.mark.usefixtures("shell", "seen")
def test_a_section_that_does_not_exist_is_a_usage_error(run_cell):
    said = run_cell("%see softmax")
    assert "There is no section `softmax` to see" in said.stderr + said.stdout
    assert "Traceback" not in said.stderr + said.stdout
