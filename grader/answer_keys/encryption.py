"""Sealed keys: a file of answer keys, encrypted for a repository that students own.

    "DOJOSEAL" · version (u16) · nonce (12 bytes) · AES-256-GCM of the file, head and nonce authenticated

The secret is 32 random bytes in base64, in the variable `DOJO_SEAL` or in a file. What seals is the
package `cryptography`, an optional part of the installation: a course without sealed keys needs none.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import struct
from pathlib import Path
from typing import Any

from grader.answer_keys.file import KeyUnusable
from grader.course.catalog import shorten

MAGIC = b"DOJOSEAL"
VERSION = 1
HEAD = struct.Struct(">8sH12s")
SECRET_BYTES = 32
TAG_BYTES = 16
VARIABLE = "DOJO_SEAL"


def new_secret() -> str:
    """A fresh secret, as text."""
    return base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_sealed(data: bytes) -> bool:
    """Whether these bytes say that they are a sealed key."""
    return data[: len(MAGIC)] == MAGIC


def seal(data: bytes, secret: str) -> bytes:
    """The bytes encrypted under a fresh nonce. Raises KeyUnusable where the secret is none."""
    head = HEAD.pack(MAGIC, VERSION, secrets.token_bytes(12))
    return head + bytes(_cipher(secret, "the secret").encrypt(head[-12:], data, head))


def unseal(data: bytes, label: str, secret_file: Path | None) -> bytes:
    """The bytes that were sealed. Raises KeyUnusable with one sentence, whatever is wrong."""
    if len(data) < HEAD.size + TAG_BYTES:
        raise KeyUnusable(f"{label} is cut off or damaged: fetch it again, or make it anew.")
    _, version, nonce = HEAD.unpack_from(data)
    if version != VERSION:
        raise KeyUnusable(
            f"{label} is sealed in version {version} of the format, and this grader reads version {VERSION};"
            " seal it anew, or install the grader that it came with."
        )
    secret, where = _secret(label, secret_file)
    cipher = _cipher(secret, where)
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(nonce, data[HEAD.size :], data[: HEAD.size]))
    except InvalidTag:
        raise KeyUnusable(
            f"{label} does not open with {where}: the secret is another, or the file is damaged."
        ) from None


def _secret(label: str, file: Path | None) -> tuple[str, str]:
    """The secret and where it stood: in the file where one was named, else in the environment, from which
    it is taken out."""
    if file is not None:
        return read_secret(file), f"the secret in {shorten(file)}"
    secret = os.environ.pop(VARIABLE, "").strip()
    if not secret:
        raise KeyUnusable(
            f"{label} is sealed: put its secret into the variable {VARIABLE}, or name its file with --secret."
        )
    return secret, f"the secret in {VARIABLE}"


def read_secret(file: Path) -> str:
    """The text of a secret's file. Raises KeyUnusable."""
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise KeyUnusable(f"The secret {shorten(file)} cannot be read.") from None


def _cipher(secret: str, where: str) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise KeyUnusable(
            "Sealed keys need the package `cryptography`: pip install 'decoder-dojo[seal]'"
        ) from None
    try:
        raw = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != SECRET_BYTES:
        raise KeyUnusable(f"{where[0].upper()}{where[1:]} is no secret: 44 characters of base64 are due.")
    return AESGCM(raw)
