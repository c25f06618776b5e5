"""Work on many katas at a time: each card comes with what was found of it, in whatever order."""

import os

import pytest

from grader.authoring.side_by_side import for_each


def look(_course, card, word):
    return f"{word} {card.name}", os.getpid()


def fail(_course, card):
    raise LookupError(card.name)


def test_each_card_comes_with_what_was_found_of_it_in_a_process_of_its_own(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cards = [tiny_course.card("center"), tiny_course.card("double")]
    found = dict(for_each(tiny_course, cards, look, "seen:"))
    assert {card.name: told for card, (told, _) in found.items()} == {
        "center": "seen: center",
        "double": "seen: double",
    }
    assert len({process for _, process in found.values()} | {os.getpid()}) == 3


def test_numpy_katas_are_worked_on_first(tiny_course):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cards = [tiny_course.card("center"), tiny_course.card("double")]
    assert [card.name for card, _ in for_each(tiny_course, cards, look, "")] == ["double", "center"]


def test_an_error_in_the_work_is_raised_here(tiny_course):
    with pytest.raises(LookupError, match="double"):
        list(for_each(tiny_course, [tiny_course.card("double")], fail))
