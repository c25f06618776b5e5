"""The page of a class in HTML: results and mistakes of each kata, groups of files, each student's points.

The page has no scripts, loads nothing and can be read without styles.
"""

from __future__ import annotations

from grader.classroom.analytics import (
    MOST_NAMES,
    ClassStatistics,
    KataStatistics,
    SimilarFiles,
    UnexplainedFiles,
)
from grader.classroom.similarity import FEWEST_TOKENS
from grader.classroom.student_reports import StudentReport
from grader.course.catalog import KataInfo
from grader.formats import account
from grader.formats.escaping import in_html, points
from grader.report import KataReport
from grader.values.formatting import counted

MOST_ROWS = 2000  # students on the page; the gradebooks list all students of a larger class
LONGEST = 1500  # characters of a failing check's text
LEADING = 10  # mistakes of a kata that are not folded
MARKS = {"passed": "p", "failed": "f", "error": "e", "not_started": "n", "waiting": "n"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1b1b1b; background: #fff; } h1 { margin-bottom: 0; } h3 { margin: 1.6rem 0 .3rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; } table { border-collapse: collapse; }
td, th { padding: .15rem .7rem .15rem 0; text-align: left; vertical-align: top; }
.r { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar, .share { display: inline-block; width: 12rem; background: #e6e6e6; } .share { width: 6rem; }
.bar i, .share i { display: block; height: .8rem; background: #2f7d4f; } .share i { background: #b5482f; }
pre { overflow-x: auto; background: #f4f4f4; padding: .6rem .8rem; font-size: .85rem; }
small, .quiet { color: #666; } .all { font-size: .85rem; }
.all th { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal; padding: 0 .2rem; }
.all th.who { writing-mode: initial; transform: none; vertical-align: bottom; }
.all td { padding: .05rem .5rem; border-top: 1px solid #eee; }
.p, .f, .e, .n { text-align: right; font-variant-numeric: tabular-nums; }
.p { background: #e3f2e8; } .f { background: #fdeeea; } .e { background: #fdf3d8; } .n { color: #999; }
"""


class Rows:
    """The table of students; counts the students beyond MOST_ROWS."""

    def __init__(self, infos: list[KataInfo]) -> None:
        names = "".join(f"<th>{in_html(info.name)}</th>" for info in infos)
        self._head = f'<tr><th class="who">student</th><th class="who r">points</th>{names}</tr>\n'
        self._rows: list[str] = []
        self.left_out = 0
        self.unrecognised: list[str] = []

    def add(self, graded: StudentReport, page: str) -> None:
        """Add a row for a student; `page` is the link to their page."""
        if len(self._rows) >= MOST_ROWS:
            self.left_out += 1
            return
        cells = "".join(_cell(kata, graded) for kata in graded.report.katas)
        name = in_html(graded.member.name or graded.member.id)
        if graded.unrecognised:
            self.unrecognised.append(f"<tr><td>{name}<td>{in_html(', '.join(graded.unrecognised))}</tr>\n")
        total = "?" if graded.unknown else points(graded.report.score)
        self._rows.append(f'<tr><td><a href="{in_html(page)}">{name}</a><td class="r">{total}{cells}\n')

    def table(self) -> str:
        more = f'<p class="quiet">{self.left_out} more are in the gradebooks.</p>' if self.left_out else ""
        return f'<table class="all">{self._head}{"".join(self._rows)}</table>{more}\n'


def _cell(kata: KataReport, graded: StudentReport) -> str:
    told = "·" if kata.status == "not_started" else points(kata.score)
    late = " <small>late</small>" if kata.name in graded.late else ""
    if kata.name in graded.unknown:
        return f'<td class="e">?{late}'
    return f'<td class="{MARKS[kata.status]}">{told}{late}'


def render(stats: ClassStatistics, rows: Rows) -> str:
    """Return the page as HTML."""
    told = f"{counted(stats.students, 'student')}, {counted(len(stats.katas), 'kata')}"
    if stats.absent_count:
        told += f"; {stats.absent_count} handed nothing in"
    katas = stats.katas.values()
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        f" 'unsafe-inline'\"><title>The class</title><style>{STYLE}</style></head>\n"
        f"<body><h1>The class</h1>\n<p>{told}.</p>\n{_unjudged(stats)}"
        f"<table>{''.join(map(_row, katas))}</table>\n"
        f"<h2>What is not understood</h2>\n{''.join(map(_kata, katas))}"
        f"<h2>What no mistake explains</h2>\n{_unexplained(stats.unexplained)}"
        f"<h2>The same to the token after renaming</h2>\n{_similar(stats)}"
        f"{_unrecognised(rows.unrecognised)}"
        f"<h2>Everybody</h2>\n{_absent(stats)}{rows.table()}</body></html>\n"
    )


def _unjudged(stats: ClassStatistics) -> str:
    if not stats.unjudged:
        return ""
    return (
        f"<p><strong>{counted(stats.unjudged, 'file')} could not be judged, through a fault of the grader."
        "</strong> Their cells are blank in the gradebooks, and no total is written for these students;"
        ' <a href="by_hand.csv">by_hand.csv</a> lists them. Run the same command again.</p>\n'
    )


def _row(kata: KataStatistics) -> str:
    name, passed = in_html(kata.info.name), kata.statuses["passed"]
    mean = round(kata.points / kata.tried) if kata.tried else 0
    bar = f'<span class="bar"><i style="width:{_percent(passed, kata.tried)}%"></i></span>'
    counts = {"unreadable": kata.statuses["error"], "not judged": kata.unjudged}
    unread = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return (
        f'<tr><td><a href="#{name}">{name}</a><td>{bar}<td class="r">{passed} of {kata.tried} pass'
        f'<td class="r">mean {points(mean)} / {points(kata.info.max_score)}'
        f'<td class="quiet">{unread}</tr>\n'
    )


def _kata(kata: KataStatistics) -> str:
    if not kata.failing:
        return ""
    mistakes = [_mistake(kata, name, count) for name, count in kata.mistakes.most_common()]
    leading, rest = "".join(mistakes[:LEADING]), mistakes[LEADING:]
    rare = f"<details><summary>{len(rest)} rarer ones</summary><table>{''.join(rest)}</table></details>\n"
    checks = "".join(
        f"{_share(count, kata.tried)}<td>{in_html(title)}</tr>\n"
        for title, count in kata.failing.most_common()
    )
    return (
        f'<h3 id="{in_html(kata.info.name)}">{in_html(kata.info.name)}</h3>\n'
        f'<p class="quiet">{kata.statuses["failed"]} of {kata.tried} do not pass.</p>\n'
        f"<table>{leading}</table>\n{rare if rest else ''}"
        f"<details><summary>the checks that fail</summary><table>{checks}</table></details>\n"
    )


def _mistake(kata: KataStatistics, name: str, count: int) -> str:
    called = in_html(name.replace("_", " "))
    told = f"<details><summary>{called}</summary>{in_html(kata.texts[name])}</details>"
    return f"{_share(count, kata.tried)}<td>{told}</tr>\n"


def _share(count: int, of: int) -> str:
    percent = _percent(count, of)
    return (
        f'<tr><td class="r">{percent} %<td><span class="share"><i style="width:{percent}%"></i></span>'
        f'<td class="r quiet">{count}'
    )


def _percent(count: int, of: int) -> int:
    return round(100 * count / of) if of else 0


def _unexplained(groups: list[UnexplainedFiles]) -> str:
    if not groups:
        return "<p>Every failing file is explained by a known mistake.</p>\n"
    told = (
        '<p class="quiet">Files of one group compute alike: candidates for a new mistake of the kata.</p>\n'
    )
    return told + "".join(map(_unexplained_group, groups))


def _unexplained_group(group: UnexplainedFiles) -> str:
    head = f"{in_html(group.kata)}: {counted(group.files, 'file')}, {in_html(group.check.title)}"
    told = in_html(account.of_check(group.check), LONGEST)
    names = _names(group.students, group.files)
    return f"<details><summary>{head}</summary><pre>{told}</pre>{names}</details>\n"


def _similar(stats: ClassStatistics) -> str:
    told = (
        '<p class="quiet">The longest and rarest first. A short or usual answer is found by many on their'
        f" own: files of fewer than {FEWEST_TOKENS} tokens are not compared ({stats.short} of this class),"
        " and what the stub gave everybody does not count. That two files are the same says nothing of how"
        " that came about.</p>\n"
    )
    rows = "".join(map(_similar_row, stats.similar))
    return told + (f"<table>{rows}</table>\n" if rows else "<p>No two files are.</p>\n")


def _similar_row(group: SimilarFiles) -> str:
    told = f'{in_html(group.kata)}<td class="r">{group.tokens} tokens<td>{in_html(group.status)}'
    return f"<tr><td>{told}<td>{_names(group.students, group.files)}</tr>\n"


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
    return f"<p>Nothing was handed in by {_names(stats.absent, stats.absent_count, len(stats.absent))}.</p>\n"


def _names(students: list[str], of: int, most: int = MOST_NAMES) -> str:
    more = f" and {of - most} more" if of > most else ""
    return f"<small>{in_html(', '.join(students[:most]))}{more}</small>"
