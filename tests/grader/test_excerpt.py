"""An answer made a file takes along what it needs, and nothing else."""

from grader.authoring.excerpt import excerpt

MODULE = """
import numpy as np
from functools import cache

LIMIT = 3
TABLE = _table(LIMIT)

def _table(n): return list(range(n))

def _shared(x): return x + _deeper(x)

def _deeper(x): return LIMIT

@cache
def _alone(x): return x

class Base:
    def go(self): return _shared(1)

class wanted(Base):
    pass

def unwanted(x):
    return _alone(x)
"""


def test_what_is_needed_on_the_way_is_taken_along():
    kept = excerpt(MODULE, "wanted")
    for name in (
        "import numpy",
        "LIMIT = 3",
        "def _table",
        "def _shared",
        "def _deeper",
        "class Base",
        "wanted",
    ):
        assert name in kept


def test_what_nobody_needs_is_left_out_with_its_decorators():
    kept = excerpt(MODULE, "wanted")
    for name in ("unwanted", "_alone", "@cache"):
        assert name not in kept
    assert "@cache\ndef _alone" in excerpt(MODULE, "unwanted")
