"""The page in a real browser: solve a kata by typing, let others write to the file, and attack it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the extra `page` is not installed")
pytest.importorskip("selenium", reason="Selenium is not installed")

from selenium.common.exceptions import TimeoutException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from dojo_page.editor import LONGEST_TEXT
from grader.course.catalog import Course
from grader.course.state import CourseState

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 90  # that anything on the page may take on a busy machine
EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
BODY = "    raise NotImplementedError\n"
WRONG = """\
    if key_len is None:
        key_len = query_len
    if key_len < query_len:
        raise ValueError("fewer keys than queries")
    return np.tri(query_len, key_len, dtype=bool)
"""
WRONG_SCORE = "✗ 5 / 10"
RIGHT = WRONG.replace("key_len, dtype", "key_len, key_len - query_len, dtype")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A student's copy of the course."""
    root = tmp_path_factory.mktemp("page") / "course"
    shutil.copytree(ROOT / "exercises", root / "exercises")
    for name in ("tests", "solutions", "see"):
        (root / name).symlink_to(ROOT / name, target_is_directory=True)
    return root


def start(course, *options):
    """Start `grade page`, and return its process and the address that it prints."""
    words = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(course), *options]
    # without a screen, and without what tells NiceGUI that it is tested
    taken = ("CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in taken}
    server = subprocess.Popen(words, cwd=course, stdout=subprocess.PIPE, text=True, env=environment)
    url = re.search(r"http://\S+", server.stdout.readline())[0]
    assert server.stdout.readline() == "Ctrl-C ends it.\n"
    assert server.stdout.readline() == "No browser can be started here; open the address in one.\n"
    return server, url


def stop(server):
    server.send_signal(signal.SIGINT)
    assert server.wait(SECONDS) == 0


@pytest.fixture(scope="module")
def address(course, _chromium):
    """The page's address without its code, which has let this browser in; Ctrl-C leaves no process behind."""
    server, url = start(course)
    _chromium.get(url)
    wait(_chromium, lambda b: b.find_elements(By.ID, "main"))
    yield url.partition("/?")[0]
    stop(server)
    left = subprocess.run(["pgrep", "-f", f"dojo_page.judge.*{course}"], capture_output=True, text=True)
    assert left.stdout == ""


@pytest.fixture
def visit(browser, address, course):
    """`visit("/kata/causal_mask")` opens a view, from the stubs."""

    def open_view(path):
        browser.get(address + path)  # a page that is left while it is built may hold up the next one
        wait(browser, lambda b: b.find_elements(By.ID, "main"))
        return browser

    shutil.copytree(ROOT / "exercises", course / "exercises", dirs_exist_ok=True)
    shutil.rmtree(course / ".dojo", ignore_errors=True)
    yield open_view
    browser.switch_to.default_content()
    browser.get("about:blank")


def wait(browser, holds):
    return WebDriverWait(browser, SECONDS, 0.05).until(holds)


def stub(course, name):
    return next(course.glob(f"exercises/*/{name}.py"))


def verdict(browser):
    return browser.find_element(By.CSS_SELECTOR, ".verdict .score").text


def scores(browser, start):
    """Wait until a fresh verdict begins with this text."""
    fresh = (
        "const shown = document.querySelector('.shown');"
        "const score = document.querySelector('.verdict .score');"
        " return score && !shown.classList.contains('stale') ? score.innerText : ''"
    )
    try:
        wait(browser, lambda b: b.execute_script(fresh).startswith(start))
    except TimeoutException:
        raise AssertionError(
            f"no verdict {start!r}: {browser.find_element(By.CSS_SELECTOR, '.result').text}"
        ) from None


def write(browser, text):
    """Select all of the editor's text and type another one in one go."""
    browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    browser.execute_cdp_cmd("Input.insertText", {"text": text})


def press(browser, *keys):
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def tool(browser, name):
    """Open or close a panel below the editor."""
    browser.find_element(By.CSS_SELECTOR, f".toolbar [aria-controls=panel-{name}]").click()


def leave(browser):
    press(browser, Keys.ESCAPE)
    time.sleep(0.3)  # until the keys of the page are on


def underlined(browser):
    return [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".editor .in-question")]


def test_a_kata_is_solved_by_typing_with_two_mistakes_on_the_way(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    write(browser, source.replace(BODY, "    return np.tri(query_len, key_len, dtype=bool\n"))
    scores(browser, "✗ 0 / 10 could not be graded")  # a syntax error, once one pauses
    assert "was never closed" in browser.find_element(By.CSS_SELECTOR, ".verdict .cause").text
    assert underlined(browser)
    write(browser, source.replace(BODY, WRONG))
    assert "stale" in browser.find_element(By.CSS_SELECTOR, ".shown").get_attribute("class")
    scores(browser, WRONG_SCORE)
    assert browser.find_elements(By.CSS_SELECTOR, ".verdict svg.drawing")
    headline = browser.find_element(By.CSS_SELECTOR, ".verdict .headline").text
    assert headline.startswith("With a cache the triangle sits in the wrong corner")
    told = browser.find_element(By.CSS_SELECTOR, ".verdict").text
    assert "5 of 14 checks fail, one reason" in told
    assert told.index("causal_mask(2, 3)") < told.index("Also")  # the others are last
    write(browser, source.replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == source.replace(BODY, RIGHT)
    shown = browser.find_element(By.CSS_SELECTOR, ".verdict").text
    assert "Shown: no query may attend to a later position" in shown
    assert "Another way: " in shown
    assert "Next: " in shown
    leave(browser)
    press(browser, "n")
    wait(browser, lambda b: b.current_url.endswith("/kata/padding_mask"))
    press(browser, "p")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas .passed"))


def test_where_the_code_raised_is_underlined_and_said(visit, course):
    browser = visit("/kata/causal_mask")
    scores(browser, "·")
    source = stub(course, "causal_mask").read_text()
    write(browser, source.replace(BODY, "    return np.tri(query_lenn, key_len, dtype=bool)\n"))
    scores(browser, "✗ ")
    wait(
        browser,
        lambda b: (
            underlined(b) == ["query_lenn"] or underlined(b) == ["np.tri(query_lenn, key_len, dtype=bool)"]
        ),
    )
    press(browser, Keys.F8)
    wait(browser, lambda b: "query_lenn" in b.find_element(By.CSS_SELECTOR, ".q-notification").text)


def test_a_file_that_another_program_writes_appears(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    file.write_text(file.read_text().replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    assert "key_len - query_len" in browser.find_element(By.CSS_SELECTOR, ".editor").text


@pytest.mark.parametrize("choice", ["Take the file", "Keep what is here"])
def test_when_both_have_changed_it_one_is_asked_and_nothing_is_lost(visit, course, choice):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    theirs, mine = source.replace(BODY, RIGHT), source.replace(BODY, WRONG)
    write(browser, mine)
    file.write_text(theirs)  # before what was typed is saved
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".conflict").is_displayed())
    assert file.read_text() == theirs
    browser.find_element(By.XPATH, f"//button[text()='{choice}']").click()
    takes = choice.startswith("Take")
    scores(browser, "✓ 10 / 10" if takes else WRONG_SCORE)
    assert file.read_text() == (theirs if takes else mine)
    [aside] = (course / ".dojo/replaced").iterdir()
    assert aside.read_text() == (mine if takes else theirs)


def test_what_is_typed_while_the_page_is_cut_off_arrives_later(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    browser.execute_script("window.socket.io.engine.close()")  # as when a laptop wakes up
    write(browser, source.replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == source.replace(BODY, RIGHT)


def test_an_endless_loop_does_not_hold_up_another_kata(visit, course):
    browser = visit("/kata/causal_mask")
    scores(browser, "·")
    source = stub(course, "causal_mask").read_text()
    write(browser, source.replace(BODY, "    while True:\n        pass\n"))
    time.sleep(1.5)
    leave(browser)
    press(browser, "p")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas"))
    browser.find_element(By.CSS_SELECTOR, "a[href$='/kata/layer_norm']").click()
    wait(browser, lambda b: b.current_url.endswith("layer_norm"))
    scores(browser, "·")


def test_a_page_of_questions_is_a_form(visit, course):
    browser, file = visit("/kata/attention_questions"), stub(course, "attention_questions")
    scores(browser, "·")
    browser.find_element(By.ID, "answer-STUDENT").send_keys("ada")
    browser.find_element(By.ID, "answer-SCALE").send_keys("24 ** 0.5")
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys("(3, 6", Keys.ENTER)
    wait(
        browser,
        lambda b: "is no value" in b.find_element(By.CSS_SELECTOR, ".questions .q-field--error").text,
    )
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys(", 5, 24)", Keys.ENTER)
    scores(browser, "✗ 2 / 8")
    assert "SHAPE_OF_Q = (3, 6, 5, 24)" in file.read_text()
    assert "STUDENT = 'ada'" in file.read_text()
    marks = {one.text for one in browser.find_elements(By.CSS_SELECTOR, ".questions .mark")}
    assert marks == {"", "✓ right", "✗ wrong"}  # the login has no mark


def test_what_is_no_value_is_refused_at_its_field_and_costs_no_other_answer(visit, course):
    browser, file = visit("/kata/attention_questions"), stub(course, "attention_questions")
    scores(browser, "·")
    browser.find_element(By.ID, "answer-SCALE").send_keys("abc")
    wait(
        browser, lambda b: "is no value" in b.find_element(By.CSS_SELECTOR, ".questions .q-field--error").text
    )
    assert len(browser.find_elements(By.CSS_SELECTOR, ".questions .q-field--error")) == 1
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys("(5, 8, 4, 14)")
    wait(browser, lambda _: "SHAPE_OF_Q = (5, 8, 4, 14)" in file.read_text())
    assert "abc" not in file.read_text()
    browser.find_element(By.ID, "answer-SCALE").send_keys(Keys.CONTROL, "a", Keys.NULL, "2")
    wait(browser, lambda _: "SCALE = 2" in file.read_text())
    assert browser.find_elements(By.CSS_SELECTOR, ".questions .q-field--error") == []


def test_what_fails_can_be_tried(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".verdict").text)
    code = browser.find_element(By.CSS_SELECTOR, ".verdict pre").text
    shown = re.search(r"^causal_mask\(.*\)$", code, re.MULTILINE)[0]
    browser.find_element(By.XPATH, "//button[.='Case']").click()
    wait(
        browser, lambda b: shown in b.find_element(By.CSS_SELECTOR, ".lines").text
    )  # the call of the verdict
    wait(browser, lambda b: "It printed" in b.find_element(By.CSS_SELECTOR, ".try").text)
    browser.find_element(By.CSS_SELECTOR, ".lines .cm-content").click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    browser.execute_cdp_cmd("Input.insertText", {"text": "causal_mask(2, 4)"})
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".try svg.drawing"))


def test_versions_hints_and_the_stub_come_back(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    write(browser, source.replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    write(browser, source.replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    leave(browser)
    press(browser, "h")
    wait(browser, lambda b: "Hint " in b.find_element(By.CSS_SELECTOR, ".hints").text)
    press(browser, "u")
    scores(browser, "✓ 10 / 10")
    tool(browser, "history")
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".version")) == 3)
    second = browser.find_elements(By.CSS_SELECTOR, ".version")[1]
    second.find_element(By.XPATH, ".//button[.='Compare']").click()
    changed = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".diff .added, .diff .removed"))
    assert [line.text[0] for line in changed] == ["-", "+"]
    second.find_element(By.XPATH, ".//button[.='Bring back']").click()
    scores(browser, WRONG_SCORE)
    browser.find_element(By.XPATH, "//button[text()='Stub again']").click()
    wait(browser, lambda b: b.find_element(By.XPATH, "//button[text()='Bring it back']").is_displayed())
    browser.find_element(By.XPATH, "//button[text()='Bring it back']").click()
    scores(browser, "·")
    assert file.read_text() == source


def test_what_cannot_be_read_is_told_and_kept(visit, course):
    history = course / ".dojo" / "history" / "causal_mask.json"
    history.parent.mkdir(parents=True)
    for file in (history, course / ".dojo" / "state.json"):
        file.write_text("{")
    browser = visit("/")
    assert "state.json is damaged: it is kept under another name" in browser.find_element(By.ID, "main").text
    browser = visit("/kata/causal_mask")
    scores(browser, "·")
    tool(browser, "history")
    told = "An earlier history cannot be read; it is kept in"
    wait(browser, lambda b: told in b.find_element(By.CSS_SELECTOR, ".history").text)
    assert [file.read_text() for file in history.parent.glob("causal_mask.json.damaged-*")] == ["{"]


def test_what_the_functions_do_is_seen_as_they_are_now(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    press(browser, "s")
    frame = wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".see iframe"))
    wait(browser, lambda _: frame.is_displayed())
    browser.switch_to.frame(frame)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas .yours"))
    assert browser.find_element(By.ID, "state").text.startswith("Step 6 of 6")
    reached = "try { return Boolean(parent.document.body); } catch { return false; }"
    assert not browser.execute_script(reached)


def test_all_of_it_works_by_keyboard(visit):
    browser = visit("/")
    wait(browser, lambda b: b.switch_to.active_element.text == "Begin: softmax")  # Enter goes on
    press(browser, "?")
    wait(browser, lambda b: "Go on where you were." in b.find_element(By.CSS_SELECTOR, ".keys").text)
    press(browser, Keys.ESCAPE)
    wait(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, ".keys"))
    press(browser, "/")
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("id") == "search")
    press(browser, *"rotary")
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".katas li")) == 1)
    press(browser, Keys.ENTER)
    wait(browser, lambda b: b.current_url.endswith("/kata/rotary_embedding"))
    scores(browser, "·")
    press(browser, "e")
    editor = "return document.activeElement.classList.contains('cm-content')"
    wait(browser, lambda b: b.execute_script(editor))
    press(browser, Keys.ESCAPE)
    wait(browser, lambda b: not b.execute_script(editor))


@pytest.mark.parametrize("path", ["/", "/kata/causal_mask", "/kata/attention_questions", "/speak"])
@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (375, "light")])
def test_axe_finds_nothing(visit, course, browser, path, width, colours):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 400}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": colours}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    file = stub(course, "causal_mask")
    visit(path)
    file.write_text(file.read_text().replace(BODY, WRONG))
    if path == "/speak":
        wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".remarks p"))
    elif "causal" in path:
        scores(browser, WRONG_SCORE)
    elif path != "/":
        scores(browser, "·")
    time.sleep(0.5)
    if folder := os.environ.get("DOJO_PICTURES"):
        browser.save_screenshot(f"{folder}/page-{path.rpartition('/')[2] or 'path'}-{width}-{colours}.png")
    found = axe.Axe().run(browser)["violations"]
    told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
    assert told == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


# --- a review ---

MINE = """\
import numpy as np


def softmax(x, axis=-1):
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(float)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""


@pytest.fixture
def due(visit, course):
    """The view of the path, where softmax has passed long ago."""
    stub(course, "softmax").write_text(MINE)
    state = CourseState(Course(course))
    state.change("softmax", status="passed", passed=True, passed_on="2026-01-01")
    return visit("/")


def changed_line(browser):
    """Return the number of the line that the review has changed, and that line of the answer."""
    lines = {
        int(number): text
        for number, text in (
            one.text.split(maxsplit=1) for one in browser.find_elements(By.CSS_SELECTOR, ".review .line")
        )
    }
    due = MINE.split("\n")
    [found] = [number for number, text in lines.items() if text.strip() != due[number - 1].strip()]
    return found, due[found - 1].strip()


def status(browser):
    return browser.find_element(By.CSS_SELECTOR, ".review [role=status]").text


def begun(browser):
    wait(browser, lambda b: "One line of an answer of yours was changed." in status(b))
    return changed_line(browser)


def test_a_line_is_found_and_mended_by_keyboard(due, course):
    browser = due
    card = browser.find_element(By.CSS_SELECTOR, ".due")
    assert card.text.startswith("To review today: softmax")
    card.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    number, line = begun(browser)
    lines = {int(one.text.split()[0]): one for one in browser.find_elements(By.CSS_SELECTOR, ".review .line")}
    lines[1].send_keys(Keys.ENTER)
    wait(browser, lambda b: status(b) == "Not line 1. Which one?")
    lines[number].send_keys(Keys.ENTER)
    wait(browser, lambda b: status(b) == f"Line {number} it is.")
    wait(browser, lambda b: b.switch_to.active_element.tag_name == "input")
    press(browser, Keys.ENTER)
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".review .wrong").text.startswith("✗ "))
    field = browser.switch_to.active_element
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.NULL, line, Keys.ENTER)
    wait(browser, lambda b: status(b) == "Found at first sight. It comes again in 7 days.")
    assert "✓ Mended: every check passes." in browser.find_element(By.ID, "main").text
    assert stub(course, "softmax").read_text() == MINE
    press(browser, "p")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas"))
    assert browser.find_elements(By.CSS_SELECTOR, ".due") == []


def test_a_line_that_is_not_found_is_shown_and_comes_again_tomorrow(due):
    browser = due
    browser.find_element(By.CSS_SELECTOR, ".due button").click()
    number, line = begun(browser)
    for label, shown in (
        ("Show a failing case", "It fails here:"),
        ("Hint", "Look in `softmax`: it is "),
        ("Show the line", f"It is line {number}."),
    ):
        browser.find_element(By.XPATH, f"//button[.='{label}']").click()
        wait(browser, lambda b, shown=shown: shown in b.find_element(By.ID, "main").text)
    browser.find_element(By.XPATH, "//button[.='Show mine']").click()
    wait(browser, lambda b: status(b) == "Not found. It comes again tomorrow.")
    assert line in browser.find_element(By.CSS_SELECTOR, ".review [aria-live]").text


def test_an_answer_that_does_not_pass_any_more_is_left_out_of_a_review(due, course):
    stub(course, "softmax").write_text(MINE.replace("e / e.sum", "e * e.sum"))
    due.find_element(By.CSS_SELECTOR, ".due button").click()
    told = "softmax is left out: your answer does not pass any more."
    wait(due, lambda b: status(b).startswith(told))


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (375, "light")])
def test_axe_finds_nothing_in_a_review(due, width, colours):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed")
    browser, folder = due, os.environ.get("DOJO_PICTURES")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 400}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": colours}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    if folder:
        browser.save_screenshot(f"{folder}/due-{width}-{colours}.png")
    assert axe.Axe().run(browser)["violations"] == []
    browser.find_element(By.CSS_SELECTOR, ".due button").click()
    number, _ = begun(browser)
    browser.find_element(By.XPATH, "//button[.='Show a failing case']").click()
    lines = browser.find_elements(By.CSS_SELECTOR, ".review .line")
    next(one for one in lines if one.text.split()[0] == str(number)).click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".review input"))
    time.sleep(0.5)
    if folder:
        browser.save_screenshot(f"{folder}/review-{width}-{colours}.png")
    found = axe.Axe().run(browser)["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


# --- nothing typed is lost ---


def told(browser):
    return browser.find_element(By.CSS_SELECTOR, ".problem").text


def undo(browser):
    browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()


def test_a_file_that_cannot_be_written_is_said_until_it_is_written(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source, folder = file.read_text(), file.parent
    elsewhere = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(elsewhere)  # which is not followed
    try:
        write(browser, source.replace(BODY, RIGHT))
        wait(browser, lambda b: "is not written. Your text is kept here" in told(b))
        time.sleep(3)  # it stays, over several attempts
        assert "is not written. Your text is kept here" in told(browser)
        assert "key_len - query_len" in browser.find_element(By.CSS_SELECTOR, ".editor").text
        assert file.read_text() == source
    finally:
        folder.unlink()
        elsewhere.rename(folder)
    scores(browser, "✓ 10 / 10")  # without another key
    assert told(browser) == ""
    assert file.read_text() == source.replace(BODY, RIGHT)


def test_an_answer_is_in_the_file_before_the_page_is_checked(visit, course):
    browser, file = visit("/kata/attention_questions"), stub(course, "attention_questions")
    scores(browser, "·")
    browser.find_element(By.ID, "answer-SCALE").send_keys("24 ** 0.5")
    wait(browser, lambda _: "SCALE = 24 ** 0.5" in file.read_text())
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys("(3, 6")
    wait(browser, lambda b: "is no value" in b.find_element(By.CSS_SELECTOR, ".questions").text)
    browser.refresh()
    scores(browser, "✗")
    kept = {"SCALE": "24 ** 0.5", "SHAPE_OF_Q": "(3, 6"}
    for name, value in kept.items():
        assert browser.find_element(By.ID, f"answer-{name}").get_attribute("value") == value
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys(")")  # for the tests after this one
    wait(browser, lambda _: "SHAPE_OF_Q = (3, 6)" in file.read_text())


def test_what_is_typed_after_the_server_has_ended_is_offered(browser, course):
    shutil.copytree(ROOT / "exercises", course / "exercises", dirs_exist_ok=True)
    server, url = start(course)
    port = url.split(":")[2].partition("/")[0]
    try:
        browser.get(url)
        wait(browser, lambda b: b.find_elements(By.ID, "main"))
        browser.get(url.partition("/?")[0] + "/kata/causal_mask")
        scores(browser, "·")
        source = stub(course, "causal_mask").read_text()
        write(browser, source.replace(BODY, WRONG))
        scores(browser, WRONG_SCORE)
        server.kill()
        server.wait()
        server, _ = start(course, "--port", port)  # on the same port, as a server that is started again
        write(browser, source.replace(BODY, RIGHT))
        panel = browser.find_element(By.ID, "lost")
        wait(browser, lambda _: panel.is_displayed())
        assert "open the address that the terminal prints now" in panel.text
        area = panel.find_element(By.TAG_NAME, "textarea")
        wait(browser, lambda _: area.get_property("value") == source.replace(BODY, RIGHT))
    finally:
        browser.get("about:blank")
        stop(server)


def test_a_tab_that_is_loaded_again_offers_what_the_lost_server_did_not_get(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_script("socket.io.opts.reconnection = false; socket.io.engine.close()")
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    write(browser, source.replace(BODY, RIGHT))
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    browser.refresh()
    panel = wait(browser, lambda b: b.find_element(By.ID, "lost"))
    wait(browser, lambda _: panel.is_displayed())
    assert file.read_text() == source
    panel.find_element(By.XPATH, ".//button[text()='Put it into the editor']").click()
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == source.replace(BODY, RIGHT)


def test_a_file_that_is_deleted_leaves_its_text_and_every_step_of_the_editor(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    mine, theirs = source.replace(BODY, WRONG), source.replace(BODY, RIGHT)
    write(browser, mine)
    scores(browser, WRONG_SCORE)
    file.unlink()
    wait(browser, lambda b: "was deleted by another program. Your text is kept here" in told(b))
    assert "np.tri(query_len, key_len, dtype=bool)" in browser.find_element(By.CSS_SELECTOR, ".editor").text
    browser.find_element(By.XPATH, "//button[text()='Write it again']").click()
    wait(browser, lambda b: told(b) == "" and file.exists())
    assert file.read_text() == mine
    file.write_text(theirs)
    scores(browser, "✓ 10 / 10")
    undo(browser)  # what another program wrote
    wait(browser, lambda _: file.read_text() == mine)
    undo(browser)  # what was typed before
    wait(browser, lambda _: file.read_text() == source)


# --- code first ---


def columns(browser):
    """Return how many characters of a line the editor shows."""
    return browser.execute_script(
        "const view = document.querySelector('.editor'), line = view.querySelector('.cm-line');"
        "const probe = line.cloneNode(); probe.textContent = 'x'.repeat(100);"
        "probe.style.display = 'inline-block';"
        "line.parentNode.append(probe); const wide = probe.getBoundingClientRect().width - 8; probe.remove();"
        "const gutters = view.querySelector('.cm-gutters').offsetWidth;"
        "return Math.floor((view.querySelector('.cm-scroller').clientWidth - gutters - 8) / wide * 100)"
    )


def resize(browser, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 400}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.mark.parametrize("width", [1440, 1920])
def test_the_editor_shows_the_code_with_88_columns_and_the_statement_beside_it(visit, width):
    browser = visit("/kata/softmax")
    resize(browser, width)
    scores(browser, "·")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".editor .cm-foldPlaceholder"))
    code = browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").text
    assert "The statement stands beside" in code
    assert "Attention compares" not in code
    assert browser.find_element(By.CSS_SELECTOR, ".cm-activeLine").text.strip() == "raise NotImplementedError"
    assert columns(browser) >= 88
    assert browser.execute_script("return document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.parametrize(("width", "least", "most"), [(1440, 0, 1 / 3), (1920, 1 / 3, 2 / 3)])
def test_the_raise_of_a_long_stub_opens_with_room_below_it(browser, visit, width, least, most):
    resize(browser, width)
    visit("/kata/train_language_model")
    scores(browser, "·")
    place = """
        const line = document.querySelector(".editor .cm-activeLine").getBoundingClientRect();
        const box = document.querySelector(".editor .cm-scroller").getBoundingClientRect();
        const text = document.querySelector(".editor .cm-activeLine").innerText;
        return [line.top - box.top, line.bottom - box.top, box.height, text];
    """
    top, bottom, height, text = browser.execute_script(place)
    assert "raise NotImplementedError" in text
    assert least * height <= top < bottom <= most * height
    is_shown = "def train(" in browser.find_element(By.CSS_SELECTOR, ".editor").text
    assert is_shown or width == 1440
    statement = browser.find_element(By.CSS_SELECTOR, ".statement")
    assert "*before*" not in statement.text
    assert statement.find_element(By.TAG_NAME, "em").text == "before"


def test_the_first_example_fits_a_wide_screen(browser, visit):
    resize(browser, 1920)
    visit("/kata/softmax")
    scores(browser, "·")
    beyond = "one => one.scrollWidth - one.clientWidth"
    script = f"return [...document.querySelectorAll('.statement pre')].map({beyond})"
    if folder := os.environ.get("DOJO_PICTURES"):
        browser.save_screenshot(f"{folder}/wide.png")
    assert set(browser.execute_script(script)) == {0}


def test_a_formula_of_the_statement_is_set_and_the_editors_follow_the_system(visit):
    browser = visit("/kata/softmax")
    scores(browser, "·")
    above, below = browser.find_elements(By.CSS_SELECTOR, ".statement mfrac > mrow")[:2]
    assert above.location["y"] < below.location["y"]
    ground = "return getComputedStyle(document.querySelector('.editor .cm-editor')).backgroundColor"
    light = wait(browser, lambda b: b.execute_script(ground))
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": dark})
    wait(browser, lambda b: b.execute_script(ground) != light)


def test_a_case_is_offered_while_one_fails_and_leaves_the_code_in_sight(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    resize(browser, 1440)
    scores(browser, "·")
    case = browser.find_element(By.XPATH, "//button[.='Case']")
    assert not case.is_displayed()
    write(browser, file.read_text().replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    case.click()
    wait(browser, lambda b: "It printed" in b.find_element(By.CSS_SELECTOR, ".try").text)
    shown = [browser.find_element(By.CSS_SELECTOR, place) for place in (".try pre", ".editor .cm-activeLine")]
    inside = "const a = arguments[0].getBoundingClientRect(), b = arguments[1].getBoundingClientRect();"
    for one, box in zip(shown, (".panel.try", ".editor"), strict=True):
        place = browser.find_element(By.CSS_SELECTOR, box)
        wait(
            browser,
            lambda b, one=one, place=place: b.execute_script(
                f"{inside} return a.top >= b.top - 1 && a.top < b.bottom - 10", one, place
            ),
        )


def test_the_columns_can_be_dragged_and_the_statement_put_away(visit):
    browser = visit("/kata/softmax")
    scores(browser, "·")
    statement = browser.find_element(By.CSS_SELECTOR, ".kata > .statement")
    divider = browser.find_element(By.CSS_SELECTOR, ".divider")
    before = statement.size["width"]
    ActionChains(browser).drag_and_drop_by_offset(divider, 100, 0).perform()
    assert abs(statement.size["width"] - before - 100) < 12
    divider.send_keys(Keys.ARROW_LEFT)
    assert statement.size["width"] < before + 95
    browser.find_element(By.CSS_SELECTOR, "[data-act=fold]").click()
    assert statement.size["width"] < 60
    browser.refresh()
    scores(browser, "·")
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".kata > .statement").size["width"] < 60)
    browser.find_element(By.CSS_SELECTOR, "[data-act=fold]").click()
    browser.execute_script("localStorage.clear()")


def test_on_a_phone_there_are_tabs_and_the_score_is_always_in_sight(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    resize(browser, 375, 700)
    file.write_text(file.read_text().replace(BODY, WRONG))
    for name, shown in (("code", ".work"), ("verdict", ".result"), ("statement", ".statement")):
        browser.find_element(By.CSS_SELECTOR, f".tabs [data-name={name}]").click()
        seen = {
            kind: browser.find_element(By.CSS_SELECTOR, f".kata > {kind}").is_displayed()
            for kind in (".work", ".result", ".statement")
        }
        assert seen == {kind: kind == shown for kind in seen}
        wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".tabs").text.endswith(WRONG_SCORE))


def test_a_pass_shows_what_comes_next_and_how_far_one_is(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    shown = browser.find_element(By.CSS_SELECTOR, ".verdict").text
    assert "1 of 9 katas of attention pass" in shown
    assert "1 of 6 katas until your functions write a text" in shown
    primary = browser.find_elements(By.CSS_SELECTOR, "#main .first")
    assert [one.text for one in primary] == ["Next: padding_mask →"]
    primary[0].click()
    wait(browser, lambda b: b.current_url.endswith("/kata/padding_mask"))


def test_the_statement_is_that_of_the_course_whatever_a_docstring_says(visit):
    browser = visit("/kata/causal_mask")
    scores(browser, "·")
    write(
        browser, '"""My own notes."""\n\n\ndef causal_mask(query_len, key_len=None):\n    return query_len\n'
    )
    scores(browser, "✗")
    browser.refresh()
    scores(browser, "✗")
    statement = browser.find_element(By.CSS_SELECTOR, ".statement").text
    assert "must not read the token it is asked to predict" in statement
    assert "My own notes" not in statement


def test_who_comes_by_tab_leaves_by_tab_and_alters_nothing(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    in_editor = "return document.activeElement.classList.contains('cm-content')"
    browser.find_element(By.CSS_SELECTOR, ".divider").send_keys("")
    for _ in range(6):
        press(browser, Keys.TAB)
        if browser.execute_script(in_editor):
            break
    assert browser.execute_script(in_editor)
    press(browser, Keys.TAB)
    assert not browser.execute_script(in_editor)
    assert "Escape, then Tab leaves" in browser.find_element(By.CSS_SELECTOR, ".cm-content").accessible_name
    browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").click()
    press(browser, Keys.TAB)  # who has begun to write indents
    wait(browser, lambda _: file.read_text() != source)

    def leaves(browser):
        press(browser, Keys.ESCAPE, Keys.TAB)  # within two seconds, which a busy machine may miss
        return not browser.execute_script(in_editor)

    wait(browser, leaves)


def test_what_runs_for_ever_shows_its_seconds_and_can_be_stopped(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    press(browser, "t")
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".lines .cm-content").is_displayed())
    browser.find_element(By.CSS_SELECTOR, ".lines .cm-content").click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    browser.execute_cdp_cmd("Input.insertText", {"text": "while True: pass"})
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    wait(
        browser, lambda b: b.find_element(By.XPATH, "//*[contains(@class, 'try')]//button[.='Stop']")
    ).click()
    wait(browser, lambda b: "Stopped." in b.find_element(By.CSS_SELECTOR, ".panel.try").text)
    write(browser, file.read_text().replace(BODY, "    while True:\n        pass\n"))
    status = browser.find_element(By.CSS_SELECTOR, ".status")
    wait(browser, lambda _: re.search(r"Judging …\s[12] s", status.text))
    status.find_element(By.TAG_NAME, "button").click()
    wait(browser, lambda _: status.text == "Stopped. The next change is judged again.")
    write(browser, file.read_text().replace("    while True:\n        pass\n", RIGHT))
    scores(browser, "✓ 10 / 10")


def test_the_path_says_in_words_how_a_kata_stands(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    source = file.read_text()
    file.write_text(source.replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    file.write_text(source.replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    browser.get(browser.current_url.partition("/kata")[0] + "/")
    line = wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, "a[href$='/kata/causal_mask']"))
    assert "5 of 10, passed before" in line.text
    assert line.find_element(By.CSS_SELECTOR, "[role=img]").get_attribute("aria-label") == "passed before"
    assert "Every token looks at the others" in browser.find_element(By.CSS_SELECTOR, ".track").text


def test_what_can_be_opened_has_a_triangle(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    styles = (
        "return [...document.querySelectorAll('summary')].map((one) => getComputedStyle(one)).map((one) =>"
    )
    found = browser.execute_script(f"{styles} [one.display, one.listStyleType])")
    assert len(found) >= 3
    assert {tuple(one) for one in found} <= {
        ("list-item", "disclosure-closed"),
        ("list-item", "disclosure-open"),
    }


def test_files_elsewhere_are_remembered_for_the_path(browser, course, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(ROOT / "exercises", mine)
    file = mine / "attention" / "causal_mask.py"
    file.write_text(file.read_text().replace(BODY, RIGHT))
    server, url = start(course, "--exercises", str(mine))
    try:
        browser.get(url)
        wait(browser, lambda b: b.find_elements(By.ID, "main"))
        browser.get(url.partition("/?")[0] + "/kata/causal_mask")
        scores(browser, "✓ 10 / 10")
        browser.get(url.partition("/?")[0] + "/")
        wait(browser, lambda b: "1 of 93 katas pass" in b.find_element(By.ID, "main").text)
    finally:
        browser.get("about:blank")
        stop(server)


def test_a_file_that_changes_all_the_time_costs_nothing_that_is_typed(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    mine, ends = source.replace(BODY, RIGHT), threading.Event()

    def change():
        number = 0
        while not ends.wait(0.1):
            number += 1
            file.write_text(f"{source}\n# {number}\n")

    other = threading.Thread(target=change)
    other.start()
    try:
        write(browser, mine)
        wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".conflict").is_displayed())
    finally:
        ends.set()
        other.join()
    assert "key_len - query_len" in browser.find_element(By.CSS_SELECTOR, ".editor").text
    browser.find_element(By.XPATH, "//button[text()='Keep what is here']").click()
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == mine


#: What the browser sends waits until `release(true)`, or is lost until `release()`.
HOLD = """
    const emit = socket.emit, kept = [];
    socket.emit = (...words) => (words[0] === "event" ? kept.push(words) : emit.apply(socket, words));
    window.release = (sends) => {
        socket.emit = emit;
        if (sends) kept.forEach((words) => socket.emit(...words));
    };
"""
TEXT = "return getElement(document.querySelector('.editor')).editor.state.doc.toString()"


def test_a_key_on_its_way_is_not_lost_when_another_program_writes_the_file(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    browser.execute_script(HOLD)
    write(browser, source.replace(BODY, WRONG))
    file.write_text(source.replace(BODY, RIGHT))
    time.sleep(2)  # the server has seen it, and not what was typed
    browser.execute_script("release(true)")
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".conflict").is_displayed())
    assert browser.execute_script(TEXT) == source.replace(BODY, WRONG)
    assert file.read_text() == source.replace(BODY, RIGHT)
    browser.find_element(By.XPATH, "//button[text()='Keep what is here']").click()
    wait(browser, lambda _: file.read_text() == source.replace(BODY, WRONG))


def test_a_key_on_its_way_is_not_lost_when_a_verdict_comes(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    wrong = file.read_text().replace(BODY, "    return query_lenn\n")
    write(browser, wrong)
    browser.execute_script(HOLD)
    press(browser, Keys.CONTROL + Keys.END, "# y")
    scores(browser, "✗ 0 / 10")
    time.sleep(1)
    browser.execute_script("release(true)")
    wait(browser, lambda _: file.read_text() == wrong + "# y")
    assert browser.execute_script(TEXT) == wrong + "# y"


def test_a_message_that_is_lost_costs_no_key(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    write(browser, source.replace(BODY, RIGHT))
    press(browser, Keys.CONTROL + Keys.END)
    browser.execute_script(HOLD)
    press(browser, "#")
    browser.execute_script("release()")
    press(browser, " y")
    wait(browser, lambda _: file.read_text() == source.replace(BODY, RIGHT) + "# y")
    browser.execute_script(HOLD)
    press(browser, "z")
    browser.execute_script("release(); socket.io.engine.close()")  # the next connection sends it
    wait(browser, lambda _: file.read_text() == source.replace(BODY, RIGHT) + "# yz")


def test_the_first_kata_is_done_by_keyboard_alone(visit, course):
    browser, file = visit("/"), stub(course, "softmax")
    wait(browser, lambda b: b.switch_to.active_element.text == "Begin: softmax")
    press(browser, Keys.ENTER)
    scores(browser, "·")
    press(browser, "e")  # the caret is on the raise
    wait(
        browser, lambda b: b.execute_script("return document.activeElement.classList.contains('cm-content')")
    )
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.END).key_up(Keys.SHIFT).perform()
    lines = (
        "x = x if x.dtype.kind == 'f' else x.astype(float)",
        "powers = np.exp(x - x.max(axis, keepdims=True))",
        "return powers / powers.sum(axis, keepdims=True)",
    )
    browser.execute_cdp_cmd("Input.insertText", {"text": "\n    ".join(lines)})
    scores(browser, "✓ 10 / 10")
    assert lines[2] in file.read_text()
    leave(browser)
    press(browser, "n")
    wait(browser, lambda b: b.current_url.endswith("/kata/token_embedding"))


# --- behind Jupyter ---


@pytest.fixture
def jupyter(course):
    """The address of the page in a Jupyter server of a hub, as the tile opens it."""
    pytest.importorskip("jupyter_server_proxy", reason="jupyter-server-proxy is not installed")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    options = {"port": port, "base_url": "/user/ada/", "root_dir": course, "port_retries": 0}
    words = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    taken = ("CI", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in taken}
    command = [sys.executable, "-m", "jupyter", "server", "--allow-root", "--no-browser", *words]
    server = subprocess.Popen(
        [*command, "--IdentityProvider.token=secret"],
        cwd=course,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in server.stderr:
        if "is running at" in line:
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    yield f"http://127.0.0.1:{port}/user/ada/decoder-dojo"
    server.terminate()
    server.wait(SECONDS)


def test_it_works_below_the_address_of_a_hub(browser, jupyter, course):
    file = stub(course, "causal_mask")
    shutil.copy(next(ROOT.glob("exercises/*/causal_mask.py")), file)
    browser.get(f"{jupyter}/?token=secret")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas"))
    browser.find_element(By.CSS_SELECTOR, "a[href$='/kata/causal_mask']").click()
    scores(browser, "·")
    assert browser.current_url == f"{jupyter}/kata/causal_mask"
    write(browser, file.read_text().replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    browser.find_element(By.LINK_TEXT, "See").click()
    frame = wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".see iframe"))
    wait(browser, lambda _: frame.is_displayed())
    browser.switch_to.frame(frame)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas .yours"))
    browser.switch_to.default_content()
    browser.get("about:blank")


# --- attacks ---


def test_what_a_file_holds_is_text_everywhere(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    quoted = f'"""{EVIL} \x1b[2J"""'
    code = f"def causal_mask(query_len, key_len=None):\n    print({quoted})\n    raise KeyError({quoted})\n"
    evil = f"{quoted}\n\n\n{code}"
    write(browser, evil)
    scores(browser, "✗ 0")
    browser.refresh()
    scores(browser, "✗ 0")
    leave(browser)
    press(browser, "h")
    tool(browser, "history")
    assert browser.execute_script("return typeof window.hit") == "undefined"
    assert browser.find_elements(By.CSS_SELECTOR, "img[src=x]") == []
    assert file.read_text() == evil


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (os.mkfifo, "causal_mask.py is no regular file."),
        (lambda path: path.symlink_to("/etc/hosts"), "causal_mask.py is a link."),
        (os.mkdir, "causal_mask.py is a folder."),
    ],
    ids=["fifo", "link", "folder"],
)
def test_what_is_no_file_is_said_and_holds_up_nothing(visit, course, make, problem):
    file = stub(course, "causal_mask")
    browser = visit("/")
    file.unlink()
    make(file)
    try:
        browser = visit("/kata/causal_mask")
        wait(browser, lambda b: problem in told(b))
        scores(browser, "✗")
        assert "127.0.0.1" not in browser.find_element(By.ID, "main").text
        write(browser, "x = 1\n")
        wait(
            browser,
            lambda b: problem in told(b) and "Not saved." in b.find_element(By.CSS_SELECTOR, ".status").text,
        )
        assert "x = 1" in browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").text
        visit("/kata/layer_norm")
        scores(browser, "·")
        visit("/")
        wait(browser, lambda b: "causal_mask" in b.find_element(By.ID, "main").text)
    finally:
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


@pytest.fixture
def small_disk(tmp_path):
    """A copy of the course on a disk of two megabytes."""
    if os.geteuid() or sys.platform != "linux":
        pytest.skip("only root mounts a small disk")
    root = tmp_path / "small"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", root], check=True)
    shutil.copytree(ROOT / "exercises", root / "exercises")
    for name in ("tests", "solutions", "see"):
        (root / name).symlink_to(ROOT / name, target_is_directory=True)
    yield root
    subprocess.run(["umount", "-l", root], check=True)


def test_on_a_full_disk_the_text_is_kept_and_written_once_there_is_room(browser, small_disk):
    file, filler = stub(small_disk, "causal_mask"), small_disk / "filler"
    source = file.read_text()
    server, url = start(small_disk)
    try:
        browser.get(url)
        wait(browser, lambda b: b.find_elements(By.ID, "main"))
        browser.get(url.partition("/?")[0] + "/kata/causal_mask")
        scores(browser, "·")
        with suppress(OSError), filler.open("wb") as full:
            while full.write(b"x" * 4096):
                full.flush()
        write(browser, source.replace(BODY, RIGHT) + "# x" * 3000 + "\n")
        wait(browser, lambda b: "no space left on device. Your text is kept here" in told(b))
        assert file.read_text() == source  # not cut off
        filler.unlink()
        scores(browser, "✓ 10 / 10")  # without another key
        assert file.read_text() == source.replace(BODY, RIGHT) + "# x" * 3000 + "\n"
        assert told(browser) == ""
    finally:
        browser.get("about:blank")
        stop(server)


def test_no_request_leaves_the_page_and_nothing_fails(visit, address):
    browser = visit("/kata/causal_mask")
    scores(browser, "·")
    import json

    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith((address, "data:", "about:", "blob:"))] == []
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


def test_a_page_of_another_origin_opens_no_socket(visit, browser, address):
    visit("/")
    browser.get("data:text/html,<p>evil</p>")
    script = (
        "const done = arguments[0], socket = new WebSocket(arguments[1]);"
        "socket.onopen = () => done('open'); socket.onerror = () => done('refused');"
    )
    path = address.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    result = browser.execute_async_script(
        f"const done = arguments[arguments.length - 1], args = [done, '{path}'];"
        f"(function () {{ {script} }}).apply(null, args)"
    )
    assert result == "refused"


def test_a_pasted_text_of_ten_megabytes_costs_nothing(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    write(browser, source.replace(BODY, WRONG))
    paste = (
        "const data = new DataTransfer(); data.setData('text/plain', '# x\\n'.repeat(2500000));"
        "const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});"
        "document.querySelector('.editor .cm-content').dispatchEvent(event)"
    )
    browser.execute_script(paste)
    refused = f"Not pasted: a file here has at most {LONGEST_TEXT} characters."
    wait(browser, lambda b: refused in b.find_element(By.CSS_SELECTOR, ".q-notification").text)
    press(browser, Keys.CONTROL + Keys.END, "# y")
    wait(browser, lambda _: file.read_text() == source.replace(BODY, WRONG) + "# y")


def test_ten_tabs_and_a_socket_that_is_cut(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    first = browser.current_window_handle
    for _ in range(9):
        browser.switch_to.new_window("tab")
        visit("/kata/causal_mask")
    resize(browser, 1280)
    source = file.read_text()
    write(browser, source.replace(BODY, RIGHT))
    for tab in browser.window_handles[1:-1]:
        browser.switch_to.window(tab)
        browser.close()
    browser.switch_to.window(browser.window_handles[-1])
    browser.execute_cdp_cmd("Network.enable", {})
    browser.close()  # perhaps in the middle of a save
    browser.switch_to.window(first)
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == source.replace(BODY, RIGHT)


# --- a text that the student's functions write ---

PARTS = ("token_embedding", "causal_mask", "multi_head_attention", "layer_norm", "feed_forward", "next_token")


@pytest.fixture
def own_parts(course, visit):
    """The six katas whose functions write hold their references."""
    for name in PARTS:
        shutil.copy(next(ROOT.glob(f"solutions/*/{name}/reference.py")), stub(course, name))
    return visit


def spoken(browser, holds):
    """Wait until the text is at its end and holds something, and return what is said of it."""
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".speak iframe").is_displayed())
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, ".speak iframe"))
    wait(browser, lambda b: holds in b.find_element(By.CSS_SELECTOR, ".spoken").text)
    browser.switch_to.default_content()
    return browser.find_element(By.CSS_SELECTOR, ".remarks").text


def test_a_text_is_written_a_part_is_left_out_and_a_hover_lights_two_tokens(own_parts):
    browser = own_parts("/speak")
    assert spoken(browser, "The small boat lived in the harbour.").startswith("Mean loss")
    prompt = browser.find_element(By.CSS_SELECTOR, ".speak input")
    prompt.send_keys(Keys.CONTROL, "a")
    prompt.send_keys("Once a shy", Keys.ENTER)
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".speak .text").text.startswith("Once a shy "))
    spoken(browser, "Once a shy")
    before = browser.find_element(By.CSS_SELECTOR, ".speak iframe").get_attribute("src")
    browser.find_element(By.XPATH, "//*[contains(@class, 'q-checkbox')][contains(., 'layer norm')]").click()
    wait(
        browser,
        lambda b: "Without layer norm: the numbers grow" in b.find_element(By.CSS_SELECTOR, ".remarks").text,
    )
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".speak iframe").get_attribute("src") != before)
    time.sleep(1)  # until the frame has its new page, whose text begins alike
    spoken(browser, "Once a shy")
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, ".speak iframe"))
    token = browser.find_elements(By.CSS_SELECTOR, ".spoken [role=button]")[4]
    token.send_keys(Keys.ENTER)
    assert token.get_attribute("aria-pressed") == "true"
    assert len(browser.find_elements(By.CSS_SELECTOR, ".head")) == 16
    cell = browser.find_elements(By.CSS_SELECTOR, ".head")[3].find_elements(By.TAG_NAME, "i")[2]
    ActionChains(browser).move_to_element(cell).perform()
    lit = [browser.find_element(By.CSS_SELECTOR, f".spoken .{kind}").text for kind in ("query", "key")]
    tokens = [node.text for node in browser.find_elements(By.CSS_SELECTOR, ".spoken .token")]
    assert lit == [tokens[4], tokens[2]]


def test_until_the_parts_pass_a_recorded_text_is_shown(visit):
    browser = visit("/speak")
    told = "6 katas to go until your functions write a text"
    wait(browser, lambda b: told in b.find_element(By.CSS_SELECTOR, ".remarks").text)
    assert (
        "Recorded, from the course's own functions:" in browser.find_element(By.CSS_SELECTOR, ".speak").text
    )
    assert "The small boat lived" in browser.find_element(By.CSS_SELECTOR, ".speak .text").text
    remarks = browser.find_element(By.CSS_SELECTOR, ".remarks").text
    assert "token_embedding, causal_mask" in remarks
    assert not browser.find_element(By.CSS_SELECTOR, ".speak input[type=text]").is_enabled()
    assert not browser.find_element(By.XPATH, "//button[.='Write']").is_enabled()
    browser.find_element(By.XPATH, "//*[contains(@class, 'q-checkbox')][contains(., 'layer norm')]").click()
    wait(browser, lambda b: "Without layer norm" in b.find_element(By.CSS_SELECTOR, ".remarks").text)
    without, whole = browser.find_elements(By.CSS_SELECTOR, ".stories .text")
    assert "lighthouse lighthouse" in without.text
    assert "The small boat lived in the harbour." in whole.text


def test_a_prompt_is_text_and_a_pass_leads_to_its_lesson(own_parts):
    browser = own_parts("/speak")
    spoken(browser, "The small boat")
    prompt = browser.find_element(By.CSS_SELECTOR, ".speak input")
    prompt.send_keys(Keys.CONTROL, "a")
    prompt.send_keys(EVIL[:60], Keys.ENTER)
    wait(browser, lambda b: not b.find_element(By.CSS_SELECTOR, ".speak iframe").is_displayed())
    spoken(browser, "</script>")
    assert browser.execute_script("return window.hit") is None
    browser.get(browser.current_url.replace("/speak", "/kata/causal_mask"))
    scores(browser, "✓")
    link = browser.find_element(By.LINK_TEXT, "See what it does in a text")
    assert link.get_attribute("href").endswith("/speak/mask")
    link.click()
    wait(browser, lambda b: "Without the mask" in b.find_element(By.CSS_SELECTOR, ".remarks").text)
