"""The report of a grading, which every report format reads.

Points are whole hundredths. `from_json` reads what `to_json` wrote, so a saved report can be rendered later
without grading again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from math import isfinite, isnan, nan
from typing import Any, Literal, get_args

SCHEMA_VERSION = 2
NOTICEABLE = 1.5  # from this multiple of the reference's cost on, the terminal shows it
READABLE = (1, 2)  # version 1 has no pictures and no places

KataStatus = Literal["passed", "failed", "not_started", "waiting", "error"]
CheckStatus = Literal["passed", "failed", "error", "timeout", "skipped"]
PictureKind = Literal["mask", "matrix", "bars", "curve"]


class ReportError(Exception):
    """A saved report cannot be read; the message is a sentence that says why."""


@dataclass(frozen=True)
class Mistake:
    """A known mistake that explains a failure.

    Attributes:
        id: The name of the mistake, such as `forgets_to_scale`.
        text: The explanation for the student.
    """

    id: str
    text: str


@dataclass(frozen=True)
class Panel:
    """One of the tables of numbers that a picture shows side by side.

    Attributes:
        title: What the numbers are, such as `expected`.
        values: The rows of numbers; a mask has 1 for True and 0 for False.
    """

    title: str
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Picture:
    """Numbers to draw; all panels have the same rows and columns, at most 32 of each.

    Attributes:
        kind: How to draw them: the cells of a `mask` or a `matrix`; `bars` or a `curve` for one row.
        caption: What is drawn, and which part if it is cut.
        panels: The expected values and the submission's, for instance.
        rows: The labels of the rows.
        columns: The labels of the columns.
        wrong: The row and the column of each wrong cell.
        low: The least value that is accepted in each column, if bars have a range of accepted values.
        high: The greatest value that is accepted in each column.
    """

    kind: PictureKind
    caption: str
    panels: tuple[Panel, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    wrong: tuple[tuple[int, int], ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Place:
    """A place in the submission's file.

    Attributes:
        line: The number of the line, from 1.
        text: The line.
        start: The column of the first character of the expression, from 0.
        end: The column after its last character; equal to `start` if the columns are not known.
    """

    line: int
    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Repair:
    """A place where one small change makes every check pass, or of which a run has shown a fact.

    Attributes:
        kind: What is changed there, such as `an axis` or `the order of two arguments`.
        place: The place in the submission.
        fact: What a run of the submission has shown there, as a sentence; empty if it is a change's place.
    """

    kind: str
    place: Place
    fact: str = ""


@dataclass(frozen=True)
class Waypoint:
    """Where the variables of a failing call part from the reference's.

    Attributes:
        agrees: The last variable before, whose value agrees with the reference; empty if there is none.
        differs: The first variable whose value differs; empty if it is what is returned.
        line: The line of the submission that assigns or returns it.
    """

    agrees: str
    differs: str
    line: int


@dataclass(frozen=True)
class CheckReport:
    """The outcome of one check.

    Attributes:
        name: The name of the check.
        title: What the check claims, as a sentence.
        status: The outcome; `skipped` if the check could judge no case.
        score: The points earned, in hundredths.
        max_score: The points that the check is worth, in hundredths.
        message: Why the check failed; empty if the difference says all.
        call: The failing call as code, after the calls that it needs; a line for each.
        counterexample: The values of the variables in these lines as text, by name.
        expected: The expected value as text, cut around the first difference.
        got: The actual value as text, cut in the same way.
        difference: Where the values first differ.
        mistake: The known mistake that explains the failure.
        pictures: The values as pictures.
        place: Where the submission raised an exception.
        snippet: Python code that makes these calls; empty if they cannot be written as short code.
        printed: What the submission printed while it answered this case.
    """

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
    pictures: tuple[Picture, ...] = ()
    place: Place | None = None
    snippet: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Cost:
    """What the largest case costs beside the reference. It gives and takes no points.

    Attributes:
        work: The floating-point operations, as a multiple of the reference's.
        memory: The elements of the largest tensor made, as a multiple of the reference's largest.
        shape: The shape of that tensor.
        operation: The operation of PyTorch that made it.
    """

    work: float
    memory: float
    shape: tuple[int, ...]
    operation: str

    @property
    def is_noticeable(self) -> bool:
        """Whether one of the two is at least NOTICEABLE times the reference's."""
        return max(self.work, self.memory) >= NOTICEABLE


@dataclass(frozen=True)
class KataReport:
    """The outcome of one kata.

    Attributes:
        name: The name of the kata.
        track: The track that it belongs to.
        status: The outcome; `waiting` if another kata must be solved first.
        max_score: The points that the kata is worth, in hundredths.
        seconds: How long the grading took.
        message: Why there are no checks to list; empty otherwise.
        checks: The outcomes of the checks.
        output: What the submission printed.
        digest: The SHA-256 of the graded file.
        cost: What a PyTorch kata that passes costs beside the reference; None if it was not measured.
        repairs: The places where one small change makes every check pass, if a search has found any.
        waypoint: Where the variables of a failing call part from the reference's.
        excerpt: The line of a syntax error, with a caret below the place; empty otherwise.
    """

    name: str
    track: str
    status: KataStatus
    max_score: int
    seconds: float = 0.0
    message: str = ""
    checks: tuple[CheckReport, ...] = ()
    output: str = ""
    digest: str = ""
    cost: Cost | None = None
    repairs: tuple[Repair, ...] = ()
    waypoint: Waypoint | None = None
    excerpt: str = ""

    @property
    def score(self) -> int:
        """The points earned, in hundredths."""
        return sum(check.score for check in self.checks)

    @property
    def mistake(self) -> Mistake | None:
        """The first known mistake that a check has found; None if no check has."""
        return next((check.mistake for check in self.checks if check.mistake), None)


@dataclass(frozen=True)
class Isolation:
    """The layers of the sandbox that were in force during a grading.

    Attributes:
        process: The submission ran in a process of its own.
        landlock_abi: The version of Landlock that restricted access to files; 0 if none did.
        seccomp: A seccomp filter restricted system calls.
        limits: Memory and other resources were limited.
        gpu: The files and devices that CUDA needs were accessible.
    """

    process: bool = True
    landlock_abi: int = 0
    seccomp: bool = False
    limits: bool = False
    gpu: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every layer was in force; limits are not required on a GPU, where CUDA rules them out."""
        return self.process and self.landlock_abi > 0 and self.seccomp and (self.limits or self.gpu)

    def weakened_by(self, other: Isolation) -> Isolation:
        """Return the layers that were in force in both of two gradings.

        Args:
            other: The layers of the other grading.

        Returns:
            The layers common to both.
        """
        return Isolation(
            self.process and other.process,
            min(self.landlock_abi, other.landlock_abi),
            self.seccomp and other.seccomp,
            self.limits and other.limits,
            self.gpu or other.gpu,
        )


@dataclass(frozen=True)
class Provenance:
    """The versions that a report was made with.

    Attributes:
        grader: The version of the grader.
        python: The version of Python.
        numpy: The version of NumPy.
        torch: The version of PyTorch.
        key: The digest of the answer key, if one was used.
    """

    grader: str = ""
    python: str = ""
    numpy: str = ""
    torch: str = ""
    key: str = ""


@dataclass(frozen=True)
class Report:
    """The report of one graded submission.

    Attributes:
        katas: The outcomes of the katas.
        device: The device that PyTorch katas were graded on.
        isolation: The layers of the sandbox that were in force.
        provenance: The versions that the report was made with.
        notes: Which of the files handed in were graded, and which were not.
    """

    katas: tuple[KataReport, ...]
    device: str = "cpu"
    isolation: Isolation = field(default_factory=Isolation)
    provenance: Provenance = field(default_factory=Provenance)
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> int:
        """The points earned in all katas, in hundredths."""
        return sum(kata.score for kata in self.katas)

    @property
    def max_score(self) -> int:
        """The points that all katas are worth, in hundredths."""
        return sum(kata.max_score for kata in self.katas)


def to_json(report: Report) -> dict[str, Any]:
    """Convert a report to values that the `json` module can write.

    Args:
        report: The report.

    Returns:
        The report as dicts and lists, with points in place of hundredths.

    Example:
        Path("report.json").write_text(json.dumps(to_json(report)))
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "score": report.score / 100,
        "max_score": report.max_score / 100,
        "device": report.device,
        "isolation": asdict(report.isolation),
        "provenance": asdict(report.provenance),
        "notes": list(report.notes),
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
        "excerpt": kata.excerpt,
        "output": kata.output,
        "digest": kata.digest,
        "cost": kata.cost and {**asdict(kata.cost), "shape": list(kata.cost.shape)},
        "repairs": [asdict(repair) for repair in kata.repairs],
        "waypoint": kata.waypoint and asdict(kata.waypoint),
        "checks": [_check_to_json(check) for check in kata.checks],
    }


def _check_to_json(check: CheckReport) -> dict[str, Any]:
    points = {"score": check.score / 100, "max_score": check.max_score / 100}
    pictures = [_picture_to_json(picture) for picture in check.pictures]
    parts = {"mistake": check.mistake and asdict(check.mistake), "place": check.place and asdict(check.place)}
    return {**vars(check), **points, **parts, "pictures": pictures}


def _picture_to_json(picture: Picture) -> dict[str, Any]:
    """Return the picture with infinities and NaN as text, since JSON has no numbers for them."""
    panels = [
        {
            "title": panel.title,
            "values": [[v if isfinite(v) else str(v) for v in row] for row in panel.values],
        }
        for panel in picture.panels
    ]
    lists = {name: list(getattr(picture, name)) for name in ("rows", "columns", "low", "high")}
    return {**asdict(picture), **lists, "panels": panels, "wrong": [list(cell) for cell in picture.wrong]}


def from_json(data: Any) -> Report:
    """Convert what `to_json` returned to a report again.

    Args:
        data: What the `json` module has read.

    Returns:
        The report.

    Raises:
        ReportError: If the data is not a report of a known schema version, or is damaged.

    Example:
        report = from_json(json.loads(Path("report.json").read_text()))
    """
    if not isinstance(data, dict) or data.get("schema_version") not in READABLE:
        found = data.get("schema_version") if isinstance(data, dict) else type(data).__name__
        raise ReportError(f"This is no report of schema version {SCHEMA_VERSION} (found {found!r}).")
    try:
        return Report(
            katas=tuple(_kata_from_json(kata) for kata in data["katas"]),
            device=data["device"],
            isolation=Isolation(**data["isolation"]),
            provenance=Provenance(**data["provenance"]),
            notes=tuple(data.get("notes", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ReportError(f"The report is damaged: {error!r}.") from None


def _kata_from_json(data: dict[str, Any]) -> KataReport:
    known = {f.name for f in fields(KataReport)} - {
        "max_score",
        "checks",
        "cost",
        "repairs",
        "waypoint",
        "excerpt",
    }
    _require_one_of(get_args(KataStatus), data["status"])
    repairs, waypoint = data.get("repairs", ()), data.get("waypoint")
    return KataReport(
        max_score=round(data["max_score"] * 100),
        excerpt=str(data.get("excerpt", "")),
        checks=tuple(_check_from_json(check) for check in data["checks"]),
        cost=_cost_from_json(data["cost"]) if data.get("cost") else None,
        repairs=tuple(Repair(r["kind"], Place(**r["place"]), r.get("fact", "")) for r in repairs),
        waypoint=Waypoint(**waypoint) if waypoint else None,
        **{name: data[name] for name in known},
    )


def _cost_from_json(data: dict[str, Any]) -> Cost:
    shape = tuple(int(length) for length in data["shape"])
    return Cost(float(data["work"]), float(data["memory"]), shape, str(data["operation"]))


def _check_from_json(data: dict[str, Any]) -> CheckReport:
    data = {"pictures": [], "place": None, "snippet": "", "printed": "", **data}
    plain = {f.name: data[f.name] for f in fields(CheckReport)}
    _require_one_of(get_args(CheckStatus), data["status"])
    plain["score"] = round(data["score"] * 100)
    plain["max_score"] = round(data["max_score"] * 100)
    plain["mistake"] = Mistake(**data["mistake"]) if data["mistake"] else None
    plain["place"] = Place(**data["place"]) if data["place"] else None
    plain["pictures"] = tuple(_picture_from_json(picture) for picture in data["pictures"])
    return CheckReport(**plain)


def _picture_from_json(data: dict[str, Any]) -> Picture:
    panels = tuple(
        Panel(panel["title"], tuple(tuple(map(to_number, row)) for row in panel["values"]))
        for panel in data["panels"]
    )
    _require_one_of(get_args(PictureKind), data["kind"])
    picture = Picture(
        data["kind"],
        data["caption"],
        panels,
        tuple(data["rows"]),
        tuple(data["columns"]),
        tuple((row, column) for row, column in data["wrong"]),
        tuple(map(to_number, data.get("low", ()))),
        tuple(map(to_number, data.get("high", ()))),
    )
    _require_aligned(picture)
    return picture


def _require_aligned(picture: Picture) -> None:
    """Raise ValueError unless every panel has a number for each row and column, and wrong cells exist."""
    rows, columns = range(len(picture.rows)), range(len(picture.columns))
    shapes = {(len(panel.values), *map(len, panel.values)) for panel in picture.panels}
    cells_exist = all(row in rows and column in columns for row, column in picture.wrong)
    if not (rows and columns and cells_exist) or shapes != {(len(rows), *[len(columns)] * len(rows))}:
        raise ValueError("a picture's panels, rows and columns do not belong together")
    if picture.kind in ("bars", "curve") and len(rows) != 1:
        raise ValueError("bars and curves have one row")
    if not {len(picture.low), len(picture.high)} <= {0, len(columns)} or len(picture.low) != len(
        picture.high
    ):
        raise ValueError("a range of accepted values has two ends in each column")
    if not all(map(isfinite, picture.low + picture.high)):
        raise ValueError("the ends of a range of accepted values are finite")


def to_number(value: float | str) -> float:
    """Return a number of a picture. NaN is always the same object, so that equal pictures compare equal.

    Args:
        value: The number, or its text: `nan`, `inf` and `-inf` too.

    Returns:
        The number.

    Raises:
        ValueError: If the text is no number.

    Example:
        to_number("nan") is to_number(float("nan"))
    """
    number = float(value)
    return nan if isnan(number) else number


def _require_one_of(known: tuple[str, ...], status: object) -> None:
    if status not in known:
        raise ValueError(f"{status!r} is not one of {', '.join(known)}")
