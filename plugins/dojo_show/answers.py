"""Find out which katas of a demonstration pass, and load each into its own worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

from grader.course.catalog import Course, KataInfo
from grader.course.state import file_digest
from grader.course.submission import Submission, SubmissionRejected, read_submission
from grader.expect import SubmissionFailed
from grader.grading.session import DEFAULTS, GraderSettings, Session, lacks_library, open_session
from grader.grading.submission_run import LOAD_SECONDS
from grader.worker.client import CALL_SECONDS, START_SECONDS, Budget, RemoteStudent, WorkerLost
from grader.worker.student import Student

#: The functions that are called, by kata, in the order of the page.
Functions = Mapping[str, tuple[str, ...]]
#: `open` is not begun, `begun` does not pass and is not used, `fails` does not pass and is used.
Status = Literal["yours", "fails", "begun", "open"]


@dataclass
class Answers:
    """The functions that are called, the status of every kata, the students of those that are used, and why a
    worker was lost, by kata."""

    katas: Functions
    statuses: dict[str, Status] = field(default_factory=dict)
    students: Mapping[str, Student] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    budgets: list[Budget] = field(default_factory=list)

    def __post_init__(self) -> None:
        opened: dict[str, Status] = dict.fromkeys(self.katas, "open")
        self.statuses = opened | self.statuses

    def kata_of(self, function: str) -> str:
        """Return the kata that a function is part of."""
        return next(kata for kata, functions in self.katas.items() if function in functions)

    def take(self, others: Answers) -> None:
        """Take in what was found out about other katas."""
        self.statuses |= {kata: others.statuses[kata] for kata in others.katas}
        self.students = {**self.students, **others.students}
        self.budgets += others.budgets

    def renew(self) -> None:
        """Let the calls from now on take as much time as if they were the first."""
        for budget in self.budgets:
            budget.spent, budget.received = 0.0, 0


@contextmanager
def open_answers(  # noqa: PLR0913  # a caller sets one or two of those with a default
    course: Course,
    katas: Functions,
    *,
    mine: bool = False,
    remembers: bool = False,
    started: Callable[[KataInfo], None] = lambda _: None,
    settings: GraderSettings = DEFAULTS,
    call_seconds: float = CALL_SECONDS,
) -> Iterator[Answers]:
    """Yield the student's answers. A file that does not pass is used if `mine` is true. `started` is called
    before a file is graded. A call may take `call_seconds` of CPU time. Raises what `open_grader` raises."""
    found, students = dict(_begun(course, katas)), dict[str, Student]()
    answers = Answers(katas, students=students)
    with ExitStack() as stack:
        paths = [(submission.info, course.stub(submission.info)) for submission in found.values()]
        session = stack.enter_context(open_session(course, paths, remembers=remembers, settings=settings))
        for name, submission in found.items():
            answers.statuses[name] = "begun"
            passes = _passes(session, submission.info, started)
            student = _load(stack, session, submission, call_seconds) if passes or mine else None
            if student is not None:
                answers.statuses[name] = "yours" if passes else "fails"
                students[name] = student
                answers.budgets.append(student.budget)
        yield answers


def _begun(course: Course, katas: Functions) -> Iterator[tuple[str, Submission]]:
    """Yield the submissions that are begun and can be read, by kata."""
    for name, functions in katas.items():
        info = course.katas.get(name)
        if info is None or not set(functions) <= set(info.entry_points) or lacks_library(info):
            continue
        try:
            submission = read_submission(info, course.stub(info))
        except SubmissionRejected:
            continue
        if submission.begun and not lacks_library(submission):
            yield name, submission


def _passes(session: Session, info: KataInfo, started: Callable[[KataInfo], None]) -> bool:
    """Return whether the file passes: as remembered if it is the one that was graded, else graded now."""
    path = session.course.stub(info)
    known = session.state.kata(info.name)
    if known.digest and known.digest == file_digest(info, path):
        return known.status == "passed"
    started(info)
    return session.grade(info, path).report.status == "passed"


def _load(
    stack: ExitStack, session: Session, submission: Submission, call_seconds: float
) -> RemoteStudent | None:
    """Return the submission in a worker that ends with the stack, or None if it cannot be imported."""
    info = submission.info
    process = stack.enter_context(session.grader.factories[submission.library].start("cpu"))
    student = RemoteStudent(process, call_seconds, exchange=submission.exchange)
    loading = {"source": submission.source, "entry_points": list(info.entry_points), "forbidden": []}
    try:
        student.greeting(START_SECONDS)
        student.load(info.name, LOAD_SECONDS, submission.filename, **loading)
    except (SubmissionFailed, WorkerLost):
        return None
    return student
