"""Draw cases with Hypothesis and a fixed seed, and sort them, smallest first.

Hypothesis is imported inside functions, because a grading that finds its cases in the cache draws none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from grader.kata import Arguments, DrawCase, KataError
from grader.values.arrays import weight
from grader.worker.protocol.codec import Malformed, encode

Item = TypeVar("Item")

SEED = 20170612
LAYOUT = "any_memory_layout"  # the corner of cases whose arrays are not contiguous
DRAWS = 3  # cases drawn for each one kept, since Hypothesis repeats cases and those kept are spread by size


def draw_cases(draw_case: DrawCase, examples: int, seed: int = SEED) -> list[Arguments]:
    """Return the distinct cases among `examples` drawn ones, smallest first.

    The same seed draws the same cases. Raises KataError if a case is not a dict.
    """
    drawn: dict[bytes, Arguments] = {}

    def keep(case: Arguments) -> None:
        if not isinstance(case, dict):
            raise KataError(f"a case is a dict of arguments by name, and {type(case).__name__} was returned")
        require_sendable(case)
        drawn.setdefault(fingerprint(case), case)

    _run(draw_case, keep, examples=examples, seed=seed, shrink=False)
    return smallest_first(list(drawn.values()))


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
    draw_case: DrawCase, check: Callable[[Arguments], None], examples: int, seed: int, shrink: bool
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
