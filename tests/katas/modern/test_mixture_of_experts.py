"""mixture_of_experts: its cases and its laws.

No drawn token has logits that lie close together at the border of its top_k.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 6

KATA = Kata(
    "mixture_of_experts",
    track="modern",
    entry_points=("MixtureOfExperts",),
    title="Each token to its own experts",
    source="Shazeer et al. 2017, section 2.1; Jiang et al. 2024, section 2.1; Fedus et al. 2022, section 2.2",
    library="torch",
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=7,
    axes={"x": "batch tokens d_model"},
    hints=(
        "Take the tokens as rows, [B * T, d_model]. topk gives logits and their places in one call. Which "
        "rows does expert e need, and where do its results go?",
        "Take the tokens as rows, N = B * T, and go through the experts: which rows chose this one, and "
        "as which of their choices? Three tokens, top_k 2:\n\n"
        "    chosen     [[0, 2],         expert 2:   row 0, slot 1\n"
        "                [1, 0],                     row 2, slot 0\n"
        "                [2, 1]]\n\n"
        "torch.where gives both lists for a mask [N, top_k]. Run the expert on these rows alone, multiply "
        "each result by the weight of the same row and slot, and add it to its row of the output. The "
        "loss needs counts of the choices and the mean of a softmax over all logits. Which of these two "
        "has a gradient?",
        "Refuse a wrong top_k in the constructor. forward, with N = B * T:\n\n"
        "    tokens     x as [N, d_model]\n"
        "    logits     router of tokens                     [N, num_experts]\n"
        "    topk       gives logits and places              [N, top_k] each\n"
        "    weights    softmax of these top_k logits alone  [N, top_k]\n"
        "    output     zeros like tokens; then for each expert\n"
        "                 the rows and slots where it was chosen\n"
        "                 the expert of these rows, times their weights as a column\n"
        "                 index_add of that to the output, along axis 0\n"
        "    f          bincount of all places (minlength num_experts), as floats,\n"
        "               over N * top_k                       [num_experts]\n"
        "    P          softmax of all logits, mean over the tokens\n\n"
        "Return the output in x's shape, and num_experts times the sum of f * P. An expert without tokens "
        "may be run on no rows.",
    ),
)


def mixture_weights(seed, d_model, d_ff, num_experts, dtype):
    """All parameters, in hundredths."""
    import torch

    rng = np.random.default_rng(seed)

    def tensor(*shape, scale=0.6):
        return torch.from_numpy((np.round(rng.standard_normal(shape) * scale, 2) + 0.0).astype(dtype))

    weights = {"router.weight": tensor(num_experts, d_model, scale=1.0)}
    for e in range(num_experts):
        for name, rows, columns in (("0", d_ff, d_model), ("2", d_model, d_ff)):
            weights[f"experts.{e}.{name}.weight"] = tensor(rows, columns)
            weights[f"experts.{e}.{name}.bias"] = tensor(rows)
    return weights


def are_apart(router, x, top_k):
    """Whether every token's logits leave a gap at the border of its top_k, and stay below 20."""
    logits = (x.double() @ router.double().mT).sort(dim=-1, descending=True).values
    gaps = logits[..., top_k - 1 : top_k] - logits[..., top_k : top_k + 1]
    clear = top_k == logits.shape[-1] or float(gaps.min()) > 0.02
    return clear and float(logits.abs().max()) < 19


def token_rows(draw, batch, tokens, d_model, dtype):
    """Rows of hundredths, in any order of axes in memory."""
    wide = st.normal_arrays((batch, tokens, d_model), dtype)
    return draw(st.tensors(st.permuted(wide.map(lambda drawn: np.round(drawn, 2) + 0.0))))


def mixture_case(draw, sizes=((3, 2), (4, 2), (2, 1), (4, 1), (4, 3), (2, 2), (1, 1))):
    """A mixture's numbers and weights, and an input for it; `sizes` are pairs of num_experts and top_k."""
    from hypothesis import assume

    num_experts, top_k = draw(st.sampled_from(sizes))
    d_model, d_ff, dtype = draw(st.integers(2, 4)), draw(st.integers(1, 5)), draw(st.float_dtypes())
    weights = mixture_weights(draw(st.integers(0, 2**16)), d_model, d_ff, num_experts, dtype)
    batch, tokens = draw(st.sampled_from([2, 3, 1])), draw(st.sampled_from([3, 2, 4, 1]))
    x = token_rows(draw, batch, tokens, d_model, dtype)
    assume(are_apart(weights["router.weight"], x, top_k))
    sizes = {"d_model": d_model, "d_ff": d_ff, "num_experts": num_experts, "top_k": top_k}
    return {**sizes, "weights": weights, "x": x}


def loaded(student, d_model, d_ff, num_experts, top_k, weights):
    """A mixture with these weights, in evaluation mode."""
    mixture = student.MixtureOfExperts(d_model, d_ff, num_experts, top_k)
    expect.loads(student, mixture, weights)
    mixture.eval()
    return mixture


def run(mixture, x):
    """The output and the loss, once they are known to be a pair of tensors of the due shapes."""
    result = mixture(x)
    pair = isinstance(result, tuple | list) and len(result) == 2
    expect.true(pair, "The result must be a pair of the output and the loss.")
    output, loss = result
    shape = tuple(x.shape)
    expect.true(
        getattr(output, "shape", None) == x.shape, f"The output must be a tensor shaped like x, {shape}."
    )
    expect.true(getattr(loss, "shape", None) == (), "The loss must be a tensor without axes.")
    return output, loss


@KATA.cases
def cases(draw):
    return mixture_case(draw)


@KATA.example
def worked_example():
    """The example of the statement: experts that give 10, 20 and 30."""
    import torch

    weights = {"router.weight": torch.tensor([[2.0], [1.0], [0.0]]).double()}
    for e in range(3):
        weights[f"experts.{e}.0.weight"] = torch.ones(1, 1).double()
        weights[f"experts.{e}.2.weight"] = torch.full((1, 1), 10.0 * (e + 1)).double()
        weights |= {f"experts.{e}.{name}.bias": torch.zeros(1).double() for name in "02"}
    sizes = {"d_model": 1, "d_ff": 1, "num_experts": 3, "top_k": 2}
    return {**sizes, "weights": weights, "x": torch.ones(1, 1, 1).double()}


@KATA.example
def an_expert_for_almost_all():
    """Six of seven tokens choose the first of four experts, and one expert has no token."""
    import torch

    weights = mixture_weights(5, 2, 3, 4, "float32")
    weights["router.weight"] = torch.tensor([[2.0, 0.0], [0.5, 0.25], [-1.0, 0.25], [0.25, -0.5]])
    x = torch.tensor(
        [[[1.0, 0.5], [2.0, 1.0], [1.5, -1.0], [0.5, 0.25], [3.0, 2.0], [1.0, 1.0], [-1.0, 1.0]]]
    )
    return {"d_model": 2, "d_ff": 3, "num_experts": 4, "top_k": 1, "weights": weights, "x": x}


def seeded_case(seed, num_experts, top_k):
    """A pinned case in float64, two sequences of three tokens."""
    import torch

    weights = mixture_weights(seed, 3, 4, num_experts, "float64")
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, 3, 3)).round(2))
    sizes = {"d_model": 3, "d_ff": 4, "num_experts": num_experts, "top_k": top_k}
    return {**sizes, "weights": weights, "x": x}


@KATA.example
def two_of_four_experts():
    return seeded_case(0, 4, 2)


@KATA.example
def one_of_three_experts():
    return seeded_case(1, 3, 1)


@KATA.observe
def observe(student, d_model, d_ff, num_experts, top_k, weights, x):
    result = loaded(student, d_model, d_ff, num_experts, top_k, weights)(x)
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return {"result": result}
    return {"output": result[0], "loss": result[1]}


def shuffled_cases(draw):
    case = mixture_case(draw)
    count = case["x"].shape[0] * case["x"].shape[1]
    return {**case, "order": draw(st.permutations(range(count)))}


@KATA.law(points=0.5, cases=shuffled_cases)
def test_the_order_of_tokens_does_not_matter(student, d_model, d_ff, num_experts, top_k, weights, x, order):
    """Tokens in another order give the same outputs in that order, and the same loss."""
    mixture = loaded(student, d_model, d_ff, num_experts, top_k, weights)
    (output, loss), rows = run(mixture, x), x.reshape(-1, d_model)
    shuffled, again = run(mixture, rows[order].reshape(x.shape))
    expected = output.reshape(-1, d_model)[order].reshape(x.shape)
    terms = d_model + d_ff
    what = f"the output for the tokens in the order {order}"
    expect.close(shuffled, expected, what, terms=terms, roundings=ROUNDINGS)
    expect.close(again, loss, f"the loss for the tokens in the order {order}", roundings=2 * ROUNDINGS)


@KATA.law(points=0.5)
def test_equal_experts_and_an_even_router(student, d_model, d_ff, num_experts, top_k, weights, x):
    """Where all experts are equal, the output is that of one; where the router is zero, the loss is 1."""
    import torch

    first = {name.split(".", 2)[2]: w for name, w in weights.items() if name.startswith("experts.0.")}
    equal = {n: w if n == "router.weight" else first[n.split(".", 2)[2]] for n, w in weights.items()}
    output, _ = run(loaded(student, d_model, d_ff, num_experts, top_k, equal), x)
    what, terms = "the output of equal experts", d_model + d_ff
    expect.close(output, expert_of(weights, 0, x), what, terms=terms, roundings=ROUNDINGS)
    even = {**weights, "router.weight": 0 * weights["router.weight"]}
    _, loss = run(loaded(student, d_model, d_ff, num_experts, top_k, even), x)
    expect.close(loss, torch.ones((), dtype=x.dtype), "the loss for a router of zeros", roundings=ROUNDINGS)


def expert_of(weights, e, x):
    """What expert `e` gives for x."""
    hidden = x @ weights[f"experts.{e}.0.weight"].mT + weights[f"experts.{e}.0.bias"]
    return hidden.clamp(min=0) @ weights[f"experts.{e}.2.weight"].mT + weights[f"experts.{e}.2.bias"]


def with_an_idle_expert(draw):
    """Cases in which one expert is last for every token, since the tokens' first feature is 1."""
    from hypothesis import assume

    case = mixture_case(draw, sizes=((3, 2), (4, 2), (2, 1), (4, 3)))
    x, router = case["x"].clone(), case["weights"]["router.weight"].clone()
    idle = draw(st.integers(0, case["num_experts"] - 1))
    x[..., 0], router[idle, 0] = 1, -12
    assume(are_apart(router, x, case["top_k"]))
    logits = x @ router.mT
    assume(bool((logits.argmin(dim=-1) == idle).all()))
    return {**case, "x": x, "weights": {**case["weights"], "router.weight": router}, "idle": idle}


@KATA.law(points=0.5, cases=with_an_idle_expert)
def test_chosen_experts_alone_are_mixed(student, d_model, d_ff, num_experts, top_k, weights, x, idle):
    """An expert that no token chose may change without effect; with top_k = num_experts all are mixed."""
    terms = num_experts * (d_model + d_ff)
    before, _ = run(loaded(student, d_model, d_ff, num_experts, top_k, weights), x)
    other = {n: w + 1 if n.startswith(f"experts.{idle}.") else w for n, w in weights.items()}
    after, _ = run(loaded(student, d_model, d_ff, num_experts, top_k, other), x)
    what = f"the output after expert {idle}, which no token chose, changed"
    expect.close(after, before, what, terms=terms, roundings=ROUNDINGS)
    output, _ = run(loaded(student, d_model, d_ff, num_experts, num_experts, weights), x)
    shares = (x @ weights["router.weight"].mT).softmax(dim=-1)
    mixed = sum(shares[..., e : e + 1] * expert_of(weights, e, x) for e in range(num_experts))
    what = "the output for top_k = num_experts"
    expect.close(output, mixed, what, terms=terms, roundings=2 * ROUNDINGS)


@KATA.law(points=0.5, purpose=True)
def test_work_grows_with_top_k(student):
    """A token costs what its top_k experts cost; the others do not run on it."""
    import torch

    weights = mixture_weights(11, 16, 256, 8, "float32")
    mixture = loaded(student, 16, 256, 8, 2, weights)
    x = torch.randn(1, 8, 16, generator=torch.Generator().manual_seed(3))
    with student.counting_flops() as work:
        output, _ = run(mixture, x)
    top, best = (x @ weights["router.weight"].mT).topk(2, dim=-1)
    shares = top.softmax(dim=-1)
    due = sum((shares * (best == e)).sum(-1, keepdim=True) * expert_of(weights, e, x) for e in range(8))
    expect.close(output, due, "the output of 8 experts", terms=256 + 16, roundings=ROUNDINGS)
    chosen = 2 * 8 * 2 * 16 * 256 * 2
    expect.true(
        work.flops <= 2 * chosen,
        f"With 8 experts of d_ff 256, top_k 2 and 8 tokens the products of the chosen take {chosen:,} "
        f"operations, and a call takes at most twice that; it takes {work.flops:,}.",
    )


def wrong_numbers(draw):
    num_experts = draw(st.integers(1, 4))
    return {"num_experts": num_experts, "top_k": draw(st.sampled_from([0, num_experts + 1, -1]))}


@KATA.law(points=0.5, cases=wrong_numbers)
def test_refuses_a_wrong_top_k(student, num_experts, top_k):
    """A top_k below 1 or above num_experts raises a ValueError in the constructor."""
    why = f"top_k={top_k} is not between 1 and num_experts={num_experts}"
    expect.refuses(student.MixtureOfExperts, 2, 3, num_experts, top_k, why=why)
