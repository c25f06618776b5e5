"""The statement of a kata, which is the course's, whatever a student's own docstring says."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from nicegui import html, ui

from dojo_authoring.statement import to_markdown
from dojo_page.formulas import SHAPE, as_html
from dojo_page.workplace import Workplace, prefix
from grader.course.catalog import KataInfo
from grader.course.stubs import course_statement
from grader.drawing import statement, svg
from grader.grading.standings import first_needed

#: The elements of a statement: no link, no image, no HTML.
MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "list", "emphasis", "backticks", "escape"])
LONGEST_STATEMENT = 1 << 16  # characters of a statement that are shown
FENCED = re.compile(r"^(`{3,})text\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(<pre>.*?</pre>|<code>.*?</code>)", re.DOTALL)
CALLOUT = "<p><strong>What goes wrong:</strong>"


def rendered(text: str) -> str:
    """Return a statement as HTML: shapes stand out, formulas are set, and an example is drawn below it."""
    markdown = to_markdown(text).removeprefix("#")
    parts = CODE.split(MARKDOWN.render(markdown))
    blocks = iter(FENCED.findall(markdown))
    for at, part in enumerate(parts):
        if part.startswith("<pre>"):
            lines = next(blocks)[1].split("\n")
            drawn = statement.pictures("\n".join(statement.INDENT + line for line in lines))
            figures = "".join(map(svg.draw, drawn))
            parts[at] = as_html(lines)
            if figures:
                parts[at] = (
                    f'<div class="example"><div>{parts[at]}</div><div class="drawn">{figures}</div></div>'
                )
        elif not part.startswith("<code>"):
            parts[at] = SHAPE.sub(r'<code class="shape">\g<0></code>', part)
    return "".join(parts).replace(CALLOUT, CALLOUT.replace("<p>", '<p class="callout">'))


def show_statement(place: Workplace, info: KataInfo) -> None:
    """Build the statement, its pictures, and what has to be done before the kata."""
    effort = place.course.syllabus.katas.get(info.name)
    minutes = f", {effort.minutes} minutes" if effort else ""
    with html.div().classes("above"):
        with html.p().classes("quiet small"):
            html.a("All katas", href=f"{prefix()}/")
            html.span(f" · {info.track} · {info.name}{minutes}")
        html.button("Hide", type="button", **{"data-act": "fold", "aria-label": "Hide the statement"})
    text = course_statement(place.course, info, place.versions)
    ui.html(rendered(text[:LONGEST_STATEMENT]), sanitize=False)
    if waits := first_needed(place.course, info):
        html.p(waits).classes("note")
