"""The declaration of a kata: its inputs, its hints and the laws that every answer must obey.

A file `tests/katas/<track>/test_<kata>.py` creates one `Kata` and decorates functions with its methods:

    KATA = Kata("normalize", track="vectors", entry_points=("normalize",), ...)

    @KATA.cases
    def cases(draw): ...                      # returns the arguments by name

    @KATA.law(points=1)
    def test_rows_sum_to_one(student, x, axis):
        \"\"\"Every slice along the axis sums to one.\"\"\"

This module does not import Hypothesis: a submission that passes is judged on cached cases, and the
import would take 120 ms, which is most of the time of such a grading.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from grader.errors import KataError as KataError
from grader.kinds import Kind, kind_of

Arguments = dict[str, Any]  # of one call, by name
Library = Literal["numpy", "torch"]
Draw = Callable[[Any], Any]  # Hypothesis's `draw`, which takes a strategy and returns a value
DrawCase = Callable[[Draw], Arguments]


@dataclass(frozen=True)
class Rule:
    """Library calls that a submission must not use, because the kata asks to build them by hand.

    Attributes:
        forbidden: The calls, as dotted names.
        because: The reason, which is shown to the student.

    Example:
        Rule(("numpy.linalg.norm",), because="Build it from sums.")
    """

    forbidden: tuple[str, ...]
    because: str

    def __post_init__(self) -> None:
        if isinstance(self.forbidden, str):  # a tuple of one item was written without its comma
            raise KataError(f'Rule: forbidden is one text; write ("{self.forbidden}",), with a comma.')
        for name in self.forbidden:
            if "." not in name:
                raise KataError(
                    f"Rule: `{name}` has no module; write its dotted name, as in numpy.linalg.norm."
                )


@dataclass(frozen=True)
class Law:
    """A property that must hold for every case. `Kata.law` creates one from a function.

    Attributes:
        name: The function's name without `test_`.
        title: The first paragraph of the function's docstring, on one line.
        points: What the law is worth, in hundredths of a point.
        function: The function, called as `function(student, **arguments)`.
        draw: Draws the law's cases; None if the law takes only `student` and therefore runs once.
        parameters: The names of the function's parameters after `student`.
        purpose: Whether the law is what the kata is about, such as a bound on memory, traffic or work.
    """

    name: str
    title: str
    points: int
    function: Callable[..., None]
    draw: DrawCase | None
    parameters: tuple[str, ...]
    purpose: bool = False

    def arguments(self, case: Arguments) -> Arguments:
        """Select the entries of a case that the law takes as parameters.

        Args:
            case: The arguments of a call, by name.

        Returns:
            The selected entries.
        """
        return {name: case[name] for name in self.parameters}


@dataclass(frozen=True)
class Corner:
    """Corner cases that are judged by a check of their own. `Kata.corner` creates one from a function.

    Attributes:
        name: The function's name, which is also the name of the check.
        title: The first paragraph of the function's docstring, on one line.
        points: What the check is worth, in hundredths of a point.
        holds: The function, which returns true for the cases that belong to the corner.
        parameters: The names of the function's parameters.
    """

    name: str
    title: str
    points: int
    holds: Callable[..., bool]
    parameters: tuple[str, ...]

    def has(self, case: Arguments) -> bool:
        """Return whether a case belongs to the corner.

        Args:
            case: The arguments of a call, by name.

        Returns:
            True if the case has all parameters of the function and the function returns true for them.
        """
        if any(name not in case for name in self.parameters):
            return False
        return bool(self.holds(**{name: case[name] for name in self.parameters}))


@dataclass
class Kata:
    """The declaration of one kata.

    Attributes:
        name: The kata's name, which is also the name of the exercise's file.
        track: The track that the kata belongs to, such as `vectors`.
        entry_points: The functions or classes that a submission must define. With `questions`, their names.
        title: A short title.
        source: The papers or books that the kata follows, with their sections.
        hints: Hints, from a nudge to nearly the answer.
        hint_for: The number of the hint that speaks of a mistake, by the mistake's name; `grade hint`
            begins with it.
        library: The array library that the kata uses.
        libraries: The libraries in which it may be answered; see docs/libraries.md. By default its own, and
            PyTorch too for a NumPy kata, unless it has questions or ships wrong code.
        points: What the kata is worth, in whole or half points.
        needs: Names of the katas to solve first.
        rules: Library calls that a submission must not use.
        shortcuts: Dotted names of library functions that do all of the kata, if the table `[shortcuts]` of
            the course's path.toml lacks the kata. A submission that uses one gets a note, and no points for
            agreement in a course whose katas are written by hand.
        free_answers: Names of the functions and methods whose results a right answer may choose, such as the
            numbers of locks. A submission is compared with the known mistakes without them. Where it may
            choose a part, `graded_part` says which.
        grades_gradients: Whether gradients are compared with the reference's.
        grades_device: Whether results must stay on the device of the inputs; None means yes for PyTorch
            katas and no for NumPy katas.
        ships_wrong_code: For a kata whose stub is a wrong program to repair: the stub's
            `submission.digest`, by which the grader recognizes a stub that was not edited.
        axes: The names of the last axes of arguments and results, shown in reports:
            `{"logits": "batch vocab"}`. An axis in brackets is missing in arrays with fewer axes:
            `{"q": "batch [tokens] d_k"}`.
        roundings: How many stages of rounding a correct answer goes through: 1 for a formula, more for a
            stack of layers. The tolerance grows in proportion; see `grader.values.comparison`.
        bank_size: How many plain cases are kept.
        draft: Whether the kata is used before its checks are proven by mistakes and variants; it is marked.
        questions: For a kata of questions: by the name of the constant that answers it, each question's
            title and a nudge, which a wrong answer gets. Each question is one point.
        numbers: The numbers that the questions are about: by name, one for each row. A student has one row.
        written: Texts that a person grades, on a page of questions: by the name of the constant, the most
            points and a rubric, which `kata grade` shows the instructor beside the student's words.
        kind_name: The name of the kind of kata in `grader.kinds`. By default it asks questions if there are
            any, and else for functions.
        laws: The laws, added by `law`.
        corners: The corners, added by `corner`.
        examples: The pinned cases, added by `example`.
        draw: The function that draws a case, set by `cases`.
        follow: Computes the arguments that follow from others, set by `derived`.
        functions_for_laws: Returns the functions that a student's own laws get, set by `for_laws`.
        graded_parts: Returns the part of a result that is graded, by the name of what was called, set by
            `graded_part`.
        judge: Says why an input is not right, set by `judges`.

    Example:
        KATA = Kata(
            "normalize",
            track="vectors",
            entry_points=("normalize",),
            title="Counts become shares",
            source="Bishop 2006, section 1.2",
            hints=("By which number do you divide every count?",),
        )
    """

    name: str
    _: KW_ONLY
    track: str
    entry_points: tuple[str, ...] = ()
    title: str
    source: str
    hints: tuple[str, ...]
    library: Library = "numpy"
    libraries: tuple[str, ...] = ()
    points: float = 10
    needs: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    shortcuts: tuple[str, ...] = ()
    hint_for: dict[str, int] = field(default_factory=dict)
    free_answers: tuple[str, ...] = ()
    grades_gradients: bool = False
    grades_device: bool | None = None
    ships_wrong_code: str = ""
    axes: dict[str, str] = field(default_factory=dict)
    roundings: float = 1
    bank_size: int = 60
    draft: bool = False
    questions: dict[str, tuple[str, str]] = field(default_factory=dict)
    numbers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    written: dict[str, tuple[float, str]] = field(default_factory=dict)
    kind_name: str = ""
    laws: list[Law] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    examples: list[Arguments] = field(default_factory=list)
    draw: DrawCase | None = None
    follow: Callable[..., Arguments] | None = None
    functions_for_laws: Callable[[Any], Mapping[str, Callable[..., Any]]] | None = None
    graded_parts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    judge: Callable[[str, Any], str] | None = None
    _observe: Callable[..., Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        self.entry_points = self.kind.entry_points(vars(self))
        self.points = self.kind.points(vars(self))
        self.examples = self.kind.examples(self)
        self.graded_parts = dict.fromkeys(self.free_answers, _nothing) | self.graded_parts

    @property
    def kind(self) -> Kind:
        """What differs between this kind of kata and others."""
        return kind_of(vars(self))

    def cases(self, draw_case: DrawCase) -> DrawCase:
        """Decorate the function that draws one case.

        Args:
            draw_case: Takes Hypothesis's `draw` and returns the arguments of one call, by name.

        Returns:
            The function, unchanged.

        Example:
            @KATA.cases
            def cases(draw):
                shape = draw(st.shapes(2))
                return {"x": draw(st.arrays(shape, "float32")), "axis": -1}
        """
        self.draw = draw_case
        return draw_case

    def example(self, make: Callable[[], Arguments]) -> Callable[[], Arguments]:
        """Decorate a function that returns a pinned case, which is judged before the drawn ones.

        Args:
            make: Returns the arguments of one call, by name. It is called at once.

        Returns:
            The function, unchanged.

        Example:
            @KATA.example
            def one_row():
                return {"x": np.array([[1.0, 2.0]]), "axis": -1}
        """
        self.examples.append(make())
        return make

    def observe(self, function: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
        """Decorate the function that returns what is compared with the reference.

        Without it, the result of the first entry point is compared.

        Args:
            function: Called as `function(student, **case)`; returns the values to compare, by name.

        Returns:
            The function, unchanged.

        Example:
            @KATA.observe
            def observe(student, d_model, weights, x):
                layer = expect.loads(student, student.LayerNorm(d_model), weights)
                return {"result": layer(x)}
        """
        self._observe = function
        return function

    def graded_part(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate the function that returns the part of a result that is graded.

        A right answer may choose the rest, such as the scale of a row of zeros. A submission is compared with
        the known mistakes by these parts. `observe` and the laws get whole results.

        Args:
            names: The functions and methods of a submission that return such results. The decorated function
                is called as `function(result, *args, **kwargs)`, with the arguments of their call. A result
                for which it raises an exception, for instance of a wrong shape, is compared whole.

        Returns:
            The decorator, which returns the function unchanged.

        Example:
            @KATA.graded_part("distances")
            def without_later_keys(table, *_):
                return np.tril(table)
        """

        def keep(function: Callable[..., Any]) -> Callable[..., Any]:
            self.graded_parts |= dict.fromkeys(names, function)
            return function

        return keep

    def for_laws(
        self, function: Callable[[Any], Mapping[str, Callable[..., Any]]]
    ) -> Callable[[Any], Mapping[str, Callable[..., Any]]]:
        """Decorate the function that returns what `grade laws` gives to a student's own laws.

        Without it, laws get the entry points, which must be functions.

        Args:
            function: Called as `function(student)`; returns functions by name. They take arguments in order
                and return numbers, arrays or lists of them. It is called with None as well, to learn their
                names, so it calls nothing of the student's itself.

        Returns:
            The function, unchanged.

        Example:
            @KATA.for_laws
            def functions(student):
                def counts(words):
                    counter = student.Counter()
                    return [counter.add(word) for word in words]

                return {"counts": counts}
        """
        self.functions_for_laws = function
        return function

    def judges(self, function: Callable[[str, Any], str]) -> Callable[[str, Any], str]:
        """Decorate the function that says why an input is not right, for a kata of inputs.

        Args:
            function: Called as `function(name, value)` with the name of the constant and its value, in which
                lists and arrays are tuples. It returns a sentence, or "" if the input is right.
                `grader.inputs.Versions` has one.

        Returns:
            The function, unchanged.

        Example:
            KATA.judges(Versions(right=double, wrong={"NEGATIVE": doubled_size}, allowed=allowed).complaint)
        """
        self.judge = function
        return function

    def derived(self, function: Callable[..., Arguments]) -> Callable[..., Arguments]:
        """Decorate the function that computes the arguments of a case which follow from the others.

        A report may show an easier case than those that were drawn, with other numbers. Then they are
        computed anew, so that the case is still one that the statement allows.

        Args:
            function: Its parameters are names of arguments. It returns other arguments, by name.

        Returns:
            The function, unchanged.

        Example:
            @KATA.derived
            def total(counts):
                return {"total": counts.sum()}
        """
        self.follow = function
        return function

    def completed(self, case: Arguments) -> Arguments:
        """Compute the arguments of a case that follow from others, if there are any.

        Args:
            case: The arguments of a call, by name.

        Returns:
            The arguments, those that follow computed anew; the case itself if it lacks what they follow from.
        """
        names = inspect.signature(self.follow).parameters if self.follow else ()
        if self.follow is None or any(name not in case for name in names):
            return case
        return {**case, **self.follow(**{name: case[name] for name in names})}

    def observed(self, student: Any, case: Arguments) -> Mapping[str, Any]:
        """Call a submission or the reference with a case.

        Args:
            student: The submission or the reference.
            case: The arguments of the call, by name.

        Returns:
            The values to compare, by name; `result` alone if the kata has no function `observe`.

        Raises:
            SubmissionFailed: If a call of the student's code raised.
            ExpectationFailed: If `expect.loads` refused the student's module.
        """
        if self._observe is not None:
            return self._observe(student, **case)
        return self.kind.observed(self, student, case)

    def law(
        self, points: float, cases: DrawCase | None = None, purpose: bool = False
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate a function that checks a property of the student's answers.

        The function's first parameter is `student`; the others are names of the case's arguments. A
        function without other parameters runs once. Its docstring is the law's title.

        Args:
            points: What the law is worth, in whole or half points.
            cases: Draws the law's own cases. Without it, the law runs on the kata's cases.
            purpose: Whether the law is what the kata is about, such as a bound on memory, traffic or work.
                While such a law fails, a submission gets at most 7 of 10 points.

        Returns:
            A decorator that returns the law as a pytest test.

        Raises:
            KataError: If the points are missing; from the decorator, if the first parameter is not
                `student` or the docstring is missing.

        Example:
            @KATA.law(points=1)
            def test_rows_sum_to_one(student, x, axis):
                \"\"\"Every slice along the axis sums to one.\"\"\"
                expect.close(student.normalize(x, axis).sum(axis), 1.0, "the sum of each slice")
        """
        _require_points(self.name, "law", points)

        def declare(function: Callable[..., None]) -> Callable[..., None]:
            parameters = tuple(inspect.signature(function).parameters)
            self._validate_law(function, parameters)
            draw = (cases or self.draw) if len(parameters) > 1 else None
            law = Law(
                name=function.__name__.removeprefix("test_"),
                title=_first_paragraph(function),
                points=hundredths(points),
                function=function,
                draw=draw,
                parameters=parameters[1:],
                purpose=purpose,
            )
            self.laws.append(law)
            return _as_pytest_test(self, function, law)

        return declare

    def corner(self, points: float) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
        """Decorate a function that recognizes corner cases, which then get a check of their own.

        The function's parameters are names of the case's arguments. Its docstring is the check's title.

        Args:
            points: What the check is worth, in whole or half points.

        Returns:
            A decorator that returns the function unchanged.

        Raises:
            KataError: If the points are missing; from the decorator, if the docstring is missing.

        Example:
            @KATA.corner(points=0.5)
            def masked(x):
                \"\"\"Scores of -inf get no probability.\"\"\"
                return bool(np.isneginf(x).any())
        """
        _require_points(self.name, "corner", points)

        def declare(holds: Callable[..., bool]) -> Callable[..., bool]:
            title = _first_paragraph(holds)
            if not title:
                raise KataError(f"{self.name}: the corner {holds.__name__} needs a docstring: its title.")
            parameters = tuple(inspect.signature(holds).parameters)
            self.corners.append(Corner(holds.__name__, title, hundredths(points), holds, parameters))
            return holds

        return declare

    def corner_of(self, case: Arguments) -> str:
        """Return the name of the first corner that a case belongs to.

        Args:
            case: The arguments of a call, by name.

        Returns:
            The corner's name; the empty string for a plain case.
        """
        return next((corner.name for corner in self.corners if corner.has(case)), "")

    def _validate_law(self, function: Callable[..., None], parameters: tuple[str, ...]) -> None:
        if not parameters or parameters[0] != "student":
            raise KataError(f"{self.name}: the first parameter of {function.__name__} must be `student`.")
        if not (function.__doc__ or "").strip():
            raise KataError(
                f"{self.name}: {function.__name__} needs a docstring; its first line is the law's title."
            )

    @property
    def checks_device(self) -> bool:
        """Whether results must stay on the device of the inputs; by default true for PyTorch katas."""
        return self.library == "torch" if self.grades_device is None else self.grades_device


def hundredths(points: float) -> int:
    """Convert points to whole hundredths, so that no rounding error of floats appears in a report.

    Args:
        points: A number of points.

    Returns:
        The nearest number of hundredths.
    """
    return round(points * 100)


def _require_points(kata: str, decorator: str, points: object) -> None:
    """Raise KataError if the decorator was written without parentheses, so that it got the function."""
    if callable(points):
        name = getattr(points, "__name__", "the function")
        raise KataError(f"{kata}: {name} lacks its points; write @KATA.{decorator}(points=1) above it.")


def _nothing(*_: Any, **__: Any) -> None:
    """Return no part of a result, which a right answer may choose."""


def _first_paragraph(function: Callable[..., Any]) -> str:
    """Return the first paragraph of the function's docstring, on one line."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split())


def _as_pytest_test(kata: Kata, function: Callable[..., None], law: Law) -> Callable[..., None]:
    """Return the law as a pytest test; `tests/katas/conftest.py` has the fixtures that it takes."""

    def test(student: Any, for_all: Any) -> None:
        if law.draw is None:
            function(student)
            return
        from grader.expect import precision_limit
        from grader.values.comparison import precision_of

        def check(case: Arguments) -> None:
            if law.draw is kata.draw and kata.corner_of(case):
                return  # the corner's own check judges it
            with precision_limit(precision_of(case)):
                function(student, **law.arguments(case))

        for_all(law.draw, check)

    test.__name__ = function.__name__
    test.__doc__ = function.__doc__
    test.__module__ = function.__module__
    return test
