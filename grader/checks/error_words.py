"""Say in words what some error messages of Python and NumPy mean."""

from __future__ import annotations

import re

from grader.expect import SubmissionFailed

PRODUCT = re.compile(r"mismatch in its core dimension 0.*\(size (\d+) is different from (\d+)\)")
MATRICES = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")
SHAPES = re.compile(r"could not be broadcast together with shapes (\([\d,]*\)) (\([\d,]*\))")
AXIS = re.compile(r"axis -?\d+ is out of bounds for array of dimension (\d+)")
NO_DEBUGGER = "`breakpoint()` needs a keyboard, and there is none here: print the values instead."
NO_INPUT = "`input()` finds nothing to read here: a call gets its arguments alone."


def in_words(error: SubmissionFailed) -> str:
    """Return a sentence about an error whose own message is hard to read; "" for the others."""
    message = error.message
    if error.kinds[0] == "BdbQuit":
        return NO_DEBUGGER
    if error.kinds[0] == "EOFError" and "reading a line" in message:
        return NO_INPUT
    if found := PRODUCT.search(message):
        return _product(found[2], found[1])
    if found := MATRICES.search(message):
        return _product(found[1], found[2])
    if found := SHAPES.search(message):
        return _broadcast(*(re.findall(r"\d+", shape)[::-1] for shape in found.groups()))
    if found := AXIS.search(message):
        last = int(found[1]) - 1
        return f"Its axes are 0 to {last}, or -1 to {-last - 1}." if last > 0 else ""
    return ""


def _product(first: str, second: str) -> str:
    return (
        f"The last axis of the first, {first}, is not the next-to-last of the second, {second}; in a product"
        " of matrices they are equal."
    )


def _broadcast(first: list[str], second: list[str]) -> str:
    """Return which sizes do not fit, given the shapes from the last axis on."""
    pairs = enumerate(zip(first, second, strict=False), 1)
    unequal = ((axis, pair) for axis, pair in pairs if pair[0] != pair[1] and "1" not in pair)
    axis, (one, other) = next(unequal, (0, ("", "")))
    text = f"On axis -{axis} the sizes are {one} and {other}; they must be equal, or one of them 1."
    return text * bool(axis)
