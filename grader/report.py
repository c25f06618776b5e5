"""The report of a grading, which every report format reads.

Points are whole hundredths. `from_json` reads what `to_json` wrote, so a saved report can be rendered later
without grading again. A field is declared once: its type says how long a text may be (`grader.texts.bounds`
shortens it), and how it is saved and read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite, isnan, nan
from typing import Annotated, Any, Literal

from grader.errors import CourseError, too_new

SCHEMA_VERSION = 2
NOTICEABLE = 1.5  # from this multiple of the reference's cost on, the terminal shows it
READABLE = (1, 2)  # version 1 has no pictures and no places
LONGEST_VERSION = 40  # characters of what a message shows of a wrong one

KataStatus = Literal["passed", "failed", "not_started", "waiting", "error"]
CheckStatus = Literal["passed", "failed", "error", "timeout", "skipped"]
PartStatus = Literal["passed", "partly", "failed", "not_written", "waiting"]
#: What a check is beside the others; "" is a law, an edge case or a question.
CheckRole = Literal["", "ordinary", "general", "dtype", "variation"]
PictureKind = Literal["mask", "matrix", "bars", "curve"]


@dataclass(frozen=True)
class Limit:
    """How long a text may be.

    Attributes:
        characters: The most characters; a longer text loses its middle.
        form: Whether it is one line, may have several `lines`, or is `code`, which is kept whole or not at
            all.
    """

    characters: int
    form: Literal["line", "lines", "code"] = "line"


Name = Annotated[str, Limit(80)]
Label = Annotated[str, Limit(40)]
Title = Annotated[str, Limit(200)]
Line = Annotated[str, Limit(400)]  # of the submission, or a fact about one
Message = Annotated[str, Limit(4_000)]
Value = Annotated[str, Limit(2_000)]


class ReportError(CourseError):
    """A saved report cannot be read; the message is a sentence that says why."""


@dataclass(frozen=True)
class Mistake:
    """A known mistake that explains a failure.

    Attributes:
        id: The name of the mistake, such as `forgets_to_scale`, or those of up to three, joined by "and".
        text: The explanation for the student.
        certain: Whether runs have shown the mistake; otherwise it is one possibility.
        partial: Whether it explains a part of what fails, so that there is another reason besides.
    """

    id: Annotated[str, Limit(240)]  # three names
    text: Value
    certain: bool = True
    partial: bool = False


@dataclass(frozen=True)
class Panel:
    """One of the tables of numbers that a picture shows side by side.

    Attributes:
        title: What the numbers are, such as `expected`.
        values: The rows of numbers; a mask has 1 for True and 0 for False.
    """

    title: Label
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
    caption: Title
    panels: tuple[Panel, ...]
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    wrong: tuple[tuple[int, int], ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError unless every panel has a number for each cell, and wrong cells exist."""
        rows, columns = len(self.rows), len(self.columns)
        if not (rows and columns and self.panels) or any(
            [len(row) for row in panel.values] != [columns] * rows for panel in self.panels
        ):
            raise ValueError("a picture's panels, rows and columns do not belong together")
        if not all(row in range(rows) and column in range(columns) for row, column in self.wrong):
            raise ValueError("a wrong cell is outside of its picture")
        if self.kind in ("bars", "curve") and rows != 1:
            raise ValueError("bars and curves have one row")
        if len(self.low) != len(self.high) or len(self.low) not in (0, columns):
            raise ValueError("a range of accepted values has two ends in each column")
        if not all(map(isfinite, self.low + self.high)):
            raise ValueError("the ends of a range of accepted values are finite")


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
    text: Line
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

    kind: Name
    place: Place
    fact: Line = ""


@dataclass(frozen=True)
class Part:
    """A function or class of a kata that asks for several of them.

    Attributes:
        name: Its name.
        status: The verdict; `partly` if it keeps the laws and could not be compared with the reference,
            `waiting` if it could not be judged.
        needs: The parts that it calls and that are not written, if it is waiting.
    """

    name: Name
    status: PartStatus
    needs: tuple[Name, ...] = ()


@dataclass(frozen=True)
class CheckReport:
    """The outcome of one check.

    Attributes:
        name: The name of the check.
        title: What the check claims, as a sentence.
        status: The outcome; `skipped` if the check could judge no case, or a person grades the answer.
        score: The points earned, in hundredths.
        max_score: The points that the check is worth, in hundredths.
        message: Why the check failed; empty if the difference says all.
        call: The failing call as code, after the calls that it needs. With its values, so that it runs beside
            the file, if they are few: then the first line is an import.
        counterexample: The values of the variables in these lines as text, by name.
        expected: The expected value as text, cut around the first difference.
        got: The actual value as text, cut in the same way.
        difference: Where the values first differ.
        mistake: The known mistake that explains the failure.
        pictures: The values as pictures.
        place: Where the submission raised an exception.
        snippet: Python code that makes these calls; empty if they cannot be written as short code.
        printed: What the submission printed while it answered this case.
        words: The written answer, if a person grades it; None for a check.
        came: What came and what is expected where they first differ, such as `result[0, 2]: 0.5, expected
            0.25`. Empty if the message says both.
        role: What every kata has the check for: `ordinary` cases, a `dtype` alone, a `variation` of what
            others ask, or another `general` claim. Empty for a law, an edge case and a question.
        differs: What is wrong if values differ, as a sentence; empty if the title says which case that is.
    """

    name: Name
    title: Title
    status: CheckStatus
    score: int
    max_score: int
    message: Message = ""
    call: Annotated[str, Limit(2_000, "lines")] | None = None
    counterexample: dict[Name, Annotated[str, Limit(600)]] | None = None
    expected: Value | None = None
    got: Value | None = None
    difference: Title | None = None
    mistake: Mistake | None = None
    pictures: tuple[Picture, ...] = ()
    place: Place | None = None
    snippet: Annotated[str, Limit(16_000, "code")] = ""
    printed: Annotated[str, Limit(2_000, "lines")] = ""
    words: Annotated[str, Limit(4_000, "lines")] | None = None
    came: Value = ""
    role: CheckRole = ""
    differs: Title = ""


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
    operation: Name

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
        excerpt: The line of a syntax error, with a caret below the place; empty otherwise.
        parts: The verdict on each part, if some are not written.
        library: `torch` for an answer in PyTorch to a NumPy kata; empty for one in the kata's own library.
        file: The path of the graded file, if that is not the kata's file in `exercises`.
        unread: Whether the file could not be read, so that it was not judged and its 0 points say nothing.
        cap: Why the kata gives only a part of its points, if a check fails that is what it is about.
    """

    name: Name
    track: Name
    status: KataStatus
    max_score: int
    seconds: float = 0.0
    message: Message = ""
    checks: tuple[CheckReport, ...] = ()
    output: Annotated[str, Limit(20_000, "lines")] = ""
    digest: Name = ""
    cost: Cost | None = None
    repairs: tuple[Repair, ...] = ()
    excerpt: Annotated[str, Limit(4_000, "lines")] = ""
    parts: tuple[Part, ...] = ()
    library: Name = ""
    file: Annotated[str, Limit(400)] = ""
    unread: bool = False
    cap: Message = ""

    @property
    def title(self) -> str:
        """The name, with the library if it is not the kata's own."""
        return f"{self.name} in PyTorch" if self.library == "torch" else self.name

    @property
    def score(self) -> int:
        """The points earned, in hundredths."""
        return sum(check.score for check in self.checks)

    @property
    def mistake(self) -> Mistake | None:
        """The first known mistake that a check has found for certain; None if no check has."""
        return next((check.mistake for check in self.checks if check.mistake and check.mistake.certain), None)

    @property
    def possibility(self) -> Mistake | None:
        """The first known mistake that may explain a check; None if there is none, or a certain one."""
        return None if self.mistake else next((c.mistake for c in self.checks if c.mistake), None)


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

    grader: Name = ""
    python: Name = ""
    numpy: Name = ""
    torch: Name = ""
    key: Name = ""


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
    device: Name = "cpu"
    isolation: Isolation = field(default_factory=Isolation)
    provenance: Provenance = field(default_factory=Provenance)
    notes: tuple[Message, ...] = ()

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
    found = _plain(report)
    katas = found.pop("katas")
    return {"schema_version": SCHEMA_VERSION, **found, "katas": katas}


def _plain(value: Any) -> Any:
    """Return a value of a report as dicts, lists, texts and numbers that JSON can hold."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if not is_dataclass(value):
        return value
    found: dict[str, Any] = {}
    if isinstance(value, Report):
        found = {"score": value.score / 100, "max_score": value.max_score / 100}
    found |= {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, KataReport | CheckReport):
        found |= {"score": value.score / 100, "max_score": value.max_score / 100}
    if isinstance(value, KataReport):
        found["seconds"] = round(value.seconds, 3)
    return found


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
    found = data.get("schema_version") if isinstance(data, dict) else type(data).__name__
    if type(found) is not int or found not in READABLE:
        other = (
            f"This is no report of schema version {SCHEMA_VERSION} (found {repr(found)[:LONGEST_VERSION]})."
        )
        raise ReportError(too_new("The report", found, SCHEMA_VERSION) or other)
    from msgspec import ValidationError, convert  # most commands read no report

    try:
        return convert(_with_hundredths(data), Report)
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ReportError(f"The report is damaged: {error}.") from None


def _with_hundredths(data: dict[str, Any]) -> dict[str, Any]:
    """Return a saved report with points as hundredths, and with numbers where a picture's are texts."""
    katas = [
        {**_hundredths(kata), "checks": [_check_to_read(check) for check in kata["checks"]]}
        for kata in data["katas"]
    ]
    return {**data, "katas": katas}


def _check_to_read(check: dict[str, Any]) -> dict[str, Any]:
    return {**_hundredths(check), "pictures": [_picture_to_read(one) for one in check.get("pictures", ())]}


def _picture_to_read(picture: dict[str, Any]) -> dict[str, Any]:
    panels = [
        {**panel, "values": [[to_number(number) for number in row] for row in panel["values"]]}
        for panel in picture["panels"]
    ]
    return {**picture, "panels": panels}


def _hundredths(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, **{name: round(data[name] * 100) for name in ("score", "max_score")}}


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
