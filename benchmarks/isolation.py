"""The cost of isolation: one NumPy kata graded in a worker and in this process, and the sandbox alone.

python benchmarks/isolation.py [RUNS]                 durations, with interleaved runs
python benchmarks/isolation.py --gradings 1000        memory over many gradings, some hostile
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grader.checks.context import CheckContext
from grader.checks.runner import run_check
from grader.course.catalog import Course, load_file
from grader.grading import submission_run
from grader.grading.grader import Grader
from grader.grading.session import grade_file
from grader.worker.child.sandbox import apply
from grader.worker.client import RemoteStudent
from grader.worker.fork_server import ForkServer, open_source
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.terms import ALL, ISOLATION, SandboxTerms

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = ROOT / "tests" / "grader" / "submissions"
#: Every fifth grading of the long run is one of these; none of them runs into a time limit.
HOSTILE_NAMES = (
    "exits", "segfaults", "fork_bomb", "leaves_files", "answers_twice", "prints_a_lot", "returns_objects",
    "signals_the_grader", "reads_descriptors", "raises_system_exit",
)  # fmt: skip
BAR = 2.0  # milliseconds per worker that the sandbox may take


def until_greeting(server: ForkServer) -> Callable[[], None]:
    """Return a function that starts a worker, waits until its sandbox is active, and kills it."""

    def run() -> None:
        process = server.start("cpu")
        RemoteStudent(process).greeting(20.0)
        process.kill()

    return run


def timed_functions(course: Course) -> dict[str, Callable[[], None]]:
    """Return the functions to time, by the name of their row."""
    info = course.kata_info("softmax")
    path = course.solution(info, "reference")
    isolated = Grader(course, {"numpy": open_source("numpy")})
    plain = Grader(course, {"numpy": open_source("numpy", isolation="none")})
    prepared = isolated.prepare(info)

    def in_this_process() -> None:
        session = CheckContext(prepared.kata, prepared.oracle, LocalStudent(load_file("softmax", path)))
        assert all(run_check(check, session).status == "passed" for check in prepared.checks)

    return {
        "a worker, without a sandbox": until_greeting(ForkServer("numpy", ("descriptors",))),
        "a worker, in the sandbox": until_greeting(ForkServer("numpy", ALL)),
        "a worker, all but the kernel's layers": until_greeting(ForkServer("numpy", ISOLATION["none"])),
        "softmax graded in this process": in_this_process,
        "softmax graded in a plain worker": lambda: check(grade_file(plain, info, path).report.status),
        "softmax graded in the sandbox": lambda: check(grade_file(isolated, info, path).report.status),
    }


def check(status: str) -> None:
    """Exit if the grading did not pass, since it would measure something else."""
    if status != "passed":
        raise SystemExit(f"the reference is judged `{status}`")


def compare(runs: int) -> int:
    """Print the table; return 1 if the sandbox takes longer than its bar, else 0."""
    rows = timed_functions(Course(ROOT))
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for turn in range(runs + 3):
        for name, run in rows.items():
            began = time.perf_counter()
            run()
            if turn >= 3:  # the first rounds fill caches
                seconds[name].append(time.perf_counter() - began)
    seconds["locking in, measured inside the worker"] = locking = lock_in_seconds(4 * runs)
    print("| | median | fastest | slowest |\n|---|---:|---:|---:|")
    for name, times in seconds.items():
        told = " | ".join(f"{1e3 * of(times):.2f} ms" for of in (statistics.median, min, max))
        print(f"| {name} | {told} |")
    cost = 1e3 * statistics.median(locking)
    print(f"\nThe sandbox costs {cost:.2f} ms a worker (at most {BAR:g}).")
    return int(cost > BAR)


def lock_in_seconds(times: int) -> list[float]:
    """Return the seconds in which workers activate their sandbox, measured inside each worker."""
    reader, writer = os.pipe()
    server = os.fork()
    if server == 0:
        apply.prepare(apply.ALL)
        for _ in range(times):
            if os.fork() == 0:
                began = time.perf_counter()
                apply.lock_in(SandboxTerms(scratch=tempfile.gettempdir()))
                os.write(writer, b"%.7f\n" % (time.perf_counter() - began))
                os._exit(0)
            os.wait()
        os._exit(0)
    os.close(writer)
    os.waitpid(server, 0)
    with open(reader) as told:
        return [float(line) for line in told]


def resources() -> tuple[int, int, int]:
    """Return this process's memory in KiB and its numbers of open descriptors and children."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return pages * os.sysconf("SC_PAGE_SIZE") >> 10, len(os.listdir("/proc/self/fd")), len(children)


def check_growth(gradings: int) -> int:
    """Run many gradings and print the resources in use; return 1 if they have grown, else 0."""
    submission_run.CALL_SECONDS = 1.0
    course = Course(ROOT)
    info = course.kata_info("softmax")
    server = ForkServer("numpy")
    grader = Grader(course, {"numpy": server})
    told = []
    for number in range(gradings):
        hostile = number % 5 == 4
        path = (
            HOSTILE / f"{HOSTILE_NAMES[number // 5 % len(HOSTILE_NAMES)]}.py"
            if hostile
            else course.solution(info, "reference")
        )
        report = grade_file(grader, info, path).report
        assert (report.status == "passed") is not hostile, (path.name, report.status)
        if (number + 1) % max(1, gradings // 10) == 0:
            told.append(resources())
            print(
                "{} gradings: {} KiB, {} descriptors, {} children".format(number + 1, *told[-1]), flush=True
            )
    time.sleep(0.2)  # an ending process closes its channel before it is reaped
    left = len(Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split())
    server.close()
    more = told[-1][0] > 1.05 * told[len(told) // 4][0] or told[-1][1:] != told[0][1:]
    grown = more or left > 1  # one worker is prepared for the next grading
    print("something has grown" if grown else "nothing has grown, and no worker is left but the next one")
    return int(grown)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--gradings"]:
        sys.exit(check_growth(int(sys.argv[2])))
    sys.exit(compare(int(sys.argv[1]) if sys.argv[1:] else 30))
