"""Mistakes and variants as files of their own, to be graded as a student's file would be."""

from __future__ import annotations

from grader.answers import public_names, replaced_by
from grader.catalog import Card, Course, load_file
from grader.excerpt import excerpt

STANDALONE = '''\
"""{name}, made from the course's solutions."""
import sys, types

def _load(name, source):
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, name + ".py", "exec"), module.__dict__)
    return module

_reference = _load("answer_reference", {reference!r})
_answers = _load("answer_{part}", {answers!r})
{bindings}
'''


def standalone_sources(course: Course, card: Card, part: str) -> dict[str, str]:
    """For each answer in `mistakes` or `variants` the source of a file with all entry points."""
    files = {name: course.solution(card, name) for name in ("reference", part)}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    reference = load_file(f"dojo_reference_{card.name}", files["reference"])
    answers = load_file(f"dojo_{part}_{card.name}", files[part])
    return {
        name: STANDALONE.format(
            name=name,
            part=part,
            reference=texts["reference"],
            answers=excerpt(texts[part], name),
            bindings=_bindings(getattr(answers, name), name, reference, card.entry_points),
        )
        for name in public_names(answers)
    }


def _bindings(answer: object, name: str, reference: object, entry_points: tuple[str, ...]) -> str:
    replaced = replaced_by(answer, reference, entry_points)
    lines = []
    for entry in entry_points:
        if entry not in replaced:
            lines.append(f"{entry} = _reference.{entry}")
        elif replaced[entry] is answer:
            lines.append(f"{entry} = _answers.{name}")
        else:
            lines.append(f"{entry} = _answers.{name}.{entry}")
    return "\n".join(lines)
