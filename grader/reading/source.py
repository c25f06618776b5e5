"""Decode and parse a source, or say in one sentence why that is not possible."""

from __future__ import annotations

import ast
import codecs
import re
import sys
import tokenize
from collections.abc import Callable
from io import BytesIO

NEWER_STRINGS = (
    f" Its quotes may be those of the string from Python 3.12 on; this is 3.{sys.version_info.minor}."
)
MAX_BYTES = 1 << 20  # of a Python file
LARGEST_NOTEBOOK = 32 * MAX_BYTES  # of a notebook, whose outputs may contain images
LFS = b"version https://git-lfs.github.com/spec/"  # how a pointer of Git LFS begins
LONGEST_LINE = 100  # characters that are shown of a line with a syntax error
#: The encodings, by the names of their codecs, that a source may declare.
OF_TEXT = re.compile(
    r"utf-8(-sig)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*"
)
NO_PYTHON = "cannot be read as Python: it holds a null byte or is nested too deeply."


class Refused(Exception):
    """A text cannot be read; the message is one sentence. `excerpt` is the line in question, with a caret
    below the place, or empty. `unread` is True if that says nothing about the code."""

    def __init__(self, message: str, excerpt: str = "", *, unread: bool = False) -> None:
        super().__init__(message)
        self.excerpt, self.unread = excerpt, unread


def source_text(data: bytes) -> str:
    """Return the source in a Python file, decoded as Python does: by its byte order mark, by the declaration
    in its first two lines, or as UTF-8. Raises UnicodeDecodeError, and LookupError for a declared encoding
    that is unknown or is no way to write text."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except SyntaxError as error:  # neither declared nor UTF-8, or unknown
        data.decode("utf-8-sig")
        raise LookupError(str(error)) from None
    if not OF_TEXT.fullmatch(codecs.lookup(encoding).name):  # punycode takes minutes for a large file
        raise LookupError(f"unknown encoding: {encoding}")
    return data.decode(encoding)


def decoded(data: bytes, label: str) -> str:
    """Return the source in a Python file, as Python decodes it. Raises Refused if it cannot be decoded, is
    too large, or is what Git LFS leaves in place of a file."""
    return _decoded(data, label, MAX_BYTES, source_text)


def utf8(data: bytes, label: str, limit: int = MAX_BYTES) -> str:
    """Return a text in UTF-8. Raises Refused, as `decoded` does."""
    return _decoded(data, label, limit, lambda data: data.decode("utf-8-sig"))


def _decoded(data: bytes, label: str, limit: int, decode: Callable[[bytes], str]) -> str:
    if len(data) > limit:
        raise _unread(f"{label} is larger than {limit >> 20} MiB.")
    if data.startswith(LFS):
        raise _unread(f"{label} is a pointer of Git LFS, without the file's content: run `git lfs pull`.")
    try:
        return decode(data)
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf") else error.encoding
        raise _unread(
            f"{label} is not {name}: byte {error.start} cannot be read. Save it as UTF-8."
        ) from None
    except LookupError as error:
        raise _unread(f"{label} cannot be decoded: {error}. Save it as UTF-8.") from None


def _unread(text: str) -> Refused:
    return Refused(text, unread=True)


def parsed(source: str, label: str) -> ast.Module:
    """Return the syntax tree of a source. Raises Refused if it is not valid Python, and MemoryError, also for
    the parser's stack."""
    try:
        if "\0" in source:
            raise ValueError
        return ast.parse(source)
    except SyntaxError as error:
        text = f"{label} has a syntax error in line {error.lineno}: {error.msg}."
        if error.msg.startswith("f-string") and sys.version_info < (3, 12):
            text += NEWER_STRINGS
        raise Refused(text, _excerpt(error)) from None
    except (ValueError, RecursionError):
        raise Refused(f"{label} {NO_PYTHON}") from None


def tree_of(source: str) -> ast.Module | None:
    """Return the syntax tree of a source; None if it is not valid Python. Raises MemoryError."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _excerpt(error: SyntaxError) -> str:
    """Return the line of a syntax error, and a caret below the place."""
    line = (error.text or "").rstrip("\n")
    code = line.lstrip()
    at = (error.offset or 0) - 1 - len(line) + len(code)
    lead = f"  {error.lineno} │ "
    caret = f"\n{'│':>{len(lead) - 1}} {'^':>{at + 1}}" if 0 <= at <= len(code[:LONGEST_LINE]) else ""
    return f"{lead}{code[:LONGEST_LINE]}{caret}" if code else ""
