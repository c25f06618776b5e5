"""Render a report for the terminal: the cause of the failures, then the smallest input that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.formats import Detail, Document, account
from grader.formats.account import WIDEST, Cause, points, quoted, words
from grader.report import CheckReport, KataReport, Report
from grader.report_texts import legible, legible_kata, without_commands

MOST_ROWS = 120  # the most rows of a counterexample in full
FEW_ROWS = 4  # of each argument otherwise
MOST_CAUSES = 3  # the causes that a report shows, unless it is full
NO_SNIPPET = "# No failing call can be written as short code that runs beside your file."
NO_BREAK = "\xa0"
FEW_PRINTED = 4  # the last lines of the output that it shows
PRINTED = f"{'':6}|   "  # before what a long line that was printed goes on with
DEEPEST = 8  # the most opening brackets by which the rows of a nested array are indented
GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"
MARKS = {"passed": ("✓", GREEN), "skipped": ("·", DIM), "timeout": ("⧗", RED)}


class Paint:
    """Adds ANSI colour codes to a text, or returns it unchanged if `colour` is False."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


@dataclass(frozen=True)
class View:
    """How a report is shown: in how many columns, with colour or not, in ASCII or not, in which detail, and
    with everything that the code printed or with the end of it, with or without the next commands, with or
    without links on paths."""

    width: int = 80
    colour: bool = False
    ascii_only: bool = False
    detail: Detail = "normal"
    shows_output: bool = False
    offers_commands: bool = True
    links: bool = False

    @property
    def paint(self) -> Paint:
        return Paint(self.colour)


DEFAULT = View()


def render(report: Report, view: View = DEFAULT) -> str:
    """Return all katas and, if there are several, the summary, whose last line is the score."""
    parts = [render_kata(kata, view) for kata in report.katas]
    if len(report.katas) > 1:
        parts.append(render_summary(report, view))
    return ("" if view.detail == "brief" else "\n").join(parts)


def render_kata(kata: KataReport, view: View = DEFAULT) -> str:
    """Return the report of one kata: first the cause of the failures, then what fails besides."""
    return without_commands("\n".join(_kata(legible_kata(kata), view)) + "\n")


def _kata(kata: KataReport, view: View) -> list[str]:
    failed = account.wrong(kata)
    if view.detail == "snippet":
        return _snippet([*(cause.first for cause in account.causes(kata)), *failed])  # the one that is shown
    causes = account.causes(kata)
    lines = [_headline(kata, len(causes), view)]
    if view.detail == "brief":
        return lines
    if not kata.checks:
        return lines + _paragraph(account.summary_of(kata), view)
    lines += _parts(kata, view)
    if view.detail == "full":
        lines += [line for check in kata.checks for line in _listed(check, view)]
    elif failed:
        lines += _causes(causes, view)
    lines += search_lines(kata, view)
    lines += _notes(kata, view)
    if kata.cost and (view.detail == "full" or kata.cost.is_noticeable):
        lines += _labelled("cost", account.cost_of(kata), view)
    is_shown = any(check.printed for check in failed)
    if kata.output and (view.shows_output or (failed and not is_shown)):
        shown = quoted(kata.output) if view.shows_output else quoted(kata.output[-600:])[-FEW_PRINTED:]
        lines += ["", view.paint("  The code printed:", DIM), *_wrapped(shown, view, PRINTED)]
    if failed and view.offers_commands:
        lines += ["", f"  a hint      grade --hint {kata.name}"]
        lines += [] if view.detail == "full" else [f"  everything  grade {kata.name} --full"]
    return lines


def _snippet(failed: list[CheckReport]) -> list[str]:
    """Return code that makes the first failing call that code can make."""
    found = next((check for check in failed if check.snippet), None)
    if found is None:
        return [NO_SNIPPET] if failed else []
    expected = f"# expected: {found.expected}" if found.expected else f"# {found.title}"
    return [*found.snippet.splitlines(), expected]


def _headline(kata: KataReport, causes: int, view: View) -> str:
    """Return the name, the score and how many checks fail; `causes` is the number of reasons."""
    score = f"{view.paint(kata.title, BOLD)}  {points(kata.score)} / {points(kata.max_score)}"
    failed, total = len(account.wrong(kata)), len(kata.checks) - len(account.by_hand(kata))
    if not total:
        return score
    if failed and kata.status == "passed":  # in a kata of questions most answers are enough
        text = f"{view.paint('✓', GREEN)} passes; {failed} of {total} answers are wrong"
    elif failed:
        one = failed > 1 and causes == 1
        text = f"{view.paint('✗', RED)} {failed} of {total} checks fail{', for one reason' if one else ''}"
    elif kata.parts:
        text = f"… {len([part for part in kata.parts if part.status == 'not_written'])} of {len(kata.parts)}"
        text += " parts not written"
    else:
        text = f"{view.paint('✓', GREEN)} {f'all {total} checks hold' if total > 1 else 'it holds'}"
    fits = len(f"{score}   {text}") - len(view.paint("", BOLD) + view.paint("", GREEN)) <= view.width
    return f"{score}   {text}" if fits else f"{score}\n  {text}"


def _parts(kata: KataReport, view: View) -> list[str]:
    """Return the verdicts on the parts on one line, or on more where a part would pass the width."""
    message = "   ".join(account.of_part(part).replace(" ", NO_BREAK) for part in kata.parts)
    lines = words(message, view.width, "  ")
    text = "\n".join(lines).replace(NO_BREAK, " ")
    text = text.replace("✓", view.paint("✓", GREEN)).replace("✗", view.paint("✗", RED))
    return text.splitlines()


def _causes(causes: list[Cause], view: View) -> list[str]:
    """Return the first cause with its counterexample, the next ones in short, and how many more there are."""
    lines = _cause(causes[0], view)
    others = sorted(causes[1:], key=lambda cause: not account.explanation(cause.first))
    for cause in others[: MOST_CAUSES - 1]:
        lines += ["", _title(cause.first, view), *_paragraph(account.explanation(cause.first), view, 4)]
        lines += _also(cause, view)
    left = sum(len(cause.checks) for cause in others[MOST_CAUSES - 1 :])
    return [*lines, "", f"  … and {left} more {'check' if left == 1 else 'checks'}"] if left else lines


def _cause(cause: Cause, view: View) -> list[str]:
    first = cause.first
    lines = ["", *_paragraph(account.explanation(first), view), ""] if account.explanation(first) else [""]
    guess = account.possibility(first)
    lines += [_title(first, view), *_facts(first, view), *_also(cause, view)]
    return [*lines, "", *_paragraph(guess, view)] if guess else lines


def _title(check: CheckReport, view: View) -> str:
    mark, code = MARKS.get(check.status, ("✗", RED))
    first, *others = words(check.title, view.width - 4) or [""]
    return "\n".join([f"  {view.paint(mark, code)} {first}", *(f"    {line}" for line in others)])


def _also(cause: Cause, view: View) -> list[str]:
    """Return the titles of the other checks that fail for this reason, two of them at most."""
    others = [check.title for check in cause.checks[1:]]
    if not others:
        return []
    text = " ".join(others[:2]) + (f" … and {len(others) - 2} more" if len(others) > 2 else "")
    return _labelled("also fails", text, view)


def _facts(check: CheckReport, view: View) -> list[str]:
    """Return the failing call, the line that raised, the arguments and both values."""
    lines = _labelled("", check.message, view) if account.named(check) and check.message else []
    if check.call:
        for line in check.call.splitlines():
            lines += words(line, view.width, " " * 4, " " * 8)
    if check.counterexample:
        lines += _counterexample(check.counterexample, view)
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
    return _painted(account.source_line(check.place, view.width - 4), view) if check.place else []


def _painted(lines: list[str], view: View) -> list[str]:
    """Return a line of code with the number before it in a dim colour, and the carets below it in red."""
    bars = [line.partition("│ ") for line in lines]
    painted = [view.paint(f"    {lead}{bar}", DIM) for lead, bar, _ in bars]
    return [
        lead + (view.paint(text, RED) if number else text)
        for number, (lead, (_, _, text)) in enumerate(zip(painted, bars, strict=True))
    ]


def search_lines(kata: KataReport, view: View = DEFAULT) -> list[str]:
    """Return the places that a search has found, with their lines."""
    lines = ["", *_paragraph(account.repair_text(kata), view)] if kata.repairs else []
    for repair in kata.repairs:
        lines += _painted(account.source_line(repair.place, view.width - 4), view)
    return lines


def _values(check: CheckReport, view: View) -> list[str]:
    """Return the expected and the actual value: drawn, if that shows how they differ, else as text."""
    if check.pictures:
        from grader.drawing.text import draw, tells_apart

        if tells_apart(check.pictures[0]):
            lines = draw(check.pictures[0], view.width - 4, view.paint, view.ascii_only)
            return [f"    {line}" for line in lines]
    if check.expected is None:
        return []
    lines = _rows(f"    {'expected':<10}", check.expected, view)
    lines += _rows(f"    {'got':<10}", str(check.got), view)
    where = f"{'':14}first difference at {check.difference}"
    return [*lines, where] if check.difference else lines


def _notes(kata: KataReport, view: View) -> list[str]:
    """Return the messages of checks that do not fail, each once."""
    if view.detail == "full":
        return []
    held = account.held(kata)
    waiting, partly = account.unwritten_of(kata)
    noted = dict.fromkeys(check.message for check in held if check not in [*waiting, *partly])
    noted |= dict.fromkeys([account.waiting_text(kata)])
    noted |= dict.fromkeys(check.message for check in account.by_hand(kata))
    return [line for note in noted if note for line in _labelled("note", note, view)]


def _listed(check: CheckReport, view: View) -> list[str]:
    """Return one check of a full report."""
    score = f"{points(check.score)} / {points(check.max_score)}"
    *first, last = _title(check, view).split("\n")
    room = view.width - len(score) - 2
    fits = len(last) <= room + 9 * view.colour
    lines = [*first, f"{last}  {score}"] if fits else [*first, last, f"{'':4}{score}"]
    if check.status not in account.WRONG:
        return lines + (_labelled("note", check.message, view) if check.message else [])
    return [
        *lines,
        *(_paragraph(account.explanation(check), view, 4) if account.explanation(check) else []),
        *_facts(check, view),
        *(_paragraph(account.possibility(check), view, 4) if account.possibility(check) else []),
    ]


def _paragraph(text: str, view: View, indent: int = 2) -> list[str]:
    lead = " " * indent
    return words(text, view.width, lead)


def _counterexample(arguments: dict[str, str], view: View) -> list[str]:
    """Return the arguments, long arrays row by row."""
    width = min(WIDEST, max(map(len, arguments), default=0))
    parts = [_rows(f"{'':6}{name:<{width}} = ", text, view) for name, text in arguments.items()]
    if view.detail != "full":
        types = [text.rpartition("    ")[2] if "    " in text else "" for text in arguments.values()]
        parts = [_shortened(part, FEW_ROWS, 9 + width, of) for part, of in zip(parts, types, strict=True)]
    return _shortened([row for part in parts for row in part], MOST_ROWS, 6)


def _shortened(rows: list[str], most: int, indent: int, described: str = "") -> list[str]:
    """Return the first rows and how many more there are, with the dtype and the shape of them all."""
    left = len(rows) - most + 1
    text = f"… {left} more rows    {described}".rstrip()
    return rows if left <= 1 else [*rows[: most - 1], f"{'':{indent}}{text}"]


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
    return without_commands("\n".join(lines)) + "\n"


def _word(kata: KataReport, paint: Paint) -> str:
    mark = {"passed": ("✓", GREEN), "not_started": ("·", DIM), "waiting": ("…", YELLOW)}
    return paint(*mark.get(kata.status, ("✗", RED)))


DOCUMENTS = [Document("report.txt", render)]
