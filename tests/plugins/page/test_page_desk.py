"""What a front end is answered: the course, files, hints, versions, questions, verdicts, a review."""

import asyncio
import json
import re
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="the extra `page` is not installed")

from dojo_authoring.statement import to_markdown
from dojo_page import judge, protocol
from dojo_page.connection import Connection
from dojo_page.desk import Desk, Host
from dojo_page.history import History
from dojo_page.judge import Broken, Mended
from dojo_page.protocol import Arranged, Dropped, Progress, Said, Written, message_of
from dojo_page.statement import MARKDOWN, rendered
from dojo_review.faults import Fault
from dojo_review.review import Review
from grader.course.catalog import Course
from grader.course.plans import choice
from grader.course.search import folded
from grader.course.state import CourseState
from grader.report import CheckReport, KataReport, Mistake, from_json

ROOT = Path(__file__).resolve().parents[3]
RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return x + x\n"
EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
HOST = Host("local", ("see", "speak", "review"), lambda info: "torch" if info.library == "torch" else "")


class Judges:
    """Judges that answer what a test has given them, and note what they are asked."""

    def __init__(self, *answers):
        self.given, self.asked, self.stopped = [*answers], [], []

    async def _answers(self, *asked):
        self.asked.append(asked)
        for answer in self.given.pop(0):
            yield answer

    def __getattr__(self, name):
        return lambda *words, **more: self._answers(name, *words, *more.values())

    def stop(self, library):
        self.stopped.append(library)


async def at_once(work):
    return work()


@pytest.fixture
def desk(tiny_files, tmp_path, write):
    return Desk(Course(write(tmp_path / "course", tiny_files)), HOST)


@pytest.fixture
def file(desk):
    return desk.course.stub(desk.course.kata_info("double"))


def connection(desk, *answers):
    return Connection(desk, Judges(*answers), at_once)


def ask(connection, request):
    """The answers to a request, as they would be sent."""

    async def work():
        async with aclosing(connection.answers(request)) as answers:
            return [json.loads(json.dumps(message_of(1, answer))) async for answer in answers]

    return asyncio.run(work())


def last(connection, request):
    return ask(connection, request)[-1]


# --- the course ---


def test_the_course_is_told_with_every_kata(desk, file):
    told = last(connection(desk), protocol.Hello())
    assert (told["kind"], told["judge"], told["title"]) == ("course", "local", desk.course.syllabus.title)
    assert told["can"] == ["review"]  # it shows nothing, and its functions write nothing
    assert [one["name"] for one in told["katas"]] == [*desk.course.katas]
    by_name = {one["name"]: one for one in told["katas"]}
    assert by_name["double"]["missing"] == ""
    assert by_name["center"]["missing"] == "torch"
    assert by_name["double"]["mark"] == ""
    file.write_text(RIGHT)
    [double] = [one for one in last(connection(desk), protocol.Hello())["katas"] if one["name"] == "double"]
    assert (double["mark"], double["score"], double["max_score"]) == ("begun", "", "10")


def test_the_course_of_ours_has_words_minutes_and_what_it_can():
    told = last(connection(Desk(Course(ROOT), HOST)), protocol.Hello())
    assert told["can"] == ["see", "speak", "review"]
    aliases = {alias: one["name"] for one in told["katas"] for alias in one["words"]["aliases"]}
    assert aliases == {folded(alias): name for alias, name in Course(ROOT).syllabus.aliases.items()}
    assert all(one["minutes"] > 0 and one["difficulty"] in (1, 2, 3) for one in told["katas"])
    assert len(json.dumps(told)) < 64 << 10


def test_a_plan_is_chosen_by_hours_as_the_command_does(desk, monkeypatch):
    monkeypatch.setattr(CourseState, "passed", lambda _: set())
    ours = connection(Desk(Course(ROOT), HOST))
    told = last(ours, protocol.Choose("interview", 1))
    found = choice(Course(ROOT), "interview", 1)
    assert (told["kind"], told["told"]) == ("chosen", "interview in 1 hour. 1 kata, 45 minutes.")
    assert told["steps"] == [{"kata": "top_p", "why": "wanted"}]
    assert told["notes"] == list(found.notes)
    whole = last(ours, protocol.Choose("lab"))
    assert [step["kata"] for step in whole["steps"]] == Course(ROOT).syllabus.plans["lab"].katas
    assert {step["why"] for step in whole["steps"]} == {""}  # the list has the titles
    for request in (protocol.Choose("lob"), protocol.Choose("lab", -1), protocol.Choose("lab", float("nan"))):
        assert last(ours, request)["kind"] == "problem"
    assert last(connection(desk), protocol.Choose("lab"))["text"].startswith("There is no plan called `lab`.")


def test_one_goes_on_with_the_file_that_was_saved_last(desk, file):
    names = [*desk.course.katas]
    assert last(connection(desk), protocol.Hello())["following"] == names[0]
    file.write_text(RIGHT)
    assert last(connection(desk), protocol.Hello())["following"] == "double"
    CourseState(desk.course).change("double", passed=True)
    assert last(connection(desk), protocol.Hello())["following"] == next(n for n in names if n != "double")


def test_a_kata_that_does_not_exist_is_said(desk):
    told = last(connection(desk), protocol.Open("doubel"))
    assert told["kind"] == "problem"
    assert told["text"] == "There is no kata called `doubel`. Did you mean `double`?"
    for request in (protocol.Grade("doubel", ""), protocol.Save("doubel", "", "")):
        assert last(connection(desk), request)["kind"] == "problem"
    for name in ("../double", "", "/etc/passwd", "double\0"):
        assert last(connection(desk), protocol.Open(name))["kind"] == "problem"


def test_what_is_the_browsers_alone_is_refused_here(desk):
    assert last(connection(desk), protocol.TakeOut())["kind"] == "problem"
    assert last(connection(desk), protocol.BringIn(""))["kind"] == "problem"


# --- a kata and its file ---


def test_a_kata_opens_with_its_statement_its_file_and_its_neighbours(desk, file):
    told = last(connection(desk), protocol.Open("double"))
    assert told["text"] == file.read_text()
    assert told["digest"] == sha256(file.read_bytes()).hexdigest()
    assert "<h2>" in told["statement"]
    assert (told["is_begun"], told["problem"], told["entry_point"]) == (False, "", "double")
    names = [*desk.course.katas]
    at = names.index("double")
    assert told["next"] == (names[at + 1] if at + 1 < len(names) else "")
    assert told["previous"] == (names[at - 1] if at else "")
    assert (desk.state.folder / "stubs/double.py").read_bytes() == file.read_bytes()


def test_a_text_is_saved_and_another_programs_is_a_conflict_that_shows_the_difference(desk, file):
    tab = connection(desk)
    base = last(tab, protocol.Open("double"))["digest"]
    saved = last(tab, protocol.Save("double", "x = 2\n", base))
    assert (saved["kind"], file.read_text()) == ("saved", "x = 2\n")
    file.write_text("x = 3  # <b>\n")
    told = last(tab, protocol.Save("double", "x = 4\n", saved["digest"]))
    assert (told["kind"], told["text"]) == ("conflict", "x = 3  # <b>\n")
    assert 'class="removed">-x = 3  # &lt;b&gt;' in told["difference"]
    assert 'class="added">+x = 4' in told["difference"]
    assert file.read_text() == "x = 3  # <b>\n"
    over = last(tab, protocol.Save("double", "x = 4\n", "", over=True))
    assert (over["kind"], file.read_text()) == ("saved", "x = 4\n")
    [copy] = (desk.state.folder / "replaced").iterdir()
    assert copy.read_text() == "x = 3  # <b>\n"


def test_a_text_that_is_given_up_is_kept(desk):
    told = last(connection(desk), protocol.Keep("double", "mine\n"))
    [copy] = (desk.state.folder / "replaced").iterdir()
    assert (told["kind"], copy.read_text()) == ("kept", "mine\n")
    assert told["file"].endswith(copy.name)


def test_where_no_copy_can_be_kept_nothing_is_replaced(desk, file):
    last(connection(desk), protocol.Open("double"))  # which keeps the stub
    file.write_text("theirs\n")
    (desk.state.folder / "replaced").write_text("no folder")
    for request in (
        protocol.Save("double", "mine\n", "", over=True),
        protocol.Bring("double", "stub", "mine\n"),
        protocol.Keep("double", "mine\n"),
    ):
        told = last(connection(desk), request)
        assert told["kind"] == "problem"
        assert told["text"].startswith("No copy of the file can be kept, so nothing is replaced: ")
    assert file.read_text() == "theirs\n"


def test_what_another_program_does_to_an_open_file_is_told_once(desk, file):
    tab, other = connection(desk), connection(desk)
    base = last(tab, protocol.Open("double"))["digest"]
    assert tab.look() == other.look() == []
    last(tab, protocol.Save("double", "x = 2\n", base))
    assert tab.look() == []  # it was this tab
    file.write_text("x = 3\n")
    [changed] = tab.look()
    assert (changed.text, changed.is_gone, changed.problem) == ("x = 3\n", False, "")
    assert tab.look() == []
    file.unlink()
    [changed] = tab.look()
    assert (changed.is_gone, changed.digest) == (True, "")
    file.mkdir()
    [changed] = tab.look()
    assert changed.problem == "double.py is a folder."
    file.rmdir()
    tab.look()
    last(tab, protocol.Close("double"))
    file.write_text("x = 4\n")
    assert tab.look() == []


def test_a_file_is_brought_back_and_nothing_is_lost(desk, file):
    tab, stub = connection(desk), file.read_text()
    last(tab, protocol.Open("double"))
    file.write_text("theirs\n")
    told = last(tab, protocol.Bring("double", "stub", "mine\n"))
    assert (told["kind"], told["text"], file.read_text()) == ("brought", stub, stub)
    assert tab.look() == []
    assert {one.read_text() for one in (desk.state.folder / "replaced").iterdir()} == {"theirs\n", "mine\n"}
    told = last(tab, protocol.Bring("double", "best", stub))
    assert told["text"] == "There is no copy of the best version of double."
    told = last(tab, protocol.Bring("double", "../../etc/passwd", stub))
    assert told["text"] == "There is no copy of the version of double."


# --- hints, versions, questions ---


def test_hints_come_one_by_one_as_markup_that_holds_no_other(desk):
    info = desk.course.katas["double"]
    hints = len(info.hints)
    told = [last(connection(desk), protocol.Hint("double")) for _ in range(hints)]
    assert [one["number"] for one in told] == [*range(2, hints + 1), 0]
    assert all(one["of"] == hints for one in told)
    assert all("Hint " in one["html"] for one in told)


def verdict_of(source, status="failed", **more):
    digest = sha256(source.encode()).hexdigest()
    check = CheckReport("a", "A.", "passed" if status == "passed" else "failed", 500, 1000, "It fails.")
    report = KataReport("double", "attention", status, 1000, checks=(check,), digest=digest)
    return judge.Verdict(replace(report, **more), "", 0.5, is_last=True)


def test_a_verdict_is_the_report_and_is_drawn_and_kept_among_the_versions(desk):
    first = replace(verdict_of("x = 1\n"), is_last=False)
    told = ask(connection(desk, [first, verdict_of("x = 1\n")]), protocol.Grade("double", "x = 1\n"))
    assert [(one["last"], one["is_searching"]) for one in told] == [(False, True), (True, False)]
    verdict = told[-1]
    assert from_json(verdict["report"]).katas[0].status == "failed"
    assert verdict["score"] == "5 / 10"
    assert 'class="verdict failed"' in verdict["html"]
    assert (verdict["snippet"], verdict["has_solution"]) == ("", False)
    told = last(connection(desk), protocol.ListVersions("double"))
    [version] = told["versions"]
    assert (version["score"], version["passed"]) == ("5 of 10", False)
    compared = last(connection(desk), protocol.Compare("double", version["number"], "x = 2\n"))
    assert "-x = 1" in compared["html"]
    assert last(connection(desk), protocol.Compare("double", 5, ""))["kind"] == "problem"
    brought = last(connection(desk), protocol.Bring("double", str(version["number"]), ""))
    assert brought["text"] == "x = 1\n"


def test_after_a_pass_the_next_kata_and_the_solution_are_there(desk, file):
    file.write_text(RIGHT)
    CourseState(desk.course).change("double", passed=True, status="passed")
    told = last(connection(desk, [verdict_of(RIGHT, "passed")]), protocol.Grade("double", RIGHT))
    assert told["has_solution"]
    assert "#/kata/center" in told["html"]
    solved = last(connection(desk), protocol.Solution("double"))
    assert "def double" in solved["html"]
    assert "The reference" in solved["html"]


def test_no_solution_is_shown_before_a_pass(desk):
    told = last(connection(desk), protocol.Solution("double"))
    assert told["text"] == "double has not passed yet: its solution is shown once it has."


def test_what_a_submission_says_is_text_in_every_drawing(desk):
    mistake = Mistake("m", EVIL, certain=True)
    check = CheckReport(EVIL, EVIL, "failed", 0, 100, EVIL, mistake=mistake, call=EVIL, snippet=EVIL)
    verdict = verdict_of("x", checks=(check,), output=EVIL, message=EVIL)
    tried = judge.Tried(EVIL, EVIL, problem=EVIL)
    told = last(connection(desk, [verdict]), protocol.Grade("double", "x"))
    drawn = [told["html"], last(connection(desk, [tried]), protocol.Try("double", "", ""))["html"]]
    drawn.append(last(connection(desk), protocol.Save("double", EVIL, "x"))["difference"])
    for html in drawn:
        assert "window.hit" in html
        assert not re.search(r"<(?:script|img)", html)


def test_why_there_is_no_verdict_is_said(desk):
    told = last(connection(desk, [Dropped("The judge has ended.")]), protocol.Grade("double", ""))
    assert (told["kind"], told["problem"]) == ("dropped", "The judge has ended.")
    told = last(connection(desk, [Dropped()]), protocol.Try("double", "", "1"))
    assert "Stopped." in told["html"]


def test_a_stop_reaches_the_judge_that_works_and_no_other(desk):
    tab = connection(desk, [replace(verdict_of("x"), is_last=False)])

    async def work():
        async with aclosing(tab.answers(protocol.Grade("center", "x"))) as answers:
            await anext(answers)
            tab.stop()
        tab.stop()

    asyncio.run(work())
    assert tab.judges.stopped == ["torch"]


def test_an_answer_is_filled_in_and_what_is_none_is_refused(desk):
    page = '"""A page."""\n\n# How many?\nHEADS = ...\n'
    fields = last(connection(desk), protocol.ListFields("double", page))
    assert fields["questions"] == [{"name": "HEADS", "text": "How many?", "value": ""}]
    told = last(connection(desk), protocol.Fill("double", page, "HEADS", "8"))
    assert (told["kind"], "HEADS = 8\n" in told["text"]) == ("filled", True)
    told = last(connection(desk), protocol.Fill("double", page, "HEADS", "(8"))
    assert (told["kind"], told["text"]) == (
        "refused",
        "This is no value. Write a number, or (2, 3), or True.",
    )


# --- a puzzle ---


@pytest.fixture
def puzzled(tmp_path):
    """The course, where softmax has failed after all of its hints."""
    for info in Course(ROOT).katas.values():
        file = tmp_path / "exercises" / info.track / f"{info.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / "exercises" / info.track / file.name).read_bytes())
    course = Course(ROOT, tmp_path / "exercises")
    CourseState(course).change("softmax", helped=3, hints=3, failed_after_hint=True)
    return Desk(course, HOST)


def is_marked(desk):
    katas = last(connection(desk), protocol.Hello())["katas"]
    return next(one["puzzle"] for one in katas if one["name"] == "softmax")


def test_a_hint_says_that_there_is_a_puzzle_without_a_command(puzzled):
    told = last(connection(puzzled), protocol.Hint("softmax"))
    assert told["has_puzzle"]
    assert "grade puzzle" not in told["html"]
    assert not last(connection(puzzled), protocol.Hint("top_p"))["has_puzzle"]


def test_a_puzzle_is_shown_and_then_the_kata_is_marked(puzzled):
    assert not is_marked(puzzled)
    told = last(connection(puzzled), protocol.ShowPuzzle("softmax"))
    assert told["kind"] == "puzzle"
    assert told["told"].startswith("softmax: put its lines in order. 5 of the 7 lines are right; 2 are wrong")
    assert told["head"].startswith("import numpy as np\n\ndef softmax(")
    assert [one["letter"] for one in told["lines"]] == [*"ABCDEFG"]
    assert told["lines"][1]["text"] == "    return powers / total"
    assert is_marked(puzzled)


def test_before_its_time_there_is_no_puzzle(puzzled):
    told = last(connection(puzzled), protocol.ShowPuzzle("top_p"))
    assert (told["kind"], told["text"]) == (
        "problem",
        "A puzzle comes after the last hint.",
    )


def test_an_order_is_asked_of_the_judge(puzzled):
    tab = connection(puzzled, [Arranged(passes=False, right=1, told="The first line, C, is right.")])
    told = last(tab, protocol.Arrange("softmax", "CA"))
    assert (told["kind"], told["passes"], told["right"]) == ("arranged", False, 1)
    assert tab.judges.asked == [("arrange", "numpy", "softmax", "CA")]


# --- a review ---

SOURCE = '"""Doc."""\n\n\ndef double(x):\n    return x - x\n'


@pytest.fixture
def review(desk, file):
    """A review of `double`, and what a front end says in it."""
    file.write_text(SOURCE.replace("-", "+"))
    CourseState(desk.course).change("double", passed=True, status="passed", passed_on="2026-01-01")
    fault = Fault(SOURCE, 5, "    return x + x", "double", "an operator")
    check = CheckReport("a", "A.", "failed", 0, 100, "It fails.", call="double(1)", came="result: 0")
    tab = connection(desk, [Broken(Review("double", fault, check))])
    begun = last(tab, protocol.Review())
    assert begun["kind"] == "reviewing"
    return tab, begun


def test_a_review_shows_the_answer_without_its_docstring(review):
    _, begun = review
    assert [(one["number"], one["text"]) for one in begun["lines"]] == [
        (4, "def double(x):"),
        (5, "    return x - x"),
    ]
    assert begun["told"] == "One line of an answer of yours was changed. Which one?"
    assert (begun["more"], begun["found"], begun["now"]) == ("Show a failing case", 0, "")


def test_a_line_is_found_and_mended(review):
    tab, _ = review
    assert last(tab, protocol.Guess(4))["told"] == "Not line 4. Which one?"
    found = last(tab, protocol.Guess(5))
    assert (found["told"], found["found"], found["now"]) == ("Line 5 it is.", 5, "return x - x")
    assert found["more"] == ""
    tab.judges.given = [[Mended("It fails.")], [Dropped()], [Mended("")]]
    wrong = last(tab, protocol.Mend("return x * x"))
    assert (wrong["kind"], wrong["wrong"]) == ("reviewing", "✗ It fails.")
    assert last(tab, protocol.Mend("return x"))["wrong"].startswith("The judge was needed elsewhere")
    ended = last(tab, protocol.Mend("return x + x"))
    assert (ended["kind"], ended["told"].partition(".")[0]) == ("reviewed", "Found at first sight")
    assert "✓ Mended: every check passes." in ended["shown"]
    assert tab.judges.asked[-1] == ("mend", "numpy", "double", SOURCE.replace("-", "+"))
    assert last(tab, protocol.Guess(5))["kind"] == "problem"


def test_more_shows_a_case_a_hint_and_the_line(review):
    tab, _ = review
    case = last(tab, protocol.More())
    assert "double(1)" in case["shown"]
    hint = last(tab, protocol.More())
    assert hint["shown"].startswith(case["shown"])
    assert "it is an operator" in hint["shown"]
    line = last(tab, protocol.More())
    assert (line["told"], line["found"], line["more"]) == ("It is line 5.", 5, "")
    ended = last(tab, protocol.Mend(" "))
    assert ended["told"].startswith("Not found.")
    assert "5 │ return x + x" in ended["shown"]


def test_three_wrong_lines_end_a_review(review):
    tab, _ = review
    last(tab, protocol.Guess(5))
    tab.judges.given = [[Mended("It fails.")]] * 3
    told = [last(tab, protocol.Mend("return x")) for _ in range(3)]
    assert [one["kind"] for one in told] == ["reviewing", "reviewing", "reviewed"]


def test_an_answer_that_cannot_be_reviewed_is_left_out(desk):
    CourseState(desk.course).change("double", passed=True, status="passed", passed_on="2026-01-01")
    tab = connection(desk, [Dropped("no small change of it fails.")])
    told = last(tab, protocol.Review())
    assert (told["kind"], told["told"]) == (
        "reviewed",
        "double is left out: no small change of it fails.",
    )
    assert last(connection(desk), protocol.More())["text"] == "There is no review; open it again."


# --- what the functions write ---


def test_what_can_be_chosen_for_a_text_is_told():
    told = last(connection(Desk(Course(ROOT), HOST)), protocol.OfferSpeech())
    assert told["prompt"]
    assert {one["name"] for one in told["switches"]} >= {"mask", "scale"}
    assert all(one["low"] < one["high"] for one in told["settings"])


def test_a_course_without_functions_that_write_says_so(desk):
    assert last(connection(desk), protocol.OfferSpeech())["kind"] == "problem"


def test_a_text_comes_piece_by_piece(desk):
    answers = [Progress("Loading …"), Said("Once"), Written(("Done.",), "<p>", beside="b")]
    tab = connection(desk, answers)
    told = ask(tab, protocol.Speak("Once\n upon", ("mask",)))
    assert [one["kind"] for one in told] == ["progress", "said", "written"]
    assert (told[-1]["inside"], told[-1]["beside"]) == ("<p>", "b")
    [(_, wish, mine)] = tab.judges.asked
    assert (wish.prompt, wish.without, mine) == ("Once upon", ("mask",), False)


# --- the statement ---

STATEMENT = """Double a number.

Text with <b>tags</b>, [a link](http://evil.example), ![](http://evil.example/x.png) and `code <i>`.

    an example
    ```
    <style>body { display: none }</style>

    <form action="http://evil.example"><a href="javascript:x">out</a></form>
    ````
    [a link](http://evil.example)

- <http://evil.example>
"""


def test_a_statement_is_shown_by_a_few_elements_alone():
    shown = MARKDOWN.render(to_markdown(STATEMENT))
    elements = set(re.findall(r"<(\w+)((?:\s[^>]*)?)>", shown))
    assert elements == {
        ("h2", ""), ("p", ""), ("pre", ""), ("ul", ""), ("li", ""), ("code", ""),
        ("code", ' class="language-text"'),
    }  # fmt: skip
    assert "&lt;style&gt;" in shown
    assert len(re.findall("<pre>", shown)) == 1  # no line of the example ends it


def test_a_statement_has_its_shapes_its_warning_and_its_pictures_where_they_belong():
    shown = rendered(
        "Title.\n\nThe x [..., T] is `[a, b]`.\n\n    m = [[1, 2], [3, 4]]\n\nWhat goes wrong: <b>.\n"
    )
    assert '<code class="shape">[..., T]</code> is <code>[a, b]</code>' in shown
    assert shown.index('</pre></div><div class="drawn"><figure>') < shown.index(
        '<p class="callout"><strong>What goes wrong:'
    )
    assert "&lt;b&gt;" in shown


def test_a_history_of_another_tab_is_there_at_once(desk):
    History(desk.state.folder, "double").add(verdict_of("y = 1\n").report, "y = 1\n")
    assert len(last(connection(desk), protocol.ListVersions("double"))["versions"]) == 1
    (desk.state.folder / "history/double.json").write_text("{")
    told = last(connection(desk), protocol.ListVersions("double"))
    assert (told["versions"], len(told["damaged"])) == ([], 1)
