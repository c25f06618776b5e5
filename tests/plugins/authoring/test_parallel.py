"""Tests of running a function on many katas in parallel."""

import os
import signal
from pathlib import Path

import pytest

from dojo_authoring.parallel import for_each
from grader.course.catalog import CourseError
from grader.grading import session
from grader.grading.session import LibraryMissing


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


def test_a_kata_in_pytorch_is_refused_where_that_is_missing_before_any_work(tiny_course, monkeypatch):
    monkeypatch.setattr(session, "lacks_library", lambda info: info.library == "torch")
    infos = [tiny_course.kata_info("double"), tiny_course.kata_info("center")]
    with pytest.raises(LibraryMissing, match="`center` is a PyTorch kata, and PyTorch is not installed: "):
        next(for_each(tiny_course, infos, look, ""))


def test_numpy_katas_come_first(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    infos = [tiny_course.kata_info("center"), tiny_course.kata_info("double")]
    assert [info.name for info, _ in for_each(tiny_course, infos, look, "")] == ["double", "center"]


def test_an_error_in_a_process_is_raised_in_the_parent(tiny_course):
    with pytest.raises(LookupError, match="double"):
        list(for_each(tiny_course, [tiny_course.kata_info("double")], fail))


def die(_course, info, folder, times):
    """End the process of `double`, so often."""
    tried = Path(folder, info.name)
    with tried.open("a") as file:
        file.write("x")
    if info.name == "double" and len(tried.read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(tried.read_text())


def test_a_kata_whose_process_is_lost_is_tried_again(tiny_course, tmp_path):
    infos = [tiny_course.kata_info("double")]
    assert [tries for _, tries in for_each(tiny_course, infos, die, tmp_path, 1)] == [2]


def test_a_kata_that_ends_two_processes_is_named(tiny_course, tmp_path):
    with pytest.raises(CourseError, match=r"double: the process that worked on it ended \(-9\), twice\."):
        list(for_each(tiny_course, [tiny_course.kata_info("double")], die, tmp_path, 2))
