"""Record the picture of docs/editors.md: `python docs/record_editor.py` writes `docs/images/neovim.svg`.

Neovim runs on a pseudo-terminal in a copy of the course, with the lines of docs/editors.md as its settings,
and shows what the language server says of a file.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import tempfile
import time
from pathlib import Path

import pexpect
import pyte

from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs" / "editors.md", ROOT / "docs" / "images" / "neovim.svg"
KATA, NAME = "softmax", "def softmax("
WRONG = """\
    shifted = x - x.max(axis=axis, keepdims=True)
    weights = np.exp(shifted)
    return weights / weights.sum(axis=-1, keepdims=True)
"""
COLUMNS, LINES = 92, 21  # of the terminal
SECONDS = 60.0  # until the verdict is there
PLAIN = """
vim.o.termguicolors, vim.o.ruler, vim.o.shadafile = false, false, 'NONE'
vim.keymap.set('n', 'gl', function() vim.diagnostic.open_float({border = 'single', max_width = 80}) end)
"""


def settings() -> str:
    """Return the lines of the page that every Neovim takes."""
    blocks = re.findall(r"```lua\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if "start_client" in block)


def screen_of(course: Path) -> pyte.Screen:
    """Return the terminal once the verdict stands at its line and is shown in full."""
    init = course / "init.lua"
    init.write_text(settings() + PLAIN, encoding="utf-8")
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    file = Course(course).stub(Course(course).kata_info(KATA))
    name = file.read_text(encoding="utf-8").partition(NAME)[0].count("\n") + 1
    editor = pexpect.spawn(
        "nvim",
        ["-u", str(init), "-n", str(file.relative_to(course))],
        cwd=course,
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(LINES, COLUMNS),
    )

    def read(until: str, seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and until not in "\n".join(screen.display):
            try:
                stream.feed(editor.read_nonblocking(1 << 16, timeout=0.3))
            except pexpect.TIMEOUT:
                continue

    editor.send(f":{name}\rztf(b")
    read("■")
    editor.send("gl")
    read("checks fail")
    read("never", 1.0)  # so that all of it is drawn
    editor.close(force=True)
    return screen


def record() -> str:
    """Return the picture, recorded anew."""
    drawing = runpy.run_path(str(ROOT / "docs" / "record.py"))
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        for name in ("exercises", "solutions", "tests/katas"):
            shutil.copytree(ROOT / name, course / name)
        file = Course(course).stub(Course(course).kata_info(KATA))
        stub = file.read_text(encoding="utf-8")
        file.write_text(stub.replace("    raise NotImplementedError\n", WRONG), encoding="utf-8")
        screen = screen_of(course)
    edge, bar, line = drawing["EDGE"], drawing["BAR"], drawing["LINE"]
    width, height = round(COLUMNS * drawing["CELL"]) + 2 * edge, LINES * line + bar + edge
    title = f"Neovim with grade lsp, on {KATA}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img"><title>{title}</title>\n<style>{drawing["STYLE"]}</style>\n'
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8" fill="var(--back)"'
        f' stroke="var(--line)"/>\n<text x="{width / 2}" y="20" text-anchor="middle">{title}</text>\n'
        + "\n".join(drawing["drawn"](screen, bar))
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(record(), encoding="utf-8")
