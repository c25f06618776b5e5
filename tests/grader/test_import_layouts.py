"""How many tests come over from exercises in the layouts in which courses keep them."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.extra.kata import kata as run_kata

LAYOUTS = Path(__file__).parent / "layouts"
PAGE = Path(__file__).parents[2] / "docs" / "importing.md"
REASON = re.compile(r"^note: (\w+) is not taken over: (.*)$", re.MULTILINE)
ABOUT_TWO = "which the tests do not define"


@dataclass
class Layout:
    """An exercise: its test file, the functions that it is about, how many tests it has, and why some of them
    do not come over."""

    words: str
    file: str
    functions: tuple[str, ...]
    tests: int
    left: dict[str, str] = field(default_factory=dict)


FOUND = {
    "flat": Layout(
        "pytest functions, with a helper beside them",
        "test_attention.py",
        ("softmax", "causal_mask", "attention"),
        14,
        {
            "test_softmax_of_text": "it asks for TypeError; a kata refuses by ValueError",
            "test_softmax_is_fast": "it measures time, which differs between machines",
            "test_attention_uses_softmax": "it asks for the fixture `monkeypatch`",
        },
    ),
    "unittest_classes": Layout(
        "unittest classes",
        "test_layer_norm.py",
        ("layer_norm",),
        13,
        {
            "test_returns_an_array": "there are 10 laws before it, and points for no more",
            "test_takes_one_root": "it replaces other code",
            "test_large": "it is marked skipUnless",
        },
    ),
    "notebook": Layout(
        "a notebook of nbgrader",
        "ps3.ipynb",
        ("positional", "add_positions"),
        9,
        {"test_zeros": f"it needs `positional`, {ABOUT_TWO}"},
    ),
    "package": Layout(
        "a package with adapters",
        "tests/test_nn.py",
        ("run_linear", "run_silu", "run_swiglu"),
        9,
        {"test_linear_snapshot": "it asks for the fixture `snapshot`"},
    ),
    "script": Layout(
        "a script of assertions",
        "check_sampling.py",
        ("top_k", "temperature"),
        6,
        {"test_part_6": f"it needs `top_k`, {ABOUT_TWO}"},
    ),
}


def imported(name, layout, folder):
    """Import every function of a layout. Return the names of the tests that came over, and why others did
    not."""
    shutil.copytree(LAYOUTS / name, folder / name)
    taken, left = set(), {}
    for function in layout.functions:
        arguments = ["import", f"{name}/{function}", f"{name}/{layout.file}", "--function", function]
        done = CliRunner().invoke(run_kata, [*arguments, "--course", "my"])
        assert done.exit_code == 0, done.output
        declared = (folder / f"my/tests/katas/{name}/test_{function}.py").read_text()
        taken |= set(re.findall(r"^def (test_\w+)\(student", declared, re.MULTILINE))
        left |= dict(REASON.findall(done.output))
    return taken, {test: why for test, why in left.items() if test not in taken}


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_the_tests_of_a_layout_come_over(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layout = FOUND[name]
    taken, left = imported(name, layout, tmp_path)
    assert (left, len(taken) + len(left)) == (layout.left, layout.tests)


def test_four_of_five_tests_come_over_and_the_page_says_so():
    counts = {one.words: (one.tests, one.tests - len(one.left)) for one in FOUND.values()}
    tests, came = map(sum, zip(*counts.values(), strict=True))
    assert came >= 0.8 * tests
    page = PAGE.read_text(encoding="utf-8")
    assert f"{came} of {tests} tests" in page
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert {words: (int(number), int(over)) for words, number, over in rows} == counts
