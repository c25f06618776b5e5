"""Tasks read ahead, so that a grader is given katas that it knows: it learns a kata's mistakes and what its
checks ask once, which takes as long as some dozens of submissions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from grader.cohort.judging import Task

READ_AHEAD = 256  # tasks for each grader; enough that it need not learn a kata because few files are in sight
MOST_BYTES = 32 << 20  # of files that are read ahead


class Waiting:
    """The tasks that come next, by kata, and how many graders know each kata."""

    def __init__(self, tasks: Iterator[Task], graders: int) -> None:
        self._tasks, self._most = tasks, graders * READ_AHEAD if graders > 1 else 1
        self._queues: dict[str, deque[Task]] = {}
        self._size = 0  # bytes of what waits
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
        task = self._queues[kata].popleft()
        self._size -= len(task.data)
        return task

    def _preference(self, kata: str, known: set[str]) -> tuple[bool, int, int, int]:
        """What the grader knows; then what the fewest know; then what most wait for; then what comes last in
        the course. That mostly takes longest, and what is short is better left for the end."""
        place = list(self._queues).index(kata)
        return kata in known, -self._knowers[kata], len(self._queues[kata]), place

    def _read_on(self) -> None:
        waiting = sum(map(len, self._queues.values()))
        while waiting < self._most and (not waiting or self._size < MOST_BYTES):
            task = next(self._tasks, None)
            if task is None:
                break
            self._queues.setdefault(task.kata, deque()).append(task)
            self._size += len(task.data)
            waiting += 1
