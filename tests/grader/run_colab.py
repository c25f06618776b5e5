"""Run the notebook for Colab with right answers, beside the packages that Colab has: `make colab`.

It needs a network. `build/colab/colab.html` shows the outputs.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import nbformat

from dojo_notebooks.notebook import notebook_of
from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs/notebooks/colab.ipynb"
FOLDER = ROOT / "build/colab"
KATAS = ["softmax", "causal_mask", "layer_norm"]

#: What matters of Colab's runtime 2026.01; what the notebook installs must not replace any of it.
COLAB = [
    "attrs==25.4.0",
    "click==8.3.1",
    "greenlet==3.3.0",
    "ipykernel==6.17.1",
    "ipython==7.34.0",
    "Jinja2==3.1.6",
    "jupyter_client==7.4.9",
    "MarkupSafe==3.0.3",
    "nbconvert==7.16.6",
    "nbformat==5.10.4",
    "numpy==2.0.2",
    "pyzmq==26.2.1",
    "tornado==6.5.1",
    "traitlets==5.7.1",
]


def solved(wheel: Path) -> nbformat.NotebookNode:
    """Return the notebook with the references in the katas' cells, which installs this wheel."""
    notebook = nbformat.read(NOTEBOOK, 4)
    course = Course(ROOT)
    answers = nbformat.reads(notebook_of(course, [course.kata_info(name) for name in KATAS]), 4)
    sources = {cell.id: cell.source for cell in answers.cells if cell.id in KATAS}
    for cell in notebook.cells:
        cell.source = re.sub(r"(?m)^WHEEL = .*", f'WHEEL = "{wheel}"', sources.get(cell.id, cell.source))
    return notebook


def main() -> None:
    venv.create(FOLDER / "venv", clear=True, with_pip=True)
    programs, home = FOLDER / "venv/bin", FOLDER / "home"
    home.mkdir(exist_ok=True)

    def run(*words: str | Path) -> str:
        search = f"{programs}{os.pathsep}{os.environ['PATH']}"
        return subprocess.check_output(
            words, text=True, env={**os.environ, "HOME": str(home), "PATH": search}
        )

    run(programs / "pip", "install", "--quiet", *COLAB)
    before = run(programs / "pip", "freeze").splitlines()
    subprocess.run([Path(sys.executable).with_name("kata"), "wheel", FOLDER, *KATAS], cwd=ROOT, check=True)
    source = FOLDER / "colab.ipynb"
    nbformat.write(solved(next(FOLDER.glob("*.whl"))), source)
    execute = [programs / "jupyter", "nbconvert", "--execute", "--to"]
    run(*execute, "notebook", "--inplace", source)
    run(programs / "jupyter", "nbconvert", "--to", "html", source)
    said = [str(output) for cell in nbformat.read(source, 4).cells for output in cell.get("outputs", [])]
    for name in KATAS:
        assert any(f"{name}  10 / 10" in text for text in said), f"{name} does not pass: see {source}"
    replaced = set(before) - set(run(programs / "pip", "freeze").splitlines())
    assert not replaced, f"Colab would ask for a restart, since these were replaced: {replaced}"


if __name__ == "__main__":
    main()
