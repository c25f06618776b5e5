"""`grade puzzle`: when it is offered, what it asks, and what it says."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dojo_puzzle import command
from dojo_puzzle.judging import BadOrder, JudgedOrder, letter_at, misplaced, order_of, unset
from dojo_puzzle.puzzle import listing, make, opening
from grader.cli.grade import grade
from grader.cli.kata_list import kata_list
from grader.course.catalog import MANIFEST, Course
from grader.course.hints import next_hint
from grader.course.state import STATE_FILE, CourseState
from grader.course.syllabus import SYLLABUS_FILE
from grader.grading.session import open_session

ROOT = Path(__file__).resolve().parents[3]
SOFTMAX = """\
softmax: put its lines in order. 5 of the 7 lines are right; 2 are wrong and
stay out. They keep their indentation.

    │ import numpy as np
    │
    │ def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
  A │     largest = scores.max(axis=axis, keepdims=True)
  B │     return powers / total
  C │     scores = x if np.issubdtype(x.dtype, np.floating) else
    │             x.astype(np.float64)
  D │     largest = scores.mean(axis=axis, keepdims=True)
  E │     total = powers.sum(axis=axis, keepdims=True)
  F │     powers = np.exp(np.clip(scores, -80, 80))
  G │     powers = np.exp(scores - largest)

"""
QUESTION = "Order from the top, such as C B A; Enter ends: "
STAYS = "The puzzle stays as it is:  grade puzzle softmax\n"
EXAMPLE = "def softmax(x, axis=-1):\n    return x\n"


@pytest.fixture
def course(tmp_path):
    """The course, with exercises of one's own."""
    for info in Course(ROOT).katas.values():
        file = tmp_path / "exercises" / info.track / f"{info.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / "exercises" / info.track / file.name).read_bytes())
    return Course(ROOT, tmp_path / "exercises")


@pytest.fixture
def tried(course):
    """The course where softmax has failed after all of its hints."""
    CourseState(course).change("softmax", helped=3, hints=3, failed_after_hint=True)
    return course


@pytest.fixture
def judged(monkeypatch):
    """The orders that were judged; the one of the reference passes."""
    orders = []

    def judge(puzzle, _info, _grader, order):
        orders.append("".join(order))
        right = next(
            (at for at, pair in enumerate(zip(order, puzzle.right, strict=False)) if pair[0] != pair[1]),
            len(order),
        )
        return JudgedOrder(order == [*puzzle.right], right, f"{right} right.")

    monkeypatch.setattr(command, "judge", judge)
    return orders


def info_of(course, name="softmax"):
    return course.kata_info(name)


def run(course, *words, typed=None, root=ROOT):
    words = ["puzzle", *words, "--course", str(root), "--exercises", str(course.exercises)]
    return CliRunner().invoke(grade, words, input=typed, env={"COLUMNS": "80"})


def refusal(course, *words, **options):
    done = run(course, *words, **options)
    assert done.exit_code == 4
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def closed(course, name="softmax", **changes):
    CourseState(course).change(name, **changes)
    return refusal(course, name)


# --- when there is one ---


def test_before_the_last_hint_there_is_none(course):
    for hints in range(3):
        told = closed(course, helped=hints, failed_after_hint=True)
        assert told == "A puzzle comes after the last hint: grade hint softmax"


def test_without_a_try_of_ones_own_there_is_none(course):
    told = closed(course, helped=3, hints=3)
    assert told.startswith("A puzzle comes after a try of your own in ")
    assert told.endswith("/attention/softmax.py: grade softmax")


def test_after_a_pass_there_is_none(tried):
    told = closed(tried, passed=True)
    assert told == "softmax has passed, so its reference can be shown: grade solution softmax"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("padding_mask", "it asks for more than one function"),
        ("mini_gpt", "its solution is not one function"),
        ("greedy_generate", "its function has more than 12 lines"),
        ("debug_device", "its code is repaired, not written"),
        ("attention_questions", "it asks questions"),
    ],
)
def test_a_kata_without_a_puzzle_says_why(course, name, why):
    assert refusal(course, name) == f"{name} has no puzzle: {why}."
    assert "puzzle" not in next_hint(course, info_of(course, name))


def copy_of(tmp_path, write):
    """A course of softmax alone, which a test may change."""
    track = "attention/softmax"
    names = [f"solutions/{track}/reference.py", f"solutions/{track}/mistakes.edits"]
    names += ["tests/katas/attention/test_softmax.py", "exercises/attention/softmax.py"]
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    files[SYLLABUS_FILE.as_posix()] = '[path]\nattention = ["softmax"]\n'
    own = Course(write(tmp_path / "own", files))
    CourseState(own).change("softmax", helped=3, hints=3, failed_after_hint=True)
    return own


def test_one_line_of_the_course_turns_puzzles_off(tmp_path, write):
    own = copy_of(tmp_path, write)
    assert "grade puzzle softmax" in next_hint(own, info_of(own))
    path = own.root / SYLLABUS_FILE
    path.write_text(f"puzzles = false\n{path.read_text()}")
    told = refusal(own, "softmax", root=own.root)
    assert told == "This course has no puzzles: tests/katas/path.toml says puzzles = false."
    assert "puzzle" not in next_hint(Course(own.root), info_of(own))


def test_where_the_solutions_are_kept_back_there_is_none(tmp_path, write):
    own = copy_of(tmp_path, write)
    (own.root / "solutions/attention/softmax/reference.py").unlink()
    told = refusal(own, "softmax", root=own.root)
    assert told == "There is no puzzle of softmax here: this course keeps its solutions to itself."
    assert "puzzle" not in next_hint(own, info_of(own))


def test_a_students_copy_has_none_even_with_solutions_in_it(tmp_path, write):
    own = copy_of(tmp_path, write)
    (own.root / MANIFEST).write_text("{}")
    told = refusal(own, "softmax", root=own.root)
    assert told == "There is no puzzle of softmax here: this course keeps its solutions to itself."


@pytest.mark.parametrize("words", [(), ("softmax", "top_p"), ("attention",)])
def test_it_goes_with_one_kata(course, words):
    assert refusal(course, *words) == ("`grade puzzle` goes with the name of one kata: grade puzzle softmax.")


# --- how it is offered ---


def test_it_is_offered_with_every_hint_from_the_last_one_on(course):
    info, state = info_of(course), CourseState(course)
    state.change("softmax", failed_after_hint=True)
    told = [next_hint(course, info).split("\n\n")[-1] for _ in range(5)]
    offer = "Not enough? Put the lines in order:  grade puzzle softmax"
    assert [text == offer for text in told] == [False, False, True, True, True]


@pytest.mark.slow
def test_it_is_offered_once_a_version_fails_that_was_written_after_a_hint(course):
    info = info_of(course)
    path = course.stub(info)
    path.write_text(EXAMPLE)
    with open_session(course, [(info, path)]) as session:
        session.grade(info, path)
        for _ in range(3):
            told = next_hint(course, info)
        session.grade(info, path)  # the same version
        assert "puzzle" not in told
        assert "puzzle" not in next_hint(course, info)
        path.write_text(f"{EXAMPLE}\n# another one\n")
        session.grade(info, path)
    assert CourseState(course).kata("softmax").failed_after_hint
    assert next_hint(course, info).endswith("grade puzzle softmax")


def test_the_state_of_an_older_grader_counts(course):
    state = CourseState(course)
    state.change("softmax", hints=3, hint_digest="a", digest="b", status="failed")
    path = state.folder / STATE_FILE
    found = json.loads(path.read_text())
    for field in ("helped", "failed_after_hint", "puzzle"):
        del found["katas"]["softmax"][field]
    path.write_text(json.dumps(found))
    assert next_hint(course, info_of(course)).endswith("grade puzzle softmax")


# --- the dialogue ---


def test_a_right_order_ends_it(tried, judged):
    done = run(tried, "softmax", typed="cagde\nC, A, G, E, B\n")
    assert done.stdout.startswith(
        f"{SOFTMAX}{QUESTION}cagde\n✗ 3 right.\n\n{QUESTION}C, A, G, E, B\n✓ Every check passes."
    )
    assert " ".join(done.stdout.split()).endswith("softmax.py: your file counts.")
    assert judged == ["CAGDE", "CAGEB"]
    assert done.exit_code == 0


def test_a_right_beginning_gets_no_cross(tried, judged):
    done = run(tried, "softmax", typed="ca\n\n")
    assert done.stdout == f"{SOFTMAX}{QUESTION}ca\n2 right.\n\n{QUESTION}\n{STAYS}"
    assert judged == ["CA"]
    assert done.exit_code == 1


@pytest.mark.parametrize("typed", ["\n", "", "  \n"])
def test_enter_and_the_end_of_the_input_end_it(tried, judged, typed):
    done = run(tried, "softmax", typed=typed)
    assert done.stdout == f"{SOFTMAX}{QUESTION}{typed.rstrip(chr(10))}\n{STAYS}"
    assert done.exit_code == 1
    assert judged == []


def test_ctrl_c_ends_it(tried, judged, monkeypatch):
    def interrupted(*_, **__):
        raise click.Abort

    monkeypatch.setattr(click, "prompt", interrupted)
    done = run(tried, "softmax")
    assert done.stdout == f"{SOFTMAX}\n{STAYS}"
    assert done.exit_code == 1
    assert judged == []


@pytest.mark.usefixtures("judged")
def test_the_exercise_stays_as_it_is(tried):
    path = tried.stub(info_of(tried))
    before = path.read_bytes()
    run(tried, "softmax", typed="cageb\n")
    assert path.read_bytes() == before
    assert not CourseState(tried).kata("softmax").has_passed


WRONG = [
    ("CAZ", "There is no line Z: they are A to G."),
    ("C \x1b A", "There is no line ␛: they are A to G."),
    ("cc", "C is there twice: each line is used once."),
    ("ABCDEF", "These are 6 lines, and 5 are right: leave some out."),
    ("...", "There is no line in it: they are A to G."),
    ("ß", "There is no line S: they are A to G."),
]


@pytest.mark.parametrize(("answer", "complaint"), WRONG)
def test_an_answer_that_is_no_order_is_not_run(course, answer, complaint):
    puzzle = make(course, info_of(course))
    with pytest.raises(BadOrder) as refused:
        order_of(puzzle, answer)
    assert str(refused.value) == complaint


def test_complaints_are_told_and_the_question_comes_again(tried, judged):
    done = run(tried, "softmax", typed="CAZ\ncc\n\n")
    assert done.stdout == (
        f"{SOFTMAX}{QUESTION}CAZ\n{WRONG[0][1]}\n\n{QUESTION}cc\n{WRONG[2][1]}\n\n{QUESTION}\n{STAYS}"
    )
    assert judged == []


# --- what is remembered ---


@pytest.mark.usefixtures("judged")
def test_a_kata_is_marked_once_its_puzzle_was_shown(tried):
    assert "(with a puzzle)" not in kata_list(tried)
    refused = run(tried, "padding_mask")
    assert refused.exit_code == 4
    run(tried, "softmax", typed="\n")
    assert CourseState(tried).kata("softmax").puzzle == [
        "subtracts_the_mean",
        "clips_scores_of_every_dtype_alike",
    ]
    assert "Scores become probabilities (with a puzzle)" in kata_list(tried, "softmax", width=120)


@pytest.mark.usefixtures("judged")
def test_a_puzzle_stays_the_same_when_other_mistakes_are_made(tried):
    CourseState(tried).change("softmax", mistakes=["subtracts_the_mean"])
    first = run(tried, "softmax", typed="\n").stdout
    assert "scores.mean(" in first
    CourseState(tried).change("softmax", mistakes=["subtracts_the_min", "uses_powers_of_two"])
    assert run(tried, "softmax", typed="\n").stdout == first


def test_the_mark_stays_when_the_kata_is_graded_again(tried):
    info = info_of(tried)
    path = tried.stub(info)
    CourseState(tried).change("softmax", puzzle=["uses_powers_of_two"])
    path.write_bytes((ROOT / "solutions/attention/softmax/reference.py").read_bytes())
    with open_session(tried, [(info, path)]) as session:
        assert session.grade(info, path).report.status == "passed"
    assert CourseState(tried).kata("softmax").puzzle
    assert "(with a puzzle)" in kata_list(tried, "softmax", width=120)


# --- what cannot run ---


@pytest.fixture(scope="module")
def top_p():
    course = Course(ROOT)
    return make(course, course.kata_info("top_p"))


def letter(puzzle, text):
    return next(name for name, line in puzzle.lines.items() if line.text.strip().startswith(text))


def test_an_indented_line_needs_a_block(top_p):
    clone = letter(top_p, "return logits.clone")
    fault = misplaced(top_p, [clone])
    assert fault.text == f"{clone} is indented, and no line above it opens a block for it."
    assert fault.at == 0


def test_a_block_needs_an_indented_line(top_p):
    opener, other = letter(top_p, "if p >= 1"), letter(top_p, "probabilities =")
    assert misplaced(top_p, [opener, other]).text == (
        f"{other} stands where {opener} needs an indented line."
    )
    assert misplaced(top_p, [other, opener]).text == f"{opener} needs an indented line below it."


def test_a_name_is_set_before_it_is_used(top_p):
    uses = letter(top_p, "probabilities =")
    fault = unset(top_p, [uses])
    assert fault.text == f"{uses} uses `ordered` before any line sets it."


def test_a_line_that_python_refuses_where_it_stands_is_named():
    course = Course(ROOT)
    beam = make(course, course.kata_info("beam_search"))
    start, stop, test = letter(beam, "beams = [("), letter(beam, "break"), letter(beam, "if not live")
    loop, live = letter(beam, "for _ in"), letter(beam, "live =")
    assert misplaced(beam, [start, loop, live, test, stop]) is None
    outside = misplaced(beam, [start, loop, live, stop])
    assert outside.text == f"{stop} is indented, and no line above it opens a block for it."


def test_a_line_of_a_report_is_called_by_its_letter(top_p):
    order = [*top_p.right]
    rows = top_p.source(order).splitlines()
    for row, text in enumerate(rows, 1):
        found = letter_at(top_p, order, row)
        assert found == "" or text in top_p.lines[found].text
    assert [letter_at(top_p, order, row) for row in (0, 1, len(rows), len(rows) + 9)] == [
        "",
        "",
        order[-1],
        "",
    ]


def test_the_opening_counts_the_lines(top_p):
    assert opening(top_p) == (
        "top_p: put its lines in order. 10 of the 12 lines are right; 2 are wrong and stay out."
        " They keep their indentation."
    )
    assert listing(top_p, 80)[0] == "    │ def top_p_filter(logits, p):"
