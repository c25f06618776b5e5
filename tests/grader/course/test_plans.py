"""The katas of a plan are chosen by hours: the wanted ones, what they build on, the rest."""

import re
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.plans import choice, hours_from, limited
from grader.course.state import CourseState
from grader.errors import CourseError

ROOT = Path(__file__).parents[3]
COURSE = Course(ROOT)
PAGE = (ROOT / "docs" / "paths.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## An interview in one")[2].partition("\n## ")[0]
FOUNDATIONS = [
    *("softmax", "scaled_dot_product_attention", "causal_mask", "head_split_merge", "multi_head_attention"),
    "causal_self_attention",
]
BY_HOURS = {
    1: ["top_p"],
    2: ["kv_cache", "top_p"],
    4: ["softmax", "kv_cache", "top_p", "grouped_query_attention", "rotary_embedding"],
    16: [
        *FOUNDATIONS,
        "kv_cache",
        *("temperature_sampling", "top_k", "top_p", "grouped_query_attention"),
        *("sinusoidal_positions", "rotary_embedding"),
        *("layer_norm", "feed_forward", "rms_norm", "cross_entropy", "softmax_cross_entropy_backward"),
        *("layer_norm_backward", "swiglu", "debug_masked_attention", "parameter_count"),
        *("parameter_questions", "greedy_generate", "beam_search"),
    ],
}


@pytest.fixture
def passed(monkeypatch):
    """`passed(names)` lets katas of the shipped course have passed."""
    monkeypatch.setattr(CourseState, "passed", lambda _: set())
    return lambda *names: monkeypatch.setattr(CourseState, "passed", lambda _: {*names})


@pytest.mark.usefixtures("passed")
class TestTheInterview:
    @pytest.mark.parametrize(("hours", "names"), BY_HOURS.items())
    def test_the_katas_for_so_many_hours(self, hours, names):
        assert list(choice(COURSE, "interview", hours).names) == names

    def test_one_hour_says_what_may_be_skipped_and_what_it_does_not_hold(self):
        assert list(choice(COURSE, "interview", 1).notes) == [
            "May be skipped, if you read the statements: softmax, temperature_sampling and top_k (for top_p,"
            " 90 minutes).",
            "Left out: kv_cache (70 minutes, 280 with what it builds on), grouped_query_attention (45"
            " minutes, 180 with what it builds on) and rotary_embedding (60 minutes, 90 with what it builds"
            " on).",
            "Left out too: 30 other katas of the plan, 23 hours.",
            "15 minutes to spare: read the statement of kv_cache.",
        ]

    def test_every_kata_says_why_it_is_there(self):
        why = {step.name: step.why for step in choice(COURSE, "interview", 16).steps}
        assert [name for name in why if why[name] == "for kv_cache"] == FOUNDATIONS
        assert (why["kv_cache"], why["top_p"], why["top_k"]) == ("wanted most", "wanted", "for top_p")
        assert (why["sinusoidal_positions"], why["beam_search"]) == (
            "for rotary_embedding",
            "next in the plan",
        )

    def test_what_has_passed_takes_no_time_and_is_marked(self, passed):
        passed("kv_cache", "softmax", "mini_gpt")
        found = choice(COURSE, "interview", 1)
        assert found.names == ("softmax", "kv_cache", "top_p")
        assert [(step.minutes, step.has_passed) for step in found.steps] == [
            (0, True),
            (0, True),
            (45, False),
        ]
        assert found.told == "interview in 1 hour. 3 katas, 2 passed, 45 minutes."
        assert "temperature_sampling and top_k (for top_p, 70 minutes)." in " ".join(found.notes)
        assert not any("kv_cache" in note for note in found.notes)

    def test_a_plan_that_has_passed_leaves_nothing_out(self, passed):
        passed(*COURSE.katas)
        found = choice(COURSE, "interview", 1)
        assert found.names == tuple(BY_HOURS[16][:13])  # the wanted ones, and what they build on
        assert found.told == "interview in 1 hour. 13 katas, 13 passed."
        assert found.notes == ()

    def test_of_the_rest_what_has_passed_is_left_out_and_others_build_on_it(self, passed):
        passed("softmax", "head_split_merge")
        assert choice(COURSE, "lab", 1).names == ("scaled_dot_product_attention",)
        passed("multi_head_attention", "causal_mask")
        assert "attention_questions" in choice(COURSE, "lab", 3).names

    def test_a_plan_without_wishes_that_has_passed_is_said_to_have(self, passed):
        passed(*COURSE.katas)
        with pytest.raises(CourseError, match=r"^All katas of the plan `lab` have passed\.$"):
            choice(COURSE, "lab", 1)

    def test_all_its_hours_hold_the_plan(self):
        found = choice(COURSE, "interview", 29)
        assert set(found.names) == set(COURSE.syllabus.plans["interview"].katas)
        assert choice(COURSE, "interview", 1e9).names == found.names


@pytest.mark.usefixtures("passed")
class TestEveryPlan:
    @pytest.mark.parametrize("name", COURSE.syllabus.plans)
    @pytest.mark.parametrize("hours", [0.5, 1, 1.5, 3, 4, 7, 16, 40])
    def test_the_choice_keeps_to_the_hours_and_to_the_order(self, name, hours):
        found, plan = choice(COURSE, name, hours), COURSE.syllabus.plans[name]
        assert sum(step.minutes for step in found.steps) <= hours * 60
        assert len(set(found.names)) == len(found.names)
        assert set(found.names) <= set(plan.katas)
        for at, kata in enumerate(found.names):
            later = found.names[at:]
            assert not [other for other in COURSE.syllabus.katas[kata].builds_on if other in later]
            assert not [other for other in COURSE.katas[kata].needs if other not in found.names[:at]]

    @pytest.mark.parametrize("name", COURSE.syllabus.plans)
    def test_without_hours_it_is_the_plan(self, name):
        assert list(choice(COURSE, name).names) == COURSE.syllabus.plans[name].katas


def test_a_plan_that_wants_nothing_takes_what_comes_first_and_builds_on_nothing_that_is_missing():
    found = choice(COURSE, "lab", 1)
    assert found.names == ("softmax", "scaled_dot_product_attention")
    assert list(found.notes) == ["Left out: 6 other katas of the plan, 3 hours."]


def test_a_kata_is_taken_with_those_that_have_to_pass_before(passed, write, tmp_path, tiny_files):
    syllabus = """
    [path]
    attention = ["double"]
    modules = ["center"]
    [katas]
    double = { minutes = 30, difficulty = 1 }
    center = { minutes = 30, difficulty = 1 }
    [plans.lab]
    hours = 1
    katas = ["double", "center"]
    wants = ["center"]
    """
    card = "tests/katas/modules/test_center.py"
    waiting = tiny_files[card].replace('source="nowhere"', 'source="nowhere", needs=("double",)')
    course = Course(write(tmp_path, {**tiny_files, card: waiting, "tests/katas/path.toml": syllabus}))
    assert choice(course, "lab", 1).names == ("double", "center")
    assert choice(course, "lab", 0.5).names == ("double",)
    passed("double")
    assert choice(course, "lab", 0.5).names == ("double", "center")


@pytest.mark.parametrize(
    ("name", "hours", "sentence"),
    [
        ("lob", 1, "There is no plan called `lob`. There are lab, weekend, interview, cs336, term."),
        ("lob", None, "There is no plan called `lob`. There are lab, weekend, interview, cs336, term."),
        (
            "interview",
            0.2,
            "No kata of the plan `interview` fits into 0.2 hours: the shortest, softmax, takes 20 minutes.",
        ),
    ],
)
@pytest.mark.usefixtures("passed")
def test_what_cannot_be_chosen_is_one_sentence(name, hours, sentence):
    with pytest.raises(CourseError) as refused:
        choice(COURSE, name, hours)
    assert str(refused.value) == sentence


def test_hours_need_the_minutes_of_every_kata(write, tmp_path, tiny_files):
    syllabus = '[path]\nattention = ["double"]\nmodules = []\n[plans.lab]\nhours = 1\nkatas = ["double"]\n'
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": syllabus}))
    assert choice(course, "lab").names == ("double",)
    with pytest.raises(CourseError, match="does not say how long each kata of the plan `lab` takes"):
        choice(course, "lab", 1)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf", "", "four", "1e999"])
def test_what_is_no_number_of_hours_is_refused(text):
    with pytest.raises(CourseError) as refused:
        hours_from(text)
    assert str(refused.value) == f"`{text}` is no number of hours: say one above 0, such as 1 or 2.5."


@pytest.mark.usefixtures("passed")
def test_a_course_limited_to_hours_has_the_chosen_katas_in_their_order():
    course = limited(COURSE, "interview", 4)
    assert list(course.katas) == BY_HOURS[4]
    assert choice(course, "lab", 1).names == choice(COURSE, "lab", 1).names  # of the whole course
    assert list(limited(COURSE, "interview").katas) == COURSE.syllabus.plans["interview"].katas


@pytest.mark.usefixtures("passed")
def test_the_table_of_the_docs_is_what_the_choice_gives():
    rows = dict(re.findall(r"^\| (\d+) \| (`.*`) \| \d+ \|$", TABLE, re.MULTILINE))
    assert list(rows) == ["1", "2", "4", "8", "16"]
    for hours, row in rows.items():
        found = choice(COURSE, "interview", int(hours))
        assert row == ", ".join(f"`{name}`" for name in found.names)
        assert f"| {row} | {sum(step.minutes for step in found.steps)} |" in TABLE
