"""temperature_sampling: its cases and its laws.

The draws of a submission are its own, so what is compared with the reference are draws whose outcome is
certain; the distribution is a matter of the laws, which count.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "temperature_sampling",
    track="generation",
    entry_points=("sample",),
    title="Draw the next token, boldly or carefully",
    source="Ackley et al. 1985, section 2; Holtzman et al. 2020, section 3.3",
    library="torch",
    axes={"logits": "batch vocab"},
    bank_size=24,
    hints=(
        "Three kinds of temperature, three ways: below 0, exactly 0, above. For the third, what exactly is "
        "divided: logits or probabilities?",
        "PyTorch can draw from rows of probabilities, and takes the generator as it is; its softmax does not "
        "overflow. What shape does the drawing function return, and what does squeeze do to a batch of "
        "one?",
        "Refuse a negative temperature; for 0 return the argmax along the vocabulary. Else divide the "
        "logits, take the softmax along the last axis, draw one sample from each row with multinomial, "
        "handing on the generator, and take off the last axis of its [B, 1].",
    ),
    hint_for={
        "accepts_a_negative_temperature": 1,
        "takes_a_negative_temperature_for_greedy": 1,
        "divides_by_zero": 1,
        "refuses_zero": 1,
        "squeezes_a_single_row_away": 2,
        "returns_a_column": 2,
        "ignores_the_generator": 2,
    },
)

#: Generators cannot be sent: they are made where the submission runs. PyTorch's own is seeded too, so that
#: the same submission meets the same fate in every run.
GENERATORS = """
import torch

def seeded(seed):
    return torch.Generator(device=device).manual_seed(seed)

def seed_the_own(seed):
    # torch.manual_seed keeps a stack of calls each time, in case a GPU is used later
    torch.default_generator.manual_seed(seed)
    if str(device) != "cpu":
        torch.cuda.manual_seed(seed)
"""

CERTAIN = 50.0  # a logit that leads by so much, after the division, is drawn but for a chance below 1e-20
ROWS = 8_000  # drawn in one call, where draws are counted
MANY = 64  # rows whose draws cannot all coincide
WHOLE = 50_257  # tokens of GPT-2

# Two statistics, each beyond its threshold by chance with a probability below 4 exp(-32) = 5.1e-14:
# - of n independent draws, each a hit with probability p, a share q are hits: n * KL(q || p) exceeds x with a
#   probability below 2 exp(-x), for every n and p (Chernoff);
# - of n rows drawn alike, a share a of the n/2 neighbours agree, and a share u of all pairs: each is farther
#   than t from its mean, which is one and the same, with a probability below 2 exp(-n t^2) (Hoeffding 1963,
#   for sums and for U-statistics), so |a - u| exceeds 2t with a probability below 4 exp(-n t^2).
# A grading makes at most 18 counts (3 rows of 6 tokens) in each of 12 cases of the one law, two in each of
# the other, and one of a whole vocabulary: 241 in all, so a false alarm less than once in 8e10 submissions.
SURPRISE = 32.0


@KATA.cases
def cases(draw):
    """Logits of which one leads so far that its token must be drawn, at any temperature."""
    dtype = draw(st.float_dtypes())
    batch, vocab = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["plain", "plain", "zero", "extreme", "one row"]))
    temperature = draw(st.sampled_from(TEMPERATURES.get(kind, [20.0, 0.05, 3, 5.0, 0.1, 2.0])))
    batch = 1 if kind == "one row" else batch + 1
    level = draw(st.sampled_from([0.0, 100.0, -100.0, 1e4, -1e4] if kind == "extreme" else [0.0]))
    logits = draw(st.arrays((batch, vocab), dtype))
    if kind in ("plain", "one row"):
        logits *= np.asarray(temperature, dtype)  # so that they are moderate once they are divided
    logits += np.asarray(level, dtype)
    leaders = draw(st.lists(st.integers(0, vocab - 1), min_size=batch, max_size=batch))
    if draw(st.integers(0, 3)) == 0:
        logits = np.where(np.arange(vocab) == draw(st.integers(0, vocab - 1)), -np.inf, logits)
    best = np.maximum(logits.max(axis=-1), -1e5)  # a row may be all -inf so far
    logits[np.arange(batch), leaders] = best + max(CERTAIN * temperature, 0.25)
    if kind == "zero" and draw(st.booleans()):
        logits *= np.asarray(CLOSE, dtype)
    return {
        "logits": as_tensor(draw, logits.astype(dtype)),
        "temperature": temperature,
        "seed": draw(st.one_of(st.none(), st.integers(0, 99))),
    }


TEMPERATURES = {"zero": [0, 0.0], "extreme": [1e-3, 1e-3, 0.1, 1.0]}
CLOSE = 2.0**-60  # times it, logits differ and their probabilities are equal
FAR = 80  # beyond it, exp leaves the range of float32


@KATA.corner(points=0.5)
def zero_is_greedy(temperature):
    """At temperature 0 the most likely token is taken."""
    return temperature == 0


@KATA.corner(points=0.5)
def extreme_scores(logits, temperature):
    """Logits are drawn from that are far beyond what exp can hold once they are divided."""
    return bool(logits[~logits.isneginf()].abs().max() / temperature > FAR)


@KATA.corner(points=0.5)
def one_row(logits):
    """A batch of one row gives one id, with its axis."""
    return len(logits) == 1


def as_tensor(draw, logits):
    """As a tensor, its memory in any order of axes."""
    return draw(st.tensors(st.permuted(st.just(logits))))


@KATA.example
def a_row_by_itself():
    """Greedy, with a batch of one."""
    import torch

    return {"logits": torch.tensor([[2.0, 1.0, 0.0]]), "temperature": 0, "seed": None}


@KATA.example
def a_low_temperature():
    """The example of the statement: exp(2000) is beyond every dtype."""
    import torch

    return {"logits": torch.tensor([[2.0, 1.0, 0.0], [-1.0, 0.0, 0.5]]), "temperature": 1e-3, "seed": 1}


@KATA.example
def a_row_that_is_drawn_from():
    """One token of a single row is possible."""
    import torch

    inf = float("inf")
    return {"logits": torch.tensor([[-inf, 0.5, -inf]]), "temperature": 1.0, "seed": 4}


@KATA.example
def logits_with_equal_probabilities():
    """Greedy, where the largest logit leads by less than a probability can show."""
    import torch

    logits = torch.tensor([[0.0, 0.0, 1.0], [-1.0, 0.0, -2.0], [0.0, 2.0, 3.0]])
    return {"logits": logits * CLOSE, "temperature": 0, "seed": 3}


@KATA.example
def a_single_possible_token():
    """All tokens but one are -inf."""
    import torch

    inf = float("inf")
    return {"logits": torch.tensor([[-inf, 0.0], [-3.0, -inf]]), "temperature": 2.0, "seed": 2}


@KATA.observe
def observe(student, logits, temperature, seed):
    """The ids; without a seed the generator is left out, so that its default is judged too."""
    if seed is None:
        student.build(GENERATORS, "seed_the_own", 0)
        return {"result": student.sample(logits, temperature)}
    return {"result": student.sample(logits, temperature, generator(student, seed))}


def generator(student, seed):
    return student.build(GENERATORS, "seeded", seed)


def drawn(student, logits, temperature, *generators):
    """The ids as an array, once they are known to be ids, one a row."""
    ids = student.sample(logits, temperature, *generators)
    due = tuple(logits.shape[:1])
    expect.true(
        tuple(getattr(ids, "shape", ())) == due and not ids.is_floating_point(),
        f"The result must be a tensor of ids, one for each row; of {due[0]} rows came {shape_of(ids)}.",
    )
    found = ids.numpy()
    inside = (found >= 0) & (found < logits.shape[-1])
    expect.true(
        inside.all(), f"Every id must be one of the {logits.shape[-1]} tokens; {found[~inside][:3]} came."
    )
    return found


def shape_of(value):
    return f"the shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__


def surprise(hits, count, probability):
    """n * KL(hits / n || probability): how far from what is due, in the measure of Chernoff's bound."""
    total = 0.0
    for part, due in ((hits, probability), (count - hits, 1 - probability)):
        if part:
            total += part * np.log(part / (count * due)) if due > 0 else np.inf
    return total


def spread_logits(draw):
    """Logits of one to three rows that leave several tokens possible, at any temperature."""
    dtype = draw(st.float_dtypes())
    temperature = draw(st.sampled_from([0.5, 2.0, 0.01, 1.0, 0.05, 0.001, 10.0]))
    rows, vocab = draw(st.integers(1, 3)), draw(st.integers(2, 6))
    logits = draw(st.normal_arrays((rows, vocab), "float64"))
    if vocab > 2 and draw(st.booleans()):
        logits[:, draw(st.integers(0, vocab - 1))] = -np.inf
    logits = np.round(logits, 2) * temperature
    return {
        "logits": as_tensor(draw, logits.astype(dtype)),
        "temperature": temperature,
        "seed": draw(st.integers(0, 2**16)),
    }


@KATA.law(points=1, cases=spread_logits, purpose=True)
def test_draws_follow_the_softmax(student, logits, temperature, seed):
    """Every token is drawn as often as softmax(logits / temperature) says."""
    import torch

    due = torch.softmax(logits.double() / temperature, dim=-1).numpy()
    count = ROWS // len(due)
    ids = drawn(student, logits.repeat(count, 1), temperature, generator(student, seed))
    for row, probabilities in enumerate(due):
        hits = np.bincount(ids[row :: len(due)], minlength=len(probabilities))
        what = f"from the logits of row {row} at temperature {temperature:g} token"
        expect.frequencies(hits, count, probabilities, what, chance=1e-13)


def single_rows(draw):
    """A single row of logits, to be drawn from many times at once."""
    case = spread_logits(draw)
    return {**case, "logits": case["logits"][:1].contiguous()}


@KATA.law(points=0.5, cases=single_rows)
def test_rows_are_independent(student, logits, temperature, seed):
    """Rows are drawn independently: two of them agree no more often than chance will have it."""
    ids = drawn(student, logits.repeat(ROWS, 1), temperature, generator(student, seed))
    counts, half = np.bincount(ids).astype(float), ROWS // 2
    likeliest = float((logits.double() / temperature).softmax(dim=-1).max())
    expect.true(
        counts.max() < ROWS or likeliest > 0.99,  # 0.99 ** 8000 is 1e-35
        f"All of {ROWS} rows with the same logits drew token {ids[0]}, although the probability of the "
        f"likeliest is {likeliest:.4f}.",
    )
    chance = float((counts * (counts - 1)).sum()) / (ROWS * (ROWS - 1))
    for what, first, second in (
        ("neighbours", ids[::2], ids[1::2]),
        (f"rows that lie {half} apart", ids[:half], ids[half:]),
    ):
        agreeing = float((first == second).mean())
        expect.true(
            abs(agreeing - chance) < 2 * np.sqrt(SURPRISE / ROWS),
            f"{ROWS} rows with the same logits were drawn. Of all pairs of them {chance:.1%} agree, but of "
            f"{half} pairs of {what} {agreeing:.1%}. Chance strays so far less than once in 10^13.",
        )


def flat_logits(draw):
    """A row of nearly equal logits, of which many copies are drawn from: no two draws coincide by chance."""
    vocab, seed = draw(st.integers(2, 6)), draw(st.integers(0, 2**16))
    logits = draw(st.readable_arrays((1, vocab), draw(st.float_dtypes()), scale=0.25))
    temperature = draw(st.sampled_from([1.0, 2.0, 5.0]))
    return {"logits": draw(st.tensors(st.just(logits))), "temperature": temperature, "seed": seed}


@KATA.law(points=0.5, cases=flat_logits)
def test_seed_repeats_the_draw(student, logits, temperature, seed):
    """The same seed gives the same draw, whatever was drawn in between from another generator."""
    rows = logits.repeat(MANY, 1)
    student.build(GENERATORS, "seed_the_own", seed)
    first = drawn(student, rows, temperature, generator(student, seed))
    drawn(student, rows, temperature)
    again = drawn(student, rows, temperature, generator(student, seed))
    expect.equal(again, first, f"the draw from a fresh generator with the same seed, {seed},")
    student.build(GENERATORS, "seed_the_own", seed)
    own = drawn(student, rows, temperature)
    student.build(GENERATORS, "seed_the_own", seed)
    drawn(student, rows, temperature, generator(student, seed))
    what = f"the draw without a generator, after torch.manual_seed({seed}) and a draw from a generator,"
    expect.equal(drawn(student, rows, temperature), own, what)


@KATA.law(points=0.5, cases=flat_logits)
def test_second_draw_moves_on(student, logits, temperature, seed):
    """A second draw from the same generator is another one, and so is one from PyTorch's own."""
    rows, given = logits.repeat(MANY, 1), generator(student, seed)
    student.build(GENERATORS, "seed_the_own", seed)
    for source, generators in (("the same generator", [given]), ("PyTorch's own generator", [])):
        first = drawn(student, rows, temperature, *generators)
        second = drawn(student, rows, temperature, *generators)
        expect.true(
            bool((first != second).any()),
            f"Two draws from {source} differ; for {MANY} rows with several likely tokens each, the second "
            "was the first again.",
        )


def negative_temperatures(draw):
    """Any logits, and a temperature below 0."""
    case = flat_logits(draw)
    return {"logits": case["logits"], "temperature": draw(st.sampled_from([-1.0, -0.5, -1e-3, -2]))}


@KATA.law(points=0.5, cases=negative_temperatures)
def test_refuses_a_negative_temperature(student, logits, temperature):
    """A negative temperature is refused with a ValueError."""
    student.build(GENERATORS, "seed_the_own", 0)
    why = f"at temperature={temperature:g} the least likely token would be the most likely"
    expect.refuses(student.sample, logits, temperature, why=why)


@KATA.law(points=0.5)
def test_draws_from_a_whole_vocabulary(student):
    """Of 50,257 tokens any may be drawn, and one that leads so far that it must be is drawn."""
    import torch

    ahead = 500
    logits = (torch.arange(WHOLE) < ahead).float().mul(0.01).repeat(16, 1)
    ids, share = (
        drawn(student, logits, 1.0, generator(student, 0)),
        float(logits[0].softmax(-1)[:ahead].sum()),
    )
    first = int((ids < ahead).sum())
    expect.true(
        surprise(first, len(ids), share) < SURPRISE,
        f"{ahead} of {WHOLE} tokens are a little likelier than the others and have {share:.1%} of the mass; "
        f"{first} of {len(ids)} ids are theirs. Chance strays so far less than once in 10^13.",
    )
    due = np.array([WHOLE - 1, 40_000, 2**15])
    leading = torch.zeros(len(due), WHOLE).scatter(1, torch.from_numpy(due)[:, None], 2 * CERTAIN)
    ids = drawn(student, leading, 1.0, generator(student, 0))
    expect.equal(ids, due, f"the ids, where one of {WHOLE} logits is {2 * CERTAIN:g} and all others are 0")
