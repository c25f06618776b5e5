"""Search a folder for code of the solutions: in files, in archives, and in the texts of answer keys."""

import ast
import io
import json
import zipfile

from grader.answer_keys.file import MAGIC, KeyFile


def contents(name, data):
    """Yield every text in a file, including those inside archives and keys, with its location."""
    if data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                yield from contents(f"{name}!{inner}", archive.read(inner))
    elif data[: len(MAGIC)] == MAGIC:
        key = KeyFile(data, name)
        yield name, json.dumps(key.katas)
        for kata in key.katas:
            for part in ("answers", "mistakes"):
                yield f"{name}!{part}", "\n".join(strings(key.message(kata, part)))
    else:
        yield name, data.decode("utf-8", "replace")


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (*strings(key), *strings(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def squeezed(text):
    return " ".join(text.split())


def functions(text):
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def body_of(function):
    """The statements of a function as normal text, without its docstring."""
    rest = function.body[1:] if ast.get_docstring(function) else function.body
    return squeezed("\n".join(map(ast.unparse, rest)))


def secrets_of(solutions):
    """Return the function bodies (as written, and normalized) and docstrings of the references.

    Short one-line bodies are left out.
    """
    for file in sorted(solutions.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for function in functions(text):
            first = (
                function.body[1] if ast.get_docstring(function) and function.body[1:] else function.body[0]
            )
            lines = text.splitlines()[first.lineno - 1 : function.end_lineno]
            for body in {squeezed("\n".join(lines)), body_of(function)}:
                if len(body) > 30:
                    yield f"{file.parent.name}/{file.name}:{function.name}", body
        if file.name == "reference.py":
            for node in ast.walk(ast.parse(text)):
                documented = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
                if documented and len(docstring := ast.get_docstring(node) or "") > 30:
                    yield f"{file.parent.name}/{file.name}: a docstring", squeezed(docstring)


def leaks(folder, solutions, public):
    """Return the parts of solutions in a folder that are not public in stubs and declarations anyway."""
    found = [(path.name, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]
    texts = [(name, squeezed(text)) for file, data in found for name, text in contents(file, data)]
    words = [set(text.split()) for _, text in texts]
    shown = [path for part in public for kind in ("*.py", "*.py.txt") for path in part.rglob(kind)]
    known = {squeezed(path.read_text("utf-8")) for path in shown}
    known |= {body_of(function) for part in public for path in part.rglob("*.py")
              for function in functions(path.read_text("utf-8"))}  # fmt: skip
    leaked = []
    for whose, secret in secrets_of(solutions):
        inner = set(secret.split()[1:-1])  # a text that holds the secret has these words, and few texts do
        near = [text for text, its in zip(texts, words, strict=True) if inner <= its and secret in text[1]]
        if near and not any(secret in text for text in known):
            leaked += [f"{whose} in {name}" for name, _ in near]
    return leaked
