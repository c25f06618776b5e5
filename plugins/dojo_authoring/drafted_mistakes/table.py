"""The table of edits: how often each edit of a reference was a known mistake, by the kind of its line.

`rewrites.csv` holds the edits that were mistakes of at least two katas, `kinds.csv` the kinds of all edits.
`edits` counts how often such an edit can be made in the short references of the course, `found` how many of
these are mistakes of the kata, and `mistakes` how often it was one in any kata. Both files are counted anew
by `python -m dojo_authoring.drafted_mistakes.table`.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dojo_authoring.drafted_mistakes.changes import Change, change_of, changes_between, line_of, where_in
from dojo_authoring.drafted_mistakes.rewrites import Rewrite, rewritten
from grader.course.catalog import Course, KataInfo, open_course
from grader.course.files import read
from grader.course.mistake_edits import read_edits
from grader.edits.candidates import Sources, place_of_edit
from grader.edits.mutants import mutants
from grader.edits.walk import Edit
from grader.errors import KataError

HERE = Path(__file__).parent
REWRITES, KINDS = "rewrites.csv", "kinds.csv"
LEAST_KATAS = 2  # in which an edit was a mistake, if other katas may have it
LONGEST = 90  # characters of the code of a rewrite
SHORT = 1000  # characters of a reference whose edits are counted: a long one has tens of thousands
WEIGHT = 10  # edits that the rate of a larger class counts as
OF_PYTORCH = {"softmax"}  # names of katas that are methods of PyTorch
DETACHED = ("state", "buffers")  # families of mutants that no student writes
Kind = tuple[str, str]  # the kind of an edit and of its line
Key = tuple[str, str, str]  # where it stands, the code before and after


@dataclass
class Tally:
    """What was counted in one kata: by class, the edits that can be made and those that are mistakes."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    known_kinds: Counter[Kind] = field(default_factory=Counter)
    edits: Counter[Key] = field(default_factory=Counter)
    known: Counter[Key] = field(default_factory=Counter)


@dataclass(frozen=True)
class Row:
    """How often an edit was a mistake, in how many katas, how often it can be made in short references, and
    how many of these edits are mistakes."""

    mistakes: int = 0
    katas: int = 0
    edits: int = 0
    found: int = 0


@dataclass(frozen=True)
class Table:
    """The counts of all classes of edits."""

    kinds: dict[Kind, Row]
    rows: dict[Key, Row]

    @cached_property
    def rewrites(self) -> list[Rewrite]:
        """The rewrites that other katas may have."""
        where: dict[tuple[str, str], set[str]] = {}
        for place, was, now in self.rows:
            where.setdefault((was, now), set()).add(place)
        found = [Rewrite(was, now, frozenset(places)) for (was, now), places in where.items()]
        return [rewrite for rewrite in found if rewrite.is_usable]

    @cached_property
    def _of_patterns(self) -> dict[tuple[str, str], tuple[int, int]]:
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for (_, was, now), row in self.rows.items():
            mistakes, edits = found.get((was, now), (0, 0))
            found[was, now] = mistakes + row.found, edits + row.edits
        return found

    @cached_property
    def _rate(self) -> float:
        rows = self.kinds.values()
        return sum(row.found for row in rows) / max(sum(row.edits for row in rows), 1)

    def rate(self, kind: Kind, key: Key) -> float:
        """Return how likely an edit is a mistake: the share of the edits of its class, where few of them are
        counted together with the share of the larger class."""
        of_kind, own = self.kinds.get(kind, Row()), self.rows.get(key, Row())
        share = _share(of_kind.found, of_kind.edits, self._rate)
        share = _share(*self._of_patterns.get(key[1:], (0, 0)), share)
        return _share(own.found, own.edits, share)


def _share(found: int, edits: int, of_larger: float) -> float:
    return (found + WEIGHT * of_larger) / (edits + WEIGHT)


def class_of(edit: Edit, change: Change, lines: dict[int, ast.stmt]) -> tuple[Kind, Key]:
    """Return the classes of an edit: its kind with that of its line, and where it stands with its code."""
    place = place_of_edit(edit)
    was, now = "", ""
    with suppress(ValueError, AttributeError):  # an operator alone is no code
        was, now = change.pattern
    return (place.kind, line_of(lines.get(place.line))), (where_in(change.owner, change.part), was, now)


def lines_of(tree: ast.Module) -> dict[int, ast.stmt]:
    """Return the innermost statement of each line."""
    found: dict[int, ast.stmt] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            found |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node)
    return found


def edits_of(tree: ast.Module, rewrites: list[Rewrite], library: str) -> Iterator[tuple[Edit, str]]:
    """Yield the edits that may be mistakes, with the source of each: mutants of a tree, and rewrites."""
    sources, seen = Sources(tree), {ast.unparse(tree)}
    for mutant in mutants(tree):
        if mutant.family not in DETACHED and mutant.source not in seen:
            seen.add(mutant.source)
            yield mutant.edit, mutant.source
    for _, edit in rewritten(tree, rewrites, library):
        source = sources.of(edit)
        if source not in seen:
            seen.add(source)
            yield edit, source


def patterns(course: Course, infos: Iterable[KataInfo]) -> dict[Key, dict[str, int]]:
    """Return the edits that known mistakes were, with their number in each kata. Those that name a function
    of the course are of no use to another one."""
    own = {*course.katas, *(name for info in course.katas.values() for name in info.entry_points)}
    own -= OF_PYTORCH
    found: dict[Key, dict[str, int]] = {}
    for info in infos:
        for change in (one for _, changes in _known(course, info) for one in changes):
            with suppress(ValueError, AttributeError):
                was, now = change.pattern
                key = where_in(change.owner, change.part), was, now
                is_short = was != now and len(was) + len(now) <= LONGEST
                if is_short and own.isdisjoint(re.findall(r"\w+", " ".join(key))):
                    katas = found.setdefault(key, {})
                    katas[info.name] = katas.get(info.name, 0) + 1
    return found


def shared(found: dict[Key, dict[str, int]]) -> dict[Key, dict[str, int]]:
    """Return the edits whose code was that of mistakes of at least LEAST_KATAS katas."""
    katas: dict[tuple[str, str], set[str]] = {}
    for (_, was, now), names in found.items():
        katas.setdefault((was, now), set()).update(names)
    return {key: names for key, names in found.items() if len(katas[key[1:]]) >= LEAST_KATAS}


def tally(course: Course, info: KataInfo, rewrites: list[Rewrite]) -> Tally:
    """Count the edits of one reference, and those that are its mistakes."""
    source = read(course.solution(info, "reference"))
    tree, counted = ast.parse(source), Tally()
    lines = lines_of(tree)
    known = {text for text, changes in _known(course, info) if len(changes) == 1}
    for edit, text in edits_of(tree, rewrites, info.library):
        kind, key = class_of(edit, change_of(edit), lines)
        counted.kinds[kind] += 1
        counted.edits[key] += 1
        if text in known:
            counted.known_kinds[kind] += 1
            counted.known[key] += 1
    return counted


def _known(course: Course, info: KataInfo) -> list[tuple[str, list[Change]]]:
    """Return the changed references of the mistakes, without comments, and what each changes."""
    source, found = read(course.solution(info, "reference")), []
    tree = ast.parse(source)
    for mistake in read_edits(course.edits(info)):
        with suppress(KataError):
            changed = ast.parse(mistake.applied(source))
            found.append((ast.unparse(changed), changes_between(tree, changed)))
    return found


def counted(found: dict[Key, dict[str, int]], tallies: Iterable[Tally]) -> Table:
    """Return the table of the edits that `shared` has found and of the kinds of all edits."""
    sums = Tally()
    for one in tallies:
        sums.kinds += one.kinds
        sums.known_kinds += one.known_kinds
        sums.edits += one.edits
        sums.known += one.known
    kinds = {kind: Row(edits=number, found=sums.known_kinds[kind]) for kind, number in sums.kinds.items()}
    rows = {
        key: Row(sum(names.values()), len(names), sums.edits[key], sums.known[key])
        for key, names in found.items()
    }
    return Table(kinds, rows)


def derive(course: Course, left_out: Collection[str] = ()) -> Table:
    """Return the table of a course, without the katas that are left out."""
    infos = [info for info in katas_with_edits(course) if info.name not in left_out]
    found = shared(patterns(course, infos))
    empty = counted(found, [])
    short = (info for info in infos if len(read(course.solution(info, "reference"))) <= SHORT)
    return counted(found, (tally(course, info, empty.rewrites) for info in short))


def katas_with_edits(course: Course) -> list[KataInfo]:
    """Return the katas whose mistakes are edits of a reference."""
    return [info for info in course.katas.values() if course.edits(info).is_file()]


def write(table: Table, folder: Path = HERE) -> None:
    """Write the table, the edits that were most often mistakes first."""
    rows = sorted(table.rows.items(), key=lambda row: (-row[1].mistakes, row[0]))
    head = "where", "was", "now", "mistakes", "katas", "edits", "found"
    _save(folder / REWRITES, head, ((*key, *_counts(row)) for key, row in rows))
    kinds = sorted(table.kinds.items(), key=lambda row: (-row[1].found, row[0]))
    head_of_kinds = "kind", "line", "edits", "found"
    _save(folder / KINDS, head_of_kinds, ((*kind, row.edits, row.found) for kind, row in kinds))


def _counts(row: Row) -> tuple[int, ...]:
    return row.mistakes, row.katas, row.edits, row.found


def _save(path: Path, head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def read_table(folder: Path = HERE) -> Table:
    """Return the table that is part of this package."""
    kinds = {
        (row["kind"], row["line"]): Row(edits=int(row["edits"]), found=int(row["found"]))
        for row in _read(folder / KINDS)
    }
    names = "mistakes", "katas", "edits", "found"
    rows = {
        (row["where"], row["was"], row["now"]): Row(*(int(row[name]) for name in names))
        for row in _read(folder / REWRITES)
    }
    return Table(kinds, rows)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    write(derive(open_course(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))
