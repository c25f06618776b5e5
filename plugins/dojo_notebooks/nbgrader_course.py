"""The files of an nbgrader course: notebooks in `source/`, settings, and answer keys to grade with."""

from __future__ import annotations

from pathlib import Path

from dojo_authoring.release import keys
from dojo_authoring.release.repository import core_files, fill
from dojo_notebooks.notebook import notebook_of
from grader.course.catalog import Course, KataInfo
from grader.course.secret_seed import seed_or_new
from grader.course.submission import SUFFIX
from grader.course.syllabus import SYLLABUS_FILE

SETTINGS = Path(__file__).with_name("nbgrader_config.txt")
IN_ONE = "in-one"


def course_files(
    course: Course, infos: list[KataInfo], seed: int, hidden_seed: int | None
) -> dict[str, bytes]:
    """Return the bytes of every file by its path.

    Stubs, declarations and keys stand at the top of the course and beside the notebooks of each assignment.
    """
    core = core_files(course, infos, seed)
    shown = {name: data for name, data in core.items() if _is_shown(course, name)}
    settings = fill(SETTINGS.read_text(encoding="utf-8"), COURSE=course.syllabus.slug)
    files = {**core, "nbgrader_config.py": settings.encode()}
    for track in dict.fromkeys(info.track for info in infos):
        own = [info for info in infos if info.track == track]
        beside = {name: data for info in own for name, data in core.items() if _is_file_of(name, info)}
        beside |= shown
        each = {info.name: notebook_of(course, [info]) for info in own}
        files |= _assignment(track, beside, each)
        whole = {track: notebook_of(course, own, f"The track {track}, all in one notebook")}
        files |= _assignment(f"{track}-{IN_ONE}", beside, whole)
    return files | _keys(course, infos, seed_or_new(course) if hidden_seed is None else hidden_seed)


def _assignment(name: str, beside: dict[str, bytes], notebooks: dict[str, str]) -> dict[str, bytes]:
    """Return the files of one assignment: its notebooks, and the files that `%grade` needs beside them."""
    own = {f"{stem}{SUFFIX}": text.encode() for stem, text in notebooks.items()}
    return {f"source/{name}/{path}": data for path, data in {**beside, **own}.items()}


def _is_file_of(path: str, info: KataInfo) -> bool:
    """Return whether the path is the kata's stub, declaration or key."""
    return path in (
        f"exercises/{info.track}/{info.name}.py",
        f"tests/katas/{info.track}/{info.path.name}",
        f"keys/{info.name}.key",
    )


def _is_shown(course: Course, path: str) -> bool:
    """Return whether `%see` needs the path: what it runs, and the syllabus, which names that."""
    see = course.syllabus.see
    return bool(see) and (path.startswith(f"{see}/") or path == SYLLABUS_FILE.as_posix())


def _keys(course: Course, infos: list[KataInfo], seed: int) -> dict[str, bytes]:
    """Draw keys with hidden cases for the top of the course, which is not handed out to students."""
    return keys.key_files(keys.with_progress(keys.draw_entries(course, infos, seed)))
