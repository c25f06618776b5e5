"""Which mistake explains what came back.

A mistake explains a failing case if, asked the same things in the same order, it fails there too,
with the same answer to every call and the same verdict. The mistake that explains every failing
case is named; where two mistakes were made at once, the one that explains most of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from grader.answer_key import Recorded, RecordedMistake
from grader.answers import Answers
from grader.catalog import Card, Course
from grader.checks import CheckPlan, Session
from grader.judging import Failure, Finding, failure_of
from grader.kata import Kata
from grader.oracle import Oracle
from grader.report import Mistake
from grader.resemblance import alike, record
from grader.worker.local import LocalStudent

#: The share of failing cases that a mistake must explain to be named.
ENOUGH = 0.6
#: Failing cases after which a mistake that has explained none of them is dropped.
SCREENED = 4


class Replay:
    """One mistake, asked what a submission is asked, as far as somebody wants to know.

    What it answers to one check never depends on which others were asked before, so that a
    submission is told the same alone and among a thousand.
    """

    def __init__(self, mistake: Mistake, fresh: Callable[[], Session]) -> None:
        self.mistake, self.fresh = mistake, fresh
        self._sessions: dict[str, Session] = {}
        self._outcomes: dict[str, list[Recorded | None]] = {}

    def outcome(self, plan: CheckPlan, index: int) -> Recorded | None:
        """How the mistake fails on the check's case number `index`, None where it passes."""
        done = self._outcomes.setdefault(plan.name, [])
        session = self._session(plan)
        if plan.asks_again and not done:
            session.look_at_all()
        while len(done) <= index:
            failure = failure_of(plan, session, plan.cases[len(done)])
            done.append(None if failure is None else record(failure))
        return done[index]

    def passes(self, plan: CheckPlan) -> bool:
        """Whether it passes the whole check."""
        return all(self.outcome(plan, index) is None for index in range(len(plan.cases)))

    def _session(self, plan: CheckPlan) -> Session:
        """Checks that look at the answers to the bank share a session, with the one that asks for them again:
        whichever comes first, the bank is asked in order, and then again."""
        key = "" if plan.of_the_bank else plan.name
        if key not in self._sessions:
            self._sessions[key] = self.fresh()
        return self._sessions[key]


class Recall:
    """One mistake as an answer key remembers it: the same outcomes, and no code to ask anything else."""

    def __init__(self, recorded: RecordedMistake) -> None:
        self.mistake = Mistake(recorded.id, recorded.text)
        self._outcomes = recorded.outcomes

    def outcome(self, plan: CheckPlan, index: int) -> Recorded | None:
        """How the mistake fails on the check's case number `index`, None where it passes."""
        return self._outcomes[plan.name][index]

    def passes(self, plan: CheckPlan) -> bool:
        """Whether it passes the whole check."""
        return not any(self._outcomes[plan.name])


class Lineup:
    """All mistakes of a kata, against which each submission that fails is held."""

    def __init__(self, kata: Kata, course: Course, card: Card, oracle: Oracle) -> None:
        self.replays: list[Replay] | list[Recall] = []
        if oracle.recorded is not None:
            self.replays = [Recall(mistake) for mistake in oracle.recorded.mistakes]
            return
        if not course.solution(card, "mistakes").is_file():
            return
        answers = Answers(course, card, "mistakes")

        def fresh(name: str) -> Callable[[], Session]:
            return lambda: Session(kata, oracle, LocalStudent(answers.fresh(name)))

        self.replays = [Replay(Mistake(name, answers.text(name)), fresh(name)) for name in answers.names]

    def name(self, findings: list[Finding]) -> dict[str, Suspect]:
        """For each failed check the mistake that explains it best."""
        return dict(self.named(findings))

    def named(self, findings: Iterable[Finding]) -> Iterator[tuple[str, Suspect]]:
        """The failed checks that a mistake explains, in order; none is asked about before it is due. The
        failing case that the mistake explains is put first: it is the one to be shown."""
        everyone = [Suspect(replay, findings) for replay in self.replays]
        likely: list[Suspect] | None = None
        for finding in findings:
            if finding.status not in ("failed", "error"):
                continue
            likely = [s for s in everyone if s.explains(finding)] if likely is None else likely
            fitting = [suspect for suspect in likely if suspect.explains(finding)]
            fitting = fitting or [suspect for suspect in everyone if suspect.explains(finding)]
            if fitting:
                best = _best(fitting, finding)
                explained = best.explained(finding)
                finding.failures.sort(key=lambda failure: id(failure.case) not in explained)
                yield finding.plan.name, best


class Suspect:
    """One mistake, confronted with everything that was found about one submission."""

    def __init__(self, replay: Replay | Recall, findings: Iterable[Finding]) -> None:
        self.mistake, self.replay, self.findings = replay.mistake, replay, findings
        self._explained: dict[str, set[int]] = {}

    @cached_property
    def _aside(self) -> Session:
        assert isinstance(self.replay, Replay), "with a key alone no new case is asked"
        return self.replay.fresh()

    def explains_case(self, plan: CheckPlan, failure: Failure) -> bool:
        """Whether the mistake fails alike on one case that is not of the bank."""
        mine = failure_of(plan, self._aside.anew(), failure.case)
        return mine is not None and alike(failure, record(mine))

    def explains(self, finding: Finding) -> bool:
        """All failing cases, or enough of them that a second mistake must account for the rest; and of
        what the submission passes, enough must pass here as well."""
        if finding.plan.slow and self._contradicted:
            return False
        if len(self.explained(finding)) < ENOUGH * len(finding.failures):
            return False
        failed = {id(failure.case) for failure in finding.failures}
        order = finding.plan.positions
        passed = [order[id(case)] for case in finding.asked if id(case) not in failed]
        alike = sum(self.replay.outcome(finding.plan, index) is None for index in passed)
        return alike >= ENOUGH * len(passed)

    @cached_property
    def _contradicted(self) -> bool:
        """Whether it answers wrongly to the bank where the submission does not: no need to ask it more."""
        looks = [f.plan for f in self.findings if f.plan.looks_only and f.status == "passed"]
        return not all(self.replay.passes(plan) for plan in looks)

    def explained(self, finding: Finding) -> set[int]:
        """The failing cases (by id) on which the mistake fails alike."""
        name = finding.plan.name
        if name not in self._explained:
            self._explained[name] = set(self._compare(finding))
        return self._explained[name]

    def share(self, finding: Finding) -> float:
        """How much of a finding is explained, of 1."""
        return len(self.explained(finding)) / len(finding.failures)

    def checks_explained(self) -> int:
        """How many of the failed checks."""
        return sum(self.explains(f) for f in self.findings if f.status in ("failed", "error"))

    def share_of_all(self) -> float:
        """How much is explained of all failed checks together."""
        return sum(self.share(f) for f in self.findings if f.status in ("failed", "error"))

    def passed_alike(self) -> int:
        """How many of the checks that the submission passes."""
        return sum(self.replay.passes(f.plan) for f in self.findings if f.status == "passed")

    def _compare(self, finding: Finding) -> Iterator[int]:
        """The failing cases in order; a mistake that is wrong about the first few is asked no further."""
        order = finding.plan.positions
        hits = misses = 0
        for theirs in finding.by_position:
            index = order.get(id(theirs.case))
            mine = None if index is None else self.replay.outcome(finding.plan, index)
            if mine is not None and self._alike(theirs, mine):
                hits += 1
                yield id(theirs.case)
            else:
                misses += 1
            if misses > (1 - ENOUGH) * len(finding.failures) or (not hits and misses >= SCREENED):
                return

    def _alike(self, theirs: Failure, mine: Recorded) -> bool:
        """Compared once, though many submissions fail so."""
        if self.mistake.id not in theirs.likeness:
            theirs.likeness[self.mistake.id] = alike(theirs, mine)
        return theirs.likeness[self.mistake.id]


def _best(fitting: list[Suspect], finding: Finding) -> Suspect:
    """Who explains all cases goes before who explains most; then who explains more of the failed checks;
    then the larger share, of the check and of all that failed; then who passes what the submission passes.
    Asked only as far as needed."""
    questions: list[Callable[[Suspect], Any]] = [
        lambda suspect: suspect.share(finding) == 1,
        lambda suspect: suspect.checks_explained(),
        lambda suspect: suspect.share(finding),
        lambda suspect: suspect.share_of_all(),
        lambda suspect: suspect.passed_alike(),
    ]
    for question in questions:
        if len(fitting) == 1:
            break
        answers = [question(suspect) for suspect in fitting]
        fitting = [s for s, answer in zip(fitting, answers, strict=True) if answer == max(answers)]
    return fitting[0]
