"""Let in nobody but the person at this machine, and let the page load nothing from anywhere else.

An address holds a code that is good for one use: it is exchanged for a cookie that scripts cannot read. All
addresses begin with a path that was drawn, and the cookie is of that path, since ports share their cookies:
another server of this machine does not get it. A request's Host must be this server's, and its Origin, if it
has one, too: a page of another site opens no socket. A proxy that has checked the person itself, such as
Jupyter's, sends a token in a header, and has its own host and path.

Path and cookie are good for one process of the server. A tab that was let in by a former one proves that, at
the path that it knows: see `returning.py`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dojo_page.returning import Returning

HEADER = b"x-dojo-token"
PARAMETER, NAME = "code", "dojo"  # of the address, and of the cookie
RETURN = "/return"  # where a tab proves that it was let in before
REFUSED = (
    "This page opens with the address that `grade page` prints, which is good for one browser. End the page"
    " and start it again for another one.\n"
)
#: The page runs its own files alone. CodeMirror adds its styles as elements of their own.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self'"
)
#: A document of its own origin, which becomes the page that it is given: one that names its own script.
FRAME, FRAME_POLICY = (
    "/frame.html",
    (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
)

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
}


class Guard:
    """Checks every request and every socket before the application sees it, and adds the content policy.

    The page has the addresses `bases`, such as `http://127.0.0.1:8000`, each followed by `path`. `codes` are
    those that were not used yet; `former` are the paths of earlier processes, and `returning` checks what a
    tab proves there; `token` is that of a proxy, empty without one.
    """

    def __init__(  # noqa: PLR0913  # a middleware gets each of its terms by name
        self,
        app: ASGIApp,
        bases: Iterable[str],
        path: str,
        codes: set[str],
        former: Iterable[str] = (),
        returning: Returning | None = None,
        token: str = "",
    ) -> None:
        self.app, self.path, self.codes, self.token = app, path, codes, token
        self.former, self.returning = tuple(former), returning or Returning()
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
        path = next((path for path in (self.path, *self.former) if scope["path"].startswith(f"{path}/")), "")
        if not path or not self._is_own(host, headers):
            await self._refuse(scope, receive, send)
            return
        place, below = scope["path"].removeprefix(path), _below(scope, path)
        found = parse_qs(scope["query_string"].decode("latin-1"))
        said = {name: texts[0] for name, texts in found.items()}
        code = next((code for code in self.codes if _is_same(said.get(PARAMETER, ""), code)), None)
        if scope["type"] == "http" and path == self.path and code is not None:
            self.codes.discard(code)
            await self._enter(place, host, found)(scope, receive, send)
        elif path == self.path and _is_same(_cookie(headers, self._name(host)), self._secret):
            await self._let_in(below, receive, send)
        elif scope["type"] == "http" and place == RETURN:
            answer = JSONResponse(self.returning.challenge(said.get("nonce", "")))
            await _with_headers(answer)(scope, receive, send)
        elif self._is_open(scope["type"], path, said):
            await self._let_in(below, receive, send)
        else:
            await self._refuse(scope, receive, send)

    def _is_open(self, kind: str, path: str, said: dict[str, str]) -> bool:
        """Return whether a request is let in without a cookie: for a file at a former path, and by a
        proof."""
        if kind == "http":
            return path != self.path
        return self.returning.is_proved(said.get("nonce", ""), said.get("proof", ""))

    def _is_own(self, host: str, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request came to this server by its own name, and from its own page."""
        origin = headers.get(b"origin", b"").decode("latin-1")
        return host in self.hosts and (not origin or origin in self.origins)

    def _name(self, host: str) -> str:
        """Return the name of the cookie: with the port, or for one host alone where browsers can do that."""
        return f"__Host-{NAME}" if self.hosts[host] else f"{NAME}_{host.rpartition(':')[2]}"

    def _enter(self, place: str, host: str, found: dict[str, list[str]]) -> Response:
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
        return _with_headers(answer)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, _with_policy(send, FRAME_POLICY if scope["path"] == FRAME else POLICY))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(REFUSED, 403)(scope, receive, send)


def _below(scope: Scope, path: str) -> Scope:
    """Return a request as a proxy would send it that has taken the path away."""
    raw = scope.get("raw_path", b"").removeprefix(path.encode())
    return {**scope, "path": scope["path"].removeprefix(path), "raw_path": raw}


def _with_headers(answer: Response) -> Response:
    answer.headers.update({name.decode(): value.decode() for name, value in HEADERS.items()})
    return answer


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _cookie(headers: dict[bytes, bytes], name: str) -> str:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_policy(send: Send, policy: str) -> Send:
    """Return a function that sends a response with the policy."""
    added = [*HEADERS.items(), (b"content-security-policy", policy.encode())]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sending
