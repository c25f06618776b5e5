"""One submission of a class judged: the task that is sent to a grader, the verdict that comes back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grader
from grader import answer_key
from grader.bank import SEED
from grader.catalog import Card, Course
from grader.cohort.likeness import shape
from grader.formats import account
from grader.formats.escaping import sound
from grader.grading import Grader
from grader.opening import grade_read
from grader.report import Check, KataReport, Report, to_json
from grader.submission import Refused, Submission, decoded, parse


@dataclass(frozen=True)
class Order:
    """What graders of one class are told before the first submission."""

    root: Path
    exercises: Path
    katas: tuple[str, ...]
    device: str = "cpu"
    isolation: str = "best"
    key: Path | None = None
    secret: Path | None = None

    @property
    def course(self) -> Course:
        return Course(self.root, self.exercises)

    @property
    def terms(self) -> tuple[object, ...]:
        """What changes a report, beside the course."""
        return self.device, self.isolation

    def cards(self) -> list[Card]:
        course = self.course
        return [course.card(name) for name in self.katas]


@dataclass(frozen=True)
class Task:
    """One source to be judged."""

    kata: str
    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """What judging said: the report of this one kata as JSON, and what is counted of it."""

    status: str
    score: int
    max_score: int
    report: str
    shape: str = ""
    tokens: int = 0
    cause: str = ""  # a digest of what failed how, where no mistake explains it
    fault: str = field(default="", compare=False)  # the grader's own: there is no verdict


def judge(judging: Grader, card: Card, task: Task) -> Verdict:
    """Judge one source; whatever it is, a verdict comes back."""
    sources: list[Submission] = []

    def read() -> Submission:
        label = f"{card.name}.py"
        sources.append(parse(card, decoded(task.data, label), label))
        if not sources[0].touched:
            raise NotTouched
        return sources[0]

    try:
        kata = grade_read(judging, card, read)
    except NotTouched:
        kata = card.unjudged("not_started", f"Not started yet: {card.name}.py is as it was handed out.")
    report = Report(
        (replace(kata, digest=task.digest),), judging.device, judging.isolation, judging.provenance
    )
    likeness = shape(sources[0].source, stub_of(judging.course, card)) if sources else ("", 0)
    return verdict_of(report, *likeness)


class NotTouched(Exception):
    """The file is the stub as it was handed out."""


def stub_of(course: Course, card: Card) -> str:
    path = course.stub(card)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def refusal(card: Card, refused: Refused) -> Verdict:
    """The verdict on a file that cannot even be read."""
    return verdict_of(Report((card.unjudged("error", str(refused)),)))


def verdict_of(report: Report, shape: str = "", tokens: int = 0) -> Verdict:
    kata = report.katas[0]
    text = sound(json.dumps(to_json(report), ensure_ascii=False, separators=(",", ":")))
    return Verdict(kata.status, kata.score, kata.max_score, text, shape, tokens, cause(kata))


def cause(kata: KataReport) -> str:
    """What failed how, as a digest; nothing where all holds or a mistake explains it."""
    failing = account.wrong(kata)
    if not failing or kata.mistake:
        return ""
    told = json.dumps([_told(check) for check in failing])
    return hashlib.sha256(told.encode()).hexdigest()


def _told(check: Check) -> tuple[Any, ...]:
    answer = check.got if check.got is not None else check.message
    return check.name, check.status, check.counterexample, answer


def judging_digest(order: Order, course: Course, card: Card, key: str) -> str:
    """Names everything on which a verdict rests but the source: grader, kata, key, device, libraries."""
    parts = [card.path]
    if not key:
        parts += [
            path for part in ("reference", "mistakes") if (path := course.solution(card, part)).is_file()
        ]
    torch = version("torch") if card.library == "torch" and find_spec("torch") else ""
    return answer_key.digest(parts, SEED, grader.__version__, torch, key, *order.terms)
