"""The modules of the grader through which one verdict goes, and how large the modules are.

    python benchmarks/walk.py [KATA]

A profile hook notes every module of `grader` that runs a function while `grade` judges the stub's first known
mistake, and while it judges the reference. What runs in the worker is not counted.
"""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import tempfile
from pathlib import Path
from statistics import median
from types import FrameType

from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(ROOT / "grader") + "/"


def main(kata: str) -> None:
    """Print the sizes of all modules, and the modules on the way of a wrong and of a passing verdict."""
    sizes = [size for path in Path(PACKAGE).rglob("*.py") if (size := lines_of_code(path))]
    print(f"{len(sizes)} modules with code, {sum(sizes)} lines of code, a median of {median(sizes):.0f}")
    course = Course(ROOT)
    info = course.kata_info(kata)
    answers = KnownSolutions(course, info, "mistakes")
    for what, source in (
        ("wrong", answers.source_of(answers.names[0])),
        ("passing", answers.reference_source),
    ):
        found = modules_of(kata, source)
        print(f"a {what} verdict goes through {len(found)} modules: {', '.join(sorted(found))}")


def lines_of_code(path: Path) -> int:
    """Return the lines of a module without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    without = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return sum(
        bool(line.strip()) and line.strip()[0] != "#" and number not in without for number, line in lines
    )


def modules_of(kata: str, source: str) -> set[str]:
    """Return the modules of which a function runs in this process while an answer is graded."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_code.co_filename
            if name.startswith(PACKAGE):
                found.add(name.removeprefix(PACKAGE).removesuffix(".py").replace("/", "."))

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder, f"{kata}.py")
        path.write_text(source, encoding="utf-8")
        for hook in (None, note):  # the first run draws the cases
            sys.setprofile(hook)
            try:
                grade([kata, "--file", str(path), "--no-search"], standalone_mode=False)
            except SystemExit:
                pass
            finally:
                sys.setprofile(None)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:] or ["softmax"])
