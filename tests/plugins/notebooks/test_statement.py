"""How a notebook shows a statement: formulas that it typesets, and pictures that it keeps."""

import base64
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from dojo_notebooks.statement import to_notebook
from grader.course.catalog import Course
from grader.course.renaming import statement_of

ROOT = Path(__file__).resolve().parents[3]
ATTENTION = """Attention.

    attention(q, k, v) = softmax(q k^T / sqrt(d_k)) v        [T, d_v]

    q    [T, d_k]    queries
    k    [T, d_k]    keys, with x^2

    mask = [[True, False],
            [True, True]]
"""


def images_in(text):
    """The pictures of a text as XML, by their alternative texts."""
    found = re.findall(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">', text)
    return {alt: ET.fromstring(base64.b64decode(data)) for alt, data in found}


def test_formulas_are_latex_and_names_are_a_table():
    assert to_notebook(ATTENTION, {}).partition("```")[0] == (
        "## Attention\n\n"
        "|  |  |  |\n| :-- | :-- | :-- |\n"
        r"| $\displaystyle \mathrm{attention}(q,\,k,\,v)$ |"
        r" $\displaystyle =\mathrm{softmax}\left(\frac{q\,{k}^{T}}{\sqrt{{d}_{k}}}\right)\,v$ |"
        " `[T, d_v]` |\n\n"
        "|  |  |  |\n| :-- | :-- | :-- |\n"
        "| `q` | `[T, d_k]` | queries |\n"
        "| `k` | `[T, d_k]` | keys, with x<sup>2</sup> |\n\n"
    )


def test_an_example_is_written_and_drawn_below_it():
    text = to_notebook(ATTENTION, {"mask": "queries keys"})
    written = "```text\nmask = [[True, False],\n        [True, True]]\n```\n\n<img "
    assert written in text
    (picture,) = images_in(text).items()
    assert picture[0] == "mask"
    style = picture[1].find("{http://www.w3.org/2000/svg}style")
    assert ".drawing .cell" in style.text
    assert "color-scheme: light" in style.text


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        ("y = b / c", r"=\frac{b}{c}"),
        ("y = x_1 / layer_norm", r"=\frac{{x}_{1}}{\mathrm{layer\_norm}}"),
        ("m_hat = sum_j x_j / inf", r"=\frac{\sum_{j}\,{x}_{j}}{\infty }"),
        ("y = sqrt(pi) * w1", r"=\sqrt{\pi }\cdot {w}_{1}"),
        ("y = x' <= 2^(-h)", r"={x}^{\prime }\le {2}^{-h}"),
    ],
)
def test_a_formula_in_latex(formula, latex):
    text = to_notebook(f"Title.\n\n    {formula}\n", {})
    assert f"$\\displaystyle {latex}$" in text


def test_every_formula_of_the_course_is_set_and_every_picture_is_a_file_of_its_own():
    course, formulas, pictures = Course(ROOT), 0, 0
    for info in course.katas.values():
        text = to_notebook(statement_of(course.stub(info).read_text()), {})
        prose = re.sub(r"```+text\n.*?\n```+|`[^`\n]*`", "", text, flags=re.DOTALL)
        assert prose.replace(r"\$", "").count("$") == 2 * prose.count(r"$\displaystyle "), info.name
        for row in re.findall(r"^\|.*\|$", prose, re.MULTILINE):
            assert row.count("{") == row.count("}"), info.name
        formulas += prose.count(r"$\displaystyle ")
        pictures += len(images_in(text))
    assert formulas >= 200
    assert pictures >= 80
