"""Points never fall when one of two faults is mended: a law compares no part with another wrong part."""

import itertools
import os
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from dojo_authoring.verify.judged import judge_mistake
from grader.answer_keys.answers import spread
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

COURSE = Course(Path(__file__).resolve().parents[3])
EVERY = os.environ.get("DOJO_TESTS") == "all"
PAIRS = 6 if EVERY else 3  # of each kata: mistakes of two parts, and pairs of mistakes of one part each
SEVERAL = [name for name, info in COURSE.katas.items() if len(info.entry_points) > 1 and info.kind.is_code]
KATAS = SEVERAL if EVERY else ["padding_mask", "head_split_merge", "alibi_bias", "byte_pair_encoding"]


def wrong_parts(answers, name):
    """The parts that a mistake replaces, by name, as a new module has them."""
    fresh = vars(answers.fresh(name))
    return {e: fresh[e] for e in answers.info.entry_points if fresh[e] is not getattr(answers.reference, e)}


def points(prepared, answers, name, parts):
    """The points of the reference with some of its parts replaced."""
    module = types.ModuleType(answers.info.name)  # what a cache holds is counted by the module's name
    for entry_point in answers.info.entry_points:
        setattr(module, entry_point, parts.get(entry_point, getattr(answers.reference, entry_point)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        student = LocalStudent(module)
        return judge_mistake(prepared, answers, name, student=student).points


def double_faults(answers):
    """Mistakes of two parts, and two mistakes together: the names, and a function that makes the parts."""
    of = {name: tuple(wrong_parts(answers, name)) for name in answers.names}
    several = [(name, name) for name, parts in of.items() if len(parts) > 1]
    single = [name for name, parts in of.items() if len(parts) == 1]
    pairs = [(one, other) for one, other in itertools.combinations(single, 2) if of[one] != of[other]]
    return [*spread(several, PAIRS), *spread(pairs, PAIRS)]


@pytest.mark.slow
@pytest.mark.parametrize("kata", KATAS)
def test_points_do_not_fall_when_one_of_two_faults_is_mended(kata):
    info = COURSE.katas[kata]
    prepared, answers = Grader(COURSE, {}).prepare(info), KnownSolutions(COURSE, info, "mistakes")
    fell = []
    for names in double_faults(answers):

        def wrong(names=names):
            return wrong_parts(answers, names[0]) | wrong_parts(answers, names[1])

        whole = points(prepared, answers, names[0], wrong())
        for part in wrong():
            kept = {name: value for name, value in wrong().items() if name != part}
            now = points(prepared, answers, names[0], kept)
            if now < whole and points(prepared, answers, names[0], {part: wrong()[part]}) == 1000:
                continue  # this part was right: the other one needs what it keeps between calls
            fell += [f"{names}: {whole} → {now} with {part} mended"] * (now < whole)
    assert not fell


@pytest.mark.slow
def test_two_masks_with_the_same_slip_gain_by_either():
    info = COURSE.katas["padding_mask"]
    prepared, answers = Grader(COURSE, {}).prepare(info), KnownSolutions(COURSE, info, "mistakes")

    def pair(ids, others, pad_id):  # the slip: a padded query may read
        shape = (*ids.shape, others.shape[1])
        return np.broadcast_to((others != pad_id)[:, None, :], shape)[:, None].copy()

    slips = {
        "decoder_self_mask": lambda ids, pad_id: np.tril(pair(ids, ids, pad_id)),
        "cross_mask": pair,
    }

    def earned(*kept):
        return points(prepared, answers, answers.names[0], {name: slips[name] for name in kept})

    assert earned(*slips) <= min(earned("cross_mask"), earned("decoder_self_mask"))
    assert earned() == 1000
