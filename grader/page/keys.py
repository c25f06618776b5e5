"""Keys of a view, which work while no field is being edited; `?` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import html, ui
from nicegui.events import KeyEventArguments


@dataclass(frozen=True)
class Key:
    """A key, what it does in words, and what it does."""

    name: str
    text: str
    press: Callable[[], Any]


def listen(keys: list[Key], extra: tuple[tuple[str, str], ...] = ()) -> ui.keyboard:
    """Press these keys; `extra` are keys that something else handles, and are listed too."""
    listed = [*((key.name, key.text) for key in keys), *extra, ("?", "Show these keys.")]
    with ui.dialog() as dialog, html.div().classes("keys note"):
        html.h2("Keys")
        with html.dl():
            for name, text in listed:
                html.dt(name)
                html.dd(text)
        html.button("Close", type="button").on("click", dialog.close)

    async def press(event: KeyEventArguments) -> None:
        held = event.modifiers
        if not event.action.keydown or held.ctrl or held.meta or held.alt:
            return
        if event.key.name == "?":
            dialog.open()
        for key in keys:
            if key.name == event.key.name and not dialog.value:
                result = key.press()
                if hasattr(result, "__await__"):
                    await result

    return ui.keyboard(press, repeating=False, ignore=["input", "select", "textarea"])


def focus_on(selector: str) -> None:
    ui.run_javascript(f"document.querySelector('{selector}')?.focus()")


def press_question_mark() -> None:
    """List the keys, for whoever has none."""
    ui.run_javascript("document.dispatchEvent(new KeyboardEvent('keydown', { key: '?' }))")


def leave_editor() -> None:
    ui.run_javascript("document.activeElement.blur()")
