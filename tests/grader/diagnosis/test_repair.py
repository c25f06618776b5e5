"""The place of a mistake without a name: what is found, what is shown of it, and when the search ends."""

import ast
import textwrap
import time
from itertools import islice

import pytest

from grader.course.submission import parse
from grader.diagnosis import repair, trial
from grader.diagnosis.repair import Candidate, CandidateStudent, RepairSearch
from grader.diagnosis.search_options import SearchOptions
from grader.diagnosis.trial import Clock
from grader.edits.candidates import CallTrace, Sources, distances, place_of_edit, ranked
from grader.edits.walk import Edit
from grader.expect import SubmissionFailed
from grader.formats import NAMES, account, html, lines, summary, terminal
from grader.grading.grader import Grader
from grader.report import KataReport, Place, Repair, Report, from_json, to_json
from grader.worker.client import WorkerLost

LONG = 15  # characters of a line of a reference that must not be shown


@pytest.fixture
def locate(tiny_course, request):
    """`locate(code)` grades code for a kata of the tiny course and returns the report after a search."""

    def run(code, kata="double", **options):
        info = tiny_course.kata_info(kata)
        grader = Grader(tiny_course, {info.library: request.getfixturevalue(f"{info.library}_source")})
        graded = grader.grade(parse(info, textwrap.dedent(code), f"{kata}.py"))
        found = graded.locate(SearchOptions(**options))
        run.before, run.seconds = graded.report, found.seconds
        return found.report

    return run


def double(result):
    return f"def double(x):\n    if isinstance(x, str):\n        raise ValueError\n    return {result}\n"


def shown(repair):
    return repair.kind, repair.place.line, repair.place.text[repair.place.start : repair.place.end]


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (double("x * 5"), ("a number", 4, "5")),
        (double("x + x + 4"), ("a term", 4, "x + x + 4")),
        (double("(x + x).T"), ("a transpose", 4, "(x + x).T")),
        (double("(x + x).astype('float32')"), ("a dtype", 4, "(x + x).astype('float32')")),
        (double("(x + x)[:1]"), ("an index", 4, "(x + x)[:1]")),
        (double("[x + x]"), ("an item", 4, "[x + x]")),
        (double("x + x").replace("ValueError", "TypeError"), ("an exception", 3, "TypeError")),
    ],
    ids=["number", "term", "transpose", "cast", "index", "item", "exception"],
)
def test_the_place_and_the_kind_of_a_slip_are_found(locate, code, place):
    assert place in map(shown, locate(code).repairs)


CENTER = """
    import torch
    from torch import nn

    class Center(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))

        def forward(self, x):
            mean = x.mean(0, keepdim=True)
            moved = x - mean
            return moved * self.scale
"""


@pytest.mark.slow
def test_a_module_s_axis_is_found(locate):
    found = locate(CENTER, "center")
    assert [shown(repair) for repair in found.repairs] == [("an axis", 11, "0")]


MODULE = "class M(nn.Module):\n    def __init__(self, a, b):\n        {}\n        self.down = nn.Linear(b, a)"
LINEAR = "class M(nn.Module):\n    def __init__(self, a, b):\n        self.gate = nn.Linear(a, b)\n        {}"
USING = "self.down = 1\n\n    def forward(self, x):\n        return self.gate(x) * self.up(x)"
PROJECTED = "def f(x, w_q, w_k):\n    q = x @ w_q\n    k = {}\n    return q * k"
MASKED = "def f(x, n):\n    x = x + 1\n    {}return x.masked_fill(later, 0.0)"
CUT = "def f(x):\n    sorted_x = x.sort()\n    {}return x < last"


@pytest.mark.parametrize(
    ("code", "wrong", "right"),
    [
        (MODULE, "self.up = a", "self.up = nn.Linear(b, a)"),
        (MODULE, "self.up = 3 * a", "self.up = nn.Linear(b, 3 * a)"),
        (MODULE, "self.a = a", "super().__init__()\n        self.a = a"),
        (LINEAR, USING, f"self.up = nn.Linear(a, b)\n        {USING}"),
        (LINEAR, USING, f"self.up = nn.Linear(b, a)\n        {USING}"),
        (PROJECTED, "x", "x @ w_k"),
        ("def f(x, w_q, w_k):\n    q, k = (x @ w_q, {})\n    return q * k", "w_k", "x @ w_k"),
        ("def f(x, n):\n    return {}", "float('-inf')", "x.masked_fill(x < n, float('-inf'))"),
        ("def f(x, y, i):\n    return {}", "x", "(x) @ y[i]"),
        ("def f(x, y):\n    return {}", "y", "x[-1] @ y"),
        ("def f(x, y):\n    return y[0] + {}", "x.clamp(-5, 5)", "(x - x.amax(dim=-1, keepdim=True))"),
        ("def f(x, n):\n    return {}", "x.clamp(-5, 5)", "x - n"),
        ("def f(x):\n    return {}", "x.sum(-1)", "x / x.sum(-1)"),
        ("def f(x):\n    return {}", "x[:, None]", "x[:, None, None]"),
        ("def f(x):\n    return {}", "x[1:,]", "x[..., 1:]"),
        ("def f(x):\n    return {}", "-10000.0", "float('-inf')"),
        ("def f(x):\n    return {}", "x", "x.tril()"),
        ("def f(x, n):\n    {}return x", "", "if (x < 0).any():\n        raise ValueError\n    "),
        ("def f(x):\n    return {}", "range(1, x + 1)", "range(1 - 1, x + 1 - 1)"),
        ("def f(x):\n    return {}", "x.T", "x.swapaxes(-1, -2)"),
        ("def f(q, k):\n    return {} / 2", "q", "q @ k.swapaxes(-1, -2)"),
        ("def f(x, w, b):\n    return {}", "b", "x @ w + b"),
        ("def f(x, y):\n    return [{}]", "y", "x, y"),
        ("def f(x, d):\n    return linear({})", "3", "3 * d"),
        ("def f(x, beta):\n    return {}", "1 * x", "(1 - beta) * x"),
        ("def f(x):\n    return {}", "x.transpose(1, 2)", "x.transpose(1, 2).flatten(-2)"),
        ("def f(x):\n    return {}", "x.T.view(3, 4)", "x.T.reshape(3, 4)"),
        ("def f(x):\n    return {}", "x.transpose(0, 2, 3, 1)", "x.transpose(0, 2, 1, 3)"),
        ("def f(x):\n    return {}", "x - x", "x - x.amax(dim=-1, keepdim=True)"),
        ("def f(x):\n    return {}", "g(x.shape)", "g(x.shape[-1])"),
        ("def f(x):\n    return {}", "torch.ones(x)", "torch.ones(x, x)"),
        ("def f(x):\n    return {}", "x.masked_fill(x)", "x.masked_fill(x, float('-inf'))"),
    ],
)
def test_what_a_slip_leaves_out_is_among_the_edits(code, wrong, right):
    tree = ast.parse(code.format(wrong))
    sources = Sources(tree)
    edits = {sources.of(edit) for edit in ranked(tree, "torch", CallTrace())}
    assert ast.unparse(ast.parse(code.format(right))) in edits


SOFTMAX = "def f(x, axis):\n    return {}\n\ndef softmax(x, axis):\n    return np.exp(x)"
KEYS = "def f(x, weights):\n    return x @ weights['q'] + {}"


def edits_of(code, **trace):
    tree = ast.parse(code)
    sources = Sources(tree)
    return {sources.of(edit) for edit in ranked(tree, "numpy", CallTrace(**trace))}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("return x.sum(-1, keepdim=True)", "return x.sum(-1, keepdims=True)"),
        ("x[1] = 2", "try:\n        x[1] = 2\n    except IndexError:\n        pass"),
    ],
)
def test_words_of_another_library_and_missing_entries_are_tried_where_a_line_raises(wrong, right):
    code = "def f(x):\n    {}"
    assert ast.unparse(ast.parse(code.format(right))) in edits_of(code.format(wrong), raised={2})
    assert ast.unparse(ast.parse(code.format(right))) not in edits_of(code.format(wrong))


@pytest.mark.parametrize(
    ("code", "unbound", "right"),
    [
        (MASKED, "later", "later = torch.ones(n, n, dtype=torch.bool, device=n.device).triu(1)\n    "),
        (CUT, "last", "last = sorted_x[..., -1:]\n    "),
        (CUT, "last", "last = []\n    "),
    ],
)
def test_a_name_that_is_not_bound_is_bound_and_nothing_else_is_tried(code, unbound, right):
    tree = ast.parse(code.format(""))
    sources = Sources(tree)
    edits = {sources.of(edit) for edit in ranked(tree, "torch", CallTrace(unbound=unbound))}
    assert ast.unparse(ast.parse(code.format(right))) in edits
    assert not any("x = x - 1" in edit or "sorted_x = x\n" in edit for edit in edits)


def test_a_value_that_is_overwritten_before_it_is_read_comes_early():
    tree = ast.parse(
        "def f(x, mask):\n    scores = x * 2\n    if x:\n        scores = ~mask\n    return scores"
    )
    early = map(Sources(tree).of, islice(ranked(tree, "numpy", CallTrace()), 250))
    assert any("np.where(~mask, scores, -np.inf)" in source for source in early)


CALLS = """
def split(x, n):
    parts = x.reshape(n, -1)
    return parts

def f(x, w, n):
    unrelated = x + 1
    if n > 1:
        q = split(x, n)
    return q @ w
"""


def test_a_line_depends_on_what_it_reads_on_what_is_called_and_on_the_calls():
    found = distances(ast.parse(CALLS), {10})
    assert (found[10], found[9], found[4], found[8], found[3]) == (0, 1, 2, 2, 3)
    assert 7 not in found
    assert distances(ast.parse(CALLS), {3})[9] == 2


def test_a_function_that_is_never_used_is_called():
    right = ast.unparse(ast.parse(SOFTMAX.format("softmax(x, axis)")))
    assert right in edits_of(SOFTMAX.format("x"), lines={2})
    assert right not in edits_of(SOFTMAX.format("x"), lines={2, 5})  # it ran, so it is used


@pytest.mark.parametrize("wrong", ["x", "x @ weights['q']"])
def test_a_key_of_the_arguments_that_is_never_used_is_looked_up(wrong):
    right = ast.unparse(ast.parse(KEYS.format("x @ weights['k']")))
    assert right in edits_of(KEYS.format(wrong), keys=("q", "k"))
    assert right not in edits_of(KEYS.format(wrong), keys=("q",))
    assert right not in edits_of(KEYS.format(wrong), keys=("q", "k", *"abcd"))  # read in another way


def test_the_keys_are_those_of_the_arguments():
    arguments = [{"q": 1, "of": {"k": 2}}, [{"v": 3}], {4: 5}, "text"]
    assert list(repair._keys(arguments)) == ["q", "of", "k", "v"]


BRANCHES = '''"""Two
lines."""
def f(x):
    """Of
    f."""
    if x:
        x += 1
    elif x > 2:
        x = 3
    return x
'''


def test_a_statement_is_written_anew_as_the_whole_file_would_be():
    tree = ast.parse(BRANCHES)
    sources = Sources(tree)
    edits = list(ranked(tree, "numpy", CallTrace()))
    assert [sources.of(edit) for edit in edits] == [edit.source(tree) for edit in edits]


@pytest.mark.parametrize(
    ("wrong", "right", "kind", "line"),
    [
        ("return x.sum(-1)", "return x.sum(-1, keepdims=True)", "whether an axis is kept", 2),
        ("y = x\n    y = y + 1", "y = x\n    y = y + 1\n    return y", "a missing `return`", 3),
    ],
)
def test_a_kept_axis_and_a_return_have_kinds_of_their_own(wrong, right, kind, line):
    old, new = (ast.parse(f"def f(x):\n    {body}").body[0] for body in (wrong, right))
    if kind.endswith("kept"):
        call, other = old.body[0].value, new.body[0].value
        place = place_of_edit(Edit("f", call, "keywords", call.keywords, other.keywords))
    else:
        place = place_of_edit(Edit("f", old, "body", old.body, [*old.body, new.body[-1]]))
    assert (place.kind, place.line) == (kind, line)


@pytest.mark.parametrize(
    ("wrong", "right", "kind"),
    [
        ("x.transpose(1, 2)", "x.transpose(1, 2).contiguous()", "a copy"),
        ("x.transpose(1, 2)", "(x.transpose(1, 2))[0]", "an index"),
        ("x.transpose(1, 2)", "x.swapaxes(1, 0)", "a transpose"),
        ("x", "x.transpose(1, 2)", "a transpose"),
    ],
)
def test_what_a_change_keeps_is_not_its_kind(wrong, right, kind):
    (statement,), new = ast.parse(wrong).body, ast.parse(right, mode="eval").body
    assert place_of_edit(Edit("f", statement, "value", statement.value, new)).kind == kind


def test_a_statement_before_a_return_is_no_missing_return():
    old, new = (
        ast.parse(f"def f(x):\n    {body}return x\n").body[0].body
        for body in ("", "if x > 1:\n        raise ValueError\n    ")
    )
    edit = Edit("f", ast.parse("def f(x): ..."), "body", old, [new[0], *old])
    assert place_of_edit(edit).kind == "a missing step"


def test_brackets_are_put_elsewhere():
    tree = ast.parse("def f(gamma, x, mean, spread):\n    return gamma * x - mean / spread, x + y + z\n")
    edits = list(ranked(tree, "numpy", CallTrace()))
    right = next(edit for edit in edits if "gamma * ((x - mean) / spread)" in edit.source(tree))
    place = place_of_edit(right)
    assert (place.line, place.kind) == (2, "where brackets stand")
    assert not any("x + (y + z)" in edit.source(tree) for edit in edits)


SQUARE = """
    import numpy as np

    HALF = np.float64(0.5)

    def double(x):
        if isinstance(x, str):
            raise ValueError
        four = np.sqrt(16)
        unused = np.zeros(3)
        y = x * four
        return y * HALF
"""
HELPED = """
import numpy as np

def halved(x):
    return x / 2

def double(x):
    if isinstance(x, str):
        raise ValueError
    y = x * np.sqrt(16)
    return halved(y)
"""
NESTED = """
import numpy as np

def double(x):
    def halved(x):
        return x / 2

    if isinstance(x, str):
        raise ValueError
    return halved(x * np.sqrt(16))
"""
METHOD = """
import numpy as np

class Doubler:
    def halved(self, x):
        return x / 2

    def doubled(self, x):
        return self.halved(x * np.sqrt(16))

def double(x):
    if isinstance(x, str):
        raise ValueError
    return Doubler().doubled(x)
"""
IN_PLACE = """
    def double(x):
        if isinstance(x, str):
            raise ValueError
        y = x
        helper(y)
        return y

    def helper(y):
        z = y[:]
        z *= 2
        return z
"""


def test_the_place_of_a_general_mistake_is_found_although_it_has_a_name(locate):
    found = locate(double("(x + x).astype('float64')"))
    assert found.mistake.id == "widens_to_float64"
    assert [repair.place.line for repair in found.repairs] == [4]
    assert locate(double("x + x + x")).repairs == ()


@pytest.mark.parametrize(
    ("code", "spots", "fact"),
    [
        (
            SQUARE.replace("np.float64(0.5)", "0.5"),
            [(9, "np.sqrt(16)")],
            "For float32 arguments this is float64, and so is the result, which should be float32.",
        ),
        (
            SQUARE.replace("np.sqrt(16)", "4"),
            [(4, "np.float64(0.5)")],
            "For float32 arguments this is float64, and so is the result, which should be float32.",
        ),
        (
            HELPED,
            [(10, "np.sqrt(16)")],
            "For float32 arguments this is float64, and so is the result, which should be float32.",
        ),
        (
            NESTED,
            [(10, "np.sqrt(16)")],
            "For float32 arguments this is float64, and so is the result, which should be float32.",
        ),
        (
            METHOD,
            [(9, "np.sqrt(16)")],
            "For float32 arguments this is float64, and so is the result, which should be float32.",
        ),
        (IN_PLACE, [(11, "")], "This line changes in place what the caller has passed."),
    ],
    ids=["scalar", "global", "helper", "nested", "method", "argument"],
)
def test_a_run_shows_where_a_dtype_widens_and_where_an_argument_is_changed(locate, code, spots, fact):
    found = locate(code)
    assert [shown(repair)[1:] for repair in found.repairs] == spots
    assert account.repair_text(found) == fact
    assert from_json(to_json(Report((found,)))).katas[0].repairs == found.repairs


KEEPING = """
    {before}

    def double(x{parameter}):
        if isinstance(x, str):
            raise ValueError
        {statement}
        return x + x if {is_first} else x * 3
"""
COUNTER = """
    def counter():
        calls = 0
        def counted():
            nonlocal calls
            calls += 1
            return calls
        return counted

    counted = counter()
"""
LATER = "later calls depend on it"


@pytest.mark.parametrize(
    ("before", "parameter", "statement", "is_first", "told"),
    [
        ("calls = []", "", "calls.append(1)", "len(calls) == 1", "changes the global `calls`, and {later}."),
        (
            *("", ", calls=[]", "calls.append(1)", "len(calls) == 1"),
            "changes the default value of `calls`, which all calls share.",
        ),
        (
            *("", "", "double.calls = getattr(double, 'calls', 0) + 1", "double.calls == 1"),
            "changes the attribute `calls`, and {later}.",
        ),
        (
            COUNTER,
            "",
            "count = counted()",
            "count == 1",
            "changes the variable `calls` of an outer function, and {later}.",
        ),
        (
            *("", "", "first = globals().setdefault(f'of {x.shape}', x)", "first is x"),
            "changes a value that outlives the call, and {later}.",
        ),
        (
            *("import random", "", "drawn = random.random()", "0.84 < drawn < 0.85"),
            "draws random numbers, so that the next call draws others.",
        ),
    ],
    ids=["global", "default", "attribute", "closure", "nameless", "random"],
)
def test_a_run_shows_what_a_call_keeps_for_later_ones(locate, before, parameter, statement, is_first, told):
    parts = {"before": textwrap.dedent(before), "parameter": parameter, "statement": statement}
    found = locate(textwrap.dedent(KEEPING).format(**parts, is_first=is_first))
    assert account.repair_text(found) == f"This line {told.format(later=LATER)}"
    assert found.repairs[0].place.text.strip() in (statement, "calls += 1")


KEEPING_MODULE = """
    import functools
    import torch
    from torch import nn

    @functools.cache
    def ones(width, device):
        return torch.ones(width, device=device)

    class Center(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))
            self.mean = None

        def forward(self, x):
            mean = x.mean(-1, keepdim=True)
            {statement}
            return (x - {mean}) * self.scale
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "mean", "line", "told"),
    [
        (
            *("self.mean = mean if self.mean is None else self.mean", "self.mean", 18),
            "This line changes the attribute `mean`, and {later}.",
        ),
        (
            *("torch.set_grad_enabled(True)", "mean", 18),
            "This line switches gradients on or off, and leaves them so for the caller.",
        ),
        (
            *("one = ones(x.shape[1], x.device).mul_(2) / 2", "mean * one", 6),
            "This keeps the results of `ones`, and a later call gets one that is not its own.",
        ),
    ],
    ids=["attribute", "gradients", "results"],
)
def test_a_run_shows_what_a_module_keeps_for_later_calls(locate, statement, mean, line, told):
    found = locate(textwrap.dedent(KEEPING_MODULE).format(statement=statement, mean=mean), "center")
    assert account.repair_text(found) == told.format(later=LATER)
    assert found.repairs[0].place.line == line


def test_a_place_is_proved_by_every_check(locate):
    (found,) = locate("def double(x):\n    return x + x + 4\n").repairs  # text is accepted besides
    assert found.kind == "numbers"  # no edit is a place
    assert found.fact.startswith("In the cases compared, `x + x` still has the right numbers.")


def test_a_search_changes_neither_points_nor_status(locate):
    found = locate(double("x * 5"))
    before = locate.before
    assert found.repairs
    assert (found.status, found.score, found.checks) == (before.status, before.score, before.checks)


@pytest.mark.parametrize(
    "code",
    [
        double("x + x"),
        double("x * 2"),
        double("x * 3"),
        "def double(x):\n    raise NotImplementedError\n",
        double("later(x)") + "\n\ndef later(x):\n    raise NotImplementedError\n",
    ],
    ids=["right", "a variant", "named", "untouched", "unwritten"],
)
def test_what_is_right_named_or_unwritten_is_not_searched(locate, code, monkeypatch):
    monkeypatch.setattr(RepairSearch, "run", lambda _: pytest.fail("searched"))
    monkeypatch.setattr(RepairSearch, "__init__", lambda *_: pytest.fail("searched"))
    assert locate(code) == locate.before


def test_no_seconds_are_no_search(locate):
    assert locate(double("x * 5"), seconds=0) == locate.before


def test_a_report_is_searched_after_another_file_was_graded(tiny_course, numpy_source):
    grader, info = Grader(tiny_course, {"numpy": numpy_source}), tiny_course.kata_info("double")
    first = grader.grade(parse(info, double("x * 5"), "double.py"))
    grader.grade(parse(info, double("x - 7"), "double.py"))
    assert [shown(repair)[2] for repair in first.locate(SearchOptions()).report.repairs] == ["5"]


ENDLESS = "def double(x):\n    while True:\n        pass\n"
SLEEPS = "import time\n\ndef double(x):\n    time.sleep(0.1)\n    return x\n"
EXITS = "import os\n\ndef double(x):\n    os._exit(3)\n"
FORKS = "import os\n\ndef double(x):\n    while x.size:\n        os.fork()\n    return 5 * x\n"
ALLOCATES = "def double(x):\n    kept = [bytearray(10**11) for _ in range(20)]\n    return x * 5\n"
PRINTS = "def double(x):\n    print('x' * 10**6)\n    return x * x * 5\n"


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("code", [ENDLESS, SLEEPS, EXITS, FORKS, ALLOCATES, PRINTS])
def test_a_hostile_file_ends_the_search_within_its_budget(locate, code):
    found = locate(code, seconds=0.5)
    assert found.checks == locate.before.checks
    assert (found.status, found.score) == (locate.before.status, locate.before.score)
    assert locate.seconds < 5


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [ENDLESS, EXITS, ALLOCATES])
def test_a_hostile_candidate_leaves_the_others_of_its_batch_to_be_judged(locate, monkeypatch, hostile):
    body = ast.parse(double("x * 5")).body[0].body
    edit = Edit("double", body[1], "value", body[1].value, body[1].value)
    batch = [Candidate(edit, source) for source in (double("x * 4"), hostile, double("x + x"))]
    monkeypatch.setattr(RepairSearch, "_candidates", lambda *_: iter(batch))
    assert [shown(repair)[1:] for repair in locate(double("x * 5")).repairs] == [(4, "x * 5")]


def test_candidates_of_one_worker_are_modules_of_their_own(connect):
    student = connect("def f(): return 0")
    one, two = (CandidateStudent(student, n, f"def f(): return {n}") for n in (1, 2))
    assert [one.f(), two.f(), one.f(), student.f()] == [1, 2, 1, 0]


def test_a_candidate_that_cannot_be_loaded_has_no_answer_of_the_one_before(connect):
    student = connect("def f(): return 0")
    assert CandidateStudent(student, 1, "def f(): return 1").f() == 1
    broken = CandidateStudent(student, 1, "1 / 0")
    for reason in ("division", "nothing is loaded"):
        with pytest.raises(SubmissionFailed, match=reason):
            broken.f()


def test_a_fault_of_the_search_is_not_shown(locate, monkeypatch):
    monkeypatch.setattr(RepairSearch, "_search", lambda *_: 1 / 0)
    assert locate(double("x * 5")).repairs == ()


def test_an_outdated_search_ends_at_once(locate):
    tried = []
    found = locate(double("x * 5"), is_outdated=lambda: True, progress=tried.append)
    assert (found.repairs, tried) == ((), [])


def test_progress_is_told(locate):
    tried = []
    locate(double("x * 5"), progress=tried.append)
    assert tried == list(range(len(tried)))
    assert len(tried) > 3


def test_the_clock_counts_wall_time_too(monkeypatch):
    clock = Clock(SearchOptions(seconds=1.0))
    assert not clock.is_over()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2.5)
    assert clock.is_over()


FOUND = KataReport(
    "softmax",
    "attention",
    "failed",
    1000,
    repairs=(Repair("an axis", Place(3, "    return e / e.sum(axis=0)", 17, 23)),),
)


def test_one_place_reads_as_a_fact():
    assert account.of_search(FOUND).splitlines() == [
        "Changing only this spot makes every check pass: an axis.",
        "3 │ return e / e.sum(axis=0)",
        "  │              ^^^^^^",
    ]


def test_several_places_are_alternatives():
    other = Repair("a sign", Place(5, "y = -x", 4, 6))
    several = KataReport("s", "t", "failed", 100, repairs=(*FOUND.repairs, other))
    assert account.repair_text(several) == (
        "Changing any one of these spots makes every check pass: an axis or a sign."
    )


def test_a_report_with_places_is_read_as_it_was_written():
    report = Report((FOUND,))
    assert from_json(to_json(report)) == report
    data = to_json(report)
    data["katas"][0]["waypoint"] = {"agrees": "scores", "differs": "weights", "line": 14}  # an older field
    assert from_json(data) == report
    del data["katas"][0]["repairs"]
    assert from_json(data).katas[0].repairs == ()


def test_every_format_shows_the_place(locate):
    report = locate(double("x * 5"))
    whole, told = Report((report,)), "Changing only this spot makes every check pass: a number."
    texts = [terminal.render(whole), html.render(whole), summary.render(whole), lines.render(whole)]
    for text in [*texts, html.fragment(report), account.of_kata(report)]:
        assert told in " ".join(text.split())
    assert "double.py:4:16: error: Changing only this spot" in lines.render(whole)
    assert {"terminal", "lines"} <= set(NAMES)


@pytest.mark.parametrize("code", [double("x * 5"), double("x - x"), double("x + x + 4")])
def test_nothing_of_the_reference_is_shown(locate, tiny_course, code):
    report = locate(code)
    whole = Report((report,))
    reference = tiny_course.solution(tiny_course.kata_info("double"), "reference").read_text()
    own = {line.strip() for line in reference.splitlines()} - {line.strip() for line in code.splitlines()}
    texts = [terminal.render(whole), html.render(whole), summary.render(whole), lines.render(whole)]
    texts += [str(to_json(whole)), html.fragment(report)]
    assert report.repairs
    assert not [line for line in own for text in texts if len(line) >= LONG and line in text]
    assert "x + x" not in account.of_search(report).replace("x + x + 4", "")


@pytest.mark.slow
def test_a_library_s_own_error_of_that_name_is_no_unwritten_part(locate):
    code = textwrap.dedent(CENTER).replace("moved * self.scale", "(moved > 0) @ (x > 0).T * self.scale")
    locate(code, "center")
    assert "NotImplementedError" in str(locate.before.checks)
    assert locate.seconds > 0


def test_a_submission_that_does_not_load_ends_the_search_and_leaves_no_worker(
    tiny_course, numpy_source, monkeypatch
):
    info = tiny_course.kata_info("double")
    grader = Grader(tiny_course, {"numpy": numpy_source})
    graded = grader.grade(parse(info, double("x * 5"), "double.py"))
    started = []

    def refuse(*_, **__):
        raise WorkerLost("It is too slow.")

    start = type(numpy_source).start
    monkeypatch.setattr(type(numpy_source), "start", lambda *a: started.append(start(*a)) or started[-1])
    monkeypatch.setattr(trial.RemoteStudent, "load", refuse)
    assert graded.locate(SearchOptions()).report.repairs == ()
    assert len(started) == 1
    assert all(process.ended for process in started)
