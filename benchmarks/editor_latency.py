"""Time from the last key to the diagnostics in an editor, beside the page and the loop.

    python benchmarks/editor_latency.py [EDITS]

A client over pipes types the reference and a mistake of the course in turn, each as one change; the pause
before a text is judged is taken off. A text counts as judged once the diagnostics of its version have come.
`page_latency.py` and `save_to_verdict.py` measure the same texts on the page and in the loop, in the same
run; without Chromium there is no column of the page.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

import save_to_verdict
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from dojo_page.judges import PAUSE_SECONDS
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources

EDITS = 50
KATAS = ("softmax", "causal_mask", "layer_norm", "top_p")


async def seconds_of(course: Path, name: str, edits: int) -> list[float]:
    """Return the seconds of each edit, without the pause."""
    known = Course(course)
    info = known.kata_info(name)
    uri = known.stub(info).as_uri()
    right = known.solution(info, "reference").read_text()
    wrong = next(iter(standalone_sources(known, info, "mistakes").values()))
    client, published = LanguageClient("benchmark", "1"), asyncio.Queue[int]()
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda p: published.put_nowait(p.version))
    client.feature(types.WINDOW_SHOW_MESSAGE)(lambda _: None)
    await client.start_io(sys.executable, "-P", "-m", "grader.cli.grade", "lsp", cwd=course)
    await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(), root_uri=course.as_uri())
    )
    document = types.TextDocumentItem(uri, "python", 0, wrong)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await published.get()
    found = []
    for version in range(1, edits + 3):
        text = [right, wrong][version % 2] + f"\n# edit {version}\n"
        began = time.monotonic()
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        while await published.get() != version:
            continue
        found.append(time.monotonic() - began - PAUSE_SECONDS)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found[2:]  # the first load what is needed later


def main() -> None:
    """Print the median and the 95th percentile of each kata in an editor, and the medians elsewhere."""
    edits = int(sys.argv[1]) if len(sys.argv) > 1 else EDITS
    for name in ("DISPLAY", "BROWSER"):
        os.environ.pop(name, None)
    has_browser = bool(shutil.which("chromedriver"))
    print("| kata | editor, median | editor, 95 % | page, median | loop, median |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        course = save_to_verdict.copied_course(Path(folder))
        for name in KATAS:
            there = save_to_verdict.seconds_of(course, name, edits)[1:]
            here = sorted(asyncio.run(seconds_of(course, name, edits)))
            late = here[min(len(here) - 1, round(0.95 * len(here)))]
            page = f"{statistics.median(on_page(course, name, edits)):.2f} s" if has_browser else "—"
            line = (
                f"{statistics.median(here):.2f} s | {late:.2f} s | {page} | {statistics.median(there):.2f} s"
            )
            print(f"| `{name}` | {line} |", flush=True)


def on_page(course: Path, name: str, edits: int) -> list[float]:
    import page_latency

    server, address = page_latency.serve(course)
    browser = page_latency.open_browser()
    try:
        browser.get(address)
        return page_latency.seconds_of(browser, address, course, name, edits)
    finally:
        browser.quit()
        server.send_signal(signal.SIGINT)
        server.wait(30)


if __name__ == "__main__":
    main()
