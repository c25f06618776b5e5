"""Probes: a right function, a wrong one, and an input that tells them apart."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dojo_probe import command
from dojo_probe.probing import DrawnFault, Probe
from dojo_review.faults import faults_in, suitable
from dojo_review.review import Unsuitable
from grader.cases.domain import numbers_in
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.grading.session import open_grader

pytestmark = pytest.mark.slow  # each draws cases and starts workers

ROOT = Path(__file__).resolve().parents[3]
MINE = '''"""Softmax."""

import numpy as np


def softmax(x, axis=-1):
    """Return the softmax."""
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(float)
    e = np.exp(x - x.max(axis=axis, keepdims=True))  # shifted, so that nothing overflows
    return e / e.sum(axis=axis, keepdims=True)
'''
SENTENCE = "Each slice needs a sum of its own."
SMALLEST = {"x": np.array([[0.0], [0.0]]), "axis": -1}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course, with exercises of which softmax has passed."""
    root = tmp_path_factory.mktemp("dojo")
    for info in Course(ROOT).katas.values():
        file = root / "exercises" / info.track / f"{info.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / "exercises" / info.track / file.name).read_bytes())
    course = Course(ROOT, root / "exercises")
    course.stub(course.kata_info("softmax")).write_text(MINE)
    CourseState(course).change("softmax", status="passed", passed=True, passed_on=date.today().isoformat())
    return course


@pytest.fixture(scope="module")
def begun(course):
    """A probe of softmax."""
    info = course.kata_info("softmax")
    grader, factories = open_grader(course, [info])
    yield Probe(course, grader, info)
    factories.close()


@pytest.fixture(scope="module")
def fault():
    """The sum of the whole array in place of each slice's."""
    return next(fault for fault in faults_in(MINE) if fault.now.strip() == "return e / e.sum(keepdims=True)")


# --- what an input shows ---


def test_an_input_that_tells_the_functions_apart_shows_both_results(begun, fault):
    result = begun.judge("softmax(np.array([[1.0], [1.0]]))", fault)
    assert (result.differs, result.numbers, result.problem) == ("their results", 3, "")
    assert (str(result.right), str(result.wrong)) == ("[[1.0], [1.0]]", "[[0.5], [0.5]]")


def test_an_input_that_does_not_shows_the_common_result(begun, fault):
    result = begun.judge("softmax(np.array([1.0, 1.0]), axis=0)", fault)
    assert (result.differs, result.numbers, str(result.right)) == ("", 3, "[0.5, 0.5]")


def test_arguments_may_be_made_by_code_and_by_the_answer_itself(begun, fault):
    assert begun.judge("softmax(axis=1, x=softmax(np.ones((2, 2))))", fault).differs
    assert begun.judge("softmax(np.array([np.arange(2.0) for _ in range(2)]))", fault).differs


OUT_OF_BOUNDS = "AxisError: axis 1 is out of bounds for array of dimension 1"
DTYPES = "float32, float64, int16, int32, int64, int8, uint32, uint64 or uint8"
NO_STATEMENT = "The statement does not allow it: "
CANNOT = "The call cannot be made: "


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("softmax([[1.0]])", "`x` is a list; an array is allowed."),
        ("softmax(np.array([1.0]), axis=2.5)", "`axis` is a number; an integer is allowed."),
        ("softmax(np.array([1.0], np.float16))", f"`x` is float16; {DTYPES} is allowed."),
        ("softmax(np.array([np.nan]))", "`x` holds nan, which no case has."),
        ("softmax(np.array([1e300]))", "`x` holds 1e+300; numbers from -1e+31 to 1e+31 are allowed."),
        ("softmax(np.zeros((0,)))", "`x` has 0 entries along an axis; 1 to 4 are allowed."),
        ("softmax(np.zeros((1, 1, 1, 1, 1)))", "`x` has 5 axes; 1 to 4 are allowed."),
        ("softmax(np.zeros(2), axis=1)", f"{NO_STATEMENT}{OUT_OF_BOUNDS}"),
        ("softmax(np.array([-np.inf]))", f"{NO_STATEMENT}the right result has a nan."),
        ("softmax(np.array([[-np.inf], [1.0]]), axis=1)", f"{NO_STATEMENT}the right result has a nan."),
        ("softmax(np.zeros(1000))", "`x` has 1000 entries along an axis; 1 to 4 are allowed."),
        ("softmax()", f"{CANNOT}TypeError: missing a required argument: 'x'"),
        ("softmax(np.zeros(1), keep=1)", f"{CANNOT}TypeError: got an unexpected keyword argument 'keep'"),
    ],
)
def test_an_input_that_is_not_allowed_gets_a_sentence(begun, fault, text, problem):
    assert begun.judge(text, fault).problem == problem


NO_CALL = "That is no call of softmax: write one such as softmax(…)."


NO_ARRAY = "`x` is an object; an array is allowed."
LIE = "type('Lie', (), {'__eq__': lambda *_: True, '__array__': lambda *_: 1})()"
LYING_ARRAY = "type('Lie', (np.ndarray,), {'__eq__': lambda *_: True})((0,))"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("softmax(np.zeros(10**6))", "`x` has 1000000 entries along an axis; 1 to 4 are allowed."),
        ("softmax([0] * 10**9)", f"{CANNOT}MemoryError"),
        ("softmax(np.zeros(10**12))", CANNOT),
        ("softmax(__import__('sys')._getframe(1).f_locals)", "`x` is a dict; an array is allowed."),
        ("softmax(__import__('sys')._getframe(1))", NO_ARRAY),
        ("softmax(__import__('os').listdir('/'))", f"{CANNOT}PermissionError"),
        ("softmax(open('/etc/passwd').read())", f"{CANNOT}PermissionError"),
        ("softmax([1 for _ in iter(int, 1)])", CANNOT),
        ("softmax(x for x in [1])", NO_ARRAY),
        (f"softmax({LIE})", NO_ARRAY),
        (f"softmax({LYING_ARRAY})", "`x` has 0 entries along an axis; 1 to 4 are allowed."),
        ("softmax('" + "x" * 2**20 + "')", "The call is longer than 2,000 characters."),
        ("softmax('x' * 2**20)", "`x` is a text; an array is allowed."),
        ("softmax('x' * 2**21)", CANNOT),
        ("softmax(np.array([object()]))", NO_ARRAY),
        ("softmax(lambda: 1)", NO_ARRAY),
        ("softmax(np)", NO_ARRAY),
        ("softmax(__import__('os')._exit(0))", CANNOT),
        ("__import__('os')._exit(0)", NO_CALL),
        ("softmax", NO_CALL),
        ("softmax(np.zeros(1))[0]", NO_CALL),
        ("print(1)", NO_CALL),
        ("x = 1", NO_CALL),
        ("softmax(", NO_CALL),
        ("(" * 1500, NO_CALL),
        ("\0", NO_CALL),
    ],
    ids=lambda text: text[:40],
)
def test_an_attack_gets_a_sentence_and_the_next_call_is_judged(begun, fault, text, problem):
    assert begun.judge(text, fault).problem.startswith(problem)
    assert begun.judge("softmax(np.array([[1.0], [1.0]]))", fault).differs


def test_random_input_is_drawn_once_so_both_functions_get_the_same(begun, fault):
    for _ in range(3):
        assert not begun.judge("softmax(np.random.default_rng().standard_normal(3))", fault).differs


def test_code_of_an_input_does_not_reach_the_functions(begun, fault):
    """It changes the module that it is run in, and NumPy: the functions run elsewhere."""
    text = "softmax([np.zeros(2), setattr(np, 'exp', lambda x: x + id(x)), globals().clear()][0])"
    assert str(begun.judge(text, fault).right) == "[0.5, 0.5]"


def test_a_wrong_function_that_does_not_end_differs(begun, fault):
    endless = replace(
        fault, source=MINE.replace("    return e", "    while x.shape[0] > 1: pass\n    return e")
    )
    result = begun.judge("softmax(np.array([[1.0], [1.0]]))", endless)
    assert (result.differs, result.wrong.error) == (
        "their results",
        "No answer within 5 seconds of computing, in line 11.",
    )


def test_a_search_ends_where_a_worker_is_lost(begun, fault):
    """A worker that is lost gives no answer to later inputs, so none of them is said to show the fault."""
    endless = replace(fault, source=MINE.replace("    return e", "    while True: pass\n    return e"))
    found = suitable(begun.grader, begun.info, [fault])
    assert begun._with_smallest(replace(next(found), fault=endless)) is None


# --- what is drawn ---


def test_a_fault_is_drawn_for_which_a_small_input_is_known(begun):
    drawn = begun.draw((), "a seed")
    assert numbers_in(drawn.smallest) <= 12
    assert not begun.domain.complaint(drawn.smallest)
    assert begun.compare(drawn.smallest, drawn.fault).differs
    assert drawn.sentence


def test_a_mistake_that_the_student_has_made_is_not_drawn(begun, fault, monkeypatch):
    monkeypatch.setattr("dojo_probe.probing.faults_in", lambda _: [fault])
    assert begun.draw((), "a seed").fault == fault
    with pytest.raises(Unsuitable, match=r"^no small change of your answer shows on a small input\.$"):
        begun.draw(("divides_by_the_sum_of_the_whole_array",), "a seed")


# --- the dialogue ---


@pytest.fixture
def _drawn(monkeypatch, fault):
    """Let each probe draw the sum of the whole array."""
    monkeypatch.setattr(Probe, "draw", lambda *_: DrawnFault(fault, SENTENCE, SMALLEST))


def probed(course, *words, answers=None):
    typed = "".join(f"{answer}\n" for answer in answers or ())
    words = ["probe", *words, "--course", str(ROOT), "--exercises", str(course.exercises)]
    return CliRunner().invoke(grade, words, input=typed)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


BEGIN = """\
softmax: two functions, one right and one wrong. The right one is an answer of
yours that has passed; in the wrong one a line of it was changed.
"""
ASKED = """
Write a call on which they differ, with as few numbers as you can: softmax(…)

softmax on which input? Enter shows one:"""
MISTAKE = """
Each slice needs a sum of its own.

    wrong  11 │ return e / e.sum(keepdims=True)
    right  11 │ return e / e.sum(axis=axis, keepdims=True)
"""


@pytest.mark.usefixtures("_drawn")
def test_the_dialogue_goes_on_to_the_smallest_input(course):
    found = probed(
        course,
        "softmax",
        answers=["softmax(np.ones(2))", "softmax(np.ones((2, 2)))", "softmax(np.ones((2, 1)))"],
    )
    assert found.exit_code == 0
    assert (
        found.output
        == f"""{BEGIN}{ASKED} softmax(np.ones(2))
✗ Both give the same, for 3 numbers:
    [0.5, 0.5]

softmax on which input? Enter shows one: softmax(np.ones((2, 2)))
✓ They differ in their results, for 5 numbers:
    right  [[0.5, 0.5], [0.5, 0.5]]
    wrong  [[0.25, 0.25], [0.25, 0.25]]
{MISTAKE}
That is small: 3 would do.

A smaller one, of 3? Enter ends: softmax(np.ones((2, 1)))
✓ They differ in their results, for 3 numbers:
    right  [[1.0], [1.0]]
    wrong  [[0.5], [0.5]]

No smaller input is known.
"""
    )


@pytest.mark.usefixtures("_drawn")
def test_enter_shows_the_smallest_input_and_the_mistake(course):
    found = probed(course, "softmax", answers=[""])
    assert found.exit_code == 1
    assert (
        found.output
        == f"""{BEGIN}{ASKED} 

They differ here, with 3 numbers:

    softmax(x=np.array([[0.0], [0.0]], dtype=np.float64), axis=-1)
    right  [[1.0], [1.0]]
    wrong  [[0.5], [0.5]]
{MISTAKE}"""
    )


@pytest.mark.usefixtures("_drawn")
def test_enter_after_an_input_ends_well(course):
    found = probed(course, "softmax", answers=["softmax(np.ones((4, 4)))", ""])
    assert found.exit_code == 0
    assert "That is large: 3 would do." in found.output


@pytest.mark.usefixtures("_drawn")
def test_the_wrong_function_is_shown_if_it_is_asked_for(course):
    found = probed(course, "softmax", "--shown", answers=[""])
    assert "\nThe wrong one:\n\n   6 │ def softmax(x, axis=-1):\n" in found.output
    assert "  11 │     return e / e.sum(keepdims=True)\n" in found.output
    assert MINE.splitlines()[-1] not in found.output.partition("They differ")[0]


@pytest.mark.usefixtures("_drawn")
def test_the_end_of_the_input_ends_the_dialogue_and_changes_nothing(course):
    before = contents(course.exercises.parent)
    found = probed(course, "softmax")
    assert found.exit_code == 1
    assert "Aborted!" in found.output
    assert contents(course.exercises.parent) == before


@pytest.mark.usefixtures("_drawn")
def test_every_line_fits_80_columns(course):
    calls = ["softmax(np.linspace(0, 1, 64).reshape(4, 4, 4))", "softmax([[[[[[[[[[[[[[]]]]]]]]]]]]]])", ""]
    found = probed(course, "softmax", "--shown", answers=calls)
    typed = [line for line in found.output.splitlines() if "Enter" in line]
    assert max(len(line) for line in found.output.splitlines() if line not in typed) <= 80


# --- which katas ---


def test_without_a_name_the_katas_are_listed(course):
    found = probed(course)
    assert (found.exit_code, found.output) == (
        0,
        "You can probe softmax\nBegin with one: grade probe softmax\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["top_k"], "top_k has not passed yet: a probe takes an answer of yours that has."),
        (["attention_questions"], "attention_questions asks for values: it has no function to probe."),
        (
            ["softmax", "top_k"],
            "`grade probe` goes with the name of one kata, or with none for those that fit.",
        ),
    ],
)
def test_a_kata_that_cannot_be_probed_gets_a_sentence(course, words, message):
    found = probed(course, *words)
    assert (found.exit_code, " ".join(found.output.split())) == (4, message)


def test_without_a_kata_that_has_passed_there_is_nothing_to_list(tmp_path):
    (tmp_path / "exercises").mkdir()
    found = probed(Course(ROOT, tmp_path / "exercises"))
    assert (found.exit_code, found.output) == (4, f"{command.NOTHING}\n")


def test_a_kata_of_classes_is_left_out(course):
    info = course.kata_info("kv_cache")
    stub = course.stub(info)
    before = stub.read_bytes()
    stub.write_bytes((ROOT / "solutions/generation/kv_cache/reference.py").read_bytes())
    CourseState(course).change("kv_cache", status="passed", passed=True)
    grader, factories = open_grader(course, [info])
    try:
        with pytest.raises(Unsuitable, match=r"^its cases are no calls of one function\.$"):
            Probe(course, grader, info)
    finally:
        factories.close()
        stub.write_bytes(before)
        CourseState(course).change("kv_cache", status="", passed=False)
