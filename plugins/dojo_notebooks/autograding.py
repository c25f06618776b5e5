"""Preprocessors with which `nbgrader autograde` grades notebooks of katas without running them.

`Restore` replaces the metadata of every submitted cell by those in the gradebook. `Judge` grades the source
of each kata in the sandboxed worker and writes report and score as the output of the score cell, where
nbgrader reads them. No kernel is started, so student code never runs with the grader's permissions.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook, Notebook
from nbgrader.converters.autograde import Autograde
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Enum, Unicode

from dojo_notebooks.notebook import cell_metadata
from dojo_notebooks.results import outputs_of
from grader.answer_keys.file import FOLDER, KeyUnusable
from grader.course.catalog import Course, CourseError, KataInfo, open_course
from grader.course.submission import SUFFIX, Submission, read
from grader.grading.session import GraderSettings, IsolationMissing, grade_read, open_grader
from grader.kata import KataError
from grader.reading.cells import grade_id, katas_asked
from grader.report import KataReport

#: Grades a kata's answer; arguments: the kata, the cells of the notebook as JSON, and its name.
CellGrader = Callable[[KataInfo, bytes, str], KataReport]

_graders: dict[object, CellGrader] = {}


@dataclass(frozen=True)
class GradingTerms:
    """The answer key and the isolation level of a grading."""

    key: str = ""
    isolation: str = "best"


def open_cell_grader(course: Course, infos: list[KataInfo], terms: GradingTerms) -> CellGrader:
    """Return the cached grader of these katas, or open one. Raises what `open_grader` raises."""
    state = terms, course.root.resolve(), *_modified_times(course, infos, terms)
    if state not in _graders:
        _graders[state] = _open(course, infos, terms)
    return _graders[state]


def _open(course: Course, infos: list[KataInfo], terms: GradingTerms) -> CellGrader:
    # Spawn workers if this process may hold an earlier grader's keys, or threads: a fork would inherit them.
    spawns = bool(_graders) or threading.active_count() > 1
    key = Path(terms.key) if terms.key else None
    settings = GraderSettings(isolation=terms.isolation, key=key)
    grader, source = open_grader(course, infos, settings, workers="spawn" if spawns else "")
    atexit.register(source.close)

    def grade_cell(info: KataInfo, cells: bytes, notebook: str) -> KataReport:
        def read_cell() -> Submission:
            return read(info, cells, f"{notebook}{SUFFIX}", grader.reader(info), notebook=True)

        return grade_read(grader, info, read_cell).report

    return grade_cell


def _modified_times(course: Course, infos: list[KataInfo], terms: GradingTerms) -> list[tuple[str, int]]:
    """Return when declarations and keys last changed, since a Jupyter server may run for weeks."""
    keys = Path(terms.key) if terms.key else course.root / FOLDER
    files = [info.path for info in infos] + (sorted(keys.glob("*")) if keys.is_dir() else [keys])
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.is_file()]


MISSING_CELL = "This cell was missing from the submission; it is back for grading."

WRONG_INPUT = (CourseError, KataError, KeyUnusable, IsolationMissing)

Resources = dict[str, Any]


def configure(config: Any) -> None:
    """Add both preprocessors to `nbgrader autograde`.

    `Restore` comes before all steps that read metadata; `Judge` replaces the step that runs the kernel.
    """
    clear, *sanitize = Autograde.sanitize_preprocessors.default()
    autograde = Autograde.autograde_preprocessors.default()
    config.Autograde.sanitize_preprocessors = [clear, Restore, *sanitize]
    config.Autograde.autograde_preprocessors = [Judge if step is Execute else step for step in autograde]


class Restore(NbGraderPreprocessor):
    """Restore cell metadata from the gradebook; of two cells of one name the last counts, as in nbgrader."""

    def preprocess(self, nb: Any, resources: Resources) -> tuple[Any, Resources]:
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:
            names = resources["nbgrader"]["notebook"], resources["nbgrader"]["assignment"]
            known = gradebook.find_notebook(*names)
            metadata, sources = _released_metadata(known), {cell.name: cell for cell in known.source_cells}
            texts = {name: (cell.cell_type, cell.source) for name, cell in sources.items()}
        for cell in reversed(nb.cells):
            name = grade_id(cell)
            cell.metadata.pop("nbgrader", None)
            if name in metadata:
                cell.metadata["nbgrader"] = metadata.pop(name)
        for name, released in metadata.items():
            if released["grade"]:
                self.log.warning("The cell %s is missing from the submission, and is put back.", name)
                nb.cells.append(_restored_cell(*texts[name], released))
        return nb, resources


def _released_metadata(known: Notebook) -> dict[str, dict[str, Any]]:
    """Return the nbgrader metadata of each cell of the released notebook, by the cell's name."""
    solutions = {cell.name for cell in known.solution_cells}
    points = {cell.name: float(cell.max_score) for cell in (*known.grade_cells, *known.task_cells)}
    tasks = {cell.name for cell in known.task_cells}
    return {
        cell.name: cell_metadata(
            cell.name,
            solution=cell.name in solutions,
            points=points.get(cell.name),
            locked=cell.locked,
            task=cell.name in tasks,
        )
        for cell in known.source_cells
    }


def _restored_cell(kind: str, source: str, metadata: dict[str, Any]) -> Any:
    make = new_code_cell if kind == "code" else new_markdown_cell
    text = source if metadata["locked"] else MISSING_CELL
    return make(text, metadata={"nbgrader": metadata})


class Judge(NbGraderPreprocessor):
    """Grade katas from the source of their cells; run a notebook with other tests in a kernel as usual."""

    course = Unicode("", help="The course whose answers count; by default the folder of nbgrader's.").tag(
        config=True
    )
    key = Unicode("", help="An answer key, file or folder, in place of the course's own.").tag(config=True)
    isolation = Enum(["required", "best"], "best", help="Refuse to grade without a whole sandbox.").tag(
        config=True
    )

    def preprocess(self, nb: Any, resources: Resources) -> tuple[Any, Resources]:
        graded = [cell for cell in nb.cells if is_grade(cell) and not is_solution(cell)]
        requested = [(cell, katas_asked(cell.source)) for cell in graded if cell.cell_type == "code"]
        if not all(names for _, names in requested):
            self.log.warning("Tests other than katas': the student's code is run with your rights.")
            nb, resources = Execute(parent=self.parent)(nb, resources)
        judged = [(cell, names[-1]) for cell, names in requested if names]
        try:
            if judged:
                self._judge(nb, judged, resources["nbgrader"])
        except WRONG_INPUT as error:
            self.log.error("%s", error)  # nbgrader also shows a traceback, and records no score
            raise
        return nb, resources

    def _judge(self, nb: Any, judged: list[tuple[Any, str]], place: dict[str, str]) -> None:
        course = open_course(Path(self.course) if self.course else None)
        infos = [course.kata_info(name) for name in _assigned_katas(place)]
        grade_cell = open_cell_grader(course, infos, GradingTerms(self.key, self.isolation))
        cells = json.dumps({"cells": [_without_outputs(cell) for cell in nb.cells]}).encode()
        for cell, name in judged:
            kata = grade_cell(course.kata_info(name), cells, place["notebook"])
            cell.outputs = outputs_of(kata, float(cell.metadata.nbgrader["points"]))
            self.log.info("%s: %s of %s points", name, kata.score / 100, kata.max_score / 100)


def _without_outputs(cell: Any) -> dict[str, Any]:
    return {part: cell.get(part) for part in ("cell_type", "metadata", "source")}


def _assigned_katas(place: dict[str, str]) -> list[str]:
    """Return the names of all katas of the assignment, so that its notebooks share one grader."""
    with Gradebook(place["db_url"]) as gradebook:
        notebooks = gradebook.find_assignment(place["assignment"]).notebooks
        sources = [cell.source for notebook in notebooks for cell in notebook.source_cells]
    return sorted({name for source in sources for name in katas_asked(source)})
