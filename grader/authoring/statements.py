"""What `kata verify` reads without running anything: files, statement, hints, points, rules."""

from __future__ import annotations

import ast
from pathlib import Path

from grader.catalog import Card, Course, shorten
from grader.kata import KataError
from grader.submission import digest
from grader.worker.rules import broken_in_source

PARTS = ("reference", "mistakes", "variants")
KEPT = ("equivalent.toml", "feedback.md")  # what `kata` keeps beside them: marked mutants, reports to be read
STATEMENT_LENGTH = 400
HINTS_DUE = 3
AGREEMENT_DUE = 300  # hundredths of a point that stay for agreeing with the reference


def gaps(course: Course, card: Card) -> list[str]:
    """What the files of a kata lack, in the order in which one would write them."""
    missing = [
        f"{shorten(path)} is missing; write it."
        for path in (course.stub(card), *(course.solution(card, part) for part in PARTS))
        if not path.is_file()
    ]
    if missing:
        return missing
    return [
        *_gaps_of_statement(course, card),
        *_gaps_of_digest(course, card),
        *_gaps_of_hints(card),
        *_gaps_of_signatures(course, card),
        *_gaps_of_points(course, card),
        *_gaps_of_needs(course, card),
    ]


def _gaps_of_statement(course: Course, card: Card) -> list[str]:
    tree = _parse(course.stub(card))
    found = []
    if len(ast.get_docstring(tree) or "") < STATEMENT_LENGTH:
        found.append(f"the stub's docstring is no statement yet ({STATEMENT_LENGTH} characters are due).")
    if "grader" in _imported(tree):
        found.append("the stub imports the grader; a student's file must stand alone.")
    if card.name not in course.path:
        found.append("tests/katas/path.toml does not list it; put it where it is best learnt.")
    return found


def _gaps_of_digest(course: Course, card: Card) -> list[str]:
    due = digest(course.stub(card).read_text(encoding="utf-8"))
    if card.ships_wrong_code and card.ships_wrong_code != due:
        return [f'its stub has changed; write ships_wrong_code="{due}" in its declaration.']
    return []


def _imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def _gaps_of_hints(card: Card) -> list[str]:
    if len(card.hints) < HINTS_DUE:
        return [f"{len(card.hints)} hints; {HINTS_DUE} are due, from a nudge to nearly the answer."]
    return []


def _gaps_of_signatures(course: Course, card: Card) -> list[str]:
    stub = _signatures(_parse(course.stub(card)))
    reference = _signatures(_parse(course.solution(card, "reference")))
    return [
        f"`{name}` is {stub.get(name)} in the stub and {reference.get(name)} in the reference; make them one."
        for name in card.entry_points
        if name not in stub or stub.get(name) != reference.get(name)
    ]


def _signatures(tree: ast.Module) -> dict[str, str]:
    """Parameter names and defaults of functions, and of a class's public methods."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = _parameters(node)
        elif isinstance(node, ast.ClassDef):
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            public = [m for m in methods if not m.name.startswith("_") or m.name in ("__init__", "__len__")]
            shown = [m.name + _parameters(m) for m in public if len(m.args.args) > 1 or m.name != "__init__"]
            found[node.name] = "; ".join(sorted(shown))
    return found


def _parameters(node: ast.FunctionDef) -> str:
    names = [arg.arg for arg in node.args.args]
    defaults = [ast.unparse(value) for value in node.args.defaults]
    tail = [f"{n}={d}" for n, d in zip(names[len(names) - len(defaults) :], defaults, strict=True)]
    return f"({', '.join(names[: len(names) - len(defaults)] + tail)})"


def _gaps_of_points(course: Course, card: Card) -> list[str]:
    kata = course.declaration(card)
    if kata.draw is None:
        return ["it draws no cases; decorate a function with @KATA.cases."]
    left = kata.free_points()["agrees_with_reference"]
    if left < AGREEMENT_DUE:
        return [f"its laws leave {left / 100:g} points for agreeing with the reference; leave at least 3."]
    nothing = [law.name for law in kata.laws if law.points <= 0]
    return [f"the law `{name}` is worth no points; give it some." for name in nothing]


def _gaps_of_needs(course: Course, card: Card) -> list[str]:
    unknown = [
        f"it needs `{name}`, and there is no such kata." for name in card.needs if name not in course.cards
    ]
    rules = course.declaration(card).rules
    broken = [
        f"the {part} breaks a rule of its own kata: line {found[1]} uses {found[0]}."
        for part in ("reference", "variants")
        for rule in rules
        for found in [broken_in_source(course.solution(card, part).read_text(), rule.forbidden)]
        if found
    ]
    return unknown + broken


def stray_files(course: Course) -> list[str]:
    """Files below exercises, solutions and declarations that belong to no kata."""
    known = {course.root / "tests" / "katas" / name for name in ("path.toml", "conftest.py")}
    for card in course.cards.values():
        known |= {course.stub(card), card.path, *(course.solution(card, part) for part in PARTS)}
        known |= {course.folder(card) / name for name in KEPT}
    folders = (course.exercises, course.root / "solutions", course.root / "tests" / "katas")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    strays = [path for path in found if path not in known and "__pycache__" not in path.parts]
    return [f"{shorten(path)} belongs to no kata; move or remove it." for path in sorted(strays)]


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=path.name)
    except SyntaxError as error:
        raise KataError(f"{shorten(path)} has a syntax error in line {error.lineno}: {error.msg}.") from None
