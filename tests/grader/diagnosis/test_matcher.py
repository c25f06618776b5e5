"""The matcher names a mistake only if it reproduces the answers of the submission."""

import types
from dataclasses import replace

import numpy as np
import pytest

from grader import expect
from grader.answer_keys.answers import Case, RecordedMistake, numbered
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.course.known_solutions import replaced_by
from grader.course.submission import Submission
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.compared_failures import ComparedFailure, record
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.diagnosis.matcher import MistakeMatcher
from grader.grading import grader
from grader.kata import KataError
from grader.report import Mistake
from grader.values.comparison import FLOAT32_SOURCES, LOST_DIGITS, Difference
from grader.worker.calls import Call
from grader.worker.protocol.messages import CallOptions


def named(report):
    return {
        check.name: check.mistake and check.mistake.id for check in report.checks if check.status == "failed"
    }


def double(result):
    return f"def double(x):\n    if isinstance(x, str): raise ValueError\n    return {result}\n"


def test_a_mistake_is_named_on_every_check_that_it_explains(grade):
    report = grade(double("x + x + x"))
    assert set(named(report)) >= {"agrees_with_reference", "twice_is_a_sum"}
    assert set(named(report).values()) == {"triples"}
    assert report.mistake.text == "The result is three times x: one x too many was added."


def test_a_mistake_with_another_dtype_is_the_same_mistake(grade):
    report = grade(double("(x * 3).astype('float64')"))
    assert named(report)["agrees_with_reference"] == "triples"


def test_an_unknown_mistake_is_not_named(grade):
    assert set(named(grade(double("x * 5"))).values()) == {None}


def test_what_agrees_on_some_cases_alone_is_not_named(grade):
    report = grade(double("x * 3 if x.size == 2 else x * 5"))
    assert named(report)["agrees_with_reference"] is None


def test_two_mistakes_at_once_are_each_named_where_they_show(grade):
    found = named(grade("def double(x):\n    return x * 2 if isinstance(x, str) else x * 3\n"))
    assert found["agrees_with_reference"] == "triples"
    assert found["refuses_text"] == "accepts_text"


CASES = numbered({"x": np.arange(1.0, 4.0) + number} for number in range(6))
PLAN = Check("agrees", "It agrees.", 100, CASES, lambda *_: None, None)
MIXED = Check("agrees", "It agrees.", 100, [*CASES], lambda *_: None, None)
for case in MIXED.cases[3:]:
    MIXED.cases[case.index] = replace(case, arguments={"x": case.arguments["x"].astype("float32")})


def found(*factors, plan=PLAN):
    """Return a result of six cases; each answer is x times a factor, and right if the factor is 1."""
    difference = Difference("value", lambda: ("1", "2"), "[0]")
    failures = [
        Failure(case, "failed", "", difference, [Call("f", [x := case.arguments["x"]], {}, factor * x)])
        for case, factor in zip(plan.cases, factors, strict=True)
        if factor != 1
    ]
    return CheckResult(plan, failures)


def mistake(name, *factors, plan=PLAN):
    outcomes = [None] * len(CASES)
    for failure in found(*factors, plan=plan).failures:
        outcomes[plan.position(failure.case)] = record(failure)
    return MistakeOfKey(RecordedMistake(name, f"It {name}.", {"agrees": outcomes}))


def compared(message, *factors, dtype="float64"):
    """Return whether two failures of one case match, whose answers are x times a factor each."""
    x, difference = np.arange(1.0, 4.0, dtype=dtype), Difference("value", lambda: ("1", "2"), "[0]")
    calls = (Call("f", [x], {}, factor * np.arange(1.0, 4.0)) for factor in factors)
    one, other = (Failure(Case(0, {"x": x}), "failed", message, difference, [call]) for call in calls)
    return ComparedFailure(one).matches(record(other))


def test_the_last_digits_of_float32_do_not_tell_two_answers_apart_that_lost_those_of_float64():
    lost = LOST_DIGITS + FLOAT32_SOURCES["numpy"]
    assert compared(lost, 1.0, 1.0 + 1e-7)
    assert not compared("", 1.0, 1.0 + 1e-7)
    assert not compared(lost, 1.0, 1.01)


def test_the_digits_of_float64_do_not_tell_two_answers_to_float32_apart():
    assert compared("", 1.0, 1.0 + 1e-7, dtype="float32")
    assert not compared("", 1.0, 1.01, dtype="float32")


def test_a_mistake_that_loses_digits_does_not_explain_an_answer_to_whole_numbers_that_has_them():
    exact = np.array([0.1, 0.7, 0.3])
    for answers, same in (
        ((exact, exact.astype("float32")), False),
        ((exact.astype("float32"), exact), True),
    ):
        one, other = (failure_of(3, Call("f", [3], {}, answer)) for answer in answers)
        assert ComparedFailure(one).matches(record(other)) == same


def test_a_law_without_arguments_is_compared_in_the_dtype_of_what_it_passes():
    x, difference = np.arange(1.0, 4.0, dtype="float32"), Difference("value", lambda: ("1", "2"), "[0]")
    answers = (np.arange(1.0, 4.0) * factor for factor in (1.0, 1.0 + 1e-7))
    one, other = (
        Failure(Case(0, {}), "failed", "", difference, [Call("f", [x], {}, answer)]) for answer in answers
    )
    assert ComparedFailure(one).matches(record(other))


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_parameters_of_a_module_are_named_in_one_order(names):
    anatomy = {"parameters": {name: np.ones(2) for name in names}}
    student = types.SimpleNamespace(anatomy=lambda _: anatomy)
    message = r"^The module has no parameter `gamma`; it has `a`, `b`\.$"
    with pytest.raises(expect.ExpectationFailed, match=message):
        expect.loads(student, None, {"gamma": np.ones(2)})


def test_a_check_that_counts_operations_is_asked_after_the_others():
    failure = Failure(Case(0, {"x": 3}), "failed", "Too many.", None, [call := Call("f", [3], {}, 1)])
    counted = replace(failure, trace=[replace(call, options=CallOptions(measure="flops"))])
    orders = [FailedCheck(CheckResult(PLAN, [one])).order for one in (failure, counted)]
    assert orders[0] < orders[1]


def failure_of(given, *calls):
    difference = Difference("value", lambda: ("1", "2"), "[0]")
    return Failure(Case(0, {"x": given}), "failed", "", difference, list(calls))


def test_floats_behind_integers_match_within_their_tolerance():
    x = np.arange(1.0, 4.0)
    moved = [(0, 1.0), (0, 1.0 + 4e-16), (0, 1.01), (1, 1.0)]
    calls = [Call("f", [x], {}, (np.arange(3) + step, x * factor)) for step, factor in moved]
    one, *others = (failure_of(x, call) for call in calls)
    assert [ComparedFailure(one).matches(record(other)) for other in others] == [True, False, False]


def test_a_python_float_is_compared_like_the_float64_of_numpy():
    x = np.ones(3, np.float32)
    python, of_numpy = Call("f", [x], {}, 0.75), Call("f", [x], {}, np.float64(0.75 + 5e-8))
    for one, other in ((python, of_numpy), (python, replace(python, value=0.75 + 5e-8))):
        assert ComparedFailure(failure_of(x, one)).matches(record(failure_of(x, other)))
        widened = x.astype("float64")
        assert not ComparedFailure(failure_of(widened, one)).matches(record(failure_of(widened, other)))


def test_what_may_be_chosen_of_an_answer_is_not_compared():
    def without_scale(pair, factor):
        return [number * factor for number in pair[:1]]

    for part, answers, same in [
        (without_scale, ((1, 5), (1, 7)), True),
        (without_scale, ((1, 5), (2, 5)), False),
        (without_scale, (3, 4), False),  # no pair: all of it is compared
        (None, ((1, 5), (1, 7)), False),
    ]:
        calls = (Call("split", [2], {}, value, graded_part=part) for value in answers)
        one, other = (failure_of(np.ones(3), call) for call in calls)
        assert ComparedFailure(one).matches(record(other)) == same


def test_the_key_of_a_key_error_does_not_tell_two_errors_apart():
    said = ["KeyError: 7", "KeyError: <answer.Node object at 0x7f3a> (line 3)", "IndexError: 7"]
    call = Call("f", [], {}, error=("LookupError",))
    one, *others = (Failure(Case(0, {}), "error", f"The code raised {text}", None, [call]) for text in said)
    assert [ComparedFailure(one).matches(record(other)) for other in others] == [True, False]


def test_the_words_about_shapes_that_do_not_fit_do_not_tell_two_errors_apart():
    said = [
        "ValueError: matmul: Input operand 1 has a mismatch in its core dimension 0",
        "ValueError: could not broadcast input array from shape (2,2) into shape (2,1) (line 3)",
        "ValueError: a batch of 2 is too large",
    ]
    call = Call("f", [], {}, error=("ValueError",))
    one, *others = (Failure(Case(0, {}), "error", f"The code raised {text}", None, [call]) for text in said)
    assert [ComparedFailure(one).matches(record(other)) for other in others] == [True, False]


def test_the_number_of_a_program_does_not_tell_two_answers_apart():
    said = [
        "Program 3 loads x[8], and x has 8 entries, from 0 (line 7).",
        "Program 0 loads x[8], and x has 8 entries, from 0 (line 9).",
        "Program 3 loads x[9], and x has 8 entries, from 0 (line 7).",
    ]
    call = Call("f", [], {}, error=("RuntimeError",), is_stopped=True)
    one, *others = (Failure(Case(0, {}), "failed", text, None, [call]) for text in said)
    assert [ComparedFailure(one).matches(record(other)) for other in others] == [True, False]


@pytest.mark.parametrize(("measure", "same"), [("flops", [True, False]), ("", [False, False])])
def test_a_few_operations_more_do_not_tell_two_answers_apart(measure, same):
    said = ["It costs 1,290 more for each of 16.", "It costs 1,288 more for each of 16.", "It costs 664."]
    call = Call("f", [], {}, 0.5, options=CallOptions(measure=measure))
    one, *others = (Failure(Case(0, {}), "failed", text, None, [call]) for text in said)
    assert [ComparedFailure(one).matches(record(other)) for other in others] == same


def test_what_is_0_in_float32_may_be_tiny_in_python_floats():
    x, tiny, zero = np.ones(3, np.float32), Call("f", [], {}, 3e-196), Call("f", [], {}, np.float32(0))
    assert ComparedFailure(failure_of(x, tiny)).matches(record(failure_of(x, zero)))
    small = replace(tiny, value=3e-20)
    assert not ComparedFailure(failure_of(x, small)).matches(record(failure_of(x, zero)))


def test_calls_of_a_rank_that_waits_do_not_tell_two_answers_apart():
    x, waits = np.ones(3), ("RuntimeError", "Exception")
    waiting = Call("f", [x], {}, error=waits, is_stopped=True)
    raising = Call("f", [x], {}, error=waits)
    answer = Call("f", [x], {}, 2 * x)
    compare = ComparedFailure(failure_of(x, waiting, waiting, answer))
    assert compare.matches(record(failure_of(x, waiting, answer)))
    assert not compare.matches(record(failure_of(x, raising, answer)))


def test_a_mistake_outruns_a_failure_whose_calls_it_answers_and_none_that_was_stopped_in_the_first():
    x, stop = np.ones(3), ("RuntimeError", "Exception")
    stopped = Call("f", [x], {}, error=stop, is_stopped=True)
    answer, other = Call("f", [x], {}, 2 * x), Call("f", [x], {}, 3 * x)
    longer = record(failure_of(x, answer, other))
    assert ComparedFailure(failure_of(x, answer)).is_outrun_by(longer)
    assert not ComparedFailure(failure_of(x, other)).is_outrun_by(longer)
    assert not ComparedFailure(failure_of(x, stopped)).is_outrun_by(longer)  # a kernel left an array


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ((2, 2, 1, 1, 1, 1), "doubles"),
        ((1, 1, 3, 3, 1, 1), "triples"),
        ((2, 2, 3, 3, 1, 1), "doubles and triples"),
        ((2, 2, 3, 5, 1, 1), None),  # neither gives one of the answers
        ((2, 1, 3, 1, 1, 1), None),  # the submission passes a case that each of them fails
        ((1, 2, 3, 3, 1, 1), None),  # the same for one of them
    ],
)
def test_two_mistakes_in_one_check_are_named_if_each_case_has_the_answer_of_one(answers, name):
    matcher = MistakeMatcher([mistake("doubles", 2, 2, 1, 1, 1, 1), mistake("triples", 1, 1, 3, 3, 1, 1)])
    named = matcher.name([found(*answers)])
    certain = named.get("agrees") if named and named["agrees"].certain else None
    assert (certain.id if certain else None) == name
    if name and " and " in name:
        text = (
            "There are two mistakes at once, each described as if it were the only one."
            " One: It doubles. The other: It triples."
        )
        assert named["agrees"].text == text


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ((2.001, 2.001, 2.001, 2, 2, 2), "doubles"),
        ((2.001, 2.001, 2.001, 2, 2, 3), None),  # the mistake has another answer in float32
        ((2.001, 2.001, 2.001, 1, 1, 1), None),  # float64 alone is wrong
    ],
)
def test_what_explains_all_cases_in_float32_is_a_guess(answers, name):
    matcher = MistakeMatcher([mistake("doubles", 2, 2, 2, 2, 2, 2, plan=MIXED)])
    named = matcher.name([found(*answers, plan=MIXED)])
    assert named == ({"agrees": Mistake(name, f"It {name}.", certain=False)} if name else {})


def test_a_mistake_that_explains_a_single_case_of_several_is_a_guess():
    named = MistakeMatcher([mistake("doubles", 2, 1, 1, 1, 1, 1)]).name([found(2, 1, 1, 1, 1, 1)])
    assert named == {"agrees": Mistake("doubles", "It doubles.", certain=False)}


def test_a_mistake_with_a_condition_around_it_is_a_guess():
    named = MistakeMatcher([mistake("doubles", 2, 2, 2, 1, 1, 1)]).name([found(1, 2, 2, 1, 1, 1)])
    assert named == {"agrees": Mistake("doubles", "It doubles.", certain=False)}


FLAGGED = Check(
    "other", "It holds.", 100, numbered({**case.arguments, "flag": True} for case in CASES), lambda *_: None
)


def test_a_mistake_that_explains_all_calls_of_a_kind_is_one_of_the_reasons():
    results = [found(2, 2, 1, 1, 1, 1), found(1, 1, 5, 1, 1, 1, plan=FLAGGED)]
    one_reason = Mistake("doubles", "It doubles.", certain=True, partial=True)
    assert MistakeMatcher([mistake("doubles", 2, 2, 1, 1, 1, 1)]).name(results) == {"agrees": one_reason}


def test_what_explains_a_check_and_not_all_calls_of_its_kind_is_no_reason():
    other = Check("other", "It holds.", 100, CASES, lambda *_: None, None)
    results = [found(2, 2, 1, 1, 1, 1), replace(found(1, 1, 5, 1, 1, 1), check=other)]
    assert MistakeMatcher([mistake("doubles", 2, 2, 1, 1, 1, 1)]).name(results) == {}


@pytest.mark.parametrize(
    "known",
    [
        [mistake("doubles", 2, 2, 1, 1, 1, 1), mistake("adds", 2, 2, 1, 1, 1, 1)],  # which of the two?
        [mistake("doubles", 2, 2, 2, 1, 1, 1)],  # it fails a case that the submission passes
        [mistake("doubles", 2, 1, 1, 1, 1, 1)],  # it passes a case of the part
    ],
)
def test_what_does_not_explain_a_part_alone_and_in_full_is_no_reason(known):
    results = [found(2, 2, 1, 1, 1, 1), found(1, 1, 5, 1, 1, 1, plan=FLAGGED)]
    assert MistakeMatcher(known).name(results) == {}


def test_a_mistake_that_fails_what_the_submission_passes_in_a_failed_check_is_not_shown():
    other = Check("other", "It holds.", 100, CASES, lambda *_: None, None)
    doubles = mistake("doubles", 2, 1, 1, 1, 1, 1)
    doubles.recorded.outcomes["other"] = mistake("doubles", 2, 2, 2, 1, 1, 1).recorded.outcomes["agrees"]
    results = [found(2, 1, 1, 1, 1, 1), replace(found(2, 3, 1, 1, 1, 1), check=other)]
    assert MistakeMatcher([doubles]).name(results) == {}


@pytest.mark.parametrize(
    ("passes", "parameters", "certain"),
    [
        (CASES, ("x",), False),  # the submission passes a case of a law that the mistake fails
        (CASES, None, True),  # a corner or a built-in check, which may fail for another reason
        (CASES[1:], ("x",), True),  # the law did not judge that case
    ],
)
def test_a_mistake_that_fails_more_laws_is_a_guess(passes, parameters, certain):
    law = Check("a_law", "It holds.", 100, CASES, lambda *_: None, parameters)
    doubles = mistake("doubles", 2, 2, 1, 1, 1, 1)
    doubles.recorded.outcomes["a_law"] = [doubles.recorded.outcomes["agrees"][0], *[None] * 5]
    named = MistakeMatcher([doubles]).name([found(2, 2, 1, 1, 1, 1), CheckResult(law, [], passes)])
    assert named["agrees"].certain == certain


@pytest.mark.parametrize("result", ["x * float('nan')", "x * 0"])
def test_an_answer_without_content_has_no_name(grade, result):
    assert set(named(grade(double(result))).values()) == {None}


def test_a_right_answer_has_no_mistake(grade):
    assert grade(double("x + x")).mistake is None


CENTER = """
import torch
from torch import nn

class Center(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return {result}
"""


@pytest.mark.parametrize(
    ("result", "mistake"),
    [
        ("(x - x.mean(-1, keepdim=True).detach()) * self.scale", "detaches_the_mean"),
        ("(x - x.mean(-1, keepdim=True)) * self.scale.data", "detaches_the_scale"),
        ("(x.detach() - x.mean(-1, keepdim=True)) * self.scale", "detaches_x"),
    ],
)
def test_a_detached_part_is_named(grade, result, mistake):
    assert named(grade(CENTER.format(result=result), "center")) == {"has_the_right_gradients": mistake}


def test_a_wrong_value_of_a_module_is_named(grade):
    report = grade(CENTER.format(result="x - x.mean(-1, keepdim=True)"), "center")
    assert named(report)["agrees_with_reference"] == "forgets_the_scale"


def reference():
    def f(x, axis):
        pass

    def g(y):
        pass

    class Cache:
        pass

    return types.SimpleNamespace(f=f, g=g, Cache=Cache)


def test_a_function_stands_in_for_the_entry_point_of_its_parameters():
    answer = lambda y: y  # noqa: E731 - it has parameters, and that is all that matters
    assert replaced_by(answer, reference(), ("f", "g")) == {"g": answer}


def test_a_class_stands_in_for_what_it_has_as_members():
    class both:
        def f(x, axis):
            pass

        def g(y):
            pass

    assert replaced_by(both, reference(), ("f", "g", "Cache")) == {"f": both.f, "g": both.g}


def test_a_class_without_members_stands_in_for_the_class():
    class keeps_nothing:
        pass

    assert replaced_by(keeps_nothing, reference(), ("f", "Cache")) == {"Cache": keeps_nothing}


def test_a_function_of_other_parameters_is_refused():
    def wrong(z):
        pass

    with pytest.raises(KataError, match="`wrong` has the parameters of no single entry point"):
        replaced_by(wrong, reference(), ("f", "g"))


# What a submission may try


def test_naming_ends_in_its_time(tiny_course, numpy_source, monkeypatch):
    class Endless(MistakeOfKey):
        def outcome(self, *_):
            while True:
                pass

    monkeypatch.setattr(grader, "NAMING_SECONDS", 0.1)
    opened = grader.Grader(tiny_course, {"numpy": numpy_source})
    opened.matchers = {"double": MistakeMatcher([Endless(mistake("doubles", 2, 2, 1, 1, 1, 1).recorded)])}
    info = tiny_course.kata_info("double")
    report = opened.grade(Submission(info, double("x + x + x"), "double.py")).report
    assert (report.status, report.mistake, report.possibility) == ("failed", None, None)


def test_who_imitates_a_mistake_in_the_smallest_case_alone_has_no_name(grade):
    report = grade(double("x * 3 if x.size <= 2 else x * x"))
    assert (report.mistake, report.possibility) == (None, None)


def test_an_exception_with_the_words_of_the_course_has_the_name_of_its_answers_alone(grade):
    report = grade("def double(x):\n    raise ValueError('text')\n")
    assert report.mistake is None


def test_what_does_not_explain_the_failures_is_not_asked_about_what_passes():
    asked = []

    class Watched(MistakeOfKey):
        def outcomes(self, check):
            asked.append(check.name)
            return super().outcomes(check)

    law = Check("a_law", "It holds.", 100, CASES, lambda *_: None, ("x",))
    results = [found(2, 3, 1, 1, 1, 1), CheckResult(law, [], CASES)]
    doubles = Watched(mistake("doubles", 2, 1, 1, 1, 1, 1).recorded)
    assert MistakeMatcher([doubles]).name(results) == {}
    assert set(asked) == {"agrees"}  # whole laws take long
