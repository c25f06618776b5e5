"""Drafts of mistakes and variants: those that can be made from the reference and its signature."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from dojo_authoring.scaffold.declaration import is_varied
from dojo_authoring.scaffold.draft import Draft
from dojo_authoring.scaffold.samplers import is_counted, probability, scale_of
from dojo_authoring.scaffold.signatures import Callee, Parameter

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


@dataclass(frozen=True)
class DraftedAnswer:
    """A drafted mistake or variant: its name, its sentence, and a body that calls the reference. `method` is
    the method of a class that it replaces."""

    name: str
    text: str
    body: tuple[str, ...]
    method: Callee | None = None


def mistakes(draft: Draft) -> str:
    """Return a first text for mistakes.edits. Each mistake in it calls the reference, and changes an argument
    or the result."""
    found = [*_mistakes_of_kind(draft), *_mistakes_of_defaults(draft)]
    edits = [_as_edit(draft, answer) for answer in found]
    return "\n\n".join([MISTAKES.format(name=draft.name), *edits, MISTAKES_DUE]) + "\n"


def _as_edit(draft: Draft, answer: DraftedAnswer) -> str:
    """Return a mistake as a function or class that takes the place of the reference's."""
    first, callee = draft.entries[0], answer.method or draft.judged
    code = "\n".join([callee.declared, *answer.body])
    head = ["import math"] if "math." in code else []
    head += [draft.snippets.imports] if f"{draft.snippets.array.partition('.')[0]}." in code else []
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
    imports = f"{draft.imports}\nfrom reference import {first.name} as _{first.name}"
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
        found += [DraftedAnswer("takes_the_most_likely", MOST_LIKELY, most)] if is_counted(draft) else []
        found.append(DraftedAnswer("counts_from_one", FROM_ONE, (f"return {_call(draft)} + 1",)))
    elif chance is not None:
        likelier = _call(draft, **{chance.name: f"float({chance.name} >= 0.5)"})
        drawn = draft.snippets.next_number.replace("rng", rng)  # some libraries draw nothing at 0 and 1
        once = DraftedAnswer("takes_the_likelier", MOST_LIKELY, (drawn, f"return {likelier}"))
        found += [once] if is_counted(draft) else []
        turned = _call(draft, **{chance.name: f"1 - {chance.name}"})
        found.append(DraftedAnswer("swaps_the_outcomes", SWAPS.format(p=chance.name), (f"return {turned}",)))
    return found


def _one_hot(draft: Draft, array: Parameter) -> str:
    """Return the line that makes `likely`, which leaves the draw no choice."""
    x, scale = array.name, scale_of(array)
    if draft.library == "torch":
        return f"likely = {scale}torch.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(-1)]"
    return f"likely = {scale}np.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(axis=-1)]"


def _mistakes_of_defaults(draft: Draft) -> list[DraftedAnswer]:
    """Return a mistake for each argument with a default that cases vary: it ignores the argument."""
    found = [
        DraftedAnswer(f"ignores_the_{p.name}_given", IGNORES.format(name=p.name, default=p.default),
               (f"return {_call(draft, without=p.name)}",))
        for p in draft.judged.parameters
        if p.default is not None and is_varied(draft, p) and not _is_idle(draft, p)
    ]  # fmt: skip
    if not draft.entries[0].is_class:
        return found
    constructor = _constructor(draft)
    for p in constructor.parameters:
        if p.default is not None and is_varied(draft, p):
            others = ", ".join(f"{o.name}={o.name}" for o in constructor.parameters if o != p)
            text = IGNORES.format(name=p.name, default=p.default)
            body = (f"super().__init__({others})",)
            found.append(DraftedAnswer(f"ignores_the_{p.name}_given", text, body, constructor))
    return found


def _is_idle(draft: Draft, parameter: Parameter) -> bool:
    """True if an argument of a sampler changes nothing in its cases, where the outcome is certain: each but
    the probability of an event."""
    return draft.kind == "sampler" and (draft.array is not None or parameter != probability(draft))


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
