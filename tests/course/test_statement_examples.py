"""Every number and every error that an example of a statement prints is what the reference gives."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course
from grader.course.files import load_file
from grader.values.arrays import leaves

from .statement_examples import EXAMPLES, Refused

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
KATAS = [name for name, info in COURSE.katas.items() if info.kind.is_code]
NUMBER = re.compile(
    r"(?<![\w.])-?(?:inf|True|False|\d{1,3}(?:,\d{3})+|\d+/\d+|\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.]*\w)"
)
FINE = re.compile(r"-?\d+\.\d{3,}")
#: Katas whose statements print no example.
WITHOUT = {"debug_device"}


def as_number(text):
    """Return a printed number, and how far it may be from the value that it shows."""
    if text in ("True", "False"):
        return float(text == "True"), 0
    if "/" in text:
        over, under = text.split("/")
        return int(over) / int(under), 1e-12
    mantissa, _, exponent = text.replace(",", "").partition("e")
    digits = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    return float(text.replace(",", "")), half * 1.0001 if digits > 1 or float(mantissa) >= 100 else min(
        half, 1e-3
    )


def numbers(value):
    """Return all numbers of nested values in their order."""
    return [float(x) for leaf in leaves(value) for x in np.asarray(leaf, dtype=np.float64).ravel()]


def without_spaces(text):
    return re.sub(r"\s+", "", text)


def test_every_kata_of_code_has_its_examples_run():
    assert {*EXAMPLES} | WITHOUT == {*KATAS}


@pytest.mark.parametrize("kata", EXAMPLES)
def test_the_examples_of_a_statement_are_what_the_reference_gives(kata):
    info = COURSE.katas[kata]
    if info.library == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    statement = without_spaces(COURSE.stub(info).read_text(encoding="utf-8").replace("\\\\", "\\"))
    reference = load_file(f"reference_of_{kata}", COURSE.solution(info, "reference"))
    for text, value in EXAMPLES[kata](reference):
        assert without_spaces(text) in statement, f"the statement does not say {text!r}"
        if isinstance(value, Refused):
            continue
        printed = [as_number(found) for found in NUMBER.findall(text)]
        given = numbers(value)
        assert len(printed) == len(given), (text, given)
        for (number, within), got in zip(printed, given, strict=True):
            assert number == got or abs(number - got) <= within, (text, given)


@pytest.mark.parametrize("kata", EXAMPLES)
def test_no_fine_number_of_an_example_is_left_out(kata):
    """Numbers of three and more digits after the point in indented lines are results."""
    text = COURSE.stub(COURSE.katas[kata]).read_text(encoding="utf-8").partition('"""\n\nimport')[0]
    indented = "\n".join(line for line in text.splitlines() if line.startswith("    "))
    tried = {*FINE.findall(inspect.getsource(EXAMPLES[kata]))}
    assert not {*FINE.findall(indented)} - tried
