"""Cases: drawn once by Hypothesis with a fixed seed, smallest first.

Hypothesis is imported inside, since a grading that finds its bank in the cache never draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from grader.kata import Case, DrawCase, KataError
from grader.worker.protocol.codec import encode

SEED = 20170612
FEWEST = 8  # cases below which no bank is halved
DRAWS = 3  # cases drawn for each one kept: Hypothesis repeats itself, and the bank is spread by size


def draw_cases(draw_case: DrawCase, examples: int, seed: int = SEED) -> list[Case]:
    """The distinct cases among so many examples, smallest first. The same seed draws the same cases."""
    drawn: dict[bytes, Case] = {}

    def keep(case: Case) -> None:
        if not isinstance(case, dict):
            raise KataError(f"a case is a dict of arguments by name, and {type(case).__name__} was returned")
        drawn.setdefault(fingerprint(case), case)

    _run(draw_case, keep, examples=examples, seed=seed, shrink=False)
    return smallest_first(list(drawn.values()))


def spread(cases: list[Case], size: int) -> list[Case]:
    """`size` of the cases, evenly from the smallest to the largest, both included."""
    if len(cases) <= size:
        return cases
    return [cases[round(i * (len(cases) - 1) / (size - 1))] for i in range(size)]


def half(cases: list[Case]) -> list[Case]:
    """Every other case, and no fewer than eight: for checks that ask several times a case, or once more."""
    return spread(cases, max(FEWEST, len(cases) // 2))


def for_all(draw_case: DrawCase, check: Callable[[Case], None], examples: int = 30) -> None:
    """Run `check` on drawn cases under plain Hypothesis; a failing case is shrunk and shown."""
    _run(draw_case, check, examples=examples, seed=SEED, shrink=True)


def _run(draw_case: DrawCase, check: Callable[[Case], None], examples: int, seed: int, shrink: bool) -> None:
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
    with _independent_of_the_process():
        hypothesis.seed(seed)(quiet(hypothesis.given(strategy)(_one_argument(check))))()


@contextmanager
def _independent_of_the_process() -> Iterator[None]:
    """Make Hypothesis draw and shrink alike, whichever modules are loaded and whatever the hash seed is."""
    from hypothesis.internal.conjecture import providers
    from hypothesis.internal.conjecture.shrinker import Shrinker
    from hypothesis.internal.constants_ast import Constants

    # Hypothesis draws constants found in the loaded modules that lie outside of site-packages, and shrinks
    # in the order of labels computed by `hash`. No setting turns either off, and another backend would not
    # do: Hypothesis mutates no case of one, and shrinks with its own.
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


def _one_argument(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Hypothesis looks at a test's signature; this gives every check the same."""

    def test(case: Case) -> None:
        check(case)

    return test


def smallest_first(cases: list[Case]) -> list[Case]:
    """Sorted by weight; equally heavy ones by their bytes, so that the order never varies."""
    return sorted(cases, key=lambda case: (weight(case), fingerprint(case)))


def weight(value: Any) -> tuple[int, float]:
    """How much a person has to read: numbers in all, then how far they are from small and round."""
    if isinstance(value, dict):
        return _added(value.values())
    if isinstance(value, list | tuple):
        return _added(value)
    if type(value).__module__ == "torch":
        value = value.detach().cpu().double().numpy()
    if isinstance(value, np.ndarray):
        finite = np.abs(value[np.isfinite(value)].astype(np.float64))
        uneven = np.count_nonzero(finite % 0.25)
        return value.size, float(np.sum(np.minimum(finite, 1e6))) + 10.0 * uneven
    return 1, float(abs(value)) if isinstance(value, int | float) and abs(value) < 1e9 else 0.0


def _added(values: Any) -> tuple[int, float]:
    weights = [weight(value) for value in values]
    return sum(w[0] for w in weights), sum(w[1] for w in weights)


def fingerprint(case: Case) -> bytes:
    """The case as bytes: equal for equal cases."""
    header, buffers = encode(case)
    return header + b"".join(buffers)
