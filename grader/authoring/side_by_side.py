"""Work on many katas, each in a process of its own, as many at a time as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from grader.catalog import Card, Course

Found = TypeVar("Found")


def for_each(
    course: Course, cards: list[Card], work: Callable[..., Found], *arguments: object, at_once: int = 0
) -> Iterator[tuple[Card, Found]]:
    """Each card with what `work(course, card, *arguments)` finds: NumPy's in their order, then PyTorch's,
    which is imported once for all of them. At most `at_once` run at a time where that is given."""
    for library in ("numpy", "torch"):
        group = [card for card in cards if card.library == library]
        if group and library == "torch":
            import torch  # noqa: F401  # the processes forked from here on have it
        if group:
            yield from _group(course, group, work, arguments, at_once or os.cpu_count())


def _group(
    course: Course,
    cards: list[Card],
    work: Callable[..., Found],
    arguments: tuple[object, ...],
    at_once: int | None,
) -> Iterator[tuple[Card, Found]]:
    """Those with the longest references are begun first: two cores should come to their end together."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    longest_first = sorted(cards, key=lambda card: -_length(course, card))
    with context.Pool(at_once, maxtasksperchild=1) as pool:
        jobs = {
            card.name: pool.apply_async(_alone, (work, course, card, *arguments)) for card in longest_first
        }
        for card in cards:
            yield card, jobs[card.name].get()


def _length(course: Course, card: Card) -> int:
    reference = course.solution(card, "reference")
    return reference.stat().st_size if reference.is_file() else 0


def _alone(work: Callable[..., Found], course: Course, card: Card, *arguments: object) -> Found:
    """One thread a process: the inputs are small, and threads of two processes wait for each other."""
    if card.library == "torch":
        import torch  # a NumPy kata is worked on without it

        torch.set_num_threads(1)
    return work(course, card, *arguments)
