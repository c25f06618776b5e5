"""Tests of `kata verify`, `kata verify --seeds` and `kata overview` on courses with gaps."""

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dojo_authoring.overview import overview
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.katas import KataVerification, _told, verify_course
from dojo_authoring.verify.random_draws import OtherDraws
from dojo_authoring.verify.record import part_of, record_path, verification, write_record
from dojo_authoring.verify.seeds import verify_right_answers
from grader.answer_keys.file import KeyUnusable, open_keyring
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course, find_course
from grader.report import CheckReport

from ...conftest import DOUBLE

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def course(tmp_path, write):
    """`course({path: text or None})`: the tiny course with these files changed, or left out."""

    def change(changes=None):
        files = {**DOUBLE, **(changes or {})}
        return Course(write(tmp_path, {name: text for name, text in files.items() if text is not None}))

    return change


def test_verify_remembers_what_is_ready_and_forgets_what_is_not(course, capsys, monkeypatch):
    here = course()
    info = here.kata_info("double")
    write_record(here, [info])
    line = record_path(here).read_text().splitlines()[1]
    pattern = r'double = { digest = "[0-9a-f]{16}", day = "\d{4}-\d\d-\d\d", grader = "[\d.]+" }'
    assert re.fullmatch(pattern, line)
    assert verification(here, info) is not None
    assert found(capsys, here)[0] == 1  # it has too few mistakes
    assert verification(here, info) is None
    ready = KataVerification(info)
    monkeypatch.setattr("dojo_authoring.verify.katas.for_each", lambda *_: iter([(info, ready)]))
    assert verify_course(here, ("double",)) == 0
    assert record_path(here).read_text().splitlines()[1] == line
    verify_course(here, ("double",), seed=5)
    capsys.readouterr()
    record_path(here).write_text("[")
    monkeypatch.setattr("dojo_authoring.verify.katas.for_each", lambda *_: iter([(info, ready)]))
    assert verify_course(here, ("double",)) == 0
    told = "note: solutions/verified.toml is damaged: delete it, and run `kata verify` again.\n"
    assert told in capsys.readouterr().out
    record_path(here).unlink()
    write_record(here, [info])
    (here.root / "exercises" / "attention" / "double.py").write_text("# other\n")
    assert verification(here, info) is None


def found(capsys, course):
    code = verify_course(course, ())
    lines = capsys.readouterr().out.splitlines()
    return code, [line.removeprefix("✗ double: ") for line in lines if line.startswith("✗")]


UNSIGNED = (
    "every case has integers that PyTorch lacks, so no answer in PyTorch can be judged; say"
    ' libraries=("numpy",), or draw int64.'
)


def test_a_message_without_a_call_has_no_brackets():
    check = CheckReport("agrees", "It agrees.", "failed", 0, 1, message="No points: nothing  agrees.")
    assert _told(check) == "No points: nothing agrees."


REFUSED = "variants.py:10: the variant `cubes` is refused by `agrees_with_reference`"
SHORT = [
    "exercises/attention/double.py:1: the docstring is no statement yet (400 characters are needed).",
    "tests/katas/path.toml does not list it; put it where it is best learnt.",
    "1 hints; 3 are needed, from a nudge to nearly the answer.",
]


@pytest.mark.slow
def test_gaps_of_texts_come_after_gaps_found_by_running(capsys, course):
    code, gaps = found(capsys, course())
    assert code == 1
    assert gaps[-3:] == SHORT


@pytest.mark.slow
def test_a_missing_file_is_the_first_thing_to_write(capsys, course):
    mistakes = "solutions/attention/double/mistakes.py"
    code, gaps = found(capsys, course({mistakes: None}))
    due = mistakes.replace(".py", ".edits")
    assert (code, gaps) == (1, [f"{due} is missing; write it.", *SHORT])


@pytest.mark.slow
def test_the_reference_is_judged_before_there_are_mistakes(capsys, course):
    answers = {f"solutions/attention/double/{part}.py": None for part in ("mistakes", "variants")}
    card = "tests/katas/attention/test_double.py"
    wrong = DOUBLE[card].replace("student.double(x), x + x", "student.double(x), x * x")
    code, gaps = found(capsys, course({**answers, card: wrong}))
    assert code == 1
    assert gaps[0].startswith(
        "solutions/attention/double/reference.py: the reference is refused by `twice_is_a_sum`"
    )
    due = [name.replace("mistakes.py", "mistakes.edits") for name in answers]
    assert gaps[1:3] == [f"{name} is missing; write it." for name in due]


@pytest.mark.slow
def test_verify_says_which_law_makes_many_calls(capsys, course):
    card = "tests/katas/attention/test_double.py"
    law = '''

@KATA.law(points=1)
def test_often(student):
    """Every call gives the same."""
    results = [student.double(np.ones(2)).sum() for _ in range(MANY)]
    expect.equal(results, [4.0] * len(results), "the sums")
'''
    for number, said in ((1500, True), (600, False)):
        text = textwrap.dedent(DOUBLE[card]).lstrip() + law.replace("MANY", str(number))
        here = course({card: text})
        line = text[: text.index("def test_often")].count("\n") + 1
        note = (
            f"note: double: {card}:{line}: the law `often` makes 1,500 calls in every grading; draw fewer"
            " times, or draw many numbers in one call."
        )
        for _ in range(2):  # the second time the record is read
            verify_course(here, ())
            assert (note in capsys.readouterr().out.splitlines()) == said


@pytest.mark.slow
def test_verify_asks_for_a_case_that_an_answer_in_pytorch_can_have(capsys, course):
    card = "tests/katas/attention/test_double.py"
    text = textwrap.dedent(DOUBLE[card]).lstrip()
    drawn = "draw(st.readable_arrays(shape, draw(st.float_dtypes()))) + draw(st.integers(0, 2))"
    assert drawn in text
    text = text.replace(drawn, 'np.full(shape, draw(st.integers(0, 2)), "uint16")').replace(
        "float32", "uint16"
    )
    _, gaps = found(capsys, course({card: text}))
    assert f"{card}: {UNSIGNED}" in gaps


@pytest.mark.slow
def test_verify_refuses_a_kata_that_pays_for_handing_an_argument_back(capsys, course):
    card = "tests/katas/attention/test_double.py"
    text = textwrap.dedent(DOUBLE[card]).lstrip()
    observe = (
        "\n\n@KATA.observe\ndef observe(student, x):\n"
        '    """Where nothing is left of x, its negative is an easy answer, and no argument."""\n'
        '    return {"result": -student.double(x)}\n'
    )
    reference = "solutions/attention/double/reference.py"
    changed = DOUBLE[reference].replace("return x + x", "return x + x if x.size > 7 else x")
    assert changed != DOUBLE[reference]
    code, gaps = found(capsys, course({card: text + observe, reference: changed}))
    assert code == 1
    (gap,) = [gap for gap in gaps if "trivial" in gap]
    assert re.fullmatch(
        rf"{card}: a trivial answer \(hands back `x`\) gets [2-9](\.\d)? of 10 points; draw cases whose"
        r" answers differ from it, or give the checks that it passes fewer points\.",
        gap,
    )


@pytest.mark.slow
def test_mistakes_may_import_the_reference(capsys, course):
    mistakes = "solutions/attention/double/mistakes.py"
    text = '''
        from reference import double as _double

        def triples(x):
            """The result is three times x."""
            return _double(x) + x
    '''
    _, gaps = found(capsys, course({**WHOLE, mistakes: text}))
    assert gaps == [
        "solutions/attention/double/variants.py:8: 1 variant; 3 are needed, in other styles.",
        f"{mistakes}:5: 1 mistake; 6 are needed.",
        "tests/katas/attention/test_double.py:33: no mistake fails the law `refuses_text`; add the mistake"
        " that it guards against, or drop it.",
    ]


def test_every_file_of_this_course_belongs_to_a_kata():
    assert static_checks.stray_files(Course(ROOT)) == []


def test_what_this_course_names_is_there():
    course = Course(ROOT)
    assert (static_checks.unknown_names(course), static_checks.unknown_in_see(course)) == ([], [])


def test_each_part_has_what_is_not_verified_and_its_share_of_the_rest(monkeypatch):
    course = Course(ROOT)
    changed = {"softmax", "mini_gpt"}
    known = "dojo_authoring.verify.record.unverified"
    monkeypatch.setattr(known, lambda _, infos: [info for info in infos if info.name in changed])
    parts = [set(part_of(course, part, 3)) for part in (1, 2, 3)]
    assert set.union(*parts) == set(course.katas)
    assert set.intersection(*parts) == changed
    assert sum(map(len, parts)) == len(course.katas) + 2 * len(changed)


def test_a_part_without_katas_is_no_gap(course):
    here = course()
    write_record(here, [here.kata_info("double")])
    done = CliRunner().invoke(run_kata, ["verify", "--part", "2", "2", "--course", str(here.root)])
    told = "Part 2 of 2 has no kata, and none has changed since it was verified.\n"
    assert (done.exit_code, done.output) == (0, told)


def test_a_part_of_named_katas_is_refused():
    done = CliRunner().invoke(run_kata, ["verify", "softmax", "--part", "1", "3", "--course", str(ROOT)])
    told = "Error: Name katas or a part of them, not both."
    assert (done.exit_code, done.output.splitlines()[-1]) == (4, told)


@pytest.mark.parametrize("part", [["4", "3"], ["0", "3"], ["1", "0"]])
def test_a_part_that_there_is_not_is_one_sentence(part):
    done = CliRunner().invoke(run_kata, ["verify", "--part", *part, "--course", str(ROOT)])
    said = f"There is no part {part[0]} of {part[1]}: parts are numbered from 1.\n"
    assert (done.exit_code, done.output) == (4, said)


def test_a_file_that_belongs_to_no_kata_is_reported(course):
    stray = course({"solutions/attention/double/notes.txt": "x"})
    assert static_checks.stray_files(stray) == ["notes.txt belongs to no kata; move or remove it."]


WHOLE = {
    "tests/katas/path.toml": '[path]\nattention = ["double"]',
    "tests/katas/attention/test_double.py": DOUBLE["tests/katas/attention/test_double.py"].replace(
        '("Think of two.",)', '("Think of two.", "Add.", "x and x.")'
    ),
    "exercises/attention/double.py": DOUBLE["exercises/attention/double.py"].replace(
        "Twice as much.", "Twice as much." + "\n        It is a long way to twice as much." * 12
    ),
}


def variant(body):
    return {
        **WHOLE,
        "solutions/attention/double/variants.py": DOUBLE["solutions/attention/double/variants.py"]
        + textwrap.indent(textwrap.dedent(body), " " * 8),
    }


@pytest.mark.slow
def test_too_few_answers_are_a_gap_and_the_table_counts_them(capsys, course):
    code, gaps = found(capsys, course(WHOLE))
    assert code == 1
    assert gaps == [
        "solutions/attention/double/variants.py:8: 1 variant; 3 are needed, in other styles.",
        "solutions/attention/double/mistakes.py:23: 4 mistakes; 6 are needed.",
    ]


@pytest.mark.slow
def test_a_mistake_that_passes_and_a_variant_that_fails_are_gaps(capsys, course):
    changes = variant(
        '''
        def cubes(x):
            """Wrong for most."""
            if isinstance(x, str):
                raise ValueError("text")
            return x * x * x + x
        '''
    )
    changes["solutions/attention/double/mistakes.py"] = DOUBLE["solutions/attention/double/mistakes.py"] + (
        '''
        def doubles(x):
            """It is right."""
            return _checked(x) * 2
        '''
    )
    _, gaps = found(capsys, course(changes))
    file = "solutions/attention/double/mistakes.py"
    assert (
        f"{file}:25: the mistake `doubles` passes; add a case or a law that tells it apart, or drop it."
        in gaps
    )
    assert any(REFUSED in gap for gap in gaps)


@pytest.mark.slow
def test_right_answers_are_judged_with_many_seeds(capsys, course):
    assert verify_right_answers(course(), (), 2) == 0
    assert "No right answer was refused over 2 banks." in capsys.readouterr().out


@pytest.mark.slow
def test_an_answer_that_is_wrong_for_some_cases_is_refused(capsys, course):
    changes = variant(
        '''
        def wrong_for_two_rows(x):
            """Wrong where there are two."""
            if isinstance(x, str):
                raise ValueError("text")
            return x * 2 if len(x) != 2 else x * 3
        '''
    )
    assert verify_right_answers(course(changes), (), 2) == 1
    said = capsys.readouterr().out
    assert "the variant `wrong_for_two_rows` is refused under seed 1 by `agrees_with_reference`" in said


def test_the_table_of_katas_in_the_docs_is_the_course_s():
    page = (ROOT / "docs" / "katas.md").read_text(encoding="utf-8")
    assert page.endswith(overview(Course(find_course(ROOT)))), "run: make docs"


def test_outside_of_a_course_nothing_is_verified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(run_kata, ["verify"])
    said = (
        "There is no course here: no folder `tests/katas` at or above this one. Name one with --course DIR."
    )
    assert (done.exit_code, done.output) == (4, f"{said}\n")


def test_a_missing_reference_is_named(capsys, course):
    reference = "solutions/attention/double/reference.py"
    there = course({reference: None})
    assert found(capsys, there) == (1, [f"{reference} is missing; write it."])
    said = f"`double` has no reference, {reference}, and the course has no answer keys; write one of them."
    with pytest.raises(KeyUnusable) as refused:
        open_keyring(there, [there.kata_info("double")], None, None)
    assert str(refused.value) == said


COIN = {
    "tests/katas/chance/test_coin.py": '''
        from grader import expect
        from grader import strategies as st
        from grader.kata import Kata

        KATA = Kata("coin", track="chance", entry_points=("coin",), title="T", source="S", hints=("H",),
                    library="torch", bank_size=8)
        SOURCE = """
        import torch

        def seeded(seed):
            return torch.Generator().manual_seed(seed)
        """.replace("\\n        ", "\\n")

        @KATA.cases
        def cases(draw):
            return {"p": float(draw(st.integers(0, 1))), "seed": draw(st.integers(0, 99))}

        @KATA.observe
        def observe(student, p, seed):
            return {"result": student.coin(p, student.build(SOURCE, "seeded", seed))}

        @KATA.law(points=1)
        def test_heads_are_as_many_as_p_says(student):
            """Heads come up as often as p says."""
            rng = student.build(SOURCE, "seeded", 5)
            heads = sum(student.coin(0.5, rng) for _ in range(64))
            expect.true(16 < heads < 48, "Of 64 throws about 32 are heads.")
    ''',
    "solutions/chance/coin/reference.py": """
        import torch

        def coin(p, generator):
            return bool(torch.rand((), generator=generator) < p)
    """,
    "solutions/chance/coin/mistakes.py": '''
        import torch

        def heads_too_often(p, generator):
            """Heads come up too often."""
            return bool(torch.rand((), generator=generator) < p**0.2)

        def heads_too_rarely(p, generator):
            """Heads come up too rarely."""
            return bool(torch.rand((), generator=generator) < p**2)

        def turns_the_coin(p, generator):
            """Heads and tails are swapped."""
            return not bool(torch.rand((), generator=generator) < p)
    ''',
    "solutions/chance/coin/variants.py": "",
    "exercises/chance/coin.py": '''
        """T."""

        def coin(p, generator):
            """T."""
            raise NotImplementedError
    ''',
}


def test_a_generator_with_another_seed_can_be_set_back_to_it():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        first = torch.rand((), generator=generator).item()
        generator.manual_seed(generator.initial_seed())
        return first, torch.rand((), generator=generator).item()

    again = OtherDraws(SimpleNamespace(draw=draw)).draw(7)
    assert again[0] == again[1] != draw(7)[0]


@pytest.mark.slow
def test_mistakes_that_are_named_or_caught_by_their_draws_alone_get_notes(capsys, tmp_path, write):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    verify_course(Course(write(tmp_path, COIN)), ())
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["coin", "6", "3/3", "1/3"]
    assert "Named by chance, and not counted as named: coin 2." in lines
    assert [line for line in lines if line.startswith("note: ")] == [
        "note: coin: solutions/chance/coin/mistakes.py:3: the mistake `heads_too_often` is named only where a"
        " student draws the same random numbers in the same order; let a law ask for equal values on a"
        " certain case (p = 0 or 1, fixed weights), or add such a case.",
        "note: coin: solutions/chance/coin/mistakes.py:7: the mistake `heads_too_rarely` is caught with 8"
        " of 10 draws of random numbers; make its check certain (p = 0 or 1, fixed weights), or draw more"
        " often.",
    ]
