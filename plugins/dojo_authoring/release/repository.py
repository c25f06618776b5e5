"""The files of a student's repository, which holds no solutions and no code made from them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from jinja2 import Template

from dojo_authoring.release import GRADE_ON, WORKFLOWS, keys
from dojo_authoring.release.wheel import PACKAGE, build_wheel
from dojo_authoring.verify.record import described, require_verified
from grader.answer_keys.file import VARIABLE, is_sealed, open_keyring
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.stubs import stub_in
from grader.course.submission import (
    read_submission,
)
from grader.course.syllabus import Syllabus, to_text

TEMPLATES = Path(__file__).parent / "templates"
TASKS = PACKAGE / "cli" / "templates" / "tasks.json"  # as `grade start` writes it
SEALED = ".github/sealed.key"
OPEN_KEYS = " --key keys"  # so that solutions beside them are never read
PLAIN = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".gitignore": "gitignore",
    ".devcontainer/devcontainer.json": "devcontainer.json",
    ".github/update.sh": "update.sh",
}
AGENTS = "AGENTS.md"


def core_files(
    course: Course, infos: list[KataInfo], seed: int, *, is_sealed_too: bool = False, library: str = ""
) -> dict[str, bytes]:
    """Return the files that every host needs: stubs, in `library` where a kata may be answered in it,
    declarations, what `grade see` runs, keys, the grader's wheel, requirements."""
    require_prerequisites(course, infos)
    files: dict[str, bytes] = {}
    for info in infos:
        files[f"exercises/{info.track}/{info.name}.py"] = stub_in(library, info, stub_of(course, info))
        files[f"tests/katas/{info.track}/{info.path.name}"] = info.path.read_bytes()
    files["tests/katas/path.toml"] = to_text(syllabus_of(course, infos)).encode()
    conftest = course.root / "tests" / "katas" / "conftest.py"
    if conftest.is_file():
        files["tests/katas/conftest.py"] = conftest.read_bytes()
    files |= demonstration_files(course)
    keys.require_solutions(course, infos)
    files |= keys.key_files(keys.with_progress(keys.draw_entries(course, infos, seed)), seed)
    name, wheel = build_wheel()
    files[f"vendor/{name}"] = wheel
    files["requirements.txt"] = _requirements(
        course, infos, name, is_sealed_too=is_sealed_too, library=library
    ).encode()
    return files


def demonstration_files(course: Course) -> dict[str, bytes]:
    """Return the files of the package that `grade see` runs, by their path in the course."""
    see = course.syllabus.see
    found = sorted(path for path in (course.root / see).rglob("*") if path.is_file()) if see else []
    kept = [path for path in found if "__pycache__" not in path.parts]
    return {path.relative_to(course.root).as_posix(): path.read_bytes() for path in kept}


def agents_file(syllabus: Syllabus) -> bytes:
    """Return the file that tells AI assistants what the course allows."""
    text = (TEMPLATES / AGENTS).read_text(encoding="utf-8")
    template = Template(text, trim_blocks=True, keep_trailing_newline=True)
    return str(template.render(title=syllabus.title, allowed=syllabus.assistants)).encode()


def student_files(
    course: Course,
    core: dict[str, bytes],
    infos: list[KataInfo],
    hosts: Iterable[str],
    sealed: bytes,
    grade_on: str = "push",
) -> dict[str, bytes]:
    """Return the whole repository: the core files, texts for students and for their assistants, and workflows
    for the hosts, which grade as `grade_on` says. A class has one order, so that everybody is asked for the
    same."""
    files = dict(core)
    syllabus = dataclasses.replace(syllabus_of(course, infos), has_fixed_order=True)
    files["tests/katas/path.toml"] = to_text(syllabus).encode()
    files["README.md"] = _readme(course.syllabus, infos).encode()
    title = json.dumps(course.syllabus.title, ensure_ascii=False)
    said = {"TITLE": title, **GRADE_ON[grade_on]}
    files |= {name: fill_template(template, **said).encode() for name, template in PLAIN.items()}
    files[".vscode/tasks.json"] = TASKS.read_bytes()
    files[AGENTS] = agents_file(course.syllabus)
    key, secret = OPEN_KEYS, ""
    if sealed:
        files[SEALED] = sealed
        key = f" --key {SEALED}"
        secret = f"\n        env:\n          {VARIABLE}: ${{{{ secrets.{VARIABLE} }}}}"
    for host in hosts:
        text = fill_template(WORKFLOWS[host], KEY=key, SECRET=secret, **GRADE_ON[grade_on])
        files[f".github/workflows/{WORKFLOWS[host]}"] = text.encode()
    return files


def read_sealed(course: Course, infos: list[KataInfo], path: Path | None, secret: Path | None) -> bytes:
    """Return the bytes of a sealed key, or b"" for no path.

    Raises CourseError if it is not sealed, and KeyUnusable if a workflow could not grade these katas with it.
    """
    if path is None:
        return b""
    if not path.is_file() or not is_sealed(path.read_bytes()):
        raise CourseError(f"{shorten(path)} is no sealed key; make one with: kata key --seal")
    beside = keys.secret_beside(path)
    open_keyring(course, infos, path, secret or (beside if beside.is_file() else None))
    return path.read_bytes()


def require_releasable(course: Course, infos: list[KataInfo], *, allows_unverified: bool) -> None:
    """Raise CourseError if a stub is begun, a solution or a needed kata is missing, or one is unverified."""
    require_prerequisites(course, infos)
    for info in infos:
        stub_of(course, info)
    keys.require_solutions(course, infos)
    require_verified(course, infos, allows_unverified=allows_unverified)


def verifications(course: Course, infos: list[KataInfo]) -> dict[str, str]:
    """Return for each kata when and on which content it was verified, for the manifest."""
    return {info.name: described(course, info) for info in infos}


def stub_of(course: Course, info: KataInfo) -> bytes:
    """Return the kata's stub. Raises CourseError if it is not the untouched stub."""
    path = course.stub(info)
    if read_submission(info, path).touched:
        raise CourseError(f"{shorten(path)} is begun; a release hands out the untouched stub.")
    return path.read_bytes()


def require_prerequisites(course: Course, infos: list[KataInfo]) -> None:
    """Raise CourseError if a kata needs another one that is not released."""
    lacking = [info.name for info in course.with_needs(infos) if info not in infos]
    if lacking:
        raise CourseError(f"`{lacking[0]}` is needed by these katas, and is not among them; name it too.")


def syllabus_of(course: Course, infos: list[KataInfo]) -> Syllabus:
    """Return the course's syllabus, limited to these katas."""
    path: dict[str, list[str]] = {}
    for info in infos:
        path.setdefault(info.track, []).append(info.name)
    limited = course.syllabus.limited_to([info.name for info in infos])
    return dataclasses.replace(limited, path=path)


def _requirements(
    course: Course, infos: list[KataInfo], wheel: str, *, is_sealed_too: bool, library: str
) -> str:
    """Return requirements.txt: the grader's wheel and pinned versions of its dependencies.

    Versions come from the course's constraints.txt, or else are those installed here.
    """
    pins = {}
    constraints = course.root / "constraints.txt"
    if constraints.is_file():
        lines = [line.strip() for line in constraints.read_text("utf-8").splitlines()]
        pins = {line.partition("==")[0]: line for line in lines if "==" in line and not line.startswith("#")}
    wanted = ["click", "greenlet", "hypothesis", "msgspec", "numpy", "pytest"]
    wanted += ["torch"] if library == "torch" or any(info.library == "torch" for info in infos) else []
    wanted += ["cryptography"] if is_sealed_too else []
    return "\n".join([f"./vendor/{wheel}", *(pins.get(name) or _installed(name) for name in wanted), ""])


def _installed(package: str) -> str:
    try:
        return f"{package}=={version(package).partition('+')[0]}"  # +cpu is on no index
    except PackageNotFoundError:
        return package


def _readme(syllabus: Syllabus, infos: list[KataInfo]) -> str:
    first = infos[0]
    file, laws = f"exercises/{first.track}/{first.name}.py", f"tests/katas/{first.track}/{first.path.name}"
    said = {"TITLE": syllabus.title, "ABOUT": f"{syllabus.about}\n\n" if syllabus.about else ""}
    return fill_template("README.md", KATAS=_table(infos), NAME=first.name, FILE=file, LAWS=laws, **said)


def _table(infos: list[KataInfo]) -> str:
    rows = [f"| `exercises/{info.track}/{info.name}.py` | {info.title} |" for info in infos]
    return "\n".join(["| file | kata |", "|---|---|", *rows])


def fill_template(name: str, **values: str) -> str:
    """Return the text of a template of releases with these values in place of `%%NAME%%`."""
    return fill((TEMPLATES / name).read_text(encoding="utf-8"), **values)


def fill(text: str, **values: str) -> str:
    """Return a text with these values in place of `%%NAME%%`."""
    for key, value in values.items():
        text = text.replace(f"%%{key}%%", value)
    return text
