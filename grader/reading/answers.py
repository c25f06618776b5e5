"""Answer questions about a text that a student wrote, as plain data that JSON can hold.

A question has a name, its arguments, and the bytes that were handed in. `answered` is what a child process
does with a frame of the trusted end.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from grader.reading import parts, rules, shape
from grader.reading.cells import answer_in, answered_in, cells_in
from grader.reading.source import Refused, decoded, parsed, tree_of

QUESTION = b'{"ask":'  # how the header of a frame with a question begins
#: Of a source that the diagnosis may work on: what it does takes a small part of its own limits then.
PLAIN_NODES, PLAIN_DEPTH, PLAIN_SECONDS = 40_000, 100, 1.0
PLAIN_INTEGER = 1 << 1024
Answer = dict[str, Any]
#: Whether anything is written, by `Kind.answer`.
BEGUN = {"code": parts.is_begun, "constants": parts.is_answered}
#: What is known of a kata, by the names of the fields of `KataInfo`, and what its `answer` is.
KataFacts = Mapping[str, Any]
Questions = Mapping[str, Callable[..., tuple[Any, str]]]


def read(
    data: bytes,
    *,
    label: str,
    kata: KataFacts,
    notebook: bool = False,
    text: bool = False,
    stub: str = "",
) -> tuple[Answer, str]:
    """Return what is known of an answer to a kata, and its source. The data are a Python file, a `notebook`
    of which one cell counts, or a `text` that an editor holds, in UTF-8. With a `stub`, the shape of the rest
    is looked up too, and an older text of the same code is untouched. Raises Refused."""
    if text:
        source = data.decode("utf-8", "surrogatepass")
        decoded(source.encode("ascii", "replace"), label)  # an encoding that Python does not know
    elif notebook:
        source = answer_in(cells_in(data, label), kata["name"], label)
        label = f"{label} (cell {kata['name']})"
    else:
        source = decoded(data, label)
    began = time.process_time()
    tree = parsed(source, label)
    seconds = time.process_time() - began
    found: Answer = {
        "library": parts.library_of(tree, kata["library"], kata["libraries"]),
        "begun": BEGUN[kata["answer"]](tree, [*kata["entry_points"], *kata["written"]]),
        "unwritten": {
            n: [r.start, r.stop] for n, r in parts.unwritten_parts(tree, kata["entry_points"]).items()
        },
        "words": {name: parts.written_answer(tree, source, name) for name in kata["written"]},
        "plain": seconds <= PLAIN_SECONDS and _is_plain(tree),
    }
    wrong = kata["ships_wrong_code"]
    found["code_digest"] = shape.code_digest(tree)
    found["touched"] = not _is_shipped(source, found["code_digest"], wrong, stub) if wrong else found["begun"]
    if stub:
        with suppress(ValueError, RecursionError):  # nested too deeply, or with an integer too long
            found["shape"], found["tokens"] = shape.shape(tree, ast.parse(stub))
    return found, source


def _is_shipped(source: str, code: str, wrong: str, stub: str) -> bool:
    """Return whether a source is the wrong code that a kata ships: by the digest of the text, or with the
    `stub` by its code, as its statement may have been corrected since."""
    return shape.text_digest(source) == wrong or bool(stub and code == shape.code_digest(ast.parse(stub)))


def _is_plain(tree: ast.Module) -> bool:
    """Return whether a tree is small, not deep, and has no very large integer."""
    level: list[ast.AST] = [tree]
    nodes = depth = 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > PLAIN_NODES or depth > PLAIN_DEPTH or any(map(_is_large, level)):
            return False
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return True


def _is_large(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > PLAIN_INTEGER


def cell(data: bytes, *, label: str, name: str) -> tuple[Answer, str]:
    """Return the code of the cell of a notebook that answers a kata."""
    return {}, answer_in(cells_in(data, label), name, label)


def katas(data: bytes, *, label: str, names: list[str]) -> tuple[list[str], str]:
    """Return which of the katas a notebook answers."""
    return answered_in(cells_in(data, label), names), ""


def uses(data: bytes, *, names: list[str], entry_points: list[str]) -> tuple[list[tuple[str, int]], str]:
    """Return the first of the library functions that a source uses, and its line, if it uses one."""
    tree = tree_of(text_of(data))
    used = rules.first_use(tree, names, entry_points=entry_points) if tree else None
    return ([used] if used else []), ""


def delegates(
    data: bytes, *, names: list[str], library: str, entry_points: list[str]
) -> tuple[list[tuple[str, int]], str]:
    """Return the first of a kata's shortcuts that a source uses, and its line, if it uses one."""
    tree = tree_of(text_of(data))
    used = rules.shortcut_in(tree, names, library, entry_points) if tree else None
    return ([used] if used else []), ""


def statement(data: bytes) -> tuple[list[tuple[str, int]], str]:
    """Return the docstring of a source and its last line, if it has one."""
    tree = tree_of(text_of(data))
    text = ast.get_docstring(tree) if tree else None
    return ([(text, tree.body[0].end_lineno or 0)] if tree and text is not None else []), ""


def text_of(data: bytes) -> str:
    """Return the text in a frame. A lone surrogate in it stays as it is."""
    return data.decode("utf-8", "surrogatepass")


def blank(data: bytes) -> tuple[bool, str]:
    """Return whether nothing is written in a source yet."""
    tree = tree_of(text_of(data))
    return tree is not None and parts.is_unwritten(tree), ""


def by_name(*functions: Callable[..., tuple[Any, str]]) -> Questions:
    """Return the questions that these functions answer, by their names."""
    return {function.__name__: function for function in functions}


#: What a worker is asked about the submission that it judges afterwards, among others.
OF_A_SUBMISSION = by_name(read, cell, katas, uses, delegates, statement, blank)


def answered(
    header: bytes,
    data: bytes,
    limited: Callable[[float], AbstractContextManager[object]] = nullcontext,
    questions: Questions = OF_A_SUBMISSION,
) -> tuple[bytes, bytes]:
    """Return the answer to one of the questions, which a frame has, as the header and the body of another
    one. `limited` makes the block that takes at most the seconds that the frame allows."""
    asked = json.loads(header)
    try:
        with limited(asked["seconds"]):
            answer, source = questions[asked["ask"]](data, **asked["given"])
            found = {"answer": answer}
    except Refused as refused:
        found, source = {"refused": [str(refused), refused.excerpt, refused.unread]}, ""
    except MemoryError:
        found, source = {"spent": "memory"}, ""
    except (RecursionError, ValueError):  # Python writes no integer of more than 4,300 digits
        found, source = {"spent": "depth"}, ""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace"), source.encode("utf-8", "surrogatepass")
