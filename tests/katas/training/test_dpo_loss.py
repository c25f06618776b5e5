"""dpo_loss: its cases and its laws.

Log-probabilities of answers are differences of logits and sums of those; `ROUNDINGS` leaves room for that.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
ID_DTYPES = ("int64", "int32", "uint8", "int64")
LEVELS = {"float32": 200, "float64": 800}  # exp over- or underflows there
KINDS = (*["plain"] * 6, "extreme logits", "extreme margins", "first token")

KATA = Kata(
    "dpo_loss",
    track="training",
    entry_points=("answer_log_probs", "dpo_loss"),
    title="The better of two answers",
    source="Rafailov et al. 2023, section 4, equation 7",
    axes={"logits": "batch tokens vocab", "ids": "batch tokens", "is_answer": "batch tokens"},
    hints=(
        "Write above each token of the first example the position whose logits predict it. Which position "
        "has no token to predict, and which token has no position?",
        "Drop the last position of the logits, and the first column of ids and is_answer: three arrays that "
        "fit, with T - 1 positions. For the loss: how much has each answer gained against the reference, and "
        "what becomes of the log of a sigmoid when its argument is -1000?",
        "Log-softmax over the vocabulary, with the maximum subtracted, [B, T - 1, V]; pick the entry of each "
        "next token, put zeros where the mask is False, sum over the positions. The margin is the gain of "
        "the chosen answer minus that of the rejected one, [N]. Minus the log of its sigmoid is the log of "
        "1 + exp(-beta * margin): find the library's function for the log of a sum of two exps, and average.",
    ),
    hint_for={
        "reads_the_logits_of_the_token_itself": 1,
        "moves_the_wrong_way": 1,
        "lets_the_last_position_predict_the_first_token": 1,
        "reads_the_mask_one_position_early": 2,
        "starts_behind_the_first_token_of_the_answer": 2,
        "forgets_the_reference": 2,
        "overflows_for_a_bad_pair": 3,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def draw_rows(draw, dtype, kind):
    """Logits, ids and the tokens that are the answer, which has a prompt before it and padding behind it."""
    batch, tokens, vocab = (draw(st.sampled_from(sizes)) for sizes in ([2, 1, 3], [4, 3, 5, 6], [3, 4, 5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    logits = np.round(rng.standard_normal((batch, tokens, vocab)) * draw(st.sampled_from([1.0, 2.0])), 1)
    if kind == "extreme logits":
        logits = logits * draw(st.sampled_from([1.0, 1000.0]))
        logits += rng.choice([-LEVELS[dtype], LEVELS[dtype]], (batch, tokens, 1))
    first = rng.integers(1, tokens, (batch, 1))
    end = rng.integers(first + 1, tokens + 1)
    places = np.arange(tokens)
    is_answer = (places >= (0 if kind == "first token" else first)) & (places < end)
    ids = rng.integers(0, vocab, (batch, tokens))
    return {
        "logits": draw(st.permuted(st.just((logits + 0.0).astype(dtype)))),
        "ids": draw(st.permuted(st.just(ids.astype(draw(st.sampled_from(ID_DTYPES)))))),
        "is_answer": draw(st.permuted(st.just(is_answer))),
    }


def draw_pairs(draw, dtype, kind):
    """Log-probabilities of two answers to each prompt under two models."""
    n = draw(st.sampled_from([3, 2, 4, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scale = 5000 if kind == "extreme margins" else draw(st.sampled_from([1.0, 4.0]))
    level = np.round(-np.abs(rng.standard_normal((2, n))) * 8, 2)  # of the chosen and of the rejected
    policy, reference = (np.round(level + rng.standard_normal((2, n)) * scale, 2) for _ in range(2))
    names = "policy_chosen", "policy_rejected", "reference_chosen", "reference_rejected"
    return dict(zip(names, np.asarray([*policy, *reference], dtype), strict=True))


def draw_beta(draw):
    return draw(st.sampled_from([0.1, 0.5, 0.3, 1.5]))


@KATA.cases
def cases(draw):
    """A batch of rows and a batch of pairs; one of the two is special now and then."""
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.float_dtypes())
    return {**draw_rows(draw, dtype, kind), **draw_pairs(draw, dtype, kind), "beta": draw_beta(draw)}


@KATA.corner(points=0.5)
def extreme_logits(logits):
    """Logits in the hundreds have their log-probabilities."""
    return bool(np.abs(logits).max() > 50)


@KATA.corner(points=0.5)
def extreme_margins(policy_chosen, policy_rejected):
    """Margins in the thousands have their loss."""
    return bool(max(np.abs(policy_chosen).max(), np.abs(policy_rejected).max()) > 300)


@KATA.corner(points=0.5)
def first_token(is_answer):
    """A first token that belongs to the answer adds nothing."""
    return bool(is_answer[:, 0].any())


PRINTED_LOGITS = [[9.0, 9.0, 0.0], [0.0, 2.0, 0.0], [5.0, 5.0, 5.0]]


def pairs(chosen, rejected, reference_chosen, reference_rejected, beta, dtype="float64"):
    """The arguments of dpo_loss."""
    arrays = {
        "policy_chosen": chosen,
        "policy_rejected": rejected,
        "reference_chosen": reference_chosen,
        "reference_rejected": reference_rejected,
    }
    return {**{name: np.array(row, dtype) for name, row in arrays.items()}, "beta": beta}


def rows(answers, logits, ids, dtype="float64"):
    """The arguments of answer_log_probs."""
    return {"logits": np.array(logits, dtype), "ids": np.array(ids), "is_answer": np.array(answers)}


PRINTED_PAIRS = [-10, -7], [-12, -4], [-11, -7], [-11, -4]


@KATA.example
def printed_answer_of_one_token():
    given = rows([[False, False, True]], [PRINTED_LOGITS], [[2, 0, 1]])
    return {**given, **pairs(*PRINTED_PAIRS, 0.5)}


@KATA.example
def printed_answer_of_two_tokens():
    given = rows([[False, True, True]], [PRINTED_LOGITS], [[2, 0, 1]])
    return {**given, **pairs(*PRINTED_PAIRS, 0.1)}


@KATA.example
def printed_answer_with_the_first_token():
    given = rows([[True, True, True]], [PRINTED_LOGITS], [[2, 0, 1]])
    return {**given, **pairs([-1], [-2], [-2], [-1], 0.5)}


@KATA.example
def one_row_has_no_answer():
    """Its log-probability is 0."""
    logits = [[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]], [[0.0, 1.0, -1.0], [0.0, 0.0, 0.0]]]
    given = rows([[False, False], [False, True]], logits, [[0, 1], [2, 2]], "float32")
    return {**given, **pairs([-3.0, -1.0], [-1.0, -2.0], [-2.0, -2.0], [-2.0, -1.0], 0.5, "float32")}


@KATA.example
def one_token_is_nearly_certain_and_one_next_to_impossible():
    logits = [[[4000.0, 0.0, 0.0], [0.0, 0.0, 0.0]]] * 2
    given = rows([[False, True]] * 2, logits, [[0, 0], [0, 1]])
    return {**given, **pairs([-3.0, -1.0], [-1.0, -2.0], [-2.0, -2.0], [-2.0, -1.0], 0.5)}


@KATA.example
def two_tokens_of_an_answer_are_next_to_impossible():
    logits = [[[0.0, 300.0, 0.0], [250.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    given = rows([[False, True, True]], logits, [[0, 2, 1]], "float32")
    return {**given, **pairs([-3.0, -1.0], [-1.0, -2.0], [-2.0, -2.0], [-2.0, -1.0], 0.5, "float32")}


@KATA.example
def one_pair_is_judged_very_wrong():
    given = rows([[False, True]], [[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], [[0, 1]])
    return {**given, **pairs([-9000.0, -5.0], [-4.0, -9000.0], [-4.0, -5.0], [-4.0, -5.0], 0.5)}


@KATA.observe
def observe(student, **given):
    """The log-probabilities and the loss. A beta of 0.1 is left out, so that the default is judged too."""
    row_names = ("logits", "ids", "is_answer")
    rest = [value for name, value in given.items() if name not in (*row_names, "beta")]
    options = {} if given["beta"] == 0.1 else {"beta": given["beta"]}
    return {
        "log_probs": student.answer_log_probs(*(given[name] for name in row_names)),
        "loss": student.dpo_loss(*rest, **options),
    }


def log_probs(student, logits, ids, is_answer):
    """What answer_log_probs returns, once it has one number for each row."""
    result = student.answer_log_probs(logits, ids, is_answer)
    shape, due = getattr(result, "shape", None), (len(ids),)
    expect.true(shape == due, f"The result must have the shape {due}, a number for each row; it is {shape}.")
    return result


def loss(student, *arrays, beta):
    """What dpo_loss returns, once it is one number."""
    result = student.dpo_loss(*arrays, beta=beta)
    number = isinstance(result, float) or getattr(result, "shape", None) == ()
    expect.true(number, "The result of dpo_loss must be one number, the average over the pairs.")
    return result


def plain_rows(draw):
    return draw_rows(draw, draw(st.float_dtypes()), "plain")


def plain_pairs(draw):
    return {**draw_pairs(draw, draw(st.float_dtypes()), "plain"), "beta": draw_beta(draw)}


@KATA.law(points=1, cases=plain_rows)
def test_prompt_does_not_count(student, logits, ids, is_answer):
    """Only the logits that predict the answer's tokens count."""
    predicts = np.concatenate([is_answer[:, 1:], np.zeros_like(is_answer[:, :1])], axis=1)
    other = np.where(predicts[..., None], logits, np.linspace(-3, 3, logits.shape[-1], dtype=logits.dtype))
    due, got = (log_probs(student, given, ids, is_answer) for given in (logits, other))
    what = "the result for other logits at the prompt and the padding"
    expect.close(got, due, what, terms=8, roundings=ROUNDINGS)
    hot = np.arange(logits.shape[-1]) == np.roll(ids, -1, axis=1)[..., None]
    likelier = log_probs(
        student, logits + 2 * (hot & predicts[..., None]).astype(logits.dtype), ids, is_answer
    )
    sentence = "Higher logits for the answer's tokens, where they are predicted, must give a higher result."
    expect.true((likelier > due).all(), sentence)


@KATA.law(points=0.5, cases=plain_rows)
def test_next_tokens_share_one_probability(student, logits, ids, is_answer):
    """For an answer of one token the probabilities of all tokens in its place add up to 1."""
    last = is_answer & (np.cumsum(is_answer, axis=1) == is_answer.sum(axis=1, keepdims=True))
    total = 0.0
    for token in range(logits.shape[-1]):
        given = np.where(last, token, ids).astype(ids.dtype)
        total = total + np.exp(log_probs(student, logits, given, last))
    expect.close(total, 1.0, "the sum of the probabilities of all tokens", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_pairs)
def test_equal_models_pay_log_2(student, reference_chosen, reference_rejected, beta):
    """Where policy and reference are the same the loss is log 2, for any beta."""
    pair = reference_chosen, reference_rejected
    expect.close(
        loss(student, *pair, *pair, beta=beta), math.log(2), "the loss", terms=8, roundings=ROUNDINGS
    )


@KATA.law(points=1, cases=plain_pairs)
def test_only_the_difference_of_log_ratios_counts(
    student, policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta
):
    """A number added to both answers of a model, or to one answer under both models, changes nothing."""
    given = np.stack([policy_chosen, policy_rejected, reference_chosen, reference_rejected])
    due = loss(student, *given, beta=beta)
    for what, places in {
        "both of the policy's log-probabilities": (0, 1),
        "both of the reference's log-probabilities": (2, 3),
        "the chosen answer's log-probabilities under both models": (0, 2),
        "the rejected answer's log-probabilities under both models": (1, 3),
    }.items():
        moved = given.copy()
        moved[list(places)] += 2.5 + np.arange(given.shape[1], dtype=given.dtype)
        name = f"the loss after numbers were added to {what}"
        expect.close(loss(student, *moved, beta=beta), due, name, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_pairs)
def test_exchanged_answers_differ_by_the_margin(
    student, policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta
):
    """With chosen and rejected exchanged the loss is larger by beta times the average margin."""
    there = loss(student, policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=beta)
    back = loss(student, policy_rejected, policy_chosen, reference_rejected, reference_chosen, beta=beta)
    margin = (policy_chosen - reference_chosen) - (policy_rejected - reference_rejected)
    due = float(there) + beta * float(margin.mean())
    expect.close(back, due, "the loss after the two answers were exchanged", terms=8, roundings=ROUNDINGS)
