"""Fill the templates of pages by Jinja2, which escapes every value; a text is also made harmless and cut.

Markup is only what the project writes itself: templates, styles, scripts and pictures.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.drawing import svg
from grader.formats import account
from grader.formats.account import LONGEST_TEXT
from grader.report import Picture
from grader.texts.escaping import plain
from grader.texts.points import points
from grader.texts.wrapping import code_lines

TEMPLATES = Path(__file__).parent / "templates"
DRAWN = ("colours.css", "drawings.css")  # what pictures need, on other pages too
STYLES = (*DRAWN, "page.css")  # of every page


def fill(template: Path, **values: object) -> str:
    """Return what the template makes of the values. It may use those of TEMPLATES and those beside it."""
    return _environment(template.parent).get_template(template.name).render(values)


def page(template: Path, title: str, style: str = "", script: str = "", **values: object) -> str:
    """Return a whole page. It loads nothing and runs nothing but the script beside the template, if any, and
    `script`, which follows it."""
    return fill(template, title=title, **_own_parts(template, style, script), **values)


def style_of(*names: str) -> str:
    """Return these style sheets as one."""
    return "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


@cache
def _own_parts(template: Path, style: str, script: str) -> dict[str, Markup]:
    """Return the style, the script and a policy that allows these two alone."""
    style = style_of(*STYLES) + _beside(template, ".css") + style
    script = _beside(template, ".js") + script
    allowed = f" script-src {_digest(script)};" if script else ""
    policy = f"default-src 'none'; style-src {_digest(style)};{allowed} base-uri 'none'; form-action 'none'"
    return {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}


def _beside(template: Path, suffix: str) -> str:
    file = template.with_suffix(suffix)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {"points": points, "cut": plain, "code_lines": code_lines, "by_rows": _by_rows}
    environment.filters |= {"figure": _figure, "images": images}
    environment.globals |= {"account": account}
    return environment


def _harmless(value: object) -> object:
    """Return what Jinja2 then escapes, unless it is markup."""
    return plain(value, LONGEST_TEXT) if isinstance(value, str) and not isinstance(value, Markup) else value


def _by_rows(text: str) -> str:
    """Return the text with a line for each row of a nested array."""
    return plain(text, LONGEST_TEXT).replace("], [", "],\n [")


def _figure(picture: Picture) -> Markup:
    return Markup(svg.draw(picture))


def images(picture: Picture) -> Markup:
    """Return the picture as elements `img` that load nothing, for a notebook, which removes SVG from what it
    does not trust. They are on white paper, as they cannot learn of its theme."""
    style = f"<style>{style_of(*DRAWN)}svg {{ color-scheme: light; background: #fff; }}</style>"
    made = []
    for title, drawing in svg.drawings(picture):
        file = drawing.replace(">", f' xmlns="http://www.w3.org/2000/svg">{style}', 1)
        data = base64.b64encode(file.encode()).decode()
        made.append(f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">')
    return Markup(" ".join(made))
