"""Find the tests of a pytest or unittest module: functions, methods of classes, and loose assertions."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator

from grader.authoring.importing.exercise import (
    Definition,
    ImportedTest,
    asserts,
    bound,
    chosen_statements,
    names_in,
)


def without_docstring(node: Definition | ast.Module) -> list[ast.stmt]:
    """Return the statements of a definition after its docstring."""
    return node.body[1:] if ast.get_docstring(node) is not None else node.body


def is_fixture(node: ast.stmt) -> bool:
    """Return whether a statement defines a fixture of pytest."""
    marks = getattr(node, "decorator_list", [])
    return any(ast.unparse(mark).startswith(("pytest.fixture", "fixture")) for mark in marks)


def plain_fixtures(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the fixtures that only return a value, by name."""
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and is_fixture(n)]
    return {f.name: f for f in found if not any(isinstance(n, ast.Yield) for n in ast.walk(f))}


def makers(tree: ast.Module) -> list[ast.stmt]:
    """Return the plain fixtures as functions `make_NAME`."""
    nodes = plain_fixtures(tree).values()
    return [ast.FunctionDef(f"make_{n.name}", n.args, n.body, [], lineno=n.lineno) for n in nodes]


def tests_in(tree: ast.Module) -> Iterator[ImportedTest]:
    """Yield the tests of a pytest or unittest module, and the assertions that it makes outside of them."""
    fixtures = plain_fixtures(tree)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    taken = {name for node in tree.body for name in bound(node)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield _test(node, fixtures)
        elif isinstance(node, ast.ClassDef):
            prepared = TestClass(node, classes, taken)
            yield from (_test(method, fixtures, prepared) for method in prepared.tests)
    yield from _loose_tests(tree)


def _loose_tests(tree: ast.Module) -> Iterator[ImportedTest]:
    """Yield each run of assertions at the level of the module."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    loose = [node for node in tree.body if not isinstance(node, kinds) and not _is_main_guard(node)]
    groups: list[list[ast.stmt]] = []
    follows = False  # the statement before asserts something as well
    for node in loose:
        if asserts(node):
            groups = [*groups[:-1], [*groups[-1], node]] if follows else [*groups, [node]]
        follows = asserts(node)
    for number, group in enumerate(groups, 1):
        last = group[-1].end_lineno or 0
        yield ImportedTest(
            f"test_part_{number}", group, f"Part {number} of the tests holds.", before=last + 1
        )


def _is_main_guard(node: ast.stmt) -> bool:
    """True for `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and "__name__" in names_in(node.test)


class TestClass:
    """A class of tests, with what it has from its bases in the same module.

    `prepared` are the statements of the class and of its `setUp`, and its helper methods as functions, in
    which `self.x` is a variable of the test.
    """

    def __init__(self, node: ast.ClassDef, classes: dict[str, ast.ClassDef], taken: set[str]) -> None:
        bases = [classes[b.id] for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
        self.names = {"self", "cls", *(one.name for one in (node, *bases))}
        body = [statement for one in (*bases, node) for statement in one.body]
        methods = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
        self.marks = node.decorator_list
        self.tests = [method for name, method in methods.items() if name.startswith("test")]
        prepares = [methods[name] for name in PREPARES if name in methods]
        helpers = [n for n in methods.values() if n not in (*self.tests, *prepares) and n.name not in ENDS]
        constants = [n for n in body if isinstance(n, ast.Assign | ast.AnnAssign)]
        inside = [statement for method in prepares for statement in without_docstring(method)]
        attributes = {name for method in methods.values() for name in self._stored(method)}
        attributes |= {name for s in (*constants, *helpers) for name in bound(s)}
        taken = taken | {a.arg for m in methods.values() for a in m.args.args}
        taken |= {n.id for m in methods.values() for n in ast.walk(m)
                  if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        self.variables = {name: f"own_{name}" if name in taken else name for name in attributes}
        functions = [self._as_function(method) for method in helpers]
        self.prepared = [*map(self._renamed, constants), *functions, *self.freed(inside)]

    def _stored(self, method: ast.FunctionDef) -> Iterator[str]:
        """Yield the attributes that a method sets."""
        for node in ast.walk(method):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and self._is_own(node.value)
            ):
                yield node.attr

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.names

    def _as_function(self, method: ast.FunctionDef) -> ast.stmt:
        is_static = any(ast.unparse(mark) == "staticmethod" for mark in method.decorator_list)
        arguments = copy.deepcopy(method.args)
        arguments.args = arguments.args if is_static else arguments.args[1:]
        name, body = self.variables[method.name], self.freed(without_docstring(method))
        return ast.FunctionDef(name, arguments, body, [], lineno=method.lineno)

    def _renamed(self, constant: ast.Assign | ast.AnnAssign) -> ast.stmt:
        """Return an assignment of the class with the names that its variables have in a test."""
        return _Renamed(self.variables).visit(copy.deepcopy(constant))  # type: ignore[no-any-return]

    def freed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements of a method with variables in place of attributes."""
        without_super = [s for s in body if not ast.unparse(s).startswith("super(")]
        return [_Freed(self._is_own, self.variables).visit(copy.deepcopy(s)) for s in without_super]

    def needed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the prepared statements that a test needs, and all that only have an effect, as a seed."""
        chosen = chosen_statements(self.prepared, names_in(*body))
        return [s for s in self.prepared if s in chosen or not bound(s)]


PREPARES = ("setUpClass", "setup_class", "setUp", "setup_method")
ENDS = ("tearDown", "tearDownClass", "teardown_method", "teardown_class")


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


class _Freed(ast.NodeTransformer):
    """Puts a variable in place of each attribute of `self` or of the class."""

    def __init__(self, is_own: Callable[[ast.expr], bool], names: dict[str, str]) -> None:
        self.is_own, self.names = is_own, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self.is_own(node.value) and node.attr in self.names:
            return ast.Name(self.names[node.attr], node.ctx)
        return self.generic_visit(node)


def _made(name: str, fixtures: dict[str, ast.FunctionDef]) -> str:
    """Return the source of a fixture's value. Raises KeyError if it cannot be made."""
    made = [_made(argument.arg, fixtures) for argument in fixtures[name].args.args]
    return f"make_{name}({', '.join(made)})"


def _test(
    node: ast.FunctionDef, fixtures: dict[str, ast.FunctionDef], owner: TestClass | None = None
) -> ImportedTest:
    """Return a test function, or a test method of a class."""
    loops: dict[str, str] = {}
    obstacle = ""
    for decorator in [*(owner.marks if owner else []), *node.decorator_list]:
        text = ast.unparse(decorator)
        if isinstance(decorator, ast.Call) and text.startswith("pytest.mark.parametrize("):
            try:
                names, values = _parameters(decorator)
                loops[names] = values
            except (ValueError, IndexError):
                obstacle = obstacle or "its parameters have marks, or are not written out"
        elif "skip" in text or "xfail" in text:
            obstacle = obstacle or f"it is marked {text.partition('(')[0].rpartition('.')[2]}"
        elif "patch" in text:
            obstacle = obstacle or "it replaces other code"
    given, made = {name for targets in loops for name in targets.split(", ")}, []
    for name in (a.arg for a in node.args.args if a.arg not in given | {"self"}):
        try:
            made.append(f"{name} = {_made(name, fixtures)}")
        except KeyError:
            obstacle = obstacle or f"it asks for the fixture `{name}`"
    words = node.name.removeprefix("test").strip("_").replace("_", " ") or "it works"
    title = " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].split())
    title = title or f"{words[:1].upper()}{words[1:]}."
    body = without_docstring(node)
    if owner is not None:
        body = owner.freed(body)
        body = [*owner.needed(body), *body]
    return ImportedTest(node.name, body, title, tuple(loops.items()), tuple(made), obstacle)


def _parameters(mark: ast.Call) -> tuple[str, str]:
    """Return the names of a `parametrize`, and the source of its values without their ids. Raises ValueError
    or IndexError if they have marks or are given in another way."""
    names = ast.literal_eval(mark.args[0])
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = copy.deepcopy(mark.args[1])
    for number, value in enumerate(getattr(values, "elts", [])):
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("pytest.param", "param"):
            if any(keyword.arg != "id" for keyword in value.keywords):
                raise ValueError("a parameter has marks")
            several = ast.Tuple(value.args, ast.Load())
            values.elts[number] = several if len(listed) > 1 else value.args[0]  # type: ignore[attr-defined]
    return ", ".join(listed), ast.unparse(values)
