"""Tests of `grade doctor`."""

import pytest
from click.testing import CliRunner

from grader.cli import doctor
from grader.cli.grade import grade
from grader.grading.session import TORCH
from grader.installing import install_command


@pytest.fixture
def examine(tiny_course, monkeypatch):
    monkeypatch.setattr(doctor, "_gpu", lambda: "none")  # asking imports PyTorch in another process

    def run(*options):
        done = CliRunner().invoke(grade, ["--doctor", "--course", str(tiny_course.root), *options])
        assert (done.exit_code, done.stderr) == (0, "")
        return dict(line.split(None, 1) for line in done.stdout.replace("\n" + " " * 11, " ").splitlines())

    return run


def test_every_part_is_named(examine, tiny_course):
    found = examine()
    assert list(found) == [
        "Python", "NumPy", "PyTorch", "GPU", "sandbox", "editor", "terminal", "course", "exercises", "state",
    ]  # fmt: skip
    assert found["course"] == f"{tiny_course.root.resolve()}, 2 katas"
    assert found["sandbox"].startswith("a process of its own")
    assert found["terminal"].startswith("80 columns, no colour, ")


def test_what_the_sandbox_lacks_is_named(examine):
    assert examine("--isolation", "none")["sandbox"].endswith("not here: Landlock, seccomp")


def test_without_pytorch_it_names_the_command(examine, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda _: doctor.MISSING)
    assert examine()["PyTorch"] == f"not installed; for 1 of the katas: {install_command(TORCH)}"
