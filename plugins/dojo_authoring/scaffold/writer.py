"""`kata new`: write the files of a kata and add it to the course."""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from dojo_authoring.changes import all_or_nothing
from dojo_authoring.scaffold.declaration import declaration_of
from dojo_authoring.scaffold.draft import Draft, filled
from dojo_authoring.scaffold.drafted_answers import mistakes, variants
from dojo_authoring.scaffold.question_page import question_declaration, question_stub
from dojo_authoring.scaffold.stub import reference_of, stub_of
from dojo_authoring.scaffold.syllabus_entry import with_kata
from grader.course.catalog import LONGEST_NAME, Course, CourseError, is_name
from grader.course.syllabus import SYLLABUS_FILE, Syllabus, read_syllabus, to_text
from grader.plugins import COMMANDS_GROUP, ours

NAME = re.compile(r"[a-z][a-z0-9_]*")
FOLDER = SYLLABUS_FILE.parent.as_posix()


def new_kata_name(root: Path, place: str, *, new_track: bool) -> tuple[str, str]:
    """Parse `TRACK/NAME`. Raises CourseError if it is malformed, taken, or in an unknown track."""
    track, _, name = place.partition("/")
    if not all(NAME.fullmatch(word) and not keyword.iskeyword(word) for word in (track, name)):
        raise CourseError(
            f"`{place}` cannot be a kata: say TRACK/NAME, each of small letters, digits and underscores,"
            " beginning with a letter, as in sorting/merge_sort."
        )
    if problem := problem_with(name):
        raise CourseError(problem)
    if (root / "exercises").is_dir():
        _require_free(Course(root), track, name, new_track=new_track)
    return track, name


def problem_with(name: str) -> str:
    """Return why no kata can have a name, as a sentence; "" if one can."""
    if not NAME.fullmatch(name):
        return f"`{name}` cannot be a kata: say a name of small letters, digits and underscores."
    if keyword.iskeyword(name):
        return f"`{name}` cannot be a kata: it is a word of Python. Take another name."
    if f"grade.{name}" in ours(COMMANDS_GROUP):
        return f"`{name}` cannot be a kata: `grade {name}` is a command. Take another name."
    if not is_name(name):
        return f"A kata's name has at most {LONGEST_NAME} characters; this one has {len(name)}."
    return ""


def course_folder(folder: Path | None) -> Path:
    """Return the given folder, or the course at or above this one. Raises CourseError if there is none."""
    found = folder or next((f for f in (Path.cwd(), *Path.cwd().parents) if (f / FOLDER).is_dir()), None)
    if found is None:
        raise CourseError("There is no course at or above this folder; begin one here with: --course .")
    read_syllabus(found)
    return found


def _require_free(course: Course, track: str, name: str, *, new_track: bool) -> None:
    if name in course.katas:
        raise CourseError(f"A kata called `{name}` is there already, in {course.katas[name].track}.")
    tracks = list(course.syllabus.path)
    if tracks and track not in tracks and not new_track:
        near = difflib.get_close_matches(track, tracks, n=1)
        known = f"The only track is {tracks[0]}." if len(tracks) == 1 else f"There are {', '.join(tracks)}."
        hint = f"Did you mean `{near[0]}`?" if near else known
        raise CourseError(f"No track is called `{track}`. {hint} `--new-track` begins one.")


def write_kata(root: Path, draft: Draft, own: Mapping[str, str] | None = None) -> list[str]:
    """Write the kata's files, and the course's files if it is new, and return their names. The texts of `own`
    take the place of drafts.

    Raises CourseError, with nothing written, if a file exists, cannot be written, or would be no Python.
    """
    files = _kata_files(draft) | dict(own or {})
    there = next((name for name in files if (root / name).exists()), None)
    if there is not None:
        raise CourseError(f"{there} is there already, and is not overwritten; move it, or take another name.")
    path = root / SYLLABUS_FILE
    begun = path.read_text("utf-8") if path.is_file() else to_text(Syllabus(root.resolve().name))
    files |= {name: text for name, text in _shared_files(draft).items() if not (root / name).exists()}
    listed = with_kata(begun, draft.track, draft.name)
    _require_python(files)
    with all_or_nothing() as changes:
        for name, text in {**files, SYLLABUS_FILE.as_posix(): listed}.items():
            changes.write(root / name, text)
    return [*files, SYLLABUS_FILE.as_posix()]


def _require_python(files: Mapping[str, str]) -> None:
    """Raise CourseError unless all modules among the drafts are Python: a title may hold any character."""
    for name, text in files.items():
        try:
            ast.parse(text if name.endswith(".py") else "")
        except (SyntaxError, ValueError):
            raise CourseError(
                f"{name} would be no Python: leave quotes and backslashes out of title and source, and"
                " say the axes of an argument as names."
            ) from None


def _kata_files(draft: Draft) -> dict[str, str]:
    """Return every file of the kata, in the order in which to complete them."""
    solutions = f"solutions/{draft.track}/{draft.name}"
    declared = f"{FOLDER}/{draft.track}/test_{draft.name}.py"
    stub = f"exercises/{draft.track}/{draft.name}.py"
    if draft.kind == "questions":
        known = {f"{solutions}/mistakes.py": filled("questions/mistakes", draft=draft)}
        answer, declaration = filled("questions/reference", draft=draft), question_declaration(draft)
        statement = question_stub(draft)
    else:
        known = {
            f"{solutions}/mistakes.edits": mistakes(draft),
            f"{solutions}/variants.py": variants(draft),
        }
        answer, declaration = reference_of(draft), declaration_of(draft)
        statement = stub_of(draft)
    return {
        f"{solutions}/reference.py": answer,
        declared: declaration,
        **({} if draft.is_draft else known),
        stub: statement,
    }


def _shared_files(draft: Draft) -> dict[str, str]:
    """Return the files that katas share: the course's fixtures, and the variants of a track's questions."""
    found = {f"{FOLDER}/conftest.py": filled("conftest")}
    if draft.kind == "questions":
        found[f"solutions/{draft.track}/variants.py"] = filled("questions/variants")
    return found
