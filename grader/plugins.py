"""What packages add to the grader by entry points: commands, report formats, and parts that it uses itself.

A package declares `grade.NAME` or `kata.NAME` in the group `dojo.commands`, and `NAME` in `dojo.formats`.
Ours are in pyproject.toml, which alone names them. They are read from one small file, because to read the
metadata of 200 packages takes as long as to import NumPy; that is read for a name that is not ours, and for
help. The group `dojo.parts` is ours alone: what the grader uses of `plugins/` where it is installed.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grader.errors import CourseError
from grader.installing import install_command

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS_GROUP, FORMATS_GROUP, PARTS_GROUP = "dojo.commands", "dojo.formats", "dojo.parts"
OURS = "decoder-dojo"  # the name of our own package
METADATA = ("decoder_dojo-", ".dist-info")  # how the name of the folder of its metadata begins and ends
PLUGINS = "dojo_"  # how the names of the packages of `plugins/` begin


class PluginError(CourseError):
    """What another package offers cannot be used; the message names the package."""


class PartMissing(CourseError):
    """A package of `plugins/` was left out of this installation; the message says what to install."""


class PluginFailed(Exception):
    """What another package offers has raised an error; the message names the package."""


@cache
def ours(group: str) -> Mapping[str, str]:
    """Return what our own package declares in a group: `module:attribute` by name, sorted by name. Raises
    CourseError if it is not installed."""
    found: dict[str, str] = {}
    section = ""
    for line in _metadata().splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and line:
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return MappingProxyType(dict(sorted(found.items())))


@cache
def _metadata() -> str:
    """Return the entry points of our own package: those of the first folder on the path that has some."""
    for folder in (folder for folder in sys.path if not _is_here(folder)):
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(METADATA[0]) and name.endswith(METADATA[1]):
                    return Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
    raise CourseError("The grader is not installed, so its commands are unknown: make install")


def has_command(name: str) -> bool:
    """Return whether the package is installed that declares one of our own commands."""
    package = ours(COMMANDS_GROUP).get(name, "").partition(":")[0].partition(".")[0]
    return bool(package) and find_spec(package) is not None


def load(group: str, name: str, user: str) -> Any:
    """Return the object that our own package declares. Raises PartMissing if its package was left out; `user`
    is what needs it, for the message."""
    module, _, attribute = ours(group)[name].partition(":")
    with parts_told(user):
        return getattr(importlib.import_module(module), attribute)


@contextmanager
def parts_told(user: str) -> Iterator[None]:
    """Raise PartMissing where a package of `plugins/` is imported that was left out."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package.startswith(PLUGINS) or package not in packages():
            raise
        raise PartMissing(
            f"{user} needs {package}, which was left out of this installation. Install the whole wheel of the"
            f" release again: {install_command('--force-reinstall', 'WHEEL')}"
        ) from None


@contextmanager
def libraries_told(missing: str, *packages: str) -> Iterator[None]:
    """Raise CourseError with this sentence, and what installs the packages, where a library is imported that
    is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("grader", PLUGINS)):
            raise
        raise CourseError(f"{missing}: {install_command(*packages)}") from None


def packages() -> set[str]:
    """Return the names of the packages that our own package declares something in."""
    groups = (COMMANDS_GROUP, PARTS_GROUP)
    return {value.partition(":")[0].partition(".")[0] for group in groups for value in ours(group).values()}


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
