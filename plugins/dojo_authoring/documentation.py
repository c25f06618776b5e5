"""A page for each kata in the documentation: statement, signatures, and the example, drawn.

The pages are made when the documentation is built: `mkdocs.yml` names this module as a hook.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from dojo_authoring.statement import to_markdown, without_statement
from grader.course.catalog import Course, KataInfo, open_course
from grader.drawing import statement, svg
from grader.formats import pages

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
