"""The statement of a kata, which is the course's, whatever a student's own docstring says."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from dojo_authoring.formulas import SHAPE, as_html
from dojo_authoring.statement import to_markdown
from grader.drawing import statement, svg

#: The elements of a statement: no link, no image, no HTML.
MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "list", "emphasis", "backticks", "escape"])
LONGEST_STATEMENT = 1 << 16  # characters of a statement that are shown
FENCED = re.compile(r"^(`{3,})text\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(<pre>.*?</pre>|<code>.*?</code>)", re.DOTALL)
CALLOUT = "<p><strong>What goes wrong:</strong>"


def rendered(text: str) -> str:
    """Return a statement as HTML: shapes stand out, formulas are set, and an example is drawn below it."""
    markdown = to_markdown(text[:LONGEST_STATEMENT])
    parts = CODE.split(MARKDOWN.render(markdown))
    blocks = iter(FENCED.findall(markdown))
    for at, part in enumerate(parts):
        if part.startswith("<pre>"):
            lines = next(blocks)[1].split("\n")
            drawn = statement.pictures("\n".join(statement.INDENT + line for line in lines))
            figures = "".join(map(svg.draw, drawn))
            parts[at] = as_html(lines)
            if figures:
                parts[at] = (
                    f'<div class="example"><div>{parts[at]}</div><div class="drawn">{figures}</div></div>'
                )
        elif not part.startswith("<code>"):
            parts[at] = SHAPE.sub(r'<code class="shape">\g<0></code>', part)
    return "".join(parts).replace(CALLOUT, CALLOUT.replace("<p>", '<p class="callout">'))
