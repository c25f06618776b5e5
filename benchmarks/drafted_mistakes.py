"""How many of the known mistakes of a kata are among its first forty drafts.

    python benchmarks/drafted_mistakes.py [--drafts FOLDER] [KATA ...]

The table of edits is counted without these katas, and their known mistakes are hidden: a candidate with the
outcome of one in every case counts as a draft, and this mistake as found. So does what only a report would
take for one, as a draft. With `--drafts` the drafts are written into a folder, for a reader.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path

from dojo_authoring.drafted_mistakes.candidates import candidates
from dojo_authoring.drafted_mistakes.command import shows_at_once
from dojo_authoring.drafted_mistakes.entries import written
from dojo_authoring.drafted_mistakes.judging import DraftJudge
from dojo_authoring.drafted_mistakes.sentences import level, sentence, told_of
from dojo_authoring.drafted_mistakes.table import Table, derive
from grader.course.catalog import Course, KataInfo
from grader.course.mistake_edits import read_edits

ROOT = Path(__file__).resolve().parents[1]
KATAS = (
    "softmax",
    "causal_mask",
    "scaled_dot_product_attention",
    "shift_right",
    "cross_entropy",
    "rms_norm",
    "top_k",
    "swiglu",
    "alibi_bias",
    "sinusoidal_positions",
)
DRAFTS = 40
MOST_TRIED = 12 * DRAFTS


def measure(course: Course, info: KataInfo, table: Table) -> tuple[list[object], str]:
    """Return the row of a kata and the text of its drafts."""
    own = {mistake.name for mistake in read_edits(course.edits(info))}
    judge, began = DraftJudge(course, info), time.monotonic()
    drafts, found, tried = [], set(), 0
    for candidate in islice(candidates(judge.answers.reference_source, info.library, table), MOST_TRIED):
        tried += 1
        name = f"{told_of(candidate).name}_{tried}"
        draft = candidate.as_draft(name, "Text.", "ordinary", course.edits(info))
        judgement = judge.judge(draft)
        is_new = judgement.double_of in own and judgement.double_of not in found
        if not judgement.symptoms or shows_at_once(judgement.symptoms):
            continue
        if judgement.verdict == "caught" or is_new:
            found |= {judgement.double_of} if judgement.is_same else set()
            draft.words = sentence(candidate, judgement.symptoms).split()
            draft.level = level(judgement.symptoms)
            note = f"# the mistake {judgement.double_of}\n" if judgement.is_same else ""
            drafts.append(note + written(draft))
        if len(drafts) == DRAFTS:
            break
    seconds = time.monotonic() - began
    return [info.name, len(own), len(drafts), len(found), tried, round(seconds / 60, 1)], "\n".join(drafts)


def main(arguments: list[str]) -> None:
    folder = Path(arguments.pop(0)) if arguments[:1] == ["--drafts"] and arguments.pop(0) else None
    course, names = Course(ROOT), arguments or KATAS
    table = derive(course, names)
    print("| kata | known | drafts | known among them | tried | minutes |\n|---|---:|---:|---:|---:|---:|")
    rows = []
    for name in names:
        row, text = measure(course, course.kata_info(name), table)
        rows.append(row)
        print("|", " | ".join(map(str, row)), "|", flush=True)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.edits").write_text(text)
    sums = [round(sum(row[at] for row in rows), 1) for at in range(1, 6)]
    print("| together |", " | ".join(map(str, sums)), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
