"""`grade` is a group of commands: their words, options and help, and the options of 1.0 that they were."""

import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from dojo_authoring.verify import static_checks
from grader.cli.grade import OLD_COMMANDS, OLD_OPTIONS, grade
from grader.course.catalog import Course

HIDDEN = {"help", "lsp", "mcp", "puzzle"}  # two are started by programs, and the last hint offers a puzzle
COMMANDS = [name for name in grade.own_commands() if name != "help"]
VISIBLE = [name for name in grade.own_commands() if name not in HIDDEN]
SINCE_1_0 = {"lsp", "mcp", "review", "laws", "plan", "probe", "puzzle"}


@pytest.fixture
def run(tmp_path, tiny_files, write, monkeypatch):
    """`run(*words)` runs `grade` in the folder of a tiny course and returns click's result."""
    monkeypatch.chdir(write(tmp_path / "course", tiny_files))
    return lambda *words: CliRunner().invoke(grade, words, input="n\n")


OLD = {
    "--list": "list",
    "--list --plan lab": "list --plan lab",
    "--next": "next",
    "--hint double": "hint double",
    "double --hint": "hint double",
    "--hint": "hint",
    "--solution double": "solution double",
    "--again double": "again double",
    "--again": "again",
    "--reset": "reset",
    "--doctor --ascii": "doctor --ascii",
    "--protect": "protect",
    "--see --text": "see --text",
    "--speak list of words": "speak list of words",
    "--start mine --library torch": "start mine --library torch",
}


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_option_of_1_0_does_what_the_command_does(run, old, new):
    def told(words):
        shown = run(*words.split())
        Path(".dojo/state.json").unlink(missing_ok=True)  # it remembers the last hint
        return shown.exit_code, shown.stdout, shown.stderr

    assert told(old) == told(new)


def test_every_command_that_was_an_option_has_its_old_spelling():
    assert set(OLD_COMMANDS.values()) == set(COMMANDS) - SINCE_1_0
    options = {one.name: one for one in grade.params if isinstance(one, click.Option)}
    assert all(options[name].hidden for name in {*OLD_COMMANDS, *OLD_OPTIONS})


def test_an_old_spelling_takes_the_options_of_a_grading(run):
    assert run("--list", "--brief", "--screen").stdout == run("list").stdout


@pytest.mark.parametrize("words", ["--plan lab list", "list --plan lab"])
def test_options_of_a_command_stand_before_its_name_or_behind_it(run, words):
    assert run(*words.split()).stderr.startswith("There is no plan called `lab`.")


def test_an_option_that_a_command_does_not_have_is_refused(run):
    for words in (["--brief", "list"], ["list", "--brief"]):
        result = run(*words)
        assert result.exit_code == 4
        assert result.stderr.startswith("Usage: grade list [OPTIONS]\n")
        assert "No such option" in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("lst", "There is no kata called `lst`. Did you mean `grade list`?"),
        ("LIST", "There is no kata called `LIST`. Did you mean `grade list`?"),
        ("hnt double", "There is no kata called `hnt`. Did you mean `grade hint`?"),
        ("doble", "There is no kata called `doble`. Did you mean `double`?"),
        ("zzzz", "There is no kata called `zzzz`. `grade list` shows all katas."),
        ("double hint", "There is no kata called `hint`. A command comes first: grade hint double"),
        ("hint list", "There is no kata called `list`. `grade list` shows all katas."),
        ("test", "There is no kata called `test`. To grade what you have begun: grade"),
        ("watch", "There is no kata called `watch`. To grade whatever is saved: grade"),
        ("test double", "There is no kata called `test`. Run: grade double"),
        ("watch double", "There is no kata called `watch`. Run: grade double --watch"),
        ("hint", "`grade hint` goes with the name of one kata: grade hint double."),
        ("hint double center", "`grade hint` goes with the name of one kata: grade hint double."),
        ("again", "`grade again` goes with the name of a kata: grade again double."),
        ("-- list", "There is no kata called `list`. `grade list` shows all katas."),
        ("double -- hint", "There is no kata called `hint`. A command comes first: grade hint double"),
        ("--text", "`--text` goes with `grade see`: grade see --text."),
        ("--with cache", "`--with` goes with `grade speak`: grade speak --with."),
        ("--port 80", "`--port` goes with `grade page`: grade page --port."),
        ("--library torch", "`--library` goes with `grade start`: grade start DIR --library."),
    ],
)
def test_words_that_are_no_command_and_no_kata_are_one_sentence(run, words, sentence):
    result = run(*words.split())
    assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"{sentence}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_opens_a_course_says_that_there_is_none(run, tmp_path, command):
    if command == "start":
        return
    result = run(command, "--course", str(tmp_path))
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith(f"There is no course in {tmp_path}: it has no folder tests/katas.")


@pytest.fixture
def namesake(tmp_path, tiny_files, write, monkeypatch):
    """A course in which the kata `double` is called `list`."""
    files = {path.replace("double", "list"): text for path, text in tiny_files.items() if "double" in path}
    card = "tests/katas/attention/test_list.py"
    files[card] = files[card].replace('"double"', '"list"', 1)
    monkeypatch.chdir(write(tmp_path / "course", files))
    return Course(tmp_path / "course")


@pytest.mark.usefixtures("namesake")
def test_a_kata_with_the_name_of_a_command_is_graded_by_its_file():
    listed = CliRunner().invoke(grade, ["list"])
    assert "· list  Twice as much" in listed.stdout
    path = "exercises/attention/list.py"
    assert listed.stderr == f"`list` is a command, and a kata here. Grade the kata: grade {path}\n"
    for words in ([path], ["--", "list"], ["--course", ".", "--", "list"]):
        graded = CliRunner().invoke(grade, ["--brief", *words])
        assert (graded.stderr, graded.stdout[:4]) == ("", "list"), words


def test_all_without_dashes_means_all_katas(run):
    assert run("all", "--brief").stdout == run("--all", "--brief").stdout


def test_kata_verify_refuses_the_name_of_a_command(namesake):
    told = static_checks.unfinished(namesake, namesake.kata_info("list"))
    where = "exercises/attention/list.py:1"
    assert f"{where}: `grade list` is a command; give the kata another name: kata rename." in told


def test_help_shows_commands_first_and_fits_a_screen():
    shown = CliRunner().invoke(grade, ["--help"], terminal_width=80).stdout
    assert len(shown.splitlines()) <= 44
    commands, options = shown.partition("Commands:")[2].split("Options of grading:")
    assert re.findall(r"^  (\w+)  ", commands, re.MULTILINE) == VISIBLE
    assert len(re.findall(r"^  -", options, re.MULTILINE)) <= 12
    assert CliRunner().invoke(grade, ["help"], terminal_width=80).stdout == shown
    assert max(map(len, shown.splitlines())) <= 80


def test_all_options_are_shown_when_they_are_asked_for():
    shown = CliRunner().invoke(grade, ["help", "options"]).stdout
    options = [one for one in grade.params if isinstance(one, click.Option) and not one.hidden]
    assert [one.opts[0] for one in options if one.opts[0] not in shown] == []
    assert "--hint" not in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_its_help(command):
    shown = CliRunner().invoke(grade, ["help", command]).stdout
    assert shown.startswith(f"Usage: grade {command} ")
    assert CliRunner().invoke(grade, [command, "--help"]).stdout == shown


def completed(*words):
    complete = ShellComplete(grade, {}, "grade", "_GRADE_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.usefixtures("run")
def test_the_shell_completes_commands_katas_and_options():
    assert completed("d") == ["doctor", "double"]
    assert completed("double", "d") == ["double"]
    assert completed("hint", "d") == ["double"]
    assert completed("see", "--t") == ["--text", "--tokens"]
    assert "help" not in completed("")
