"""Tests that each mistake of a course author gets one message with the place and the remedy."""

# ruff: noqa: E501 - sentences are easier to compare on a line of their own

import pytest

from dojo_authoring.verify import static_checks, time_limit
from dojo_authoring.verify.katas import verify_course
from dojo_authoring.verify.static_checks import unwritten
from grader.course.catalog import Course
from grader.course.files import parse
from grader.kata import KataError

from ...conftest import DOUBLE

CARD = "tests/katas/attention/test_double.py"
STUB = "exercises/attention/double.py"
REFERENCE, MISTAKES, VARIANTS = (
    f"solutions/attention/double/{p}.py" for p in ("reference", "mistakes", "variants")
)


@pytest.fixture
def messages(write, tmp_path):
    """`messages(file, old, new)` returns the messages about the tiny kata after this change."""

    def change(file, old, new):
        assert old in DOUBLE[file]
        course = Course(write(tmp_path, {**DOUBLE, file: DOUBLE[file].replace(old, new, 1)}))
        info = course.kata_info("double")
        return static_checks.gaps(course, info) or static_checks.gaps_of_answers(course, info)

    return change


def test_a_kata_that_can_be_judged_has_no_gaps(messages):
    assert messages(CARD, "points=1", "points=0.5") == []


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (CARD, "points=1", "points=0", f"{CARD}:28: the law `twice_is_a_sum` is worth 0 points; give it some."),
        (CARD, "points=1", "points=-2", f"{CARD}:28: the law `twice_is_a_sum` is worth -2 points; give it some."),
        (CARD, "points=1", "points=0.3", f"{CARD}:28: the law `twice_is_a_sum` is worth 0.3 points; give it whole or half points."),
        (CARD, "@KATA.law(points=1)", '@KATA.corner(points=0.25)\n        def few(x):\n            """Few rows."""\n            return len(x) == 1\n\n        @KATA.law(points=1)',
         f"{CARD}:28: the corner `few` is worth 0.25 points; give it whole or half points."),
        (CARD, "expect.close(student.double(x), x + x, \"double(x)\")", "assert (student.double(x) == x + x).all()",
         f"{CARD}:30: a bare assertion has no sentence for the student; use expect.true, expect.equal or expect.close."),
        (CARD, "expect.close(student.double(x), x + x, \"double(x)\")", "np.testing.assert_allclose(student.double(x), x + x)",
         f"{CARD}:30: a bare assertion has no sentence for the student; use expect.true, expect.equal or expect.close."),
        (CARD, "points=1", "points=9", f"{CARD}: its laws are worth 10 of 10 points and the free checks 1.75; leave at least 1.5 for agreeing with the reference."),
        (CARD, "@KATA.cases", "", f"{CARD}: it draws no cases; decorate a function with @KATA.cases."),
        (CARD, "bank_size=8", 'hint_for={"tripples": 1}', f"{CARD}: hint_for names `tripples`, and there is no such mistake; mend the name."),
        (CARD, "bank_size=8", 'hint_for={"triples": 2}', f"{CARD}: hint_for gives `triples` hint 2 of 1; give it one that exists."),
        (CARD, "bank_size=8", 'needs=("duble",)', f"{CARD}: `double` needs `duble`, and there is no such kata."),
        (CARD, "bank_size=8", 'needs=("double",)', f"{CARD}: `double` needs `double`: nobody could begin; take one of these needs out."),
        (STUB, "def double(x)", "def double(x, n=2)", f"{STUB}:3: `double` is (x, n=2) in the stub and (x) in the reference; make them one."),
        (STUB, "def double", "def duble", f"{STUB}: there is no `double`, which entry_points names; write it."),
        (REFERENCE, "def double", "def duble", f"{REFERENCE}: there is no `double`, which entry_points names; write it."),
        (REFERENCE, "return x + x", "import numpy as np\n            return np.multiply(x, 2)",
         f"{REFERENCE}:5: the reference breaks a rule of its own kata: it uses numpy.multiply."),
        (MISTAKES, "def takes_the_size", "def triples", f"{MISTAKES}:6: `triples` is defined 2 times; the last hides the others. Rename."),
        (MISTAKES, "def triples", "def double", f"{MISTAKES}:6: `double` is the name of an entry point; name the mistake by what goes wrong."),
        (MISTAKES, '"""The first row stays as it was."""', "", f"{MISTAKES}:15: `forgets_the_first_row` has no docstring; say symptom, cause and what to check."),
        (MISTAKES, "def _checked", 'SUBTLE = {"accepts_text"}\n\n        def _checked',
         f"{MISTAKES}:1: `SUBTLE` is not read; write @subtle above each of these mistakes, from grader.mistakes."),
        (REFERENCE, "return x + x", "raise NotImplementedError  # TODO: write it", f"{REFERENCE}:4: write it."),
    ],
)  # fmt: skip
def test_each_gap_has_its_place_and_its_remedy(messages, file, old, new, sentence):
    assert sentence in messages(file, old, new)


@pytest.mark.parametrize("file", [STUB, REFERENCE, MISTAKES, VARIANTS])
def test_each_missing_file_is_named(write, tmp_path, file):
    course = Course(write(tmp_path, {**DOUBLE}))
    (tmp_path / file).unlink()
    info = course.kata_info("double")
    gaps = static_checks.gaps(course, info) or static_checks.gaps_of_answers(course, info)
    due = file.replace("mistakes.py", "mistakes.edits")
    assert gaps == [f"{due} is missing; write it."]


@pytest.mark.parametrize("file", [CARD, STUB, REFERENCE, MISTAKES, VARIANTS])
def test_a_syntax_error_is_reported_with_file_and_line(write, tmp_path, monkeypatch, file):
    monkeypatch.chdir(write(tmp_path, DOUBLE))
    with (tmp_path / file).open("a") as out:
        out.write(")\n")
    line = len((tmp_path / file).read_text().splitlines())
    course = Course(tmp_path)
    find = static_checks.gaps_of_answers if file in (MISTAKES, VARIANTS) else static_checks.gaps
    with pytest.raises(KataError) as refused:
        find(course, course.kata_info("double"))
    assert str(refused.value) == f"{file} has a syntax error in line {line}: unmatched ')'."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "@KATA.law(points=1)",
            "@KATA.law",
            "double: test_twice_is_a_sum lacks its points; write @KATA.law(points=1) above it.",
        ),
        (
            "@KATA.law(points=1)",
            "@KATA.corner",
            "double: test_twice_is_a_sum lacks its points; write @KATA.corner(points=1) above it.",
        ),
        (
            'Rule(("numpy.multiply",)',
            'Rule(("multiply",)',
            "Rule: `multiply` has no module; write its dotted name, as in numpy.linalg.norm.",
        ),
        (
            'Rule(("numpy.multiply",)',
            'Rule("numpy.multiply"',
            'Rule: forbidden is one text; write ("numpy.multiply",), with a comma.',
        ),
    ],
)
def test_a_declaration_that_would_lose_a_part_is_refused(messages, old, new, sentence):
    with pytest.raises(KataError) as refused:
        messages(CARD, old, new)
    assert str(refused.value) == sentence


def test_a_long_line_of_a_stub_is_reported(write, tmp_path):
    root = write(tmp_path, DOUBLE)
    with (root / STUB).open("a") as out:
        out.write("#" * 88 + "\n" + "#" * 89 + "\n")
    number = len((root / STUB).read_text().splitlines())
    course = Course(root)
    found = static_checks.unfinished(course, course.kata_info("double"))
    assert [gap for gap in found if "columns" in gap] == [
        f"{STUB}:{number}: the line has 89 columns; wrap it at 88."
    ]


def test_a_line_that_a_page_takes_for_an_item_of_a_list_is_reported(write, tmp_path):
    lines = ["Usually there is", "1. Then nothing is to do.", "", "1. A list", "2. of two"]
    stub = DOUBLE[STUB].replace("as much.", "\n        ".join(["as much.", "", *lines, ""]))
    root = write(tmp_path, {**DOUBLE, STUB: stub})
    number = (root / STUB).read_text().splitlines().index(lines[1]) + 1
    course = Course(root)
    found = static_checks.unfinished(course, course.kata_info("double"))
    assert [gap for gap in found if "list" in gap and "begins" in gap] == [
        f'{STUB}:{number}: begins with "1. ", which a page takes for a list; wrap it elsewhere.'
    ]


def test_laws_of_the_same_name_are_reported(messages):
    gaps = messages(CARD, "def test_refuses_text", "def test_twice_is_a_sum")
    assert f"{CARD}:33: 2 laws are called `twice_is_a_sum`; rename all but one." in gaps


def test_a_name_in_the_path_without_a_kata_is_reported(write, tmp_path):
    course = Course(
        write(tmp_path, {**DOUBLE, "tests/katas/path.toml": '[path]\nattention = ["double", "x"]'})
    )
    assert static_checks.unknown_names(course) == [
        "tests/katas/path.toml lists `x`, and there is no such kata; write it, or take the name out."
    ]


def test_a_file_that_is_not_text_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_bytes(b"x = 1\0")
    with pytest.raises(KataError, match=r"^x\.py (cannot be read as Python|has a syntax error)"):
        parse(tmp_path / "x.py")


# --- faults found by running: one course, a kata for each fault, verified once ----------------------

LAW = '"""Twice x is x plus x."""'
FAULTS = {
    "wrong_argument": (CARD, "def test_twice_is_a_sum(student, x)", "def test_twice_is_a_sum(student, q)"),
    "never_draws": (CARD, "shape = draw(st.shapes(2, 3))", "shape = draw(st.shapes(2, 3).filter(lambda s: False))"),
    "draws_and_raises": (CARD, "shape = draw(st.shapes(2, 3))", "shape = (2, 3)[5]"),
    "draws_a_list": (CARD, 'return {"x":', 'return [draw(st.integers(0, 1))] or {"x":'),
    "reference_raises": (REFERENCE, "return x + x", "return x + missing"),
    "draws_a_generator": (CARD, '"x": draw(', '"rng": np.random.default_rng(3), "x": draw('),
    "gives_a_generator": (CARD, '{"x": np.ones', '{"rng": np.random.default_rng(3), "x": np.ones'),
    "draws_forever": (CARD, "shape = draw(st.shapes(2, 3))", "while True: pass"),
    "reference_never_ends": (REFERENCE, "return x + x", "while True: x = x"),
    "mistake_never_ends": (MISTAKES, "return abs(_checked(x)) * 2", "while True: pass"),
    "mistake_with_a_typo": (MISTAKES, "return abs(_checked(x)) * 2", "return asb(x)"),
    "law_refuses": (CARD, "expect.close(student.double(x), x + x,", "expect.close(student.double(x), x * 3,"),
    "law_in_words": (CARD, 'expect.close(student.double(x), x + x, "double(x)")', 'expect.true(student.double(x) is x, "It is x.")'),
    "variant_of_another_shape": (VARIANTS, "return x * 2", "return x[None] * 2"),
    "law_raises": (CARD, LAW, LAW + "\n            nothing.at_all"),
    "law_nobody_fails": (CARD, 'expect.close(student.double(x), x + x, "double(x)")', "pass"),
    "observe_refuses": (CARD, "@KATA.example", "@KATA.observe\n        def observe(student, x):\n"
                        '            expect.true(False, "It is so.")\n\n        @KATA.example'),
    "needless_observe": (CARD, "@KATA.example", "@KATA.observe\n        def observe(student, x):\n"
                         '            return {"r": {}["q"]}\n\n        @KATA.example'),
}  # fmt: skip
SENTENCES = {
    "wrong_argument": "test_wrong_argument.py: the law `twice_is_a_sum` asks for `q`, and its cases hold x; take a name of theirs, or draw it.",
    "never_draws": "test_never_draws.py: its cases cannot be drawn: every one is filtered away; draw what is wanted instead of filtering out what is not.",
    "draws_and_raises": "test_draws_and_raises.py: its cases cannot be drawn: line 20 of test_draws_and_raises.py raises IndexError: tuple index out of range.",
    "draws_a_list": "test_draws_a_list.py: its cases cannot be drawn: a case is a dict of arguments by name, and list was returned.",
    "reference_raises": "test_reference_raises.py: the reference fails on a case of its own bank: NameError: name 'missing' is not defined (line 4). The case: x = [[1.0, 1.0]]. Draw no such case, or mend the reference.",
    "draws_a_generator": "test_draws_a_generator.py: its cases cannot be drawn: the argument `rng`: a value of type Generator cannot travel to the worker; draw the numbers that it is made from, and make it with student.build.",
    "gives_a_generator": "test_gives_a_generator.py: an example cannot be used: the argument `rng`: a value of type Generator cannot travel to the worker; draw the numbers that it is made from, and make it with student.build.",
    "draws_forever": "test_draws_forever.py:20: this has run for 1.5 seconds of CPU time without an end; mend it, or draw smaller cases.",
    "reference_never_ends": "reference.py:4: this has run for 1.5 seconds of CPU time without an end; mend it, or draw smaller cases.",
    "mistake_never_ends": "mistakes.py:13: this has run for 1.5 seconds of CPU time without an end; mend it, or draw smaller cases.",
    "mistake_with_a_typo": "mistakes.py:11: the mistake `takes_the_size` raises in every case: The code raised NameError: name 'asb' is not defined. Mend it; if this is what a student sees, let its docstring speak of the error.",
    "law_refuses": "reference.py: the reference is refused by `twice_is_a_sum`: double(x): 2.0 at [0, 0], should be 3.0. (called double(x); with x = [[1.0, 1.0]] float32 (1, 2)). Mend one of the two.",
    "law_in_words": "reference.py: the reference is refused by `twice_is_a_sum`: It is x. (called double(x); with x = [[0.0]] float32 (1, 1)). Mend one of the two.",
    "variant_of_another_shape": "variants.py:1: the variant `shifts` is refused by `agrees_with_reference`: The result is float32 (1, 1, 1); it must be float32 (1, 1). (called double(x=x); with x = [[0.0]] float32 (1, 1); expected float32 (1, 1), got float32 (1, 1, 1)). Mend one of the two.",
    "law_raises": "test_law_raises.py:30: the law `twice_is_a_sum` raises NameError: name 'nothing' is not defined when the reference is judged; mend the law.",
    "law_nobody_fails": "test_law_nobody_fails.py:28: no mistake fails the law `twice_is_a_sum`; add the mistake that it guards against, or drop it.",
    "observe_refuses": "test_observe_refuses.py: the reference fails on a case of its own bank: It is so. The case: x = [[1.0, 1.0]]. Draw no such case, or mend the reference.",
    "needless_observe": "test_needless_observe.py: line 25 of test_needless_observe.py raises KeyError: 'q', when the reference is asked.",
}


def faulty(name, file, old, new):
    """The tiny kata under another name, with one fault."""
    assert old in DOUBLE[file], name
    files = {**DOUBLE, file: DOUBLE[file].replace(old, new, 1)}
    files[CARD] = files[CARD].replace('"double",\n', f'"{name}",\n', 1)
    return {path.replace("double", name): text for path, text in files.items()}


@pytest.fixture(scope="session")
def verified(tmp_path_factory):
    """Return the output of `kata verify` for a course in which every kata has one of the faults."""
    import contextlib
    import io

    from ...conftest import write_files

    root = tmp_path_factory.mktemp("faults")
    for name, fault in FAULTS.items():
        write_files(root, faulty(name, *fault))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(time_limit, "LONGEST_STEP", 1.5)
        assert verify_course(Course(root), ()) == 1
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_found_by_running_is_one_message(verified, name):
    folder = "tests/katas/attention" if SENTENCES[name].startswith("test_") else f"solutions/attention/{name}"
    assert f"✗ {name}: {folder}/{SENTENCES[name]}\n" in verified


@pytest.mark.slow
def test_the_first_gap_is_the_next_step(verified):
    lines = verified.splitlines()
    step = next(line for line in lines if line.startswith("next: "))
    first = next(line for line in lines if line.startswith("✗ "))
    assert step.removeprefix("next: ") == first.removeprefix("✗ ")
    assert lines.index(step) < lines.index(first)


@pytest.mark.parametrize(
    ("line", "todo"),
    [
        ("expect.refuses(f, x, why='TODO: say why it is refused')", "say why it is refused"),
        ('    expect.refuses(f, x, why="TODO: say why it is refused"),', "say why it is refused"),
        ('    """TODO: say what it holds."""', "say what it holds"),
        ("# TODO: draw more (ties, zeros)", "draw more (ties, zeros)"),
        ("# TODO: say 'no' twice", "say 'no' twice"),
    ],
)
def test_a_todo_ends_before_the_end_of_its_literal(tmp_path, line, todo):
    path = tmp_path / "file.py"
    path.write_text(line)
    (tmp_path / "exercises").mkdir()
    assert unwritten([path], Course(tmp_path))[1][0].endswith(f":1: {todo}.")
