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

pytest.importorskip("uvicorn", reason="the extra `page` is not installed")
pytest.importorskip("selenium", reason="Selenium is not installed")

from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import Select, WebDriverWait

from dojo_page.protocol import LONGEST_TEXT
from dojo_page.server import FRONT
from dojo_page.statement import rendered
from grader.course.catalog import Course
from grader.course.renaming import statement_of
from grader.course.state import CourseState
from grader.formats import pages

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


def start(course, *options, **variables):
    """Start `grade page`, and return its process and the address that it prints."""
    words = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(course), *options]
    taken = ("CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # without a screen
    environment = {name: value for name, value in os.environ.items() if name not in taken} | variables
    server = subprocess.Popen(words, cwd=course, stdout=subprocess.PIPE, text=True, env=environment)
    url = re.search(r"http://\S+", server.stdout.readline())[0]
    assert server.stdout.readline() == "Ctrl-C ends it.\n"
    assert server.stdout.readline() == "No browser can be started here; open the address in one.\n"
    return server, url


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


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
    left = subprocess.run(
        ["pgrep", "-f", f"dojo_page.judge_process.*{course}"], capture_output=True, text=True
    )
    assert left.stdout == ""


#: The sockets of the page, so that a test can cut them.
SOCKETS = """
    const Own = window.WebSocket;
    window.sockets = [];
    window.WebSocket = class extends Own {
        constructor(...words) { super(...words); window.sockets.push(this); }
    };
"""
CUT = "for (const one of sockets) one.close();"


@pytest.fixture(scope="module", autouse=True)
def _sockets(_chromium):
    _chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SOCKETS})


@pytest.fixture
def visit(browser, address, course):
    """`visit("/kata/causal_mask")` opens a view, from the stubs."""

    def open_view(path):
        browser.get("about:blank")  # what follows `#` alone loads nothing anew
        browser.get(address + "/#" + path)
        wait(browser, lambda b: b.find_elements(By.ID, "main"))
        return browser

    shutil.copytree(ROOT / "exercises", course / "exercises", dirs_exist_ok=True)
    shutil.rmtree(course / ".dojo", ignore_errors=True)
    origin = {"origin": "/".join(address.split("/")[:3]), "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", origin)  # a text that could not be saved before
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
    time.sleep(1)  # until the keys of that kata are on
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
    wait(browser, lambda b: "query_lenn" in b.find_element(By.CSS_SELECTOR, ".notice").text)


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
    differs = [
        browser.find_element(By.CSS_SELECTOR, f".conflict .{kind}").text for kind in ("removed", "added")
    ]
    assert [line[0] for line in differs] == ["-", "+"]  # what the file holds, and what is here
    assert "key_len - query_len" in differs[0]
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
    browser.execute_script(CUT)  # as when a laptop wakes up
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
    wait(browser, lambda b: b.find_elements(By.ID, "answer-STUDENT"))
    browser.find_element(By.ID, "answer-STUDENT").send_keys("ada")
    browser.find_element(By.ID, "answer-SCALE").send_keys("24 ** 0.5")
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys("(3, 6", Keys.ENTER)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".questions .wrong"))
    assert "is no value" in browser.find_element(By.CSS_SELECTOR, ".questions .wrong").text
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys(", 5, 24)", Keys.ENTER)
    scores(browser, "✗ 2 / 8")
    assert "SHAPE_OF_Q = (3, 6, 5, 24)" in file.read_text()
    assert "STUDENT = 'ada'" in file.read_text()
    assert "`" not in browser.find_element(By.CSS_SELECTOR, ".questions").text
    assert "pads" in [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".questions label code")]
    marks = {one.text for one in browser.find_elements(By.CSS_SELECTOR, ".questions .mark")}
    assert marks == {"", "✓ right", "no answer"}  # the login has no mark


def test_what_is_no_value_is_refused_at_its_field_and_costs_no_other_answer(visit, course):
    browser, file = visit("/kata/attention_questions"), stub(course, "attention_questions")
    scores(browser, "·")
    browser.find_element(By.ID, "answer-SCALE").send_keys("abc")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".questions .wrong"))
    assert "is no value" in browser.find_element(By.CSS_SELECTOR, ".questions .wrong").text
    assert len(browser.find_elements(By.CSS_SELECTOR, ".questions .wrong")) == 1
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys("(5, 8, 4, 14)")
    wait(browser, lambda _: "SHAPE_OF_Q = (5, 8, 4, 14)" in file.read_text())
    assert "abc" not in file.read_text()
    browser.find_element(By.ID, "answer-SCALE").send_keys(Keys.CONTROL, "a", Keys.NULL, "2")
    wait(browser, lambda _: "SCALE = 2" in file.read_text())
    assert browser.find_elements(By.CSS_SELECTOR, ".questions .wrong") == []


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
    browser.switch_to.default_content()
    for _ in range(2):
        browser.find_element(By.CSS_SELECTOR, ".colours").click()
    painted = "return getComputedStyle(document.documentElement).colorScheme"
    wait(browser, lambda b: in_frame(b, ".see iframe", painted) == "dark")
    browser.execute_script("localStorage.clear()")


def in_frame(browser, selector, script):
    """Return what a script finds in a frame; None while the frame is replaced."""
    try:
        browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, selector))
        return browser.execute_script(script)
    except WebDriverException:
        return None
    finally:
        browser.switch_to.default_content()


def test_all_of_it_works_by_keyboard(visit):
    browser = visit("/")
    wait(browser, lambda b: b.switch_to.active_element.text == "Begin: softmax")  # Enter goes on
    press(browser, "?")
    wait(browser, lambda b: "Go on where you were." in b.find_element(By.CSS_SELECTOR, ".keys").text)
    press(browser, Keys.ESCAPE)
    wait(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, ".keys[open]"))
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


@pytest.mark.parametrize("width", [1280, 375])
def test_a_plan_and_hours_show_what_fits_in_its_order_and_why(visit, browser, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 400}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    visit("/")
    labelled = "select[aria-label={}]"
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, labelled.format("Plan")))
    Select(browser.find_element(By.CSS_SELECTOR, labelled.format("Plan"))).select_by_value("interview")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".planned li"))
    assert len(browser.find_elements(By.CSS_SELECTOR, ".planned li")) == 37
    Select(browser.find_element(By.CSS_SELECTOR, labelled.format("Hours"))).select_by_visible_text(
        "in 4 hours"
    )
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".planned li")) == 5)
    shown = browser.find_element(By.CSS_SELECTOR, ".planned").text
    assert shown.startswith("interview in 4 hours. 5 katas, 240 minutes.\n")
    names = [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".planned .name")]
    assert names == ["softmax", "kv_cache", "top_p", "grouped_query_attention", "rotary_embedding"]
    assert "wanted most" in shown
    assert "May be skipped, if you read the statements: " in shown
    assert not browser.find_element(By.CSS_SELECTOR, ".tracks").is_displayed()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed")
    assert axe.Axe().run(browser)["violations"] == []
    browser.find_element(By.ID, "search").send_keys("gqa")  # which looks in the plan
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".tracks li")) == 1)
    browser.find_element(By.CSS_SELECTOR, ".tracks li a").click()
    scores(browser, "·")
    browser.find_element(By.CSS_SELECTOR, "a.home").click()
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".planned li")) == 5)  # it is kept


@pytest.mark.parametrize("path", ["/", "/kata/causal_mask", "/kata/attention_questions", "/see", "/speak"])
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
    elif path == "/see":
        wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".see iframe"))
    elif path != "/":
        scores(browser, "·")
    time.sleep(0.5)
    if folder := os.environ.get("DOJO_PICTURES"):
        browser.save_screenshot(f"{folder}/page-{path.rpartition('/')[2] or 'path'}-{width}-{colours}.png")
    tabs = [tab for tab in browser.find_elements(By.CSS_SELECTOR, ".tabs button") if tab.is_displayed()]
    for tab in tabs or [None]:
        if tab:
            tab.click()
        found = axe.Axe().run(browser)["violations"]
        told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
        assert told == [], tab and tab.text
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_verdict_that_is_out_of_date_can_still_be_read(visit):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed")
    browser = visit("/kata/attention_questions")
    scores(browser, "·")
    browser.find_element(By.ID, "answer-SCALE").send_keys("2")  # a page is judged when that is asked for
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".shown.stale"))
    assert axe.Axe().run(browser)["violations"] == []


# --- a puzzle ---


@pytest.fixture
def puzzled(visit, course):
    """The view of softmax, which has failed after all of its hints, with the hints open."""
    CourseState(Course(course)).change("softmax", helped=3, hints=2, failed_after_hint=True)
    browser = visit("/kata/softmax")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".toolbar"))
    tool(browser, "hints")
    wait(browser, lambda b: b.find_elements(By.XPATH, "//button[contains(., 'Put the lines in order')]"))
    browser.find_element(By.XPATH, "//button[contains(., 'Put the lines in order')]").click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".puzzle .line"))
    return browser


def outcome(browser):
    return browser.find_element(By.CSS_SELECTOR, ".puzzle .outcome").text


def test_lines_are_put_in_order_and_run_by_keyboard(puzzled, course):
    browser, before = puzzled, stub(course, "softmax").read_bytes()
    for letter in "CAG":
        browser.find_element(By.CSS_SELECTOR, f"[data-take={letter}]").send_keys(Keys.ENTER)
    press(browser, "r")
    wait(browser, lambda b: outcome(b) == "The first 3 lines, C A G, are right. 2 lines are missing.")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".puzzle li.right")) == 3
    for letter in "BE":
        browser.find_element(By.CSS_SELECTOR, f"[data-take={letter}]").send_keys(Keys.ENTER)
    browser.find_element(By.CSS_SELECTOR, "[data-line=B] [data-by='1']").send_keys(Keys.ENTER)
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("aria-label") == "B down")
    press(browser, "r")
    wait(browser, lambda b: outcome(b).startswith("✓ Every check passes."))
    assert stub(course, "softmax").read_bytes() == before
    press(browser, "p")
    wait(browser, lambda b: "with a puzzle" in b.find_element(By.CSS_SELECTOR, ".katas").text)


def test_a_puzzle_of_no_kata_leads_to_the_path(visit):
    browser = visit("/puzzle/nonsense")
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, "[role=status]").text == "No kata has this name.")
    browser.find_element(By.LINK_TEXT, "To the path").click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".katas"))


#: The lines of code that are wrapped, and those of them that do not go on below their own indentation.
WRAPPED = """
    const wrapped = [], loose = [];
    for (const line of document.querySelectorAll(arguments[0])) {
        const range = document.createRange();
        range.selectNodeContents(line);
        const rows = [...range.getClientRects()].filter((box) => box.width > 1);
        const first = Math.min(...rows.map((box) => box.top));
        const later = rows.filter((box) => box.top > first + 4);
        if (!later.length) continue;
        wrapped.push(line.textContent);
        const wide = line.firstChild.ownerDocument.createElement("span");
        wide.textContent = "0".repeat(line.textContent.search(/\\S/));
        wide.style.cssText = "position: absolute; text-indent: 0; padding: 0";
        line.append(wide);
        const indentation = wide.getBoundingClientRect().width;
        wide.remove();
        const edge = line.getBoundingClientRect().left;
        if (Math.min(...later.map((box) => box.left)) < edge + indentation + 8) loose.push(line.textContent);
    }
    return [wrapped.length > 0, loose];
"""


def test_a_line_that_is_wrapped_goes_on_below_its_own_indentation(puzzled):
    browser = puzzled
    resize(browser, 375, 700)
    assert browser.execute_script(WRAPPED, ".puzzle .line .listing span") == [True, []]
    open_kata = "location.hash = '#/kata/causal_mask'"
    browser.execute_script(open_kata)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".tabs [data-name=code]"))
    browser.find_element(By.CSS_SELECTOR, ".tabs [data-name=code]").click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".cm-lineWrapping .cm-line"))
    assert browser.execute_script(WRAPPED, ".editor .cm-line") == [True, []]


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (375, "light")])
def test_axe_finds_nothing_in_a_puzzle(puzzled, width, colours):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe is not installed")
    browser = puzzled
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 400}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": colours}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    for letter in "CA":
        browser.find_element(By.CSS_SELECTOR, f"[data-take={letter}]").click()
    press(browser, "r")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".puzzle li.right"))
    found = axe.Axe().run(browser)["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
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


def test_where_nothing_is_due_the_way_back_is_below_what_is_said(visit):
    browser = visit("/review")
    wait(browser, lambda b: status(b) == "Nothing is due today.")
    link = browser.find_element(By.LINK_TEXT, "To the path")
    assert link.location["x"] == browser.find_element(By.TAG_NAME, "h1").location["x"]


def test_a_line_that_is_not_found_is_shown_and_comes_again_tomorrow(due):
    browser = due
    browser.find_element(By.CSS_SELECTOR, ".due button").click()
    number, line = begun(browser)
    for label, shown in (
        ("Show a failing case", "It fails here:"),
        ("Hint", "Look in softmax: it is "),
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
    for name, value in {"SCALE": "24 ** 0.5", "SHAPE_OF_Q": "(3, 6"}.items():
        wait(browser, lambda b, name=name: b.find_element(By.ID, f"answer-{name}").get_attribute("value"))
        assert browser.find_element(By.ID, f"answer-{name}").get_attribute("value") == value
    browser.find_element(By.ID, "answer-SHAPE_OF_Q").send_keys(")")  # for the tests after this one
    wait(browser, lambda _: "SHAPE_OF_Q = (3, 6)" in file.read_text())


@pytest.fixture
def own_server(browser, course):
    """`own_server(*options)` starts another server for the course, and opens it; all are ended."""
    servers = []

    def begin(*options, **variables):
        server, url = start(course, *options, **variables)
        servers.append(server)
        return server, url

    shutil.copytree(ROOT / "exercises", course / "exercises", dirs_exist_ok=True)
    yield begin
    browser.get("about:blank")
    for server in servers:
        if server.poll() is None:
            stop(server)


def open_at(browser, url, path):
    browser.get(url)
    wait(browser, lambda b: b.find_elements(By.ID, "main"))
    browser.get(url.partition("/?")[0] + "/#" + path)


def test_a_tab_comes_back_to_a_server_that_is_started_again(browser, own_server, course):
    port = free_port()
    server, url = own_server("--port", port)
    open_at(browser, url, "/kata/causal_mask")
    scores(browser, "·")
    source = stub(course, "causal_mask").read_text()
    write(browser, source.replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    server.kill()
    server.wait()
    write(browser, source.replace(BODY, RIGHT))  # while there is none
    wait(browser, lambda b: "no server" in b.find_element(By.CSS_SELECTOR, ".top").text)
    own_server("--port", port)
    scores(browser, "✓ 10 / 10")
    assert stub(course, "causal_mask").read_text() == source.replace(BODY, RIGHT)


def test_what_is_typed_after_the_server_has_ended_is_offered(browser, own_server, course):
    server, url = own_server()
    open_at(browser, url, "/kata/causal_mask")
    scores(browser, "·")
    source = stub(course, "causal_mask").read_text()
    server.kill()
    server.wait()
    write(browser, source.replace(BODY, RIGHT))
    panel = wait(browser, lambda b: b.find_elements(By.ID, "lost"))[0]
    assert "open the address that the terminal prints now" in panel.text
    area = panel.find_element(By.TAG_NAME, "textarea")
    wait(browser, lambda _: area.get_property("value") == source.replace(BODY, RIGHT))
    assert stub(course, "causal_mask").read_text() == source


def test_a_tab_that_is_loaded_again_offers_what_the_lost_server_did_not_get(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    browser.execute_script(f"{CUT} window.WebSocket = class {{ close() {{}} }}")
    write(browser, source.replace(BODY, RIGHT))
    browser.refresh()
    panel = wait(browser, lambda b: b.find_elements(By.ID, "lost"))[0]
    assert "This tab had another text" in panel.text
    assert file.read_text() == source
    panel.find_element(By.XPATH, ".//button[text()='Put it into the editor']").click()
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == source.replace(BODY, RIGHT)


def test_who_loads_the_page_again_right_after_a_key_loses_nothing(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    right = file.read_text().replace(BODY, RIGHT)
    write(browser, right)
    browser.refresh()
    offer = "//button[text()='Put it into the editor']"
    wait(browser, lambda b: file.read_text() == right or b.find_elements(By.XPATH, offer))
    for button in browser.find_elements(By.XPATH, offer):  # what was sent last has not arrived
        button.click()
    scores(browser, "✓ 10 / 10")
    assert file.read_text() == text_in(browser) == right


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


@pytest.mark.parametrize(("width", "height"), [(1920, 900), (1440, 900), (1440, 500), (375, 700)])
def test_a_long_stub_opens_with_its_function_in_view_and_room_below_the_raise(browser, visit, width, height):
    resize(browser, width, height)
    visit("/kata/train_language_model")
    if width < 400:
        wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".tabs [data-name=code]"))[0].click()
    place = """
        const box = document.querySelector(".editor .cm-scroller").getBoundingClientRect();
        return [...document.querySelectorAll(".editor .cm-line")].map((line) => {
            const place = line.getBoundingClientRect();
            const edges = [place.left - box.left, place.top - box.top, place.bottom - box.top];
            return [line.innerText, ...edges, box.height];
        });
    """
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".editor .cm-foldPlaceholder"))
    time.sleep(0.5)
    lines = browser.execute_script(place)
    for begin in ("def train(", "    raise NotImplementedError"):
        _, left, top, bottom, whole = next(line for line in lines if line[0].startswith(begin))
        assert left >= 0  # no line begins outside of the screen
        assert 0 <= top < bottom <= 0.75 * whole


def test_a_short_text_that_replaces_a_long_one_is_in_sight(browser, visit):
    resize(browser, 1440, 600)
    visit("/kata/layer_norm")
    scores(browser, "·")
    write(browser, "def layer_norm():\n    return 1\n")
    scores(browser, "✗")
    above = """
        const box = document.querySelector(".editor .cm-scroller").getBoundingClientRect();
        return document.querySelector(".editor .cm-line").getBoundingClientRect().top - box.top;
    """
    assert browser.execute_script(above) >= 0


def test_emphasis_of_a_statement_is_no_text(visit):
    browser = visit("/kata/train_language_model")
    statement = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".statement .text"))[0]
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
    wait(browser, lambda _: statement.size["width"] < before + 95)
    browser.find_element(By.CSS_SELECTOR, "[data-act=fold]").click()
    wait(browser, lambda _: statement.size["height"] < 80)  # the verdict has its place
    browser.refresh()
    scores(browser, "·")
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".kata > .statement").size["height"] < 80)
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
    press(browser, "p")
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
    assert len(found) >= 2
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
        browser.get(url.partition("/?")[0] + "/#/kata/causal_mask")
        scores(browser, "✓ 10 / 10")
        browser.get("about:blank")
        browser.get(url.partition("/?")[0] + "/")
        passes = f"1 of {len(Course(ROOT).katas)} katas pass"
        wait(browser, lambda b: passes in b.find_element(By.ID, "main").text)
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
            # within what the keys select: what comes below it would stay below what is typed
            file.write_text(source.replace(BODY, f"{BODY}  # {number}"))

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
    const kept = [];
    WebSocket.prototype.send = function (text) { kept.push([this, text]); };
    window.release = (sends) => {
        delete WebSocket.prototype.send; // that of the browser's own is left
        if (sends) for (const [socket, text] of kept) socket.send(text);
    };
"""


def text_in(browser):
    """Return the text that the editor has."""
    return browser.execute_async_script(
        "const done = arguments[0], editor = document.querySelector('.editor .cm-editor');"
        "import(new URL('vendor/vendor.js', document.baseURI)).then("
        "    ({ EditorView }) => done(EditorView.findFromDOM(editor).state.doc.toString()));"
    )


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
    assert text_in(browser) == source.replace(BODY, WRONG)
    assert file.read_text() == source.replace(BODY, RIGHT)
    browser.find_element(By.XPATH, "//button[text()='Keep what is here']").click()
    wait(browser, lambda _: file.read_text() == source.replace(BODY, WRONG))


def test_a_key_on_its_way_is_not_lost_when_a_verdict_comes(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    wrong = file.read_text().replace(BODY, "    return query_lenn\n")
    write(browser, wrong)
    wait(browser, lambda _: file.read_text() == wrong)  # and it is being judged
    browser.execute_script(HOLD)
    press(browser, Keys.CONTROL + Keys.END, "# y")
    time.sleep(3)
    assert "stale" in browser.find_element(By.CSS_SELECTOR, ".shown").get_attribute("class")
    browser.execute_script("release(true)")
    scores(browser, "✗ 0 / 10")
    assert file.read_text() == text_in(browser) == wrong + "# y"


def test_fast_typing_and_thirty_undos_arrive_in_the_file(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source = file.read_text()
    write(browser, source.replace(BODY, RIGHT))
    press(browser, Keys.CONTROL + Keys.END)
    words = [f"# {number}" for number in range(30)]
    for word in words:
        ActionChains(browser).send_keys(word, Keys.ENTER, Keys.SHIFT, Keys.HOME, Keys.NULL).perform()
        press(browser, Keys.BACKSPACE)
    typed = text_in(browser)
    assert all(word in typed for word in words)
    wait(browser, lambda _: file.read_text() == typed)
    for _ in range(200):
        if text_in(browser) == source:
            break
        undo(browser)
    wait(browser, lambda _: file.read_text() == source)
    scores(browser, "·")


def test_what_is_typed_in_one_tab_appears_in_another(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    scores(browser, "·")
    source, first = file.read_text(), browser.current_window_handle
    browser.switch_to.new_window("tab")
    visit("/kata/causal_mask")
    resize(browser, 1280)
    scores(browser, "·")
    write(browser, source.replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    browser.close()
    browser.switch_to.window(first)
    scores(browser, "✓ 10 / 10")
    assert text_in(browser) == file.read_text() == source.replace(BODY, RIGHT)


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
    browser.execute_script(f"release(); {CUT}")  # the next connection sends it
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


# --- finding one's way ---


def test_documents_have_titles_and_the_view_that_is_active_is_marked(visit):
    browser = visit("/")
    here = "[...document.querySelectorAll('.top [aria-current]')].map((one) => one.textContent)"
    found = {}
    for path in ("", "see", "speak", "kata/softmax"):
        browser.execute_script(f"location.hash = '#/{path}'")
        last = path.rpartition("/")[2]
        wait(browser, lambda b, last=last: b.title.lower().startswith(last or "decoder"))
        found[path] = [browser.title, *browser.execute_script(f"return {here}")]
    assert found == {
        "": ["Decoder Dojo", "Decoder Dojo"],
        "see": ["See · Decoder Dojo", "See"],
        "speak": ["Speak · Decoder Dojo", "Speak"],
        "kata/softmax": ["softmax · Decoder Dojo", "Katas"],
    }


def test_the_katas_before_and_after_are_a_click_away(visit):
    browser = visit("/kata/token_embedding")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[rel=next]"))[0].click()
    wait(browser, lambda b: b.current_url.endswith("#/kata/sinusoidal_positions"))
    wait(browser, lambda b: b.title.startswith("sinusoidal_positions"))
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[rel=prev]"))
    press(browser, "[")
    wait(browser, lambda b: b.current_url.endswith("#/kata/token_embedding"))
    browser.back()  # as the browser's own button does
    wait(browser, lambda b: b.current_url.endswith("#/kata/sinusoidal_positions"))


@pytest.mark.parametrize(
    ("word", "kata"),
    [
        ("gqa", "grouped_query_attention"),
        ("rope", "rotary_embedding"),
        ("top p", "top_p"),
        ("KV-cache", "kv_cache"),
    ],
)
def test_the_drawer_finds_a_kata_by_each_of_its_names(visit, word, kata):
    browser = visit("/kata/softmax")
    scores(browser, "·")
    press(browser, "k")
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("type") == "search")
    now = browser.find_element(By.CSS_SELECTOR, ".drawer [aria-current=page]")
    assert now.text.split()[-1] == "softmax"
    browser.switch_to.active_element.send_keys(word, Keys.ENTER)
    wait(browser, lambda b: b.current_url.endswith(f"/kata/{kata}"))
    assert not browser.find_elements(By.CSS_SELECTOR, ".drawer[open]")


def test_the_colours_are_those_of_the_system_until_others_are_chosen(visit):
    browser = visit("/kata/softmax")
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(ground)
    button = browser.find_element(By.CSS_SELECTOR, ".colours")
    assert button.accessible_name == "Colours: as the system. Press for light."
    button.click()
    button.click()
    assert browser.execute_script(ground) != light
    browser.refresh()
    wait(browser, lambda b: b.find_elements(By.ID, "main"))
    assert browser.execute_script(ground) != light
    assert "Colours: dark." in browser.find_element(By.CSS_SELECTOR, ".colours").accessible_name
    browser.execute_script("localStorage.clear()")


def test_the_signs_of_the_path_are_explained_and_it_has_no_hole(browser, visit):
    resize(browser, 1440)
    visit("/")
    legend = browser.find_element(By.CSS_SELECTOR, ".legend").text
    assert [
        word for word in ("passes", "passed before", "begun", "open", "easy", "hard") if word not in legend
    ] == []
    gaps = """
        const tracks = [...document.querySelectorAll(".track")].map((one) => {
            const parts = [...one.querySelectorAll(".katas li, .head > *")];
            const last = parts.map((part) => part.getBoundingClientRect().bottom);
            return [Math.max(...last), one.getBoundingClientRect()];
        });
        return tracks.map(([bottom, box]) => box.bottom - bottom);
    """
    assert max(browser.execute_script(gaps)) < 80


# --- what is shown of a verdict ---


def test_what_fails_and_its_picture_are_in_sight_beside_the_code(browser, visit, course):
    resize(browser, 1440)
    file = stub(course, "causal_mask")
    visit("/kata/causal_mask")
    file.write_text(file.read_text().replace(BODY, WRONG))
    scores(browser, WRONG_SCORE)
    place = (
        "const box = arguments[0].getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]"
    )
    result, picture, code = (
        browser.execute_script(place, browser.find_element(By.CSS_SELECTOR, selector))
        for selector in (".result", ".verdict svg.drawing", ".editor")
    )
    assert result[1] < picture[1] < picture[3] <= min(result[3], 900)
    assert result[2] <= code[0]
    assert code[1] < picture[1] < code[3]


def test_failures_have_a_cross_other_reasons_are_a_list_and_what_did_not_count_stands_apart(visit, course):
    browser, file = visit("/kata/softmax"), stub(course, "softmax")
    file.write_text(file.read_text().replace(BODY, "    return np.exp(x) / np.exp(x).sum()\n"))
    scores(browser, "✗ ")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".reasons"))
    crosses = [
        one.text
        for one in browser.find_elements(By.CSS_SELECTOR, ".failure > p:first-child, .reasons summary")
    ]
    assert len(crosses) >= 2
    assert all(text.startswith("✗ ") for text in crosses)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".reasons ul")) == 1
    held = browser.find_elements(By.CSS_SELECTOR, ".verdict section > details")
    marks = [
        {mark.get_attribute("textContent") for mark in one.find_elements(By.CSS_SELECTOR, ".held .mark")}
        for one in held
    ]
    assert all(len(found) <= 1 for found in marks)  # each list has one fate


def test_after_a_pass_the_reference_can_be_seen(visit, course):
    browser, file = visit("/kata/causal_mask"), stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, RIGHT))
    scores(browser, "✓ 10 / 10")
    browser.find_element(By.XPATH, "//button[contains(., 'the reference')]").click()
    shown = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".solution pre"))[0]
    assert "def causal_mask" in shown.text


def test_a_kata_in_pytorch_says_what_to_install_and_has_no_score(browser, own_server, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['torch'] = None\n")
    _, url = own_server(PYTHONPATH=str(tmp_path))
    browser.get(url)
    card = wait(
        browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[href$='/kata/causal_self_attention']")
    )[0]
    assert "needs PyTorch" in card.text
    card.click()
    note = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".note.missing"))[0]
    assert "PyTorch, which is not installed here" in note.text
    assert "pip install" in note.find_element(By.TAG_NAME, "code").text
    assert browser.find_elements(By.CSS_SELECTOR, ".verdict") == []
    assert "0 / 10" not in browser.find_element(By.ID, "main").text


# --- sizes ---


@pytest.fixture(scope="module")
def statements(tmp_path_factory):
    """`statements(width)` is the address of a page with all statements in columns of this width."""
    css = pages.style_of(*pages.STYLES) + (FRONT / "app.css").read_text(encoding="utf-8")
    course = Course(ROOT)
    shown = {
        info.name: rendered(statement_of(course.stub(info).read_text())) for info in course.katas.values()
    }

    def written(width):
        sections = "".join(
            f'<section class="statement" data-name="{name}"><div class="text">{text}</div></section>'
            for name, text in shown.items()
        )
        style = f"{css} #main {{ display: block; height: auto; width: {width}px; }}"
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        file = tmp_path_factory.mktemp("statements") / "page.html"
        file.write_text(
            f'<!DOCTYPE html>{head}<style>{style}</style><main id="main" class="kata">{sections}</main>'
        )
        return file.as_uri()

    return written


@pytest.mark.parametrize("width", [1440, 1024, 375])
def test_no_statement_is_cut(browser, visit, statements, width):
    resize(browser, width)
    visit("/kata/softmax")
    column = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".statement"))[0].size["width"]
    browser.get(statements(column))
    beyond = """
        const cut = {};
        for (const statement of document.querySelectorAll(".statement")) {
            const edge = statement.getBoundingClientRect().right;
            const parts = [...statement.querySelectorAll("*")].filter((part) => !part.closest("svg"));
            const found = parts.filter((part) => part.getBoundingClientRect().right > edge + 1);
            if (found.length) cut[statement.dataset.name] = found[0].outerHTML.slice(0, 200);
        }
        return [document.querySelectorAll(".statement").length, cut];
    """
    assert browser.execute_script(beyond) == [len(Course(ROOT).katas), {}]
    small = """
        const parts = [...document.querySelectorAll(".statement pre, .statement code")];
        return Math.min(...parts.map((part) => parseFloat(getComputedStyle(part).fontSize)));
    """
    assert browser.execute_script(small) >= 13


def test_a_finger_hits_what_can_be_pressed_on_a_phone(browser, visit, course):
    resize(browser, 375, 700)
    visit("/")
    small = """
        const found = [...document.querySelectorAll("a, button, input, select, summary")].filter((one) => {
            const box = one.getBoundingClientRect();
            const isText = one.closest(".statement .text, .verdict p, .cm-editor");
            return box.width && box.right > 0 && !isText && box.height < 43.5;
        });
        return found.map((one) => one.outerHTML.slice(0, 100));
    """
    assert browser.execute_script(small) == []
    file = stub(course, "causal_mask")
    file.write_text(file.read_text().replace(BODY, WRONG))
    visit("/kata/causal_mask")
    scores(browser, WRONG_SCORE)
    for name in ("statement", "code", "verdict"):
        browser.find_element(By.CSS_SELECTOR, f".tabs [data-name={name}]").click()
        assert browser.execute_script(small) == []


@pytest.mark.parametrize("path", ["/", "/kata/causal_mask", "/speak", "/review"])
def test_nothing_is_lost_at_two_hundred_percent(browser, visit, path):
    size = {"width": 640, "height": 400, "deviceScaleFactor": 2, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    visit(path)
    time.sleep(1)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 640


def test_nothing_moves_for_who_wants_that(browser, visit):
    calm = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": calm})
    visit("/speak")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".progress-line"))
    assert browser.execute_script("return document.getAnimations().length") == 0


# --- behind Jupyter ---


@pytest.fixture
def jupyter(course):
    """The address of the page in a Jupyter server of a hub, as the tile opens it."""
    pytest.importorskip("jupyter_server_proxy", reason="jupyter-server-proxy is not installed")
    port = free_port()
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
    assert browser.current_url.startswith(f"{jupyter}/")
    assert browser.current_url.endswith("#/kata/causal_mask")
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
        browser.get(url.partition("/?")[0] + "/#/kata/causal_mask")
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
    path = address.replace("http", "ws") + "/socket"
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
    wait(browser, lambda b: refused in b.find_element(By.CSS_SELECTOR, ".notice").text)
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
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".speak iframe"))
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, ".speak iframe"))
    wait(browser, lambda b: holds in b.find_element(By.CSS_SELECTOR, ".spoken").text)
    browser.switch_to.default_content()
    return browser.find_element(By.CSS_SELECTOR, ".remarks").text


def test_a_text_is_written_a_part_is_left_out_and_a_hover_lights_two_tokens(own_parts):
    browser = own_parts("/speak")
    assert spoken(browser, "The small boat lived in the harbour.").startswith("Mean loss")
    prompt = browser.find_element(By.CSS_SELECTOR, "#prompt")
    prompt.send_keys(Keys.CONTROL, "a")
    prompt.send_keys("Once a shy", Keys.ENTER)
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".speak .text p").text.startswith("Once a shy "))
    spoken(browser, "Once a shy")
    before = browser.find_element(By.CSS_SELECTOR, ".speak iframe")
    browser.find_element(By.CSS_SELECTOR, "input[name=without][value=norm]").click()
    wait(browser, staleness_of(before))
    wait(
        browser,
        lambda b: "Without layer norm: the numbers grow" in b.find_element(By.CSS_SELECTOR, ".remarks").text,
    )
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
    wait(browser, lambda b: told in b.find_element(By.CSS_SELECTOR, ".speak").text)
    assert (
        "Recorded, from the course's own functions." in browser.find_element(By.CSS_SELECTOR, ".speak").text
    )
    assert "The small boat lived" in browser.find_element(By.CSS_SELECTOR, ".speak .text").text
    remarks = browser.find_element(By.CSS_SELECTOR, ".remarks").text
    assert "token_embedding, causal_mask" in remarks
    assert not browser.find_element(By.CSS_SELECTOR, ".speak input[type=text]").is_enabled()
    assert not browser.find_element(By.XPATH, "//button[.='Write']").is_enabled()
    browser.find_element(By.CSS_SELECTOR, "input[name=without][value=norm]").click()
    wait(browser, lambda b: "Without layer norm" in b.find_element(By.CSS_SELECTOR, ".remarks").text)
    without, whole = browser.find_elements(By.CSS_SELECTOR, ".stories .text")
    assert without.text.startswith("Without layer norm\n")
    assert whole.text.startswith("With all parts, as recorded\n")
    assert "lighthouse lighthouse" in without.text
    marked = [story.find_element(By.TAG_NAME, "mark").text for story in (without, whole)]
    assert marked == ['"', "lived"]  # the first words that differ
    assert "The small boat lived in the harbour." in whole.text


def test_a_prompt_is_text_and_a_pass_leads_to_its_lesson(own_parts):
    browser = own_parts("/speak")
    spoken(browser, "The small boat")
    before = browser.find_element(By.CSS_SELECTOR, ".speak iframe")
    prompt = browser.find_element(By.CSS_SELECTOR, "#prompt")
    prompt.send_keys(Keys.CONTROL, "a")
    prompt.send_keys(EVIL[:60], Keys.ENTER)
    wait(browser, staleness_of(before))
    spoken(browser, "</script>")
    assert browser.execute_script("return window.hit") is None
    browser.get(browser.current_url.replace("/speak", "/kata/causal_mask"))
    scores(browser, "✓")
    link = browser.find_element(By.LINK_TEXT, "See what it does in a text")
    assert link.get_attribute("href").endswith("/speak/mask")
    link.click()
    wait(browser, lambda b: "Without the mask" in b.find_element(By.CSS_SELECTOR, ".remarks").text)
