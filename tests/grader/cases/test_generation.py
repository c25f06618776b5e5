"""The same cases are drawn every time, smallest first; a failing case is shrunk."""

import importlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader import strategies as st
from grader.answer_keys.answers import spread
from grader.cases import generation
from grader.values.arrays import weight

ROOT = Path(__file__).resolve().parents[3]
#: Katas that are drawn fast and whose cases would depend on the loaded modules without precautions.
KATAS = {
    "numpy": ["cross_entropy", "next_token", "shift_right"],
    "torch": ["debug_future_leak", "top_k"],
}


def draw_case(draw):
    shape = draw(st.shapes(2, 4))
    return {"x": draw(st.arrays(shape, "float64")), "n": draw(st.integers(0, 100))}


def draw_cases(draw, examples, seed=generation.SEED):
    return [one.case for one in generation.drawn(draw, examples, seed)]


def prints(cases):
    return [generation.fingerprint(case) for case in cases]


def test_the_same_seed_draws_the_same_bank():
    first, again = (draw_cases(draw_case, 60, seed=1) for _ in range(2))
    assert prints(first) == prints(again)


def test_another_seed_draws_another():
    first, other = (draw_cases(draw_case, 60, seed=seed) for seed in (1, 2))
    assert prints(first) != prints(other)


def test_cases_are_distinct_and_smallest_first():
    cases = draw_cases(draw_case, 60)
    weights = [weight(case) for case in cases]
    assert len(set(prints(cases))) == len(cases)
    assert weights == sorted(weights)


def test_no_more_cases_come_than_were_asked_for():
    assert len(spread(draw_cases(draw_case, 21), 7)) == 7


def test_a_strategy_with_few_cases_gives_those():
    cases = draw_cases(lambda draw: {"n": draw(st.integers(0, 2))}, 60)
    assert [case["n"] for case in cases] == [0, 1, 2]


def test_large_cases_stay_in_the_bank():
    assert max(case["x"].size for case in spread(draw_cases(draw_case, 30), 10)) > 6


def test_plain_pytest_sees_the_smallest_failure():
    seen = []

    def check(case):
        seen.append(case["n"])
        assert case["n"] < 5

    with pytest.raises(AssertionError):
        generation.for_all(draw_case, check)
    assert seen[-1] == 5


def test_more_numbers_weigh_more_and_uneven_ones_too():
    assert weight({"x": np.zeros(3)}) > weight({"x": np.ones(2)})
    assert weight(np.array([0.3])) > weight(np.array([1.0])) > weight(np.array([0.0]))
    assert weight([1, (2, 3)]) == (3, 6.0)
    assert weight({"x": np.array([np.inf, np.nan])}) == (2, 0.0)


def test_tensors_weigh_what_arrays_weigh():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert weight(torch.ones(2)) == weight(np.ones(2))


def test_equal_weights_are_ordered_by_their_bytes():
    cases = [{"n": n} for n in (-1, 1)]
    assert generation.smallest_first(cases) == generation.smallest_first(cases[::-1])


def test_a_module_with_constants_does_not_change_a_bank(monkeypatch, tmp_path):
    def draw_case(draw):
        return {"numbers": draw(st.lists(st.integers(0, 2**20), min_size=20, max_size=20))}

    before = prints(draw_cases(draw_case, 60))
    (tmp_path / "full_of_constants.py").write_text(f"CONSTANTS = {list(range(1000, 1100))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("full_of_constants")
    after = prints(draw_cases(draw_case, 60))
    del sys.modules["full_of_constants"]
    assert after == before


#: A program that prints, for each kata named, digests of its cases and of its laws' cases.
DRAW = """
import hashlib, json, sys
from pathlib import Path
from grader.answer_keys.answers import spread
from grader.cases import generation
from grader.course.catalog import Course

root, *names = sys.argv[1:]
course, banks = Course(Path(root)), {"grader": generation.__file__}
for name in names:
    kata = course.declaration(course.kata_info(name))
    for draw in dict.fromkeys([kata.draw, *(law.draw for law in kata.laws if law.draw)]):
        drawn = generation.drawn(draw, 60, generation.SEED)
        cases = b"".join(generation.fingerprint(one.case) for one in drawn)
        banks[f"{name} {draw.__name__}"] = hashlib.sha256(cases).hexdigest()
print(json.dumps(banks))
"""


def run_python(code, *arguments, folder=None, **variables):
    """Return what `code` prints in a new interpreter whose import path begins with `folder`."""
    first = f"import sys; sys.path.insert(0, {str(folder or ROOT)!r})\n"
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", first + code, *map(str, arguments)],
        env={**environment, "PYTHONHASHSEED": "0", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def banks_of(library, code="", **where):
    """Return the grader's file and the digests for the katas of `library`, drawn after `code` has run."""
    drawn = json.loads(run_python(code + DRAW, ROOT, *KATAS[library], **where))
    return drawn.pop("grader"), drawn


#: What may have happened in a process before it draws: constants of another module, other tests, a profile.
EARLIER = """
import odd, hypothesis
from hypothesis import settings, strategies
for low, high in [(0, 2**16), (0, 255), (0, 8)]:
    settings(database=None)(hypothesis.given(strategies.integers(low, high))(lambda n: None))()
settings.register_profile("odd", backend="hypothesis-urandom", derandomize=True, max_examples=3)
settings.load_profile("odd")
"""


@pytest.mark.slow
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_an_installed_grader_draws_what_a_checkout_draws_whatever_came_before(library, tmp_path):
    """It has another hash seed and runs in continuous integration, after what else may change a draw."""
    pytest.importorskip(library, reason=f"{library} is not installed")
    checkout, banks = banks_of(library)
    assert Path(checkout).parents[2] == ROOT
    installed = tmp_path / "site-packages"
    shutil.copytree(ROOT / "grader", installed / "grader")
    numbers = random.Random(0)
    constants = [*range(101, 900), *(numbers.randrange(2**16) for _ in range(300)), 0.12345, "odd"]
    (tmp_path / "odd.py").write_text(f"CONSTANTS = {constants!r}\n")
    variables = {"PYTHONHASHSEED": "12345", "CI": "true", "GITHUB_ACTIONS": "true"}
    earlier = f"sys.path.append({str(tmp_path)!r})\n{EARLIER}"
    grader, drawn = banks_of(library, earlier, folder=installed, **variables)
    assert Path(grader).is_relative_to(installed)
    assert drawn == banks


#: A program that shrinks a pair of trees, for which the order of Hypothesis's labels matters.
SHRINK = """
import hashlib
from grader import strategies as st
from grader.answer_keys.answers import spread
from grader.cases import generation

def trees(leaves):
    tree = st.deferred(lambda: st.sampled_from(leaves) | st.tuples(tree, tree))
    return tree

def draw_case(draw):
    return {leaves: repr(draw(trees(leaves))) for leaves in ("ab", "cd", "ef")}

def check(case):
    print(case)
    large = sum(map(len, case.values())) >= 80
    assert not (large and hashlib.sha256(repr(case).encode()).digest()[0] % 2 == 0)

try:
    generation.for_all(draw_case, check)
except AssertionError:
    pass
"""


@pytest.mark.slow
def test_shrinking_tries_the_same_cases_for_every_hash_seed():
    tried = {run_python(SHRINK, PYTHONHASHSEED=seed) for seed in ("0", "1")}
    assert len(tried) == 1
    assert len(tried.pop().splitlines()) > 30


def test_hypothesis_is_left_as_it_was():
    from hypothesis.internal.conjecture import providers
    from hypothesis.internal.conjecture.shrinker import Shrinker

    def parts():
        return providers._get_local_constants, providers.CONSTANTS_CACHE, Shrinker.distinct_labels

    def fail(case):  # noqa: ARG001 - the signature is fixed
        inside.append(parts())
        raise AssertionError

    before, inside = parts(), []
    with pytest.raises(AssertionError):
        generation.for_all(draw_case, fail)
    assert all(now is not then for now, then in zip(inside[0], before, strict=True))
    assert all(now is then for now, then in zip(parts(), before, strict=True))


@pytest.mark.parametrize("strategy", [st.normal_arrays, st.readable_arrays, st.arrays])
def test_an_array_without_axes_can_be_drawn(strategy):
    drawn = draw_cases(lambda draw: {"x": draw(strategy((), "float32"))}, 4, 0)
    assert {(type(case["x"]), case["x"].shape, case["x"].dtype.name) for case in drawn} == {
        (np.ndarray, (), "float32")
    }


def test_a_case_of_another_seed_keeps_the_arguments_that_it_can():
    def words(draw):
        return {"word": draw(st.sampled_from("abcdef")), "other": draw(st.sampled_from("uvwxyz"))}

    known = generation.drawn(words, 12, generation.SEED)
    others = generation.OtherCases(words, 30, generation.SEED + 1, known, lambda _: None)
    found = [others.like(at) for at in range(len(known))]
    alike = [
        any(one.case[name] == other[name] for name in one.case)
        for one, other in zip(known, found, strict=True)
    ]
    assert sum(alike) > 9  # of 12; by chance it would be 4
    assert not any(one.case == other for one, other in zip(known, found, strict=True))
