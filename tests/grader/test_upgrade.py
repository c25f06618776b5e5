"""Tests of files that another version of the grader wrote: each is read, or refused in one sentence.

Version 0.1 wrote the files in `golden/0.1`; `report-1.json` and `key-1.key` have earlier versions of their
formats. Nobody edits them: a new version of a format adds a folder. `policy.toml` is written by hand.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dojo_page.history import History
from dojo_show.demonstration import read_recording
from grader import __version__, formats
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.course import release_manifest
from grader.course.state import CourseState
from grader.course.stubs import BEST_COPIES
from grader.errors import CourseError
from grader.report import SCHEMA_VERSION, ReportError, from_json, to_json

GOLDEN = Path(__file__).parent / "golden" / "0.1"
UPGRADE = "was written by a newer version of the grader: upgrade the grader."
VERDICT = "The result is three times x"
BEGUN = '"""Twice as much."""\n\n\ndef double(x):\n    return 3 * x\n'


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Copies of the kept files where their commands look for them: `course` is an instructor's, `release` a
    student's. `run(command, *words)` runs a command as a user would."""
    for folder in ("course", "release"):
        shutil.copytree(GOLDEN / folder, tmp_path / folder)
    for file in ("key-1.key", "sealed.key", "sealed.secret", "policy.toml"):
        shutil.copy(GOLDEN / file, tmp_path)
    release = tmp_path / "release"
    (release / ".dojo" / "history").mkdir(parents=True)
    (release / ".dojo" / BEST_COPIES).mkdir()
    shutil.copy(GOLDEN / "state.json", release / ".dojo")
    shutil.copy(GOLDEN / "history.json", release / ".dojo" / "history" / "double.json")
    (release / "exercises" / "attention" / "double.py").write_text(BEGUN)
    (tmp_path / "in" / "bob").mkdir(parents=True)
    (tmp_path / "in" / "bob" / "double.py").write_text(BEGUN)
    (tmp_path / "grades").mkdir()
    with closing(sqlite3.connect(tmp_path / "grades" / "results.sqlite")) as connection:
        connection.executescript((GOLDEN / "results.sql").read_text())
    monkeypatch.chdir(tmp_path)
    commands = {"grade": grade, "kata": kata}
    return SimpleNamespace(
        root=tmp_path,
        release=release,
        state=CourseState(SimpleNamespace(exercises=release / "exercises")),
        run=lambda command, *words: CliRunner().invoke(commands[command], [*words]),
    )


#: What a user types after an upgrade, the exit code, and what they read, by the file in question.
AFTER_UPGRADE = {
    "a key": ("grade double --course release --key release/keys/double.key", 1, VERDICT),
    "a key of version 1": (
        "grade double --course release --key key-1.key", 4,
        "key-1.key has version 1 of the format, and this grader reads version 2: make it anew with `kata"),
    "a sealed key": ("grade double --course release --key sealed.key --secret sealed.secret", 1, VERDICT),
    "a state": ("grade --list --course release", 0, "0/10"),
    "a manifest": ("grade --protect --course release", 1, "missing: requirements.txt"),
    "a release": (
        "kata release release --course course --unverified", 0,
        "kept, since it was changed: exercises/attention/double.py"),
    "a verification": (
        "kata release again --course course", 4,
        "`double` was verified by version 0.1.0 of the grader, and this is"
        f" {__version__}: run `kata verify double`"),
    "a store": (
        "kata override --list --output grades --course course", 0,
        "bob  double  Set to 5 points by the lecturer on 2026-11-25: He explained it."),
    "a policy": ("kata grade in --course course --output grades --policy policy.toml", 0, "1 student"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "code", "told"), AFTER_UPGRADE.values(), ids=list(AFTER_UPGRADE))
def test_what_version_0_1_wrote_is_read_or_refused_with_the_command_that_renews_it(kept, words, code, told):
    done = kept.run(*words.split())
    assert (done.exit_code, told in done.output) == (code, True), done.output


def test_points_by_hand_stay_when_a_class_is_judged_anew(kept):
    assert kept.run("kata", "grade", "in", "--course", "course", "--output", "grades").exit_code == 0
    assert (kept.root / "grades" / "moodle.csv").read_text().endswith("\nbob,,5,5\n")


def test_a_store_from_before_overrides_is_read(kept):
    with closing(sqlite3.connect(kept.root / "grades" / "results.sqlite")) as connection:
        for table in ("overrides", "runs", "seen", "sources"):  # which came later
            connection.execute(f"DROP TABLE {table}")
        connection.commit()
    listed = kept.run("kata", "override", "--list", "--output", "grades", "--course", "course")
    assert (listed.exit_code, listed.stdout) == (0, "Nobody's points are set by hand.\n")


def test_a_student_who_upgrades_keeps_scores_hints_and_versions(kept):
    before = kept.state.kata("double")
    assert kept.run("grade", "double", "--course", "release").exit_code == 1
    now = kept.state.kata("double")
    assert (now.best, now.has_passed, now.hints) == (before.best, before.has_passed, before.hints)
    assert (now.best, now.has_passed, now.hints) == (1000, True, 1)
    assert [version.score for version in History(kept.release / ".dojo", "double").versions()] == [1000, 0]


def test_a_lost_state_costs_no_copy_of_the_best_version(kept):
    best = kept.release / ".dojo" / BEST_COPIES / "double.py"
    best.write_text("# ten points\n")
    (kept.release / ".dojo" / "state.json").write_text("{")
    half_right = BEGUN.replace("3 * x", "x + x")  # and does not refuse text
    (kept.release / "exercises" / "attention" / "double.py").write_text(half_right)
    graded = kept.run("grade", "double", "--course", "release")
    assert "state.json is damaged: it is kept under another name" in graded.stderr
    assert best.read_text() == half_right
    [replaced] = (kept.release / ".dojo" / "replaced").iterdir()
    assert replaced.read_text() == "# ten points\n"


def test_a_history_that_cannot_be_read_is_kept_under_another_name(kept):
    history = History(kept.release / ".dojo", "double")
    file = kept.release / ".dojo" / "history" / "double.json"
    file.write_text('{"version": 2}')
    assert (history.versions(), file.exists()) == ([], False)
    assert [one.read_text() for one in history.damaged()] == ['{"version": 2}']


@pytest.mark.parametrize("text", ["{", "1", "[1]", '"text"'])
def test_a_damaged_recording_is_refused_with_the_command_that_renews_it(text):
    demonstration = SimpleNamespace(own=lambda _: text, folder=Path("see"))
    with pytest.raises(CourseError, match=r"^see/recording\.json is damaged: .*`kata record-see`\.$"):
        read_recording(demonstration)


@pytest.mark.parametrize("form", formats.NAMES)
@pytest.mark.parametrize("file", ["report.json", "report-1.json"])
def test_every_format_shows_a_saved_report(file, form):
    report = from_json(json.loads((GOLDEN / file).read_text()))
    main, *_ = formats.documents(form)
    assert main.render(report)
    assert from_json(to_json(report)) == report


# --- files of a newer version -----------------------------------------------------------------------


def with_version(file, version):
    """Write this version, as JSON, into a file whose format is JSON."""
    found = json.loads(file.read_text())
    file.write_text(json.dumps(found).replace('"version": 1', f'"version": {version}'))


def key_of_version(file, version):
    data = file.read_bytes()
    file.write_bytes(data[:8] + version.to_bytes(2, "big") + data[10:])


def store_of_schema(file, version):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE about SET version = ?", (version,))
        connection.commit()


def content(file):
    if file.suffix != ".sqlite":
        return file.read_bytes()
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


#: A file, what writes a version into it, the next version of its format, and what a user then types.
NEWER = {
    "key": ("release/keys/double.key", key_of_version, 3, "grade double --course release"),
    "sealed key": ("sealed.key", key_of_version, 2,
                   "grade double --course release --key sealed.key --secret sealed.secret"),
    "manifest": ("release/.dojo-release.json", with_version, 2, "grade --protect --course release"),
    "release": ("release/.dojo-release.json", with_version, 2,
                "kata release release --course course --unverified"),
    "store": ("grades/results.sqlite", store_of_schema, 2,
              "kata grade in --course course --output grades"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "write", "version", "words"), NEWER.values(), ids=list(NEWER))
def test_a_file_of_a_newer_version_is_refused_in_one_sentence_and_kept(kept, file, write, version, words):
    write(kept.root / file, version)
    before = content(kept.root / file)
    refused = kept.run(*words.split())
    [told] = refused.stderr.splitlines()
    assert (refused.exit_code, told.endswith(f"{Path(file).name} {UPGRADE}")) == (4, True)
    assert content(kept.root / file) == before


def test_a_state_of_a_newer_version_is_told_and_kept_and_the_file_is_graded(kept):
    file = kept.release / ".dojo" / "state.json"
    with_version(file, 2)
    before = file.read_bytes()
    graded = kept.run("grade", "double", "--course", "release", "--once")
    assert (graded.exit_code, VERDICT in graded.stdout) == (1, True)
    assert f"state.json {UPGRADE} It stays as it is" in graded.stderr
    assert file.read_bytes() == before


def test_a_report_of_a_newer_version_is_refused():
    newer = {**json.loads((GOLDEN / "report.json").read_text()), "schema_version": SCHEMA_VERSION + 1}
    with pytest.raises(ReportError, match=f"^The report {UPGRADE}$"):
        from_json(newer)


# --- versions that are none -------------------------------------------------------------------------

#: As JSON; `10**9999` has more digits than Python reads.
NO_VERSIONS = ['"1"', "[1]", "{}", "null", "true", "1.0", "0", "-1", str(-(2**70)), "1" + "0" * 9999]


@pytest.mark.parametrize("version", NO_VERSIONS, ids=[text[:10] for text in NO_VERSIONS])
def test_a_version_that_is_none_is_refused_in_one_sentence(kept, version):
    manifest = kept.release / release_manifest.NAME
    with_version(manifest, version)
    refused = kept.run("grade", "--protect", "--course", "release")
    assert (refused.exit_code, refused.stderr) == (4, f"{release_manifest.DAMAGED}\n")
    if len(version) < 999:
        with pytest.raises(ReportError, match=r"^This is no report of schema version 2 \(found .{1,40}\)\.$"):
            from_json({"schema_version": json.loads(version), "katas": []})


@pytest.mark.parametrize("version", [-1, 0, "one", 1.5, 2.0**80])
def test_a_store_of_no_version_is_refused_in_one_sentence(kept, version):
    store_of_schema(kept.root / "grades" / "results.sqlite", version)
    refused = kept.run("kata", "override", "--list", "--output", "grades", "--course", "course")
    told = "grades/results.sqlite holds no results of this grader; name another --store.\n"
    assert (refused.exit_code, refused.stderr) == (4, told)


def test_a_later_version_of_any_size_asks_for_an_upgrade(kept):
    with_version(kept.release / release_manifest.NAME, 2**70)
    assert (
        kept.run("grade", "--protect", "--course", "release").stderr == f"{release_manifest.NAME} {UPGRADE}\n"
    )


@pytest.mark.parametrize("row", ["{ digest = 1 }", '"text"', "[1]", '{ digest = "1", day = "2026-11-25" }'])
def test_a_row_of_verified_katas_that_lacks_something_is_damage(kept, row):
    (kept.root / "course" / "solutions" / "verified.toml").write_text(f"double = {row}\n")
    refused = kept.run("kata", "release", "again", "--course", "course")
    told = "solutions/verified.toml is damaged: delete it, and run `kata verify` again.\n"
    assert (refused.exit_code, refused.stderr) == (4, told)
