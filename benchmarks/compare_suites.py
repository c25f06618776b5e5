"""Run the wrong answers of our katas through the public tests of other collections of exercises.

python benchmarks/compare_suites.py FOLDER     with clones of them: FOLDER/TorchCode, FOLDER/pyre-code

It fetches nothing. A suite judges an exercise if our reference passes all of its tests. An answer counts if
it is wrong for plain arguments: float32, sizes of 1 to 6, of the order of 1 or of 100. What only our
statements ask for (dtypes, memory layouts, arguments left as they were) is left out.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("TorchCode", "pyre-code")
DRAWS = 200
Function = Callable[..., Any]


class Detached(torch.autograd.Function):
    """A function of arrays among tensors. Its gradients are zeros: some tests ask that there are any."""

    @staticmethod
    def forward(context: Any, function: Function, *tensors: torch.Tensor) -> torch.Tensor:
        context.inputs = tensors
        return torch.as_tensor(np.array(function(*(tensor.detach().numpy().copy() for tensor in tensors))))

    @staticmethod
    def backward(context: Any, *_: torch.Tensor) -> Any:
        return None, *(torch.zeros_like(one) if one.is_floating_point() else None for one in context.inputs)


def between(function: Function) -> Function:
    """Return the function for tensors."""
    return lambda *tensors: Detached.apply(function, *tensors)


def softmax(ours: Function) -> Function:
    return lambda x, dim=-1: between(lambda given: ours(given, dim))(x)


def layer_norm(ours: Function) -> Function:
    return lambda x, gamma, beta, eps=1e-5: between(lambda *given: ours(*given, eps))(x, gamma, beta)


def rms_norm(ours: Function) -> Function:
    return lambda x, weight, eps=1e-6: between(lambda *given: ours(*given, eps))(x, weight)


def cross_entropy(ours: Function) -> Function:
    return lambda logits, targets: between(lambda *given: np.float32(ours(*given)))(logits, targets)


def label_smoothing(ours: Function) -> Function:
    return lambda logits, targets, smoothing=0.1: between(lambda *given: np.float32(ours(*given, smoothing)))(
        logits, targets
    )


def attention(ours: Function) -> Function:
    return lambda q, k, v: between(lambda *given: ours(*given)[0])(q, k, v)


def positions(ours: Function) -> Function:
    return lambda length, width: torch.as_tensor(np.float32(ours(length, width)))


#: Our kata, the function in it, their task, and how ours is called as theirs.
SHARED = (
    ("softmax", "softmax", "softmax", softmax),
    ("layer_norm", "layer_norm", "layernorm", layer_norm),
    ("rms_norm", "rms_norm", "rmsnorm", rms_norm),
    ("cross_entropy", "cross_entropy", "cross_entropy", cross_entropy),
    ("label_smoothing", "label_smoothing_loss", "label_smoothing", label_smoothing),
    ("scaled_dot_product_attention", "scaled_dot_product_attention", "attention", attention),
    ("sinusoidal_positions", "sinusoidal_positions", "sinusoidal_pe", positions),
)


def plain_arguments(kata: str) -> Iterator[tuple[Any, ...]]:
    random = np.random.default_rng(17)

    def sizes(count: int) -> tuple[int, ...]:
        return tuple(map(int, random.integers(1, 7, count)))

    def drawn(*shape: int) -> np.ndarray:
        return (random.choice([1.0, 100.0]) * random.standard_normal(shape)).astype(np.float32)

    for _ in range(DRAWS):
        batch, tokens, width, keys = sizes(4)
        if kata == "softmax":
            yield drawn(batch, tokens, width), int(random.integers(-3, 3))
        elif kata in ("layer_norm", "rms_norm"):
            scales = [drawn(width) for _ in range(2 if kata == "layer_norm" else 1)]
            yield drawn(batch, tokens, width), *scales
        elif kata in ("cross_entropy", "label_smoothing"):
            yield drawn(tokens, width), random.integers(0, width, tokens)
        elif kata == "scaled_dot_product_attention":
            yield drawn(batch, tokens, width), drawn(batch, keys, width), drawn(batch, keys, width)
        else:
            yield tokens, 2 * width


def outcome(function: Function, arguments: tuple[Any, ...]) -> Any:
    given = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    with contextlib.suppress(Exception):
        result = function(*given)
        return np.asarray(result[0] if isinstance(result, tuple) else result)
    return None


def is_wrong(function: Function, reference: Function, kata: str) -> bool:
    """Whether an answer differs from the reference for plain arguments by more than 1e-3."""
    for arguments in plain_arguments(kata):
        due, got = outcome(reference, arguments), outcome(function, arguments)
        if got is None or got.shape != due.shape or not np.allclose(got, due, rtol=1e-3, atol=1e-3):
            return True
    return False


def tests_of(folder: Path, task: str) -> tuple[str, list[str]] | None:
    """Return the name that the tests of a task call, and their code; None if there is no such task."""
    file = folder / "torch_judge" / "tasks" / f"{task}.py"
    if not file.is_file():
        return None
    found = runpy.run_path(str(file))["TASK"]
    return found["function_name"], [test["code"] for test in found["tests"]]


def passes(function: Function, name: str, tests: list[str]) -> bool:
    for code in tests:
        try:
            exec(compile(code.replace("{fn}", name), "<test>", "exec"), {name: function})
        except Exception:
            return False
    return True


def loaded(source: str, name: str) -> Function:
    module = types.ModuleType("answer")
    exec(compile(source, "answer.py", "exec"), vars(module))
    return vars(module)[name]  # type: ignore[no-any-return]


def main(folder: Path) -> int:
    missing = [suite for suite in SUITES if not (folder / suite / "torch_judge").is_dir()]
    if missing:
        print(f"{folder} has no clone of {' and of '.join(missing)}.", file=sys.stderr)
        return 4
    warnings.simplefilter("ignore")
    course = Course(ROOT)
    print("| kata | wrong answers | ours |", " | ".join(SUITES), "|\n|---|---:|---:|---:|---:|")
    totals = dict.fromkeys(SUITES, (0, 0))
    for kata, entry, task, adapted in SHARED:
        info = course.kata_info(kata)
        reference = loaded(course.solution(info, "reference").read_text("utf-8"), entry)
        answers = [loaded(text, entry) for text in standalone_sources(course, info, "mistakes").values()]
        wrong = [answer for answer in answers if is_wrong(answer, reference, kata)]
        row = []
        for suite in SUITES:
            tests = tests_of(folder / suite, task)
            with contextlib.redirect_stdout(io.StringIO()):
                if tests is None or not passes(adapted(reference), *tests):
                    row.append("no such exercise" if tests is None else "refuses our reference")
                    continue
                caught = sum(not passes(adapted(answer), *tests) for answer in wrong)
            row.append(f"{caught}")
            totals[suite] = totals[suite][0] + caught, totals[suite][1] + len(wrong)
        print(f"| `{kata}` | {len(wrong)} | {len(wrong)} |", " | ".join(row), "|", flush=True)
    share = [f"{caught} of {wrong} ({caught / wrong:.0%})" for caught, wrong in totals.values()]
    print("| all that it has | | 100% |", " | ".join(share), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
