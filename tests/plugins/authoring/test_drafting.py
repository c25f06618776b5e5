"""How mistakes are drafted: changes in the abstract, rewrites, the table, entries, sentences, the command."""

import ast
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dojo_authoring.drafted_mistakes import table as edits
from dojo_authoring.drafted_mistakes.candidates import candidates
from dojo_authoring.drafted_mistakes.changes import changes_between
from dojo_authoring.drafted_mistakes.command import shows_at_once
from dojo_authoring.drafted_mistakes.entries import append, edits_between, written
from dojo_authoring.drafted_mistakes.rewrites import Rewrite, rewritten
from dojo_authoring.drafted_mistakes.sentences import level, seen, told_of
from dojo_authoring.drafted_mistakes.symptoms import Symptom, Symptoms, _where
from grader.answer_keys.answers import Case
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course
from grader.course.mistake_edits import EditedMistake, parse_edits, read_drafts, read_edits
from grader.errors import KataError

from ...conftest import DOUBLE

SOFTMAX = '''"""Softmax."""

import numpy as np


def softmax(x, axis=-1):
    """Return it."""
    largest = x.max(axis=axis, keepdims=True)  # [..., 1]
    powers = np.exp(x - largest)  # [..., n]
    total = powers.sum(axis=axis, keepdims=True)
    return powers / total  # [..., n]
'''
ROOT = Path(__file__).resolve().parents[3]
UNSTEADY = "SEEN = []\n\ndef double(x):\n    SEEN.append(1)\n    return x * len(SEEN)\n"
EDITS = "solutions/attention/double/mistakes.edits"


# --- changes and rewrites ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "pattern"),
    [
        ("y = x.sum(dim=-1, keepdim=True)", "y = x.sum(dim=-1)",
         ("a.sum(axis=b, keepdims=True)", "a.sum(axis=b)")),
        ("y = torch.sqrt(v)", "y = v", ("np.sqrt(a)", "a")),
        ("y = (x @ w) / n", "y = x @ w", ("a / b", "a")),
        ("y = x[:-1]", "y = x[1:]", ("a[:-1]", "a[1:]")),
        ("y = x\nz = y", "y = x\ny = -y\nz = y", ("", "a = -a")),
        ("if n < k: y = n", "if n <= k: y = n", ("a < b", "a <= b")),
    ],
)  # fmt: skip
def test_a_change_in_the_abstract_has_letters_and_the_words_of_numpy(before, after, pattern):
    (change,) = changes_between(ast.parse(before), ast.parse(after))
    assert change.pattern == pattern


def applied(code, was, now, library="numpy", where=()):
    tree = ast.parse(textwrap.dedent(code))
    found = rewritten(tree, [Rewrite(was, now, frozenset(where))], library)
    return [edit.source(tree).splitlines()[-1].strip() for _, edit in found]


def test_a_rewrite_fits_any_expressions_in_the_words_of_the_library():
    code = "def f(x, w):\n    return torch.sqrt((x @ w).sum(dim=1, keepdim=True))"
    assert applied(code, "a.sum(axis=b, keepdims=True)", "a.sum(axis=b)", "torch") == [
        "return torch.sqrt((x @ w).sum(dim=1))"
    ]
    assert applied(code, "np.sqrt(a)", "a", "torch") == ["return (x @ w).sum(dim=1, keepdim=True)"]
    assert applied(code, "np.sqrt(a - b)", "a", "torch") == []


def test_a_rewrite_of_one_letter_fits_at_its_places_alone():
    code = "def f(x, w):\n    return x / w"
    assert applied(code, "a", "a + 1", where=["right of Div"]) == ["return x / (w + 1)"]


def test_a_new_letter_stands_for_a_name_in_scope_or_for_an_axis():
    assert applied("def f(x, w):\n    return x.T", "a.T", "a @ b") == ["return x @ w"]
    found = applied("def f(x):\n    return x.sum(axis=1)", "a.sum(axis=b)", "a.sum(axis=c)")
    assert found == [f"return x.sum(axis={axis})" for axis in (-1, 0, -2)]


def test_what_a_library_lacks_is_not_tried():
    assert applied("def f(x):\n    return -x", "-a", "a.detach()") == []


def test_a_statement_is_added_behind_the_one_that_binds_its_variable():
    code = "def f(x):\n    y = x @ x\n    return y"
    tree = ast.parse(code)
    found = [edit.source(tree) for _, edit in rewritten(tree, [Rewrite("", "a = np.clip(a, 0, 1)")], "numpy")]
    assert "def f(x):\n    y = x @ x\n    y = np.clip(y, 0, 1)\n    return y" in found
    assert "def f(x):\n    x = np.clip(x, 0, 1)\n    y = x @ x\n    return y" in found


# --- the table --------------------------------------------------------------------------------------


def test_the_table_of_the_package_can_be_read_and_written(tmp_path):
    found = edits.read_table()
    edits.write(found, tmp_path)
    for name in (edits.REWRITES, edits.KINDS):
        assert (tmp_path / name).read_text() == (edits.HERE / name).read_text()
    assert sum(row.mistakes for row in found.rows.values()) > 1000
    assert all(row.found <= row.edits for row in (*found.rows.values(), *found.kinds.values()))


def test_the_table_is_counted_from_the_mistakes_of_a_course(write, tmp_path):
    course = Course(write(tmp_path, two_katas()))
    found = edits.derive(course)
    assert found.rows == {("value of return", "a + a", "a"): edits.Row(2, 2, 2, 2)}
    assert edits.derive(course, ["twice"]).rows == {}


def two_katas():
    files = {**DOUBLE, EDITS: "[forgets_one]\nText.\n- x + x\n+ x\n"}
    return files | {
        name.replace("double", "twice"): text.replace("double", "twice") for name, text in files.items()
    }


def test_what_was_more_often_a_mistake_is_likelier():
    rows = {("w", "a + b", "a"): edits.Row(9, 3, 10, 9), ("w", "a + b", "b"): edits.Row(2, 2, 10, 0)}
    table = edits.Table({("a term", "return"): edits.Row(edits=40, found=4)}, rows)
    often, never, unknown = (table.rate(("a term", "return"), key) for key in (*rows, ("w", "c", "d")))
    assert often > unknown > never


# --- entries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("was", "now", "old", "new"),
    [
        ("np.exp(x", "np.exp2(x", ["np.exp"], ["np.exp2"]),
        ("powers / total", "powers", ["return powers / total"], ["return powers"]),
        ("    largest = x.max(axis=axis, keepdims=True)  # [..., 1]\n", "",
         ["largest = x.max(axis=axis, keepdims=True)"], []),
        ("    total", "    powers = powers + 1\n    total",
         ["total = powers.sum(axis=axis, keepdims=True)"],
         ["powers = powers + 1", "total = powers.sum(axis=axis, keepdims=True)"]),
    ],
)  # fmt: skip
def test_an_entry_has_the_shortest_edit_that_is_in_the_reference_once(was, now, old, new):
    changed = SOFTMAX.replace(was, now, 1)
    (edit,) = edits_between(SOFTMAX, changed)
    assert (edit.old, edit.new) == (old, new)


def test_an_entry_is_read_as_it_was_written():
    text = "[a] draft subtle\nA sentence.\n- x + 1\n\n- y\n+ z\n+ w\n"
    (draft,) = parse_edits(text, Path("mistakes.edits"))
    assert written(draft) == text


def test_drafts_are_added_at_the_end_and_nothing_is_lost(tmp_path):
    path = tmp_path / "mistakes.edits"
    before = "# A comment.\n\n[known]\nText.\n- a\n+ b"
    path.write_text(before)
    draft = EditedMistake(
        "new", "ordinary", path, 0, ["Text."], parse_edits(before, path)[0].edits, is_draft=True
    )
    append(path, "double", [draft])
    assert path.read_text() == f"{before}\n\n[new] draft\nText.\n- a\n+ b\n"
    assert [one.name for one in read_edits(path)] == ["known"]
    with pytest.raises(KataError, match=r"the name is taken by the mistake in mistakes.edits:8"):
        append(path, "double", [draft])
    assert len(read_drafts(path)) == 1


def test_a_file_keeps_its_line_ends(tmp_path):
    path = tmp_path / "mistakes.edits"
    path.write_bytes(b"[known]\r\nText.\r\n- a\r\n+ b\r\n")
    append(path, "double", parse_edits("[new] draft\nText.\n- a\n+ c\n", path))
    assert path.read_bytes().endswith(b"+ b\r\n\r\n[new] draft\r\nText.\r\n- a\r\n+ c\r\n")
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


# --- candidates and sentences -----------------------------------------------------------------------


def test_the_first_candidates_of_a_reference_are_those_that_were_often_mistakes():
    found = candidates(SOFTMAX, "numpy", edits.read_table())
    first = {(edit.old[0], *edit.new) for one, _ in zip(found, range(25), strict=False) for edit in one.edits}
    assert ("powers.sum(axis=axis, keepdims=True)", "powers.sum(axis=axis)") in first
    assert ("x.max(axis=axis, keepdims=True)", "x.max()") in first
    assert ("x - largest", "x") in first


def told(was, now):
    tree = ast.parse(SOFTMAX)
    due = ast.unparse(ast.parse(SOFTMAX.replace(was, now, 1)))
    del tree
    for one in candidates(SOFTMAX, "numpy", edits.read_table()):
        draft = EditedMistake("a", "ordinary", Path(), 0, edits=[*one.edits])
        if ast.unparse(ast.parse(draft.applied(SOFTMAX))) == due:
            found = told_of(one)
            return found.name, f"{found.cause} {found.check}"
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "now", "name", "sentence"),
    [
        ("x.max(axis=axis, keepdims=True)", "x.max(axis=axis)", "calls_max_without_keepdims",
         "`max` is called without `keepdims`. Check what `max` is given."),
        ("x - largest", "x", "leaves_out_largest", "The term `largest` is left out. Check each term."),
        ("x - largest", "largest - x", "turns_the_minus_round",
         "The two sides of `-` have changed places. Check what stands left and right of `-`."),
        ("powers / total", "powers * total", "takes_times_for_division",
         "`*` stands where another operator is needed. Check the operators."),
        ("np.exp(", "np.exp2(", "takes_exp2_for_exp",
         "`exp2` is called where another function is needed. Check which function is called."),
        ("axis=-1):", "axis=0):", "has_another_default",
         "The default of a parameter is `0`. Compare the defaults with the statement."),
        ("axis=-1):", "axis=-2):", "has_another_number",
         "`-2` stands where something else is needed in `softmax`. Check each number there."),
    ],
)  # fmt: skip
def test_a_sentence_says_what_was_changed(was, now, name, sentence):
    assert told(was, now) == (name, sentence)


AGREEMENT = Symptom(
    "agrees_with_reference", "Every entry equals.", is_law=False, failing=9, cases=9, raising=0
)
LAW = Symptom("rows", "Every row sums to one.", is_law=True, failing=2, cases=9, raising=0)
SHAPE = Symptom("has_the_right_shape", "The shape is right.", is_law=False, failing=1, cases=9, raising=0)
FEW = Symptom("agrees_with_reference", "Every entry equals.", is_law=False, failing=2, cases=9, raising=0)
RAISES = Symptom("agrees_with_reference", "Every entry equals.", False, 9, 9, 9, ("TypeError",))
SEEN = {
    "The result is wrong in every case that is tried. This does not hold: Every row sums to one.":
        Symptoms((AGREEMENT, LAW)),
    "The result is wrong in some cases, and right in others.":
        Symptoms((FEW,)),
    "In the cases of this kata, the result is wrong where `mask` is given, and right elsewhere.":
        Symptoms((FEW,), "`mask` is given"),
    "In some cases, the result has another shape than is asked for.":
        Symptoms((AGREEMENT, SHAPE)),
    "Every call that is tried raises TypeError.":
        Symptoms((RAISES,)),
    "This does not hold: Every row sums to one.":
        Symptoms((LAW,)),
}  # fmt: skip


@pytest.mark.parametrize("sentence", SEEN)
def test_a_sentence_begins_with_what_one_sees(sentence):
    assert seen(SEEN[sentence]) == sentence


def test_what_raises_at_once_needs_no_sentence():
    of_a_name = Symptom("agrees_with_reference", "", False, 2, 9, 2, ("AttributeError",))
    some = Symptom("agrees_with_reference", "", False, 2, 9, 2, ("ValueError",))
    found = [shows_at_once(Symptoms((one,))) for one in (RAISES, of_a_name, some, AGREEMENT, LAW)]
    assert found == [True, True, False, False, False]


def test_the_cases_that_are_wrong_are_told_by_one_property_of_all_of_them():
    def case(at, **arguments):
        return Case(at, arguments)

    given = [case(at, mask=np.ones((2, 2), bool), k=at) for at in range(4)]
    others = [case(at, mask=None, k=at) for at in range(4, 8)]
    check = Check("agrees_with_reference", "", 100, [*given, *others], lambda *_: None)

    def where(wrong):
        failures = [Failure(one, "failed", "", None, []) for one in wrong]
        return _where(CheckResult(check, failures, [*given, *others]))

    assert where(given) == "`mask` is given"
    assert where(others) == "`mask` is None"
    assert where(given[:3]) == ""
    assert where([*given, *others[:2]]) == ""


def test_what_few_cases_show_is_subtle():
    assert [level(Symptoms(one)) for one in ((AGREEMENT, LAW), (FEW,), (LAW,))] == [
        "ordinary",
        "subtle",
        "subtle",
    ]


# --- the command ------------------------------------------------------------------------------------


@pytest.fixture
def drafted(write, tmp_path):
    """`drafted(*options, **files)` runs the command on a course with these files; it returns the course and
    the result."""

    def run(*options, files=()):
        course = Course(write(tmp_path, {**DOUBLE, **dict(files)}))
        command = ["mistakes", "double", "--course", str(course.root), *options]
        return course, CliRunner().invoke(run_kata, command)

    return run


@pytest.mark.slow
def test_the_command_adds_drafts_that_the_checks_catch(drafted):
    course, result = drafted("--count", "3", files={EDITS: "[forgets_one]\nText.\n- x + x\n+ x\n"})
    assert result.exit_code == 0, result.output
    first, *_, last = result.stdout.splitlines()
    assert first.startswith("3 drafts of ")
    assert last == (
        "next: read the drafts at the end of solutions/attention/double/mistakes.edits, mend each sentence,"
        " and take the word `draft` away, or delete the entry; then kata verify double"
    )
    path = course.edits(course.kata_info("double"))
    assert path.read_text().startswith("[forgets_one]\nText.\n- x + x\n+ x\n\n[")
    assert len(read_drafts(path)) == 3


@pytest.mark.slow
def test_printing_writes_nothing(drafted):
    course, result = drafted("--count", "2", "--print")
    info = course.kata_info("double")
    assert len(parse_edits(result.stdout, course.edits(info))) == 2
    assert not course.edits(info).exists()


REFUSED = {
    "Mistakes are drafted from the reference, and `double` has none here: write"
    " solutions/attention/double/reference.py.": ("reference.py", None),
    "'(' was never closed": ("reference.py", "def double(\n"),
    "`hard` is no level": ("mistakes.edits", "[a] hard\n"),
    "double: the reference itself fails `agrees_with_reference`": ("reference.py", UNSTEADY),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_drafted_from_is_one_sentence_and_nothing_is_written(write, tmp_path, said):
    name, text = REFUSED[said]
    course = Course(write(tmp_path, {**DOUBLE, EDITS: "# None."}))
    file = course.folder(course.kata_info("double")) / name
    file.unlink()
    if text is not None:
        file.write_text(text)
    before = {path: path.read_bytes() for path in course.root.rglob("*.*") if path.is_file()}
    result = CliRunner().invoke(run_kata, ["mistakes", "double", "--course", str(course.root)])
    assert (result.exit_code, said in result.output) == (4, True), result.output
    assert len(result.output.splitlines()) == 1
    assert before.items() <= {path: path.read_bytes() for path in before}.items()


def test_questions_have_no_code_to_edit():
    result = CliRunner().invoke(run_kata, ["mistakes", "attention_questions", "--course", str(ROOT)])
    assert result.exit_code == 4
    assert result.output.endswith(
        "is answered with values, not with code: nothing of it can be changed by an edit. Write its mistakes"
        " as functions, in mistakes.py.\n"
    )


def test_a_huge_reference_is_refused_before_its_edits_are_listed(drafted):
    path = "solutions/attention/double/reference.py"
    more = "\n".join(f"N{number} = {number}" for number in range(3000))
    _, result = drafted(files={path: f"{textwrap.dedent(DOUBLE[path])}\n{more}\n"})
    assert result.exit_code == 4
    assert result.output.startswith("double: the reference has ")
    assert result.output.endswith(" characters; drafts are made of at most 20000.\n")
