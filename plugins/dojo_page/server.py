"""Serve the page to the person at this machine: `grade page`.

The front end is a folder of files. It talks to the desk and the judges through one socket for each tab; the
guard stands before both.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dojo_page import protocol
from dojo_page.connection import GROUPS, Connection
from dojo_page.desk import Desk, Host
from dojo_page.guard import Guard
from dojo_page.judge import OUR_FAULT
from dojo_page.judges import Judges
from dojo_page.jupyter import TOKEN
from dojo_page.messages import JudgeTerms
from dojo_page.protocol import Answer, BadRequest, Problem, Request
from dojo_page.returning import KeptPage, Returning, keep_page, kept_page
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.formats import pages
from grader.grading.session import TORCH, lacks_library
from grader.installing import install_command

HOST = "127.0.0.1"
FRONT = Path(__file__).parent / "front"
LARGEST_MESSAGE = 2 << 20  # bytes of a request: a text and lines, all of it escaped
MOST_REQUESTS = 64  # of a tab that are carried out at a time
LOOK_SECONDS = 0.5  # between two looks at the files that a tab has open
CAN = ("see", "speak", "review")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Address:
    """Where the page is: its port, and the path with which its addresses begin. `codes` let one in, once
    each; at the `former` paths, `returning` lets a tab in that an earlier process has let in."""

    port: int
    token: str = ""  # of a proxy that checks the person itself
    path: str = field(default_factory=lambda: f"/{secrets.token_hex(8)}")
    codes: set[str] = field(default_factory=set)
    former: tuple[str, ...] = ()
    returning: Returning = field(default_factory=Returning)

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
        return self.bases[0] + self.new_place()

    def new_place(self) -> str:
        """Return that address from its path on."""
        code = secrets.token_urlsafe(16)
        self.codes.add(code)
        return f"{self.path}/?code={code}"


def bound(port: int) -> socket.socket:
    """Return a socket with this port, or with a free one for 0. Raises OSError."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()  # or another server could have the same port
    except OSError:
        listener.close()
        raise
    return listener


def open_address(root: Path, port: int = 0) -> tuple[Address, socket.socket]:
    """Return an address with this port, or a free one, with its socket, and with the token of a proxy if
    there is one. The port is the one that the course had last, if it is free, so that tabs come back. Raises
    CourseError if the port is taken."""
    token = os.environ.pop(TOKEN, "")
    kept = None if token else kept_page(root)
    if kept is not None and port in (0, kept.port):
        with suppress(OSError):
            listener = bound(kept.port)
            return _address_again(root, kept), listener
    try:
        listener = bound(port)
    except OSError:
        raise CourseError(f"Port {port} is taken; leave out --port for a free one.") from None
    address = Address(listener.getsockname()[1], token)
    if not token and (
        kept is None or port
    ):  # the port that is kept may be that of a page which is served now
        keep_page(root, KeptPage(address.port, [address.path], address.returning.key))
    return address, listener


def _address_again(root: Path, kept: KeptPage) -> Address:
    """Return an address at the port that the course had last, with another path, and keep it."""
    address = Address(kept.port, former=tuple(kept.paths), returning=Returning(kept.key))
    keep_page(root, KeptPage(kept.port, [address.path, *kept.paths], kept.key))
    return address


def missing_here(info: KataInfo) -> str:
    """Return the command that installs what a kata needs and what is not there; empty if all is there."""
    return install_command(TORCH) if lacks_library(info) else ""


class Apart:
    """Does the desk's work in one thread, one thing after another: so no two tabs write a file at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    async def __call__(self, work: Callable[[], Result], /) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def end(self) -> None:
        """Do nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Tab:
    """One socket: reads requests, carries them out side by side, and writes the answers."""

    def __init__(self, websocket: WebSocket, connection: Connection, apart: Apart) -> None:
        self.websocket, self.connection, self.apart = websocket, connection, apart
        self._tasks: set[asyncio.Task[None]] = set()
        self._judged: dict[str, tuple[int, asyncio.Task[None]]] = {}  # by group: what was asked last
        self._writes = asyncio.Lock()

    async def serve(self, entered: protocol.Entered) -> None:
        """Tell the tab how it has entered, and answer until it is gone."""
        await self.websocket.accept()
        looking = asyncio.create_task(self._look())
        try:
            await self._tell(0, entered)
            while True:
                await self._take(await self.websocket.receive_text())
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes came, and no text
            pass
        finally:
            for task in (looking, *self._tasks):
                task.cancel()

    async def _take(self, text: str) -> None:
        """Begin to carry out a request; one of a group ends the one before."""
        message: Any = None
        try:
            message = json.loads(text)
            request = protocol.request_of(message, _checked)
        except (ValueError, RecursionError, BadRequest) as error:
            why = str(error) if isinstance(error, BadRequest) else protocol.NO_REQUEST
            await self._tell(protocol.number_of(message), Problem(why))
            return
        number, group = protocol.number_of(message), GROUPS.get(type(request), "")
        if isinstance(request, protocol.Stop):
            self.connection.stop()
            await self._drop("show")
            return
        if group:
            await self._drop(group)
        if len(self._tasks) >= MOST_REQUESTS:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._carry_out(number, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if group:
            self._judged[group] = number, task

    async def _drop(self, group: str) -> None:
        """Cancel the last request of a group, and tell the tab that it was dropped."""
        number, task = self._judged.pop(group, (0, None))
        if task is not None and task.cancel():
            await self._tell(number, protocol.Dropped())

    async def _carry_out(self, number: int, request: Request) -> None:
        try:
            async with aclosing(self.connection.answers(request)) as answers:
                async for answer in answers:
                    if answer.is_last:  # what ends now is not dropped any more
                        self._judged = {group: one for group, one in self._judged.items() if one[0] != number}
                    await self._tell(number, answer)
        except Exception as error:
            traceback.print_exc()
            await self._tell(number, Problem(OUR_FAULT.format(f"{type(error).__name__}: {error}")))

    async def _look(self) -> None:
        """Tell what other programs write to the files that are open."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for changed in await self.apart(self.connection.look):
                await self._tell(0, changed)

    async def _tell(self, number: int, answer: Answer) -> None:
        text = json.dumps(protocol.message_of(number, answer), separators=(",", ":"))
        async with self._writes:
            with suppress(WebSocketDisconnect, RuntimeError):  # the tab is gone
                await self.websocket.send_text(text)


def _checked(given: Any, record: type[Request]) -> Request:
    return msgspec.convert(given, record)


def application(course: Course, judges: Judges, address: Address) -> Starlette:
    """Return what is served: the front end's files, and the socket, behind the guard."""
    desk, apart = Desk(course, Host("local", CAN, missing_here)), Apart()

    async def connect(websocket: WebSocket) -> None:
        is_back, key = "proof" in websocket.query_params, "" if address.token else address.returning.key
        entered = protocol.Entered(key, address.new_place() if is_back else "")
        await Tab(websocket, Connection(desk, judges, apart), apart).serve(entered)

    async def index(_: HttpRequest) -> Response:
        return FileResponse(FRONT / "index.html")

    async def styles(_: HttpRequest) -> Response:
        return Response(pages.style_of(*pages.STYLES), media_type="text/css")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        apart.end()
        await judges.end()

    guard = Middleware(
        Guard,
        bases=address.bases,
        path=address.path,
        codes=address.codes,
        former=address.former,
        returning=address.returning,
        token=address.token,
    )
    routes = [
        WebSocketRoute("/socket", connect),
        Route("/", index),
        Route("/styles.css", styles),
        Mount("/", StaticFiles(directory=FRONT)),
    ]
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan)


class Server(uvicorn.Server):
    """A server that calls a function once it can be reached."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()


def serve(
    course: Course,
    terms: JudgeTerms,
    address: Address,
    listener: socket.socket,
    started: Callable[[], None],
) -> None:
    """Serve the course until the terminal ends it; `started` is called once it can be opened."""
    config = uvicorn.Config(
        application(course, Judges(terms), address),
        log_level="error",
        access_log=False,
        ws=WebSocketsSansIOProtocol,
        ws_max_size=LARGEST_MESSAGE,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    with suppress(KeyboardInterrupt):
        Server(config, started).run([listener])
