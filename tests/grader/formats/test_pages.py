"""A page escapes every value, loads nothing, and allows its own style and script alone."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from dojo_authoring.release.wheel import sources
from dojo_classroom.class_page import CLASS_TEMPLATE
from dojo_classroom.student_page import STUDENT_TEMPLATE
from grader.formats import account, html, pages
from grader.report import CheckReport, KataReport, Mistake, Report

PACKAGES = (Path(pages.__file__).parents[1], Path(__file__).parents[3] / "plugins")
TEMPLATES = [file for package in PACKAGES for file in package.rglob("templates/*.html")]


@pytest.fixture
def fill(tmp_path):
    """`fill(source, **values)` fills a template of this source."""

    def filled(source, /, **values):
        template = tmp_path / "one.html"
        template.write_text('{% import "kata.html" as show %}' + source)
        return pages.fill(template, **values)

    return filled


def failing(message="", mistake=None):
    return CheckReport("agrees", "Rows sum to one.", "failed", 0, 100, message, mistake=mistake)


def kata(*checks):
    return KataReport("softmax", "attention", "failed", 1000, checks=checks)


def test_a_value_is_escaped_and_made_harmless_wherever_it_stands(fill):
    shown = fill('<a title="{{ value }}">{{ value }}</a>', value="<b>\"'\x1b\u202e")
    text = "&lt;b&gt;&#34;&#39;␛\\u202e"
    assert shown == f'<a title="{text}">{text}</a>'


def test_a_value_is_cut(fill):
    assert len(fill("{{ value }}", value="x" * 100_000)) == account.LONGEST_TEXT


def test_a_value_that_is_missing_is_an_error(fill):
    with pytest.raises(UndefinedError, match="'value' is undefined"):
        fill("{{ value }}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Check `axis`.", "Check <code>axis</code>."),
        ("`<b>` and `x`", "<code>&lt;b&gt;</code> and <code>x</code>"),
        ("a lone ` mark", "a lone ` mark"),
    ],
)
def test_what_stands_between_backticks_is_code(fill, text, shown):
    assert fill("{{ show.prose(text) }}", text=text) == shown


def test_a_name_may_be_broken_after_an_underscore(fill):
    assert fill("{{ show.named(name) }}", name="top_p_<b>") == "top_<wbr>p_<wbr>&lt;b&gt;"


def test_only_one_module_makes_markup_and_no_template_does():
    sources = [path for package in PACKAGES for path in package.rglob("*.py")]
    makers = [path.name for path in sources if "Markup(" in path.read_text(encoding="utf-8")]
    assert makers == ["pages.py"]
    texts = [path.read_text(encoding="utf-8") for path in TEMPLATES]
    assert len(texts) >= 7
    assert not [text for text in texts if re.search(r"\|\s*safe|autoescape", text)]


def test_the_policy_of_a_report_allows_its_style_alone():
    page = html.render(Report((kata(failing()),)))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert f'"Content-Security-Policy" content="{policy}"' in page
    assert "style=" not in page


def test_the_overview_says_what_explains_the_first_failure():
    named = Mistake("sums_columns", "The columns sum to one.")
    assert account.headline(kata(failing("It is 2."), failing("It is 3.", named))) == named.text
    assert account.headline(kata(failing("It is 2."))) == "It is 2."
    assert account.headline(kata(failing())) == "This does not hold: Rows sum to one."
    assert account.headline(KataReport("softmax", "attention", "not_started", 1000)) == "Not started yet."


def test_the_wheel_has_the_templates_and_the_styles():
    folders = (pages.TEMPLATES, STUDENT_TEMPLATE.parent, CLASS_TEMPLATE.parent)
    files = {path.as_posix() for folder in folders for path in folder.iterdir()}
    assert len(files) > 4
    assert files <= {path.as_posix() for path in sources().values()}
