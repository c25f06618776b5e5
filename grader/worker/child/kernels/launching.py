"""Launch kernels: `triton.jit`, pointers, and the programs of a grid.

A kernel sees what Triton lets it see, and each program sees it anew: nothing is kept from one to the next.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np

from grader.worker.child.kernels.blocks import (
    INT64,
    Block,
    KernelError,
    as_block,
    dtype_named,
    together,
)
from grader.worker.protocol.outlines import ArrayOutline

FORBIDDEN = {
    "MAKE_FUNCTION": "a function, a lambda or a comprehension inside of a kernel",
    "IMPORT_NAME": "an import inside of a kernel",
    "STORE_GLOBAL": "a global variable that a kernel sets",
    "RAISE_VARARGS": "`raise` inside of a kernel",
    "YIELD_VALUE": "`yield` inside of a kernel",
    "STORE_ATTR": "setting of an attribute",
    "DELETE_ATTR": "deletion of an attribute",
    "MATCH_CLASS": "class pattern",
}
#: Attributes that Triton's objects have not, and these here have: through them a kernel would reach NumPy, a
#: list of its file, or what the next program sees.
INNER = {"access", "array", "at", "base", "block_shape", "builtins", "data", "entries", "function", "launch"}
INNER |= {"loaded", "offsets", "sizes", "steps", "stored"}
INNER_PREFIXES = ("_", "ag_", "co_", "cr_", "f_", "gi_", "tb_")  # of frames, generators and the like


class FrozenModule(types.ModuleType):
    """A module that no submission changes: nothing is kept in it between two programs."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self.__name__}.{name} cannot be set")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__name__}.{name} is not in the part of Triton that runs here")


class constexpr:  # Triton's name
    """Marks a parameter, or a global, whose value is known before the launch."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class DeviceArray(ArrayOutline):
    """What a student's launcher gets for an array: its name, dtype and shape. The numbers are in the grader's
    memory, and only a kernel that runs can load and store them."""

    def __init__(self, outline: ArrayOutline, access: Callable[..., Any]) -> None:
        def of_kernels(*asked: Any) -> Any:
            if not _running:
                raise RuntimeError("Only a kernel loads and stores.")
            return access(*asked)

        super().__init__(outline.name, outline.type_name, outline.shape, outline.strides, of_kernels)


class Pointer:
    """Where entries of an array are: the array, and a block of numbers of entries from its start."""

    __slots__ = ("array", "at", "launch")
    is_pointer = True

    def __init__(self, launch: Launch, array: Any, at: Block) -> None:
        self.launch, self.array, self.at = launch, array, at

    @property
    def dtype(self) -> Any:
        return types.SimpleNamespace(element_ty=dtype_named(self.array.type_name))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.at.shape

    def __add__(self, offset: Any) -> Pointer:
        moved = as_block(offset)
        if moved.dtype.kind not in "iu":
            raise KernelError(f"a pointer is moved by integers, and {moved.dtype} is none")
        left, right, _ = together(self.at, Block(moved.data.astype(np.int64), INT64))
        return Pointer(self.launch, self.array, Block(left.data + right.data, INT64))

    __radd__ = __add__

    def __sub__(self, offset: Any) -> Pointer:
        return self + -as_block(offset)

    def __getitem__(self, index: Any) -> Pointer:
        return Pointer(self.launch, self.array, self.at[index])

    def __bool__(self) -> bool:
        raise KernelError("a pointer is no truth value")


class Launch:
    """One launch of a kernel: its grid, and the program that runs."""

    def __init__(self, kernel: Kernel, grid: tuple[int, ...]) -> None:
        self.kernel, self.grid = kernel, grid
        self.program = 0

    def place(self) -> tuple[int, ...]:
        """Return the program's number on each axis of the grid."""
        at, found = self.program, []
        for size in self.grid:
            found.append(at % size)
            at //= size
        return tuple(found)


_running: list[Launch] = []


def launch() -> Launch:
    """Return the launch whose program runs. Raises KernelError outside of kernels."""
    if not _running:
        raise KernelError("functions of tl run inside of a kernel that was launched with a grid")
    return _running[-1]


class Kernel:
    """A function that `triton.jit` decorates: `kernel[grid](...)` runs it once for each program."""

    builtins: Mapping[str, Any] = {}  # what a kernel may call of Python's own; `language` sets both
    language: tuple[Any, ...] = ()  # the modules of Triton, and what they have
    #: Functions that the grader has put into a source, to record what its kernels compute.
    recorders: ClassVar[WeakSet[Any]] = WeakSet()

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise TypeError("triton.jit decorates a function")
        self.function = function
        self.chosen: dict[str, Any] = {}  # arguments of the configuration that `autotune` takes
        self.computed: dict[str, Callable[[dict[str, Any]], Any]] = {}  # arguments of `heuristics`
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        instructions = [*dis.get_instructions(function)]
        self._globals = {
            str(one.argval) for one in instructions if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        }
        _require_compilable(function, instructions)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def run(*args: Any, **kwargs: Any) -> None:
            self._launch(grid, args, kwargs)

        return run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _running:
            raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
        return self.loaded()(*args, **kwargs)

    def loaded(self) -> Callable[..., Any]:
        """Return the function with nothing around it but what Triton lets a kernel see, anew for each
        program: nothing is kept from one to the next."""
        known: dict[str, Any] = {"__builtins__": self.builtins}
        for name in self._globals:
            if name in self.function.__globals__:
                known[name] = _seen(name, self.function.__globals__[name])
        loaded = types.FunctionType(
            self.function.__code__, known, self.function.__name__, self.function.__defaults__
        )
        loaded.__kwdefaults__ = self.function.__kwdefaults__
        return loaded

    def _launch(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        signature = inspect.signature(self.function)
        for option in ("num_warps", "num_stages", "num_ctas", "maxnreg"):  # how a GPU runs it
            if option not in signature.parameters:  # as in Triton, a kernel may ask for it
                kwargs.pop(option, None)
        if set(kwargs) & (set(self.chosen) | set(self.computed)):
            raise ValueError("Conflicting meta-parameters: a launch gives what the decorators choose")
        kwargs |= self.chosen
        named = {**dict(zip(signature.parameters, args, strict=False)), **kwargs}
        for name, compute in self.computed.items():
            kwargs[name] = named[name] = compute(named)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked = grid(dict(bound.arguments)) if callable(grid) else grid
        sizes = tuple(asked) if isinstance(asked, tuple | list) else ()  # Triton takes no plain number
        if not 1 <= len(sizes) <= 3 or any(type(size) is not int or size < 0 for size in sizes):
            raise ValueError(f"a grid is a tuple of one to three integers, and {asked!r} is none")
        arrays = [value for value in bound.arguments.values() if isinstance(value, ArrayOutline)]
        if not arrays:
            raise ValueError(f"{self.__name__} gets no array, so it could store nothing")
        running = Launch(self, sizes)
        given = {name: self._given(running, name, value) for name, value in bound.arguments.items()}
        ask = arrays[0].access
        _running.append(running)
        try:
            for program in ask("launch", self.__name__, list(sizes), [array.name for array in arrays]):
                running.program = int(program)
                with np.errstate(all="ignore"):
                    self.loaded()(**given)
        finally:
            _running.pop()

    def _given(self, running: Launch, name: str, value: Any) -> Any:
        """Return an argument as the kernel sees it."""
        if "constexpr" in str(self.function.__annotations__.get(name, "")):
            if isinstance(value, ArrayOutline | Block):
                raise KernelError(f"{name} is tl.constexpr, and an array is none")
            return _constant(name, value)
        if isinstance(value, ArrayOutline):
            return Pointer(running, value, Block(np.int64(0), INT64))
        if isinstance(value, bool | int | float) or value is None:
            return value if value is None else as_block(value)
        if isinstance(value, np.generic):
            return as_block(value.item())
        raise TypeError(f"{name} of a kernel is an array or a number, and {type(value).__name__} is neither")


def _require_compilable(function: types.FunctionType, instructions: Sequence[dis.Instruction]) -> None:
    """Raise KernelError for what Triton cannot compile."""
    if function.__closure__:
        raise KernelError(f"{function.__name__} uses a variable of the function around it; pass it")
    for one in instructions:
        if one.opname in FORBIDDEN:
            raise KernelError(f"Triton compiles no {FORBIDDEN[one.opname]}")
        if isinstance(one.argval, str) and one.argval.startswith("__") and one.argval != "__debug__":
            raise KernelError(f"Triton compiles no {one.argval}")
        if one.opname in ("LOAD_ATTR", "LOAD_METHOD") and _is_inner(str(one.argval)):
            raise KernelError(f"Triton compiles no .{one.argval}")
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not all(_is_constant(value) for value in defaults):
        raise KernelError("the default of a kernel's parameter is a number")


def _is_inner(name: str) -> bool:
    """Return whether Triton has no attribute of this name, and an object of Python's or of this simulator
    does."""
    return name in INNER or name.startswith(INNER_PREFIXES)


def _is_constant(value: Any) -> bool:
    """Return whether a value is known before the launch and never changes: nothing is kept in it."""
    if isinstance(value, constexpr):
        return _is_constant(value.value)
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return value is None or type(value) in (bool, int, float, str) or _is_of_language(value)


def _is_of_language(value: Any) -> bool:
    """Return whether a value is itself one of Triton's functions, dtypes or modules, whatever name it has;
    or one of the grader's recorders."""
    return any(value is one for one in (*Kernel.language, *Kernel.recorders))


def _constant(name: str, value: Any) -> Any:
    """Return what a kernel sees of a `tl.constexpr`. Raises KernelError."""
    held = value.value if isinstance(value, constexpr) else value
    if type(held) is Kernel:
        return held.__call__  # which has no attributes in which something could be kept
    if not _is_constant(held):
        raise KernelError(f"{name} is tl.constexpr, and a value of type {type(held).__name__} is none")
    return held


def _seen(name: str, value: Any) -> Any:
    """Return a global as a kernel sees it. Raises NameError if Triton lets it see none."""
    if isinstance(value, constexpr) or type(value) is Kernel or _is_of_language(value):
        return _constant(name, value)
    raise NameError(
        f"Cannot access global variable {name} from within @jit'ed function. Triton kernels can only access"
        " global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`)."
    )
