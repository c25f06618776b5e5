"""Tests that a draft of any kind and shape, filled with a reference, stands as it is: its cases can be drawn,
the reference passes, drafted mistakes fail, and a trivial answer earns little."""

from itertools import combinations, product

import pytest

from dojo_authoring.scaffold.prompts import complete_draft
from dojo_authoring.scaffold.writer import write_kata
from dojo_authoring.verify.judged import Records
from dojo_authoring.verify.katas import verify_course
from dojo_authoring.verify.laws import problems_of_laws
from dojo_authoring.verify.mistakes import outcomes
from dojo_authoring.verify.trivial import MOST_TRIVIAL, points_of_trivial_answers
from grader.cases.generation import SEED
from grader.checks.context import CheckContext
from grader.checks.runner import run_check
from grader.course.catalog import Course
from grader.grading.grader import Grader

from .stock_references import stock_reference

FEW = 3  # parts of a kind in the fast test, the slow one has all

LIBRARIES = ("numpy", "torch")
DUE = (  # what `kata verify` asks of the author of any draft
    "/exercises/", "exercises/", "add ", "draw what", "give a nudge", "name the step", "say nearly",
    "are needed",
)  # fmt: skip

#: For each kind the parts of a signature that are combined; each is a list of what may stand there.
FUNCTION = {
    "library": LIBRARIES,
    "arrays": ("", "x", "x: 'n'", "x: 'rows columns'", "x: 'batch tokens d_model'", "x: 'n', ids: 'int n'",
               "x: 'tokens d_model', w: 'd_model', mask: 'bool tokens d_model'", "ids: 'int n'", "mask"),
    "others": ("n: int", "n: int, p: float", "num_heads: int, eps=1e-6", "n: int, axis=-1, flag=True",
               "n: int, flag: bool", "word: str, mode: str = 'mean'", "words: list[str], numbers: list[int]",
               "n: int, low=-math.inf", "n: int, score: Callable = None", "rng, n: int"),
    "result": ("", "float", "int", "bool", "'same'", "'bool same'", "'int same'", "str", "list[int]"),
}  # fmt: skip
MODULE = {
    "weights": ((), ("g:",), ("g: d_model",), ("w: d_ff d_model",), ("g:", "norm.scale: d_model")),
    "made": ("d_model, d_ff", "d_model, d_ff, eps=1e-5", "d_model, d_ff, p=0.1", "d_model, d_ff, num_heads"),
    "called": ("x: 'tokens d_model'", "x: 'batch tokens d_model'", "x: 'batch d_model', mask: 'bool batch'",
               "x: 'd_model', start: int", "x: 'd_model', rng"),
    "result": ("", "'same'"),
}  # fmt: skip
OBJECT = {
    "library": LIBRARIES,
    "made": ("", "size: int", "size: int, share=0.5", "eps=1e-6", "rng"),
    "called": ("", "k: 'tokens d_k'", "x", "n: int", "ids: 'int n'", "logits: 'vocab', rng", "rng",
               "x: 'n', scale=2.0"),
    "also": ((), ("length()",), ("pop(n: int)", "length() -> int")),
    "result": ("", "'same'", "float"),
}  # fmt: skip
SAMPLER = {
    "library": LIBRARIES,
    "array": ("p: 'vocab'", "logits: 'vocab'", "logits: 'batch vocab'", "scores: 'a b vocab'", "p"),
    "others": ("", "k", "temperature", "temperature=1.0", "k, temperature", "mask: 'bool vocab'",
               "ids: 'int n'", "greedy: bool", "word: str"),
    "result": ("", "int", "'k'", "'n'"),
    "generator": ("rng", "generator"),
}  # fmt: skip
EVENT = {
    "library": LIBRARIES,
    "arrays": ("", "tokens: 'int batch tokens'", "mask: 'bool n'"),
    "chance": ("p: float", "p", "rate: float", "p=0.3"),
    "others": ("", "mask_id: int", "flag: bool"),
    "result": ("", "'same'"),
}
QUESTIONS = {
    "first": ("tokens", "tokens, window", "tokens, row"),
    "more": ((), ("B(tokens)",), ("B(window)", "C(tokens, heads, row)")),
}


def listed(*parts):
    return ", ".join(filter(None, parts))


def with_result(text, arrays, result):
    """Return a signature with its result, whose axes `same` are those of the first array."""
    named = [part.split("'")[1] for part in arrays.split(", ") if "'" in part]
    axes = " ".join(word for word in (named or [""])[0].split() if word not in ("int", "bool"))
    if "same" in result and not axes:
        return text
    return f"{text} -> {result.replace('same', axes)}" if result else text


def function(library, arrays, others, result):
    text = f"f({listed(arrays, *sorted(others.split(', '), key=lambda p: '=' in p))})"
    return {"library": library, "signatures": (with_result(text, arrays, result),)}


def module(weights, made, called, result):
    forward = with_result(f"Layer.forward({called})", called, result)
    return {"kind": "module", "signatures": (f"Layer({made})", forward), "weights": weights or ("none",)}


def made_object(library, made, called, also, result):
    first = with_result(f"Store.append({called})", called, result)
    more = tuple(f"Store.{method}" for method in also)
    return {"kind": "object", "library": library, "signatures": (f"Store({made})", first, *more)}


def sampler(library, array, others, result, generator):
    given = sorted(filter(None, [array, *others.split(", "), generator]), key=lambda p: "=" in p)
    said = f" -> {result}" if result and (result != "'k'" or "k" in others.split(", ")) else ""
    return {"kind": "sampler", "library": library, "signatures": (f"f({', '.join(given)}){said}",)}


def event(library, arrays, chance, others, result):
    given = sorted(filter(None, [arrays, chance, others, "rng"]), key=lambda p: "=" in p)
    text = with_result(f"f({', '.join(given)})", arrays, result)
    return {"kind": "sampler", "library": library, "signatures": (text,)}


def questions(first, more):
    return {"kind": "questions", "library": "numpy", "signatures": (f"A({first})", *more)}


SHAPES = {
    function: FUNCTION,
    module: MODULE,
    made_object: OBJECT,
    sampler: SAMPLER,
    event: EVENT,
    questions: QUESTIONS,
}


def everything(parts):
    """Return every combination of the parts."""
    return [dict(zip(parts, chosen, strict=True)) for chosen in product(*parts.values())]


def pairs_of(row):
    return set(combinations(row.items(), 2))


def covering(parts):
    """Return few combinations in which any two of the parts occur together."""
    rows = everything(parts)
    due, found = set().union(*map(pairs_of, rows)), []
    while due:
        found.append(max(rows, key=lambda row: len(due & pairs_of(row))))
        due -= pairs_of(found[-1])
    return found


def written(root, name, shape, *, is_draft=False):
    """Write a kata of a shape with its reference; return its course and what is known of it."""
    given = {"library": None, "kind": None, "weights": (), **shape}
    draft = complete_draft("a", name, title="T", source="S", is_draft=is_draft, **given)
    write_kata(root, draft)
    (root / "solutions" / "a" / name / "reference.py").write_text(stock_reference(draft))
    course = Course(root)
    return course, course.kata_info(name)


def refusals(course, info):
    """Return what the laws, and all other checks, say of the reference."""
    prepared = Grader(course, {}).prepare(info)
    found, _ = problems_of_laws(course, prepared)
    context = CheckContext(prepared.kata, prepared.oracle, prepared.oracle.reference)
    for check in prepared.checks:
        found += [f"{check.name}: {failure.message}" for failure in run_check(check, context).failures[:1]]
    return found


def problems(course, info):
    """Return what keeps a draft from standing: `kata verify` in one process."""
    found, grader = refusals(course, info), Grader(course, {})
    prepared = grader.prepare(info)
    if not prepared.kata.kind.is_code:
        return found
    paid = points_of_trivial_answers(course, prepared)
    most = prepared.kata.points * MOST_TRIVIAL
    found += [f"a trivial answer ({what}) gets {points}" for what, points in paid.items() if points > most]
    judged = outcomes(course, grader, prepared, Records(course, info, SEED, fresh=True))
    return found + [outcome.gap for outcome in judged if outcome.gap]


@pytest.mark.slow
def test_the_reference_of_a_draft_passes(tmp_path):
    """Any two parts of a signature occur together in a draft whose reference is judged with a few cases."""
    found = {}
    for maker, parts in SHAPES.items():
        few = {part: values[:FEW] for part, values in parts.items()}
        for number, row in enumerate(covering(few)):
            shape, name = maker(**row), f"{maker.__name__}_{number}"
            course, info = written(tmp_path, name, shape)
            info.path.write_text(info.path.read_text().replace("bank_size=40", "bank_size=4"))
            if refused := refusals(course, info):
                found[str(shape)] = refused
    assert found == {}


COIN = "def f(p, rng):\n    return bool(rng.binomial(1, p))\n"
PICK = "def f(p, rng):\n    return int(rng.multinomial(1, p.astype(float) / p.sum()).argmax())\n"
#: Shapes with a reference of their own; without one, the stock reference is taken.
PARTICULAR = {
    "rng_of_a_method": (
        {
            "library": "numpy",
            "signatures": ("Window(n: int, penalty=2.0)", "Window.next(logits: 'vocab', rng)"),
        },
        None,
    ),
    "rng_of_a_constructor": (
        {"library": "numpy", "signatures": ("Window(rng)", "Window.next(logits: 'vocab')")},
        None,
    ),
    "an_array_beside_the_event": (
        {"library": "numpy", "signatures": ("f(tokens: 'int batch n', mask_id: int, p: float, rng)",)},
        None,
    ),
    "binomial": ({"library": "numpy", "signatures": ("f(p, rng)",)}, COIN),
    "multinomial": ({"library": "numpy", "signatures": ("f(p: 'vocab', rng)",)}, PICK),
    "number_as_weight": (
        {"signatures": ("Scale(n)", "Scale.forward(x: 'tokens n')"), "weights": ("g:",)},
        None,
    ),
    "default_of_a_module": ({"library": "numpy", "signatures": ("f(x: 'n', n: int, low=-math.inf)",)}, None),
    "default_that_cases_keep": ({"library": "numpy", "signatures": ("f(x: 'n', mode='mean')",)}, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTICULAR)
def test_a_draft_of_a_particular_shape_stands(name, tmp_path):
    shape, reference = PARTICULAR[name]
    course, info = written(tmp_path, name, shape)
    if reference:
        course.solution(info, "reference").write_text(reference)
    assert problems(course, info) == []


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.parametrize("maker", SHAPES)
def test_a_draft_of_any_shape_stands(maker, tmp_path):
    """Any two parts of a signature occur together in a draft that has no problem."""
    found = {}
    for number, row in enumerate(covering(SHAPES[maker])):
        shape = maker(**row)
        if problem := problems(*written(tmp_path, f"k{number}", shape)):
            found[str(shape)] = problem
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("is_draft", [False, True])
def test_kata_verify_asks_an_author_for_nothing_else(is_draft, tmp_path, capsys):
    """The whole `kata verify` asks for statement, variants, mistakes and laws alone."""
    for name, (shape, reference) in PARTICULAR.items():
        course, info = written(tmp_path, name, shape, is_draft=is_draft)
        if reference:
            course.solution(info, "reference").write_text(reference)
    code = verify_course(Course(tmp_path), ())
    gaps = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert "\n".join(gap for gap in gaps if not any(due in gap for due in DUE)) == ""
    assert code == (0 if is_draft else 1)
