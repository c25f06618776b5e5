"""Show how far a student is: the list of all katas, the bar, what changed between two gradings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from grader.cli.options import from_here
from grader.course.catalog import Course, KataInfo, shorten
from grader.course.state import CourseState, KataState, file_digest
from grader.course.submission import Submission, SubmissionRejected, decoded, read_bytes
from grader.formats import account
from grader.formats.escaping import points
from grader.formats.wrapping import paragraphs, words
from grader.report_texts import harmless

MARKS = {"passed": "✓", "begun": "▸", "": "·"}
LEGEND = ("· not started", "▸ begun", "✓ passed")
AGAIN, NO_FILE = "↻", "!"
WIDTH = 80  # characters of a line
LEAST = 24  # characters for a title beside its kata; with less room it goes below
EFFORT = 13  # characters of a kata's difficulty and minutes
BAR = 10  # characters
MOST_NAMES = 3  # checks that a line of changes names


def is_begun(info: KataInfo, path: Path) -> bool:
    """Return whether a kata's file differs from its stub; True if it cannot be parsed as Python."""
    label = shorten(path)
    try:
        return Submission(info, decoded(read_bytes(path, label), label), label).touched
    except (SubmissionRejected, SyntaxError, ValueError, RecursionError, MemoryError):
        return True


class Standing(NamedTuple):
    """How far one kata is: "passed", "begun" or "", and what is remembered of it if it was ever graded.
    `changed` is True if the file was changed since."""

    info: KataInfo
    mark: str
    state: KataState
    changed: bool

    @property
    def has_passed(self) -> bool:
        """True if this or an earlier version has passed."""
        return self.mark == "passed" or self.state.has_passed

    @property
    def score(self) -> str:
        """The score of the last grading, with a star if the file was changed since."""
        if not self.state.digest or not self.mark:
            return ""
        return f"{points(self.state.score)}/{points(self.info.max_score)}{'*' if self.changed else ''}"


def standings(course: Course) -> list[Standing]:
    """Return how far every kata is, in course order."""
    known = CourseState(course).katas()
    return [standing(course, info, known.get(info.name, KataState())) for info in course.katas.values()]


def standing(course: Course, info: KataInfo, state: KataState) -> Standing:
    """Return how far a kata is, given what is remembered of it."""
    path = course.stub(info)
    same = bool(state.digest) and state.digest == file_digest(info, path)
    if same and state.status == "passed":
        return Standing(info, "passed", state, changed=False)
    begun = same or (os.path.lexists(path) and is_begun(info, path))
    return Standing(info, "begun" if begun else "", state, changed=not same)


def kata_list(course: Course, part: str = "", width: int = WIDTH) -> str:
    """Return the katas whose name, track or title contains `part` as text, in course order, with a sign for
    begun and passed, and the score."""
    found = [one for one in standings(course) if matches(one.info, part)]
    name_width = max((len(one.info.name) + 2 for one in found), default=0)
    wide = max((len(one.score) + 2 for one in found if one.score), default=0)
    lines, track = [], ""
    for one in found:
        if one.info.track != track:
            track = one.info.track
            lines += ["", f"  {track}"]
        name = f"{_sign(course, one)} {one.info.name:<{name_width}}"
        lead = f"  {name}{one.score:<{wide}}{_effort(course, one.info)}"
        waits = f" (first {listed(one.info.needs)})" if one.info.needs and not one.has_passed else ""
        lines += _titled(lead, one.info.marked_title + waits, width)
    signs = [_sign(course, one) for one in found]
    legend = [*LEGEND, *[f"{AGAIN} passed before, in practice"] * (AGAIN in signs)]
    legend += [f"{NO_FILE} no file"] * (NO_FILE in signs)
    legend += ["• easy  ••• hard"] * bool(course.syllabus.katas)
    legend += ["* changed since"] * any(one.score.endswith("*") for one in found)
    return "\n".join([*lines[1:], "", _signs(legend, width)]) + "\n"


def _sign(course: Course, one: Standing) -> str:
    """Return the sign of a kata in the list."""
    if not os.path.lexists(course.stub(one.info)):
        return NO_FILE
    return AGAIN if one.state.has_passed and one.mark != "passed" else MARKS[one.mark]


def _titled(lead: str, title: str, width: int) -> list[str]:
    """Return a kata's line with its title, which goes on below if there is little room."""
    room = width - len(lead)
    if room >= min(LEAST, len(title)) and room >= max(map(len, title.split())):
        return words(title, width, lead, " " * len(lead))
    return [lead.rstrip(), *words(title, width, " " * 6)]


def _signs(legend: list[str], width: int) -> str:
    """Return what the signs mean, each of them on one line."""
    whole = "   ".join(legend).replace(" ", "\xa0").replace("\xa0" * 3, "   ")
    return "\n".join(words(whole, width, "  ")).replace("\xa0", " ")


def _effort(course: Course, info: KataInfo) -> str:
    """Return a kata's difficulty and minutes in columns; empty in a course that names no efforts."""
    effort = course.syllabus.katas.get(info.name)
    if not effort:
        return " " * EFFORT if course.syllabus.katas else ""
    return f"{'•' * effort.difficulty:<3} {effort.minutes:>3} min  "


def matches(info: KataInfo, part: str) -> bool:
    """Return whether a kata's name, track or title contains `part`."""
    return part.lower() in f"{info.name} {info.track} {info.title}".lower()


def bar(found: list[Standing], ascii_only: bool = False) -> str:
    """Return how many katas pass, in all and in each track that is begun."""
    passed = sum(one.has_passed for one in found)
    full = BAR * passed // max(len(found), 1)
    signs = "#-" if ascii_only else "▓░"
    tracks = dict.fromkeys(one.info.track for one in found if one.mark)
    parts = [signs[0] * full + signs[1] * (BAR - full) + f" {passed}/{len(found)}"]
    for track in tracks:
        passes = [one.has_passed for one in found if one.info.track == track]
        parts.append(f"{track} {sum(passes)}/{len(passes)}")
    return "   ".join(parts)


def change(info: KataInfo, before: KataState, now: KataState) -> str:
    """Return what changed between two gradings of a kata in one line; "" if nothing did."""
    if not before.checks or not now.checks:
        return ""
    mended = [name for name, status in before.checks.items() if _mended(status, now.checks.get(name))]
    broken = [name for name, status in now.checks.items() if _mended(status, before.checks.get(name))]
    parts = [f"{points(before.score)} → {points(now.score)} of {points(info.max_score)}"]
    parts += [f"now holds: {_names(mended)}"] * bool(mended) + [f"broken: {_names(broken)}"] * bool(broken)
    if before.mistake != now.mistake:
        parts += [f"gone: {_spoken(before.mistake)}"] * bool(before.mistake)
        parts += [f"now seen: {_spoken(now.mistake)}"] * bool(now.mistake)
    return "   ".join([info.name, *parts]) if len(parts) > 1 or before.score != now.score else ""


def _mended(before: str, now: str | None) -> bool:
    return before in account.WRONG and now == "passed"


def _names(names: list[str]) -> str:
    shown = ", ".join(map(_spoken, names[:MOST_NAMES]))
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown


def _spoken(name: str) -> str:
    return harmless(name.replace("_", " "), one_line=True)  # the state may come from another repository


def next_kata(found: list[Standing], name: str) -> KataInfo | None:
    """Return the first kata after `name` that does not pass, else the first of all; None if all pass."""
    places = {one.info.name: number for number, one in enumerate(found)}
    at = places.get(name, -1) + 1
    return next((one.info for one in [*found[at:], *found[:at]] if not one.has_passed), None)


def after_pass(course: Course, info: KataInfo, found: list[Standing]) -> str:
    """Return what comes after a kata that passes: its track or the course is done, the next kata."""
    track = [one for one in found if one.info.track == info.track]
    done = f"{_done(track)} " if all(one.has_passed for one in track) else ""
    return done + next_line(course, found, info.name)


def next_line(course: Course, found: list[Standing], after: str = "") -> str:
    """Return which kata is next, by `next_kata`, or that all pass."""
    following = next_kata(found, after)
    if following is None:
        last = f": this was the last one of {course.syllabus.title}" if after else ""
        return (
            f"All {len(found)} katas pass{last}. All of it is yours now, from {found[0].info.name} to"
            f" {found[-1].info.name}."
        )
    return f"Next: {following.name} ({following.title}), in {from_here(course.stub(following))}."


def _done(track: list[Standing]) -> str:
    """Return that all katas of a track pass, and what was built."""
    built = listed(one.info.name for one in track if not one.info.ships_wrong_code)
    mended = listed(one.info.name for one in track if one.info.ships_wrong_code)
    parts = [f"built {built}"] * bool(built) + [f"repaired {mended}"] * bool(mended)
    return f"All {len(track)} katas of {track[0].info.track} pass. You have {' and '.join(parts)}."


def listed(names: Iterable[str]) -> str:
    """Return names as a part of a sentence: `a, b and c`."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def first_needed(course: Course, info: KataInfo) -> str:
    """Return which files to finish before this kata; "" if it waits for none."""
    known = CourseState(course).katas() if info.needs else {}
    needed = [course.kata_info(name) for name in info.needs]
    unmet = [
        one for one in needed if standing(course, one, known.get(one.name, KataState())).mark != "passed"
    ]
    files = listed(from_here(course.stub(one)) for one in unmet)
    return (
        f"{info.name} waits until {listed(one.name for one in unmet)} passes: finish {files} first."
        * bool(unmet)
    )


def welcome(course: Course, first: KataInfo, how: str = "", width: int = WIDTH) -> str:
    """Return the welcome text: the list of katas, the file to open first and `how` it is graded."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    how = how or f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}"
    begin = f"Start with {from_here(course.stub(first))}: its docstring is the statement.\n{how}\n"
    return f"{paragraphs(greeting, width)}\n\n{kata_list(course, width=width)}\n{paragraphs(begin, width)}"
