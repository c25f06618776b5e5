"""A text that a student wrote is read in a child process with limits, and only a record comes back."""

import csv
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata
from grader.course.submission import SubmissionRejected, Unreadable, first_use, parse, read
from grader.grading.grader import Grader
from grader.reading.source import Refused
from grader.worker import reader as trusted
from grader.worker.fork_server import WorkerFactories
from grader.worker.protocol.terms import MEMORY, READING
from grader.worker.reader import Reader

RIGHT = "def double(x):\n    return x + x\n"
CHAIN = "a" + ".a" * 900
#: Texts for which trusted code would need hours, all memory or all of the stack.
STALLS = "x = f'" + "{1}" * 340_000 + "'\n"
FILLS = "a\n" * 500_000
#: The arguments of questions.
SHORTCUTS = {"names": ["torch.softmax"], "library": "torch", "entry_points": ["double"]}
DRAFT = {"names": ["double"], "name": "draft_of_{}", "todo": "TODO"}
QUOTES = 'x = "' + '\\"' * 500_000 + "\n#" + "{" * 40_000 + "\n"


@pytest.fixture
def one():
    """A reader of the test's own."""
    with closing(Reader()) as own:
        yield own


@pytest.fixture
def info(tiny_course):
    return tiny_course.kata_info("double")


def refusal(call, *args, **given):
    with pytest.raises(SubmissionRejected) as refused:
        call(*args, **given)
    return type(refused.value), str(refused.value)


class TestLimits:
    @pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python parses f-strings in linear time")
    def test_a_text_that_takes_too_long_is_not_judged_and_the_next_one_is_read(self, one, info, monkeypatch):
        monkeypatch.setattr(trusted, "SECONDS", 0.5)
        said = "double.py could not be judged: reading it takes more than 20 seconds of computing."
        assert refusal(parse, info, STALLS, "double.py", one) == (Unreadable, said)
        assert parse(info, RIGHT, "double.py", one).begun

    def test_a_text_that_takes_too_much_memory_is_not_judged_and_the_next_one_is_read(self, one, info):
        kind, said = refusal(parse, info, FILLS, "double.py", one)
        assert kind is Unreadable
        assert said.startswith("double.py could not be judged: reading it takes more than 512 MiB of memory")
        assert parse(info, RIGHT, "double.py", one).begun

    def test_a_text_is_read_again_by_a_fresh_reader_if_the_one_before_has_ended(self, one, info):
        assert parse(info, RIGHT, "double.py", one).begun
        os.kill(one.child._popen.pid, signal.SIGKILL)
        assert parse(info, RIGHT, "double.py", one).begun

    def test_a_reader_that_ends_twice_is_told_in_one_sentence(self, one, monkeypatch):
        monkeypatch.setattr(one, "start", lambda: _Broken())
        with pytest.raises(
            Refused, match=r"^a\.py could not be judged: the process that read it has ended\.$"
        ):
            one.ask("blank", bool, b"", label="a.py")

    def test_an_answer_of_another_form_is_refused(self, one):
        with pytest.raises(Refused, match="the process that read it has ended"):
            one.ask("blank", dict[str, int], b"")

    def test_quotes_that_stall_a_tokenizer_are_refused_at_once(self, one, info):
        kind, said = refusal(parse, info, QUOTES, "double.py", one)
        assert kind is SubmissionRejected
        assert said.startswith("double.py has a syntax error in line 1: unterminated string literal")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("question", "text", "given"),
        [
            ("delegates", "from torch import *\n" * 4_000 + "b\n" * 60_000, SHORTCUTS),
            ("delegates", "".join(f"from torch.a{at} import *\nb{at}\n" for at in range(10_000)), SHORTCUTS),
            ("delegates", "WHY=1\n" * 100_000, SHORTCUTS),
            ("blank", "".join(f"def a{at}():0\n" for at in range(60_000)), {}),
            ("fields", "#\n" * 150_000 + "a=1;" * 80_000, {}),
            ("bound", "a=1;" * 120_000 + "double=1;" * 50_000, {"names": ["double"]}),
            ("draft", "def double():a0\n" + "".join(f"def a{n}():a{n + 1}\n" for n in range(25_000)), DRAFT),
            (
                "difference",
                "".join(f"{at % 90}\n" for at in range(40_000)),
                {"after": "1\n2\n" * 20_000, "most": 9},
            ),
        ],
        ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
    )
    def test_a_text_is_read_in_time_that_grows_with_its_length(self, one, question, text, given):
        """Of each the time grew with the square of the length, or faster."""
        assert one.ask(question, object, text.encode(), **given)


class _Broken:
    """A child that has ended before it answers."""

    def __init__(self):
        there, here = os.pipe()
        os.close(here)
        self.channel = trusted.Channel(there, os.open(os.devnull, os.O_WRONLY))

    def kill(self):
        self.channel.close()


class TestRecord:
    def test_deep_chains_and_long_integers_are_read_but_not_searched(self, info):
        for odd in (
            f"def unused(a):\n    return {CHAIN}\n",
            f"BIG = (0x{'f' * 5000}).real\n",
            f"{CHAIN} = 1\n",
        ):
            record = parse(info, RIGHT + odd, "double.py").record
            assert record.begun
            assert record.code_digest
            assert not record.plain
        assert parse(info, RIGHT, "double.py").record.plain

    def test_comments_layout_and_docstrings_do_not_change_the_digest_of_the_code(self, info):
        def digest(source):
            return parse(info, source, "double.py").record.code_digest

        assert digest('"""A statement."""\n' + RIGHT.replace("    ", "\t")) == digest(f"# mine\n\n\n{RIGHT}")
        assert digest(RIGHT) != digest(RIGHT.replace("x + x", "x * x"))
        assert digest(RIGHT) != digest(RIGHT.replace("x + x", "x + y"))
        assert digest("X = 1\n") != digest("X = 2\n") != digest("X = ...\n")

    def test_the_unwritten_parts_come_with_their_lines(self, info):
        source = "import numpy as np\n\n\ndef double(x):\n    raise NotImplementedError\n"
        record = parse(info, source, "double.py").record
        assert record.unwritten == {"double": (4, 6)}
        assert not record.begun
        assert not record.touched

    def test_a_lone_surrogate_and_a_null_byte_are_no_fault_of_ours(self, info):
        assert refusal(parse, info, "x = '\ud800'\n", "double.py")[0] is SubmissionRejected
        assert refusal(parse, info, "x = 1\0\n", "double.py")[0] is SubmissionRejected
        assert parse(info, RIGHT + "x = '\\ud800'\n", "double.py").begun

    def test_a_name_and_a_typed_text_that_are_no_unicode_are_no_fault_of_ours(self, one):
        with pytest.raises(Refused, match=r"^a.*\.ipynb is no notebook"):
            one.ask("katas", object, b"{", label=os.fsdecode(b"a\xff.ipynb"), names=["double"])
        lines = one.ask("difference", list[str], b"a\n", after="a\nb\ud800\n", most=9)[0]
        assert [line[:2] for line in lines] == ["@@", " a", "+b"]

    def test_a_notebook_is_read_as_its_cell(self, info):
        cell = {"cell_type": "code", "source": f"%%kata double\n{RIGHT}", "metadata": {}}
        found = read(info, json.dumps({"cells": [cell]}).encode(), "a.ipynb", notebook=True)
        assert found.source == f"\n{RIGHT}"
        assert found.label == "a.ipynb (cell double)"

    def test_backslashes_in_a_docstring_of_a_notebook_take_no_time(self, info):
        source = "%%kata double\nNOTE = r'''\n" + r"\frac{\exp x_i}{\sum_j \exp x_j}" * 20 + f"\n'''\n{RIGHT}"
        cell = {"cell_type": "code", "source": source, "metadata": {}}
        assert read(info, json.dumps({"cells": [cell]}).encode(), "a.ipynb", notebook=True).begun

    def test_a_function_of_a_library_is_found_under_another_name(self, info):
        found = parse(info, "from numpy import linalg as l\nl.norm(1)\n", "double.py")
        assert first_use(found, ["numpy.linalg.norm"]) == ("numpy.linalg.norm", 2)
        assert first_use(found, ["numpy.sum"]) is None


class TestProcesses:
    def test_a_fork_starts_a_reader_of_its_own(self, one, info):
        assert parse(info, RIGHT, "double.py", one).begun
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if parse(info, RIGHT, "double.py", one).begun else 2
                one.close()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert parse(info, RIGHT, "double.py", one).begun

    def test_threads_share_a_reader(self, one, info):
        found = []
        names = [f"x{number}" for number in range(8)]

        def ask(name):
            found.append((name, parse(info, f"{name} = ...\n{RIGHT}", "double.py", one).source[:2]))

        threads = [threading.Thread(target=ask, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [(name, name) for name in names]

    def test_a_reader_is_sandboxed_and_imports_no_array_library(self, one, info):
        parse(info, RIGHT, "double.py", one)
        pid = one.child._popen.pid
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        assert status["NoNewPrivs"].strip() == "1"
        assert status["Seccomp"].strip() == "2"
        code = "import sys, grader.worker.child.reader; print('numpy' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"

    def test_a_reader_ends_with_its_process(self):
        code = (
            "from grader.worker.reader import reader\n"
            "reader().ask('blank', bool, b'')\n"
            "print(reader().child._popen.pid, flush=True)\n"
            "import os; os._exit(1)\n"
        )
        pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        ends = time.monotonic() + 10
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < ends:
            time.sleep(0.01)
        assert not os.path.exists(f"/proc/{pid}")

    def test_the_worker_that_judges_has_read_first_and_gets_its_memory_back(self, tiny_course, info):
        with closing(WorkerFactories({"numpy"})) as factories:
            reading = Grader(tiny_course, factories).reader(info)
            assert parse(info, RIGHT, "double.py", reading).begun
            pid = reading.child.pid
            soft, hard = resource.prlimit(pid, resource.RLIMIT_AS)
            assert hard - soft == MEMORY - READING
            worker = reading.take()
            assert worker.pid == pid
            assert resource.prlimit(pid, resource.RLIMIT_AS) == (hard, hard)
            assert reading.take() is None

    def test_the_worker_and_the_reader_say_the_same(self, tiny_course, info):
        with closing(WorkerFactories({"numpy"})) as factories:
            by = Grader(tiny_course, factories).reader(info)
            for source in (
                RIGHT,
                "x = (\n",
                RIGHT + CHAIN,
                "def double(x):\n    raise NotImplementedError\n",
            ):
                assert _outcome(info, source, by) == _outcome(info, source, None)


@pytest.mark.slow
def test_a_class_in_which_some_hand_in_hostile_texts_is_graded(tiny_course, tmp_path, write):
    """Each of these texts has ended the process that keeps everybody's points, or stopped it for hours."""
    right = (tiny_course.root / "solutions/attention/double/reference.py").read_text()
    note = "NOTE = r'''\n    " + r"\frac{\exp x_i}{\sum_j \exp x_j}" * 10 + "\n'''\n"
    files = {
        "ada/double.py": right,
        "bob/double.py": f"{right}\ndef unused(a):\n    import sys\n    return {CHAIN}\n",
        "cid/double.py": f"{right}\ndef unused():\n    import sys\n    return (0x{'f' * 5000}).real\n",
        "dan/double.ipynb": notebook(f"%%kata double\n{note}{right}"),
        "eve/double.ipynb": notebook(f"%%kata double\n{CHAIN} = 1\n"),
        "fay/double.py": QUOTES,
        "gus/double.py": FILLS,
        "hal/double.py": right,
    }
    words = ["grade", write(tmp_path / "in", files), "--kata", "double", "--output", tmp_path / "out"]
    done = CliRunner().invoke(kata, list(map(str, [*words, "--course", tiny_course.root])))
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "moodle.csv").open(encoding="utf-8-sig") as file:
        points = {row["ID number"]: row["double"] for row in csv.DictReader(file)}
    whole = dict.fromkeys(("ada", "bob", "cid", "dan", "hal"), "10")
    assert points == {**whole, "eve": "0", "fay": "0", "gus": ""}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file system takes no such name")
def test_a_notebook_whose_name_is_no_unicode_is_graded(tiny_course, tmp_path):
    right = (tiny_course.root / "solutions/attention/double/reference.py").read_text()
    for student, text in (("ada", notebook(f"%%kata double\n{right}")), ("bob", "{")):
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / os.fsdecode(b"n\xff.ipynb")).write_text(text)
    words = ["grade", tmp_path / "in", "--kata", "double", "--output", tmp_path / "out"]
    done = CliRunner().invoke(kata, list(map(str, [*words, "--course", tiny_course.root])))
    assert done.exit_code == 0, done.output
    assert "note  bob: handed in, not recognised: n\\udcff.ipynb." in done.output
    assert "\nada,,10," in (tmp_path / "out" / "moodle.csv").read_text()


def notebook(source):
    cell = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None, "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _outcome(info, source, by):
    try:
        return parse(info, source, "double.py", by).record
    except SubmissionRejected as refused:
        return type(refused), str(refused), refused.excerpt
