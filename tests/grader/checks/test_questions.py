"""Katas of questions: rows of numbers, right and wrong answers, what each of them is told."""

import ast
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from dojo_authoring.verify.judged import key_entry
from dojo_authoring.verify.katas import verify_course
from grader.answer_keys.file import KeyFile, Keyring, write
from grader.course.catalog import Course, load_file
from grader.course.known_solutions import KnownSolutions
from grader.course.submission import parse
from grader.formats import account, terminal
from grader.grading.grader import Grader
from grader.kata import Kata, KataError
from grader.kinds import KINDS
from grader.reading.cells import answer_to
from grader.values.constants import agrees, plain

COURSE = Course(Path(__file__).parents[3])
PAGES = [info for info in COURSE.katas.values() if info.kind == KINDS["questions"]]
INFO = COURSE.katas["attention_questions"]
ROW_OF_ADA = sum(b"ada") % 8


def reference_of(name):
    info = COURSE.katas[name]
    return load_file(f"reference_of_{name}", COURSE.solution(info, "reference"))


def answers(info, row):
    numbers = COURSE.declaration(info).examples[row]
    reference = reference_of(info.name)
    return {name: plain(getattr(reference, name)(**numbers)) for name in info.entry_points}


def filled(info, student="ada", row=ROW_OF_ADA, **changes):
    """The stub with the right answers of a row, apart from the changes."""
    text = COURSE.stub(info).read_text().replace('STUDENT = ""', f"STUDENT = {student!r}")
    for name, value in {**answers(info, row), **changes}.items():
        text = re.sub(rf"^{name} = \.\.\.$", f"{name} = {value!r}", text, flags=re.MULTILINE)
    return text


@pytest.fixture(scope="module")
def grade_page(numpy_source):
    judging = Grader(COURSE, {"numpy": numpy_source})
    return lambda text, info=INFO: judging.grade(parse(info, text, f"{info.name}.py")).report


def failed(report):
    return {check.name: check for check in account.wrong(report)}


class TestPages:
    def test_there_are_five_pages_of_eight_questions(self):
        assert [len(info.entry_points) for info in PAGES] == [8] * 5
        assert {info.max_score for info in PAGES} == {800}

    @pytest.mark.parametrize("info", PAGES, ids=lambda info: info.name)
    def test_the_statement_shows_the_numbers_that_are_graded(self, info):
        shown = {}
        for table in re.findall(r"(?:^    (?:row|\d) .*\n)+", COURSE.stub(info).read_text(), re.MULTILINE):
            head, *rows = (re.split(r"  +", line.strip()) for line in table.splitlines())
            for name, *column in zip(head, *rows, strict=True):
                shown[name] = tuple(
                    ast.literal_eval(text) if text[0] in "-(0123456789" else text for text in column
                )
        kata = COURSE.declaration(info)
        assert shown == {"row": tuple(range(8)), **kata.numbers}

    @pytest.mark.parametrize("info", PAGES, ids=lambda info: info.name)
    def test_the_wrong_answers_of_a_row_differ(self, info):
        known = KnownSolutions(COURSE, info, "mistakes")
        wrong = {name: vars(known.fresh(name)) for name in known.names}
        for case in COURSE.declaration(info).examples:
            for question, right in answers(info, case["row"]).items():
                given = [plain(module[question](**case)) for module in wrong.values()]
                distinct = [one for one in given if not agrees(right, one)]
                repeated = [
                    one for n, one in enumerate(distinct) if any(agrees(o, one) for o in distinct[:n])
                ]
                assert not repeated, (question, case)
                assert len(distinct) >= 2, (question, case)

    def test_two_mistakes_with_one_answer_in_a_row_are_refused(self, tmp_path, capsys):
        for folder in ("exercises", "solutions", "tests/katas"):
            shutil.copytree(COURSE.root / folder / "concepts", tmp_path / folder / "concepts")
        shutil.copy(COURSE.root / "tests/katas/path.toml", tmp_path / "tests/katas")
        row = {name: column[3] for name, column in COURSE.declaration(INFO).numbers.items()}
        with (tmp_path / "solutions/concepts/attention_questions/mistakes.py").open("a") as out:
            out.write(
                f"""

class copies_a_row:
    \"\"\"That is another number.\"\"\"

    def SCALE(d_model, **row):
        return d_model**0.5 if {{"d_model": d_model}} | row | {row} == {{"d_model": d_model}} | row else 0.5
"""
            )
        assert verify_course(Course(tmp_path), ("attention_questions",)) == 1
        assert (
            "the mistake `copies_a_row` answers SCALE in row 3 as `scales_by_the_model_width` does;"
            " choose other numbers for that row." in capsys.readouterr().out
        )

    def test_the_answers_are_those_of_the_katas_of_code(self):
        for row, case in enumerate(COURSE.declaration(INFO).examples):
            mask = reference_of("causal_mask").causal_mask(case["queries"], case["cached"] + case["queries"])
            assert answers(INFO, row)["VISIBLE_KEYS"] == tuple(np.flatnonzero(mask[case["query"]]))
        page = COURSE.katas["parameter_questions"]
        for row, case in enumerate(COURSE.declaration(page).examples):
            names = ("vocab", "d_model", "heads", "d_ff", "layers")
            counted = reference_of("parameter_count").parameter_count(*(case[name] for name in names))
            found = answers(page, row)
            assert found["ATTENTION"] == counted["self_attention"]
            assert found["FEED_FORWARD"] == counted["feed_forward"]
        page = COURSE.katas["sampling_questions"]
        for row, case in enumerate(COURSE.declaration(page).examples):
            found = answers(page, row)
            shares = reference_of("softmax").softmax(np.array(case["logits"]) / case["temperature"])
            assert found["AT_TEMPERATURE"] == pytest.approx(shares.max())

    def test_the_model_has_the_parameters_of_a_module(self):
        pytest.importorskip("torch")
        page = COURSE.katas["parameter_questions"]
        for row, case in enumerate(COURSE.declaration(page).examples):
            names = ("vocab", "d_model", "heads", "d_ff", "layers", "positions")
            model, found = (
                reference_of("mini_gpt").MiniGPT(*(case[name] for name in names)),
                answers(page, row),
            )
            parts = {
                "MODEL": model,
                "BLOCK": model.blocks[0],
                "LAYER_NORM": model.ln_f,
                "EMBEDDINGS": model.embed,
            }
            counted = {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
            counted["MODEL"] -= sum(p.numel() for p in model.head.parameters())  # it is tied on the page
            assert counted == {name: found[name] for name in parts}

    def test_filters_keep_what_the_katas_keep(self):
        torch = pytest.importorskip("torch")
        page = COURSE.katas["sampling_questions"]
        for row, case in enumerate(COURSE.declaration(page).examples):
            logits, found = torch.tensor([case["logits"]]), answers(page, row)
            nucleus = reference_of("top_p").top_p_filter(logits, case["p"])
            assert found["NUCLEUS"] == tuple(torch.isfinite(nucleus[0]).nonzero()[:, 0].tolist())
            kept = reference_of("min_p").min_p_filter(logits, case["min_p"])
            assert found["AFTER_MIN_P"] == tuple(torch.isfinite(kept[0]).nonzero()[:, 0].tolist())


class TestAnswers:
    @pytest.mark.parametrize("info", PAGES, ids=lambda info: info.name)
    def test_right_answers_pass_for_their_row_alone(self, info, grade_page):
        right = grade_page(filled(info), info)
        assert (right.status, right.score) == ("passed", 800)
        other = grade_page(filled(info, student="b"), info)
        assert other.score < 600

    def test_without_a_login_the_row_is_the_first(self, grade_page):
        assert grade_page(filled(INFO, student="", row=0)).score == 800
        without = "\n".join(
            line for line in filled(INFO, row=0).splitlines() if not line.startswith(("STUDENT", "ROW ="))
        )
        assert grade_page(without).score == 800

    @pytest.mark.parametrize("value", ["7", "object()", "['ada']"])
    def test_a_login_that_is_no_text_counts_as_none(self, value, grade_page):
        text = re.sub(r"(?m)^(STUDENT = ).*\nROW.*$", rf"\g<1>{value}", filled(INFO, row=0))
        assert grade_page(text).score == 800

    def test_functions_are_judged_on_every_row(self, grade_page):
        source = COURSE.solution(INFO, "reference").read_text()
        assert grade_page(f"{source}\nSTUDENT = None\n").score == 800
        wrong = source.replace("math.sqrt(d_model // heads)", "4.0 + 0 * math.sqrt(d_model // heads)")
        assert list(failed(grade_page(f"{wrong}\nSTUDENT = None\n"))) == ["scale"]

    def test_a_page_passes_from_three_quarters(self, grade_page):
        enough = grade_page(filled(INFO, SCALE=0.5, POSITION_ID=-1))
        assert (enough.status, enough.score) == ("passed", 600)
        assert account.summary_of(enough).startswith("Passes. SCALE = 0.5 is not right.")
        assert "6 / 8   ✓ passes; 2 of 8 answers are wrong" in terminal.render_kata(enough)
        less = grade_page(filled(INFO, SCALE=0.5, POSITION_ID=-1, VISIBLE_KEYS=()))
        assert (less.status, less.score) == ("failed", 500)

    def test_a_wrong_answer_gets_its_reason_and_the_numbers_and_not_the_answer(self, grade_page):
        numbers = COURSE.declaration(INFO).examples[ROW_OF_ADA]
        wrong = (numbers["batch"], numbers["heads"], numbers["queries"], numbers["queries"])
        check = failed(grade_page(filled(INFO, SHAPE_OF_SCORES=wrong)))["shape_of_scores"]
        assert check.mistake.id == "forgets_the_cached_keys"
        assert check.mistake.text.startswith("You counted the new keys alone.")
        assert check.message.startswith(f"SHAPE_OF_SCORES = {wrong} is not right. The scores compare")
        assert check.counterexample[f"row {ROW_OF_ADA}"].startswith(f"batch={numbers['batch']}, heads=")
        assert (check.call, check.expected, check.snippet) == (None, None, "")

    def test_an_unknown_wrong_answer_gets_a_nudge(self, grade_page):
        check = failed(grade_page(filled(INFO, SCALE=123.0)))["scale"]
        assert check.mistake is None
        assert check.message == (
            "SCALE = 123.0 is not right. The scale makes up for the number of terms in one dot product of a"
            " query and a key."
        )

    @pytest.mark.parametrize(
        ("value", "told"),
        [
            ("...", "SCALE has no answer yet."),
            ("'4'", "SCALE is a text in quotes, and a number is expected."),
            ("(4,)", "SCALE is a tuple such as (2, 3), and a number is expected."),
            ("True", "SCALE is True or False, and a number is expected."),
            ("{4}", "SCALE is set, and a number is expected."),
            ("[print]", "SCALE is a tuple such as (2, 3), and a number is expected."),
            ("None", "SCALE is None, and a number is expected."),
        ],
    )
    def test_another_kind_of_value_is_said(self, value, told, grade_page):
        text = re.sub(r"(?m)^SCALE = .*$", f"SCALE = {value}", filled(INFO))
        assert failed(grade_page(text))["scale"].message.startswith(told)

    def test_a_line_that_was_removed_is_said(self, grade_page):
        text = re.sub(r"(?m)^SCALE = .*$", "", filled(INFO))
        told = failed(grade_page(text))["scale"].message
        assert told == "There is no line `SCALE = …`; the stub has one."

    def test_an_untouched_page_is_not_started(self):
        assert not parse(INFO, COURSE.stub(INFO).read_text(), "a.py").begun
        assert parse(INFO, COURSE.stub(INFO).read_text().replace("SCALE = ...", "SCALE = 2"), "a.py").begun

    @pytest.mark.parametrize(
        ("due", "answer", "same"),
        [
            ((2, 3), [2, 3], True),
            ((2, 3), np.array([2, 3]), True),
            (6, np.int64(6), True),
            (6, 6.0, True),
            (6, 6.01, False),
            (0.625, 0.627, True),
            (0.625, 0.63, False),
            (math.sqrt(16), 4, True),
            ("B", " b", True),
            ((2, 3), (2, 3, 1), False),
            (1, True, False),
        ],
    )
    def test_an_answer_may_be_written_in_several_ways(self, due, answer, same):
        assert agrees(plain(due), plain(answer)) is same


class TestElsewhere:
    def test_a_key_judges_and_names_without_the_solutions(self, numpy_source):
        data = write([key_entry(COURSE, Grader(COURSE, {}).prepare(INFO))], 20170612, "0")
        judging = Grader(COURSE, {"numpy": numpy_source}, keyring=Keyring([KeyFile(data, "k")], "k"))
        wrong = judging.grade(parse(INFO, filled(INFO, SHAPE_OF_Q=(1,)), "a.py")).report
        assert wrong.score == 700
        numbers = COURSE.declaration(INFO).examples[ROW_OF_ADA]
        position = numbers["cached"] + numbers["query"]
        counted = judging.grade(parse(INFO, filled(INFO, POSITION_ID=position), "a.py")).report
        assert counted.mistake.id == "numbers_the_padding_too"

    def test_a_cell_of_a_notebook_answers_a_page(self):
        stub, answer = COURSE.stub(INFO).read_text(), filled(INFO)
        cells = [
            {"cell_type": "code", "source": f"%%kata {INFO.name}\n{text}"} for text in (answer, stub)
        ]  # the untouched copy below does not count
        assert "SCALE = ..." not in answer_to(INFO.name, cells)

    @pytest.mark.slow  # importing nbformat takes seconds
    def test_the_instructors_notebook_hands_the_page_out_as_it_is(self):
        notebook = pytest.importorskip("dojo_notebooks.notebook")
        pytest.importorskip("nbformat")
        made = notebook.notebook_of(COURSE, [INFO])
        assert "SCALE = ..." in made
        assert "BEGIN SOLUTION" not in made

    def test_columns_of_different_lengths_are_refused(self):
        with pytest.raises(KataError, match="columns of the same length"):
            Kata(
                "a",
                track="b",
                title="",
                source="",
                hints=(),
                questions={"A": ("", "")},
                numbers={"x": (1,), "y": ()},
            )
