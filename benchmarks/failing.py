"""What the first failing `grade` of a kata costs in an empty home, beside the second one and a passing one.

    python benchmarks/failing.py [KATA ...]

Each figure is the CPU time of the whole command with all its processes. The wrong answer is the first known
mistake of the kata, in a file of its own. In an empty home the cases are drawn first, whatever the answer is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions

ROOT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).with_name("grade"))


def main(names: list[str]) -> None:
    """Print a line for each kata and the medians of the ratios."""
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    print("| kata | fails first | fails again | passes first | passes | first / again | fails / passes |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    rows = []
    for info in infos:
        rows.append(row := measured(course, info))
        ratios = f"{row[0] / row[1]:.2f} | {row[1] / row[3]:.2f}"
        print(f"| {info.name} | {' | '.join(f'{seconds:.2f}' for seconds in row)} | {ratios} |", flush=True)
    added = median((row[0] - row[1]) - (row[2] - row[3]) for row in rows)
    print(f"\nMedian of fails / passes: {median(row[1] / row[3] for row in rows):.2f}, at most"
          f" {max(row[1] / row[3] for row in rows):.2f}. Beyond what the cases cost, the first failure costs"
          f" {added:.2f} s more than the second in the median.")  # fmt: skip


def measured(course: Course, info: KataInfo) -> tuple[float, float, float, float]:
    """Return the CPU seconds of two failing gradings and of two passing ones, each pair in a new home."""
    answers = KnownSolutions(course, info, "mistakes")
    sources = {"wrong.py": answers.source_of(answers.names[0]), "right.py": answers.reference_source}
    found = []
    for name, source in sources.items():
        with tempfile.TemporaryDirectory() as home:
            path = Path(home, name)
            path.write_text(source, encoding="utf-8")
            found += [seconds(info, path, home) for _ in range(2)]
    return found[0], found[1], found[2], found[3]


def seconds(info: KataInfo, path: Path, home: str) -> float:
    """Return the CPU seconds of one `grade` with a home folder of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache"}
    command = [COMMAND, info.name, "--file", str(path), "--no-search"]
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
