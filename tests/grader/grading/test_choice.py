"""The next kata is chosen by what is remembered of the others, and every clause of the rule can decide."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.state import KataState
from grader.course.syllabus import Effort, Syllabus
from grader.grading.choice import Choice, choose

EASY = KataState(digest="1", status="passed", passed=True, attempts=1, graded_at="2026-03-01T10:00:00")
BEGUN = KataState(digest="1", status="failed", attempts=1, graded_at="2026-03-01T11:00:00")
HELPED = replace(EASY, helped=2)

#: a1 to a3 train one skill, b1 to b3 another; b2 is harder, and b3 builds on b2.
COURSE = Syllabus(
    path={"a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]},
    katas={
        **{name: Effort(20, 1) for name in ("a1", "a2", "a3", "b1")},
        "b2": Effort(20, 2),
        "b3": Effort(20, 1, ["b2"]),
    },
    skills={
        **{name: ["masks"] for name in ("a1", "a2", "a3")},
        **{name: ["memory_traffic"] for name in ("b1", "b2", "b3")},
    },
    skill_names={"masks": "What is seen.", "memory_traffic": "What is loaded."},
)


def chosen(syllabus=COURSE, here="", begun=(), **known):
    return choose(syllabus, syllabus.order, known, here, begun)


def at(minute, state=EASY):
    return replace(state, graded_at=f"2026-03-01T12:{minute:02}:00")


def test_without_a_state_the_first_kata_comes():
    assert chosen() == Choice("a1")


def test_the_next_of_the_track_comes_in_which_a_kata_was_graded_last():
    assert chosen(a1=at(1), b1=at(2)) == Choice("b2")
    assert chosen(a1=at(3), b1=at(2)) == Choice("a2")


def test_what_was_passed_over_in_a_track_comes_after_its_end():
    assert chosen(a2=at(1)) == Choice("a3")
    assert chosen(a2=at(1), a3=at(2)) == Choice("a1")
    assert chosen(here="a2", a2=at(1), a3=at(2)) == Choice("a1")


def test_a_track_that_is_done_leads_to_the_first_kata_of_the_course():
    assert chosen(b1=at(1), b2=at(2), b3=at(3)) == Choice("a1")


def test_nothing_comes_when_all_pass():
    assert chosen(**dict.fromkeys(COURSE.order, EASY)) is None


def test_a_kata_waits_for_those_that_it_builds_on():
    known = dict.fromkeys(("a1", "a2", "a3", "b1"), EASY)
    assert chosen(**known) == Choice("b2")
    assert chosen(**known, b2=at(1)) == Choice("b3")


def test_what_is_begun_stays_first_and_of_several_the_one_graded_last():
    assert chosen(a2=BEGUN) == Choice("a2", "you have begun it")
    assert chosen(a2=BEGUN, b1=at(1, BEGUN)) == Choice("b1", "you have begun it")


def test_a_file_that_was_begun_and_never_graded_counts_as_begun():
    assert chosen(begun=["a3"]) == Choice("a3", "you have begun it")


def test_the_kata_in_hand_is_not_the_next_one_unless_it_is_the_last():
    assert chosen(here="a1", a1=BEGUN) == Choice("a2")
    last = {name: EASY for name in COURSE.order if name != "b3"}
    assert chosen(here="b3", **last, b3=BEGUN) == Choice("b3", "you have begun it")


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        (HELPED, "b1 took two hints"),
        (replace(EASY, helped=3), "b1 took three hints"),
        (replace(EASY, helped=4), "b1 took 4 hints"),
        (replace(EASY, attempts=15), "b1 took 15 gradings"),
        (replace(EASY, seconds=40 * 60), "b1 took 40 minutes"),
        (replace(EASY, repeats=2), "mistakes stayed in b1 from one version to the next"),
        (replace(EASY, reviewed="not found"), "the fault in b1 was not found in a review"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trouble_with_a_kata_leads_to_another_one_of_its_skill(state, trouble):
    easy_b = replace(COURSE, katas={**COURSE.katas, "b2": Effort(20, 1)})
    known = {"b1": state, "a1": at(1)}  # so that the order says a2
    assert chosen(easy_b, **known) == Choice("b2", f"{trouble}, and this one is about memory traffic too")


@pytest.mark.parametrize(
    "state",
    [
        replace(EASY, helped=1),
        replace(EASY, attempts=14),
        replace(EASY, seconds=40 * 60 - 1),
        replace(EASY, repeats=1),
        replace(EASY, reviewed="found after a hint"),
        replace(EASY, hints=3),  # read after the pass
    ],
    ids=["one hint", "14 gradings", "less than twice its time", "a mistake twice", "found", "hints later"],
)
def test_less_than_that_is_no_trouble(state):
    easy_b = replace(COURSE, katas={**COURSE.katas, "b2": Effort(20, 1)})
    assert chosen(easy_b, b1=state, a1=at(1)) == Choice("a2")


def test_a_kata_that_is_harder_than_what_has_passed_trains_no_weak_skill():
    assert chosen(b1=HELPED, a1=at(1)) == Choice("a2")
    harder = replace(COURSE, katas={**COURSE.katas, "a1": Effort(20, 2)})
    assert chosen(harder, b1=HELPED, a1=at(1)).name == "b2"


def test_the_easiest_kata_of_a_weak_skill_comes_first_and_of_equals_that_of_the_order():
    katas = {**COURSE.katas, "a1": Effort(20, 2), "b3": Effort(20, 1)}
    course = replace(COURSE, katas=katas)
    assert chosen(course, b1=HELPED, a1=at(1)).name == "b3"
    course = replace(COURSE, katas={**katas, "b2": Effort(20, 1)})
    assert chosen(course, b1=HELPED, a1=at(1)).name == "b2"


def test_a_pass_that_went_well_makes_up_for_trouble_and_one_with_a_hint_does_not():
    easy_b = replace(COURSE, katas={**COURSE.katas, "b2": Effort(20, 1)})
    assert chosen(easy_b, b1=HELPED, b2=at(1), a1=at(2)) == Choice("a2")
    for state in (replace(EASY, helped=1), replace(EASY, attempts=3), replace(EASY, seconds=1201)):
        found = chosen(easy_b, b1=HELPED, b2=at(1, state), a1=at(2))
        assert found == Choice("b3", "b1 took two hints, and this one is about memory traffic too")


def test_the_last_three_katas_of_a_skill_count():
    names = [f"c{number}" for number in range(6)]
    course = Syllabus(
        path={"c": names, "d": ["d"]},
        katas={name: Effort(20, 1) for name in (*names, "d")},
        skills={**{name: ["masks"] for name in names}, "d": ["shapes"]},
        skill_names={"masks": "", "shapes": ""},
    )
    well = {name: at(number) for number, name in enumerate(names[:3])}
    assert chosen(course, **well, c3=at(3, HELPED), d=at(9)) == Choice("c4")
    twice = {"c3": at(3, HELPED), "c4": at(4, HELPED)}
    assert chosen(course, **well, **twice).reason == "c4 took two hints, and this one is about masks too"


def test_the_weakest_skill_comes_first_and_one_without_a_kata_is_passed_over():
    easy_b = replace(COURSE, katas={**COURSE.katas, "b2": Effort(20, 1)})
    both = {"a1": at(1, HELPED), "b1": at(2, HELPED)}
    assert chosen(easy_b, **both).name == "a2"
    assert chosen(easy_b, **both, b2=at(3, HELPED)).name == "b3"
    assert chosen(easy_b, **both, a2=at(3, HELPED), a3=at(4, HELPED)).name == "b2"


STUCK = replace(BEGUN, attempts=15, helped=3, hints=3, hint_digest="0")


def test_a_kata_in_which_the_student_is_stuck_makes_room_for_an_easier_one_of_its_skill():
    found = chosen(b1=at(1), a2=at(2, STUCK))
    assert found == Choice("a1", "a2 took three hints, and this one is about masks too")


def test_a_stuck_kata_comes_again_when_another_one_has_passed():
    known = {"a1": at(1), "a2": at(2, STUCK)}
    assert chosen(**known, a3=at(3)) == Choice("a2", "you have begun it")
    assert chosen(**known, a3=at(3, BEGUN)) == Choice("a3", "you have begun it")


@pytest.mark.parametrize(
    "state",
    [
        replace(STUCK, attempts=14),
        replace(STUCK, helped=2, hints=2),
        replace(STUCK, hint_digest="1"),
        replace(STUCK, attempts=1, seconds=40 * 60 - 1),
    ],
    ids=["few gradings", "a hint is left", "not tried since", "a little time"],
)
def test_who_has_not_tried_all_is_not_stuck(state):
    assert chosen(a1=at(1), a2=at(2, state)) == Choice("a2", "you have begun it")


def test_twice_the_time_with_all_hints_is_stuck():
    state = replace(STUCK, attempts=1, seconds=40 * 60)
    assert chosen(a1=at(1), a2=at(2, state)).name == "a3"


def test_a_kata_that_was_begun_too_early_leads_to_what_it_builds_on():
    assert chosen(b3=BEGUN) == Choice("b3", "you have begun it")
    assert chosen(b3=STUCK) == Choice("b2", "b3 builds on it")


def test_without_another_one_of_its_skill_a_stuck_kata_says_that_it_comes_again():
    known = {"a1": at(1), "a2": at(2), "a3": at(3, STUCK)}
    assert chosen(**known) == Choice("b1", "a3 took three hints: it comes again after this one")


def test_a_student_who_is_stuck_in_all_goes_on_with_the_last():
    known = {name: at(number, STUCK) for number, name in enumerate(COURSE.order)}
    assert chosen(**known) == Choice("b3", "you have begun it")


@pytest.mark.parametrize("way", ["order", "no skills", "CI"])
def test_a_fixed_order_goes_by_the_order_alone(way, monkeypatch):
    syllabus = replace(COURSE, has_fixed_order=way == "order")
    if way == "no skills":
        syllabus = replace(COURSE, skills={})
    if way == "CI":
        monkeypatch.setenv("CI", "true")
    known = {"a1": at(1, HELPED), "b1": at(2, BEGUN)}
    assert chosen(syllabus, **known) == Choice("a2")
    assert chosen(syllabus, here="a2", **known) == Choice("a3")
    assert chosen(syllabus, here="b3", **known) == Choice("a2")


def test_of_an_older_grader_the_hints_and_the_day_count():
    old = KataState(digest="1", status="passed", passed=True, hints=2, passed_on="2026-02-01")
    easy_b = replace(COURSE, katas={**COURSE.katas, "b2": Effort(20, 1)})
    later = replace(old, hints=0, passed_on="2026-02-02")
    reason = "b1 took two hints, and this one is about memory traffic too"
    assert chosen(easy_b, b1=old, a1=later) == Choice("b2", reason)
    assert chosen(a1=later) == Choice("a2")
    assert chosen(a1=old, b1=later) == Choice("a2", "a1 took two hints, and this one is about masks too")


def test_a_plan_chooses_among_its_own_katas():
    assert choose(COURSE, ["a1", "a3", "b1"], {"a1": EASY}) == Choice("a3")
    assert choose(COURSE, ["b3"], {}) == Choice("b3")  # what it builds on is not in the plan
    assert choose(COURSE, ["a1", "b1"], {"a1": at(1, HELPED)}) == Choice("b1")


def test_a_skill_is_written_in_words_and_cannot_write_to_the_terminal():
    evil = replace(
        COURSE,
        katas={**COURSE.katas, "b2": Effort(20, 1)},
        skills={**COURSE.skills, "b1": ["\x1b[31m"], "b2": ["\x1b[31m"]},
        skill_names={"masks": "", "\x1b[31m": ""},
    )
    assert "\x1b" not in chosen(evil, b1=HELPED).reason


# --- the page that explains the rule ------------------------------------------------------------------

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "next.md").read_text(encoding="utf-8")


def test_every_number_of_the_rule_stands_on_its_page():
    for sentence in ("15 gradings", "twice its time", "two hints", "three hints", "last three"):
        assert sentence in PAGE


def passed(minute, **facts):
    return replace(EASY, graded_at=f"2026-03-01T12:{minute:02}:00", **facts)


def failed(minute, **facts):
    return replace(BEGUN, graded_at=f"2026-03-01T12:{minute:02}:00", **facts)


def stuck(minute):
    return failed(minute, attempts=20, helped=3, hints=3, hint_digest="0")


#: What is remembered, in words and as a state.
STATES = [
    ("nothing", {}),
    ("`softmax` passes", {"softmax": passed(1)}),
    ("`softmax` passes, `causal_mask` is begun", {"softmax": passed(1), "causal_mask": failed(2)}),
    (
        "`softmax` passes, `causal_mask` too with two hints",
        {"softmax": passed(1), "causal_mask": passed(2, helped=2)},
    ),
    (
        "the same, and then `padding_mask` passes",
        {"softmax": passed(1), "causal_mask": passed(2, helped=2), "padding_mask": passed(3)},
    ),
    (
        "`softmax` passes, `temperature_sampling` with one hint, `top_k` with one mistake in three gradings",
        {"softmax": passed(1), "temperature_sampling": passed(2, helped=1), "top_k": passed(3, repeats=2)},
    ),
    (
        "`softmax` and `layer_norm` pass, and later the fault in `layer_norm` was not found",
        {"softmax": passed(1), "layer_norm": passed(2, reviewed="not found")},
    ),
    (
        "`softmax` passes; three hints and 20 gradings of `head_split_merge` have not helped",
        {"softmax": passed(1), "head_split_merge": stuck(2)},
    ),
    (
        "the same, and then `token_embedding` passes",
        {"softmax": passed(1), "head_split_merge": stuck(2), "token_embedding": passed(3)},
    ),
    ("three hints and 20 gradings of `rotary_embedding` have not helped", {"rotary_embedding": stuck(1)}),
]


@pytest.mark.parametrize(("words", "known"), STATES, ids=[words for words, _ in STATES])
def test_the_ten_examples_of_the_page_are_what_is_chosen(words, known):
    course = Course(ROOT).syllabus
    choice = choose(course, course.order, known)
    why = f", because {choice.reason}" if choice.reason else ""
    assert f"| {words} | `{choice.name}`{why} |" in PAGE


def test_the_page_has_ten_examples_and_every_skill():
    examples, skills = (
        PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0] for title in ("Ten examples", "The skills")
    )
    assert examples.count("\n| ") - 1 == len(STATES) == 10
    course = Course(ROOT).syllabus
    for skill, text in course.skill_names.items():
        katas = sum(skill in listed for listed in course.skills.values())
        assert f"| {skill.replace('_', ' ')} | {katas} | {text} |" in skills
    assert skills.count("\n| ") - 1 == len(course.skill_names)
