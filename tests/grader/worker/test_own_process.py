"""A worker in the grader's own process answers as one in another process does, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dojo_authoring.release.keys import entry_of
from grader.answer_keys.file import write
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import read_text
from grader.grading.grader import Grader
from grader.worker.client import RemoteStudent
from grader.worker.fork_server import WorkerFactory
from grader.worker.own_process import OwnFactories

ROOT = Path(__file__).parents[3]
KATAS = [name for name, info in Course(ROOT).katas.items() if info.library == "numpy" and info.kind.is_code]


def own_student(source, name="kata", forbidden=()):
    process = OwnFactories()["numpy"].start("cpu")
    student = RemoteStudent(process)
    student.load(name, 5, source=source, entry_points=[], forbidden=list(forbidden))
    return student


def verdict(grader, info, source):
    """What a report says, but for the times and for what only another process can measure.

    Nor its warnings: pytest takes those of its own process, and BLAS warns on some machines alone."""
    submission = read_text(info, source, Path(f"{info.name}.py"), grader.reader(info))
    report = grader.grade(submission).report
    checks = [
        (check.name, check.status, check.score, check.message, check.call, check.came, check.mistake)
        for check in report.checks
    ]
    output = "" if "RuntimeWarning" in report.output else report.output
    return report.status, report.score, output, checks


@pytest.mark.slow
@pytest.mark.every(5)
@pytest.mark.parametrize("kata", KATAS)
def test_the_verdict_is_the_one_of_a_worker_in_another_process(kata):
    course = Course(ROOT)
    info = course.katas[kata]
    # a new interpreter: in a fork of pytest, its warnings would go to pytest
    there, here = Grader(course, {"numpy": WorkerFactory("numpy")}), Grader(course, OwnFactories())
    sources = {"reference": course.solution(info, "reference").read_text(encoding="utf-8")}
    for kind in ("variants", "mistakes"):
        sources |= dict(list(standalone_sources(course, info, kind).items())[:2])
    for name, source in sources.items():
        assert verdict(here, info, source) == verdict(there, info, source), name


BLOCKED = """
import os, select, signal, socket, subprocess, sys, threading
for name in ("fcntl", "greenlet", "hypothesis", "msgspec", "resource"):
    sys.modules[name] = None
def refused(*_, **__):
    raise AssertionError("there is none in a browser")
del signal.setitimer
os.fork = os.posix_spawn = os.pipe = signal.signal = refused
socket.socket = socket.socketpair = subprocess.Popen = select.select = refused
threading.Thread.start = refused
from pathlib import Path
from grader.worker.protocol import system_calls
system_calls.address_space = lambda: 0  # there is no /proc
from grader.answer_keys.file import open_keyring
from grader.course.catalog import Course
from grader.course.submission import ask, read_text
from grader.grading.grader import Grader
from grader.worker.own_process import OwnReader, OwnFactories
from grader.worker.reader import ask_by
ask_by(OwnReader())
course, key = Course(Path(sys.argv[1])), Path(sys.argv[2])
info = course.katas["softmax"]
grader = Grader(course, OwnFactories(), keyring=open_keyring(course, [info], key, None))
report = grader.grade(read_text(info, sys.argv[3], Path("softmax.py"), grader.reader(info))).report
assert ask("difference", list[str], b"a", after="b", most=9)[0] == ["@@ -1 +1 @@", "-a", "+b"]
print(report.score, *{check.mistake.id for check in report.checks if check.mistake})
"""


@pytest.mark.slow
def test_nothing_is_needed_that_a_browser_lacks(tmp_path):
    course, key = Course(ROOT), tmp_path / "softmax.key"
    key.write_bytes(write([entry_of(course, course.katas["softmax"], SEED)], SEED, "this"))
    reference = course.solution(course.katas["softmax"], "reference").read_text(encoding="utf-8")
    source = reference.replace("powers.sum(axis=axis, keepdims=True)", "powers.sum()")
    command = [sys.executable, "-c", BLOCKED, str(ROOT), str(key), source]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert not done.stderr
    score, *names = done.stdout.split()
    assert int(score) > 0
    assert "divides_by_the_sum_of_the_whole_array" in names


def test_what_is_printed_belongs_to_the_submission_and_a_warning_comes_once(capsys):
    student = own_student(
        "import numpy as np\ndef f(x):\n    print('seen', x)\n    return np.log(np.zeros(1))[0]\n"
    )
    assert [student.f(1), student.f(2)] == [-np.inf, -np.inf]
    assert student.printed.count("seen") == 2
    assert student.printed.count("RuntimeWarning: divide by zero") == 1
    assert capsys.readouterr() == ("", "")


def test_the_grader_may_call_what_a_submission_may_not():
    source = "import numpy as np\ndef f(g):\n    return g(3.0)\ndef h(x):\n    return np.cumsum(x)\n"
    student = own_student(source, forbidden=["numpy.cumsum"])
    assert student.f(lambda x: float(np.cumsum([x, x])[-1])) == 6.0
    with pytest.raises(Exception, match=r"numpy\.cumsum is what this kata asks you to build"):
        student.h([1, 2])
    assert np.cumsum([1, 2]).tolist() == [1, 3]


def test_an_error_in_a_function_of_the_grader_reaches_the_submission():
    student = own_student(
        "def f(g):\n    try:\n        return g(1)\n    except RuntimeError as e:\n        return str(e)\n"
    )

    def g(_):
        raise ValueError("no such token")

    assert student.f(g) == "ValueError: no such token"


def test_another_worker_shares_nothing_with_the_first():
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)\n"
    first, second = own_student(source), own_student(source)
    assert [first.f(1), first.f(1), second.f(1)] == [1, 2, 1]
