"""The points of a submission are a property of the answer, and those of its checks add up to them."""

from pathlib import Path

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.cases import generation
from grader.checks.builtin import agrees_with_reference
from grader.checks.context import Check
from grader.checks.points import nearness, points_of_check, share_of
from grader.checks.runner import CheckResult, Failure
from grader.course.catalog import open_course
from grader.course.known_solutions import KnownSolutions
from grader.course.submission import Submission
from grader.diagnosis.matcher import MistakeMatcher
from grader.formats import html, summary, terminal
from grader.grading.session import GraderSettings, open_grader
from grader.report import Report

ROOT = Path(__file__).resolve().parents[3]


COURSE = open_course(ROOT)


@pytest.fixture(scope="module")
def report_on():
    """`report_on(name, source)` returns the report of an answer to a kata; no mistake is named in it."""
    grader, factories = open_grader(COURSE, [COURSE.kata_info(name) for name in GIVES_ALL], GraderSettings())
    grader.matchers = {name: MistakeMatcher([]) for name in GIVES_ALL}  # recording mistakes takes seconds
    infos = COURSE.katas
    yield lambda name, source: grader.grade(Submission(infos[name], source, f"{name}.py")).report
    factories.close()


@pytest.fixture(scope="module")
def collecting_ring(report_on):
    """The report of a ring_attention that is right, and keeps every block."""
    mistakes = KnownSolutions(COURSE, COURSE.kata_info("ring_attention"), "mistakes")
    return report_on("ring_attention", mistakes.source_of("keeps_every_block"))


@pytest.mark.slow
def test_a_broken_purpose_caps_the_points(collecting_ring):
    (failing,) = [check for check in collecting_ring.checks if check.status == "failed"]
    assert failing.name == "holds_two_blocks"
    assert collecting_ring.score == 700
    assert collecting_ring.max_score == sum(check.max_score for check in collecting_ring.checks) == 1000


def test_every_report_says_why_the_points_are_capped(collecting_ring):
    said = (
        "At most 7 points while this fails, which the kata is about: A rank holds no block that it has passed"
        " on."
    )
    assert collecting_ring.cap == said
    report = Report((collecting_ring,))
    assert said in " ".join(terminal.render(report).split())
    assert said in html.render(report)
    assert said in summary.render(report)


KEEPS = """
import numpy as np

KEPT = {}

def of_all(what, value, meet):
    try:
        size = int(np.sum(meet(np.ones(1))))  # so that each rank runs twice
    except RuntimeError:  # the others have not come here yet
        KEPT.setdefault(what, []).append(value)
        raise
    return KEPT.get(what, [value] * size)[-size:]
"""
#: By kata, what of the reference becomes what, so that each rank takes the numbers of all from a global.
GIVES_ALL = {
    "tensor_parallel": {
        "all_reduce(hidden @ w2)": "sum(of_all(0, hidden @ w2, all_reduce))",
        "all_reduce(d_before @ w1.T)": "sum(of_all(1, d_before @ w1.T, all_reduce))",
    },
    "zero_step": {
        "reduce_scatter(np.pad(gradient, padding)) / size": "sum(of_all(0, np.pad(gradient, "
        "padding), all_gather)).reshape(size, -1)[rank] / size",
    },
    "ring_attention": {
        "    pair = attend(q": "    blocks = of_all(0, (k, v), lambda x: shift(x) * size)\n"
        "    pair = attend(q",
        "k, v = shift(k), shift(v)": "k, v = blocks[(rank - hop) % size]",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GIVES_ALL)
def test_a_rank_that_takes_the_numbers_of_all_from_a_global_gets_no_more_than_seven(report_on, name):
    """The law that a rank sees its own shard alone holds the purpose of these katas."""
    source = COURSE.solution(COURSE.kata_info(name), "reference").read_text()
    for old, new in GIVES_ALL[name].items():
        assert old in source
        source = source.replace(old, new)
    report = report_on(name, KEEPS + source)
    assert "a_rank_sees_its_own_shard_only" in {
        check.name for check in report.checks if check.status == "failed"
    }
    assert report.score <= 700
    assert report.checks[0].status == "passed"
    assert report.cap.startswith("At most 7 points while this fails")


X = np.array([[3.0, 1.0, 0.0, -2.0], [0.5, 4.0, 2.5, 1.0]])
KEPT = np.where(X > 0.9, X, -np.inf)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (KEPT, X),  # an argument handed back
        (KEPT, np.full_like(X, -np.inf)),
        (X * 2, X * 5 + 1),  # a multiple of the argument
        (KEPT, KEPT[:, :2]),  # of another size
        (KEPT, None),
        (KEPT, "a text"),
        (np.array([1e300, 2e300, 4e300, 7e300]), np.array([0.0, 1.0, 0.0, 1.0])),
    ],
)
def test_what_is_trivial_or_of_another_kind_is_not_near(expected, got):
    assert nearness(expected, got, {"x": X}) == 0


def test_a_filter_that_drops_one_too_many_is_near():
    got = KEPT.copy()
    got[0, 1] = -np.inf
    assert 0.5 <= nearness(KEPT, got, {"x": X}) < 1


def test_a_norm_with_another_divisor_is_nearer_than_one_over_all_tokens():
    rows = np.random.default_rng(0).standard_normal((4, 5, 6)) * [[[1.0]], [[2.0]], [[3.0]], [[4.0]]]
    centred = rows - rows.mean(-1, keepdims=True)
    right = centred / rows.std(-1, keepdims=True)
    with_ddof = centred / rows.std(-1, keepdims=True, ddof=1)
    of_all = (rows - rows.mean()) / rows.std()
    assert nearness(right, with_ddof, {"x": rows}) > nearness(right, of_all, {"x": rows})


def draw_shares(draw):
    from grader import strategies as st

    size = draw(st.integers(1, 5))
    x = draw(st.arrays((draw(st.integers(1, 3)), size), draw(st.float_dtypes())))
    return {"x": x, "k": draw(st.integers(1, size)), "last": draw(st.booleans())}


def cases_of(seed, draw, examples):
    """Return the cases that the first seed draws, and those of `seed`, each like one of them."""
    known = generation.drawn(draw, examples, generation.SEED)
    others = generation.OtherCases(draw, examples, seed, known, kind_of=lambda _: None)
    return [one.case for one in known], [others.like(at) for at in range(len(known))]


def test_cases_of_another_seed_are_of_the_same_kinds_with_other_numbers():
    first, other = cases_of(7, draw_shares, 60)
    assert list(map(generation.order, first)) == list(map(generation.order, other))
    known = set(map(generation.fingerprint, first))
    assert sum(generation.fingerprint(case) in known for case in other) <= len(first) // 20
    _, again = cases_of(7, draw_shares, 60)
    assert list(map(generation.fingerprint, again)) == list(map(generation.fingerprint, other))


def cases_at(*places):
    return [Case(place, {}) for place in places]


def share_of_right(cases, right, usual=0.0):
    return share_of(cases, lambda some: sum(case.index in right for case in some) / len(some), usual)


def test_the_cases_that_all_seeds_have_give_the_points():
    cases = cases_at(*range(20))
    assert share_of_right(cases, {0, 2, 4, 6, 1, 3}) == 0.4
    assert share_of_right(cases, {0, 2, 4, 6, 1, 3, 5, 7, 9, 11}) == 0.4


def test_a_table_of_the_answers_that_all_seeds_have_gains_nothing_where_nothing_else_is_right():
    cases = cases_at(*range(20))
    assert share_of_right(cases, set(range(2, 20, 2))) == 0  # all but one


@pytest.mark.parametrize("size", range(1, 11))
def test_a_table_gains_little_however_many_answers_it_has(size):
    """Two of ten are right without it; the standard error of the difference of two shares is 0.18 there."""
    cases = cases_at(*range(20))
    table = {2 * at for at in range(size)}
    assert share_of_right(cases, table | {1, 3}) <= 0.2 + 1.5 * 0.18


def test_a_table_of_all_answers_gains_nothing_beside_an_answer_that_is_seldom_right():
    cases = cases_at(*range(80))
    assert share_of_right(cases, {*range(0, 80, 2), 1, 3}) == 0.05
    assert share_of_right(cases, {*range(0, 80, 4), 1, 3}) == 0.05  # of half of them


def test_that_none_of_a_few_own_cases_is_right_is_chance_where_others_are():
    cases = cases_at(*range(14))
    assert share_of_right(cases, {0, 2}) == 0  # nor is any other: a table would look so
    assert share_of_right(cases, {0, 2}, usual=0.5) == pytest.approx(2 / 7)
    assert share_of_right(cases, set(range(0, 14, 2)), usual=0.1) == 0


def test_a_check_that_has_one_sort_of_cases_counts_them_all():
    assert share_of_right(cases_at(1, 3, 5, 7), {3}) == 0.25
    assert share_of_right(cases_at(2, 4), {4}) == 0.5


def test_a_check_that_fails_in_a_case_of_the_seed_alone_loses_points():
    case = Case(1, {})
    check = Check("law", "It holds.", 100, [*cases_at(0), case], agrees_with_reference)
    failing = CheckResult(check, [Failure(case, "failed", "It does not.", None, [])], check.cases)
    assert points_of_check(CheckResult(check, asked=check.cases)).points == 100
    assert points_of_check(failing).points < 100


def test_texts_are_drawn_anew_for_another_seed():
    from grader import strategies as st

    def draw_text(draw):
        return {"text": draw(st.text(min_size=3, max_size=8))}

    first, other = (set(map(generation.fingerprint, cases)) for cases in cases_of(7, draw_text, 40))
    assert len(first & other) <= len(first) // 4
