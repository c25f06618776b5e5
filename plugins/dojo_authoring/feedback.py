"""`kata feedback`: one page per kata with the report on each mistake, for reviewers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click

from dojo_authoring.parallel import for_each
from dojo_authoring.release import keys
from grader.course.catalog import Course, KataInfo, shorten
from grader.course.files import write_whole
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.formats import terminal
from grader.grading.session import open_grader

HEAD = "# `{name}`: what each mistake is told\n"


def write_feedback(course: Course, folder: Path, names: tuple[str, ...]) -> None:
    """Write the pages of the named katas, or of all katas, into the folder."""
    infos = keys.chosen_katas(course, names)
    keys.require_solutions(course, infos, "Feedback is")
    for info, text in for_each(course, infos, feedback):
        page = folder / f"{info.name}.md"
        write_whole(page, text.encode())
        click.echo(shorten(page))


def feedback(course: Course, info: KataInfo, most: int | None = None) -> str:
    """Return the page of one kata: each mistake (the first `most`, if given) with its report."""
    if not course.mistakes(info):
        return f"{HEAD.format(name=info.name)}\nNo mistakes are written yet.\n"
    grader, source = open_grader(course, [info])
    parts = [HEAD.format(name=info.name)]
    with closing(source):
        for name, code in islice(standalone_sources(course, info, "mistakes").items(), most):
            report = grader.grade(Submission(info, code, f"{name}.py")).report
            text = terminal.render_kata(replace(report, output=""))  # printed output may contain local paths
            parts.append(f"## {name}\n\n```\n{text}```\n")
    return "\n".join(parts)
