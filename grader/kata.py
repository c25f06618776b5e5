"""What a kata is: its declaration, its inputs and the laws its answers obey.

A file `tests/katas/<track>/test_<kata>.py` makes one `Kata` and hangs three kinds of function on it:

    KATA = Kata("softmax", track="attention", entry_points=("softmax",), ...)

    @KATA.cases
    def cases(draw): ...                      # -> the arguments, by name

    @KATA.law(points=1)
    def test_rows_sum_to_one(student, x, axis):
        \"\"\"Every slice along the axis sums to one.\"\"\"

Nothing here imports Hypothesis: a submission that passes is judged on ready-made cases, and the
120 ms of that import would be most of its time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from grader.errors import KataError as KataError

Case = dict[str, Any]
Draw = Callable[[Any], Any]
DrawCase = Callable[[Draw], Case]

#: Points of the checks that come free for every kata; `agrees_with_reference` takes what is left.
FREE_POINTS = {
    "has_the_right_shape": 50,
    "keeps_the_dtype": 50,
    "leaves_arguments_unchanged": 50,
    "answers_the_same_again": 50,
}
#: Points of the corners that every kata has whose cases reach them.
CORNER_POINTS = {"any_memory_layout": 50, "float64_keeps_its_digits": 50}
GRADIENT_POINTS = 200
DEVICE_POINTS = 50


@dataclass(frozen=True)
class Rule:
    """Library calls that a kata asks to build, and so refuses, as dotted names."""

    forbidden: tuple[str, ...]
    because: str


@dataclass(frozen=True)
class Law:
    """One property: a claim about every case, worth `points` (in hundredths)."""

    name: str
    title: str
    points: int
    function: Callable[..., None]
    draw: DrawCase | None
    parameters: tuple[str, ...]

    def arguments(self, case: Case) -> Case:
        """Those entries of `case` that the law asks for by name."""
        return {name: case[name] for name in self.parameters}


@dataclass(frozen=True)
class Corner:
    """Cases with a check of their own, worth `points` (in hundredths): those for which `holds` is true."""

    name: str
    title: str
    points: int
    holds: Callable[..., bool]
    parameters: tuple[str, ...]

    def has(self, case: Case) -> bool:
        """True if the case belongs to the corner."""
        if any(name not in case for name in self.parameters):
            return False
        return bool(self.holds(**{name: case[name] for name in self.parameters}))


@dataclass
class Kata:
    """The declaration of one kata. Points are whole or half points; hints go from nudge to near-answer.

    `roundings` says how many roundings deep an honest answer is (1 for a formula, more for a
    stack of layers) and widens the tolerance in proportion; see `grader.values.comparison`. `axes` names the
    last axes of arguments for the reader: `{"logits": "batch vocab"}`. `ships_wrong_code` is for a kata
    whose stub runs and is to be mended: the stub's `submission.digest`, so that it is known untouched.
    `shortcuts` are dotted names of library functions that do all of the kata: a submission that uses one
    gets a note, and no points for agreement in a course that is done by hand.
    """

    name: str
    track: str
    entry_points: tuple[str, ...]
    title: str
    source: str
    hints: tuple[str, ...]
    library: Literal["numpy", "torch"] = "numpy"
    points: float = 10
    needs: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    shortcuts: tuple[str, ...] = ()
    grades_gradients: bool = False
    grades_device: bool | None = None
    ships_wrong_code: str = ""
    axes: dict[str, str] = field(default_factory=dict)
    roundings: float = 1
    bank_size: int = 60
    laws: list[Law] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    examples: list[Case] = field(default_factory=list)
    draw: DrawCase | None = None
    _observe: Callable[..., Mapping[str, Any]] | None = None

    def cases(self, draw_case: DrawCase) -> DrawCase:
        """Decorate the function that draws the arguments of one case, by name."""
        self.draw = draw_case
        return draw_case

    def example(self, make: Callable[[], Case]) -> Callable[[], Case]:
        """Decorate a function that returns a pinned case, judged ahead of the drawn ones."""
        self.examples.append(make())
        return make

    def observe(self, function: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
        """Decorate `observe(student, **case)`: which named values are compared with the reference's."""
        self._observe = function
        return function

    def observed(self, student: Any, case: Case) -> Mapping[str, Any]:
        """The named values that a case is judged by: by default the first entry point's result."""
        if self._observe is not None:
            return self._observe(student, **case)
        return {"result": getattr(student, self.entry_points[0])(**case)}

    def law(
        self, points: float, cases: DrawCase | None = None
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate a property worth `points`; it runs on the kata's cases, or on `cases` of its own.

        A law that asks for nothing but `student` runs once.
        """

        def declare(function: Callable[..., None]) -> Callable[..., None]:
            parameters = tuple(inspect.signature(function).parameters)
            self._require_law(function, parameters)
            draw = (cases or self.draw) if len(parameters) > 1 else None
            law = Law(
                name=function.__name__.removeprefix("test_"),
                title=" ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split()),
                points=hundredths(points),
                function=function,
                draw=draw,
                parameters=parameters[1:],
            )
            self.laws.append(law)
            return _as_pytest_test(function, law)

        return declare

    def corner(self, points: float) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
        """Decorate a question about a case, by the names of its arguments. The cases for which it is true
        are judged by a check of their own, worth `points`; its docstring is the check's title."""

        def declare(holds: Callable[..., bool]) -> Callable[..., bool]:
            title = " ".join(inspect.cleandoc(holds.__doc__ or "").split("\n\n")[0].split())
            if not title:
                raise KataError(f"{self.name}: the corner {holds.__name__} needs a docstring: its title.")
            parameters = tuple(inspect.signature(holds).parameters)
            self.corners.append(Corner(holds.__name__, title, hundredths(points), holds, parameters))
            return holds

        return declare

    def corner_of(self, case: Case) -> str:
        """The name of the first corner that has the case; nothing for a plain case."""
        return next((corner.name for corner in self.corners if corner.has(case)), "")

    def _require_law(self, function: Callable[..., None], parameters: tuple[str, ...]) -> None:
        if not parameters or parameters[0] != "student":
            raise KataError(f"{self.name}: the first parameter of {function.__name__} must be `student`.")
        if not (function.__doc__ or "").strip():
            raise KataError(
                f"{self.name}: {function.__name__} needs a docstring; its first line is the law's title."
            )

    @property
    def checks_device(self) -> bool:
        """Whether the pretended device is checked: PyTorch katas, unless they say otherwise."""
        return self.library == "torch" if self.grades_device is None else self.grades_device

    def free_points(self, reached: Iterable[str] = tuple(CORNER_POINTS)) -> dict[str, int]:
        """Hundredths for each free check; `agrees_with_reference` gets what the others leave. `reached` names
        those of the corners of every kata that this one's cases reach."""
        others = FREE_POINTS | {name: CORNER_POINTS[name] for name in reached}
        others |= {corner.name: corner.points for corner in self.corners}
        if self.grades_gradients:
            others["has_the_right_gradients"] = GRADIENT_POINTS
        if self.checks_device:
            others["stays_on_the_device"] = DEVICE_POINTS
        left = hundredths(self.points) - sum(others.values()) - sum(law.points for law in self.laws)
        return {"agrees_with_reference": left, **others}


def hundredths(points: float) -> int:
    """Points as whole hundredths, so that no float noise reaches a format."""
    return round(points * 100)


def _as_pytest_test(function: Callable[..., None], law: Law) -> Callable[..., None]:
    """Return the law as a test of plain pytest; `tests/katas/conftest.py` has the fixtures that it takes."""

    def test(student: Any, for_all: Any) -> None:
        if law.draw is None:
            function(student)
            return
        from grader.expect import judged_in
        from grader.values.tolerance import precision_of

        def check(case: Case) -> None:
            with judged_in(precision_of(case)):
                function(student, **law.arguments(case))

        for_all(law.draw, check)

    test.__name__ = function.__name__
    test.__doc__ = function.__doc__
    test.__module__ = function.__module__
    return test
