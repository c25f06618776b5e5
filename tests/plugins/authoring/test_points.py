"""`kata verify --points`: the points of a mistake under many seeds."""

import pytest

from dojo_authoring.verify.judged import judge_mistake
from dojo_authoring.verify.points import Seeds, judge_kata, verify_points
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.context import PreparedKata
from grader.checks.kata_checks import checks_of
from grader.course.known_solutions import KnownSolutions


def test_a_mistake_that_is_asked_what_all_seeds_have_once_is_judged_as_if_it_were_asked_again(tiny_course):
    info = tiny_course.kata_info("double")
    kata, found = tiny_course.declaration(info), judge_kata(tiny_course, info, 3)
    answers = KnownSolutions(tiny_course, info, "mistakes")
    assert found.points.keys() == set(answers.names)
    for at in range(3):
        oracle = Oracle(kata, tiny_course, info, SEED + at, keeps=False)
        prepared = PreparedKata(info, kata, oracle, checks_of(kata, oracle))
        for name in answers.names:
            mistake = judge_mistake(prepared, answers, name)
            failing = {result.check.name for result in mistake.results if result.failures}
            assert (found.points[name][at], found.failing[name][at]) == (mistake.points, failing)


def test_points_that_differ_by_more_than_half_a_point_are_found(tiny_course):
    seeds = Seeds(tiny_course.kata_info("double"))
    seeds.points = {"steady": [50, 50], "near": [50, 100], "far": [50, 150]}
    assert seeds.far_apart == ["far"]


@pytest.mark.slow
def test_each_kata_has_a_line(tiny_course, capsys):
    assert verify_points(tiny_course, ("double",), 2) == 0
    *_, kata, total = capsys.readouterr().out.splitlines()
    assert kata.startswith("double")
    assert kata.endswith("at most 0 points apart")
    assert " under 2 seeds: " in total
    assert total.endswith("0 more than 0.5 points apart.")
