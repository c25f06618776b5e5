"""CPU seconds of a failing `grade` compared with a passing one, for every kata.

python benchmarks/failing.py [--mistakes N] [KATA ...]      N of the course's mistakes per kata
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.cases.generation import spread
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import standalone_sources

ROOT = Path(__file__).resolve().parents[1]
MISTAKES = 5
PASSING = 3  # runs of the reference
MEDIAN_BAR, WORST_BAR = 1.6, 3.0


def cpu_seconds(info: KataInfo, file: Path) -> float:
    """Return the CPU seconds of one `grade`, including its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "grader.cli.grade", info.name, "--file", str(file)]
    subprocess.run(command, cwd=ROOT, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(course: Course, info: KataInfo, folder: Path, mistakes: int) -> tuple[float, list[float]]:
    """Return the median of the passing runs and one run per mistake, after filling the cache."""
    reference = course.solution(info, "reference")
    sources = list(standalone_sources(course, info, "mistakes").values())
    files = []
    for number, source in enumerate(spread(sources, mistakes)):
        files.append(folder / f"{info.name}_{number}.py")
        files[-1].write_text(source, encoding="utf-8")
    cpu_seconds(info, files[0])
    passing = statistics.median(cpu_seconds(info, reference) for _ in range(PASSING))
    return passing, [cpu_seconds(info, file) for file in files]


def compare(names: list[str], mistakes: int, folder: Path) -> int:
    """Print the table; return 1 if a bar is missed, else 0."""
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    print("| kata | passing | failing, median | failing, worst | ratio of medians | ratio of the worst |")
    print("|---|---:|---:|---:|---:|---:|")
    ratios: list[float] = []
    for info in infos:
        passing, failing = measure(course, info, folder, mistakes)
        ratios += [seconds / passing for seconds in failing]
        median, worst = statistics.median(failing), max(failing)
        told = f"{passing:.2f} s | {median:.2f} s | {worst:.2f} s"
        print(f"| `{info.name}` | {told} | {median / passing:.2f} × | {worst / passing:.2f} × |", flush=True)
    median, worst = statistics.median(ratios), max(ratios)
    print(f"\nmedian {median:.2f} × (bar {MEDIAN_BAR} ×), worst {worst:.2f} × (bar {WORST_BAR} ×)")
    return int(median > MEDIAN_BAR or worst > WORST_BAR)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    count = int(arguments[1]) if arguments[:1] == ["--mistakes"] else MISTAKES
    chosen = arguments[2:] if arguments[:1] == ["--mistakes"] else arguments
    with tempfile.TemporaryDirectory(prefix="dojo-bench-") as place:
        sys.exit(compare(chosen, count, Path(place)))
