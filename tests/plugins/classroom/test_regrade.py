"""Tests of judging again what a student handed in: `kata regrade`."""

import hashlib
import os
import subprocess
from contextlib import closing

import pytest
from click.testing import CliRunner

from dojo_classroom.roster import Member
from dojo_classroom.store import Store
from grader.cli.kata import kata
from grader.course.catalog import Course

RIGHT = b'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
TRIPLES = RIGHT.replace(b"x + x", b"3 * x")
REFERENCE = "solutions/attention/double/reference.py"


def commit(root, day):
    who = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{role}_DATE": f"2026-11-{day}T12:00:00+00:00" for role in ("AUTHOR", "COMMITTER")}
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "x"]):
        subprocess.run(["git", *words], cwd=root, env={**os.environ, **who, **dates}, check=True)


def hand_in(store, started, **sources):
    """Add a run as `kata grade` does."""
    store.run = 1 + (next(store.rows("SELECT MAX(run) FROM students"))[0] or 0)
    store.add_run(started, "roe")
    store.enrol(Member("ada", "Ada"))
    for name, data in sources.items():
        digest = hashlib.sha256(data).hexdigest()
        store.add_submission("ada", name, digest, "j")
        store.add_source(digest, data)
    store.commit()


@pytest.fixture
def course(tmp_path, tiny_files, write):
    """A course in Git, whose reference is wrong before the 20th, and a store of two runs."""
    root = write(tmp_path / "course", tiny_files)
    right = (root / REFERENCE).read_text()
    (root / REFERENCE).write_text(right.replace("return x + x", "return 3 * x"))
    commit(root, 19)
    (root / REFERENCE).write_text(right)
    commit(root, 21)
    (tmp_path / "grades").mkdir()
    with closing(Store(str(tmp_path / "grades" / "results.sqlite"))) as store:
        hand_in(store, "2026-11-20T12:00:00+00:00", double=TRIPLES)
        hand_in(store, "2026-11-22T12:00:00+00:00", double=RIGHT, center=b"")
    return Course(root)


@pytest.fixture
def regrade(course, tmp_path):
    def run(*words):
        where = ["--output", str(tmp_path / "grades"), "--course", str(course.root)]
        return CliRunner().invoke(kata, ["regrade", *words, *where], env={"TZ": "UTC"})

    return run


def test_the_last_source_is_judged_by_the_course_as_it_is_now(regrade):
    done = regrade("Ada", "double")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("ada's double as graded on 2026-11-22 12:00 by roe:\n\ndouble  10 / 10")
    assert done.stdout.endswith('To let other points count: kata override ada double POINTS --why "…"\n')


def test_the_source_and_the_course_of_a_day_are_judged(regrade, course):
    """The reference of that day triples, and so does what was handed in; the agreement of that day holds."""
    then = regrade("ada", "double", "--as-of", "2026-11-20")
    assert then.stdout.startswith("ada's double as graded on 2026-11-20 12:00 by roe:\n\ndouble")
    assert "Every entry equals the reference" not in then.stdout
    (course.root / ".git").rename(course.root / "elsewhere")
    without = regrade("ada", "double", "--as-of", "2026-11-20")
    assert without.stderr.startswith(
        "The course of that day is not known to Git; judged by the course as it is"
    )
    assert "The result is three times x" in without.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["bob", "double"], "No student bob was graded into {store}."),
        (["ada", "dubble"], "There is no kata called `dubble`. Did you mean `double`?"),
        (["ada", "double", "--as-of", "soon"], "--as-of soon: say a date, such as 2026-11-20."),
        (
            ["ada", "double", "--as-of", "2026-11-19"],
            "No run of that day or before is kept in {store}; the first was on 2026-11-20 12:00.",
        ),
        (
            ["ada", "center", "--as-of", "2026-11-20"],
            "In the run of 2026-11-20 12:00 ada has no center that was kept.",
        ),
    ],
)
def test_what_cannot_be_judged_again_is_one_sentence(regrade, tmp_path, words, sentence):
    refused = regrade(*words)
    assert refused.exit_code == 4
    assert refused.stderr == sentence.format(store=tmp_path / "grades" / "results.sqlite") + "\n"


def test_a_source_is_kept_once(tmp_path):
    with closing(Store(str(tmp_path / "results.sqlite"))) as store:
        for _ in range(2):
            store.add_source("d", RIGHT * 100)
        assert store.source("d") == RIGHT * 100
        assert store.source("e") is None
        ((size,),) = store.rows("SELECT LENGTH(data) FROM sources")
        assert size < len(RIGHT) * 5


def test_a_regrade_has_the_cases_of_its_day(regrade, course, monkeypatch):
    (course.root / "solutions" / "seed.toml").write_text(
        "[[seeds]]\nsince = 2026-11-21T00:00:00+00:00\nseed = 21\n"
        "[[seeds]]\nsince = 2026-11-23T00:00:00+00:00\nseed = 23\n"
    )
    taken = []
    judging = "dojo_classroom.regrade.grade_submission"
    monkeypatch.setattr(judging, lambda _course, _infos, options: taken.append(options.seed) or 0)
    for words in ([], ["--as-of", "2026-11-22"], ["--as-of", "2026-11-30"], ["--as-of", "2026-11-20"]):
        assert regrade("ada", "double", *words).exit_code == 0
    assert taken == [21, 21, 21, None]  # the run of the 20th was before the first seed: with public cases
