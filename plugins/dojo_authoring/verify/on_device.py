"""Judge the answers to a kata on a device, and compare their verdicts with those on the CPU.

On the CPU a kata's mistakes are judged in this process, or read from the record, and the fake device stands
in for a GPU. On the device each right answer has a worker of its own, as a submission has; the mistakes are
part of the course and share one, since a CUDA context takes a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from dojo_authoring.verify.judged import JudgedMistake, Records, judge_mistake
from dojo_authoring.verify.mistakes import MistakeOutcome, outcome_of, outcomes
from grader.cases.generation import SEED
from grader.checks.context import PreparedKata
from grader.checks.runner import CheckAborted
from grader.course.catalog import Course, KataInfo
from grader.course.files import read
from grader.course.known_solutions import KnownSolutions, standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.session import GraderSettings, open_grader
from grader.grading.submission_run import CUDA_SECONDS, LOAD_SECONDS
from grader.worker.client import START_SECONDS, RemoteStudent, WorkerLost
from grader.worker.process import Process

DEVICE_CHECK = "stays_on_the_device"
#: The most memory that the worker had in use: on the GPU where there is one, else all of its memory.
PEAK = """
def peak():
    if device == "cpu":
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    import torch
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()
"""


@dataclass(frozen=True)
class DeviceVerdict:
    """What a report says of an answer: the checks that it fails, its points in hundredths, and the name of
    its mistake."""

    failed: frozenset[str]
    points: int
    named: str | None = None

    def __str__(self) -> str:
        if not self.failed:
            return "passes"
        names = f"; named `{self.named}`" if self.named else "; no name"
        return f"{self.points / 100:g} points; fails {', '.join(sorted(self.failed))}{names}"


@dataclass(frozen=True)
class DeviceDifference:
    """An answer whose verdict on the device is another one than on the CPU, or why it has none there."""

    answer: str
    on_cpu: DeviceVerdict
    on_device: DeviceVerdict | str

    @property
    def is_foretold(self) -> bool:
        """Whether the fake device refuses the code as well. On a real device such code also raises in the
        other checks, or is skipped there."""
        return DEVICE_CHECK in self.on_cpu.failed


@dataclass
class KataOnDevice:
    """The comparison of one kata."""

    info: KataInfo
    right: int = 0
    mistakes: int = 0
    differences: list[DeviceDifference] = field(default_factory=list)
    memory: int = 0  # bytes
    seconds: float = 0.0  # on the device

    @property
    def answers(self) -> int:
        return self.right + self.mistakes

    def compare(self, answer: str, on_cpu: DeviceVerdict, on_device: DeviceVerdict | str) -> None:
        """Keep the difference, if there is one."""
        if on_cpu != on_device:
            self.differences.append(DeviceDifference(answer, on_cpu, on_device))


def can_be_judged_on_a_device(course: Course, info: KataInfo) -> bool:
    """Whether a device applies to the kata: it is in PyTorch, or the course answers it in PyTorch as well."""
    return info.library == "torch" or course.solution(info, "in_torch").is_file()


def judge_on_device(course: Course, info: KataInfo, device: str, isolation: str = "best") -> KataOnDevice:
    """Judge every answer in PyTorch to a kata on a device. A right answer has full marks on the CPU, which
    `kata verify` proves."""
    result = KataOnDevice(info)
    grader, source = open_grader(course, [info], GraderSettings(device, isolation))
    with closing(source):
        prepared = grader.prepare(info)
        expected = _on_cpu(course, grader, prepared) if info.library == "torch" else []
        began = time.monotonic()
        for name, text in _right_answers(course, info):
            result.right += 1
            result.compare(
                name, DeviceVerdict(frozenset(), info.max_score), _graded(grader, info, name, text)
            )
        if expected:
            with closing(_SharedWorker(course, grader, prepared)) as shared:
                for outcome in expected:
                    result.mistakes += 1
                    result.compare(outcome.name, _verdict(outcome), shared.judge(outcome))
            result.memory = shared.peak
        result.seconds = time.monotonic() - began
    return result


def _on_cpu(course: Course, grader: Grader, prepared: PreparedKata) -> list[MistakeOutcome]:
    """Return the outcomes of all mistakes on the CPU. The grader then matches against their answers."""
    records = Records(course, prepared.info, SEED)
    found = outcomes(course, grader, prepared, records, redraws=False)
    records.save()
    return found


def _right_answers(course: Course, info: KataInfo) -> Iterator[tuple[str, str]]:
    """Yield the right answers in PyTorch, with their sources."""
    if info.library != "torch":
        yield "in_torch", read(course.solution(info, "in_torch"))
        return
    yield "reference", read(course.solution(info, "reference"))
    yield from standalone_sources(course, info, "variants").items()


def _graded(grader: Grader, info: KataInfo, name: str, source: str) -> DeviceVerdict | str:
    """Return the verdict of `grade`, or why there is none."""
    try:
        report = grader.grade(Submission(info, source, f"`{name}`")).report
    except SubmissionRejected as refused:
        return str(refused)
    failed = frozenset(check.name for check in report.checks if check.status not in ("passed", "skipped"))
    mistake = report.mistake or report.possibility
    return DeviceVerdict(failed, report.score, mistake.id if mistake else None)


def _verdict(outcome: MistakeOutcome) -> DeviceVerdict:
    return DeviceVerdict(outcome.failed, outcome.points, outcome.named)


class _SharedWorker:
    """A worker in which the mistakes of a kata are judged one after the other. After a mistake that ends it,
    or after which the device cannot be used, the next one gets a new worker. `peak` is the most memory."""

    def __init__(self, course: Course, grader: Grader, prepared: PreparedKata) -> None:
        self.course, self.grader, self.prepared = course, grader, prepared
        self.answers = KnownSolutions(course, prepared.info, "mistakes")
        self.process: Process | None = None
        self.peak = 0

    def judge(self, outcome: MistakeOutcome) -> DeviceVerdict | str:
        """Return the verdict of a mistake, or why there is none. One that ends a worker which has judged
        others is judged again in a new one."""
        is_used = self.process is not None
        try:
            student = self._student(outcome)
            judged = judge_mistake(self.prepared, self.answers, outcome.name, student=student)
        except (CheckAborted, WorkerLost, SubmissionFailed) as error:
            self.close()
            return self.judge(outcome) if is_used else f"no verdict: {error}"
        self._note_peak(student)
        assert isinstance(judged, JudgedMistake)  # all checks were run
        return _verdict(outcome_of(judged, self.grader.matcher(self.prepared)))

    def _student(self, outcome: MistakeOutcome) -> RemoteStudent:
        """Return the mistake, loaded into the worker. Raises WorkerLost, SubmissionFailed."""
        kata = self.prepared.kata
        if self.process is None:
            self.process = self.grader.factories[kata.library].start(self.grader.device)
            RemoteStudent(self.process).greeting(START_SECONDS)
        source = self.answers.source_of(outcome.name)
        student = RemoteStudent(self.process, CUDA_SECONDS)
        student.load(
            kata.name, LOAD_SECONDS, source=source, entry_points=list(kata.entry_points), forbidden=[]
        )
        return student

    def _note_peak(self, student: RemoteStudent) -> None:
        try:
            self.peak = max(self.peak, student.build(PEAK, "peak"))
        except (WorkerLost, SubmissionFailed):  # a kernel has failed, and the CUDA context with it
            self.close()

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None
