"""How a draft says things in NumPy and in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.authoring.scaffold.signatures import Callee, EntryPoint, Parameter

Library = Literal["numpy", "torch"]


@dataclass(frozen=True)
class LibrarySnippets:
    """Source that does the same in either library; `{x}` is an array's name."""

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
DIALECTS: dict[Library, LibrarySnippets] = {"numpy": NUMPY, "torch": TORCH}


@dataclass(frozen=True)
class Draft:
    """What is known of a kata that is to be written."""

    track: str
    name: str
    title: str
    source: str
    library: Library
    entries: tuple[EntryPoint, ...]

    @property
    def dialect(self) -> LibrarySnippets:
        return DIALECTS[self.library]

    @property
    def imports(self) -> str:
        """The library, with `nn` where a module is written."""
        needs_nn = any(base_of(self, entry) for entry in self.entries)
        return self.dialect.imports + ("\nfrom torch import nn" if needs_nn else "")

    @property
    def callees(self) -> list[Callee]:
        """Everything that a case calls: functions, constructors, methods."""
        return [callee for entry in self.entries for callee in (entry.callee, *entry.methods)]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All arguments by name: what a case holds."""
        return {p.name: p for callee in self.callees for p in callee.parameters}

    @property
    def judged(self) -> Callee:
        """What the drafted mistakes are about: the first function, or the first method of the class."""
        first = self.entries[0]
        return first.methods[0] if first.is_class else first.callee

    @property
    def array(self) -> str | None:
        """The first array among its arguments."""
        return next((p.name for p in self.judged.parameters if p.kind == "array"), None)


def base_of(draft: Draft, entry: EntryPoint) -> str:
    """What a class of PyTorch that has a `forward` is derived from."""
    is_module = (
        draft.library == "torch"
        and entry.is_class
        and any(method.name == "forward" for method in entry.methods)
    )
    return "(nn.Module)" if is_module else ""
