"""Load the mistakes and variants of a kata; each replaces one or more entry points of the reference.

A mistake is an edit of the reference, in `mistakes.edits`, or a function or class in `mistakes.py`. A
variant is one in `variants.py`. All may import the reference: `from reference import heap as _heap`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.course import general_mistakes
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.files import parse, read
from grader.course.general_mistakes import GENERAL
from grader.course.mistake_edits import Change, EditedMistake, merged, read_edits
from grader.kata import Kata, KataError
from grader.mistakes import LEVELS
from grader.worker.child import kernels


def replaced_by(answer: Any, reference: Any, entry_points: tuple[str, ...]) -> dict[str, Any]:
    """Return the entry points that an answer replaces, with what replaces them. A class replaces those that
    it has as members, a function the one with the same parameters. Raises KataError if this is ambiguous."""
    if inspect.isclass(answer):
        members = {name: getattr(answer, name) for name in entry_points if name in vars(answer)}
        if members:
            return members
        classes = [name for name in entry_points if inspect.isclass(getattr(reference, name))]
        return {classes[0]: answer} if classes else {}
    same = [
        name
        for name in entry_points
        if list(inspect.signature(getattr(reference, name)).parameters)
        == list(inspect.signature(answer).parameters)
    ]
    if len(same) != 1:
        raise KataError(
            f"`{answer.__name__}` has the parameters of no single entry point ({', '.join(entry_points)});"
            " give it those of the one that it stands in for."
        )
    return {same[0]: answer}


@contextmanager
def importable(reference: types.ModuleType) -> Iterator[None]:
    """Let the code in the block import the kata's reference under the name `reference`."""
    before = sys.modules.get("reference")
    sys.modules["reference"] = reference
    try:
        yield
    finally:
        del sys.modules["reference"]
        if before is not None:
            sys.modules["reference"] = before


Definition = ast.FunctionDef | ast.ClassDef
OTHER_WAY = "Another way: "  # begins the docstring of a variant that students read about after a pass
ONE_WAY = "One way to write it: "
SAME_WAY = 0.8  # from which likeness a variant is what the student wrote


def other_way(course: Course, info: KataInfo, source: str = "") -> str:
    """Return the first line of the docstring of a variant that is written for students: of the one that is
    least like `source`. It is "" if there is none, or none that differs from it."""
    path = course.solution(info, "variants")
    ways = list(other_ways(read(path) if path.is_file() else ""))
    if not source or not ways:
        return ways[0][0] if ways else ""
    likeness, title = min((_likeness(code, source), title) for title, code in ways)
    return title if likeness < SAME_WAY else ""


def one_way(way: str) -> str:
    """Return the words of an answer key about another way, as one way: a key holds no code, so it cannot tell
    whether a student has written that one."""
    return way.replace(OTHER_WAY, ONE_WAY, 1)


def _likeness(one: str, other: str) -> float:
    """Return how much of two codes is alike, from 0 to 1, whatever their names, docstrings and layout."""
    return SequenceMatcher(None, _steps(one), _steps(other), autojunk=False).ratio()


def _steps(source: str) -> list[str]:
    """Return the kinds of nodes inside the functions of a code, and the attributes that they name."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    functions = (node for node in tree.body if isinstance(node, Definition))
    bodies = (node for one in functions for node in one.body if not _is_text(node))
    nodes = (node for body in bodies for node in ast.walk(body))
    return [node.attr if isinstance(node, ast.Attribute) else type(node).__name__ for node in nodes]


def is_same_way(one: str, other: str) -> bool:
    """Return whether two codes take the same steps: they differ in names, docstrings and layout alone."""
    return _steps(one) == _steps(other)


def _kept(source: str) -> set[str]:
    """Return the names of the variables of a module and of its classes, and of those that methods set on
    `type(self)`."""
    tree = ast.parse(source)
    assigned = (node for node in _in_scopes(tree) if isinstance(node, ast.Assign | ast.AnnAssign))
    names = {target for one in assigned for target in _set_in(one)}
    everywhere = _set_in(tree) if "type(self)." in source else ()  # a walk through all takes its time
    return names | {target for target in everywhere if target.startswith("type(self).")}


def _in_scopes(scope: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield the statements of a module or a class. In place of a class among them come its statements."""
    for node in scope.body:
        yield from _in_scopes(node) if isinstance(node, ast.ClassDef) else (node,)


def _set_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names and attributes to which code assigns, such as "MASKS" or "self.keys"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def other_ways(variants: str) -> Iterator[tuple[str, str]]:
    """Yield the variants that are written for students, from the source of them all: the first line of the
    docstring, and the code that the variant needs."""
    for node in ast.parse(variants).body:
        text = ast.get_docstring(node) or "" if isinstance(node, Definition) else ""
        if text.startswith(OTHER_WAY) and isinstance(node, Definition):
            yield text.splitlines()[0], excerpt(variants, node.name)


class KnownSolutions:
    """All public `mistakes` or `variants` of one kata, and the general mistakes. A general one gives way to
    an own one of its name. Raises KataError if an edit does not apply, or if two mistakes have one name."""

    def __init__(self, course: Course, info: KataInfo, part: str) -> None:
        self.info, self.file = info, course.solution(info, part)
        path = course.solution(info, "reference")
        self.reference, self.reference_source = load_file(f"dojo_reference_{info.name}", path), read(path)
        lacks_file = part == "mistakes" and not self.file.is_file()
        self.source = "" if lacks_file else read(self.file)
        self.tree = ast.Module([], []) if lacks_file else parse(self.file)
        self._edited: dict[str, EditedMistake] = {}
        self._changed: dict[str, str] = {}
        for mistake in read_edits(course.edits(info)) if part == "mistakes" else []:
            self.add(mistake)
        self._uses = {node.name: _names(node) for node in self.tree.body if isinstance(node, Definition)}
        self._codes: dict[str, types.CodeType] = {}
        self._changes: dict[str, list[Change]] = {}

    def add(self, mistake: EditedMistake) -> None:
        """Take in a mistake, which may be a draft. Raises KataError if its edits do not apply, or if another
        one has its name. What they give is read when it is executed."""
        if before := self._edited.get(mistake.name):
            raise mistake.taken(before.path, before.line)
        if mistake.name in self._definitions:
            raise mistake.taken(self.file, self._definitions[mistake.name].lineno)
        self._changed[mistake.name] = mistake.in_place(self.reference_source)
        self._edited[mistake.name] = mistake

    @property
    def names(self) -> list[str]:
        """The answers' names in the order of the files, edits first."""
        return [*self._edited, *self._definitions]

    def place(self, name: str) -> tuple[Path, int]:
        """Return the file and the line in which an answer begins; line 0 for a general mistake."""
        if edited := self._edited.get(name):
            return edited.path, edited.line
        return self.file, self._definitions[name].lineno if name in self._definitions else 0

    @cached_property
    def _definitions(self) -> dict[str, Definition]:
        nodes = (node for node in self.tree.body if isinstance(node, Definition))
        return {node.name: node for node in nodes if not node.name.startswith("_")}

    def general_names(self, kata: Kata) -> list[str]:
        """Return the names of the general mistakes that can show in the kata."""
        entries = [getattr(self.reference, entry) for entry in self.info.entry_points]
        return [
            name
            for name, mistake in GENERAL.items()
            if name not in self.names and kata.kind.is_code and mistake.when(kata)
            if any(mistake.in_place_of(entry) is not entry for entry in entries)
        ]

    def text(self, name: str) -> str:
        """Return an answer's sentence or docstring as one paragraph."""
        if name in self._edited:
            return self._edited[name].text
        if name in self._definitions:
            return " ".join((ast.get_docstring(self._definitions[name]) or "").split())
        return " ".join((GENERAL[name].answer.__doc__ or "").split())

    def level(self, name: str) -> str:
        """Return how far from right a mistake is; the general ones are subtle."""
        if name in self._edited:
            return self._edited[name].level
        if name not in self._definitions:
            return "subtle"
        marks = map(ast.unparse, self._definitions[name].decorator_list)
        return next((mark for mark in marks if mark in LEVELS), "ordinary")

    @cached_property
    def draws(self) -> bool:
        """Whether the reference draws random numbers, by the names in its source. What a constructor draws
        does not count: weights are loaded before answers are compared."""
        tree = ast.parse(self.reference_source)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                node.body = [ast.Pass()]
        return bool(DRAWING.search(ast.unparse(tree)))

    def draws_itself(self, name: str) -> bool:
        """Whether the code that an answer adds to the reference draws random numbers or applies dropout, as
        far as the names in it tell. The general mistakes draw none."""
        excerpt = self.excerpt(name) if name in self.names else ""
        return bool(DRAWING.search(excerpt)) or "dropout" in excerpt.lower()

    def keeps_values(self, name: str) -> bool:
        """Whether a call may keep values that later calls use: the answer's module, or a class in it, has a
        variable that the reference does not have."""
        if name not in self.names:
            return GENERAL[name].keeps_values
        return not _kept(self.file_of(name)) <= self._kept_by_reference

    @cached_property
    def _kept_by_reference(self) -> set[str]:
        return _kept(self.reference_source)

    def excerpt(self, name: str) -> str:
        """Return the part of the file that an answer needs, or the lines that an edit adds."""
        if name in self._edited:
            return self._edited[name].added
        return _excerpt(self.source, self.tree, name, self._uses)

    def file_of(self, name: str) -> str:
        """Return the file as which an answer is executed here; "" for a general mistake. Its lines are those
        of the course's file, or of the changed reference."""
        if name in self._edited:
            return self._changed[name]
        if name not in self._definitions:
            return ""
        return _excerpt(self.source, self.tree, name, self._uses, in_place="\n")

    def source_of(self, name: str) -> str:
        """Return the source of a file with all entry points, as a student could hand it in. Its answer has
        lines; the rest comes from the reference."""
        own_row = filter(None, [self.info.kind.on_all_rows])
        if name in self._edited:
            embedded = EMBEDDED.format(reference=self.reference_source)
            source = IMPORTS_REFERENCE.sub(lambda _: f"{embedded}\n", self._changed[name], count=1)
            return "\n".join([source.rstrip("\n"), *own_row, ""])
        if name not in self._definitions:
            return _general_source(name, self.reference_source, self.info.entry_points)
        answer, replaced = self._answer(name)
        lines = [EMBEDDED.format(reference=self.reference_source), self.excerpt(name)]
        for entry in self.info.entry_points:
            right = f"_right.{entry}"
            own = name if replaced.get(entry) is answer else f"{name}.{entry}"
            lines.append(f"{entry} = {own if entry in replaced else right}")
        return "\n".join([*lines, *own_row, ""])

    def fresh(self, name: str) -> types.SimpleNamespace:
        """Return an answer as a new module with all entry points, without state from earlier calls. An error
        in it has the line of `file_of`."""
        if name in self._edited:
            return self._fresh_edited(self._edited[name])
        entries = {entry: getattr(self.reference, entry) for entry in self.info.entry_points}
        if name in self._definitions:
            replaced = self._answer(name)[1]
        else:
            replaced = {entry: GENERAL[name].in_place_of(right) for entry, right in entries.items()}
        return types.SimpleNamespace(
            **{**entries, **replaced}, __name__=self.info.name, __file__=str(self.file)
        )

    def _fresh_edited(self, mistake: EditedMistake) -> types.SimpleNamespace:
        module = self._execute(mistake.name, mistake.filename)
        if lacking := [entry for entry in self.info.entry_points if not hasattr(module, entry)]:
            raise mistake.error(f"the changed reference has no `{lacking[0]}` any more.")
        entries = {entry: getattr(module, entry) for entry in self.info.entry_points}
        return types.SimpleNamespace(**entries, __name__=self.info.name, __file__=mistake.filename)

    def changes(self, name: str) -> list[Change]:
        """Return what a mistake changes in the reference; nothing if it is no edit of it."""
        if name not in self._changes:
            edited = self._edited.get(name)
            self._changes[name] = edited.smallest_changes(self.reference_source) if edited else []
        return self._changes[name]

    def at_once(self, names: Sequence[str]) -> str | None:
        """Return the reference with the edits of several mistakes, the general ones aside. It is None if they
        do not go together, or if one of them adds nothing to the others."""
        edited = [name for name in names if name in self.names]
        every = [self.changes(name) for name in edited]
        source = merged(self.reference_source, every)
        fewer = (merged(self.reference_source, every[:at] + every[at + 1 :]) for at in range(len(every)))
        return None if source is None or not all(every) or source in fewer else source

    def fresh_at_once(self, names: Sequence[str], code: types.CodeType) -> types.SimpleNamespace:
        """Return what makes several mistakes at once as a new module: the changed reference, which was
        compiled as `code`, with the general mistakes around it."""
        module = self._run(code)
        entries = {entry: getattr(module, entry) for entry in self.info.entry_points}
        for general in (GENERAL[name] for name in names if name not in self.names):
            entries = {entry: general.in_place_of(answer) for entry, answer in entries.items()}
        return types.SimpleNamespace(**entries, __name__=self.info.name, __file__=code.co_filename)

    def code(self, name: str) -> str:
        """Return what the outcome of an answer rests on: the code that it needs, without comments and level.
        A general mistake has no code of the kata's."""
        if name in self._edited:
            return ast.dump(ast.parse(self._changed[name]))
        return ast.dump(ast.parse(self.excerpt(name))) if name in self._definitions else name

    def _answer(self, name: str) -> tuple[Any, dict[str, Any]]:
        """Execute the part of the file that an answer needs, which may contain sixty others. Return the
        answer, and the entry points that it replaces."""
        answer = getattr(self._execute(name, str(self.file)), name)
        return answer, replaced_by(answer, self.reference, self.info.entry_points)

    def _execute(self, name: str, filename: str) -> types.ModuleType:
        """Execute the file of an answer as a new module."""
        if name not in self._codes:
            try:
                self._codes[name] = compile(self.file_of(name), filename, "exec", dont_inherit=True)
            except SyntaxError as error:
                raise self._edited[name].no_python(error) if name in self._edited else error from None
        return self._run(self._codes[name])

    def _run(self, code: types.CodeType) -> types.ModuleType:
        module = types.ModuleType(f"dojo_answer_{self.info.name}")
        sys.modules[module.__name__] = module
        kernels.give_to(vars(module), self.reference_source)
        with importable(self.reference):
            exec(code, vars(module))
        return module


#: Names in code that draws random numbers.
DRAWING = re.compile(
    r"rand|rng|generator|multinomial|bernoulli|shuffle|permutation|permuted|choice\(", re.IGNORECASE
)
#: The first line of an answer in a file of its own: it gives the answer the kata's reference.
EMBEDDED = (
    "import sys as _sys, types as _types;"
    ' _right = _sys.modules["reference"] = _types.ModuleType("reference");'
    ' exec(compile({reference!r}, "reference.py", "exec", dont_inherit=True), vars(_right))'
)
IMPORTS_REFERENCE = re.compile(r"^(?=(?:from|import) reference\b)", re.MULTILINE)


def excerpt(source: str, name: str) -> str:
    """Return the source without the functions and classes that `name` does not need, and without the level:
    a worker cannot import the grader."""
    return _excerpt(source, ast.parse(source), name)


def _excerpt(
    source: str, tree: ast.Module, name: str, uses: dict[str, set[str]] | None = None, in_place: str = ""
) -> str:
    lines = source.splitlines(keepends=True)
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    uses = uses or {node.name: _names(node) for node in definitions}
    needed = _needed(name, tree, uses)
    left_out: list[ast.stmt | ast.expr] = [node for node in definitions if node.name not in needed]
    left_out += _of_levels(tree)
    for node in left_out:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        lines[first - 1 : last] = [in_place] * (last - first + 1)
    return "".join(lines)


def _of_levels(tree: ast.Module) -> list[ast.stmt | ast.expr]:
    """Return the imports of `grader.mistakes` and the decorators of levels."""
    imports: list[ast.stmt | ast.expr] = [
        n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "grader.mistakes"
    ]
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    return imports + [d for n in definitions for d in n.decorator_list if ast.unparse(d) in LEVELS]


def _needed(name: str, tree: ast.Module, uses: dict[str, set[str]]) -> set[str]:
    """Return every name that `name`, or code that runs at import, refers to directly or indirectly."""
    needed: set[str] = set()
    pending = {name}.union(*(_names(node) for node in tree.body if not isinstance(node, Definition)))
    while pending:
        needed |= pending
        pending = set().union(*(uses[used] for used in pending if used in uses)) - needed
    return needed


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


class _StandaloneSources(Mapping[str, str]):
    """The sources by the names of the answers; each is made on request."""

    def __init__(self, course: Course, info: KataInfo, part: str) -> None:
        self._answers = KnownSolutions(course, info, part)

    def __getitem__(self, name: str) -> str:
        if name not in self._answers.names:
            raise KeyError(name)
        return self._answers.source_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers.names)

    def __len__(self) -> int:
        return len(self._answers.names)


def standalone_sources(course: Course, info: KataInfo, part: str) -> Mapping[str, str]:
    """Return, for each answer in `mistakes` or `variants`, the source of a file with all entry points."""
    return _StandaloneSources(course, info, part)


def _general_source(name: str, reference: str, entry_points: tuple[str, ...]) -> str:
    """Return the source of a file with all entry points that makes a general mistake."""
    general = inspect.getsource(general_mistakes).replace("from __future__ import annotations\n", "\n")
    bindings = (f"{entry} = GENERAL[{name!r}].in_place_of(_right.{entry})" for entry in entry_points)
    head = f"from __future__ import annotations; {EMBEDDED.format(reference=reference)}"
    return "\n".join([head, general, *bindings, ""])
