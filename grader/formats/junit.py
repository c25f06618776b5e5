"""Render a report as JUnit XML: one suite per kata, one test case per check, points as properties."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from grader.formats import Document, account
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line, plain
from grader.texts.points import points

LONGEST_FAULT = 20_000  # the most characters of one failure's text


def render(report: Report) -> str:
    """Return the report as XML with one newline at the end."""
    suites = [_suite(kata) for kata in legible(report).katas]
    root = ET.Element("testsuites", {"name": "grade", **_sums(suites)})
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _sums(suites: list[ET.Element]) -> dict[str, str]:
    counted = ("tests", "failures", "errors", "skipped")
    sums = {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in counted}
    return {**sums, "time": f"{sum(float(suite.attrib['time']) for suite in suites):.3f}"}


def _suite(kata: KataReport) -> ET.Element:
    cases = [_case(kata, check) for check in kata.checks] or [_only_case(kata)]
    tags = [child.tag for case in cases for child in case]
    suite = ET.Element(
        "testsuite",
        name=f"{kata.track}.{kata.name}",
        tests=str(len(cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=f"{kata.seconds:.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("score", kata.score), ("max_score", kata.max_score)):
        ET.SubElement(properties, "property", name=name, value=points(value))
    suite.extend(cases)
    if kata.output:
        ET.SubElement(suite, "system-out").text = plain(kata.output, LONGEST_FAULT)
    return suite


def _case(kata: KataReport, check: CheckReport) -> ET.Element:
    case = ET.Element("testcase", classname=f"{kata.track}.{kata.name}", name=check.title, time="0.000")
    tag = {"failed": "failure", "error": "error", "timeout": "error", "skipped": "skipped"}.get(check.status)
    if tag == "skipped":
        ET.SubElement(case, tag, message="No case of this check could be judged.")
    elif tag:
        text = account.explanation(check)
        fault = ET.SubElement(case, tag, type=check.status, message=one_line(text, 500))
        fault.text = plain(account.of_check(check), LONGEST_FAULT)
    return case


def _only_case(kata: KataReport) -> ET.Element:
    """Return the single test case of a kata whose checks were not run."""
    case = ET.Element("testcase", classname=f"{kata.track}.{kata.name}", name=kata.name, time="0.000")
    tag = {"passed": "", "failed": "failure", "error": "error"}.get(kata.status, "skipped")
    if tag:
        text = {"message": one_line(account.summary_of(kata), 500)}
        ET.SubElement(case, tag, {**text, "type": kata.status} if tag != "skipped" else text)
    return case


DOCUMENTS = [Document("junit.xml", render)]
