"""Escaped text of a submission cannot break out of its place in Markdown or HTML."""

import pytest

from grader.texts.escaping import fenced, in_markdown, logged, one_line, plain
from grader.texts.points import number, points


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\\u2028d\\x85e"),
        ("\x1b[2J\x00\x7f", "␛[2J␀␡"),
        ("\ud800\uffff", r"\ud800\uffff"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_plain_text_has_one_kind_of_line_end_and_no_control(text, shown):
    assert plain(text) == shown


def test_a_text_is_cut_at_its_limit_and_says_so():
    assert plain("x" * 50, 10) == "xxxxxxxx …"
    assert plain("x" * 10, 10) == "x" * 10
    assert plain("\r\n" * 8 + "x" * 9, 10).endswith(" …")
    assert len(plain("x" * 50, 1)) <= 2


def test_one_line_is_one():
    assert one_line(" a\n\n b\rc ") == "a b c"


@pytest.mark.parametrize("text", ["::error::x", "  ::error::x", "\u2028::error::x", "a\n\t::error::x"])
def test_no_logged_line_begins_like_a_command(text):
    assert all(line.startswith("| ") for line in logged(text).splitlines())


def test_the_older_command_is_broken_anywhere_in_a_line():
    assert "##[" not in logged("a ##[add-mask]b")


@pytest.mark.parametrize(
    "text", ["| a | b |", "<img src=x>", "@everyone", "[a](b)", "`a`", "#12", "a_b_c", "\n# a"]
)
def test_markdown_text_keeps_no_mark(text):
    assert not set(in_markdown(text).replace("&#", "")) & set("|<>@[]`#_*\n")


@pytest.mark.parametrize("text", ["plain", "```", "a\n````\nb", "`" * 12])
def test_a_fence_is_longer_than_any_inside(text):
    first, *inside, last = fenced(text).splitlines()
    assert first == f"{last}text"
    assert last not in inside
    assert set(last) == {"`"}


@pytest.mark.parametrize(
    ("hundredths", "text", "value"),
    [
        (0, "0", 0),
        (50, "0.5", 0.5),
        (333, "3.33", 3.33),
        (1000, "10", 10),
        (12345678, "123456.78", 123456.78),
    ],
)
def test_points_are_exact(hundredths, text, value):
    assert (points(hundredths), number(hundredths)) == (text, value)
