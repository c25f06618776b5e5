"""The draft of a declaration: cases of unequal sizes for the arguments, and the laws that fit the kind."""

from __future__ import annotations

import json
import re

from dojo_authoring.scaffold.draft import Draft, base_of, tuple_of
from dojo_authoring.scaffold.samplers import certain_value, chance_source, counting_laws
from dojo_authoring.scaffold.signatures import Callee, Parameter

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
{hints}{options}    bank_size=40,
)
{constants}
{cases}{observe}{laws}
'''
LAW_DUE = """
# TODO: add a law of the thing itself: a claim that holds for every case, whatever the numbers are
"""
CASES = '''
@KATA.cases
def cases(draw):
    """TODO: {advice}"""
{sizes}    return {{
{drawn}
    }}
'''
HINTS = """\
    hints=(
        "TODO: give a nudge: where to look, what to try by hand",
        "TODO: name the step at which most go wrong",
        "TODO: say nearly the answer, in words and never in code",
    ),
"""
OBSERVE = '''

@KATA.observe
def observe(student, {names}):
    """What is compared with the reference's answers."""
{made}    return {{{results}}}
'''
APART = '''

@KATA.law(points=1)
def test_two_objects_share_nothing(student, {names}):
    """Two objects do not share what they hold."""
{generators}    first, second = {made}
    alone = [{first}]
    expect.equal([{second}], alone, "what a second object answers")
'''
TWO_GENERATORS = """\
    first_{rng}, second_{rng} = (student.build(RNG, "seeded", seed) for _ in range(2))
"""
TINY = 1e-3  # the largest default that is taken for an eps
FRACTION = re.compile(r"[\d.]+(e-?\d+)?")
#: How the elements of a list are drawn; the few letters make texts that begin alike.
ELEMENTS = {
    "int": "st.integers(0, 5)",
    "float": "st.sampled_from([-1.0, 0.0, 0.5, 2.0])",
    "bool": "st.booleans()",
    "str": 'st.text("ab", max_size=5)',
}
ARRAYS_ADVICE = "draw what tells wrong answers apart: ties, large and small numbers, equal rows"
OTHER_ADVICE = "draw what tells wrong answers apart: the values at which the answer changes"


def declaration_of(draft: Draft, cases: str = "") -> str:
    """Return the draft of the kata's declaration. A source text in `cases` takes the place of the drafted
    function that draws them."""
    constants = chance_source(draft)
    text = DECLARATION.format(
        name=draft.name,
        quoted=json.dumps(draft.name),
        track=json.dumps(draft.track),
        title=json.dumps(draft.title, ensure_ascii=False),
        source=json.dumps(draft.source, ensure_ascii=False),
        entry_points=tuple_of([json.dumps(entry.name) for entry in draft.entries]),
        hints="    hints=(),\n" if draft.is_draft else HINTS,
        options=_options(draft),
        imports="{imports}",
        constants=constants,
        cases=cases or _cases(draft),
        observe=_observe(draft),
        laws=_laws(draft),
    )
    return text.replace("{imports}", _imports(text + LAW_DUE), 1) + LAW_DUE


def _cases(draft: Draft) -> str:
    """Return the function that draws a case."""
    body = "\n".join(f'        "{name}": {value}' for name, value in _with_gaps(draft).items())
    has_arrays = any(p.kind == "array" for p in draft.parameters.values())
    advice = ARRAYS_ADVICE if has_arrays and draft.kind != "sampler" else OTHER_ADVICE
    return CASES.format(advice=advice, sizes=_sizes(draft), drawn=body)


def _with_gaps(draft: Draft) -> dict[str, str]:
    """Return the lines of the arguments of a case; those of an unknown type are to be written."""
    unknown = {p.name for p in draft.parameters.values() if p.kind == "other" and p.default is None}
    gaps = dict.fromkeys(unknown, "  # TODO: draw one")
    return {name: f"{value},{gaps.get(name, '')}" for name, value in _drawn(draft).items()}


def _options(draft: Draft) -> str:
    named = {p.name: p.axes for p in draft.parameters.values() if p.axes}
    axes = ", ".join(f'"{name}": "{" ".join(given)}"' for name, given in named.items())
    lines = [
        "draft=True," if draft.is_draft else "",
        'library="torch",' if draft.library == "torch" else "",
        "grades_gradients=True," if draft.kind == "module" else "",
        "grades_device=False," if draft.rng and draft.library == "torch" else "",
        f"axes={{{axes}}}," if axes else "",
    ]
    return "".join(f"    {line}\n" for line in lines if line)


def _imports(text: str) -> str:
    """Return the imports that the text of a declaration needs."""
    code = text.partition("KATA = ")[2]
    lines = ["from grader import strategies as st"] if "st." in code else []
    if "expect." in code:
        lines.insert(0, "from grader import expect")
    before, _, rest = code.partition('RNG = """')
    own = before + rest.partition('"""')[2]  # without the source text, which has imports of its own
    libraries = {"np.": "import numpy as np", "torch.": "import torch"}
    head = ["import math", ""] if re.search(r"\bmath\.", own) else []
    used = [line for name, line in libraries.items() if re.search(rf"\b{re.escape(name)}", own)]
    return "\n".join([*head, *used, "", *lines] if used else [*head, *lines])


def _sizes(draft: Draft) -> str:
    """Return the lines that draw the sizes, of which no two are equal, and the dtype."""
    lines, heads = [], draft.parameters.get("num_heads")
    wide = draft.axes_of(draft.array)[-1] if draft.array else ""
    if heads and wide:
        lines.append("num_heads = draw(st.integers(1, 3))")
    for index, name in enumerate(draft.sizes):
        divided = heads and name == wide
        size = "num_heads * draw(st.integers(2, 3))" if divided else _size(index, len(draft.sizes))
        lines.append(f"{name} = {size}")
    if any(p.kind == "array" for p in draft.parameters.values()) or draft.weights:
        lines.append("dtype = draw(st.float_dtypes())")
    return "".join(f"    {line}\n" for line in lines)


def _size(index: int, number: int) -> str:
    if number == 1:
        return "draw(st.integers(2, 6))"
    return f"draw(st.integers({3 * index + 1}, {3 * index + 3}))"


def _drawn(draft: Draft) -> dict[str, str]:
    """Return the source of each argument of a case, by name."""
    found = {}
    for callee in draft.callees:
        is_method = any(callee in entry.methods for entry in draft.entries)
        if draft.weights and is_method and "weights" not in found:
            found["weights"] = _drawn_weights(draft)
        found |= {p.name: _drawn_value(draft, p) for p in callee.parameters if p.kind != "rng"}
    return found | ({"seed": "draw(st.integers(0, 2**16))"} if draft.rng else {})


def _drawn_weights(draft: Draft) -> str:
    arrays = [
        f'            "{name}": draw(st.tensors(st.normal_arrays({tuple_of(axes)}, dtype))),\n'
        for name, axes in draft.weights
    ]
    return f"{{\n{''.join(arrays)}        }}"


def _drawn_value(draft: Draft, parameter: Parameter) -> str:
    if draft.kind == "sampler" and (certain := certain_value(draft, parameter)):
        return certain
    shape, wrapped = tuple_of(draft.axes_of(parameter)), draft.snippets.drawn.format
    if parameter.kind == "array":
        drawn = f"st.arrays({shape}, dtype)"
        return wrapped(f"st.permuted({drawn})" if len(draft.axes_of(parameter)) > 1 else drawn)
    random = "np.random.default_rng(draw(st.integers(0, 99)))"
    if parameter.kind == "integers":
        return wrapped(f"st.just({random}.integers(0, 6, {shape}))")
    if parameter.kind == "mask":
        return wrapped(f"st.just({random}.random({shape}) < 0.5)")
    is_drawn = parameter.name in draft.sizes or (parameter.name == "num_heads" and draft.array)
    return parameter.name if is_drawn else _drawn_plain(parameter)


def is_varied(draft: Draft, parameter: Parameter) -> bool:
    """True if cases differ in an argument with a default."""
    return _drawn_value(draft, parameter) != parameter.default


def _drawn_plain(parameter: Parameter) -> str:
    """Return the source of an argument that is no array."""
    default, kind = parameter.default, parameter.kind
    if kind == "bool":
        return "draw(st.booleans())"
    if kind == "int" and (default is None or default.isdecimal()):
        return f"draw(st.sampled_from([{default}, {default} + 1]))" if default else "draw(st.integers(1, 4))"
    if kind == "float" and (default is None or FRACTION.fullmatch(default)):
        return f"draw(st.sampled_from([{default or 1.0}, {_other_fractions(default)}]))"
    if kind == "str" and default is None:
        return f"draw({ELEMENTS['str']})"
    if kind == "list" and default is None:
        element = str(parameter.annotation)[len("list[") : -1]
        return f"draw(st.lists({ELEMENTS[element]}, min_size=1, max_size=5))"
    return default or "None"


def _other_fractions(default: str | None) -> str:
    """Return the source of numbers that are drawn beside the default, or beside 1 without one."""
    if default is None or float(default) == 0.5:
        return "0.25, 0.5"
    return (
        "0.5" if float(default) > TINY else "3.0"
    )  # an eps that is the least of lengths shows if it is large


def _observe(draft: Draft) -> str:
    """Return the `observe` function, which classes, samplers and several functions need."""
    if len(draft.entries) == 1 and not draft.entries[0].is_class and not draft.rng:
        return ""
    made, results = "", []
    if draft.rng:
        made = f'    {draft.rng} = student.build(RNG, "seeded", seed)\n'
    for entry in draft.entries:
        if not entry.is_class:
            results.append(f'"{entry.name}": student.{call(entry.callee)}')
            continue
        thing = "module" if base_of(draft, entry) else "made"
        created = f"student.{call(entry.callee)}"
        created = f"expect.loads(student, {created}, weights)" if draft.weights else created
        made += f"    {thing} = {created}\n"
        if thing == "module" and any(_is_dropout(p) for p in entry.callee.parameters):
            made += "    module.eval()  # in training every call drops other numbers\n"
        calls = [(method.name, method_call(thing, method)) for method in entry.methods]
        if thing == "made":  # what an object holds shows at the second call
            calls.append((f"{calls[0][0]} again", calls[0][1]))
        results += [f'"{name}": {source}' for name, source in calls]
    if len(results) == 1:
        results = [f'"result": {results[0].partition(": ")[2]}']
    return OBSERVE.format(names=", ".join(_drawn(draft)), made=made, results=", ".join(results))


def _is_dropout(parameter: Parameter) -> bool:
    """True if an argument is the share that a module drops in training, by its name."""
    return parameter.kind == "float" and (parameter.name == "p" or "drop" in parameter.name)


def method_call(thing: str, method: Callee, rng: str = "") -> str:
    """Return the source of a call of a method."""
    called = call(method, rng)
    return f"{thing}{called.removeprefix(method.name)}" if method.name == "forward" else f"{thing}.{called}"


def call(callee: Callee, rng: str = "") -> str:
    """Return the source of a call in which each argument is a variable of its name, and the generator the
    variable `rng` if that is given."""
    passed = (rng if rng and p.kind == "rng" else p.name for p in callee.parameters)
    return f"{callee.name}({', '.join(passed)})"


def _laws(draft: Draft) -> str:
    """Return the laws that fit the kind: objects share nothing, samplers draw as often as they should."""
    if draft.kind == "sampler":
        return counting_laws(draft)
    first = draft.entries[0]
    if draft.kind != "object" or not first.is_class:
        return ""
    answers, made = {}, []
    for thing in ("first", "second"):
        rng = f"{thing}_{draft.rng}"  # each object has a generator of its own, and both draw the same
        answers[thing] = ", ".join(method_call(thing, method, rng) for method in first.methods)
        made.append(f"student.{call(first.callee, rng)}")
    parameters = [p for callee in (first.callee, *first.methods) for p in callee.parameters]
    names = dict.fromkeys("seed" if p.kind == "rng" else p.name for p in parameters)
    generators = TWO_GENERATORS.format(rng=draft.rng) if "seed" in names else ""
    return APART.format(names=", ".join(names), generators=generators, made=", ".join(made), **answers)
