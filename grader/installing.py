"""Say how a package is installed for the Python that runs: with its pip, or with uv, whose environments have
none."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.machinery import PathFinder
from pathlib import Path

ENVIRONMENT_FILE = "pyvenv.cfg"  # of a virtual environment
UV_LINE = "uv = "  # begins a line of that file if uv has made the environment
UVX_FOLDER = "archive-v"  # begins the name of the folder where `uvx` keeps its environments


def install_command(*packages: str) -> str:
    """Return the command that installs packages for the running interpreter, quoted for a shell. The
    interpreter's path is relative if it lies in the current folder. `uvx` takes packages for one run."""
    python = _python()
    # `importlib.util.find_spec` would ask setuptools too, which then leaves distutils to the standard library
    if PathFinder.find_spec("pip") is not None:
        return shlex.join([python, "-m", "pip", "install", *packages])
    if _is_made_by_uv():
        if Path(sys.prefix).parent.name.startswith(UVX_FOLDER):
            return shlex.join(["uvx", *(f"--with={one}" for one in packages), "--from", "WHEEL", "grade"])
        return shlex.join(["uv", "pip", "install", "--python", python, *packages])
    with_pip = shlex.join([python, "-m", "ensurepip"])
    return f"{with_pip} && {shlex.join([python, '-m', 'pip', 'install', *packages])}"


def _python() -> str:
    """Return the path of the interpreter. Its folder says which environment it belongs to, so no link is
    followed."""
    path = os.path.abspath(sys.executable)
    inside = path.startswith(os.path.join(os.getcwd(), ""))
    return os.path.relpath(path) if inside else path


def _is_made_by_uv() -> bool:
    try:
        text = Path(sys.prefix, ENVIRONMENT_FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return any(line.startswith(UV_LINE) for line in text.splitlines())
