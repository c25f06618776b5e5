"""Drafts of the stub, with the outline of its statement, and of the reference."""

from __future__ import annotations

import textwrap

from dojo_authoring.scaffold.draft import Draft, base_of
from dojo_authoring.scaffold.signatures import Callee, EntryPoint, Parameter

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
    body = [textwrap.indent(method, "    ") for method in methods]
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
