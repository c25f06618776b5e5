"""A digest depends on a kata's files and on the versions of the libraries that draw, and on nothing else."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from grader.answer_keys import answers

ROOT = Path(__file__).resolve().parents[3]


def test_the_digest_follows_the_files_and_the_seed(tmp_path):
    file = tmp_path / "reference.py"
    file.write_text("one")
    one = answers.digest([file], 1)
    assert answers.digest([file], 1) == one
    assert answers.digest([file], 2) != one
    file.write_text("two")
    assert answers.digest([file], 1) != one


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Return `install(folder, hypothesis="6.1.0")`, which puts empty libraries first on the import path."""

    def make(folder, **versions):
        for library, version in versions.items():
            (tmp_path / folder / library).mkdir(parents=True)
            (tmp_path / folder / library / "__init__.py").touch()
            (tmp_path / folder / f"{library}-{version}.dist-info").mkdir()
            monkeypatch.delitem(sys.modules, library, raising=False)
        monkeypatch.syspath_prepend(tmp_path / folder)

    return make


def test_the_digest_follows_the_version_of_hypothesis(install):
    install("first", hypothesis="6.1.0")
    first = answers.digest([])
    install("second", hypothesis="6.2.0")
    assert answers.digest([]) != first


def test_the_digest_follows_the_version_of_pytorch_where_the_kata_uses_it(install, tmp_path):
    with_numpy, with_torch = tmp_path / "numpy.py", tmp_path / "torch.py"
    with_numpy.write_text("import numpy as np")
    with_torch.write_text("import torch")
    install("first", torch="2.12.0")
    of_numpy, of_torch = answers.digest([with_numpy]), answers.digest([with_torch])
    install("second", torch="2.13.0+cpu")
    assert answers.digest([with_numpy]) == of_numpy
    assert answers.digest([with_torch]) != of_torch


def test_the_digest_does_not_depend_on_the_folder_of_a_library(install):
    install("first", hypothesis="6.1.0")
    first = answers.digest([])
    install("second", hypothesis="6.1.0")
    assert answers.digest([]) == first


def test_the_version_of_a_library_without_a_metadata_folder_is_found(monkeypatch, install, tmp_path):
    install("editable", hypothesis="6.1.0")
    (tmp_path / "editable" / "hypothesis-6.1.0.dist-info").rename(tmp_path / "kept")
    monkeypatch.setattr("importlib.metadata.version", {"hypothesis": "6.1.0"}.__getitem__)
    asked = answers.digest([])
    install("beside", hypothesis="6.1.0")
    assert answers.digest([]) == asked


def test_a_digest_is_made_where_no_version_is_known(monkeypatch, install, tmp_path):
    file = tmp_path / "kata.py"
    file.write_text("import torch")
    install("unknown", hypothesis="6.1.0")
    (tmp_path / "unknown" / "hypothesis-6.1.0.dist-info").rmdir()
    monkeypatch.setattr("importlib.metadata.version", _not_found)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert answers.digest([file]) == answers.digest([file])


def _not_found(library):
    raise PackageNotFoundError(library)


def test_a_digest_needs_neither_hypothesis_nor_pytorch():
    code = """
import sys
from pathlib import Path
from grader.answer_keys import answers

answers.digest([Path(sys.argv[1])])
print([name for name in ("hypothesis", "torch", "importlib.metadata") if name in sys.modules])
"""
    file = ROOT / "tests" / "katas" / "generation" / "test_top_p.py"
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
