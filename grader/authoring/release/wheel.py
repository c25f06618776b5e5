"""Build a wheel of the grader from the installed files, without network or build folder."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import grader
from grader.course.catalog import CourseError

PACKAGE = Path(__file__).resolve().parents[2]
EPOCH = (2020, 1, 1, 0, 0, 0)  # fixed, so that the same files give the same bytes
EXCLUDED = ("__pycache__",)


def build_wheel() -> tuple[str, bytes]:
    """Return the wheel's file name and bytes. Raises CourseError if the grader is not installed."""
    try:
        installed = distribution("decoder-dojo")
    except PackageNotFoundError:
        raise CourseError("The grader is not installed, so what it needs is unknown: make install") from None
    stem = f"decoder_dojo-{grader.__version__}"
    info = f"{stem}.dist-info"
    files = {f"grader/{name}": path.read_bytes() for name, path in sources().items()}
    files[f"{info}/METADATA"] = _metadata(installed).encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: kata\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/entry_points.txt"] = _entry_points(installed).encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    return f"{stem}-py3-none-any.whl", zipped(files)


def sources() -> dict[str, Path]:
    """Return the files of the package, without bytecode, by their path in it."""
    found = sorted(path for path in PACKAGE.rglob("*") if path.is_file())
    kept = [path for path in found if not set(EXCLUDED) & set(path.parts) and path.suffix != ".pyc"]
    return {path.relative_to(PACKAGE).as_posix(): path for path in kept}


def _metadata(installed: Distribution) -> str:
    """Return the metadata without the descriptions, which speak of the course beside the grader."""
    kept = (
        "Metadata-Version",
        "Name",
        "Requires-Python",
        "Requires-Dist",
        "Provides-Extra",
    )
    headers = [(name, value) for name in kept for value in installed.metadata.get_all(name) or []]
    headers.insert(2, ("Version", grader.__version__))  # a checkout is installed once, and goes on
    return "".join(f"{name}: {value}\n" for name, value in headers)


def _entry_points(installed: Distribution) -> str:
    scripts = [entry for entry in installed.entry_points if entry.group == "console_scripts"]
    return "[console_scripts]\n" + "".join(sorted(f"{entry.name} = {entry.value}\n" for entry in scripts))


def _record(files: dict[str, bytes], own: str) -> str:
    def line(name: str, data: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(data)}\n"

    return "".join(line(name, data) for name, data in files.items()) + f"{own},,\n"


def zipped(files: dict[str, bytes], executable: tuple[str, ...] = ()) -> bytes:
    """Return a zip archive of the files; the same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, data)
    return out.getvalue()
