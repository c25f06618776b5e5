"""Points never fall when one of two faults is mended: a law compares no part with another wrong part."""

import os
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from grader.answer_keys.answers import spread
from grader.course.catalog import Course
from grader.course.known_solutions import Answers
from grader.extra.authoring.verify.judged import judge_mistake
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

COURSE = Course(Path(__file__).resolve().parents[2])
EVERY = os.environ.get("DOJO_TESTS") == "all"
MISTAKES = 100 if EVERY else 4  # of each kata
SEVERAL = [name for name, info in COURSE.katas.items() if len(info.entry_points) > 1 and not info.questions]
#: Their laws compare a part with another one of the submission, which may be wrong: points can still fall.
FALL = {"head_split_merge", "alibi_bias", "byte_pair_encoding"}
KATAS = [name for name in SEVERAL if name not in FALL] if EVERY else ["padding_mask"]


def wrong_parts(answers, name):
    """The parts that a mistake replaces, by name, as a new module has them."""
    fresh = vars(answers.fresh(name))
    return {e: fresh[e] for e in answers.info.entry_points if fresh[e] is not getattr(answers.reference, e)}


def points(prepared, answers, name, mended=()):
    """The points of a mistake with some of its parts replaced by the reference's."""
    module = vars(answers.fresh(name)) | {part: getattr(answers.reference, part) for part in mended}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        student = LocalStudent(types.SimpleNamespace(**module))
        return judge_mistake(prepared, answers, name, student=student).points


@pytest.mark.slow
@pytest.mark.parametrize("kata", KATAS)
def test_points_do_not_fall_when_one_of_two_faults_is_mended(kata):
    info = COURSE.katas[kata]
    prepared, answers = Grader(COURSE, {}).prepare(info), Answers(COURSE, info, "mistakes")
    double = [name for name in answers.names if len(wrong_parts(answers, name)) > 1]
    fell = []
    for name in spread(double, MISTAKES):
        whole = points(prepared, answers, name)
        for part in wrong_parts(answers, name):
            now = points(prepared, answers, name, [part])
            fell += [f"{name}: {whole} → {now} with {part} mended"] * (now < whole)
    assert not fell


@pytest.mark.slow
def test_two_masks_with_the_same_slip_gain_by_either():
    info = COURSE.katas["padding_mask"]
    prepared, answers = Grader(COURSE, {}).prepare(info), Answers(COURSE, info, "mistakes")

    def pair(ids, others, pad_id):  # the slip: a padded query may read
        shape = (*ids.shape, others.shape[1])
        return np.broadcast_to((others != pad_id)[:, None, :], shape)[:, None].copy()

    slips = {
        "decoder_self_mask": lambda ids, pad_id: np.tril(pair(ids, ids, pad_id)),
        "cross_mask": pair,
    }

    def earned(*kept):
        module = {e: slips[e] if e in kept else getattr(answers.reference, e) for e in info.entry_points}
        student = LocalStudent(types.SimpleNamespace(**module))
        return judge_mistake(prepared, answers, answers.names[0], student=student).points

    assert earned(*slips) <= min(earned("cross_mask"), earned("decoder_self_mask"))
    assert earned() == 1000
