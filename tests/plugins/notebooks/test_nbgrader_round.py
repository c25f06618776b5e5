"""Test of an assignment with nbgrader's commands: its grades equal those of `grade`."""

import csv
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = (ROOT / "solutions" / "attention" / "causal_mask" / "reference.py").read_text("utf-8")
ANSWERS = {
    "right": REFERENCE,
    "partly_right": "import numpy as np\n\ndef causal_mask(query_len, key_len=None):\n"
    "    return np.tri(query_len, key_len or query_len, dtype=bool)\n",
    "kills_its_kernel": f"import os\nos.kill(os.getpid(), 9)\n{REFERENCE}",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """`run(command, …)` runs `kata`, `grade` or `nbgrader` in the course's folder and requires success."""
    if find_spec("nbgrader") is None:
        pytest.skip("nbgrader is not installed")
    folder = tmp_path_factory.mktemp("course")
    jupyter = {f"JUPYTER_{kind}_DIR": str(folder.parent / kind) for kind in ("DATA", "CONFIG", "RUNTIME")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, **jupyter, "PATH": path, "PYTHONPATH": str(ROOT)}
    modules = {
        "kata": ["-c", "from grader.cli.kata import kata; kata()"],
        "grade": ["-m", "grader.cli.grade"],
        "nbgrader": ["-m", "nbgrader"],
    }

    def run(command, *arguments, codes=(0,), cwd=folder):
        done = subprocess.run(
            [sys.executable, *modules[command], *arguments],
            cwd=cwd, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode in codes, done.stdout + done.stderr
        return done

    run.folder = folder
    return run


@pytest.fixture(scope="module")
def graded(run):
    """The folder after the assignment was released, submitted by three students, graded and returned."""
    exchange = run.folder.parent / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)  # nbgrader requires an exchange that is writable for all
    run("kata", "notebooks", str(run.folder), "causal_mask", "--hidden-seed", "7", cwd=ROOT)
    run("nbgrader", "generate_assignment", "attention")
    run("nbgrader", "release_assignment", "attention", f"--Exchange.root={exchange}")
    [handed_out] = exchange.glob("*/outbound/attention/causal_mask.ipynb")
    for student, code in ANSWERS.items():
        hand_in(run.folder, student, json.loads(handed_out.read_text("utf-8")), code)
    run("nbgrader", "autograde", "attention")
    run("nbgrader", "generate_feedback", "attention")
    run("nbgrader", "export")
    return run.folder


def hand_in(folder, student, notebook, code):
    [answer] = [cell for cell in notebook["cells"] if cell["source"][:1] == ["%%kata causal_mask\n"]]
    answer["source"] = f"%%kata causal_mask\n{code}"
    path = folder / "submitted" / student / "attention" / "causal_mask.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_the_grades_are_those_of_grade_and_feedback_names_the_mistake(graded, run):
    """Test all in one function, since the assignment takes long."""
    rows = list(csv.DictReader((graded / "grades.csv").read_text().splitlines()))
    exported = {row["student_id"]: row["score"] for row in rows}
    assert exported.keys() == ANSWERS.keys()
    for student, score in exported.items():
        notebook = f"submitted/{student}/attention/causal_mask.ipynb"
        done = run("grade", notebook, "--format", "json", codes=(0, 1, 2), cwd=graded)
        assert float(score) == json.loads(done.stdout)["score"]
    assert (exported["right"], exported["kills_its_kernel"]) == ("10.0", "0.0")
    assert 0 < float(exported["partly_right"]) < 10
    told = {
        student: (graded / f"feedback/{student}/attention/causal_mask.html").read_text("utf-8")
        for student in ANSWERS
    }
    assert "With a cache the triangle sits in the wrong corner" in told["partly_right"]
    assert "ended in the middle of a call." in told["kills_its_kernel"]
    secret = REFERENCE.split('"""', 2)[2].splitlines()[-1].strip().partition("  #")[0]
    assert secret not in told["partly_right"]
    assert secret not in (graded / "release/attention/causal_mask.ipynb").read_text("utf-8")
    assert secret in (graded / "source/attention/causal_mask.ipynb").read_text("utf-8")
