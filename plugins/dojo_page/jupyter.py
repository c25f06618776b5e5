"""The page as a tile in JupyterLab, by jupyter-server-proxy: Jupyter checks who comes, and sends a token."""

from __future__ import annotations

import secrets
import sys
from typing import Any

#: The environment's name for the token that Jupyter sends with every request.
TOKEN = "DOJO_PAGE_TOKEN"


def setup() -> dict[str, Any]:
    """Return how jupyter-server-proxy starts the page, which it does in the folder of the course."""
    token = secrets.token_urlsafe(16)
    return {
        "command": [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--port", "{port}"],
        "environment": {TOKEN: token},
        "request_headers_override": {"X-Dojo-Token": token},
        "timeout": 60,
        "launcher_entry": {"title": "Decoder Dojo"},
    }
