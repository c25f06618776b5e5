"""The documentation: links, options, paths, targets, figures and samples are right."""

import ast
import importlib.util
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader import __version__, formats
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.course.catalog import Course
from grader.course.general_mistakes import GENERAL

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ |\.venv/bin/)?((?:grade|kata)(?: .*)?)$", re.MULTILINE)
OPTION = re.compile(r"--[a-z][a-z0-9-]*")
FOLDERS = ("benchmarks/", "docs/", "exercises/", "grader/", "plugins/", "solutions/", "tests/")
PLACEHOLDER = re.compile(r"[<…*: ]|NAME")
COMMENT = re.compile(r"  +\S.*$")

#: Commands of the package that docs/extending.md shows.
OF_THE_EXAMPLE = ("titles",)
COMMANDS_OF_GRADE, COMMANDS_OF_KATA = (
    {name: group.own_command(name) for name in group.own_commands()} for group in (grade, kata)
)

#: Options of other programs that the pages name.
OF_OTHERS = {"--student": "pytest", "--strict": "mypy and mkdocs", "--score": "%grade", "--help": "click"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def text_of(page):
    return page.read_text(encoding="utf-8")


@cache
def prose_of(page):
    """The page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def slug(heading):
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page):
    return {slug(heading) for heading in HEADING.findall(prose_of(page))}


def broken(page, link):
    """What is wrong with a relative link of a page, or nothing."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading"
    if DOCS in page.parents and target != DOCS and DOCS not in target.parents:
        return f"{link}: outside docs/, where the site has no page"
    return ""


@every_page
def test_every_relative_link_resolves(page):
    links = [link for link in LINK.findall(prose_of(page)) if "://" not in link]
    assert [fault for link in links if (fault := broken(page, link))] == []


@pytest.mark.parametrize("link", ["nowhere.md", "isolation.md#nowhere", "../README.md"])
def test_a_broken_link_is_seen(link):
    assert broken(DOCS / "index.md", link)


def test_the_index_links_to_every_page():
    linked = {(DOCS / link).resolve() for link in LINK.findall(text_of(DOCS / "index.md"))}
    assert set(DOCS.rglob("*.md")) - linked - {DOCS / "index.md"} == set()


NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
FROM_AN_INDEX = re.compile(r"pip install [^\n`]*(?<![\w/'.-])decoder-dojo(?![\w\[.-])")
WHEEL = re.compile(r"/v([\d.]+)/decoder_dojo-([\d.]+)-py3")


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_no_page_installs_from_an_index(page):
    """The package is on none: whoever has its name there is a stranger."""
    assert FROM_AN_INDEX.findall(text_of(page)) == []
    assert {version for versions in WHEEL.findall(text_of(page)) for version in versions} <= {__version__}


EXTRA = re.compile(r"pip install .*decoder-dojo\[")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_that_installs_an_extra_links_to_how_the_grader_is_installed(page):
    """Without the grader, the name of an extra finds nothing: no index has the package."""
    text = text_of(page)
    assert page.name in ("install.md", "CHANGELOG.md") or not EXTRA.search(text) or "(install.md" in text


def test_the_readme_says_how_many_katas_need_no_pytorch():
    libraries = [info.library for info in Course(ROOT).katas.values()]
    first, all_ = libraries.index("torch"), libraries.count("numpy")
    assert f"The first {first} katas, and {all_} of all, need no PyTorch" in text_of(ROOT / "README.md")
    assert f"The first {first} katas need NumPy alone." in text_of(DOCS / "first-hour.md")


@pytest.mark.parametrize("line", ["pip install decoder-dojo", "pip install --upgrade decoder-dojo # now"])
def test_an_installation_from_an_index_is_seen(line):
    assert FROM_AN_INDEX.search(line)


def test_the_address_of_the_repository_is_that_of_pyproject():
    """`project.urls.Repository`, once there is one. Then the badge opens the notebook in Colab."""
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    address = project.get("urls", {}).get("Repository", "https://…")
    assert f"REPOSITORY={address} " in text_of(DOCS / "install.md")
    assert f'REPOSITORY = \\"{address}\\"' in text_of(DOCS / "notebooks" / "colab.ipynb")
    opened = "docs/notebooks.md#colab-and-kaggle"
    if address.startswith("https://github.com/"):
        name = address.removeprefix("https://github.com/")
        opened = f"https://colab.research.google.com/github/{name}/blob/main/docs/notebooks/colab.ipynb"
    assert f"(docs/images/colab.svg)]({opened})" in text_of(ROOT / "README.md")


def commands_in(page):
    """Every call of `grade` and `kata` on a page: in code spans, and at the beginning of a block's lines."""
    spans = [span for span in SPAN.findall(prose_of(page)) if span.split()[0] in ("grade", "kata")]
    blocks = [line for _, block in FENCE.findall(text_of(page)) for line in COMMAND.findall(block)]
    return spans + [COMMENT.sub("", line).split(" | ")[0] for line in blocks]


def options_of(command):
    return {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}


def unknown(line):
    """What a call names that the commands do not have, or nothing."""
    words = shlex.split(line.replace("…", "").replace("'", ""), comments=True)
    command, arguments = (grade, words[1:]) if words[0] == "grade" else (kata, words[1:])
    if command is grade and arguments and arguments[0] in COMMANDS_OF_GRADE:
        command, arguments = COMMANDS_OF_GRADE[arguments[0]], arguments[1:]
    if command is kata and arguments and not arguments[0].startswith("-"):
        if arguments[0] in OF_THE_EXAMPLE:
            return ""
        if arguments[0] not in COMMANDS_OF_KATA:
            return f"kata {arguments[0]}"
        command, arguments = COMMANDS_OF_KATA[arguments[0]], arguments[1:]
    named = {word.partition("=")[0] for word in arguments if word.startswith("-")} - {"--"}
    return ", ".join(sorted(named - options_of(command)))


@every_page
def test_every_command_has_the_options_that_the_page_gives_it(page):
    assert {line: fault for line in commands_in(page) if (fault := unknown(line))} == {}


@pytest.mark.parametrize(
    "line", ["grade softmax --fast", "grade list --text", "kata judge", "kata key --roster x.csv"]
)
def test_an_option_that_does_not_exist_is_seen(line):
    assert unknown(line)


@every_page
def test_every_option_that_a_page_names_alone_exists(page):
    spans = [span for span in SPAN.findall(prose_of(page)) if span.startswith("--")]
    named = {option for span in spans for option in OPTION.findall(span)}
    known = set().union(*map(options_of, [grade, *COMMANDS_OF_GRADE.values(), *COMMANDS_OF_KATA.values()]))
    assert named - known - set(OF_OTHERS) == set()


@pytest.mark.parametrize("command", [grade, *COMMANDS_OF_KATA.values()], ids=lambda command: command.name)
def test_the_reference_names_every_command_and_every_option_of_grade(command):
    page = text_of(DOCS / "reference" / "commands.md")
    if command is not grade:
        assert f"`kata {command.name}" in page
        return
    named = set(OPTION.findall(page))
    options = {max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}
    assert options - named == set()
    assert [name for name in COMMANDS_OF_GRADE if f"`grade {name}" not in page and name != "help"] == []


@every_page
def test_every_file_that_a_page_names_exists(page):
    spans = [span for span in SPAN.findall(prose_of(page)) if span.startswith(FOLDERS)]
    written = re.findall(r"^`([^`\n]+)`:$", text_of(page), re.MULTILINE)  # by the reader
    paths = [span for span in spans if not PLACEHOLDER.search(span) and span not in written]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@every_page
def test_every_module_that_a_page_names_exists(page):
    """Modules by their place in the package: `worker/student.py`."""
    packages = {path.name for path in (ROOT / "grader").iterdir() if path.is_dir()}
    spans = [s for s in SPAN.findall(prose_of(page)) if s.endswith(".py") and s.split("/")[0] in packages]
    assert [span for span in spans if not (ROOT / "grader" / span).is_file()] == []


@every_page
def test_every_target_of_make_that_a_page_names_exists(page):
    targets = set(re.findall(r"^([\w-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = {span.split()[1] for span in SPAN.findall(prose_of(page)) if re.match(r"make [a-z]", span)}
    assert named - targets == set()


def test_every_format_has_its_files_in_the_reference():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text_of(DOCS / "reference" / "formats.md"), re.MULTILINE)
    assert {name: SPAN.findall(files) for name, files in rows} == {
        name: [document.file for document in formats.documents(name)] for name in formats.NAMES
    }


def numbers(*rows):
    return [f"{sum(int(row[column]) for row in rows):,}" for column in range(len(rows[0]))]


def test_the_figures_of_the_readme_are_those_of_the_tables():
    readme, row = text_of(ROOT / "README.md"), r"^\| `\w+` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|"
    katas = re.findall(row, text_of(DOCS / "katas.md"), re.MULTILINE)
    _, _, mistakes, variants = numbers(*katas)
    assert f"in {len(katas)} katas" in readme
    assert f"know {mistakes} wrong answers of their own, and {len(GENERAL)} general ones" in readme
    assert f"{variants} variants" in readme
    strength = r"^\| `\w+` \| (\d+) \| (\d+) \| [^|]* \| (\d+) \|"
    mutants, caught, right = numbers(*re.findall(strength, text_of(DOCS / "strength.md"), re.MULTILINE))
    assert f"Of {mutants} mutants" in readme
    assert f"catch {caught}; the other {right} compute" in " ".join(readme.split())


SAMPLES = {
    "docs/first-hour.md": (
        "softmax",
        "def softmax(x, axis=-1):\n    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)\n",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", SAMPLES)
def test_a_sample_of_a_report_is_what_grade_prints(page, tmp_path):
    """Line by line, in order; `…` stands for lines that are left out."""
    name, code = SAMPLES[page]
    file = tmp_path / f"{name}.py"
    file.write_text(f"import numpy as np\n\n\n{code}")
    printed = (
        CliRunner().invoke(grade, [name, "--file", str(file), "--course", str(ROOT)]).output.splitlines()
    )
    sample = next(block for _, block in FENCE.findall(text_of(ROOT / page)) if "✗" in block)
    lines = [line for line in sample.splitlines() if not line.startswith("$ ") and line.strip() != "…"]
    rest = iter(printed)
    assert [line for line in lines if line not in rest] == []


def names_in(file):
    """The functions and classes of a module, and their methods as `Class.method`."""
    tree = ast.parse((ROOT / "grader" / file).read_text(encoding="utf-8"))
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    methods = {
        f"{name}.{inner.name}"
        for name, node in found.items()
        for inner in node.body
        if isinstance(inner, ast.FunctionDef)
    }
    return found.keys() | methods


def test_every_function_that_the_architecture_names_exists():
    named = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", prose_of(DOCS / "architecture.md"))
    assert [f"{file} {name}" for file, name in named if name not in names_in(file)] == []


def test_the_walk_has_a_function_for_each_of_its_twelve_stops():
    rows = re.findall(r"^\| (\d+) \w+ \|([^|]*)\|", prose_of(DOCS / "architecture.md"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == [*range(1, 13)]
    assert all(re.search(r"`[\w/]+\.py` `[\w.]+`", functions) for _, functions in rows)


def test_each_cell_of_a_table_has_the_name_of_its_column():
    """So that a phone shows a row as a list."""
    found = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
    tables = importlib.util.module_from_spec(found)
    found.loader.exec_module(tables)
    head = '<thead>\n<tr>\n<th>kata</th>\n<th style="x"><code>a</code> &amp; b</th>\n</tr>\n</thead>'
    html = f'<p>td</p>\n<table>\n{head}\n<tr>\n<td>softmax</td>\n<td style="x">1</td>\n</tr>\n</table>'
    shown = tables.on_page_content(html, page=None)
    assert '<td data-column="kata">softmax</td>\n<td data-column="a &amp; b" style="x">1</td>' in shown
    assert shown.startswith(f"<p>td</p>\n<table>\n{head}\n")
