"""Test of the guides for instructors: write their files, run their commands and compare the output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("first-course.md", "module-kata.md", "chance-kata.md", "importing.md", "audit.md", "concepts.md")
GUIDES = [ROOT / "docs" / name for name in PAGES]
MINUTES = ("audit",)  # pages whose commands take minutes, and are run before a release alone
BLOCK = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PROGRAMS = {
    "kata": "from grader.cli.kata import kata; kata()",
    "grade": "from grader.cli.grade import main; main()",
}
SECONDS = re.compile(r" +\d+\.\d$", re.MULTILINE)


@pytest.fixture
def shell(tmp_path):
    """`shell(command, folder)` returns the output of a command, with `kata` and `grade` on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, code in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
        (programs / name).chmod(0o755)
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run(command, folder):
        return subprocess.run(
            command, shell=True, cwd=folder, env=variables, capture_output=True, text=True, timeout=240
        ).stdout

    return run


def commands(text):
    """Yield each command of a console block with its output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.mark.slow
@pytest.mark.parametrize(
    "guide",
    [pytest.param(one, id=one.stem, marks=[pytest.mark.rest] * (one.stem in MINUTES)) for one in GUIDES],
)
@pytest.mark.skipif(os.name == "nt", reason="the guide's commands are those of a POSIX shell")
def test_the_commands_of_a_guide_print_what_it_shows(shell, tmp_path, guide):
    if guide.stem == "module-kata":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    folder, seen = tmp_path, []
    for block in BLOCK.finditer(guide.read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"], encoding="utf-8")
            continue
        for command, output in commands(block["text"]):
            if command.startswith("cd "):
                folder = (folder / command.removeprefix("cd ")).resolve()
                continue
            seen.append(command.split()[0])
            said = shell(command, folder)
            assert SECONDS.sub("", said).rstrip() == SECONDS.sub("", output).rstrip(), command
    assert seen.count("kata") >= 2
    assert guide.stem != "first-course" or "grade" in seen


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_page_that_a_guide_links_exists(guide):
    pages = set(re.findall(r"\]\(([\w-]+\.md)\)", guide.read_text(encoding="utf-8")))
    assert {page for page in pages if not (guide.parent / page).is_file()} == set()
