"""Every format obeys the rules of its host for all statuses, fractions of points and hostile texts."""

import base64
import html.parser
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from grader import formats
from grader.formats import classroom, classroom50, summary
from grader.report import CheckReport, Isolation, KataReport, Mistake, Report

HOSTILE = (
    "x\r\n::error::forged\n  ::set-output name=result::e30=\n##[error]forged\x1b[2J\x00\ud800\ufffe"
    "</pre><script>alert(1)</script>]]>&amp;\n```\n# forged\n| a | b |\n~~~\u2028::notice::forged @everyone"
)
MISTAKE = Mistake("forgets_the_max", "exp overflows: which number can be taken away?")


def check(name, points, score, **more):
    status = "passed" if score == points else "failed"
    return CheckReport(name, f"The claim of {name}.", more.pop("status", status), score, points, **more)


def kata(name, *checks, status=None, **more):
    whole = all(c.score == c.max_score for c in checks)
    found = status or ("passed" if whole else "failed")
    return KataReport(name, "attention", found, more.pop("max_score", 1000), 0.25, checks=checks, **more)


RIGHT = kata("softmax", check("a", 933, 933), check("b", 67, 67))
PARTIAL = kata(
    "top_p",
    check("a", 933, 933),
    check("b", 67, 0, message="Not so (line 7).", call="top_p(x)", expected="[1.0]", got="[nan]",
          difference="[0]", counterexample={"x": "[0.0]"}, mistake=MISTAKE),
)  # fmt: skip
ZERO = kata("top_k", check("a", 933, 0, message="Nothing came."), check("b", 67, 0, status="timeout"))
BROKEN = kata("greedy", status="error", message="greedy.py has a syntax error in line 3: no.")
STUB = kata("beam", status="not_started")
WAITING = kata("cache", status="waiting", message="Waiting for `top_p`.")
EVIL = kata(
    "evil",
    check("a", 1000, 0, status="error", message=f"The code raised {HOSTILE} (line 2).", call=HOSTILE,
          counterexample={"x": HOSTILE}, expected="1", got=HOSTILE),
    output=HOSTILE,
)  # fmt: skip
FATES = {
    "full": Report((RIGHT,)),
    "partial": Report((RIGHT, PARTIAL, ZERO, STUB)),
    "zero": Report((ZERO, STUB, WAITING)),
    "error": Report((BROKEN,)),
    "mixed": Report((PARTIAL, BROKEN, EVIL), "cpu", Isolation()),
    "nothing": Report(()),
}
POINTS = {"full": 10, "partial": 19.33, "zero": 0, "error": 0, "mixed": 9.33, "nothing": 0}
fates = pytest.mark.parametrize("fate", FATES)


def render(form, report, **setting):
    document = formats.documents(form)[0]
    return classroom50.render(report, setting) if form == "classroom50" else document.render(report)


def record(form, report):
    """Return the JSON record of a format; Classroom's is decoded from base64."""
    text = render(form, report)
    if form == "classroom":
        text = base64.b64decode(text.removeprefix("result=").strip()).decode()
    return json.loads(text)


@pytest.mark.parametrize("form", formats.NAMES)
@fates
def test_every_format_writes_utf8_that_ends_its_line_and_never_fails(form, fate):
    for text in [document.render(FATES[fate]) for document in formats.documents(form)]:
        text.encode("utf-8")
        assert text.endswith("\n") or (form, fate) == ("terminal", "nothing")


@pytest.mark.parametrize("form", [form for form in formats.NAMES if form not in ("json", "terminal")])
def test_no_control_character_of_a_submission_is_passed_on(form):
    for text in [document.render(FATES["mixed"]) for document in formats.documents(form)]:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028]", text)
    if form in ("classroom", "gradescope", "prairielearn", "exercism"):
        assert "\\u0000" not in json.dumps(record(form, FATES["mixed"]))


# --- GitHub Classroom: the rules of the grading reporter -------------------------------------------


def reporter(results):
    """Return what GitHub's grading reporter makes of a record: annotation, table and exit status."""
    total = 0.0
    for test in results["tests"]:
        total += test["score"]
    passed = sum(test["status"] == "pass" for test in results["tests"])
    table = passed / len(results["tests"]) * results["max_score"]
    return total, table, 0 if results["status"] == "pass" else 1


@pytest.mark.parametrize(
    ("fate", "annotation", "table", "exit_status"),
    [
        ("full", 10, 10, 0),
        ("partial", 19.33, 10, 1),
        ("zero", 0, 0, 1),
        ("error", 0, 0, 1),
        ("nothing", 0, 0, 1),
    ],
)
def test_the_classroom_reporter_shows_the_points(fate, annotation, table, exit_status):
    assert reporter(record("classroom", FATES[fate])) == (annotation, table, exit_status)


def test_classroom_scores_add_up_to_the_hundredth_in_floating_point():
    katas = [kata(f"k{i}", check("a", 1000, 10 * i + i % 3), max_score=1000) for i in range(60)]
    for count in range(1, 61):
        report = Report(tuple(katas[:count]))
        assert reporter(classroom.result(report))[0] == report.score / 100


@fates
def test_a_classroom_record_has_all_that_the_reporter_reads(fate):
    results = record("classroom", FATES[fate])
    assert results["version"] == 1
    assert results["status"] in ("pass", "fail", "error")
    assert results["tests"]
    for test in results["tests"]:
        assert set(test) == {
            "name", "status", "score", "message", "test_code", "filename", "line_no", "duration",
        }  # fmt: skip
        assert test["status"] in ("pass", "fail", "error")
        assert type(test["line_no"]) is int


def test_what_the_classroom_reporter_prints_cannot_command_the_runner():
    printed = [t[k] for t in record("classroom", FATES["mixed"])["tests"] for k in ("message", "test_code")]
    lines = [line for text in printed for line in text.splitlines()]
    assert any("::error::forged" in line for line in lines)
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def test_a_release_body_fits_into_a_release_with_failures_first():
    long = [replace(EVIL, name=f"k{i}", checks=EVIL.checks * 9) for i in range(40)]
    body = formats.documents("classroom50")[1].render(Report((RIGHT, STUB, *long)))
    assert 50_000 < len(body.encode()) <= 60_000
    assert body.index("| k39 |") < body.index("| beam |") < body.index("| softmax |")
    assert body.splitlines()[-1].startswith("Left out here, because there is no room: k")
    assert body.endswith("k39. The report in the terminal has it.\n")


def test_a_classroom_record_fits_one_string_of_the_environment():
    report = Report(tuple(replace(EVIL, name=f"k{i}", output="x" * 10_000) for i in range(60)))
    big = Report(tuple(replace(k, checks=(replace(k.checks[0], got="€" * 9_000),)) for k in report.katas))
    assert len(base64.b64decode(render("classroom", big).removeprefix("result="))) <= 90 * 1024
    assert len(record("classroom", big)["tests"]) == 60


# --- Classroom 50 -----------------------------------------------------------------------------------

SETTING = {
    "CLASSROOM": "nlp", "ASSIGNMENT": "attention", "ASSIGNMENT_TYPE": "group", "OWNER": "ada",
    "SUBMISSION_TAG": "submit/1", "COMMIT_URL": "https://c", "RELEASE_URL": "https://r",
    "DATETIME": "2026-11-21T10:00:00Z", "PATH": "/bin",
}  # fmt: skip


@fates
def test_a_classroom50_result_keeps_the_rules_of_its_schema(fate):
    result = json.loads(render("classroom50", FATES[fate], **SETTING))
    texts = ["classroom", "assignment", "owner", "submission", "commit", "release", "review", "datetime"]
    assert set(result) == {"schema", "assignment_type", "score", "max-score", "tests", *texts}
    assert result["schema"] == "classroom50/result/v1"
    assert result["assignment_type"] == "group"
    assert all(type(result[name]) is str for name in texts)
    for part in [result, *result["tests"]]:
        assert type(part["score"]) is int
        assert type(part["max-score"]) is int
        assert 0 <= part["score"] <= part["max-score"]
    assert result["score"] == sum(test["score"] for test in result["tests"]) == round(POINTS[fate] * 100)
    assert result["max-score"] == sum(test["max-score"] for test in result["tests"])
    assert all(type(test["test-name"]) is str and type(test["passed"]) is bool for test in result["tests"])


def test_a_classroom50_result_names_the_submission_and_defaults_to_one_author():
    result = json.loads(render("classroom50", FATES["full"], **SETTING))
    assert (result["owner"], result["classroom"], result["review"]) == ("ada", "nlp", "https://c")
    assert json.loads(render("classroom50", FATES["full"]))["assignment_type"] == "individual"


# --- Gradescope, PrairieLearn, Exercism -------------------------------------------------------------


@fates
def test_gradescope_results_keep_its_schema(fate):
    results = record("gradescope", FATES[fate])
    assert results["score"] == POINTS[fate]
    assert type(results["execution_time"]) is int
    assert results["visibility"] == "visible"
    for test in results["tests"]:
        assert set(test) == {
            "name", "number", "score", "max_score", "status", "output", "output_format", "tags", "visibility",
        }  # fmt: skip
        assert test["status"] in ("passed", "failed")
        assert test["output_format"] == "text"
        assert 0 <= test["score"] <= test["max_score"]
    assert round(sum(test["score"] for test in results["tests"]), 2) == POINTS[fate]


def unread():
    """A report on a kata that passes and one whose file could not be read."""
    link = KataReport("double", "attention", "error", 1000, message="double.py is a link.", unread=True)
    return replace(FATES["full"], katas=(*FATES["full"].katas, link))


def test_gradescope_gets_no_score_if_a_file_could_not_be_read():
    results = record("gradescope", unread())
    assert "score" not in results  # the host takes such a run for one that failed, and sets no points
    *judged, double = results["tests"]
    assert all("score" in test for test in judged)
    assert "score" not in double
    assert double["output"] == "double.py is a link."
    assert results["output"] == "No points yet, since what was handed in could not be read: double."


def test_prairielearn_can_grade_nothing_of_it_and_says_why():
    results = record("prairielearn", unread())
    assert results["gradable"] is False
    assert results["score"] == 0
    assert results["format_errors"] == ["double.py is a link."]


@fates
def test_prairielearn_results_keep_its_schema(fate):
    report = FATES[fate]
    results = record("prairielearn", report)
    assert set(results) == {"gradable", "score", "message", "output", "format_errors", "tests"}
    assert 0 <= results["score"] <= 1
    assert round(results["score"] * report.max_score / 100, 9) == POINTS[fate]
    assert results["gradable"] is (fate not in ("error", "nothing"))
    assert all({"name", "points", "max_points"} <= set(test) for test in results["tests"])


def test_what_prairielearn_cannot_grade_costs_no_attempt_and_says_why():
    results = record("prairielearn", FATES["error"])
    assert results["format_errors"] == ["greedy.py has a syntax error in line 3: no."]
    assert results["tests"] == []


@pytest.mark.slow
def test_a_prairielearn_result_stays_below_its_limit():
    check_ = replace(EVIL.checks[0], got="€" * 50_000)
    big = Report(tuple(replace(EVIL, name=f"k{i}", checks=(check_,) * 20) for i in range(20)))
    assert len(render("prairielearn", big).encode()) <= 1_000_000


@pytest.mark.parametrize(
    ("fate", "status"), [("full", "pass"), ("partial", "fail"), ("zero", "fail"), ("error", "error")]
)
def test_exercism_knows_three_fates(fate, status):
    results = record("exercism", FATES[fate])
    assert (results["version"], results["status"]) == (3, status)
    assert (results["message"] is None) == (status != "error")
    for test in results["tests"]:
        assert test["status"] in ("pass", "fail", "error")
        assert (test["message"] is None) == (test["status"] == "pass")
        assert len(test["output"] or "") <= 500


# --- JUnit ------------------------------------------------------------------------------------------

CHILDREN = {
    "testsuites": {"testsuite"}, "testsuite": {"properties", "testcase", "system-out"},
    "properties": {"property"}, "property": set(), "system-out": set(),
    "testcase": {"failure", "error", "skipped"}, "failure": set(), "error": set(), "skipped": set(),
}  # fmt: skip
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "property": {"name", "value"},
}


@fates
def test_junit_is_xml_of_its_schema_and_counts_right(fate):
    root = ET.fromstring(render("junit", FATES[fate]))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN[element.tag]
        assert REQUIRED.get(element.tag, set()) <= set(element.attrib)
    for part in [root, *root.findall("testsuite")]:
        counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
        assert all(int(part.get(name)) == len(list(part.iter(tag))) for name, tag in counted.items())


def test_junit_carries_the_points():
    root = ET.fromstring(render("junit", FATES["partial"]))
    found = [p.get("value") for p in root.iter("property") if p.get("name") == "score"]
    assert found == ["10", "9.33", "0", "0"]


# --- GitHub -----------------------------------------------------------------------------------------


def annotations(text):
    """Parse a step's log as the runner does: name, properties and message, or None for plain text."""
    pattern = re.compile(r"::(\w[\w-]*)(?: ([^:]*))?::(.*)")
    return [pattern.fullmatch(line) for line in text.splitlines()]


def test_annotations_point_at_the_line_and_name_the_mistake():
    [error, notice] = render("github", Report((PARTIAL,))).splitlines()
    assert error == (
        "::error file=exercises/attention/top_p.py,line=7,title=top_p%3A The claim of b.::Not so (line 7)."
        " Expected [1.0], got [nan]. exp overflows: which number can be taken away?"
    )
    assert notice == "::notice title=Score::9.33 of 10 points"


def test_a_submission_cannot_forge_an_annotation():
    found = annotations(render("github", FATES["mixed"]))
    assert [match.group(1) for match in found] == ["error", "error", "warning", "notice"]
    assert "forged" in found[1].group(3)


def test_annotations_stay_within_the_limits_of_a_step():
    many = Report(tuple(replace(ZERO, name=f"k{i}") for i in range(30)) + (BROKEN,) * 12)
    kinds = [match.group(1) for match in annotations(render("github", many))]
    assert [kinds.count(kind) for kind in ("error", "warning", "notice")] == [10, 10, 1]
    assert "::error::51 more checks fail: the job summary lists them all." in render("github", many)


def test_the_summary_is_a_table_with_one_row_a_kata_whatever_the_text():
    text = summary.render(FATES["mixed"])
    table = text.split("\n<details>")[0].splitlines()
    assert table[0] == "## 9.33 of 30 points"
    rows = [line for line in table[4:] if line]
    assert len(rows) == 3
    assert all(row.count("|") == 5 for row in rows)
    assert "@everyone" not in table[-1]


def test_the_summary_keeps_hostile_text_inside_its_fence():
    text = summary.render(Report((EVIL,)))
    fence = re.search(r"^(`{3,})text$", text, re.M).group(1)
    assert len(fence) > 3
    inside = text.split(f"{fence}text\n")[1].split(f"\n{fence}\n")[0]
    assert "<script>" in inside
    assert "<script>" not in text.replace(inside, "")


def test_the_summary_stays_below_a_mebibyte_and_says_that_it_was_cut():
    check_ = replace(EVIL.checks[0], mistake=None, got="€" * 30_000)
    checks = tuple(replace(check_, message=f"{i}", call=f"{i}") for i in range(10))
    big = Report(tuple(replace(EVIL, name=f"k{i}", checks=checks) for i in range(10)))
    text = summary.render(big)
    assert len(text.encode()) < 1_000_000
    told = "Left out here, because there is no room: k1, k2, k3, k4, k5, k6, k7, k8, k9."
    assert text.endswith(f"{told} The report in the terminal has it.\n")


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002  # the signature is the parser's
        self.found.add(tag)


def test_html_holds_no_script_and_shows_the_text_as_text():
    text = render("html", FATES["mixed"])
    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.found
    assert "&lt;script&gt;" in text
