"""Tests of pictures: what is drawn of a wrong answer, as text and as SVG."""

import math
import re

import numpy as np
import pytest

from grader import expect
from grader.drawing import svg, text
from grader.grading.pictures import LARGEST_SIDE, pictures_of
from grader.grading.report_builder import place_of
from grader.report import Panel, Picture, Place
from grader.values.comparison import Tolerance, first_difference

AXES = {"weights": "query key"}


def picture(expected, got, path="", axes=None):
    found = pictures_of(first_difference(expected, got, Tolerance(), path=path), axes or {})
    assert len(found) == 1
    return found[0]


def drawn(picture, width=80, ascii_only=False):
    return text.draw(picture, width, lambda shown, _: shown, ascii_only=ascii_only)


#: What is drawn of a value: a tile, the bar of a number, and the number.
PLUS = r'<rect class="plus" x="(\d+)" y="(\d+)" width="(\d+)"'
NUMBER = r'<text x="(\d+)" y="(\d+)" text-anchor="(end|start)">([^<]*)<'


def test_a_mask_is_drawn_as_a_grid_with_a_cross_before_each_wrong_cell():
    due = np.tril(np.ones((2, 3), dtype=bool), 1)
    found = picture(due, np.tril(np.ones((2, 3), dtype=bool)))
    assert (found.kind, found.wrong) == ("mask", ((0, 1), (1, 2)))
    assert drawn(found) == [
        "expected           got",
        "      0   1   2          0   1   2",
        "0 │  ██  ██   ·    0 │  ██  ✗·   ·",
        "1 │  ██  ██  ██    1 │  ██  ██  ✗·",
    ]
    assert drawn(found, ascii_only=True)[2] == "0 |  ##  ##   .    0 |  ##  x.   ."


def test_rows_and_columns_have_the_names_of_the_axes():
    found = picture({"weights": np.eye(2)}, {"weights": np.ones((2, 2))}, axes=AXES)
    assert (found.rows, found.columns) == (("query 0", "query 1"), ("key 0", "key 1"))
    assert drawn(found)[:3] == [
        "weights", "expected        got", "      k0  k1          k0  k1"
    ]  # fmt: skip


def test_the_slice_with_the_first_wrong_entry_is_drawn_and_named():
    due = np.zeros((2, 3, 4, 5))
    got = due.copy()
    got[1, 2, 3, 4] = 1
    found = picture(due, got)
    assert found.caption == "result[1, 2, :, :]"
    assert found.wrong == ((3, 4),)


def test_of_a_large_matrix_a_window_around_the_first_wrong_entry_is_kept():
    due = np.zeros((100, 100))
    got = due.copy()
    got[70, 90] = 1
    found = picture(due, got)
    assert len(found.rows) == len(found.columns) == LARGEST_SIDE
    assert found.caption == "result[54:86, 68:100]"
    assert "70" in found.rows
    assert max(map(len, drawn(found))) <= 80


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("shape", [(1, 9), (3, 7), (12, 30), (2, 2)])
def test_no_line_is_wider_than_the_terminal(width, shape):
    due = np.random.default_rng(1).normal(size=shape) * 1000
    assert max(map(len, drawn(picture(due, -due), width))) <= width


def test_one_row_is_drawn_as_bars_on_one_scale():
    found = picture(np.array([0.25, 0.5]), np.array([1.0, 0.5]))
    assert found.kind == "bars"
    assert drawn(found) == [
        "expected               got",
        "   0  0.25 ████           0 ✗  1 ████████████████",
        "   1   0.5 ████████       1  0.5 ████████",
    ]


def test_of_many_bars_both_panels_show_the_same_ones_with_the_first_wrong_one():
    due = np.linspace(0.0, 1.0, 20)
    got = due.copy()
    got[15] = 0.0
    lines = drawn(picture(due, got))
    assert len(lines) == 1 + 12
    for line in lines[1:]:
        left, right = line.split()[0], line[len(line) // 2 :]
        assert f" {left} " in right
    assert lines[-1].split()[0] == "15"


def test_infinities_and_nan_are_drawn_as_signs():
    found = picture(np.array([[0.5, -np.inf]]), np.array([[np.nan, np.inf]]))
    assert drawn(found)[2].split("│") == ["0 ", "  0.5   -∞    0 ", " ✗NaN   ✗∞"]
    assert "∞" in svg.draw(found)


@pytest.mark.parametrize("size", [1e308, -1e308, 5e-324])
@pytest.mark.parametrize("kind", ["bars", "matrix", "curve", "ranges"])
def test_numbers_of_any_size_are_drawn(kind, size):
    values = ((size, 0.0, 1e308, float("inf")),)
    ends = {"low": (0.0,) * 4, "high": (1e308,) * 4} if kind == "ranges" else {}
    panels = (Panel("expected", values), Panel("got", values))
    found = Picture("bars" if kind == "ranges" else kind, "result", panels, ("",), tuple("abcd"), (), **ends)
    assert max(map(len, drawn(found))) < 200
    assert len(svg.draw(found)) < 10_000


def test_a_difference_too_small_to_be_drawn_is_known():
    assert not text.tells_apart(picture(np.array([[1.0, 2.0]]), np.array([[1.00001, 2.0]])))
    assert text.tells_apart(picture(np.array([[1.0, 2.0]]), np.array([[1.1, 2.0]])))


@pytest.mark.parametrize(
    ("expected", "got"),
    [(1.0, 2.0), (np.zeros(3), np.zeros(4)), ("a", "b"), (np.array([1j, 2]), np.array([0j, 2]))],
)
def test_single_numbers_shapes_texts_and_complex_numbers_are_not_drawn(expected, got):
    assert pictures_of(first_difference(expected, got, Tolerance()), {}) == ()


def test_svg_has_a_cross_and_a_border_on_wrong_cells_and_all_values_in_a_table():
    drawing = svg.draw(picture(np.array([[1.0, -2.0]]), np.array([[1.0, 3.0]])))
    assert drawing.count('class="wrong"') == drawing.count("✗") == 1
    assert "<td>-2</td>" in drawing
    assert 'role="img"' in drawing
    assert "style=" not in drawing  # a strict policy forbids it


@pytest.mark.parametrize(
    ("due", "got"),
    [
        (np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)),
        (np.eye(3, dtype=bool), np.zeros((3, 3), dtype=bool)),
        (np.eye(2), np.full((2, 2), -1.23456e-5)),
        (np.array([0.5, 0.25, 0.25]), np.array([-1.23456e-5, 1.0, 0.25])),
    ],
)
def test_no_cross_of_the_svg_covers_a_value(due, got):
    drawing = svg.draw(picture(due, got)).rpartition("<svg")[2]
    crosses = [
        (int(x), y)
        for x, y in re.findall(r'<text x="(\d+)" y="(\d+)" text-anchor="start" class="cross"', drawing)
    ]
    tiles = [(int(x), int(y) + 14, int(x) + int(wide)) for x, y, wide in re.findall(PLUS, drawing)]
    numbers = [(int(x), y, anchor, len(text)) for x, y, anchor, text in re.findall(NUMBER, drawing)]
    assert crosses
    for left, y in crosses:
        right = left + 12
        covered = [end for begin, at, end in tiles if at == int(y) and begin < right and left < end]
        assert covered == []
        for x, at, anchor, length in numbers:
            begin, end = (x - 8 * length, x) if anchor == "end" else (x, x + 8 * length)
            assert at != y or end <= left or right <= begin


def test_svg_has_a_drawing_for_each_panel_so_that_a_phone_shows_them_below_each_other():
    assert svg.draw(picture(np.eye(2), np.ones((2, 2)))).count('<svg role="img"') == 2


def test_labels_of_rows_are_all_in_full_or_all_short():
    drawing = svg.draw(picture({"weights": np.eye(11)}, {"weights": np.ones((11, 11))}, axes=AXES))
    assert ">q0<" in drawing
    assert ">query 0</text>" not in drawing


def test_every_second_column_of_a_wide_mask_has_a_label_so_that_none_touch():
    drawing = svg.draw(picture(np.zeros((1, 12), bool), np.ones((1, 12), bool)))
    assert drawing.count('text-anchor="middle" class="label">10<') == 2
    assert 'text-anchor="middle" class="label">11<' not in drawing


def test_svg_is_as_wide_as_its_title():
    narrow = Picture("mask", "result", (Panel("causal_mask(4, 6)", ((1.0, 0.0),)),), ("0",), ("0", "1"))
    assert int(re.search(r'width="(\d+)"', svg.draw(narrow))[1]) >= 64 + 8 * len("causal_mask(4, 6)")


def test_svg_escapes_its_labels():
    hostile = Picture("mask", "<b>", (Panel("<i>", ((1.0,),)),), ("<u>",), ("&",))
    assert not {"<b>", "<i>", "<u>"} & {part + ">" for part in svg.draw(hostile).split(">")}


def test_a_place_has_the_line_and_its_columns_in_characters():
    source = "é = 1\nλ = f(é)\n"
    line = source.splitlines()[1]
    start, end = (len(line[:n].encode()) for n in (4, 8))
    assert place_of(source, 2, (start, end)) == Place(2, "λ = f(é)", 4, 8)
    assert place_of(source, 2, (90, 99)) == Place(2, "λ = f(é)")
    assert place_of(source, 3, None) is None


def test_equal_pictures_with_nan_are_equal():
    one, other = (picture(np.array([0.5, 1.0]), np.array([np.nan, 1.0])) for _ in range(2))
    assert one == other


def test_values_keep_six_digits():
    found = picture(np.array([[math.pi]] * 2), np.array([[math.e]] * 2))
    assert found.panels[0].values == ((3.14159,), (3.14159,))


def refused(call):
    with pytest.raises(expect.ExpectationFailed) as failed:
        call()
    return failed.value


def test_frequencies_are_drawn_over_the_range_that_is_accepted():
    found = refused(lambda: expect.frequencies([100, 700, 200], 1000, [0.2, 0.5, 0.3], "the token"))
    assert found.message == (
        "The token 0 came up too rarely: 100 times in 1000 draws, where about 200 are expected and 122 to 286"
        " are accepted."
    )
    assert (found.picture.kind, found.picture.wrong) == ("bars", ((0, 0), (0, 1), (0, 2)))
    assert drawn(found.picture) == [
        "shares of 1000 draws",
        "    expected        got   ░ is accepted",
        "t0       0.2  ✗     0.1  ████ ░░░░░░",
        "t1       0.5  ✗     0.7  ████████████████▓▓▓▓▓▓▓▓████",
        "t2       0.3  ✗     0.2  ████████░░░░░░░░",
    ]
    assert drawn(found.picture, ascii_only=True)[3] == "t1       0.5  x     0.7  ################++++++++####"


@pytest.mark.parametrize(("n", "p"), [(400, 0.3), (50, 0.02), (9, 0.0), (9, 1.0)])
def test_the_range_that_is_drawn_is_the_one_that_is_accepted(n, p):
    bad = next(hits for hits in (n, 0) if hits != n * p)
    found = refused(lambda: expect.frequency(bad, n, p)).picture
    low, high = round(found.low[0] * n), round(found.high[0] * n)
    for hits in {low, high}:
        expect.frequency(hits, n, p)
    for hits in {low - 1, high + 1} & set(range(n + 1)):
        refused(lambda hits=hits: expect.frequency(hits, n, p))


def test_of_many_frequencies_those_around_the_first_wrong_one_are_drawn():
    hits, shares = [10] * 100, [0.01] * 100
    hits[70], hits[71] = 20, 0
    found = refused(lambda: expect.frequencies(hits, 1000, shares, chance=0.5)).picture
    assert len(found.columns) == len(found.low) == LARGEST_SIDE
    assert found.columns[found.wrong[0][1]] == "outcome 70"


def curve():
    at = [f"{n} tokens" for n in (64, 128, 192, 256)]
    return expect.curve("work", [1000, 2000, 3000, 4000], [1000, 2000, 6000, 8000], at, wrong=[2, 3])


def test_a_failed_claim_carries_its_curve():
    assert refused(lambda: expect.true(False, "It grows.", curve())).picture == curve()


def test_curves_are_drawn_on_one_scale_with_crosses_and_the_ends_of_both_axes():
    assert drawn(curve()) == [
        "work",
        "at most  ▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅  1,000 … 4,000",
        "got      ▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▆▆▆▆▆▆▆▆████████  1,000 … 8,000",
        "                         ✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗",
        "         64 tokens             256 tokens",
    ]
    assert "".join(drawn(curve(), ascii_only=True)).isascii()


def test_a_long_curve_keeps_its_ends_and_its_wrong_end():
    losses = [2.0 / (n + 1) for n in range(40)]
    found = expect.curve("loss", [1.6] * 40, losses, range(40), wrong=[39], titles=("log 5", "loss"))
    assert (len(found.columns), found.columns[0], found.columns[-1]) == (LARGEST_SIDE, "0", "39")
    assert found.wrong == ((0, LARGEST_SIDE - 1),)


@pytest.mark.parametrize("values", [[math.nan, 1.0], [math.inf, -1.0], [0.0, 0.0]])
def test_curves_of_odd_numbers_can_be_drawn(values):
    found = expect.curve("work", [1.0, 1.0], values, ["a", "b"])
    assert drawn(found)
    assert "<svg" in svg.draw(found)


def test_svg_of_a_curve_has_two_lines_and_a_table():
    drawing = svg.draw(curve())
    assert (drawing.count("<polyline"), drawing.count("✗"), drawing.count("<table>")) == (2, 2, 2)
    assert "<td>8000</td>" in drawing


def test_svg_of_frequencies_frames_the_accepted_range():
    found = refused(lambda: expect.frequency(190, 400, 0.3, "heads")).picture
    drawing = svg.draw(found)
    assert drawing.count('class="range"') == drawing.count('class="due"') == drawing.count("✗") == 1
    assert "0.475, expected 0.3" in drawing
