"""Choose the next kata by what is remembered of the others.

Of the katas that do not pass comes what is begun, the one that was graded last; but not a kata in which the
student is stuck. Else comes one that builds on katas that pass:

1. if the student is stuck in a kata that was begun too early, the first that it builds on;
2. the easiest that trains the weakest skill below zero, if it is no harder than a kata that has passed;
3. the next of the track in which a kata was graded last, or else its first, or else the first of the course.

A skill is the sum of the last three graded katas that train it. A kata counts -1 if there was trouble with
it, and 1 if it has passed at the first or the second grading, without a hint and in its time. Trouble is a
fault that a review did not find, two hints, mistakes that stay twice, 15 gradings, or twice its time.
A student is stuck in a kata that does not pass after three hints and 15 gradings or twice its time, until
another kata has passed.

A course that names no skills, or whose order is fixed, goes by its order alone, and so does a service.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from grader.course.reviews import MISSED
from grader.course.state import KataState
from grader.course.syllabus import Effort, Syllabus
from grader.texts.escaping import harmless

RECENT = 3  # graded katas that a skill is judged by
EASY_ATTEMPTS = 2  # gradings of a kata that went well
TROUBLE_HINTS, STUCK_HINTS = 2, 3
TROUBLE_REPEATS = 2  # gradings with the mistake of the one before
MANY_ATTEMPTS = 15
LONG = 2  # times the minutes of the syllabus
NUMBERS = {2: "two", 3: "three"}
NOTHING = KataState()
UNKNOWN_EFFORT = Effort(minutes=10**6, difficulty=1)  # of a kata that the syllabus says nothing about


class Choice(NamedTuple):
    """A kata, and why it is the next one, as a clause that follows "because"; empty if it is the next one in
    the order of the course."""

    name: str
    reason: str = ""


def grades_count(syllabus: Syllabus) -> bool:
    """Return whether everybody is asked for the same: a course says so, as releases for a class do, or a
    service grades."""
    return syllabus.has_fixed_order or bool(os.environ.get("CI"))


def choose(
    syllabus: Syllabus,
    names: Sequence[str],
    known: Mapping[str, KataState],
    here: str = "",
    begun: Collection[str] = (),
) -> Choice | None:
    """Return which of the katas in `names`, in the order of the course, comes after the kata `here`; None if
    all pass. `begun` are those whose files are begun, also if they were never graded."""
    left = [name for name in names if not known.get(name, NOTHING).has_passed]
    if not left:
        return None
    if grades_count(syllabus) or not syllabus.skills:
        at = [*names].index(here) + 1 if here in names else 0
        return Choice(next(name for name in [*names[at:], *names[:at]] if name in left))
    return _Chooser(syllabus, names, known, left).choose(here, begun)


class _Chooser:
    """What is known of the katas of a course, some of which are left."""

    def __init__(
        self, syllabus: Syllabus, names: Sequence[str], known: Mapping[str, KataState], left: list[str]
    ) -> None:
        self.syllabus, self.left = syllabus, left
        self.states = {name: known.get(name, NOTHING) for name in names}
        graded = [name for name in names if self.states[name].digest]
        self.graded = sorted(graded, key=self._when)  # the last one last

    def choose(self, here: str, begun: Collection[str]) -> Choice:
        others = [name for name in self.left if name != here] or self.left
        stuck = [name for name in self.graded if name in self.left and self._is_stuck(name)]
        open_ = [name for name in others if name not in stuck] or others
        ready = [name for name in open_ if not self._needed(name)] or open_
        if going_on := [name for name in open_ if name in begun or self.states[name].digest]:
            return Choice(max(going_on, key=self._when), "you have begun it")
        for name in reversed(stuck):
            if first := next((other for other in ready if other in self._missing(name)), ""):
                return Choice(first, f"{name} builds on it")
        return self._for_weakest(ready) or self._in_track(here, ready, stuck)

    def _for_weakest(self, ready: list[str]) -> Choice | None:
        """Return the easiest kata that trains the weakest skill for which there is one."""
        passed = [name for name in self.states if name not in self.left]
        hardest = max((self._effort(name).difficulty for name in passed), default=1)
        fit = sorted(ready, key=lambda name: self._effort(name).difficulty)
        fit = [name for name in fit if self._effort(name).difficulty <= hardest]
        skills = {skill: self._number(skill) for skill in self.syllabus.skill_names}
        for skill in sorted(skills, key=lambda skill: skills[skill]):
            name = next((name for name in fit if skill in self._skills(name)), "")
            if name and skills[skill] < 0:
                cause = next(each for each in reversed(self._trained(skill)) if self._trouble(each))
                return Choice(name, f"{self._trouble(cause)}, and this one is about {_spoken(skill)} too")
        return None

    def _in_track(self, here: str, ready: list[str], stuck: list[str]) -> Choice:
        last = here or next(reversed(self.graded), "")
        track = next((names for names in self.syllabus.path.values() if last in names), [])
        at = track.index(last) if track else 0
        name = next((name for name in [*track[at:], *track[:at]] if name in ready), ready[0])
        if stuck and name not in stuck:
            return Choice(name, f"{self._trouble(stuck[-1])}: it comes again after this one")
        return Choice(name)

    def _number(self, skill: str) -> int:
        """Return how well a skill goes, from -3 to 3."""
        return sum(-1 if self._trouble(name) else self._went_well(name) for name in self._trained(skill))

    def _trained(self, skill: str) -> list[str]:
        """Return the last graded katas that train a skill, the last one last."""
        return [name for name in self.graded if skill in self._skills(name)][-RECENT:]

    def _went_well(self, name: str) -> bool:
        state = self.states[name]
        is_easy = not state.most_hints and state.attempts <= EASY_ATTEMPTS
        return state.has_passed and is_easy and state.seconds <= 60 * self._effort(name).minutes

    def _trouble(self, name: str) -> str:
        """Return what was the trouble with a kata, as a clause; "" if there was none."""
        state = self.states[name]
        if state.reviewed == MISSED:
            return f"the fault in {name} was not found in a review"
        if state.most_hints >= TROUBLE_HINTS:
            return f"{name} took {NUMBERS.get(state.most_hints, state.most_hints)} hints"
        if state.repeats >= TROUBLE_REPEATS:
            return f"mistakes stayed in {name} from one version to the next"
        return self._length(name)

    def _length(self, name: str) -> str:
        """Return how long a kata took if that was long, as a clause."""
        state = self.states[name]
        if state.attempts >= MANY_ATTEMPTS:
            return f"{name} took {state.attempts} gradings"
        is_long = state.seconds >= 60 * LONG * self._effort(name).minutes
        return f"{name} took {state.seconds // 60} minutes" if is_long else ""

    def _is_stuck(self, name: str) -> bool:
        """Return whether it is of no use to go on with a kata now. Another one that passes changes that."""
        state = self.states[name]
        others = (other for other in self.states.values() if other.has_passed)
        if any(other.graded_at > state.graded_at for other in others):
            return False
        is_helped = state.most_hints >= STUCK_HINTS and state.was_tried_since_hint
        return is_helped and bool(self._length(name))

    def _missing(self, name: str) -> set[str]:
        """Return the katas that a kata builds on, directly or not, and that do not pass."""
        needed = self._needed(name)
        return {*needed, *(each for other in needed for each in self._missing(other))}

    def _needed(self, name: str) -> list[str]:
        """Return the katas that a kata builds on directly, and that do not pass."""
        return [other for other in self._effort(name).builds_on if other in self.left]

    def _when(self, name: str) -> str:
        """Return when a kata was graded last; what an older grader has graded has the day of its pass."""
        return self.states[name].graded_at or self.states[name].passed_on

    def _effort(self, name: str) -> Effort:
        return self.syllabus.katas.get(name, UNKNOWN_EFFORT)

    def _skills(self, name: str) -> list[str]:
        return self.syllabus.skills.get(name, [])


def _spoken(skill: str) -> str:
    return harmless(skill.replace("_", " "), one_line=True)
