"""The commands of the README and of every page: each runs in a fresh clone, or stands in EXCEPTIONS.

Four pages install the grader, on a machine that has Python, Git and make; the others run with this one. Pages
that other tests follow, files and outputs included, are left to them.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dojo_authoring import renaming
from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {page.stem: page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]}
#: Pages that test_guide.py or, the last one, test_in_torch.py follows.
FOLLOWED = ("first-course", "module-kata", "chance-kata", "importing", "audit", "concepts", "libraries")

#: The beginnings of commands that are not run, with the reason.
EXCEPTIONS = {
    "make page": "serves until it is ended; test_page_browser.py opens the page",
    "kata site": "needs a network; test_site.py builds sites",
    "python -m http.server": "serves until it is ended",
    "make release-check": "takes minutes; a tag runs it",
    "make test-every": "takes an hour",
    "uvx --from": "needs uv, and a release that is published",
    "git tag": "publishes",
    "git push": "publishes",
    "REPOSITORY=": "needs the address of a release; GIVEN installs the clone's own wheel",
    'pip install "$REPOSITORY': "the same",
    "pip install 'decoder-dojo[page]": "needs a network; test_page_browser.py uses what it installs",
    "pip install jupyter-server-proxy": "needs a network",
    "kata notebooks": "needs nbgrader and its exchange; test_nbgrader_round.py runs the round",
    "cd course": "the same",
    "nbgrader": "the same",
    "grade speak --": "takes half a minute each; test_speak.py takes each option",
    "grade attention.ipynb --watch": "waits for a file to be saved",
    "kata regrade ada softmax --as-of": "names a day on which nothing was graded; test_regrade.py",
    "docker": "needs Docker; test_containers.py compares the arguments with the Containerfile",
    "gh ": "needs an account",
    "bash ../class/.github/update.sh": "needs students' repositories; test_release.py runs the script",
    "kata override ada softmax_questions": "names a kata of another page's course; test_override.py",
    "kata override --csv filled.csv": "the same",
    "grade review": "asks its reader; test_review.py answers",
    "grade puzzle": "comes after hints and a try; tests/plugins/puzzle answers",
    "grade probe": "needs a kata that has passed; test_probe.py probes one",
    "grade laws": "needs a kata that has passed; test_student_laws.py writes laws",
    "kata mistakes": "judges for a minute, and writes into the course; test_drafting.py runs it",
    "python -m dojo_authoring.drafted_mistakes.table": "takes minutes; test_drafting.py counts",
    "code --install-extension": "needs VS Code; test_lsp.py packages the extension",
    "pip install 'mcp": "needs a network; test_tutor.py uses what it installs",
    "claude": "needs Claude Code",
    "sudo": "changes the machine",
    "exercises/": "is shown by an editor",
    "grade: 0": "is shown by an editor",
    ":": "is typed in Vim",
}

#: Pages that install the grader. They are followed in this order in one clone, so that it is installed once.
INSTALLING = ("README", "index", "first-hour", "class-in-fifteen-minutes", "install")

SOLVE = "solve() { cp solutions/$1/reference.py exercises/$1.py; }\n"
VI = "vi() { name=${1#exercises/}; cp solutions/${name%.py}/reference.py $1; }\n"
CLASS = """
printf 'id,name\\nada,Ada\\nbob,Bob\\n' > class.csv
mkdir -p {0}/ada {0}/bob
cp solutions/attention/softmax/reference.py {0}/ada/softmax.py
echo 'def softmax(x, axis=-1): return x' > {0}/bob/softmax.py
"""
SPEAKING = """
for kata in token_embedding causal_mask multi_head_attention; do solve attention/$kata; done
for kata in layer_norm feed_forward next_token; do solve blocks/$kata; done
"""

#: What the reader of a page has at hand.
GIVEN = {
    "class-in-fifteen-minutes": CLASS.format("handed-in")
    + "echo 'def softmax(x, axis=-1): return x' > exercises/attention/softmax.py\n",
    "grading-a-class": CLASS.format("SUBMISSIONS")
    + "printf 'student,kata,points,why\\nbob,softmax,4,Half of it.\\n' > many.csv\n",
    "install": ".venv/bin/kata wheel dist softmax && python3 -m venv ../other\n"
    "source ../other/bin/activate && pip install --quiet dist/*.whl && cd ..\n",
    "notebooks": "cp docs/notebooks/colab.ipynb attention.ipynb\n",
    "see": "solve attention/softmax\n",
    "speak": SPEAKING,
}
#: Pages with commands on all katas: their clone has few.
FEW = {"answer-keys": "softmax top_p", "hosts": "softmax top_p", "formats": "softmax top_p"}

#: Pages whose commands take minutes: they are run before a release alone.
MINUTES = ("answer-keys", "hosts", "speak")

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
DONE = re.compile(r"^@@ (\d+)$", re.MULTILINE)


def steps_of(block):
    """The commands of a block with what is printed below each; each line is one if none begins with `$ `."""
    if not block.startswith("$ "):
        return [(line, []) for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line.removeprefix("$ "), []))
        else:
            steps[-1][1].append(line)
    return steps


def steps_on(page):
    """All commands of a page. What is no command is in a block with a language: `text`, `python`."""
    blocks = [block for kind, block in FENCE.findall(page.read_text("utf-8")) if kind in ("", "console")]
    return [(command.strip(), told) for block in blocks for command, told in steps_of(block)]


def reason(command):
    return next((why for start, why in EXCEPTIONS.items() if command.startswith(start)), "")


every_page = pytest.mark.parametrize("name", PAGES)
#: Pages with a command that is to be run here.
RUN = [
    name
    for name, page in PAGES.items()
    if name not in FOLLOWED and any(not reason(command) for command, _ in steps_on(page))
]


def parsed(words):
    """Parse a call of `grade` or `kata`. Raises click.UsageError."""
    command, arguments = (grade, words[1:]) if words[0] == "grade" else (kata, words[1:])
    context = click.Context(command)
    if command is grade and arguments and arguments[0] in grade.own_commands():
        command, arguments = grade.get_command(context, arguments[0]), arguments[1:]
    elif command is kata and arguments and not arguments[0].startswith("-"):
        if arguments[0] not in kata.own_commands():
            raise click.UsageError(f"no such command: kata {arguments[0]}")
        command, arguments = kata.own_command(arguments[0]), arguments[1:]
    context = click.Context(command, info_name=" ".join(words[:2]))
    context.allow_interspersed_args = True  # `grade` sets it where it grades
    options, left, _ = command.make_parser(context).parse_args(list(arguments))
    if left:
        raise click.UsageError(f"{left} are left over")
    for parameter in command.params:
        is_path = isinstance(parameter.type, click.Path)  # of a file that the reader has
        if isinstance(parameter, click.Option) and options.get(parameter.name) and not is_path:
            parameter.type_cast_value(context, options[parameter.name])


def calls_in(command):
    """The calls of `grade`, `kata` and `make` in a line of the shell, as words."""
    parts = [[]]
    for word in shlex.shlex(command, posix=True, punctuation_chars=True):
        if set(word) <= set("|&;<>()"):
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part and part[0] in ("grade", "kata", "make")]


@every_page
def test_every_command_of_a_page_parses(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command, _ in steps_on(PAGES[name]):
        for words in calls_in(command):
            if words[0] == "make":
                assert set(words[1:]) <= targets, command
            else:
                parsed(words)


@pytest.mark.parametrize(
    "line", ["grade softmax --fast", "kata judge", "kata key --output", "grade --format pdf", "kata seed 5"]
)
def test_a_command_that_does_not_parse_is_seen(line):
    with pytest.raises(click.UsageError):
        parsed(*calls_in(line))


def test_every_exception_is_a_command_of_a_page():
    commands = [command for page in PAGES.values() for command, _ in steps_on(page)]
    assert [start for start in EXCEPTIONS if not any(one.startswith(start) for one in commands)] == []


# --- the commands themselves ---

#: What a machine has that knows nothing of this project, besides the way to an index of packages.
KEPT = ("PIP_", "SSL_", "http_proxy", "https_proxy", "no_proxy", "LANG", "TMPDIR")


def copy_of_tree(folder):
    """A clone of the last commit, with what has changed since."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    listed = ["git", "-C", ROOT, "ls-files", "-z", "--modified", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def clone(tmp_path):
    return copy_of_tree(tmp_path / "clone")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The variables of a machine that has Python, Git and make, and an empty home."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    path = f"{sys.base_prefix}/bin:/usr/bin:/bin"
    return {**kept, "HOME": str(tmp_path_factory.mktemp("home")), "PATH": path, "COLUMNS": "80"}


def keep_few(folder, names):
    """Remove all other katas from a course, so that a command on all katas takes seconds."""
    for name in reversed(Course(folder).katas):  # first those that need others
        if name not in names:
            renaming.remove(Course(folder), name)


def run_all(steps, folder, variables, given=""):
    """Run commands in one shell; return what each printed and its exit code, and what the shell said last."""
    lines = [f'{{ {command}\n}} < /dev/null 2>&1\necho "@@ $?"\n' for command, _ in steps]
    script = f'{SOLVE}{VI}{{ {given}\n}} < /dev/null 2>&1\necho "@@ $?"\n' + "".join(lines)
    bash = ["bash", "--noprofile", "--norc", "-c", script]
    said = subprocess.run(bash, cwd=folder, env=variables, capture_output=True, text=True, timeout=900)
    parts = DONE.split(said.stdout)
    done = list(zip(parts[::2], map(int, parts[1::2]), strict=False))
    assert len(done) == 1 + len(steps), said.stdout + said.stderr
    return done


def accepted(command):
    """The exit codes of a command that did what its page says; `grade` ends with 1 while a kata fails."""
    return (0, 1) if command.startswith("grade") else (0,)


def follow(name, folder, variables):
    """Run a page, and compare what it shows; `…` stands for lines that are left out."""
    steps = [step for step in steps_on(PAGES[name]) if not reason(step[0])]
    given, *done = run_all(steps, folder, variables, GIVEN.get(name, ":"))
    assert given[1] == 0, given[0]
    for (command, told), (printed, code) in zip(steps, done, strict=True):
        assert code in accepted(command), f"{command}\n{printed}"
        rest = iter(printed.splitlines())
        assert [line for line in told if line.strip() != "…" and line not in rest] == [], printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.rest] * (name in MINUTES))
        for name in RUN
        if name not in INSTALLING
    ],
)
def test_the_commands_of_a_page_do_what_it_shows(name, clone, machine):
    if name in FEW:
        keep_few(clone, FEW[name].split())
    follow(name, clone, {**machine, "PATH": f"{Path(sys.executable).parent}:{machine['PATH']}"})


@pytest.mark.slow
def test_a_machine_with_python_git_and_make_follows_the_pages_that_install(clone, machine):
    [(_, _), (printed, code)] = run_all([("make grade", [])], clone, machine, ":")
    if code and "No matching distribution" in printed:
        pytest.skip("pip reaches no index of packages")
    for name in INSTALLING:
        follow(name, clone, machine)
