"""A site judges in the browser: from a plain file server, without a network, and with a clone's files."""

import functools
import http.server
import io
import json
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dojo_page import site
from dojo_page.judge import Show, Speak, Written
from dojo_page.kept_files import KeptFiles
from dojo_page.site import SiteOptions, course_files, runtime_files, write_site
from dojo_show.demonstration import speech_in
from dojo_show.speech import Wish
from grader.cases.generation import SEED
from grader.cli.kata import kata
from grader.course.catalog import Course, CourseError
from grader.course.state import CourseState

ROOT = Path(__file__).parents[3]
SECONDS = 180  # a machine may be busy
NAMES = ("softmax", "token_embedding")
RIGHT = (ROOT / "solutions/attention/softmax/reference.py").read_text(encoding="utf-8")
WRONG = RIGHT.replace("powers.sum(axis=axis, keepdims=True)", "powers.sum()")
ENDLESS = RIGHT.replace("    largest =", "    while True:\n        pass\n    largest =")


@pytest.fixture
def files(tmp_path):
    """The files of a student in a course of two katas, as a site has it."""
    course = Course(ROOT)
    for name, data in course_files(course, [course.katas[one] for one in NAMES]).items():
        path = tmp_path / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return KeptFiles(Course(tmp_path / "course"))


def zip_of(files):
    """Return a zip of texts by name; a name may be a ZipInfo."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


class TestKeptFiles:
    PATH = "exercises/attention/softmax.py"

    def test_what_was_written_is_kept_and_comes_back(self, files):
        assert files.changes() == {}
        (files.root / self.PATH).write_text(RIGHT)
        CourseState(files.course).change("softmax", best=300)
        kept = files.changes()
        assert sorted(kept) == [".dojo/state.json", self.PATH]
        assert files.changes() == kept
        files.note_kept()
        assert files.changes() == {}
        files.take({})
        assert "NotImplementedError" in (files.root / self.PATH).read_text()
        assert not (files.root / ".dojo/state.json").exists()
        files.take(kept)
        assert (files.root / self.PATH).read_text() == RIGHT
        assert CourseState(files.course).kata("softmax").best == 300

    def test_a_zip_holds_what_was_written_and_comes_in_again(self, files):
        (files.root / self.PATH).write_text(RIGHT)
        CourseState(files.course).change("softmax", best=1000)
        packed = files.packed()
        assert sorted(zipfile.ZipFile(io.BytesIO(packed)).namelist()) == [".dojo/state.json", self.PATH]
        files.take({})
        CourseState(files.course).change("token_embedding", best=500)
        assert files.bring_in(packed) == "Brought in: 1 kata, and what is remembered."
        assert (files.root / self.PATH).read_text() == RIGHT
        state = CourseState(files.course)
        assert [state.kata(name).best for name in NAMES] == [1000, 500]

    def test_a_zip_of_a_whole_clone_comes_in_without_what_is_not_the_students(self, files):
        odd = {f"exercises/attention/{name}.py": "x" for name in ("=cmd|calc", "other")}
        rest = {"README.md": "x", "tests/katas/path.toml": "x", "keys/softmax.key": "x"}
        data = zip_of(
            {f"course-main/{name}": text for name, text in {self.PATH: RIGHT, **odd, **rest}.items()}
        )
        assert files.bring_in(data) == (
            "Brought in: 1 kata. Left out, since the course does not have them: README.md,"
            " exercises/attention/=cmd|calc.py, exercises/attention/other.py and 2 more."
        )
        assert (files.root / self.PATH).read_text() == RIGHT
        assert not (files.root / "README.md").exists()

    def test_a_name_that_is_told_has_no_command_of_a_terminal(self, files):
        odd = {"exercises/attention/\x1b[2J\n\x07.py": "x"}
        told = files.bring_in(zip_of({self.PATH: RIGHT, **odd}))
        left_out = "Left out, since the course does not have them: exercises/attention/␛[2J ␇.py."
        assert told == f"Brought in: 1 kata. {left_out}"

    def test_what_is_no_zip_of_a_course_is_refused_with_one_sentence(self, files):
        link = zipfile.ZipInfo(self.PATH)
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        before = (files.root / self.PATH).read_bytes()
        outside = "it holds a name that leads out of its folder, or is too long"
        for data, told in (
            (b"no zip", "it cannot be read as a zip file: File is not a zip file"),
            (
                zip_of({"../../softmax.py": RIGHT}),
                "it holds a name that leads out of its folder, or is too long",
            ),
            (zip_of({"/etc/passwd": "x"}), outside),
            (zip_of({link: "/etc/passwd"}), "it is a link"),
            (zip_of({self.PATH: "0" * (5 << 20)}), "it unpacks to 5 MiB, more than 200 times its size"),
            (zip_of({".dojo/state.json": "{"}), "its state.json is damaged"),
            (
                zip_of({".dojo/state.json": '{"version": 9, "katas": {}}'}),
                "its state.json is of another version",
            ),
        ):
            with pytest.raises(CourseError) as refused:
                files.bring_in(data)
            assert str(refused.value) == f"This is no zip of a course's files: {told}."
            assert (files.root / self.PATH).read_bytes() == before
        with pytest.raises(
            CourseError, match=r"^Nothing was brought in: the zip holds no file of this course"
        ):
            files.bring_in(zip_of({"notes.txt": "x"}))


class TestCommand:
    def run(self, *words):
        done = CliRunner().invoke(kata, ["site", *map(str, words), "--course", str(ROOT)])
        return done.exit_code, done.output.strip().removeprefix("Error: ")

    def test_bad_input_gets_one_sentence(self, tmp_path):
        (tmp_path / "full").mkdir()
        (tmp_path / "full/thesis.txt").write_text("x")
        code, told = self.run(tmp_path / "full", "softmax", "--unverified")
        assert code == 4
        assert told.endswith("full is not empty and no site: name a new folder, or that of a site.")
        code, told = self.run(tmp_path / "new", "softmax", "--unverified", "--runtime", tmp_path)
        assert code == 4
        assert re.search(r"pyodide\.mjs cannot be read: .*\.$", told)
        torch = next(name for name, info in Course(ROOT).katas.items() if info.library == "torch")
        code, told = self.run(tmp_path / "new", torch, "--unverified")
        assert code == 4
        assert told == "None of these katas is in NumPy, and a browser judges no other."
        assert not (tmp_path / "new").exists()

    def test_another_pyodide_is_refused(self, tmp_path):
        for name in site.RUNTIME:
            (tmp_path / name).write_text("x")
        with pytest.raises(
            CourseError, match=r"pyodide\.mjs is not the file of Pyodide 0\.29\.0 with SHA-256"
        ):
            runtime_files(tmp_path)

    def test_functions_write_where_katas_of_a_choice_are_left_out(self, tmp_path):
        course = Course(ROOT)
        parts = speech_in(course).parts
        for name, data in course_files(course, [course.katas[one] for one in parts]).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        site = Course(tmp_path)
        assert speech_in(course).settings.keys() >= {"temperature", "top_p"}
        assert [*speech_in(site).settings, *speech_in(site).ways] == []
        with Show(site) as show:
            *_, last = show.answers(Speak(Wish(speech_in(site).prompt), mine=False))
        assert isinstance(last, Written)
        assert last.remarks[0].startswith("6 katas to go until your functions write a text: token_embedding,")

    def test_no_solution_is_in_what_a_site_has_of_a_course(self):
        course = Course(ROOT)
        found = course_files(course, [*course.katas.values()])
        assert not [name for name in found if "solutions" in name]
        assert b"powers / total" not in b"".join(found.values())


class Server:
    """A plain file server, which can stop and go on."""

    def __init__(self, folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(quiet):
                if quiet.path.startswith("/keys/"):
                    time.sleep(self.late)
                super().do_GET()

        self.late = 0  # seconds until a key is sent
        self._handler, self._port = functools.partial(Quiet, directory=folder), 0
        self.go_on()

    def go_on(self):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self):
        return f"http://127.0.0.1:{self._port}"


@pytest.fixture(scope="module")
def built(tmp_path_factory, runtime):
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(Course(ROOT), folder, SiteOptions(NAMES, runtime, None, SEED, unverified=True))
    return folder


@pytest.fixture
def server(built):
    one = Server(built)
    yield one
    one.stop()


@pytest.fixture
def page(browser, server):
    """The kata softmax in a browser that has kept nothing yet."""
    origin = {"origin": server.address, "storageTypes": "all"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", origin)
    visit(browser, server)
    yield browser
    browser.get("about:blank")


def visit(browser, server, path="/kata/softmax"):
    browser.get("about:blank")
    browser.get(f"{server.address}/#{path}")
    wait(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".editor .cm-content"))


def wait(browser, holds):
    ignored = (StaleElementReferenceException,)
    return WebDriverWait(browser, SECONDS, 0.05, ignored).until(lambda _: holds())


def write(browser, text):
    """Replace all of the editor's text in one change, as a paste does."""
    browser.find_element(By.CSS_SELECTOR, ".editor .cm-content").click()
    browser.execute_cdp_cmd("Input.dispatchKeyEvent", SELECT_ALL)
    browser.execute_cdp_cmd("Input.insertText", {"text": text})


#: What this tab sends to its judge waits until `release()`.
HOLD = """
    const { postMessage } = Worker.prototype, kept = [];
    Worker.prototype.postMessage = function (message) { kept.push([this, message]); };
    window.release = () => {
        Worker.prototype.postMessage = postMessage;
        for (const [worker, message] of kept) worker.postMessage(message);
    };
"""
#: The workers of the page; and what breaks each of them, also those that come in their place.
WORKERS = """{  // names of its own, beside other scripts of the browser
    const Own = window.Worker;
    window.workers = [];
    window.Worker = class extends Own {
        constructor(...words) { super(...words); window.workers.push(this); }
    };
}"""
BREAK = "for (const one of workers) one.onmessage({ data: { kind: 'broken', text: 'no memory' } });"
SELECT_ALL = {"type": "keyDown", "commands": ["selectAll"], "key": "a", "modifiers": 2}


def text_of(browser):
    return browser.execute_script("return document.querySelector('.editor .cm-content')?.innerText ?? ''")


def fresh(browser):
    """The verdict that is shown, once it is that of the text; empty until then."""
    script = (
        "const shown = document.querySelector('.shown');"
        "return shown && !shown.classList.contains('stale') ? shown.innerText : ''"
    )
    return browser.execute_script(script)


def shows(browser, *words):
    try:
        wait(browser, lambda: all(word in fresh(browser) for word in words))
    except Exception:
        raise AssertionError(f"{words} are not in: {fresh(browser)}") from None


def take_out(browser):
    """Take the files out by the dialog, and return the zip."""
    browser.execute_script("taken = null; URL.createObjectURL = (blob) => ((taken = blob), '#')")
    open_files(browser)
    browser.find_element(By.XPATH, "//button[text()='Take them out']").click()
    wait(browser, lambda: browser.execute_script("return Boolean(taken)"))
    close_files(browser)
    script = "taken.arrayBuffer().then((data) => arguments[0](String.fromCharCode(...new Uint8Array(data))))"
    browser.set_script_timeout(SECONDS)
    return browser.execute_async_script(script).encode("latin-1")


def bring_in(browser, path):
    """Bring a zip in by the dialog, and return what is told."""
    open_files(browser)
    browser.find_element(By.ID, "zip").send_keys(str(path))
    status = "dialog[open] [role=status]"
    wait(browser, lambda: browser.find_element(By.CSS_SELECTOR, status).text)
    told = browser.find_element(By.CSS_SELECTOR, status).text
    close_files(browser)
    return told


def open_files(browser):
    browser.find_element(By.XPATH, "//header//button[text()='Files']").click()
    wait(browser, lambda: browser.find_elements(By.ID, "zip"))


def close_files(browser):
    browser.find_element(By.XPATH, "//dialog[@open]//button[text()='Close']").click()


@pytest.mark.slow
class TestInChromium:
    def test_an_answer_is_named_mended_and_passed_and_goes_on_in_a_clone(self, page, tmp_path):
        write(page, WRONG)
        shows(page, "The whole array sums to one, its slices do not", "/ 10")
        points = re.search(r"([\d.]+) / 10", fresh(page))[1]
        page.refresh()
        wait(page, lambda: "powers.sum()" in text_of(page))
        clone = unpacked(take_out(page), tmp_path / "wrong")
        assert graded(clone) == points
        write(page, RIGHT)
        shows(page, "10 / 10")
        clone = unpacked(take_out(page), tmp_path / "right")
        assert CourseState(Course(clone)).kata("softmax").has_passed
        assert graded(clone) == "10"

    def test_a_loop_that_does_not_end_is_stopped_and_the_next_text_is_judged(self, page):
        write(page, ENDLESS)
        shows(page, "a call did not end within 10 seconds")
        write(page, RIGHT)
        shows(page, "10 / 10")

    def test_a_key_that_comes_late_is_waited_for(self, browser, server):
        origin = {"origin": server.address, "storageTypes": "all"}
        browser.execute_cdp_cmd("Storage.clearDataForOrigin", origin)
        server.late = 12  # longer than a call may take
        visit(browser, server)
        wait(browser, lambda: fresh(browser))
        assert "0 / 10 not started" in fresh(browser)
        browser.get("about:blank")

    def test_it_works_without_a_network(self, page, server):
        write(page, RIGHT)
        shows(page, "10 / 10")
        kept = "return caches.match('keys/token_embedding.key').then(Boolean)"
        wait(page, lambda: page.execute_script(kept))
        server.stop()
        try:
            visit(page, server)
            shows(page, "10 / 10")
            write(page, WRONG)
            shows(page, "The whole array sums to one")
        finally:
            server.go_on()

    def test_two_tabs_see_what_the_other_one_writes(self, page, server):
        first = page.current_window_handle
        page.switch_to.new_window("tab")
        page.set_window_size(1440, 900)
        try:
            visit(page, server)
            write(page, "# from the second tab\n" + RIGHT)
            shows(page, "10 / 10")
            page.switch_to.window(first)
            wait(page, lambda: "# from the second tab" in text_of(page))
        finally:
            for handle in set(page.window_handles) - {first}:
                page.switch_to.window(handle)
                page.close()
            page.switch_to.window(first)

    def test_two_tabs_that_both_were_typed_in_ask_and_lose_nothing(self, page, server):
        first = page.current_window_handle
        shows(page, "not started")
        page.switch_to.new_window("tab")
        page.set_window_size(1440, 900)
        try:
            visit(page, server)
            shows(page, "not started")
            page.switch_to.window(first)
            page.execute_script(HOLD)
            write(page, "# from the first tab\n" + RIGHT)
            page.switch_to.window(page.window_handles[-1])
            write(page, "# from the second tab\n" + RIGHT)
            shows(page, "10 / 10")
            page.switch_to.window(first)
            page.execute_script("release()")
            conflict = page.find_element(By.CSS_SELECTOR, ".conflict")
            wait(page, conflict.is_displayed)
            assert "from the second tab" in conflict.text
            assert "# from the first tab" in text_of(page)
            conflict.find_element(By.XPATH, ".//button[text()='Keep what is here']").click()
            page.switch_to.window(page.window_handles[-1])
            wait(page, lambda: "# from the first tab" in text_of(page))
        finally:
            for handle in set(page.window_handles) - {first}:
                page.switch_to.window(handle)
                page.close()
            page.switch_to.window(first)
        names = zipfile.ZipFile(io.BytesIO(take_out(page))).namelist()
        assert len([name for name in names if name.startswith(".dojo/replaced/")]) == 1

    def test_who_loads_the_page_again_right_after_a_key_loses_nothing(self, page):
        shows(page, "not started")
        write(page, RIGHT)
        page.refresh()
        offer = "//button[text()='Put it into the editor']"
        wait(page, lambda: "largest =" in text_of(page) or page.find_elements(By.XPATH, offer))
        for button in page.find_elements(By.XPATH, offer):  # what was sent last has not arrived
            button.click()
        shows(page, "10 / 10")

    def test_where_python_has_ended_for_good_it_says_so_and_keeps_what_is_typed(self, browser, server):
        origin = {"origin": server.address, "storageTypes": "all"}
        browser.execute_cdp_cmd("Storage.clearDataForOrigin", origin)
        added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WORKERS})
        try:
            visit(browser, server)
            shows(browser, "not started")
            browser.execute_script(BREAK)
        finally:
            browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        wait(browser, lambda: "Python has ended" in browser.find_element(By.CSS_SELECTOR, ".top").text)
        write(browser, RIGHT)
        lost = wait(browser, lambda: browser.find_elements(By.ID, "lost"))[0]
        assert "Python has ended in this tab\nLoad the page again; what you typed is kept." in lost.text
        browser.refresh()
        wait(browser, lambda: browser.find_elements(By.XPATH, "//button[text()='Put it into the editor']"))
        browser.find_element(By.XPATH, "//button[text()='Put it into the editor']").click()
        shows(browser, "10 / 10")
        browser.get("about:blank")

    def test_output_without_end_and_a_deep_recursion_leave_a_judge_that_works(self, page):
        write(page, RIGHT.replace("    largest =", "    print('x' * 1_000_000)\n    largest ="))
        shows(page, "print")
        write(
            page, RIGHT.replace("    largest =", "    deep = lambda n: [deep(n)]\n    deep(0)\n    largest =")
        )
        shows(page, "RecursionError")
        write(page, RIGHT)
        shows(page, "10 / 10")

    def test_a_zip_comes_in_and_one_that_is_none_is_refused_with_one_sentence(self, page, tmp_path):
        (tmp_path / "no.zip").write_bytes(b"no zip")
        told = bring_in(page, tmp_path / "no.zip")
        assert told.startswith("This is no zip of a course's files: it cannot be read as a zip file")
        with (tmp_path / "large.zip").open("wb") as large:
            large.truncate(2 << 30)
        told = bring_in(page, tmp_path / "large.zip")
        assert told == "This is no zip of a course's files: it has 2048 MiB, and 32 are the most."
        path = "exercises/attention/softmax.py"
        (tmp_path / "clone.zip").write_bytes(zip_of({path: RIGHT}))
        assert bring_in(page, tmp_path / "clone.zip") == "Brought in: 1 kata."
        wait(page, lambda: "powers / total" in text_of(page))

    def test_opened_as_a_file_it_says_what_to_do(self, browser, built):
        browser.get((built / "index.html").as_uri())
        status = browser.find_element(By.CSS_SELECTOR, "#page [role=status]").text
        assert status == "This page has to come from a web server. In its folder, run: python -m http.server"


def unpacked(packed, folder):
    """Unpack a zip into a fresh copy of the course, and return its folder."""
    shutil.copytree(ROOT / "exercises", folder / "exercises")
    shutil.copytree(ROOT / "tests/katas", folder / "tests/katas")
    shutil.copytree(ROOT / "solutions", folder / "solutions")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    return folder


def graded(clone):
    """Return the points that `grade` gives to softmax in a clone."""
    command = [sys.executable, "-P", "-m", "grader.cli.grade", "softmax", "--format", "json"]
    done = subprocess.run([*command, "--course", clone], capture_output=True, text=True, timeout=SECONDS)
    return f"{json.loads(done.stdout)['katas'][0]['score']:g}"
