"""Written answers on a page of questions: what `grade` says of them, and how a person grades them."""

import ast
import csv
import json
import re
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from dojo_classroom.overrides import Override
from dojo_classroom.policy import Late, Policy, Terms
from dojo_classroom.times import HandedIn
from grader.cli.kata import kata
from grader.course.catalog import Course, KataError, read_kata_info
from grader.course.submission import parse, read_submission
from grader.formats import terminal
from grader.grading.grader import Grader
from grader.reading.parts import written_answer
from grader.report import CheckReport, KataReport, Report, from_json, to_json
from grader.texts.bounds import bounded

DECLARATION = """
    from grader.kata import Kata

    KATA = Kata(
        "sums",
        track="concepts",
        title="Sums, and why",
        source="nowhere",
        hints=("Count.", "Count on your fingers.", "Add one more."),
        questions={"NEXT": ("The next number is one more.", "Which number follows?")},
        numbers={"n": (3, 4)},
        written={
            "WHY": (3, "=1: names Peano.\\n2: says what a successor is."),
            "WHAT_FOR": (0.5, "Any use."),
        },
    )
"""
FILES = {
    "tests/katas/concepts/test_sums.py": DECLARATION,
    "tests/katas/path.toml": '[path]\nconcepts = ["sums"]\n[katas.sums]\nminutes = 5\ndifficulty = 1\n',
    "solutions/concepts/sums/reference.py": "def NEXT(n, **_):\n    return n + 1\n",
    "solutions/concepts/sums/mistakes.py": '''
        class stays:
            """The number has not moved on."""

            def NEXT(n, **_):
                return n
    ''',
    "exercises/concepts/sums.py": '''
        """Say which number follows, and why."""

        STUDENT = ""
        ROW = sum(STUDENT.encode()) % 2

        # The number after n.
        NEXT = ...

        # Why is there always one more? Two sentences.
        WHY = ...

        # What are numbers for? One sentence.
        WHAT_FOR = ...
    ''',
}
WORDS = '=Every number has a successor,\nand "no" last one. <b>'


@pytest.fixture
def course(tmp_path, write):
    return Course(write(tmp_path / "course", FILES))


@pytest.fixture
def grade_page(course, numpy_source, tmp_path):
    judging = Grader(course, {"numpy": numpy_source})

    def grade(**answers):
        file = tmp_path / "sums.py"
        file.write_text(answered(course, **answers))
        return judging.grade(read_submission(course.kata_info("sums"), file)).report

    return grade


def answered(course, **answers):
    """The stub with these answers."""
    text = (course.root / "exercises/concepts/sums.py").read_text()
    for name, value in answers.items():
        text = re.sub(rf"(?m)^{name} = \.\.\.$", lambda _, n=name, v=value: f"{n} = {v!r}", text)
    return text


class TestOnTheTerminal:
    def test_a_written_answer_is_neither_right_nor_wrong_and_gives_no_points(self, grade_page):
        report = grade_page(NEXT=4, WHY=WORDS)
        assert (report.status, report.score, report.max_score) == ("passed", 100, 450)
        assert [(check.name, check.status, check.score) for check in report.checks[1:]] == [
            ("WHY", "skipped", 0),
            ("WHAT_FOR", "skipped", 0),
        ]
        assert terminal.render_kata(report) == (
            "sums  1 / 4.5   ✓ it holds\n"
            "    note        WHY is written: graded by hand, up to 3 points.\n"
            "    note        WHAT_FOR is empty: write a text, which is graded by hand, up to\n"
            "                0.5 points.\n"
        )

    def test_it_helps_nobody_to_pass_and_hinders_nobody(self, grade_page):
        assert grade_page(NEXT=3, WHY=WORDS, WHAT_FOR="Counting.").status == "failed"
        assert grade_page(NEXT=4).status == "passed"
        assert "1 of 1 checks fail" in terminal.render_kata(grade_page(NEXT=3, WHY=WORDS))

    def test_a_page_with_nothing_but_a_written_answer_is_begun(self, course):
        info = course.kata_info("sums")
        assert not parse(info, answered(course), "sums.py").begun
        assert parse(info, answered(course, WHY=WORDS), "sums.py").begun

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            ("WHY = ' so '", "so"),
            ("WHY = ('so '\n 'it is')", "so it is"),
            ("WHY = ...\nWHY = 'so'", "so"),
            ("A = WHY = 'so'", "so"),
            ("WHY: str = 'so'", "so"),
            ("WHY = 'so'\nWHY += ' it is'", "WHY = 'so'\nWHY += ' it is'"),
            ("if A:\n    WHY = 'so'", "if A:\n    WHY = 'so'"),
            ("WHY = open('/etc/passwd').read()", "WHY = open('/etc/passwd').read()"),
            ("WHY = 'a' + 'b'", "WHY = 'a' + 'b'"),
            ("WHY = f'{1}'", "WHY = f'{1}'"),
            ("WHY = ...", ""),
            ("print(WHY)", ""),
            ("WHY = '''\n \n'''", ""),
            ("WHERE = 'so'", ""),
        ],
    )
    def test_the_words_are_those_of_the_file_which_is_not_run(self, source, words):
        assert written_answer(ast.parse(source), source, "WHY") == words

    def test_long_words_are_cut_and_survive_a_saved_report(self, grade_page):
        report = grade_page(NEXT=4, WHY="so \x1b[31m" * 10_000)
        words = report.checks[1].words
        assert len(words) < 4_200
        assert "characters left out" in words
        assert "\x1b" not in words
        saved = json.loads(json.dumps(to_json(Report((report,)))))
        assert from_json(saved).katas[0].checks == report.checks

    def test_a_report_that_is_too_long_keeps_the_words(self):
        long = [CheckReport(f"c{n}", "C.", "failed", 0, 100, "<" * 4_000) for n in range(62)]
        words = CheckReport("WHY", "Why.", "skipped", 0, 300, "It is written.", words="<" * 4_000)
        kept = bounded(KataReport("sums", "concepts", "failed", 6500, checks=(*long, words))).checks[-1]
        assert kept.words.startswith("<" * 400)


class TestTheDeclaration:
    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ('(0.5, "Any use.")', "0.5", "must be whole or half points and a rubric"),
            ('(0.5, "Any use.")', '(0.3, "")', "written={'WHAT_FOR': …} must be whole or half points"),
            ('(0.5, "Any use.")', '(-1, "")', "a rubric: {'WHAT_FOR': (3, \"…\")}."),
            ('(0.5, "Any use.")', '("3", "")', "must be whole or half points"),
            ('"WHAT_FOR"', '"NEXT"', "`NEXT` is a question and a written answer; name one of them anew."),
            ("questions=", "needs=(), hint_for=", "written answers stand on a page of questions; add a"),
        ],
    )
    def test_what_is_no_written_answer_is_refused(self, course, old, new, told):
        path = course.root / "tests/katas/concepts/test_sums.py"
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(KataError) as refused:
            read_kata_info(path)
        assert told in str(refused.value)

    def test_a_set_of_names_is_no_dict(self, write, tmp_path):
        before, _, _ = DECLARATION.partition("written=")
        write(tmp_path, {"test_sums.py": before + 'written={"WHY"},\n    )'})
        with pytest.raises(
            KataError, match=r'^test_sums.py: written must be a dict: \{"WHY": \(3, "…"\)\}\.$'
        ):
            read_kata_info(tmp_path / "test_sums.py")

    def test_the_points_are_those_of_the_questions_and_of_the_answers(self, course):
        info = course.kata_info("sums")
        assert info.max_score == 450 == round(100 * course.declaration(info).points)

    def test_verify_asks_for_its_line_in_the_stub_and_for_no_reference(self, course):
        page = course.root / "exercises/concepts/sums.py"
        page.write_text(page.read_text().replace("WHY = ...", ""))
        told = CliRunner().invoke(kata, ["verify", "sums", "--course", str(course.root)]).stdout
        assert "the question `WHY` has no line `… = ...`; write it." in " ".join(told.split())
        assert "is refused" not in told
        assert "has no function" not in told


@pytest.fixture
def classroom(course, tmp_path):
    """A class: Ada and Bob wrote, Cyd left it empty, Dee handed nothing in. `run(words)` runs a command."""
    for name, answers in {
        "ada": {"NEXT": 4, "WHY": WORDS},
        "bob": {"NEXT": 3, "WHY": "So it is.", "WHAT_FOR": "=2+3"},
        "cyd": {"NEXT": 4},
    }.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "sums.py").write_text(answered(course, **answers))
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\ncyd,Cyd\ndee,Dee\n")

    def run(*words, code=0):
        place = ["--output", str(tmp_path / "grades"), "--course", str(course.root)]
        done = CliRunner().invoke(kata, [*map(str, words), *place])
        assert done.exit_code == code, done.output
        return done.stderr if code else done.stdout

    def grade():
        words = ("--roster", tmp_path / "roster.csv", "--graders", "1")
        return run("grade", tmp_path / "class", *words)

    run.grade = grade
    return run


def rows(path):
    return list(csv.DictReader(path.open(encoding="utf-8", newline="")))


def cells(path):
    return {row["ID number"]: (row["sums"], row["Total"]) for row in rows(path)}


@pytest.mark.slow
class TestInAClass:
    def test_the_words_wait_in_by_hand_and_their_cells_are_blank(self, classroom, tmp_path):
        assert "3 written answers to grade: by_hand.csv has the words." in classroom.grade()
        grades = tmp_path / "grades"
        written = rows(grades / "by_hand.csv")
        assert [(row["Student"], row["Kata"], row["Points"], row["Possible"]) for row in written] == [
            ("ada", "sums.WHY", "", "3"),
            ("bob", "sums.WHY", "", "3"),
            ("bob", "sums.WHAT_FOR", "", "0.5"),
        ]
        assert written[0]["Words"] == '\'=Every number has a successor, and "no" last one. <b>'
        assert written[0]["Rubric"] == "'=1: names Peano. 2: says what a successor is."
        assert (written[2]["Words"], written[2]["Why"]) == ("'=2+3", "Graded by hand.")
        blank = {"ada": ("", ""), "bob": ("", ""), "cyd": ("1", "1"), "dee": ("0", "0")}
        assert cells(grades / "moodle.csv") == blank
        page = (grades / "students" / "ada.html").read_text()
        assert "Written, and not graded yet: sums.WHY. The score above is not final." in page
        assert "3 written answers to grade" in (grades / "class.html").read_text()
        line = json.loads((grades / "reports.jsonl").read_text().splitlines()[1])
        assert line["ungraded"] == ["sums.WHY", "sums.WHAT_FOR"]
        assert "Peano" not in "".join(file.read_text() for file in (grades / "students").iterdir())

    def test_the_points_are_set_one_by_one_or_in_that_file(self, classroom, tmp_path):
        classroom.grade()
        grades, table = tmp_path / "grades", tmp_path / "filled.csv"
        said = classroom("override", "ada", "sums.WHY", "2.5", "--why", "No Peano.", "--by", "Roe")
        assert said.startswith("ada  sums.WHY  Set to 2.5 points by Roe on ")
        text = (grades / "by_hand.csv").read_text()
        table.write_text(text.replace("bob,Bob,sums.WHY,Graded by hand.,,", "bob,Bob,sums.WHY,Good.,3,"))
        assert classroom("override", "--csv", table, "--by", "Roe") == (
            "1 override set, 2 rows without points left out. Run `kata grade` again to write it out.\n"
        )
        assert "1 written answer to grade" in classroom.grade()
        assert cells(grades / "moodle.csv")["ada"] == ("3.5", "3.5")
        assert cells(grades / "moodle.csv")["bob"] == ("", "")
        page = (grades / "students" / "ada.html").read_text()
        assert re.search(r"sums: 3\.5 <small class=\"quiet\">judged 1</small>", page)
        assert "WHY: Set to 2.5 points by Roe" in page
        classroom("override", "bob", "sums.WHAT_FOR", "0", "--why", "Of no use.", "--by", "Roe")
        assert "to grade" not in classroom.grade()
        assert cells(grades / "moodle.csv")["bob"] == ("3", "3")
        assert rows(grades / "by_hand.csv") == []

    def test_points_stay_when_the_numbers_are_judged_again(self, classroom, course, tmp_path):
        classroom.grade()
        classroom("override", "bob", "sums.WHY", "1", "--why", "Half.", "--by", "Roe")
        classroom("override", "bob", "sums.WHAT_FOR", "0.5", "--why", "Yes.", "--by", "Roe")
        better = answered(course, NEXT=4, WHY="So it is.", WHAT_FOR="=2+3")
        (tmp_path / "class" / "bob" / "sums.py").write_text(better)
        classroom.grade()
        assert cells(tmp_path / "grades" / "moodle.csv")["bob"] == ("2.5", "2.5")
        classroom("override", "bob", "sums", "4", "--why", "As a whole.", "--by", "Roe")
        classroom.grade()
        assert cells(tmp_path / "grades" / "moodle.csv")["bob"] == ("4", "4")
        classroom("override", "bob", "sums", "--remove")
        classroom("override", "bob", "sums.WHY", "--remove")
        assert "2 written answers to grade" in classroom.grade()
        assert cells(tmp_path / "grades" / "moodle.csv")["bob"] == ("", "")

    def test_late_work_loses_points_of_its_written_answers_too(self):
        words = CheckReport("WHY", "Why.", "skipped", 0, 300, words="So.")
        report = KataReport(
            "sums", "concepts", "passed", 400, checks=(CheckReport("a", "A.", "passed", 100, 100), words)
        )
        due = datetime(2026, 11, 20, tzinfo=UTC)
        terms = Terms(late=Late(per_day=25), deadlines={"all": due})
        when = {"sums": HandedIn(due + timedelta(hours=1), "the commit")}
        why = Override("ada", "sums.WHY", 250, "Roe", "Good.", "2026-11-22")
        whole = Override("ada", "sums", 50, "Roe", "Copied.", "2026-11-22")
        policy = Policy(terms, {"concepts": ["sums"]})

        def mark(*overrides):
            given = {one.kata: one for one in overrides}
            return policy.marks("ada", [report], when, given, due + timedelta(days=9)).katas["sums"]

        assert (mark().points, mark().ungraded) == (0, ("WHY",))
        assert (mark(why).points, mark(why).judged, mark(why).ungraded) == (250, 100, ())
        assert mark(why).reasons[0] == "WHY: Set to 2.5 points by Roe on 2026-11-22: Good."
        assert mark(why).reasons[1].endswith("1 day late, 1 point less.")
        assert (mark(why, whole).points, mark(why, whole).ungraded) == (50, ())

    def test_answers_and_points_that_do_not_exist_are_refused(self, classroom, tmp_path):
        classroom.grade()
        assert classroom("override", "ada", "sums.HOW", "1", "--why", "x", code=4) == (
            "sums has no written answer HOW; it has WHY, WHAT_FOR.\n"
        )
        told = classroom("override", "ada", "sums.WHY", "3.5", "--why", "x", code=4)
        assert told == "3.5 points for sums.WHY: say 0 to 3.\n"
        shutil.rmtree(tmp_path / "class" / "cyd")
        classroom("override", "cyd", "sums.WHY", "2", "--why", "told me", "--by", "Roe")
        classroom.grade()
        assert cells(tmp_path / "grades" / "moodle.csv")["cyd"] == ("2", "2")
