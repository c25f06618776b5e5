"""Read `mistakes.edits`: each mistake is a name, the sentence that teaches, and edits of the reference.

    [forgets_to_scale] subtle
    The weights are too sharp: the scores are not divided by the root of d_k.
    - q @ k.mT / math.sqrt(q.shape[-1])
    + q @ k.mT

What follows `-` is in the reference exactly once; what follows `+` takes its place. `+` lines without a `-`
are whole functions, which take the place of those of the same name.

`[forgets_to_scale] draft subtle` is a draft: no author has read its sentence yet. It is no known mistake, so
no student is told it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import accumulate, chain, pairwise
from pathlib import Path

from grader.course.files import read, shorten
from grader.errors import KataError
from grader.mistakes import LEVELS

HEADING = re.compile(r"\[(\w+)\]((?: +\w+)*)\s*")
DRAFT = "draft"  # behind the name of a mistake that no author has read yet
REST_OF_LINE = r" *(?:#.*)?"  # what may follow the text of an edit in a line of the reference
ALIKE = 5  # words that two parts of an edit have to keep between them, so that another edit may change those
WORDS = re.compile(r"\w+|\s+|.")
Definition = ast.FunctionDef | ast.ClassDef
Span = tuple[int, int]
Change = tuple[int, int, str]  # where what is replaced begins and ends in the reference, and the new text


@dataclass
class LineEdit:
    """Lines that take the place of other lines; `line` is the number of the first of them in the file."""

    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class EditedMistake:
    """A mistake of the file at `path`, whose heading is in line `line`. A draft is told to no student."""

    name: str
    level: str
    path: Path
    line: int
    words: list[str] = field(default_factory=list)
    edits: list[LineEdit] = field(default_factory=list)
    is_draft: bool = False

    @property
    def text(self) -> str:
        """What the student reads, as one paragraph."""
        return " ".join(self.words)

    @property
    def added(self) -> str:
        """The lines that the mistake adds to the reference."""
        return "".join(f"{line}\n" for edit in self.edits for line in edit.new)

    @property
    def filename(self) -> str:
        """The name under which the changed reference is compiled."""
        return f"{self.path}[{self.name}]"

    def error(self, message: str, line: int = 0) -> KataError:
        return _error(self.path, line or self.line, f"`{self.name}`: {message}")

    def taken(self, path: Path, line: int) -> KataError:
        """Return the error that another mistake has the name."""
        return self.error(f"the name is taken by the mistake in {shorten(path)}:{line}; rename one.")

    def applied(self, reference: str) -> str:
        """Return the reference with the edits. Raises KataError if one of them does not apply, if the result
        is no Python, or if it is the reference."""
        source = self.in_place(reference)
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            raise self.no_python(error) from None
        if ast.dump(tree) == ast.dump(ast.parse(reference)):
            raise self.error("the edits change nothing.")
        return source

    def in_place(self, reference: str) -> str:
        """Return the reference with the edits, without reading what they give. Raises KataError."""
        changes = sorted(change for edit in self.edits for change in self._changes(edit, reference))
        for (_, end, _, _), (start, _, _, line) in pairwise(changes):
            if start < end:
                raise self.error("this edit changes what another one has changed; write them as one.", line)
        for start, end, new, _ in reversed(changes):
            reference = reference[:start] + new + reference[end:]
        return reference

    def no_python(self, error: SyntaxError) -> KataError:
        """Return the error that the edits give no Python."""
        at = f"line {error.lineno} of the changed reference"
        return self.error(f"the edits give no Python: {error.msg} in {at}.")

    def smallest_changes(self, reference: str) -> list[Change]:
        """Return what the edits replace without longer pieces that stay the same."""
        changes = (change for edit in self.edits for change in self._changes(edit, reference))
        return sorted(hunk for change in changes for hunk in _hunks(change[:3], reference))

    def _changes(self, edit: LineEdit, reference: str) -> Iterator[tuple[int, int, str, int]]:
        """Yield the start and the end of what an edit replaces, the new text, and the line of the edit."""
        if not edit.old:
            yield from ((*change, edit.line) for change in self._whole(edit, reference))
            return
        found = list(_places(edit.old, reference))
        if len(found) != 1:
            shown = edit.old[0].strip() + (" …" if len(edit.old) > 1 else "")
            times = f"in the reference {len(found)} times; write more of it"
            said = times if found else "not in the reference"
            raise self.error(f"the edit no longer applies: `{shown}` is {said}.", edit.line)
        (start, end), indent = found[0], _indent_at(found[0][0], reference)
        new = "\n".join(indent + line if line and at else line for at, line in enumerate(edit.new))
        rest = re.compile(REST_OF_LINE + "\n").match(reference, end)
        if not edit.new and rest and reference[:start].endswith("\n" + indent):
            start, end = start - len(indent), rest.end()  # nothing is left of the lines
        yield start, end, new, edit.line

    def _whole(self, edit: LineEdit, reference: str) -> Iterator[tuple[int, int, str]]:
        """Yield the changes for `+` lines without a `-`: the functions of the reference of the same names go,
        and the lines take the place of the first; without one, they are added at the end."""
        text = "\n".join(edit.new)
        try:
            names = [node.name for node in ast.parse(text).body if isinstance(node, Definition)]
        except SyntaxError as error:
            said = f"`+` without `-` is a whole function, and this is none: {error.msg}."
            raise self.error(said, edit.line + (error.lineno or 1) - 1) from None
        replaced = [node for name in names for node in _definitions(reference, name)]
        spans = sorted(_span(node, reference) for node in replaced)
        if not spans:
            if not any(one.old for one in self.edits):
                raise self.error("`+` without `-` names no function of the reference.", edit.line)
            yield len(reference), len(reference), f"\n\n{text}\n"
        for at, (start, end, column) in enumerate(spans):
            yield start, end, textwrap.indent(text, " " * column)[column:] if at == 0 else ""


def merged(reference: str, parts: Sequence[Iterable[Change]]) -> str | None:
    """Return the reference with the changes of several mistakes; None if they do not go together. Those that
    touch the same text go together if they change other words of it: what one takes away is gone, and what
    another writes beside it stays."""
    return _with_changes(reference, chain(*parts)) or _with_words(reference, chain(*parts))


def _with_changes(reference: str, changes: Iterable[Change]) -> str | None:
    """Return the reference with changes; None if two of them touch the same text. What two mistakes change
    alike is changed once. Lines that are added at one place follow each other."""
    source, at, last = "", 0, ""
    for start, end, new in sorted(set(changes)):
        is_beside = start == at and start == end and last and not last.rstrip(" ").endswith("\n")
        if start < at or is_beside:
            return None
        source += reference[at:start] + new
        at, last = end, new
    return source + reference[at:]


def _with_words(reference: str, changes: Iterable[Change]) -> str | None:
    """Return the reference with changes, each of them word by word; None if two write at one place, and if
    the words give no Python."""
    gone: set[int] = set()  # characters of the reference
    written: dict[int, str] = {}
    for start, end, new in sorted(set(changes)):
        before, after = WORDS.findall(reference[start:end]), WORDS.findall(new)
        places = list(accumulate(map(len, before), initial=start))
        steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        for kind, one, one_end, other, other_end in steps:
            if kind == "equal":
                continue
            gone.update(range(places[one], places[one_end]))
            words = "".join(after[other:other_end])
            if words and written.setdefault(places[one], words) != words:
                return None
    pieces = (written.get(at, "") + (letter if at not in gone else "") for at, letter in enumerate(reference))
    source = "".join(pieces) + written.get(len(reference), "")
    try:
        ast.parse(source)
    except SyntaxError:
        return None
    return source


def _hunks(change: Change, reference: str) -> Iterator[Change]:
    """Yield the parts of a change between which pieces of at least ALIKE words stay the same."""
    start, end, new = change
    before, after = WORDS.findall(reference[start:end]), WORDS.findall(new)
    at = by = 0
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    ends = [(0, 0), (len(before), len(after))]
    for one, other, size in same:
        is_kept = (one, other) in ends or (one + size, other + size) in ends
        words = sum(not word.isspace() for word in before[one : one + size])
        if not is_kept and words < ALIKE:
            continue
        if (at, by) != (one, other):
            place = start + len("".join(before[:at]))
            yield place, place + len("".join(before[at:one])), "".join(after[by:other])
        at, by = one + size, other + size


def _definitions(reference: str, name: str) -> list[Definition]:
    """Return the function or class of a name; a method if only one class has it."""
    top = [node for node in ast.parse(reference).body if isinstance(node, Definition)]
    inner = [node for kind in top for node in kind.body if isinstance(node, Definition)]
    found = [node for node in top if node.name == name] or [node for node in inner if node.name == name]
    return found if len(found) == 1 else []


def _span(node: Definition, reference: str) -> tuple[int, int, int]:
    """Return where a definition begins and ends, with its decorators, and its column."""
    lines = reference.splitlines(keepends=True)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    start = sum(map(len, lines[: first - 1])) + node.col_offset
    return start, len("".join(lines[: node.end_lineno]).rstrip("\n")), node.col_offset


def _places(old: list[str], reference: str) -> Iterator[Span]:
    """Yield where the lines are in the reference. The first may begin, and the last may end, inside a line;
    the others are whole lines, with the indentation of the first. A comment after them need not be given."""
    for found in re.finditer(re.escape(old[0]), reference):
        indent = _indent_at(found.start(), reference)
        further = (re.escape(indent + line if line else "") for line in old[1:])
        pattern = "".join(f"{REST_OF_LINE}\\n{line}" for line in further)
        if rest := re.compile(pattern).match(reference, found.end()):
            yield found.start(), rest.end()


def _indent_at(place: int, reference: str) -> str:
    """Return the indentation of the line in which a place is."""
    line = reference[reference.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" "))]


def read_edits(path: Path) -> list[EditedMistake]:
    """Return the mistakes of a file in its order without the drafts; none if it does not exist. Raises
    KataError, also for an error in a draft."""
    return [mistake for mistake in _read(path) if not mistake.is_draft]


def read_drafts(path: Path) -> list[EditedMistake]:
    """Return the drafts of a file in its order; none if it does not exist. Raises KataError."""
    return [mistake for mistake in _read(path) if mistake.is_draft]


def _read(path: Path) -> list[EditedMistake]:
    return parse_edits(read(path) if path.is_file() else "", path)


def parse_edits(text: str, path: Path) -> list[EditedMistake]:
    """Return the mistakes and the drafts of a text in the form of `mistakes.edits`. Raises KataError, with
    `path` as the place."""
    found: list[EditedMistake] = []
    is_open = False  # whether the line before belongs to an edit
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            found.append(_heading(path, number, line))
            before = next((one for one in found[:-1] if one.name == found[-1].name), None)
            if before:
                raise found[-1].taken(path, before.line)
            is_open = False
        elif line.startswith("#"):
            is_open = False
        elif line.strip() and not found:
            raise _error(path, number, "a mistake begins with its name: [forgets_to_scale].")
        elif line in ("-", "+") or line.startswith(("- ", "+ ")):
            edits = found[-1].edits
            if not is_open or (line[0] == "-" and edits[-1].new):
                edits.append(LineEdit(number))
            is_open = True
            (edits[-1].old if line[0] == "-" else edits[-1].new).append(line[2:].rstrip())
        elif line.strip() and found[-1].edits:
            said = "the sentence stands above the edits; lines of an edit begin with `- ` or `+ `."
            raise found[-1].error(said, number)
        else:
            is_open = False
            if found:
                found[-1].words += line.split()
    for mistake in found:
        if not mistake.text:
            raise mistake.error("it has no sentence; say symptom, cause and what to check.")
        if not mistake.edits:
            raise mistake.error("it has no edits; write `- ` before what goes and `+ ` before what comes.")
    return found


def _heading(path: Path, number: int, line: str) -> EditedMistake:
    heading = HEADING.fullmatch(line)
    if not heading or not heading[1].isidentifier() or heading[1].startswith("_"):
        raise _error(path, number, f"`{line}` is no name of a mistake; write [forgets_to_scale].")
    words = heading[2].split()
    is_draft = DRAFT in words
    levels = [word for at, word in enumerate(words) if word != DRAFT or DRAFT in words[:at]] or ["ordinary"]
    if levels[0] not in LEVELS:
        known = f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}"
        raise _error(path, number, f"`{levels[0]}` is no level; write {known}.")
    if len(levels) > 1:
        said = " ".join(words)
        raise _error(path, number, f"`{said}` is too much; write one level, and `{DRAFT}` if it is one.")
    return EditedMistake(heading[1], levels[0], path, number, is_draft=is_draft)


def _error(path: Path, line: int, message: str) -> KataError:
    return KataError(f"{shorten(path)}:{line}: {message}")
