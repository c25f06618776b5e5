"""`make test` leaves out what is marked as extra, and nothing that a change could fail."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from .. import conftest

HERE = Path(__file__).parent
E, ER = ["extra"], ["extra", "rest"]


def test_slow_tests_are_where_conftest_says():
    assert [name for name in conftest.GRADES_FILES if not (HERE / name).is_file()] == []


def marked(path, name, *marks):
    """Return an item of pytest's, and the list of marks that it is given."""
    given = []
    return given, SimpleNamespace(
        path=conftest.HERE / path,
        originalname=name,
        nodeid=f"{path}::{name}",
        get_closest_marker=lambda kind: next((mark for mark in marks if mark.name == kind), None),
        add_marker=given.append,
    )


def test_what_is_extra_is_said_by_the_folder_or_by_a_mark_in_the_file():
    third = pytest.mark.every(3).mark
    found = [marked("grader/worker/test_codec.py", "test_a", third) for _ in range(7)]
    others = ("grader/worker/test_fuzz.py", "plugins/page/test_page_desk.py")
    found += [marked(file, "test_a") for file in others]
    conftest.pytest_collection_modifyitems(SimpleNamespace(), [item for _, item in found])
    assert [given for given, _ in found] == [[], E, E, [], E, E, [], [], E]


def test_what_goes_through_all_katas_leaves_most_of_them_to_a_release():
    fourth = pytest.mark.every(4, 2).mark
    found = [marked("grader/worker/test_codec.py", "test_a", fourth) for _ in range(6)]
    conftest.pytest_collection_modifyitems(SimpleNamespace(), [item for _, item in found])
    assert [given for given, _ in found] == [[], ER, E, ER, [], ER]


@pytest.fixture
def checkout(write, tmp_path, monkeypatch):
    """A folder with a file of each kind, in place of this checkout; returns its digest when called."""
    names = (
        *("grader/worker/client.py", "plugins/dojo_page/server.py", "tests/grader/submissions/exits.py"),
        *("tests/grader/public_styles/softmax/loops.py", "tests/grader/test_public_styles.py"),
        *("tests/katas/attention/test_softmax.py", "solutions/attention/softmax/reference.py"),
        *("solutions/attention/softmax/mistakes.py", "constraints.txt"),
    )
    write(tmp_path, dict.fromkeys(names, "1"))
    monkeypatch.setattr(conftest, "ROOT", tmp_path)
    monkeypatch.setattr(conftest, "HERE", tmp_path / "tests")
    return names, conftest.digest_of_judges.__wrapped__


def test_a_change_of_what_judges_changes_the_digest(checkout, tmp_path):
    names, digest = checkout
    before, changed = digest(), set()
    for name in names:
        (tmp_path / name).write_text("2")
        if digest() != before:
            changed.add(name)
        (tmp_path / name).write_text("1\n")
    assert digest() == before
    assert changed == {*names} - {"plugins/dojo_page/server.py", "solutions/attention/softmax/mistakes.py"}


@pytest.fixture
def skipped(monkeypatch):
    """`skipped(passed)` returns why a slow test of each file with one digest is skipped, by its name."""
    monkeypatch.setattr(conftest, "digest_of_judges", lambda: "now")

    def skipped(passed):
        why = {}
        names = [f"tests/grader/{name}::test_it" for name in (*conftest.GRADES_FILES, "test_cli.py")]
        items = [
            SimpleNamespace(
                path=Path(name.partition("::")[0]),
                nodeid=name,
                get_closest_marker=lambda kind: kind == "slow",
                add_marker=lambda mark, name=name: why.update({name: mark.kwargs["reason"]}),
            )
            for name in names
        ]
        cache = SimpleNamespace(get=lambda *_: dict.fromkeys(names, passed))
        conftest.leave_out_what_passed(SimpleNamespace(cache=cache), items)
        return why

    return skipped


def test_what_passed_with_the_same_judges_is_left_out_at_a_desk_and_said(skipped, monkeypatch):
    monkeypatch.setattr(conftest, "EVERYTHING", False)
    why = "passed before, and what judges it has not changed since; `make test-all` runs it"
    assert skipped("now") == {f"tests/grader/{name}::test_it": why for name in conftest.GRADES_FILES}
    assert skipped("before") == {}
    monkeypatch.setattr(conftest, "EVERYTHING", True)
    assert skipped("now") == {}
