"""Tests of what an audit says: three figures, and a percentage only where it knows enough."""

from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from dojo_audit import report
from dojo_audit.command import _exit_code
from dojo_audit.report import Audit, Row


def audit_of(caught, survived, equal, hung=0):
    """Return an audit with so many mutants of each fate."""
    fates = ["caught"] * caught + ["survived"] * survived + ["equal"] * equal + ["hung"] * hung
    change = ("f", "limits", "a", "b")
    found = tuple(report.TestedMutant("f.py", n, *change, fate) for n, fate in enumerate(fates))
    return Audit("hw", ("f.py",), "pytest", 3, len(found), found)


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        (
            audit_of(44, 27, 3),
            "The tests catch 44 of 74 wrong versions of the solution; 27 are shown to be missed, and 3 are"
            " undecided: they pass, and no input was found on which they differ. So 62% of those decided are"
            " caught.",
        ),
        (
            audit_of(44, 0, 30),
            "The tests catch 44 of 74 wrong versions of the solution; 0 are shown to be missed, and 30 are"
            " undecided: they pass, and no input was found on which they differ. So between 59% and 100%"
            " are caught: a tenth or more is undecided.",
        ),
        (
            audit_of(20, 1, 1, hung=2),
            "The tests catch 22 of 24 wrong versions of the solution; 1 is shown to be missed, and 1 is"
            " undecided: it passes, and no input was found on which it differs. So 96% of those decided"
            " are caught. For 2 of those caught the tests did not end.",
        ),
        (
            audit_of(5, 1, 0),
            "The tests catch 5 of 6 wrong versions of the solution; 1 is shown to be missed, and 0 are"
            " undecided. These are too few for a percentage, which needs 20.",
        ),
    ],
)
def test_the_headline_has_three_figures(audit, said):
    assert report.headline(audit) == said


@pytest.mark.parametrize(
    ("audit", "share", "interval"),
    [
        (audit_of(18, 0, 2), None, [0.9, 1.0]),
        (audit_of(19, 0, 2), 1.0, None),
        (audit_of(10, 10, 3), None, [0.4348, 0.5652]),
        (audit_of(10, 0, 9), None, None),
    ],
)
def test_a_percentage_is_given_if_less_than_a_tenth_is_undecided(audit, share, interval):
    given = audit.to_json()
    if audit.judged < report.ENOUGH:
        share = None
    assert (given["share"], given["interval"]) == (share, interval)


@pytest.mark.parametrize(
    ("audit", "least", "code", "said"),
    [
        (audit_of(44, 27, 3), 60, 0, ""),
        (audit_of(44, 27, 3), 63, 1, ""),
        (
            audit_of(44, 0, 30),
            60,
            1,
            "--at-least 60 is compared with 59%, the lower end of 59% to 100%: 30 of 74 are undecided.\n",
        ),
        (
            audit_of(44, 0, 30),
            59,
            0,
            "--at-least 59 is compared with 59%, the lower end of 59% to 100%: 30 of 74 are undecided.\n",
        ),
        (audit_of(5, 0, 0), 1, 1, ""),
    ],
)
def test_at_least_is_compared_with_what_is_sure(audit, least, code, said, capsys):
    assert _exit_code(audit, SimpleNamespace(at_least=least)) == code
    assert capsys.readouterr().err == said


def test_a_table_shows_what_is_undecided_and_then_no_percentage():
    assert audit_of(3, 1, 1).by("family") == [Row("limits", 3, 1, 1)]
    assert report.terminal(audit_of(3, 1, 1)).splitlines()[2:4] == [
        "Caught by operator:",
        "  limits     3 of 4             1 undecided",
    ]
    assert "  limits     3 of 4      75%" in report.terminal(audit_of(3, 1, 0)).splitlines()
    assert "<td" in report.page(audit_of(3, 1, 1))


def test_formats_tell_undecided_ones_apart():
    suite = ET.fromstring(report.junit(audit_of(3, 1, 2)))[0]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("6", "1", "2")
    assert len(suite.findall("testcase/skipped")) == 2
    assert report.badge(audit_of(44, 0, 30)) == (
        "![tests catch 59 to 100 %](https://img.shields.io/badge/tests_catch-59_to_100_%25-red)\n"
    )
