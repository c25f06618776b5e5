"""What the page takes from others is what `make vendor` builds of it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dojo_authoring.release.wheel import sources

FRONT = Path(__file__).resolve().parents[3] / "plugins/dojo_page/front"
VENDOR = FRONT / "vendor"


@pytest.mark.slow
def test_a_fresh_build_of_what_others_wrote_is_the_one_in_the_repository(tmp_path):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    for name in ("package.json", "package-lock.json", "source.js", "build.js"):
        shutil.copy(VENDOR / name, tmp_path)
    told = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"npm_config_update_notifier": "false"},
    )
    if told.returncode and re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH", told.stderr):
        pytest.skip("no registry of npm can be reached")
    assert told.returncode == 0, told.stderr
    subprocess.run(["node", "build.js"], cwd=tmp_path, check=True)
    for name in ("vendor.js", "licences.txt"):
        assert (tmp_path / name).read_bytes() == (VENDOR / name).read_bytes(), name


def test_the_front_end_names_nothing_that_is_not_there():
    for file in (*FRONT.glob("*.js"), *FRONT.glob("*.html")):
        text = file.read_text(encoding="utf-8")
        named = re.findall(r"""(?:from |import )["']\./([\w./-]+)["']|(?:src|href)="([\w./-]+)\"""", text)
        for path in filter(None, (name for pair in named for name in pair)):
            is_made = path == "styles.css" or path.startswith("runtime/")  # by whoever serves it
            assert is_made or (FRONT / path).is_file(), f"{file.name} names {path}"


def test_the_front_end_has_no_script_or_style_in_its_page_and_names_no_other_host():
    page = (FRONT / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|style=", page)
    own = [*FRONT.glob("*.js"), *FRONT.glob("*.html"), *FRONT.glob("*.css")]
    hosts = {
        host for file in own for host in re.findall(r"https?://([\w.]+)", file.read_text(encoding="utf-8"))
    }
    assert hosts == set()


def test_the_wheel_has_the_front_end():
    files = set(sources().values())
    for file in FRONT.rglob("*"):
        if (
            file.is_file()
            and file.suffix in (".js", ".css", ".html", ".svg")
            and "node_modules" not in file.parts
        ):
            assert file in files, file.name
