"""The title, the tracks and the order of a course are read, and errors in the file are reported."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.release.repository import core_files, student_files
from dojo_authoring.verify.static_checks import unfinished, unkept_plans, untrained_skills
from grader.cli.grade import grade
from grader.cli.kata_list import kata_list
from grader.course.catalog import Course
from grader.course.syllabus import CourseError, Effort, Plan, Syllabus, read_syllabus, to_text

ROOT = Path(__file__).parents[3]
COURSE = Course(ROOT)
PATH = "path = { a = ['x', 'y'] }\n"
EASY = "minutes = 5, difficulty = 1"


def syllabus(write, tmp_path, text):
    return read_syllabus(write(tmp_path, {"tests/katas/path.toml": text}))


def test_what_is_written_is_read_again(write, tmp_path):
    said = Syllabus(
        'A "course"',
        "Of attention: é.",
        {"masks": ["causal", "padding"], "empty": []},
        by_hand=True,
        see="shown/here",
        assistants="none",
        puzzles=False,
        katas={"causal": Effort(20, 1), "padding": Effort(30, 3, ["causal"])},
        plans={
            "lab": Plan(0.5, ["causal"]),
            "term": Plan(1, ["causal", "padding"], 'the "whole"', ["padding", "causal"]),
        },
        aliases={"triangle": "causal"},
        shortcuts={"causal": ["numpy.tri", "torch.*"], "padding": "It is a comparison."},
        skills={"causal": ["masks", "positions"], "padding": ["masks"]},
        skill_names={"masks": 'What is "seen".', "positions": "Where it stands."},
        has_fixed_order=True,
    )
    assert syllabus(write, tmp_path, to_text(said)) == said
    assert said.order == ["causal", "padding"]


def test_without_the_file_tracks_go_by_their_names(tmp_path):
    found = read_syllabus(tmp_path)
    assert found == Syllabus("the dojo", "", {})
    assert found.rank("a", "z") < found.rank("b", "a")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "titel = 'x'\n[path]",
            "nothing is called `titel`; there are title, about, by_hand, reveal, see, assistants,"
            " order, puzzles, [path], [tracks], [katas], [skills], [skill_names], [shortcuts], [plans]"
            " and [aliases].",
        ),
        (f"{PATH}[aliases]\nz = 'q'", "`z` in [aliases]: [path] lists no kata 'q'."),
        (f"{PATH}[aliases]\ny = 'x'", "`y` in [aliases] is a kata itself."),
        (f"aliases = 1\n{PATH}", "aliases is a table: [aliases]."),
        (f"shortcuts = 1\n{PATH}", "shortcuts is a table: [shortcuts]."),
        (f"{PATH}[shortcuts]\nz = 'q'", "`z` in [shortcuts]: [path] lists no kata 'z'."),
        *(
            (
                f"{PATH}[shortcuts]\nx = {listed}",
                "`x` in [shortcuts] is a list of dotted names, or a text that says why there are none.",
            )
            for listed in ("1", "[1]", "[]", "''")
        ),
        *(
            (f"order = {order}\n{PATH}", 'order is "fixed", or is left out.')
            for order in ("true", "'free'", "''", "[]")
        ),
        (f"has_fixed_order = true\n{PATH}", "nothing is called `has_fixed_order`; there are"),
        (f"skills = 1\n{PATH}", "skills is a table: [skills]."),
        (f"skill_names = 1\n{PATH}", "holds in [skill_names] a text in quotes for each skill."),
        (f"{PATH}[skill_names]\nm = 1", "holds in [skill_names] a text in quotes for each skill."),
        (f"{PATH}[skill_names]\nx = 'm'", "`x` in [skill_names] is a kata itself."),
        (f"{PATH}[skills]\nz = ['m']", "`z` in [skills]: [path] lists no kata 'z'."),
        (f"{PATH}[skills]\nx = ['m']", "`x` in [skills] trains `m`, which [skill_names] does not have."),
        *(
            (f"{PATH}[skills]\nx = {listed}", "`x` in [skills] is a list of one to 3 different skills.")
            for listed in ("1", "[1]", "[]", "['m', 'm']", "['m', 'n', 'o', 'p']", "'m'")
        ),
        ("title = 5\n[path]", 'title is a text in quotes: title = "…".'),
        ("by_hand = 'yes'\n[path]", "by_hand is true or false, without quotes."),
        ("puzzles = 'no'\n[path]", "puzzles is true or false, without quotes."),
        ("reveal = true\n[path]", 'reveal is "passed", or is left out.'),
        *(
            (f"assistants = {word}\n{PATH}", 'assistants is "tutor", "none" or "free", or is left out.')
            for word in ("true", "'all'", "[]", "''")
        ),
        *(
            (f"see = {see}\n{PATH}", "names a folder of the course, outside of exercises and solutions.")
            for see in ("1", "''", "'.'", "'/etc'", "'../other'", "'exercises/see'", "'solutions'")
        ),
        ("title = 'x'", "must hold a table [path] with a list of katas for each track."),
        ("[path]\na = 'x'", "must hold a table [path] with a list of katas for each track."),
        ("[path]\na = ['x']\nb = ['x']", "lists `x` twice; take one of them out."),
        (f"{PATH}katas = 5", "katas is a table: [katas]."),
        (f"{PATH}[katas]\nx = 5", "`x` in [katas]: it must be a table."),
        (
            f"{PATH}[katas]\nx = {{ minutes = 0, difficulty = 1 }}",
            "minutes = 0 must be a whole number above 0.",
        ),
        (f"{PATH}[katas]\nx = {{ minutes = 5 }}", "difficulty = None must be 1, 2 or 3."),
        (f"{PATH}[katas]\nx = {{ minutes = 5, difficulty = 4 }}", "difficulty = 4 must be 1, 2 or 3."),
        (
            f"{PATH}[katas]\nx = {{ minute = 5 }}",
            "nothing is called `minute`; there are minutes, difficulty and",
        ),
        (f"{PATH}[katas]\nx = {{ {EASY}, builds_on = 'y' }}", "builds_on must be a list of katas."),
        (
            f"{PATH}[katas]\nx = {{ {EASY}, builds_on = ['z'] }}",
            "builds_on names `z`, which [path] does not list.",
        ),
        (
            f"{PATH}[katas]\nx = {{ {EASY}, builds_on = ['y'] }}",
            "`x` builds on `y`, which does not come before it in [path].",
        ),
        (
            f"{PATH}[plans.lab]\nhours = 0\nkatas = []",
            "`lab` in [plans]: hours = 0 must be a number above 0.",
        ),
        (f"{PATH}[plans.lab]\nhours = 1", "katas must be a list of katas."),
        (
            f"{PATH}[plans.lab]\nhour = 1",
            "nothing is called `hour`; there are about, hours, katas and wants.",
        ),
        (f"{PATH}[plans.lab]\nhours = 1\nkatas = []\nabout = 1", 'about is a text in quotes: about = "…".'),
        (f"{PATH}[plans.lab]\nhours = 1\nkatas = []\nwants = 'x'", "wants must be a list of katas."),
        (
            f"{PATH}[plans.lab]\nhours = 1\nkatas = ['y']\nwants = ['x']",
            "wants names `x`, which the plan does not list.",
        ),
        (f"{PATH}[plans.lab]\nhours = 1\nkatas = ['z']", "katas names `z`, which [path] does not list."),
        (
            f"{PATH}[katas]\ny = {{ {EASY}, builds_on = ['x'] }}\n[plans.lab]\nhours = 1\nkatas = ['y']",
            "`y` builds on `x`, which does not come before it in the plan `lab`.",
        ),
        ("[path", "cannot be read as TOML: Expected ']' at the end of a table declaration"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_a_sentence(write, tmp_path, text, sentence):
    with pytest.raises(CourseError, match=r"^tests/katas/path\.toml") as refused:
        syllabus(write, tmp_path, text)
    assert sentence in str(refused.value)


def test_a_part_of_a_course_keeps_what_it_says_about_its_katas():
    whole = Syllabus(
        path={"masks": ["causal", "padding"], "other": ["last"]},
        katas={"causal": Effort(20, 1), "padding": Effort(30, 3, ["causal"]), "last": Effort(10, 2)},
        plans={"lab": Plan(1, ["padding"]), "term": Plan(1, ["causal", "padding", "last"])},
        skills={"causal": ["masks", "positions"], "padding": ["masks"]},
        skill_names={"positions": "Where.", "masks": "What."},
    )
    part = whole.limited_to(["padding"])
    assert part.path == {"masks": ["padding"]}
    assert part.katas == {"padding": Effort(30, 3, [])}
    assert part.plans == {"lab": Plan(1, ["padding"])}
    assert (part.skills, part.skill_names) == ({"padding": ["masks"]}, {"masks": "What."})


class TestTheShippedCourse:
    def test_every_kata_has_its_minutes_and_its_difficulty(self):
        assert list(COURSE.syllabus.katas) == COURSE.syllabus.order == list(COURSE.katas)

    def test_every_kata_trains_one_to_three_of_sixteen_skills(self):
        assert list(COURSE.syllabus.skills) == COURSE.syllabus.order
        assert len(COURSE.syllabus.skill_names) == 16
        assert untrained_skills(COURSE) == []

    def test_the_plans_take_what_they_promise(self):
        assert {name: plan.hours for name, plan in COURSE.syllabus.plans.items()} == {
            "lab": 4,
            "weekend": 16,
            "interview": 29,
            "cs336": 28,
            "term": 85,
        }
        assert unkept_plans(COURSE) == []
        assert COURSE.syllabus.plans["term"].katas == COURSE.syllabus.order

    def test_what_a_kata_needs_comes_before_it(self):
        order = COURSE.syllabus.order
        for info in COURSE.katas.values():
            assert all(order.index(need) < order.index(info.name) for need in info.needs)
            assert set(info.needs) <= set(COURSE.syllabus.katas[info.name].builds_on)

    def test_the_page_of_paths_names_every_kata_of_a_plan(self):
        page = (ROOT / "docs" / "paths.md").read_text("utf-8")
        for name in ("lab", "weekend", "interview", "cs336"):
            section = page.split(f"`grade --plan {name}`")[1].split("\n## ")[0]
            assert [kata for kata in COURSE.syllabus.plans[name].katas if f"`{kata}`" not in section] == []


def test_a_plan_that_does_not_add_up_is_a_gap(write, tmp_path, tiny_files):
    text = "path = { attention = ['double'], modules = ['center'] }\n[katas]\n"
    text += "double = { minutes = 20, difficulty = 1 }\n[plans.lab]\nhours = 1\nkatas = ['double']\n"
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": text}))
    told = "the plan `lab` takes 20 minutes, and 1 hours are 60; change its katas or its hours."
    assert unkept_plans(course) == [f"tests/katas/path.toml: {told}"]
    info = course.katas["center"]
    assert "tests/katas/path.toml says no minutes and no difficulty; add a line to [katas]." in unfinished(
        course, info
    )


def test_a_plan_limits_the_course(write, tmp_path, tiny_files):
    text = "path = { attention = ['double'], modules = ['center'] }\n"
    text += "[plans.lab]\nhours = 1\nkatas = ['center']\n"
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": text}))
    with pytest.raises(CourseError, match=r"There is no plan called `lob`\. There are lab\."):
        course.limited_to("lob")
    assert list(course.limited_to("lab").katas) == ["center"]
    assert len(course.katas) > 1
    limited = ["--course", str(tmp_path), "--plan", "lab"]
    listed = CliRunner().invoke(grade, [*limited, "--list"]).output
    assert ("center" in listed, "double" in listed) == (True, False)
    graded = CliRunner().invoke(grade, [*limited, "--all", "--brief"]).output
    assert ("center" in graded, "double" in graded) == (True, False)


def test_the_list_shows_difficulty_and_minutes_in_eighty_columns():
    lines = kata_list(COURSE).splitlines()
    assert "  · causal_mask                     •    25 min  No looking ahead" in lines
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("• easy  ••• hard")


def test_a_release_keeps_the_efforts_and_the_plans_of_its_katas(write, tmp_path, tiny_files):
    text = "path = { attention = ['double'], modules = ['center'] }\n[katas]\n"
    text += f"double = {{ {EASY} }}\ncenter = {{ {EASY}, builds_on = ['double'] }}\n"
    text += "[plans.lab]\nhours = 0.1\nkatas = ['double']\n"
    text += "[plans.term]\nhours = 0.2\nkatas = ['double', 'center']\n"
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": text}))
    files = core_files(course, [course.katas["double"]], 20170612)
    released = write(
        tmp_path / "released", {"tests/katas/path.toml": files["tests/katas/path.toml"].decode()}
    )
    assert read_syllabus(released).katas == {"double": Effort(5, 1)}
    assert read_syllabus(released).plans == {"lab": Plan(0.1, ["double"])}


SKILLS = """path = { attention = ['double'], modules = ['center'] }
[skills]
double = ["sums"]
[skill_names]
sums = "Sums."
means = "Means."
"""


def test_a_kata_without_a_skill_and_a_skill_without_a_kata_are_gaps(write, tmp_path, tiny_files):
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": SKILLS}))
    gap = "tests/katas/path.toml does not say what it trains; add a line to [skills]."
    assert gap in unfinished(course, course.katas["center"])
    assert gap not in unfinished(course, course.katas["double"])
    assert untrained_skills(course) == [
        "tests/katas/path.toml: no kata trains `means`; add it to a kata in [skills], or take it out."
    ]


def test_a_release_for_a_class_has_a_fixed_order_and_the_files_for_all_hosts_have_not(
    write, tmp_path, tiny_files
):
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": SKILLS}))
    infos = [course.katas["double"]]
    core = core_files(course, infos, 20170612)
    released = student_files(course, core, infos, (), b"")
    for number, (files, is_fixed) in enumerate(((core, False), (released, True))):
        text = files["tests/katas/path.toml"].decode()
        found = syllabus(write, tmp_path / str(number), text)
        assert found.has_fixed_order is is_fixed
        assert (found.skills, found.skill_names) == ({"double": ["sums"]}, {"sums": "Sums."})
