"""`kata release`: a student's repository, without solutions and without anything made from their code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader import release_list
from grader.authoring.releasing import keys
from grader.authoring.releasing.wheel import build_wheel, zipped
from grader.catalog import Card, Course, CourseError, shorten
from grader.key_file import write
from grader.needs import with_needs
from grader.sealing import VARIABLE, is_sealed
from grader.submission import read_submission
from grader.syllabus import Syllabus, to_text

TEMPLATES = Path(__file__).parent / "templates"
SEALED = ".github/sealed.key"
HOSTS = ("actions", "classroom")
WORKFLOWS = {"actions": "grade.yml", "classroom": "classroom.yml"}
PLAIN = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".gitignore": "gitignore",
    ".devcontainer/devcontainer.json": "devcontainer.json",
    ".vscode/tasks.json": "tasks.json",
}


@dataclass
class Outcome:
    """What became of a folder: files written, kept because they were changed, and removed."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def core_files(course: Course, cards: list[Card], seed: int, is_sealed_too: bool = False) -> dict[str, bytes]:
    """What grades anywhere: stubs, properties, keys, the grader, what to install."""
    _require_needs(course, cards)
    files: dict[str, bytes] = {}
    for card in cards:
        files[f"exercises/{card.track}/{card.name}.py"] = _stub(course, card)
        files[f"tests/katas/{card.track}/{card.path.name}"] = card.path.read_bytes()
    files["tests/katas/path.toml"] = to_text(_syllabus(course, cards)).encode()
    conftest = course.root / "tests" / "katas" / "conftest.py"
    if conftest.is_file():
        files["tests/katas/conftest.py"] = conftest.read_bytes()
    keys.require_solutions(course, cards)
    for entry in keys.told(keys.draw_entries(course, cards, seed)):
        files[f"keys/{entry.name}.key"] = write([entry], seed, keys.made_by())
    name, wheel = build_wheel()
    files[f"vendor/{name}"] = wheel
    files["requirements.txt"] = _requirements(course, cards, name, is_sealed_too).encode()
    return files


def student_files(
    course: Course, core: dict[str, bytes], cards: list[Card], hosts: Iterable[str], sealed: bytes
) -> dict[str, bytes]:
    """The whole repository: the core, what students read, and workflows for the hosts."""
    files = dict(core)
    files["README.md"] = _readme(course.syllabus, cards).encode()
    files |= {name: _template(template).encode() for name, template in PLAIN.items()}
    key, secret = "", ""
    if sealed:
        files[SEALED] = sealed
        key = f" --key {SEALED}"
        secret = f"\n        env:\n          {VARIABLE}: ${{{{ secrets.{VARIABLE} }}}}"
    for host in hosts:
        text = _template(WORKFLOWS[host], KEY=key, SECRET=secret)
        files[f".github/workflows/{WORKFLOWS[host]}"] = text.encode()
    return files


def gradescope_zip(core: dict[str, bytes]) -> bytes:
    """What Gradescope takes: scripts at the top, everything that grades beside them."""
    scripts = {name: _template(name).encode() for name in ("setup.sh", "run_autograder")}
    return zipped({**scripts, **core}, executable=tuple(scripts))


def classroom50_bundle(core: dict[str, bytes]) -> dict[str, bytes]:
    """The folder of an assignment's autograder in the course's Classroom 50 repository."""
    return {"autograder.py": _template("autograder.py.txt").encode(), **core}


def read_sealed(path: Path | None) -> bytes:
    """A sealed key to be handed out. Raises CourseError for an open one."""
    if path is None:
        return b""
    if not path.is_file() or not is_sealed(path.read_bytes()):
        raise CourseError(f"{shorten(path)} is no sealed key; make one with: kata key --seal")
    return path.read_bytes()


def write_release(folder: Path, files: dict[str, bytes]) -> Outcome:
    """Write the files; what somebody has changed since the last release stays as it is."""
    if (folder / "solutions").exists():
        raise CourseError(f"{shorten(folder)} holds solutions; a release goes into a folder of its own.")
    before, outcome = release_list.read_list(folder), Outcome()
    for name, data in files.items():
        path = folder / name
        if path.is_file() and release_list.digest(path.read_bytes()) not in (
            before.get(name), release_list.digest(data),
        ):  # fmt: skip
            outcome.kept.append(name)
            continue
        keys.save(path, data)
        outcome.written.append(name)
    for name, value in before.items():
        path = folder / name
        if name not in files and path.is_file() and release_list.digest(path.read_bytes()) == value:
            path.unlink()
            outcome.removed.append(name)
    keys.save(folder / release_list.NAME, release_list.to_text(files).encode())
    return outcome


def _stub(course: Course, card: Card) -> bytes:
    """The kata's file as it is handed out. Raises CourseError where somebody has begun to solve it."""
    path = course.stub(card)
    if read_submission(card, path).touched:
        raise CourseError(f"{shorten(path)} is begun; a release hands out the untouched stub.")
    return path.read_bytes()


def _require_needs(course: Course, cards: list[Card]) -> None:
    """Raises CourseError where a kata would wait for one that nobody was given."""
    lacking = [card.name for card in with_needs(course, cards) if card not in cards]
    if lacking:
        raise CourseError(f"`{lacking[0]}` is needed by these katas, and is not among them; name it too.")


def _syllabus(course: Course, cards: list[Card]) -> Syllabus:
    """The course's syllabus, of these katas alone."""
    path: dict[str, list[str]] = {}
    for card in cards:
        path.setdefault(card.track, []).append(card.name)
    return dataclasses.replace(course.syllabus, path=path)


def _requirements(course: Course, cards: list[Card], wheel: str, is_sealed_too: bool) -> str:
    """The grader's wheel and exact versions of what it needs: those of the course's own constraints, else
    those with which the keys were made."""
    pins = {}
    constraints = course.root / "constraints.txt"
    if constraints.is_file():
        lines = [line.strip() for line in constraints.read_text("utf-8").splitlines()]
        pins = {line.partition("==")[0]: line for line in lines if "==" in line and not line.startswith("#")}
    wanted = ["click", "numpy", "hypothesis", "watchfiles", "pytest"]
    wanted += ["torch"] if any(card.library == "torch" for card in cards) else []
    wanted += ["cryptography"] if is_sealed_too else []
    return "\n".join([f"./vendor/{wheel}", *(pins.get(name) or _installed(name) for name in wanted), ""])


def _installed(package: str) -> str:
    try:
        return f"{package}=={version(package).partition('+')[0]}"  # a build's own label is on no index
    except PackageNotFoundError:
        return package


def _readme(syllabus: Syllabus, cards: list[Card]) -> str:
    first = cards[0]
    file, laws = f"exercises/{first.track}/{first.name}.py", f"tests/katas/{first.track}/{first.path.name}"
    said = {"TITLE": syllabus.title, "ABOUT": f"{syllabus.about}\n\n" if syllabus.about else ""}
    return _template("README.md", KATAS=_table(cards), NAME=first.name, FILE=file, LAWS=laws, **said)


def _table(cards: list[Card]) -> str:
    rows = [f"| `exercises/{card.track}/{card.name}.py` | {card.title} |" for card in cards]
    return "\n".join(["| file | kata |", "|---|---|", *rows])


def _template(name: str, **values: str) -> str:
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"%%{key}%%", value)
    return text
