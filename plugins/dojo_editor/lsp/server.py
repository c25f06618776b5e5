"""A language server for exercise files: the page's judges, with an editor's own text in place of the file.

A new text ends the judging of the one before. It is judged after a pause, and a syntax error is shown after a
longer one, as on the page. Files that are no exercise, or lie outside the folders that the editor has open,
get nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import FeatureNotificationError
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

import grader
from dojo_editor.lsp import overview
from dojo_editor.lsp.connection import Protocol, ended
from dojo_editor.lsp.findings import Finding, Span, case_of, findings
from dojo_page.judge import Verdict
from dojo_page.judges import PAUSE_SECONDS, Judges
from dojo_page.messages import JudgeTerms
from grader.cli.options import FAILED, PASSED, GradeOptions, planned
from grader.course.catalog import Course, KataInfo, open_course
from grader.course.files import text_of
from grader.course.state import CourseState
from grader.course.stubs import STUB_COPIES, Versions
from grader.course.submission import MAX_BYTES
from grader.errors import CourseError, KataError, NoSuchKata
from grader.grading.standings import after_pass, first_needed, is_begun, shown, standings
from grader.report import KataReport
from grader.texts.escaping import sound
from grader.texts.points import points

if TYPE_CHECKING:
    from pygls.server import ServerErrors

SILENT_SECONDS = 0.5  # of judging, before it is told
FAULT = "This is our fault, not yours; your file is unchanged."


@dataclass
class OpenExercise:
    """The file of a kata that the editor has open, and what was last shown of it."""

    uri: str
    info: KataInfo
    course: Course
    judges: Judges
    text: str = ""
    version: int | None = None
    typed_at: float = 0.0  # by the monotonic clock
    task: asyncio.Task[None] | None = None
    report: KataReport | None = None
    found: list[tuple[Finding, types.Diagnostic]] = field(default_factory=list)
    hint: str = ""  # shown last

    @property
    def path(self) -> Path:
        return self.course.stub(self.info)

    def stop(self) -> None:
        """End the judging of the text."""
        if self.task:
            self.task.cancel()


class ExerciseServer(LanguageServer):
    """Serves one editor. `folder` is for texts that the editor opens, and is the server's own."""

    def __init__(self, options: GradeOptions, folder: Path) -> None:
        super().__init__("grade", grader.__version__, types.TextDocumentSyncKind.Full, protocol_cls=Protocol)
        self.options, self.folder = options, folder
        self.opened: dict[Path, tuple[Course, Judges]] = {}  # by the folder of exercises
        self.exercises: dict[str, OpenExercise] = {}  # by URI
        self.exit_code = PASSED
        self.is_shut_down = False
        self.tells_verdicts = False
        self._watching: asyncio.Task[None] | None = None

    # --- the editor ---

    def watch(self, process_id: int) -> None:
        """End this process once the editor's has ended, also if another one holds the pipe."""
        self._watching = asyncio.get_running_loop().create_task(self._end_with(process_id))

    async def _end_with(self, process_id: int) -> None:
        await ended(process_id)
        await self.end_judges()
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(FAILED)  # a thread still reads standard input

    async def end_judges(self) -> None:
        """Judge nothing more."""
        for exercise in self.exercises.values():
            exercise.stop()
        await asyncio.gather(*(judges.end() for _, judges in self.opened.values()))

    # --- which file ---

    def find(self, uri: str) -> OpenExercise | None:
        """Return the exercise that a document is; None if it is none, or its course cannot be read."""
        file = file_of(uri)
        if file is None or file.suffix != ".py":
            return None
        if not (self.options.course or any(map(file.is_relative_to, self.folders()))):
            return None
        try:
            found = self._course_of(file)
            info = found[0].kata_info(file.stem) if found else None
        except (NoSuchKata, OSError):  # a path may be too long
            return None
        except (CourseError, KataError) as error:
            self.say(str(error), types.MessageType.Warning)
            return None
        return OpenExercise(uri, info, *found) if found and info and info.track == file.parent.name else None

    def folders(self) -> list[Path]:
        """Return the folders that the editor has open; the current one if it names none."""
        uris = [*self.workspace.folders, self.workspace.root_uri or ""]
        return [path.resolve() for path in map(file_of, uris) if path] or [Path.cwd()]

    def _course_of(self, file: Path) -> tuple[Course, Judges] | None:
        """Return the course that has this file among its exercises, as `grade` finds it from the file's
        folder. Raises CourseError."""
        try:
            course = open_course(self.options.course, self.options.exercises, start=file.parent)
        except CourseError:
            return None
        exercises = course.exercises.resolve()
        if file.parent.parent != exercises:
            return None
        if exercises not in self.opened:
            course = planned(course, self.options)
            self.opened[exercises] = course, Judges(JudgeTerms.of(course, self.options))
        return self.opened[exercises]

    # --- the verdict ---

    def take(self, exercise: OpenExercise, version: int | None) -> None:
        """Take the text that the editor holds now."""
        text = plain(self.workspace.get_text_document(exercise.uri).source)
        exercise.text, exercise.version = sound(text)[: MAX_BYTES + 1], version

    def check(self, exercise: OpenExercise, pause: float = 0.0) -> None:
        """Judge the text after a pause, and no longer the one before."""
        exercise.stop()
        exercise.task = asyncio.create_task(self._judge(exercise, pause))

    async def _judge(self, exercise: OpenExercise, pause: float) -> None:
        await asyncio.sleep(pause)
        info, typed_at, text = exercise.info, exercise.typed_at, exercise.text
        telling = asyncio.create_task(self._tell_work(f"judging {info.name} …"))
        try:
            verdicts = exercise.judges.verdicts(info.library, info.name, text, typed_at)
            async with aclosing(verdicts) as answers:
                async for answer in answers:
                    if isinstance(answer, Verdict):
                        self._show(exercise, answer.report)
                    else:
                        self.publish(exercise, [])
                        self.say(answer.problem, types.MessageType.Warning)
        except Exception as error:
            self.say(f"{FAULT} ({type(error).__name__}: {error})", types.MessageType.Error)
        finally:
            telling.cancel()

    async def _tell_work(self, title: str) -> None:
        """Say what is done, if it takes longer, until this is cancelled."""
        window = self.client_capabilities.window
        if not (window and window.work_done_progress):
            return
        await asyncio.sleep(SILENT_SECONDS)
        token, progress = f"grade-{time.monotonic_ns()}", self.work_done_progress
        await progress.create_async(token)
        progress.begin(token, types.WorkDoneProgressBegin(title))
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            progress.end(token, types.WorkDoneProgressEnd())
            del progress.tokens[token]

    def _show(self, exercise: OpenExercise, report: KataReport) -> None:
        """Show a verdict; a pass is said in words if another verdict was shown before it."""
        before, exercise.report = exercise.report, report
        self.publish(exercise, findings(report, exercise.info, exercise.text))
        if self.tells_verdicts:
            self.protocol.notify(overview.VERDICT, overview.verdict(exercise.uri, report))
        if report.status == "passed" and before is not None and before.status != "passed":
            is_saved = plain(text_of(exercise.path)) == exercise.text
            words = [
                f"{report.title} passes: {points(report.score)} of {points(report.max_score)} points.",
                "" if is_saved else "Save the file, so that it counts.",
                shown(report),
                after_pass(exercise.course, exercise.info, standings(exercise.course)),
            ]
            self.say(" ".join(filter(None, words)))

    def publish(self, exercise: OpenExercise, found: list[Finding]) -> None:
        """Show what was found, in place of what was shown before."""
        exercise.found = [(finding, self._diagnostic(exercise, finding)) for finding in found]
        diagnostics = [diagnostic for _, diagnostic in exercise.found]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(exercise.uri, diagnostics, exercise.version)
        )

    def _diagnostic(self, exercise: OpenExercise, finding: Finding) -> types.Diagnostic:
        waits = exercise.report is not None and exercise.report.status == "waiting"
        text = first_needed(exercise.course, exercise.info) if waits else ""
        related = [(other, "Or this spot.") for other in finding.others]
        if finding.check and (case := case_of(finding.check)):
            related.append((finding.span, case))
        places = [
            (types.Location(exercise.uri, self.range(exercise, span)), words) for span, words in related
        ]
        return types.Diagnostic(
            self.range(exercise, finding.span),
            text or finding.text,
            finding.severity,
            code=exercise.info.name,
            source="grade",
            related_information=[types.DiagnosticRelatedInformation(*place) for place in places],
        )

    def range(self, exercise: OpenExercise, span: Span) -> types.Range:
        """Return a part of a text in the units of the client."""
        start, end = types.Position(span.line, span.start), types.Position(span.line, span.end)
        lines = exercise.text.split("\n")
        return self.workspace.position_codec.range_to_client_units(lines, types.Range(start, end))

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Say that an event was not taken; not that a message cannot be sent, which would be one more."""
        if source is FeatureNotificationError:
            self.say(f"{FAULT} ({type(error).__name__}: {error})", types.MessageType.Error)

    def say(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_show_message(types.ShowMessageParams(kind, text))


def file_of(uri: str) -> Path | None:
    """Return the path that a URI names, with no link in its folder; None if it names none."""
    try:
        path = to_fs_path(uri)
        return Path(path).parent.resolve() / Path(path).name if path else None
    except (ValueError, OSError, RuntimeError):  # no URI, a null byte, links in a circle
        return None


def plain(text: str) -> str:
    """Return a text as it is judged: with line feeds alone, and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


async def did_open(ls: ExerciseServer, params: types.DidOpenTextDocumentParams) -> None:
    exercise = ls.find(params.text_document.uri)
    if exercise is None:
        return
    if before := ls.exercises.get(exercise.uri):
        before.stop()
    ls.exercises[exercise.uri] = exercise
    state = CourseState(exercise.course)
    if not state.kata(exercise.info.name).digest and not is_begun(exercise.info, exercise.path):
        Versions(state.folder).keep(STUB_COPIES, exercise.info, exercise.path)
    ls.take(exercise, params.text_document.version)
    ls.check(exercise)


async def did_change(ls: ExerciseServer, params: types.DidChangeTextDocumentParams) -> None:
    exercise = ls.exercises.get(params.text_document.uri)
    if exercise:
        ls.take(exercise, params.text_document.version)
        exercise.typed_at = time.monotonic()
        ls.check(exercise, PAUSE_SECONDS)


async def did_save(ls: ExerciseServer, params: types.DidSaveTextDocumentParams) -> None:
    """Judge the text at once, now that it counts, and what has waited for another kata."""
    for uri, exercise in ls.exercises.items():
        waits = exercise.report is not None and exercise.report.status == "waiting"
        if waits or uri == params.text_document.uri:
            ls.check(exercise)


async def shutdown(ls: ExerciseServer, params: None) -> None:  # noqa: ARG001  # the signature is pygls's
    """Judge nothing more, and end the judges."""
    ls.is_shut_down = True
    await ls.end_judges()


def initialize(ls: ExerciseServer, params: types.InitializeParams) -> None:
    """Watch the process of the editor, if it names one, and note what it wants."""
    ls.tells_verdicts = overview.wants_verdicts(params.initialization_options)
    if params.process_id is not None and sys.platform != "win32":  # there, to ask for a process would end it
        ls.watch(params.process_id)


def exit_(ls: ExerciseServer, params: None) -> None:  # noqa: ARG001  # the signature is pygls's
    """Fail if the editor has not asked to shut down before, as the protocol says."""
    ls.exit_code = PASSED if ls.is_shut_down else FAILED


async def did_close(ls: ExerciseServer, params: types.DidCloseTextDocumentParams) -> None:
    exercise = ls.exercises.pop(params.text_document.uri, None)
    if exercise:
        exercise.stop()
        ls.publish(exercise, [])


def new_server(options: GradeOptions, folder: Path) -> ExerciseServer:
    """Return a server with all that it answers."""
    from dojo_editor.lsp import requests

    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # what cannot be sent is no news to an editor
    server = ExerciseServer(options, folder)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(did_save)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.SHUTDOWN)(shutdown)
    server.feature(types.EXIT)(exit_)
    server.feature(overview.KATAS)(overview.katas)
    requests.add_to(server)
    return server
