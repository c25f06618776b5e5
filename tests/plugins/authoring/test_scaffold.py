"""Tests of `kata new`: its drafts can be verified at once, and no file is overwritten."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.feedback import feedback
from dojo_authoring.overview import overview
from dojo_authoring.scaffold.draft import Draft
from dojo_authoring.scaffold.signatures import read_signatures
from dojo_authoring.scaffold.syllabus_entry import with_kata
from dojo_authoring.scaffold.writer import write_kata
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.katas import verify_course
from dojo_authoring.verify.seeds import verify_right_answers
from grader.cli.kata import kata as run_kata
from grader.cli.kata_list import kata_list
from grader.course.catalog import Course, CourseError
from grader.course.submission import read_submission
from grader.grading.grader import Grader

ROOT = Path(__file__).resolve().parents[3]
SAID = ("--library", "numpy", "--title", "T", "--source", "S")


@pytest.fixture
def new(tmp_path, monkeypatch):
    """`new(*arguments)` runs `kata new --course my …`; returns the exit code and the output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, answers=""):
        done = CliRunner().invoke(run_kata, ["new", "--course", "my", *arguments], input=answers)
        return done.exit_code, done.output

    return run


def test_an_empty_folder_becomes_a_course(new, tmp_path):
    code, said = new("modern/rms_norm", "--signature", "rms_norm(x, gamma, eps=1e-6)", *SAID)
    assert code == 0
    assert said.splitlines() == [
        "wrote solutions/modern/rms_norm/reference.py",
        "wrote tests/katas/modern/test_rms_norm.py",
        "wrote solutions/modern/rms_norm/mistakes.edits",
        "wrote solutions/modern/rms_norm/variants.py",
        "wrote exercises/modern/rms_norm.py",
        "wrote tests/katas/conftest.py",
        "wrote tests/katas/path.toml",
        "What is to be written, step by step: kata verify rms_norm --course my",
    ]
    course = Course(tmp_path / "my")
    assert (list(course.katas), course.syllabus.title) == (["rms_norm"], "my")
    assert static_checks.stray_files(course) == []


def test_missing_options_are_prompted_for(new, tmp_path):
    code, said = new("a/k", answers="\nk(x)\n\nShazeer 2019\ntorch\n")
    assert code == 0, said
    info = Course(tmp_path / "my").kata_info("k")
    assert (info.entry_points, info.title, info.source, info.library) == (
        ("k",),
        "K",
        "Shazeer 2019",
        "torch",
    )


def test_a_module_is_asked_for_method_and_parameters(new, tmp_path):
    answers = "module\nScale(d_model)\nScale.forward(x: 'tokens d_model')\n\n\nS\nscale: d_model\n"
    code, said = new("a/scale", answers=answers)
    assert code == 0, said
    info = Course(tmp_path / "my").kata_info("scale")
    assert (info.library, info.entry_points) == ("torch", ("Scale",))
    declaration = info.path.read_text()
    assert '"scale": draw(st.tensors(st.normal_arrays((d_model,), dtype))),' in declaration
    assert "module = expect.loads(student, student.Scale(d_model), weights)" in declaration


def drafted(tmp_path, name, *signatures, library="numpy", **more):
    """Write a draft and return the texts of its declaration and of its mistakes."""
    write_kata(tmp_path, Draft("a", name, "T", "S", library, tuple(read_signatures(signatures)), **more))
    mistakes = tmp_path / "solutions" / "a" / name / "mistakes.edits"
    return (tmp_path / "tests" / "katas" / "a" / f"test_{name}.py").read_text(), mistakes.read_text()


def test_sizes_differ_from_each_other(tmp_path):
    declaration, _ = drafted(tmp_path, "f", "f(x: 'tokens d_model', gamma: 'd_model')")
    assert "    tokens = draw(st.integers(1, 3))\n    d_model = draw(st.integers(4, 6))\n" in declaration
    assert '"gamma": draw(st.arrays((d_model,), dtype)),' in declaration
    assert 'axes={"x": "tokens d_model", "gamma": "d_model"},' in declaration


def test_a_width_is_divisible_by_the_number_of_heads(tmp_path):
    declaration, _ = drafted(tmp_path, "f", "f(x: 'tokens d_model', num_heads)")
    assert "    d_model = num_heads * draw(st.integers(2, 3))\n" in declaration
    assert '        "num_heads": num_heads,\n' in declaration


def test_only_mistakes_that_apply_are_drafted(tmp_path):
    _, mistakes = drafted(tmp_path, "dot", "dot(x: 'n', y: 'n', scale=1.0) -> float")
    assert [line for line in mistakes.splitlines() if line.startswith("[")] == ["[ignores_the_scale_given]"]
    assert "+ def dot(x, y, scale=1.0):\n+     return _dot(x, y)\n" in mistakes
    declaration, mistakes = drafted(tmp_path, "count", "count(n: int, p: float)")
    assert "def " not in mistakes
    assert (
        '"""TODO: draw what tells wrong answers apart: the values at which the answer changes"""'
        in declaration
    )


def test_a_parameter_without_axes_is_one_number(new, tmp_path):
    signatures = ("--signature", "Scale()", "--signature", "Scale.forward(x: 'tokens d_model')")
    code, said = new("a/scale", *signatures, "--weight", "scale:", "--weight", "w: d_model", *SAID[2:])
    assert code == 0, said
    assert '"scale": draw(st.tensors(st.normal_arrays((), dtype))),' in declaration_of(tmp_path, "scale")
    assert (tmp_path / "my" / "exercises" / "a" / "scale.py").read_text().count(
        '    """TODO: say in one line what it holds.\n\n'
        "    scale:  one number, a parameter.\n"
        "    w:      [d_model], a parameter.\n"
        '    """\n'
    ) == 1


def declaration_of(tmp_path, name):
    return (tmp_path / "my" / "tests" / "katas" / "a" / f"test_{name}.py").read_text()


@pytest.mark.parametrize(("parameter", "line"), [("p=0.1", 1), ("dropout=0.1", 1), ("eps=0.1", 0)])
def test_a_module_with_dropout_is_compared_in_evaluation(tmp_path, parameter, line):
    signatures = (f"Layer(d_model, {parameter})", "Layer.forward(x: 'tokens d_model')")
    declaration, _ = drafted(tmp_path, "layer", *signatures, library="torch", kind="module")
    assert declaration.count("    module.eval()  # in training every call drops other numbers\n") == line


def test_k_of_a_sampler_is_at_most_the_size_of_the_vocabulary(tmp_path):
    declaration, _ = drafted(tmp_path, "top", "top(logits: 'batch vocab', k, rng)", kind="sampler")
    assert '        "k": draw(st.integers(1, vocab)),\n' in declaration
    assert '"k": draw(st.permuted(st.arrays(' in drafted(tmp_path, "append", "append(k)")[0]


@pytest.mark.parametrize(
    ("result", "drawn"),
    [
        ("", "int(student.f(p=p, rng=rng)) for _ in range(400)"),
        (" -> int", "int(student.f(p=p, rng=rng)) for _ in range(400)"),
        (" -> 'n'", "index for _ in range(400) for index in student.f(p=p, rng=rng).ravel().tolist()"),
        (" -> np.ndarray", "index for _ in range(400) for index in student.f(p=p, rng=rng).ravel().tolist()"),
        (" -> 'vocab'", None),
    ],
)
def test_a_drafted_law_counts_the_entries_of_an_array(tmp_path, result, drawn):
    declaration, _ = drafted(tmp_path, "f", f"f(p: 'vocab', rng){result}", kind="sampler")
    assert (f"    drawn = [{drawn}]\n" in declaration) == bool(drawn)
    assert ("expect.frequenc" in declaration) == bool(drawn)


def test_a_draft_imports_what_it_uses(tmp_path):
    signature = "f(logits: 'vocab', rng)"
    _, mistakes = drafted(tmp_path, "f", signature, library="torch", kind="sampler")
    assert "import torch\n" in mistakes
    _, mistakes = drafted(tmp_path, "g", "g(x: 'tokens', p=0.5) -> float", library="torch")
    assert "import torch" not in mistakes
    drafted(tmp_path, "count", "count(n: int)")
    variants = (tmp_path / "solutions" / "a" / "count" / "variants.py").read_text()
    assert variants == (
        '"""Right answers to count in other styles."""\n\n'
        "# TODO: add other styles: loops, einsum, library calls, another order of the steps\n"
    )


RANDOM = "np.random.default_rng(draw(st.integers(0, 99)))"


@pytest.mark.parametrize(
    ("parameter", "drawn"),
    [
        ("prompt: str", 'draw(st.text("ab", max_size=5))'),
        ("prompt: 'str'", 'draw(st.text("ab", max_size=5))'),
        ("mode: str = 'mean'", "'mean'"),
        ("count: int", "draw(st.integers(1, 4))"),
        ("keeps: bool", "draw(st.booleans())"),
        ("share: float", "draw(st.sampled_from([1.0, 0.25, 0.5]))"),
        ("low: float = -math.inf", "-math.inf"),
        ("count: int = None", "None"),
        ("tokens: list[int]", "draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))"),
        ("words: list[str]", 'draw(st.lists(st.text("ab", max_size=5), min_size=1, max_size=5))'),
        (
            "seen: 'bool n'",
            "draw(st.just(np.random.default_rng(draw(st.integers(0, 99))).random((n,)) < 0.5))",
        ),
        ("x: np.ndarray", "draw(st.permuted(st.arrays((rows, columns), dtype)))"),
        ("score: Callable", "None"),
    ],
)
def test_an_annotation_says_what_is_drawn(tmp_path, parameter, drawn):
    declaration, _ = drafted(tmp_path, "f", f"f({parameter})")
    gap = "  # TODO: draw one" if "Callable" in parameter else ""
    assert f'        "{parameter.partition(":")[0]}": {drawn},{gap}\n' in declaration


@pytest.mark.parametrize(
    "signature",
    ["f(x: 'n') -> bool", "f(x: 'n') -> 'bool n'", "topk_mask(x: 'n', k: int)", "is_causal(x: 'n n')"],
)
def test_a_boolean_result_has_no_variant_in_float64(tmp_path, signature):
    drafted(tmp_path, "f", signature)
    assert "in_float64" not in (tmp_path / "solutions/a/f/variants.py").read_text()
    drafted(tmp_path, "g", "g(x: 'n') -> 'n'")
    assert "in_float64" in (tmp_path / "solutions/a/g/variants.py").read_text()


def test_a_law_of_a_sampler_keeps_fewer_indices_than_there_are(tmp_path):
    declaration, _ = drafted(tmp_path, "f", "f(p: 'n', k, rng)", kind="sampler")
    assert "drawn = [int(student.f(p=p, k=2, rng=rng)) for _ in range(400)]\n" in declaration
    assert "    shares = (0.625, 0.375, 0.0)  # if k is how many of the likeliest are kept" in declaration
    declaration, _ = drafted(tmp_path, "g", "g(p: 'n', rng, k=50) -> 'k'", kind="sampler")
    assert "int(student.g(p=p, rng=rng, k=2).ravel()[0]) for _ in range(400)" in declaration
    assert "0.625" not in declaration
    assert '        "k": 1,\n' in declaration
    declaration, _ = drafted(tmp_path, "h", "h(p: 'n', rng)", kind="sampler", library="torch")
    assert "import numpy as np\nimport torch\n\nfrom grader import expect\n" in declaration


QUESTIONS = ("--kind", "questions", "--title", "What a mask leaves", "--source", "S")
ANSWERS = """
def CAUSAL_PAIRS(tokens, **_):
    return tokens * (tokens + 1) // 2


def WINDOW_PAIRS(tokens, window, row, **_):
    return tokens * window, row
"""


def test_a_page_of_questions_is_drafted(new, tmp_path, capsys):
    signatures = ("--signature", "CAUSAL_PAIRS(tokens)", "--signature", "WINDOW_PAIRS(tokens, window, row)")
    code, said = new("concepts/masks", *signatures, *QUESTIONS)
    assert code == 0, said
    assert said.splitlines() == [
        "wrote solutions/concepts/masks/reference.py",
        "wrote tests/katas/concepts/test_masks.py",
        "wrote solutions/concepts/masks/mistakes.py",
        "wrote exercises/concepts/masks.py",
        "wrote tests/katas/conftest.py",
        "wrote solutions/concepts/variants.py",
        "wrote tests/katas/path.toml",
        "What is to be written, step by step: kata verify masks --course my",
    ]
    course = Course(tmp_path / "my")
    info = course.kata_info("masks")
    assert info.entry_points == ("CAUSAL_PAIRS", "WINDOW_PAIRS")
    numbers = course.declaration(info).numbers
    assert {name: sorted(column) for name, column in numbers.items()} == {
        "tokens": [*range(3, 11)],
        "window": [*range(11, 19)],
    }
    table = "    row  tokens  window\n    0    3       14\n    1    8       11\n"
    assert table in course.stub(info).read_text()
    assert static_checks.gaps(course, info)[0].endswith("reference.py:9: write the answer.")
    course.solution(info, "reference").write_text(ANSWERS)
    verify_course(course, ())
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:5] == ["masks", "2", "0/0", "0/0", "3/3"]


def test_a_second_page_of_a_track_shares_the_variants(new, tmp_path):
    for name in ("one", "two"):
        code, said = new(f"concepts/{name}", "--signature", "PAIRS(tokens)", *QUESTIONS[2:])
        assert code == 0, said
    assert "variants.py" not in said
    variants = "solutions/concepts/variants.py"
    assert (tmp_path / "my" / variants).read_text() == (ROOT / variants).read_text()


def test_questions_are_asked_for(new, tmp_path):
    code, said = new("concepts/masks", answers="questions\nPAIRS(tokens)\nROWS(tokens)\n\n\nS\n")
    assert code == 0, said
    assert Course(tmp_path / "my").kata_info("masks").entry_points == ("PAIRS", "ROWS")


def test_the_fixture_of_a_new_course_is_that_of_this_one(new, tmp_path):
    new("a/k", "--signature", "k(x)", *SAID)
    here, there = (root / "tests" / "katas" / "conftest.py" for root in (ROOT, tmp_path / "my"))
    assert there.read_text() == here.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a/k",), "A kata called `k` is there already, in a."),
        (("b/k2",), "No track is called `b`. The only track is a. `--new-track` begins one."),
        (("a/list",), "`list` cannot be a kata: `grade list` is a command. Take another name."),
        (("a/9x",), "`a/9x` cannot be a kata: say TRACK/NAME, each of small letters, digits and underscores,"
         " beginning with a letter, as in sorting/merge_sort."),
        (("k2",), "`k2` cannot be a kata: say TRACK/NAME, each of small letters, digits and underscores,"
         " beginning with a letter, as in sorting/merge_sort."),
        (("a/lambda",), "`a/lambda` cannot be a kata: say TRACK/NAME, each of small letters, digits and"
         " underscores, beginning with a letter, as in sorting/merge_sort."),
        ((f"a/{'k' * 300}", "--signature", "k2(x)", *SAID),
         "A kata's name has at most 100 characters; this one has 300."),
        (("a/k2", "--signature", "k2(x)", *SAID[:2], "--title", "T", "--source", '"""; import os'),
         "solutions/a/k2/reference.py would be no Python: leave quotes and backslashes out of title and"
         " source, and say the axes of an argument as names."),
        (("a/k2", "--signature", "k2(x)", *SAID[:2], "--title", "T", "--source", "\\N{DASH}"),
         "would be no Python: leave quotes"),
        (("a/k2", "--signature", "k2(x: '9 9')", *SAID), "say the axes of an argument as names."),
        (("a/k2", "--signature", "k2(x"), "`k2(x` is no signature; write it as in Python: --signature"
         " 'moving_average(x, eps=1e-6)'."),
        (("a/k2", "--signature", "k2(*x)"),
         "`k2(*x)`: a kata's arguments are passed by name; leave out *, ** and /."),
        (("a/k2", "--signature", "k2(x)", "--signature", "k2(y)"),
         "`k2` is given twice; each entry point has one signature."),
        (("a/k2", "--signature", "k2(x, x)"), "`k2(x, x)` has two arguments called `x`; rename one of them."),
        (("a/k2", "--signature", "k2(student, x)"),
         "`k2(student, x)`: a declaration uses the name `student` itself; rename the argument."),
        (("a/k2", "--kind", "object", "--signature", "k2(x)"),
         "A kata of the kind object needs a class: Queue() and Queue.append(x: 'rows columns')."),
        (("a/k2", "--kind", "module", "--signature", "K(n)", "--signature", "K.step(x)"),
         "A module needs a method forward: --signature 'K.forward(x)'."),
        (("a/k2", "--kind", "sampler", "--signature", "k2(p)"),
         "A sampler draws from an argument called rng or generator; add it."),
        (("a/k2", "--kind", "sampler", "--signature", "K(rng)", "--signature", "K.next(x)"),
         "A sampler is a function: pick(p: 'outcomes', rng). Take --kind object for a class."),
        (("a/k2", "--signature", "k2(x, low=-inf)", *SAID),
         "`low=-inf`: a default may name math, np, torch alone; write inf as a number or a text."),
        (("a/k2", "--signature", "K()", "--signature", "K.forward(x)", "--weight", "w d", *SAID[2:]),
         "`w d` is no parameter; write name and axes: --weight 'w: d_ff d_model'."),
        (("a/k2", "--signature", "K()", "--signature", "K.forward(x)", "--title", "T", "--source", "S"),
         "Without a terminal nothing is asked; give --weight."),
        (("a/k2", "--signature", "Cache(n)"), "`Cache` is a class; give a method too: --signature"
         " 'Cache.forward(x)'."),
        (("a/k2", "--kind", "questions", "--signature", "pairs(tokens)"),
         "`pairs(tokens)` is no question; write the constant that answers it, in capitals, and the numbers"
         " that it is about: --signature 'CAUSAL_PAIRS(tokens)'."),
        (("a/k2", "--kind", "questions", "--signature", "PAIRS(n)", "--signature", "PAIRS(m)"),
         "`PAIRS` is given twice; each question has one signature."),
        (("a/k2", "--signature", "PAIRS()"),
         "The questions are about no numbers; name one: --signature 'CAUSAL_PAIRS(tokens)'."),
        (("a/k2", "--signature", "PAIRS(n)", "--title", "T"),
         "Without a terminal nothing is asked; give --source."),
        (("a/k2", "--signature", "k2(x)", "--title", "T"),
         "Without a terminal nothing is asked; give --source and --library."),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_reported_in_one_sentence(new, tmp_path, arguments, sentence):
    new("a/k", "--signature", "k(x)", *SAID)
    before = sorted(tmp_path.rglob("*"))
    code, said = new(*arguments)
    assert (code, sentence in said) == (4, True), said
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_overwritten(new, tmp_path):
    new("a/k", "--signature", "k(x)", *SAID)
    (tmp_path / "my" / "tests" / "katas" / "a" / "test_k.py").unlink()
    mine = tmp_path / "my" / "exercises" / "a" / "k.py"
    mine.write_text("mine")
    (tmp_path / "my" / "solutions" / "a" / "k" / "reference.py").unlink()
    code, said = new("a/k", "--signature", "k(x)", *SAID)
    there = "solutions/a/k/mistakes.edits is there already, and is not overwritten"
    assert (code, said) == (4, f"{there}; move it, or take another name.\n")
    assert mine.read_text() == "mine"


def test_a_folder_without_a_course_is_not_searched_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(run_kata, ["new", "a/k", "--signature", "k(x)", *SAID])
    said = "There is no course at or above this folder; begin one here with: --course .\n"
    assert (done.exit_code, done.output) == (4, said)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[path]\na = []\n", '[path]\na = ["k"]\n'),
        ('# mine\n[path]\na = ["x"]  # first\n', '# mine\n[path]\na = ["x", "k"]  # first\n'),
        ('[path]\na = [\n  "x",\n]\nb = []\n', '[path]\na = [\n  "x", "k"\n]\nb = []\n'),
        ('title = "t"\n', 'title = "t"\n\n[path]\na = ["k"]\n'),
        ('[path]\na = ["k"]\n', '[path]\na = ["k"]\n'),
        (
            '[path]\nb = ["x"]\n\n# Time.\n[katas]\nx = { minutes = 5, difficulty = 1 }\n',
            '[path]\nb = ["x"]\na = ["k"]\n\n# Time.\n[katas]\nx = { minutes = 5, difficulty = 1 }\n',
        ),
    ],
)
def test_a_kata_is_added_to_its_track_and_the_rest_stays(before, after):
    assert with_kata(before, "a", "k") == after
    assert "k" in tomllib.loads(after)["path"]["a"]


def test_a_path_file_of_unknown_layout_is_not_changed():
    with pytest.raises(CourseError) as refused:
        with_kata('path = {a = ["x"]}\n', "a", "k")
    assert str(refused.value) == 'tests/katas/path.toml: add "k" to its list `a`, then say this again.'


DRAFTS = {
    "f": ("f(x, ids, mask, num_heads, eps=1e-6, causal=True, axis=-1, mode='a')",),
    "two": ("split(x, num_heads)", "merge(x)"),
    "layer": ("Layer(d_model, eps=1e-5)", "Layer.forward(x)"),
    "store": ("Store.append(k, v)", "Store.length()"),
    "numbers": ("f(n: int, p: float)",),
    "odd_names": ("f(draft, without, x, draw)",),
    "sampler": ("f(logits: 'batch vocab', temperature, rng)",),
    "coin": ("f(p, generator)",),
}


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", DRAFTS)
def test_every_draft_is_python_without_an_answer(tmp_path, name, library):
    kind = "sampler" if name in ("sampler", "coin") else "function"
    drafted(tmp_path, name, *DRAFTS[name], library=library, kind=kind)
    course = Course(tmp_path)
    info = course.kata_info(name)
    assert static_checks.gaps(course, info)[0].endswith(
        ": write the reference, the shape of each value at its line's end."
    )
    assert static_checks.gaps_of_answers(course, info) == []
    assert not read_submission(info, course.stub(info)).begun
    assert info.entry_points == tuple(dict.fromkeys(s.split("(")[0].split(".")[0] for s in DRAFTS[name]))


def test_a_default_stays_as_it_was_typed():
    entry = read_signatures(("f(x, eps=1e-6)",))[0]
    assert entry.callee.declared == "x, eps=1e-6"


#: For each kind its signatures, its parameters and a reference.
KINDS = {
    "function": (("f(x: 'tokens d_model', gamma: 'd_model', eps=1e-6)",), (), """
import numpy as np

def f(x, gamma, eps=1e-6):
    return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
"""),
    "module": (("Gated(d_model, d_ff)", "Gated.forward(x: 'batch d_model')"),
               (("gate", ("d_ff", "d_model")),), """
import torch
from torch import nn

class Gated(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(d_ff, d_model))

    def forward(self, x):
        return torch.sigmoid(x @ self.gate.T)
"""),
    "object": (("Store()", "Store.append(k: 'tokens d_k')", "Store.length()"), (), """
import numpy as np

class Store:
    def __init__(self):
        self.parts = []

    def append(self, k):
        self.parts.append(k.copy())
        return np.concatenate(self.parts)

    def length(self):
        return sum(map(len, self.parts))
"""),
    "sampler": (("sample(p: 'vocab', rng)",), (), """
import numpy as np

def sample(p, rng):
    return int(np.searchsorted(np.cumsum(p), rng.random(), side="right"))
"""),
}  # fmt: skip


@pytest.mark.slow
def test_with_a_reference_every_draft_works_as_it_stands(tmp_path, capsys):
    for kind, (signatures, weights, reference) in KINDS.items():
        library = "torch" if kind == "module" else "numpy"
        drafted(tmp_path, kind, *signatures, library=library, kind=kind, weights=weights)
        (tmp_path / "solutions" / "a" / kind / "reference.py").write_text(reference)
    verify_course(Course(tmp_path), ())
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:5] for line in lines[1:5]]
    assert rows == [
        ["function", "8", "8/8", "8/8", "1/1"],
        ["module", "10", "11/11", "11/11", "0/0"],
        ["object", "9", "2/2", "2/2", "0/0"],
        ["sampler", "7", "4/4", "4/4", "0/0"],
    ]
    gaps = [line for line in lines if line.startswith(("✗", "note"))]
    texts = (
        "/exercises/",
        "exercises/",
        "add ",
        "draw what",
        "give a nudge",
        "name the step",
        "say nearly",
        "are needed",
    )
    assert [gap for gap in gaps if not any(text in gap for text in texts)] == []


@pytest.mark.slow
def test_a_draft_needs_a_reference_and_cases_alone_and_is_marked(new, tmp_path, capsys):
    code, said = new("a/k", "--draft", "--signature", "k(x: 'rows columns')", *SAID)
    assert code == 0, said
    assert "mistakes." not in said
    (tmp_path / "my" / "solutions" / "a" / "k" / "reference.py").write_text("def k(x):\n    return 2 * x\n")
    course = Course(tmp_path / "my")
    info = course.kata_info("k")
    assert verify_course(course, ()) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith("k (draft)")
    assert out[-2:] == ["Drafts, whose checks are unproven: k.", "Every kata can be graded."]
    todos = [f"note: k: {todo}" for todo in static_checks.todos_of_draft(course, info)]
    assert (
        "note: k: my/exercises/a/k.py:3: say the idea in the field's terms, the formula, and the shape of"
        in (todo.partition(" every")[0] for todo in todos)
    )
    assert [line for line in out if line.startswith("note: ")] == todos
    released = CliRunner().invoke(run_kata, ["release", "handout", "--course", "my"]).output
    assert [line for line in released.splitlines() if line.startswith("note: ")] == todos
    assert "T (draft: unproven)" in kata_list(course)
    assert "| `k` (draft) |" in overview(course)
    prepared = Grader(course, {}).prepare(info)
    assert prepared.checks[0].title == "Every entry equals the reference (a draft: its checks are unproven)."
    assert verify_right_answers(course, (), 2) == 0
    assert "No mistakes are written yet." in feedback(course, info)
