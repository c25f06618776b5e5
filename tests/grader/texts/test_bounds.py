"""Texts from a submission are escaped, contain no command of a host, and have a limited length."""

import json
from dataclasses import astuple, replace

import pytest

from grader.report import CheckReport, KataReport, Mistake, Provenance, Report, from_json, to_json
from grader.texts.bounds import (
    LEFT_OUT,
    MOST_CHECKS,
    MOST_ENTRIES,
    bounded,
    cut,
    cut_pair,
    legible,
    legible_kata,
)
from grader.texts.escaping import harmless, without_commands

BOUND = 256_000
MEGABYTE = 1_000_000
FAILED = CheckReport(
    "agrees", "Every entry is right.", "failed", 0, 450, message="No.", call="f(x)",
    counterexample={"x": "[0.0]"}, expected="[1.0]", got="[2.0]", difference="[0]",
    mistake=Mistake("forgets_the_max", "exp overflows."),
)  # fmt: skip


def check(text, entries=3):
    """Return a check whose every text is `text`; `expected` and `got` differ in the last character."""
    found = {f"{text}{number}": text for number in range(entries)}
    return CheckReport(
        text, text, "failed", 1, 50, text, text, found, f"{text}1", f"{text}2", text, Mistake(text, text)
    )


def kata(*checks, text="softmax"):
    return KataReport(text, text, "failed", 1000, 0.25, text, checks, text, text)


def size(*katas):
    return len(json.dumps(to_json(Report(katas)), ensure_ascii=False).encode())


# --- escaping --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü € 数 😀", "plain ü € 数 😀"),
        ("\x00\a\x1b[2J\x7f", "␀␇␛[2J␡"),
        ("\x85\x9b2J", r"\x85\x9b2J"),
        ("a\u202eb\u2066c\u200fd\u061ce", r"a\u202eb\u2066c\u200fd\u061ce"),
        ("\u200b\u200d\u2060\ufeff", r"\u200b\u200d\u2060\ufeff"),
        ("\u2028\u2029\x0b\x0c\x1c", r"\u2028\u2029␋␌␜"),
        ("\ud800\ue000\uffff\U000e0001", r"\ud800\ue000\uffff\U000e0001"),
        ("a\r\nb\rc\n\td", "a\nb\nc\n\td"),
    ],
)
def test_unprintable_characters_are_escaped(text, shown):
    assert harmless(text) == shown
    assert harmless(shown) == shown


def test_on_one_line_line_ends_are_escaped_too():
    assert harmless("a\r\nb\tc\n", one_line=True) == "a␍␊b␉c␊"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::no", ": :error::no"),
        (" \t::set-output name=a::b", " \t: :set-output name=a::b"),
        ("a\n::notice::b", "a\n: :notice::b"),
        ("a ##[error]b ##vso[task.complete]c ###[group]", "a # #[error]b # #vso[task.complete]c ## #[group]"),
        ("a[::2] a::b ## title", "a[::2] a::b ## title"),
    ],
)
def test_a_command_of_a_host_is_broken(text, shown):
    assert without_commands(text) == harmless(text) == shown
    assert harmless(shown) == shown


def test_a_legible_report_keeps_what_is_harmless():
    report = Report((kata(FAILED),), "cpu", provenance=Provenance("0.1.0", "3.11.7"))
    assert legible(report) == report


def test_every_text_of_a_report_becomes_legible():
    evil = "::x\n\u202e"
    report = Report((kata(check(evil), text=evil),), evil, provenance=Provenance(*[evil] * 5))
    shown = to_json(legible(report))
    assert shown["katas"][0].pop("output") == ": :x\n\\u202e"
    assert shown["katas"][0]["checks"][0].pop("call") == ": :x\n\\u202e"
    assert "\\n" not in json.dumps(shown)
    assert "::x" not in json.dumps(shown)
    assert json.dumps(shown, ensure_ascii=False).isprintable()


# --- limits ----------------------------------------------------------------------------------------

TEXTS = {
    "ascii": "x",
    "astral": "😀",
    "private": "\U000e0001",
    "surrogate": "\ud800",
    "control": "\x00",
    "quote": '"',
    "backslash": "\\",
    "line end": "\n",
    "tag": "<&'",
    "command": "##[",
}
texts = pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))


@texts
@pytest.mark.parametrize("length", [100, 2_500, pytest.param(MEGABYTE, marks=pytest.mark.slow)])
def test_a_report_has_at_most_256_kb(text, length):
    text *= length
    for count, entries in [(1, 3), (9, 40), (1_000, 1)]:
        evil = kata(*[check(text, entries)] * count, text=text)
        shown = bounded(evil)
        assert size(shown) <= BOUND
        assert (shown.score, shown.status) == (evil.score, evil.status)


@pytest.mark.slow
def test_the_indented_json_stays_below_the_bound_too():
    evil = kata(*[check("\U000e0001" * 5_000, 40)] * 100)
    data = to_json(Report((bounded(evil),)))
    assert len(json.dumps(data, ensure_ascii=False, indent=2).encode()) <= BOUND


def test_a_counterexample_of_ten_thousand_entries_keeps_the_first():
    found = {f"{number}{'k' * 1_000}": "v" * 1_000 for number in range(10_000)}
    shown = bounded(kata(replace(FAILED, counterexample=found))).checks[0].counterexample
    assert len(shown) == MOST_ENTRIES + 1
    assert list(shown.items())[-1] == ("…", f"{10_000 - MOST_ENTRIES} more")
    assert max(map(len, shown)) < 120
    assert max(map(len, shown.values())) < 640


def test_every_text_is_cut_by_itself():
    [cut_check] = bounded(kata(check("x" * MEGABYTE))).checks
    found = {
        cut_check.name: 80, cut_check.title: 200, cut_check.message: 4_000, cut_check.call: 2_000,
        cut_check.expected: 2_000, cut_check.got: 2_000, cut_check.difference: 200,
        cut_check.mistake.text: 2_000,
    }  # fmt: skip
    for text, limit in found.items():
        assert "characters left out …" in text
        assert limit // 2 <= len(text) < limit + 80
    kata_ = bounded(kata(text="x" * MEGABYTE))
    assert len(kata_.message) < 4_040
    assert len(kata_.output) < 20_040


def test_an_ordinary_report_stays_as_it_is():
    checks = (FAILED, replace(FAILED, status="passed", call=None, counterexample=None, expected=None))
    ordinary = replace(kata(*checks), output="1\t2\n" * 4_000, message="ü" * 2_500)
    assert bounded(ordinary) == ordinary
    assert from_json(to_json(Report((bounded(ordinary),)))) == Report((ordinary,))


def test_where_room_is_short_the_first_checks_keep_their_details():
    checks = bounded(kata(*[check("€" * 50_000, 40)] * 50)).checks
    assert len(checks) == 50
    assert [c.message == LEFT_OUT for c in (checks[0], checks[-1])] == [False, True]
    assert checks[-1].expected is None


def test_checks_beyond_the_limit_are_merged_and_no_point_is_lost():
    passed = [CheckReport(f"c{number}", "A.", "passed", 3, 3) for number in range(100)]
    shown = bounded(kata(*passed, replace(FAILED, score=7)))
    assert len(shown.checks) == MOST_CHECKS
    assert shown.checks[-1] == CheckReport(
        "more_checks", "38 more checks.", "failed", 37 * 3 + 7, 37 * 3 + 450
    )
    assert bounded(kata(*passed)).checks[-1].status == "passed"


def test_a_text_is_cut_in_the_middle_and_says_so():
    assert cut("a" * 10, 10) == "a" * 10
    assert cut("abcdefgh" * 1_000, 8) == "abcd… 7992 characters left out …efgh"


# --- expected and got ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 999, 4_095, 4_096, 999_999])
def test_two_texts_are_cut_around_their_first_difference(at):
    expected = "x" * MEGABYTE
    got = expected[:at] + "y" + expected[at + 1 :]
    shown, other = cut_pair(expected, got, 100)
    assert shown != other
    assert "y" in other
    assert max(len(shown), len(other)) < 200


PAIRS = {
    "longer": ("x" * 5_000, "x" * 5_001),
    "shorter": ("x" * 5_000, "x" * 50),
    "empty": ("", "x" * 5_000),
    "same end": ("a" + "x" * 5_000, "b" + "x" * 5_000),
    "same look": ("\x00", "␀"),
    "line ends": ("a\n", "a␊"),
    "a command": ("##[", "# #["),
    "the mark itself": ("x" * 5_000 + "y", cut_pair("x" * 5_000 + "y", "x" * 5_000 + "z", 2_000)[0]),
}


@pytest.mark.parametrize(("expected", "got"), PAIRS.values(), ids=list(PAIRS))
def test_texts_that_differ_are_shown_as_two(expected, got):
    pair = replace(FAILED, expected=expected, got=got)
    for shown in (bounded(kata(*[pair] * 20)), legible_kata(kata(pair))):
        for found in shown.checks:
            assert found.message != LEFT_OUT
            assert found.expected != found.got


def test_texts_that_are_equal_stay_equal():
    for text in ("x", "x" * 5_000, "\u202e" * 5_000):
        assert len(set(cut_pair(text, text, 100))) == 1


def test_a_missing_text_stays_missing():
    bare = CheckReport("a", "A.", "error", 0, 1)
    assert astuple(bounded(kata(bare)).checks[0]) == astuple(bare)
    assert bounded(kata(replace(bare, got="x"))).checks[0].got == "x"
