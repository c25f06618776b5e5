"""The command `grade start`, apart from those of `kata`, which need NumPy for their help."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.cli.options import GuardedCommand


@click.command(cls=GuardedCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--library", type=click.Choice(["numpy", "torch"]), help="Write NumPy katas as stubs in this library."
)
@click.option("--no-agents", is_flag=True, help="Write no AGENTS.md, which tells AI assistants how to help.")
def start(folder: Path, library: str | None, *, no_agents: bool) -> None:
    """Write the course that came with the grader to a folder.

    In a clone, `grade start . --library torch` writes the stubs that are there in PyTorch.
    """
    from dojo_authoring.release import starter
    from grader.texts.phrases import counted

    if library and (changed := starter.change_stubs(folder, library)) is not None:
        click.echo(f"{counted(changed, 'stub')} changed; files that are begun stay. Begin:  grade")
        return
    outcome = starter.write_course(folder, library or "", agents=not no_agents)
    katas = counted(sum(name.startswith("exercises/") for name in outcome.written), "kata")
    is_here = folder.resolve() == Path.cwd()
    where, there = ("here", "") if is_here else (f"to {folder}", f"cd {shlex.quote(str(folder))} && ")
    click.echo(f"{katas} written {where}. Begin:  {there}grade")
    for note in outcome.notes("course"):
        click.echo(note)
