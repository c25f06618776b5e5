"""Record the pictures of the page, `docs/images/page.webp` and `speak.webp`: `python docs/record_page.py`.

`grade page` runs in a copy of the course. Chromium, which must be installed with its driver, shows it. The
first picture has a wrong mask and its verdict. For the second the katas whose functions write are solved.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from record import KATA, WRONG
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dojo_show.demonstration import speech_in
from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
SECONDS = 120
QUALITY = 85  # of the pictures, of 100
TOKEN = 4  # of the text, which is pressed


@contextmanager
def page(course: Path) -> Iterator[Any]:
    """Yield a browser on the first view of the page of a course."""
    left_out = ("CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(course)]
    server = subprocess.Popen(command, cwd=course, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    url = re.search(r"http://\S+", server.stdout.readline())
    assert url is not None
    options = webdriver.ChromeOptions()
    for switch in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{switch}")
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        browser.get(url[0])
        until(browser, lambda: browser.find_elements(By.ID, "main"))
        yield browser
    finally:
        browser.quit()
        server.terminate()
        server.wait()


def until(browser: Any, holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    WebDriverWait(browser, SECONDS, 0.1).until(lambda _: holds())


def go_to(browser: Any, view: str) -> None:
    """Open a view of the page."""
    browser.get(f"{browser.current_url.partition('#')[0]}#/{view}")


def save(browser: Any, name: str) -> None:
    """Write what the browser shows."""
    asked = {"format": "webp", "quality": QUALITY}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]
    (IMAGES / name).write_bytes(base64.b64decode(picture))


def show_verdict(browser: Any, course: Course) -> None:
    """Open a kata whose answer is wrong, and wait for its picture."""
    stub = course.stub(course.kata_info(KATA))
    stub.write_text(stub.read_text("utf-8").replace("    raise NotImplementedError\n", WRONG), "utf-8")
    go_to(browser, f"kata/{KATA}")
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".failure svg"))
    until(browser, lambda: "Judged in" in browser.find_element(By.TAG_NAME, "body").text)


def show_text(browser: Any, course: Course) -> None:
    """Have the functions write, and press a token."""
    speech = speech_in(course)
    assert speech is not None
    for kata in speech.parts:
        info = course.kata_info(kata)
        shutil.copy(course.solution(info, "reference"), course.stub(info))
    go_to(browser, "speak")
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".speak iframe"))
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, ".speak iframe"))
    inside = browser.find_elements(By.TAG_NAME, "iframe")
    if inside:
        browser.switch_to.frame(inside[0])
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".spoken [role=button]")) > TOKEN)
    browser.find_elements(By.CSS_SELECTOR, ".spoken [role=button]")[TOKEN].click()
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".head"))
    browser.switch_to.default_content()


def main() -> None:
    """Record both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "course"
        shutil.copytree(ROOT / "exercises", root / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tests", "solutions", "see"):
            (root / name).symlink_to(ROOT / name, target_is_directory=True)
        with page(root) as browser:
            show_verdict(browser, Course(root))
            save(browser, "page.webp")
            show_text(browser, Course(root))
            save(browser, "speak.webp")


if __name__ == "__main__":
    main()
