"""The parts of a draft that are special to samplers: a seeded generator, certain cases and counting laws."""

from __future__ import annotations

from grader.authoring.scaffold.library_snippets import Draft
from grader.authoring.scaffold.signatures import Parameter

RNG = '''
#: Runs beside the submission: a generator cannot travel, so each case has a seed.
RNG = """
{imports}

def seeded(seed):
    return {seeded}

def next_number(rng):
    return float({next_number})
"""
'''
MOVES = '''

@KATA.law(points=1)
def test_the_given_generator_is_drawn_from(student, {names}):
    """A call draws from the generator that it is given."""
    {rng}, untouched = (student.build(RNG, "seeded", seed) for _ in range(2))
    student.{call}
    numbers = [student.build(RNG, "next_number", each) for each in ({rng}, untouched)]
    expect.true(numbers[0] != numbers[1], "After a call the generator gives another number than before.")
'''
SHARES = '''

@KATA.law(points=1)
def test_each_index_comes_up_as_often_as_is_due(student):
    """Each index comes up as often as its probability says."""
    {rng} = student.build(RNG, "seeded", 7)
    shares = (0.5, 0.3, 0.2)
    {array} = {value}
    drawn = [{drawn}]
    for index, share in enumerate(shares):
        expect.frequency(drawn.count(index), len(drawn), share, f"index {{index}}")
'''
SHARE = '''

@KATA.law(points=1)
def test_the_event_comes_up_as_often_as_is_due(student):
    """The event comes up as often as its probability says."""
    {rng} = student.build(RNG, "seeded", 7)
    hits = sum(bool({drawn}) for _ in range(400))
    expect.frequency(hits, 400, 0.3, "the event")
'''


def chance_source(draft: Draft) -> str:
    """Return the source text that makes a generator beside the submission; empty without one."""
    if not draft.rng:
        return ""
    snippets = draft.snippets
    return RNG.format(
        imports=snippets.imports, seeded=snippets.seeded.format("seed"), next_number=snippets.next_number
    )


def certain_value(draft: Draft, parameter: Parameter) -> str:
    """Return the source of an argument for which the answer is certain; empty if there is no rule for it."""
    if parameter == draft.array:
        *before, last = draft.axes_of(parameter)
        index = f"np.random.default_rng(draw(st.integers(0, 99))).integers(0, {last}, {tuple_of(before)})"
        one_hot = f"{_scale(parameter)}np.eye({last}, dtype=dtype)[{index}]"
        return draft.snippets.drawn.format(f"st.just({one_hot})") if draft.library == "torch" else one_hot
    if draft.array and (parameter.name, parameter.kind) == ("k", "int"):
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
    moves = MOVES.format(
        names=", ".join([*names, "seed"]), rng=draft.rng, call=f"{draft.judged.name}({draft.judged.passed})"
    )
    return moves + _counting_law(draft)


def _counting_law(draft: Draft) -> str:
    array = draft.array
    if array is None:
        chance = probability(draft)
        drawn = _call(draft, {chance.name: "0.3"}) if chance else ""
        return SHARE.format(rng=draft.rng, drawn=drawn) if chance else ""
    library = "torch" if draft.library == "torch" else "np"
    value = f"{library}.{'tensor' if library == 'torch' else 'array'}(shares)"
    value = f"{library}.log({value})" if is_logits(array) else value
    leading = len(draft.axes_of(array)) - 1
    value += f"[{', '.join(['None'] * leading)}]" if leading else ""
    drawn = _call(draft, {})
    if draft.judged.result and draft.returns_array:
        if draft.axes_of(array)[-1] in draft.judged.result.strip("'\"").split():
            return ""  # the entries of the result are no indices
        drawn = f"index for _ in range(400) for index in {drawn}.ravel().tolist()"
    else:
        drawn = f"int({drawn}{'.ravel()[0]' if leading else ''}) for _ in range(400)"
    return SHARES.format(rng=draft.rng, array=array.name, value=value, drawn=drawn)


def _call(draft: Draft, changed: dict[str, str]) -> str:
    """Return the source of a call in a law without cases: defaults are left out, numbers are literals."""
    arguments = []
    for p in draft.judged.parameters:
        if p.kind == "rng" or p == draft.array:
            arguments.append(f"{p.name}={p.name}")
        elif p.default is None:
            arguments.append(f"{p.name}={changed.get(p.name, '3' if p.kind == 'int' else '1.0')}")
    return f"student.{draft.judged.name}({', '.join(arguments)})"
