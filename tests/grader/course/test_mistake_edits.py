"""Mistakes as edits of the reference: what a file says, what becomes of it, and each error with its line."""

import re
from pathlib import Path

import pytest

from dojo_authoring.verify import record, static_checks, time_limit
from dojo_authoring.verify.judged import Records
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions, standalone_sources
from grader.course.mistake_edits import read_drafts, read_edits
from grader.course.submission import Submission
from grader.diagnosis.known_mistakes import JoinedMistakes, MistakeOfCourse
from grader.errors import KataError
from grader.grading.grader import Grader

from ...conftest import DOUBLE

COURSE = Course(Path(__file__).resolve().parents[3])
EDITS = "solutions/attention/double/mistakes.edits"
FUNCTIONS = "solutions/attention/double/mistakes.py"
REFERENCE = '''"""Twice as much."""
import numpy as np

LIMIT = 3


def double(x, axis=-1):
    """Return it."""
    if isinstance(x, str):
        raise ValueError("text")
    total = x + x  # [rows, columns]
    return total  # [rows, columns]


class Box:
    def put(self, x):
        self.x = x
        return self
'''
HEAD = "[triples] subtle\nOne x too many\nwas added.\n"


@pytest.fixture
def changed(tmp_path):
    """`changed(edits)` returns the reference with the edits of one mistake."""

    def apply(edits, head=HEAD):
        path = tmp_path / "mistakes.edits"
        path.write_text(head + edits)
        (mistake,) = read_edits(path)
        return mistake.applied(REFERENCE)

    return apply


def test_a_mistake_has_a_name_a_level_a_sentence_and_edits(tmp_path):
    path = tmp_path / "mistakes.edits"
    path.write_text(
        f"# A comment.\n\n{HEAD}- x + x\n+ 3 * x\n\n[other]\n-inf is text.\n- 3\n+ 4\n\n+ A = 1\n"
    )
    first, second = read_edits(path)
    assert (first.name, first.level, first.line) == ("triples", "subtle", 3)
    assert first.text == "One x too many was added."
    assert [(edit.old, edit.new, edit.line) for edit in first.edits] == [(["x + x"], ["3 * x"], 6)]
    assert (second.level, second.text, len(second.edits)) == ("ordinary", "-inf is text.", 2)


def test_a_part_of_a_line_is_replaced_and_its_comment_stays(changed):
    assert changed("- x + x\n+ 3 * x\n") == REFERENCE.replace("x + x", "3 * x")


def test_further_lines_have_the_indentation_of_the_first(changed):
    found = changed("- total = x + x\n- return total\n+ if len(x):\n+     x = -x\n+ return x\n")
    assert "    if len(x):\n        x = -x\n    return x  # [rows, columns]\n\n\nclass Box" in found


def test_lines_that_are_replaced_by_nothing_are_gone(changed):
    found = changed('- if isinstance(x, str):\n-     raise ValueError("text")\n')
    assert '    """Return it."""\n    total = x + x' in found


def test_several_edits_of_one_mistake_apply_to_the_reference_as_it_is(changed):
    found = changed("- total = x\n+ total = -x\n- return total\n+ return total + x + x\n")
    assert "total = -x + x" in found
    assert "return total + x + x" in found


def test_a_whole_function_takes_the_place_of_the_one_of_its_name(changed):
    found = changed("+ SEEN = {}\n+\n+ def double(x, axis=-1):\n+     return SEEN.setdefault(0, x)\n")
    assert "SEEN = {}\n\ndef double(x, axis=-1):\n    return SEEN.setdefault(0, x)\n\n\nclass Box" in found
    assert found.count("def double") == 1


def test_a_whole_method_takes_the_place_of_the_one_of_its_name(changed):
    found = changed("+ def put(self, x):\n+     return x\n")
    assert found.endswith("class Box:\n    def put(self, x):\n        return x\n")


def test_other_lines_are_added_at_the_end(changed):
    found = changed("- x + x\n+ SEEN.setdefault(0, x)\n\n+ SEEN = {}\n")
    assert found.endswith("\n\nSEEN = {}\n")


@pytest.mark.parametrize("heading", ["[triples] draft subtle", "[triples] subtle draft"])
def test_a_draft_is_no_mistake_of_the_file(tmp_path, heading):
    path = tmp_path / "mistakes.edits"
    path.write_text(f"{heading}\nText.\n- x\n+ y\n\n[other]\nText.\n- x\n+ y\n")
    assert [mistake.name for mistake in read_edits(path)] == ["other"]
    (draft,) = read_drafts(path)
    assert (draft.name, draft.level, draft.is_draft) == ("triples", "subtle", True)


PARSING = {
    "x = 1\n[triples]\nText.\n- a\n+ b":
        "1: a mistake begins with its name: [forgets_to_scale].",
    "[triples, twice]\nText.":
        "1: `[triples, twice]` is no name of a mistake; write [forgets_to_scale].",
    "[3x]\nText.":
        "1: `[3x]` is no name of a mistake; write [forgets_to_scale].",
    "[_own]\nText.":
        "1: `[_own]` is no name of a mistake; write [forgets_to_scale].",
    "[triples] hard\nText.":
        "1: `hard` is no level; write crude, ordinary or subtle.",
    "[triples]\n- x\n+ y":
        "1: `triples`: it has no sentence; say symptom, cause and what to check.",
    "\n[triples]\nText.":
        "2: `triples`: it has no edits; write `- ` before what goes and `+ ` before what comes.",
    "[triples] draft hard\nText.":
        "1: `hard` is no level; write crude, ordinary or subtle.",
    "[triples] subtle crude draft\nText.":
        "1: `subtle crude draft` is too much; write one level, and `draft` if it is one.",
    "[triples] draft draft\nText.":
        "1: `draft` is no level; write crude, ordinary or subtle.",
    "[triples]\nText.\n- x\n+ y\n\n[triples] draft\nText.":
        "6: `triples`: the name is taken by the mistake in mistakes.edits:1; rename one.",
    "[triples]\nText.\n- x\n+ y\nMore.":
        "5: `triples`: the sentence stands above the edits; lines of an edit begin with `- ` or `+ `.",
    "[a]\nText.\n- x\n+ y\n\n[a]\nText.":
        "6: `a`: the name is taken by the mistake in mistakes.edits:1; rename one.",
}  # fmt: skip


@pytest.mark.parametrize("text", PARSING)
def test_a_file_that_cannot_be_read_is_one_sentence_with_the_line(tmp_path, text):
    path = tmp_path / "mistakes.edits"
    path.write_text(text)
    with pytest.raises(KataError, match=f"^{re.escape(f'mistakes.edits:{PARSING[text]}')}$"):
        read_edits(path)


APPLYING = {
    "- x - x\n+ y\n":
        "4: `triples`: the edit no longer applies: `x - x` is not in the reference.",
    "- total\n+ y\n":
        "4: `triples`: the edit no longer applies: `total` is in the reference 2 times; write more of it.",
    "- total = x + x\n-     return total\n+ y\n":
        "4: `triples`: the edit no longer applies: `total = x + x …` is not in the reference.",
    "- x + x\n+ y\n- total = x +\n+ z\n":
        "4: `triples`: this edit changes what another one has changed; write them as one.",
    "- x + x\n+ x +\n":
        "1: `triples`: the edits give no Python: invalid syntax in line 11 of the changed reference.",
    "- x + x\n+ (x + x)\n":
        "1: `triples`: the edits change nothing.",
    "+ def double(x, axis=-1):\n+ return x\n":
        "5: `triples`: `+` without `-` is a whole function, and this is none: "
        "expected an indented block after function definition on line 1.",
    "+ def doubles(x):\n+     return x\n":
        "4: `triples`: `+` without `-` names no function of the reference.",
}  # fmt: skip


@pytest.mark.parametrize("edits", APPLYING)
def test_an_edit_that_does_not_apply_is_one_sentence_with_the_line(changed, edits):
    with pytest.raises(KataError, match=f"^{re.escape(f'mistakes.edits:{APPLYING[edits]}')}$"):
        changed(edits)


TRIPLES = "[triples] crude\nThe result is three times x.\n- x + x\n+ 3 * x\n"


@pytest.fixture
def course(write, tmp_path):
    """`course(edits)` returns the tiny course with a file of edits, and of `functions` beside it."""

    def make(edits=TRIPLES, functions=None, reference="x + x"):
        files = {**DOUBLE, EDITS: edits}
        files["solutions/attention/double/reference.py"] = DOUBLE[
            "solutions/attention/double/reference.py"
        ].replace("x + x", reference)
        del files[FUNCTIONS]
        return Course(write(tmp_path, files | ({FUNCTIONS: functions} if functions else {})))

    return make


OWN = '''
    def takes_the_size(x):
        """Negative numbers come out positive."""
        return abs(x) * 2
'''


def test_both_forms_live_side_by_side(course):
    made = course(functions=OWN)
    answers = KnownSolutions(made, made.kata_info("double"), "mistakes")
    assert answers.names == ["triples", "takes_the_size"]
    assert [answers.level(name) for name in answers.names] == ["crude", "ordinary"]
    assert [answers.text(name) for name in answers.names] == [
        "The result is three times x.",
        "Negative numbers come out positive.",
    ]
    assert [answers.fresh(name).double(-1) for name in answers.names] == [-3, 2]
    places = [(path.name, line) for path, line in map(answers.place, answers.names)]
    assert places == [("mistakes.edits", 1), ("mistakes.py", 1)]


def test_a_name_in_both_files_is_an_error_with_both_places(course):
    both = course(functions=OWN.replace("takes_the_size", "triples"))
    info = both.kata_info("double")
    said = "mistakes.edits:1: `triples`: the name is taken by the mistake in mistakes.py:1; rename one."
    with pytest.raises(KataError, match=f"^{re.escape(said)}$"):
        KnownSolutions(both, info, "mistakes")
    assert said in static_checks.gaps_of_answers(both, info)


def test_a_changed_reference_breaks_its_edits_loudly(course):
    both = course(reference="np.add(x, x)")
    info = both.kata_info("double")
    said = "mistakes.edits:3: `triples`: the edit no longer applies: `x + x` is not in the reference."
    assert static_checks.gaps_of_answers(both, info) == [said]
    with pytest.raises(KataError, match=f"^{re.escape(said)}$"):
        standalone_sources(both, info, "mistakes")


def test_a_mistake_may_not_be_called_like_an_entry_point(course):
    both = course(TRIPLES.replace("triples", "double"))
    (gap,) = static_checks.gaps_of_answers(both, both.kata_info("double"))
    assert gap.endswith(
        "mistakes.edits:1: `double` is the name of an entry point; name the mistake by what goes wrong."
    )


def test_an_entry_point_that_an_edit_takes_away_is_named(course):
    made = course("[a]\nText.\n- def double(\n+ def other(\n")
    said = "mistakes.edits:1: `a`: the changed reference has no `double` any more."
    with pytest.raises(KataError, match=f"^{re.escape(said)}$"):
        KnownSolutions(made, made.kata_info("double"), "mistakes").fresh("a")


CALLS = """[is_one_more]
One is added to the right answer.
+ from reference import double as _double
+
+ def double(x):
+     return _double(x) + 1
"""


def test_a_whole_function_may_call_the_reference(course):
    made = course(CALLS)
    answers = KnownSolutions(made, made.kata_info("double"), "mistakes")
    assert answers.fresh("is_one_more").double(2) == 5
    module = {}
    exec(answers.source_of("is_one_more"), module)
    assert module["double"](2) == 5


def test_a_file_of_its_own_is_the_changed_reference(course):
    made = course()
    (source,) = standalone_sources(made, made.kata_info("double"), "mistakes").values()
    reference = made.solution(made.kata_info("double"), "reference").read_text()
    assert source == reference.replace("x + x", "3 * x")


def test_an_edit_of_the_course_keeps_nothing_from_call_to_call_of_another_load(course):
    made = course("[keeps]\nText.\n- x + x\n+ SEEN.setdefault(0, x)\n\n+ SEEN = {}\n")
    answers = KnownSolutions(made, made.kata_info("double"), "mistakes")
    first = answers.fresh("keeps")
    assert [first.double(1), first.double(2), answers.fresh("keeps").double(3)] == [1, 1, 3]


def test_an_error_in_an_edit_has_its_line_in_the_changed_reference(course):
    made = course("[asks]\nText.\n- x + x\n+ asb(x)\n")
    prepared = Grader(made, {}).prepare(made.kata_info("double"))
    answers = KnownSolutions(made, prepared.info, "mistakes")
    mistake = MistakeOfCourse("asks", JoinedMistakes(answers, prepared))
    check = prepared.checks[0]
    assert mistake.outcome(check, check.cases[0]).status == "error"
    assert answers.file_of("asks").splitlines()[3].strip() == "return asb(x)"


THRICE = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return 3 * x\n"


def test_grade_names_a_mistake_that_is_an_edit(course, numpy_source):
    made = course()
    submission = Submission(made.kata_info("double"), THRICE, "double.py")
    report = Grader(made, {"numpy": numpy_source}).grade(submission).report
    assert {check.mistake.id for check in report.checks if check.status == "failed"} == {"triples"}


def test_grade_says_which_edit_no_longer_applies(course, numpy_source):
    made = course(TRIPLES.replace("- x + x", "- x * 2"))
    submission = Submission(made.kata_info("double"), THRICE, "double.py")
    said = re.escape(
        "mistakes.edits:3: `triples`: the edit no longer applies: `x * 2` is not in the reference."
    )
    with pytest.raises(KataError, match=f"^{said}$"):
        Grader(made, {"numpy": numpy_source}).grade(submission)


def test_what_was_judged_is_void_once_an_edit_changes(course):
    made = course()
    info = made.kata_info("double")
    records, verified = Records(made, info, SEED), record.digest_of(made, info)
    records.note_mistakes([])
    records.save()
    assert Records(made, info, SEED).unchanged_mistakes == []
    made.edits(info).write_text(TRIPLES.replace("3 * x", "4 * x"))
    assert Records(made, info, SEED).unchanged_mistakes is None
    assert record.digest_of(made, info) != verified


def test_an_edit_that_never_ends_is_named_with_its_line(course, monkeypatch):
    made = course("\n# A comment.\n\n[waits]\nText.\n- return x + x\n+ while True:\n+     x = x + 0\n")
    info = made.kata_info("double")
    answer = KnownSolutions(made, info, "mistakes").fresh("waits")
    monkeypatch.setattr(time_limit, "LONGEST_STEP", 0.1)
    said = pytest.raises(time_limit.TookTooLong, match=r"mistakes\.edits:3: this has run for 0\.1 seconds")
    with said, time_limit.limited_time(made, info):
        answer.double(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [i.name for i in COURSE.katas.values() if COURSE.edits(i).is_file()])
def test_every_edit_of_the_course_applies(name):
    info = COURSE.kata_info(name)
    assert static_checks.gaps_of_answers(COURSE, info) == []
