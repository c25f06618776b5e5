"""Puzzles of the course: which katas have one, which lines they show, and which orders run right."""

import itertools
from pathlib import Path

import pytest

from dojo_puzzle.judging import completed, judge, misplaced, unset
from dojo_puzzle.lines import cut, names_in
from dojo_puzzle.puzzle import NoPuzzle, WrongLine, chosen, listing, make
from dojo_puzzle.table import table
from grader.course.catalog import Course
from grader.grading.session import lacks_library, open_grader

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)


def puzzle_or_none(info):
    try:
        return make(COURSE, info)
    except NoPuzzle:
        return None


PUZZLES = {info.name: puzzle for info in COURSE.katas.values() if (puzzle := puzzle_or_none(info))}

#: Katas whose puzzles are run.
RUN = [
    "softmax", "token_embedding", "sinusoidal_positions", "causal_mask", "cross_attention", "layer_norm",
    "cross_entropy", "translation_loop", "train_language_model", "temperature_sampling", "top_p",
    "beam_search", "rms_norm", "rotary_embedding", "grouped_query_attention", "latent_attention",
    "label_smoothing", "clip_gradients", "gradient_accumulation", "softmax_cross_entropy_backward",
]  # fmt: skip


@pytest.fixture(scope="module")
def course_grader():
    """A grader of the course."""
    grader, factories = open_grader(COURSE, [COURSE.kata_info(name) for name in RUN])
    yield grader
    factories.close()


# --- which katas have one ---


@pytest.mark.slow
def test_the_page_lists_the_puzzle_of_every_kata():
    assert table(COURSE) in (ROOT / "docs/puzzle.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_a_puzzle_has_4_to_14_lines_of_which_two_are_wrong(puzzle):
    assert 4 <= len(puzzle.lines) <= 14
    assert "".join(puzzle.lines) == "ABCDEFGHIJKLMN"[: len(puzzle.lines)]
    assert len(puzzle.wrong) == 2
    assert {*puzzle.right, *puzzle.wrong} == {*puzzle.lines}
    assert len({line.text for line in puzzle.lines.values()} - {"            break"}) >= len(puzzle.right)


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_the_right_lines_are_the_reference_and_stand_in_another_order(puzzle):
    info = COURSE.kata_info(puzzle.kata)
    reference = COURSE.solution(info, "reference").read_text(encoding="utf-8")
    assert puzzle.source([*puzzle.right]) == cut(reference, info.entry_points[0]).assembled(
        [puzzle.lines[letter].text for letter in puzzle.right]
    )
    assert misplaced(puzzle, [*puzzle.right]) is None
    assert unset(puzzle, [*puzzle.right]) is None
    assert [letter for letter in puzzle.lines if letter in puzzle.right] != [*puzzle.right]


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_no_comment_tells_what_a_line_is(puzzle):
    assert "#" not in puzzle.source([*puzzle.right])


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_a_puzzle_fits_into_80_columns(puzzle):
    assert [row for row in listing(puzzle, 80) if len(row) > 80] == []


# --- which lines are wrong ---


def test_a_puzzle_is_the_same_on_every_day():
    info = COURSE.kata_info("top_p")
    assert make(COURSE, info) == make(COURSE, info)


def test_the_mistakes_that_were_made_last_come_first():
    info = COURSE.kata_info("softmax")
    made = ["subtracts_the_mean", "no_such_mistake", "uses_powers_of_two"]
    puzzle = make(COURSE, info, made)
    wrong = {puzzle.lines[letter].text.strip() for letter in puzzle.wrong}
    assert wrong == {
        "powers = np.exp2(scores - largest)",
        "largest = scores.mean(axis=axis, keepdims=True)",
    }


def test_two_wrong_lines_stand_for_different_right_ones_where_they_can():
    def line(mistake, number):
        return WrongLine(mistake, number, None, is_longer=False)

    found = [line("a", 1), line("b", 1), line("c", 2)]
    assert {one.number for one in chosen(found, "seed", [])} == {1, 2}
    assert [one.mistake for one in chosen(found, "seed", ["b"])] == ["b", "c"]
    assert {one.number for one in chosen(found[:2], "seed", [])} == {1}
    assert len(chosen(found[:1], "seed", [])) == 1
    assert chosen([], "seed", []) == []


# --- which orders run ---


def independent_pairs(puzzle):
    """The neighbours in the reference's order that may change places: assignments of one block, of which
    neither sets a name that the other reads or sets, nor appends to an object."""
    for pair in itertools.pairwise(puzzle.right):
        one, other = (puzzle.lines[letter] for letter in pair)
        names, others = names_in(one), names_in(other)
        touch = names.set & (others.set | others.read) or others.set & names.read
        if one.blocks == other.blocks and is_plain(one) and is_plain(other) and not touch:
            yield pair


def is_plain(line):
    target, sign, value = line.text.partition(" = ")
    return bool(sign) and not line.opens and "." not in target and ".append(" not in value


SWAPPED = {name: pairs for name in RUN if (pairs := [*independent_pairs(PUZZLES[name])])}


def test_the_puzzles_that_are_run_are_20_and_some_have_several_right_orders():
    assert len({*RUN}) == 20
    assert len(SWAPPED) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_the_order_of_the_reference_is_accepted_and_others_that_run_right(course_grader, name):
    puzzle, info = PUZZLES[name], COURSE.kata_info(name)
    if lacks_library(info):
        pytest.skip("PyTorch is not installed")
    assert judge(puzzle, info, course_grader, [*puzzle.right]).passes
    for one, other in SWAPPED.get(name, [])[:2]:
        swap = {one: other, other: one}
        order = [swap.get(letter, letter) for letter in puzzle.right]
        assert judge(puzzle, info, course_grader, order).passes, order


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_wrong_line_in_place_of_its_right_one_is_refused_and_named(course_grader, name):
    puzzle, info = PUZZLES[name], COURSE.kata_info(name)
    if lacks_library(info):
        pytest.skip("PyTorch is not installed")
    for wrong, right in puzzle.wrong.items():
        order = [wrong if letter == right else letter for letter in puzzle.right]
        judged = judge(puzzle, info, course_grader, order)
        assert not judged.passes
        assert judged.right == order.index(wrong)
        assert judged.told.endswith(f"{wrong} is one of the two wrong lines.")


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_a_beginning_goes_on_with_the_other_lines_of_the_reference(puzzle):
    for length in range(len(puzzle.right) + 1):
        beginning = [*puzzle.right[:length]]
        for order in completed(puzzle, beginning):
            assert order == [*puzzle.right]
