"""What an editor asks about an exercise: a hover, the code actions, and what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from dojo_editor.lsp.findings import WIDTH, Finding, case_of, name_of, names_in
from dojo_editor.lsp.server import ExerciseServer, OpenExercise
from dojo_page.judge import Tried
from grader.course.files import write_whole
from grader.course.hints import next_hint, next_number
from grader.course.state import CourseState
from grader.course.stubs import Versions, course_statement
from grader.errors import reason_of
from grader.formats import account
from grader.grading.standings import next_kata, next_line, standings
from grader.texts.escaping import fenced
from grader.texts.points import points
from grader.texts.wrapping import paragraphs

NO_EXERCISE = "This file is no exercise of a course that is open here."
NO_CASE = "There is no failing call that can be written as short code."
FIX, ANY = types.CodeActionKind.QuickFix, types.CodeActionKind.Empty


def add_to(server: ExerciseServer) -> None:
    """Let a server answer these."""
    kinds = types.CodeActionOptions(code_action_kinds=[FIX])
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(code_actions)
    for name, do in COMMANDS.items():
        server.command(name)(_command(do))


def hover(ls: ExerciseServer, params: types.HoverParams) -> types.Hover | None:
    """Show the case of what is said here, or the first one over the name of the kata's function."""
    exercise = ls.exercises.get(params.text_document.uri)
    if exercise is None or exercise.report is None:
        return None
    touched = _touched(ls, exercise, types.Range(params.position, params.position), by_lines=False)
    if not touched:
        return None
    found = [finding for finding, _ in touched if finding] or [finding for finding, _ in exercise.found]
    check = next((finding.check for finding in found if finding.check), None)
    case = fenced(case_of(check)).replace("text\n", "python\n", 1) if check and case_of(check) else ""
    text = "\n\n".join(filter(None, [_score(exercise), case, _hints(exercise)]))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), touched[0][1])


def _touched(
    ls: ExerciseServer, exercise: OpenExercise, at: types.Range, *, by_lines: bool
) -> list[tuple[Finding | None, types.Range]]:
    """Return what is shown in a range, or in its lines, and the names of the kata's functions there."""
    names = names_in(exercise.text, exercise.info.entry_points).values()
    every: list[tuple[Finding | None, types.Range]] = [(one, shown.range) for one, shown in exercise.found]
    every += [(None, ls.range(exercise, span)) for span in names or [name_of(exercise.info, exercise.text)]]
    return [(finding, shown) for finding, shown in every if _meet(shown, at, by_lines=by_lines)]


def _meet(one: types.Range, other: types.Range, *, by_lines: bool) -> bool:
    if by_lines:
        return one.start.line <= other.end.line and other.start.line <= one.end.line
    return one.start <= other.end and other.start <= one.end


def _score(exercise: OpenExercise) -> str:
    report = exercise.report
    assert report is not None
    name = f"**{exercise.info.name}**"
    if not report.checks:
        return f"{name}: {account.SAYS[report.status]}"
    score = f"{name}: {points(report.score)} of {points(report.max_score)} points"
    if account.wrong(report):
        return f"{score}, {account.count_of(report, len(account.causes(report)))}."
    return f"{score}, every check holds." if report.status == "passed" else f"{score}."


def _hints(exercise: OpenExercise) -> str:
    """Return the hint that was shown last, and which one comes next."""
    number, total = _next_hint(exercise), len(exercise.info.hints)
    more = f"Hint {number} of {total} is one of the code actions." if number else ""
    hint = fenced(paragraphs(exercise.hint, WIDTH)) if exercise.hint else ""
    return "\n\n".join(filter(None, [hint, more]))


def _next_hint(exercise: OpenExercise) -> int:
    """Return the number of the next hint; 0 if there is none."""
    info = exercise.info
    return next_number(info, CourseState(exercise.course).kata(info.name)) if info.hints else 0


def _snippet(exercise: OpenExercise) -> str:
    """Return the failing call that is shown, as code that makes it."""
    causes = account.causes(exercise.report) if exercise.report else []
    return causes[0].first.snippet if causes else ""


def code_actions(ls: ExerciseServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Offer what leads on, in the lines of what is shown and of the function's name."""
    exercise, only = ls.exercises.get(params.text_document.uri), params.context.only
    if exercise is None or (only and FIX not in only and ANY not in only):
        return []
    if not _touched(ls, exercise, params.range, by_lines=True):
        return []
    number, total = _next_hint(exercise), len(exercise.info.hints)
    titles = {
        "grade.hint": f"Show hint {number} of {total}" if number else "Show the hints again" if total else "",
        "grade.try": "Try this case" if _snippet(exercise) else "",
        "grade.statement": "Open the statement",
        "grade.next": "Open the next kata",
    }
    return [
        types.CodeAction(title, FIX, command=types.Command(title, name, arguments=[exercise.uri]))
        for name, title in titles.items()
        if title
    ]


async def show_hint(ls: ExerciseServer, exercise: OpenExercise) -> None:
    exercise.hint = next_hint(exercise.course, exercise.info, again="")
    ls.say(exercise.hint)


async def try_case(ls: ExerciseServer, exercise: OpenExercise) -> None:
    """Run the failing call after the text, and show what it gives."""
    info, lines = exercise.info, _snippet(exercise)
    if not lines:
        ls.say(NO_CASE)
        return
    async with aclosing(exercise.judges.run(info.library, info.name, lines, exercise.text)) as answers:
        async for answer in answers:
            parts = [lines]
            if isinstance(answer, Tried):
                parts += [answer.printed.rstrip(), answer.value, answer.problem]
            else:
                parts.append(getattr(answer, "problem", "") or "Stopped.")
            await _open_text(ls, f"{info.name}-case.txt", "\n\n".join(filter(None, parts)))


async def open_statement(ls: ExerciseServer, exercise: OpenExercise) -> None:
    versions = Versions(CourseState(exercise.course).folder)
    text = course_statement(exercise.course, exercise.info, versions)
    await _open_text(ls, f"{exercise.info.name}-statement.txt", text)


async def open_next(ls: ExerciseServer, exercise: OpenExercise) -> None:
    course, found = exercise.course, standings(exercise.course)
    following = next_kata(course, found, exercise.info.name)
    if following is None or not await _open(ls, course.stub(following.info), takes_focus=True):
        ls.say(next_line(course, found, exercise.info.name))


async def _open_text(ls: ExerciseServer, name: str, text: str) -> None:
    """Open a text as a file of the server's own, or show it as a message if the editor opens none."""
    file = ls.folder / name
    try:
        write_whole(file, f"{text}\n".encode("utf-8", "replace"))
    except OSError as error:
        ls.say(f"{file} cannot be written: {reason_of(error)}.", types.MessageType.Warning)
    else:
        if not await _open(ls, file):
            ls.say(text)


async def _open(ls: ExerciseServer, file: Path, *, takes_focus: bool = False) -> bool:
    """Open a file in the editor, and return whether it has done so."""
    window, uri = ls.client_capabilities.window, from_fs_path(str(file.absolute()))
    if not (uri and window and window.show_document and window.show_document.support):
        return False
    params = types.ShowDocumentParams(uri, take_focus=takes_focus)
    return (await ls.window_show_document_async(params)).success


Action = Callable[[ExerciseServer, OpenExercise], Awaitable[None]]
COMMANDS: dict[str, Action] = {
    "grade.hint": show_hint,
    "grade.try": try_case,
    "grade.statement": open_statement,
    "grade.next": open_next,
}


def _command(do: Action) -> Callable[[ExerciseServer, str], Awaitable[None]]:
    async def command(ls: ExerciseServer, uri: str) -> None:
        exercise = ls.exercises.get(uri)
        if exercise is None:
            ls.say(NO_EXERCISE, types.MessageType.Warning)
        else:
            await do(ls, exercise)

    return command
