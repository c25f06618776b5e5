"""The messages between a front end and a judge: as documented, checked, bounded."""

import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec
import pytest

from dojo_page import protocol
from dojo_page.protocol import (
    LONGEST_LINES,
    LONGEST_TEXT,
    BadRequest,
    Mark,
    Verdict,
    message_of,
    number_of,
    request_of,
)

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "reference" / "page_protocol.md"
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", re.MULTILINE)


def checked(given, record):
    return msgspec.convert(given, record)


def request(kind, **given):
    return {"v": 1, "id": 1, "kind": kind, **given}


def names_of(record):
    return [one.name for one in fields(record)]


def documented(heading):
    """The fields of each row of the table below a heading of the documentation."""
    part = DOCUMENT.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {name: re.findall(r"`(\w+)`", named) for name, named, _ in ROW.findall(part)}


def test_the_documentation_has_every_kind_with_its_fields():
    assert documented("Requests") == {kind: names_of(one) for kind, one in protocol.REQUESTS.items()}
    assert documented("Answers") == {kind: names_of(one) for kind, one in protocol.ANSWERS.items()}
    parts = [
        one
        for one in vars(protocol).values()
        if is_dataclass(one) and not issubclass(one, protocol.Request | protocol.Answer)
    ]
    assert documented("Parts of answers") == {one.__name__: names_of(one) for one in parts}


def test_the_documentation_has_the_version_and_the_limits():
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert f"This is version {protocol.VERSION} of them" in text
    for limit in (LONGEST_TEXT, LONGEST_LINES, protocol.LONGEST_WORD, protocol.LONGEST_ARCHIVE):
        assert f"{limit:,}" in text


@pytest.mark.parametrize("convert", [checked, None])
def test_a_request_is_read_with_and_without_a_check_of_its_types(convert):
    given = {"kata": "softmax", "text": "x", "base": ""}
    read = request_of(request("save", **given), *filter(None, [convert]))
    assert read == protocol.Save("softmax", "x", "", over=False)
    speak = request("speak", prompt="", without=["mask"], settings={"top_p": 1})
    assert list(request_of(speak, *filter(None, [convert])).without) == ["mask"]


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "open",
        {},
        {"v": 1, "id": 1},
        {"v": 1, "id": 1, "kind": "nothing"},
        {"v": 1, "id": 1, "kind": ["open"], "kata": "x"},
        {"v": 1, "id": 0, "kind": "hello"},
        {"v": 1, "id": True, "kind": "hello"},
        {"v": 1, "id": 1 << 60, "kind": "hello"},
        {"v": 1, "id": -1, "kind": "hello"},
        {"v": 1, "kind": "hello"},
        {"v": 2, "id": 1, "kind": "hello"},
        {"id": 1, "kind": "hello"},
        request("open"),
        request("open", kata=3),
        request("open", kata=None),
        request("open", kata=["softmax"]),
        request("save", kata="x", text="x", base=3),
        request("save", kata="x", text="x", base="", over="yes"),
        request("guess", line="3"),
        request("guess", line=3.5),
        request("speak", prompt="", without="mask"),
        request("speak", prompt="", settings={"top_p": "1"}),
        request("grade", kata="x", text="x" * (LONGEST_TEXT + 1)),
        request("try", kata="x", text="x", lines="x" * (LONGEST_LINES + 1)),
        request("open", kata="x" * (protocol.LONGEST_WORD + 1)),
        request("save", kata="x", text="x", base="x" * (protocol.LONGEST_WORD + 1)),
    ],
)
def test_what_is_no_request_is_refused(message):
    with pytest.raises(BadRequest):
        request_of(message, checked)


def test_a_tab_of_another_version_is_told_to_load_again():
    with pytest.raises(BadRequest, match="This tab shows another version of the page; load it again"):
        request_of({"v": 2, "id": 1, "kind": "hello"}, checked)


def test_half_a_character_is_read_as_another_one():
    read = request_of(request("grade", kata="x", text=json.loads('"a\\ud800"')), checked)
    assert read.text == "a?"


def test_an_answer_is_an_object_with_its_kind_and_whether_it_is_the_last():
    mark = Mark(1, (2, 3), "why", "raised")
    verdict = Verdict({"katas": ()}, "<p>", "", 0.5, (mark,), "", "1 / 2", 0, False, True)
    message = json.loads(json.dumps(message_of(7, verdict)))
    assert (message["id"], message["kind"], message["last"]) == (7, "verdict", False)
    assert message["marks"] == [{"line": 1, "columns": [2, 3], "text": "why", "kind": "raised"}]
    assert message_of(0, protocol.Said("a")) == {"id": 0, "kind": "said", "last": False, "text": "a"}
    assert message_of(3, protocol.Done()) == {"id": 3, "kind": "done", "last": True}


@pytest.mark.parametrize(("message", "number"), [({"id": 3}, 3), ({"id": "3"}, 0), (3, 0), ({"id": 1.0}, 0)])
def test_a_message_has_a_number_or_0(message, number):
    assert number_of(message) == number
