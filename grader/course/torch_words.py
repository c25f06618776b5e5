"""Say in PyTorch's words what a NumPy kata says, for those who answer it in PyTorch: its stub, its hints and
the messages of a report."""

from __future__ import annotations

import re

NAMES = {"numpy": "NumPy", "torch": "PyTorch"}
WIDTH = 88  # characters of a line in a statement
#: What is written in NumPy, and the same in PyTorch.
WORDS = (
    (r"\bnp\.ndarray\b", "torch.Tensor"),
    (r"\b[Aa] Python or NumPy (float|int)\b", r"a Python \1 or a tensor of no axes"),
    (r"\b([Aa])n array\b", r"\1 tensor"),
    (r"\barray(s?)\b", r"tensor\1"),
    (r"\bArray(s?)\b", r"Tensor\1"),
    (r"\bNumPy\b", "PyTorch"),
    (r"\bany integer dtype\b", "int32 or int64"),
)
#: The same in texts that are not the statement, which names no arguments of library functions.
ARGUMENTS = ((r"\bkeepdims\b", "keepdim"), (r"\baxis=", "dim="), (r"\bnp\.", "torch."))
OF_NUMPY = re.compile(r"\s+\(in\s+NumPy\b[^()]*(?:\([^()]*\)[^()]*)*\)")
DESCRIBED = re.compile(r"\b(bool|u?int\d+|b?float\d+|complex\d+) (?=\((?:[a-z_]+=)?\d|\(\))")
SENTENCE = re.compile(r"(?<=\.) +(?=[A-Z])")


def stub_in_torch(source: str, statement_lines: int) -> str:
    """Return the stub of a NumPy kata as a stub in PyTorch: its import, its types and the words of its
    statement, the first lines, are changed. A stub in PyTorch stays as it is."""
    lines = source.splitlines(keepends=True)
    code = re.sub(r"(?m)^import numpy as np$", "import torch", "".join(lines[statement_lines:]))
    return statement_in_torch("".join(lines[:statement_lines])) + _in_torch(code, WORDS)


def statement_in_torch(statement: str) -> str:
    """Return a statement in PyTorch's words, without the sentences on single functions of NumPy."""
    return "\n\n".join(
        _filled(_in_torch(_without_functions(part), WORDS)) for part in statement.split("\n\n")
    )


def text_in_torch(text: str) -> str:
    """Return a hint, a sentence on a mistake or one of the grader's messages in PyTorch's words. What stands
    in brackets that begin with `in NumPy` is left out."""
    return shape_in_torch(_in_torch(OF_NUMPY.sub("", text), (*WORDS, *ARGUMENTS)))


def shape_in_torch(text: str) -> str:
    """Return a text with `float32 tensor (2, 3)` in place of `float32 (2, 3)`."""
    return DESCRIBED.sub(r"\1 tensor ", text)


def _in_torch(text: str, words: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in words:
        text = re.sub(pattern, replacement, text)
    return text


def _without_functions(paragraph: str) -> str:
    """Return a paragraph without the sentences that name a function of NumPy, which hold there alone."""
    if not re.search(r"\bnp\.(?!ndarray\b)", paragraph):
        return paragraph
    kept = [text for text in SENTENCE.split(" ".join(paragraph.split())) if "np." not in text]
    return " ".join(kept)


def _filled(paragraph: str) -> str:
    """Return a paragraph of prose in lines that are not too long; one with columns as it is."""
    lines = paragraph.splitlines()
    if all(len(line) <= WIDTH for line in lines) or any(line.startswith(" ") for line in lines):
        return paragraph
    import textwrap  # takes milliseconds, and few stubs need it

    return textwrap.fill(" ".join(lines), WIDTH, break_on_hyphens=False) + "\n" * paragraph.endswith("\n")
