"""Kinds of kata: what tells them apart, and that another one is one class."""

import pickle
import re
import textwrap
from pathlib import Path

import pytest

from grader.course.catalog import Course, load_file, read_kata_info
from grader.course.submission import parse
from grader.grading.grader import Grader
from grader.grading.session import grade_file
from grader.kata import Kata, KataError
from grader.kinds import KINDS, AskedConstant, Questions

write_files = load_file("conftest_of_the_tests", Path(__file__).parents[1] / "conftest.py").write_files

#: A program that is right, and one that is wrong: the student looks for a list on which they differ.
COURSE = {
    "exercises/inputs/largest.py": '''
        """Which list do two programs treat apart? Each returns the largest of the first `length` numbers."""

        STUDENT = ""
        NUMBERS = ...
    ''',
    "tests/katas/inputs/test_largest.py": """
        from grader.kata import Kata

        KATA = Kata(
            "largest",
            track="inputs",
            title="Where a maximum goes wrong",
            source="nowhere",
            hints=("Which numbers are below 0?",),
            kind_name="input",
            questions={"NUMBERS": ("NUMBERS tells the two programs apart.", "What do both begin with?")},
            numbers={"length": (2, 3)},
        )
    """,
    "solutions/inputs/largest/reference.py": """
        def NUMBERS(length, **_):
            return (-1,) * length

        def right(numbers):
            return max(numbers)

        def wrong(numbers):
            most = 0
            for number in numbers:
                most = max(most, number)
            return most
    """,
}


class Inputs(Questions):
    """An input is given that tells two functions of the reference apart."""

    task = "give an input"

    def complaint(self, kata: Kata, asked: AskedConstant) -> str:
        """Return why the value of a constant does not tell the functions apart."""
        _, nudge = kata.questions[asked.name]
        if isinstance(asked.value, str):
            return f"{asked.name} is the text {asked.value}. {nudge}"
        if not isinstance(asked.value, tuple) or len(asked.value) != len(asked.expected):
            return f"{asked.name} is no list of {len(asked.expected)} numbers. {nudge}"
        results = [function(asked.value) for function in (asked.reference().right, asked.reference().wrong)]
        return f"Both return {results[0]}. {nudge}" if results[0] == results[1] else ""


@pytest.fixture
def another_kind(tmp_path, monkeypatch):
    """A course with a kata of a third kind."""
    monkeypatch.setitem(KINDS, "input", Inputs())
    return Course(write_files(tmp_path, COURSE))


class TestAnotherKind:
    def test_its_katas_are_read_without_being_run(self, another_kind):
        info = another_kind.kata_info("largest")
        assert info.kind == another_kind.declaration(info).kind == Inputs()
        assert (info.entry_points, info.points, info.libraries) == (("NUMBERS",), 1, ("numpy",))

    @pytest.mark.parametrize(
        ("value", "status", "message"),
        [
            ("[-3, -2]", "passed", ""),
            ("(-3, -2)", "passed", ""),
            ("[-3, 2]", "failed", "Both return 2. What do both begin with?"),
            ("[-3, -2, -1]", "failed", "NUMBERS is no list of 2 numbers. What do both begin with?"),
            ('"-3 and x"', "failed", "NUMBERS is the text -3 and x. What do both begin with?"),
            ("object()", "failed", "NUMBERS is no list of 2 numbers. What do both begin with?"),
        ],
    )
    def test_they_are_judged_by_its_class(self, another_kind, numpy_source, value, status, message):
        text = f'STUDENT = ""\nNUMBERS = {value}\n'
        submission = parse(another_kind.kata_info("largest"), text, "largest.py")
        report = Grader(another_kind, {"numpy": numpy_source}).grade(submission).report
        assert (report.status, report.checks[0].message) == (status, message)
        assert (report.score, report.repairs) == (100 if status == "passed" else 0, ())
        shown = {"row 0": "length=2"}
        assert report.checks[0].counterexample == (None if status == "passed" else shown)

    def test_a_stub_is_not_started_in_its_words(self, another_kind, numpy_source):
        info = another_kind.kata_info("largest")
        grader = Grader(another_kind, {"numpy": numpy_source})
        message = grade_file(grader, info, another_kind.stub(info)).report.message
        assert re.sub(r"open \S+,", "open …,", message) == (
            "Not started yet: open …, read its docstring, give an input."
        )


class TestKindsByName:
    @pytest.mark.parametrize(("written", "name"), [('"input"', "input"), ("[1]", "[1]")])
    def test_a_kind_that_there_is_not_is_refused(self, tmp_path, written, name):
        path = tmp_path / "test_largest.py"
        path.write_text(
            textwrap.dedent(COURSE["tests/katas/inputs/test_largest.py"]).replace('"input"', written)
        )
        message = re.escape(f"no kind of kata called `{name}`; say functions or questions or inputs.")
        with pytest.raises(KataError, match=f"{message}$"):
            read_kata_info(path)

    def test_a_kind_is_itself_after_it_went_to_another_process(self):
        assert [pickle.loads(pickle.dumps(kind)) for kind in KINDS.values()] == [*KINDS.values()]
        assert len({*KINDS.values()}) == len(KINDS)
