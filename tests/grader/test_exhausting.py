"""Tests that no submission exhausts the grader's memory or makes its report too long.

`benchmarks/exhausting.py` measures how long each takes.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from grader.course.catalog import Course

HERE = Path(__file__).parent
COURSE = Course(HERE.parents[1])
MOST_MIB = 370  # MiB of the grading process beyond its library; PyTorch for the CPU takes 230
REPORT = 256_000  # bytes
#: These take long, so only the benchmark runs them.
SLOWEST = {
    "arrays_of_64_mib",
    "as_many_ids_as_may_travel",
    "as_slow_as_it_may_be",
    "calls_without_end",
    "keys_of_one_hash",
    "large_tensors",
    "sleeps_below_the_limit",
}
FILES = [file for file in sorted(HERE.glob("exhausting/*/*.py")) if file.stem not in SLOWEST]

MEASURED = """
import sys
from pathlib import Path

try:
    {code}
finally:
    status = Path("/proc/self/status").read_text()
    print(next(line for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)
"""


def run(code, *arguments):
    """Return what the code prints, and its peak memory in MiB."""
    command = [sys.executable, "-c", MEASURED.format(code=code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=COURSE.root)
    return done.stdout, int(done.stderr.splitlines()[-1].split()[1]) // 1024


@cache
def memory_of(library):
    """Return the peak memory of importing the library, in MiB: PyTorch for CUDA is larger."""
    return run(f"import {library}")[1]


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.skipif("linux" not in sys.platform, reason="peak memory is read from /proc")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_memory_and_report_have_limits(file):
    name, code = file.parent.name, "from grader.cli.grade import grade; grade(sys.argv[1:])"
    printed, peak = run(code, name, "--file", str(file), "--format", "json")
    assert peak <= MOST_MIB + memory_of(COURSE.kata_info(name).library)
    assert len(printed) < REPORT
    (kata,) = json.loads(printed)["katas"]
    assert kata["status"] == "failed"
    assert kata["score"] <= kata["max_score"] / 2
