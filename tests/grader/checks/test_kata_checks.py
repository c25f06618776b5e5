"""What the checks of a kata are worth, and that another check changes no kata."""

import re
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from grader.checks import builtin
from grader.checks.kata_checks import AGREEMENT, LEAST_AGREEMENT, STEP, points_of_builtin
from grader.course.catalog import open_course
from grader.course.submission import read_submission
from grader.grading.grader import Grader
from grader.grading.session import GraderSettings, open_grader
from grader.kata import Kata, hundredths

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import numpy as np

def double(x):
    if isinstance(x, str):
        raise ValueError
    return """
GUIDE = (ROOT / "docs/extending.md").read_text()


@pytest.fixture(scope="module")
def course():
    return open_course(ROOT)


@pytest.fixture
def printed_check():
    """The check that the guide prints, added to those that every kata gets."""
    (code,) = re.findall(r"```python\n( *@builtin_check.*?)```", GUIDE, re.DOTALL)
    before = dict(builtin.BUILTIN)
    exec(textwrap.dedent(code), vars(builtin))
    (name,) = builtin.BUILTIN.keys() - before
    yield builtin.BUILTIN[name]
    del builtin.BUILTIN[name], vars(builtin)[name]


def declarations(course):
    katas = [course.declaration(info) for info in course.katas.values()]
    return [kata for kata in katas if kata.kind.is_code]


def of_author(kata):
    return sum(part.points for part in [*kata.laws, *kata.corners])


def kata_with(points):
    """A kata whose laws are worth so many points."""
    kata = Kata("double", track="vectors", entry_points=("double",), title="", source="", hints=("",))

    @kata.law(points=points)
    def test_law(student):
        """It holds."""

    return kata


class TestAnotherCheck:
    def test_has_points_in_every_kata(self, course, printed_check):
        for kata in declarations(course):
            points = points_of_builtin(kata)
            assert points[printed_check.name] in (STEP, 2 * STEP), kata.name

    @pytest.mark.usefixtures("printed_check")
    def test_leaves_each_kata_its_points_and_agreement_its_least(self, course):
        for kata in declarations(course):
            points = points_of_builtin(kata)
            assert points[AGREEMENT] >= LEAST_AGREEMENT, kata.name
            assert sum(points.values()) + of_author(kata) == hundredths(kata.points), kata.name
            assert min(points.values()) >= STEP, kata.name

    def test_judges(self, tiny_course, numpy_source, printed_check, tmp_path):
        info = tiny_course.kata_info("double")
        grader = Grader(tiny_course, {"numpy": numpy_source})

        def grade(body):
            file = tmp_path / "double.py"
            file.write_text(CODE + body)
            report = grader.grade(read_submission(info, file)).report
            return report, next(check for check in report.checks if check.name == printed_check.name)

        report, check = grade("x + x")
        assert (report.score, check.status, check.max_score) == (1000, "passed", 50)
        report, check = grade("np.where(x > 0, x + x, np.nan).astype(x.dtype)")
        assert (check.status, check.message) == ("failed", "The result holds NaN or an infinity.")
        assert report.score < 1000


class TestPoints:
    def test_are_what_checks_ask_for_where_there_is_room(self):
        points = points_of_builtin(kata_with(5))
        assert points == {**dict.fromkeys(points, 50), AGREEMENT: 150}

    def test_of_those_that_vary_a_case_are_given_up_first(self):
        points = points_of_builtin(kata_with(5.5))
        fewer = {name for name, worth in points.items() if worth == 25}
        assert fewer == {"answers_the_same_again", "earlier_calls_change_nothing"}
        assert points[AGREEMENT] == LEAST_AGREEMENT

    def test_are_never_all_given_up(self):
        points = points_of_builtin(kata_with(8))
        assert points == {**dict.fromkeys(points, STEP), AGREEMENT: 25}
        assert sum(points.values()) == 200

    def test_of_a_check_without_cases_go_to_agreement(self):
        few = points_of_builtin(kata_with(5.5), ["has_the_right_shape", "answers_the_same_again"])
        assert few == {"has_the_right_shape": 50, "answers_the_same_again": 25, AGREEMENT: 375}

    def test_add_up_in_both_libraries(self, course):
        info = course.kata_info("softmax")
        grader, factories = open_grader(course, [info], GraderSettings())
        with closing(factories):
            for library in ("numpy", "torch"):
                assert sum(check.points for check in grader.prepare(info, library).checks) == 1000
