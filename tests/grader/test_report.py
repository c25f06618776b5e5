"""A report can be saved as JSON and read again; other data is refused with a sentence."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

from grader import report as report_module
from grader.report import (
    CheckReport,
    Isolation,
    KataReport,
    Limit,
    Mistake,
    Panel,
    Picture,
    Report,
    ReportError,
    from_json,
    to_json,
)

WRONG = CheckReport(
    "agrees_with_reference",
    "Every entry equals the reference.",
    "failed",
    0,
    450,
    message="The result holds NaN.",
    call="softmax(x)",
    counterexample={"x": "[0.0]    float32 (1)"},
    expected="[1.0]",
    got="[nan]",
    difference="[0]",
    mistake=Mistake("forgets_the_max", "exp overflows."),
)
RIGHT = CheckReport("keeps_the_dtype", "The dtype is kept.", "passed", 50, 50)
KATA = KataReport("softmax", "attention", "failed", 1000, 0.25, "", (RIGHT, WRONG), "printed\n")
REPORT = Report((KATA, KataReport("top_p", "generation", "not_started", 1000)), "cpu", Isolation(limits=True))


def test_a_report_is_read_as_it_was_written():
    assert from_json(json.loads(json.dumps(to_json(REPORT)))) == REPORT


def test_an_empty_report_is_one_too():
    assert from_json(to_json(Report(()))) == Report(())


def test_scores_add_up():
    assert (REPORT.score, REPORT.max_score, KATA.score) == (50, 2000, 50)
    assert KATA.mistake.id == "forgets_the_max"
    assert REPORT.katas[1].mistake is None


def test_the_json_is_the_contract():
    data = to_json(REPORT)
    assert list(data) == [
        "schema_version", "score", "max_score", "device", "isolation", "provenance", "notes", "katas",
    ]  # fmt: skip
    assert (data["schema_version"], data["score"], data["max_score"]) == (2, 0.5, 20.0)
    assert data["isolation"] == {
        "process": True,
        "landlock_abi": 0,
        "seccomp": False,
        "limits": True,
        "gpu": False,
    }
    kata = data["katas"][0]
    assert {"name", "track", "status", "score", "max_score", "seconds", "checks"} <= kata.keys()
    check = kata["checks"][1]
    assert {
        "name",
        "title",
        "status",
        "score",
        "max_score",
        "message",
        "counterexample",
        "mistake",
    } <= check.keys()
    assert check["mistake"] == {
        "id": "forgets_the_max",
        "text": "exp overflows.",
        "certain": True,
        "partial": False,
    }
    assert kata["checks"][0]["mistake"] is None


@pytest.mark.parametrize("points", [0, 1, 33, 67, 1000, 2999])
def test_hundredths_survive(points):
    report = Report((KataReport("k", "t", "passed", points, checks=(replace(RIGHT, score=points),)),))
    assert from_json(json.loads(json.dumps(to_json(report)))) == report


PANELS = Panel("expected", ((1.0, 2.0),)), Panel("got", ((1.0, 3.0),))
PICTURE = Picture("matrix", "result", PANELS, ("0",), ("0", "1"), ((0, 1),))
BROKEN = {
    "a row too many": {"rows": ["0", "1"]},
    "a column too few": {"columns": ["0"]},
    "no panels": {"panels": []},
    "nothing": {"rows": [], "columns": [], "panels": [], "wrong": []},
    "a wrong cell outside": {"wrong": [[0, 2]]},
    "an unknown kind": {"kind": "pie"},
    "a range without its end": {"low": [0.0, 0.0]},
    "a range for one of two columns": {"low": [0.0], "high": [1.0]},
    "an endless range": {"low": [0.0, 0.0], "high": ["inf", 1.0]},
    "text for a number": {"panels": [{"title": "got", "values": [["x", 1.0]]}]},
}


def drawn(**changes):
    check = replace(RIGHT, pictures=(PICTURE,))
    data = json.loads(json.dumps(to_json(Report((replace(KATA, checks=(check,)),)))))
    data["katas"][0]["checks"][0]["pictures"][0] |= changes
    return data


def test_a_picture_with_a_range_survives():
    kata = from_json(drawn(kind="bars", low=[0.0, 1.0], high=[2.0, 3.5])).katas[0]
    assert (kata.checks[0].pictures[0].low, kata.checks[0].pictures[0].high) == ((0.0, 1.0), (2.0, 3.5))


def test_a_picture_survives():
    (kata,) = from_json(drawn()).katas
    assert kata.checks[0].pictures == (PICTURE,)


@pytest.mark.parametrize("changes", BROKEN.values(), ids=list(BROKEN))
def test_a_picture_whose_parts_do_not_belong_together_is_refused(changes):
    with pytest.raises(ReportError, match=r"^The report is damaged: "):
        from_json(drawn(**changes))


def test_seconds_are_rounded():
    assert to_json(Report((replace(KATA, seconds=0.123456),)))["katas"][0]["seconds"] == 0.123


@pytest.mark.parametrize(
    ("data", "found"),
    [(None, "'NoneType'"), ([], "'list'"), ({}, "None"), ({"schema_version": 0}, "0"), ("x", "'str'")],
    ids=repr,
)
def test_another_schema_is_refused(data, found):
    with pytest.raises(ReportError) as refused:
        from_json(data)
    assert str(refused.value) == f"This is no report of schema version 2 (found {found})."


DAMAGES = {
    "no katas": lambda data: data.pop("katas"),
    "katas as number": lambda data: data.update(katas=5),
    "kata as list": lambda data: data.update(katas=[[]]),
    "kata without name": lambda data: data["katas"][0].pop("name"),
    "points as text": lambda data: data["katas"][0].update(max_score="many"),
    "points as null": lambda data: data["katas"][0].update(max_score=None),
    "checks as null": lambda data: data["katas"][0].update(checks=None),
    "check without title": lambda data: data["katas"][0]["checks"][0].pop("title"),
    "mistake as text": lambda data: data["katas"][0]["checks"][0].update(mistake="x"),
    "isolation as text": lambda data: data.update(isolation="full"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_report_is_refused(damage):
    data = json.loads(json.dumps(to_json(REPORT)))
    damage(data)
    with pytest.raises(ReportError, match=r"^The report is damaged: "):
        from_json(data)


def test_a_damaged_report_names_the_entry():
    data = json.loads(json.dumps(to_json(REPORT)))
    data["katas"][0]["checks"][0]["message"] = 5
    with pytest.raises(ReportError) as refused:
        from_json(data)
    told = "The report is damaged: Expected `str`, got `int` - at `$.katas[0].checks[0].message`."
    assert str(refused.value) == told


def test_fields_of_a_later_grader_are_ignored():
    data = json.loads(json.dumps(to_json(REPORT)))
    data["isolation"]["wall"] = data["katas"][0]["waypoints"] = 1
    assert from_json(data) == REPORT


def test_every_text_of_a_report_has_a_limit():
    kinds = [kind for kind in vars(report_module).values() if is_dataclass(kind) and kind is not Limit]
    assert len(kinds) == 12
    hints = {kind: get_type_hints(kind, include_extras=True) for kind in kinds}
    assert not [(kind, name) for kind in kinds for name, hint in hints[kind].items() if lacks_limit(hint)]


def test_the_reference_describes_every_field():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "report.md").read_text("utf-8")
    kinds = [Report, KataReport, CheckReport, Picture, Isolation]
    names = [field.name for kind in kinds for field in fields(kind)]
    assert [name for name in names if f"`{name}`" not in page] == []


def lacks_limit(hint):
    """Return whether a type holds a text without a limit."""
    if get_origin(hint) is Annotated:
        return not isinstance(get_args(hint)[1], Limit)
    return hint is str or any(map(lacks_limit, get_args(hint)))


@pytest.mark.parametrize("points", ["NaN", "Infinity"])
def test_points_that_are_no_number_are_refused(points):
    data = json.loads(json.dumps(to_json(REPORT)))
    data["katas"][0]["max_score"] = json.loads(points)
    with pytest.raises(ReportError):
        from_json(data)


def test_a_status_that_is_none_is_refused():
    data = json.loads(json.dumps(to_json(REPORT)))
    data["katas"][0]["status"] = "splendid"
    with pytest.raises(ReportError):
        from_json(data)
