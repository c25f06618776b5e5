"""What a course shows with `grade see`: a package of the course, which `see` in its path.toml names.

Its `__init__.py` binds SEE = Demonstration(…). It runs with the grader's rights, as declarations do, and is
never part of a submission.

Record what the references give: `kata record-see` writes the file, `grade see` reads it.

The recording is data and holds no code, so it can be part of what students get.

Render the sections as one page, which works offline and runs its own script alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dojo_show.answers import Answers, Functions
from dojo_show.sections import Figure, Section, rounded
from dojo_show.speech import Speech
from dojo_show.tracing import Step, cells_of
from grader.course.catalog import Course, CourseError, shorten
from grader.course.files import load_file
from grader.kata import KataError
from grader.worker.in_process import LocalStudent

#: What the references gave, as JSON.
Recording = Mapping[str, Any]


@dataclass(frozen=True)
class Demonstration:
    """The katas whose functions are called, in the order of the page, and the headings of its sections by the
    names that `grade see NAME` takes; the first heading is the title of the page.

    `show` returns the sections, given the answers, the recording (empty if there is none) and the text of
    `--tokens`. `record` returns what is to be recorded, given the references as answers. `folder` holds the
    recording, and a page.js and a page.css if the page has parts of its own. With a `speech` the functions
    write a text. `milestones` says in a sentence what a kata lets one see when it first passes, and where:
    the name of a section.
    """

    katas: Functions
    titles: Mapping[str, str]
    show: Callable[[Answers, Recording, str | None], list[Section]]
    record: Callable[[Answers], dict[str, Any]]
    folder: Path
    speech: Speech | None = None
    milestones: Mapping[str, tuple[str, str]] = field(default_factory=dict)

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


def milestones(course: Course, name: str, passed: Collection[str]) -> list[str]:
    """Return what a kata that has passed for the first time lets one see, and how near the katas that have
    `passed` are to a text, each with its command."""
    try:
        demonstration = open_demonstration(course)
    except (CourseError, KataError):
        return []
    seen = demonstration.milestones.get(name)
    lines = [f"{seen[0]}: grade see {seen[1]}"] if seen else []
    speech = speech_in(course)
    if speech is None:
        return lines
    done, part = sum(one in passed for one in speech.parts), speech.lessons.get(name)
    if done < len(speech.parts):
        told = f"{done} of {len(speech.parts)} until your model speaks: grade speak"
        return lines + [told] * (name in speech.parts)
    lines += ["Your model speaks: grade speak"] * (name in speech.parts)
    return lines + [f"See what it does in a text: grade speak --without {part}"] * bool(part)


def speech_of(demonstration: Demonstration, course: Course) -> Speech:
    """Return what writes a text, with what can be chosen in this course. Raises CourseError if nothing does,
    or if the course lacks a kata for it."""
    speech = demonstration.speech
    if speech is None:
        raise CourseError("The functions of this course write no text.")
    if absent := [kata for kata in speech.parts if kata not in course.katas]:
        raise CourseError(f"This course lacks katas whose functions write a text: {', '.join(absent)}.")
    return speech.within(course.katas)


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


TEMPLATE = Path(__file__).parent / "templates" / "page.html"


def render_page(demonstration: Demonstration, sections: Sequence[Section]) -> str:
    """Return the page. What a student typed is data in it, which its script writes as text alone."""
    from grader.formats import pages  # Jinja2, which a pass without a page does without

    return pages.page(
        TEMPLATE,
        demonstration.title,
        style=demonstration.own("page.css"),
        script=demonstration.own("page.js") + "show();\n",
        sections=list(map(_section, sections)),
    )


def _section(section: Section) -> dict[str, Any]:
    figures = [_figure(figure) for figure in section.figures if not figure.in_text_only]
    return {**vars(section), "figures": figures}


def _figure(figure: Figure) -> dict[str, Any]:
    return {**vars(figure), "values": rounded(figure.values), "changed": cells_of(figure.changed)}


RECORDING_FILE = "recording.json"
DECIMALS = 5


def read_recording(demonstration: Demonstration) -> Recording:
    """Return what was recorded, or nothing if there is no recording. Raises CourseError if it is damaged."""
    try:
        return dict(json.loads(demonstration.own(RECORDING_FILE) or "{}"))
    except (ValueError, TypeError, RecursionError):
        file = demonstration.folder / RECORDING_FILE
        raise CourseError(f"{shorten(file)} is damaged: write it anew with `kata record-see`.") from None


def write_recording(course: Course, demonstration: Demonstration) -> str:
    """Write what the references of a course give and return what was written, as a sentence."""
    katas = demonstration.katas
    answers = Answers(katas, dict.fromkeys(katas, "yours"), reference_students(course, katas))
    found = demonstration.record(answers)
    text = json.dumps(found, separators=(",", ":"))
    lines = text.replace('],"', '],\n"') + "\n"  # a line for each step
    (demonstration.folder / RECORDING_FILE).write_text(lines, encoding="utf-8")
    return f"{len(found['steps'])} steps are in {RECORDING_FILE}."


def recorded(steps: Mapping[str, Step]) -> dict[str, list[Any]]:
    """Return the values of the steps by their names, as a tracer reads them."""
    return {name: [_short(np.asarray(value)) for value in step.values] for name, step in steps.items()}


def reference_students(course: Course, katas: Functions) -> dict[str, LocalStudent]:
    """Return the references of these katas, each as a student in this process."""
    students = {}
    for name in katas:
        file = course.solution(course.katas[name], "reference")
        students[name] = LocalStudent(load_file(f"dojo_reference_{name}", file), file.name)
    return students


def _short(array: Any) -> Any:
    """Return an array as nested lists of few decimals."""
    if array.dtype.kind == "f":
        return np.round(array.astype("f8"), DECIMALS).tolist()
    return array.astype(int).tolist()
