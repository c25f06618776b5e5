"""A submission's output is shown after a bar on each line, without commands to a terminal or a host."""

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.formats import terminal
from grader.report import CheckReport, KataReport
from grader.texts.escaping import quoted

PRINTED = "::error::no\r\n\x1b[2J##[error]\n\n\u2028::notice::10 / 10\x85::set-output"
SHOWN = [
    "      | : :error::no",
    "      | ␛[2J# #[error]",
    "      | ",
    r"      | \u2028::notice::10 / 10\x85::set-output",
]


def kata(status="passed", message="", output=PRINTED):
    check = CheckReport("agrees", "Every entry is right.", status, 0, 100, message)
    return KataReport("softmax", "attention", "failed", 100, checks=(check,), output=output)


def test_every_line_stands_behind_a_bar():
    assert quoted(PRINTED) == SHOWN


def test_output_is_shown_on_request_alone_where_nothing_failed():
    assert terminal.render_kata(kata()) == "softmax  0 / 1   ✓ it holds\n"
    view = terminal.View(shows_output=True)
    assert terminal.render_kata(kata(), view).splitlines()[-4:] == SHOWN


@pytest.mark.parametrize("width", range(60, 90))
def test_no_line_of_a_report_begins_with_a_command(width):
    message = "The code raised ValueError: " + "x" * width + " ::error::a ##[error]b " + "::notice::" * 20
    lines = terminal.render_kata(kata("error", message)).splitlines()
    assert [line for line in lines if line.lstrip().startswith(("::", "##["))] == []


@pytest.mark.slow
def test_the_command_shows_what_was_printed():
    arguments = ["softmax", "--file", "tests/grader/submissions/prints_score_lines.py", "--show-output"]
    lines = CliRunner().invoke(grade, arguments).output.splitlines()
    assert "      | : :notice::softmax 10 / 10" in lines
    assert [line for line in lines if line.lstrip().startswith("::")] == []
