"""Show what students read.

`kata preview` shows a kata in the terminal, on a page and in a notebook. `kata feedback` writes one page per
kata with the report on each mistake, for reviewers.

A page for each kata in the documentation; `mkdocs.yml` names this module as a hook.

A page has the statement, the signatures and the statement's example, drawn. It is made when the documentation
is built and is not kept in the repository.

`kata overview`: a table of all katas, made from their files without running them.
"""

from __future__ import annotations

import ast
import re
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import click

from dojo_authoring.parallel import for_each
from dojo_authoring.release import keys
from dojo_authoring.verify.static_checks import missing_files, public_definitions
from dojo_notebooks.notebook import to_markdown, without_statement
from grader.answer_keys.answers import spread
from grader.checks.builtin import BUILTIN
from grader.course.catalog import Course, CourseError, KataInfo, open_course, shorten
from grader.course.files import parse, write_whole
from grader.course.known_solutions import standalone_sources
from grader.course.mistake_edits import read_edits
from grader.course.submission import Submission, SubmissionRejected, decoded, read_bytes
from grader.drawing import statement, svg
from grader.formats import html, pages, terminal
from grader.grading.session import open_grader
from grader.report import KataReport, Report

OVERVIEW_HEAD = "| kata | checks | laws | mistakes | variants | source |\n|---|---:|---:|---:|---:|---|"


def overview(course: Course) -> str:
    """Return a Markdown table for each track: the numbers of checks, mistakes and variants, the source."""
    parts = []
    for track in dict.fromkeys(info.track for info in course.katas.values()):
        rows = [_row(course, info) for info in course.katas.values() if info.track == track]
        if rows:
            parts.append("\n".join([f"## {track}", "", OVERVIEW_HEAD, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(course: Course, info: KataInfo) -> str:
    laws, corners = (_decorated(info.path, f"KATA.{kind}") for kind in ("law", "corner"))
    mistakes, variants = (
        _count_definitions(course.solution(info, part)) for part in ("mistakes", "variants")
    )
    mistakes += len(read_edits(course.edits(info)))
    free = sum(not check.nature.is_optional for check in BUILTIN.values()) + _optional_checks(info)
    checks = free + laws + corners if info.kind.is_code else len(info.entry_points)
    mark = " (draft)" if info.draft else ""
    return f"| `{info.name}`{mark} | {checks} | {laws} | {mistakes} | {variants} | {info.source} |"


def _decorated(path: Path, kind: str) -> int:
    """Count the functions with the decorator `kind`, such as `KATA.law`."""
    return sum(
        isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == kind
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _optional_checks(info: KataInfo) -> int:
    """Count the checks of gradients and of the device that the declaration asks for."""
    tree = ast.parse(info.path.read_text(encoding="utf-8"))
    keywords = {
        keyword.arg: keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant)
    }
    on_device = keywords.get("grades_device")
    device = info.library == "torch" if on_device is None else bool(on_device)
    return int(bool(keywords.get("grades_gradients"))) + int(device)


def _count_definitions(path: Path) -> int:
    """Count the public functions and classes of a file; 0 without the file, as for a draft."""
    return sum(1 for _ in public_definitions(path)) if path.is_file() else 0


OVERVIEW = "katas.md"
WIDE = ("index.md", OVERVIEW, "comparison.md")  # without the list of pages at the left
NAME = re.compile(r"^\| `(\w+)`", re.MULTILINE)  # of a kata, in the first column of a table


def page_path(info: KataInfo) -> str:
    """Return the path of a kata's page in the documentation."""
    return f"katas/{info.name}.md"


def kata_page(course: Course, info: KataInfo) -> str:
    """Return the page of a kata as Markdown."""
    stub = course.stub(info).read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(stub)) or info.title
    signatures = without_statement(stub).strip()
    names = list(course.katas)
    after = names[names.index(info.name) + 1 :][:1]
    return (
        f"# {info.name}\n\n{to_markdown(text)}\n{_drawn(course, info, text)}## What to write\n\n"
        f"```python\n{signatures}\n```\n\nGrade it with `grade {info.name}`; "
        f"`grade hint {info.name}` gives a hint.\n\n"
        f"[All katas](../{OVERVIEW}){''.join(f' · Next: [{name}]({name}.md)' for name in after)}\n"
    )


def _drawn(course: Course, info: KataInfo, text: str) -> str:
    """Return what the statement prints as pictures; "" if there is nothing to draw."""
    drawings = map(svg.draw, statement.pictures(text, course.declaration(info).axes))
    figures = "\n\n".join(f'<div class="drawn">{drawing}</div>' for drawing in drawings)
    style = f"<style>{pages.style_of(*pages.DRAWN)}</style>"
    return f"## The example, drawn\n\n{style}\n\n{figures}\n\n" if figures else ""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of all katas to those that mkdocs found."""
    from mkdocs.structure.files import File, InclusionLevel

    course = open_course(None, None)
    for info in course.katas.values():
        content, hidden = kata_page(course, info), InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page_path(info), content=content, inclusion=hidden))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page of the documentation; the table of katas gets links to their pages."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["navigation"]
    return NAME.sub(r"| [`\1`](katas/\1.md)", markdown) if page.file.src_uri == OVERVIEW else markdown


HEAD = "# `{name}`: what each mistake is told\n"
SHOWN = 3  # mistakes whose reports are shown: the first, the middle and the last one of the file


def preview(course: Course, info: KataInfo, folder: Path) -> None:
    """Print the statement and the reports on some mistakes, and write page and notebook into the folder."""
    if missing := missing_files(course, info):
        raise CourseError(missing[0])
    stub = _stub(course, info)
    click.echo(f"{shorten(course.stub(info))} is what a student opens:\n\n{stub}")
    reports = _reports(course, info)
    for name, report in reports.items():
        click.echo(f"\n{name} would read:\n\n{terminal.render_kata(report)}", nl=False)
    for path in _write(course, info, stub, folder, list(reports.values())):
        click.echo(f"wrote {shorten(path)}")


def _reports(course: Course, info: KataInfo) -> dict[str, KataReport]:
    """Return the reports on SHOWN mistakes by the mistake's name; none if there are no mistakes yet."""
    if not course.mistakes(info):
        return {}
    grader, source = open_grader(course, [info])
    with closing(source):
        sources = standalone_sources(course, info, "mistakes")
        shown = {name: Submission(info, sources[name], f"{name}.py") for name in spread(list(sources), SHOWN)}
        graded = {name: grader.grade(submission).report for name, submission in shown.items()}
    return {name: replace(report, output="") for name, report in graded.items()}


def _stub(course: Course, info: KataInfo) -> str:
    """Return the file that students begin with. Raises CourseError, and KataError for a syntax error."""
    path = course.stub(info)
    try:
        stub = decoded(read_bytes(path, shorten(path)), shorten(path))
    except SubmissionRejected as error:
        raise CourseError(str(error)) from None
    parse(path)
    return stub


def _write(course: Course, info: KataInfo, stub: str, folder: Path, reports: list[KataReport]) -> list[Path]:
    """Write the statement as Markdown, the page of the reports and, with nbformat, the notebook."""
    statement = to_markdown(ast.get_docstring(ast.parse(stub)) or info.title)
    texts = {f"{info.name}.md": statement, f"{info.name}.ipynb": _notebook(course, info)}
    texts |= {f"{info.name}.html": html.render(Report(tuple(reports)))} if reports else {}
    for name, text in texts.items():
        if text:
            write_whole(folder / name, text.encode())
    return [folder / name for name, text in texts.items() if text]


def _notebook(course: Course, info: KataInfo) -> str:
    """Return the notebook as students get it, without solutions; empty if nbformat is not installed."""
    try:
        from dojo_notebooks.notebook import notebook_of

        return notebook_of(course, [info], solved=False)
    except ImportError:
        return ""


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
