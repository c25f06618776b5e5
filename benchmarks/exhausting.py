"""Time and peak memory of `grade` on submissions that try to exhaust it.

python benchmarks/exhausting.py [NAME ...]      files of tests/grader/exhausting and tests/grader/submissions
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "grader"
OTHER_KATAS = {"forged_tensor": "top_p", "breaks_a_rule": "", "breaks_a_rule_by_a_detour": ""}
SECONDS, MEMORY = 75, 600  # bars: seconds, MiB


def submissions() -> dict[Path, str]:
    """Return the files and the kata of each."""
    found = {file: file.parent.name for file in sorted(TESTS.glob("exhausting/*/*.py"))}
    for file in sorted(TESTS.glob("submissions/*.py")):
        if kata := OTHER_KATAS.get(file.stem, "softmax"):
            found[file] = kata
    return found


def grade(file: Path, kata: str) -> tuple[float, int]:
    """Return the seconds of the command and the peak memory of its process in MiB."""
    began, peak = time.perf_counter(), 0
    command = [sys.executable, "-m", "grader.cli.grade", kata, "--file", str(file)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None:
        peak = max(peak, peak_memory(running.pid))
        time.sleep(0.01)
    return time.perf_counter() - began, peak


def peak_memory(pid: int) -> int:
    """Return the peak memory of a process so far in MiB, or 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) >> 10 if lines else 0


def main(names: list[str]) -> int:
    """Print the table; return 1 if a bar is missed, else 0."""
    print("| submission | kata | seconds | peak memory |")
    print("|---|---|---:|---:|")
    worst: list[tuple[float, int]] = []
    for file, kata in submissions().items():
        if not names or file.stem in names:
            seconds, peak = grade(file, kata)
            worst.append((seconds, peak))
            print(f"| `{file.stem}` | `{kata}` | {seconds:.1f} | {peak} MiB |", flush=True)
    seconds, peak = (max(column) for column in zip(*worst, strict=True))
    print(f"\nat most {seconds:.1f} s (bar {SECONDS} s) and {peak} MiB (bar {MEMORY} MiB)")
    return int(seconds > SECONDS or peak > MEMORY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
