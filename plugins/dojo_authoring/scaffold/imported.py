"""Write the draft of a kata from an exercise of others that was read elsewhere."""

from __future__ import annotations

import ast
import re
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from dojo_authoring.scaffold import writer
from dojo_authoring.scaffold.declaration import declaration_of
from dojo_authoring.scaffold.draft import SNIPPETS, Draft
from dojo_authoring.scaffold.signatures import read_signatures
from dojo_authoring.verify.katas import verify_kata
from grader.course.catalog import Course
from grader.course.files import message_of
from grader.errors import CourseError, KataError

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


@dataclass(frozen=True)
class ImportedExercise:
    """What is taken over: the function, a module that defines it, the arguments of the calls that its tests
    make as code, and a module of mistakes, "" for none."""

    function: str
    title: str
    source: str
    reference: str
    calls: tuple[dict[str, str], ...]
    mistakes: str = ""


def write_imported_kata(root: Path, track: str, name: str, exercise: ImportedExercise) -> list[str]:
    """Write the draft of a kata into the course, and return the names of its files.

    It is written into a course of its own first, and verified there. Raises CourseError, before anything is
    written into the course, if it cannot be graded.
    """
    draft = _draft(track, name, exercise)
    cases = [", ".join(f'"{key}": {code}' for key, code in call.items()) for call in exercise.calls]
    recorded = RECORDED.format(calls="".join(f"    {{{case}}},\n" for case in cases))
    solutions = f"solutions/{track}/{name}"
    files = {
        f"{solutions}/reference.py": f'"""{draft.source}."""\n\n{exercise.reference}',
        f"{writer.FOLDER}/{track}/test_{name}.py": declaration_of(draft, cases=recorded),
        f"exercises/{track}/{name}.py": _stub(draft, exercise),
    }
    files |= {f"{solutions}/mistakes.py": exercise.mistakes} if exercise.mistakes else {}
    with tempfile.TemporaryDirectory() as scratch:
        _require_gradable(Path(scratch), draft, files)
    return writer.write_kata(root, draft, files)


def _require_gradable(scratch: Path, draft: Draft, files: dict[str, str]) -> None:
    try:
        writer.write_kata(scratch, draft, files)
        course = Course(scratch)
        gaps = verify_kata(course, course.kata_info(draft.name)).gaps
    except (CourseError, KataError) as error:
        gaps = [str(error)]
    except (Exception, SystemExit) as error:  # by the exercise's own code
        gaps = [message_of(error)]
    if gaps:
        said = gaps[0].splitlines()[0].replace(f"{scratch}/", "")
        raise CourseError(f"The kata cannot be graded, so nothing is written: {said}")


def _node(exercise: ImportedExercise) -> ast.FunctionDef:
    body = ast.parse(exercise.reference).body
    return next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == exercise.function)


def _draft(track: str, name: str, exercise: ImportedExercise) -> Draft:
    """Return the draft of the kata. Raises CourseError for a signature that no kata can have."""
    node = _node(exercise)
    for argument in (*node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    library = (
        "torch" if any("torch." in code for call in exercise.calls for code in call.values()) else "numpy"
    )
    entry = read_signatures((f"{node.name}({ast.unparse(node.args)})",))[0]
    return Draft(track, name, exercise.title, exercise.source, library, (entry,), is_draft=True)  # type: ignore[arg-type]


def _stub(draft: Draft, exercise: ImportedExercise) -> str:
    """Return the stub: the statement, and the function with its docstring and without its body."""
    tree, node = ast.parse(exercise.reference), _node(exercise)
    text = ast.get_docstring(node) or "TODO: say in one line what it does."
    head = "\n".join(exercise.reference.splitlines()[node.lineno - 1 : node.body[0].lineno - 1]).rstrip()
    quoted = textwrap.indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    ")
    statement = (ast.get_docstring(tree) or "").partition("\n")[2].replace('"""', "'''").strip()
    imports = [ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    if re.search(r"\)[^()]*: *\S", head.splitlines()[-1]) or not head:  # the body stands in the line of `def`
        head = f"def {node.name}({ast.unparse(node.args)}):"
    prefix = "r" if "\\" in statement + text else ""
    return prefix + STUB.format(
        title=draft.title.rstrip("."),
        statement=f"\n{statement}\n" if statement else "\nTODO: say the idea, the formula and all shapes\n",
        source=draft.source,
        imports="\n".join(imports) or SNIPPETS[draft.library].imports,
        function=f"{head}\n{quoted}\n    raise NotImplementedError",
    )
