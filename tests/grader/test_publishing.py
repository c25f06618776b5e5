"""Tests of what a tag publishes: the notes, the wheel's description and its compression, the pinned files."""

import io
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from dojo_authoring.release.wheel import build_wheel, zipped
from grader.course.catalog import load_file

ROOT = Path(__file__).resolve().parents[2]
release_notes = load_file("release_notes", ROOT / ".ci" / "release_notes.py")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

CHANGELOG = """# Changelog

## Unreleased

- c

## 1.10.0 (2026-11-25)

### Added

- b

## 1.1.0

## 1.0.0

- a
"""


@pytest.fixture
def project(tmp_path):
    """`project(version)` is a folder whose grader has this version."""

    def project(version):
        (tmp_path / "grader").mkdir()
        (tmp_path / "grader" / "__init__.py").write_text(f'__version__ = "{version}"  # the only place\n')
        (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
        return tmp_path

    return project


@pytest.mark.parametrize(("version", "text"), [("1.10.0", "### Added\n\n- b\n"), ("1.0.0", "- a\n")])
def test_the_notes_are_the_section_of_the_version(project, version, text):
    assert release_notes.notes(f"v{version}", project(version)) == text


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        ("v1.0.1", "1.0.0", r"The tag is v1\.0\.1, but the grader has version 1\.0\.0: tag v1\.0\.0\."),
        ("1.0.0", "1.0.0", r"The tag is 1\.0\.0, but"),
        ("v1.10", "1.10", r"has no section `## 1\.10`"),
        ("v1.1.0", "1.1.0", r"no section `## 1\.1\.0`, or nothing in it"),
    ],
)
def test_a_tag_without_its_version_or_its_notes_is_refused(project, tag, version, message):
    with pytest.raises(release_notes.NotReady, match=message):
        release_notes.notes(tag, project(version))


def about(course):
    """Return the files of the wheel's metadata, by their names."""
    with zipfile.ZipFile(io.BytesIO(build_wheel(course)[1])) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" in name]
        return {name.partition(".dist-info/")[2]: archive.read(name).decode() for name in names}


def test_the_wheel_of_this_course_is_described_as_pyproject_says():
    files, project = about(ROOT), PROJECT["project"]
    assert f"\nSummary: {project['description']}\n" in files["METADATA"]
    assert f"\nLicense-Expression: {project['license']}\n" in files["METADATA"]
    assert "\nDescription-Content-Type: text/markdown\n" in files["METADATA"]
    assert files["METADATA"].partition("\n\n")[2].startswith("# ")
    assert files["licenses/LICENSE"] == (ROOT / "LICENSE").read_text()
    assert "decoder-dojo = dojo_page.jupyter:setup" in files["entry_points.txt"]


def test_the_wheel_of_another_course_has_the_licence_and_no_description():
    headers = about(Path("/another"))["METADATA"]
    assert "\nLicense-Expression: MIT\n" in headers
    assert not re.search(r"^Summary|^Keywords|\n\n", headers, re.MULTILINE)


def test_the_description_has_no_link_that_is_broken_outside_the_repository():
    links = re.findall(r"\]\(([^)]*)\)", (ROOT / PROJECT["project"]["readme"]).read_text())
    assert [link for link in links if not link.startswith("https://")] == []


def test_an_archive_has_no_time_no_owner_and_the_order_of_its_files():
    data = zipped({"b.key": b"b" * 99, "a": b"a"}, dense=".key")
    assert data == zipped({"b.key": b"b" * 99, "a": b"a"}, dense=".key")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(e.filename, e.date_time[0], e.compress_type) for e in archive.infolist()]
    assert entries == [("b.key", 2020, zipfile.ZIP_LZMA), ("a", 2020, zipfile.ZIP_DEFLATED)]


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file):
    """Return the versions that a file pins, by the names of the packages."""
    found = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / file).read_text(), re.MULTILINE)
    return {normal(name): version for name, version in found}


@pytest.mark.parametrize("file", [".ci/requirements.txt", ".ci/release.txt"])
def test_everything_that_ci_installs_has_a_hash(file):
    text = (ROOT / file).read_text()
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins(file)) > 20
    hashed = re.compile(r"\S+==\S+.*(\n    --hash=sha256:\w{64}.*)+\n")
    assert [entry for entry in entries if not hashed.fullmatch(entry)] == []
    assert "://" not in text


def test_ci_installs_the_versions_that_everybody_installs():
    everybody = pins("constraints.txt")
    others = pins(".ci/requirements.txt").items() - everybody.items()
    assert [name for name, _ in others if name in everybody] == []


def test_the_licences_are_those_of_the_pinned_versions_and_all_allowed():
    page = (ROOT / "docs" / "licences.md").read_text()
    rows = re.findall(r"^\| (\S+) +\| (\d\S*?)(?:\+cpu)? +\| (.+?) +\|$", page, re.MULTILINE)
    allowed = set(PROJECT["tool"]["pip-licenses"]["allow-only"].split(";"))
    everybody = pins("constraints.txt")
    assert len(rows) > 100
    assert [name for name, version, _ in rows if everybody.get(normal(name), version) != version] == []
    assert [name for name, _, licence in rows if not allowed & set(licence.split("; "))] == []


def test_every_action_is_pinned_by_the_hash_of_a_commit():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (.*)", workflow.read_text())
        assert [one for one in used if not re.fullmatch(r"\./\S+|[\w./-]+@[0-9a-f]{40} # v[\d.]+", one)] == []
