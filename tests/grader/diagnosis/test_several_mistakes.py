"""Several mistakes are named together only if each of them is needed for what the submission answers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.course.catalog import Course
from grader.course.mistake_edits import merged, read_edits
from grader.course.submission import Submission
from grader.diagnosis.several_mistakes import SeveralMistakes
from grader.formats import account
from grader.grading.grader import Grader

ROOT = Path(__file__).resolve().parents[3]

NAIVE = """
import numpy as np

def softmax(x, axis=-1):
    {}
"""


def names(report):
    certain = [check.mistake for check in report.checks if check.mistake and check.mistake.certain]
    return {name for mistake in certain for name in mistake.id.split(" and ")}


@pytest.fixture
def named(softmax_grader):
    """`named(lines)` returns the certain names of a softmax with these lines."""

    def named_of(*lines):
        info = softmax_grader.course.kata_info("softmax")
        code = NAIVE.format("\n    ".join(lines))
        return names(softmax_grader.grade(Submission(info, code, "softmax.py")).report)

    return named_of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["return np.exp(x) / np.exp(x).sum()"],
            {"forgets_to_subtract_the_max", "divides_by_the_sum_of_the_whole_array"},
        ),
        (
            ["e = np.exp(x)", "return e / (e.sum(axis=axis, keepdims=True) + 1e-9)"],
            {"forgets_to_subtract_the_max", "adds_epsilon_to_the_sum"},
        ),
        (
            ["e = np.exp(x - x.max())", "return e / e.sum(axis=axis, keepdims=True)"],
            {"subtracts_the_max_of_the_whole_array", "subtracts_before_leaving_the_integers"},
        ),
        (  # a mistake of softmax that has the name of a general one
            ["e = np.exp(x.astype(np.float32))", "return e / e.sum(axis=axis, keepdims=True)"],
            {"forgets_to_subtract_the_max_after_widening", "computes_in_float32"},
        ),
    ],
)
def test_two_mistakes_that_no_single_one_explains_are_named(named, lines, expected):
    assert named(*lines) == expected


def test_a_pair_of_which_one_half_explains_everything_is_the_single_mistake(named):
    widened = "s = x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float64)"
    assert named(widened, "e = np.exp(s)", "return e / e.sum(axis=axis, keepdims=True)") == {
        "forgets_to_subtract_the_max_after_widening"
    }


def test_two_mistakes_with_a_third_that_is_unknown_are_not_named(named):
    assert named("return np.exp(x) / np.exp(x).sum() + 0.125") == set()


@pytest.mark.slow
def test_a_mistake_that_only_the_dtype_shows_is_named_beside_another_one(numpy_source):
    course = Course(ROOT)
    code = """
import numpy as np

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores)
    total = e.sum(axis=-1, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    return weights @ v, weights
"""
    info = course.kata_info("scaled_dot_product_attention")
    report = Grader(course, {"numpy": numpy_source}).grade(Submission(info, code, f"{info.name}.py")).report
    assert names(report) == {"forgets_to_subtract_the_max", "widens_float32"}


@pytest.mark.slow
def test_an_answer_for_one_number_of_axes_has_a_reason_among_the_calls_with_it(softmax_grader):
    code = NAIVE.format("return np.stack([np.exp(row) / np.exp(row).sum() for row in x])")
    info = softmax_grader.course.kata_info("softmax")
    report = softmax_grader.grade(Submission(info, code, "softmax.py")).report
    found = {(one.id, one.partial) for check in report.checks if (one := check.mistake)}
    assert found == {("forgets_to_subtract_the_max_after_widening", True)}


@pytest.mark.slow
def test_three_mistakes_of_which_no_two_answer_a_case_are_found_by_their_parts(numpy_source):
    course = Course(ROOT)
    code = """
def parameter_count(vocab_size, d_model, num_heads, d_ff, num_layers, tied=True):
    embedding = vocab_size * d_model
    attention, cross = 4 * d_model * d_model, 3 * d_model * d_model
    feed_forward, norms = 2 * d_model * d_ff, 3 * d_model
    layer = attention + cross + feed_forward + norms
    projection = 0 if tied else d_model * vocab_size
    return {
        "token_embedding": embedding,
        "self_attention": attention,
        "cross_attention": cross,
        "feed_forward": feed_forward,
        "layer_norms": norms,
        "layer": layer,
        "stack": num_layers * layer,
        "output_projection": projection,
        "total": embedding + num_layers * layer + projection,
    }
"""
    info = course.kata_info("parameter_count")
    report = Grader(course, {"numpy": numpy_source}).grade(Submission(info, code, f"{info.name}.py")).report
    assert names(report) == {
        "forgets_all_biases",
        "forgets_beta",
        "forgets_the_output_of_cross_attention",
    }


@pytest.mark.slow
def test_three_mistakes_are_found_where_the_smallest_case_shows_all_of_them(numpy_source):
    course = Course(ROOT)
    code = """
import numpy as np

def adamw_step(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    g = gradient + weight_decay * parameter
    m = (b1 * m + (1 - b1) * g) / (1 - b1**step)
    v = (b2 * v + (1 - b2) * g**2) / (1 - b2**step)
    return parameter - lr * m / np.sqrt(v + eps), m, v
"""
    info = course.kata_info("adamw_step")
    report = Grader(course, {"numpy": numpy_source}).grade(Submission(info, code, "adamw_step.py")).report
    assert names(report) == {
        "adds_decay_to_the_gradient",
        "adds_eps_under_the_root",
        "returns_corrected_means",
    }


@pytest.mark.slow
def test_mistakes_that_change_other_words_of_one_line_are_named(numpy_source):
    course = Course(ROOT)
    code = """
import numpy as np

def layer_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - np.mean(x)) / (np.std(x, ddof=1) + eps) + beta
"""
    info = course.kata_info("layer_norm")
    report = Grader(course, {"numpy": numpy_source}).grade(Submission(info, code, "layer_norm.py")).report
    assert names(report) == {"normalises_the_whole_array", "takes_the_unbiased_deviation_and_adds_eps"}


def test_a_mistake_stands_beside_a_case_that_it_fails(numpy_source):
    course = Course(ROOT)
    code = """
import numpy as np

def causal_mask(query_len, key_len=None):
    if key_len is None:
        key_len = query_len
    return np.triu(np.ones((query_len, key_len), dtype=bool))
"""
    graded = Grader(course, {"numpy": numpy_source}).grade(
        Submission(course.kata_info("causal_mask"), code, "causal_mask.py")
    )
    told = account.told(graded.report)
    assert told.check.mistake.id == "counts_queries_from_the_first_key"
    assert "causal_mask(2)" not in told.check.call  # without a cache it shows nothing


@pytest.mark.slow
def test_two_mistakes_that_have_a_check_each_are_said_once(numpy_source):
    course = Course(ROOT)
    code = """
import numpy as np

def causal_mask(query_len, key_len=None):
    if key_len is None:
        key_len = query_len
    return np.tril(np.ones((query_len, key_len)))
"""
    grader = Grader(course, {"numpy": numpy_source})
    report = grader.grade(Submission(course.kata_info("causal_mask"), code, "causal_mask.py")).report
    said = {check.mistake.id for check in report.checks if check.mistake}
    assert said == {"returns_zeros_and_ones", "counts_queries_from_the_first_key"}
    assert "each described as if it were the only one" in account.told(report).count


INT8 = ("exercises/{}.py", "tests/katas/serving/test_int8_linear.py", "solutions/{}/reference.py")
PUT_BACK = """
import numpy as np

def quantize_rows(x):
    scale = np.abs(x).max(axis=-1, keepdims=True) / x.dtype.type(127)
    return np.rint(x / np.where(scale == 0, 1, scale)).astype(np.int8), scale[..., 0]

def int8_linear(x, w_q, w_scale):
    q, scale = quantize_rows(x)
    sums = q.astype(np.int32) @ w_q.T.astype(np.int32)
    return (sums * scale[..., None] * w_scale[:, 0]).astype(x.dtype)
"""


@pytest.mark.slow
def test_a_half_that_only_mends_what_the_other_breaks_behind_the_complaint_is_not_named(
    tmp_path, numpy_source
):
    files = [name.format("serving/int8_linear") for name in INT8]
    edits = "solutions/serving/int8_linear/mistakes.edits"
    texts = {name: (ROOT / name).read_text() for name in (*files, edits)}
    both = "- sums * x_scale\n+ sums * x_scale[..., None]\n"
    assert both in texts[edits]
    texts[edits] = texts[edits].replace(both, "")  # now the layer raises for most rows without their axis
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    course = Course(tmp_path)
    submission = Submission(course.kata_info("int8_linear"), PUT_BACK, "int8_linear.py")
    assert names(Grader(course, {"numpy": numpy_source}).grade(submission).report) == set()


class Changing:
    """A mistake that adds its number to the answer of some cases; together they add up."""

    changes, likeliness, text = frozenset(), (0, 0), ""

    def __init__(self, name, added):
        self.id, self.added = name, added

    def with_another(self, other):
        both = {*self.added, *other.added}
        return Changing("", {case: self.added.get(case, 0) + other.added.get(case, 0) for case in both})

    def outcome(self, _, case):
        return self.added.get(case.index)


def failed_check(answers, counted=()):
    """A failed check whose submission answers its cases with these numbers."""
    cases = [SimpleNamespace(index=n, weight=n, arguments={"n": bool(n)}) for n in range(len(answers))]
    failures = {n: SimpleNamespace(raises=n, counts_work=n in counted) for n in range(len(answers))}
    return SimpleNamespace(
        check=SimpleNamespace(position=lambda case: case.index),
        smallest_first=cases,
        failures=failures,
        asked=set(),
        agrees=lambda mistake, case: mistake.outcome(None, case) == answers[case.index],
        closeness=lambda *_: 0,
    )


def test_a_third_mistake_is_joined_before_the_pairs_that_explain_nothing():
    needed = [Changing(str(case), {case: 1.0}) for case in range(3)]
    others = [Changing(f"other {n}", {0: n / 7, 1: n / 7, 2: n / 7}) for n in range(2, 42)]
    search = SeveralMistakes([*others, *needed], [failed_check([1.0, 1.0, 1.0])], lambda _: [])
    first = next(search.found())[0]
    assert {one.id for one in first.parts} == {"0", "1", "2"}
    assert search._asked < 7 * len(others)  # there are 780 pairs of the others


def test_a_mistake_that_shows_beside_another_one_alone_is_joined_with_it():
    class Hidden(Changing):
        def with_another(self, other):
            return Changing("both", {0: 3.0}) if other.id == "hidden" else None

    one, hidden = Hidden("one", {0: 1.0}), Changing("hidden", {})
    search = SeveralMistakes([hidden, one], [failed_check([3.0])], lambda _: [])
    assert {part.id for part in next(search.found())[0].parts} == {"one", "hidden"}


def test_a_mistake_is_joined_with_what_any_unexplained_check_shows():
    needed = [Changing(name, {case: 1.0}) for case, name in enumerate(("one", "other", "third"))]
    checks = [failed_check([1.0]), *(failed_check([1.0, 1.0, 1.0]) for _ in range(2))]
    left = [(check, check.smallest_first[case]) for case, check in enumerate(checks)][1:]

    def unexplained(mistake):
        return [(check, case) for check, case in left if not check.agrees(mistake, case)]

    search = SeveralMistakes([needed[2], *needed[:2]], checks[:1], unexplained)
    found = [joined for several in search.found() for joined in several]
    assert {"one", "other", "third"} in [{part.id for part in joined.parts} for joined in found]


def test_what_a_case_of_counted_work_shows_is_asked_only_where_no_other_case_fails():
    asked = []

    class Asked(Changing):
        def outcome(self, check, case):
            asked.append(case.index)
            return super().outcome(check, case)

    mistakes = [Asked("one", {0: 1.0, 1: 1.0})]
    for counted, expected in [([0], {1}), ([0, 1], {0, 1})]:
        asked.clear()
        search = SeveralMistakes(mistakes, [failed_check([1.0, 1.0], counted)], lambda _: [])
        assert [one.id for one in search.likely] == ["one"]
        assert set(asked) == expected


REFERENCE = "def f(x, y):\n    z = x + y\n    return z * 2\n"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(23, 24, "-"), (42, 43, "3")], "def f(x, y):\n    z = x - y\n    return z * 3\n"),
        ([(23, 24, "-"), (23, 24, "-")], "def f(x, y):\n    z = x - y\n    return z * 2\n"),
        ([(21, 26, "x"), (23, 24, "-")], None),  # what is left is no Python
        ([(17, 26, "z = x * y"), (21, 26, "x / y")], None),  # both write at one place
        ([(17, 26, "z = g(x + y, 1)"), (21, 25, "")], "def f(x, y):\n    z = g(y, 1)\n    return z * 2\n"),
        ([(21, 21, "-"), (21, 21, "2 * ")], None),
        (
            [(17, 17, "x = 1\n    "), (17, 17, "y = 1\n    ")],
            "def f(x, y):\n    x = 1\n    y = 1\n    z = x + y\n    return z * 2\n",
        ),
    ],
)
def test_changes_go_together_unless_they_write_at_one_place(changes, expected):
    assert merged(REFERENCE, [[change] for change in changes]) == expected


def test_an_edit_leaves_to_others_what_stays_the_same_inside_of_it(tmp_path):
    (tmp_path / "mistakes.edits").write_text(
        "[returns_floats]\nThe result is of floats.\n- return (x <= y[:, None]) * 2\n"
        "+ return ((x <= y[:, None]) * 2).astype(float)\n"
    )
    (edited,) = read_edits(tmp_path / "mistakes.edits")
    reference = "def f(x, y):\n    return (x <= y[:, None]) * 2\n"
    changes = edited.smallest_changes(reference)
    assert merged(reference, [changes]) == edited.applied(reference)
    assert merged(reference, [changes, [(27, 29, ">")]]) == (
        "def f(x, y):\n    return ((x > y[:, None]) * 2).astype(float)\n"
    )
