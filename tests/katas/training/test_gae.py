"""gae: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 2
KINDS = (*["plain"] * 6, "ended", "ended", "defaults", "defaults")

KATA = Kata(
    "gae",
    track="training",
    entry_points=("gae",),
    title="Better than expected?",
    source="Schulman et al. 2016, section 3",
    axes={"rewards": "batch steps", "values": "batch steps", "dones": "batch steps", "last_value": "batch"},
    roundings=ROUNDINGS,
    bank_size=40,
    hints=(
        "Take the first line of the example and begin at its last step. What is expected behind it, and what "
        "does the step before it need from it?",
        "The deltas of all steps are one expression of arrays [B, T], once the values are moved by one step "
        "and last_value stands at the end. Two things cross from a step to the one before it: a value and "
        "an advantage. What must become of both at the end of an episode?",
        "Put values without its first column and last_value side by side, [B, T], and put zeros where dones "
        "is True. Then the deltas are the rewards plus gamma times that, minus the values. Go through the "
        "steps from the last one, with a vector [B] that begins as zeros: put zeros where this step is an "
        "end, multiply it by gamma and lam, add the step's column of the deltas, and keep it. The returns "
        "are the advantages plus the values.",
    ),
    hint_for={
        "expects_a_value_behind_the_end": 2,
        "carries_the_advantage_over_the_end": 2,
        "expects_nothing_after_the_row": 1,
        "leaves_the_last_step_out": 1,
    },
)


def draw_steps(draw, kind="plain"):
    """Rewards, values and ends; the kind says whether rows end with the end of an episode."""
    shape = (draw(st.sampled_from([2, 3, 1])), draw(st.sampled_from([4, 3, 5, 7, 2, 1])))
    dtype, scale = draw(st.float_dtypes()), draw(st.sampled_from([1.0, 4.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    dones = rng.random(shape) < draw(st.sampled_from([0.3, 0.0, 0.5]))
    dones[:, -1] = kind == "ended"
    arrays = {
        "rewards": np.round(rng.standard_normal(shape) * scale, 1),
        "values": np.round(rng.standard_normal(shape) * scale + 0.25, 1),
        "last_value": np.round(rng.standard_normal(shape[:1]) * scale + 2.5, 1),
    }
    given = {name: draw(st.permuted(st.just((x + 0.0).astype(dtype)))) for name, x in arrays.items()}
    return {**given, "dones": draw(st.permuted(st.just(dones)))}


def draw_factors(draw):
    """A gamma and a lam that differ."""
    return {
        "gamma": draw(st.sampled_from([0.9, 0.5, 0.99, 1.0])),
        "lam": draw(st.sampled_from([0.8, 0.95, 0.25, 0.6])),
    }


@KATA.cases
def cases(draw):
    """Rows that end inside of an episode and at its end; now and then a factor is left out."""
    kind = draw(st.sampled_from(KINDS))
    options = draw_factors(draw)
    if kind == "defaults":
        options = draw(st.sampled_from([{}, {"gamma": 0.5}, {"lam": 0.25}]))
    return {**draw_steps(draw, kind), "options": options}


@KATA.corner(points=0.5)
def row_ends_with_its_episode(dones):
    """Where a row ends with the end of an episode, last_value has no effect."""
    return bool(dones[:, -1].any())


@KATA.corner(points=0.5)
def options_left_out(options):
    """What is left out has the default of the signature."""
    return len(options) < 2


def printed(*ends):
    """A line of the statement's example."""
    return {
        "rewards": np.array([[1.0, 0.0, 2.0]]),
        "values": np.array([[0.5, 1.0, 1.0]]),
        "last_value": np.array([4.0]),
        "dones": np.array([ends]),
        "options": {"gamma": 0.5, "lam": 0.5},
    }


@KATA.example
def printed_without_an_end():
    return printed(False, False, False)


@KATA.example
def printed_with_an_end_in_the_middle():
    return printed(False, True, False)


@KATA.example
def printed_with_an_end_at_the_last_step():
    return printed(False, False, True)


@KATA.example
def gamma_and_lam_left_out():
    return {**printed(False, False, False), "options": {}}


@KATA.example
def gamma_left_out():
    return {**printed(False, False, False), "options": {"lam": 0.5}}


@KATA.example
def lam_left_out():
    return {**printed(False, False, False), "options": {"gamma": 0.5}}


@KATA.example
def gamma_of_0():
    """Nothing that follows counts."""
    return {**printed(False, False, False), "options": {"gamma": 0.0, "lam": 0.5}}


@KATA.example
def lam_of_0():
    """One step counts, and the value behind it."""
    return {**printed(False, True, False), "options": {"gamma": 0.5, "lam": 0.0}}


@KATA.example
def gamma_and_lam_of_1():
    return {**printed(False, True, False), "options": {"gamma": 1.0, "lam": 1.0}}


@KATA.observe
def observe(student, rewards, values, dones, last_value, options):
    """The two results by name."""
    answer = student.gae(rewards, values, dones, last_value, **options)
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {"advantages": answer[0], "returns": answer[1]}
    return {"result": answer}


def estimate(student, rewards, values, dones, last_value, **options):
    """The advantages and the returns, once they are two arrays of the right shape."""
    answer = student.gae(rewards, values, dones, last_value, **options)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "The result must be the tuple (advantages, returns).")
    shapes, due = [getattr(part, "shape", None) for part in answer], rewards.shape
    expect.true(shapes == [due] * 2, f"Each result must have the shape {due}; they came with {shapes}.")
    return answer


def moved(values, last_value):
    """The value after each step."""
    return np.concatenate([values[:, 1:], last_value[:, None]], axis=1)


def steps(draw):
    return {**draw_steps(draw), "gamma": draw_factors(draw)["gamma"]}


@KATA.law(points=1, cases=steps)
def test_lam_0_is_one_step(student, rewards, values, dones, last_value, gamma):
    """With lam = 0 the advantage is reward + gamma * next value - value, where an end has no next value."""
    advantages, _ = estimate(student, rewards, values, dones, last_value, gamma=gamma, lam=0.0)
    due = rewards + gamma * np.where(dones, 0, moved(values, last_value)) - values
    expect.close(advantages, due, "the advantages for lam=0", terms=4, roundings=ROUNDINGS)


@KATA.law(points=1, cases=steps)
def test_lam_1_is_the_return_minus_the_value(student, rewards, values, dones, last_value, gamma):
    """With lam = 1 the advantage is the discounted sum of what follows in the episode, minus the value."""
    advantages, _ = estimate(student, rewards, values, dones, last_value, gamma=gamma, lam=1.0)
    due, after = np.empty(rewards.shape), last_value.astype(np.float64)
    for t in reversed(range(rewards.shape[1])):
        after = rewards[:, t] + gamma * np.where(dones[:, t], 0, after)
        due[:, t] = after - values[:, t]
    expect.close(advantages, due, "the advantages for lam=1", terms=8, roundings=ROUNDINGS)


def steps_around_an_end(draw):
    """Steps with the end of an episode at one step in all rows, and other numbers for what follows it."""
    case = draw_steps(draw)
    rng, (batch, length) = np.random.default_rng(draw(st.integers(0, 2**16))), case["rewards"].shape
    case["dones"] = case["dones"].copy()
    end = draw(st.integers(0, length - 1))
    case["dones"][:, end] = True
    other = np.round(rng.standard_normal((3, batch, length)) * 4, 1).astype(case["rewards"].dtype)
    return {**case, "end": end, "other": other, **draw_factors(draw)}


@KATA.law(points=1, cases=steps_around_an_end)
def test_an_end_cuts(student, rewards, values, dones, last_value, end, other, gamma, lam):
    """What follows the end of an episode changes nothing before it, and the step at the end counts alone."""
    options = {"gamma": gamma, "lam": lam}
    there, _ = estimate(student, rewards, values, dones, last_value, **options)
    new_rewards, new_values = rewards.copy(), values.copy()
    new_rewards[:, end + 1 :], new_values[:, end + 1 :] = other[0, :, end + 1 :], other[1, :, end + 1 :]
    back, _ = estimate(student, new_rewards, new_values, dones, other[2, :, 0], **options)
    upto = slice(None, end + 1)
    what = f"the advantages up to step {end}, with other rewards and values behind it,"
    expect.close(back[:, upto], there[:, upto], what, terms=8, roundings=ROUNDINGS)
    what = f"the advantages of step {end}, at which the episodes end,"
    expect.close(there[:, end], rewards[:, end] - values[:, end], what, terms=4, roundings=ROUNDINGS)


def shifted_steps(draw):
    """Steps, and a number for every state that is to be added to its value."""
    case = draw_steps(draw)
    rng, (batch, length) = np.random.default_rng(draw(st.integers(0, 2**16))), case["rewards"].shape
    potential = np.round(rng.standard_normal((batch, length + 1)) * 4, 1).astype(case["rewards"].dtype)
    return {**case, "potential": potential, **draw_factors(draw)}


@KATA.law(points=0.5, cases=shifted_steps)
def test_only_surprises_count(student, rewards, values, dones, last_value, potential, gamma, lam):
    """Higher values that the rewards live up to raise the returns and leave the advantages."""
    options = {"gamma": gamma, "lam": lam}
    advantages, returns = estimate(student, rewards, values, dones, last_value, **options)
    here, after = potential[:, :-1], np.where(dones, 0, potential[:, 1:])
    given = rewards + here - gamma * after, values + here, dones, last_value + potential[:, -1]
    there = estimate(student, *given, **options)
    what = "the advantages after values and rewards were raised together"
    expect.close(there[0], advantages, what, terms=8, roundings=2 * ROUNDINGS)
    what = "the returns after values and rewards were raised together"
    expect.close(there[1], returns + here, what, terms=8, roundings=2 * ROUNDINGS)
