"""Katas of several parts: what is written is judged while other parts are stubs."""

import ast
import os
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from grader.answer_keys.answers import spread
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.diagnosis.matcher import MistakeMatcher
from grader.formats import account, html, summary
from grader.formats.terminal import View, render_kata
from grader.grading.grader import Grader
from grader.grading.session import grade_read
from grader.reading.parts import unwritten_parts
from grader.report import Part, Report, from_json, to_json
from grader.texts.escaping import in_markdown
from grader.worker.fork_server import WorkerFactories

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
KATAS = [info for info in COURSE.katas.values() if len(info.entry_points) > 1 and info.kind.is_code]

#: How many mistakes of a part are graded: `DOJO_SAMPLE=1000` takes all of them.
SAMPLE = int(os.environ.get("DOJO_SAMPLE", "1"))

MASK = "def padding_mask(ids, pad_id):\n    return ids != pad_id\n"
WRONG_MASK = "def padding_mask(ids, pad_id):\n    return ids == pad_id\n"
CROSS = """
def cross_mask(tgt_ids, src_ids, pad_id):
    return (tgt_ids != pad_id)[:, None, :, None] & (src_ids != pad_id)[:, None, None, :]
"""
DECODER = """
def decoder_self_mask(ids, pad_id):
    return np.tril(cross_mask(ids, ids, pad_id))
"""
WRONG_DECODER = DECODER.replace("np.tril", "np.triu").replace(
    "cross_mask(ids, ids, pad_id)", "(ids != pad_id)[:, None, None]"
)
ALL = ("padding_mask", "decoder_self_mask", "cross_mask")
FILES = (
    "tests/katas/attention/test_padding_mask.py",
    "exercises/attention/padding_mask.py",
    "solutions/attention/padding_mask/reference.py",
    "solutions/attention/padding_mask/mistakes.edits",
)


def stubs(*names):
    return "".join(f"\ndef {name}(*args):\n    raise NotImplementedError\n" for name in names)


@pytest.fixture(scope="module")
def grader():
    with closing(WorkerFactories(["numpy", "torch"])) as sources:
        grader = Grader(COURSE, sources)
        # No mistake is named here; recording those of these katas takes minutes.
        grader.matchers = {name: MistakeMatcher([]) for name in COURSE.katas}
        yield grader


@pytest.fixture(scope="module")
def padding_mask(tmp_path_factory):
    """A grader of padding_mask alone, with the first of its mistakes."""
    root = tmp_path_factory.mktemp("course")
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text((ROOT / name).read_text().partition("class takes_zero_for_padding")[0])
    with closing(WorkerFactories(["numpy"])) as sources:
        yield Grader(Course(root), sources)


@pytest.fixture
def judge(padding_mask):
    """`judge(code)` grades code for padding_mask; parts that it does not define are stubs."""

    def judged(code):
        info = padding_mask.course.kata_info("padding_mask")
        source = f"import numpy as np\n\n{textwrap.dedent(code)}"
        missing = [part for part in info.entry_points if f"def {part}(" not in source]
        submission = Submission(info, source + stubs(*missing), "padding_mask.py")
        return padding_mask.grade(submission).report

    return judged


def verdicts(report):
    return {part.name: part.status for part in report.parts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (MASK, ["passed", "not_written", "not_written"]),
        (WRONG_MASK, ["failed", "not_written", "not_written"]),
        (CROSS, ["not_written", "not_written", "passed"]),
        (DECODER, ["not_written", "waiting", "not_written"]),
        (MASK + WRONG_DECODER, ["passed", "failed", "not_written"]),
        (WRONG_MASK + WRONG_DECODER, ["failed", "failed", "not_written"]),
        (MASK + CROSS, ["passed", "not_written", "passed"]),
        (CROSS + DECODER, ["not_written", "passed", "passed"]),
        (WRONG_MASK + CROSS, ["failed", "not_written", "passed"]),
        ("", ["not_written"] * 3),
    ],
)
def test_each_part_has_its_verdict_while_others_are_stubs(judge, code, verdict):
    report = judge(code)
    assert (report.status, verdicts(report)) == ("failed", dict(zip(ALL, verdict, strict=True)))


def test_points_grow_with_the_parts_that_are_right(judge):
    codes = ["", MASK, MASK + CROSS, MASK + CROSS + DECODER]
    assert [judge(code).score for code in codes] == [0, 210, 480, 1000]
    assert judge(codes[-1]).parts == ()


def test_a_check_of_several_parts_gives_the_share_of_those_that_are_written(judge):
    checks = {check.name: check for check in judge(MASK).checks}
    agreement, law = checks["agrees_with_reference"], checks["the_future_is_hidden"]
    assert (agreement.status, agreement.score) == ("passed", agreement.max_score // 3)
    assert agreement.message == ("Judged without decoder_self_mask and cross_mask, which are not written.")
    assert (law.status, law.score) == ("skipped", 0)
    assert law.message == "Needs decoder_self_mask, which is not written."


@pytest.mark.slow
def test_the_report_has_a_line_of_the_parts(judge):
    assert render_kata(judge(MASK), View(offers_commands=False)).splitlines() == [
        "padding_mask  2.1 / 10   … 2 of 3 parts not written",
        "  padding_mask ✓   decoder_self_mask not written   cross_mask not written",
        "    note        6 checks wait for what is not written. 10 checks are judged",
        "                without what is not written.",
    ]
    lines = render_kata(judge(MASK + WRONG_DECODER), View(width=60)).splitlines()
    assert lines[1:3] == ["  padding_mask ✓   decoder_self_mask ✗", "  cross_mask not written"]
    waiting = render_kata(judge(MASK + DECODER), View()).splitlines()
    assert waiting[1] == ("  padding_mask ✓   decoder_self_mask needs cross_mask   cross_mask not written")


def test_a_known_mistake_of_the_first_part_is_named_before_the_others_are_written(judge):
    assert judge(WRONG_MASK).mistake.id == "marks_the_padding"


def test_other_formats_and_json_have_the_parts(judge):
    report = judge(MASK + DECODER)
    told = (
        "Not all parts are written: "
        "padding_mask ✓, decoder_self_mask needs cross_mask, cross_mask not written."
    )
    assert account.summary_of(report) == told
    page = html.render(Report((report,)))
    assert "decoder_self_mask needs cross_mask" in page
    assert in_markdown(told) in summary.render(Report((report,)))
    saved = to_json(Report((report,)))
    assert saved["katas"][0]["parts"][1] == {
        "name": "decoder_self_mask", "status": "waiting", "needs": ["cross_mask"],
    }  # fmt: skip
    assert from_json(saved).katas[0].parts == report.parts
    del saved["katas"][0]["parts"]  # a report of before
    assert from_json(saved).katas[0].parts == ()


PARTLY = """
def padding_mask(ids, pad_id):
    if pad_id < 0:
        raise NotImplementedError
    return ids != pad_id
"""
HIDING = """
def padding_mask(ids, pad_id):
    return cross_mask(ids, ids, pad_id) if len(ids) > 1 else ids != pad_id
"""


def test_a_part_that_raises_for_some_inputs_is_wrong_and_not_unwritten(judge):
    report = judge(PARTLY)
    assert verdicts(report)["padding_mask"] == "failed"
    assert report.score < judge(MASK).score


def test_a_part_that_calls_a_stub_for_some_inputs_earns_nothing_yet(judge):
    report = judge(HIDING)
    assert report.parts[0] == Part("padding_mask", "waiting", ("cross_mask",))
    assert report.score == 0


def test_a_body_that_does_nothing_is_no_stub(judge):
    report = judge(f"{MASK}\ndef cross_mask(tgt_ids, src_ids, pad_id):\n    ...\n")
    assert verdicts(report)["cross_mask"] == "failed"


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): raise NotImplementedError\nf = len",
        "def f(x): raise NotImplementedError\ndef f(x): return x",
        "def f(x): raise NotImplementedError\nif True:\n    from math import sin as f",
        "@cache\ndef f(x): raise NotImplementedError",
        "class A:\n    def g(self): return 1\nclass f(A):\n    def h(self): raise NotImplementedError",
        "class f: pass",
        "def f(x):\n    if x: return 1\n    raise NotImplementedError",
    ],
)
def test_what_may_be_written_elsewhere_is_no_stub(code):
    assert unwritten_parts(ast.parse(code), ("f",)) == {}


@pytest.mark.parametrize("body", ["pass", "...", '"""The gated one."""'])
def test_a_class_with_an_empty_body_that_inherits_a_right_one_gets_full_marks(grader, body):
    info = COURSE.kata_info("swiglu")
    source = COURSE.solution(info, "reference").read_text().replace("class SwiGLU(", "class Gated(")
    source += f"\n\nclass SwiGLU(Gated):\n    {body}\n"
    report = grade_read(grader, info, lambda: Submission(info, source, "swiglu.py")).report
    assert (report.status, report.score) == ("passed", 1000)


def test_the_lines_of_a_stub_are_known():
    code = 'x = 1\nclass f:\n    """S."""\n    def g(self):\n        raise NotImplementedError\n'
    assert unwritten_parts(ast.parse(code), ("f",)) == {"f": range(2, 6)}


# ------------------------------------------------------------------ all katas of several parts


def with_stubs(info, source, kept):
    """Return a source whose parts are the stub's, but for those that are kept."""
    others = set(info.entry_points) - kept
    stub = ast.parse(COURSE.stub(info).read_text())
    imports = [node for node in stub.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = [node for node in ast.parse(source).body if not others & set(_defined(node))]
    unwritten = [node for node in stub.body if others & set(_defined(node))]
    return ast.unparse(ast.Module([*imports, *body, *unwritten], []))


def _defined(node):
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    return [getattr(node, "name", "")]


def grade_alone(grader, info, source, kept):
    submission = Submission(info, with_stubs(info, source, kept), f"{info.name}.py")
    assert set(submission.record.unwritten) == set(info.entry_points) - kept
    return grader.grade(submission).report


@pytest.mark.every(4)
@pytest.mark.slow
@pytest.mark.parametrize("info", KATAS, ids=lambda info: info.name)
def test_each_part_of_the_reference_alone_is_right_or_needs_another(grader, info):
    source = COURSE.solution(info, "reference").read_text()
    for part in info.entry_points:
        report = grade_alone(grader, info, source, {part})
        found = next(one for one in report.parts if one.name == part)
        assert found.status in ("passed", "partly", "waiting")
        assert (report.score > 0) == (found.status != "waiting")
        assert not account.wrong(report)
        assert {one.status for one in report.parts if one.name != part} == {"not_written"}


@pytest.mark.every(4)
@pytest.mark.slow
@pytest.mark.parametrize("info", KATAS, ids=lambda info: info.name)
def test_a_mistake_in_a_part_alone_is_found(grader, info):
    wrong = {part: [] for part in info.entry_points}
    for name, source in standalone_sources(COURSE, info, "mistakes").items():
        own = [
            part
            for part in info.entry_points
            if not any(f"{part} = _right.{part}" == ast.unparse(node) for node in ast.parse(source).body)
        ]
        if len(own) == 1:
            wrong[own[0]].append((name, source))
    if not any(wrong.values()):  # its mistakes replace all parts at once
        sources = standalone_sources(COURSE, info, "mistakes").values()
        first = {info.entry_points[0]}
        reports = [grade_alone(grader, info, source, first) for source in spread(list(sources), 6)]
        assert "failed" in [report.parts[0].status for report in reports]
        return
    verdicts = []
    for part, found in wrong.items():
        for name, source in spread(found, SAMPLE):
            report = grade_alone(grader, info, source, {part})
            verdicts += [one.status for one in report.parts if one.name == part]
            assert verdicts[-1] != "passed", name
    assert "failed" in verdicts


def test_a_part_that_keeps_the_laws_and_is_not_compared_yet_is_right_so_far():
    assert account.of_part(Part("KVCache", "partly")) == "KVCache ✓ so far"
    assert account.of_part(Part("encode", "waiting")) == "encode not judged yet"
    assert account.of_part(Part("f", "waiting", ("g", "h"))) == "f needs g and h"
