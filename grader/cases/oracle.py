"""Where expected values come from: an answer key, the cache, or the reference itself."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from grader.answer_keys.answers import AnswerKey, Expected, digest
from grader.answer_keys.file import KataKey, pack
from grader.cases import generation
from grader.cases.cache import cached
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.loading import line_of, told
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Case, DrawCase, Kata, KataError
from grader.values.arrays import contiguous, in_leaves, is_contiguous
from grader.values.tolerance import Precision, precision_of
from grader.worker.in_process import LocalStudent

CORNER_CASES = 12  # drawn for each corner
LAYOUT = "any_memory_layout"


class Oracle:
    """Draws the cases of a kata and asks the reference for their answers. With `keeps` they are cached."""

    def __init__(
        self,
        kata: Kata,
        course: Course,
        info: KataInfo,
        seed: int = generation.SEED,
        keeps: bool = True,
        recorded: KataKey | None = None,
        draws: int = generation.DRAWS,
    ) -> None:
        self.kata, self.course, self.info, self.seed, self.keeps = kata, course, info, seed, keeps
        self.recorded, self.draws = recorded, draws

    @cached_property
    def reference(self) -> LocalStudent:
        """The reference, loaded when it is first asked."""
        path = self.course.solution(self.info, "reference")
        return LocalStudent(load_file(f"dojo_reference_{self.info.name}", path), str(path))

    @cached_property
    def key(self) -> AnswerKey:
        """The bank with its answers: from an answer key where one was given, from the cache, or drawn now."""
        if self.recorded is not None:
            return self.recorded.answers
        if not self.keeps:
            return self._draw()
        files = [self.info.path, self.course.solution(self.info, "reference")]
        name = self.info.name
        return cached(name, digest(files, self.seed), lambda: pack(name, "", self._draw())).answers

    def _draw(self) -> AnswerKey:
        kata = self.kata
        assert kata.draw is not None
        drawn = self._bank("its cases", kata.draw, self.draws * kata.bank_size)
        groups = self._grouped(kata.examples, kata.bank_size, CORNER_CASES, drawn)
        cases = [case for group in groups.values() for case in group]
        own = [law for law in kata.laws if law.draw not in (None, kata.draw)]
        half = kata.bank_size // 2
        law_cases = {
            law.name: generation.spread(
                contiguous(self._bank(f"the cases of `{law.name}`", law.draw, self.draws * half)), half
            )
            for law in own
            if law.draw
        }
        corners = [name for name, group in groups.items() for _ in group]
        return AnswerKey(cases, self._answers(cases), law_cases, corners)

    def _grouped(
        self, examples: list[Case], plain: int, each: int, drawn: list[Case]
    ) -> dict[str, list[Case]]:
        """The cases by corner, examples first: at most `plain` drawn ones without a corner, which have the
        usual layout in memory, and `each` of a corner. Raises KataError where a corner has none."""
        groups: dict[str, list[Case]] = {"": [], **{corner.name: [] for corner in self.kata.corners}}
        for origin, most in ((examples, len(examples)), (drawn, each)):
            found: dict[str, list[Case]] = {}
            for case in origin:
                found.setdefault(self.kata.corner_of(case), []).append(case)
            relaid = [case for case in found.get("", []) if not is_contiguous(case)]
            if relaid:
                groups.setdefault(LAYOUT, []).extend(generation.spread(relaid, most))
            for name, group in found.items():
                size = plain if origin is drawn and not name else most
                groups[name] += generation.spread(contiguous(group), size)
        empty = next((name for name, group in groups.items() if not group), None)
        if empty is not None:
            what = f"the corner `{empty}` has no case" if empty else "every case belongs to a corner"
            raise KataError(f"{self.kata.name}: {what}; change how cases are drawn, or drop the corner.")
        return groups

    def _bank(self, whose: str, draw: DrawCase, size: int) -> list[Case]:
        """All cases drawn for the kata or for one of its laws. Raises KataError where that cannot be done."""
        from hypothesis.errors import Unsatisfiable

        try:
            return generation.draw_cases(draw, size, self.seed)
        except Unsatisfiable:
            why = "every one is filtered away; draw what is wanted instead of filtering out what is not"
        except KataError as error:
            why = str(error)
        except Exception as error:
            why = f"line {line_of(error, self.info.path)} of {self.info.path.name} raises {told(error)}"
        raise KataError(f"{self.kata.name}: {whose} cannot be drawn: {why}.") from None

    def _answers(self, cases: list[Case]) -> list[Expected]:
        """What the reference answers to each. Raises KataError where it does not."""
        try:
            return [self.expect(case) for case in cases]
        except (SubmissionFailed, ExpectationFailed) as failure:
            raise KataError(
                f"{self.kata.name}: the reference fails on a case of its own bank: {failure}."
            ) from None
        except Exception as error:
            line = line_of(error, self.info.path)
            raise KataError(
                f"{self.kata.name}: line {line} of {self.info.path.name} raises {told(error)}, when the"
                " reference is asked."
            ) from error

    def expected(self, case: Case) -> Expected:
        """What the reference answers to a case of the kata, exactly and in the case's own dtypes."""
        return self._expected[id(case)]

    @cached_property
    def _expected(self) -> dict[int, Expected]:
        return {id(case): found for case, found in zip(self.key.cases, self.key.expected, strict=True)}

    def precision(self, case: Case) -> Precision:
        """What precision the answers to `case` can have; known beforehand for the cases of the kata."""
        return self._precisions.get(id(case)) or precision_of(case)

    @cached_property
    def _precisions(self) -> dict[int, Precision]:
        drawn = [self.key.cases, *self.key.law_cases.values()]
        return {id(case): precision_of(case) for cases in drawn for case in cases}

    def expect(self, case: Case) -> Expected:
        """What the reference answers to `case`, exactly and in the case's own dtypes."""
        native = self.kata.observed(self.reference, case)
        exact = self.kata.observed(self.reference, in_float64(case))
        gradients: list[dict[str, Any]] = []
        if self.kata.grades_gradients:
            with self.reference.recording_gradients() as tape:
                self.kata.observed(self.reference, in_float64(case))
            gradients = tape.gradients
        self.reference.trace.clear()
        return Expected(dict(exact), dict(native), gradients)


def in_float64(value: Any) -> Any:
    """The same values with every floating array widened, strides kept."""
    return in_leaves(_widened, value)


def _widened(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64)
    if type(value).__module__ == "torch" and value.is_floating_point():
        return value.double()
    return value
