"""Work on many katas at a time: each kata comes with what was found of it, in whatever order."""

import os

import pytest

from grader.authoring.parallel import for_each


def look(_course, info, word):
    return f"{word} {info.name}", os.getpid()


def fail(_course, info):
    raise LookupError(info.name)


def test_each_card_comes_with_what_was_found_of_it_in_a_process_of_its_own(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    infos = [tiny_course.kata_info("center"), tiny_course.kata_info("double")]
    found = dict(for_each(tiny_course, infos, look, "seen:"))
    assert {info.name: told for info, (told, _) in found.items()} == {
        "center": "seen: center",
        "double": "seen: double",
    }
    assert len({process for _, process in found.values()} | {os.getpid()}) == 3


def test_numpy_katas_are_worked_on_first(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    infos = [tiny_course.kata_info("center"), tiny_course.kata_info("double")]
    assert [info.name for info, _ in for_each(tiny_course, infos, look, "")] == ["double", "center"]


def test_an_error_in_the_work_is_raised_here(tiny_course):
    with pytest.raises(LookupError, match="double"):
        list(for_each(tiny_course, [tiny_course.kata_info("double")], fail))
