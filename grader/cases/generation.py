"""Draw cases with Hypothesis and a fixed seed, and sort them, smallest first.

Cases of other seeds are of the same kinds, so that the same checks fail: the choices of the first seed are
replayed with other numbers. A case without a number that can be replaced, such as a text, is drawn anew.

Hypothesis is imported inside functions, because a grading that finds its cases in the cache draws none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from random import Random
from typing import Any, NamedTuple, TypeVar, cast

from grader.kata import Arguments, DrawCase, KataError
from grader.values.arrays import weight
from grader.worker.protocol.codec import Malformed, encode

Item = TypeVar("Item")

SEED = 20170612
TRIES = 8  # for a number that is not taken
FEW = 2  # the lengths of lists and texts that are told apart: 0, 1 and more
LAYOUT = "any_memory_layout"  # the corner of cases whose arrays are not contiguous
DRAWS = 3  # cases drawn for each one kept, since Hypothesis repeats cases and those kept are spread by size


class Drawn(NamedTuple):
    """A case, and the choices by which Hypothesis has drawn it."""

    case: Arguments
    choices: tuple[Any, ...]


class OtherCases:
    """The cases that another seed has, each of the kind of a case that was drawn. A case is made when it is
    asked for."""

    def __init__(
        self,
        draw_case: DrawCase,
        examples: int,
        seed: int,
        known: list[Drawn],
        kind_of: Callable[[Arguments], object],
    ) -> None:
        self._draw_case, self._examples, self._seed, self._kind_of = draw_case, examples, seed, kind_of
        self._known = known
        self._prints = {fingerprint(one.case) for one in known}

    def like(self, at: int) -> Arguments:
        """Return a case of the same kind as case number `at` of the first seed. It is that case with other
        numbers; where none of its numbers can be replaced, it is a new case of this seed, the one with the
        most arguments of the same value; and where there is none left, it is the case itself."""
        case = _with_other_numbers(self._draw_case, self._known[at], f"{self._seed} {at}", self._kind_of)
        alike = self._anew.get(self._kind(case)) if fingerprint(case) in self._prints else None
        if not alike:
            return case
        return alike.pop(max(range(len(alike)), key=lambda place: (_in_common(alike[place], case), place)))

    @cached_property
    def _anew(self) -> dict[object, list[Arguments]]:
        """Other cases that the seed draws, by their kinds."""
        found: dict[object, list[Arguments]] = {}
        for one in drawn(self._draw_case, self._examples, self._seed)[::-1]:
            if fingerprint(one.case) not in self._prints:
                found.setdefault(self._kind(one.case), []).append(one.case)
        return found

    def _kind(self, case: Arguments) -> object:
        return order(case), self._kind_of(case)


def drawn(draw_case: DrawCase, examples: int, seed: int) -> list[Drawn]:
    """Return the distinct cases that a seed draws, smallest first. Raises KataError."""
    from hypothesis.control import current_build_context

    found: dict[bytes, Drawn] = {}

    def keep(case: Arguments) -> None:
        if not isinstance(case, dict):
            raise KataError(f"a case is a dict of arguments by name, and {type(case).__name__} was returned")
        require_sendable(case)
        found.setdefault(fingerprint(case), Drawn(case, current_build_context().data.choices))

    _run(draw_case, keep, examples=examples, seed=seed, shrink=False)
    return sorted(found.values(), key=lambda one: (weight(one.case), fingerprint(one.case)))


def _in_common(one: Arguments, other: Arguments) -> int:
    """Return how many arguments have the same value in both cases."""
    return sum(
        fingerprint({name: value}) == fingerprint({name: other.get(name)}) for name, value in one.items()
    )


class Number(NamedTuple):
    """A number that the strategies `integers` or `floats` have drawn: its place among the choices, and the
    ends of its range."""

    place: int
    value: Any
    low: Any
    high: Any


def _with_other_numbers(
    draw_case: DrawCase, one: Drawn, seed: str, kind_of: Callable[[Arguments], object]
) -> Arguments:
    """Return a case of the same kind that has other numbers; the case itself if none can be replaced. Zero,
    the ends of a range and whole floats may be corners, and an integer by itself may be a size: they are
    replaced only if nothing else can be. A range whose numbers decide about the kind keeps them."""
    _, numbers = _replayed(draw_case, one.choices, seed)
    before = fingerprint(one.case)
    for freely, kind in ((False, structure), (True, structure), (True, order)):

        def of_same_kind(others: dict[int, Any], kind: Callable[[Any], object] = kind) -> Arguments | None:
            choices = tuple(others.get(place, choice) for place, choice in enumerate(one.choices))
            case, _ = _replayed(draw_case, choices, seed)
            if case is None or kind(case) != kind(one.case) or kind_of(case) != kind_of(one.case):
                return None
            return case

        groups = _others(numbers, Random(seed), freely=freely)
        found = of_same_kind({place: value for group in groups for place, value in group.items()})
        if found is None:
            kept: dict[int, Any] = {}
            for group in groups:
                case = of_same_kind(kept | group)
                found, kept = (case, kept | group) if case is not None else (found, kept)
        if found is not None and fingerprint(found) != before:
            return found
    return one.case


def _replayed(
    draw_case: DrawCase, choices: tuple[Any, ...], seed: str
) -> tuple[Arguments | None, list[Number]]:
    """Return the case that these choices draw, None if they draw none, and the numbers among them. Choices
    that are missing are made at random."""
    from hypothesis import strategies as st
    from hypothesis.control import BuildContext
    from hypothesis.errors import StopTest, UnsatisfiedAssumption
    from hypothesis.internal.conjecture.data import ConjectureData
    from hypothesis.strategies._internal.numbers import IntegersStrategy

    data, case = ConjectureData(random=Random(seed), prefix=choices), None
    with (
        _reproducible_hypothesis(),
        suppress(StopTest, UnsatisfiedAssumption),
        BuildContext(data, wrapped_test=draw_case),
    ):
        case = data.draw(st.composite(lambda draw: draw_case(draw))())
    data.freeze()
    label = IntegersStrategy(0, 1).label  # lengths of lists, choices among several and the like have others
    integers = {place for span in data.spans if span.label == label for place in range(span.start, span.end)}
    numbers = [
        Number(place, node.value, limits["min_value"], limits["max_value"])
        for place, node in enumerate(data.nodes[: len(choices)])
        for limits in [cast("dict[str, Any]", node.constraints)]
        if node.type == "float" or (node.type == "integer" and place in integers)
    ]
    return case, numbers


def _others(numbers: list[Number], random: Random, *, freely: bool) -> list[dict[int, Any]]:
    """Return a dict for each range of numbers: by its place in the list of choices, the number that replaces
    it. Equal numbers of a range get equal ones, unless `freely`, which draws each by itself."""
    replaced: dict[tuple[Any, Any], dict[Any, Any]] = {}
    found: dict[tuple[Any, Any], dict[int, Any]] = {}
    for place, value, low, high in numbers:
        known = replaced.setdefault((low, high), {})
        if value not in known or freely:
            known[value] = _other(
                value, low, high, set() if freely else set(known.values()), random, freely=freely
            )
        found.setdefault((low, high), {})[place] = known[value]
    return list(found.values())


def _other(value: Any, low: Any, high: Any, taken: set[Any], random: Random, *, freely: bool) -> Any:
    is_end = value in (low, high, 0) or (isinstance(value, float) and value.is_integer())
    if None in (low, high) or (is_end and not freely):
        return value
    if isinstance(value, float):
        other = value * random.uniform(0.8, 1.25)
        return other if low < other < high else value
    if freely:
        return random.randint(low, high)
    others = (random.randint(low + 1, high - 1) for _ in range(TRIES))
    return next((other for other in others if other and other not in taken), value)


def structure(value: Any, *, in_list: bool = False) -> object:
    """Return what cases of one kind have in common: all but fractions and the numbers in arrays and lists."""
    if isinstance(value, dict):
        return tuple((name, structure(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(structure(part, in_list=True) for part in value)
    if hasattr(value, "shape"):
        return str(value.dtype), tuple(value.shape)
    if type(value) is int and in_list:
        return "int"
    return "float" if type(value) is float and not value.is_integer() else repr(value)


def order(case: Arguments) -> object:
    """Return what cases that look alike have in common: the kinds of their values, and the order of their
    integers, of -1, 0 and 1, and of the lengths of axes, lists and texts."""
    found = [value for value in case.values() if type(value) is int]
    lengths = {length for value in case.values() for length in getattr(value, "shape", ())}
    marks = [*found, -1, 0, 1, *sorted(lengths)]
    compared = tuple((one > other) - (one < other) for one in found for other in marks)
    return tuple((name, _looks(value)) for name, value in case.items()), compared


def _looks(value: Any) -> object:
    if isinstance(value, str | bytes | list | tuple | dict):
        parts = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        )
        return type(value).__name__, min(len(value), FEW), frozenset(map(_looks, parts))
    return "int" if type(value) is int else structure(value)


def require_sendable(case: Arguments) -> None:
    """Raise KataError, with the name of the argument, if a case cannot be sent to a worker."""
    for name, value in case.items():
        try:
            encode({name: value})
        except Malformed as error:
            advice = "draw the numbers that it is made from, and make it with student.build"
            raise KataError(f"the argument `{name}`: {error} to the worker; {advice}") from None


def for_all(draw_case: DrawCase, check: Callable[[Arguments], None], examples: int = 20) -> None:
    """Run `check` on drawn cases; Hypothesis shrinks a failing case and raises its exception."""
    _run(draw_case, check, examples=examples, seed=SEED, shrink=True)


def _run(
    draw_case: DrawCase, check: Callable[[Arguments], None], examples: int, seed: int, *, shrink: bool
) -> None:
    import hypothesis
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import strategies as st

    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    quiet = settings(
        max_examples=examples,
        backend="hypothesis",
        database=None,
        deadline=None,
        phases=phases,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.normal if not shrink else hypothesis.Verbosity.quiet,
    )
    strategy = st.composite(lambda draw: draw_case(draw))()
    with _reproducible_hypothesis():
        hypothesis.seed(seed)(quiet(hypothesis.given(strategy)(_one_argument(check))))()


@contextmanager
def _reproducible_hypothesis() -> Iterator[None]:
    """Make Hypothesis draw and shrink alike, whatever modules are loaded and whatever the hash seed is."""
    from hypothesis.internal.conjecture import providers
    from hypothesis.internal.conjecture.shrinker import Shrinker
    from hypothesis.internal.constants_ast import Constants

    # Hypothesis draws constants that it finds in loaded modules outside of site-packages, and shrinks in the
    # order of labels computed by `hash`. No setting turns either off, nor does another backend help:
    # Hypothesis does not mutate the cases of another backend, and shrinks them with its own.
    replacements: list[tuple[Any, str, Any]] = [
        (providers, "_get_local_constants", Constants),
        (providers, "CONSTANTS_CACHE", {}),
        (Shrinker, "distinct_labels", property(lambda shrinker: list(shrinker.spans_by_label))),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    for owner, name, value in replacements:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in originals:
            setattr(owner, name, value)


def _one_argument(check: Callable[[Arguments], None]) -> Callable[[Arguments], None]:
    """Return `check` with the signature that Hypothesis expects."""

    def test(case: Arguments) -> None:
        check(case)

    return test


def smallest_first(cases: list[Arguments]) -> list[Arguments]:
    """Return the cases sorted by weight, and cases of equal weight by their bytes."""
    return sorted(cases, key=lambda case: (weight(case), fingerprint(case)))


def fingerprint(case: Arguments) -> bytes:
    """Return the case as bytes, which are equal for equal cases."""
    header, buffers = encode(case, gaps=True)
    return header + b"".join(buffers)
