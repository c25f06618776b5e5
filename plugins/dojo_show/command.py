"""Let a student's functions write a text in the terminal: `grade speak`.

Show what the course demonstrates with the student's functions, for `grade see`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from dojo_show.answers import open_answers
from dojo_show.demonstration import (
    Demonstration,
    open_demonstration,
    read_recording,
    render_page,
    speech_of,
)
from dojo_show.sections import Section, render_text
from dojo_show.speech import Silent, Speaker, Speech, Token, Wish, measured, prompt_of
from grader.cli.console import view_of
from grader.cli.options import PAGE, PASSED, GradeOptions
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import Folder, NotReadable, from_here, write_whole
from grader.course.state import CourseState
from grader.errors import reason_of
from grader.formats.terminal import View
from grader.texts.escaping import harmless
from grader.texts.phrases import listed
from grader.texts.wrapping import paragraphs


def show_sections(
    course: Course, options: GradeOptions, *, as_text: bool, tokens: str | None, mine: bool
) -> int:
    """Write the page, and print the text if it is asked for; return the exit code. Raises CourseError for a
    course that shows nothing, a section that does not exist and a file that cannot be written."""
    demonstration = open_demonstration(course)
    names = options.names or tuple(demonstration.titles)
    unknown = [name for name in names if name not in demonstration.titles]
    if unknown:
        there = ", ".join(demonstration.titles)
        raise CourseError(f"There is no section `{unknown[0]}` to see; say {there}.")
    whole = _run(course, demonstration, options, tokens, mine=mine)
    sections = [section for section in whole if section.id in names]
    if as_text:
        view = view_of(options)
        shown = render_text(sections, view.width, view.paint, ascii_only=view.ascii_only)
        click.echo(shown, nl=False, color=view.colour)
    else:
        click.echo("\n".join(whole[0].texts))
    if options.output or not as_text:
        path = write_page(course, options.output, render_page(demonstration, sections).encode())
        click.echo(f"Written to {from_here(path)}; open it in a browser.", err=as_text)
    return PASSED


def _run(
    course: Course, demonstration: Demonstration, options: GradeOptions, tokens: str | None, *, mine: bool
) -> list[Section]:
    """Run the student's functions and return all sections."""
    katas, settings = demonstration.katas, options.grader_settings
    with open_answers(
        course, katas, mine=mine, remembers=options.remembers, started=show_start, settings=settings
    ) as answers:
        return demonstration.show(answers, read_recording(demonstration), tokens)


def show_start(info: KataInfo) -> None:
    """Say which file is graded before it is used."""
    click.echo(f"grading {info.name} …", err=True)


def write_page(course: Course, output: str | None, page: bytes) -> Path:
    """Write the page where a person wants it, or beside what is remembered, and return where it is."""
    path = Path(output) if output else CourseState(course).folder / PAGE
    try:
        if output:
            write_whole(path, page)
        else:
            with Folder(path.parent, makes=True, follows_links=False) as folder:
                folder.write(path.name, data=page)
    except NotReadable as error:
        raise CourseError(f"The page cannot be written: {path.parent.name} {error.strerror}.") from None
    except OSError as error:
        raise CourseError(f"The page cannot be written to {path}: {reason_of(error)}.") from None
    return path


BOLD, DIM = "1", "2"
BAR = 20  # columns of the longest bar


def write_text(
    course: Course,
    options: GradeOptions,
    without: tuple[str, ...],
    with_: tuple[str, ...],
    *,
    inside: bool,
    mine: bool,
) -> int:
    """Print the text as it is written, and return the exit code. Raises CourseError for a course whose
    functions write nothing, and for a part or a setting that it does not know."""
    demonstration = open_demonstration(course)
    speech = speech_of(demonstration, course)
    wish = _wish_of(speech, options.names, without, with_)
    recording = read_recording(demonstration).get("speech", {})
    view, settings = view_of(options), options.grader_settings
    with Speaker(
        course, speech, mine=mine, remembers=options.remembers, started=show_start, settings=settings
    ) as speaker:
        if missing := speaker.missing():
            _show_recorded(speech, wish, recording, missing, view)
        else:
            _write(speaker, wish, recording, view, inside=inside)
    return PASSED


def _wish_of(
    speech: Speech, words: tuple[str, ...], without: tuple[str, ...], with_: tuple[str, ...]
) -> Wish:
    """Return what the words and options ask for. Raises CourseError for what the course does not know."""
    settings: dict[str, float] = {}
    ways = [text for text in with_ if "=" not in text]
    for text in with_:
        name, is_set, value = text.partition("=")
        if not is_set:
            continue
        try:
            settings[name] = float(value)
        except ValueError:
            raise CourseError(
                f"`--with {harmless(text, one_line=True)}` needs a number behind the `=`."
            ) from None
    if len(ways) > 1:
        raise CourseError("`--with` takes one way to write at a time.")
    wish = Wish(prompt_of(" ".join(words)), without, ways[0] if ways else "", settings)
    speech.require(wish)
    return wish


def _show_recorded(
    speech: Speech, wish: Wish, recording: dict[str, Any], missing: Sequence[str], view: View
) -> None:
    """Say what is to be done before the student's own functions write. Show what the references write, with
    all parts and without the one that is left out."""
    lines = [f"{speech.to_go(missing)} Next: grade {missing[0]}"]
    waits = [f'"{wish.prompt}"'] if wish.prompt else []
    waits += [f"--with {name}" for name in (wish.way, *wish.settings) if name]
    parts = recording.get("without", {})
    shows = len(wish.without) == 1 and wish.without[0] in parts
    waits += [] if shows else [f"--without {name}" for name in wish.without]
    if waits:
        lines.append(f"Until your own functions write, this has no effect: {listed(waits)}.")
    if recording:
        lines += ["", view.paint("Recorded, from the course's own functions:", DIM), "", recording["text"]]
        if shows:
            lines += ["", *speech.left_out(wish), "", parts[wish.without[0]]]
    click.echo("\n".join(paragraphs(line, view.width) for line in lines), color=view.colour)


def _write(speaker: Speaker, wish: Wish, recording: dict[str, float], view: View, *, inside: bool) -> None:
    """Print the text token by token, why it ends if it ends early, and what was left out."""
    tokens: list[Token] = []
    try:
        writer = speaker.writer(wish)
        for line in _lines(_kept(writer.write(wish), tokens), view):
            click.echo(line, nl=False, color=view.colour)
        click.echo("\n")
        if inside:
            click.echo("\n".join(_likeliest(tokens, view)) + "\n", color=view.colour)
        for remark in speaker.speech.left_out(wish):
            click.echo(paragraphs(remark, view.width))
        for line in measured(writer, wish, tokens, recording.get("loss")):
            click.echo(paragraphs(line, view.width))
    except Silent as reason:
        if tokens:
            click.echo()
        click.echo(paragraphs(str(reason), view.width))


def _kept(tokens: Iterable[Token], kept: list[Token]) -> Iterator[Token]:
    for token in tokens:
        kept.append(token)
        yield token


def _lines(tokens: Iterable[Token], view: View) -> Iterator[str]:
    """Yield the tokens, with a new line where the next word has no room. A word ends where a space begins."""
    column, word = 0, ""

    def placed() -> str:
        nonlocal column, word
        text = word.lstrip() if not column else word
        if column + len(text) > view.width and column:
            text = "\n" + text.lstrip()
            column = -1
        column, word = column + len(text), ""
        return text

    try:
        for token in tokens:
            if token.text.startswith(" ") and word:
                yield placed()
            word += token.text
    except Silent:
        yield placed()
        raise
    yield placed()


def _likeliest(tokens: Sequence[Token], view: View) -> Iterator[str]:
    """Yield for each new token the likeliest ones at its place, with their shares."""
    for token in tokens:
        if token.is_given:
            continue
        yield view.paint(token.text.strip() or repr(token.text), BOLD)
        for text, share in token.likeliest:
            bar = ("#" if view.ascii_only else "█") * (round(share * BAR) if 0 <= share <= 2 else 0)
            yield f"  {text.strip() or repr(text):<16}{share:>6.1%}  {bar}".rstrip()
