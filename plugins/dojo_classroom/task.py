"""Grade one file of a class: the task that is sent to a grader, the verdict that it returns, and graders in
processes of this machine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grader
from grader.answer_keys import answers
from grader.answer_keys.file import open_keyring
from grader.course.catalog import Course, KataInfo
from grader.course.submission import Submission, SubmissionRejected, Unreadable, read
from grader.formats import account
from grader.grading.grader import Graded, Grader
from grader.grading.session import DEFAULTS, GraderSettings, grade_read, open_grader, require_installed
from grader.processes.pool import Lost, Pool
from grader.report import CheckReport, Isolation, KataReport, Report, to_json
from grader.texts.escaping import sound

#: Shorter files are not compared: there are few ways to write five lines.
FEWEST_TOKENS = 60


@dataclass(frozen=True)
class GraderOptions:
    """What the graders of a class are opened with: a course, the katas, and the settings of a grader."""

    root: Path
    exercises: Path
    katas: tuple[str, ...]
    settings: GraderSettings = DEFAULTS

    @property
    def course(self) -> Course:
        return Course(self.root, self.exercises)

    @property
    def digested(self) -> tuple[object, ...]:
        """The settings on which a verdict depends, for the digest of the grading setup."""
        return self.settings.device, self.settings.isolation

    def kata_infos(self) -> list[KataInfo]:
        course = self.course
        return [course.kata_info(name) for name in self.katas]


@dataclass(frozen=True)
class Task:
    """One source to grade."""

    kata: str
    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class FileVerdict:
    """The report of one kata as JSON, with the values that are stored and counted."""

    status: str
    score: int
    max_score: int
    report: str
    shape: str = ""
    tokens: int = 0
    cause: str = ""  # a digest of the failures if no mistake explains them, see `cause`
    fault: str = field(default="", compare=False)  # the grader's own error, in which case there is no verdict


def judge(judging: Grader, info: KataInfo, task: Task) -> FileVerdict:
    """Grade one source; return a verdict on every source, readable or not. Raises LibraryMissing."""
    require_installed(info)
    stub = stub_of(judging.course, info)
    try:
        submission = read(info, task.data, f"{info.name}.py", judging.reader(info), stub=stub)
    except Unreadable as refused:
        return unreadable(info, refused)
    except SubmissionRejected as refused:
        return _verdict_of(judging, grade_read(judging, info, partial(_refuse, refused)), task)

    def read_already() -> Submission:
        if not submission.touched:
            raise StubUnchanged
        require_installed(submission)  # a student's file is no error because this machine lacks PyTorch
        return submission

    try:
        graded = grade_read(judging, info, read_already)
    except StubUnchanged:
        text = f"Not started yet: nothing is written in {info.name}.py."
        graded = Graded(info.unjudged("not_started", text))
    return _verdict_of(judging, graded, task, submission.record.shape, submission.record.tokens)


def _refuse(refused: SubmissionRejected) -> Submission:
    raise refused


def _verdict_of(judging: Grader, graded: Graded, task: Task, shape: str = "", tokens: int = 0) -> FileVerdict:
    kata = replace(graded.report, digest=task.digest)
    report = Report((kata,), judging.device, graded.isolation or Isolation(), judging.provenance)
    return verdict_of(report, shape, tokens)


class StubUnchanged(Exception):
    """Raised if the file is the unchanged stub."""


def stub_of(course: Course, info: KataInfo) -> str:
    path = course.stub(info)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


#: The stored statuses of files that were not judged: one that ended too many grading processes, and one that
#: could not be read. Their reports say `error`.
PUT_ASIDE, UNREADABLE = "put_aside", "unreadable"


def put_aside(info: KataInfo) -> FileVerdict:
    """Return the verdict on a file that nobody could judge, so that no later run tries it again."""
    text = f"{info.name}.py ended the grading process twice, and was put aside."
    return replace(unreadable(info, Unreadable(text)), status=PUT_ASIDE)


def unreadable(info: KataInfo, refused: SubmissionRejected) -> FileVerdict:
    """Return the verdict on a file that could not be read, and so was not judged."""
    return replace(verdict_of(Report((info.unjudged("error", str(refused)),))), status=UNREADABLE)


def verdict_of(report: Report, shape: str = "", tokens: int = 0) -> FileVerdict:
    kata = report.katas[0]
    text = sound(json.dumps(to_json(report), ensure_ascii=False, separators=(",", ":")))
    return FileVerdict(kata.status, kata.score, kata.max_score, text, shape, tokens, cause(kata))


def cause(kata: KataReport) -> str:
    """Return a digest of the failing checks; empty if all pass or a mistake explains them."""
    failing = account.wrong(kata)
    if not failing or kata.mistake:
        return ""
    failures = json.dumps([_failure(check) for check in failing])
    return hashlib.sha256(failures.encode()).hexdigest()


def _failure(check: CheckReport) -> tuple[Any, ...]:
    answer = check.got if check.got is not None else check.message
    return check.name, check.status, check.counterexample, answer


def judging_digests(options: GraderOptions) -> dict[str, str]:
    """Return, for each kata, a digest of all that a verdict depends on except the source. Raises
    KeyUnusable."""
    course, infos = options.course, options.kata_infos()
    keyring = open_keyring(course, infos, options.settings.key, options.settings.secret)
    key = keyring.digest if keyring else ""
    return {info.name: judging_digest(options, course, info, key) for info in infos}


def judging_digest(options: GraderOptions, course: Course, info: KataInfo, key: str) -> str:
    """Return a digest of all that a verdict depends on except the source: grader, kata, key, libraries."""
    parts = [info.path]
    if not key:
        reference = course.solution(info, "reference")
        parts += [path for path in (reference, *course.mistakes(info)) if path.is_file()]
    torch = version("torch") if "torch" in info.libraries and find_spec("torch") else ""
    return answers.digest(parts, options.settings.seed, grader.__version__, torch, key, *options.digested)


TASK_SECONDS = 600.0  # wall-clock time, after which a grading process counts as lost
#: Not PyTorch: it is imported after the fork server of NumPy workers has started.
PRELOADED = ("numpy", __name__)


class LocalPool:
    """Graders in processes of this machine. They start with the first tasks: a run in which nothing is to be
    judged starts none. The processes have never held another student's work when they start."""

    def __init__(self, options: GraderOptions, size: int = 0) -> None:
        self.options = options
        self.judging: Mapping[str, str] = judging_digests(options)
        opens = partial(_open_judge, options)
        self.processes = Pool[Task, FileVerdict](opens, size, preload=PRELOADED, seconds=TASK_SECONDS)

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, FileVerdict]]:
        """Yield verdicts in any order; a task whose grader was lost is sent to another one, once."""
        for task, verdict in self.processes.run(tasks):
            if isinstance(verdict, Lost):
                verdict = put_aside(self.options.course.kata_info(task.kata))
            yield task, verdict

    def close(self) -> None:
        """End all processes."""
        self.processes.close()


@contextmanager
def _open_judge(options: GraderOptions) -> Iterator[Callable[[Task], FileVerdict]]:
    """Open a grader and return a function that gives a verdict on each task."""
    infos = {info.name: info for info in options.kata_infos()}
    grader, source = open_grader(options.course, list(infos.values()), options.settings)

    def judged(task: Task) -> FileVerdict:
        try:
            return judge(grader, infos[task.kata], task)
        except Exception as error:  # a fault of the grader costs no points, and other files are still graded
            if os.environ.get("DOJO_DEBUG"):
                raise
            return FileVerdict("error", 0, 0, "", fault=f"{type(error).__name__}: {error}")

    with closing(source):
        yield judged
