"""The database of results; rows are only added, so that a run can be killed at any moment.

A verdict is stored per source and grading setup; another table holds which student submitted which source in
which run. SQLite needs no installation; SQLAlchemy opens other databases with the same statements.
"""

from __future__ import annotations

import base64
import getpass
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from dojo_classroom.roster import Member
from dojo_classroom.task import PUT_ASIDE, UNREADABLE, FileVerdict
from grader.course.catalog import CourseError
from grader.errors import reason_of, too_new
from grader.grading.session import LibraryMissing
from grader.installing import install_command
from grader.texts.escaping import one_line

SCHEMA = 1
RESULTS_FILE = "results.sqlite"
ABOUT = "CREATE TABLE IF NOT EXISTS about (version INTEGER NOT NULL)"
TABLES = (
    "CREATE TABLE IF NOT EXISTS verdicts (kata VARCHAR(100), source VARCHAR(64), judging VARCHAR(64),"
    " status VARCHAR(20) NOT NULL, score INTEGER NOT NULL, max_score INTEGER NOT NULL, shape VARCHAR(64),"
    " tokens INTEGER, cause VARCHAR(64), report TEXT NOT NULL, PRIMARY KEY (kata, source, judging))",
    "CREATE TABLE IF NOT EXISTS students (run INTEGER, student VARCHAR(200), name VARCHAR(200),"
    " section VARCHAR(200), platform_id VARCHAR(64), PRIMARY KEY (run, student))",
    "CREATE TABLE IF NOT EXISTS handed_in (run INTEGER, student VARCHAR(200), kata VARCHAR(100),"
    " source VARCHAR(64) NOT NULL, judging VARCHAR(64) NOT NULL, PRIMARY KEY (run, student, kata))",
    "CREATE TABLE IF NOT EXISTS sources (source VARCHAR(64) PRIMARY KEY, data TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS seen (source VARCHAR(64), submission VARCHAR(400), seconds FLOAT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, started VARCHAR(40), who VARCHAR(200))",
    "CREATE TABLE IF NOT EXISTS overrides (number INTEGER PRIMARY KEY, student VARCHAR(200),"
    " kata VARCHAR(100), points INTEGER, who VARCHAR(200) NOT NULL, why TEXT NOT NULL,"
    " made VARCHAR(40) NOT NULL)",
)
_SAME = "v.kata = h.kata AND v.source = h.source AND v.judging = h.judging"
JUDGED = f"handed_in AS h JOIN verdicts AS v ON {_SAME}"
HANDED_IN = f"handed_in AS h LEFT JOIN verdicts AS v ON {_SAME}"
BEGUN = "(v.status IS NULL OR v.status <> 'not_started')"


class StoreUnusable(CourseError):
    """Raised if the store cannot be opened, read or written; earlier results are not lost."""


class Connection(Protocol):
    """The interface that connections of sqlite3 and of `_SqlAlchemyConnection` share."""

    def execute(self, statement: str, parameters: Mapping[str, Any]) -> Any: ...

    def commit(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class StoredResult:
    """The stored report of one student's kata as JSON; None if the grader failed to judge it."""

    kata: str
    report: str | None
    status: str | None

    @property
    def is_judged(self) -> bool:
        """Whether the score says something about the file."""
        return self.report is not None and self.status not in (PUT_ASIDE, UNREADABLE)

    @property
    def is_readable(self) -> bool:
        """Whether the file could be read; if it was not judged then, that is the grader's fault."""
        return self.status != UNREADABLE


class Store:
    """The results of a class. Every database error is raised as StoreUnusable."""

    def __init__(self, where: str) -> None:
        self.label = where.rpartition("@")[2]  # a URL may hold a password before the host
        self._connection, self._errors = connect(where)
        self._do(ABOUT)
        found = self._do("SELECT version FROM about").fetchone()
        if found is None:
            self._do("INSERT INTO about (version) VALUES (:version)", version=SCHEMA)
        elif found[0] != SCHEMA:
            self.close()
            other = f"{self.label} holds no results of this grader; name another --store."
            raise StoreUnusable(too_new(self.label, found[0], SCHEMA) or other)
        for statement in TABLES:
            self._do(statement)
        self.commit()
        self.run = 1 + (self._do("SELECT MAX(run) FROM students").fetchone()[0] or 0)

    def _do(self, statement: str, **parameters: Any) -> Any:
        try:
            return self._connection.execute(statement, parameters)
        except self._errors as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> StoreUnusable:
        text = str(getattr(error, "orig", error)).strip()
        return StoreUnusable(
            f"The results in {self.label} cannot be read or written: {text}."
            " What was graded before is kept; the same command goes on from there."
        )

    def commit(self) -> None:
        try:
            self._connection.commit()
        except self._errors as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        self._connection.close()

    def enrol(self, member: Member) -> None:
        """Add a student to this run."""
        names = ("student", "name", "section", "platform_id")
        values = (member.id, member.name, member.section, member.platform_id)
        self.add_row("students", run=self.run, **dict(zip(names, values, strict=True)))

    def is_enrolled(self, student: str) -> bool:
        """Return whether this run has the student."""
        query = "SELECT 1 FROM students WHERE run = :run AND student = :student"
        return self._do(query, run=self.run, student=student).fetchone() is not None

    def add_submission(self, student: str, kata: str, source: str, judging: str) -> None:
        """Add a student's submission to this run; `source` and `judging` are digests."""
        self.add_row("handed_in", run=self.run, student=student, kata=kata, source=source, judging=judging)

    def add_run(self, started: str, who: str) -> None:
        """Add this run: when it began, an ISO date in UTC, and who runs it."""
        self.add_row("runs", run=self.run, started=started, who=who)

    def first_seen(self, digest: str, submission: str, seconds: float) -> float:
        """Add the time of a file in a submission, in seconds since 1970; return the earliest of all."""
        names = {"source": digest, "submission": submission}
        query = "SELECT MIN(seconds) FROM seen WHERE source = :source AND submission = :submission"
        earliest = self._do(query, **names).fetchone()[0]
        if earliest is None or seconds < earliest:
            self.add_row("seen", **names, seconds=seconds)
            return seconds
        return float(earliest)

    def add_source(self, digest: str, data: bytes) -> None:
        """Keep what was graded, once, so that it can be judged again."""
        if self._do("SELECT 1 FROM sources WHERE source = :source", source=digest).fetchone() is None:
            packed = base64.b85encode(zlib.compress(data)).decode("ascii")
            self.add_row("sources", source=digest, data=packed)

    def source(self, digest: str) -> bytes | None:
        """Return what has this digest; None if it was not kept."""
        row = self._do("SELECT data FROM sources WHERE source = :source", source=digest).fetchone()
        return zlib.decompress(base64.b85decode(row[0])) if row else None

    def has_verdict(self, kata: str, source: str, judging: str) -> bool:
        """Return whether there is a verdict on this source by this grading setup."""
        query = "SELECT 1 FROM verdicts WHERE kata = :kata AND source = :source AND judging = :judging"
        return self._do(query, kata=kata, source=source, judging=judging).fetchone() is not None

    def verdict(self, kata: str, source: str, judging: str) -> StoredResult:
        """Return the verdict on a source by a grading setup."""
        query = (
            "SELECT report, status FROM verdicts"
            " WHERE kata = :kata AND source = :source AND judging = :judging"
        )
        found = self._do(query, kata=kata, source=source, judging=judging).fetchone()
        return StoredResult(kata, *(found or (None, None)))

    def add_verdict(self, kata: str, source: str, judging: str, verdict: FileVerdict) -> None:
        """Add a verdict; it is on disk when this returns."""
        values = asdict(verdict)
        del values["fault"]
        self.add_row("verdicts", kata=kata, source=source, judging=judging, **values)
        self.commit()

    def add_row(self, table: str, **values: Any) -> None:
        """Add a row to a table; `commit` writes it."""
        names, places = ", ".join(values), ", ".join(f":{name}" for name in values)
        self._do(f"INSERT INTO {table} ({names}) VALUES ({places})", **values)

    def rows(self, query: str, **parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; `:run` in it is the number of this run."""
        try:
            for row in self._do(query, run=self.run, **parameters):
                yield tuple(row)
        except self._errors as error:
            raise self._unusable(error) from None

    def id_of(self, student: str) -> str:
        """Return the id under which a student was graded, whatever the case of its letters. Raises
        CourseError if nobody has it; the message names the most similar one."""
        known = [name for (name,) in self.rows("SELECT DISTINCT student FROM students ORDER BY student")]
        same = [name for name in known if name.casefold() == student.casefold()]
        if student in known or len(same) == 1:
            return student if student in known else same[0]
        from difflib import get_close_matches

        near = get_close_matches(student, known, n=1)
        hint = f" Did you mean {one_line(near[0])}?" if near else ""
        raise CourseError(f"No student {one_line(student)} was graded into {self.label}.{hint}")

    def students(self) -> Iterator[tuple[Member, list[StoredResult]]]:
        """Yield each student of this run with their results, sorted by id."""
        query = (
            "SELECT s.student, s.name, s.section, s.platform_id, h.kata, v.report, v.status"
            " FROM students AS s"
            " LEFT JOIN handed_in AS h ON h.run = s.run AND h.student = s.student"
            f" LEFT JOIN verdicts AS v ON {_SAME}"
            " WHERE s.run = :run ORDER BY s.student"
        )
        member, found = None, list[StoredResult]()
        for row in self.rows(query):
            if member is None or row[0] != member.id:
                if member is not None:
                    yield member, found
                member, found = Member(*row[:4]), []
            if row[4] is not None:
                found.append(StoredResult(*row[4:]))
        if member is not None:
            yield member, found


def open_store(where: str | None, folder: Path) -> Store:
    """Open the store at a path or URL; by default, a file in the folder of results."""
    if where is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnusable(f"The results cannot be kept in {folder}: {reason_of(error)}.") from None
        where = str(folder / RESULTS_FILE)
    return Store(where)


def existing_store(where: str | None, folder: Path) -> Store:
    """Open the store of earlier runs. Raises CourseError if there is none."""
    where = where or str(folder / RESULTS_FILE)
    if "://" not in where and not Path(where).is_file():
        raise CourseError(f"There are no results in {where}: run `kata grade` first, or name its --output.")
    return Store(where)


def user() -> str:
    """Return the name of the system's user, for the record."""
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return "an instructor"


def connect(where: str) -> tuple[Connection, tuple[type[Exception], ...]]:
    """Return a connection to an SQLite file or an SQLAlchemy URL, and the errors that it raises."""
    return _with_sqlalchemy(where) if "://" in where else _with_sqlite(where)


def _with_sqlite(path: str) -> tuple[Connection, tuple[type[Exception], ...]]:
    try:
        connection = sqlite3.connect(path, timeout=1)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # one run at a time; WAL needs no shared memory
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.OperationalError as error:
        hint = " Another run may be writing to it." if "locked" in str(error) else ""
        raise StoreUnusable(f"The results cannot be kept in {path}: {error}.{hint}") from None
    except sqlite3.DatabaseError as error:
        raise StoreUnusable(f"{path} holds no results: {error}. Name another --store.") from None
    return connection, (sqlite3.Error,)


def _with_sqlalchemy(url: str) -> tuple[Connection, tuple[type[Exception], ...]]:
    try:
        import sqlalchemy
    except ModuleNotFoundError:
        raise LibraryMissing(
            f"--store with a URL needs SQLAlchemy: {install_command('decoder-dojo[class]')}"
        ) from None
    try:
        connection = sqlalchemy.create_engine(url).connect()
    except (sqlalchemy.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        text = str(getattr(error, "orig", error)).splitlines()[0]
        raise StoreUnusable(f"The store {url.rpartition('@')[2]} cannot be opened: {text}.") from None
    return _SqlAlchemyConnection(connection), (sqlalchemy.exc.SQLAlchemyError,)


class _SqlAlchemyConnection:
    """An SQLAlchemy connection that takes statements as text, as sqlite3 does."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Mapping[str, Any]) -> Any:
        from sqlalchemy import text

        return self._connection.execute(text(statement), dict(parameters))

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()
        self._connection.engine.dispose()
