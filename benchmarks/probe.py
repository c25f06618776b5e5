"""How small an input can be that tells a known mistake from the reference, and how an input's legality errs.

    python benchmarks/probe.py [KATA ...]

For each kata: its known mistakes; how many have a legal input of at most 12 numbers, of more, and none that
was found; the median of the smallest; how many of 300 new cases, which are legal, the domain refuses; and how
many illegal inputs it accepts. A case is made illegal in one argument: a text or a list in its place, another
dtype, no entries, one axis too many, a nan, an infinity, or a number that is far too large.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dojo_probe.answers import answer_of, difference
from dojo_probe.smallest import FEW, smallest
from grader.cases.domain import DRAWS, SEED, Domain, known_cases, numbers_in
from grader.cases.generation import drawn
from grader.cases.oracle import Oracle
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions
from grader.kata import Arguments
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[1]
KATAS = (
    "softmax",
    "token_embedding",
    "sinusoidal_positions",
    "scaled_dot_product_attention",
    "causal_mask",
    "multi_head_attention",
    "cross_attention",
    "layer_norm",
    "feed_forward",
    "next_token",
    "cross_entropy",
    "parameter_count",
    "top_k",
    "top_p",
    "rms_norm",
    "rotary_embedding",
    "grouped_query_attention",
    "min_p",
    "sliding_window_mask",
    "repetition_penalty",
)
MADE_ILLEGAL = 40  # cases that are made illegal


def main(names: list[str]) -> None:
    """Print a line for each kata, and the mistakes without a small input."""
    course = Course(ROOT)
    print("| kata | mistakes | ≤ 12 | more | none | median | legal, refused | illegal, accepted |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    others: list[str] = []
    for name in names or KATAS:
        print(f"| {name} | {_row(course, course.kata_info(name), others)} |", flush=True)
    print("\n" + "\n".join(others))


def _row(course: Course, info: KataInfo, others: list[str]) -> str:
    kata = course.declaration(info)
    oracle = Oracle(kata, course, info)
    bank = [case.arguments for case in oracle.answered.cases]
    domain = Domain(kata, known_cases(kata, bank))
    known = KnownSolutions(course, info, "mistakes")
    sizes = []
    for mistake in known.names:
        wrong = LocalStudent(known.fresh(mistake), str(known.file))

        def differs(arguments: Arguments, wrong: LocalStudent = wrong) -> bool:
            right = answer_of(kata, oracle.reference, arguments)
            if right.error or right.has_nan:
                return False
            return bool(difference(kata, arguments, right, answer_of(kata, wrong, arguments)))

        found = smallest(domain, bank, differs)
        sizes.append(numbers_in(found) if found else None)
        if found is None or numbers_in(found) > FEW:
            others.append(f"{info.name}: {mistake}: {numbers_in(found) if found else 'none'}")
    few = sum(size is not None and size <= FEW for size in sizes)
    none = sizes.count(None)
    new = [one.case for one in drawn(kata.draw, DRAWS, SEED + 1)] if kata.draw else []
    refused = sum(bool(domain.complaint(case)) for case in new)
    illegal = [case for arguments in bank[:MADE_ILLEGAL] for case in _made_illegal(domain, arguments)]
    accepted = 0
    for case in illegal:
        if not domain.complaint(case):
            right = answer_of(kata, oracle.reference, case)
            accepted += not (right.error or right.has_nan)
    middle = median([size for size in sizes if size is not None] or [0])
    return (
        f"{len(sizes)} | {few} | {len(sizes) - few - none} | {none} | {middle:g} |"
        f" {refused} of {len(new)} | {accepted} of {len(illegal)}"
    )


def _made_illegal(domain: Domain, arguments: Arguments) -> Iterator[Arguments]:
    """Yield the arguments with one of them as no statement allows it."""
    for name, value in arguments.items():
        allowed = domain.allowed[name]
        yield {**arguments, name: "x"} if "a text" not in allowed.types else {**arguments, name: 1.5}
        if not hasattr(value, "shape"):
            if type(value) in (int, float):
                yield {**arguments, name: 10**9}
            continue
        for changed in _changed(value, allowed.axes):
            yield {**arguments, name: changed}


def _changed(value: Any, axes: set[int]) -> Iterator[Any]:
    array = np.asarray(value)
    made = [array.astype(np.complex64), array.tolist(), array[..., :0]]
    if array.size and array.dtype.kind == "f":
        for number in (np.nan, 1e300, np.inf):
            new = array.astype(np.float64)
            new.flat[0] = number
            made.append(new)
    made.append(array.reshape((1,) * (max(axes) + 1 - array.ndim) + array.shape))
    for new in made:
        yield _as_tensor(new) if hasattr(value, "new_tensor") and isinstance(new, np.ndarray) else new


def _as_tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
