"""What `kata new` knows of a kata, and how source is written in NumPy and in PyTorch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dojo_authoring.scaffold.signatures import Callee, EntryPoint, Parameter

Library = Literal["numpy", "torch"]
KataKind = Literal["function", "module", "object", "sampler", "questions"]
SNIPPET_KINDS: tuple[KataKind, ...] = get_args(KataKind)
TEMPLATES = Environment(  # the drafts are Python, so nothing is escaped
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
TEMPLATES.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)


def filled(template: str, **values: Any) -> str:
    """Return the text of `templates/TEMPLATE.py.txt` with values in place of its variables."""
    return TEMPLATES.get_template(f"{template}.py.txt").render(values)


@dataclass(frozen=True)
class LibrarySnippets:
    """Source snippets of one library; `{x}` is replaced by an array's name, `{}` by an expression."""

    imports: str
    array: str
    drawn: str
    wide: str
    back: str
    rng: str
    seeded: str
    next_number: str


NUMPY = LibrarySnippets(
    imports="import numpy as np",
    array="np.ndarray",
    drawn="draw({})",
    wide="{x}.astype(np.float64)",
    back="{}.astype({x}.dtype)",
    rng="np.random.Generator",
    seeded="np.random.default_rng({})",
    next_number="rng.random()",
)
TORCH = LibrarySnippets(
    imports="import torch",
    array="torch.Tensor",
    drawn="draw(st.tensors({}))",
    wide="{x}.double()",
    back="{}.to({x}.dtype)",
    rng="torch.Generator",
    seeded="torch.Generator().manual_seed({})",
    next_number="torch.rand((), generator=rng).item()",
)
SNIPPETS: dict[Library, LibrarySnippets] = {"numpy": NUMPY, "torch": TORCH}


@dataclass(frozen=True)
class Draft:
    """What `kata new` knows of a kata. `weights` are the names and axes of a module's parameters."""

    track: str
    name: str
    title: str
    source: str
    library: Library
    entries: tuple[EntryPoint, ...]
    kind: KataKind = "function"
    weights: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_draft: bool = False  # without mistakes and variants

    @property
    def snippets(self) -> LibrarySnippets:
        return SNIPPETS[self.library]

    @property
    def imports(self) -> str:
        """The imports of a stub: what defaults need, the library, and `nn` if there is a module class."""
        needs_nn = any(base_of(self, entry) for entry in self.entries)
        needs_math = any("math." in (p.default or "") for p in self.parameters.values())
        head = "import math\n\n" if needs_math else ""
        return head + self.snippets.imports + ("\nfrom torch import nn" if needs_nn else "")

    @property
    def callees(self) -> list[Callee]:
        """All functions, constructors and methods that a case calls."""
        return [callee for entry in self.entries for callee in entry.callees]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All arguments by name; a case has a value for each."""
        return {p.name: p for callee in self.callees for p in callee.parameters}

    @property
    def judged(self) -> Callee:
        """The callee that drafted mistakes change: the first function, or the first method of the class."""
        first = self.entries[0]
        return first.methods[0] if first.is_class else first.callee

    @property
    def array(self) -> Parameter | None:
        """The first array argument of `judged`, or None."""
        return next((p for p in self.judged.parameters if p.kind == "array"), None)

    @property
    def rng(self) -> str:
        """The name of the argument that random numbers are drawn from, or an empty text."""
        return next((p.name for p in self.parameters.values() if p.kind == "rng"), "")

    @property
    def returns_array(self) -> bool:
        """Whether the result is one array, as far as its annotation tells."""
        result = self.judged.result
        return not result or result.startswith(("'", '"')) or result == self.snippets.array

    @property
    def returns_floats(self) -> bool:
        """Whether the result is an array of floats, as far as the signature tells."""
        return self.returns_array and self.judged.returns_floats

    def axes_of(self, parameter: Parameter) -> tuple[str, ...]:
        """Return the names of an array's axes: those given, or two that differ from each other."""
        if parameter.axes:
            return parameter.axes
        widths = [p.name for p in self.parameters.values() if p.name.startswith("d_") and p.default is None]
        return "rows", widths[0] if widths else "columns"

    @property
    def arrays(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """All array arguments and the module's parameters, with the names of their axes."""
        for p in self.parameters.values():
            if p.kind in ("array", "integers", "mask"):
                yield p.name, self.axes_of(p)
        yield from self.weights

    @property
    def sizes(self) -> list[str]:
        """The names of all axes, in the order in which they first occur."""
        return list(dict.fromkeys(axis for _, axes in self.arrays for axis in axes))


def base_of(draft: Draft, entry: EntryPoint) -> str:
    """Return the base class `(nn.Module)` of a PyTorch class with a `forward`, else an empty string."""
    is_module = (
        draft.library == "torch"
        and entry.is_class
        and any(method.name == "forward" for method in entry.methods)
    )
    return "(nn.Module)" if is_module else ""


def tuple_of(items: Sequence[str]) -> str:
    """Return the source of a tuple, such as a shape `(rows, columns)`."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
