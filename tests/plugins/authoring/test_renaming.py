"""Tests of `kata rename` and `kata remove`."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata
from grader.course.catalog import Course

from ...conftest import DOUBLE

PATH = "tests/katas/path.toml"
NEEDING = {
    "tests/katas/attention/test_triple.py": """
        from grader.kata import Kata
        KATA = Kata("triple", track="attention", entry_points=("triple",), title="T", source="S",
                    hints=("h",), needs=("double",))
    """,
    PATH: '[path]\nattention = ["double", "triple"]',
}


@pytest.fixture
def run(tmp_path, write, monkeypatch):
    """`run(*arguments, more={})` runs `kata` in the tiny course; returns the exit code and the output."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, more=None, answer=""):
        if not (tmp_path / "exercises").exists():
            write(tmp_path, {**DOUBLE, PATH: '[path]\nattention = ["double"]', **(more or {})})
        done = CliRunner().invoke(kata, list(arguments), input=answer)
        return done.exit_code, done.output

    return invoke


def test_a_kata_is_renamed_everywhere(run, tmp_path):
    code, said = run("rename", "double", "twice", more=NEEDING)
    assert code == 0, said
    course = Course(tmp_path)
    info = course.kata_info("twice")
    assert (list(course.katas), info.entry_points) == (["twice", "triple"], ("double",))
    assert course.kata_info("triple").needs == ("twice",)
    assert course.stub(info).is_file()
    assert course.solution(info, "mistakes").is_file()
    assert said.startswith("`double` is called `twice` now. Its functions keep their names.\n")
    assert "still mentioned: exercises/attention/twice.py:3: def double(x):\n" in said
    assert course.declaration(info).name == "twice"


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        ("triple", "A kata called `triple` is there already, in attention.\n"),
        ("Twice!", "`Twice!` cannot be a kata: say a name of small letters, digits and underscores.\n"),
        ("list", "`list` cannot be a kata: `grade list` is a command. Take another name.\n"),
        ("class", "`class` cannot be a kata: it is a word of Python. Take another name.\n"),
        ("a" * 300, "A kata's name has at most 100 characters; this one has 300.\n"),
    ],
)
def test_a_name_that_cannot_be_used_changes_nothing(run, tmp_path, new, sentence):
    assert run("rename", "double", new, more=NEEDING) == (4, sentence)
    assert list(Course(tmp_path).katas) == ["double", "triple"]


def test_a_form_feed_above_a_name_is_no_line(run, tmp_path):
    declared = "tests/katas/attention/test_double.py"
    odd = DOUBLE[declared].replace(
        "from grader", "# \x0c a page of its own, \u2028 and a line\n        from grader", 1
    )
    code, said = run("rename", "double", "twice", more={declared: odd})
    assert code == 0, said
    assert Course(tmp_path).kata_info("twice").name == "twice"


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [("rename", "double", "twice"), ("remove", "triple", "--yes"), ("new",)])
@pytest.mark.parametrize("at", range(8))
def test_a_full_disk_or_a_folder_without_rights_leaves_all_as_it_was(run, tmp_path, monkeypatch, words, at):
    """Each change of a file fails in turn."""
    if words == ("new",):
        words = (
            "new",
            "attention/k",
            "--signature",
            "k(x)",
            "--library",
            "numpy",
            "--title",
            "T",
            "--source",
            "S",
        )
    run("remove", "nothing", more={**NEEDING, PATH: EFFORTS})
    before, changed = files_in(tmp_path), []

    def failing(change):
        def replace(*where, **more):
            changed.append(where)
            if len(changed) == at + 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(where[0]))
            return change(*where, **more)

        return replace

    monkeypatch.setattr(os, "replace", failing(os.replace))
    monkeypatch.setattr(Path, "rename", failing(Path.rename))
    code, said = run(*words)
    if len(changed) <= at:
        assert code == 0, said
        return
    assert code == 4, said
    assert said.endswith(" cannot be changed: no space left on device. All is as before.\n")
    assert files_in(tmp_path) == before


def test_a_link_is_removed_and_not_what_it_leads_to(run, tmp_path):
    run("remove", "nothing")
    kept = shutil.move(tmp_path / "solutions/attention/double", tmp_path / "elsewhere")
    (tmp_path / "solutions/attention/double").symlink_to(kept)
    code, said = run("remove", "double", "--yes")
    assert code == 0, said
    assert not os.path.lexists(tmp_path / "solutions/attention/double")
    assert (Path(kept) / "reference.py").is_file()


def test_a_kata_is_removed_with_all_its_files(run, tmp_path):
    code, said = run("remove", "double", answer="y\n")
    assert code == 0
    files = "exercises/attention/double.py, tests/katas/attention/test_double.py, solutions/attention/double"
    assert said.endswith(f"deleted {files}\n")
    assert list(Course(tmp_path).katas) == []
    assert (tmp_path / PATH).read_text() == "[path]\nattention = []\n"
    assert [path for path in tmp_path.rglob("*double*") if path.is_file()] == []


def test_a_kata_is_kept_without_a_yes(run, tmp_path):
    assert run("remove", "double", answer="n\n")[0] == 1
    assert "double" in Course(tmp_path).katas


def test_a_kata_that_another_needs_is_kept(run, tmp_path):
    said = "`double` is needed by `triple`; take it out of their needs first.\n"
    assert run("remove", "double", "--yes", more=NEEDING) == (4, said)
    assert "double" in Course(tmp_path).katas


EFFORTS = """[path]
attention = ["double", "triple"]

[katas]
double = { minutes = 20, difficulty = 1 }
triple = { minutes = 20, difficulty = 1, builds_on = ["double"] }

[plans.lab]
hours = 1
katas = ["double", "triple"]
wants = ["double", "triple"]
"""


def test_a_renamed_kata_keeps_its_effort_and_its_place_in_plans(run, tmp_path):
    code, said = run("rename", "double", "twice", more={**NEEDING, PATH: EFFORTS})
    assert code == 0, said
    assert (tmp_path / PATH).read_text() == EFFORTS.replace("double", "twice")


def test_a_removed_kata_loses_its_effort_and_leaves_plans(run, tmp_path):
    code, said = run("remove", "triple", "--yes", more={**NEEDING, PATH: EFFORTS})
    assert code == 0, said
    syllabus = Course(tmp_path).syllabus
    assert (list(syllabus.katas), syllabus.plans["lab"].katas) == (["double"], ["double"])
    assert syllabus.plans["lab"].wants == ["double"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["triple", "double"]', '["double"]'),
        ('["double", "triple"]', '["double"]'),
        ('[\n    "triple", "double",\n]', '[\n    "double",\n]'),
        ('[\n    "double", "triple",\n]', '[\n    "double",\n]'),
        ('[\n    "double",\n    "triple",\n]', '[\n    "double",\n]'),
        ('[\n    "double",\n    "triple"\n]', '[\n    "double"\n]'),
    ],
)
def test_a_name_is_taken_out_of_a_list_wherever_it_stands(run, tmp_path, before, after):
    code, said = run("remove", "triple", "--yes", more={**NEEDING, PATH: f"[path]\nattention = {before}\n"})
    assert code == 0, said
    assert (tmp_path / PATH).read_text() == f"[path]\nattention = {after}\n"


SHORTCUTS = """
[shortcuts]
triple = ["numpy.add"]
double = "None does it."
"""


def test_a_kata_that_is_renamed_or_removed_takes_its_shortcuts_with_it(run, tmp_path):
    more = {**NEEDING, PATH: EFFORTS + SHORTCUTS}
    code, said = run("rename", "triple", "thrice", more=more)
    assert code == 0, said
    assert (tmp_path / PATH).read_text() == more[PATH].replace("triple", "thrice")
    code, said = run("remove", "thrice", "--yes", more={})
    assert code == 0, said
    assert Course(tmp_path).syllabus.shortcuts == {"double": "None does it."}


SKILLS = """
[skills]
triple = ["products", "sums"]
double = ["sums"]

[skill_names]
products = "Like triple = a product."
sums = "Sums."
"""


def test_a_kata_that_is_renamed_or_removed_takes_its_skills_with_it(run, tmp_path):
    more = {**NEEDING, PATH: EFFORTS + SKILLS}
    code, said = run("rename", "triple", "thrice", more=more)
    assert code == 0, said
    found = Course(tmp_path).syllabus
    assert found.skills == {"thrice": ["products", "sums"], "double": ["sums"]}
    assert found.skill_names["products"] == "Like triple = a product."
    code, said = run("remove", "thrice", "--yes", more={})
    assert code == 0, said
    assert Course(tmp_path).syllabus.skills == {"double": ["sums"]}


def test_a_removed_kata_loses_its_aliases(run, tmp_path):
    others = '\n[aliases]\nthrice = "triple"  # as people say\ntwice = "double"\n'
    code, said = run("remove", "triple", "--yes", more={**NEEDING, PATH: EFFORTS + others})
    assert code == 0, said
    assert Course(tmp_path).syllabus.aliases == {"twice": "double"}
