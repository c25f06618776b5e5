"""Build one report per student from the stored results, with every kata in course order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce

from dojo_classroom.counts import RunCounts
from dojo_classroom.overrides import Override, by_student
from dojo_classroom.policy import Marks, Policy
from dojo_classroom.roster import Member
from dojo_classroom.store import BEGUN, HANDED_IN, Store, StoredResult
from grader.course.catalog import KataInfo
from grader.grading.session import waiting
from grader.report import Isolation, KataReport, Provenance, Report, from_json
from grader.texts.points import points

NOTHING = "Nothing was handed in."
NOT_FOUND = "No answer to it was found in what was handed in."
OUR_FAULT = "This is our fault, not yours: it could not be judged yet."


@dataclass(frozen=True)
class StudentReport:
    """A student's report, and its points by the course's policy. `handed_in` is False for a member of the
    roster who submitted nothing.

    `unjudged` names the katas whose score means nothing, because the file was not judged or that of a kata
    that it needs; of these, `unread` were not through a fault of the grader, but because a file could not be
    read. `unrecognised` are files that answer no kata by their names, `troubles` says why answers could not
    be looked for, `late` are the katas that were handed in late, and `unclear` says why nobody knows which
    submission is the student's. `not_due` are katas that may still be handed in.
    """

    member: Member
    report: Report
    handed_in: bool
    marks: Marks
    unjudged: frozenset[str] = frozenset()
    unrecognised: Sequence[str] = ()
    late: Sequence[str] = ()
    unclear: str = ""
    unread: frozenset[str] = frozenset()
    troubles: Sequence[str] = ()
    not_due: frozenset[str] = frozenset()

    @property
    def missing(self) -> frozenset[str]:
        """The katas to which no answer was found."""
        return frozenset(kata.name for kata in self.report.katas if kata.status == "not_started")

    @property
    def may_hold_more(self) -> bool:
        """Whether answers may have been handed in that were not found."""
        return bool(self.unrecognised or self.troubles or self.unclear)

    @property
    def why_unread(self) -> list[str]:
        """Why something that was handed in could not be judged, through no fault of the grader."""
        katas = [kata for kata in self.report.katas if kata.name in self.unread & self.unknown]
        reasons = [f"{kata.name}: {kata.message}" for kata in katas]
        return [*reasons, *self.open_troubles]

    @property
    def open_troubles(self) -> Sequence[str]:
        """The troubles, unless every kata is judged or a person has set its points."""
        return self.troubles if self.missing & self.unknown or not self.report.katas else ()

    @property
    def unknown(self) -> frozenset[str]:
        """The katas that must not be a 0: not judged, handed in where it was not found, or with a written
        answer that nobody has graded. Where a person has set the points of a kata, nothing is unknown."""
        unknown = self.unjudged | self.missing if self.may_hold_more else self.unjudged
        unknown |= {name for name, mark in self.marks.katas.items() if mark.ungraded}
        return frozenset(name for name in unknown if name not in self.marks.katas or not self.is_set(name))

    @property
    def headline(self) -> str:
        """The points as a student reads them: what is not known is not said to be 0."""
        got, possible = points(self.marks.total), f"{points(self.marks.possible)} points"
        if not self.unknown:
            return f"{got} of {possible}"
        return f"{got} of {possible} so far" if self.marks.total else f"Not graded yet, out of {possible}"

    @property
    def ungraded(self) -> list[str]:
        """The written answers that nobody has graded yet, each after the name of its kata."""
        return [f"{kata}.{name}" for kata, mark in self.marks.katas.items() for name in mark.ungraded]

    def is_set(self, kata: str) -> bool:
        """Return whether a person has set the points of a kata."""
        return self.marks.katas[kata].is_set

    def cell(self, kata: KataReport) -> int | None:
        """Return a kata's points; None if nothing was handed in and nobody has set them."""
        mark = self.marks.katas[kata.name]
        return mark.points if kata.status != "not_started" or mark.is_set or mark.points else None


def counted_katas(
    store: Store, infos: list[KataInfo], policy: Policy, now: datetime, *, is_named: bool = False
) -> list[KataInfo]:
    """Return the katas that count for everybody: those that were handed out, as the policy says, and those
    that at least one student of this run has begun, judged or not. With `is_named` all of them count, because
    a person has named them."""
    query = f"SELECT DISTINCT h.kata FROM {HANDED_IN} WHERE h.run = :run AND {BEGUN}"
    begun = {name for (name,) in store.rows(query)}
    names = policy.handed_out([info.name for info in infos], begun, now)
    return [info for info in infos if is_named or info.name in names]


@dataclass(frozen=True)
class JudgedClass:
    """A class whose files are judged: the results in the `store`, of the katas that count, with the counts of
    the store's run, and how the policy lets points count."""

    store: Store
    infos: list[KataInfo]
    device: str = "cpu"
    counts: RunCounts = field(default_factory=RunCounts)
    policy: Policy = field(default_factory=Policy)

    def reports(self) -> Iterator[StudentReport]:
        """Yield each student's report, sorted by id."""
        overrides = by_student(self.store)
        for member, results in self.store.students():
            found: list[StudentReport] = []
            with self.counts.net(member.id, "the report"):
                found.append(_of_student(self, member, results, overrides.get(member.id, {})))
            if not found:  # all is blank
                lost = [StoredResult(info.name, None, None) for info in self.infos]
                unknown = replace(self, counts=RunCounts(), policy=Policy())
                found.append(replace(_of_student(unknown, Member(""), lost, {}), member=member))
            yield found[0]


def _of_student(
    judged: JudgedClass, member: Member, results: list[StoredResult], set_by_hand: dict[str, Override]
) -> StudentReport:
    infos, device, seen, policy = judged.infos, judged.device, judged.counts, judged.policy
    others, troubles = seen.unrecognised.get(member.id, ()), seen.troubles.get(member.id, ())
    late, unclear = seen.late.get(member.id, ()), seen.unclear.get(member.id, "")
    handed_in = bool(results or others or troubles or unclear)
    report = _report(results, infos, device, NOT_FOUND if others or troubles or unclear else NOTHING)
    times, versions = seen.times.get(member.id, {}), seen.versions.get(member.id, {})
    marks = policy.marks(member.id, report.katas, times, set_by_hand, seen.started, versions)
    unjudged = _waiting_for({one.kata for one in results if not one.is_judged}, results, infos)
    ours = {one.kata for one in results if not one.is_judged and one.is_readable}
    unread = unjudged - _waiting_for(ours, results, infos)
    open_yet = (kata for kata in report.katas if not policy.is_due(member.id, kata.name, seen.started))
    not_due = frozenset(kata.name for kata in open_yet)
    return StudentReport(
        member, report, handed_in, marks, unjudged, others, late, unclear, unread, troubles, not_due
    )


def _waiting_for(lost: set[str], results: list[StoredResult], infos: list[KataInfo]) -> frozenset[str]:
    """Return the katas that were lost, and those that wait for one of them."""
    handed_in = {one.kata for one in results}
    while more := {info.name for info in infos if lost & set(info.needs)} & handed_in - lost:
        lost |= more
    return frozenset(lost)


def _report(results: list[StoredResult], infos: list[KataInfo], device: str, nothing: str) -> Report:
    found = {one.kata: from_json(json.loads(one.report)) for one in results if one.report is not None}
    lost = {one.kata for one in results if one.report is None}
    judged = [found[info.name] for info in infos if info.name in found]
    katas = tuple(with_waiting_katas(infos, [_kata(info, found, lost, nothing) for info in infos]))
    # no worker ran for a report without checks in which no protection is noted
    ran = [report for report in judged if report.isolation != Isolation() or report.katas[0].checks]
    held = [report.isolation for report in ran if report.provenance.grader]
    isolation = reduce(Isolation.weakened_by, held) if held else Isolation()
    provenance = max((report.provenance for report in judged), key=lambda seen: seen.torch, default=None)
    return Report(katas, device, isolation, provenance or Provenance())


def with_waiting_katas(infos: list[KataInfo], katas: list[KataReport]) -> Iterator[KataReport]:
    """Replace the report of each judged kata by a waiting one if a kata that it needs does not pass."""
    judged = {info.name: (info, kata) for info, kata in zip(infos, katas, strict=True)}

    def passes(name: str) -> bool:
        info, kata = judged[name]
        return kata.status == "passed" and not unmet(info)

    def unmet(info: KataInfo) -> list[str]:
        return [name for name in info.needs if name in judged and not passes(name)]

    for info, kata in judged.values():
        yield waiting(info, unmet(info)) if kata.checks and unmet(info) else kata


def _kata(info: KataInfo, found: dict[str, Report], lost: set[str], nothing: str) -> KataReport:
    if info.name in found:
        return found[info.name].katas[0]
    if info.name in lost:
        return info.unjudged("error", OUR_FAULT)
    return info.unjudged("not_started", nothing)
