"""`kata new`: write the files of a kata and add it to the course.

Drafts of the stub, with the outline of its statement, of the reference, and of a page of questions.

Drafts of mistakes and variants: those that can be made from the reference and its signature.

Complete what `kata new` was given, by asking for what is missing.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import re
import sys
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dojo_authoring.changes import all_or_nothing
from dojo_authoring.scaffold import signatures
from dojo_authoring.scaffold.signatures import (
    SNIPPET_KINDS,
    Callee,
    Draft,
    EntryPoint,
    KataKind,
    Library,
    Parameter,
    base_of,
    filled,
    is_logits,
    probability,
    read_questions,
    read_signatures,
)
from grader.course.catalog import LONGEST_NAME, Course, CourseError, is_name
from grader.course.syllabus import SYLLABUS_FILE, Syllabus, read_syllabus, to_text
from grader.plugins import COMMANDS_GROUP, ours
from grader.values.formatting import counted

NAME = re.compile(r"[a-z][a-z0-9_]*")
QUESTION = re.compile(r"\s*[A-Z][A-Z0-9_]+\s*\(")
EXAMPLES: dict[KataKind, tuple[str, ...]] = {
    "function": ("moving_average(x: 'rows columns', weights: 'columns', eps=1e-6)",),
    "module": ("Scale(columns)", "Scale.forward(x: 'rows columns')"),
    "object": ("Queue()", "Queue.append(x: 'rows columns')"),
    "sampler": ("pick(p: 'outcomes', rng)",),
    "questions": ("CAUSAL_PAIRS(tokens)", "WINDOW_PAIRS(tokens, window)"),
}


def complete_draft(  # noqa: PLR0913  # each may be asked for
    track: str,
    name: str,
    signatures: tuple[str, ...],
    library: Library | None,
    title: str | None,
    source: str | None,
    kind: KataKind | None = None,
    weights: tuple[str, ...] = (),
    *,
    is_draft: bool = False,
) -> Draft:
    """Return the draft of a kata; prompt for missing values. Raises CourseError if there is no terminal."""
    try:
        if not signatures:
            kind = kind or _ask_for_kind()
            signatures = _ask_for_signatures(kind)
        kind = kind or ("questions" if all(QUESTION.match(text) for text in signatures) else None)
        read = read_questions if kind == "questions" else read_signatures
        entries = tuple(read(signatures))  # before other prompts, since this often fails
        kind = kind or _kind_of(entries, library)
        _require_parts(entries, kind)
        has_arrays = kind not in ("module", "questions")  # whose library is to be asked for
        default_title = name.replace("_", " ").capitalize()
        return Draft(
            track,
            name,
            title or click.prompt("Title", default=default_title),
            source or click.prompt("Source", default="Author year, section"),
            library or _ask_for_library() if has_arrays else "torch" if kind == "module" else "numpy",
            entries,
            kind,
            _read_weights(weights or (_ask_for_weights() if kind == "module" else ())),
            is_draft,
        )
    except click.Abort:
        if sys.stdin.isatty():
            raise
        given = {"--signature": signatures, "--title": title, "--source": source}
        given |= {"--weight": weights} if kind == "module" else {}
        given |= {"--library": library} if kind not in ("module", "questions") else {}
        *others, last = [option for option, value in given.items() if not value]
        listed = f"{', '.join(others)} and {last}" if others else last
        raise CourseError(f"Without a terminal nothing is asked; give {listed}.") from None


def _ask_for_kind() -> KataKind:
    answer: KataKind = click.prompt("What is it", type=click.Choice(SNIPPET_KINDS), default="function")
    return answer


def _ask_for_signatures(kind: KataKind) -> tuple[str, ...]:
    """Ask for a signature, or for those of a class and its methods, until the answer is empty."""
    found = [click.prompt(f"Signature, as in {EXAMPLES[kind][0]}")]
    while kind in ("module", "object", "questions"):
        what = "A question" if kind == "questions" else "A method"
        more = click.prompt(f"{what}, as in {EXAMPLES[kind][1]} (empty: no more)", default="")
        if not more:
            break
        found.append(more)
    return tuple(found)


def _ask_for_library() -> Library:
    answer = click.prompt("Library", type=click.Choice(["numpy", "torch"]), default="numpy")
    return "torch" if answer == "torch" else "numpy"


def _ask_for_weights() -> tuple[str, ...]:
    question = "Parameters with their axes, as in 'scale: d_model, w: d_ff d_model'"
    return tuple(click.prompt(question, default="none").split(","))


def _kind_of(entries: tuple[EntryPoint, ...], library: Library | None) -> KataKind:
    """Return the kind that the signatures show."""
    if any(p.kind == "rng" for entry in entries for p in entry.callee.parameters):
        return "sampler"
    if not entries[0].is_class:
        return "function"
    is_module = any(method.name == "forward" for method in entries[0].methods)
    return "module" if is_module and library != "numpy" else "object"


def _require_parts(entries: tuple[EntryPoint, ...], kind: KataKind) -> None:
    """Raise CourseError if the signatures lack what the kind needs."""
    if kind in ("module", "object") and not entries[0].is_class:
        raise CourseError(f"A kata of the kind {kind} needs a class: {' and '.join(EXAMPLES[kind])}.")
    if kind == "module" and all(method.name != "forward" for method in entries[0].methods):
        raise CourseError(f"A module needs a method forward: --signature '{entries[0].name}.forward(x)'.")
    if kind == "sampler" and all(p.kind != "rng" for p in entries[0].callee.parameters):
        raise CourseError("A sampler draws from an argument called rng or generator; add it.")


def _read_weights(texts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the name and the axes of each parameter, given as `name: axis axis`; a number has no axes.

    Raises CourseError.
    """
    found = []
    for text in texts:
        if text.strip() in ("", "none"):
            continue
        name, colon, axes = text.partition(":")
        words = tuple(axes.split())
        if not colon or not all(word.isidentifier() for word in (*name.strip().split("."), *words)):
            raise CourseError(f"`{text}` is no parameter; write name and axes: --weight 'w: d_ff d_model'.")
        found.append((name.strip(), words))
    return tuple(found)


MISTAKES = "# What goes wrong in {name}: edits of the reference, each below what the student is told."
MISTAKES_DUE = """\
# TODO: add what goes wrong in this kata: a step left out, done twice, swapped, along the wrong axis
#
# [forgets_a_step]
# Symptom, cause and what to check, never the code of the answer.
# - what is in the reference once
# + what takes its place"""
VARIANTS = '"""Right answers to {name} in other styles."""'
VARIANTS_DUE = "# TODO: add other styles: loops, einsum, library calls, another order of the steps"


@dataclass(frozen=True)
class DraftedAnswer:
    """A drafted mistake or variant: its name, its sentence, and a body that calls the reference. `method` is
    the method of a class that it replaces."""

    name: str
    text: str
    body: tuple[str, ...]
    method: Callee | None = None


def mistakes(draft: Draft) -> str:
    """Return the draft of mistakes.edits: wrong answers that call the reference."""
    found = [*_mistakes_of_kind(draft), *_mistakes_of_defaults(draft)]
    edits = [_as_edit(draft, answer) for answer in found]
    return "\n\n".join([MISTAKES.format(name=draft.name), *edits, MISTAKES_DUE]) + "\n"


def _as_edit(draft: Draft, answer: DraftedAnswer) -> str:
    """Return a mistake as a function or class that takes the place of the reference's."""
    first, callee, code = draft.entries[0], answer.method or draft.judged, "\n".join(answer.body)
    head = [draft.snippets.imports] if f"{draft.snippets.array.partition('.')[0]}." in code else []
    head += [f"from reference import {first.name} as _{first.name}", ""]
    head += ["_SEEN = {}", ""] if "_SEEN" in code else []
    lines = [f"def {callee.name}({callee.declared}):", *(f"    {line}" for line in answer.body)]
    if first.is_class:
        lines[0] = f"def {callee.name}({', '.join(['self', *(p.declared for p in callee.parameters)])}):"
        lines = [f"class {first.name}(_{first.name}):", *(f"    {line}" for line in lines)]
    return "\n".join(
        [
            f"[{answer.name}]",
            *textwrap.wrap(answer.text, 110, break_on_hyphens=False),
            *(f"+ {line}".rstrip() for line in [*head, *lines]),
        ]
    )


def variants(draft: Draft) -> str:
    """Return the draft of variants.py: a right answer that computes in float64, where this is one."""
    found, first = _variants_of_arrays(draft), draft.entries[0]
    imports = f"{draft.snippets.imports}\nfrom reference import {first.name} as _{first.name}"
    parts = [imports, *(_written(draft, answer) for answer in found)] if found else []
    return f"{VARIANTS.format(name=draft.name)}\n\n" + "\n\n\n".join([*parts, VARIANTS_DUE]) + "\n"


def _variants_of_arrays(draft: Draft) -> list[DraftedAnswer]:
    if draft.array is None or draft.kind != "function" or not draft.returns_floats:
        return []
    arrays = [p.name for p in draft.judged.parameters if p.kind == "array"]
    wide = _call(draft, **{name: draft.snippets.wide.format(x=name) for name in arrays})
    back = draft.snippets.back.format(wide, x=draft.array.name)
    return [DraftedAnswer("in_float64", "Widened at the door, cast back at the end.", (f"return {back}",))]


def _mistakes_of_kind(draft: Draft) -> list[DraftedAnswer]:
    if draft.kind == "module":
        return _mistakes_of_modules(draft)
    if draft.kind == "object" and draft.entries[0].is_class:
        return _mistakes_of_objects(draft)
    return _mistakes_of_samplers(draft) if draft.kind == "sampler" else []


def _mistakes_of_modules(draft: Draft) -> list[DraftedAnswer]:
    if not draft.weights:
        return []
    made = f"super().__init__({draft.entries[0].callee.passed})"
    frozen = (made, "self.requires_grad_(False)")
    return [DraftedAnswer("freezes_its_parameters", FREEZES, frozen, _constructor(draft))]


def _constructor(draft: Draft) -> Callee:
    return Callee("__init__", draft.entries[0].callee.parameters)


def _mistakes_of_objects(draft: Draft) -> list[DraftedAnswer]:
    constructor = _constructor(draft)
    made = f"super().__init__({constructor.passed})"
    again = f"type(self).__init__(self{''.join(f', self._{p.name}' for p in constructor.parameters)})"
    kept = [f"self._{p.name} = {p.name}" for p in constructor.parameters]
    found = [DraftedAnswer("shares_what_it_holds", SHARES, ("self.__dict__ = _SEEN", made), constructor)]
    if not kept:
        forgets = (again.replace("type(self)", "super()").replace("(self)", "()"), f"return {_call(draft)}")
        found.append(DraftedAnswer("forgets_between_calls", FORGETS, forgets))
    return found


def _mistakes_of_samplers(draft: Draft) -> list[DraftedAnswer]:
    rng, array, chance = draft.rng, draft.array, probability(draft)
    if not rng:
        return []
    own = _call(draft, **{rng: draft.snippets.seeded.format(0)})
    found = [DraftedAnswer("ignores_the_generator", IGNORES_RNG.format(rng=rng), (f"return {own}",))]
    if array is not None:
        likely = _one_hot(draft, array)
        most = (likely, f"return {_call(draft, **{array.name: 'likely'})}")
        found.append(DraftedAnswer("takes_the_most_likely", MOST_LIKELY, most))
        found.append(DraftedAnswer("counts_from_one", FROM_ONE, (f"return {_call(draft)} + 1",)))
    elif chance is not None:
        likelier = _call(draft, **{chance.name: f"float({chance.name} >= 0.5)"})
        found.append(DraftedAnswer("takes_the_likelier", MOST_LIKELY, (f"return {likelier}",)))
        turned = _call(draft, **{chance.name: f"1 - {chance.name}"})
        found.append(DraftedAnswer("swaps_the_outcomes", SWAPS.format(p=chance.name), (f"return {turned}",)))
    return found


def _one_hot(draft: Draft, array: Parameter) -> str:
    """Return the line that makes `likely`, which leaves the draw no choice."""
    x, scale = array.name, "40 * " if is_logits(array) else ""
    if draft.library == "torch":
        return f"likely = {scale}torch.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(-1)]"
    return f"likely = {scale}np.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(axis=-1)]"


def _mistakes_of_defaults(draft: Draft) -> list[DraftedAnswer]:
    """Return a mistake for each argument with a default: it ignores the argument."""
    found = [
        DraftedAnswer(f"ignores_the_{p.name}_given", IGNORES.format(name=p.name, default=p.default),
               (f"return {_call(draft, without=p.name)}",))
        for p in draft.judged.parameters
        if p.default is not None
    ]  # fmt: skip
    if not draft.entries[0].is_class:
        return found
    constructor = _constructor(draft)
    for p in constructor.parameters:
        if p.default is not None:
            others = ", ".join(f"{o.name}={o.name}" for o in constructor.parameters if o != p)
            text = IGNORES.format(name=p.name, default=p.default)
            body = (f"super().__init__({others})",)
            found.append(DraftedAnswer(f"ignores_the_{p.name}_given", text, body, constructor))
    return found


def _call(draft: Draft, /, without: str = "", **changed: str) -> str:
    """Return the source of a call of the right answer, with some arguments changed or one left out."""
    callee, arguments = draft.judged, []
    left_out = False
    for p in callee.parameters:
        value = changed.get(p.name, p.name)
        left_out = left_out or p.name == without
        if p.name != without:
            arguments.append(f"{p.name}={value}" if left_out else value)
    return f"{_target(draft, callee)}({', '.join(arguments)})"


def _target(draft: Draft, callee: Callee) -> str:
    return f"super().{callee.name}" if draft.entries[0].is_class else f"_{callee.name}"


def _written(draft: Draft, answer: DraftedAnswer) -> str:
    head = f"def {answer.name}({draft.judged.declared}):"
    return "\n".join([head, *_documented(answer.text, 4), *(f"    {line}" for line in answer.body)])


def _documented(text: str, indent: int) -> list[str]:
    lead = " " * indent
    lines = textwrap.wrap(f'"""{text}', 106 - indent, initial_indent=lead, subsequent_indent=lead)
    return [*lines[:-1], lines[-1] + '"""']


IGNORES = (
    "Right where {name} is left out; another {name} changes nothing: the number {default} is written into"
    " the code. Check that the argument is what the formula uses."
)
FREEZES = (
    "The results are right, and no gradient reaches the parameters: they do not require one. Check how they"
    " are made; nn.Parameter requires gradients by itself."
)
SHARES = (
    "A second object goes on where the first one stopped, or raises an error: both hold the same things. What"
    " an object holds is made in its constructor and belongs to self, not to the class."
)
FORGETS = (
    "Each call answers as if it were the first: what earlier calls have brought is lost. Check what is made"
    " anew in the method and belongs into the constructor."
)
IGNORES_RNG = (
    "Every call gives the same draw, and {rng} is as it was before: the random numbers come from a generator"
    " of the function's own. Draw from the {rng} that is given."
)
MOST_LIKELY = (
    "The most likely outcome comes up every time, others never: nothing is drawn. Check that a random number"
    " decides."
)
FROM_ONE = "Every index is too large by one: the first is 1. Check what is counted; an index begins at 0."
SWAPS = (
    "What should be rare comes up often, and the other way round: the event happens with the chance 1 - {p}."
    " Check on which side of the comparison the random number stands."
)


STUB = '''\
"""{title}.

TODO: say the idea in the field's terms, the formula, and the shape of every argument and result

Example: TODO: give a small one with its numbers, worked out by hand

What goes wrong: TODO: tell the symptoms that a learner will see

Source: {source}.
"""

{imports}


{entries}
'''
REFERENCE = '''\
"""{source}."""

{imports}


{entries}
'''
ROWS = 8
PASSES = 0.75  # the share of its points from which a page passes
Numbers = dict[str, list[int]]
UNWRITTEN = "raise NotImplementedError"
DUE = f"{UNWRITTEN}  # TODO: write the reference, the shape of each value at its line's end"


def stub_of(draft: Draft) -> str:
    """Return the draft of the stub."""
    entries = "\n\n\n".join(_entry(draft, entry, has_docstring=True) for entry in draft.entries)
    return STUB.format(title=draft.title, source=draft.source, imports=draft.imports, entries=entries)


def reference_of(draft: Draft) -> str:
    """Return the draft of the reference."""
    entries = "\n\n\n".join(_entry(draft, entry, has_docstring=False) for entry in draft.entries)
    return REFERENCE.format(source=draft.source, imports=draft.imports, entries=entries)


def _entry(draft: Draft, entry: EntryPoint, *, has_docstring: bool) -> str:
    if not entry.is_class:
        return _function(draft, entry.callee, has_docstring=has_docstring)
    constructor = Callee("__init__", entry.callee.parameters)
    methods = [
        _function(draft, callee, "self", has_docstring=has_docstring)
        for callee in (constructor, *entry.methods)
    ]
    body = [_indented(method) for method in methods]
    if has_docstring:
        body.insert(0, "\n".join(_documented_class(draft, entry)))
    return f"class {entry.name}{base_of(draft, entry)}:\n" + "\n\n".join(body)


def _documented_class(draft: Draft, entry: EntryPoint) -> list[str]:
    """Return the lines of a class's docstring, with a line for each parameter of a module."""
    begin = '    """TODO: say in one line what it holds.'
    if not draft.weights or not base_of(draft, entry):
        return [f'{begin}"""']
    width = max(len(name) for name, _ in draft.weights) + 3
    shown = {name: f"[{', '.join(axes)}]" if axes else "one number" for name, axes in draft.weights}
    lines = [f"    {f'{name}:':<{width}}{shape}, a parameter." for name, shape in shown.items()]
    return [begin, "", *lines, '    """']


def _function(draft: Draft, callee: Callee, *first: str, has_docstring: bool) -> str:
    shown = [_annotated(draft, p) if has_docstring else p.declared for p in callee.parameters]
    result = f" -> {_result(draft, callee)}" if has_docstring else ""
    lines = [f"def {callee.name}({', '.join([*first, *shown])}){result}:"]
    if has_docstring:
        lines += _described(callee)
    return "\n".join([*lines, f"    {UNWRITTEN if has_docstring else DUE}"])


def _result(draft: Draft, callee: Callee) -> str:
    if callee.name == "__init__":
        return "None"
    return draft.snippets.array if not callee.result or callee.axes else callee.result


def _described(callee: Callee) -> list[str]:
    """Return the lines of a docstring with a line for each argument."""
    if callee.name == "__init__":
        return []
    width = max(len(name) for name in ("returns", *(p.name for p in callee.parameters))) + 3
    result = ", ".join(callee.axes)
    rows = [
        (p.name, _shown(p) or f"TODO: say shape, dtype and values of {p.name}") for p in callee.parameters
    ]
    rows.append(("returns", f"[{result}]." if result else "TODO: say shape and dtype of the result"))
    lines = [f"    {f'{name}:':<{width}}{text}" for name, text in rows]
    return ['    """TODO: say in one line what it does.', "", *lines, '    """']


def _shown(parameter: Parameter) -> str:
    """Return what the signature says of an argument: the axes of an array, or that it is a generator."""
    if parameter.kind == "rng":
        return "the generator to draw from."
    floats = ", float32 or float64" if parameter.kind == "array" else ""
    return f"[{', '.join(parameter.axes)}]{floats}." if parameter.axes else ""


def _annotated(draft: Draft, parameter: Parameter) -> str:
    plain = parameter.kind if parameter.kind in ("int", "float", "bool", "str") else draft.snippets.array
    plain = draft.snippets.rng if parameter.kind == "rng" else plain
    annotation = parameter.annotation or ("object" if parameter.kind == "other" else plain)
    default = "" if parameter.default is None else f" = {parameter.default}"
    return f"{parameter.name}: {annotation}{default}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))


def question_stub(draft: Draft) -> str:
    """Return the draft of a page of questions: the situation, the numbers, and a line for each question."""
    passes = math.ceil(PASSES * len(draft.entries))
    table = _table(_numbers(draft))
    return filled("questions/stub", draft=draft, table=table, rows=ROWS, passes=passes, counted=counted)


def question_declaration(draft: Draft) -> str:
    """Return the draft of the declaration of a page of questions."""
    return filled("questions/declaration", draft=draft, numbers=_numbers(draft))


def _numbers(draft: Draft) -> Numbers:
    """Return a column for each number that the questions are about. No two numbers of a row are equal."""
    names = [name for name in draft.parameters if name != "row"]  # the row has its own number anyway
    return {
        name: [3 + ROWS * place + (5 * row + 3 * place) % ROWS for row in range(ROWS)]
        for place, name in enumerate(names)
    }


def _table(numbers: Numbers) -> str:
    columns = [["row", *range(ROWS)], *([name, *column] for name, column in numbers.items())]
    widths = [max(len(str(cell)) for cell in column) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        f"    {'  '.join(f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))}".rstrip()
        for line in lines
    )


FOLDER = SYLLABUS_FILE.parent.as_posix()


def new_kata_name(root: Path, place: str, *, new_track: bool) -> tuple[str, str]:
    """Parse `TRACK/NAME`. Raises CourseError if it is malformed, taken, or in an unknown track."""
    track, _, name = place.partition("/")
    if not all(NAME.fullmatch(word) and not keyword.iskeyword(word) for word in (track, name)):
        raise CourseError(
            f"`{place}` cannot be a kata: say TRACK/NAME, each of small letters, digits and underscores,"
            " beginning with a letter, as in sorting/merge_sort."
        )
    if problem := problem_with(name):
        raise CourseError(problem)
    if (root / "exercises").is_dir():
        _require_free(Course(root), track, name, new_track=new_track)
    return track, name


def problem_with(name: str) -> str:
    """Return why no kata can have a name, as a sentence; "" if one can."""
    if not NAME.fullmatch(name):
        return f"`{name}` cannot be a kata: say a name of small letters, digits and underscores."
    if keyword.iskeyword(name):
        return f"`{name}` cannot be a kata: it is a word of Python. Take another name."
    if f"grade.{name}" in ours(COMMANDS_GROUP):
        return f"`{name}` cannot be a kata: `grade {name}` is a command. Take another name."
    if not is_name(name):
        return f"A kata's name has at most {LONGEST_NAME} characters; this one has {len(name)}."
    return ""


def course_folder(folder: Path | None) -> Path:
    """Return the given folder, or the course at or above this one. Raises CourseError if there is none."""
    found = folder or next((f for f in (Path.cwd(), *Path.cwd().parents) if (f / FOLDER).is_dir()), None)
    if found is None:
        raise CourseError("There is no course at or above this folder; begin one here with: --course .")
    read_syllabus(found)
    return found


def _require_free(course: Course, track: str, name: str, *, new_track: bool) -> None:
    if name in course.katas:
        raise CourseError(f"A kata called `{name}` is there already, in {course.katas[name].track}.")
    tracks = list(course.syllabus.path)
    if tracks and track not in tracks and not new_track:
        near = difflib.get_close_matches(track, tracks, n=1)
        known = f"The only track is {tracks[0]}." if len(tracks) == 1 else f"There are {', '.join(tracks)}."
        hint = f"Did you mean `{near[0]}`?" if near else known
        raise CourseError(f"No track is called `{track}`. {hint} `--new-track` begins one.")


def write_kata(root: Path, draft: Draft, own: Mapping[str, str] | None = None) -> list[str]:
    """Write the kata's files, and the course's files if it is new, and return their names. The texts of `own`
    take the place of drafts.

    Raises CourseError, with nothing written, if a file exists, cannot be written, or would be no Python.
    """
    files = _kata_files(draft) | dict(own or {})
    there = next((name for name in files if (root / name).exists()), None)
    if there is not None:
        raise CourseError(f"{there} is there already, and is not overwritten; move it, or take another name.")
    path = root / SYLLABUS_FILE
    begun = path.read_text("utf-8") if path.is_file() else to_text(Syllabus(root.resolve().name))
    files |= {name: text for name, text in _shared_files(draft).items() if not (root / name).exists()}
    listed = with_kata(begun, draft.track, draft.name)
    _require_python(files)
    with all_or_nothing() as changes:
        for name, text in {**files, SYLLABUS_FILE.as_posix(): listed}.items():
            changes.write(root / name, text)
    return [*files, SYLLABUS_FILE.as_posix()]


def _require_python(files: Mapping[str, str]) -> None:
    """Raise CourseError unless all modules among the drafts are Python: a title may hold any character."""
    for name, text in files.items():
        try:
            ast.parse(text if name.endswith(".py") else "")
        except (SyntaxError, ValueError):
            raise CourseError(
                f"{name} would be no Python: leave quotes and backslashes out of title and source, and"
                " say the axes of an argument as names."
            ) from None


def _kata_files(draft: Draft) -> dict[str, str]:
    """Return every file of the kata, in the order in which to complete them."""
    solutions = f"solutions/{draft.track}/{draft.name}"
    declared = f"{FOLDER}/{draft.track}/test_{draft.name}.py"
    stub = f"exercises/{draft.track}/{draft.name}.py"
    if draft.kind == "questions":
        known = {f"{solutions}/mistakes.py": filled("questions/mistakes", draft=draft)}
        answer, declaration = filled("questions/reference", draft=draft), question_declaration(draft)
        statement = question_stub(draft)
    else:
        known = {
            f"{solutions}/mistakes.edits": mistakes(draft),
            f"{solutions}/variants.py": variants(draft),
        }
        answer, declaration = reference_of(draft), signatures.declaration(draft)
        statement = stub_of(draft)
    return {
        f"{solutions}/reference.py": answer,
        declared: declaration,
        **({} if draft.is_draft else known),
        stub: statement,
    }


def _shared_files(draft: Draft) -> dict[str, str]:
    """Return the files that katas share: the course's fixtures, and the variants of a track's questions."""
    found = {f"{FOLDER}/conftest.py": filled("conftest")}
    if draft.kind == "questions":
        found[f"solutions/{draft.track}/variants.py"] = filled("questions/variants")
    return found


def with_kata(text: str, track: str, name: str) -> str:
    """Return the text of path.toml with the kata added to its track, and nothing else changed.

    Raises CourseError if the layout of the file is not supported.
    """
    wanted = tomllib.loads(text)
    names = wanted.setdefault("path", {}).setdefault(track, [])
    if name in names:
        return text
    names.append(name)
    changed = _inserted(text, track, name)
    if _read(changed) != wanted:
        raise CourseError(
            f'{SYLLABUS_FILE.as_posix()}: add "{name}" to its list `{track}`, then say this again.'
        )
    return changed


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with_track(text: str, line: str) -> str:
    """Return the text with a line at the end of its table [path], which is added if it is missing."""
    table = re.search(r"^\[path\]\n(?:(?!#|\[).*\n?)*", text, re.MULTILINE)
    if table is None:
        return f"{text.rstrip()}\n\n[path]\n{line}\n"
    rest = text[table.end() :]
    return f"{text[: table.end()].rstrip()}\n{line}\n" + (f"\n{rest}" if rest else "")


def _inserted(text: str, track: str, name: str) -> str:
    listed = re.search(rf"^{track}\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    if listed is None:
        return _with_track(text, f'{track} = ["{name}"]')
    names = listed[1].rstrip()
    comma = "" if not names or names.endswith(",") else ","
    space = " " if names else ""
    return f'{text[: listed.start(1)]}{names}{comma}{space}"{name}"{text[listed.start(1) + len(names) :]}'
