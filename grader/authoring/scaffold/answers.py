"""Drafts of mistakes and variants that apply to every function of an array."""

from __future__ import annotations

from dataclasses import dataclass

from grader.authoring.scaffold.library_snippets import Draft, base_of
from grader.authoring.scaffold.signatures import Callee

MISTAKES = '''\
"""What goes wrong in {name}: one {kind} a mistake, its docstring what the student is told."""

{imports}


{right}


{mistakes}


# TODO: add what goes wrong in this kata: a step left out, done twice, swapped, along the wrong axis
'''
VARIANTS = '''\
"""Right answers to {name} in other styles."""

{imports}


{right}


{variants}


# TODO: add other styles: loops, einsum, library calls, another order of the steps
'''
RIGHT_DUE = (
    "raise NotImplementedError  # TODO: write the right answer once more; each mistake changes one thing"
)
OTHER_DUE = "raise NotImplementedError  # TODO: write the right answer in another style than the reference's"


@dataclass(frozen=True)
class DraftedAnswer:
    """A drafted mistake or variant: its name, its docstring, and a body that calls the right answer."""

    name: str
    text: str
    body: tuple[str, ...]


def mistakes(draft: Draft) -> str:
    """Return the draft of mistakes.py: wrong answers that call a right one, which is still to be written."""
    found = [*_mistakes_of_arrays(draft), *_mistakes_of_defaults(draft)]
    return MISTAKES.format(
        name=draft.name,
        kind="class" if draft.entries[0].is_class else "function",
        imports=draft.imports + ("\n\n_SEEN = {}" if draft.array else ""),
        right=_right(draft, RIGHT_DUE),
        mistakes="\n\n\n".join(_written(draft, answer) for answer in found),
    )


def variants(draft: Draft) -> str:
    """Return the draft of variants.py: right answers that call one that is still to be written."""
    return VARIANTS.format(
        name=draft.name,
        imports=draft.imports,
        right=_right(draft, OTHER_DUE),
        variants="\n\n\n".join(_written(draft, answer) for answer in _drafted_variants(draft)),
    )


def _drafted_variants(draft: Draft) -> list[DraftedAnswer]:
    plain = _call(draft)
    found = [DraftedAnswer("in_other_words", "In other words.", (f"return {plain}",))]
    if draft.array is not None and not draft.entries[0].is_class:
        snippets, arrays = draft.snippets, [p.name for p in draft.judged.parameters if p.kind == "array"]
        wide = _call(draft, **{name: snippets.wide.format(x=name) for name in arrays})
        text = "Widened at the door, cast back at the end."
        found.append(
            DraftedAnswer("in_float64", text, (f"return {snippets.back.format(wide, x=draft.array)}",))
        )
    return found


def _mistakes_of_arrays(draft: Draft) -> list[DraftedAnswer]:
    x, snippets = draft.array, draft.snippets
    if x is None:
        return []
    wide = _call(draft, **{x: snippets.wide.format(x=x)})
    narrow = snippets.back.format(_call(draft, **{x: snippets.narrow.format(x=x)}), x=x)
    return [
        DraftedAnswer("widens_to_float64", WIDENS.format(x=x), (f"return {wide}",)),
        DraftedAnswer("computes_in_float32", NARROWS.format(x=x), (f"return {narrow}",)),
        DraftedAnswer("trusts_the_memory_layout", LAYOUT.format(x=x),
               (f"return {_call(draft, **{x: snippets.in_memory_order.format(x=x)})}",)),
        DraftedAnswer("overwrites_the_argument", OVERWRITES.format(x=x),
               (f"result = {_call(draft)}", f"{x} *= 2", "return result")),
        DraftedAnswer("answers_as_the_first_time", REMEMBERS,
               (f"return _SEEN.setdefault(({x}.shape, {x}.dtype), {_call(draft)})",)),
    ]  # fmt: skip


def _mistakes_of_defaults(draft: Draft) -> list[DraftedAnswer]:
    """Return a mistake for each argument with a default: it ignores the argument."""
    return [
        DraftedAnswer(f"ignores_the_{p.name}_given", IGNORES.format(name=p.name, default=p.default),
               (f"return {_call(draft, without=p.name)}",))
        for p in draft.judged.parameters
        if p.default is not None
    ]  # fmt: skip


def _call(draft: Draft, without: str = "", **changed: str) -> str:
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


def _right(draft: Draft, due: str) -> str:
    """Return the draft of the right answer; it is private, so that it does not count as an answer."""
    first = draft.entries[0]
    if not first.is_class:
        return f"def _{first.name}({first.callee.declared}):\n    {due}"
    parts = [f"class _{first.name}{base_of(draft, first)}:"]
    for callee in (Callee("__init__", first.callee.parameters), *first.methods):
        declared = ", ".join(["self", *(p.declared for p in callee.parameters)])
        parts.append(f"    def {callee.name}({declared}):\n        {due}\n")
    return "\n".join(parts).rstrip()


def _written(draft: Draft, answer: DraftedAnswer) -> str:
    first, callee = draft.entries[0], draft.judged
    lint_comment = "  # noqa: ARG001 - the mistake" if answer.name.startswith("ignores") else ""
    if not first.is_class:
        head = f"def {answer.name}({callee.declared}):{lint_comment}"
        return "\n".join([head, *_documented(answer.text, 4), *(f"    {line}" for line in answer.body)])
    lint_comment = lint_comment.replace("ARG001", "ARG002")
    declared = ", ".join(["self", *(p.declared for p in callee.parameters)])
    lines = [f"class {answer.name}(_{first.name}):", *_documented(answer.text, 4), ""]
    return "\n".join(
        [*lines, f"    def {callee.name}({declared}):{lint_comment}", *(f"        {b}" for b in answer.body)]
    )


def _documented(text: str, indent: int) -> list[str]:
    import textwrap

    lead = " " * indent
    lines = textwrap.wrap(f'"""{text}', 106 - indent, initial_indent=lead, subsequent_indent=lead)
    return [*lines[:-1], lines[-1] + '"""']


WIDENS = (
    "float32 comes back as float64, twice the memory: something on the way is float64 and widens the rest."
    " The result has the dtype of {x}; check casts, and NumPy scalars such as np.sqrt(2)."
)
NARROWS = (
    "float64 arguments get results with half of their digits: the work was done in float32. The result has"
    " the dtype of {x}, in its digits too; check casts."
)
LAYOUT = (
    "Where {x} is a transposed view the result is wrong, elsewhere right: its numbers are taken in the"
    " order that they have in memory. Check what becomes of {x} when it is cut or flattened."
)
OVERWRITES = (
    "The caller's {x} holds something else after the call: an operation in place writes into the caller's"
    " memory. Make a new array in the first step."
)
REMEMBERS = (
    "The first call is right, and later ones of the same shape get its answer again: something outlives the"
    " call. Check what is kept between calls."
)
IGNORES = (
    "Right where {name} is left out; another {name} changes nothing: the number {default} is written into"
    " the code. Check that the argument is what the formula uses."
)
