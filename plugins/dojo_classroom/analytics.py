"""Statistics of a class: failing checks, mistakes, failures that no mistake explains, and similar files.

Search once for each group of files that no mistake explains, and write the groups as drafts.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import mean, quantiles

from dojo_classroom.judge_seekers import JudgeSeeker, judge_seekers
from dojo_classroom.store import JUDGED, Store
from dojo_classroom.student_reports import StudentReport
from dojo_classroom.task import FEWEST_TOKENS, PRELOADED, TASK_SECONDS, GraderOptions
from grader.course.catalog import CourseError, KataInfo
from grader.course.submission import SubmissionRejected, ask, parse
from grader.diagnosis.search_options import SearchOptions
from grader.errors import reason_of
from grader.formats import account
from grader.grading.session import open_grader
from grader.grading.submission_run import MEDDLED
from grader.processes.pool import Pool
from grader.report import CheckReport, KataReport, from_json

MOST_GROUPS = 20
MOST_NAMES = 12


@dataclass
class KataStatistics:
    """Counts of one kata over all students."""

    info: KataInfo
    statuses: Counter[str] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)  # keyed by the check's title
    mistakes: Counter[str] = field(default_factory=Counter)  # keyed by the mistake's id
    guesses: Counter[str] = field(default_factory=Counter)  # possible ones, where none is certain
    texts: dict[str, str] = field(default_factory=dict)  # the mistakes' texts, keyed by id
    unjudged: int = 0  # files that were not judged
    unread: int = 0  # of these, because they could not be read
    makers: dict[str, list[str]] = field(default_factory=dict)  # students by the mistake's id
    scores: list[int] = field(default_factory=list)  # of the judged files; no Python is 0 points

    @property
    def quartiles(self) -> tuple[int, int, int]:
        """The median of the scores between the ends of the middle half, in hundredths."""
        scores = sorted(self.scores)
        if len(scores) < 2:
            return (scores[0],) * 3 if scores else (0, 0, 0)
        lower, median, upper = quantiles(scores, method="inclusive")
        return round(lower), round(median), round(upper)

    @property
    def tried(self) -> int:
        """The number of judged files, as the gradebooks count them: what is no Python is judged. What nobody
        has begun, or what could not be judged, is left out."""
        return len(self.scores)

    @property
    def mean(self) -> int:
        """The mean of the scores in hundredths."""
        return round(mean(self.scores)) if self.scores else 0

    def add(self, kata: KataReport, student: str = "") -> None:
        """Count one student's kata; a mistake counts once, however many checks it fails."""
        self.statuses[kata.status] += 1
        wrong = account.wrong(kata)
        self.failing.update(check.title for check in wrong)
        found = {check.mistake.id: check.mistake for check in wrong if check.mistake}
        certain = {name for name, mistake in found.items() if mistake.certain}
        self.mistakes.update(certain)
        self.guesses.update(found.keys() - certain)
        self.texts |= {name: mistake.text for name, mistake in found.items()}
        for name in certain:
            self.makers.setdefault(name, []).append(student)
        if kata.status != "not_started":
            self.scores.append(kata.score)


@dataclass(frozen=True)
class UnexplainedFiles:
    """Files that fail in the same way and match no known mistake: a candidate for `mistakes.py`. After a
    search, `found` is the report of one of them with the places, and `source` its text."""

    kata: str
    files: int
    check: CheckReport
    students: list[str]
    found: KataReport | None = None
    source: str = ""


@dataclass(frozen=True)
class SimilarFiles:
    """Files of several students that have the same tokens after renaming."""

    kata: str
    files: int
    tokens: int
    status: str
    students: list[str]


@dataclass
class ClassStatistics:
    """The statistics of a class; students are added one by one, groups of files come from the store."""

    katas: dict[str, KataStatistics]
    students: int = 0
    absent: list[str] = field(default_factory=list)
    absent_count: int = 0
    unexplained: list[UnexplainedFiles] = field(default_factory=list)
    similar: list[SimilarFiles] = field(default_factory=list)
    seekers: list[JudgeSeeker] = field(default_factory=list)  # answers that look at the judge
    short: int = 0  # files too short to be compared
    troubled: int = 0  # submissions in which answers could not be looked for, and are missing
    ungraded: int = 0  # written answers that nobody has graded yet
    names: dict[str, str] = field(default_factory=dict)  # of the students, by id
    sections: dict[str, list[int]] = field(default_factory=dict)  # the totals of the students of a section

    def add(self, graded: StudentReport) -> None:
        """Count one student's report."""
        self.students += 1
        self.ungraded += len(graded.ungraded)
        self.troubled += bool(graded.open_troubles)
        self.names[graded.member.id] = graded.member.name or graded.member.id
        if graded.member.section:
            totals = self.sections.setdefault(graded.member.section, [])
            totals += [graded.marks.total] if graded.handed_in and not graded.unknown else []
        if not graded.handed_in:
            self.absent_count += 1
            self.absent += [graded.member.id] if self.absent_count <= 100 else []
        for kata in graded.report.katas:
            if any(check.message == MEDDLED for check in kata.checks):
                self.seekers.append(JudgeSeeker(graded.member.id, kata.name, ((0, MEDDLED),)))
            if kata.name in graded.unjudged:
                self.katas[kata.name].unjudged += 1
                self.katas[kata.name].unread += kata.name in graded.unread
            else:
                self.katas[kata.name].add(kata, graded.member.id)

    def name_of(self, student: str) -> str:
        """Return a student's name, with the id if another one has that name too."""
        name = self.names.get(student, student)
        return name if self._bearers[name] == 1 or name == student else f"{name} ({student})"

    @cached_property
    def _bearers(self) -> Counter[str]:
        return Counter(self.names.values())

    @property
    def unjudged(self) -> int:
        """The number of files, over all katas, that were not judged."""
        return sum(kata.unjudged for kata in self.katas.values())

    @property
    def unread(self) -> int:
        """The number of files, over all katas, that could not be read."""
        return sum(kata.unread for kata in self.katas.values())

    @property
    def faults(self) -> int:
        """The number of files that were not judged through a fault of the grader."""
        return self.unjudged - self.unread

    def find_groups(self, store: Store) -> None:
        """Query the store for the groups of unexplained and of similar files, and for files that look at the
        judge."""
        self.unexplained = unexplained_files(store, list(self.katas))
        self.similar = similar_files(store, list(self.katas))
        self.seekers = judge_seekers(store, list(self.katas))
        query = f"SELECT COUNT(*) FROM {JUDGED} WHERE h.run = :run AND v.shape <> '' AND v.tokens < :fewest"
        ((self.short,),) = store.rows(query, fewest=FEWEST_TOKENS)


def unexplained_files(store: Store, katas: list[str]) -> list[UnexplainedFiles]:
    """Return the largest groups of failing files that match no mistake, largest first."""
    query = (
        f"SELECT h.kata, v.cause, COUNT(*), MIN(v.source) FROM {JUDGED}"
        " WHERE h.run = :run AND v.cause <> '' GROUP BY h.kata, v.cause"
        f" ORDER BY COUNT(*) DESC, h.kata, v.cause LIMIT {MOST_GROUPS}"
    )
    groups = [row for row in store.rows(query) if row[0] in katas]
    return [
        UnexplainedFiles(
            kata, files, _first_wrong(store, kata, source), _students(store, kata, "cause", cause)
        )
        for kata, cause, files, source in groups
    ]


def _first_wrong(store: Store, kata: str, source: str) -> CheckReport:
    query = (
        f"SELECT v.report FROM {JUDGED} WHERE h.run = :run AND h.kata = :kata AND h.source = :source LIMIT 1"
    )
    ((text,),) = store.rows(query, kata=kata, source=source)
    return account.wrong(from_json(json.loads(text)).katas[0])[0]


def similar_files(store: Store, katas: list[str]) -> list[SimilarFiles]:
    """Return groups of long files of one shape, the longest and rarest first.

    Short or common answers are often written independently.
    """
    handed_in = dict(store.rows("SELECT kata, COUNT(*) FROM handed_in WHERE run = :run GROUP BY kata"))
    query = (
        f"SELECT h.kata, v.shape, COUNT(*), MAX(v.tokens), MIN(v.status) FROM {JUDGED}"
        " WHERE h.run = :run AND v.shape <> '' AND v.tokens >= :fewest AND v.status <> 'not_started'"
        " GROUP BY h.kata, v.shape HAVING COUNT(*) > 1"
    )
    groups = [row for row in store.rows(query, fewest=FEWEST_TOKENS) if row[0] in katas]
    groups.sort(key=lambda row: (-_rarity(row[2], handed_in[row[0]]) * row[3], row[0], row[1]))
    return [
        SimilarFiles(kata, files, tokens, status, _students(store, kata, "shape", shape))
        for kata, shape, files, tokens, status in groups[:MOST_GROUPS]
    ]


def _rarity(files: int, of: int) -> float:
    """Return 0 if all files of a kata have this shape, and a larger number the fewer have it."""
    return math.log(of / files)


def _students(store: Store, kata: str, column: str, value: str) -> list[str]:
    query = (
        f"SELECT h.student FROM {JUDGED} WHERE h.run = :run AND h.kata = :kata AND v.{column} = :value"
        f" ORDER BY h.student LIMIT {MOST_NAMES}"
    )
    return [student for (student,) in store.rows(query, kata=kata, value=value)]


SourceOf = Callable[[str, str], str]  # returns a student's answer to a kata
Search = Callable[[UnexplainedFiles], UnexplainedFiles]
#: The first lines of a file of drafts.
WARNING = """\
# Read a draft before you add it to mistakes.py: it is a student's code, and mistakes run with your rights,
# outside the sandbox. A draft holds what the kata's function reaches; all else is a comment."""
TODO = "TODO: say the symptom, the cause and what to check, and rename the function to a verb phrase."


@contextmanager
def group_search(options: GraderOptions, source_of: SourceOf) -> Iterator[Search]:
    """Yield a function that searches one file of a group in a process of its own, and returns the group with
    what it found: nothing, if the process was lost or took too long."""
    opens = partial(_open_search, options)
    pool = Pool[tuple[str, str], KataReport | None](opens, 1, preload=PRELOADED, seconds=TASK_SECONDS)

    def search(group: UnexplainedFiles) -> UnexplainedFiles:
        source = source_of(group.students[0], group.kata)
        _, found = next(pool.run(iter([(group.kata, source)])))
        return replace(group, found=found, source=source) if isinstance(found, KataReport) else group

    with closing(pool):
        yield search


@contextmanager
def _open_search(options: GraderOptions) -> Iterator[Callable[[tuple[str, str]], KataReport | None]]:
    """Open a grader, and return a function that searches the place of the mistake in an answer to a kata."""
    grader, factories = open_grader(options.course, options.kata_infos(), options.settings)

    def search(task: tuple[str, str]) -> KataReport | None:
        info, source = options.course.kata_info(task[0]), task[1]
        try:
            graded = grader.grade(parse(info, source, f"{info.name}.py", grader.reader(info)))
        except SubmissionRejected:
            return None
        return graded.locate(SearchOptions()).report

    with closing(factories):
        yield search


def write_drafts(path: Path, groups: list[UnexplainedFiles], entry_points: dict[str, tuple[str, ...]]) -> int:
    """Write the groups with a place as functions with a TODO docstring, and return their number."""
    found = [group for group in groups if group.found and group.found.repairs]
    drafts = [_draft(group, number, entry_points[group.kata]) for number, group in enumerate(found, 1)]
    try:
        path.write_text("\n\n\n".join([WARNING, *drafts]) + "\n", encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The drafts cannot be written to {path}: {reason_of(error)}.") from None
    return len(found)


def _draft(group: UnexplainedFiles, number: int, entry_points: tuple[str, ...]) -> str:
    """Return one file of a group as code: what its entry points reach, renamed, with a TODO as docstring. All
    else, which would run when the mistakes are imported, is a comment."""
    assert isinstance(group.found, KataReport)
    text = f"{group.kata}: {group.files} files. {group.check.title}\n{account.of_search(group.found)}"
    name = f"draft_{number}_of_{{}}"
    try:
        (plain, rest), _ = ask(
            "draft", tuple[str, str], group.source.encode(), names=[*entry_points], name=name, todo=TODO
        )
    except SubmissionRejected as refused:
        plain, rest = "", str(refused)
    return "\n".join([*_commented(text), plain, *_commented(rest)])


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in text.splitlines()]
