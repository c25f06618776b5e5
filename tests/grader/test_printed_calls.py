"""The call that a report prints gives what the report says, when it runs beside the submission."""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.grading.grader import Grader
from grader.grading.report_builder import as_check, smallest
from grader.grading.snippet import ABOUT_EARLIER_CALLS, _failing_call, _gradient_key
from grader.grading.submission_run import SubmissionRun
from grader.values.arrays import leaves
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import PRECISIONS, describe, show
from grader.worker.child.executor import seed_random_numbers
from grader.worker.protocol.codec import Handle

ROOT = Path(__file__).resolve().parents[2]
MISTAKES = 4  # of each kata, evenly from its file
NUMPY_KATAS = [
    "head_split_merge", "layer_norm", "kv_cache", "adamw_step", "top_p", "beam_search", "padding_mask",
    "speculative_sampling", "byte_pair_encoding", "multi_head_attention", "decoder_layer", "rotary_embedding",
]  # fmt: skip
TORCH_KATAS = [
    "train_language_model", "greedy_generate", "swiglu", "transformer_decoder_layer", "paged_kv_cache",
    "label_smoothing", "lora_linear", "packed_sequences",
]  # fmt: skip


def printed_by(code, kata, source):
    """Run the code beside the submission; return what it prints, or the exception that it raises."""
    submission = types.ModuleType(kata)
    exec(compile(source, f"{kata}.py", "exec"), submission.__dict__)
    printed = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        patch.setitem(sys.modules, kata, submission)
        seed_random_numbers()
        try:
            exec(compile(code, "printed", "exec"), {"print": printed.append})
        except Exception as error:
            return error
    return printed[-1]


def says(got, value, where):
    """Whether a report's text `got` shows the value or a part of it, cut or whole, or what it is."""
    at = tuple(map(int, re.findall(r"\d+", where.rpartition("[")[2])))
    texts = {describe(leaf) for leaf in [value, *leaves(value)]}
    for leaf in [value, *leaves(value)]:
        fits = at if len(getattr(leaf, "shape", ())) == len(at) else ()
        texts |= {show(leaf, digits, fits) for digits in PRECISIONS}
    return got in texts


def is_repeatable(findings):
    """Whether the submission answers a call alike whenever it is made, in any process."""
    return not any(finding.failures and finding.plan.name in ABOUT_EARLIER_CALLS for finding in findings)


def calls_of(course, kata, source):
    """Yield the failing check as reported, the value that the printed call had, and the value it has."""
    library = open_sources[course.katas[kata].library]
    info, grader = course.katas[kata], Grader(course, {course.katas[kata].library: library})
    prepared = grader.prepare(info)
    run = SubmissionRun(
        grader.sources, "cpu", prepared, Submission(info, source, f"{kata}.py"), lambda _: None, lambda: False
    )
    try:
        findings = run.run_all()
    finally:
        run.close()
    stub = course.stub(info).read_text()
    for finding in findings if is_repeatable(findings) else ():
        failure = smallest(finding) if finding.failures else None
        told = as_check(finding, prepared.kata, None, source=source, stub=stub) if failure else None
        if told and told.snippet:
            call = _failing_call(failure)
            yield told, call, _gradient_key(failure, call), printed_by(told.snippet, kata, source)


open_sources = {}


@pytest.fixture
def sources(request, library):
    open_sources[library] = request.getfixturevalue(f"{library}_source")


def check_calls(kata):
    """Assert that each printed call gives what it gave; return how many did, and how many a report quotes."""
    course = Course(ROOT)
    mistakes = list(standalone_sources(course, course.katas[kata], "mistakes").items())
    ran = quoted = 0
    for name, source in mistakes[:: -(-len(mistakes) // MISTAKES)]:
        for told, call, gradient, value in calls_of(course, kata, source):
            where = f"{name}: {told.name}\n{told.snippet}"
            if told.status == "timeout" or isinstance(call.value, Handle):
                continue
            ran += 1
            if call.error:
                assert type(value).__name__ == call.error[0], where
                continue
            assert not isinstance(value, Exception), f"{value!r} {where}"
            had = call.gradients[gradient] if gradient else call.value
            if any(isinstance(leaf, Handle) for leaf in leaves(had)) or "dropout" in told.name:
                continue
            assert first_difference(had, value, Tolerance(16)) is None, where
            quoted += bool(told.got) and says(told.got, value, told.difference or "")
    return ran, quoted


@pytest.mark.slow
@pytest.mark.parametrize("library", ["numpy"])
@pytest.mark.parametrize("kata", NUMPY_KATAS)
@pytest.mark.usefixtures("sources")
def test_the_printed_call_gives_what_the_report_says(kata):
    ran, quoted = check_calls(kata)
    assert ran >= 8
    assert quoted >= 1


@pytest.mark.slow
@pytest.mark.parametrize("library", ["torch"])
@pytest.mark.parametrize("kata", TORCH_KATAS)
@pytest.mark.usefixtures("sources")
def test_the_printed_call_of_a_torch_kata_gives_what_the_report_says(kata):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    ran, quoted = check_calls(kata)
    assert ran >= 8
    assert quoted >= 1
