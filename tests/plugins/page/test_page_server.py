"""The page as it is served: from the command to the socket, and back after a restart."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette", reason="the extra `page` is not installed")
pytest.importorskip("uvicorn", reason="the extra `page` is not installed")
pytest.importorskip("markdown_it", reason="the extra `page` is not installed")

import httpx2
from starlette.testclient import TestClient
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from dojo_page import protocol
from dojo_page.guard import POLICY
from dojo_page.judges import Judges
from dojo_page.messages import JudgeTerms
from dojo_page.returning import TAB, Returning
from dojo_page.server import FRONT, LARGEST_MESSAGE, Address, application
from grader.cli.grade import grade
from grader.installing import install_command

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
SECONDS = 60


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Tab:
    """A socket as a front end has it."""

    def __init__(self, socket, receive="receive_text"):
        self.socket, self.number, self.pushed = socket, 0, []
        self._receive = getattr(socket, receive)

    def send(self, kind, **given):
        self.number += 1
        text = json.dumps({"v": protocol.VERSION, "id": self.number, "kind": kind, **given})
        getattr(self.socket, "send_text", self.socket.send)(text)
        return self.number

    def read(self):
        return json.loads(self._receive())

    def answers(self, number):
        """The answers to a request; what was not asked for is kept."""
        found = []
        while not (found and found[-1]["last"]):
            message = self.read()
            (found if message["id"] == number else self.pushed).append(message)
        return found

    def ask(self, kind, **given):
        return self.answers(self.send(kind, **given))[-1]


# --- the socket, in this process ---


@pytest.fixture
def tab(tiny_course):
    terms = JudgeTerms(str(tiny_course.root), str(tiny_course.exercises), "numpy")
    address = Address(8000, path="/drawn", codes={"one"})
    app = application(tiny_course, Judges(terms), address)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        entered = client.get("/drawn/?code=one", follow_redirects=False)
        cookie = entered.headers["set-cookie"].partition(";")[0]
        headers = {"host": "127.0.0.1:8000", "cookie": cookie}
        with client.websocket_connect("/drawn/socket", headers=headers) as socket:
            tab = Tab(socket)
            assert tab.read() == {
                "id": 0,
                "kind": "entered",
                "last": True,
                "key": address.returning.key,
                "address": "",
            }
            tab.client, tab.headers = client, headers
            yield tab


def test_a_front_end_is_answered(tab):
    assert tab.ask("hello")["kind"] == "course"
    opened = tab.ask("open", kata="double")
    saved = tab.ask("save", kata="double", text=RIGHT, base=opened["digest"])
    assert (opened["kind"], saved["kind"]) == ("opened", "saved")


def test_the_files_of_the_front_end_are_served_with_the_policy(tab):
    for name in ("", "index.html", "socket.js", "styles.css", "vendor/vendor.js"):
        answer = tab.client.get(f"/drawn/{name}")
        assert (answer.status_code, answer.headers["content-security-policy"]) == (200, POLICY)
    for name in ("../server.py", "%2e%2e/server.py", "..%2fserver.py", "/etc/passwd", "nothing.js", "vendor"):
        assert tab.client.get(f"/drawn/{name}").status_code in (403, 404)


def test_the_front_end_has_no_script_of_its_own_in_a_page_but_in_the_frame():
    index = (FRONT / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", index)
    assert not re.search(r"\son\w+=|<style|\sstyle=", index)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[" * 100_000,
        '{"v": 1}',
        '{"v": 1, "id": 7, "kind": "open"}',
        '{"v": 1, "id": 7, "kind": "open", "kata": 3}',
        '{"v": 9, "id": 7, "kind": "hello"}',
        '{"v": 1, "id": 7, "kind": "guess", "line": ' + "9" * 5000 + "}",
        '{"v": 1, "id": 7, "kind": "speak", "prompt": "", "settings": {"top_p": NaN}}',
    ],
)
def test_what_is_no_request_is_a_problem_and_the_socket_goes_on(tab, text):
    tab.socket.send_text(text)
    message = tab.read()
    while message["kind"] == "progress":
        message = tab.read()
    assert message["kind"] in ("problem", "dropped")
    assert message["last"]
    assert tab.ask("open", kata="double")["kind"] == "opened"


def test_bytes_end_the_socket_and_nothing_else(tab):
    tab.socket.send_bytes(b"\0")
    with tab.client.websocket_connect("/drawn/socket", headers=tab.headers) as socket:
        assert Tab(socket).read()["kind"] == "entered"


def test_what_another_program_writes_is_told_without_a_request(tab, tiny_course):
    file = tiny_course.stub(tiny_course.kata_info("double"))
    tab.ask("open", kata="double")
    file.write_text("x = 3\n")
    changed = tab.read()
    assert (changed["id"], changed["kind"], changed["text"]) == (0, "changed", "x = 3\n")


def test_a_fault_of_ours_is_told_and_the_socket_goes_on(tab, monkeypatch):
    monkeypatch.setattr("dojo_page.desk.standings", lambda _: 1 / 0)
    told = tab.ask("hello")
    assert told["kind"] == "problem"
    assert told["text"].startswith("This is our fault, not yours; your file is unchanged. (ZeroDivisionError")
    assert tab.ask("open", kata="double")["kind"] == "opened"


def test_requests_are_carried_out_in_their_order(tab, tiny_course):
    file = tiny_course.stub(tiny_course.kata_info("double"))
    base = tab.ask("open", kata="double")["digest"]
    numbers = [tab.send("save", kata="double", text=f"x = {at}\n", base=base, over=True) for at in range(50)]
    kinds = [tab.read()["kind"] for _ in numbers]
    assert kinds == ["saved"] * 50
    assert file.read_text() == "x = 49\n"


@pytest.mark.slow
def test_a_new_text_ends_the_judging_of_the_one_before_and_a_stop_ends_it_too(tab):
    endless = "def double(x):\n    while True:\n        pass\n"
    tab.ask("try", kata="double", text=RIGHT, lines="1")  # the judge has started
    first = tab.send("grade", kata="double", text=endless)
    second = tab.send("grade", kata="double", text=RIGHT)
    assert tab.answers(first)[-1]["kind"] == "dropped"
    assert tab.answers(second)[-1]["score"] == "10 / 10"
    third = tab.send("grade", kata="double", text=endless)
    time.sleep(1.0)
    tab.send("stop")
    told = tab.answers(third)[-1]
    assert (told["kind"], told["problem"]) == ("dropped", "Stopped.")
    assert tab.ask("grade", kata="double", text=RIGHT)["score"] == "10 / 10"


# --- the command ---


@contextmanager
def served(course, *options, **variables):
    """`grade page` as a process, with the address that it prints; Ctrl-C ends it with the exit code 0."""
    taken = ("CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "PYTEST_CURRENT_TEST", "WSL_DISTRO_NAME")
    environment = {name: value for name, value in os.environ.items() if name not in taken} | variables
    words = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(course.root), *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            title, url = re.fullmatch(r"(.*) is at (http://\S+)\n", server.stdout.readline()).groups()
            assert title == course.syllabus.title
            assert server.stdout.readline() == "Ctrl-C ends it.\n"
            yield server, url
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
                assert server.wait(30) == 0


def entered(url):
    """The address without its code, and the cookie, as a browser has them after its visit."""
    with httpx2.Client(follow_redirects=True) as client:
        shown = client.get(url)
        assert shown.status_code == 200
        return url.partition("?")[0], "; ".join(f"{name}={text}" for name, text in client.cookies.items())


def socket_at(address, cookie="", query=""):
    headers = {"Cookie": cookie} if cookie else {}
    return connect(
        f"{address.replace('http', 'ws')}socket{query}", additional_headers=headers, open_timeout=SECONDS
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the browser is started with the address")
def test_the_page_is_served_below_its_path_and_its_browser_opens_it_once(tiny_course, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat "${{1#file://}}" > {tmp_path}/page\n')
    browser.chmod(0o755)
    with served(tiny_course, BROWSER=f"{browser} %s") as (_, printed):
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "page").is_file() or not (tmp_path / "page").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        [opened] = re.findall(r"http://[^\"]+", (tmp_path / "page").read_text())
        assert "http" not in (tmp_path / "words").read_text()
        for url in (printed, opened):
            with httpx2.Client(follow_redirects=True) as client:
                shown = client.get(url)
                assert shown.status_code == 200
                assert httpx2.get(url).status_code == 403
                files = re.findall(r'(?:src|href)="([^"#]+\.(?:js|css|svg))"', shown.text)
                assert files
                assert not any(file.startswith(("/", "http")) for file in files)
                below = [url.partition("?")[0] + file for file in files]
                assert {client.get(file).status_code for file in below} == {200}
                assert {httpx2.get(file).status_code for file in below} == {403}


@pytest.mark.slow
def test_a_tab_comes_back_to_a_server_that_was_killed_and_saves_what_was_typed_meanwhile(tiny_course):
    file = tiny_course.stub(tiny_course.kata_info("double"))
    with served(tiny_course) as (server, url):
        former, cookie = entered(url)
        with socket_at(former, cookie) as socket:
            tab = Tab(socket, "recv")
            key = tab.read()["key"]
            base = tab.ask("open", kata="double")["digest"]
            base = tab.ask("save", kata="double", text="x = 1\n", base=base)["digest"]
            server.kill()
            server.wait()
    with served(tiny_course) as (_, url):
        assert url.split("/")[2] == former.split("/")[2]  # the port
        assert not url.startswith(former)
        with pytest.raises(InvalidStatus):
            socket_at(former, cookie)
        with pytest.raises(InvalidStatus):
            socket_at(url.partition("?")[0], cookie)
        asked = httpx2.get(f"{former}return?nonce=tabs").json()
        proof = Returning(key).proof(TAB, "tabs", asked["nonce"])
        with socket_at(former, query=f"?nonce={asked['nonce']}&proof={proof}") as socket:
            tab = Tab(socket, "recv")
            told = tab.read()
            assert told["key"] == key
            now, cookie = entered(f"{former.rpartition(former.split('/', 3)[3])[0]}{told['address'][1:]}")
            assert now == url.partition("?")[0]
            with socket_at(now, cookie) as another:  # the tab is loaded again
                assert Tab(another, "recv").read()["address"] == ""
            assert tab.ask("save", kata="double", text="x = 2\n", base=base)["kind"] == "saved"
            assert file.read_text() == "x = 2\n"
            assert tab.ask("grade", kata="double", text=RIGHT)["score"] == "10 / 10"


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_behind_while_a_judge_works(tiny_course):
    with served(tiny_course) as (_, url):
        address, cookie = entered(url)
        with socket_at(address, cookie) as socket:
            tab = Tab(socket, "recv")
            tab.ask("try", kata="double", text=RIGHT, lines="1")
            tab.send("try", kata="double", text=RIGHT, lines="while True: pass")
            time.sleep(0.5)
    if sys.platform == "linux":
        left = subprocess.run(["pgrep", "-f", f"dojo_page.judge_process.*{tiny_course.root}"], check=False)
        assert left.returncode == 1


@pytest.mark.slow
def test_a_message_that_is_too_large_ends_its_socket_alone(tiny_course):
    with served(tiny_course) as (_, url):
        address, cookie = entered(url)
        with socket_at(address, cookie) as one, socket_at(address, cookie) as other:
            one.send("x" * (LARGEST_MESSAGE + 1))
            one.recv()
            with pytest.raises(ConnectionClosedError, match="1009"):
                one.recv()
            assert Tab(other, "recv").ask("open", kata="double")["kind"] == "opened"


def test_a_port_goes_with_the_page(tiny_course):
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--port", "8080"])
    assert (result.exit_code, result.output) == (
        4,
        "`--port` goes with `grade page`: grade page --port.\n",
    )


def test_a_port_that_is_taken_is_said(tiny_course):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--page", "--port", port])
    assert (result.exit_code, result.output) == (
        4,
        f"Port {port} is taken; leave out --port for a free one.\n",
    )


@pytest.mark.parametrize("missing", ["uvicorn", "markdown_it", "websockets"])
def test_without_what_serves_it_it_is_said_how_to_install_it(tiny_course, monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith(("dojo_page", "uvicorn", missing))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    result = CliRunner().invoke(grade, ["--course", str(tiny_course.root), "--page"])
    said = "The page needs Starlette, Uvicorn, websockets and markdown-it-py, which are not installed: "
    packages = "'starlette>=1.0' 'uvicorn>=0.40' 'websockets>=15' 'markdown-it-py>=4'\n"
    assert (result.exit_code, result.output) == (4, f"{said}{install_command()} {packages}")
