"""What a first visit loads, of a site that `kata site` wrote or of `grade page`.

    python benchmarks/first_visit.py FOLDER [KATA]    # a site, until the first verdict on the kata
    python benchmarks/first_visit.py --page [KATA]    # the page of this machine, until the same

Headless Chromium opens the kata with an empty cache. Of a site, the file server counts the files that are
asked for, and a file has the bytes that gzip makes of it. Keys of other katas are left out, which are fetched
later. Of the page, Chromium counts the files and the bytes that it gets.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import signal
import sys
import tempfile
import threading
from pathlib import Path

import save_to_verdict
from page_latency import Quiet, open_browser, serve
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

GROUPS = {
    "runtime/numpy": "NumPy",
    "runtime/": "Python",
    "python.zip": "grader",
    "course.zip": "course",
    "keys/": "key",
}
VERDICT = "return Boolean(document.querySelector('.verdict .score'))"


def main() -> None:
    """Print the number of files and the bytes of a first visit, by what they are."""
    words = [word for word in sys.argv[1:] if word != "--page"]
    files = of_page(*words[:1]) if "--page" in sys.argv else of_site(Path(words[0]), *words[1:2])
    groups: dict[str, list[int]] = {}
    for name, size in files.items():
        groups.setdefault(
            next((what for start, what in GROUPS.items() if name.startswith(start)), "page"), []
        ).append(size)
    groups["all"] = list(files.values())
    print("| | files | MB |\n|---|---:|---:|")
    for what, sizes in groups.items():
        print(f"| {what} | {len(sizes)} | {sum(sizes) / 1e6:.2f} |")


def of_site(folder: Path, kata: str = "softmax") -> dict[str, int]:
    """Return the compressed bytes of each file that is asked for until the first verdict, by its path."""
    asked: dict[str, int] = {}

    class Counting(Quiet):
        def do_GET(self) -> None:
            name = self.path.partition("?")[0].lstrip("/") or "index.html"
            if (folder / name).is_file():
                asked[name] = len(gzip.compress((folder / name).read_bytes(), 9))
            super().do_GET()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Counting, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = open_browser()
    try:
        visit(browser, f"http://127.0.0.1:{server.server_port}/#/kata/{kata}")
        return {
            name: size for name, size in asked.items() if name == f"keys/{kata}.key" or "keys/" not in name
        }
    finally:
        browser.quit()
        server.shutdown()


def of_page(kata: str = "softmax") -> dict[str, int]:
    """Return the bytes of each file that Chromium gets until the first verdict, by its address."""
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(save_to_verdict.copied_course(Path(folder)))
        browser = open_browser()
        try:
            browser.get(address)
            browser.execute_cdp_cmd("Network.clearBrowserCache", {})
            browser.get("about:blank")
            visit(browser, address.partition("/?")[0] + f"/#/kata/{kata}")
            found = browser.execute_script(
                "return performance.getEntries().map((one) => [one.name, one.encodedBodySize])"
            )
            return {name: size for name, size in found if name.startswith("http") and size}
        finally:
            browser.quit()
            server.send_signal(signal.SIGINT)
            server.wait(30)


def visit(browser: webdriver.Chrome, address: str) -> None:
    """Open an address, and wait for the first verdict."""
    browser.get(address)
    WebDriverWait(browser, 600).until(lambda b: b.execute_script(VERDICT))


if __name__ == "__main__":
    main()
