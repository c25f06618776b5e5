"""Show how far a student is: the list of all katas, the bar, the welcome."""

from __future__ import annotations

import os

from grader.course import search
from grader.course.catalog import Course, KataInfo
from grader.course.files import from_here
from grader.course.torch_words import NAMES
from grader.grading.standings import Standing, next_line, standings
from grader.texts.phrases import listed
from grader.texts.wrapping import paragraphs, words

KATA_SIGNS = {"passed": "✓", "begun": "▸", "": "·"}
LEGEND = ("· not started", "▸ begun", "✓ passed")
AGAIN_SIGN, MISSING_SIGN = "↻", "!"
LIST_WIDTH = 80  # characters of a line
LEAST_TITLE = 24  # characters for a title beside its kata; with less room it goes below
EFFORT_WIDTH = 13  # characters of a kata's difficulty and minutes
BAR_WIDTH = 10  # characters
MOST_LISTED = 24  # katas of a course that the welcome lists
MOST_LIST_LINES = 18  # of a list that fits a screen, with the next kata below


def kata_list(course: Course, part: str = "", width: int = LIST_WIDTH, track: str = "") -> str:
    """Return the katas that `part` may mean as text, track by track, the best first; all of them in course
    order if it is empty. Each has a sign for begun and passed, and its score; with `track` those of this one
    alone."""
    known = {one.info: one for one in standings(course)}
    katas = [info for info in search.found(course, part) if track in ("", info.track)]
    tracks = list(dict.fromkeys(info.track for info in katas))
    found = [known[info] for info in sorted(katas, key=lambda info: tracks.index(info.track))]
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
        title = one.info.marked_title + _library(one) + _puzzle(one) + waits
        lines += titled(lead, title, width)
    further = {
        "• easy  ••• hard": bool(course.syllabus.katas),
        "* changed since": any(one.score.endswith("*") for one in found),
    }
    legend = _legend(course, found, width, *(text for text, is_shown in further.items() if is_shown))
    return "\n".join([*lines[1:], "", legend]) + "\n"


def overview(course: Course, width: int = LIST_WIDTH) -> str:
    """Return the list of katas if it fits a screen, or else a line for each track: a sign for each kata, and
    how many pass; then the kata that is next."""
    found = standings(course)
    text = kata_list(course, width=width) if len(found) <= MOST_LIST_LINES else ""  # a line each, or more
    if not text or text.count("\n") > MOST_LIST_LINES:
        tracks = dict.fromkeys(one.info.track for one in found)
        katas = {track: [one for one in found if one.info.track == track] for track in tracks}
        wide, most = max(map(len, tracks)), max(map(len, katas.values()))
        lines = [
            f"  {track:<{wide}}  {''.join(_sign(course, one) for one in ones):<{most}}"
            f"  {sum(one.has_passed for one in ones)}/{len(ones)}"
            for track, ones in katas.items()
        ]
        text = "\n".join(
            [*lines, "", _legend(course, found, width), "  Every kata by name: grade list --all", ""]
        )
    following = f"\n{paragraphs(next_line(course, found), width)}\n" if found else ""
    return text + following


def _library(one: Standing) -> str:
    """Return the library in which a kata was answered, if it is not its own."""
    name = NAMES.get(one.state.library, "") if one.mark else ""
    return f" (in {name})" if name else ""


def _puzzle(one: Standing) -> str:
    """Return that a puzzle of the kata was shown, if one was."""
    return " (with a puzzle)" if one.state.puzzle else ""


def _sign(course: Course, one: Standing) -> str:
    """Return the sign of a kata in the list."""
    if not os.path.lexists(course.stub(one.info)):
        return MISSING_SIGN
    return AGAIN_SIGN if one.state.has_passed and one.mark != "passed" else KATA_SIGNS[one.mark]


def titled(lead: str, title: str, width: int) -> list[str]:
    """Return a kata's line with its title or another text, which goes on below if there is little room."""
    room = width - len(lead)
    if not title:
        return [lead.rstrip()]
    if room >= min(LEAST_TITLE, len(title)) and room >= max(map(len, title.split())):
        return words(title, width, lead, " " * len(lead))
    return [lead.rstrip(), *words(title, width, " " * 6)]


def _legend(course: Course, found: list[Standing], width: int, *further: str) -> str:
    """Return what the signs of these katas mean, and `further` ones, each of them on one line."""
    signs = {_sign(course, one) for one in found}
    rare = {AGAIN_SIGN: "passed before, in practice", MISSING_SIGN: "no file"}
    legend = [*LEGEND, *(f"{sign} {text}" for sign, text in rare.items() if sign in signs), *further]
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
    if course.syllabus.plans and not course.plan:
        listed += "  For a goal, or with little time: grade plan\n"
    return f"{paragraphs(greeting, width)}\n\n{listed}\n{paragraphs(begin, width)}"
