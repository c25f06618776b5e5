"""The files of a student's repository, which holds no solutions and no code made from them.

The files of a PrairieLearn course and of an Exercism track: an image, and a question per kata.

Build a wheel of the grader from the installed files, without network or build folder.
"""

from __future__ import annotations

import ast
import base64
import dataclasses
import hashlib
import html
import io
import json
import re
import uuid
import zipfile
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import Template

import grader
from dojo_authoring.release import WORKFLOWS, keys
from dojo_authoring.verify.static_checks import described, require_verified
from grader.answer_keys.file import VARIABLE, is_sealed, open_keyring
from grader.course import release_manifest, renaming
from grader.course.catalog import Course, CourseError, KataInfo, is_release, shorten
from grader.course.files import Folder, read_below, read_file, safe_parts, text_of
from grader.course.stubs import stub_in
from grader.course.submission import (
    SubmissionRejected,
    is_unwritten,
    read_bytes,
    read_submission,
)
from grader.course.syllabus import Syllabus, to_text
from grader.errors import reason_of
from grader.plugins import packages
from grader.reading.shape import text_digest

PACKAGE = Path(grader.__file__).resolve().parent
EPOCH = (2020, 1, 1, 0, 0, 0)  # fixed, so that the same files give the same bytes
VERSION = re.compile("^Version: .*$", re.MULTILINE)
EXCLUDED = ("__pycache__",)
DESCRIPTIONS = ("Summary:", "Keywords:", "Description-Content-Type:")  # speak of the course beside the grader


def build_wheel(course: Path | None = None) -> tuple[str, bytes]:
    """Return the wheel's file name and bytes, described as pyproject.toml describes it if the course is the
    one beside the grader. Raises CourseError if the grader is not installed."""
    found = distributions(name="decoder-dojo")  # a checkout's .egg-info, without METADATA, may come first
    installed = next((each for each in found if each.read_text("METADATA")), None)
    if installed is None:
        raise CourseError("The grader is not installed, so what it needs is unknown: make install")
    stem = f"decoder_dojo-{grader.__version__}"
    info = f"{stem}.dist-info"
    files = {name: path.read_bytes() for name, path in sources().items()}
    about = {
        name: installed.read_text(name) or "" for name in ("METADATA", "entry_points.txt", "licenses/LICENSE")
    }
    # A checkout is installed once, and goes on: the metadata may name an older version.
    about["METADATA"] = VERSION.sub(f"Version: {grader.__version__}", about["METADATA"], count=1)
    if course is None or course.resolve() != PACKAGE.parent:
        about["METADATA"] = _without_descriptions(about["METADATA"])
    files |= {f"{info}/{name}": text.encode() for name, text in about.items()}
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: kata\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    return f"{stem}-py3-none-any.whl", zipped(files)


def sources() -> dict[str, Path]:
    """Return the files of the grader and of the packages of `plugins/` that are installed, without bytecode,
    by their path from the folder above the package."""
    specs = filter(None, map(find_spec, sorted(packages())))
    folders = [Path(place).resolve() for spec in specs for place in spec.submodule_search_locations or ()]
    found = ((folder, path) for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder.parent).as_posix(): path
        for folder, path in found
        if not set(EXCLUDED) & set(path.parts) and path.suffix != ".pyc"
    }


def _without_descriptions(metadata: str) -> str:
    lines = metadata.partition("\n\n")[0].splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith(DESCRIPTIONS))


def _record(files: dict[str, bytes], own: str) -> str:
    def line(name: str, data: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(data)}\n"

    return "".join(line(name, data) for name, data in files.items()) + f"{own},,\n"


def zipped(files: dict[str, bytes], executable: tuple[str, ...] = (), dense: str = "") -> bytes:
    """Return a zip archive of the files; the same files give the same bytes. Those that end in `dense` are
    compressed by LZMA, which is slower and finds what is repeated further away."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            is_dense = bool(dense) and name.endswith(dense)
            entry.compress_type = zipfile.ZIP_LZMA if is_dense else zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, data)
    return out.getvalue()


TEMPLATES = Path(__file__).parent / "templates"
TASKS = PACKAGE / "cli" / "templates" / "tasks.json"  # as `grade start` writes it
LARGEST_FILE = release_manifest.LARGEST_PART
WRONG_CODE = re.compile(rb'ships_wrong_code="(\w{12})"')
SEALED = ".github/sealed.key"
OPEN_KEYS = " --key keys"  # so that solutions beside them are never read
PLAIN = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".gitignore": "gitignore",
    ".devcontainer/devcontainer.json": "devcontainer.json",
    ".github/update.sh": "update.sh",
}


AGENTS = "AGENTS.md"


@dataclass
class ReleaseOutcome:
    """The files that a release wrote, kept because the student changed them, or removed."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def notes(self, whole: str = "release") -> list[str]:
        """Return a line for each file that was kept or removed; `whole` is what a removed one belonged to."""
        kept = [f"kept, since it was changed: {name}" for name in self.kept]
        return kept + [f"removed, since it is no longer part of the {whole}: {name}" for name in self.removed]


def core_files(
    course: Course, infos: list[KataInfo], seed: int, *, is_sealed_too: bool = False, library: str = ""
) -> dict[str, bytes]:
    """Return the files that every host needs: stubs, in `library` where a kata may be answered in it,
    declarations, what `grade see` runs, keys, the grader's wheel, requirements."""
    require_prerequisites(course, infos)
    files: dict[str, bytes] = {}
    for info in infos:
        files[f"exercises/{info.track}/{info.name}.py"] = stub_in(library, info, _stub(course, info))
        files[f"tests/katas/{info.track}/{info.path.name}"] = info.path.read_bytes()
    files["tests/katas/path.toml"] = to_text(_syllabus(course, infos)).encode()
    conftest = course.root / "tests" / "katas" / "conftest.py"
    if conftest.is_file():
        files["tests/katas/conftest.py"] = conftest.read_bytes()
    files |= _demonstration(course)
    keys.require_solutions(course, infos)
    files |= keys.key_files(keys.with_progress(keys.draw_entries(course, infos, seed)), seed)
    name, wheel = build_wheel()
    files[f"vendor/{name}"] = wheel
    files["requirements.txt"] = _requirements(
        course, infos, name, is_sealed_too=is_sealed_too, library=library
    ).encode()
    return files


def _demonstration(course: Course) -> dict[str, bytes]:
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
    *,
    agents: bool = True,
) -> dict[str, bytes]:
    """Return the whole repository: the core files, texts for students and, if `agents`, for their assistants,
    and workflows for the hosts."""
    files = dict(core)
    files["README.md"] = _readme(course.syllabus, infos).encode()
    title = json.dumps(course.syllabus.title, ensure_ascii=False)
    files |= {name: fill_template(template, TITLE=title).encode() for name, template in PLAIN.items()}
    files[".vscode/tasks.json"] = TASKS.read_bytes()
    files |= {AGENTS: agents_file(course.syllabus)} if agents else {}
    key, secret = OPEN_KEYS, ""
    if sealed:
        files[SEALED] = sealed
        key = f" --key {SEALED}"
        secret = f"\n        env:\n          {VARIABLE}: ${{{{ secrets.{VARIABLE} }}}}"
    for host in hosts:
        text = fill_template(WORKFLOWS[host], KEY=key, SECRET=secret)
        files[f".github/workflows/{WORKFLOWS[host]}"] = text.encode()
    return files


def gradescope_zip(core: dict[str, bytes], visibility: str = "visible") -> bytes:
    """Return Gradescope's autograder as a zip: its scripts and the core files.

    `visibility` says when students see the tests.
    """
    texts = {"VISIBILITY": visibility, "KEY": OPEN_KEYS}
    scripts = {name: fill_template(name, **texts).encode() for name in ("setup.sh", "run_autograder")}
    return zipped({**scripts, **core}, executable=tuple(scripts))


def classroom50_bundle(core: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of an assignment's autograder for a Classroom 50 repository."""
    return {"autograder.py": fill_template("autograder.py.txt").encode(), **core}


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
        _stub(course, info)
    keys.require_solutions(course, infos)
    require_verified(course, infos, allows_unverified=allows_unverified)


def verifications(course: Course, infos: list[KataInfo]) -> dict[str, str]:
    """Return for each kata when and on which content it was verified, for the manifest."""
    return {info.name: described(course, info) for info in infos}


def write_release(folder: Path, files: dict[str, bytes], **about: object) -> ReleaseOutcome:
    """Write the files, except those that were changed since the last release, and the manifest with the
    facts in `about`. An exercise is replaced or removed only if it is a stub that is known. Raises
    CourseError."""
    if (folder / "solutions").exists():
        raise CourseError(f"{shorten(folder)} holds solutions; a release goes into a folder of its own.")
    before, outcome = release_manifest.read_list(folder), ReleaseOutcome()
    files = {**files, **_corrected_statements(folder, files, before)}
    files |= _moved(folder, files, before, about.get("renamed"))
    wrong_code = _wrong_code(files.values()) | _wrong_code(map(_content, _declarations(folder)))
    try:
        with Folder(folder, makes=True) as theirs:
            for name, data in files.items():
                kept = release_manifest.digest_of(folder / name)
                is_theirs = kept not in (before.get(name), release_manifest.digest(data)) or (
                    kept != release_manifest.digest(data) and not _is_ours(folder, name, wrong_code)
                )
                # in a student's repository a link may lead anywhere
                if _has_link(folder, name) or ((folder / name).is_file() and is_theirs):
                    outcome.kept.append(name)
                    continue
                theirs.write(*safe_parts(name), data=data)
                outcome.written.append(name)
            for name, value in before.items():
                if name in files or _has_link(folder, name):
                    continue
                is_known = release_manifest.digest_of(folder / name) == value
                if is_known and _is_ours(folder, name, wrong_code):
                    theirs.remove(*safe_parts(name))
                    outcome.removed.append(name)
            theirs.write(release_manifest.NAME, data=release_manifest.to_text(files, **about).encode())
    except OSError as error:
        raise CourseError(f"{shorten(folder)} cannot be written: {reason_of(error)}.") from None
    return outcome


def update(release: Path, folder: Path) -> ReleaseOutcome:
    """Bring a release into a student's repository. Raises CourseError, also if the first folder differs from
    its own list of files, as a student's does."""
    listed = release_manifest.read_list(release)
    if not listed or not is_release(folder):
        raise CourseError(
            f"{shorten(folder if listed else release)} is no release: it has no list of its files."
        )
    try:
        files = {name: read_below(release, safe_parts(name), LARGEST_FILE) for name in listed}
    except OSError as error:
        raise CourseError(f"{shorten(release)} is not whole: {reason_of(error)}; release again.") from None
    changed = next((name for name in listed if release_manifest.digest(files[name]) != listed[name]), None)
    if changed is not None:
        raise CourseError(
            f"{shorten(release)} is no release as it was written: {changed} was changed. Name the release"
            f" first, then the student's folder: kata update RELEASE FOLDER"
        )
    return write_release(folder, files, **release_manifest.read_about(release))


def _is_ours(folder: Path, name: str, wrong_code: Container[str]) -> bool:
    """Return whether a file is none of a student's: no exercise, a stub, or the wrong code of a kata that is
    to be repaired. A list of files may say anything."""
    if not name.startswith(release_manifest.OWN) or not name.endswith(".py"):
        return True
    text = text_of(folder / name)
    return is_unwritten(text) or text_digest(text) in wrong_code


def _wrong_code(files: Iterable[bytes]) -> set[str]:
    """Return the digests of wrong code that declarations name."""
    return {found.decode() for data in files for found in WRONG_CODE.findall(data)}


def _declarations(folder: Path) -> list[Path]:
    return sorted((folder / "tests" / "katas").glob("*/test_*.py"))


def _content(path: Path) -> bytes:
    with suppress(OSError):
        return read_file(path)
    return b""


def _has_link(folder: Path, name: str) -> bool:
    """Return whether a name leads out of the folder, or over a link in it."""
    parts = safe_parts(name)
    places = [folder.joinpath(*parts[: end + 1]) for end in range(len(parts))]
    return not parts or any(place.is_symlink() for place in places)


def _corrected_statements(folder: Path, files: dict[str, bytes], before: dict[str, str]) -> dict[str, bytes]:
    """Return the statements that were corrected since a student began, as files beside the student's code."""
    found = {}
    for name, data in files.items():
        note = f"{name.removesuffix('.py')}{renaming.STATEMENT_SUFFIX}"
        is_stub = name.startswith(release_manifest.OWN) and name.endswith(".py")
        is_new = before.get(name) not in (None, release_manifest.digest(data)) or note in before
        if not (is_stub and is_new) or _has_link(folder, name):
            continue
        try:
            theirs = read_bytes(folder / name, name)
        except SubmissionRejected:
            continue
        statement = renaming.statement_of(data.decode("utf-8", "replace"))
        known = renaming.statement_of(theirs.decode("utf-8", "replace")) or ""
        is_begun = release_manifest.digest(theirs) not in (before.get(name), release_manifest.digest(data))
        if is_begun and statement and renaming.is_changed(known, statement):
            kata = PurePosixPath(name).stem
            found[note] = renaming.to_text(kata, statement, known).encode("utf-8", "replace")
    return found


def _moved(
    folder: Path, files: dict[str, bytes], before: dict[str, str], renamed: object
) -> dict[str, bytes]:
    """Return a file beside the begun code of each renamed kata that says where its new place is."""
    stubs = {PurePosixPath(name).stem: name for name in files if name.startswith(release_manifest.OWN)}
    found = {}
    for known in before:
        name = known.replace(renaming.STATEMENT_SUFFIX, ".py")
        old = PurePosixPath(name).stem
        new = str(renamed.get(old)) if isinstance(renamed, dict) else ""
        is_exercise = name.startswith(release_manifest.OWN) and name.endswith(".py")
        if not is_exercise or name in files or new not in stubs or _has_link(folder, name):
            continue
        with suppress(SubmissionRejected):
            if release_manifest.digest(read_bytes(folder / name, name)) != before.get(name):
                note = f"{name.removesuffix('.py')}{renaming.STATEMENT_SUFFIX}"
                found[note] = renaming.moved(old, new, stubs[new]).encode()
    return found


def _stub(course: Course, info: KataInfo) -> bytes:
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


def _syllabus(course: Course, infos: list[KataInfo]) -> Syllabus:
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


SECONDS = 120
SPACE = uuid.UUID("5f0b0f0e-6f4c-4b0e-9a34-2f1c5b1d7d0a")  # so that a second release keeps the ids

#: Shows what was handed in and what the grader says, as PrairieLearn's own questions do.
RESULTS = (
    "<pl-submission-panel>\n  <pl-external-grader-results></pl-external-grader-results>\n"
    "  <pl-file-preview></pl-file-preview>\n</pl-submission-panel>\n"
)


def prairielearn_files(course: Course, core: dict[str, bytes], infos: list[KataInfo]) -> dict[str, bytes]:
    """Return a question per kata for `questions/`, and the folder of their common image."""
    files = _image(core, "prairielearn_run.sh", "run.sh", "COPY run.sh /dojo/run.sh")
    for info in infos:
        needed = course.with_needs([info])
        own = {
            "info.json": _json(_question(info, course.syllabus.slug)),
            "question.html": _page(course, info, needed),
        }
        own |= {"tests/kata": f"{info.name}\n"}
        own |= {f"{one.name}.py": course.stub(one).read_text("utf-8") for one in needed}
        files |= {f"questions/{info.name}/{name}": text.encode() for name, text in own.items()}
    return files


def exercism_files(course: Course, core: dict[str, bytes], infos: list[KataInfo]) -> dict[str, bytes]:
    """Return a track: its configuration, a practice exercise per kata, and the test runner."""
    copy = 'COPY bin /bin/runner\nENTRYPOINT ["sh", "/bin/runner/run.sh"]'
    files = _image(core, "exercism_run.sh", "bin/run.sh", copy)
    files["config.json"] = _json(_track(course, infos)).encode()
    for info in infos:
        needed = course.with_needs([info])
        solution = [f"{one.name}.py" for one in needed]
        meta = {
            "authors": [],
            "files": {"solution": solution, "test": [], "example": []},
            "blurb": info.title,
            "source": info.source,
        }
        own = {".meta/config.json": _json(meta), ".docs/instructions.md": _statement(course, info) + "\n"}
        own |= {f"{one.name}.py": course.stub(one).read_text("utf-8") for one in needed}
        folder = f"exercises/practice/{_slug(info)}"
        files |= {f"{folder}/{name}": text.encode() for name, text in own.items()}
    return files


def _image(core: dict[str, bytes], template: str, script: str, copy: str) -> dict[str, bytes]:
    """Return the folder from which `docker build image` makes the image."""
    files = {f"image/dojo/{name}": data for name, data in core.items()}
    files[f"image/{script}"] = fill_template(template).encode()
    files["image/Dockerfile"] = fill_template("Dockerfile", COPY=copy).encode()
    return files


def _question(info: KataInfo, image: str) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid5(SPACE, f"prairielearn/{info.name}")),
        "title": info.title,
        "topic": info.track,
        "tags": [],
        "type": "v3",
        "singleVariant": True,
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": "sh /dojo/run.sh",
            "timeout": SECONDS,
        },
    }


def _page(course: Course, info: KataInfo, needed: list[KataInfo]) -> str:
    """Return the question: the statement, an editor for each file, and the results."""
    statement = html.escape(_statement(course, info)).replace("{", "&#123;").replace("}", "&#125;")
    editors = "".join(
        f'  <pl-file-editor file-name="{one.name}.py" source-file-name="{one.name}.py"'
        ' ace-mode="ace/mode/python"></pl-file-editor>\n'
        for one in needed
    )
    text = f'<pre style="white-space: pre-wrap">{statement}</pre>'
    return f"<pl-question-panel>\n  {text}\n{editors}</pl-question-panel>\n{RESULTS}"


def _statement(course: Course, info: KataInfo) -> str:
    """Return the docstring of the stub, which is the kata's statement."""
    tree = ast.parse(course.stub(info).read_text("utf-8"))
    return ast.get_docstring(tree) or info.title


def _track(course: Course, infos: list[KataInfo]) -> dict[str, Any]:
    practice = [
        {
            "slug": _slug(info),
            "name": info.title,
            "uuid": str(uuid.uuid5(SPACE, f"exercism/{info.name}")),
            "practices": [],
            "prerequisites": [],
            "difficulty": 5,
        }
        for info in infos
    ]
    return {
        "language": course.syllabus.title,
        "slug": course.syllabus.slug,
        "active": True,
        "status": {"test_runner": True, "concept_exercises": False},
        "blurb": course.syllabus.about or course.syllabus.title,
        "version": 3,
        "test_runner": {"average_run_time": 5},
        "exercises": {"concept": [], "practice": practice},
    }


def _slug(info: KataInfo) -> str:
    return info.name.replace("_", "-")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
