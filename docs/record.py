"""Record the moving picture of the README: `python docs/record.py` writes `docs/images/loop.svg`.

`grade` runs on a pseudo-terminal in a copy of the course, and an editor above it shows the student's file.
Both are drawn as they are at each step; only how long a step stays is chosen here.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexers import PythonLexer

from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "loop.svg"
KATA = "causal_mask"
WRONG = """\
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError("fewer keys than queries")
    return np.tri(query_len, key_len, dtype=bool)
"""
MENDED = "key_len - query_len, "  # before the dtype

LAST_KEY = "q quit"
READING, GLANCE, TYPING = 9.0, 3.0, 0.1  # seconds
SILENCE = 1.0  # seconds after which the loop has nothing to add
TYPED = re.compile(r"\s*\S{1,4} ?")  # in one step
WORDS = re.compile(r"\S+(?: \S+)*")

COLUMNS, EDITOR, TERMINAL = 76, 8, 21  # characters, and the lines of each window
CELL, LINE, BAR, EDGE = 8.4, 18, 30, 14  # a character's width, heights of a line and a title, a margin
WIDTH, HEIGHT = round(COLUMNS * CELL) + 2 * EDGE, (EDITOR + TERMINAL) * LINE + 2 * BAR + 2 * EDGE
BELOW = BAR + EDITOR * LINE + EDGE  # where the terminal begins
STYLE = """
:root{--back:#fff;--bar:#eaeef2;--line:#d0d7de;--text:#1f2328;--brightblack:#656d76;--red:#c0182a;--green:#116329;
--brown:#8a4600;--blue:#0550ae;--magenta:#8250df;--cyan:#1b7c83}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--bar:#1c2128;--line:#3d444d;--text:#e6edf3;
--brightblack:#9198a1;--red:#ff7b72;--green:#56d364;--brown:#e3b341;--blue:#79c0ff;--magenta:#d2a8ff;--cyan:#76e3ea}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--text)}
.bold{font-weight:bold}
.step{visibility:hidden;animation-timing-function:step-end;animation-iteration-count:infinite}
.still{visibility:visible}
@media(prefers-reduced-motion:reduce){.step{animation:none!important}}
"""

Frame = tuple[float, list[str]]  # how long it stays, and what is drawn


class Recorder:
    """A student at work; `frames` is what was shown so far."""

    def __init__(self, course: Course) -> None:
        self.course, self.frames = course, list[Frame]()
        self.screen = pyte.Screen(COLUMNS, TERMINAL)
        self.stream = pyte.ByteStream(self.screen)
        self.open(KATA)

    def open(self, kata: str) -> None:
        self.file = self.course.stub(self.course.kata_info(kata))
        self.text = self.saved = self.file.read_text()

    def run(self) -> pexpect.spawn:
        """Start the loop on a pseudo-terminal."""
        variables = {**os.environ, "TERM": "xterm-256color", "VISUAL": "", "EDITOR": "true"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):  # the terminal below has its own
            variables.pop(name, None)
        words = ["-P", "-m", "grader.cli.grade", "--screen"]
        size = (TERMINAL, COLUMNS)
        return pexpect.spawn(
            sys.executable, words, cwd=self.course.root, env=variables, dimensions=size, timeout=120
        )

    def solve_before(self) -> None:
        """Solve the katas before this one, unseen."""
        for info in self.course.katas.values():
            if info.name == KATA:
                break
            shutil.copy(self.course.solution(info, "reference"), self.course.stub(info))
        loop = self.run()
        loop.expect(LAST_KEY)
        loop.close()

    def start(self, wrong: str) -> None:
        """Start the loop where the file has a mistake, and read its first report."""
        self.text = self.text.removesuffix("    raise NotImplementedError\n") + wrong
        self.write()
        self.loop = self.run()
        self.read()

    def read(self) -> None:
        """Read a report, which ends with the line of keys, and the one that takes its place once the search
        has found where the mistake is."""
        self.loop.expect(LAST_KEY)
        printed = self.loop.before + self.loop.after
        with suppress(pexpect.TIMEOUT):
            while True:
                printed += self.loop.read_nonblocking(4096, timeout=SILENCE)
        self.stream.feed(printed.replace(b"\x1b[2m", b"\x1b[90m"))  # pyte knows no dim

    def go_on(self, kata: str) -> None:
        """Press Enter, which opens the file of the next kata."""
        self.loop.send("\r")
        self.read()
        self.open(kata)

    def type(self, letters: str, before: str) -> None:
        """Type into the file before the last occurrence of another text."""
        place = self.text.rindex(before)
        head, tail = self.text[:place], self.text[place:]
        for part in TYPED.findall(letters):
            head += part
            self.text = head + tail
            caret = EDITOR - 1 - tail.count("\n"), len(head.rpartition("\n")[2])
            self.show(TYPING, caret)

    def save(self) -> None:
        """Save, and read the report."""
        self.write()
        self.read()

    def write(self) -> None:
        """Write the file as many editors do, so that the loop sees none that is half written."""
        draft = self.file.with_suffix(".draft")
        draft.write_text(self.text)
        draft.replace(self.file)
        self.saved = self.text

    def show(self, seconds: float, caret: tuple[int, int] | None = None) -> None:
        """Add a frame of both windows as they are now."""
        editor = pyte.Screen(COLUMNS, EDITOR)
        text = "\n".join(line[:COLUMNS] for line in self.text.splitlines())
        lines = highlight(text, PythonLexer(), TerminalFormatter()).splitlines()
        pyte.Stream(editor).feed("\r\n".join(lines[-EDITOR:]))
        title = f"{self.file.relative_to(self.course.root)}{' ●' if self.text != self.saved else ''}"
        drawing = [f'<text x="{WIDTH / 2}" y="20" text-anchor="middle">{title}</text>']
        drawing += [*drawn(editor, BAR), *drawn(self.screen, BELOW + BAR)]
        if caret:
            left, top = EDGE + caret[1] * CELL, BAR + EDGE / 2 + caret[0] * LINE
            drawing.append(f'<rect x="{left:.1f}" y="{top}" width="2" height="{LINE}" fill="var(--blue)"/>')
        self.frames.append((seconds, drawing))


def drawn(screen: pyte.Screen, top: int) -> Iterator[str]:
    """Yield a text element for each line of a screen that is not empty."""
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        spans, column = "", 0
        for (colour, bold), same in groupby(cells, lambda cell: (cell.fg, cell.bold)):
            text = "".join(cell.data for cell in same)
            style = f' fill="var(--{colour})"' if colour != "default" else ""
            style += ' class="bold"' if bold else ""
            for words in WORDS.finditer(text):
                left, long = EDGE + (column + words.start()) * CELL, len(words[0]) * CELL
                place = f'x="{left:.1f}" textLength="{long:.1f}"'
                spans += f"<tspan {place}{style}>{escape(words[0])}</tspan>"
            column += len(text)
        if spans:
            yield f'<text y="{top + EDGE / 2 + (row + 0.75) * LINE}">{spans}</text>'


def animated(frames: list[Frame]) -> str:
    """Return the picture. What stays over some frames is drawn once, and shown for as long. Who wants no
    motion sees the frame that stays longest."""
    steps: dict[tuple[int, int], list[str]] = {}
    for number, (_, drawing) in enumerate(frames):
        for element in drawing:
            if number and element in frames[number - 1][1]:
                continue
            end = number + 1
            while end < len(frames) and element in frames[end][1]:
                end += 1
            steps.setdefault((number, end), []).append(element)
    still = max(range(len(frames)), key=lambda number: frames[number][0])
    total = sum(seconds for seconds, _ in frames)
    begins = [100 * sum(seconds for seconds, _ in frames[:number]) / total for number in range(len(frames))]
    rules, groups = "", ""
    for (first, end), elements in steps.items():
        name = f"f{first}-{end}"
        rules += f"@keyframes {name}{{0%{{visibility:hidden}}{begins[first]:.2f}%{{visibility:visible}}"
        rules += f"{begins[end]:.2f}%{{visibility:hidden}}}}\n" if end < len(frames) else "}\n"
        kind = "step still" if first <= still < end else "step"
        groups += f'<g class="{kind}" style="animation-name:{name};animation-duration:{total:.1f}s">'
        groups += "\n".join(elements) + "</g>\n"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" role="img"><title>The loop of grade, on {KATA}</title>\n'
        f"<style>{STYLE}{rules}</style>\n{window(0, '')}{window(BELOW, 'grade')}{groups}</svg>\n"
    )


def window(top: int, title: str) -> str:
    """Return an empty window from here to the lower edge of the picture, or of what is drawn over it."""
    return (
        f'<rect x="1" y="{top + 1}" width="{WIDTH - 2}" height="{HEIGHT - top - 2}" rx="8"'
        ' fill="var(--back)" stroke="var(--line)"/>'
        f'<path d="M1 {top + BAR}V{top + 9}q0 -8 8 -8H{WIDTH - 9}q8 0 8 8V{top + BAR}Z"'
        ' fill="var(--bar)" stroke="var(--line)"/>'
        f'<text x="{WIDTH / 2}" y="{top + 20}" text-anchor="middle">{title}</text>\n'
    )


def record() -> str:
    """Return the picture, recorded anew."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("exercises", "solutions", "tests/katas", "see"):
            shutil.copytree(ROOT / name, Path(folder) / name)
        student = Recorder(Course(Path(folder)))
        student.solve_before()
        student.start(WRONG)
        student.show(READING)
        student.type(MENDED, before="dtype")
        student.save()
        student.show(GLANCE)
        student.go_on("padding_mask")
        student.show(GLANCE)
        student.loop.close()
    return animated(student.frames)


if __name__ == "__main__":
    PICTURE.write_text(record(), encoding="utf-8")
