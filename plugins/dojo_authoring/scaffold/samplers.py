"""The parts of a draft that are special to samplers: a seeded generator, certain cases and counting laws."""

from __future__ import annotations

from dojo_authoring.scaffold.draft import Draft, filled, tuple_of
from dojo_authoring.scaffold.signatures import Parameter

CHANCE = "0.3"  # of the event in a drafted law
COUNTED = ("int", "float", "rng")  # the kinds of arguments beside which a drafted law counts the outcomes


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
        one_hot = f"{scale_of(parameter)}np.eye({last}, dtype=dtype)[{index}]"
        return draft.snippets.drawn.format(f"st.just({one_hot})") if draft.library == "torch" else one_hot
    if draft.array and (parameter.name, parameter.kind) == ("k", "int"):
        if "k" in draft.judged.axes:
            return "1"  # of several indices only the first is certain
        return f"draw(st.integers(1, {draft.axes_of(draft.array)[-1]}))"
    if draft.array is None and parameter == probability(draft):
        return "float(draw(st.integers(0, 1)))"
    return ""


def scale_of(parameter: Parameter) -> str:
    """Return the factor that makes logits of one-hot rows: 40 leaves the others a chance of 4e-18."""
    return "40 * " if is_logits(parameter) else ""


def is_logits(parameter: Parameter) -> bool:
    """True if the array holds logits and not probabilities, by its name."""
    return "logit" in parameter.name or "score" in parameter.name


def probability(draft: Draft) -> Parameter | None:
    """Return the first argument that is a number between 0 and 1."""
    return next((p for p in draft.judged.parameters if p.kind == "float"), None)


def counting_laws(draft: Draft) -> str:
    """Return the laws of a sampler: it draws from the given generator, and as often as it should."""
    names = [p.name for p in draft.judged.parameters if p.kind != "rng"]
    is_list = _draws_k(draft)
    uncertain = {p.name: _uncertain_value(draft, p) for p in draft.judged.parameters}
    passed = ", ".join(f"{name}={value}" for name, value in uncertain.items())
    from_case = [name for name in names if name in uncertain[name]]
    return filled(
        "sampler/laws",
        names=", ".join([*from_case, "seed"]),
        rng=draft.rng,
        uncertain=f"student.{draft.judged.name}({passed})",
        array=draft.array.name if draft.array else "",
        value=_value(draft, draft.array) if draft.array else "",
        drawn=_drawn_by_chance(draft),
        keeps_k="k" in names and not is_list,
    )


def _uncertain_value(draft: Draft, parameter: Parameter) -> str:
    """Return the source of an argument with which any answer has to draw: where the outcome is certain, some
    functions of the library take nothing from the generator."""
    name = parameter.name
    if parameter == draft.array:
        library = "torch" if draft.library == "torch" else "np"
        return f"{library}.full_like({name}, 1 / {name}.shape[-1])"
    if draft.array is None and parameter == probability(draft):
        return CHANCE
    if draft.array and (name, parameter.kind) == ("k", "int"):
        return "2"
    return "1.0" if parameter.kind == "float" else name


def _value(draft: Draft, array: Parameter) -> str:
    """Return the source of an array of `shares`."""
    value = "torch.tensor(shares)" if draft.library == "torch" else "np.array(shares)"
    if is_logits(array):
        value = f"{value}.log()" if draft.library == "torch" else f"np.log({value})"
    leading = len(draft.axes_of(array)) - 1
    return value + (f"[{', '.join(['None'] * leading)}]" if leading else "")


def is_counted(draft: Draft) -> bool:
    """True if a drafted law counts how often each outcome comes up."""
    return bool(_drawn_by_chance(draft))


def _draws_k(draft: Draft) -> bool:
    """True if k indices are drawn, and not one of the k likeliest."""
    return "k" in draft.judged.axes


def _drawn_by_chance(draft: Draft) -> str:
    """Return the source of what is counted: draws of the event, or the indices that are drawn; empty if
    nothing is known to count."""
    array = draft.array
    if any(p.kind not in COUNTED and p.default is None for p in draft.judged.parameters if p != array):
        return ""  # what the function does with it is unknown
    if array is None:
        chance = probability(draft)
        is_event = chance and (not draft.judged.result or not draft.returns_array)
        return _call(draft, {chance.name: CHANCE}) if chance and is_event else ""
    drawn = _call(draft, {})
    if _draws_k(draft):  # the first of k is as likely as its share, with and without replacement
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
