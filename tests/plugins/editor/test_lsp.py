"""The language server: a client of pygls over pipes, and what an editor shows of a report."""

import ast
import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader import __version__
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.installing import install_command
from grader.report import CheckReport, KataReport, Mistake, Part, Place, Repair

pytest.importorskip("pygls", reason="the extra `editor` is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from dojo_editor.lsp import command, overview
from dojo_editor.lsp.findings import Span, case_of, findings, names_in
from dojo_editor.lsp.requests import COMMANDS

NOT_STARTED = "Not started yet: read the docstring, and write the code here."
RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
TRIPLES = RIGHT.replace("return x + x", "return 3 * x")
ENDLESS = "def double(x):\n    while True:\n        pass\n"
RAISES = RIGHT.replace("return x + x", "return '😀', unknown")
SECONDS = 60.0  # that a client waits
SERVER = ("-P", "-m", "grader.cli.grade", "lsp")
FILE, TWIN = "exercises/attention/double.py", "exercises/attention/twin.py"
Severity = types.DiagnosticSeverity


class Editor(LanguageClient):
    """An editor with one folder open; `opens` says whether it can open documents for a server."""

    def __init__(self, root, opens=True, words=()):
        super().__init__("editor", "1")
        self.root, self.opens, self.words = root, opens, words
        self.published, self.said, self.shown, self.work = asyncio.Queue(), asyncio.Queue(), [], []
        self.versions = {}
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda p: self.published.put_nowait(p))
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda p: self.said.put_nowait(p.message))
        self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(lambda _: None)
        self.feature(types.PROGRESS)(lambda p: self.work.append(p.value))

        @self.feature(types.WINDOW_SHOW_DOCUMENT)
        def _(params):
            file = Path(params.uri.removeprefix("file://"))
            self.shown.append((file, file.read_text()))
            return types.ShowDocumentResult(True)

    async def __aenter__(self):
        await self.start_io(sys.executable, *SERVER, *self.words, cwd=self.root)
        shows = types.ShowDocumentClientCapabilities(self.opens)
        window = types.WindowClientCapabilities(work_done_progress=True, show_document=shows)
        root = self.root.as_uri()
        self.offers = await self.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(window=window),
                root_uri=root,
                workspace_folders=[types.WorkspaceFolder(root, "course")],
            )
        )
        self.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_):
        await asyncio.wait_for(self.shutdown_async(None), SECONDS)
        self.exit(None)
        await asyncio.wait_for(self.stop(), SECONDS)

    def uri(self, name):
        return name if ":" in name else (self.root / name).as_uri()

    def open(self, name=FILE, text=None):
        text = (self.root / name).read_text() if text is None else text
        self.versions[name] = 1
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, text, name=FILE):
        self.versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, text, name=FILE):
        (self.root / name).write_text(text)
        document = types.TextDocumentIdentifier(self.uri(name))
        self.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, name=FILE):
        document = types.TextDocumentIdentifier(self.uri(name))
        self.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def diagnostics(self, name=FILE):
        """Return the diagnostics of the last version of a file, once they are there."""
        while True:
            found = await asyncio.wait_for(self.published.get(), SECONDS)
            if found.uri == self.uri(name) and found.version == self.versions[name]:
                return list(found.diagnostics)

    async def message(self):
        return await asyncio.wait_for(self.said.get(), SECONDS)

    async def hover(self, line, character, name=FILE):
        document, at = types.TextDocumentIdentifier(self.uri(name)), types.Position(line, character)
        found = await self.text_document_hover_async(types.HoverParams(document, at))
        return found and found.contents.value

    async def actions(self, line, name=FILE, only=None):
        """Return the commands of the actions on a line, by title."""
        at, document = types.Position(line, 0), types.TextDocumentIdentifier(self.uri(name))
        context = types.CodeActionContext([], only)
        params = types.CodeActionParams(document, types.Range(at, at), context)
        found = await self.text_document_code_action_async(params)
        return {one.title: ast.literal_eval(one.command) for one in found}  # lsprotocol reads it as a text

    async def do(self, command):
        params = types.ExecuteCommandParams(command["command"], command["arguments"])
        await asyncio.wait_for(self.workspace_execute_command_async(params), SECONDS)


@pytest.fixture
def course(tmp_path, tiny_files, write):
    """A folder with a course of three katas, which is open in an editor."""
    twin = {name.replace("double", "twin"): text for name, text in tiny_files.items() if "double" in name}
    return write(
        tmp_path / "course", {**tiny_files, **{n: t.replace("double", "twin") for n, t in twin.items()}}
    )


def run(course, work, **terms):
    async def main():
        async with Editor(course, **terms) as editor:
            await work(editor)

    asyncio.run(main())


def line_of(diagnostic):
    return diagnostic.range.start.line + 1


# --- a client over pipes ---


@pytest.mark.slow
def test_three_edits_are_judged_as_they_stand_in_the_editor(course):
    async def work(editor):
        editor.open()
        [first] = await editor.diagnostics()
        assert (first.message, first.severity) == (NOT_STARTED, Severity.Information)
        assert (line_of(first), first.code, first.source) == (5, "double", "grade")

        editor.type(TRIPLES)
        [named] = await editor.diagnostics()
        assert named.message.startswith("The result is three times x: one x too many was added.\n")
        assert (named.severity, line_of(named), named.range.start.character) == (Severity.Error, 1, 4)
        [related] = named.related_information
        assert "double(x=x)" in related.message
        assert ", expected " in related.message

        editor.type(RAISES)
        [raised] = await editor.diagnostics()
        assert "NameError: name 'unknown' is not defined" in raised.message
        assert line_of(raised) == 4
        line = RAISES.splitlines()[3].encode("utf-16-le")
        start, end = (2 * place.character for place in (raised.range.start, raised.range.end))
        assert line[start:end].decode("utf-16-le") == "unknown"

        editor.type(RIGHT)
        assert await editor.diagnostics() == []
        said = await editor.message()
        assert said.startswith("double passes: 10 of 10 points. Save the file, so that it counts. Shown: ")
        assert said.endswith("Next: twin (Twice as much), in exercises/attention/twin.py.")

        assert "raise NotImplementedError" in (course / FILE).read_text()  # nothing was written
        state = CourseState(Course(course))
        assert state.kata("double").digest == ""
        editor.save(RIGHT)
        assert await editor.diagnostics() == []
        assert state.kata("double").status == "passed"
        assert editor.said.empty()  # a pass is said once

    run(course, work)


@pytest.mark.slow
def test_a_hover_shows_the_case_and_each_action_does_what_it_says(course):
    async def work(editor):
        editor.open(text=TRIPLES)
        await editor.diagnostics()
        shown = await editor.hover(0, 5)
        assert re.match(r"\*\*double\*\*: [\d.]+ of 10 points, \d+ of \d+ checks fail", shown)
        assert "```python\nimport numpy as np\nfrom double import double\n" in shown
        assert re.search(r"^# result\[.*\]: .*, expected ", shown, re.MULTILINE)
        assert shown.endswith("Hint 1 of 1 is one of the code actions.")
        assert "Think of two." not in shown
        assert await editor.hover(2, 0) is None

        actions = await editor.actions(0)
        assert [*actions] == ["Show hint 1 of 1", "Try this case", "Open the statement", "Open the next kata"]
        assert await editor.actions(2) == {}
        assert await editor.actions(0, only=["source.fixAll"]) == {}
        for name in actions:
            await editor.do(actions[name])
        assert await editor.message() == "Hint 1 of 1: Think of two."
        assert CourseState(Course(course)).kata("double").hints == 1  # as `grade hint` counts it
        (case, tried), (_, statement), (following, _) = editor.shown
        assert (case.name, statement) == ("double-case.txt", "Twice as much.\n")
        assert tried.startswith("import numpy as np\nfrom double import double\n")
        assert following == course / TWIN
        assert "```text\nHint 1 of 1: Think of two.\n```" in await editor.hover(0, 5)
        assert "Show the hints again" in await editor.actions(0)
        folder = case.parent
        assert course not in folder.parents
        unknown = {"command": "grade.hint", "arguments": [editor.uri("notes.py")]}
        await editor.do(unknown)
        assert await editor.message() == "This file is no exercise of a course that is open here."

    run(course, work)


@pytest.mark.slow
def test_an_editor_that_opens_no_documents_reads_them_as_messages(course):
    async def work(editor):
        editor.open(text=TRIPLES)
        await editor.diagnostics()
        actions = await editor.actions(0)
        await editor.do(actions["Try this case"])
        assert (await editor.message()).startswith("import numpy as np\n")
        await editor.do(actions["Open the statement"])
        assert await editor.message() == "Twice as much."
        await editor.do(actions["Open the next kata"])
        assert await editor.message() == "Next: twin (Twice as much), in exercises/attention/twin.py."

    run(course, work, opens=False)


@pytest.mark.slow
def test_an_endless_loop_is_told_and_a_new_text_ends_its_judging(course):
    async def work(editor):
        editor.open(text=TRIPLES)
        await editor.diagnostics()
        editor.type(ENDLESS)
        [told] = await editor.diagnostics()
        assert told.message.startswith("No answer within 5 seconds of computing")
        assert line_of(told) in (2, 3)
        titles = [value["title"] for value in editor.work if value["kind"] == "begin"]
        assert "judging double …" in titles
        editor.type(ENDLESS + "# again\n")
        await asyncio.sleep(1.0)
        editor.type(TRIPLES)
        assert (await editor.diagnostics())[0].message.startswith("The result is three times x")
        assert editor.published.empty()  # nothing was said of the text between

    run(course, work)


@pytest.mark.slow
def test_two_files_are_judged_side_by_side(course):
    async def work(editor):
        editor.open(FILE, TRIPLES)
        editor.open(TWIN, RAISES.replace("double", "twin"))
        found = {}
        while len(found) < 2:
            published = await asyncio.wait_for(editor.published.get(), SECONDS)
            found[published.uri] = published.diagnostics
        assert found[editor.uri(FILE)][0].code == "double"
        assert line_of(found[editor.uri(TWIN)][0]) == 4
        editor.close(TWIN)
        closed = await asyncio.wait_for(editor.published.get(), SECONDS)
        assert (closed.uri, [*closed.diagnostics]) == (editor.uri(TWIN), [])
        editor.type(RIGHT)
        assert await editor.diagnostics() == []

    run(course, work)


@pytest.mark.slow
def test_what_is_no_exercise_gets_nothing(course, tmp_path):
    other = shutil.copytree(course, tmp_path / "other")

    async def work(editor):
        for name in ("notes.py", "exercises/attention/notes.py", "tests/katas/attention/test_double.py"):
            editor.open(name, "def double(x:\n")
            assert await editor.actions(0, name) == {}
            editor.type("def double(x):\n", name)
        editor.open((other / FILE).as_uri(), "def double(x:\n")  # outside of what is open
        editor.open("untitled:double.py", "def double(x:\n")
        editor.open("git:/exercises/attention/double.py", "def double(x:\n")
        (course / "circle").symlink_to("circle")
        for odd in (f"circle/{'a/' * 5000}", f"exercises/attention/{'a' * 400}", "circle/double", "%00"):
            editor.open(f"{course.as_uri()}/{odd}.py", "def double(x:\n")
        editor.open()
        first = await asyncio.wait_for(editor.published.get(), SECONDS)
        assert first.uri == editor.uri(FILE)
        assert editor.published.empty()
        assert editor.said.empty()

    run(course, work)


@pytest.mark.slow
def test_a_syntax_error_waits_and_odd_texts_are_told(course):
    async def work(editor):
        editor.open()
        await editor.diagnostics()
        began = time.monotonic()
        editor.type("def double(x):\n    return (x + x\n")
        [wrong] = await editor.diagnostics()
        assert time.monotonic() - began >= 1.5
        assert wrong.message.endswith("double.py has a syntax error in line 2: '(' was never closed.")
        assert (line_of(wrong), wrong.range.start.character) == (2, 11)
        for text, said in (
            (
                "# coding: nowhere\n" + RIGHT,
                "cannot be decoded: unknown encoding: nowhere. Save it as UTF-8.",
            ),
            (RIGHT + "# \0\n", "cannot be read as Python: it holds a null byte or is nested too deeply."),
            (RIGHT + "#" * (1 << 20), "is larger than 1 MiB."),
            (RIGHT + "(" * 3000, "has a syntax error in line 5: too many nested parentheses."),
        ):
            editor.type(text)
            [odd] = await editor.diagnostics()
            assert said in odd.message
        for text in (
            RIGHT.replace("\n", "\r\n"),
            "\ufeff# coding: latin-1\n# é\f\n" + RIGHT,
            RIGHT + "'\x85\u2028'\n\f\n",
        ):
            editor.type(text)
            assert await editor.diagnostics() == []
        editor.type("# 😀\u2028\f\n" + RAISES.replace("\n", "\r\n"))
        [raised] = await editor.diagnostics()
        assert (line_of(raised), raised.range.start.character) == (5, 17)

    run(course, work)


@pytest.mark.slow
def test_a_thousand_changes_have_one_verdict(course):
    async def work(editor):
        editor.open()
        await editor.diagnostics()
        for number in range(1000):
            editor.type(f"{TRIPLES}# {number}\n")
        assert (await editor.diagnostics())[0].message.startswith("The result is three times x")
        assert editor.published.empty()
        for _ in range(1000):
            assert await editor.hover(0, 5)

    run(course, work)


@pytest.mark.slow
def test_what_waits_for_another_kata_is_judged_once_that_is_saved(course):
    declaration = course / "tests/katas/attention/test_twin.py"
    declaration.write_text(
        declaration.read_text().replace("entry_points=", 'needs=("double",), entry_points=')
    )

    async def work(editor):
        editor.open(TWIN, RIGHT.replace("double", "twin"))
        [waits] = await editor.diagnostics(TWIN)
        assert waits.message == f"twin waits until double passes: finish {FILE} first."
        assert (waits.severity, line_of(waits)) == (Severity.Information, 1)
        editor.open()
        editor.save(RIGHT)
        while await editor.diagnostics(TWIN):
            pass

    run(course, work)


@pytest.mark.slow
def test_a_damaged_course_is_said_in_one_sentence(course):
    (course / "tests/katas/attention/test_double.py").write_text("KATA = 1\n")

    async def work(editor):
        editor.open()
        assert await editor.message() == "test_double.py must bind KATA = Kata(…) at its top level."
        assert editor.published.empty()

    run(course, work)


def descendants(pid):
    """Return the processes that one has started, directly or not."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    children = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]
    own, more = set(), {pid}
    while more:
        own |= more
        more = {child for child, parent in children if parent in own} - own
    return own


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize(("text", "count"), [(TRIPLES, 3), (ENDLESS, 4)])
def test_a_dead_editor_leaves_no_process(course, tmp_path, text, count):
    def frame(method, params, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    start = {"capabilities": {}, "rootUri": course.as_uri(), "processId": None}
    document = {"uri": (course / FILE).as_uri(), "languageId": "python", "version": 1, "text": text}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, *SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as server:
        server.stdin.write(frame("initialize", start, id=1))
        server.stdin.write(frame("initialized", {}))
        server.stdin.write(frame("textDocument/didOpen", {"textDocument": document}))
        server.stdin.flush()
        until = time.monotonic() + SECONDS
        while len(descendants(server.pid)) < count and time.monotonic() < until:  # judge, fork server, worker
            time.sleep(0.05)
        own = descendants(server.pid)
        server.stdin.close()
        assert server.wait(SECONDS) == 0
        until = time.monotonic() + SECONDS
        while any(map(is_alive, own)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(is_alive, own))
        assert server.stderr.read() == b""
    assert [*temporary.iterdir()] == []


# --- the connection ---


@pytest.fixture
def server(course, tmp_path):
    """A server as a process, with `send(body)`, which writes a message, and `answer()`, which reads one."""
    with subprocess.Popen(
        [sys.executable, *SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=course,
    ) as process:

        def send(method, number=None, params=None, length=None):
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            body = json.dumps(message | ({} if number is None else {"id": number})).encode()
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (length or len(body), body))
            process.stdin.flush()

        def answer():
            length = int(process.stdout.readline().rpartition(b":")[2])
            while process.stdout.readline().strip():
                pass
            return json.loads(process.stdout.read(length))

        process.send, process.answer = send, answer
        process.initialize = lambda pid=None: send("initialize", 1, {"capabilities": {}, "processId": pid})
        yield process
        process.kill()


@pytest.mark.slow
def test_exit_without_shutdown_returns_1_and_after_it_0(server):
    server.initialize()
    assert server.answer()["id"] == 1
    server.send("exit")
    assert server.wait(SECONDS) == 1


@pytest.mark.slow
def test_exit_after_shutdown_returns_0(server):
    server.initialize()
    server.send("shutdown", 2)
    assert [server.answer()["id"], server.answer()["id"]] == [1, 2]
    server.send("exit")
    assert server.wait(SECONDS) == 0


@pytest.mark.slow
def test_what_comes_before_initialize_is_refused_and_a_notification_is_dropped(server):
    server.send("textDocument/didClose", params={"textDocument": {"uri": "file:///a.py"}})
    server.send("shutdown", 7)
    refused = server.answer()
    assert (refused["id"], refused["error"]["code"]) == (7, -32002)
    server.initialize()
    assert "capabilities" in server.answer()["result"]


@pytest.mark.slow
def test_a_length_that_no_message_has_is_refused_and_the_server_lives(server):
    server.initialize()
    assert server.answer()["id"] == 1
    server.send("shutdown", 2, length=10**11)
    server.send("shutdown", 3)
    assert server.answer()["id"] == 3
    server.send("exit")
    assert server.wait(SECONDS) == 0
    assert server.stderr.read() == b"A message of 100000000000 bytes is refused; 67108864 are the most.\n"


@pytest.mark.slow
def test_the_server_ends_with_the_process_of_the_editor_while_its_pipe_is_open(server, tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor:
        server.initialize(editor.pid)
        assert server.answer()["id"] == 1
    assert server.wait(SECONDS) == 1
    assert [*tmp_path.glob("decoder-dojo-*")] == []


@pytest.mark.slow
def test_an_editor_that_asks_for_it_gets_every_kata_and_each_verdict(server, course):
    wants = {"capabilities": {}, "rootUri": course.as_uri(), "initializationOptions": {"verdicts": True}}
    server.send("initialize", 1, wants)
    assert server.answer()["id"] == 1
    server.send("grade/katas", 2, {})
    katas = server.answer()["result"]
    assert katas[0] == {
        "name": "double", "track": "attention", "title": "Twice as much", "uri": (course / FILE).as_uri(),
        "mark": "", "score": "", "isNext": True,
    }  # fmt: skip
    assert [one["name"] for one in katas if one["isNext"]] == ["double"]
    document = {"uri": (course / FILE).as_uri(), "languageId": "python", "version": 1, "text": TRIPLES}
    server.send("textDocument/didOpen", params={"textDocument": document})
    told = next(one for one in iter(server.answer, None) if one["method"] == "grade/verdict")["params"]
    assert (told["name"], told["status"]) == ("double", "failed")
    assert told["text"].startswith("The result is three times x")
    assert re.fullmatch(r"[\d.]+ / 10", told["score"])


def test_no_other_editor_gets_verdicts():
    assert not any(map(overview.wants_verdicts, (None, {}, {"verdicts": False}, {"verdicts": 1}, [])))


# --- editors ---

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
EXTENSION = ROOT / "editors" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
IN_NEOVIM = """
local function until_said(part)
  vim.wait(60000, function()
    local found = vim.diagnostic.get(0)
    if part == '' then return #found == 0 end
    return found[1] and found[1].message:find(part, 1, true) ~= nil
  end, 20)
  local found = vim.diagnostic.get(0)[1]
  print(found and (found.lnum + 1) .. ': ' .. found.message:gsub('\\n', ' / ') or 'none')
end
local function write(text) vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\\n')) end
until_said('Not started yet')
write(%s)
until_said('three times')
local at = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 0, character = 5 } }
print(vim.lsp.buf_request_sync(0, 'textDocument/hover', at, 9000)[1].result.contents.value:gsub('\\n', ' / '))
write(%s)
until_said('')
vim.cmd('qall!')
"""


def of_page(language, part=""):
    """Return the block of the page in this language that has this part."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(block for block in blocks if part in block)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvim"), reason="Neovim is not installed")
def test_neovim_shows_the_diagnostics_with_the_lines_of_the_page(course):
    settings, script = course / "init.lua", course / "script.lua"
    settings.write_text(of_page("lua", "start_client"))
    script.write_text(IN_NEOVIM % (f"[[{TRIPLES}]]", f"[[{RIGHT}]]"))
    bin_first = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["nvim", "--headless", "-n", "-u", "init.lua", FILE, "-c", "luafile script.lua"],
        cwd=course,
        env={**os.environ, "PATH": bin_first},
        capture_output=True,
        text=True,
        timeout=3 * SECONDS,
    )
    shown = ran.stderr.replace("\r", "")
    assert f"5: {NOT_STARTED}" in shown
    assert "1: The result is three times x: one x too many was added. / " in shown
    assert "**double**: " in shown
    assert "none" in shown


@pytest.mark.slow
def test_the_lines_for_helix_and_jupyterlab_start_the_server():
    helix = tomllib.loads(of_page("toml"))
    server = helix["language-server"]["grade"]
    assert [server["command"], *server["args"]] == ["grade", "lsp"]
    assert helix["language"] == [{"name": "python", "language-servers": ["grade"]}]
    schema = pytest.importorskip("jupyter_lsp.schema", reason="jupyter-lsp is not installed")
    c = pytest.importorskip("traitlets.config").Config()
    exec(of_page("python"), {"c": c})
    servers = c.LanguageServerManager.language_servers
    schema.LANGUAGE_SERVER_SPEC_MAP.validate(servers)
    assert servers["grade"]["argv"] == ["grade", "lsp"]


def test_the_extension_is_of_this_version_and_its_commands_exist():
    assert MANIFEST["version"] == __version__
    names = {one["command"].partition(".")[2] for one in MANIFEST["contributes"]["commands"]}
    assert names == {name.partition(".")[2] for name in COMMANDS} | {"restart"}
    client = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")
    assert json.loads(re.search(r"ACTIONS = (\[.*\]);", client)[1]) == [
        *(n.partition(".")[2] for n in COMMANDS)
    ]
    assert set(re.findall(r"decoderDojo\.\w+", json.dumps(MANIFEST))) == {
        *(f"decoderDojo.{name}" for name in names),
        *(f"decoderDojo.{name}" for name in ("path", "katas", "isRunning")),
    }
    assert 'args: ["lsp"]' in client
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] is False
    assert f"decoder-dojo-{__version__}.vsix" in PAGE


def test_the_extension_starts_where_exercises_are_and_not_with_every_python_file():
    assert MANIFEST["activationEvents"] == [
        "workspaceContains:exercises/*/*.py",
        "workspaceContains:*/exercises/*/*.py",
    ]


def test_the_extension_says_where_to_name_a_grader_that_does_not_start():
    client = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")
    told = "does not start. Name the grader's own path in the setting decoderDojo.path."
    assert told in client.partition("await client.start()")[2].partition("showErrorMessage")[2]


def test_the_extension_has_an_icon_a_tree_and_a_walkthrough_whose_files_are_there():
    assert (EXTENSION / MANIFEST["icon"]).read_bytes()[12:24] == b"IHDR" + (128).to_bytes(4, "big") * 2
    contributes = MANIFEST["contributes"]
    client = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")
    assert [one["id"] for one in contributes["views"]["explorer"]] == ["decoderDojo.katas"]
    assert 'registerTreeDataProvider("decoderDojo.katas"' in client
    assert 'executeCommand("setContext", "decoderDojo.isRunning"' in client
    (walkthrough,) = contributes["walkthroughs"]
    assert all((EXTENSION / step["media"]["markdown"]).is_file() for step in walkthrough["steps"])
    commands = {one["command"] for one in contributes["commands"]} | {"decoderDojo.katas.focus"}
    linked = re.findall(r"command:(decoderDojo[\w.]+)", json.dumps(walkthrough))
    assert linked
    assert {*linked} <= commands


def test_the_extension_names_the_repository_once_there_is_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository")
    assert MANIFEST.get("repository") == (address and {"type": "git", "url": address})


IN_NODE = """
const { tracksOf, iconOf, descriptionOf, statusOf } = require("./src/katas.js");
const kata = (name, track, mark, isNext, score) => ({ name, track, mark, isNext, score, title: "T" });
const katas = [
  kata("a", "x", "passed", false, "10/10"),
  kata("b", "x", "", false, ""),
  kata("c", "y", "begun", true, "5/10"),
];
console.log(JSON.stringify({
  tracks: tracksOf(katas).map((t) => [t.track, t.description, t.isOpen, t.katas.map((k) => k.name)]),
  icons: katas.map(iconOf),
  descriptions: katas.map(descriptionOf),
  status: ["passed", "failed", "other"].map((status) => statusOf({ name: "a", status, score: "9 / 10" })),
  none: tracksOf([]),
}));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_the_tree_has_the_tracks_and_marks_the_next_kata_and_the_status_bar_has_the_score():
    ran = subprocess.run(["node", "-e", IN_NODE], cwd=EXTENSION, capture_output=True, text=True)
    assert ran.stderr == ""
    assert json.loads(ran.stdout) == {
        "tracks": [["x", "1 of 2", False, ["a", "b"]], ["y", "0 of 1", True, ["c"]]],
        "icons": ["pass-filled", "circle-outline", "arrow-right"],
        "descriptions": ["10/10  T", "T", "next  5/10  T"],
        "status": ["$(pass) a  9 / 10", "$(error) a  9 / 10", "$(circle-outline) a  9 / 10"],
        "none": [],
    }


def test_the_lock_of_the_extension_names_its_packages_by_hashes_alone():
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    own, *packages = lock["packages"].values()
    assert own["version"] == __version__
    assert not [one for one in packages if "resolved" in one]
    assert all("integrity" in one for one in packages)


@pytest.mark.slow
def test_the_extension_is_packaged(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path / "editors" / "vscode"
    left_out = shutil.ignore_patterns("node_modules", "dist", "LICENSE")
    shutil.copytree(EXTENSION, folder, ignore=left_out)
    shutil.copy(ROOT / "LICENSE", tmp_path)
    installed = subprocess.run([npm, "ci", "--ignore-scripts"], cwd=folder, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip("npm cannot reach the packages here")
    words = ["npx", "vsce", "package", "--allow-missing-repository", "--out", "dojo.vsix"]
    made = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(folder / "dojo.vsix") as package:
        names = package.namelist()
        manifest = json.loads(package.read("extension/package.json"))
    assert manifest["main"].removeprefix("./") == "dist/extension.js"
    assert {"extension/dist/extension.js", "extension/LICENSE.txt"} <= {*names}
    assert {"extension/dist/katas.js", "extension/media/icon.png", "extension/media/hints.md"} <= {*names}
    assert "extension/node_modules/vscode-languageclient/package.json" in names
    assert not [name for name in names if name.endswith((".ts", ".map")) or "/src/" in name]


# --- what is shown of a report ---

TEXT = "import numpy as np\n\n\ndef double(x):\n    y = np.abs(x)\n    return y * 3\n"


@pytest.fixture
def info(course):
    return Course(course).kata_info("double")


def failing(*checks, **more):
    return KataReport("double", "attention", "failed", 1000, checks=checks, **more)


WRONG = CheckReport(
    "agrees", "Every entry is right.", "failed", 0, 100, expected="2", got="3", call="double(1)"
)
IN_AN_EDGE_CASE = "In an edge case the result differs from the reference's: Every entry is right."
SPOTS = (
    Repair("a constant", Place(6, "    return y * 3", 15, 16)),
    Repair("a constant", Place(5, "    y = np.abs(x)", 8, 17)),
)


def test_a_guess_is_a_warning_beside_what_is_certain(info):
    check = replace(WRONG, mistake=Mistake("m", "It may be the sign.", certain=False))
    certain, guess = findings(failing(check), info, TEXT)
    assert certain.text == f"{IN_AN_EDGE_CASE}\n1 of 1 checks fails."
    assert (guess.text, guess.severity) == ("One possibility: It may be the sign.", Severity.Warning)
    assert certain.severity == Severity.Error
    assert certain.span == guess.span == Span(3, 4, 10)


def test_a_proven_place_is_the_place(info):
    [found] = findings(failing(WRONG, repairs=SPOTS), info, TEXT)
    words = "Changing any one of these spots makes every check pass: a constant."
    assert found.text == f"{words}\n{IN_AN_EDGE_CASE}\n1 of 1 checks fails."
    assert (found.span, found.others) == (Span(5, 15, 16), (Span(4, 8, 17),))


def test_a_line_that_raised_goes_before_a_proven_place(info):
    check = replace(WRONG, message="The code raised ValueError: no (line 5).", place=Place(5, "", 4, 17))
    raised, proven = findings(failing(check, repairs=SPOTS[:1]), info, TEXT)
    assert (raised.span, proven.span) == (Span(4, 4, 17), Span(5, 15, 16))
    assert proven.text == "Changing only this spot makes every check pass: a constant."


def test_another_cause_is_shown_where_it_has_a_place_of_its_own(info):
    raises = replace(WRONG, name="b", message="The code raised ValueError: no (line 5).", status="error")
    more = replace(raises, name="c", message="No answer within 5 seconds of computing, in line 6.")
    last = replace(WRONG, name="d", call="double(2)", title="Another is right.")
    found = findings(failing(raises, more, last), info, TEXT)
    assert [(one.span.line, one.text.partition("\n")[0]) for one in found] == [
        (4, raises.message),
        (5, more.message),
    ]


def test_a_part_that_is_not_written_is_told_at_its_line(info):
    text = TEXT + "\n\ndef halve(x):\n    '''Half.'''\n    raise NotImplementedError\n"
    two = replace(info, entry_points=("double", "halve"))
    parts = (Part("double", "passed"), Part("halve", "not_written"))
    [found] = findings(failing(replace(WRONG, status="passed"), parts=parts), two, text)
    assert (found.text, found.severity, found.span.line) == (
        "halve is not written yet.",
        Severity.Information,
        10,
    )


def test_a_place_outside_of_the_text_is_the_first_line(info):
    check = replace(WRONG, place=Place(99, "gone", 3, 5))
    assert findings(failing(check), info, TEXT)[0].span == Span()


def test_a_pass_is_told_by_nothing(info):
    assert findings(KataReport("double", "attention", "passed", 1000, checks=(WRONG,)), info, TEXT) == []


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("def f():\n    pass\n\nf = 3\n", Span(3, 0, 1)),
        ("'''def f():'''\n@wraps\ndef  f(): pass\n", Span(2, 5, 6)),
        ("class f: pass\n", Span(0, 6, 7)),
        ("f: int = 3\n", Span(0, 0, 1)),
        ("async def f(): pass\n", Span(0, 10, 11)),
    ],
)
def test_a_name_is_found_where_it_is_bound_last(text, span):
    assert names_in(text, ("f",)) == {"f": span}


@pytest.mark.parametrize("text", ["def g(): pass\n", "def f(:\n", "", "import f\n"])
def test_a_name_that_is_not_bound_is_not_found(text):
    assert names_in(text, ("f",)) == {}


def test_the_case_is_the_call_with_what_came_and_what_was_due():
    assert case_of(WRONG) == "double(1)\n# expected: 2\n# got: 3"
    assert case_of(replace(WRONG, came="result: 3, expected 2")) == "double(1)\n# result: 3, expected 2"
    assert case_of(replace(WRONG, call=None)) == ""


# --- the command ---


def test_without_pygls_a_sentence_says_what_to_install(course, monkeypatch):
    monkeypatch.setitem(sys.modules, "dojo_editor.lsp.server", None)
    monkeypatch.delitem(sys.modules, "dojo_editor.lsp.server")
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    ran = CliRunner().invoke(grade, ["lsp", "--course", str(course)])
    assert (ran.exit_code, ran.stderr) == (4, f"{command.MISSING}: {install_command(command.PACKAGE)}\n")


def test_a_person_who_starts_it_is_told_that_an_editor_does(monkeypatch):
    monkeypatch.setattr(
        "dojo_editor.lsp.command.sys.stdin", type("Terminal", (), {"isatty": lambda _: True})()
    )
    with pytest.raises(Exception, match="An editor starts `grade lsp`"):
        command.run_server(None)
