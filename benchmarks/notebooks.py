"""Duration of `nbgrader autograde` for a kata, compared with a plain notebook of the same exercise.

    python benchmarks/notebooks.py [RUNS]

There are three courses of one notebook, softmax: asserts in nbgrader's own test cell; the kata graded in a
kernel; the kata as `kata notebooks` writes it, without a kernel. Each is autograded for one student and for
several, all with right answers, to separate the time per notebook from the start-up time. The runs are
interleaved.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS, CLASS = 5, 6
REFERENCE = ROOT / "solutions" / "attention" / "softmax" / "reference.py"
BIN = Path(sys.executable).parent
SETTINGS = 'c = get_config()\nc.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}\n'
TESTS = """\
import numpy as np

for shape, axis in [((3,), -1), ((2, 3), 0), ((2, 3), 1), ((2, 3, 4), -1)]:
    x = np.random.default_rng(0).normal(size=shape)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    np.testing.assert_allclose(softmax(x, axis=axis), powers / powers.sum(axis=axis, keepdims=True))
assert np.isfinite(softmax(np.array([1e4, 0.0]))).all()
assert softmax(np.array([1, 2, 3])).dtype == np.float64
"""


@dataclass
class Contender:
    """A course, and the seconds of grading one student and the whole class."""

    name: str
    root: Path
    one: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)

    @property
    def further(self) -> float:
        """The seconds per further notebook."""
        return (statistics.median(self.many) - statistics.median(self.one)) / (CLASS - 1)


def run(root: Path, *command: str) -> float:
    """Return the seconds of a command in a course's folder; exit if it fails."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began


def make_course(root: Path, settings: str = "") -> Path:
    """Write a course of one kata, with other settings if given."""
    run(ROOT, str(BIN / "kata"), "notebooks", str(root), "softmax")
    if settings:
        (root / "nbgrader_config.py").write_text(settings)
    return root


def with_plain_tests(root: Path) -> Path:
    """Replace the magics of the course's notebook by nbgrader's solution and test cells."""
    path = root / "source" / "attention" / "softmax.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] != "extension"]
    for cell in notebook["cells"]:
        if cell["id"] == "softmax":
            cell["source"] = [line for line in cell["source"] if not line.startswith("%%kata")]
        if cell["id"] == "softmax-score":
            cell["source"] = TESTS
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return root


def hand_in(root: Path) -> None:
    """Generate the assignment and submit a right answer for every student."""
    run(root, str(BIN / "nbgrader"), "generate_assignment", "attention")
    notebook = json.loads((root / "release" / "attention" / "softmax.ipynb").read_text("utf-8"))
    [answer] = [cell for cell in notebook["cells"] if cell["id"] == "softmax"]
    answer["source"] = [*answer["source"][:1], "\n", REFERENCE.read_text("utf-8")]
    for number in range(CLASS):
        folder = root / "submitted" / f"student{number}" / "attention"
        folder.mkdir(parents=True)
        (folder / "softmax.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def measure(field: list[Contender], runs: int) -> None:
    """Time all courses `runs` times, after one round that is not counted."""
    for number in range(runs + 1):
        for contender in field:
            autograde = str(BIN / "nbgrader"), "autograde", "attention", "--force"
            seconds = run(contender.root, *autograde, "--student=student0"), run(contender.root, *autograde)
            if number:
                contender.one.append(seconds[0])
                contender.many.append(seconds[1])
        print(f"\r{number}/{runs} rounds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def require_full_marks(contender: Contender) -> None:
    """Exit if a right answer did not get full marks, since the course would measure something else."""
    run(contender.root, str(BIN / "nbgrader"), "export", "--to=grades.csv")
    rows = (contender.root / "grades.csv").read_text().splitlines()[1:]
    if not all(row.endswith(",10.0,0.0,10.0,10.0") for row in rows):
        sys.exit(f"{contender.name}: not every right answer gets all points.\n" + "\n".join(rows))


def table(field: list[Contender]) -> str:
    """Return the medians as a Markdown table, with the ratio to the plain notebook."""
    plain: Any = field[0]
    lines = [
        "| one notebook of softmax | first, with start-up | each further | ratio |",
        "|---|---:|---:|---:|",
    ]
    for contender in field:
        ratio = f"{contender.further / plain.further:.2f}"
        first = statistics.median(contender.one)
        lines.append(f"| {contender.name} | {first:.2f} s | {contender.further:.2f} s | {ratio} |")
    return "\n".join(lines)


def main() -> None:
    """Make the courses, measure them and print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as scratch:
        roots = [Path(scratch, name) for name in ("plain", "kernel", "source")]
        field = [
            Contender("plain: asserts, in a kernel", with_plain_tests(make_course(roots[0], SETTINGS))),
            Contender("kata, its score asked for in a kernel", make_course(roots[1], SETTINGS)),
            Contender("kata, graded from its source", make_course(roots[2])),
        ]
        for contender in field:
            hand_in(contender.root)
        measure(field, runs)
        for contender in field:
            require_full_marks(contender)
    print(table(field))
    print(f"\n{runs} runs, {CLASS} students, Python {sys.version.split()[0]}, {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
