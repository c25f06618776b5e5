"""A mistake is compared with a submission call by call, and stops where they part."""

from pathlib import Path

import numpy as np
import pytest

from grader.checks.context import CheckContext
from grader.checks.runner import run_check
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.diagnosis.compared_failures import ComparedFailure
from grader.diagnosis.known_mistakes import MistakeOfCourse, known_mistakes
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)


def prepared_of(name, source):
    return Grader(COURSE, {"numpy": source}).prepare(COURSE.kata_info(name))


def failures_of(prepared, mistake):
    """Yield two failures of a mistake for each check that compares answers, as those of a submission."""
    student = LocalStudent(mistake._answers.fresh(mistake.id))
    context = CheckContext(prepared.kata, prepared.oracle, student)
    for check in prepared.checks:
        if check.nature.compares or check.nature.of_state:
            for failure in run_check(check, context).failures[:2]:
                yield check, failure


@pytest.mark.parametrize("name", ["softmax", "prefix_cache"])
def test_what_stops_at_another_answer_is_told_apart_as_by_all_answers(name, numpy_source):
    prepared = prepared_of(name, numpy_source)
    asking, stopping = (known_mistakes(COURSE, prepared)[:20:3] for _ in range(2))
    told, stopped = [], 0
    with np.errstate(all="ignore"):
        for submitted in known_mistakes(COURSE, prepared)[:9:3]:
            for check, failure in failures_of(prepared, submitted):
                compared = ComparedFailure(failure)
                for whole, early in zip(asking, stopping, strict=True):
                    alike = compared.matches(whole.outcome(check, failure.case))
                    assert early.fails_like(compared, check, failure.case) == alike, (whole.id, submitted.id)
                    told.append(alike)
                    key = check.name, check.position(failure.case)
                    stopped += key not in early._single
                    assert early.fails_like(compared, check, failure.case) == alike
                    assert key in early._single or check.name in early._whole
    assert any(told)
    assert stopped


def test_only_checks_that_compare_answers_run_before_the_one_that_is_asked(numpy_source):
    prepared = prepared_of("softmax", numpy_source)
    mistake = known_mistakes(COURSE, prepared)[0]
    assert isinstance(mistake, MistakeOfCourse)
    law = prepared.checks[-1]
    assert len(mistake.outcomes(law)) == len(law.cases)
    ran = {check.name for check in prepared.checks if check.name in mistake._whole}
    assert ran == {check.name for check in prepared.checks if check.nature.compares or check is law}


def test_a_case_has_one_answer_whatever_was_asked_before(numpy_source):
    prepared = prepared_of("causal_mask", numpy_source)
    check = next(check for check in prepared.checks if check.nature.compares and len(check.cases) > 1)

    def failing(mistake, cases):
        return {check.position(case) for case in cases if mistake.outcome(check, case)}

    def keeping():  # a mask is kept under one of its two lengths
        every = known_mistakes(COURSE, prepared)
        return next(mistake for mistake in every if mistake.id == "remembers_only_the_query_length")

    forwards, backwards = failing(keeping(), check.cases), failing(keeping(), check.cases[::-1])
    assert forwards == backwards == set().union(*(failing(keeping(), [case]) for case in check.cases))


def test_a_case_that_seeds_its_draws_is_asked_alone(torch_source):
    prepared = prepared_of("temperature_sampling", torch_source)
    mistake = next(one for one in known_mistakes(COURSE, prepared) if one.id == "divides_the_probabilities")
    compared = [check for check in prepared.checks if check.nature.compares]
    assert any(mistake.outcome(check, case) for check in compared for case in check.cases)
    assert not mistake._whole


def test_joined_mistakes_are_made_once_and_drop_their_code_but_not_their_answers(numpy_source, monkeypatch):
    monkeypatch.setattr("grader.diagnosis.known_mistakes.MOST_WITH_CODE", 1)
    prepared = prepared_of("softmax", numpy_source)
    mistakes = {mistake.id: mistake for mistake in known_mistakes(COURSE, prepared)}
    case, later = (check := prepared.checks[0]).cases[:2]
    one, other = mistakes["forgets_to_subtract_the_max"], mistakes["divides_by_the_sum_of_the_whole_array"]
    joined = one.with_another(other)
    outcome = joined.outcome(check, case)
    assert joined._written
    another = other.with_another(one)
    assert another is not joined
    assert not joined._written
    assert one.with_another(other) is joined
    assert joined.outcome(check, case) is outcome
    assert not joined._written  # what was answered before needs no code
    joined.outcome(check, later)
    assert joined._written
    assert not another._written


@pytest.mark.slow
def test_what_an_answer_keeps_from_checks_that_compare_nothing_is_kept_by_the_mistake(torch_source):
    info = COURSE.kata_info("kv_cache")
    shared = standalone_sources(COURSE, info, "mistakes")["shares_one_history"]
    report = Grader(COURSE, {"torch": torch_source}).grade(Submission(info, shared, "kv_cache.py")).report
    named = {check.mistake for check in report.checks if check.mistake}
    assert {(one.id, one.certain, one.partial) for one in named} == {("shares_one_history", True, False)}
