"""Put a course into the grader's wheel, and write it into a student's folder: `grade --start DIR`."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from grader.authoring.release import keys
from grader.authoring.release.repository import ReleaseOutcome, core_files, fill, write_release
from grader.authoring.release.wheel import build_wheel, zipped
from grader.course.catalog import Course, CourseError, KataInfo

PACKAGE = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).parent / "templates"
TASKS = TEMPLATES / "tasks.json"
STARTER = "starter.zip"  # in the package; only in wheels that `kata wheel` builds


def build_course_wheel(course: Course, names: tuple[str, ...], seed: int) -> tuple[str, bytes]:
    """Return the name and the bytes of a wheel of the grader that holds these katas, or all, as a student
    gets them: stubs, declarations and answer keys, but no solutions. Raises CourseError."""
    infos = keys.chosen_katas(course, names)
    name, wheel = build_wheel()
    return name, _with_starter(wheel, zipped(starter_files(course, infos, seed)))


def starter_files(course: Course, infos: list[KataInfo], seed: int) -> dict[str, bytes]:
    """Return the files of a student's folder. They need no wheel, since the grader is installed."""
    core = core_files(course, infos, seed)
    files = {
        name: data for name, data in core.items() if not name.startswith(("vendor/", "requirements.txt"))
    }
    first, about = infos[0], course.syllabus.about
    readme = fill(
        (TEMPLATES / "README.md").read_text(encoding="utf-8"),
        TITLE=course.syllabus.title,
        ABOUT=f"{about}\n\n" if about else "",
        NAME=first.name,
        FILE=f"exercises/{first.track}/{first.name}.py",
    )
    files["README.md"] = readme.encode()
    files[".vscode/tasks.json"] = TASKS.read_bytes()
    return files


def _with_starter(wheel: bytes, starter: bytes) -> bytes:
    """Return the wheel with the course in it, which its list of files names."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    digest = base64.urlsafe_b64encode(hashlib.sha256(starter).digest()).rstrip(b"=").decode()
    path = f"{PACKAGE.name}/{STARTER}"
    files[record] = f"{path},sha256={digest},{len(starter)}\n".encode() + files[record]
    return zipped({**files, path: starter})


def start(folder: Path) -> ReleaseOutcome:
    """Write the course of this installation into a folder. Files that were changed there since they were
    written stay. Raises CourseError if this installation holds no course."""
    starter = PACKAGE / STARTER
    if not starter.is_file():
        raise CourseError(
            "This installation of the grader holds no course; in a folder with a course, run `grade`."
        )
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file; a folder is needed.")
    with zipfile.ZipFile(starter) as archive:
        return write_release(folder, {name: archive.read(name) for name in archive.namelist()})
