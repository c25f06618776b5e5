"""Tests of a course's policy: late work, extensions, weights, the best of a group, and the total."""

import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dojo_classroom.collector import Collector
from dojo_classroom.overrides import Override
from dojo_classroom.policy import Policy, read_policy
from dojo_classroom.times import Commits, HandedIn, of_path, of_text
from grader.course.catalog import Course, CourseError
from grader.installing import install_command
from grader.report import CheckReport, KataReport

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 12, 1, tzinfo=UTC)
DUE = datetime(2026, 11, 20, 22, 59, tzinfo=UTC)
TERMS = """
timezone = "Europe/Berlin"
[late]
grace = "15m"
per_day = 10
at_most = 50
closed_after = "7d"
[weeks]
1 = ["double", "center"]
[deadlines]
"week 1" = 2026-11-20T23:59:00
"""


@pytest.fixture
def policy(tmp_path, tiny_course):
    def read(text):
        (tmp_path / "policy.toml").write_text(text)
        return read_policy(tmp_path / "policy.toml", tiny_course)

    return read


def judged(name, score, status="failed"):
    checks = (CheckReport("a", "A.", "failed", score, 1000),) if status != "not_started" else ()
    return KataReport(name, "attention", status, 1000, checks=checks)


def marks(policy, times=None, overrides=None, student="ada", **scores):
    katas = [judged(name, score) for name, score in scores.items()]
    return policy.marks(student, katas, times or {}, overrides or {}, NOW)


def late_by(**delay):
    return {"double": HandedIn(DUE + timedelta(**delay), "the commit")}


@pytest.mark.parametrize(
    ("delay", "points", "ends"),
    [
        ({"minutes": -1}, 800, ""),
        ({"minutes": 15}, 800, ""),
        ({"minutes": 16}, 700, ": 1 day late, 1 point less."),
        ({"days": 1}, 700, ": 1 day late, 1 point less."),
        ({"days": 1, "seconds": 1}, 600, ": 2 days late, 2 points less."),
        ({"days": 7}, 300, ": 7 days late, 5 points less."),
        ({"days": 7, "seconds": 1}, 0, ": too late, no points."),
    ],
)
def test_late_work_loses_points_for_each_day_that_has_begun(policy, delay, points, ends):
    mark = marks(policy(TERMS), late_by(**delay), double=800).katas["double"]
    assert (mark.judged, mark.points) == (800, points)
    assert "".join(mark.reasons).endswith(ends)
    assert bool(mark.reasons) == bool(ends)


def test_the_reason_says_when_it_came_and_who_says_so(policy):
    (reason,) = marks(policy(TERMS), late_by(hours=2), double=50).katas["double"].reasons
    assert reason == (
        "Handed in 2026-11-21 01:59 (the commit), due 2026-11-20 23:59: 1 day late, 1 point less."
    )


def test_a_night_in_which_the_clocks_change_is_one_day(policy):
    found = policy(TERMS.replace("2026-11-20T23:59:00", "2026-10-24T12:00:00"))
    times = {"double": HandedIn(datetime(2026, 10, 25, 11, 0, tzinfo=UTC), "the file")}  # 25 hours later
    assert marks(found, times, double=800).katas["double"].points == 700


def test_an_extension_of_nobody_is_refused(policy):
    found = policy(TERMS + '[extensions.adda]\ndouble = "2d"')
    with pytest.raises(CourseError) as refused:
        found.require_students(["ada", "bob"])
    assert str(refused.value) == "policy.toml: extensions.adda: nobody in the roster has this id."


def test_points_never_fall_below_zero(policy):
    assert marks(policy(TERMS), late_by(days=3), double=100).total == 0


def test_a_clock_that_is_ahead_takes_no_points_away(policy):
    times = {"double": HandedIn(NOW + timedelta(days=300), "the file")}
    mark = marks(policy(TERMS), times, double=800).katas["double"]
    assert (mark.points, mark.is_open) == (800, True)
    assert mark.reasons == (
        "Nobody knows when it was handed in (the clock of the file is ahead); it counts as in time.",
    )


@pytest.mark.parametrize("at", [None, NOW + timedelta(days=300)])
def test_what_is_graded_before_its_deadline_is_in_time_whatever_a_clock_says(policy, at):
    terms = policy(TERMS.replace("2026-11-20", "2026-12-20"))
    mark = marks(terms, {"double": HandedIn(at, "the file")}, double=800).katas["double"]
    assert (mark.points, mark.reasons, mark.is_open) == (800, (), False)


def test_a_time_that_no_calendar_has_is_a_wrong_clock_too(policy, repository):
    path = repository / "double.py"
    path.write_text("# far away")
    git(repository, "commit", "--all", "-m", "x", date="@99999999999 +0000")
    times = {"double": Commits(repository).handed_in(path)}
    mark = marks(policy(TERMS), times, double=800).katas["double"]
    assert (mark.points, mark.is_open) == (800, True)


def test_what_nobody_knows_the_time_of_counts_as_in_time(policy):
    mark = marks(policy(TERMS), {"double": HandedIn(None, "no record")}, double=800).katas["double"]
    assert mark.points == 800
    assert mark.reasons == ("Nobody knows when it was handed in (no record); it counts as in time.",)


def test_what_was_not_handed_in_has_no_reason(policy):
    katas = [judged("double", 0, "not_started")]
    found = policy(TERMS).marks("ada", katas, late_by(days=3), {}, NOW)
    assert found.katas["double"].reasons == ()


@pytest.mark.parametrize(
    ("table", "student", "days"),
    [
        ('[extensions.ada]\ndouble = "2d"', "Ada", 2),
        ('[extensions.ada]\nall = "2d"', "ada", 2),
        ('[extensions.ada]\nall = "9d"\ndouble = "1d"', "ada", 1),
        ("[extensions.ada]\ndouble = 2026-11-23T23:59:00", "ada", 3),
        ('[extensions.ada]\ndouble = "2d"', "bob", 0),
    ],
)
def test_an_extension_is_for_one_student_alone(policy, table, student, days):
    assert policy(TERMS + table).deadline(student, "double") == DUE + timedelta(days=days)


def test_the_deadline_that_says_most_counts(policy):
    found = policy(TERMS + "double = 2026-11-22\nattention = 2026-11-25\nall = 2026-11-30\n")
    assert found.deadline("ada", "double") == datetime(2026, 11, 22, 22, 59, 59, tzinfo=UTC)
    assert found.deadline("ada", "center") == DUE


def test_weights_the_best_and_the_total(policy):
    found = marks(policy("[weights]\ndouble = 3\n"), double=1000, center=500)
    assert (found.total, found.possible) == (3500, 4000)
    found = marks(
        policy('total = 50\n[weeks]\n1 = ["double", "center"]\n[best]\n"week 1" = 1\n'),
        double=300,
        center=800,
    )
    assert (found.total, found.possible) == (4000, 5000)
    assert found.katas["double"].reasons == ("Not in the total: the best 1 of week 1 count.",)
    assert found.katas["double"].points == 300


def test_the_policy_in_the_documentation_can_be_read(tmp_path):
    text = (ROOT / "docs" / "grading-a-class.md").read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "policy.toml").write_text(text)
    found = read_policy(tmp_path / "policy.toml", Course(ROOT))
    assert found.deadline("ada", "softmax") == DUE + timedelta(days=2)
    assert set(found.terms.__struct_fields__) == set(tomllib.loads(text)), "every table is explained"


def test_without_a_policy_every_point_counts():
    found = marks(Policy(), double=300, center=800)
    assert (found.total, found.possible) == (1100, 2000)
    assert not any(mark.reasons for mark in found.katas.values())


def test_points_set_by_hand_are_final(policy):
    override = Override("ada", "double", 900, "eve", "argued\nwell", "2026-11-28T10:00:00+01:00")
    mark = marks(policy(TERMS), late_by(days=30), {"double": override}, double=200).katas["double"]
    assert (mark.judged, mark.points, mark.is_set) == (200, 900, True)
    assert mark.reasons == ("Set to 9 points by eve on 2026-11-28: argued well",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[late]\ngraze = '5m'", "late: object contains unknown field `graze`."),
        ("deadline = 5", "object contains unknown field `deadline`."),
        ("[late]\nper_day = 'ten'", "late.per_day: expected `float`, got `str`."),
        ("[late]\nper_day = 120", "late.per_day: 120 must be per cent, from 0 to 100."),
        ("[late]\ngrace = '5 minutes'", 'late.grace: `5 minutes` is no time; say "15m", "12h" or "2d".'),
        ("total = -1", "total: -1 must be from 0 to 1,000,000."),
        (
            "[deadlines]\ndouble = 2026-11-20T23:59:00",
            '2026-11-20 23:59 has no time zone: add timezone = "Europe/Berlin" at the top, or an offset to'
            " the date (2026-11-20T23:59:00+01:00).",
        ),
        (
            "[deadlines]\ndouble = '2026-11-20'",
            "deadlines.double: write a date: 2026-11-20T23:59:00, without quotes.",
        ),
        (
            "[deadlines]\ndubble = 2026-11-20T23:59:00Z",
            "deadlines: nothing is called `dubble`; name a kata, `attention`, `modules` or `all`.",
        ),
        ("[weeks]\n1 = ['dubble']", "weeks.1: there is no kata `dubble`."),
        ("[weeks]\n1 = ['double']\n2 = ['double']", "weeks.2: `double` is in week 1 too."),
        ("total = inf", "total: inf must be from 0 to 1,000,000."),
        ("[weights]\ndouble = -1", "weights.double: -1.0 must be from 0 to 1,000,000."),
        ("[weights]\ndouble = nan", "weights.double: nan must be from 0 to 1,000,000."),
        ("[deadlines]\ndouble = 9999-12-31T23:59:00Z", "9999-12-31 is no date of a course."),
        (
            "[deadlines]\ndouble = 2026-11-20T23:59:00Z\n[extensions.ada]\ndouble = 2026-10-20T23:59:00Z",
            "extensions.ada.double: 2026-10-20 is before the deadline.",
        ),
        (
            "[extensions.ada]\ndouble = '2d'",
            "extensions.ada.double: `double` has no deadline to extend.",
        ),
        (
            "timezone = 'Europe/Berlyn'\n[deadlines]\ndouble = 2026-11-20",
            "timezone: Europe/Berlyn is not known here; write Europe/Berlin or the like. Where a system has"
            f" no list of time zones: {install_command('tzdata')}",
        ),
        (
            "[late",
            "cannot be read as TOML: Expected ']' at the end of a table declaration (at end of document).",
        ),
    ],
)
def test_a_wrong_policy_is_one_sentence_that_names_the_entry(policy, text, sentence):
    with pytest.raises(CourseError) as refused:
        policy(text)
    assert str(refused.value).partition("policy.toml")[2].lstrip(": ") == sentence


def test_a_missing_file_is_one_sentence(tiny_course, tmp_path):
    with pytest.raises(CourseError, match=r"policy\.toml cannot be read: no such file or directory\.$"):
        read_policy(tmp_path / "policy.toml", tiny_course)


# when a file was handed in


def git(folder, *words, date="2026-11-19T12:00:00+00:00"):
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00+00:00", "GIT_COMMITTER_DATE": date}
    command = ["git", "-c", "init.defaultBranch=main", *words]
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", **names, **dates}
    )


@pytest.fixture
def repository(tmp_path):
    """A repository with two files, of which one was changed in a later commit."""
    git(tmp_path, "init")
    for name, day in (("double.py", 19), ("center.py", 19), ("double.py", 21)):
        with (tmp_path / name).open("a") as file:
            file.write(f"# {day}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", "x", date=f"2026-11-{day}T12:00:00+00:00")
    return tmp_path


@pytest.mark.parametrize("packed", [False, True])
def test_the_last_commit_that_changed_a_file_counts(repository, packed):
    if packed:
        git(repository, "gc")
    found = Commits(repository)
    assert found.handed_in(repository / "double.py") == (datetime(2026, 11, 21, 12, tzinfo=UTC), "the commit")
    assert found.handed_in(repository / "center.py") == (datetime(2026, 11, 19, 12, tzinfo=UTC), "the commit")
    assert found.handed_in(repository / "other.py") is None


def test_a_commit_counts_only_for_what_it_holds(repository):
    (repository / "double.py").write_text("# changed after the commit\n")
    assert of_path(repository / "double.py", Commits(repository))().source == "the file"


def test_a_clone_with_the_latest_commit_alone_and_a_colon_in_its_name(repository):
    git(repository, "clone", "--depth", "1", f"file://{repository}", "a:b")
    clone = repository / "a:b"
    assert Commits(clone).handed_in(clone / "double.py").at == datetime(2026, 11, 21, 12, tzinfo=UTC)


METADATA = "submission_1:\n  :submitters:\n  - :name: Ada\n    :email: ada@s.org\n"


@pytest.mark.parametrize(
    ("place", "beside", "source"),
    [
        ("hw1-ada", {}, "the commit"),
        ("ada/hw1", {}, "the commit"),
        ("Ada X_4711_assignsubmission_file_", {}, "the file"),  # Moodle
        ("submitted/ada/ps1", {}, "the file"),  # nbgrader
        ("submission_1", {"submission_metadata.yml": METADATA}, "the file"),  # Gradescope, without a time
    ],
)
def test_commits_are_believed_in_clones_and_not_in_uploads(repository, write, place, beside, source):
    write(repository / "in", beside)
    git(repository, "clone", repository, f"in/{place}")
    sources = {True: source, False: "the file"}
    for believes, expected in sources.items():
        ((_, files),) = Collector(repository / "in", believes_commits=believes).students()
        assert {file.inner[-1]: file.time().source for file in files} == {
            "center.py": expected,
            "double.py": expected,
        }


def test_an_upload_to_moodle_is_no_repository_to_push_to(repository):
    git(repository, "clone", repository, "in/Ada X_4711_assignsubmission_file_")
    assert [student.platform for student in Collector(repository / "in").names] == ["moodle"]


def test_the_policy_says_whether_commits_count(policy):
    assert policy(TERMS).terms.commits
    assert not policy(f"commits = false\n{TERMS}").terms.commits


def test_what_no_commit_has_counts_by_the_file(repository):
    (repository / "other.py").write_text("")
    assert of_path(repository / "other.py", Commits(repository))().source == "the file"


def test_nothing_of_a_repository_is_run_or_believed_but_its_objects(repository, tmp_path):
    trap = f"touch {tmp_path}/trapped"
    with (repository / ".git" / "config").open("a") as file:
        file.write(
            f"[core]\nfsmonitor = {trap}\npager = {trap}\n[alias]\nlog = !{trap}\n"
            "[log]\nshowSignature = true\n"
        )
        file.write(f"[gpg]\nprogram = {trap}\n[include]\npath = /etc/passwd\n")
    assert Commits(repository).handed_in(repository / "double.py").source == "the commit"
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize(
    "head", ["ref: ../../HEAD", "ref: refs/heads/gone", "--output=x", "", "\0", "f" * 40, "packed"]
)
def test_a_head_that_leads_nowhere_is_no_record(repository, head):
    if head == "packed":
        git(repository, "pack-refs", "--all")
        head = "ref: refs/heads/gone"
    (repository / ".git" / "HEAD").write_text(head)
    assert Commits(repository).handed_in(repository / "double.py") is None


def test_linked_objects_are_no_record(repository):
    objects = repository / ".git" / "objects"
    objects.rename(repository / "elsewhere")
    objects.symlink_to(repository / "elsewhere")
    assert Commits(repository).handed_in(repository / "double.py") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-20 21:03:11.528173 -0800", 1795237391),
        ("2026-11-21T05:03:11Z", 1795237391),
        ("2026-11-20 21:03:11", None),
        ("2026-13-20 21:03:11 -0800", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_platforms_time_needs_a_zone(text, seconds):
    found = of_text(text, "Gradescope")
    assert (found and found.at.timestamp()) == seconds


# days are those of the calendar, also where the clocks change

CLOCKS = """
timezone = "Europe/Berlin"
[late]
grace = "{grace}"
closed_after = "{closed}"
[deadlines]
double = {due}
"""


@pytest.mark.parametrize(
    ("due", "closed", "at", "is_open"),
    [
        ("2026-03-28T20:00:00", "1d", "2026-03-29T20:00:00+02:00", True),  # 23 hours later
        ("2026-03-28T20:00:00", "1d", "2026-03-29T20:00:01+02:00", False),
        ("2026-10-24T20:00:00", "1d", "2026-10-25T20:00:00+01:00", True),  # 25 hours later
        ("2026-10-24T20:00:00", "1d", "2026-10-25T20:00:01+01:00", False),
        ("2026-03-28T20:00:00", "24h", "2026-03-29T21:00:00+02:00", True),  # hours are those that pass
        ("2026-03-28T20:00:00", "24h", "2026-03-29T21:00:01+02:00", False),
        ("2026-10-24T20:00:00", "24h", "2026-10-25T19:00:01+01:00", False),
        ("2026-10-24T20:00:00+02:00", "1d", "2026-10-25T20:00:00+01:00", True),  # an offset is no zone
        ("2026-10-25T02:30:00", "30m", "2026-10-25T02:45:00+02:00", True),  # the first 02:45 of two
        ("2026-10-25T02:30:00", "30m", "2026-10-25T02:45:00+01:00", False),
        ("2026-03-28T02:30:00", "1d", "2026-03-29T03:30:00+02:00", True),  # there is no 02:30
        ("2026-03-28T02:30:00", "1d", "2026-03-29T03:30:01+02:00", False),
    ],
)
def test_days_are_of_the_calendar_and_hours_of_the_clock(policy, due, closed, at, is_open):
    when = {"double": HandedIn(datetime.fromisoformat(at), "the commit")}
    closes = policy(CLOCKS.format(grace="0m", closed=closed, due=due))
    assert marks(closes, when, double=800).katas["double"].points == (800 if is_open else 0)
    graces = policy(CLOCKS.format(grace=closed, closed="0m", due=due))
    assert marks(graces, when, double=800).katas["double"].points == (800 if is_open else 0)


@pytest.mark.parametrize(
    ("due", "extended"),
    [
        ("2026-03-28T20:00:00", "2026-03-30T20:00:00+02:00"),
        ("2026-10-24T20:00:00", "2026-10-26T20:00:00+01:00"),
    ],
)
def test_an_extension_of_days_ends_at_the_same_time_of_day(policy, due, extended):
    found = policy(CLOCKS.format(grace="0m", closed="", due=due) + '[extensions.ada]\ndouble = "2d"\n')
    assert found.deadline("ada", "double") == datetime.fromisoformat(extended)


def test_a_zone_that_does_not_exist_is_refused_without_any_date(policy):
    with pytest.raises(CourseError, match="timezone: Berlin is not known here"):
        policy('timezone = "Berlin"')


# what was handed out counts


def test_a_week_that_somebody_has_begun_counts_as_a_whole(policy):
    weeks = policy('[weeks]\n1 = ["double", "center"]\n')
    assert weeks.handed_out(["double", "center"], {"double"}, NOW) == ["double", "center"]
    assert weeks.handed_out(["double", "center"], set(), NOW) == []


def test_a_week_or_a_kata_whose_deadline_has_passed_counts(policy):
    terms = 'timezone = "Europe/Berlin"\n[weeks]\n1 = ["double"]\n[deadlines]\n{} = 2026-11-20\n'
    assert policy(terms.format('"week 1"')).handed_out(["double", "center"], set(), NOW) == ["double"]
    assert policy(terms.format("center")).handed_out(["double", "center"], set(), NOW) == ["center"]
    assert policy(terms.format("center")).handed_out(["center"], set(), NOW - timedelta(days=30)) == []


def test_without_weeks_what_somebody_has_begun_counts(policy):
    assert policy("").handed_out(["double", "center"], {"center"}, NOW) == ["center"]
