"""Three fates of what was handed in: judged, not handed in, and could not be judged, which is never a 0."""

import csv
import io
import json
import os
import socket
import struct
import subprocess
import zipfile
from contextlib import closing

import pytest

from dojo_classroom.collector import Collector
from dojo_classroom.command import render
from dojo_classroom.laid_out import laid_out
from dojo_classroom.outputs import write_outputs
from dojo_classroom.roster import Member, Roster
from dojo_classroom.run import ClassRun
from dojo_classroom.store import Store
from dojo_classroom.student_reports import JudgedClass
from dojo_classroom.task import unreadable, verdict_of
from grader.course.submission import (
    MAX_BYTES,
    SubmissionRejected,
    Unreadable,
    decoded,
    parse,
    read_submission,
)
from grader.report import CheckReport, KataReport, Report

RIGHT = "def double(x):\n    return x + x  # passes\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:1f0c\nsize 45\n"


class Pool:
    """A pool whose graders read and parse a source, and run nothing."""

    def __init__(self, info):
        self.info, self.judging = info, {info.name: "1"}

    def judge(self, tasks):
        for task in tasks:
            yield task, self._verdict(task)

    def _verdict(self, task):
        try:
            source = decoded(task.data, "double.py")
        except Unreadable as refused:
            return unreadable(self.info, refused)
        try:
            parse(self.info, source, "double.py")
            passed = "passes" in source
        except SubmissionRejected as refused:
            return verdict_of(Report((self.info.unjudged("error", str(refused)),)))
        check = CheckReport("a", "A.", "passed" if passed else "failed", 1000 * passed, 1000)
        kata = KataReport("double", "attention", "passed" if passed else "failed", 1000, checks=(check,))
        return verdict_of(Report((kata,)))


@pytest.fixture
def info(tiny_course):
    return tiny_course.kata_info("double")


@pytest.fixture
def graded(info, tmp_path):
    """`graded(path)` grades a class, writes all files, and returns the counts and the statistics."""

    def run(path, roster=None, out="out"):
        with closing(Store(str(tmp_path / f"{out}.sqlite"))) as store:
            counts = ClassRun({"double": info}, Collector(path), roster, Pool(info), store).grade(
                lambda: None, lambda *_: None
            )
            judged = JudgedClass(store, [info], counts=counts)
            statistics = write_outputs(tmp_path / out, judged, roster)
            scores = {one.member.id: None if one.unknown else one.marks.total for one in judged.reports()}
        return counts, statistics, scores

    return run


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


# what cannot be judged: by the name of a student, what makes it in that student's folder


def packed(*files, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


def patched(data, local, central, value):
    """Overwrite two bytes of the first entry's local header, and of its entry in the directory."""
    changed = bytearray(data)
    changed[local : local + 2] = struct.pack("<H", value)
    at = data.index(b"PK\x01\x02") + central
    changed[at : at + 2] = struct.pack("<H", value)
    return bytes(changed)


def linked():
    entry = zipfile.ZipInfo("double.py")
    entry.external_attr = 0o120777 << 16
    return packed((entry, "/etc/passwd"))


def notebook(*cells):
    return json.dumps({"cells": list(cells), "nbformat": 4}).encode()


GOOD = packed(("double.py", RIGHT))
FILES = {  # by name and content
    "utf_16": ("double.py", RIGHT.encode("utf-16")),
    "latin_1": ("double.py", "# ä\n".encode("latin-1") + RIGHT.encode()),
    "declared_and_wrong": ("double.py", b"# coding: ascii\n# \xe4\n"),
    "unknown_encoding": ("double.py", b"# coding: klingon\n" + RIGHT.encode()),
    "slow_encoding": ("double.py", b"# coding: punycode\n" + b"x" * 9000),
    "huge": ("double.py", b"#" * (MAX_BYTES + 1)),
    "lfs": ("double.py", LFS),
    "notebook_cut_off": ("double.ipynb", b'{"cells": ['),
    "notebook_nested": ("double.ipynb", b"[" * 100_000),
    "notebook_a_list": ("double.ipynb", b"[]"),
    "notebook_version_3": ("double.ipynb", b'{"worksheets": []}'),
    "notebook_not_utf_8": ("double.ipynb", b'"\xff"'),
    "notebook_of_many_cells": ("double.ipynb", b'{"cells": [' + b"{}," * 1_000_001 + b"{}]}"),
    "notebook_without_cells": ("double.ipynb", notebook()),
    "notebook_without_magic": ("double.ipynb", notebook({"cell_type": "code", "source": RIGHT})),
    "notebook_of_text": ("double.ipynb", notebook({"cell_type": "markdown", "source": "%%kata double\n1"})),
    "notebook_with_a_long_cell": (
        "double.ipynb", notebook({"cell_type": "code", "source": "%%kata double\n" + "#" * 300_000}),
    ),
    "notebook_lfs": ("double.ipynb", LFS),
    "rar": ("hw1.zip", b"Rar!\x1a\x07\x00" + bytes(99)),
    "seven_zip": ("hw1.zip", b"7z\xbc\xaf\x27\x1c" + bytes(99)),
    "empty": ("hw1.zip", b""),
    "text": ("hw1.zip", RIGHT.encode()),
    "zip_lfs": ("hw1.zip", LFS),
    "truncated": ("hw1.zip", GOOD[:-30]),
    "first_half": ("hw1.zip", GOOD[: len(GOOD) // 2]),
    "encrypted": ("hw1.zip", patched(GOOD, 6, 8, 1)),
    "deflate64": ("hw1.zip", patched(GOOD, 8, 10, 9)),
    "zstd": ("hw1.zip", patched(GOOD, 8, 10, 93)),
    "unknown_compression": ("hw1.zip", patched(GOOD, 8, 10, 77)),
    "damaged": ("hw1.zip", packed(("double.py", RIGHT), compression=0).replace(b"return", b"retu\0n")),
    "damaged_header": ("hw1.zip", GOOD.replace(b"PK\x03\x04", b"PK\x03\x05")),
    "damaged_directory": ("hw1.zip", GOOD.replace(b"PK\x01\x02", b"PK\x01\x09")),
    "no_members": ("hw1.zip", packed()),
    "only_a_folder": ("hw1.zip", packed(("work/", b""))),
    "leads_out": ("hw1.zip", packed(("../double.py", RIGHT))),
    "absolute": ("hw1.zip", packed(("/double.py", RIGHT))),
    "long_name": ("hw1.zip", packed(("x" * 300 + "/double.py", RIGHT))),
    "deep_in_a_zip": ("hw1.zip", packed(("a/" * 20 + "double.py", RIGHT))),
    "many_in_a_zip": ("hw1.zip", packed(*((f"{n}/double.py", b"") for n in range(60)))),
    "unpacks_to_much": ("hw1.zip", packed(*((f"{n}.txt", bytes(24 << 20)) for n in range(3)))),
    "a_link_in_a_zip": ("hw1.zip", linked()),
    "huge_in_a_zip": ("hw1.zip", packed(("double.py", b"#" * (MAX_BYTES + 1)))),
    "a_zip_in_a_zip": ("hw1.zip", packed(("hw1.zip", GOOD))),
    "a_rar_in_a_zip": ("hw1.zip", packed(("hw1.rar", b"Rar!"))),
    "a_document_in_a_zip": ("hw1.zip", packed(("hw1.docx", b"PK"))),
    "double_rar": ("double.rar", b"Rar!"),
    "tar": ("hw1.tar.gz", b"\x1f\x8b"),
    "py_txt": ("double.py.txt", RIGHT.encode()),
    "pdf": ("homework.pdf", b"%PDF"),
    "docx": ("homework.docx", b"PK"),
    "photo": ("IMG_4711.jpg", b"\xff\xd8"),
    "bytecode": ("double.pyc", b"\0"),
    "other_name": ("answer.py", RIGHT.encode()),
    "text_online": ("onlinetext.html", RIGHT.encode()),
    "control_characters": ("\x1b[31mhomework\u202e.odt", b""),
    "formula": ("=HYPERLINK(evil);=1+1.xls", b""),
}  # fmt: skip


def bound(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def git(folder, *words):
    who = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def on_another_branch(folder):
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "begin")
    git(folder, "checkout", "-b", "my-work")
    (folder / "double.py").write_text(RIGHT)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "answer")
    git(folder, "checkout", "main")


def nine_zips(folder):
    for number in range(9):
        (folder / f"{number}.zip").write_bytes(packed((f"{number}.txt", b"x")))


KINDS = {
    "link": lambda folder: (folder / "double.py").symlink_to("/etc/hostname"),
    "dangling_link": lambda folder: (folder / "double.py").symlink_to("nowhere"),
    "link_to_a_folder": lambda folder: (folder / "exercises").symlink_to("/etc"),
    "fifo": lambda folder: os.mkfifo(folder / "double.py"),
    "zip_fifo": lambda folder: os.mkfifo(folder / "hw1.zip"),
    "zip_link": lambda folder: (folder / "hw1.zip").symlink_to("/etc/hostname"),
    "socket": lambda folder: bound(folder / "double.py"),
    "folder": lambda folder: (folder / "double.py").mkdir(),
    "too_deep": lambda folder: (folder / ("d/" * 12)).mkdir(parents=True),
    "another_branch": on_another_branch,
    "nine_zips": nine_zips,
}


def hand_in(folder, name):
    (folder / name).mkdir(parents=True)
    if name in FILES:
        file, data = FILES[name]
        (folder / name / file).write_bytes(data)
    else:
        KINDS[name](folder / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_in_a_class_of_work_that_cannot_be_judged_nobody_has_0(graded, tmp_path):
    students = [*FILES, *KINDS]
    assert len(students) >= 60
    for name in students:
        hand_in(tmp_path / "in", name)
    roster = Roster([Member(name) for name in students])
    counts, statistics, scores = graded(tmp_path / "in", roster)
    assert scores == dict.fromkeys(students)
    listed = rows(tmp_path / "out" / "by_hand.csv")[1:]
    assert sorted(row[0] for row in listed) == sorted(students)
    assert all(len(why) > 10 for *_, why in listed)
    for file in ("canvas.csv", "moodle.csv"):
        table = [row for row in rows(tmp_path / "out" / file) if row[0] in students or row[3:4] == [row[0]]]
        assert {cell for row in table for cell in row[2:]} <= {"", *students}, file
    for line in (tmp_path / "out" / "reports.jsonl").read_text().splitlines():
        assert json.loads(line)["total"] is None
    page = (tmp_path / "out" / "class.html").read_text()
    assert "Could not be judged" in page
    assert "\x1b" not in page
    assert statistics.faults == 0
    assert statistics.absent_count == 0
    assert counts.judged == sum(1 for name in students if name in FILES and FILES[name][0] == "double.py") - 1


@pytest.mark.parametrize("name", ["encrypted", "rar", "lfs", "notebook_of_many_cells", "latin_1"])
def test_a_student_reads_why_work_could_not_be_judged(graded, tmp_path, name):
    hand_in(tmp_path / "in", name)
    _, statistics, _ = graded(tmp_path / "in")
    page = (tmp_path / "out" / "students" / f"{name}.html").read_text()
    (row,) = rows(tmp_path / "out" / "by_hand.csv")[1:]
    said = {
        "encrypted": "double.py is encrypted in its zip file.",
        "rar": "hw1.zip cannot be read as a zip file: File is not a zip file.",
        "lfs": "double.py is a pointer of Git LFS, without the file's content: run `git lfs pull`.",
        "notebook_of_many_cells": "double.ipynb holds more than 1,000,000 values; clear its"
        " outputs and save it.",
        "latin_1": "double.py is not UTF-8: byte 2 cannot be read. Save it as UTF-8.",
    }[name]
    assert row[-1] == said
    assert "Handed in, and could not be judged." in page
    assert "It does not count as 0; your instructor will look. The score above is not final." in page
    assert "our own fault" not in page
    assert "Nothing was handed in." not in page
    assert statistics.faults == 0


def test_what_crashes_or_is_no_python_is_judged(graded, tmp_path, write):
    files = {"ada/double.py": "def double(:\n", "bob/double.py": RIGHT, "eve/readme.md": "hello"}
    _, _, scores = graded(write(tmp_path / "in", files))
    assert scores == {"ada": 0, "bob": 1000, "eve": 0}


def test_a_file_in_a_declared_encoding_is_read_as_python_reads_it(graded, tmp_path, write):
    folder = write(tmp_path / "in", {"ada/double.py": "", "bob/double.py": ""})
    (folder / "ada/double.py").write_bytes(
        "# -*- coding: latin-1 -*-\n# ö\n".encode("latin-1") + RIGHT.encode()
    )
    (folder / "bob/double.py").write_bytes(b"\xef\xbb\xbf" + RIGHT.encode())
    assert graded(folder)[2] == {"ada": 1000, "bob": 1000}


def test_work_on_the_graded_branch_is_judged_whatever_else_there_is(graded, tmp_path):
    hand_in(tmp_path / "in", "another_branch")
    repository = tmp_path / "in" / "another_branch"
    (repository / "double.py").write_text("def double(x):\n    return x\n")
    assert graded(tmp_path / "in")[2] == {"another_branch": 0}
    assert rows(tmp_path / "out" / "by_hand.csv")[1:] == []


def test_a_branch_that_is_merged_or_holds_no_answers_is_no_other_work(tmp_path):
    from dojo_classroom.times import Commits

    (tmp_path / "ada").mkdir()
    on_another_branch(tmp_path / "ada")
    assert Commits(tmp_path / "ada").other_branches() == ["my-work"]
    git(tmp_path / "ada", "pack-refs", "--all")
    assert Commits(tmp_path / "ada").other_branches() == ["my-work"]
    git(tmp_path / "ada", "merge", "my-work")
    assert Commits(tmp_path / "ada").other_branches() == []
    git(tmp_path / "ada", "checkout", "-b", "feedback")
    (tmp_path / "ada" / "feedback.html").write_text("x")
    git(tmp_path / "ada", "add", ".")
    git(tmp_path / "ada", "commit", "-m", "feedback")
    git(tmp_path / "ada", "checkout", "main")
    assert Commits(tmp_path / "ada").other_branches() == []


def test_the_terminal_says_how_many_could_not_be_judged(graded, tmp_path):
    hand_in(tmp_path / "in", "rar")
    hand_in(tmp_path / "in", "lfs")
    counts, statistics, _ = graded(tmp_path / "in")
    text = render(statistics, counts, tmp_path / "out")
    assert "1 file could not be judged: by_hand.csv says why." in text
    assert "1 submission could not be looked through: by_hand.csv says why." in text


# the same, where one submission or one file is graded

OF_ONE_FILE = [name for name, (file, _) in FILES.items() if file in ("double.py", "double.ipynb")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", [*FILES, *KINDS])
def test_a_single_submission_of_that_kind_is_laid_out_with_a_reason(tiny_course, tmp_path, name):
    hand_in(tmp_path, name)
    with laid_out(tiny_course, tmp_path / name) as (laid, notes, _):
        info = laid.kata_info("double")
        stub = laid.stub(info)
        if not notes:  # it is there, and is refused when it is read
            with pytest.raises(Unreadable):
                read_submission(info, stub)
        else:
            assert not stub.exists() or "raise NotImplementedError" in stub.read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(
    "name", [one for one in FILES if FILES[one][0][:7] == "double."] + ["link", "fifo", "folder"]
)
def test_a_file_of_that_kind_is_refused_in_one_sentence(info, tmp_path, name):
    hand_in(tmp_path, name)
    file = FILES.get(name, ("double.py", b""))[0]
    if not file.endswith((".py", ".ipynb")):
        pytest.skip("no file that `grade` takes")
    with pytest.raises(Unreadable, match=r"^\S.*\.$"):
        read_submission(info, tmp_path / name / file)


# one student who attacks the others

METADATA = """---
submission_1:
  :submitters:
  - :name: Eve
    :sid: ada
eve:
  :submitters:
  - :name: Ada
    :sid: ada
ada:
  :submitters:
  - :name: Eve
    :sid: eve
bob:
  :submitters:
  - :name: Eve
    :sid: eve
"""
WRONG = "def double(x):\n    return x\n"
ATTACKS = {
    "metadata of Gradescope": {"submission_metadata.yml": METADATA, "double.py": WRONG},
    "metadata that is no text": {"submission_metadata.yml": b"\xff\xfe", "double.py": WRONG},
    "metadata in a folder": {"in/submission_metadata.yml": METADATA, "in/double.py": WRONG},
    "folders of the others": {"ada/double.py": WRONG, "bob/double.py": RIGHT, "double.py": WRONG},
    "names as Canvas writes them": {"ada_1_2_double.py": WRONG, "bob_3_4_double.py": WRONG},
    "names as Moodle writes them": {"Ada_1_assignsubmission_file_/double.py": WRONG},
    "a zip that leads out": {"eve.zip": packed(("../ada/double.py", WRONG), ("../../bob.zip", GOOD))},
    "a zip of folders": {"ada.zip": packed(("ada/double.py", WRONG), ("submission_metadata.yml", METADATA))},
    "a roster": {"roster.csv": "id\nzoe\n", "policy.toml": "total = 0", "double.py": WRONG},
    "a manifest": {".dojo-release.json": '{"version": 1, "files": {"../ada/double.py": "x"}}'},
    "many files of one name": {f"{number}/double.py": "#" * 5000 for number in range(300)},
    "an archive of a million": {"hw1.zip": packed(*((f"{n}.py", b"") for n in range(6000)))},
    "a bomb": {"hw1.zip": packed(*((f"{n}.py", bytes(24 << 20)) for n in range(3)))},
    "forty notebooks": {f"{n}/double.ipynb": b'{"cells": [' + b"{}," * 9000 + b"{}]}" for n in range(40)},
    "a repository": {".git/config": "[core]\nfsmonitor = touch /tmp/owned\n", ".git/HEAD": "ref: refs/../x"},
    "a submitted folder": {"submitted/ada/double.py": WRONG, "exercises/x/double.py": WRONG},
    "names that act": {"=cmd|' /C calc'!A0.py": "", "\x1b[2J.py": "", "</td><script>.py": ""},
}


def others(tmp_path, out):
    """What the files for the platforms say of everybody but the attacker."""
    tables = {
        file: [row for row in rows(tmp_path / out / file) if "eve" not in row]
        for file in ("canvas.csv", "moodle.csv", "by_hand.csv")
    }
    pages = {
        name: (tmp_path / out / "students" / f"{name}.html").read_text() for name in ("ada", "bob", "zoe")
    }
    return tables, pages


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["folder", "zip", "zip_in_a_folder"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_changes_nobodys_points_but_the_attackers(graded, tmp_path, attack, layout):
    roster = Roster([Member(name) for name in ("ada", "bob", "eve", "zoe")])
    honest = {"ada/double.py": RIGHT, "bob/double.py": WRONG}
    for out, files in (
        ("before", {"eve/double.py": WRONG}),
        ("after", {f"eve/{n}": d for n, d in ATTACKS[attack].items()}),
    ):
        path = tmp_path / f"{out}-in"
        if layout == "folder":
            for name, data in {**honest, **files}.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        else:
            above = "class/" if layout == "zip_in_a_folder" else ""
            path = path.with_suffix(".zip")
            path.write_bytes(packed(*((above + name, data) for name, data in {**honest, **files}.items())))
        _, _, scores = graded(path, roster, out)
        assert (scores["ada"], scores["bob"], scores["zoe"]) == (1000, 0, 0)
    assert others(tmp_path, "after") == others(tmp_path, "before")


def test_gradescopes_own_metadata_still_say_who_is_who(graded, tmp_path):
    metadata = "---\nsubmission_1:\n  :submitters:\n  - :name: Ada\n    :sid: ada\n"
    for above in ("", "assignment_7_export/"):
        path = tmp_path / "in.zip"
        files = {"submission_metadata.yml": metadata, "submission_1/double.py": RIGHT}
        path.write_bytes(packed(*((above + name, data) for name, data in files.items())))
        assert graded(path, out=f"out{len(above)}")[2] == {"ada": 1000}
