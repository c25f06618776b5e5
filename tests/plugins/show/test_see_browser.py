"""The page of `grade see` in headless Chromium: by keyboard, offline, in the dark, on a phone."""

import base64
import importlib
import json
import os
import types
from pathlib import Path

import numpy as np
import pytest

from dojo_notebooks.results import frame_bundle
from dojo_show import demonstration
from dojo_show.answers import Answers
from dojo_show.demonstration import open_demonstration, read_recording, reference_students
from grader.course.catalog import Course
from grader.worker.in_process import LocalStudent

pytest.importorskip("selenium", reason="Selenium is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
SEE = open_demonstration(Course(ROOT))
KATAS = SEE.katas
REPLY = importlib.import_module(f"{SEE.show.__module__}.example").REPLY
SIX = list(KATAS)[:6]
LIMIT = 150_000  # bytes of a picture in the documentation


@pytest.fixture(scope="module")
def references():
    return reference_students(Course(ROOT), KATAS)


@pytest.fixture
def visit(browser, references, tmp_path):
    """`visit(names, tokens)` opens the page of a student who passed these katas."""

    def open_page(names=KATAS, tokens=None, framed=False, **students):
        statuses = {name: "yours" if name in names else "open" for name in KATAS}
        answers = Answers(KATAS, statuses, {name: references[name] for name in names} | students)
        shown = demonstration.render_page(SEE, SEE.show(answers, read_recording(SEE), tokens))
        file = tmp_path / "see.html"
        file.write_text(frame_bundle(shown, "")["text/html"] if framed else shown)
        browser.get(file.as_uri())
        return browser

    return open_page


def media(browser, **features):
    found = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": found})


def phone(browser):
    size = {"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def press(browser, *keys):
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def focus(browser, name):
    """Press Tab until the element has the focus."""
    for _ in range(40):
        if browser.switch_to.active_element.get_attribute("id") == name:
            return
        press(browser, Keys.TAB)
    raise AssertionError(f"no Tab reaches #{name}")


def to_the_start(browser):
    """Empty the stack, and go to the button that fills it."""
    focus(browser, "start")
    press(browser, Keys.ENTER)
    browser.execute_script("document.activeElement.blur()")
    focus(browser, "step")


def said(browser):
    return browser.find_element(By.ID, "state").text


def table(browser, name):
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{name} tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    return np.array([[float(text.replace("\N{MINUS SIGN}", "-")) for text in row] for row in cells])


def glowing(browser):
    return [wire.get_attribute("data-wire") for wire in browser.find_elements(By.CSS_SELECTOR, ".glow")]


def test_the_stack_is_stepped_by_keyboard_up_to_the_printed_table(visit):
    browser = visit()
    assert said(browser) == "Step 6 of 6: layer 2, feed-forward"
    to_the_start(browser)
    assert said(browser) == "Step 0 of 6: the inputs, h₀ and the memory"
    seen = []
    for number in range(6):
        press(browser, Keys.ENTER if number % 2 else Keys.SPACE)
        seen.append((said(browser), glowing(browser)))
    names = ["self-attention", "cross-attention", "feed-forward"]
    assert [text for text, _ in seen] == [
        f"Step {3 * layer + place + 1} of 6: layer {layer + 1}, {name}"
        for layer in (0, 1)
        for place, name in enumerate(names)
    ]
    assert [wires for _, wires in seen] == [[], ["2"], [], [], ["5"], []]
    assert np.allclose(table(browser, "hidden"), REPLY["printed"]["h2"], atol=1e-9)


def test_back_start_and_the_number_of_layers_work_by_keyboard(visit):
    browser = visit()
    to_the_start(browser)
    press(browser, Keys.ENTER, Keys.ENTER)
    focus(browser, "layers")
    press(browser, "6")
    assert said(browser).startswith("Step 2 of 18")
    browser.find_element(By.ID, "back").send_keys(Keys.SPACE)
    assert said(browser).startswith("Step 1 of 18")
    browser.find_element(By.ID, "start").send_keys(Keys.ENTER)
    assert said(browser).startswith("Step 0 of 18")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".plane")) == 19


def test_the_stack_stays_full_when_it_grows(visit):
    browser = visit()
    focus(browser, "layers")
    press(browser, "6")
    assert said(browser).startswith("Step 18 of 18")


def test_a_score_lights_up_what_it_was_made_of(visit, browser):
    visit()
    figures = browser.find_elements(By.CSS_SELECTOR, "#attention figure")
    named = {figure.find_element(By.TAG_NAME, "figcaption").text: figure for figure in figures}
    lit = (
        "return [...document.querySelectorAll('#attention tr.lit')].map(row => {"
        " const rows = [...row.parentNode.children];"
        " return row.closest('figure').dataset.name + rows.indexOf(row); })"
    )
    for title, expected in (("1  scores: q kᵀ", ["q2", "k1"]), ("5  weights", ["v1", "output2"])):
        cell = named[" ".join(title.split())].find_elements(By.CSS_SELECTOR, "tbody tr")[2]
        ActionChains(browser).move_to_element(cell.find_elements(By.TAG_NAME, "td")[1]).perform()
        assert browser.execute_script(lit) == expected
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    assert browser.execute_script(lit) == []


def test_a_plane_shows_its_values_on_enter_and_on_a_click(visit):
    browser = visit()
    to_the_start(browser)
    press(browser, *[Keys.ENTER] * 6)
    browser.find_element(By.CSS_SELECTOR, "[data-plane='3']").send_keys(Keys.ENTER)
    assert np.allclose(table(browser, "hidden"), REPLY["printed"]["h1"], atol=1e-9)
    assert browser.switch_to.active_element.get_attribute("data-plane") == "3"
    browser.execute_script(
        "document.querySelector(\"[data-plane='2']\").dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert "Layer 1, cross-attention" in browser.find_element(By.ID, "detail").text
    assert table(browser, "weights-1").sum(axis=1) == pytest.approx([1, 1, 1], abs=2e-3)


def test_the_grid_shows_means_of_neighbours(visit):
    browser = visit()
    cells = "return document.querySelectorAll(\"[data-plane='0'] polygon\").length"
    before = browser.execute_script(cells)
    focus(browser, "grid")
    press(browser, "2")
    assert (before, browser.execute_script(cells)) == (1 + 3 * 8, 1 + 3 * 2)


def test_play_goes_on_by_itself_unless_less_motion_is_asked_for(visit):
    browser = visit()
    browser.execute_script(
        "window.setInterval = function (act) { for (let n = 0; n < 6; n++) act(); return 1; }"
    )
    to_the_start(browser)
    browser.find_element(By.ID, "play").click()
    assert said(browser).startswith("Step 6 of 6")
    media(browser, prefers_reduced_motion="reduce")
    assert not visit().find_element(By.ID, "play").is_enabled()


def test_no_request_leaves_the_page_and_nothing_fails(visit):
    browser = visit(SIX)
    to_the_start(browser)
    press(browser, *[Keys.ENTER] * 6)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == 1
    assert browser.get_log("browser") == []


def test_an_injected_script_stays_dead(visit):
    browser = visit(tokens="</script><script>hit=1</script> <img/src=x/onerror=hit=1> <svg/onload=hit=1>")
    assert browser.execute_script("return typeof hit") == "undefined"
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert "</script><script" in browser.find_element(By.CLASS_NAME, "said").text
    browser.execute_script(
        "const s = document.createElement('script'); s.text = 'hit = 1'; document.body.append(s)"
    )
    assert browser.execute_script("return typeof hit") == "undefined"  # the policy knows one script alone


def test_a_phone_gets_the_whole_stack_as_a_still_picture(visit, browser):
    phone(browser)
    visit(SIX)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 375
    assert not browser.find_element(By.ID, "step").is_displayed()
    assert len(browser.find_elements(By.CSS_SELECTOR, ".plane.done")) == 7


def test_the_whole_stack_is_printed(visit, browser):
    visit()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    WebDriverWait(browser, 10).until(lambda b: len(b.find_elements(By.CSS_SELECTOR, ".plane.done")) == 7)
    assert not browser.find_element(By.ID, "step").is_displayed()


def test_the_page_is_dark_where_the_system_is(visit, browser):
    background = "return getComputedStyle(document.body).backgroundColor"
    assert visit().execute_script(background) == "rgb(255, 255, 255)"
    media(browser, prefers_color_scheme="dark")
    assert browser.execute_script(background) == "rgb(20, 23, 27)"


def test_a_screen_reader_finds_headings_tables_and_names(visit):
    browser = visit()
    assert [len(browser.find_elements(By.TAG_NAME, name)) for name in ("main", "h1", "h2")] == [
        1,
        1,
        len(SEE.titles) - 1,  # that of the overview is the h1
    ]
    unnamed = (
        "return [...document.querySelectorAll('svg, button, input, select')].filter(node =>"
        " !node.getAttribute('aria-label') && !node.textContent && !node.labels?.length).length"
    )
    assert browser.execute_script(unnamed) == 0
    missing = "return [...document.querySelectorAll('tbody th')].filter(node => node.scope !== 'row').length"
    assert browser.execute_script(missing) == 0


def test_a_nan_is_shown_as_such(visit):
    module = types.ModuleType("kata")
    module.layer_norm = lambda x, *_: x + np.float32(np.nan)
    browser = visit(layer_norm=LocalStudent(module))
    to_the_start(browser)
    press(browser, *[Keys.ENTER] * 6)
    assert "NaN" in browser.find_element(By.ID, "hidden").text
    assert len(browser.find_elements(By.TAG_NAME, "section")) == len(SEE.titles)
    assert browser.get_log("browser") == []


def test_the_page_works_in_the_frame_of_a_notebook(visit):
    browser = visit(framed=True)
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    assert browser.find_element(By.TAG_NAME, "h1").text == "Your decoder, running"
    browser.find_element(By.ID, "back").click()
    assert said(browser).startswith("Step 5 of 6")
    reached = "try { return Boolean(parent.document.body); } catch { return false; }"
    assert not browser.execute_script(reached)


def test_the_tree_of_the_searches_can_be_heard(visit):
    spoken = visit().find_element(By.CSS_SELECTOR, "#search svg").get_attribute("aria-label")
    assert spoken.startswith("greedy decoding: hub today .; beam search: late .; sampled: ")


def test_the_losses_are_drawn_and_can_be_heard(visit):
    browser = visit(SIX)
    section = browser.find_element(By.ID, "training")
    assert len(section.find_elements(By.CSS_SELECTOR, "path.curve")) == 3
    heard = section.find_element(By.TAG_NAME, "svg").get_attribute("aria-label")
    assert heard.startswith("the loss over the steps: softmax_cross_entropy_backward 2.135,")
    assert "not yours yet: softmax_cross_entropy_backward" in section.text


def test_the_sliders_show_what_the_filters_keep(visit):
    browser = visit()
    slider = browser.find_element(By.ID, "top-k")
    slider.send_keys(Keys.HOME)
    assert slider.get_attribute("aria-valuetext") == "1"
    shown = browser.find_element(By.ID, "distribution").text
    assert "100 %" in shown
    assert shown.count("out") == 5


def test_the_picture_of_the_documentation_can_be_taken(visit, browser, tmp_path):
    """DOJO_PICTURES=docs/images saves it there."""
    visit(KATAS)
    to_the_start(browser)
    press(browser, *[Keys.ENTER] * 5)
    left, top, height = browser.execute_script(
        "const stack = document.getElementById('stack').getBoundingClientRect(), top = stack.top;"
        "const stage = document.querySelector('.stage').getBoundingClientRect();"
        "return [stage.left, top + scrollY, stage.bottom - top]"
    )
    clip = {"x": max(left - 36, 0), "y": top + 2, "width": 1120, "height": height, "scale": 1}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    picture = base64.b64decode(taken["data"])
    assert len(picture) < LIMIT
    (Path(os.environ.get("DOJO_PICTURES", tmp_path)) / "see.png").write_bytes(picture)
