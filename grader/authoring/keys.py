"""`kata key`: the solutions' answers, written down so that a grading needs no solutions."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from grader.answer_key import RecordedMistake
from grader.catalog import Card, Course
from grader.diagnosis import Lineup, Replay
from grader.kata import KataError
from grader.key_file import Entry
from grader.keyring import declaration_digest
from grader.oracle import Oracle
from grader.plan import plan
from grader.worker.codec import Malformed


def draw_entries(course: Course, cards: list[Card], seed: int) -> Iterator[Entry]:
    """The katas one by one, each drawn in a process of its own, PyTorch's first. Raises KataError."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    slow_first = sorted(cards, key=lambda card: card.library != "torch")
    with context.Pool(min(2, len(cards)), maxtasksperchild=1) as pool:
        jobs = {card.name: pool.apply_async(draw_entry, (course, card, seed)) for card in slow_first}
        for card in cards:
            yield jobs[card.name].get()


def draw_entry(course: Course, card: Card, seed: int) -> Entry:
    """Draw a bank, ask the reference and every mistake, and write down what they answer."""
    oracle = Oracle(course.declaration(card), course, card, seed, keeps=False)
    checks = plan(oracle.kata, oracle)
    mistakes = []
    for replay in Lineup(oracle.kata, course, card, oracle).replays:
        assert isinstance(replay, Replay)
        outcomes = {
            check.name: [replay.outcome(check, index) for index in range(len(check.cases))]
            for check in checks
        }
        mistakes.append(RecordedMistake(replay.mistake.id, replay.mistake.text, outcomes))
    return Entry(card.name, declaration_digest(card), oracle.key, mistakes)


def made_by() -> str:
    """The version of the grader that writes a key."""
    try:
        return version("decoder-dojo")
    except PackageNotFoundError:
        return "unknown"
