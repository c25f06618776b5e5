"""`grade` on a terminal: grade what is begun, then whatever is saved, and answer keys in between."""

from __future__ import annotations

import base64
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from grader.cli import plan_text
from grader.cli.console import error_text, linked, milestones, note_text, renamed_text, view_of
from grader.cli.due_reviews import due_line
from grader.cli.kata_list import bar, kata_list, welcome
from grader.cli.keyboard import END, ENTER, Key, Keyboard, footer, help_text, open_editor, open_page
from grader.cli.options import PAGE, PASSED, GradeOptions
from grader.cli.practice import brought_back, replacing_question
from grader.cli.progress import Progress
from grader.cli.saved_files import POLL_SECONDS, SavedFiles
from grader.course import search
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import from_here, text_of
from grader.course.hints import next_hint, next_number
from grader.course.known_solutions import one_way, other_way
from grader.course.plans import hours_from
from grader.course.renaming import statement_of
from grader.course.stubs import BEST_COPIES, STUB_COPIES, stub_source
from grader.course.submission import library_of
from grader.course.torch_words import NAMES
from grader.diagnosis.search_options import SearchOptions
from grader.errors import reason_of
from grader.formats import account, terminal
from grader.formats.terminal import View
from grader.grading.grader import Graded
from grader.grading.session import Session, lacks_library, open_session
from grader.grading.standings import (
    after_pass,
    change,
    first_needed,
    next_kata,
    shown,
    standing,
    standings,
)
from grader.report import KataReport
from grader.texts.escaping import harmless
from grader.texts.phrases import listed
from grader.texts.wrapping import paragraphs, reflowed, words
from grader.worker.client import Outdated

SILENT_SECONDS = 0.5  # of a search, before it is told
SEARCHES = "searching for the place …"
DUE_KEY = "f begins."
CLEAR = "\x1b[2J\x1b[H"


def run_loop(course: Course, options: GradeOptions) -> int:
    """Run the loop until it is quit. It begins anew where a kata needs PyTorch for the first time: a worker's
    server has to be forked before this process has read any key."""
    if not course.katas:
        raise CourseError("The course has no katas yet.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(PASSED))  # so that the terminal is set back
    found = standings(course)
    paths = [(one.info, course.stub(one.info)) for one in found if one.mark or one.info.library == "numpy"]
    saved = SavedFiles(course.stub(info) for info in course.katas.values())
    with open_session(course, paths, settings=options.grader_settings) as session, Keyboard() as keyboard:
        loop = Loop(
            session,
            keyboard,
            saved,
            lambda: view_of(options),
            clears=options.screen,
            search=options.search_seconds,
        )
        try:
            begins_anew = loop.run()
        except KeyboardInterrupt:
            begins_anew = False
    if begins_anew:
        arguments = plan_text.with_options(sys.argv[1:], loop.plan) if loop.plan else sys.argv[1:]
        os.execv(sys.executable, [sys.executable, "-P", "-m", "grader.cli.entry", *arguments])
    return PASSED


class Loop:
    """Grades files that are saved and answers keys. The current kata is the one graded or chosen last."""

    def __init__(
        self,
        session: Session,
        keyboard: Keyboard,
        saved: SavedFiles,
        view: Callable[[], View],
        *,
        clears: bool = False,
        search: float = 0.0,
    ) -> None:
        self.session, self.keyboard, self.saved = session, keyboard, saved
        self.course, self.state, self.versions = session.course, session.state, session.versions
        self.view, self.clears, self.search = view, clears, search
        self.standings = {one.info.name: one for one in standings(self.course)}
        self.current = self._latest()
        self._visited: list[KataInfo] = []  # the current katas before this one
        self.report: KataReport | None = None  # of the current kata
        self._ends = self._begins_anew = self._is_stopped = False
        self.plan: list[str] = []  # the options of the plan to begin anew with, if one was chosen
        self._reads = False  # whether the statement was shown last
        self._says_due = False  # whether the next report says which reviews are due

    # --- what happens ---

    def run(self) -> bool:
        """Grade and answer keys until the loop is quit; return whether it is to begin anew."""
        self._start()
        gc.freeze()  # the cases stay; looking at them again would now and then take 30 ms of a grading
        while not self._ends:
            for path in self.saved.take():
                self._grade_saved(path)
            for path in self.saved.take_missing():
                self._tell_missing(path)
            pressed = None if self._ends else self.keyboard.key(POLL_SECONDS)
            if pressed is not None:
                self.press(pressed)
        return self._begins_anew

    def press(self, character: str) -> None:
        """Do what a key does, or say why it cannot be used now; other keys do nothing."""
        character = ENTER[0] if character in ENTER else character.lower()
        key = next((key for key in KEYS if key.character == character), None)
        closes, self._reads = character == "q" and self._reads, character == "t"
        if closes:  # as in a pager
            self.say("q again ends.")
            return
        refusal = KEYS[-1].press(self) if character == END else key.press(self) if key else ""
        if refusal and character != ENTER[0]:  # which is pressed to see an empty line
            self.say(refusal)

    def say(self, text: str, *files: Path) -> None:
        """Print sentences, wrapped; the paths of the current kata's file and of `files` become links."""
        self._print(paragraphs(text, self.view().width), *files)

    def _print(self, text: str, *files: Path) -> None:
        view = self.view()
        text = terminal.in_ascii(text) if view.ascii_only else text
        click.echo(linked(text, view, [self._path, *files]), color=view.colour)

    def _start(self) -> None:
        """Keep the stubs, and grade what was changed since it was graded, the current kata last."""
        for one in self.standings.values():
            if not one.mark:
                self.versions.keep(STUB_COPIES, one.info, self.course.stub(one.info))
        latest = self.current
        for one in list(self.standings.values()):
            if one.mark and one.changed and one.info != latest:
                self._grade(one.info, is_brief=True)
        self.current = latest
        if self.standings[self.current.name].mark:
            self._says_due = True
            self._grade(self.current)
        else:
            how, width = "It is graded whenever you save it.", self.view().width
            self._print(welcome(self.course, self.current, how, width).rstrip())
            if due := due_line(self.course, DUE_KEY):
                self.say(due)
            self._show_keys()

    def _latest(self) -> KataInfo:
        """Return the kata whose file was saved last of those begun, or else the next one."""
        begun = [one.info for one in self.standings.values() if one.mark]
        following = next_kata(self.course, list(self.standings.values()))
        first = following.info if following else next(iter(self.course.katas.values()))
        return max(begun, key=lambda info: self.course.stub(info).stat().st_mtime_ns, default=first)

    def _grade_saved(self, path: Path) -> None:
        info = next(info for info in self.course.katas.values() if self.course.stub(info) == path)
        if info.library not in self.session.grader.factories and not lacks_library(info):
            self._ends = self._begins_anew = True
        else:
            self._grade(info)

    def _tell_missing(self, path: Path) -> None:
        """Say that a file is gone and what brings it back; its kata is the current one from now on."""
        info = next(info for info in self.course.katas.values() if self.course.stub(info) == path)
        self.standings[info.name] = standing(self.course, info, self.state.kata(info.name))
        self._turn(info)
        best = ", u the best version" if self.versions.kept(BEST_COPIES, info) else ""
        self.say(f"{from_here(path)} is gone. x brings the stub back{best}. {renamed_text(path)}".rstrip())
        self._show_keys()

    def _grade(self, info: KataInfo, *, is_brief: bool = False) -> None:
        """Grade a kata, remember and show the outcome; nothing if a file is saved meanwhile."""
        before, began = self.state.kata(info.name), time.monotonic()
        try:
            with Progress(info.name, lambda: self.session.grader.doing, self.view().width):
                graded = self.session.grade(info, self.course.stub(info), self._is_outdated)
        except Outdated:
            if self._is_stopped:
                self._tell_stopped(info)
            return
        report, now = graded.report, self.state.kata(info.name)
        self.standings[info.name] = standing(self.course, info, now)
        if is_brief:
            self.current = info  # so that the key `b` does not lead there
        self._turn(info)
        self.report = report
        seconds = time.monotonic() - began
        if is_brief:
            self._print(self._text(report, replace(self.view(), detail="brief")).rstrip())
        else:
            is_searched = graded.is_searched and self.search > 0
            view = replace(self.view(), lines=self.view().lines - terminal.PLACE_LINES * is_searched)
            self._show(change(info, before, now), seconds, view, is_first=not before.has_passed)
            self._search(graded)

    def _is_outdated(self) -> bool:
        """Return whether the running grading is of no use: a file was saved, or Esc was pressed."""
        self._is_stopped = self._is_stopped or self.keyboard.stops()
        return self._is_stopped or self.saved.is_pending

    def _tell_stopped(self, info: KataInfo) -> None:
        self._is_stopped = False
        self._turn(info)
        self.say(f"Stopped. {info.name} is graded again whenever you save it.")
        self._show_keys()

    def _search(self, graded: Graded) -> None:
        """Look for the place of the mistake until a key is pressed or a file is saved, and show it."""
        began, shown = time.monotonic(), ""

        def show(_tried: int) -> None:
            nonlocal shown
            if not shown and time.monotonic() - began >= SILENT_SECONDS:
                shown = SEARCHES
                click.echo(shown, nl=False)

        options = SearchOptions(self.search, show, lambda: self.saved.is_pending or self.keyboard.is_pending)
        verdict, self.report = graded.report, graded.locate(options).report
        if shown:
            click.echo("\r\x1b[K", nl=False, color=True)
        if found := terminal.render_found(verdict, self.report, self.view()):
            self._print(found)

    # --- what is shown ---

    def _show(self, changed: str, seconds: float, view: View, *, is_first: bool) -> None:
        """Show the report, and after a first pass what it lets one see."""
        assert self.report is not None
        if self.clears:
            click.echo(CLEAR, nl=False, color=True)  # or else click removes the sequence
        found = list(self.standings.values())
        lines = [f"{bar(found, ascii_only=view.ascii_only)}   {seconds:.2f} s"]
        lines += words(changed, view.width, "", "  ")
        lines.append("")
        lines.append(self._text(self.report, view).rstrip("\n"))
        lines += note_text(self._path, view.width).splitlines()
        if self.report.status == "waiting":
            lines += words(first_needed(self.course, self.current), view.width, "  ")
        if self.report.status == "passed":
            lines += ["", *words(shown(self.report), view.width)]
            lines += words(self._other_way(), view.width)
            for line in self._milestones() if is_first else ():
                lines += words(line, view.width)
            lines += words(after_pass(self.course, self.current, found), view.width)
        if self._says_due:
            self._says_due = False
            lines += words(due_line(self.course, DUE_KEY), view.width)
        self._print("\n".join(lines))
        self._show_keys()

    def _milestones(self) -> list[str]:
        passed = [name for name, one in self.standings.items() if one.has_passed]
        return milestones(self.course, self.current.name, passed)

    def _other_way(self) -> str:
        """Return another way to write the current kata, from its variants or from the answer key."""
        keyring = self.session.grader.keyring
        own = text_of(self._path)
        return (
            one_way(keyring.kata(self.current).way) if keyring else other_way(self.course, self.current, own)
        )

    def _text(self, report: KataReport, view: View) -> str:
        if report.status == "error":
            return error_text(report, view.width)
        return terminal.render_kata(report, replace(view, offers_commands=False))

    def _show_keys(self) -> None:
        view = self.view()
        self._print("\n" + view.paint(footer(KEYS, self, view.width), terminal.DIM))

    def _turn(self, info: KataInfo) -> None:
        if info != self.current:
            self._visited.append(self.current)
        self.current, self.report = info, None

    def _turn_to(self, info: KataInfo) -> None:
        self._turn(info)
        if self.standings[info.name].mark:
            self._grade(info)
        else:
            self.say(f"{info.name}: {info.title}. Its file is {from_here(self.course.stub(info))}.")
            if waits := first_needed(self.course, info):
                self.say(waits)
            self._show_keys()

    # --- what keys do ---

    @property
    def hint_number(self) -> str:
        """The number of the next hint and of all, such as 2/3."""
        total = len(self.current.hints)
        number = next_number(self.current, self.state.kata(self.current.name)) if total else 0
        return f"{number}/{total}" if number else ""

    def hint(self) -> None:
        self.say(next_hint(self.course, self.current, again=""))

    def next(self) -> None:
        found = list(self.standings.values())
        following = next_kata(self.course, found, self.current.name)
        if following:
            self._turn_to(following.info)
        else:
            self.say(after_pass(self.course, self.current, found))

    def open_next(self) -> None:
        before = self.current
        self.next()
        if self.current != before:
            self.open()

    def back(self) -> None:
        before = self._visited.pop()
        self.current = before  # so that it is not visited again from here
        self._turn_to(before)

    def not_visited(self) -> str:
        return "" if self._visited else "There is no kata before this one."

    def statement(self) -> None:
        """Show the docstring of the file, or that of the stub if the file cannot be read."""
        kept = self.versions.kept(STUB_COPIES, self.current) or b""
        found = (statement_of(source) for source in (text_of(self._path), kept.decode(errors="replace")))
        text = next(filter(None, found), f"{from_here(self._path)} has no docstring.")
        self.say(reflowed(harmless(text), self.view().width))

    def solution(self) -> None:
        """Show the reference beside the file, and other ways to write it."""
        from grader.cli.practice import solution_text  # it imports what builds releases

        self._print(solution_text(self.course, self.current))

    def no_solution(self) -> str:
        """Return why the reference cannot be shown."""
        if refusal := self.not_passed():
            return refusal
        from grader.course.shown_solutions import has_solution

        return "" if has_solution(self.course, self.current) else "This course keeps its solutions to itself."

    def not_passed(self) -> str:
        passed = self.standings[self.current.name].has_passed
        return "" if passed else f"{self.current.name} does not pass yet; l lists all katas."

    def list(self) -> None:
        """Show all katas, and those with a part of a name until one is left or nothing is typed."""
        self._print(kata_list(self.course, width=self.view().width))
        plan = "plan, " if self.course.syllabus.plans else ""
        while part := self.keyboard.line(f"Part of a name, {plan}or Enter to go back: "):
            if plan and part.split()[0] == "plan":
                if self._begins_plan(part.split()[1:]):
                    return None
                continue
            found = search.found(self.course, part)
            meant = search.named(self.course, part) or (found[0] if len(found) == 1 else None)
            if meant:
                if others := [info.name for info in found if info != meant]:
                    self.say(f"Also found: {listed(others)}.")
                return self._turn_to(meant)
            if not found:
                none = f"No kata has `{harmless(part, one_line=True)}` in its name, title, track or aliases."
                self.say(f"{none} {search.suggestion(self.course, part)}".rstrip())
                continue
            self._print(kata_list(self.course, part, self.view().width))
        return self._show_keys()

    def _begins_plan(self, typed: Sequence[str]) -> bool:
        """Show all plans, or one as in `interview 4`, and return whether the loop begins anew with it."""
        width = self.view().width
        if not typed:
            self._print(plan_text.all_plans(self.course, width))
            name, hours = plan_text.example_name(self.course), plan_text.FEW_HOURS
            self.say(f"plan {name} shows one, plan {name} {hours} what fits into {hours} hours.")
            return False
        name, *rest = typed
        try:
            time = hours_from(" ".join(rest)) if rest else None
            self._print(plan_text.one_plan(self.course, name, time, width))
        except CourseError as refused:
            self.say(harmless(str(refused), one_line=True))
            return False
        if not self._agrees("Begin it now?"):
            return False
        self.plan = plan_text.options_of(name, time)
        self._ends = self._begins_anew = True
        return True

    def open(self) -> None:
        problem = open_editor(self._path, self._line, self.keyboard.lent())
        if problem:
            self.say(problem)

    @property
    def _path(self) -> Path:
        return self.course.stub(self.current)

    @property
    def _line(self) -> int:
        """The line of the current kata's file that its report speaks of, or 1."""
        if self.report is None:
            return 1
        places = [check.place.line for check in account.wrong(self.report) if check.place]
        return places[0] if places else account.line_of(self.report.message)

    def view_all(self) -> None:
        if self.report:
            self._print(self._text(self.report, replace(self.view(), detail="full")))

    def copy(self) -> None:
        """Copy the failing call as code: by OSC 52, which most terminals know, also over SSH."""
        code = base64.b64encode(self._call.encode()).decode()
        click.echo(f"\x1b]52;c;{code}\x07", nl=False, color=True)
        command = account.COMMANDS["call"].format(self.current.name)
        self.say(f"The call is copied, if your terminal allows it; else: {command}")

    @property
    def _call(self) -> str:
        """The failing call that the report shows, as code; "" if there is none."""
        if self.report is None or not account.wrong(self.report):
            return ""
        told = account.told(self.report)
        others = (check.snippet for check in account.wrong(self.report))
        return told.check.snippet or next(filter(None, others), "")

    def nothing_to_copy(self) -> str:
        return "" if self._call else "There is no failing call to copy."

    def not_graded(self) -> str:
        return "" if self.report else f"{self.current.name} is not graded yet: save its file."

    def see(self) -> None:
        # `grade see` takes fewer options than the loop; the old spelling ignores the others
        words = [sys.executable, "-P", "-m", "grader.cli.entry", "--see", *sys.argv[1:]]
        with self.keyboard.lent():
            done = subprocess.run(words, check=False)
        if not done.returncode and (problem := open_page(self.state.folder / PAGE)):
            self.say(problem)

    def page(self) -> None:
        """Open the course in the browser; Ctrl-C leads back here."""
        words = [sys.executable, "-P", "-m", "grader.cli.entry", "--page", *sys.argv[1:]]
        with self.keyboard.lent(), suppress(KeyboardInterrupt):
            subprocess.run(words, check=False)
        self._show_keys()

    def review(self) -> None:
        """Find a fault in an answer that has passed."""
        words = [sys.executable, "-P", "-m", "grader.cli.entry", "review"]
        folders = ["--course", str(self.course.root), "--exercises", str(self.course.exercises)]
        with self.keyboard.lent(), suppress(KeyboardInterrupt):
            subprocess.run([*words, *folders], check=False)
        self._show_keys()

    def nothing_to_review(self) -> str:
        return "" if any(one.has_passed for one in self.standings.values()) else "No kata has passed yet."

    def nothing_to_see(self) -> str:
        return "" if self.course.syllabus.see else "The course has nothing to see."

    def undo(self) -> None:
        self._bring_back(self.versions.kept(BEST_COPIES, self.current), "The best version")

    def reset(self) -> None:
        """Bring back the stub, after a question unless there is no file."""
        data = stub_source(self.course, self.current, self.versions)
        if data is None:
            self.say(f"There is no copy of the stub of {self.current.name}.")
        elif not self._path.exists() or self._agrees(replacing_question([self.current.name], self.versions)):
            self._bring_back(data, "The stub")

    @property
    def other_library(self) -> str:
        """The other library that the current kata may be answered in: "torch", "numpy" or ""."""
        now = library_of(self.current, text_of(self._path))
        return next((library for library in self.current.libraries if library != now), "")

    @property
    def other_name(self) -> str:
        return NAMES.get(self.other_library, "")

    def change_library(self) -> None:
        """Bring the stub in the other library, after a question unless the file is a stub."""
        data = stub_source(self.course, self.current, self.versions, self.other_library)
        name = self.other_name
        if data is None:
            self.say(f"There is no copy of the stub of {self.current.name} in {name}.")
        elif not self.standings[self.current.name].mark or self._agrees(
            replacing_question([self.current.name], self.versions)
        ):
            self._bring_back(data, f"The stub in {name}")

    def one_library(self) -> str:
        return "" if self.other_library else f"{self.current.name} is answered in one library alone."

    def _agrees(self, asked: str) -> bool:
        answer = self.keyboard.line(f"{paragraphs(f'{asked} y/n:', self.view().width)} ")
        return answer.lower() in ("y", "yes")

    def _bring_back(self, data: bytes | None, what: str) -> None:
        """Write a version to the current kata's file; the loop then grades it like a save."""
        if data is None:
            return
        try:
            copy = self.versions.replace(self.current, self._path, data)
        except OSError as error:
            self.say(f"{from_here(self._path)} cannot be written: {reason_of(error)}.")
        else:
            self.say(brought_back(self.current, what, copy), *([copy] if copy else []))

    def not_better(self) -> str:
        data = self.versions.kept(BEST_COPIES, self.current)
        if data is None:
            return f"There is no copy of the best version of {self.current.name}."
        return f"{self.current.name} is the best version already." * self.versions.holds(self._path, data)

    def not_changed(self) -> str:
        """Return that the file is the stub, if it is; where no copy was kept, the key looks for the stub."""
        data = self.versions.kept(STUB_COPIES, self.current)
        if data is None:
            same = self._path.exists() and not self.standings[self.current.name].mark
        else:
            same = self.versions.holds(self._path, data)
        return f"{self.current.name} is the stub already." * same

    def explain(self) -> None:
        self._print(help_text(KEYS, self.view().width))

    def quit(self) -> None:
        self._ends = True


KEYS: tuple[Key[Loop], ...] = (
    Key("h", "hint {0.hint_number}", "Show the next hint.", Loop.hint),
    Key("t", "statement", "Show the statement.", Loop.statement),
    Key(
        ENTER[0],
        "opens next",
        "Open the file of the next kata that does not pass.",
        Loop.open_next,
        Loop.not_passed,
    ),
    Key("n", "next", "Go on to the next kata that does not pass.", Loop.next, Loop.not_passed),
    Key("b", "back", "Go back to the kata before this one.", Loop.back, Loop.not_visited),
    Key("l", "list", "List all katas, and search them.", Loop.list),
    Key("o", "open", "Open the file in your editor, at the line in question.", Loop.open),
    Key("v", "full report", "Show every check with its counterexample.", Loop.view_all, Loop.not_graded),
    Key("c", "copy", "Copy the failing call, as code that runs.", Loop.copy, Loop.nothing_to_copy),
    Key("s", "see", "Show your functions at work, in the browser.", Loop.see, Loop.nothing_to_see),
    Key(
        "f",
        "review",
        "Find a fault in an answer of yours that has passed.",
        Loop.review,
        Loop.nothing_to_review,
    ),
    Key("w", "web page", "Open the course in the browser; Ctrl-C leads back.", Loop.page),
    Key(
        "r",
        "reference",
        "Show the reference beside your file, once it passes.",
        Loop.solution,
        Loop.no_solution,
    ),
    Key("u", "undo", "Bring back the version with the best score.", Loop.undo, Loop.not_better),
    Key("x", "reset", "Bring back the stub.", Loop.reset, Loop.not_changed),
    Key(
        "p",
        "in {0.other_name}",
        "Bring the stub in PyTorch; of a file in PyTorch, the one in NumPy.",
        Loop.change_library,
        Loop.one_library,
    ),
    Key("?", "keys", "Explain the keys.", Loop.explain),
    Key("q", "quit", "End; Ctrl-C does so too.", Loop.quit),
)
