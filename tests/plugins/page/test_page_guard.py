"""Who is let in to the page: the guard, and how a tab comes back after a restart."""

import json
import os
import stat
import time
from contextlib import suppress

import pytest

pytest.importorskip("starlette", reason="the extra `page` is not installed")
pytest.importorskip("uvicorn", reason="the extra `page` is not installed")

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dojo_page.command import without_secret
from dojo_page.guard import FRAME_POLICY, POLICY, Guard
from dojo_page.jupyter import TOKEN, setup
from dojo_page.returning import SERVER, TAB, KeptPage, Returning, keep_page, kept_file, kept_page
from dojo_page.server import Address, open_address
from grader.errors import CourseError
from grader.worker.child.sandbox.allowed_paths import allowed

OWN = {"host": "127.0.0.1:8000"}
BASES = ["http://127.0.0.1:8000", "http://localhost:8000", "https://odd-8000.app.github.dev"]
FORMER = "/former"
REFUSED = (
    "This page opens with the address that `grade page` prints, which is good for one browser. End the page"
    " and start it again for another one.\n"
)


@pytest.fixture
def returning():
    return Returning("the key of the page, which no tab ever sends")


@pytest.fixture
def client(returning):
    async def page(request):
        return HTMLResponse(f"<script>1</script>{request.url.path}")

    async def data(_):
        return PlainTextResponse("data")

    async def socket(websocket):
        await websocket.accept()
        await websocket.send_text("hello")

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/data", data),
            Route("/frame.html", page),
            WebSocketRoute("/ws", socket),
        ]
    )
    given = {"former": [FORMER], "returning": returning, "token": "right"}
    app.add_middleware(Guard, bases=BASES, path="/drawn", codes={"one", "two"}, **given)
    return TestClient(app, base_url="http://127.0.0.1:8000")


@pytest.fixture
def cookie(client):
    """The cookie of a browser that has been let in, as a header."""
    entered = client.get("/drawn/?code=two", follow_redirects=False)
    client.cookies.clear()
    return entered.headers["set-cookie"].partition(";")[0]


def is_refused(client, path, headers):
    """Whether neither a request nor a socket is let in."""
    answer = client.get(path, headers=headers, follow_redirects=False)
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect(path.replace("/drawn/", "/drawn/ws"), headers=OWN | headers),
    ):
        pass
    return answer.status_code == 403 and refused.value.code == 1008


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
    assert (refused.status_code, refused.text) == (403, REFUSED)
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


def test_the_page_is_served_below_its_path_whatever_a_header_says(client, cookie):
    answer = client.get("/drawn/", headers={"cookie": cookie, "x-forwarded-prefix": "//evil.example"})
    assert answer.text == "<script>1</script>/"


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
    assert is_refused(client, path, {n: cookie if text == "RIGHT" else text for n, text in headers.items()})


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


def test_a_page_runs_its_own_files_alone_and_evaluates_no_text(client, cookie):
    headers = client.get("/drawn/", headers={"cookie": cookie}).headers
    assert headers["content-security-policy"] == POLICY
    assert "script-src 'self';" in POLICY
    assert "unsafe-eval" not in POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert client.get("/drawn/data", headers={"cookie": cookie}).headers["content-security-policy"] == POLICY


def test_a_frame_has_an_origin_of_its_own_and_reaches_nothing(client, cookie):
    headers = client.get("/drawn/frame.html", headers={"cookie": cookie}).headers
    assert headers["content-security-policy"] == FRAME_POLICY
    assert FRAME_POLICY.startswith("sandbox allow-scripts; default-src 'none';")
    assert not {"connect-src", "allow-same-origin"} & set(FRAME_POLICY.replace(";", " ").split())


# --- a tab that was open when the server was started again ---


def proof(client, returning, path=FORMER, **changes):
    """What a tab says with which it comes back: the server's number, and its own proof."""
    asked = client.get(f"{path}/return?nonce=tabs", headers=changes.pop("headers", {})).json()
    assert asked["proof"] == returning.proof(SERVER, "tabs", asked["nonce"])
    key = changes.pop("key", returning.key)
    said = {"nonce": asked["nonce"], "proof": Returning(key).proof(TAB, "tabs", asked["nonce"]), **changes}
    return "&".join(f"{name}={text}" for name, text in said.items())


def opens(client, address, headers=OWN):
    with suppress(WebSocketDisconnect), client.websocket_connect(address, headers=headers) as socket:
        return socket.receive_text() == "hello"
    return False


@pytest.mark.parametrize("path", [FORMER, "/drawn"])
def test_who_proves_the_key_comes_back_once(client, returning, path):
    said = proof(client, returning, path)
    assert opens(client, f"{path}/ws?{said}")
    assert not opens(client, f"{path}/ws?{said}")


def test_nobody_comes_back_without_the_key(client, returning):
    assert not opens(client, f"{FORMER}/ws")
    assert not opens(client, f"{FORMER}/ws?nonce=&proof=")
    assert not opens(client, f"{FORMER}/ws?{proof(client, returning, key='another')}")
    assert not opens(client, f"{FORMER}/ws?{proof(client, returning, nonce='another')}")
    asked = client.get(f"{FORMER}/return?nonce=tabs").json()
    assert not opens(client, f"{FORMER}/ws?nonce={asked['nonce']}&proof={asked['proof']}")  # the server's own
    for headers in ({"host": "evil.example"}, {**OWN, "origin": "http://evil.example"}):
        assert not opens(client, f"{FORMER}/ws?{proof(client, returning)}", headers)
    assert not opens(client, f"/another/ws?{proof(client, returning)}")


def test_what_a_tab_sends_helps_nobody_who_serves_at_the_port_meanwhile(returning):
    """Such a server chooses its number, and gets no proof before it has given one of its own."""
    theirs = Returning("guessed")
    asked = theirs.challenge("tabs")
    assert asked["proof"] != returning.proof(SERVER, "tabs", asked["nonce"])
    heard = returning.proof(TAB, "tabs", asked["nonce"])  # even if a tab had answered
    later = returning.challenge("tabs")
    assert not returning.is_proved(later["nonce"], heard)
    assert not returning.is_proved(asked["nonce"], heard)


def test_at_a_former_path_there_are_the_files_and_no_cookie(client, cookie):
    """Another server of this machine may know that path, and would get a cookie of it."""
    assert client.get(f"{FORMER}/data").text == "data"
    entered = client.get(f"{FORMER}/?code=one", follow_redirects=False)
    assert "set-cookie" not in entered.headers
    assert not opens(client, f"{FORMER}/ws", {**OWN, "cookie": cookie})
    assert client.get(f"{FORMER}/data", headers={"host": "evil.example"}).status_code == 403
    assert client.get(f"{FORMER}/data", headers={"origin": "http://evil.example"}).status_code == 403


def test_numbers_that_wait_are_bounded(returning):
    first = returning.challenge("x" * 10_000)
    for _ in range(1000):
        returning.challenge("y")
    assert not returning.is_proved(first["nonce"], returning.proof(TAB, "x" * 100, first["nonce"]))
    assert len(returning._waiting) <= 65


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A course's folder, and a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(TOKEN, raising=False)
    return tmp_path


def test_a_page_that_is_started_again_has_its_port_and_key_and_another_path(kept):
    first, listener = open_address(kept)
    listener.close()
    again, listener = open_address(kept)
    assert (again.port, again.returning.key) == (first.port, first.returning.key)
    assert again.former == (first.path,)
    assert again.path != first.path
    other, free = open_address(kept)  # while the page is served
    assert other.port != first.port
    assert (other.former, other.returning.key) != (again.former, again.returning.key)
    listener.close()
    third, listener = open_address(kept)
    assert (third.port, third.former) == (first.port, (again.path, first.path))
    for one in (free, listener):
        one.close()


def test_what_is_kept_can_be_read_by_its_user_alone_and_by_no_worker(kept):
    _, listener = open_address(kept)
    listener.close()
    file = kept_file(kept)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    open_to_workers = [path for path, _ in allowed(str(kept / "scratch"))]
    assert not any(str(file).startswith(f"{path}/") or str(file) == path for path in open_to_workers)
    assert file.is_relative_to(kept / "cache")
    assert not (kept / ".dojo").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.chmod(0o644),
        lambda file: file.write_text("{"),
        lambda file: file.write_text("[]"),
        lambda file: file.write_text(json.dumps({"port": 1, "paths": ["/"], "key": "x" * 40})),
        lambda file: file.write_text(json.dumps({"port": 1, "paths": ["/0123456789abcdef"], "key": ""})),
        lambda file: os.utime(file, (time.time() - 31 * 24 * 3600,) * 2),
        lambda file: (file.rename(file.with_name("x")), file.symlink_to(file.with_name("x"))),
    ],
)
def test_what_another_could_have_written_or_read_is_not_taken(kept, spoil):
    keep_page(kept, KeptPage(1, ["/0123456789abcdef"], "x" * 40))
    assert kept_page(kept) is not None
    spoil(kept_file(kept))
    assert kept_page(kept) is None


def test_where_nothing_can_be_kept_the_page_is_served_all_the_same(kept):
    (kept / "cache").write_text("no folder")
    address, listener = open_address(kept)
    listener.close()
    assert address.former == ()
    assert kept_page(kept) is None


# --- the address ---


def test_jupyter_starts_the_page_and_sends_its_token(monkeypatch, kept):
    tile = setup()
    token = tile["environment"][TOKEN]
    assert len(token) >= 22
    assert tile["request_headers_override"] == {"X-Dojo-Token": token}
    assert tile["command"][1:] == ["-P", "-m", "grader.cli.grade", "page", "--port", "{port}"]
    monkeypatch.setenv(TOKEN, token)
    address, listener = open_address(kept)
    listener.close()
    assert address.token == token
    assert TOKEN not in os.environ  # so that no worker inherits it
    assert not kept_file(kept).exists()
    other, listener = open_address(kept)
    listener.close()
    assert other.token == ""
    assert other.path != address.path


def test_a_port_that_is_taken_is_said(kept):
    address, listener = open_address(kept)
    with pytest.raises(CourseError, match=f"Port {address.port} is taken; leave out --port for a free one."):
        open_address(kept, address.port)
    listener.close()


def test_a_codespace_has_the_address_of_its_forwarded_port(monkeypatch):
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    assert Address(8000).bases == ["http://127.0.0.1:8000", "http://localhost:8000"]
    monkeypatch.setenv("CODESPACE_NAME", "odd-space")
    monkeypatch.setenv("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    address = Address(8000, path="/x")
    before, _, code = address.new_url().rpartition("=")
    assert before == "https://odd-space-8000.app.github.dev/x/?code"
    assert address.codes == {code}
    assert len(code) >= 22
    assert Address(8000).bases[1:] == ["http://127.0.0.1:8000", "http://localhost:8000"]


def test_in_wsl_the_address_is_one_that_windows_forwards(monkeypatch):
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    assert Address(8000, path="/x").new_url().startswith("http://localhost:8000/x/?code=")
    assert Address(8000).bases[1:] == ["http://127.0.0.1:8000"]


def test_a_browser_is_started_with_nothing_secret(tmp_path, monkeypatch):
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    url = Address(8000).new_url()
    opened = without_secret(url, tmp_path)
    assert opened == (tmp_path / "open.html").as_uri()
    assert url in (tmp_path / "open.html").read_text()
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")  # its browser may be one of Windows
    assert without_secret(url, tmp_path) == url
