"""A submission gets the same report alone, in a class, with a key, in a notebook and from a wheel."""

import copy
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dojo_authoring.release.keys import entry_of
from dojo_notebooks.magics import grade_source
from grader.answer_keys.answers import spread
from grader.answer_keys.file import KeyFile, Keyring, write
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.grading import grader as naming_limit
from grader.grading.grader import Grader
from grader.grading.session import open_grader
from grader.worker.fork_server import WorkerFactories

from .translated_mistakes import translated

ROOT = Path(__file__).resolve().parents[2]
#: The fields of a check that say which case it shows.
SHOWN = ("call", "counterexample", "expected", "got", "difference", "came", "pictures", "snippet", "printed")
KATAS = [
    "top_p",
    "softmax",
    "causal_mask",
    "cross_entropy",
    "temperature_sampling",
    "kv_cache",
    "causal_self_attention",
]

#: How many variants, and mistakes, of a kata are graded: `DOJO_SAMPLE=1000` takes all of them.
SAMPLE = int(os.environ.get("DOJO_SAMPLE", "1"))

#: Submissions that once got a different report alone than in a class.
PECULIAR = {
    "keeps results by the identity of the argument": """
        import numpy as np
        known = {}
        def softmax(x, axis=-1):
            if id(x) not in known:
                e = np.exp(np.asarray(x, dtype=float) - np.max(x, axis=axis, keepdims=True))
                known[id(x)] = (e / e.sum(axis=axis, keepdims=True)).astype(getattr(x, "dtype", float))
            return known[id(x)]
    """,
    "answers with a tensor of PyTorch": """
        import numpy as np, torch
        def softmax(x, axis=-1):
            return torch.softmax(torch.from_numpy(np.array(x)).to(torch.float32), axis)
    """,
    "looks for the answers in its process": """
        import gc, numpy as np
        def softmax(x, axis=-1):
            held = [v for o in gc.get_objects() if type(o) is dict for v in o.values()]
            near = [v for v in held if isinstance(v, np.ndarray) and v.shape == x.shape and v is not x]
            return near[-1] if near else x * 0
    """,
    "changes with the number of its calls": """
        import numpy as np
        calls = 0
        def softmax(x, axis=-1):
            global calls
            calls += 1
            e = np.exp(np.asarray(x, dtype=float) - np.max(x, axis=axis, keepdims=True))
            y = (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype if x.dtype.kind == "f" else float)
            return y * (1 + calls % 2) if 100 < calls < 260 else y
    """,
}


BY_IDENTITY = "keeps results by the identity of the argument"


def verdicts(report):
    """Return the status, and the checks that fail. Whether a check that holds has enough cases that agree to
    give points hangs on the addresses."""
    failing = [check["name"] for check in report["checks"] if check["status"] not in ("passed", "skipped")]
    return {"status": report["status"], "checks": failing}


def told(report):
    """Return a report without what differs from run to run: its times, and what a search with a time limit
    found."""
    return asdict(replace(report, seconds=0.0, repairs=()))


def unprinted(report):
    """Return a report without printed text: pytest captures warnings in its own process and its forks."""
    return {**report, "output": "", "file": ""} if isinstance(report, dict) else report


def answers(course, name):
    """Return a kata's reference, and some of its variants and mistakes, by name; and a right and a wrong
    answer in PyTorch to a NumPy kata."""
    info = course.kata_info(name)
    found = {"reference": course.solution(info, "reference").read_text(encoding="utf-8")}
    for part in ("variants", "mistakes"):
        found |= dict(spread(list(standalone_sources(course, info, part).items()), SAMPLE))
    in_torch = course.solution(info, "in_torch")
    if in_torch.is_file():
        found["right in PyTorch"] = in_torch.read_text(encoding="utf-8")
        found["wrong in PyTorch"] = translated(list(found.values())[-2], info.entry_points)
    return found


def grade(grader, name, source):
    info = grader.course.kata_info(name)
    try:
        return told(grader.grade(Submission(info, textwrap.dedent(source), f"{name}.py")).report)
    except SubmissionRejected as refused:
        return str(refused)


@pytest.fixture(scope="module")
def shared():
    """A grader that grades many submissions, as for a class."""
    course = Course(ROOT)
    grader, source = open_grader(course, [course.kata_info(name) for name in KATAS])
    with closing(source):
        yield grader


@pytest.fixture(scope="module")
def keyring():
    """`keyring(name)` opens the kind of key for that kata that students receive."""
    course = Course(ROOT)

    def ring(name):
        data = write([entry_of(course, course.kata_info(name), SEED)], SEED, "0")
        return Keyring([KeyFile(data, f"{name}.key")], "keys")

    return ring


def every_way(shared, keyring, name, sources):
    """Return the reports of the sources: in both orders after another kata, each alone, and with a key."""
    course, library = Course(ROOT), shared.course.kata_info(name).library
    grade(shared, "causal_mask", "def causal_mask(query_len, key_len=None):\n    return 1\n")
    yield {key: grade(shared, name, source) for key, source in sources.items()}
    yield {key: grade(shared, name, sources[key]) for key in reversed(sources)}
    alone = {}
    for key, source in sources.items():
        with closing(WorkerFactories([library])) as fresh:
            alone[key] = grade(Grader(course, fresh), name, source)
    yield alone
    with closing(WorkerFactories([library])) as fresh:
        with_key = Grader(course, fresh, keyring=keyring(name))
        yield {key: grade(with_key, name, source) for key, source in sources.items()}


def without_shown_cases(reports):
    """Return reports without the cases that they show: beside a key there is no reference to make easier
    ones with."""
    found = copy.deepcopy(reports)
    for report in found.values():
        for check in report["checks"]:
            if isinstance(check, str):  # its name alone, where `verdicts` has left out the rest
                continue
            for field in SHOWN:
                check.pop(field)
            check["message"] = re.sub(r"-?\d+", "", check["message"])
    return found


def assert_all_equal(found):
    first, *others = found
    for other in others:
        for key, report in first.items():
            assert other[key] == report, key


@pytest.mark.every(7)
@pytest.mark.slow
@pytest.mark.parametrize("name", KATAS)
def test_every_answer_has_one_report(shared, keyring, name, monkeypatch):
    # what is named at the very end of its time, by the first grader alone or by the others, is no claim
    monkeypatch.setattr(naming_limit, "NAMING_SECONDS", 2 * naming_limit.NAMING_SECONDS)
    *without_key, with_key = every_way(shared, keyring, name, answers(shared.course, name))
    assert_all_equal(without_key)
    assert_all_equal([without_shown_cases(without_key[0]), without_shown_cases(with_key)])


@pytest.mark.slow
def test_what_lives_on_how_it_is_asked_has_one_report(shared, keyring):
    found = list(every_way(shared, keyring, "softmax", PECULIAR))
    for reports in found:  # the allocator may reuse addresses, which must not change a verdict
        reports[BY_IDENTITY] = verdicts(reports[BY_IDENTITY])
    *without_key, with_key = found
    assert_all_equal(without_key)
    assert_all_equal([without_shown_cases(found[0]), without_shown_cases(with_key)])
    failed = {key for key, report in found[0].items() if report["status"] == "failed"}
    assert failed == set(PECULIAR)


@pytest.mark.slow
def test_sleeping_costs_nothing_within_the_limits(tiny_course):
    code = """
        import time
        calls = 0
        def double(x):
            global calls
            calls += 1
            time.sleep(1.2 if calls == 20 else 0.107)
            if isinstance(x, str): raise ValueError
            return x + x
    """
    with closing(WorkerFactories(["numpy"])) as sources:
        grader = Grader(tiny_course, sources)
        first, again = (grade(grader, "double", code) for _ in range(2))
    assert again == first
    assert first["status"] == "passed"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the package from a wheel and return its folder."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(io.BytesIO(wheel[1])) as archive:
        archive.extractall(folder / "site-packages")
    return folder / "site-packages"


GRADE = """
import json, sys
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import grader
assert grader.__file__.startswith(sys.argv[1]), grader.__file__
from grader.course.catalog import Course
from grader.grading.session import open_grader
from grader.course.submission import Submission
course = Course(Path(sys.argv[2]))
name, sources = json.load(sys.stdin)
info = course.kata_info(name)
grader, source = open_grader(course, [info])
with closing(source):
    graded = {key: grader.grade(Submission(info, text, f"{name}.py")).report for key, text in sources.items()}
print(json.dumps({key: asdict(replace(report, seconds=0.0)) for key, report in graded.items()}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax", "top_p"])
def test_a_wheel_gives_the_same_reports_from_a_bank_of_its_own(
    shared, installed, name, tmp_path, monkeypatch
):
    sources = answers(shared.course, name)
    here = {key: grade(shared, name, source) for key, source in sources.items()}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-P", "-c", GRADE, str(installed), str(ROOT)]
    said = json.dumps([name, sources])
    done = subprocess.run(command, input=said, capture_output=True, text=True, check=True, cwd=tmp_path)
    there = json.loads(done.stdout)
    for key, report in json.loads(json.dumps(here)).items():
        assert unprinted(there[key]) == unprinted(report), key


@pytest.mark.slow
def test_a_notebook_gives_the_same_report(shared):
    info = shared.course.kata_info("softmax")
    of_the_course, peculiar = answers(shared.course, "softmax"), list(PECULIAR.values())
    # the first two hang on addresses, and on whether a worker of NumPy has the memory to import PyTorch
    for source in [of_the_course["reference"], of_the_course["wrong in PyTorch"], *peculiar[-2:]]:
        here = grade(shared, "softmax", source)
        there = told(grade_source(info, textwrap.dedent(source)))
        assert unprinted(there) == unprinted(here)
