"""Tests of the tables `solutions/<track>/<kata>/mistakes.md`."""

import re
import textwrap
from pathlib import Path

import pytest

from dojo_authoring.verify.katas import verify_course
from dojo_authoring.verify.mistake_table import medians, mistake_table
from dojo_authoring.verify.mistakes import MistakeOutcome
from grader.course.catalog import Course
from grader.course.general_mistakes import GENERAL
from grader.course.mistake_edits import read_edits
from grader.mistakes import LEVELS

from ...conftest import DOUBLE

COURSE = Course(Path(__file__).parents[3])
DEFINITION = re.compile(r"^(?:def|class) ([a-z]\w*)", re.M)
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|", re.M)


def outcome(name, level, points, *failed):
    return MistakeOutcome(name, level, frozenset(failed), name, points)


OUTCOMES = [
    outcome("forgets_to_scale", "ordinary", 450, "keeps_the_dtype", "agrees_with_reference"),
    outcome("adds_epsilon", "subtle", 950, "sums_to_one"),
    outcome("does_nothing", "crude", 0, "agrees_with_reference"),
    outcome("scales_twice", "ordinary", 500, "agrees_with_reference"),
]


def test_the_median_of_each_level_is_told_with_the_number_of_mistakes():
    assert medians(OUTCOMES) == "Median points by level: crude 0 (1), ordinary 4.75 (2), subtle 9.5 (1)."


def test_rows_go_from_crude_to_subtle_and_from_few_points_to_many():
    text = mistake_table(COURSE.kata_info("softmax"), OUTCOMES)
    assert [row[0] for row in ROW.findall(text)] == [
        "does_nothing", "forgets_to_scale", "scales_twice", "adds_epsilon"
    ]  # fmt: skip
    assert "| `forgets_to_scale` | ordinary | 4.5 | `agrees_with_reference`, `keeps_the_dtype` |\n" in text


@pytest.mark.slow
def test_verify_writes_the_table_of_each_kata(tmp_path, write, capsys):
    mistakes = textwrap.dedent(DOUBLE["solutions/attention/double/mistakes.py"])
    mistakes = mistakes.replace("def accepts_text", "@subtle\ndef accepts_text")
    mistakes = f"from grader.mistakes import subtle\n\n{mistakes}"
    course = Course(write(tmp_path, {**DOUBLE, "solutions/attention/double/mistakes.py": mistakes}))
    verify_course(course, (), tables=True)
    assert "Median points by level: ordinary" in capsys.readouterr().out
    rows = ROW.findall((tmp_path / "solutions" / "attention" / "double" / "mistakes.md").read_text())
    own = [row for row in rows if row[0] not in GENERAL]
    assert own[-1] == ("accepts_text", "subtle")
    assert len(own) == 4
    assert {level for name, level in rows if name in GENERAL} == {"subtle"}


@pytest.mark.parametrize("name", COURSE.katas)
def test_every_kata_has_a_table_of_its_mistakes(name):
    folder = COURSE.folder(COURSE.kata_info(name))
    rows = ROW.findall((folder / "mistakes.md").read_text())
    own = [mistake.name for mistake in read_edits(folder / "mistakes.edits")]
    if (folder / "mistakes.py").is_file():
        own += DEFINITION.findall((folder / "mistakes.py").read_text())
    assert sorted(row[0] for row in rows if row[0] in own or row[0] not in GENERAL) == sorted(own), (
        f"run: kata verify {name}"
    )
    assert {level for _, level in rows} <= set(LEVELS)


@pytest.mark.slow
def test_verify_renews_a_table_that_is_there_and_says_so(tmp_path, write, capsys):
    course = Course(write(tmp_path, DOUBLE))
    file = tmp_path / "solutions" / "attention" / "double" / "mistakes.md"
    verify_course(course, ())
    assert not file.exists()
    file.write_text("an older table")
    verify_course(course, ())
    assert "Renewed the table of mistakes of double: mistakes.md.\n" in capsys.readouterr().out
    assert "| `accepts_text` |" in file.read_text()
    verify_course(course, ())
    assert "Renewed" not in capsys.readouterr().out
