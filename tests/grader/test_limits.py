"""Judging has limits of time and memory, so that one submission cannot stop the grading of a class."""

import itertools
import json
import signal
import sys
import textwrap
from contextlib import closing

import numpy as np
import pytest

from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.extra.classroom.local_pool import LocalPool
from grader.extra.classroom.task import GraderOptions, Task
from grader.grading import submission_run
from grader.grading.grader import Grader
from grader.grading.submission_run import MEMORY, JudgingStopped, limited

PREFIXES = {
    "tests/katas/attention/test_copy.py": '''
        from grader import expect
        from grader import strategies as st
        from grader.kata import Kata

        KATA = Kata(
            "copy", track="attention", entry_points=("copy",), title="The same", source="nowhere",
            hints=("Give it back.",), bank_size=8,
        )

        @KATA.cases
        def cases(draw):
            return {"ids": draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))}

        @KATA.law(points=1)
        def test_every_beginning_is_a_beginning(student, ids):
            """Every beginning of the ids is a beginning of the copy."""
            found = student.copy(ids)
            beginnings = [found[:end] for end in range(len(found))]
            expect.true(all(len(one) <= len(found) for one in beginnings), "Beginnings are short.")
    ''',
    "solutions/attention/copy/reference.py": "def copy(ids):\n    return list(ids)\n",
    "exercises/attention/copy.py": "def copy(ids):\n    raise NotImplementedError\n",
}


def test_judging_is_stopped_by_its_own_processor_time():
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(JudgingStopped), limited(0.05):
        sum(1 for _ in itertools.count())
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_is_done_in_time_is_not_stopped():
    with limited(5.0):
        done = sum(range(1000))
    assert done == 499_500


@pytest.mark.skipif("linux" not in sys.platform, reason="address space is limited on Linux alone")
def test_judging_cannot_take_all_memory():
    with pytest.raises(MemoryError), limited(5.0):
        np.zeros(2 * MEMORY, dtype=np.uint8)  # address space, of which no page is used
    assert np.zeros(2 * MEMORY, dtype=np.uint8)[-1] == 0


@pytest.fixture(scope="module")
def copy_course(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy")
    for name, text in PREFIXES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))
    return Course(root)


@pytest.mark.slow
def test_what_a_law_makes_of_a_long_answer_ends_this_report_alone(copy_course, numpy_source, monkeypatch):
    monkeypatch.setattr(submission_run, "JUDGE_SECONDS", 1.0)
    grader = Grader(copy_course, {"numpy": numpy_source})
    info = copy_course.kata_info("copy")
    report = grader.grade(Submission(info, "def copy(ids):\n    return [0] * 19_000\n", "copy.py")).report
    assert report.status == "failed"
    assert report.checks[-1].score == 0
    right = Submission(info, "def copy(ids):\n    return ids[:]\n", "copy.py")
    assert grader.grade(right).report.status == "passed"


HOSTILE = {
    "rows without end": "import numpy as np\ndef double(x):\n    return np.zeros((2**40, 0))\n",
    "keys of one hash": "def double(x):\n    return {i * (2**61 - 1): 1 for i in range(6_000)}\n",
    "long keys": "def double(x):\n    return {'k' * 190 + str(i): 1 for i in range(900)}\n",
    "long lists": "def double(x):\n    return [[0.5] * 1000] * 15\n",
    "large arrays": "import numpy as np\ndef double(x):\n    return np.ones(2**20)\n",
    "large arrays where an error is due": (
        "import numpy as np\ndef double(x):\n"
        "    return np.zeros((2**40, 0)) if isinstance(x, str) else x + x\n"
    ),
}
RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_class_of_ten_goes_on_with_hostile_files_first_in_the_middle_and_last(tiny_course, name):
    sources = [f"{RIGHT}# by student {number}\n" for number in range(10)]
    for place in (0, 5, 9):
        sources[place] = f"{HOSTILE[name]}# by student {place}\n"
    options = GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))
    with closing(LocalPool(options, size=2)) as pool:
        tasks = (Task("double", source.encode()) for source in sources)
        verdicts = {task.data: verdict for task, verdict in pool.judge(tasks)}
    statuses = [verdicts[source.encode()].status for source in sources]
    assert statuses == ["failed" if number in (0, 5, 9) else "passed" for number in range(10)]
    for place in (0, 5, 9):
        report = verdicts[sources[place].encode()].report
        assert len(report) < 256_000
        assert json.loads(report)["katas"][0]["checks"]
