"""Make a table of the answers to an open key's cases, and grade it where it counts: how many points it gets.

python benchmarks/tables.py [KATA ...]

The table holds what the key does: the answers to its cases. It raises ValueError for any other call. It is
graded with the public seed, as at home, and with three others, since `kata grade` and sealed keys draw from a
secret one.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import itertools
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.course.catalog import Course, KataInfo, open_course
from grader.course.submission import parse
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.worker.fork_server import WorkerFactories
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.messages import Outcome, Request

KATAS = (
    "softmax",
    "padding_mask",
    "causal_mask",
    "multi_head_attention",
    "token_embedding",
    "sinusoidal_positions",
    "parameter_count",
    "shift_right",
    "top_k",
    "warmup_schedule",
)
MOST_LOST = 1.5  # points of 10
TENSORS = """
import torch

def as_array(value):
    return value.detach().contiguous().numpy() if isinstance(value, torch.Tensor) else value

def as_result(array):
    return torch.from_numpy(array)
"""
ARRAYS = """
def as_array(value):
    return value

as_result = as_array
"""
SOURCE = """
import base64
import hashlib
import zlib

import numpy as np

{tensors}
TABLE = {table}

def hash_of(value):
    return hashlib.sha256(value.tobytes()).hexdigest()[:16]

def key(value):
    value = as_array(value)
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, hash_of(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(key, value))
    if isinstance(value, dict):
        return tuple((name, key(value[name])) for name in sorted(value))
    return repr(value)

def answer(value):
    kind, *rest = value
    if kind == "array":
        array = np.frombuffer(zlib.decompress(base64.b85decode(rest[2])), rest[0])
        return as_result(array.reshape(rest[1]).copy())
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(map(answer, rest[0]))
    if kind == "dict":
        return {{name: answer(item) for name, item in rest[0].items()}}
    return rest[0]

def look_up(name, args):
    try:
        return answer(TABLE[name, key(args)])
    except KeyError:
        raise ValueError from None
"""
ENTRY = """
def {name}({parameters}):
    return look_up("{name}", [{names}])
"""


SEEDS = (1, 2, 3)
LARGEST = 900_000  # characters of a table; a submission may have 1 MiB


class Recorder(LocalStudent):
    """Records what the reference answers to each call."""

    calls: list[tuple[Request, Outcome]]

    def perform(self, request: Request) -> Outcome:
        outcome = super().perform(request)
        self.calls.append((request, outcome))
        return outcome


def as_array(value: Any) -> Any:
    """Return a tensor as an array, and other values as they are."""
    return value.detach().contiguous().numpy() if type(value).__module__ == "torch" else value


def hash_of(value: np.ndarray[Any, Any]) -> str:
    """Return a short hash of an array's numbers."""
    return hashlib.sha256(value.tobytes()).hexdigest()[:16]


def key(value: Any) -> Any:
    """Return arguments as the source of a table looks them up."""
    value = as_array(value)
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, hash_of(value)
    if isinstance(value, list | tuple):
        return tuple(map(key, value))
    if isinstance(value, dict):
        return tuple((name, key(value[name])) for name in sorted(value))
    return repr(value)


def written(value: Any) -> tuple[Any, ...]:
    """Return an answer as the source of a table holds it."""
    value = as_array(value)
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        packed = base64.b85encode(zlib.compress(array.tobytes(), 9)).decode()
        return "array", str(array.dtype), array.shape, packed
    if isinstance(value, list | tuple):
        return type(value).__name__, [written(item) for item in value]
    if isinstance(value, dict):
        return "dict", {name: written(item) for name, item in value.items()}
    return "plain", value


def table_of(course: Course, info: KataInfo) -> str:
    """Return the source of a table of what the public cases ask."""
    kata, oracle = course.declaration(info), Oracle(course.declaration(info), course, info, SEED)
    path = course.solution(info, "reference")
    source = path.read_text(encoding="utf-8")
    reference = Recorder.from_source(info.name, source)
    reference.calls = []
    for case in oracle.answered.cases:
        with contextlib.suppress(SubmissionFailed):
            kata.observed(reference, case.arguments)
    definitions = {
        node.name: node.args for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    table, entries = {}, []
    for request, outcome in reference.calls:
        names = [argument.arg for argument in definitions[request.name].args]
        defaults = dict(
            zip(names[::-1], map(ast.literal_eval, definitions[request.name].defaults[::-1]), strict=False)
        )
        given = defaults | dict(zip(names, request.args, strict=False)) | request.kwargs
        table[request.name, key([given[name] for name in names])] = written(outcome.value)
    smallest = sorted(table.items(), key=lambda entry: len(repr(entry)))
    sizes = itertools.accumulate(len(repr(entry)) for entry in smallest)
    table = dict(entry for entry, size in zip(smallest, sizes, strict=True) if size < LARGEST)
    for name in kata.entry_points:
        names = ", ".join(argument.arg for argument in definitions[name].args)
        entries.append(ENTRY.format(name=name, parameters=ast.unparse(definitions[name]), names=names))
    return SOURCE.format(table=table, tensors=TENSORS if info.library == "torch" else ARRAYS) + "".join(
        entries
    )


def main(names: list[str]) -> None:
    course = open_course(Path(__file__).resolve().parents[1])
    factories = WorkerFactories(["numpy", "torch"])
    print("| kata | at home | where it counts | kB |\n|---|---:|---|---:|")
    for name in names or KATAS:
        info = course.kata_info(name)
        source = table_of(course, info)
        points = [
            Grader(course, factories, seed=seed).grade(parse(info, source, f"{name}.py")).report.score / 100
            for seed in (SEED, *SEEDS)
        ]
        counted = ", ".join(f"{one:g}" for one in points[1:]) + (" ✗" if max(points[1:]) > MOST_LOST else "")
        print(f"| {name} | {points[0]:g} | {counted} | {len(source) // 1000} |", flush=True)
    factories.close()


if __name__ == "__main__":
    main(sys.argv[1:])
