"""The judges of the page, of an editor and of an assistant: what they answer, and how they end."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import aclosing, contextmanager
from pathlib import Path

import msgspec
import pytest

from dojo_page import messages
from dojo_page.judge import Grade, Stop, Tried, Try, Verdict
from dojo_page.judges import ENDED, STOPPED, JudgeProcess, Judges, end
from dojo_page.messages import Inbox, JudgeTerms
from dojo_page.protocol import Dropped, Written
from dojo_show.speech import Wish
from grader.course.catalog import Course
from grader.worker.protocol.channel import MAGIC, PREFIX, ChannelClosed, ChannelCut, Frames
from grader.worker.protocol.codec import Malformed

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
ENDLESS = "def double(x):\n    while True:\n        pass\n"

ROOT = Path(__file__).resolve().parents[3]


def terms_of(course):
    return JudgeTerms(str(course.root), str(course.exercises), "numpy")


async def all_of(answers):
    async with aclosing(answers):
        return [answer async for answer in answers]


@contextmanager
def judge(course):
    """Yield `ask`, which sends questions to a judge and returns the last answer to each."""
    command = [sys.executable, "-P", "-m", "dojo_page.judge_process"]
    command.append(msgspec.json.encode(terms_of(course)).decode())
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(*questions):
        numbered = [*enumerate(questions, 1)]
        process.stdin.write(b"".join(messages.framed(*one) for one in numbered))
        process.stdin.flush()
        found, frames = {}, Frames()
        while len(found) < len(questions):
            frames.add(process.stdout.read1())
            found |= {number: answer for number, answer in messages.messages_in(frames) if answer.is_last}
        return [found[number] for number, _ in numbered]

    try:
        yield ask
    finally:
        process.stdin.close()
        assert process.wait(20) == 0
        process.stdout.close()


@pytest.mark.slow
def test_a_judge_says_what_grade_says(tiny_course):
    stub = tiny_course.root / "exercises/attention/double.py"
    with judge(tiny_course) as ask:
        [found] = ask(Grade("double"))
        assert found.report.status == "not_started"
        stub.write_text(RIGHT.replace("x + x", "3 * x"))
        [found] = ask(Grade("double"))
        assert (found.report.status, found.report.mistake.id) == ("failed", "triples")
        stub.write_text(RIGHT)
        [found] = ask(Grade("double"))
        assert found.report.status == "passed"
        assert found.was == "0 / 10"
        assert found.grading.isolation.process
        assert found.grading.provenance.numpy
        lines = "from double import double\nprint('hi')\nimport numpy as np\ndouble(np.eye(2))"
        [tried] = ask(Try("double", lines))
        assert (tried.printed, tried.value, tried.problem) == ("hi\n", "[[2.0, 0.0], [0.0, 2.0]]", "")
        assert tried.pictures[0].panels[0].values == ((2.0, 0.0), (0.0, 2.0))
        told = [
            ("1 / 0", "ZeroDivisionError: division by zero (line 1 of these lines)"),
            ("print(", "Line 1: '(' was never closed."),
            ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "PermissionError"),
        ]
        for lines, problem in told:
            assert ask(Try("double", lines))[0].problem.startswith(problem)
        assert ask(Grade("triple"))[0].problem.startswith("There is no kata called `triple`.")
        stub.write_text(f"import torch\n\n{RIGHT}")
        [found] = ask(Grade("double"))
        assert (found.report.status, found.report.library) == ("passed", "torch")
        [tried] = ask(Try("double", "double(torch.ones(2))"))
        assert (tried.value, tried.problem) == ("[2.0, 2.0]", "")


@pytest.mark.slow
def test_a_new_grading_ends_the_one_before(tiny_course):
    (tiny_course.root / "exercises/attention/double.py").write_text(ENDLESS)
    with judge(tiny_course) as ask:
        found = ask(Grade("double"), Grade("double"), Grade("double"))
        assert [type(one) for one in found] == [Dropped, Dropped, Verdict]


def test_a_frame_that_is_too_large_is_refused():
    frames = Frames()
    frames.add(PREFIX.pack(MAGIC, 0, 2**32 - 1, 1))
    with pytest.raises(Malformed, match="a frame is larger than allowed"):
        list(messages.messages_in(frames))


def test_a_message_of_no_kind_is_refused():
    frames = Frames()
    frames.add(messages.framed(1, Grade("double")).replace(b"Grade", b"Crime"))
    with pytest.raises(msgspec.DecodeError):
        list(messages.messages_in(frames))


def test_questions_may_come_in_pieces():
    read, write = os.pipe()
    first, second = Grade("double"), Try("double", "x")
    inbox, data = Inbox(read), messages.framed(1, first) + messages.framed(2, second)
    os.write(write, data[:7])
    assert inbox.read() == []
    os.write(write, data[7:])
    assert inbox.read() == [(1, first), (2, second)]
    assert not inbox.has_news
    os.write(write, data[:7])
    os.close(write)
    assert inbox.read() == []
    with pytest.raises(ChannelCut):
        inbox.read()
    os.close(read)


def test_the_end_of_the_questions_is_told_from_a_question_that_is_cut():
    read, write = os.pipe()
    os.write(write, messages.framed(0, Stop()))
    os.close(write)
    inbox = Inbox(read)
    assert inbox.read() == [(0, Stop())]
    with pytest.raises(ChannelClosed) as closed:
        inbox.read()
    assert closed.type is ChannelClosed
    os.close(read)


@pytest.mark.slow
def test_a_judge_that_is_killed_is_started_again(tiny_course):
    async def work():
        judges = Judges(terms_of(tiny_course))
        assert isinstance((await all_of(judges.grade("numpy", "double")))[-1], Verdict)
        judge = judges._judge("numpy")
        running = asyncio.create_task(all_of(judges.run("numpy", "double", "while True: pass")))
        await asyncio.sleep(0.5)
        judge.process.kill()
        assert (await running)[-1] == Dropped(ENDED)
        assert isinstance((await all_of(judges.run("numpy", "double", "1")))[-1], Tried)
        await judges.end()
        assert judge.process.returncode >= 0  # not killed; asyncio says 255 where it is late for the status

    asyncio.run(work())


@pytest.mark.slow
def test_what_is_stopped_is_not_judged_again_and_says_so(tiny_course):
    async def work():
        judges = Judges(terms_of(tiny_course))
        await all_of(judges.run("numpy", "double", "1"))  # it has started
        running = asyncio.create_task(all_of(judges.verdicts("numpy", "double", ENDLESS)))
        await asyncio.sleep(1.0)
        judges.stop("numpy")
        assert await running == [Dropped(STOPPED)]
        [verdict] = await all_of(judges.verdicts("numpy", "double", RIGHT))
        assert verdict.report.status == "passed"
        await judges.end()

    asyncio.run(work())


@pytest.mark.slow
def test_what_another_tab_has_ended_is_judged_again(tiny_course):
    async def work():
        judges = Judges(terms_of(tiny_course))
        await all_of(judges.run("numpy", "double", "1"))
        mine = asyncio.create_task(
            all_of(judges.verdicts("numpy", "double", f"import time\ntime.sleep(2)\n{RIGHT}"))
        )
        await asyncio.sleep(0.5)
        [theirs] = await all_of(judges.verdicts("numpy", "double", RIGHT))
        assert theirs.report.status == "passed"
        assert (await mine)[-1].report.status == "passed"
        await judges.end()

    asyncio.run(work())


@pytest.mark.slow
def test_half_a_character_that_is_typed_is_judged_as_another_one(tiny_course):
    """A browser, an editor and an assistant can send one: half of a pair, which UTF-8 has no bytes for."""
    right = (tiny_course.root / "solutions/attention/double/reference.py").read_text()

    async def work():
        judges = Judges(terms_of(tiny_course))
        graded = await all_of(judges.grade("numpy", "double", f"{right}# \ud800\n"))
        assert graded[-1].report.status == "passed"
        tried = await all_of(judges.run("numpy", "double", "print('\ud800')", f"{right}# \ud800\n"))
        assert tried[-1].printed == "?\n"
        await judges.end()

    asyncio.run(work())


@pytest.mark.slow
def test_a_judge_that_does_not_end_with_its_input_is_ended(tiny_course):
    async def work():
        command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        judge = JudgeProcess(terms_of(tiny_course))
        judge.process = await asyncio.create_subprocess_exec(*command, **pipes, start_new_session=True)
        await judge.process.stdout.readline()
        judge.process.stdin.close()
        await end(judge.process, wait=0.1)
        assert judge.process.returncode in (-signal.SIGTERM, 255)

    asyncio.run(work())


@pytest.mark.slow
def test_a_text_is_written_by_a_process_of_its_own():
    async def work():
        judges = Judges(terms_of(Course(ROOT)))
        found = await all_of(judges.speak(Wish("Once"), mine=False))
        await judges.end()
        return found

    *before, written = asyncio.run(work())
    assert "".join(getattr(piece, "text", "") for piece in before)
    assert isinstance(written, Written)
    assert written.is_recorded  # the files are as they were handed out


def test_terms_hold_absolute_paths(tiny_course, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    from grader.cli.options import GradeOptions

    terms = JudgeTerms.of(Course(tiny_course.root), GradeOptions(no_search=True))
    assert (terms.root, terms.search, terms.key) == (str(tiny_course.root), 0.0, None)
