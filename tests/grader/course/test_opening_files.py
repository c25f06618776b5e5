"""One door for what is handed in: folders by descriptor, zips by their directory, with limits stated once."""

import ast
import io
import os
import zipfile
from pathlib import Path

import pytest

import grader
from grader.course.archives import Zip
from grader.course.files import Folder, Limits, NotReadable, TooLarge, read_below


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "theirs").mkdir()
    with Folder(tmp_path / "theirs") as opened:
        yield opened


def test_what_is_written_below_a_folder_can_be_read(folder):
    folder.write("best", "softmax.py", data=b"x = 1")
    assert folder.read("best", "softmax.py") == b"x = 1"
    assert [(entry.name, entry.is_folder) for entry in folder.entries()] == [("best", True)]
    assert os.listdir(folder.path / "best") == ["softmax.py"]  # no draft is left


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\0b"])
def test_no_name_leads_out_of_a_folder(folder, name):
    for use in (folder.read, folder.remove, folder.folder, lambda *parts: folder.write(*parts, data=b"")):
        with pytest.raises(NotReadable, match="leads out"):
            use("best", name)


def test_no_link_on_the_way_is_followed(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_bytes(b"secret")
    (folder.path / "best").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotReadable, match="is a link"):
        folder.read("best", "secret")
    with pytest.raises(NotReadable, match="is a link"):
        folder.write("best", "new", data=b"x")
    with pytest.raises(NotReadable, match="is a link"):
        read_below(folder.path, ("best", "secret"))
    assert os.listdir(tmp_path / "elsewhere") == ["secret"]


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(folder, tmp_path):
    (tmp_path / "victim").write_bytes(b"as it was")
    (folder.path / "state.json").symlink_to(tmp_path / "victim")
    (folder.path / f".state.json.{os.getpid()}.draft").symlink_to(tmp_path / "victim")
    folder.write("state.json", data=b"{}")
    assert (tmp_path / "victim").read_bytes() == b"as it was"
    assert folder.read("state.json") == b"{}"


def test_a_folder_that_is_moved_away_is_still_the_one_that_was_opened(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    folder.path.rename(tmp_path / "moved")
    folder.path.symlink_to(tmp_path / "elsewhere")
    folder.write("x", data=b"1")
    assert os.listdir(tmp_path / "moved") == ["x"]
    assert not os.listdir(tmp_path / "elsewhere")


def test_what_is_no_folder_is_not_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(NotReadable, match="is no folder"):
        Folder(tmp_path / "file")
    with pytest.raises(NotReadable, match="is a link"):
        Folder(tmp_path / "link", follows_links=False)


def test_a_failed_write_leaves_nothing(folder):
    (folder.path / "x").mkdir()
    with pytest.raises(OSError, match="directory"):
        folder.write("x", data=b"1")
    assert os.listdir(folder.path) == ["x"]


def packed(*files, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_entries_of_one_name_the_last_counts():
    archive = Zip(packed(("a.py", b"first"), ("a.py", b"last")))
    assert archive.read(("a.py",), 100) == b"last"


def test_an_archive_of_too_many_files_is_refused_before_they_are_listed():
    many = packed(*((f"{number}.py", b"") for number in range(60)))
    with pytest.raises(TooLarge, match="more than 50 files"):
        Zip(many, Limits(members=50))
    huge = bytearray(packed(("a.py", b"")))
    end = huge.rindex(b"PK\x05\x06")
    huge[end:end] = bytes(3 << 20)  # a directory of 3 MiB
    at = huge.rindex(b"PK\x05\x06")
    huge[at + 12 : at + 16] = (3 << 20).to_bytes(4, "little")
    with pytest.raises(TooLarge, match="more than 5,000 files"):
        Zip(bytes(huge))


def test_an_archive_that_unpacks_to_too_much_is_refused():
    with pytest.raises(TooLarge, match="times its size"):
        Zip(packed(("a.py", bytes(1 << 20))), Limits(free=1000))
    with pytest.raises(TooLarge, match="unpacks to more than"):
        Zip(packed(("a.py", bytes(3 << 20))), Limits(size=2 << 20))


def test_members_that_lead_out_are_long_or_deep_are_not_listed():
    archive = Zip(packed(("../a.py", b""), ("x" * 300, b""), ("a/" * 9 + "b.py", b""), ("c/d.py", b"")))
    assert list(archive.members) == [("c", "d.py")]
    assert len(archive.unsafe) == 3


CUT = packed(("a.py", b"x" * 99))[:-30]


@pytest.mark.parametrize("data", [b"Rar!\x1a\x07\x00", b"", CUT], ids=["rar", "empty", "cut"])
def test_what_is_no_whole_zip_is_refused_with_a_reason(data):
    with pytest.raises(NotReadable, match="cannot be read as a zip file"):
        Zip(data)


# who else opens files

PACKAGES = (Path(grader.__file__).parent, Path(__file__).parents[3] / "plugins")
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "extractall", "extract"}
LIBRARIES = {"zipfile", "shutil", "tarfile"}
COURSE = "reads files of the course, which belong to whoever runs it"
OWN_FOLDER = "writes into a folder that it has just made"
RESULTS = "writes into the folder of results that the instructor names"
#: The modules and folders that open files by themselves, and why that is no way in.
ELSEWHERE = {
    "answer_keys/": COURSE,
    "dojo_authoring/": COURSE + "",
    "cases/": "looks for what is in the cache",
    "dojo_classroom/command.py": COURSE,
    "dojo_classroom/outputs.py": RESULTS,
    "dojo_classroom/give_back.py": RESULTS + "; packs zips",
    "dojo_classroom/analytics.py": RESULTS,
    "dojo_classroom/ray_pool.py": "unpacks the course that it packed itself on another machine",
    "dojo_classroom/run.py": COURSE,
    "dojo_classroom/laid_out.py": OWN_FOLDER + ", and copies the course's exercises there",
    "dojo_classroom/task.py": COURSE,
    "dojo_classroom/times.py": "asks what a zip says of a time",
    "cli/console.py": "asks how high the terminal is",
    "cli/keyboard.py": "asks how wide the terminal is",
    "cli/loop.py": "opens an editor",
    "cli/options.py": "asks how wide the terminal is",
    "cli/output.py": "writes the files that the command line names",
    "dojo_page/command.py": OWN_FOLDER + ", for the browser that it starts",
    "dojo_classroom/regrade.py": OWN_FOLDER + ", from the course's own repository",
    "cli/practice.py": "asks how wide the terminal is",
    "course/shown_solutions.py": "reads the solutions in the installed wheel",
    "dojo_authoring/release/starter.py": "packs and unpacks the course in the installed wheel",
    "course/archives.py": "is the door for zips",
    "course/files.py": "is the door",
    "course/renaming.py": COURSE,
    "course/stubs.py": "reads the installed wheel",
    "course/git.py": OWN_FOLDER + ", in which Git runs",
    "course/syllabus.py": COURSE,
    "formats/": "reads its templates",
    "installing.py": "reads what made the environment that runs",
    "dojo_editor/lsp/server.py": OWN_FOLDER + ", which it removes at its end",
    "plugins.py": "reads which commands the installed grader has",
    "dojo_audit/": "opens homework, in processes that hold no course",
    "dojo_notebooks/magics.py": OWN_FOLDER + ", for `grade` in another process",
    "dojo_notebooks/": COURSE,
    "dojo_page/": "opens dialogs, templates, and the file that its user is writing",
    "dojo_show/": "reads the demonstration of the course, and keeps its pages",
    "worker/": "stands beside a submission, or starts what does",
}


def openings(tree):
    """Yield what a module opens by itself, with the line."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, one.name) for one in names if one.name.split(".")[0] in LIBRARIES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in LIBRARIES:
                yield node.lineno, module
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open"
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS | {"open"}:
                yield node.lineno, f".{name}"


@pytest.mark.slow
def test_nothing_opens_files_of_others_but_the_door():
    found = {
        path.relative_to(package).as_posix(): sorted(openings(ast.parse(path.read_text("utf-8"))))
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
    }
    unlisted = {name: used for name, used in found.items() if used and not name.startswith(tuple(ELSEWHERE))}
    assert not unlisted, "read and write it by grader.course.files, or say here why not"
    for where in ELSEWHERE:
        assert any(used for name, used in found.items() if name.startswith(where)), f"{where} opens nothing"
