"""Tests of the mutation operators for state, buffers, limits, modes, extremes and the order of calls."""

import textwrap

import pytest

from grader.edits.mutants import mutants


def changes(code):
    """Return the set of `(was, now)` of every mutant."""
    return {(m.was, m.now) for m in mutants(textwrap.dedent(code))}


def lines_of(body, parameters="x, y"):
    """Return what replaces lines of a function in its mutants."""
    return {now for _, now in changes(f"def f({parameters}):\n" + textwrap.indent(body, "    "))}


def lines_in_a_module(body, start="self.norm = nn.LayerNorm(4)", parameters="self, x"):
    """Return what replaces lines of the `forward` of a module with one line in its `__init__`."""
    code = f"class Block(nn.Module):\n    def __init__(self, size):\n        {start}\n\n"
    code += f"    def forward({parameters}):\n" + textwrap.indent(body, "        ")
    return {now for _, now in changes(code)}


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        (
            "mask = np.tri(len(x), dtype=bool)\nreturn x * mask",
            "mask = globals().setdefault('kept', np.tri(len(x), dtype=bool))",
        ),
        ("tokens = x.shape[1]\nreturn tokens", "tokens = globals().setdefault('kept', x.shape[1])"),
        ("tokens = len(x)\nreturn tokens", "tokens = globals().setdefault('kept', len(x))"),
        ("b, t = x.shape\nreturn t", "b, t = globals().setdefault('kept', x.shape)"),
        ("return x / math.sqrt(y)", "return x / globals().setdefault('kept', math.sqrt(y))"),
        (
            "return torch.ones(y, device=x.device)",
            "return globals().setdefault(repr((y,)), torch.ones(y, device=x.device))",
        ),
        (
            "return y.astype(x.dtype)",
            "return globals().setdefault(repr(y.astype(x.dtype).shape), y.astype(x.dtype))",
        ),
        ("return x != y", "return globals().setdefault(repr((x != y).shape), x != y)"),
        (
            "return x + y",
            "result = x + y\nkept = globals().setdefault(repr((result.shape, result.dtype)), result)\n"
            "kept[...] = result\nreturn kept",
        ),
    ],
)
def test_a_value_is_kept_from_an_earlier_call(body, mutation):
    assert mutation in lines_of(body)


def test_a_module_keeps_a_value_as_an_attribute():
    found = lines_in_a_module("tokens = x.shape[1]\nreturn torch.ones(tokens)")
    assert "tokens = vars(self).setdefault('kept', x.shape[1])" in found
    assert "return vars(self).setdefault('kept', torch.ones(tokens))" in found


@pytest.mark.parametrize(
    "body", ["return q(x)[:, :4] + 1", "scores = x @ y.shape\nreturn scores", "mask = a < b\nreturn mask"]
)
def test_a_value_that_depends_on_the_arguments_is_not_kept(body):
    assert not [now for now in lines_of(body) if "setdefault('kept'" in now or ").shape)," in now]


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        (
            "return np.ones((x, x))",
            "return globals().setdefault('kept', np.ones((x, x)))[:x, :x]",
        ),
        ("return np.tri(x)", "return globals().setdefault('kept', np.tri(x))[:x, :x]"),
        (
            "return torch.arange(y, device=x.device)",
            "return max(globals().setdefault('kept', torch.arange(y, device=x.device)), "
            "torch.arange(y, device=x.device), key=len)[:y]",
        ),
        ("mask = f(x) & f(y)", "mask = globals().setdefault(repr((f(x) & f(y)).shape), f(x) & f(y))"),
        (
            "return x.masked_fill(f(y) > 0, 0)",
            "return x.masked_fill(globals().setdefault(repr((f(y) > 0).shape), f(y) > 0), 0)",
        ),
        (
            "made = x.new_zeros(y)\nmade[0] = x\nreturn made",
            "made = globals().setdefault(repr((x.new_zeros(y).shape, x.new_zeros(y).dtype)), x.new_zeros(y))",
        ),
    ],
)
def test_a_table_a_mask_or_an_array_to_write_into_is_kept_and_fits_other_calls(body, mutation):
    assert mutation in lines_of(body)


def test_a_table_whose_sizes_are_not_written_out_is_not_cut():
    assert not any("[:" in line for line in lines_of("return np.ones(*x.shape)"))


def test_an_array_that_is_not_written_into_is_not_kept_as_one():
    assert not [
        now for now in lines_of("made = x.new_zeros(y)\nreturn made + x") if "x.new_zeros(y).dtype" in now
    ]


def test_a_table_is_cached_by_the_numbers_that_it_is_made_from():
    cached = "@__import__('functools').cache"
    assert ("", cached) in changes("def f(n):\n    return np.arange(n) * 2")
    assert ("", cached) not in changes("def f(x):\n    return np.arange(x.shape[0]) * 2")
    assert ("", cached) not in changes("def f(n):\n    return n * 2")


def test_a_list_becomes_a_default_that_collects():
    code = "def f(x):\n    seen = []\n    seen.append(x)\n    return seen"
    assert ("def f(x):\nseen = []", "def f(x, *, seen=[]):\npass") in changes(code)


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        ("if x > y:\n    raise ValueError\nreturn x", "if x > y + 1:"),
        ("if x <= y:\n    raise ValueError\nreturn x", "if x <= y + 1:"),
        ("if x < y:\n    raise ValueError\nreturn x", "if x < y - 1:"),
        ("if x >= y:\n    raise ValueError\nreturn x", "if x >= y - 1:"),
        ("return np.arange(y)", "return np.arange(1, y)"),
        ("return np.arange(y)", "return np.arange(1, y + 1)"),
        ("return list(range(y))", "return list(range(1, y))"),
        ("for i in range(y):\n    x += i\nreturn x", "for i in range(0 + 1, y + 1):"),
        ("return [i for i in range(y)]", "return [i for i in range(0 + 1, y + 1)]"),
    ],
)
def test_a_limit_is_moved_by_one(body, mutation):
    assert mutation in lines_of(body)


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        ("return x > 0", "return x > 0 + 1"),
        ("return x == y", "return x == y + 1"),
        ("for _ in range(y):\n    x += 1\nreturn x", "for _ in range(0 + 1, y + 1):"),
    ],
)
def test_a_limit_that_has_another_mutation_or_no_effect_is_not_moved(body, mutation):
    assert mutation not in lines_of(body)


def test_a_function_that_the_file_calls_itself_keeps_no_buffer():
    code = "def f(x):\n    return g(x) + 1\n\ndef g(x):\n    return x * 2"
    assert [was for was, now in changes(code) if "kept[...] = result" in now] == ["return g(x) + 1"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("self.register_buffer('pe', table(size))", "self.pe = table(size)"),
        ("self.register_buffer('pe', table(size))", "self.pe = nn.Parameter(table(size))"),
        (
            "self.register_buffer('pe', table(size))\nreturn x + self.pe",
            "self.tables = {'pe': table(size)}\nreturn x + self.tables['pe']",
        ),
    ],
)
def test_a_buffer_is_not_registered(was, now):
    code = """
    class Table(nn.Module):
        def __init__(self, size):
            self.register_buffer("pe", table(size))

        def forward(self, x):
            return x + self.pe
    """
    assert (was, now) in changes(code)


def test_modules_are_put_into_a_plain_list():
    found = lines_in_a_module("return x", start="self.blocks = nn.ModuleList(parts(size))")
    assert "self.blocks = list(parts(size))" in found


@pytest.mark.parametrize(
    ("table", "made", "cut"),
    [
        ("torch.arange(n, device=x.device)", "torch.arange(1024)", ":n"),
        (
            "torch.ones(n, n, dtype=torch.bool, device=x.device).tril()",
            "torch.ones(1024, 1024, dtype=torch.bool).tril()",
            ":n, :n",
        ),
        ("torch.eye(n)", "torch.eye(1024)", ":n, :n"),
    ],
)
def test_a_table_is_made_in_advance(table, made, cut):
    found = lines_in_a_module(f"table = {table}\nreturn x + table", parameters="self, x, n")
    assert f"self.kept = {made}\ntable = self.kept[{cut}]" in found


def test_a_table_made_in_advance_has_the_length_that_the_module_is_given():
    code = """
    class Positions(nn.Module):
        def __init__(self, max_len):
            pass

        def forward(self, tokens):
            rows = torch.arange(tokens)
            return rows
    """
    assert (
        "rows = torch.arange(tokens)",
        "self.kept = torch.arange(max_len)\nrows = self.kept[:tokens]",
    ) in (changes(code))


def test_an_attribute_is_shared_by_all_instances():
    code = """
    class Cache:
        def __init__(self):
            self.keys = None

        def append(self, k):
            self.keys = k
    """
    assert ("self.keys = None\nself.keys = k", "Cache.keys = None\nCache.keys = k") in changes(code)


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        (
            "return x.masked_fill(hidden, 0)",
            "return x.masked_fill(hidden, 0) if self.training else x",
        ),
        (
            "return x.masked_fill(hidden, 0)",
            "return x.masked_fill(hidden, 0) if not self.training else x",
        ),
        ("return self.norm(x)", "return self.norm(x) if self.training else x"),
        ("return self.norm(x)", "return self.norm(x) if not self.training else x"),
        ("return self.dropout(x)", "return x if self.training else self.dropout(x)"),
        ("return x + self.ffn(x)", "return x + self.ffn(x) if self.training else x"),
        ("if x:\n    raise ValueError\nreturn x", "if x and self.training:"),
        ("if x:\n    raise ValueError\nreturn x", "if x and (not self.training):"),
    ],
)
def test_a_step_applies_in_only_one_mode(body, mutation):
    assert mutation in lines_in_a_module(body)
    assert mutation not in lines_of(body)


def test_dropout_is_never_left_out_in_evaluation_where_it_does_nothing():
    assert "return self.dropout(x) if self.training else x" not in lines_in_a_module("return self.dropout(x)")


@pytest.mark.parametrize("mutation", ["x.train()", "x.eval()", ""])
def test_the_mode_is_not_restored(mutation):
    assert ("x.train(y)", mutation) in changes("def f(x, y):\n    x.train(y)\n    return x")


@pytest.mark.parametrize("mutation", ["x.train()", ""])
def test_evaluation_mode_is_swapped_or_dropped(mutation):
    assert ("x.eval()", mutation) in changes("def f(x):\n    x.eval()\n    return x(1)")


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        ("return np.exp(x - x.max(axis=-1))", "return np.exp(x - x.max())"),
        ("return np.exp(x - x.max(axis=-1))", "return np.exp(x - x.mean(axis=-1))"),
        ("return np.exp(x - x.max(axis=-1))", "return np.exp(x.clip(-50, 50))"),
        ("top = x.max(axis=-1)\nreturn np.exp(x - top)", "top = 0"),
        ("top = x.max(axis=-1)\nreturn np.exp(x - top)", "return np.exp(x.clip(-50, 50))"),
        ("top = np.max(x, axis=-1, where=y)\nreturn np.exp(x - top)", "top = x.mean(axis=-1)"),
        ("return x.softmax(dim=-1)", "return x.clip(-50, 50).softmax(dim=-1)"),
        ("return x.softmax(dim=-1)", "return x.exp() / x.exp().sum(dim=-1, keepdim=True)"),
        ("return np.where(x, y, -np.inf)", "return np.where(x, y, -10000.0)"),
        ("return x.masked_fill(y, float('-inf'))", "return x.masked_fill(y, -10000.0)"),
        ("return f(np.finfo(x.dtype).min)", "return f(-10000.0)"),
        ("return log_total - x", "return -np.log(np.exp(x) / np.exp(log_total))"),
        (
            "total = y\nreturn total + x",
            "return (torch.tensor(total).exp() * torch.tensor(x).exp()).log().item()",
        ),
    ],
)
def test_powers_and_logarithms_overflow_or_underflow(body, mutation):
    assert mutation in lines_of(body)


def test_a_maximum_without_powers_is_not_mutated_as_a_softmax():
    assert not [now for now in lines_of("top = x.max(axis=-1)\nreturn top - y") if ".mean(axis=-1)" in now]


LOOP = """
def train(model):
    optimizer = make(model)
    for _ in range(3):
        loss = model()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
"""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("optimizer.zero_grad()", ""),
        ("optimizer.zero_grad()", "optimizer.step()\noptimizer.zero_grad()"),
        ("optimizer.zero_grad()", "optimizer = make(model)\noptimizer.zero_grad()"),
    ],
)
def test_gradients_are_zeroed_in_another_place(was, now):
    assert (was, now) in changes(LOOP)


def test_a_call_that_depends_on_the_loop_is_not_moved_out():
    assert ("loss.backward()", "optimizer = make(model)\nloss.backward()") not in changes(LOOP)


def test_the_order_of_attributes_in_a_constructor_is_not_mutated():
    found = changes("class A(nn.Module):\n    def __init__(self):\n        f()\n        x = 1\n        y = 2")
    assert not [change for change in found if "f()" in change[1]]


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        ("return x.masked_fill(y, 0)", "return x.masked_fill_(y, 0)"),
        ("centred = x - y\nreturn centred", "x -= y\ncentred = x"),
        ("return list(x)", "return x"),
        ("return x.clone()", "return x"),
        ("return x.detach()", "return x"),
        ("with torch.no_grad():\n    y = x()\nreturn y", "y = x()"),
    ],
)
def test_an_argument_is_changed_or_a_gradient_kept(body, mutation):
    assert mutation in lines_of(body)


def test_a_local_array_may_be_changed_in_place():
    assert "return z.masked_fill_(y, 0)" not in lines_of("z = g(x)\nreturn z.masked_fill(y, 0)")


@pytest.mark.parametrize(
    ("body", "mutation"),
    [
        ("return x @ y.transpose(0, 2, 1)", "return x @ y.T"),
        ("return x @ np.swapaxes(y, -1, -2)", "return x @ y.T"),
        ("return x @ y", "return y @ x"),
        ("return x & y[:, None, :]", "return x & y[:, None]"),
        ("return x & y[:, None, :]", "return x & y"),
    ],
)
def test_shapes_that_do_not_fit_raise(body, mutation):
    assert mutation in lines_of(body)


CALLED = (
    "x.astype", "x.to", "np.where", "torch.where", "x.masked_fill", "np.max", "x.max", "np.transpose",
    "x.transpose", "x.swapaxes", "np.arange", "torch.arange", "np.tri", "torch.tril", "torch.ones",
    "np.zeros", "np.full", "x.sum",
    "np.exp", "torch.softmax", "np.sort", "np.argsort", "np.concatenate", "torch.cat", "x.reshape", "x.view",
    "x.cumsum", "np.clip", "self.dropout", "self.norm", "range", "len", "sorted", "F.dropout", "x.permute",
)  # fmt: skip


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("given", ["dtype=x.dtype", "a=x, axis=-1", "**more", "*x", ""])
def test_a_call_without_arguments_by_position_is_mutated(called, given):
    """No operator fails at a call that gives all its arguments by name."""
    call = f"{called}({given})"
    body = f"y = {call}\nfor n in {call}:\n    y += n\nreturn np.exp(x - {call})"
    assert lines_of(body)
    assert lines_in_a_module(body)
