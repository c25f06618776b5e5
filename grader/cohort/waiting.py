"""Tasks read a little ahead, so that a grader is given katas that it knows: it learns a kata's mistakes and
what its checks ask once, which takes as long as some dozens of submissions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice

from grader.cohort.judging import Task

READ_AHEAD = 64  # tasks for each grader; enough that the katas of a usual sheet are all among them


class Waiting:
    """The tasks that come next, by kata, and how many graders know each kata."""

    def __init__(self, tasks: Iterator[Task], graders: int) -> None:
        self._tasks, self._most = tasks, graders * READ_AHEAD if graders > 1 else 1
        self._queues: dict[str, deque[Task]] = {}
        self._knowers: Counter[str] = Counter()

    def next_for(self, known: set[str]) -> Task | None:
        """A task for a grader that has judged these katas, to which its kata is added; None at the end."""
        self._read_on()
        waiting = [kata for kata, queue in self._queues.items() if queue]
        if not waiting:
            return None
        kata = max(waiting, key=lambda kata: self._preference(kata, known))
        if kata not in known:
            known.add(kata)
            self._knowers[kata] += 1
        return self._queues[kata].popleft()

    def _preference(self, kata: str, known: set[str]) -> tuple[bool, int, int]:
        """What the grader knows; then what the fewest know; then what most wait for."""
        return kata in known, -self._knowers[kata], len(self._queues[kata])

    def _read_on(self) -> None:
        room = self._most - sum(map(len, self._queues.values()))
        for task in islice(self._tasks, room):
            self._queues.setdefault(task.kata, deque()).append(task)
