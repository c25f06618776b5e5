"""A reader that dies says so in one sentence, and what asked it goes on: `grade`, the judge of a page, of an
editor and of an assistant, and what their servers ask themselves."""

import asyncio
import os
import signal
import sys
import time
from contextlib import aclosing, suppress

import pytest
from click.testing import CliRunner

from dojo_classroom import judge_seekers
from dojo_editor.lsp.findings import names_in
from dojo_page.judges import Judges
from dojo_page.messages import JudgeTerms
from dojo_page.questions import asked_in
from dojo_review.review import numbers_of
from grader.cli.grade import grade
from grader.course.submission import is_unwritten, statement_of
from grader.worker.reader import Reader

from ..editor.test_lsp import descendants

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
DIES = f"{RIGHT}# this one ends its reader, sys\n"
SAID = "double.py could not be judged: the process that read it has ended."
LATE = (
    "double.py could not be judged: reading it takes more than 20 seconds of computing."  # on a busy machine
)
#: Python 3.11 parses it for minutes.
BUSY = f"{RIGHT}x = f'" + "{1}" * 340_000 + "'\n"
#: How a reader dies: the system takes its memory back, its timer of CPU time rings, its stack ends.
WAYS = ("SIGKILL", "SIGPROF", "SIGSEGV")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(params=WAYS)
def dying(request, monkeypatch):
    """Let each reader die that gets a text with these words; the list of those that have."""
    exchange, killed = Reader._exchange, []

    def asked(self, header, data):
        if b"ends its reader" in data:
            self.child, self.owner = self.child or self.start(), os.getpid()
            killed.append(getattr(self.child, "pid", 0) or self.child._popen.pid)
            os.kill(killed[-1], getattr(signal, request.param))
        return exchange(self, header, data)

    monkeypatch.setattr(Reader, "_exchange", asked)
    return killed


def test_grade_says_so_and_the_next_one_is_judged(dying, tiny_course, monkeypatch):
    file = tiny_course.stub(tiny_course.kata_info("double"))
    stub = file.read_text()
    monkeypatch.chdir(tiny_course.root)
    try:
        file.write_text(DIES)
        lost = CliRunner().invoke(grade, ["double"])
        file.write_text(RIGHT)
        judged = CliRunner().invoke(grade, ["double"])
    finally:
        file.write_text(stub)
    assert dying
    assert " ".join(lost.output.split()).count(SAID) == 1
    assert (lost.exit_code, judged.exit_code) == (2, 0), lost.output


@pytest.mark.parametrize(
    ("ask", "nothing"),
    [
        (statement_of, None),
        (is_unwritten, False),
        (lambda text: names_in(text, ("double",)), {}),
        (asked_in, []),
        (numbers_of, [1, 2, 3, 4, 5]),
        (lambda text: judge_seekers.looks(text.encode()), []),
    ],
    ids=["statement", "stub", "names", "fields", "docstrings", "looks"],
)
def test_what_a_server_asks_has_no_answer_then_and_one_for_the_next_text(dying, ask, nothing):
    assert ask(DIES) == nothing
    assert dying
    ask(RIGHT)
    assert names_in(RIGHT, ("double",))


def cpu_of(pid):
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python parses f-strings in linear time")
@pytest.mark.parametrize("way", WAYS)
def test_a_judge_of_a_server_says_so_and_judges_the_next_text(tiny_course, way):
    """It is the one of the page, of the language server and of MCP."""
    judges = Judges(JudgeTerms(str(tiny_course.root), str(tiny_course.exercises), "numpy"))

    async def judged(text):
        async with aclosing(judges.grade("numpy", "double", text)) as answers:
            return [answer async for answer in answers][-1].report

    async def work():
        assert (await judged(RIGHT)).status == "passed"
        judge = judges._judge("numpy").process.pid
        before = {pid: cpu_of(pid) for pid in descendants(judge)}
        running = asyncio.create_task(judged(BUSY))
        while not (busy := [p for p in descendants(judge) - {judge} if cpu_of(p) > before.get(p, 0) + 0.3]):
            await asyncio.sleep(0.1)
        for pid in busy:
            os.kill(pid, getattr(signal, way))
        report = await running
        assert (report.status, report.unread) == ("error", True)
        assert report.message in (SAID, LATE)
        assert (await judged(RIGHT)).status == "passed"
        await judges.end()

    asyncio.run(work())
