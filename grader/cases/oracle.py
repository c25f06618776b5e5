"""Provide the expected answers, from an answer key, the cache or the reference.

Measure what the calls cost that answer one case: their work, and the largest tensor that they make.

The user's cache of cases, answers and what was judged: files of answer keys, named by what they rest on.

A file is read as data, never executed or unpickled; one that is damaged is made anew. Where the folder cannot
be written, nothing is cached. The files that were not used for longest are deleted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grader.answer_keys.answers import AnsweredCases, Case, Expected, ReferenceCost, digest, numbered, spread
from grader.answer_keys.file import Entry, KataKey, KeyFile, KeyUnusable, pack, write
from grader.cases import generation, state
from grader.cases.trivial import is_trivial
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.files import cache_folder, line_of, message_of, read_file, write_whole
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Arguments, DrawCase, Kata, KataError
from grader.values.arrays import contiguous, in_leaves, is_contiguous, laid_out, most_axes
from grader.values.formatting import show
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls, LargestTensor
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject
from grader.worker.student import Student

LARGEST_FILE = 64 * 2**20
LARGEST_CACHE = 256 * 2**20  # bytes of all files; those of seventy katas take a tenth
LOCK = ".lock"


def cached(kata: str, digest: str, make: Callable[[], Entry]) -> KataKey:
    """Return the cached answers to `kata` under this digest; if there are none, cache what `make` returns."""
    name = f"{kata}-{digest}.key"
    key = read_entry(name, kata)
    if key is None:
        with locked(kata):
            key = read_entry(name, kata)  # another process may have written it meanwhile
            if key is None:
                key = KataKey(KeyFile(write_entry(name, make()), name), kata)
    return key


def folder() -> Path:
    """Return the folder of the cache."""
    return cache_folder() / "judged"


def read_entry(name: str, kata: str) -> KataKey | None:
    """Return the entry of `kata` in a file of the cache; None if there is none or the file is damaged."""
    path = folder() / name
    try:
        key = KataKey(KeyFile(read_file(path, LARGEST_FILE), name), kata)
    except (OSError, KeyUnusable):
        return None
    with suppress(OSError):
        os.utime(path)  # it was used now
    return key


def write_entry(name: str, entry: Entry) -> bytes:
    """Write a file of the cache atomically and return its content. If it cannot be written, do nothing."""
    data = write([entry], 0, "")
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder() / name, data, private=True)
        _delete_oldest(name)
    return data


def _delete_oldest(kept: str) -> None:
    """Delete the files that were not used for longest until the cache is small enough. A time in the future
    is wrong, and counts as the oldest."""
    files = [entry for entry in os.scandir(folder()) if not entry.name.endswith(LOCK)]
    found = [(file.stat(follow_symlinks=False), file) for file in files]
    size, now = sum(stat.st_size for stat, _ in found), time.time() + 1
    for stat, file in sorted(found, key=lambda one: one[0].st_mtime if one[0].st_mtime < now else 0.0):
        if size <= LARGEST_CACHE:
            return
        if file.name != kept:
            os.unlink(file)
            size -= stat.st_size


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let only one process of this machine make an entry; the others wait and read it."""
    try:
        import fcntl

        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder() / f"{name}{LOCK}").open("w")
    except (ImportError, OSError):  # without file locks or a cache folder, each process works for itself
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class KeptCase(NamedTuple):
    """A case that all seeds have, and a function that makes the one that this seed has instead."""

    case: Arguments
    own: Callable[[], Arguments]

    def changed(self, change: Callable[[Arguments], Arguments]) -> KeptCase:
        """Return both, each as `change` makes it."""
        return KeptCase(change(self.case), lambda: change(self.own()))


class CostUnknown(Exception):
    """A call gets a function of the grader, whose work is counted for the reference and not for a worker."""


def measured(kata: Kata, student: Student, case: Arguments) -> tuple[int, LargestTensor]:
    """Return the floating-point operations and the largest tensor of a case. Building an object, such as a
    module, counts nothing. Raises what the calls raise, and CostUnknown."""
    with student.counting_flops():
        flops = sum(call.flops for call in _calls(kata, student, case))
    with student.counting_largest_tensor():
        made = [call.largest for call in _calls(kata, student, case) if call.largest]
    return flops, max(made, key=lambda tensor: tensor.elements, default=LargestTensor())


def _calls(kata: Kata, student: Student, case: Arguments) -> list[Call]:
    """Return the calls of a case that do not build an object."""
    with KeptCalls(student) as made:
        kata.observed(student, case)
    calls = Calls(tuple(made)).judged
    given = [value for call in calls for value in (*call.args, *call.kwargs.values())]
    if any(callable(v) and not isinstance(v, RemoteObject) and not hasattr(v, "shape") for v in given):
        raise CostUnknown
    return [call for call in calls if not isinstance(call.value, Handle)]


CORNER_CASES = 12  # cases kept for each corner
LAID_OUT = 4  # cases of each corner, and of the plain ones, that are laid out anew in memory
TURNS = 8  # seeds to try for the corners of which the first one gives no case


class Oracle:
    """The cases of a kata with the reference's answers.

    They come from `recorded` if it is given. Otherwise they are drawn, `draws` for each case kept, and cached
    if `keeps` is true. Every other case is drawn under the seed `kinds`, so that all seeds have it. The cases
    between them are those of the `seed`, each of the kind of the one that `kinds` draws there. `drawn` draws
    those of `kinds`; oracles of several seeds may share one that remembers them.
    """

    def __init__(  # noqa: PLR0913  # a caller sets one or two of those with a default
        self,
        kata: Kata,
        course: Course,
        info: KataInfo,
        seed: int = generation.SEED,
        *,
        keeps: bool = True,
        recorded: KataKey | None = None,
        draws: int = generation.DRAWS,
        kinds: int = generation.SEED,
        drawn: Callable[..., list[generation.Drawn]] = generation.drawn,
    ) -> None:
        self.kata, self.course, self.info, self.seed, self.keeps = kata, course, info, seed, keeps
        self.recorded, self.draws, self.kinds, self.drawn = recorded, draws, kinds, drawn
        self._telling: dict[int, dict[str, Any]] = {}

    @cached_property
    def reference(self) -> LocalStudent:
        """The reference, loaded on first use."""
        path = self.course.solution(self.info, "reference")
        return LocalStudent(load_file(f"dojo_reference_{self.info.name}", path), str(path))

    @cached_property
    def answered(self) -> AnsweredCases:
        """The cases with their answers."""
        if self.recorded is not None:
            return self.recorded.answers
        if not self.keeps:
            return self._draw()
        files = [self.info.path, self.course.solution(self.info, "reference")]
        name = self.info.name
        return cached(name, digest(files, self.seed), lambda: pack(name, "", self._draw())).answers

    def _draw(self) -> AnsweredCases:
        kata = self.kata
        self._require_examples()
        if kata.draw is None:
            given = numbered(kata.examples)
            return AnsweredCases(given, self._answers(given), {}, [""] * len(given))
        drawn = self._draw_cases("its cases", kata.draw, self.draws * kata.bank_size)
        examples = [KeptCase(example, partial(dict, example)) for example in kata.examples]
        drawn += self._rare_cases([*examples, *drawn], kata.draw)
        groups = self._group_by_corner(examples, kata.bank_size, CORNER_CASES, drawn)
        cases = self._numbered("its cases", [kept for group in groups.values() for kept in group])
        law_cases = {
            law.name: self._cases_of_law(law.name, law.draw, kata.bank_size // 2)
            for law in kata.laws
            if law.draw and law.draw is not kata.draw
        }
        corners = [name for name, group in groups.items() for _ in group]
        answers = self._answers(cases)
        law_cases[state.EARLIER_CALLS] = numbered(self._kinds_found(cases, corners, answers))
        return AnsweredCases(cases, answers, law_cases, corners, self._cost(cases, corners))

    def _kinds_found(self, cases: list[Case], corners: list[str], answers: list[Expected]) -> list[Arguments]:
        """Return the kinds of change that earlier calls make to the reference's own answers, each with the
        number of its case. They are not held against a submission. Nor are casts in corners, whose numbers
        float32 may not hold, and the mode in which a call there leaves a module."""
        found: list[Arguments] = []
        for number, case in enumerate(state.chosen(cases, corners)):
            kinds = {*state.CASTS, "training"} if corners[case.index] else set()
            tolerance = case.precision.tolerance(self.kata.roundings)
            native, others = answers[case.index].native, state.others_than(case, cases)
            with suppress(CaseFailed):
                every = state.findings(self.kata, self.reference, case.arguments, others, native, tolerance)
                kinds |= {finding.kind for finding in every}
            found += [{"case": number, "kind": kind} for kind in sorted(kinds)]
        return found

    def _cost(self, cases: list[Case], corners: list[str]) -> ReferenceCost | None:
        """Return what the reference needs for the largest plain case; None if it cannot be measured."""
        if self.kata.library != "torch":
            return None
        plain = [position for position, corner in enumerate(corners) if not corner]
        position = max(plain, key=lambda position: cases[position].weight)
        with suppress(Exception):  # some references need gradients, which are off while tensors are counted
            flops, largest = measured(self.kata, self.reference, cases[position].arguments)
            if flops and largest.elements:
                return ReferenceCost(position, flops, largest.elements)
        return None

    def _cases_of_law(self, name: str, draw: DrawCase, size: int) -> list[Case]:
        """Return the cases of a law that draws its own."""
        whose = f"the cases of `{name}`"
        drawn = self._draw_cases(whose, draw, self.draws * size)
        return self._numbered(whose, [kept.changed(contiguous) for kept in spread(drawn, size)])

    def _numbered(self, whose: str, every: list[KeptCase]) -> list[Case]:
        """Return cases of which every other one is the seed's own, as `Case.is_shared` says."""
        with self._blaming(whose):
            return numbered(kept.own() if at % 2 else kept.case for at, kept in enumerate(every))

    def _rare_cases(self, cases: list[KeptCase], draw: DrawCase) -> list[KeptCase]:
        """Return cases of the corners that these cases lack, drawn from other seeds: a corner may be rare."""
        missing = {corner.name for corner in self.kata.corners} - {self._corner_of(kept) for kept in cases}
        found: list[KeptCase] = []
        for turn in range(1, TURNS + 1):
            if missing:
                more = self._draw_cases("its cases", draw, self.draws * self.kata.bank_size, turn)
                found += [kept for kept in more if self._corner_of(kept) in missing]
                missing -= {self._corner_of(kept) for kept in found}
        return found

    def _corner_of(self, kept: KeptCase) -> str:
        return self.kata.corner_of(kept.case)

    def _require_examples(self) -> None:
        """Raise KataError if an example cannot be sent to a worker."""
        for example in self.kata.examples:
            try:
                generation.require_sendable(example)
            except KataError as error:
                raise KataError(f"{self.kata.name}: an example cannot be used: {error}.") from None

    def _group_by_corner(
        self, examples: list[KeptCase], plain: int, each: int, drawn: list[KeptCase]
    ) -> dict[str, list[KeptCase]]:
        """Return the examples and at most `plain` drawn plain cases and `each` of a corner, by corner.

        All arrays are made contiguous, but plain cases that were not also form the corner
        `generation.LAYOUT`, unchanged. If there are any, some cases of every corner join them, laid out
        anew. Raises KataError if a corner has no case.
        """
        groups: dict[str, list[KeptCase]] = {"": [], **{corner.name: [] for corner in self.kata.corners}}
        for origin, most in ((examples, len(examples)), (drawn, each)):
            by_corner: dict[str, list[KeptCase]] = {}
            for kept in origin:
                by_corner.setdefault(self._corner_of(kept), []).append(kept)
            strided = [kept for kept in by_corner.get("", []) if not is_contiguous(kept.case)]
            if strided:
                groups.setdefault(generation.LAYOUT, []).extend(spread(strided, most))
            for name, group in by_corner.items():
                size = plain if origin is drawn and not name else most
                groups[name] += [kept.changed(contiguous) for kept in spread(group, size)]
        empty = next((name for name, group in groups.items() if not group), None)
        if empty is not None:
            what = f"the corner `{empty}` has no case" if empty else "every case belongs to a corner"
            raise KataError(f"{self.kata.name}: {what}; change how cases are drawn, or drop the corner.")
        if not all(is_contiguous(kept.case) for kept in [*examples, *drawn]):
            every = [kept for group in groups.values() for kept in group]
            every += [kept.changed(contiguous) for kept in drawn]
            groups.setdefault(generation.LAYOUT, []).extend(self._laid_out(every))
        return groups

    def _laid_out(self, cases: list[KeptCase]) -> list[KeptCase]:
        """Return the cases of most axes, then of most entries, among the plain ones and those of each corner,
        in other memory layouts, which take turns."""
        by_corner: dict[str, list[KeptCase]] = {}
        for kept in sorted(cases, key=lambda kept: most_axes(kept.case), reverse=True):
            by_corner.setdefault(self._corner_of(kept), []).append(kept)
        chosen = [kept for group in by_corner.values() for kept in group[:LAID_OUT]]
        laid = [kept.changed(partial(laid_out, turn=turn)) for turn, kept in enumerate(chosen)]
        return [kept for kept in laid if not is_contiguous(kept.case)]

    def _draw_cases(self, whose: str, draw: DrawCase, size: int, turn: int = 0) -> list[KeptCase]:
        """Return the cases drawn for the kata or one of its laws; a `turn` draws others. Raises KataError if
        `draw` fails."""
        with self._blaming(whose):
            found = self.drawn(draw, size, self.kinds + turn)
            if self.seed == self.kinds:
                return [KeptCase(one.case, partial(dict, one.case)) for one in found]
            others = generation.OtherCases(draw, size, self.seed + turn, found, self.kata.corner_of)
            return [KeptCase(one.case, partial(others.like, at)) for at, one in enumerate(found)]

    @contextmanager
    def _blaming(self, whose: str) -> Iterator[None]:
        """Raise KataError, which says whose cases cannot be drawn, for what the block raises."""
        from hypothesis.errors import Unsatisfiable

        try:
            yield
            return
        except Unsatisfiable:
            why = "every one is filtered away; draw what is wanted instead of filtering out what is not"
        except KataError as error:
            why = str(error)
        except Exception as error:
            why = f"{self._line_of(error)} raises {message_of(error)}"
        raise KataError(f"{self.kata.name}: {whose} cannot be drawn: {why}.") from None

    def _answers(self, cases: list[Case]) -> list[Expected]:
        """Return the reference's answer to each case. Raises KataError if the reference fails."""
        try:
            return [self._answer(case.arguments) for case in cases]
        except KataError:
            raise
        except Exception as error:
            where = self._line_of(error)
            raise KataError(
                f"{self.kata.name}: {where} raises {message_of(error)}, when the reference is asked."
            ) from error

    def _answer(self, case: Arguments) -> Expected:
        """Return the reference's answer to one case. Raises KataError, with the case, if it fails."""
        try:
            return self._compute_expected(case)
        except (SubmissionFailed, ExpectationFailed) as failure:
            why = " ".join(str(failure).split()).rstrip(".")
            given = "; ".join(f"{name} = {show(value)}" for name, value in case.items())
            raise KataError(
                f"{self.kata.name}: the reference fails on a case of its own bank: {why}. The case: {given}."
                " Draw no such case, or mend the reference."
            ) from None

    def _line_of(self, error: Exception) -> str:
        """Return the line of the declaration that raised, or the file's name if none of its lines did."""
        line = line_of(error, self.info.path)
        return f"line {line} of {self.info.path.name}" if line else self.info.path.name

    def expected(self, case: Case) -> Expected:
        """Return what the reference answers to one of the kata's cases."""
        return self.answered.expected[case.index]

    def telling(self, case: Case) -> dict[str, Any]:
        """Return the expected values of a case, in float64 and by name, without those that are trivial."""
        if case.index not in self._telling:
            exact = self.expected(case).exact
            told = {name: value for name, value in exact.items() if not is_trivial(value, case.arguments)}
            self._telling[case.index] = told
        return self._telling[case.index]

    def _compute_expected(self, case: Arguments) -> Expected:
        """Call the reference with the case, in the case's own dtypes and in float64."""
        native = self.kata.observed(self.reference, case)
        exact = self.kata.observed(self.reference, in_float64(case))
        gradients: list[dict[str, Any]] = []
        if self.kata.grades_gradients:
            with self.reference.recording_gradients() as tape:
                self.kata.observed(self.reference, in_float64(case))
            gradients = tape.gradients
        return Expected(dict(exact), dict(native), gradients)


def in_float64(value: Any) -> Any:
    """Return the tree with every float array converted to float64; strides are kept."""
    return in_leaves(_widen, value)


def _widen(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64)
    if type(value).__module__ == "torch" and value.is_floating_point():
        return value.double()
    return value
