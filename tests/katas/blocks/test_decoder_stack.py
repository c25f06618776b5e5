"""decoder_stack: its cases and its laws.

Right float32 answers differ from the exact one by the rounding of dozens of matrix products and up to nine
layer norms, and a norm multiplies what came before by one over the row's spread. `ROUNDINGS` leaves room
for that; mistakes below it show in the float64 cases.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
SLACK = {"terms": 8, "roundings": ROUNDINGS}
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(1, 3), (1, 4), (1, 5), (2, 4), (2, 6), (2, 8), (3, 3), (3, 6)]

KATA = Kata(
    "decoder_stack",
    track="blocks",
    entry_points=("decoder_stack",),
    title="A stack of decoder layers and its hidden states",
    source="Vaswani et al. 2017, section 3.1, figure 1; pre-norm: Xiong et al. 2020, section 3",
    hints=(
        "The states before the first layer and after each are N + 1. Which list do you have before the loop "
        "begins?",
        "Inside the loop only two things change: the params, and the state that the next layer starts from. "
        "The memory is the same object every time.",
        "Start a list that holds x. For each layer's params, append what your decoder layer makes of the "
        "list's last entry, the memory and these params. If states that were right turn wrong later, look "
        "for an operation that writes into an array (+=, an out= argument) instead of making a new one.",
    ),
    roundings=ROUNDINGS,
    bank_size=40,
)


def token_rows(draw, tokens, d_model, dtype):
    """Rows of hundredths whose spread is neither lost beside their mean nor blown up by a norm."""
    wide = st.normal_arrays((tokens, d_model), dtype, scale=draw(st.sampled_from([0.5, 1.0, 2.0])))
    rows = wide.map(lambda drawn: np.round(drawn, 2) + 0.0)
    return draw(st.permuted(rows.filter(lambda drawn: drawn.std(axis=-1).min() > 0.2)))


def layer_params(draw, d_model, d_ff, dtype):
    """Weights of one layer: hundredths around 0.3 in size, rows or columns next to each other in memory."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    order = draw(st.sampled_from("CF"))

    def matrix(rows, columns):
        hundredths = np.round(rng.standard_normal((rows, columns)) * 0.3, 2) + 0.0
        return np.asarray(hundredths, dtype=dtype, order=order)

    return {
        "self_attention": {name: matrix(d_model, d_model) for name in "qkvo"},
        "cross_attention": {name: matrix(d_model, d_model) for name in "qkvo"},
        "feed_forward": {"w1": matrix(d_model, d_ff), "w2": matrix(d_ff, d_model)},
    }


def stack_case(draw, *, shortest_target=1, fewest_layers=0):
    """Arguments of one call; the layers have weights, and widths d_ff, of their own."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    dtype = draw(st.float_dtypes())
    num_layers = draw(st.integers(fewest_layers, 3))
    return {
        "x": token_rows(draw, draw(st.integers(shortest_target, 4)), d_model, dtype),
        "memory": token_rows(draw, draw(st.integers(1, 4)), d_model, dtype),
        "layers": [layer_params(draw, d_model, draw(st.integers(1, 8)), dtype) for _ in range(num_layers)],
        "num_heads": num_heads,
    }


def silenced(params):
    """A copy of `params` whose three last matrices are zero, so that every sublayer adds nothing."""
    quiet = {
        name: {**params[name], "o": np.zeros_like(params[name]["o"])}
        for name in ("self_attention", "cross_attention")
    }
    weights = params["feed_forward"]
    return {**quiet, "feed_forward": {**weights, "w2": np.zeros_like(weights["w2"])}}


def run(student, x, memory, layers, num_heads):
    """The student's states, once they are known to be N + 1 arrays with the rows and features of x."""
    states = student.decoder_stack(x, memory, layers, num_heads)
    due = f"{len(layers)} layers make a list of {len(layers) + 1} states"
    expect.true(isinstance(states, list | tuple), f"{due}; what came back is no list.")
    expect.true(len(states) == len(layers) + 1, f"{due}; {len(states)} came back.")
    for index, state in enumerate(states):
        shaped_like_x = getattr(state, "shape", None) == x.shape
        expect.true(shaped_like_x, f"h_{index} must be an array shaped like x, {x.shape}.")
    return list(states)


@KATA.cases
def cases(draw):
    return stack_case(draw)


@KATA.corner(points=0.5)
def no_layers(layers):
    """A stack without layers returns the list that holds x alone."""
    return not layers


@KATA.corner(points=0.5)
def scores_in_the_hundreds(layers):
    """Scores in the hundreds are told apart like small ones."""
    return any(np.abs(params["self_attention"]["q"]).max() > 100 for params in layers)


@KATA.example
def heads_and_hidden_scores_far_apart():
    """The first token's own score is -500 in one head and 500 in the other; that of the token that it must
    not see is turned round. float64 can take either by itself, and not their difference."""
    unit = np.eye(2)
    quiet = {name: dict.fromkeys("qkvo", unit) for name in ("self_attention", "cross_attention")}
    quiet["feed_forward"] = {"w1": unit, "w2": unit}
    loud = {**quiet, "self_attention": {**quiet["self_attention"], "q": np.diag([-500.0, 500.0])}}
    return {"x": unit, "memory": np.array([[0.0, 2.0]]), "layers": [loud, quiet], "num_heads": 2}


@KATA.example
def stack_without_layers():
    rows = np.array([[3.0, 1.0, 2.0]], dtype=np.float32)
    return {"x": rows, "memory": rows + 1, "layers": [], "num_heads": 1}


@KATA.example
def worked_example():
    def identities():
        return {
            "self_attention": {name: np.eye(2) for name in "qkvo"},
            "cross_attention": {name: np.eye(2) for name in "qkvo"},
            "feed_forward": {"w1": np.eye(2), "w2": np.eye(2)},
        }

    return {
        "x": np.array([[3.0, 1.0]]),
        "memory": np.array([[0.0, 2.0]]),
        "layers": [identities(), identities()],
        "num_heads": 1,
    }


def printed_params(seed):
    """Weights of one layer of the printed stack: a single stream of normal numbers times 0.2."""
    stream = np.random.default_rng(seed)

    def matrix(rows, columns):
        return stream.standard_normal((rows, columns)) * 0.2

    return {
        "self_attention": {name: matrix(8, 8) for name in "qkvo"},
        "cross_attention": {name: matrix(8, 8) for name in "qkvo"},
        "feed_forward": {"w1": matrix(8, 16), "w2": matrix(16, 8)},
    }


@KATA.example
def printed_stack():
    """Two layers (seeds 1 and 2) on inputs of seed 0: the target is drawn first, then the memory."""
    inputs = np.random.RandomState(0)
    return {
        "x": inputs.randn(3, 8) * 0.5,
        "memory": inputs.randn(4, 8) * 0.5,
        "layers": [printed_params(1), printed_params(2)],
        "num_heads": 2,
    }


PRINTED_STATES = (
    [
        [0.882, 0.2, 0.489, 1.12, 0.934, -0.489, 0.475, -0.076],
        [-0.052, 0.205, 0.072, 0.727, 0.381, 0.061, 0.222, 0.167],
        [0.747, -0.103, 0.157, -0.427, -1.276, 0.327, 0.432, -0.371],
    ],
    [
        [0.53, 0.08, 0.516, 0.581, 0.476, -0.617, -0.504, -0.161],
        [-0.481, 0.278, 0.286, 0.388, -0.082, -0.387, -1.063, -0.353],
        [1.45, 0.643, 0.626, -0.598, -2.06, -0.356, -0.788, -0.535],
    ],
    [
        [0.822, -0.09, 0.344, 0.919, 0.321, -0.648, -1.121, 1.099],
        [-0.085, 0.031, 0.075, 0.987, -0.478, -0.556, -1.299, -0.026],
        [1.363, 0.431, 0.835, -0.339, -2.172, 0.04, -1.211, -0.804],
    ],
)


@KATA.law(points=0.5)
def test_printed_tables(student):
    """The three states of the printed two-layer stack come out to three decimals."""
    states = run(student, **printed_stack())
    for index, (state, printed) in enumerate(zip(states, PRINTED_STATES, strict=True)):
        expect.decimals(state, np.array(printed), 3, f"h_{index} of the printed stack")


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would cost more calls and show no more."""
    return stack_case(draw, fewest_layers=1)


def with_any_number_of_layers(draw):
    return stack_case(draw)


@KATA.law(points=0.5, cases=with_any_number_of_layers)
def test_one_state_more_than_layers(student, x, memory, layers, num_heads):
    """N layers give a list of N + 1 states, and no layers a list of one."""
    run(student, x, memory, layers, num_heads)


@KATA.law(points=0.5, cases=fresh_cases)
def test_first_state_is_x(student, x, memory, layers, num_heads):
    """The list begins with x, whatever the layers do afterwards."""
    states = run(student, x, memory, layers, num_heads)
    expect.equal(states[0], x, "h_0")


def cut_in_two(draw):
    case = stack_case(draw, fewest_layers=2)
    return {**case, "cut": draw(st.integers(1, len(case["layers"]) - 1))}


@KATA.law(points=0.5, cases=cut_in_two)
def test_stacks_compose(student, x, memory, layers, num_heads, cut):
    """A stack's states are those of its lower part, followed by those of its upper part."""
    whole = run(student, x, memory, layers, num_heads)
    lower = run(student, x, memory, layers[:cut], num_heads)
    upper = run(student, lower[-1].astype(x.dtype), memory, layers[cut:], num_heads)
    what = f"the stack of {len(layers)} layers, cut after layer {cut} and run in two parts,"
    expect.close(lower + upper[1:], whole, what, dtype=x.dtype.name, **SLACK)


def with_another_future(draw):
    case = stack_case(draw, shortest_target=2, fewest_layers=1)
    cut = draw(st.integers(1, len(case["x"]) - 1))
    d_model = case["x"].shape[1]
    return {
        **case,
        "cut": cut,
        "future": token_rows(draw, len(case["x"]) - cut, d_model, case["x"].dtype.name),
    }


@KATA.law(points=0.5, cases=with_another_future)
def test_future_tokens_change_no_earlier_row(student, x, memory, layers, num_heads, cut, future):
    """Changing later target tokens changes no earlier row of any state."""
    before = run(student, x, memory, layers, num_heads)
    after = run(student, np.concatenate([x[:cut], future]), memory, layers, num_heads)
    what = f"the list of states ahead of token {cut}, after the target tokens from there on changed,"
    early = [state[:cut] for state in after]
    expect.close(early, [state[:cut] for state in before], what, dtype=x.dtype.name, **SLACK)


@KATA.law(points=0.5, cases=fresh_cases)
def test_silent_layers_leave_x_as_it_is(student, x, memory, layers, num_heads):
    """Where every sublayer's last matrix is zero, every state is x."""
    states = run(student, x, memory, [silenced(params) for params in layers], num_heads)
    what = "the list of states of layers that add zero"
    expect.close(states, [x] * (len(layers) + 1), what, dtype=x.dtype.name, **SLACK)


def with_an_offset(draw):
    return {**stack_case(draw, fewest_layers=1), "offset": draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))}


@KATA.law(points=0.5, cases=with_an_offset)
def test_memory_is_normalised(student, x, memory, layers, num_heads, offset):
    """Adding a constant to all features of the memory tokens changes no state."""
    plain = run(student, x, memory, layers, num_heads)
    shifted = run(student, x, memory + memory.dtype.type(offset), layers, num_heads)
    what = f"the list of states, after {offset} was added to every number of the memory,"
    expect.close(shifted, plain, what, dtype=x.dtype.name, **SLACK)
