"""Render a report for the terminal: the cause of the failures, then the smallest input that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.formats import Detail, Document, account
from grader.formats.account import WIDEST_NAME, FailureShown
from grader.report import CheckReport, KataReport, Place, Report
from grader.texts.bounds import legible, legible_kata
from grader.texts.escaping import one_line, quoted, without_commands
from grader.texts.points import points
from grader.texts.sentences import in_brief
from grader.texts.wrapping import code_lines, for_prompt, words

MOST_ROWS = 120  # the most rows of a counterexample in full
MOST_KINDS = 6  # the most lines about values that a call does not hold
MOST_CAUSES = 3  # the causes that a report shows, unless it is full
FEWEST_LINES, MOST_LINES = 22, 30  # of a report that is not full: what 24 rows show with a prompt; at most
PLACE_LINES = 5  # of a place that a search may still find
NO_SNIPPET = "# No failing call can be written as short code that runs beside your file."
NO_BREAK = "\xa0"
FEW_PRINTED = 4  # the last lines of the output that it shows
PRINTED = f"{'':6}|   "  # before what a long line that was printed goes on with
DEEPEST = 8  # the most opening brackets by which the rows of a nested array are indented
GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"
ASCII = str.maketrans({"✓": "+", "✗": "x", "⧗": "t", "·": ".", "…": "...", "│": "|", "→": "->"})
MARKS = {"passed": ("✓", GREEN), "skipped": ("·", DIM), "timeout": ("⧗", RED)}


class Paint:
    """Adds ANSI colour codes to a text, or returns it unchanged if `colour` is False."""

    def __init__(self, *, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


@dataclass(frozen=True)
class View:
    """How a report is shown: in how many columns, with colour or not, in ASCII or not, in which detail, and
    with everything that the code printed or with the end of it, with or without the next commands, with or
    without links on paths, and in how many lines unless it is full."""

    width: int = 80
    colour: bool = False
    ascii_only: bool = False
    detail: Detail = "normal"
    shows_output: bool = False
    offers_commands: bool = True
    links: bool = False
    lines: int = FEWEST_LINES

    @property
    def paint(self) -> Paint:
        return Paint(colour=self.colour)


DEFAULT = View()


def render(report: Report, view: View = DEFAULT) -> str:
    """Return all katas and, if there are several, the summary, whose last line is the score."""
    parts = [render_kata(kata, view) for kata in report.katas]
    if len(report.katas) > 1:
        parts.append(render_summary(report, view))
    return ("" if view.detail == "brief" else "\n").join(parts)


def render_kata(kata: KataReport, view: View = DEFAULT) -> str:
    """Return the report of one kata: first the cause of the failures, then what fails besides."""
    text = without_commands("\n".join(_kata(legible_kata(kata), view)) + "\n")
    return in_ascii(text) if view.ascii_only else text


def in_ascii(text: str) -> str:
    """Return the text with the signs of a report in ASCII."""
    return text.translate(ASCII)


def _kata(kata: KataReport, view: View) -> list[str]:
    failed = account.wrong(kata)
    if view.detail == "snippet":
        return _snippet([*(cause.first for cause in account.causes(kata)), *failed])  # the one that is shown
    if failed and view.detail == "normal":
        head = _headline if kata.status == "passed" else _score
        above = [*head(kata, view).splitlines(), *_parts(kata, view)]
        return [*above, *_failed(kata, view, view.lines - len(above))]
    lines = [_headline(kata, view)]
    if view.detail == "brief":
        return lines
    if not kata.checks:
        return lines + _paragraph(account.summary_of(kata), view)
    lines += _parts(kata, view)
    if view.detail == "full":
        lines += [line for check in kata.checks for line in _listed(check, view)]
    lines += _search_lines(kata, view)
    lines += _notes(kata, view)
    if kata.cost and (view.detail == "full" or kata.cost.is_noticeable):
        lines += _labelled("cost", account.cost_of(kata), view)
    is_shown = any(check.printed for check in failed)
    if kata.output and (view.shows_output or (failed and not is_shown)):
        lines += _output(kata, view)
    if failed and view.offers_commands:
        lines += ["", *command_lines(kata, view)]
    return lines


def _failed(kata: KataReport, view: View, room: int) -> list[str]:
    """Return what is wrong, a call that shows it, the line, and the commands that lead on, in at most `room`
    lines where that is possible. The commands take room where others are offered in their place too."""
    told = account.told(kata)
    check = told.check
    above, below = _words(kata, told, view), _after_call(kata, told, view)
    calls = _calls(check, kata.name, view) if told.shows_call else [[]]
    came = _came(check, view) if told.shows_values else []
    end = ["", *_paragraph(told.guess, view)] if told.guess else []
    end += _notes(kata, view)
    commands = ["", *command_lines(kata, view)]
    left = room - len(above) - len(came) - len(below) - len(end) - len(commands)
    reasons = _other_reasons(told.others, view)
    ways = [(call, others) for call in calls for others in reasons]
    if any(account.named(cause.first) for cause in account.causes(kata)[1:]):
        ways.sort(key=lambda way: way[1] is reasons[-1])  # names before values
    fitting = (way for way in ways if len(way[0]) + len(way[1]) <= left)
    call, others = next(fitting, ways[-1])
    drawn = _drawing(check, view) if told.shows_values else []
    if drawn and len(drawn) - len(came) <= left - len(call) - len(others):
        came = drawn
    return [*above, *call, *came, *below, *others, *end, *(commands if view.offers_commands else [])]


def _words(kata: KataReport, told: FailureShown, view: View) -> list[str]:
    """Return what is wrong in words, how many checks fail, and what fails in the call below."""
    count = [] if kata.status == "passed" else _paragraph(told.count, view)  # which the headline says
    if told.claim:
        return [*_paragraph(told.words, view), "", *count, *_marked(told.claim, told.check, view)]
    rule = _paragraph(told.rule, view) if told.rule else []
    return [*_marked(told.words, told.check, view), *rule, "", *count]


def _after_call(kata: KataReport, told: FailureShown, view: View) -> list[str]:
    """Return what stands below a failing call: the line in the submission, and what was printed."""
    check = told.check
    lines = [line for place in told.places for line in _place(place, view)]
    if not account.named(check) or told.words != account.repair_text(kata):
        lines += [] if told.places and not check.place else _search_lines(kata, view)
    lines += _printed(check, view)
    # where a mistake is named, or the code raises, warnings tell nothing new
    explained = any(map(account.named, account.wrong(kata))) or check.status == "error"
    output = kata.output if view.shows_output or not explained else ""
    if output and (view.shows_output or not check.printed):
        lines += _output(kata, view)
    return lines


def _output(kata: KataReport, view: View) -> list[str]:
    """Return what the code printed, or the end of it."""
    shown = quoted(kata.output) if view.shows_output else quoted(kata.output[-600:])[-FEW_PRINTED:]
    return ["", view.paint("  The code printed:", DIM), *_wrapped(shown, view, PRINTED)]


def _came(check: CheckReport, view: View) -> list[str]:
    """Return what came and what is expected as text: where they first differ, or both."""
    if check.came:
        return [view.paint(line, BOLD) for line in code_lines(f"# {check.came}", view.width)]
    return _texts(check, view)


def _calls(check: CheckReport, kata: str, view: View) -> list[list[str]]:
    """Return three ways to show a failing call, the longest first: as code; without its values, but with what
    they are; the call alone. Without a call the case is shown."""
    if not check.call:
        return [_counterexample(check.counterexample or {}, view)[:MOST_KINDS]]
    short = account.in_short(check)
    return [
        _call(one, kata, kinds, view) for one, kinds in ((check, MOST_KINDS), (short, MOST_KINDS), (short, 0))
    ]


def _call(check: CheckReport, kata: str, most_kinds: int, view: View) -> list[str]:
    """Return a call as code at the margin, which Python's prompt takes as it stands; then what the values are
    that it does not hold, and what prints them."""
    lines = code_lines(for_prompt(check.call or ""), view.width)
    given = [f"# {text}"[: view.width] for text in account.kinds(check)]
    told = [] if account.is_whole(check) else words(account.not_whole(check, kata), view.width, "# ")
    return [*lines, *given[:most_kinds], *told]


def _other_reasons(others: Sequence[str], view: View) -> list[list[str]]:
    """Return three ways to tell of the other reasons, the longest first: the next ones in full, each in its
    first sentence, or how many there are."""
    if not others:
        return [[]]
    in_full = others[: MOST_CAUSES - 1]
    brief = [in_brief(text) for text in in_full]
    return [["", *_reasons(shown, len(others) - len(shown), view)] for shown in (in_full, brief, ())]


def _reasons(shown: Sequence[str], left: int, view: View) -> list[str]:
    lines = [line for text in shown for line in _with_mark(one_line(text), ("✗", RED), view)]
    return [*lines, f"  … and {left} more {'reason' if left == 1 else 'reasons'}"] if left else lines


def command_lines(kata: KataReport, view: View = DEFAULT) -> list[str]:
    """Return the commands that lead on from a report of a kata that fails."""
    hint, call, full = (command.format(kata.name) for command in account.COMMANDS.values())
    options = [f"{call} (this call)"] if any(check.snippet for check in account.wrong(kata)) else []
    if view.detail != "full":
        options.append(f"{full.split()[-1] if options else full} (all checks)")
    more = words(" or ".join(options), view.width, "  more    ", " " * 10)
    return [f"  a hint  {hint}", *more]


def _snippet(failed: list[CheckReport]) -> list[str]:
    """Return code that makes the first failing call that code can make."""
    found = next((check for check in failed if check.snippet), None)
    if found is None:
        return [NO_SNIPPET] if failed else []
    came = f"# {found.came}" if found.came else f"# expected: {found.expected}" if found.expected else ""
    return [*for_prompt(found.snippet).splitlines(), came or f"# {account.fails(found)}"]


def _score(kata: KataReport, view: View) -> str:
    return f"{view.paint(kata.title, BOLD)}  {points(kata.score)} / {points(kata.max_score)}"


def _headline(kata: KataReport, view: View) -> str:
    """Return the name, the score and how many checks fail."""
    score = _score(kata, view)
    failed, total = len(account.wrong(kata)), len(kata.checks) - len(account.by_hand(kata))
    if not total:
        return score
    if failed:
        count = account.count_of(kata, len(account.causes(kata)))
        passes = f"{view.paint('✓', GREEN)} passes; " if kata.status == "passed" else ""
        text = passes + count if passes else f"{view.paint('✗', RED)} {count}"
    elif kata.parts:
        text = f"… {len([part for part in kata.parts if part.status == 'not_written'])} of {len(kata.parts)}"
        text += " parts not written"
    else:
        is_whole = all(check.status == "passed" for check in account.held(kata))
        holds = f"all {total} checks hold" if total > 1 else "it holds"
        text = f"{view.paint('✓', GREEN)} {holds if is_whole else account.holding(kata)}"
    fits = len(f"{score}   {text}") - len(view.paint("", BOLD) + view.paint("", GREEN)) <= view.width
    return f"{score}   {text}" if fits else f"{score}\n  {text}"


def _parts(kata: KataReport, view: View) -> list[str]:
    """Return the verdicts on the parts on one line, or on more where a part would pass the width."""
    message = "   ".join(account.of_part(part).replace(" ", NO_BREAK) for part in kata.parts)
    lines = words(message, view.width, "  ")
    text = "\n".join(lines).replace(NO_BREAK, " ")
    text = text.replace("✓", view.paint("✓", GREEN)).replace("✗", view.paint("✗", RED))
    return text.splitlines()


def _marked(text: str, check: CheckReport, view: View) -> list[str]:
    """Return a text after the mark of a check."""
    return _with_mark(text, MARKS.get(check.status, ("✗", RED)), view)


def _with_mark(text: str, mark: tuple[str, str], view: View) -> list[str]:
    first, *others = words(text, view.width - 4) or [""]
    return [f"  {view.paint(*mark)} {first}", *(f"    {line}" for line in others)]


def _facts(check: CheckReport, view: View) -> list[str]:
    """Return the failing call, the line that raised, the arguments and both values."""
    lines = code_lines(for_prompt(check.call or ""), view.width)
    if values := account.values(check):
        lines += _counterexample(values, view)
    lines += _source_line(check, view)
    return lines + _values(check, view) + _printed(check, view)


def _printed(check: CheckReport, view: View) -> list[str]:
    """Return the last lines of what the code printed for this input."""
    shown = quoted(check.printed)[-(MOST_ROWS if view.detail == "full" else FEW_PRINTED) :]
    return [view.paint("    It printed:", DIM), *_wrapped(shown, view, PRINTED)] if shown else []


def _wrapped(lines: list[str], view: View, rest: str) -> list[str]:
    """Return the lines; one that is too long goes on after `rest`."""
    return [
        part
        for line in lines
        for part in ([line] if len(line) <= view.width else words(line, view.width, "", rest))
    ]


def _source_line(check: CheckReport, view: View) -> list[str]:
    return _place(check.place, view) if check.place else []


def _place(place: Place, view: View) -> list[str]:
    return _painted(account.source_line(place, view.width - 4), view)


def _painted(lines: list[str], view: View) -> list[str]:
    """Return a line of code with the number before it in a dim colour, and the carets below it in red."""
    bars = [line.partition("│ ") for line in lines]
    painted = [view.paint(f"    {lead}{bar}", DIM) for lead, bar, _ in bars]
    return [
        lead + (view.paint(text, RED) if number else text)
        for number, (lead, (_, _, text)) in enumerate(zip(painted, bars, strict=True))
    ]


def render_found(before: KataReport, kata: KataReport, view: View = DEFAULT) -> str:
    """Return what a search has found since a report was shown: mistakes, and places with their lines; "" if
    it has found nothing."""
    kata, told = legible_kata(kata), {account.named(check) for check in account.wrong(before)}
    names = dict.fromkeys(account.named(check) for check in account.wrong(kata))
    named = [line for text in names if text not in told for line in ("", *_paragraph(text, view))]
    text = without_commands("\n".join([*named, *_search_lines(kata, view)]))
    return in_ascii(text) if view.ascii_only else text


def _search_lines(kata: KataReport, view: View) -> list[str]:
    """Return the places that a search has found, with their lines."""
    lines = ["", *_paragraph(account.repair_text(kata), view)] if kata.repairs else []
    for repair in kata.repairs:
        lines += _painted(account.source_line(repair.place, view.width - 4), view)
    return lines


def _values(check: CheckReport, view: View) -> list[str]:
    """Return the expected and the actual value: drawn, if that shows how they differ, else as text."""
    return _drawing(check, view) or _texts(check, view)


def _texts(check: CheckReport, view: View) -> list[str]:
    if check.expected is None:
        return []
    lines = _rows(f"    {'expected':<10}", check.expected, view)
    lines += _rows(f"    {'got':<10}", str(check.got), view)
    where = f"{'':14}first difference at {check.difference}"
    return [*lines, where] if check.difference else lines


def _drawing(check: CheckReport, view: View) -> list[str]:
    """Return the expected and the actual value drawn, if that shows how they differ."""
    if check.pictures:
        from grader.drawing.text import draw, tells_apart

        if tells_apart(check.pictures[0]):
            lines = draw(check.pictures[0], view.width - 4, view.paint, ascii_only=view.ascii_only)
            return [f"    {line}" for line in lines]
    return []


def _notes(kata: KataReport, view: View) -> list[str]:
    """Return the messages of checks that do not fail, each once."""
    if view.detail == "full":
        return []
    held = account.held(kata)
    waiting, partly = account.unwritten_of(kata)
    noted = dict.fromkeys(_note(check) for check in held if check not in [*waiting, *partly])
    if account.wrong(kata):  # what earns no points is told in full
        noted.clear()
    noted |= dict.fromkeys([account.waiting_text(kata), kata.cap])
    noted |= dict.fromkeys(check.message for check in account.by_hand(kata))
    return [line for note in noted if note for line in _labelled("note", note, view)]


def _note(check: CheckReport) -> str:
    """Return the message of a check that does not fail, behind what it claims if it was not judged."""
    was_judged = check.status == "passed" or not check.message
    return check.message if was_judged else f"{check.title} {check.message}"


def _listed(check: CheckReport, view: View) -> list[str]:
    """Return one check of a full report."""
    score = f"{points(check.score)} / {points(check.max_score)}"
    *first, last = _marked(account.fails(check) or check.title, check, view)
    room = view.width - len(score) - 2
    fits = len(last) <= room + 9 * view.colour
    lines = [*first, f"{last}  {score}"] if fits else [*first, last, f"{'':4}{score}"]
    if check.status not in account.WRONG:
        return lines + (_labelled("note", check.message, view) if check.message else [])
    return [
        *lines,
        *_paragraph(account.named(check) or account.rule_of(check), view, 4),
        *_facts(check, view),
        *(_paragraph(account.possibility(check), view, 4) if account.possibility(check) else []),
    ]


def _paragraph(text: str, view: View, indent: int = 2) -> list[str]:
    lead = " " * indent
    return words(text, view.width, lead)


def _counterexample(arguments: dict[str, str], view: View) -> list[str]:
    """Return the arguments, long arrays row by row."""
    width = min(WIDEST_NAME, max(map(len, arguments), default=0))
    parts = [_rows(f"{'':6}{name:<{width}} = ", text, view) for name, text in arguments.items()]
    return _shortened([row for part in parts for row in part])


def _shortened(rows: list[str]) -> list[str]:
    """Return the first rows and how many more there are."""
    left = len(rows) - MOST_ROWS + 1
    return rows if left <= 1 else [*rows[: MOST_ROWS - 1], f"      … {left} more rows"]


def _rows(lead: str, text: str, view: View) -> list[str]:
    """Return a value on one line, or a nested array row by row if the line would be too long."""
    if len(lead) + len(text) <= view.width:
        return [lead + text]
    if 2 * len(lead) > view.width:
        return words(text, view.width, lead, " " * DEEPEST)
    if "], [" not in text:
        return words(text, view.width, lead, " " * len(lead))
    first, *others = text.replace("], [", "],\0[").split("\0")
    inside = min(len(first) - len(first.lstrip("[")), DEEPEST)
    rows = [lead + first, *(" " * (len(lead) + inside - 1 - row.count("[") + 1) + row for row in others)]
    return _wrapped(rows, view, " " * (len(lead) + inside))


def _labelled(label: str, text: str, view: View) -> list[str]:
    lead = f"    {label:<10}  " if label else " " * 4
    return words(text, view.width, lead, " " * len(lead)) or [lead]


def render_summary(report: Report, view: View = DEFAULT) -> str:
    """Return a table of all katas, and the total points."""
    paint, katas = view.paint, legible(report).katas
    rows = [
        f"  {_word(kata, paint)} {kata.name:<30}{points(kata.score):>6} / {points(kata.max_score)}"
        for kata in katas
    ]
    total = f"{points(report.score)} of {points(report.max_score)} points"
    lines = [paint("All katas", BOLD), *rows, "", paint(total, BOLD)]
    text = without_commands("\n".join(lines)) + "\n"
    return in_ascii(text) if view.ascii_only else text


def _word(kata: KataReport, paint: Paint) -> str:
    mark = {"passed": ("✓", GREEN), "not_started": ("·", DIM), "waiting": ("…", YELLOW)}
    return paint(*mark.get(kata.status, ("✗", RED)))


DOCUMENTS = [Document("report.txt", render)]
