"""Katas are found on disk, and errors in names or files are reported in one sentence."""

import sys
from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.catalog import (
    Course,
    CourseError,
    find_course,
    load_file,
    open_course,
    read_kata_info,
    shorten,
)
from grader.kata import Kata, KataError

CARD = """
    from grader.kata import Kata
    KATA = Kata("{name}", track="{track}", entry_points=("f",), title="T", source="S", hints=("h",){more})
"""


@pytest.fixture
def course(tmp_path, write):
    """`course({name: track})` writes such declarations and opens the course."""

    def make(katas, more=""):
        (tmp_path / "exercises").mkdir(exist_ok=True)
        for name, track in katas.items():
            info = CARD.format(name=name, track=track, more=more)
            write(tmp_path, {f"tests/katas/{track}/test_{name}.py": info})
        return Course(tmp_path)

    return make


def refusal(call, *args):
    with pytest.raises((CourseError, KataError)) as refused:
        call(*args)
    return str(refused.value)


def test_without_exercises_there_is_no_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(Course, tmp_path) == "There is no exercises folder at exercises."
    (tmp_path / "mine").write_text("a file")
    assert refusal(Course, tmp_path, tmp_path / "mine") == "There is no exercises folder at mine."


def test_another_exercises_folder_can_be_given(course, tmp_path):
    course({"softmax": "attention"})
    (tmp_path / "mine").mkdir()
    there = Course(tmp_path, tmp_path / "mine")
    assert there.stub(there.kata_info("softmax")) == tmp_path / "mine" / "attention" / "softmax.py"


def test_an_unknown_kata_is_told_the_nearest_name(course):
    there = course({"softmax": "attention", "top_p": "generation"})
    assert refusal(there.kata_info, "sofmax") == "There is no kata called `sofmax`. Did you mean `softmax`?"
    assert refusal(there.kata_info, "topp") == "There is no kata called `topp`. Did you mean `top_p`?"
    assert refusal(there.kata_info, "xyz") == "There is no kata called `xyz`. `grade list` shows all katas."


def test_a_name_that_no_file_can_have_is_no_kata(course):
    there, name = course({"softmax": "attention"}), "a" * 400
    for find in (there.kata_info, there.katas_meant):
        assert refusal(find, name).startswith(f"There is no kata called `{name}`.")


def test_katas_are_ordered_by_track_then_path_then_name(course, write, tmp_path):
    there = course({"b": "generation", "z": "attention", "a": "attention", "m": "attention"})
    write(tmp_path, {"tests/katas/path.toml": '[path]\nattention = ["z", "m"]\ngeneration = []'})
    assert list(there.katas) == ["z", "m", "a", "b"]


def test_a_course_without_a_path_goes_by_name(course):
    assert list(course({"b": "attention", "a": "attention"}).katas) == ["a", "b"]


def test_a_card_says_what_the_declaration_says(course):
    info = course({"softmax": "attention"}, ', points=7.5, library="torch", needs=("other",)').kata_info(
        "softmax"
    )
    assert (info.max_score, info.library, info.needs, info.hints) == (750, "torch", ("other",), ("h",))


def test_a_card_is_read_without_running_the_declaration(tmp_path, write):
    code = CARD.format(name="k", track="attention", more="") + "    raise RuntimeError\n"
    write(tmp_path, {"test_k.py": code})
    assert read_kata_info(tmp_path / "test_k.py").points == 10


def test_what_a_declaration_leaves_out_is_what_kata_says(tmp_path, write):
    write(tmp_path, {"test_k.py": CARD.format(name="k", track="attention", more="")})
    info, kata = read_kata_info(tmp_path / "test_k.py"), Kata("k", track="a", title="T", source="S", hints=())
    left_out = ("library", "points", "needs", "hint_for", "written", "ships_wrong_code", "draft")
    assert [getattr(info, name) for name in left_out] == [getattr(kata, name) for name in left_out]


STATEMENT = """
KATA = Kata(
    "k", track="attention", entry_points=("f",), title="T", source="S", hints=("h",){more}
)
"""


def test_a_card_is_read_from_the_statement_alone(tmp_path):
    file = tmp_path / "test_k.py"
    file.write_text(f"import numpy\n{STATEMENT.format(more='')}\ndef broken(:\n")
    assert read_kata_info(file).name == "k"


@pytest.mark.parametrize(
    "source",
    [
        f'"""One kata:\n{STATEMENT.format(more="").replace("k", "z")}"""\n{STATEMENT.format(more="")}',
        STATEMENT.format(more=', rules=("""\n)\n""",)'),
        STATEMENT.format(more="").replace("KATA = ", "KATA  =  "),
        STATEMENT.format(more="").strip(),
        f"{STATEMENT.format(more='')}{STATEMENT.format(more='').replace('k', 'z')}",
    ],
    ids=["quoted_in_a_docstring", "a_parenthesis_in_a_text", "other_spaces", "nothing_around_it", "twice"],
)
def test_where_the_statement_cannot_be_cut_out_the_whole_file_is_parsed(tmp_path, source):
    file = tmp_path / "test_k.py"
    file.write_text(source)
    assert read_kata_info(file).name == "k"


def test_the_statement_and_the_whole_file_give_the_same_card(monkeypatch):
    files = sorted((find_course(Path.cwd()) / "tests" / "katas").glob("*/test_*.py"))
    cut = [read_kata_info(file) for file in files]
    monkeypatch.setattr(catalog, "OPENING", "no such text")
    assert [read_kata_info(file) for file in files] == cut


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (b"x = (\n", "test_k.py has a syntax error in line 1: '(' was never closed."),
        (b"KATA = Kata(\n\xff\n)\n", "test_k.py cannot be read as Python: save it as UTF-8."),
        (b"\nKATA = Kata(\n'k\0'\n)\n", "test_k.py cannot be read as Python: save it as UTF-8."),
        (b"\nKATA = Kata(\n'k',,\n)\n", "test_k.py has a syntax error in line 3: invalid syntax."),
    ],
)
def test_a_declaration_that_is_no_python_says_where(tmp_path, monkeypatch, source, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_k.py").write_bytes(source)
    assert refusal(read_kata_info, tmp_path / "test_k.py") == sentence


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("", "test_k.py must bind KATA = Kata(…) at its top level."),
        ("KATA = 5", "test_k.py must bind KATA = Kata(…) at its top level."),
        ("if 1:\n    KATA = Kata('k')", "test_k.py must bind KATA = Kata(…) at its top level."),
        ("KATA = Kata('k')", "test_k.py: Kata(…) lacks entry_points, hints, source, title, track."),
        ("KATA = Kata('k', title=TITLE)", "test_k.py: title must be a literal, so that it can be listed."),
    ],
)
def test_a_declaration_that_cannot_be_listed_is_refused(tmp_path, write, code, sentence):
    write(tmp_path, {"test_k.py": code})
    assert refusal(read_kata_info, tmp_path / "test_k.py") == sentence


def test_an_unknown_track_is_refused_with_a_sentence(course, write, tmp_path, monkeypatch):
    there = course({"k": "swimming"})
    write(tmp_path, {"tests/katas/path.toml": "[path]\nattention = []\nblocks = []"})
    monkeypatch.chdir(tmp_path)
    assert refusal(lambda: there.katas) == (
        "tests/katas/swimming/test_k.py: no track is called `swimming`; say attention, blocks, or add a list"
        " of that name to tests/katas/path.toml."
    )


def test_a_track_is_the_folder_of_its_declarations(course, tmp_path, monkeypatch):
    there = course({"k": "attention"})
    (tmp_path / "tests" / "katas" / "attention").rename(tmp_path / "tests" / "katas" / "blocks")
    monkeypatch.chdir(tmp_path)
    assert refusal(there.kata_info, "k") == (
        "tests/katas/blocks/test_k.py says track='attention' and lies in the folder blocks; make them one."
    )


def test_two_katas_of_one_name_are_refused(course, tmp_path, monkeypatch):
    there = course({"k": "attention"})
    course({"k": "blocks"})
    monkeypatch.chdir(tmp_path)
    assert refusal(there.kata_info, "k") == (
        "Two katas are called `k`: tests/katas/attention/test_k.py and tests/katas/blocks/test_k.py."
        " Rename one of them."
    )


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (", points=0", "test_k.py: points=0 must be a number above 0."),
        (", points=0.3", "test_k.py: points=0.3 must be whole or half points."),
        (", points=-2.5", "test_k.py: points=-2.5 must be a number above 0."),
        (', needs=("softmax")', 'test_k.py: needs is one text; write needs=("…",), with a comma.'),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(course, more, sentence):
    assert refusal(course({"k": "attention"}, more).kata_info, "k") == sentence


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("KATA = Kata(", "tests/k.py has a syntax error in line 1: '(' was never closed."),
        ("x = 1\nraise ValueError('no')", "tests/k.py cannot be loaded: line 2 raises ValueError: no."),
        (
            "import nowhere",
            "tests/k.py cannot be loaded: line 1 raises ModuleNotFoundError: No module named 'nowhere'.",
        ),
    ],
)
def test_a_file_of_the_course_that_cannot_be_loaded_says_where(write, tmp_path, monkeypatch, code, sentence):
    monkeypatch.chdir(write(tmp_path, {"tests/k.py": code}))
    assert refusal(load_file, "k", tmp_path / "tests" / "k.py") == sentence


def test_a_declaration_is_loaded_when_it_is_needed(tiny_course):
    kata = tiny_course.declaration(tiny_course.kata_info("double"))
    assert isinstance(kata, Kata)
    assert [law.name for law in kata.laws] == ["twice_is_a_sum", "refuses_text"]


def test_a_declaration_of_another_name_is_refused(course, write, tmp_path):
    there = course({"softmax": "attention"})
    info = there.kata_info("softmax")
    write(
        tmp_path, {"tests/katas/attention/test_softmax.py": CARD.format(name="x", track="attention", more="")}
    )
    assert refusal(there.declaration, info) == "test_softmax.py must bind KATA = Kata('softmax', …)."


def test_a_missing_solution_is_said_to_be_missing(course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = course({"softmax": "attention"})
    path = there.solution(there.kata_info("softmax"), "reference")
    missing = "The file solutions/attention/softmax/reference.py is missing."
    assert refusal(load_file, "reference", path) == missing


def test_the_course_is_found_from_below(course, tmp_path):
    course({"softmax": "attention"})
    below = tmp_path / "exercises" / "attention"
    below.mkdir()
    assert find_course(below) == tmp_path


def test_away_from_any_course_the_one_that_ships_the_grader_is_taken(tmp_path):
    assert (find_course(tmp_path) / "grader").is_dir()


def test_a_course_can_be_named(course, tmp_path, monkeypatch):
    course({"k": "attention"})
    monkeypatch.chdir(tmp_path.parent)
    assert list(open_course(tmp_path).katas) == ["k"]
    assert refusal(open_course, tmp_path / "none").endswith(
        f"none: it has no folder tests/katas. Start one: kata new --course {tmp_path / 'none'} TRACK/NAME"
    )


def test_a_path_is_shown_from_here_or_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert shorten(tmp_path / "here" / "a" / "b.py") == "a/b.py".replace(
        "/", (sys.platform == "win32" and "\\") or "/"
    )
    assert shorten(tmp_path / "secret" / "b.py") == "b.py"


def test_a_kata_without_a_declaration_is_told_which_file_is_missing(course, write, tmp_path):
    there = course({"softmax": "attention"})
    write(tmp_path, {"exercises/attention/top_p.py": "def top_p(): ..."})
    said = "`top_p` has no declaration; write tests/katas/attention/test_top_p.py."
    assert refusal(there.kata_info, "top_p") == said


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("double", ["double"]),
        ("exercises/attention/double.py", ["double"]),
        ("./exercises/attention/double.py", ["double"]),
        ("exercises\\attention\\double.py", ["double"]),
        ("double.py", ["double"]),
        ("attention/double", ["double"]),
        ("DOUBLE", ["double"]),
        ("twice", ["double"]),
        ("attention", ["double"]),
        ("modules/", ["center"]),
        ("DOUBLE.PY", ["double"]),
    ],
)
def test_a_kata_is_found_by_what_people_type(write, tmp_path, tiny_files, monkeypatch, word, names):
    tracks = '[path]\nattention = ["double"]\nmodules = ["center"]\n[aliases]\ntwice = "double"\n'
    course = Course(write(tmp_path, {**tiny_files, "tests/katas/path.toml": tracks}))
    monkeypatch.chdir(tmp_path)
    assert [info.name for info in course.katas_meant(word)] == names


@pytest.mark.parametrize(
    ("here", "word", "names"),
    [
        (".", ".", ["double", "center"]),
        (".", "exercises/", ["double", "center"]),
        ("..", "course/exercises", ["double", "center"]),
        ("exercises", ".", ["double", "center"]),
        ("exercises/modules", "..", ["double", "center"]),
        ("exercises/modules", ".", ["center"]),
        ("exercises/modules", "exercises", ["double", "center"]),
    ],
)
def test_a_folder_means_all_of_its_katas(write, tmp_path, tiny_files, monkeypatch, here, word, names):
    course = Course(write(tmp_path / "course", tiny_files))
    monkeypatch.chdir(course.root / here)
    assert {info.name for info in course.katas_meant(word)} == set(names)


def test_another_folder_is_no_kata(tiny_course, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert refusal(tiny_course.katas_meant, ".").startswith("There is no kata called `elsewhere`.")
    assert refusal(tiny_course.katas_meant, "").startswith("There is no kata called ``.")


def test_a_file_of_another_name_is_told_about_the_option(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(tiny_course.katas_meant, "my_double.py") == (
        "No kata is called `my_double`. Name the kata and the file: grade double --file my_double.py"
    )
    (tmp_path / "double.py").touch()
    assert refusal(tiny_course.katas_meant, "double.py") == (
        "double.py is not the exercise of `double`. Grade it so: grade double --file double.py"
    )
    assert refusal(tiny_course.katas_meant, "a/dubble") == (
        "There is no kata called `dubble`. Did you mean `double`?"
    )
