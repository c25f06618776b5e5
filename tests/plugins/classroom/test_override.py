"""Tests of points that a person sets: `kata override`, and where they are shown."""

import csv
import json
from contextlib import closing

import pytest
from click.testing import CliRunner

from dojo_classroom.outputs import write_outputs
from dojo_classroom.policy import Policy, Terms
from dojo_classroom.roster import Member, Roster
from dojo_classroom.store import Store
from dojo_classroom.student_reports import JudgedClass
from dojo_classroom.task import FileVerdict
from grader.cli.kata import kata
from grader.report import CheckReport, KataReport, Report, to_json

WHO = ["--by", "Dr. Roe"]


@pytest.fixture
def info(tiny_course):
    return tiny_course.kata_info("double")


@pytest.fixture
def store(tmp_path, info):
    """A store in which Ada's double has 3.5 points, Bob's could not be judged, and Zoe's is missing."""
    found = (CheckReport("a", "A.", "failed", 350, 1000),)
    report = Report((KataReport("double", info.track, "failed", 1000, checks=found),))
    with closing(Store(str(tmp_path / "grades" / "results.sqlite"))) as opened:
        for student in ("ada", "bob", "zoe"):
            opened.enrol(Member(student, student.title()))
        opened.add_submission("ada", "double", "s1", "j")
        opened.add_submission("bob", "double", "s2", "j")
        opened.add_verdict("double", "s1", "j", FileVerdict("failed", 350, 1000, json.dumps(to_json(report))))
    return tmp_path / "grades"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "grades").mkdir()


@pytest.fixture
def override(store, tiny_course):
    def run(*words):
        where = ["--output", str(store), "--course", str(tiny_course.root)]
        return CliRunner().invoke(kata, ["override", *words, *where])

    return run


def results(folder, info, policy=None):
    """Return what a run writes: the cells of Moodle's file, and the page of the class."""
    with closing(Store(str(folder / "results.sqlite"))) as opened:
        opened.run -= 1
        judged = JudgedClass(opened, [info], policy=policy or Policy())
        write_outputs(folder, judged)
        reports = list(judged.reports())
    rows = list(csv.reader((folder / "moodle.csv").open(encoding="utf-8")))
    return {row[0]: row[2:] for row in rows[1:]}, reports


def test_points_set_by_hand_are_in_every_file_beside_the_judged_ones(override, store, info):
    done = override("ada", "double", "8", "--why", "argued <b>well</b>", *WHO)
    assert done.exit_code == 0
    assert done.stdout.startswith("ada  double  Set to 8 points by Dr. Roe on 20")
    assert done.stdout.endswith(": argued <b>well</b>\nRun `kata grade` again to write it out.\n")
    cells, _ = results(store, info)
    assert cells["ada"] == ["8", "8"]
    for page in (store / "class.html", store / "students" / "ada.html"):
        text = page.read_text()
        assert "argued &lt;b&gt;well&lt;/b&gt;" in text
        assert "Judged 3.5" in text or "judged 3.5" in text
    line = json.loads((store / "reports.jsonl").read_text().splitlines()[0])
    assert (line["points"], line["total"], line["possible"]) == ({"double": 8}, 8, 10)
    assert line["report"]["katas"][0]["score"] == 3.5
    assert "Set to 8" not in (store / "students" / "zoe.html").read_text()


def test_a_cell_that_was_blank_or_absent_has_a_number_once_a_person_sets_it(override, store, info):
    assert results(store, info)[0] == {"ada": ["3.5", "3.5"], "bob": ["", ""], "zoe": ["0", "0"]}
    for student in ("bob", "zoe"):
        override(student, "double", "7.25", "--why", "seen on paper", *WHO)
    cells, reports = results(store, info)
    assert (cells["bob"], cells["zoe"]) == (["7.25", "7.25"], ["7.25", "7.25"])
    assert len((store / "by_hand.csv").read_text().splitlines()) == 1
    assert not any(one.unknown for one in reports)


def test_overrides_hold_in_later_runs_and_the_last_one_counts(override, store, info):
    override("ada", "double", "8", "--why", "first", *WHO)
    override("ADA", "double", "9", "--why", "second", *WHO)
    listed = override("--list").stdout
    assert listed.count("ada") == 1
    assert "Set to 9 points" in listed
    assert override("ada", "double", "--remove").stdout == (
        "ada's double has the judged points again. Run `kata grade` again to write it out.\n"
    )
    assert override("--list").stdout == "Nobody's points are set by hand.\n"
    assert results(store, info)[0]["ada"] == ["3.5", "3.5"]
    with closing(Store(str(store / "results.sqlite"))) as opened:
        assert [row[0] for row in opened.rows("SELECT points FROM overrides ORDER BY number")] == [
            800,
            900,
            None,
        ]


def test_many_are_set_from_a_file_or_none(override, store, tmp_path):
    table = tmp_path / "many.csv"
    table.write_text("Student,Kata,Points,Why\nada,double,8,late bus\nbob,double,11,too many\n")
    refused = override("--csv", str(table))
    assert (refused.exit_code, refused.stderr) == (4, "11 points for double: say 0 to 10.\n")
    assert override("--list").stdout == "Nobody's points are set by hand.\n"
    table.write_text(
        'student,kata,points,why\nada,double,8,"=1+1, ""so""\nand more"\n\nbob,double,1.5,half\n'
    )
    assert override("--csv", str(table), *WHO).stdout.startswith("2 overrides set.")
    assert [line.split("  ")[0] for line in override("--list").stdout.splitlines()] == ["ada", "bob"]
    table.write_text("student;kata;points;why\nada;double;2;as a spreadsheet in Europe writes it\n")
    assert override("--csv", str(table), *WHO).stdout.startswith("1 override set.")
    assert store


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["adda", "double", "8", "--why", "x"], "No student adda was graded into {store}. Did you mean ada?"),
        (["ada", "dubble", "8", "--why", "x"], "There is no kata called `dubble`. Did you mean `double`?"),
        (["ada", "double", "10.5", "--why", "x"], "10.5 points for double: say 0 to 10."),
        (["ada", "double", "nan", "--why", "x"], "nan points for double: say 0 to 10."),
        (["ada", "double", "1e1", "--why", "x"], "1e1 points for double: say 0 to 10."),
        (["ada", "double", "8"], 'ada\'s double: say why in at most 1,000 characters: --why "…".'),
        (["ada", "double"], 'Name a student, a kata and points: kata override ada KATA 8 --why "…".'),
        (
            ["ada", "double", "--remove"],
            "ada has no override for `double`. `kata override --list` shows them all.",
        ),
        (["--csv", "none.csv"], "none.csv cannot be read: no such file or directory."),
    ],
)
def test_what_cannot_be_set_is_one_sentence(override, store, words, sentence):
    refused = override(*words)
    assert refused.exit_code == 4
    assert refused.stderr == sentence.format(store=store / "results.sqlite") + "\n"


def test_a_file_without_a_column_says_which(override, tmp_path):
    (tmp_path / "many.csv").write_text("student,kata,points\n")
    refused = override("--csv", str(tmp_path / "many.csv"))
    assert refused.stderr.endswith("needs the columns student, kata, points, why; there is no `why`.\n")


def test_without_results_nothing_is_created(tiny_course, tmp_path):
    where = ["--output", str(tmp_path / "none"), "--course", str(tiny_course.root)]
    refused = CliRunner().invoke(kata, ["override", "--list", *where])
    assert refused.stderr == (
        f"There are no results in {tmp_path}/none/results.sqlite: run `kata grade` first, or name its"
        " --output.\n"
    )
    assert not (tmp_path / "none").exists()


def test_a_reason_that_is_a_formula_stays_in_its_cell(override, store, info):
    override("ada", "double", "8", "--why", '=HYPERLINK("x")\n"; DROP', *WHO)
    worksheet = Roster([Member("ada", "Ada")])
    with closing(Store(str(store / "results.sqlite"))) as opened:
        opened.run -= 1
        write_outputs(store, JudgedClass(opened, [info], policy=Policy(Terms(total=100))), worksheet)
    for name in ("canvas.csv", "moodle.csv", "by_hand.csv"):
        for row in csv.reader((store / name).open(encoding="utf-8", newline="")):
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)
    assert list(csv.reader((store / "moodle.csv").open(encoding="utf-8")))[1][-2:] == ["8", "80"]
