"""Open the course in the browser: `grade --page`."""

from __future__ import annotations

import click

from grader.cli.keyboard import open_address
from grader.cli.options import PASSED, GradeOptions
from grader.course.catalog import Course, CourseError

MISSING = "The page needs NiceGUI, which is not installed: pip install 'nicegui>=3.18'"


def run_page(course: Course, options: GradeOptions) -> int:
    """Serve the page until Ctrl-C, and return the exit code. Raises CourseError if NiceGUI is missing or the
    port is taken."""
    try:
        from grader.page import server
        from grader.page.messages import Terms
    except ModuleNotFoundError as missing:
        if missing.name and missing.name.startswith("grader"):
            raise
        raise CourseError(MISSING) from None
    address = server.free_address(options.port)
    if not address.is_proxied:
        click.echo(f"{course.syllabus.title} is at {address.url}\nCtrl-C ends it.")

    def open_browser() -> None:
        if not (address.is_proxied or open_address(address.url)):
            click.echo("No browser can be started here; open the address in one.")

    server.serve(course, Terms.of(course, options), address, open_browser)
    return PASSED
