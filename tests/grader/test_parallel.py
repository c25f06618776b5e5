"""Tests of running a function on many katas in parallel."""

import os

import pytest

from grader.extra.authoring.parallel import for_each


def look(_course, info, word):
    return f"{word} {info.name}", os.getpid()


def fail(_course, info):
    raise LookupError(info.name)


def test_each_kata_comes_with_its_result_from_its_own_process(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    infos = [tiny_course.kata_info("center"), tiny_course.kata_info("double")]
    found = dict(for_each(tiny_course, infos, look, "seen:"))
    assert {info.name: told for info, (told, _) in found.items()} == {
        "center": "seen: center",
        "double": "seen: double",
    }
    assert len({process for _, process in found.values()} | {os.getpid()}) == 3


def test_numpy_katas_come_first(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    infos = [tiny_course.kata_info("center"), tiny_course.kata_info("double")]
    assert [info.name for info, _ in for_each(tiny_course, infos, look, "")] == ["double", "center"]


def test_an_error_in_a_process_is_raised_in_the_parent(tiny_course):
    with pytest.raises(LookupError, match="double"):
        list(for_each(tiny_course, [tiny_course.kata_info("double")], fail))
