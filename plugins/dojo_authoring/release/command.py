"""`kata release`: write a student's repository, and the files that platforms such as Gradescope need."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from dojo_authoring.release import GRADE_ON, WORKFLOWS, keys
from dojo_authoring.release.hosts import (
    classroom50_bundle,
    exercism_files,
    gradescope_zip,
    prairielearn_files,
)
from dojo_authoring.release.repository import (
    AGENTS,
    SEALED,
    core_files,
    read_sealed,
    require_releasable,
    student_files,
    verifications,
)
from dojo_authoring.release.writing import write_release
from dojo_authoring.verify.static_checks import todos_of_draft
from grader.answer_keys.file import KeyUnusable
from grader.cases.generation import SEED
from grader.course import release_manifest
from grader.course.catalog import Course, CourseError, KataInfo, is_release, shorten
from grader.course.mistake_edits import read_drafts
from grader.course.renaming import renamed
from grader.course.secret_seed import seed_or_new
from grader.formats.gradescope import VISIBILITIES
from grader.texts.bounds import first_names
from grader.texts.phrases import counted
from grader.texts.points import points


@dataclass(frozen=True)
class ReleaseOptions:
    """What the command line of `kata release` says; None stands for what the release before said."""

    names: tuple[str, ...]
    seed: int | None
    hidden_seed: int | None
    hosts: tuple[str, ...]
    grade_on: str | None
    sealed: Path | None
    secret: Path | None
    gradescope: Path | None
    visibility: str | None
    classroom50: Path | None
    prairielearn: Path | None
    exercism: Path | None
    library: str | None
    agents: bool | None
    remove: bool
    unverified: bool


class ReleaseBefore:
    """The release that a folder holds already; its katas and options are the defaults of the next one.

    The manifest may be a student's: unknown katas, hosts and values are as if they were not there.
    """

    def __init__(self, course: Course, folder: Path) -> None:
        self.course = course
        self.files = release_manifest.read_list(folder)
        self.options = release_manifest.read_options(folder)

    def katas(self, names: tuple[str, ...], *, remove: bool) -> tuple[list[KataInfo], bool]:
        """Return the katas to release, and whether they are all of the course, now and next time."""
        of_course = self.course.katas.values()
        released = [one for one in of_course if f"exercises/{one.track}/{one.name}.py" in self.files]
        is_all = bool(self.options.get("all")) if released else not names
        if remove and names:
            return keys.chosen_katas(self.course, names), False
        if is_all:
            return keys.chosen_katas(self.course, ()), True
        return keys.chosen_katas(self.course, [*names, *(info.name for info in released)]), False

    def hosts(self, hosts: tuple[str, ...], *, remove: bool) -> tuple[str, ...]:
        """Return the hosts whose workflows are written, in the order of the registry."""
        before = [host for host, file in WORKFLOWS.items() if f".github/workflows/{file}" in self.files]
        wanted = {*hosts} if hosts and remove else {*hosts, *before}
        return tuple(host for host in WORKFLOWS if host in (wanted or {next(iter(WORKFLOWS))}))

    def number(self, name: str, default: int) -> int:
        found = self.options.get(name)
        return found if type(found) is int else default

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        found = self.options.get(name)
        return next((choice for choice in choices if choice == found), choices[0])


def release_course(course: Course, folder: Path, given: ReleaseOptions) -> None:
    """Write the repository and the hosts' files, and print what was written. Raises CourseError.

    Gradescope and PrairieLearn, whose files students do not read, grade with cases from the course's secret
    seed. With `hidden_seed` all hosts draw from that one, the workflow by a sealed key in the repository.
    What is not said is as in the release before into the same folder.
    """
    _require_own_folder(folder)
    before = ReleaseBefore(course, folder)
    infos, is_all = before.katas(given.names, remove=given.remove)
    hosts = before.hosts(given.hosts, remove=given.remove)
    seed = before.number("seed", SEED) if given.seed is None else given.seed
    visibility = given.visibility or before.choice("visibility", VISIBILITIES)
    library = given.library or before.choice("library", ("numpy", "torch"))
    agents = before.options.get("agents") is not False if given.agents is None else given.agents
    grade_on = given.grade_on or before.choice("grade_on", tuple(GRADE_ON))
    require_releasable(course, infos, allows_unverified=given.unverified)
    secret_file = folder.with_name(f"{folder.name}.secret")
    sealed, secret, hidden_seed = given.sealed, given.secret, given.hidden_seed
    if sealed is None and hidden_seed is None and SEALED in before.files:
        sealed, secret = folder / SEALED, secret or (secret_file if secret_file.is_file() else None)
    try:
        sealed_key = read_sealed(course, infos, sealed, secret)
    except KeyUnusable as error:
        again = " It is the one of the release before; seal another: --sealed FILE or --hidden-seed N."
        raise CourseError(f"{error}{again if sealed == folder / SEALED else ''}") from None
    seed_of_hosts = hidden_seed
    if hidden_seed is None and (given.gradescope or given.prairielearn):
        seed_of_hosts = seed_or_new(course)
    entries = [] if seed_of_hosts is None else list(keys.draw_entries(course, infos, seed_of_hosts))
    if hidden_seed is not None and not sealed_key:
        sealed_key = keys.sealed(entries, secret_file)
        click.echo(
            f"The workflow grades with hidden cases: its secret DOJO_SEAL is in {shorten(secret_file)}."
        )
    core = core_files(course, infos, seed, is_sealed_too=bool(sealed_key), library=library)
    for_hosts = {**core, **keys.key_files(entries)}
    for_public_hosts = core if hidden_seed is None else for_hosts
    options = {"all": is_all, "hosts": list(hosts), "seed": seed, "visibility": visibility}
    options |= {"library": library} if library != "numpy" else {}
    options |= {} if agents else {"agents": False}
    options |= {"grade_on": grade_on} if grade_on != "push" else {}
    about: dict[str, object] = {"options": options, "verified": verifications(course, infos)}
    if names_before := renamed(course):
        about["renamed"] = names_before
    files = student_files(course, core, infos, hosts, sealed_key, grade_on)
    if not agents:
        del files[AGENTS]
    outcome = write_release(folder, files, **about)
    made = f"{counted(len(infos), 'kata')}, {counted(len(outcome.written), 'file')}"
    click.echo(f"{made} are in {shorten(folder)}.")
    if kept := [info.name for info in infos if given.names and info.name not in given.names]:
        click.echo(f"{', '.join(kept)}: kept from the release before; --remove takes out what is not named.")
    for note in outcome.notes():
        click.echo(note)
    for info in infos:
        for todo in todos_of_draft(course, info):
            click.echo(f"note: {info.name}: {todo}")
        if drafts := read_drafts(course.edits(info)):
            left_out = counted(len(drafts), "draft")
            click.echo(f"note: {info.name}: left out {left_out} of mistakes, which no author has read.")
    if given.gradescope is not None:
        keys.save(given.gradescope, gradescope_zip(for_hosts, visibility))
        worth = points(sum(info.max_score for info in infos))
        click.echo(f"Upload {shorten(given.gradescope)} to Gradescope, to an assignment of {worth} points.")
    if given.classroom50 is not None:
        for name, data in classroom50_bundle(for_public_hosts).items():
            keys.save(given.classroom50 / name, data)
        click.echo(f"Commit {shorten(given.classroom50)} as the assignment's autograder.")
    images = (
        (given.prairielearn, prairielearn_files, for_hosts),
        (given.exercism, exercism_files, for_public_hosts),
    )
    for path, files_of, files in images:
        if path is not None:
            for name, data in files_of(course, files, infos).items():
                keys.save(path / name, data)
            image = shlex.quote(f"{shorten(path)}/image")
            click.echo(f"Build the image: docker build --tag {course.syllabus.slug} {image}")


def _require_own_folder(folder: Path) -> None:
    """Raise CourseError for a folder with files that no release wrote. What is hidden may be there, such as
    `.git`, and a text about the repository."""
    if not folder.is_dir() or is_release(folder):
        return
    others = [name for name in sorted(os.listdir(folder)) if not name.startswith((".", "README", "LICENSE"))]
    if others:
        raise CourseError(
            f"{shorten(folder)} is not empty and no release: it holds {first_names(others[:3])}."
            " Name a new folder, or one that a release wrote."
        )
