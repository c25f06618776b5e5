"""Open the course in the browser: `grade page`."""

from __future__ import annotations

import html
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from grader.cli.keyboard import open_address
from grader.cli.options import PASSED, GradeOptions
from grader.course.catalog import Course
from grader.plugins import libraries_told

MISSING = "The page needs Starlette, Uvicorn, websockets and markdown-it-py, which are not installed"
PACKAGES = ("starlette>=1.0", "uvicorn>=0.40", "websockets>=15", "markdown-it-py>=4")


def run_page(course: Course, options: GradeOptions, port: int) -> int:
    """Serve the page until Ctrl-C, and return the exit code. Raises CourseError if what it needs is missing
    or the port is taken."""
    with libraries_told(MISSING, *PACKAGES):
        from dojo_page import server
        from dojo_page.messages import JudgeTerms
    address, listener = server.open_address(course.root, port)
    with TemporaryDirectory(prefix="decoder-dojo-", dir=_readable_by_browsers()) as folder:

        def open_browser() -> None:
            if not (address.token or open_address(without_secret(address.new_url(), Path(folder)))):
                click.echo("No browser can be started here; open the address in one.")

        if not address.token:
            click.echo(f"{course.syllabus.title} is at {address.new_url()}\nCtrl-C ends it.")
        server.serve(course, JudgeTerms.of(course, options), address, listener, open_browser)
    return PASSED


def without_secret(url: str, folder: Path) -> str:
    """Return the address of a page in a private folder that leads to `url`: what a browser is started with
    stands in the list of processes, which everybody on this machine can read.

    A browser on Windows reads no file of WSL, and on macOS no address stands in that list.
    """
    if sys.platform == "darwin" or os.environ.get("WSL_DISTRO_NAME"):
        return url
    page = folder / "open.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">', encoding="utf-8")
    return page.as_uri()


def _readable_by_browsers() -> Path | None:
    """Return where a folder can be made that a browser may read: one that came as a snap sees no temporary
    files, and in the home folder none that are hidden. None stands for the temporary files."""
    return Path.home() if Path("/snap/bin").is_dir() and os.access(Path.home(), os.W_OK) else None
