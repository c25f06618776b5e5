"""Katas packed into a file of answer keys; `grader.key_file` reads what is written here."""

from __future__ import annotations

import hashlib
import json
import lzma
from typing import Any

from grader.answer_key import Answer, AnswerKey, Recorded, RecordedMistake
from grader.key_file import HEAD, MAGIC, VERSION, Entry, Section
from grader.worker.codec import FILE, encode


def pack(name: str, declaration: str, answers: AnswerKey, mistakes: list[RecordedMistake]) -> Entry:
    """A kata as it stands in a file. Raises Malformed for values that cannot travel."""
    sections = map(_packed, (_answers_message(answers), _mistakes_message(mistakes)))
    return Entry(name, declaration, *sections)


def _packed(message: dict[str, Any]) -> Section:
    header, buffers = encode(message, FILE)
    body = b"".join(buffers)
    return lzma.compress(header + body, lzma.FORMAT_XZ, lzma.CHECK_CRC32), len(header), len(body)


def write(entries: list[Entry], seed: int, made_by: str) -> bytes:
    """The file's bytes; the same entries make the same bytes."""
    sections: list[bytes] = []
    katas = [
        {
            "name": entry.name,
            "declaration": entry.declaration,
            "answers": _add(sections, entry.answers),
            "mistakes": _add(sections, entry.mistakes),
        }
        for entry in entries
    ]
    index = json.dumps({"seed": seed, "grader": made_by, "katas": katas}, sort_keys=True).encode()
    data = b"".join((MAGIC, HEAD.pack(VERSION, len(index)), index, *sections))
    return data + hashlib.sha256(data).digest()


def _add(sections: list[bytes], section: Section) -> list[int]:
    """Append a section; returns its place: offset, length, and the lengths of header and body inside."""
    packed, header, body = section
    at = sum(map(len, sections))
    sections.append(packed)
    return [at, len(packed), header, body]


def _answers_message(key: AnswerKey) -> dict[str, Any]:
    expected = [vars(answer) for answer in key.expected]
    return {"cases": key.cases, "expected": expected, "law_cases": key.law_cases}


def _mistakes_message(mistakes: list[RecordedMistake]) -> dict[str, Any]:
    """Values and whole records stand once each, however often they come."""
    values, records = Numbered(), Numbered()

    def number(recorded: Recorded | None) -> int | None:
        if recorded is None:
            return None
        answers = [
            [answer.error, values.number(answer.value), _gradients(answer, values)]
            for answer in recorded.answers
        ]
        return records.number([recorded.status, recorded.said, recorded.differs, answers])

    told = [
        [m.id, m.text, {check: [number(one) for one in outcomes] for check, outcomes in m.outcomes.items()}]
        for m in mistakes
    ]
    return {"values": values.items, "records": records.items, "mistakes": told}


def _gradients(answer: Answer, values: Numbered) -> dict[str, int] | None:
    if answer.gradients is None:
        return None
    return {name: values.number(gradient) for name, gradient in answer.gradients.items()}


class Numbered:
    """Values that can travel, each kept once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._known: dict[bytes, int] = {}

    def number(self, value: Any) -> int:
        """The place of `value` among the items. Raises Malformed for what cannot travel."""
        header, buffers = encode({"value": value})
        name = hashlib.sha256(b"".join((header, *buffers))).digest()
        if name not in self._known:
            self._known[name] = len(self.items)
            self.items.append(value)
        return self._known[name]
