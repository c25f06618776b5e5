"""Run every test that `kata audit --write-tests` writes a hundred times, on the solution and on its mutant.

    python benchmarks/written_tests.py [--times 100] [--mutants 60] [HOMEWORK …]

Each time has another state of random numbers. Every test must pass on the solution each time, and fail on its
mutant each time. Without a homework, it is the one of `benchmarks/audit.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from audit import write_homework

from dojo_audit.audit import Auditor, Options
from dojo_audit.homework import open_homework
from dojo_audit.pool import Job, ServerPool
from dojo_audit.report import TestedMutant
from dojo_audit.writing import Test, TestWriter, write_tests

SEEDED = """
import random
random.seed({name})
if "numpy" in sys.modules:
    sys.modules["numpy"].random.seed({name})
if "torch" in sys.modules:
    sys.modules["torch"].manual_seed({name})
"""
PASSES = "import sys\nfor seed in range({times}):\n{seeded}\n{test}"
FAILS = """
import sys
for seed in range({times}):
{seeded}
    try:
{test}
    except BaseException:
        continue
    raise SystemError("it passes")
"""


def repeated(test: Test, times: int, fails: bool) -> Test:
    """Return a test that passes if the given one always passes, or if it always fails."""
    lines, seeded = "\n".join(test.lines), textwrap.indent(SEEDED.format(name="seed"), "    ")
    text = textwrap.indent(lines, " " * (8 if fails else 4))
    code = (FAILS if fails else PASSES).format(times=times, seeded=seeded, test=text)
    return replace(test, lines=tuple(line for line in code.splitlines() if line.strip()))


def written(auditor: Auditor) -> Iterator[tuple[TestedMutant, Test]]:
    """Write tests, and yield each with the mutant that it is for."""
    write_tests(auditor, sys.maxsize)
    writer = TestWriter(auditor.homework)
    for one in auditor.found:
        tests = writer.tests_for(one, set()) if one.test_code else iter(())
        yield from ((one, test) for test in tests if all(line in one.test_code for line in test.lines))


def measure(homework: Path, mutants: int, times: int) -> int:
    """Run the tests of one homework, print what was found, and return how many fail."""
    opened = open_homework(homework)
    with ServerPool(opened) as pool:
        auditor = Auditor(pool, Options(mutants=mutants))
        auditor.try_mutants()
        writer = TestWriter(opened)
        count = wrong = 0
        for one, test in written(auditor):
            count += 1
            for fails, source in ((False, {}), (True, {one.file: one.source})):
                files = source | {writer.place: writer.file([repeated(test, times, fails)])}
                job: Job = auditor.tests(files, **writer.command)
                result = pool.run(replace(job, cpu=600, wall=1800))
                if result.status != "passed":
                    wrong += 1
                    print(
                        f"{one.where}, line {one.line}: not always on the {'mutant' if fails else 'solution'}"
                    )
                    print(writer.one(test), result.printed[-1000:], sep="\n")
    print(f"{homework.name}: {count} written tests, {times} times each on both: {wrong} do not hold")
    return wrong


def main() -> int:
    """Measure the homeworks; return 1 if a test does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("homework", nargs="*", type=Path)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if not given.homework:
            folder = Path(place) / "decoder"
            folder.mkdir()
            write_homework(folder)
            given.homework.append(folder)
        wrong = [measure(homework, given.mutants, given.times) for homework in given.homework]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
