"""Show how far a student is: the list of all katas, the bar, the welcome."""

from __future__ import annotations

import os

from grader.course.catalog import Course, KataInfo
from grader.course.files import from_here
from grader.course.torch_words import NAMES
from grader.grading.standings import Standing, listed, matches, standings
from grader.texts.wrapping import paragraphs, words

KATA_SIGNS = {"passed": "✓", "begun": "▸", "": "·"}
LEGEND = ("· not started", "▸ begun", "✓ passed")
AGAIN_SIGN, MISSING_SIGN = "↻", "!"
LIST_WIDTH = 80  # characters of a line
LEAST_TITLE = 24  # characters for a title beside its kata; with less room it goes below
EFFORT_WIDTH = 13  # characters of a kata's difficulty and minutes
BAR_WIDTH = 10  # characters
MOST_LISTED = 24  # katas of a course that the welcome lists


def kata_list(course: Course, part: str = "", width: int = LIST_WIDTH, track: str = "") -> str:
    """Return the katas whose name, track or title contains `part` as text, in course order, with a sign for
    begun and passed, and the score; with `track` those of this one alone."""
    found = [one for one in standings(course) if matches(one.info, part) and track in ("", one.info.track)]
    name_width = max((len(one.info.name) + 2 for one in found), default=0)
    wide = max((len(one.score) + 2 for one in found if one.score), default=0)
    lines, last = [], ""
    for one in found:
        if one.info.track != last:
            last = one.info.track
            lines += ["", f"  {last}"]
        name = f"{_sign(course, one)} {one.info.name:<{name_width}}"
        lead = f"  {name}{one.score:<{wide}}{_effort(course, one.info)}"
        waits = f" (first {listed(one.info.needs)})" if one.info.needs and not one.has_passed else ""
        lines += _titled(lead, one.info.marked_title + _library(one) + waits, width)
    signs = [_sign(course, one) for one in found]
    further = {
        f"{AGAIN_SIGN} passed before, in practice": AGAIN_SIGN in signs,
        f"{MISSING_SIGN} no file": MISSING_SIGN in signs,
        "• easy  ••• hard": bool(course.syllabus.katas),
        "* changed since": any(one.score.endswith("*") for one in found),
    }
    legend = [*LEGEND, *(text for text, is_shown in further.items() if is_shown)]
    return "\n".join([*lines[1:], "", _signs(legend, width)]) + "\n"


def _library(one: Standing) -> str:
    """Return the library in which a kata was answered, if it is not its own."""
    name = NAMES.get(one.state.library, "") if one.mark else ""
    return f" (in {name})" if name else ""


def _sign(course: Course, one: Standing) -> str:
    """Return the sign of a kata in the list."""
    if not os.path.lexists(course.stub(one.info)):
        return MISSING_SIGN
    return AGAIN_SIGN if one.state.has_passed and one.mark != "passed" else KATA_SIGNS[one.mark]


def _titled(lead: str, title: str, width: int) -> list[str]:
    """Return a kata's line with its title, which goes on below if there is little room."""
    room = width - len(lead)
    if room >= min(LEAST_TITLE, len(title)) and room >= max(map(len, title.split())):
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
        return " " * EFFORT_WIDTH if course.syllabus.katas else ""
    return f"{'•' * effort.difficulty:<3} {effort.minutes:>3} min  "


def bar(found: list[Standing], *, ascii_only: bool = False) -> str:
    """Return how many katas pass, in all and in each track that is begun."""
    passed = sum(one.has_passed for one in found)
    full = BAR_WIDTH * passed // max(len(found), 1)
    signs = "#-" if ascii_only else "▓░"
    tracks = dict.fromkeys(one.info.track for one in found if one.mark)
    parts = [signs[0] * full + signs[1] * (BAR_WIDTH - full) + f" {passed}/{len(found)}"]
    for track in tracks:
        passes = [one.has_passed for one in found if one.info.track == track]
        parts.append(f"{track} {sum(passes)}/{len(passes)}")
    return "   ".join(parts)


def welcome(course: Course, first: KataInfo, how: str = "", width: int = LIST_WIDTH) -> str:
    """Return the welcome text: the list of katas, of a long course those of the first track, the file to open
    first and `how` it is graded."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    how = how or f"Then run:  grade {first.name}      stuck?  grade hint {first.name}"
    begin = f"Start with {from_here(course.stub(first))}: its docstring is the statement.\n{how}\n"
    track = first.track if len(course.katas) > MOST_LISTED else ""
    listed = kata_list(course, width=width, track=track)
    others = [info.track for info in course.katas.values() if info.track != track]
    if track and others:
        tracks = len(set(others))
        listed += f"  {len(others)} more in {tracks} tracks: grade list\n"
    return f"{paragraphs(greeting, width)}\n\n{listed}\n{paragraphs(begin, width)}"
