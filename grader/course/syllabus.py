"""Read and write the syllabus: the course's title, its tracks and the order of its katas.

It is the file `tests/katas/path.toml`:

    title = "Sorting by Hand"
    about = "Build the classical algorithms, one kata at a time."
    by_hand = true      # a library function that does all of a kata earns nothing for agreement
    reveal = "passed"   # `kata wheel` puts the solutions in; a student sees that of a kata that has passed
    see = "see"         # the folder of the package that `grade see` runs
    assistants = "none" # what AI assistants may do for a student: "tutor" if it is left out, or "free"
    order = "fixed"     # the next kata is the next one of [path], and is not chosen by [skills]
    puzzles = false     # no puzzle of the reference's lines where the hints were not enough

    [path]
    lists = ["insertion_sort", "merge_sort"]
    trees = ["heap"]

    [katas]             # for some katas or all
    merge_sort = { minutes = 20, difficulty = 1, builds_on = ["insertion_sort"] }

    [skills]            # what each kata trains, one to three skills
    merge_sort = ["recursion"]

    [skill_names]       # what each skill is, in a sentence
    recursion = "A function that calls itself on less."

    [shortcuts]         # what of a library does all of a kata, or why nothing does
    merge_sort = ["numpy.sort", "heapq.*"]
    heap = "heapq.heapify is a part; a heap that shrinks is the kata."

    [plans.lab]
    about = "trees in an afternoon"
    hours = 1
    katas = ["merge_sort", "heap"]
    wants = ["heap"]    # what matters most, where there is less time

    [aliases]           # other names that people know
    mergesort = "merge_sort"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from grader.course.files import safe_parts
from grader.errors import CourseError as CourseError

SYLLABUS_FILE = Path("tests", "katas", "path.toml")
TITLE = "the dojo"
ASSISTANTS = ("tutor", "none", "free")  # explain and ask; nothing; whatever the student wants
FIXED = "fixed"  # the order, if the course does not let the next kata be chosen
MOST_SKILLS = 3  # that a kata trains

#: Returns what is wrong with an entry, given the names of all listed katas; empty if it is right.
Complaint = Callable[[dict[str, Any], list[str]], str]


@dataclass(frozen=True)
class Effort:
    """How long a kata takes, how difficult it is from 1 to 3, and the katas that a student does before it."""

    minutes: int
    difficulty: int
    builds_on: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """The katas that fit into so many hours, in the order in which to do them; what it is for, in a few
    words; and those of its katas that matter most, the most important first."""

    hours: float
    katas: list[str]
    about: str = ""
    wants: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Syllabus:
    """The course's title, one sentence about it, its katas by track, the effort of each, and plans. Without
    the file, `path` is empty, and each folder of declarations is a track, in alphabetical order."""

    title: str = TITLE
    about: str = ""
    path: dict[str, list[str]] = field(default_factory=dict)
    by_hand: bool = False
    reveal: str = ""
    see: str = ""
    assistants: str = ASSISTANTS[0]
    puzzles: bool = True
    katas: dict[str, Effort] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    tracks: dict[str, str] = field(default_factory=dict)  # what each is for, in a sentence
    #: Dotted names of what does all of a kata, by its name; or a sentence that says why nothing does.
    shortcuts: dict[str, list[str] | str] = field(default_factory=dict)
    skills: dict[str, list[str]] = field(default_factory=dict)  # that each kata trains
    skill_names: dict[str, str] = field(default_factory=dict)  # what each is, in a sentence
    has_fixed_order: bool = False  # `order = "fixed"`

    def limited_to(self, names: list[str]) -> Syllabus:
        """Return the syllabus of these katas alone; a plan that loses one is left out."""
        kept = set(names)
        path = {track: [name for name in listed if name in kept] for track, listed in self.path.items()}
        efforts = {
            name: replace(effort, builds_on=[other for other in effort.builds_on if other in kept])
            for name, effort in self.katas.items()
            if name in kept
        }
        plans = {name: plan for name, plan in self.plans.items() if kept.issuperset(plan.katas)}
        path = {track: listed for track, listed in path.items() if listed}
        aliases = {alias: name for alias, name in self.aliases.items() if name in kept}
        shortcuts = {name: listed for name, listed in self.shortcuts.items() if name in kept}
        skills = {name: listed for name, listed in self.skills.items() if name in kept}
        trained = {skill for listed in skills.values() for skill in listed}
        return replace(
            self,
            path=path,
            katas=efforts,
            plans=plans,
            aliases=aliases,
            shortcuts=shortcuts,
            skills=skills,
            skill_names={skill: text for skill, text in self.skill_names.items() if skill in trained},
        )

    @property
    def order(self) -> list[str]:
        """The names of all listed katas, track by track."""
        return [name for names in self.path.values() for name in names]

    @property
    def slug(self) -> str:
        """The title in small letters, digits and hyphens, as hosts take names."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.casefold()).strip("-") or "course"

    def rank(self, track: str, name: str) -> tuple[int, str, int, str]:
        """Return the sort key of a kata; katas that are not listed come last in their track, by name."""
        tracks, order = list(self.path), self.order
        at_track = tracks.index(track) if track in tracks else len(tracks)
        return at_track, track, order.index(name) if name in order else len(order), name


def read_syllabus(root: Path) -> Syllabus:
    """Return the syllabus of the course in `root`. Raises CourseError if the file is not valid."""
    file = root / SYLLABUS_FILE
    if not file.is_file():
        return Syllabus()
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{SYLLABUS_FILE.as_posix()} cannot be read as TOML: {error}.") from None
    _require_valid(found)
    efforts = {name: Effort(**effort) for name, effort in found.pop("katas", {}).items()}
    plans = {name: Plan(**plan) for name, plan in found.pop("plans", {}).items()}
    has_fixed_order = found.pop("order", "") == FIXED
    return Syllabus(**found, katas=efforts, plans=plans, has_fixed_order=has_fixed_order)


def _require_valid(found: dict[str, Any]) -> None:
    unknown = found.keys() - {each.name for each in fields(Syllabus)} - {"order"}
    unknown |= found.keys() & {"has_fixed_order"}
    if unknown:
        raise CourseError(
            f"{SYLLABUS_FILE.as_posix()}: nothing is called `{min(unknown)}`;"
            " there are title, about, by_hand, reveal, see, assistants, order, puzzles, [path], [tracks],"
            " [katas], [skills], [skill_names], [shortcuts], [plans] and [aliases]."
        )
    for name in ("title", "about"):
        if not isinstance(found.get(name, ""), str):
            raise CourseError(f'{SYLLABUS_FILE.as_posix()}: {name} is a text in quotes: {name} = "…".')
    if not isinstance(found.get("by_hand", False), bool):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: by_hand is true or false, without quotes.")
    if not isinstance(found.get("puzzles", True), bool):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: puzzles is true or false, without quotes.")
    if found.get("reveal", "passed") != "passed":
        raise CourseError(f'{SYLLABUS_FILE.as_posix()}: reveal is "passed", or is left out.')
    if found.get("assistants", ASSISTANTS[0]) not in ASSISTANTS:
        raise CourseError(
            f'{SYLLABUS_FILE.as_posix()}: assistants is "tutor", "none" or "free", or is left out.'
        )
    if found.get("order", FIXED) != FIXED:
        raise CourseError(f'{SYLLABUS_FILE.as_posix()}: order is "fixed", or is left out.')
    _require_own_folder(found.get("see", "see"))
    path = found.get("path")
    if not isinstance(path, dict) or not all(map(_is_list_of_names, path.values())):
        raise CourseError(
            f"{SYLLABUS_FILE.as_posix()} must hold a table [path] with a list of katas for each track."
        )
    names = [name for listed in path.values() for name in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CourseError(f"{SYLLABUS_FILE.as_posix()} lists `{twice}` twice; take one of them out.")
    _require_table(found.get("katas", {}), "katas", _wrong_effort, names)
    _require_table(found.get("plans", {}), "plans", _wrong_plan, names)
    _require_shortcuts(found.get("shortcuts", {}), names)
    _require_skills(found.get("skills", {}), found.get("skill_names", {}), names)
    _require_aliases(found.get("aliases", {}), names)
    _require_order(found.get("katas", {}), found.get("plans", {}), names)
    tracks = found.get("tracks", {})
    if not isinstance(tracks, dict) or any(
        track not in path or not isinstance(text, str) for track, text in tracks.items()
    ):
        raise CourseError(
            f"{SYLLABUS_FILE.as_posix()} holds in [tracks] a text in quotes for tracks of [path]."
        )


def _require_own_folder(see: object) -> None:
    """Raise CourseError unless `see` names a folder of the course that students do not write in."""
    parts = safe_parts(see) if isinstance(see, str) else ()
    if not parts or parts[0] in ("exercises", "solutions"):
        raise CourseError(
            f'{SYLLABUS_FILE.as_posix()}: see = "…" names a folder of the course, outside of exercises and'
            " solutions."
        )


def _require_aliases(aliases: object, names: list[str]) -> None:
    """Raise CourseError unless each alias stands for a listed kata and is no kata itself."""
    if not isinstance(aliases, dict):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: aliases is a table: [aliases].")
    for alias, name in aliases.items():
        if name not in names:
            raise CourseError(
                f"{SYLLABUS_FILE.as_posix()}: `{alias}` in [aliases]: [path] lists no kata {name!r}."
            )
        if alias in names:
            raise CourseError(f"{SYLLABUS_FILE.as_posix()}: `{alias}` in [aliases] is a kata itself.")


def _require_shortcuts(shortcuts: object, names: list[str]) -> None:
    """Raise CourseError unless each listed kata has dotted names, or a sentence that says why not."""
    if not isinstance(shortcuts, dict):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: shortcuts is a table: [shortcuts].")
    for name, listed in shortcuts.items():
        where = f"{SYLLABUS_FILE.as_posix()}: `{name}` in [shortcuts]"
        if name not in names:
            raise CourseError(f"{where}: [path] lists no kata {name!r}.")
        if not listed or not (isinstance(listed, str) or _is_list_of_names(listed)):
            raise CourseError(f"{where} is a list of dotted names, or a text that says why there are none.")


def _require_skills(skills: object, skill_names: object, names: list[str]) -> None:
    """Raise CourseError unless each listed kata trains one to three skills that have a name."""
    if not isinstance(skills, dict):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: skills is a table: [skills].")
    if not isinstance(skill_names, dict) or not all(isinstance(text, str) for text in skill_names.values()):
        raise CourseError(
            f"{SYLLABUS_FILE.as_posix()} holds in [skill_names] a text in quotes for each skill."
        )
    if both := next((skill for skill in skill_names if skill in names), None):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: `{both}` in [skill_names] is a kata itself.")
    for name, listed in skills.items():
        where = f"{SYLLABUS_FILE.as_posix()}: `{name}` in [skills]"
        if name not in names:
            raise CourseError(f"{where}: [path] lists no kata {name!r}.")
        if not _is_list_of_names(listed) or not 1 <= len(set(listed)) == len(listed) <= MOST_SKILLS:
            raise CourseError(f"{where} is a list of one to {MOST_SKILLS} different skills.")
        if unnamed := next((skill for skill in listed if skill not in skill_names), None):
            raise CourseError(f"{where} trains `{unnamed}`, which [skill_names] does not have.")


def _require_table(entries: object, table: str, complaint: Complaint, names: list[str]) -> None:
    """Raise CourseError unless `entries` is a table of tables about which there is no complaint."""
    if not isinstance(entries, dict):
        raise CourseError(f"{SYLLABUS_FILE.as_posix()}: {table} is a table: [{table}].")
    for name, entry in entries.items():
        wrong = complaint(entry, names) if isinstance(entry, dict) else "it must be a table"
        if wrong:
            raise CourseError(f"{SYLLABUS_FILE.as_posix()}: `{name}` in [{table}]: {wrong}.")


def _wrong_effort(entry: dict[str, Any], names: list[str]) -> str:
    """Return what is wrong with an entry of [katas]; empty if it is right."""
    minutes, difficulty = entry.get("minutes"), entry.get("difficulty")
    if unknown := entry.keys() - {"minutes", "difficulty", "builds_on"}:
        return f"nothing is called `{min(unknown)}`; there are minutes, difficulty and builds_on"
    if type(minutes) is not int or minutes <= 0:
        return f"minutes = {minutes!r} must be a whole number above 0"
    if difficulty not in (1, 2, 3) or type(difficulty) is not int:
        return f"difficulty = {difficulty!r} must be 1, 2 or 3"
    return _wrong_names(entry.get("builds_on", []), "builds_on", names)


def _wrong_plan(entry: dict[str, Any], names: list[str]) -> str:
    """Return what is wrong with an entry of [plans]; empty if it is right."""
    hours = entry.get("hours")
    if unknown := entry.keys() - {"about", "hours", "katas", "wants"}:
        return f"nothing is called `{min(unknown)}`; there are about, hours, katas and wants"
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not hours > 0:
        return f"hours = {hours!r} must be a number above 0"
    if not isinstance(entry.get("about", ""), str):
        return 'about is a text in quotes: about = "…"'
    wrong = _wrong_names(entry.get("katas"), "katas", names)
    return wrong or _wrong_names(entry.get("wants", []), "wants", entry["katas"], "the plan")


def _wrong_names(listed: object, what: str, names: list[str], where: str = "[path]") -> str:
    if not _is_list_of_names(listed):
        return f"{what} must be a list of katas"
    missing = next((name for name in cast("list[str]", listed) if name not in names), None)
    return f"{what} names `{missing}`, which {where} does not list" if missing else ""


def _require_order(efforts: dict[str, Any], plans: dict[str, Any], names: list[str]) -> None:
    """Raise CourseError unless every kata comes after those that it builds on, in the course and in plans."""
    orders = {"[path]": names, **{f"the plan `{name}`": plan["katas"] for name, plan in plans.items()}}
    for where, order in orders.items():
        for at, name in enumerate(order):
            needed = efforts.get(name, {}).get("builds_on", [])
            late = next((other for other in needed if other not in order[:at]), None)
            if late:
                text = f"`{name}` builds on `{late}`, which does not come before it in {where}."
                raise CourseError(f"{SYLLABUS_FILE.as_posix()}: {text}")


def _is_list_of_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def to_text(syllabus: Syllabus) -> str:
    """Return the syllabus as the text of its TOML file."""
    said = {"title": syllabus.title, "about": syllabus.about}
    lines = [f"{name} = {_quoted(text)}" for name, text in said.items() if text]
    lines += ["by_hand = true"] * syllabus.by_hand
    lines += [f"see = {_quoted(syllabus.see)}"] if syllabus.see else []
    lines += [f"assistants = {_quoted(syllabus.assistants)}"] * (syllabus.assistants != ASSISTANTS[0])
    lines += [f"order = {_quoted(FIXED)}"] * syllabus.has_fixed_order
    lines += ["puzzles = false"] * (not syllabus.puzzles)
    lines += ["", "# The order in which the katas are best learnt, track by track.", "[path]"]
    lines += [f"{track} = {_quoted(names)}" for track, names in syllabus.path.items()]
    lines += ["", "[katas]"] if syllabus.katas else []
    lines += [f"{name} = {effort_line(effort)}" for name, effort in syllabus.katas.items()]
    lines += ["", "[skills]"] if syllabus.skills else []
    lines += [f"{name} = {_quoted(listed)}" for name, listed in syllabus.skills.items()]
    lines += ["", "[skill_names]"] if syllabus.skill_names else []
    lines += [f"{skill} = {_quoted(text)}" for skill, text in syllabus.skill_names.items()]
    lines += ["", "[shortcuts]"] if syllabus.shortcuts else []
    lines += [f"{name} = {_quoted(listed)}" for name, listed in syllabus.shortcuts.items()]
    for name, plan in syllabus.plans.items():
        lines += ["", f"[plans.{name}]"]
        lines += [f"about = {_quoted(plan.about)}"] if plan.about else []
        lines += [f"hours = {plan.hours}", f"katas = {_quoted(plan.katas)}"]
        lines += [f"wants = {_quoted(plan.wants)}"] if plan.wants else []
    lines += ["", "[aliases]"] if syllabus.aliases else []
    lines += [f"{alias} = {_quoted(name)}" for alias, name in syllabus.aliases.items()]
    return "\n".join([*lines, ""])


def effort_line(effort: Effort) -> str:
    """Return the effort of a kata as TOML."""
    on = f", builds_on = {_quoted(effort.builds_on)}" if effort.builds_on else ""
    return f"{{ minutes = {effort.minutes}, difficulty = {effort.difficulty}{on} }}"


def _quoted(value: str | list[str]) -> str:
    """Return a text or a list of texts as TOML, which uses the same notation as JSON."""
    return json.dumps(value, ensure_ascii=False)
