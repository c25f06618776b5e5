"""Say where the numbers of a submission part from the right ones, where its mistake has no name and no place.

Some failing cases of a check are judged once more, with a record of every intermediate array: of the
submission, and of the reference. An array of the submission is right if one and the same step of the
reference has its numbers in at least two cases, in the same order or in another one. The place is the first
expression whose own numbers no step has in two cases or more, while what goes into it is right, and of which
nothing right is computed later. The reference's values and names stay here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import combinations, islice

import numpy as np

from grader.answer_keys.answers import Case
from grader.cases.oracle import Oracle
from grader.checks.context import Check, CheckContext
from grader.checks.runner import CheckResult, Failure, judge_case
from grader.diagnosis.recording import RECORD, Array, Site, Step, recording, steps_of
from grader.edits.candidates import EditPlace
from grader.texts.phrases import listed
from grader.values.arrays import leaves, to_numpy
from grader.worker.in_process import LocalStudent

MOST_CASES = 4  # that are compared
MOST_CHECKS = 4  # whose cases are compared
LEAST_CASES = 2  # in which an array has the numbers of a step of the reference
HIDDEN = -1e8  # what is less stands for -inf
MOST_NAMED = 3  # expressions that a sentence names
FACT = (
    "In the cases compared, {} still {} the right numbers{}. No step of the reference has those that are"
    " computed here. This alone does not make it wrong."
)
MOVED = ", maybe in another order"
APART = (
    "In the cases compared, {} have the right numbers, but of different programs: one of them is what another"
    " program should have. No step of the reference has what is computed of them here."
)
Key = tuple[int, int]  # the number of a site, and which of its executions in a case


class State(Enum):
    """What is known of an array, if all cases are taken together."""

    SAME = "a step of the reference has its numbers"
    MOVED = "a step of the reference, or an argument, has its numbers in another order"
    GIVEN = "an argument has its numbers"
    WRONG = "no step of the reference has its numbers"
    ROWS = "a step of the reference has its numbers but for a factor or a term of each row"
    OPEN = "it has too few numbers, or some cases say this, and others that"


@dataclass(frozen=True)
class Run:
    """What one case has recorded."""

    steps: Sequence[Step]  # of the submission
    right: Sequence[Step]  # of the reference
    given: Sequence[Array]  # the arguments


@dataclass(frozen=True)
class Parting:
    """The place where wrong numbers come of right ones, and the wrong array in each of some failing cases of
    a check."""

    place: EditPlace
    check: Check
    wrong: Sequence[tuple[Case, Array]]


def parting_of(
    source: str, reference: str, results: Sequence[CheckResult], load: Callable[[str, str], CheckContext]
) -> Parting | None:
    """Return the first expression of a submission that computes wrong numbers from right ones, such as
    `q @ k.T / d_k` where `q @ k.T` is right; None if there is none.

    `source` is the submission, `results` are the checks that it fails, and `load` starts a changed source in
    the student's worker, with the name of what records in it. Raises SubmissionFailed, WorkerLost,
    CheckAborted."""
    groups = [*islice(_groups(results), MOST_CHECKS)]
    if not groups:
        return None
    recorded, sites = recording(source)
    own = load(recorded, RECORD)
    right = recorded_here(reference, own.oracle)
    are_programs = "import triton" in reference
    for check, failures in groups:
        cases = [failure.case for failure in failures]
        runs = [
            Run(steps_in(check, own, case), steps_in(check, right, case), _given(failure))
            for case, failure in zip(cases, failures, strict=True)
        ]
        if found := _first_wrong(runs, sites, are_programs=are_programs):
            place, arrays = found
            wrong = [(case, array) for case, array in zip(cases, arrays, strict=True) if array is not None]
            return Parting(place, check, wrong)
    return None


def recorded_here(source: str, oracle: Oracle) -> CheckContext:
    """Return what calls an answer that can be trusted, which records in this process."""
    student = LocalStudent.from_source("reference", recording(source)[0], RECORD)
    return CheckContext(oracle.kata, oracle, student)


def _groups(results: Sequence[CheckResult]) -> Iterator[tuple[Check, list[Failure]]]:
    """Yield each check with LEAST_CASES failures or more, and MOST_CASES of them at most, from small cases to
    large ones. Cases in which no array has more than three numbers are taken only if there are no others."""
    for result in results:
        found = sorted(result.failures, key=lambda failure: failure.case.weight)
        varied = [one for one in found if any(array.size > 3 for array in _given(one))] or found
        if len(varied) >= LEAST_CASES:
            yield result.check, varied[:: max(1, len(varied) // MOST_CASES)][:MOST_CASES]


def _given(failure: Failure) -> list[Array]:
    """Return the arrays that the check passed to the submission in this case."""
    return [array for leaf in leaves(failure.passed) if (array := to_numpy(leaf)) is not None]


def steps_in(check: Check, context: CheckContext, case: Case) -> list[Step]:
    """Judge a case with a student that records, and return what it has recorded."""
    steps_of(context.student)
    afresh = CheckContext(context.kata, context.oracle, context.student)  # which has asked nothing yet
    judge_case(check, afresh, case, context.student)
    return steps_of(context.student)


def _first_wrong(
    runs: Sequence[Run], sites: Sequence[Site], *, are_programs: bool
) -> tuple[EditPlace, list[Array | None]] | None:
    """Return the first place that computes wrong numbers from right ones, and its array in each run; None
    where it is not wrong. What differs by a factor or a term of each row is wrong only if nothing else is.
    With `are_programs`, calls are programs of a kernel."""
    known_in = [_Known(run) for run in runs]
    longest = max(range(len(runs)), key=lambda number: len(runs[number].steps))
    calls = known_in[longest] if are_programs else None
    steps, states = runs[longest].steps, _states(runs, known_in)
    inputs = _inputs(steps, sites)
    for of_rows in (State.OPEN, State.WRONG):
        found = [states.get(key, State.OPEN) for key in _keys(steps)]
        known: list[State] = [of_rows if state is State.ROWS else state for state in found]
        if suspect := _suspect(steps, known, inputs, sites, calls):
            place, at = suspect
            key = next(islice(_keys(steps), at, None))
            return place, [_wrong(run, key, those) for run, those in zip(runs, known_in, strict=True)]
    return None


def _wrong(run: Run, key: Key, known: _Known) -> Array | None:
    """Return the array of a step in a run; None if it is not wrong there."""
    step = next((step for own, step in zip(_keys(run.steps), run.steps, strict=True) if own == key), None)
    if step is None or step.array is None:
        return None
    return step.array if known.state(step.array)[0] in (State.WRONG, State.ROWS) else None


def _suspect(
    steps: Sequence[Step],
    known: list[State],
    inputs: Sequence[set[int]],
    sites: Sequence[Site],
    calls: _Known | None,
) -> tuple[EditPlace, int] | None:
    """Return the first wrong step that reads right ones, and its position, if nothing right comes of it. What
    is computed of the arguments alone, or of parts of them, says little: another style begins in another way,
    and a part may be the wrong one."""
    read: list[set[int]] = []  # by step, the steps that it reads, through those that are open
    rests_on: list[set[int]] = []  # by step, the suspects of which it is computed
    suspects = set[int]()
    for at, ones in enumerate(inputs):
        read.append(set().union(*(read[one] if known[one] is State.OPEN else {one} for one in ones)))
        rests_on.append(set().union(*(rests_on[one] for one in ones)))
        if not sites[steps[at].site].computes and {known[one] for one in ones} == {State.GIVEN}:
            known[at] = State.GIVEN
        if known[at] is State.WRONG and not (read[at] and sites[steps[at].site].computes):
            known[at] = State.OPEN  # it is made from no array, as a mask is, or only takes a part of one
        reads = {known[one] for one in read[at]}
        if known[at] is State.WRONG and State.WRONG not in reads and reads != {State.GIVEN}:
            suspects.add(at)
            rests_on[at].add(at)
        if known[at] in (State.SAME, State.MOVED):
            suspects -= rests_on[at]
            rests_on[at] = set()
    if not suspects:
        return None
    first = min(suspects)
    around = _of_the_call(first, steps, known, sites)
    first = first if {known[one] for one in read[around]} <= {State.WRONG} else around
    site, frame = sites[steps[first].site], steps[first].frame
    right = [one for one in sorted(read[first]) if known[one] is not State.WRONG]
    named = [one for one in right if steps[one].frame == frame] or right
    said = {sites[steps[one].site].text: known[one] for one in named}
    same = [one for one in named if known[one] is State.SAME and sites[steps[one].site].text]
    if calls and (apart := calls.of_different_calls([steps[one].array for one in same])):
        texts = dict.fromkeys(f"`{sites[steps[same[at]].site].text}`" for at in apart)
        if len(texts) == len(apart):
            return EditPlace(site.line, site.columns, "numbers", APART.format(listed([*texts]))), first
    return EditPlace(site.line, site.columns, "numbers", _fact(said)), first


def _of_the_call(at: int, steps: Sequence[Step], known: Sequence[State], sites: Sequence[Site]) -> int:
    """Return a step, or the call in which it ran if the same expression gave right numbers in another call:
    this one was given what it should not be."""
    others = (one for one, step in enumerate(steps) if step.site == steps[at].site and one != at)
    if not any(known[one] is State.SAME and steps[one].frame != steps[at].frame for one in others):
        return at
    after = (one for one in range(at + 1, len(steps)) if steps[one].frame == steps[at].caller)
    call = next((one for one in after if sites[steps[one].site].computes), None)
    if call is None or known[call] is not State.WRONG:
        return at
    return _of_the_call(call, steps, known, sites)


def _fact(read: dict[str, State]) -> str:
    """Return the sentence about an expression, from the texts and the states of what it reads."""
    named = [f"`{text}`" for text in read if text][:MOST_NAMED] or ["what goes in"]
    moved = MOVED if State.MOVED in read.values() else ""
    return FACT.format(listed(named), "has" if len(named) == 1 else "have", moved)


def _keys(steps: Sequence[Step]) -> Iterator[Key]:
    """Yield, for each step, its site and the number of times that this was executed before."""
    counts = Counter[int]()
    for step in steps:
        yield step.site, counts[step.site]
        counts[step.site] += 1


def _inputs(steps: Sequence[Step], sites: Sequence[Site]) -> list[set[int]]:
    """Return, for each step, the positions of those whose values it reads: of the expressions inside of it,
    and of the one that has made the same object."""
    last: dict[int, int] = {}  # by site
    made: dict[int, int] = {}  # by object
    found: list[set[int]] = []
    for at, step in enumerate(steps):
        inside = (last[one] for one in sites[step.site].inputs if one in last)
        inputs = {one for one in inside if one > last.get(step.site, -1)}
        inputs |= {made[one] for one in (step.made, *step.parts) if one in made}
        found.append(inputs)
        last[step.site] = at
        made |= dict.fromkeys((step.made, *step.parts), at)
    return found


def _states(runs: Sequence[Run], known_in: Sequence[_Known]) -> dict[Key, State]:
    """Return the state of each step of the submission: of the n-th execution of each expression, over all
    cases."""
    every: dict[Key, list[tuple[Array, State, frozenset[int]]]] = {}
    for run, known in zip(runs, known_in, strict=True):
        for key, step in zip(_keys(run.steps), run.steps, strict=True):
            if step.array is not None:
                every.setdefault(key, []).append((step.array, *known.state(step.array)))
    return {key: _together(found) for key, found in every.items()}


def _together(found: Sequence[tuple[Array, State, frozenset[int]]]) -> State:
    """Return what several cases say of one step. Two cases in which it is wrong are enough. Numbers that are
    right have to be others in some case, and those of one and the same step of the reference."""
    states = [state for _, state, _ in found if state is not State.OPEN]
    if wrong := [state for state in states if state in (State.ROWS, State.WRONG)]:
        state = State.ROWS if State.ROWS in wrong else State.WRONG
        return state if len(wrong) >= LEAST_CASES else State.OPEN
    if len(states) < LEAST_CASES or all(np.array_equal(found[0][0], array) for array, _, _ in found):
        return State.OPEN
    if set(states) == {State.SAME}:
        common = frozenset.intersection(*(sites for _, state, sites in found if state is State.SAME))
        return State.SAME if common else State.OPEN
    return State.GIVEN if set(states) == {State.GIVEN} else State.MOVED


class _Known:
    """The arrays of one case with which an array of the submission is compared: the arguments, and what the
    reference has computed."""

    def __init__(self, run: Run) -> None:
        self._right: dict[int, dict[object, tuple[Numbers, set[int]]]] = {}  # by size; once each, with sites
        self._calls: dict[object, set[int]] = {}  # by array, and by site: in which it was
        for step in run.right:
            if step.array is not None:
                alike = self._right.setdefault(step.array.size, {})
                alike.setdefault(_key(step.array), (Numbers(step.array), set()))[1].add(step.site)
                self._calls.setdefault(_key(step.array), set()).add(step.frame)
                self._calls.setdefault(step.site, set()).add(step.frame)
        self._given = [Numbers(array) for array in run.given]
        self._states: dict[object, tuple[State, frozenset[int]]] = {}

    def state(self, array: Array) -> tuple[State, frozenset[int]]:
        """Compare an array of the submission with the arguments and with every array of the reference in this
        case. Return the state, and which expressions of the reference gave the same numbers."""
        key = _key(array)
        if key not in self._states:
            self._states[key] = self._state(Numbers(array))
        return self._states[key]

    def of_different_calls(self, arrays: Sequence[Array | None]) -> tuple[int, int] | None:
        """Return the places of two arrays that the reference has in different calls alone, though one and the
        same call computes such arrays; None if there are no two."""
        found = [self._in_calls(array) for array in arrays if array is not None]
        pairs = combinations(range(len(found)), 2) if len(found) == len(arrays) else ()
        for one, other in pairs:
            (has, could), (has_too, could_too) = found[one], found[other]
            if has and has_too and not has & has_too and could & could_too:
                return one, other
        return None

    def _in_calls(self, array: Array) -> tuple[set[int], set[int]]:
        """Return the calls of the reference that have an array, and those that compute such arrays."""
        own = Numbers(array)
        alike = [(one, sites) for one, sites in self._right.get(array.size, {}).values() if own.is_same(one)]
        has = set[int]().union(*(self._calls[_key(one.given)] for one, _ in alike))
        return has, set[int]().union(*(self._calls[site] for _, sites in alike for site in sites))

    def _state(self, own: Numbers) -> tuple[State, frozenset[int]]:
        alike = self._right.get(own.array.size, {}).values()
        same = frozenset(site for one, sites in alike if own.is_same(one) for site in sites)
        if any(map(own.is_same, self._given)):
            state = State.GIVEN
        elif same:
            state = State.SAME
        elif own.tells and any(map(own.is_moved, [*(one for one, _ in alike), *self._given])):
            state = State.MOVED
        elif own.is_count or own.is_filled:
            return State.OPEN, same  # another style has others
        elif any(own.differs_by_row(one) for one, _ in alike):
            return State.ROWS, same
        else:
            return State.WRONG, same
        return (state if own.tells else State.OPEN), same


def _key(array: Array) -> object:
    return array.shape, array.dtype.str, array.tobytes()


class Numbers:
    """An array, to be compared with others."""

    def __init__(self, array: Array) -> None:
        self.array = self.given = array
        self.kind = array.dtype.kind if array.dtype.kind in "biuf" else ""
        if self.kind == "f":  # some hide by a number, and others by -inf
            self.array = np.where(array < HIDDEN, -np.inf, array)

    @cached_property
    def tells(self) -> bool:
        """Whether it can show that a step is right: it has several numbers."""
        return bool(self.kind) and len(np.unique(self.array)) > (1 if self.kind == "b" else 2)

    @property
    def is_count(self) -> bool:
        """Whether it is one integer."""
        return self.array.size == 1 and self.kind in ("i", "u")

    @property
    def is_filled(self) -> bool:
        """Whether it has one number many times, as what `full_like` makes."""
        return self.array.size > 1 and bool((self.array == self.array.flat[0]).all())

    @cached_property
    def _sorted(self) -> Array:
        return np.sort(self.array, axis=None)

    @cached_property
    def _scale(self) -> float:
        return float(np.max(np.abs(self.array[np.isfinite(self.array)]), initial=0.0))

    def is_same(self, other: Numbers) -> bool:
        """Return whether another array has the same shape, and the same numbers but for rounding."""
        return self.array.shape == other.array.shape and self._agrees(other, self.array, other.array)

    def is_moved(self, other: Numbers) -> bool:
        """Return whether another array has the same numbers but for rounding, in any order and shape."""
        return self.array.size == other.array.size and self._agrees(other, self._sorted, other._sorted)

    def differs_by_row(self, other: Numbers) -> bool:
        """Return whether each row is another array's, but for a factor or a term."""
        mine, theirs = self.array, other.array
        if mine.shape != theirs.shape or mine.shape[-1:] < (3,) or {self.kind, other.kind} != {"f"}:
            return False
        with np.errstate(all="ignore"):
            return any(np.allclose(by, by[..., :1], rtol=1e-4) for by in (mine - theirs, mine / theirs))

    def _agrees(self, other: Numbers, mine: Array, theirs: Array) -> bool:
        if not self.kind or not other.kind or (self.kind == "b") != (other.kind == "b"):
            return False
        if mine.size and abs(float(mine.flat[0]) - float(theirs.flat[0])) > 1e-3 * (1 + other._scale):
            return False  # most differ at once
        return bool(np.allclose(mine, theirs, rtol=1e-4, atol=1e-5 * other._scale, equal_nan=True))
