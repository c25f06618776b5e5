"""Answer what needs no code of a student's to run: the course, a kata's file, hints, versions, questions; and
draw what a judge has answered.

It holds nothing of a tab: every request says what it needs, so any tab goes on after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import grader
from dojo_page import judge, protocol
from dojo_page.files import ChangedOutside, FileText, NotWritten, read_edited, write, write_edited
from dojo_page.history import History, JudgedVersion
from dojo_page.marks import marks_of
from dojo_page.protocol import Answer, Problem, Request
from dojo_page.questions import fields_of, with_answer
from dojo_page.statement import rendered
from dojo_puzzle.offer import shown_puzzle
from dojo_puzzle.puzzle import NoPuzzle, opening
from dojo_review.schedule import calendar
from dojo_show.demonstration import open_demonstration, speech_in, speech_of
from dojo_show.speech import MOST_CHARACTERS, SECTION
from grader.course import search
from grader.course.catalog import Course, KataInfo
from grader.course.files import from_here, read_file
from grader.course.hints import has_puzzle, next_hint, next_number
from grader.course.plans import choice, hours_from
from grader.course.shown_solutions import has_solution, solutions
from grader.course.state import CourseState
from grader.course.stubs import BEST_COPIES, STUB_COPIES, Versions, course_statement, stub_source
from grader.course.submission import SubmissionRejected, ask, encoded
from grader.errors import CourseError, KataError, reason_of
from grader.formats import account, pages
from grader.grading.choice import grades_count
from grader.grading.standings import (
    Standing,
    first_needed,
    is_begun,
    next_kata,
    next_line,
    shown,
    standings,
)
from grader.report import to_json
from grader.texts.bounds import legible
from grader.texts.points import points

TEMPLATES = Path(__file__).parent / "templates"
MOST_LINES = 400  # of a difference


@dataclass(frozen=True)
class Host:
    """Where the judge is: "local" or "browser"; what it can do beside judging; and a function that says why a
    kata cannot be judged here, with the command that helps if there is one; empty if it can."""

    judge: str
    can: tuple[str, ...]
    missing: Callable[[KataInfo], str]


@dataclass
class Desk:
    """A course that one person works on."""

    course: Course
    host: Host
    state: CourseState = field(init=False)
    versions: Versions = field(init=False)

    def __post_init__(self) -> None:
        self.state = CourseState(self.course)
        self.versions = Versions(self.state.folder)
        speech = speech_in(self.course)
        self.lessons = dict(speech.lessons) if speech else {}
        self.parts = tuple(speech.parts) if speech else ()

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request that is not the judge's; a complaint is an answer as well."""
        carry_out = ANSWERED.get(type(request))
        if carry_out is None:
            return Problem(protocol.NO_REQUEST)
        try:
            return carry_out(self, request)
        except (CourseError, KataError, NotWritten) as error:
            return Problem(str(error))

    # --- the course ---

    def hello(self, request: protocol.Hello) -> Answer:
        """Return the course, and how far its student is."""
        found, syllabus = standings(self.course), self.course.syllabus
        following = next_kata(self.course, found, request.after)
        tracks = dict.fromkeys(one.info.track for one in found)
        return protocol.Course(
            title=syllabus.title,
            about=syllabus.about,
            judge=self.host.judge,
            version=grader.__version__,
            can=self.can(),
            due=() if grades_count(syllabus) else tuple(self.due()),
            trouble=self.state.trouble(),
            following=following.info.name if following else "",
            reason=following.reason if following else "",
            tracks=tuple(protocol.Track(track, syllabus.tracks.get(track, "")) for track in tracks),
            plans=tuple(
                protocol.Plan(name, plan.about, plan.hours, tuple(plan.katas))
                for name, plan in syllabus.plans.items()
            ),
            katas=tuple(map(self._kata, found)),
        )

    def choose(self, request: protocol.Choose) -> Answer:
        """Return the katas of a plan that fit into so many hours."""
        hours = hours_from(str(request.hours)) if request.hours else None
        found = choice(self.course, request.plan, hours)
        steps = tuple(protocol.Step(step.name, "" if hours is None else step.why) for step in found.steps)
        return protocol.Chosen(found.told, steps, found.notes)

    def can(self) -> tuple[str, ...]:
        """Return what can be done here beside judging."""
        absent = {"see"} if not self.course.syllabus.see else set()
        absent |= {"speak"} if not self.parts else set()
        return tuple(what for what in self.host.can if what not in absent)

    def _kata(self, one: Standing) -> protocol.Kata:
        info, effort = one.info, self.course.syllabus.katas.get(one.info.name)
        is_known = bool(one.state.digest)
        return protocol.Kata(
            name=info.name,
            title=pages.fill(TEMPLATES / "title.html", title=info.marked_title).strip(),
            track=info.track,
            words=protocol.Words(*search.words_of(self.course, info)),
            needs=info.needs,
            library=info.library,
            kind="code" if info.kind.is_code else "questions",
            mark=one.mark,
            has_passed=one.has_passed,
            changed=is_known and one.changed,
            score=points(one.state.score) if is_known else "",
            max_score=points(info.max_score),
            minutes=effort.minutes if effort else 0,
            difficulty=effort.difficulty if effort else 0,
            missing=self.host.missing(info),
            puzzle=bool(one.state.puzzle),
        )

    def due(self) -> list[str]:
        """Return the katas whose review is due, the first one first."""
        today = date.today()
        return [one.info.name for one in calendar(self.course, today) if one.is_due(today)]

    # --- a kata and its file ---

    def open(self, request: protocol.Open) -> Answer:
        """Return a kata with its statement and its file."""
        info = self.course.kata_info(request.kata)
        path, names = self.course.stub(info), list(self.course.katas)
        begun, known = is_begun(info, path), self.state.kata(info.name)
        if not known.digest and not begun:
            self.versions.keep(STUB_COPIES, info, path)
        found, at = read_edited(path), names.index(info.name)
        return protocol.Opened(
            kata=info.name,
            file=from_here(path),
            text=found.text,
            digest=found.digest,
            problem=found.problem,
            statement=rendered(course_statement(self.course, info, self.versions)),
            waits=first_needed(self.course, info),
            is_begun=begun,
            hints=len(info.hints),
            next_hint=next_number(info, known) if info.hints else 0,
            entry_point=info.entry_points[0] if info.entry_points else "",
            previous=names[at - 1] if at else "",
            next=names[at + 1] if at + 1 < len(names) else "",
        )

    def save(self, request: protocol.Save) -> Answer:
        """Write a text to a kata's file, unless another program has changed it."""
        info = self.course.kata_info(request.kata)
        path = self.course.stub(info)
        if request.over:
            self._keep_file(info, path)
        try:
            written = write_edited(path, request.text, None if request.over else request.base)
        except ChangedOutside as changed:
            found = changed.found
            return protocol.Conflict(found.text, found.digest, self._difference(found.text, request.text))
        return protocol.Saved(written.digest)

    def keep(self, request: protocol.Keep) -> Answer:
        """Keep a copy of a text."""
        info = self.course.kata_info(request.kata)
        return protocol.Kept(from_here(self._put_aside(info, request.text.encode("utf-8", "replace"))))

    def bring(self, request: protocol.Bring) -> Answer:
        """Write a version to a kata's file; copies of what it held and of the editor's text are kept."""
        info = self.course.kata_info(request.kata)
        path, data = self.course.stub(info), self._version(info, request.what)
        if data is None:
            return Problem(f"There is no copy of the {WHAT.get(request.what, 'version')} of {info.name}.")
        if read_edited(path).text != request.text:
            self._put_aside(info, request.text.encode("utf-8", "replace"))
        self._keep_file(info, path)
        write(path, data)
        written = FileText(data)
        return protocol.Brought(written.text, written.digest)

    def _version(self, info: KataInfo, what: str) -> bytes | None:
        match what:
            case "best":
                return self.versions.kept(BEST_COPIES, info)
            case "stub":
                return stub_source(self.course, info, self.versions)
        found = self._judged(info, what)
        return found.source.encode() if found else None

    def _keep_file(self, info: KataInfo, path: Path) -> None:
        """Keep a copy of what a kata's file holds, if there is one. Raises NotWritten."""
        try:
            self.versions.put_aside(info, read_file(path))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise NotWritten(NO_COPY.format(reason_of(error))) from None

    def _put_aside(self, info: KataInfo, data: bytes) -> Path:
        """Keep a copy of a text that something else replaces, and return where. Raises NotWritten."""
        try:
            return self.versions.put_aside(info, data)
        except OSError as error:
            raise NotWritten(NO_COPY.format(reason_of(error))) from None

    # --- hints, versions ---

    def hint(self, request: protocol.Hint) -> Answer:
        """Return the next hint."""
        info = self.course.kata_info(request.kata)
        text = next_hint(self.course, info, again="", puzzle="")
        number = next_number(info, self.state.kata(info.name)) if info.hints else 0
        html = pages.fill(TEMPLATES / "hint.html", text=text)
        return protocol.Hinted(html, number, len(info.hints), has_puzzle(self.course, info))

    def puzzle(self, request: protocol.ShowPuzzle) -> Answer:
        """Return the lines of a kata's puzzle, and remember that they were shown."""
        try:
            puzzle = shown_puzzle(self.course, self.course.kata_info(request.kata))
        except NoPuzzle as none:
            return Problem(none.reason)
        lines = tuple(protocol.PuzzleLine(letter, line.text) for letter, line in puzzle.lines.items())
        return protocol.Puzzle(puzzle.kata, opening(puzzle), "\n".join(puzzle.head), lines)

    def list_versions(self, request: protocol.ListVersions) -> Answer:
        """Return the judged versions, the last one first."""
        history = self._history(self.course.kata_info(request.kata))
        found = history.versions()
        damaged = tuple(map(from_here, history.damaged()))
        return protocol.Versions(tuple(map(_listed, reversed(found))), damaged)

    def compare(self, request: protocol.Compare) -> Answer:
        """Return how a text differs from a version."""
        info = self.course.kata_info(request.kata)
        found = self._judged(info, str(request.number))
        if found is None:
            return Problem(f"There is no copy of the version of {info.name}.")
        return protocol.Difference(self._difference(found.source, request.text))

    def _history(self, info: KataInfo) -> History:
        return History(self.state.folder, info.name)

    def _judged(self, info: KataInfo, number: str) -> JudgedVersion | None:
        found = self._history(info).versions()
        return next((one for one in found if str(one.number) == number), None)

    def _difference(self, before: str, after: str) -> str:
        """Return how a text differs from another one, as HTML."""
        try:
            lines, _ = ask("difference", list[str], encoded(before), after=after, most=MOST_LINES)
        except SubmissionRejected as refused:
            lines = [str(refused)]
        return pages.fill(TEMPLATES / "diff.html", lines=lines)

    def solution(self, request: protocol.Solution) -> Answer:
        """Return the reference of a kata that has passed, and other ways to write it."""
        found = solutions(self.course, self.course.kata_info(request.kata))
        return protocol.Solved(pages.fill(TEMPLATES / "solution.html", found=found))

    # --- what a judge has answered ---

    def verdict(self, info: KataInfo, text: str, verdict: judge.Verdict) -> Answer:
        """Return a verdict on a text as the front end shows it; the last one is kept among the versions."""
        report = verdict.report
        passes = report.status == "passed"
        found = standings(self.course) if passes else []
        if verdict.is_last and report.checks:
            self._history(info).add(report, text)
        causes = account.causes(report)
        return protocol.Verdict(
            report=to_json(legible(replace(verdict.grading, katas=(report,)))),
            html=self._drawn(info, verdict, found),
            was=verdict.was,
            seconds=round(verdict.seconds, 3),
            marks=marks_of(report, text),
            snippet=causes[0].first.snippet if causes else "",
            score=f"{points(report.score)} / {points(report.max_score)}",
            next_hint=next_number(info, self.state.kata(info.name)) if info.hints else 0,
            has_solution=passes and has_solution(self.course, info),
            is_searching=not verdict.is_last,
        )

    def _drawn(self, info: KataInfo, verdict: judge.Verdict, found: list[Standing]) -> str:
        report, following = verdict.report, next_kata(self.course, found, info.name)
        return pages.fill(
            TEMPLATES / "verdict.html",
            kata=report,
            words=WORDS[report.status],
            was=verdict.was,
            is_page=not info.kind.is_code,
            waits=first_needed(self.course, info) if report.status == "waiting" else "",
            shown=shown(report) if found else "",
            way=verdict.way,
            following=following.info if following else None,
            reason=following.reason if following else "",
            done=next_line(self.course, found, info.name) if found else "",
            progress=self._progress(info, found),
            lesson=self.lessons.get(info.name, "") if found else "",
        )

    def _progress(self, info: KataInfo, found: list[Standing]) -> list[tuple[str, int, int]]:
        """Return how far the track is, and how many katas are left until the functions write a text."""
        passed = {one.info.name for one in found if one.has_passed}
        track = [one.info.name for one in found if one.info.track == info.track]
        lines = [(f"katas of {info.track} pass", track)]
        if info.name in self.parts:
            lines.append(("katas until your functions write a text", list(self.parts)))
        return [(what, len(passed.intersection(names)), len(names)) for what, names in lines if found]

    def tried(self, answer: judge.Answer) -> Answer:
        """Return what some lines gave, or why they were not run."""
        if isinstance(answer, protocol.Dropped):
            answer = judge.Tried("", problem=answer.problem or "Stopped.")
        return protocol.Tried(pages.fill(TEMPLATES / "tried.html", tried=answer))

    # --- questions ---

    def list_fields(self, request: protocol.ListFields) -> Answer:
        """Return the questions of a page, and what was answered."""
        return fields_of(request.text)

    def fill(self, request: protocol.Fill) -> Answer:
        """Return a page with another value of a constant."""
        try:
            return protocol.Filled(with_answer(request.text, request.name, request.value))
        except SubmissionRejected:
            return protocol.Refused("This is no value. Write a number, or (2, 3), or True.")

    # --- what the functions of the course write ---

    def offer_speech(self, _: protocol.OfferSpeech) -> Answer:
        """Return what can be chosen for a text."""
        demonstration = open_demonstration(self.course)
        speech = speech_of(demonstration, self.course)
        return protocol.Speech(
            title=demonstration.titles.get(SECTION, demonstration.title),
            prompt=speech.prompt,
            longest=MOST_CHARACTERS,
            switches=tuple(
                protocol.Switch(name, switch.name, switch.effect) for name, switch in speech.switches.items()
            ),
            ways=tuple(protocol.Way(name, way.about) for name, way in speech.ways.items()),
            settings=tuple(
                protocol.Setting(name, one.about, one.low, one.high, one.step)
                for name, one in speech.settings.items()
            ),
        )


WORDS = {
    "passed": "",
    "failed": "",
    "not_started": "not started",
    "waiting": "waits",
    "error": "could not be graded",
}
WHAT = {"best": "best version", "stub": "stub"}
NO_COPY = "No copy of the file can be kept, so nothing is replaced: {}."

#: What carries out each request that is not the judge's.
ANSWERED: dict[type[Request], Callable[[Desk, Any], Answer]] = {
    protocol.Hello: Desk.hello,
    protocol.Choose: Desk.choose,
    protocol.Open: Desk.open,
    protocol.Save: Desk.save,
    protocol.Keep: Desk.keep,
    protocol.Bring: Desk.bring,
    protocol.Hint: Desk.hint,
    protocol.ShowPuzzle: Desk.puzzle,
    protocol.Solution: Desk.solution,
    protocol.ListVersions: Desk.list_versions,
    protocol.Compare: Desk.compare,
    protocol.ListFields: Desk.list_fields,
    protocol.Fill: Desk.fill,
    protocol.OfferSpeech: Desk.offer_speech,
}


def _listed(version: JudgedVersion) -> protocol.Version:
    when = datetime.fromtimestamp(version.when).strftime("%d %b, %H:%M:%S")
    reached = f"{points(version.score)} of {points(version.max_score)}"
    return protocol.Version(version.number, when, reached, version.status == "passed")
