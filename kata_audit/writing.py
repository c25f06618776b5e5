"""Write tests in the homework's own style for mutants that no test catches, and try each of them.

The same mutants become drafts of a kata's mistakes: a function for each.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal

from kata_audit.audit import Auditor
from kata_audit.homework import Homework
from kata_audit.report import MutantFate, Witness, given_of, set_line, target_of

HEAD = '"""What goes wrong: drafts of mistakes, which no test of the homework catches."""'
DOCSTRING = (
    "TODO: say what goes wrong, and ask what would be right. Line {line}: {now}, where {was} is right."
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
    return f"`{'; '.join(line.strip() for line in text.splitlines())}`" if text else "nothing"


Style = Literal["pytest", "unittest", "cells", "otter", "script"]
NUMBER = r"-?\d+\.\d+(?:e-?\d+)?"
BRIEF = 24  # characters of an argument that stands in the call
TOLERANCES = ("1e-4", "1e-6", "1e-9")
SEEDS = (0, 1, 2)  # of random numbers with which a written test is tried
HEADS = {"np.": "import numpy as np", "pytest.": "import pytest", "torch.": "import torch"}
OTTER = """\
OK_FORMAT = True

test = {{
    "name": "audit",
    "points": 1,
    "suites": [{{"setup": "", "teardown": "", "type": "doctest", "cases": [
{cases}    ]}}],
}}
"""
CASE = '''\
        {{"hidden": True, "locked": False, "code": r"""
{code}
            """}},
'''


@dataclass(frozen=True)
class Test:
    """A written test: its name, its lines, and the imports that they need."""

    name: str
    lines: tuple[str, ...]
    imports: tuple[str, ...]


def write_tests(auditor: Auditor, most: int) -> str:
    """Write a test for each survivor, up to `most`, that those before it do not catch; return the file.

    A test counts if it fails on the mutant and passes on the solution, from each of some states of random
    numbers. `auditor.found` then holds its code.
    """
    writer = Writer(auditor.homework)
    tests: list[Test] = []
    survivors = auditor.audit().survivors[:most]

    def ends(tests: list[Test], files: dict[str, str], status: str) -> bool:
        """Return whether the tests alone always end like this."""
        files = files | {writer.place: writer.file(tests)}
        jobs = (auditor.tests(files, seed=seed, **writer.command) for seed in SEEDS)
        return all(auditor.pool.run(job).status == status for job in jobs)

    for n, one in enumerate(survivors, 1):
        auditor.say(f"writing a test for {n} of {len(survivors)} missed")
        source = {one.file: one.source}
        at = next(i for i, found in enumerate(auditor.found) if found is one)
        if tests and ends(tests, source, "failed"):
            auditor.found[at] = replace(one, is_covered=True)
            continue
        for test in writer.tests_for(one, {test.name for test in tests}):
            if ends([test], source, "failed") and ends([test], {}, "passed"):
                tests.append(test)
                auditor.found[at] = replace(one, test_code=writer.one(test))
                break
    return writer.file(tests) if tests else ""


class Writer:
    """Knows a homework's style: how its tests are run, what they import, and where they stand."""

    def __init__(self, homework: Homework) -> None:
        self.homework = homework
        texts = homework.text_of_tests()
        self.texts = {name: text for name, text in texts.items() if not name.endswith("conftest.py")}
        self.style = self._style()
        files = [name for name in self.texts if "def test" in self.texts[name]]
        folder = PurePosixPath(files[0]).parent if files else PurePosixPath(homework.at or ".")
        self.place = (folder / "test_audit_written.py").as_posix()
        if homework.cells is not None:
            self.place = (PurePosixPath(homework.at or ".") / "audit_written.py").as_posix()

    def _style(self) -> Style:
        cells = self.homework.cells
        if cells is not None:
            return "otter" if cells.otter and not cells.checks else "cells"
        texts = "\n".join(self.texts.values())
        if re.search(r"^class \w+\(.*TestCase\)", texts, re.M):
            return "unittest"
        has_tests = re.search(r"^\s*def test", texts, re.M)
        return "pytest" if has_tests and "pytest" in self.homework.command.text else "script"

    @property
    def command(self) -> dict[str, Any]:
        """What runs the file of written tests alone."""
        cells = self.homework.cells
        if cells is None:
            kind = (
                ("module", "pytest", ["-q", self.place])
                if self.style == "pytest"
                else ("script", self.place, [])
            )
            return {"command": dict(zip(("how", "module", "arguments"), kind, strict=True))}
        name = self.place.removeprefix(f"{self.homework.at}/")
        order = [
            file for file in cells.texts if file not in cells.checks and file not in cells.otter.values()
        ]
        parts: dict[str, Any] = {"order": [*order, name], "checks": {name: None}, "otter": {}}
        if self.style == "otter":
            parts = {"order": order, "checks": {}, "otter": {"audit": name}}
        cell_job = {"how": "cells", "at": self.homework.at, "cells": {"label": cells.label, **parts}}
        return {"command": cell_job}

    def tests_for(self, one: MutantFate, taken: set[str]) -> Iterator[Test]:
        """Yield tests for a mutant, with tolerances that become stricter."""
        if one.witness is None or not one.witness.steps:
            return
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
        steps, at = list(witness.steps), int(witness.details["at"])
        codes = [code for step in steps for _, code, _ in step["given"]]
        if not all(codes + [code for step in steps for _, code in step["sets"]]):
            return [], []
        imports, aliases = self._imports(steps)
        lines: list[str] = []
        for n, step in enumerate(steps):
            lines += [set_line("made", name, code) for name, code in step["sets"]]
            names = self._variables(step, lines)
            target = target_of(step, bool(steps[0]["makes"]), "made")
            first, dot, rest = target.partition(".")
            target = f"{aliases.get(first, first)}{dot}{rest}"
            call = f"{target}({given_of(step['given'], names)})"
            if n == at and witness.kind != "later":
                lines += self._claim(witness, step, target, names, tolerance)
            else:
                lines.append(f"made = {call}" if step["makes"] else f"result = {call}" if n == at else call)
        if witness.kind == "later":
            lines += self._equal("result", witness, tolerance)
        libraries = [
            line for name, line in HEADS.items() if re.search(rf"\b{re.escape(name)}", "\n".join(lines))
        ]
        return lines, [*libraries, *imports]

    def _variables(self, step: dict[str, Any], lines: list[str]) -> dict[str, str]:
        """Write long arguments as variables, and return their names."""
        names = {}
        for name, code, _ in step["given"]:
            if len(code) > BRIEF:
                taken = {line.partition(" = ")[0] for line in lines if f" = {code}" not in line}
                wanted = name.lstrip("*")
                numbered = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(taken) + 2))
                names[name] = next(each for each in numbered if each not in taken)
                line = f"{names[name]} = {code}"
                if line not in lines:
                    lines.append(line)
        return names

    def _claim(
        self, witness: Witness, step: dict[str, Any], target: str, names: dict[str, str], tolerance: str
    ) -> list[str]:
        """Return what a test claims about the last call."""
        raised, argument = witness.details["raised"], str(witness.details["argument"])
        call = f"{target}({given_of(step['given'], names)})"
        if witness.kind == "argument":
            code = next((code for name, code, _ in step["given"] if name == argument), "")
            module = "torch" if "torch." in code else "np"
            check = {"torch": "torch.testing.assert_close", "np": "np.testing.assert_array_equal"}[module]
            named = f"{target}({given_of(step['given'], names | {argument: f'given_{argument}'})})"
            return [f"given_{argument} = {code}", named, f"{check}(given_{argument}, {code})"]
        if raised:
            manager = {
                "pytest": f"with pytest.raises({raised}):",
                "unittest": f"with self.assertRaises({raised}):",
            }
            if self.style in manager:
                return [manager[self.style], f"    {call}"]
            wrong = f'    raise AssertionError("{raised} is due")'
            return ["try:", f"    {call}", f"except {raised}:", "    pass", "else:", wrong]
        return self._equal(call, witness, tolerance)

    def _equal(self, call: str, witness: Witness, tolerance: str) -> list[str]:
        """Return the assertion that a call gives the right result."""
        code = re.sub(rf"^np\.float64\(({NUMBER})\)$", r"\1", str(witness.details["result"]))
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
            is_float = re.fullmatch(r"[\[\]\d.,e+ -]+", code) and "." in code
            return [close.format(call, code)] if is_float else [f"assert list({call}) == {code}"]
        if re.fullmatch(NUMBER, code):
            return [f"assert abs({call} - {code}) <= {tolerance}"]
        return [f"assert {call} == {code}"]

    def _imports(self, steps: list[dict[str, Any]]) -> tuple[list[str], dict[str, str]]:
        """Return the imports of what steps call, as the homework's tests write them, and the names."""
        if self.homework.cells is not None:
            return [], {}
        imports, aliases = [], {}
        for step in steps:
            name = str(step.get("name", "")).partition(".")[0]
            if name not in aliases:
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
        standard = sorted(line for line in imports if line in HEADS.values())
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
            cases.append(CASE.format(code=textwrap.indent(_silent(lines), " " * 12)))
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
