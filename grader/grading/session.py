"""Grade files of a course with workers that stay open, each file after the katas that it needs.

Check that libraries, device and isolation are available, open a grader, and grade single files.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.answer_keys.file import KeyUnusable, open_keyring
from grader.cases.generation import SEED
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import text_of
from grader.course.state import CourseState, file_digest
from grader.course.stubs import BEST_COPIES, Versions
from grader.course.submission import (
    Submission,
    SubmissionRejected,
    Unreadable,
    read_submission,
    read_text,
)
from grader.grading.grader import Graded, Grader, isolation_of
from grader.grading.submission_run import CUDA_SECONDS
from grader.installing import install_command
from grader.kata import KataError
from grader.report import Isolation, KataReport
from grader.texts.bounds import bounded
from grader.worker.client import CALL_SECONDS, START_SECONDS, Budget, RemoteStudent, WorkerLost
from grader.worker.fork_server import WorkerFactories, WorkerFactory
from grader.worker.protocol.channel import Flooded

TORCH = "torch==2.13.0"


class LibraryMissing(Exception):
    """A kata needs a library that is not installed; the message says how to install it."""


class DeviceMissing(Exception):
    """The requested device does not exist on this machine."""


class IsolationMissing(Exception):
    """This machine cannot provide the isolation that was required."""


#: Errors in the input or on this machine, not in the grader; each message is one sentence for the user.
COMPLAINTS = (CourseError, KataError, KeyUnusable, LibraryMissing, DeviceMissing, IsolationMissing)


def require_library(infos: list[KataInfo], device: str) -> None:
    """Raise LibraryMissing if a kata needs PyTorch and it is not installed, and DeviceMissing if `device` is
    "cuda" and there is no GPU."""
    for info in infos:
        require_installed(info)
    if device == "cuda" and not has_cuda():
        raise DeviceMissing(
            "There is no CUDA device on this machine; leave out --device to grade on the CPU."
        )


def require_installed(what: KataInfo | Submission) -> None:
    """Raise LibraryMissing if a kata or a submission needs PyTorch and it is not installed."""
    if lacks_library(what):
        raise LibraryMissing(what_to_install(what))


def lacks_library(what: KataInfo | Submission) -> bool:
    """True if a kata or a submission needs PyTorch and it is not installed."""
    return what.library == "torch" and importlib.util.find_spec("torch") is None


def what_to_install(what: KataInfo | Submission) -> str:
    """Return why a kata or a submission cannot be graded, and what to install."""
    why = f"`{what.name}` is a PyTorch kata" if isinstance(what, KataInfo) else f"{what.label} imports torch"
    return f"{why}, and PyTorch is not installed: {install_command(TORCH)}"


def has_cuda() -> bool:
    """True if there is a CUDA device. Ask a separate process, because one that has used CUDA cannot fork
    workers that use it."""
    if importlib.util.find_spec("torch") is None:
        return False
    import subprocess

    question = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-P", "-c", question], capture_output=True).returncode == 0


@dataclass(frozen=True)
class GraderSettings:
    """The device and the isolation of the workers, the answer key that is used instead of solutions, with
    the secret that decrypts it, the seed of the cases where there is no key, and whether the workers run in
    this process, as in a browser, which has no others."""

    device: str = "cpu"
    isolation: str = "best"
    key: Path | None = None
    secret: Path | None = None
    seed: int = SEED
    in_own_process: bool = False


DEFAULTS = GraderSettings()


def open_grader(
    course: Course,
    infos: list[KataInfo],
    settings: GraderSettings = DEFAULTS,
    workers: str = "",
) -> tuple[Grader, WorkerFactories]:
    """Return a grader and its worker factories. The fork servers start before any solution, key or secret is
    read. Pass `workers="spawn"` if this process has read one already or has threads. Raises
    IsolationMissing, KeyUnusable."""
    libraries = {info.library for info in infos if not lacks_library(info)} or {"numpy"}
    source = _factories(libraries, workers, settings)
    try:
        if settings.isolation == "required":
            _require_isolation(source[min(libraries)], settings.device)
        keyring = open_keyring(course, infos, settings.key, settings.secret)
    except (IsolationMissing, KeyUnusable):
        source.close()
        raise
    return Grader(course, source, settings.device, settings.seed, keyring), source


def _factories(libraries: set[str], workers: str, settings: GraderSettings) -> WorkerFactories:
    if settings.in_own_process:
        from grader.worker.own_process import OwnFactories  # whoever has processes does without it

        return OwnFactories()
    return WorkerFactories(libraries, workers or os.environ.get("DOJO_WORKERS", ""), settings.isolation)


def _require_isolation(source: WorkerFactory, device: str) -> None:
    """Start a worker without a submission and raise IsolationMissing if it lacks a protection."""
    try:
        with source.start(device) as process:
            held = Isolation(**RemoteStudent(process).greeting(CUDA_SECONDS))
    except WorkerLost as lost:
        raise IsolationMissing(f"`--isolation required`: no worker can be started here. {lost}") from None
    if not held.is_whole:
        raise IsolationMissing(
            f"`--isolation required`: this machine lacks {_lacking(held)}."
            " `--isolation best` takes what there is."
        )


def _lacking(held: Isolation) -> str:
    memory = held.limits or held.gpu
    layers = {"Landlock": held.landlock_abi, "seccomp": held.seccomp, "a limit of memory": memory}
    return " and ".join(name for name, holds in layers.items() if not holds)


@contextmanager
def started(grader: Grader, submission: Submission, budget: Budget | None = None) -> Iterator[RemoteStudent]:
    """Yield a new worker for the library of a submission, which has loaded nothing yet. Raises WorkerLost.
    What is printed in it can be read afterwards too."""
    with grader.factories[submission.library].start(grader.device) as process:
        student = RemoteStudent(process, CALL_SECONDS, budget, submission.exchange)
        student.greeting(START_SECONDS)
        try:
            yield student
        finally:
            with suppress(Flooded):
                process.channel.drain()


def grade_file(
    grader: Grader, info: KataInfo, path: Path, is_outdated: Callable[[], bool] = lambda: False
) -> Graded:
    """Grade one file, also if it cannot be graded or is not begun. Raises Outdated."""
    return grade_read(grader, info, lambda: read_submission(info, path, grader.reader(info)), is_outdated)


def grade_read(
    grader: Grader,
    info: KataInfo,
    read: Callable[[], Submission],
    is_outdated: Callable[[], bool] = lambda: False,
) -> Graded:
    """Grade the submission that `read` returns; `read` may raise SubmissionRejected. Raises Outdated."""
    if lacks_library(info):
        return Graded(info.unjudged("error", what_to_install(info)))
    try:
        submission = read()
        if not submission.begun:
            message = f"Not started yet: open {submission.label}, read its docstring, {info.kind.task}."
            return Graded(info.unjudged("not_started", message))
        if lacks_library(submission):
            return Graded(info.unjudged("error", what_to_install(submission)))
        return grader.grade(submission, is_outdated)
    except SubmissionRejected as refused:
        unread = isinstance(refused, Unreadable)
        report = replace(info.unjudged("error", str(refused)), excerpt=refused.excerpt, unread=unread)
        return Graded(bounded(report), refused.isolation)


class Session:
    """Grades files and remembers the outcomes. `file_of` returns the file of a needed kata; it is the file in
    the exercises if none is given."""

    def __init__(
        self, grader: Grader, file_of: Callable[[KataInfo], Path] | None = None, *, remembers: bool = True
    ) -> None:
        self.grader, self.course, self.remembers = grader, grader.course, remembers
        self.file_of = file_of or self.course.stub
        self.state = CourseState(self.course)
        self.versions = Versions(self.state.folder)
        self._graded: dict[tuple[str, tuple[int, int]], Graded] = {}  # by kata and version, without results

    def grade(
        self,
        info: KataInfo,
        path: Path,
        is_outdated: Callable[[], bool] = lambda: False,
        text: str | None = None,
    ) -> Graded:
        """Grade a file, or the `text` that an editor holds of it, and remember the outcome. Nothing is
        remembered of another file than the course's, of one that was not judged or was saved meanwhile, or of
        a text that is not in the file. Raises Outdated once `is_outdated` returns True."""
        digest = file_digest(info, path)
        graded = self._grade(info, path, is_outdated, text)
        is_own = self.remembers and path == self.course.stub(info)
        if text is not None and text != _lines_of(path):
            is_own = False
        if is_own and graded.report.checks and digest == file_digest(info, path):
            self._remember(info, path, graded.report, digest, is_typed=text is not None)
        return graded

    def _remember(
        self, info: KataInfo, path: Path, report: KataReport, digest: str, *, is_typed: bool
    ) -> None:
        known = self.state.kata(info.name)
        if report.score and report.score >= known.best:
            # without a known score, the one that is kept may be better
            self.versions.keep(BEST_COPIES, info, path, keeps_old=not known.digest)
        self.state.record(report, digest, is_typed=is_typed)

    def _grade(
        self, info: KataInfo, path: Path, is_outdated: Callable[[], bool], text: str | None = None
    ) -> Graded:
        """Grade a file, or a text in its place. If it is begun and a kata that it needs does not pass, it is
        `waiting`."""

        def read() -> Submission:
            by = self.grader.reader(info)
            return read_submission(info, path, by) if text is None else read_text(info, text, path, by)

        needs = info.needs if info.needs and _is_gradable(read) else ()
        needed = [self._graded_needed(self.course.kata_info(name), is_outdated) for name in needs]
        unmet = [one.report.name for one in needed if one.report.status != "passed"]
        if unmet:
            return Graded(waiting(info, unmet), isolation_of(needed))
        graded = grade_read(self.grader, info, read, is_outdated)
        graded = replace(graded, isolation=isolation_of([graded, *needed]))
        if text is None:
            self._graded[info.name, version_of(path)] = replace(graded, unexplained=None)
        return graded

    def _graded_needed(self, info: KataInfo, is_outdated: Callable[[], bool]) -> Graded:
        """Return the grading of the current file of a needed kata. Each version of a file is graded once."""
        path = self.file_of(info)
        known = self._graded.get((info.name, version_of(path)))
        return self._grade(info, path, is_outdated) if known is None else known


@contextmanager
def open_session(
    course: Course,
    paths: list[tuple[KataInfo, Path]],
    *,
    remembers: bool = True,
    settings: GraderSettings = DEFAULTS,
) -> Iterator[Session]:
    """Yield a session for these files. A needed kata is read from the file given for it, or else from the
    exercises. Raises what `open_grader` raises."""
    given = {info.name: path for info, path in paths}
    grader, factories = open_grader(course, course.with_needs([info for info, _ in paths]), settings)
    with closing(factories):
        yield Session(grader, lambda info: given.get(info.name, course.stub(info)), remembers=remembers)


def waiting(info: KataInfo, unmet: list[str]) -> KataReport:
    """Return the report of a kata that is not judged because the katas in `unmet` do not pass."""
    message = f"Waiting for {' and '.join(f'`{name}`' for name in unmet)}, which must pass first."
    return info.unjudged("waiting", message)


def _lines_of(path: Path) -> str:
    """Return the text of a file as an editor holds it: with line feeds alone."""
    return text_of(path).replace("\r\n", "\n").replace("\r", "\n")


def _is_gradable(read: Callable[[], Submission]) -> bool:
    try:
        submission = read()
        return submission.begun and not lacks_library(submission)
    except SubmissionRejected:
        return False


def version_of(path: Path) -> tuple[int, int]:
    """Return what changes when a file is saved; zeros if there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
