"""Let a tab come back that was open when the server was started again.

A course keeps the port, the paths and a key of its page, in a file in the user's cache folder that nobody
else may read: not in `.dojo`, which may be committed, handed on and shared. A worker's sandbox opens neither.
The page tells each tab the key, which keeps it in its memory alone; where its socket ends, the tab asks
whoever answers now at its address.

While the page is not served, any user of this machine may serve at its port, and gets whatever a tab sends by
itself. So neither a cookie nor the key is sent: the tab and the server draw a number each, and each proves
that it has the key by an HMAC of both, first the server. A number is good for one proof. Such a user also
learns the path of the tab, so that a cookie of that path could be had at another port: each process of the
server has a path of its own for its cookie. At former paths there are only the files of the front end, which
are no secret, and the socket for who proves the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.files import cache_folder, read_file, write_whole

DAYS = 30  # after which a page that was not started gets another key
MOST_PATHS = 8  # of former processes
PATH = re.compile("/[0-9a-f]{16}")
MOST_NUMBERS = 64  # that wait for a proof
LONGEST_NUMBER = 100  # characters of a tab's number
SERVER, TAB = "server", "tab"  # whose proof it is


@dataclass
class Returning:
    """Checks that a tab has the key. Without one, none comes back."""

    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _waiting: dict[str, str] = field(default_factory=dict)  # by the server's number: the tab's

    def challenge(self, tabs: str) -> dict[str, str]:
        """Return a number for a tab that has drawn one, and the server's proof for both."""
        own = secrets.token_urlsafe(16)
        self._waiting[own] = tabs[:LONGEST_NUMBER]
        for old in [*self._waiting][:-MOST_NUMBERS]:
            del self._waiting[old]
        return {"nonce": own, "proof": self.proof(SERVER, tabs[:LONGEST_NUMBER], own)}

    def is_proved(self, own: str, proof: str) -> bool:
        """Return whether a tab proves that it has the key, for a number of the server; it is then used up."""
        tabs = self._waiting.pop(own, None)
        if tabs is None:
            return False
        right = self.proof(TAB, tabs, own)
        return hmac.compare_digest(right.encode(), proof.encode("utf-8", "replace"))

    def proof(self, who: str, tabs: str, own: str) -> str:
        """Return what proves that one has the key, in hexadecimal digits."""
        text = json.dumps([who, tabs, own], separators=(",", ":"))
        return hmac.digest(self.key.encode(), text.encode(), hashlib.sha256).hex()


@dataclass(frozen=True)
class KeptPage:
    """What a course keeps of its page: the port, the paths, the last one first, and the key."""

    port: int
    paths: list[str]
    key: str


def kept_file(root: Path) -> Path:
    """Return where a course keeps this."""
    name = hashlib.sha256(str(root.absolute()).encode()).hexdigest()[:16]
    return cache_folder() / "pages" / f"{name}.json"


def kept_page(root: Path) -> KeptPage | None:
    """Return what a course has kept; None if there is nothing, or nothing of use."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        file = kept_file(root)
        about, found = file.lstat(), KeptPage(**json.loads(read_file(file)))
        is_own = about.st_uid == os.getuid() and not about.st_mode & 0o077
        is_new = time.time() - about.st_mtime < DAYS * 24 * 3600
        is_whole = type(found.port) is int and all(map(PATH.fullmatch, found.paths)) and len(found.key) >= 32
        return found if is_own and is_new and is_whole else None
    return None


def keep_page(root: Path, page: KeptPage) -> None:
    """Keep what a tab needs to come back; where that cannot be written, none does."""
    data = json.dumps({**vars(page), "paths": page.paths[:MOST_PATHS]}).encode()
    with suppress(OSError):
        write_whole(kept_file(root), data, private=True)
