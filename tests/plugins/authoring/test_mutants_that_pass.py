"""Tests of `kata verify --mutate`: the result of a mutant, equivalent mutants, the page of counts."""

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from dojo_authoring.mutation.equivalents import FILE_NAME, EquivalentMutant, entry_text, read_equivalents
from dojo_authoring.mutation.page import read_rows, total, write_page
from dojo_authoring.mutation.runner import MutantRunner
from dojo_authoring.mutation.strength import verify_strength
from dojo_authoring.verify.judged import recorded_mistakes
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.context import PreparedKata
from grader.course.catalog import Course, CourseError, find_course
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.edits.walk import FAMILIES
from grader.worker.in_process import run_forked

from ...conftest import DOUBLE

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def runner(tiny_course):
    info = tiny_course.kata_info("double")
    kata = tiny_course.declaration(info)
    return MutantRunner(kata, Oracle(kata, tiny_course, info, SEED))


CHECKED = "def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "check"),
    [
        ("return x + x", None),
        ("return x * 3", "agrees_with_reference"),
        ("x += x; return x", "leaves_arguments_unchanged"),
        ("return (x + x).astype('float64')", "keeps_the_dtype"),
        ("return y", "agrees_with_reference"),
        ("while True: pass", "a limit of time"),
        ("import os; os._exit(3)", "a limit of memory"),
    ],
)
def test_the_first_check_that_fails_is_named(runner, body, check):
    result = runner.judge(CHECKED + body, seconds=1.5)
    assert (result and result.check) == check


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "is_named", "is_located"),
    [
        ("return 3 * x", True, True),
        ("return x * 5", False, True),
        ("return x[0]", False, True),
        ("return y", False, True),
        ("x += x; return x", True, False),
        ("while True: pass", False, True),
        ("import os; os._exit(3)", False, False),
    ],
)
def test_a_result_shows_whether_a_report_names_the_mistake_or_locates_it(
    tiny_course, runner, body, is_named, is_located
):
    info = tiny_course.kata_info("double")
    prepared = PreparedKata(info, runner.kata, runner.oracle, runner.checks)
    mistakes = [MistakeOfKey(recorded) for recorded in recorded_mistakes(tiny_course, prepared)]
    verdict = MutantRunner(runner.kata, runner.oracle, mistakes).judge(CHECKED + body, seconds=1.5)
    assert (verdict.is_named, verdict.is_located) == (is_named, is_located)


def test_a_right_answer_has_no_result(runner):
    assert runner.judge(CHECKED + "return 2 * x", seconds=5) is None


def test_a_mutant_that_cannot_be_loaded_is_caught(runner):
    assert runner.judge("double = nothing", seconds=5).check == "loading"


def test_a_fork_does_not_change_its_parent():
    kept = []
    assert run_forked(lambda: kept.append(1) or "done", seconds=5) == "done"
    assert kept == []


NEEDLESS = {
    "solutions/attention/double/reference.py": """
        def double(x):
            if isinstance(x, str):
                raise ValueError("text")
            twice = x + x
            return twice if len(x) < 9 else twice
    """
}
MARKED = """
    [[equivalent]]
    where = "double"
    was = "return twice if len(x) < 9 else twice"
    now = "return twice"
    because = "It is the same either way."
"""


@pytest.fixture
def strength(tmp_path, write, capsys):
    """`strength({path: text})` returns the exit code and the output for the course with these changes."""

    def judge(changes, page=None, families=FAMILIES):
        course = Course(write(tmp_path, {**DOUBLE, **changes}))
        code = verify_strength(course, (), page=page, families=families)
        return code, capsys.readouterr().out

    return judge


def test_a_course_without_solutions_is_refused(tmp_path, write):
    course = Course(write(tmp_path, {n: t for n, t in DOUBLE.items() if "reference" not in n}))
    with pytest.raises(CourseError, match="Mutants are made from the solutions, and `double` has none"):
        verify_strength(course, ())


@pytest.mark.slow
def test_survivors_are_listed_with_their_change(strength):
    code, said = strength(NEEDLESS)
    assert code == 1
    assert "  survives in double:\n    - return twice if len(x) < 9 else twice\n    + return twice\n" in said
    assert re.search(
        r"Reports name a mistake for \d+\.\d% of them, a line or a difference for \d+\.\d% more", said
    )


@pytest.mark.slow
def test_a_survivor_comes_with_the_entry_that_accepts_it(strength):
    _, said = strength(NEEDLESS)
    told, _, rest = said.partition("[[equivalent]]")
    entry = "[[equivalent]]" + rest[: rest.index('because = ""') + len('because = ""')]
    file = f"solutions/attention/double/{FILE_NAME}"
    assert told.endswith(f"  If this is right too, add it to {file}, with the reason:\n")
    _, said = strength({**NEEDLESS, file: entry.replace('""', '"It is the same either way."')})
    assert "1 are right answers" in said
    assert entry not in said


def test_an_entry_without_a_reason_is_refused(tmp_path):
    file = tmp_path / FILE_NAME
    file.write_text(entry_text(SimpleNamespace(where="f", was='return "a"', now="return\n1")))
    with pytest.raises(CourseError, match="says why in `because`"):
        read_equivalents(file)


@pytest.mark.slow
def test_equivalent_mutants_are_counted_and_an_entry_without_a_mutant_is_reported(strength, tmp_path):
    entries = f"solutions/attention/double/{FILE_NAME}"
    stale = MARKED.replace('now = "return twice"', 'now = "gone"')
    page = tmp_path / "strength.md"
    code, said = strength({entries: stale}, page)
    assert code == 1
    assert "  marked in vain, there is no such change: double: gone" in said
    tried, caught, right = total(read_rows(page.read_text())["double"].values())
    assert (tried - caught, right) == (0, 0)


@pytest.mark.slow
def test_an_entry_for_a_mutant_that_is_caught_is_reported(strength):
    wrong = MARKED.replace("return twice if len(x) < 9 else twice", "return x + x").replace(
        'now = "return twice"', 'now = "return x - x"'
    )
    code, said = strength({f"solutions/attention/double/{FILE_NAME}": wrong})
    assert code == 1
    assert "  marked as right, and caught: double: return x - x" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[equivalent]\n", "cannot be read"),
        ("[[same]]\nwhere = 'f'\n", "must consist of tables [[equivalent]]."),
        ("[[equivalent]]\nwhere = 'f'\n", "each [[equivalent]] has because, now, was, where."),
        (MARKED.replace("It is the same either way.", " "), "says why in `because`"),
    ],
)
def test_a_malformed_file_of_equivalents_is_refused(tmp_path, text, said):
    file = tmp_path / FILE_NAME
    file.write_text(textwrap.dedent(text))
    with pytest.raises(CourseError, match=re.escape(said)) as refused:
        read_equivalents(file)
    assert len(str(refused.value).splitlines()) == 1


def test_a_kata_without_the_file_has_no_equivalents(tmp_path):
    assert read_equivalents(tmp_path / FILE_NAME) == []


def test_equivalents_are_read_as_written(tmp_path):
    file = tmp_path / FILE_NAME
    file.write_text(textwrap.dedent(MARKED))
    why = "It is the same either way."
    assert read_equivalents(file) == [
        EquivalentMutant("double", "return twice if len(x) < 9 else twice", "return twice", why)
    ]


@pytest.mark.slow
def test_one_family_of_operators_is_measured_alone(strength, tmp_path):
    page = tmp_path / "strength.md"
    code, said = strength(NEEDLESS, page, ("limits",))
    assert code == 1
    assert re.search(r"^limits +0/2 ", said, re.M)
    assert list(read_rows(page.read_text())["double"]) == ["limits"]


def test_an_unknown_family_is_refused(tiny_course):
    with pytest.raises(CourseError, match="--family ends: the families are expressions, statements, state, "):
        verify_strength(tiny_course, (), families=("ends",))


def test_the_page_keeps_the_counts_that_were_not_measured(tmp_path, tiny_course):
    page = tmp_path / "strength.md"
    write_page(page, tiny_course, {"double": {"state": (40, 38, 2)}})
    page.write_text(page.read_text().replace("# Strength", "# Strength\n\nWhat it means."))
    write_page(page, tiny_course, {"center": {"state": (60, 60, 0)}, "double": {"limits": (10, 9, 0)}})
    head = "mutants | caught | of all | right answers | missed |"
    families = "expressions | statements | state | buffers | limits | modes | extremes | order |"
    assert page.read_text() == (
        "# Strength\n\nWhat it means.\n\n"
        f"## Counts\n\n| operators | {head}\n|---|---:|---:|---:|---:|---:|\n"
        "| state | 100 | 98 | 98.0% | 2 | 0 |\n| limits | 10 | 9 | 90.0% | 0 | 1 |\n"
        "| all | 110 | 107 | 97.3% | 2 | 1 |\n\n"
        "The last columns hold the mutants of a family, those caught, and the right answers.\n\n"
        f"| kata | {head} {families}\n|---|{13 * '---:|'}\n"
        "| `double` | 50 | 47 | 94.0% | 2 | 1 |  |  | 40 / 38 / 2 |  | 10 / 9 / 0 |  |  |  |\n"
        "| `center` | 60 | 60 | 100.0% | 0 | 0 |  |  | 60 / 60 / 0 |  |  |  |  |  |\n"
        "| all | 110 | 107 | 97.3% | 2 | 1 | 0 / 0 / 0 | 0 / 0 / 0 | 100 / 98 / 2 | 0 / 0 / 0 | 10 / 9 / 0"
        " | 0 / 0 / 0 | 0 / 0 / 0 | 0 / 0 / 0 |\n"
    )


def test_the_page_in_the_docs_has_every_kata_and_no_missed_mutant():
    course = Course(find_course(ROOT))
    rows = read_rows((ROOT / "docs" / "strength.md").read_text(encoding="utf-8"))
    assert list(rows) == list(course.katas), "run: make strength"
    counts = {name: total(row.values()) for name, row in rows.items()}
    assert {name: n for name, n in counts.items() if n[0] != n[1] + n[2]} == {}


def test_every_file_of_equivalents_in_the_course_can_be_read():
    course = Course(find_course(ROOT))
    rows = read_rows((ROOT / "docs" / "strength.md").read_text(encoding="utf-8"))
    entries = {
        name: len(read_equivalents(course.folder(info) / FILE_NAME)) for name, info in course.katas.items()
    }
    assert {name: count for name, count in entries.items() if count > total(rows[name].values())[2]} == {}
