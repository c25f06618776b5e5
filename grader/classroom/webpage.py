"""The page of a class in HTML: results and mistakes of each kata, groups of files, each student's points."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from statistics import mean

from grader.classroom.analytics import (
    MOST_NAMES,
    ClassStatistics,
    KataStatistics,
    SimilarFiles,
    UnexplainedFiles,
)
from grader.classroom.page_style import page
from grader.classroom.similarity import FEWEST_TOKENS
from grader.classroom.student_page import PAGES, page_name
from grader.classroom.student_reports import StudentReport
from grader.course.catalog import KataInfo
from grader.drawing import svg
from grader.drawing.statement import pictures
from grader.formats import account
from grader.formats.escaping import in_html, points
from grader.report import KataReport
from grader.values.formatting import counted

MOST_ROWS = 2000  # students on the page; the gradebooks list all students of a larger class
LONGEST = 1500  # characters of a failing check's text
LEADING = 10  # mistakes of a kata that are not folded
MOST_MAKERS = 200  # names beside a mistake
MARKS = {"passed": "p", "failed": "f", "error": "e", "not_started": "n", "waiting": "n"}
LONGEST_FILE = 6000  # characters of a file that is shown beside a similar one

SourceOf = Callable[[str, str], str]  # the source of a student's answer to a kata


class Rows:
    """The table of students; counts the students beyond MOST_ROWS."""

    def __init__(self, infos: list[KataInfo]) -> None:
        names = "".join(
            f'<th scope="col" class="kata"><span>{in_html(info.name)}</span></th>' for info in infos
        )
        self._head = (
            f'<thead><tr><th scope="col">student</th><th scope="col" class="r">points</th>'
            f'<th scope="col">section</th>{names}</tr></thead>\n'
        )
        self._rows: list[str] = []
        self.left_out = 0
        self.unrecognised: list[str] = []

    def add(self, graded: StudentReport) -> None:
        """Add a row for a student."""
        if len(self._rows) >= MOST_ROWS:
            self.left_out += 1
            return
        cells = "".join(_cell(kata, graded) for kata in graded.report.katas)
        name = link(graded.member.id, graded.member.name or graded.member.id)
        if graded.unrecognised:
            self.unrecognised.append(f"<tr><td>{name}<td>{in_html(', '.join(graded.unrecognised))}</tr>\n")
        total = "?" if graded.unknown else points(graded.report.score)
        section = f'<td class="quiet">{in_html(graded.member.section)}'
        self._rows.append(f'<tr><th scope="row">{name}</th><td class="r">{total}{section}{cells}\n')

    def table(self) -> str:
        more = f'<p class="quiet">{self.left_out} more are in the gradebooks.</p>' if self.left_out else ""
        table = f'<table class="all">{self._head}<tbody>{"".join(self._rows)}</tbody></table>'
        return f'<div class="wide" tabindex="0" role="region" aria-label="Everybody">{table}</div>{more}\n'


def link(student: str, name: str) -> str:
    """Return a link to a student's page."""
    return f'<a href="{PAGES}/{in_html(page_name(student))}">{in_html(name)}</a>'


def _cell(kata: KataReport, graded: StudentReport) -> str:
    told = "·" if kata.status == "not_started" else points(kata.score)
    late = " <small>late</small>" if kata.name in graded.late else ""
    if kata.name in graded.unknown:
        return f'<td class="e">?{late}'
    return f'<td class="{MARKS[kata.status]}">{told}{late}'


def render(
    stats: ClassStatistics,
    rows: Rows,
    heading: tuple[str, str] = ("The class", ""),
    notes: Sequence[str] = (),
    source_of: SourceOf | None = None,
    stubs: Mapping[str, bytes] | None = None,
) -> str:
    """Return the page as HTML. `heading` is the course's title and the date; `notes` are the terminal's;
    `stubs` are the files of the exercises by kata, whose examples are drawn."""
    told = f"{counted(stats.students, 'student')}, {counted(len(stats.katas), 'kata')}"
    if stats.absent_count:
        told += f"; {stats.absent_count} handed nothing in"
    katas = stats.katas.values()
    date = f'<p class="quiet">{heading[1]}</p>\n' if heading[1] else ""
    return page(
        heading[0],
        f"<h1>{in_html(heading[0])}</h1>\n{date}<p>{told}.</p>\n{_unjudged(stats)}{_notes(notes)}"
        f'<div class="wide" tabindex="0" role="region" aria-label="The katas"><table>'
        f"{KATA_HEAD}<tbody>{''.join(map(_row, katas))}</tbody></table></div>\n{_sections(stats)}"
        f"<h2>What is not understood</h2>\n{''.join(_kata(kata, stats, stubs or {}) for kata in katas)}"
        f"<h2>What no mistake explains</h2>\n{_unexplained(stats)}"
        f"<h2>The same to the token after renaming</h2>\n{_similar(stats, source_of)}"
        f"{_unrecognised(rows.unrecognised)}"
        f"<h2>Everybody</h2>\n{_absent(stats)}{rows.table()}",
    )


KATA_HEAD = (
    '<thead><tr><th scope="col">kata<th scope="col">share<th scope="col" class="r">pass'
    '<th scope="col" class="r">mean<th scope="col" class="r">median'
    '<th scope="col" class="r">middle half<th scope="col">'
    '<span class="quiet">not counted</span></tr></thead>'
)


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    lines = "".join(f"<li>{in_html(note, 400)}" for note in notes)
    return f"<details open><summary>{counted(len(notes), 'note')}</summary><ul>{lines}</ul></details>\n"


def _sections(stats: ClassStatistics) -> str:
    if not stats.sections:
        return ""
    rows = "".join(
        f'<tr><td>{in_html(name)}<td class="r">{len(totals)}'
        f'<td class="r">{points(round(mean(totals))) if totals else "·"}</tr>\n'
        for name, totals in sorted(stats.sections.items())
    )
    head = '<thead><tr><th scope="col">section<th scope="col" class="r">handed in'
    head += '<th scope="col" class="r">mean of the totals</tr></thead>'
    return f"<h2>Sections</h2>\n<table>{head}<tbody>{rows}</tbody></table>\n"


def _unjudged(stats: ClassStatistics) -> str:
    if not stats.unjudged:
        return ""
    return (
        f'<p class="note"><strong>'
        f"{counted(stats.unjudged, 'file')} could not be judged, through a fault of the grader."
        "</strong> Their cells are blank in the gradebooks, and no total is written for these students;"
        ' <a href="by_hand.csv">by_hand.csv</a> lists them. Run the same command again.</p>\n'
    )


def _row(kata: KataStatistics) -> str:
    name, passed = in_html(kata.info.name), kata.statuses["passed"]
    average = round(kata.points / kata.tried) if kata.tried else 0
    lower, median, upper = map(points, kata.quartiles)
    bar = f'<span class="share"><i style="width:{_percent(passed, kata.tried)}%"></i></span>'
    counts = {"unreadable": kata.statuses["error"], "not judged": kata.unjudged}
    unread = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    linked = f'<a href="#{name}">{name}</a>' if kata.failing else name
    return (
        f'<tr><td>{linked}<td>{bar}<td class="r">{passed} of {kata.tried} pass'
        f'<td class="r">{points(average)} / {points(kata.info.max_score)}<td class="r">{median}'
        f'<td class="r">{lower} to {upper}<td class="quiet">{unread}</tr>\n'
    )


def _example(stub: bytes | None) -> str:
    """Return what the statement of a kata prints as pictures, folded; "" if there is nothing to draw."""
    statement = ast.get_docstring(ast.parse(stub)) if stub else None
    drawings = "".join(map(svg.draw, pictures(statement or "")))
    return f"<details><summary>the statement's example</summary>{drawings}</details>\n" if drawings else ""


def _kata(kata: KataStatistics, stats: ClassStatistics, stubs: Mapping[str, bytes]) -> str:
    if not kata.failing:
        return ""
    mistakes = [_mistake(kata, name, count, stats) for name, count in kata.mistakes.most_common()]
    leading, rest = "".join(mistakes[:LEADING]), mistakes[LEADING:]
    rare = f"<details><summary>{len(rest)} rarer ones</summary><table>{''.join(rest)}</table></details>\n"
    checks = "".join(
        f"{_share(count, kata.tried)}<td>{in_html(title)}</tr>\n"
        for title, count in kata.failing.most_common()
    )
    return (
        f'<h3 id="{in_html(kata.info.name)}">{in_html(kata.info.name)}</h3>\n'
        f'<p class="quiet">{kata.statuses["failed"]} of {kata.tried} do not pass.</p>\n'
        f"{_example(stubs.get(kata.info.name))}"
        f"<table>{leading}</table>\n{rare if rest else ''}"
        f"<details><summary>the checks that fail</summary><table>{checks}</table></details>\n"
    )


def _mistake(kata: KataStatistics, name: str, count: int, stats: ClassStatistics) -> str:
    called = in_html(name.replace("_", " "))
    who = _names(kata.makers[name], count, stats, MOST_MAKERS)
    told = f"<details><summary>{called}</summary>{in_html(kata.texts[name])}<br>{who}</details>"
    return f"{_share(count, kata.tried)}<td>{told}</tr>\n"


def _share(count: int, of: int) -> str:
    percent = _percent(count, of)
    return (
        f'<tr><td class="r">{percent} %<td><span class="share missed"><i style="width:{percent}%"></i></span>'
        f'<td class="r quiet">{count}'
    )


def _percent(count: int, of: int) -> int:
    return round(100 * count / of) if of else 0


def _unexplained(stats: ClassStatistics) -> str:
    if not stats.unexplained:
        return "<p>Every failing file is explained by a known mistake.</p>\n"
    told = (
        '<p class="quiet">Files of one group compute alike: candidates for a new mistake of the kata.</p>\n'
    )
    return told + "".join(_unexplained_group(group, stats) for group in stats.unexplained)


def _unexplained_group(group: UnexplainedFiles, stats: ClassStatistics) -> str:
    head = f"{in_html(group.kata)}: {counted(group.files, 'file')}, {in_html(group.check.title)}"
    told = in_html(account.of_check(group.check), LONGEST)
    found = in_html(account.of_search(group.found), LONGEST) if group.found else ""
    place = f"<pre>{found}</pre>" if found else ""
    names = _names(group.students, group.files, stats)
    return f"<details><summary>{head}</summary><pre>{told}</pre>{place}{names}</details>\n"


def _similar(stats: ClassStatistics, source_of: SourceOf | None) -> str:
    told = (
        '<p class="quiet">The longest and rarest first. A short or usual answer is found by many on their'
        f" own: files of fewer than {FEWEST_TOKENS} tokens are not compared ({stats.short} of this class),"
        " and what the stub gave everybody does not count. That two files are the same says nothing of how"
        " that came about.</p>\n"
    )
    groups = "".join(_similar_group(group, stats, source_of) for group in stats.similar)
    return told + (groups or "<p>No two files are.</p>\n")


def _similar_group(group: SimilarFiles, stats: ClassStatistics, source_of: SourceOf | None) -> str:
    """Return a group with its first two files side by side."""
    head = f"{in_html(group.kata)}: {group.files} files, {group.tokens} tokens, {in_html(group.status)}"
    files = ""
    if source_of is not None:
        shown = [(student, source_of(student, group.kata)) for student in group.students[:2]]
        files = "".join(
            f"<div><p>{link(student, stats.names.get(student, student))}</p>"
            f"<pre>{in_html(source, LONGEST_FILE)}</pre></div>"
            for student, source in shown
        )
    names = _names(group.students, group.files, stats)
    return f'<details><summary>{head}</summary>{names}<div class="pair">{files}</div></details>\n'


def _unrecognised(rows: list[str]) -> str:
    if not rows:
        return ""
    told = (
        "<h2>Handed in, not recognised</h2>\n"
        '<p class="quiet">The names of these files say no kata, or more than one. Look at them, rename those'
        " that are answers, and run the same command again. Until then what these students lack is blank in"
        " the gradebooks.</p>\n"
    )
    return f"{told}<table>{''.join(rows)}</table>\n"


def _absent(stats: ClassStatistics) -> str:
    if not stats.absent:
        return ""
    names = _names(stats.absent, stats.absent_count, stats, len(stats.absent))
    return f"<p>Nothing was handed in by {names}.</p>\n"


def _names(students: list[str], of: int, stats: ClassStatistics, most: int = MOST_NAMES) -> str:
    shown = students[:most]
    more = f" and {of - len(shown)} more" if of > len(shown) else ""
    linked = ", ".join(link(student, stats.names.get(student, student)) for student in shown)
    return f"<small>{linked}{more}</small>"
