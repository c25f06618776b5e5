"""The summary that a run prints at its end: katas, their most frequent mistakes, groups of similar files."""

from __future__ import annotations

from pathlib import Path

from grader.classroom.analytics import ClassStatistics, KataStatistics
from grader.classroom.run import RunCounts
from grader.formats.escaping import one_line, points

MOST_MISTAKES = 3


def render(statistics: ClassStatistics, counts: RunCounts, folder: Path) -> str:
    """Return the summary as text."""
    parts = [_head(statistics, counts), *map(_kata, statistics.katas.values()), *_groups(statistics)]
    notes = [f"note  {one_line(note, 300)}\n" for note in counts.all_notes]
    where = f"\n{folder / 'class.html'} shows the class; gradebooks and everybody's page lie beside it.\n"
    return "".join([*parts, "\n" if notes else "", *notes, where])


def _head(statistics: ClassStatistics, counts: RunCounts) -> str:
    told = f"{_count(statistics.students, 'student')}, {_count(len(statistics.katas), 'kata')}:"
    told += f" {_count(counts.judged, 'file')} judged, {counts.known} known from before or from others."
    if statistics.absent_count:
        told += f" {statistics.absent_count} of the students handed nothing in."
    if counts.unlisted:
        told += f" {counts.unlisted} of them {'is' if counts.unlisted == 1 else 'are'} not in the roster."
    if statistics.unjudged:
        told += f" {_count(statistics.unjudged, 'file')} could not be judged: by_hand.csv lists them."
    return told + "\n\n"


def _kata(kata: KataStatistics) -> str:
    tried, passed = kata.tried, kata.statuses["passed"]
    mean = f"mean {points(kata.mean)} / {points(kata.info.max_score)}"
    line = f"{kata.info.name:<32}{passed:>6} of {tried} pass    {mean}\n"
    leading = kata.mistakes.most_common(MOST_MISTAKES)
    return line + "".join(
        f"    {round(100 * count / tried):>3} %  {name.replace('_', ' ')}\n"
        for name, count in leading
        if tried
    )


def _groups(statistics: ClassStatistics) -> list[str]:
    told = []
    if statistics.unexplained:
        files = sum(group.files for group in statistics.unexplained)
        groups = _count(len(statistics.unexplained), "group")
        told.append(f"{_count(files, 'failing file')} in {groups} no mistake explains yet.\n")
    if statistics.similar:
        groups = _count(len(statistics.similar), "group")
        told.append(f"{groups} of files are the same to the token after renaming.\n")
    return ["\n", *told] if told else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
