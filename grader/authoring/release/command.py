"""`kata release`: write a student's repository, and the files that platforms such as Gradescope need."""

from __future__ import annotations

from pathlib import Path

import click

from grader.authoring.release import keys
from grader.authoring.release.platforms import IMAGE, exercism_files, prairielearn_files
from grader.authoring.release.repository import (
    classroom50_bundle,
    core_files,
    gradescope_zip,
    read_sealed,
    student_files,
    write_release,
)
from grader.authoring.static_checks import todos_of_draft
from grader.course.catalog import Course, shorten
from grader.formats.escaping import points
from grader.values.formatting import counted


def release_course(
    course: Course,
    folder: Path,
    names: tuple[str, ...],
    seed: int,
    hidden_seed: int | None,
    hosts: tuple[str, ...],
    sealed: Path | None,
    secret: Path | None,
    gradescope: Path | None,
    visibility: str,
    classroom50: Path | None,
    prairielearn: Path | None,
    exercism: Path | None,
) -> None:
    """Write the repository and the hosts' files, and print what was written. Raises CourseError.

    With `hidden_seed` the hosts grade with other cases than those that students have. The key is sealed in
    the repository, which students read, and open in Gradescope's zip, which they do not.
    """
    infos = keys.chosen_katas(course, names)
    sealed_key = read_sealed(course, infos, sealed, secret)
    entries = [] if hidden_seed is None else list(keys.draw_entries(course, infos, hidden_seed))
    secret_file = folder.with_name(f"{folder.name}.secret")
    if hidden_seed is not None and not sealed_key:
        sealed_key = keys.sealed(entries, hidden_seed, secret_file)
        click.echo(
            f"The workflow grades with hidden cases: its secret DOJO_SEAL is in {shorten(secret_file)}."
        )
    core = core_files(course, infos, seed, bool(sealed_key))
    for_hosts = core if hidden_seed is None else {**core, **keys.key_files(entries, hidden_seed)}
    outcome = write_release(folder, student_files(course, core, infos, hosts, sealed_key))
    made = f"{counted(len(infos), 'kata')}, {counted(len(outcome.written), 'file')}"
    click.echo(f"{made} are in {shorten(folder)}.")
    for note in outcome.notes():
        click.echo(note)
    for info in infos:
        for todo in todos_of_draft(course, info):
            click.echo(f"note: {info.name}: {todo}")
    if gradescope is not None:
        keys.save(gradescope, gradescope_zip(for_hosts, visibility))
        worth = points(sum(info.max_score for info in infos))
        click.echo(f"Upload {shorten(gradescope)} to Gradescope, to an assignment of {worth} points.")
    if classroom50 is not None:
        for name, data in classroom50_bundle(for_hosts).items():
            keys.save(classroom50 / name, data)
        click.echo(f"Commit {shorten(classroom50)} as the assignment's autograder.")
    for path, files_of in ((prairielearn, prairielearn_files), (exercism, exercism_files)):
        if path is not None:
            for name, data in files_of(course, for_hosts, infos).items():
                keys.save(path / name, data)
            click.echo(f"Build the image: docker build --tag {IMAGE} {shorten(path)}/image")
