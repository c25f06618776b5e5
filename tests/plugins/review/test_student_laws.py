"""Laws that students write: judged by versions of their own answer, right and wrong."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_review.faults import Fault
from dojo_review.law_command import drawn_in, told
from dojo_review.laws import (
    AnswerVersion,
    JudgedLaw,
    Judgement,
    WrittenLaw,
    _in_any_order,
    functions_of,
    judge_laws,
    laws_in,
    versions_of,
)
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.grading.session import open_grader

from .law_sets import SETS

pytestmark = pytest.mark.slow  # each judges laws, or makes their versions

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def opened():
    """The course, a grader, and the versions of each reference, made once."""
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in SETS]
    grader, factories = open_grader(course, infos)
    versions = {}

    def judged(name, laws):
        info = course.kata_info(name)
        prepared = grader.prepare(info)
        if name not in versions:
            own = course.solution(info, "reference").read_text()
            versions[name] = versions_of(grader, prepared, own, name)
        return judge_laws(grader, prepared, laws, versions[name])

    judged.versions, judged.grader, judged.course = versions, grader, course
    yield judged
    factories.close()


ANY = "import numpy as np\n\n\ndef test_it(softmax, x, axis):\n    "


def softmax_law(body):
    return ANY + body + "\n"


def test_a_true_law_counts_by_what_it_catches(opened):
    judgement = opened("softmax", softmax_law("assert np.allclose(softmax(x, axis).sum(axis), 1, atol=0.01)"))
    [law] = judgement.laws
    assert not law.refused
    assert 0 < len(law.catches) < len(judgement.faults)
    assert 0 < judgement.hundredths < 1000


def test_a_law_that_passes_everything_catches_nothing(opened):
    judgement = opened("softmax", softmax_law("softmax(x, axis)"))
    assert (judgement.hundredths, judgement.laws[0].refused, judgement.caught) == (0, "", set())
    assert any("test_it  holds, and catches nothing" in line for line in told("softmax", judgement, 80))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("assert False", "It refuses a right version with x = "),
        ("raise KeyError(1)", "KeyError: 1"),
        ("undefined", "NameError"),
        ("assert softmax(x, axis).max() < 0.5", "AssertionError"),
        ("assert softmax(np.array([1.0, 2.0]))[0] == 0.2689414213699951", "AssertionError"),  # to the bit
    ],
)
def test_a_law_that_refuses_a_right_version_does_not_count(opened, body, why):
    judgement = opened(
        "softmax", softmax_law(body) + "\n\ndef test_nothing(softmax):\n    softmax(np.ones(2))\n"
    )
    assert judgement.hundredths == 0
    assert why in judgement.laws[0].refused
    assert judgement.laws[1].refused == ""


def test_a_law_that_hangs_or_ends_its_process_does_not_count_and_the_others_do(opened):
    laws = """
import os

import numpy as np

def test_hangs(softmax):
    while True:
        pass

def test_ends(softmax):
    os._exit(0)

def test_sums(softmax, x, axis):
    assert np.allclose(softmax(x, axis).sum(axis), 1, atol=0.01)
"""
    hangs, ends, sums = opened("softmax", laws).laws
    assert "5 s" in hangs.refused or "second" in hangs.refused
    assert ends.refused
    assert sums.catches
    assert not sums.refused


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "body",
    [
        "import inspect; assert 'axis=axis' in inspect.getsource(softmax)",
        "assert softmax.__code__.co_filename.endswith('reference.py')",
        "assert 'fault' not in str(softmax.__closure__[0].cell_contents)",
        "import softmax as module; assert module.__file__",
        "import sys; assert not [name for name in sys.modules if 'reference' in name]",
        "import gc; assert not [f for f in gc.get_objects() if getattr(f, '__name__', '') == 'exp2']",
        "open('/proc/self/environ').read()",
        "from pathlib import Path; assert Path('solutions').exists()",
        "import globals_; assert 0",
    ],
)
def test_a_law_sees_no_code_of_a_version(opened, body):
    judgement = opened("softmax", softmax_law(body))
    assert judgement.hundredths == 0


def test_a_law_that_calls_nothing_does_not_count(opened):
    judgement = opened("softmax", "def test_it(softmax, x):\n    assert x is not None\n")
    assert [law.refused for law in judgement.laws] == ["It does not call softmax."]


CHANCE = """
import os
import numpy as np

def unlucky():
    return os.urandom(1)[0] < 16

IS_UNLUCKY = unlucky()
"""


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "law",
    [
        "def test_{}(softmax):\n    assert not unlucky()\n",
        "def test_{}(softmax):\n    softmax(np.ones(2))\n    assert not unlucky()\n",
        "def test_{}(softmax):\n    softmax(np.ones(2))\n    assert not IS_UNLUCKY\n",
    ],
)
def test_laws_that_fail_by_chance_catch_nothing(opened, law):
    """Each runs some forty times on a right version in each round, so that hardly any is left."""
    judgement = opened("softmax", CHANCE + "".join(law.format(number) for number in range(20)))
    assert judgement.hundredths <= 50


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "fails",
    [
        "time.time() % 1 < 0.02",
        "(os.getpid() - os.getppid()) % 50 == {}",  # the numbers of processes grow with the versions
        "next(CALLS) == {}",
    ],
)
def test_laws_that_know_when_they_are_asked_catch_nothing(opened, fails):
    """They fail at some moments: by a clock, or by a count of processes or of calls."""
    head = """
import itertools, os, time

CALLS = itertools.count()

"""
    law = "def test_{}(softmax, x):\n    softmax(x)\n    assert not ({})\n"
    judgement = opened("softmax", head + "".join(law.format(n, fails.format(n)) for n in range(10)))
    assert judgement.hundredths <= 50


def test_a_file_has_forty_laws_at_most(opened):
    """With thousands, one for each pair of moments of the two rounds, some would catch every fault."""
    law = "def test_{}(softmax, x):\n    assert x is not None\n"
    laws = opened("softmax", "".join(map(law.format, range(42)))).laws
    refused = [one.refused for one in laws]
    assert (
        refused == ["It does not call softmax."] * 40 + ["Only the first 40 laws of a file are judged."] * 2
    )


def test_a_law_that_draws_numbers_of_its_own_counts_by_what_it_catches(opened):
    body = """
    x = np.random.default_rng().normal(size=(2, 3)) * np.random.default_rng().choice([1, 1000])
    assert np.allclose(softmax(x, axis % 2).sum(axis % 2), 1, atol=0.01)
"""
    [law] = opened("softmax", softmax_law(body.strip())).laws
    assert not law.refused
    assert len(law.catches) >= 5
    assert len(law.by_chance) <= 2


FAULT = Fault("y", 1, "x", "", "a sign")


def test_a_fault_that_is_caught_once_is_said_to_be_no_catch():
    law = JudgedLaw(WrittenLaw("test_it", 1, ("softmax",)), by_chance={0, 2}, has_called=True)
    text = " ".join(told("softmax", Judgement([law], [FAULT] * 3), 200))
    assert "test_it  holds, and catches nothing; 2 faults in one round only, which may be chance" in text
    assert "0 of 3 faults are caught" in text


def test_right_versions_are_asked_as_often_as_wrong_ones_in_any_order():
    right = [AnswerVersion("own"), AnswerVersion("rounded")]
    wrong = [AnswerVersion(f"wrong {number}", FAULT) for number in range(7)]
    orders = [_in_any_order(right + wrong) for _ in range(20)]
    for order in orders:
        assert (order[0], order[-1]) == (right[0], right[0])
        assert sum(version.fault is None for version in order) == len(wrong)
        assert {*map(str, order)} == {*map(str, right + wrong)}
    assert len({str(order) for order in orders}) > 1
    assert len(_in_any_order(right)) == 3


def test_a_law_cannot_remember_the_version_before(opened):
    laws = """
seen = []

def test_same_as_the_first(softmax):
    seen.append(softmax([[1.0, 2.0], [3.0, 4.0]]) if False else 1)
    assert len(seen) == 1
"""
    assert opened("softmax", laws).hundredths == 0


def test_a_law_cannot_tell_right_versions_by_when_they_come(opened):
    """The numbers of processes grow, so a law knows how many versions were judged before."""
    opened("softmax", softmax_law("softmax"))
    right = sum(version.fault is None for version in opened.versions["softmax"])
    with opened.grader.factories["numpy"].start("cpu") as process:
        last = process.pid + 4 * right  # each version has two processes; other programs may have some
    [law] = opened("softmax", f"import os\n\ndef test_it(softmax):\n    assert os.getpid() <= {last}\n").laws
    assert law.refused


def test_an_object_of_a_law_is_none_of_the_version_s(opened):
    laws = "def test_it(softmax, x):\n    softmax(x)\n    softmax(object())\n"
    [law] = opened("softmax", laws).laws
    assert law.refused.endswith("TypeError: a law can give numbers, texts, arrays and lists, and no object")


def test_a_second_law_of_a_name_takes_the_place_of_the_first(opened):
    laws = "def test_a(softmax, x):\n    assert 0\n\ndef test_a(*, softmax, x):\n    softmax(x)\n"
    first, second = opened("softmax", laws).laws
    assert first.refused == "The law in line 4 has the same name, and takes its place."
    assert second.refused == ""


def test_an_exception_of_the_function_has_its_class_in_a_law(opened):
    laws = """
import torch

def test_refuses_no_probability(top_p_filter):
    for p in (0.0, -1.0):
        try:
            top_p_filter(torch.ones(2), p)
        except ValueError:
            continue
        raise AssertionError("no ValueError")
"""
    [law] = opened("top_p", laws).laws
    assert law.refused == ""


def test_a_parameter_that_does_not_exist_is_named(opened):
    judgement = opened("softmax", "def test_a(softmax, y):\n    pass\n\ndef test_b(x):\n    pass\n")
    assert judgement.laws[0].refused == "There is no `y`: it can take axis, softmax, x."
    assert judgement.laws[1].refused == "It does not take softmax."


def test_the_versions_are_right_or_have_one_fault_each(opened):
    opened("softmax", softmax_law("softmax"))
    versions = opened.versions["softmax"]
    own = versions[0]
    assert own == AnswerVersion(own.source)
    assert versions[1].source.startswith(own.source)  # and rounds differently
    assert "_rounded(softmax)" in versions[1].source
    wrong = [version for version in versions if version.fault]
    assert len(wrong) >= 12
    assert len({version.fault.kind for version in wrong}) >= 5
    assert all(version.fault.mended(version.fault.was) == own.source for version in wrong)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", SETS)
def test_good_laws_get_many_points_and_weak_ones_few(opened, name):
    """Three good and three weak sets of laws for each of five katas."""
    judged = {kind: [opened(name, laws) for laws in SETS[name][kind]] for kind in SETS[name]}
    for one in judged["good"] + judged["weak"]:
        assert [law.refused for law in one.laws if law.refused] == []
    points = {kind: [one.hundredths for one in ones] for kind, ones in judged.items()}
    assert min(points["good"]) >= 700, points
    assert max(points["weak"]) <= 600, points


# --- the command ---


def laws(course, *words):
    words = ["laws", *words, "--course", str(ROOT), "--exercises", str(course.exercises)]
    return CliRunner().invoke(grade, words)


@pytest.fixture
def mine(tmp_path):
    """The course with an answer to softmax that has passed."""
    (tmp_path / "exercises/attention").mkdir(parents=True)
    course = Course(ROOT, tmp_path / "exercises")
    info = course.kata_info("softmax")
    course.stub(info).write_text(course.solution(info, "reference").read_text())
    CourseState(course).change("softmax", status="passed", passed=True)
    return course


def test_the_first_time_writes_the_file_and_the_second_judges_it(mine, tmp_path):
    assert laws(mine, "softmax").exit_code == 1
    path = tmp_path / "laws/softmax.py"
    text = path.read_text()
    assert "    softmax(x, axis)\n    x, axis\n" in text
    assert laws(mine, "softmax").output.endswith(
        "has no law yet: a function whose name begins with `test_`.\n"
    )
    path.write_text(text + "\n\ndef test_sums(softmax, x, axis):\n    assert (softmax(x, axis) >= 0).all()\n")
    done = laws(mine, "softmax")
    assert done.output.startswith("laws of softmax  ")
    assert "\nNo law fails where line " in done.output
    kept = json.loads((tmp_path / ".dojo/laws/softmax.json").read_text())
    assert laws(mine, "softmax").output == done.output
    assert json.loads((tmp_path / ".dojo/laws/softmax.json").read_text()) == kept


def test_the_options_of_a_case_are_shown():
    cases = [{"x": 1, "options": {}}, {"x": 2, "options": {"lam": 0.5}}]
    assert drawn_in(cases) == ["x", "options, such as {'lam': 0.5}"]
    assert drawn_in(cases[:1]) == ["x", "options"]


def test_an_answer_that_does_not_pass_any_more_judges_no_laws(mine, tmp_path):
    stub = mine.stub(mine.kata_info("softmax"))
    stub.write_text(stub.read_text().replace("np.exp(", "np.exp2("))
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws/softmax.py").write_text("def test_a(softmax):\n    pass\n")
    done = laws(mine, "softmax")
    assert done.exit_code == 4
    assert done.output.startswith("softmax: your answer does not pass any more. ")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "damage",
    ["{", "[]", '{"digest": 1}', "[" * 10_000, '{"digest": "a", "versions": [{"source": [], "fault": 3}]}'],
)
def test_versions_that_cannot_be_read_are_made_again(mine, tmp_path, damage):
    path = tmp_path / ".dojo/laws/softmax.json"
    path.parent.mkdir()
    path.write_text(damage)
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws/softmax.py").write_text("def test_a(softmax):\n    pass\n")
    assert "0 of " in laws(mine, "softmax").output


def test_what_cannot_be_judged_is_said(mine, tmp_path):
    assert (done := laws(mine, "causal_mask")).exit_code == 4
    assert "causal_mask has not passed yet" in done.output
    assert laws(mine).exit_code == 4
    (tmp_path / "laws").mkdir()
    path = tmp_path / "laws/softmax.py"
    path.write_text("def test_a(:")
    assert (done := laws(mine, "softmax")).exit_code == 2
    assert "has a syntax error in line 1" in done.output
    path.write_text("def test_a(): pass\0")
    assert "softmax.py has a syntax error: source code string cannot contain null bytes." in " ".join(
        laws(mine, "softmax").output.split()
    )
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.py")
    assert (done := laws(mine, "softmax")).exit_code == 2
    assert "is a link" in done.output
    assert not (tmp_path / "elsewhere.py").exists()


def test_katas_of_modules_have_no_laws_of_ones_own(opened):
    course, grader = opened.course, opened.grader
    with pytest.raises(Exception, match="mini_gpt is no kata of functions"):
        functions_of(grader, grader.prepare(course.kata_info("mini_gpt")))


def test_laws_are_functions_whose_names_begin_with_test():
    assert [
        law.name for law in laws_in("def test_a(): pass\nclass C:\n    def test_b(self): pass\ndef c(): pass")
    ] == ["test_a"]
