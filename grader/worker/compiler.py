"""PyTorch's compiler, 2 s long to import, is kept out: nothing is compiled here."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any


def spare(mode: Any) -> None:
    """A dispatch mode's first call imports PyTorch's compiler, 2 s long, to keep it from compiling the
    mode. Nothing is compiled here, so the method is marked as spared already."""
    method = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    if method is not None and not hasattr(method, "__dynamo_disable"):
        setattr(method, "__dynamo_disable", method)  # the name would be mangled in a class


@functools.cache
def _lean_dynamo() -> dict[str, types.ModuleType]:
    """What stands for PyTorch's compiler: its package, found and not executed, so that its settings can be
    imported alone; nothing to disable; names for where a value comes from, which only a compiler asks."""
    spec = importlib.util.find_spec("torch._dynamo")
    assert spec is not None
    package, source = importlib.util.module_from_spec(spec), types.ModuleType("torch._dynamo.source")
    vars(package).update(disable=lambda function, *_args, **_options: function, source=source)
    vars(source).update(dict.fromkeys(("ConstantSource", "RandomValueSource"), lambda *_args: None))
    return {package.__name__: package, source.__name__: source}


@contextlib.contextmanager
def kept_out() -> Iterator[None]:
    """Inside, importing a part of `torch._dynamo` brings that part alone and not the compiler, which takes
    2 s. Outside none of it is left: the true package does not come to life among parts of another."""
    import torch

    if "torch._dynamo" in sys.modules:
        yield
        return
    lean = _lean_dynamo()
    sys.modules.update(lean)
    vars(torch)["_dynamo"] = lean["torch._dynamo"]
    try:
        yield
    finally:
        vars(torch).pop("_dynamo", None)  # the parts are kept for the next time
        lean |= {
            name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("torch._dynamo")
        }
