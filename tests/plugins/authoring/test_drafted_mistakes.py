"""Drafts of mistakes: what the judge says of each, and that no student is told one."""

import pytest
from click.testing import CliRunner

from dojo_authoring.drafted_mistakes.judging import judge_drafts
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.katas import verify_course
from grader.answer_keys.file import KataKey, KeyFile
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions
from grader.course.mistake_edits import parse_edits

from ...conftest import DOUBLE

EDITS = "solutions/attention/double/mistakes.edits"
DRAFT = "[adds_one] draft\nOne is added.\n- x + x\n+ x + x + 1\n"


@pytest.fixture
def course(write, tmp_path):
    """`course(edits)` returns a course of one kata with these drafts beside its mistakes."""
    return lambda edits: Course(write(tmp_path, {**DOUBLE, EDITS: edits}))


@pytest.fixture
def judged(course):
    """`judged(*edits)` returns what the judge says of drafts with these edits, called `a`, `b` and so on."""

    def judge(*edits, known="# None yet."):
        made = course(known)
        names = "abcdefg"[: len(edits)]
        text = "\n\n".join(f"[{n}] draft\nText.\n{edit}" for n, edit in zip(names, edits, strict=True))
        drafts = parse_edits(text, made.edits(made.kata_info("double")))
        return judge_drafts(made, made.kata_info("double"), drafts)

    return judge


def test_a_change_that_the_checks_catch_is_a_mistake(judged):
    (found,) = judged("- x + x\n+ x - x")
    assert (found.verdict, found.double_of) == ("caught", "")
    assert (
        found.reason == "`a` fails `agrees_with_reference`, `float64_keeps_its_digits` and `twice_is_a_sum`."
    )
    assert found.failed == ("agrees_with_reference", "float64_keeps_its_digits", "twice_is_a_sum")


def test_a_change_with_the_outcome_of_a_known_mistake_is_its_double(judged):
    (found,) = judged("- x + x\n+ x * 3")
    assert (found.verdict, found.double_of) == ("double", "triples")
    assert found.reason == "`a` has the outcome of `triples` in every case."


def test_drafts_are_compared_with_each_other_and_with_those_in_the_file(judged):
    first, second, third = judged(
        "- x + x\n+ -x", "- x + x\n+ x - 2 * x", "- x + x\n+ 1 + x + x", known=DRAFT
    )
    assert (first.verdict, second.double_of, third.double_of) == ("caught", "a", "adds_one")


def test_a_change_that_no_check_catches_is_no_mistake_yet(judged):
    (found,) = judged("- x + x\n+ 2 * x")
    assert found.verdict == "not caught"
    assert found.reason == "`a` passes every check: it is right, or a case is missing."


def test_a_change_that_the_author_has_listed_as_right_is_right(course):
    made = course("# None yet.")
    made.edits(made.kata_info("double")).with_name("equivalent.toml").write_text(
        '[[equivalent]]\nwhere = "double"\nwas = "return x + x"\nnow = "return 2 * x"\n'
        'because = "It is the same."\n'
    )
    drafts = parse_edits("[a] draft\nText.\n- x + x\n+ 2 * x", made.edits(made.kata_info("double")))
    (found,) = judge_drafts(made, made.kata_info("double"), drafts)
    assert (found.verdict, found.reason) == ("right", "It is right: It is the same.")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ("- x - x\n+ 1", "the edit no longer applies: `x - x` is not in the reference."),
        ("- x + x\n+ x +", "the edits give no Python: invalid syntax in line 4 of the changed reference."),
        ("- x + x\n+ y", "`a` raises in every case, as a typo would: The code raised NameError: name 'y' is"),
        ("- def double(x):\n+ 1 / 0\n+ def double(x):", "`a` cannot be loaded: ZeroDivisionError: division"),
    ],
)
def test_a_change_that_cannot_be_judged_is_unusable(judged, edit, reason):
    (found,) = judged(edit)
    assert found.verdict == "unusable"
    assert reason in found.reason


@pytest.mark.slow
def test_a_change_that_does_not_end_is_unusable_and_the_next_is_judged(judged):
    endless, lost, caught = judged(
        "- return x + x\n+ while True:\n+     pass",
        "- return x + x\n+ import os; os._exit(3)",
        "- x + x\n+ x - x",
    )
    assert endless.reason == "`a` has not ended after 3 seconds of CPU time."
    assert lost.reason == "`b` takes more memory than a submission may have, or ends its process."
    assert caught.verdict == "caught"


# --- no student is told a draft ---------------------------------------------------------------------


def test_a_draft_is_no_known_mistake(course):
    made = course(DRAFT)
    assert "adds_one" not in KnownSolutions(made, made.kata_info("double"), "mistakes").names


def test_a_draft_that_no_longer_applies_has_a_note_and_no_gap(course):
    made = course(DRAFT.replace("- x + x", "- x - x"))
    info = made.kata_info("double")
    assert static_checks.gaps_of_answers(made, info) == []
    assert static_checks.drafted_mistakes(made, info)[1:] == [
        "mistakes.edits:3: `adds_one`: the edit no longer applies: `x - x` is not in the reference."
    ]


@pytest.mark.slow
def test_verify_counts_drafts_in_a_note_and_not_as_mistakes(course, capsys):
    made = course("# None yet.")
    verify_course(made, ("double",))
    before = capsys.readouterr().out.splitlines()
    made.edits(made.kata_info("double")).write_text(DRAFT)
    verify_course(made, ("double",))
    after = capsys.readouterr().out.splitlines()
    note = (
        "note: double: solutions/attention/double/mistakes.edits:1: 1 draft of mistakes, which no student is"
        " told; mend the sentence of each, and take the word `draft` away, or delete it."
    )
    assert note in after
    assert [line.split()[:5] for line in after if line != note] == [line.split()[:5] for line in before]


def test_a_release_leaves_drafts_out_and_says_so(course, tmp_path):
    made, out = course(DRAFT), tmp_path / "out"
    command = ["release", str(out), "double", "--unverified", "--course", str(made.root)]
    result = CliRunner().invoke(run_kata, command)
    assert "note: double: left out 1 draft of mistakes, which no author has read." in result.output
    (key,) = out.rglob("*.key")
    names = {mistake.id for mistake in KataKey(KeyFile(key.read_bytes(), "key"), "double").mistakes}
    assert "triples" in names
    assert "adds_one" not in names
