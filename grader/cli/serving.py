"""Serve a program over standard input and output until it closes them, or a person presses Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from grader.cli.options import INTERRUPTED


async def serve_until_interrupted(
    serving: Coroutine[Any, Any, None], end: Callable[[], Awaitable[None]]
) -> None:
    """Wait for a server that reads standard input, and then for `end`, which ends its processes. After Ctrl-C
    this process exits with INTERRUPTED: a thread of the server still reads."""
    interrupted = asyncio.Event()
    with suppress(NotImplementedError):  # on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    server, waiting = asyncio.create_task(serving), asyncio.create_task(interrupted.wait())
    try:
        await asyncio.wait((server, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end()
    if interrupted.is_set():
        os._exit(INTERRUPTED)
    waiting.cancel()
    await server
