"""Build the wheel twice from fresh clones, then use it as a student would: make release-check

    python .ci/release_check.py                      # of the last commit, into dist/
    python .ci/release_check.py dist/WHEEL.whl       # use a wheel that exists, on this Python

A line a step; the first step that fails ends the check.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("--require-hashes", "-r", str(ROOT / ".ci" / "release.txt"))
PUBLIC = ("exercises", "tests/katas", "plugins/dojo_authoring/scaffold/templates")  # what students may read
#: For each kata that is tried, what to change in its reference for a wrong answer.
WRONG = {
    "attention/softmax": (" - largest", ""),
    "attention/causal_mask": ("<=", "<"),
    "blocks/layer_norm": ("variance + eps", "variance"),
}
#: The second build differs from the first in everything that may not matter, its folder too.
ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "4"}
NO_NETWORK = ("unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
CLOSED_PORT = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


class Failed(Exception):
    """A step failed; the message says what was seen."""


def main(wheels: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        place = Path(folder)
        (place / "home").mkdir()
        if wheels:
            use(Path(wheels[0]).resolve(), place)
            return
        wheel = build(place)
        tools = environment(place, "tools", *TOOLS)
        inspect(wheel, tools, place)
        use(wheel, place)
        bill = ROOT / "build" / "sbom.cdx.json"
        bill.parent.mkdir(exist_ok=True)
        student = place / "student" / "bin" / "python"
        run(place, tools / "cyclonedx-py", "environment", student, "--output-reproducible", "-o", bill)
        told("bill of materials", f"{bill.relative_to(ROOT)}, of what the wheel and the page install")
        print(run(place, sys.executable, ROOT / "benchmarks" / "sizes.py", wheel, cwd=ROOT))


def build(place: Path) -> Path:
    """Return the wheel of the last commit in dist/, if it comes out the same in two clones."""
    first, second = place / "first", place / "second" / "elsewhere"
    for clone in (first, second):
        run(place, "git", "clone", "--quiet", ROOT, clone)
    run(place, "make", "-C", first, "install", f"PYTHON={sys.executable}")
    told("fresh clone", run(place, "git", "-C", first, "log", "-1", "--format=%h %s").strip())
    one = wheel_of(first, first, place)
    two = wheel_of(second, first, place, umask=0o077, **ELSEWHERE)
    if one.read_bytes() != two.read_bytes():
        raise Failed(f"two builds differ: {', '.join(different(one, two))}")
    told("two builds", f"are the same {one.stat().st_size:,} bytes")
    (ROOT / "dist").mkdir(exist_ok=True)
    return Path(shutil.copy(one, ROOT / "dist"))


def wheel_of(tree: Path, installed: Path, place: Path, umask: int = -1, **variables: str) -> Path:
    """Return the wheel that `kata wheel` makes of a tree. The pinned setuptools writes its metadata."""
    binaries = installed / ".venv" / "bin"
    pip = (binaries / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    run(place, *pip, "-e", tree)
    home = tree.with_name(f"{tree.name}-home")  # of its own, so that no cache of the other build is used
    home.mkdir()
    run(place, binaries / "kata", "wheel", "dist", cwd=tree, umask=umask, HOME=str(home), **variables)
    (wheel,) = (tree / "dist").glob("*.whl")
    return wheel


def different(one: Path, two: Path) -> list[str]:
    """Return the files that differ between two wheels, or in the archives in them."""
    ours, theirs = dict(checksums(one)), dict(checksums(two))
    names = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    return sorted(names) or ["times, rights or the order of files"]


def checksums(file: Path | IO[bytes]) -> Iterator[tuple[str, int]]:
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            yield entry.filename, entry.CRC
            if entry.filename.endswith(".zip"):
                yield from checksums(archive.open(entry))


def inspect(wheel: Path, tools: Path, place: Path) -> None:
    """Check the metadata, the licence, and that no solution is inside."""
    run(place, tools / "twine", "check", "--strict", wheel)
    run(place, tools / "check-wheel-contents", wheel)
    told("metadata", "twine check --strict and check-wheel-contents find nothing")
    sys.path.insert(0, str(ROOT))
    from tests.grader.leaks import contents, leaks

    alone = place / "alone"
    alone.mkdir()
    shutil.copy(wheel, alone)
    if found := leaks(alone, ROOT / "solutions", [ROOT / part for part in PUBLIC]):
        raise Failed(f"the wheel holds solutions: {'; '.join(found)}")
    sources = len(list((ROOT / "solutions").rglob("*.py")))
    told("no solution", f"no function of {sources} files in solutions/ is in the wheel or its keys")
    texts = dict(contents(wheel.name, wheel.read_bytes()))
    owned = [name for name, text in texts.items() if re.search(r"Copyright|\(c\) \d{4}|SPDX-", text)]
    licences = [name for name in owned if name.endswith("licenses/LICENSE")]
    if owned != licences or not licences:
        raise Failed(f"the owners of these files are to be checked: {', '.join(owned)}")
    told("licences", f"{len(texts)} files name no other owner; LICENSE (MIT) is among them")


def use(wheel: Path, place: Path) -> None:
    """Install the wheel, and use it without a network: start, grade, look, grade a class, open the page."""
    python = environment(place, "student", f"{wheel}[page]")
    offline = NO_NETWORK if can_cut_off(place) else ()
    how = "in a network of its own" if offline else "with proxies at a closed port"
    version = run(place, python / "python", "--version").strip()
    told("installed", f"{wheel.name} in an empty environment, {version}; from here on {how}")

    def student(*command: object, code: int = 0, cwd: Path = place) -> str:
        return run(place, *offline, python / command[0], *command[1:], cwd=cwd, code=code, **CLOSED_PORT)

    expect(wheel.name.split("-")[1], student("grade", "--version"))
    expect("katas written", student("grade", "start", "dojo"))
    told("grade start", "writes the course")
    course = place / "dojo"
    for name, (old, new) in WRONG.items():
        right = (ROOT / "solutions" / name / "reference.py").read_text("utf-8")
        kata = Path(name).name
        for who, source, code, seen in (
            ("ada", right, 0, "10 / 10"),
            ("bob", right.replace(old, new), 1, "✗"),
        ):
            file = course / "exercises" / f"{name}.py"
            file.write_text(source, "utf-8")
            expect(seen, student("grade", kata, code=code, cwd=course))
            (place / "class" / who).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / "class" / who)
        told(f"grade {kata}", "10 / 10 for the reference, ✗ for a wrong answer")
    expect("causal_mask", student("grade", "see", "--text", cwd=course))
    told("grade see --text", "shows the decoder")
    student("kata", "grade", place / "class", "--output", place / "grades", cwd=course)
    expect("bob", (place / "grades" / "canvas.csv").read_text("utf-8"))
    told("kata grade", "grades a class of two")
    told("grade page", student("python", "-c", REQUEST, python / "grade", cwd=course).strip())


#: Starts the page, asks for it once, and stops it; runs where the server runs, since that network is its own.
REQUEST = """
import re, subprocess, sys, time, urllib.request
server = subprocess.Popen([sys.argv[1], "--page", "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    address = next(found[0] for line in server.stdout if (found := re.search(r"http://\\S+", line)))
    cookies = urllib.request.HTTPCookieProcessor()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
    for seconds in range(60):
        try:
            page = opener.open(address, timeout=60)
            break
        except urllib.error.URLError:
            time.sleep(1)  # the address is printed before the server listens
    print(f"answers {page.status} with {len(page.read()):,} bytes")
finally:
    server.terminate()
    server.wait()
"""


def environment(place: Path, name: str, *requirements: str) -> Path:
    """Return the folder of programs of a new virtual environment in which these are installed."""
    run(place, sys.executable, "-m", "venv", place / name)
    run(place, place / name / "bin" / "python", "-m", "pip", "install", "--quiet", *requirements)
    return place / name / "bin"


def can_cut_off(place: Path) -> bool:
    """Return whether commands can run in a network namespace, where there is nothing but themselves."""
    try:
        run(place, *NO_NETWORK, "true")
    except (Failed, OSError):
        return False
    return True


def run(
    place: Path, *command: object, cwd: Path | None = None, code: int = 0, umask: int = -1, **variables: str
) -> str:
    """Run a command with an empty home and without this environment, and return what it printed."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PATH" or name.startswith(("PIP_", "SSL_"))
    }
    words = list(map(str, command))
    done = subprocess.run(
        words, cwd=cwd or place, umask=umask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**kept, "HOME": str(place / "home"), "NO_COLOR": "1", **variables},
    )  # fmt: skip
    if done.returncode != code:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def expect(text: str, printed: str) -> None:
    if text not in printed:
        raise Failed(f"`{text}` is missing in:\n{printed}")


def told(step: str, said: str) -> None:
    print(f"✓ {step:20} {said}", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:2])
    except Failed as error:
        sys.exit(f"✗ {error}")
