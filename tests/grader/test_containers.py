"""The notebook for Colab, the dev container and the container of a class name what exists."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from dojo_authoring.release.repository import fill_template
from grader.cli.grade import grade
from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "colab.ipynb"
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
KATAS = ["softmax", "causal_mask", "layer_norm"]
OF_IPYTHON = {"pip", "cd", "load_ext"}


def cells():
    """The notebook's cells by their ids."""
    found = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return {cell["id"]: (cell, "".join(cell["source"])) for cell in found}


@pytest.mark.slow  # importing nbformat takes seconds
def test_the_notebook_holds_the_katas_as_the_course_hands_them_out():
    pytest.importorskip("nbformat", reason="notebooks are an extra")
    from dojo_notebooks.notebook import notebook_of

    course = Course(ROOT)
    handed_out = notebook_of(course, [course.kata_info(name) for name in KATAS], solved=False)
    expected = {cell["id"]: "".join(cell["source"]) for cell in json.loads(handed_out)["cells"]}
    for name in [one for kata in KATAS for one in (f"{kata}-statement", kata)]:
        assert cells()[name][1] == expected[name], f"copy cell {name} from: kata preview"


def test_the_notebook_names_magics_and_katas_that_exist_and_holds_no_outputs():
    pytest.importorskip("IPython", reason="notebooks are an extra")
    from dojo_notebooks.magics import KataMagics

    ours = {name for kind in KataMagics.magics.values() for name in kind}
    code = [(cell, text) for cell, text in cells().values() if cell["cell_type"] == "code"]
    called = [line for _, text in code for line in re.findall(r"^%%?(\w+.*)", text, re.MULTILINE)]
    assert {line.split()[0] for line in called} - ours <= OF_IPYTHON
    graded = [line.split()[1] for line in called if line.split()[0] in ("kata", "grade")]
    assert graded == [name for kata in KATAS for name in (kata, kata)]
    assert not [cell for cell, _ in code if cell["outputs"]]


def test_every_call_of_grade_in_the_notebook_and_the_containerfile_is_understood():
    notebook = [
        line for _, text in cells().values() for line in re.findall(r"^!grade (.*)", text, re.MULTILINE)
    ]
    image = re.findall(r"/bin/grade (.*?) \\$", CONTAINERFILE, re.MULTILINE)
    image += [
        " ".join(json.loads(words)[1:])
        for words in re.findall(r"^CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    ]
    assert (len(notebook), len(image)) == (2, 2)
    for words in notebook + image:
        grade.make_context("grade", shlex.split(words))


def test_the_dev_container_is_that_of_a_release_and_calls_targets_of_make():
    own = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    released = json.loads(fill_template("devcontainer.json", TITLE=json.dumps(Course(ROOT).syllabus.title)))
    differing = {"containerEnv", "remoteEnv", "postCreateCommand", "portsAttributes"}
    assert {key: own[key] for key in own.keys() - differing} == {
        key: released[key] for key in released.keys() - differing
    }
    assert own["containerEnv"] == {**released["containerEnv"], "DOJO_PORT": str(*own["forwardPorts"])}
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    label = own["portsAttributes"][own["containerEnv"]["DOJO_PORT"]]["label"]
    called = re.findall(r"make (\w+)", f"{own['postCreateCommand']} {label}")
    assert called == ["install", "page"]
    assert set(called) <= set(targets)


def test_the_image_of_a_class_has_no_rights_and_the_arguments_that_the_page_names():
    users = re.findall(r"^USER (\d+):(\d+)$", CONTAINERFILE, re.MULTILINE)
    assert users
    assert "0" not in users[-1]
    page = (ROOT / "docs" / "grading-a-class.md").read_text("utf-8")
    named = dict(re.findall(r"--build-arg (\w+)='?\[?(\w+)", page))
    assert named.keys() <= set(re.findall(r"^ARG (\w+)=", CONTAINERFILE, re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert named["EXTRAS"] in extras
