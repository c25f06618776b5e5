"""Duration of a passing `grade`, compared with importing its array library.

    python benchmarks/startup.py [RUNS]

Each row times one or more commands in fresh processes. Runs are interleaved, so that other load on the
machine affects all rows alike, and medians are printed. Ratios and bars are of CPU seconds, without those of
workers, which the kernel reaps uncounted.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 10
KATAS = {
    "softmax": "attention",
    "causal_mask": "attention",
    "head_split_merge": "attention",
    "decoder_stack": "blocks",
    "top_p": "generation",
    "kv_cache": "generation",
}

Command = tuple[str, ...]


@dataclass
class Contender:
    """Commands that are timed together, and the ratio to another row that they must keep."""

    name: str
    commands: list[Command]
    beside: str = ""
    most_times: float = 0.0
    clears_cache: bool = False
    seconds: list[float] = field(default_factory=list)  # wall-clock seconds
    computed: list[float] = field(default_factory=list)  # CPU seconds

    @property
    def cpu(self) -> float:
        return statistics.median(self.computed)


def reference(kata: str, part: str = "reference") -> Path:
    """Return the path of a kata's reference, or of its answer in PyTorch."""
    return ROOT / "solutions" / KATAS[kata] / kata / f"{part}.py"


def grade(kata: str, part: str = "reference") -> Command:
    """Return the command `grade KATA --file REFERENCE`."""
    return (str(Path(sys.executable).with_name("grade")), kata, "--file", str(reference(kata, part)))


def contenders(exercises: Path) -> list[Contender]:
    """Return the rows of the table."""
    python = sys.executable
    together = (str(Path(python).with_name("grade")), *KATAS, "--exercises", str(exercises))
    laws = "tests/katas/attention/test_softmax.py"
    pytest = (python, "-m", "pytest", "-p", "no:cacheprovider", laws, "--student=reference")
    return [
        Contender("`import numpy`", [(python, "-c", "import numpy")]),
        Contender("`grade list`", [("grade", "list")], "`import numpy`", 0.95),
        Contender("`grade hint softmax`", [("grade", "hint", "softmax")], "`import numpy`", 0.95),
        Contender("`grade softmax`", [grade("softmax")], "`import numpy`", 1.8),
        Contender("its laws under pytest", [pytest], "`import numpy`"),
        Contender("`grade softmax`, first time", [grade("softmax")], "`import numpy`", clears_cache=True),
        Contender("`import torch`", [(python, "-c", "import torch")]),
        Contender("`grade top_p`", [grade("top_p")], "`import torch`", 1.6),
        Contender("`grade softmax`, in PyTorch", [grade("softmax", "in_torch")], "`grade top_p`", 1.1),
        Contender("six katas, one by one", [grade(kata) for kata in KATAS]),
        Contender("six katas, one command", [together], "six katas, one by one", 1.0),
    ]


def fill(exercises: Path) -> None:
    """Write a folder of exercises in which every kata is solved."""
    for kata, track in KATAS.items():
        (exercises / track).mkdir(parents=True, exist_ok=True)
        shutil.copy(reference(kata), exercises / track / f"{kata}.py")


def time_once(contender: Contender, cache: Path) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a contender's commands; exit if one fails."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "XDG_CACHE_HOME": empty if contender.clears_cache else str(cache)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # use compiled modules, as in normal use
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        began, computed = time.perf_counter(), cpu_seconds()
        for command in contender.commands:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
        return time.perf_counter() - began, cpu_seconds() - computed


def cpu_seconds() -> float:
    """Return the CPU seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(field: list[Contender], runs: int, cache: Path) -> None:
    """Time all rows `runs` times, after one round that only fills the cache."""
    for round_number in range(runs + 1):
        for contender in field:
            seconds, computed = time_once(contender, cache)
            if round_number:
                contender.seconds.append(seconds)
                contender.computed.append(computed)
        print(f"\r{round_number}/{runs} rounds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def table(field: list[Contender]) -> Iterator[str]:
    """Yield the lines of a Markdown table of medians."""
    computed = {contender.name: contender.cpu for contender in field}
    yield "| | on the clock | fastest | slowest | CPU | ratio | bar |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for contender in field:
        ratio = contender.cpu / computed.get(contender.beside, contender.cpu)
        clock = statistics.median(contender.seconds), min(contender.seconds), max(contender.seconds)
        seconds = [f"{s:.2f} s" for s in (*clock, contender.cpu)]
        beside = f"{ratio:.2f} × {contender.beside}" if contender.beside else ""
        most = contender.most_times
        bar = f"≤ {most:g}× {'✓' if ratio <= most else '✗'}" if most else ""
        yield f"| {' | '.join([contender.name, *seconds, beside, bar])} |"


def main() -> None:
    """Measure, and print the table and the machine."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as scratch:
        exercises, cache = Path(scratch, "exercises"), Path(scratch, "cache")
        fill(exercises)
        field = contenders(exercises)
        measure(field, runs, cache)
    print("\n".join(table(field)))
    print(f"\n{runs} runs, {platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
