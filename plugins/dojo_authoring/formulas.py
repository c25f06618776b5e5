"""Set the tables and the formulas of a statement, from the plain notation in which docstrings write them.

A paragraph of indented lines becomes a table if each line is an equation, or a name and what it is, perhaps
over several lines. Equations are set as MathML. Every other paragraph, such as a matrix, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

TOKEN = re.compile(
    r"(?P<gap>\s*)(?:(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[A-Za-z][A-Za-z0-9]*(?:\.[a-z]+)*)"
    r"|(?P<sub>_\{[^{}]*\}|_[A-Za-z0-9_]+)|(?P<sign>\.\.\.|<=|>=|//|[-+*/@^ᵀ'(),=<>…\[\]])|(?P<end>$))"
)
NUMBERS = re.compile(r"\[\[|\[\s*-?\d[^/]*[,\]]|\{(?!\w-)|\"|^\d")  # an example, or data
SHAPE = re.compile(r"\[(?:\.\.\.|[A-Za-z_]\w*)(?:, [\w+* /-]+)*\]")  # such as [..., Tq, d_k]
NAMES = re.compile(r"[\w.]+(?:\([\w, ]*\))?(?:, [\w.]+)*")
STRUCTURE = re.compile("<m(?:frac|sup|sub|sqrt|over|under)>")
#: Words that make a cell a sentence and not a formula.
WORDS = re.compile(
    r"\b(?:a|all|an|and|as|at|by|each|for|from|in|into|is|it|its|no|of|on|one|or|over|the|their|to|where|with)\b"
)
BEHIND = re.compile(r"(?:, [a-z]+(?: [a-z]+)+)+$")
BESIDE = re.compile(r"(?<=\s{2})[A-Za-z][\w.]*(?:\([^()]*\))?\s+= (?=\[)")  # a name beside others
ASSIGNED = re.compile(r"\S[^=\n]*\s= (?=[\[({])")  # a name, before rows
GAP = 2  # columns between them
SHORT = 18  # characters of a name that is not broken
MOST_COLUMNS = 5  # columns of a table
SIGNS = {"*": "·", "-": "\N{MINUS SIGN}", "<=": "≤", ">=": "≥", "...": "…"}
DOTS = ("…", "...")
CELL = re.compile(r"\S+(?: \S+)*")
EQUALS = re.compile(r"\s*(?:\S+(?: \S+)*)?\s+= ")
EQUAL = "<mo>=</mo>"
SYMBOLS = {"inf": "∞", "pi": "π"}
BREAK = "\0"  # in a formula: a line may end here
SPACE = '<mspace width="0.25em"/>'
OPENS = {"(": ")", "[": "]"}
DEEPEST = 20


class NoFormula(Exception):
    """A text is no formula in the notation of the statements."""


def as_html(lines: list[str]) -> str:
    """Return a block of indented lines as HTML: each paragraph as a table, or as it is written."""
    found, written = "", list[str]()
    for is_text, group in groupby(lines, key=bool):
        paragraph = list(group)
        if table := as_table(paragraph) if is_text else "":
            found += _as_written(written) + table
            written = []
        else:
            written += paragraph
    return found + _as_written(written)


def _as_written(lines: list[str]) -> str:
    """Return lines as they are written, but with room to stand below each other for what begins a name of its
    own beside others."""
    while lines and not lines[-1]:
        lines.pop()
    paragraphs = [list(group) for is_text, group in groupby(lines, key=bool) if is_text]
    if not paragraphs:
        return ""
    made = []
    for paragraph in paragraphs:
        parts = "".join(map(_part, _side_by_side(_narrowed(paragraph))))
        made.append(f'<span class="beside">{parts}</span>')
    return f"<pre>{''.join(made)}</pre>"


def _part(text: str) -> str:
    """Return lines that belong together. What follows the `=` of the first one may stand below it, if the
    other lines stand below that: so a matrix needs no more room than its rows."""
    name = ASSIGNED.match(text)
    lines = text.split("\n")
    wide = len(name[0]) if name else 0
    if name is None or any(line[:wide].strip() for line in lines[1:]):
        return f"<span>{_rows(lines)}</span>"
    rest = _rows([line[wide:] for line in lines])
    return f'<span class="assigned"><span>{escape(name[0])}</span><span>{rest}</span></span>'


def _rows(lines: list[str]) -> str:
    return "".join(f'<span class="row">{escape(line)}\n</span>' for line in lines)


def _narrowed(lines: list[str]) -> list[str]:
    """Return lines with no more than `GAP` columns between what stands below each other."""
    wide = max(map(len, lines))
    is_used = [any(line[at : at + 1].strip() for line in lines) for at in range(wide)]
    kept = [at for at in range(wide) if any(is_used[max(0, at - GAP) : at + 1]) or at < GAP]
    return ["".join(line[at : at + 1] for at in kept) for line in lines]


def _side_by_side(lines: list[str]) -> list[str]:
    """Return the parts of a paragraph that stand beside each other, if each begins with the only name that it
    has; else the paragraph."""
    cuts = [0, *(name.start() for name in BESIDE.finditer(lines[0]))]
    pieces = [
        [line[begin:end].rstrip() for line in lines]
        for begin, end in zip(cuts, [*cuts[1:], None], strict=True)
    ]
    are_apart = not any(line[cut - GAP : cut].strip() for cut in cuts[1:] for line in lines)
    have_one = not any(" = " in line for piece in pieces for line in piece[1:])
    return ["\n".join(piece).rstrip() for piece in (pieces if are_apart and have_one else [lines])]


def as_table(lines: list[str]) -> str:
    """Return a paragraph as a table in HTML; empty if it is none."""
    if not lines or any(map(NUMBERS.search, lines)):
        return ""
    is_equation = bool(EQUALS.match(lines[0]))
    try:
        rows = _equations(lines) if is_equation else _definitions(lines)
    except NoFormula:
        return ""
    return f'<div class="wide"><table class="{"formulas" if is_equation else "named"}">{rows}</table></div>'


def _equations(lines: list[str]) -> str:
    """Return a row for each equation; a line that is none goes on with the last cell."""
    rows: list[tuple[str, list[str]]] = []
    column = 0  # where the last cell begins
    for line in lines:
        left, sign, right = line.partition("=")
        cells = re.split(r"\s{2,}", right.strip())
        if sign and EQUALS.match(line):
            rows.append((left.strip(), cells))
        elif line[0] == " " and len(CELL.findall(line)) == 1 and len(line) - len(line.lstrip()) >= column:
            rows[-1][1][-1] += f" {line.strip()}"
            continue
        else:
            raise NoFormula
        column = len(line) - len(cells[-1])
    made = [_equation(left, *cells) for left, cells in rows]
    if not any(len(cells) > 1 for _, cells in rows) and not any(map(STRUCTURE.search, made)):
        raise NoFormula  # it would not become clearer
    return "".join(made)


def _equation(left: str, right: str, *rest: str) -> str:
    beside = " ".join(f"<span>{_cell(cell)}</span>" for cell in rest)
    whole = "" if rest else ' colspan="2"'
    last = f"<td>{beside}</td>" if rest else ""
    return f"<tr><td>{_side(left)}</td><td{whole}>{_side(right, EQUAL)}</td>{last}</tr>"


def _definitions(lines: list[str]) -> str:
    """Return a row for each name, with what it is in the columns of the paragraph; a line below the last cell
    of a row goes on with it."""
    found = [[(cell.start(), cell[0]) for cell in CELL.finditer(line)] for line in lines]
    columns = [start for start, _ in max(found, key=len)]
    if len(columns) > MOST_COLUMNS:
        raise NoFormula
    rows: list[dict[int, str]] = []
    for cells in found:
        starts = [start for start, _ in cells]
        if starts[0] == columns[0] and len(cells) > 1 and set(starts) <= set(columns):
            rows.append(dict(cells))
        elif rows and starts == [max(rows[-1])]:
            rows[-1][starts[0]] += f" {cells[0][1]}"
        else:
            raise NoFormula
    return "".join(_definition(*(row.get(column, "") for column in columns)) for row in rows)


def _definition(first: str, *rest: str) -> str:
    shown = first.replace(" ", "\N{NO-BREAK SPACE}") if len(first) < SHORT else first
    name = f"<code>{escape(shown)}</code>" if NAMES.fullmatch(first) else _prose(shown)
    return f"<tr><td>{name}</td>{''.join(f'<td>{_cell(cell)}</td>' for cell in rest)}</tr>"


def _side(text: str, sign: str = "") -> str:
    """Return a side of an equation after its sign: words, or a formula, perhaps with words behind it."""
    if WORDS.search(text):
        return (f"{_math(sign)} " if sign else "") + _prose(text)
    behind = BEHIND.search(text)
    formula = text[: behind.start()] if behind else text
    return (_math(sign + Formula(formula).whole()) if formula else "") + (escape(behind[0]) if behind else "")


def _cell(text: str) -> str:
    """Return what stands beside a name or an equation: a shape, a formula, or words."""
    if text.endswith(tuple("*+/-<=>(")) or text.count("(") != text.count(")"):
        raise NoFormula  # it goes on in the next cell
    sign = EQUAL if text.startswith("= ") else ""
    try:
        formula = "" if WORDS.search(text) else Formula(text.removeprefix("= ")).whole()
    except NoFormula:
        formula = ""
    is_formula = "=" in text or STRUCTURE.search(formula)
    return _math(sign + formula) if formula and is_formula and not SHAPE.search(text) else _prose(text)


def _prose(text: str) -> str:
    """Return words, with shapes, code and powers."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    marked = SHAPE.sub(r'<code class="shape">\g<0></code>', marked)
    return re.sub(r"\^(-?[\w.]+)", r"<sup>\1</sup>", marked)


def _math(inside: str) -> str:
    """Return a formula, in parts between which a line may end: browsers break no line inside one."""
    first, *others = inside.split(BREAK)
    parts = [
        first,
        *(
            part.replace("<mo>", '<mo form="infix">', 1) if part.startswith("<mo>") else part
            for part in others
        ),
    ]
    return "".join(f'<math displaystyle="true">{part}</math>' for part in parts if part)


class Formula:
    """Reads one formula, by the precedence that it has on paper: `q k^T / sqrt(d)` is a fraction. Each method
    returns MathML; raises NoFormula."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.tokens = list(_tokens(text))
        self.at, self.depth = 0, depth

    def whole(self) -> str:
        found = self._list()
        if self._kind() != "end":
            raise NoFormula
        return found

    def _kind(self) -> str:
        return self.tokens[self.at][0]

    def _text(self) -> str:
        return self.tokens[self.at][1]

    def _is_apart(self) -> bool:
        return self.tokens[self.at][2]

    def _take(self, *signs: str) -> str:
        """Take the next token if it is one of these signs, and return it; else an empty text."""
        kind, text, _ = self.tokens[self.at]
        if kind != "sign" or text not in signs:
            return ""
        self.at += 1
        return text

    def _list(self) -> str:
        found = self._relation()
        while self._take(","):
            found += f"<mo>,</mo>{SPACE}{self._break()}{self._relation()}"
        return found

    def _relation(self) -> str:
        found = self._sum()
        while sign := self._take("=", "<", ">", "<=", ">=", *DOTS):
            found += f"{self._break()}<mo>{escape(SIGNS.get(sign, sign))}</mo>{self._sum()}"
        return found

    def _sum(self) -> str:
        found = f"<mo>{SIGNS['-']}</mo>" if self._take("-") else ""
        found += self._term()
        while sign := self._take("+", "-"):
            found += f"{self._break()}<mo>{SIGNS.get(sign, sign)}</mo>{self._term()}"
        return found

    def _break(self) -> str:
        """Return a mark where a line may end, which is nowhere inside brackets."""
        return "" if self.depth else BREAK

    def _term(self) -> str:
        """Return a product; what stands before a `/` is above the line."""
        found = self._factors()
        while sign := self._take("*", "/", "//", "@"):
            right = self._factors()
            if sign == "/":
                found = f"<mfrac>{_row_of(_bare(found))}{_row_of(_bare(right))}</mfrac>".replace(BREAK, "")
            else:
                found = f"{found}{self._break()}<mo>{SIGNS.get(sign, sign)}</mo>{right}"
        return found

    def _factors(self) -> str:
        """Return factors without a sign between them, such as `q kᵀ`, `2i` or `sum_j exp(x_j)`."""
        found = self._power()
        while self._kind() in ("number", "name") or (self._text() in ("(", "[") and self._is_apart()):
            space = SPACE if self._is_apart() else ""
            found += space + self._power()
        return found

    def _power(self) -> str:
        found = self._postfixed()
        while sign := self._take("^", "ᵀ", "'"):
            if sign == "^" and self._text() != "T":
                minus = f"<mo>{SIGNS['-']}</mo>" if self._take("-") else ""
                found = f"<msup>{_row_of(found)}{_row_of(minus + _bare(self._postfixed()))}</msup>"
            else:
                self.at += sign == "^"
                above = "<mo>\N{PRIME}</mo>" if sign == "'" else "<mi>T</mi>"
                found = f"<msup>{_row_of(found)}{above}</msup>"
        return found

    def _postfixed(self) -> str:
        """Return a value with what is written close to it: a call, an index, a subscript."""
        name = self._text() if self._kind() == "name" else ""
        found = self._primary()
        while not self._is_apart():
            if self._kind() == "sub":
                found = self._with_sub(found, name)
            elif self._text() in ("(", "["):
                inside = self._primary()
                found = f"<msqrt>{_bare(inside)}</msqrt>" if name == "sqrt" else found + inside
            else:
                break
            name = ""
        return found

    def _with_sub(self, found: str, name: str) -> str:
        """Return a value with its subscript, or a name of Python as it is, unless one of both is a letter."""
        below = self._text()[1:]
        self.at += 1
        if name == "sum" and len(below) == 1:
            return f"<munder><mo>∑</mo><mi>{escape(below)}</mi></munder>"
        if below == "hat":
            return f'<mover accent="true">{found}<mo>^</mo></mover>'
        if below.startswith("{"):
            return f"<msub>{_row_of(found)}{_row_of(Formula(below[1:-1], self.depth + 1).whole())}</msub>"
        if name and len(name) > 1 and len(below) > 1:
            return f"<mi>{name}_{escape(below)}</mi>"
        index = f"<mi>{escape(below)}</mi>"
        if len(below) > 1 and self._text() == "(" and not self._is_apart():
            index += self._primary()  # such as k_group(h)
        return f"<msub>{_row_of(found)}{_row_of(index)}</msub>"

    def _primary(self) -> str:
        kind, text, _ = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return f"<mn>{text}</mn>"
        if kind == "name":
            letter = re.fullmatch(r"([A-Za-z])(\d+)", text)
            if letter:
                return f"<msub><mi>{letter[1]}</mi><mn>{letter[2]}</mn></msub>"
            return f"<mi>{SYMBOLS.get(text, text)}</mi>"
        if text in DOTS:
            return "<mo>…</mo>"
        if kind == "sign" and text in OPENS and self.depth < DEEPEST:
            self.depth += 1
            inside = "" if self._text() == OPENS[text] else self._list()
            if not self._take(OPENS[text]):
                raise NoFormula
            self.depth -= 1
            return f"<mrow><mo>{text}</mo>{inside}<mo>{OPENS[text]}</mo></mrow>"
        raise NoFormula


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the kind of each token, its text, and whether it stands apart from the one before."""
    at = 0
    while True:
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NoFormula
        yield found.lastgroup, found[found.lastgroup], bool(found["gap"])
        if found.lastgroup == "end":
            return
        at = found.end()


def _bare(mathml: str) -> str:
    """Return what stands inside one pair of round brackets, or everything."""
    begin, end = "<mrow><mo>(</mo>", "<mo>)</mo></mrow>"
    inside = mathml.removeprefix(begin).removesuffix(end)
    is_one = mathml.startswith(begin) and mathml.endswith(end) and _is_closed(inside)
    return inside if is_one else mathml


def _is_closed(mathml: str) -> bool:
    """Return whether no row ends that did not begin here."""
    depth = 0
    for tag in re.findall("</?mrow>", mathml):
        depth += -1 if tag.startswith("</") else 1
        if depth < 0:
            return False
    return True


def _row_of(mathml: str) -> str:
    return f"<mrow>{mathml}</mrow>"
