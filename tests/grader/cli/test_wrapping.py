"""Tests that no text for a terminal is broken inside a word, or runs over a line, at any width."""

import ast
import inspect
import re

import pytest
from click.testing import CliRunner

from grader.cli import options
from grader.cli.grade import grade
from grader.cli.kata_list import kata_list, welcome
from grader.cli.keyboard import help_text
from grader.cli.loop import KEYS
from grader.course.catalog import open_course
from grader.course.known_solutions import other_way
from grader.course.mistake_edits import read_edits
from grader.formats import terminal
from grader.formats.terminal import View
from grader.grading.standings import after_pass, standings
from grader.report import CheckReport, KataReport, Mistake, Place
from grader.texts.wrapping import is_code, paragraphs, reflowed, words

WIDTHS = [60, 80, 120]
COURSE = open_course(None)


def texts_of_mistakes(info):
    """Return what a student is told about each known mistake of a kata."""
    texts = [mistake.text for mistake in read_edits(COURSE.edits(info))]
    if (path := COURSE.solution(info, "mistakes")).is_file():
        body = ast.parse(path.read_text()).body
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        texts += [" ".join(inspect.cleandoc(ast.get_docstring(node) or "").split()) for node in found]
    return texts


def assert_wrapped(shown, text, width):
    """Fail if a line that could be shorter is longer than `width`, or if a word of the text is broken."""
    for line in shown.splitlines():
        lead = len(line) - len(line.lstrip())
        assert len(line) <= width or " " not in line[lead:].strip() or is_code(line), line
    assert text.split() == [word for word in shown.split() if word != "|"] or not text


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_hints_titles_and_mistakes_are_wrapped_at_words(width):
    for info in COURSE.katas.values():
        texts = [*info.hints, other_way(COURSE, info), *texts_of_mistakes(info)]
        for text in texts:
            assert_wrapped(paragraphs(text, width), text, width)
            check = CheckReport(
                "a", "Every entry equals the reference.", "failed", 0, 100, text, "f(x)",
                {"x": "[1.0, 2.0]    float32 (2)"}, "[1.0, 2.0]", "[1.0, 3.0]", "[1]", Mistake("m", text),
                place=Place(3, "    return x + 1", 11, 16),
            )  # fmt: skip
            kata = KataReport(info.name, info.track, "failed", 1000, checks=(check, check))
            assert_wrapped(terminal.render_kata(kata, View(width=width)), "", width)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_the_welcome_and_the_keys_are_wrapped_at_words(width):
    first = next(iter(COURSE.katas.values()))
    shown = kata_list(COURSE, width=width)
    assert_wrapped(shown, "", width)
    assert max(map(len, shown.splitlines())) <= width
    told = " ".join(shown.split())
    assert [info.title for info in COURSE.katas.values() if info.title not in told] == []
    assert_wrapped(welcome(COURSE, first, width=width), "", width)
    assert_wrapped(help_text(KEYS, width), "", width)
    assert_wrapped(paragraphs(after_pass(COURSE, first, standings(COURSE)), width), "", width)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_help_of_the_command_is_wrapped_at_words(width):
    shown = CliRunner().invoke(grade, ["--help"], terminal_width=width).stdout
    assert_wrapped(shown, "", width)
    assert [line for line in shown.splitlines() if re.search(r"\w-$", line)] == []


def test_a_word_longer_than_a_line_is_kept_whole():
    path = "/a" * 40
    assert words(f"It is in {path}.", 60, "  ", "    ") == ["  It is in", f"    {path}."]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_sentences_on_standard_error_are_wrapped_on_a_terminal_alone(monkeypatch, capsys, is_terminal):
    monkeypatch.setenv("COLUMNS", "60")
    for stream in (options.sys.stdout, options.sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    options.WrongInput("word " * 30).show()
    assert (max(map(len, capsys.readouterr().err.splitlines())) <= 60) == is_terminal


@pytest.mark.parametrize("width", WIDTHS)
def test_statements_are_wrapped_at_words_by_paragraphs(width):
    for info in COURSE.katas.values():
        statement = inspect.cleandoc(ast.get_docstring(ast.parse(COURSE.stub(info).read_text())) or "")
        shown = reflowed(statement, width)
        assert_wrapped(shown, "", width)
        assert shown.split() == statement.split()


def test_paragraphs_are_joined_and_indented_lines_are_not():
    text = f"{'word ' * 13}end\nof it\n\n    x = 1\n    y = 2"
    assert reflowed(text, 60) == f"{'word ' * 11}word\nword end of it\n\n    x = 1\n    y = 2"


def test_code_is_not_wrapped():
    text = "The sum is taken over `x.sum(axis=-1, keepdims=True)` (or `x.mean()`), row by row."
    assert paragraphs(text, 40).splitlines() == [
        "The sum is taken over",
        "`x.sum(axis=-1, keepdims=True)` (or",
        "`x.mean()`), row by row.",
    ]
    for code in (
        "    y = (x - x.mean(axis=-1, keepdims=True)) / s",
        "    y = x @ w + b * 2  # the bias is added last",
    ):
        assert paragraphs(code, 40) == code


def test_code_that_is_longer_than_a_line_is_wrapped_and_so_is_the_row_of_a_table():
    assert words(f"Is `{'x + ' * 12}x` right?", 40)[0] == f"Is `{'x + ' * 9}".rstrip()
    assert paragraphs("    q  [..., Tq, d_k]    Tq queries   scores", 40).splitlines() == [
        "    q  [..., Tq, d_k]    Tq queries",
        "    scores",
    ]
