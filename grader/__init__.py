"""Decoder Dojo: a grader for katas that names the mistake."""

from typing import Any

__version__ = "1.0.0"  # the only place; pyproject.toml reads it


def load_ipython_extension(shell: Any) -> None:
    """Add the magics %%kata, %grade, %hint and %see to a notebook that runs `%load_ext grader`."""
    from grader.plugins import PARTS_GROUP, load

    load(PARTS_GROUP, "magics", "`%load_ext grader`")(shell)
