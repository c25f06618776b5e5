"""Hostile submissions gain no points, learn no secrets, leave no traces, and always get a report.

`grade_hostile.py` grades them in its own interpreter, in which secrets are planted.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.cases import oracle
from grader.course.catalog import load_file
from grader.worker.child.sandbox import landlock, seccomp

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPT = HERE / "grade_hostile.py"
grade_hostile = load_file("grade_hostile", SCRIPT)

SLOW = {
    "announces_a_huge_frame", "deep_recursion", "fills_the_disk", "forged_tensor", "holds_the_gil",
    "ignores_signals", "infinite_loop", "leaves_files", "memory_bomb", "never_imported", "prints_a_lot",
    "reads_its_own_memory", "reads_the_solutions", "returns_a_wide_nest", "sleeps", "thread_bomb",
}  # fmt: skip
#: Submissions that cannot be loaded; their report is one sentence without checks.
REFUSED = {
    "calls_pytest": "ModuleNotFoundError: No module named 'pytest'.",
    "exits_when_imported": "cannot be imported: The process that ran the submission ended",
    "fails_when_imported": "fails in line 3 when it is imported: RuntimeError.",
    "has_a_null_byte": "cannot be read as Python: it holds a null byte or is nested too deeply.",
    "has_a_syntax_error": "has a syntax error in line 1: expected ':'.",
    "imports_a_long_name": "ModuleNotFoundError: No module named 'aaaaaaa",
    "imports_itself_forever": "No module named 'softmax_of_somebody_else'",
    "is_a_dangling_link": "is a link; a Python file is needed.",
    "is_a_fifo": "is no regular file; a Python file is needed.",
    "is_a_folder": "is a folder; a Python file is needed.",
    "is_a_link_to_the_solution": "is a link; a Python file is needed.",
    "is_a_number": "defines no function or class called `softmax`.",
    "is_missing": "defines no function or class called `softmax`.",
    "is_nested_too_deeply": "too many nested parentheses",
    "is_not_utf8": "is not UTF-8: byte 5 cannot be read. Save it as UTF-8.",
    "is_unreadable": "softmax`." if os.geteuid() == 0 else "cannot be read: permission denied.",
    "never_imported": "cannot be imported: No answer within ",
    "takes_minutes_to_parse": "",
    "rejects_the_example": "ModuleNotFoundError: No module named 'hypothesis'.",
}
TIMES_OUT = {"holds_the_gil", "ignores_signals", "infinite_loop", "sleeps"}
EVERYTHING = sorted({path.stem for path in HERE.glob("submissions/*.py")} | set(grade_hostile.BROKEN))

#: The entries in the list of threats, and the submissions that try them.
THREATS = {
    "ends its process": "exits raises_system_exit exits_at_exit exits_when_imported",
    "closes and writes descriptors": "closes_descriptors writes_to_descriptors reads_descriptors",
    "skips, rejects, raises": "calls_pytest skips_the_test rejects_the_example raises_base_exceptions",
    "configuration and modules beside it": "imports_its_neighbours",
    "score lines and commands": "prints_score_lines raises_commands",
    "results and files of the host": "writes_the_results",
    "the worker's protocol": "answers_twice announces_a_huge_frame sends_a_frame_cut_off patches_the_worker",
    "a signal to the parent": "signals_the_grader",
    "subclasses that are equal to everything": "forged_equality forged_tensor forged_array forged_class_name",
    "objects, and arrays of them": "returns_objects",
    "arrays that change later": "changes_after_return",
    "patches": "patches_numpy patches_builtins forged_tensor",
    "NaN": "returns_nan",
    "solutions, keys, source, bytecode": "reads_the_solutions links_to_the_solutions",
    "/proc": "reads_proc",
    "frames, gc, sys.modules": "walks_the_interpreter",
    "memory that was freed": "returns_freed_memory reads_its_own_memory",
    "secrets of the environment": "reads_the_environment reads_its_own_memory",
    "the network": "asks_the_network",
    "what is mounted": "lists_the_mounts",
    "a process that outlives its check": "leaves_a_process",
    "files for a later check": "leaves_files spoils_the_course",
    "answers replayed": "replays_the_first_answer",
    "a table of known inputs": "knows_the_example",
    "behaves when watched": "behaves_when_watched",
    "counts its calls": "counts_its_calls",
    "the library's own function": "breaks_a_rule breaks_a_rule_by_a_detour",
    "never comes back": "infinite_loop holds_the_gil ignores_signals sleeps never_imported",
    "processes and threads": "fork_bomb thread_bomb starts_threads",
    "memory and disk": "memory_bomb takes_more_memory fills_the_disk",
    "recursion, address 0": "deep_recursion segfaults",
    "floods": "prints_a_lot prints_to_stderr",
    "huge values": "returns_a_deep_nest returns_a_wide_nest returns_a_huge_array returns_a_huge_integer"
    " returns_overflowing_strides returns_itself",
    "no source": "is_not_utf8 has_a_null_byte has_a_syntax_error is_nested_too_deeply takes_minutes_to_parse",
    "no file": "is_a_folder is_a_link_to_the_solution is_a_dangling_link is_a_fifo is_unreadable",
    "no entry point": "is_missing is_a_number wrong_parameter_names asks_for_more",
    "no value": "returns_generator returns_coroutine returns_none returns_nothing_much",
    "no contiguous memory": "returns_a_strided_view",
    "changed arguments": "changes_arguments",
    "imports that fail": "fails_when_imported imports_itself_forever imports_a_long_name",
    "errors that cannot be told": "raises_an_error_that_cannot_be_told",
}
#: Each layer, and the submissions that succeed without it. `dumpable` and `capabilities` are the second line
#: of defence, so they are tested without Landlock.
WITHOUT = {
    "environment": "reads_the_environment reads_its_own_memory",
    "descriptors": "reads_descriptors",
    "limits": "takes_more_memory fills_the_disk",
    "landlock": "reads_the_solutions links_to_the_solutions leaves_files writes_the_results",
    "seccomp": "fork_bomb leaves_a_process asks_the_network spoils_the_course starts_threads"
    " signals_the_grader",  # it is graded last, since it slows the grader down
    "landlock,dumpable": "reads_proc",
    "landlock,capabilities": "reads_proc",
}
HELD_BACK = {"landlock": "reads_proc"}  # the grader's memory, which the last two layers protect

whole = pytest.mark.skipif(
    not (landlock.version() and seccomp.available()), reason="the kernel has no Landlock or no seccomp"
)
pytestmark = whole


def grade_all(*names, **options):
    """Grade submissions in two concurrent processes; return the results by name."""
    lots = [names[::2], names[1::2]] if len(names) > 10 else [names]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda lot: grade_one_by_one(*lot, **options), lots))
    return {name: line for lot in found for name, line in lot.items()}


def grade_one_by_one(*names, without="", library="numpy", interpreter=sys.executable, env=None, **options):
    token = f"secret-environment-{hashlib.sha256(b'environment').hexdigest()[:16]}"
    command = [interpreter, str(SCRIPT), "--without", without, "--library", library, *names]
    environment = {**os.environ, "GRADER_TOKEN": token, **(env or {})}
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, **options)
    assert found.returncode == 0, found.stderr
    return {line["name"]: line for line in map(json.loads, found.stdout.splitlines())}


@pytest.fixture(scope="session")
def graded():
    """Grade many submissions at once; the slow ones only when a test needs the first of them."""
    seen = {}

    def outcome(name):
        if name not in seen:
            torch = grade_hostile.KATA.get(name) == "top_p"
            group = {n for n in EVERYTHING if (n in SLOW) == (name in SLOW)}
            seen.update(grade_all(name, library="torch") if torch else grade_all(*sorted(group)))
        return seen[name]

    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERYTHING)
def test_it_gains_nothing_learns_nothing_leaves_nothing(graded, name):
    if name == "forged_tensor":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    found = graded(name)
    assert found["breaches"] == []
    assert found["report"]["status"] == ("error" if name in REFUSED else "failed")
    assert REFUSED.get(name, "") in found["report"]["message"]
    if name in TIMES_OUT:
        assert {check["status"] for check in found["report"]["checks"]} == {"timeout"}


def test_every_threat_is_tried_and_every_submission_is_one():
    tried = {name for names in THREATS.values() for name in names.split()}
    assert tried == set(EVERYTHING)


@pytest.mark.slow
@pytest.mark.parametrize("layers", WITHOUT)
def test_without_a_layer_somebody_gets_through(layers):
    if "capabilities" in layers and os.geteuid() != 0:
        pytest.skip("only root has capabilities to drop")
    names = WITHOUT[layers].split()
    found = grade_all(*names, *HELD_BACK.get(layers, "").split(), without=layers)
    assert [name for name in names if not found[name]["breaches"]] == []
    for name in HELD_BACK.get(layers, "").split():
        assert not [breach for breach in found[name]["breaches"] if "learnt" in breach]


def interpreter_for_all():
    """Return an interpreter, with this one's packages, that every user may start."""
    for path in (sys.executable, "/usr/bin/python3"):
        question = f"import sys; open({str(SCRIPT)!r}).close(); print(sys.version_info[:2])"
        with contextlib.suppress(OSError):
            asked = [path, "-c", question]
            found = subprocess.run(asked, user=65534, capture_output=True, text=True, cwd="/")
            if found.stdout.strip() == str(sys.version_info[:2]):
                return path
    pytest.skip("no interpreter that an ordinary user may start, or no way into this folder")


@pytest.fixture
def folder_for_all():
    """A folder that every user may write. It is none of pytest's: another pytest that starts meanwhile closes
    those to other users."""
    with tempfile.TemporaryDirectory(prefix="dojo-", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are run by an ordinary user")
@pytest.mark.parametrize("third", range(3))
def test_all_of_it_holds_for_an_ordinary_user(folder_for_all, third):
    interpreter, where = interpreter_for_all(), folder_for_all
    packages = f"{ROOT}:{ROOT}/plugins:{sysconfig.get_paths()['purelib']}"
    judged = where / "decoder-dojo" / "judged"
    grade_hostile.copy_what_was_judged(["softmax", "double"], oracle.folder(), judged)
    judged.chmod(0o777)
    names = [name for name in EVERYTHING if name not in SLOW | {"is_unreadable"}][third::3]
    env = {"PYTHONPATH": packages, "XDG_CACHE_HOME": str(where)}
    env |= {"TMPDIR": str(where), "HOME": str(where)}
    found = grade_all(
        *names, interpreter=interpreter, user=65534, group=65534, extra_groups=[], env=env, cwd=where
    )
    assert {name: line["breaches"] for name, line in found.items() if line["breaches"]} == {}
    assert found.keys() == set(names)


def test_text_of_a_submission_stands_in_one_line_and_commands_nobody(graded):
    checks = graded("raises_commands")["report"]["checks"]
    message = next(check["message"] for check in checks if check["status"] == "error")
    assert message.startswith(r"The code raised ::error:: ::notice::score: \x1b[2J ::notice::softmax 10 / 10")
    assert re.fullmatch(r"[ -~]+", message)
