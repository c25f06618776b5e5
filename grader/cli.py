"""The two commands: `grade` for students, `kata` for instructors."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from grader.bank import SEED
from grader.catalog import Course, CourseError, find_course
from grader.formats.registry import NAMES as FORMATS
from grader.kata import KataError
from grader.key_file import KeyUnusable
from grader.opening import DeviceMissing, IsolationMissing, LibraryMissing

WRONG_INPUT, OUR_FAULT = 2, 3


class Complaint(click.ClickException):
    """Something on the command line or on disk is wrong: one sentence, exit code 2."""

    exit_code = WRONG_INPUT

    def show(self, file: Any = None) -> None:
        click.echo(self.format_message(), file=file or sys.stderr)


class Names(click.ParamType[str]):
    """Names of katas, completed by the shell."""

    name = "kata"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # the signature is click's
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            names = Course(find_course(Path.cwd())).cards
        except (CourseError, KataError):
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Guarded(click.Command):
    """A command whose own faults are told from wrong input: exit codes 2 and 3."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (
            CourseError,
            KataError,
            LibraryMissing,
            DeviceMissing,
            IsolationMissing,
            KeyUnusable,
        ) as error:
            raise Complaint(str(error)) from None
        except (
            click.ClickException,
            click.exceptions.Exit,
            click.Abort,
            KeyboardInterrupt,
            BrokenPipeError,  # the reader, `head` say, has seen enough; click ends quietly
        ):
            raise
        except Exception as error:
            if os.environ.get("DOJO_DEBUG"):
                raise
            click.echo(
                "This is our fault, not yours; your points are unchanged."
                f" ({type(error).__name__}: {error}; DOJO_DEBUG=1 shows where.)",
                err=True,
            )
            ctx.exit(OUR_FAULT)


@click.command(cls=Guarded, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=Names())
@click.option("--file", "file", type=click.Path(path_type=Path), help="Grade this file (one kata).")
@click.option("--exercises", type=click.Path(path_type=Path), help="The folder of exercises.")
@click.option("--all", "all_katas", is_flag=True, help="Grade every kata; those not begun get no points.")
@click.option("--protect", is_flag=True, help="List the files of a release that were changed.")
@click.option("--list", "list_katas", is_flag=True, help="Show all katas and how far they are.")
@click.option("--hint", is_flag=True, help="Show the next hint for a kata.")
@click.option("--watch", is_flag=True, help="Grade again whenever a file is saved.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--format",
    "forms",
    type=click.Choice(FORMATS),
    multiple=True,
    default=["terminal"],
    show_default=True,
    help="What the report is for; can be given several times.",
)
@click.option(
    "--isolation",
    type=click.Choice(["required", "best", "none"]),
    default="best",
    show_default=True,
    help="Refuse to grade without a whole sandbox; take what this machine has; use a plain process.",
)
@click.option("--show-output", is_flag=True, help="Show what the code printed, quoted.")
@click.option("--key", type=click.Path(path_type=Path), help="Grade with this answer key, file or folder.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file with a sealed key's secret.")
@click.option("--output", help="Write the report to this file; several formats go to this folder.")
def grade(names: tuple[str, ...], **options: Any) -> None:
    """Grade katas: those named, or all that are begun."""
    from grader import session

    code = session.run(session.Wishes(names=names, **options))
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def kata() -> None:
    """Look after a course: its katas, their checks, its classes."""


@kata.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--seeds", type=int, help="Hold right answers alone against this many banks of cases.")
@click.option("--isolated", is_flag=True, help="Judge every mistake in a worker, not the first alone.")
def verify(names: tuple[str, ...], seed: int, seeds: int | None, isolated: bool) -> None:
    """Check the course itself: stubs fail, right answers pass, every mistake is caught and named."""
    if seeds is not None:
        from grader.authoring.fairness import verify_fairness

        sys.exit(verify_fairness(Course(find_course(Path.cwd())), names, seeds))
    from grader.authoring.verify import verify_course

    sys.exit(verify_course(Course(find_course(Path.cwd())), names, seed, isolated))


@kata.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--output", type=click.Path(path_type=Path), help="A folder, or a file that ends in .key.")
@click.option("--seal", is_flag=True, help="Draw from a fresh seed and encrypt; again to rotate.")
@click.option("--secret", type=click.Path(path_type=Path), help="With --seal: the file of the secret.")
def key(names: tuple[str, ...], seed: int, output: Path | None, seal: bool, secret: Path | None) -> None:
    """Write answer keys, with which katas are graded where there are no solutions."""
    from grader.authoring import keys

    course = Course(find_course(Path.cwd()))
    cards = keys.chosen(course, names)
    if seal:
        click.echo(keys.write_sealed(course, cards, output or Path("sealed.key"), secret))
        return
    keys.write_keys(course, cards, seed, output or Path("keys"))
    click.echo(f"Keys of {len(cards)} katas are in {output or 'keys'}.")


@kata.command(cls=Guarded)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, type=Names())
@click.option(
    "--seed", type=int, default=SEED, show_default=True, help="Draw the keys' cases from this seed."
)
@click.option(
    "--host",
    "hosts",
    type=click.Choice(["actions", "classroom"]),
    multiple=True,
    default=["actions"],
    show_default=True,
    help="Whose workflow grades a push; can be given twice.",
)
@click.option(
    "--sealed", type=click.Path(path_type=Path), help="A sealed key for the workflow to grade with."
)
@click.option(
    "--gradescope", type=click.Path(path_type=Path), help="Write Gradescope's zip to this file too."
)
@click.option("--classroom50", type=click.Path(path_type=Path), help="Write Classroom 50's bundle here too.")
def release(folder: Path, names: tuple[str, ...], **options: Any) -> None:
    """Write a student's repository: stubs, properties, answer keys, the grader; no solutions."""
    from grader.authoring.releasing import release_course

    release_course(Course(find_course(Path.cwd())), folder, names, **options)


@kata.command(cls=Guarded)
def overview() -> None:
    """Print a table of all katas: checks, laws, mistakes, variants, sources (docs/katas.md)."""
    from grader.authoring.overview import overview as table

    click.echo(table(Course(find_course(Path.cwd()))), nl=False)


def main() -> None:
    """`grade` as a program: it ends without taking PyTorch apart, which takes a fifth of the time."""
    try:
        grade()
    except SystemExit as ended:
        if sys.stdout is not None and sys.stderr is not None and isinstance(ended.code, int | None):
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code or 0)
        raise


if __name__ == "__main__":
    main()
