"""A file made from one answer contains the definitions that it needs, and no others."""

import ast
from pathlib import Path

from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions, excerpt, one_way, other_way, standalone_sources

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


def test_an_excerpt_keeps_the_numbers_of_its_lines():
    lines = MODULE.splitlines()
    kept = ast.parse(excerpt(MODULE, "wanted"))
    definitions = [node for node in kept.body if isinstance(node, ast.FunctionDef)]
    assert all(lines[node.lineno - 1].startswith(f"def {node.name}") for node in definitions)


LEVELLED = """
from grader.mistakes import (
    crude,
    subtle,
)

@crude
@cache
def wanted(x): return x

@subtle
class unwanted: pass
"""


def test_a_worker_gets_a_mistake_without_its_level():
    assert excerpt(LEVELLED, "wanted").split() == ["@cache", "def", "wanted(x):", "return", "x"]


def test_a_way_for_students_is_the_first_line_of_a_variant_that_says_so(tiny_course):
    info = tiny_course.kata_info("double")
    assert other_way(tiny_course, info) == "Another way: multiply by two."
    assert other_way(tiny_course, tiny_course.kata_info("center")) == ""


def test_at_least_twenty_katas_have_another_way_in_words():
    course = Course(Path(__file__).resolve().parents[3])
    ways = [other_way(course, info) for info in course.katas.values()]
    found = [way for way in ways if way]
    assert len(found) >= 20
    assert all(way.endswith(".") for way in found)
    assert not [way for way in found if "(" in way.replace("log(p)", "") or "np." in way or "torch." in way]


def test_another_way_is_the_one_that_is_least_like_a_students():
    course = Course(Path(__file__).resolve().parents[3])
    softmax = course.kata_info("softmax")
    told = "Another way: subtract the logarithm of the sum of exponentials, then take exp."
    known = standalone_sources(course, softmax, "variants")
    assert other_way(course, softmax, known["works_on_one_copy"]) == told
    assert other_way(course, softmax, known["subtracts_the_log_of_the_sum"]) == ""  # it is that one


def test_a_key_which_holds_no_code_says_one_way():
    assert one_way("Another way: multiply by two.") == "One way to write it: multiply by two."
    assert one_way("") == ""


def test_what_only_a_constructor_draws_does_not_count():
    course = Course(Path(__file__).resolve().parents[3])
    draws = [
        KnownSolutions(course, course.kata_info(kata), "mistakes").draws
        for kata in ("lora_linear", "temperature_sampling")
    ]
    assert draws == [False, True]
