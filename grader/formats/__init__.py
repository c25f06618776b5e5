"""Render a report as text: one module a format, which lists its files in `DOCUMENTS`.

A format's module is imported when the format is used, because the terminal's does not need XML. Other
packages add formats by entry points: see `grader/plugins.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.plugins import FORMATS_GROUP, PluginError, Plugins, find
from grader.report import Report

SHARED = {"account", "pages", "summary"}  # no formats
#: How much a report in the terminal shows; a snippet is the code of a failing call.
Detail = Literal["brief", "normal", "full", "snippet"]
#: The names of our own formats.
NAMES = tuple(sorted({module.name for module in pkgutil.iter_modules(__path__)} - SHARED))


@dataclass(frozen=True)
class Document:
    """A file that a format writes, under the name that its host expects.

    `render` returns its text, or None if nothing may be written: the host needs a number of points, and there
    is none, since a file could not be read."""

    file: str
    render: Callable[[Report], str | None]
    channel: str = ""  # the environment variable that names a file of the host; the text is appended to it
    is_printed: bool = False  # also to standard output, where the host reads it


def plugged() -> Plugins:
    """Return the formats of other packages."""
    return find(FORMATS_GROUP, "", NAMES)


def documents(form: str) -> Sequence[Document]:
    """Return the documents of a format, the main one first. Raises PluginError if another package offers it
    and it cannot be used."""
    found: Sequence[Document]
    if form in NAMES:
        found = importlib.import_module(f"grader.formats.{form}").DOCUMENTS
        return found
    plugin = plugged().found[form]
    found = plugin.load(list)
    if not found or not all(isinstance(document, Document) for document in found):
        raise PluginError(
            f"`{form}` of {plugin.package} cannot be used: {plugin.entry.value} is no list of Document."
        )
    return found
