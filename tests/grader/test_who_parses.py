"""Which processes parse a text of a student's while the project runs: those that judge, and no other.

`test_readers.py` lists the places; here each process notes what it parses. A text with MARK in it is handed
in, and every interpreter that is not isolated notes each text with MARK that `compile` or `ast.parse` gets,
with the module that asks. Readers and workers are isolated interpreters, or forks that can write nowhere.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from grader.course.catalog import Course

from .test_readers import JUDGE, MINE, PLACES

ROOT = Path(__file__).parents[2]
MARK = "a_text_of_a_student"
SITE = """
import os, sys

PLACE, ROOT, MARK = {place!r}, {root!r}, {mark!r}

def write(text):
    try:
        place = os.open(PLACE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(place, text.encode())
        os.close(place)
    except OSError:
        pass

def note(event, given):
    if event != "compile":
        return
    text = given[0].decode("latin-1") if isinstance(given[0], bytes) else given[0]
    if isinstance(text, str) and MARK in text:
        frame = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(ROOT):
            frame = frame.f_back
        name = frame.f_code.co_filename[len(ROOT):-3] if frame is not None else ""
        write(f"{{os.getpid()}} {{name}}\\n")

write(f"{{os.getpid()}} began\\n")
sys.addaudithook(note)
"""
WRONG = f"""
import numpy as np

{MARK} = 5


def double(x):
    if isinstance(x, str):
        raise ValueError("text")
    return {MARK} * np.asarray(x)
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="elsewhere workers are interpreters that are not isolated"
    ),
]


class Notes:
    """What the processes have noted."""

    def __init__(self, folder):
        self.place, site = folder / "notes", folder / "site"
        site.mkdir()
        code = SITE.format(place=str(self.place), root=f"{ROOT}{os.sep}", mark=MARK)
        (site / "sitecustomize.py").write_text(code)

    def read(self):
        """What each process has noted, by its number: that it has begun, which no fork does, and modules."""
        found = {}
        for line in self.place.read_text().splitlines():
            pid, _, what = line.partition(" ")
            found.setdefault(int(pid), set()).add(what)
        return found


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """What the processes note that a test starts."""
    found = Notes(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    return found


def held(notes, pid):
    """Fail if the process has parsed what is the student's; return the modules that have, in the others."""
    noted = notes.read()
    assert noted.pop(pid) == {"began"}
    others = set().union(*noted.values()) - {"began"}
    assert all(PLACES[name][1].startswith((JUDGE, MINE)) for name in others)
    return others


def number_of(notes, command):
    """The number of the process that runs a command of `grade`."""
    words = {pid: Path(f"/proc/{pid}/cmdline") for pid in notes.read()}
    [found] = [
        pid for pid, file in words.items() if file.exists() and command in file.read_text().split("\0")
    ]
    return found


def test_the_process_of_a_class_parses_nothing(notes, tiny_course, tmp_path, write):
    """It has a search for each group of files that no mistake explains, and drafts of mistakes."""
    odd = f"def double(x):\n    {MARK} = gc.get_objects\n    yield {MARK}\n"
    files = {"ada/double.py": WRONG, "bob/double.py": f"{WRONG}\n# bob\n", "cy/double.py": odd}
    words = ["-P", "-m", "grader.cli.kata", "grade", write(tmp_path / "in", files), "--kata", "double"]
    words += ["--course", tiny_course.root, "--output", tmp_path / "out"]
    words += ["--graders", "1", "--draft-mistakes", tmp_path / "drafts.py"]
    done = subprocess.Popen([sys.executable, *map(str, words)], cwd=tiny_course.root)
    assert done.wait(300) == 0
    found = held(notes, done.pid)
    assert {"grader/diagnosis/recording", "grader/diagnosis/repair"} <= found


def course_of(folder, files, write):
    """A course of a student's own, whose answer is wrong in a way that has no name."""
    course = Course(write(folder / "course", files))
    write(course.root, {"exercises/attention/double.py": WRONG})
    return course


@pytest.mark.skipif(not find_spec("mcp"), reason="the extra `tutor` is not installed")
def test_the_server_of_an_assistant_parses_nothing(notes, tiny_files, tmp_path, write):
    from ..plugins.editor.test_tutor import Assistant

    course = course_of(tmp_path, tiny_files, write)
    with Assistant(course.root) as assistant:
        assert "double" in assistant.ask("list_katas")
        assert "Twice" in assistant.ask("read_statement", kata="double")
        assert "/ 10" in assistant.ask("judge", kata="double")
        assert "5" in assistant.ask("try_lines", kata="double", lines=MARK)
        pid = number_of(notes, "mcp")
    assert {"grader/diagnosis/repair", "plugins/dojo_page/judge"} <= held(notes, pid)


@pytest.mark.skipif(not find_spec("pygls"), reason="the extra `editor` is not installed")
def test_the_language_server_parses_nothing(notes, tiny_files, tmp_path, write):
    from ..plugins.editor.test_lsp import Editor, run

    course = course_of(tmp_path, tiny_files, write)
    pids = []

    async def work(editor: Editor):
        editor.open()
        assert await editor.diagnostics()
        editor.type(WRONG + "\n\n")
        assert await editor.diagnostics()
        pids.append(number_of(notes, "lsp"))

    run(course.root, work)
    assert "grader/diagnosis/repair" in held(notes, pids[0])


@pytest.mark.skipif(not find_spec("uvicorn"), reason="the extra `page` is not installed")
def test_the_page_parses_nothing(notes, tiny_files, tmp_path, write):
    from ..plugins.page.test_page_server import Tab, entered, served, socket_at

    course = course_of(tmp_path, tiny_files, write)
    with served(course) as (server, url), socket_at(*entered(url)) as socket:
        tab = Tab(socket, "recv")
        tab.ask("hello")
        text = tab.ask("open", kata="double")["text"]
        assert MARK in text
        assert tab.ask("grade", kata="double", text=text)["kind"] == "verdict"
        assert MARK in tab.ask("save", kata="double", text=f"{text}\n{MARK}\n", base="")["text"]
        assert tab.ask("save", kata="double", text=f"{text}\n{MARK}\n", base="", over=True)["kind"] == "saved"
        assert tab.ask("fields", kata="double", text=text)["questions"]
        assert MARK in tab.ask("fill", kata="double", text=text, name=MARK, value="6")["text"]
        [version] = tab.ask("versions", kata="double")["versions"]
        assert (
            MARK
            in tab.ask("difference", kata="double", number=version["number"], text=f"{text}\n{MARK}")["html"]
        )
        assert "5" in tab.ask("try", kata="double", text=text, lines=MARK)["html"]
        assert tab.ask("hint", kata="double")["html"]
    assert {"grader/diagnosis/repair", "plugins/dojo_page/judge"} <= held(notes, server.pid)
