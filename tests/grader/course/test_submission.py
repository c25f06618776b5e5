"""A file is read and parsed without running it, and is rejected with one sentence if it is invalid."""

import json
import os
import sys
import textwrap

import pytest

from grader.course.submission import MAX_BYTES, SubmissionRejected, Unreadable, read_submission
from grader.worker import reader


@pytest.fixture
def info(tiny_course):
    return tiny_course.kata_info("double")


@pytest.fixture
def read(info, tmp_path, monkeypatch):
    """`read(bytes or text)` reads a file `mine.py` of that content."""
    monkeypatch.chdir(tmp_path)

    def read(content):
        data = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
        (tmp_path / "mine.py").write_bytes(data)
        return read_submission(info, tmp_path / "mine.py")

    return read


def refusal(call, *args):
    with pytest.raises(SubmissionRejected) as refused:
        call(*args)
    return str(refused.value)


TOO_LONG = "mine.py could not be judged: reading it takes more than 20 seconds of computing."
TOO_DEEP = "mine.py cannot be read as Python: it holds a null byte or is nested too deeply."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"x = 1\ny = (\n", "mine.py has a syntax error in line 2: '(' was never closed."),
        (b"def f(:\n", "mine.py has a syntax error in line 1: invalid syntax."),
        (
            b"if 1:\nx = 2\n",
            "mine.py has a syntax error in line 2: expected an indented block after 'if' "
            "statement on line 1.",
        ),
        (b"x = 'caf\xe9'\n", "mine.py is not UTF-8: byte 8 cannot be read. Save it as UTF-8."),
        (b"x = 1\0\n", TOO_DEEP),
        (
            b"x = " + b"(" * 1000 + b")" * 1000,
            "mine.py has a syntax error in line 1: too many nested parentheses.",
        ),
        (b"#" * (MAX_BYTES + 1), "mine.py is larger than 1 MiB."),
    ],
    ids=["open bracket", "no signature", "no block", "latin-1", "null byte", "brackets", "large"],
)
def test_what_cannot_be_parsed_is_refused(read, content, sentence):
    assert refusal(read, content) == sentence


def test_what_is_nested_too_deeply_is_refused(read):
    """Python's parser says for some of it that there is no memory left."""
    assert "is nested too deeply" in refusal(read, b"x = " + b"-" * 100_000 + b"1")
    assert refusal(read, b"x = a" + b".a" * 3_000) == TOO_DEEP


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python parses f-strings in linear time")
@pytest.mark.parametrize("end", ["'", "' + ("], ids=["whole", "with an open bracket"])
def test_f_strings_that_would_be_parsed_for_minutes_are_not_judged(read, end, monkeypatch):
    monkeypatch.setattr(reader, "SECONDS", 1.0)
    with pytest.raises(Unreadable) as refused:
        read(b"x = f'" + b"{1}" * 340_000 + end.encode() + b"\n")
    assert str(refused.value) == TOO_LONG
    assert read(b"x = 1").library == "numpy", "another reader takes its place"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python parses f-strings in linear time")
def test_f_strings_of_a_notebook_are_not_judged_either(info, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reader, "SECONDS", 0.5)
    source = "%%kata double\nx = f'" + "{1}" * 80_000 + "'\n"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4, "metadata": {}}))
    assert refusal(read_submission, info, tmp_path / "a.ipynb") == TOO_LONG.replace("mine.py", "a.ipynb")


@pytest.mark.slow
def test_many_short_f_strings_and_a_long_table_are_read(read):
    assert read(b"x = f'{1}'\n" * 10_000).source.count("{") == 10_000
    assert read(b"x = [" + b"{1: 2}, " * 10_000 + b"]\n").source.count("{") == 10_000


def test_a_folder_is_refused(info, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert refusal(read_submission, info, tmp_path / "mine") == "mine is a folder; a Python file is needed."


def test_a_file_that_is_not_there_is_refused(info, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(read_submission, info, tmp_path / "a" / "b.py") == "There is no file a/b.py."
    (tmp_path / "dangling.py").symlink_to("nowhere")
    assert (
        refusal(read_submission, info, tmp_path / "dangling.py")
        == "dangling.py is a link; a Python file is needed."
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_fifo_is_refused_without_waiting_for_it(info, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe.py")
    assert (
        refusal(read_submission, info, tmp_path / "pipe.py")
        == "pipe.py is no regular file; a Python file is needed."
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_cannot_be_read_is_refused(info, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch(mode=0)
    assert (
        refusal(read_submission, info, tmp_path / "mine.py") == "mine.py cannot be read: permission denied."
    )


def test_a_path_elsewhere_is_told_by_its_name_alone(info, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert refusal(read_submission, info, tmp_path / "mine.py") == "There is no file mine.py."


def test_a_byte_order_mark_is_left_out(read):
    assert read(b"\xef\xbb\xbfx = 1").source == "x = 1"


def test_reading_runs_nothing(read, tmp_path):
    read(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "source",
    [
        "def double(x):\n    raise NotImplementedError",
        'def double(x):\n    """Statement."""\n    raise NotImplementedError("write it")',
        "import numpy as np\nHALF = 2\ndef double(x): raise NotImplementedError\ndef helper(): return 1",
        "class double:\n    '''S.'''\n    n: int\n    def a(self):\n        raise NotImplementedError",
        "def double(x):\n    pass",
        "def double(x):\n    ...",
        'def double(x):\n    """Statement."""',
        "class double:\n    def a(self): pass\n    def b(self): raise NotImplementedError",
    ],
)
def test_a_stub_is_not_begun(read, source):
    assert not read(source).begun


@pytest.mark.parametrize(
    "source",
    [
        "def double(x):\n    return 2 * x",
        "def double(x):\n    y = x\n    raise NotImplementedError",
        "def double(x):\n    raise ValueError",
        "double = lambda x: 2 * x",
        "def dubble(x): return 2 * x",
        "class double:\n    def a(self): raise NotImplementedError\n    def b(self): return 1",
        "class double:\n    width = 3",
        "class Right: ...\nclass double(Right): pass",
        "class Right: ...\nclass double(Right): ...",
        'class Right: ...\nclass double(Right):\n    """S."""',
        "class Right: ...\nclass double(Right):\n    def a(self): raise NotImplementedError",
        "class Right: ...\nBase = Right\nclass double(Base):\n    def a(self): raise NotImplementedError",
        "class double:\n    a: object = len\n    def b(self): raise NotImplementedError",
        "class double:\n    @fill\n    def a(self): raise NotImplementedError",
        "class double:\n    def a(self): raise NotImplementedError\ndouble.a = lambda self: 1",
        "async def double(x):\n    raise NotImplementedError",
    ],
)
def test_code_is_a_beginning(read, source):
    assert read(source).begun


@pytest.mark.parametrize("source", ["", '"""Only the statement."""'])
def test_a_file_without_its_entry_points_is_begun_so_that_the_lack_is_told(read, source):
    assert read(source).begun
