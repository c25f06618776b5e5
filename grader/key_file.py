"""A file of answer keys: what a course's solutions answer, without the solutions. docs/answer-keys.md

    "DOJOKEYS" · version (u16) · length of the index (u32) · index · sections · SHA-256 of all before

The index is JSON: the seed, the grader, and for each kata a digest of its declaration and the places of
its two sections, `answers` and `mistakes`. A section is one message of `grader.worker.codec`, compressed.
Nothing is unpickled or evaluated, and every size is checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.answer_key import Answer, AnswerKey, Expected, Recorded, RecordedMistake
from grader.worker.codec import FILE, MAX_BODY, MAX_HEADER, Malformed, decode

MAGIC = b"DOJOKEYS"
VERSION = 1
HEAD = struct.Struct(">HI")
SHA256 = 32
LARGEST_INDEX = 2**20
LZMA_MEMORY = 64 * 2**20


class KeyUnusable(Exception):
    """A file of answer keys cannot be used; the sentence says why, and what to do."""


Section = tuple[bytes, int, int]


@dataclass(frozen=True)
class Entry:
    """One kata, packed: its two sections, each with the lengths of header and body inside."""

    name: str
    declaration: str
    answers: Section
    mistakes: Section


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
        sections = self._section(kata, "answers"), self._section(kata, "mistakes")
        return Entry(kata, str(self.katas[kata].get("declaration")), *sections)

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
        import lzma  # a grading without a key needs none of it

        packed, header, body = self._section(kata, name)
        try:
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LZMA_MEMORY)
            plain = unpacker.decompress(packed, max_length=header + body)
            if len(plain) != header + body:
                raise ValueError
            return decode(plain[:header], bytearray(plain[header:]), limits=FILE)
        except (ValueError, lzma.LZMAError, EOFError, Malformed):
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
            if len(expected) != len(message["cases"]):
                raise ValueError
            return AnswerKey(message["cases"], expected, message["law_cases"])
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
