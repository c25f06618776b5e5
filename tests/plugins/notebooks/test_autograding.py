"""Tests that a hostile notebook gets only the points of its code under `nbgrader autograde`."""

import copy
import json
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata as run_kata
from grader.course.submission import SubmissionRejected
from grader.reading.cells import grade_id, without_magics

pytestmark = pytest.mark.slow

GUARD = "    if isinstance(x, str): raise ValueError\n"
RIGHT = f"def double(x):\n{GUARD}    return x + x\n"
PARTLY = f"def double(x):\n{GUARD}    return 2 * x if getattr(x, 'size', 0) > 2 else 3 * x\n"

#: Cells before the kata's; in a kernel they would gain points or damage the gradebook.
FIRST_CELLS = {
    "patches_the_grader": "import dojo_notebooks.results as o\no.score_of = lambda *a: 10.0",
    "patches_numpy": "import numpy.testing as t\nt.assert_allclose = lambda *a, **k: None",
    "replaces_the_magic": "get_ipython().register_magic_function(lambda line: 10.0, 'line', 'grade')",
    "forges_the_display": "import sys\nsys.displayhook = lambda value: print('Out: 10.0')",
    "ends_the_kernel": "import os\nos._exit(0)",
    "empties_the_gradebook": "open('gradebook.db', 'w').close()\nopen('../../../gradebook.db', 'w').close()",
    "shows_a_score": "print(10.0)\n10.0",
    "asks_for_another": "%grade --score double",
}

#: Answers that are run by the worker.
ANSWERS = {
    "right": RIGHT,
    "partly_right": PARTLY,
    "ends_its_process": f"import os\nos._exit(0)\n{RIGHT}",
    "equals_everything": "class Any:\n    shape, dtype = (1, 2), 'float32'\n    __eq__ = lambda *_: True\n\n"
    "def double(x):\n    return Any()\n",
    "writes_files": "for name in ('gradebook.db', 'double.ipynb', '../../../gradebook.db'):\n"
    f"    try: open(name, 'w').write('10.0')\n    except OSError: pass\n{PARTLY}",
    "prints_scores": f"print(10.0)\n{PARTLY}",
    "is_no_python": "def double(x:\n",
    "asks_ipython": f"!echo 10.0\n{RIGHT}",
    "is_not_begun": "def double(x):\n    raise NotImplementedError\n",
}


def part(notebook, name):
    """Return the cell with this grade_id."""
    return next(cell for cell in notebook["cells"] if grade_id(cell) == name)


def forge_output(notebook):
    result = {"output_type": "execute_result", "metadata": {}, "execution_count": 1}
    part(notebook, "double-score")["outputs"] = [{**result, "data": {"text/plain": "10.0"}}]


def rewrite_the_score(notebook):
    part(notebook, "double-score")["source"] = "10.0"


def raise_the_points(notebook):
    part(notebook, "double-score")["metadata"]["nbgrader"]["points"] = 1000


def mark_the_score_as_a_solution(notebook):
    score = part(notebook, "double-score")
    score["metadata"]["nbgrader"] |= {"solution": True, "locked": False}
    score["source"] = "10.0"


def remove_the_score(notebook):
    notebook["cells"].remove(part(notebook, "double-score"))


def remove_all_metadata(notebook):
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)


def make_the_score_text(notebook):
    score = part(notebook, "double-score")
    score["cell_type"] = "markdown"
    del score["outputs"], score["execution_count"]


def double_the_score(notebook):
    again = copy.deepcopy(part(notebook, "double-score"))
    notebook["cells"].append(again | {"source": "10.0", "id": "again"})


def add_a_score(notebook):
    more = copy.deepcopy(part(notebook, "double-score")) | {"id": "more", "source": "10.0"}
    more["metadata"]["nbgrader"]["grade_id"] = "more"
    notebook["cells"].append(more)


def write_invalid_metadata(notebook):
    part(notebook, "double-score")["metadata"]["nbgrader"] = "mine"
    part(notebook, "double")["metadata"]["nbgrader"]["grade_id"] = ["double"]


def claim_another_schema(notebook):
    part(notebook, "double-score")["metadata"]["nbgrader"]["schema_version"] = 99


def remove_the_magic(notebook):
    part(notebook, "double")["source"] = PARTLY


def answer_in_a_second_cell(notebook):
    notebook["cells"].append(code_cell("second", f"%%kata double\n{RIGHT}"))


def prepare_the_kernel(notebook):
    for name, source in FIRST_CELLS.items():
        notebook["cells"].insert(0, code_cell(name, source))


def code_cell(name, source):
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    return {**empty, "id": name, "source": source}


TRICKS = {
    trick.__name__: trick
    for trick in (
        forge_output, rewrite_the_score, raise_the_points, mark_the_score_as_a_solution, remove_the_score,
        remove_all_metadata, make_the_score_text, double_the_score, add_a_score, write_invalid_metadata,
        claim_another_schema, remove_the_magic, prepare_the_kernel,
    )
}  # fmt: skip


def convert(root, converter, assignment="attention"):
    """Run one of nbgrader's converters in this process, since starting nbgrader takes seconds."""
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    from nbgrader import converters
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from dojo_notebooks.autograding import configure

    config = Config()
    config.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    configure(config)
    folder = CourseDirectory(root=str(root), assignment_id=assignment)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # nbgrader's own, of SQLAlchemy
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")  # where nbgrader's alembic is
        getattr(converters, converter)(coursedir=folder, config=config).start()


@pytest.fixture(scope="module")
def classroom(tiny_course, tmp_path_factory):
    """A course of one kata as `kata notebooks` writes it, its assignment generated."""
    root = tmp_path_factory.mktemp("classroom")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tiny_course.root)
        done = CliRunner().invoke(run_kata, ["notebooks", str(root), "double"])
    assert done.exit_code == 0, done.output
    convert(root, "GenerateAssignment")
    return root


def released(classroom):
    return json.loads((classroom / "release" / "attention" / "double.ipynb").read_text("utf-8"))


def submit(classroom, student, code, trick=None):
    """Submit the released notebook with this code, after applying the trick to it."""
    notebook = released(classroom)
    part(notebook, "double")["source"] = f"%%kata double\n{code}"
    if trick:
        trick(notebook)
    folder = classroom / "submitted" / student / "attention"
    folder.mkdir(parents=True)
    (folder / "double.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def autograded(classroom, student):
    file = classroom / "autograded" / student / "attention" / "double.ipynb"
    return json.loads(file.read_text("utf-8"))


def test_a_submission_gets_the_points_of_its_code_whatever_it_tries(classroom, grade):
    """Test all in one run of `nbgrader autograde`, since each run takes seconds to start."""
    for name, code in ANSWERS.items():
        submit(classroom, name, code)
    for name, trick in TRICKS.items():
        submit(classroom, name, PARTLY, trick)
    submit(classroom, "answers_in_a_cell_of_its_own", ANSWERS["is_not_begun"], answer_in_a_second_cell)
    convert(classroom, "Autograde")
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{classroom}/gradebook.db") as gradebook:
        found = gradebook.assignment_submissions("attention")
        scores = {submission.student_id: submission.score for submission in found}
    partly = points(grade, PARTLY)
    assert 0 < partly < points(grade, RIGHT) == 10
    assert scores == {name: points(grade, code) for name, code in ANSWERS.items()} | dict.fromkeys(
        TRICKS, partly
    ) | {"answers_in_a_cell_of_its_own": 10}
    assert_no_kernel_ran_a_cell(autograded(classroom, "prepare_the_kernel"))
    assert_the_report_is_above_the_score(autograded(classroom, "ends_its_process"))


def points(grade, code):
    """Return the points that `grade` gives this code."""
    if code == ANSWERS["is_not_begun"]:
        return 0.0
    try:
        return grade(without_magics(code)).score / 100
    except SubmissionRejected:
        return 0.0


def assert_no_kernel_ran_a_cell(notebook):
    assert {cell["id"] for cell in notebook["cells"]} >= FIRST_CELLS.keys()
    ran = [cell for cell in notebook["cells"] if cell.get("execution_count") or cell.get("outputs")]
    assert [grade_id(cell) for cell in ran] == ["double-score"]


def assert_the_report_is_above_the_score(notebook):
    report, result = part(notebook, "double-score")["outputs"]
    assert "ended in the middle of a call." in "".join(report["data"]["text/html"])
    assert "".join(result["data"]["text/plain"]) == "0.0"


def test_students_get_the_stub_and_nothing_of_the_solution(classroom, tiny_course):
    cells = {grade_id(cell): "".join(cell["source"]) for cell in released(classroom)["cells"]}
    stub = tiny_course.stub(tiny_course.kata_info("double")).read_text("utf-8")
    assert cells["double"] == "%%kata double\n" + stub.split('"""', 2)[2].strip()
    assert cells["double-score"] == "%grade --score double"
    reference = tiny_course.solution(tiny_course.kata_info("double"), "reference").read_text("utf-8")
    texts = [path.read_bytes() for path in (classroom / "release").rglob("*") if path.is_file()]
    assert not any(b"return x + x" in text for text in texts)
    assert "return x + x" in reference


def test_an_instructor_s_own_tests_are_run_in_a_kernel(classroom):
    """Their cell gets the kernel's result; the kata's cell still gets the worker's score."""
    source = json.loads((classroom / "source" / "attention" / "double.ipynb").read_text("utf-8"))
    part(source, "double")["source"] = f"%%kata double\n{PARTLY}"
    for name, test in {"holds": "assert double(2) == 6", "fails": "assert double(2) == 4"}.items():
        own = copy.deepcopy(part(source, "double-score"))
        own["metadata"]["nbgrader"] |= {"grade_id": name, "points": 2}
        source["cells"].append(own | {"source": test, "id": name})
    source["cells"].insert(0, code_cell("first", FIRST_CELLS["patches_the_grader"]))
    for folder in ("source/mixed", "submitted/somebody/mixed"):
        (classroom / folder).mkdir(parents=True)
        (classroom / folder / "double.ipynb").write_text(json.dumps(source), encoding="utf-8")
    convert(classroom, "GenerateAssignment", "mixed")
    convert(classroom, "Autograde", "mixed")
    file = classroom / "autograded" / "somebody" / "mixed" / "double.ipynb"
    score = part(json.loads(file.read_text("utf-8")), "double-score")
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{classroom}/gradebook.db") as gradebook:
        found = gradebook.find_submission_notebook("double", "mixed", "somebody")
        scores = {grade.name: grade.auto_score for grade in found.grades}
    judged = float("".join(score["outputs"][1]["data"]["text/plain"]))
    assert scores == {"double-score": judged, "holds": 2.0, "fails": 0.0}
    assert 0 < judged < 10


def test_changed_files_of_a_course_are_reported(classroom, tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    settings = classroom / "nbgrader_config.py"
    settings.write_text(settings.read_text() + "c.Judge.isolation = 'required'\n")
    done = CliRunner().invoke(run_kata, ["notebooks", str(classroom), "double"])
    assert "kept, since it was changed: nbgrader_config.py" in done.stdout
    assert done.stdout.splitlines()[0] == "1 kata, 2 notebooks are in source."
