"""`kata mistakes`: draft the mistakes of a kata from its reference, and add them to its `mistakes.edits`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import count, islice

import click

from dojo_authoring.drafted_mistakes.candidates import candidates
from dojo_authoring.drafted_mistakes.entries import append, written
from dojo_authoring.drafted_mistakes.judging import DraftJudge, Judgement
from dojo_authoring.drafted_mistakes.sentences import level, sentence, told_of
from dojo_authoring.drafted_mistakes.symptoms import Symptoms
from dojo_authoring.drafted_mistakes.table import read_table
from dojo_authoring.parallel import for_each
from dojo_authoring.verify.locations import place
from grader.cases.generation import SEED
from grader.checks.kata_checks import AGREEMENT
from grader.course.catalog import Course, KataInfo
from grader.course.mistake_edits import EditedMistake
from grader.errors import CourseError, KataError
from grader.grading.session import require_library
from grader.texts.phrases import counted

MOST_TRIED = 12  # candidates for each draft that is asked for
OF_NAMES = {"AttributeError", "NameError", "UnboundLocalError", "UFuncTypeError"}
LONGEST_REFERENCE = 20_000  # characters: the edits of a longer one take minutes to list


@dataclass
class Drafted:
    """The drafts of a kata with what the judge has said of each candidate that was tried."""

    drafts: list[EditedMistake] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    def number(self, *verdicts: str) -> int:
        """Return how many candidates have one of the verdicts."""
        return sum(one.verdict in verdicts for one in self.judgements)


def draft_mistakes(course: Course, name: str, number: int, *, prints: bool = False, seed: int = SEED) -> None:
    """Draft at most `number` mistakes of a kata, and add them to its file, or print them with `prints`.
    Raises CourseError and KataError."""
    info = course.kata_info(name)
    require_draftable(course, info)
    ((_, drafted),) = for_each(course, [info], drafts_of, number, seed)
    if prints:
        click.echo("\n".join(map(written, drafted.drafts)), nl=False)
    elif drafted.drafts:
        append(course.edits(info), info.name, drafted.drafts)
    click.echo("\n".join(_summary(course, info, drafted, prints=prints)), err=prints)


def require_draftable(course: Course, info: KataInfo) -> None:
    """Raise CourseError if no drafts can be made of a kata."""
    if not info.kind.is_code:
        raise CourseError(
            f"`{info.name}` is answered with values, not with code: nothing of it can be changed by an edit."
            " Write its mistakes as functions, in mistakes.py."
        )
    if not course.solution(info, "reference").is_file():
        raise CourseError(
            f"Mistakes are drafted from the reference, and `{info.name}` has none here: write"
            f" {place(course, course.solution(info, 'reference'))}."
        )
    if not hasattr(os, "fork"):
        raise CourseError("A draft is judged in a fork of its own, which this system does not have.")
    require_library([info], "cpu")


def drafts_of(course: Course, info: KataInfo, number: int, seed: int) -> Drafted:
    """Return at most `number` drafts that the checks catch, the likeliest first. Raises KataError."""
    judge = DraftJudge(course, info, seed)
    source = judge.answers.reference_source
    if len(source) > LONGEST_REFERENCE:
        raise KataError(
            f"{info.name}: the reference has {len(source)} characters; drafts are made of at most"
            f" {LONGEST_REFERENCE}."
        )
    found, taken = Drafted(), {*judge.answers.names, *info.entry_points}
    for candidate in islice(candidates(source, info.library, read_table()), MOST_TRIED * number):
        name = _free(told_of(candidate).name, taken)
        draft = candidate.as_draft(name, "", "ordinary", course.edits(info))
        judgement = judge.judge(draft)
        found.judgements.append(judgement)
        if judgement.symptoms and judgement.verdict == "caught" and not shows_at_once(judgement.symptoms):
            draft.words = sentence(candidate, judgement.symptoms).split()
            draft.level = level(judgement.symptoms)
            taken.add(name)
            found.drafts.append(draft)
            if len(found.drafts) == number:
                break
    return found


def shows_at_once(symptoms: Symptoms) -> bool:
    """Return whether a mistake raises in every case, or what a wrong name raises. Whoever makes it sees it
    without a sentence."""
    agreement = next((one for one in symptoms.failed if one.check == AGREEMENT), None)
    if agreement is None or agreement.raising < agreement.failing:
        return False
    return agreement.raising == agreement.cases or {*agreement.errors} <= OF_NAMES


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no other mistake has, with a number behind it if need be."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(one for one in numbered if one not in taken)


def _summary(course: Course, info: KataInfo, drafted: Drafted, *, prints: bool) -> list[str]:
    tried = counted(len(drafted.judgements), "change")
    rest = {
        "do what another mistake does": drafted.number("double"),
        "no check catches": drafted.number("not caught", "right"),
        "raise at once or cannot be judged": len(drafted.judgements)
        - len(drafted.drafts)
        - drafted.number("double", "not caught", "right"),
    }
    said = ", ".join(f"{number} {what}" for what, number in rest.items() if number)
    lines = [f"{counted(len(drafted.drafts), 'draft')} of {tried} tried{f'; {said}' if said else ''}."]
    if drafted.number("not caught"):
        lines.append(f"`kata verify {info.name} --mutate` lists changes that no check catches.")
    if drafted.drafts and not prints:
        where = place(course, course.edits(info))
        lines.append(
            f"next: read the drafts at the end of {where}, mend each sentence, and take the word `draft`"
            f" away, or delete the entry; then kata verify {info.name}"
        )
    return lines
