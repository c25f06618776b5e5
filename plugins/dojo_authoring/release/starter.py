"""Put a course into the grader's wheel, and write it into a student's folder: `grade start DIR`."""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

from dojo_authoring.release import keys
from dojo_authoring.release.repository import AGENTS, agents_file, core_files, fill
from dojo_authoring.release.wheel import build_wheel, zipped
from dojo_authoring.release.writing import ReleaseOutcome, write_release
from grader.answer_keys.file import LEVEL, SUFFIX, repacked
from grader.course.catalog import INSTALLED, Course, CourseError, KataInfo, open_course, shorten
from grader.course.files import text_of, write_whole
from grader.course.shown_solutions import PACKAGE, SOLUTIONS
from grader.course.state import CourseState
from grader.course.stubs import Versions, is_untouched, stub_in, stub_source
from grader.course.submission import library_of
from grader.errors import reason_of

TEMPLATES = PACKAGE / "cli" / "templates"
TASKS = TEMPLATES / "tasks.json"


def build_course_wheel(
    course: Course, names: tuple[str, ...], seed: int, *, solutions: bool = False
) -> tuple[str, bytes]:
    """Return the name and the bytes of a wheel of the grader that holds these katas, or all, as a student
    gets them: stubs, declarations and answer keys. With `solutions` it holds references and variants too, for
    `grade solution`. Raises CourseError."""
    infos = keys.chosen_katas(course, names)
    name, wheel = build_wheel(course.root)
    starter = _repacked(starter_files(course, infos, seed), level=0)
    added = {INSTALLED.name: zipped(starter, dense=SUFFIX)}
    if solutions:
        added[SOLUTIONS] = zipped(_solutions(course, infos))
    return name, _with_files(wheel, added)


def _repacked(files: dict[str, bytes], level: int) -> dict[str, bytes]:
    """Return the files of a student's folder, their answer keys at another level of compression."""
    return {name: repacked(data, level) if name.endswith(SUFFIX) else data for name, data in files.items()}


def _solutions(course: Course, infos: list[KataInfo]) -> dict[str, bytes]:
    """Return the references, the answers in PyTorch and the variants by their paths in the course."""
    parts = ("reference", "in_torch", "variants")
    paths = {course.solution(info, part) for info in infos for part in parts}
    found = sorted(path for path in paths if path.is_file())
    return {path.relative_to(course.root).as_posix(): path.read_bytes() for path in found}


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
    files[AGENTS] = agents_file(course.syllabus)
    return files


def _with_files(wheel: bytes, added: dict[str, bytes]) -> bytes:
    """Return the wheel with files added to the package, which its list of files names."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    for name, data in added.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        path = f"{PACKAGE.name}/{name}"
        files[record] = f"{path},sha256={digest},{len(data)}\n".encode() + files[record]
        files[path] = data
    return zipped(files)


def write_course(folder: Path, library: str = "", *, agents: bool = True) -> ReleaseOutcome:
    """Write the course of this installation into a folder, its stubs in `library` where a kata may be
    answered in it, and `AGENTS.md` if `agents`. Files that were changed there since they were written stay.
    Raises CourseError if this installation holds no course."""
    if not INSTALLED.is_file():
        raise CourseError(
            "This installation of the grader holds no course; in a folder with a course, run `grade`."
            " In a clone, `grade start . --library torch` writes its stubs in PyTorch."
        )
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file; a folder is needed.")
    with zipfile.ZipFile(INSTALLED) as archive:
        try:
            files = _repacked({name: archive.read(name) for name in archive.namelist()}, LEVEL)
        except RuntimeError:
            raise CourseError("The course needs a Python that was built with its module lzma.") from None
        if not agents:
            files.pop(AGENTS, None)
        return write_release(folder, files | _stubs_in(library, archive, files))


def change_stubs(folder: Path, library: str) -> int | None:
    """Write the stubs of a folder, such as a clone of the course, in another library, and return how many
    have changed. Files that are begun stay. Return None if the folder holds no course, or if the installed
    wheel has the course. Raises CourseError."""
    if INSTALLED.is_file():
        return None
    try:
        course = open_course(folder)
    except CourseError:
        return None
    versions, changed = Versions(CourseState(course).folder), 0
    for info in course.katas.values():
        path = course.stub(info)
        now = text_of(path) if library in info.libraries else ""
        if not now or library_of(info, now) == library or not is_untouched(info, now.encode()):
            continue
        to_torch = library == "torch"
        stub = (
            stub_in(library, info, now.encode()) if to_torch else stub_source(course, info, versions, library)
        )
        if stub is not None:
            _write(path, stub)
            changed += 1
    return changed


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be written: {reason_of(error)}.") from None


def _stubs_in(library: str, archive: zipfile.ZipFile, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the stubs of the course in an archive, by their paths, that are other files in a library."""
    if not library:
        return {}
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        archive.extractall(folder, [name for name in files if name.startswith(("exercises/", "tests/"))])
        course = Course(Path(folder))
        paths = {
            course.stub(info).relative_to(course.root).as_posix(): info for info in course.katas.values()
        }
    return {path: stub_in(library, info, files[path]) for path, info in paths.items()}
