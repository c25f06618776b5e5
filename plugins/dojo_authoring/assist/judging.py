"""Judge what an assistant proposes, in a process of its own: it runs drafts, and can write to no kata.

The server starts `python -m dojo_authoring.assist.judging` for each request, writes a `Question` to its
standard input and reads an `Answer` from its standard output. The process first runs the author's own code,
which fills the cache. Then it confines itself: it may read the course without the secret seed, and Python,
and write below one temporary folder alone. Only then does it run what was proposed.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path

import msgspec

from dojo_authoring.assist.drafts import VARIANT_DRAFTS
from dojo_authoring.assist.messages import Answer, Question, Said
from dojo_authoring.drafted_mistakes.judging import judge_drafts
from dojo_authoring.verify.judged import recorded_mistakes
from dojo_authoring.verify.katas import refusal, table, verify_kata
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle, folder
from grader.checks.context import PreparedKata
from grader.checks.kata_checks import checks_of
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import read
from grader.course.known_solutions import Definition, excerpt, is_same_way, standalone_sources
from grader.course.mistake_edits import parse_edits, read_drafts
from grader.course.submission import Submission, SubmissionRejected
from grader.errors import KataError
from grader.grading.session import open_grader, require_library
from grader.plugins import packages
from grader.processes.confinement import enter
from grader.processes.ending import PACKAGES
from grader.processes.pool import Lost
from grader.texts.phrases import counted
from grader.worker.in_process import run_forked
from grader.worker.protocol.system_calls import hide_memory

CPU_SECONDS = 600.0  # of the process; the server ends it by the clock
NOT_CONFINED = "The sandbox of this system has refused to start, so nothing was run."
ENDLESS = "The kata's own code does not end; see `kata verify`."
#: What Python, NumPy and PyTorch read beside their own folders.
SYSTEM = (
    *("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys/devices", "/sys/fs/cgroup"),
    *("/dev/null", "/dev/urandom", "/dev/shm"),
)
FORM_OF_VARIANT = (
    "A variant is one function or class without decorators; others begin with an underscore, and imports that"
    " variants.py lacks stand inside."
)
PLACE = re.compile(r"^\S*mistakes\.edits:\d+: ")  # where a proposal would stand, which is in no file
HEADER = "# Right answers in other styles.\n"


def main() -> None:
    """Answer the question on standard input."""
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    answers = os.dup(1)
    _keep_from_forks(answers)
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)  # a kata may print
    try:
        answer = answered(question)
    except (CourseError, KataError) as error:
        answer = Answer(problem=str(error))
    data = msgspec.json.encode(answer)
    while data:
        data = data[os.write(answers, data) :]


def _keep_from_forks(file: int) -> None:
    """Close a descriptor in every fork, where drafts run: one could answer for this process."""
    hide_memory()  # else a fork could open it again by way of /proc
    if sys.platform == "win32":
        return
    about = os.fstat(file)

    def close() -> None:
        with suppress(OSError):
            if os.path.samestat(
                os.fstat(file), about
            ):  # a fork of a fork may have another one of this number
                os.close(file)

    os.register_at_fork(after_in_child=close)


def answered(question: Question) -> Answer:
    """Do what is asked. Raises CourseError and KataError if the kata cannot be judged."""
    course = Course(Path(question.course))
    info = course.kata_info(question.kata)
    require_library([info], "cpu")
    if info.library == "torch":
        import torch

        torch.set_num_threads(1)  # inputs are small
    if question.work == "verify":
        return Answer(text=verified(course, info))
    _fill_cache(course, info)
    _confine(course, info, question)
    if question.work == "mistakes":
        drafts = parse_edits(question.text, course.edits(info))
        judged = judge_drafts(course, info, drafts)
        pairs = zip(drafts, judged, strict=True)
        said = [
            Said(draft.name, is_accepted=one.verdict == "caught", reason=PLACE.sub("", one.reason))
            for draft, one in pairs
        ]
        return Answer(said)
    return Answer([judge_variant(course, info, question.text, Path(question.folder))])


def verified(course: Course, info: KataInfo) -> str:
    """Return what `kata verify` says of a kata; nothing is written but the cache."""
    result = verify_kata(course, info)
    drafts = len(read_drafts(course.edits(info)))
    lines = [table([result])]
    lines += [f"✗ {gap}" for gap in result.gaps]
    lines += [f"note: {note}" for note in result.notes]
    found = f"{counted(len(result.gaps), 'gap')}." if result.gaps else "The kata is ready."
    return "\n".join([*lines, f"{found} {counted(drafts, 'draft')} of mistakes."])


def _fill_cache(course: Course, info: KataInfo) -> None:
    """Draw the cases and judge the known mistakes, if the cache has neither. Raises KataError."""

    def fill() -> str:
        try:
            kata = course.declaration(info)
            oracle = Oracle(kata, course, info, SEED)
            recorded_mistakes(course, PreparedKata(info, kata, oracle, checks_of(kata, oracle)))
        except (CourseError, KataError) as error:
            return str(error)
        return ""

    # a process in which PyTorch has already computed cannot be forked safely
    problem = run_forked(fill, CPU_SECONDS)
    if problem:
        raise KataError(ENDLESS if isinstance(problem, Lost) else problem)


def _confine(course: Course, info: KataInfo, question: Question) -> None:
    """Let this process write below the question's folder alone, with a copy of what the cache has of the
    kata. Raises KataError if the system refuses."""
    cache = Path(question.folder, "cache", "decoder-dojo", "judged")
    cache.mkdir(parents=True)
    for path in folder().glob(f"{info.name}-*"):
        shutil.copyfile(path, cache / path.name)
    os.environ.update(XDG_CACHE_HOME=str(cache.parents[1]), HOME=question.folder, TMPDIR=question.folder)
    tempfile.tempdir = question.folder
    os.chdir(question.folder)
    reads = [path for path in _readable(course) if os.path.exists(path)]
    found = enter(question.folder, question.isolation, CPU_SECONDS, os.getppid(), reads=reads)
    if question.isolation != "none" and not found.is_whole:
        raise KataError(NOT_CONFINED)


def _readable(course: Course) -> Iterator[str]:
    """Yield what a proposal may read: the system, Python, the grader, and the course without the files beside
    its tracks, such as the secret seed."""
    yield from SYSTEM
    yield from {sys.prefix, sys.base_prefix, *(path for path in sys.path if Path(path).name in PACKAGES)}
    for spec in filter(None, map(find_spec, {"grader", *packages()})):
        yield from spec.submodule_search_locations or ()
    for name in ("tests", "exercises"):
        yield str(course.root / name)
    yield from (str(path) for path in (course.root / "solutions").iterdir() if path.is_dir())


class WithVariants(Course):
    """A course whose variants are in another file."""

    def __init__(self, course: Course, variants: Path) -> None:
        super().__init__(course.root, course.exercises)
        self.variants = variants

    def solution(self, info: KataInfo, part: str) -> Path:
        return self.variants if part == "variants" else super().solution(info, part)


def judge_variant(course: Course, info: KataInfo, code: str, scratch: Path) -> Said:
    """Judge a right answer in another style: it needs full marks, and takes other steps than those that are
    known. It runs in a worker, as a submission does. Raises KataError for a code of another form."""
    grader, source = open_grader(course, [info])  # before a solution is read
    with closing(source):
        name = variant_name(code)
        path = course.solution(info, "variants")
        text = read(path) if path.is_file() else HEADER
        known = {"the reference": read(course.solution(info, "reference"))}
        drafted = course.folder(info) / VARIANT_DRAFTS
        for file in (text, read(drafted) if drafted.is_file() else ""):
            names = [node.name for node in ast.parse(file).body if isinstance(node, Definition)]
            known |= {f"`{one}`": excerpt(file, one) for one in names}
        if f"`{name}`" in known:
            return Said(name, is_accepted=False, reason=f"`{name}` is the name of another variant.")
        if alike := next((one for one in known if is_same_way(excerpt(code, name), known[one])), ""):
            return Said(name, is_accepted=False, reason=f"`{name}` takes the same steps as {alike}.")
        variants = scratch / "variants.py"
        variants.write_text(f"{text.rstrip()}\n\n\n{code}\n", encoding="utf-8")
        try:
            one = standalone_sources(WithVariants(course, variants), info, "variants")[name]
            said = refusal(grader.grade(Submission(info, one, f"`{name}`")).report)
        except SubmissionRejected as refused:
            said = f"refused: {refused}"
    reason = f"`{name}` is {said}" if said else f"`{name}` passes every check."
    return Said(name, is_accepted=not said, reason=reason)


def variant_name(code: str) -> str:
    """Return the name of the function or class that a code proposes. Raises KataError if it is no Python, or
    holds anything else than one of them and functions or classes that begin with an underscore."""
    try:
        nodes = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise KataError(f"The code is no Python: {type(error).__name__}.") from None
    definitions = [node for node in nodes if isinstance(node, Definition)]
    names = [node.name for node in definitions if not node.name.startswith("_")]
    if len(names) != 1 or len(definitions) < len(nodes) or any(node.decorator_list for node in definitions):
        raise KataError(FORM_OF_VARIANT)
    return names[0]


if __name__ == "__main__":
    main()
