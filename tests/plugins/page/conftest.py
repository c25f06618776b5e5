"""Pyodide and NumPy for the tests of a site, where they can be had."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dojo_page.site import NUMPY, PYODIDE, RUNTIME

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory):
    """A folder with Pyodide and NumPy, as `kata site --runtime` takes it."""
    wheels = Path(os.environ.get("DOJO_PYODIDE_WHEELS", ROOT.parent / "shared" / "pyodide"))
    if not (wheels / NUMPY).is_file():
        pytest.skip(f"there is no {NUMPY} in a folder that DOJO_PYODIDE_WHEELS names")
    if not shutil.which("npm"):
        pytest.skip(f"there is no npm, which fetches Pyodide {PYODIDE}")
    folder = tmp_path_factory.mktemp("runtime")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"pyodide@{PYODIDE}"]
    fetched = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if fetched.returncode:
        pytest.skip(f"npm cannot fetch Pyodide {PYODIDE} here")
    for name in RUNTIME:
        source = wheels if name == NUMPY else folder / "node_modules" / "pyodide"
        shutil.copy(source / name, folder / name)
    return folder
