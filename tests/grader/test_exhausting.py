"""Tests that no submission exhausts the grader's memory or makes its report too long.

`benchmarks/exhausting.py` measures how long each takes.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PEAK = 600  # MiB of the grading process
REPORT = 256_000  # bytes
#: These take a minute each, so only the benchmark runs them.
SLOWEST = {"as_slow_as_it_may_be", "sleeps_below_the_limit", "calls_without_end"}
FILES = [file for file in sorted(HERE.glob("exhausting/*/*.py")) if file.stem not in SLOWEST]

GRADE = """
import sys
from pathlib import Path
from grader.cli.grade import grade
try:
    grade(sys.argv[1:])
finally:
    status = Path("/proc/self/status").read_text()
    print(next(line for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)
"""


def grade(file):
    """Return the report as JSON, and the peak memory of the command in MiB."""
    command = [sys.executable, "-c", GRADE, file.parent.name, "--file", str(file), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1])
    return done.stdout, int(done.stderr.splitlines()[-1].split()[1]) // 1024


@pytest.mark.slow
@pytest.mark.skipif("linux" not in sys.platform, reason="peak memory is read from /proc")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_memory_and_report_have_limits(file):
    printed, peak = grade(file)
    assert peak <= PEAK
    assert len(printed) < REPORT
    (kata,) = json.loads(printed)["katas"]
    assert kata["status"] == "failed"
    assert kata["score"] <= kata["max_score"] / 2
