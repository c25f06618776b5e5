"""Tests of the command that opens a file in the student's editor."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from grader.cli.keyboard import command, open_editor

FILE = Path("softmax.py")


@pytest.fixture(autouse=True)
def _no_editor(monkeypatch):
    for name in ("VISUAL", "EDITOR", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+7", "softmax.py"]),
        ("'/opt/my editor' -n", ["/opt/my editor", "-n", "+7", "softmax.py"]),
        ("code --wait", ["code", "-g", "softmax.py:7"]),
        ("hx", ["hx", "softmax.py:7"]),
    ],
)
def test_every_editor_opens_the_file_at_the_line(monkeypatch, editor, words):
    monkeypatch.setenv("EDITOR", editor)
    assert command(FILE, 7) == words


def test_visual_goes_before_editor(monkeypatch):
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("VISUAL", "vim")
    assert command(FILE, 7)[0] == "vim"


def test_code_is_taken_in_its_own_terminal_or_where_no_editor_is_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert command(FILE, 7) == ["/usr/bin/code", "-g", "softmax.py:7"]
    monkeypatch.setenv("EDITOR", "vim")
    assert command(FILE, 7)[0] == "vim"
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    assert command(FILE, 7)[0] == "/usr/bin/code"


def test_without_an_editor_the_place_is_named(monkeypatch):
    assert open_editor(FILE, 7, nullcontext()) == (
        "There is no editor: set the variable EDITOR. The place is softmax.py:7"
    )
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert open_editor(FILE, 7, nullcontext()).startswith("The editor `no-such-editor` cannot be started.")
