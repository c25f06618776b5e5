"""Time and memory of `kata grade` for classes of growing size, and the time of a second run in which nothing
has changed; memory must stay nearly constant.

python benchmarks/class_sizes.py [KATA] [SIZES…]     causal_mask, 30 300 3000
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from invented_class import ROOT, differences, invent

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


def measured(submissions: Path, output: Path, kata: str) -> tuple[float, int, int]:
    """Return the seconds, and the peak memory in MiB of the command and of its largest descendant."""
    command = [sys.executable, "-c", "from grader.cli.kata import kata; kata()", "grade", str(submissions)]
    began, most, largest = time.perf_counter(), 0, 0
    options = ["--kata", kata, "--output", str(output)]
    running = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
    while running.poll() is None:
        most = max(most, resident(running.pid))
        largest = max([largest, *map(resident, descendants(running.pid))])
        time.sleep(0.2)
    assert running.returncode == 0
    return time.perf_counter() - began, most >> 10, largest >> 10


def main(kata: str, sizes: list[int]) -> int:
    """Print the table; return 1 if memory grows with the class, else 0."""
    print(
        "| students | seconds | a grading | the second run | the command | its largest process |"
        " verdicts unlike the known |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|")
    held: list[int] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="dojo-bench-") as folder:
            made = invent(Path(folder) / "class", size, (kata,))
            seconds, most, largest = measured(Path(folder) / "class", Path(folder) / "grades", kata)
            again, *_ = measured(Path(folder) / "class", Path(folder) / "grades", kata)
            with (Path(folder) / "grades" / "reports.jsonl").open() as lines:
                unlike = len(list(differences(lines, made)))
        each = f"{1e3 * seconds / size:.0f} ms"
        print(
            f"| {size} | {seconds:.1f} | {each} | {again:.1f} | {most} MiB | {largest} MiB | {unlike} |",
            flush=True,
        )
        held.append(most)
    return int(max(held) > GROWTH * held[0])


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1] if sys.argv[1:] else "causal_mask", [int(n) for n in sys.argv[2:]] or [30, 300, 3000]
        )
    )
