"""From what is kept to one report a student: their katas in the order of the course, gaps included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from grader.classroom.roster import Member
from grader.classroom.store import JUDGED, Kept, Store
from grader.course.catalog import KataInfo
from grader.grading.prerequisites import waiting
from grader.report import Isolation, KataReport, Provenance, Report, from_json

NOTHING = "Nothing was handed in."
OUR_FAULT = "This is our fault, not yours: it could not be judged yet."


@dataclass(frozen=True)
class Graded:
    """A student and their report. `handed_in` is False for somebody of the roster who did nothing."""

    member: Member
    report: Report
    handed_in: bool


def begun_katas(store: Store, infos: list[KataInfo]) -> list[KataInfo]:
    """The katas that anybody of this run has begun."""
    question = f"SELECT DISTINCT h.kata FROM {JUDGED} WHERE h.run = :run AND v.status <> 'not_started'"
    begun = {name for (name,) in store.rows(question)}
    return [info for info in infos if info.name in begun]


def class_reports(store: Store, infos: list[KataInfo], device: str) -> Iterator[Graded]:
    """Everybody's report on these katas, one at a time, in the order of their ids."""
    for member, kept in store.students():
        yield Graded(member, _report(kept, infos, device), bool(kept))


def _report(kept: list[Kept], infos: list[KataInfo], device: str) -> Report:
    found = {one.kata: from_json(json.loads(one.report)) for one in kept if one.report is not None}
    lost = {one.kata for one in kept if one.report is None}
    judged = [found[info.name] for info in infos if info.name in found]
    katas = tuple(in_the_light_of_each_other(infos, [_kata(info, found, lost) for info in infos]))
    held = [report.isolation for report in judged if report.provenance.grader]
    isolation = reduce(Isolation.weakened_by, held) if held else Isolation()
    provenance = max((report.provenance for report in judged), key=lambda seen: seen.torch, default=None)
    return Report(katas, device, isolation, provenance or Provenance())


def in_the_light_of_each_other(infos: list[KataInfo], katas: list[KataReport]) -> Iterator[KataReport]:
    """A kata that was judged waits all the same while one of those that it needs does not pass."""
    judged = {info.name: (info, kata) for info, kata in zip(infos, katas, strict=True)}

    def passes(name: str) -> bool:
        info, kata = judged[name]
        return kata.status == "passed" and not unmet(info)

    def unmet(info: KataInfo) -> list[str]:
        return [name for name in info.needs if name in judged and not passes(name)]

    for info, kata in judged.values():
        yield waiting(info, unmet(info)) if kata.checks and unmet(info) else kata


def _kata(info: KataInfo, found: dict[str, Report], lost: set[str]) -> KataReport:
    if info.name in found:
        return found[info.name].katas[0]
    if info.name in lost:
        return info.unjudged("error", OUR_FAULT)
    return info.unjudged("not_started", NOTHING)
