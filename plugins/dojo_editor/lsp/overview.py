"""How far the student is, for an editor that draws it: a request and a notification of our own.

`grade/katas` returns every kata of the course that is open. An editor whose `initializationOptions` say
`{"verdicts": true}` gets `grade/verdict` with each verdict; others would complain about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pygls.uris import from_fs_path

from grader.cli.options import planned
from grader.course.catalog import Course, open_course
from grader.errors import CourseError
from grader.formats import account
from grader.grading.standings import next_kata, standings
from grader.report import KataReport
from grader.texts.points import points

if TYPE_CHECKING:
    from dojo_editor.lsp.server import ExerciseServer

KATAS, VERDICT = "grade/katas", "grade/verdict"


def katas(ls: ExerciseServer, params: Any) -> list[dict[str, object]]:  # noqa: ARG001  # the signature is pygls's
    """Return every kata in course order: its name, track, title, the URI of its file, whether it is begun or
    passed, its score, and whether it is next. Empty if no folder that is open has a course."""
    course = _course(ls)
    found = standings(course) if course else []
    following = next_kata(course, found) if course and found else None
    return [
        {
            "name": one.info.name,
            "track": one.info.track,
            "title": one.info.title,
            "uri": from_fs_path(str(course.stub(one.info).absolute())),
            "mark": "passed" if one.has_passed else one.mark,
            "score": one.score,
            "isNext": following is not None and one.info.name == following.info.name,
        }
        for one in found
        if course
    ]


def _course(ls: ExerciseServer) -> Course | None:
    for folder in ls.folders():
        try:
            course = open_course(ls.options.course, ls.options.exercises, start=folder, shipped=False)
        except CourseError:
            continue
        return planned(course, ls.options)
    return None


def wants_verdicts(options: object) -> bool:
    """Return whether an editor's `initializationOptions` ask for `grade/verdict`."""
    found = options.get("verdicts") if isinstance(options, Mapping) else getattr(options, "verdicts", None)
    return found is True


def verdict(uri: str, report: KataReport) -> dict[str, object]:
    """Return what `grade/verdict` says of a report: the status, the score and what is wrong, or that all
    holds, in a sentence or a few."""
    return {
        "uri": uri,
        "name": report.name,
        "status": report.status,
        "score": f"{points(report.score)} / {points(report.max_score)}",
        "text": account.headline(report),
    }
