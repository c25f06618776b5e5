"""Print what CHANGELOG.md says of the version that a tag names: the notes of its release.

python .ci/release_notes.py v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class NotReady(Exception):
    """The tag names no version that can be released; the message says what to mend."""


def notes(tag: str, root: Path = ROOT) -> str:
    """Return the section of the tagged version, which is that of the grader. Raises NotReady."""
    source = (root / "grader" / "__init__.py").read_text("utf-8")
    version = re.findall(r'^__version__ = "(.+?)"', source, re.MULTILINE)[0]
    if tag != f"v{version}":
        raise NotReady(f"The tag is {tag}, but the grader has version {version}: tag v{version}.")
    _, *sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    for section in sections:
        title, _, text = section.partition("\n")
        if version in re.split(r"[\s\[\],]+", title) and text.strip():
            return f"{text.strip()}\n"
    raise NotReady(f"CHANGELOG.md has no section `## {version}`, or nothing in it.")


if __name__ == "__main__":
    try:
        print(notes(*sys.argv[1:2] or [""]), end="")
    except NotReady as error:
        sys.exit(str(error))
