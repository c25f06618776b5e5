"""The key is kept in the cache; what is damaged is drawn again, what cannot be written is no error."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from grader import answer_key
from grader.answer_key import AnswerKey, Expected
from grader.oracle import Oracle
from grader.worker.channel import PREFIX

ROOT = Path(__file__).resolve().parents[2]
KEY = AnswerKey(
    cases=[{"x": np.arange(3.0), "n": 1}],
    expected=[Expected({"result": np.ones(2)}, {"result": (1, [2])}, [{"args[0]": np.zeros(2)}])],
    law_cases={"sums": [{"x": np.zeros((0, 2))}]},
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deep" / "down" / "double.key"


def test_a_key_is_read_as_it_was_written(file):
    answer_key.save(KEY, file)
    assert repr(answer_key.load(file)) == repr(KEY)


def test_no_draft_stays_behind(file):
    answer_key.save(KEY, file)
    assert [path.name for path in file.parent.iterdir()] == ["double.key"]


def test_where_there_is_no_file_there_is_no_key(file):
    assert answer_key.load(file) is None
    assert answer_key.load(file.parent.parent.parent) is None


def test_a_file_cut_anywhere_is_no_key(file):
    answer_key.save(KEY, file)
    data = file.read_bytes()
    for size in range(len(data)):
        file.write_bytes(data[:size])
        assert answer_key.load(file) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense" * 9,
        PREFIX.pack(b"DOJK", 2, 0, answer_key.VERSION) + b"[]",
        PREFIX.pack(b"DOJK", 12, 0, answer_key.VERSION) + b'[{"d":[]},[]]'[:12],
        PREFIX.pack(b"DOJK", 13, 0, answer_key.VERSION) + b'[{"d":[]},[]]',
        PREFIX.pack(b"DOJK", 13, 0, answer_key.VERSION + 1) + b'[{"d":[]},[]]',
        PREFIX.pack(b"DOJO", 13, 0, answer_key.VERSION) + b'[{"d":[]},[]]',
        PREFIX.pack(b"DOJK", 2**32 - 1, 2**60, answer_key.VERSION),
    ],
    ids=["empty", "nonsense", "no tree", "cut", "no cases", "version", "magic", "sizes"],
)
def test_what_is_no_key_is_not_taken_for_one(file, data):
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    assert answer_key.load(file) is None


def test_a_file_with_one_bit_changed_is_no_key(file):
    answer_key.save(KEY, file)
    data = bytearray(file.read_bytes())
    data[-1] ^= 0x40
    file.write_bytes(data)
    assert answer_key.load(file) is None


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    answer_key.save(KEY, tmp_path / "file" / "double.key")
    assert answer_key.load(tmp_path / "file" / "double.key") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(file):
    file.parent.mkdir(parents=True)
    file.parent.chmod(0o500)
    answer_key.save(KEY, file)
    assert answer_key.load(file) is None


def test_the_digest_follows_the_files_and_the_seed(tmp_path):
    file = tmp_path / "reference.py"
    file.write_text("one")
    one = answer_key.digest([file], 1)
    assert answer_key.digest([file], 1) == one
    assert answer_key.digest([file], 2) != one
    file.write_text("two")
    assert answer_key.digest([file], 1) != one


@pytest.fixture
def install(monkeypatch, tmp_path):
    """`install(folder, hypothesis="6.1.0")` puts libraries of these versions in front of all others."""

    def make(folder, **versions):
        for library, version in versions.items():
            (tmp_path / folder / library).mkdir(parents=True)
            (tmp_path / folder / library / "__init__.py").touch()
            (tmp_path / folder / f"{library}-{version}.dist-info").mkdir()
            monkeypatch.delitem(sys.modules, library, raising=False)
        monkeypatch.syspath_prepend(tmp_path / folder)

    return make


def test_the_digest_follows_the_version_of_hypothesis(install):
    install("first", hypothesis="6.1.0")
    first = answer_key.digest([])
    install("second", hypothesis="6.2.0")
    assert answer_key.digest([]) != first


def test_the_digest_follows_the_version_of_pytorch_where_the_kata_uses_it(install, tmp_path):
    with_numpy, with_torch = tmp_path / "numpy.py", tmp_path / "torch.py"
    with_numpy.write_text("import numpy as np")
    with_torch.write_text("import torch")
    install("first", torch="2.12.0")
    of_numpy, of_torch = answer_key.digest([with_numpy]), answer_key.digest([with_torch])
    install("second", torch="2.13.0+cpu")
    assert answer_key.digest([with_numpy]) == of_numpy
    assert answer_key.digest([with_torch]) != of_torch


def test_the_digest_does_not_follow_where_a_library_lies(install):
    install("first", hypothesis="6.1.0")
    first = answer_key.digest([])
    install("second", hypothesis="6.1.0")
    assert answer_key.digest([]) == first


def test_a_library_without_a_folder_beside_it_is_asked_for_its_version(monkeypatch, install, tmp_path):
    install("editable", hypothesis="6.1.0")
    (tmp_path / "editable" / "hypothesis-6.1.0.dist-info").rename(tmp_path / "kept")
    monkeypatch.setattr("importlib.metadata.version", {"hypothesis": "6.1.0"}.__getitem__)
    asked = answer_key.digest([])
    install("beside", hypothesis="6.1.0")
    assert answer_key.digest([]) == asked


def test_a_digest_is_made_where_no_version_is_known(monkeypatch, install, tmp_path):
    file = tmp_path / "kata.py"
    file.write_text("import torch")
    install("unknown", hypothesis="6.1.0")
    (tmp_path / "unknown" / "hypothesis-6.1.0.dist-info").rmdir()
    monkeypatch.setattr("importlib.metadata.version", _not_found)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert answer_key.digest([file]) == answer_key.digest([file])


def _not_found(library):
    raise PackageNotFoundError(library)


def test_a_digest_needs_neither_hypothesis_nor_pytorch():
    code = """
import sys
from pathlib import Path
from grader import answer_key

answer_key.digest([Path(sys.argv[1])])
print([name for name in ("hypothesis", "torch", "importlib.metadata") if name in sys.modules])
"""
    file = ROOT / "tests" / "katas" / "generation" / "test_top_p.py"
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert answer_key.cache_folder() == tmp_path / "decoder-dojo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert answer_key.cache_folder() == tmp_path / ".cache" / "decoder-dojo"


@pytest.fixture
def drawn(monkeypatch, tmp_path, tiny_course):
    """`drawn()` asks a fresh oracle for its key; `drawn.times` counts how often one was drawn."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    card = tiny_course.card("double")
    kata, draw = tiny_course.declaration(card), Oracle._draw

    def drawing(self):
        ask.times += 1
        return draw(self)

    def ask():
        return Oracle(kata, tiny_course, card).key

    ask.times = 0
    monkeypatch.setattr(Oracle, "_draw", drawing)
    return ask


def test_a_key_is_drawn_once(drawn):
    assert repr(drawn()) == repr(drawn())
    assert drawn.times == 1


def test_a_damaged_key_is_drawn_again_and_mended(drawn, tmp_path):
    first = drawn()
    (file,) = tmp_path.glob("decoder-dojo/double-*.key")
    file.write_bytes(file.read_bytes()[:-3])
    assert repr(drawn()) == repr(first)
    drawn()
    assert drawn.times == 2


def test_without_a_cache_a_key_is_drawn_every_time(drawn, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert repr(drawn()) == repr(drawn())
    assert drawn.times == 2


def test_pinned_examples_come_first(drawn):
    assert drawn().cases[0]["x"].tolist() == [[1, 1]]


def test_answers_are_kept_exact_and_in_the_dtype_of_the_case(drawn):
    expected = drawn().expected[0]
    assert expected.exact["result"].dtype == "float64"
    assert expected.native["result"].dtype == "float32"
