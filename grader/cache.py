"""The folder in the user's cache where banks of cases and the numbers of hints are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where the cache is: `$XDG_CACHE_HOME` or `~/.cache`, else a folder of the system's for this user."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(chosen) if chosen else Path.home() / ".cache") / "decoder-dojo"
    except RuntimeError:  # this user has no home
        import tempfile

        return Path(tempfile.gettempdir()) / "decoder-dojo"
