"""Time from a save to the verdict in the loop of `grade`, on a pseudo-terminal.

    python benchmarks/save_to_verdict.py [SAVES]

A copy of the course is graded. The saves are the reference and a mistake of the course in turn. The mistake
is named, so no search for its place runs at the next save. The time is up to the line of keys, so it includes
noticing the save; the first save is counted apart. A run before the measurement fills the cache of cases and
mistakes.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources

ROOT = Path(__file__).resolve().parents[1]
SAVES = 50
KATAS = ("softmax", "causal_mask", "layer_norm", "rms_norm", "top_p")
BARS = {"numpy": 0.15, "torch": 0.3}  # seconds, for the median
END = "q quit"


class Loop:
    """The loop, run on a pseudo-terminal."""

    def __init__(self, course: Path) -> None:
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "grader.cli.grade", "--course", str(course)]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL)
        os.close(slave)

    def wait(self) -> str:
        """Return what is printed up to the line of keys."""
        printed = ""
        while END not in printed:
            if not select.select([self.master], [], [], 120)[0]:
                raise SystemExit(f"The loop prints nothing more after {printed!r}.")
            printed += os.read(self.master, 1 << 16).decode(errors="replace")
        return printed

    def quit(self) -> None:
        os.write(self.master, b"q")
        self.process.wait(30)


def copied_course(folder: Path) -> Path:
    for name in ("exercises", "tests/katas", "solutions"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def seconds_of(course: Path, name: str, saves: int) -> list[float]:
    """Return the seconds of each save. The kata is begun, so that its library is loaded at the start."""
    known = Course(course)
    info = known.kata_info(name)
    file = known.stub(info)
    stub = file.read_text()
    right = known.solution(info, "reference").read_text()
    wrong = next(iter(standalone_sources(known, info, "mistakes").values()))
    file.write_text(wrong)
    warm = Loop(course)
    warm.wait()
    warm.quit()
    loop, found = Loop(course), []
    loop.wait()
    for number in range(saves):
        time.sleep(0.2)
        began = time.monotonic()
        file.write_text(f"{wrong if number % 2 else right}\n# save {number}\n")
        loop.wait()
        found.append(time.monotonic() - began)
    loop.quit()
    file.write_text(stub)
    return found


def main() -> None:
    saves = int(sys.argv[1]) if len(sys.argv) > 1 else SAVES
    print("| kata | library | first save | median | 95th percentile | bar |\n|---|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        course = copied_course(Path(folder))
        for name in KATAS:
            library = Course(course).kata_info(name).library
            found = seconds_of(course, name, saves + 1)
            first, *later = found
            median, high = statistics.median(later), statistics.quantiles(later, n=20)[-1]
            bar = f"≤ {BARS[library]} s {'✓' if median <= BARS[library] else '✗'}"
            print(
                f"| `{name}` | {library} | {first:.2f} s | {median:.3f} s | {high:.3f} s | {bar} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
