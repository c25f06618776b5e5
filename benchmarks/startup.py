"""How long a passing grading takes from the command line, beside what it cannot do without.

    python benchmarks/startup.py [RUNS]

Every contender is a command, or several in a row, in fresh processes. The runs are interleaved, so
that whatever else the machine does falls on all of them alike; a table of medians is printed. Ratios and
bars are of CPU seconds; those of workers are not counted, since the system reaps them.
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
    """Commands that are timed together, beside another contender and the bars they must keep."""

    name: str
    commands: list[Command]
    beside: str = ""
    most_times: float = 0.0
    forgets: bool = False
    seconds: list[float] = field(default_factory=list)  # on the clock
    computed: list[float] = field(default_factory=list)  # CPU seconds

    @property
    def cpu(self) -> float:
        return statistics.median(self.computed)


def reference(kata: str) -> Path:
    """The right answer of a kata, which passes."""
    return ROOT / "solutions" / KATAS[kata] / kata / "reference.py"


def grade(kata: str) -> Command:
    """`grade KATA --file REFERENCE`, started as a student starts it."""
    return (str(Path(sys.executable).with_name("grade")), kata, "--file", str(reference(kata)))


def contenders(exercises: Path) -> list[Contender]:
    """What is timed, in the order of the table."""
    python = sys.executable
    together = (str(Path(python).with_name("grade")), *KATAS, "--exercises", str(exercises))
    laws = "tests/katas/attention/test_softmax.py"
    pytest = (python, "-m", "pytest", "-p", "no:cacheprovider", laws, "--student=reference")
    return [
        Contender("`import numpy`", [(python, "-c", "import numpy")]),
        Contender("`grade --list`", [("grade", "--list")], "`import numpy`", 0.95),
        Contender("`grade --hint softmax`", [("grade", "--hint", "softmax")], "`import numpy`", 0.95),
        Contender("`grade softmax`", [grade("softmax")], "`import numpy`", 1.8),
        Contender("its laws under pytest", [pytest], "`import numpy`"),
        Contender("`grade softmax`, first time", [grade("softmax")], "`import numpy`", forgets=True),
        Contender("`import torch`", [(python, "-c", "import torch")]),
        Contender("`grade top_p`", [grade("top_p")], "`import torch`", 1.6),
        Contender("six katas, one by one", [grade(kata) for kata in KATAS]),
        Contender("six katas, one command", [together], "six katas, one by one", 1.0),
    ]


def fill(exercises: Path) -> None:
    """A folder of exercises in which every kata is solved."""
    for kata, track in KATAS.items():
        (exercises / track).mkdir(parents=True, exist_ok=True)
        shutil.copy(reference(kata), exercises / track / f"{kata}.py")


def time_once(contender: Contender, cache: Path) -> tuple[float, float]:
    """Seconds on the clock and CPU seconds of a contender's commands. One that fails ends the benchmark."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "XDG_CACHE_HOME": empty if contender.forgets else str(cache)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as they usually are
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        began, computed = time.perf_counter(), cpu_seconds()
        for command in contender.commands:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
        return time.perf_counter() - began, cpu_seconds() - computed


def cpu_seconds() -> float:
    """CPU seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(field: list[Contender], runs: int, cache: Path) -> None:
    """One round that is not counted, which fills the cache; then `runs` rounds through the whole field."""
    for round_number in range(runs + 1):
        for contender in field:
            seconds, computed = time_once(contender, cache)
            if round_number:
                contender.seconds.append(seconds)
                contender.computed.append(computed)
        print(f"\r{round_number}/{runs} rounds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def table(field: list[Contender]) -> Iterator[str]:
    """The medians as a Markdown table."""
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
    """Measure, and print the table with what it was measured on."""
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
