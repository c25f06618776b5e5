"""Judging has limits of time and memory, so that one submission cannot stop the grading of a class."""

import gc
import json
import signal
import sys
import textwrap
import time
from contextlib import closing

import numpy as np
import pytest

from dojo_classroom.task import GraderOptions, LocalPool, Task
from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.grading import submission_run
from grader.grading.grader import Grader
from grader.processes import limits
from grader.processes.limits import MEMORY, JudgingStopped, limited

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
        spin()
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def spin():
    """Compute for 20 seconds, unless a limit ends it."""
    end = time.process_time() + 20
    while time.process_time() < end:
        pass


def test_a_limit_holds_whose_first_exception_is_swallowed(monkeypatch):
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 0.05)
    swallowed = []

    def judge():
        try:
            spin()
        except JudgingStopped as stopped:
            swallowed.append(stopped)
        spin()

    with pytest.raises(JudgingStopped), limited(0.05):
        judge()
    assert len(swallowed) == 1
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_an_exception_that_python_ignores_is_raised_again_and_not_printed(monkeypatch):
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 60.0)
    printed, collected = [], []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    class Slow:
        def __del__(self):
            spin()

    def collect(_phase, _info):  # Hypothesis installs such a callback
        collected.append(1)
        spin()

    def judge():
        Slow()
        gc.collect()
        spin()

    gc.callbacks.append(collect)
    try:
        with pytest.raises(JudgingStopped), limited(0.05):
            judge()
    finally:
        gc.callbacks.remove(collect)
    assert collected
    assert printed == []
    assert sys.unraisablehook == printed.append
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_ignored_exception_is_printed_within_a_limit(monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: printed.append(str(told.exc_value)))

    class Raises:
        def __del__(self):
            raise ValueError("a fault of the law's own")

    with limited(5.0):
        Raises()
    assert printed == ["a fault of the law's own"]


def test_a_limit_in_a_limit_leaves_the_rest_to_the_outer_one():
    def judge():
        with pytest.raises(JudgingStopped), limited(0.05):
            spin()
        spin()

    with pytest.raises(JudgingStopped), limited(0.2):
        judge()
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


def test_what_was_prepared_is_left_out_of_later_garbage_collections(copy_course):
    prepared = Grader(copy_course, {}).prepare(copy_course.kata_info("copy"))
    looked_at = {*map(id, gc.get_objects())}
    assert looked_at.isdisjoint(map(id, (prepared, prepared.oracle, prepared.checks)))


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
    "keys of one hash": "def double(x):\n    return {i * (2**61 - 1): 1 for i in range(3_000)}\n",
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
@pytest.mark.parametrize("names", [[*HOSTILE][:3], [*HOSTILE][3:]], ids=" and ".join)
def test_a_class_of_ten_goes_on_with_hostile_files_first_in_the_middle_and_last(tiny_course, names):
    sources = [f"{RIGHT}# by student {number}\n" for number in range(10)]
    hostile = dict(zip((0, 5, 9), names, strict=True))
    for place, name in hostile.items():
        sources[place] = HOSTILE[name]
    options = GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))
    with closing(LocalPool(options, size=2)) as pool:
        tasks = (Task("double", source.encode()) for source in sources)
        verdicts = {task.data: verdict for task, verdict in pool.judge(tasks)}
    statuses = [verdicts[source.encode()].status for source in sources]
    assert statuses == ["failed" if number in hostile else "passed" for number in range(10)]
    for place in hostile:
        report = verdicts[sources[place].encode()].report
        assert len(report) < 256_000
        assert json.loads(report)["katas"][0]["checks"]
