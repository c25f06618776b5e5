"""Tests of how cases are drawn for the corners of a kata."""

import textwrap

import pytest

from grader.cases.oracle import Oracle
from grader.course.catalog import Course
from grader.kata import KataError

from ...conftest import DOUBLE

DECLARATION = "tests/katas/attention/test_double.py"
CORNER = '''

@KATA.corner(points=0.5)
def rare(x):
    """Rare cases are right."""
    return {condition}
'''


@pytest.fixture
def key_of(tmp_path, write):
    """`key_of(condition, seed)` returns the cases of the tiny course with a corner of that condition."""

    def draw(condition, seed):
        source = textwrap.dedent(DOUBLE[DECLARATION]) + CORNER.format(condition=condition)
        course = Course(write(tmp_path, {**DOUBLE, DECLARATION: source}))
        info = course.kata_info("double")
        return Oracle(course.declaration(info), course, info, seed=seed).answered

    return draw


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_corner_has_cases_with_any_seed(key_of, seed):
    one_in_fifty = "hasattr(x, 'shape') and round(float(abs(x).sum()) * 1000) % 47 == 1"
    assert key_of(one_in_fifty, seed).of_corner("rare")


def test_a_corner_that_no_case_reaches_is_refused_in_one_sentence(key_of):
    with pytest.raises(KataError, match=r"^double: the corner `rare` has no case; change how cases"):
        key_of("False", 1)
