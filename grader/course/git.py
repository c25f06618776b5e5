"""The one way to Git: ask it about the objects of a repository that somebody else may have written.

Git runs in an empty repository of ours, which is made for each question and borrows the objects of the other
one. So no configuration, hook, attribute, replacement, graft or ref of that repository counts, no program
that it names is started, and nothing is fetched. Refused are a `.git` that is a link or a file, objects that
are no plain files, and objects that lie elsewhere (`info/alternates`). `Allowance` limits the time and the
output of all questions about what one student has handed in; each process has a limit of memory as well.

`python -m grader.course.git FOLDER` prints the time of the commit that is checked out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from grader.course.files import Folder, NotReadable, Parts, read_below, safe_parts

SECONDS, OUTPUT = 20.0, 32 << 20  # of all questions about one student's work; seconds of the clock, and bytes
MEMORY = 512 << 20  # bytes of one process
MOST_OBJECTS = 100_000  # files
BRANCH = re.compile(r"refs/(?:heads|remotes/[^/]+)/(?!HEAD$)")
MOST_REFS, DEEPEST_REF, LONGEST_REF = 500, 6, 1000
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
GIT = ".git"
KILLED = -9 if os.name == "posix" else 1  # the code of a process that was ended here
#: Each of these says once more that Git reads objects alone, and keeps its windows on packs below MEMORY.
SETTINGS = (
    "core.commitGraph=false", "core.multiPackIndex=false", "log.showSignature=false", "protocol.allow=never",
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", f"core.attributesFile={os.devnull}",
    "core.packedGitWindowSize=16m", "core.packedGitLimit=64m", "core.deltaBaseCacheLimit=16m",
)  # fmt: skip
ENVIRONMENT = {
    "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip
INHERITED = ("PATH", "SYSTEMROOT")  # the second one for Windows
#: The shell limits its own process, which becomes Git. macOS knows no limit of memory.
LIMITED = ("/bin/sh", "-c", 'ulimit -c 0; ulimit -v "$0" 2>/dev/null; exec "$@"', str(MEMORY >> 10))


class NoAnswer(ValueError):
    """Git does not answer: it is missing, the repository is damaged, or it lacks the objects."""


class GitRefused(NoAnswer):
    """Git was not asked, or was stopped: the objects are no plain files, or a limit is reached."""


@dataclass
class Allowance:
    """How much Git may still do for one student: seconds of the clock, and bytes of output."""

    seconds: float = SECONDS
    output: int = OUTPUT

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Take the time of the block off. Raises GitRefused if nothing is left."""
        if self.seconds <= 0 or self.output < 0:
            raise GitRefused("Git has used up its time for one submission")
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds -= time.monotonic() - begun


class Repository:
    """The commits of the repository in a folder, whose `.git` is a folder in it."""

    def __init__(self, root: Path, allowance: Allowance | None = None) -> None:
        self.root, self._allowance = root, allowance or Allowance()

    @classmethod
    def around(cls, path: Path, allowance: Allowance | None = None) -> Self:
        """Return the repository in which a path lies. Raises NoAnswer if there is none."""
        for folder in Path(os.path.abspath(path)).parents:
            if os.path.lexists(folder / GIT):
                return cls(folder, allowance)
        raise NoAnswer("there is no repository")

    def head(self) -> str:
        """Return the hash of the commit that is checked out. Raises OSError and NoAnswer."""
        with self._allowance.spending():
            text = self._read("HEAD").strip()
            if text.startswith("ref: "):
                parts = safe_parts(text.removeprefix("ref: "))
                if not parts or parts[0] != "refs":
                    raise NoAnswer(f"HEAD is {text}")
                try:
                    text = self._read(*parts).strip()
                except FileNotFoundError:
                    lines = (line.split() for line in self._read("packed-refs").splitlines())
                    text = next((line[0] for line in lines if line[1:] == ["/".join(parts)]), "")
            if not HASH.fullmatch(text):
                raise NoAnswer("no commit is checked out")
            return text

    def branches(self) -> dict[str, str]:
        """Return the hashes of the branches by name, those of a clone's origin too. Raises OSError and
        NoAnswer."""
        found: dict[str, str] = {}
        with self._allowance.spending():
            with suppress(FileNotFoundError):
                for line in self._read("packed-refs").splitlines():
                    tip, _, name = line.partition(" ")
                    found[name] = tip
            with suppress(FileNotFoundError, NotReadable), Folder(self.root, follows_links=False) as root:
                refs: list[Parts] = [(GIT, "refs", "heads"), (GIT, "refs", "remotes")]
                while refs and len(found) < MOST_REFS:
                    parts = refs.pop()
                    with suppress(FileNotFoundError, NotReadable), root.folder(*parts) as folder:
                        for entry in folder.entries():
                            if entry.is_folder and len(parts) < DEEPEST_REF:
                                refs.append((*parts, entry.name))
                            elif not entry.is_folder:
                                with suppress(NotReadable, UnicodeDecodeError):
                                    text = folder.read(entry.name, limit=LONGEST_REF).decode().strip()
                                    found["/".join((*parts[1:], entry.name))] = text
        named = {BRANCH.sub("", name): tip for name, tip in found.items() if BRANCH.match(name)}
        return {name: tip for name, tip in sorted(named.items()) if HASH.fullmatch(tip)}

    def ask(self, tip: str, *words: str) -> bytes:
        """Return what a command of Git prints about the objects; `tip` is a hash in the repository's form.
        Raises OSError and NoAnswer."""
        with self._allowance.spending(), tempfile.TemporaryDirectory(prefix="dojo-") as empty:
            self._borrow(Path(empty), "sha256" if len(tip) == 64 else "sha1")
            return self._run(empty, words)

    def _read(self, *parts: str) -> str:
        """Return the text of a file of Git's. Raises OSError and NoAnswer."""
        try:
            return read_below(self.root, (GIT, *parts)).decode()
        except UnicodeDecodeError:
            raise NoAnswer(f"{'/'.join(parts)} is no text") from None

    def _borrow(self, empty: Path, form: str) -> None:
        """Make an empty repository that has the objects of this one. Raises OSError and GitRefused."""
        objects = self._objects
        for name in ("objects/info", "refs"):
            (empty / name).mkdir(parents=True)
        config = (
            f"[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {form}\n"
        )
        files = {
            "HEAD": "ref: refs/heads/main\n",
            "config": config,
            "objects/info/alternates": f"{objects}\n",
        }
        for name, text in files.items():
            (empty / name).write_bytes(os.fsencode(text))
        with suppress(FileNotFoundError):  # of a clone that has only the latest commits
            (empty / "shallow").write_bytes(read_below(self.root, (GIT, "shallow")))

    @cached_property
    def _objects(self) -> Path:
        """The folder of the objects, which holds plain files alone and names no other one.

        Raises GitRefused.
        """
        objects, left = Path(os.path.abspath(self.root)) / GIT / "objects", MOST_OBJECTS
        if "\n" in str(objects) or (self.root / GIT).is_symlink() or objects.is_symlink():
            raise GitRefused("the folder of the objects is a link, or has a name that Git cannot be told")
        folders = [objects]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif not entry.is_file(follow_symlinks=False) or "alternates" in entry.name:
                        raise GitRefused(f"{entry.name} is no plain file of an object")
                    if left < 0:
                        raise GitRefused(f"there are more than {MOST_OBJECTS:,} files of objects")
        return objects

    def _run(self, empty: str, words: tuple[str, ...]) -> bytes:
        """Return what Git prints in the empty repository. Raises OSError and NoAnswer."""
        settings = (word for each in SETTINGS for word in ("-c", each))
        git = ["git", "--no-pager", "--git-dir", empty, *settings, *words]
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        process = subprocess.Popen(
            [*LIMITED, *git] if os.name == "posix" else git,
            cwd=empty,
            env={**environment, **ENVIRONMENT, "HOME": empty},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        timer = threading.Timer(self._allowance.seconds, process.kill)
        timer.start()
        try:
            found = process.stdout.read(self._allowance.output + 1)
            if len(found) > self._allowance.output:
                process.kill()
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.stdout.close()
        self._allowance.output -= len(found)
        if code == KILLED or self._allowance.output < 0:
            raise GitRefused("Git took too long or found too much")
        if code:
            raise NoAnswer("Git cannot read the objects")
        return found


def main() -> None:
    """Print the time of the commit that is checked out in a folder, as ISO 8601; nothing without one."""
    repository = Repository(Path(sys.argv[1]))
    with suppress(OSError, NoAnswer):
        head = repository.head()
        sys.stdout.write(repository.ask(head, "log", "--max-count=1", "--format=%cI", head).decode())


if __name__ == "__main__":
    main()
