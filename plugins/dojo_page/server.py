"""Serve the page to the person at this machine: `grade page`.

Let in nobody but the person at this machine, and let the page load nothing from anywhere else.

An address holds a code that is good for one use: it is exchanged for a cookie that scripts cannot read. All
addresses begin with a path that was drawn, and the cookie is of that path, since ports share their cookies:
another server of this machine does not get it. A request's Host must be this server's, and its Origin, if it
has one, too: a page of another site opens no socket. A proxy that has checked the person itself, such as
Jupyter's, sends a token in a header, and has its own host and path.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from nicegui import app, html, ui
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dojo_page.judges import Judges
from dojo_page.jupyter import TOKEN
from dojo_page.kata_view import KataView
from dojo_page.messages import JudgeTerms
from dojo_page.path_view import PathView, SeeView, SpeakView
from dojo_page.review_view import ReviewView
from dojo_page.workplace import Workplace, prefix, press_question_mark
from grader.course.catalog import Course
from grader.errors import CourseError
from grader.formats import pages

HEADER, PREFIX = b"x-dojo-token", b"x-forwarded-prefix"
PARAMETER, NAME = "code", "dojo"  # of the address, and of the cookie
SCRIPT = re.compile(rb"<script\b(?![^>]*\bnonce=)")
REFUSED = (
    "This page opens with the address that `grade page` prints, which is good for one browser. End the page"
    " and start it again for another one.\n"
)
#: NiceGUI compiles its templates in the browser, hence `unsafe-eval`; without the nonce no script in a text
#: runs. Its elements and CodeMirror's carry styles of their own.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'"
)

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
}


class Guard:
    """Checks every request and every socket before the application sees it, and adds the content policy.

    The page has the addresses `bases`, such as `http://127.0.0.1:8000`, each followed by `path`. `codes` are
    those that were not used yet; `token` is that of a proxy, empty without one.
    """

    def __init__(
        self, app: ASGIApp, bases: Iterable[str], path: str, codes: set[str], token: str = ""
    ) -> None:
        self.app, self.path, self.codes, self.token = app, path, codes, token
        self.origins = frozenset(bases)
        self.hosts = {base.partition("//")[2]: base.startswith("https:") for base in self.origins}
        self._secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if self.token and _is_same(headers.get(HEADER, b"").decode("latin-1"), self.token):
            await self._let_in(scope, receive, send)
            return
        host = headers.get(b"host", b"").decode("latin-1")
        place = scope["path"].removeprefix(self.path)
        if not self._is_own(host, headers) or place == scope["path"] or not place.startswith("/"):
            await self._refuse(scope, receive, send)
            return
        found = parse_qs(scope["query_string"].decode("latin-1"))
        code = next((code for code in self.codes if _is_same(found.get(PARAMETER, [""])[0], code)), None)
        if scope["type"] == "http" and code is not None:
            self.codes.discard(code)
            await self._enter(place, host, found)(scope, receive, send)
        elif _is_same(_cookie(headers, self._name(host)), self._secret):
            await self._let_in(self._below(scope, place), receive, send)
        else:
            await self._refuse(scope, receive, send)

    def _is_own(self, host: str, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request came to this server by its own name, and from its own page."""
        origin = headers.get(b"origin", b"").decode("latin-1")
        return host in self.hosts and (not origin or origin in self.origins)

    def _name(self, host: str) -> str:
        """Return the name of the cookie: with the port, or for one host alone where browsers can do that."""
        return f"__Host-{NAME}" if self.hosts[host] else f"{NAME}_{host.rpartition(':')[2]}"

    def _enter(self, place: str, host: str, found: dict[str, list[str]]) -> RedirectResponse:
        """Return an answer that sets the cookie and leads to the same place without the code."""
        rest = urlencode({name: texts for name, texts in found.items() if name != PARAMETER}, doseq=True)
        answer = RedirectResponse(self.path + place + (f"?{rest}" if rest else ""), 303)
        is_secure = self.hosts[host]
        answer.set_cookie(
            self._name(host),
            self._secret,
            path="/" if is_secure else f"{self.path}/",
            secure=is_secure,
            httponly=True,
            samesite="lax",  # a strict one would not come back now, since another page has led here
        )
        answer.headers.update({name.decode(): value.decode() for name, value in HEADERS.items()})
        return answer

    def _below(self, scope: Scope, place: str) -> Scope:
        """Return a request as a proxy would send it that puts the path before the page's own."""
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != PREFIX]
        return {
            **scope,
            "path": place,
            "raw_path": scope.get("raw_path", b"").removeprefix(self.path.encode()),
            "headers": [*headers, (PREFIX, self.path.encode())],
        }

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send if scope["type"] == "websocket" else _with_policy(send))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(REFUSED, 403)(scope, receive, send)


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _cookie(headers: dict[bytes, bytes], name: str) -> str:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_policy(send: Send) -> Send:
    """Return a function that sends a response with the policy, and the scripts of a page with the nonce."""
    nonce = secrets.token_urlsafe(16)
    start: Message = {}
    body = bytearray()

    async def sending(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            headers = dict(message["headers"])
            added = dict(HEADERS)
            if b"content-security-policy" not in headers:
                added[b"content-security-policy"] = POLICY.format(nonce=nonce).encode()
            start = {**message, "headers": [*message["headers"], *added.items()]}
            if headers.get(b"content-type", b"").startswith(b"text/html"):
                return  # it is sent whole, since a tag may lie across two parts
            await send(start)
            start = {}
        elif start:
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            page = SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), bytes(body))
            kept = [(name, value) for name, value in start["headers"] if name != b"content-length"]
            await send({**start, "headers": [*kept, (b"content-length", str(len(page)).encode())]})
            await send({"type": "http.response.body", "body": page})
        else:
            await send(message)

    return sending


HOST = "127.0.0.1"
TEMPLATES = Path(__file__).parent / "templates"
LONG_ENOUGH = 3600.0  # seconds that a page may be cut off or asleep before it loads anew


@dataclass(frozen=True)
class Address:
    """Where the page is: its port, and the path with which its addresses begin. `codes` let one in, once
    each."""

    port: int
    token: str = ""  # of a proxy that checks the person itself
    path: str = field(default_factory=lambda: f"/{secrets.token_hex(8)}")
    codes: set[str] = field(default_factory=set)

    @property
    def bases(self) -> list[str]:
        """What the address may begin with, best first: in a codespace that of its forwarded port."""
        name, domain = map(os.environ.get, ("CODESPACE_NAME", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN"))
        hosts = [HOST, "localhost"]
        if os.environ.get("WSL_DISTRO_NAME"):
            hosts.reverse()  # Windows may forward `localhost` alone
        own = [f"http://{host}:{self.port}" for host in hosts]
        return [f"https://{name}-{self.port}.{domain}", *own] if name and domain else own

    def new_url(self) -> str:
        """Return an address that opens the page in one browser."""
        code = secrets.token_urlsafe(16)
        self.codes.add(code)
        return f"{self.bases[0]}{self.path}/?code={code}"


def free_address(port: int = 0) -> Address:
    """Return an address with this port, or a free one, and with the token of a proxy if there is one. Raises
    CourseError if the port is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            raise CourseError(f"Port {port} is taken; leave out --port for a free one.") from None
        return Address(listener.getsockname()[1], os.environ.pop(TOKEN, ""))


def serve(course: Course, terms: JudgeTerms, address: Address, started: Callable[[], None]) -> None:
    """Serve the course until the terminal ends it; `started` is called once it can be opened."""
    place = Workplace(course, Judges(terms))
    app.add_middleware(
        Guard, bases=address.bases, path=address.path, codes=address.codes, token=address.token
    )
    app.add_api_route("/shown/{number}", lambda number: _shown(place, f"/shown/{number}"))
    app.on_shutdown(place.judges.end)
    app.on_startup(started)
    with suppress(KeyboardInterrupt):
        ui.run(
            lambda: _root(place),
            host=HOST,
            port=address.port,
            title=course.syllabus.title,
            favicon="🥋",
            dark=None,
            language="en-US",
            reload=False,
            show=False,
            tailwind=False,
            gzip_middleware_factory=None,
            show_welcome_message=False,
            reconnect_timeout=LONG_ENOUGH,
            timeout_graceful_shutdown=1,
        )


def _shown(place: Workplace, path: str) -> HTMLResponse:
    """Return a page for a frame. It names its own scripts, and reaches neither this page nor the server."""
    found = place.shown.get(path, "This page is gone; open it again.")
    return HTMLResponse(
        found, headers={"Content-Security-Policy": "sandbox allow-scripts; frame-ancestors 'self'"}
    )


def _root(place: Workplace) -> None:
    """Build what all views have, and the view of the address."""
    style, script, lost = (
        (TEMPLATES / name).read_text(encoding="utf-8") for name in ("app.css", "app.js", "lost.html")
    )
    ui.add_css(pages.style_of(*pages.STYLES) + style)
    ui.add_body_html(f"{lost}<script>{script}</script>")
    html.a("Skip to the content", href="#main").classes("skip")
    with html.header().classes("top"), html.nav(**{"aria-label": "Course"}):
        html.a(place.course.syllabus.title, href=f"{prefix()}/")
        if place.course.syllabus.see:
            html.a("See", href=f"{prefix()}/see")
        if place.lessons is not None:
            html.a("Speak", href=f"{prefix()}/speak")
        html.button("? keys", type="button").classes("plain").on("click", press_question_mark)

    def kata(name: str) -> None:
        if name in place.course.katas:
            KataView(place, place.course.katas[name])
        else:
            with html.div(id="main").classes("path"):
                html.h1("No such kata")
                html.a("To the path", href=f"{prefix()}/")

    ui.sub_pages(
        {
            "/": lambda: PathView(place) and None,
            "/kata/{name}": kata,
            "/review": lambda: ReviewView(place) and None,
            "/see": lambda: SeeView(place) and None,
            "/speak": lambda: SpeakView(place) and None,
            "/speak/{without}": lambda without: SpeakView(place, without) and None,
        }
    )
