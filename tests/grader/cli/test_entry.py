"""Tests of what Ctrl-C does to a command: it ends without a traceback, with the exit code of an interrupt."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader.cli.options import INTERRUPTED, GuardedCommand

ROOT = Path(__file__).resolve().parents[3]
INTERRUPTS = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize("name", ["grade", "kata"])
def test_ctrl_c_while_modules_are_imported_ends_the_command_without_a_word(tmp_path, name):
    (tmp_path / "click.py").write_text(INTERRUPTS)  # what every command imports first
    paths = [str(tmp_path), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", f"from grader.cli.entry import {name}; {name}()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_ctrl_c_while_a_command_runs_ends_it_with_130():
    @click.command(cls=GuardedCommand)
    def command():
        raise KeyboardInterrupt

    done = CliRunner().invoke(command)
    assert (done.exit_code, done.stdout, done.stderr) == (INTERRUPTED, "", "\n")


def test_the_entry_points_are_those_of_the_package():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {name: f"grader.cli.entry:{name}" for name in ("grade", "kata")}
