"""The pages of reports in a real browser: on a phone, in the dark, by keyboard, offline, and read by axe."""

import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from dojo_classroom.analytics import ClassStatistics, KataStatistics
from dojo_classroom.class_page import Rows, render_class
from dojo_classroom.policy import Policy
from dojo_classroom.roster import Member
from dojo_classroom.student_page import render_student
from dojo_classroom.student_reports import StudentReport
from grader import expect
from grader.course.catalog import Course
from grader.formats import html
from grader.grading.pictures import pictures_of
from grader.report import CheckReport, KataReport, Mistake, Place, Report
from grader.values.comparison import Tolerance, first_difference

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
EVIL = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
PHONE, DESKTOP = (375, 700), (1280, 800)
VIEWS = {"light": (DESKTOP, "light"), "dark": (DESKTOP, "dark"), "phone": (PHONE, "light")}


def failing(title, text="", pictures=(), **facts):
    return CheckReport(
        title.split()[0].lower(), title, "failed", 0, 100, text, pictures=tuple(pictures), **facts
    )


def compared(due, got, axes):
    return pictures_of(first_difference(due, got, Tolerance()), {"result": axes})


def refused(call):
    with pytest.raises(expect.ExpectationFailed) as failed:
        call()
    return failed.value


def kata(name, track, *checks, output=""):
    held = CheckReport("shape", "The shape is right.", "passed", 100, 100)
    return KataReport(name, track, "failed", 1000, checks=(*checks, held), output=output)


def mask():
    due, got = np.tril(np.ones((12, 30), bool), 18), np.tril(np.ones((12, 30), bool))
    mistake = Mistake("sits_in_the_wrong_corner", "With a cache the triangle sits in the wrong corner. " * 3)
    told = {"call": "causal_mask(12, 30)", "mistake": mistake}
    first = failing("Every entry equals the reference.", "", compared(due, got, "query key"), **told)
    return kata(
        "causal_mask", "attention", first, failing("A cache may hold hundreds of keys.", mistake=mistake)
    )


def attention():
    due = np.array([[0.206, 0.442, 0.352], [0.1, 0.2, 0.7]])
    got = due / due.sum(0)
    facts = {"q": "[[0.2, 1.2], [0.1, 0.9]]    float32 (queries=2, d_k=2)", "mask": "None", "a": "x" * 300}
    first = failing(
        "Every row of weights sums to one.",
        "",
        compared(due, got, "query key"),
        call="scaled_dot_product_attention(q, k, v)",
        counterexample=facts,
    )
    return kata("scaled_dot_product_attention", "attention", first, failing("NaN stays NaN.", "It is 0."))


def sampler():
    failure = refused(lambda: expect.frequencies([100, 700, 200], 1000, [0.2, 0.5, 0.3], "token"))
    check = failing("Tokens are drawn as often as softmax says.", failure.message, [failure.picture])
    return kata("temperature_sampling", "generation", check)


def cache():
    at = [f"{n} tokens" for n in range(64, 257, 64)]
    picture = expect.curve(
        "operations of a step", [1e4, 2e4, 3e4, 4e4], [1e4, 3e4, 8e4, 2e5], at, wrong=[2, 3]
    )
    return kata("kv_cache", "generation", failing("The work grows with the length.", "It grows.", [picture]))


def training():
    losses = [1.6 * 0.99**step for step in range(40)]
    steps = [f"step {step}" for step in range(40)]
    picture = expect.curve("loss", [math.log(5)] * 40, losses, steps, wrong=[39], titles=("log 5", "loss"))
    return kata("train_language_model", "modules", failing("Forty steps learn.", "It is 1.08.", [picture]))


def exception():
    line = f"    return softmax(x)[axis]  # {EVIL}"
    check = CheckReport("agrees", "Every entry is right.", "error", 0, 100, f"The code raised {EVIL}.")
    placed = failing(
        "Rows sum to one.",
        EVIL,
        call=f"softmax({EVIL})",
        counterexample={EVIL: EVIL},
        place=Place(3, line, 11, 21),
    )
    compared = failing("Text is text.", expected="a", got=EVIL, difference=EVIL)
    return kata("softmax", "attention", placed, check, compared, output=EVIL)


REPORT = Report((mask(), attention(), sampler(), cache(), training(), exception()))


def pages_of_a_class():
    """The page of a student and the page of a class of three."""
    infos = [Course(ROOT).katas[one.name] for one in REPORT.katas]
    stats, rows = ClassStatistics({info.name: KataStatistics(info) for info in infos}), Rows()
    for number in range(3):
        marks = Policy().marks("", REPORT.katas, {}, {}, datetime.now(UTC))
        graded = StudentReport(Member(f"s{number}", f"Ada {EVIL} {number}"), REPORT, True, marks)
        stats.add(graded)
        rows.add(graded)
    stubs = {info.name: Course(ROOT).stub(info).read_bytes() for info in infos}
    heading = ("Decoders", "2026-01-01")
    student = render_student(graded, f"Decoders {EVIL}", "2026-01-01")
    return {"student": student, "class": render_class(stats, rows, heading, [EVIL], stubs=stubs)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The file of each page."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {"report": html.render(REPORT), **pages_of_a_class()}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture(params=["report", "student", "class"])
def show(request, browser, files):
    """`show(view)` opens a page in the size and the colours of one of VIEWS. If the environment variable
    DOJO_PICTURES names a folder, it saves a screenshot there."""

    def show(view="light"):
        (width, height), colours = VIEWS[view]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": colours}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": scheme})
        file = files[request.param]
        browser.get(file.as_uri())
        if folder := os.environ.get("DOJO_PICTURES"):
            browser.save_screenshot(f"{folder}/{file.stem}-{view}.png")
        return browser

    return show


@pytest.mark.parametrize("view", VIEWS)
def test_no_page_scrolls_sideways(show, view):
    page = show(view)
    page.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    wide, room = page.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room


def test_no_request_leaves_a_page(show):
    page = show()
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert {url.split(":")[0] for url in asked} == {"file"}
    assert len(set(asked)) == 1
    assert page.get_log("browser") == []


def test_what_a_submission_injects_stays_text(show):
    page = show()
    assert page.execute_script("return window.hit") is None
    assert page.execute_script("return document.querySelectorAll('script, img, [onerror]').length") == 0
    assert EVIL in page.execute_script("return document.body.textContent")


@pytest.mark.parametrize("view", ["light", "dark"])
def test_axe_finds_nothing(show, view):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core is not installed").Axe()
    page = show(view)
    page.set_script_timeout(120)
    page.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    found = axe.run(page)["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found] == []


def test_a_page_has_one_first_heading_and_a_language(show):
    page = show()
    assert page.execute_script("return document.querySelectorAll('h1').length") == 1
    assert page.execute_script("return document.documentElement.lang") == "en"


@pytest.mark.parametrize("show", ["report", "student"], indirect=True)
def test_the_first_failure_of_a_kata_is_in_sight_and_all_else_is_folded(show):
    script = """
        return [...document.querySelectorAll("section")].map(one => [
            one.querySelectorAll(":scope > .failure").length,
            [...one.querySelectorAll("details")].filter(part => part.open).length,
        ])
    """
    assert {tuple(found) for found in show().execute_script(script)} == {(1, 0)}


@pytest.mark.parametrize("show", ["report"], indirect=True)
def test_a_keyboard_unfolds_a_failure_and_its_place_is_seen(show):
    from selenium.webdriver.common.keys import Keys

    page = show()
    script = """
        const one = document.activeElement, style = getComputedStyle(one)
        return [one.tagName, style.outlineStyle, style.outlineWidth]
    """
    seen = []
    for _ in range(12):
        page.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(page.execute_script(script))
    assert {"A", "SUMMARY"} <= {tag for tag, _, _ in seen}
    for _, style, width in seen:
        assert (style != "none", width != "0px") == (True, True)
    before = page.execute_script("return document.activeElement.parentElement.open")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.execute_script("return document.activeElement.parentElement.open") != before


def test_in_the_dark_text_is_light_on_a_dark_ground(show):
    page = show("dark")
    style = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    ink, paper = (sum(map(int, colour.strip("rgb()").split(","))) for colour in page.execute_script(style))
    assert ink > 600 > 200 > paper


@pytest.mark.parametrize("show", ["class"], indirect=True)
def test_the_page_of_a_class_draws_the_example_of_a_statement(show):
    script = "return document.getElementById('causal_mask').parentElement.querySelectorAll('figure').length"
    assert show().execute_script(script) > 1


@pytest.mark.parametrize("show", ["class"], indirect=True)
def test_on_a_phone_no_heading_of_a_column_is_broken(show):
    script = "return [...document.querySelectorAll('thead')].map(one => one.getBoundingClientRect().height)"
    assert show("phone").execute_script(script)[0] < 60
