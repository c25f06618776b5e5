"""With a hostile text in every field, no format emits a command, and every output can be parsed."""

import base64
import html.parser
import json
import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from grader import formats
from grader.cli.grade import grade
from grader.formats import terminal
from grader.formats.html import fragment
from grader.report import (
    CheckReport,
    KataReport,
    Mistake,
    Panel,
    Picture,
    PictureKind,
    Place,
    Provenance,
    Report,
    from_json,
)
from grader.texts.bounds import bounded

LARGEST = 2 * 256_000
#: The commands that a runner obeys: at the beginning of a line after blanks, and anywhere in it.
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
OWN_COMMAND = re.compile(r"^::(error|warning|notice)( |::\d+ more )[^\n]*$", re.MULTILINE)
#: Control characters except line end and tab, direction marks, zero-width, surrogate and private characters.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\uf8ff\uffff]"
)
HOSTILE = {
    "command": "::error::forged",
    "command after blanks": " \t::set-output name=result::e30=",
    "command after a line end": "x\n::error::forged\n  ::notice::forged",
    "command after any line end": "".join(
        f"x{end}::error::forged" for end in "\r\x0b\x0c\x1c\x85\u2028\u2029"
    ),
    "commands within a line": "##[error]forged ##vso[task.complete]forged ###[group]",
    "command where a line wraps": "word " * 14 + "::error::forged ##[error]forged " * 9,
    "controls": "".join(map(chr, range(32))) + "".join(map(chr, range(127, 160))),
    "direction": "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "no width": "\u200b\u200c\u200d\u2060\ufeff\u00ad",
    "half, private, unassigned": "\ud800\udfff\ue000\uffff\ufffe\U000e0001\U0010ffff",
    "tags": "</pre></details><script>alert(1)</script>]]>&amp;<!--",
    "quotes": "\"'`" * 9 + "\\" * 9,
    "markdown": "```\n````\n| a | b |\n# forged\n~~~\n@everyone [a](b)",
    "matrix": "[" * 400 + "], [" * 400,
}
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))


def report(text):
    """Return a report of three katas in which every text is `text`."""
    counterexample = {text: text, f"{text}2": text}
    mistake = Mistake(text, text)
    statuses = ("failed", "error", "timeout", "passed", "skipped")
    checks = [
        CheckReport(text, text, status, 0, 100, text, text, counterexample, text, f"{text}!", text, mistake)
        for status in statuses
    ]
    panels = Panel(text, ((0.0, 1.0),)), Panel(text, ((1.0, 1.0),))
    drawn = [
        replace(checks[0], pictures=(Picture(kind, text, panels, (text,), (text, text), ((0, 0),)),))
        for kind in get_args(PictureKind)
    ]
    raised = replace(checks[1], mistake=None, place=Place(3, text, 0, len(text)))
    unexplained = [replace(check, mistake=None, call=str(n)) for n, check in enumerate([checks[0], *drawn])]
    katas = (
        KataReport(text, text, "failed", 600, 0.5, text, (*checks, *drawn, raised, *unexplained), text, text),
        KataReport(text, text, "error", 600, 0.5, text),
        KataReport(text, text, "waiting", 600, 0.5, text),
    )
    return Report(katas, text, provenance=Provenance(text, text, text, text, text))


def documents(found):
    """Return every output for the report, by format and file."""
    texts = {
        f"{form} {document.file}": document.render(found)
        for form in formats.NAMES
        for document in formats.documents(form)
    }
    classroom = texts["classroom classroom.txt"].removeprefix("result=").strip()
    return {
        **texts,
        "classroom decoded": base64.b64decode(classroom).decode(),
        "terminal with output": terminal.render(found, terminal.View(shows_output=True)),
        "terminal summary": terminal.render_summary(found),
        **{f"fragment {number}": fragment(kata) for number, kata in enumerate(found.katas)},
    }


class Page(html.parser.HTMLParser):
    """An HTML parser that records the open tags and all tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def texts_of(value):
    """Return all texts in a value from JSON, including keys."""
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in texts_of(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts_of(part)]
    return [value] if isinstance(value, str) else []


@hostile
def test_no_format_passes_on_what_cannot_be_seen(text):
    for name, document in documents(report(text)).items():
        assert not UNSEEN.search(document), name


@hostile
def test_no_format_writes_a_command_of_a_host(text):
    for name, document in documents(report(text)).items():
        others = OWN_COMMAND.sub("", document) if name == "github annotations.txt" else document
        assert not COMMAND.search(others), name


@hostile
def test_a_bounded_report_is_bounded_in_every_format(text):
    katas = tuple(map(bounded, report(text * 100).katas))
    for name, document in documents(Report(katas)).items():
        assert len(document.encode()) <= LARGEST, name


@hostile
def test_what_a_program_reads_is_read_back_and_harmless(text):
    found = documents(report(text))
    for name, document in found.items():
        if name.endswith((".json", "decoded")):
            for shown in texts_of(json.loads(document)):
                assert not UNSEEN.search(shown), name
                assert not COMMAND.search(shown), name
    assert from_json(json.loads(found["json report.json"])).score == 0


@hostile
def test_pages_and_xml_keep_their_own_tags_alone(text):
    found = documents(report(text))
    assert {element.tag for element in ET.fromstring(found["junit junit.xml"]).iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped",
        "system-out",
    }  # fmt: skip
    for name in ("html report.html", "fragment 0", "fragment 1", "fragment 2"):
        page = Page(found[name])
        assert page.open == [], name
        assert "script" not in page.found, name


@hostile
def test_a_coloured_report_holds_no_sequence_but_its_colours(text):
    coloured = terminal.render(report(text), terminal.View(colour=True))
    plain = re.sub(r"\x1b\[(0|1|2|31|32|33)m", "", coloured)
    assert not UNSEEN.search(plain)
    assert plain == terminal.render(report(text))


@pytest.mark.parametrize("form", formats.NAMES)
def test_annotations_are_the_one_format_with_commands(form):
    text = formats.documents(form)[0].render(report("x"))
    assert bool(COMMAND.search(text)) is (form == "github")


def test_a_line_end_in_a_name_is_shown():
    check = CheckReport("a", "A.", "failed", 0, 1, counterexample={"x\n::error::no": "1"})
    found = documents(Report((KataReport("k", "t", "failed", 1, checks=(check,)),)))
    for name in ("terminal report.txt", "junit junit.xml", "html report.html", "gradescope results.json"):
        assert "x␊::error::no" in found[name], name


def test_a_file_that_cannot_be_graded_is_named_visibly(tmp_path):
    path = tmp_path / "a\n::error::\u202eforged.py"
    path.write_text("def f(:")
    told = CliRunner().invoke(grade, ["softmax", "--file", str(path)]).output
    assert r"a␊::error::\u202eforged.py has a syntax error" in told
    assert not UNSEEN.search(told)
    assert not COMMAND.search(told)
