"""Write a failing call as Python code that rebuilds its arguments exactly: values, dtypes, memory layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.checks.runner import Failure
from grader.values.arrays import is_contiguous

IMPORTS = {"np.": "import numpy as np", "torch.": "import torch"}
MOST_ENTRIES = 400  # of all arrays together


class NotCode(Exception):
    """A value cannot be written as code."""


def snippet_of(failure: Failure, module: str, entry_points: tuple[str, ...]) -> str:
    """Return the failing call as code that imports the student's `module`; empty if an object or a function
    takes part in it, or an array is large."""
    calls = [call for call in failure.trace if not call.helping]
    if not calls or calls[-1].name not in entry_points:
        return ""
    call = calls[-1]
    try:
        names = {id(value): name for name, value in failure.case.items() if hasattr(value, "shape")}
        arguments = [*call.args, *call.kwargs.values()]
        _require_small(arguments)
        made = [f"{names[id(v)]} = {code_of(v)}" for v in arguments if id(v) in names]
        shown = [names.get(id(value)) or code_of(value) for value in call.args]
        shown += [f"{key}={names.get(id(value)) or code_of(value)}" for key, value in call.kwargs.items()]
    except NotCode:
        return ""
    body = [*dict.fromkeys(made), f"print({call.name}({', '.join(shown)}))"]
    imports = [line for prefix, line in IMPORTS.items() if any(prefix in part for part in body)]
    return "\n".join([*imports, f"from {module} import {call.name}", "", *body]) + "\n"


def _require_small(values: Any) -> None:
    if sum(int(np.prod(value.shape)) for value in values if hasattr(value, "shape")) > MOST_ENTRIES:
        raise NotCode


def code_of(value: Any) -> str:
    """Return an expression whose value is `value`. Raises NotCode."""
    if isinstance(value, bool | int | str | type(None)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, list | tuple):
        inside = ", ".join(map(code_of, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{code_of(key)}: {code_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.generic):
        return f"np.{value.dtype}({code_of(value.item())})"
    if isinstance(value, np.ndarray):
        return _array(value, value.strides, "transpose", f"np.array({{}}, dtype=np.{value.dtype})")
    if type(value).__module__ == "torch" and hasattr(value, "stride"):
        return _array(value, value.stride(), "permute", f"torch.tensor({{}}, dtype={value.dtype})")
    raise NotCode


def _array(value: Any, strides: tuple[int, ...], turn: str, template: str) -> str:
    """Return code for an array: the entries in their order in memory, then the axes in theirs."""
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    laid = getattr(value, turn)(*order)
    if not is_contiguous(laid):
        raise NotCode  # there are gaps between its entries
    if 0 in value.shape:
        return f"{template.format('[]')}.reshape({tuple(value.shape)})"
    code = template.format(code_of(laid.tolist()))
    back = ", ".join(str(order.index(axis)) for axis in range(len(order)))
    return code if order == sorted(order) else f"{code}.{turn}({back})"
