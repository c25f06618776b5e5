"""The call that a report prints gives what the report says, when it runs beside the submission."""

import re
import sys
from pathlib import Path

import pytest

from grader.checks.context import CheckContext
from grader.checks.runner import judge_case
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.formats.account import is_whole
from grader.grading.easier_case import OneCase
from grader.grading.grader import Grader
from grader.grading.parameters import signatures_of
from grader.grading.place_of_difference import gradient_of, item_of
from grader.grading.report_builder import QuotedAnswer, as_check
from grader.grading.submission_run import judge_submission
from grader.values.arrays import leaves
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import PRECISIONS, describe, show
from grader.worker.child.executor import load_module
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.codec import Handle

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
from printed_calls import (  # noqa: E402 -- a benchmark, which runs them all and counts
    NEEDS_THE_CALL_BEFORE,
    as_printed,
    printed_by,
    tried,
    with_value_printed,
)

MISTAKES = 2  # of each kata, evenly spread over its file
MORE_MISTAKES = 4  # of the katas whose reports quote many kinds of values
LARGE = {"train_language_model"}  # no call of theirs is short enough for a report
KATAS = [name for name, info in Course(ROOT).katas.items() if info.kind.is_code]
QUOTING = [
    "head_split_merge", "layer_norm", "adamw_step", "padding_mask", "multi_head_attention", "swiglu",
    "rotary_embedding", "byte_pair_encoding", "kv_cache", "top_p", "train_language_model", "paged_kv_cache",
    "beam_search", "softmax",
]  # fmt: skip


def says(got, value, where):
    """Whether a report's text `got` shows the value or a part of it, cut or whole, or what it is."""
    at = tuple(map(int, re.findall(r"\d+", where.rpartition("[")[2])))
    texts = {describe(leaf) for leaf in [value, *leaves(value)]}
    for leaf in [value, *leaves(value)]:
        shape = getattr(leaf, "shape", ())
        fits = at if len(shape) == len(at) and all(i < n for i, n in zip(at, shape, strict=True)) else ()
        texts |= {show(leaf, digits, fits) for digits in PRECISIONS}
    return got in texts


def require_the_same(told, printed, call, name):
    """Require that the call as printed has given what the submission gave, if it was printed whole."""
    where = f"{printed!r} {name}: {told.name}\n{told.call}"
    if call.is_stopped:  # a rank waits for the others, which the run of all ranks does not show
        return
    if is_whole(told) and call.error:
        assert type(printed).__name__ == call.error[0], where
    elif is_whole(told) and not any(isinstance(leaf, Handle) for leaf in leaves(call.value)):
        assert not isinstance(printed, Exception), where
        assert first_difference(call.value, printed, Tolerance(16)) is None, where


def left_by(call, snippet, result):
    """Return what the code of a call prints: what a kernel has left in an array, else the call's result."""
    array = re.search(r"^print\((\w+)\.numpy\(\)\)$", snippet, re.MULTILINE)
    return call.on_device[array[1]] if array and call.on_device else result


def is_drawn(told, kata, source):
    """Whether the code of a call gives other values with other random numbers, as dropout does."""
    values = [printed_by(told.snippet, kata, source, seed) for seed in (0, 1)]
    return first_difference(*values, Tolerance(16)) is not None


def is_repeatable(results):
    """Whether the submission answers a call alike whenever it is made, in any process."""
    return not any(result.failures and result.check.nature.of_state for result in results)


def judged_with(course, kata, source, worker):
    """Return the kata as prepared, and what was found about a source."""
    info = course.katas[kata]
    grader = Grader(course, {})
    prepared = grader.prepare(info)
    submission = Submission(info, source, f"{kata}.py")
    choose = grader._chosen(prepared, submission)
    return prepared, judge_submission({info.library: worker}, "cpu", prepared, submission, choose=choose)


def some_mistakes(course, kata, some=MISTAKES):
    """Return some mistakes of a kata by name, evenly spread over its file."""
    mistakes = list(standalone_sources(course, course.katas[kata], "mistakes").items())
    return mistakes[:: -(-len(mistakes) // some)]


def variants_of(course, kata):
    """Return the right answers to a kata in other styles, by name."""
    sources = standalone_sources(course, course.katas[kata], "variants")
    return {name: LocalStudent(load_module(kata, source)) for name, source in sources.items()}


def calls_of(course, kata, source, worker):
    """Yield each failing check as reported, its call, the gradient and the item compared, and what the code
    and the call as shown give."""
    prepared, judged = judged_with(course, kata, source, worker)
    results = judged.results
    stub = course.stub(course.katas[kata]).read_text(encoding="utf-8")
    names = signatures_of(stub) | signatures_of(source)
    for result in results if is_repeatable(results) else ():
        chosen = judged.told.get(result.check.name)
        failure = chosen[0] if chosen else None
        told = (
            as_check(result, prepared.kata, None, QuotedAnswer(source, names), shown_before=(chosen, ""))
            if failure
            else None
        )
        if told and told.snippet:
            call = failure.call
            if call.error[:1] == ("UnusableResult",):  # which the worker says of a right call
                continue
            printed = (
                printed_by(with_value_printed(as_printed(told)), kata, source) if is_whole(told) else None
            )
            found = printed_by(told.snippet, kata, source)
            yield told, call, gradient_of(failure, call), item_of(failure, call), found, printed


@pytest.mark.every(12)
@pytest.mark.parametrize(
    "kata", [pytest.param(kata, marks=[pytest.mark.slow] * (kata != "softmax")) for kata in KATAS]
)
def test_the_printed_call_gives_what_the_report_says(kata, request):
    course = Course(ROOT)
    worker = request.getfixturevalue(f"{course.katas[kata].library}_source")
    quoted = whole = 0
    some = MORE_MISTAKES if kata in QUOTING else MISTAKES
    for name, source in some_mistakes(course, kata, some):
        if name in NEEDS_THE_CALL_BEFORE:
            continue
        for told, call, gradient, item, value, printed in calls_of(course, kata, source, worker):
            whole += is_whole(told)
            require_the_same(told, printed, call, name)
            where = f"{name}: {told.name}\n{told.snippet}"
            result = call.value if item is None else call.value[item]
            had = (call.gradients or {}).get(gradient, left_by(call, told.snippet, result))
            if call.error:
                assert type(value).__name__ == call.error[0], where
                assert f"raised {call.error[0]}" in told.message or told.status == "failed", where
            elif told.status != "timeout" and not any(isinstance(leaf, Handle) for leaf in leaves(had)):
                assert not isinstance(value, Exception), f"{value!r} {where}"
                value = had * 0 if gradient and value is None else value  # no gradient counts as 0
                found = first_difference(had, value, Tolerance(16))
                if found is not None and found.kind == "value" and is_drawn(told, kata, source):
                    continue
                assert found is None, where
                quoted += bool(told.got) and says(told.got, value, told.difference or "")
    assert quoted >= 3 or kata not in QUOTING, "reports that quote the value itself"
    assert whole or kata in LARGE or kata not in QUOTING, "reports whose call has its values in it"


#: Every sixth mistake of a kata is tried; `benchmarks/printed_calls.py` tries all of them.
NTH = 6
#: Katas of two kinds of printed call: arrays, and functions of the kata. Ranks take seconds.
SAMPLE = ("softmax", "translation_loop")


@pytest.mark.every(15)
@pytest.mark.parametrize(
    "kata", [pytest.param(kata, marks=[pytest.mark.slow] * (kata not in SAMPLE)) for kata in KATAS]
)
def test_what_stands_below_a_printed_call_is_true_of_the_mistake_and_of_the_mended_code(kata):
    """What came is what the call gives, and what is expected is what it gives once the code is right."""
    course = Course(ROOT)
    if course.katas[kata].library == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    found = tried(course, course.katas[kata], NTH)
    assert not found.false, "\n\n".join(found.false)
    assert found.said or kata not in SAMPLE  # of others a long call or a state may hide all that is said


@pytest.mark.every(16)
@pytest.mark.parametrize(
    "kata", [pytest.param(kata, marks=[pytest.mark.slow] * (kata != "softmax")) for kata in KATAS]
)
def test_every_right_answer_passes_the_case_that_is_shown(kata, request):
    course = Course(ROOT)
    worker = request.getfixturevalue(f"{course.katas[kata].library}_source")
    variants = variants_of(course, kata)
    for mistake, source in some_mistakes(course, kata):
        prepared, judged = judged_with(course, kata, source, worker)
        for result in judged.results:
            failure = judged.told[result.check.name][0] if result.failures else None
            if failure is not None and failure.case.index < 0:
                arguments = failure.case.arguments
                for variant, student in variants.items():
                    context = CheckContext(prepared.kata, OneCase(prepared.oracle, arguments), student)
                    found = judge_case(result.check, context, failure.case, student).failure
                    assert found is None, f"{variant} fails {result.check.name} for {mistake}: {arguments}"
