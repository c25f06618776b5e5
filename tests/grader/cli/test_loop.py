"""Tests of the loop, with a keyboard that is typed on by the test, and once on a pseudo-terminal."""

import base64
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.cli import loop as loop_module
from grader.cli.kata_list import kata_list
from grader.cli.keyboard import footer, help_text
from grader.cli.loop import KEYS, Loop
from grader.cli.progress import progress_line
from grader.cli.saved_files import SavedFiles
from grader.course.catalog import Course
from grader.course.state import CourseState, file_digest
from grader.formats.terminal import View
from grader.grading.grader import Grader
from grader.grading.session import Session
from grader.report import KataReport

WRONG = "def double(x):\n    return 3 * x\n"
BETTER = "def double(x):\n    return 2 * x\n"
RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
FOOTER = "h hint 1/1   t statement   l list   o open   w web page   p in PyTorch   ? keys   q quit"
ENDLESS = "def double(x):\n    while True:\n        pass\n"


class TypedKeyboard:
    """Carries out steps: a text is a key, a callable saves files."""

    def __init__(self, steps):
        self.steps, self.typed, self.asked = list(steps), [], []

    def key(self, _seconds):
        step = self.steps.pop(0) if self.steps else "q"
        return step() if callable(step) else step

    is_pending = False

    def stops(self):
        return False

    def line(self, question):
        self.asked.append(question)
        return self.typed.pop(0) if self.typed else ""

    def lent(self):
        raise AssertionError("no editor is opened here")


@pytest.fixture
def course(tmp_path, tiny_files, write, monkeypatch):
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")
    return Course(write(tmp_path / "course", tiny_files))


@pytest.fixture
def run(course, numpy_source, capsys):
    """`run(*steps)` runs the loop with these steps and returns what was printed."""

    def run(*steps, typed=(), clears=False, search=0.0):
        keyboard = TypedKeyboard(steps)
        keyboard.typed = list(typed)
        saved = SavedFiles(course.stub(info) for info in course.katas.values())
        session = Session(Grader(course, {"numpy": numpy_source}))
        run.loop = Loop(session, keyboard, saved, lambda: View(width=100), clears=clears, search=search)
        run.begins_anew, run.asked = run.loop.run(), keyboard.asked
        return capsys.readouterr().out

    return run


@pytest.fixture
def save(course):
    """`save(source)` is a step that saves the file of `double`."""

    def save(source, name="double"):
        path = course.stub(course.kata_info(name))
        return lambda: path.write_text(source) and None

    return save


def remembered(course):
    return json.loads((course.root / ".dojo/state.json").read_text())["katas"]


def test_with_nothing_begun_it_welcomes_and_offers_keys(run):
    told = run()
    assert "Start with" in told
    assert told.endswith(
        "h hint 1/1   t statement   l list   o open   w web page   p in PyTorch   ? keys   q quit\n"
    )


def test_a_save_is_graded_and_a_better_one_says_what_changed(run, save):
    told = run(save(WRONG), save(BETTER))
    changed = told.rpartition("░")[2].split("\n\n")[0].split(" s\n")[1]
    assert " ".join(changed.split()) == (
        "double 0 → 9 of 10 now holds: agrees with reference, float64 keeps its digits, twice is a sum"
        " gone: triples now seen: accepts text"
    )
    assert "grade hint" not in told.partition("░")[2]


def test_a_worse_version_names_what_broke(run, save):
    assert "broken: " in run(save(BETTER), save(WRONG))


def test_another_way_is_shown_to_whoever_wrote_something_else(run, save):
    total = "    total = x\n    for part in [x]:\n        total = total + part\n    return total\n"
    passed = run(save(WRONG), save(RIGHT.replace("    return x + x\n", total)))
    assert "7 more checks.\nAnother way: multiply by two.\n" in passed


def test_the_next_kata_is_offered_after_a_pass_and_never_taken_by_itself(run, save):
    told = run(save(WRONG), "n", save(RIGHT), "n")
    refused, _, passed = told.partition("double does not pass yet; l lists all katas.\n")
    assert "n next" not in refused
    assert "n next" in passed
    assert "\n\nShown: twice x is x plus x; text is refused; 7 more checks.\n" in passed
    assert "Another way" not in passed  # it is nearly that one
    told = " ".join(passed.split())
    assert "All 1 katas of attention pass. You have built double. Next: center (Around the mean)" in told
    assert "center: Around the mean. Its file is exercises/modules/center.py." in passed


def test_what_is_due_is_said_below_the_first_report_and_once(run, save, course):
    CourseState(course).change("double", passed=True, passed_on="2026-01-01")
    save(RIGHT)()
    told = run(save(WRONG))
    assert told.count("To review today: double. f begins.\n") == 1
    assert (
        told.index("Shown: ")
        < told.index("To review today")
        < told.index("h hint")
        < told.index("checks fail")
    )
    assert "To review" not in run()


def test_what_is_due_is_said_below_the_welcome(run, course):
    CourseState(course).change("double", passed=True, passed_on="2026-01-01")
    told = run()
    assert told.index("Start with exercises/modules/center.py") < told.index(
        "To review today: double. f begins."
    )


def test_the_next_kata_says_why_it_was_chosen(run, save, course, write):
    skills = "path = { attention = ['double'], modules = ['center'] }\n[skills]\n"
    skills += "double = ['sums']\ncenter = ['sums']\n[skill_names]\nsums = 'Sums.'\n"
    write(course.root, {"tests/katas/path.toml": skills})
    vars(course).pop("syllabus", None)
    told = " ".join(run(save(WRONG), "h", "h", "h", save(RIGHT)).split())
    assert "in exercises/modules/center.py, because" not in told  # of the only hint
    CourseState(course).change("double", helped=2)
    told = " ".join(run(save(RIGHT)).split())
    assert "center.py, because double took two hints, and this one is about sums too." in told


def test_hints_follow_each_other(run):
    assert "Hint 1 of 1: Think of two.\n" in run("h")


def test_after_the_last_hint_it_says_so_and_begins_again(run):
    told = run("h", "h", "h")
    assert "You have seen the only hint of double. The first comes next.\n" in told
    assert told.count("Hint 1 of 1: Think of two.\n") == 2


def test_the_statement_is_shown_also_of_a_file_that_is_no_python(run, save):
    assert run("t").endswith("\nTwice as much.\nq again ends.\n")
    assert run(save("def double(x:\n"), "t").endswith("\nTwice as much.\nq again ends.\n")


def test_a_key_leads_back_to_the_kata_before(run, save):
    told = run("b", save(RIGHT), "n", "b", "b")
    assert told.count("There is no kata before this one.\n") == 2
    assert "b back" in told
    assert run.loop.current.name == "double"


def test_after_a_pass_enter_opens_the_next_file(run, save, course, monkeypatch):
    opened = []
    monkeypatch.setattr(TypedKeyboard, "lent", lambda _: nullcontext())
    monkeypatch.setattr(loop_module, "open_editor", lambda path, *_: opened.append(path) or "")
    assert "Enter opens next" not in run("\n")
    assert "Enter opens next" in run(save(RIGHT), "\n", "\r")
    assert opened == [course.stub(course.kata_info("center"))]


def test_a_search_without_a_match_says_so(run):
    told = run("l", typed=["zzz"])
    assert "No kata has `zzz` in its name, title, track or aliases.\n" in told
    assert "aliases. Did you mean `double`?\n" in run("l", typed=["doubel"])


def test_the_list_is_searched_and_one_match_becomes_the_current_kata(run):
    told = run("l", typed=["m", "around the"])
    assert told.count("· double") == 3  # the welcome's list, this one, and that of what m begins a word of
    assert told.count("· center") == 3
    assert "center: Around the mean. Its file is exercises/modules/center.py." in told
    assert run.loop.current.name == "center"


PLANS = """
[path]
attention = ["double"]
modules = ["center"]
[katas]
double = { minutes = 30, difficulty = 1 }
center = { minutes = 40, difficulty = 2, builds_on = ["double"] }
[plans.lab]
about = "both"
hours = 1.2
katas = ["double", "center"]
wants = ["center"]
[aliases]
mean = "center"
"""


def write_plans(course):
    (course.root / "tests/katas/path.toml").write_text(PLANS)
    vars(course).pop("syllabus", None)


def test_an_alias_opens_its_kata_and_names_what_else_was_found(run, course):
    write_plans(course)
    (course.root / "tests/katas/path.toml").write_text(PLANS.replace("mean =", "doub ="))
    told = run("l", typed=["doub"])
    assert "Also found: double.\ncenter: Around the mean. Its file is exercises/modules/center.py.\n" in told
    assert run.loop.current.name == "center"


def test_a_plan_is_shown_in_the_list_and_the_loop_begins_anew_with_it(run, course):
    write_plans(course)
    told = run("l", typed=["plan", "plan lab 0.75", "y"])
    assert run.asked[0] == "Part of a name, plan, or Enter to go back: "
    assert "  lab    2 katas, 1.2 hours both\n\nplan lab shows one, plan lab 4 what fits into 4 " in told
    assert "lab in 0.75 hours. 1 kata, 40 minutes.\n\n   1 · center   40 min  wanted most\n" in told
    assert run.asked[-1] == "Begin it now? y/n: "
    assert (run.begins_anew, run.loop.plan) == (True, ["--plan", "lab", "--hours", "0.75"])


def test_a_plan_that_is_not_wanted_or_not_there_leads_back_to_the_list(run, course):
    write_plans(course)
    told = run("l", typed=["plan lab", "n", "plan lob", "plan lab nan", "plan lab 0.1", ""])
    assert (run.begins_anew, run.loop.plan) == (False, [])
    assert "lab: both. 2 katas, 70 minutes.\n" in told
    assert "There is no plan called `lob`. There are lab.\n" in told
    assert "`nan` is no number of hours: say one above 0, such as 1 or 2.5.\n" in told
    assert "No kata of the plan `lab` fits into 0.1 hours: the shortest, double, takes 30 minutes.\n" in told
    assert told.endswith(f"{FOOTER}\n")


def test_a_course_without_plans_does_not_offer_them(run):
    run("l", typed=[""])
    assert run.asked == ["Part of a name, or Enter to go back: "]


def test_undo_brings_back_the_best_version_and_keeps_what_it_replaces(run, save, course):
    told = run(save(BETTER), save(WRONG), "u")
    assert "The best version of double is back. What it replaced is in .dojo/replaced/double-" in told
    assert course.stub(course.kata_info("double")).read_text() == BETTER
    assert [path.read_text() for path in (course.root / ".dojo/replaced").iterdir()] == [WRONG]


def test_reset_brings_back_the_stub(run, save, course):
    stub = course.stub(course.kata_info("double")).read_text()
    told = run(save(WRONG), "x", None, typed=["y"])
    assert "Not started yet" in told
    assert course.stub(course.kata_info("double")).read_text() == stub


def test_p_brings_the_stub_in_pytorch_and_asks_before_it_replaces_a_begun_file(run, save, course):
    stub = "import numpy as np\n\n\ndef double(x: np.ndarray):\n    raise NotImplementedError\n"
    path = course.stub(course.kata_info("double"))
    path.write_text(stub)
    assert "The stub in PyTorch of double is back." in run("p")
    assert (
        path.read_text() == "import torch\n\n\ndef double(x: torch.Tensor):\n    raise NotImplementedError\n"
    )
    path.write_text(stub)
    told = run(save(WRONG), "p", typed=["n"])
    assert path.read_text() == WRONG
    assert "p in PyTorch" in told
    assert "y/n" in run.asked[0]


def test_reset_asks_once_and_leaves_the_file_without_a_yes(run, save, course):
    told = run(save(WRONG), "x", None, typed=["n"])
    assert "is back" not in told
    assert course.stub(course.kata_info("double")).read_text() == WRONG
    asked = "Bring back the stub of double? A copy of your file will be in .dojo/replaced. y/n: "
    assert run.asked == [asked]


def test_a_kata_that_passed_stays_passed_while_it_is_practised(run, save, course):
    told = run(save(RIGHT), "x", None, "n", typed=["y"])
    assert "1/2" in told.rpartition("The stub of double is back.")[2]
    assert "center: Around the mean. Its file is exercises/modules/center.py." in told
    assert "  ↻ double" in kata_list(course)
    assert "↻ passed before, in practice" in kata_list(course)


def test_a_file_that_is_deleted_is_noticed_and_comes_back(run, save, course, monkeypatch):
    monkeypatch.setattr("grader.cli.saved_files.GONE_SECONDS", 0.0)
    monkeypatch.setattr("grader.cli.saved_files.LOOK_SECONDS", 0.0)
    path = course.stub(course.kata_info("double"))
    told = run(save(RIGHT), lambda: path.unlink(), None, "u", None, lambda: path.unlink(), None, "x", None)
    assert (
        told.count("exercises/attention/double.py is gone. x brings the stub back, u the best version.") == 2
    )
    assert "The best version of double is back.\n" in told
    assert "The stub of double is back.\n" in told
    assert told.count("all 9 checks hold") == 2
    assert "raise NotImplementedError" in path.read_text()


def test_undo_without_a_better_version_says_so(run, save):
    assert "double is the best version already." in run(save(BETTER), "u")
    assert "There is no copy of the best version of center." in run("l", "u", typed=["center"])


def test_the_full_report_shows_every_check(run, save):
    told = run(save(BETTER), "v")
    assert told.count("Twice x is x plus x.") == 1


def test_a_syntax_error_shows_its_line_and_a_caret(run, save):
    told = run(save("def double(x):\n    return 2 x\n"))
    assert "  2 │ return 2 x\n    │          ^\n" in told


def test_a_new_save_ends_a_running_grading(run, save, monkeypatch):
    def saved_meanwhile(_):
        save(RIGHT)()
        return True

    monkeypatch.setattr(SavedFiles, "is_pending", property(saved_meanwhile))
    told = run(save(ENDLESS), None)
    assert "No answer within" not in told
    assert "all 9 checks hold" in told


def test_a_first_pass_says_what_it_lets_one_see(run, save, course, monkeypatch):
    from dojo_show import demonstration

    seen = SimpleNamespace(milestones={"double": ("Your numbers double. See them", "numbers")})
    monkeypatch.setattr(demonstration, "open_demonstration", lambda _: seen)

    def speech(parts, lessons):
        monkeypatch.setattr(
            demonstration, "speech_in", lambda _: SimpleNamespace(parts=parts, lessons=lessons)
        )
        (course.root / ".dojo/state.json").unlink(missing_ok=True)
        told = run(save(WRONG), None, save(RIGHT), None, save(RIGHT + "\n"), None)
        assert told.count("Your numbers double. See them: grade see numbers") == 1  # after the first pass
        return told

    assert "1 of 2 until your model speaks: grade speak" in speech(["double", "center"], {"double": "mask"})
    assert "until your model speaks" not in speech(["center"], {})
    assert "See what it does in a text: grade speak --without mask" in speech(["double"], {"double": "mask"})
    assert "Your model speaks: grade speak" in speech(["double"], {})


def test_esc_stops_a_running_grading(run, save, monkeypatch):
    pressed = iter([False, True])
    monkeypatch.setattr(TypedKeyboard, "stops", lambda _: next(pressed, False))
    told = run(save(ENDLESS), None, save(RIGHT), None)
    assert "No answer within" not in told
    assert "Stopped. double is graded again whenever you save it." in told
    assert "all 9 checks hold" in told


def test_q_behind_the_statement_ends_the_loop_only_if_it_is_pressed_again(run):
    told = run("t", "q", "h", "q")
    assert told.index("q again ends.") < told.index("Hint 1 of 1")


def test_c_copies_the_failing_call_by_osc_52(run, save):
    told = run(save(WRONG), None, "c")
    code = base64.b64decode(told.partition("]52;c;")[2].partition("\x07")[0]).decode()
    assert code.startswith("import numpy as np\nfrom double import double\n")
    assert "else: grade double --snippet" in told
    assert "no failing call to copy" in run(save(RIGHT), None, "c")


def test_progress_says_kata_check_and_time_and_how_to_stop_what_takes_long():
    claim = "Every entry equals the reference."
    assert progress_line("double", claim, 0.2, 0.2, 80) == f"double … {claim}"
    assert progress_line("double", claim, 9.1, 5.9, 80) == f"double … 9 s {claim}"
    text = progress_line("double", claim, 9.1, 6.0, 60)
    assert text.startswith("double … 9 s An endless loop? Esc stops it. Every")
    assert len(text) < 60
    assert progress_line("double", "", 0.0, 0.0, 80) == "double …"


def test_a_file_that_needs_pytorch_makes_the_loop_begin_anew(run, save, monkeypatch):
    monkeypatch.setattr(loop_module, "lacks_library", lambda _: False)
    run(save("class Center:\n    pass\n", "center"))
    assert run.begins_anew


def test_the_screen_is_cleared_only_if_asked(run, save):
    assert "\x1b[2J" not in run(save(WRONG))
    assert run(save(BETTER), clears=True).count("\x1b[2J") == 2


def test_what_is_known_is_not_graded_again_but_for_the_current_kata(run, save, course):
    run(save(RIGHT))
    assert remembered(course)["double"]["status"] == "passed"
    assert "1/2" in run()


def test_a_key_that_does_nothing_is_ignored(run):
    assert run("z") == run()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.word.split()[0])
def test_every_key_has_a_word_a_sentence_and_a_line_in_the_help(key):
    assert key.about.endswith(".")
    assert f"  {key.label:<5}  {key.about}" in help_text(KEYS, 80).splitlines()


def test_keys_are_distinct_and_the_footer_has_those_that_can_be_used(run):
    run()
    assert len({key.character for key in KEYS}) == len(KEYS)
    assert footer(KEYS, run.loop, 100) == FOOTER


def test_the_documentation_names_every_key():
    page = (Path(__file__).parents[3] / "docs/reference/commands.md").read_text()
    assert [key.label for key in KEYS if f"| `{key.label}` | " not in page] == []


# --- on a pseudo-terminal ------------------------------------------------------------------------


class Terminal:
    """The loop on a pseudo-terminal: what it prints is collected, and keys are typed."""

    def __init__(self, *command):
        import pty

        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # a job in the background ignores it
        )
        os.close(slave)
        self.printed = ""

    def expect(self, text, seconds=45):
        """Read until the text appears, and drop what was read up to it."""
        end = time.monotonic() + seconds
        while text not in self.printed:
            assert time.monotonic() < end, f"{text!r} is not in {self.printed!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.printed += os.read(self.master, 65536).decode().replace("\r\n", "\n")
        self.printed = self.printed.partition(text)[2]

    def press(self, keys):
        os.write(self.master, keys.encode())


@pytest.fixture
def terminal(course, monkeypatch):
    pytest.importorskip("termios")
    monkeypatch.setenv("NO_COLOR", "1")
    opened = []

    def start():
        opened.append(Terminal(sys.executable, "-m", "grader.cli.grade", "--course", str(course.root)))
        return opened[-1]

    yield start
    for one in opened:
        one.process.kill()
        one.process.wait()
        os.close(one.master)


@pytest.mark.slow
def test_a_session_on_a_terminal_and_its_state_after_a_kill(terminal, save, course):
    first = terminal()
    first.expect("q quit")
    save(WRONG)()
    first.expect("double  0 / 10")
    first.expect("q quit")
    save(BETTER)()
    first.expect("0 → 9 of 10")
    first.expect("q quit")
    first.press("h")
    first.expect("Hint 1 of 1: Think of two.")
    save(WRONG)()
    first.expect("9 → 0 of 10")
    first.expect("q quit")
    first.press("u")
    first.expect("The best version of double is back.")
    first.expect("0 → 9 of 10")
    first.expect("q quit")
    os.kill(first.process.pid, signal.SIGKILL)
    known = remembered(course)["double"]
    assert (known["score"], known["best"], known["hints"], known["mistake"]) == (900, 900, 1, "accepts_text")
    second = terminal()
    second.expect("double  9 / 10")
    second.expect("q quit")
    save(RIGHT)()
    second.expect("all 9 checks hold")
    second.expect("n next")
    second.press("n")
    second.expect("center: Around the mean.")
    second.press("l")
    second.expect("Enter to go back: ")
    second.press("double\n")
    second.expect("x reset")
    second.press("x")
    second.expect("y/n: ")
    second.press("y\n")
    second.expect("The stub of double is back.")
    second.expect("Not started yet")
    second.expect("q quit")
    second.press("q")
    assert second.process.wait(30) == 0


def test_an_endless_loop_is_shown_and_stopped_on_a_terminal(terminal, save):
    one = terminal()
    one.expect("q quit")
    save(ENDLESS)()
    one.expect("double … ")
    one.expect("Every entry equals the reference.")
    one.press("\x1b")
    one.expect("Stopped. double is graded again")
    one.expect("q quit")
    save(RIGHT)()
    one.expect("all 9 checks hold")
    one.press("q")
    assert one.process.wait(30) == 0


@pytest.mark.slow
def test_the_first_file_that_needs_pytorch_is_graded_after_a_new_beginning(terminal, save):
    pytest.importorskip("torch")
    one = terminal()
    one.expect("q quit")
    save("class Center:\n    def __init__(self, width):\n        return width\n", "center")()
    one.expect("center  0 / 10")
    one.expect("q quit")
    one.press("q")
    assert one.process.wait(30) == 0


def test_a_search_can_be_corrected_and_ended_by_escape(terminal):
    one = terminal()
    one.expect("q quit")
    one.press("lcenx\x7fter\n")
    one.expect("center: Around the mean.")
    one.expect("q quit")
    one.press("l")
    one.expect("Enter to go back: ")
    one.press("dou\x1b")
    one.expect("q quit")
    one.press("q")
    assert one.process.wait(30) == 0


def test_ctrl_c_ends_the_loop_and_sets_the_terminal_back(terminal):
    import termios

    one = terminal()
    before = termios.tcgetattr(one.master)[3]
    one.expect("q quit")
    assert not termios.tcgetattr(one.master)[3] & termios.ECHO
    os.kill(one.process.pid, signal.SIGINT)
    assert one.process.wait(30) == 0
    assert termios.tcgetattr(one.master)[3] == before


def test_keys_work_again_after_ctrl_z(terminal):
    import termios

    one = terminal()
    before = termios.tcgetattr(one.master)
    one.expect("q quit")
    os.kill(one.process.pid, signal.SIGSTOP)
    termios.tcsetattr(one.master, termios.TCSANOW, before)
    os.kill(one.process.pid, signal.SIGCONT)
    end = time.monotonic() + 45
    while termios.tcgetattr(one.master)[3] & termios.ECHO:
        assert time.monotonic() < end
        time.sleep(0.02)
    one.press("?")
    one.expect("Explain the keys.")


def test_when_all_katas_pass_next_says_so(run, save, course):
    info = course.kata_info("center")
    passed = KataReport("center", "modules", "passed", 1000)
    save("class Center:\n    def __init__(self, width):\n        raise NotImplementedError\n", "center")()
    CourseState(course).record(passed, file_digest(info, course.stub(info)))
    told = run(save(RIGHT), "n")
    last = (
        "All 2 katas pass: this was the last one of the dojo. All of it is yours now, from double to center."
    )
    assert " ".join(told.split()).count(last) == 2


def test_a_hint_begins_with_the_one_for_the_mistake(run, save, course, write, tiny_files):
    card = "tests/katas/attention/test_double.py"
    hints = 'hints=("One.", "Two."), hint_for={"triples": 2},'
    write(course.root, {card: tiny_files[card].replace('hints=("Think of two.",),', hints)})
    vars(course).pop("katas", None)
    told = run(save(WRONG), "h", "h")
    assert told.index("h hint 2/2") < told.index("Hint 2 of 2: Two.") < told.index("Hint 1 of 2: One.")


def test_what_the_counterexample_printed_is_shown_with_it(run, save):
    told = run(save("def double(x):\n    print('came', x)\n    return 3 * x\n"))
    _, _, printed = told.partition("It printed:\n")
    assert printed.startswith("      | came [[1. 1.]]\n")
    assert "The code printed" not in told


def test_a_course_with_nothing_to_see_says_so(run):
    assert "The course has nothing to see." in run("s")


def test_see_runs_in_a_process_of_its_own(run, course, monkeypatch):
    course.syllabus = replace(course.syllabus, see="see")
    started = []
    monkeypatch.setattr(TypedKeyboard, "lent", lambda _: nullcontext())
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(loop_module.subprocess, "run", lambda words, **_: started.append(words) or done)
    monkeypatch.setattr(loop_module, "open_page", lambda path: f"Open {path}.")
    assert f"Open {course.root / '.dojo/see.html'}." in " ".join(run("s").split())
    assert "   s see   " in footer(KEYS, run.loop, 80)
    assert started[0][1:5] == ["-P", "-m", "grader.cli.entry", "--see"]


@pytest.mark.parametrize("ci", ["", "true"])
def test_without_a_terminal_it_grades_once_and_remembers_unless_ci_is_set(course, save, monkeypatch, ci):
    monkeypatch.setenv("CI", ci)
    save(RIGHT)()
    command = [sys.executable, "-m", "grader.cli.grade", "--course", str(course.root)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert (done.returncode, done.stdout.split("\n")[0]) == (0, "double  10 / 10   ✓ all 9 checks hold")
    assert (course.root / ".dojo/state.json").exists() == (not ci)


FIVEFOLD = RIGHT.replace("x + x", "x * 5")


def test_the_place_of_a_mistake_follows_the_report(run, save):
    printed = run(save(FIVEFOLD), search=2.0)
    assert printed.index("checks fail") < printed.index("Changing only this spot makes every check pass")


def test_a_search_says_so_after_a_while(run, save, monkeypatch):
    assert "searching for the place …" not in run(save(WRONG), search=2.0)
    monkeypatch.setattr(loop_module, "SILENT_SECONDS", 0.0)
    assert "searching for the place …\r" in run(save(FIVEFOLD), search=2.0)


def test_a_key_ends_the_search(run, save, monkeypatch):
    monkeypatch.setattr(TypedKeyboard, "is_pending", True)
    assert "Changing only this spot" not in run(save(FIVEFOLD), search=2.0)
