"""`kata audit`: what tests in five layouts catch, and that hostile homework breaks nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from dojo_audit.audit import Auditor
from dojo_audit.report import witness_of
from grader.cli.kata import kata as run_kata
from grader.processes.confinement import available

pytestmark = pytest.mark.slow  # each audits a homework in forks

LAYOUTS = Path(__file__).parent / "layouts"
needs_linux = pytest.mark.skipif(not available().is_whole, reason="needs Landlock and seccomp")


def audit(*arguments, code=0):
    """Run `kata audit` and return what it prints."""
    found = CliRunner().invoke(run_kata, ["audit", *map(str, arguments)])
    assert found.exit_code == code, found.output + str(found.exception)
    return found.output


def audited(*arguments, code=0):
    found = CliRunner().invoke(run_kata, ["audit", *map(str, arguments), "--format", "json"])
    assert found.exit_code == code, found.output + str(found.exception)
    return json.loads(found.stdout)


def contents(folder):
    """Return all files below a folder, with what they hold and when they were changed."""
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass
class Layout:
    """A homework: where its solution is, and edits of it by the fate of the tests and of the answer."""

    solution: str
    tests: str = ""
    caught: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)
    right: list[tuple[str, str]] = field(default_factory=list)


SPOILS = "scores = np.where(mask, scores, -np.inf)\n        mask[...] = False"
FOUND = {
    "flat": Layout(
        "attention.py",
        caught=[
            ("return shifted / ", "return 2 * shifted / "),
            ("np.tril(", "np.triu("),
            ("/ np.sqrt(q.shape[-1])", ""),
            ("x.size == 0", "x.size < 0"),
        ],
        missed=[
            ("-np.inf", "-1e4"),
            ("x - x.max(axis=axis, keepdims=True)", "x - x.max()"),
            ("scores = np.where(mask, scores, -np.inf)", SPOILS),
        ],
        right=[
            ("np.tril(np.ones((n, n), dtype=bool))", "np.arange(n)[:, None] >= np.arange(n)"),
            ("np.sqrt(q.shape[-1])", "k.shape[-1] ** 0.5"),
            ("x - x.max(axis=axis, keepdims=True)", "x - x.max(axis=axis, keepdims=True) - 1"),
        ],
    ),
    "package": Layout(
        "src/decoder/nn.py",
        caught=[("x @ self.weight.T", "x @ self.weight.T + 1"), ("x * sigmoid(x)", "x * sigmoid(2 * x)")],
        missed=[("return x * sigmoid(x)", "out = x * sigmoid(x)\n    x *= 1\n    x -= 1e-3\n    return out")],
        right=[("np.zeros((d_out, d_in))", "np.ones((d_out, d_in))"), ("x * sigmoid(x)", "sigmoid(x) * x")],
    ),
    "unittest_classes": Layout(
        "layer_norm.py",
        caught=[("eps=1e-5", "eps=1e-1"), (" + beta", ""), ("axis=-1", "axis=0")],
        missed=[("gamma.shape != x.shape[-1:]", "gamma.size > x.shape[-1]")],
        right=[("x.var(axis=-1, keepdims=True)", "((x - mean) ** 2).mean(axis=-1, keepdims=True)")],
    ),
    "notebook": Layout(
        "ps3.ipynb",
        caught=[("np.sin(angles)", "np.cos(angles)"), ("x + positional", "0 * x + 1")],
        missed=[("10000 **", "1000 **"), ("return x + positional(*x.shape)", "return positional(*x.shape)")],
        right=[("np.zeros((tokens, d_model))", "np.ones((tokens, d_model))")],
    ),
    "otter": Layout(
        "hw02.ipynb",
        caught=[("/ window", "/ (window + 1)"), ("float(x[0])", "float(x[0]) + 1")],
        missed=[("rate * float(value)", "float(value)"), ("(1 - rate)", "rate")],
        right=[("rate * float(value) + (1 - rate) * out[-1]", "out[-1] + rate * (float(value) - out[-1])")],
    ),
}


FATES = {"caught": (False, True), "missed": (True, True), "right": (True, False)}  # passes, is wrong


def handed_in(layout, folder, fates=tuple(FATES)):
    """Write the edited solutions as submissions; return how the tests end and whether each is wrong."""
    source = (LAYOUTS / layout / FOUND[layout].solution).read_text("utf-8")
    due = {}
    for fate in fates:
        for n, (old, new) in enumerate(getattr(FOUND[layout], fate)):
            if source.lstrip().startswith("{"):  # a notebook
                old, new = (json.dumps(text)[1:-1] for text in (old, new))
            assert old in source, old
            place = folder / f"{fate}{n}" / Path(FOUND[layout].solution).name
            place.parent.mkdir(parents=True)
            place.write_text(source.replace(old, new, 1), encoding="utf-8")
            due[f"{fate}{n}/{place.name}"] = FATES[fate]
    return due


@needs_linux
@pytest.mark.parametrize("layout", FOUND)
def test_known_submissions_meet_their_fate(layout, tmp_path):
    due = handed_in(layout, tmp_path)
    before = contents(LAYOUTS / layout)
    solution = LAYOUTS / layout / FOUND[layout].solution
    found = audited(
        LAYOUTS / layout, "--solution", solution, "--mutants", 0, "--submissions", tmp_path
    )  # fmt: skip
    assert {one["path"]: (one["passes"], one["differs"]) for one in found["submissions"]} == due
    assert all(bool(one["witness"]) == one["differs"] for one in found["submissions"])
    assert contents(LAYOUTS / layout) == before


@needs_linux
@pytest.mark.parametrize("layout", FOUND)
def test_written_tests_hold_for_the_solution_and_catch_what_was_missed(layout, tmp_path):
    homework = shutil.copytree(LAYOUTS / layout, tmp_path / layout)
    solution = homework / FOUND[layout].solution
    suffix = {"otter": "tests/q9.py", "package": "tests/test_more.py"}.get(layout, "test_more.py")
    common = [homework, "--solution", solution, "--mutants", 8]
    first = audited(*common, "--write-tests", homework / suffix)
    counts = first["counts"]
    assert counts["caught"] + counts["hung"] + counts["survived"] + counts["equal"] == 8
    written = [one for one in first["mutants"] if one["test_code"]]
    missed = [one for one in first["mutants"] if one["fate"] == "survived"]
    if layout == "notebook":
        return  # its tests are cells, to be pasted
    if not missed:
        assert not (homework / suffix).exists()
        return
    assert written
    again = audited(*common)
    assert again["counts"]["survived"] <= len(missed) - len(written)
    due = handed_in(layout, tmp_path / "class", ["right"])
    found = audited(homework, "--solution", solution, "--mutants", 0, "--submissions", tmp_path / "class")
    assert {one["path"]: (one["passes"], one["differs"]) for one in found["submissions"]} == due


SOLUTION = """
def clip(x, low, high):
    if low > high:
        raise ValueError("low is above high")
    return max(low, min(x, high))
"""
TESTS = """
from solution import clip

def test_inside():
    assert clip(3, 0, 5) == 3

def test_above():
    assert clip(7, 0, 5) == 5
"""


@pytest.fixture
def homework(tmp_path):
    """`homework(tests, solution)` writes a homework and returns its folder."""

    def write(tests=TESTS, solution=SOLUTION, name="test_it.py"):
        folder = tmp_path / "hw"
        folder.mkdir(exist_ok=True)
        (folder / "solution.py").write_text(textwrap.dedent(solution))
        (folder / name).write_text(textwrap.dedent(tests))
        return folder

    return write


def test_what_no_test_catches_is_shown_with_an_input_and_a_test(homework):
    printed = audit(homework(), "--mutants", 60)
    assert re.match(
        r"The tests catch \d+ of \d+ wrong versions of the solution; \d+ are shown to be missed", printed
    )
    assert "     - if low > high:" in printed
    assert re.search(r"   called    clip\(.*\)\n   expected  ValueError\n   got       ", printed)
    assert "with pytest.raises(ValueError):" in printed


def test_a_homework_without_numpy_is_found_by_itself(homework):
    found = audited(homework(), "--mutants", 20)
    assert found["command"].startswith("pytest -q ")
    assert found["tests"] == 2
    assert {one["where"] for one in found["mutants"]} == {"clip"}


def test_failing_tests_are_told_with_what_failed(homework):
    folder = homework(TESTS + "\ndef test_wrong():\n    assert clip(1, 0, 5) == 2\n")
    printed = audit(folder, code=4)
    assert printed.startswith("The tests fail for the solution, so nothing can be said about them.")
    assert "test_wrong" in printed


def test_tests_that_never_run_the_solution_are_told(homework):
    folder = homework("def test_nothing():\n    pass\n")
    printed = audit(folder, code=4)
    assert "never run a line of" in printed
    assert "--replaces" in printed


def test_a_homework_without_tests_is_told(tmp_path):
    (tmp_path / "solution.py").write_text(SOLUTION)
    assert "holds no tests that are found by themselves" in audit(tmp_path, code=4)


def test_a_file_in_place_of_a_folder_and_missing_submissions_are_told(homework, tmp_path):
    folder = homework()
    assert "is a file: name its folder" in audit(folder / "solution.py", code=4)
    assert "There is no folder or zip file" in audit(folder, "--submissions", tmp_path / "none", code=4)


def test_several_possible_solutions_are_told(homework):
    folder = homework()
    (folder / "solution.py").rename(folder / "one.py")
    (folder / "other.py").write_text(SOLUTION)
    assert "Which file is the solution?" in audit(folder, code=4)


def test_a_solution_elsewhere_takes_the_place_of_the_stub(homework, tmp_path):
    folder = homework(TESTS.replace("solution", "student"))
    (folder / "student.py").write_text("def clip(x, low, high):\n    raise NotImplementedError\n")
    (tmp_path / "answer.py").write_text(SOLUTION)
    (folder / "solution.py").unlink()
    options = ["--solution", tmp_path / "answer.py", "--mutants", 10]
    assert len(audited(folder, *options)["mutants"]) == 10
    named = audited(folder, *options, "--replaces", folder / "student.py")
    assert len(named["mutants"]) == 10
    (folder / "student.py").unlink()
    assert "--replaces FILE" in audit(folder, *options, code=4)


def test_a_script_and_a_command_of_the_shell_are_black_boxes(homework):
    folder = homework("from solution import clip\nassert clip(3, 0, 5) == 3\n", name="check.py")
    own = f"{sys.executable} {folder}/check.py"
    for command in (own, f"cd {folder.name} && exec {sys.executable} check.py"):
        found = audited(folder, "--tests", command, "--mutants", 12)
        assert found["counts"]["caught"] + found["counts"]["survived"] + found["counts"]["equal"] == 12
        assert found["counts"]["caught"] > 2
        assert found["counts"]["survived"] > 2


def test_an_endless_mutant_is_caught_and_counted_apart(homework, monkeypatch):
    monkeypatch.setattr("dojo_audit.audit.LEAST_CPU", 0.4)
    solution = "def count(n):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n"
    found = audited(
        homework("from solution import count\n\ndef test_three():\n    assert count(3) == 3\n", solution),
        *("--mutants", 12),
    )
    assert found["counts"]["hung"] > 0


def test_kept_state_and_changed_arguments_are_witnesses(homework, tmp_path):
    solution = "def total(xs):\n    out = 0\n    for x in xs:\n        out += x\n    return out\n"
    folder = homework(
        "from solution import total\n\ndef test_it():\n    assert total([1, 2]) == 3\n", solution
    )
    wrong = {
        "keeps": "kept = []\ndef total(xs):\n    kept.extend(xs) if len(kept) > 2 else kept.__init__(xs)\n"
        "    return sum(kept)\n",
        "changes": "def total(xs):\n    out = sum(xs)\n    xs.clear()\n    return out\n",
        "right": "def total(xs):\n    return sum(xs)\n",
    }
    for name, text in wrong.items():
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / f"{name}.py").write_text(text)
    found = audited(folder, "--mutants", 0, "--submissions", tmp_path / "class")
    fates = {one["path"]: one for one in found["submissions"]}
    assert {name: one["passes"] for name, one in fates.items()} == dict.fromkeys(fates, True)
    assert {name: one["differs"] for name, one in fates.items()} == {
        "keeps.py": True,
        "changes.py": True,
        "right.py": False,
    }
    assert fates["changes.py"]["witness"]["kind"] == "argument"


def test_submissions_that_answer_alike_are_one_group_and_have_no_names(homework, tmp_path):
    folder = homework()
    for name, text in {"ann": "max(low, x)", "bob": "max(x, low)", "cy": "max(low, min(high, x))"}.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        body = "if x > high:\n        return high\n    " if name != "cy" else ""
        head = "def clip(x, low, high):\n    if low > high:\n        raise ValueError\n    "
        (tmp_path / "class" / name / "solution.py").write_text(
            head.replace("if low > high:\n        raise ValueError\n    ", body) + f"return {text}\n"
        )
    printed = audit(folder, "--mutants", 0, "--submissions", tmp_path / "class")
    said = "Of 3 submissions, 3 pass the tests; 3 of these answer a call differently from the solution."
    assert said in printed
    assert not re.search("ann|bob", printed)
    assert "ann/solution.py" in audit(
        folder, "--mutants", 0, "--submissions", tmp_path / "class", "--names"
    )  # fmt: skip


def test_what_is_missed_becomes_drafts_of_mistakes(homework, tmp_path):
    file = tmp_path / "mistakes.py"
    audit(homework(), "--mutants", 60, "--write-mistakes", file)
    scope = {}
    exec(file.read_text("utf-8"), scope)
    mistakes = [value for name, value in scope.items() if name.startswith("clip_line_")]
    assert mistakes
    assert all(one.__doc__.startswith("TODO: say what goes wrong") for one in mistakes)
    assert scope["_clip"](7, 0, 5) == 5


def test_formats_and_the_bar(homework, tmp_path):
    folder = homework()
    report = tmp_path / "report.xml"
    printed = audit(
        folder, "--format", "junit", "--output", report, "--at-least", 100, "--mutants", 10, code=1
    )
    assert printed.startswith("The tests catch ")
    suite = ET.parse(report).getroot()[0]
    assert int(suite.attrib["tests"]) == len(suite)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) > 0
    assert audit(folder, "--format", "badge", "--mutants", 10).startswith("![tests catch ")
    page = audit(folder, "--format", "html", "--mutants", 10)
    assert "<h2>Missed</h2>" in page
    assert audit(folder, "--at-least", 1, "--mutants", 60)


def test_an_audit_that_is_stopped_goes_on(homework, monkeypatch):
    folder = homework(solution=SOLUTION + "# of this test alone, since fates are kept\n")
    tried = []
    plain = Auditor._tests_of

    def stops(self, one):
        tried.append(one.source)
        if len(tried) == 6:
            raise KeyboardInterrupt
        return plain(self, one)

    with monkeypatch.context() as patch:
        patch.setattr(Auditor, "_tests_of", stops)
        printed = audit(folder, "--mutants", 20, "--graders", 1)
    assert "note: Stopped. Run the same command again to go on." in printed
    before, tried = set(tried[:4]), []
    monkeypatch.setattr(Auditor, "_tests_of", lambda *a: tried.append(a[1].source) or plain(*a))
    found = audited(folder, "--mutants", 20, "--graders", 1)
    assert len(found["mutants"]) == 20
    assert not before & set(tried)
    assert len(tried) < 20


HOSTILE = {
    "hangs": "import time\n\ndef test_hangs():\n    time.sleep(0 if clip(7, 0, 5) == 5 else 1e6)\n",
    "forks": """
        import os, time

        def test_leaves_processes():
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        time.sleep(600)
                    os._exit(0)
            assert clip(3, 0, 5) == 3
        """,
    "writes": """
        from pathlib import Path

        def test_writes():
            for place in (OUTSIDE, HOMEWORK):
                try:
                    (Path(place) / "left_behind").write_text("x")
                except OSError:
                    pass
            Path("in_the_copy").write_text("x")
            assert clip(3, 0, 5) == 3
        """,
    "deletes": """
        import shutil

        def test_deletes():
            shutil.rmtree(HOMEWORK, ignore_errors=True)
            shutil.rmtree(".", ignore_errors=True)
            assert clip(3, 0, 5) == 3
        """,
    "floods": """
        import os

        def test_prints():
            if clip(7, 0, 5) != 5:
                while True:
                    os.write(2, b"x" * 65536)
                    print("x" * 65536, flush=True)
        """,
    "calls": """
        import socket

        def test_network():
            try:
                socket.create_connection(("127.0.0.1", PORT), 1)
            except OSError:
                pass
            assert clip(3, 0, 5) == 3
        """,
}


@needs_linux
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_tests_leave_nothing_behind(kind, homework, tmp_path, monkeypatch):
    import socket

    outside = tmp_path / "outside"
    outside.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        places = str(outside), str(tmp_path / "hw"), server.getsockname()[1]
        names = f"OUTSIDE, HOMEWORK, PORT = {places!r}\n"
        folder = homework(TESTS + names + textwrap.dedent(HOSTILE[kind]))
        before = contents(tmp_path)
        monkeypatch.setattr("dojo_audit.audit.LEAST_WALL", 2.0)
        found = audited(folder, "--mutants", 4)
        with pytest.raises(TimeoutError):
            server.accept()
    assert len(found["mutants"]) == 4
    assert contents(tmp_path) == before
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert "kata-audit-" not in left
    if kind == "hangs":
        assert found["counts"]["caught"] + found["counts"]["hung"] > 0


@needs_linux
def test_tests_that_start_processes_without_an_end_are_told(homework):
    tests = """
        import os, time

        def test_forks():
            for _ in range(1000):  # an end that no limit needs
                if os.fork() == 0:
                    time.sleep(100)
                    os._exit(0)
            assert clip(3, 0, 5) == 3
        """
    printed = audit(homework(TESTS + textwrap.dedent(tests)), code=4)
    assert "The tests start processes without an end for the solution" in printed
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert "kata-audit-" not in left


@needs_linux
def test_an_audit_that_is_killed_leaves_no_process_and_no_copy(homework, tmp_path):
    folder = homework(TESTS + "import time\n\ndef test_slow():\n    time.sleep(0.2)\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = "from grader.cli.kata import kata; kata()"
    command = [sys.executable, "-c", code, "audit", str(folder), "--fresh"]
    running = subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/run-3")) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    running.wait()
    while list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(temporary.iterdir())


@needs_linux
def test_a_submission_that_deletes_its_folder_ends_with_a_report(homework, tmp_path):
    folder = homework()
    (tmp_path / "class").mkdir()
    path = str(folder)
    (tmp_path / "class" / "evil.py").write_text(
        f"import os, shutil\nshutil.rmtree({path!r}, ignore_errors=True)\nos.chmod({path!r}, 0)\n" + SOLUTION
    )
    (tmp_path / "class" / "own.py").write_text(
        "import os, shutil\nshutil.rmtree(os.path.dirname(__file__))\n" + SOLUTION
    )
    (tmp_path / "class" / "exits.py").write_text("import os\nos._exit(1)\n")
    before = contents(tmp_path)
    found = audited(folder, "--mutants", 0, "--submissions", tmp_path / "class")
    passes = {one["path"]: one["passes"] for one in found["submissions"]}
    assert passes == {"evil.py": True, "exits.py": False, "own.py": False}
    assert contents(tmp_path) == before
    assert os.access(folder, os.R_OK)


ENDS = {
    "exits": "import os\nos._exit(0)\n",
    "answers": """
        import json, os
        forged = {"kind": "no such kind", "steps": 7, "failed": None, "tests": ["a", "b"], "ran": 2}
        os.write(3, json.dumps({**forged, "seal": "0" * 32, "found": forged}).encode() + b"\\n")
        os._exit(0)
        """,
    "adds": 'import os\nos.write(3, b\'{"kind": "value"}\')\n' + SOLUTION,
    "halves": "import os\nos.write(3, b'\"\\\\ud800\"')\nos._exit(0)\n",
    "skips": "import pytest\npytest.skip(allow_module_level=True)\n",
    "skips_later": "import pytest\n\ndef clip(*_):\n    pytest.skip()\n",
    "ends_pytest": "import pytest\n\ndef clip(*_):\n    pytest.exit('so', returncode=0)\n",
    "leaves": "import sys\nsys.exit(0)\n",
}


@needs_linux
def test_a_submission_that_ends_the_run_or_answers_for_it_does_not_pass(homework, tmp_path):
    (tmp_path / "class").mkdir()
    for name, text in {**ENDS, "right": SOLUTION}.items():
        (tmp_path / "class" / f"{name}.py").write_text(textwrap.dedent(text))
    found = audited(homework(), "--mutants", 0, "--submissions", tmp_path / "class")
    assert {one["path"]: one["passes"] for one in found["submissions"]} == {
        **{f"{name}.py": False for name in ENDS},
        "right.py": True,
    }
    [exits] = [one for one in found["submissions"] if one["path"] == "exits.py"]
    assert (exits["witness"]["kind"], exits["witness"]["got"]) == (
        "missing",
        "it cannot be loaded: the process ends",
    )


@needs_linux
def test_a_script_that_the_submission_ends_does_not_pass(homework, tmp_path):
    folder = homework("from solution import clip\nassert clip(7, 0, 5) == 5\n", name="check.py")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "class" / "right.py").write_text(SOLUTION)
    words = [
        "--tests",
        f"{sys.executable} {folder}/check.py",
        "--mutants",
        0,
        "--submissions",
        tmp_path / "class",
    ]
    found = audited(folder, *words)
    assert {one["path"]: one["passes"] for one in found["submissions"]} == {
        "leaves.py": False,
        "right.py": True,
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "no such kind"},
        {"kind": "value", "steps": [{"name": 7}]},
        {"kind": "value", "steps": [{"given": [["x"]]}]},
        {"kind": "value", "steps": [{}] * 1000},
        {"kind": ["value"]},
        {"kind": "value", "at": float("inf")},
    ],
)
def test_a_malformed_answer_is_no_witness(answer):
    assert witness_of(answer) is None


def test_a_link_beside_a_notebook_is_not_written_through(tmp_path):
    folder = shutil.copytree(LAYOUTS / "notebook", tmp_path / "hw")
    [notebook] = folder.glob("*.ipynb")
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / f"{notebook.stem}_cells").symlink_to(outside)
    printed = audit(notebook, code=4)
    assert "hw cannot be copied: a folder on the way to its files is a link." in printed
    assert not list(outside.iterdir())


FOREIGN = {
    "a link": (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "a FIFO": (os.mkfifo, "is no regular file"),
    "not UTF-8": (lambda path: path.write_bytes(b"# \xff"), "cannot be read"),
    "a null byte": (lambda path: path.write_bytes(b"x = 1\0"), "null bytes"),
    "huge": (
        lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 1 << 28),
        "is larger than 16 MiB",
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_solution_that_cannot_be_read_is_told(kind, homework):
    folder = homework()
    (folder / "solution.py").unlink()
    FOREIGN[kind][0](folder / "solution.py")
    assert FOREIGN[kind][1] in audit(folder, code=4)


def test_a_submission_that_cannot_be_read_is_a_note(homework, tmp_path):
    (tmp_path / "class").mkdir()
    for number, (make, _) in enumerate(FOREIGN.values()):
        make(tmp_path / "class" / f"s{number}.py")
    (tmp_path / "class" / "right.py").write_text(SOLUTION)
    found = audited(homework(), "--mutants", 0, "--submissions", tmp_path / "class")
    assert [one["path"] for one in found["submissions"] if one["passes"]] == ["right.py"]
    told = [note for note in found["notes"] if "cannot be read: " in note or " is " in note]
    assert [note.split()[0] for note in told] == ["s0.py", "s1.py", "s2.py", "s3.py", "s5.py"]


def test_more_files_than_anybody_copies_and_folders_without_an_end_are_told(homework, monkeypatch):
    folder = homework()
    monkeypatch.setattr("dojo_audit.homework.MOST_FILES", 5)
    for number in range(5):
        (folder / f"{number}.txt").touch()
    assert "holds more than 5 files" in audit(folder, code=4)
    monkeypatch.undo()
    (folder / Path(*"a" * 40)).mkdir(parents=True)
    assert "holds folders in folders, more than 32 deep" in audit(folder, code=4)
