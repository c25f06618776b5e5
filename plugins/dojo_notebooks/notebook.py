"""Write the instructor's notebook: a statement, an answer cell and a score cell for each kata."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from dojo_authoring.statement import without_statement
from dojo_notebooks.results import score_id
from dojo_notebooks.solution import with_solution
from dojo_notebooks.statement import to_notebook
from grader.course.catalog import Course, KataInfo
from grader.course.files import read

SCHEMA = 3


def cell_metadata(
    name: str, *, solution: bool = False, points: float | None = None, locked: bool = True, task: bool = False
) -> dict[str, Any]:
    """Return the metadata of an answer (`solution`), a score (`points`), or both for manual grading."""
    metadata: dict[str, Any] = {
        "schema_version": SCHEMA,
        "grade_id": name,
        "solution": solution,
        "grade": points is not None and not task,
        "locked": locked and not solution,
        "task": task,
    }
    return metadata if points is None else {**metadata, "points": points}


KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
HOW_TO = """\
Write your code in the cells that begin with `%%kata`. All that a kata needs stands in its one cell, imports
too: that cell is graded by itself. Run it, then the `%grade` below it, to see what holds. Stuck?
`%hint {name}` in a cell of your own, and again for one more.
"""
#: Students run the first line; nbgrader removes the hidden part, which grades with the instructor's keys.
SCORE = """\
%grade --score {name}
### BEGIN HIDDEN TESTS
%grade --score --key ../../../keys {name}
### END HIDDEN TESTS"""


def notebook_of(course: Course, infos: list[KataInfo], title: str = "", *, solved: bool = True) -> str:
    """Return the notebook of these katas as JSON text, for nbgrader's `source/` folder; unless `solved`, as
    students get it."""
    import nbformat
    from nbformat import v4

    heading = f"# {title}\n\n" if title else ""
    cells = [
        _cell(v4.new_markdown_cell, "how-to", heading + HOW_TO.format(name=infos[0].name)),
        _cell(v4.new_code_cell, "extension", "%load_ext grader"),
        *(cell for info in infos for cell in _cells_of(course, info, solved=solved)),
    ]
    return str(nbformat.writes(v4.new_notebook(cells=cells, metadata=KERNEL))) + "\n"


def _cells_of(course: Course, info: KataInfo, *, solved: bool) -> Iterator[Any]:
    """Yield a kata's three cells: the statement, the answer and the score.

    If students are given wrong code to repair, or questions, nbgrader must not cut a solution out of the
    answer cell. That cell has no nbgrader metadata then, and is recognized by its first line, `%%kata` and
    the kata's name.
    """
    from nbformat import v4

    stub = read(course.stub(info))
    text = ast.get_docstring(ast.parse(stub)) or info.title
    markdown = to_notebook(text, course.declaration(info).axes)
    yield _cell(v4.new_markdown_cell, f"{info.name}-statement", markdown)
    code = without_statement(stub)
    is_given = bool(info.ships_wrong_code) or not info.kind.is_code
    if solved and not is_given:
        code = with_solution(code, course.solution(info, "reference").read_text(encoding="utf-8"))
    answer = _cell(v4.new_code_cell, info.name, f"%%kata {info.name}\n{code}")
    if is_given:
        answer.metadata["deletable"] = False
    else:
        answer.metadata["nbgrader"] = cell_metadata(info.name, solution=True)
    yield answer
    asked = SCORE.format(name=info.name) if solved else SCORE.format(name=info.name).splitlines()[0]
    score = _cell(v4.new_code_cell, score_id(info.name), asked)
    score.metadata["nbgrader"] = cell_metadata(score_id(info.name), points=info.points)
    yield score


def _cell(make: Any, name: str, source: str) -> Any:
    return make(source.rstrip("\n"), id=name[:64])
