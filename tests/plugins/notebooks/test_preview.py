"""`kata preview` shows what students read of a kata."""

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata


@pytest.mark.slow
def test_a_preview_shows_the_statement_and_three_mistakes(tiny_course, tmp_path):
    pytest.importorskip("nbformat", reason="nbformat is not installed")
    output = tmp_path / "preview"
    done = CliRunner().invoke(
        kata, ["preview", "double", "--course", str(tiny_course.root), "--output", str(output)]
    )
    said = done.output
    assert done.exit_code == 0, said
    assert said.startswith('double.py is what a student opens:\n\n"""Twice as much."""\n')
    told = [line for line in said.splitlines() if line.endswith(" would read:")]
    assert told == ["triples would read:", "forgets_the_first_row would read:", "accepts_text would read:"]
    assert "\n  The result is three times x: one x too many was added.\n" in said
    assert (output / "double.md").read_text().startswith("## Twice as much\n")
    assert "three times x" in (output / "double.html").read_text()
    notebook = (output / "double.ipynb").read_text()
    assert "raise NotImplementedError" in notebook
    assert "BEGIN SOLUTION" not in notebook
    assert "HIDDEN" not in notebook
