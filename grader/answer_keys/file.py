"""Read and write files of answer keys; docs/answer-keys.md describes them.

    "DOJOKEYS" · version (u16) · length of the index (u32) · index · sections · SHA-256 of all before

The index is JSON: the seed, the grader, and for each kata a digest of its declaration and the offsets of
its two sections, `answers` and `mistakes`. A section is a compressed message of `worker.protocol.codec`.
Reading neither unpickles nor evaluates anything, and checks every size before it allocates memory.

Encrypt and decrypt a file of answer keys, so that a repository that students own can contain it.

    "DOJOSEAL" · version (u16) · nonce (12 bytes) · AES-256-GCM of the file, head and nonce authenticated

The secret is 32 random bytes in base64, in the environment variable `DOJO_SEAL` or in a file. Only courses
with encrypted ("sealed") keys need the package `cryptography`.

Find the answer keys: in the file or folder given, or in the course's folder `keys`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import secrets
import struct
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.answer_keys.answers import (
    Answer,
    AnsweredCases,
    Expected,
    Recorded,
    RecordedMistake,
    ReferenceCost,
    numbered,
)
from grader.course.catalog import Course, KataInfo, is_release, shorten
from grader.course.files import read_file
from grader.errors import reason_of, too_new
from grader.installing import install_command
from grader.worker.protocol.codec import FILE_LIMITS, MAX_BODY, MAX_HEADER, Malformed, decode, encode

MAGIC = b"DOJOKEYS"
VERSION = 2
HEAD = struct.Struct(">HI")
SHA256 = 32
LARGEST_INDEX = 2**20
LEVEL = 6  # of zlib; every grading reads a key, and lzma takes ten times as long to decompress


class KeyUnusable(Exception):
    """A file of answer keys cannot be used; the message is a sentence that says why, and what to do."""


Section = tuple[bytes, int, int]  # the compressed message, the length of its header and that of its body


@dataclass(frozen=True)
class Entry:
    """The compressed sections of one kata. The cache has no mistakes, because only failures need them."""

    name: str
    declaration: str
    answers: Section
    mistakes: Section | None = None
    way: str = ""  # another way to write the kata, in words
    verified: str = ""  # when `kata verify` found the kata ready, on which content, or `unverified`


class KeyFile:
    """The bytes of a file, whose checksum and index are checked at once; sections are read on request."""

    def __init__(self, data: bytes, label: str) -> None:
        """Check the file. Raises KeyUnusable if it is damaged or is not a key file of this version."""
        self.data, self.label = data, label
        if data[: len(MAGIC)] != MAGIC:
            raise KeyUnusable(f"{label} is no file of answer keys.")
        at = len(MAGIC) + HEAD.size
        if len(data) < at + SHA256:
            raise self.damaged()
        version, length = HEAD.unpack_from(data, len(MAGIC))
        if version != VERSION:
            raise KeyUnusable(
                too_new(label, version, VERSION)
                or f"{label} has version {version} of the format, and this grader reads version {VERSION}:"
                " make it anew with `kata key`."
            )
        if hashlib.sha256(memoryview(data)[:-SHA256]).digest() != data[-SHA256:] or length > LARGEST_INDEX:
            raise self.damaged()
        self._begin = at + length
        self.katas = self._read_index(data[at : self._begin])

    def _read_index(self, text: bytes) -> dict[str, dict[str, Any]]:
        try:
            self.index = json.loads(text)
            self.seed = int(self.index["seed"])
            return {str(kata["name"]): dict(kata) for kata in self.index["katas"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.damaged() from None

    def damaged(self) -> KeyUnusable:
        """Return the exception for a damaged file."""
        return KeyUnusable(f"{self.label} is cut off or damaged: fetch it again, or make it anew.")

    @property
    def digest(self) -> str:
        """A digest of the file's contents."""
        return self.data[-SHA256:].hex()[:16]

    def entry(self, kata: str) -> Entry:
        """Return the compressed sections of a kata. Raises KeyUnusable if the file is damaged."""
        names = [name for name in ("answers", "mistakes") if name in self.katas.get(kata, {})]
        sections = {name: self.section(kata, name) for name in names or ("answers",)}
        entry = Entry(kata, str(self.katas[kata].get("declaration")), sections["answers"])
        return replace(entry, mistakes=sections.get("mistakes"), way=self.way(kata))

    def way(self, kata: str) -> str:
        """Return another way to write a kata, in words; "" if the file has none."""
        return str(self.katas[kata].get("way", ""))

    def section(self, kata: str, name: str) -> Section:
        """Return the compressed section of a kata. Raises KeyUnusable if the file is damaged."""
        try:
            at, length, header, body = self.katas[kata][name]
            if not (0 <= header <= MAX_HEADER and 0 <= body <= MAX_BODY and at >= 0 and length >= 0):
                raise ValueError
            packed = self.data[self._begin + at : self._begin + at + length]
        except (KeyError, TypeError, ValueError):
            raise self.damaged() from None
        return packed, header, body

    def message(self, kata: str, name: str) -> dict[str, Any]:
        """Decompress and decode a section, up to its declared size. Raises KeyUnusable if it is damaged."""
        packed, header, body = self.section(kata, name)
        try:
            plain = zlib.decompressobj().decompress(packed, header + body + 1)
            if len(plain) != header + body:
                raise ValueError
            return decode(plain[:header], bytearray(plain[header:]), limits=FILE_LIMITS)
        except (ValueError, zlib.error, Malformed):
            raise self.damaged() from None


class KataKey:
    """The answer key of one kata in a file."""

    def __init__(self, file: KeyFile, name: str) -> None:
        self.file, self.name = file, name

    @property
    def way(self) -> str:
        """Another way to write the kata, in words."""
        return self.file.way(self.name)

    @cached_property
    def answers(self) -> AnsweredCases:
        """The cases and the reference's answers. Raises KeyUnusable if the file is damaged."""
        message = self.file.message(self.name, "answers")
        try:
            expected = [Expected(**entry) for entry in message["expected"]]
            if not len(expected) == len(message["cases"]) == len(message["corners"]):
                raise ValueError
            cost = ReferenceCost(**message["cost"]) if message.get("cost") else None
            law_cases = {law: numbered(cases) for law, cases in message["law_cases"].items()}
            return AnsweredCases(numbered(message["cases"]), expected, law_cases, message["corners"], cost)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self.file.damaged() from None

    @cached_property
    def mistakes(self) -> list[RecordedMistake]:
        """The known mistakes with their recorded verdicts and answers. Raises KeyUnusable if the file is
        damaged."""
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
    name: str, declaration: str, answers: AnsweredCases, mistakes: list[RecordedMistake] | None = None
) -> Entry:
    """Compress the sections of a kata. Raises Malformed if a value cannot be encoded."""
    packed = None if mistakes is None else _pack_section(_mistakes_message(mistakes))
    return Entry(name, declaration, _pack_section(_answers_message(answers)), packed)


def pack_records(name: str, message: dict[str, Any], mistakes: list[RecordedMistake]) -> Entry:
    """Compress what was judged of a kata: `message` stands in place of the answers. Raises Malformed."""
    return Entry(name, "", _pack_section(message), _pack_section(_mistakes_message(mistakes)))


def _pack_section(message: dict[str, Any]) -> Section:
    header, buffers = encode(message, FILE_LIMITS, gaps=True)
    body = b"".join(buffers)
    return zlib.compress(header + body, LEVEL), len(header), len(body)


def write(entries: list[Entry], seed: int, made_by: str) -> bytes:
    """Return the bytes of a file, which are the same for the same entries."""
    sections: list[bytes] = []
    katas = [
        {
            "name": entry.name,
            "declaration": entry.declaration,
            "answers": _add(sections, entry.answers),
            **({"mistakes": _add(sections, entry.mistakes)} if entry.mistakes else {}),
            **({"way": entry.way} if entry.way else {}),
            **({"verified": entry.verified} if entry.verified else {}),
        }
        for entry in entries
    ]
    return _joined({"seed": seed, "grader": made_by, "katas": katas}, sections)


def repacked(data: bytes, level: int) -> bytes:
    """Return a file with its sections at another level of zlib, where 0 leaves them to an archive that
    compresses better. Raises KeyUnusable if the file is damaged."""
    file, sections = KeyFile(data, "The key"), list[bytes]()
    for kata in file.index["katas"]:
        for name in [name for name in ("answers", "mistakes") if name in kata]:
            packed, header, body = file.section(kata["name"], name)
            kata[name] = _add(sections, (zlib.compress(zlib.decompress(packed), level), header, body))
    return _joined(file.index, sections)


def _joined(about: dict[str, Any], sections: list[bytes]) -> bytes:
    index = json.dumps(about, sort_keys=True).encode()
    data = b"".join((MAGIC, HEAD.pack(VERSION, len(index)), index, *sections))
    return data + hashlib.sha256(data).digest()


def _add(sections: list[bytes], section: Section) -> list[int]:
    """Append a section and return its entry in the index: offset, length, lengths of header and body."""
    packed, header, body = section
    at = sum(map(len, sections))
    sections.append(packed)
    return [at, len(packed), header, body]


def _answers_message(answered: AnsweredCases) -> dict[str, Any]:
    expected = [vars(answer) for answer in answered.expected]
    return {
        "cases": [case.arguments for case in answered.cases],
        "expected": expected,
        "law_cases": {law: [case.arguments for case in cases] for law, cases in answered.law_cases.items()},
        "corners": answered.corners,
        "cost": vars(answered.cost) if answered.cost else None,
    }


def _mistakes_message(mistakes: list[RecordedMistake]) -> dict[str, Any]:
    """Return the message of a mistakes section, in which equal values and records are stored once."""
    values, records = DistinctValues(), DistinctValues()

    def record_index(recorded: Recorded | None) -> int | None:
        if recorded is None:
            return None
        answers = [
            [answer.error, values.index(answer.value), _gradients(answer, values)]
            for answer in recorded.answers
        ]
        return records.index([recorded.status, recorded.said, recorded.differs, answers])

    listed = [
        [
            m.id,
            m.text,
            {check: [record_index(one) for one in outcomes] for check, outcomes in m.outcomes.items()},
        ]
        for m in mistakes
    ]
    return {"values": values.items, "records": records.items, "mistakes": listed}


def _gradients(answer: Answer, values: DistinctValues) -> dict[str, int] | None:
    if answer.gradients is None:
        return None
    return {name: values.index(gradient) for name, gradient in answer.gradients.items()}


class DistinctValues:
    """A list of values without duplicates."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._indices: dict[bytes, int] = {}

    def index(self, value: Any) -> int:
        """Return the index of `value`; add it if it is new. Raises Malformed if it cannot be encoded."""
        header, buffers = encode({"value": value}, FILE_LIMITS)
        digest = hashlib.sha256(b"".join((header, *buffers))).digest()
        if digest not in self._indices:
            self._indices[digest] = len(self.items)
            self.items.append(value)
        return self._indices[digest]


FOLDER = "keys"
SUFFIX = ".key"
LARGEST_FILE = 64 * 2**20


class Keyring:
    """The files of answer keys that a grading uses, in the order in which they are searched."""

    def __init__(self, files: list[KeyFile], label: str) -> None:
        self.files, self.label = files, label

    @property
    def digest(self) -> str:
        """A digest of the contents of all files."""
        return hashlib.sha256("".join(file.digest for file in self.files).encode()).hexdigest()[:16]

    def kata(self, info: KataInfo) -> KataKey:
        """Return the key of a kata. Raises KeyUnusable if there is none, or none for this declaration."""
        for file in self.files:
            if info.name in file.katas:
                if file.katas[info.name].get("declaration") != declaration_digest(info):
                    raise KeyUnusable(
                        f"{file.label}: its answers to `{info.name}` belong to another state of"
                        f" {shorten(info.path)}; restore that file, or get a new key."
                    )
                return KataKey(file, info.name)
        raise KeyUnusable(f"{self.label} holds no answers to `{info.name}`.")


def declaration_digest(info: KataInfo) -> str:
    """Return a digest of a kata's declaration, the same for Windows and Unix line ends."""
    text = info.path.read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(text).hexdigest()[:32]


def open_keyring(
    course: Course, infos: list[KataInfo], path: Path | None, secret: Path | None
) -> Keyring | None:
    """Open the keys at `path`; without a path, those of a course that has no solutions, otherwise none.

    Solutions in a student's copy are not the course's: its keys count. Raises KeyUnusable if one of the katas
    cannot be graded with the keys.
    """
    if not has_keys(course, infos, path):
        return None
    if path is None:
        path = course.root / FOLDER
        if not path.exists():
            raise KeyUnusable(_neither(course, (_unanswered(course, infos) or infos)[0]))
    ring = Keyring([_open(file, secret) for file in _files(path)], shorten(path))
    for info in infos:
        ring.kata(info)
    return ring


def has_keys(course: Course, infos: list[KataInfo], path: Path | None) -> bool:
    """Return whether these katas are graded with keys and not with the solutions; see `open_keyring`."""
    return path is not None or bool(_unanswered(course, infos)) or is_release(course.root)


def _unanswered(course: Course, infos: list[KataInfo]) -> list[KataInfo]:
    return [info for info in infos if not course.solution(info, "reference").is_file()]


def _neither(course: Course, info: KataInfo) -> str:
    reference = course.solution(info, "reference").relative_to(course.root).as_posix()
    return (
        f"`{info.name}` has no reference, {reference}, and the course has no answer keys; write one of them."
    )


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob(f"*{SUFFIX}"))
    return [path]


def _open(path: Path, secret: Path | None) -> KeyFile:
    label = shorten(path)
    try:
        data = read_file(path, LARGEST_FILE, follows_links=True)
    except OSError as error:
        raise KeyUnusable(f"The key {label} cannot be read: {reason_of(error)}.") from None
    if data[: len(MAGIC)] != MAGIC and is_sealed(data):
        data = unseal(data, label, secret)
    return KeyFile(data, label)


SEALED_MAGIC = b"DOJOSEAL"
SEALED_VERSION = 1
SEALED_HEAD = struct.Struct(">8sH12s")
SECRET_BYTES = 32
TAG_BYTES = 16
VARIABLE = "DOJO_SEAL"


def new_secret() -> str:
    """Return a new random secret as text."""
    return base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_sealed(data: bytes) -> bool:
    """Return whether the bytes begin as a sealed key does."""
    return data[: len(SEALED_MAGIC)] == SEALED_MAGIC


def seal(data: bytes, secret: str) -> bytes:
    """Encrypt the bytes with a new nonce. Raises KeyUnusable if the secret is invalid."""
    head = SEALED_HEAD.pack(SEALED_MAGIC, SEALED_VERSION, secrets.token_bytes(12))
    return head + bytes(_cipher(secret, "the secret").encrypt(head[-12:], data, head))


def unseal(data: bytes, label: str, secret_file: Path | None) -> bytes:
    """Decrypt a sealed key. Raises KeyUnusable if it is damaged or the secret is missing or wrong."""
    if len(data) < SEALED_HEAD.size + TAG_BYTES:
        raise KeyUnusable(f"{label} is cut off or damaged: fetch it again, or make it anew.")
    _, version, nonce = SEALED_HEAD.unpack_from(data)
    if version != SEALED_VERSION:
        raise KeyUnusable(
            too_new(label, version, SEALED_VERSION)
            or f"{label} is sealed in version {version}, and this grader reads version {SEALED_VERSION}:"
            " seal it anew with `kata key --seal`."
        )
    secret, where = _take_secret(label, secret_file)
    cipher = _cipher(secret, where)
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(nonce, data[SEALED_HEAD.size :], data[: SEALED_HEAD.size]))
    except InvalidTag:
        raise KeyUnusable(
            f"{label} does not open with {where}: the secret is another, or the file is damaged."
        ) from None


def _take_secret(label: str, file: Path | None) -> tuple[str, str]:
    """Return the secret and its source: the file if one is given, otherwise the environment variable.

    The variable is deleted, so that a submission cannot read it.
    """
    if file is not None:
        return read_secret(file), f"the secret in {shorten(file)}"
    secret = os.environ.pop(VARIABLE, "").strip()
    if not secret:
        raise KeyUnusable(
            f"{label} is sealed: put its secret into the variable {VARIABLE}, or name its file with --secret."
        )
    return secret, f"the secret in {VARIABLE}"


def read_secret(file: Path) -> str:
    """Return the secret in a file. Raises KeyUnusable if the file cannot be read."""
    try:
        return read_file(file, follows_links=True).decode("ascii").strip()
    except (OSError, ValueError):
        raise KeyUnusable(f"The secret {shorten(file)} cannot be read.") from None


def _cipher(secret: str, where: str) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise KeyUnusable(
            f"Sealed keys need the package `cryptography`: {install_command('decoder-dojo[seal]')}"
        ) from None
    try:
        raw = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != SECRET_BYTES:
        raise KeyUnusable(
            f"{where[0].upper()}{where[1:]} is no secret: 44 characters of base64 are expected."
        )
    return AESGCM(raw)
