"""The connection with an editor: what is refused, and when the server ends.

pygls reads as many bytes as a header says, answers before it is initialized, and does not watch the editor.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
from contextlib import suppress
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol

MOST_BYTES = 64 * 1024**2  # of a message
LONGEST_HEADER = 1000  # bytes
WATCH_SECONDS = 2.0  # between two looks at the editor's process
CONTENT_LENGTH = re.compile(rb"Content-Length: (\d+)\r\n$")
TOO_LONG = "A message of {} bytes is refused; {} are the most."
NOT_INITIALIZED = "The first request is `initialize`."


class BoundedInput(io.BufferedReader):
    """Reads messages. Those that are too long are skipped up to the header of the next one."""

    _skips = False

    def readline(self, size: int | None = -1) -> bytes:  # noqa: ARG002  # the signature is that of the class
        """Return a line of a header; no line of a message that is too long. Empty at the end."""
        while line := super().readline(LONGEST_HEADER):
            found = CONTENT_LENGTH.search(line)
            if found and int(found[1]) > MOST_BYTES:
                print(TOO_LONG.format(int(found[1]), MOST_BYTES), file=sys.stderr, flush=True)
                self._skips = True
            elif found:
                self._skips = False
                return found[0]
            elif not self._skips:
                return line
        return b""


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, which refuses what comes before `initialize`."""

    is_initialized = False

    def handle_message(self, message: Any) -> None:
        method = getattr(message, "method", "")
        self.is_initialized = self.is_initialized or method == types.INITIALIZE
        if self.is_initialized or method in ("", types.EXIT):
            super().handle_message(message)
        elif (number := getattr(message, "id", None)) is not None:
            code = types.ErrorCodes.ServerNotInitialized
            self._send_response(number, error=types.ResponseError(code, NOT_INITIALIZED))


async def ended(process_id: int) -> None:
    """Return once there is no process with this number."""
    while is_running(process_id):
        await asyncio.sleep(WATCH_SECONDS)


def is_running(process_id: int) -> bool:
    """Return whether there is a process with this number; True if that cannot be told."""
    with suppress(PermissionError, OverflowError):
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return False
    return True
