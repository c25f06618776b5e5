"""Arrays of both libraries are asked in one way."""

import numpy as np

from grader.values.arrays import is_default_integer


def test_int32_passes_for_int64_only_where_it_is_the_default_integer(monkeypatch):
    assert not is_default_integer("int32", "int64")
    monkeypatch.setattr(np, "intp", np.int32)  # as in a browser
    assert is_default_integer("int32", "int64")
    assert not is_default_integer("int16", "int64")
    assert not is_default_integer("int64", "int32")
    assert not is_default_integer("int32", "float64")
