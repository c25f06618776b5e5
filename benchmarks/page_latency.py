"""Time from the last key to the painted verdict on the page, in headless Chromium, beside the loop.

    python benchmarks/page_latency.py [EDITS]
    python benchmarks/page_latency.py --memory [EDITS]
    python benchmarks/page_latency.py --site FOLDER [EDITS]

A copy of the course is graded. The edits are the reference and a mistake of the course in turn, each put into
the editor as one change; the pause before a save is taken off. The verdict counts as painted two frames after
the new one is in the page. `save_to_verdict.py` measures the same texts in the loop, in the same run.

With --memory it edits one kata many times and prints what the server and the judge then hold. With --site it
measures a folder that `kata site` wrote, served by the standard library, with the judge in the browser.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import save_to_verdict
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources

ROOT = Path(__file__).parents[1]
EDITS = 50
KATAS = ("softmax", "causal_mask", "layer_norm", "top_p")
PAUSE = 300  # milliseconds before a save
#: Replace the text by a paste, and call back once the verdict on it is painted.
EDIT = """
const [text, done] = arguments, shown = document.querySelector('.shown');
const content = document.querySelector('.editor .cm-content'), data = new DataTransfer();
const began = performance.now();
let wasStale = false;
new MutationObserver((_, watcher) => {
  if (shown.classList.contains('stale')) { wasStale = true; return; }
  if (!wasStale) return;
  watcher.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
}).observe(shown, { attributes: true, subtree: true, childList: true });
content.focus();
getSelection().selectAllChildren(content);
document.execCommand('selectAll');
data.setData('text/plain', text);
content.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
"""


def serve(course: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the page and return its process and its address."""
    words = [sys.executable, "-P", "-m", "grader.cli.grade", "page", "--course", str(course)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found
    server.stdout.readline()
    server.stdout.readline()
    return server, found[0]


def open_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for switch in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1400,900"):
        options.add_argument(f"--{switch}")
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(120)
    return browser


def seconds_of(browser: webdriver.Chrome, address: str, course: Path, name: str, edits: int) -> list[float]:
    """Return the seconds of each edit, without the pause."""
    known = Course(course)
    info = known.kata_info(name)
    right = known.solution(info, "reference").read_text()
    wrong = next(iter(standalone_sources(known, info, "mistakes").values()))
    browser.get("about:blank")  # what follows `#` alone loads nothing anew
    browser.get(address.partition("/?")[0] + f"/#/kata/{name}")
    WebDriverWait(browser, 120).until(lambda b: b.find_elements(By.CSS_SELECTOR, ".verdict"))
    found = [
        browser.execute_async_script(EDIT, [right, wrong][turn % 2] + f"\n# edit {turn}\n")
        for turn in range(edits + 2)
    ]
    return [
        (milliseconds - PAUSE) / 1000 for milliseconds in found[2:]
    ]  # the first load what is needed later


def held_by(server: int) -> str:
    """Return the memory, the open files and the number of processes of the server and of what it started."""
    pids, parents = [server], [server]
    while parents:
        found = subprocess.run(["pgrep", "-P", ",".join(map(str, parents))], capture_output=True, text=True)
        parents = [int(word) for word in found.stdout.split()]
        pids += parents
    memory = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * 4096 >> 20
    files = sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids)
    return f"{memory} MiB | {files} | {len(pids)}"


def measure_memory(edits: int) -> None:
    print("| edits | memory | open files | processes |\n|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        course = save_to_verdict.copied_course(Path(folder))
        server, address = serve(course)
        browser = open_browser()
        browser.get(address)
        for part in (10, edits // 2, edits // 2):
            seconds_of(browser, address, course, "causal_mask", part)
            print(f"| {part} more | {held_by(server.pid)} |", flush=True)
        browser.quit()
        server.send_signal(signal.SIGINT)
        server.wait(30)


def measure_site(folder: Path, edits: int) -> None:
    print("| kata | site, median | site, 95 % |\n|---|---:|---:|")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/?"
    browser = open_browser()
    try:
        katas = [key.stem for key in sorted((folder / "keys").glob("*.key"))]
        for name in (name for name in katas if Course(ROOT).kata_info(name).kind.is_code):
            here = sorted(seconds_of(browser, address, ROOT, name, edits))
            print(f"| `{name}` | {statistics.median(here):.2f} s | {late(here):.2f} s |", flush=True)
    finally:
        browser.quit()
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, *words: object) -> None:
        pass


def late(seconds: list[float]) -> float:
    """Return the 95th percentile of sorted figures."""
    return seconds[min(len(seconds) - 1, round(0.95 * len(seconds)))]


def main() -> None:
    """Print the median and the 95th percentile of each kata, in the page and in the loop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("edits", nargs="?", type=int, default=EDITS)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--site", type=Path)
    options = parser.parse_args()
    edits = options.edits
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "BROWSER")}
    os.environ.clear()
    os.environ.update(environment)
    if options.memory:
        measure_memory(edits)
        return
    if options.site:
        measure_site(options.site, edits)
        return
    print("| kata | page, median | page, 95 % | loop, median |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        course = save_to_verdict.copied_course(Path(folder))
        server, address = serve(course)
        browser = open_browser()
        browser.get(address)
        try:
            for name in KATAS:
                here = sorted(seconds_of(browser, address, course, name, edits))
                there = save_to_verdict.seconds_of(course, name, edits)[1:]
                line = (statistics.median(here), late(here), statistics.median(there))
                print(f"| `{name}` | {' | '.join(f'{seconds:.2f} s' for seconds in line)} |", flush=True)
        finally:
            browser.quit()
            server.send_signal(signal.SIGINT)
            server.wait(30)


if __name__ == "__main__":
    main()
