"""Say how far a student is: the state of every kata, what changed between two gradings, what comes next."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from grader.course.catalog import Course, KataInfo, read_kata_info, shorten
from grader.course.files import from_here
from grader.course.state import CourseState, KataState, file_digest
from grader.course.submission import SubmissionRejected, read, read_bytes
from grader.formats import account
from grader.grading.choice import choose
from grader.report import KataReport
from grader.texts.escaping import harmless
from grader.texts.phrases import listed
from grader.texts.points import points

MOST_NAMES = 3  # checks that a line of changes names
MOST_LAWS = 2  # that are named after a pass


def is_begun(info: KataInfo, path: Path) -> bool:
    """Return whether a kata's file differs from its stub; True if it cannot be parsed as Python."""
    label = shorten(path)
    try:
        return _is_touched(info, read_bytes(path, label), label)
    except SubmissionRejected:
        return True


@lru_cache(maxsize=256)  # files of a course; a page and an editor ask again and again
def _is_touched(info: KataInfo, data: bytes, label: str) -> bool:
    return read(info, data, label).touched


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


def change(info: KataInfo, before: KataState, now: KataState) -> str:
    """Return what changed between two gradings of a kata in one line; "" if nothing did."""
    if not before.checks or not now.checks:
        return ""
    mended = [name for name, status in before.checks.items() if _mended(status, now.checks.get(name))]
    broken = [name for name, status in now.checks.items() if _mended(status, before.checks.get(name))]
    parts = [f"{points(before.score)} → {points(now.score)} of {points(info.max_score)}"]
    differs = before.mistake != now.mistake
    if mended:
        parts.append(f"now holds: {_names(mended)}")
    if broken:
        parts.append(f"broken: {_names(broken)}")
    if differs and before.mistake:
        parts.append(f"gone: {_spoken(before.mistake)}")
    if differs and now.mistake:
        parts.append(f"now seen: {_spoken(now.mistake)}")
    return "   ".join([info.name, *parts]) if len(parts) > 1 or before.score != now.score else ""


def _mended(before: str, now: str | None) -> bool:
    return before in account.WRONG and now == "passed"


def _names(names: list[str]) -> str:
    shown = ", ".join(map(_spoken, names[:MOST_NAMES]))
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown


def _spoken(name: str) -> str:
    return harmless(name.replace("_", " "), one_line=True)  # the state may come from another repository


class NextKata(NamedTuple):
    """The kata that comes next, and why, as a clause that follows "because"; empty if the order says so."""

    info: KataInfo
    reason: str


def next_kata(course: Course, found: list[Standing], after: str = "") -> NextKata | None:
    """Return which kata is chosen after `after`; None if all pass. What fits into a number of hours is in the
    order of importance, which is kept."""
    infos, known = {one.info.name: one.info for one in found}, {one.info.name: one.state for one in found}
    begun = [one.info.name for one in found if one.mark == "begun"]
    syllabus = replace(course.syllabus, has_fixed_order=True) if course.chosen else course.syllabus
    chosen = choose(syllabus, list(infos), known, after, begun)
    return NextKata(infos[chosen.name], chosen.reason) if chosen else None


def after_pass(course: Course, info: KataInfo, found: list[Standing]) -> str:
    """Return what comes after a kata that passes: its track or the course is done, the next kata."""
    track = [one for one in found if one.info.track == info.track]
    done = f"{_done(track)} " if all(one.has_passed for one in track) else ""
    return done + next_line(course, found, info.name)


def after_single_pass(course: Course, info: KataInfo) -> tuple[str, list[Path]]:
    """Return what `after_pass` says by what is remembered, and the files that it may name. No file of the
    student is read, and only the declaration of the next kata, unless a track is done."""
    known, declared = CourseState(course).katas(), course.declared()
    left = [name for name in declared if not known.get(name, KataState()).has_passed]
    is_track_left = any(declared[name].parent.name == info.track for name in left)
    if course.plan or info.name not in declared or not is_track_left:
        katas = course.katas.values()
        found = [Standing(one, "", known.get(one.name, KataState()), changed=False) for one in katas]
        return after_pass(course, info, found), [course.stub(one) for one in katas]
    chosen = choose(course.syllabus, list(declared), known, info.name)
    assert chosen is not None
    one = read_kata_info(declared[chosen.name])
    return _next(course, NextKata(one, chosen.reason)), [course.stub(one)]


def next_line(course: Course, found: list[Standing], after: str = "") -> str:
    """Return which kata is next, by `next_kata`, or that all pass."""
    following = next_kata(course, found, after)
    if following is None:
        last = f": this was the last one of {course.syllabus.title}" if after else ""
        return (
            f"All {len(found)} katas pass{last}. All of it is yours now, from {found[0].info.name} to"
            f" {found[-1].info.name}."
        )
    return _next(course, following)


def _next(course: Course, following: NextKata) -> str:
    info = following.info
    why = f", because {following.reason}" if following.reason else ""
    return f"Next: {info.name} ({info.title}), in {from_here(course.stub(info))}{why}.{_lacking(info)}"


def _lacking(info: KataInfo) -> str:
    """Return that a kata cannot be graded before its library is installed, after a space; "" if it can."""
    if info.library == "numpy":
        return ""
    from grader.grading.session import lacks_library, what_to_install  # it imports NumPy

    return f" {what_to_install(info)}" if lacks_library(info) else ""


def _done(track: list[Standing]) -> str:
    """Return that all katas of a track pass, and what was built."""
    built = listed(one.info.name for one in track if not one.info.ships_wrong_code)
    mended = listed(one.info.name for one in track if one.info.ships_wrong_code)
    parts = [f"{verb} {names}" for verb, names in (("built", built), ("repaired", mended)) if names]
    return f"All {len(track)} katas of {track[0].info.track} pass. You have {' and '.join(parts)}."


def first_needed(course: Course, info: KataInfo) -> str:
    """Return which files to finish before this kata; "" if it waits for none."""
    known = CourseState(course).katas() if info.needs else {}
    needed = [course.kata_info(name) for name in info.needs]
    unmet = [
        one for one in needed if standing(course, one, known.get(one.name, KataState())).mark != "passed"
    ]
    if not unmet:
        return ""
    files = listed(from_here(course.stub(one)) for one in unmet)
    return f"{info.name} waits until {listed(one.name for one in unmet)} passes: finish {files} first."


def shown(report: KataReport) -> str:
    """Return what the checks of a kata that passes have shown, as a sentence: the laws worth most."""
    from grader.checks.builtin import BUILTIN  # imports NumPy, which a list of the katas does without

    laws = [check for check in report.checks if check.name not in BUILTIN and check.status == "passed"]
    titles = [_clause(check.title) for check in sorted(laws, key=lambda check: -check.max_score)[:MOST_LAWS]]
    more = len(report.checks) - len(account.by_hand(report)) - len(titles)
    if not titles:
        return ""
    if more:
        titles.append(f"{more} more {'check' if more == 1 else 'checks'}")
    return f"Shown: {'; '.join(titles)}."


def _clause(sentence: str) -> str:
    """Return a sentence as part of another one; a first word such as NaN keeps its capitals."""
    first = sentence.split(" ", 1)[0]
    return (sentence[:1].lower() + sentence[1:] if first[1:].islower() or first == "A" else sentence).rstrip(
        "."
    )
