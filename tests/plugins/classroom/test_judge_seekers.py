"""Tests of the list of answers that look at the judge: what is, what is not, and that it is free."""

import csv
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_classroom.judge_seekers import looks
from grader.cli.kata import kata

ROOT = Path(__file__).resolve().parents[3]
SEEN = [
    ("from grader.worker.child import executor", [(1, "grader")]),
    ("import grader", [(1, "grader")]),
    ("import gc", [(1, "gc")]),
    ("import ctypes.util", [(1, "ctypes")]),
    ("import sys\nsys.modules['numpy']", [(2, "sys.modules")]),
    ("from sys import modules", [(1, "sys.modules")]),
    ("import sys\nf = sys._getframe(1).f_back", [(2, "_getframe"), (2, "f_back")]),
    ("from sys import _getframe", [(1, "sys._getframe")]),
    ("getattr(sys, '_getframe')", [(1, "_getframe")]),
    ("object.__subclasses__()", [(1, "__subclasses__")]),
    ("open('/proc/self/maps')", [(1, "/proc/")]),
    ("sys.settrace(f)", [(1, "settrace")]),
    ("import torch\ntorch._C._get_tracing_state()", [(2, "torch._C")]),
    ("from torch.utils import _python_dispatch", [(1, "torch.utils._python_dispatch")]),
    ("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x", [(4, "counts calls")]),
    ("def f(x):\n    f.calls += 1\n    return x", [(2, "counts calls")]),
    (
        "import itertools\ncalls = itertools.count()\ndef f(x):\n    return x if next(calls) else 0",
        [(4, "counts calls")],
    ),
]
UNSEEN = [
    '"""Reads /proc/cpuinfo, gc and sys.modules."""',
    "import sys\nprint(sys.argv)",
    "class Cache:\n    def append(self, x):\n        self.length += 1",
    "def f(x):\n    n = 0\n    for _ in x:\n        n += 1\n    return n",
    "def f(model):\n    return list(model.modules())",
    "from collections import Counter\ndef f(x):\n    return Counter(x).count",
    "grader = 3\ngc = grader + 1",
    "def f(:",
    "",
]


@pytest.mark.parametrize(("source", "lines"), SEEN)
def test_what_looks_at_the_judge_is_listed(source, lines):
    assert looks(source.encode()) == lines


@pytest.mark.parametrize("source", UNSEEN)
def test_what_does_not_is_not(source):
    assert looks(source.encode()) == []


def test_no_reference_variant_or_stub_of_the_course_is_listed():
    """Some mistakes keep count: for them that is the mistake."""
    folders = [ROOT / "exercises", *(ROOT / "solutions").glob("*/*/reference.py")]
    folders += (ROOT / "solutions").glob("*/*/variants.py")
    files = [file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*.py"))]
    assert len(files) > 150
    listed = {file.relative_to(ROOT).as_posix(): looks(file.read_bytes()) for file in files}
    assert {file: lines for file, lines in listed.items() if lines} == {}


def test_the_class_page_and_a_file_list_them_and_no_point_is_taken(tiny_course, tmp_path, write):
    looking = textwrap.dedent(
        """\
        import gc

        def double(x):
            if isinstance(x, str):
                raise ValueError
            return x + x
        """
    )
    plain = looking.replace("import gc", "import numpy")
    folder = write(
        tmp_path / "in", {"ada/double.py": looking, "=bob/double.py": looking, "cy/double.py": plain}
    )
    words = ["grade", folder, "--kata", "double", "--output", tmp_path / "out", "--course", tiny_course.root]
    done = CliRunner().invoke(kata, list(map(str, words)))
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "looks_at_judge.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["student", "kata", "line", "looks at the judge"],
            ["'=bob", "double", "1", "gc"],
            ["ada", "double", "1", "gc"],
        ]
    page = (tmp_path / "out" / "class.html").read_text()
    assert page.count("looks at the judge, line 1 (gc)") == 2
    assert "3 of 3 pass" in page
    students = list((tmp_path / "out" / "students").iterdir())
    assert [path for path in students if "the judge" in path.read_text()] == []
