"""Show the plans of a course, and the katas of one: all, or those that fit into so many hours."""

from __future__ import annotations

from collections.abc import Iterator

from grader.cli.kata_list import KATA_SIGNS, titled
from grader.course.catalog import Course
from grader.course.plans import ChosenKatas, choice
from grader.errors import CourseError
from grader.texts.phrases import counted
from grader.texts.wrapping import words

FEW_HOURS = 4  # as an example
OPTIONS = ("--plan", "--hours")


def all_plans(course: Course, width: int) -> str:
    """Return one line for each plan. Raises CourseError if there is none."""
    plans = course.syllabus.plans
    if not plans:
        raise CourseError("The course has no plans; `grade list` shows its katas.")
    wide, lines = max(map(len, plans)), []
    for name, plan in plans.items():
        size = f"{counted(len(plan.katas), 'kata'):>9}, {counted(plan.hours, 'hour')}"
        lines += titled(f"  {name:<{wide}}  {size:<21}", plan.about, width)
    return "\n".join(lines) + "\n"


def how_to_choose(course: Course) -> str:
    """Return the commands that go on from the list of plans."""
    name = next(iter(course.syllabus.plans))
    return f"Its katas:  grade plan {name}\nBegin:      grade --plan {name}\nLess time:  {example(course)}\n"


def example(course: Course) -> str:
    """Return a command that chooses by hours, for a plan that says what it wants most if there is one."""
    return f"grade plan {example_name(course)} --hours {FEW_HOURS}"


def example_name(course: Course) -> str:
    plans = course.syllabus.plans
    return next((name for name, plan in plans.items() if plan.wants), next(iter(plans), "NAME"))


def one_plan(course: Course, name: str, hours: float | None, width: int) -> str:
    """Return the katas of a plan in the order in which to do them, and what was left out. Raises CourseError
    as `choice` does."""
    found = choice(course, name, hours)
    notes = [line for note in found.notes for line in words(note, width)]
    parts = [words(found.told, width), [*_rows(found, width)], *([notes] if notes else [])]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _rows(found: ChosenKatas, width: int) -> Iterator[str]:
    wide = max((len(step.name) for step in found.steps), default=0)
    for number, step in enumerate(found.steps, 1):
        sign = KATA_SIGNS["passed" if step.has_passed else ""]
        time = "passed" if step.has_passed else f"{step.minutes} min" if step.minutes else ""
        yield from titled(f"  {number:>2} {sign} {step.name:<{wide}}  {time:>7}  ", step.why, width)


def options_of(name: str, hours: float | None) -> list[str]:
    """Return the options of `grade` that take the katas of a plan alone."""
    return ["--plan", name] + ([] if hours is None else ["--hours", f"{hours:.12g}"])


def with_options(arguments: list[str], options: list[str]) -> list[str]:
    """Return the arguments of `grade` with these options in the place of those for another plan."""
    kept, skips = [], False
    for argument in arguments:
        if not skips and not argument.startswith(tuple(f"{option}=" for option in OPTIONS)):
            skips = argument in OPTIONS
            kept += [] if skips else [argument]
        else:
            skips = False
    return [*kept, *options]
