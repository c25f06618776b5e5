"""Parse the signatures of a new kata, such as `moving_average(x, weights, eps=1e-6)` or `Queue.append(x)`.

A text in place of an annotation names the axes of an array: `moving_average(x: 'rows columns', eps=1e-6)`.
It may begin with what the array holds: `mask: 'bool rows columns'`.

Source snippets in NumPy and in PyTorch, and the draft that uses them.

The draft of a declaration: cases of unequal sizes for the arguments, and the laws that fit the kind.

The parts of a draft that are special to samplers: a seeded generator, certain cases and counting laws.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.course.catalog import CourseError

Kind = Literal["array", "integers", "mask", "int", "float", "bool", "str", "list", "rng", "other"]

KINDS: dict[str, Kind] = {"int": "int", "float": "float", "bool": "bool", "str": "str"}
ARRAYS: dict[str, Kind] = {"int": "integers", "float": "array", "bool": "mask"}
LIST = re.compile(r"list\[(int|float|bool|str)\]")
ANY_ARRAY = re.compile(r"ndarray|Tensor|Array")
COUNTS = re.compile(r"^(n|num|d|max)_|_(len|id|size)$")  # not `k`, which usually means keys
FRACTIONS = ("p", "eps", "temperature", "base", "theta")
RNGS = ("rng", "generator")
TAKEN = ("student", "expect", "np", "st", "torch", "nn")  # names that a declaration uses


@dataclass(frozen=True)
class Parameter:
    """One argument: its name, its default as source, the kind of value that is drawn for it, and the names of
    an array's axes if they were given."""

    name: str
    default: str | None
    kind: Kind
    annotation: str | None
    axes: tuple[str, ...] = ()

    @property
    def declared(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class Callee:
    """A function, or one method of a class. `result` is its return annotation as source."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str = ""

    @property
    def declared(self) -> str:
        return ", ".join(parameter.declared for parameter in self.parameters)

    @property
    def passed(self) -> str:
        return ", ".join(parameter.name for parameter in self.parameters)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the result, if a text in place of its annotation names them."""
        return _axes(self.result.strip("'\""))[1] if self.result[:1] in ("'", '"') else ()

    @property
    def returns_floats(self) -> bool:
        """False if the result is known to hold truth values or integers, by its annotation or by its name."""
        said = _axes(self.result.strip("'\""))[0] if self.axes else KINDS.get(self.result)
        named = "mask" if self.name.startswith(("is_", "has_")) else _kind_of_array(self.name)
        return (said or named or "array") == "array"


@dataclass
class EntryPoint:
    """A function, or a class with its constructor and its methods."""

    callee: Callee
    is_class: bool = False
    methods: list[Callee] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.callee.name


def read_signatures(texts: tuple[str, ...]) -> list[EntryPoint]:
    """Return the entry points in the given order. Raises CourseError for a wrong or repeated signature."""
    found: dict[str, EntryPoint] = {}
    for text in texts:
        owner, callee = _read(text)
        if owner is not None:
            holder = found.setdefault(owner, EntryPoint(Callee(owner, ()), is_class=True))
            holder.methods.append(callee)
        elif callee.name in found:
            raise CourseError(f"`{callee.name}` is given twice; each entry point has one signature.")
        else:
            found[callee.name] = EntryPoint(callee, callee.name[0].isupper())
    lacking = next((e.name for e in found.values() if e.is_class and not e.methods), None)
    if lacking is not None:
        raise CourseError(f"`{lacking}` is a class; give a method too: --signature '{lacking}.forward(x)'.")
    return list(found.values())


def read_questions(texts: tuple[str, ...]) -> list[EntryPoint]:
    """Return the questions of a page: the constant that answers each, and the numbers that it is about, as
    in `CAUSAL_PAIRS(tokens)`. Raises CourseError for another name, or if there are no numbers."""
    found: dict[str, EntryPoint] = {}
    for text in texts:
        owner, callee = _read(text)
        if owner is not None or not callee.name.isupper() or callee.name in ("STUDENT", "ROW"):
            raise CourseError(
                f"`{text}` is no question; write the constant that answers it, in capitals, and the numbers"
                " that it is about: --signature 'CAUSAL_PAIRS(tokens)'."
            )
        if callee.name in found:
            raise CourseError(f"`{callee.name}` is given twice; each question has one signature.")
        found[callee.name] = EntryPoint(callee)
    if all(p.name == "row" for entry in found.values() for p in entry.callee.parameters):
        raise CourseError("The questions are about no numbers; name one: --signature 'CAUSAL_PAIRS(tokens)'.")
    return list(found.values())


def _read(text: str) -> tuple[str | None, Callee]:
    """Return the class of a method signature or None, and the function. Raises CourseError."""
    match = re.fullmatch(r"\s*(?:([A-Za-z]\w*)\.)?([A-Za-z]\w*)\s*(\(.*\)(?:\s*->.*)?)\s*", text, re.DOTALL)
    try:
        if match is None:
            raise SyntaxError
        source = f"def {match[2]}{match[3]}: ..."
        node = ast.parse(source).body[0]
    except SyntaxError:
        raise CourseError(
            f"`{text}` is no signature; write it as in Python: --signature 'moving_average(x, eps=1e-6)'."
        ) from None
    assert isinstance(node, ast.FunctionDef)
    result = ast.unparse(node.returns) if node.returns else ""
    return match[1], Callee(match[2], _parameters(node, source, text), result)


def _parameters(node: ast.FunctionDef, source: str, text: str) -> tuple[Parameter, ...]:
    found = node.args
    if found.vararg or found.kwarg or found.kwonlyargs or found.posonlyargs:
        raise CourseError(f"`{text}`: a kata's arguments are passed by name; leave out *, ** and /.")
    arguments = [argument for argument in found.args if argument.arg != "self"]
    _require_free_names([argument.arg for argument in arguments], text)
    is_sampler = any(argument.arg in RNGS for argument in arguments)
    given = [
        ast.get_source_segment(source, default) for default in found.defaults
    ]  # as typed: 1e-6, not 1e-06
    defaults = [None] * (len(found.args) - len(given)) + given
    return tuple(
        _parameter(argument, default, is_sampler=is_sampler)
        for argument, default in zip(arguments, defaults[len(defaults) - len(arguments) :], strict=True)
    )


def _require_free_names(names: list[str], text: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CourseError(f"`{text}` has two arguments called `{twice}`; rename one of them.")
    taken = next((name for name in names if name in TAKEN), None)
    if taken is not None:
        raise CourseError(f"`{text}`: a declaration uses the name `{taken}` itself; rename the argument.")


def _parameter(argument: ast.arg, default: str | None, *, is_sampler: bool) -> Parameter:
    name, annotation = argument.arg, argument.annotation
    said = ast.unparse(annotation) if annotation else None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        said = annotation.value.strip()
        kind, axes = _axes(said)
        if said not in KINDS:
            return Parameter(name, default, kind or _kind_of_array(name) or "array", None, axes)
    counts = is_sampler and name == "k" and not said  # elsewhere `k` usually means keys
    return Parameter(name, default, "int" if counts else _kind(name, default, said), said)


def _axes(text: str) -> tuple[Kind | None, tuple[str, ...]]:
    """Return what an array holds, if a text such as `bool rows columns` says so, and its axes."""
    words = tuple(text.split())
    return (ARRAYS[words[0]], words[1:]) if words[:1] and words[0] in ARRAYS else (None, words)


def _kind_of_array(name: str) -> Kind | None:
    """Return what an array holds by the convention for its name, or None."""
    if name == "ids" or name.endswith("_ids"):
        return "integers"
    return "mask" if name == "mask" or name.endswith("_mask") else None


def _kind(name: str, default: str | None, annotation: str | None) -> Kind:
    """Infer the kind of an argument from its annotation, its default, or the conventions for its name."""
    if annotation in KINDS:
        return KINDS[annotation]
    if annotation and LIST.fullmatch(annotation):
        return "list"
    if default is not None:
        return (
            KINDS.get(type(ast.literal_eval(default)).__name__, "other") if _is_literal(default) else "other"
        )
    if name in RNGS:
        return "rng"
    if annotation:
        return (_kind_of_array(name) or "array") if ANY_ARRAY.search(annotation) else "other"
    if COUNTS.search(name):
        return "int"
    return _kind_of_array(name) or ("float" if name in FRACTIONS else "array")


def _is_literal(source: str) -> bool:
    try:
        ast.literal_eval(source)
    except ValueError:
        return False
    return True


Library = Literal["numpy", "torch"]
KataKind = Literal["function", "module", "object", "sampler", "questions"]
SNIPPET_KINDS: tuple[KataKind, ...] = ("function", "module", "object", "sampler", "questions")

TEMPLATES = Environment(  # the drafts are Python, so nothing is escaped
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
TEMPLATES.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)


def filled(template: str, **values: Any) -> str:
    """Return the text of `templates/TEMPLATE.py.txt` with values in place of its variables."""
    return TEMPLATES.get_template(f"{template}.py.txt").render(values)


@dataclass(frozen=True)
class LibrarySnippets:
    """Source snippets of one library; `{x}` is replaced by an array's name, `{}` by an expression."""

    imports: str
    array: str
    drawn: str
    wide: str
    back: str
    rng: str
    seeded: str
    next_number: str


NUMPY = LibrarySnippets(
    imports="import numpy as np",
    array="np.ndarray",
    drawn="draw({})",
    wide="{x}.astype(np.float64)",
    back="{}.astype({x}.dtype)",
    rng="np.random.Generator",
    seeded="np.random.default_rng({})",
    next_number="rng.random()",
)
TORCH = LibrarySnippets(
    imports="import torch",
    array="torch.Tensor",
    drawn="draw(st.tensors({}))",
    wide="{x}.double()",
    back="{}.to({x}.dtype)",
    rng="torch.Generator",
    seeded="torch.Generator().manual_seed({})",
    next_number="torch.rand((), generator=rng).item()",
)
SNIPPETS: dict[Library, LibrarySnippets] = {"numpy": NUMPY, "torch": TORCH}


@dataclass(frozen=True)
class Draft:
    """What `kata new` knows of a kata. `weights` are the names and axes of a module's parameters."""

    track: str
    name: str
    title: str
    source: str
    library: Library
    entries: tuple[EntryPoint, ...]
    kind: KataKind = "function"
    weights: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_draft: bool = False  # without mistakes and variants

    @property
    def snippets(self) -> LibrarySnippets:
        return SNIPPETS[self.library]

    @property
    def imports(self) -> str:
        """The imports of the library, with `nn` if there is a module class."""
        needs_nn = any(base_of(self, entry) for entry in self.entries)
        return self.snippets.imports + ("\nfrom torch import nn" if needs_nn else "")

    @property
    def callees(self) -> list[Callee]:
        """All functions, constructors and methods that a case calls."""
        return [callee for entry in self.entries for callee in (entry.callee, *entry.methods)]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All arguments by name; a case has a value for each."""
        return {p.name: p for callee in self.callees for p in callee.parameters}

    @property
    def judged(self) -> Callee:
        """The callee that drafted mistakes change: the first function, or the first method of the class."""
        first = self.entries[0]
        return first.methods[0] if first.is_class else first.callee

    @property
    def array(self) -> Parameter | None:
        """The first array argument of `judged`, or None."""
        return next((p for p in self.judged.parameters if p.kind == "array"), None)

    @property
    def rng(self) -> str:
        """The name of the argument that random numbers are drawn from, or an empty text."""
        return next((p.name for p in self.parameters.values() if p.kind == "rng"), "")

    @property
    def returns_array(self) -> bool:
        """False if the annotation of the result says that it is something else than one array."""
        result = self.judged.result
        return not result or result.startswith(("'", '"')) or result == self.snippets.array

    @property
    def returns_floats(self) -> bool:
        """False if the result is known not to be an array of floats."""
        return self.returns_array and self.judged.returns_floats

    def axes_of(self, parameter: Parameter) -> tuple[str, ...]:
        """Return the names of an array's axes: those given, or two that differ from each other."""
        if parameter.axes:
            return parameter.axes
        widths = [p.name for p in self.parameters.values() if p.name.startswith("d_") and p.default is None]
        return "rows", widths[0] if widths else "columns"

    @property
    def arrays(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """All array arguments and the module's parameters, with the names of their axes."""
        for p in self.parameters.values():
            if p.kind in ("array", "integers", "mask"):
                yield p.name, self.axes_of(p)
        yield from self.weights

    @property
    def sizes(self) -> list[str]:
        """The names of all axes, in the order in which they first occur."""
        return list(dict.fromkeys(axis for _, axes in self.arrays for axis in axes))


def base_of(draft: Draft, entry: EntryPoint) -> str:
    """Return the base class `(nn.Module)` of a PyTorch class with a `forward`, else an empty string."""
    is_module = (
        draft.library == "torch"
        and entry.is_class
        and any(method.name == "forward" for method in entry.methods)
    )
    return "(nn.Module)" if is_module else ""


def shape_of(axes: tuple[str, ...]) -> str:
    """Return the source of a shape, such as `(rows, columns)`."""
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def chance_source(draft: Draft) -> str:
    """Return the source text that makes a generator beside the submission; empty without one."""
    if not draft.rng:
        return ""
    snippets = draft.snippets
    return filled("sampler/generator", snippets=snippets, seeded=snippets.seeded.format("seed"))


def certain_value(draft: Draft, parameter: Parameter) -> str:
    """Return the source of an argument for which the answer is certain; empty if there is no rule for it."""
    if parameter == draft.array:
        *before, last = draft.axes_of(parameter)
        index = f"np.random.default_rng(draw(st.integers(0, 99))).integers(0, {last}, {tuple_of(before)})"
        one_hot = f"{_scale(parameter)}np.eye({last}, dtype=dtype)[{index}]"
        return draft.snippets.drawn.format(f"st.just({one_hot})") if draft.library == "torch" else one_hot
    if draft.array and (parameter.name, parameter.kind) == ("k", "int"):
        if "k" in draft.judged.axes:
            return "1"  # of several indices only the first is certain
        return f"draw(st.integers(1, {draft.axes_of(draft.array)[-1]}))"
    if draft.array is None and parameter == probability(draft):
        return "float(draw(st.integers(0, 1)))"
    return ""


def tuple_of(names: list[str]) -> str:
    """Return the source of a tuple of names."""
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _scale(parameter: Parameter) -> str:
    """Return the factor that makes logits of one-hot rows: 40 leaves the others a chance of 4e-18."""
    return "40 * " if is_logits(parameter) else ""


def is_logits(parameter: Parameter) -> bool:
    """True if the array holds logits and not probabilities, by its name."""
    return "logit" in parameter.name or "score" in parameter.name


def probability(draft: Draft) -> Parameter | None:
    """Return the first argument that is a number between 0 and 1."""
    return next((p for p in draft.judged.parameters if p.kind == "float"), None)


def counting_laws(draft: Draft) -> str:
    """Return the laws of a sampler: it draws from the given generator, and as often as is due."""
    names = [p.name for p in draft.judged.parameters if p.kind != "rng"]
    is_list = "k" in draft.judged.axes  # k indices are drawn, and not one of k
    return filled(
        "sampler/laws",
        names=", ".join([*names, "seed"]),
        rng=draft.rng,
        call=f"{draft.judged.name}({draft.judged.passed})",
        array=draft.array.name if draft.array else "",
        value=_value(draft, draft.array) if draft.array else "",
        drawn=_drawn_by_chance(draft, is_list=is_list),
        keeps_k="k" in names and not is_list,
    )


def _value(draft: Draft, array: Parameter) -> str:
    """Return the source of an array of `shares`."""
    value = "torch.tensor(shares)" if draft.library == "torch" else "np.array(shares)"
    if is_logits(array):
        value = f"{value}.log()" if draft.library == "torch" else f"np.log({value})"
    leading = len(draft.axes_of(array)) - 1
    return value + (f"[{', '.join(['None'] * leading)}]" if leading else "")


def _drawn_by_chance(draft: Draft, *, is_list: bool) -> str:
    """Return the source of what is counted: draws of the event, or the indices that are drawn; empty if
    nothing is known to count."""
    array = draft.array
    if array is None:
        chance = probability(draft)
        return _call(draft, {chance.name: "0.3"}) if chance else ""
    drawn = _call(draft, {})
    if is_list:  # the first of k is as likely as its share, with and without replacement
        return f"int({drawn}.ravel()[0]) for _ in range(400)"
    if draft.judged.result and draft.returns_array:
        if draft.axes_of(array)[-1] in draft.judged.axes:
            return ""  # the entries of the result are no indices
        return f"index for _ in range(400) for index in {drawn}.ravel().tolist()"
    return f"int({drawn}{'.ravel()[0]' if len(draft.axes_of(array)) > 1 else ''}) for _ in range(400)"


def _call(draft: Draft, changed: dict[str, str]) -> str:
    """Return the source of a call in a law without cases: defaults are left out, numbers are literals, and
    of the three indices k=2 are kept."""
    arguments = []
    for p in draft.judged.parameters:
        if p.kind == "rng" or p == draft.array:
            arguments.append(f"{p.name}={p.name}")
        elif p.name == "k" or p.default is None:
            arguments.append(f"{p.name}={changed.get(p.name, '2' if p.kind == 'int' else '1.0')}")
    return f"student.{draft.judged.name}({', '.join(arguments)})"


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
    first, second = student.{made}, student.{made}
    alone = [{first}]
    expect.equal([{second}], alone, "what a second object answers")
'''
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


def declaration(draft: Draft, more: str = LAW_DUE, cases: str = "", imports: str = "") -> str:
    """Return the draft of the kata's declaration.

    `more` is its end, with the `imports` that it needs; `cases` takes the place of the drafted function.
    """
    constants = chance_source(draft)
    text = DECLARATION.format(
        name=draft.name,
        quoted=json.dumps(draft.name),
        track=json.dumps(draft.track),
        title=json.dumps(draft.title, ensure_ascii=False),
        source=json.dumps(draft.source, ensure_ascii=False),
        entry_points=_tuple([entry.name for entry in draft.entries]),
        hints="    hints=(),\n" if draft.is_draft else HINTS,
        options=_options(draft),
        imports="{imports}",
        constants=constants,
        cases=cases or _cases(draft),
        observe=_observe(draft),
        laws=_laws(draft),
    )
    own = _imports(text + more, imports)
    apart = "\n" if imports and not own.startswith("import") else ""
    return text.replace("{imports}", imports + apart + own, 1) + more


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


def _tuple(names: list[str]) -> str:
    return f"({', '.join(map(json.dumps, names))}{',' if len(names) == 1 else ''})"


def _options(draft: Draft) -> str:
    named = {p.name: p.axes for p in draft.parameters.values() if p.axes}
    axes = ", ".join(f'"{name}": "{" ".join(given)}"' for name, given in named.items())
    lines = [
        "draft=True," if draft.is_draft else "",
        'library="torch",' if draft.library == "torch" else "",
        "grades_gradients=True," if draft.kind == "module" else "",
        "grades_device=False," if draft.kind == "sampler" and draft.library == "torch" else "",
        f"axes={{{axes}}}," if axes else "",
    ]
    return "".join(f"    {line}\n" for line in lines if line)


def _imports(text: str, given: str) -> str:
    """Return the imports that the text of a declaration needs, but those that are `given`."""
    code = text.partition("KATA = ")[2]
    lines = ["from grader import strategies as st"] if "st." in code else []
    if "expect." in code:
        lines.insert(0, "from grader import expect")
    before, _, rest = code.partition('RNG = """')
    own = before + rest.partition('"""')[2]  # without the source text, which has imports of its own
    libraries = {"np.": "import numpy as np", "torch.": "import torch"}
    used = [line for name, line in libraries.items() if re.search(rf"\b{re.escape(name)}", own)]
    used = [line for line in used if line not in given.split("\n")]
    return "\n".join([*used, "", *lines] if used else lines)


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
        f'            "{name}": draw(st.tensors(st.normal_arrays({shape_of(axes)}, dtype))),\n'
        for name, axes in draft.weights
    ]
    return f"{{\n{''.join(arrays)}        }}"


def _drawn_value(draft: Draft, parameter: Parameter) -> str:
    if draft.kind == "sampler" and (certain := certain_value(draft, parameter)):
        return certain
    shape, wrapped = shape_of(draft.axes_of(parameter)), draft.snippets.drawn.format
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


def _drawn_plain(parameter: Parameter) -> str:
    """Return the source of an argument that is no array."""
    default, kind = parameter.default, parameter.kind
    if kind == "bool":
        return "draw(st.booleans())"
    if kind == "int" and (default is None or default.isdecimal()):
        return f"draw(st.sampled_from([{default}, {default} + 1]))" if default else "draw(st.integers(1, 4))"
    if kind == "float" and (default is None or FRACTION.fullmatch(default)):
        others = "0.25, 0.5" if default is None or float(default) == 0.5 else "0.5"
        return f"draw(st.sampled_from([{default or 1.0}, {others}]))"
    if kind == "str" and default is None:
        return f"draw({ELEMENTS['str']})"
    if kind == "list" and default is None:
        element = str(parameter.annotation)[len("list[") : -1]
        return f"draw(st.lists({ELEMENTS[element]}, min_size=1, max_size=5))"
    return default or "None"


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


def method_call(thing: str, method: Callee) -> str:
    """Return the source of a call of a method."""
    return f"{thing}({method.passed})" if method.name == "forward" else f"{thing}.{call(method)}"


def call(callee: Callee) -> str:
    """Return the source of a call in which each argument is a variable of its name."""
    return f"{callee.name}({callee.passed})"


def _laws(draft: Draft) -> str:
    """Return the laws that fit the kind: objects share nothing, samplers draw as often as they should."""
    if draft.kind == "sampler":
        return counting_laws(draft)
    first = draft.entries[0]
    if draft.kind != "object" or not first.is_class:
        return ""
    answers = {
        thing: ", ".join(method_call(thing, method) for method in first.methods)
        for thing in ("first", "second")
    }
    names = [p.name for callee in (first.callee, *first.methods) for p in callee.parameters]
    return APART.format(names=", ".join(dict.fromkeys(names)), made=call(first.callee), **answers)
