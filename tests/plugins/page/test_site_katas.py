"""In Pyodide every kata in NumPy has the verdict, the points and the names that it has here."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dojo_page.site import SiteOptions, write_site
from grader.answer_keys.file import open_keyring
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import read_text
from grader.grading.grader import Grader
from grader.report import Report, to_json
from grader.worker.own_process import OwnFactories

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
KERNELS = ("masked_add", "flash_attention_kernel")  # each takes a minute, so two stand for all
KATAS = [
    info.name
    for info in Course(ROOT).katas.values()
    if info.library == "numpy" and (info.track != "kernels" or info.name in KERNELS)
]
MISTAKES = 3  # of each kata
SAID = ("status", "score", "max_score")  # the words of an exception may differ


@pytest.mark.slow
@pytest.mark.every(12)
@pytest.mark.parametrize("kata", KATAS)
def test_the_verdict_is_the_one_that_is_given_here(kata, runtime, tmp_path):
    if not shutil.which("node"):
        pytest.skip("there is no node, which runs Pyodide without a browser")
    course = Course(ROOT)
    info = course.katas[kata]
    names = tuple(one.name for one in course.with_needs([info]))
    write_site(course, tmp_path / "site", SiteOptions(names, runtime, None, SEED, unverified=True))
    sources = {"reference": course.solution(info, "reference").read_text(encoding="utf-8")}
    sources |= standalone_sources(course, info, "variants")
    sources |= dict(list(standalone_sources(course, info, "mistakes").items())[:MISTAKES])
    there = verdicts_in_pyodide(tmp_path / "site", course, info, sources)
    keyring = open_keyring(course, [info], tmp_path / "site/keys", None)
    grader = Grader(course, OwnFactories(), keyring=keyring)
    for (name, source), found in zip(sources.items(), there, strict=True):
        read = read_text(info, source, Path(f"{kata}.py"), grader.reader(info))
        assert told(to_json(Report((grader.grade(read).report,)))) == found, name


def verdicts_in_pyodide(site, course, info, sources):
    """Return what is told of each source, judged after the katas that it needs."""
    requests = []
    for needed in course.with_needs([info]):
        reference = course.solution(needed, "reference").read_text(encoding="utf-8")
        requests.append({"kind": "save", "kata": needed.name, "text": reference, "base": "", "over": True})
    requests += [{"kind": "grade", "kata": info.name, "text": source} for source in sources.values()]
    lines = [json.dumps({"v": 1, "id": at, **one}) for at, one in enumerate(requests, 1)]
    (site / "requests").write_text("\n".join(lines))
    command = ["node", str(HERE / "run_site.mjs"), str(site), str(site / "requests")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [told(one["report"]) for one in answers if one["kind"] == "verdict" and one["last"]]


def told(report):
    """Return what a report says of one kata: its status, the points of each check, and the mistakes it names.

    Which check has a name does not count: where numbers explode, the last digits decide what is left of them,
    and in Pyodide these are others.
    """
    (kata,) = report["katas"]
    checks = {check["name"]: (check["status"], check["score"]) for check in kata["checks"]}
    names = {check["mistake"]["id"] for check in kata["checks"] if check.get("mistake")}
    return {name: kata[name] for name in SAID}, checks, names
