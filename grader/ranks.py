"""Simulated ranks: several machines that run one function and exchange arrays.

    ranks = Ranks(2)
    pieces = ranks.scatter(w)
    results = ranks.run(student.product, [{"x": x, "w": piece} for piece in pieces], "all_reduce")
    ranks.calls("all_reduce"), ranks.bytes_sent

The ranks need no threads. Each runs until it calls a collective that not all have reached, and is stopped
there. When all have called it, they run again from the beginning, and the call returns. So they run one
after the other, and each is an ordinary call, which gets the arguments of one rank. `alone` finds code that
takes numbers of another rank from what it has kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from grader.expect import ExpectationFailed, SubmissionFailed

WAITS = "This rank waits for the others; its call ends here, and is made again."
MOST_EXCHANGES = 64  # of one run: each costs a call of every rank


class Exchange(NamedTuple):
    """One collective that all ranks have called.

    Attributes:
        name: `all_reduce`, `all_gather`, `reduce_scatter` or `shift`.
        given: What each rank gave.
        returned: What each rank gets.
    """

    name: str
    given: list[Any]
    returned: list[Any]

    @property
    def bytes_sent(self) -> int:
        """The bytes that one rank sends where the ranks form a ring: the most of any rank."""
        size, sent = len(self.given), _SENT[self.name]
        return max(int(sent(array.size, size) * array.itemsize) for array in self.given)


class Ranks:
    """Several ranks that run one function.

    Args:
        size: The number of ranks, from 1.

    Attributes:
        exchanges: The collectives of the last run, in order.

    Example:
        ranks = Ranks(2)
        totals = ranks.run(student.total, [{"x": x} for x in ranks.scatter(np.arange(4.0))], "all_reduce")
        expect.equal(totals, [6.0, 6.0], "the total on each rank")
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.exchanges: list[Exchange] = []
        self._arguments: Sequence[Mapping[str, Any]] = []

    def scatter(self, array: np.ndarray, axis: int = 0) -> list[np.ndarray]:
        """Cut an array into one piece for each rank.

        Args:
            array: The array.
            axis: The axis to cut; its length is a multiple of the number of ranks.

        Returns:
            The pieces, in the order of the ranks: copies, whose axes have the order in memory of the array's.

        Raises:
            ValueError: The number of ranks does not divide the axis.

        Example:
            Ranks(2).scatter(np.array([1.0, 2.0, 3.0, 4.0]))  # [1, 2] and [3, 4]
        """
        return [piece.copy("K") for piece in np.split(array, self.size, axis)]

    def run(
        self, function: Callable[..., Any], arguments: Sequence[Mapping[str, Any]], *collectives: str
    ) -> list[Any]:
        """Run a function on every rank.

        Each rank gets its own arguments, and the collectives as functions of one array under their names:

            all_reduce(x)      the sum of the x of all ranks, which have one shape
            all_gather(x)      the list of the x of all ranks, in their order
            reduce_scatter(x)  the rank's own piece of that sum, cut along its first axis
            shift(x)           the x of the rank before; the first rank gets that of the last

        The function is called several times with the same arguments, and must do the same each time.

        Args:
            function: An entry point of the student, or any function.
            arguments: The keyword arguments of each rank.
            *collectives: The names of the collectives that it gets.

        Returns:
            What each rank returned.

        Raises:
            ExpectationFailed: The ranks do not meet, or what they give does not fit.
            SubmissionFailed: The student's function raised an exception.

        Example:
            totals = Ranks(2).run(student.total, [{"x": x}, {"x": -x}], "all_reduce")
            expect.close(totals[0], 0 * x, "the total on rank 0")
        """
        self.exchanges, self._arguments = [], arguments
        while True:
            turns = [self._turn(function, rank, arguments, collectives) for rank in range(self.size)]
            if all(turn.asked is None for turn in turns):
                return [turn.result for turn in turns]
            self.exchanges.append(_exchange(turns, len(self.exchanges)))

    def alone(
        self, function: Callable[..., Any], rank: int, arguments: Mapping[str, Any], *collectives: str
    ) -> Any:
        """Run one rank of the last run again, while the others give what they gave.

        A submission runs in another process for each rank, which sees no call of any other rank. Elsewhere,
        run the same function with other numbers on other `Ranks` in between. A rank that has taken a number
        from anywhere but its arguments and its collectives then takes a wrong one.

        Args:
            function: The function of that run.
            rank: The number of the rank.
            arguments: Its keyword arguments in that run.
            *collectives: The names of the collectives that it gets.

        Returns:
            What the rank returned.

        Raises:
            ExpectationFailed: The rank gives something else, or calls another collective.
            SubmissionFailed: The student's function raised an exception.

        Example:
            answers = ranks.run(student.total, [{"x": x}, {"x": 2 * x}], "all_reduce")
            Ranks(2).run(student.total, [{"x": x - 1}, {"x": x + 1}], "all_reduce")
            again = ranks.alone(student.total, 0, {"x": x}, "all_reduce")
            expect.close(again, answers[0], "what rank 0 returns when it runs again")
        """
        with getattr(function, "elsewhere", nullcontext)(rank + 1):  # an entry point in a worker of the rank
            of_ranks = [*self._arguments[:rank], arguments, *self._arguments[rank + 1 :]]
            turn = self._turn(function, rank, of_ranks, collectives)
        if turn.asked is not None:
            raise ExpectationFailed(_differs(rank, turn.asked[0], len(self.exchanges)))
        return turn.result

    def calls(self, name: str) -> int:
        """Return how often each rank called a collective in the last run.

        Args:
            name: The name of the collective.

        Returns:
            The number of calls.

        Example:
            expect.true(ranks.calls("all_reduce") <= 2, "The ranks meet twice at most.")
        """
        return sum(exchange.name == name for exchange in self.exchanges)

    @property
    def bytes_sent(self) -> int:
        """The bytes that a rank sent in the last run, where the ranks form a ring.

        For N ranks and an array of n numbers these are 2 (N - 1) / N * n numbers for `all_reduce`, half of
        that for `reduce_scatter`, (N - 1) * n for `all_gather` and n for `shift`. A single rank sends
        nothing.
        """
        return sum(exchange.bytes_sent for exchange in self.exchanges)

    def _turn(
        self,
        function: Callable[..., Any],
        rank: int,
        arguments: Sequence[Mapping[str, Any]],
        names: Sequence[str],
    ) -> _Turn:
        """Run one rank, up to the first collective that is not among the exchanges."""
        turn = _Turn(rank, self.exchanges, arguments, names)
        try:
            turn.result = function(**arguments[rank], **{name: turn.collective(name) for name in names})
        except (SubmissionFailed, RuntimeError):  # what a collective raises
            if turn.asked is None and not turn.complaint:
                raise
        if turn.complaint:
            raise ExpectationFailed(turn.complaint)
        if turn.asked is None and turn.met < len(self.exchanges):
            raise ExpectationFailed(_differs(rank, self.exchanges[turn.met].name, turn.met))
        return turn


class _Turn:
    """One call of a rank.

    Afterwards `asked` has the collective that it waits for and what it gave, or `result` what it returned.
    The functions that the rank gets have it as `turn`: a report shows the run with the `arguments` of all
    ranks.
    """

    def __init__(
        self,
        rank: int,
        exchanges: list[Exchange],
        arguments: Sequence[Mapping[str, Any]],
        collectives: Sequence[str],
    ) -> None:
        self.rank, self.arguments, self.collectives = rank, arguments, collectives
        self._exchanges = exchanges
        self.met = 0
        self.asked: tuple[str, Any] | None = None
        self.complaint = ""
        self.result: Any = None

    def collective(self, name: str) -> Callable[[Any], Any]:
        """Return the function that the rank calls.

        Args:
            name: The collective.

        Returns:
            A function of one array.
        """

        def answer(*values: Any) -> Any:
            return self._answer(name, values)

        answer.turn = self  # type: ignore[attr-defined]
        return answer

    def _answer(self, name: str, values: tuple[Any, ...]) -> Any:
        """Answer a collective that all ranks have called; stop the rank at any other."""
        if self.asked is not None or self.complaint:
            raise RuntimeError(WAITS)
        is_one = len(values) == 1 and isinstance(values[0], np.ndarray | np.generic | int | float)
        array = np.array(values[0]) if is_one else None
        if array is None or array.dtype.hasobject:
            self.complaint = f"{name} takes an array; rank {self.rank} gives it {_kind(values)}."
            raise RuntimeError(self.complaint)
        if self.met == len(self._exchanges):
            self.asked = name, array
            raise RuntimeError(WAITS)
        exchange = self._exchanges[self.met]
        if exchange.name != name or not _same(exchange.given[self.rank], array):
            self.complaint = _differs(self.rank, name, self.met)
            raise RuntimeError(self.complaint)
        self.met += 1
        answer = exchange.returned[self.rank]
        return [item.copy() for item in answer] if isinstance(answer, list) else answer.copy()


def _exchange(turns: list[_Turn], number: int) -> Exchange:
    """Return the collective in which the ranks meet. Raises ExpectationFailed if they do not."""
    waiting = next(rank for rank, turn in enumerate(turns) if turn.asked is not None)
    name, _ = turns[waiting].asked or ("", None)
    for rank, turn in enumerate(turns):
        there = f"rank {waiting} waits in {name} (collective {number + 1} of the run)"
        if turn.asked is None:
            raise ExpectationFailed(
                f"All ranks call the same collectives. Here {there}, and rank {rank} has returned."
            )
        if turn.asked[0] != name:
            raise ExpectationFailed(
                f"All ranks call the same collectives. Here {there}, and rank {rank} in {turn.asked[0]}."
            )
    if number == MOST_EXCHANGES:
        raise ExpectationFailed(f"The ranks call more than {MOST_EXCHANGES} collectives, and do not end.")
    given = [turn.asked[1] for turn in turns if turn.asked is not None]
    shapes = [array.shape for array in given]
    if name in ("all_reduce", "reduce_scatter") and len(set(shapes)) > 1:
        other = next(rank for rank, shape in enumerate(shapes) if shape != shapes[0])
        raise ExpectationFailed(
            f"{name} adds arrays of one shape: rank 0 gives it {list(shapes[0])} and rank {other} "
            f"{list(shapes[other])}."
        )
    if name == "reduce_scatter" and (not shapes[0] or shapes[0][0] % len(turns)):
        raise ExpectationFailed(
            f"reduce_scatter cuts the first axis into {len(turns)} equal pieces: the ranks give it the shape "
            f"{list(shapes[0])}."
        )
    return Exchange(name, given, _RETURNED[name](given))


#: What the ranks get for what they gave.
_RETURNED: dict[str, Callable[[list[Any]], list[Any]]] = {
    "all_reduce": lambda given: [sum(given[1:], given[0])] * len(given),
    "all_gather": lambda given: [given] * len(given),
    "reduce_scatter": lambda given: np.split(sum(given[1:], given[0]), len(given)),
    "shift": lambda given: [given[-1], *given[:-1]],
}

#: How many numbers one of N ranks sends for an array of n, where the ranks form a ring.
_SENT: dict[str, Callable[[int, int], int]] = {
    "all_reduce": lambda n, size: 2 * (size - 1) * -(-n // size),
    "all_gather": lambda n, size: (size - 1) * n,
    "reduce_scatter": lambda n, size: (size - 1) * -(-n // size),
    "shift": lambda n, size: n if size > 1 else 0,
}


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _differs(rank: int, name: str, met: int) -> str:
    return (
        f"Rank {rank} does something else in {name} (collective {met + 1}) when it runs again with the same "
        "arguments: something that is kept between calls, or chance, decides about it."
    )


def _kind(values: tuple[Any, ...]) -> str:
    """Return what a collective was given, if that is not one array."""
    if len(values) != 1:
        return f"{len(values)} values" if values else "nothing"
    (value,) = values
    if isinstance(value, int):
        return "a number that no array can hold"
    kind = getattr(value, "type_name", type(value).__name__)  # what stands for an object in a worker has one
    return "None" if value is None else f"a value of type {kind}"
