"""One reader of files from elsewhere: regular files of limited size, opened once."""

import json
import os
import socket
import threading
import time
from contextlib import suppress
from hashlib import sha256
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dojo_page.files import NotWritten, write_edited
from dojo_page.history import History
from dojo_show import command as speak
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.course import release_manifest
from grader.course.catalog import Course, CourseError
from grader.course.files import NotReadable, read_file, safe_parts
from grader.course.state import CourseState, file_digest
from grader.course.stubs import BEST_COPIES, STUB_COPIES, Versions

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")

SECRET = "machine example.org password hunter2"


def link_to_a_secret(path):
    path.with_name("netrc").write_text(f"{SECRET}\n")
    path.symlink_to(path.with_name("netrc"))


def bound_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


KINDS = {
    "a FIFO": (os.mkfifo, "is no regular file"),
    "a link": (link_to_a_secret, "is a link"),
    "a dangling link": (lambda path: path.symlink_to("nowhere"), "is a link"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "is a link"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "a folder": (os.mkdir, "is a folder"),
    "a socket": (bound_socket, "is no regular file"),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def made(kind, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind][0](path)
    return path


@kinds
def test_what_is_no_regular_file_is_not_read(tmp_path, kind):
    with pytest.raises(NotReadable, match=KINDS[kind][1]):
        read_file(made(kind, tmp_path / "double.py"))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read_though_its_link_may_be_followed(tmp_path, device):
    (tmp_path / "roster.csv").symlink_to(device)
    with pytest.raises(NotReadable, match="is no regular file"):
        read_file(tmp_path / "roster.csv", follows_links=True)


def test_a_file_that_grows_while_it_is_read_ends_at_the_limit(tmp_path):
    path = tmp_path / "double.py"
    path.touch()
    ends = threading.Event()

    def grow():
        with path.open("ab", buffering=0) as file:
            while not ends.is_set():
                file.write(bytes(1 << 16))

    growing = threading.Thread(target=grow)
    growing.start()
    while path.stat().st_size <= 1 << 20:
        time.sleep(0.001)
    try:
        with pytest.raises(NotReadable, match="is larger than 1 MiB"):
            read_file(path, 1 << 20)
    finally:
        ends.set()
        growing.join()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b.py", ("a", "b.py")),
        ("../x", ()),
        ("/etc/passwd", ()),
        ("C:\\x", ()),
        ("a/../../x", ()),
        ("", ()),
    ],
)
def test_a_name_stays_in_its_folder(name, parts):
    assert safe_parts(name) == parts


@kinds
def test_a_student_s_file_that_is_none_gets_a_report(tiny_course, tmp_path, kind):
    path = made(kind, tmp_path / "double.py")
    words = ["double", "--course", tiny_course.root, "--file", path, "--format", "json"]
    result = CliRunner().invoke(grade, list(map(str, words)))
    assert result.exit_code == 2, result.output
    [report] = json.loads(result.stdout)["katas"]
    assert [report["status"], report["score"]] == ["error", 0]
    assert report["message"] == f"double.py {KINDS[kind][1]}; a Python file is needed."
    assert SECRET not in result.output


@kinds
def test_one_file_that_is_none_leaves_the_class_graded(tiny_course, tmp_path, kind):
    made(kind, tmp_path / "in" / "ada" / "double.py")
    (tmp_path / "in" / "bob").mkdir()
    (tmp_path / "in" / "bob" / "double.py").write_text("def double(x):\n    return x + x\n")
    words = ["grade", tmp_path / "in", "--course", tiny_course.root, "--kata", "double", "--graders", "1"]
    result = CliRunner().invoke(kata, [*map(str, words), "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"bob" in written
    assert SECRET.encode() not in written + result.output.encode()


@kinds
def test_a_submission_with_a_file_that_is_none_gets_a_report(tiny_course, tmp_path, kind):
    made(kind, tmp_path / "in" / "double.py")
    words = ["--course", tiny_course.root, "--submission", tmp_path / "in", "--format", "json"]
    result = CliRunner().invoke(grade, list(map(str, words)))
    assert result.exit_code in (0, 1, 2), result.output
    assert json.loads(result.stdout)["score"] == 0
    assert SECRET not in result.output


@kinds
def test_what_is_remembered_is_not_read_from_elsewhere(tiny_course, tmp_path, kind):
    info = tiny_course.kata_info("double")
    path = made(kind, tmp_path / "double.py")
    versions = Versions(tmp_path / ".dojo")
    versions.keep(BEST_COPIES, info, path)
    assert versions.kept(BEST_COPIES, info) is None
    assert file_digest(info, path) == ""
    state = CourseState(tiny_course)
    state.folder = tmp_path / "state"
    made(kind, state.folder / "state.json")
    assert state.katas() == {}


@pytest.fixture
def outside(tmp_path):
    """A folder that a link in a student's own folder leads to, with a file that must stay as it is."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "state.json").write_text(SECRET)
    yield folder
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("state.json", SECRET)]


@pytest.fixture
def own(write, tiny_files, tmp_path):
    return Course(write(tmp_path / "course", tiny_files))


@pytest.mark.parametrize("words", [[], ["--hint"], ["--again"]])
def test_a_link_in_place_of_what_is_remembered_is_not_followed(own, outside, words):
    CourseState(own).folder.symlink_to(outside)
    said = CliRunner().invoke(grade, ["double", "--course", str(own.root), *words], input="y\n")
    assert said.exit_code in (0, 1, 4), said.output
    assert ".dojo is a link: make it a folder of its own. It stays as it is" in said.stderr
    assert SECRET not in said.output


def test_the_page_of_see_is_written_through_no_link(own, outside):
    CourseState(own).folder.symlink_to(outside)
    with pytest.raises(CourseError, match=r"\.dojo is a link"):
        speak.write_page(own, None, b"")


@pytest.mark.parametrize("inner", ["stubs", "best", "replaced", "history"])
def test_a_link_inside_of_what_is_remembered_is_not_followed(own, outside, inner):
    info, state = own.kata_info("double"), CourseState(own)
    state.folder.mkdir()
    (state.folder / inner).symlink_to(outside)
    (outside / "state.json").rename(outside / "double.py")
    versions, source = Versions(state.folder), own.stub(info).read_text()
    versions.keep(STUB_COPIES, info, own.stub(info))
    versions.keep(BEST_COPIES, info, own.stub(info))
    with suppress(NotReadable):
        versions.replace(info, own.stub(info), b"x = 1")
    history = History(state.folder, "double")
    history.add(
        SimpleNamespace(digest=sha256(source.encode()).hexdigest(), status="passed", score=1, max_score=1),
        source,
    )
    assert versions.kept(inner, info) is None
    assert inner != "history" or not history.versions()
    (outside / "double.py").rename(outside / "state.json")


def test_the_page_saves_through_no_link(own, outside):
    info = own.kata_info("double")
    track = own.stub(info).parent
    own.stub(info).unlink()
    track.rmdir()
    track.symlink_to(outside)
    with pytest.raises(NotWritten, match=f"{info.track} is a link, so double.py is not written."):
        write_edited(own.stub(info), "x = 1\n", "")


def test_what_is_remembered_lies_beside_the_exercises_and_not_where_they_lead(own, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "exercises").symlink_to(own.exercises)
    course = Course(own.root, tmp_path / "theirs" / "exercises")
    assert CourseState(course).folder == tmp_path / "theirs" / ".dojo"


#: What may lie in place of a file, and cannot be read as what it should be.
FOREIGN = {
    **{kind: make for kind, (make, _) in KINDS.items() if kind != "a socket"},
    "huge": lambda path: (path.touch(), os.truncate(path, 1 << 28)),
    "not UTF-8": lambda path: path.write_bytes(b"# \xff\xfe"),
    "null bytes": lambda path: path.write_bytes(bytes(9)),
    "deep": lambda path: path.write_bytes(b"x = " + b"(" * 99_999),
}
STUDENT_S = {
    "grade": ["double"],
    "hint": ["double", "--hint"],
    "again": ["double", "--again"],
    "solution": ["double", "--solution"],
    "list": ["--list"],
}


@pytest.mark.parametrize("file", ["the answer", "the state", "the best version"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_every_command_of_a_student_reads_what_is_no_such_file_and_ends(own, kind, file):
    info, folder = own.kata_info("double"), CourseState(own).folder
    places = {
        "the answer": own.stub(info),
        "the state": folder / "state.json",
        "the best version": folder / "best" / "double.py",
    }
    path = places[file]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    FOREIGN[kind](path)
    for name, words in STUDENT_S.items():
        said = CliRunner().invoke(grade, [*words, "--course", str(own.root)], input="n\n")
        assert said.exit_code in (0, 1, 2, 4), (name, said.output, said.exception)
        assert SECRET not in said.output


AUTHOR_S = {
    "preview": lambda own, _, out: ["preview", "double", "--course", own.root, "--output", out],
    "import": lambda own, file, _: ["import", "attention/more", file, "--course", own.root],
    "import with a solution": lambda own, file, out: [
        "import", "attention/more", out.parent, "--solution", file, "--course", own.root
    ],
    "import of a notebook": lambda own, file, out: [
        "import", "attention/more", file.rename(out.with_name("it.ipynb")), "--course", own.root
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in FOREIGN if kind != "a folder"])
@pytest.mark.parametrize("command", AUTHOR_S)
def test_every_command_of_an_author_says_that_a_file_cannot_be_read(own, tmp_path, command, kind):
    path, out = own.stub(own.kata_info("double")), tmp_path / "out"
    out.with_name("test_it.py").write_text(
        "from double import double\n\ndef test_it():\n    assert double(1)\n"
    )
    path.unlink()
    FOREIGN[kind](path)
    said = CliRunner().invoke(kata, list(map(str, AUTHOR_S[command](own, path, out))))
    assert said.exit_code in (2, 4), (said.output, said.exception)
    assert said.output.count("\n") <= 4
    assert "Traceback" not in said.output
    assert not out.exists()


def test_a_syntax_error_shows_the_line_of_the_bytes_that_were_read(tiny_course, tmp_path):
    path = tmp_path / "double.py"
    path.write_text("def double(x)\n    return x\n")
    words = ["double", "--course", tiny_course.root, "--file", path]
    shown = CliRunner().invoke(grade, list(map(str, words))).stderr
    assert "  1 │ def double(x)\n" in shown
    words += ["--format", "json"]
    [report] = json.loads(CliRunner().invoke(grade, list(map(str, words))).stdout)["katas"]
    assert report["excerpt"] == "  1 │ def double(x)\n    │              ^"


@pytest.mark.parametrize("name", ["../victim/x", "/victim/x", "keys/../../victim/x"])
def test_a_manifest_that_names_files_elsewhere_is_damaged(tmp_path, name):
    (tmp_path / "course").mkdir()
    manifest = {"version": 1, "files": {name: "0" * 64}}
    (tmp_path / "course" / release_manifest.NAME).write_text(json.dumps(manifest))
    with pytest.raises(CourseError, match="which is not in this folder"):
        release_manifest.read_list(tmp_path / "course")
