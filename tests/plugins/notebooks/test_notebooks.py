"""Tests of notebooks as files: finding answers, grading them, writing the instructor's notebook."""

import ast
import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.statement import to_markdown, without_statement
from dojo_notebooks.solution import STUB, with_solution
from grader.cli.grade import grade as run_grade
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course, CourseError
from grader.course.submission import (
    LARGEST_NOTEBOOK,
    SubmissionRejected,
    Unreadable,
    cell_of,
    katas_in,
    read_bytes,
)
from grader.formats import html
from grader.installing import install_command
from grader.reading.cells import katas_asked, without_magics
from grader.report import CheckReport, KataReport, Mistake, Panel, Picture

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
KATAS = list(COURSE.katas.values())
DOUBLE = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"


def code(source, **nbgrader):
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}


@pytest.fixture
def notebook(tmp_path):
    """`notebook(*cells)` writes a notebook with these cells and returns its path."""

    def write(*cells, name="mine.ipynb"):
        path = tmp_path / name
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return path

    return write


MINE = "def double(x):\n    return x + x"
EMPTY = f"def double(x):\n    {STUB}"

# --- which cell answers a kata ----------------------------------------------------------------------


def answer_of(path, kata):
    """Return the code of the cell of a notebook that answers a kata."""
    return cell_of(read_bytes(path, path.name, LARGEST_NOTEBOOK, "a notebook"), path.name, kata)


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        ([code("%%kata double\nx = 1")], "\nx = 1"),
        ([code(["%%kata double\n", "x = 1\n", "y = 2"])], "\nx = 1\ny = 2"),
        ([code("%%kata   double  \nx = 1"), code("%%kata other\nx = 2")], "\nx = 1"),
        ([code("%%kata double\nx = 1"), code("%%kata double\nx = 2")], "\nx = 2"),
        ([code(f"%%kata double\n{MINE}", grade_id="double"), code(f"%%kata double\n{EMPTY}")], f"\n{MINE}"),
        ([code(f"%%kata double\n{EMPTY}", grade_id="double"), code(f"%%kata double\n{MINE}")], f"\n{MINE}"),
        ([code(f"%%kata double\n{MINE}", grade_id="double"), code("%%kata double\nx =")], "\nx ="),
        ([code("# my own words\nx = 1", grade_id="double")], "# my own words\nx = 1"),
        ([code("%%kata double", grade_id=["double"])], "\n"),
        ([{**code("%%kata double\nx = 1"), "metadata": "none"}], "\nx = 1"),
        ([code("\n%%kata double\nx = 1")], "\n\nx = 1"),
        ([code("%%time\n%%kata double\nx = 1")], "\n\nx = 1"),
        ([code("%%kata double\n%%capture out\nx = 1")], "\n\nx = 1"),
        ([code("%%kata double\nx = 1\n!ls")], "\nx = 1\npass  # !ls"),
        ([code("%%kata other\nx = 1", grade_id="double"), code("%%kata double\nx = 2")], "\nx = 2"),
    ],
    ids=[
        "text",
        "lines",
        "spaces",
        "last",
        "stub_below",
        "own_cell",
        "syntax_error",
        "magic_lost",
        "odd_name",
        "odd_metadata",
        "empty_line",
        "timed",
        "captured",
        "command",
        "magic_before_mark",
    ],
)
def test_the_cell_that_answers_a_kata(notebook, cells, answer):
    assert answer_of(notebook(*cells), "double") == answer


@pytest.mark.parametrize(
    "cell",
    [
        {**code("%%kata double\nx = 1"), "cell_type": "markdown"},
        code("%%bash\n%%kata double\nx = 1"),
        code("%%kata doubles\nx = 1"),
        code("print('%%kata double')"),
        {"source": 5},
        "%%kata double",
    ],
    ids=["markdown", "run_by_bash", "longer_name", "quoted", "no_text", "no_cell"],
)
def test_cells_that_answer_nothing(notebook, cell):
    with pytest.raises(
        SubmissionRejected, match=r"^mine.ipynb holds no answer: no cell begins with %%kata double\.$"
    ):
        answer_of(notebook(cell), "double")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"cells": [', "mine.ipynb is no notebook, or a damaged one: it cannot be read as JSON."),
        (b"[" * 100_000, "mine.ipynb is no notebook, or a damaged one: it cannot be read as JSON."),
        (b"[]", "mine.ipynb holds no cells; open it in Jupyter and save it as a notebook of version 4."),
        (b'{"worksheets": []}', "mine.ipynb holds no cells; open it in Jupyter and save it as a notebook of"),
        (b'"\xff"', "mine.ipynb is not UTF-8: byte 1 cannot be read. Save it as UTF-8."),
        (b" " * (32 * 2**20 + 1), "mine.ipynb is larger than 32 MiB."),
    ],
    ids=["cut_off", "nested", "a_list", "version_3", "not_utf_8", "too_large"],
)
def test_a_file_that_is_not_a_notebook_is_refused(tmp_path, data, told):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(data)
    with pytest.raises(SubmissionRejected) as refused:
        answer_of(path, "double")
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install \\\n  numpy\nx = 1", "pass  # !pip install \\\n\nx = 1"),
        ("if x:\n    %timeit f(x)", "if x:\n    pass  # %timeit f(x)"),
        ("%time x = f()", "x = f()"),
        ("files = !ls", "files = None  # files = !ls"),
        ("np.sum?\n?np", "pass  # np.sum?\npass  # ?np"),
        ('"""\n%not a magic\n"""\n!ls', '"""\n%not a magic\n"""\npass  # !ls'),
        ("!ls\nx = (1\n %y)", "pass  # !ls\nx = (1\n %y)"),
        ("!ls\nx = 1 \\\n %y", "pass  # !ls\nx = 1 \\\n %y"),
        ("x = 7 %3\ny = x != 2", "x = 7 %3\ny = x != 2"),
        ("def f(:\n", "def f(:\n"),
        ("print('%grade')", "print('%grade')"),
    ],
)
def test_what_only_a_kernel_can_run_is_taken_out(source, plain):
    assert without_magics(source) == plain


def test_a_notebook_of_millions_of_values_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "mine.ipynb").write_bytes(b'{"cells": [' + b"{}," * 1_000_001 + b"{}]}")
    with pytest.raises(Unreadable, match="holds more than 1,000,000 values; clear its outputs and save it"):
        answer_of(tmp_path / "mine.ipynb", "double")


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("%grade softmax", ["softmax"]),
        ("%grade --score softmax\n### BEGIN\n%grade --score --key ../keys softmax", ["softmax"] * 2),
        ("%grade softmax --device cuda --score", ["softmax"]),
        ("x = 1\nprint('%grade softmax')", []),
        ("%grade", []),
    ],
)
def test_the_katas_whose_score_a_cell_requests(source, asked):
    assert katas_asked(source) == asked


def test_a_folder_is_not_a_notebook(tmp_path):
    with pytest.raises(SubmissionRejected, match=r"is a folder; a notebook is needed\.$"):
        answer_of(tmp_path, "double")


def test_the_katas_of_a_notebook_come_in_the_order_of_the_course(notebook):
    path = notebook(code("%%kata b\n1"), code("%%kata a\n1"), code("%%kata unknown\n1"))
    assert katas_in(path, ["a", "b", "c"]) == ["a", "b"]


# --- grade --------------------------------------------------------------------------------------------


@pytest.fixture
def grade_command(tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    return lambda *arguments: CliRunner().invoke(run_grade, [*map(str, arguments), "--format", "json"])


def test_grade_accepts_a_notebook(grade_command, notebook):
    path = notebook(code("import os; os._exit(0)"), code(f"%%kata double\n{DOUBLE}"))
    for arguments in ([path], ["double", "--file", path]):
        [kata] = json.loads(grade_command(*arguments).stdout)["katas"]
        assert (kata["name"], kata["score"], kata["status"]) == ("double", 10.0, "passed")


def test_lines_are_numbered_as_in_the_cell(grade_command, notebook):
    result = grade_command(notebook(code("%%kata double\n\ndef double(x:\n    pass")))
    assert "mine.ipynb (cell double) has a syntax error in line 3: '(' was never closed." in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([code("x = 1")], "mine.ipynb answers no kata: no cell begins with %%kata and a name."),
        ([code("%%kata doubles\n1")], "mine.ipynb answers no kata: no cell begins with %%kata and a name."),
    ],
)
def test_a_notebook_without_answers_is_refused(grade_command, notebook, cells, told):
    result = grade_command(notebook(*cells))
    assert (result.exit_code, result.stderr) == (2, f"{told}\n")


def test_a_notebook_that_is_missing_is_refused(grade_command):
    result = grade_command("missing.ipynb")
    assert (result.exit_code, result.stderr) == (2, "There is no file missing.ipynb.\n")


# --- statements and code ------------------------------------------------------------------------------


def test_a_statement_in_markdown():
    docstring = (
        "A title: with *stars*.\n\nThat *last* 2**3 is `x_i ** 2` * *a, and [a](b) <c>:\n\n"
        "    y  = x_1\n\n    z\n\n"
        "Example, the smallest: $5.\n- an item\n  of two lines\n"
    )
    assert to_markdown(docstring) == (
        "## A title: with \\*stars\\*\n\n"
        "That *last* 2\\*\\*3 is `x_i ** 2` \\* \\*a, and \\[a\\](b) \\<c\\>:\n\n"
        "```text\ny  = x_1\n\nz\n```\n\n"
        "Example, the smallest: \\$5.\n- an item\n  of two lines\n"
    )


@pytest.mark.parametrize("info", KATAS, ids=lambda info: info.name)
def test_formulas_and_shapes_stay_aligned(info):
    docstring = ast.get_docstring(ast.parse(COURSE.stub(info).read_text("utf-8")))
    shown = to_markdown(docstring)
    assert shown.count("```") % 2 == 0
    blocks = "\n".join(shown.split("```")[1::2]).splitlines()
    indented = [line[4:].rstrip() for line in docstring.splitlines() if line.startswith("    ")]
    assert [line for line in indented if line not in blocks] == []


def functions(source):
    """Return function bodies and base classes, without docstrings, annotations and decorators."""
    found = {}

    def visit(node, place):
        for inner in getattr(node, "body", []):
            if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                where = (*place, inner.name)
                if isinstance(inner, ast.ClassDef):
                    found[where] = list(map(ast.unparse, inner.bases))
                else:
                    body = inner.body[1:] if ast.get_docstring(inner) else inner.body
                    found[where] = "\n".join(map(ast.unparse, body))
                visit(inner, where)

    visit(ast.parse(source), ())
    return found


@pytest.mark.parametrize(
    "info", [info for info in KATAS if not info.ships_wrong_code and info.kind.is_code], ids=lambda c: c.name
)
def test_the_instructors_cell_holds_the_whole_reference(info):
    stub = without_statement(COURSE.stub(info).read_text("utf-8"))
    reference = COURSE.solution(info, "reference").read_text("utf-8")
    answer = with_solution(stub, reference)
    assert functions(answer) == functions(reference)
    assert f"{STUB}\n" not in answer
    decorated = [n for n in ast.parse(reference).body if getattr(n, "decorator_list", [])]
    for node in decorated:
        assert f"{node.name} = {ast.unparse(node.decorator_list[0])}({node.name})" in answer


def test_a_kata_that_ships_wrong_code_has_no_solution_in_its_notebook():
    for info in KATAS:
        if info.ships_wrong_code:
            code = without_statement(COURSE.stub(info).read_text("utf-8"))
            assert with_solution(code, COURSE.solution(info, "reference").read_text()) == code


# --- the report in a notebook ---------------------------------------------------------------------------


def failed(name, told):
    return CheckReport(name, f"Title of {name}.", "failed", 0, 500, expected="1", got="<2>", mistake=told)


def test_a_mistake_is_shown_once_and_all_text_is_escaped():
    told = Mistake("halves", "Halved & <b>lost</b>.")
    kata = KataReport(
        "double",
        "attention",
        "failed",
        1000,
        checks=(failed("a", told), failed("b", told)),
        output="<i>\x1b[1m",
    )
    shown = html.fragment(kata)
    assert shown.count("Halved &amp; &lt;b&gt;lost&lt;/b&gt;.") == 1
    assert shown.count("<details open>") == 1
    assert "0 / 10" in shown
    assert "&lt;2&gt;" in shown
    assert "\x1b" not in shown
    assert not {"<b>", "<i>", "<2>"} & set(shown.replace(">", ">\n").split())


def test_a_report_leads_with_the_mistake_and_draws_the_values():
    panels = Panel("expected", ((1.0, 0.0),)), Panel("got", ((0.0, 0.0),))
    picture = Picture("mask", "result", panels, ("row 0",), ("key 0", "key 1"), ((0, 0),))
    check = replace(failed("a", Mistake("halves", "It is halved.")), pictures=(picture,))
    shown = html.fragment(KataReport("double", "attention", "failed", 1000, checks=(check,)))
    assert shown.index("It is halved.") < shown.index("<details open>") < shown.index("Title of a.")
    assert re.findall('<img alt="([^"]*)" src="data:image/svg', shown) == ["expected", "got"]
    assert "&lt;2&gt;" not in shown, "what is drawn is not written as well"


def test_a_kata_without_checks_shows_its_message():
    kata = KataReport("double", "attention", "error", 1000, message="mine.ipynb holds no answer.")
    assert "mine.ipynb holds no answer." in html.fragment(kata)


# --- without the packages -------------------------------------------------------------------------------


@pytest.fixture
def _without_jupyter(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


@pytest.mark.usefixtures("_without_jupyter")
def test_a_missing_package_is_named(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    result = CliRunner().invoke(run_kata, ["notebooks", str(tmp_path / "out")])
    told = f"`kata notebooks` needs nbformat: {install_command('decoder-dojo[notebooks]')}\n"
    assert (result.exit_code, result.stderr) == (4, told)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("_without_jupyter")
def test_a_gradebook_names_the_missing_package():
    from dojo_notebooks.gradebook import write_scores

    with pytest.raises(CourseError) as missing:
        write_scores("gradebook.db", {}, [])
    assert str(missing.value) == f"A gradebook needs nbgrader: {install_command('decoder-dojo[notebooks]')}"
