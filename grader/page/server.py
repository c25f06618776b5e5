"""Serve the page to the person at this machine: `grade --page`."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nicegui import app, html, ui
from starlette.responses import HTMLResponse

from grader.course.catalog import Course
from grader.errors import CourseError
from grader.formats import pages
from grader.page.guard import Guard
from grader.page.judges import Judges
from grader.page.jupyter import TOKEN
from grader.page.kata_view import KataView
from grader.page.keys import press_question_mark
from grader.page.messages import Terms
from grader.page.path_view import PathView
from grader.page.see_view import SeeView
from grader.page.speak_view import SpeakView
from grader.page.workplace import Workplace, prefix

HOST = "127.0.0.1"
STYLE = Path(__file__).parent / "templates" / "app.css"
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


def serve(course: Course, terms: Terms, address: Address, started: Callable[[], None]) -> None:
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
    ui.add_css(pages.style_of(*pages.STYLES) + STYLE.read_text(encoding="utf-8"))
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
            "/see": lambda: SeeView(place) and None,
            "/speak": lambda: SpeakView(place) and None,
            "/speak/{without}": lambda without: SpeakView(place, without) and None,
        }
    )
