"""Tests of answer keys: the same reports as with solutions, and messages for unusable keys."""

import hashlib
import json
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dojo_authoring.release.keys import entry_of
from grader.answer_keys import file as key_file
from grader.answer_keys.answers import (
    Answer,
    AnsweredCases,
    Expected,
    Recorded,
    RecordedMistake,
    numbered,
)
from grader.answer_keys.file import (
    HEAD,
    LEVEL,
    MAGIC,
    VERSION,
    KataKey,
    KeyFile,
    Keyring,
    KeyUnusable,
    open_keyring,
    pack,
    repacked,
    write,
)
from grader.cli.grade import grade as run_grade
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.grading.grader import Grader

CHECKED = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return {}\n"
SUBMISSIONS = {
    "right": CHECKED.format("x + x"),
    "three times": CHECKED.format("x + x + x"),
    "the size": CHECKED.format("abs(x * 2)"),
    "unknown": CHECKED.format("x * 5"),
    "two mistakes": "def double(x):\n    return x * 2 if isinstance(x, str) else x * 3\n",
    "another dtype": CHECKED.format("(x * 3).astype('float64')"),
    "raises": "def double(x):\n    raise KeyError('x')\n",
    "none": "def double(x):\n    return None\n",
    "ends": "import os\ndef double(x):\n    os._exit(3)\n",
}


@pytest.fixture(scope="session")
def double_key(tiny_course):
    """Return the bytes of a file with the key of `double`."""
    return write([entry_of(tiny_course, tiny_course.kata_info("double"), 20170612)], 20170612, "0")


@pytest.fixture(scope="session")
def released(tiny_course, double_key, tmp_path_factory):
    """Return a copy of the course with keys and without solutions."""
    root = tmp_path_factory.mktemp("released")
    for part in ("exercises", "tests"):
        for file in (tiny_course.root / part).rglob("*.py"):
            copy = root / file.relative_to(tiny_course.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    (root / "keys").mkdir()
    (root / "keys" / "double.key").write_bytes(double_key)
    return Course(root)


def told(report):
    """Return the report without times and printed output."""
    return replace(report, seconds=0.0, output="")


@pytest.mark.parametrize("source", SUBMISSIONS.values(), ids=list(SUBMISSIONS))
def test_a_key_gives_the_report_that_the_solutions_give(source, tiny_course, released, numpy_source):
    infos = [released.kata_info("double")]
    keyring = open_keyring(released, infos, None, None)
    with_key = Grader(released, {"numpy": numpy_source}, keyring=keyring)
    with_solutions = Grader(tiny_course, {"numpy": numpy_source})
    reports = [
        told(grader.grade(Submission(grader.course.kata_info("double"), source, "mine.py")).report)
        for grader in (with_key, with_solutions)
    ]
    assert reports[0] == reports[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "result",
    [
        "(x - x.mean(-1, keepdim=True)) * self.scale",
        "(x - x.mean(-1, keepdim=True).detach()) * self.scale",
        "x - x.mean(-1, keepdim=True)",
    ],
)
def test_a_key_holds_gradients(result, tiny_course, torch_source):
    info = tiny_course.kata_info("center")
    data = write([entry_of(tiny_course, info, 20170612)], 20170612, "0")
    keyring = Keyring([KeyFile(data, "center.key")], "keys")
    source = (
        "import torch\nfrom torch import nn\nclass Center(nn.Module):\n    def __init__(self, width):\n"
        "        super().__init__()\n        self.scale = nn.Parameter(torch.ones(width))\n"
        f"    def forward(self, x):\n        return {result}\n"
    )
    sources = {"torch": torch_source}
    graders = Grader(tiny_course, sources, keyring=keyring), Grader(tiny_course, sources)
    reports = [told(grader.grade(Submission(info, source, "mine.py")).report) for grader in graders]
    assert reports[0] == reports[1]


def test_the_same_seed_makes_the_same_bytes(tiny_course, double_key):
    again = write([entry_of(tiny_course, tiny_course.kata_info("double"), 20170612)], 20170612, "0")
    assert again == double_key


def test_a_key_at_another_level_of_compression_has_the_same_content_and_comes_back(double_key):
    plain = repacked(double_key, 0)
    assert len(plain) > len(double_key)
    assert KeyFile(plain, "").message("double", "mistakes").keys() == {"values", "records", "mistakes"}
    assert repacked(plain, LEVEL) == double_key


def test_another_seed_makes_other_cases(tiny_course, double_key):
    entry = entry_of(tiny_course, tiny_course.kata_info("double"), 5)
    assert entry.answers != KeyFile(double_key, "key").entry("double").answers


def test_a_key_holds_no_code_and_no_docstring_of_a_reference(double_key):
    file = KeyFile(double_key, "key")
    texts = repr([file.katas, file.message("double", "answers"), file.message("double", "mistakes")])
    assert "The sign was lost".lower() in texts.lower()
    for code in ("def ", "return ", "_checked", "x + x", "raise", "SimpleNamespace"):
        assert code not in texts


def test_an_array_is_stored_once_however_often_it_occurs():
    answer = Answer(np.arange(50_000.0))
    recorded = Recorded("failed", "0" * 16, True, (answer,))
    mistakes = [RecordedMistake(f"m{i}", "", {"a": [recorded] * 20}) for i in range(20)]
    entry = pack("k", "d", AnsweredCases([], [], {}), mistakes)
    assert entry.mistakes[2] == 400_000


def test_a_key_holds_another_way_to_write_the_kata_in_words(double_key):
    file = KeyFile(double_key, "double.key")
    assert file.way("double") == "Another way: multiply by two."
    assert file.entry("double").way == file.way("double")


def test_packed_answers_can_be_read_back():
    answers = AnsweredCases(
        numbered([{"x": np.ones((2, 3), order="F")}]),
        [Expected({"r": 1.0}, {"r": 1})],
        {"law": numbered([{}])},
        [""],
    )
    mistake = RecordedMistake(
        "m", "Told.", {"a": [None, Recorded("error", "ab", False, (Answer(None, "E"),))]}
    )
    key = KataKey(KeyFile(write([pack("k", "d", answers, [mistake])], 7, "1"), "f"), "k")
    assert key.mistakes == [mistake]
    assert key.answers.expected == answers.expected
    assert key.answers.cases[0].arguments["x"].strides == (8, 16)
    assert key.file.seed == 7


# --- unusable keys ----------------------------------------------------------------------------------


def signed(data):
    return data + hashlib.sha256(data).digest()


def with_index(data, change):
    """Return the file with a changed index and a correct checksum."""
    at = len(MAGIC) + HEAD.size
    version, length = HEAD.unpack_from(data, len(MAGIC))
    index = json.loads(data[at : at + length])
    change(index)
    text = json.dumps(index).encode()
    return signed(MAGIC + HEAD.pack(version, len(text)) + text + data[at + length : -32])


def changed(place, value, part="answers"):
    """Change a number in the index entry of a section: offset, length, header or body."""

    def change(index):
        index["katas"][0][part][place] = value

    return lambda data: with_index(data, change)


DAMAGED = "double.key is cut off or damaged: fetch it again, or make it anew."
BROKEN = {
    "empty": (lambda _: b"", "double.key is no file of answer keys."),
    "foreign": (lambda data: b"PK\x03\x04" + data, "double.key is no file of answer keys."),
    "head alone": (lambda data: data[:20], DAMAGED),
    "cut off": (lambda data: data[:-100], DAMAGED),
    "one bit": (lambda data: data[:500] + bytes([data[500] ^ 1]) + data[501:], DAMAGED),
    "more behind": (lambda data: data + b"x", DAMAGED),
    "future": (
        lambda data: data[:8] + struct.pack(">H", 9) + data[10:],
        "double.key was written by a newer version of the grader: upgrade the grader.",
    ),
    "index too long": (lambda _: signed(MAGIC + HEAD.pack(VERSION, 2**31) + b"{}" * 50), DAMAGED),
    "index no JSON": (lambda _: signed(MAGIC + HEAD.pack(VERSION, 2) + b"{{"), DAMAGED),
    "index no index": (lambda data: with_index(data, lambda index: index.pop("seed")), DAMAGED),
    "section beyond the end": (changed(0, 2**40), DAMAGED),
    "section of gigabytes": (changed(3, 2**40), DAMAGED),
    "section of other lengths": (changed(2, 5), DAMAGED),
    "section negative": (changed(1, -5), DAMAGED),
    "section missing": (
        lambda data: with_index(data, lambda index: index["katas"][0].pop("answers")), DAMAGED),
    "another kata": (
        lambda data: with_index(data, lambda index: index["katas"][0].update(name="triple")),
        "double.key holds no answers to `double`."),
    "another declaration": (
        lambda data: with_index(data, lambda index: index["katas"][0].update(declaration="0")),
        "double.key: its answers to `double` belong to another state of"
        " tests/katas/attention/test_double.py; restore that file, or get a new key."),
}  # fmt: skip


@pytest.fixture
def run(released, tmp_path, monkeypatch):
    """Return `run(*options)`, which grades a right answer to `double` in the released course."""
    monkeypatch.chdir(released.root)
    monkeypatch.delenv("DOJO_SEAL", raising=False)
    file = tmp_path / "mine.py"
    file.write_text(SUBMISSIONS["right"])

    def run(*options):
        return CliRunner().invoke(run_grade, ["double", "--file", str(file), *map(str, options)])

    return run


@pytest.mark.parametrize(("breaking", "sentence"), BROKEN.values(), ids=list(BROKEN))
def test_an_unusable_key_is_one_sentence_and_exit_code_2_and_never_a_score(
    breaking, sentence, double_key, run, tmp_path
):
    (tmp_path / "double.key").write_bytes(breaking(double_key))
    result = run("--key", tmp_path / "double.key")
    assert (result.exit_code, result.stderr, result.stdout) == (4, sentence + "\n", "")


def test_a_missing_key_is_one_sentence(run, tmp_path):
    result = run("--key", tmp_path / "no.key")
    assert (result.exit_code, result.stderr) == (
        4,
        "The key no.key cannot be read: no such file or directory.\n",
    )


def test_a_folder_without_a_key_for_the_kata_is_one_sentence(run, tmp_path):
    result = run("--key", tmp_path)
    assert (result.exit_code, result.stderr) == (4, f"{tmp_path.name} holds no answers to `double`.\n")


def test_a_course_without_solutions_is_graded_with_its_keys(run):
    result = run()
    assert result.exit_code == 0, result.stderr
    assert "10 / 10" in result.stdout


def test_the_report_names_the_file_the_key_and_the_versions(run, tmp_path):
    report = json.loads(run("--format", "json").stdout)
    assert report["katas"][0]["digest"] == hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()
    assert report["provenance"]["numpy"] == np.__version__
    assert len(report["provenance"]["key"]) == 16


def test_a_larger_message_than_announced_is_never_unpacked(double_key):
    file = KeyFile(changed(3, 1, "mistakes")(double_key), "k")
    with pytest.raises(KeyUnusable):
        file.message("double", "mistakes")


def test_a_passing_grade_unpacks_no_mistakes_and_imports_nothing_heavy(released, tmp_path):
    (tmp_path / "mine.py").write_text(SUBMISSIONS["right"])
    code = (
        "import sys\nfrom grader.cli.grade import grade\ntry:\n"
        f"    grade(['double', '--file', {str(tmp_path / 'mine.py')!r}])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'hypothesis', 'torch', 'cryptography', 'grader.diagnosis.matcher'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=released.root, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.splitlines()[-1] == "[]", found.stderr


def test_a_key_needs_solutions_to_be_made(released, monkeypatch):
    monkeypatch.chdir(released.root)
    result = CliRunner().invoke(run_kata, ["key", "double"])
    assert result.exit_code == 4
    assert result.stderr == "A key is made from the solutions, and `double` has none here.\n"


def test_keys_go_into_a_folder_or_one_file(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    folder, file = tmp_path / "keys", tmp_path / "all.key"
    for output in (folder, file, file):
        result = CliRunner().invoke(run_kata, ["key", "double", "--output", str(output)])
        assert result.exit_code == 0, result.stderr
    assert (folder / "double.key").read_bytes() == file.read_bytes()
    assert key_file.KeyFile(file.read_bytes(), "").katas.keys() == {"double"}
