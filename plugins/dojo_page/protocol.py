"""What a front end asks, and what it is answered: records that travel as JSON objects.

A request is `{"v": 1, "id": 7, "kind": "open", …}`, each answer to it `{"id": 7, "kind": "opened", "last":
true, …}` with the fields of its record. What nobody has asked for has the id 0.
docs/reference/page_protocol.md describes each record.

The records are plain data classes, since a browser's Python has nothing else; who gets requests from outside
checks them against the types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from grader.texts.escaping import sound

VERSION = 1
LONGEST_TEXT = 1 << 17  # characters of a text: in JSON they fit into one message, whatever they are
LONGEST_LINES = 1 << 16  # characters of lines to try
LONGEST_WORD = 1 << 14  # characters of anything else
LONGEST_ARCHIVE = 1 << 24  # characters of a zip, in base64


def _made(given: Any, record: type[Request]) -> Request:
    return record(**given)


class BadRequest(Exception):
    """A message is no request; the message says why."""


# --- requests ---


@dataclass(frozen=True)
class Request:
    """What a front end asks."""

    longest: ClassVar[Mapping[str, int]] = {
        "text": LONGEST_TEXT,
        "lines": LONGEST_LINES,
        "zip": LONGEST_ARCHIVE,
    }


@dataclass(frozen=True)
class Hello(Request):
    """Tell of the course, how far its student is, and which kata comes `after` one, or else after the last
    that was judged."""

    after: str = ""


@dataclass(frozen=True)
class Open(Request):
    """Open a kata. Until it is closed, `Changed` tells what other programs write to its file."""

    kata: str


@dataclass(frozen=True)
class Choose(Request):
    """Choose the katas of a plan that fit into so many hours; all of them if it is 0."""

    plan: str
    hours: float = 0


@dataclass(frozen=True)
class Close(Request):
    """Tell no more of a kata's file."""

    kata: str


@dataclass(frozen=True)
class Save(Request):
    """Write a text to a kata's file. `base` is the digest of what the file held when the front end last knew
    it: if another program has changed the file since, it is not written. With `over` it is written in any
    case, and a copy of what the file held is kept."""

    kata: str
    text: str
    base: str
    over: bool = False


@dataclass(frozen=True)
class Keep(Request):
    """Keep a copy of a text that is given up, such as one for which the file's own is taken."""

    kata: str
    text: str


@dataclass(frozen=True)
class Grade(Request):
    """Judge a text of a kata. It is remembered if the file holds it."""

    kata: str
    text: str


@dataclass(frozen=True)
class Stop(Request):
    """End what this connection has asked of the judge. It has no answer of its own: what runs is dropped, or
    a search ends with the verdict that there is."""


@dataclass(frozen=True)
class Hint(Request):
    """Show the next hint of a kata."""

    kata: str


@dataclass(frozen=True)
class ShowPuzzle(Request):
    """Show the lines of a kata's puzzle."""

    kata: str


@dataclass(frozen=True)
class Arrange(Request):
    """Run some lines of a kata's puzzle, by their letters in the order from the top."""

    kata: str
    order: str


@dataclass(frozen=True)
class Solution(Request):
    """Show the reference of a kata that has passed, and other ways to write it."""

    kata: str


@dataclass(frozen=True)
class Try(Request):
    """Run some lines after a text of a kata."""

    kata: str
    text: str
    lines: str


@dataclass(frozen=True)
class ListVersions(Request):
    """List the versions of a kata's file that were judged."""

    kata: str


@dataclass(frozen=True)
class Compare(Request):
    """Compare a text with a version."""

    kata: str
    number: int
    text: str


@dataclass(frozen=True)
class Bring(Request):
    """Write a version to a kata's file: "best", "stub", or the number of a version. A copy of what the file
    held and of the `text` of the editor is kept."""

    kata: str
    what: str
    text: str


@dataclass(frozen=True)
class ListFields(Request):
    """List the constants that a text asks for."""

    kata: str
    text: str


@dataclass(frozen=True)
class Fill(Request):
    """Write the value of a constant into a text."""

    kata: str
    text: str
    name: str
    value: str


@dataclass(frozen=True)
class Review(Request):
    """Change a line of an answer that is due for review. `Guess`, `More` and `Mend` go on with that
    review."""


@dataclass(frozen=True)
class Guess(Request):
    """Say which line was changed."""

    line: int


@dataclass(frozen=True)
class More(Request):
    """Show a failing case, then a hint, then the line."""


@dataclass(frozen=True)
class Mend(Request):
    """Write the changed line as it should be; an empty one gives up."""

    text: str


@dataclass(frozen=True)
class See(Request):
    """Run the student's functions together, and show what they give."""


@dataclass(frozen=True)
class OfferSpeech(Request):
    """Tell what can be chosen for a text that the student's functions write."""


@dataclass(frozen=True)
class Speak(Request):
    """Let the student's functions write a text: after which prompt, without which parts, in which way, and
    with which settings, by their names. With `mine`, also those that do not pass."""

    prompt: str
    without: tuple[str, ...] = ()
    way: str = ""
    settings: dict[str, float] = field(default_factory=dict)
    mine: bool = False


@dataclass(frozen=True)
class TakeOut(Request):
    """Pack the files and what is remembered, where they lie in a browser."""


@dataclass(frozen=True)
class BringIn(Request):
    """Unpack what was packed, in base64, into a browser."""

    zip: str


REQUESTS: Mapping[str, type[Request]] = {
    "hello": Hello,
    "choose": Choose,
    "open": Open,
    "close": Close,
    "save": Save,
    "keep": Keep,
    "grade": Grade,
    "stop": Stop,
    "hint": Hint,
    "puzzle": ShowPuzzle,
    "arrange": Arrange,
    "solution": Solution,
    "try": Try,
    "versions": ListVersions,
    "difference": Compare,
    "bring": Bring,
    "fields": ListFields,
    "fill": Fill,
    "review": Review,
    "guess": Guess,
    "more": More,
    "mend": Mend,
    "see": See,
    "speech": OfferSpeech,
    "speak": Speak,
    "take_out": TakeOut,
    "bring_in": BringIn,
}


# --- answers ---


@dataclass(frozen=True)
class Answer:
    """What is answered. `is_last` is true if nothing else is."""

    is_last: ClassVar[bool] = True


@dataclass(frozen=True)
class Entered(Answer):
    """A tab is let in; nobody has asked for this. It keeps the key in its memory alone, and proves that it
    has it when it comes back; there is none behind a proxy that checks the person itself. A tab that has
    proved it gets the address of the page with a code that is good for one use; for others it is empty."""

    key: str
    address: str = ""


@dataclass(frozen=True)
class Problem(Answer):
    """The request cannot be carried out: why, in sentences."""

    text: str


@dataclass(frozen=True)
class Dropped(Answer):
    """The request was not carried out, because another one came or it was stopped; or for the reason
    given."""

    problem: str = ""


@dataclass(frozen=True)
class Track:
    """A track of the course, and what one learns in it."""

    name: str
    purpose: str


@dataclass(frozen=True)
class Plan:
    """A choice of katas, in the order in which to do them: what it is for, and how many hours it takes."""

    name: str
    about: str
    hours: float
    katas: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """What a kata is found by: its texts in small letters, with one space between two words."""

    name: str
    title: str
    aliases: tuple[str, ...]
    track: str


@dataclass(frozen=True)
class Kata:
    """A kata of the course: its title (HTML), the words by which it is found, the katas that must pass
    before, its library, whether it is of "code" or of "questions"; how far it is ("passed", "begun" or ""),
    whether any version of it has passed, whether the file was changed since it was judged, and the scores, as
    text; how long it takes, 0 if nothing is said, and how difficult it is, from 1 to 3. `missing` says how to
    install here what it needs and what is not there; it is empty if all is there. `puzzle` is true if its
    puzzle was shown."""

    name: str
    title: str
    track: str
    words: Words
    needs: tuple[str, ...]
    library: str
    kind: str
    mark: str
    has_passed: bool
    changed: bool
    score: str
    max_score: str
    minutes: int
    difficulty: int
    missing: str
    puzzle: bool


@dataclass(frozen=True)
class Course(Answer):
    """The course, and how far its student is. `judge` is "local" or "browser", `version` that of the grader,
    `can` what this judge can do beside judging: "see", "speak", "review", "zip". `due` are the katas to
    review today, `trouble` says why nothing is remembered, `following` is the kata to go on with, and
    `reason` says why, as a clause that follows "because", or is empty."""

    title: str
    about: str
    judge: str
    version: str
    can: tuple[str, ...]
    due: tuple[str, ...]
    trouble: str
    following: str
    reason: str
    tracks: tuple[Track, ...]
    plans: tuple[Plan, ...]
    katas: tuple[Kata, ...]


@dataclass(frozen=True)
class Step:
    """A kata of a plan, and why it is there, in a few words."""

    kata: str
    why: str


@dataclass(frozen=True)
class Chosen(Answer):
    """What fits into the hours: a sentence, the katas in their order, and sentences on what was left out."""

    told: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Opened(Answer):
    """A kata: its file as it is called here, the file's text with line feeds alone, the digest of what it
    holds, empty if there is none, and why it cannot be edited. The statement (HTML), what has to be done
    before, whether the file is begun, how many hints there are, and the number of the next one, 0 after the
    last. `entry_point` is the first function that is asked for; `previous` and `next` are katas of the
    course, or empty."""

    kata: str
    file: str
    text: str
    digest: str
    problem: str
    statement: str
    waits: str
    is_begun: bool
    hints: int
    next_hint: int
    entry_point: str
    previous: str
    next: str


@dataclass(frozen=True)
class Changed(Answer):
    """Another program has written, deleted or spoilt the file of an open kata; nobody has asked for this."""

    kata: str
    text: str
    digest: str
    is_gone: bool
    problem: str


@dataclass(frozen=True)
class Saved(Answer):
    """The text is in the file; the digest of what the file holds now."""

    digest: str


@dataclass(frozen=True)
class Conflict(Answer):
    """The text is not in the file, which another program has changed: what the file holds, its digest, and
    how it differs from the text (HTML)."""

    text: str
    digest: str
    difference: str


@dataclass(frozen=True)
class Kept(Answer):
    """A copy of the text is kept in this file."""

    file: str


@dataclass(frozen=True)
class Mark:
    """A place in question: its line, from 1, its columns, from 0 to before the second; what stands there, and
    what is said of it. `kind` is "raised" or "found"."""

    line: int
    columns: tuple[int, int]
    text: str
    kind: str


@dataclass(frozen=True)
class Verdict(Answer):
    """The verdict on a text: the report as report.json has it, as HTML, the score before if that was another
    one, the seconds that it took, the places in question, the failing call as code, the score as text, the
    number of the next hint, and whether there is a solution to show. `is_searching` is true if another
    verdict follows, with the place of the mistake."""

    report: dict[str, Any]
    html: str
    was: str
    seconds: float
    marks: tuple[Mark, ...]
    snippet: str
    score: str
    next_hint: int
    has_solution: bool
    is_searching: bool

    @property
    def is_last(self) -> bool:  # type: ignore[override]
        return not self.is_searching


@dataclass(frozen=True)
class Hinted(Answer):
    """A hint (HTML), the number of the next one, 0 after the last, how many there are, and whether the kata
    has a puzzle that may be shown now."""

    html: str
    number: int
    of: int
    has_puzzle: bool


@dataclass(frozen=True)
class PuzzleLine:
    """A line of a puzzle: its letter, and its text with its indentation, which may have several rows."""

    letter: str
    text: str


@dataclass(frozen=True)
class Puzzle(Answer):
    """A puzzle: what is to be done, what stands above the lines, and the lines as they are shown."""

    kata: str
    told: str
    head: str
    lines: tuple[PuzzleLine, ...]


@dataclass(frozen=True)
class Arranged(Answer):
    """What running an order of lines has shown: whether it passes, how many lines from the top are right, and
    sentences about it."""

    passes: bool
    right: int
    told: str


@dataclass(frozen=True)
class Solved(Answer):
    """The reference of a kata and other ways to write it (HTML)."""

    html: str


@dataclass(frozen=True)
class Tried(Answer):
    """What some lines printed and gave (HTML)."""

    html: str


@dataclass(frozen=True)
class Version:
    """A judged version: its number, when it was judged, as text, its score, as text, and whether it has
    passed."""

    number: int
    when: str
    score: str
    passed: bool


@dataclass(frozen=True)
class Versions(Answer):
    """The judged versions, the last one first, and the files of earlier ones that cannot be read."""

    versions: tuple[Version, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True)
class Difference(Answer):
    """How a text differs from a version (HTML)."""

    html: str


@dataclass(frozen=True)
class Brought(Answer):
    """The text that is in the file now, and the digest of what the file holds."""

    text: str
    digest: str


@dataclass(frozen=True)
class Question:
    """A constant, what is asked, and its value as it is written; empty if it is not answered."""

    name: str
    text: str
    value: str


@dataclass(frozen=True)
class Fields(Answer):
    """The row of numbers that the student's login chooses, as a sentence, or empty; and the questions."""

    row: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Filled(Answer):
    """The text with the value in it."""

    text: str


@dataclass(frozen=True)
class Refused(Answer):
    """The value is none: why, in a sentence."""

    text: str


@dataclass(frozen=True)
class Line:
    """A line of an answer, with its number."""

    number: int
    text: str


@dataclass(frozen=True)
class Reviewing(Answer):
    """A review: the kata, the lines of the answer, what is said, and what the button for more says, empty if
    there is no more. `shown` is what was shown so far (HTML). Once the changed line is known, `found` is its
    number and `now` what it says; it is to be written as it should be."""

    kata: str
    lines: tuple[Line, ...]
    told: str
    more: str
    shown: str
    found: int
    now: str
    wrong: str


@dataclass(frozen=True)
class Reviewed(Answer):
    """The review is over, or there is none: what is said of it, what is shown (HTML), and the kata that is
    due next, or none."""

    told: str
    shown: str
    next: str


@dataclass(frozen=True)
class Shown(Answer):
    """A whole page for a frame of its own."""

    html: str


@dataclass(frozen=True)
class Switch:
    """Something that can be left out of a text: its name in a sentence, and what the text then lacks."""

    name: str
    label: str
    effect: str


@dataclass(frozen=True)
class Way:
    """A way to write a text."""

    name: str
    about: str


@dataclass(frozen=True)
class Setting:
    """A number that can be chosen for a text."""

    name: str
    about: str
    low: float
    high: float
    step: float


@dataclass(frozen=True)
class Speech(Answer):
    """What can be chosen for a text: its prompt, how long that may be, what can be left out, ways and
    settings."""

    title: str
    prompt: str
    longest: int
    switches: tuple[Switch, ...]
    ways: tuple[Way, ...]
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Said(Answer):
    """The next piece of a text."""

    text: str
    is_last: ClassVar[bool] = False


@dataclass(frozen=True)
class Progress(Answer):
    """What is being done now, in a sentence."""

    text: str
    is_last: ClassVar[bool] = False


@dataclass(frozen=True)
class Written(Answer):
    """The last answer about a text: sentences about it; a page that shows from which tokens each one was
    chosen; `beside`, the text with all parts, if one was left out; and whether the text was recorded, because
    katas whose functions it needs do not pass yet."""

    remarks: tuple[str, ...] = ()
    inside: str = ""
    beside: str = ""
    is_recorded: bool = False


@dataclass(frozen=True)
class Archive(Answer):
    """The files and what is remembered, packed, in base64."""

    zip: str


@dataclass(frozen=True)
class Taken(Answer):
    """What was unpacked, as a sentence."""

    told: str


@dataclass(frozen=True)
class Done(Answer):
    """It is done, and there is nothing to be said."""


#: Of which answers each kind of message consists.
ANSWERS: Mapping[str, type[Answer]] = {
    "entered": Entered,
    "course": Course,
    "chosen": Chosen,
    "opened": Opened,
    "changed": Changed,
    "saved": Saved,
    "conflict": Conflict,
    "kept": Kept,
    "verdict": Verdict,
    "hint": Hinted,
    "puzzle": Puzzle,
    "arranged": Arranged,
    "solution": Solved,
    "tried": Tried,
    "versions": Versions,
    "difference": Difference,
    "brought": Brought,
    "fields": Fields,
    "filled": Filled,
    "refused": Refused,
    "reviewing": Reviewing,
    "reviewed": Reviewed,
    "shown": Shown,
    "speech": Speech,
    "said": Said,
    "progress": Progress,
    "written": Written,
    "archive": Archive,
    "taken": Taken,
    "done": Done,
    "dropped": Dropped,
    "problem": Problem,
}
KINDS = {record: kind for kind, record in ANSWERS.items()}


OTHER_VERSION = "This tab shows another version of the page; load it again."
NO_REQUEST = "This tab has asked for what the page does not know; load it again."
TOO_LONG = "This is longer than the page takes: at most {} characters."


def number_of(message: Any) -> int:
    """Return the id of a message; 0 if it has none."""
    found = message.get("id") if isinstance(message, dict) else 0
    return found if type(found) is int and 0 < found < 1 << 53 else 0


def request_of(message: Any, convert: Callable[[Any, type[Request]], Request] = _made) -> Request:
    """Return the request that a message holds. `convert` checks the fields against the types of a record, and
    raises ValueError or TypeError; without one they are taken as they are. Raises BadRequest."""
    if not isinstance(message, dict) or message.get("v") != VERSION:
        raise BadRequest(OTHER_VERSION)
    kind = message.get("kind")
    record = REQUESTS.get(kind) if isinstance(kind, str) else None
    if record is None or not number_of(message):
        raise BadRequest(NO_REQUEST)
    given = {name: value for name, value in message.items() if name not in ("v", "id", "kind")}
    for name, value in given.items():
        longest = record.longest.get(name, LONGEST_WORD)
        if isinstance(value, str) and len(value) > longest:
            raise BadRequest(TOO_LONG.format(longest))
    given = {name: sound(value) if isinstance(value, str) else value for name, value in given.items()}
    try:
        return convert(given, record)
    except (TypeError, ValueError):
        raise BadRequest(NO_REQUEST) from None


def message_of(number: int, answer: Answer) -> dict[str, Any]:
    """Return an answer to a request, or one that no request has asked for if the number is 0."""
    return {"id": number, "kind": KINDS[type(answer)], "last": answer.is_last, **_plain(answer)}


def _plain(value: Any) -> Any:
    """Return a record as what JSON can hold; what is no record stays as it is."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value
