"""The commands that a program starts; each imports its modules when it runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.options import GradeOptions, GuardedCommand, no_search_option, opened, search_option


@click.command(cls=GuardedCommand, hidden=True)  # a program starts it
@of_katas
@of_workers
@search_option
@no_search_option
def mcp(**options: Any) -> None:
    """Let an assistant be a tutor: serve MCP on standard input and output."""
    from dojo_editor.tutor.command import run_tutor

    terms = GradeOptions(**options)
    sys.exit(run_tutor(opened(terms), terms))


@click.command(cls=GuardedCommand, hidden=True)  # a program starts it
@of_katas
@of_workers
@search_option
@no_search_option
def lsp(**options: Any) -> None:
    """Judge exercises in your editor: it starts this as a language server."""
    from dojo_editor.lsp.command import run_server

    sys.exit(run_server(GradeOptions(**options)))
