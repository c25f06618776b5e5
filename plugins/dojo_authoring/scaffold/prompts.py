"""Complete what `kata new` was given, by asking for what is missing."""

from __future__ import annotations

import ast
import re
import sys

import click

from dojo_authoring.scaffold.draft import SNIPPET_KINDS, Draft, KataKind, Library
from dojo_authoring.scaffold.signatures import EntryPoint, read_questions, read_signatures
from grader.course.catalog import CourseError

QUESTION = re.compile(r"\s*[A-Z][A-Z0-9_]+\s*\(")
KNOWN_IN_DEFAULTS = ("math", "np", "torch")
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
        _require_known_defaults(entries)
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
    if not entries[0].is_class:
        return "sampler" if any(p.kind == "rng" for p in entries[0].callee.parameters) else "function"
    is_module = any(method.name == "forward" for method in entries[0].methods)
    return "module" if is_module and library != "numpy" else "object"


def _require_known_defaults(entries: tuple[EntryPoint, ...]) -> None:
    """Raise CourseError for a default with a name that a stub does not know."""
    for p in (p for entry in entries for callee in entry.callees for p in callee.parameters):
        names = [node.id for node in ast.walk(ast.parse(p.default or "0")) if isinstance(node, ast.Name)]
        unknown = next((name for name in names if name not in KNOWN_IN_DEFAULTS), None)
        if unknown is not None:
            raise CourseError(
                f"`{p.declared}`: a default may name {', '.join(KNOWN_IN_DEFAULTS)} alone; write {unknown} as"
                " a number or a text."
            )


def _require_parts(entries: tuple[EntryPoint, ...], kind: KataKind) -> None:
    """Raise CourseError if the signatures lack what the kind needs."""
    if kind in ("module", "object") and not entries[0].is_class:
        raise CourseError(f"A kata of the kind {kind} needs a class: {' and '.join(EXAMPLES[kind])}.")
    if kind == "module" and all(method.name != "forward" for method in entries[0].methods):
        raise CourseError(f"A module needs a method forward: --signature '{entries[0].name}.forward(x)'.")
    if kind == "sampler" and entries[0].is_class:
        raise CourseError(f"A sampler is a function: {EXAMPLES[kind][0]}. Take --kind object for a class.")
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
