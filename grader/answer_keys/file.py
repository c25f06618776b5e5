"""A file of answer keys: what a course's solutions answer, without the solutions. docs/answer-keys.md

    "DOJOKEYS" · version (u16) · length of the index (u32) · index · sections · SHA-256 of all before

The index is JSON: the seed, the grader, and for each kata a digest of its declaration and the places of
its two sections, `answers` and `mistakes`. A section is one message of `worker.protocol.codec`, compressed.
Nothing is unpickled or evaluated, and every size is checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.answer_keys.answers import Answer, AnswerKey, Expected, Recorded, RecordedMistake
from grader.worker.protocol.codec import FILE, MAX_BODY, MAX_HEADER, Malformed, decode, encode

MAGIC = b"DOJOKEYS"
VERSION = 2
HEAD = struct.Struct(">HI")
SHA256 = 32
LARGEST_INDEX = 2**20
LEVEL = 6  # of zlib; a key is read at every grading, and lzma takes ten times as long to unpack


class KeyUnusable(Exception):
    """A file of answer keys cannot be used; the sentence says why, and what to do."""


Section = tuple[bytes, int, int]


@dataclass(frozen=True)
class Entry:
    """One kata, packed: its sections, each with the lengths of header and body inside. A cached entry may
    lack the mistakes, which are needed only once a submission fails."""

    name: str
    declaration: str
    answers: Section
    mistakes: Section | None = None


class KeyFile:
    """A file's bytes, checked as a whole; a kata's sections are read when they are asked for."""

    def __init__(self, data: bytes, label: str) -> None:
        """Raises KeyUnusable for anything that is no whole file of this version."""
        self.data, self.label = data, label
        if data[: len(MAGIC)] != MAGIC:
            raise KeyUnusable(f"{label} is no file of answer keys.")
        at = len(MAGIC) + HEAD.size
        if len(data) < at + SHA256:
            raise self.damaged()
        version, length = HEAD.unpack_from(data, len(MAGIC))
        if version != VERSION:
            raise KeyUnusable(
                f"{label} has version {version} of the format, and this grader reads version {VERSION};"
                " make the key anew, or install the grader that it came with."
            )
        if hashlib.sha256(memoryview(data)[:-SHA256]).digest() != data[-SHA256:] or length > LARGEST_INDEX:
            raise self.damaged()
        self._begin = at + length
        self.katas = self._read_index(data[at : self._begin])

    def _read_index(self, text: bytes) -> dict[str, dict[str, Any]]:
        try:
            index = json.loads(text)
            self.seed = int(index["seed"])
            return {str(kata["name"]): dict(kata) for kata in index["katas"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.damaged() from None

    def damaged(self) -> KeyUnusable:
        return KeyUnusable(f"{self.label} is cut off or damaged: fetch it again, or make it anew.")

    @property
    def digest(self) -> str:
        """Names the file's contents."""
        return self.data[-SHA256:].hex()[:16]

    def entry(self, kata: str) -> Entry:
        """A kata as it is packed. Raises KeyUnusable."""
        names = [name for name in ("answers", "mistakes") if name in self.katas.get(kata, {})]
        sections = {name: self._section(kata, name) for name in names or ("answers",)}
        return Entry(kata, str(self.katas[kata].get("declaration")), **sections)

    def _section(self, kata: str, name: str) -> Section:
        try:
            at, length, header, body = self.katas[kata][name]
            if not (0 <= header <= MAX_HEADER and 0 <= body <= MAX_BODY and at >= 0 and length >= 0):
                raise ValueError
            packed = self.data[self._begin + at : self._begin + at + length]
        except (KeyError, TypeError, ValueError):
            raise self.damaged() from None
        return packed, header, body

    def message(self, kata: str, name: str) -> dict[str, Any]:
        """What a section holds; no more is unpacked than it says. Raises KeyUnusable."""
        packed, header, body = self._section(kata, name)
        try:
            plain = zlib.decompressobj().decompress(packed, header + body + 1)
            if len(plain) != header + body:
                raise ValueError
            return decode(plain[:header], bytearray(plain[header:]), limits=FILE)
        except (ValueError, zlib.error, Malformed):
            raise self.damaged() from None


class KataKey:
    """One kata of a file."""

    def __init__(self, file: KeyFile, name: str) -> None:
        self.file, self.name = file, name

    @cached_property
    def answers(self) -> AnswerKey:
        """The cases and what the reference answers. Raises KeyUnusable."""
        message = self.file.message(self.name, "answers")
        try:
            expected = [Expected(**entry) for entry in message["expected"]]
            if not len(expected) == len(message["cases"]) == len(message["corners"]):
                raise ValueError
            return AnswerKey(message["cases"], expected, message["law_cases"], message["corners"])
        except (KeyError, TypeError, ValueError):
            raise self.file.damaged() from None

    @cached_property
    def mistakes(self) -> list[RecordedMistake]:
        """What each mistake would have answered. Raises KeyUnusable."""
        message = self.file.message(self.name, "mistakes")
        try:
            values = message["values"]
            records = [_recorded(entry, values) for entry in message["records"]]
            return [
                RecordedMistake(
                    name,
                    text,
                    {
                        check: [None if number is None else records[number] for number in numbers]
                        for check, numbers in outcomes.items()
                    },
                )
                for name, text, outcomes in message["mistakes"]
            ]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise self.file.damaged() from None


def _recorded(entry: Any, values: list[Any]) -> Recorded:
    status, said, differs, answers = entry
    return Recorded(status, said, differs, tuple(_answer(answer, values) for answer in answers))


def _answer(entry: Any, values: list[Any]) -> Answer:
    error, value, gradients = entry
    if gradients is not None:
        gradients = {name: values[number] for name, number in gradients.items()}
    return Answer(values[value], error, gradients)


def pack(
    name: str, declaration: str, answers: AnswerKey, mistakes: list[RecordedMistake] | None = None
) -> Entry:
    """A kata as it stands in a file. Raises Malformed for values that cannot travel."""
    told = None if mistakes is None else _packed(_mistakes_message(mistakes))
    return Entry(name, declaration, _packed(_answers_message(answers)), told)


def _packed(message: dict[str, Any]) -> Section:
    header, buffers = encode(message, FILE)
    body = b"".join(buffers)
    return zlib.compress(header + body, LEVEL), len(header), len(body)


def write(entries: list[Entry], seed: int, made_by: str) -> bytes:
    """The file's bytes; the same entries make the same bytes."""
    sections: list[bytes] = []
    katas = [
        {
            "name": entry.name,
            "declaration": entry.declaration,
            "answers": _add(sections, entry.answers),
            **({"mistakes": _add(sections, entry.mistakes)} if entry.mistakes else {}),
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
    return {
        "cases": key.cases,
        "expected": expected,
        "law_cases": key.law_cases,
        "corners": key.corners,
    }


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
    """A list of values in which equal values stand once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._known: dict[bytes, int] = {}

    def number(self, value: Any) -> int:
        """The place of `value` among the items. Raises Malformed for what cannot travel."""
        header, buffers = encode({"value": value}, FILE)
        name = hashlib.sha256(b"".join((header, *buffers))).digest()
        if name not in self._known:
            self._known[name] = len(self.items)
            self.items.append(value)
        return self._known[name]
