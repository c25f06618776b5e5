"""The report of a submission: scores, lost workers and rejected files."""

import re
import textwrap
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest

from grader.course.submission import Submission, SubmissionRejected, parse, read_submission
from grader.formats.terminal import render_kata
from grader.grading import submission_run
from grader.grading.grader import Graded, Grader, isolation_of
from grader.grading.session import grade_read
from grader.grading.submission_run import SubmissionRun
from grader.report import Isolation, KataReport, Report, from_json, to_json
from grader.worker import client, process
from grader.worker.client import WorkerLost

CHECKS = [
    "agrees_with_reference",
    "has_the_right_shape",
    "keeps_the_dtype",
    "leaves_arguments_unchanged",
    "answers_the_same_again",
    "earlier_calls_change_nothing",
    "float64_keeps_its_digits",
    "twice_is_a_sum",
    "refuses_text",
]


def statuses(report):
    return [check.status for check in report.checks]


@pytest.mark.parametrize("part", ["reference", "variants"])
def test_reference_and_variants_get_full_marks(grade, tiny_course, part):
    source = tiny_course.solution(tiny_course.kata_info("double"), part).read_text()
    report = grade(source.replace("def shifts", "def double"))
    assert (report.status, report.score, report.max_score) == ("passed", 1000, 1000)
    assert [check.name for check in report.checks] == CHECKS


def test_warnings_and_errors_name_the_file_that_is_graded(tiny_course, numpy_source):
    source = "import sys\ndef double(x):\n    print(sys._getframe().f_code.co_filename)\n    return x * 5\n"
    submission = Submission(tiny_course.kata_info("double"), source, "work/answer.py")
    report = Grader(tiny_course, {"numpy": numpy_source}).grade(submission).report
    assert report.output.startswith("answer.py\n")


def test_a_notebook_s_answer_goes_by_the_kata_s_name(tiny_course):
    assert Submission(tiny_course.kata_info("double"), "", "answers.ipynb").filename == "double.py"


SHORT = """
import numpy as np

def double(x):
    if isinstance(x, str): raise ValueError
    return np.add(x, x)
"""


def test_a_library_function_that_does_it_all_is_noted(grade):
    report = grade(SHORT)
    note = "Line 6 uses numpy.add, which does what this kata is about. The points stand."
    assert (report.status, report.score) == ("passed", 1000)
    assert [check.message for check in report.checks] == [note, *[""] * (len(CHECKS) - 1)]
    assert note in render_kata(report).replace("\n                ", " ")


def test_in_a_course_done_by_hand_it_earns_nothing_for_agreement(grade, tiny_course, monkeypatch):
    monkeypatch.setattr(tiny_course, "syllabus", replace(tiny_course.syllabus, by_hand=True))
    report = grade(SHORT)
    agreement = report.checks[0]
    assert (agreement.status, agreement.score) == ("failed", 0)
    assert agreement.message == (
        "Line 6 uses numpy.add, which does what this kata is about. In this course it is built by hand."
    )
    assert report.score == 1000 - agreement.max_score


PAIR = """
class Pair:
    def double(self, x):
        if isinstance(x, str): raise ValueError
        return x + x
"""
MADE = """
def twice(self, x):
    if isinstance(x, str): raise ValueError
    return x + x
Pair = type("Pair", (), {"double": twice})
"""


@pytest.mark.parametrize(
    ("first", "note"),
    [
        (MADE, ""),
        (f"import numpy, torch{PAIR}", ""),
        (
            f"import numpy, torch{MADE}",
            "Line 6 uses torch.Tensor.double, which does what this kata is about. The points stand.",
        ),
    ],
)
def test_a_method_is_that_of_a_tensor_only_where_there_may_be_tensors(grade, first, note):
    """And only if no class of the answer has it."""
    report = grade(f"{first}def double(x): return Pair().double(x)\n")
    assert (report.score, report.checks[0].message) == (1000, note)


@pytest.mark.parametrize("mistake", ["triples", "takes_the_size", "forgets_the_first_row", "accepts_text"])
def test_every_mistake_fails_and_is_named(grade, tiny_course, mistake):
    source = tiny_course.solution(tiny_course.kata_info("double"), "mistakes").read_text()
    report = grade(f"{source}\ndouble = {mistake}\n")
    assert report.status == "failed"
    assert {check.mistake.id for check in report.checks if check.status == "failed"} == {mistake}


def test_the_module_kata_gives_its_reference_full_marks(grade, tiny_course):
    report = grade(tiny_course.solution(tiny_course.kata_info("center"), "reference").read_text(), "center")
    assert (report.status, report.score) == ("passed", 1000)
    names = [check.name for check in report.checks]
    assert names[-3:] == ["has_the_right_gradients", "stays_on_the_device", "float64_keeps_its_digits"]


def test_the_same_submission_has_the_same_report(grade):
    code = "def double(x):\n    return x * 3\n"
    reports = [to_json(Report((grade(code),))) for _ in range(2)]
    for report in reports:
        report["katas"][0].pop("seconds")
    assert reports[0] == reports[1]


def test_the_report_survives_json(grade):
    report = Report((grade("def double(x):\n    print('hello')\n    return x * 3\n"),))
    saved = to_json(report)
    assert to_json(from_json(saved)) == saved


def test_what_was_printed_is_reported(grade):
    assert grade("def double(x):\n    print('hello')\n    return x + x\n").output.startswith("hello\n")


def test_the_isolation_in_force_is_reported(tiny_course, numpy_source, tmp_path):
    grader = Grader(tiny_course, {"numpy": numpy_source})
    (tmp_path / "double.py").write_text("def double(x): return x + x")
    graded = grader.grade(read_submission(tiny_course.kata_info("double"), tmp_path / "double.py"))
    assert graded.isolation.process


def test_the_isolation_of_several_gradings_is_the_weakest_and_a_file_without_a_worker_does_not_count():
    report, whole = KataReport("double", "attention", "passed", 1000), Isolation(True, 7, True, True)
    weaker = Isolation(True, 4, True, True)
    assert isolation_of([Graded(report, whole), Graded(report), Graded(report, weaker)]) == weaker
    assert isolation_of([Graded(report)]) is None


def test_a_file_that_cannot_be_imported_has_the_isolation_of_the_worker_that_tried(tiny_course, numpy_source):
    info, grader = tiny_course.kata_info("double"), Grader(tiny_course, {"numpy": numpy_source})
    raises, broken = (
        grade_read(grader, info, lambda text=text: parse(info, text, "double.py"))
        for text in ("def double(x): return x + x\nraise KeyError('no')\n", "def double(")
    )
    assert (raises.report.status, broken.report.status) == ("error", "error")
    assert raises.isolation == grader.grade(parse(info, "def double(x): return x\n", "double.py")).isolation
    assert broken.isolation is None


def test_a_worker_that_dies_costs_one_check(grade):
    code = """
        import os
        def double(x):
            if isinstance(x, str): os._exit(0)
            return x + x
    """
    report = grade(code)
    assert statuses(report) == ["passed"] * 8 + ["error"]
    assert report.checks[-1].message == "The process that ran the submission ended in the middle of a call."
    assert report.score == 900


def test_a_worker_that_dies_on_its_first_call_is_replaced_once(grade):
    report = grade("import os\ndef double(x): os._exit(0)")
    assert statuses(report) == ["error"] * 9
    messages = [check.message for check in report.checks]
    assert messages[:2] == ["The process that ran the submission ended in the middle of a call."] * 2
    assert messages[2:] == [f"{messages[0]} So this check was not run."] * 7


def test_a_lost_worker_costs_no_time_that_the_grader_once_waited(grade, monkeypatch):
    """The wait for a processor is unknown as soon as a worker has ended; the grader's own is counted from its
    start, and may be minutes."""
    run_delay = process._run_delay
    monkeypatch.setattr(process, "_run_delay", lambda path: run_delay(path) + 1000.0)
    monkeypatch.setattr(client, "BRIEF", 0.0)
    report = grade("import os\ndef double(x): os._exit(0)")
    messages = [check.message for check in report.checks]
    assert messages[:2] == ["The process that ran the submission ended in the middle of a call."] * 2


@pytest.mark.slow
def test_a_call_that_never_ends_is_a_timeout(grade, impatient):  # noqa: ARG001 - a fixture
    report = grade("def double(x):\n    while x is not None: pass\n")
    assert statuses(report) == ["timeout"] * 9
    # on a busy machine the limit of wall time is reached first
    assert re.fullmatch(r"No answer within \d seconds( of computing)?, in line 2\.", report.checks[0].message)
    assert report.checks[0].counterexample == {"x": "[[1.0, 1.0]]    float32 (1, 2)"}
    assert report.score == 0


def test_what_has_no_time_left_is_not_run(grade, monkeypatch):
    monkeypatch.setattr(submission_run, "KATA_SECONDS", -1.0)
    report = grade("def double(x): return x + x")
    assert statuses(report) == ["timeout"] * 9
    assert (
        report.checks[0].message == "All calls together took more than 0 seconds. So this check was not run."
    )


def test_a_slow_submission_gets_no_more_calls_than_its_time_allows(grade, monkeypatch):
    monkeypatch.setattr(submission_run, "KATA_SECONDS", 0.6)
    report = grade("import time\ndef double(x):\n    time.sleep(0.35)\n    return x + x\n")
    assert statuses(report)[0] == "timeout"  # the calls of one batch count as they come
    assert report.checks[0].message.startswith("No answer within 0.6 seconds for all calls together")
    given_up = [check for check in report.checks if check.message.endswith("So this check was not run.")]
    assert len(given_up) == len(report.checks) - 1  # the time of the lost worker counts as well


def test_calls_too_short_to_be_looked_at_alone_are_counted_together(grade, monkeypatch):
    monkeypatch.setattr(submission_run, "KATA_SECONDS", 0.3)
    report = grade("import time\ndef double(x):\n    time.sleep(0.06)\n    return x + x\n")
    assert statuses(report)[0] == "timeout"
    assert report.checks[0].message.startswith("No answer within 0.3 seconds for all calls together")


def test_a_call_that_prints_without_end_is_stopped_and_its_cause_is_said_first(grade):
    report = grade("def double(x):\n    while True: print('a line')\n")
    messages = [check.message for check in report.checks]
    assert messages[:2] == ["One call printed more than 256 KiB."] * 2
    assert messages[2:] == ["One call printed more than 256 KiB. So this check was not run."] * 7


def test_a_right_answer_may_print_a_lot_over_all_its_calls(grade):
    report = grade(SHORT.replace("return", "print('x' * 50_000)\n    return"))
    assert report.status == "passed"
    assert "bytes left out" in report.output


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [0] * 30_000", "The result cannot be used: it holds more than 20,000 values."),
        ("raise ValueError('x' * 3_000)", "The code raised ValueError: xxx"),
    ],
)
def test_calls_that_all_fail_are_not_made_for_long(grade, monkeypatch, body, message):
    monkeypatch.setattr(client, "VAIN_SECONDS", 0.25)
    report = grade(f"import time\ndef double(x):\n    time.sleep(0.1)\n    {body}\n")
    messages = [check.message for check in report.checks]
    assert messages[0].startswith(message)  # of the smallest case, and not of the last one
    told = "Every call so far has failed, in 0.25 seconds of computing. So this check was not run."
    assert messages[1:] == [told] * 8
    assert report.score == 0


def test_what_was_not_run_has_the_status_of_its_cause():
    vain = WorkerLost("Every call so far has failed, in 2 seconds of computing. The last error is …")
    run = SubmissionRun.__new__(SubmissionRun)
    run.losses = [vain, WorkerLost("No answer within 2 seconds.", timed_out=True)]
    run.prepared = SimpleNamespace(checks=[SimpleNamespace(title="A check.", cases=[None])])
    run.budget, run.tell = SimpleNamespace(meddled=False), str
    ((failure,),) = [result.failures for result in run.run_all()]
    told = "Every call so far has failed, in 2 seconds of computing. So this check was not run."
    assert (failure.status, failure.message) == ("error", told)  # a report gives one reason for both


def test_calls_that_fail_after_one_that_answered_are_all_made(grade, monkeypatch):
    monkeypatch.setattr(client, "VAIN_SECONDS", 0.0)
    report = grade("def double(x):\n    if x.size > 2: raise ValueError\n    return x + x\n")
    assert not any(check.message.startswith(("Every call", "Not run")) for check in report.checks)


REFUSALS = {
    "fails": (
        "x = 1\n1 / 0\n",
        "double.py fails in line 2 when it is imported: ZeroDivisionError: division by zero.",
    ),
    "imports nothing": (
        "import no_such_mod\n",
        "double.py fails in line 1 when it is imported: ModuleNotFoundError: No module named 'no_such_mod'."
        " The standard library and NumPy can be imported; other files of yours cannot.",
    ),
    "exits": ("raise SystemExit\n", "double.py fails in line 1 when it is imported: SystemExit."),
    "dies": (
        "import os\nos._exit(0)\n",
        "double.py cannot be imported: The process that ran the submission ended in the middle of a call.",
    ),
    "no entry point": (
        "def dubble(x): return 2 * x\n",
        "double.py defines no function or class called `double`. Did you mean it by `dubble`?",
    ),
    "a number": ("double = 2\n", "double.py defines no function or class called `double`."),
}


@pytest.mark.parametrize(("code", "sentence"), REFUSALS.values(), ids=list(REFUSALS))
def test_what_cannot_be_loaded_is_refused(grade, code, sentence):
    with pytest.raises(SubmissionRejected) as refused:
        grade(code)
    assert str(refused.value) == sentence


def test_a_submission_that_fails_only_when_imported_again_is_given_up(tiny_course, plain_source, tmp_path):
    flag = tmp_path / "flag"
    code = f"""
        import os
        assert not os.path.exists({str(flag)!r})
        def double(x):
            open({str(flag)!r}, "w").close()
            os._exit(0)
    """
    file = tmp_path / "double.py"
    file.write_text(textwrap.dedent(code))
    # in the sandbox it cannot find out whether it ran before
    grader = Grader(tiny_course, {"numpy": plain_source})
    report = grader.grade(read_submission(tiny_course.kata_info("double"), file)).report
    assert statuses(report) == ["error"] * 9


@pytest.mark.slow
def test_strange_answers_raise_no_warnings_in_the_grader(softmax_grader, tmp_path):
    file = tmp_path / "softmax.py"
    file.write_text(
        "def softmax(x, axis=-1):\n    y = x * 0.0\n    y[::2] = 1e999\n    y[1::2] = -1e999\n    return y\n"
    )
    info = softmax_grader.course.kata_info("softmax")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = softmax_grader.grade(read_submission(info, file)).report
    assert "The result cannot be used" not in str(report)  # a warning in a law would be an error


@pytest.mark.parametrize("answer", [5, {}, {"entry_points": 5}])
def test_a_forged_answer_to_the_import_is_refused(grade, monkeypatch, answer):
    """Such an answer needs a worker that is not ours: what a submission changes in ours is put back."""
    monkeypatch.setattr(submission_run.RemoteStudent, "load", lambda *_args, **_loading: answer)
    with pytest.raises(SubmissionRejected):
        grade("def double(x): return x + x\n")


FORGES = """
    kind = next(kind for kind in object.__subclasses__() if kind.__name__ == "Worker")
    names = kind._reply.__globals__
    names["encode"] = lambda _, encode=names["encode"]: encode({"ok": {"entry_points": {"double": True}}})
    def double(x): return x + x
"""


def test_who_exchanges_what_encodes_answers_has_meddled(grade):
    report = grade(textwrap.dedent(FORGES))
    assert any("meddled" in check.message for check in report.checks)


def test_the_server_serves_on_after_a_lost_worker(grade):
    grade("import os\ndef double(x): os._exit(0)")
    assert (
        grade("def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x").status
        == "passed"
    )


def test_a_failing_check_has_what_its_own_call_printed(grade):
    code = """
        def double(x):
            if isinstance(x, str):
                raise ValueError("text")
            print("shape", x.shape)
            return 3 * x
    """
    report = grade(code)
    check = next(check for check in report.checks if check.status == "failed")
    assert check.printed == "shape (1, 2)\n"
    assert check.call.splitlines()[-2:] == [
        "x = np.array([[1.0, 1.0]], dtype=np.float32)",
        "double(x=x)",
    ]
    silent = grade(code.replace('print("shape", x.shape)', "pass"))
    assert {check.printed for check in silent.checks} == {""}
    assert report.output.count("shape") > 1


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_call_that_prints_and_never_returns_is_reported_all_the_same(grade):
    report = grade("def double(x):\n    print('begins')\n    while True:\n        pass\n")
    assert report.checks[0].status == "timeout"
    assert "begins" in report.output


COUNTS = """
    import os
    count = 0
    def double(x):
        global count
        count += 1
        print("call")
        if count > {most}:
            os._exit(3)
        return 3 * x
"""


def test_a_worker_that_ends_while_a_case_is_judged_again_changes_no_verdict(grade):
    first = grade(COUNTS.format(most=10**9))
    report = grade(COUNTS.format(most=first.output.count("call")))
    assert [check.status for check in report.checks] == [check.status for check in first.checks]
    assert report.output == first.output
    printed = [check.printed for check in report.checks if check.status == "failed"]
    assert printed[0] == "call\n"
    assert set(printed[1:]) == {""}


def test_a_worker_that_does_not_start_is_a_fault_of_the_machine_and_no_0(grade, monkeypatch):
    def lost(*_):
        raise client.WorkerLost("It has ended.")

    monkeypatch.setattr(submission_run.RemoteStudent, "greeting", lost)
    with pytest.raises(submission_run.NoWorker, match=r"^no worker could be started: It has ended\.$"):
        grade("def double(x):\n    return x + x\n")
