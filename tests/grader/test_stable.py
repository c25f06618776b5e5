"""What 1.x promises: names, signatures and fields stay as `golden/promised.txt` has them.

In a new minor version a line may be added, and a signature may get parameters with defaults. A line that goes
away, or changes otherwise, breaks a course or a script and needs 2.0.
"""

import dataclasses
import functools
import inspect
import io
import pydoc
import re
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import grader
from dojo_authoring.release.wheel import build_wheel
from dojo_classroom.policy import Late, Terms
from grader import report
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.kata import Kata

ROOT = Path(__file__).parents[2]
PROMISED = Path(__file__).parent / "golden" / "promised.txt"
PAGE = (ROOT / "docs" / "stable.md").read_text(encoding="utf-8")
TESTS = re.findall(r"`(tests/[\w/]+/test_\w+\.py)::(\w+)`", PAGE)


def commands():
    for command in (grade, *map(kata.own_command, kata.own_commands())):
        name = "grade" if command is grade else f"kata {command.name}"
        yield name
        options = [option for parameter in command.params for option in parameter.opts]
        yield from (f"{name} {option}" for option in options if option.startswith("-"))


def report_fields():
    for name, value in vars(report).items():
        if dataclasses.is_dataclass(value) and value is not report.Limit:
            yield f"report {name}: {', '.join(field.name for field in dataclasses.fields(value))}"


def policy_entries():
    yield from (f"policy.toml {name}" for name in Terms.__struct_fields__)
    yield from (f"policy.toml late.{name}" for name in Late.__struct_fields__)


def words_of_authors():
    """Yield the words that the reference documents, with their parameters and defaults."""
    yield f"grader.kata.Kata{plain(Kata, documented_in('kata'))}"
    for page in ("kata", "expect", "strategies", "mistakes", "student", "report"):
        for dotted in re.findall(r"^::: (grader\.\S+)", documented_in(page), re.MULTILINE):
            value = pydoc.locate(dotted)
            is_made_by_the_grader = isinstance(value, type) and value.__module__ == "grader.report"
            yield dotted if is_made_by_the_grader else f"{dotted}{plain(value)}"


def documented_in(page):
    return (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")


def plain(value, documented=""):
    """Return a signature without types; of a class, the parameters that its page names."""
    signature = inspect.signature(value)
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if not documented or f"`{name}`" in documented
    ]
    return str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))


@functools.cache
def promised():
    return [*commands(), *words_of_authors(), *report_fields(), *policy_entries()]


def test_nothing_that_is_promised_is_gone_or_changed():
    kept = PROMISED.read_text(encoding="utf-8").splitlines()
    assert [line for line in kept if line not in promised()] == []


def test_what_is_new_is_promised_too():
    kept = set(PROMISED.read_text(encoding="utf-8").splitlines())
    assert [line for line in promised() if line not in kept] == [], "add these lines to promised.txt"


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_what_holds_a_promise_exists(file, name):
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_promise_has_a_test():
    table = PAGE.partition("## What is promised")[2].partition("\n## ")[0]
    _, *rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert [row for row in rows if "`tests/" not in row] == []
    assert len(rows) >= 8


def test_the_version_stands_in_one_place():
    assert f"\nversion: {grader.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## {grader.__version__} " in (ROOT / "CHANGELOG.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "grader.__version__"}


@pytest.mark.parametrize("command", [grade, kata], ids=["grade", "kata"])
def test_both_commands_have_the_version_of_the_code(command):
    asked = CliRunner().invoke(command, ["--version"])
    assert asked.stdout == f"{command.name}, version {grader.__version__}\n"


def test_a_wheel_has_the_version_of_the_code(monkeypatch):
    monkeypatch.setattr("grader.__version__", "1.9.3")  # newer than what is installed
    name, data = build_wheel()
    with zipfile.ZipFile(io.BytesIO(data)) as wheel:
        about = wheel.read("decoder_dojo-1.9.3.dist-info/METADATA").decode()
    assert (name, "\nVersion: 1.9.3\n" in about) == ("decoder_dojo-1.9.3-py3-none-any.whl", True)
