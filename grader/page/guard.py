"""Let in nobody but the person at this machine, and let the page load nothing from anywhere else.

A request needs the token: in the address once, then in a cookie that scripts cannot read. Its Host must be
this server's, and its Origin, if it has one, too: a page of another site opens no socket. A proxy that has
checked the person itself, such as Jupyter's, sends the token in a header, and has its own host.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER, PARAMETER = b"x-dojo-token", "token"
SCRIPT = re.compile(rb"<script\b(?![^>]*\bnonce=)")
REFUSED = "This page opens with the address that `grade --page` prints.\n"
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
    """Checks every request and every socket before the application sees it, and adds the content policy. The
    page has the addresses `bases`, such as `http://127.0.0.1:8000`."""

    def __init__(self, app: ASGIApp, token: str, bases: Iterable[str]) -> None:
        self.app, self.token = app, token
        # ports share their cookies, so each page has one of its own name
        self.cookie = f"dojo_{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        self.origins = frozenset(bases)
        self.hosts = frozenset(base.partition("//")[2] for base in bases)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        by_proxy = self._is_token(headers.get(HEADER, b"").decode("latin-1"))
        given = parse_qs(scope["query_string"].decode("latin-1")).get(PARAMETER, [""])[0]
        if not by_proxy and not self._is_own(headers):
            await self._refuse(scope, receive, send)
        elif by_proxy or self._is_token(_cookie(headers, self.cookie)):
            await self.app(scope, receive, send if scope["type"] == "websocket" else _with_policy(send))
        elif scope["type"] == "http" and self._is_token(given):
            await self._enter(scope, receive, send)
        else:
            await self._refuse(scope, receive, send)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request came to this server by its own name, and from its own page."""
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        return host in self.hosts and (not origin or origin in self.origins)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the cookie, and lead to the same address without the token."""
        found = parse_qs(scope["query_string"].decode("latin-1"))
        rest = urlencode({name: texts for name, texts in found.items() if name != PARAMETER}, doseq=True)
        answer = RedirectResponse(scope["path"] + f"?{rest}" * bool(rest), 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        await answer(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(REFUSED, 403)(scope, receive, send)


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
