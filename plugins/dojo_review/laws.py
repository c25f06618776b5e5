"""Judge the laws that a student writes for a kata: what is true of every right answer and of no wrong one.

Right are the student's own answer that has passed, and versions of it that pass as well: with a changed line,
or with results that are rounded differently. Wrong are versions with one fault that the checks catch. Laws
run in a new worker for each version. They get the functions under test by calls through the grader, so they
see no code and no file of a version, and remember nothing of another one.

A law may draw numbers of its own, so it can fail by chance. All versions are therefore asked in two rounds,
and a fault is caught if the law fails in both, each time after a call of a function under test. In each round
the right versions are asked as often as the wrong ones: a law that fails by chance refuses one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from inspect import signature
from itertools import chain, cycle, islice
from random import SystemRandom
from typing import Any

from dojo_review.faults import Fault, faults_in, in_order
from grader.answer_keys.answers import Case, spread
from grader.checks.context import PreparedKata
from grader.course.files import text_of
from grader.course.submission import Submission, SubmissionRejected, parse
from grader.errors import CourseError
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.parameters import signatures_of
from grader.grading.session import started
from grader.grading.submission_run import judge_submission
from grader.texts.escaping import harmless
from grader.values.arrays import leaves
from grader.values.formatting import show
from grader.worker.client import CALL_SECONDS, Budget, RemoteStudent, WorkerLost
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject

PREFIX = "test_"
CASES = 24  # on which a law runs
MOST_LAWS = 40  # of a file: with hundreds, one for each pair of moments, some would fail twice by chance
MOST_FAULTS = 24  # that are wrong versions
MOST_OF_A_KIND = 3
MOST_VARIANTS = 3  # versions with a changed line that pass
MOST_JUDGED = 60  # faults that are tried
ROUNDS = 2  # of asking all versions
KATA_SECONDS = 10.0  # of CPU time of all calls with one version
RUN = "run_a_law_for_the_grader"
#: Below the student's file: runs one law; an exception of the function under test has its own class again.
RUNNER = f"""

def {RUN}(law, arguments, functions, names):
    import builtins

    def under_test(name):
        def call(*args, **kwargs):
            places = names[name]
            args += tuple(kwargs.pop(place) for place in places[len(args):] if place in kwargs)
            if kwargs:
                raise TypeError(f"{{name}}() takes no argument {{next(iter(kwargs))!r}} here")
            try:
                return functions[name](*args)
            except RuntimeError as error:
                kind, _, text = str(error).partition(": ")
                known = getattr(builtins, kind, None)
                if isinstance(known, type) and issubclass(known, Exception):
                    raise known(text) from None
                raise
        call.__name__ = name
        return call

    globals()[law](**arguments, **{{name: under_test(name) for name in functions}})
"""
#: Below an answer: its functions give floats that are a little larger.
ROUNDED = """

def _rounded(function):
    steps = {"float64": 4e-16, "float32": 2e-7, "float16": 2e-3, "bfloat16": 1e-2}

    def change(value):
        if type(value) in (list, tuple):
            return type(value)(map(change, value))
        if type(value) is dict:
            return {name: change(one) for name, one in value.items()}
        kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
        return value + value * steps[kind] if kind in steps and value.shape else value

    return lambda *args, **kwargs: change(function(*args, **kwargs))


"""
Functions = Callable[[Any], Mapping[str, Callable[..., Any]]]


@dataclass(frozen=True)
class WrittenLaw:
    """A function of the student's file: its name, its first line, and the names of its parameters."""

    name: str
    line: int
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class AnswerVersion:
    """An answer under test; `fault` is what makes it wrong, or None for a right one."""

    source: str
    fault: Fault | None = None


@dataclass
class JudgedLaw:
    """What is known of a law: why it does not count, or which faults it catches, by their number; which it
    failed in one round only; and whether it has called a function under test."""

    law: WrittenLaw
    refused: str = ""
    catches: set[int] = field(default_factory=set)
    by_chance: set[int] = field(default_factory=set)
    has_called: bool = False


@dataclass(frozen=True)
class Judgement:
    """The laws of a file, the faults, and how much of them is caught."""

    laws: Sequence[JudgedLaw]
    faults: Sequence[Fault]

    @property
    def caught(self) -> set[int]:
        return {number for law in self.laws if not law.refused for number in law.catches}

    @property
    def kinds(self) -> dict[str, list[int]]:
        """The numbers of the faults, by their kind."""
        found: dict[str, list[int]] = {}
        for number, fault in enumerate(self.faults):
            found.setdefault(fault.kind, []).append(number)
        return found

    @property
    def share(self) -> Fraction:
        """The share of the faults that is caught; each kind counts alike."""
        shares = [Fraction(len(self.caught & set(numbers)), len(numbers)) for numbers in self.kinds.values()]
        return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)

    @property
    def hundredths(self) -> int:
        """The points of 10, in hundredths."""
        return int(1000 * self.share)


def laws_in(source: str) -> list[WrittenLaw]:
    """Return the functions at the top of a file whose names begin with `test_`."""
    return [
        WrittenLaw(node.name, node.lineno, tuple(arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIX)
    ]


def functions_of(grader: Grader, prepared: PreparedKata) -> tuple[Functions, dict[str, list[str]]]:
    """Return what makes the functions under test of an answer, and the names of their parameters. Raises
    CourseError for a kata of classes that declares none."""
    kata = prepared.kata
    stub = signatures_of(text_of(grader.course.stub(prepared.info)))
    if kata.functions_for_laws is not None:
        made = kata.functions_for_laws(None)
        return kata.functions_for_laws, {name: list(signature(made[name]).parameters) for name in made}
    if not all(name in stub for name in kata.entry_points) or not kata.kind.is_code:
        raise CourseError(f"{kata.name} is no kata of functions: laws cannot be written for it.")
    names = {name: stub[name] for name in kata.entry_points}
    return lambda student: {name: getattr(student, name) for name in names}, names


def versions_of(grader: Grader, prepared: PreparedKata, own: str, seed: str) -> list[AnswerVersion]:
    """Return the right versions of an answer, then the wrong ones."""
    right, wrong = [AnswerVersion(own)], list[AnswerVersion]()
    rounded = own + ROUNDED + "".join(f"{name} = _rounded({name})\n" for name in _plain_functions(own))
    if _outcome(grader, prepared, rounded) == "passes":
        right.append(AnswerVersion(rounded))
    kinds: dict[str, int] = {}
    for fault in in_order(faults_in(own), seed)[:MOST_JUDGED]:
        if len(wrong) == MOST_FAULTS:
            break
        if kinds.get(fault.kind, 0) == MOST_OF_A_KIND:
            continue
        outcome = _outcome(grader, prepared, fault.source)
        if outcome == "passes" and len(right) < 2 + MOST_VARIANTS:
            right.append(AnswerVersion(fault.source))
        elif outcome == "fails":
            kinds[fault.kind] = kinds.get(fault.kind, 0) + 1
            wrong.append(AnswerVersion(fault.source, fault))
    return right + wrong


def _plain_functions(source: str) -> list[str]:
    """Return the functions at the top of an answer that others than itself may call."""
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


def _outcome(grader: Grader, prepared: PreparedKata, source: str) -> str:
    """Return whether an answer with a changed line passes or fails the checks; "" if it was stopped."""
    with suppress(SubmissionRejected):
        submission = parse(prepared.info, source, f"{prepared.info.name}.py")
        judged = judge_submission(grader.factories, grader.device, prepared, submission)
        statuses = {failure.status for result in judged.results for failure in result.failures}
        return "passes" if not statuses else "fails" if statuses == {"failed"} else ""
    return ""


def judge_laws(
    grader: Grader,
    prepared: PreparedKata,
    laws: str,
    versions: Sequence[AnswerVersion],
    tell: Callable[[str], object] = lambda _: None,
) -> Judgement:
    """Return what the laws of a file are worth. Raises SubmissionRejected if it cannot be loaded, and
    CourseError if laws cannot be written for this kata."""
    functions, names = functions_of(grader, prepared)
    found = [JudgedLaw(law) for law in laws_in(laws)]
    cases = spread(prepared.oracle.answered.cases, CASES)
    last = {one.law.name: one.law.line for one in found}
    for number, one in enumerate(found):
        if number >= MOST_LAWS:
            one.refused = f"Only the first {MOST_LAWS} laws of a file are judged."
        elif last[one.law.name] == one.law.line:
            one.refused = _cannot_run(one.law, names, cases)
        else:
            one.refused = f"The law in line {last[one.law.name]} has the same name, and takes its place."
    faults = [version.fault for version in versions if version.fault]
    judge = _Judge(grader, prepared, laws, functions, names)
    rounds = [_in_any_order(versions) for _ in range(ROUNDS)]
    for turn, version in enumerate(chain(*rounds)):
        tell(f"version {turn + 1} of {sum(map(len, rounds))}")
        kept = [one for one in found if not one.refused]
        for one, failure in judge.failures(version, kept, cases):
            if version.fault is None:
                one.refused = one.refused or _refusal(one.law, failure)
            elif failure.has_called:
                number = faults.index(version.fault)
                (one.catches if number in one.by_chance else one.by_chance).add(number)
    for one in found:
        one.by_chance -= one.catches
        if not one.has_called:
            one.refused = one.refused or f"It does not call {' or '.join(names)}."
    return Judgement(found, faults)


def _in_any_order(versions: Sequence[AnswerVersion]) -> list[AnswerVersion]:
    """Return the versions of one round: the answer itself first and last, the others in any order, so that
    none is known by when it comes. Right ones come at least as often as wrong ones."""
    right = [version for version in versions if version.fault is None]
    wrong = [version for version in versions if version.fault]
    again = islice(cycle(right), max(len(right) + 1, len(wrong)))
    first, *others = [*again, *wrong]
    others.remove(first)
    SystemRandom().shuffle(others)
    return [first, *others, first]


def _cannot_run(law: WrittenLaw, names: Mapping[str, list[str]], cases: Sequence[Case]) -> str:
    """Return why a law has parameters that nothing can be given for; "" if it has none."""
    known = {*names, *(cases[0].arguments if cases else ())}
    unknown = [name for name in law.parameters if name not in known]
    if unknown:
        return f"There is no `{unknown[0]}`: it can take {', '.join(sorted(known))}."
    return "" if set(law.parameters) & set(names) else f"It does not take {' or '.join(names)}."


def _refusal(law: WrittenLaw, failure: _Failure) -> str:
    """Return that a law refuses a right version, with the case."""
    arguments = failure.case.arguments
    given = [f"{name} = {show(value)}" for name, value in arguments.items() if name in law.parameters]
    return harmless(f"It refuses a right version{' with ' if given else ''}{', '.join(given)}. {failure.why}")


@dataclass
class _Failure:
    """A case on which a law fails, what it raised, and whether it had called a function under test."""

    case: Case
    why: str
    has_called: bool


class _Judge:
    """Runs laws on versions."""

    def __init__(
        self,
        grader: Grader,
        prepared: PreparedKata,
        laws: str,
        functions: Functions,
        names: dict[str, list[str]],
    ) -> None:
        self.grader, self.prepared, self.laws = grader, prepared, laws
        self.functions, self.names = functions, names

    def failures(
        self, version: AnswerVersion, laws: Sequence[JudgedLaw], cases: Sequence[Case]
    ) -> Iterator[tuple[JudgedLaw, _Failure]]:
        """Yield the laws that a version breaks, each with the first case on which it does."""
        left, name = list(laws), self.prepared.info.name
        submission = parse(self.prepared.info, version.source, f"{name}.py")
        while left:
            with (
                self._worker(submission, version.source, list(self.prepared.kata.entry_points)) as under_test,
                self._worker(submission, self.laws + RUNNER, [RUN], "laws") as judge,
            ):
                lost = False
                while left and not lost:
                    one = left.pop(0)
                    for case in cases:
                        why, lost, has_called = self._run(one.law, case, judge, under_test)
                        one.has_called = one.has_called or has_called
                        if why:
                            yield one, _Failure(case, why, has_called)
                            break

    def _run(
        self, law: WrittenLaw, case: Case, judge: RemoteStudent, under_test: RemoteStudent
    ) -> tuple[str, bool, bool]:
        """Return what a law raises on a case, "" if nothing, whether a worker was lost, and whether the law
        has called a function under test."""
        taken = {name: value for name, value in case.arguments.items() if name in law.parameters}
        called: list[bool] = []
        functions = {
            name: _answering(function, called)
            for name, function in self.functions(under_test).items()
            if name in law.parameters
        }
        why, is_lost = "", False
        try:
            judge.call(RUN, None, [law.name, taken, functions, self.names], {})
        except SubmissionFailed as failed:
            why = f"{failed.kinds[0]}: {failed.message}" if failed.message else failed.kinds[0]
        except WorkerLost as lost:
            why, is_lost = str(lost), True
        return why, is_lost, bool(called)

    @contextmanager
    def _worker(
        self, submission: Submission, source: str, entry_points: list[str], module: str = ""
    ) -> Iterator[RemoteStudent]:
        name = module or submission.info.name
        loading = {"source": source, "entry_points": entry_points, "forbidden": []}
        with started(self.grader, submission, Budget(KATA_SECONDS)) as student:
            try:
                student.load(name, CALL_SECONDS, f"{name}.py", **loading)
            except (SubmissionFailed, WorkerLost) as failed:
                raise SubmissionRejected(f"{name}.py cannot be loaded: {failed}") from None
            yield student


def _answering(function: Callable[..., Any], called: list[bool]) -> Callable[..., Any]:
    """Return the function under test as laws may call it: its exceptions keep the names of their classes.
    Each call is noted in `called`."""

    def call(*args: Any) -> Any:
        called.append(True)
        if any(isinstance(one, Handle) for one in leaves(list(args))):  # it is in the process of the laws
            raise RuntimeError("TypeError: a law can give numbers, texts, arrays and lists, and no object")
        try:
            value = function(*args)
        except SubmissionFailed as failed:
            raise RuntimeError(f"{failed.kinds[0]}: {failed.message}") from None
        if isinstance(value, RemoteObject):
            raise RuntimeError("TypeError: the result is an object of a class, which laws cannot hold")
        return value

    return call
