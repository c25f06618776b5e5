"""From what is kept to one report a student: their katas in the order of the course, gaps included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from grader.catalog import Card
from grader.cohort.judging import not_started
from grader.cohort.roster import Member
from grader.cohort.store import JUDGED, Kept, Store
from grader.report import Isolation, KataReport, Provenance, Report, from_json

NOTHING = "Nothing was handed in."
OUR_FAULT = "This is our fault, not yours: it could not be judged yet."


@dataclass(frozen=True)
class Graded:
    """A student and their report. `handed_in` is False for somebody of the roster who did nothing."""

    member: Member
    report: Report
    handed_in: bool


def begun_katas(store: Store, cards: list[Card]) -> list[Card]:
    """The katas that anybody of this run has begun."""
    question = f"SELECT DISTINCT h.kata FROM {JUDGED} WHERE h.run = :run AND v.status <> 'not_started'"
    begun = {name for (name,) in store.rows(question)}
    return [card for card in cards if card.name in begun]


def class_reports(store: Store, cards: list[Card], device: str) -> Iterator[Graded]:
    """Everybody's report on these katas, one at a time, in the order of their ids."""
    for member, kept in store.students():
        yield Graded(member, _report(kept, cards, device), bool(kept))


def _report(kept: list[Kept], cards: list[Card], device: str) -> Report:
    found = {one.kata: from_json(json.loads(one.report)) for one in kept if one.report is not None}
    lost = {one.kata for one in kept if one.report is None}
    judged = [found[card.name] for card in cards if card.name in found]
    katas = tuple(_kata(card, found, lost) for card in cards)
    held = [report.isolation for report in judged if report.provenance.grader]
    isolation = reduce(Isolation.weakened_by, held) if held else Isolation()
    provenance = max((report.provenance for report in judged), key=lambda seen: seen.torch, default=None)
    return Report(katas, device, isolation, provenance or Provenance())


def _kata(card: Card, found: dict[str, Report], lost: set[str]) -> KataReport:
    if card.name in found:
        return found[card.name].katas[0]
    if card.name in lost:
        return KataReport(card.name, card.track, "error", card.max_score, message=OUR_FAULT)
    return not_started(card, NOTHING)
