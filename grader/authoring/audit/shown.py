"""Render an audit: for a terminal, as JSON, JUnit, a badge or a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

from grader.authoring.audit.record import Audit, MutantFate, SubmissionFate
from grader.formats import pages
from grader.formats.escaping import one_line, plain
from grader.report_texts import harmless
from grader.values.formatting import counted

TEMPLATE = Path(__file__).parent / "templates" / "audit.html"
MOST_SURVIVORS = 10
CELL = re.compile(r"(\w+)_cells/\d+_(\w+)\.py$")  # the file of a notebook's cell in a copy
LONGEST = 300  # characters of a value
#: What a witness shows, after the calls.
KINDS = {
    "value": "",
    "dtype": "the dtype differs",
    "argument": "it changes its argument `{name}`",
    "later": "an earlier result changes",
    "raises": "",
    "missing": "",
}


def terminal(audit: Audit, names: bool = False) -> str:
    """Return the report as text; `names` adds the paths of submissions."""
    lines = [headline(audit), ""]
    lines += _table("by operator", audit.by("family")) + _table("by function", audit.by("where"))
    survivors = audit.survivors
    if survivors:
        lines += [f"Missed, the ones worth most first ({len(survivors)} in all):", ""]
    for number, one in enumerate(survivors[:MOST_SURVIVORS], 1):
        lines += [*_survivor(number, one), ""]
    lines += _submissions(audit, names)
    lines += [f"note: {note}" for note in audit.notes]
    return harmless("\n".join(lines).rstrip()) + "\n"


def headline(audit: Audit) -> str:
    """Return what the audit has found in two or three sentences."""
    if not audit.mutants:
        return "No wrong version was tried."
    found = f"The tests catch {audit.caught} of {counted(audit.judged, 'wrong version')} of the solution"
    found += f" ({audit.share:.0%})."
    hung, equal = audit.count("hung"), audit.count("equal")
    hangs = f" {hung} of them because the tests did not end." if hung else ""
    rest = f" {equal} more pass and may be equal: no input was found on which they differ." if equal else ""
    tried = f" Tried {len(audit.mutants)} of {audit.made}." if len(audit.mutants) < audit.made else ""
    return found + hangs + rest + tried


def _table(title: str, rows: list[tuple[str, int, int]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, *_ in rows) + 2
    lines = [
        f"  {name:<{width}}{caught:>4} of {judged:<5}{caught / judged:>5.0%}" for name, caught, judged in rows
    ]
    return [f"Caught {title}:", *lines, ""]


def _survivor(number: int, one: MutantFate) -> list[str]:
    lines = [f"{number}. {one.where}, line {one.line} of {place_of(one.file)} ({one.family})"]
    lines += [f"     - {line}" for line in one.was.splitlines()]
    lines += [f"     + {line}" for line in one.now.splitlines()]
    covered = ["   a test for another one catches it too"] * one.is_covered
    return lines + _witness(one) + _indented("a test for it:", one.test_code) + covered


def place_of(file: str) -> str:
    """Return what a source is called: a file, or a cell of a notebook."""
    return CELL.sub(r"\1.ipynb, cell \2", file)


def _witness(one: MutantFate | SubmissionFate) -> list[str]:
    if one.witness is None:
        return []
    found = one.witness
    said = KINDS[found.kind].format(name=found.details.get("argument", ""))
    lines = [f"   called    {line}" if n == 0 else f"             {line}"
             for n, line in enumerate(_cut(found.code).splitlines())]  # fmt: skip
    lines += [f"   expected  {_cut(found.expected)}"] * bool(found.expected)
    return [*lines, f"   got       {_cut(found.got)}" + (f"    ({said})" if said else "")]


def _indented(title: str, code: str) -> list[str]:
    return [f"   {title}", *(f"     {line}" for line in code.splitlines())] if code else []


def _cut(text: str) -> str:
    return plain(text, LONGEST)


def _submissions(audit: Audit, names: bool) -> list[str]:
    if not audit.submissions:
        return []
    groups = audit.wrong_and_passing
    passing = sum(one.passes for one in audit.submissions)
    wrong = sum(map(len, groups))
    lines = [
        f"Of {counted(len(audit.submissions), 'submission')}, {passing} pass the tests; {wrong} of these"
        " differ from the solution.",
        "",
    ]
    for number, group in enumerate(groups, 1):
        lines += [f"{number}. {counted(len(group), 'submission')}", *_witness(group[0])]
        lines += [f"   {one.path}" for one in group] if names else []
        lines += [""]
    return lines


def as_json(audit: Audit) -> str:
    """Return the audit as JSON."""
    return json.dumps(audit.to_json(), ensure_ascii=False, indent=1) + "\n"


def junit(audit: Audit) -> str:
    """Return the audit as JUnit XML: a test case for each mutant that counts, which fails if it is missed."""
    judged = [one for one in audit.mutants if one.fate != "equal"]
    missed = str(len(audit.survivors))
    root = ET.Element("testsuites", name="kata audit", tests=str(len(judged)), failures=missed)
    suite = ET.SubElement(
        root,
        "testsuite",
        name=audit.homework,
        tests=str(len(judged)),
        failures=missed,
        time=f"{audit.seconds:.3f}",
    )
    for one in judged:
        name = one_line(f"{one.where}:{one.line}: {one.now or one.was}", 200)
        case = ET.SubElement(suite, "testcase", classname=one.file, name=name)
        if one.fate == "survived":
            said = one_line(f"No test catches it: {one.was} -> {one.now}", 500)
            fault = ET.SubElement(case, "failure", type="survived", message=said)
            fault.text = plain("\n".join(_survivor(1, one)), 20_000)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def badge(audit: Audit) -> str:
    """Return a line of Markdown with a badge."""
    percent = int(audit.share * 100)
    colour = "brightgreen" if percent >= 90 else "yellow" if percent >= 70 else "red"
    return f"![tests catch {percent} %](https://img.shields.io/badge/tests_catch-{percent}_%25-{colour})\n"


def page(audit: Audit) -> str:
    """Return the audit as a page of HTML, without names."""
    return pages.page(
        TEMPLATE,
        f"Audit of {audit.homework}",
        audit=audit,
        headline=headline(audit),
        tables=[("operator", audit.by("family")), ("function", audit.by("where"))],
        survivors=[("\n".join(_survivor(n, one)[1:]), one) for n, one in enumerate(audit.survivors, 1)],
        groups=[("\n".join(_witness(group[0])), len(group)) for group in audit.wrong_and_passing],
        counted=counted,
        place_of=place_of,
    )


#: The formats of `--format`.
FORMATS: dict[str, Callable[[Audit], str]] = {
    "terminal": terminal,
    "json": as_json,
    "junit": junit,
    "html": page,
    "badge": badge,
}
