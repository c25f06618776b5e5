"""What the server asks the process that judges, and what it is answered."""

from __future__ import annotations

from typing import Literal

import msgspec


class Question(msgspec.Struct):
    """What is asked: to verify a kata, or to judge the mistakes or the variant in `text`.

    `folder` is the only one in which the process may write; `isolation` is "required" or "none".
    """

    course: str
    kata: str
    work: Literal["verify", "mistakes", "variant"]
    folder: str
    isolation: str
    text: str = ""


class Said(msgspec.Struct, frozen=True):
    """What the judge says of one proposal, as one sentence; what is accepted becomes a draft."""

    name: str
    is_accepted: bool
    reason: str


class Answer(msgspec.Struct):
    """What the judge says of each proposal, or the text of a verification, or why there is neither."""

    said: list[Said] = []
    text: str = ""
    problem: str = ""
