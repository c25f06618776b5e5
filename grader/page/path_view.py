"""The path: all katas with their state, found by a part of their names, and where to go on."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from nicegui import html, ui
from nicegui.events import GenericEventArguments

from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.formats import pages
from grader.grading.standings import Standing, matches, next_kata, standings
from grader.page.keys import Key, focus_on, listen
from grader.page.workplace import Workplace, prefix

TEMPLATE = Path(__file__).parent / "templates" / "path.html"


class PathView:
    """The list of all katas; a search takes names, titles, tracks and the names that people know."""

    def __init__(self, place: Workplace) -> None:
        self.place, self.course = place, place.course
        self.found = standings(self.course)
        self.plan, self.text = "", ""
        with html.div(id="main").classes("path"):
            self._head()
            self.list = ui.html("", sanitize=False)
        self._show()
        ui.timer(0.1, lambda: focus_on(".path .first"), once=True)  # so that Enter goes on
        listen(
            [
                Key("n", "Go on where you were.", self.go_on),
                Key("/", "Search.", lambda: ui.run_javascript("document.getElementById('search').focus()")),
                Key("s", "See the decoder at work.", lambda: ui.navigate.to("/see")),
            ]
        )

    def _head(self) -> None:
        passed = sum(one.has_passed for one in self.found)
        html.h1(self.course.syllabus.title)
        html.p(self.course.syllabus.about).classes("quiet")
        html.p(f"{passed} of {len(self.found)} katas pass.")
        if trouble := self.place.state.trouble():
            html.p(trouble)
        with html.div().classes("tools"):
            following = self._following()
            if following:
                begun = any(one.mark for one in self.found)
                html.button(f"{'Go on' if begun else 'Begin'}: {following.name}", type="button").classes(
                    "first"
                ).on("click", self.go_on)
            search = html.input_(
                id="search", type="search", placeholder="Search", **{"aria-label": "Search the katas"}
            )
            search.on("input", self._search, js_handler="(event) => emit(event.target.value)")
            search.on("keydown.enter", self._open_first)
            if self.course.syllabus.plans:
                with html.select(**{"aria-label": "Plan"}).on(
                    "change", self._choose, js_handler="(event) => emit(event.target.value)"
                ):
                    html.option("all katas", value="")
                    for name in self.course.syllabus.plans:
                        html.option(f"plan {name}", value=name)

    def _following(self) -> KataInfo | None:
        """Return the kata that was saved last and does not pass, or else the next one."""
        begun = [one.info for one in self.found if one.mark == "begun" and not one.state.has_passed]
        saved = max(begun, key=lambda info: self.course.stub(info).stat().st_mtime_ns, default=None)
        return saved or next_kata(self.found, "")

    def go_on(self) -> None:
        following = self._following()
        if following:
            ui.navigate.to(f"/kata/{following.name}")

    def _search(self, event: GenericEventArguments) -> None:
        self.text = str(event.args)[:100]
        self._show()

    def _choose(self, event: GenericEventArguments) -> None:
        self.plan = str(event.args)
        self._show()

    def _open_first(self) -> None:
        if shown := self._shown():
            ui.navigate.to(f"/kata/{shown[0].info.name}")

    def _shown(self) -> list[Standing]:
        plan = self.course.syllabus.plans.get(self.plan)
        found = [one for one in self.found if plan is None or one.info.name in plan.katas]
        meant = _meant(self.course, self.text) if self.text else set()
        return [one for one in found if matches(one.info, self.text) or one.info.name in meant]

    def _show(self) -> None:
        grouped = groupby(self._shown(), key=lambda one: one.info.track)
        tracks = [(track, list(ones)) for track, ones in grouped]
        efforts = self.course.syllabus.katas
        self.list.content = pages.fill(TEMPLATE, tracks=tracks, efforts=efforts, prefix=prefix())


def _meant(course: Course, word: str) -> set[str]:
    """Return the katas that a word means as it does for `grade`: an alias, a path, a track."""
    try:
        return {info.name for info in course.katas_meant(word)}
    except CourseError:
        return set()
