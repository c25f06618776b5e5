"""Which member of the roster has handed in which submission, and who has handed in none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dojo_classroom.collector import Collector
from dojo_classroom.counts import RunCounts
from dojo_classroom.platform_filenames import StudentName
from dojo_classroom.roster import Identities, Member, Person, Roster
from dojo_classroom.store import Store
from grader.course.catalog import CourseError
from grader.texts.bounds import first_names


class Enrolment:
    """Enrols in the store who has a submission, each once. `logins` says who has which login on a host. What
    is in doubt is noted in `counts`. Raises CourseError if the roster fits no submission."""

    def __init__(
        self,
        roster: Roster | None,
        collector: Collector,
        logins: Mapping[str, Person],
        store: Store,
        counts: RunCounts,
    ) -> None:
        self.roster, self.store, self.counts = roster, store, counts
        self._unlisted: list[str] = []
        self._identities = Identities(collector.names, roster or Roster([]), dict(logins))
        if self._identities.prefix:
            text = f"The folders are named {self._identities.prefix}LOGIN: what follows the assignment is"
            self.counts.note(f"{text} taken for the login.")
        self._matched = self._match(roster, collector.names) if roster else {}
        if roster and roster.members and not self._matched and not self.counts.unclear:
            raise _nobody_fits(roster, collector)

    def is_listed(self, student: StudentName) -> bool:
        """Return whether the roster has a student, by any name that is known of one."""
        return bool(self.roster and self.roster.member(self._identities.of(student)))

    def id_of(self, student: StudentName) -> str:
        """Return the id in the roster, or the name of the submission."""
        known = self._matched.get(student)
        return known.id if known else student.key

    def enrol(self, student: StudentName) -> Member | None:
        """Enrol and return the student; None if this member's submission was already seen."""
        known = self._matched.get(student)
        number = student.platform_id
        name = "" if number else next(iter(student.called), "")  # the key has it
        unlisted = Member(student.key, name, platform_id=number)
        member = replace(known, platform_id=number) if known else unlisted
        if self.roster and known is None:
            self.counts.unlisted += 1
            self._unlisted.append(student.key)
        if self.store.is_enrolled(member.id):
            self.counts.note(f"{student.key} is {member.id}, whose submission was graded; this one was not.")
            return None
        self.store.enrol(member)
        self.counts.students += 1
        return member

    def note_unlisted(self) -> None:
        """Note once who is not in the roster."""
        if self._unlisted:
            *first, last = self._unlisted
            names = f"{', '.join(first)} and {last}" if first else last
            are = "are" if first else "is"
            self.counts.note(f"{names} {are} not in the roster; graded all the same.")

    def enrol_absent(self) -> None:
        """Enrol the members of the roster who submitted nothing."""
        for member in self.roster.members if self.roster else []:
            if not self.store.is_enrolled(member.id):
                self.store.enrol(member)
                self.counts.absent += 1

    def _match(self, roster: Roster, students: list[StudentName]) -> dict[StudentName, Member]:
        """Return the member of the roster for each student, if there is no doubt who it is."""
        known_as = {student: self._identities.of(student) for student in students}
        found = {student: roster.identified(known) for student, known in known_as.items()}
        matched = {student: member for student, member in found.items() if member}
        taken = {member.id for member in matched.values()}
        named: dict[str, list[StudentName]] = {}  # students by the ids of those who have their name
        for student in students:
            namesakes = [] if student in matched else roster.namesakes(known_as[student])
            for member in namesakes:
                named.setdefault(member.id, []).append(student)
            if len(namesakes) == 1 and namesakes[0].id not in taken:
                matched[student] = namesakes[0]
        for member in roster.members:
            claims = named.get(member.id, [])
            if member.id not in taken and (len(claims) > 1 or (claims and claims[0] not in matched)):
                self._ask_whose(member, claims, matched)
        return matched

    def _ask_whose(
        self, member: Member, claims: list[StudentName], matched: dict[StudentName, Member]
    ) -> None:
        """Leave a member's katas blank, whose name is not enough to say which submission is theirs."""
        for student in claims:
            matched.pop(student, None)
        submissions = " or ".join(student.key for student in claims)
        text = (
            f"{submissions} may be theirs, as far as the name {member.name} tells."
            " Write the right one into a column `submission` of the roster."
        )
        self.counts.unclear[member.id] = text
        self.counts.note(f"{member.id}: {text}")


def _nobody_fits(roster: Roster, collector: Collector) -> CourseError:
    """Return the error of a roster by which every submission would be a stranger's, and everybody absent."""
    ids = first_names([member.id for member in roster.members])
    submissions = first_names([student.key for student in collector.names])
    return CourseError(
        f"The roster fits no submission in {collector.label}: its ids are {ids}, and the submissions are of"
        f" {submissions}. Correct the ids, or say by --logins whose the logins are."
    )
