"""repetition_penalty: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "repetition_penalty",
    track="serving",
    entry_points=("repetition_penalty",),
    title="Once said, less likely",
    source="Keskar et al. 2019, section 4.1",
    library="torch",
    axes={"logits": "batch vocab", "ids": "batch tokens"},
    bank_size=48,
    hints=(
        "Divide 3 by a penalty of 2, and then -3. In which of the two cases does the token become less "
        "likely?",
        "Decide for every token of the vocabulary whether it occurs in its row: a mask [B, V] of True and "
        "False does not count occurrences. Then choose between three values for each logit.",
        "Refuse penalty <= 0. Scatter True into a mask of zeros [B, V] at the places that ids names. Make "
        "the penalised logits for all tokens: divided where above 0, multiplied elsewhere. Take them where "
        "the mask is True, and the logits that came in elsewhere.",
    ),
)

LONG = 60  # tokens; a text of so many or more is a corner
REWARDS, PENALTIES = (0.5, 0.8), (1.3, 2.0, 1.1, 5.0)


def draw_case(draw, kind="plain"):
    """Rows of logits of either sign, and a text that holds some of the tokens, some of them twice."""
    rows, vocab, dtype = draw(st.integers(1, 3)), draw(st.integers(1, 7)), draw(st.float_dtypes())
    tokens = draw(st.sampled_from([70, 150, 300] if kind == "long" else range(1, 7)))
    logits = draw(st.arrays((rows, vocab), dtype, draw(st.sampled_from([1.0, 4.0, 20.0]))))
    if kind == "hidden":
        logits = np.where(np.arange(vocab) == draw(st.integers(0, vocab - 1)), -np.inf, logits)
    penalty = draw(st.sampled_from(REWARDS if kind == "reward" else PENALTIES))
    return {
        "logits": as_tensor(draw, logits.astype(dtype)),
        "ids": as_tensor(draw, draw_ids(draw, rows, vocab, tokens)),
        "penalty": penalty,
    }


def draw_ids(draw, rows, vocab, tokens):
    """Ids of a few tokens each; in a long text what begins it does not return."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    ids = rng.integers(0, rng.integers(1, vocab + 1), (rows, tokens))
    if tokens >= LONG:
        ids[:, 1:] //= 2
    return (ids + rng.integers(0, vocab, (rows, 1))) % vocab


def as_tensor(draw, array):
    """As a tensor, its memory in any order of axes."""
    return draw(st.tensors(st.permuted(st.just(array))))


@KATA.cases
def cases(draw):
    kinds = ["plain", "plain", "plain", "plain", "hidden", "reward", "long"]
    return draw_case(draw, draw(st.sampled_from(kinds)))


@KATA.corner(points=0.5)
def logits_of_minus_infinity(logits):
    """A logit of -inf stays -inf, whether its token has occurred or not."""
    return bool(logits.isneginf().any())


@KATA.corner(points=0.5)
def penalty_below_one(penalty):
    """A penalty below 1 makes what has occurred more likely."""
    return penalty < 1


@KATA.corner(points=0.5)
def long_texts(ids):
    """The whole text counts, of hundreds of tokens too."""
    return ids.shape[1] >= LONG


def printed(penalty, dtype=None):
    """The logits and the ids of the statement."""
    import torch

    logits = torch.tensor([[2.0, -1.0, 0.5]], dtype=dtype)
    return {"logits": logits, "ids": torch.tensor([[0, 1, 0]]), "penalty": penalty}


@KATA.example
def example_of_the_statement():
    return printed(2.0)


@KATA.example
def rows_with_texts_of_their_own():
    """Each row has seen other tokens; token 0 and the last one are among them."""
    import torch

    logits = torch.tensor([[1.0, -1.0, 2.0, -2.0], [3.0, -3.0, 1.0, 0.5], [-0.5, 4.0, 0.0, -1.0]])
    ids = torch.tensor([[0, 3, 3], [1, 1, 1], [2, 1, 0]])
    return {"logits": logits, "ids": ids, "penalty": 1.5}


@KATA.example
def logits_of_one_sign():
    """One row of logits above 0, one of logits below 0."""
    import torch

    logits = torch.tensor([[1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]], dtype=torch.float64)
    return {"logits": logits, "ids": torch.tensor([[2, 1, 2], [0, 1, 1]]), "penalty": 2.0}


@KATA.example
def hidden_tokens_among_others():
    """Of two tokens at -inf one has occurred."""
    import torch

    logits = torch.tensor([[-torch.inf, 1.0, -torch.inf, -1.0], [0.0, -torch.inf, 2.0, 3.0]])
    return {"logits": logits, "ids": torch.tensor([[0, 1], [1, 3]]), "penalty": 1.5}


@KATA.example
def reward_of_the_statement():
    """A penalty of one half."""
    return printed(0.5)


@KATA.example
def first_token_of_a_long_text():
    """Token 3 begins the text and does not return."""
    import torch

    ids = torch.zeros(2, 100, dtype=torch.int64)
    ids[:, 0], ids[1, 50] = 3, 2
    logits = torch.tensor([[1.0, -1.0, 2.0, -3.0], [-1.0, 2.0, 1.0, 3.0]])
    return {"logits": logits, "ids": ids, "penalty": 2.0}


def penalised(student, logits, ids, penalty):
    """The result, once it is known to be a tensor of the right shape."""
    result = student.repetition_penalty(logits, ids, penalty)
    shape = tuple(getattr(result, "shape", ()))
    right = hasattr(result, "isneginf") and shape == tuple(logits.shape)
    expect.true(right, "The result must be a tensor like logits.")
    return result


def occurs(logits, ids):
    """Which tokens occur in the text of their row."""
    return (ids[:, :, None] == logits.new_tensor(range(logits.shape[1]))).any(dim=1)


@KATA.law(points=0.5)
def test_penalty_of_one_changes_nothing(student, logits, ids):
    """A penalty of 1 changes nothing."""
    expect.close(penalised(student, logits, ids, 1.0), logits, "the result for penalty=1")


def texts_and_orders(draw):
    """A case, its tokens shuffled row by row, and some of them once more."""
    case = draw_case(draw)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    order = rng.permuted(np.tile(np.arange(case["ids"].shape[1]), (len(case["ids"]), 1)), axis=1)
    return {**case, "order": order.tolist(), "times": draw(st.integers(2, 3))}


@KATA.law(points=0.5, cases=texts_and_orders)
def test_occurring_once_is_enough(student, logits, ids, penalty, order, times):
    """Repeating or shuffling the ids changes nothing."""
    before = penalised(student, logits, ids, penalty)
    more = ids.repeat(1, times)
    expect.close(penalised(student, logits, more, penalty), before, f"the result for the text {times} times")
    shuffled = ids.gather(1, ids.new_tensor(order))
    what = f"the result for the ids in the order {order}"
    expect.close(penalised(student, logits, shuffled, penalty), before, what)


@KATA.law(points=0.5)
def test_above_one_lowers(student, logits, ids, penalty):
    """A penalty above 1 lowers every logit seen that is not 0; one below 1 raises it."""
    seen = occurs(logits, ids) & (logits != 0)
    for factor in (penalty, 1 / penalty):
        change = (penalised(student, logits, ids, factor) - logits)[seen]
        right = bool((change < 0).all() if factor > 1 else (change > 0).all())
        verb = "falls" if factor > 1 else "rises"
        expect.true(
            right, f"With penalty={factor:.4g} every logit seen {verb}, unless it is 0. One does not."
        )


def two_penalties(draw):
    return {**draw_case(draw), "second": draw(st.sampled_from([1.5, 3.0, 0.25]))}


@KATA.law(points=0.5, cases=two_penalties)
def test_penalties_multiply(student, logits, ids, penalty, second):
    """A penalty of a and then one of b is a penalty of a times b."""
    once = penalised(student, logits, ids, penalty * second)
    twice = penalised(student, penalised(student, logits, ids, penalty), ids, second)
    what = f"penalty={penalty:g} and then {second:g}, against penalty={penalty * second:g},"
    expect.close(twice, once, what, roundings=4)


@KATA.law(points=0.5)
def test_unseen_tokens_keep_their_logits(student, logits, ids, penalty):
    """Tokens that have not occurred keep their logits to the bit."""
    unseen = ~occurs(logits, ids)
    got = penalised(student, logits, ids, penalty)[unseen]
    expect.equal(got, logits[unseen], "the logit of a token that does not occur")


@KATA.law(points=0.5)
def test_rows_are_independent(student, logits, ids, penalty):
    """Each row is penalised for its own text alone."""
    together = penalised(student, logits, ids, penalty)
    for row in range(len(logits)):
        alone = penalised(student, logits[row : row + 1], ids[row : row + 1], penalty)[0]
        expect.close(together[row], alone, f"row {row} of {len(logits)}, against itself alone,")


def no_penalty(draw):
    return {**draw_case(draw), "penalty": draw(st.sampled_from([0.0, -1.5, -0.5]))}


@KATA.law(points=0.5, cases=no_penalty)
def test_refuses_what_is_no_penalty(student, logits, ids, penalty):
    """A penalty of 0 or less is refused with a ValueError."""
    expect.refuses(
        student.repetition_penalty, logits, ids, penalty, why=f"penalty={penalty:g} is not above 0"
    )
