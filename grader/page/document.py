"""The file of a kata as an editor holds it: read, saved, and compared with what others write to it."""

from __future__ import annotations

from pathlib import Path

from grader.course.files import Folder, NotReadable, read_file
from grader.errors import reason_of


class Document:
    """The text of a file, with line feeds alone. `problem` says why it cannot be edited; nothing is then
    written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self.text = ""
        self._saved = b""  # what the file held when this was last in agreement with it
        self.take_from_disk()

    @property
    def is_saved(self) -> bool:
        """True if the text is what was last read or written."""
        return self._encoded(self.text) == self._saved

    def take_from_disk(self) -> None:
        """Take the text of the file; what was here is lost. A file that is gone leaves an empty text."""
        data = self._read()
        if data is not None:
            self._saved = data
            self.text = data.decode().replace("\r\n", "\n").replace("\r", "\n")

    def changed_outside(self) -> bool:
        """Return whether the file holds something else than what was last read or written."""
        data = self._read()
        return data is not None and data != self._saved

    def save(self, over: bool = False) -> bool:
        """Write the text, and return whether it is in the file now: not if somebody else has changed the file
        meanwhile, unless `over` is true, nor if it cannot be written."""
        if self.is_saved and self.path.exists():
            return True
        if not over and self.changed_outside():
            return False
        data = self._encoded(self.text)
        try:
            with Folder(self.path.parent, makes=True, follows_links=False) as folder:
                folder.write(self.path.name, data=data)
        except NotReadable as error:
            self.problem = f"{self.path.parent.name} {error.strerror}, so {self.path.name} is not written."
            return False
        except OSError as error:
            self.problem = f"{self.path.name} cannot be written: {reason_of(error)}."
            return False
        self._saved, self.problem = data, ""
        return True

    def _encoded(self, text: str) -> bytes:
        """Return the text as bytes, with the line ends that the file had."""
        end = "\r\n" if b"\r\n" in self._saved else "\n"
        return text.replace("\n", end).encode("utf-8", "replace")

    def _read(self) -> bytes | None:
        """Return what the file holds, nothing if there is none; None if it cannot be edited."""
        self.problem = ""
        try:
            data = read_file(self.path)
            data.decode()
        except FileNotFoundError:
            return b""
        except UnicodeDecodeError:
            self.problem = f"{self.path.name} is not encoded as UTF-8; save it as UTF-8 to edit it here."
        except NotReadable as error:
            self.problem = f"{self.path.name} {error.strerror}."
        except OSError as error:
            self.problem = f"{self.path.name} cannot be read: {reason_of(error)}."
        else:
            return data
        return None
