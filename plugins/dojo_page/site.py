"""Write a site that judges in the browser of whoever opens it: `kata site`.

It is a folder of files for any web server: the front end, Python with NumPy for browsers, the grader, the
course without its solutions, and the answer keys of its katas in NumPy.
"""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException
from importlib.metadata import distribution
from pathlib import Path

import grader
from dojo_authoring.release import keys
from dojo_authoring.release.repository import (
    demonstration_files,
    require_prerequisites,
    stub_of,
    syllabus_of,
)
from dojo_authoring.release.wheel import sources, zipped
from dojo_authoring.verify.record import require_verified
from grader.answer_keys.file import SUFFIX, KeyFile, declaration_digest
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.files import write_whole
from grader.course.syllabus import to_text
from grader.errors import reason_of
from grader.formats import pages
from grader.texts.phrases import counted

FRONT = Path(__file__).parent / "front"
LIST, WORKER, INDEX = "site.json", "service_worker.js", "index.html"
PYODIDE = "0.29.0"
DISTRIBUTION = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/"
NUMPY = "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"
LOCK = "pyodide-lock.json"
#: Pyodide and NumPy, with the digests that Pyodide's own releases have.
RUNTIME = {
    "pyodide.mjs": "31afa960fdf68333de6f3f0513bad154495c8fc635a66b7e58ab9cf356a76501",
    "pyodide.asm.js": "f1e70077bd701757b2798fc57f540fe39cf23d36ee5cd7c1a9b3a6f35cf500a7",
    "pyodide.asm.wasm": "615172c6b2f5efe53e41d0201a98eb37c1f3aa7675d11cb06b6079b3a6b2bef5",
    "python_stdlib.zip": "e389fbdc394a00d31ff0624386c9e3e52e04727130ac73597a99c477afe4f1ca",
    NUMPY: "2ca46b70661caea8f9f8089d22495c7a24c120fc5881e68934ac3a04d3fc8a02",
}
#: What Pyodide's list of packages says of itself, and of NumPy alone.
PACKAGES = {
    "info": {
        "abi_version": "2025_0",
        "arch": "wasm32",
        "platform": "emscripten_4_0_9",
        "python": "3.13.2",
        "version": "0.28.0.dev0",
    },
    "packages": {
        "numpy": {
            "depends": [],
            "file_name": NUMPY,
            "imports": ["numpy"],
            "install_dir": "site",
            "name": "numpy",
            "package_type": "package",
            "sha256": RUNTIME[NUMPY],
            "unvendored_tests": False,
            "version": "2.2.5",
        }
    },
}
NOTICE = f"""\
Pyodide {PYODIDE} is under the Mozilla Public License 2.0; its source is at https://github.com/pyodide/pyodide.
It contains Python 3.13, which is under the licence of the Python Software Foundation: https://docs.python.org/3/license.html.
NumPy is under the 3-clause BSD licence, which is in its wheel.
"""
#: Our packages and those of others that a browser needs; their parts in C are left out.
OURS = ("grader", "dojo_authoring", "dojo_page", "dojo_puzzle", "dojo_review", "dojo_show")
THEIRS = {"Jinja2": "jinja2", "MarkupSafe": "markupsafe", "markdown-it-py": "markdown_it", "mdurl": "mdurl"}
#: What no browser runs.
LEFT_OUT = (
    "dojo_page/front/",
    "dojo_authoring/release/templates/",
    "dojo_authoring/scaffold/",
    "dojo_puzzle/cli",
    "dojo_puzzle/command",
    "grader/cli/",
)
LICENCES = ("LICENSE", "LICENCE", "COPYING")
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'\">"
)
#: What differs in the page of a site: who judges, and what it may load.
OF_A_SITE = {
    'data-judge="socket"': 'data-judge="pyodide"',
    '<meta charset="utf-8">': f'<meta charset="utf-8">\n{POLICY}',
    '<script src="theme.js">': '<script src="opened.js"></script>\n<script src="theme.js">',
}


@dataclass(frozen=True)
class SiteOptions:
    """What the command line of `kata site` says: the katas, all if none is named; a folder that has Pyodide
    and NumPy, a folder of keys that `kata key` has written, and the seed of keys that are drawn otherwise."""

    names: tuple[str, ...]
    runtime: Path | None
    keys: Path | None
    seed: int
    unverified: bool


def write_site(course: Course, folder: Path, options: SiteOptions) -> str:
    """Write the site of a course into a folder, and return what there is to say. Raises CourseError."""
    _require_own_folder(folder)
    katas = keys.chosen_katas(course, options.names)
    require_prerequisites(course, katas)
    infos = [info for info in katas if info.library == "numpy"]
    if not infos:
        raise CourseError("None of these katas is in NumPy, and a browser judges no other.")
    keys.require_solutions(course, infos)
    require_verified(course, infos, allows_unverified=options.unverified)
    files = {**runtime_files(options.runtime), **_front_files()}
    files["python.zip"] = zipped(_code())
    files["course.zip"] = zipped(course_files(course, katas))
    key_files = _given_keys(infos, options.keys) if options.keys else _drawn_keys(course, infos, options.seed)
    lists = {"FILES": {**files, INDEX: _index()}, "KEYS": key_files}
    digests = {name: {path: _digest(data) for path, data in of.items()} for name, of in lists.items()}
    version = _digest(json.dumps(digests, sort_keys=True).encode())[:16]
    files |= {**key_files, INDEX: _index(), ".nojekyll": b""}
    files[LIST] = json.dumps({"version": version, "grader": grader.__version__}).encode()
    digests["FILES"][LIST] = _digest(files[LIST])
    files[WORKER] = _with_lists((FRONT / WORKER).read_text(encoding="utf-8"), version, digests)
    _write(folder, files)
    left = len(katas) - len(infos)
    told = f"{counted(len(infos), 'kata')} in NumPy can be judged on the site in {shorten(folder)}."
    return told + f" {counted(left, 'other')} can be read there." * bool(left)


def runtime_files(folder: Path | None) -> dict[str, bytes]:
    """Return Pyodide and NumPy from a folder or from Pyodide's distribution, by their paths in a site. Raises
    CourseError if one is missing, or is not the file that was released."""
    found = {}
    for name, digest in RUNTIME.items():
        where = f"{shorten(folder)}/{name}" if folder else f"{DISTRIBUTION}{name}"
        try:
            data = (folder / name).read_bytes() if folder else _fetched(where)
        except OSError as error:
            told = f"{where} cannot be read: {reason_of(error)}."
            more = "" if folder else " Get Pyodide and NumPy elsewhere, and name their folder: --runtime."
            raise CourseError(f"{told}{more}") from None
        if _digest(data) != digest:
            raise CourseError(f"{where} is not the file of Pyodide {PYODIDE} with SHA-256 {digest}.")
        found[f"runtime/{name}"] = data
    return {
        **found,
        f"runtime/{LOCK}": json.dumps(PACKAGES).encode(),
        "runtime/licences.txt": NOTICE.encode(),
    }


def _fetched(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            data: bytes = answer.read()
    except HTTPException as error:  # the answer was cut off, or is none
        raise OSError(str(error)) from None
    return data


def course_files(course: Course, katas: list[KataInfo]) -> dict[str, bytes]:
    """Return the files of a course that a browser needs: declarations and stubs of these katas, and what
    functions of the course make together. Raises CourseError if a stub is begun."""
    found = demonstration_files(course)
    found["tests/katas/path.toml"] = to_text(syllabus_of(course, katas)).encode()
    for info in katas:
        found[f"exercises/{info.track}/{info.name}.py"] = stub_of(course, info)
        found[f"tests/katas/{info.track}/{info.path.name}"] = info.path.read_bytes()
    return found


def _code() -> dict[str, bytes]:
    """Return the packages that a browser needs, by their paths, with the licences of other people's."""
    found = {
        name: path.read_bytes()
        for name, path in sources().items()
        if name.startswith(tuple(f"{package}/" for package in OURS)) and not name.startswith(LEFT_OUT)
    }
    for name, package in THEIRS.items():
        for file in distribution(name).files or ():
            path = file.as_posix()
            is_licence = file.name.startswith(LICENCES)
            if (path.startswith(f"{package}/") and path.endswith(".py")) or is_licence:
                found[path] = Path(str(file.locate())).read_bytes()
    return found


def _front_files() -> dict[str, bytes]:
    """Return the front end, without what makes its vendored part."""
    paths = sorted(path for path in FRONT.rglob("*") if path.is_file())
    kept = {path.relative_to(FRONT).as_posix(): path for path in paths}
    made = ("vendor/build.js", "vendor/source.js", "vendor/package.json", "vendor/package-lock.json")
    own = {name: path.read_bytes() for name, path in kept.items() if name not in (INDEX, WORKER, *made)}
    own = {name: data for name, data in own.items() if "node_modules" not in name}
    return {**own, "styles.css": pages.style_of(*pages.STYLES).encode()}


def _index() -> bytes:
    text = (FRONT / INDEX).read_text(encoding="utf-8")
    for known, own in OF_A_SITE.items():
        assert text.count(known) == 1, known
        text = text.replace(known, own)
    return text.encode()


def _drawn_keys(course: Course, infos: list[KataInfo], seed: int) -> dict[str, bytes]:
    return keys.key_files(keys.with_progress(keys.draw_entries(course, infos, seed)), seed)


def _given_keys(infos: Iterable[KataInfo], folder: Path) -> dict[str, bytes]:
    """Return the keys that a folder holds. Raises CourseError if one is missing or of another state."""
    found = {}
    for info in infos:
        path = folder / f"{info.name}{SUFFIX}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CourseError(f"The key {shorten(path)} cannot be read: {reason_of(error)}.") from None
        file = KeyFile(data, f"The key {shorten(path)}")
        if file.katas.get(info.name, {}).get("declaration") != declaration_digest(info):
            raise CourseError(f"{shorten(path)} is no key of {info.name} as it is now; make it: kata key")
        found[f"keys/{info.name}{SUFFIX}"] = data
    return found


def _with_lists(text: str, version: str, digests: dict[str, dict[str, str]]) -> bytes:
    """Return the code of the service worker, with the site's version and the digests of its files in it."""
    for name, value in {"VERSION": version, **digests}.items():
        line = next(line for line in text.splitlines() if line.startswith(f"const {name} ="))
        text = text.replace(line, f"const {name} = {json.dumps(value, indent=1)};")
    return text.encode()


def _require_own_folder(folder: Path) -> None:
    """Raise CourseError for a folder with files that belong to no site."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / LIST).is_file()):
        raise CourseError(
            f"{shorten(folder)} is not empty and no site: name a new folder, or that of a site."
        )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files of a site, and remove keys and modules that it does not have any more."""
    try:
        for name, data in files.items():
            write_whole(folder / name, data)
        for place in (folder, folder / "keys"):
            for path in place.iterdir():
                if path.is_file() and path.relative_to(folder).as_posix() not in files:
                    path.unlink()
    except OSError as error:
        raise CourseError(f"{shorten(folder)} cannot be written: {reason_of(error)}.") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
