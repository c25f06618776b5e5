"""Whatever a submission does: no full marks for a wrong answer, every check reported, no exception."""

from pathlib import Path

import pytest

from grader.report import Report, from_json, to_json
from grader.submission import Refused, read_submission

HERE = Path(__file__).parent / "submissions"
SLOW = {
    "answers_twice",
    "returns_generator",
    "forged_array",
    "forged_class_name",
    "replays_the_first_answer",
    "returns_objects",
    "announces_a_huge_frame",
    "changes_after_return",
    "deep_recursion",
    "holds_the_gil",
    "ignores_signals",
    "infinite_loop",
    "memory_bomb",
    "never_imported",
    "prints_a_lot",
    "returns_a_deep_nest",
    "returns_a_wide_nest",
    "sleeps",
    "thread_bomb",
    "writes_to_descriptors",
}
#: What cannot be loaded is refused with a sentence, and has no checks.
REFUSED = {
    "exits_when_imported": "cannot be imported: The process that ran the submission ended",
    "fails_when_imported": "fails in line 3 when it is imported: RuntimeError.",
    "imports_itself_forever": "No module named 'softmax_of_somebody_else'",
    "is_a_number": "defines no function or class called `softmax`.",
    "is_missing": "defines no function or class called `softmax`.",
    "never_imported": "cannot be imported: No answer within 3 seconds.",
    "patches_builtins": "cannot be imported: The process that ran the submission ended",
}
TIMES_OUT = {"holds_the_gil", "ignores_signals", "infinite_loop", "sleeps"}
BY_ITSELF = {"patches_the_worker"}
SUBMISSIONS = sorted(HERE.glob("*.py"))


def params(names):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in sorted(names)]


def grade(grader, name):
    submission = read_submission(grader.course.card("softmax"), HERE / f"{name}.py")
    return grader.grade(submission)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", params({path.stem for path in SUBMISSIONS} - REFUSED.keys() - BY_ITSELF))
def test_it_gets_a_whole_report_and_no_full_marks(softmax_grader, name):
    report = grade(softmax_grader, name)
    plans = softmax_grader.prepare(softmax_grader.course.card("softmax")).checks
    assert [check.name for check in report.checks] == [plan.name for plan in plans]
    assert report.status == "failed"
    assert report.score < report.max_score
    assert all(check.message or check.expected for check in report.checks if check.status != "passed")
    saved = to_json(Report((report,)))
    assert to_json(from_json(saved)) == saved
    if name in TIMES_OUT:
        assert {check.status for check in report.checks} == {"timeout"}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", params(REFUSED))
def test_what_cannot_be_loaded_is_refused(softmax_grader, name):
    with pytest.raises(Refused) as refused:
        grade(softmax_grader, name)
    assert REFUSED[name] in str(refused.value)


def test_a_worker_that_says_that_all_is_well_is_refused(softmax_grader):
    with pytest.raises(Refused):
        grade(softmax_grader, "patches_the_worker")


def test_after_all_of_them_a_right_answer_still_gets_full_marks(softmax_grader):
    course = softmax_grader.course
    card = course.card("softmax")
    report = softmax_grader.grade(read_submission(card, course.solution(card, "reference")))
    assert (report.status, report.score) == ("passed", report.max_score)
