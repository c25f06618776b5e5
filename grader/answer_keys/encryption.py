"""Encrypt and decrypt a file of answer keys, so that a repository that students own can contain it.

    "DOJOSEAL" · version (u16) · nonce (12 bytes) · AES-256-GCM of the file, head and nonce authenticated

The secret is 32 random bytes in base64, in the environment variable `DOJO_SEAL` or in a file. Only courses
with encrypted ("sealed") keys need the package `cryptography`.
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
from grader.course.files import read_file
from grader.errors import too_new

MAGIC = b"DOJOSEAL"
VERSION = 1
HEAD = struct.Struct(">8sH12s")
SECRET_BYTES = 32
TAG_BYTES = 16
VARIABLE = "DOJO_SEAL"


def new_secret() -> str:
    """Return a new random secret as text."""
    return base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_sealed(data: bytes) -> bool:
    """Return whether the bytes begin as a sealed key does."""
    return data[: len(MAGIC)] == MAGIC


def seal(data: bytes, secret: str) -> bytes:
    """Encrypt the bytes with a new nonce. Raises KeyUnusable if the secret is invalid."""
    head = HEAD.pack(MAGIC, VERSION, secrets.token_bytes(12))
    return head + bytes(_cipher(secret, "the secret").encrypt(head[-12:], data, head))


def unseal(data: bytes, label: str, secret_file: Path | None) -> bytes:
    """Decrypt a sealed key. Raises KeyUnusable if it is damaged or the secret is missing or wrong."""
    if len(data) < HEAD.size + TAG_BYTES:
        raise KeyUnusable(f"{label} is cut off or damaged: fetch it again, or make it anew.")
    _, version, nonce = HEAD.unpack_from(data)
    if version != VERSION:
        raise KeyUnusable(
            too_new(label, version, VERSION)
            or f"{label} is sealed in version {version}, and this grader reads version {VERSION}:"
            " seal it anew with `kata key --seal`."
        )
    secret, where = _take_secret(label, secret_file)
    cipher = _cipher(secret, where)
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(nonce, data[HEAD.size :], data[: HEAD.size]))
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
            "Sealed keys need the package `cryptography`: pip install 'decoder-dojo[seal]'"
        ) from None
    try:
        raw = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != SECRET_BYTES:
        raise KeyUnusable(f"{where[0].upper()}{where[1:]} is no secret: 44 characters of base64 are due.")
    return AESGCM(raw)
