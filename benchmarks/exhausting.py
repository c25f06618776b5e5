"""Time and peak memory of `grade` on submissions that try to exhaust it.

python benchmarks/exhausting.py [NAME ...]      files of tests/grader/exhausting and tests/grader/submissions
python benchmarks/exhausting.py --class [NAME ...]    each as students 0, 5 and 9 of a class of ten
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "grader"
OTHER_KATAS = {"forged_tensor": "top_p", "breaks_a_rule": "", "breaks_a_rule_by_a_detour": ""}
SECONDS, MEMORY = 75, 600  # bars: seconds, MiB
HOSTILE = (0, 5, 9)  # places of the hostile files in a class of ten


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


def grade_class(file: Path, kata: str, folder: Path) -> tuple[float, list[float]]:
    """Return the seconds for a class of ten and its scores; students 0, 5 and 9 hand in the hostile file."""
    (reference,) = ROOT.glob(f"solutions/*/{kata}/reference.py")
    for number in range(10):
        source = file if number in HOSTILE else reference
        student = folder / "class" / str(number)
        student.mkdir(parents=True)
        (student / f"{kata}.py").write_text(source.read_text() + f"\n# by student {number}\n")
    command = ["kata", "grade", str(folder / "class"), "--kata", kata, "--output", str(folder / "grades")]
    began = time.perf_counter()
    subprocess.run([Path(sys.executable).parent / command[0], *command[1:]], cwd=ROOT, capture_output=True)
    seconds = time.perf_counter() - began
    lines = map(json.loads, (folder / "grades" / "reports.jsonl").read_text().splitlines())
    scores = {line["student"]: line["report"]["score"] for line in lines}
    return seconds, [scores[str(number)] for number in range(10)]


def measure_classes(files: dict[Path, str]) -> int:
    """Print a line for each class; return 1 if a right answer lost points or a hostile one has over half."""
    print("| submission | kata | seconds for ten students | right answers | hostile ones |")
    print("|---|---|---:|---:|---:|")
    wrong = False
    for file, kata in files.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds, scores = grade_class(file, kata, Path(folder))
        right = {score for number, score in enumerate(scores) if number not in HOSTILE}
        hostile = {scores[number] for number in HOSTILE}
        wrong = wrong or right != {10.0} or max(hostile) > 5.0
        print(f"| `{file.stem}` | `{kata}` | {seconds:.1f} | {told(right)} | {told(hostile)} |", flush=True)
    return int(wrong)


def told(scores: set[float]) -> str:
    """Return the distinct scores as text."""
    return " and ".join(f"{score:g}" for score in sorted(scores))


def measure(files: dict[Path, str]) -> int:
    """Print the seconds and the memory of each; return 1 if a bar is missed, else 0."""
    print("| submission | kata | seconds | peak memory |")
    print("|---|---|---:|---:|")
    worst: list[tuple[float, int]] = []
    for file, kata in files.items():
        seconds, peak = grade(file, kata)
        worst.append((seconds, peak))
        print(f"| `{file.stem}` | `{kata}` | {seconds:.1f} | {peak} MiB |", flush=True)
    seconds, peak = (max(column) for column in zip(*worst, strict=True))
    print(f"\nat most {seconds:.1f} s (bar {SECONDS} s) and {peak} MiB (bar {MEMORY} MiB)")
    return int(seconds > SECONDS or peak > MEMORY)


def main(arguments: list[str]) -> int:
    """Measure the files named, or all of them; return the exit code."""
    names = [name for name in arguments if name != "--class"]
    files = {file: kata for file, kata in submissions().items() if not names or file.stem in names}
    return measure_classes(files) if "--class" in arguments else measure(files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
