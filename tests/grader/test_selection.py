"""`make test-every` alone runs what is marked as rest."""

from types import SimpleNamespace

import pytest

from .. import conftest


def marked(name, *marks):
    """Return an item of pytest's, and the list of marks that it is given."""
    given = []
    return given, SimpleNamespace(
        path=conftest.HERE / "grader/worker/test_codec.py",
        originalname=name,
        get_closest_marker=lambda kind: next((mark for mark in marks if mark.name == kind), None),
        add_marker=given.append,
    )


def test_what_goes_through_all_katas_leaves_most_of_them_to_a_release():
    second = pytest.mark.every(2).mark
    found = [marked("test_all", second) for _ in range(5)] + [marked("test_one"), marked("test_one")]
    conftest.pytest_collection_modifyitems([item for _, item in found])
    assert [given for given, _ in found] == [[], ["rest"], [], ["rest"], [], [], []]
