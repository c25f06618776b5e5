"""How the formulas of a statement are set, and that nothing of a statement is lost on the way."""

import re
import xml.etree.ElementTree as ET
from itertools import groupby
from pathlib import Path

import pytest

from dojo_authoring.formulas import Formula, NoFormula, as_html, as_table
from grader.course.catalog import Course
from grader.course.renaming import statement_of

ROOT = Path(__file__).resolve().parents[3]


def blocks():
    """Yield the name and the indented lines of each block of the course's statements."""
    course = Course(ROOT)
    for info in course.katas.values():
        lines = statement_of(course.stub(info).read_text()).split("\n")
        for is_inside, group in groupby(lines, key=lambda line: line.startswith("    ")):
            if is_inside:
                yield info.name, [line[4:].rstrip() for line in group]


def plain(text):
    """Return MathML without `<mrow>`, spaces, and the tags between which a line may end."""
    return re.sub(r"</?mrow>|<mspace[^>]*>|\0", "", Formula(text).whole())


def plain_text(markup):
    return re.sub("<[^>]*>", "", markup)


@pytest.mark.parametrize(
    ("text", "mathml"),
    [
        ("d_k", "<msub><mi>d</mi><mi>k</mi></msub>"),
        ("w1", "<msub><mi>w</mi><mn>1</mn></msub>"),
        ("slope_h", "<msub><mi>slope</mi><mi>h</mi></msub>"),
        ("layer_norm", "<mi>layer_norm</mi>"),  # a name of Python
        ("q k^T", "<mi>q</mi><msup><mi>k</mi><mi>T</mi></msup>"),
        ("q kᵀ", "<mi>q</mi><msup><mi>k</mi><mi>T</mi></msup>"),
        ("2i / d", "<mfrac><mn>2</mn><mi>i</mi><mi>d</mi></mfrac>"),
        ("sqrt(d)", "<msqrt><mi>d</mi></msqrt>"),
        ("h_{i-1}", "<msub><mi>h</mi><mi>i</mi><mo>−</mo><mn>1</mn></msub>"),  # noqa: RUF001
        ("2^(-h)", "<msup><mn>2</mn><mo>−</mo><mi>h</mi></msup>"),  # noqa: RUF001
        ("m_hat", '<mover accent="true"><mi>m</mi><mo>^</mo></mover>'),
        ("-inf", "<mo>−</mo><mi>∞</mi>"),  # noqa: RUF001
        ("sum_j x_j", "<munder><mo>∑</mo><mi>j</mi></munder><msub><mi>x</mi><mi>j</mi></msub>"),
        ("i = 1 … N", "<mi>i</mi><mo>=</mo><mn>1</mn><mo>…</mo><mi>N</mi>"),
    ],
)
def test_a_formula_is_set(text, mathml):
    assert plain(text) == mathml


def test_what_stands_before_a_slash_is_above_the_line():
    assert plain("gamma * (x - mean) / sqrt(v + eps) + beta") == (
        "<mfrac><mi>gamma</mi><mo>·</mo><mo>(</mo><mi>x</mi><mo>−</mo><mi>mean</mi><mo>)</mo>"  # noqa: RUF001
        "<msqrt><mi>v</mi><mo>+</mo><mi>eps</mi></msqrt></mfrac><mo>+</mo><mi>beta</mi>"
    )
    assert plain("(a + b) / 2") == "<mfrac><mi>a</mi><mo>+</mo><mi>b</mi><mn>2</mn></mfrac>"
    assert plain("(a) / (b) * (c)").startswith("<mfrac><mi>a</mi><mi>b</mi></mfrac>")


@pytest.mark.parametrize(
    "text", ["", "a +", "(a", "a)", "a % b", "x[:, 0]", "{a}", "<b>", "(" * 5000, "a b;"]
)
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(NoFormula):
        Formula(text).whole()


def test_equations_have_their_shapes_and_remarks_beside_them():
    table = as_table(
        ["weights  = softmax(scores), later keys hidden    [T, T]", "output   = weights v      who is read"]
    )
    assert table.count("<tr>") == 2
    assert ', later keys hidden</td><td><span><code class="shape">[T, T]</code></span></td>' in table
    assert "<span>who is read</span>" in table


def test_a_name_has_its_explanation_over_several_lines():
    assert as_table(
        ["mask   bool [T]   True where the query MAY", "                  attend", "x      [T]"]
    ) == (
        '<div class="wide"><table class="named"><tr><td><code>mask</code></td>'
        '<td>bool <code class="shape">[T]</code></td><td>True where the query MAY attend</td></tr>'
        '<tr><td><code>x</code></td><td><code class="shape">[T]</code></td><td></td></tr></table></div>'
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["x = [[1, 2],", "     [3, 4]]"],
        ["q = x w,", "and so on"],
        ["one line of words"],
        ["x = 1", "y = 2"],  # it would become no clearer
        ["a  b", "  c  d"],
        ["row  batch", "0    5"],
        ["x = (a", "y = b)"],
    ],
)
def test_what_is_no_table_stays_as_it_is_written(lines):
    assert as_table(lines) == ""
    assert as_html(lines).startswith("<pre>")


def test_arrays_beside_each_other_may_stand_below_each_other_and_rows_stay_rows():
    apart = as_html(["q = [[1, 2],        k = [[3],", "     [3, 4]]             [4]]"])
    q, k = (
        f'<span class="assigned"><span>{name} = </span><span><span class="row">{first}\n</span>'
        f'<span class="row"> {second}\n</span></span></span>'
        for name, first, second in (("q", "[[1, 2],", "[3, 4]]"), ("k", "[[3],", "[4]]"))
    )  # a name stands above its rows where there is no room
    assert apart == f'<pre><span class="beside">{q}{k}</span></pre>'
    rows = as_html(["x = [1, 2]        y = [3, 4]", "x = [5, 6]        y = [7, 8]"])
    shown = ("x = [1, 2]  y = [3, 4]", "x = [5, 6]  y = [7, 8]")  # no wider than it must be
    assert "".join(f'<span class="row">{row}\n</span>' for row in shown) in rows


def test_a_line_may_end_before_a_sign_of_a_formula_but_nowhere_inside_brackets():
    shown = as_html(["y = a_i * (b + c) + d / e", "z = q^2"])
    assert [plain_text(part) for part in re.findall("<math.*?</math>", shown)][:5] == [
        "y", "=ai", "·(b+c)", "+de", "z"
    ]  # fmt: skip


def test_markup_is_text():
    evil = ["<b>  = <script>alert(1)</script>", "x  `<img>`", "", "<i>   [a, b]   <u>", "`<b>`  [c]"]
    assert set(re.findall(r"</?(\w+)", as_html(evil))) <= {"pre", "span", "div", "table", "tr", "td", "code"}


def test_a_long_line_is_read_at_once():
    as_html(["a " * 30_000, "(" * 30_000, "x = " + "a_b^c / " * 8_000, " " * 60_000 + "x"])


def test_nothing_of_a_statement_is_lost():
    """The letters and digits that are shown are those of the statement; what becomes a sign is left out."""

    def letters(text):
        return re.findall(r"[A-Za-z0-9]", re.sub(r"sqrt|sum_(?=\w\b)|_hat|\binf\b|\bpi\b|T\b|ᵀ", "", text))

    set_as_formulas = 0
    for name, lines in blocks():
        shown = as_html(lines)
        tree = ET.fromstring(f"<div>{shown}</div>")
        text = re.sub(r"T(?=\W|$)", "", " ".join(tree.itertext()))
        assert sorted(letters(text)) == sorted(letters("\n".join(lines))), (name, lines)
        set_as_formulas += "<math" in shown
    assert set_as_formulas >= 40
