"""What a run says in the terminal when it is done: each kata, its leading mistakes, what to look at."""

from __future__ import annotations

from pathlib import Path

from grader.classroom.analytics import ClassInsight, KataInsight
from grader.classroom.run import RunCounts
from grader.formats.escaping import one_line, points

MOST_MISTAKES = 3


def render(insight: ClassInsight, tally: RunCounts, folder: Path) -> str:
    """The whole text."""
    parts = [_head(insight, tally), *map(_kata, insight.katas.values()), *_looks(insight)]
    notes = [f"note  {one_line(note, 300)}\n" for note in tally.notes]
    notes += [f"note  {tally.unsaid:,} more of these\n"] if tally.unsaid else []
    where = f"\n{folder / 'class.html'} shows the class; gradebooks and everybody's page lie beside it.\n"
    return "".join([*parts, "\n" if notes else "", *notes, where])


def _head(insight: ClassInsight, tally: RunCounts) -> str:
    told = f"{_count(insight.students, 'student')}, {_count(len(insight.katas), 'kata')}:"
    told += f" {_count(tally.judged, 'file')} judged, {tally.known} known from before or from others."
    if insight.nobody:
        told += f" {insight.nobody} of the students handed nothing in."
    if tally.strangers:
        told += f" {tally.strangers} of them {'is' if tally.strangers == 1 else 'are'} not in the roster."
    return told + "\n\n"


def _kata(kata: KataInsight) -> str:
    tried, passed = kata.tried, kata.statuses["passed"]
    mean = points(round(kata.points / tried)) if tried else "0"
    line = f"{kata.info.name:<32}{passed:>6} of {tried} pass    mean {mean} / {points(kata.info.max_score)}\n"
    leading = kata.mistakes.most_common(MOST_MISTAKES)
    return line + "".join(
        f"    {round(100 * count / tried):>3} %  {name.replace('_', ' ')}\n"
        for name, count in leading
        if tried
    )


def _looks(insight: ClassInsight) -> list[str]:
    told = []
    if insight.unexplained:
        files = sum(group.files for group in insight.unexplained)
        groups = _count(len(insight.unexplained), "group")
        told.append(f"{_count(files, 'failing file')} in {groups} no mistake explains yet.\n")
    if insight.alike:
        groups = _count(len(insight.alike), "group")
        told.append(f"{groups} of files are the same to the token after renaming.\n")
    return ["\n", *told] if told else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
