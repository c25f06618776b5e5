"""What a report says of first answers, written from the statements alone, with one to three mistakes at once.

    python benchmarks/first_answers.py [SET] [--reports] [KATA ...]

The answers are in `benchmarks/first_answers/KATA.txt`; with `--single`, those to other katas with one mistake
each, in `benchmarks/single_mistakes`; with `--blind`, later ones to most katas, in
`benchmarks/blind_answers`; with `--show`, fifteen to each of twelve katas, written before any was graded, in
`benchmarks/show_answers`; with `--kernels`, those to the katas of kernels, in `benchmarks/kernel_answers`;
with `--later-kernels`, the last of these, in its folder `later`.
Each begins with a line `# %%` that says what is wrong with it. An answer counts for the first column that
holds:

    named       a known mistake, or several at once, is stated as the reason
    part        a known mistake is stated as one of the reasons, or as a possibility
    placed      a search has found the place
    parted      the report says where wrong numbers come of right ones
    nothing     none of these

`untrue` counts the names that are marked as untrue, by hand, in the line of the answer: `untrue: name`. With
`--reports` each answer's report follows what its author says of it: read them, since only a person can tell.
"""

from __future__ import annotations

import re
import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.diagnosis.search_options import SearchOptions
from grader.formats.terminal import render_kata
from grader.grading.session import open_grader
from grader.report import KataReport

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "--single": "single_mistakes",
    "--blind": "blind_answers",
    "--show": "show_answers",
    "--kernels": "kernel_answers",
    "--later-kernels": "kernel_answers/later",
}
COLUMNS = ("named", "part", "placed", "parted", "nothing")


def main(arguments: list[str]) -> None:
    """Grade the answers to the katas, and print a table."""
    course, total, seconds, untrue = Course(ROOT), dict.fromkeys(COLUMNS, 0), list[float](), 0
    names = [word for word in arguments if not word.startswith("--")]
    chosen = (folder for option, folder in FOLDERS.items() if option in arguments)
    folder = ROOT / "benchmarks" / next(chosen, "first_answers")
    print(f"{'kata':<30}{''.join(f'{column:>9}' for column in COLUMNS)}{'untrue':>9}{'naming s':>10}")
    for name in names or sorted(path.stem for path in folder.glob("*.txt")):
        counts, spent, wrong = dict.fromkeys(COLUMNS, 0), list[float](), 0
        info = course.kata_info(name)
        grader, source = open_grader(course, [info])
        with closing(source):
            for head, code in answers_of(folder / f"{name}.txt"):
                began = time.process_time()
                graded = grader.grade(Submission(info, code, f"{name}.py"))
                spent.append(time.process_time() - began)
                report = graded.locate(SearchOptions()).report
                counts[column := column_of(report)] += 1
                said = sorted({check.mistake.id for check in report.checks if check.mistake})
                wrong += sum(one in re.findall(r"\w+", head.partition("untrue:")[2]) for one in said)
                if "--reports" in arguments:
                    print(f"\n== {name}: {head}\n   {column}: {', '.join(said)}\n{render_kata(report)}")
                else:
                    print(f"  {column:<8}{head[:88]:<90}{', '.join(said)}")
        row = "".join(f"{counts[column]:>9}" for column in COLUMNS)
        print(f"{name:<30}{row}{wrong:>9}{median(spent):>10.2f}", flush=True)
        total, seconds, untrue = {c: total[c] + counts[c] for c in COLUMNS}, seconds + spent, untrue + wrong
    row = "".join(f"{total[column]:>9}" for column in COLUMNS)
    print(f"{'all':<30}{row}{untrue:>9}{median(seconds):>10.2f}")


def answers_of(file: Path) -> list[tuple[str, str]]:
    """Return what is wrong with each answer of a file, and its code."""
    parts = (part.split("\n", 1) for part in file.read_text().split("# %% ")[1:])
    return [(head, code) for head, code in parts]


def column_of(report: KataReport) -> str:
    """Return what the report says in the terminal."""
    text = " ".join(render_kata(report).split())
    mistakes = [check.mistake for check in report.checks if check.mistake]
    shown = [one for one in mistakes if " ".join(one.text.split())[:60] in text]
    if any(one.certain and not getattr(one, "partial", False) for one in shown):
        return "named"
    if shown:
        return "part"
    if any(repair.kind == "numbers" for repair in report.repairs):
        return "parted"
    return "placed" if report.repairs else "nothing"


if __name__ == "__main__":
    main(sys.argv[1:])
