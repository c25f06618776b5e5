"""What a student's installation downloads: the wheel by its parts, NumPy, and PyTorch. It needs a network.

    python benchmarks/sizes.py dist/*.whl

`pip install --dry-run --report` names the files, and their servers say how large they are. Nothing is
installed. What PyTorch takes depends on the index that pip is told to use: a build for the CPU is smaller.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WAYS = {"NumPy only": ".", "with PyTorch": ".[torch]"}
MEGABYTE = 1e6


def downloads(requirement: str) -> list[dict[str, Any]]:
    """Return what pip would install besides the grader itself."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["-c", "constraints.txt", "--report", "-", requirement]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)["install"]
    return [one for one in found if "dir_info" not in one["download_info"]]


def size(url: str) -> int:
    """Return the number of bytes of a file, without fetching it."""
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
        return int(answer.headers["Content-Length"])


def part(path: str) -> str:
    """Return the part of the wheel to which a file belongs, by its path."""
    places = {"keys/": "answer keys", "see/": "decoder and model of `see/`", "dojo_page/": "page"}
    known = next((name for start, name in places.items() if path.startswith(start)), "")
    return known or ("code" if path.startswith(("grader/", "dojo_")) else "stubs, declarations, documents")


def parts(wheel: Path) -> dict[str, list[int]]:
    """Return how many files each part of a wheel has, and how many bytes they take in it."""
    found: dict[str, list[int]] = {}
    with zipfile.ZipFile(wheel) as outer, zipfile.ZipFile(outer.open("grader/starter.zip")) as course:
        for entry in [*outer.infolist(), *course.infolist()]:
            if entry.filename != "grader/starter.zip":
                files, size = found.get(part(entry.filename), (0, 0))
                found[part(entry.filename)] = [files + 1, size + entry.compress_size]
    return found


def main(wheel: Path) -> None:
    print("| download | files or packages | size | largest |\n|---|---:|---:|---|")
    for name, (files, bytes_) in sorted(parts(wheel).items(), key=lambda one: -one[1][1]):
        print(f"| the wheel: {name} | {files} | {bytes_ / MEGABYTE:.2f} MB | |")
    print(f"| **the wheel** | 1 | {wheel.stat().st_size / MEGABYTE:.1f} MB | |")
    for way, requirement in WAYS.items():
        sizes = {one["metadata"]["name"]: size(one["download_info"]["url"]) for one in downloads(requirement)}
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        told = ", ".join(f"{name} {sizes[name] / MEGABYTE:.0f} MB" for name in largest)
        print(f"| {way} | {len(sizes)} | {sum(sizes.values()) / MEGABYTE:.0f} MB | {told} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
