"""A right answer to any draft, made from its signatures alone: every argument changes the result."""

from dojo_authoring.scaffold.draft import Draft, base_of
from dojo_authoring.scaffold.samplers import is_logits, probability
from dojo_authoring.scaffold.signatures import Callee

ARRAYS = ("array", "integers", "mask")


def stock_reference(draft: Draft) -> str:
    """Return the source of a reference."""
    if draft.kind == "questions":
        return "\n\n".join(_question(place, entry.callee) for place, entry in enumerate(draft.entries))
    head = ["import math", "import numpy as np", "import torch", "from torch import nn"]
    head = head if draft.library == "torch" else head[:2]
    parts = [
        _class(draft, entry)
        if entry.is_class
        else _indented(_declared(entry.callee), _sampled(draft) or _answer(draft, entry.callee))
        for entry in draft.entries
    ]
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join(parts) + "\n"


def _question(place: int, callee: Callee) -> str:
    names = [p.name for p in callee.parameters]
    value = " + ".join([f"{place + 2} * {name}" for name in names])
    return f"def {callee.name}({', '.join([*names, '**_'])}):\n    return {value}\n"


def _declared(callee: Callee, name: str = "", *first: str) -> str:
    return f"def {name or callee.name}({', '.join([*first, *(p.declared for p in callee.parameters)])}):"


def _indented(head: str, lines: list[str]) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _class(draft: Draft, entry) -> str:
    is_module = bool(base_of(draft, entry))
    made = ["super().__init__()"] if is_module else []
    made += [f"self.{p.name} = {p.name}" for p in entry.callee.parameters]
    for name, axes in draft.weights if is_module else ():
        *parts, last = name.split(".")
        owner = ".".join(["self", *parts])
        made += [f"{owner} = nn.Module()"] if parts else []
        made.append(f"{owner}.{last} = nn.Parameter(torch.randn({', '.join(axes) or '()'}))")
    made += [] if is_module else ["self.before = 0.0"]
    methods = [_indented(_declared(entry.callee, "__init__", "self"), made)]
    own = [f"self.{p.name}" for p in entry.callee.parameters]
    own += [f"self.{name}" for name, _ in draft.weights] if is_module else ["self.before"]
    for method in entry.methods:
        answer = _answer(draft, method, own)
        if not is_module:
            answer[-1] = answer[-1].replace("return ", "result = ", 1)
            answer += ["self.before = total + 1.0", "return result"]
        methods.append(_indented(_declared(method, "", "self"), answer))
    return f"class {entry.name}{base_of(draft, entry)}:\n" + "\n\n".join(
        "\n".join(f"    {line}" if line else "" for line in method.splitlines()) for method in methods
    )


def _number(draft: Draft, name: str, kind: str) -> str:
    """Return code for a number that depends on an argument of this kind."""
    if kind == "rng":
        return f"float({draft.snippets.next_number.replace(draft.rng or 'rng', name)})"
    if kind in ARRAYS:
        wide = f"{name}.double()" if draft.library == "torch" else f"{name}.astype(np.float64)"
        return f"({wide} ** 2).mean() / 9"
    if kind in ("str", "list"):
        return f"math.tanh(len(str({name})) / 9)"
    if kind == "int":
        return f"math.sin(3 * {name})"
    return "0.0" if kind == "other" else f"math.tanh({name})"


def _answer(draft: Draft, callee: Callee, own: list[str] | None = None) -> list[str]:
    """Return the lines of a function whose result depends on each of its arguments."""
    is_torch, own = draft.library == "torch", own or []
    kinds = {p.name: p.kind for p in callee.parameters}
    first = next((n for kind in ARRAYS for n, k in kinds.items() if k == kind), "")
    terms = [_number(draft, name, kind) for name, kind in kinds.items() if name != first]
    weights = {f"self.{name}" for name, _ in draft.weights}
    constructor = {f"self.{p.name}": p.kind for entry in draft.entries for p in entry.callee.parameters}
    for name in own:
        kind = constructor.get(name, "float")
        terms.append(f"torch.tanh({name}).sum()" if name in weights else _number(draft, name, kind))
    lines = [f"total = {' + '.join(terms) or '0.0'}"]
    if not first:
        return [*lines, f"return {_as_result(callee, 'float(total)')}"]
    if is_torch:
        wide = first if weights else f"{first}.double()"
        result, back = f"({wide} + total)", f"({wide} + total).to({first}.dtype)"
        integers, truth = f"(9 * {result}).floor().long()", f"(9 * {result} % 2 > 1)"
        back = integers if kinds[first] == "integers" else truth if kinds[first] == "mask" else back
    else:
        result = f"({first}.astype(np.float64) + total)"
        integers, truth = f"np.floor(9 * {result}).astype(np.int64)", f"(9 * {result} % 2 > 1)"
        back = integers if kinds[first] == "integers" else truth if kinds[first] == "mask" else (
            f"{result}.astype({first}.dtype)"
        )  # fmt: skip
    said = callee.result.strip("'\"").split()[:1]
    if callee.axes and said in (["bool"], ["int"]):
        back = truth if said == ["bool"] else integers
    if callee.result and not callee.axes and callee.result != draft.snippets.array:
        return [*lines, f"return {_as_result(callee, f'float({result}.sum())')}"]
    return [*lines, f"return {back}"]


def _as_result(callee: Callee, number: str) -> str:
    forms = {
        "int": f"math.floor(37 * {number})",
        "bool": f"math.floor(37 * {number}) % 2 == 1",
        "str": f"str(math.floor(37 * {number}))",
        "list[int]": f"[math.floor(999 * {number}) % 97 - 48, math.floor(37 * {number})]",
        "tuple[float, int]": f"({number}, 1)",
    }
    return forms.get(callee.result, number)


def _sampled(draft: Draft) -> list[str]:
    """Return the lines of a sampler's first function; none for other kinds."""
    if draft.kind != "sampler" or (draft.array is None and probability(draft) is None):
        return []
    kinds = {p.name: p.kind for p in draft.judged.parameters}
    library = "torch" if draft.library == "torch" else "np"
    if draft.array is None:
        chance, rng = probability(draft), draft.rng
        of_array = next((name for name, kind in kinds.items() if kind in ARRAYS), "")
        shape = f"{of_array}.shape" if of_array else "()"
        drawn = f"torch.rand({shape}, generator={rng})" if library == "torch" else f"{rng}.random({shape})"
        if not of_array:
            return [f"return bool({drawn} < {chance.name})"]
        if library == "torch":
            return [f"return torch.where({drawn} < {chance.name}, {of_array} + 9, {of_array})"]
        return [f"return np.where({drawn} < {chance.name}, {of_array} + 9, {of_array})"]
    return _sampled_rows(draft, kinds)


def _sampled_rows(draft: Draft, kinds: dict[str, str]) -> list[str]:
    x, rng, is_list = draft.array.name, draft.rng, "k" in draft.judged.axes
    rows = f"{x}.reshape(-1, {x}.shape[-1])"
    lines = [f"rows = {rows}.double().numpy()" if draft.library == "torch" else f"rows = {rows} + 0.0"]
    heat = " / temperature" if "temperature" in kinds else ""
    lines.append("rows = rows.astype(np.float64)")
    if is_logits(draft.array):
        lines += [f"rows = rows{heat}", "rows = np.exp(rows - rows.max(axis=-1, keepdims=True))"]
    if "k" in kinds and not is_list:
        lines.append("rows = np.where(rows >= np.sort(rows, axis=-1)[:, -k:][:, :1], rows, 0)")
    lines.append("rows = rows.astype(np.float64) / rows.sum(axis=-1, keepdims=True)")
    if draft.library == "torch":
        count = "k" if is_list else "1"
        lines.append(f"drawn = torch.multinomial(torch.from_numpy(rows + 1e-30), {count}, generator={rng})")
    else:
        count = "k" if is_list else "1"
        lines.append("rows = (rows + 1e-30) / (rows + 1e-30).sum(axis=-1, keepdims=True)")
        lines.append(
            f"drawn = np.array([{rng}.choice(len(row), {count}, replace=False, p=row) for row in rows])"
        )
    last = " + (k,)" if is_list else ""
    if is_list or draft.judged.axes or len(draft.axes_of(draft.array)) > 1:
        shape = f"tuple({x}.shape[:-1]){last}"
        return [*lines, f"return drawn.reshape({shape})"]
    return [*lines, "return int(drawn.ravel()[0])"]
