"""`grade plan`: what it prints at 80 columns, what it refuses, and the same in the loop."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.cli.kata_list import welcome
from grader.cli.plan_text import all_plans, one_plan, with_options
from grader.course.catalog import Course
from grader.course.plans import limited
from grader.course.state import CourseState, KataState
from grader.grading.standings import Standing, next_kata

ROOT = Path(__file__).parents[3]
COURSE = Course(ROOT)
PAGE = (ROOT / "docs" / "paths.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def nothing_passed(monkeypatch):
    monkeypatch.setattr(CourseState, "passed", lambda _: set())


def run(*words):
    return CliRunner().invoke(grade, [*words, "--course", str(ROOT)])


def test_every_plan_has_one_line_at_80_columns():
    told = run("plan").stdout
    assert told == (
        "  lab          8 katas, 4 hours   from scores to a multi-head attention\n"
        "  weekend     26 katas, 16 hours  a GPT that is trained and writes\n"
        "  interview   37 katas, 29 hours  what interviews ask for\n"
        "  cs336       38 katas, 28 hours  the first five weeks of Stanford's CS336\n"
        "  term       106 katas, 85 hours  the whole course\n"
        "\n"
        "Its katas:  grade plan lab\n"
        "Begin:      grade --plan lab\n"
        "Less time:  grade plan interview --hours 4\n"
    )


def test_one_hour_for_an_interview():
    assert run("plan", "interview", "--hours", "1").stdout == (
        "interview in 1 hour. 1 kata, 45 minutes.\n"
        "\n"
        "   1 · top_p   45 min  wanted\n"
        "\n"
        "May be skipped, if you read the statements: softmax, temperature_sampling and\n"
        "top_k (for top_p, 90 minutes).\n"
        "Left out: kv_cache (70 minutes, 280 with what it builds on),\n"
        "grouped_query_attention (45 minutes, 180 with what it builds on) and\n"
        "rotary_embedding (60 minutes, 90 with what it builds on).\n"
        "Left out too: 30 other katas of the plan, 23 hours.\n"
        "15 minutes to spare: read the statement of kv_cache.\n"
        "\n"
        "Begin:  grade --plan interview --hours 1\n"
    )


def test_the_sample_of_the_docs_is_what_the_command_prints():
    shown = run("plan", "interview", "--hours", "4").stdout
    assert f"$ grade plan interview --hours 4\n{shown}```\n" in PAGE


def test_without_hours_every_kata_has_its_title_and_what_has_passed_is_marked(monkeypatch):
    monkeypatch.setattr(CourseState, "passed", lambda _: {"softmax"})
    told = run("plan", "lab").stdout
    assert told.startswith("lab: from scores to a multi-head attention. 8 katas, 1 passed, 220 minutes.\n")
    assert "   1 ✓ softmax                        passed  Scores become probabilities\n" in told
    assert "   2 · scaled_dot_product_attention   40 min  Queries, keys and values\n" in told
    assert told.endswith("\n\nBegin:  grade --plan lab\n")


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("hours", [None, 0.5, 1, 4, 16])
def test_no_line_is_longer_than_the_terminal(width, hours):
    for name in COURSE.syllabus.plans:
        assert max(map(len, one_plan(COURSE, name, hours, width).splitlines())) <= width
    assert max(map(len, all_plans(COURSE, width).splitlines())) <= width


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("plan lob", "There is no plan called `lob`. There are lab, weekend, interview, cs336, term."),
        ("plan lab --hours 0", "`0` is no number of hours: say one above 0, such as 1 or 2.5."),
        ("plan lab --hours -1", "`-1` is no number of hours: say one above 0, such as 1 or 2.5."),
        ("plan lab --hours nan", "`nan` is no number of hours: say one above 0, such as 1 or 2.5."),
        ("--plan lab --hours x", "`x` is no number of hours: say one above 0, such as 1 or 2.5."),
        (
            "plan lab --hours 0.1",
            "No kata of the plan `lab` fits into 0.1 hours: the shortest, softmax, takes 20 minutes.",
        ),
        (
            "next --plan lab --hours 0.1",
            "No kata of the plan `lab` fits into 0.1 hours: the shortest, softmax, takes 20 minutes.",
        ),
        ("plan --hours 1", "`--hours` goes with a plan: grade plan interview --hours 4."),
        (
            "next --hours 1",
            "`--hours` goes with a plan: --plan NAME --hours 4. `grade plan` lists the plans.",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(words, sentence):
    result = run(*words.split())
    assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"{sentence}\n")


def test_a_course_without_plans_says_so(write, tmp_path, tiny_files):
    result = CliRunner().invoke(grade, ["plan", "--course", str(write(tmp_path, tiny_files))])
    assert (result.exit_code, result.stderr) == (
        4,
        "The course has no plans; `grade list` shows its katas.\n",
    )


def test_commands_take_the_katas_that_are_chosen():
    assert "Next: top_p (" in run("next", "--plan", "interview", "--hours", "1").stdout
    assert "kv_cache" not in run("list", "--plan", "interview", "--hours", "1").stdout


def test_what_fits_into_hours_is_done_in_the_order_of_importance(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    course = limited(COURSE, "interview", 4)
    states = {"softmax": KataState("d", "passed", passed=True), "rotary_embedding": KataState("d", "failed")}
    known = {name: states.get(name, KataState()) for name in course.katas}
    found = [Standing(info, "", known[name], changed=False) for name, info in course.katas.items()]
    assert next_kata(course, found).info.name == "kv_cache"  # and not the one that was graded last
    assert next_kata(course, found, "kv_cache").info.name == "top_p"


def test_the_welcome_names_the_plans_of_a_course_and_not_within_one():
    first = COURSE.katas["softmax"]
    line = "  For a goal, or with little time: grade plan\n"
    assert line in welcome(COURSE, first)
    assert line not in welcome(COURSE.limited_to("lab"), first)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        (["--ascii", "--plan", "lab", "--screen"], ["--ascii", "--screen"]),
        (["--plan=lab", "--hours=2", "--ascii"], ["--ascii"]),
        (["--hours", "1", "--plan", "lab"], []),
    ],
)
def test_another_plan_takes_the_place_of_the_one_before(before, after):
    assert with_options(before, ["--plan", "x"]) == [*after, "--plan", "x"]
