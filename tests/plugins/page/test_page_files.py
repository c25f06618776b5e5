"""The file of a kata as an editor holds it, the versions that were judged, and what is underlined."""

import hashlib
import os

import pytest

from dojo_page import questions
from dojo_page.files import ChangedOutside, NotWritten, read_edited, write_edited
from dojo_page.history import MOST_VERSIONS, History
from dojo_page.marks import marks_of
from dojo_page.protocol import LONGEST_TEXT, Mark, Question
from grader.course.submission import SubmissionRejected
from grader.report import CheckReport, KataReport, Mistake, Place, Repair


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "double.py"
    path.write_bytes(b"x = 1\n")
    return path


def test_what_is_typed_is_in_the_file_once_it_is_saved(file):
    base = read_edited(file).digest
    written = write_edited(file, "x = 2\n", base)
    assert file.read_text() == "x = 2\n"
    assert written == read_edited(file)
    assert written.digest != base


def test_nothing_is_written_over_what_another_program_wrote(file):
    base = read_edited(file).digest
    file.write_text("x = 3\n")
    with pytest.raises(ChangedOutside) as changed:
        write_edited(file, "x = 2\n", base)
    assert (changed.value.found.text, file.read_text()) == ("x = 3\n", "x = 3\n")
    write_edited(file, "x = 2\n", changed.value.found.digest)
    assert file.read_text() == "x = 2\n"
    file.write_text("x = 4\n")
    write_edited(file, "x = 2\n", None)  # whatever it holds
    assert file.read_text() == "x = 2\n"


def test_a_tab_of_another_server_saves_what_it_has_by_the_digest_alone(file):
    base = read_edited(file).digest
    for text in ("x = 2\n", "x = 3\n", "x = 1\n"):
        base = write_edited(file, text, base).digest
    assert file.read_text() == "x = 1\n"


def test_what_the_file_holds_already_is_no_conflict(file):
    file.write_text("x = 12\n")  # the other program writes the same: there is nothing to ask
    assert write_edited(file, "x = 12\n", "of an older text").digest == read_edited(file).digest


def test_other_line_ends_alone_change_no_text(file):
    file.write_bytes(b"x = 1\r\n")
    write_edited(file, "x = 1\n", "of an older text")
    assert file.read_bytes() == b"x = 1\r\n"


def test_line_ends_stay_as_they_were(file):
    file.write_bytes(b"x = 1\r\ny = 2\r\n")
    found = read_edited(file)
    assert found.text == "x = 1\ny = 2\n"
    write_edited(file, found.text + "z = 3\n", found.digest)
    assert file.read_bytes() == b"x = 1\r\ny = 2\r\nz = 3\r\n"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda path: path.write_bytes(b"\xff\xfe"),
            "is not encoded as UTF-8; save it as UTF-8 to edit it here.",
        ),
        (
            lambda path: path.write_text("x" * (LONGEST_TEXT + 1)),
            "has more than 131072 characters; edit it elsewhere.",
        ),
        (lambda path: path.mkdir(), "is a folder."),
        (lambda path: path.symlink_to("/etc/passwd"), "is a link."),
        (os.mkfifo, "is no regular file."),
    ],
)
def test_what_cannot_be_edited_is_said_and_stays(tmp_path, make, problem):
    path = tmp_path / "double.py"
    make(path)
    found = read_edited(path)
    assert found.problem == f"double.py {problem}"
    assert (found.text, found.digest, found.is_gone) == ("", "", False)
    before = os.lstat(path)
    for base in ("", None):
        with pytest.raises(NotWritten, match=r"double\.py "):
            write_edited(path, "x = 1\n", base)  # what is typed into the empty editor replaces nothing
    assert os.lstat(path) == before


def test_a_file_that_is_gone_is_written_again(file):
    base = read_edited(file).digest
    file.unlink()
    assert read_edited(file).is_gone
    write_edited(file, "x = 2\n", base)
    assert file.read_text() == "x = 2\n"


def test_a_file_that_has_come_is_not_written_over(tmp_path):
    path = tmp_path / "double.py"
    base = read_edited(path).digest
    path.write_text("")
    with pytest.raises(ChangedOutside):
        write_edited(path, "x = 1\n", base)


def test_a_folder_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "there")
    with pytest.raises(NotWritten, match=r"here is a link, so double\.py is not written\."):
        write_edited(tmp_path / "here" / "double.py", "x = 1\n", "")
    assert not [*(tmp_path / "there").iterdir()]


def test_half_a_character_is_written_as_another_one(file):
    assert write_edited(file, "# \ud800\n", None).text == "# ?\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_said(file):
    file.parent.chmod(0o500)
    try:
        with pytest.raises(NotWritten, match=r"double\.py cannot be written: Permission denied\."):
            write_edited(file, "x = 2\n", None)
    finally:
        file.parent.chmod(0o700)


# --- what was judged before ---


def judged(source, score=100):
    digest = hashlib.sha256(source.encode()).hexdigest()
    check = CheckReport("a", "A.", "passed", score, 100)
    return KataReport("double", "attention", "failed", 1000, checks=(check,), digest=digest)


def test_each_judged_version_is_kept_once_and_old_ones_go(tmp_path):
    history = History(tmp_path, "double")
    history.add(judged("x = 1"), "x = 1")
    history.add(judged("x = 1"), "x = 1")
    history.add(judged("x = 1"), "x = 2")  # saved while it was judged
    assert [(one.source, one.score, one.max_score) for one in history.versions()] == [("x = 1", 100, 1000)]
    for number in range(MOST_VERSIONS + 5):
        history.add(judged(str(number)), str(number))
    assert [one.source for one in history.versions()] == [
        str(number) for number in range(5, MOST_VERSIONS + 5)
    ]


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"{", b'[{"when": "x"}]', b"\xff", b'{"when": 1}', b"null", b"[" * 100_000]
)
def test_a_damaged_history_is_empty_and_kept_under_another_name(tmp_path, data):
    file = tmp_path / "history" / "double.json"
    file.parent.mkdir()
    file.write_bytes(data)
    history = History(tmp_path, "double")
    assert history.versions() == []
    [damaged] = history.damaged()
    assert damaged.read_bytes() == data


# --- what the editor underlines ---


def test_places_of_a_report_are_underlined_and_explained():
    text = "def f(x):\n    return g(x)\n"
    place = Place(2, "    return g(x)", 11, 15)
    failed = CheckReport("a", "A.", "error", 0, 100, "NameError: no g", place=place)
    report = KataReport("f", "a", "failed", 100, checks=(failed,))
    assert marks_of(report, text) == (Mark(2, (11, 15), "NameError: no g", "raised"),)
    assert text.split("\n")[1][11:15] == "g(x)"


def test_what_a_search_has_found_is_underlined_too():
    repair = Repair("an axis", Place(1, "x = y.sum(0)", 10, 11))
    report = KataReport("f", "a", "failed", 100, repairs=(repair,))
    told = "Changing only this spot makes every check pass: an axis."
    assert marks_of(report, "x = y.sum(0)") == (Mark(1, (10, 11), told, "found"),)


def test_a_line_without_columns_is_underlined_whole_and_one_that_is_gone_is_not():
    places = [Place(1, "  x"), Place(9, "y"), Place(2, "")]
    checks = tuple(
        CheckReport(str(at), "A.", "error", 0, 100, "no", place=one) for at, one in enumerate(places)
    )
    report = KataReport("f", "a", "failed", 100, checks=checks)
    assert [(one.line, one.columns) for one in marks_of(report, "  x = 1\n\n")] == [(1, (2, 7))]


def test_the_place_of_the_first_cause_comes_first():
    named = Mistake("m", "It is a known mistake.", certain=True)
    late = CheckReport("b", "B.", "failed", 0, 100, "B fails.", place=Place(2, "  y"), mistake=named)
    early = CheckReport("a", "A.", "error", 0, 100, "NameError: no x", place=Place(1, "  x"))
    report = KataReport("f", "a", "failed", 200, checks=(early, late))
    assert [mark.line for mark in marks_of(report, "  x\n  y\n")] == [2, 1]


def test_the_line_of_a_syntax_error_is_underlined():
    report = KataReport("f", "a", "error", 100, message="f.py, line 2: never closed.", excerpt="x = (")
    assert [mark.line for mark in marks_of(report, "\nx = (\n")] == [2]


# --- questions ---

PAGE = '''"""A page."""

STUDENT = ""  # your login
ROW = sum(STUDENT.encode()) % 8

# The shape of Q,
# in the order of the paper.
SHAPE_OF_Q = ...

SCALE = 2 / 3
'''


def test_questions_have_their_text_and_what_was_answered():
    assert questions.asked_in(PAGE) == [
        Question("STUDENT", "your login", ""),
        Question("SHAPE_OF_Q", "The shape of Q, in the order of the paper.", ""),
        Question("SCALE", "", "2 / 3"),
    ]
    assert questions.asked_in("x = (") == []


def test_an_answer_is_written_where_the_question_stands():
    text = questions.with_answer(PAGE, "SHAPE_OF_Q", " (2, 3) ")
    text = questions.with_answer(text, "STUDENT", "Ada 'the' Löwe")
    text = questions.with_answer(text, "SCALE", "")
    assert "SHAPE_OF_Q = (2, 3)\n" in text
    assert "STUDENT = \"Ada 'the' Löwe\"  # your login\n" in text
    assert "SCALE = ...\n" in text
    assert questions.asked_in(text)[0].value == "Ada 'the' Löwe"


def test_a_login_chooses_its_row_of_numbers():
    table = "A page.\n\n    row  batch  heads\n    0    5      8\n    1    7      2\n\nFill it in.\n"
    assert questions.numbers_of(table, "") == (0, {"batch": "5", "heads": "8"})
    assert questions.numbers_of(table, "a") == (1, {"batch": "7", "heads": "2"})
    assert questions.numbers_of("A page.", "a") == (0, {})
    page = f'"""{table}"""\n\nSTUDENT = "a"\n'
    assert questions.fields_of(page).row == "Your row is 1: batch 7, heads 2."
    assert questions.fields_of(PAGE).row == ""


def test_a_name_that_nothing_defines_is_refused_and_one_of_the_file_is_not():
    with pytest.raises(SubmissionRejected, match="abc is no name of this page"):
        questions.with_answer(PAGE, "SCALE", "abc")
    assert "SCALE = ROW + max(2, 3)\n" in questions.with_answer(PAGE, "SCALE", "ROW + max(2, 3)")


@pytest.mark.parametrize("value", ["(2,", "x = 1", "1\n\nimport os", "1) + (2", "2; import os", "#"])
def test_what_is_no_value_is_refused(value):
    with pytest.raises(SubmissionRejected):
        questions.with_answer(PAGE, "SCALE", value)
