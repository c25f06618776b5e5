"""Answers are cached; a damaged file is made again, and a folder that cannot be written is no error."""

import os

import numpy as np
import pytest

from grader.answer_keys.answers import AnsweredCases, Expected, numbered
from grader.answer_keys.file import pack
from grader.cases import oracle
from grader.cases.oracle import Oracle

KEY = AnsweredCases(
    cases=numbered([{"x": np.arange(3.0), "n": 1}]),
    expected=[Expected({"result": np.ones(2)}, {"result": (1, [2])}, [{"args[0]": np.zeros(2)}])],
    law_cases={"sums": numbered([{"x": np.zeros((0, 2))}])},
    corners=[""],
)


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Return `ask()`, which returns the cached answers; `ask.made` counts how often they were made."""
    monkeypatch.setattr(oracle, "cache_folder", lambda: tmp_path / "deep" / "down")

    def make():
        ask.made += 1
        return pack("double", "", KEY)

    def ask():
        return oracle.cached("double", "0123", make).answers

    ask.made = 0
    ask.file = tmp_path / "deep" / "down" / "judged" / "double-0123.key"
    return ask


def test_answers_are_made_once(ask):
    assert repr(ask()) == repr(ask()) == repr(KEY)
    assert ask.made == 1


def test_no_draft_stays_behind(ask):
    ask()
    assert {path.name for path in ask.file.parent.iterdir()} == {"double-0123.key", "double.lock"}


def test_a_file_cut_anywhere_is_made_anew(ask):
    ask()
    data = ask.file.read_bytes()
    for size in range(0, len(data), 7):
        ask.file.write_bytes(data[:size])
        assert oracle.read_entry(ask.file.name, "double") is None
    ask()
    assert (ask.made, ask.file.read_bytes()) == (2, data)


def test_a_file_with_one_bit_changed_is_made_anew(ask):
    ask()
    data = bytearray(ask.file.read_bytes())
    data[-1] ^= 0x40
    ask.file.write_bytes(data)
    assert repr(ask()) == repr(KEY)
    assert ask.made == 2


def test_a_folder_that_cannot_be_made_is_no_error(monkeypatch, tmp_path, ask):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(oracle, "cache_folder", lambda: tmp_path / "file" / "cache")
    assert repr(ask()) == repr(ask()) == repr(KEY)
    assert ask.made == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(ask):
    ask.file.parent.mkdir(parents=True)
    ask.file.parent.chmod(0o500)
    assert repr(ask()) == repr(ask()) == repr(KEY)


@pytest.fixture
def drawn(monkeypatch, tmp_path, tiny_course):
    """Return `drawn()`, which returns a new oracle's key; `drawn.times` counts how often one was drawn."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    info = tiny_course.kata_info("double")
    kata, draw = tiny_course.declaration(info), Oracle._draw

    def drawing(self):
        ask.times += 1
        return draw(self)

    def ask():
        return Oracle(kata, tiny_course, info).answered

    ask.times = 0
    monkeypatch.setattr(Oracle, "_draw", drawing)
    return ask


def test_a_key_is_drawn_once(drawn):
    assert repr(drawn()) == repr(drawn())
    assert drawn.times == 1


def test_a_damaged_key_is_drawn_again_and_mended(drawn, tmp_path):
    first = drawn()
    (file,) = tmp_path.glob("decoder-dojo/judged/double-*.key")
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
    assert drawn().cases[0].arguments["x"].tolist() == [[1, 1]]


def test_answers_are_kept_exact_and_in_the_dtype_of_the_case(drawn):
    expected = drawn().expected[0]
    assert expected.exact["result"].dtype == "float64"
    assert expected.native["result"].dtype == "float32"
