"""Measure the worst text of a megabyte for each parser and pattern that reads what students write.

    python benchmarks/readers.py          # a table
    python benchmarks/readers.py PART     # rows whose name has this part

Each text is asked of a reader, which ends after 20 seconds of CPU time or beyond 512 MiB. Names of files,
which a class matches itself, are as long as a file system or a zip has them.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from dojo_classroom import platform_filenames as names
from grader.course.files import safe_parts
from grader.reading.source import LARGEST_NOTEBOOK, MAX_BYTES, Refused, source_text
from grader.texts.escaping import harmless
from grader.worker.reader import Reader

KATA = {
    **{"name": "double", "library": "numpy", "libraries": ["numpy", "torch"], "entry_points": ["double"]},
    **{"answer": "code", "written": ["WHY"], "ships_wrong_code": ""},
}
ASKED: dict[str, dict[str, Any]] = {
    "read": {"label": "a.py", "kata": KATA, "stub": "def double(x):\n    raise NotImplementedError\n"},
    "uses": {"names": ["torch.softmax"], "entry_points": ["double"]},
    "delegates": {"names": ["torch.softmax", "torch.func.*"], "library": "torch", "entry_points": ["double"]},
    "seeks": {},
    "statement": {},
    "blank": {},
    "bound": {"names": ["double"]},
    "outline": {},
    "docstring_lines": {},
    "fields": {},
    "fill": {"name": "a", "value": "1"},
    "draft": {"names": ["double"], "name": "draft_of_{}", "todo": "TODO"},
    "difference": {"most": 100},
}
NOTEBOOK: dict[str, dict[str, Any]] = {
    "read": {"label": "a.ipynb", "kata": KATA, "notebook": True},
    "cell": {"label": "a.ipynb", "name": "double"},
    "katas": {"label": "a.ipynb", "names": [f"kata_{number}" for number in range(93)]},
}
#: What a megabyte is filled with: one text for each way in which a parser or a pattern can be slow.
SOURCES: dict[str, Callable[[int], str]] = {
    "names": lambda size: "a\n" * (size // 2),
    "constants": lambda size: "a=1\n" * (size // 4),
    "functions": lambda size: "def a():0\n" * (size // 10),
    "classes in a class": lambda size: "class a:\n" + " class a:0\n" * (size // 11 - 1),
    "imports": lambda size: "import a\n" * (size // 9),
    "imports of all": lambda size: "from torch import *\n" * (size // 40) + "a\n" * (size // 4),
    "aliases of aliases": lambda size: (
        "import a\na1=a.a\n" + "".join(f"a{at}=a{at - 1}.a\n" for at in range(2, size // 17))
    ),
    "attributes": lambda size: "a.b\n" * (size // 4),
    "a chain of 900": lambda size: ("a" + ".a" * 900 + "\n") * (size // 1802),
    "a tuple": lambda size: "a = " + "1," * (size // 2 - 4),
    "signs": lambda size: "a = " + "-" * (size - 5) + "1",
    "brackets": lambda size: "a = " + "(" * (size - 4),
    "an f-string": lambda size: "a = f'" + "{1}" * (size // 3 - 4) + "'",
    "short f-strings": lambda size: "f'{a}'\n" * (size // 7),
    "quotes": lambda size: 'a = "' + '\\"' * (size // 2 - 4),
    "an open text": lambda size: 'a = """' + "a\n" * (size // 2 - 8),
    "an integer": lambda size: "a = 0x" + "f" * (size - 6),
    "a decimal integer": lambda size: "a = " + "9" * (size - 4),
    "blanks": lambda size: " " * size,
    "comments": lambda size: "#\n" * (size // 2 - 8) + "a = 1\n",
    "a docstring": lambda size: '"""' + " a\n" * (size // 3 - 4) + '"""',
    "indents": lambda _: "".join(" " * depth + "if 1:\n" for depth in range(99)) + " " * 99 + "0\n",
    "lines that go on": lambda size: "a = \\\n" * (size // 6) + "1",
    "semicolons": lambda size: "a;" * (size // 2),
    "additions of a counter": lambda size: "def a():\n global b\n" + " b+=1\n" * (size // 6 - 4),
    "answers of one question": lambda size: "WHY=1\n" * (size // 6),
    "answers in one line": lambda size: "WHY=1;" * (size // 6),
    "constants below a comment": lambda size: "#\n" * (size // 4) + "a=1;" * (size // 8),
    "functions of many names": lambda size: "".join(f"def a{at}():0\n" for at in range(size // 18)),
    "a chain of functions": lambda size: (
        "def double():a0\n" + "".join(f"def a{at}():a{at + 1}\n" for at in range(size // 24))
    ),
    "imports of all of many": lambda size: (
        "".join(f"from torch.a{at} import *\n" for at in range(size // 88))
        + "".join(f"b{at}\n" for at in range(size // 12))
    ),
    "a name late in a line": lambda size: "a=1;" * (size // 8) + "double=1;" * (size // 18),
    "lines that come again": lambda size: "".join(f"{at % 90}\n" for at in range(size // 3)),
    "decorators": lambda size: "@a\n" * (size // 3 - 8) + "def double():0\n",
    "a coding line": lambda size: "#" + "coding" * (size // 6 - 1),
    "a coding line of blanks": lambda size: "#" + "coding:" + " " * (size - 9),
}
#: The same for a cell, of which 256 KiB are read.
CELLS: dict[str, Callable[[int], str]] = {
    "backslashes in three quotes": lambda size: "x = r'''\n" + "\\a" * (size // 2 - 20) + "\n'''\n!ls",
    "a backslash before each quote": lambda size: "x = '''" + "\\'" * (size // 2 - 20) + "\n!ls",
    "open quotes": lambda size: "!ls\nx = " + "'" * (size - 20),
    "both quotes": lambda size: "!ls\nx = " + "'\"" * (size // 2 - 20),
    "names": lambda size: "!ls\n" + "a" * (size - 20),
    "a name and blanks": lambda size: "!ls\na" + " " * (size - 20) + "b",
    "commas": lambda size: "!ls\n" + "a," * (size // 2 - 20),
    "question marks": lambda size: "!ls\n" + "?" * (size - 20),
    "magics": lambda size: "%a\n" * (size // 3),
    "magics that go on": lambda size: "%a \\\n" * (size // 5),
    "blank lines": lambda size: "\n" * (size - 20),
    "brackets": lambda size: "!ls\n" + "(" * (size - 20),
    "times": lambda size: "%%time\n" * (size // 7),
}
#: What a class matches itself, with the longest that it can be.
NAMED: dict[str, Callable[[], str]] = {
    "digits": lambda: "1" * 251 + ".py",
    "underscores": lambda: "_" * 251 + ".py",
    "numbers": lambda: "1_" * 125 + ".py",
    "brackets": lambda: "(1)" * 83 + ".py",
    "minus": lambda: "a-1" * 83 + ".py",
    "late": lambda: "a_late_1_1_" * 22 + ".py",
    "blanks": lambda: " " * 251 + ".py",
    "dots": lambda: "." * 251 + ".py",
}
SHOWN_FROM = 0.05  # seconds of CPU time; the rows below are counted


@dataclass
class Row:
    """What one text took of one reader."""

    name: str
    seconds: float
    outcome: str


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    """Return the CPU seconds of this process, or of its children that have ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def of_process(pid: int) -> float:
    """Return the CPU seconds of another process; 0 if it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def asked(reader: Reader, name: str, question: str, data: bytes, given: dict[str, Any]) -> Row:
    """Return what a question about a text took."""
    reader.close()
    reader.ask("blank", bool, b"")
    pid = reader.child._popen.pid  # type: ignore[union-attr]
    began, of_others = of_process(pid), cpu(resource.RUSAGE_CHILDREN)
    try:
        reader.ask(question, Any, data, **given)
        outcome = "read"
    except Refused as refused:
        outcome = "could not be judged" if refused.unread else "refused"
    used = of_process(pid) or cpu(resource.RUSAGE_CHILDREN) - of_others
    return Row(f"{question}: {name}", used - began, outcome)


def rows(part: str) -> Iterator[Row]:
    """Yield a row for each text and each question."""
    with closing(Reader()) as reader:
        for name, made in SOURCES.items():
            text = made(MAX_BYTES)
            for question, given in ASKED.items():
                if part in f"{question}: {name}":
                    if question == "difference":
                        given = {**given, "after": "\n".join(text.splitlines()[::-1])}
                    yield asked(reader, name, question, text.encode(), given)
        for name, made in CELLS.items():
            cell = {"cell_type": "code", "source": f"%%kata double\n{made(250 << 10)}"}
            for question, given in NOTEBOOK.items():
                if part in f"{question}: {name}":
                    yield asked(
                        reader, f"{name} (cell)", question, json.dumps({"cells": [cell]}).encode(), given
                    )
        for name, data in {
            "values": b'{"cells": [' + b"1," * 990_000 + b"1]}",
            "outputs of 32 MiB": b'{"cells": ["' + b"a" * (LARGEST_NOTEBOOK - 20) + b'"]}',
            "levels": b"[" * LARGEST_NOTEBOOK,
            "cells": json.dumps({"cells": [{"cell_type": "code", "source": "a"}] * 10_000}).encode(),
        }.items():
            if part in f"katas: {name}":
                yield asked(reader, name, "katas", data, NOTEBOOK["katas"])
    for name, made in NAMED.items():
        text = made()
        began = cpu()
        found = names.owner((text,))
        names.kata_at((text,), names.KnownNames(["double"]))
        names.resubmission(PurePosixPath(text).stem)
        safe_parts(text)
        yield Row(f"a name of a file: {name}", cpu() - began, "is an owner's" if found else "is nobody's")
    for name in ("a coding line", "a coding line of blanks"):
        data, began = SOURCES[name](MAX_BYTES).encode(), cpu()
        outcome = "read"
        try:
            source_text(data)
        except LookupError:
            outcome = "refused"
        yield Row(f"source_text: {name}", cpu() - began, outcome)
    began = cpu()
    harmless("\x1b[" * (MAX_BYTES // 2))
    yield Row("harmless: a megabyte of escapes", cpu() - began, "read")


def main() -> None:
    """Print the table."""
    found = []
    for row in rows(" ".join(sys.argv[1:])):
        found.append(row)
        print(f"{row.name}  {row.seconds:.2f} s  {row.outcome}", file=sys.stderr)
    slow = sorted((row for row in found if row.seconds >= SHOWN_FROM), key=lambda row: -row.seconds)
    print("| question: text of 1 MB | CPU seconds | what comes of it |\n|---|---:|---|")
    for row in slow:
        print(f"| {row.name} | {row.seconds:.2f} | {row.outcome} |")
    print(f"\n{len(found) - len(slow)} of {len(found)} take less than {SHOWN_FROM} s each.")


if __name__ == "__main__":
    main()
