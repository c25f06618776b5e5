"""The commands of `grade`, and the commands and report formats of other packages, by their entry points.

A package declares `grade.NAME` or `kata.NAME` in the group `dojo.commands`, and `NAME` in `dojo.formats`, as
pyproject.toml declares ours. Ours are found without the metadata of packages, because to read that of 200
packages takes as long as to import NumPy. It is read for a name that is not ours, and for help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from grader.errors import CourseError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS_GROUP, FORMATS_GROUP = "dojo.commands", "dojo.formats"
OURS = "decoder-dojo"  # the name of our own package

_COMMANDS = "grader.cli.commands"
#: The commands of `grade`, in the order of its help; a word that is none of them is a kata to grade.
GRADE = {
    "list": f"{_COMMANDS}:list_",
    "next": f"{_COMMANDS}:next_",
    "hint": f"{_COMMANDS}:hint",
    "solution": f"{_COMMANDS}:solution",
    "again": f"{_COMMANDS}:again",
    "reset": f"{_COMMANDS}:reset",
    "review": "grader.extra.grade:review",
    "laws": "grader.extra.grade:laws",
    "start": "grader.extra.grade:start",
    "page": "grader.extra.grade:page",
    "see": "grader.extra.grade:see",
    "speak": "grader.extra.grade:speak",
    "doctor": f"{_COMMANDS}:doctor",
    "protect": f"{_COMMANDS}:protect",
    "lsp": "grader.extra.grade:lsp",
    "mcp": "grader.extra.grade:mcp",
    "help": f"{_COMMANDS}:help_",
}


class PluginError(CourseError):
    """What another package offers cannot be used; the message names the package."""


class PluginFailed(Exception):
    """What another package offers has raised an error; the message names the package."""


@dataclass(frozen=True)
class Plugin:
    """A command or a format of another package."""

    name: str  # such as `grade.badge`
    package: str
    entry: EntryPoint

    def load(self, kind: type) -> Any:
        """Return the object behind the entry point. Raises PluginError if it cannot be imported or is not of
        this kind."""
        try:
            found = self.entry.load()
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise PluginError(f"`{self.name}` of {self.package} cannot be loaded: {reason}.") from error
        if not isinstance(found, kind):
            raise PluginError(
                f"`{self.name}` of {self.package} cannot be used: {self.entry.value} is no {kind.__name__}."
            )
        return found


@dataclass(frozen=True)
class Plugins:
    """What other packages offer, by name without prefix, and sentences about what they may not."""

    found: dict[str, Plugin]
    problems: tuple[str, ...]


@cache
def find(group: str, prefix: str, taken: tuple[str, ...]) -> Plugins:
    """Return the entry points of a group whose names begin with a prefix, but for names that are taken."""
    found: dict[str, Plugin] = {}
    problems = []
    for package, entry in _entries(group):
        name = entry.name.removeprefix(prefix)
        if not entry.name.startswith(prefix):
            if group == COMMANDS_GROUP and not entry.name.startswith(("grade.", "kata.")):
                problems.append(f"`{entry.name}` of {package} is left out: say `{prefix}{entry.name}`.")
        elif name in taken:
            problems.append(f"`{entry.name}` of {package} is left out: the name is ours.")
        elif name in found:
            problems.append(
                f"`{entry.name}` of {package} is left out: {found[name].package} has the name already."
            )
        else:
            found[name] = Plugin(entry.name, package, entry)
    return Plugins(found, tuple(problems))


def _entries(group: str) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the packages and their entry points of this group, without our own.

    The current folder is left out, also where `python -m` has put it on the path: a submission may lie there.
    """
    from importlib.metadata import distributions  # takes as long to import as listing the katas

    packages = {OURS}
    for distribution in distributions(path=[folder for folder in sys.path if not _is_here(folder)]):
        try:
            entries = distribution.entry_points.select(group=group)
            package = distribution.name.lower().replace("_", "-") if entries else OURS
        except Exception:  # damaged metadata of any kind
            continue
        if package not in packages:
            packages.add(package)
            yield from ((package, entry) for entry in entries)


def _is_here(folder: str) -> bool:
    """Return whether this folder is the current one."""
    try:
        return not folder or os.path.samefile(folder, os.curdir)
    except OSError:
        return False
