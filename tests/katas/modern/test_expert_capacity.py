"""expert_capacity: its cases and its laws. What a law expects is computed here, token by token.

Scores and biases are multiples of 1/64, so that sums have no rounding errors, and equal ones are equal in
any dtype. Without the corner no token has two equal sums.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

STEP = 1 / 64
KINDS = (*["plain"] * 4, "equal")
FACTORS = [1.0, 1.25, 0.5, 1.5, 0.75, 2.0]

KATA = Kata(
    "expert_capacity",
    track="modern",
    entry_points=("expert_capacity", "route_tokens", "update_bias"),
    title="Experts with a fixed number of places",
    source="Fedus et al. 2022, section 2.2; DeepSeek-AI 2024, DeepSeek-V3, section 2.1.2",
    library="torch",
    axes={
        "scores": "tokens experts",
        "bias": "experts",
        "picks": "tokens top_k",
        "experts": "tokens top_k",
        "slots": "tokens top_k",
        "weights": "tokens top_k",
        "moved": "experts",
    },
    hints=(
        "Take the four tokens of the example and a row of counters, one for each expert, at 0. What does the "
        "first token read from the counters, and what has changed when the third token comes?",
        "A place is the number of earlier tokens that picked the same expert, as their first pick or as any "
        "other. So write the picks as a table of tokens and experts and count downwards:\n\n"
        "    picks        earlier tokens     capacity 2\n"
        "    1 1 0        0 0 0\n"
        "    1 0 1        1 1 0\n"
        "    1 0 1        2 1 1              expert 0 is full\n"
        "    0 1 1        2 1 2              expert 2 is full\n\n"
        "Which column of this table does each pick of a token need? And which of scores and sums does a "
        "weight need?",
        "Refuse a wrong top_k. Then\n\n"
        "    order    stable sort of the sums, descending         [N, E]\n"
        "    experts  the first top_k columns of the order        [N, k]\n"
        "    chosen   the scores (not the sums) at these experts  [N, k]\n"
        "    weights  chosen over its own sum, the axis kept      [N, k]\n"
        "    picks    1 where a token picked an expert, else 0    [N, E]\n"
        "    earlier  running sum of picks down the tokens,\n"
        "             minus picks                                 [N, E]\n"
        "    slots    earlier at these experts                    [N, k]\n\n"
        "Where a slot is capacity or more, it becomes -1 and its weight 0. For the bias, count all picks for "
        "each of the E experts, also those that have none. Add rate times the sign of the mean minus the "
        "count, in the dtype of the bias.",
    ),
    roundings=2,
    bank_size=40,
)


def are_apart(sums):
    """Whether the sums of each token are different, and the largest of them, however many, do not cancel."""
    falling = -np.sort(-sums, axis=1)
    return bool((np.diff(falling) < 0).all() and falling.cumsum(axis=1).all())


def draw_scores(draw, dtype, kind):
    """Scores and a bias. The sums of a token are all different, or some are equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    tokens, experts = draw(st.sampled_from([4, 3, 6, 2, 1])), draw(st.sampled_from([3, 4, 2, 5]))
    bias = rng.integers(-12, 13, experts) + draw(st.sampled_from([0, 0, -48]))
    scores = rng.integers(1, 65, (tokens, experts))
    if kind == "equal":
        scores, bias = 16 * rng.integers(1, 4, (tokens, experts)), 16 * (bias // 16)
        scores[0, -2:] = 48 - bias[-2:] + bias[-2:].max() - 16
    else:
        while not are_apart(scores + bias):
            scores = rng.integers(1, 65, (tokens, experts))
    return (scores * STEP).astype(dtype), (bias * STEP).astype(dtype)


def draw_picks(draw, tokens, experts, top_k):
    """The picks of a batch, some experts more popular than others."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    liking = rng.normal(size=experts) * draw(st.sampled_from([0.5, 2.0]))
    return np.argsort(-(liking + rng.normal(size=(tokens, experts))), axis=1)[:, :top_k].copy()


def draw_sizes(draw):
    """Numbers for which no order of multiplying and dividing rounds to another capacity."""
    from hypothesis import assume

    numbers = draw(st.integers(1, 40)), draw(st.integers(1, 9)), draw(st.integers(1, 3))
    tokens, experts, top_k = numbers
    factor = draw(st.sampled_from(FACTORS))
    exact = factor * tokens * top_k / experts
    others = (
        factor / experts * tokens * top_k,
        tokens / experts * factor * top_k,
        factor * (top_k / experts) * tokens,
    )
    assume(all(math.ceil(x) == math.ceil(exact) for x in others))
    return {"num_tokens": tokens, "num_experts": experts, "factor": factor}


def routing_case(draw, kind="plain"):
    """Arguments of all three parts."""
    dtype = draw(st.float_dtypes())
    scores, bias = draw_scores(draw, dtype, kind)
    tokens, experts = scores.shape
    top_k = draw(st.integers(1, min(3, experts)))

    def tensor(array):
        return draw(st.tensors(st.permuted(st.just(array))))

    return {
        **draw_sizes(draw),
        "scores": tensor(scores),
        "bias": tensor(bias),
        "top_k": top_k,
        "capacity": draw(st.integers(1, max(2, tokens * top_k // experts))),
        "picks": tensor(draw_picks(draw, tokens, experts, top_k)),
        "rate": draw(st.sampled_from([0.125, 0.25, 0.001])),
    }


@KATA.cases
def cases(draw):
    """Tokens with different sums, and now and then tokens with equal ones."""
    return routing_case(draw, draw(st.sampled_from(KINDS)))


def plain_cases(draw):
    return routing_case(draw)


@KATA.derived
def multiples_of_a_step(scores, bias):
    return {"scores": (scores / STEP).round() * STEP, "bias": (bias / STEP).round() * STEP}


@KATA.corner(points=0.5)
def equal_sums(scores, bias):
    """Of equal sums the one with the lower index comes first."""
    return any(len(set(row)) < len(row) for row in (scores.double() + bias.double()).tolist())


def pinned(scores, bias, top_k, capacity, picks, rate, sizes, dtype="float64"):
    """A case from nested lists."""
    import torch

    scores, bias = (torch.tensor(x, dtype=getattr(torch, dtype)) for x in (scores, bias))
    numbers = dict(zip(("num_tokens", "num_experts", "factor"), sizes, strict=True))
    given = {"scores": scores, "bias": bias, "top_k": top_k, "capacity": capacity}
    return {**numbers, **given, "picks": torch.tensor(picks), "rate": rate}


@KATA.example
def printed():
    """The example of the statement."""
    scores = [[0.75, 0.5, 0.25], [0.5, 0.25, 0.25], [0.75, 0.25, 0.5], [0.25, 0.5, 0.5]]
    picks = [[0, 1], [0, 2], [0, 2], [2, 1]]
    return pinned(scores, [0.0, 0.0, 0.25], 2, 2, picks, 0.125, (4, 3, 0.75))


@KATA.example
def one_pick_of_each_token():
    """As in Switch; the mean load is 5 / 3."""
    scores = [
        [0.5, 0.25, 0.125],
        [0.75, 0.5, 0.25],
        [0.25, 0.5, 0.75],
        [0.5, 0.125, 0.25],
        [0.125, 0.5, 0.25],
    ]
    picks = [[0], [0], [2], [0], [1]]
    return pinned(scores, [0.0, 0.0625, -0.0625], 1, 2, picks, 0.25, (5, 3, 1.0), dtype="float32")


@KATA.example
def sums_below_zero():
    scores = [[0.5, 0.25, 0.125, 0.375], [0.25, 0.5, 0.375, 0.125], [0.125, 0.25, 0.5, 0.375]]
    picks = [[0, 1], [2, 3], [1, 0]]
    return pinned(scores, [-0.75, -0.6875, -0.75, -0.75], 2, 1, picks, 0.125, (7, 2, 1.25))


@KATA.example
def a_first_pick_after_a_second_one():
    """Token 1 has the last place of expert 0 as its second pick, before token 2 asks for it first."""
    scores = [[0.75, 0.5, 0.25], [0.5, 0.75, 0.25], [0.75, 0.25, 0.5]]
    return pinned(scores, [0.0, 0.0, 0.0], 2, 2, [[0, 1], [1, 0], [0, 2]], 0.125, (3, 3, 1.0))


@KATA.example
def experts_without_tokens():
    """An even load in two of four experts."""
    scores = [[0.5, 0.25, 0.75, 0.125], [0.25, 0.5, 0.125, 0.75]]
    return pinned(scores, [0.25, 0.0, -0.25, 0.0], 1, 1, [[0], [1]], 0.25, (2, 4, 2.0), dtype="float32")


@KATA.example
def many_equal_sums():
    scores = [[0.5] * 5, [0.25, 0.5, 0.5, 0.5, 0.25]]
    return pinned(scores, [0.0] * 5, 3, 2, [[0, 1, 2], [1, 2, 3]], 0.125, (2, 5, 1.0))


@KATA.observe
def observe(student, num_tokens, num_experts, factor, scores, bias, top_k, capacity, picks, rate):
    """Each part by itself."""
    room = student.expert_capacity(num_tokens, num_experts, top_k, factor)
    routed = student.route_tokens(scores, bias, top_k, capacity)
    result = {"capacity": room}
    if isinstance(routed, tuple | list) and len(routed) == 3:
        result |= dict(zip(("experts", "slots", "weights"), routed, strict=True))
    else:
        result["routed"] = routed
    return {**result, "moved": student.update_bias(bias, picks, rate)}


def due(scores, bias, top_k, capacity):
    """Experts, slots and weights, token by token, with Python's numbers."""
    taken, experts, slots, weights = [0] * scores.shape[1], [], [], []
    for row, sums in zip(scores.tolist(), (scores.double() + bias.double()).tolist(), strict=True):
        best = sorted(range(len(row)), key=lambda e: (-sums[e], e))[:top_k]
        slots.append([taken[e] if taken[e] < capacity else -1 for e in best])
        total = sum(row[e] for e in best)
        weights.append([row[e] / total if taken[e] < capacity else 0.0 for e in best])
        for e in best:
            taken[e] += 1
        experts.append(best)
    return np.array(experts), np.array(slots), np.array(weights)


def routed(student, scores, bias, top_k, capacity):
    """Experts, slots and weights as NumPy arrays, once they are three and have the shape [N, top_k]."""
    answer = student.route_tokens(scores, bias, top_k, capacity)
    triple = isinstance(answer, tuple | list) and len(answer) == 3
    expect.true(triple, "The result is the tuple (experts, slots, weights).")
    sizes = [len(scores), top_k]
    for name, part in zip(("experts", "slots", "weights"), answer, strict=True):
        shape = getattr(part, "shape", None)
        told = f"{name} must have the shape {sizes}; it has {shape and list(shape)}."
        expect.true(shape == (*sizes,), told)
    return [np.asarray(part) for part in answer]


def sizes(draw):
    case = routing_case(draw)
    return {name: case[name] for name in ("num_tokens", "num_experts", "top_k", "factor")}


@KATA.law(points=0.5, cases=sizes)
def test_room_for_all_picks(student, num_tokens, num_experts, top_k, factor):
    """All experts together have room for factor times all picks; with one place less each they have not."""
    room = student.expert_capacity(num_tokens, num_experts, top_k, factor)
    whole = isinstance(room, int | np.integer) and not isinstance(room, bool)
    expect.true(whole, f"The capacity must be a whole number (int); it is {room}.")
    asked = factor * num_tokens * top_k
    places = "1 place" if room == 1 else f"{room} places"
    told = f"{num_experts} experts with {places} each, for {factor} * {num_tokens} * {top_k} picks: "
    expect.true(num_experts * room >= asked, told + "there are too few places.")
    expect.true(num_experts * (room - 1) < asked, told + "one place less each would do.")


@KATA.law(points=0.5, cases=plain_cases)
def test_capacity_is_never_passed(student, scores, bias, top_k, capacity):
    """An expert that is picked n times has min(n, capacity) tokens, each at a place of its own."""
    experts, slots, _ = routed(student, scores, bias, top_k, capacity)
    asked = due(scores, bias, top_k, capacity)[0]
    for e in range(scores.shape[1]):
        places = sorted(slots[(experts == e) & (slots >= 0)].tolist())
        wanted = list(range(min(capacity, int((asked == e).sum()))))
        expect.true(
            places == wanted,
            f"Expert {e} is picked {int((asked == e).sum())} times and has {capacity} places, so its slots "
            f"must be {wanted}; they are {places}.",
        )


@KATA.law(points=0.5, cases=plain_cases)
def test_the_bias_moves_no_weight(student, scores, bias):
    """Where a token gets every expert, each weight is the share of its score, whatever the bias is."""
    tokens, count = scores.shape
    experts, _, weights = routed(student, scores, bias, count, tokens)
    each_once = (np.sort(experts, axis=1) == np.arange(count)).all()
    expect.true(each_once, f"With top_k={count} of {count} experts a token gets each of them once.")
    shares = scores.double().numpy()
    shares = np.take_along_axis(shares / shares.sum(axis=1, keepdims=True), experts, axis=1)
    expect.close(weights, shares.astype(weights.dtype), f"each weight for top_k={count}", terms=count)


@KATA.law(points=0.5, cases=plain_cases)
def test_a_large_bias_fills_one_expert(student, scores, bias, top_k, capacity):
    """An expert with a large bias is every token's first pick, and the first tokens have its places."""
    other = bias.clone()
    other[-1] = 4.0
    experts, slots, weights = routed(student, scores, other, top_k, capacity)
    last = len(bias) - 1
    told = f"the first pick of each token, where the bias of expert {last} is 4,"
    expect.equal(experts[:, 0].astype(np.int64), np.full(len(scores), last), told)
    places = np.array([token if token < capacity else -1 for token in range(len(scores))])
    expect.equal(slots[:, 0].astype(np.int64), places, f"each place at expert {last}, whose bias is 4,")
    expected = due(scores, other, top_k, capacity)[2][:, 0].astype(weights.dtype)
    expect.close(weights[:, 0], expected, f"each weight of expert {last}, whose bias is 4,", terms=top_k)


@KATA.law(points=0.5, cases=plain_cases)
def test_later_tokens_take_nothing_away(student, scores, bias, top_k, capacity):
    """Tokens that come later in the batch change no place and no weight of earlier ones."""
    import torch

    more = torch.cat([scores, scores.flip(0)])
    first = [part[: len(scores)] for part in routed(student, more, bias, top_k, capacity)]
    _, slots, weights = due(scores, bias, top_k, capacity)
    tokens = f"the first {len(scores)} tokens" if len(scores) > 1 else "the first token"
    what = f"of {tokens}, where {len(scores)} more came after,"
    expect.equal(first[1].astype(np.int64), slots, f"each slot {what}")
    expect.close(first[2], weights.astype(first[2].dtype), f"each weight {what}", terms=top_k)


@KATA.law(points=0.5, cases=plain_cases)
def test_the_bias_follows_the_load(student, bias, picks, rate):
    """Biases of loads above the mean fall by rate, below it they rise by rate, and at it they stay."""
    moved = student.update_bias(bias, picks, rate)
    shape = getattr(moved, "shape", None)
    expect.true(
        shape == bias.shape, f"The result must have the shape {[len(bias)]}; it is {shape and list(shape)}."
    )
    flat = picks.flatten().tolist()
    expected = bias.double().clone()
    for e in range(len(bias)):
        missing = len(flat) - len(bias) * flat.count(e)
        expected[e] += rate * ((missing > 0) - (missing < 0))
    expect.close(moved, expected.to(bias.dtype), "the bias after an update")


def wrong_numbers(draw):
    case = routing_case(draw)
    count = len(case["bias"])
    return {**{n: case[n] for n in ("scores", "bias")}, "top_k": draw(st.sampled_from([0, count + 1, -1]))}


@KATA.law(points=0.5, cases=wrong_numbers)
def test_refuses_a_wrong_top_k(student, scores, bias, top_k):
    """A top_k below 1 or above the number of experts raises a ValueError."""
    why = f"top_k={top_k} is not between 1 and the number of experts, {len(bias)}"
    expect.refuses(student.route_tokens, scores, bias, top_k, 2, why=why)
