"""Find mistakes that explain together what none of them explains alone.

The smallest failing case of each kind is a probe: kinds differ in what the call gives, such as an option or a
dtype, and in how it fails. Mistakes that answer a probe like the submission come first. Each is joined with
those that change the first probe that it leaves, and then with a third one. Next come those that give a part
of the wrong numbers of the first probe, the closest ones first. Each is joined with all others, and what is
closer than it is joined with a third. Then follow the pairs of mistakes that only change the first probe, and
the later probes that a mistake leaves: the first may be one that only all three mistakes answer. Last come
the pairs that only change the second probe or the third. What answers all probes goes to whole checks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, count, islice, product
from typing import Any

from grader.answer_keys.answers import Case
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.known_mistakes import KnownMistake

MOST_PROBES = 8
MOST_FIRST = 3  # probes of which pairs are asked: one may need a third mistake, and another none
MOST_AT_ONCE = 3
MOST_CLOSE = (
    12  # mistakes, or two at once, that give a part of the wrong numbers and are joined with all others
)
MOST_ASKED = 2000  # joined mistakes, so that the names do not depend on how fast a machine is

Probe = tuple[FailedCheck, Case]


@dataclass(frozen=True)
class Joined:
    """Some mistakes, what makes them all at once, and the numbers of the probes that this answers like the
    submission."""

    parts: tuple[KnownMistake, ...]
    whole: KnownMistake
    answered: frozenset[int]


class SeveralMistakes:
    """The search among the mistakes of one kata for several that explain one submission. `unexplained`
    returns, for each check, the smallest failing case that a mistake does not answer like the submission, by
    whole checks."""

    def __init__(
        self,
        mistakes: Sequence[KnownMistake],
        due: Sequence[FailedCheck],
        unexplained: Callable[[KnownMistake], list[Probe]],
    ) -> None:
        self._mistakes = sorted(mistakes, key=lambda one: one.likeliness)
        self._probes, self._unexplained = _probes(due), unexplained
        self._asked = 0
        self._waiting: list[tuple[int, int, int, Joined]] = []  # few mistakes first, then what answers most
        self._turn = count()

    @cached_property
    def _singles(self) -> list[Joined]:
        """The mistakes that answer a probe, those that answer most of them first."""
        singles = [
            Joined((one,), one, answered) for one in self._mistakes if (answered := self._answered(one))
        ]
        return sorted(singles, key=lambda one: -len(one.answered))

    @property
    def likely(self) -> list[KnownMistake]:
        """The mistakes that answer some of the failing cases like the submission, the likelier ones first."""
        return [one.whole for one in self._singles]

    def found(self) -> Iterator[list[Joined]]:
        """Yield what answers all probes like the submission, the likelier ones first; in one list what
        differs in one mistake."""
        for one in self._singles:
            yield from self._with_others(one)
        yield from self._with_a_third()
        for probe in self._probes[:1]:
            yield from self._of_closest(probe)
            yield from self._of_pairs(probe)
        for skipped in range(1, MOST_PROBES):
            for one in self._singles:
                yield from self._with_others(one, skipped)
            yield from self._with_a_third()
        for probe in self._probes[1:MOST_FIRST]:
            yield from self._of_pairs(probe)

    def _of_closest(self, probe: Probe) -> Iterator[list[Joined]]:
        """Yield what answers all probes among the joints of mistakes that give a part of the wrong numbers
        of one probe. The closest one is joined with each other mistake, what is closer still with a third."""
        close: list[tuple[int, int, Joined]] = []
        every = (Joined((one,), one, frozenset()) for one in self._mistakes)
        least, bases = 0, [one for one in every if not _answers(one.whole, probe)]
        for _ in range(MOST_CLOSE):
            for one in bases:
                if (near := _closeness(one.whole, probe)) > least:
                    heapq.heappush(close, (-near, next(self._turn), one))
            if not close:
                return
            least, _, base = heapq.heappop(close)
            least = -least
            others = [one for one in self._mistakes if one not in base.parts]
            joints = [joint for one in others if (joint := join((*base.parts, one), base.whole))]
            bases = [] if len(base.parts) + 1 == MOST_AT_ONCE else joints
            yield from self._complete(joints, probe)
            bases = [joint for joint in bases if not _answers(joint.whole, probe)]
            yield from self._with_a_third()

    def _of_pairs(self, probe: Probe) -> Iterator[list[Joined]]:
        for pairs in self._pairs(probe):
            yield from self._complete(map(join, pairs), probe)
            yield from self._with_a_third()

    def found_with(self, known: KnownMistake) -> Iterator[list[Joined]]:
        """Yield what answers all probes among the joints of one mistake with others."""
        base = Joined((known,), known, self._answered(known))
        for skipped in range(MOST_PROBES):
            yield from self._with_others(base, skipped)
            yield from self._with_a_third()

    def _with_a_third(self) -> Iterator[list[Joined]]:
        while self._waiting and self._asked < MOST_ASKED:
            yield from self._with_others(heapq.heappop(self._waiting)[-1])

    def _pairs(self, probe: Probe) -> Iterator[list[tuple[KnownMistake, KnownMistake]]]:
        """Yield two lists of pairs, the likelier ones first in each. In the first list both mistakes fail the
        probe, and neither answers it like the submission. In the second list one of them passes it: it may
        show only beside the other."""
        changing = [m for m in self._mistakes if _changes(m, probe) and not _answers(m, probe)]
        others = [m for m in self._mistakes if not _changes(m, probe)]
        for every in (combinations(enumerate(changing), 2), product(enumerate(changing), enumerate(others))):
            ranked = sorted(every, key=lambda pair: pair[0][0] + pair[1][0])
            yield [(one, other) for (_, one), (_, other) in ranked]

    def _with_others(self, base: Joined, skipped: int = 0) -> Iterator[list[Joined]]:
        """Yield what answers all probes among the joints of `base` and one more mistake. What changes the
        first probe that is left, after some that are skipped, is asked first."""
        if len(base.parts) == MOST_AT_ONCE or self._asked >= MOST_ASKED:
            return
        every_left = (one for n, one in enumerate(self._probes) if n not in base.answered)
        left = next(islice(every_left, skipped, None), None)
        if left is None and skipped:
            return
        if left is None:
            known = {(id(check), case.index) for check, case in self._probes}
            unexplained = self._unexplained(base.whole)  # none if all that it does is to fail more
            new = [probe for probe in unexplained if (id(probe[0]), probe[1].index) not in known]
            self._probes += new
            left = next(iter(new), None)
            if left is None:
                return
        others = [one for one in self._mistakes if one not in base.parts]
        others.sort(key=lambda one: not _changes(one, left))
        yield from self._complete((join((*base.parts, one), base.whole) for one in others), left)

    def _complete(self, joints: Iterable[Joined | None], left: Probe) -> Iterator[list[Joined]]:
        """Yield the joints that answer all probes, those that change least first; others that answer `left`
        wait for one more mistake."""
        complete = []
        for joint in joints:
            if self._asked >= MOST_ASKED:
                break
            if joint is None:
                continue
            self._asked += 1
            if not _answers(joint.whole, left):
                continue
            joint = Joined(joint.parts, joint.whole, self._answered(joint.whole))
            if len(joint.answered) == len(self._probes):
                complete.append(joint)
            else:
                self._wait(joint)
        if complete:
            yield sorted(complete, key=lambda one: one.whole.likeliness[::-1])
            for joint in complete:
                self._wait(joint)

    def _wait(self, joined: Joined) -> None:
        heapq.heappush(self._waiting, (len(joined.parts), -len(joined.answered), next(self._turn), joined))

    def _answered(self, mistake: KnownMistake) -> frozenset[int]:
        return frozenset(n for n, probe in enumerate(self._probes) if _answers(mistake, probe))


def _answers(mistake: KnownMistake, probe: Probe) -> bool:
    """Return whether a mistake answers a case like the submission."""
    return probe[0].agrees(mistake, probe[1])


def _closeness(mistake: KnownMistake, probe: Probe) -> int:
    return probe[0].closeness(mistake, probe[1])


def _changes(mistake: KnownMistake, probe: Probe) -> bool:
    """Return whether a mistake fails a case, in whatever way."""
    return mistake.outcome(probe[0].check, probe[1]) is not None


def join(parts: tuple[KnownMistake, ...], base: KnownMistake | None = None) -> Joined | None:
    """Return some mistakes at once; None if they do not go together. `base` makes all but the last."""
    whole: KnownMistake | None = base
    for part in parts[-1:] if base else parts:
        whole = whole.with_another(part) if whole else part
        if whole is None:
            return None
    return Joined(parts, whole, frozenset()) if whole else None


def _probes(due: Sequence[FailedCheck]) -> list[Probe]:
    """Return up to two failing cases for each kind of call, small ones first. One is the smallest case, or
    instead one that mistakes have answered already, since that answer is remembered. The other has a medium
    size. Cases in which operations are counted take many times as long, so they are left out if there are
    others."""
    kinds: dict[object, list[Probe]] = {}
    every = [
        (check, case, check.failures[check.check.position(case)])
        for check in due
        for case in check.smallest_first
    ]
    quick = [one for one in every if not one[2].counts_work]
    for check, case, failure in quick or every:
        kinds.setdefault((regime_of(case.arguments), failure.raises), []).append((check, case))
    first = [next((one for one in some if _is_asked(one)), some[0]) for some in kinds.values()]
    medium = [some[len(some) // 2] for some in kinds.values() if len(some) > 1]
    both = (sorted(some, key=lambda probe: probe[1].weight)[: MOST_PROBES // 2] for some in (first, medium))
    once = {(id(check), case.index): (check, case) for check, case in chain(*both)}
    return sorted(once.values(), key=lambda probe: probe[1].weight)


def _is_asked(probe: Probe) -> bool:
    check, case = probe
    return check.check.position(case) in check.asked


def regime_of(arguments: dict[str, Any]) -> tuple[object, ...]:
    """Return what tells calls apart that may fail for different reasons: which arguments they give, of which
    kinds and dtypes, and whether an axis has the length 0 or 1."""
    return tuple((name, _kind(value)) for name, value in sorted(arguments.items()))


def options_of(arguments: dict[str, Any]) -> tuple[object, ...]:
    """Return the options of a call, so that two calls can be compared: for each argument its name and its
    kind, and for an array the number of its axes. The lengths of the axes do not count."""
    return tuple((name, _option(value)) for name, value in sorted(arguments.items()))


def _option(value: Any) -> object:
    if hasattr(value, "shape"):
        return str(value.dtype).strip("u0123456789"), len(value.shape)  # signed or not
    if isinstance(value, list | tuple | dict):
        return type(value).__name__, bool(value)
    return value if value is None or isinstance(value, bool) else type(value).__name__


def _kind(value: Any) -> object:
    if hasattr(value, "shape"):
        return str(value.dtype), 0 in value.shape, 1 in value.shape
    is_small = value is None or isinstance(value, bool) or value in (0, 1)
    return value if is_small else type(value).__name__
