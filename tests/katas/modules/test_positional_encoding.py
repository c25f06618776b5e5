"""positional_encoding: its cases and its laws.

A table computed in float32 is right, also where x is float64. So the drawn cases, which are held to the
precision of their inputs, are float32, and one law looks at float64 with a bound of its own.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "positional_encoding",
    track="modules",
    entry_points=("SinusoidalPositionalEncoding",),
    title="A table that moves with its module",
    source="Vaswani et al. 2017, section 3.5",
    library="torch",
    grades_gradients=True,
    roundings=2,
    bank_size=23,
    axes={"x": "batch tokens d_model"},
    hints=(
        "Draw the table for d_model 5 and three positions: which columns are sines, which angle has each, "
        "and how many cosines are there?",
        "nn.Module tells three kinds of tensors apart: parameters are trained and moved, buffers are moved, "
        "plain attributes are neither. register_buffer takes a name and a tensor.",
        "Positions as a column, the even numbers below d_model over d_model as exponents of 10000, and one "
        "division gives all angles. Sines go into every second column from 0 on, cosines from 1 on: for an "
        "odd d_model leave out the last. Add an axis in front, register it, and add its first T rows to x.",
    ),
    hint_for={
        "fails_for_odd_widths": 1,
        "ends_odd_widths_on_zero": 1,
        "gives_each_column_its_own_angle": 1,
        "trains_the_table": 2,
        "keeps_the_table_as_an_attribute": 2,
        "adds_an_unregistered_copy": 2,
    },
)


def encoding_case(draw, widths=(4, 6, 2, 8)):
    """A module's numbers and a float32 input, mostly shorter than max_len."""
    d_model, tokens = draw(st.sampled_from(widths)), draw(st.sampled_from([3, 2, 4, 5, 6, 1]))
    shape = (draw(st.sampled_from([2, 1, 3])), tokens, d_model)
    return {
        "d_model": d_model,
        "max_len": tokens + draw(st.sampled_from([1, 0, 2, 6])),
        # not near 0, where the table alone is right
        "x": draw(st.tensors(st.permuted(st.arrays(shape, "float32").map(lambda x: x + np.float32(2))))),
    }


#: What runs beside the submission.
BESIDE = """
def takes_gradients(module):
    return bool(module.pe.requires_grad)


def without_table(module, x):
    return module(x) - module(x * 0)
"""


def waves(max_len, d_model):
    """The table of the statement, [max_len, d_model], in float64."""
    column = np.arange(d_model)
    angles = np.arange(max_len)[:, None] / 10000.0 ** (2 * (column // 2) / d_model)
    return np.where(column % 2, np.cos(angles), np.sin(angles))


@KATA.cases
def cases(draw):
    return encoding_case(draw, widths=(4, 5, 6, 3, 8, 2, 7, 1))


@KATA.corner(points=0.5)
def odd_widths(d_model):
    """Odd widths are filled as well, and end on a sine."""
    return d_model % 2 == 1


@KATA.example
def worked_example():
    """The example of the statement: the table itself."""
    import torch

    return {"d_model": 4, "max_len": 4, "x": torch.zeros(1, 3, 4)}


@KATA.observe
def observe(student, d_model, max_len, x):
    return {"result": student.SinusoidalPositionalEncoding(d_model, max_len)(x)}


@KATA.law(points=1)
def test_the_table_is_a_buffer(student, d_model, max_len):
    """The table is a buffer `pe [1, max_len, d_model]`, and nothing is a parameter."""
    module = student.SinusoidalPositionalEncoding(d_model, max_len)
    parts = student.anatomy(module)
    buffers, learnt = parts["buffers"], [*parts["parameters"]]
    expect.true(not learnt, f"The module must have no parameter; it has `{(learnt or [''])[0]}`.")
    expect.true("pe" in buffers, "The module must have a buffer `pe`, made in its constructor.")
    table, due = buffers["pe"], (1, max_len, d_model)
    expect.true(
        tuple(table.shape) == due, f"`pe` is [1, max_len, d_model], {due}; it is {tuple(table.shape)}."
    )
    expect.decimals(table, waves(max_len, d_model)[None], 4, "the buffer `pe`")
    learns = student.build(BESIDE, "takes_gradients", module)
    expect.true(not learns, "No gradient may be recorded for `pe`, since it does not learn.")


def doubles_of_some_size(draw):
    """float64 inputs that float32 would round by more than the table's own error."""
    case = encoding_case(draw)
    wide = st.normal_arrays(tuple(case["x"].shape), "float64", scale=1e4)
    return {**case, "x": draw(st.tensors(st.permuted(wide)))}


@KATA.law(points=0.5, cases=doubles_of_some_size)
def test_float64_keeps_its_digits(student, d_model, max_len, x):
    """A float64 x keeps its digits, in a module cast to float64 by double()."""
    module = student.SinusoidalPositionalEncoding(d_model, max_len)
    module.double()
    result = student.build(BESIDE, "without_table", module, x)  # which may have been computed in float32
    expect.true(
        getattr(result, "shape", None) == x.shape, f"The result must be shaped like x, {tuple(x.shape)}."
    )
    expect.decimals(result, x, 4, "what is left of a float64 x beside the table")


@KATA.law(points=0.5)
def test_holds_far_positions(student):
    """By default there are 5000 positions, near ones right to 1e-5 and far ones to 1e-3."""
    import torch

    module = student.SinusoidalPositionalEncoding(6)
    rows = [len(table[0]) for name, table in student.anatomy(module)["buffers"].items() if name == "pe"]
    expect.true(rows in ([], [5000]), f"By default the buffer `pe` has 5000 rows; it has {(rows or [0])[0]}.")
    rows = module(torch.zeros(1, 4, 6))  # first, since no two ways to compute far ones agree in all digits
    expect.true(getattr(rows, "shape", None) == (1, 4, 6), "Four tokens must come out as four tokens.")
    expect.decimals(rows[0], waves(4, 6), 4, "the table's first four rows")
    table = module(torch.zeros(1, 5000, 6))
    expect.true(getattr(table, "shape", None) == (1, 5000, 6), "5000 tokens must come out as 5000 tokens.")
    expect.decimals(table[0, :64], waves(64, 6), 4, "the table's first 64 rows")
    expect.decimals(table[0, 64:], waves(5000, 6)[64:], 2, "the table from row 64 on")
