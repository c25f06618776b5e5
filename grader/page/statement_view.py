"""The statement of a kata, which is the course's, whatever a student's own docstring says."""

from __future__ import annotations

from markdown_it import MarkdownIt
from nicegui import html, ui

from grader.course.catalog import KataInfo
from grader.course.files import text_of
from grader.course.state import STUBS, statement_of, stub_source
from grader.drawing import statement, svg
from grader.grading.standings import first_needed
from grader.notebooks.notebook import to_markdown
from grader.page.workplace import Workplace

#: The elements of a statement: no link, no image, no HTML.
MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "list", "emphasis", "backticks", "escape"])
LONGEST = 1 << 16  # characters of a statement that are shown


def statement_text(place: Workplace, info: KataInfo) -> str:
    """Return the statement of the stub that was kept, of the course's own one, or else of the file."""
    kept = place.versions.kept(STUBS, info)
    sources = (kept, None if kept else stub_source(place.course, info, place.versions))
    texts = [data.decode(errors="replace") for data in sources if data]
    texts.append(text_of(place.course.stub(info)))
    return next(filter(None, map(statement_of, texts)), info.title)


def show_statement(place: Workplace, info: KataInfo) -> None:
    """Build the statement, its pictures, and what has to be done before the kata."""
    effort = place.course.syllabus.katas.get(info.name)
    minutes = f", {effort.minutes} minutes" if effort else ""
    with html.div().classes("above"):
        html.p(f"{info.track} · {info.name}{minutes}").classes("quiet small")
        html.button("Hide", type="button", **{"data-act": "fold", "aria-label": "Hide the statement"})
    text = statement_text(place, info)
    ui.html(MARKDOWN.render(to_markdown(text[:LONGEST]).removeprefix("#")), sanitize=False)
    for picture in statement.pictures(text):
        ui.html(svg.draw(picture), sanitize=False)
    if waits := first_needed(place.course, info):
        html.p(waits).classes("note")
