"""Tests of the collector: files in every layout of the platforms, hostile zip files, the roster."""

import io
import json
import os
import stat
import zipfile
from dataclasses import replace

import pytest

from dojo_classroom.best_files import Stub, answers_in, stubs_of
from dojo_classroom.collector import Collector
from dojo_classroom.platform_filenames import KnownNames, StudentName, kata_at, owner
from dojo_classroom.roster import (
    Identities,
    Member,
    Roster,
    gradescope_people,
    read_logins,
    read_roster,
)
from grader.course.catalog import MANIFEST, CourseError
from grader.course.release_manifest import digest
from grader.course.submission import SubmissionRejected, Unreadable
from grader.reading.shape import text_digest

OF_BOB = "Bob_4711_assignsubmission_file_"
NAMES = KnownNames(["softmax", "top_p", "decoder_block", "debug_decoder_block"])


def collected(path):
    """Who submitted in which katas, and what they hold."""
    return {
        student.key: {one.kata: one.read().decode().strip() for one in answers_in(files, NAMES).files}
        for student, files in Collector(path).students()
    }


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("place", "student", "inner"),
    [
        ("ada/softmax.py", "ada", "softmax.py"),
        ("doejane_4711_90210_softmax.py", "doejane_4711", "softmax.py"),
        ("doejane_LATE_4711_90210_softmax-2.py", "doejane_4711", "softmax-2.py"),
        ("Jane Doe_4711_assignsubmission_file_/softmax.py", "Jane Doe_4711", "softmax.py"),
        ("Jane Doe_4711_assignsubmission_file_softmax.py", "Jane Doe_4711", "softmax.py"),
        ("Jane_Doe_4711_assignsubmission_file/softmax.py", "Jane_Doe_4711", "softmax.py"),
        # a student has chosen a name as Moodle writes it, or hands in again what was downloaded before
        (f"{OF_BOB}_9999_assignsubmission_file_/softmax.py", f"{OF_BOB}_9999", "softmax.py"),
        (f"{OF_BOB}{OF_BOB}softmax.py", "Bob_4711", "softmax.py"),
        ("Jane Doe_4711_assignsubmission_onlinetext_/onlinetext.html", "Jane Doe_4711", "onlinetext.html"),
        ("ada.zip", "ada", "ada.zip"),
        ("ADA.ZIP", "ADA", "ADA.ZIP"),
    ],
)
def test_a_platform_s_file_name_identifies_the_student(place, student, inner):
    found = owner(tuple(place.split("/")))
    assert (found.student.key, "/".join(found.inner)) == (student, inner)


@pytest.mark.parametrize("bob", ["Bob", "Zoe"])
def test_the_file_of_a_name_that_fits_two_students_is_neither_s(tmp_path, write, bob):
    both = "Eve_9999_assignsubmission_file_x_4711_assignsubmission_file_softmax.py"
    files = {both: "0", f"{bob}_4711_assignsubmission_file_softmax.py": "1"}
    for path in (write(tmp_path / "in", files), zipped(tmp_path / "all.zip", files)):
        found = {student.key: answers_in(of, NAMES) for student, of in Collector(path).students()}
        assert {key: [one.read().strip() for one in of.files] for key, of in found.items()} == {
            f"{bob}_4711": [b"1"],
            "Eve_9999": [],
        }
        told = f"Nobody knows whose {both} is: its name fits the number 9999 or 4711."
        assert [of.troubles for of in found.values()] == [[told], [told]]


def test_a_name_that_is_the_id_of_another_identifies_nobody():
    roster = Roster([Member("bob", "Bob X"), Member("eve", "Eve X")])
    eve = owner(("bob_9999_assignsubmission_file_", "softmax.py")).student
    assert roster.identified(eve) is None
    assert [member.id for member in roster.namesakes(eve)] == ["bob"]


@pytest.mark.parametrize("place", [".git/config", "__MACOSX/x.py", "notes.txt", "softmax.py"])
def test_other_files_belong_to_no_student(place):
    assert owner(tuple(place.split("/"))) is None


def found_at(place):
    return kata_at(tuple(place.split("/")), NAMES)


def test_a_repository_is_a_better_place_than_a_loose_file_and_a_notebook():
    places = [
        "exercises/attention/softmax.py", "softmax.py", "softmax.ipynb", "ps1/softmax.py",
        "project/src/softmax.py", "Softmax.py", "src/Softmax.py", "my_softmax.py",
    ]  # fmt: skip
    found = [found_at(place) for place in places]
    assert [kata for _, kata in found] == ["softmax"] * 8
    assert [place for place, _ in found] == sorted(place for place, _ in found)


@pytest.mark.parametrize(
    "place", ["solutions/softmax.py", ".old/softmax.py", "softmax.txt", "tests/softmax.py"]
)
def test_other_places_hold_no_answer(place):
    assert found_at(place) is None


@pytest.mark.parametrize(
    "name",
    [
        "softmax-1", "softmax (2)", "softmax(2)", "softmax-1 (2)", "Softmax", "SOFTMAX-1", "my_softmax",
        "softmax_final", "Copy of softmax", "hw1-softmax", "soft_max", "ada.softmax", "softmax: my answer",
    ],
)  # fmt: skip
def test_a_name_that_can_only_be_one_kata_is_recognised(name):
    assert NAMES.find(name)[1] == "softmax"


def test_the_longest_kata_in_a_name_counts():
    assert NAMES.find("my_debug_decoder_block")[1] == "debug_decoder_block"
    assert NAMES.find("TopP")[1] == NAMES.find("top-p-final")[1] == "top_p"


@pytest.mark.parametrize("name", ["softmax_and_top_p", "test_softmax", "softmaxes", "answer", ""])
def test_a_name_that_says_no_kata_or_two_is_not_recognised(name):
    assert NAMES.find(name) is None


def test_a_file_that_may_be_an_answer_is_listed(tmp_path, write):
    names = [
        "answer.py", "softmax.py.txt", "both/softmax_and_top_p.py", "all.rar", "notes.md", ".git/x.py",
        "tests/y.py", "conftest.py", "top_p.py",
    ]  # fmt: skip
    write(tmp_path, {f"ada/{name}": "1" for name in names})
    ((_, files),) = Collector(tmp_path).students()
    answers = answers_in(files, NAMES)
    assert [file.kata for file in answers.files] == ["top_p"]
    assert answers.unrecognised == ["all.rar", "answer.py", "softmax.py.txt", "both/softmax_and_top_p.py"]


RELEASED = {
    "exercises/attention/softmax.py": "stub", "keys/softmax.key": "k", "vendor/softmax.zip": "z",
    "top_p.md": "t", "answer.py": "mine",
}  # fmt: skip


def unrecognised_in(folder):
    ((_, files),) = Collector(folder).students()
    answers = answers_in(files, NAMES)
    return [file.kata for file in answers.files], answers.unrecognised


@pytest.mark.parametrize("above", ["", "repo-main/"])
def test_what_a_release_wrote_is_never_an_answer(tmp_path, write, above):
    listed = dict.fromkeys([name for name in RELEASED if name != "answer.py"], "digest")
    manifest = {"version": 1, "files": listed}
    files = {**RELEASED, MANIFEST: json.dumps(manifest)}
    write(tmp_path, {f"ada/{above}{name}": text for name, text in files.items()})
    assert unrecognised_in(tmp_path) == (["softmax"], [f"{above}answer.py"])


@pytest.mark.parametrize(
    "listed",
    [["exercises/attention/softmax.py", "top_p.ipynb"], ["../ada/softmax.py", "softmax.py", "\0", "/", ""]],
)
def test_a_students_manifest_hides_no_answer(tmp_path, write, listed):
    manifest = json.dumps({"version": 1, "files": dict.fromkeys(listed, "x")})
    answers = {"exercises/attention/softmax.py": "1", "top_p.ipynb": json.dumps({"cells": []})}
    write(
        tmp_path, {f"ada/{name}": text for name, text in {**answers, "a.py": "1", MANIFEST: manifest}.items()}
    )
    assert unrecognised_in(tmp_path) == (["softmax", "top_p"], ["a.py"])


NO_LIST = ["", "[]", '{"version": 1}', "[" * 100_000, '{"version": 1, "files": {"keys": null}}']


@pytest.mark.parametrize("text", NO_LIST)
def test_a_damaged_manifest_lists_nothing(tmp_path, write, text):
    write(tmp_path, {"ada/softmax.py": "1", "ada/answer.py": "1", "ada/keys/top_p.key": "k"})
    (tmp_path / "ada" / MANIFEST).write_text(text)
    assert unrecognised_in(tmp_path) == (["softmax"], ["answer.py"])


def test_a_manifest_that_is_a_pipe_is_not_read(tmp_path, write):
    write(tmp_path, {"ada/softmax.py": "1", "ada/answer.py": "1"})
    os.mkfifo(tmp_path / "ada" / MANIFEST)
    assert unrecognised_in(tmp_path) == (["softmax"], ["answer.py"])


def test_repositories_flat_folders_and_a_students_zip_lie_side_by_side(tmp_path, write):
    write(
        tmp_path,
        {
            "ada/exercises/attention/softmax.py": "1",
            "ada/.venv/top_p.py": "no",
            "bob/softmax.py": "2",
            "bob/top_p.py": "3",
            "eve/readme.txt": "hello",
        },
    )
    zipped(tmp_path / "dan.zip", {"dan-main/exercises/generation/top_p.py": "4"})
    assert collected(tmp_path) == {
        "ada": {"softmax": "1"},
        "bob": {"softmax": "2", "top_p": "3"},
        "dan": {"top_p": "4"},
        "eve": {},
    }


def test_nbgraders_tree_is_entered_at_submitted(tmp_path, write):
    write(tmp_path, {"submitted/ada/ps1/softmax.py": "1", "release/ps1/softmax.py": "no"})
    assert collected(tmp_path) == {"ada": {"softmax": "1"}}


def test_exports_of_canvas_and_moodle(tmp_path):
    files = {
        "doejane_4711_1_softmax-1.py": "1",
        "doejane_4711_2_top_p.py": "2",
        "Bob Roe_17_assignsubmission_file_/softmax.py": "3",
    }
    found = collected(zipped(tmp_path / "export.zip", files))
    assert found == {"doejane_4711": {"softmax": "1", "top_p": "2"}, "Bob Roe_17": {"softmax": "3"}}


def test_a_folder_around_all_students_is_no_student(tmp_path):
    files = {"class/ada/softmax.py": "1", "class/bob/softmax.py": "2"}
    found = collected(zipped(tmp_path / "class.zip", files))
    assert set(found) == {"ada", "bob"}


def graded(path, files):
    """The file that is graded if these are handed in by one student."""
    ((_, found),) = Collector(zipped(path / "x.zip", dict.fromkeys(files, "1"))).students()
    (file,) = answers_in(found, NAMES).files
    return "/".join(file.place), file.late


@pytest.mark.parametrize(
    ("files", "latest"),
    [
        (["ada/softmax.py", "ada/softmax-1.py"], "softmax-1.py"),
        (["ada/softmax.py", "ada/softmax (1).py"], "softmax (1).py"),
        (["ada/softmax-9.py", "ada/softmax-10.py"], "softmax-10.py"),
        (["ada/softmax-2.py", "ada/softmax-1 (3).py"], "softmax-2.py"),
        (["x/ada/ps9/softmax.py", "x/ada/ps10/softmax.py"], "ps10/softmax.py"),
        (["doejane_7_90_softmax.py", "doejane_7_110_softmax.py"], "softmax.py"),
        (["doejane_7_90_softmax-1.py", "doejane_7_80_softmax-2.py"], "softmax-1.py"),
    ],
)
def test_of_resubmissions_the_latest_is_graded(tmp_path, files, latest):
    assert graded(tmp_path, files)[0] == latest


def test_canvas_s_mark_of_lateness_is_kept(tmp_path):
    files = ["doejane_7_90_softmax.py", "doejane_LATE_7_110_softmax-1.py"]
    assert graded(tmp_path, files) == ("softmax-1.py", True)
    assert graded(tmp_path, files[:1]) == ("softmax.py", False)


STUB = '"""As it was."""\n\n\ndef double(x):\n    """Twice x."""\n    # here\n    raise NotImplementedError\n'
ANSWER = "def double(x):\n    return x + x\n"


def notebook(*cells):
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


def chosen(folder, course):
    """The places of the files that are graded by kata, and the files that answer nothing."""
    collector = Collector(folder)
    ((_, files),) = collector.students()
    found = answers_in(files, KnownNames(course.katas), stubs_of(course.katas, {}), collector.handed_out)
    return {file.kata: "/".join(file.place) for file in found.files}, found.unrecognised


@pytest.mark.parametrize(
    "other",
    [
        {"double.py": ANSWER},
        {"double.ipynb": notebook(f"%%kata double\n{ANSWER}")},
        {"homework.ipynb": notebook(f"%%kata double\n{ANSWER}")},
        {"HW1.ZIP": {"hw1/double.py": ANSWER}},
        {"double.py": "def double(:\n"},
    ],
)
def test_an_untouched_stub_of_any_release_counts_only_if_there_is_nothing_else(
    tmp_path, write, tiny_course, other
):
    write(tmp_path, {"ada/exercises/attention/double.py": STUB})
    for name, content in other.items():
        if isinstance(content, dict):
            zipped(tmp_path / "ada" / name, content)
        else:
            write(tmp_path / "ada", {name: content})
    (expected,) = (
        next(iter(content)) if isinstance(content, dict) else name for name, content in other.items()
    )
    assert chosen(tmp_path, tiny_course) == ({"double": expected}, [])


@pytest.mark.parametrize(
    ("body", "begun"),
    [
        ("raise NotImplementedError", False),
        ('"""Twice x."""', False),
        ("...", False),
        ("pass  # later", False),
        ('"""Twice x."""\n    pass\n    raise NotImplementedError("here")', False),
        ("return None", True),
        ("x", True),
    ],
)
def test_a_function_that_does_nothing_is_not_begun(tiny_course, body, begun):
    stub = Stub(tiny_course.kata_info("double"))
    for name in ("double", "other"):
        source = f"import numpy as np\n\n\ndef {name}(x):\n    {body}\n"
        assert stub.is_begun(source.encode()) == (begun or name == "other")


@pytest.mark.parametrize(
    "source",
    [
        "def double(x):\n    pass\n\ndouble = lambda x: x + x\n",
        "def double(x):\n    pass\n\nfrom answer import *\n",
        "@answer\ndef double(x):\n    pass\n",
        "",
        "def double(:\n",
        "from answer import double\n",
    ],
)
def test_what_may_be_an_answer_is_begun(tiny_course, source):
    assert Stub(tiny_course.kata_info("double")).is_begun(source.encode())


def test_the_stub_of_a_release_with_fewer_functions_is_not_begun(tiny_course):
    stub = Stub(replace(tiny_course.kata_info("double"), entry_points=("double", "treble")))
    assert not stub.is_begun(STUB.encode())
    assert stub.is_begun(ANSWER.encode())
    assert stub.is_begun(f"{STUB}\n\ndef treble(x):\n    return 3 * x\n".encode())


def test_an_older_text_of_shipped_wrong_code_is_not_begun(tiny_course):
    shipped = '"""As it is."""\n\n\ndef double(x):\n    """Mend me."""\n    return 3 * x\n'
    info = replace(tiny_course.kata_info("double"), ships_wrong_code=text_digest(shipped))
    older = shipped.replace("As it is.", "As it was.").replace("Mend me.", "Repair me.") + "# to do\n"
    assert [Stub(info, shipped).is_begun(text.encode()) for text in (shipped, older)] == [False, False]
    assert Stub(info, shipped).is_begun(ANSWER.encode())


@pytest.mark.parametrize("stub", [STUB, notebook(f"%%kata double\n{STUB}")])
def test_a_stub_that_is_alone_is_the_one_file(tmp_path, write, tiny_course, stub):
    name = "double.ipynb" if stub.startswith("{") else "double.py"
    write(tmp_path, {f"ada/ps1/{name}": stub})
    assert chosen(tmp_path, tiny_course) == ({"double": f"ps1/{name}"}, [])


def test_a_file_as_a_release_wrote_it_is_a_stub_whatever_is_in_it(tmp_path, write, tiny_course):
    shipped = "def double(x):\n    return 3 * x\n"
    listed = {"exercises/attention/double.py": digest(shipped.encode())}
    files = {"exercises/attention/double.py": shipped, "double.py": ANSWER}
    write(tmp_path, {f"ada/{name}": text for name, text in files.items()})
    assert chosen(tmp_path, tiny_course)[0] == {"double": "exercises/attention/double.py"}
    write(tmp_path, {f"ada/{MANIFEST}": json.dumps({"version": 1, "files": listed})})
    assert chosen(tmp_path, tiny_course)[0] == {"double": "double.py"}


BOTH = notebook(f"%%kata double\n{ANSWER}", "%%kata center\ndef center(x):\n    return x\n")
EMPTY = notebook(f"%%kata double\n{STUB}")
BESIDE = {"exercises/attention/double.py": STUB, "see/stack.py": "x = 1\n", "keys/double.key": "k\n"}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            {"attention/double.ipynb": BOTH},
            {"double": "attention/double.ipynb", "center": "attention/double.ipynb"},
        ),
        (
            {"attention-in-one/attention.ipynb": BOTH, "attention/double.ipynb": EMPTY},
            dict.fromkeys(["center", "double"], "attention-in-one/attention.ipynb"),
        ),
    ],
)
def test_in_a_course_of_notebooks_the_cells_answer_and_the_courses_own_files_do_not(
    tmp_path, write, tiny_course, own, expected
):
    beside = {
        f"{name}/{path}": text for name in ("attention", "attention-in-one") for path, text in BESIDE.items()
    }
    listed = {f"source/{name}": digest(text.encode()) for name, text in beside.items()}
    write(tmp_path, {f"submitted/ada/{name}": text for name, text in (beside | own).items()})
    write(tmp_path, BESIDE | {MANIFEST: json.dumps({"version": 1, "files": listed})})
    for folder in (tmp_path, tmp_path / "submitted"):
        assert chosen(folder, tiny_course) == (expected, [])
        Collector(folder).require_one_student_each(KnownNames(tiny_course.katas), lambda _: False)


def test_of_two_files_the_last_is_graded_and_the_other_reported(tmp_path, write):
    write(tmp_path, {"ada/ps1/softmax.py": "old", "ada/ps2/softmax.py": "new"})
    ((_, files),) = Collector(tmp_path).students()
    (submitted,) = answers_in(files, NAMES).files
    assert (submitted.read().strip(), submitted.duplicates) == (b"new", (("ps1", "softmax.py"),))


def require_one_student_each(folder, members=()):
    Collector(folder).require_one_student_each(NAMES, lambda student: student.key in members)


def test_a_folder_too_deep_is_refused_with_the_folder_to_name(tmp_path, write, monkeypatch):
    files = ["2026/class/ada/softmax.py", "2026/class/bob/exercises/attention/softmax.py"]
    write(tmp_path / "in", dict.fromkeys(files, "1"))
    monkeypatch.chdir(tmp_path)
    told = (
        "in/2026/class holds one kata in several folders, as if each were a student's."
        " Name the folder of the students: kata grade in/2026/class"
    )
    with pytest.raises(CourseError) as refused:
        require_one_student_each(tmp_path / "in")
    assert str(refused.value) == told
    require_one_student_each(tmp_path / "in" / "2026" / "class")
    require_one_student_each(tmp_path / "in", members=["2026"])


@pytest.mark.parametrize(
    "files",
    [
        ["a/ps1/softmax.py", "a/ps2/top_p.py"],
        ["a/softmax.py", "a/old/softmax.py"],
        ["a/src/softmax.py", "a/src/old/softmax.py"],
        ["a/ps1/softmax.py", "a/ps2/softmax.py", "b/softmax.py"],
        ["a/notes.txt"],
    ],
)
def test_one_student_with_several_folders_is_one_student(tmp_path, write, files):
    require_one_student_each(write(tmp_path, dict.fromkeys(files, "1")))


@pytest.mark.parametrize(
    "name", ["../ada/softmax.py", "/ada/softmax.py", "ada/../../softmax.py", "C:/ada/softmax.py"]
)
def test_a_path_that_leads_out_of_a_zip_is_ignored(tmp_path, name):
    found = collected(zipped(tmp_path / "x.zip", {name: "out", "bob/softmax.py": "1"}))
    assert found == {"bob": {"softmax": "1"}}


def test_a_colon_in_a_name_of_a_zip_is_no_drive(tmp_path):
    found = collected(zipped(tmp_path / "x.zip", {"ada/softmax: final.py": "1"}))
    assert found == {"ada": {"softmax": "1"}}


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("ada/softmax.py")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(SubmissionRejected, match=r"softmax\.py is a link\."):
        collected(tmp_path / "x.zip")


def test_a_link_in_a_folder_is_refused(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "softmax.py").symlink_to("/etc/hostname")
    with pytest.raises(SubmissionRejected, match="is a link"):
        collected(tmp_path)


def test_a_zip_that_unpacks_to_gigabytes_is_read_no_further_than_allowed(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ada/softmax.py", b"#" * (64 << 20))
    ((_, files),) = Collector(tmp_path / "x.zip").students()
    with pytest.raises(Unreadable, match=r"^softmax\.py is larger than 1 MiB\.$"):
        answers_in(files, NAMES).files[0].read()


def test_a_damaged_member_costs_its_student_alone(tmp_path):
    path = zipped(tmp_path / "x.zip", {"ada/softmax.py": "damaged", "bob/softmax.py": "1"})
    path.write_bytes(path.read_bytes().replace(b"damaged", b"damaGed"))
    read = {
        student.key: answers_in(files, NAMES).files[0].read for student, files in Collector(path).students()
    }
    assert read["bob"]() == b"1"
    with pytest.raises(SubmissionRejected, match=r"softmax\.py is damaged in its zip file: Bad CRC-32"):
        read["ada"]()


def test_a_students_damaged_zip_is_reported(tmp_path):
    (tmp_path / "ada.zip").write_bytes(b"no zip")
    ((_, files),) = Collector(tmp_path).students()
    answers = answers_in(files, NAMES)
    assert answers.files == []
    assert answers.troubles == ["ada.zip cannot be read as a zip file: File is not a zip file."]


def test_the_kata_s_cell_is_read_from_a_notebook(tmp_path, write):
    write(tmp_path, {"ada/softmax.ipynb": "no notebook"})
    with pytest.raises(SubmissionRejected, match=r"softmax\.ipynb"):
        collected(tmp_path)


def test_missing_submissions_are_reported(tmp_path, write):
    with pytest.raises(CourseError, match=r"There is no folder or zip file nowhere\."):
        Collector(tmp_path / "nowhere")
    with pytest.raises(CourseError, match="No submission was found in"):
        Collector(tmp_path)
    (tmp_path / "x.zip").write_bytes(io.BytesIO(b"no zip").read())
    with pytest.raises(CourseError, match=r"x\.zip cannot be read as a zip file: File is not a zip file\."):
        Collector(tmp_path / "x.zip")
    write(tmp_path, {"exercises/attention/softmax.py": "1"})
    with pytest.raises(CourseError, match="looks like one student's repository"):
        Collector(tmp_path)


def test_a_roster_finds_members_by_id_and_by_name(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text('\ufeffStudent ID,Name,Section\njd1,Jane Doe,A\nbr2,"Roe, Bob",B\n', encoding="utf-8")
    roster = read_roster(path)
    assert roster.member(StudentName("JD1")) == Member("jd1", "Jane Doe", "A")
    assert roster.member(StudentName("doejane_4711", ("4711", "doejane"), "4711")).id == "jd1"
    assert roster.member(StudentName("Bob Roe_17", ("17", "Bob Roe"), "17")).id == "br2"
    assert roster.member(StudentName("eve")) is None


def test_a_name_that_two_members_share_identifies_neither():
    roster = Roster([Member("a", "Jane Doe"), Member("b", "Jane Doe")])
    assert roster.member(StudentName("Jane Doe")) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("name\nAda\n", "needs a column `id`; its first line has name"),
        ("id\nada\nADA\n", "lists the id ada twice"),
    ],
)
def test_a_roster_that_cannot_be_used_is_refused(tmp_path, text, told):
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(CourseError, match=told):
        read_roster(tmp_path / "roster.csv")


# whose submission it is

PEOPLE = """---
submission_11:
  :submitters:
  - :name: "Ada \\u00c5berg"
    :sid: '007'
    :email: ada@s.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :results:
    output: |-
      submission_12:
      :submitters:
      - :name: eve
        :email: eve@s.org
  :history:
  - :id: 5
    :submitters:
    - :email: old@s.org
submission_12:
  :submitters:
  - :name: 'Bob ''Bobby'' Roe'
    :sid: 12
  - :name: b2
submission_13:
  :submitters: []
bomb: &a [*a, *a, *a]
"""


def test_gradescope_s_metadata_says_whose_a_folder_is():
    found = gradescope_people(PEOPLE)
    assert {folder: [(one.names, one.called) for one in of] for folder, of in found.items()} == {
        "submission_11": [(("ada@s.org", "007", "submission_11"), ("Ada \u00c5berg",))],
        "submission_12": [
            (("12", "submission_12"), ("Bob 'Bobby' Roe",)),
            (("submission_12 b2", "submission_12"), ("b2",)),
        ],
    }


@pytest.mark.parametrize(
    "text", ["", "- 1", "a:\n  :submitters:\n  - x\n", "\t:\n", "&" * 100_000, "a: !!python/x\n"]
)
def test_other_metadata_names_nobody(text):
    assert gradescope_people(text) == {}


@pytest.mark.parametrize("above", ["", "assignment_7_export/"])
def test_gradescope_s_export_is_read_zipped_or_not(tmp_path, write, above):
    files = {
        "submission_11/softmax.py": "1",
        "submission_12/softmax.py": "2",
        "submission_99/softmax.py": "3",
    }
    files = {"submission_metadata.yml": PEOPLE, **files}
    expected = {"ada@s.org": "1", "12": "2", "submission_12 b2": "2", "submission_99": "3"}
    expected = {key: {"softmax": text} for key, text in expected.items()}
    named = {f"{above}{name}": text for name, text in files.items()}
    assert collected(zipped(tmp_path / "x.zip", named)) == expected
    assert collected(write(tmp_path / "export", files)) == expected


def test_metadata_that_is_a_link_is_refused(tmp_path, write):
    write(tmp_path, {"in/submission_1/softmax.py": "1", "other.yml": PEOPLE})
    (tmp_path / "in" / "submission_metadata.yml").symlink_to(tmp_path / "other.yml")
    with pytest.raises(CourseError, match=r"submission_metadata\.yml is a link"):
        Collector(tmp_path / "in")


def test_a_name_of_gradescope_is_no_id():
    roster = Roster([Member("b2", "Bob Roe"), Member("x", "b2")])
    (student,) = gradescope_people("f:\n  :submitters:\n  - :name: b2\n")["f"]
    assert roster.identified(student) is None
    assert roster.member(student).id == "x"


def matched(folders, members, logins=""):
    """The id of the member for each folder."""
    roster = Roster([Member(*member) for member in members])
    students = [StudentName(folder) for folder in folders]
    known = Identities(students, roster, logins or {})
    found = ((student.key, roster.member(known.of(student))) for student in students)
    return {key: member and member.id for key, member in found}


@pytest.mark.parametrize(
    ("folders", "members", "found"),
    [
        (["hw1-ada", "hw1-bob-x"], ["ada", "bob-x"], ["ada", "bob-x"]),
        (["ml-week-1-ada", "ml-week-1-bob"], ["ada", "bob"], ["ada", "bob"]),
        (["hw1-a-x", "hw1-a-y"], ["a-x", "a-y"], ["a-x", "a-y"]),
        (["hw1-x-ada", "hw1-bob"], ["ada", "bob"], [None, "bob"]),  # x-ada is not ada
        (["hw1-ada-1", "hw1-bob"], ["ada", "bob"], [None, "bob"]),
        (["hw1-ada"], ["ada"], [None]),
        (["ada", "bob"], ["ada", "bob"], ["ada", "bob"]),
        (["a-ada", "b-bob"], ["ada", "bob"], [None, None]),
        (["h-k-ada", "h-k-bob"], ["k-ada", "ada"], [None, None]),  # two readings are as good
    ],
)
def test_the_name_of_a_repository_ends_with_the_login(folders, members, found):
    assert list(matched(folders, [(one,) for one in members]).values()) == found


CLASSROOM = "identifier,github_username,github_id,name\n{}"
CLASSROOM50 = "username,first_name,last_name,email,section,github_id\n{}"


@pytest.mark.parametrize(
    "text",
    [
        CLASSROOM.format('"a1",AdaL,1,""\nb2,bobr,2,\nc3,,,\n'),
        CLASSROOM50.format("adal,Ada,Lovelace,a1,A,1\nbobr,Bob,Roe,b2,A,2\n"),
    ],
)
def test_a_list_of_logins_leads_to_the_roster(text, tmp_path):
    (tmp_path / "logins.csv").write_text(text)
    logins = read_logins(tmp_path / "logins.csv")
    folders = ["hw1-AdaL", "hw1-bobr", "hw1-eve"]
    assert list(matched(folders, [("a1", "A L"), ("b2", "B R")], logins).values()) == ["a1", "b2", None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CLASSROOM.format("a1,x,1,\na1,y,2,\n"), "The logins logins.csv list a1 twice."),
        (CLASSROOM.format("a1,x,1,\na2,X,2,\n"), "The logins logins.csv list x twice."),
        (CLASSROOM.format("x,y,1,\na2,x,2,\n"), "The logins logins.csv list x twice."),
        ("name\nada\n", "The logins logins.csv need a column `github_username` or `username`"),
        ("", "The logins logins.csv need a column `github_username` or `username`"),
        (None, "The logins logins.csv cannot be read: no such file or directory."),
    ],
)
def test_logins_that_cannot_be_used_are_refused(text, told, tmp_path):
    if text is not None:
        (tmp_path / "logins.csv").write_text(text)
    with pytest.raises(CourseError) as refused:
        read_logins(tmp_path / "logins.csv")
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    "text", [CLASSROOM.format("a1,adal,1,Ada\n"), CLASSROOM50.format("a1,Ada,L,x,A,1\n")]
)
def test_a_classroom_s_roster_is_a_roster(text, tmp_path):
    (tmp_path / "roster.csv").write_text(text)
    assert [member.id for member in read_roster(tmp_path / "roster.csv").members] == ["a1"]
