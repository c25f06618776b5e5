"""What an audit has found: one record, and its renderings: terminal, JSON, JUnit, a badge, a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

import msgspec

from grader.formats import pages
from grader.texts.escaping import harmless, one_line, plain
from grader.texts.phrases import counted

SCHEMA_VERSION = 1
#: What became of a mutant. `hung` is caught too: the tests did not end. `equal` ones have no witness; of
#: those that `passed`, it is not looked for yet.
Fate = Literal["untried", "passed", "caught", "hung", "survived", "equal"]
Kind = Literal["value", "state", "argument", "later", "raises", "missing"]
MOST_STEPS = 50
Text = Annotated[str, msgspec.Meta(max_length=2_000)]
ENOUGH = 20  # mutants of which a percentage is taken
DECIDED = 10  # at most one of so many may be undecided where a percentage is given


@dataclass(frozen=True)
class WitnessCall:
    """A call of a witness: what is called, where it is, its arguments as code, each with whether it must be
    given, and the attributes that are set before. What it `makes` has the methods that follow."""

    name: str
    file: str
    module: str
    makes: bool
    given: list[tuple[str, str, bool]]
    sets: list[tuple[str, str]]


@dataclass(frozen=True)
class Witness:
    """Calls to which a version answers differently from the solution, as code, and both answers as texts.

    `kind` says what differs: a value, an attribute, an argument that is changed, a result that a later call
    changes, an exception, or that the version cannot be loaded. A written test needs to know which step
    differs (`at`), which `argument` or attribute, what is `raised`, and the right `result` as code.
    """

    kind: Kind
    steps: Annotated[tuple[WitnessCall, ...], msgspec.Meta(max_length=MOST_STEPS)] = ()
    expected: Text = ""
    got: Text = ""
    at: int = 0
    argument: str = ""
    raised: str = ""
    result: str = ""

    @property
    def code(self) -> str:
        makes = bool(self.steps) and self.steps[0].makes
        return "\n".join(call_of(step, of_object=makes) for step in self.steps)

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "code": self.code, "expected": self.expected, "got": self.got}


@dataclass(frozen=True)
class TestedMutant:
    """A wrong version of the solution: its file and line, the function that it changes, the operator's
    family, the lines before and after, its source; what became of it, and the first test that failed."""

    file: str
    line: int
    where: str
    family: str
    was: str
    now: str
    fate: Fate = "untried"
    test: str = ""
    witness: Witness | None = None
    source: str = field(default="", repr=False)
    test_code: str = ""  # a test that catches it, if one was written and tried
    is_covered: bool = False  # a test that was written for another one catches it


@dataclass(frozen=True)
class SubmissionFate:
    """A submission: its path, whether the tests pass, and an input on which it differs from the solution."""

    path: str
    student: str
    passes: bool
    ended: str  # passed, failed, hung, flooded or crowded
    differs: bool
    witness: Witness | None = None
    group: int = 0  # those that pass and answer alike, from 1


class Row(NamedTuple):
    """How many mutants of one family or function are caught, are shown to be missed, and are undecided."""

    name: str
    caught: int
    missed: int
    undecided: int


@dataclass(frozen=True)
class Audit:
    """One audit. `made` counts mutants before they are sampled; `is_whole` is false if it was stopped."""

    homework: str
    solution: tuple[str, ...]
    command: str
    tests: int
    made: int
    mutants: tuple[TestedMutant, ...]
    submissions: tuple[SubmissionFate, ...] = ()
    notes: tuple[str, ...] = ()
    isolation: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    is_whole: bool = True

    def count(self, *fates: Fate) -> int:
        return sum(one.fate in fates for one in self.mutants)

    @property
    def caught(self) -> int:
        return self.count("caught", "hung")

    @property
    def undecided(self) -> int:
        """The mutants that pass all tests, and for which no input was found: wrong ones, or equal ones."""
        return self.count("equal")

    @property
    def judged(self) -> int:
        """The mutants that are caught, or shown to be missed."""
        return len(self.mutants) - self.undecided

    @property
    def is_decided(self) -> bool:
        """Whether few enough are undecided for a percentage: less than a tenth of all."""
        return DECIDED * self.undecided < len(self.mutants)

    @property
    def share(self) -> float | None:
        """The share that is caught of those that are decided; None if these are fewer than 20, or if too many
        are undecided."""
        return self.caught / self.judged if self.is_decided and self.judged >= ENOUGH else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The least and the largest share of all mutants that may be caught: without the undecided ones, and
        with them. None if there is a percentage, or if fewer than 20 were tried."""
        tried = len(self.mutants)
        if self.is_decided or tried < ENOUGH:
            return None
        return self.caught / tried, (self.caught + self.undecided) / tried

    @property
    def least(self) -> float | None:
        """The share of which one can be sure; None if too few were tried to say."""
        return self.interval[0] if self.interval else self.share

    @property
    def survivors(self) -> list[TestedMutant]:
        """Those that no test catches: first one of each function and family, then more."""
        seen: dict[tuple[str, str], int] = {}
        ranked = []
        for one in self.mutants:
            if one.fate == "survived":
                key = one.where, one.family
                seen[key] = seen.get(key, 0) + 1
                ranked.append((seen[key], one))
        return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]

    def by(self, part: str) -> list[Row]:
        """Return how many are caught, missed and undecided by `family` or `where`, the weakest first."""
        names = dict.fromkeys(str(getattr(one, part)) for one in self.mutants)
        rows = []
        for name in names:
            fates = [one.fate for one in self.mutants if getattr(one, part) == name]
            missed, undecided = fates.count("survived"), fates.count("equal")
            rows.append(Row(name or "(module)", len(fates) - missed - undecided, missed, undecided))
        return sorted(rows, key=lambda row: row.caught / (row.caught + row.missed + row.undecided))

    @property
    def different(self) -> list[list[SubmissionFate]]:
        """The submissions that pass the tests and differ from the solution, by what they answer."""
        found = [one for one in self.submissions if one.passes and one.differs]
        groups = [[one for one in found if one.group == n] for n in sorted({one.group for one in found})]
        return sorted(groups, key=len, reverse=True)

    def to_json(self) -> dict[str, Any]:
        """Return the audit as plain data; `docs/audit.md` describes its fields."""
        data = asdict(self)
        for record, one in zip(data["mutants"], self.mutants, strict=True):
            del record["source"]
            record["witness"] = one.witness and one.witness.to_json()
        for record, other in zip(data["submissions"], self.submissions, strict=True):
            record["witness"] = other.witness and other.witness.to_json()
        share = None if self.share is None else round(self.share, 4)
        interval = self.interval and [round(end, 4) for end in self.interval]
        fates: tuple[Fate, ...] = ("caught", "hung", "survived", "equal")
        counts = {fate: self.count(fate) for fate in fates}
        shares = {"share": share, "interval": interval}
        return {"schema_version": SCHEMA_VERSION, **shares, "counts": counts, **data}


def witness_of(answer: dict[str, Any]) -> Witness | None:
    """Return the witness that a search has found; None if it found none, or if its answer is malformed: the
    code of a submission runs beside the search, and may have written it."""
    try:
        return msgspec.convert(answer, Witness)
    except msgspec.ValidationError:
        return None


def call_of(step: WitnessCall, *, of_object: bool) -> str:
    """Return a step as code, what it sets first; `of_object` if the first step makes an object."""
    lines = [set_line("object", name, code) for name, code in step.sets]
    call = f"{target_of(step, of_object=of_object)}({given_of(step.given, {})})"
    return "\n".join([*lines, f"object = {call}" if step.makes else call])


def set_line(owner: str, name: str, code: str) -> str:
    """Return the statement that sets an attribute of an object, or the mode or the parameters of a module: to
    given ones, or to the same numbers in every version."""
    calls = {"training": "train", "state_dict()": "load_state_dict"}
    if name == "parameters()":
        numbers = "(torch.arange(p.numel(), dtype=p.dtype) + n).sin().reshape(p.shape)"
        return f"for n, p in enumerate({owner}.{name}):\n    p.data = {numbers}"
    return f"{owner}.{calls[name]}({code or '…'})" if name in calls else f"{owner}.{name} = {code or '…'}"


def target_of(step: WitnessCall, *, of_object: bool, name: str = "object") -> str:
    """Return what a step calls: a function, a class, or a method of the object that was made first."""
    called = step.name.removesuffix(".__init__")
    if step.makes or not of_object:
        return called
    method = called.rpartition(".")[2]
    return name if method in ("__call__", "forward") else f"{name}.{method}"


def given_of(given: Iterable[tuple[str, str, bool]], names: dict[str, str]) -> str:
    """Return the arguments of a call as code. They stand by position up to the first with a default, which is
    named as all behind it are."""
    parts, by_position = [], True
    for name, code, is_needed in given:
        text = names.get(name) or code or "…"
        by_position = by_position and is_needed
        if name.startswith("**"):
            parts.append(f"**{text}")
        elif name.startswith("*"):
            parts.append(f"*{text}")
        else:
            parts.append(text if by_position else f"{name}={text}")
    return ", ".join(parts)


TEMPLATE = Path(__file__).parent / "templates" / "audit.html"
MOST_SURVIVORS = 10
CELL = re.compile(r"(\w+)_cells/\d+_(\w+)\.py$")  # the file of a notebook's cell in a copy
LONGEST_VALUE = 300  # characters of a value
#: What a witness shows, after the calls.
WITNESS_WORDS = {
    "value": "",
    "state": "its attribute `{name}`",
    "argument": "it changes its argument `{name}`",
    "later": "an earlier result changes",
    "raises": "",
    "missing": "",
}


def terminal(audit: Audit, *, names: bool = False) -> str:
    """Return the report as text; `names` adds the paths of submissions."""
    lines = [headline(audit), ""]
    lines += _table("by operator", audit.by("family")) + _table("by function", audit.by("where"))
    survivors = audit.survivors
    if survivors:
        lines += [f"Missed, the ones worth most first ({len(survivors)} in all):", ""]
    for number, one in enumerate(survivors[:MOST_SURVIVORS], 1):
        lines += [*_survivor(number, one), ""]
    lines += _submissions(audit, names=names)
    lines += [f"note: {note}" for note in audit.notes]
    return harmless("\n".join(lines).rstrip()) + "\n"


def headline(audit: Audit) -> str:
    """Return what the audit has found in two or three sentences."""
    if not audit.mutants:
        return "No wrong version was tried."
    found = (
        f"The tests catch {audit.caught} of {counted(len(audit.mutants), 'wrong version')} of the solution"
    )
    missed, undecided = audit.count("survived"), audit.undecided
    found += f"; {missed} {_are(missed)} shown to be missed, and {undecided} {_are(undecided)} undecided"
    found += (
        ": they pass, and no input was found on which they differ."
        if undecided > 1
        else (": it passes, and no input was found on which it differs." if undecided else ".")
    )
    hung = audit.count("hung")
    hangs = f" For {hung} of those caught the tests did not end." if hung else ""
    tried = f" Tried {len(audit.mutants)} of {audit.made}." if len(audit.mutants) < audit.made else ""
    return f"{found} {_share_as_text(audit)}{hangs}{tried}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _share_as_text(audit: Audit) -> str:
    """Return the sentence with the share that is caught."""
    if audit.share is not None:
        return f"So {audit.share:.0%} of those decided are caught."
    if audit.interval is not None:
        low, high = audit.interval
        return f"So between {low:.0%} and {high:.0%} are caught: a tenth or more is undecided."
    return f"These are too few for a percentage, which needs {ENOUGH}."


def _table(title: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    width = max(len(row.name) for row in rows) + 2
    lines = []
    for name, caught, missed, undecided in rows:
        judged = caught + missed
        is_decided = DECIDED * undecided < judged + undecided
        share = f"{caught / judged:>5.0%}" if is_decided else " " * 5
        rest = f"    {undecided} undecided" if undecided else ""
        lines.append(f"  {name:<{width}}{caught:>4} of {judged:<5}{share}{rest}".rstrip())
    return [f"Caught {title}:", *lines, ""]


def _survivor(number: int, one: TestedMutant) -> list[str]:
    lines = [f"{number}. {one.where}, line {one.line} of {place_of(one.file)} ({one.family})"]
    lines += [f"     - {line}" for line in one.was.splitlines()]
    lines += [f"     + {line}" for line in one.now.splitlines()]
    lines += [*_witness(one), *_indented("a test for it:", one.test_code)]
    return [*lines, "   a test for another one catches it too"] if one.is_covered else lines


def place_of(file: str) -> str:
    """Return what a source is called: a file, or a cell of a notebook."""
    return CELL.sub(r"\1.ipynb, cell \2", file)


def _witness(one: TestedMutant | SubmissionFate) -> list[str]:
    if one.witness is None:
        return []
    found = one.witness
    said = WITNESS_WORDS[found.kind].format(name=found.argument.lstrip("."))
    lines = [f"   called    {line}" if n == 0 else f"             {line}"
             for n, line in enumerate(_cut(found.code).splitlines())]  # fmt: skip
    if found.expected:
        lines.append(f"   expected  {_cut(found.expected)}")
    return [*lines, f"   got       {_cut(found.got)}" + (f"    ({said})" if said else "")]


def _indented(title: str, code: str) -> list[str]:
    return [f"   {title}", *(f"     {line}" for line in code.splitlines())] if code else []


def _cut(text: str) -> str:
    return plain(text, LONGEST_VALUE)


def _submissions(audit: Audit, *, names: bool) -> list[str]:
    if not audit.submissions:
        return []
    groups = audit.different
    lines = [submissions_line(audit), ""]
    for number, group in enumerate(groups, 1):
        lines += [f"{number}. {counted(len(group), 'submission')}", *_witness(group[0])]
        lines += [f"   {one.path}" for one in group] if names else []
        lines += [""]
    return lines


def submissions_line(audit: Audit) -> str:
    """Return how many submissions pass, and how many of these answer a call differently."""
    passing, different = sum(one.passes for one in audit.submissions), sum(map(len, audit.different))
    found = f"Of {counted(len(audit.submissions), 'submission')}, {passing} pass the tests"
    if not different:
        return f"{found}; no call was found that one of these answers differently from the solution."
    return f"{found}; {different} of these answer a call differently from the solution. Look which is right."


def as_json(audit: Audit) -> str:
    """Return the audit as JSON."""
    return json.dumps(audit.to_json(), ensure_ascii=False, indent=1) + "\n"


def junit(audit: Audit) -> str:
    """Return the audit as JUnit XML: a test case for each mutant, which fails if it is missed, and is skipped
    if it is undecided."""
    counts = {"tests": str(len(audit.mutants)), "failures": str(len(audit.survivors))}
    counts["skipped"] = str(audit.undecided)
    root = ET.Element("testsuites", {"name": "kata audit", **counts})
    suite = ET.SubElement(
        root, "testsuite", {"name": audit.homework, **counts, "time": f"{audit.seconds:.3f}"}
    )
    for one in audit.mutants:
        name = one_line(f"{one.where}:{one.line}: {one.now or one.was}", 200)
        case = ET.SubElement(suite, "testcase", classname=one.file, name=name)
        if one.fate == "survived":
            said = one_line(f"No test catches it: {one.was} -> {one.now}", 500)
            fault = ET.SubElement(case, "failure", type="survived", message=said)
            fault.text = plain("\n".join(_survivor(1, one)), 20_000)
        elif one.fate == "equal":
            ET.SubElement(case, "skipped", message="Undecided: no input was found on which it differs.")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def badge(audit: Audit) -> str:
    """Return a line of Markdown with a badge."""
    if audit.least is None:
        return "![tests catch too few](https://img.shields.io/badge/tests_catch-too_few_to_say-lightgrey)\n"
    percent = int(audit.least * 100)
    colour = "brightgreen" if percent >= 90 else "yellow" if percent >= 70 else "red"
    shown = f"{percent} to {int(audit.interval[1] * 100)}" if audit.interval else f"{percent}"
    in_address = f"{shown.replace(' ', '_')}_%25"
    return f"![tests catch {shown} %](https://img.shields.io/badge/tests_catch-{in_address}-{colour})\n"


def page(audit: Audit) -> str:
    """Return the audit as a page of HTML, without names."""
    return pages.page(
        TEMPLATE,
        f"Audit of {audit.homework}",
        audit=audit,
        headline=headline(audit),
        tables=[("operator", audit.by("family")), ("function", audit.by("where"))],
        survivors=[("\n".join(_survivor(n, one)[1:]), one) for n, one in enumerate(audit.survivors, 1)],
        groups=[("\n".join(_witness(group[0])), len(group)) for group in audit.different],
        counted=counted,
        submissions_line=submissions_line(audit),
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
