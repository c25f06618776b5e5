"""Open a file in the student's editor, at a line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

BY_OPTION = {"code", "code-insiders", "codium", "cursor"}  # open a window: code -g FILE:LINE
BY_SUFFIX = {"subl", "zed", "hx", "helix"}  # FILE:LINE
WINDOWS = BY_OPTION | {"subl", "zed"}


def command(path: Path, line: int) -> list[str]:
    """Return the command that opens a file at a line: `code` in its own terminal, else $VISUAL, $EDITOR, or
    `code` if it is installed. Empty if there is no editor."""
    code = shutil.which("code")
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if code and (os.environ.get("TERM_PROGRAM") == "vscode" or not chosen):
        chosen = shlex.quote(code)
    words = shlex.split(chosen)
    if not words:
        return []
    name = Path(words[0]).stem
    if name in BY_OPTION:  # without `--wait`, which is meant for commit messages
        return [words[0], "-g", f"{path}:{line}"]
    return [*words, f"{path}:{line}"] if name in BY_SUFFIX else [*words, f"+{line}", str(path)]


def open_editor(path: Path, line: int, terminal: AbstractContextManager[None]) -> str:
    """Open the file, in `terminal` if the editor needs one. Return what went wrong, or ""."""
    words = command(path, line)
    if not words:
        return f"There is no editor: set the variable EDITOR. The place is {path}:{line}"
    try:
        if Path(words[0]).stem in WINDOWS:
            subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            with terminal:
                subprocess.run(words, check=False)
    except OSError:
        return f"The editor `{words[0]}` cannot be started. The place is {path}:{line}"
    return ""
