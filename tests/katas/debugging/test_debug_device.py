"""debug_device: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Kata

KATA = Kata(
    "debug_device",
    track="debugging",
    entry_points=("CausalAttention",),
    title="Left behind on the CPU",
    source="PyTorch documentation, torch.nn.Module.register_buffer; Vaswani et al. 2017, section 3.2",
    library="torch",
    ships_wrong_code="157cf89d24d6",
    roundings=4,
    bank_size=17,
    axes={"x": "batch tokens d_model", "future": "batch tokens d_model"},
    hints=(
        "List every tensor that takes part in forward, and ask of each: who made it, and where? Those "
        "that come out of x and of the layers are where x is. How many are left?",
        "Two are left. One was made once, in the constructor: does `module.to(...)` know of it? The other is "
        "made anew in every call: how should it know where x is?",
        "In the constructor, hand the triangle to register_buffer instead of assigning it. In forward, "
        "tell torch.zeros the device of x, and its dtype with it; or fill the scores themselves, and "
        "save the second mask.",
    ),
)

#: Plain attributes of a module or its parts that are arrays, or hold some. A scalar is welcome on any device.
PROBE = """
import torch
from torch import nn

def holds_arrays(value):
    if isinstance(value, dict):
        return any(map(holds_arrays, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_arrays, value))
    return isinstance(value, torch.Tensor) and value.ndim > 0

def left_behind(module):
    return [
        f"{path}.{name}" if path else name
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in vars(nn.Module()) and holds_arrays(value)
    ]
"""


def token_rows(draw, batch, tokens, d_model, dtype):
    """Small readable numbers or normal ones, in any order of axes in memory."""
    return draw(st.tensors(st.permuted(st.arrays((batch, tokens, d_model), dtype))))


def attention_case(draw, *, shortest=1, loudnesses=(1.0,)):
    """A module's numbers and weights, and an input for it; every third one fills the triangle. Loud weights
    make scores in the hundreds."""
    import torch

    d_model, dtype = draw(st.integers(1, 5)), draw(st.float_dtypes())
    tokens = draw(st.sampled_from([length for length in (3, 2, 4, 5, 1) if length >= shortest]))
    loud = draw(st.sampled_from(loudnesses))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def tensor(*shape, scale=1.0):
        return torch.from_numpy((np.round(rng.standard_normal(shape) * scale, 2) + 0.0).astype(dtype))

    weights = {}
    for name in "qkv":
        weight = tensor(d_model, d_model, scale=loud if name == "q" else 1.0)
        weights |= {f"{name}.weight": weight, f"{name}.bias": tensor(d_model)}
    return {
        "d_model": d_model,
        "max_len": tokens + draw(st.sampled_from([1, 0, 3])),
        "weights": weights,
        "x": token_rows(draw, draw(st.sampled_from([2, 1, 3])), tokens, d_model, dtype),
    }


def loaded(student, d_model, max_len, weights):
    """A module with these weights."""
    return expect.loads(student, student.CausalAttention(d_model, max_len), weights)


@KATA.cases
def cases(draw):
    return attention_case(draw, loudnesses=(1.0, 1.0, 1.0, 100.0))


@KATA.corner(points=0.5)
def scores_in_the_hundreds(weights, x):
    """Scores beyond what exp can take give finite results, and hidden keys nothing."""
    x, w = x.double(), {name: weight.double() for name, weight in weights.items()}
    q, k = (x @ w[f"{name}.weight"].T + w[f"{name}.bias"] for name in "qk")
    return bool(q.norm(dim=-1).max() * k.norm(dim=-1).max() / x.shape[-1] ** 0.5 > 60)


@KATA.example
def worked_example():
    """The example of the statement."""
    import torch

    eye, zeros = torch.eye(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    weights = {f"{name}.weight": eye for name in "qkv"} | {f"{name}.bias": zeros for name in "qkv"}
    return {"d_model": 2, "max_len": 4, "weights": weights, "x": eye[None].clone()}


@KATA.example
def scores_far_below_zero():
    """Integers whose scores lie around -1e5, where a hidden score must lie lower still."""
    import torch

    eye, zeros = torch.eye(2), torch.zeros(2)
    weights = {"q.weight": 300 * eye, "k.weight": -300 * eye, "v.weight": eye}
    weights |= {f"{name}.bias": zeros for name in "qkv"}
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]])
    return {"d_model": 2, "max_len": 4, "weights": weights, "x": x}


@KATA.observe
def observe(student, d_model, max_len, weights, x):
    return {"result": loaded(student, d_model, max_len, weights)(x)}


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would show no more."""
    return attention_case(draw)


@KATA.law(points=1.5, cases=fresh_cases)
def test_runs_where_module_and_input_are(student, d_model, max_len, weights, x):
    """With the module and x on another device, every step is there, and so is the result."""
    module = loaded(student, d_model, max_len, weights)
    plain, met = module(x), None
    with student.pretending_device() as life:
        try:
            there = module(x)
        except SubmissionFailed as failure:
            met = failure
    if met and not met.met_the_cpu:
        raise ExpectationFailed(f"With module and x on another device than the CPU, the code raises {met}.")
    line = f" (line {met.line})" if met and met.line else ""
    expect.true(met is None, f"A tensor on the CPU meets one on the device of module and x{line}.")
    away = "cpu" not in life.devices
    expect.true(away, "Module and x are on another device than the CPU, and so is the result.")
    what = "the result on another device, against the one on the CPU,"
    expect.close(there, plain, what, terms=3 * d_model, roundings=4)
    by_the_cpu = f"A tensor is copied to the CPU in line {life.detour}, and its result is copied back."
    expect.true(not life.detour, by_the_cpu)


@KATA.law(points=1, cases=fresh_cases)
def test_what_the_module_keeps_moves_with_it(student, d_model, max_len, weights):
    """No tensor of the module is a plain attribute, which `.to(...)` would leave where it was made."""
    module = loaded(student, d_model, max_len, weights)
    left = student.build(PROBE, "left_behind", module)
    named = ", ".join(f"`{name}`" for name in left)
    expect.true(not left, f"A plain attribute is not moved with the module; {named} is one.")


@KATA.law(points=0.5, cases=fresh_cases)
def test_runs_in_bfloat16(student, d_model, max_len, weights, x):
    """A module and an x of bfloat16 give a result of bfloat16."""
    module = loaded(student, d_model, max_len, weights)
    module.bfloat16()
    dtype = str(getattr(module(x.bfloat16()), "dtype", None)).removeprefix("torch.")
    expect.true(dtype == "bfloat16", f"The result is bfloat16, as module and x are; it is {dtype}.")


def with_another_future(draw):
    case = attention_case(draw, shortest=2)
    batch, tokens, d_model = case["x"].shape
    cut = draw(st.integers(1, tokens - 1))
    dtype = str(case["x"].dtype).removeprefix("torch.")
    return {**case, "cut": cut, "future": token_rows(draw, batch, tokens - cut, d_model, dtype)}


@KATA.law(points=1, cases=with_another_future)
def test_later_tokens_change_nothing_earlier(student, d_model, max_len, weights, x, cut, future):
    """Changing later tokens changes no earlier token's result."""
    import torch

    module = loaded(student, d_model, max_len, weights)
    before, after = module(x), module(torch.cat([x[:, :cut], future], dim=1))
    for result in (before, after):
        expect.true(
            getattr(result, "shape", None) == x.shape, f"The result must be shaped like x, {tuple(x.shape)}."
        )
    what = f"the result ahead of token {cut}, after the tokens from there on changed,"
    expect.close(after[:, :cut], before[:, :cut], what, terms=3 * d_model, roundings=4)
