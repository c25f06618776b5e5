"""Kill commands at random moments, and run them side by side: what is lost, and what is left behind?

    python benchmarks/killed.py [MOMENTS] [WHAT …]

`WHAT` is any of grade, page, class, override and dense. After each kill (SIGKILL to the whole process group)
everything that was known before must be known, and every file whole. The command then runs to its end: its
files must be those of an undisturbed run, and no more. `dense` runs thirty `grade` at once, each for a kata
of its own: all thirty must be remembered. The exit code is 1 if anything is lost or left.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from grader.course.catalog import Course
from grader.course.state import CourseState

ROOT = Path(__file__).resolve().parents[1]
MOMENTS, DENSE = 100, 30
KATA = "softmax"
KNOWN = 60  # katas that are remembered before
TEXTS = [f"x = {number}\n" * 20_000 for number in range(2)]
COMMAND = ["-c", "from grader.cli.kata import kata; kata()"]
#: Saves as the page does, until it is killed: the file, the version that was judged, and the score.
SAVING = """
import hashlib, itertools, sys
from pathlib import Path
from types import SimpleNamespace
from grader.course.state import CourseState
from dojo_page.files import write_edited
from dojo_page.history import History
exercises, file = map(Path, sys.argv[1:3])
state = CourseState(SimpleNamespace(exercises=exercises))
history = History(state.folder, file.stem)
print("ready", flush=True)
for number in itertools.count():
    text = f"x = {number % 2}\\n" * 20_000
    write_edited(file, text, None)
    digest = hashlib.sha256(text.encode()).hexdigest()
    history.add(SimpleNamespace(digest=digest, status="failed", score=0, max_score=1), text)
    state.change("saved", hints=number)
    if len(sys.argv) > 3 and number == 2:
        break
"""


def main() -> int:
    words = sys.argv[1:]
    moments = int(words.pop(0)) if words and words[0].isdecimal() else MOMENTS
    wrong: list[str] = []
    for what in words or TRIALS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="killed-") as folder:
            found = TRIALS[what](Path(folder), moments)
        wrong += found
        told = "; ".join(dict.fromkeys(found)) or "nothing is lost, nothing is left"
        print(f"{what:<10}{told} ({time.monotonic() - began:.0f} s)", flush=True)
    return bool(wrong)


def of_grade(folder: Path, moments: int) -> list[str]:
    """Kill `grade KATA`."""
    course = copied_course(folder / "course")
    known = remembered(course)
    words = ["grader.cli.grade", KATA, "--course", course, "--no-search"]

    def problems() -> list[str]:
        state = CourseState(Course(course))
        lost = [name for name in known if name not in state.katas()]
        forgotten = f"{len(lost)} katas are forgotten" if lost else ""
        return [problem for problem in (forgotten, state.trouble()) if problem]

    return killed(words, course / ".dojo", moments, problems)


def of_page(folder: Path, moments: int) -> list[str]:
    """Kill what the page does at each save."""
    course = copied_course(folder / "course")
    known = remembered(course)
    file = next(course.glob(f"exercises/*/{KATA}.py"))
    words = ["-c", SAVING, course / "exercises", file]
    run([*words, "few"])
    due, found = files_of(course), list[str]()
    for _ in range(moments):
        process = started(words)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0, 0.1))
        kill(process)
        state = CourseState(SimpleNamespace(exercises=course / "exercises"))  # type: ignore[arg-type]
        if file.read_text() not in TEXTS:
            found.append("a file is cut")
        if not known <= state.katas().keys():
            found.append("katas are forgotten")
        if state.trouble():
            found.append("damaged")
        run([*words, "few"])
        found += [f"{path} is left" for path in sorted(files_of(course) - due)]
    return found


def of_class(folder: Path, moments: int) -> list[str]:
    """Kill `kata grade`."""
    words, output = graded_class(folder)
    return killed(words, output, moments, lambda: [])


def of_override(folder: Path, moments: int) -> list[str]:
    """Kill `kata override`, which is run again and whose points are then written out."""
    words, output = graded_class(folder)
    run(words)
    place = ["--course", ROOT, "--output", output]
    setting = [*COMMAND, "override", "s0", KATA, "8", "--why", "seen", "--by", "A", *place]
    run(setting)

    def problems() -> list[str]:
        listed = run([*COMMAND, "override", "--list", *place])
        return [] if "Set to 8 points" in listed else ["the points that were set are lost"]

    return killed(setting, output, moments, problems)


def of_dense(folder: Path, _: int) -> list[str]:
    """Run many `grade` at once."""
    course = copied_course(folder / "course")
    opened = Course(course)
    answers = {
        name: opened.solution(info, "reference").read_text("utf-8") for name, info in opened.katas.items()
    }
    alone = [name for name in answers if "solutions" not in answers[name] and not opened.katas[name].needs]
    names = sorted(alone, key=lambda name: opened.katas[name].library)[:DENSE]  # NumPy's first
    for name in names:
        opened.stub(opened.katas[name]).write_text(answers[name], encoding="utf-8")
    running = [started(["grader.cli.grade", name, "--course", course, "--no-search"]) for name in names]
    for process in running:
        process.communicate()
    known = CourseState(opened).katas()
    lost = [name for name in names if name not in known]
    left = [path for path in files_of(course / ".dojo") if "draft" in path]
    few = [f"only {len(names)} katas were graded"] if len(names) < DENSE else []
    return [f"{name} is forgotten" for name in lost] + left + few


def killed(words: list[object], output: Path, moments: int, problems: Callable[[], list[str]]) -> list[str]:
    """Kill a command at random moments, let it run to its end each time, and return what was wrong."""
    run(words)
    began = time.monotonic()
    run(words)
    seconds, due, found = time.monotonic() - began, files_of(output), list[str]()
    assert due, "the command writes nothing"
    for _ in range(moments):
        process = started(words)
        time.sleep(random.uniform(0, 1.1 * seconds))
        kill(process)
        found += problems()
        run(words)
        after = files_of(output)
        found += [f"{path} is left" for path in sorted(after - due)]
        found += [f"{path} is lost" for path in sorted(due - after)]
        found += problems()
    return found


def copied_course(folder: Path) -> Path:
    for name in ("exercises", "tests/katas", "solutions"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def remembered(course: Path) -> set[str]:
    """Let a course remember some katas, and return their names."""
    state, names = CourseState(Course(course)), [*Course(course).katas][:KNOWN]
    for name in names:
        state.change(name, hints=1)
    return set(names)


def graded_class(folder: Path) -> tuple[list[object], Path]:
    """Return the command that grades three students, and its output folder."""
    course = Course(ROOT)
    answer = course.solution(course.katas[KATA], "reference").read_text("utf-8")
    for number in range(3):
        (folder / "in" / f"s{number}").mkdir(parents=True)
        (folder / "in" / f"s{number}" / f"{KATA}.py").write_text(answer, encoding="utf-8")
    output = folder / "out"
    options = ["--course", ROOT, "--kata", KATA, "--graders", "1", "--output", output]
    return [*COMMAND, "grade", folder / "in", *options], output


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def started(words: list[object]) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", *([] if words[0] == "-c" else ["-m"]), *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def run(words: list[object]) -> str:
    """Run a command to its end and return what it prints."""
    return started(words).communicate()[0]


def kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


TRIALS: dict[str, Callable[[Path, int], list[str]]] = {
    "grade": of_grade,
    "page": of_page,
    "class": of_class,
    "override": of_override,
    "dense": of_dense,
}

if __name__ == "__main__":
    sys.exit(main())
