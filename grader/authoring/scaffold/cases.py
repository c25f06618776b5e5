"""The draft of a declaration: a case strategy for the arguments, and a law that holds for any function."""

from __future__ import annotations

import json

from grader.authoring.scaffold.library_snippets import Draft, base_of
from grader.authoring.scaffold.signatures import Callee, Parameter

DECLARATION = '''\
"""{name}: its cases and its laws."""

{imports}
from grader.kata import Kata

KATA = Kata(
    {quoted},
    track={track},
    entry_points={entry_points},
    title={title},
    source={source},
{library}    hints=(
        "TODO: give a nudge: where to look, what to try by hand",
        "TODO: name the step at which most go wrong",
        "TODO: say nearly the answer, in words and never in code",
    ),
    bank_size=40,
)


@KATA.cases
def cases(draw):
    """TODO: draw what tells wrong answers apart: one row and many, no square, large numbers, ties"""
{shape}    return {{
{drawn}
    }}
{observe}{law}

# TODO: add a law of the thing itself: a claim that holds for every case, whatever the numbers are
'''
OBSERVE = '''

@KATA.observe
def observe(student, {names}):
    """What is compared with the reference's answers."""
{made}    return {{{results}}}
'''
LAYOUT = '''

@KATA.law(points=1)
def test_memory_layout_does_not_matter(student, {names}):
    """{array} may lie in memory in any order."""
    relaid = {relaid}
    what = "the result for {array} laid out column by column"
    expect.close(student.{called}, student.{plain}, what, terms={terms})
'''


def declaration(draft: Draft) -> str:
    """Return the draft of the kata's declaration."""
    arrays = any(p.kind in ("array", "integers", "mask") for p in draft.parameters.values())
    names = ", ".join(draft.parameters)
    law = _law(draft)
    return DECLARATION.format(
        name=draft.name,
        quoted=json.dumps(draft.name),
        track=json.dumps(draft.track),
        title=json.dumps(draft.title, ensure_ascii=False),
        source=json.dumps(draft.source, ensure_ascii=False),
        entry_points=_tuple([entry.name for entry in draft.entries]),
        library='    library="torch",\n' if draft.library == "torch" else "",
        imports=_imports(draft, bool(law)),
        shape="    shape, dtype = draw(st.shapes(2)), draw(st.float_dtypes())\n" if arrays else "",
        drawn="\n".join(f'        "{p.name}": {_drawn(draft, p)},' for p in draft.parameters.values()),
        observe=_observe(draft, names),
        law=law,
    )


def _tuple(names: list[str]) -> str:
    return f"({', '.join(map(json.dumps, names))}{',' if len(names) == 1 else ''})"


def _imports(draft: Draft, has_law: bool) -> str:
    lines = ["from grader import strategies as st"]
    kinds = {p.kind for p in draft.parameters.values()}
    if kinds & {"integers", "mask"} or (has_law and draft.library == "numpy"):
        lines.insert(0, "import numpy as np\n")
    if has_law:
        lines.insert(-1, "from grader import expect")
    return "\n".join(lines)


def _drawn(draft: Draft, parameter: Parameter) -> str:
    wrapped = draft.snippets.drawn.format
    if parameter.kind == "array":
        return wrapped("st.permuted(st.arrays(shape, dtype))")
    if parameter.kind == "integers":
        return wrapped("st.just(np.random.default_rng(draw(st.integers(0, 99))).integers(0, 6, shape))")
    if parameter.kind == "mask":
        return wrapped("st.just(np.random.default_rng(draw(st.integers(0, 99))).random(shape) < 0.5)")
    arrays = any(p.kind == "array" for p in draft.parameters.values())
    if parameter.name.startswith("d_") and parameter.default is None and arrays:
        return "shape[-1]"  # such as d_model, the width of the vectors
    return _drawn_number(parameter)


def _drawn_number(parameter: Parameter) -> str:
    default = parameter.default
    if parameter.kind == "bool":
        return "draw(st.booleans())"
    if parameter.kind == "int":
        return f"draw(st.sampled_from([{default}, {default} + 1]))" if default else "draw(st.integers(1, 4))"
    if parameter.kind == "float":
        others = "0.25, 0.5" if default is None or float(default) == 0.5 else "0.5"
        return f"draw(st.sampled_from([{default or 1.0}, {others}]))"
    return default or "None"


def _observe(draft: Draft, names: str) -> str:
    """Return the `observe` function, which is needed for classes and for several functions."""
    if len(draft.entries) == 1 and not draft.entries[0].is_class:
        return ""
    made, results = "", []
    for entry in draft.entries:
        if not entry.is_class:
            results.append(f'"{entry.name}": student.{_call(entry.callee)}')
            continue
        thing = "module" if base_of(draft, entry) else "made"
        made += f"    {thing} = student.{_call(entry.callee)}\n"
        results += [f'"{method.name}": {_method_call(thing, method)}' for method in entry.methods]
    return OBSERVE.format(names=names, made=made, results=", ".join(results))


def _method_call(thing: str, method: Callee) -> str:
    return f"{thing}({method.passed})" if method.name == "forward" else f"{thing}.{_call(method)}"


def _call(callee: Callee) -> str:
    return f"{callee.name}({callee.passed})"


def _law(draft: Draft) -> str:
    """Return the law that memory layout does not matter; empty without an array or for a class."""
    array, callee = draft.array, draft.judged
    if array is None or draft.entries[0].is_class:
        return ""
    called = ", ".join("relaid" if p.name == array else p.name for p in callee.parameters)
    return LAYOUT.format(
        names=callee.passed,
        array=array,
        relaid=draft.snippets.relaid.format(x=array),
        called=f"{callee.name}({called})",
        plain=_call(callee),
        terms=f"{array}.size" if draft.library == "numpy" else f"{array}.numel()",
    )
