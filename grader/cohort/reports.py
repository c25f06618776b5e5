"""From what is kept to one report a student: their katas in the order of the course, gaps included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from grader.catalog import Card
from grader.cohort.roster import Member
from grader.cohort.store import JUDGED, Kept, Store
from grader.needs import waiting
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
    katas = tuple(in_the_light_of_each_other(cards, [_kata(card, found, lost) for card in cards]))
    held = [report.isolation for report in judged if report.provenance.grader]
    isolation = reduce(Isolation.weakened_by, held) if held else Isolation()
    provenance = max((report.provenance for report in judged), key=lambda seen: seen.torch, default=None)
    return Report(katas, device, isolation, provenance or Provenance())


def in_the_light_of_each_other(cards: list[Card], katas: list[KataReport]) -> Iterator[KataReport]:
    """A kata that was judged waits all the same while one of those that it needs does not pass."""
    judged = {card.name: (card, kata) for card, kata in zip(cards, katas, strict=True)}

    def passes(name: str) -> bool:
        card, kata = judged[name]
        return kata.status == "passed" and not unmet(card)

    def unmet(card: Card) -> list[str]:
        return [name for name in card.needs if name in judged and not passes(name)]

    for card, kata in judged.values():
        yield waiting(card, unmet(card)) if kata.checks and unmet(card) else kata


def _kata(card: Card, found: dict[str, Report], lost: set[str]) -> KataReport:
    if card.name in found:
        return found[card.name].katas[0]
    if card.name in lost:
        return card.unjudged("error", OUR_FAULT)
    return card.unjudged("not_started", NOTHING)
