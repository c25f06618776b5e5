"""Write the drafts of an imported kata, and say what could not be taken over.

Rewrite the assertions of a test as expectations of a law.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import io
import math
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from grader import expect
from grader.course.catalog import Course, CourseError, shorten
from grader.course.files import message_of
from grader.course.submission import is_notebook
from grader.extra.authoring.importing.recording import (
    Case,
    Exercise,
    ImportedTest,
    Recording,
    bound,
    is_import,
    joined,
    names_in,
    needed,
    read_notebook,
    read_pytest,
    split_support,
)
from grader.extra.authoring.scaffold import signatures, writer
from grader.extra.authoring.scaffold.signatures import (
    SNIPPETS,
    Draft,
    Kind,
    Library,
    Parameter,
    read_signatures,
)
from grader.extra.authoring.verify.time_limit import TookTooLong, limited_time
from grader.grading.session import open_grader
from grader.grading.snippet import code_of
from grader.kata import KataError
from grader.values.formatting import counted
from grader.worker.in_process import LocalStudent

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


MOST_EXAMPLES, MOST_LAWS = 12, 10
LONGEST = 300  # characters of a call that is written out, where there are shorter ones
AXES = ("rows", "columns", "depth", "width")
DECIMALS = (None, 8, 7, 6, 5, 4, 3, 2)  # None: the tolerance of the grader

EXAMPLE = '''
@KATA.example
def from_the_tests_{number}():
    """Return a call that the tests make."""
    return {code}
'''
RECORDED = '''
RECORDED = [
{calls}]


@KATA.cases
def cases(draw):
    """TODO: draw further arguments; these are the calls that the tests make."""
    return draw(st.sampled_from(RECORDED))
'''
STUB = '''\
"""{title}.
{statement}
Source: {source}.
"""

{imports}


{function}
'''


@dataclasses.dataclass(frozen=True)
class Imported:
    """What was written, how many calls and laws were taken over, and what was not, each in one line. With a
    `problem`, what was written cannot be used as it is."""

    function: str
    written: list[str]
    calls: int
    laws: int
    notes: list[str]
    problem: str = ""


def import_kata(
    root: Path,
    track: str,
    name: str,
    file: Path,
    reference: Path | None = None,
    function: str | None = None,
    title: str | None = None,
    source: str | None = None,
) -> Imported:
    """Draft a kata from an exercise. If no test calls its function with values to take over, nothing is
    written. Raises CourseError, before anything is written, if the exercise cannot be read."""
    with _blaming(file):
        exercise = (
            read_notebook(file, function) if is_notebook(file) else read_pytest(file, reference, function)
        )
        recording = Recording()
        notes = exercise.run(recording.wrap)
        if not recording.cases:
            none = f"Nothing came over: no test calls `{exercise.function}` with values to take over."
            return Imported(exercise.function, [], 0, 0, notes, none)
        draft = _draft(track, name, exercise, recording, title, source or f"Taken from {file.name}")
        laws, support, imports, more = _laws(exercise)
        drawn = signatures.declaration(draft, support + _examples(recording) + laws, imports=imports)
        fixed = signatures.declaration(draft, support + laws, _recorded(recording), imports)
        files = {
            f"solutions/{track}/{name}/reference.py": f'"""{draft.source}."""\n\n{exercise.reference}',
            f"exercises/{track}/{name}.py": _stub(draft, exercise),
        }
    declared = f"{writer.FOLDER}/{track}/test_{name}.py"
    written = writer.write_kata(root, draft, files | {declared: drawn})
    fitted, problem = _fit_cases(root, name, root / declared, fixed)
    notes += [*more, *fitted]
    notes += [f"`{p}` is {value} in all drawn cases; draw it too" for p, value in _fixed_arguments(draft)]
    number = laws.count("@KATA.law")
    if not number:
        problem = problem or "No test came over: the kata compares with the reference alone."
    return Imported(exercise.function, written, len(recording.cases), number, notes, problem)


@contextmanager
def _blaming(file: Path) -> Iterator[None]:
    """Report what the exercise's code raises, or what the import does not expect in it, in one sentence."""
    try:
        yield
    except (CourseError, KataError):
        raise
    except (Exception, SystemExit) as error:
        raise CourseError(f"{shorten(file)} cannot be imported: {message_of(error)}.") from error


def _fit_cases(root: Path, name: str, declaration: Path, fixed: str) -> tuple[list[str], str]:
    """Draw even sizes if the reference refuses the drawn cases, and write `fixed` if it refuses those too.
    Return a note of that, and why the kata cannot be judged even so."""
    wrong = _cannot_be_judged(root, name)
    if not wrong:
        return [], ""
    even = declaration.read_text("utf-8").replace(" = draw(st.integers(", " = 2 * draw(st.integers(")
    declaration.write_text(even, "utf-8")
    still_wrong = _cannot_be_judged(root, name)
    if not still_wrong:
        return [f"sizes are drawn even, since others do not fit ({wrong})"], ""
    declaration.write_text(fixed, "utf-8")
    note = f"drawn arguments do not fit ({still_wrong}): the cases are the calls of the tests alone"
    wrong = _cannot_be_judged(root, name)
    return [note], f"The kata cannot be judged: {wrong}" * bool(wrong)


def _draft(
    track: str, name: str, exercise: Exercise, recording: Recording, title: str | None, source: str
) -> Draft:
    """Return the draft of the kata, whose arguments are as the recorded ones."""
    tensors = any(type(v).__module__ == "torch" for case in recording.cases for v in case.values())
    library: Library = "torch" if tensors else "numpy"
    _, node = _parsed(exercise)
    for argument in (*node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    result = recording.results[0]
    returns = SNIPPETS[library].array if hasattr(result, "shape") else type(result).__name__
    entry = read_signatures((f"{node.name}({ast.unparse(node.args)}) -> {returns}",))[0]
    axes = _axes(recording.cases)
    parameters = tuple(_as_recorded(p, recording.cases, axes) for p in entry.callee.parameters)
    entry.callee = dataclasses.replace(entry.callee, parameters=parameters)
    words = title or exercise.title or name.replace("_", " ").capitalize()
    return Draft(track, name, words, source, library, (entry,), is_draft=True)


def _parsed(exercise: Exercise) -> tuple[ast.Module, ast.FunctionDef]:
    """Return the syntax of the reference, and that of its function."""
    tree = ast.parse(exercise.reference)
    return tree, next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == exercise.function)


def _as_recorded(parameter: Parameter, recorded: list[Case], axes: dict[str, tuple[str, ...]]) -> Parameter:
    """Return a parameter with the kind and the axes of its recorded values."""
    kinds = {_kind(case[parameter.name]) for case in recorded}
    kind: Kind = kinds.pop() if len(kinds) == 1 else "other"
    if kind == "int" and parameter.name in ("axis", "dim") and parameter.default is None:
        value = repr(recorded[0][parameter.name])  # others need not fit the arrays
        return dataclasses.replace(parameter, kind="other", default=value)
    return dataclasses.replace(parameter, kind=kind, axes=axes.get(parameter.name, ()))


def _kind(value: Any) -> Kind:
    """Return what kind of argument a value is."""
    if hasattr(value, "shape") and value.ndim:
        letter = np.dtype(str(value.dtype).removeprefix("torch.")).kind
        return {"f": "array", "i": "integers", "u": "integers", "b": "mask"}.get(letter, "other")  # type: ignore[return-value]
    name = type(value).__name__
    return cast(Kind, name) if name in ("int", "float", "bool", "str") else "other"


def _axes(recorded: list[Case]) -> dict[str, tuple[str, ...]]:
    """Return names for the axes of the arrays; axes that are equally long in every call share a name."""
    names: dict[tuple[int, ...], str] = {}
    found = {}
    for name in recorded[0]:
        shapes = [tuple(case[name].shape) for case in recorded if hasattr(case[name], "shape")]
        if len(shapes) == len(recorded) and len({len(shape) for shape in shapes}) == 1:
            lengths = zip(*shapes, strict=True)
            found[name] = tuple(names.setdefault(axis, _axis_name(len(names))) for axis in lengths)
    return found


def _axis_name(number: int) -> str:
    return AXES[number] if number < len(AXES) else f"size_{number}"


def _fixed_arguments(draft: Draft) -> list[tuple[str, str]]:
    """Return the arguments of which the tests pass several kinds, with the value that the cases give them."""
    return [(p.name, p.default or "None") for p in draft.parameters.values() if p.kind == "other"]


def _laws(exercise: Exercise) -> tuple[str, str, str, list[str]]:
    """Return the laws that the reference keeps, the code and the imports that they use, and why other tests
    were left out."""
    taken: list[Callable[[str], str]] = []
    support: dict[int, ast.stmt] = {}
    notes, others = [], []
    for test in exercise.tests:
        if not _is_about(test, exercise):
            others.append(test.name)
            continue
        try:
            law, uses = _law(exercise, test)
            if len(taken) == MOST_LAWS:
                raise NotRewritten(f"there are {MOST_LAWS} laws before it, and points for no more")
        except NotRewritten as why:
            notes.append(f"{test.name} is not taken over: {why}")
        else:
            taken.append(law)
            support |= {statement.lineno: statement for statement in uses}
    points = "1" if len(taken) <= MOST_LAWS // 2 else "0.5"
    laws = "\n".join(law(points) for law in taken)
    notes += [f"not about `{exercise.function}`: {', '.join(others)}"] if others else []
    code, imports = _apart([support[line] for line in sorted(support)], exercise.support, laws)
    return f"\n{laws}" * bool(laws), f"\n\n{code}" * bool(code), imports, notes


def _is_about(test: ImportedTest, exercise: Exercise) -> bool:
    """True if a test names the function, or uses what does."""
    inside, _ = split_support(test, exercise.support, exercise.function)
    return exercise.function in test.uses | names_in(*inside)


def _apart(statements: list[ast.stmt], source: str, laws: str) -> tuple[str, str]:
    """Return the source of statements that laws use, and that of the imports among them, but for NumPy's,
    which a declaration has itself. An import that only the tests needed is left out."""
    code = joined([s for s in statements if not is_import(s)], source)
    used = _names(code) | _names(laws)
    lines = [ast.unparse(s) for s in statements if is_import(s) and bound(s) & used]
    return code, "".join(f"{line}\n" for line in dict.fromkeys(lines) if line != "import numpy as np")


def _names(source: str) -> set[str]:
    return names_in(ast.parse(source))


def _law(exercise: Exercise, test: ImportedTest) -> tuple[Callable[[str], str], list[ast.stmt]]:
    """Return what writes the law for its points, and the statements of the module that it uses. Raises
    NotRewritten if the reference does not keep it."""
    student = LocalStudent.from_source("reference", exercise.reference)
    inside, support = split_support(test, exercise.support, exercise.function)
    for places in DECIMALS:
        rewriter = Rewriter(exercise.function, places)
        law = rewriter.law(test, "1", inside).partition("\n")[2].partition("\n")[2]  # without the decorator
        scope: dict[str, Any] = {"expect": expect, "np": np}
        try:
            exec(f"{joined(support, exercise.support)}\n{law}", scope)
            scope[test.name](student)
        except expect.ExpectationFailed:
            continue
        except NameError as error:
            raise NotRewritten(f"it needs `{error.name}`, which the tests do not define") from None
        except (Exception, SystemExit) as error:
            raise NotRewritten(f"as a law it raises {message_of(error)}") from None
        return functools.partial(rewriter.law, test, inside=inside), support
    raise NotRewritten("the reference itself does not keep it as the grader compares")


def _examples(recording: Recording) -> str:
    """Return the shortest calls as pinned cases."""
    codes = sorted((double_quoted(code_of(case)) for case in recording.cases), key=len)
    shown = [code for code in codes if len(code) <= LONGEST][:MOST_EXAMPLES] or codes[:1]
    texts = [EXAMPLE.format(number=n, code=code) for n, code in enumerate(shown, 1)]
    return "\n" + "\n".join(texts)


def _recorded(recording: Recording) -> str:
    """Return all calls as the only cases."""
    return RECORDED.format(
        calls="".join(f"    {double_quoted(code_of(case))},\n" for case in recording.cases)
    )


def _stub(draft: Draft, exercise: Exercise) -> str:
    """Return the stub: the statement, and the function with its docstring and without its body."""
    tree, node = _parsed(exercise)
    text = ast.get_docstring(node) or "TODO: say in one line what it does."
    first = node.body[0].lineno - 1
    head = "\n".join(exercise.reference.splitlines()[node.lineno - 1 : first]).rstrip()
    quoted = textwrap.indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    ")
    statement = exercise.statement.replace('"""', "'''").strip()
    given = needed(exercise.given, names_in(tree), imports=False)
    imports = [n for n in tree.body if is_import(n)]
    return "r" * ("\\" in statement) + STUB.format(
        title=draft.title.rstrip("."),
        statement=f"\n{statement}\n" if statement else "\nTODO: say the idea, the formula and all shapes\n",
        source=draft.source,
        imports="\n".join(ast.unparse(n) for n in imports) or draft.imports,
        function=f"{given}\n\n" * bool(given) + f"{head}\n{quoted}\n    raise NotImplementedError",
    )


def _cannot_be_judged(root: Path, name: str) -> str:
    """Return why the reference cannot be judged on the drawn cases; empty if it passes."""
    course = Course(root)
    info = course.kata_info(name)
    grader, workers = open_grader(course, [info])
    with closing(workers):
        try:
            with limited_time(course, info):
                grader.prepare(info)
        except (KataError, TookTooLong) as error:
            return str(error).split("\n")[0]
        except Exception as error:  # by the exercise's own code, which may return anything
            return message_of(error)
    return ""


def summary(imported: Imported, file: Path, name: str, course: str) -> list[str]:
    """Return what the command prints."""
    notes = [f"note: {note}" for note in imported.notes]
    if not imported.written:
        return [*notes, imported.problem]
    calls = f"{counted(imported.calls, 'call')} of `{imported.function}`"
    return [
        *(f"wrote {path}" for path in imported.written),
        f"taken over from {shorten(file)}: {calls}, {counted(imported.laws, 'law')}",
        *notes,
        *filter(None, [imported.problem]),
        f"It is a draft: its checks are unproven until it has mistakes. See: kata verify {name}{course}",
    ]
