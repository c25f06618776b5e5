"""The command of students: `grade`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from grader.commanding import Guarded, Names, course_option
from grader.formats.registry import NAMES as FORMATS


@click.command(cls=Guarded, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=Names())
@click.option("--file", "file", type=click.Path(path_type=Path), help="Grade this file (one kata).")
@course_option
@click.option("--exercises", type=click.Path(path_type=Path), help="The folder of exercises.")
@click.option("--all", "all_katas", is_flag=True, help="Grade every kata; those not begun get no points.")
@click.option("--protect", is_flag=True, help="List the files of a release that were changed.")
@click.option("--list", "list_katas", is_flag=True, help="Show all katas and how far they are.")
@click.option("--hint", is_flag=True, help="Show the next hint for a kata.")
@click.option("--watch", is_flag=True, help="Grade again whenever a file is saved.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--format",
    "forms",
    type=click.Choice(FORMATS),
    multiple=True,
    default=["terminal"],
    show_default=True,
    help="What the report is for; can be given several times.",
)
@click.option(
    "--isolation",
    type=click.Choice(["required", "best", "none"]),
    default="best",
    show_default=True,
    help="Refuse to grade without a whole sandbox; take what this machine has; use a plain process.",
)
@click.option("--show-output", is_flag=True, help="Show what the code printed, quoted.")
@click.option("--key", type=click.Path(path_type=Path), help="Grade with this answer key, file or folder.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file with a sealed key's secret.")
@click.option("--output", help="Write the report to this file; several formats go to this folder.")
def grade(names: tuple[str, ...], **options: Any) -> None:
    """Grade katas: those named, or all that are begun."""
    from grader.session import run
    from grader.wishes import Wishes

    code = run(Wishes(names=names, **options))
    sys.exit(code)


def compute_in_one_thread() -> None:
    """Keep NumPy's linear algebra from starting threads, which costs more than all that is computed here."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """`grade` as a program: it ends without taking PyTorch apart, which takes a fifth of the time."""
    compute_in_one_thread()
    try:
        grade()
    except SystemExit as ended:
        if sys.stdout is not None and sys.stderr is not None and isinstance(ended.code, int | None):
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code or 0)
        raise


if __name__ == "__main__":
    main()
