"""Test cells for nbgrader and otter, as an instructor would write them: asserts of reference values."""

from __future__ import annotations

import json
from typing import Any

from invented_class import ROOT

from grader.course.catalog import Course, load_file

TEST_NAME = "q1"
SETUP = """
import numpy as np
draw = np.random.default_rng(0).normal
weights = lambda *names: {name: draw(size=(4, 4)) for name in names}
"""
TORCH = SETUP + "import torch\ntensor = lambda *shape: torch.tensor(draw(size=shape), dtype=torch.float32)\n"
#: Calls whose results are compared with the reference's, by kata.
CALLS = {
    "softmax": (
        "softmax(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))",
        "softmax(draw(size=(2, 3)), axis=0)",
        "softmax(draw(size=(2, 3, 4)))",
    ),
    "causal_mask": ("causal_mask(1)", "causal_mask(4)", "causal_mask(2, 4)"),
    "head_split_merge": (
        "split_heads(draw(size=(1, 3, 8)), 2)",
        "split_heads(draw(size=(2, 3, 8)), 4)",
        "merge_heads(draw(size=(2, 2, 3, 4)))",
    ),
    "decoder_layer": (
        "decoder_layer(draw(size=(3, 4)), draw(size=(5, 4)), {'self_attention': weights(*'qkvo'),"
        " 'cross_attention': weights(*'qkvo'), 'feed_forward': weights('w1', 'w2')}, 2)",
    ),
    "top_p": (
        "top_p_filter(torch.tensor([[2.0, 1.0, 0.0, -1.0]]), 0.7)",
        "top_p_filter(tensor(2, 6), 0.9)",
    ),
    "kv_cache": (
        "cached_attention(tensor(1, 3, 4), tensor(4, 12), tensor(4, 4), 2, KVCache())",
        "(lambda c: [cached_attention(tensor(1, 1, 4), tensor(4, 12), tensor(4, 4), 2, c)"
        " for _ in range(3)][-1])(KVCache())",
    ),
}


def cells(name: str) -> str:
    """Return the asserts of a kata, with the reference's results as literals."""
    course = Course(ROOT)
    info = course.kata_info(name)
    setup = TORCH if info.library == "torch" else SETUP
    namespace: dict[str, Any] = dict(vars(load_file(f"bench_{name}", course.solution(info, "reference"))))
    exec(setup, namespace)  # the asserts draw their inputs in the same order
    lines = [setup.strip()]
    for call in CALLS[name]:
        expected = [[float(x) for x in row] for row in as_rows(eval(call, namespace))]
        lines.append(f"assert np.allclose(np.asarray({call}, dtype=float).reshape({len(expected)}, -1),")
        lines.append(f"                   {json.dumps(expected)}, atol=1e-5)")
    return "\n".join(lines).replace("-Infinity", "-np.inf")


def as_rows(value: Any) -> Any:
    """Return the value as an array of two axes."""
    import numpy as np

    array = np.asarray(value, dtype=float)
    return array.reshape(array.shape[0], -1)


def notebook(name: str, answer: str, checks: tuple[str, ...] = ()) -> str:
    """Return a notebook with the answer in one cell, followed by nbgrader's test cell or the given checks."""
    solution = _cell(answer, "answer", solution=True)
    tests = [_cell(cells(name), "tests", grade=True, locked=True, points=10)]
    others = [_cell(source) for source in checks]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    found = [*others[:1], solution, *others[1:]] if checks else [solution, *tests]
    return json.dumps({"cells": found, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


def _cell(source: str, grade_id: str = "", **wanted: Any) -> dict[str, Any]:
    marks = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    metadata = {"nbgrader": {**marks, "grade_id": grade_id, **wanted}} if grade_id else {}
    place = {"id": grade_id or f"c{abs(hash(source)) % 10**8}", "metadata": metadata}
    return {"cell_type": "code", "execution_count": None, "outputs": [], "source": source, **place}


def otter_test(name: str) -> str:
    """Return the asserts of a kata as a test file of otter."""
    lines = cells(name).splitlines()
    code = "\n".join(("... " if line[:1].isspace() else ">>> ") + line for line in lines)
    case = {"code": code, "hidden": False, "locked": False}
    suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
    return f"OK_FORMAT = True\n\ntest = {{'name': '{TEST_NAME}', 'points': 1, 'suites': [{suite!r}]}}\n"
