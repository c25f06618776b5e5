"""Choose the katas of a plan that fit into so many hours, and say why and what is left out.

First come the katas that the plan wants, the most important first, as many as fit. What is left of the time
goes to those that they build on, and then to the rest of the plan. What has passed takes no time: of the
first two kinds it stays in the list, of the rest it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.course.syllabus import Plan
from grader.errors import CourseError
from grader.texts.phrases import counted, listed


@dataclass(frozen=True)
class Step:
    """A kata that is chosen: its minutes, 0 if it has passed, and why it is there, in a few words."""

    name: str
    minutes: int
    has_passed: bool
    why: str


@dataclass(frozen=True)
class ChosenKatas:
    """The katas of a plan in the order in which to do them, and sentences on what was left out. `title` says
    which plan it is, and for what or for how many hours."""

    title: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(step.name for step in self.steps)

    @property
    def told(self) -> str:
        """The title, how many katas there are, how many have passed, and how long the others take."""
        passed = sum(step.has_passed for step in self.steps)
        minutes = sum(step.minutes for step in self.steps)
        parts = [counted(len(self.steps), "kata"), f"{passed} passed" if passed else ""]
        parts.append(counted(minutes, "minute") if minutes else "")
        return f"{self.title}. {', '.join(filter(None, parts))}."


def hours_from(text: str) -> float:
    """Return a number of hours that somebody has typed. Raises CourseError if it is not above 0."""
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < float("inf"):  # which `nan` is not
        raise CourseError(f"`{text}` is no number of hours: say one above 0, such as 1 or 2.5.")
    return hours


def limited(course: Course, name: str, hours: float | None = None) -> Course:
    """Return the course with the katas of a plan alone, or those of them that fit into so many hours. Raises
    CourseError as `choice` does."""
    return course.limited_to(name, choice(course, name, hours).names if hours is not None else ())


def choice(course: Course, name: str, hours: float | None = None) -> ChosenKatas:
    """Return the katas of a plan that fit into so many hours; all of them if it is None. Raises CourseError
    if there is no such plan, if it cannot be said how long its katas take, or if none fits."""
    plan = course.limited_to(name).syllabus.plans[name]
    course = course.limited_to("")  # it may be limited to another plan
    passed = CourseState(course).passed() & {*plan.katas}
    efforts = course.syllabus.katas
    minutes = {kata: efforts[kata].minutes for kata in plan.katas if kata in efforts}
    if hours is None:
        steps = (_step(kata, minutes.get(kata, 0), passed, course.katas[kata].title) for kata in plan.katas)
        return ChosenKatas(f"{name}: {plan.about}" if plan.about else name, tuple(steps))
    if len(minutes) < len(plan.katas):
        raise CourseError(
            f"tests/katas/path.toml does not say how long each kata of the plan `{name}` takes."
        )
    found = _Chooser(course, plan, minutes, passed, hours)
    if not found.taken:
        left = [kata for kata in plan.katas if kata not in passed]
        if not left:
            raise CourseError(f"All katas of the plan `{name}` have passed.")
        shortest = min(left, key=lambda kata: minutes[kata])
        raise CourseError(
            f"No kata of the plan `{name}` fits into {counted(hours, 'hour')}: the shortest,"
            f" {shortest}, takes {minutes[shortest]} minutes."
        )
    return ChosenKatas(f"{name} in {counted(hours, 'hour')}", tuple(found.steps()), tuple(found.notes()))


def _step(kata: str, minutes: int, passed: set[str], why: str) -> Step:
    return Step(kata, 0 if kata in passed else minutes, kata in passed, why)


class _Chooser:
    """The katas of a plan that are taken while the time lasts."""

    def __init__(
        self, course: Course, plan: Plan, minutes: dict[str, int], passed: set[str], hours: float
    ) -> None:
        self.course, self.plan, self.minutes, self.passed = course, plan, minutes, passed
        self.taken: set[str] = set()
        self.left = hours * 60
        for kata in plan.wants:
            self._take(kata)
        for kata in plan.wants:
            if kata in self.taken:
                for other in self._foundations(kata):
                    self._take(other)
        for kata in plan.katas:
            done = self.taken | passed
            if kata not in done and done.issuperset(course.syllabus.katas[kata].builds_on):
                self._take(kata)

    def _take(self, kata: str) -> None:
        """Take a kata, with those that have to pass before it can be graded, if there is time for all."""
        infos = self.course.with_needs([self.course.katas[kata]])
        new = {info.name for info in infos if info.name in self.minutes} - self.taken
        if (cost := self._cost(new)) <= self.left:
            self.taken |= new
            self.left -= cost

    def _cost(self, katas: Iterable[str]) -> int:
        return sum(self.minutes[kata] for kata in katas if kata not in self.passed)

    def _foundations(self, kata: str) -> list[str]:
        """Return all that a kata builds on or needs, what it builds on directly first."""
        found = [kata]
        for one in found:  # which grows meanwhile
            before = (*self.course.syllabus.katas[one].builds_on, *self.course.katas[one].needs)
            found += [
                other for other in dict.fromkeys(before) if other in self.minutes and other not in found
            ]
        return found[1:]

    def steps(self) -> Iterator[Step]:
        """Yield what is taken: each wanted kata after what it builds on, then the rest in their order."""
        done: set[str] = set()
        wanted = [kata for kata in self.plan.wants if kata in self.taken]
        for target in [*wanted, ""]:
            group = {target, *self._foundations(target)} if target else self.taken
            for kata in self.plan.katas:
                if kata in self.taken & group - done:
                    done.add(kata)
                    yield _step(kata, self.minutes[kata], self.passed, self._why(kata, target))

    def _why(self, kata: str, target: str) -> str:
        if kata in self.plan.wants:
            return "wanted most" if kata == self.plan.wants[0] else "wanted"
        if target:
            return f"for {target}"
        return "next in the plan" if self.plan.wants else ""

    def notes(self) -> Iterator[str]:
        """Yield sentences: what may be skipped, what is left out, what the minutes that are left are for."""
        if self.plan.wants and len(self.taken - self.passed) > 1:
            yield "If the time runs out, leave out the last ones."
        away = [kata for kata in self.plan.katas if kata not in self.taken | self.passed]
        skipped: dict[str, str] = {}  # by kata, the first that builds on it
        for kata in self.plan.wants:
            if kata in self.taken - self.passed:
                skipped = {**dict.fromkeys(self._foundations(kata), kata), **skipped}
        skipped = {kata: skipped[kata] for kata in away if kata in skipped}
        if skipped:
            yield f"May be skipped, if you read the statements: {'; '.join(self._groups(skipped))}."
        missed = [kata for kata in self.plan.wants if kata in away and kata not in skipped]
        if missed:
            yield f"Left out: {listed(map(self._price, missed))}."
        if others := [kata for kata in away if kata not in {*skipped, *missed}]:
            more, also = counted(len(others), "other kata"), " too" if missed else ""
            yield f"Left out{also}: {more} of the plan, {_in_hours(self._cost(others))}."
        if missed and self.left >= 1:
            yield f"{counted(int(self.left), 'minute')} to spare: read the statement of {missed[0]}."

    def _groups(self, skipped: dict[str, str]) -> Iterator[str]:
        """Yield what may be skipped for each wanted kata that builds on it, with the minutes."""
        for target in self.plan.wants:
            if others := [kata for kata in skipped if skipped[kata] == target]:
                yield f"{listed(others)} (for {target}, {self._cost(others)} minutes)"

    def _price(self, kata: str) -> str:
        """Return how long a kata takes that is left out, and with all that it builds on."""
        alone, whole = self.minutes[kata], self._cost({kata, *self._foundations(kata)} - self.taken)
        more = f", {whole} with what it builds on" if whole > alone else ""
        return f"{kata} ({alone} minutes{more})"


def _in_hours(minutes: int) -> str:
    """Return minutes as hours, rounded to half an hour from two hours on."""
    return counted(round(minutes / 30) / 2, "hour") if minutes >= 120 else counted(minutes, "minute")
