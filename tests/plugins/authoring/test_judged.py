"""What was judged is read again while all that it rests on stays the same, and nothing else is."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import grimp
import pytest

from dojo_authoring.verify import judged as judgements
from dojo_authoring.verify import katas
from dojo_authoring.verify.judged import JUDGING, RECORDING, Records
from dojo_authoring.verify.katas import verify_course, verify_kata
from grader.answer_keys.file import KataKey, KeyFile
from grader.cases import oracle
from grader.cases.generation import SEED
from grader.course.catalog import Course
from grader.course.general_mistakes import GENERAL
from grader.grading.grader import Grader

from ...conftest import DOUBLE, write_files

ROOT = Path(__file__).resolve().parents[3]
MISTAKES = "solutions/attention/double/mistakes.py"
READY = {
    **DOUBLE,
    MISTAKES: '''
        from grader.mistakes import crude, subtle

        LOST = 1

        def _checked(x):
            if isinstance(x, str):
                raise ValueError("text")
            return x

        def _times(x, factor):
            return factor * _checked(x)

        def triples(x):
            """Three times x."""
            return _times(x, 3)

        def halves(x):
            """Half of x."""
            return _times(x, 0.5)

        def negates(x):
            """The sign is lost."""
            return -2 * _checked(x)

        def copies(x):
            """x itself."""
            return _checked(x) + 0

        def adds_one(x):
            """One too many."""
            return 2 * _checked(x) + 1

        @subtle
        def accepts_text(x):
            """Text is doubled as well: refuse it with ValueError."""
            return x * 2
    ''',
    "solutions/attention/double/variants.py": '''
        def _checked(x):
            if isinstance(x, str):
                raise ValueError("text")
            return x

        def shifts(x):
            """Another way: multiply by two."""
            return _checked(x) * 2

        def takes_away(x):
            return _checked(x) - -x

        def goes_once_more(x):
            return _checked(x) * 3 - x
    ''',
}


@pytest.fixture
def course(tmp_path, write, monkeypatch):
    """A course whose kata `double` is ready, and a cache of its own in `store()`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Course(write(tmp_path / "course", READY))


@pytest.fixture(scope="module")
def _verified(tmp_path_factory):
    """The folder of such a course, with the cache of a verification, and what that printed."""
    folder = tmp_path_factory.mktemp("verified")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        printed = verified(Course(write_files(folder / "course", READY)))
    return folder, printed


@pytest.fixture
def first(_verified):
    """What the verification of `known` has printed."""
    return _verified[1]


@pytest.fixture
def known(_verified, tmp_path, monkeypatch):
    """A copy of that course, verified before, and of the cache in `store()`."""
    shutil.copytree(_verified[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Course(tmp_path / "course")


def store():
    return oracle.folder()


@pytest.fixture
def judged(monkeypatch):
    """The names of the mistakes, and the labels of the sources graded in a worker, as they are judged."""
    names = []
    judge, grade = judgements.judge_mistake, Grader.grade

    def judging(prepared, answers, name, *, is_general):
        names.extend([name] * (not is_general))
        return judge(prepared, answers, name, is_general=is_general)

    def grading(self, submission):
        names.append(submission.label)
        return grade(self, submission)

    monkeypatch.setattr(judgements, "judge_mistake", judging)
    monkeypatch.setattr(Grader, "grade", grading)
    return names


def verified(course, **options):
    return facts(verify_kata(course, course.kata_info("double"), **options))


def facts(result):
    """Return all that is printed about a verification, without its seconds."""
    result.seconds = 0.0
    return katas.table([result]), result.gaps, result.notes, result.outcomes


def edit(course, path, old, new):
    file = course.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


EVERYTHING = [
    "the reference",
    "the variant `shifts`",
    "the variant `takes_away`",
    "the variant `goes_once_more`",
    "triples",
    "halves",
    "negates",
    "copies",
    "adds_one",
    "accepts_text",
    "the mistake `triples`",
]


# What the records rest on


def closure(*modules):
    """Return all modules of the grader that these import, directly or not, also inside functions."""
    graph = grimp.build_graph("grader", "dojo_authoring", cache_dir=None, exclude_type_checking_imports=True)
    graph.remove_import(importer="grader", imported="grader.plugins")  # what `%load_ext` calls
    graph.remove_import(
        importer="grader.grading.grader", imported="grader.diagnosis.repair"
    )  # the search for the place comes after the verdict
    found = set(modules)
    for module in modules:
        found |= graph.find_upstream_modules(module)
    return {path_of(module) for module in found}


def path_of(module):
    """Return `checks/context` for `grader.checks.context`, `dojo_authoring/cli` for `dojo_authoring.cli`, and
    `__init__` for `grader`."""
    return module.removeprefix("grader").removeprefix(".").replace(".", "/") or "__init__"


LISTED = {*JUDGING, *(f"dojo_authoring/verify/{name}" for name in RECORDING)}


def parts_of(path):
    """Return what can stand in JUDGING for a module: itself, or a package that holds it."""
    names = path.split("/")
    return {f"{path}.py", *("/".join(names[:size]) for size in range(1, len(names) + 1))}


def covered(path):
    return bool(parts_of(path) & LISTED)


def test_all_that_judging_imports_is_listed():
    needed = closure("grader.grading.grader", "dojo_authoring.verify.judged", "grader.diagnosis.matcher")
    assert [path for path in sorted(needed) if not covered(path)] == []


#: What `kata verify` imports and runs again at every call.
ANEW = {
    "dojo_authoring/assist/drafts",
    "dojo_authoring/drafted_mistakes/entries",
    "dojo_authoring/parallel",
    "dojo_authoring/verify/locations",
    "dojo_authoring/verify/mistake_table",
    "dojo_authoring/verify/record",
    "dojo_authoring/verify/static_checks",
    "dojo_authoring/verify/time_limit",
}


def test_all_that_verifying_imports_is_listed_or_runs_again():
    needed = closure("dojo_authoring.verify.katas")
    own = {path for path in needed if not covered(path) and path.startswith("dojo_authoring/")}
    assert own == ANEW


def test_all_that_the_katas_import_of_the_grader_is_listed():
    folders = ROOT / "tests" / "katas", ROOT / "solutions"
    texts = [path.read_text() for folder in folders for path in folder.glob("*/**/*.py")]
    texts += [path.read_text() for path in (ROOT / "tests" / "katas").glob("*/*.py")]
    found = {name for text in texts for name in re.findall(r"^(?:from|import) (grader[\w.]*)", text, re.M)}
    found |= {
        f"grader.{name}"
        for text in texts
        for names in re.findall(r"^from grader import ([\w, ]+)", text, re.M)
        for name in re.findall(r"(\w+)(?: as \w+)?", names)
        if (ROOT / "grader" / f"{name}.py").is_file()
    }
    assert "grader.strategies" in found
    assert [name for name in found if not covered(path_of(name))] == []


def test_every_listed_module_exists_and_is_needed():
    folders = ROOT / "grader", ROOT / "plugins"
    assert [part for part in LISTED if not any((folder / part).exists() for folder in folders)] == []
    needed = closure(
        "dojo_authoring.verify.katas",
        "grader.diagnosis.matcher",
        "grader.inputs",
        "grader.kernels",
        "grader.ranks",
        "grader.strategies",
    )
    assert LISTED - set().union(*map(parts_of, needed)) == set()


@pytest.mark.parametrize(
    ("file", "is_same"),
    [
        ("checks/builtin.py", False),
        ("kata.py", False),
        ("worker/child/main.py", False),
        ("formats/html.py", True),
    ],
)
def test_the_digest_of_the_code_changes_with_judging_modules_alone(tmp_path, file, is_same):
    package = tmp_path / "grader"
    shutil.copytree(ROOT / "grader", package, ignore=shutil.ignore_patterns("__pycache__"))
    before = judgements._digest_of_code.__wrapped__(package)
    with (package / file).open("a") as changed:
        changed.write("# changed\n")
    assert (judgements._digest_of_code.__wrapped__(package) == before) == is_same


def test_a_new_judging_module_counts(tmp_path):
    package = tmp_path / "grader"
    shutil.copytree(ROOT / "grader", package, ignore=shutil.ignore_patterns("__pycache__"))
    before = judgements._digest_of_code.__wrapped__(package)
    (package / "checks" / "more.py").write_text("")
    assert judgements._digest_of_code.__wrapped__(package) != before


# What is judged again


def test_nothing_is_judged_twice_and_the_same_is_told(course, judged):
    first = verified(course)
    assert judged == EVERYTHING
    assert "double                              9    11/11    11/11       3/3" in first[0]
    judged.clear()
    assert verified(course) == first
    assert judged == []


@pytest.mark.slow
def test_fresh_judges_everything(known, first, judged):
    assert verified(known, fresh=True) == first
    assert judged == EVERYTHING


@pytest.mark.slow
def test_other_options_and_seeds_have_records_of_their_own(known, first, judged):
    assert verified(known, isolated=True) == first
    assert judged[:6] == [f"the mistake `{name}`" for name in EVERYTHING[4:10]]
    assert {name[13:-1] for name in judged[6:]} <= set(GENERAL)
    judged.clear()
    verified(known, seed=5)
    assert judged == EVERYTHING


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/katas/attention/test_double.py", "st.integers(0, 2)", "st.integers(0, 3)"),
        ("solutions/attention/double/reference.py", "x + x", "2 * x"),
    ],
)
def test_with_another_declaration_or_reference_all_is_judged(known, judged, path, old, new):
    edit(known, path, old, new)
    verified(known)
    assert judged == EVERYTHING


@pytest.mark.slow
def test_with_another_judging_module_all_is_judged(known, judged, monkeypatch):
    monkeypatch.setattr(judgements, "_digest_of_code", lambda: "another")
    verified(known)
    assert judged == EVERYTHING


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("_checked(x) + 0", "_checked(x) + 0.0 * x", ["copies"]),
        ("return factor * _checked(x)", "return _checked(x) * factor", ["triples", "halves"]),
        ("return x\n", "return +x\n", ["triples", "halves", "negates", "copies", "adds_one"]),
        ("LOST = 1", "LOST = 2", EVERYTHING[4:10]),  # code that runs at import may change every mistake
        ('"""Half of x."""', '"""The half of x."""', ["halves"]),
        ("def negates", "# The sign.\ndef negates", []),
        ("def negates", "def turns", ["turns"]),
        ("@subtle\ndef accepts", "@crude\ndef accepts", []),
    ],
)
def test_a_changed_mistake_is_judged_alone(known, judged, old, new, again):
    edit(known, MISTAKES, old, new)
    now = verified(known)
    assert judged == [*again, "the mistake `triples`"]
    assert now == verified(known, fresh=True)


def test_a_changed_variant_is_judged_alone(known, first, judged):
    edit(known, "solutions/attention/double/variants.py", "_checked(x) * 3 - x", "3 * _checked(x) - x")
    assert verified(known) == first
    assert judged == ["the variant `goes_once_more`", "the mistake `triples`"]


@pytest.mark.slow
def test_a_refusal_is_not_recorded(course, judged):
    edit(course, "solutions/attention/double/variants.py", "_checked(x) * 3 - x", "_checked(x) * 3")
    first = verified(course)
    assert "the variant `goes_once_more` is refused by `agrees_with_reference`" in first[1][0]
    judged.clear()
    assert verified(course) == first
    assert judged == ["the variant `goes_once_more`", "the mistake `triples`"]


@pytest.mark.slow
def test_a_mistake_with_a_typo_is_judged_again_since_its_message_has_a_line(course, judged):
    edit(course, MISTAKES, "-2 * _checked(x)", "-2 * _cheked(x)")
    first = verified(course)[1]
    assert "raises in every case" in first[0]
    judged.clear()
    edit(course, MISTAKES, "LOST = 1\n", "# above\nLOST = 1\n")
    second = verified(course)[1]
    assert judged == ["negates", "the mistake `triples`"]
    assert second[0] != first[0]  # the lines have moved
    assert second == verified(course, fresh=True)[1]


def test_two_mistakes_that_are_alike_are_told_as_soon_as_one_is_made_so(known):
    edit(known, MISTAKES, "_checked(x) + 0", "3 * _checked(x)")
    assert "the mistake `copies` is taken for `triples`" in verified(known)[1][0]


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_judged_is_not_recorded(course, monkeypatch):
    outcomes = katas.outcomes

    def editing(*arguments, **options):
        found = outcomes(*arguments, **options)
        edit(course, MISTAKES, "_checked(x) + 0", "_checked(x) - 0")
        return found

    monkeypatch.setattr(katas, "outcomes", editing)
    verified(course)
    monkeypatch.setattr(katas, "outcomes", outcomes)
    assert not list(store().glob("double-*.judged"))


@pytest.mark.slow
def test_what_verify_judged_is_read_by_a_grading_and_the_other_way_round(course, judged):
    info = course.kata_info("double")
    mistakes = judgements.recorded_mistakes(course, Grader(course, {}).prepare(info))
    assert judged == EVERYTHING[4:10]
    judged.clear()
    first = verified(course)
    assert not set(EVERYTHING[4:10]) & set(judged)
    assert verified(course, fresh=True) == first
    judged.clear()
    again = judgements.recorded_mistakes(course, Grader(course, {}).prepare(info))
    assert judged == []
    assert repr(again) == repr(mistakes)


@pytest.mark.slow
def test_answers_to_questions_that_a_grading_judged_are_named_by_verify(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    info = Course(ROOT).kata_info("attention_questions")
    judgements.recorded_mistakes(Course(ROOT), Grader(Course(ROOT), {}).prepare(info))
    found = verify_kata(Course(ROOT), info)
    assert (found.gaps, found.named) == ([], found.mistakes)


# The store


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "folder"])
def test_a_damaged_file_is_judged_anew_and_mended(known, first, judged, damage):
    (file,) = store().glob("double-*.judged")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes({"cut": data[:-40], "bit": data, "empty": b""}[damage])
    judged.clear()
    assert verified(known) == first
    assert judged == EVERYTHING
    judged.clear()
    assert verified(known) == first
    assert judged == ([] if damage != "folder" else EVERYTHING)


@pytest.mark.slow
def test_records_of_another_form_are_ignored(known, first, judged):
    (file,) = store().glob("double-*.judged")
    key = KataKey(KeyFile(file.read_bytes(), file.name), "double")
    for message in ({}, {**key.file.message("double", "answers"), "facts": {"code": {"name": "x"}}}):
        oracle.write_entry(file.name, judgements.pack_records("double", message, key.mistakes))
        judged.clear()
        assert verified(known) == first
        assert judged == EVERYTHING


@pytest.mark.slow
def test_without_a_folder_that_can_be_written_all_is_judged(known, first, judged, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for _ in range(2):
        judged.clear()
        assert verified(known) == first
        assert judged == EVERYTHING


def test_a_folder_that_can_only_be_read_is_read(known, first, judged, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(oracle.os, "utime", refuse)
    monkeypatch.setattr(oracle, "write_whole", refuse)
    assert verified(known) == first
    assert judged == []


@pytest.mark.slow
def test_two_verifications_at_once_tell_the_same(course, tmp_path):
    code = "from grader.cli.kata import kata; kata()"
    command = [sys.executable, "-c", code, "verify", "double", "--course", str(course.root)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    both = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    texts = [re.sub(r" +\d+\.\d\n", "\n", process.communicate()[0]) for process in both]
    assert texts[0] == texts[1]
    assert "11/11    11/11       3/3" in texts[0]
    info = course.kata_info("double")
    assert Records(course, info, SEED).verified("False") is not None
    assert {path.suffix for path in store().iterdir()} <= {".judged", ".key", ".lock"}  # no draft


@pytest.mark.parametrize("when", [0, 2**32])
def test_a_clock_that_is_wrong_changes_nothing(known, first, judged, monkeypatch, when):
    for file in store().iterdir():
        os.utime(file, (when, when))
    monkeypatch.setattr(oracle.time, "time", lambda: 10**6)
    judged.clear()
    assert verified(known) == first
    assert judged == []


def test_the_files_used_longest_ago_are_deleted_when_the_cache_is_full(course, monkeypatch):
    folder = store()
    folder.mkdir(parents=True)
    for age, name in enumerate(["new.key", "older.key", "oldest.judged", "future.key"]):
        (folder / name).write_bytes(bytes(100_000))
        when = time.time() + (10**6 if name == "future.key" else -3600 * age)
        os.utime(folder / name, (when, when))
    monkeypatch.setattr(oracle, "LARGEST_CACHE", 250_000)
    verified(course)
    left = {path.name for path in folder.iterdir() if path.stat().st_size}
    assert {"new.key", "older.key"} < left
    assert not {"oldest.judged", "future.key"} & left
    assert any(name.endswith(".judged") for name in left)


@pytest.mark.slow
def test_the_file_just_written_stays_also_in_a_cache_that_is_too_small(course, monkeypatch, judged):
    monkeypatch.setattr(oracle, "LARGEST_CACHE", 0)
    verified(course)
    judged.clear()
    verified(course)
    assert judged == []


@pytest.mark.slow
def test_verify_prints_the_same_whether_it_reads_or_judges(course, capsys):
    def printed():
        code = verify_course(course, ("double",), tables=True)
        return code, re.sub(r"( +\d+\.\d|Renewed .*)\n", "", capsys.readouterr().out), table.read_text()

    table = course.root / "solutions" / "attention" / "double" / "mistakes.md"
    assert printed() == printed()
