"""Write the drafts of an imported kata, and say what could not be taken over."""

from __future__ import annotations

import ast
import dataclasses
import functools
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np

from grader import expect
from grader.authoring.importing.exercise import Exercise, ImportedTest, is_import, names_in, needed
from grader.authoring.importing.laws import NotRewritten, Rewriter, double_quoted
from grader.authoring.importing.recording import Case, Recording, read_notebook, read_pytest
from grader.authoring.scaffold import cases, writer
from grader.authoring.scaffold.library_snippets import SNIPPETS, Draft, Library
from grader.authoring.scaffold.signatures import Kind, Parameter, read_signatures
from grader.authoring.verify.time_limit import TookTooLong, limited_time
from grader.course.catalog import Course, CourseError, shorten
from grader.course.notebook_cells import is_notebook
from grader.grading.snippet import code_of
from grader.grading.startup import open_grader
from grader.kata import KataError
from grader.values.formatting import counted
from grader.worker.child.executor import load_module
from grader.worker.in_process import LocalStudent

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
    """What was written, and what was not taken over, each in one line."""

    written: list[str]
    taken: list[str]
    notes: list[str]


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
    """Draft a kata from an exercise. Raises CourseError, before anything is written, if it cannot."""
    exercise = read_notebook(file, function) if is_notebook(file) else read_pytest(file, reference, function)
    recording = Recording()
    notes = exercise.run(recording.wrap)
    if not recording.cases:
        none = f"No test calls `{exercise.function}` with values to take over."
        raise CourseError("; ".join(notes) or none)
    draft = _draft(track, name, exercise, recording, title, source or f"Taken from {file.name}")
    laws, support, more = _laws(exercise)
    notes += more
    drawn = cases.declaration(draft, support + _examples(recording) + laws, imports=_imports(exercise, laws))
    fixed = cases.declaration(draft, support + laws, _recorded(recording), _imports(exercise, laws))
    files = {
        f"solutions/{track}/{name}/reference.py": f'"""{draft.source}."""\n\n{exercise.reference}',
        f"exercises/{track}/{name}.py": _stub(draft, exercise),
    }
    declared = f"{writer.FOLDER}/{track}/test_{name}.py"
    written = writer.write_kata(root, draft, files | {declared: drawn})
    notes += _fit_cases(root, name, root / declared, fixed)
    notes += [f"`{p}` is {value} in all drawn cases; draw it too" for p, value in _fixed_arguments(draft)]
    calls = f"{counted(len(recording.cases), 'call')} of `{exercise.function}`"
    return Imported(written, [calls, counted(laws.count("@KATA.law"), "law")], notes)


def _fit_cases(root: Path, name: str, declaration: Path, fixed: str) -> list[str]:
    """Draw even sizes if the reference refuses the drawn cases, and write `fixed` if it refuses those too.
    Return a note of that."""
    wrong = _cannot_be_judged(root, name)
    if not wrong:
        return []
    even = declaration.read_text("utf-8").replace(" = draw(st.integers(", " = 2 * draw(st.integers(")
    declaration.write_text(even, "utf-8")
    still_wrong = _cannot_be_judged(root, name)
    if not still_wrong:
        return [f"sizes are drawn even, since others do not fit ({wrong})"]
    declaration.write_text(fixed, "utf-8")
    return [f"drawn arguments do not fit ({still_wrong}): the cases are the calls of the tests alone"]


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
    return dataclasses.replace(parameter, kind=kind, axes=axes.get(parameter.name, ()))


def _kind(value: Any) -> Kind:
    """Return what kind of argument a value is."""
    if hasattr(value, "shape") and value.ndim:
        letter = np.dtype(str(value.dtype).removeprefix("torch.")).kind
        return {"f": "array", "i": "integers", "u": "integers", "b": "mask"}.get(letter, "other")  # type: ignore[return-value]
    name = type(value).__name__
    return cast(Kind, name) if name in ("int", "float", "bool") else "other"


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


def _laws(exercise: Exercise) -> tuple[str, str, list[str]]:
    """Return the laws that the reference keeps, the code that they use, and why other tests were left out."""
    taken: list[Callable[[str], str]] = []
    notes = []
    for test in exercise.tests:
        try:
            if len(taken) == MOST_LAWS:
                raise NotRewritten(f"there are {MOST_LAWS} laws before it, and points for no more")
            taken.append(_law(exercise, test))
        except NotRewritten as why:
            notes.append(f"{test.name} is not taken over: {why}")
    points = "1" if len(taken) <= MOST_LAWS // 2 else "0.5"
    laws = "\n".join(law(points) for law in taken)
    support = needed(exercise.support, _names(laws) - {exercise.function}, imports=False)
    return f"\n{laws}" * bool(laws), f"\n\n{support}" * bool(support), notes


def _imports(exercise: Exercise, laws: str) -> str:
    """Return the imports that laws and their support need, but NumPy's, which a declaration has itself."""
    text = needed(exercise.support, _names(laws) - {exercise.function})
    nodes = [node for node in ast.parse(text).body if is_import(node)]
    return "".join(f"{line}\n" for line in map(ast.unparse, nodes) if line != "import numpy as np")


def _names(source: str) -> set[str]:
    return names_in(ast.parse(source))


def _law(exercise: Exercise, test: ImportedTest) -> Callable[[str], str]:
    """Return what writes the law for its points. Raises NotRewritten if the reference does not keep it."""
    student = LocalStudent(load_module("reference", exercise.reference))
    tested = names_in(*test.body) - {exercise.function}
    if exercise.function in _names(needed(exercise.support, tested)):
        raise NotRewritten("a helper of the tests calls the function")
    for places in DECIMALS:
        rewriter = Rewriter(exercise.function, exercise.aliases, places)
        law = rewriter.law(test, "1").partition("\n")[2].partition("\n")[2]  # without the decorator
        support = needed(exercise.support, _names(law) - {exercise.function})
        scope: dict[str, Any] = {"expect": expect}
        try:
            exec(f"{support}\n{law}", scope)
            scope[test.name](student)
        except expect.ExpectationFailed:
            continue
        except Exception as error:
            raise NotRewritten(f"as a law it raises {type(error).__name__}: {error}") from None
        return functools.partial(rewriter.law, test)
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
    return ""


def summary(imported: Imported, file: Path, name: str, course: str) -> list[str]:
    """Return what the command prints."""
    return [
        *(f"wrote {path}" for path in imported.written),
        f"taken over from {shorten(file)}: {', '.join(imported.taken)}",
        *(f"note: {note}" for note in imported.notes),
        f"It is a draft: its checks are unproven until it has mistakes. See: kata verify {name}{course}",
    ]
