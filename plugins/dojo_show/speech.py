"""Let the functions that a student wrote produce a text, token by token, for `grade speak`.

A course says in a `Speech` which katas have these functions, what can be left out, and which class of its own
calls one function after the other. The calls run in the student's workers. A call that gives nothing of use
ends the text with one sentence.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from dojo_show.answers import Answers, Functions, open_answers
from dojo_show.sections import Section
from dojo_show.tracing import Array, Shapes, Tracer
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.grading.session import DEFAULTS, GraderSettings
from grader.texts.escaping import harmless
from grader.texts.phrases import counted
from grader.worker.batches import run_together
from grader.worker.student import Student

CALL_SECONDS = 2.0  # CPU time of one call; none of a decoder that speaks takes a tenth of it
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
SECTION = "speak"  # its id on the page
MOST_CHARACTERS = 2000  # of a prompt that are read, the last ones


class Silent(Exception):
    """The text ends here, for the reason that the message gives in one sentence."""


@dataclass(frozen=True)
class Wish:
    """What is to be written: after which `prompt`, with which parts left out, in which of the course's ways,
    and with which settings, by their names."""

    prompt: str = ""
    without: tuple[str, ...] = ()
    way: str = ""
    settings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Token:
    """A token of the text, its id, and the likeliest ones at its place with their shares, most likely first;
    those of the prompt have none."""

    id: int
    text: str
    likeliest: tuple[tuple[str, float], ...] = ()

    @property
    def is_given(self) -> bool:
        """True if the token is the prompt's."""
        return not self.likeliest


@dataclass(frozen=True)
class Switch:
    """Something that can be left out: its name in a sentence, and what the text then lacks."""

    name: str
    effect: str


@dataclass(frozen=True)
class Setting:
    """A number that can be chosen, and the kata whose function takes it; not used unless it is given."""

    kata: str
    low: float
    high: float
    step: float
    about: str


@dataclass(frozen=True)
class Way:
    """Another way to write the same text: the katas that it takes, and what it is."""

    katas: tuple[str, ...]
    about: str


class Writer(Protocol):
    """What a course does with a student's functions so that they write a text."""

    def write(self, wish: Wish) -> Iterator[Token]:
        """Yield the tokens of the prompt and then the new ones. Raises Silent."""

    def weights(self, ids: Sequence[int], wish: Wish) -> Array:
        """Return the weights of each head, [layers, heads, 1 + tokens, 1 + tokens], with the start before the
        first token. Raises Silent."""

    def loss(self, wish: Wish) -> float:
        """Return the mean loss of the texts that were held back, in nats a token. Raises Silent."""

    def rates(self, ids: Sequence[int], wish: Wish) -> dict[str, tuple[float, float]]:
        """Return the seconds and the operations of a token, by the way of writing. Raises Silent."""


@dataclass(frozen=True)
class Speech:
    """What a course needs to let a student's functions write.

    `parts` are the katas that have to pass, with their functions; `more` are used as they pass. `lessons`
    says for a kata which switch shows what it does. What the references write after `prompt` is recorded.
    `writer` puts the functions together.
    """

    parts: Functions
    more: Functions
    switches: Mapping[str, Switch]
    settings: Mapping[str, Setting]
    ways: Mapping[str, Way]
    lessons: Mapping[str, str]
    prompt: str
    writer: Callable[[StudentCalls], Writer]

    @property
    def katas(self) -> Functions:
        """All katas of the speech."""
        return {**self.parts, **self.more}

    def within(self, katas: Collection[str]) -> Speech:
        """Return what can be chosen in a course that has these katas, the parts among them."""
        return replace(
            self,
            more={kata: functions for kata, functions in self.more.items() if kata in katas},
            settings={name: one for name, one in self.settings.items() if one.kata in katas},
            ways={name: way for name, way in self.ways.items() if {*way.katas} <= {*katas}},
        )

    def require(self, wish: Wish) -> None:
        """Raise CourseError for a name that the course does not know, and for a number out of its range."""
        for kind, known, names in (
            ("part to leave out", self.switches, wish.without),
            ("way to write", {"": "", **self.ways}, (wish.way,)),
            ("setting", self.settings, wish.settings),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                there = ", ".join(filter(None, known))
                raise CourseError(
                    f"There is no {kind} named `{harmless(unknown[0], one_line=True)}`; say {there}."
                )
        for name, value in wish.settings.items():
            setting = self.settings[name]
            if not setting.low <= value <= setting.high:
                between = f"between {setting.low:g} and {setting.high:g}"
                raise CourseError(f"{name} must lie {between}; it is {value:g}.")

    def katas_of(self, wish: Wish) -> Functions:
        """Return the katas that must pass before a text can be written as wished, with their functions.
        Raises CourseError for a wish that the course does not know."""
        self.require(wish)
        more = [self.settings[name].kata for name in wish.settings]
        more += self.ways[wish.way].katas if wish.way else ()
        return {**self.parts, **{kata: self.more[kata] for kata in dict.fromkeys(more)}}

    def left_out(self, wish: Wish) -> list[str]:
        """Return what the text lacks without each part that is left out, a sentence each."""
        switches = [self.switches[name] for name in wish.without]
        return [f"Without {switch.name}: {switch.effect}" for switch in switches]

    def to_go(self, missing: Sequence[str]) -> str:
        """Return how many katas are missing before the text can be written, and which."""
        katas = counted(len(missing), "kata")
        return f"{katas} to go until your functions write a text: {', '.join(missing)}."


@dataclass
class StudentCalls:
    """Calls the functions of a student. A call that gives nothing that can be used raises Silent."""

    answers: Answers
    _tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self._tracer = Tracer(self.answers, {})

    def one(self, function: str, shape: tuple[int, ...], *arguments: Any) -> Array:
        """Return the array of this shape that a function returns."""
        [value] = self.several(function, [shape], *arguments)
        return value

    def several(self, function: str, shapes: Shapes, *arguments: Any) -> list[Array]:
        """Return the arrays of these shapes that a function returns."""
        kata = self.answers.kata_of(function)
        return self.run(kata, function, lambda student: getattr(student, function)(*arguments), shapes)

    def many(self, function: str, shape: tuple[int, ...], calls: Sequence[tuple[Any, ...]]) -> Array:
        """Return what a function returns first for each of these arguments, [calls, *shape]."""

        def first(arguments: tuple[Any, ...], student: Student) -> Any:
            returned = getattr(student, function)(*arguments)
            return returned[0] if isinstance(returned, list | tuple) and returned else returned

        def run(student: Student) -> Any:
            return np.stack([*run_together(student, [partial(first, arguments) for arguments in calls])])

        kata = self.answers.kata_of(function)
        [values] = self.run(kata, function, run, [(len(calls), *shape)])
        return values

    def run(
        self, kata: str, function: str, run: Callable[[Student], Any], shapes: Shapes, kind: str = "f4"
    ) -> list[Array]:
        """Return the arrays of these shapes and this kind that `run` gives with the student of a kata."""
        values = self._tracer.call(function, kata, run, shapes, kind=kind)
        if any(value is None for value in values):
            raise Silent(f"{function} stopped the text. {self._tracer.steps[function].note}")
        if any(np.isnan(value).any() for value in values):
            raise Silent(f"{function} stopped the text. It returned NaN.")
        return values


class Speaker:
    """A student's functions, each loaded into a worker when a wish first needs it."""

    def __init__(
        self,
        course: Course,
        speech: Speech,
        *,
        mine: bool = False,
        remembers: bool = False,
        started: Callable[[KataInfo], None] = lambda _: None,
        settings: GraderSettings = DEFAULTS,
    ) -> None:
        self.course, self.speech = course, speech
        self.answers = Answers(speech.katas)
        self._open = partial(
            open_answers,
            course,
            mine=mine,
            remembers=remembers,
            started=started,
            settings=settings,
            call_seconds=CALL_SECONDS,
        )
        self._asked: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Speaker:
        self.ask(self.speech.parts)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def ask(self, katas: Functions) -> None:
        """Grade those of these katas that are new or have changed, and load those that pass."""
        new = {kata: functions for kata, functions in katas.items() if kata not in self._asked}
        self._asked |= set(new)
        if not new:
            return
        self.answers.take(self._stack.enter_context(self._open(katas=new)))

    def missing(self, katas: Functions | None = None) -> list[str]:
        """Return the katas that are still to be done: of a wish, or of the parts."""
        return [kata for kata in katas or self.speech.parts if kata not in self.answers.students]

    def writer(self, wish: Wish) -> Writer:
        """Return what writes as wished. Raises Silent if a kata that this needs does not pass, and
        CourseError for a wish that the course does not know."""
        needed = self.speech.katas_of(wish)
        self.ask(needed)
        self.answers.renew()
        missing = self.missing(needed)
        if missing:
            raise Silent(self.speech.to_go(missing))
        return self.speech.writer(StudentCalls(self.answers))


def text_of(tokens: Iterable[Token]) -> str:
    """Return the text of some tokens."""
    return "".join(token.text for token in tokens)


def section_of(title: str, texts: Sequence[str], tokens: Sequence[Token], weights: Array | None) -> Section:
    """Return a text as a section: what each token was chosen from, and what each head looked at.

    A row of weights ends with the token that looks, and is written as a digit of base 62 for each weight.
    """
    data = {
        "tokens": [token.text for token in tokens],
        "likeliest": [token.likeliest for token in tokens],
        "weights": None if weights is None else [list(map(_rows, layer)) for layer in weights],
    }
    return Section(SECTION, title, texts, data=data)


def _rows(head: Array) -> list[str]:
    """Return the rows of one head [T, T] as digits."""
    levels = (head.clip(0, 1) * (len(DIGITS) - 1)).round().astype(int).tolist()
    return ["".join(DIGITS[level] for level in row[: n + 1]) for n, row in enumerate(levels)]


def recorded_speech(speech: Speech, answers: Answers) -> dict[str, Any]:
    """Return what the references write and what their loss is, to be recorded; and what they write without
    each of the parts that can be left out."""
    writer = speech.writer(StudentCalls(answers))
    texts = {name: text_of(writer.write(Wish(speech.prompt, (name,)))) for name in speech.switches}
    text = text_of(writer.write(Wish(speech.prompt)))
    return {"text": text, "loss": round(writer.loss(Wish()), 3), "without": texts}


def measured(writer: Writer, wish: Wish, tokens: Sequence[Token], whole: float | None) -> list[str]:
    """Return what is measured after a text, in lines: how fast another way writes, or the loss of the parts
    beside `whole`, that of the references. Raises Silent."""
    if not wish.way:
        beside = f"; with all parts right it is {whole:.2f}" if whole is not None else ""
        loss = writer.loss(wish)
        return [f"Mean loss on texts that the model was not trained on: {loss:.2f}{beside}."]
    return [
        f"{name:<16} {1 / seconds:6.0f} tokens a second   {operations / 1e6:8.2f} million operations for each"
        for name, (seconds, operations) in writer.rates([token.id for token in tokens], wish).items()
    ]


def prompt_of(text: str) -> str:
    """Return what is read of a prompt: one line without control characters, cut to its last ones."""
    return harmless(" ".join(text[-MOST_CHARACTERS:].split()), one_line=True)
