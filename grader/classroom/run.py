"""One run over a class: everything that was handed in goes past once; what is not judged yet is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from grader.classroom.collector import Collector, HandedIn, chosen
from grader.classroom.engine import Engine
from grader.classroom.platform_filenames import StudentName
from grader.classroom.roster import Member, Roster
from grader.classroom.store import Store
from grader.classroom.task import Task, Verdict, refusal
from grader.course.catalog import KataInfo
from grader.course.submission import SubmissionRejected

MOST_NOTES = 20


@dataclass
class RunCounts:
    """What is said of a run at its end. Of the class itself nothing but numbers is held."""

    students: int = 0
    judged: int = 0
    known: int = 0
    absent: int = 0
    strangers: int = 0
    faults: int = 0
    notes: list[str] = field(default_factory=list)
    unsaid: int = 0

    def note(self, text: str) -> None:
        """A sentence for the instructor; the first few are kept, the others counted."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)
        else:
            self.unsaid += 1


class ClassRun:
    """A class on its way from the shelf through the engine into the store."""

    def __init__(
        self,
        infos: Mapping[str, KataInfo],
        shelf: Collector,
        roster: Roster | None,
        engine: Engine,
        store: Store,
    ) -> None:
        self.katas, self.shelf, self.roster = infos, shelf, roster
        self.engine, self.store = engine, store
        self.tally = RunCounts()
        self._names: dict[Task, str] = {}  # of those that are being judged now
        self._left: Counter[str] = Counter()  # how many of a student's are not judged yet

    def grade(self, done: Callable[[], None], judged: Callable[[str, Task, Verdict], None]) -> RunCounts:
        """Judge what is not judged yet. `done` is called for each student, `judged` for each verdict."""
        for task, verdict in self.engine.judge(self._tasks(done)):
            student = self._names.pop(task)
            self._one_less(student, done)
            if verdict.fault:
                self.tally.faults += 1
                self.tally.note(f"{student}'s {task.kata} could not be judged: {verdict.fault}.")
                continue
            self.tally.judged += 1
            self.store.keep(task.kata, task.digest, self.engine.judging[task.kata], verdict)
            judged(student, task, verdict)
        self._enrol_absent()
        self.store.commit()
        return self.tally

    def _tasks(self, done: Callable[[], None]) -> Iterator[Task]:
        """What is to be judged, read as somebody is free to judge it."""
        for student, files in self.shelf.students():
            member = self._member(student)
            if member is None:
                done()
                continue
            self._left[member.id] = 1  # more may come
            for handed in chosen(files, self.katas, partial(self._told_of, member)):
                yield from self._task(member, handed)
            self._one_less(member.id, done)

    def _one_less(self, member: str, done: Callable[[], None]) -> None:
        self._left[member] -= 1
        if not self._left[member]:
            del self._left[member]
            done()

    def _told_of(self, member: Member, text: str) -> None:
        self.tally.note(f"{member.id}: {text}")

    def _member(self, student: StudentName) -> Member | None:
        """Who a student is in this class; None for the second of two who are the same."""
        known = self.roster.member(student) if self.roster else None
        member = known or Member(student.key, platform_id=student.platform_id)
        if self.roster and known is None:
            self.tally.strangers += 1
            self.tally.note(f"{student.key} is not in the roster; graded all the same.")
        if self.store.is_enrolled(member.id):
            self.tally.note(f"{student.key} is {member.id}, whose submission was graded; this one was not.")
            return None
        self.store.enrol(member)
        self.tally.students += 1
        return member

    def _task(self, member: Member, handed: HandedIn) -> Iterator[Task]:
        """The task of one file, unless it is known already, cannot be read, or is being judged."""
        judging = self.engine.judging[handed.kata]
        if handed.passed_over:
            places = ", ".join("/".join(place) for place in handed.passed_over)
            self.tally.note(
                f"{member.id} has {handed.kata} also as {places}; graded: {'/'.join(handed.place)}."
            )
        try:
            task, verdict = Task(handed.kata, handed.read()), None
        except SubmissionRejected as refused:
            task = Task(handed.kata, f"refused: {refused}".encode())
            verdict = refusal(self.katas[handed.kata], refused)
        self.store.hand_in(member.id, handed.kata, task.digest, judging)
        if self.store.holds(handed.kata, task.digest, judging):
            self.tally.known += 1
        elif verdict is not None:
            self.store.keep(handed.kata, task.digest, judging, verdict)
            self.tally.judged += 1
        elif task in self._names:
            self.tally.known += 1
        else:
            self._names[task] = member.id
            self._left[member.id] += 1
            yield task

    def _enrol_absent(self) -> None:
        """Those of the roster who handed nothing in."""
        for member in self.roster.members if self.roster else []:
            if not self.store.is_enrolled(member.id):
                self.store.enrol(member)
                self.tally.absent += 1
