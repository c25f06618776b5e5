"""Fixtures for the tests: workers, students and a course of two katas; and which tests run."""

import collections
import os
import shutil
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from dojo_authoring.release.wheel import build_wheel
from dojo_authoring.verify.record import write_record
from grader.cases import oracle
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.secret_seed import PLACE
from grader.course.state import STATE_FOLDER
from grader.course.submission import read_submission
from grader.grading import submission_run
from grader.grading.grader import Grader
from grader.reading.rules import everywhere
from grader.values.exchange import ArrayExchange
from grader.worker import client
from grader.worker.child.executor import load_module
from grader.worker.client import RemoteStudent
from grader.worker.fork_server import open_source
from grader.worker.in_process import LocalStudent

collect_ignore = ["grader/golden", "plugins/audit/layouts"]  # tests of exercises

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LOAD_SECONDS = 20.0

# --- which tests run, and with how many examples ----------------------------------------------------

#: `make test-all` sets it: then Hypothesis draws more examples.
EVERYTHING = os.environ.get("DOJO_TESTS") == "all"


def pytest_configure():
    from hypothesis import settings

    settings.register_profile("decoder-dojo", max_examples=200 if EVERYTHING else 25)
    settings.load_profile("decoder-dojo")
    os.environ.pop("CI", None)  # where it is set, `grade` remembers nothing; tests of that set it


def pytest_collection_modifyitems(items):
    """Mark as `rest` all cases but every n-th where a test says `every(n)`."""
    cases = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("every")
        name = (item.path, item.originalname)
        if mark and cases[name] % mark.args[0]:
            item.add_marker("rest")
        cases[name] += 1


# --- fixtures ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory):
    """A cache folder of the run; only what was judged is shared with `kata verify` and with other runs."""
    judged = oracle.folder()
    with pytest.MonkeyPatch.context() as patch:
        shared = os.environ.get("PYTEST_XDIST_WORKER") is not None  # then the folder is inside the run's
        base = tmp_path_factory.getbasetemp()
        patch.setenv("XDG_CACHE_HOME", str((base.parent if shared else base) / "cache"))
        with suppress(OSError):  # another worker has made the link, or nothing can be shared
            judged.mkdir(parents=True, exist_ok=True, mode=0o700)
            oracle.folder().parent.mkdir(parents=True, exist_ok=True)
            oracle.folder().symlink_to(judged, target_is_directory=True)
        yield


@pytest.fixture(scope="session")
def numpy_source():
    source = open_source("numpy")
    yield source
    source.close()


@pytest.fixture(scope="session")
def plain_source():
    """A factory of workers without a sandbox, for tests that the sandbox would prevent."""
    source = open_source("numpy", isolation="none")
    yield source
    source.close()


@pytest.fixture(scope="session")
def torch_source():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    source = open_source("torch")
    yield source
    source.close()


@pytest.fixture(scope="session")
def wheel():
    """The name and the bytes of the grader's wheel, built once."""
    return build_wheel()


@pytest.fixture(scope="session")
def _chromium():
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("there is no Chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    for switch in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{switch}")
    chromium = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield chromium
    chromium.quit()


@pytest.fixture
def browser(_chromium):
    """Headless Chromium on a blank page of 1280 × 800, in light colours; skipped where there is none.

    `browser.get_log("performance")` lists the requests of the page, `browser.get_log("browser")` its errors.
    For a phone or the dark, call `browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", …)` or
    `browser.execute_cdp_cmd("Emulation.setEmulatedMedia", …)`; the next test starts without them.
    """
    _chromium.get("about:blank")
    size = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    _chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    _chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": light})
    for log in ("performance", "browser"):
        _chromium.get_log(log)  # reading a log empties it
    return _chromium


@pytest.fixture
def connect(request):
    """`connect(code)` loads code in a worker and returns the RemoteStudent."""
    processes = []

    def start(code, *, library="numpy", source="", entry_points=(), forbidden=(), call_seconds=5.0):
        process = request.getfixturevalue(f"{source or library}_source").start("cpu")
        processes.append(process)
        student = RemoteStudent(process, call_seconds, exchange=ArrayExchange(library))
        student.greeting(LOAD_SECONDS)
        student.loaded = student.load(
            "kata",
            LOAD_SECONDS,
            source=textwrap.dedent(code),
            entry_points=list(entry_points),
            forbidden=sorted(everywhere(forbidden)),
        )
        return student

    yield start
    for process in processes:
        process.kill()


def load_locally(code):
    """Load trusted code in this process and return the LocalStudent."""
    return LocalStudent(load_module("kata", textwrap.dedent(code)), "kata.py")


@pytest.fixture(params=["local", "remote"])
def meet(request):
    """`meet(code)` returns a student, once in this process and once in a worker."""
    if request.param == "local":
        return lambda code, **_: load_locally(code)
    return request.getfixturevalue("connect")


@pytest.fixture
def meet_locally():
    return load_locally


@pytest.fixture
def impatient(monkeypatch):
    """Lower the limits of CPU time to one second per call and three per import, and the wall times too."""
    monkeypatch.setattr(client, "WALL_FACTOR", 2)
    monkeypatch.setattr(submission_run, "CALL_SECONDS", 1.0)
    monkeypatch.setattr(submission_run, "LOAD_SECONDS", 3.0)


DOUBLE = {
    "tests/katas/attention/test_double.py": '''
        import numpy as np

        from grader import expect
        from grader import strategies as st
        from grader.kata import Kata, Rule

        KATA = Kata(
            "double",
            track="attention",
            entry_points=("double",),
            title="Twice as much",
            source="nowhere",
            hints=("Think of two.",),
            rules=(Rule(("numpy.multiply",), "Write it with an operator."),),
            shortcuts=("numpy.add", "torch.Tensor.double"), bank_size=8,
        )

        @KATA.cases
        def cases(draw):
            shape = draw(st.shapes(2, 3))
            return {"x": draw(st.readable_arrays(shape, draw(st.float_dtypes()))) + draw(st.integers(0, 2))}

        @KATA.example
        def one():
            return {"x": np.ones((1, 2), dtype=np.float32)}

        @KATA.law(points=1)
        def test_twice_is_a_sum(student, x):
            """Twice x is x plus x."""
            expect.close(student.double(x), x + x, "double(x)")

        @KATA.law(points=1)
        def test_refuses_text(student):
            """Text is refused."""
            expect.refuses(student.double, "text", why="text is no array")
    ''',
    "solutions/attention/double/reference.py": """
        def double(x):
            if isinstance(x, str):
                raise ValueError("text")
            return x + x
    """,
    "solutions/attention/double/mistakes.py": '''
        def _checked(x):
            if isinstance(x, str):
                raise ValueError("text")
            return x

        def triples(x):
            """The result is three times x:
            one x too many was added."""
            return 3 * _checked(x)

        def takes_the_size(x):
            """Negative numbers come out positive: the sign was lost."""
            return abs(_checked(x)) * 2

        def forgets_the_first_row(x):
            """The first row stays as it was."""
            y = _checked(x) * 2
            y[0] = x[0]
            return y

        def accepts_text(x):
            """Text is doubled as well: refuse it with ValueError."""
            return x * 2
    ''',
    "solutions/attention/double/variants.py": '''
        def shifts(x):
            """Another way: multiply by two.

            A product in place of the sum.
            """
            if isinstance(x, str):
                raise ValueError("text")
            return x * 2
    ''',
    "exercises/attention/double.py": '''
        """Twice as much."""

        def double(x):
            """Return x + x."""
            raise NotImplementedError
    ''',
}

CENTER = {
    "tests/katas/modules/test_center.py": """
        import numpy as np

        from grader import strategies as st
        from grader.kata import Kata

        KATA = Kata(
            "center",
            track="modules",
            entry_points=("Center",),
            title="Around the mean",
            source="nowhere",
            hints=("Subtract.",),
            library="torch",
            grades_gradients=True,
            bank_size=8,
        )

        @KATA.cases
        def cases(draw):
            rows, width = draw(st.integers(1, 3)), draw(st.integers(2, 4))
            dtype = draw(st.float_dtypes())
            x = draw(st.tensors(st.normal_arrays((rows, width), dtype)))
            return {"x": x, "scale": draw(st.tensors(st.normal_arrays((width,), "float32")))}

        @KATA.observe
        def observe(student, x, scale):
            layer = student.Center(x.shape[-1])
            layer.load_state_dict({"scale": scale})
            return {"result": layer(x)}
    """,
    "solutions/modules/center/reference.py": """
        import torch
        from torch import nn

        class Center(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(width))

            def forward(self, x):
                return (x - x.mean(-1, keepdim=True)) * self.scale
    """,
    "solutions/modules/center/mistakes.py": '''
        import torch
        from torch import nn

        class _Center(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(width))

        class detaches_the_mean(_Center):
            """No gradient flows through the mean: it was detached."""

            def forward(self, x):
                return (x - x.mean(-1, keepdim=True).detach()) * self.scale

        class detaches_x(_Center):
            """Only the mean passes a gradient on: x itself was detached."""

            def forward(self, x):
                return (x.detach() - x.mean(-1, keepdim=True)) * self.scale

        class detaches_the_scale(_Center):
            """No gradient reaches the scale: `.data` leaves the graph."""

            def forward(self, x):
                return (x - x.mean(-1, keepdim=True)) * self.scale.data

        class forgets_the_scale(_Center):
            """The scale has no effect."""

            def forward(self, x):
                return x - x.mean(-1, keepdim=True)
    ''',
    "exercises/modules/center.py": '''
        """Around the mean."""

        class Center:
            """Subtract the mean, times a learnt scale."""

            def forward(self, x):
                raise NotImplementedError
    ''',
}


def write_files(root, files):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).strip() + "\n")
    return root


@pytest.fixture
def write():
    """`write(folder, {name: text})` writes files, dedented."""
    return write_files


@pytest.fixture(scope="session")
def tiny_course(tmp_path_factory):
    """A course of two katas: `double` in NumPy, `center` in PyTorch, which grades gradients."""
    course = Course(write_files(tmp_path_factory.mktemp("course"), {**DOUBLE, **CENTER}))
    write_record(course, list(course.katas.values()))  # so that it can be released
    (course.root / PLACE).write_text(f"[[seeds]]\nsince = 2026-01-01T00:00:00+00:00\nseed = {SEED}\n")
    return course


@pytest.fixture(autouse=True)
def _tiny_course_forgets(request):
    """What a test did with the shared course is not remembered in the next: its scores, hints and answers."""
    yield
    if "tiny_course" in request.fixturenames:
        root = request.getfixturevalue("tiny_course").root
        shutil.rmtree(root / STATE_FOLDER, ignore_errors=True)
        files = {**DOUBLE, **CENTER}.items()
        write_files(root, {name: text for name, text in files if name.startswith("exercises/")})


@pytest.fixture
def tiny_files():
    """The files of that course, for a course of one test's own."""
    return {**DOUBLE, **CENTER}


@pytest.fixture
def grade(request, tiny_course, tmp_path):
    """`grade(code)` returns the report of that code for a kata of the tiny course."""

    def grade_code(code, kata="double"):
        library = tiny_course.kata_info(kata).library
        name = f"_grader_{library}"
        if not hasattr(request.config, name):
            source = request.getfixturevalue(f"{library}_source")
            setattr(request.config, name, Grader(tiny_course, {library: source}))
        file = tmp_path / f"{kata}.py"
        file.write_text(textwrap.dedent(code))
        return getattr(request.config, name).grade(read_submission(tiny_course.kata_info(kata), file)).report

    return grade_code


@pytest.fixture(scope="session")
def softmax_grader(numpy_source):
    """A grader of the shipped course, for submissions to softmax."""
    return Grader(Course(ROOT), {"numpy": numpy_source})
