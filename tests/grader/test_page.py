"""The page without a browser: the file as an editor holds it, who is let in, what a judge answers."""

import asyncio
import hashlib
import os
import subprocess
import sys
from contextlib import aclosing, contextmanager

import msgspec
import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.report import CheckReport, KataReport, Place, Repair

pytest.importorskip("nicegui", reason="the extra `page` is not installed")

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from grader.page import editor, messages, questions
from grader.page.document import Document
from grader.page.guard import POLICY, Guard
from grader.page.history import MOST, History
from grader.page.judges import ENDED, Judges
from grader.page.jupyter import TOKEN, setup
from grader.page.messages import Dropped, Grade, Inbox, Terms, Tried, Try, Verdict
from grader.page.server import Address, free_address

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"


# --- the file ---


def document(tmp_path, data=b"x = 1\n"):
    path = tmp_path / "double.py"
    path.write_bytes(data)
    return Document(path)


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
        (lambda path: path.mkdir(), "is a folder."),
        (lambda path: path.symlink_to("/etc/passwd"), "is a link."),
        (os.mkfifo, "is no regular file."),
    ],
)
def test_what_cannot_be_edited_is_said_and_stays(tmp_path, make, problem):
    path = tmp_path / "double.py"
    make(path)
    file = Document(path)
    assert file.problem == f"double.py {problem}"
    assert file.text == ""


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
    for number in range(MOST + 5):
        history.add(judged(str(number)), str(number))
    assert [one.source for one in history.versions()] == [str(number) for number in range(5, MOST + 5)]


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
        editor.Mark(Place(1, "  x"), "a"),
        editor.Mark(Place(9, "y"), "b"),
        editor.Mark(Place(2, ""), "c"),
    ]
    assert editor.decorations("  x = 1\n\n", marks) == [
        {"kind": "mark", "from": 2, "to": 7, "class": "in-question"}
    ]


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


@pytest.mark.parametrize("value", ["(2,", "x = 1", "1\n\nimport os", "1) + (2", "2; import os", "#"])
def test_what_is_no_value_is_refused(value):
    with pytest.raises(SyntaxError):
        questions.with_answer(PAGE, "SCALE", value)


# --- who is let in ---


OWN = {"host": "127.0.0.1:8000"}
RIGHT_COOKIE = f"dojo_{hashlib.sha256(b'right').hexdigest()[:8]}=right"


@pytest.fixture
def client():
    async def page(_):
        return HTMLResponse("<script>1</script><SCRIPT src='/x'></SCRIPT>&lt;script&gt;")

    async def data(_):
        return PlainTextResponse("<script>")

    async def socket(websocket):
        await websocket.accept()
        await websocket.send_text("hello")

    app = Starlette(routes=[Route("/", page), Route("/data", data), WebSocketRoute("/ws", socket)])
    app.add_middleware(Guard, token="right", bases=["http://127.0.0.1:8000", "http://localhost:8000"])
    return TestClient(app, base_url="http://127.0.0.1:8000")


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(client):
    entered = client.get("/?token=right&x=1", follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "/?x=1")
    assert entered.headers["set-cookie"] == f"{RIGHT_COOKIE}; HttpOnly; Path=/; SameSite=strict"
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/"),
        ({}, "/?token=wrong"),
        ({}, "/?token="),
        ({"cookie": RIGHT_COOKIE.replace("=right", "=wrong")}, "/"),
        ({"cookie": RIGHT_COOKIE, "host": "evil.example"}, "/"),
        ({"cookie": RIGHT_COOKIE, "host": "127.0.0.1:9000"}, "/"),
        ({"cookie": RIGHT_COOKIE, "origin": "http://evil.example"}, "/"),
        ({"cookie": RIGHT_COOKIE, "origin": "null"}, "/"),
        ({"host": "evil.example"}, "/?token=right"),
        ({"x-dojo-token": "wrong"}, "/"),
        ({"cookie": RIGHT_COOKIE.replace("=right", '="')}, "/"),
    ],
)
def test_nobody_else_is_let_in(client, headers, path):
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert answer.text == "This page opens with the address that `grade --page` prints.\n"
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect("/ws", headers=OWN | headers),
    ):
        pass
    assert refused.value.code == 1008


def test_the_own_page_and_a_proxy_open_a_socket(client):
    for headers in (
        {**OWN, "cookie": RIGHT_COOKIE, "origin": "http://127.0.0.1:8000"},
        {"x-dojo-token": "right", "host": "hub.example", "origin": "https://hub.example"},
    ):
        with client.websocket_connect("/ws", headers=headers) as socket:
            assert socket.receive_text() == "hello"


def test_a_page_runs_its_own_scripts_alone(client):
    answer = client.get("/", headers={"cookie": RIGHT_COOKIE})
    policy = answer.headers["content-security-policy"]
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert len(nonce) >= 20
    assert policy == POLICY.format(nonce=nonce)
    assert answer.text == (f"<script nonce=\"{nonce}\">1</script><SCRIPT src='/x'></SCRIPT>&lt;script&gt;")
    assert client.get("/", headers={"cookie": RIGHT_COOKIE}).headers["content-security-policy"] != policy
    assert client.get("/data", headers={"cookie": RIGHT_COOKIE}).text == "<script>"


def test_jupyter_starts_the_page_and_sends_its_token(monkeypatch):
    tile = setup()
    token = tile["environment"][TOKEN]
    assert len(token) >= 22
    assert tile["request_headers_override"] == {"X-Dojo-Token": token}
    assert tile["command"][1:] == ["-P", "-m", "grader.cli.grade", "--page", "--port", "{port}"]
    monkeypatch.setenv(TOKEN, token)
    assert free_address().token == token
    assert TOKEN not in os.environ  # so that no worker inherits it
    assert free_address().token != free_address().token


def test_a_codespace_has_the_address_of_its_forwarded_port(monkeypatch):
    assert Address(8000, "x").bases == ["http://127.0.0.1:8000", "http://localhost:8000"]
    monkeypatch.setenv("CODESPACE_NAME", "odd-space")
    monkeypatch.setenv("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    assert Address(8000, "x").url == "https://odd-space-8000.app.github.dev/?token=x"
    assert Address(8000, "x").bases[1:] == ["http://127.0.0.1:8000", "http://localhost:8000"]


def test_in_wsl_the_address_is_one_that_windows_forwards(monkeypatch):
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    assert Address(8000, "x").url == "http://localhost:8000/?token=x"
    assert Address(8000, "x").bases[1:] == ["http://127.0.0.1:8000"]


# --- the judge ---


@contextmanager
def judge(course, **terms):
    """Yield `ask`, which sends questions to a judge and returns the last answer to each."""
    terms = Terms(str(course.root), str(course.exercises), "numpy", **terms)
    command = [sys.executable, "-P", "-m", "grader.page.judge", msgspec.json.encode(terms).decode()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(*questions):
        process.stdin.write(b"".join(map(messages.framed, questions)))
        process.stdin.flush()
        found = {}
        while len(found) < len(questions):
            answer = messages.to_answer(process.stdout.read(messages.length_of(process.stdout.read(4))))
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
        assert found.changed.startswith("double   ")
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
    with pytest.raises(ValueError, match="a frame of 4294967295 bytes"):
        messages.length_of(b"\xff" * 4)


def test_questions_may_come_in_pieces():
    read, write = os.pipe()
    inbox, data = Inbox(read), messages.framed(Grade(1, "double")) + messages.framed(Try(2, "double", "x"))
    os.write(write, data[:7])
    assert inbox.read() == []
    os.write(write, data[7:])
    assert inbox.read() == [Grade(1, "double"), Try(2, "double", "x")]
    assert not inbox.has_news
    os.close(write)
    with pytest.raises(EOFError):
        inbox.read()
    os.close(read)


@pytest.mark.slow
def test_a_judge_that_is_killed_is_started_again(tiny_course):
    terms = Terms(str(tiny_course.root), str(tiny_course.exercises), "numpy")

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


# --- the command ---


def test_a_port_goes_with_the_page(tiny_course):
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--port", "8080"])
    assert (result.exit_code, result.output) == (
        4,
        "`--port` goes with `--page`: grade --page --port 8080.\n",
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
    for name in [name for name in sys.modules if name.startswith("grader.page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("grader.page.server", raising=False)
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--page"])
    said = "The page needs NiceGUI, which is not installed: pip install 'nicegui>=3.18'\n"
    assert (result.exit_code, result.output) == (4, said)


def test_terms_hold_absolute_paths(tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    from grader.cli.options import GradeOptions

    terms = Terms.of(Course(tiny_course.root), GradeOptions(no_search=True))
    assert (terms.root, terms.search, terms.key) == (str(tiny_course.root), 0.0, None)
