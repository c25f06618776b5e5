"""Write tests in the homework's own style for mutants that no test catches, and try each of them.

Draft the mistakes of an imported kata: a function for each wrong version that no test catches.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from grader.course.files import text_of
from grader.extra.authoring.audit.homework import Homework
from grader.extra.authoring.audit.pool import Job
from grader.extra.authoring.audit.record import MutantFate, Witness, given_of, set_line, target_of

if TYPE_CHECKING:
    from grader.extra.authoring.audit.run import Auditor

HEAD = '"""What goes wrong: drafts of mistakes, which no test of the homework catches."""'
DOCSTRING = (
    "TODO: say what goes wrong, and ask what would be right. Line {line}: `{now}`, where `{was}` is right."
)


def draft_mistakes(survivors: Iterable[MutantFate], sources: Mapping[str, str]) -> str:
    """Return a `mistakes.py` with the survivors that are in functions of a module, "" if there are none.

    Each is a public function with the signature of the right one; what it calls is there by a private name.
    """
    parts: dict[str, None] = {}
    mistakes, taken = [], set()
    for one in survivors:
        tree = ast.parse(one.source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        wrong = next((node for node in functions if node.name == one.where), None)
        if not isinstance(wrong, ast.FunctionDef):
            continue
        private = _Private({node.name for node in functions})
        right = ast.parse(sources[one.file])
        support = [node for node in right.body if not _is_docstring(node)]
        parts |= dict.fromkeys(ast.unparse(private.visit(node)) for node in support)
        base = f"{one.where}_line_{one.line}"
        name = next(n for i in range(1, 99) if (n := base if i == 1 else f"{base}_{i}") not in taken)
        taken.add(name)
        wrong = private.visit(wrong)
        wrong.name = name
        said = DOCSTRING.format(line=one.line, was=_in_one_line(one.was), now=_in_one_line(one.now))
        body = wrong.body[1:] if _is_docstring(wrong.body[0]) else wrong.body
        wrong.body = [ast.Expr(ast.Constant(said)), *body]
        mistakes.append(ast.unparse(ast.fix_missing_locations(wrong)))
    return "\n\n\n".join([HEAD, *parts, *mistakes]) + "\n" if mistakes else ""


class _Private(ast.NodeTransformer):
    """Puts an underscore before the names of some functions and classes."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"_{node.id}", node.ctx) if node.id in self.names else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = f"_{node.name}" if node.name in self.names else node.name
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = f"_{node.name}" if node.name in self.names else node.name
        return node


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _in_one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines())


Style = Literal["pytest", "unittest", "cells", "otter", "script"]
NUMBER = r"-?\d+\.\d+(?:e-?\d+)?"
BRIEF = 24  # characters of an argument that stands in the call
TOLERANCES = ("1e-4", "1e-6", "1e-9")
OTTER = """\
OK_FORMAT = True

test = {{
    "name": "audit",
    "points": 1,
    "suites": [
        {{
            "cases": [
{cases}            ],
            "setup": "",
            "teardown": "",
            "type": "doctest",
        }}
    ],
}}
"""
CASE = '''\
                {{
                    "code": r"""
{code}
                    """,
                    "hidden": True,
                    "locked": False,
                }},
'''


@dataclass(frozen=True)
class Test:
    """A written test: its name, its lines, and the imports that they need."""

    name: str
    lines: tuple[str, ...]
    imports: tuple[str, ...]


def write_tests(auditor: Auditor, most: int) -> str:
    """Write a test for each survivor, up to `most`, that those before it do not catch; return the file.

    A test counts if it fails on the mutant and passes on the solution. `auditor.found` then holds its code.
    """
    writer = Writer(auditor.homework)
    tests: list[Test] = []
    survivors = auditor.audit().survivors[:most]
    for n, one in enumerate(survivors, 1):
        auditor.say(f"writing a test for {n} of {len(survivors)} missed")
        source = {one.file: one.source}
        at = next(i for i, found in enumerate(auditor.found) if found is one)
        if tests and _ended(auditor, writer, tests, source) == "failed":
            auditor.found[at] = replace(one, is_covered=True)
            continue
        for test in writer.tests_for(one, {test.name for test in tests}):
            if _ended(auditor, writer, [test], source) == "failed" and (
                _ended(auditor, writer, [test], {}) == "passed"
            ):
                tests.append(test)
                auditor.found[at] = replace(one, test_code=writer.one(test))
                break
    return writer.file(tests) if tests else ""


def _ended(auditor: Auditor, writer: Writer, tests: list[Test], files: dict[str, str]) -> str:
    """Run the tests alone, and return how that ends."""
    file = {writer.place: writer.file(tests)}
    return auditor.pool.run(Job(files=files | file, more=writer.command, **auditor.trace.limits)).status


class Writer:
    """Knows a homework's style: how its tests are run, what they import, and where they stand."""

    def __init__(self, homework: Homework) -> None:
        self.homework = homework
        command = homework.command
        self.files = [name for name in homework.tests if not name.endswith("conftest.py")]
        words = [word for word in command.text.split() if word.endswith(".py")]
        self.files += [name for word in words for name in [_below(word, homework)] if name]
        self.texts = {name: text_of(homework.folder / _inner(name, homework)) for name in self.files}
        self.style = self._style()
        folder = PurePosixPath(self.files[0]).parent if self.files else PurePosixPath(homework.at or ".")
        self.place = (folder / "test_audit_written.py").as_posix()
        if self.style == "cells":
            self.place = (PurePosixPath(homework.at or ".") / "audit_written.py").as_posix()

    def _style(self) -> Style:
        cells = self.homework.cells
        if cells is not None:
            return "otter" if cells.otter and not cells.checks else "cells"
        texts = "\n".join(self.texts.values())
        if re.search(r"^class \w+\(.*TestCase\)", texts, re.M):
            return "unittest"
        has_tests = re.search(r"^\s*def test", texts, re.M)
        return "pytest" if has_tests and self.homework.command.text.find("pytest") >= 0 else "script"

    @property
    def command(self) -> dict[str, Any]:
        """What runs the file of written tests alone."""
        if self.style in ("cells", "otter"):
            cells = self.homework.cells
            assert cells is not None
            name = self.place.removeprefix(f"{self.homework.at}/")
            plain = [file for file in cells.order if file not in cells.checks]
            extra = {"order": [*plain, name], "checks": [name], "otter": []}
            if self.style == "otter":
                extra = {"order": plain, "checks": [], "otter": [name]}
            parts = {"how": "cells", "at": self.homework.at, "cells": {"label": cells.label, **extra}}
            return {"command": parts}
        how = {"pytest": ("module", "pytest", ["-q", self.place]), "script": ("script", self.place, [])}
        how["unittest"] = how["script"]
        kind, module, arguments = how[self.style]
        return {"command": {"how": kind, "module": module, "arguments": arguments}}

    def tests_for(self, one: MutantFate, taken: set[str]) -> Iterator[Test]:
        """Yield tests for a mutant, with tolerances that become stricter."""
        if one.witness is None or not one.witness.steps or one.witness.details.get("is_random"):
            return  # right answers may begin with other random numbers
        base = "test_" + re.sub(r"\W+", "_", one.where).strip("_").lower()
        numbers = (base if n == 1 else f"{base}_{n}" for n in range(1, len(taken) + 2))
        name = next(each for each in numbers if each not in taken)
        seen = set()
        for tolerance in TOLERANCES:
            lines, imports = self._body(one.witness, tolerance)
            if lines and tuple(lines) not in seen:
                seen.add(tuple(lines))
                yield Test(name, tuple(lines), tuple(imports))

    def _body(self, witness: Witness, tolerance: str) -> tuple[list[str], list[str]]:
        """Return the statements of a test and its imports; none if a value has no code."""
        steps, at = list(witness.steps), int(witness.details.get("at") or 0)
        imports, aliases = self._imports(steps)
        codes = [code for step in steps for _, code, _ in step.get("given", [])]
        codes += [code for step in steps for _, code in step.get("sets", [])]
        if not all(codes) or any(not step.get("scribble") and not step.get("name") for step in steps):
            return [], []
        lines: list[str] = []
        for n, step in enumerate(steps):
            if step.get("scribble"):
                lines.append("result[...] = 7  # what the caller does with a result")
                continue
            lines += [set_line("made", name, code) for name, code in step.get("sets", [])]
            names = self._variables(step, lines)
            call = self._call(step, aliases, names)
            if str(step["name"]).endswith(".__init__"):
                lines.append(f"made = {call}")
            elif n != at or witness.kind == "later":
                keeps = n == at or any(other.get("scribble") for other in steps[n + 1 : n + 2])
                lines.append(f"result = {call}" if keeps else call)
            if n == at and witness.kind != "later":
                lines += self._claim(witness, step, call, aliases, names, tolerance)
        if witness.kind == "later":
            lines += self._equal("result", witness, tolerance)
        return lines, [*self._libraries(lines), *imports]

    def _variables(self, step: dict[str, Any], lines: list[str]) -> dict[str, str]:
        """Write long arguments as variables, and return their names."""
        names = {}
        for name, code, _ in step["given"]:
            if len(code) > BRIEF:
                wanted = name.lstrip("*")
                taken = {line.partition(" = ")[0] for line in lines}
                numbered = (wanted if n == 1 else f"{wanted}_{n}" for n in itertools.count(1))
                variable = next(each for each in numbered if each not in taken)
                if f"{wanted} = {code}" in lines:
                    variable = wanted
                else:
                    lines.append(f"{variable} = {code}")
                names[name] = variable
        return names

    def _call(
        self, step: dict[str, Any], aliases: dict[str, str], names: dict[str, str] | None = None
    ) -> str:
        target = target_of(step)
        if target.startswith("object."):
            target = "made." + target.removeprefix("object.")
            target = target.removesuffix(".forward") if target == "made.forward" else target
        first, dot, rest = target.partition(".")
        return f"{aliases.get(first, first)}{dot}{rest}({given_of(step['given'], names or {})})"

    def _claim(
        self,
        witness: Witness,
        step: dict[str, Any],
        call: str,
        aliases: dict[str, str],
        names: dict[str, str],
        tolerance: str,
    ) -> list[str]:
        """Return what a test claims about the last call."""
        raised, argument = witness.details.get("raised"), str(witness.details.get("argument"))
        if witness.kind == "argument":
            code = next((code for name, code, _ in step["given"] if name == argument), "")
            check = "np.testing.assert_array_equal" if "torch." not in code else "torch.testing.assert_close"
            named = self._call(step, aliases, names | {argument: f"given_{argument}"})
            return [f"given_{argument} = {code}", named, f"{check}(given_{argument}, {code})"]
        if raised:
            if self.style == "pytest":
                return [f"with pytest.raises({raised}):", f"    {call}"]
            if self.style == "unittest":
                return [f"with self.assertRaises({raised}):", f"    {call}"]
            wrong = f'    raise AssertionError("{raised} is due")'
            return ["try:", f"    {call}", f"except {raised}:", "    pass", "else:", wrong]
        if witness.kind == "dtype":
            library = "torch" if witness.details.get("library") else "np"
            return [f"assert {call}.dtype == {library}.{witness.expected}"]
        return self._equal(call, witness, tolerance)

    def _equal(self, call: str, witness: Witness, tolerance: str) -> list[str]:
        """Return the assertion that a call gives the right result."""
        code = re.sub(rf"^np\.float64\(({NUMBER})\)$", r"\1", str(witness.details.get("result") or ""))
        close = f"np.testing.assert_allclose({{}}, {{}}, rtol={tolerance}, atol={tolerance})"
        if "torch." in code:
            close = f"torch.testing.assert_close({{}}, {{}}, rtol={tolerance}, atol={tolerance})"
        if not code:
            return []
        if code.startswith(("np.", "torch.")) and len(call) + len(code) > 2 * BRIEF:
            return [f"expected = {code}", close.format(call, "expected")]
        if code.startswith(("np.", "torch.")):
            return [close.format(call, code)]
        if code.startswith("[") and ("np." in code or "torch." in code):
            loop = f"for actual, expected in zip({call}, {code}, strict=True):"
            return [loop, f"    {close.format('actual', 'expected')}"]
        if code.startswith("["):
            return [close.format(call, code)] if "." in code else [f"assert list({call}) == {code}"]
        if re.fullmatch(NUMBER, code):
            return [f"assert abs({call} - {code}) <= {tolerance}"]
        return [f"assert {call} == {code}"]

    def _libraries(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        wanted = {"np.": "import numpy as np", "pytest.": "import pytest", "torch.": "import torch"}
        return [line for name, line in wanted.items() if re.search(rf"\b{re.escape(name)}", text)]

    def _imports(self, steps: list[dict[str, Any]]) -> tuple[list[str], dict[str, str]]:
        """Return the imports of what steps call, as the homework's tests write them, and the names."""
        if self.homework.cells is not None:
            return [], {}
        imports, aliases = [], {}
        for step in steps:
            name = str(step.get("name", "")).partition(".")[0]
            if name and name not in aliases and not step.get("scribble"):
                line, aliases[name] = self._import_of(name, step)
                imports.append(line)
        return list(dict.fromkeys(imports)), aliases

    def _import_of(self, name: str, step: dict[str, Any]) -> tuple[str, str]:
        stem = PurePosixPath(step["file"]).stem
        for text in self.texts.values():
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.ImportFrom):
                        for alias in node.names:
                            if alias.name == name:
                                only = ast.ImportFrom(node.module, [alias], node.level)
                                return ast.unparse(only), alias.asname or name
                    elif isinstance(node, ast.Import):
                        for alias in node.names:
                            if alias.name.rpartition(".")[2] == stem:
                                return ast.unparse(
                                    ast.Import([alias])
                                ), f"{alias.asname or alias.name}.{name}"
        return f"from {step.get('module') or stem} import {name}", name

    def one(self, test: Test) -> str:
        """Return one test as it stands in the file."""
        body = [f"    {line}" for line in test.lines]
        if self.style == "pytest":
            return "\n".join([f"def {test.name}():", *body])
        if self.style == "unittest":
            return "\n".join([f"    def {test.name}(self):", *(f"    {line}" for line in body)])
        return "\n".join(test.lines)

    def file(self, tests: list[Test]) -> str:
        """Return the whole file."""
        imports = _merged(line for test in tests for line in test.imports)
        standard = sorted(
            line for line in imports if line in ("import numpy as np", "import torch", "import pytest")
        )
        own = sorted(line for line in imports if line not in standard)
        codes = [self.one(test) for test in tests]
        if self.style == "otter":
            return self._otter(tests, standard)
        if self.style == "pytest":
            parts = ["\n".join([*standard, *own]), *codes]
            return "\n\n\n".join(part for part in parts if part) + "\n"
        if self.style == "unittest":
            head = "\n".join(["import unittest", *standard, *own])
            tail = 'if __name__ == "__main__":\n    unittest.main()'
            cases = "class TestAudit(unittest.TestCase):\n" + "\n\n".join(codes)
            return f"{head}\n\n\n{cases}\n\n\n{tail}\n"
        return "\n\n".join(["\n".join([*standard, *own]), *codes]).lstrip() + "\n"

    def _otter(self, tests: list[Test], imports: list[str]) -> str:
        """Return the tests as a test file of otter: a doctest that prints nothing for each."""
        cases = []
        for test in tests:
            lines = [f">>> {line}" for line in imports]
            for line in test.lines:
                lines.append(f"... {line}" if line.startswith((" ", "else", "except")) else f">>> {line}")
            cases.append(CASE.format(code=textwrap.indent(_silent(lines), " " * 20)))
        return OTTER.format(cases="".join(cases))


def _merged(lines: Iterable[str]) -> list[str]:
    """Return imports, those from one module in one line."""
    names: dict[str, list[str]] = {}
    for line in lines:
        head, _, name = line.partition(" import ")
        names.setdefault(head if name else line, []).append(name)
    return [f"{head} import {', '.join(sorted(set(own)))}" if own[0] else head for head, own in names.items()]


def _silent(lines: list[str]) -> str:
    """Return a doctest whose calls print nothing."""
    return "\n".join(
        re.sub(r"^>>> (?=made\.\w+\(|\w+\()(?!np\.|torch\.|assert)", ">>> _ = ", line) for line in lines
    )


def _inner(name: str, homework: Homework) -> str:
    return name.removeprefix(f"{homework.at}/") if homework.at else name


def _below(word: str, homework: Homework) -> str:
    """Return a file of the command as one of the homework; empty if it is none."""
    inner = _inner(word, homework)
    return word if (homework.folder / inner).is_file() else ""
