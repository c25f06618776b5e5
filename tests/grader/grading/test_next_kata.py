"""What is said of the next kata: its title, its file, why it was chosen, and what is not installed."""

import pytest

from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.grading import session
from grader.grading.grader import Grader
from grader.grading.session import Session
from grader.grading.standings import after_single_pass, next_kata, next_line, standings

SKILLS = """path = { attention = ["double", "triple"], modules = ["center"] }
[skills]
double = ["sums"]
triple = ["products"]
center = ["sums", "large_means"]
[skill_names]
sums = "Sums."
products = "Products."
large_means = "Means."
[plans.sums]
hours = 1
katas = ["double", "center"]
"""
CARD, STUB = "tests/katas/attention/test_double.py", "exercises/attention/double.py"


@pytest.fixture
def course(tmp_path, tiny_files, write, monkeypatch):
    more = {
        "tests/katas/path.toml": SKILLS,
        CARD.replace("double", "triple"): tiny_files[CARD].replace('"double"', '"triple"'),
        STUB.replace("double", "triple"): tiny_files[STUB].replace("def double", "def triple"),
    }
    monkeypatch.chdir(tmp_path)
    return Course(write(tmp_path, {**tiny_files, **more}))


def pass_double(course, **facts):
    CourseState(course).change(
        "double", digest="1", status="passed", passed=True, graded_at="2026-03-14T12:00:00", **facts
    )


TRIPLE = "Next: triple (Twice as much), in exercises/attention/triple.py."
CENTER = (
    "Next: center (Around the mean), in exercises/modules/center.py, because double took two hints, and this"
    " one is about sums too."
)


def test_the_next_of_the_order_needs_no_reason(course):
    pass_double(course, helped=1)
    assert next_line(course, standings(course)) == TRIPLE


def test_a_choice_says_why(course):
    pass_double(course, helped=2)
    assert next_line(course, standings(course)) == CENTER
    assert after_single_pass(course, course.katas["double"])[0] == CENTER


def test_a_plan_chooses_within_itself(course):
    pass_double(course, helped=1)
    plan = course.limited_to("sums")
    assert next_kata(plan, standings(plan)).info.name == "center"
    pass_double(course, helped=2)
    assert after_single_pass(plan, plan.katas["double"])[0].endswith(CENTER)


def test_a_kata_whose_library_is_missing_says_so(course, monkeypatch):
    pass_double(course, helped=2)
    monkeypatch.setattr(session, "lacks_library", lambda info: info.library == "torch")
    assert (
        next_line(course, standings(course)) == f"{CENTER} {session.what_to_install(course.katas['center'])}"
    )


def test_a_file_that_is_begun_comes_first_before_it_was_ever_graded(course):
    course.stub(course.katas["triple"]).write_text("def triple(x):\n    return 3\n")
    assert next_line(course, standings(course)) == f"{TRIPLE[:-1]}, because you have begun it."


def test_what_an_editor_holds_is_no_attempt_of_its_own(course, numpy_source):
    info = course.katas["double"]
    path, judged = course.stub(info), Session(Grader(course, {"numpy": numpy_source}))
    for number, text in enumerate(
        ("def double(x):\n    return 3 * x\n", "def double(x):\n    return 2 * x\n")
    ):
        path.write_text(text)
        judged.grade(info, path, text=text)
        assert judged.state.kata("double").graded_at
        assert judged.state.kata("double").attempts == number
        path.write_text(f"{text}\n")
        judged.grade(info, path)
        assert judged.state.kata("double").attempts == number + 1


def test_all_that_pass_are_said_together(course):
    for name in course.katas:
        CourseState(course).change(name, passed=True)
    assert next_kata(course, standings(course)) is None
    assert next_line(course, standings(course)).startswith("All 3 katas pass.")
