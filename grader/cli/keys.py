"""A key of the loop, and the texts about all keys."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Loop = TypeVar("Loop")


@dataclass(frozen=True)
class Key(Generic[Loop]):
    """One key: its character, the word for it, a sentence about it and what it does. `refusal` returns why it
    cannot be used now, "" if it can."""

    character: str
    word: str
    about: str
    action: Callable[[Loop], None]
    refusal: Callable[[Loop], str] = lambda _: ""

    def press(self, loop: Loop) -> str:
        """Do what the key does, or return why it cannot be used now."""
        refusal = self.refusal(loop)
        if not refusal:
            self.action(loop)
        return refusal


def footer(keys: Sequence[Key[Loop]], loop: Loop, width: int) -> str:
    """Return the keys that can be used now, each with its word; a word may refer to the loop as `{0}`."""
    offered = [key for key in keys if not key.refusal(loop)]
    pairs = [f"{key.character} {key.word.format(loop)}".replace(" ", "\xa0") for key in offered]
    return "\n".join(textwrap.wrap("   ".join(pairs), width)).replace("\xa0", " ")


def help_text(keys: Sequence[Key[Loop]]) -> str:
    """Return one line about each key."""
    return "\n".join(f"  {key.character}   {key.about}" for key in keys)
