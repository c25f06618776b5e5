"""What `nbgrader autograde` does to a submitted notebook of katas, in place of running it.

Two steps among nbgrader's own. `Restore` gives every cell the part that the gradebook knows, whatever the
submitted metadata claim. `Judge` takes a kata's source out of the notebook, has it graded in the worker,
and writes report and score as the output of the score's cell, where nbgrader reads it. No kernel is
started, and no line of a student's code runs with the rights of who grades.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook, Notebook
from nbgrader.converters.autograde import Autograde
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Enum, Unicode

from grader.answer_keys.file import KeyUnusable
from grader.course import notebook_cells
from grader.course.catalog import CourseError, open_course
from grader.grading.startup import IsolationMissing
from grader.kata import KataError
from grader.notebooks.examiner import GradingTerms, examiner
from grader.notebooks.marks import marks
from grader.notebooks.outputs import outputs_of

GONE = "This cell was missing from the submission; it is back for grading."

WRONG_INPUT = (CourseError, KataError, KeyUnusable, IsolationMissing)

Resources = dict[str, Any]


def configure(config: Any) -> None:
    """Put both steps among those of `nbgrader autograde`: the first before all others that look at
    metadata, the second where the kernel would run."""
    clear, *sanitize = Autograde.sanitize_preprocessors.default()
    autograde = Autograde.autograde_preprocessors.default()
    config.Autograde.sanitize_preprocessors = [clear, Restore, *sanitize]
    config.Autograde.autograde_preprocessors = [Judge if step is Execute else step for step in autograde]


class Restore(NbGraderPreprocessor):
    """Cells as the gradebook knows them; of two under one name the last is kept, as nbgrader does."""

    def preprocess(self, nb: Any, resources: Resources) -> tuple[Any, Resources]:
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:
            names = resources["nbgrader"]["notebook"], resources["nbgrader"]["assignment"]
            known = gradebook.find_notebook(*names)
            parts, sources = _parts(known), {cell.name: cell for cell in known.source_cells}
            texts = {name: (cell.cell_type, cell.source) for name, cell in sources.items()}
        for cell in reversed(nb.cells):
            name = notebook_cells.grade_id(cell)
            cell.metadata.pop("nbgrader", None)
            if name in parts:
                cell.metadata["nbgrader"] = parts.pop(name)
        for name, part in parts.items():
            if part["grade"]:
                self.log.warning("The cell %s is missing from the submission, and is put back.", name)
                nb.cells.append(_put_back(*texts[name], part))
        return nb, resources


def _parts(known: Notebook) -> dict[str, dict[str, Any]]:
    """By its name, what each cell of the released notebook is."""
    solutions = {cell.name for cell in known.solution_cells}
    points = {cell.name: float(cell.max_score) for cell in (*known.grade_cells, *known.task_cells)}
    tasks = {cell.name for cell in known.task_cells}
    return {
        cell.name: marks(
            cell.name, cell.name in solutions, points.get(cell.name), cell.locked, cell.name in tasks
        )
        for cell in known.source_cells
    }


def _put_back(kind: str, source: str, part: dict[str, Any]) -> Any:
    make = new_code_cell if kind == "code" else new_markdown_cell
    text = source if part["locked"] else GONE
    return make(text, metadata={"nbgrader": part})


class Judge(NbGraderPreprocessor):
    """Scores of katas from the source of their cells. What other tests grade is run in a kernel, as
    ever."""

    course = Unicode("", help="The course whose answers count; by default the folder of nbgrader's.").tag(
        config=True
    )
    key = Unicode("", help="An answer key, file or folder, in place of the course's own.").tag(config=True)
    isolation = Enum(["required", "best"], "best", help="Refuse to grade without a whole sandbox.").tag(
        config=True
    )

    def preprocess(self, nb: Any, resources: Resources) -> tuple[Any, Resources]:
        graded = [cell for cell in nb.cells if is_grade(cell) and not is_solution(cell)]
        asking = [
            (cell, notebook_cells.katas_asked(cell.source)) for cell in graded if cell.cell_type == "code"
        ]
        if not all(names for _, names in asking):
            self.log.warning("Tests other than katas': the student's code is run with your rights.")
            nb, resources = Execute(parent=self.parent)(nb, resources)
        judged = [(cell, names[-1]) for cell, names in asking if names]
        try:
            if judged:
                self._judge(nb, judged, resources["nbgrader"])
        except WRONG_INPUT as error:
            self.log.error("%s", error)  # nbgrader shows a traceback besides, and gives no score
            raise
        return nb, resources

    def _judge(self, nb: Any, judged: list[tuple[Any, str]], place: dict[str, str]) -> None:
        course = open_course(Path(self.course) if self.course else None)
        asked = [course.kata_info(name) for name in _asked(place)]
        examine = examiner(course, asked, GradingTerms(self.key, self.isolation))
        for cell, name in judged:
            answer = notebook_cells.answer_to(name, nb.cells)
            kata = examine(course.kata_info(name), answer, place["notebook"])
            cell.outputs = outputs_of(kata, float(cell.metadata.nbgrader["points"]))
            self.log.info("%s: %s of %s points", name, kata.score / 100, kata.max_score / 100)


def _asked(place: dict[str, str]) -> list[str]:
    """Every kata of the assignment, so that all of its notebooks are graded by workers from one source."""
    with Gradebook(place["db_url"]) as gradebook:
        notebooks = gradebook.find_assignment(place["assignment"]).notebooks
        sources = [cell.source for notebook in notebooks for cell in notebook.source_cells]
    return sorted({name for source in sources for name in notebook_cells.katas_asked(source)})
