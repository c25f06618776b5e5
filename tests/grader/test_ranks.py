"""Ranks meet in collectives, see their own arguments alone, and are counted."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, load_file
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.grading.session import grade_file, open_grader
from grader.grading.submission_run import SubmissionRun
from grader.ranks import MOST_EXCHANGES, Ranks
from grader.worker.protocol.messages import CallFunction, CallOptions

ROOT = Path(__file__).resolve().parents[2]
TOTAL = "def total(x, all_reduce): return all_reduce(x.sum())"


def of_all(*values):
    return [{"x": np.array(value)} for value in values]


def complaint(function, arguments, *collectives):
    with pytest.raises(ExpectationFailed) as failed:
        Ranks(len(arguments)).run(function, arguments, *collectives)
    return str(failed.value)


class TestCollectives:
    def test_all_reduce_adds_up(self, meet):
        student, ranks = meet(TOTAL), Ranks(3)
        assert ranks.run(student.total, of_all([1.0, 2.0], [3.0], [4.0]), "all_reduce") == [10.0] * 3
        assert (ranks.calls("all_reduce"), ranks.calls("shift")) == (1, 0)

    def test_all_gather_lists_all_in_order(self, meet):
        student = meet("def f(x, all_gather): return all_gather(x)")
        for result in Ranks(2).run(student.f, of_all([1.0], [2.0, 3.0]), "all_gather"):
            assert [part.tolist() for part in result] == [[1.0], [2.0, 3.0]]

    def test_reduce_scatter_gives_each_its_piece_of_the_sum(self, meet):
        student = meet("def f(x, reduce_scatter): return reduce_scatter(x)")
        results = Ranks(2).run(student.f, of_all([1.0, 2.0], [10.0, 20.0]), "reduce_scatter")
        assert [result.tolist() for result in results] == [[11.0], [22.0]]

    def test_shift_gives_the_array_of_the_rank_before(self, meet):
        student = meet("def f(x, shift): return shift(shift(x))")
        results = Ranks(3).run(student.f, of_all([0.0], [1.0], [2.0]), "shift")
        assert [result.tolist() for result in results] == [[1.0], [2.0], [0.0]]

    def test_several_in_turn(self, meet):
        student = meet("def f(x, all_reduce, shift): return all_reduce(x) * shift(x) + all_reduce(2 * x)")
        results = Ranks(2).run(student.f, of_all([1.0], [2.0]), "all_reduce", "shift")
        assert [result.tolist() for result in results] == [[12.0], [9.0]]

    def test_without_any_each_rank_is_called_once(self):
        calls = []
        Ranks(2).run(lambda x: calls.append(x), of_all(1.0, 2.0))
        assert len(calls) == 2

    def test_results_are_the_caller_s_own(self):
        def f(x, all_reduce):
            first = all_reduce(x)
            first += 100
            return all_reduce(x)

        assert Ranks(2).run(f, of_all([1.0], [2.0]), "all_reduce") == [3.0, 3.0]

    def test_scatter_copies_and_refuses_what_it_cannot_cut(self):
        whole = np.arange(8.0).reshape(2, 4)
        pieces = Ranks(2).scatter(whole, axis=1)
        assert [piece.tolist() for piece in pieces] == [[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]
        assert not any(np.shares_memory(piece, whole) for piece in pieces)
        with pytest.raises(ValueError, match="equal division"):
            Ranks(3).scatter(whole, axis=1)


class TestWhatDoesNotMeet:
    def test_a_rank_that_returns_while_another_waits(self):
        said = complaint(lambda x, all_reduce: all_reduce(x) if x > 0 else x, of_all(1.0, 0.0), "all_reduce")
        assert said == (
            "All ranks call the same collectives. Here rank 0 waits in all_reduce (collective 1 of the run), "
            "and rank 1 has returned."
        )

    def test_ranks_in_different_collectives(self):
        def f(x, all_reduce, shift):
            return all_reduce(x) if x > 0 else shift(x)

        assert "rank 0 waits in all_reduce (collective 1 of the run), and rank 1 in shift." in complaint(
            f, of_all(1.0, 0.0), "all_reduce", "shift"
        )

    def test_shapes_that_cannot_be_added(self):
        said = complaint(lambda x, all_reduce: all_reduce(x), of_all([1.0], [1.0, 2.0]), "all_reduce")
        assert said == "all_reduce adds arrays of one shape: rank 0 gives it [1] and rank 1 [2]."

    def test_an_axis_that_cannot_be_cut(self):
        said = complaint(lambda x, reduce_scatter: reduce_scatter(x), of_all([1.0], [2.0]), "reduce_scatter")
        assert said == (
            "reduce_scatter cuts the first axis into 2 equal pieces: the ranks give it the shape [1]."
        )

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("[x]", "a value of type list"),
            ("None", "None"),
            ("", "nothing"),
            ("x, x", "2 values"),
            ("10**30", "a number that no array can hold"),
            ("print", "a value of type builtin_function_or_method"),
        ],
    )
    def test_what_is_no_array(self, meet, given, said):
        student = meet(f"def f(x, all_reduce): return all_reduce({given})")
        told = complaint(student.f, of_all(1.0, 2.0), "all_reduce")
        assert told == f"all_reduce takes an array; rank 0 gives it {said}."

    def test_an_array_by_name(self, meet):
        student = meet("def f(x, all_reduce): return all_reduce(array=x)")
        with pytest.raises(SubmissionFailed, match="takes no argument by name: give array alone"):
            Ranks(2).run(student.f, of_all(1.0, 2.0), "all_reduce")

    def test_a_rank_that_gives_another_number_the_next_time(self, meet):
        student = meet("SEEN = []\ndef f(x, all_reduce): SEEN.append(1); return all_reduce(x + len(SEEN))")
        said = complaint(student.f, of_all(1.0, 2.0), "all_reduce")
        assert said.startswith("Rank 0 does something else in all_reduce (collective 1) when it runs again")

    def test_ranks_that_never_end(self):
        def f(x, all_reduce):
            while True:
                all_reduce(x)

        assert f"more than {MOST_EXCHANGES} collectives" in complaint(f, of_all(1.0), "all_reduce")

    def test_an_error_of_the_student_s_own_is_raised(self, meet):
        student = meet("def f(x, all_reduce): return all_reduce(x) / missing")
        with pytest.raises(SubmissionFailed) as failed:
            Ranks(2).run(student.f, of_all(1.0, 2.0), "all_reduce")
        assert failed.value.kinds[0] == "NameError"

    def test_code_that_catches_everything_gets_the_right_answer(self, meet):
        student = meet("""
            def f(x, all_reduce):
                try:
                    return all_reduce(x)
                except Exception:
                    return all_reduce(x) * 0
        """)
        assert Ranks(2).run(student.f, of_all(1.0, 2.0), "all_reduce") == [3.0, 3.0]


#: Looks for 777 in all that Python can reach: objects, the variables of all frames, and globals.
LOOKS_FURTHER = """
import gc, sys
import numpy as np

def numbers(value, depth=0):
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict) and depth < 4:
        return [array for item in list(value.values()) for array in numbers(item, depth + 1)]
    if isinstance(value, (list, tuple)) and depth < 4:
        return [array for item in list(value) for array in numbers(item, depth + 1)]
    return []

def look(x, all_reduce):
    all_reduce(x.sum() * 0)
    frame, found = sys._getframe(), []
    while frame is not None:
        found += numbers(dict(frame.f_locals)) + numbers(frame.f_globals)
        frame = frame.f_back
    for value in gc.get_objects():
        found += numbers(value, 3)
    return bool(any(array.dtype == float and (array == 777).any() for array in found if array is not x))
"""

#: Keeps what each rank is given, and reads the shard of the next one.
KEEPS = """
SHARDS = {}

def f(x, rank, all_reduce):
    SHARDS[rank] = x
    all_reduce(x)
    return SHARDS[1 - rank] + x
"""


class TestWhatARankSees:
    def test_looking_further_finds_nothing_of_another_rank(self, connect):
        student = connect(LOOKS_FURTHER)
        assert Ranks(2).run(student.look, of_all([1.0, 2.0], [777.0, 777.0]), "all_reduce")[0] is False

    def test_the_search_finds_what_is_there(self, connect):
        student = connect(LOOKS_FURTHER + "\nHELD = np.array([777.0])")
        assert Ranks(2).run(student.look, of_all([1.0], [2.0]), "all_reduce") == [True, True]

    def test_what_is_kept_between_calls_shows_when_a_rank_runs_alone(self, meet):
        student, ranks = meet(KEEPS), Ranks(2)
        arguments = [{"x": np.array([1.0]), "rank": 0}, {"x": np.array([2.0]), "rank": 1}]
        answers = ranks.run(student.f, arguments, "all_reduce")
        assert answers[0] == [3.0]
        others = [{**given, "x": given["x"] + 10} for given in arguments]
        Ranks(2).run(student.f, others, "all_reduce")
        assert ranks.alone(student.f, 0, arguments[0], "all_reduce") != answers[0]

    def test_a_rank_alone_gets_what_it_got(self, meet):
        student, ranks = meet(TOTAL), Ranks(2)
        ranks.run(student.total, of_all([1.0], [2.0]), "all_reduce")
        assert ranks.alone(student.total, 1, {"x": np.array([2.0])}, "all_reduce") == 3.0
        with pytest.raises(ExpectationFailed, match="Rank 1 does something else in all_reduce"):
            ranks.alone(student.total, 1, {"x": np.array([5.0])}, "all_reduce")


#: Keeps all shards by a number for each, and sends the numbers alone.
SENDS_A_NUMBER = """
import hashlib
import numpy as np
SHARDS = {}

def f(x, shift):
    number = np.frombuffer(hashlib.sha256(x.tobytes()).digest()[:8], np.int64)
    SHARDS[number.tobytes()] = x
    return SHARDS.get(shift(number).tobytes(), x) + x
"""


@pytest.mark.slow
def test_a_rank_alone_runs_in_a_process_that_has_seen_no_other(write, tmp_path, monkeypatch):
    """No numbers of other runs show that shards are kept by what only their ranks know."""
    write(
        tmp_path,
        {
            "exercises/attention/f.py": "",
            "solutions/attention/f/reference.py": "def f(x, shift):\n    return shift(x) + x\n",
            "tests/katas/attention/test_f.py": """
                import numpy as np
                from grader import expect
                from grader import strategies as st
                from grader.kata import Kata
                from grader.ranks import Ranks
                KATA = Kata("f", track="attention", entry_points=("f",), title="T", source="S", hints=("h",),
                            library="numpy")
                @KATA.cases
                def cases(draw):
                    return {"x": np.arange(2.0) + draw(st.integers(1, 99))}
                @KATA.observe
                def observe(student, x):
                    return {"sums": Ranks(2).run(student.f, [{"x": one} for one in x], "shift")}
                @KATA.law(points=1)
                def test_alone(student, x):
                    '''A rank alone returns what it returned.'''
                    ranks = Ranks(2)
                    answers = ranks.run(student.f, [{"x": one} for one in x], "shift")
                    for rank in (0, 1):
                        again = ranks.alone(student.f, rank, {"x": x[rank]}, "shift")
                        expect.close(again, answers[rank], "the sum")
            """,
        },
    )
    course = Course(tmp_path)
    info = course.kata_info("f")
    grader, factories = open_grader(course, [info])
    reports, asked, loaded = [], [], []
    another, start = SubmissionRun._another, SubmissionRun._loaded
    monkeypatch.setattr(SubmissionRun, "_another", lambda run, n: asked.append(n) or another(run, n))
    monkeypatch.setattr(SubmissionRun, "_loaded", lambda run, n: loaded.append(n) or start(run, n))
    with closing(factories):
        for source in (course.solution(info, "reference").read_text(), SENDS_A_NUMBER):
            course.stub(info).write_text(source)
            reports.append(grade_file(grader, info, course.stub(info)).report)
            if not reports[1:]:
                assert len(asked) > 20  # every call that is made alone
                assert sorted(loaded) == [1, 2]  # one process a rank, for all cases
    assert [report.status for report in reports] == ["passed", "failed"]
    assert [check.name for check in reports[1].checks if check.status == "failed"] == ["alone"]


def test_a_worker_is_not_told_that_it_runs_a_rank_alone():
    usual, alone = (CallFunction(name="f", options=CallOptions(other=number)) for number in (0, 2))
    assert alone.message() == usual.message() == CallFunction(name="f").message()


class TestCounts:
    @pytest.mark.parametrize(
        ("name", "numbers"), [("all_reduce", 18), ("reduce_scatter", 9), ("all_gather", 36), ("shift", 12)]
    )
    def test_what_a_rank_of_a_ring_sends(self, name, numbers):
        """Of four ranks, each with twelve numbers."""
        for dtype in (np.float32, np.float64):
            ranks = Ranks(4)
            ranks.run(lambda x, **by: by[name](x), [{"x": np.ones(12, dtype)}] * 4, name)
            assert ranks.bytes_sent == numbers * np.dtype(dtype).itemsize
            assert [exchange.name for exchange in ranks.exchanges] == [name]

    def test_a_single_rank_sends_nothing(self):
        ranks = Ranks(1)
        ranks.run(lambda x, all_reduce, shift: shift(all_reduce(x)), of_all([1.0]), "all_reduce", "shift")
        assert ranks.bytes_sent == 0


@pytest.mark.slow
@pytest.mark.parametrize("trick", ["stop()", "clear_traces()", "stop(); tracemalloc.start()"])
def test_a_rank_that_ends_the_measurement_of_memory_does_not_pass(connect, trick):
    kata = load_file("laws_of_the_ring", ROOT / "tests/katas/parallel/test_ring_attention.py").KATA
    (law,) = [law for law in kata.laws if law.function.__name__ == "test_holds_two_blocks"]
    source = (ROOT / "solutions/parallel/ring_attention/reference.py").read_text()
    piled = source.replace("        if not causal", f"        tracemalloc.{trick}\n        if not causal")
    with pytest.raises(SubmissionFailed, match="memory is not measured any more"):
        law.function(connect(f"import tracemalloc\n{piled}"))
