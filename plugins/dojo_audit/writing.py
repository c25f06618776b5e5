"""Write tests in the homework's own style for mutants that no test catches, and try each of them.

The same mutants become drafts of a kata's mistakes: a function for each.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal

from dojo_audit.audit import Auditor
from dojo_audit.homework import Homework
from dojo_audit.report import TestedMutant, Witness, WitnessCall, given_of, set_line, target_of
from grader.edits.walk import is_docstring

HEAD = '"""What goes wrong: drafts of mistakes, which no test of the homework catches."""'
DOCSTRING = (
    "TODO: say what goes wrong, and ask what would be right. Line {line}: {now}, where {was} is right."
)


def draft_mistakes(survivors: Iterable[TestedMutant], sources: Mapping[str, str]) -> str:
    """Return a `mistakes.py` with the survivors that are in functions of a module, "" if there are none.

    Each is a public function with the signature of the right one; what it calls is there by a private name.
    """
    parts: dict[str, None] = {}
    mistakes: dict[str, str] = {}
    for one in survivors:
        functions = [n for n in ast.parse(one.source).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        names = {node.name for node in functions}
        wrong = next((node for node in functions if node.name == one.where), None)
        if not isinstance(wrong, ast.FunctionDef):
            continue
        support = [node for node in ast.parse(sources[one.file]).body if not is_docstring(node)]
        parts |= dict.fromkeys(ast.unparse(_private(node, names)) for node in support)
        _private(wrong, names)
        wrong.name = _free(f"{one.where}_line_{one.line}", mistakes)
        said = DOCSTRING.format(line=one.line, was=_in_one_line(one.was), now=_in_one_line(one.now))
        wrong.body[: is_docstring(wrong.body[0])] = [ast.Expr(ast.Constant(said))]
        mistakes[wrong.name] = ast.unparse(ast.fix_missing_locations(wrong))
    return "\n\n\n".join([HEAD, *parts, *mistakes.values()]) + "\n" if mistakes else ""


def _private(node: ast.stmt, names: set[str]) -> ast.stmt:
    """Put an underscore before some names of functions and classes."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in names:
            inner.id = f"_{inner.id}"
        elif isinstance(inner, ast.FunctionDef | ast.ClassDef) and inner.name in names:
            inner.name = f"_{inner.name}"
    return node


def _free(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: with the first number that is free, from 2."""
    numbered = (f"{name}_{n}" for n in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def _in_one_line(text: str) -> str:
    return f"`{'; '.join(line.strip() for line in text.splitlines())}`" if text else "nothing"


Style = Literal["pytest", "unittest", "cells", "otter"]
NUMBER = r"-?\d+\.\d+(?:e-?\d+)?"
BRIEF = 24  # characters of an argument that stands in the call
TOLERANCES = ("1e-4", "1e-6", "1e-9")
SEEDS = (0, 1, 2)  # of random numbers with which a written test is tried
HEADS = {
    "np.": "import numpy as np",
    "pytest.": "import pytest",
    "torch.": "import torch",
    "unittest.": "import unittest",
}
MAIN = 'if __name__ == "__main__":\n    unittest.main()'
OTTER = ["from otter.test_files import test_case", "", "OK_FORMAT = False", 'name = "audit"', "points = 1"]
RAISES = {"pytest": "pytest.raises", "unittest": "self.assertRaises"}


@dataclass(frozen=True)
class Test:
    """A written test: its name, its lines, the imports that they need, and the names that they call."""

    name: str
    lines: tuple[str, ...]
    imports: tuple[str, ...]
    called: tuple[str, ...]


def write_tests(auditor: Auditor, most: int) -> str:
    """Write a test for each survivor, up to `most`, that those before it do not catch; return the file.

    A test counts if it fails on the mutant and passes on the solution, from each of some states of random
    numbers. `auditor.found` then holds its code.
    """
    writer = TestWriter(auditor.homework)
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


class TestWriter:
    """Knows a homework's style: how its tests are run, what they import, and where they stand."""

    def __init__(self, homework: Homework) -> None:
        self.homework = homework
        texts = homework.text_of_tests()
        self.texts = {name: text for name, text in texts.items() if not name.endswith("conftest.py")}
        self.style: Style = "pytest"
        if homework.cells is not None:
            self.style = "otter" if homework.cells.otter and not homework.cells.checks else "cells"
            self.place = (PurePosixPath(homework.at or ".") / "audit_written.py").as_posix()
            return
        if re.search(r"^class \w+\(.*TestCase\)", "\n".join(self.texts.values()), re.M):
            self.style = "unittest"
        files = [name for name in self.texts if "def test" in self.texts[name]]
        folder = PurePosixPath(files[0]).parent if files else PurePosixPath(homework.at or ".")
        self.place = (folder / "test_audit_written.py").as_posix()

    @property
    def command(self) -> dict[str, Any]:
        """What runs the file of written tests alone."""
        cells = self.homework.cells
        if cells is None:
            return {"command": {"how": "module", "module": "pytest", "arguments": ["-q", self.place]}}
        name = self.place.removeprefix(f"{self.homework.at}/")
        parts: dict[str, Any] = {"order": cells.without_tests, "checks": {}, "otter": {"audit": name}}
        if self.style == "cells":
            parts = {"order": [*cells.without_tests, name], "checks": {name: None}, "otter": {}}
        cell_job = {"how": "cells", "at": self.homework.at, "cells": {"label": cells.label, **parts}}
        return {"command": cell_job}

    def tests_for(self, one: TestedMutant, taken: set[str]) -> Iterator[Test]:
        """Yield tests for a mutant, with tolerances that become stricter."""
        if one.witness is None or not one.witness.steps:
            return
        name = _free("test_" + re.sub(r"\W+", "_", one.where).strip("_").lower(), taken)
        for tolerance in TOLERANCES:
            lines, imports = self._body(one.witness, tolerance)
            called = dict.fromkeys(step.name.partition(".")[0] for step in one.witness.steps)
            if lines:
                yield Test(name, tuple(lines), tuple(imports), tuple(called))
            if tolerance not in "\n".join(lines):
                break

    def _body(self, witness: Witness, tolerance: str) -> tuple[list[str], list[str]]:
        """Return the statements of a test and its imports; none if a value has no code."""
        steps = witness.steps
        codes = [code for step in steps for _, code, _ in step.given]
        if not all(codes + [code for step in steps for _, code in step.sets]):
            return [], []
        imports, aliases = self._imports(steps)
        lines: list[str] = []
        for n, step in enumerate(steps):
            lines += [line for pair in step.sets for line in set_line("made", *pair).split("\n")]
            names = self._variables(step, lines)
            target = target_of(step, of_object=steps[0].makes, name="made")
            first, dot, rest = target.partition(".")
            target = f"{aliases.get(first, first)}{dot}{rest}"
            call = f"{target}({given_of(step.given, names)})"
            if n == witness.at and witness.kind not in ("later", "state"):
                lines += self._claim(witness, step, target, names, tolerance)
            else:
                is_kept = n == witness.at and witness.kind == "later"
                lines.append(f"made = {call}" if step.makes else f"result = {call}" if is_kept else call)
        if witness.kind in ("later", "state"):
            where = "result" if witness.kind == "later" else f"made{witness.argument}"
            lines += self._equal(where, witness, tolerance)
        text = "\n".join(lines)
        return lines, [
            *(line for name, line in HEADS.items() if re.search(rf"\b{re.escape(name)}", text)),
            *imports,
        ]

    def _variables(self, step: WitnessCall, lines: list[str]) -> dict[str, str]:
        """Write long arguments as variables, and return their names."""
        names = {}
        for name, code, _ in step.given:
            if len(code) > BRIEF:
                taken = {line.partition(" = ")[0] for line in lines if f" = {code}" not in line}
                names[name] = _free(name.lstrip("*"), taken)
                line = f"{names[name]} = {code}"
                if line not in lines:
                    lines.append(line)
        return names

    def _claim(
        self, witness: Witness, step: WitnessCall, target: str, names: dict[str, str], tolerance: str
    ) -> list[str]:
        """Return what a test claims about the last call."""
        argument = witness.argument
        call = f"{target}({given_of(step.given, names)})"
        if witness.kind == "argument":
            code = next((code for name, code, _ in step.given if name == argument), "")
            module = "torch" if "torch." in code else "np"
            check = {"torch": "torch.testing.assert_close", "np": "np.testing.assert_array_equal"}[module]
            named = f"{target}({given_of(step.given, names | {argument: f'given_{argument}'})})"
            return [f"given_{argument} = {code}", named, f"{check}(given_{argument}, {code})"]
        if witness.raised:
            return [
                f"with {RAISES.get(self.style, 'unittest.TestCase().assertRaises')}({witness.raised}):",
                f"    {call}",
            ]
        return self._equal(call, witness, tolerance)

    def _equal(self, call: str, witness: Witness, tolerance: str) -> list[str]:
        """Return the assertion that a call gives the right result."""
        code = re.sub(rf"^np\.float64\(({NUMBER})\)$", r"\1", witness.result)
        close = f"np.testing.assert_allclose({{}}, {{}}, rtol={tolerance}, atol={tolerance})"
        if "torch." in code:
            close = f"torch.testing.assert_close({{}}, {{}}, rtol={tolerance}, atol={tolerance})"
        if not code:
            return []
        if code.startswith("{'."):
            return _attributes_equal(call, code)
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

    def _imports(self, steps: Iterable[WitnessCall]) -> tuple[list[str], dict[str, str]]:
        """Return the imports of what steps call, as the homework's tests write them, and the names."""
        if self.homework.cells is not None:
            return [], {}
        found = {step.name.partition(".")[0]: self._import_of(step) for step in self._all_called(steps)}
        return [line for line, _ in found.values()], {name: alias for name, (_, alias) in found.items()}

    def _all_called(self, steps: Iterable[WitnessCall]) -> Iterator[WitnessCall]:
        """Yield the steps, and one for each class of the solution that an argument is made of."""
        steps = list(steps)
        yield from steps
        codes = " ".join(code for step in steps for _, code, _ in step.given)
        modules = {step.file: step.module for step in steps}
        for file, source in self.homework.sources.items():
            for node in ast.parse(source).body:
                if isinstance(node, ast.ClassDef) and re.search(rf"\b{node.name}\(", codes):
                    yield replace(steps[0], name=node.name, file=file, module=modules.get(file, ""))

    def _import_of(self, step: WitnessCall) -> tuple[str, str]:
        name, stem = step.name.partition(".")[0], PurePosixPath(step.file).stem
        for text in self.texts.values():
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
                for node, alias in ((n, alias) for n in nodes for alias in n.names):
                    if isinstance(node, ast.ImportFrom) and alias.name == name:
                        only = ast.ImportFrom(node.module, [alias], node.level)
                        return ast.unparse(only), alias.asname or name
                    if isinstance(node, ast.Import) and alias.name.rpartition(".")[2] == stem:
                        return ast.unparse(ast.Import([alias])), f"{alias.asname or alias.name}.{name}"
        return f"from {step.module or stem} import {name}", name

    def one(self, test: Test) -> str:
        """Return one test as it stands in the file."""
        if self.style == "cells":
            return "\n".join(test.lines)
        given = {"unittest": "self", "otter": ", ".join(test.called)}.get(self.style, "")
        code = "\n".join([f"def {test.name}({given}):", *(f"    {line}" for line in test.lines)])
        return textwrap.indent(code, "    ") if self.style == "unittest" else code

    def file(self, tests: list[Test]) -> str:
        """Return the whole file."""
        imports = _merged(line for test in tests for line in test.imports)
        standard = [line for line in HEADS.values() if line in imports]
        own = sorted(set(imports) - set(standard))
        codes = [self.one(test) for test in tests]
        if self.style == "unittest":
            standard.append("import unittest")
            codes = ["class TestAudit(unittest.TestCase):\n" + "\n\n".join(codes), MAIN]
        elif self.style == "otter":
            own, codes = OTTER, [f"@test_case(points=1, hidden=True)\n{code}" for code in codes]
        parts = ["\n".join([*standard, *own]), *codes]
        return ("\n\n" if self.style == "cells" else "\n\n\n").join(filter(None, parts)) + "\n"


def _attributes_equal(call: str, code: str) -> list[str]:
    """Return assertions about the attributes of an object that a call returns; none if one has no literal."""
    try:
        attributes = ast.literal_eval(code)
    except (ValueError, SyntaxError):
        return []
    lines = [f"answer = {call}"]

    def claim(owner: str, value: Any) -> None:
        if isinstance(value, dict) and value and all(str(key).startswith(".") for key in value):
            for name, item in value.items():
                claim(f"{owner}{name}", item)
        else:
            lines.append(f"assert {owner} {'is' if value is None else '=='} {value!r}")

    claim("answer", attributes)
    return lines


def _merged(lines: Iterable[str]) -> list[str]:
    """Return imports, those from one module in one line."""
    names: dict[str, list[str]] = {}
    for line in lines:
        head, _, name = line.partition(" import ")
        names.setdefault(head if name else line, []).append(name)
    return [f"{head} import {', '.join(sorted(set(own)))}" if own[0] else head for head, own in names.items()]
