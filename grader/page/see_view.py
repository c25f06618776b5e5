"""What the course shows with the student's functions, as they are now, in a frame of its own."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from nicegui import html, ui

from grader.page.keys import Key, listen
from grader.page.workplace import Workplace, prefix


class SeeView:
    """The frame; `grade --see` makes its page anew whenever this view opens."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        with html.div(id="main").classes("see"):
            self.told = ui.label("Running your functions …").props("role=status").classes("quiet told")
            self.frame = html.iframe(title="Your functions at work", sandbox="allow-scripts")
            self.frame.set_visibility(False)
        listen([Key("p", "Go to the path.", lambda: ui.navigate.to("/"))])
        ui.timer(0.05, self.show, once=True)

    async def show(self) -> None:
        """Make the page in another process, which starts workers of its own."""
        terms = self.place.judges.terms
        options = {"course": terms.root, "exercises": terms.exercises}
        options |= {"device": terms.device, "isolation": terms.isolation}
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "see.html"
            words = [f"--{name}={value}" for name, value in {**options, "output": page}.items()]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "grader.cli.grade", "--see", "--mine", *words),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await process.communicate()
            if process.returncode:
                self.told.text = said.decode(errors="replace").strip().rpartition("\n")[2]
                return
            self.frame.props["src"] = f"{prefix()}{self.place.keep(page.read_text(encoding='utf-8'))}"
        self.frame.set_visibility(True)
        self.told.set_visibility(False)
