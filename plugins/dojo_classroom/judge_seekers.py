"""Find the lines in which an answer looks at what judges it. The instructor reads them; nothing follows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from dojo_classroom.store import Store
from grader.course.submission import SubmissionRejected, ask
from grader.reading.looks import WORDS


@dataclass(frozen=True)
class JudgeSeeker:
    """A student's answer that looks at the judge, and the lines with what they use."""

    student: str
    kata: str
    lines: tuple[tuple[int, str], ...]


def judge_seekers(store: Store, katas: list[str]) -> list[JudgeSeeker]:
    """Return the answers of a run that look at the judge."""
    query = "SELECT student, kata, source FROM handed_in WHERE run = :run ORDER BY student, kata"
    known: dict[str, tuple[tuple[int, str], ...]] = {}
    found = []
    for student, kata, digest in store.rows(query):
        if kata in katas:
            if digest not in known:
                known[digest] = tuple(looks(store.source(digest) or b""))
            found += [JudgeSeeker(student, kata, known[digest])] if known[digest] else []
    return found


def looks(source: bytes) -> list[tuple[int, str]]:
    """Return the lines in which a source looks at the judge, each with what it uses, sorted. Of one
    that cannot be read there are none."""
    if not any(word in source for word in WORDS):
        return []
    with suppress(SubmissionRejected):
        return ask("seeks", list[tuple[int, str]], source)[0]
    return []
