"""Tests of a report in the terminal: the cause first, everything else in short."""

import code
from dataclasses import replace

import pytest

from grader.formats import account, terminal
from grader.formats.terminal import View
from grader.report import CheckReport, KataReport, Mistake, Panel, Picture, Place, Repair
from grader.texts.wrapping import code_lines

MISTAKE = Mistake("forgets_to_scale", "The scores are not divided by sqrt(d_k).")
PANELS = Panel("expected", ((1.0, 2.0),)), Panel("got", ((1.0, 3.0),))
PICTURE = Picture("matrix", "result", PANELS, ("0",), ("0", "1"), ((0, 1),))
RIGHT = CheckReport("shape", "The shape is right.", "passed", 50, 50)
WRONG = CheckReport(
    "agrees_with_reference", "Every entry equals the reference.", "failed", 0, 200, "", "f(x, 3)",
    {"x": "[1.0]    float64 (1,)"}, "[1.0, 2.0]", "[1.0, 3.0]", "[1]",
    role="ordinary", differs="The result differs from the reference's.",
)  # fmt: skip
RAISED = replace(
    WRONG, status="error", message="The code raised TypeError: no (line 4).", expected=None, got=None,
    place=Place(4, "    return g(x)", 11, 15),
)  # fmt: skip


def shown(*checks, **view):
    kata = KataReport("attention", "t", "failed" if checks else "passed", 300, checks=(*checks, RIGHT))
    return terminal.render_kata(kata, View(**view)).splitlines()


def test_a_passed_kata_is_one_line():
    assert shown() == ["attention  0.5 / 3   ✓ it holds"]


def test_the_mistake_comes_first_and_is_told_once():
    laws = [replace(WRONG, name=f"law {n}", title=f"Law {n} holds.", mistake=MISTAKE) for n in range(4)]
    assert shown(replace(WRONG, mistake=MISTAKE, pictures=(PICTURE,)), *laws) == [
        "attention  0.5 / 3",
        "  The scores are not divided by sqrt(d_k).",
        "",
        "  5 of 6 checks fail, one reason",
        "  ✗ The result differs from the reference's.",
        "f(x, 3)",
        "# x: float64 (1,)",
        "# No short code makes this call.",
        "    expected     got",
        "         0  1         0  1",
        "    0 │  1  2    0 │  1 ✗3",
        "",
        "  a hint  grade hint attention",
        "  more    grade attention --full (all checks)",
    ]


def test_of_checks_with_one_mistake_one_with_a_picture_is_shown_before_one_with_words_alone():
    told = replace(WRONG, mistake=MISTAKE, expected=None, got=None)
    drawn = replace(told, message="It is drawn.", pictures=(PICTURE,))
    assert "  ✗ It is drawn." in shown(told, drawn)


def test_the_line_that_raised_is_shown_with_a_caret():
    assert shown(RAISED)[1:9] == [
        "  ✗ The code raised TypeError: no (line 4).",
        "",
        "  1 of 2 checks fails",
        "f(x, 3)",
        "# x: float64 (1,)",
        "# No short code makes this call.",
        "    4 │ return g(x)",
        "      │        ^^^^",
    ]


def test_exceptions_of_one_line_are_one_cause_whatever_the_shapes_in_their_messages():
    other = replace(RAISED, name="law", message="The code raised TypeError: yes (line 4).")
    assert "  2 of 3 checks fail, one reason" in shown(RAISED, other)
    elsewhere = replace(other, place=Place(5, "x"))
    assert "  2 of 3 checks fail, 2 reasons" in shown(RAISED, elsewhere)


def test_values_that_look_alike_when_drawn_are_written_out():
    close = replace(PICTURE, panels=(PANELS[0], Panel("got", ((1.0, 2.00001),))))
    check = replace(WRONG, pictures=(close,), got="[1.0, 2.00001]")
    assert shown(check)[7:10] == [
        "    expected  [1.0, 2.0]",
        "    got       [1.0, 2.00001]",
        "              first difference at [1]",
    ]


def test_of_many_causes_three_are_shown_and_the_rest_counted():
    laws = [
        replace(WRONG, name=f"law {n}", title=f"Law {n} holds.", call=f"f({n})", message=f"Not {n}.")
        for n in range(6)
    ]
    lines = shown(WRONG, *laws)
    assert lines[1] == "  ✗ The result differs from the reference's."  # before every law
    assert lines.count("  ✗ Not 1.") == 1
    assert "  … and 4 more reasons" in lines


def test_brief_is_one_line_and_full_shows_every_check_with_points():
    assert shown(WRONG, detail="brief") == ["attention  0.5 / 3   ✗ 1 of 2 checks fails"]
    lines = shown(WRONG, detail="full")
    assert "  ✗ The result differs from the reference's.  0 / 2" in lines
    assert "  ✓ The shape is right.  0.5 / 0.5" in lines
    assert "      x = [1.0]    float64 (1,)" in lines


@pytest.mark.parametrize("width", [60, 80, 110])
def test_no_line_is_wider_than_the_terminal(width):
    long = replace(
        WRONG, title="Every " + "very " * 30 + "long title.", mistake=Mistake("m", "word " * 60),
        call="f(" + "argument, " * 20 + ")", expected="0.5 " * 60, got="0.25 " * 60,
    )  # fmt: skip
    for detail in ("normal", "full"):
        assert max(map(len, shown(long, width=width, detail=detail))) <= width


def test_notes_of_checks_that_hold_are_shown():
    noted = replace(RIGHT, message="Line 3 uses torch.softmax.")
    kata = KataReport("softmax", "t", "passed", 50, checks=(noted,))
    assert terminal.render_kata(kata).splitlines() == [
        "softmax  0.5 / 0.5   ✓ it holds", "    note        Line 3 uses torch.softmax."
    ]  # fmt: skip


def test_what_was_not_judged_is_named_and_not_counted():
    left = CheckReport("takes", "It takes unsigned integers.", "skipped", 50, 50, "Not judged: no input.")
    kata = KataReport("softmax", "t", "passed", 350, checks=(RIGHT, left))
    first, note, *_ = terminal.render_kata(kata).splitlines()
    assert first.endswith("✓ 1 of 1 checks hold; 1 could not count")
    assert note.split() == ["note", *f"{left.title} {left.message}".split()]


def test_a_long_line_of_code_goes_on_inside_its_brackets_and_still_runs():
    code = "x = [" + ", ".join(f"[{n}.0, {n}.25, 'a, b']" for n in range(10)) + "]\nlen(x)"
    lines = code_lines(code, 60, "    ")
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("        [") for line in lines[1:-1])  # a row is not parted
    found = {}
    exec("\n".join(line[4:] for line in lines), found)
    assert found["x"][9] == [9.0, 9.25, "a, b"]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("at", [0, 40, 90, 147])
def test_a_long_source_line_is_cut_around_the_spot(width, at):
    text = "    " + "ab " * 49 + "abc"
    lead, carets = account.source_line(Place(123, text, 4 + at, 7 + at), width)
    assert len(lead) <= width
    start = carets.index("^")
    assert lead[start : carets.rindex("^") + 1] == text[4 + at : 7 + at]
    assert ("… " in lead[:8]) == (at > width - 10)


def test_a_report_of_several_reasons_fits_a_screen():
    laws = [
        replace(WRONG, name=f"law {n}", title=f"Law {n} holds.", call=f"f({n})", message=f"Not {n}. " * 9)
        for n in range(30)
    ]
    named = replace(WRONG, mistake=replace(MISTAKE, text="word " * 105), pictures=(PICTURE,))
    lines = shown(named, *laws)
    assert len(lines) <= 22
    assert lines[-4:-2] == ["  … and 30 more reasons", ""]  # nor for what each of them is


def test_reasons_that_have_no_room_in_full_are_told_in_their_first_sentence():
    laws = [replace(WRONG, name=f"law {n}", call=f"f({n})", message=f"Not {n}. " * 9) for n in range(2)]
    mistakes = [replace(MISTAKE, id=f"m{n}", text=f"Not {n}. " + "word " * 45) for n in range(2)]
    others = [replace(law, mistake=mistake) for law, mistake in zip(laws, mistakes, strict=True)]
    named = replace(WRONG, mistake=MISTAKE, call="import a\n" + "f(x)\n" * 6)
    assert {"  ✗ Not 0.", "  ✗ Not 1."} <= {*shown(named, *others)}
    assert "  ✗ Not 0." not in shown(named, *others, lines=40)


def test_another_reason_with_a_name_has_room_before_the_values_of_a_call():
    helper = ["from attention import f", *["x = [1.0]"] * 6, "f(x, 3)"]
    failing = replace(WRONG, call="\n".join(helper), counterexample={"x": "[1.0]"}, snippet="f")
    law = replace(
        WRONG, name="law", call="f(1)", message="Not 1.", mistake=replace(MISTAKE, text="word " * 90)
    )
    for first in (failing, replace(failing, mistake=replace(MISTAKE, id="other"))):
        for other, is_whole in ((law, False), (replace(law, mistake=None, message="word " * 90), True)):
            lines = shown(first, other)
            assert ("x = [1.0]" in lines) == is_whole
            assert any("word word" in line for line in lines) != is_whole


def test_warnings_are_not_shown_where_a_mistake_is_named():
    checks = (WRONG, replace(WRONG, name="law", message="Not 1.", call="f(1)", mistake=MISTAKE))
    for mistake, is_shown in ((MISTAKE, False), (None, True)):
        named = (checks[0], replace(checks[1], mistake=mistake))
        kata = KataReport("attention", "t", "failed", 300, checks=named, output="RuntimeWarning: overflow\n")
        assert ("overflow" in terminal.render_kata(kata, View())) == is_shown


def test_code_is_shown_as_the_prompt_of_python_takes_it():
    helper = "import a\ndef r(x):\n    y = x\n\n    return y\nf(r(1))"
    as_pasted = ["import a", "def r(x):", "    y = x", "    return y", "", "f(r(1))"]
    for detail in ("normal", "full", "snippet"):
        lines = shown(replace(WRONG, call=helper, snippet=helper), detail=detail)
        at = lines.index("import a")
        assert lines[at : at + 6] == as_pasted
    console, results = code.InteractiveConsole({"a": None, "f": lambda x: x}), []
    console.push("import sys as a")
    for line in as_pasted[1:]:
        results.append(console.push(line))
    assert results == [True, True, True, False, False]


def test_what_a_search_finds_later_is_told_after_the_report():
    named = Mistake("m", "It is a known mistake.", certain=True)
    repair = Repair("a name", Place(4, "    return g(x)", 11, 15))
    before = KataReport("f", "a", "failed", 200, checks=(WRONG,))
    after = replace(before, checks=(replace(WRONG, mistake=named),), repairs=(repair,))
    assert terminal.render_found(before, before) == ""
    assert terminal.render_found(before, after).splitlines() == [
        "",
        "  It is a known mistake.",
        "",
        "  Changing only this spot makes every check pass: a name.",
        "    4 │ return g(x)",
        "      │        ^^^^",
    ]


def test_an_unwritten_part_shows_no_call():
    text = "This part is not written yet: it raises NotImplementedError."
    assert "f(x, 3)" not in shown(replace(WRONG, message=text, expected=None, got=None))


def test_what_came_and_what_is_expected_stand_below_the_call():
    lines = shown(replace(WRONG, came="result[1]: 3.0, expected 2.0"))
    assert lines[lines.index("# x: float64 (1,)") + 2] == "# result[1]: 3.0, expected 2.0"


def test_a_call_that_is_not_whole_says_what_prints_code_that_runs():
    without, with_code = (
        shown(WRONG),
        shown(replace(WRONG, snippet="from attention import f\nprint(f(x, 3))")),
    )
    assert "# No short code makes this call." in without
    assert "# Too long here. Code that runs: grade attention --snippet" in with_code
    whole = "from attention import f\nf([1.0], 3)"
    assert not any("Too long" in line for line in shown(replace(WRONG, call=whole, snippet=whole)))


def test_a_call_that_leaves_the_report_too_long_is_shown_without_its_values():
    helper = ["from attention import f", "def helper(x):", "    return x", *["x = [1.0]"] * 20, "f(x, 3)"]
    lines = shown(replace(WRONG, call="\n".join(helper), counterexample={"x": "[1.0]"}, snippet="f"))
    assert lines[4:7] == [
        "f(x, 3)",
        "# x: [1.0]",
        "# Too long here. Code that runs: grade attention --snippet",
    ]


def test_a_report_in_ascii_has_no_other_character():
    shown_ = shown(replace(RAISED, mistake=MISTAKE), replace(WRONG, message="It says 3…"), ascii_only=True)
    assert "\n".join(shown_).isascii()
    assert "  x The code raised TypeError: no (line 4)." in shown_


def test_a_call_that_fits_no_screen_is_shown_without_its_values():
    values = {f"x_{n}": "[1.0]    float64 (1)" for n in range(16)}
    lines = [f"{name} = np.array([1.0])" for name in values]
    call = "\n".join(["import numpy as np", "from a import f", *lines, "f(x_0, x_1)"])
    long = replace(WRONG, call=call, counterexample=values, mistake=replace(MISTAKE, text="word " * 90))
    shown_ = shown(long)
    assert len(shown_) <= 22
    assert "f(x_0, x_1)" in shown_
    assert "import numpy as np" not in shown_
    assert "x_15 = np.array([1.0])" in shown(replace(long, mistake=MISTAKE), lines=30)


def test_a_snippet_is_of_the_call_that_the_report_shows():
    named = Mistake("m", "It is a known mistake.", certain=True)
    early = CheckReport("a", "A.", "failed", 0, 100, expected="1", got="2", snippet="print(a)")
    late = replace(early, name="b", title="B.", mistake=named, snippet="print(b)")
    report = KataReport("f", "a", "failed", 200, checks=(early, late))
    assert terminal.render_kata(report, View(detail="snippet")).startswith("print(b)")
