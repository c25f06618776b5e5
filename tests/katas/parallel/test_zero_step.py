"""zero_step: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.ranks import Ranks

COLLECTIVES = ("reduce_scatter", "all_gather")
PARTS = ("parameter", "m", "v")

KATA = Kata(
    "zero_step",
    track="parallel",
    grades_device=False,  # the collectives are functions of the caller, whose results lie on the CPU
    entry_points=("zero_step",),
    title="Every rank holds a piece of the optimizer",
    source="Rajbhandari et al. 2020, section 5 and section 7",
    roundings=4,
    bank_size=40,
    hints=(
        "Two ranks, three parameters: which of the mean gradient's entries does rank 1 need, and who can "
        "compute them? What must every rank hold again at the end?",
        "A rank needs the average of all gradients, but at its own S entries alone: that is what "
        "reduce_scatter gives, once the array is long enough to be cut into N equal pieces. AdamW works "
        "entry by entry, so the rest of the step needs no other rank until the new piece is done. Then all "
        "pieces go to all ranks, and the padding at the end goes away. The old parameters are on every rank "
        "already: cut yours out.",
        "In this order:\n\n"
        "    1   pad the gradient with zeros to N S entries       [N S]\n"
        "    2   reduce_scatter, divided by N                     [S]\n"
        "    3   pad the parameters alike; entries r S to r S + S [S]\n"
        "    4   m, v, both corrected, the step of AdamW          [S]\n"
        "    5   all_gather of the new piece: N arrays            [S] each\n"
        "    6   join them, keep the first P                      [P]\n\n"
        "Return this with the uncorrected m and v. A rank whose entries are all padding does the same: its "
        "numbers are zeros, and it meets the others.",
    ),
)


def shard_length(entries, size):
    return -(-entries // size)


def draw_step(rng, entries, size, dtype):
    """The state before a step: parameters, one gradient for each rank, and whole m and v."""
    root = rng.integers(1, 9, entries) / 4
    state = {
        "parameter": rng.integers(-8, 9, entries) / 4,
        "gradients": rng.integers(-16, 17, (size, entries)) / 4,
        "m": rng.integers(-8, 9, entries) / 4,
        "v": root * root,
    }
    return {name: array.astype(dtype) for name, array in state.items()}


def draw_options(draw):
    return {
        "lr": draw(st.sampled_from([0.1, 0.5, 1.0])),
        "betas": draw(st.sampled_from([(0.9, 0.999), (0.5, 0.75), (0.75, 0.9)])),
        "eps": draw(st.sampled_from([1e-8, 0.1, 0.5])),
        "weight_decay": draw(st.sampled_from([0.1, 0.5, 0.01])),
    }


@KATA.cases
def cases(draw, sizes=(2, 3, 2, 4, 1)):
    """One to four ranks, and numbers of parameters that they divide or not; some ranks hold padding alone."""
    rng, size = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(sizes))
    entries = draw(st.sampled_from([3, 5, 6, 7, 9, 4, 11]))
    state = draw_step(rng, entries, size, draw(st.float_dtypes()))
    return {
        **{name: draw(st.permuted(st.just(array))) for name, array in state.items()},
        "step": draw(st.sampled_from([2, 1, 3, 10])),
        "options": draw_options(draw),
    }


@KATA.example
def printed_step():
    """The example of the statement."""
    return {
        "parameter": np.array([1.0, 2.0, -1.0]),
        "gradients": np.array([[1.0, 0.0, 2.0], [0.0, 4.0, -1.0]]),
        "m": np.zeros(3),
        "v": np.zeros(3),
        "step": 1,
        "options": {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01},
    }


@KATA.example
def a_rank_of_padding_alone():
    """Five parameters on four ranks: two, two, one, none."""
    state = draw_step(np.random.default_rng(5), 5, 4, "float32")
    options = {"lr": 0.5, "betas": (0.5, 0.75), "eps": 0.1, "weight_decay": 0.1}
    return {**state, "step": 2, "options": options}


def arguments_of(parameter, gradients, m, v, step, options):
    """The arguments of each rank."""
    size, length = len(gradients), shard_length(len(parameter), len(gradients))

    def shards(state):
        padded = np.zeros(size * length, state.dtype)
        padded[: len(state)] = state
        return Ranks(size).scatter(padded)

    return [
        {
            "parameter": parameter.copy("K"),
            "gradient": gradient,
            "m": own_m,
            "v": own_v,
            "step": step,
            "rank": rank,
            "size": size,
            **options,
        }
        for rank, (gradient, own_m, own_v) in enumerate(zip(gradients, shards(m), shards(v), strict=True))
    ]


@KATA.observe
def observe(student, parameter, gradients, m, v, step, options):
    """The three results of every rank, m and v without padding."""
    ranks, seen = Ranks(len(gradients)), {}
    given = arguments_of(parameter, gradients, m, v, step, options)
    for rank, answer in enumerate(ranks.run(student.zero_step, given, *COLLECTIVES)):
        if not isinstance(answer, tuple | list) or len(answer) != len(PARTS):
            seen[f"result of rank {rank}"] = answer
            continue
        length = len(given[rank]["m"])
        own = min(length, max(0, len(parameter) - rank * length))
        for name, part in zip(PARTS, answer, strict=True):
            is_shard = name != "parameter" and getattr(part, "shape", None) == (length,)
            if own or not is_shard:
                seen[f"{name} of rank {rank}"] = part[:own] if is_shard else part
    return seen


def run(student, ranks, *state):
    """What each rank returns, once each has an array of P entries and two of S."""
    given = arguments_of(*state)
    answers = ranks.run(student.zero_step, given, *COLLECTIVES)
    for rank, (answer, own) in enumerate(zip(answers, given, strict=True)):
        is_due = isinstance(answer, tuple | list) and len(answer) == len(PARTS)
        expect.true(is_due, f"Rank {rank} returns the tuple (parameter, m, v).")
        due = [own["parameter"].shape, own["m"].shape, own["v"].shape]
        shapes = [getattr(part, "shape", None) for part in answer]
        expect.true(shapes == due, f"Rank {rank} returns the shapes {due}; they came with {shapes}.")
    return answers


def whole_step(parameter, gradients, m, v, step, options):
    """The step of a single machine, in float64."""
    parameter, gradient, m, v = (
        np.asarray(array, np.float64) for array in (parameter, gradients.astype(np.float64).mean(0), m, v)
    )
    beta1, beta2 = options["betas"]
    m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
    direction = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + options["eps"])
    return parameter - options["lr"] * (direction + options["weight_decay"] * parameter), m, v


def steps_for_many(draw):
    """Twelve parameters or eleven, which one to six ranks share."""
    rng, size = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from([2, 6, 5, 3, 1]))
    state = draw_step(rng, draw(st.sampled_from([12, 11])), size, draw(st.float_dtypes()))
    return {**state, "step": draw(st.sampled_from([2, 1, 5])), "options": draw_options(draw)}


@KATA.law(points=0.5, cases=steps_for_many)
def test_any_number_of_ranks_gives_the_same_parameters(student, parameter, gradients, m, v, step, options):
    """Every rank has the parameters that one machine would have, however many there are."""
    size = len(gradients)
    due = whole_step(parameter, gradients, m, v, step, options)[0].astype(parameter.dtype)
    for rank, answer in enumerate(run(student, Ranks(size), parameter, gradients, m, v, step, options)):
        expect.close(
            answer[0], due, f"the array of parameters of rank {rank} of {size}", terms=8, roundings=8
        )


@KATA.law(points=0.5, cases=steps_for_many)
def test_the_shards_are_the_states_of_one(student, parameter, gradients, m, v, step, options):
    """The ranks' pieces of m and v, joined, are those of one machine: no entry is held twice."""
    size = len(gradients)
    answers = run(student, Ranks(size), parameter, gradients, m, v, step, options)
    due = whole_step(parameter, gradients, m, v, step, options)
    for index in (1, 2):
        joined = np.concatenate([answer[index] for answer in answers])[: len(parameter)]
        what = f"the {PARTS[index]} of all {size} ranks, joined,"
        expect.close(joined, due[index].astype(parameter.dtype), what, terms=8, roundings=8)


@KATA.law(points=0.5, cases=steps_for_many)
def test_three_steps_in_a_row(student, parameter, gradients, m, v, options):
    """Three steps, each from what the ranks returned before, go where one machine goes."""
    size, length = len(gradients), shard_length(len(parameter), len(gradients))
    due, state = (parameter, m, v), (parameter, m, v)
    for step in (1, 2, 3):
        turned = np.roll(gradients, step, axis=1)
        due = whole_step(due[0], turned, *due[1:], step, options)
        answers = run(student, Ranks(size), state[0], turned, *state[1:], step, options)
        joined = [np.concatenate([answer[index] for answer in answers])[: len(parameter)] for index in (1, 2)]
        state = (np.asarray(answers[-1][0]), *joined)
    what = f"the array of parameters after 3 steps of {size} ranks with shards of {length}"
    expect.close(state[0], due[0].astype(parameter.dtype), what, terms=32, roundings=16, dtype="float32")


@KATA.law(points=0.5, cases=steps_for_many, purpose=True)
def test_traffic_is_that_of_one_sum(student, parameter, gradients, m, v, step, options):
    """A rank sends at most 2 * (N - 1) * S numbers."""
    size = len(gradients)
    ranks = Ranks(size)
    run(student, ranks, parameter, gradients, m, v, step, options)
    limit = 2 * (size - 1) * shard_length(len(parameter), size) * parameter.itemsize
    expect.true(
        ranks.bytes_sent <= limit,
        f"With {len(parameter)} parameters of {parameter.dtype} on {size} ranks, a rank may send {limit} "
        f"bytes. It sends {ranks.bytes_sent}, in {', '.join(exchange.name for exchange in ranks.exchanges)}.",
    )


@KATA.law(points=0.5, cases=lambda draw: cases(draw, sizes=(2, 3)), purpose=True)
def test_a_rank_sees_its_own_shard_only(student, parameter, gradients, m, v, step, options):
    """A rank computes from its own arguments and from collectives, and keeps nothing of other calls."""
    ranks = Ranks(len(gradients))
    answers = run(student, ranks, parameter, gradients, m, v, step, options)
    run(student, Ranks(len(gradients)), 1 - parameter, gradients + 1, m - 1, v + 1, step, options)
    for rank, given in enumerate(arguments_of(parameter, gradients, m, v, step, options)):
        again = ranks.alone(student.zero_step, rank, given, *COLLECTIVES)
        what = f"what rank {rank} returns when it runs again, after a step with other numbers,"
        expect.close(list(again), list(answers[rank]), what, terms=8, roundings=8)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The printed step comes out as printed."""
    answers = run(student, Ranks(2), *printed_step().values())
    for rank, answer in enumerate(answers):
        expect.decimals(
            answer[0], np.array([0.899, 1.898, -1.099]), 6, f"the array of parameters of rank {rank}"
        )
    expect.decimals(answers[0][1], np.array([0.05, 0.2]), 8, "the m of rank 0")
    expect.decimals(answers[1][2][:1], np.array([0.00025]), 8, "the v of rank 1, without padding,")
