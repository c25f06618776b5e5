"""Build a wheel of the grader from the installed files, without network or build folder."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import grader
from grader.course.catalog import CourseError
from grader.plugins import packages

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
