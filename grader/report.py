"""The report: one flat, frozen record of a grading, which every format reads.

Points are integer hundredths; `to_json` and `from_json` are each other's inverse, so that a saved
report can be rendered later without a grader.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

SCHEMA_VERSION = 1

KataStatus = Literal["passed", "failed", "not_started", "waiting", "error"]
CheckStatus = Literal["passed", "failed", "error", "timeout", "skipped"]


class ReportError(Exception):
    """A saved report cannot be read; the sentence says why."""


@dataclass(frozen=True)
class Mistake:
    """The named mistake that explains a failure, and what its author is told."""

    id: str
    text: str


@dataclass(frozen=True)
class CheckReport:
    """The outcome of one check. `counterexample` maps argument names to their text."""

    name: str
    title: str
    status: CheckStatus
    score: int
    max_score: int
    message: str = ""
    call: str | None = None
    counterexample: dict[str, str] | None = None
    expected: str | None = None
    got: str | None = None
    difference: str | None = None
    mistake: Mistake | None = None


@dataclass(frozen=True)
class KataReport:
    """The outcome of one kata. `message` is set where there is nothing to list check by check."""

    name: str
    track: str
    status: KataStatus
    max_score: int
    seconds: float = 0.0
    message: str = ""
    checks: tuple[CheckReport, ...] = ()
    output: str = ""
    digest: str = ""  # SHA-256 of the file that was graded

    @property
    def score(self) -> int:
        return sum(check.score for check in self.checks)

    @property
    def mistake(self) -> Mistake | None:
        """The first mistake named by any check."""
        return next((check.mistake for check in self.checks if check.mistake), None)


@dataclass(frozen=True)
class Isolation:
    """What really stood between the submission and the grader."""

    process: bool = True
    landlock_abi: int = 0
    seccomp: bool = False
    limits: bool = False
    gpu: bool = False  # what CUDA needs was left open

    @property
    def is_whole(self) -> bool:
        """Whether every layer held. On a GPU memory cannot be limited."""
        return self.process and self.landlock_abi > 0 and self.seccomp and (self.limits or self.gpu)

    def weakened_by(self, other: Isolation) -> Isolation:
        """What held for both."""
        return Isolation(
            self.process and other.process,
            min(self.landlock_abi, other.landlock_abi),
            self.seccomp and other.seccomp,
            self.limits and other.limits,
            self.gpu or other.gpu,
        )


@dataclass(frozen=True)
class Provenance:
    """What judged: versions, and the digest of the answer key where there was one."""

    grader: str = ""
    python: str = ""
    numpy: str = ""
    torch: str = ""
    key: str = ""


@dataclass(frozen=True)
class Report:
    """One submission, graded."""

    katas: tuple[KataReport, ...]
    device: str = "cpu"
    isolation: Isolation = field(default_factory=Isolation)
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def score(self) -> int:
        return sum(kata.score for kata in self.katas)

    @property
    def max_score(self) -> int:
        return sum(kata.max_score for kata in self.katas)


def to_json(report: Report) -> dict[str, Any]:
    """The report as plain values, in the shape that the JSON contract fixes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "score": report.score / 100,
        "max_score": report.max_score / 100,
        "device": report.device,
        "isolation": asdict(report.isolation),
        "provenance": asdict(report.provenance),
        "katas": [_kata_to_json(kata) for kata in report.katas],
    }


def _kata_to_json(kata: KataReport) -> dict[str, Any]:
    return {
        "name": kata.name,
        "track": kata.track,
        "status": kata.status,
        "score": kata.score / 100,
        "max_score": kata.max_score / 100,
        "seconds": round(kata.seconds, 3),
        "message": kata.message,
        "output": kata.output,
        "digest": kata.digest,
        "checks": [_check_to_json(check) for check in kata.checks],
    }


def _check_to_json(check: CheckReport) -> dict[str, Any]:
    mistake = check.mistake and dict(vars(check.mistake))
    points = {"score": check.score / 100, "max_score": check.max_score / 100}
    return {**vars(check), **points, "mistake": mistake}


def from_json(data: Any) -> Report:
    """Read what `to_json` wrote. Raises ReportError for anything else."""
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        found = data.get("schema_version") if isinstance(data, dict) else type(data).__name__
        raise ReportError(f"This is no report of schema version {SCHEMA_VERSION} (found {found!r}).")
    try:
        return Report(
            katas=tuple(_kata_from_json(kata) for kata in data["katas"]),
            device=data["device"],
            isolation=Isolation(**data["isolation"]),
            provenance=Provenance(**data["provenance"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ReportError(f"The report is damaged: {error!r}.") from None


def _kata_from_json(data: dict[str, Any]) -> KataReport:
    known = {f.name for f in fields(KataReport)} - {"max_score", "checks"}
    _require_one_of(get_args(KataStatus), data["status"])
    return KataReport(
        max_score=round(data["max_score"] * 100),
        checks=tuple(_check_from_json(check) for check in data["checks"]),
        **{name: data[name] for name in known},
    )


def _check_from_json(data: dict[str, Any]) -> CheckReport:
    plain = {f.name: data[f.name] for f in fields(CheckReport)}
    _require_one_of(get_args(CheckStatus), data["status"])
    plain["score"] = round(data["score"] * 100)
    plain["max_score"] = round(data["max_score"] * 100)
    plain["mistake"] = Mistake(**data["mistake"]) if data["mistake"] else None
    return CheckReport(**plain)


def _require_one_of(known: tuple[str, ...], status: object) -> None:
    if status not in known:
        raise ValueError(f"no status is called {status!r}")
