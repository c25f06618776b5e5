"""Source snippets in NumPy and in PyTorch, and the draft that uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.authoring.scaffold.signatures import Callee, EntryPoint, Parameter

Library = Literal["numpy", "torch"]


@dataclass(frozen=True)
class LibrarySnippets:
    """Source snippets of one library; `{x}` is replaced by an array's name, `{}` by an expression."""

    imports: str
    array: str
    drawn: str
    wide: str
    narrow: str
    back: str
    relaid: str
    in_memory_order: str


NUMPY = LibrarySnippets(
    imports="import numpy as np",
    array="np.ndarray",
    drawn="draw({})",
    wide="{x}.astype(np.float64)",
    narrow="{x}.astype(np.float32)",
    back="{}.astype({x}.dtype)",
    relaid="np.asfortranarray({x})",
    in_memory_order='{x}.ravel(order="K").reshape({x}.shape)',
)
TORCH = LibrarySnippets(
    imports="import torch",
    array="torch.Tensor",
    drawn="draw(st.tensors({}))",
    wide="{x}.double()",
    narrow="{x}.float()",
    back="{}.to({x}.dtype)",
    relaid="{x}.mT.contiguous().mT",
    in_memory_order="{x}.as_strided({x}.shape, torch.empty({x}.shape).stride())",
)
SNIPPETS: dict[Library, LibrarySnippets] = {"numpy": NUMPY, "torch": TORCH}


@dataclass(frozen=True)
class Draft:
    """The name, texts, library and entry points of a new kata."""

    track: str
    name: str
    title: str
    source: str
    library: Library
    entries: tuple[EntryPoint, ...]

    @property
    def snippets(self) -> LibrarySnippets:
        return SNIPPETS[self.library]

    @property
    def imports(self) -> str:
        """The imports of the library, with `nn` if there is a module class."""
        needs_nn = any(base_of(self, entry) for entry in self.entries)
        return self.snippets.imports + ("\nfrom torch import nn" if needs_nn else "")

    @property
    def callees(self) -> list[Callee]:
        """All functions, constructors and methods that a case calls."""
        return [callee for entry in self.entries for callee in (entry.callee, *entry.methods)]

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
    def array(self) -> str | None:
        """The name of the first array argument of `judged`, or None."""
        return next((p.name for p in self.judged.parameters if p.kind == "array"), None)


def base_of(draft: Draft, entry: EntryPoint) -> str:
    """Return the base class `(nn.Module)` of a PyTorch class with a `forward`, else an empty string."""
    is_module = (
        draft.library == "torch"
        and entry.is_class
        and any(method.name == "forward" for method in entry.methods)
    )
    return "(nn.Module)" if is_module else ""
