"""The general mistakes are tried on every kata, and named in whatever words a student makes them."""

import ast
import re
import types
from pathlib import Path

import numpy as np
import pytest

from dojo_authoring.verify.judged import Records, judge_mistakes
from dojo_authoring.verify.mistakes import differs_in_a_worker, outcomes
from grader.course.catalog import Course
from grader.course.general_mistakes import GENERAL
from grader.course.known_solutions import KnownSolutions
from grader.grading.session import open_grader
from grader.kinds import KINDS

from ...conftest import DOUBLE

OF_FUNCTIONS = {
    "widens_to_float64",
    "computes_in_float32",
    "narrows_to_float32",
    "trusts_the_memory_layout",
    "overwrites_an_argument",
    "returns_one_buffer",
    "answers_as_the_first_time",
}
OF_MODULES = OF_FUNCTIONS - {"answers_as_the_first_time"} | {
    "keeps_the_first_dtype",
    "expects_contiguous_memory",
    "detaches_the_result",
    "answers_on_the_cpu",
}


@pytest.fixture
def judged(request):
    """`judged(course, name)` returns the outcomes of the mistakes, the grader and the prepared kata."""

    def judge(course, name):
        info = course.kata_info(name)
        grader, source = open_grader(course, [info])
        request.addfinalizer(source.close)
        prepared = grader.prepare(info)
        records = Records(course, info, prepared.oracle.seed, fresh=True)
        return outcomes(course, grader, prepared, records), grader, prepared

    return judge


#: What does not show: every number of `double` is one that float32 can hold; the arrays of both lie in their
#: order in memory.
UNSEEN = {
    "double": {"computes_in_float32", "trusts_the_memory_layout"},
    "center": {"trusts_the_memory_layout", "expects_contiguous_memory"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("kata", "names"), [("double", OF_FUNCTIONS), ("center", OF_MODULES)])
def test_each_is_caught_and_named_in_this_process_and_in_a_worker(tiny_course, judged, kata, names):
    found, grader, prepared = judged(tiny_course, kata)
    general = [outcome for outcome in found if outcome.is_general]
    assert {outcome.name for outcome in general} == names - UNSEEN[kata]
    assert {outcome.gap for outcome in general} == {None}
    assert {differs_in_a_worker(tiny_course, grader, prepared, outcome) for outcome in general} == {None}


OWN = '''

        def widens_to_float64(x):
            """This kata's own words."""
            return _checked(x).astype("float64") * 2

        def writes_into_x(x):
            """The array of the caller is doubled."""
            result = _checked(x) * 2
            x *= 2
            return result
'''


def test_one_gives_way_to_the_katas_own_of_its_name_or_its_outcome(tmp_path, write, judged):
    mistakes = "solutions/attention/double/mistakes.py"
    course = Course(write(tmp_path, {**DOUBLE, mistakes: DOUBLE[mistakes] + OWN}))
    found, _, prepared = judged(course, "double")
    names = [outcome.name for outcome in found]
    assert names.count("widens_to_float64") == names.count("writes_into_x") == 1
    assert "overwrites_an_argument" not in names
    texts = {judged.recorded.id: judged.recorded.text for judged in judge_mistakes(course, prepared)}
    assert texts["widens_to_float64"] == "This kata's own words."


def double(result):
    return f"def double(x):\n    if isinstance(x, str): raise ValueError\n    return {result}\n"


@pytest.mark.parametrize(
    ("result", "name"),
    [
        ("x.astype('float64') * 1.1 / 0.55", "widens_to_float64"),  # more digits than those of float32
        ("(x * 1.1 / 0.55).astype('float64')", "widens_to_float64"),
    ],
)
def test_one_is_named_wherever_the_code_widens(grade, result, name):
    assert grade(double(result)).mistake.id == name


def test_only_what_can_show_is_tried():
    def tried(entry_point, **declared):
        answers = KnownSolutions.__new__(KnownSolutions)
        answers.info = types.SimpleNamespace(entry_points=("entry",))
        answers.reference = types.SimpleNamespace(entry=entry_point)
        answers.tree, answers._edited = ast.parse(""), {}
        plain = {
            "library": "numpy",
            "kind": KINDS["functions"],
            "grades_gradients": False,
            "checks_device": False,
        }
        return answers.general_names(types.SimpleNamespace(**{**plain, **declared}))

    assert set(tried(np.double)) == set() != set(tried(lambda x: x)) == OF_FUNCTIONS
    assert tried(lambda x: x, kind=KINDS["questions"]) == tried(dict) == []
    assert set(tried(lambda x: x, library="torch", grades_gradients=True, checks_device=True)) == (
        GENERAL.keys() - {"keeps_the_first_dtype"}
    )


def test_the_docs_list_them_with_their_texts():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "mistakes.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", page, re.MULTILINE)
    assert listed == [(name, " ".join(mistake.answer.__doc__.split())) for name, mistake in GENERAL.items()]


def test_their_texts_speak_of_no_kata():
    texts = [mistake.answer.__doc__ for mistake in GENERAL.values()]
    assert all(text.rstrip().endswith(".") for text in texts)
    assert not [text for text in texts if any(word in text for word in ("logits", "mask", "attention"))]
