"""Write a failing call, and the calls that it needs, as Python code that a student can run.

The code is made from the requests that the submission answered, so it holds for every kata and law. An
argument goes by its parameter's name; its values, its dtype and its memory layout are rebuilt exactly.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast

import numpy as np

from grader.checks.runner import Failure
from grader.grading.parameters import Signatures, classes_of, named_arguments, signatures_of
from grader.grading.place_of_difference import gradient_of, item_of, paths
from grader.grading.values_as_code import MOST_ENTRIES, NotCode, code_of
from grader.texts.phrases import counted
from grader.values.arrays import leaves, to_numpy
from grader.values.exchange import AS_IT_IS, ArrayExchange
from grader.values.seeded import expression_of, seed_of, seeded
from grader.worker.calls import Call
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.outlines import ArrayOutline
from grader.worker.proxies import OPERATORS, RemoteObject

IMPORTS = {
    "np.": "import numpy as np",
    "torch.": "import torch",
    "with suppress(": "from contextlib import suppress",
    "Ranks(": "from grader.ranks import Ranks",
    "DeviceArray": "from grader.kernels import DeviceArray",
}
MOST_CODE = 100_000  # characters; a call without code counts as so long
MOST_LINES = 8  # calls that a report shows
MOST_NUMBERS = 24  # of an array that a report writes out
MOST_OF_ONE = 4 * 72  # characters of an array with more numbers
MOST_ROWS = 20  # of a call that a report writes out with all values
ROW = 72  # characters
MANY = 4  # arrays in one value, from which on what makes them gets a short name
BRIEF = 40  # the most characters of an argument that is written into the call
LAST_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+")
OWN = "  # the grader's own"
#: The gradient of the grader's projection, as `instrumentation.with_gradients` makes it.
GRADIENT = """result = {call}
weights_of_result = torch.randn(
    result.shape, generator=torch.Generator().manual_seed(17), dtype=torch.float64
).to(result.dtype)
(result * torch.where(result.isfinite(), weights_of_result, 0)).sum().backward()
print({tensor}.grad)"""
FUNCTION = """
def {name}(*given):  # answers what the grader's function answered
    return {name}_answers[repr([x.tolist() if hasattr(x, "tolist") else x for x in given])]
"""
#: What a report leaves out of code, because it goes without saying.
OBVIOUS = re.compile(r"(?<!\[\]), dtype=(?:np\.(?:float64|int64|bool)|torch\.(?:float32|int64|bool))\b")
#: An array as code: what makes it, its entries, and the rest.
TABLE_ENTRY = re.compile(r"((?:np\.array|torch\.tensor)\()(\[.*\])((?:, dtype=[\w.]+)?\)(?:\.log\(\))?)")
NOT_FINITE = re.compile(r"float\('(-?)(nan|inf)'\)")
#: What makes a seeded array, as a pattern for its seed and its shape, and what a function of both returns. A
#: pattern that has another one in it comes first.
_DRAWN = r"np\.random\.default_rng\((\d+)\)\.standard_normal\(\(([\d, ]*)\)\)\.round\(1\)"
_DRAWS = "np.random.default_rng(seed).standard_normal(shape).round(1)"
GENERATORS = [
    (re.compile(rf"torch\.tensor\({_DRAWN}\)\.float\(\)"), "torch.tensor(drawn).float()"),
    (re.compile(rf"torch\.tensor\({_DRAWN}\)"), "torch.tensor(drawn)"),
    (re.compile(rf"{_DRAWN}\.astype\(np\.float32\)"), "drawn.astype(np.float32)"),
    (re.compile(_DRAWN), "drawn"),
]


@dataclass
class Script:
    """The failing call with the calls that it needs: a line of code for each, the `values` of the variables
    in them, and all of it as `code` that runs beside the submission; empty if it is long, or if an object of
    the grader's takes part in it that has no code. `definitions` are the imports and the same values as short
    code; None if that would be long. `loads` has the lines that make the weights of a module from its
    parameters."""

    lines: list[str]
    values: dict[str, Any]
    code: str = ""
    definitions: list[str] | None = None
    loads: dict[str, list[str]] = field(default_factory=dict)

    @property
    def whole_lines(self) -> list[str]:
        """The lines of code with the weights of modules in them, which `definitions` then do not hold."""
        lines = self.lines
        for name, made in self.loads.items():
            at = next(at for at, line in enumerate(lines) if f".load_state_dict({name}," in line)
            lines = [*lines[:at], *made, *lines[at:]]
        return lines

    @property
    def rows(self) -> int:
        """About how many lines a report needs for the call with its values; many if it is not whole."""
        lines = [*(self.definitions or []), *self.whole_lines]
        return sum(1 + len(line) // ROW for line in lines) if self.is_whole else 2 * MOST_ROWS

    @property
    def length(self) -> int:
        """The characters that a report needs for the call with its values; many if it is not whole."""
        if self.is_whole:
            return sum(map(len, [*(self.definitions or []), *self.whole_lines]))
        return MOST_ROWS * ROW + (len(self.code) or MOST_CODE)

    @property
    def is_whole(self) -> bool:
        """Whether the lines for a report run as they are."""
        return bool(self.code) and self.definitions is not None

    @property
    def shown(self) -> list[str]:
        """The lines for a report: with all values, so that they run beside the submission, if they are few;
        else the calls alone, and of many the first and the last ones."""
        if self.is_whole:
            return [*(self.definitions or []), *self.whole_lines]
        return self.calls

    @property
    def calls(self) -> list[str]:
        """The lines of the calls; the middle ones are left out if there are many."""
        if len(self.lines) <= MOST_LINES:
            return self.lines
        half = MOST_LINES // 2
        left = counted(len(self.lines) - 2 * half, "more call")
        return [*self.lines[:half], f"# {left}", *self.lines[-half:]]


def script_of(
    failure: Failure,
    module: str,
    names: Signatures,
    *,
    of_state: bool = False,
    exchange: ArrayExchange = AS_IT_IS,
) -> Script | None:
    """Return the failing call of the student's `module` as code, or None if nothing was called. For a check
    `of_state` the calls before it are shown too. Its arrays are written as the submission got
    them."""
    last = failure.call
    if last is None:
        return None
    calls = failure.history if any(call is last for call in failure.history) else failure.trace
    at = next(index for index, call in enumerate(calls) if call is last)
    keeps_all = of_state or last.options.hold
    key, item = gradient_of(failure, last), item_of(failure, last)
    writer = _CallWriter(_needed(calls[: at + 1], keeps_all=keeps_all), names, key, exchange, item)
    return writer.script(module)


def _needed(calls: Sequence[Call], *, keeps_all: bool) -> list[Call]:
    """Return the last call with the earlier ones whose results it takes, or that used the same objects."""
    kept, wanted = [calls[-1]], set(_given(calls[-1]))
    for call in reversed(calls[:-1]):
        makes = wanted & set(map(_key, leaves(call.value)))
        uses = {key for key in _given(call) if key[0] == "object"} & wanted
        if makes or ((uses or (keeps_all and not call.source)) and not call.is_read):
            kept.append(call)
            wanted |= set(_given(call))
    return kept[::-1]


def _given(call: Call) -> Iterator[tuple[str, int]]:
    """Yield the keys of the objects and the arrays that a call was given."""
    for leaf in leaves([call.target, call.args, call.kwargs]):
        if key := _key(leaf):
            yield key


def _key(value: Any) -> tuple[str, int] | None:
    """Return what tells an object of the worker or an array apart from others; None for other values."""
    if isinstance(value, RemoteObject):
        value = value._handle
    if isinstance(value, Handle):
        return "object", value.id
    return ("array", id(value)) if hasattr(value, "shape") else None


def pruned(source: str, names: set[str]) -> str:
    """Return those statements at the top of a source text that the names need, without empty lines."""
    nodes = ast.parse(source).body
    made = [(node, _made_by(node)) for node in nodes]
    needed, grows = set(names), True
    while grows:
        kept = [node for node, own in made if own & needed or not own]
        found = {part.id for node in kept for part in ast.walk(node) if isinstance(part, ast.Name)}
        grows, needed = not found <= needed, needed | found
    kept = [node for node, own in made if own & needed or not own]
    lines = source.splitlines()
    starts = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) for node in kept]
    parts = [lines[start - 1 : node.end_lineno] for start, node in zip(starts, kept, strict=True)]
    return "\n".join(line for part in parts for line in part if line.strip())


def _uses_device(source: str) -> bool:
    """Return whether a source text takes the variable `device` from outside."""
    nodes = [*ast.walk(ast.parse(source))]
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return "device" not in own and any(isinstance(n, ast.Name) and n.id == "device" for n in nodes)


def _made_by(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a text makes; none if it does something else."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


@dataclass
class _CallWriter:
    """Writes calls as code, the last of them printed."""

    calls: list[Call]
    signatures: Signatures
    gradient: str = ""  # the argument or the parameter whose gradient is printed
    exchange: ArrayExchange = AS_IT_IS  # with the submission
    item: int | None = None  # of the last result, if that is a list
    values: dict[str, Any] = field(default_factory=dict)
    known: dict[tuple[str, int] | None, str] = field(default_factory=dict)  # code of objects and results
    contents: dict[Any, str] = field(default_factory=dict)  # variables by what they hold
    is_code: bool = True

    def script(self, module: str) -> Script:
        sources = self._sources()
        for source in sources:
            self.signatures = {**signatures_of(source), **self.signatures}
        self.classes = classes_of(self.calls)
        self.taken = {
            "np",
            "torch",
            "print",
            "len",
            "device",
            "suppress",
            "Ranks",
            *keyword.kwlist,
            *(c.name for c in self.calls),
        }
        self.wanted = self._wanted_names()
        written = [self._line(call) for call in self.calls[:-1]]
        lines = [_repeated(line, len(list(same))) for line, same in groupby(written)]
        last = self._expression(self.calls[-1])
        shown = [*lines, *self._recording(self.calls[-1]), self._in_its_mode(self.calls[-1], last)]
        script = Script(shown, self.values)
        own = dict.fromkeys(call.name for call in self.calls if not call.source and call.target is None)
        if self.is_code and (printed := self._printed(last)):
            script.code = self._code(module, list(own), sources, [*lines, *printed])
        script.loads = self._loads(script.lines)
        script.definitions = self._short_definitions(module, list(own), sources, script)
        return script

    def _sources(self) -> list[str]:
        """Return those parts of the grader's own texts that the calls use."""
        used: dict[str, set[str]] = {}
        for call in self.calls:
            if call.source:
                used.setdefault(call.source, set()).add(call.name)
        return [pruned(source, names) for source, names in used.items()]

    def _short_definitions(
        self, module: str, own: list[str], sources: list[str], script: Script
    ) -> list[str] | None:
        """Return short code that makes the values; None if it is long or if there is none."""
        try:
            self.makers: dict[str, str] = {}
            named = [(name, value) for name, value in self.values.items() if name not in script.loads]
            made = [self._short_definition(name, value) for name, value in named]
        except NotCode:
            return None
        lines = script.whole_lines
        made = self._with_one_generator(made, is_needed=bool(script.loads))
        makers = (line for item in self.makers.items() for line in _maker(*item))
        made = [line for text in [*makers, *made] for line in text.split("\n")]
        texts = [*made, *lines]
        used = [line for source in sources for line in source.strip("\n").split("\n")]
        imports = [line for prefix, line in IMPORTS.items() if any(prefix in text for text in texts)]
        imports = [line for line in imports if line not in used]
        device = ['device = "cpu"'] if any(map(_uses_device, sources)) else []
        names = [f"from {module} import {', '.join(own)}"] if own else []
        found = [*imports, *names, *device, *used, *made]
        return found if sum(1 + len(line) // ROW for line in [*found, *lines]) <= MOST_ROWS else None

    def _loads(self, lines: list[str]) -> dict[str, list[str]]:
        """Return, by the name of the weights of a module, the lines that make them all: their seeds count up
        in the order of the sorted names, which are those of the module's parameters. A parameter that the
        module has under two names, as tied weights are, counts twice."""
        found: dict[str, list[str]] = {}
        for name, value in self.values.items():
            loads = [line.partition(f".load_state_dict({name}")[0] for line in lines if f"({name}," in line]
            weights = [value[key] for key in sorted(value)] if isinstance(value, dict) else []
            first = _first_seed(weights)
            if len(loads) == 1 and first is not None and "r" not in self.taken:
                module, start = loads[0].rpartition(" ")[2], f", {first}" if first else ""
                named = self._fresh("named")
                made = f"{{name: r(i, *w.shape) for i, (name, w) in enumerate({named}{start})}}"
                every = f"sorted({module}.named_parameters(remove_duplicate=False))"
                found[name] = [f"{named} = {every}", f"{name} = {made}"]
        return found

    def _with_one_generator(self, made: list[str], *, is_needed: bool) -> list[str]:
        """Return the definitions with a short name for what makes several seeded arrays."""
        if is_needed:
            self.makers["r"] = "torch.tensor(drawn)"
        for pattern, maker in GENERATORS:
            if sum(len(pattern.findall(line)) for line in made) > (not is_needed) and "r" not in self.taken:
                self.makers["r"] = maker
                return [pattern.sub(_shortly_drawn, line) for line in made]
        return made

    def _short_definition(self, name: str, value: Any) -> str:
        if callable(value) and not hasattr(value, "shape"):
            return self._function(name, value) if as_code(value)[0] else f"{name} = {self._table(value)}"
        if isinstance(value, ArrayOutline):
            code = _shortened(self._on_device(value))
            if len(code) > MOST_OF_ONE:
                raise NotCode
            return f"{name} = {code}"
        total = sum(int(np.prod(leaf.shape)) for leaf in leaves(value) if hasattr(leaf, "shape"))
        code = _shortened(code_of(value, self.exchange, is_whole=total <= MOST_NUMBERS))
        if len(code) > MOST_OF_ONE and any(map(_is_long, leaves(value))):
            raise NotCode
        for maker, short in (("torch.tensor", "t"), ("np.array", "a")):
            if code.count(f"{maker}(") >= MANY and short not in self.taken:
                self.makers[short] = maker
                code = code.replace(f"{maker}(", f"{short}(")
        return f"{name} = {code}"

    def _function(self, name: str, function: Any) -> str:
        """Return the code of a function that says it, under this name. Raises NotCode if it has raised."""
        if any(call.is_stopped for call in self.calls):  # what it then says is no part of the code
            raise NotCode
        text, parts = as_code(function)
        names = {part: self.contents[part, _content(value)] for part, value in parts.items()}
        return text.format(name=name, **names)

    def _on_device(self, array: ArrayOutline) -> str:
        """Return what makes an array on a device."""
        more = f", {array.type_name!r}" if array.type_name == "bfloat16" and array.given is not None else ""
        if not array.is_contiguous():
            more += f", strides={array.strides}"
        if array.given is None:
            return f"DeviceArray.empty({array.shape}, {array.type_name!r}, {array.name!r}{more})"
        return f"DeviceArray({code_of(array.given, self.exchange)}, {array.name!r}{more})"

    def _table(self, function: Any) -> str:
        """Return a function that looks its answers up by the arguments, as text. Raises NotCode."""
        made = [pair for call in self.calls for pair in call.answers.get(id(function), [])]
        forms = {tuple(hasattr(part, "tolist") for part in given) for given, _ in made}
        if not forms:
            return "lambda *given: None  # never called"
        if len(forms) != 1 or not (form := forms.pop()):
            raise NotCode
        calls = [[part.tolist() if hasattr(part, "tolist") else part for part in given] for given, _ in made]
        code_of(calls)  # raises NotCode if an object was given
        count = _fewest_that_tell_apart(calls)
        answers = {
            str(given[0] if count == 1 else given[:count]): _as_logarithms(answer, self.exchange)
            for given, (_, answer) in zip(calls, made, strict=True)
        }
        if any('"' in key for key in answers):
            raise NotCode
        names = ["given"] if count == 1 else [f"given_{number}" for number in range(1, count + 1)]
        parts = [
            f"{name}.tolist()" if is_array else name for name, is_array in zip(names, form, strict=False)
        ]
        asked = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
        names += ["*others"] if count < len(form) else []
        before, texts, after = _in_one_frame(list(answers.values()))
        listed = ", ".join(f'"{given}": {text}' for given, text in zip(answers, texts, strict=True))
        return f"lambda {', '.join(names)}: {before}{{{listed}}}[str({asked})]{after}"

    def _printed(self, last: str) -> list[str]:
        """Return the last call with what prints its result, or a gradient; empty on the fake device."""
        call = self.calls[-1]
        if call.options.measure == "fake device":
            return []
        if call.options.measure != "gradients":
            item = "" if self.item is None else f"[{self.item}]"
            arrays = {name: one for name, one in self.values.items() if isinstance(one, ArrayOutline)}
            written = [name for name, array in arrays.items() if array.given is None]
            if written and call.value is None:
                return [last, *(f"print({name}.numpy())" for name in written)]
            return [self._in_its_mode(call, f"print({last}{item})")]
        if call.error:
            return [*self._recording(call), last]
        given = named_arguments(call, self.signatures, self.classes)
        keys = [f"args[{index}]" for index in range(len(call.args))] + list(call.kwargs)
        texts = dict(zip(keys, (self._argument(*argument) for argument in given), strict=True))
        if not self.gradient or not hasattr(call.value, "shape"):
            return []
        if self.gradient in texts:
            tensor = texts[self.gradient]
            return [f"{tensor}.requires_grad_()", GRADIENT.format(call=last, tensor=tensor)]
        module = self._target(call.target) if call.target else ""
        tensor = f"{module}.get_parameter({self.gradient!r})"
        return [GRADIENT.format(call=last, tensor=tensor)] if module else []

    def _recording(self, call: Call) -> list[str]:
        """Return lines that make a call raise as it does where gradients of its arguments are recorded."""
        if not call.error or call.options.measure != "gradients":
            return []
        given = dict(named_arguments(call, self.signatures, self.classes))
        floats = [name for name, value in given.items() if "float" in str(getattr(value, "dtype", ""))]
        return [f"{self._argument(name, given[name])}.requires_grad_()" for name in floats]

    def _code(self, module: str, own: list[str], sources: list[str], lines: list[str]) -> str:
        try:
            _require_small(leaves(self.values))
            made = [self._definition(name, value) for name, value in self.values.items()]
        except NotCode:
            return ""
        body = [*(source.strip("\n") for source in sources), *made, *lines]
        imports = [
            line for prefix, line in IMPORTS.items() if any(prefix in part for part in (*made, *lines))
        ]
        device = ['device = "cpu"'] if any(map(_uses_device, sources)) else []
        names = [f"from {module} import {', '.join(own)}"] if own else []
        return "\n".join([*imports, *names, "", *device, *body]) + "\n"

    def _wanted_names(self) -> dict[tuple[str, int] | None, str]:
        """Return, by key, under which name an object or an array is first given to a call."""
        found: dict[tuple[str, int] | None, str] = {}
        for call in self.calls:
            if call.target is not None:
                made = self.classes.get(call.target.id, "object")
                found.setdefault(("object", call.target.id), _last_word(made))
            for name, value in named_arguments(call, self.signatures, self.classes):
                for key in map(_key, leaves(value)):
                    if key:
                        found.setdefault(key, name)
        return found

    def _line(self, call: Call) -> str:
        expression, named = self._expression(call), self._result_names(call)
        text = f"{named} = {expression}" if named else expression
        caught = "with suppress(Exception): " if call.error else ""  # it was due to raise
        own = OWN if call.source else ""
        return self._in_its_mode(call, caught + text + own)

    def _in_its_mode(self, call: Call, text: str) -> str:
        return f"with torch.no_grad(): {text}" if call.options.grad_mode == "off" else text

    def _result_names(self, call: Call) -> str:
        """Return variables for what later calls take of the result, and record them."""
        value = call.value
        wanted = {key: self.wanted[key] for key in map(_key, leaves(value)) if key in self.wanted}
        if not wanted:
            return ""
        if _key(value) or (isinstance(value, tuple) and all(map(_key, value))):
            keys = list(map(_key, value if isinstance(value, tuple) else (value,)))
            names = [self._fresh(wanted[key]) if key in wanted else "_" for key in keys]
            self.known |= dict(zip(keys, names, strict=True))
            return f"{names[0]}," if isinstance(value, tuple) and len(names) == 1 else ", ".join(names)
        name = self._fresh("result")
        self.known |= {_key(leaf): f"{name}{path}" for path, leaf in paths(value) if _key(leaf)}
        return name

    def _fresh(self, wanted: str) -> str:
        """Return a variable name that is not taken: the wanted one, or with a number."""
        numbers = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(self.taken) + 2))
        name = next(name for name in numbers if name not in self.taken)
        self.taken.add(name)
        return name

    def _expression(self, call: Call) -> str:
        target = self._target(call.target) if call.target is not None else ""
        if call.name == "__call__" and call.options.evaluating:
            target = f"{target}.eval()"
        if call.is_read:
            return f"{target}.{call.name}"
        if call.name == "__len__":
            return f"len({target})"
        given = named_arguments(call, self.signatures, self.classes)
        if turn := turn_of(call):
            every = [
                ", ".join(f"{name!r}: {self._argument(name, value)}" for name, value in arguments.items())
                for arguments in turn.arguments
            ]
            ranks = ", ".join(f"{{{arguments}}}" for arguments in every)
            names = ", ".join(map(repr, turn.collectives))
            return f"Ranks({len(every)}).run({call.name}, [{ranks}], {names})[{turn.rank}]"
        parts = [self._argument(name, value) for name, value in given[: len(call.args)]]
        parts += [f"{name}={self._argument(name, value)}" for name, value in call.kwargs.items()]
        if call.name in OPERATORS and len(parts) + 1 == OPERATORS[call.name].count("{"):
            return OPERATORS[call.name].format(target, *parts)
        name = target if call.name == "__call__" else f"{target}.{call.name}".lstrip(".")
        return f"{name}({', '.join(parts)})"

    def _target(self, handle: Handle) -> str:
        key = "object", handle.id
        if key not in self.known:
            self.is_code = False
            return self.wanted.get(key, "object")
        return self.known[key]

    def _argument(self, wanted: str, value: Any) -> str:
        """Return an argument as code: a variable, or the value itself if it is short."""
        if _key(value) in self.known and _key(value) is not None:
            return self.known[_key(value)]
        if isinstance(value, RemoteObject):
            self.is_code = False
            return "…"
        if isinstance(value, list | tuple) and any(_is_made(leaf, self.known) for leaf in leaves(value)):
            inside = ", ".join(self._argument(wanted, item) for item in value)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
        if not callable(value) and not any(hasattr(leaf, "shape") for leaf in leaves(value)):
            try:
                code = code_of(value, self.exchange)
            except NotCode:
                self.is_code = False
                return "…"
            if len(code) <= BRIEF:
                return code
        return self._variable(wanted, value)

    def _variable(self, wanted: str, value: Any) -> str:
        content = wanted, _content(value)
        if content not in self.contents:
            for name, part in as_code(value)[1].items():
                self._variable(name, part)
            self.contents[content] = self._fresh(wanted)
            self.values[self.contents[content]] = value
        return self.contents[content]

    def _definition(self, name: str, value: Any) -> str:
        if isinstance(value, ArrayOutline):
            return f"{name} = {self._on_device(value)}"
        if not callable(value) or hasattr(value, "shape"):
            return f"{name} = {code_of(value, self.exchange)}"
        if as_code(value)[0]:
            return self._function(name, value)
        answers = {}
        for call in self.calls:
            for given, answer in call.answers.get(id(value), []):
                plain = [x.tolist() if hasattr(x, "tolist") else x for x in given]
                code_of(plain)  # raises NotCode if an object was given
                answers[repr(plain)] = code_of(answer, self.exchange)
        listed = "".join(f"    {given!r}: {answer},\n" for given, answer in answers.items())
        return f"{name}_answers = {{\n{listed}}}\n{FUNCTION.format(name=name)}"


def as_code(function: Any) -> tuple[str, dict[str, Any]]:
    """Return the code of a function that a kata passes to a submission, if the kata says it, and the values
    in it by name. The code is a format, in which `{name}` stands for the function's name."""
    return getattr(function, "as_code", None) or ("", {})


def turn_of(call: Call) -> Any:
    """Return of which run of simulated ranks a call is one rank's turn; None if it is none."""
    own = [value for value in call.kwargs.values() if not isinstance(value, RemoteObject)]
    return next((turn for value in own if (turn := getattr(value, "turn", None))), None)


def _first_seed(weights: list[Any]) -> int | None:
    """Return the seed of the first of many arrays if those of the others count up from it."""
    seeds = (seed - at for at, weight in enumerate(weights) if (seed := seed_of(weight)) is not None)
    first = next(seeds, -1) if len(weights) >= MANY else -1
    if first < 0:
        return None
    pairs = ((to_numpy(seeded(weight, first + at)), to_numpy(weight)) for at, weight in enumerate(weights))
    is_seeded = all(np.array_equal(cast("Any", due), cast("Any", weight)) for due, weight in pairs)
    return first if is_seeded else None


def _maker(short: str, maker: str) -> list[str]:
    """Return the lines that give what makes arrays a short name."""
    if short != "r":
        return [f"{short} = {maker}"]
    return ["def r(seed, *shape):", f"    drawn = {_DRAWS}", f"    return {maker}"]


def _is_long(leaf: Any) -> bool:
    """Return whether an array has too many numbers to be written out, and no expression makes it."""
    if not hasattr(leaf, "shape"):
        return False
    return int(np.prod(leaf.shape)) > MOST_NUMBERS and not expression_of(leaf)


def _shortly_drawn(drawn: re.Match[str]) -> str:
    """Return the call of `r` for a seeded array."""
    return f"r({', '.join([drawn[1], *re.findall(r'[0-9]+', drawn[2])])})"


def _shortened(code: str) -> str:
    """Return code for a value without the dtypes that go without saying."""
    library = "torch" if "torch." in code else "np" if "np." in code else ""
    short = NOT_FINITE.sub(rf"\1{library}.\2", code) if library else code
    return OBVIOUS.sub("", short)


def _fewest_that_tell_apart(calls: list[list[Any]]) -> int:
    """Return how many of the first arguments tell the calls of a function apart as all of them do."""
    every = len(set(map(str, calls)))
    return next(n for n in range(1, len(calls[0]) + 1) if len({str(given[:n]) for given in calls}) == every)


def _in_one_frame(codes: list[str]) -> tuple[str, list[str], str]:
    """Return what arrays as code have in common around their entries, if it is the same for all."""
    parts = [TABLE_ENTRY.fullmatch(code) for code in codes]
    frames = {(part[1], part[3]) if part else ("", code) for part, code in zip(parts, codes, strict=True)}
    if len(frames) > 1 or not all(parts):
        return "", codes, ""
    before, after = frames.pop()
    return before, [part[2] for part in parts if part], after


def _as_logarithms(value: Any, exchange: ArrayExchange) -> str:
    """Return code for a function's answer: as logarithms of round probabilities if it holds exactly those."""
    array = to_numpy(value) if hasattr(value, "shape") else None
    is_torch = type(value).__module__ == "torch"
    if array is None or array.dtype.kind != "f" or not is_torch or not (array <= 0).all():
        return _shortened(code_of(value, exchange))
    import torch

    chances = torch.from_numpy(np.exp(array).round(4)).to(value.dtype)
    if not torch.equal(chances.log(), value):
        return _shortened(code_of(value, exchange))
    return f"{_shortened(code_of(chances))}.log()"


def _is_made(leaf: Any, known: dict[tuple[str, int] | None, str]) -> bool:
    return isinstance(leaf, RemoteObject) or (_key(leaf) is not None and _key(leaf) in known)


def _repeated(line: str, times: int) -> str:
    return line if times == 1 else f"for _ in range({times}): {line}"


def _last_word(name: str) -> str:
    """Return the last word of a class's name in small letters: `queue` of `RingQueue`."""
    return str((LAST_WORD.findall(name) or ["object"])[-1]).lower()


def _content(value: Any) -> Any:
    """Return what is equal for values that the same code makes."""
    if isinstance(value, dict):
        return tuple((key, _content(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), *map(_content, value)
    if not hasattr(value, "shape"):
        return ("function", id(value)) if callable(value) else (type(value), repr(value))
    array = to_numpy(value)
    strides = value.stride() if hasattr(value, "stride") else value.strides
    return str(value.dtype), tuple(value.shape), strides, b"" if array is None else array.tobytes()


def _require_small(values: Any) -> None:
    arrays = (value for value in values if hasattr(value, "shape") and not expression_of(value))
    if sum(int(np.prod(array.shape)) for array in arrays) > MOST_ENTRIES:
        raise NotCode
