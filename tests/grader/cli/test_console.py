"""Tests of what the console adds to a report: links on paths, the place of a mistake, the height."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli import console
from grader.cli.console import Console, linked, refusal_text, renamed_text, view_of
from grader.cli.options import GradeOptions
from grader.cli.output import ReportOutput
from grader.formats.terminal import View
from grader.report import CheckReport, KataReport, Place, Repair


def test_a_path_of_a_file_that_exists_is_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "softmax.py").touch()
    uri = (tmp_path / "softmax.py").as_uri()
    files = [tmp_path / "softmax.py"]
    shown = linked("in softmax.py. Not in top_k.py, nor in a.softmax.pyc", View(links=True), files)
    link = f"\x1b]8;;{uri}\x1b\\softmax.py\x1b]8;;\x1b\\"
    assert shown == f"in {link}. Not in top_k.py, nor in a.softmax.pyc"
    assert linked("in softmax.py", View(), files) == "in softmax.py"


def test_a_path_that_a_submission_prints_is_text(tmp_path):
    printed = f"~nosuchuser/x.py {'a' * 300}.py /etc/passwd.py {tmp_path}/other.py"
    assert linked(printed, View(links=True), [tmp_path / "softmax.py"]) == printed


def test_links_are_for_terminals_outside_vs_code_with_colour_or_without(monkeypatch):
    class Terminal:
        encoding = "utf-8"

        @staticmethod
        def isatty():
            return True

    monkeypatch.setattr(console.sys, "stdout", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM_PROGRAM", "kitty")
    assert view_of(GradeOptions()).links
    assert not view_of(GradeOptions(ascii_only=True)).links
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    assert not view_of(GradeOptions()).links
    monkeypatch.setenv("TERM_PROGRAM", "kitty")
    monkeypatch.setattr(Terminal, "isatty", staticmethod(lambda: False))
    assert not view_of(GradeOptions()).links


CHECK = CheckReport(
    "agrees", "Agrees.", "failed", 0, 100, "", "f(1)", {}, "1", "2", differs="It differs.", role="ordinary"
)
VERDICT = KataReport("softmax", "attention", "failed", 100, checks=(CHECK,))


def test_the_verdict_is_printed_at_once_and_the_place_when_it_is_found(capsys):
    shown = Console(ReportOutput(("terminal",), None), 1, View())
    shown.show_verdict(VERDICT, Path("exercises/attention/softmax.py"), is_searched=True)
    at_once = capsys.readouterr().out
    assert at_once.splitlines()[0] == "softmax  0 / 1"
    assert "grade hint softmax" not in at_once
    repair = Repair("a name", Place(4, "    return g(x)", 11, 15))
    shown.finish_kata(VERDICT, replace(VERDICT, repairs=(repair,)), Path("my.py"))
    assert capsys.readouterr().out.splitlines() == [
        "",
        "  Changing only this spot makes every check pass: a name.",
        "    4 │ return g(x)",
        "      │        ^^^^",
        "",
        "  a hint  grade hint softmax",
        "  more    grade softmax --full (all checks)",
        "  graded  my.py",
        "",
    ]


def test_a_report_leaves_room_for_a_place_that_is_searched(capsys):
    shown = Console(ReportOutput(("terminal",), None), 1, View())
    long = replace(CHECK, call="import a\n" + "a.b()\n" * 12)
    lengths = []
    for is_searched in (False, True):
        shown.show_verdict(replace(VERDICT, checks=(long,)), Path("softmax.py"), is_searched=is_searched)
        lengths.append("import a" in capsys.readouterr().out)
    assert lengths == [True, False]


@pytest.mark.parametrize(("rows", "lines"), [(24, 22), (10, 22), (28, 26), (60, 30)])
def test_a_report_has_the_lines_that_a_terminal_shows(monkeypatch, rows, lines):
    monkeypatch.setenv("LINES", str(rows))
    monkeypatch.setattr(console.sys.stdout, "isatty", lambda: True)
    assert view_of(GradeOptions()).lines == lines
    monkeypatch.setattr(console.sys.stdout, "isatty", lambda: False)
    assert view_of(GradeOptions()).lines == 22


@pytest.mark.parametrize("name", ["softmax.py.txt", "softmax.txt", "softmax (1).py", "Softmax.py"])
def test_a_file_with_nearly_the_name_of_a_missing_one_is_named(tmp_path, name):
    (tmp_path / name).touch()
    told = f"Beside it lies {name}: name that file softmax.py."
    assert renamed_text(tmp_path / "softmax.py") == told
    missing = replace(VERDICT, status="error", message="There is no file.", checks=())
    assert refusal_text(missing, tmp_path / "softmax.py") == f"There is no file. {told}"


@pytest.mark.parametrize("name", ["softmax_stable.py", "my_softmax.py", "softmax.ipynb", "softmax-old.py"])
def test_a_file_of_another_name_is_not(tmp_path, name):
    (tmp_path / name).touch()
    assert renamed_text(tmp_path / "softmax.py") == renamed_text(tmp_path / "none" / "softmax.py") == ""
