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
from grader.answer_keys import answers
from grader.cases.generation import SEED
from grader.classroom.similarity import shape
from grader.course.catalog import Course, KataInfo
from grader.course.submission import Submission, SubmissionRejected, decoded, parse
from grader.formats import account
from grader.formats.escaping import sound
from grader.grading.grader import Grader
from grader.grading.startup import grade_read
from grader.report import CheckReport, KataReport, Report, to_json


@dataclass(frozen=True)
class GraderOptions:
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

    def kata_infos(self) -> list[KataInfo]:
        course = self.course
        return [course.kata_info(name) for name in self.katas]


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


def judge(judging: Grader, info: KataInfo, task: Task) -> Verdict:
    """Judge one source; whatever it is, a verdict comes back."""
    sources: list[Submission] = []

    def read() -> Submission:
        label = f"{info.name}.py"
        sources.append(parse(info, decoded(task.data, label), label))
        if not sources[0].touched:
            raise NotTouched
        return sources[0]

    try:
        kata = grade_read(judging, info, read)
    except NotTouched:
        kata = info.unjudged("not_started", f"Not started yet: {info.name}.py is as it was handed out.")
    report = Report(
        (replace(kata, digest=task.digest),), judging.device, judging.isolation, judging.provenance
    )
    likeness = shape(sources[0].source, stub_of(judging.course, info)) if sources else ("", 0)
    return verdict_of(report, *likeness)


class NotTouched(Exception):
    """The file is the stub as it was handed out."""


def stub_of(course: Course, info: KataInfo) -> str:
    path = course.stub(info)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def refusal(info: KataInfo, refused: SubmissionRejected) -> Verdict:
    """The verdict on a file that cannot even be read."""
    return verdict_of(Report((info.unjudged("error", str(refused)),)))


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


def _told(check: CheckReport) -> tuple[Any, ...]:
    answer = check.got if check.got is not None else check.message
    return check.name, check.status, check.counterexample, answer


def judging_digest(order: GraderOptions, course: Course, info: KataInfo, key: str) -> str:
    """Names everything on which a verdict rests but the source: grader, kata, key, device, libraries."""
    parts = [info.path]
    if not key:
        parts += [
            path for part in ("reference", "mistakes") if (path := course.solution(info, part)).is_file()
        ]
    torch = version("torch") if info.library == "torch" and find_spec("torch") else ""
    return answers.digest(parts, SEED, grader.__version__, torch, key, *order.terms)
