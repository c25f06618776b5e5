"""Stubs, hints, lists and commands of answers in PyTorch to NumPy katas."""

import ast
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.release import starter
from dojo_authoring.verify.record import write_record
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.cli.kata_list import kata_list
from grader.course.catalog import Course
from grader.course.hints import next_hint
from grader.course.state import CourseState, file_digest
from grader.course.stubs import STUB_COPIES, Versions, is_untouched, stub_source
from grader.course.submission import library_of, statement_of
from grader.course.torch_words import shape_in_torch, statement_in_torch, stub_in_torch, text_in_torch
from grader.grading import session
from grader.grading.standings import is_begun
from grader.installing import install_command
from grader.report import KataReport

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
BOTH = [info for info in COURSE.katas.values() if len(info.libraries) > 1]
#: What the file of a stub says in PyTorch, and in NumPy.
SAID = {
    "import torch": "import numpy as np",
    "torch.Tensor": "np.ndarray",
    "a Python float or a tensor of no axes": "a Python or NumPy float",
    "a Python int or a tensor of no axes": "a Python or NumPy int",
    "PyTorch": "NumPy",
}


def parameters(source):
    return [node.arg for node in ast.walk(ast.parse(source)) if isinstance(node, ast.arg)]


# --- which library a file is in ---


@pytest.mark.parametrize(
    ("imports", "library"),
    [
        ("import torch\nfrom math import sqrt", "torch"),
        ("import numpy as np, torch\nfrom math import sqrt", "numpy"),
        ("from math import sqrt", "numpy"),
    ],
)
def test_a_file_that_imports_torch_alone_is_in_pytorch_though_it_never_names_it(imports, library):
    source = f"{imports}\n\n\ndef softmax(x, axis=-1):\n    return x.softmax(axis) * sqrt(1)\n"
    assert library_of(COURSE.kata_info("softmax"), source) == library


# --- stubs ---


def in_torch(source):
    """Return a stub in PyTorch."""
    found = statement_of(source)
    return stub_in_torch(source, found[1] if found else 0)


@pytest.mark.parametrize("info", BOTH, ids=lambda info: info.name)
def test_a_stub_in_pytorch_is_derived_from_the_one_in_numpy(info):
    source = COURSE.stub(info).read_text()
    stub = in_torch(source)
    assert library_of(info, stub) == "torch"
    assert is_untouched(info, stub.encode())
    assert in_torch(stub) == stub
    assert not re.search(r"NumPy|\bnp\b|numpy|\barrays?\b", stub)
    names = [
        [node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)]
        for text in (source, stub)
    ]
    assert names[0] == names[1]
    statement = ast.get_docstring(ast.parse(stub))
    assert max(map(len, statement.splitlines())) <= 88


def test_only_types_imports_and_words_change():
    source = COURSE.stub(COURSE.kata_info("clip_gradients")).read_text()
    stub = in_torch(source)
    back = stub
    for torch, numpy in SAID.items():
        back = back.replace(torch, numpy)
    back = re.sub(r"\b([Aa]) tensor\b", r"\1n array", back)
    back = re.sub(r"\btensor(s?)\b", r"array\1", back)
    assert back.split() == source.split()


def test_a_sentence_on_a_function_of_numpy_alone_is_left_out():
    statement = "It goes wrong. A float32 met a NumPy scalar: np.sqrt(2) is one. So does NumPy."
    assert statement_in_torch(statement) == "It goes wrong. So does PyTorch."
    assert "np.sqrt" not in in_torch(
        COURSE.stub(COURSE.kata_info("scaled_dot_product_attention")).read_text()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NumPy's reductions take `axis`.", "PyTorch's reductions take `axis`."),
        ("Sum with axis=-1 and keepdims=True.", "Sum with dim=-1 and keepdim=True."),
        ("It is an array; arrays are np.ndarray.", "It is a tensor; tensors are torch.Tensor."),
        (
            "The result is float32 (2, 4); it must be int8 ().",
            "The result is float32 tensor (2, 4); it must be int8 tensor ().",
        ),
        ("It must be float32 (the default).", "It must be float32 (the default)."),
        ("np.zeros(3) is float64.", "torch.zeros(3) is float64."),
        ("Check casts (in NumPy, scalars such as np.sqrt(4)).", "Check casts."),
    ],
)
def test_texts_speak_of_pytorch(text, said):
    assert text_in_torch(text) == said


def test_an_argument_is_described_as_a_tensor():
    assert shape_in_torch("[1.0]    float32 (vocab=1)") == "[1.0]    float32 tensor (vocab=1)"


# --- a student's folder ---


STUB = "import numpy as np\n\n\ndef double(x: np.ndarray):\n    raise NotImplementedError\n"


@pytest.fixture
def course(tmp_path, tiny_files, write, monkeypatch):
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")
    return Course(write(tmp_path / "course", tiny_files))


IN_TORCH = (
    "import torch\n\ndef double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
)


def test_the_list_says_what_was_passed_in_pytorch(course):
    info = course.kata_info("double")
    course.stub(info).write_text(IN_TORCH)
    report = KataReport("double", info.track, "passed", info.max_score, library="torch")
    CourseState(course).record(report, file_digest(info, course.stub(info)))
    assert "Twice as much (in PyTorch)\n" in kata_list(course)
    assert "✓ double" in kata_list(course)


def test_hints_speak_of_the_library_of_the_file(course):
    info = course.kata_info("double")
    object.__setattr__(info, "hints", ("NumPy adds arrays.",))
    assert "NumPy adds arrays." in next_hint(course, info)
    next_hint(course, info)
    course.stub(info).write_text(IN_TORCH)
    assert "PyTorch adds tensors." in next_hint(course, info)


def test_the_stub_of_either_library_comes_from_the_one_that_was_kept(course):
    info, versions = course.kata_info("double"), Versions(CourseState(course).folder)
    stub = STUB
    course.stub(info).write_text(stub)
    versions.keep(STUB_COPIES, info, course.stub(info))
    assert stub_source(course, info, versions, "numpy") == stub.encode()
    assert stub_source(course, info, versions, "torch") == in_torch(stub).encode()
    course.stub(info).write_text(IN_TORCH)
    assert stub_source(course, info, versions) == in_torch(stub).encode()
    course.stub(info).write_text(in_torch(stub))
    versions.keep(STUB_COPIES, info, course.stub(info))
    assert stub_source(course, info, versions) == in_torch(stub).encode()
    assert stub_source(course, info, versions, "numpy") is None


def test_a_file_that_imports_pytorch_where_it_is_missing_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda _: None)
    file = tmp_path / "softmax.py"
    file.write_text("import torch\n\ndef softmax(x, axis=-1):\n    return torch.softmax(x, axis)\n")
    done = CliRunner().invoke(grade, ["softmax", "--course", str(ROOT), "--file", str(file), "--brief"])
    told = " ".join(done.output.split())
    assert done.exit_code == 2
    assert f"imports torch, and PyTorch is not installed: {install_command(session.TORCH)}" in told
    assert told.count(". ") == 0


# --- what is handed out ---


def test_library_goes_with_start():
    done = CliRunner().invoke(grade, ["--library", "torch"])
    assert (done.exit_code, done.stderr) == (
        4,
        "`--library` goes with `grade start`: grade start DIR --library.\n",
    )


def test_a_release_hands_out_stubs_in_pytorch_and_keeps_to_it(course, tmp_path):
    info = course.kata_info("double")
    course.stub(info).write_text(f'"""Twice an array."""\n\n{STUB}')
    write_record(course, [info])
    out = tmp_path / "out"
    for options in (["--library", "torch"], []):
        done = CliRunner().invoke(kata, ["release", str(out), "double", *options])
        assert done.exit_code == 0, done.output
        stub = (out / "exercises/attention/double.py").read_text()
        assert stub.startswith('"""Twice a tensor."""\n\nimport torch\n')
        assert "torch==" in (out / "requirements.txt").read_text()
    assert not list(out.rglob("*.statement.md"))
    done = CliRunner().invoke(kata, ["release", str(out), "double", "--library", "numpy"])
    assert (out / "exercises/attention/double.py").read_text() == course.stub(info).read_text()


@pytest.mark.slow
def test_the_transcript_in_pytorch_is_what_happens_from_a_wheel(tmp_path):
    """Line by line; `…` stands for lines that are left out, and one kata for all of the page."""
    page = (ROOT / "docs" / "libraries.md").read_text()
    block = next(part for part in page.split("```") if "$ grade start dojo" in part)
    wheel = starter.build_course_wheel(COURSE, ("softmax",), seed=1)[1]
    zipfile.ZipFile(io.BytesIO(wheel)).extractall(tmp_path / "installed")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "NO_COLOR": "1"}
    answer = next(part for part in page.split("```") if "def softmax" in part).removeprefix("python\n")
    folder = tmp_path
    for step in re.sub(r"\d+ katas written", "1 kata written", block).strip().split("$ ")[1:]:
        words, *told = step.rstrip().split("\n")
        _, *arguments = words.split()
        if words.startswith("cd"):
            folder = folder / arguments[0]
        elif words.startswith("vi"):
            assert (folder / arguments[0]).read_text().count("import torch\n") == 1
            (folder / arguments[0]).write_text(answer)
        else:
            command = [sys.executable, "-m", "grader.cli.grade", *arguments]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            printed = iter(done.stdout.splitlines())
            assert [line for line in told if line != "…" and line not in printed] == [], done.stdout


def test_in_a_clone_the_stubs_that_are_not_begun_are_written_in_pytorch_and_back(course, monkeypatch):
    info = course.kata_info("double")
    course.stub(info).write_text(STUB)
    monkeypatch.chdir(course.root)
    versions = Versions(CourseState(course).folder)
    versions.keep(STUB_COPIES, info, course.stub(info))

    def start(library):
        return CliRunner().invoke(grade, ["start", ".", "--library", library])

    done = start("torch")
    assert (done.exit_code, done.stdout) == (
        0,
        "1 stub changed; files that are begun stay. Begin:  grade\n",
    )
    assert course.stub(info).read_text() == in_torch(STUB)
    assert not is_begun(info, course.stub(info))
    assert start("torch").stdout.startswith("0 stubs changed;")
    course.stub(info).write_text(IN_TORCH)
    assert start("numpy").stdout.startswith("0 stubs changed;")
    assert course.stub(info).read_text() == IN_TORCH
    course.stub(info).write_text(in_torch(STUB))
    assert start("numpy").stdout.startswith("1 stub changed;")
    assert course.stub(info).read_text() == STUB


def test_where_no_course_is_the_command_for_a_clone_is_named(tmp_path):
    done = CliRunner().invoke(grade, ["start", str(tmp_path / "new"), "--library", "torch"])
    assert done.exit_code == 4
    assert "In a clone, `grade start . --library torch` writes its stubs in PyTorch." in done.stderr
