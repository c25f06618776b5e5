"""Draft what a student reads of a mistake: what one sees, what was changed, what to check.

A sentence says what the change and the failing checks prove, and no more: which claim does not hold, what
the code calls or leaves out. An author says why it matters.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from dojo_authoring.drafted_mistakes.candidates import Candidate
from dojo_authoring.drafted_mistakes.symptoms import Symptoms
from grader.checks.kata_checks import AGREEMENT
from grader.edits.context import name_of

LONGEST_CODE = 40  # characters of code in a sentence
SUBTLE = 0.25  # of the cases of agreement that a subtle mistake fails at most
SHAPE, DTYPE, ARGUMENTS, AGAIN = (
    "has_the_right_shape",
    "keeps_the_dtype",
    "leaves_arguments_unchanged",
    "answers_the_same_again",
)
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "plus"),
    ast.Sub: ("-", "minus"),
    ast.Mult: ("*", "times"),
    ast.Div: ("/", "division"),
    ast.FloorDiv: ("//", "floor_division"),
    ast.Mod: ("%", "remainder"),
    ast.Pow: ("**", "power"),
    ast.MatMult: ("@", "matrix_product"),
    ast.BitAnd: ("&", "and"),
    ast.BitOr: ("|", "or"),
    ast.Lt: ("<", "less"),
    ast.LtE: ("<=", "at_most"),
    ast.Gt: (">", "greater"),
    ast.GtE: (">=", "at_least"),
    ast.Eq: ("==", "equal"),
    ast.NotEq: ("!=", "unequal"),
    ast.And: ("and", "and"),
    ast.Or: ("or", "or"),
}
PARTS = {ast.Add: "term", ast.Sub: "term", ast.Mult: "factor", ast.Div: "divisor", ast.MatMult: "matrix"}


@dataclass(frozen=True)
class Told:
    """What a change is: a name for the mistake, what was changed as a sentence, and what to check."""

    name: str
    cause: str
    check: str


def sentence(candidate: Candidate, symptoms: Symptoms) -> str:
    """Return the draft of the sentence of a mistake."""
    told = told_of(candidate)
    everywhere = " It is so in more than one place." if candidate.places > 1 else ""
    return f"{seen(symptoms)} {told.cause}{everywhere} {told.check}"


def level(symptoms: Symptoms) -> str:
    """Return how far from right a mistake is: subtle if few of the cases show it."""
    agreement = next((one for one in symptoms.failed if one.check == AGREEMENT), None)
    is_rare = agreement is None or agreement.failing <= SUBTLE * agreement.cases
    return "subtle" if is_rare else "ordinary"


# --- what one sees ----------------------------------------------------------------------------------


def seen(symptoms: Symptoms) -> str:
    """Return what one sees of a mistake, as a sentence."""
    failed = {one.check: one for one in symptoms.failed}
    agreement = failed.get(AGREEMENT)
    laws = [one for one in symptoms.failed if one.is_law]
    claim = f" {_denied(laws[0].claim)}" if laws else ""
    if agreement and agreement.errors:
        always = len(agreement.errors) == 1 and agreement.raising == agreement.cases
        which = "Every call that is tried raises" if always else "Some calls raise"
        return f"{which} {' or '.join(agreement.errors)}."
    if SHAPE in failed:
        where = "The" if failed[SHAPE].failing == failed[SHAPE].cases else "In some cases, the"
        return f"{where} result has another shape than is asked for.{claim}"
    if agreement and symptoms.where:
        where = symptoms.where
        return f"In the cases of this kata, the result is wrong where {where}, and right elsewhere.{claim}"
    if agreement and agreement.failing == agreement.cases:
        return f"The result is wrong in every case that is tried.{claim}"
    if agreement:
        return f"The result is wrong in some cases, and right in others.{claim}"
    if ARGUMENTS in failed:
        return "An argument holds something else after the call."
    if AGAIN in failed:
        return "A second call with the same arguments gives another answer."
    first = laws[0] if laws else symptoms.failed[0]
    return _denied(first.claim)


def _denied(claim: str) -> str:
    return f"This does not hold: {claim.rstrip('.')}."


# --- what was changed -------------------------------------------------------------------------------


def told_of(candidate: Candidate) -> Told:
    """Return what the change of a candidate is."""
    old, new = candidate.change.old, candidate.change.new
    if isinstance(old, list) or isinstance(new, list):
        return _of_statements(_listed(old), _listed(new))
    if isinstance(old, ast.stmt):
        return _of_statements([old], [new])
    owner = candidate.change.owner
    if isinstance(owner, ast.arguments):
        said = f"The default of a parameter is{_code(new, ' `{}`') or ' another one'}."
        return Told("has_another_default", said, "Compare the defaults with the statement.")
    if isinstance(owner, ast.UnaryOp) and candidate.change.part == "operand":
        old, new = owner, ast.UnaryOp(owner.op, new)  # a negative number
    return _of_nodes(candidate, old, new)


def _listed(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [node]


def _of_nodes(candidate: Candidate, old: Any, new: Any) -> Told:
    found = None
    if isinstance(old, ast.Call) and isinstance(new, ast.Call):
        found = _of_calls(old, new)
    elif isinstance(old, ast.BinOp | ast.Compare | ast.BoolOp) and type(old) is type(new):
        found = _of_operations(old, new)
    found = found or _of_parts(old, new)
    is_member = isinstance(old, ast.Attribute) and isinstance(new, ast.Attribute)
    if found is None and is_member and ast.dump(old.value) == ast.dump(new.value):
        found = _of_names(old.attr, new.attr, is_called=candidate.change.part == "func")
    if found is None and isinstance(old, ast.Name) and isinstance(new, ast.Name):
        found = _of_names(old.id, new.id, is_called=False)
    return found or _of_any(candidate, old, new)


def _of_calls(old: ast.Call, new: ast.Call) -> Told | None:
    if ast.dump(old.func) != ast.dump(new.func):
        return None
    name = name_of(old)
    before = {word.arg or "": ast.unparse(word.value) for word in old.keywords}
    after = {word.arg or "": ast.unparse(word.value) for word in new.keywords}
    check = f"Check what `{name}` is given."
    if [*map(ast.dump, old.args)] != [*map(ast.dump, new.args)]:
        if len(new.args) < len(old.args):
            return Told(
                f"calls_{name}_with_too_little", f"`{name}` is called with an argument too few.", check
            )
        if sorted(map(ast.dump, old.args)) == sorted(map(ast.dump, new.args)):
            said = f"Two arguments of `{name}` have changed places."
            return Told(f"confuses_the_arguments_of_{name}", said, check)
        return None
    if gone := [word for word in before if word not in after]:
        said = " and ".join(f"`{word}`" for word in gone)
        return Told(f"calls_{name}_without_{gone[0]}", f"`{name}` is called without {said}.", check)
    if came := [word for word in after if word not in before]:
        said = f"`{name}` is called with `{came[0]}={after[came[0]]}`."
        return Told(f"calls_{name}_with_{came[0]}", said, check)
    changed = [word for word in after if after[word] != before[word]]
    if changed and len(after[changed[0]]) <= LONGEST_CODE:
        said = f"`{name}` is called with `{changed[0]}={after[changed[0]]}`."
        return Told(f"calls_{name}_with_another_{changed[0]}", said, check)
    return None


def _of_operations(old: Any, new: Any) -> Told | None:
    if isinstance(old, ast.BinOp):
        same = ast.dump(old.left) == ast.dump(new.left) and ast.dump(old.right) == ast.dump(new.right)
        turned = ast.dump(old.left) == ast.dump(new.right) and ast.dump(old.right) == ast.dump(new.left)
        if turned and type(old.op) is type(new.op) and type(old.op) in OPERATORS:
            sign, word = OPERATORS[type(old.op)]
            said = f"The two sides of `{sign}` have changed places."
            return Told(f"turns_the_{word}_round", said, f"Check what stands left and right of `{sign}`.")
        signs = [old.op, new.op] if same else []
    elif isinstance(old, ast.Compare):
        same = ast.dump(old.left) == ast.dump(new.left)
        signs = [old.ops[0], new.ops[0]] if same and len(old.ops) == len(new.ops) == 1 else []
    else:
        signs = [old.op, new.op] if type(old.op) is not type(new.op) else []
    if (
        len(signs) == 2
        and all(type(sign) in OPERATORS for sign in signs)
        and type(signs[0]) is not type(signs[1])
    ):
        before, after = (OPERATORS[type(sign)] for sign in signs)
        name = f"takes_{after[1]}_for_{before[1]}"
        said = f"`{after[0]}` stands where another operator is needed."
        return Told(name, said, _check_of(type(signs[0]), type(signs[1])))
    return None


def _check_of(old: type[ast.AST], new: type[ast.AST]) -> str:
    if {old, new} in ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE}):
        return "Check the case in which both sides are equal."
    if issubclass(old, ast.Eq | ast.NotEq) or issubclass(old, ast.boolop):
        return "Check when the condition is True."
    if issubclass(old, ast.cmpop):
        return "Check which side is the larger one."
    return "Check the operators."


def _of_parts(old: Any, new: Any) -> Told | None:
    """Return what an edit is that leaves out a part around a node, or puts one around it."""
    if isinstance(old, ast.BinOp) and type(old.op) in PARTS:
        for kept, gone in ((old.left, old.right), (old.right, old.left)):
            if ast.dump(kept) == ast.dump(new):
                part = PARTS[type(old.op)]
                if isinstance(old.op, ast.Div) and gone is old.left:
                    part = "numerator"
                shown = _code(gone, " `{}`")
                name = f"leaves_out_{_word(gone) or f'a_{part}'}"
                return Told(name, f"The {part}{shown} is left out.", f"Check each {part}.")
    if isinstance(old, ast.Call) and any(ast.dump(new) == ast.dump(one) for one in _inner(old)):  # f(x) → x
        name = name_of(old)
        return Told(f"leaves_out_{name}", f"`{name}` is left out.", f"Check where `{name}` belongs.")
    if isinstance(old, ast.UnaryOp) and ast.dump(old.operand) == ast.dump(new):
        what = "The sign" if isinstance(old.op, ast.USub) else "The negation"
        return Told(f"leaves_out_the_{what.split()[1]}", f"{what} is left out.", "Check it on one example.")
    if isinstance(old, ast.Subscript) and ast.dump(old.value) == ast.dump(new):
        shown = _code(new, " of `{}`")
        return Told("leaves_out_an_index", f"The index{shown} is left out.", "Check which entries are used.")
    if isinstance(old, ast.Attribute) and ast.dump(old.value) == ast.dump(new):
        return Told(
            f"leaves_out_{old.attr}", f"`.{old.attr}` is left out.", f"Check where `.{old.attr}` belongs."
        )
    return _of_a_part_too_many(old, new)


def _of_a_part_too_many(old: Any, new: Any) -> Told | None:
    """Return what an edit is that puts a part around a node."""
    same = ast.dump(old) if isinstance(old, ast.AST) else ""
    of_it = _code(old, " of `{}`")
    if isinstance(new, ast.Call) and same in map(ast.dump, _inner(new)):
        name = name_of(new)
        said = f"`{name}`{of_it} is computed where none is needed."
        return Told(f"applies_{name}", said, f"Check whether `{name}` belongs there.")
    if isinstance(new, ast.UnaryOp) and ast.dump(new.operand) == same:
        if isinstance(new.op, ast.USub):
            return Told("turns_a_sign", f"The sign{of_it} is turned.", "Check the signs.")
        return Told("turns_a_condition", "A condition is turned round.", "Check when it is True.")
    if isinstance(new, ast.BinOp) and same in (ast.dump(new.left), ast.dump(new.right)):
        other = new.right if ast.dump(new.left) == same else new.left
        sign, word = OPERATORS.get(type(new.op), ("", "operator"))
        shown = _code(other, f"`{sign} {{}}`" if other is new.right else f"`{{}} {sign}`") or f"`{sign}`"
        name = f"has_{word}_{_word(other)}".rstrip("_") + "_too_many"
        return Told(name, f"There is {shown} too many.", f"Check each `{sign}`.")
    if isinstance(new, ast.Subscript) and ast.dump(new.value) == same:
        shown = f"[{ast.unparse(new.slice)}]"
        said = f"The index `{shown}` is applied where none is needed."
        return Told("applies_an_index", said, "Check which entries are used.")
    if isinstance(new, ast.Attribute) and ast.dump(new.value) == same:
        said = f"`.{new.attr}`{of_it} is taken where none is needed."
        return Told(f"takes_{new.attr}", said, f"Check whether `.{new.attr}` belongs there.")
    return None


def _inner(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]


def _of_names(old: str, new: str, *, is_called: bool) -> Told:
    if is_called:
        said = f"`{new}` is called where another function is needed."
        return Told(f"takes_{new}_for_{old}", said, "Check which function is called.")
    said = f"`{new}` stands where another name is needed."
    return Told(f"takes_{new}_for_{old}", said, f"Check each use of `{new}`.")


def _of_statements(old: list[Any], new: list[Any]) -> Told:
    gone = [one for one in old if all(ast.dump(one) != ast.dump(other) for other in new)]
    came = [one for one in new if all(ast.dump(one) != ast.dump(other) for other in old)]
    if not came and gone:
        target = _target(gone[0])
        if isinstance(gone[0], ast.If) and isinstance(gone[0].body[-1], ast.Raise):
            return Told(
                "checks_no_argument", "A check of the arguments is left out.", "Check which are refused."
            )
        if target:
            return Told(f"leaves_out_a_step_of_{target}", f"A step that sets `{target}` is left out.",
                        f"Check how `{target}` is made.")  # fmt: skip
        return Told("leaves_out_a_step", "A step is left out.", "Compare the steps with the statement.")
    if came and not gone:
        shown = _code(came[0], " `{}`")
        name = f"changes_{_target(came[0])}" if _target(came[0]) else "does_a_step_too_many"
        return Told(name, f"A step{shown} is done that is not needed.", "Check each step on a small example.")
    if not came and not gone:
        return Told("confuses_two_steps", "Two steps are done in the wrong order.", "Check their order.")
    shown = _code(came[0], " `{}`")
    return Told("does_another_step", f"A step{shown} stands where another one is needed.", "Check this step.")


def _of_any(candidate: Candidate, old: Any, new: Any) -> Told:
    shown = _code(new, "`{}`")
    if candidate.change.part == "exc":
        what = name_of(new) if isinstance(new, ast.Call) else _word(new)
        said = f"`{what}` is raised in place of another exception."
        return Told(f"raises_{what}", said, "Check which exception the statement asks for.")
    what = candidate.kind.partition(" ")[2] if candidate.kind.startswith(("a ", "an ")) else "part"
    where = f" in `{candidate.where}`" if candidate.where else ""
    name = f"takes_{_word(new)}_for_{_word(old)}" if _word(new) and _word(old) else f"has_another_{what}"
    name = re.sub(r"\W+", "_", name)
    if shown:
        return Told(
            name, f"{shown} stands where something else is needed{where}.", f"Check each {what} there."
        )
    return Told(name, f"One {what}{where} is another one than is needed.", f"Check each {what}{where}.")


def _target(node: Any) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return targets[0].id if isinstance(targets[0], ast.Name) else ""


def _code(node: Any, form: str) -> str:
    """Return the code of a node in a form; "" if it is long or has several lines."""
    text = ast.unparse(node) if isinstance(node, ast.AST) else ""
    return form.format(text) if text and len(text) <= LONGEST_CODE and "\n" not in text else ""


def _word(node: Any) -> str:
    """Return a node as a part of a name; "" if it is no name and no small number."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str | bool):
        text = re.sub(r"\W+", "_", str(node.value)).strip("_")
        return text[:12]
    return node.id if isinstance(node, ast.Name) else ""
