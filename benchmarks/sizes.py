"""What a student's installation downloads: with NumPy alone, and with PyTorch. It needs a network.

    python benchmarks/sizes.py

`pip install --dry-run --report` names the files, and their servers say how large they are. Nothing is
installed. What PyTorch takes depends on the index that pip is told to use: a build for the CPU is smaller.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
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


def main() -> None:
    print("| installation | packages | download | largest |\n|---|---:|---:|---|")
    for way, requirement in WAYS.items():
        sizes = {one["metadata"]["name"]: size(one["download_info"]["url"]) for one in downloads(requirement)}
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        told = ", ".join(f"{name} {sizes[name] / MEGABYTE:.0f} MB" for name in largest)
        print(f"| {way} | {len(sizes)} | {sum(sizes.values()) / MEGABYTE:.0f} MB | {told} |")


if __name__ == "__main__":
    main()
