"""Generate the submissions of a class, with known verdicts, from the course's references and mistakes.

Instead of these, mutants can be used, so that no two submissions are equal.

python benchmarks/invented_class.py FOLDER [STUDENTS]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import standalone_sources
from grader.edits.mutants import mutants

ROOT = Path(__file__).resolve().parents[1]
KATAS = ("softmax", "causal_mask", "head_split_merge", "decoder_layer", "top_p", "kv_cache")


def answers(course: Course, info: KataInfo) -> list[tuple[str, str]]:
    """Return all known answers to a kata: the mistake's name, empty for a right answer, and the source."""
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    right = [reference, *standalone_sources(course, info, "variants").values()]
    wrong = standalone_sources(course, info, "mistakes")
    return [("", source) for source in right] + list(wrong.items())


def distinct_answers(course: Course, info: KataInfo, number: int) -> list[tuple[str, str]]:
    """Return `number` different answers: mutants of the reference, then mutants of those."""
    found = {course.solution(info, "reference").read_text(encoding="utf-8"): ""}
    queue = list(found)
    while len(found) < number:
        for mutant in mutants(queue.pop(0)):
            if mutant.source not in found:
                found[mutant.source] = "mutant"
                queue.append(mutant.source)
    return [(mistake, source) for source, mistake in islice(found.items(), number)]


def invent(
    folder: Path, students: int, katas: tuple[str, ...] = KATAS, distinct: bool = False
) -> dict[tuple[str, str], str]:
    """Write the files of a class; return the mistake of each student and kata."""
    course, made = Course(ROOT), {}
    for info in map(course.kata_info, katas):
        known = distinct_answers(course, info, students) if distinct else answers(course, info)
        for number in range(students):
            student = f"student{number:05d}"
            mistake, source = known[(number * 7 + len(made) // max(students, 1)) % len(known)]
            file = folder / student / f"{info.name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{source}\n# by {student}\n", encoding="utf-8")  # no two files are identical
            made[student, info.name] = mistake
    return made


def differences(lines: Iterator[str], made: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield the verdicts in `reports.jsonl` that differ from the known ones."""
    import json

    seen = set()
    for line in map(json.loads, lines):
        for kata in line["report"]["katas"]:
            mistake = made[line["student"], kata["name"]]
            seen.add((line["student"], kata["name"]))
            named = [check["mistake"]["id"] for check in kata["checks"] if check["mistake"]]
            right = kata["status"] == "passed" if not mistake else named[:1] == [mistake]
            if not right:
                told = f"{kata['status']} {named[:1]}, made {mistake or 'none'}"
                yield f"{line['student']} {kata['name']}: {told}"
    yield from (f"{student} {kata}: not graded" for student, kata in made.keys() - seen)


if __name__ == "__main__":
    print(len(invent(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 300)), "files")
