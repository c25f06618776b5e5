"""Tests of the confinement of processes that run code of others with the rights of this user."""

import json
import os
import subprocess
import sys

import pytest

from grader.processes.confinement import Protection, available

needs_sandbox = pytest.mark.skipif(not available().is_whole, reason="needs Landlock and seccomp")

CONFINED = """
import json, os, sys
from grader.processes import confinement, limits
folder, isolation, reads, wishes = json.loads(sys.argv[1])
found = confinement.enter(folder, isolation, 60, os.getppid(), reads=reads)

def tried(path, mode):
    try:
        open(path, mode).close()
        return "done"
    except OSError as error:
        return type(error).__name__

with limits.limited(1.0):  # a filter forbids to change limits
    pass
print(json.dumps([found.landlock_abi, found.seccomp, [tried(*wish) for wish in wishes]]))
"""


def confined(folder, isolation, reads, wishes):
    """What a process that has confined itself says of opening files."""
    told = json.dumps(
        [str(folder), isolation, [*map(str, reads)], [[str(path), mode] for path, mode in wishes]]
    )
    done = subprocess.run([sys.executable, "-c", CONFINED, told], capture_output=True, text=True, check=True)
    abi, is_filtered, answers = json.loads(done.stdout)
    return Protection(abi, is_filtered), answers


@needs_sandbox
def test_what_is_not_listed_is_not_read_and_only_the_folder_is_written(tmp_path):
    """Also where a single file is listed: Landlock takes no rights to folders for it."""
    own, listed, other = (tmp_path / name for name in ("own", "listed", "other"))
    for folder in (own, listed, other):
        folder.mkdir()
        (folder / "file").write_text("x")
    wishes = [
        (own / "new", "w"), (listed / "file", "r"), (listed / "file", "w"), (other / "file", "r"),
        (other / "new", "w"), ("/dev/null", "w"), (sys.executable, "r"),
    ]  # fmt: skip
    found, answers = confined(own, "best", [sys.prefix, listed, os.path.realpath(sys.executable)], wishes)
    assert found == available()
    refused = "PermissionError"
    assert answers == ["done", "done", refused, refused, refused, "done", "done"]


def test_without_isolation_there_are_limits_alone(tmp_path):
    found, answers = confined(tmp_path, "none", [], [(tmp_path.parent / "new", "w")])
    assert (found, answers) == (Protection(), ["done"])
