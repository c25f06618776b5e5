"""The part of a run of `grade` that grades: which files, each report as it comes, the exit code."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from grader.catalog import Card, Course, CourseError, shorten
from grader.cells import is_notebook, katas_in
from grader.delivery import Delivery
from grader.needs import open_needs
from grader.opening import require_library
from grader.progress import is_begun, welcome
from grader.report import Isolation, Report
from grader.speaker import Speaker
from grader.submission import Refused
from grader.wishes import FAILED, PASSED, WRONG_INPUT, Wishes


def grade(course: Course, cards: list[Card], wishes: Wishes) -> int:
    """Grade the named katas, or all that are begun; returns the exit code."""
    delivery = Delivery(wishes.forms, wishes.output)
    paths = _chosen_files(course, cards, wishes)
    if not paths:
        return _greet(course, wishes, delivery)
    require_library([card for card, _ in paths] if cards or wishes.file else [], wishes.device)
    say = Speaker(delivery, len(paths), wishes.show_output)
    if wishes.watch:
        from grader.watch import watch  # watchfiles costs every other run its time

        return watch(course, paths, say, wishes.for_the_grader)
    return grade_once(course, paths, wishes, say)


def _chosen_files(course: Course, cards: list[Card], wishes: Wishes) -> list[tuple[Card, Path]]:
    """Which files are graded: the one given, those of the named katas, all, or all that are begun."""
    if wishes.file is not None:
        card = _only_card(course, cards, wishes.file)
        if not wishes.file.exists():
            raise CourseError(f"There is no file {wishes.file}.")
        return [(card, wishes.file)]
    if wishes.names:
        notebooks = [Path(name) for name in wishes.names if is_notebook(Path(name))]
        return [(card, course.stub(card)) for card in cards] + _answered(course, notebooks)
    stubs = [(card, course.stub(card)) for card in course.cards.values()]
    if wishes.all_katas:
        return stubs
    return [(card, path) for card, path in stubs if path.exists() and is_begun(card, path)]


def _answered(course: Course, notebooks: list[Path]) -> list[tuple[Card, Path]]:
    """The katas that notebooks answer. Raises CourseError where one answers none, or cannot be read."""
    found = []
    for file in notebooks:
        try:
            names = katas_in(file, course.cards)
        except Refused as refused:
            raise CourseError(str(refused)) from None
        if not names:
            raise CourseError(f"{shorten(file)} answers no kata: no cell begins with %%kata and a name.")
        found += [(course.cards[name], file) for name in names]
    return found


def _only_card(course: Course, cards: list[Card], file: Path) -> Card:
    if len(cards) == 1:
        return cards[0]
    if not cards and file.stem in course.cards:
        return course.cards[file.stem]
    raise CourseError("`--file` goes with the name of one kata: grade softmax --file my_softmax.py.")


def grade_once(course: Course, paths: list[tuple[Card, Path]], wishes: Wishes, say: Speaker) -> int:
    """Grade each file, show each report as it comes, write the whole at the end."""
    needs, source = open_needs(course, paths, **wishes.for_the_grader)
    with closing(source):
        katas = []
        for card, path in paths:
            say.beginning(card)
            katas.append(needs.grade(card, path))
            say.done(katas[-1])
        grader = needs.grader
        report = Report(tuple(katas), wishes.device, grader.isolation, grader.provenance)
    say.end(report)
    return exit_code(report)


def exit_code(report: Report) -> int:
    """0 all passed, 1 some check did not, 2 a file could not be graded."""
    statuses = {kata.status for kata in report.katas}
    if "error" in statuses:
        return WRONG_INPUT
    return PASSED if statuses <= {"passed"} else FAILED


def _greet(course: Course, wishes: Wishes, delivery: Delivery) -> int:
    """Nothing is begun yet: show the path and what to open first."""
    if delivery.forms:
        empty = [card.unjudged("not_started") for card in course.cards.values()]
        delivery.deliver(Report(tuple(empty), wishes.device, Isolation()))
        return PASSED
    first = next(iter(course.cards.values()), None)
    if first is None:
        raise CourseError("The course has no katas yet.")
    click.echo(welcome(course, first), nl=False)
    return PASSED
