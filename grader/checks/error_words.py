"""Say in a sentence what an error of NumPy, PyTorch or Python means where its message is hard to read."""

from __future__ import annotations

import re

from grader.expect import SubmissionFailed

UNPACKED = re.compile(r"values to unpack \(expected (\d+)")
PRODUCT = re.compile(r"mismatch in its core dimension 0.*\(size (\d+) is different from (\d+)\)")
MATRICES = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")
SHAPES = re.compile(r"could not be broadcast together with shapes (\([\d,]*\)) (\([\d,]*\))")
AXIS = re.compile(r"axis -?\d+ is out of bounds for array of dimension (\d+)")
#: What is said about an everyday slip, by what the libraries say of it.
SLIPS = [
    (
        re.compile(r"truth value of an array with more|Boolean value of Tensor with more"),
        "`and`, `or`, `not` and `if` ask for one truth value: for each entry write `&`, `|`, `~`, with"
        " brackets around comparisons, and `where` for `if`.",
    ),
    (
        re.compile(r"unexpected keyword argument '(?:dim|keepdim)'|'(?:dim|keepdim)' is an invalid keyword"),
        "NumPy calls it `axis` and `keepdims`.",
    ),
    (
        re.compile(r"unexpected keyword argument '(?:axes|axis|keepdims)'"),
        "PyTorch calls it `dim` and `keepdim`.",
    ),
    (
        re.compile(r"return_types\.(max|min|median|mode|sort|topk|cummax|cummin)|'(max|min)' object"),
        "With `dim`, `max`, `min`, `sort` and `topk` of PyTorch return values and indices: take `.values`, or"
        " use `amax` and `amin`.",
    ),
    (
        re.compile(r"only (?:integer scalar arrays|length-1 arrays|0-dimensional arrays) can be converted"),
        "An array stands where one number belongs. Which argument is the array, and which the axis?",
    ),
    (
        re.compile(r"'(?:list|tuple)' object has no attribute '(?:shape|ndim|dtype|sum|mean|T|reshape)'"),
        "A list is no array; `np.array` or `torch.tensor` makes one of it.",
    ),
    (
        re.compile(r"not implemented for '(?:Long|Int|Short|Char|Byte)'"),
        "PyTorch has no such operation for integers: `.double()` makes float64 of them.",
    ),
    (
        re.compile(r"to be Long or Byte, but got Int|index tensor of type LongTensor|be Long but got Int"),
        "The ids may be of any integer dtype; `.long()` makes int64 of them, which this function asks for.",
    ),
]
KEEPDIMS = " Is `keepdims=True` missing where the axis was summed up?"
#: What a library says where it does not implement an operation, unlike a part that is not written.
OF_LIBRARY = re.compile(r"not implemented for|Could not run")
NO_DEBUGGER = "`breakpoint()` needs a keyboard, and there is none here: print the values instead."
NO_INPUT = "`input()` finds nothing to read here: a call gets its arguments alone."
NUMBERS = {"2": "two", "3": "three", "4": "four"}


def in_words(error: SubmissionFailed) -> str:
    """Return a sentence about an error whose own message is hard to read; "" for the others."""
    message = error.message
    if error.kinds[0] == "BdbQuit":
        return NO_DEBUGGER
    if error.kinds[0] == "EOFError" and "reading a line" in message:
        return NO_INPUT
    if said := next((text for slip, text in SLIPS if slip.search(message)), ""):
        return said
    if found := PRODUCT.search(message):
        return _product(found[2], found[1])
    if found := MATRICES.search(message):
        return _product(found[1], found[2])
    if found := SHAPES.search(message):
        sizes = [re.findall(r"\d+", shape)[::-1] for shape in found.groups()]
        return _broadcast(*sizes) + KEEPDIMS * _lacks_an_axis(*sizes)
    if found := AXIS.search(message):
        last = int(found[1]) - 1
        return f"Its axes are 0 to {last}, or -1 to {-last - 1}." if last > 0 else ""
    return ""


def _lacks_an_axis(first: list[str], second: list[str]) -> bool:
    """Return whether one shape, from the last axis on, is the other one without one of its axes."""
    short, long = sorted((first, second), key=len)
    return len(short) == len(long) - 1 and any(long[:n] + long[n + 1 :] == short for n in range(len(long)))


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
    if not axis:
        return ""
    return f"On axis -{axis} the sizes are {one} and {other}; they must be equal, or one of them 1."
