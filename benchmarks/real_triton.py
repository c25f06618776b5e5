"""Run the references and variants of the kernels by Triton itself, and compare values and bytes.

    pip install triton
    TRITON_INTERPRET=1 python benchmarks/real_triton.py [KATA ...]     by Triton's interpreter, without a GPU
    python benchmarks/real_triton.py [KATA ...]                        on a GPU, values alone

Each answer runs twice on the same cases: as the grader runs it, and with the `triton` that is installed. The
interpreter's bytes are counted where it loads and stores.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grader.cases.generation import SEED, drawn
from grader.course.catalog import Course, load_file

ROOT = Path(__file__).resolve().parents[1]
INTERPRETED = bool(os.environ.get("TRITON_INTERPRET"))
ON = "cpu" if INTERPRETED else "cuda"
CASES = 20
CLOSE = 1e-5  # the largest difference, relative to the largest number


class RealDevice:
    """Where Triton's kernels find tensors."""

    def array(
        self, values: np.ndarray, _name: str, dtype: str = "", strides: Sequence[int] | None = None
    ) -> torch.Tensor:
        numbers = torch.from_numpy(np.ascontiguousarray(values))
        steps = strides or [step // values.itemsize for step in values.strides]
        kind = torch.bfloat16 if dtype == "bfloat16" else numbers.dtype
        return torch.empty_strided(values.shape, steps, dtype=kind, device=ON).copy_(numbers)

    def empty(
        self, shape: Sequence[int], dtype: str, _name: str, strides: Sequence[int] | None = None
    ) -> torch.Tensor:
        made = torch.empty(shape, dtype=getattr(torch, dtype), device=ON)
        return made if strides is None else torch.empty_strided(shape, strides, dtype=made.dtype, device=ON)

    def run(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


def counted() -> Counter[str]:
    """Count from now on the bytes that Triton's interpreter loads and stores."""
    from triton.runtime import interpreter

    moved: Counter[str] = Counter()
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def loading(self: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
        found = load(self, pointers, mask, *rest)
        moved["loaded"] += int(mask.data.sum()) * found.data.itemsize
        return found

    def storing(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        moved["stored"] += int(mask.data.sum()) * value.data.itemsize
        return store(self, pointers, value, mask, *rest)

    builder.create_masked_load, builder.create_masked_store = loading, storing
    return moved


def loaded(name: str, path: Path) -> Any:
    """Return a file of answers that imports the `triton` that is installed."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the numbers of arrays of either device, as float64."""
    found = {}
    for name, array in arrays.items():
        array = (
            array.float().cpu() if isinstance(array, torch.Tensor) and array.is_floating_point() else array
        )
        array = array.cpu() if isinstance(array, torch.Tensor) else array
        found[name] = array.numpy().astype(np.float64)
    return found


def main(names: list[str]) -> None:
    """Print a row for each answer."""
    from grader import kernels

    course, moved = Course(ROOT), counted() if INTERPRETED else Counter()
    print("| kata | answer | cases | largest difference | bytes loaded, here and there | stored |")
    print("|---|---|---:|---:|---:|---:|")
    for info in course.katas.values():
        if info.track != "kernels" or (names and info.name not in names):
            continue
        print(info.name, file=sys.stderr)
        declared = load_file(f"declared_{info.name}", info.path)
        kata, (entry, *_) = declared.KATA, declared.KATA.entry_points
        cases = [*kata.examples, *(one.case for one in drawn(kata.draw, 4 * CASES, SEED)[::3])][:CASES]
        for file in ("reference", "variants"):
            path = course.solution(info, file)
            both = load_file(f"here_{info.name}", path), loaded(f"there_{info.name}", path)
            public = [
                name
                for name, made in vars(both[0]).items()
                if inspect.isfunction(made) and name[0] != "_" and made.__module__ == both[0].__name__
            ]
            for name in [entry] if file == "reference" else public:
                worst, here, there = 0.0, Counter[str](), Counter[str]()
                for case in cases:
                    device = kernels.Device()
                    ours = declared.launch(device, _student(entry, both[0], name), **case)
                    moved.clear()
                    theirs = declared.launch(RealDevice(), _student(entry, both[1], name), **case)
                    here.update(loaded=device.bytes_loaded, stored=device.bytes_stored)
                    there.update(moved)
                    worst = max(worst, _difference(numbers(ours), numbers(theirs)))
                sign = "" if worst <= CLOSE else " ✗"
                bytes_moved = [f"{here[what]:,} {there[what]:,}" for what in ("loaded", "stored")]
                print(
                    f"| {info.name} | {name} | {len(cases)} | {worst:.1e}{sign} | {' | '.join(bytes_moved)} |"
                )


def _student(entry: str, module: Any, name: str) -> Any:
    return type("Answer", (), {entry: staticmethod(getattr(module, name))})


def _difference(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> float:
    worst = 0.0
    for name, values in ours.items():
        largest = max(1e-30, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))
        apart = np.abs(values - theirs[name])[np.isfinite(values) | np.isfinite(theirs[name])]
        worst = max(worst, float(apart.max(initial=0.0)) / largest)
    return worst


if __name__ == "__main__":
    main(sys.argv[1:])
