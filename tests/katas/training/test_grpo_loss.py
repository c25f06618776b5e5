"""grpo_loss: its cases and its laws.

Rewards are multiples of a quarter, so that the average of equal ones is exact.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
KINDS = (*["plain"] * 6, "equal rewards", "equal rewards", "padding", "defaults", "defaults")

KATA = Kata(
    "grpo_loss",
    track="training",
    entry_points=("group_advantages", "grpo_loss"),
    title="Better than the group",
    source="Shao et al. 2024, sections 4.1.1 and 4.1.2",
    axes={"rewards": "prompts group", "log_probs": "answers tokens", "advantages": "answers"},
    roundings=ROUNDINGS,
    bank_size=40,
    hints=(
        "Draw the gain of one token over its ratio, once for an advantage of 1 and once for -1. Where is "
        "each of the two curves flat, and on which side of 1?",
        "Advantages: average and deviation of each row, kept as [P, 1]; what is to be divided where all "
        "rewards are equal? Loss: two arrays [N, T], the gain and kl, and one weight for each token. Which "
        "number do the sums of a row have to be divided by?",
        "Put 0 for the differences of the log-probabilities where the mask is False, before any exp, so that "
        "nothing there becomes infinite. The ratio is exp of the first difference; take the smaller of it "
        "and of its limited copy, both times the advantages as a column. kl is exp of the second difference "
        "minus that difference minus 1. Sum each row over its tokens, divide by how many they are, average "
        "the rows, and turn the sign. For the advantages, divide by 1 where the deviation is 0.",
    ),
    hint_for={
        "takes_the_larger_product": 1,
        "limits_every_ratio": 1,
        "divides_by_zero": 2,
        "averages_over_all_tokens": 2,
        "divides_by_the_width_of_the_batch": 2,
        "multiplies_nan_by_0": 3,
    },
)


def draw_rewards(draw, dtype, kind):
    """Rewards of groups that differ within each group; in one kind some group has equal ones."""
    prompts, group = draw(st.sampled_from([2, 3, 1])), draw(st.sampled_from([4, 3, 5, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    rewards = rng.integers(-4, 9, (prompts, group)) / 4 * rng.choice([1, 4], (prompts, 1))
    rewards[:, 0] = rewards[:, 1] + rng.choice([-1.0, 0.5, 2.0], prompts)
    if kind == "equal rewards":
        rewards[rng.integers(prompts)] = draw(st.sampled_from([1.0, 0.0, -0.75]))
    return {"rewards": draw(st.permuted(st.just((rewards + 0.0).astype(dtype))))}


def draw_answers(draw, dtype, kind):
    """Log-probabilities under three models that lie close together, of answers of several lengths."""
    shape = answers, tokens = draw(st.sampled_from([3, 2, 4, 1])), draw(st.sampled_from([4, 5, 3, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    mask = rng.random(shape) < 0.6
    mask[np.arange(answers), rng.integers(tokens, size=answers)] = True
    if kind == "padding":
        mask[rng.integers(answers), rng.integers(tokens)] = False
        mask[~mask.any(axis=1), 0] = True
    level = -2.5 - np.abs(rng.standard_normal(shape))
    arrays = np.round(level + rng.standard_normal((3, *shape)) * 0.4, 2)
    if kind == "padding":
        arrays = np.where(mask, arrays, rng.choice([0.0, -2000.0], arrays.shape))
    advantages = rng.choice([-1.5, -1.0, -0.5, 0.5, 1.0, 2.0], answers)
    names = "log_probs", "old_log_probs", "reference_log_probs"
    given = {name: x.astype(dtype) for name, x in zip(names, arrays, strict=True)}
    given = {**given, "advantages": advantages.astype(dtype), "mask": mask}
    return {name: draw(st.permuted(st.just(x))) for name, x in given.items()}


def draw_options(draw):
    return {
        "clip": draw(st.sampled_from([0.2, 0.1, 0.3, 0.5])),
        "kl_weight": draw(st.sampled_from([0.5, 0.1, 1.0, 0.0])),
    }


@KATA.cases
def cases(draw):
    """Groups of rewards and a batch of answers; one of them is special now and then."""
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.float_dtypes())
    options = draw_options(draw)
    if kind == "defaults":
        options = draw(st.sampled_from([{}, {"clip": 0.3}, {"kl_weight": 0.5}]))
    return {**draw_rewards(draw, dtype, kind), **draw_answers(draw, dtype, kind), "options": options}


@KATA.corner(points=0.5)
def equal_rewards(rewards):
    """A group of equal rewards has advantages of 0."""
    return bool((rewards.max(axis=1) == rewards.min(axis=1)).any())


@KATA.corner(points=0.5)
def large_numbers_at_masked_positions(log_probs, old_log_probs, reference_log_probs):
    """Masked positions do not count, however large their numbers are."""
    return any(x.min() < -1000 for x in (log_probs, old_log_probs, reference_log_probs))


@KATA.corner(points=0.5)
def options_left_out(options):
    """What is left out has the default of the signature."""
    return len(options) < 2


def answers(ratios, mask, advantages, **options):
    """A batch with these ratios, where reference and old policy are the same."""
    old = np.full(np.shape(ratios), -2.0)
    return {
        "log_probs": old + np.log(ratios),
        "old_log_probs": old,
        "reference_log_probs": old.copy(),
        "advantages": np.array(advantages, dtype=float),
        "mask": np.array(mask),
        "options": options,
    }


PRINTED = [[1.5, 1.0], [1.5, 1.0]], [[True, True], [True, False]], [1, -1]


@KATA.example
def printed_without_the_divergence():
    rewards = np.array([[1.0, 0.0, 0.0, 1.0]])
    return {"rewards": rewards, **answers(*PRINTED, clip=0.2, kl_weight=0.0)}


@KATA.example
def far_from_the_old_policy():
    """Log-probabilities lie between -20 and 0, so their differences may be nearly 20."""
    given = answers([[np.e**15, 1.0], [np.e**12.5, 1.0]], [[True, True], [True, True]], [-1, 2])
    given["old_log_probs"] = given["old_log_probs"] - 14
    given["log_probs"] = given["log_probs"] - 14
    given["reference_log_probs"] = np.array([[-18.5, -2.0], [-0.5, -17.0]])
    return {"rewards": np.array([[1.0, 0.0]]), **given, "options": {"clip": 0.2, "kl_weight": 0.5}}


@KATA.example
def printed_with_the_divergence():
    rewards = np.array([[1.0, 0.0, 0.0, 1.0], [3.0, 2.0, 2.0, 2.0]])
    return {"rewards": rewards, **answers(*PRINTED, clip=0.2, kl_weight=0.1)}


@KATA.example
def printed_with_equal_rewards():
    rewards = np.array([[1.0, 0.0, 0.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    return {"rewards": rewards, **answers(*PRINTED, clip=0.2, kl_weight=0.1)}


@KATA.example
def one_group_of_equal_rewards():
    """Without another group, 0 is divided by 0 even where average and deviation are those of the batch."""
    return {"rewards": np.array([[2.0, 2.0, 2.0]]), **answers(*PRINTED, clip=0.2, kl_weight=0.1)}


@KATA.example
def groups_that_all_have_one_reward():
    rewards = np.array([[1.0, 1.0], [1.0, 1.0]])
    return {"rewards": rewards, **answers(*PRINTED, clip=0.3, kl_weight=0.5)}


@KATA.example
def ratios_on_both_sides_of_both_limits():
    ratios, mask = [[0.5, 2.0, 1.1], [0.5, 2.0, 0.9]], [[True] * 3] * 2
    rewards = np.array([[1.0, 0.25, 0.0]])
    return {"rewards": rewards, **answers(ratios, mask, [2, -1], clip=0.3, kl_weight=0.5)}


@KATA.example
def large_numbers_behind_the_answer():
    case = answers([[1.5, 1.0, 1.0], [1.25, 0.5, 1.0]], [[True, False, False], [True, True, False]], [1, -1])
    case["old_log_probs"][0, 1] = case["log_probs"][0, 2] = case["log_probs"][1, 2] = -2000.0
    return {"rewards": np.array([[1.0, 0.25, 0.0]]), **case, "options": {"clip": 0.3, "kl_weight": 0.5}}


@KATA.example
def options_that_are_left_out():
    ratios, mask = [[0.5, 2.0, 1.1], [0.5, 2.0, 0.9]], [[True] * 3] * 2
    return {"rewards": np.array([[1.0, 0.25, 0.0]]), **answers(ratios, mask, [2, -1])}


@KATA.observe
def observe(student, rewards, log_probs, old_log_probs, reference_log_probs, advantages, mask, options):
    """The advantages and the loss."""
    arrays = log_probs, old_log_probs, reference_log_probs, advantages, mask
    return {"advantages": student.group_advantages(rewards), "loss": student.grpo_loss(*arrays, **options)}


def advantages_of(student, rewards):
    """What group_advantages returns, once it has the shape of the rewards."""
    result = student.group_advantages(rewards)
    shape, due = getattr(result, "shape", None), rewards.shape
    expect.true(shape == due, f"The advantages must have the shape {due}; it is {shape}.")
    return result


def loss(student, *arrays, **options):
    """What grpo_loss returns, once it is one number."""
    result = student.grpo_loss(*arrays, **options)
    number = isinstance(result, float) or getattr(result, "shape", None) == ()
    expect.true(number, "The result of grpo_loss must be one number, the average over the answers.")
    return result


def plain_rewards(draw):
    return draw_rewards(draw, draw(st.float_dtypes()), "plain")


@KATA.law(points=1, cases=plain_rewards)
def test_level_and_scale_do_not_count(student, rewards):
    """Level and scale of a group's rewards change nothing: its advantages have mean 0 and deviation 1."""
    advantages = advantages_of(student, rewards)
    expect.close(advantages.mean(axis=1), 0.0, "the mean of each group", terms=8, roundings=ROUNDINGS)
    deviation = np.sqrt((advantages**2).mean(axis=1))
    expect.close(deviation, 1.0, "the deviation of each group", terms=8, roundings=ROUNDINGS)
    kind, numbers = rewards.dtype.type, np.arange(len(rewards))[:, None]
    for what, given in {
        "one 64th of the rewards": rewards / kind(64),
        "rewards that are raised by 2, 3, ...": rewards + (2 + numbers).astype(kind),
        "rewards times 4, 5, ...": rewards * (4 + numbers).astype(kind),
    }.items():
        got = advantages_of(student, given)
        expect.close(got, advantages, f"the advantages of {what}", terms=8, roundings=ROUNDINGS)


def single_tokens(draw):
    """Answers of one token with ratios on both sides of both limits, where policy and reference agree."""
    clip, dtype = draw_options(draw)["clip"], draw(st.float_dtypes())
    ratios = np.array([[1 + 3 * clip], [1 - 0.75 * clip], [1 - 1.5 * clip], [1 + 0.5 * clip]])
    log_probs = np.full((4, 1), -2.0, dtype) + np.log(ratios).astype(dtype)
    size = draw(st.sampled_from([1.0, 0.5, 2.0]))
    return {"log_probs": log_probs, "clip": clip, "size": size}


@KATA.law(points=1, cases=single_tokens)
def test_limit_is_one_sided(student, log_probs, clip, size):
    """A good token gains at most 1 + clip, a bad one costs at least 1 - clip, and all else counts in full."""
    old, mask = np.full_like(log_probs, -2), np.ones(log_probs.shape, dtype=bool)
    ratios = np.exp(log_probs - old)
    for advantage, due in ((size, np.minimum(ratios, 1 + clip)), (-size, np.maximum(ratios, 1 - clip))):
        for at, ratio in enumerate(ratios[:, 0]):
            row = slice(at, at + 1)
            given = (
                log_probs[row],
                old[row],
                log_probs[row],
                np.full(1, advantage, log_probs.dtype),
                mask[row],
            )
            got = loss(student, *given, clip=clip, kl_weight=0.0)
            what = f"the loss of one token with the advantage {advantage:g} and the ratio {ratio:.3g}"
            expect.close(got, -advantage * float(due[at, 0]), what, terms=4, roundings=ROUNDINGS)


def plain_answers(draw):
    return {**draw_answers(draw, draw(st.float_dtypes()), "plain"), "options": draw_options(draw)}


@KATA.law(points=0.5, cases=plain_answers)
def test_length_of_an_answer_does_not_count(
    student, log_probs, old_log_probs, reference_log_probs, advantages, mask, options
):
    """An answer whose tokens are all there twice has the same share of the loss."""
    rows = np.stack([log_probs, old_log_probs, reference_log_probs])
    there = loss(student, *rows, advantages, mask, **options)
    twice, both = np.concatenate([rows, rows], axis=2), np.concatenate([mask, mask], axis=1)
    both[1:, mask.shape[1] :] = False  # the first answer alone
    back = loss(student, *twice, advantages, both, **options)
    what = "the loss after the tokens of the first answer were repeated"
    expect.close(back, there, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_answers)
def test_divergence_is_that_of_equation_4(student, log_probs, reference_log_probs, mask):
    """Where advantages are 0 the loss is kl_weight times the average kl, and 0 at the reference."""
    zeros = np.zeros(len(mask), log_probs.dtype)
    gap = (reference_log_probs - log_probs).astype(np.float64)
    kl = np.where(mask, np.exp(gap) - gap - 1, 0).sum(axis=1) / mask.sum(axis=1)
    for weight in (0.5, 2.0):
        given = log_probs, log_probs, reference_log_probs, zeros, mask
        got, what = loss(student, *given, kl_weight=weight), f"the loss for kl_weight={weight}"
        expect.close(got, weight * kl.mean(), what, terms=8, roundings=ROUNDINGS)
    got = loss(student, log_probs, log_probs, log_probs, zeros, mask, kl_weight=1.0)
    expect.close(got, 0.0, "the loss where policy and reference are the same", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_answers)
def test_policy_that_has_not_moved_gains_the_advantages(student, log_probs, advantages, mask):
    """Where the three models are the same the loss is minus the average advantage."""
    got = loss(student, log_probs, log_probs, log_probs, advantages, mask)
    due = -float(advantages.astype(np.float64).mean())
    expect.close(got, due, "the loss of a policy that has not moved", terms=8, roundings=ROUNDINGS)
