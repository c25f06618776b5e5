"""Tests that a release has no solutions, grades as the course does, and keeps a student's work."""

import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from datetime import date
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import grader
from dojo_authoring.release import repository, starter
from dojo_authoring.release.wheel import build_wheel
from dojo_authoring.verify.record import write_record
from grader.answer_keys.file import KeyFile, new_secret, unseal
from grader.cli.grade import grade as run_grade
from grader.cli.kata import kata as run_kata
from grader.course import release_manifest
from grader.course.catalog import Course
from grader.course.renaming import note_for
from grader.grading import session

from ...conftest import CENTER, DOUBLE
from ...grader.leaks import leaks

ROOT = Path(__file__).resolve().parents[3]
RIGHT = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"
WRONG = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return 3 * x\n"


@pytest.fixture(autouse=True)
def _one_wheel(wheel, monkeypatch):
    """Every release takes the same wheel, since building one takes as long as the rest of a small release."""
    monkeypatch.setattr(repository, "build_wheel", lambda: wheel)


@pytest.fixture
def release(tiny_course, tmp_path, monkeypatch):
    """`release(*options)` writes a release of `double` into `tmp_path / "out"`."""
    monkeypatch.chdir(tiny_course.root)

    def release(*options, folder="out", name="double"):
        arguments = ["release", str(tmp_path / folder), name, *map(str, options)]
        return CliRunner().invoke(run_kata, arguments)

    return release


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# --- no solution, anywhere --------------------------------------------------------------------------


def test_a_release_holds_nothing_of_the_solutions(release, tiny_course, tmp_path):
    bundle, archive = tmp_path / "out" / "bundle", tmp_path / "out" / "dojo.zip"
    result = release("--gradescope", archive, "--classroom50", bundle)
    assert result.exit_code == 0, result.output
    public = [tiny_course.root / "exercises", tiny_course.root / "tests"]
    assert leaks(tmp_path / "out", tiny_course.root / "solutions", public) == []


@pytest.mark.parametrize("how", ["plain", "zipped", "in a wheel in a zip", "docstring"])
def test_the_search_finds_what_is_hidden(how, tmp_path):
    solutions, out = tmp_path / "solutions" / "k", tmp_path / "out"
    solutions.mkdir(parents=True)
    out.mkdir()
    docstring, body = (
        "It adds one to x and then returns what is due.",
        "cubed = x + 1\n    return cubed**3 - cubed",
    )
    source = f'def f(x):\n    """{docstring}"""\n    {body}\n'
    (solutions / "reference.py").write_text(source)
    text = (docstring if how == "docstring" else body).replace(" ", "\n  ")
    data = text.encode()
    for _ in range(["plain", "zipped", "in a wheel in a zip"].index(how) if how != "docstring" else 0):
        out_ = io.BytesIO()
        with zipfile.ZipFile(out_, "w") as archive:
            archive.writestr("a", data)
        data = out_.getvalue()
    (out / "innocent").write_bytes(data)
    assert len(leaks(out, tmp_path / "solutions", [])) > 0


@pytest.mark.slow
def test_the_wheel_of_the_grader_holds_nothing_of_this_courses_solutions(wheel, tmp_path):
    name, data = wheel
    (tmp_path / name).write_bytes(data)
    drafts = ROOT / "plugins/dojo_authoring/scaffold/templates"  # with the variants of any page of questions
    public = [ROOT / "exercises", ROOT / "tests" / "katas", drafts]
    assert leaks(tmp_path, ROOT / "solutions", public) == []


def test_a_release_holds_no_bytecode_and_no_history(release, tmp_path):
    release()
    with zipfile.ZipFile(next((tmp_path / "out" / "vendor").iterdir())) as wheel:
        names = files_of(tmp_path / "out") | set(wheel.namelist())
    assert not [
        name for name in names if name.endswith((".pyc", ".pyo")) or "/.git/" in name or "__pycache__" in name
    ]
    assert not [name for name in names if "solutions/" in name]


# --- the files of a release -------------------------------------------------------------------------


def test_a_release_has_what_a_student_needs(release, tmp_path):
    result = release("--host", "actions", "--host", "classroom")
    assert result.exit_code == 0, result.output
    assert files_of(tmp_path / "out") == {
        ".devcontainer/devcontainer.json", ".dojo-release.json", ".github/update.sh",
        ".github/workflows/classroom.yml",
        ".github/workflows/grade.yml", ".gitignore", ".vscode/tasks.json", "AGENTS.md", "CONTRIBUTING.md",
        "README.md",
        "exercises/attention/double.py", "keys/double.key", "requirements.txt",
        "tests/katas/attention/test_double.py", "tests/katas/path.toml",
        f"vendor/decoder_dojo-{grader.__version__}-py3-none-any.whl",
    }  # fmt: skip
    texts = [
        (tmp_path / "out" / name).read_text()
        for name in files_of(tmp_path / "out")
        if not name.endswith((".whl", ".key"))
    ]
    assert not [text for text in texts if "%%" in text]
    assert not [text for text in texts if str(tmp_path) in text or str(ROOT) in text]
    assert (tmp_path / "out" / ".vscode" / "tasks.json").read_bytes() == starter.TASKS.read_bytes()
    json.loads((tmp_path / "out" / ".devcontainer" / "devcontainer.json").read_text())
    assert Course(tmp_path / "out").syllabus.path == {"attention": ["double"]}


@pytest.mark.slow
def test_the_wheel_can_be_installed_with_pip(wheel, tmp_path):
    name, data = wheel
    assert build_wheel() == (name, data)
    (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target"]
    done = subprocess.run([*command, tmp_path / "site", tmp_path / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "dojo_authoring" / "release" / "templates" / "grade.yml").is_file()


def test_a_sealed_key_is_used_by_the_workflow_and_kept_apart_from_open_keys(release, tmp_path):
    pytest.importorskip("cryptography", reason="an optional part of the installation")
    seal("double", tmp_path / "ci.key")
    result = release("--sealed", tmp_path / "ci.key")
    assert result.exit_code == 0, result.output
    workflow = (tmp_path / "out" / ".github" / "workflows" / "grade.yml").read_text()
    assert "--key .github/sealed.key" in workflow
    assert "DOJO_SEAL: ${{ secrets.DOJO_SEAL }}" in workflow
    assert "cryptography" in (tmp_path / "out" / "requirements.txt").read_text()
    refused = release("--sealed", tmp_path / "out" / "keys" / "double.key")
    assert refused.exit_code == 4
    assert refused.stderr == "double.key is no sealed key; make one with: kata key --seal\n"


def seal(name, path):
    result = CliRunner().invoke(run_kata, ["key", name, "--seal", "--output", str(path)])
    assert result.exit_code == 0, result.output


def test_a_sealed_key_that_cannot_grade_is_not_released(release, tmp_path, monkeypatch):
    monkeypatch.delenv("DOJO_SEAL", raising=False)
    pytest.importorskip("cryptography", reason="an optional part of the installation")
    key, secret = tmp_path / "ci.key", tmp_path / "ci.key.secret"
    release(folder="elsewhere")  # changes the working folder to the course
    seal("double", key)
    lacking = release("--sealed", key, name="center")
    assert (lacking.exit_code, lacking.stderr) == (4, "ci.key holds no answers to `center`.\n")
    secret.write_text(new_secret())
    assert "does not open with the secret in ci.key.secret" in release("--sealed", key).stderr
    secret.unlink()
    assert "ci.key is sealed: put its secret into the variable DOJO_SEAL" in release("--sealed", key).stderr
    assert not (tmp_path / "out").exists()


def key_in(data, name="keys/double.key"):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def test_hosts_grade_with_hidden_cases(release, tmp_path, monkeypatch):
    pytest.importorskip("cryptography", reason="an optional part of the installation")
    monkeypatch.delenv("DOJO_SEAL", raising=False)
    out, archive, bundle = tmp_path / "out", tmp_path / "dojo.zip", tmp_path / "bundle"
    hidden = ("--hidden-seed", 7, "--gradescope", archive, "--classroom50", bundle)
    result = release(*hidden)
    assert result.exit_code == 0, result.output
    assert "its secret DOJO_SEAL is in out.secret." in result.stdout
    own, theirs = (out / "keys" / "double.key").read_bytes(), key_in(archive.read_bytes())
    assert own != theirs == (bundle / "keys" / "double.key").read_bytes()
    workflow = (out / ".github" / "workflows" / "grade.yml").read_text()
    assert "--key .github/sealed.key" in workflow
    secret = (tmp_path / "out.secret").read_text()
    opened = unseal((out / repository.SEALED).read_bytes(), "the key", tmp_path / "out.secret")
    assert (
        KeyFile(opened, "").message("double", "answers").keys()
        == KeyFile(theirs, "").message("double", "answers").keys()
    )
    assert not [name for name in files_of(out) if secret.strip().encode() in (out / name).read_bytes()]
    assert release(*hidden).exit_code == 0
    assert (tmp_path / "out.secret").read_text() == secret, "a second release keeps the secret"


@pytest.fixture
def platforms(release, tmp_path):
    """The folders of a PrairieLearn course and an Exercism track."""
    result = release("--prairielearn", tmp_path / "prairie", "--exercism", tmp_path / "track")
    assert result.exit_code == 0, result.output
    return tmp_path / "prairie", tmp_path / "track"


def on_host(script, dojo, *words, **variables):
    """Run a host's script with this Python and its installed grader in place of the image's."""
    write_script(dojo.parent / "python", f'shift\nexec {sys.executable} "$@"')
    environment = {**os.environ, "PYTHON": str(dojo.parent / "python"), "DOJO": str(dojo), **variables}
    return subprocess.run(["sh", script, *words], env=environment, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of the host's Linux images")
@pytest.mark.parametrize(("source", "score"), [(RIGHT, 1.0), ("def double(", None)])
def test_a_prairielearn_question_grades_a_submission(source, score, platforms, tmp_path):
    course, grade = platforms[0], tmp_path / "grade"
    question = course / "questions" / "double"
    info = json.loads((question / "info.json").read_text())
    assert (info["gradingMethod"], info["type"], info["topic"]) == ("External", "v3", "attention")
    assert info["externalGradingOptions"]["entrypoint"] == "sh /dojo/run.sh"
    page = (question / "question.html").read_text()
    assert '<pl-file-editor file-name="double.py" source-file-name="double.py"' in page
    assert (question / "double.py").is_file()
    (grade / "student").mkdir(parents=True)
    (grade / "student" / "double.py").write_text(source)
    (grade / "tests").mkdir()
    (grade / "tests" / "kata").write_text((question / "tests" / "kata").read_text())
    image = course / "image"
    on_host(image / "run.sh", image / "dojo", GRADE=str(grade))
    results = json.loads((grade / "results" / "results.json").read_text())
    assert (results["gradable"], results["score"]) == (score is not None, score or 0.0)
    (image / "dojo" / "keys" / "double.key").unlink()
    on_host(image / "run.sh", image / "dojo", GRADE=str(grade))
    results = json.loads((grade / "results" / "results.json").read_text())
    assert results["gradable"] is False
    assert results["message"].startswith("This is our fault, not yours")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of the host's Linux images")
@pytest.mark.parametrize(("source", "status"), [(RIGHT, "pass"), (WRONG, "fail"), ("def double(", "error")])
def test_an_exercism_track_runs_its_tests(source, status, platforms, tmp_path):
    track = platforms[1]
    (exercise,) = json.loads((track / "config.json").read_text())["exercises"]["practice"]
    folder = track / "exercises" / "practice" / exercise["slug"]
    meta = json.loads((folder / ".meta" / "config.json").read_text())
    assert meta["files"]["solution"] == ["double.py"]
    assert (folder / ".docs" / "instructions.md").read_text() == "Twice as much.\n"
    (folder / "double.py").write_text(source)
    (tmp_path / "results").mkdir()
    image = track / "image"
    ran = on_host(image / "bin" / "run.sh", image / "dojo", exercise["slug"], folder, tmp_path / "results")
    assert ran.returncode == 0, ran.stderr
    assert json.loads((tmp_path / "results" / "results.json").read_text())["status"] == status


def step_of(workflow, name):
    """The commands of a step of a released workflow."""
    text = (workflow).read_text()
    found = re.search(rf"name: {name}\n(?:.*\n)*?        run: \|\n((?:          .*\n)+)", text)
    return textwrap.dedent(found[1])


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of GitHub's Linux runners")
@pytest.mark.parametrize(
    ("host", "name", "red"), [("actions", "Grade", {1, 2}), ("classroom", "Katas", set())]
)
def test_a_workflow_that_could_not_grade_is_red(host, name, red, release, tmp_path):
    assert release("--host", host).exit_code == 0
    workflow = tmp_path / "out" / ".github" / "workflows" / repository.WORKFLOWS[host]
    for code in range(5):
        ran = run_step(workflow, name, f"echo result=e30= >> $GITHUB_OUTPUT; exit {code}", tmp_path)
        assert (ran.returncode != 0) == (code in red | {3, 4})
        assert ran.stdout.startswith("::error title=Not graded::") == (code in (3, 4))


def workflow_of(folder, host="actions"):
    """A released workflow as GitHub reads it; YAML takes its key `on` for a truth value."""
    text = (folder / ".github" / "workflows" / repository.WORKFLOWS[host]).read_text()
    return yaml.safe_load(text.replace("on:", "'on':", 1))


@pytest.mark.parametrize("host", ["actions", "classroom"])
def test_a_workflow_keeps_what_it_installed_before_it_grades(host, release, tmp_path):
    """A job that fails, as for a kata that is not solved, saves nothing at its end."""
    assert release("--host", host).exit_code == 0
    (job,) = workflow_of(tmp_path / "out", host)["jobs"].values()
    steps, told = job["steps"], [f"{step.get('uses')} {step.get('run')}" for step in job["steps"]]
    parts = ("actions/cache/restore@", "install --quiet", "actions/cache/save@", "grade --all")
    restored, installed, saved, graded = (
        next(at for at, one in enumerate(told) if part in one) for part in parts
    )
    assert restored < installed < saved < graded
    assert "hashFiles('requirements.txt', 'vendor/*')" in steps[restored]["with"]["key"]
    assert steps[saved]["with"]["path"] == steps[restored]["with"]["path"] == "~/venv"
    assert steps[installed]["if"] == "steps.installed.outputs.cache-hit != 'true'"
    assert steps[installed]["if"] in steps[saved]["if"]


def test_a_workflow_grades_on_request(release, tmp_path):
    hosts = ("--host", "actions", "--host", "classroom")
    every = {"push": None, "workflow_dispatch": None}
    asked = {"push": {"tags": ["**"]}, "workflow_dispatch": None}
    out = tmp_path / "out"
    assert release(*hosts).exit_code == 0
    assert workflow_of(out)["on"] == every
    assert "push as often as you like. Every push is graded.\n" in (out / "CONTRIBUTING.md").read_text()
    for options in (("--grade-on", "request"), ()):  # the next release keeps what the one before said
        assert release(*options).exit_code == 0
        assert workflow_of(out)["on"] == asked
        assert workflow_of(out, "classroom")["on"] == {**asked, "repository_dispatch": None}
        assert (
            "push as often as you like. A push is graded where it brings a tag:\n"
            "`git tag try-1 && git push origin try-1`. *Run workflow* on the page *Actions* grades as well.\n"
        ) in (out / "CONTRIBUTING.md").read_text()
    assert release("--grade-on", "push").exit_code == 0
    assert workflow_of(out)["on"] == every


def run_step(workflow, name, script, tmp_path):
    """Run the step with a script in place of `grade`."""
    write_script(tmp_path / "bin" / "grade", script)
    (tmp_path / "output").write_text("")
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "GITHUB_OUTPUT": str(tmp_path / "output")}
    command = ["bash", "-e", "-c", step_of(workflow, name)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of GitHub's Linux runners")
def test_the_step_of_classroom_fails_where_a_file_could_not_be_read(release, tmp_path):
    assert release("--host", "classroom").exit_code == 0
    workflow = tmp_path / "out" / ".github" / "workflows" / repository.WORKFLOWS["classroom"]
    ran = run_step(workflow, "Katas", "exit 2", tmp_path)
    assert ran.returncode != 0
    assert ran.stdout == (
        "::error title=Not graded::A file could not be read, so there is no score. The log says which.\n"
    )


def test_a_stub_that_is_begun_is_not_released(release, tiny_course):
    stub = tiny_course.root / "exercises" / "attention" / "double.py"
    before = stub.read_text()
    try:
        stub.write_text(RIGHT)
        result = release()
    finally:
        stub.write_text(before)
    assert result.exit_code == 4
    assert result.stderr == (
        "exercises/attention/double.py is begun; a release hands out the untouched stub.\n"
    )


def test_a_release_into_a_folder_with_solutions_is_refused(release, tmp_path):
    (tmp_path / "out" / "solutions").mkdir(parents=True)
    result = release()
    assert (result.exit_code, files_of(tmp_path / "out")) == (4, set())


# --- releasing again over a student's work ----------------------------------------------------------


def test_releasing_again_keeps_changed_files_and_reports_them(release, tmp_path):
    release()
    out = tmp_path / "out"
    mine, readme = out / "exercises" / "attention" / "double.py", out / "README.md"
    mine.write_text(RIGHT)
    (out / "notes.txt").write_text("mine")
    readme.unlink()
    listed = json.loads((out / release_manifest.NAME).read_text())
    listed["files"]["old.txt"] = release_manifest.digest(b"old")
    (out / "old.txt").write_bytes(b"old")
    (out / release_manifest.NAME).write_text(json.dumps(listed))
    result = release()
    assert "kept, since it was changed: exercises/attention/double.py\n" in result.stdout
    assert "removed, since it is no longer part of the release: old.txt\n" in result.stdout
    assert mine.read_text() == RIGHT
    assert (out / "notes.txt").read_text() == "mine"
    assert readme.is_file()
    assert "kept, since it was changed: exercises/attention/double.py\n" in release().stdout


def test_other_line_endings_are_not_a_change(release, tmp_path):
    release()
    stub = tmp_path / "out" / "exercises" / "attention" / "double.py"
    stub.write_bytes(stub.read_bytes().replace(b"\n", b"\r\n"))
    assert "kept" not in release().stdout


def test_protect_names_the_judging_files_that_were_changed(release, tmp_path, monkeypatch):
    release()
    monkeypatch.chdir(tmp_path / "out")
    (tmp_path / "out" / "exercises" / "attention" / "double.py").write_text(RIGHT)
    clean = CliRunner().invoke(run_grade, ["--protect"])
    assert (clean.exit_code, clean.stdout) == (0, "Every file that judges is as it came.\n")
    law = tmp_path / "out" / "tests" / "katas" / "attention" / "test_double.py"
    law.write_text(law.read_text() + "#")
    (tmp_path / "out" / ".github" / "workflows" / "grade.yml").unlink()
    changed = CliRunner().invoke(run_grade, ["--protect"])
    assert changed.exit_code == 1
    assert changed.stdout.splitlines() == [
        "missing: .github/workflows/grade.yml", "changed: tests/katas/attention/test_double.py",
    ]  # fmt: skip


ADDED = (
    "solutions/attention/double/reference.py", "conftest.py", ".github/workflows/other.yml", "pytest.ini",
    "keys/other.key", "tests/katas/attention/__pycache__/test_double.cpython-311.pyc", "numpy.py",
)  # fmt: skip


def test_protect_names_what_was_added_and_what_hides_in_the_list(release, tmp_path, monkeypatch):
    release()
    release(folder="theirs")
    theirs, out = tmp_path / "theirs", tmp_path / "out"
    for name in (*ADDED, "notes.md", "exercises/attention/double.py"):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_bytes(b"\0\0\0\0\1\0\0\0 forged")
    own = theirs / "tests" / "katas" / "attention" / "__pycache__" / "own.cpython-311.pyc"
    own.write_bytes(b"\0\0\0\0\0\0\0\0 made by Python")
    listed = json.loads((theirs / release_manifest.NAME).read_text())
    listed["files"]["pytest.ini"] = release_manifest.digest((theirs / "pytest.ini").read_bytes())
    (theirs / release_manifest.NAME).write_text(json.dumps(listed))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    options = ["--protect", "--course", str(theirs)]
    alone = CliRunner().invoke(run_grade, options)
    assert alone.stdout.splitlines() == [f"added: {name}" for name in sorted(ADDED) if name != "pytest.ini"]
    compared = CliRunner().invoke(run_grade, [*options, "--against", str(out)])
    assert compared.exit_code == 1
    assert compared.stdout.splitlines() == [
        f"changed: {release_manifest.NAME}", *(f"added: {name}" for name in sorted(ADDED)),
    ]  # fmt: skip
    assert "- added: solutions/attention/double/reference.py" in (
        (tmp_path / "summary.md").read_text().replace("&#95;", "_")
    )


def test_a_students_copy_never_reads_solutions(release, tmp_path, monkeypatch):
    release()
    out = tmp_path / "out"
    forged = out / "solutions" / "attention" / "double" / "reference.py"
    forged.parent.mkdir(parents=True)
    forged.write_text(WRONG)
    (out / "exercises" / "attention" / "double.py").write_text(WRONG)
    monkeypatch.chdir(out)
    ran = CliRunner().invoke(run_grade, ["double", "--format", "json"])
    assert json.loads(ran.stdout)["score"] < 10
    assert "--key keys" in (out / ".github" / "workflows" / "grade.yml").read_text()


# --- as a student, without the instructor's repository ----------------------------------------------


@pytest.fixture
def installed(release, tmp_path):
    """A release whose wheel is installed: `run(*words, cwd)` runs a command with it."""
    gradescope = ("--gradescope", tmp_path / "dojo.zip", "--visibility", "after_published")
    result = release(*gradescope, "--classroom50", tmp_path / "bundle")
    assert result.exit_code == 0, result.output
    [wheel] = (tmp_path / "out" / "vendor").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "NO_COLOR": "1"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*words, cwd=tmp_path / "out"):
        code = (
            "import grader, sys; assert grader.__file__.startswith(sys.argv.pop(1)), grader.__file__\n"
            "from grader.cli.grade import grade; grade()"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "site"), *map(str, words)]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("source", "mistake"), [(RIGHT, None), (WRONG, "triples"), (None, None)])
def test_a_student_gets_the_same_verdicts_as_the_instructor(
    source, mistake, installed, tmp_path, tiny_course
):
    stub = tmp_path / "out" / "exercises" / "attention" / "double.py"
    stub.write_text(source or stub.read_text())
    ran = installed("double", "--format", "json")
    [kata] = json.loads(ran.stdout)["katas"]
    words = ["double", "--file", str(stub), "--format", "json"]
    os.chdir(tiny_course.root)
    [theirs] = json.loads(CliRunner().invoke(run_grade, words).stdout)["katas"]
    judged = [
        [(c["name"], c["status"], c["score"], c["mistake"]) for c in each["checks"]]
        for each in (kata, theirs)
    ]
    assert judged[0] == judged[1]
    assert (kata["status"], kata["score"]) == (theirs["status"], theirs["score"])
    assert {c["mistake"]["id"] for c in kata["checks"] if c["mistake"]} == ({mistake} if mistake else set())


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def notebook(source):
    return {"cells": [{"cell_type": "code", "source": source, "metadata": {}}], "nbformat": 4}


OLD_PYTHON = """
case "$*" in
    *version_info*) exit 1;;
    *"-m venv"*) mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin/python"
        echo "$UV" > "${@: -1}/bin/uv"; chmod +x "${@: -1}/bin/uv";;
esac
"""
UV = '#!/bin/bash\nmkdir -p "${@: -1}/bin"; cp $TOOLS/new "${@: -1}/bin/python"'


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of Gradescope's Linux images")
@pytest.mark.parametrize("has_uv", [True, False])
def test_the_gradescope_image_gets_a_python_that_is_new_enough(has_uv, release, tmp_path):
    assert release("--gradescope", tmp_path / "dojo.zip").exit_code == 0
    host, tools = tmp_path / "autograder", tmp_path / "tools"
    with zipfile.ZipFile(tmp_path / "dojo.zip") as archive:
        archive.extractall(host / "source")
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        write_script(tools / name, OLD_PYTHON)
    write_script(tools / "new", 'echo "$@" > $TOOLS/installed')
    write_script(tools / "apt-get", "exit 100")
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "AUTOGRADER": str(host), "TOOLS": str(tools)}
    environment["UV"] = UV if has_uv else "#!/bin/bash\nexit 1"
    command = ["bash", host / "source" / "setup.sh"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if has_uv:
        assert ran.returncode == 0, ran.stderr
        assert (tools / "installed").read_text() == "-I -m pip install --quiet -r requirements.txt\n"
    else:
        assert ran.returncode == 1
        assert ran.stderr.startswith("No Python 3.11 or newer could be installed: choose an image")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script of Gradescope's Linux images")
@pytest.mark.usefixtures("installed")
def test_the_gradescope_zip_grades_a_submission(tmp_path):
    host = tmp_path / "autograder"
    (host / "submission" / "backup").mkdir(parents=True)
    (host / "submission" / "backup" / "double.py").write_text(RIGHT)
    (host / "submission" / "Double.py").write_text(RIGHT)
    (host / "submission" / "double.ipynb").write_text(json.dumps(notebook("%%kata double\n" + WRONG)))
    (host / "submission" / "double-1.ipynb").write_text(json.dumps(notebook("%%kata double\n" + RIGHT)))
    (host / "submission" / "double.py").write_text(Path("exercises/attention/double.py").read_text())
    (host / "submission" / "answer.py").write_text(RIGHT)
    with zipfile.ZipFile(tmp_path / "dojo.zip") as archive:
        archive.extractall(host / "source")
    write_script(host / "venv" / "bin" / "python", f'shift\nexec {sys.executable} "$@"')
    (host / "submission_metadata.json").write_text('{"assignment": {"total_points": "20.0"}}')
    environment = {**os.environ, "AUTOGRADER": str(host), "PYTHONPATH": str(tmp_path / "site")}
    ran = subprocess.run(
        ["bash", host / "source" / "run_autograder"], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    results = json.loads((host / "results" / "results.json").read_text())
    assert results["score"] == 10
    assert results["output"].splitlines() == [
        "10 of 10 points",
        "double is also in double.ipynb; graded: double-1.ipynb.",
        "Handed in, not recognised: answer.py.",
    ]
    assert {test["visibility"] for test in results["tests"]} == {"after_published"}
    assert "katas are worth 10 points, and the assignment 20: set its points to 10." in ran.stdout


@pytest.mark.slow
def test_the_classroom50_bundle_grades_the_students_checkout(installed, tmp_path):
    student = tmp_path / "student" / "exercises" / "attention"
    student.mkdir(parents=True)
    (student / "double.py").write_text(RIGHT)
    words = ["--all", "--exercises", tmp_path / "student" / "exercises", "--format", "classroom50"]
    ran = installed(*words, "--output", tmp_path / "student", cwd=tmp_path / "bundle")
    assert ran.returncode == 0, ran.stderr
    result = json.loads((tmp_path / "student" / "result.json").read_text())
    assert (result["score"], result["max-score"]) == (1000, 1000)
    assert (tmp_path / "student" / "release-body.md").read_text().startswith("## 10 of 10 points")
    compile((tmp_path / "bundle" / "autograder.py").read_text(), "autograder.py", "exec")


SHADOWS = ("venv", "token", "pip", "grader", "tempfile", "numpy", "json")


def test_the_classroom50_autograder_never_imports_from_the_checkout(release, tmp_path, monkeypatch):
    assert release("--classroom50", tmp_path / "bundle").exit_code == 0
    student = tmp_path / "student"
    student.mkdir()
    for name in SHADOWS:
        (student / f"{name}.py").write_text("raise SystemExit('forged')")
    monkeypatch.chdir(student)
    program = student.parent / "bundle" / "autograder.py"
    spec = importlib.util.spec_from_file_location("autograder", program)
    autograder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(autograder)
    real, started = subprocess.run, []

    def run(command, **options):
        started.append((command, options))
        if command[0] == sys.executable:  # the only one that must work here: it makes the environment
            return real([*command, "--without-pip"], **options)
        return subprocess.CompletedProcess(command, 0, stdout=b"")

    monkeypatch.setattr(subprocess, "run", run)
    autograder.main()
    assert [command[1:4] for command, _ in started] == [
        ["-I", "-m", "venv"], ["-I", "-m", "pip"], ["-I", "-m", "grader.course.git"],
        ["-I", "-m", "grader.cli.grade"],
    ]  # fmt: skip
    assert {options["cwd"] for _, options in started} == {tmp_path / "bundle"}


@pytest.mark.parametrize("template", sorted(repository.TEMPLATES.iterdir()), ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_digest(template):
    used = re.findall(r"uses: (.+)", template.read_text())
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", one)] == []


@pytest.mark.parametrize("name", ["grade.yml", "classroom.yml"])
def test_a_workflow_may_write_nothing(name):
    assert "write" not in (repository.TEMPLATES / name).read_text()


@pytest.mark.parametrize("template", sorted(repository.TEMPLATES.iterdir()), ids=lambda path: path.name)
def test_every_python_that_a_template_starts_is_isolated(template):
    started = re.findall(r"python[\d.]*\"? +(-\S+)", template.read_text())
    if template.name not in ("README.md",):  # which a student types
        assert set(started) <= {"-I"}


def test_commands_in_the_texts_for_students_work(release, tmp_path):
    release()
    readme = (tmp_path / "out" / "README.md").read_text()
    first = readme.split("```")[1]
    assert textwrap.dedent(first).split()[:6] == ["python", "-m", "pip", "install", "-r", "requirements.txt"]
    assert "| `exercises/attention/double.py` | Twice as much |" in readme


# --- other courses, and katas that need others ------------------------------------------------------


def test_a_release_without_pytorch_names_what_to_install(release, monkeypatch):
    monkeypatch.setattr(session, "lacks_library", lambda info: info.library == "torch")
    done = release("--unverified", name="center")
    assert (done.exit_code, done.output.splitlines()[-1].partition(": ")[0]) == (
        4,
        "`center` is a PyTorch kata, and PyTorch is not installed",
    )


def test_a_course_in_another_folder_is_released(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["release", "out", "double", "--course", str(tiny_course.root)]
    result = CliRunner().invoke(run_kata, arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "README.md").read_text().startswith("# the dojo\n")
    pins = (tmp_path / "out" / "requirements.txt").read_text().splitlines()
    named = [pin.split("==")[0] for pin in pins[1:]]
    assert named == ["click", "greenlet", "hypothesis", "msgspec", "numpy", "pytest"]
    assert all("==" in pin for pin in pins[1:])


def test_a_kata_is_not_released_without_those_that_it_needs(write, tmp_path, monkeypatch):
    info = "tests/katas/attention/test_double.py"
    changed = {info: DOUBLE[info].replace("bank_size=8", 'needs=("center",)')}
    write(tmp_path / "in", {**DOUBLE, **CENTER, **changed})
    monkeypatch.chdir(tmp_path / "in")
    result = CliRunner().invoke(run_kata, ["release", str(tmp_path / "out"), "double"])
    assert (result.exit_code, result.stderr) == (
        4, "`center` is needed by these katas, and is not among them; name it too.\n",
    )  # fmt: skip
    assert not (tmp_path / "out").exists()


# --- what was verified ------------------------------------------------------------------------------


@pytest.fixture
def own(write, tmp_path, monkeypatch):
    """`own(command, *options)` runs a command in a course of one's own, whose katas are all verified."""
    course = Course(write(tmp_path / "own", {**DOUBLE, **CENTER}))
    write_record(course, list(course.katas.values()))
    monkeypatch.chdir(course.root)
    return lambda *words: CliRunner().invoke(run_kata, [str(word) for word in words])


def handing_out(tmp_path):
    return [
        ("release", tmp_path / "out", "double"),
        ("wheel", tmp_path / "dist", "double"),
        ("key", "double", "--output", tmp_path / "keys"),
    ]


@pytest.mark.parametrize("number", range(3))
def test_what_is_not_verified_is_not_handed_out(number, own, tmp_path):
    words = handing_out(tmp_path)[number]
    reference = tmp_path / "own" / "solutions" / "attention" / "double" / "reference.py"
    reference.write_text(reference.read_text().replace("x + x", "3 * x"))
    refused = own(*words)
    told = (
        f"`double` was changed since it was verified on {date.today().isoformat()}: run `kata verify double`,"
    )
    assert (refused.exit_code, refused.stderr) == (4, f"{told} or hand it out with --unverified.\n")
    (tmp_path / "own" / "solutions" / "verified.toml").unlink()
    assert own(*words).stderr.startswith("`double` is not verified: run `kata verify double`, or")
    assert not any((tmp_path / name).exists() for name in ("out", "dist", "keys"))
    done = own(*words, "--unverified")
    assert done.exit_code == 0, done.output


def test_a_release_and_its_keys_say_what_was_verified(own, tmp_path):
    assert own("release", tmp_path / "out", "double").exit_code == 0
    verified = manifest_of(tmp_path / "out")["verified"]["double"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [0-9a-f]{16} " + re.escape(grader.__version__), verified)
    key = KeyFile((tmp_path / "out" / "keys" / "double.key").read_bytes(), "")
    assert key.katas["double"]["verified"] == verified
    (tmp_path / "own" / "solutions" / "verified.toml").unlink()
    assert own("release", tmp_path / "out", "double", "--unverified").exit_code == 0
    assert manifest_of(tmp_path / "out")["verified"] == {"double": "unverified"}


def test_a_verification_holds_until_the_minor_version_changes(own, tmp_path, monkeypatch):
    record = tmp_path / "own" / "solutions" / "verified.toml"
    record.write_text(record.read_text().replace(f'"{grader.__version__}"', '"1.2.9"'))
    monkeypatch.setattr("grader.__version__", "1.2.10")
    assert own("release", tmp_path / "out", "double").exit_code == 0
    monkeypatch.setattr("grader.__version__", "1.20.9")
    told = (
        "`double` was verified by version 1.2.9 of the grader, and this is 1.20.9: run `kata verify double`,"
    )
    assert own("release", tmp_path / "out", "double").stderr.startswith(told)


@pytest.mark.parametrize("text", ["double = 1", "double = { digest = 1 }", "[", "\x00"])
def test_a_damaged_record_is_one_sentence(text, own, tmp_path):
    (tmp_path / "own" / "solutions" / "verified.toml").write_text(text)
    refused = own("release", tmp_path / "out", "double")
    told = "solutions/verified.toml is damaged: delete it, and run `kata verify` again.\n"
    assert (refused.exit_code, refused.stderr) == (4, told)


# --- releasing week by week -------------------------------------------------------------------------


def manifest_of(folder):
    return json.loads((folder / release_manifest.NAME).read_text())


SEAL_ANOTHER = (
    "sealed.key holds no answers to `center`. It is the one of the release before; seal another:"
    " --sealed FILE or --hidden-seed N.\n"
)


def katas_in(folder):
    return sorted(path.stem for path in (folder / "keys").iterdir())


@pytest.mark.slow
def test_the_next_week_keeps_the_one_before(release, tmp_path):
    assert release("--host", "classroom", "--visibility", "hidden", "--seed", 5).exit_code == 0
    before = (tmp_path / "out" / "keys" / "double.key").read_bytes()
    again = release(name="center")
    assert "double: kept from the release before; --remove takes out what is not named.\n" in again.stdout
    assert katas_in(tmp_path / "out") == ["center", "double"]
    assert (tmp_path / "out" / "keys" / "double.key").read_bytes() == before
    assert [path.name for path in (tmp_path / "out" / ".github" / "workflows").iterdir()] == ["classroom.yml"]
    assert manifest_of(tmp_path / "out")["options"] == {
        "all": False, "hosts": ["classroom"], "seed": 5, "visibility": "hidden",
    }  # fmt: skip
    narrower = release("--remove", "--host", "actions", name="center")
    assert "removed, since it is no longer part of the release: keys/double.key\n" in narrower.stdout
    assert katas_in(tmp_path / "out") == ["center"]
    assert [path.name for path in (tmp_path / "out" / ".github" / "workflows").iterdir()] == ["grade.yml"]


def test_a_sealed_key_stays(release, tmp_path, monkeypatch):
    pytest.importorskip("cryptography", reason="an optional part of the installation")
    monkeypatch.delenv("DOJO_SEAL", raising=False)
    assert release("--hidden-seed", 7).exit_code == 0
    sealed = tmp_path / "out" / repository.SEALED
    before = sealed.read_bytes()
    assert release().exit_code == 0
    assert sealed.read_bytes() == before
    assert (
        "--key .github/sealed.key" in (tmp_path / "out" / ".github" / "workflows" / "grade.yml").read_text()
    )
    refused = release(name="center")
    assert (refused.exit_code, refused.stderr) == (4, SEAL_ANOTHER)
    assert "7" not in json.dumps(manifest_of(tmp_path / "out")["options"]).replace("20170612", "")


@pytest.mark.parametrize(
    "options", [None, [], {"seed": "x", "visibility": "=1+1", "all": 0, "hosts": ["../x"]}, {"seed": True}]
)
def test_options_of_a_strange_manifest_are_ignored(options, release, tmp_path):
    release()
    known = manifest_of(tmp_path / "out")["options"]
    found = manifest_of(tmp_path / "out") | {"options": options}
    (tmp_path / "out" / release_manifest.NAME).write_text(json.dumps(found))
    assert release().exit_code == 0
    assert manifest_of(tmp_path / "out")["options"] == known


# --- a fix in mid-term ------------------------------------------------------------------------------


@pytest.fixture
def corrected(own, tmp_path):
    """A release whose statement and law of `double` were corrected, and a begun copy of the first."""
    assert own("release", tmp_path / "out").exit_code == 0
    shutil.copytree(tmp_path / "out", tmp_path / "theirs")
    mine = tmp_path / "theirs" / "exercises" / "attention" / "double.py"
    mine.write_text('"""Twice as much."""\n\n\n' + RIGHT)
    stub = tmp_path / "own" / "exercises" / "attention" / "double.py"
    stub.write_text(stub.read_text().replace("Twice as much.", "Twice as much.\n\nText is refused.\n"))
    law = tmp_path / "own" / "tests" / "katas" / "attention" / "test_double.py"
    law.write_text(law.read_text() + "\n# corrected\n")
    assert own("release", tmp_path / "out", "--unverified").exit_code == 0
    return tmp_path / "out", tmp_path / "theirs"


NOTE = ["The statement was corrected: double.statement.md says what it is now.", "+Text is refused."]


@pytest.mark.slow
def test_a_corrected_statement_comes_beside_the_code(corrected, own):
    release, theirs = corrected
    told = own("update", release, theirs)
    assert told.exit_code == 0, told.output
    assert "kept, since it was changed: exercises/attention/double.py\n" in told.stdout
    file = theirs / "exercises" / "attention" / "double.py"
    note = file.with_name("double.statement.md")
    assert file.read_text().endswith(RIGHT)
    assert note.read_text().endswith("~~~~text\nTwice as much.\n\nText is refused.\n~~~~\n")
    assert note_for(file) == NOTE
    assert not (theirs / "exercises" / "modules" / "center.statement.md").exists()
    graded = own_grade(theirs, "double")
    assert "".join(f"  {line}\n" for line in NOTE) + "\n" in graded.stdout, graded.output
    own("update", release, theirs)
    assert note.is_file(), "a second update keeps it"
    file.write_text(file.read_text().replace("Twice as much.", "Twice as much.\n\nText is refused.\n", 1))
    assert note_for(file) == []
    own("update", release, theirs)
    assert not note.exists()


def own_grade(folder, *words):
    return CliRunner().invoke(run_grade, [*words, "--course", str(folder)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("allowed", "said", "unsaid"),
    [
        ("tutor", "The student writes every line.", "allows"),
        ("none", "**This course allows no assistant.**", "`grade hint NAME`"),
        ("free", "**This course allows every help.**", "You are a tutor"),
    ],
)
def test_a_release_tells_assistants_what_the_course_allows(allowed, said, unsaid, own, tmp_path):
    """A second release has it if the first had; a student's own file stays."""
    file, tracks = tmp_path / "out" / "AGENTS.md", "[path]\nattention = ['double']\nmodules = ['center']\n"
    Path("tests/katas/path.toml").write_text(f'assistants = "{allowed}"\n{tracks}')

    def release(*options):
        result = own("release", tmp_path / "out", "double", *options)
        assert result.exit_code == 0, result.output
        return result.output

    release("--no-agents")
    release()
    assert not file.exists()
    release("--agents")
    text = file.read_text()
    assert said in text
    assert unsaid not in text
    assert "{" not in text
    release()
    assert file.read_text() == text
    file.write_text("# Mine\n")
    assert "kept, since it was changed: AGENTS.md" in release()
    assert "changed: AGENTS.md" in release_manifest.differences(tmp_path / "out")
    release("--no-agents")
    assert file.read_text() == "# Mine\n"


@pytest.mark.parametrize("text", ["", "~~~~text\n", "\0", "x" * (2 << 20)])
def test_a_forged_statement_tells_nothing(text, tmp_path):
    (tmp_path / "double.py").write_text(RIGHT)
    (tmp_path / "double.statement.md").write_text(text)
    assert note_for(tmp_path / "double.py") == []


def test_an_update_writes_through_no_link_and_deletes_nothing_outside(corrected, own, tmp_path):
    release, theirs = corrected
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "double.key").write_text("keep")
    shutil.rmtree(theirs / "keys")
    (theirs / "keys").symlink_to(victim)
    (theirs / ".README.md.draft").symlink_to(victim / "new")
    (theirs / "README.md").unlink()
    os.mkfifo(theirs / "README.md")
    listed = manifest_of(theirs)
    listed["files"]["../victim/double.key"] = release_manifest.digest(b"keep")
    (theirs / release_manifest.NAME).write_text(json.dumps(listed))
    assert own("update", release, theirs).exit_code in (0, 4)
    assert {path.name: path.read_text() for path in victim.iterdir()} == {"double.key": "keep"}


def test_an_update_needs_two_releases(corrected, own, tmp_path):
    (tmp_path / "empty").mkdir()
    refused = own("update", corrected[0], tmp_path / "empty")
    assert (refused.exit_code, refused.stderr) == (4, "empty is no release: it has no list of its files.\n")
    (corrected[0] / "README.md").unlink()
    refused = own("update", *corrected)
    assert refused.stderr == "out is not whole: no such file or directory; release again.\n"


def test_an_update_with_its_arguments_exchanged_is_refused_and_changes_nothing(corrected, own):
    release, theirs = corrected
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    refused = own("update", theirs, release)
    assert (refused.exit_code, refused.stderr) == (
        4,
        "theirs is no release as it was written: exercises/attention/double.py was changed. Name the release"
        " first, then the student's folder: kata update RELEASE FOLDER\n",
    )
    assert {path: path.read_bytes() for path in release.rglob("*") if path.is_file()} == before


def test_an_update_replaces_no_answer_whatever_the_list_of_files_says(corrected, own):
    release, theirs = corrected
    mine = theirs / "exercises" / "attention" / "double.py"
    found = manifest_of(theirs)
    found["files"]["exercises/attention/double.py"] = release_manifest.digest(mine.read_bytes())
    found["files"]["exercises/attention/old.py"] = release_manifest.digest(mine.read_bytes())
    mine.with_name("old.py").write_bytes(mine.read_bytes())
    (theirs / release_manifest.NAME).write_text(json.dumps(found))
    told = own("update", release, theirs)
    assert told.exit_code == 0, told.output
    assert mine.read_text().endswith(RIGHT)
    assert mine.with_name("old.py").read_text().endswith(RIGHT)


def test_a_release_fills_no_folder_that_is_not_its_own(own, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    refused = own("release", tmp_path / "mine")
    assert (refused.exit_code, refused.stderr) == (
        4,
        "mine is not empty and no release: it holds thesis.tex. Name a new folder, or one that a release"
        " wrote.\n",
    )
    (tmp_path / "mine" / "thesis.tex").unlink()
    (tmp_path / "mine" / ".git").mkdir()
    (tmp_path / "mine" / "README.md").write_text("x")
    assert own("release", tmp_path / "mine").exit_code == 0


@pytest.mark.slow
def test_a_renamed_kata_points_to_its_new_place_and_is_graded(own, tmp_path):
    assert own("release", tmp_path / "out").exit_code == 0
    shutil.copytree(tmp_path / "out", tmp_path / "class" / "ada")
    shutil.copytree(tmp_path / "out", tmp_path / "class" / "bob")
    theirs = tmp_path / "class" / "ada"
    (theirs / "exercises" / "attention" / "double.py").write_text(RIGHT)
    assert own("rename", "double", "twice").exit_code == 0
    renamed = (tmp_path / "own" / "solutions" / "renamed.toml").read_text()
    assert renamed.splitlines()[1:] == ['double = "twice"']
    assert own("release", tmp_path / "out", "--unverified").exit_code == 0
    for _ in range(2):  # the second update keeps the note
        for name in ("ada", "bob"):
            assert own("update", tmp_path / "out", tmp_path / "class" / name).exit_code == 0
        note = (theirs / "exercises" / "attention" / "double.statement.md").read_text()
        assert note.startswith("# `double` is called `twice` now\n")
        assert "`exercises/attention/twice.py`" in note
        assert (theirs / "exercises" / "attention" / "double.py").read_text() == RIGHT
    bob = tmp_path / "class" / "bob" / "exercises" / "attention"
    assert [path.name for path in bob.iterdir()] == ["twice.py"]
    graded = own("grade", tmp_path / "class", "--kata", "twice", "--output", tmp_path / "g", "--graders", 1)
    assert graded.exit_code == 0, graded.output
    assert "1 of 1 pass" in graded.output
    assert (tmp_path / "g" / "by_hand.csv").read_text() == "Student,Name,Kata,Why\n"


def git(*words, cwd):
    own = ["-c", "user.name=x", "-c", "user.email=x@s.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *own, *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script for git on Unix")
def test_the_script_of_a_release_updates_a_class(corrected, tmp_path):
    release, theirs = corrected
    for name in ("ada", "bob"):
        shutil.copytree(theirs, tmp_path / name)
        git("init", "--quiet", cwd=tmp_path / name)
        git("add", "--all", cwd=tmp_path / name)
        git("commit", "--quiet", "-m", "begun", cwd=tmp_path / name)
        git("clone", "--quiet", "--bare", tmp_path / name, tmp_path / f"{name}.git", cwd=tmp_path)
    names = ["ada.git", "bob.git", "nobody.git"]
    listed = "".join(f"{tmp_path / name}\n" for name in names)
    who = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "KATA": str(Path(sys.executable).with_name("kata"))}
    script = ["bash", release / ".github" / "update.sh", "-"]
    ran = subprocess.run(script, input=listed, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.splitlines() == [
        f"updated: {tmp_path / 'ada.git'}",
        f"updated: {tmp_path / 'bob.git'}",
        f"failed: {tmp_path / 'nobody.git'} could not be cloned",
        "3 repositories, 1 failed.",
    ]
    held = git("show", "HEAD:exercises/attention/double.py", cwd=tmp_path / "ada.git")
    assert held.endswith(RIGHT)
    assert "Text is refused." in git(
        "show", "HEAD:exercises/attention/double.statement.md", cwd=tmp_path / "bob.git"
    )
    again = subprocess.run(
        script, input=f"{tmp_path / 'ada.git'}", env=environment, capture_output=True, text=True
    )
    assert again.stdout.splitlines() == [f"as it is: {tmp_path / 'ada.git'}", "1 repositories, 0 failed."]
