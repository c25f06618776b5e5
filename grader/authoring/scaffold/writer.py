"""`kata new`: write the files of a kata and add it to the course."""

from __future__ import annotations

import difflib
import keyword
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.authoring.scaffold import answers, cases, texts
from grader.authoring.scaffold.library_snippets import Draft, filled
from grader.course.catalog import Course, CourseError
from grader.course.syllabus import FILE, Syllabus, read_syllabus, to_text

FOLDER = FILE.parent.as_posix()


def new_kata_name(root: Path, place: str, new_track: bool) -> tuple[str, str]:
    """Parse `TRACK/NAME`. Raises CourseError if it is malformed, taken, or in an unknown track."""
    track, _, name = place.partition("/")
    for word in (track, name):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
            raise CourseError(
                f"`{place}` cannot be a kata: say TRACK/NAME, each of small letters, digits and underscores,"
                " beginning with a letter, as in sorting/merge_sort."
            )
    if (root / "exercises").is_dir():
        _require_free(Course(root), track, name, new_track)
    return track, name


def course_folder(folder: Path | None) -> Path:
    """Return the given folder, or the course at or above this one. Raises CourseError if there is none."""
    found = folder or next((f for f in (Path.cwd(), *Path.cwd().parents) if (f / FOLDER).is_dir()), None)
    if found is None:
        raise CourseError("There is no course at or above this folder; begin one here with: --course .")
    read_syllabus(found)
    return found


def _require_free(course: Course, track: str, name: str, new_track: bool) -> None:
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

    Raises CourseError, before anything is written, if a file exists.
    """
    files = _kata_files(draft) | dict(own or {})
    there = next((name for name in files if (root / name).exists()), None)
    if there is not None:
        raise CourseError(f"{there} is there already, and is not overwritten; move it, or take another name.")
    path = root / FILE
    begun = path.read_text("utf-8") if path.is_file() else to_text(Syllabus(root.resolve().name))
    files |= {name: text for name, text in _shared_files(draft).items() if not (root / name).exists()}
    listed = with_kata(begun, draft.track, draft.name)
    for name, text in {**files, FILE.as_posix(): listed}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return [*files, FILE.as_posix()]


def _kata_files(draft: Draft) -> dict[str, str]:
    """Return every file of the kata, in the order in which to complete them."""
    solutions = f"solutions/{draft.track}/{draft.name}"
    declared = f"{FOLDER}/{draft.track}/test_{draft.name}.py"
    stub = f"exercises/{draft.track}/{draft.name}.py"
    if draft.kind == "questions":
        known = {f"{solutions}/mistakes.py": filled("questions/mistakes", draft=draft)}
        reference, declaration = filled("questions/reference", draft=draft), texts.question_declaration(draft)
        statement = texts.question_stub(draft)
    else:
        known = {
            f"{solutions}/mistakes.py": answers.mistakes(draft),
            f"{solutions}/variants.py": answers.variants(draft),
        }
        reference, declaration = texts.reference(draft), cases.declaration(draft)
        statement = texts.stub(draft)
    return {
        f"{solutions}/reference.py": reference,
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


def with_kata(text: str, track: str, name: str) -> str:
    """Return the text of path.toml with the kata added to its track, and nothing else changed.

    Raises CourseError if the layout of the file is not supported.
    """
    wanted = tomllib.loads(text)
    names = wanted.setdefault("path", {}).setdefault(track, [])
    if name in names:
        return text
    names.append(name)
    changed = _inserted(text, track, name)
    if _read(changed) != wanted:
        raise CourseError(f'{FILE.as_posix()}: add "{name}" to its list `{track}`, then say this again.')
    return changed


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with_track(text: str, line: str) -> str:
    """Return the text with a line at the end of its table [path], which is added if it is missing."""
    table = re.search(r"^\[path\]\n(?:(?!#|\[).*\n?)*", text, re.MULTILINE)
    if table is None:
        return f"{text.rstrip()}\n\n[path]\n{line}\n"
    rest = text[table.end() :]
    return f"{text[: table.end()].rstrip()}\n{line}\n" + (f"\n{rest}" if rest else "")


def _inserted(text: str, track: str, name: str) -> str:
    listed = re.search(rf"^{track}\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    if listed is None:
        return _with_track(text, f'{track} = ["{name}"]')
    names = listed[1].rstrip()
    comma = "" if not names or names.endswith(",") else ","
    space = " " if names else ""
    return f'{text[: listed.start(1)]}{names}{comma}{space}"{name}"{text[listed.start(1) + len(names) :]}'
