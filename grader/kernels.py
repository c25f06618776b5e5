"""A simulated device: arrays that kernels written for Triton load from and store to.

    device = Device()
    x, out = device.array(numbers, "x"), device.empty(numbers.shape, "float32", "out")
    device.run(student.double, x, out, 16)
    out.numpy(), device.bytes_loaded, device.races

The arrays are here, and the kernels run where the submission runs: every load and store of a kernel comes as
a list of indices, is checked, and is counted. The programs of a launch run one after the other, in an order
that is drawn anew. Where this module is imported and Triton is not
installed, `import triton` finds what is known of it here.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from grader import expect
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Kata
from grader.report import Panel, Picture
from grader.worker.child.kernels import Finder
from grader.worker.protocol.outlines import ArrayOutline, stored

SEGMENT = 128  # bytes that a GPU reads at once
MOST_PROGRAMS = 4096  # of one launch
MOST_ENTRIES = 1 << 13  # of one load or store
MOST_DRAWN = 32  # programs or entries of a picture
ORDERS = (1, 2)  # in which programs run, beside that of the comparison
FAR_AWAY = 0x5A  # each byte of an integer that a masked lane holds
STOPPED = "The launch ends here."


class Access(NamedTuple):
    """One load or store of one program.

    Attributes:
        what: `load`, `store` or `atomic_add`.
        array: The name of the array.
        program: The number of the program.
        line: The line of the kernel.
        entries: The numbers of the entries, those that are masked left out.
    """

    what: str
    array: str
    program: int
    line: int
    entries: tuple[int, ...]


class Race(NamedTuple):
    """Two programs of one launch use the same entry, and at least one of them stores to it.

    Attributes:
        array: The name of the array.
        entry: The number of the entry.
        first: The program that used it before, and how: `loads` or `stores`.
        second: The other program, and how.
    """

    array: str
    entry: int
    first: tuple[int, str]
    second: tuple[int, str]

    def __str__(self) -> str:
        (one, how), (other, too) = self.first, self.second
        return f"program {one} {how} {self.array}[{self.entry}], and program {other} {too} it"


@dataclass
class Launch:
    """One launch of a kernel.

    Attributes:
        kernel: The name of the kernel.
        grid: How many programs it has on each axis.
        order: The numbers of the programs, in the order in which they run.
        accesses: The loads and stores, in the order in which they came.
    """

    kernel: str
    grid: tuple[int, ...]
    order: list[int]
    accesses: list[Access] = field(default_factory=list)


class DeviceArray(ArrayOutline):
    """An array on a device. A launcher gets it, and sees its name, shape, dtype and strides.

    Args:
        values: The numbers, with any strides.
        name: What reports call it.
        dtype: `bfloat16` for numbers that NumPy has not; else the dtype of `values`.
        device: The device; without one, that of all arrays without one.
        strides: By how many entries neighbours along each axis are apart; without it, as in `values`.

    Example:
        x, out = DeviceArray(np.ones(5, np.float32), "x"), DeviceArray(np.zeros(5, np.float32), "out")
        double(x, out, 4)
        out.numpy()
    """

    def __init__(
        self,
        values: np.ndarray,
        name: str = "x",
        dtype: str = "",
        device: Device | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        steps = tuple(strides or (step // values.itemsize for step in values.strides))
        super().__init__(name, dtype or values.dtype.name, values.shape, steps, self._access)
        span = 1 + sum((size - 1) * step for size, step in zip(values.shape, steps, strict=True))
        self._memory = np.zeros(max(0, span) if values.size else 0, values.dtype)
        self._device = device or _OWN
        self._view()[...] = values
        self.given: np.ndarray | None = values.copy("K")  # the first numbers, which a report writes
        self._device._know(self)

    @classmethod
    def empty(
        cls,
        shape: Sequence[int],
        dtype: str,
        name: str = "out",
        device: Device | None = None,
        strides: Sequence[int] | None = None,
    ) -> DeviceArray:
        """Make an array whose entries nobody has written: NaN, or a number far away.

        Args:
            shape: The lengths of its axes.
            dtype: The dtype.
            name: What reports call it.
            device: The device; without one, that of all arrays without one.
            strides: By how many entries neighbours along each axis are apart; without it, contiguous.

        Returns:
            The array.

        Example:
            out = DeviceArray.empty((5,), "float32")
        """
        kept = np.dtype(stored(dtype))
        made = cls(np.full(tuple(shape), _undefined(kept), kept), name, dtype, device, strides)
        made.given = None
        return made

    def numpy(self) -> np.ndarray:
        """Return a copy of the numbers.

        Returns:
            The numbers, in the shape of the array.

        Example:
            expect.close(out.numpy(), x + y, "the sum")
        """
        return self._view().copy()

    def _view(self) -> np.ndarray:
        steps = [step * self._memory.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(self._memory, self.shape, steps)

    def state(self) -> dict[str, Any]:
        """Return what kernels have left in the array, and what they have moved on its device.

        Returns:
            The numbers by the name of the array, and the counts of the device.
        """
        device = self._device
        programs = sum(len(launch.order) for launch in device.launches)
        moved = [device.bytes_loaded, device.bytes_stored, programs]
        return {self.name: self.numpy(), "moved": moved}

    @property
    def itemsize(self) -> int:
        """The bytes of one entry on a GPU."""
        return 2 if self.type_name == "bfloat16" else self._memory.itemsize

    def _access(self, what: str, *given: Any) -> Any:
        """Answer a kernel: `launch`, `load`, `store` or `atomic_add`.

        Raises RuntimeError, whose message a report shows.
        """
        device = self._device
        if device is _OWN and what == "launch":  # nobody calls its `run`, which begins anew
            device._forget()
        if device.complaint:
            raise RuntimeError(STOPPED)
        try:
            if what == "launch":
                return device._begin(*given)
            return device._use(self, what, given)
        except ExpectationFailed as refused:
            device.complaint, device._picture = str(refused), refused.picture
            raise RuntimeError(str(refused)) from None


class Device:
    """A device that keeps account of what kernels do.

    Args:
        seed: Chooses the order in which programs run.

    Attributes:
        launches: The launches since the last `run` began.
        complaint: What a launch was stopped for; empty if it was not.

    Example:
        device = Device()
        x, out = device.array(numbers, "x"), device.empty(numbers.shape, "float32", "out")
        device.run(student.double, x, out, 16)
        expect.true(device.bytes_loaded == numbers.nbytes, "Each number is loaded once.")
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self.launches: list[Launch] = []
        self.complaint = ""
        self._picture: Picture | None = None  # beside the complaint
        self._sizes: dict[str, int] = {}

    def array(
        self, values: np.ndarray, name: str, dtype: str = "", strides: Sequence[int] | None = None
    ) -> DeviceArray:
        """Put numbers on the device.

        Args:
            values: The numbers.
            name: What reports call the array.
            dtype: `bfloat16` for numbers that NumPy has not.
            strides: By how many entries neighbours along each axis are apart; without it, as in `values`.

        Returns:
            The array.

        Example:
            x = device.array(np.arange(5, dtype=np.float32), "x")
        """
        return DeviceArray(values, name, dtype, self, strides)

    def empty(
        self, shape: Sequence[int], dtype: str, name: str, strides: Sequence[int] | None = None
    ) -> DeviceArray:
        """Make an array whose entries nobody has written: NaN, or a number far away.

        Args:
            shape: The lengths of its axes.
            dtype: The dtype.
            name: What reports call the array.
            strides: By how many entries neighbours along each axis are apart; without it, contiguous.

        Returns:
            The array.

        Example:
            out = device.empty((5,), "float32", "out")
        """
        return DeviceArray.empty(shape, dtype, name, self, strides)

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a launcher.

        Args:
            function: An entry point of the student, or any function.
            *args: Its arguments, arrays of this device among them.
            **kwargs: More of them, by name.

        Returns:
            What the launcher returns.

        Raises:
            ExpectationFailed: A kernel left an array, or a launch was refused.
            SubmissionFailed: The student's code raised an exception.

        Example:
            device.run(student.double, x, out, 16)
        """
        self._forget()
        try:
            result = function(*args, **kwargs)
        except (SubmissionFailed, RuntimeError):  # what `access` raises
            if not self.complaint:
                raise
        if self.complaint:
            raise ExpectationFailed(self.complaint, picture=self._picture)
        return result

    @property
    def bytes_loaded(self) -> int:
        """How many bytes all loads have moved. A masked lane moves none."""
        return sum(self.bytes_by_array("load").values())

    @property
    def bytes_stored(self) -> int:
        """How many bytes all stores have moved. A masked lane moves none."""
        return sum(self.bytes_by_array("store").values())

    def bytes_by_array(self, what: str) -> dict[str, int]:
        """Count the bytes of each array that kernels have used.

        Args:
            what: `load` or `store`.

        Returns:
            The bytes that all loads or all stores have moved, by the name of the array.

        Example:
            device.bytes_by_array("load")["x"]
        """
        moved: dict[str, int] = {}
        for access in self._of(what, "atomic_add"):
            moved[access.array] = moved.get(access.array, 0) + len(access.entries) * self._sizes[access.array]
        return moved

    @property
    def segments_loaded(self) -> int:
        """How many pieces of 128 bytes the loads touch, each load by itself."""
        return sum(
            len({entry * self._sizes[access.array] // SEGMENT for entry in access.entries})
            for access in self._of("load")
        )

    @property
    def races(self) -> list[Race]:
        """The first entry of each array that two programs of a launch use, at least one of which stores."""
        found: dict[str, Race] = {}
        for launch in self.launches:
            used: dict[tuple[str, int], dict[int, str]] = {}
            for access in launch.accesses:
                if access.what == "atomic_add" or access.array in found:
                    continue
                how = "loads" if access.what == "load" else "stores"
                for entry in access.entries:
                    before = used.setdefault((access.array, entry), {})
                    other = next(
                        (
                            one
                            for one in before.items()
                            if one[0] != access.program and "stores" in (one[1], how)
                        ),
                        None,
                    )
                    if other is not None:
                        found.setdefault(
                            access.array, Race(access.array, entry, other, (access.program, how))
                        )
                    if before.get(access.program) != "stores":
                        before[access.program] = how
        return list(found.values())

    def require_stores_in_rows(self, out: DeviceArray) -> None:
        """Judge that nothing is stored between the rows of an array: what lies there belongs to others.

        Args:
            out: An array `[R, C]` whose rows may lie apart.

        Raises:
            ExpectationFailed: A program has stored between two rows, or behind the last one.

        Example:
            device.require_stores_in_rows(out)
        """
        columns, stride = out.shape[1], out.strides[0]
        for one in self._of("store"):
            between = [entry for entry in one.entries if one.array == out.name and entry % stride >= columns]
            if between:
                raise ExpectationFailed(
                    f"Program {one.program} stores {out.name}[{between[0]}] (line {one.line}). Row r of"
                    f" `{out.name}` begins at entry r * {stride} and has {columns} entries; this one belongs"
                    " to no row."
                )

    def _forget(self) -> None:
        """Forget the launches so far, and what one was stopped for."""
        self.launches, self.complaint, self._picture = [], "", None

    def _of(self, *kinds: str) -> list[Access]:
        return [one for launch in self.launches for one in launch.accesses if one.what in kinds]

    def _know(self, array: DeviceArray) -> None:
        """Take an array into account."""
        self._sizes[array.name] = array.itemsize

    def _begin(self, kernel: Any, grid: Any, arrays: Any) -> list[int]:
        """Begin a launch, and return the order of its programs. Raises ExpectationFailed."""
        sizes = [size for size in grid if type(size) is int and size >= 0] if type(grid) is list else []
        if len(sizes) != len(grid) or not 1 <= len(sizes) <= 3 or type(kernel) is not str:
            raise ExpectationFailed("A grid is a tuple of one to three integers.")
        if type(arrays) is not list or not set(map(str, arrays)) <= set(self._sizes):
            raise ExpectationFailed("A launch takes arrays of one device.")
        programs = math.prod(sizes)
        if programs > MOST_PROGRAMS:
            raise ExpectationFailed(
                f"{kernel[:80]} is launched with {programs:,} programs; {MOST_PROGRAMS:,} are the most here."
            )
        order = [int(number) for number in self._random.permutation(programs)]
        self.launches.append(Launch(kernel[:80], tuple(sizes), order))
        return order

    def _use(self, array: DeviceArray, what: str, asked: Sequence[Any]) -> np.ndarray | None:
        """Carry out a load or a store, and keep account of it. Raises ExpectationFailed.

        `asked` holds the program, the line, the numbers of entries, the mask and what is stored.
        """
        program, line, at, mask, values = (*asked, None, None, None, None, None)[:5]
        memory = array._memory
        entries = np.asarray(at)
        chosen = np.ones(entries.shape, bool) if mask is None else np.asarray(mask)
        if not self.launches or what not in ("load", "store", "atomic_add") or type(program) is not int:
            raise ExpectationFailed("Only a kernel loads and stores.")
        if entries.dtype != np.int64 or chosen.dtype != bool or chosen.shape != entries.shape:
            raise ExpectationFailed("The numbers of entries are integers, and a mask has their shape.")
        if entries.size > MOST_ENTRIES:
            raise ExpectationFailed(f"One {what} takes at most {MOST_ENTRIES:,} entries.")
        number = line if type(line) is int else 0
        outside = chosen & ((entries < 0) | (entries >= memory.size))
        if outside.any():
            beyond = entries[outside]
            where = f"{array.name}[{beyond.min()}]"
            where += f" to {array.name}[{beyond.max()}]" if beyond.min() < beyond.max() else ""
            there = Access(what, array.name, program, number, tuple(entries[chosen].tolist()))
            accesses = [one for one in self.launches[-1].accesses if one.array == array.name] + [there]
            raise ExpectationFailed(
                f"Program {program} {VERBS[what]} {where}, and {array.name} has {memory.size} entries, from 0"
                f" (line {number}).",
                picture=usage(f"who {VERBS[what]} {array.name}", accesses, memory.size, set(beyond.tolist())),
            )
        used = entries[chosen]
        self.launches[-1].accesses.append(Access(what, array.name, program, number, tuple(used.tolist())))
        if what == "load":
            found = np.full(entries.shape, _undefined(memory.dtype), memory.dtype)
            found[chosen] = memory[used]
            return found
        numbers = np.asarray(values)
        if numbers.shape != entries.shape or numbers.dtype != memory.dtype:
            raise ExpectationFailed(f"What is stored has the shape and the dtype of {array.name}.")
        if what == "store":
            memory[used] = numbers[chosen]
        else:
            np.add.at(memory, used, numbers[chosen])
        return None


Bound = Callable[..., int]
Launcher = Callable[..., Mapping[str, DeviceArray]]


def kernel(
    kata: Kata, *, loads: Bound, stores: Bound, programs: Bound | None = None
) -> Callable[[Launcher], Launcher]:
    """Decorate the function that puts a case on a device and calls the student's launcher.

    The kata's values are those of the arrays that it returns. Laws are added: as many programs run as there
    should; no more bytes are moved than allowed; programs of a launch do not meet in an entry; any order of
    programs gives the same.

    Args:
        kata: The declaration.
        loads: Returns the most bytes that all loads of a case move; its parameters are names of arguments.
        stores: The same for all stores.
        programs: The same for the programs of all launches, if the statement says how many there are: no
            fewer run, and no more.

    Returns:
        A decorator that returns the function unchanged. It is called as `launch(device, student, **case)` and
        returns the arrays that kernels have written, by name.

    Example:
        @kernel(KATA, loads=lambda x: x.nbytes, stores=lambda x: x.nbytes)
        def launch(device, student, x, block):
            out = device.empty(x.shape, "float32", "out")
            device.run(student.double, device.array(x, "x"), out, block)
            return {"out": out}
    """

    def declare(launch: Launcher) -> Launcher:
        names = [*inspect.signature(launch).parameters][2:]

        def on_device(student: Any, case: Mapping[str, Any], order: int = 0) -> tuple[Device, dict[str, Any]]:
            device = Device(order)
            arrays = launch(device, student, **{name: case[name] for name in names})
            return device, {name: array.numpy() for name, array in arrays.items()}

        def observe(student: Any, **case: Any) -> dict[str, Any]:
            return on_device(student, case)[1]

        def test_programs_do_not_meet(student: Any, **case: Any) -> None:
            """No two programs store one entry, and none loads what another one stores."""
            device, _ = on_device(student, case)
            for race in device.races[:1]:
                accesses = [one for launch in device.launches for one in launch.accesses]
                used = [one for one in accesses if one.array == race.array]
                raise ExpectationFailed(
                    f"In one launch {race}: which comes first is not known.",
                    picture=usage(f"who uses {race.array}", used, 0, {race.entry}),
                )

        def test_any_order_of_programs_gives_the_same(student: Any, **case: Any) -> None:
            """The programs of a launch may run in any order."""
            results = [on_device(student, case, order)[1] for order in ORDERS]
            for name, values in results[0].items():
                expect.equal(results[1][name], values, f"{name} after another order of programs")

        def test_bytes_that_are_moved(student: Any, **case: Any) -> None:
            """No more bytes are loaded and stored than the statement allows."""
            device, _ = on_device(student, case)
            bounds = {"load": (device.bytes_loaded, loads), "store": (device.bytes_stored, stores)}
            for what, (moved, bound) in bounds.items():
                most = bound(**{name: case[name] for name in inspect.signature(bound).parameters})
                shares = device.bytes_by_array(what)
                of = ", ".join(f"{share:,} of {name}" for name, share in shares.items())
                where = f" ({of})" if len(shares) > 1 else ""
                expect.true(moved <= most, f"The kernels {what} {moved:,} bytes{where}; {most:,} are enough.")

        def test_number_of_programs(student: Any, **case: Any) -> None:
            """As many programs run as the statement says."""
            assert programs is not None
            device, _ = on_device(student, case)
            due = programs(**{name: case[name] for name in inspect.signature(programs).parameters})
            run = sum(len(launch.order) for launch in device.launches)
            expect.true(run == due, f"The number of programs is {run}, and should be {due}.")

        kata.observe(observe)
        added = [(test_number_of_programs, 0.5, False)] if programs else []
        for test, points, purpose in (
            *added,
            (test_bytes_that_are_moved, 1, True),
            (test_programs_do_not_meet, 1, False),
            (test_any_order_of_programs_gives_the_same, 0.5, False),  # last, since it launches most
        ):
            test.__signature__ = _takes(names)  # type: ignore[attr-defined]
            kata.law(points=points, purpose=purpose)(test)
        return launch

    return declare


def _takes(names: Sequence[str]) -> inspect.Signature:
    """Return the signature of a law: the student, and these arguments of a case."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in ("student", *names)])


def usage(title: str, accesses: Sequence[Access], size: int, wrong: set[int]) -> Picture:
    """Draw which program uses which entry of an array.

    Args:
        title: What stands above.
        accesses: The loads and stores of the array.
        size: The number of its entries, which are all drawn if they are few.
        wrong: The entries that are marked.

    Returns:
        A picture with a row for each program and a column for each entry, around the marked ones.

    Example:
        raise ExpectationFailed("Entry 3 is used twice.", picture=usage("who uses x", accesses, 8, {3}))
    """
    used = {(one.program, entry) for one in accesses for entry in one.entries}
    first = max(min(min(wrong), 0), max(wrong) + 1 - MOST_DRAWN) if wrong else 0
    last = max(size, *(entry + 1 for _, entry in used)) if used else size
    columns = range(first, min(last, first + MOST_DRAWN))
    of_wrong = {program for program, entry in used if entry in wrong}
    every = sorted({program for program, _ in used})
    rows = every if len(every) <= MOST_DRAWN else sorted(of_wrong)[:MOST_DRAWN]
    values = tuple(tuple(float((row, column) in used) for column in columns) for row in rows)
    marked = [(at, entry - first) for at, row in enumerate(rows) for entry in wrong if (row, entry) in used]
    return Picture(
        "mask",
        "result",  # the panel has a title, so the picture needs no caption
        (Panel(title, values),),
        tuple(f"program {row}" for row in rows),
        tuple(map(str, columns)),
        tuple(sorted((row, column) for row, column in marked if 0 <= column < len(columns))),
    )


VERBS = {"load": "loads", "store": "stores", "atomic_add": "adds to"}


def _undefined(dtype: np.dtype[Any]) -> Any:
    """Return what an entry holds that nothing has written: NaN, or an integer far away."""
    if dtype.kind == "f":
        return dtype.type("nan")
    if dtype.kind == "b":
        return dtype.type(1)
    return np.frombuffer(bytes([FAR_AWAY] * dtype.itemsize), dtype)[0]


_OWN = Device()
if not any(isinstance(finder, Finder) for finder in sys.meta_path):
    sys.meta_path.append(Finder())  # behind those that find an installed one
