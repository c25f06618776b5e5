"""Git is asked in one way, which nothing in a student's folder can change, and within limits."""

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

import grader
from dojo_classroom.found_files import files_below
from dojo_classroom.times import Commits
from grader.course import git
from grader.course.git import Allowance, GitRefused, NoAnswer, Repository
from grader.course.state import CourseState
from grader.course.stubs import Versions, stub_source

WHO = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ORDINARY = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **WHO}


def run(folder, *words):
    command = ["git", "-c", "init.defaultBranch=main", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, env=ORDINARY)
    return done.stdout.decode().strip()


def committed(folder, text):
    """Make a repository that holds one file with this text, and return its folder."""
    folder.mkdir()
    run(folder, "init", "-q")
    (folder / "softmax.py").write_text(text)
    run(folder, "add", ".")
    run(folder, "commit", "-qm", "x")
    return folder


@pytest.fixture
def repository(tmp_path):
    return committed(tmp_path / "ann", "# x\n")


def asked(folder, *words):
    repository = Repository(folder)
    head = repository.head()
    return repository.ask(head, *(words or ("ls-tree", "--name-only", head)))


def test_git_is_asked_about_the_objects_of_a_repository(repository):
    assert asked(repository) == b"softmax.py\n"
    assert Repository.around(repository / "a" / "b.py").root == repository
    with pytest.raises(NoAnswer, match="no repository"):
        Repository.around(Path("/nonexistent/a"))
    with pytest.raises(NoAnswer, match="cannot read"):
        asked(repository, "cat-file", "blob", "f" * 40)


def without_tree(folder):
    """Remove a tree, so that a partial clone would fetch it."""
    tree = run(folder, "rev-parse", "HEAD^{tree}")
    (folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()


SETTINGS = """
[core]
    fsmonitor = "touch {trace}; true"
    sshCommand = touch {trace}
    hooksPath = {hooks}
    pager = touch {trace}
    alternateRefsCommand = touch {trace}
[extensions]
    partialClone = origin
    worktreeConfig = true
[include]
    path = {hooks}/more
[remote "origin"]
    url = ext::touch {trace}
    promisor = true
[protocol "ext"]
    allow = always
[log]
    showSignature = true
[gpg]
    program = {hooks}/pre-commit
[filter "x"]
    smudge = touch {trace}
[diff "x"]
    textconv = touch {trace}
"""


@pytest.fixture
def trap(repository, tmp_path):
    """Settings, in each place that Git looks at, which name a program that leaves a trace."""
    trace, hooks = tmp_path / "trace", tmp_path / "hooks"
    hooks.mkdir()
    program = f"#!/bin/sh\ntouch {trace}\n"
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(program)
        (hooks / name).chmod(0o755)
    text = SETTINGS.format(trace=trace, hooks=hooks)
    (hooks / "more").write_text(text.replace("[include]", "[unused]"))
    for name in ("config", "config.worktree"):
        with (repository / ".git" / name).open("a") as file:
            file.write(text)
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    return trace


def test_nothing_that_a_repository_names_is_run(repository, trap):
    without_tree(repository)
    subprocess.run(  # the trap works
        ["git", "show", "HEAD:softmax.py"], cwd=repository, capture_output=True, env=ORDINARY, timeout=60
    )
    assert trap.exists()
    trap.unlink()
    commits = Commits(repository)
    assert commits.handed_in(repository / "softmax.py") is None
    assert commits.other_branches() == []
    with pytest.raises(NoAnswer):
        asked(repository)
    assert not trap.exists()


@pytest.fixture
def course(tiny_course, repository, trap):  # noqa: ARG001  # the trap is in the repository
    """A course whose exercises lie in the repository that names programs, and are committed in it."""
    shutil.copytree(tiny_course.exercises, repository / "exercises")
    return type(tiny_course)(tiny_course.root, repository / "exercises")


def stub_in_git(course):
    info = course.kata_info("double")
    path = course.stub(info)
    shipped = path.read_bytes()
    run(course.exercises.parent, "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "add", "-f", ".")
    run(
        course.exercises.parent,
        "-c",
        "core.fsmonitor=",
        "-c",
        "core.hooksPath=/dev/null",
        "commit",
        "-qm",
        "x",
    )
    path.write_text("def double(x):\n    return x\n")
    return info, shipped


def test_a_stub_is_found_in_a_repository_that_names_programs(course, trap, tmp_path):
    info, shipped = stub_in_git(course)
    trap.unlink(missing_ok=True)
    assert stub_source(course, info, Versions(tmp_path / "none")) == shipped
    assert not trap.exists()


def test_a_bare_repository_among_the_exercises_is_not_looked_at(tiny_course, repository, trap):
    without_tree(repository)
    info = tiny_course.kata_info("double")
    folder = tiny_course.stub(info).parent
    tiny_course.stub(info).write_text("def double(x):\n    return x\n")
    for path in (repository / ".git").rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(repository / ".git")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    assert stub_source(tiny_course, info, Versions(CourseState(tiny_course).folder)) is None
    assert not trap.exists()


def other(folder):
    """Return another repository whose objects the one in a folder may not have."""
    return committed(folder.parent / "bob", "# the answer of another\n")


def borrows(folder, another):
    (folder / ".git/objects/info").mkdir(exist_ok=True)
    (folder / ".git/objects/info/alternates").write_text(f"{another / '.git/objects'}\n")


def has_a_link(folder, another):
    (folder / ".git/objects/pack").rmdir()
    (folder / ".git/objects/pack").symlink_to(another / ".git/objects/pack")


def is_a_link(folder, _):
    (folder / ".git").rename(folder / "moved")
    (folder / ".git").symlink_to(folder / "moved")


def is_a_file(folder, another):
    (folder / ".git").rename(folder / "moved")
    (folder / ".git").write_text(f"gitdir: {another / '.git'}\n")


def has_common_folder(folder, another):
    (folder / ".git/commondir").write_text(f"{another / '.git'}\n")


@pytest.mark.parametrize("changed", [borrows, has_a_link, is_a_link, is_a_file, has_common_folder])
def test_objects_of_another_repository_are_not_read(repository, changed):
    another = other(repository)
    head = Repository(another).head()
    changed(repository, another)
    with pytest.raises((OSError, NoAnswer)):
        Repository(repository).ask(head, "cat-file", "commit", head)


def test_a_name_of_two_lines_borrows_nothing(repository):
    another = other(repository)
    moved = repository.parent / f"x\n{another}"
    moved.parent.mkdir(parents=True)
    repository.rename(moved)
    with pytest.raises(GitRefused, match="a name that Git cannot be told"):
        asked(moved)


def test_a_replaced_object_is_read_as_it_was(repository):
    run(repository, "commit", "-qm", "y", "--allow-empty")
    head = Repository(repository).head()
    run(repository, "replace", head, "HEAD~1")
    assert b"\ny\n" in asked(repository, "cat-file", "commit", head)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
@pytest.mark.parametrize("place", ["info/alternates", "pack/pack-1.idx", "11/" + 38 * "1"])
def test_a_fifo_among_the_objects_is_not_opened(repository, place):
    path = repository / ".git" / "objects" / place
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(GitRefused, match="no plain file"):
        asked(repository)


def test_what_git_may_do_counts_for_all_repositories_of_a_student(repository, monkeypatch):
    run(repository, "branch", "more")
    (repository / ".git/refs/heads/more").write_text("2" * 40 + "\n")
    for number in range(5):
        inner = repository / f"d{number}"
        inner.mkdir()
        subprocess.run(["cp", "-r", repository / ".git", inner / ".git"], check=True)
    asked_before = []
    monkeypatch.setattr(
        Repository, "_run", lambda self, *_: asked_before.append(self._allowance) or time.sleep(0.05) or b"x"
    )
    monkeypatch.setattr(git.Allowance.__init__, "__defaults__", (0.08, git.OUTPUT))
    troubles = [file.trouble for file in files_below(repository) if file.trouble]
    assert troubles[0] == "There is work on another branch than the graded one: more."
    assert troubles[-1] == (
        "Whether there is work on another branch is not known: Git has used up its time for one submission."
    )
    assert len(troubles) == 6
    assert len(asked_before) < 6
    assert len(set(map(id, asked_before))) == 1


def test_output_is_limited_over_all_questions(repository):
    left = Allowance(output=15)
    limited = Repository(repository, left)
    head = limited.head()
    words = ("ls-tree", "--name-only", head)  # 11 bytes
    assert limited.ask(head, *words) == b"softmax.py\n"
    with pytest.raises(GitRefused, match="found too much"):
        limited.ask(head, *words)
    with pytest.raises(GitRefused, match="used up"):
        limited.head()


def test_a_git_that_takes_too_long_is_ended(repository, monkeypatch):
    monkeypatch.setattr(git, "LIMITED", ("/bin/sh", "-c", "exec sleep 600"))
    limited = Repository(repository, Allowance(seconds=0.5))
    with pytest.raises(GitRefused, match="took too long"):
        limited.ask(limited.head(), "log")


def loose(folder, kind, size):
    """Write an object of zeros that inflates to `size` bytes, and return its hash."""
    head = b"%s %d\0" % (kind, size)
    digest, packed, squeezed = hashlib.sha1(head), [], zlib.compressobj(9)
    packed.append(squeezed.compress(head))
    for _ in range(size >> 20):
        digest.update(bytes(1 << 20))
        packed.append(squeezed.compress(bytes(1 << 20)))
    packed.append(squeezed.flush())
    name = digest.hexdigest()
    path = folder / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(packed))
    return name


def commit_of(folder, tree):
    text = b"tree %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n" % tree.encode()
    data = b"commit %d\0%s" % (len(text), text)
    name = hashlib.sha1(data).hexdigest()
    path = folder / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data))
    (folder / ".git/refs/heads/main").write_text(f"{name}\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems know no limit of memory")
@pytest.mark.parametrize("kind", [b"tree", b"commit"])
def test_an_object_that_unpacks_to_much_ends_git_and_not_the_machine(repository, kind, monkeypatch):
    monkeypatch.setattr(git, "LIMITED", (*git.LIMITED[:3], str(100 << 10)))
    bomb = loose(repository, kind, 200 << 20)
    if kind == b"tree":
        commit_of(repository, bomb)
    else:
        (repository / ".git/refs/heads/main").write_text(f"{bomb}\n")
    commits = Commits(repository)
    with pytest.raises(NoAnswer):
        commits.ask(commits.head(), "log", "--raw", commits.head())
    assert commits.handed_in(repository / "softmax.py") is None


def test_a_limit_of_memory_holds_for_git(monkeypatch):
    monkeypatch.setattr(git, "LIMITED", (*git.LIMITED[:2], f"{git.LIMITED[2]} & ulimit -v", git.LIMITED[3]))
    limit = subprocess.run([*git.LIMITED, "true"], capture_output=True, check=False).stdout.decode()
    assert limit.split()[-1:] == [str(git.MEMORY >> 10)]


def test_the_time_of_the_commit_is_printed_for_a_host(repository):
    command = [sys.executable, "-m", "grader.course.git", repository]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == run(repository, "log", "-1", "--format=%cI")
    empty = subprocess.run([*command[:3], "/nonexistent"], capture_output=True, text=True, check=True)
    assert empty.stdout == ""


# who else starts Git

ROOTS = (Path(grader.__file__).parent, Path(__file__).parents[3] / "plugins")
STARTS = re.compile(r"(?:^|[\s;&|(])git(?:\s+-C\s+\S+)?\s+[a-z-]+\b")
#: The scripts that start Git, and in which folder.
SCRIPTS = {
    "update.sh": "in a clone that it has just made",
    "give_back.sh": "in a clone that it has just made",
}


def of_git(tree):
    """Yield the lines of a module that may start Git: `git` as a whole text, or as the first word of one."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.split(" ")[0] == "git"
        ):
            yield node.lineno


def test_nothing_else_starts_git():
    found = {
        path.name
        for root in ROOTS
        for path in sorted(root.rglob("*.py"))
        if list(of_git(ast.parse(path.read_text("utf-8"))))
    }
    assert found == {"git.py"}


def test_the_scripts_that_start_git_are_known():
    texts = [path for root in ROOTS for path in root.rglob("*") if path.suffix in (".sh", ".txt", ".yml")]
    found = {
        path.name
        for path in texts
        if any(STARTS.search(line) for line in path.read_text("utf-8").splitlines() if "#" not in line[:1])
        and path.suffix != ".yml"
    }
    assert found == SCRIPTS.keys()
