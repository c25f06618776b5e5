"""Rewrite the assertions of a test as expectations of a law."""

from __future__ import annotations

import ast
import copy
import io
import math
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from grader.authoring.importing.exercise import ImportedTest, names_in

CLOSE = ("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_close", "allclose",
         "assertAlmostEqual", "isclose")  # fmt: skip
EQUAL = ("assert_array_equal", "assert_equal", "array_equal", "equal")
SAME = ("assertEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSequenceEqual")
COMPARED: dict[str, type[ast.cmpop]] = {
    "assertNotEqual": ast.NotEq, "assertIn": ast.In, "assertNotIn": ast.NotIn, "assertIs": ast.Is,
    "assertIsNot": ast.IsNot, "assertLess": ast.Lt, "assertLessEqual": ast.LtE, "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}  # fmt: skip
NONE: dict[str, type[ast.cmpop]] = {"assertIsNone": ast.Is, "assertIsNotNone": ast.IsNot}
#: What a `with` statement may hold in a law.
MANAGERS = ("errstate", "no_grad", "inference_mode", "catch_warnings", "printoptions")
TRUE, FALSE = ("assertTrue", "assert_"), ("assertFalse",)
RAISES = ("raises", "assertRaises", "assertRaisesRegex")
REFUSALS = ("ValueError", "AssertionError", "Exception")

#: The names of the two sides of an assertion.
SIDES = ("actual", "desired", "x", "y", "a", "b", "input", "other", "expected", "first", "second")

LAW = '''
@KATA.law(points={points})
def {name}(student):
    """{title}"""
{body}
'''


class NotRewritten(Exception):
    """A test cannot become a law, for the reason that the message says."""


@dataclass(frozen=True)
class Rewriter:
    """Rewrites tests of one function. With `places`, numbers are compared to so many decimals."""

    function: str
    places: int | None = None

    def law(self, test: ImportedTest, points: str, inside: list[ast.stmt]) -> str:
        """Return the source of the law, which begins with the statements `inside`. Raises NotRewritten."""
        if test.obstacle:
            raise NotRewritten(test.obstacle)
        if "time" in names_in(*test.body) & test.uses:
            raise NotRewritten("it measures time, which differs between machines")
        before, body = self._rewritten(inside), self._rewritten(test.body)
        used = {ast.unparse(n) for s in (*before, *body) for n in ast.walk(s) if isinstance(n, ast.Attribute)}
        if f"student.{self.function}" not in used or not any(name.startswith("expect.") for name in used):
            raise NotRewritten("nothing in it asserts anything about the function")
        if any(isinstance(n, ast.Name) and n.id == "self" for s in body for n in ast.walk(s)):
            raise NotRewritten("it uses its class")
        text = "\n".join([*test.fixtures, *map(ast.unparse, body)])
        for names, values in test.loops:
            text = f"for {names} in {values}:\n{textwrap.indent(text, '    ')}"
        text = textwrap.indent(double_quoted("\n".join([*map(ast.unparse, before), text])), "    ")
        title = test.title.replace("\\", "\\\\").replace('"', "'")
        return LAW.format(points=points, name=test.name, title=title, body=text)

    def _rewritten(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found = [new for statement in statements for new in self._statement(copy.deepcopy(statement))]
        return [ast.fix_missing_locations(statement) for statement in found]

    def _statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        if isinstance(node, ast.Assert):
            yield from self._assertion(node.test, node.msg)
        elif isinstance(node, ast.With):
            yield from self._with(node)
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and (asserted := self._asserted(node.value))
        ):
            yield from asserted
        elif isinstance(node, ast.Try):
            yield self._try(node)
        elif isinstance(node, ast.ClassDef | ast.Global | ast.Nonlocal):
            raise NotRewritten(f"it holds a statement `{type(node).__name__.lower()}`")
        else:
            for part in ("body", "orelse"):
                inner = getattr(node, part, None)
                if isinstance(inner, list):
                    setattr(node, part, [new for statement in inner for new in self._statement(statement)])
            yield self._called_in(node)

    def _assertion(self, claim: ast.expr, sentence: ast.expr | None = None) -> Iterator[ast.stmt]:
        """Yield the expectations that say what `assert claim` says."""
        if isinstance(claim, ast.BoolOp) and isinstance(claim.op, ast.And):
            for part in claim.values:
                yield from self._assertion(part, sentence)
        elif isinstance(claim, ast.Compare) and len(claim.ops) == 1 and isinstance(claim.ops[0], ast.Eq):
            left, right = claim.left, claim.comparators[0]
            near = next(
                (side for side in (left, right) if ast.unparse(side).startswith("pytest.approx(")), None
            )
            if ".dtype" in ast.unparse(claim):  # which is equal to what is no dtype, such as `bool`
                yield self._claim(claim, sentence)
            elif near is None:
                yield self._expect("equal", left, right)
            else:
                other = right if near is left else left
                yield self._expect("close", other, near.args[0])  # type: ignore[attr-defined]
        elif isinstance(claim, ast.Call) and (rewritten := self._asserted(claim)):
            yield from rewritten
        else:
            yield self._claim(claim, sentence)

    def _claim(self, claim: ast.expr, sentence: ast.expr | None) -> ast.stmt:
        """Return the expectation that a condition is true."""
        message = sentence.value if isinstance(sentence, ast.Constant) else ""
        text = message or f"`{ast.unparse(claim)}` must hold."
        return self._call_of("true", self._called(claim), ast.Constant(text))

    def _asserted(self, call: ast.Call) -> list[ast.stmt]:
        """Return the expectation of a call such as `np.testing.assert_allclose(got, expected)`."""
        name = ast.unparse(call.func).rpartition(".")[2]
        args = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in SIDES)]
        if len(args) < (2 if name in (*CLOSE, *EQUAL, *SAME, *COMPARED) else 1):
            return []
        if name in CLOSE:
            return [self._expect("close", _as_array(args[0]), _as_array(args[1]), _decimals(call))]
        if name in EQUAL:
            return [self._expect("equal", _as_array(args[0]), _as_array(args[1]))]
        if name in SAME:
            return [self._expect("equal", args[0], args[1])]
        if name in COMPARED:
            return list(self._assertion(ast.Compare(args[0], [COMPARED[name]()], [args[1]])))
        if name in NONE:
            return list(self._assertion(ast.Compare(args[0], [NONE[name]()], [ast.Constant(None)])))
        if name == "assertIsInstance":
            return list(self._assertion(ast.Call(ast.Name("isinstance", ast.Load()), args[:2], [])))
        if name in TRUE:
            return list(self._assertion(args[0]))
        if name in FALSE:
            return list(self._assertion(ast.UnaryOp(ast.Not(), args[0])))
        if name == "assertRaisesRegex":
            del args[1]
        if name in RAISES and len(args) > 1:
            return [self._refusal(args[0], ast.Call(args[1], args[2:], call.keywords))]
        return []

    def _with(self, node: ast.With) -> Iterator[ast.stmt]:
        """Yield the expectation of `with pytest.raises(…): call`."""
        manager = node.items[0].context_expr
        name = ast.unparse(manager).partition("(")[0].rpartition(".")[2]
        if name == "subTest":
            for statement in node.body:
                yield from self._statement(statement)
            return
        if name in MANAGERS:
            node.body = [new for statement in node.body for new in self._statement(statement)]
            yield self._called_in(node)
            return
        if (
            not isinstance(manager, ast.Call)
            or not manager.args
            or ast.unparse(manager.func).rpartition(".")[2] not in RAISES
        ):
            raise NotRewritten("it holds a statement `with`")
        *before, last = node.body
        if not isinstance(last, ast.Expr | ast.Assign) or not isinstance(last.value, ast.Call):
            raise NotRewritten("what must raise is no call")
        for statement in before:
            yield from self._statement(statement)
        yield self._refusal(manager.args[0], last.value)

    def _try(self, node: ast.Try) -> ast.stmt:
        """Return the expectation of `try: call`, `except ValueError: pass` and an assertion that fails."""
        fails = [
            n
            for s in (*node.body[1:], *node.orelse)
            for n in ast.walk(s)
            if isinstance(n, ast.Raise | ast.Assert)
        ]
        first, error = node.body[0], node.handlers[0].type if node.handlers else None
        if not fails or error is None or not isinstance(first, ast.Expr | ast.Assign):
            raise NotRewritten("it holds a statement `try`")
        if not isinstance(first.value, ast.Call):
            raise NotRewritten("what must raise is no call")
        return self._refusal(error, first.value)

    def _refusal(self, error: ast.expr, call: ast.Call) -> ast.stmt:
        kinds = {ast.unparse(e) for e in (error.elts if isinstance(error, ast.Tuple) else [error])}
        if not kinds & set(REFUSALS):
            raise NotRewritten(f"it asks for {' or '.join(sorted(kinds))}; a kata refuses by ValueError")
        if not self._is_own(call.func):
            raise NotRewritten("what must raise is no call of the function")
        passed = [self._called(argument) for argument in call.args]
        named = [ast.keyword(k.arg, self._called(k.value)) for k in call.keywords]
        why = ast.keyword("why", ast.Constant("these arguments are not valid"))
        target = ast.parse(f"student.{self.function}", mode="eval").body
        return self._call_of("refuses", target, *passed, keywords=[*named, why])

    def _expect(self, word: str, got: ast.expr, expected: ast.expr, allowed: int | None = None) -> ast.stmt:
        """Return `expect.close(got, expected, what)`; the side that calls the function is what was got. The
        test asks for no more than the `allowed` decimals."""
        if not self._calls_function(got) and self._calls_function(expected):
            got, expected = expected, got
        text = ast.unparse(got)
        what = ast.Constant(text if len(text) <= 60 else "the result")
        got, expected = self._called(got), self._called(expected)
        places = min([n for n in (self.places, allowed) if n is not None], default=None)
        if word == "close" and places is not None:
            return self._call_of("decimals", got, expected, ast.Constant(places), what)
        return self._call_of(word, got, expected, what)

    @staticmethod
    def _call_of(word: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.stmt:
        target = ast.parse(f"expect.{word}", mode="eval").body
        return ast.Expr(ast.Call(target, list(args), keywords or []))

    def _is_own(self, node: ast.expr) -> bool:
        """Return whether an expression names the function."""
        return isinstance(node, ast.Name) and node.id == self.function

    def _calls_function(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Call) and self._is_own(n.func) for n in ast.walk(node))

    def _called(self, node: ast.expr) -> ast.expr:
        """Return the expression with `student.f` in place of `f`."""
        return cast(ast.expr, _Replaced(self._is_own, self.function).visit(node))

    def _called_in(self, node: ast.stmt) -> ast.stmt:
        return cast(ast.stmt, _Replaced(self._is_own, self.function).visit(node))


def _decimals(call: ast.Call) -> int | None:
    """Return the decimals that `atol` or `decimal` of an assertion asks for; None if it says neither."""
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if ast.unparse(call.func).endswith("assertAlmostEqual") and len(call.args) > 2:
        given["places"] = ast.unparse(call.args[2])
    with suppress(ValueError):
        if places := given.get("decimal") or given.get("places"):
            return int(places)
        given["atol"] = given.get("atol") or given.get("delta") or given.get("abs_tol") or "0"
        return math.floor(-math.log10(float(given.get("atol", "0"))))
    return None


def double_quoted(source: str) -> str:
    """Return source code with double quotes around its plain strings, as code formatters write them."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    single = [t for t in tokens if t.type == tokenize.STRING and t.string[0] == "'" and '"' not in t.string]
    lines = source.split("\n")
    for token in (t for t in single if t.start[0] == t.end[0] and "\\" not in t.string):
        row, (first, last) = token.start[0] - 1, (token.start[1], token.end[1])
        lines[row] = f'{lines[row][:first]}"{token.string[1:-1]}"{lines[row][last:]}'
    return "\n".join(lines)


def _as_array(node: ast.expr) -> ast.expr:
    """Return `np.array(…)` of a list that is written out, and other expressions as they are."""
    if not isinstance(node, ast.List):
        return node
    return ast.Call(ast.parse("np.array", mode="eval").body, [node], [])


class _Replaced(ast.NodeTransformer):
    """Puts `student.f` in place of each name of the function `f`."""

    def __init__(self, is_own: Callable[[ast.expr], bool], function: str) -> None:
        self.is_own, self.source = is_own, f"student.{function}"

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(self.source, mode="eval").body if self.is_own(node) else node
