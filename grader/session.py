"""One run of `grade`: what was asked for, step by step. The names of the steps are the program."""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from grader.bank import SEED
from grader.catalog import Card, Course, CourseError, find_course, shorten
from grader.formats import json as json_format
from grader.formats import terminal
from grader.grading import Grader
from grader.report import Isolation, KataReport, Report
from grader.submission import Refused, read_submission
from grader.worker.server import Source, open_source

PASSED, FAILED, WRONG_INPUT = range(3)


class LibraryMissing(Exception):
    """A kata needs a library that is not installed; the sentence says how to install it."""


class DeviceMissing(Exception):
    """The device asked for is not there."""


@dataclass(frozen=True)
class Wishes:
    """The command line of `grade`."""

    names: tuple[str, ...] = ()
    file: Path | None = None
    exercises: Path | None = None
    list_katas: bool = False
    hint: bool = False
    watch: bool = False
    device: str = "cpu"
    form: str = "terminal"
    output: Path | None = None


def run(wishes: Wishes) -> int:
    """Do what was asked for; returns the exit code. Raises CourseError and its like for wrong input."""
    course = Course(find_course(Path.cwd()), wishes.exercises)
    cards = [course.card(name) for name in wishes.names]
    _require_writable(wishes.output)
    if wishes.list_katas:
        click.echo(board(course), nl=False)
        return PASSED
    if wishes.hint:
        return _give_hint(course, cards)
    paths = _chosen_files(course, cards, wishes)
    if not paths:
        return _greet(course, wishes)
    _require_library([card for card, _ in paths], wishes)
    if wishes.watch:
        from grader.watch import watch

        return watch(course, paths, wishes)
    return grade_once(course, paths, wishes)


def _chosen_files(course: Course, cards: list[Card], wishes: Wishes) -> list[tuple[Card, Path]]:
    """Which files are graded: the one given, those of the named katas, or all that are begun."""
    if wishes.file is not None:
        card = _only_card(course, cards, wishes.file)
        if not wishes.file.exists():
            raise CourseError(f"There is no file {wishes.file}.")
        return [(card, wishes.file)]
    if cards:
        return [(card, course.stub(card)) for card in cards]
    stubs = [(card, course.stub(card)) for card in course.cards.values()]
    return [(card, path) for card, path in stubs if path.exists() and _begun(card, path)]


def _only_card(course: Course, cards: list[Card], file: Path) -> Card:
    if len(cards) == 1:
        return cards[0]
    if not cards and file.stem in course.cards:
        return course.cards[file.stem]
    raise CourseError("`--file` goes with the name of one kata: grade softmax --file my_softmax.py.")


def _begun(card: Card, path: Path) -> bool:
    try:
        return read_submission(card, path).begun
    except Refused:
        return True


def _require_library(cards: list[Card], wishes: Wishes) -> None:
    """PyTorch where a named kata needs it, and a GPU where one was asked for."""
    needing = [card.name for card in cards if card.library == "torch"]
    if needing and importlib.util.find_spec("torch") is None:
        raise LibraryMissing(
            f"`{needing[0]}` is a PyTorch kata, and PyTorch is not installed: pip install torch==2.13.0"
        )
    if wishes.device == "cuda" and not _has_cuda():
        raise DeviceMissing(
            "There is no CUDA device on this machine; leave out --device to grade on the CPU."
        )


def _has_cuda() -> bool:
    """Asked of another process: a process that has touched CUDA cannot fork workers that use it."""
    if importlib.util.find_spec("torch") is None:
        return False
    import subprocess

    question = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", question], capture_output=True).returncode == 0


def open_grader(
    course: Course, cards: list[Card], device: str = "cpu", shrinks: bool = True, seed: int = SEED
) -> tuple[Grader, Source]:
    """The grader and its source of workers, which is opened before any solution is read."""
    library = "torch" if any(card.library == "torch" for card in cards) else "numpy"
    source = open_source(library, os.environ.get("DOJO_WORKERS", ""))
    return Grader(course, source, device, seed, shrinks), source


def grade_once(course: Course, paths: list[tuple[Card, Path]], wishes: Wishes) -> int:
    """Grade each file, show each report as it comes, write the whole at the end."""
    say = Speaker(wishes, len(paths))
    grader, source = open_grader(course, [card for card, _ in paths], wishes.device)
    with closing(source):
        katas = []
        for card, path in paths:
            say.beginning(card)
            katas.append(grade_file(grader, card, path))
            say.done(katas[-1])
        report = Report(tuple(katas), wishes.device, grader.isolation)
    say.end(report)
    return exit_code(report)


def grade_file(grader: Grader, card: Card, path: Path) -> KataReport:
    """One file's report; a file that cannot be graded, or is not begun, has one too."""
    try:
        submission = read_submission(card, path)
        if not submission.begun:
            message = f"Not started yet: open {submission.label}, read its docstring, write the code."
            return KataReport(card.name, card.track, "not_started", card.max_score, message=message)
        return grader.grade(submission)
    except Refused as refused:
        return KataReport(card.name, card.track, "error", card.max_score, message=str(refused))


def exit_code(report: Report) -> int:
    """0 all passed, 1 some check did not, 2 a file could not be graded."""
    statuses = {kata.status for kata in report.katas}
    if "error" in statuses:
        return WRONG_INPUT
    return PASSED if statuses <= {"passed"} else FAILED


class Speaker:
    """Says what is going on: reports on standard output, progress on standard error."""

    def __init__(self, wishes: Wishes, total: int) -> None:
        self.wishes, self.total, self.number = wishes, total, 0
        self.live = wishes.form == "terminal" and wishes.output is None
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.shows_progress = sys.stderr.isatty()

    def beginning(self, card: Card) -> None:
        self.number += 1
        if self.shows_progress:
            click.echo(f"\r\x1b[K{self.number}/{self.total} {card.name} …", nl=False, err=True)

    def done(self, kata: KataReport) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            click.echo(kata.message, err=True)
        elif self.live:
            click.echo(terminal.render_kata(kata, self.colour), color=self.colour)

    def end(self, report: Report) -> None:
        if self.live:
            if len(report.katas) > 1:
                click.echo(terminal.render_summary(report, self.colour), color=self.colour, nl=False)
            return
        text = json_format.render(report) if self.wishes.form == "json" else terminal.render(report)
        if self.wishes.output is None:
            click.echo(text, nl=False)
        else:
            _write(self.wishes.output, text)


def _require_writable(path: Path | None) -> None:
    """A report that cannot be written is refused before anything is graded."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise CourseError(f"The report cannot be written to {path}: no such folder, or a folder itself.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The report cannot be written to {path}: {error.strerror}.") from None


def board(course: Course) -> str:
    """All katas on their path, those begun marked."""
    lines, track = [], ""
    for card in course.cards.values():
        if card.track != track:
            track = card.track
            lines += ["", f"  {track}"]
        path = course.stub(card)
        mark = "▸" if path.exists() and _begun(card, path) else "·"
        lines.append(f"    {mark} {card.name:<28}{card.title}")
    return "\n".join(lines[1:]) + "\n\n  · not started   ▸ begun\n"


def _greet(course: Course, wishes: Wishes) -> int:
    """Nothing is begun yet: show the path and what to open first."""
    if wishes.form == "json":
        empty = [KataReport(c.name, c.track, "not_started", c.max_score) for c in course.cards.values()]
        Speaker(wishes, 0).end(Report(tuple(empty), wishes.device, Isolation()))
        return PASSED
    first = next(iter(course.cards.values()), None)
    if first is None:
        raise CourseError("The course has no katas yet.")

    click.echo("Welcome to the dojo. You will build a Transformer decoder by hand, one kata at a time.\n")
    click.echo(board(course))
    click.echo(f"Start with {shorten(course.stub(first))}: its docstring is the statement.")
    click.echo(f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}")
    return PASSED


def _give_hint(course: Course, cards: list[Card]) -> int:
    """The next hint of one kata: each call shows one more, from a nudge to nearly the answer."""
    if len(cards) != 1:
        raise CourseError("`--hint` goes with the name of one kata: grade --hint softmax.")
    from grader.hints import next_hint

    click.echo(next_hint(course, cards[0]))
    return PASSED
