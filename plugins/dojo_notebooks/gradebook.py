"""Write scores into nbgrader's gradebook: one assignment per track, one notebook per kata.

The layout is that of `kata notebooks`. No notebook is needed, so scores of plain files appear beside those of
notebooks in the formgrader and in `nbgrader export`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dojo_notebooks.packages import require
from dojo_notebooks.results import score_id
from grader.course.catalog import CourseError, KataInfo
from grader.installing import install_command


def write_scores(
    url: str,
    scores: Mapping[str, Mapping[str, int]],
    katas: Sequence[KataInfo],
    unjudged: Mapping[str, Container[str]] = MappingProxyType({}),
) -> None:
    """Write each student's score in hundredths for each kata, 0 if it is missing; manual scores are kept.

    `unjudged` names, for each student, the katas whose scores are left as they are. Raises CourseError if the
    gradebook cannot be opened or written.
    """
    with _opened(url) as gradebook:
        for info in katas:
            _add_kata(gradebook, info)
        for student, by_kata in scores.items():
            judged = [info for info in katas if info.name not in unjudged.get(student, ())]
            _add_student(gradebook, student, by_kata, judged)


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    """Open the gradebook at an SQLAlchemy URL or a path; create it if there is none."""
    require("A gradebook", "nbgrader")
    from nbgrader.api import Gradebook
    from sqlalchemy.exc import SAWarning, SQLAlchemyError

    address = url if "://" in url else f"sqlite:///{Path(url).absolute()}"
    try:
        with warnings.catch_warnings(), _with_alembic_on_path():
            warnings.simplefilter("ignore", SAWarning)  # nbgrader's models cause these warnings
            with Gradebook(address) as gradebook:
                yield gradebook
    except SQLAlchemyError as error:
        text = str(error).splitlines()[0]
        raise CourseError(f"The gradebook {url} cannot be written: {text}") from None
    except ModuleNotFoundError as missing:
        command = install_command(missing.name or "")
        raise CourseError(f"The gradebook {url} needs a driver: {command}") from None


@contextmanager
def _with_alembic_on_path() -> Iterator[None]:
    """Add the interpreter's folder to PATH: nbgrader runs `alembic` from there to create a gradebook."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([before, str(Path(sys.executable).parent)])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _add_kata(gradebook: Any, info: KataInfo) -> None:
    """Create the kata's assignment, notebook and score cell if they are missing."""
    gradebook.update_or_create_assignment(info.track)
    gradebook.update_or_create_notebook(info.name, info.track)
    gradebook.update_or_create_grade_cell(
        score_id(info.name), info.name, info.track, max_score=info.points, cell_type="code"
    )


def _add_student(gradebook: Any, student: str, scores: Mapping[str, int], katas: Sequence[KataInfo]) -> None:
    gradebook.update_or_create_student(student)
    for track in dict.fromkeys(info.track for info in katas):
        submission = gradebook.update_or_create_submission(track, student)
        _add_missing_grades(gradebook, submission)
    for info in katas:
        grade = gradebook.find_grade(score_id(info.name), info.name, info.track, student)
        grade.auto_score = scores.get(info.name, 0) / 100
        grade.needs_manual_grade = grade.manual_score is not None
    gradebook.db.commit()


def _add_missing_grades(gradebook: Any, submission: Any) -> None:
    """Add grades for notebooks that joined the assignment after this submission was made."""
    from nbgrader.api import Grade, SubmittedNotebook

    there = {notebook.notebook_id: notebook for notebook in submission.notebooks}
    for notebook in submission.assignment.notebooks:
        own = there.get(notebook.id)
        if own is None:
            own = SubmittedNotebook(notebook=notebook, assignment=submission)
            gradebook.db.add(own)
        graded = {grade.cell_id for grade in own.grades}
        for cell in notebook.grade_cells:
            if cell.id not in graded:
                gradebook.db.add(Grade(cell_id=cell.id, notebook=own))
    gradebook.db.commit()
