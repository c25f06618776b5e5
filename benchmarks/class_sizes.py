"""Time and memory of `kata grade` for classes of growing size, and the time of a second run in which nothing
has changed; memory must stay nearly constant.

python benchmarks/class_sizes.py --students 30 300 3000 --katas causal_mask
python benchmarks/class_sizes.py --students 300 --katas 20        # so many, from all parts of the course
python benchmarks/class_sizes.py --students 30 300 --engine ray   # on a Ray cluster of this machine alone
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from invented_class import ROOT, differences, invent

from grader.course.catalog import Course

GROWTH = 1.25  # times the memory of the smallest class


def resident(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4
    except (OSError, IndexError):
        return 0


def descendants(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, children) for found in (child, *descendants(child))]


def measured(submissions: Path, output: Path, katas: tuple[str, ...], engine: str) -> tuple[float, int, int]:
    """Return the seconds, and the peak memory in MiB of the command and of its largest descendant."""
    command = [
        sys.executable,
        "-c",
        "from grader.cli.kata import kata; kata()",
        "grade",
        str(submissions),
    ]
    began, most, largest = time.perf_counter(), 0, 0
    options = [
        *(word for kata in katas for word in ("--kata", kata)),
        "--output",
        str(output),
        "--engine",
        engine,
    ]
    running = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
    while running.poll() is None:
        most = max(most, resident(running.pid))
        largest = max([largest, *map(resident, descendants(running.pid))])
        time.sleep(0.2)
    assert running.returncode == 0
    return time.perf_counter() - began, most >> 10, largest >> 10


def chosen(words: list[str]) -> tuple[str, ...]:
    """Return the katas that are named, or as many as a number says, evenly spread over the course."""
    if not words[0].isdecimal():
        return tuple(words)
    names, most = list(Course(ROOT).katas), int(words[0])
    return tuple(names[number * len(names) // most] for number in range(most))


def main(katas: tuple[str, ...], sizes: list[int], engine: str) -> int:
    """Print the table; return 1 if memory grows with the class, else 0."""
    print(
        "| students | katas | seconds | a grading | the second run | the command | its largest process |"
        " verdicts unlike the known |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    held: list[int] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="dojo-bench-") as folder:
            made = invent(Path(folder) / "class", size, katas)
            places = Path(folder) / "class", Path(folder) / "grades"
            seconds, most, largest = measured(*places, katas, engine)
            again, *_ = measured(*places, katas, engine)
            with (Path(folder) / "grades" / "reports.jsonl").open() as lines:
                unlike = list(differences(lines, made))
        cells = (size, len(katas), f"{seconds:.1f}", f"{1e3 * seconds / len(made):.0f} ms", f"{again:.1f}")
        print(f"| {' | '.join(map(str, cells))} | {most} MiB | {largest} MiB | {len(unlike)} |", flush=True)
        print(*unlike[:10], sep="\n", end="\n" if unlike else "", file=sys.stderr)
        held.append(most)
    return int(max(held) > GROWTH * held[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--students", type=int, nargs="+", default=[30, 300, 3000], metavar="N")
    parser.add_argument("--katas", nargs="+", default=["causal_mask"], metavar="KATA", help="or a number")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    options = parser.parse_args()
    sys.exit(main(chosen(options.katas), options.students, options.engine))
