"""What a class has not understood: which checks fail, which mistakes are made, what nobody has explained yet,
and which files are the same to the token after renaming."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field

from grader.classroom.similarity import FEWEST_TOKENS
from grader.classroom.store import JUDGED, Store
from grader.classroom.student_reports import Graded
from grader.course.catalog import KataInfo
from grader.formats import account
from grader.report import CheckReport, KataReport, from_json

MOST_GROUPS = 20
MOST_NAMES = 12


@dataclass
class KataInsight:
    """How one kata went."""

    info: KataInfo
    statuses: Counter[str] = field(default_factory=Counter)
    points: int = 0
    failing: Counter[str] = field(default_factory=Counter)  # by the check's title
    mistakes: Counter[str] = field(default_factory=Counter)  # by the mistake's id
    texts: dict[str, str] = field(default_factory=dict)  # of mistakes

    @property
    def tried(self) -> int:
        """How many files say something about understanding."""
        return self.statuses["passed"] + self.statuses["failed"]

    def see(self, kata: KataReport) -> None:
        """Count one student's kata; a mistake once, however many checks it fails."""
        self.statuses[kata.status] += 1
        self.points += kata.score
        wrong = account.wrong(kata)
        self.failing.update(check.title for check in wrong)
        found = {check.mistake.id: check.mistake.text for check in wrong if check.mistake}
        self.mistakes.update(found.keys())
        self.texts |= found


@dataclass(frozen=True)
class Unexplained:
    """Failing files that compute alike, and no mistake says why: a candidate for `mistakes.py`."""

    kata: str
    files: int
    check: CheckReport
    students: list[str]


@dataclass(frozen=True)
class Alike:
    """Files of several students that are the same to the token after renaming."""

    kata: str
    files: int
    tokens: int
    status: str
    students: list[str]


@dataclass
class ClassInsight:
    """All of it. Fed a student at a time; the groups are asked of the store."""

    katas: dict[str, KataInsight]
    students: int = 0
    absent: list[str] = field(default_factory=list)
    nobody: int = 0
    unexplained: list[Unexplained] = field(default_factory=list)
    alike: list[Alike] = field(default_factory=list)
    short: int = 0  # files that coincide and are too short for that to mean anything

    def see(self, graded: Graded) -> None:
        """Count one student."""
        self.students += 1
        if not graded.handed_in:
            self.nobody += 1
            self.absent += [graded.member.name or graded.member.id] if self.nobody <= 100 else []
        for kata in graded.report.katas:
            self.katas[kata.name].see(kata)

    def ask(self, store: Store) -> None:
        """The groups of files that are unexplained or alike."""
        self.unexplained = unexplained(store, list(self.katas))
        self.alike = alike(store, list(self.katas))
        question = (
            f"SELECT COUNT(*) FROM {JUDGED} WHERE h.run = :run AND v.shape <> '' AND v.tokens < :fewest"
        )
        ((self.short,),) = store.rows(question, fewest=FEWEST_TOKENS)


def unexplained(store: Store, katas: list[str]) -> list[Unexplained]:
    """The largest groups of failing files that no mistake explains."""
    question = (
        f"SELECT h.kata, v.cause, COUNT(*), MIN(v.source) FROM {JUDGED}"
        " WHERE h.run = :run AND v.cause <> '' GROUP BY h.kata, v.cause"
        f" ORDER BY COUNT(*) DESC, h.kata, v.cause LIMIT {MOST_GROUPS}"
    )
    groups = [row for row in store.rows(question) if row[0] in katas]
    return [
        Unexplained(kata, files, _first_wrong(store, kata, source), _who(store, kata, "cause", cause))
        for kata, cause, files, source in groups
    ]


def _first_wrong(store: Store, kata: str, source: str) -> CheckReport:
    question = (
        f"SELECT v.report FROM {JUDGED} WHERE h.run = :run AND h.kata = :kata AND h.source = :source LIMIT 1"
    )
    ((text,),) = store.rows(question, kata=kata, source=source)
    return account.wrong(from_json(json.loads(text)).katas[0])[0]


def alike(store: Store, katas: list[str]) -> list[Alike]:
    """Groups of long files of one shape; the longest and rarest first, since a short or a usual answer
    is found by many on their own."""
    handed_in = dict(store.rows("SELECT kata, COUNT(*) FROM handed_in WHERE run = :run GROUP BY kata"))
    question = (
        f"SELECT h.kata, v.shape, COUNT(*), MAX(v.tokens), MIN(v.status) FROM {JUDGED}"
        " WHERE h.run = :run AND v.shape <> '' AND v.tokens >= :fewest AND v.status <> 'not_started'"
        " GROUP BY h.kata, v.shape HAVING COUNT(*) > 1"
    )
    groups = [row for row in store.rows(question, fewest=FEWEST_TOKENS) if row[0] in katas]
    groups.sort(key=lambda row: (-_rarity(row[2], handed_in[row[0]]) * row[3], row[0], row[1]))
    return [
        Alike(kata, files, tokens, status, _who(store, kata, "shape", shape))
        for kata, shape, files, tokens, status in groups[:MOST_GROUPS]
    ]


def _rarity(files: int, of: int) -> float:
    """0 where all files of a kata are of this shape, and more the fewer are."""
    return math.log(of / files)


def _who(store: Store, kata: str, column: str, value: str) -> list[str]:
    question = (
        f"SELECT h.student FROM {JUDGED} WHERE h.run = :run AND h.kata = :kata AND v.{column} = :value"
        f" ORDER BY h.student LIMIT {MOST_NAMES}"
    )
    return [student for (student,) in store.rows(question, kata=kata, value=value)]
