"""Tests of the command `grade`: exit codes, messages, formats."""

import importlib
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.course.files import from_here
from grader.grading import submission_run
from grader.report import from_json, to_json
from grader.worker.reader import Reader, reader

grade_module = importlib.import_module("grader.cli.grade")  # its function has the same name

RIGHT = """
import numpy as np

def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return {returned}
"""
FAILS = "mine.py fails in line 1 when it is imported"
ENDED = "The process that ran the submission ended in the middle of a call."
WEIGHTS = "shifted / shifted.sum(axis=axis, keepdims=True)"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `grade` on a source text or bytes for `softmax`; the result has exit_code, stdout, stderr."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(source=None, *options, name="softmax"):
        arguments = [name, *options]
        if source is not None:
            file = tmp_path / "mine.py"
            file.write_bytes(source if isinstance(source, bytes) else source.encode())
            arguments += ["--file", str(file)]
        return CliRunner().invoke(grade, arguments)

    return run


def test_the_worker_that_judges_is_the_only_reader_of_one_file(run, monkeypatch):
    reader().close()  # an earlier test may have started it
    started, start = [], Reader.start
    monkeypatch.setattr(Reader, "start", lambda one: started.append(one) or start(one))
    assert run(RIGHT.format(returned=WEIGHTS)).exit_code == 0
    assert started == []  # a reader beside it would be another process
    assert run(None, name="list").exit_code == 0
    assert started  # it would have been seen


def checks_of(result):
    return {check["name"]: check for check in json.loads(result.stdout)["katas"][0]["checks"]}


def failed(result):
    return {name for name, check in checks_of(result).items() if check["status"] not in ("passed", "skipped")}


@pytest.mark.parametrize(
    "returned",
    [
        f"({WEIGHTS})[...]",
        f"np.asfortranarray({WEIGHTS})",
        f"({WEIGHTS}).view(type('Mine', (np.ndarray,), {{'__eq__': lambda *_: True}}))",
    ],
    ids=["view", "fortran_order", "subclass"],
)
def test_a_right_answer_of_another_type_gets_full_marks(run, returned):
    assert run(RIGHT.format(returned=returned)).exit_code == 0


@pytest.mark.slow
def test_float64_for_float32_costs_the_dtype_check_alone_and_says_why(run):
    result = run(RIGHT.format(returned=f"({WEIGHTS}).astype(np.float64)"), "--format", "json")
    assert result.exit_code == 1
    assert failed(result) == {"keeps_the_dtype"}
    assert checks_of(result)["keeps_the_dtype"]["message"] == (
        "The result is float64; it must be float32. In NumPy a float64 scalar or array widens float32:"
        " np.sqrt(64), np.zeros(3) and np.arange(3.0) are float64."
    )


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def softmax(x, axis=-1)\n    return x\n", "mine.py has a syntax error in line 1: expected ':'."),
        ("import no", f"{FAILS}: ModuleNotFoundError: No module named 'no'. The standard library and"
         " NumPy can be imported; other files of yours cannot."),
        (f"import {'a' * 400}", f"{FAILS}: ModuleNotFoundError: No module named '{'a' * 400}'. The standard"
         " library and NumPy can be imported; other files of yours cannot."),
        ("def other():\n    pass\n", "mine.py defines no function or class called `softmax`."),
        ("def softmax(x):\n    return x\nsoftmax = 3\n",
         "mine.py defines no function or class called `softmax`."),
        ("softmax = 3\n", "mine.py defines no function or class called `softmax`."),
        (b"# caf\xe9\n", "mine.py is not UTF-8: byte 5 cannot be read. Save it as UTF-8."),
        ("x = 1\0", "mine.py cannot be read as Python: it holds a null byte or is nested too deeply."),
        ("raise SystemExit(0)\n", f"{FAILS}: SystemExit: 0."),
        ("import os\nos._exit(0)\n", f"mine.py cannot be imported: {ENDED}"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_graded_gets_one_sentence_and_exit_code_2(run, source, sentence):
    result = run(source)
    assert (result.exit_code, result.stderr.split("\n")[0], result.stdout) == (2, sentence, "")
    assert (result.stderr.count("\n") > 1) == ("syntax error" in sentence)


def test_a_syntax_error_shows_its_line_and_a_caret(run):
    result = run("\ndef softmax(x, axis=-1):\n    return (x +* 2)\n")
    assert result.stderr.split("\n")[1:] == ["  3 │ return (x +* 2)", "    │            ^", ""]


def test_a_line_of_a_file_cannot_control_the_terminal(run):
    assert "\x1b" not in run("x = '\x1b[2J' +* 2\n").stderr


def test_a_result_of_none_is_told_with_the_line_that_computes_it(run):
    result = run("def softmax(x, axis=-1):\n    x + 1\n", "--format", "json")
    message = checks_of(result)["agrees_with_reference"]["message"]
    assert message == "`softmax` returns None: line 2 computes `x + 1`, nothing is returned."


def test_the_file_that_is_graded_is_named_unless_it_is_the_obvious_one(run, tmp_path):
    told = run(RIGHT.format(returned=WEIGHTS)).stdout
    assert f"  graded  {from_here(tmp_path / 'mine.py')}\n" in told
    assert "  graded" not in run(None).stdout


def test_exercises_beside_the_student_go_before_those_of_an_installed_course(tmp_path, monkeypatch):
    file = tmp_path / "exercises" / "attention" / "softmax.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"import numpy as np\n{RIGHT.format(returned=WEIGHTS)}")
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("NO_COLOR", "1")
    result = CliRunner().invoke(grade, ["softmax"])
    assert (result.exit_code, result.stdout.split("  ")[1]) == (0, "10 / 10")


def test_a_file_that_cannot_be_graded_has_a_json_report_too(run):
    result = run("def softmax(:\n", "--format", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["katas"][0]["status"] == "error"
    assert json.loads(result.stdout)["score"] == 0


def test_an_unknown_kata_is_answered_with_the_nearest_name(run):
    result = run(name="softmx")
    assert result.exit_code == 4
    assert result.stderr == "There is no kata called `softmx`. Did you mean `softmax`?\n"


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--file", "nowhere.py"], 4, "There is no file nowhere.py."),
        (["--file", "."], 2, "is a folder; a Python file is needed."),
        (["--exercises", "nowhere"], 4, "There is no exercises folder at nowhere."),
        (["--output", "no/such/folder.json"], 4, "The report cannot be written to no/such/folder.json"),
    ],
)
def test_wrong_paths_are_one_sentence_and_an_exit_code(run, options, code, sentence):
    result = run(None, *options)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_stub_is_not_started_and_does_not_pass(run):
    result = run(None, "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["katas"][0]["status"] == "not_started"


def test_with_nothing_begun_it_welcomes_and_names_the_first_file():
    result = CliRunner().invoke(grade, [])
    assert result.exit_code == 0
    assert "Start with exercises/attention/softmax.py" in result.stdout
    assert "head_split_merge" in result.stdout


@pytest.mark.slow
def test_what_a_submission_prints_is_kept_out_of_the_json(run):
    forged = 'print("::notice::10 / 10")\n' + RIGHT.format(returned="x")
    result = run(forged, "--format", "json")
    assert json.loads(result.stdout)["katas"][0]["output"].startswith(": :notice")
    assert json.loads(result.stdout)["score"] < 10


@pytest.mark.slow
def test_the_json_report_survives_a_round_trip(run):
    data = json.loads(run(RIGHT.format(returned="x * 1.0"), "--format", "json").stdout)
    assert to_json(from_json(data)) == data


def test_output_goes_to_the_file_and_nothing_to_the_terminal(run, tmp_path):
    target = tmp_path / "report.json"
    result = run(RIGHT.format(returned=WEIGHTS), "--format", "json", "--output", str(target))
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(target.read_text())["score"] == 10


def without_times(text):
    data = json.loads(text)
    for kata in data["katas"]:
        kata["seconds"] = 0
    return data


OVERFLOWS = RIGHT.format(returned="np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)")
INVERTED = "import numpy as np\n\ndef causal_mask(query_len, key_len=None):\n" + (
    "    return np.triu(np.ones((query_len, key_len or query_len), bool))\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "source"), [("softmax", OVERFLOWS), ("causal_mask", INVERTED)])
def test_another_run_gives_the_same_report_but_for_times(run, name, source):
    first, other = (without_times(run(source, "--format", "json", name=name).stdout) for _ in range(2))
    assert first["katas"][0]["status"] == "failed"
    assert other == first


def as_program(*words, **options):
    command = [sys.executable, "-m", "grader.cli.grade", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_the_quick_exit_keeps_the_exit_code_and_the_output():
    listed, unknown = as_program("--list"), as_program("nope")
    assert (listed.returncode, unknown.returncode) == (0, 4)
    assert "softmax" in listed.stdout
    assert unknown.stderr.startswith("There is no kata called `nope`.")


def test_a_closed_pipe_is_not_reported_as_a_fault():
    command = f"{sys.executable} -m grader.cli.grade list | true"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert result.stderr == ""


def test_another_course_can_be_graded(run, tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    course = ("--course", str(tiny_course.root))
    assert "double" in run(None, *course, "--list", name="double").stdout
    double = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
    done = run(double, *course, name="double")
    assert (done.exit_code, done.stdout.split("\n")[0]) == (0, "double  10 / 10   ✓ all 9 checks hold")


def test_a_folder_without_a_course_is_reported(run, tmp_path):
    done = run(None, "--course", str(tmp_path))
    assert done.exit_code == 4
    assert done.stderr == (
        f"There is no course in {tmp_path}: it has no folder tests/katas."
        f" Start one: kata new --course {tmp_path} TRACK/NAME\n"
    )


def test_words_without_dashes_mean_the_options(tiny_course):
    course = ["--course", str(tiny_course.root)]
    assert "double" in CliRunner().invoke(grade, ["list", *course]).stdout
    assert "Think of two." in CliRunner().invoke(grade, ["hint", "double", *course]).stdout

    refused = CliRunner().invoke(grade, ["solution", "double", *course])
    assert refused.stderr == "double has not passed yet: its solution is shown once it has.\n"
    assert CliRunner().invoke(grade, ["help", *course]).stdout.startswith("Usage: grade [OPTIONS] [NAMES]")


def test_the_version_is_told():
    assert CliRunner().invoke(grade, ["--version"]).stdout.startswith("grade, version ")


def test_another_kata_cannot_be_imported_and_the_report_says_what_to_do(tiny_course, tmp_path):
    file = tmp_path / "double.py"
    file.write_text("from center import Center\n\ndef double(x):\n    return x + x\n")
    words = ["double", "--course", str(tiny_course.root), "--file", str(file)]
    told = CliRunner().invoke(grade, words).stderr
    assert "`center` is another kata. Each file stands alone: copy what you need into this one." in told


@pytest.mark.slow
def test_of_two_calls_that_take_too_long_the_second_is_stopped_sooner(run, monkeypatch):
    monkeypatch.setattr(submission_run, "CALL_SECONDS", 2.0)
    result = run("def softmax(x, axis=-1):\n    while True: pass\n", "--format", "json")
    told = [check["message"] for check in checks_of(result).values()]
    assert told[:3] == [
        "No answer within 2 seconds of computing, in line 2.",
        "Stopped after one second, since a call before took too long.",
        "No answer within 2 seconds of computing, in line 2. So this check was not run.",
    ]


def test_on_windows_it_names_wsl(run, monkeypatch):
    monkeypatch.setattr(grade_module, "sys", SimpleNamespace(platform="win32", exit=sys.exit))
    told = run(RIGHT.format(returned=WEIGHTS)).stderr
    assert told.startswith("On Windows there is no sandbox and no loop. Work in WSL 2")
