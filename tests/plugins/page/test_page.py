"""The page without a browser: the file as an editor holds it, who is let in, what a judge answers."""

import asyncio
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import aclosing, contextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from dojo_authoring.statement import to_markdown
from dojo_page.command import without_secret
from dojo_show.speech import Wish
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.submission import SubmissionRejected
from grader.report import CheckReport, KataReport, Mistake, Place, Repair
from grader.worker.protocol.channel import MAGIC, PREFIX, ChannelClosed, ChannelCut, Frames
from grader.worker.protocol.codec import Malformed

pytest.importorskip("nicegui", reason="the extra `page` is not installed")

import httpx
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dojo_page import editor, messages, questions
from dojo_page.editor import EditedText
from dojo_page.judges import ENDED, JudgeProcess, Judges, end
from dojo_page.jupyter import TOKEN, setup
from dojo_page.messages import Dropped, Grade, Inbox, JudgeTerms, Tried, Try, Verdict
from dojo_page.server import POLICY, Address, Guard, free_address
from dojo_page.statement_view import MARKDOWN, rendered
from dojo_page.workplace import MOST_VERSIONS, History

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"

ROOT = Path(__file__).resolve().parents[3]


# --- the file ---


def document(tmp_path, data=b"x = 1\n"):
    path = tmp_path / "double.py"
    path.write_bytes(data)
    return EditedText(path)


def test_what_is_typed_is_in_the_file_once_it_is_saved(tmp_path):
    file = document(tmp_path)
    file.text = "x = 2\n"
    assert not file.is_saved
    assert file.save()
    assert file.path.read_text() == "x = 2\n"
    assert file.is_saved
    assert not file.changed_outside()


def test_nothing_is_written_over_what_another_program_wrote(tmp_path):
    file = document(tmp_path)
    file.path.write_text("x = 3\n")
    file.text = "x = 2\n"
    assert file.changed_outside()
    assert not file.save()
    assert file.path.read_text() == "x = 3\n"
    assert file.save(over=True)
    assert file.path.read_text() == "x = 2\n"


def test_what_the_file_offers_is_taken_once_the_editor_has_it(tmp_path):
    file = document(tmp_path)
    file.path.write_text("x = 3\n")
    assert file.offer() == "x = 3\n"
    assert file.text == "x = 1\n"
    file.take("x = 3\n")
    assert file.is_saved
    assert not file.changed_outside()


def test_what_was_typed_meanwhile_is_neither_saved_nor_written_over_the_file(tmp_path):
    file = document(tmp_path)
    file.path.write_text("x = 3\n")
    file.offer()
    file.take("x = 12\n")
    assert not file.save()
    assert file.changed_outside()
    assert (file.text, file.path.read_text()) == ("x = 12\n", "x = 3\n")
    file.path.write_text("x = 12\n")  # the other program writes the same: there is nothing to ask
    assert not file.changed_outside()
    assert file.save()


def test_other_line_ends_alone_change_no_text(tmp_path):
    file = document(tmp_path)
    file.path.write_bytes(b"x = 1\r\n")
    assert file.changed_outside()
    assert file.offer() == file.text
    assert file.is_saved


def test_line_ends_stay_as_they_were(tmp_path):
    file = document(tmp_path, b"x = 1\r\ny = 2\r\n")
    assert file.text == "x = 1\ny = 2\n"
    assert file.is_saved
    file.text += "z = 3\n"
    file.save()
    assert file.path.read_bytes() == b"x = 1\r\ny = 2\r\nz = 3\r\n"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda path: path.write_bytes(b"\xff\xfe"),
            "is not encoded as UTF-8; save it as UTF-8 to edit it here.",
        ),
        (
            lambda path: path.write_text("x" * (editor.LONGEST_TEXT + 1)),
            "has more than 131072 characters; edit it elsewhere.",
        ),
        (lambda path: path.mkdir(), "is a folder."),
        (lambda path: path.symlink_to("/etc/passwd"), "is a link."),
        (os.mkfifo, "is no regular file."),
    ],
)
def test_what_cannot_be_edited_is_said_and_stays(tmp_path, make, problem):
    path = tmp_path / "double.py"
    make(path)
    file = EditedText(path)
    assert file.problem == f"double.py {problem}"
    assert file.text == ""
    before = os.lstat(path)
    file.text = "x = 1\n"
    assert not file.save()  # what is typed into the empty editor replaces nothing
    assert os.lstat(path) == before
    assert file.text == "x = 1\n"


def test_a_file_that_is_gone_is_written_again(tmp_path):
    file = document(tmp_path)
    file.path.unlink()
    assert file.changed_outside()
    assert file.save(over=True)
    assert file.path.read_text() == "x = 1\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_said(tmp_path):
    file = document(tmp_path)
    tmp_path.chmod(0o500)
    file.text = "x = 2\n"
    assert not file.save()
    tmp_path.chmod(0o700)
    assert file.problem == "double.py cannot be written: Permission denied."


# --- what was judged before ---


def judged(source, score=100):
    digest = hashlib.sha256(source.encode()).hexdigest()
    check = CheckReport("a", "A.", "passed", score, 100)
    return KataReport("double", "attention", "failed", 1000, checks=(check,), digest=digest)


def test_each_judged_version_is_kept_once_and_old_ones_go(tmp_path):
    history = History(tmp_path, "double")
    history.add(judged("x = 1"), "x = 1")
    history.add(judged("x = 1"), "x = 1")
    history.add(judged("x = 1"), "x = 2")  # saved while it was judged
    assert [(one.source, one.score, one.max_score) for one in history.versions()] == [("x = 1", 100, 1000)]
    for number in range(MOST_VERSIONS + 5):
        history.add(judged(str(number)), str(number))
    assert [one.source for one in history.versions()] == [
        str(number) for number in range(5, MOST_VERSIONS + 5)
    ]


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b'[{"when": "x"}]', b"\xff"])
def test_a_damaged_history_is_empty(tmp_path, data):
    file = tmp_path / "history" / "double.json"
    file.parent.mkdir()
    file.write_bytes(data)
    assert History(tmp_path, "double").versions() == []


# --- what the editor underlines ---


def test_places_of_a_report_are_underlined_and_explained():
    text = "def f(x):\n    return g(x)\n"
    place = Place(2, "    return g(x)", 11, 15)
    failed = CheckReport("a", "A.", "error", 0, 100, "NameError: no g", place=place)
    report = KataReport("f", "a", "failed", 100, checks=(failed,))
    marks = editor.marks_of(report)
    assert editor.decorations(text, marks) == [{"kind": "mark", "from": 21, "to": 25, "class": "in-question"}]
    assert text[21:25] == "g(x)"
    assert editor.tooltips(marks) == {2: "NameError: no g"}


def test_what_a_search_has_found_is_underlined_too():
    repair = Repair("an axis", Place(1, "x = y.sum(0)", 10, 11))
    report = KataReport("f", "a", "failed", 100, repairs=(repair,))
    assert editor.decorations("x = y.sum(0)", editor.marks_of(report))[0]["from"] == 10
    assert editor.tooltips(editor.marks_of(report)) == {
        1: "Changing only this spot makes every check pass: an axis."
    }


def test_a_line_without_columns_is_underlined_whole_and_one_that_is_gone_is_not():
    marks = [
        editor.MarkedRange(Place(1, "  x"), "a"),
        editor.MarkedRange(Place(9, "y"), "b"),
        editor.MarkedRange(Place(2, ""), "c"),
    ]
    assert editor.decorations("  x = 1\n\n", marks) == [
        {"kind": "mark", "from": 2, "to": 7, "class": "in-question"}
    ]


def test_the_place_of_the_first_cause_comes_first():
    named = Mistake("m", "It is a known mistake.", certain=True)
    late = CheckReport("b", "B.", "failed", 0, 100, "B fails.", place=Place(2, "  y"), mistake=named)
    early = CheckReport("a", "A.", "error", 0, 100, "NameError: no x", place=Place(1, "  x"))
    report = KataReport("f", "a", "failed", 200, checks=(early, late))
    assert [mark.place.line for mark in editor.marks_of(report)] == [2, 1]


def test_the_line_of_a_syntax_error_is_underlined():
    report = KataReport("f", "a", "error", 100, message="f.py, line 2: never closed.", excerpt="x = (")
    assert [mark.place.line for mark in editor.marks_of(report)] == [2]


# --- questions ---

PAGE = '''"""A page."""

STUDENT = ""  # your login
ROW = sum(STUDENT.encode()) % 8

# The shape of Q,
# in the order of the paper.
SHAPE_OF_Q = ...

SCALE = 2 / 3
'''


def test_questions_have_their_text_and_what_was_answered():
    assert questions.asked_in(PAGE) == [
        questions.Asked("STUDENT", "your login", ""),
        questions.Asked("SHAPE_OF_Q", "The shape of Q, in the order of the paper.", ""),
        questions.Asked("SCALE", "", "2 / 3"),
    ]
    assert questions.asked_in("x = (") == []


def test_an_answer_is_written_where_the_question_stands():
    text = questions.with_answer(PAGE, "SHAPE_OF_Q", " (2, 3) ")
    text = questions.with_answer(text, "STUDENT", "Ada 'the' Löwe")
    text = questions.with_answer(text, "SCALE", "")
    assert "SHAPE_OF_Q = (2, 3)\n" in text
    assert "STUDENT = \"Ada 'the' Löwe\"  # your login\n" in text
    assert "SCALE = ...\n" in text
    assert questions.asked_in(text)[0].value == "Ada 'the' Löwe"


def test_a_login_chooses_its_row_of_numbers():
    table = "A page.\n\n    row  batch  heads\n    0    5      8\n    1    7      2\n"
    assert questions.numbers_of(table, "") == (0, {"batch": "5", "heads": "8"})
    assert questions.numbers_of(table, "a") == (1, {"batch": "7", "heads": "2"})
    assert questions.numbers_of("A page.", "a") == (0, {})


def test_a_name_that_nothing_defines_is_refused_and_one_of_the_file_is_not():
    with pytest.raises(SubmissionRejected, match="abc is no name of this page"):
        questions.with_answer(PAGE, "SCALE", "abc")
    assert "SCALE = ROW + max(2, 3)\n" in questions.with_answer(PAGE, "SCALE", "ROW + max(2, 3)")


@pytest.mark.parametrize("value", ["(2,", "x = 1", "1\n\nimport os", "1) + (2", "2; import os", "#"])
def test_what_is_no_value_is_refused(value):
    with pytest.raises(SubmissionRejected):
        questions.with_answer(PAGE, "SCALE", value)


# --- who is let in ---


OWN = {"host": "127.0.0.1:8000"}
BASES = ["http://127.0.0.1:8000", "http://localhost:8000", "https://odd-8000.app.github.dev"]


@pytest.fixture
def client():
    async def page(request):
        shown = f"<script>1</script><SCRIPT src='/x'></SCRIPT>&lt;script&gt;{request.url.path}"
        return HTMLResponse(shown + request.headers.get("x-forwarded-prefix", ""))

    async def data(_):
        return PlainTextResponse("<script>")

    async def socket(websocket):
        await websocket.accept()
        await websocket.send_text("hello")

    app = Starlette(routes=[Route("/", page), Route("/data", data), WebSocketRoute("/ws", socket)])
    app.add_middleware(Guard, bases=BASES, path="/drawn", codes={"one", "two"}, token="right")
    return TestClient(app, base_url="http://127.0.0.1:8000")


@pytest.fixture
def cookie(client):
    """The cookie of a browser that has been let in, as a header."""
    entered = client.get("/drawn/?code=two", follow_redirects=False)
    client.cookies.clear()
    return entered.headers["set-cookie"].partition(";")[0]


def test_the_code_in_the_address_becomes_a_cookie_of_this_port_and_path_that_scripts_cannot_read(client):
    entered = client.get("/drawn/?code=one&x=1", follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "/drawn/?x=1")
    name, _, rest = entered.headers["set-cookie"].partition("=")
    secret, _, rest = rest.partition("; ")
    assert (name, rest) == ("dojo_8000", "HttpOnly; Path=/drawn/; SameSite=lax")
    assert len(secret) >= 40
    assert "one" not in secret
    assert entered.headers["referrer-policy"] == "no-referrer"
    assert client.get("/drawn/").status_code == 200
    assert client.get("/").status_code == 403


def test_a_code_is_good_for_one_browser(client):
    assert client.get("/drawn/?code=one", follow_redirects=False).status_code == 303
    client.cookies.clear()
    refused = client.get("/drawn/?code=one", follow_redirects=False)
    assert refused.status_code == 403
    assert refused.text == (
        "This page opens with the address that `grade page` prints, which is good for one browser. End the"
        " page and start it again for another one.\n"
    )
    assert client.get("/drawn/?code=two", follow_redirects=False).status_code == 303


def test_where_the_host_is_of_this_page_alone_the_cookie_is_too(client):
    entered = client.get(
        "/drawn/?code=one", headers={"host": "odd-8000.app.github.dev"}, follow_redirects=False
    )
    name, _, rest = entered.headers["set-cookie"].partition("=")
    assert (name, rest.partition("; ")[2]) == ("__Host-dojo", "HttpOnly; Path=/; SameSite=lax; Secure")


@pytest.mark.parametrize(
    "place", ["//evil.example/", "/%5Cevil.example", "/.//evil.example", "//evil.example"]
)
def test_no_address_leads_to_another_site(client, place):
    for address in (f"{place}?code=one", f"/drawn{place}?code=one"):
        answer = client.get(f"http://127.0.0.1:8000{address}", follow_redirects=False)
        assert answer.status_code == 403 or answer.headers["location"].startswith("/drawn/")


def test_the_page_is_told_what_stands_before_its_paths(client, cookie):
    answer = client.get("/drawn/", headers={"cookie": cookie, "x-forwarded-prefix": "//evil.example"})
    assert answer.text.endswith("&gt;//drawn")


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/drawn/"),
        ({}, "/?code=one"),
        ({}, "/drawn?code=one"),
        ({}, "/drawnmore/?code=one"),
        ({}, "/drawn/?code=wrong"),
        ({}, "/drawn/?code="),
        ({"cookie": "dojo_8000=wrong"}, "/drawn/"),
        ({"cookie": "dojo_8000=one"}, "/drawn/"),
        ({"cookie": "RIGHT"}, "/"),
        ({"cookie": "RIGHT", "host": "evil.example"}, "/drawn/"),
        ({"cookie": "RIGHT", "host": "127.0.0.1:9000"}, "/drawn/"),
        ({"cookie": "RIGHT", "origin": "http://evil.example"}, "/drawn/"),
        ({"cookie": "RIGHT", "origin": "null"}, "/drawn/"),
        ({"host": "evil.example"}, "/drawn/?code=one"),
        ({"x-dojo-token": "wrong"}, "/drawn/"),
        ({"x-dojo-token": ""}, "/drawn/"),
        ({"cookie": 'dojo_8000="'}, "/drawn/"),
    ],
)
def test_nobody_else_is_let_in(client, cookie, headers, path):
    headers = {name: cookie if text == "RIGHT" else text for name, text in headers.items()}
    assert client.get(path, headers=headers, follow_redirects=False).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect(path.replace("/drawn/", "/drawn/ws"), headers=OWN | headers),
    ):
        pass
    assert refused.value.code == 1008


def test_without_a_proxy_no_header_lets_one_in():
    app = Starlette(routes=[])
    app.add_middleware(Guard, bases=BASES, path="/drawn", codes=set())
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    assert client.get("/", headers={"x-dojo-token": ""}).status_code == 403


def test_the_own_page_and_a_proxy_open_a_socket(client, cookie):
    for path, headers in (
        ("/drawn/ws", {**OWN, "cookie": cookie, "origin": "http://127.0.0.1:8000"}),
        ("/ws", {"x-dojo-token": "right", "host": "hub.example", "origin": "https://hub.example"}),
    ):
        with client.websocket_connect(path, headers=headers) as socket:
            assert socket.receive_text() == "hello"


def test_a_page_runs_its_own_scripts_alone(client, cookie):
    answer = client.get("/drawn/", headers={"cookie": cookie})
    policy = answer.headers["content-security-policy"]
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert len(nonce) >= 20
    assert policy == POLICY.format(nonce=nonce)
    shown = f"<script nonce=\"{nonce}\">1</script><SCRIPT src='/x'></SCRIPT>&lt;script&gt;//drawn"
    assert answer.text == shown
    assert client.get("/drawn/", headers={"cookie": cookie}).headers["content-security-policy"] != policy
    assert client.get("/drawn/data", headers={"cookie": cookie}).text == "<script>"


def test_jupyter_starts_the_page_and_sends_its_token(monkeypatch):
    tile = setup()
    token = tile["environment"][TOKEN]
    assert len(token) >= 22
    assert tile["request_headers_override"] == {"X-Dojo-Token": token}
    assert tile["command"][1:] == ["-P", "-m", "grader.cli.grade", "page", "--port", "{port}"]
    monkeypatch.setenv(TOKEN, token)
    assert free_address().token == token
    assert TOKEN not in os.environ  # so that no worker inherits it
    assert free_address().token == ""
    assert free_address().path != free_address().path


def test_a_codespace_has_the_address_of_its_forwarded_port(monkeypatch):
    assert Address(8000).bases == ["http://127.0.0.1:8000", "http://localhost:8000"]
    monkeypatch.setenv("CODESPACE_NAME", "odd-space")
    monkeypatch.setenv("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    address = Address(8000, path="/x")
    before, _, code = address.new_url().rpartition("=")
    assert before == "https://odd-space-8000.app.github.dev/x/?code"
    assert address.codes == {code}
    assert len(code) >= 22
    assert Address(8000).bases[1:] == ["http://127.0.0.1:8000", "http://localhost:8000"]


def test_a_browser_is_started_with_nothing_secret(tmp_path, monkeypatch):
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    url = Address(8000).new_url()
    opened = without_secret(url, tmp_path)
    assert opened == (tmp_path / "open.html").as_uri()
    assert url in (tmp_path / "open.html").read_text()
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")  # its browser may be one of Windows
    assert without_secret(url, tmp_path) == url


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the browser is started with the address")
def test_the_page_is_served_below_its_path_and_its_browser_opens_it_once(tiny_course, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat "${{1#file://}}" > {tmp_path}/page\n')
    browser.chmod(0o755)
    taken = ("CI", "PYTEST_CURRENT_TEST", "WSL_DISTRO_NAME")
    environment = {name: value for name, value in os.environ.items() if name not in taken}
    words = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(tiny_course.root)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**environment, "BROWSER": f"{browser} %s"}
    ) as server:
        try:
            printed = re.search(r"http://\S+", server.stdout.readline())[0]
            deadline = time.monotonic() + 60
            while not (tmp_path / "page").is_file() or not (tmp_path / "page").read_text():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            [opened] = re.findall(r"http://[^\"]+", (tmp_path / "page").read_text())
            assert "http" not in (tmp_path / "words").read_text()
            for url in (printed, opened):
                own, origin = url.partition("/?")[0], "/".join(url.split("/")[:3])
                with httpx.Client(follow_redirects=True) as client:
                    shown = client.get(url)
                    assert shown.status_code == 200
                    assert httpx.get(url).status_code == 403
                    files = re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css))"', shown.text)
                    assert files
                    assert {client.get(origin + file).status_code for file in files} == {200}
                    assert all(file.startswith(own.removeprefix(origin)) for file in files)
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0


STATEMENT = """Double a number.

Text with <b>tags</b>, [a link](http://evil.example), ![](http://evil.example/x.png) and `code <i>`.

    an example
    ```
    <style>body { display: none }</style>

    <form action="http://evil.example"><a href="javascript:x">out</a></form>
    ````
    [a link](http://evil.example)

- <http://evil.example>
"""


def test_a_statement_is_shown_by_a_few_elements_alone():
    shown = MARKDOWN.render(to_markdown(STATEMENT))
    elements = set(re.findall(r"<(\w+)((?:\s[^>]*)?)>", shown))
    assert elements == {
        ("h2", ""), ("p", ""), ("pre", ""), ("ul", ""), ("li", ""), ("code", ""),
        ("code", ' class="language-text"'),
    }  # fmt: skip
    assert "&lt;style&gt;" in shown
    assert len(re.findall("<pre>", shown)) == 1  # no line of the example ends it


def test_a_statement_has_its_shapes_its_warning_and_its_pictures_where_they_belong():
    shown = rendered(
        "Title.\n\nThe x [..., T] is `[a, b]`.\n\n    m = [[1, 2], [3, 4]]\n\nWhat goes wrong: <b>.\n"
    )
    assert '<code class="shape">[..., T]</code> is <code>[a, b]</code>' in shown
    assert shown.index('</pre></div><div class="drawn"><figure>') < shown.index(
        '<p class="callout"><strong>What goes wrong:'
    )
    assert "&lt;b&gt;" in shown


def test_in_wsl_the_address_is_one_that_windows_forwards(monkeypatch):
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    assert Address(8000, path="/x").new_url().startswith("http://localhost:8000/x/?code=")
    assert Address(8000).bases[1:] == ["http://127.0.0.1:8000"]


# --- the judge ---


@contextmanager
def judge(course, **terms):
    """Yield `ask`, which sends questions to a judge and returns the last answer to each."""
    terms = JudgeTerms(str(course.root), str(course.exercises), "numpy", **terms)
    command = [sys.executable, "-P", "-m", "dojo_page.judge", msgspec.json.encode(terms).decode()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(*questions):
        process.stdin.write(b"".join(map(messages.framed, questions)))
        process.stdin.flush()
        found, frames = {}, Frames()
        while len(found) < len(questions):
            frames.add(process.stdout.read1())
            for answer in messages.answers_in(frames):
                if answer.is_last:
                    found[answer.number] = answer
        return [found[question.number] for question in questions]

    try:
        yield ask
    finally:
        process.stdin.close()
        assert process.wait(20) == 0
        process.stdout.close()


@pytest.mark.slow
def test_a_judge_says_what_grade_says(tiny_course):
    stub = tiny_course.root / "exercises/attention/double.py"
    with judge(tiny_course) as ask:
        [found] = ask(Grade(1, "double"))
        assert found.report.status == "not_started"
        stub.write_text(RIGHT.replace("x + x", "3 * x"))
        [found] = ask(Grade(2, "double"))
        assert (found.report.status, found.report.mistake.id) == ("failed", "triples")
        stub.write_text(RIGHT)
        [found] = ask(Grade(3, "double"))
        assert found.report.status == "passed"
        assert found.was == "0 / 10"
        [tried] = ask(
            Try(4, "double", "from double import double\nprint('hi')\nimport numpy as np\ndouble(np.eye(2))")
        )
        assert (tried.printed, tried.value, tried.problem) == ("hi\n", "[[2.0, 0.0], [0.0, 2.0]]", "")
        assert tried.pictures[0].panels[0].values == ((2.0, 0.0), (0.0, 2.0))
        told = [
            ("1 / 0", "ZeroDivisionError: division by zero (line 1 of these lines)"),
            ("print(", "Line 1: '(' was never closed."),
            ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "PermissionError"),
        ]
        for number, (lines, problem) in enumerate(told, 5):
            assert ask(Try(number, "double", lines))[0].problem.startswith(problem)
        assert ask(Grade(10, "triple"))[0].problem.startswith("There is no kata called `triple`.")
        stub.write_text(f"import torch\n\n{RIGHT}")
        [found] = ask(Grade(11, "double"))
        assert (found.report.status, found.report.library) == ("passed", "torch")
        [tried] = ask(Try(12, "double", "double(torch.ones(2))"))
        assert (tried.value, tried.problem) == ("[2.0, 2.0]", "")


@pytest.mark.slow
def test_a_new_grading_ends_the_one_before(tiny_course):
    stub = tiny_course.root / "exercises/attention/double.py"
    stub.write_text("def double(x):\n    while True:\n        pass\n")
    with judge(tiny_course) as ask:
        found = ask(Grade(1, "double"), Grade(2, "double"), Grade(3, "double"))
        assert [type(one) for one in found] == [Dropped, Dropped, Verdict]


def test_a_frame_that_is_too_large_is_refused():
    frames = Frames()
    frames.add(PREFIX.pack(MAGIC, 0, 2**32 - 1, 1))
    with pytest.raises(Malformed, match="a frame is larger than allowed"):
        list(messages.answers_in(frames))


def test_questions_may_come_in_pieces():
    read, write = os.pipe()
    inbox, data = Inbox(read), messages.framed(Grade(1, "double")) + messages.framed(Try(2, "double", "x"))
    os.write(write, data[:7])
    assert inbox.read() == []
    os.write(write, data[7:])
    assert inbox.read() == [Grade(1, "double"), Try(2, "double", "x")]
    assert not inbox.has_news
    os.write(write, data[:7])
    os.close(write)
    assert inbox.read() == []
    with pytest.raises(ChannelCut):
        inbox.read()
    os.close(read)


def test_the_end_of_the_questions_is_told_from_a_question_that_is_cut():
    read, write = os.pipe()
    os.write(write, messages.framed(Grade(1, "double")))
    os.close(write)
    inbox = Inbox(read)
    assert inbox.read() == [Grade(1, "double")]
    with pytest.raises(ChannelClosed) as closed:
        inbox.read()
    assert closed.type is ChannelClosed
    os.close(read)


@pytest.mark.slow
def test_a_judge_that_is_killed_is_started_again(tiny_course):
    terms = JudgeTerms(str(tiny_course.root), str(tiny_course.exercises), "numpy")

    async def last(answers):
        async with aclosing(answers):
            return [answer async for answer in answers][-1]

    async def work():
        judges = Judges(terms)
        assert isinstance(await last(judges.grade("numpy", "double")), Verdict)
        judge = judges._judge("numpy")
        running = asyncio.create_task(last(judges.run("numpy", "double", "while True: pass")))
        await asyncio.sleep(0.5)
        judge.process.kill()
        assert await running == Dropped(2, ENDED)
        assert isinstance(await last(judges.run("numpy", "double", "1")), Tried)
        await judges.end()
        assert judge.process.returncode >= 0  # not killed; asyncio says 255 where it is late for the status

    asyncio.run(work())


@pytest.mark.slow
def test_half_a_character_that_is_typed_is_judged_as_another_one(tiny_course):
    """A browser, an editor and an assistant can send one: half of a pair, which UTF-8 has no bytes for."""
    right = (tiny_course.root / "solutions/attention/double/reference.py").read_text()

    async def work():
        judges = Judges(JudgeTerms(str(tiny_course.root), str(tiny_course.exercises), "numpy"))
        async with aclosing(judges.grade("numpy", "double", f"{right}# \ud800\n")) as answers:
            assert [answer async for answer in answers][-1].report.status == "passed"
        async with aclosing(
            judges.run("numpy", "double", "print('\ud800')", f"{right}# \ud800\n")
        ) as answers:
            assert [answer async for answer in answers][-1].printed == "?\n"
        await judges.end()

    asyncio.run(work())


@pytest.mark.slow
def test_a_judge_that_does_not_end_with_its_input_is_ended(tiny_course):
    async def work():
        command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        judge = JudgeProcess(JudgeTerms(str(tiny_course.root), str(tiny_course.exercises), "numpy"))
        judge.process = await asyncio.create_subprocess_exec(*command, **pipes, start_new_session=True)
        await judge.process.stdout.readline()
        judge.process.stdin.close()
        await end(judge.process, wait=0.1)
        assert judge.process.returncode in (-signal.SIGTERM, 255)

    asyncio.run(work())


@pytest.mark.slow
def test_a_text_is_written_by_a_process_of_its_own():
    terms = JudgeTerms(str(ROOT), str(ROOT / "exercises"), "numpy")

    async def work():
        judges = Judges(terms)
        async with aclosing(judges.speak(Wish("Once"), mine=False)) as answers:
            found = [answer async for answer in answers]
        await judges.end()
        return found

    *said, written = asyncio.run(work())
    assert "".join(piece.text for piece in said)
    assert written.is_recorded  # the files are as they were handed out


# --- the command ---


def test_a_port_goes_with_the_page(tiny_course):
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--port", "8080"])
    assert (result.exit_code, result.output) == (
        4,
        "`--port` goes with `grade page`: grade page --port.\n",
    )


def test_a_port_that_is_taken_is_said(tiny_course):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--page", "--port", port])
    assert (result.exit_code, result.output) == (
        4,
        f"Port {port} is taken; leave out --port for a free one.\n",
    )


def test_without_nicegui_it_is_said_how_to_install_it(tiny_course, monkeypatch):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    for name in [name for name in sys.modules if name.startswith("dojo_page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("dojo_page.server", raising=False)
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--page"])
    said = (
        "The page needs NiceGUI and markdown-it-py, which are not installed:"
        " pip install 'nicegui>=3.18' 'markdown-it-py>=4'\n"
    )
    assert (result.exit_code, result.output) == (4, said)


def test_terms_hold_absolute_paths(tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    from grader.cli.options import GradeOptions

    terms = JudgeTerms.of(Course(tiny_course.root), GradeOptions(no_search=True))
    assert (terms.root, terms.search, terms.key) == (str(tiny_course.root), 0.0, None)
