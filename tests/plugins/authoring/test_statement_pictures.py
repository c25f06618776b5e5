"""Tests of the pictures in statements: what is drawn, in the documentation's pages and in notebooks."""

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dojo_authoring.documentation import kata_page, on_page_markdown
from grader.course.catalog import Course
from grader.drawing.statement import pictures

ROOT = Path(__file__).resolve().parents[3]

BESIDE = """
    q = [[0.2, 1.2]]          k = [[1.0, 0.0],          weights [0.5, 0.5]
                                   [0.4, 1.0]]
"""


@pytest.fixture(scope="module")
def course():
    return Course(ROOT)


def values(text):
    return {found.panels[0].title: found.panels[0].values for found in pictures(text)}


def test_a_matrix_beside_another_one_is_read_by_its_columns():
    assert values(BESIDE) == {"k": ((1.0, 0.0), (0.4, 1.0))}


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("    x = [[1, 2], [3, -inf]]", ((1, 2), (3, float("-inf")))),
        ("    x = [[1, 2],      [3, 4]]", ((1, 2), (3, 4))),
        ("    x = [[[[True, False, True]]]]", ((1, 0, 1),)),
        ("    shares = [0.5, 0.25, 0.25]", ((0.5, 0.25, 0.25),)),
    ],
)
def test_matrices_on_one_line_masks_with_leading_axes_and_fractions_are_drawn(text, due):
    assert list(values(text).values()) == [due]


HEADS = """
    x = [[[0, 1, 2, 3],   heads = [[[[0, 1], [4, 5]],   head 0
          [4, 5, 6, 7]]]            [[2, 3], [6, 7]]]]  head 1
"""


def test_each_matrix_of_an_array_is_drawn_by_itself():
    found = pictures(HEADS)
    assert [[panel.title for panel in one.panels] for one in found] == [["x"], ["heads[0, 0]", "heads[0, 1]"]]
    assert [panel.values for panel in found[1].panels] == [((0, 1), (4, 5)), ((2, 3), (6, 7))]


def test_numbers_and_a_multiple_of_them_are_drawn_on_one_scale():
    (found,) = pictures("    x         = [8.0, 4.0, 1.0]\n    x / sqrt(64) = [1.0, 0.5, 0.125]")
    assert [panel.title for panel in found.panels] == ["x", "x / sqrt(64)"]
    apart = pictures("    x      = [8.0, 4.0, 1.0]\n    shares = [0.5, 0.25, 0.25]")
    assert len(apart) == 2


def test_a_row_of_words_ends_no_array_and_takes_none_of_the_next_line():
    lines = ["    p = [[0.8, 0.1, 0.1],   (ignored)]", "    g = [[0.2, 0.1, 0.1],   [0, 0, 0]]"]
    assert [*values("\n".join(lines))] == ["g"]
    lines[0] = "    p = [[0.8, 0.1, 0.1],   [0.2, 0.2, 0.6],   (ignored)]"
    assert [*values("\n".join(lines))] == ["g"]


@pytest.mark.parametrize(
    "text",
    [
        "    x = [[1, 2], [3, a]]",
        "    x = [[1, 2], [3]]",
        "    x = [[1, 2],\n    and so on",
        "    ids = [3, 1, 4]",
        "    x = [[1, 2]]",
        "    [[1, 2, 3]]",
        "In a sentence x = [[1, 2, 3]]",
        f"    x = [[{', '.join(['1'] * 33)}]]",
    ],
)
def test_what_is_cut_short_named_by_nothing_or_no_table_of_numbers_is_not_drawn(text):
    assert pictures(text) == []


def test_only_numbers_that_the_statement_prints_are_drawn(course):
    drawn = 0
    for info in course.katas.values():
        statement = ast.get_docstring(ast.parse(course.stub(info).read_text(encoding="utf-8")))
        for found in pictures(statement):
            drawn += 1
            for number in {number for row in found.panels[0].values for number in row}:
                printed = ("True", "False") if found.kind == "mask" else (f"{number:g}", f"{number}")
                assert any(text in statement.replace("∞", "inf") for text in printed), (info.name, number)
    assert drawn > 50


def test_a_page_has_the_statement_the_drawing_and_the_signature_with_the_names_of_the_axes(course):
    page = kata_page(course, course.kata_info("causal_mask"))
    assert page.startswith("# causal_mask\n\n## The causal mask: a position sees itself")
    assert page.count("<svg") == 2
    assert ">query 3<" in page
    assert "def causal_mask(query_len: int" in page
    assert "raise NotImplementedError" in page
    assert "[All katas](../katas.md) · Next: [padding_mask](padding_mask.md)" in page


def test_a_page_without_an_example_has_no_drawing(course):
    assert "drawn" not in kata_page(course, course.kata_info("parameter_count"))


def test_the_table_of_katas_links_to_the_pages():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="katas.md"), meta={})
    assert on_page_markdown("| `softmax` | 15 |", page) == "| [`softmax`](katas/softmax.md) | 15 |"


@pytest.mark.slow
def test_the_documentation_has_a_page_for_each_kata_and_links_to_it(course, tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=240)
    assert {file.stem for file in (tmp_path / "katas").glob("*.html")} == set(course.katas)
    assert 'href="katas/softmax.html"' in (tmp_path / "katas.html").read_text(encoding="utf-8")
