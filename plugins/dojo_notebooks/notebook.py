"""Write the instructor's notebook: a statement, an answer cell and a score cell for each kata.

The code of a kata's cell, with the reference solution between nbgrader's solution markers.

`nbgrader generate_assignment` replaces everything between two markers by `raise NotImplementedError`.
Functions and methods that only the reference has must therefore stand between markers too.

The files of an nbgrader course: notebooks in `source/`, settings, and answer keys to grade with.

Render a report for a notebook and a score for nbgrader.

Check that the optional packages for notebooks are installed.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from html import escape as escape_html
from itertools import groupby
from pathlib import Path
from typing import Any

from dojo_authoring.release import keys
from dojo_authoring.release.repository import core_files, fill
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import read
from grader.course.secret_seed import seed_or_new
from grader.course.submission import SUFFIX
from grader.course.syllabus import SYLLABUS_FILE
from grader.drawing import statement
from grader.drawing.text import draw
from grader.formats import html, terminal
from grader.report import KataReport


def score_id(kata_name: str) -> str:
    """Return nbgrader's `grade_id` of the cell that shows a kata's score; the answer's is the kata's name."""
    return f"{kata_name}-score"


def require(what: str, *packages: str) -> None:
    """Raise CourseError, with the command that installs it, if a package is missing."""
    missing = next((name for name in packages if importlib.util.find_spec(name) is None), None)
    if missing:
        raise CourseError(f"{what} needs {missing}: pip install 'decoder-dojo[notebooks]'")


def mime_bundle(kata: KataReport) -> dict[str, str]:
    """Return the report as HTML and as plain text, by MIME type."""
    return {"text/html": html.fragment(kata), "text/plain": terminal.render_kata(kata)}


def frame_bundle(page: str, text: str) -> dict[str, str]:
    """Return a page in a frame that reaches nothing of the notebook, and its text, by MIME type."""
    style = "width: 100%; height: 44rem; border: 1px solid #8888"
    frame = '<iframe sandbox="allow-scripts" style="{}" title="Your functions" srcdoc="{}">'
    frame = frame.format(style, escape_html(page))
    return {"text/html": f"{frame}</iframe>", "text/plain": text}


def score_of(kata: KataReport, points: float | None = None) -> float:
    """Return the score of a kata in points, scaled to `points`, what its cell is worth, if that is given."""
    score, most = kata.score / 100, kata.max_score / 100
    return score if points is None or points == most else round(points * score / most, 2)


def outputs_of(kata: KataReport, points: float) -> list[Any]:
    """Return the cell's outputs: the report, which nbgrader ignores, and the score as the result."""
    from nbformat.v4 import new_output

    score = repr(score_of(kata, points))
    return [
        new_output("display_data", data=mime_bundle(kata)),
        new_output("execute_result", data={"text/plain": score}, execution_count=1),
    ]


BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"

Named = ast.FunctionDef | ast.ClassDef
SIMPLE = ast.Import | ast.ImportFrom | ast.Assign


def without_statement(stub: str) -> str:
    """Return the stub without its module docstring, which states the exercise."""
    statement = ast.parse(stub).body[0]
    return "\n".join(stub.splitlines()[statement.end_lineno :]).strip("\n")


def with_solution(code: str, reference: str) -> str:
    """Replace each `raise NotImplementedError` of the code by the reference's body, between markers."""
    tree, solution = ast.parse(code), ReferenceSolution(reference)
    lines = code.splitlines()
    bodies = dict(_bodies(tree, solution))
    if not bodies:
        return code
    bodies[max(bodies)] += solution.extras(solution.tree, tree)
    for number in sorted(bodies, reverse=True):
        indent = lines[number - 1].partition(STUB)[0]
        lines[number - 1 : number] = [indent + BEGIN, *bodies[number], indent + END]
    return "\n".join(lines)


def _bodies(tree: ast.Module, solution: ReferenceSolution) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number of each unwritten body of the stub, and the reference's lines for it."""
    for node in tree.body:
        solved = solution.named(solution.tree, getattr(node, "name", ""))
        if isinstance(node, ast.FunctionDef) and _is_unwritten(node) and solved:
            yield node.body[-1].lineno, solution.body(solved)
        elif isinstance(node, ast.ClassDef) and solved:
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and _is_unwritten(m)]
            for method in methods:
                found = solution.named(solved, method.name)
                more = solution.extras(solved, node) if method is methods[-1] else []
                yield method.body[-1].lineno, [*(solution.body(found) if found else []), *more]


def _is_unwritten(node: ast.FunctionDef) -> bool:
    return ast.unparse(node.body[-1]).startswith(STUB)


class ReferenceSolution:
    """The parsed reference solution, from which parts are copied as source lines."""

    def __init__(self, source: str) -> None:
        self.lines, self.tree = source.splitlines(), ast.parse(source)

    def named(self, parent: ast.Module | Named, name: str) -> Named | None:
        """Return the function or class of that name, or None."""
        found = (node for node in parent.body if isinstance(node, Named))
        return next((node for node in found if node.name == name), None)

    def body(self, node: Named) -> list[str]:
        """Return the source lines of a function below its docstring."""
        first, *others = node.body
        start = first.end_lineno if ast.get_docstring(node) and others else first.lineno - 1
        return self.lines[start : node.end_lineno]

    def extras(self, parent: ast.Module | Named, stub: ast.Module | Named) -> list[str]:
        """Return the source of what the stub lacks: functions, classes, imports, constants, decorators."""
        names = {node.name for node in stub.body if isinstance(node, Named)}
        known = {ast.unparse(node) for node in stub.body}
        found: list[str] = []
        for node in parent.body:
            if isinstance(node, Named) and node.name not in names:
                gap = 2 if isinstance(parent, ast.Module) else 1
                found += [*[""] * gap, *self._text(node)]
            elif isinstance(node, Named):
                found += [f"{node.name} = {ast.unparse(by)}({node.name})" for by in node.decorator_list]
            elif isinstance(node, SIMPLE) and ast.unparse(node) not in known:
                found += ["", *self._text(node)]
        return found

    def _text(self, node: ast.stmt) -> list[str]:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return self.lines[first - 1 : node.end_lineno]


SCHEMA = 3


def cell_metadata(
    name: str, *, solution: bool = False, points: float | None = None, locked: bool = True, task: bool = False
) -> dict[str, Any]:
    """Return the metadata of an answer (`solution`), a score (`points`), or both for manual grading."""
    metadata: dict[str, Any] = {
        "schema_version": SCHEMA,
        "grade_id": name,
        "solution": solution,
        "grade": points is not None and not task,
        "locked": locked and not solution,
        "task": task,
    }
    return metadata if points is None else {**metadata, "points": points}


KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}

WIDTH = 80  # characters of a drawing

HOW_TO = """\
Write your code in the cells that begin with `%%kata`. All that a kata needs stands in its one cell, imports
too: that cell is graded by itself. Run it, then the `%grade` below it, to see what holds. Stuck?
`%hint {name}` in a cell of your own, and again for one more.
"""

#: Students run the first line; nbgrader removes the hidden part, which grades with the instructor's keys.
SCORE = """\
%grade --score {name}
### BEGIN HIDDEN TESTS
%grade --score --key ../../../keys {name}
### END HIDDEN TESTS"""


def notebook_of(course: Course, infos: list[KataInfo], title: str = "", *, solved: bool = True) -> str:
    """Return the notebook of these katas as JSON text, for nbgrader's `source/` folder; unless `solved`, as
    students get it."""
    import nbformat
    from nbformat import v4

    heading = f"# {title}\n\n" if title else ""
    cells = [
        _cell(v4.new_markdown_cell, "how-to", heading + HOW_TO.format(name=infos[0].name)),
        _cell(v4.new_code_cell, "extension", "%load_ext grader"),
        *(cell for info in infos for cell in _cells_of(course, info, solved=solved)),
    ]
    return str(nbformat.writes(v4.new_notebook(cells=cells, metadata=KERNEL))) + "\n"


def _cells_of(course: Course, info: KataInfo, *, solved: bool) -> Iterator[Any]:
    """Yield a kata's three cells: the statement, the answer and the score.

    If students are given wrong code to repair, or questions, nbgrader must not cut a solution out of the
    answer cell. That cell has no nbgrader metadata then, and is recognized by its first line, `%%kata` and
    the kata's name.
    """
    from nbformat import v4

    stub = read(course.stub(info))
    text = ast.get_docstring(ast.parse(stub)) or info.title
    yield _cell(
        v4.new_markdown_cell, f"{info.name}-statement", to_markdown(text) + _drawn(course, info, text)
    )
    code = without_statement(stub)
    is_given = bool(info.ships_wrong_code) or not info.kind.is_code
    if solved and not is_given:
        code = with_solution(code, course.solution(info, "reference").read_text(encoding="utf-8"))
    answer = _cell(v4.new_code_cell, info.name, f"%%kata {info.name}\n{code}")
    if is_given:
        answer.metadata["deletable"] = False
    else:
        answer.metadata["nbgrader"] = cell_metadata(info.name, solution=True)
    yield answer
    asked = SCORE.format(name=info.name) if solved else SCORE.format(name=info.name).splitlines()[0]
    score = _cell(v4.new_code_cell, score_id(info.name), asked)
    score.metadata["nbgrader"] = cell_metadata(score_id(info.name), points=info.points)
    yield score


def _drawn(course: Course, info: KataInfo, message: str) -> str:
    """Return the masks and the shares that a statement prints as a block of text, which every notebook shows.
    Matrices are left out: as text they look as in the statement."""
    found = statement.pictures(message, course.declaration(info).axes)
    drawings = ["\n".join(draw(one, WIDTH, lambda text, _: text)) for one in found if one.kind != "matrix"]
    return "\nDrawn:\n\n```text\n" + "\n\n".join(drawings) + "\n```\n" if drawings else ""


def _cell(make: Any, name: str, source: str) -> Any:
    return make(source.rstrip("\n"), id=name[:64])


INDENT = "    "
HEADINGS = ("Example", "What goes wrong", "What must hold", "Source")
CODE = re.compile(r"(`[^`]*`)")
SPECIAL = re.compile(r"([\\*_\[\]<>$#|~])")
EMPHASIS = re.compile(r"(?<![\w*\\])\\\*([A-Za-z]+(?:[ -][A-Za-z]+)*)\\\*(?![\w*\\])")  # once escaped


def to_markdown(docstring: str) -> str:
    """Return the docstring as Markdown: a title, code blocks, and paragraphs with known headings in bold."""
    title, *lines = docstring.strip().splitlines()
    return "\n".join([f"## {escape(title.rstrip('.'))}", *_blocks(lines)]) + "\n"


def _blocks(lines: list[str]) -> Iterator[str]:
    joined = _with_indented_blank_lines(lines)
    for is_code, block in groupby(joined, key=lambda line: line.startswith(INDENT)):
        if is_code:
            code = [line[4:].rstrip() for line in block]
            longest = max(map(len, re.findall("`+", "\n".join(code))), default=0)
            fence = "`" * max(3, longest + 1)
            yield from (f"{fence}text", *code, fence)
        else:
            yield from map(_text, block)


def _with_indented_blank_lines(lines: list[str]) -> list[str]:
    """Indent each blank line between two indented lines, so that it stays inside their block."""
    shown, before = [], ""
    for index, line in enumerate(lines):
        after = next((later for later in lines[index:] if later.strip()), "")
        before = line if line.strip() else before
        is_inner = before.startswith(INDENT) and after.startswith(INDENT)
        shown.append(line if line.strip() or not is_inner else INDENT)
    return shown


def _text(line: str) -> str:
    lead, _, rest = line.partition(":")
    first, _, second = lead.partition(", ")
    if first in HEADINGS and not second and rest[:1] in ("", " "):
        return f"**{lead}:**{_prose(rest)}"
    bullet = re.match(r"- |  (?=\S)", line)
    start = bullet[0] if bullet else ""
    return start + _prose(line[len(start) :])


def _prose(text: str) -> str:
    """Return the text escaped, with its *words* as emphasis."""
    return EMPHASIS.sub(r"*\1*", escape(text))


def escape(text: str) -> str:
    """Escape Markdown's special characters, except inside backticks."""
    pieces = CODE.split(text)
    return "".join(piece if index % 2 else SPECIAL.sub(r"\\\1", piece) for index, piece in enumerate(pieces))


SETTINGS = Path(__file__).with_name("nbgrader_config.txt")
IN_ONE = "in-one"


def course_files(
    course: Course, infos: list[KataInfo], seed: int, hidden_seed: int | None
) -> dict[str, bytes]:
    """Return the bytes of every file by its path.

    Stubs, declarations and keys stand at the top of the course and beside the notebooks of each assignment.
    """
    core = core_files(course, infos, seed)
    shown = {name: data for name, data in core.items() if _is_shown(course, name)}
    settings = fill(SETTINGS.read_text(encoding="utf-8"), COURSE=course.syllabus.slug)
    files = {**core, "nbgrader_config.py": settings.encode()}
    for track in dict.fromkeys(info.track for info in infos):
        own = [info for info in infos if info.track == track]
        beside = {name: data for info in own for name, data in core.items() if _is_file_of(name, info)}
        beside |= shown
        each = {info.name: notebook_of(course, [info]) for info in own}
        files |= _assignment(track, beside, each)
        whole = {track: notebook_of(course, own, f"The track {track}, all in one notebook")}
        files |= _assignment(f"{track}-{IN_ONE}", beside, whole)
    return files | _keys(course, infos, seed_or_new(course) if hidden_seed is None else hidden_seed)


def _assignment(name: str, beside: dict[str, bytes], notebooks: dict[str, str]) -> dict[str, bytes]:
    """Return the files of one assignment: its notebooks, and the files that `%grade` needs beside them."""
    own = {f"{stem}{SUFFIX}": text.encode() for stem, text in notebooks.items()}
    return {f"source/{name}/{path}": data for path, data in {**beside, **own}.items()}


def _is_file_of(path: str, info: KataInfo) -> bool:
    """Return whether the path is the kata's stub, declaration or key."""
    return path in (
        f"exercises/{info.track}/{info.name}.py",
        f"tests/katas/{info.track}/{info.path.name}",
        f"keys/{info.name}.key",
    )


def _is_shown(course: Course, path: str) -> bool:
    """Return whether `%see` needs the path: what it runs, and the syllabus, which names that."""
    see = course.syllabus.see
    return bool(see) and (path.startswith(f"{see}/") or path == SYLLABUS_FILE.as_posix())


def _keys(course: Course, infos: list[KataInfo], seed: int) -> dict[str, bytes]:
    """Draw keys with hidden cases for the top of the course, which is not handed out to students."""
    return keys.key_files(keys.with_progress(keys.draw_entries(course, infos, seed)))
