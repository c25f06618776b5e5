"""Tests of what the console adds to a report: links on paths."""

from grader.cli import console
from grader.cli.console import linked, view_of
from grader.cli.options import GradeOptions
from grader.formats.terminal import View


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
