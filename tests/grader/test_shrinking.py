"""The failing case that is shown is the smallest of the bank that fails as the first one does."""

from types import SimpleNamespace

from grader import bank
from grader.comparison import Difference
from grader.judging import Failure
from grader.shrinking import put_smallest_first


def failing(n, status="failed", difference=None):
    return Failure({"n": list(range(n))}, status, f"{n}", difference, [])


def shown(failures, explained=None):
    finding = SimpleNamespace(failures=list(failures), plan=SimpleNamespace(weight=bank.weight))
    known = {id(failures[i].case) for i in explained or ()}
    suspect = SimpleNamespace(explained=lambda _: known) if explained is not None else None
    put_smallest_first(finding, suspect)
    assert sorted(map(id, finding.failures)) == sorted(map(id, failures))
    return finding.failures[0].message


def test_a_small_case_goes_before_a_large_example():
    assert shown([failing(4), failing(1), failing(2)]) == "1"


def test_a_case_that_the_mistake_does_not_explain_stays_behind():
    assert shown([failing(4), failing(1), failing(2)], explained=[0, 2]) == "2"


def test_an_error_does_not_stand_for_a_wrong_answer():
    assert shown([failing(4), failing(1, "error"), failing(3)]) == "3"


def test_an_error_of_the_law_does_not_stand_for_a_wrong_value():
    difference = Difference("value", lambda: ("1", "2"))
    assert shown([failing(4, difference=difference), failing(1)]) == "4"


def test_where_the_mistake_explains_nothing_alike_the_first_stays():
    assert shown([failing(4), failing(1)], explained=[]) == "4"
