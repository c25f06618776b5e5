"""swiglu: its cases and its laws.

Plain cases have gates and other hidden numbers up to 6 in size, so that a bound on them shows in its corner
alone.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
#: d_model and d_ff.
WIDTHS = [(2, 3), (3, 5), (4, 2), (3, 3), (1, 4), (5, 8)]

KATA = Kata(
    "swiglu",
    track="modern",
    entry_points=("SwiGLU",),
    title="A feed-forward network with a gate",
    source="Shazeer 2020, section 2; Touvron et al. 2023, section 2.2",
    library="torch",
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=14,
    axes={"x": "batch tokens d_model"},
    hints=(
        "Write the shape of each of the four lines of the statement beside it. Two of them read x, and one "
        "of these two goes through the activation.",
        "Three nn.Linear without biases, assigned to the names of the statement. silu(z) is z times its own "
        "sigmoid; the result multiplies the other product number by number, before down_proj.",
        "forward: gate is gate_proj of x, and up is up_proj of x. Multiply gate by the sigmoid of gate, "
        "and that by up; return down_proj of it. nn.Linear works on the last axis, whatever stands in front.",
    ),
    hint_for={
        "activates_both_products": 1,
        "activates_the_result": 2,
        "gates_with_the_sigmoid": 2,
        "gives_the_layers_biases": 2,
        "names_the_layers_as_llama_does": 2,
    },
)


def network_weights(seed, d_model, d_ff, dtype):
    """All parameters, in hundredths."""
    import torch

    rng = np.random.default_rng(seed)

    def tensor(*shape):
        return torch.from_numpy((np.round(rng.standard_normal(shape) * 0.5, 2) + 0.0).astype(dtype))

    return {
        "gate_proj.weight": tensor(d_ff, d_model),
        "up_proj.weight": tensor(d_ff, d_model),
        "down_proj.weight": tensor(d_model, d_ff),
    }


def hidden_size(weights, x):
    """The largest size among the numbers of both products."""
    return max(float((x @ weights[f"{name}_proj.weight"].mT).abs().max()) for name in ("gate", "up"))


def leading_axes(draw):
    """Two axes in front, one or three, none of them long."""
    return tuple(draw(st.sampled_from([2, 3, 1])) for _ in range(draw(st.sampled_from([2, 1, 3]))))


def network_case(draw, lead=leading_axes, largest=5.5):
    """A network's numbers and weights, and an input whose largest hidden number is at most `largest`."""
    d_model, d_ff = draw(st.sampled_from(WIDTHS))
    dtype, axes = draw(st.float_dtypes()), lead(draw)
    weights = network_weights(draw(st.integers(0, 2**16)), d_model, d_ff, dtype)
    x = draw(st.tensors(st.permuted(st.normal_arrays((*axes, d_model), dtype, scale=2.0))))
    x = x * min(1.0, largest / max(hidden_size(weights, x), 0.1))
    return {"d_model": d_model, "d_ff": d_ff, "weights": weights, "x": x}


def large_case(draw):
    """A case with gates, or numbers beside them, of 15 to 45."""
    case = network_case(draw)
    return {**case, "x": case["x"] * (draw(st.integers(15, 45)) / hidden_size(case["weights"], case["x"]))}


def loaded(student, d_model, d_ff, weights):
    """A network with these weights, in evaluation mode."""
    network = expect.loads(student, student.SwiGLU(d_model, d_ff), weights)
    network.eval()
    return network


def run(network, x):
    """The network's result, once it is known to be shaped like x."""
    result = network(x)
    shape = tuple(x.shape)
    expect.true(
        getattr(result, "shape", None) == x.shape, f"The result must be a tensor shaped like x, {shape}."
    )
    return result


@KATA.cases
def cases(draw):
    kind = draw(st.sampled_from(["plain"] * 5 + ["large", "vector"]))
    if kind == "large":
        return large_case(draw)
    return network_case(draw, lead=(lambda _: ()) if kind == "vector" else leading_axes)


@KATA.example
def worked_example():
    """The example of the statement."""
    import torch

    numbers = {"gate": 2.0, "up": 3.0, "down": 1.0}
    weights = {f"{name}_proj.weight": torch.tensor([[w]]).double() for name, w in numbers.items()}
    return {"d_model": 1, "d_ff": 1, "weights": weights, "x": torch.tensor([[1.0], [-1.0]]).double()}


@KATA.example
def a_gate_of_forty():
    import torch

    weights = network_weights(3, 2, 3, "float32")
    weights["gate_proj.weight"] = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    return {"d_model": 2, "d_ff": 3, "weights": weights, "x": torch.tensor([[20.0, 1.0], [-15.0, -2.0]])}


@KATA.corner(points=0.5)
def large_gates(weights, x):
    """Large gates, and large numbers that they scale, pass as they are."""
    return hidden_size(weights, x) > 6


@KATA.observe
def observe(student, d_model, d_ff, weights, x):
    return {"result": loaded(student, d_model, d_ff, weights)(x)}


@KATA.law(points=0.5)
def test_up_and_down_are_linear(student, d_model, d_ff, weights, x):
    """Twice the weight of up_proj, or of down_proj, gives twice the result."""
    plain = run(loaded(student, d_model, d_ff, weights), x)
    for name in ("up_proj.weight", "down_proj.weight"):
        doubled = loaded(student, d_model, d_ff, {**weights, name: 2 * weights[name]})
        expect.close(run(doubled, x), 2 * plain, f"the result for twice the {name}", roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_silu_of_z_and_of_minus_z_differ_by_z(student, d_model, d_ff, weights, x):
    """With the weight of gate_proj negated, the result differs by down(gate * up)."""
    gate, up, down = (weights[f"{name}_proj.weight"].double() for name in ("gate", "up", "down"))
    wide = x.double()
    expected = ((wide @ gate.mT) * (wide @ up.mT)) @ down.mT
    negated = {**weights, "gate_proj.weight": -weights["gate_proj.weight"]}
    before, after = (run(loaded(student, d_model, d_ff, w), x) for w in (weights, negated))
    what = "the result, less the one for the negated weight of gate_proj,"
    terms = d_model + d_ff
    expect.close(before - after, expected.to(x.dtype), what, terms=terms, roundings=2 * ROUNDINGS)


@KATA.law(points=0.5)
def test_nothing_is_added(student, d_model, d_ff, weights, x):
    """A zero vector stays one, and there are 3 * d_model * d_ff parameters."""
    network = loaded(student, d_model, d_ff, weights)
    expect.equal(run(network, 0 * x), 0 * x, "the result for zeros")
    shapes = student.anatomy(network)["parameters"].values()
    expect.equal(sum(int(np.prod(p.shape)) for p in shapes), 3 * d_model * d_ff, "the number of parameters")


def several_tokens(draw):
    """At least two sequences of two tokens, so that one can change another."""
    return network_case(draw, lead=lambda draw: (draw(st.integers(2, 3)), draw(st.integers(2, 3))))


@KATA.law(points=0.5, cases=several_tokens)
def test_each_token_stands_alone(student, d_model, d_ff, weights, x):
    """A token's vector by itself gives what it gives among others."""
    network = loaded(student, d_model, d_ff, weights)
    together, alone = run(network, x)[0, -1], run(network, x[0, -1])
    what = "the result of the last token of the first sequence by itself"
    expect.close(alone, together, what, terms=d_model + d_ff, roundings=ROUNDINGS)
