"""Some submission fails each built-in check and passes the others; unusual right answers pass them all."""

import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks import builtin
from grader.checks.context import Check, Observation
from grader.checks.runner import CheckResult, judge_case
from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.expect import ExpectationFailed
from grader.grading.grader import Grader
from grader.grading.report_builder import QuotedAnswer, as_check
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls
from grader.worker.protocol.codec import TensorOutline
from grader.worker.protocol.messages import Outcome
from grader.worker.student import Student

TEXT = "    if isinstance(x, str): raise ValueError\n"


def failed(report):
    return {check.name for check in report.checks if check.status not in ("passed", "skipped")}


def message(report, name):
    return next(check.message for check in report.checks if check.name == name)


def double(body, before=""):
    return f"import numpy as np\n{before}\ndef double(x):\n{TEXT}    {body}\n"


RIGHT = {
    "view": "return (x + x).reshape(-1)[:].reshape(x.shape)",
    "view of a larger array": "y = np.zeros((len(x), 99), x.dtype)[:, : x.shape[1]]; y += x * 2; return y",
    "Fortran order": "return np.asfortranarray(x + x)",
    "backwards in memory": "return (x + x)[::-1].copy()[::-1]",
    "read only": "y = x + x; y.setflags(write=False); return y",
    "subclass": "return (x + x).view(type('Mine', (np.ndarray,), {}))",
    "masked array": "return np.ma.masked_array(x + x)",
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=list(RIGHT))
def test_right_answers_in_any_form_get_full_marks(grade, body):
    report = grade(double(body))
    assert failed(report) == set()
    assert (report.status, report.score) == ("passed", 1000)


def test_float64_for_float32_fails_one_check_alone(grade):
    report = grade(double("return (x + x).astype(np.float64)"))
    assert failed(report) == {"keeps_the_dtype"}
    assert message(report, "keeps_the_dtype") == (
        "The result is float64; it must be float32. In NumPy a float64 scalar or array widens float32:"
        " np.sqrt(64), np.zeros(3) and np.arange(3.0) are float64."
    )


@pytest.mark.parametrize("factor", ["2.0000002", "20 * float(np.float32(0.1))"])
def test_a_small_error_is_not_blamed_on_float32(grade, factor):
    report = grade(double(f"return x * ({factor})"))
    assert failed(report) == {"float64_keeps_its_digits"}
    assert message(report, "float64_keeps_its_digits") == ""


def test_an_error_in_the_first_digits_is_not_blamed_on_float32(grade):
    assert message(grade(double("return x * 2.001")), "agrees_with_reference") == ""


def test_changed_arguments_fail_one_check_alone(grade):
    report = grade(double("x *= 2; return x"))
    assert failed(report) == {"leaves_arguments_unchanged"}
    assert message(report, "leaves_arguments_unchanged") == (
        "The call changes x in place; its caller still needs it."
    )


def test_an_answer_that_works_once_fails_the_second_time(grade):
    report = grade(double("seen.append(1); return x + x if len(seen) <= 9 else x * 3", before="seen = []"))
    assert "answers_the_same_again" in failed(report)
    assert "agrees_with_reference" not in failed(report)
    assert message(report, "answers_the_same_again") == (
        "A second call with the same arguments gives another answer."
        " Is something drawn at random, kept between calls, or taken from a set, whose order changes?"
    )


def test_state_kept_from_the_first_call_is_noticed(grade):
    report = grade(double("kept.setdefault(x.shape, x + x); return kept[x.shape]", before="kept = {}"))
    assert "agrees_with_reference" in failed(report)


def test_wrong_values_fail_agreement_and_the_law(grade):
    report = grade(double("return x * 3"))
    assert failed(report) == {"agrees_with_reference", "float64_keeps_its_digits", "twice_is_a_sum"}
    check = report.checks[0]
    assert check.call.endswith("\ndouble(x=x)")
    assert check.counterexample == {"x": "[[1.0, 1.0]]    float32 (1, 2)"}
    assert (check.expected, check.got, check.difference) == ("[[2.0, 2.0]]", "[[3.0, 3.0]]", "[0, 0]")


def test_a_wrong_shape_is_reported_before_values(grade):
    report = grade(double("return (x + x)[None]"))
    assert {"agrees_with_reference", "has_the_right_shape"} <= failed(report)
    assert message(report, "has_the_right_shape") == "The result has the shape (1, 1, 1); it must be (1, 1)."
    assert message(report, "agrees_with_reference") == (
        "The result is float32 (1, 1, 1); it must be float32 (1, 1)."
    )


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("return (x + x).tolist()", "a list of 1"),
        ("return x + x if x.size > 2 else None", "None"),
        ("return object()", "an object of type object"),
    ],
)
def test_a_result_that_is_no_array_is_named(grade, body, what):
    report = grade(double(body))
    assert (
        message(report, "has_the_right_shape") == f"The result is {what}, where float32 (1, 1) is expected."
    )
    question = " Is a `return` missing?" if what == "None" else ""
    assert message(report, "agrees_with_reference") == (
        f"The result is {what}, where float32 (1, 1) is expected.{question}"
    )


def test_nan_is_reported_first(grade):
    assert message(grade(double("return x * np.nan")), "agrees_with_reference") == "The result holds NaN."


def test_a_law_can_fail_alone(grade):
    report = grade("def double(x):\n    return x * 2\n")
    assert failed(report) == {"refuses_text"}
    assert message(report, "refuses_text") == (
        'This call should raise a ValueError: text is no array. It returned "texttext".'.replace('"', "'")
    )


def test_an_error_is_reported_with_its_line(grade):
    report = grade("def double(x):\n    return x.nonsense\n")
    assert message(report, "agrees_with_reference") == (
        "The code raised AttributeError: 'numpy.ndarray' object has no attribute 'nonsense' (line 2)."
    )
    unlooked = {"keeps_the_dtype", "leaves_arguments_unchanged", "answers_the_same_again", "refuses_text"}
    unlooked.add("earlier_calls_change_nothing")
    assert {check.status for check in report.checks if check.name not in unlooked} == {"error"}
    assert report.score == 0


def test_a_part_not_written_is_reported_as_such(grade):
    report = grade("def double(x):\n    if x.size > 2: raise NotImplementedError\n    return x + x\n")
    assert (
        message(report, "agrees_with_reference")
        == "This part is not written yet: it raises NotImplementedError."
    )


def test_a_broken_rule_takes_all_points(grade):
    report = grade("import numpy as np\ndef double(x):\n    return np.multiply(x, 2)\n")
    assert [check.message for check in report.checks] == [
        "A rule of this kata is broken: line 3 uses numpy.multiply. Write it with an operator."
    ]
    assert (report.score, report.status) == (0, "failed")


CENTER = """
import torch
from torch import nn

class Center(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        {more}

    def forward(self, x):
        {body}
"""


def center(body, more="pass"):
    return CENTER.format(body=body, more=more)


def test_a_module_with_whole_gradients_gets_full_marks(grade):
    report = grade(center("return self.scale * x - self.scale * x.mean(-1, keepdim=True)"), "center")
    assert failed(report) == set()


def test_a_float32_tensor_on_the_way_is_reported_with_its_likely_sources(grade):
    body = "return ((x - x.mean(-1, keepdim=True)) * self.scale).float().to(x.dtype)"
    assert message(grade(center(body), "center"), "float64_keeps_its_digits") == (
        "Every number of the result is one that float32 can hold, and right to some 7 digits; the arguments"
        " are float64."
        " Look for .float(), for torch.float32, and for tensors that are made without a dtype, such as"
        " torch.tensor(2.0), torch.ones(3), and torch.where with two plain numbers."
    )


def test_a_detached_statistic_fails_the_gradients_alone(grade):
    report = grade(center("return (x - x.mean(-1, keepdim=True).detach()) * self.scale"), "center")
    assert failed(report) == {"has_the_right_gradients"}
    told = message(report, "has_the_right_gradients")
    assert re.fullmatch(r"The gradient with respect to x: -?[\d.]+ at \[0, 0\], should be -?[\d.]+\.", told)
    [told] = [check for check in report.checks if check.status == "failed"]
    assert told.call.endswith("\ncenter = Center(2)\ncenter.load_state_dict(weights)\ncenter(x)")


def test_a_parameter_out_of_the_graph_is_named(grade):
    report = grade(center("return (x - x.mean(-1, keepdim=True)) * self.scale.data"), "center")
    assert failed(report) == {"has_the_right_gradients"}
    assert message(report, "has_the_right_gradients") == (
        "No gradient reaches scale: something on the way is detached or made anew."
    )


def test_gradients_that_are_cut_in_evaluation_mode_fail_the_gradients_alone(grade):
    body = "y = (x - x.mean(-1, keepdim=True)) * self.scale; return y if self.training else y.detach()"
    report = grade(center(body), "center")
    assert failed(report) == {"has_the_right_gradients"}
    assert message(report, "has_the_right_gradients") == (
        "In evaluation mode no gradient reaches x: something on the way is detached or made anew."
    )
    [told] = [check for check in report.checks if check.status == "failed"]
    assert told.call.endswith("\ncenter = Center(2)\ncenter.load_state_dict(weights)\ncenter.eval()(x)")


def test_a_table_on_the_cpu_fails_the_device_alone(grade):
    body = "return (x - x.mean(-1, keepdim=True)) * (self.scale * torch.ones(x.shape[-1]))"
    report = grade(center(body), "center")
    assert failed(report) == {"stays_on_the_device"}
    assert message(report, "stays_on_the_device") == (
        "A tensor on the CPU meets one on the inputs' device (line 12)."
        " Create tensors on that device: device=x.device, and register a module's tables as buffers."
    )


def test_a_result_on_the_cpu_is_told_with_its_own_call():
    calls = [
        Call(device, [], {}, (TensorOutline("float32", (2,), device), 3)) for device in ("cpu", "cuda:0")
    ]
    seen = Observation({}, None, Calls(tuple(calls)))
    devices = nullcontext(SimpleNamespace(devices=["cpu", "cuda:0"], detour=0))
    student = SimpleNamespace(pretending_device=lambda: devices)
    context = SimpleNamespace(observe=lambda _: seen, ask=lambda *_: seen, student=student)
    with pytest.raises(CaseFailed, match="the result is on the CPU") as raised:
        builtin.stays_on_the_device(context, SimpleNamespace(arguments={}))
    assert raised.value.calls.requests == (calls[0],)


@pytest.mark.parametrize("device", ["x.device", "x.device.type"])
def test_a_table_made_on_the_device_passes(grade, device):
    body = f"return (x - x.mean(-1, keepdim=True)) * (self.scale * torch.tensor(1.0, device={device}))"
    report = grade(center(body), "center")
    assert (failed(report), report.score) == (set(), 1000)


def test_code_that_reads_values_is_judged_like_any_other(grade):
    rows = "torch.stack([r.mean() + 0 * float(r.sum().detach()) for r in x])[:, None]"
    report = grade(center(f"return (x - {rows}) * self.scale"), "center")
    assert (failed(report), report.score) == (set(), 1000)
    report = grade(center(f"return (x - {rows}) * self.scale * torch.ones(x.shape[-1])"), "center")
    assert failed(report) == {"stays_on_the_device"}


def test_an_error_only_on_the_device_fails_the_check(grade):
    report = grade(center("x.detach().numpy(); return (x - x.mean(-1, keepdim=True)) * self.scale"), "center")
    assert failed(report) == {"stays_on_the_device"}
    assert message(report, "stays_on_the_device") == (
        "With the inputs on another device than the CPU, the code raises TypeError:"
        " can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host"
        " memory first. (line 12)."
        " On the CPU the same call works."
    )


@pytest.mark.parametrize("told", ["x.is_cuda", "x.device.type != 'cpu'", "str(x.device) != 'cpu'"])
def test_another_answer_on_the_device_fails_the_check(grade, told):
    body = f"return 0 * x if {told} else (x - x.mean(-1, keepdim=True)) * self.scale"
    report = grade(center(body), "center")
    assert failed(report) == {"stays_on_the_device"}
    assert message(report, "stays_on_the_device") == (
        "With the inputs on another device than the CPU, the answer is another one than on the CPU."
    )


def test_an_error_on_the_cpu_too_skips_the_check(grade):
    report = grade(center("return x.unknown"), "center")
    assert "stays_on_the_device" in {check.name for check in report.checks if check.status == "skipped"}


def test_an_error_without_gradients_says_nothing_of_the_device(grade):
    body = "x = x.detach().requires_grad_(True); x.sum().backward(); return x - x.mean(-1, keepdim=True)"
    report = grade(center(body), "center")
    assert "stays_on_the_device" in {check.name for check in report.checks if check.status == "skipped"}


def test_answers_in_bfloat16_differ_from_no_other_call(grade):
    report = grade(center("return ((x - x.mean(-1, keepdim=True)) * self.scale).bfloat16()"), "center")
    assert not failed(report) & {"stays_on_the_device", "earlier_calls_change_nothing"}


RIGHT_AT_FIRST = """
import torch
seen = set()
class Center(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(d))
    def forward(self, x):
        right = (x - x.mean(-1, keepdim=True)) * self.scale
        if x.is_cuda:
            seen.add(tuple(x.shape))
            return right.detach() * 0
        return right + len(seen)
"""


def test_wrong_answers_on_the_cpu_do_not_keep_the_device_from_being_judged(grade):
    report = grade(RIGHT_AT_FIRST, "center")
    (check,) = [check for check in report.checks if check.name == "stays_on_the_device"]
    assert (check.status, check.score, check.message) == (
        "failed",
        0,
        "The answer is another one at each call, so nothing can be said of the device.",
    )


def test_a_check_that_the_submission_keeps_from_judging_fails():
    result = CheckResult(Check("keeps", "It keeps.", 50, [], lambda *_: None), prevented="the call raises")
    report = as_check(result, None, None, QuotedAnswer())
    assert (report.status, report.score, report.message) == ("failed", 0, "Not judged: the call raises.")


@pytest.mark.parametrize(
    ("kata", "missing"),
    [
        ("softmax", set()),
        ("cross_entropy", {"keeps_the_dtype"}),  # a number, with or without a dtype
        ("parameter_count", {"has_the_right_shape", "keeps_the_dtype"}),
    ],
)
def test_a_kata_has_no_check_of_what_its_results_lack(kata, missing):
    course = Course(Path(__file__).resolve().parents[3])
    checks = Grader(course, {}).prepare(course.katas[kata]).checks
    assert {"has_the_right_shape", "keeps_the_dtype"} - {check.name for check in checks} == missing
    assert sum(check.points for check in checks) == course.katas[kata].points * 100


def test_a_check_whose_cases_pytorch_cannot_have_says_so_and_keeps_its_points():
    report = as_check(
        CheckResult(Check("keeps", "It keeps.", 50, [], lambda *_: None)), None, None, QuotedAnswer()
    )
    assert (report.status, report.score, report.message) == (
        "skipped",
        50,
        "Not judged: all its cases hold integers that PyTorch lacks.",
    )


def test_a_result_that_the_next_call_overwrites_is_noticed(grade):
    report = grade(
        """
        import numpy as np
        buffer = np.zeros(64)
        def double(x):
            if isinstance(x, str): raise ValueError
            y = buffer[: x.size].reshape(x.shape)
            y[...] = x + x
            return y.astype(x.dtype) if x.dtype != y.dtype else y
        """
    )
    (check,) = [check for check in report.checks if check.name == "answers_the_same_again"]
    assert check.message == "A call changes the result of an earlier one, which its caller still holds."


def test_checks_that_hold_count_in_part_where_few_cases_agree(grade):
    report = grade(double("return x * 2 if x[0, 0] in (1.75, 2) else x * 5 + 1"))  # four of nine cases
    part = "Counts in part: fewer than a third of the answers are right or near it."
    held = [check for check in report.checks if check.status == "passed"]
    assert held
    assert all(check.message == part and 0 < check.score < check.max_score for check in held)
    assert 0 < report.score < 500


def test_free_checks_pay_where_many_cases_agree(grade):
    factor = "(2 if x.size < 7 else 5)"
    report = grade(f"def double(x):\n    if isinstance(x, str): raise ValueError\n    return x * {factor}\n")
    assert "skipped" not in {check.status for check in report.checks}
    assert report.score > 200


NO_ANSWER_AGREES = "No points: no answer equals the reference's."
ONLY_TRIVIAL = (
    "No points: the answers are right only where zeros, a constant or an argument handed back is right too."
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("x", ONLY_TRIVIAL),  # zeros, doubled
        ("x * 5", ONLY_TRIVIAL),
        ("np.zeros_like(x)", ONLY_TRIVIAL),
        ("np.full_like(x, 7)", NO_ANSWER_AGREES),
        ("np.full_like(x, np.nan)", NO_ANSWER_AGREES),
        ("0.0", NO_ANSWER_AGREES),
        ("kept.setdefault(0, x * 2)", ONLY_TRIVIAL),
    ],
)
def test_a_trivial_answer_gives_nothing(grade, answer, said):
    report = grade(double(f"return {answer}", before="kept = {}"))
    assert report.score == 0
    assert {check.message for check in report.checks if check.status == "skipped"} == {said}


@pytest.mark.parametrize("right", ["x.dtype == np.float32", "x.shape[-1] > 1 or not x.any()"])
def test_an_answer_that_is_right_in_part_keeps_its_points(grade, right):
    report = grade(double(f"return x * 2 if {right} else x * 3"))
    assert report.score >= 300
    assert not [check for check in report.checks if check.message in (ONLY_TRIVIAL, NO_ANSWER_AGREES)]


def test_a_submission_that_only_raises_gives_nothing(grade):
    report = grade("def double(x):\n    raise ValueError\n")
    assert report.score == 0


@pytest.mark.parametrize("rows", [2, 3])
def test_one_array_where_two_are_due_is_said_to_be_one(rows):
    """A kata unpacks what is due as a tuple; an array of two rows would go for two results."""
    student = Student()
    student.perform = lambda _: Outcome(np.ones((rows, 4)))

    def judge(_context, _case):
        with KeptCalls(student) as made:
            one, two = student.split(np.zeros(3))
        observed = {"one": one, "two": two}
        told = builtin._one_for_several(Observation(observed, None, Calls(tuple(made))))
        raise ExpectationFailed(told)

    kata = SimpleNamespace(graded_parts={})
    inner = SimpleNamespace(student=student, parts=None, kata=kata)
    context = SimpleNamespace(for_student=lambda _: inner, leaves_out=lambda _: False)
    failure = judge_case(Check("split", "It splits.", 100, [], judge), context, Case(0, {}), student).failure
    assert failure.message == "`split` returns one array where two are expected."


def test_an_array_in_place_of_several_parts_is_said_alike_in_every_check(numpy_source):
    course = Course(Path(__file__).resolve().parents[3])
    info = course.kata_info("gae")
    code = """
import numpy as np
def gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    return np.stack((rewards, rewards))
"""
    report = Grader(course, {"numpy": numpy_source}).grade(Submission(info, code, "gae.py")).report
    told = {one.name: one.message for one in report.checks if one.status == "failed"}
    compared = ("agrees_with_reference", "has_the_right_shape", "has_the_right_dtype")
    said = [told[name] for name in compared if name in told]
    assert len(said) > 1
    for message in said:
        assert message.startswith("The result is float")
        assert message.endswith("where advantages and returns are expected.")


def test_a_call_knows_which_part_of_its_answer_is_graded():
    student = Student()
    student.perform = lambda _: Outcome(7)

    def judge(context, _case):
        calls = [context.student.lock, context.student.f]
        with KeptCalls(context.student) as made:
            [call() for call in calls]
        raise CaseFailed(ExpectationFailed(""), Calls(tuple(made)))

    kata = SimpleNamespace(graded_parts={"lock": lambda _: None})
    context = SimpleNamespace(for_student=lambda _: context, student=student, parts=None, kata=kata)
    failure = judge_case(Check("f", "It is f.", 100, [], judge), context, Case(0, {}), student).failure
    assert [call.graded for call in failure.trace] == [None, 7]


def test_parts_of_a_tuple_are_not_taken_for_rows():
    parts = np.ones(4), np.ones(4)
    calls = Calls((Call("split", [], {}, parts), Call("other", [], {}, np.ones((2, 4)))))
    assert builtin._one_for_several(Observation({"a": parts[0], "b": parts[1]}, None, calls)) == ""


def state_message(report):
    return next((c.message for c in report.checks if c.name == "earlier_calls_change_nothing"), None)


def test_a_buffer_of_the_first_call_is_noticed_by_a_call_with_other_values(grade):
    body = "y = kept.setdefault((x.shape, x.dtype), x + x); y[...] = x + x; return y"
    report = grade(double(body, before="kept = {}"))
    assert state_message(report) == (
        "A call changes the result of an earlier one, which its caller still holds."
    )


def test_one_array_that_two_calls_return_is_noticed(grade):
    report = grade(double("return kept.setdefault(x.tobytes(), x + x)", before="kept = {}"))
    assert (
        state_message(report) == "Two calls return the same array: a change of one result changes the other."
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "torch.set_grad_enabled(True); return right",
            "The call leaves gradients switched on, where its caller had switched them off.",
        ),
        (
            "torch.set_grad_enabled(False); return right",
            "The call leaves gradients switched off, where its caller had switched them on.",
        ),
        (
            "torch.set_default_dtype(torch.float64); return right",
            "The call leaves PyTorch with another default dtype, and its caller's tensors are made in it.",
        ),
        (
            "return right if torch.is_grad_enabled() else x.copy_(right)",
            "Without gradients, or in the other mode, the call changes its arguments in place.",
        ),
        (
            "return right if self.training else x.copy_(right.detach())",
            "Without gradients, or in the other mode, the call changes its arguments in place.",
        ),
        (
            "return right if torch.is_grad_enabled() else right * 0",
            "Inside torch.no_grad() the same call gives another answer.",
        ),
        (
            "torch.autograd.grad((self.scale * 1).sum(), self.scale); return right",
            "Inside torch.no_grad() the same call raises RuntimeError: element 0 of tensors does not"
            " require grad and does not have a grad_fn (line 12). A function that differentiates opens"
            " torch.enable_grad() itself.",
        ),
        (
            "return right if self.training else right * 0",
            "In training and in evaluation mode the module gives different answers.",
        ),
        (
            "self.kept = getattr(self, 'kept', None) or [self.scale.detach().clone()]; "
            "return right / self.scale * self.kept[0]",
            "After calls with other inputs, weights, dtypes and modes, the module gives another answer.",
        ),
        (
            "kept = None if self.training else getattr(self, 'kept', None); "
            "self.kept = None if self.training else right.detach(); "
            "return kept if kept is not None and kept.shape == right.shape else right",
            "In the other mode, training or evaluation, a call after another one gives another answer.",
        ),
    ],
)
def test_what_a_module_keeps_or_leaves_fails_the_check_of_earlier_calls(grade, body, said):
    code = f"right = (x - x.mean(-1, keepdim=True)) * self.scale; {body}"
    assert state_message(grade(center(code), "center")) == said


def test_a_number_that_was_read_from_an_attribute_is_not_taken_for_that_of_a_call():
    allocates = Call("allocate", [], {}, value=1)
    reads = Call("num_free_blocks", [], {}, value=1, is_read=True)
    assert builtin._call_that_returned(1, Calls((allocates,))) is allocates
    assert builtin._call_that_returned(1, Calls((allocates, reads))) is None
