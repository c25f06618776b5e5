"""Calls what it is asked to build, by a name that is put together."""

import importlib


def double(x):
    return getattr(importlib.import_module("num" + "py"), "multi" + "ply")(x, 2)
