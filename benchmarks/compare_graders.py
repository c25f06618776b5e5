"""Compare graders on one class: `kata grade`, nbgrader, otter-grader, and pytest in a process per submission.

python benchmarks/compare_graders.py [STUDENTS] [THEIRS]     the others grade THEIRS students
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from assert_cells import TEST_NAME, notebook, otter_test
from invented_class import KATAS, ROOT, invent

from grader.course.catalog import Course
from grader.course.files import cache_folder

CORES = 2
PACKAGES = ("numpy", "torch", "nbgrader", "otter-grader", "pytest", "hypothesis")
BARS = {"nbgrader autograde": 2, "otter run": 4}  # times their throughput that is required
SCORES = """
import sys, json
from nbgrader.api import Gradebook
with Gradebook(sys.argv[1]) as book:
    found = [(s.student.id, n.name, n.score) for s in book.assignment_submissions("ps1") for n in s.notebooks]
print(json.dumps(found))
"""

Passed = set[tuple[str, str]]  # pairs of student and kata with full points


@cache
def environment() -> Path:
    """Return the `bin` folder of a separate virtual environment with the other graders; create it once."""
    folder = Path(os.environ.get("DOJO_BENCH", cache_folder() / "benchmark")) / "graders"
    if not (folder / "bin" / "otter").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        versions = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "torch==" in line]
        subprocess.run([*pip, *versions, *(p for p in PACKAGES if p != "torch")], check=True)
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"  # they start each other's commands by name
    return folder / "bin"


def ours(submissions: Path, work: Path) -> Passed:
    """Grade with `kata grade`."""
    command = "from grader.cli.kata import kata; kata()"
    run = [sys.executable, "-c", command, "grade", submissions, "--output", work]
    subprocess.run([str(word) for word in run], cwd=ROOT, check=True, capture_output=True)
    lines = map(json.loads, (work / "reports.jsonl").read_text().splitlines())
    return {
        (line["student"], kata["name"])
        for line in lines
        for kata in line["report"]["katas"]
        if kata["status"] == "passed"
    }


def nbgrader(submissions: Path, work: Path) -> Passed:
    """Grade with nbgrader, as an assignment of six notebooks, in one process as by default."""
    for info in map(Course(ROOT).kata_info, KATAS):
        _put(work / "source" / "ps1" / f"{info.name}.ipynb", notebook(info.name, "pass"))
        for folder in submissions.iterdir():
            answer = (folder / f"{info.name}.py").read_text()
            _put(work / "submitted" / folder.name / "ps1" / f"{info.name}.ipynb", notebook(info.name, answer))
    command, wish = environment() / "nbgrader", ["ps1", "--create", "--force"]
    subprocess.run([command, "generate_assignment", *wish], cwd=work, check=True, capture_output=True)
    with clock("nbgrader autograde"):  # it exits with 1 if a notebook raised an error
        subprocess.run([command, "autograde", *wish], cwd=work, capture_output=True)
    url = f"sqlite:///{work / 'gradebook.db'}"
    told = subprocess.run([environment() / "python", "-c", SCORES, url], check=True, capture_output=True)
    return {(student, name) for student, name, score in json.loads(told.stdout) if score == 10}


def otter(submissions: Path, work: Path) -> Passed:
    """Grade with `otter run`, one notebook per run, as many in parallel as there are cores."""
    for name in KATAS:
        _put(work / name / "tests" / f"{TEST_NAME}.py", otter_test(name))
        generate = [environment() / "otter", "generate", "-t", "tests", "-o", "auto.zip", "--no-requirements"]
        done = subprocess.run([*generate, "--no-environment"], cwd=work / name, capture_output=True)
        assert (work / name / "auto.zip").exists(), done.stderr.decode()

    def run(job: tuple[str, str]) -> bool:
        student, name = job
        folder = work / name / student
        check = "import otter\ngrader = otter.Notebook(tests_dir='tests')", f"grader.check('{TEST_NAME}')"
        answer = (submissions / student / f"{name}.py").read_text()
        _put(folder / f"{name}.ipynb", notebook(name, answer, check))
        command = [environment() / "otter", "run", f"{name}.ipynb", "-a", "../auto.zip", "-o", "."]
        subprocess.run([*command, "--no-logo"], cwd=folder, capture_output=True)
        try:
            tests = json.loads((folder / "results.json").read_text())["tests"]
        except (OSError, ValueError, KeyError):
            return False
        return all(test.get("score") == test.get("max_score") for test in tests if "max_score" in test)

    return _all_jobs("otter run", submissions, run)


def pytest(submissions: Path, work: Path) -> Passed:  # noqa: ARG001  # all graders have the same signature
    """Grade with the laws under pytest, one process per submission, in parallel."""

    def run(job: tuple[str, str]) -> bool:
        student, name = job
        info = Course(ROOT).kata_info(name)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(info.path)]
        file = submissions / student / f"{name}.py"
        return subprocess.run([*command, f"--student={file}"], cwd=ROOT, capture_output=True).returncode == 0

    return _all_jobs("pytest", submissions, run)


def _all_jobs(name: str, submissions: Path, run: Callable[[tuple[str, str]], bool]) -> Passed:
    jobs = [(folder.name, kata) for folder in sorted(submissions.iterdir()) for kata in KATAS]
    with clock(name), ThreadPoolExecutor(CORES) as pool:
        passed = list(pool.map(run, jobs))
    return {job for job, right in zip(jobs, passed, strict=True) if right}


class clock:
    """Context manager that adds its duration to `seconds`, so that setting up is not measured."""

    seconds: dict[str, float] = {}  # noqa: RUF012  # shared by all clocks on purpose

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.name] = time.perf_counter() - self.began


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def compare(students: int, theirs: int, folder: Path) -> int:
    """Print the table; return 1 if a bar is missed, else 0."""
    sizes = {"class": students, "part": theirs}
    known = {name: invent(folder / name, size, distinct=True) for name, size in sizes.items()}
    environment()
    contenders = {"kata grade": ours, "nbgrader autograde": nbgrader, "otter run": otter, "pytest": pytest}
    print(f"{CORES} cores\n")
    print("| | gradings | a grading | ratio | largest process | full points |")
    print("|---|---:|---:|---:|---:|---:|")
    each: dict[str, float] = {}
    for name, grade in contenders.items():
        handed_in = "class" if grade is ours else "part"
        made = known[handed_in]
        work = folder / name.replace(" ", "-")
        work.mkdir()
        with clock(f"{name}, all of it"):
            passed = grade(folder / handed_in, work)
        each[name] = clock.seconds.get(name, clock.seconds[f"{name}, all of it"]) / len(made)
        print(row(name, each, made, passed), flush=True)
    return int(any(each[name] < times * each["kata grade"] for name, times in BARS.items()))


def row(name: str, each: dict[str, float], made: dict[tuple[str, str], str], passed: Passed) -> str:
    """Return a row of the table."""
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10  # the largest so far
    told = (
        f"{len(made)} | {1e3 * each[name]:.0f} ms | {each[name] / each['kata grade']:.1f} × | ≤ {memory} MiB"
    )
    return f"| `{name}` | {told} | {len(passed)} |"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="dojo-bench-") as place:
        numbers = [int(number) for number in sys.argv[1:3]]
        sys.exit(compare(*(numbers + [60, 5][len(numbers) :]), Path(place)))
