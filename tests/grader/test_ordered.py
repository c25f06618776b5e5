"""The points of answers to twelve katas follow the order of a teacher: benchmarks/ordered.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KATAS = list(tomllib.loads((ROOT / "benchmarks/ordered.toml").read_text(encoding="utf-8")))


def test_there_are_twelve_katas():
    assert len(KATAS) == 12


@pytest.mark.slow
@pytest.mark.parametrize("kata", KATAS)
def test_answers_have_the_points_that_the_table_says_in_its_order(kata):
    command = [sys.executable, str(ROOT / "benchmarks/ordered.py"), kata]
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
