"""Reviews: one line of an answer that passes is changed, and its student finds it."""

import ast
import difflib
import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_review import faults, schedule
from dojo_review.faults import choose, faults_in, suitable
from dojo_review.review import case_lines, hint_of, listing
from dojo_review.schedule import ReviewOutcome, calendar, in_words
from dojo_review.versions import tell_apart
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.reviews import REVIEW_DAYS
from grader.course.state import STATE_FILE, STATE_FOLDER, CourseState
from grader.course.stubs import BEST_COPIES, Versions
from grader.grading.session import open_grader

pytestmark = pytest.mark.slow  # each judges an answer with its faults

ROOT = Path(__file__).resolve().parents[3]
TODAY = date.today()
TOP_P = ROOT / "solutions/generation/top_p/reference.py"

MINE = '''"""Softmax."""

import numpy as np


def softmax(x, axis=-1):
    """Return the softmax."""
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(float)
    e = np.exp(x - x.max(axis=axis, keepdims=True))  # shifted, so that nothing overflows
    return e / e.sum( axis=axis, keepdims=True )
'''


@pytest.fixture
def mine(tmp_path):
    """The course, with exercises of which softmax has passed."""
    for info in Course(ROOT).katas.values():
        file = tmp_path / "exercises" / info.track / f"{info.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / "exercises" / info.track / file.name).read_bytes())
    course = Course(ROOT, tmp_path / "exercises")
    file_of(course).write_text(MINE)
    CourseState(course).change("softmax", status="passed", passed=True, passed_on=days_ago(1))
    return course


@pytest.fixture(scope="module")
def softmax():
    """The kata of softmax with a grader."""
    course = Course(ROOT)
    info = course.kata_info("softmax")
    grader, factories = open_grader(course, [info])
    yield grader, info
    factories.close()


def file_of(course, name="softmax"):
    return course.stub(course.kata_info(name))


def days_ago(number):
    return (TODAY - timedelta(days=number)).isoformat()


def review(course, *words, answers=()):
    typed = "".join(f"{answer}\n" for answer in answers)
    words = ["review", *words, "--course", str(ROOT), "--exercises", str(course.exercises)]
    return CliRunner().invoke(grade, words, input=typed)


def fault_of(monkeypatch, was, now):
    """Let reviews choose the fault that makes `now` of `was`."""

    def chosen(grader, info, source, *_, **__):
        found = [fault for fault in faults_in(source) if was in fault.was and now in fault.now]
        return next(suitable(grader, info, found))

    monkeypatch.setattr("dojo_review.review.choose", chosen)


# --- faults ---


@pytest.mark.parametrize("source", [MINE, TOP_P.read_text()], ids=["mine", "top_p"])
def test_a_fault_changes_one_line_and_keeps_every_other_character(source):
    faults = faults_in(source)
    assert len(faults) > 10
    for fault in faults:
        changes = [
            line for line in difflib.ndiff(source.split("\n"), fault.source.split("\n")) if line[0] in "+-"
        ]
        assert len(changes) == 2, fault
        assert source.split("\n")[fault.line - 1] == fault.was
        assert ast.unparse(ast.parse(fault.source)) != ast.unparse(ast.parse(source))
        assert fault.mended(fault.was) == fault.mended(fault.was.strip()) == source


def test_a_comment_stays_behind_a_changed_line():
    changed = [fault.now for fault in faults_in(MINE) if "np.exp" in fault.was]
    assert any("x + x.max" in line for line in changed)
    assert all(line.endswith("  # shifted, so that nothing overflows") for line in changed)


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("return a * (b + c)", "return a * (b - c)"),
        ("return [a, b][0]", "return [a, b][1]"),
        ('return "ä" + a[0]', 'return "ä" + a[1]'),
    ],
)
def test_brackets_and_characters_of_several_bytes_are_kept(line, due):
    source = f"def f(a, b, c):\n    {line}\n"
    assert f"    {due}" in [fault.now for fault in faults_in(source)]


def test_a_fault_is_caught_on_a_small_case_and_undone_by_its_line(softmax):
    grader, info = softmax
    found = choose(grader, info, MINE, "a seed")
    assert found.report.status == "failed"
    assert found.fault.mended(found.fault.was) == MINE
    assert len(found.check.call.splitlines()) <= 20
    assert "raised" not in found.check.message


def test_a_mistake_that_the_student_has_made_comes_first(softmax):
    grader, info = softmax
    found = choose(grader, info, MINE, "a seed", ("divides_by_the_sum_of_the_whole_array",), seconds=60)
    assert found.mistake == "divides_by_the_sum_of_the_whole_array"


def test_the_search_for_a_first_fault_ends(softmax, monkeypatch):
    tried = []
    monkeypatch.setattr(faults, "suitable", lambda *given: tried.append(given) or iter(()))
    clock = iter(range(10**6))
    monkeypatch.setattr(faults.time, "monotonic", lambda: float(next(clock)))
    assert choose(*softmax, MINE, "a seed", seconds=1.0) is None
    assert len(tried) == 6


def test_an_answer_without_a_fitting_fault_has_none(softmax):
    grader, info = softmax
    assert choose(grader, info, "def softmax(x, axis=-1):\n    pass\n", "a seed") is None


# --- when ---


def test_a_kata_comes_after_1_3_7_and_21_days(mine):
    assert [due.day for due in calendar(mine, TODAY)] == [TODAY]
    days = [schedule.record(mine, "softmax", ReviewOutcome.CASE, TODAY) for _ in range(4)]
    assert days == [*(TODAY + timedelta(days=number) for number in REVIEW_DAYS[1:]), None]
    assert [due.day for due in calendar(mine, TODAY)] == [None]


@pytest.mark.parametrize(
    ("outcome", "days"),
    [
        (ReviewOutcome.AT_ONCE, 21),
        (ReviewOutcome.CASE, 7),
        (ReviewOutcome.HINT, 3),
        (ReviewOutcome.MISSED, 1),
    ],
)
def test_the_outcome_sets_the_next_day(mine, outcome, days):
    CourseState(mine).change("softmax", reviews=1, review_on=TODAY.isoformat())
    assert schedule.record(mine, "softmax", outcome, TODAY) == TODAY + timedelta(days=days)


def test_a_kata_with_a_puzzle_skips_no_step(mine):
    CourseState(mine).change("softmax", puzzle=["uses_powers_of_two"])
    day = schedule.record(mine, "softmax", ReviewOutcome.AT_ONCE, TODAY)
    assert day == TODAY + timedelta(days=REVIEW_DAYS[1])


def test_what_was_not_found_comes_first(mine):
    for name in ("causal_mask", "layer_norm"):
        CourseState(mine).change(name, passed=True, passed_on=days_ago(9))
    CourseState(mine).change("layer_norm", review_on=days_ago(0), reviewed=str(ReviewOutcome.MISSED))
    assert [due.info.name for due in calendar(mine, TODAY)] == ["layer_norm", "causal_mask", "softmax"]


@pytest.mark.parametrize("day", ["9999-01-01", "never", "", "2026-02-30"])
def test_a_wrong_clock_or_a_damaged_day_makes_a_review_due(mine, day):
    CourseState(mine).change("softmax", review_on=day, passed_on="also never")
    assert [due.day for due in calendar(mine, TODAY)] == [TODAY]


@pytest.mark.parametrize("day", ["9999-12-31", "9999-12-30", "0001-01-01"])
def test_a_first_pass_in_a_year_that_no_clock_shows_makes_a_review_due(mine, day):
    CourseState(mine).change("softmax", passed_on=day)
    assert calendar(mine, TODAY)[0].is_due(TODAY)


def test_the_state_of_an_older_grader_makes_reviews_due(mine):
    path = mine.exercises.parent / STATE_FOLDER / STATE_FILE
    state = json.loads(path.read_text())
    for field in ("passed_on", "mistakes", "reviews", "review_on", "reviewed"):
        del state["katas"]["softmax"][field]
    path.write_text(json.dumps(state))
    assert [due.day for due in calendar(mine, TODAY)] == [TODAY]


def test_days_are_said_in_words():
    said = [in_words(TODAY + timedelta(days=number), TODAY) for number in (-3, 0, 1, 7)]
    assert said == ["today", "today", "tomorrow", "in 7 days"]


# --- the dialogue ---

SUM = "e.sum(", "e.sum(keepdims=True)"  # a line of the answer, and what it becomes
RIGHT = "return e / e.sum(axis=axis, keepdims=True)"


def test_a_line_that_is_found_at_first_sight(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    done = review(mine, answers=["11", RIGHT])
    assert done.output.startswith(OPENING)
    assert "Line 11 it is." in done.output
    assert "✓ Mended: every check passes." in done.output
    assert "Found at first sight. It comes again in 7 days." in done.output
    assert "It fails here" not in done.output
    assert done.exit_code == 0
    assert file_of(mine).read_text() == MINE


OPENING = """softmax: one line of an answer of yours was changed.

   3 │ import numpy as np
   4 │
   5 │
   6 │ def softmax(x, axis=-1):
   8 │     if not np.issubdtype(x.dtype, np.floating):
"""


def test_after_the_case_and_after_the_hint(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    done = review(mine, answers=["4", "", "12", "x", ""])
    assert "Not line 4. Which line is it? Enter shows a failing case" in done.output
    assert "It fails here:\n\n    import numpy as np\n    from softmax import softmax\n" in done.output
    assert "Line 12 it is." not in done.output  # 11 is the line
    assert "Not line x." in done.output


def test_a_line_that_is_not_found_is_shown_and_comes_first_tomorrow(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    done = review(mine, answers=["", "", "", "return e / e.sum()", ""])
    assert "Look in `softmax`: it is an axis." in done.output
    assert "It is line 11." in done.output
    assert "✗ " in done.output
    assert "11 │ return e / e.sum( axis=axis, keepdims=True )" in done.output
    assert "Not found. It comes again tomorrow." in done.output
    assert done.exit_code == 1


def test_three_texts_that_do_not_mend_it_show_the_line(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    done = review(mine, answers=["11", "return e (", "return x", "return e"])
    assert done.output.count("✗ ") == 3
    assert "It was:" in done.output


def test_who_ends_it_has_not_been_reviewed(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    before = CourseState(mine).kata("softmax")
    assert review(mine, answers=["4"]).exit_code == 1
    assert CourseState(mine).kata("softmax") == before


def test_neither_the_case_nor_the_hint_names_the_mistake_or_the_line(softmax):
    grader, info = softmax
    found = choose(grader, info, MINE, "a seed", ("divides_by_the_sum_of_the_whole_array",), seconds=60)
    shown = "\n".join([*case_lines(found.check, 80), hint_of(found.fault)])
    assert found.report.mistake.text[:30] not in shown
    assert str(found.fault.line) not in hint_of(found.fault)
    assert "whole array" not in shown


def test_a_listing_hides_docstrings_and_keeps_the_numbers_of_the_file():
    assert listing('"""Text."""\n\ndef f():\n    """More\n    text."""\n    return 1\n', 80) == [
        "  3 │ def f():",
        "  6 │     return 1",
    ]


@pytest.mark.parametrize("answers", [[], ["", "", "", ""]])
def test_the_file_of_the_student_is_untouched(mine, answers):
    review(mine, "softmax", answers=answers)
    assert file_of(mine).read_text() == MINE


# --- what may be wrong ---


def test_an_answer_that_is_gone_is_reviewed_from_its_best_copy(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    Versions(CourseState(mine).folder).keep(BEST_COPIES, mine.kata_info("softmax"), file_of(mine))
    file_of(mine).unlink()
    assert review(mine, answers=["11", RIGHT]).output.startswith(OPENING)


def test_an_answer_that_is_being_changed_is_reviewed_from_its_best_copy(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    Versions(CourseState(mine).folder).keep(BEST_COPIES, mine.kata_info("softmax"), file_of(mine))
    file_of(mine).write_text(MINE.replace("keepdims=True )", "keepdims=False)"))
    assert review(mine, answers=["11", RIGHT]).output.startswith(OPENING)


def test_an_answer_that_is_lost_is_left_out(mine):
    file_of(mine).unlink()
    done = review(mine)
    assert done.output == "softmax is left out: no answer of yours that has passed is left.\n"
    assert done.exit_code == 0


def test_an_answer_that_does_not_pass_any_more_is_left_out(mine):
    file_of(mine).write_text(MINE.replace("keepdims=True )", "keepdims=False)"))
    done = review(mine, "softmax")
    assert done.output.startswith("softmax is left out: your answer does not pass any more. ")
    assert done.exit_code == 1


def test_what_cannot_be_reviewed_is_said(mine):
    assert "causal_mask has not passed yet" in review(mine, "causal_mask").output
    assert review(mine, "causal_mask").exit_code == 4
    CourseState(mine).change("attention_questions", passed=True)
    assert "asks questions: it has no code" in review(mine, "attention_questions").output
    assert review(mine, "softmax", "causal_mask").exit_code == 4


def test_nothing_is_due_before_its_day(mine):
    CourseState(mine).change("softmax", passed_on=TODAY.isoformat())
    assert review(mine).output == "Nothing is due today. Next is softmax, tomorrow: grade review softmax\n"
    CourseState(mine).change("softmax", reviews=len(REVIEW_DAYS))
    assert review(mine).output.startswith("Nothing is due any more.")


def test_without_a_pass_there_is_nothing_to_review(tmp_path):
    (tmp_path / "exercises").mkdir()
    done = review(Course(ROOT, tmp_path / "exercises"))
    assert (done.exit_code, done.output[:24]) == (4, "No kata has passed yet: ")


def test_the_calendar_lists_days(mine):
    CourseState(mine).change("layer_norm", passed=True, passed_on=TODAY.isoformat())
    CourseState(mine).change("top_k", passed=True, reviews=len(REVIEW_DAYS))
    assert review(mine, "--list").output.split("\n") == [
        "today     softmax",
        "tomorrow  layer_norm",
        "no more   top_k",
        "",
    ]


# --- two versions ---


def broken_in(output):
    """Return the letter of the version with the fault."""
    first = output.partition("\nB\n")[0]
    return "A" if "keepdims=True)\n" in first.split("return")[-1] else "B"


def test_the_broken_one_of_two_versions_and_a_call_that_tells(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    letter = broken_in(review(mine, "--which").output)
    done = review(mine, "--which", answers=[letter, "softmax(np.ones(2))", "softmax(np.ones((2, 2)))"])
    assert "✗ Both give [0.5, 0.5]." in done.output
    assert "✓ It does: [[0.25, 0.25], [0.25, 0.25]], expected [[0.5, 0.5], [0.5, 0.5]]." in done.output
    assert "Found at first sight." in done.output
    assert "def softmax" in done.output
    assert "import numpy" not in done.output


def test_the_wrong_one_of_two_versions(mine, monkeypatch):
    fault_of(monkeypatch, *SUM)
    letter = broken_in(review(mine, "--which").output)
    done = review(mine, "--which", answers=["B" if letter == "A" else "A"])
    assert f"It is {letter}, in line 11." in done.output
    assert "It fails here:" in done.output
    assert "Not found." in done.output


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("softmax(", "That is no expression"),
        ("x = 3", "That is no expression"),
        ("np.ones(3", "That is no expression"),
        ("1)\nimport os\n(2", "That is no expression"),
        ("softmax", ""),
        ("open('/etc/passwd').read()", ""),
        ("nonsense", ""),
        ("[0] * 10**10", ""),
    ],
)
def test_an_expression_that_tells_nothing_apart(softmax, expression, problem):
    grader, info = softmax
    fault = next(fault for fault in faults_in(MINE) if SUM[1] in fault.now)
    told = tell_apart(grader, info, MINE, fault, expression)
    assert not told.differs
    assert told.problem.startswith(problem)
