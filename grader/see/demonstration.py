"""What a course shows with `grade --see`: a package of the course, which `see` in its path.toml names.

Its `__init__.py` binds SEE = Demonstration(…). It runs with the grader's rights, as declarations do, and is
never part of a submission.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.catalog import Course, CourseError
from grader.course.loading import load_file
from grader.kata import KataError
from grader.see.answers import Answers, Functions
from grader.see.sections import Section
from grader.see.speech import Speech

#: What the references gave, as JSON.
Recording = Mapping[str, Any]


@dataclass(frozen=True)
class Demonstration:
    """The katas whose functions are called, in the order of the page, and the headings of its sections by the
    names that `grade --see NAME` takes; the first heading is the title of the page.

    `show` returns the sections, given the answers, the recording (empty if there is none) and the text of
    `--tokens`. `record` returns what is to be recorded, given the references as answers. `folder` holds the
    recording, and a page.js and a page.css if the page has parts of its own. With a `speech` the functions
    write a text.
    """

    katas: Functions
    titles: Mapping[str, str]
    show: Callable[[Answers, Recording, str | None], list[Section]]
    record: Callable[[Answers], dict[str, Any]]
    folder: Path
    speech: Speech | None = None

    @property
    def title(self) -> str:
        """The title of the page."""
        return next(iter(self.titles.values()))

    def own(self, name: str) -> str:
        """Return the text of a file of the demonstration; empty if there is none of that name."""
        file = self.folder / name
        return file.read_text(encoding="utf-8") if file.is_file() else ""


def speech_in(course: Course) -> Speech | None:
    """Return the speech of a course; None if it has none, or if what it shows cannot be loaded."""
    try:
        return speech_of(open_demonstration(course), course)
    except (CourseError, KataError):
        return None


def speech_of(demonstration: Demonstration, course: Course) -> Speech:
    """Return what writes a text. Raises CourseError if nothing does, or if the course lacks a kata for it."""
    speech = demonstration.speech
    if speech is None:
        raise CourseError("The functions of this course write no text.")
    if absent := [kata for kata in speech.parts if kata not in course.katas]:
        raise CourseError(f"This course lacks katas whose functions write a text: {', '.join(absent)}.")
    return speech


def open_demonstration(course: Course) -> Demonstration:
    """Return what the course shows. Raises CourseError if it shows nothing, and KataError if its package
    cannot be loaded."""
    if not course.syllabus.see:
        raise CourseError("The course has nothing to see: its path.toml names no folder with `see`.")
    file = course.root / course.syllabus.see / "__init__.py"
    place = hashlib.sha256(str(file.absolute()).encode()).hexdigest()[:8]  # two courses are two packages
    found = getattr(load_file(f"dojo_see_{place}", file), "SEE", None)
    if not isinstance(found, Demonstration):
        raise KataError(f"{course.syllabus.see}/__init__.py must bind SEE = Demonstration(…).")
    return found
