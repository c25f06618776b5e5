"""Tests of the secret seed: who draws from it, who does not, and that it stays where the solutions are."""

import re
import zipfile
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from dojo_authoring.verify.record import write_record
from dojo_classroom.command import ClassOptions
from grader.answer_keys.file import KeyFile, open_keyring, unseal
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.cli.kata import kata
from grader.cli.options import GradeOptions
from grader.course.catalog import Course, CourseError
from grader.course.secret_seed import PLACE, new_seed, seed_of, seed_or_new, seeds
from grader.course.submission import parse
from grader.grading.grader import Grader


@pytest.fixture
def course(tmp_path, tiny_files, write):
    found = Course(write(tmp_path / "course", tiny_files))
    write_record(found, list(found.katas.values()))
    return found


def run(course, *words):
    return CliRunner().invoke(kata, [*map(str, words), "--course", str(course.root)], env={"TZ": "UTC"})


def cases_of(course, seed):
    info = course.kata_info("double")
    return Oracle(course.declaration(info), course, info, seed).answered.cases


def shown(cases):
    return [repr(case.arguments) for case in cases]


def test_it_is_made_once_for_its_owner_alone(course):
    first = seed_or_new(course)
    assert seed_or_new(course) == first != SEED
    assert (course.root / PLACE).stat().st_mode & 0o777 == 0o600
    assert len({new_seed(course) for _ in range(3)} | {first}) == 4


def test_the_history_says_which_one_held_on_a_day(course):
    lines = "".join(
        f"[[seeds]]\nsince = 2026-{month}-01T00:00:00+00:00\nseed = {month}\n" for month in (10, 11)
    )
    (course.root / PLACE).write_text(lines)
    latest = new_seed(course)
    held = [seed_of(course, datetime(2026, *day, tzinfo=UTC)) for day in ((9, 30), (10, 1), (11, 9))]
    assert held == [None, 10, 11]
    assert seed_or_new(course) == latest == seeds(course)[-1].seed


def test_the_command_shows_and_renews_it(course):
    made = run(course, "seed")
    assert made.exit_code == 0, made.stderr
    assert re.fullmatch(
        r"(\d+) +since \d{4}-\d\d-\d\d \d\d:\d\d\n"
        r"The last one counts\. They are in .*seed\.toml: hand it to no student\.\n",
        made.stdout,
    )
    renewed = run(course, "seed", "--new").stdout
    assert renewed.startswith(made.stdout.splitlines()[0])
    assert len(renewed.splitlines()) == 3


@pytest.mark.parametrize(
    "text", ["seeds = 3", "[[seeds]]\nseed = 1", "seeds = []", "[[seeds]]\nsince = 2026-01-01\nseed = 1", "x"]
)
def test_a_damaged_file_is_refused_and_no_other_seed_is_taken(course, text, tmp_path):
    (course.root / PLACE).write_text(text)
    damaged = (
        "The secret seed, solutions/seed.toml, is damaged: restore the file, or delete it, and the next run"
        " draws other cases."
    )
    for words in (["seed"], ["seed", "--new"], ["grade", hand_in(tmp_path), "--output", tmp_path / "out"]):
        refused = run(course, *words)
        assert (refused.exit_code, refused.stdout, refused.stderr) == (4, "", f"{damaged}\n"), words


def test_a_folder_that_cannot_be_written_is_refused(course, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("grader.course.secret_seed.write_whole", refuse)
    refused = run(course, "grade", hand_in(tmp_path), "--output", tmp_path / "out")
    assert (refused.exit_code, refused.stderr) == (
        4,
        "The secret seed, solutions/seed.toml, cannot be written: permission denied. Without it no run"
        " counts, since students hold the cases of the public one.\n",
    )


def hand_in(folder):
    file = folder / "class" / "ada" / "double.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("def double(x):\n    return x + x\n")
    return file.parents[1]


def test_a_class_draws_from_it_and_a_student_from_the_public_one(course):
    infos = list(course.katas.values())
    options = ClassOptions(course.root).grader_options(course, infos)
    assert options.settings.seed == seed_or_new(course)
    assert GradeOptions().grader_settings.seed == SEED
    assert GradeOptions(seed=7).grader_settings.seed == 7


def test_with_a_key_no_seed_is_made(course, tmp_path):
    assert run(course, "key", "double", "--output", tmp_path / "k.key").exit_code == 0
    options = ClassOptions(course.root, key=tmp_path / "k.key")
    assert options.grader_options(course, list(course.katas.values())).settings.seed == SEED
    assert not (course.root / PLACE).exists()


def test_open_keys_have_the_public_cases_and_sealed_ones_the_secret_ones(course, tmp_path):
    pytest.importorskip("cryptography")
    info, public, hidden = course.kata_info("double"), tmp_path / "k.key", tmp_path / "s.key"
    assert run(course, "key", "double", "--output", public).exit_code == 0
    assert run(course, "key", "double", "--seal", "--output", hidden).exit_code == 0
    open_cases = open_keyring(course, [info], public, None).kata(info).answers.cases
    sealed = open_keyring(course, [info], hidden, tmp_path / "s.key.secret").kata(info).answers.cases
    assert shown(open_cases) == shown(cases_of(course, SEED))
    assert shown(sealed) == shown(cases_of(course, seed_or_new(course))) != shown(open_cases)
    unsealed = KeyFile(unseal(hidden.read_bytes(), "key", tmp_path / "s.key.secret"), "key")
    assert unsealed.seed == 0  # who opens a key finds its cases, and not those of other katas


def test_every_other_case_is_the_same_under_all_seeds(course):
    public, secret = (shown(cases_of(course, seed)) for seed in (SEED, seed_or_new(course)))
    assert len(public) == len(secret)
    assert public[::2] == secret[::2]
    assert sum(one == other for one, other in zip(public[1::2], secret[1::2], strict=True)) <= 2


TABLE = """
import numpy as np

TABLE = {table}

def double(x):
    if isinstance(x, str):
        raise ValueError
    return np.array(TABLE[str(x.dtype), str(x.tolist())], x.dtype).reshape(x.shape)
"""


def test_a_table_of_an_open_keys_answers_passes_at_home_and_not_where_it_counts(course, numpy_source):
    info, table = course.kata_info("double"), {}
    for case in cases_of(course, SEED):
        x = case.arguments["x"]
        table[str(x.dtype), str(x.tolist())] = (x + x).tolist()
    answer = parse(info, TABLE.format(table=table), "double.py")
    # `double` has few cases of its own: under one seed in twelve they may all be in the table by chance
    others = range(1, 6)
    points = [
        Grader(course, {"numpy": numpy_source}, seed=seed).grade(answer).report.score
        for seed in (SEED, *others)
    ]
    assert points[0] >= 500
    assert max(points[1:]) <= 150


@pytest.mark.slow  # draws the katas three times
def test_nothing_that_is_handed_out_holds_it_and_hosts_draw_from_it(course, tmp_path):
    secret = seed_or_new(course)
    out, archive = tmp_path / "out", tmp_path / "gradescope.zip"
    assert (
        run(course, "release", out, "--gradescope", archive, "--classroom50", tmp_path / "c50").exit_code == 0
    )
    assert run(course, "wheel", tmp_path / "dist", "--solutions").exit_code == 0
    assert run(course, "notebooks", tmp_path / "nb").exit_code == 0
    zipfile.ZipFile(archive).extractall(tmp_path / "unpacked" / "g")
    for wheel in (tmp_path / "dist").glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked" / "w")
    for nested in [*(tmp_path / "unpacked").rglob("*.zip"), *(tmp_path / "c50").rglob("*.zip")]:
        zipfile.ZipFile(nested).extractall(nested.with_suffix(""))
    written = [
        path
        for folder in (out, *map(tmp_path.joinpath, ("unpacked", "nb", "c50")))
        for path in folder.rglob("*")
    ]
    files = [path for path in written if path.is_file()]
    assert [
        path for path in files if path.name == PLACE.name or str(secret).encode() in path.read_bytes()
    ] == []
    cases = {"public": set(), "hidden": set()}
    for path in files:
        if path.name == "double.key" and "source" not in path.parts:
            is_hidden = {"g", "nb"} & set(path.relative_to(tmp_path).parts)
            key = KeyFile(path.read_bytes(), "k")
            cases["hidden" if is_hidden else "public"].add(repr(key.message("double", "answers")["cases"]))
    assert [len(found) for found in cases.values()] == [1, 1]
    assert cases["public"] != cases["hidden"]


def test_a_seed_that_cannot_be_read_is_refused(course):
    (course.root / PLACE).mkdir()
    with pytest.raises(CourseError, match=r"cannot be read: is a folder\.$"):
        seed_or_new(course)
