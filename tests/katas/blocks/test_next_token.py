"""next_token: its cases and its laws.

Hidden states and weights are quarters, so every product and every logit is exact in any order of the sum;
float64 weights have a tail of small digits, in which a computation with fewer shows. The most likely token
is ahead of the others by half a unit at least.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "next_token",
    track="blocks",
    entry_points=("next_token",),
    title="From the last hidden state to a word",
    source="Vaswani et al. 2017, section 3.4",
    axes={"hidden": "tokens d_model", "output_weight": "d_model vocab"},
    hints=(
        "Which of the hidden states has read the whole text? Ask it alone: one vector of d_model numbers "
        "against a matrix of [d_model, V].",
        "Logits may be in the hundreds, and exp of them is infinite; softmax is the same for logits minus "
        "their maximum. Keep the logits themselves for the tuple, though.",
        "Take the last row of hidden, multiply it by output_weight. Subtract the maximum into a new array, "
        "take exp, divide by the sum. The id is the argmax of the logits. Return the three in this order.",
    ),
    hint_for={
        "takes_the_first_position": 1,
        "averages_the_positions": 1,
        "answers_for_every_position": 1,
        "transposes_the_output_matrix": 1,
        "lets_exp_overflow": 2,
        "shifts_the_logits": 2,
    },
    roundings=4,
    bank_size=48,
)

LEAD = 0.5  # by which the most likely token is ahead


def token_case(draw, shortest=1):
    """Arguments of one call; now and then logits of which exp is infinite."""
    tokens, d_model, vocab = draw(st.integers(shortest, 4)), draw(st.integers(2, 4)), draw(st.integers(2, 6))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    hidden = rng.integers(-8, 9, (tokens, d_model)) / 4
    weight = rng.integers(-8, 9, (d_model, vocab)) / 4
    hidden[-1, 0] = rng.choice([0.5, -0.5, 1.0, -1.0, 2.0, -2.0])
    weight[0, lagging(hidden[-1] @ weight)] -= LEAD / hidden[-1, 0]
    if dtype == "float64":
        weight += rng.standard_normal(weight.shape) * 1e-9
    hidden *= draw(st.sampled_from([1, 1, 2, 512]))
    return {
        "hidden": draw(st.permuted(st.just(hidden.astype(dtype)))),
        "output_weight": draw(st.permuted(st.just(weight.astype(dtype)))),
    }


def lagging(logits):
    """Every token but the most likely one."""
    return np.arange(len(logits)) != logits.argmax()


@KATA.cases
def cases(draw):
    return token_case(draw)


@KATA.corner(points=0.5)
def logits_in_the_hundreds(hidden, output_weight):
    """Logits of which exp is infinite get probabilities as well."""
    return bool(np.abs(hidden.astype(np.float64) @ output_weight).max() > 80)


@KATA.corner(points=0.5)
def text_of_one_token(hidden):
    """A text of one token is continued as well."""
    return len(hidden) == 1


@KATA.example
def printed_scores():
    weight = [
        [1.0, 0.5, 0.0, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.8, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
    ]
    return {"hidden": np.array([[0.7, -0.2, 0.5, 0.1]]), "output_weight": np.array(weight)}


@KATA.example
def two_positions_that_disagree():
    hidden = np.array([[3.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    return {"hidden": hidden, "output_weight": np.array([[1, 0, -1], [-2, 0, 1]], dtype=np.float32)}


@KATA.example
def vocabulary_of_one_token():
    return {"hidden": np.array([[2.0, 0.5], [1.0, -1.0]]), "output_weight": np.array([[1.5], [0.5]])}


@KATA.example
def one_feature():
    hidden = np.array([[-3.0], [2.0]], dtype=np.float32)
    return {"hidden": hidden, "output_weight": np.array([[0.25, -0.5, 1.0]], dtype=np.float32)}


@KATA.example
def logits_of_800():
    return {
        "hidden": np.array([[0.0, 0.0], [800.0, -1.0]]),
        "output_weight": np.array([[1.0, 1.0], [2.0, 0.5]]),
    }


@KATA.example
def a_last_position_of_zeros():
    """Zeros are a hidden state like any other. With one token there is no choice among equals."""
    hidden = np.array([[3.0, -1.0], [0.0, 0.0]], dtype=np.float32)
    return {"hidden": hidden, "output_weight": np.array([[1], [-2]], dtype=np.float32)}


def three(student, hidden, output_weight):
    """The three results, once they are three and the arrays have one entry a token."""
    result = student.next_token(hidden, output_weight)
    whole = isinstance(result, tuple | list) and len(result) == 3
    expect.true(whole, "The result must be the tuple (logits, probabilities, token_id).")
    for name, array in zip(("logits", "probabilities"), result, strict=False):
        shape, due = getattr(array, "shape", None), (output_weight.shape[1],)
        expect.true(
            shape == due, f"The {name} must have the shape {due}, one entry a token, and not {shape}."
        )
    return result


@KATA.law(points=1)
def test_probabilities_are_the_softmax(student, hidden, output_weight):
    """The probabilities are the softmax of the logits, and sum to one."""
    logits, probabilities, _ = three(student, hidden, output_weight)
    exps = np.exp(logits.astype(np.float64) - logits.max())
    what = f"softmax of the logits {np.round(logits, 4).tolist()}"
    expect.close(probabilities, exps / exps.sum(), what, terms=len(logits), roundings=4)


@KATA.law(points=0.5)
def test_token_is_the_most_likely(student, hidden, output_weight):
    """token_id is the place of the largest logit."""
    logits, _, token_id = three(student, hidden, output_weight)
    whole = type(token_id) is int or getattr(token_id, "dtype", np.dtype(float)).kind in "iu"
    expect.true(whole, f"token_id must be an integer, the id of a token; it is {token_id!r}.")
    expect.equal(token_id, int(logits.argmax()), "token_id, the place of the largest logit,")


def with_another_past(draw):
    case = token_case(draw, shortest=2)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    past = rng.integers(-8, 9, case["hidden"][:-1].shape).astype(case["hidden"].dtype)
    return {**case, "past": past}


@KATA.law(points=0.5, cases=with_another_past)
def test_last_position_decides(student, hidden, output_weight, past):
    """Other hidden states ahead of the last change nothing."""
    before = three(student, hidden, output_weight)
    after = three(student, np.concatenate([past, hidden[-1:]]), output_weight)
    what = "the result (logits, probabilities, token_id), with other hidden states ahead of the last,"
    expect.close(list(after), list(before), what, terms=4, roundings=16)


@KATA.law(points=0.5)
def test_logits_grow_with_the_hidden_state(student, hidden, output_weight):
    """Twice the hidden state gives twice the logits."""
    logits = three(student, hidden, output_weight)[0]
    doubled = three(student, hidden * hidden.dtype.type(2), output_weight)[0]
    expect.close(doubled, 2 * logits, "the row of logits for twice the hidden state", terms=4, roundings=4)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The printed hidden state is followed by "hub", with probability 0.36."""
    _, probabilities, token_id = three(student, **printed_scores())
    expect.equal(token_id, 0, 'token_id, where 0 is "hub",')
    expect.decimals(probabilities[0], 0.36, 3, 'the probability of "hub"')
