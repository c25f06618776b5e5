"""Commands and formats of other packages: those that docs/extending.md shows, and those that are wrong."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader import formats, plugins
from grader.cli import options
from grader.cli.grade import grade
from grader.cli.kata import kata

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").partition("in a package of your own")[2]
PROJECT = tomllib.loads(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])["project"]
MODULE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
COMMANDS, FORMATS = PROJECT["entry-points"]["dojo.commands"], PROJECT["entry-points"]["dojo.formats"]


def install(site, name, module, commands=(), formats=()):
    """Write a module and the metadata of its package into a folder of packages."""
    site.mkdir(exist_ok=True)
    (site / f"{name.replace('-', '_')}.py").write_text(module)
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = {"dojo.commands": dict(commands), "dojo.formats": dict(formats)}
    lines = [
        f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in found.items()) for group, found in groups.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return write(tmp_path / "course", tiny_files)


@pytest.fixture
def installed(tmp_path, monkeypatch, course):
    """`installed(name, module, commands, formats)` installs a package. The current folder is a course."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(course)
    monkeypatch.setattr(options, "_TOLD", set())
    before = set(sys.modules)
    plugins.find.cache_clear()
    yield lambda *package, **groups: install(site, *package, **groups)
    plugins.find.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("dojo_"):
            del sys.modules[name]


@pytest.fixture
def scores(installed):
    installed("dojo-scores", MODULE, COMMANDS, FORMATS)


def run(command, *words):
    return CliRunner().invoke(command, words)


def test_our_own_are_declared_as_those_of_others_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["dojo.commands"]
    assert plugins.ours("dojo.commands") == dict(sorted(declared.items()))
    assert plugins.ours("dojo.parts") == project["entry-points"]["dojo.parts"]
    for name in declared:
        assert isinstance(plugins.load("dojo.commands", name, name), click.Command)
    assert project["entry-points"]["dojo.formats"] == {
        name: f"grader.formats.{name}:DOCUMENTS" for name in formats.NAMES
    }


@pytest.mark.usefixtures("scores")
def test_the_commands_of_another_package_work_and_are_listed():
    assert run(grade, "minutes").output == "0 minutes\n"
    assert run(kata, "titles").output == "double: Twice as much\ncenter: Around the mean\n"
    assert "  minutes   Say how many minutes all katas take.\n" in run(grade, "--help").stdout
    assert re.search(r"^  titles +List the titles of the katas\.$", run(kata, "--help").stdout, re.MULTILINE)
    assert run(grade, "help", "minutes").stdout.startswith("Usage: grade minutes [OPTIONS]\n")
    assert run(grade, "minutes", "--nope").exit_code == 4
    assert "Did you mean `grade minutes`?" in run(grade, "minuts").stderr


@pytest.mark.usefixtures("scores")
def test_the_format_of_another_package_works_beside_ours(tmp_path):
    assert run(grade, "double", "--format", "scores").output == "double,0,1000\n"
    both = run(grade, "double", "--format", "scores", "--format", "json", "--output", f"{tmp_path}/out/")
    assert both.exit_code == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.json", "scores.csv"]
    assert "scores" in run(grade, "--help").stdout
    assert "'scores'" in run(grade, "--format", "nope").stderr


@pytest.mark.parametrize(
    ("commands", "module", "sentence"),
    [
        ({"grade.list": "dojo_bad:x"}, "", "`grade.list` of dojo-bad is left out: the name is ours."),
        ({"list": "dojo_bad:x"}, "", "`list` of dojo-bad is left out: say `grade.list`."),
        ({"grade.bad": "dojo_bad:x"}, "import nowhere", "`grade.bad` of dojo-bad cannot be loaded:"
         " ModuleNotFoundError: No module named 'nowhere'."),
        ({"grade.bad": "dojo_bad:x"}, "raise SystemExit(3)",
         "`grade.bad` of dojo-bad cannot be loaded: SystemExit: 3."),
        ({"grade.bad": "dojo_bad:x"}, "", "`grade.bad` of dojo-bad cannot be loaded: AttributeError: module"
         " 'dojo_bad' has no attribute 'x'."),
        ({"grade.bad": "dojo_bad:x"}, "x = print",
         "`grade.bad` of dojo-bad cannot be used: dojo_bad:x is no Command."),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_used_costs_one_sentence(installed, commands, module, sentence):
    installed("dojo-bad", module, commands)
    shown = run(grade, "--help")
    assert (shown.exit_code, shown.stderr) == (0, f"{sentence}\n")
    assert "  hint " in shown.stdout
    assert run(grade, "list").exit_code == 0
    if "grade.bad" in commands:
        assert "  bad " not in shown.stdout
        told = run(grade, "bad")
        assert (told.exit_code, told.stdout, told.stderr) == (4, "", f"{sentence}\n")


@pytest.mark.parametrize(
    ("name", "module", "sentence"),
    [
        ("json", "", "`json` of dojo-bad is left out: the name is ours."),
        ("bad", "import nowhere", "`bad` of dojo-bad cannot be loaded: ModuleNotFoundError: No module named"
         " 'nowhere'."),
        ("bad", "x = 3", "`bad` of dojo-bad cannot be used: dojo_bad:x is no list."),
        ("bad", "x = [3]", "`bad` of dojo-bad cannot be used: dojo_bad:x is no list of Document."),
    ],
)  # fmt: skip
def test_a_format_that_cannot_be_used_costs_one_sentence(installed, name, module, sentence):
    installed("dojo-bad", module, formats={name: "dojo_bad:x"})
    told = run(grade, "double", "--format", "bad")
    assert (told.exit_code, told.stdout) == (4, "")
    assert f"{sentence}\n" in told.stderr
    assert run(grade, "double", "--format", "json").exit_code == 1


def test_the_first_of_two_packages_has_a_name(installed):
    other = "import click\n@click.command()\ndef other():\n    click.echo('other')\n"
    installed("dojo-scores", MODULE, COMMANDS, FORMATS)
    installed("dojo-other", other, {"grade.minutes": "dojo_other:other"})
    told = run(grade, "minutes")
    sentence = re.fullmatch(
        r"`grade.minutes` of (\S+) is left out: (\S+) has the name already.\n", told.stderr
    )
    assert set(sentence.groups()) == {"dojo-scores", "dojo-other"}
    assert (told.exit_code, told.stdout) == (0, "other\n" if sentence[1] == "dojo-scores" else "0 minutes\n")


def test_damaged_metadata_of_a_package_is_ignored(installed, tmp_path):
    installed("dojo-scores", MODULE, COMMANDS, FORMATS)
    installed("dojo-bad", "", {"grade.bad": "dojo_bad:x"})
    (tmp_path / "site" / "dojo_bad-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff[")
    (tmp_path / "site" / "dojo_worse-1.0.dist-info").mkdir()
    assert run(grade, "minutes").output == "0 minutes\n"


FAILS = """
import click
from grader.formats import Document

@click.command()
def fails():
    raise ZeroDivisionError("no")

def render(report):
    assert type(report).__name__ == "Report"
    raise KeyError("x")

DOCUMENTS = [Document("fails.txt", render)]
"""


def test_a_command_or_a_format_that_fails_is_named(installed, tmp_path):
    commands = {"grade.fails": "dojo_fails:fails", "kata.fails": "dojo_fails:fails"}
    installed("dojo-fails", FAILS, commands, {"fails": "dojo_fails:DOCUMENTS"})
    for command in (grade, kata):
        told = run(command, "fails")
        assert (told.exit_code, told.stdout) == (3, "")
        assert told.stderr == (
            f"`{command.name}.fails` of dojo-fails has failed; nothing else is changed."
            " (ZeroDivisionError: no; DOJO_DEBUG=1 shows where.)\n"
        )
    told = run(grade, "double", "--format", "fails", "--format", "json", "--output", f"{tmp_path}/out/")
    assert told.exit_code == 3
    assert told.stderr == (
        "The format `fails` has failed; points and other reports stand."
        " (KeyError: 'x'; DOJO_DEBUG=1 shows where.)\n"
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.json"]


def test_a_kata_goes_before_a_command_of_its_name(installed):
    installed(
        "dojo-scores",
        MODULE,
        {"grade.double": "dojo_scores:minutes", "grade.attention": "dojo_scores:minutes"},
    )
    assert run(grade, "double", "--brief").stdout.startswith("double")
    assert "double" in run(grade, "attention", "--brief").stdout


@pytest.mark.usefixtures("scores")
def test_a_file_in_the_current_folder_does_not_stand_for_a_package(tmp_path, course):
    (course / "dojo_scores.py").write_text("print('loaded')")
    for safe in (["-P"], []):
        done = subprocess.run(
            [sys.executable, *safe, "-m", "grader.cli.grade", "minutes"], cwd=course, capture_output=True,
            text=True, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "0 minutes\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("start", [["grade"], ["-m", "grader.cli.grade"]], ids=["script", "module"])
def test_what_lies_in_the_current_folder_is_not_read(tmp_path, course, start):
    """A submission may lie there; `-m` puts the folder on the path of Python."""
    evil = "import click\nprint('loaded')\n@click.command()\ndef evil():\n    print('ran')\nDOCUMENTS = []\n"
    install(course, "dojo-evil", evil, {"grade.evil": "dojo_evil:evil"}, {"evil": "dojo_evil:DOCUMENTS"})
    script = Path(sys.executable).with_name("grade")
    command = [str(script)] if start == ["grade"] else [sys.executable, *start]
    for path in ("", ".", str(course)):
        for words in (["evil"], ["--format", "evil"]):
            done = subprocess.run(
                [*command, *words], cwd=course, capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path)},
            )  # fmt: skip
            assert done.returncode == 4
            assert "loaded" not in done.stdout + done.stderr
            assert "ran" not in done.stdout.split()


# An installation without some of ours

OURS = sorted({value.partition(".")[0] for value in plugins.ours("dojo.commands").values()} - {"grader"})
TELL = """
import json, sys
from click.testing import CliRunner
from grader.cli.grade import grade
from grader.cli.kata import kata

def told(group, *words):
    done = CliRunner().invoke(group, words)
    return done.exit_code, done.stdout, done.stderr

groups = {"grade": grade, "kata": kata}
lines = [line.split() for line in sys.stdin]
print(json.dumps([told(groups[program], *words) for program, *words in lines]))
"""


@pytest.fixture
def told_without(tmp_path, wheel, course):
    """`told_without(packages, *lines)` runs commands in an installation that these packages are taken out of,
    and returns the exit code, the output and the error of each."""

    def run(packages, *lines):
        installed = tmp_path / "installed"
        with zipfile.ZipFile(io.BytesIO(wheel[1])) as archive:
            archive.extractall(installed)
        for package in packages:
            shutil.rmtree(installed / package)
        path = os.pathsep.join([str(installed), *(place for place in sys.path if "site-packages" in place)])
        done = subprocess.run(
            [sys.executable, "-S", "-P", "-c", TELL],  # without the finder of this checkout
            input="\n".join(lines), cwd=course, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


LEFT_OUT = (
    "which was left out of this installation. Install the whole wheel of the release again: "
    + shlex.join([os.path.abspath(sys.executable), "-m", "pip", "install", "--force-reinstall", "WHEEL"])
)


@pytest.mark.slow
@pytest.mark.parametrize("package", OURS)
def test_a_command_that_was_left_out_says_what_to_install(told_without, package):
    left_out = f"needs {package}, {LEFT_OUT}"
    names = {name: value.startswith(package) for name, value in plugins.ours("dojo.commands").items()}
    lines = [name.replace(".", " ") for name in names]
    found = told_without([package], *(f"{line} --help" for line in lines), "grade --help", "kata --help")
    for line, is_of_it, (code, shown, error) in zip(lines, names.values(), found[:-2], strict=True):
        if is_of_it:
            assert (code, shown, error) == (4, "", f"`{line}` {left_out}\n")
        else:
            assert (code, error) == (0, ""), line
    for program, (code, shown, error) in zip(("grade", "kata"), found[-2:], strict=True):
        missing = [line for line, is_of_it in zip(lines, names.values(), strict=True) if is_of_it]
        said = [f"`{line}` {left_out}\n" for line in missing if line.startswith(program)]
        assert (code, error) == (0, "".join(said))
        assert "\nCommands:\n" in shown


def test_katas_are_listed_and_judged_without_any_of_ours(told_without, course):
    answer = course / "solutions" / "attention" / "double" / "reference.py"
    (course / "exercises" / "attention" / "double.py").write_text(answer.read_text())
    words = "double", "list", "hint center", "next", "double --format json"
    graded, *others = told_without(OURS, *(f"grade {word}" for word in words))
    assert graded[0] == 0
    assert "10 / 10" in graded[1]
    assert [(code, error) for code, _, error in others] == [(0, "")] * len(others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "line", "user"),
    [
        ("dojo_page", "grade mcp", "`grade mcp`"),  # which has the judges of the page
        ("dojo_show", "grade mcp", "`grade mcp`"),
        ("dojo_show", "kata verify", "`kata verify`"),
        ("dojo_classroom", "grade --submission exercises", "`--submission`"),
        ("dojo_authoring", "kata import a/b homework", "`kata import`"),
    ],
)
def test_a_command_says_which_other_package_it_needs(told_without, package, line, user):
    ((code, shown, error),) = told_without([package], line)
    assert (code, shown, error) == (4, "", f"{user} needs {package}, {LEFT_OUT}\n")
