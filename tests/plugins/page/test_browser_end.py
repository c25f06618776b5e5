"""The Python end of a site answers a front end, and keeps files outside; here without a browser."""

import asyncio
import json
from pathlib import Path

import pytest

from dojo_authoring.release.keys import entry_of, key_files
from dojo_page import browser
from dojo_page.browser import Site
from dojo_page.site import course_files
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.worker import reader

ROOT = Path(__file__).parents[3]
PATH = "exercises/attention/softmax.py"
RIGHT = (ROOT / "solutions/attention/softmax/reference.py").read_text(encoding="utf-8")
WRONG = RIGHT.replace("powers.sum(axis=axis, keepdims=True)", "powers.sum()")


class Outside:
    """What a browser has: files that all tabs share, and the front end of this one."""

    def __init__(self, key):
        self.key, self.kept, self.answers, self.fetched = key, {}, [], []
        self.is_full, self.has_news = False, False

    async def acquire(self):
        return lambda: None

    async def news(self):
        found, self.has_news = self.kept if self.has_news else None, False
        return found

    async def keep(self, changes):
        if self.is_full:
            raise RuntimeError("QuotaExceededError")
        self.kept |= changes

    async def fetch(self, kata):
        self.fetched.append(kata)
        return self.key

    def post(self, message):
        self.answers.append(json.loads(message))

    def live(self):
        pass


@pytest.fixture(scope="module")
def key():
    course = Course(ROOT)
    return key_files([entry_of(course, course.katas["softmax"], SEED)], SEED)["keys/softmax.key"]


@pytest.fixture
def tab(tmp_path, monkeypatch, key):
    """A site with the kata softmax."""
    course = Course(ROOT)
    for name, data in course_files(course, [course.katas["softmax"]]).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(reader, "_own", [])  # the other tests have a reader of their own
    monkeypatch.setattr(browser, "QUIET_SECONDS", 0.2)
    return Site(tmp_path, "a version", Outside(key), is_kept=True)


def ask(tab, *requests, at_once=False):
    """Return all answers to these requests, which are asked one after the other or at once."""

    async def run():
        for request in requests:
            number = len(tab.outside.answers) + 1000 * (1 + requests.index(request))
            tab.take(json.dumps({"v": 1, "id": number, **request}))
            if not at_once:
                await asyncio.gather(*tab._tasks)
        await asyncio.gather(*tab._tasks)

    before = len(tab.outside.answers)
    asyncio.run(run())
    return tab.outside.answers[before:]


def save(text):
    return {"kind": "save", "kata": "softmax", "text": text, "base": "", "over": True}


def grade(text):
    return {"kind": "grade", "kata": "softmax", "text": text}


def test_a_verdict_names_the_mistake_with_a_key_that_is_fetched_once(tab):
    *_, first = ask(tab, save(WRONG), grade(WRONG))
    assert "its slices do not" in first["html"]
    *_, second = ask(tab, save(RIGHT), grade(RIGHT))
    assert second["score"] == "10 / 10"
    assert tab.outside.fetched == ["softmax"]
    assert tab.outside.kept[PATH] == RIGHT.encode()
    assert json.loads(tab.outside.kept[".dojo/state.json"])["katas"]["softmax"]["status"] == "passed"


def test_a_new_text_drops_the_search_for_the_last_one(tab):
    odd = RIGHT.replace("return powers / total", "return powers / total + powers.size % 7 * 1e-3")
    answers = ask(tab, grade(odd), grade(RIGHT), at_once=True)
    kinds = [(one["id"], one["kind"]) for one in answers if one["last"]]
    assert kinds == [(1000, "dropped"), (2000, "verdict")]


def test_what_cannot_be_kept_is_said_and_kept_with_the_next_request(tab):
    tab.outside.is_full = True
    (answer,) = ask(tab, save(RIGHT))
    assert answer["text"] == (
        "The browser cannot keep your files: take them out (Files) before you close the tab."
        " It says: QuotaExceededError"
    )
    tab.outside.is_full = False
    ask(tab, save(RIGHT))
    assert tab.outside.kept[PATH] == RIGHT.encode()


def test_what_another_tab_writes_comes_to_an_open_kata(tab):
    (opened,) = ask(tab, {"kind": "open", "kata": "softmax"})
    assert opened["file"].endswith(PATH)
    tab.outside.kept, tab.outside.has_news = {PATH: RIGHT.encode()}, True
    asyncio.run(tab.look())
    changed = tab.outside.answers[-1]
    assert [changed[name] for name in ("id", "kind", "text")] == [0, "changed", RIGHT]


def test_the_site_says_what_it_cannot_do(tab):
    (course,) = ask(tab, {"kind": "hello"})
    assert course["about"].endswith(browser.HERE)
    assert course["trouble"] == ""
    tab.is_kept = False
    (course,) = ask(tab, {"kind": "hello"})
    assert course["trouble"] == browser.NOT_KEPT


def test_code_that_was_ended_from_outside_gets_a_verdict(tab):
    asyncio.run(tab.stopped(7, "softmax", WRONG, 10))
    asyncio.run(tab.stopped(8, "softmax", WRONG, 0))
    ended, broken = tab.outside.answers
    assert "a call did not end within 10 seconds" in ended["html"]
    assert "Python has ended in a call" in broken["html"]


def test_a_message_that_is_no_request_gets_a_problem(tab):
    asked = [{"kind": "grade", "kata": "softmax"}, {"kind": "x"}, {"kind": "open", "kata": "=1+1"}]
    assert [one["kind"] for one in ask(tab, *asked)] == ["problem"] * 3
    (answer,) = ask(tab, {"kind": "bring_in", "zip": "?"})
    assert answer["kind"] == "problem"
