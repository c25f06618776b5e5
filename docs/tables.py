"""Name the column in each cell of a table, so that a phone can show a row as a list: see site.css."""

import re
from html import escape, unescape

TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def on_page_content(html, **_):
    """The hook of MkDocs for the HTML of a page's Markdown."""
    return TABLE.sub(lambda found: named(found[0]), html)


def named(table):
    """Return a table whose cells have their column's name as `data-column`."""
    columns = [unescape(TAG.sub("", head)).strip() for head in HEAD.findall(table)]

    def row(found):
        names = iter(columns)
        return re.sub(r"<td", lambda _: f'<td data-column="{escape(next(names, ""))}"', found[0])

    return ROW.sub(row, table)
