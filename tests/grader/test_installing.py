"""Tests of the command that installs a package for the Python that runs."""

import subprocess
import sys
from importlib.machinery import PathFinder

import pytest

from grader.installing import install_command


@pytest.fixture
def python(tmp_path, monkeypatch):
    """`python(folder)` makes an interpreter in a folder the one that runs, with pip or without; returns its
    path."""

    def run(folder, *, pip=True, made_by="home = /usr/bin\n"):
        place = tmp_path / folder / ".venv"
        (place / "bin").mkdir(parents=True)
        (place / "pyvenv.cfg").write_text(made_by)
        monkeypatch.setattr(sys, "executable", str(place / "bin" / "python"))
        monkeypatch.setattr(sys, "prefix", str(place))
        monkeypatch.setattr(PathFinder, "find_spec", lambda name: pip or None if name == "pip" else None)
        return place / "bin" / "python"

    monkeypatch.chdir(tmp_path)
    return run


def test_it_is_the_pip_of_the_interpreter_by_a_short_path_inside_the_folder(python):
    python("")
    assert install_command("torch==2.13.0") == ".venv/bin/python -m pip install torch==2.13.0"


def test_paths_and_packages_are_quoted_for_a_shell(python):
    python("my course")
    assert (
        install_command("mcp>=2.3", "x[y]") == "'my course/.venv/bin/python' -m pip install 'mcp>=2.3' 'x[y]'"
    )


def test_an_interpreter_elsewhere_has_its_whole_path(python, tmp_path, monkeypatch):
    path = python("one")
    (tmp_path / "on").mkdir()
    monkeypatch.chdir(tmp_path / "on")
    assert install_command("torch") == f"{path} -m pip install torch"


def test_an_environment_of_uv_which_has_no_pip_is_named_to_uv(python):
    python("", pip=False, made_by="home = /usr/bin\nuv = 0.9.2\n")
    assert install_command("torch") == "uv pip install --python .venv/bin/python torch"
    python("two", made_by="uv = 0.9.2\n")
    assert install_command("torch") == "two/.venv/bin/python -m pip install torch"


def test_what_uvx_runs_is_run_again_with_the_package(python, tmp_path, monkeypatch):
    """Its environment lies in the cache of uv, which is no place to install into."""
    python("", pip=False, made_by="uv = 0.13.9\n")
    folder = tmp_path / "uv" / "archive-v0"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str((tmp_path / ".venv").rename(folder / "3H22rULnHrW7k1rm")))
    assert install_command("torch==2.13.0") == "uvx --with=torch==2.13.0 --from WHEEL grade"


def test_where_there_is_no_pip_it_is_installed_first(python):
    python("", pip=False)
    assert install_command("torch") == (
        ".venv/bin/python -m ensurepip && .venv/bin/python -m pip install torch"
    )


def test_setuptools_still_stands_for_distutils_afterwards():
    """To ask `importlib` for pip would end that, and nbgrader could not be imported."""
    pytest.importorskip("setuptools", reason="setuptools is not installed")
    code = "from grader.installing import install_command; install_command('x'); import distutils, setuptools"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
