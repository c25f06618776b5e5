"""top_p: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "top_p",
    track="generation",
    entry_points=("top_p_filter",),
    title="The nucleus: the smallest set with enough mass",
    source="Holtzman et al. 2020, section 3.1",
    library="torch",
    axes={"logits": "batch beams vocab"},
    bank_size=48,
    hints=(
        "Go down the tokens from the most likely and add up their probabilities. For one token, which sum "
        "decides whether it is still needed: the one with it, or the one before it?",
        "Sorting moves the tokens, so remember where each came from (torch.sort returns that too) and "
        "carry the verdicts back by it, not the logits. For p = 0.7:\n\n"
        "    token             2      0      1       sorted downwards\n"
        "    probability      0.5    0.3    0.2\n"
        "    mass before it   0      0.5    0.8\n"
        "    dropped          no     no     yes      0.8 is at least p\n\n"
        "Token 0 takes the mass past p, and belongs to the nucleus. Two cases need no sum: p of 1 or "
        "more, and the first token of each row.",
        "Refuse p <= 0; return everything for p >= 1. Then for each row:\n\n"
        "    1   sort the logits downwards; keep the order, too     [..., V] each\n"
        "    2   softmax of the sorted logits, and its cumulative sum\n"
        "    3   minus each token's own probability: the mass before it\n"
        "    4   the verdict, in sorted order: dropped where that is at least p\n"
        "    5   scatter the verdicts to the places the sort took the tokens from\n"
        "    6   fill -inf there, in a copy of the logits\n\n"
        "Step 5 for the example of hint 2: the order is [2, 0, 1], the verdicts are no, no, yes, so "
        "column 1 is dropped. Gathering by the order instead, or sorting again, is right for two tokens "
        "and wrong for three that change places in a circle.",
    ),
    hint_for={
        "drops_the_crossing_token": 1,
        "keeps_one_token_too_many": 1,
        "leaves_the_logits_sorted": 2,
        "leaves_the_verdicts_sorted": 2,
        "leaves_sure_rows_empty": 2,
    },
)

STEP = 0.02  # a step of the cumulative mass that is wide enough to place p half-way up
GAP = 0.01  # logits nearer than this count as tied
FAR = 80  # beyond it, exp leaves the range of float32
WHOLE = 50_257  # tokens of GPT-2
MANY = 300  # tokens of a large vocabulary; small enough for a comparison of all pairs


@KATA.cases
def cases(draw):
    """Logits with any leading axes, and a p that no row of them leaves in doubt."""
    logits, masses = clear_logits(draw, draw(st.sampled_from(["plain", "plain", "axes", "far"])))
    return {"logits": as_tensor(draw, logits), "p": draw(st.sampled_from(masses))}


def clear_logits(draw, kind="plain"):
    """Logits, and every p below 1 that no row of them leaves in doubt; there is at least one."""
    masses = []
    while not masses:
        logits = draw_logits(draw, kind)
        masses = clear_masses(logits)
    return logits, masses


def draw_logits(draw, kind="plain"):
    """Rows of moderate logits, some -inf; or with other axes, or of another size. The largest of each row
    stays finite."""
    rows, vocab = draw(st.integers(1, 3)), draw(st.sampled_from([5, 6, 4, 8, 3, 2, 1]))
    dtype = draw(st.float_dtypes())
    lead = draw(st.sampled_from([(), (2, rows), (rows, 1), (2, 2, rows)])) if kind == "axes" else (rows,)
    levels = [(1.0, 10_000), (2.0, -10_000), (1e4, 0)] if kind == "far" else [(1.0, 0), (1.0, 0), (4.0, 0)]
    scale, level = draw(st.sampled_from(levels))
    shape = (*lead, vocab)
    logits = draw(st.arrays(shape, dtype, scale)) + np.asarray(level, dtype)
    if (np.diff(logits, axis=-1) <= 0).all():
        logits = logits[..., ::-1]  # in rows that are sorted already, sorted verdicts are right
    if draw(st.integers(0, 2)) == 0:
        column = draw(st.integers(0, shape[-1] - 1))
        hidden = np.arange(shape[-1]) == column
        logits = np.where(hidden & (logits < logits.max(axis=-1, keepdims=True)), -np.inf, logits)
    return logits.astype(dtype)


@KATA.corner(points=0.5)
def any_size_and_any_axes(logits):
    """Logits of any size, with any leading axes or none, have their nuclei."""
    return logits.ndim != 2 or bool(logits[~logits.isneginf()].abs().max() > FAR)


def as_tensor(draw, logits):
    """As a tensor, its memory in any order of axes."""
    return draw(st.tensors(st.permuted(st.just(logits))))


def clear_masses(logits):
    """Every p half-way up a step that all rows agree is one: far from each cumulative mass, in no tie."""
    rows = -np.sort(-logits.astype(np.float64).reshape(-1, logits.shape[-1]))
    powers = np.exp(rows - rows[:, :1])
    reached = np.cumsum(powers, axis=-1) / powers.sum(axis=-1, keepdims=True)
    edges = np.unique(np.clip([0.0, 1.0, *reached.ravel()], 0, 1))
    halves = (edges[1:] + edges[:-1])[np.diff(edges) > STEP] / 2
    found = [round(float(p), 2) for p in halves if not cuts_a_tie(rows, reached, p)]
    return [1e-6, *found] if found and not cuts_a_tie(rows, reached, 1e-6) else found


def cuts_a_tie(rows, reached, p):
    """Whether, in some row, the last token of the nucleus is as likely as the first one outside it."""
    last = (reached < p).sum(axis=-1)
    after = np.minimum(last + 1, rows.shape[-1] - 1)
    at = np.arange(len(rows))
    return bool(((after > last) & (rows[at, last] - rows[at, after] < GAP)).any())


def four_tokens():
    """Logits whose order is no order of the tokens."""
    import torch

    return torch.tensor([1.0, 3.0, 0.0, 2.0])


@KATA.example
def first_of_four_tokens():
    """The example of the statement; one token is enough."""
    return {"logits": four_tokens(), "p": 0.5}


@KATA.example
def two_of_four_tokens():
    """The example of the statement; the second token crosses p."""
    return {"logits": four_tokens(), "p": 0.8}


@KATA.example
def one_row_sure_and_one_not():
    """Three rows of different nuclei; two of their tokens tie inside one, two outside another."""
    import torch

    rows = [[0.0, 0.0, -1.0, -9.0], [-2.0, 5.0, -2.0, 0.0], [0.0, -0.5, 0.5, 1.0]]
    return {"logits": torch.tensor(rows), "p": 0.7}


@KATA.example
def nearly_everything():
    """A p close to 1 still drops what comes after it."""
    import torch

    return {"logits": torch.tensor([0.95, 0.048, 0.0004, 0.0016], dtype=torch.float64).log(), "p": 0.9995}


@KATA.example
def just_below_a_sum():
    """Two tokens reach p by the ninth digit, which float32 does not hold."""
    import torch

    return {"logits": torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log(), "p": 0.8 - 1e-9}


@KATA.example
def just_above_a_sum():
    """Two tokens fall short of p by the ninth digit."""
    import torch

    return {"logits": torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log(), "p": 0.8 + 1e-9}


@KATA.example
def nearly_nothing():
    """The smallest nucleus has one token: 1 - p is 1 here, and no mass is above it."""
    import torch

    return {"logits": torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, -1.0]]), "p": 1e-9}


@KATA.example
def tokens_behind_a_sum_above_one():
    """The rounded sum of the probabilities passes 1 long before the last token."""
    import torch

    return {"logits": -torch.arange(40, dtype=torch.float32), "p": 1.0}


@KATA.example
def flatter_tokens_behind_a_sum_above_one():
    """The rounded sum passes 1 long before the last token, and likely tokens are less likely than above."""
    import torch

    return {"logits": -0.75 * torch.arange(40, dtype=torch.float32), "p": 1.0}


def filtered(student, logits, p):
    """The result, once it is known to be a tensor of the right shape."""
    result = student.top_p_filter(logits, p)
    shape = tuple(getattr(result, "shape", ()))
    expect.true(
        hasattr(result, "isneginf") and shape == tuple(logits.shape),
        "The result must be a tensor like logits.",
    )
    return result


def nuclei(student, logits, p):
    """Each row's probabilities and which tokens were kept, as arrays of rows."""
    kept = ~filtered(student, logits, p).isneginf()
    rows, vocab = logits.double().reshape(-1, logits.shape[-1]), logits.shape[-1]
    return rows.softmax(dim=-1).numpy(), kept.reshape(-1, vocab).numpy()


def whole_vocabulary(seed):
    """Logits for the 50,257 tokens of GPT-2, in float32."""
    import torch

    return torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (1, WHOLE)).astype(np.float32))


@KATA.law(points=0.5)
def test_kept_logits_are_unchanged(student, logits, p):
    """Every logit is either unchanged, to the bit, or -inf."""
    result = filtered(student, logits, p)
    expected = logits.masked_fill(result.isneginf(), float("-inf"))
    expect.equal(result, expected, "a logit that is not dropped")


def any_vocabularies(draw):
    """The kata's plain cases, and now and then a seed for a whole vocabulary."""
    logits, masses = clear_logits(draw)
    whole = draw(st.sampled_from([None] * 9 + [1]))
    p = draw(st.sampled_from(masses if whole is None else [0.5, 0.9, 0.99]))
    return {"logits": as_tensor(draw, logits), "p": p, "whole": whole}


@KATA.law(points=0.5, cases=any_vocabularies)
def test_nucleus_reaches_p(student, logits, p, whole):
    """The tokens kept in each row hold a mass of at least p, of four tokens as of 50,257."""
    slack = 1e-6
    if whole is not None:
        logits, slack = whole_vocabulary(whole), 1e-3  # sums of 50,257 numbers in float32
    probabilities, kept = nuclei(student, logits, p)
    for row, mass in enumerate((probabilities * kept).sum(axis=-1)):
        expect.true(
            mass >= p - slack,
            f"The tokens kept in a row hold at least p={p:g} of its mass; in row {row} they hold {mass:.4f}.",
        )


@KATA.law(points=0.5)
def test_nucleus_is_minimal(student, logits, p):
    """Without its least likely token each nucleus falls short of p."""
    if p >= 1:
        return
    probabilities, kept = nuclei(student, logits, p)
    for row, (shares, chosen) in enumerate(zip(probabilities, kept, strict=True)):
        without = shares[chosen].sum() - shares[chosen].min(initial=1.0)
        expect.true(
            without < p + 1e-6,
            f"A nucleus is the smallest set that reaches p={p:g}; row {row} keeps {chosen.sum()} tokens, and "
            f"all but the least likely of them hold {without:.4f}.",
        )


def shuffled(draw):
    """Logits, a clear p, and an order to put the vocabulary in."""
    logits, masses = clear_logits(draw)
    return {
        "logits": as_tensor(draw, logits),
        "p": draw(st.sampled_from(masses)),
        "order": list(draw(st.permutations(range(logits.shape[-1])))),
    }


@KATA.law(points=0.5, cases=shuffled)
def test_tokens_keep_their_places(student, logits, p, order):
    """Reordering the vocabulary reorders the result, and changes nothing else."""
    expected = filtered(student, logits, p)[..., order]
    what = f"the result for the tokens in the order {order}"
    expect.close(filtered(student, logits[..., order], p), expected, what, roundings=4)


@KATA.law(points=0.5)
def test_only_differences_count(student, logits, p):
    """Adding one number to all logits changes no nucleus."""
    before = filtered(student, logits, p).isneginf()
    for shift in (-64.0, 16.0):
        after = filtered(student, logits + shift, p).isneginf()
        expect.equal(after, before, f"which tokens are -inf, after {shift:g} is added to all logits,")


@KATA.law(points=0.5)
def test_rows_are_independent(student, logits, p):
    """Each row is filtered as if it stood alone."""
    rows = logits.reshape(-1, logits.shape[-1])
    results = filtered(student, logits, p).reshape(rows.shape)
    for index, result in enumerate(results):
        alone = filtered(student, rows[index : index + 1], p)[0]
        expect.equal(result, alone, f"row {index} among {len(rows)}, against itself alone,")


def two_masses(draw):
    """Logits with two clear masses, the smaller first."""
    logits, masses = clear_logits(draw)
    smaller, larger = sorted([draw(st.sampled_from(masses)), draw(st.sampled_from(masses))])
    return {"logits": as_tensor(draw, logits), "smaller": smaller, "larger": larger}


@KATA.law(points=0.5, cases=two_masses)
def test_larger_p_keeps_more(student, logits, smaller, larger):
    """What a smaller p keeps, a larger p keeps too."""
    few = ~filtered(student, logits, smaller).isneginf()
    many = ~filtered(student, logits, larger).isneginf()
    expect.true(not (few & ~many).any(), f"What p={smaller:g} keeps, p={larger:g} must keep too.")


def long_tails(draw):
    """Logits that are many, or of which some are so unlikely that their probability is rounded away."""
    logits = draw_logits(draw)
    if draw(st.booleans()):
        logits = draw(st.normal_arrays((1, MANY), logits.dtype.name))
    fall = draw(st.sampled_from([0.0, 20.0, 60.0, 900.0]))
    logits = logits - np.asarray(fall, logits.dtype) * np.arange(logits.shape[-1], dtype=logits.dtype)
    p, whole = draw(st.sampled_from([1.0, 1.0, 1.5, 2.0])), draw(st.sampled_from([None] * 9 + [2]))
    return {"logits": as_tensor(draw, logits), "p": p, "whole": whole}


@KATA.law(points=0.5, cases=long_tails)
def test_p_of_one_keeps_everything(student, logits, p, whole):
    """p of 1 or more keeps every token, however unlikely, and no call changes an earlier result."""
    logits = logits if whole is None else whole_vocabulary(whole)
    with student.holding_results() as held:
        expect.equal(student.top_p_filter(logits, p), logits, f"the result for p={p:g}")
        student.top_p_filter(logits + 1, p)
    expect.true(
        not held.overwritten, f"No call may change an earlier result; with p={p:g} the second one did."
    )


def no_mass(draw):
    """Logits, and a p that no nucleus can be asked for."""
    return {"logits": as_tensor(draw, draw_logits(draw)), "p": draw(st.sampled_from([0.0, -0.25, -1.0]))}


@KATA.law(points=0.5, cases=no_mass)
def test_refuses_p_of_zero(student, logits, p):
    """p of 0 or less is refused with a ValueError."""
    expect.refuses(student.top_p_filter, logits, p, why=f"p={p:g} asks for a nucleus with no mass")
