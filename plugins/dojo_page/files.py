"""The file of a kata: read as an editor shows it, and written unless another program has changed it
meanwhile.

Nothing is kept between two requests: whoever edits the text knows the digest of what the file held, and says
it when the text is to be saved. So a tab goes on after its server was started again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from dojo_page.protocol import LONGEST_TEXT
from grader.course.files import Folder, NotReadable, read_file
from grader.errors import reason_of


class NotWritten(Exception):
    """A text is not in the file; the message is a sentence that says why."""


class ChangedOutside(Exception):
    """A text is not in the file, since another program has changed it to what `found` holds."""

    def __init__(self, found: FileText) -> None:
        super().__init__("another program has changed the file")
        self.found = found


@dataclass(frozen=True)
class FileText:
    """What a file holds: the bytes, which are None if there is no file; or why it cannot be edited."""

    data: bytes | None = None
    problem: str = ""

    @property
    def text(self) -> str:
        """The text, with line feeds alone; empty if there is none."""
        return (self.data or b"").decode().replace("\r\n", "\n").replace("\r", "\n")

    @property
    def digest(self) -> str:
        """A digest of the bytes; empty if there is no file, or none that can be edited."""
        return "" if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def is_gone(self) -> bool:
        """True if there is no file."""
        return self.data is None and not self.problem

    def with_text(self, text: str) -> bytes:
        """Return another text as bytes, with the line ends of this one."""
        end = "\r\n" if b"\r\n" in (self.data or b"") else "\n"
        return text.replace("\n", end).encode("utf-8", "replace")


def read_edited(path: Path) -> FileText:
    """Return what a file holds, if it can be edited."""
    try:
        data = read_file(path)
        if len(data.decode()) > LONGEST_TEXT:
            return FileText(
                problem=f"{path.name} has more than {LONGEST_TEXT} characters; edit it elsewhere."
            )
    except FileNotFoundError:
        return FileText()
    except UnicodeDecodeError:
        return FileText(problem=f"{path.name} is not encoded as UTF-8; save it as UTF-8 to edit it here.")
    except NotReadable as error:
        return FileText(problem=f"{path.name} {error.strerror}.")
    except OSError as error:
        return FileText(problem=f"{path.name} cannot be read: {reason_of(error)}.")
    return FileText(data)


def write_edited(path: Path, text: str, base: str | None) -> FileText:
    """Write a text to a file, if `base` is the digest of what it holds, and return what it holds then. It is
    written whatever it holds if `base` is None, and anew if it is gone. Raises ChangedOutside if another
    program has changed it, and NotWritten if it cannot be read or written: what no editor shows is not
    replaced."""
    found = read_edited(path)
    if found.problem:
        raise NotWritten(found.problem)
    if found.data is not None and found.text == text:
        return found
    if base not in (None, found.digest) and not found.is_gone:
        raise ChangedOutside(found)
    written = FileText(found.with_text(text))
    assert written.data is not None
    write(path, written.data)
    return written


def write(path: Path, data: bytes) -> None:
    """Write a file. Raises NotWritten."""
    try:
        with Folder(path.parent, makes=True, follows_links=False) as folder:
            folder.write(path.name, data=data)
    except NotReadable as error:
        raise NotWritten(f"{path.parent.name} {error.strerror}, so {path.name} is not written.") from None
    except OSError as error:
        raise NotWritten(f"{path.name} cannot be written: {reason_of(error)}.") from None
