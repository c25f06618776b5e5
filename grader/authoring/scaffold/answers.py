"""Drafts of mistakes and variants: those that can be made from the reference and its signature."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from grader.authoring.scaffold.chance import is_logits, probability
from grader.authoring.scaffold.library_snippets import Draft
from grader.authoring.scaffold.signatures import Callee, Parameter

MISTAKES = '"""What goes wrong in {name}: one {kind} a mistake, its docstring what the student is told."""'
MISTAKES_DUE = (
    "# TODO: add what goes wrong in this kata: a step left out, done twice, swapped, along the wrong axis"
)
VARIANTS = '"""Right answers to {name} in other styles."""'
VARIANTS_DUE = "# TODO: add other styles: loops, einsum, library calls, another order of the steps"


@dataclass(frozen=True)
class DraftedAnswer:
    """A drafted mistake or variant: its name, its docstring, and a body that calls the reference. `method` is
    the method of a class that it replaces."""

    name: str
    text: str
    body: tuple[str, ...]
    method: Callee | None = None


def mistakes(draft: Draft) -> str:
    """Return the draft of mistakes.py: wrong answers that call the reference."""
    found = [*_mistakes_of_kind(draft), *_mistakes_of_defaults(draft)]
    kind = "class" if draft.entries[0].is_class else "function"
    return _file(draft, MISTAKES.format(name=draft.name, kind=kind), found, MISTAKES_DUE)


def variants(draft: Draft) -> str:
    """Return the draft of variants.py: a right answer that computes in float64, where this is one."""
    return _file(draft, VARIANTS.format(name=draft.name), _variants_of_arrays(draft), VARIANTS_DUE)


def _file(draft: Draft, title: str, found: list[DraftedAnswer], ending: str) -> str:
    parts = [_imports(draft, found), *(_written(draft, answer) for answer in found), ending]
    return f"{title}\n\n" + "\n\n\n".join(filter(None, parts)) + "\n"


def _imports(draft: Draft, found: list[DraftedAnswer]) -> str:
    """Return the imports that the code of the answers needs, with the dict _SEEN if it is used."""
    first, code = draft.entries[0], "\n".join(line for answer in found for line in answer.body)
    module = draft.snippets.array.partition(".")[0]
    lines = [draft.snippets.imports] if f"{module}." in code else []
    if found and (first.is_class or f"_{first.name}(" in code):
        lines.append(f"from reference import {first.name} as _{first.name}")
    return "\n".join(lines) + ("\n\n_SEEN = {}" if "_SEEN" in code else "")


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
        found.append(DraftedAnswer("takes_the_most_likely", MOST_LIKELY, most))
        found.append(DraftedAnswer("counts_from_one", FROM_ONE, (f"return {_call(draft)} + 1",)))
    elif chance is not None:
        likelier = _call(draft, **{chance.name: f"float({chance.name} >= 0.5)"})
        found.append(DraftedAnswer("takes_the_likelier", MOST_LIKELY, (f"return {likelier}",)))
        turned = _call(draft, **{chance.name: f"1 - {chance.name}"})
        found.append(DraftedAnswer("swaps_the_outcomes", SWAPS.format(p=chance.name), (f"return {turned}",)))
    return found


def _one_hot(draft: Draft, array: Parameter) -> str:
    """Return the line that makes `likely`, which leaves the draw no choice."""
    x, scale = array.name, "40 * " if is_logits(array) else ""
    if draft.library == "torch":
        return f"likely = {scale}torch.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(-1)]"
    return f"likely = {scale}np.eye({x}.shape[-1], dtype={x}.dtype)[{x}.argmax(axis=-1)]"


def _mistakes_of_defaults(draft: Draft) -> list[DraftedAnswer]:
    """Return a mistake for each argument with a default: it ignores the argument."""
    found = [
        DraftedAnswer(f"ignores_the_{p.name}_given", IGNORES.format(name=p.name, default=p.default),
               (f"return {_call(draft, without=p.name)}",))
        for p in draft.judged.parameters
        if p.default is not None
    ]  # fmt: skip
    if not draft.entries[0].is_class:
        return found
    constructor = _constructor(draft)
    for p in constructor.parameters:
        if p.default is not None:
            others = ", ".join(f"{o.name}={o.name}" for o in constructor.parameters if o != p)
            text = IGNORES.format(name=p.name, default=p.default)
            body = (f"super().__init__({others})",)
            found.append(DraftedAnswer(f"ignores_the_{p.name}_given", text, body, constructor))
    return found


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
    first, callee = draft.entries[0], answer.method or draft.judged
    unused = "ARG002" if first.is_class else "ARG001"
    lint_comment = f"  # noqa: {unused} - the mistake" if answer.name.startswith("ignores") else ""
    if not first.is_class:
        head = f"def {answer.name}({callee.declared}):{lint_comment}"
        return "\n".join([head, *_documented(answer.text, 4), *(f"    {line}" for line in answer.body)])
    declared = ", ".join(["self", *(p.declared for p in callee.parameters)])
    lines = [f"class {answer.name}(_{first.name}):", *_documented(answer.text, 4), ""]
    return "\n".join(
        [*lines, f"    def {callee.name}({declared}):{lint_comment}", *(f"        {b}" for b in answer.body)]
    )


def _documented(text: str, indent: int) -> list[str]:
    lead = " " * indent
    lines = textwrap.wrap(f'"""{text}', 106 - indent, initial_indent=lead, subsequent_indent=lead)
    return [*lines[:-1], lines[-1] + '"""']


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
