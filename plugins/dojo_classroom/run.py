"""One run over a class: read each submission once, and grade the files that have no stored verdict."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

from dojo_classroom.best_files import Collected, SubmittedFile, answers_in, stubs_of
from dojo_classroom.collector import Collector
from dojo_classroom.counts import RunCounts, without_stop
from dojo_classroom.enrolment import Enrolment
from dojo_classroom.found_files import FoundFile
from dojo_classroom.platform_filenames import KnownNames, StudentName, WorkOrigin
from dojo_classroom.policy import Policy
from dojo_classroom.roster import LAST_MODIFIED, Member, Person, Roster
from dojo_classroom.store import Store, StoredResult, user
from dojo_classroom.task import FileVerdict, Task, unreadable
from dojo_classroom.times import COPIED, SHOWN, HandedIn, are_copied, moment, of_text, of_worksheet
from grader.course.catalog import KataInfo
from grader.course.release_manifest import digest
from grader.course.submission import SubmissionRejected, decoded
from grader.report import from_json
from grader.texts.escaping import one_line
from grader.texts.points import points

MOST_UNRECOGNISED = 20  # files of one student
MOST_TROUBLES = 5  # of one student
SOME_CLONES = (
    "{} of {} folders are Git repositories, and their commits say when the work was handed in. If students"
    " have uploaded them, write commits = false into policy.toml: a student can set the time of a commit."
)
ONE_TIME = (
    "Most files have one time, that of a copy or a download, so that no file counts as late by its time."
    " Set what is late with `kata override`."
)
NO_WORKSHEET = (
    "Moodle's export does not say when work was handed in, so that nothing of it counts as late:"
    " give Moodle's grading worksheet as --roster."
)

OUR_FAULT = "This is our fault, not yours: not all of it could be judged yet."
STUDENT_SECONDS = 1800.0  # of the clock, in which graders judge what one student has handed in
USED_UP = (
    "{}: {} was not judged. The {:.0f} minutes for one student's work are used up; the same command goes on"
    " with the rest."
)

#: Which version of an answer counts: with the time of the one in time, and what the other one would be worth.
IN_TIME = "The commit of {} counts, which was in time; the later one {}."
LATER = "The commit of {}, which was in time, {}."
GONE = "The commit of {} counts, which was in time; later the answer was taken away."


class HandedVersion(NamedTuple):
    """What a student has handed in for a kata at some time; `verdict` if it cannot be read."""

    task: Task
    verdict: FileVerdict | None
    time: HandedIn | None


class Valued(NamedTuple):
    """The verdict on a version, and its points by the policy: what could not be judged may be worth all."""

    result: StoredResult
    points: int

    @property
    def said(self) -> str:
        """What the version would be worth, as a student reads it."""
        return f"would have {points(self.points)} points" if self.result.is_judged else "could not be judged"

    @property
    def rank(self) -> tuple[int, bool]:
        """A key that is larger for the version that counts: with more points, and begun."""
        return self.points, self.result.status != "not_started"


class GraderPool(Protocol):
    """Several graders that work in parallel. `judging` holds the digest of the grading setup of each kata."""

    judging: Mapping[str, str]

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, FileVerdict]]:
        """Yield verdicts in any order. A task is taken from the iterator only when a grader is free."""

    def close(self) -> None:
        """End all processes of the pool."""


class ClassRun:
    """Grade the collected files with a pool and put the verdicts into the store."""

    def __init__(  # noqa: PLR0913  # a run brings them together; each has a class of its own
        self,
        infos: Mapping[str, KataInfo],
        collector: Collector,
        roster: Roster | None,
        pool: GraderPool,
        store: Store,
        other_katas: Iterable[str] = (),
        stubs: Mapping[str, bytes] = MappingProxyType({}),
        logins: Mapping[str, Person] = MappingProxyType({}),
        renamed: Mapping[str, str] = MappingProxyType({}),
        policy: Policy | None = None,
    ) -> None:
        """`other_katas` are katas of the course that are not graded now; `stubs` the files handed out;
        `logins` says who has which login on a host, `renamed` the new names of katas by their old ones. If
        the `policy` has deadlines, it finds out when each file was handed in. Raises CourseError if the
        roster fits no submission."""
        self.katas, self.collector, self.roster = infos, collector, roster
        self.names, self.stubs = KnownNames([*infos, *other_katas], renamed), stubs
        self._stubs = stubs_of(infos, stubs)
        self.pool, self.store = pool, store
        self.counts, self._policy = RunCounts(), policy or Policy()
        self._students: dict[Task, str] = {}  # the students of the tasks in the pool
        self._pending: Counter[str] = Counter()  # files per student that are not graded yet
        self._seconds: dict[str, float] = defaultdict(float)  # in which a student's files were judged
        self._begun: dict[Task, float] = {}  # when the pool took a task
        self._earlier: Counter[str] = Counter()  # students who have another release of a kata
        self._declared = {name: digest(info.path.read_bytes()) for name, info in infos.items()}
        self.enrolment = Enrolment(roster, collector, logins, store, self.counts)
        clones = sum(student.platform == "repository" for student in collector.names)
        if self._policy.has_deadlines and collector.believes_commits and 0 < clones < len(collector):
            self.counts.note(SOME_CLONES.format(clones, len(collector)))
        self._choices: dict[
            tuple[str, str], list[HandedVersion]
        ] = {}  # by student and kata: the latest, and one in time

    def require_one_student_each(self) -> None:
        """Raise CourseError if the folder above the submissions was named."""
        with self.counts.net("the class", "the look for several students in one folder"):
            self.collector.require_one_student_each(self.names, self.enrolment.is_listed)

    def grade(self, done: Callable[[], None], judged: Callable[[str, Task, FileVerdict], None]) -> RunCounts:
        """Grade the files without a verdict; call `done` after each student, `judged` for each verdict."""
        self.store.add_run(self.counts.started.isoformat(timespec="seconds"), user())
        for task, verdict in self.pool.judge(self._tasks(done)):
            student = self._students.pop(task)
            self._seconds[student] += time.monotonic() - self._begun.pop(task)
            self._finish_one(student, done)
            with self._net(student, task.kata):
                if verdict.fault:
                    self.counts.faults += 1
                    self.counts.note(
                        f"{student}'s {task.kata} could not be judged: {without_stop(verdict.fault)}."
                    )
                    continue
                self.store.add_verdict(task.kata, task.digest, self.pool.judging[task.kata], verdict)
                self.counts.judged += 1
                judged(student, task, verdict)
        with self.counts.net("the class", "a note"):
            self.enrolment.note_unlisted()
            for name, students in sorted(self._earlier.items()):
                have = f"{students} students have" if students > 1 else "1 student has"
                self.counts.note(f"{have} another release of {name}; judged by the version of this course.")
        if self._policy.has_deadlines:
            with self.counts.net("the class", "the search for copied times"):
                self._forget_copies()
            self._choose()
        self.enrolment.enrol_absent()
        self.store.commit()
        return self.counts

    @contextmanager
    def _net(self, student: str, what: str) -> Iterator[None]:
        """Let a fault of the grader cost no points: what the student lacks then is blank and no 0."""
        before = len(self.counts.failed)
        with self.counts.net(student, what):
            yield
        if len(self.counts.failed) > before:
            self.counts.troubles.setdefault(student, []).append(OUR_FAULT)

    def _tasks(self, done: Callable[[], None]) -> Iterator[Task]:
        """Yield the tasks to grade; files are read only when the pool asks for the next task."""
        for student, files in self.collector.students():
            member = None
            with self._net(self.enrolment.id_of(student), "the enrolment"):
                member = self.enrolment.enrol(student)
            if member is None:
                done()
                continue
            self._pending[member.id] = 1  # keeps the count above 0 while files are read
            collected = self._collected(member, student, files)
            while True:
                task = None
                with self._net(member.id, "the collection"):
                    task = next(collected, None)
                if task is None:
                    break
                self._students[task] = member.id
                self._pending[member.id] += 1
                if self._seconds[member.id] < STUDENT_SECONDS:
                    self._begun[task] = time.monotonic()
                    yield task
                else:
                    del self._students[task]
                    self._pending[member.id] -= 1
                    self.counts.failed.append(USED_UP.format(member.id, task.kata, STUDENT_SECONDS / 60))
            self._finish_one(member.id, done)

    def _collected(self, member: Member, student: StudentName, files: Iterator[FoundFile]) -> Iterator[Task]:
        """Yield what is to be judged of a student's files, and note what was found."""
        answers = self._answers(files)
        self.counts.submissions[member.id] = WorkOrigin(student, answers.upload)
        self._note_unrecognised(member, answers.unrecognised)
        if answers.troubles:
            self.counts.troubles[member.id] = answers.troubles[:MOST_TROUBLES]
            self._note_for(member, answers.troubles[0])
        self._earlier.update(
            name
            for name, digest in answers.declarations.items()
            if digest != self._declared.get(name, digest)
        )
        found = {file.kata: file for file in answers.files if file.kata in self.katas}
        in_time = cache(partial(self._in_time, student))
        for kata in self.katas if self._policy.has_deadlines else found:
            with self._net(member.id, kata):
                yield from self._of_kata(member, student, kata, found.get(kata), in_time)

    def _time(
        self, member: Member, student: StudentName, file: SubmittedFile, digest: str
    ) -> HandedIn | None:
        """Return when a file was handed in; None if nobody says that it was late.

        Where a platform keeps a record, it alone counts. Canvas says only whether a file was late. The time
        of another file is the earliest that any run has seen, since a copy is newer.
        """
        if student.platform == "canvas":
            return HandedIn(None, "Canvas marks it as late") if file.late else None
        if student.platform == "moodle":
            return self._time_on_moodle(member, file.time().at)
        if student.platform == "gradescope":
            return of_text(student.time, "Gradescope") or HandedIn(None, "Gradescope says no time")
        time = file.time()
        if time.at is None or time.source not in COPIED:
            return time
        seconds = self.store.first_seen(digest, student.key, time.at.timestamp())
        return HandedIn(moment(seconds), time.source)

    def _time_on_moodle(self, member: Member, downloaded: datetime | None) -> HandedIn | None:
        """Return the time in Moodle's grading worksheet, which is the roster; None if it is not. What was
        changed after the download is not what was downloaded."""
        if self.roster is None or LAST_MODIFIED not in self.roster.titles:
            return None
        text = member.columns.get(LAST_MODIFIED, "")
        at = of_worksheet(text, self._policy.zone)
        if at is None:
            return HandedIn(None, f"the worksheet has no time of it: {one_line(text, 60) or '-'}")
        if downloaded and at.replace(tzinfo=None) > downloaded.astimezone().replace(tzinfo=None):
            return HandedIn(None, "it was changed after the download, as the worksheet says")
        return HandedIn(at, "the worksheet")

    def _in_time(self, student: StudentName, until: datetime) -> Mapping[str, SubmittedFile]:
        """Return by kata what a student had begun until a moment, if there are later commits."""
        files = self._answers(self.collector.as_of(student, until)).files
        return {file.kata: file for file in files if file.kata in self.katas and self._is_begun(file)}

    def _is_begun(self, file: SubmittedFile) -> bool:
        with suppress(SubmissionRejected):
            return self._stubs[file.kata].is_begun(file.read())
        return False

    def _forget_copies(self) -> None:
        """Take no points for the times of files that are the moment of a copy or a download, and say so."""
        files = {
            student: [time.at for time in times.values() if time.at and time.source in COPIED]
            for student, times in self.counts.times.items()
        }
        if are_copied(max(times) for times in files.values() if times):
            for student, times in self.counts.times.items():
                kept = {kata: time for kata, time in times.items() if time.source not in COPIED}
                self.counts.times[student] = kept
            self.counts.note(ONE_TIME)
        on_moodle = any(student.platform == "moodle" for student in self.collector.names)
        if on_moodle and not (self.roster and LAST_MODIFIED in self.roster.titles):
            self.counts.note(NO_WORKSHEET)

    def _answers(self, files: Iterator[FoundFile]) -> Collected:
        return answers_in(files, self.names, self._stubs, self.collector.handed_out)

    def _finish_one(self, member: str, done: Callable[[], None]) -> None:
        self._pending[member] -= 1
        if not self._pending[member]:
            del self._pending[member]
            done()

    def _note_for(self, member: Member, text: str) -> None:
        self.counts.note(f"{member.id}: {text}")

    def _note_unrecognised(self, member: Member, files: list[str]) -> None:
        if files:
            shown = files[:MOST_UNRECOGNISED]
            more = [f"{len(files) - len(shown)} more"] if len(files) > len(shown) else []
            self.counts.unrecognised[member.id] = [*shown, *more]
            self._note_for(member, f"handed in, not recognised: {', '.join([*shown[:3], *more])}.")

    def source_of(self, student: str, kata: str) -> str:
        """Return a student's answer to a kata as this run has graded it; empty if it cannot be read."""
        query = "SELECT source FROM handed_in WHERE run = :run AND student = :student AND kata = :kata"
        for (source,) in list(self.store.rows(query, student=student, kata=kata)):
            with suppress(SubmissionRejected):
                return decoded(self.store.source(source) or b"", kata)
        return ""

    def _of_kata(
        self,
        member: Member,
        student: StudentName,
        kata: str,
        file: SubmittedFile | None,
        in_time: Callable[[datetime], Mapping[str, SubmittedFile]],
    ) -> Iterator[Task]:
        """Yield the tasks of what a student has handed in for a kata: the latest, and what was in time if
        that is late or gone."""
        latest = self._version(member, student, file) if file else None
        if file and file.duplicates:
            self._note_for(member, file.note)
        if file and file.late:
            self.counts.late.setdefault(member.id, []).append(kata)
        due = self._policy.deadline(member.id, kata)
        end, now = self._policy.end(due) if due else None, self.counts.started
        at = latest.time.at if latest and latest.time else None
        is_late = end is not None and (end < at <= now if at else latest is None and end < now)
        earlier = in_time(end).get(kata) if end and is_late else None
        versions = [one for one in (latest, earlier and self._version(member, student, earlier)) if one]
        if len({version.task for version in versions}) == 1:  # the same, moved or without an answer now
            versions = versions[-1:]
            if latest is None:
                self._tell(member.id, kata, GONE.format(self._shown(versions[0])))
        elif versions:
            self._choices[member.id, kata] = versions
        for version in versions[:1]:
            self._note_time(member.id, version)
            if len(versions) == 1:
                self._hand_in(member.id, version)
        for version in versions:
            yield from self._to_judge(version)

    def _version(self, member: Member, student: StudentName, file: SubmittedFile) -> HandedVersion:
        """Read a file, and find out when it was handed in if that counts."""
        try:
            task, verdict = Task(file.kata, file.read()), None
            self.store.add_source(task.digest, task.data)
        except SubmissionRejected as refused:
            task = Task(file.kata, f"unreadable: {refused}".encode())
            verdict = unreadable(self.katas[file.kata], refused)
        time = self._time(member, student, file, task.digest) if self._policy.has_deadlines else None
        return HandedVersion(task, verdict, time)

    def _hand_in(self, student: str, version: HandedVersion) -> None:
        """Note which version of a student's answer counts."""
        kata = version.task.kata
        self.store.add_submission(student, kata, version.task.digest, self.pool.judging[kata])

    def _note_time(self, student: str, version: HandedVersion) -> None:
        """Note when the version came that counts."""
        if version.time:
            self.counts.times.setdefault(student, {})[version.task.kata] = version.time

    def _to_judge(self, version: HandedVersion) -> Iterator[Task]:
        """Yield the task of a version, unless its verdict is stored, it is unreadable or in the pool."""
        task = version.task
        judging = self.pool.judging[task.kata]
        if self.store.has_verdict(task.kata, task.digest, judging):
            self.counts.known += 1
        elif version.verdict is not None:
            self.store.add_verdict(task.kata, task.digest, judging, version.verdict)
        elif task in self._students:
            self.counts.known += 1
        else:
            yield task

    def _choose(self) -> None:
        """Let the better of two versions count, by the policy."""
        for (student, kata), versions in self._choices.items():
            with self._net(student, kata):
                self._choose_of(student, kata, *versions)

    def _choose_of(self, student: str, kata: str, latest: HandedVersion, in_time: HandedVersion) -> None:
        """Let the better of two versions of an answer count."""
        time = self.counts.times.get(student, {}).get(kata)  # without that of a copy
        found = [self._valued(student, one) for one in (latest._replace(time=time), in_time)]
        if found[1].rank >= found[0].rank:
            self._hand_in(student, in_time)
            self._note_time(student, in_time)
            self._tell(student, kata, IN_TIME.format(self._shown(in_time), found[0].said))
        else:
            self._hand_in(student, latest)
            self._tell(student, kata, LATER.format(self._shown(in_time), found[1].said))

    def _valued(self, student: str, version: HandedVersion) -> Valued:
        """Return what a version would be worth."""
        kata = version.task.kata
        result = self.store.verdict(kata, version.task.digest, self.pool.judging[kata])
        if result.report is None or not result.is_judged:
            return Valued(result, self.katas[kata].max_score)
        report = from_json(json.loads(result.report)).katas[0]
        mark = self._policy.mark(student, report, report.score, version.time, self.counts.started)
        return Valued(result, mark.points)

    def _tell(self, student: str, kata: str, text: str) -> None:
        """Say on the student's page which version of an answer counts."""
        self.counts.versions.setdefault(student, {})[kata] = (text,)

    def _shown(self, version: HandedVersion) -> str:
        """Return when a version was committed, as people write it."""
        at = version.time.at if version.time else None
        return f"{at.astimezone(self._policy.zone):{SHOWN}}" if at else "then"
