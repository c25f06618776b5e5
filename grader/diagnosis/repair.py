"""Search for the place of a mistake: a small edit of the submission that makes every check pass proves it.

The candidates are untrusted like the submission. A worker gets many of them at once, each with a failing
call, and answers in turn; the grader compares the answers. A candidate that agrees is judged by all checks
in a fresh worker.

Say where a result gets another dtype, where an argument is changed and where a call keeps something for
later ones, proved by runs of the submission.

None of them needs the reference, so they work with an answer key.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.builtin import leaves_arguments_unchanged
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckAborted, CheckResult, Failure, judge_case, run_check
from grader.course.files import read
from grader.course.submission import Submission, forbidden_names
from grader.diagnosis.hidden import HiddenMistakes, Mend, hidden_mistakes, keeps_numbers, raising
from grader.diagnosis.matcher import MistakeMatcher
from grader.diagnosis.parting import parting_place
from grader.diagnosis.search_options import SearchOptions
from grader.edits.candidates import CallTrace, EditPlace, Sources, place_of_edit, ranked
from grader.edits.context import name_of
from grader.edits.walk import Edit
from grader.expect import SubmissionFailed
from grader.reading.rules import first_use
from grader.values.arrays import dtype_name, float_dtype, leaves
from grader.worker.batches import TOGETHER, run_together
from grader.worker.calls import CaseFailed
from grader.worker.client import Budget, Outdated, RemoteStudent, WorkerLost
from grader.worker.fork_server import WorkerFactory
from grader.worker.process import Process
from grader.worker.protocol.messages import CallFunction, Outcome, Request
from grader.worker.student import Student

CHANGES = "This line changes in place what the caller has passed."
MOST_ALONE = 4  # variables that are put back one by one
NAMING = ("id", "arg", "attr", "name")  # fields of a syntax tree that hold names
CAST = "_cast_by_the_grader"  # the function that the instrumented source calls
HELPER = """
def {name}(value):
    if str(getattr(value, "dtype", "")).removeprefix("torch.") != {have!r}:
        return value
    if hasattr(value, "astype"):
        return value.astype({expected!r})
    return value.to(getattr(__import__("torch"), {expected!r}))
"""


#: What a line has changed for later calls, by the kind of the variable.
KEPT = {
    "global": "This line changes the global `{name}`, and later calls depend on it.",
    "default": "This line changes the default value of `{name}`, which all calls share.",
    "attribute": "This line changes the attribute `{name}`, and later calls depend on it.",
    "closure": "This line changes the variable `{name}` of an outer function, and later calls depend on it.",
    "results": "This keeps the results of `{name}`, and a later call gets one that is not its own.",
    "random": "This line draws random numbers, so that the next call draws others.",
    "gradients": "This line switches gradients on or off, and leaves them so for the caller.",
    "dtype": "This line changes PyTorch's default dtype, and later calls depend on it.",
}
NAMELESS = "This line changes a value that outlives the call, and later calls depend on it."
Label = tuple[str, str]  # the kind of a variable, and its name


class Traced(Student):
    """A submission whose calls are traced, on the CPU; see `Outcome.trace`. One that raises returns None."""

    def __init__(self, student: Student) -> None:
        super().__init__()
        self._student, self.lines = student, set[int]()
        self.changed = 0  # the first line after which an argument of a call differs
        self.kept: dict[Label, int] = {}  # such lines of variables that outlive a call

    def perform(self, request: Request) -> Outcome:
        if isinstance(request, CallFunction):
            measure = request.options.measure if request.options.measure in ("flops", "tensors") else ""
            request.options = replace(request.options, trace=True, measure=measure)
        outcome = self._student.perform(request)
        if trace := outcome.trace:
            self.lines |= set(trace["lines"])
            self.changed = self.changed or trace["changed"]
            for kind, name, line in trace["kept"]:
                self.kept[kind, name] = self.kept.get((kind, name)) or line
        return outcome


class Undone(Student):
    """A submission, each of whose calls puts back what it has changed of some variables."""

    def __init__(self, student: Student, labels: list[Label]) -> None:
        super().__init__()
        self._student, self._labels = student, labels

    def perform(self, request: Request) -> Outcome:
        if isinstance(request, CallFunction):
            request.options = replace(request.options, undo=tuple(self._labels))
        return self._student.perform(request)


def traced(context: CheckContext, check: Check, case: Case) -> Traced:
    """Judge a case and return what its calls have run and changed. Raises CheckAborted."""
    student = Traced(context.student)
    judge_case(check, context, case, student)
    return student


def keeping(kept: dict[Label, int], passes: Callable[[list[Label]], bool]) -> list[Label]:
    """Return the variable whose change makes the checks fail, or all of them if none is enough alone.

    `passes` returns whether the checks pass if each call puts back some variables.
    """
    alone = [[label] for label in list(kept)[:MOST_ALONE]]
    together = [list(kept)] if len(kept) > 1 else []
    return next(filter(passes, [*alone, *together]), [])


def keeping_places(source: str, kept: dict[Label, int]) -> list[EditPlace]:
    """Return the lines that change variables for later calls, with the names that the source has."""
    words = {getattr(node, part, None) for node in ast.walk(ast.parse(source)) for part in NAMING}
    facts: dict[int, str] = {}
    for (kind, name), line in kept.items():
        fact = KEPT.get(name if kind == "mode" else kind, NAMELESS)
        is_own = name in words or "{name}" not in fact  # a worker can send any name
        facts[line] = fact.format(name=name) if is_own else NAMELESS
    return [EditPlace(line, None, "state", fact) for line, fact in facts.items() if line]


def changing_line(context: CheckContext, check: Check, case: Case) -> EditPlace | None:
    """Return the first line after which an argument of a call differs. Raises CheckAborted."""
    line = traced(context, check, case).changed
    return EditPlace(line, None, "an argument", CHANGES) if line else None


def widening_place(
    source: str, context: CheckContext, case: Case, keeps: Callable[[str], bool]
) -> EditPlace | None:
    """Return the expression that brings a wrong dtype into the result.

    `keeps` returns whether a source has the right dtype. The first expressions are cast in the order in which
    they run, as few as give the result its dtype: the last of them brings the wrong one.
    """
    expected = leaves(context.expected(case).native)
    pairs = zip(
        map(dtype_name, leaves(context.observe(case).observed)), map(dtype_name, expected), strict=False
    )
    have, wanted = next(((have, wanted) for have, wanted in pairs if have != wanted), ("", ""))
    found = _Casts(0)
    found.visit(ast.parse(source))
    low, high = 0, len(found.sites)
    if not have or not keeps(_with_casts(source, high, have, wanted)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(_with_casts(source, middle, have, wanted)) else (middle, high)
    site = found.sites[high - 1]
    ends_here = site.end_lineno == site.lineno
    columns = (site.col_offset, site.end_col_offset or 0) if ends_here else None
    given = float_dtype(case.arguments)
    this = f"For {given} arguments this" if given == wanted else "This"
    fact = f"{this} is {have}, and so is the result, which should be {wanted}."
    return EditPlace(site.lineno, columns, "a dtype", fact)


def _with_casts(source: str, most: int, have: str, expected: str) -> str:
    """Return the source with a cast around its first expressions, `most` in all."""
    tree = _Casts(most).visit(ast.parse(source))
    at = sum(1 for _ in _leading(tree))
    tree.body[at:at] = ast.parse(HELPER.format(name=CAST, have=have, expected=expected)).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _leading(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the docstring and the imports from `__future__`, which stay first."""
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return
        yield node


class _Casts(ast.NodeTransformer):
    """Puts a cast around the first expressions that can hold an array, inner ones first. A function or a
    method comes where it is first called, as the numbers go."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sites: list[ast.expr] = []
        self._later: dict[str, ast.FunctionDef] = {}  # functions that others call, until they come

    def visit_Module(self, tree: ast.Module) -> ast.Module:
        inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        calls = [(one, node) for one in inside for node in ast.walk(one) if isinstance(node, ast.Call)]
        called = {name for one, call in calls if (name := _called(call)) != one.name}
        self._later = {node.name: node for node in inside if node.name in called}
        tree.body = [self.visit(node) for node in tree.body]
        while self._later:  # what calls only each other
            self._visit_function(next(iter(self._later)))
        return tree

    def _visit_function(self, name: str) -> None:
        if node := self._later.pop(name, None):
            self.visit(node)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Module):
            return self.visit_Module(node)
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.pattern):
            return node
        if isinstance(node, ast.FunctionDef) and self._later.get(node.name) is node:
            return node
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            node.body = [self.visit(part) for part in node.body]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, ast.Call):
            return self._cast(self._call(node))
        self.generic_visit(node)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        kinds = ast.BinOp | ast.UnaryOp | ast.Name | ast.Attribute | ast.Subscript | ast.IfExp
        return self._cast(node) if is_read and isinstance(node, kinds) else node

    def _call(self, node: ast.Call) -> ast.Call:
        """Visit a call, but not the name of its function."""
        called = _called(node)
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        self._visit_function(called)
        return node

    def _cast(self, node: ast.expr) -> ast.expr:
        self.sites.append(node)
        if len(self.sites) > self.most:
            return node
        call = ast.Call(ast.Name(CAST, ast.Load()), [node], [])
        return ast.copy_location(call, node)


def _called(node: ast.Call) -> str:
    """Return the name of the function or of the object's own method that is called; "" for others."""
    is_own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
    return name_of(node) if is_own or isinstance(node.func, ast.Name) else ""


WALL_FACTOR = 2  # wall time of a search, as a multiple of its CPU time
CALL_SECONDS = 0.25  # CPU time of one call of a candidate
START_SECONDS = 10.0
UNBOUND = re.compile(r"raised (?:NameError|UnboundLocalError): [^']*'(\w+)'")
MOST_PLACES = 3
MOST_GOALS = 4  # failing checks with which the goals begin, the cases that a candidate has to pass first
LONGER = 1.0  # how much longer to look for other places, as a share of the time until the first was tried
AT_LEAST = 0.15  # seconds to look for other places


class Clock:
    """The CPU time of this process and the workers of one search, and its wall time."""

    def __init__(self, options: SearchOptions) -> None:
        self.options = options
        self.processes: list[Process] = []  # the workers that are running
        self._began, self._wall, self._workers = time.process_time(), time.monotonic(), 0.0
        self.limit = options.seconds

    @property
    def spent(self) -> float:
        running = sum(process.usage().cpu for process in self.processes)
        return time.process_time() - self._began + self._workers + running

    def is_over(self) -> bool:
        """Return whether the search has to end now."""
        late = time.monotonic() - self._wall > WALL_FACTOR * self.options.seconds
        return late or self.spent > self.limit or self.options.is_outdated()

    def begin_again(self) -> None:
        """Give the search its time once more."""
        self.limit, self._wall = self.spent + self.options.seconds, time.monotonic()

    def stop(self, process: Process) -> None:
        """Kill a worker, and keep its CPU time."""
        self._workers += process.usage().cpu
        self.processes.remove(process)
        process.kill()


@dataclass(frozen=True)
class Candidate:
    """The submission with one edit."""

    edit: Edit
    source: str


class CandidateStudent(Student):
    """A candidate among those of one batch; its source goes to the worker with its first request."""

    def __init__(self, student: Student, number: int, source: str) -> None:
        super().__init__()
        self._student, self._number, self._source = student, number, source

    def perform(self, request: Request) -> Outcome:
        request.candidate, request.source, self._source = self._number, self._source, ""
        return self._student.perform(request)


class SearchEnded(Exception):
    """No worker can be started, or the submission itself does not load, so there is nothing to search."""


class Trial:
    """A worker that has loaded a source, and loads candidates. Raises SubmissionFailed, WorkerLost."""

    def __init__(
        self,
        prepared: PreparedKata,
        submission: Submission,
        factory: WorkerFactory,
        device: str,
        clock: Clock,
        source: str,
    ) -> None:
        self.prepared, self.submission, self.clock = prepared, submission, clock
        self.process = factory.start(device)
        clock.processes.append(self.process)
        budget = Budget(is_outdated=clock.is_over)
        self.student = RemoteStudent(self.process, CALL_SECONDS, budget, submission.exchange)
        try:
            self.student.greeting(START_SECONDS)
            self.context = self.load(source)
        except BaseException:
            self.close()
            raise

    def load(self, source: str) -> CheckContext:
        """Load a candidate. Raises SubmissionFailed, WorkerLost."""
        kata = self.prepared.kata
        self.student.load(
            kata.name,
            CALL_SECONDS,
            filename=self.submission.filename,
            source=source,
            entry_points=list(kata.entry_points),
            forbidden=forbidden_names(kata),
        )
        return CheckContext(kata, self.prepared.oracle, self.student)

    def close(self) -> None:
        self.clock.stop(self.process)


class LostBy(Exception):
    """A candidate of a batch ended the worker, or was too slow."""

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        self.candidate = candidate


class RepairSearch:
    """The search for the places of one submission's mistake."""

    def __init__(  # noqa: PLR0913  # each has a class of its own
        self,
        prepared: PreparedKata,
        submission: Submission,
        factory: WorkerFactory,
        device: str,
        results: Sequence[CheckResult],
        options: SearchOptions,
        matcher: MistakeMatcher,
    ) -> None:
        self.prepared, self.submission, self.options = prepared, submission, options
        self.factory, self.device = factory, device
        self.results, self.matcher = results, matcher
        self.failing = [result for result in results if result.failures]
        passing = [result for result in results if result.asked and not result.failures]
        few = [*self.failing[:MOST_GOALS], *passing[:1]]  # so that no candidate breaks what is right
        raised = raising(self.failing)
        goals = (goal for result in few for goal in _goals(result))
        self.goals = sorted(goals, key=lambda goal: (goal.name, goal.cases[0].index) not in raised)
        self.raises, self.mends = bool(raised), list[Mend]()  # candidates that stop the exceptions
        self.clock = Clock(options)
        self.trial: Trial | None = None
        self.judged = 0  # candidates
        self.places: list[EditPlace] = []
        self.parting: EditPlace | None = None  # where its numbers part from the right ones
        self.hidden: HiddenMistakes | None = None  # behind an exception

    def run(self) -> None:
        """Fill `places` with those where one edit makes every check pass, or of which a run shows a fact."""
        try:
            own = [result for result in self.failing if result.check.nature.of_state] or self.failing
            lines, kept = self._traced(own[0])
            if kept and self._locate_state(own, kept):
                return
            self._part()
            self._locate()
            if not self.places or any(not result.check.nature.is_traced for result in self.failing):
                failures = [failure for result in self.failing for failure in result.failures]
                raised = frozenset(failure.line for failure in failures if failure.line)
                unbound = next(filter(None, (UNBOUND.search(failure.message) for failure in failures)), None)
                arguments = [*next(_goals(own[0])).cases[0].arguments.values()]
                keys = tuple(dict.fromkeys(_keys(arguments)))
                self._search(CallTrace(frozenset(lines), raised, unbound[1] if unbound else "", keys))
                if self.mends and all(place.fact for place in self.places):
                    self.clock.begin_again()
                    self.hidden = hidden_mistakes(self.mends, self.matcher, self.results, self._results)
        except (Outdated, SearchEnded):
            pass
        finally:
            self._close()

    def _traced(self, result: CheckResult) -> tuple[set[int], dict[Label, int]]:
        """Return the lines that run in a failing case, and those that change something for later calls."""
        goal = next(_goals(result))
        try:
            student = traced(self._context(), goal, goal.cases[0])
        except (SubmissionFailed, WorkerLost, CheckAborted):
            self._close()
            return set(), {}
        return student.lines, student.kept

    def _locate_state(self, own: list[CheckResult], kept: dict[Label, int]) -> bool:
        """Add the lines that change something for later calls, if that makes the checks of `own` fail. Return
        whether it explains all that fails."""
        goals = [goal for result in own[:MOST_GOALS] for goal in _goals(result)]
        checks = [*goals, *(result.check for result in own)]
        passes = partial(self._passes, self.submission.source, checks)
        found = keeping(kept, lambda labels: not self.clock.is_over() and passes(labels))
        self.places += keeping_places(self.submission.source, {label: kept[label] for label in found})
        others = [result.check for result in self.failing if result not in own]
        return bool(self.places) and self._passes(self.submission.source, others, found)

    def _part(self) -> None:
        """Find where the numbers part from those of the reference, if it is at hand."""
        if self.prepared.oracle.recorded is not None:
            return
        oracle = self.prepared.oracle
        reference = read(oracle.course.solution(oracle.info, "reference"))
        try:
            self.parting = parting_place(
                self.submission.source, reference, self.failing, lambda source: self._context(source).student
            )
        except (SubmissionFailed, WorkerLost):
            self._close()

    def _locate(self) -> None:
        """Add the places that runs of the submission prove: of a changed argument and of a wrong dtype."""
        for result in self.failing:
            check, case = result.check, min((f.case for f in result.failures), key=attrgetter("weight"))
            if not check.nature.is_traced or self.clock.is_over():
                continue
            try:
                context = self._context()
                if check.judge is leaves_arguments_unchanged:
                    place = changing_line(context, check, case)
                else:
                    own = replace(check, cases=[case])
                    keeps = partial(self._passes, checks=[own])
                    place = widening_place(self.submission.source, context, case, keeps)
            except (SubmissionFailed, CaseFailed, WorkerLost, CheckAborted):
                place = None
                self._close()
            self.places += [place] if place and self._is_new(place) else []

    def _search(self, trace: CallTrace) -> None:
        tree = ast.parse(self.submission.source)
        candidates = self._candidates(tree, trace)
        while not self.clock.is_over() and (batch := list(islice(candidates, TOGETHER))):
            passing, spent = self._passing(batch), self.clock.spent
            while passing:
                candidate, *passing = passing
                if self._is_new(place := place_of_edit(candidate.edit)):
                    if self._passes_everything(candidate.source):
                        self._add(place, spent)
                    else:
                        if self._may_mend(candidate):
                            self.mends.append(Mend(candidate.edit, candidate.source, ()))
                        passing = self._passing(passing)  # there are more goals now
                if len(self.places) == MOST_PLACES:
                    return

    def _candidates(self, tree: ast.Module, trace: CallTrace) -> Iterator[Candidate]:
        """Yield the candidates whose edits are not in a place that is already found."""
        sources = Sources(tree)
        seen = {sources.plain}
        for number, edit in enumerate(ranked(tree, self.prepared.kata.library, trace)):
            self.options.progress(number)
            source = sources.of(edit)
            if source not in seen and (not self.places or self._is_new(place_of_edit(edit))):
                yield Candidate(edit, source)
            seen.add(source)

    def _is_new(self, place: EditPlace) -> bool:
        return not any(map(place.overlaps, self.places))

    def _passing(self, batch: list[Candidate]) -> list[Candidate]:
        """Return the candidates that pass the goals. One that loses its worker is left out."""
        self.judged += len(batch)
        while batch and not self.clock.is_over():
            try:
                self.trial = self.trial or self._open_own()
                runs = [partial(self._passes_goals, n, candidate) for n, candidate in enumerate(batch, 1)]
                passed = list(run_together(self.trial.student, runs))
                return [candidate for candidate, passes in zip(batch, passed, strict=True) if passes]
            except LostBy as lost:
                self._close()
                batch = [candidate for candidate in batch if candidate is not lost.candidate]
        return []

    def _passes_goals(self, number: int, candidate: Candidate, student: Student) -> bool:
        """Return whether a candidate of a batch passes the goals. One that raises in none of them, where the
        submission does, is kept in `mends`. Raises LostBy."""
        student = CandidateStudent(student, number, candidate.source)
        context = CheckContext(self.prepared.kata, self.prepared.oracle, student)
        failed: list[tuple[Check, Case, Failure]] = []
        try:
            for check, case in [(goal, case) for goal in self.goals for case in goal.cases]:
                failure = judge_case(check, context, case, student).failure
                if failure and (failure.status == "error" or not self._may_mend(candidate)):
                    return False
                failed += [(check, case, failure)] if failure else []
        except CheckAborted:
            raise LostBy(candidate) from None
        if failed:
            self.mends.append(Mend(candidate.edit, candidate.source, failed))
        return not failed

    def _may_mend(self, candidate: Candidate) -> bool:
        """Return whether a candidate may show what an exception hides."""
        return self.raises and keeps_numbers(candidate.edit)

    def _add(self, place: EditPlace, found_after: float) -> None:
        """Add a place whose edit was tried after so many seconds."""
        if all(one.fact for one in self.places):
            longer = max(AT_LEAST, LONGER * found_after)
            self.clock.limit = min(self.clock.limit, self.clock.spent + longer)
        self.places.append(place)

    def _passes(self, source: str, checks: list[Check], undo: Sequence[Label] = ()) -> bool:
        """Return whether a candidate passes the checks; a lost worker is replaced for the next one. Each call
        puts back the variables in `undo`."""
        try:
            context = self._context(source)
            context.student = Undone(context.student, [*undo]) if undo else context.student
            return all(not run_check(check, context).failures for check in checks)
        except (SubmissionFailed, WorkerLost, CheckAborted) as error:
            if not isinstance(error, SubmissionFailed):
                self._close()
            return False

    def _passes_everything(self, source: str) -> bool:
        """Return whether a candidate keeps the rules and passes every check, in a worker of its own. If not,
        what it has failed becomes a goal."""
        if any(first_use(ast.parse(source), rule.forbidden) for rule in self.prepared.kata.rules):
            return False
        failing = {result.check.name for result in self.failing}
        checks = sorted(self.prepared.checks, key=lambda check: check.name not in failing)
        try:
            with closing(self._open(source)) as trial:
                results = (run_check(check, trial.context) for check in checks)
                failed = next((result for result in results if result.failures), None)
                self.goals += _goals(failed) if failed else []
                return failed is None
        except (SubmissionFailed, WorkerLost, CheckAborted):
            return False

    def _results(self, source: str) -> list[CheckResult] | None:
        """Return the results of all checks of a candidate that keeps the rules, in a worker of its own."""
        if any(first_use(ast.parse(source), rule.forbidden) for rule in self.prepared.kata.rules):
            return None
        try:
            with closing(self._open(source)) as trial:
                return [run_check(check, trial.context) for check in self.prepared.checks]
        except (SubmissionFailed, WorkerLost, CheckAborted, Outdated):
            return None

    def _context(self, source: str = "") -> CheckContext:
        """Return a context of a source, or of the submission, that has just been loaded. Raises SearchEnded,
        SubmissionFailed, WorkerLost."""
        if self.trial is None:
            self.trial = self._open_own()
            if not source:
                return self.trial.context
        return self.trial.load(source or self.submission.source)

    def _open(self, source: str) -> Trial:
        return Trial(self.prepared, self.submission, self.factory, self.device, self.clock, source)

    def _open_own(self) -> Trial:
        """Return a trial of the submission. Raises SearchEnded."""
        try:
            return self._open(self.submission.source)
        except (SubmissionFailed, WorkerLost):
            raise SearchEnded from None

    def _close(self) -> None:
        if self.trial is not None:
            self.trial.close()
            self.trial = None


def _goals(result: CheckResult) -> Iterator[Check]:
    """Yield the check with its smallest failing case, whose calls are the shortest, and with a medium one. Of
    a check that passes, they are passing cases."""
    check = result.check
    cases = sorted([failure.case for failure in result.failures] or result.asked, key=attrgetter("weight"))
    for case in dict.fromkeys([cases[0], cases[len(cases) // 2]]):
        yield Check(
            check.name, check.title, check.points, [case], check.judge, check.parameters, nature=check.nature
        )


def _keys(value: Any) -> Iterator[str]:
    """Yield the keys of the dictionaries inside the arguments of a call."""
    for inner in value if isinstance(value, list | tuple) else ():
        yield from _keys(inner)
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from [key] if isinstance(key, str) else []
        yield from _keys(inner)
