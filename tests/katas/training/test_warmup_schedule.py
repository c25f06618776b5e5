"""warmup_schedule: its cases and its laws.

Near the end of the decay 1 + cos cancels, and forms that are equal on paper differ beyond the eighth digit;
`ROUNDINGS` leaves room for that.
"""

import itertools

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 1e6

KATA = Kata(
    "warmup_schedule",
    track="training",
    entry_points=("noam_lr", "warmup_cosine_lr"),
    title="First up, then down",
    source="Vaswani et al. 2017, section 5.3; Loshchilov and Hutter 2017, section 3; Radford et al. 2018",
    libraries=("numpy",),
    hints=(
        "Draw both curves by hand over the steps 0 to 8, with a warm-up of 2 steps and the end at 6. Which "
        "value stands exactly at 2 and at 6, and what comes after 6?",
        "Three ranges: below warmup_steps, up to total_steps, and beyond. The cosine's progress is 0 at "
        "warmup_steps and 1 at total_steps. What happens to the first range where the warm-up has no steps?",
        "noam_lr is the formula as it stands. The other has three ranges; for a warm-up of 2 steps and "
        "the end at 6:\n\n"
        "    step        0     1     2     3     4     5     6     7\n"
        "    range       up    up    down  down  down  down  end   end\n"
        "    progress                0     1/4   1/2   3/4\n\n"
        "Below warmup_steps it is the step's share of warmup_steps, times max_lr. From total_steps on it "
        "is min_lr. In between the steps since the warm-up, over the steps of the decay, are the "
        "progress, and half of 1 + cos(pi * progress) is the share of max_lr - min_lr that is left above "
        "min_lr. If the ranges are asked for in this order, a warm-up of 0 steps divides by nothing.",
    ),
    roundings=ROUNDINGS,
    bank_size=48,
)


@KATA.cases
def cases(draw):
    """A step near one of the borders, or anywhere, of one of the two schedules."""
    if draw(st.booleans()):
        warmup_steps = draw(st.sampled_from([4, 1, 2, 3, 10, 400, 4000]))
        near = [1, 2, warmup_steps, warmup_steps + 1, max(warmup_steps // 2, 1), 4 * warmup_steps]
        width = draw(st.sampled_from([4, 1, 3, 64, 512, 768]))
        return noam_case(draw(st.sampled_from([*near, 3, 7, 100_000])), width, warmup_steps)
    return cosine_case(draw)


def noam_case(step, d_model, warmup_steps):
    """Arguments for noam_lr; those of the other schedule are there as well, and not used."""
    return {"schedule": "noam", "step": step, "d_model": d_model, "warmup_steps": warmup_steps}


def cosine_case(draw):
    """Arguments for warmup_cosine_lr."""
    warmup_steps, length = (
        draw(st.sampled_from([2, 3, 5, 10, 1, 0, 100])),
        draw(st.sampled_from([4, 5, 1, 7, 90])),
    )
    total_steps, max_lr = warmup_steps + length, draw(st.sampled_from([1.0, 0.5, 3e-4, 6.0]))
    borders = [
        warmup_steps,
        total_steps,
        max(warmup_steps - 1, 0),
        warmup_steps + 1,
        total_steps - 1,
        total_steps + 1,
    ]
    step = draw(st.sampled_from([*borders, 0, 1, warmup_steps + length // 2, 2 * total_steps, 1000]))
    return {
        "schedule": "cosine",
        "step": step,
        "max_lr": max_lr,
        "warmup_steps": warmup_steps,
        "total_steps": total_steps,
        "min_lr": max_lr * draw(st.sampled_from([0.0, 0.25, 0.1, 0.0, 1.0])),
    }


@KATA.corner(points=0.5)
def beyond_the_end(step, total_steps):
    """Steps beyond total_steps have min_lr."""
    return step > total_steps


@KATA.corner(points=0.5)
def first_step(step, warmup_steps, total_steps):
    """The first step of warmup_cosine_lr is step 0, and has the rate 0 where there is a warm-up."""
    return step == 0 < warmup_steps < total_steps


@KATA.corner(points=0.5)
def warmup_below_min_lr(step, max_lr, warmup_steps, min_lr):
    """The warm-up begins at 0 even if min_lr is larger."""
    return step < warmup_steps and max_lr * step / warmup_steps < min_lr


@KATA.corner(points=0.5)
def no_warmup(schedule, warmup_steps):
    """There may be no warm-up, and then step 0 has max_lr."""
    return schedule == "cosine" and warmup_steps == 0


def printed_cosine(step):
    """A step of the statement's second example."""
    return {
        "schedule": "cosine",
        "step": step,
        "max_lr": 1.0,
        "warmup_steps": 2,
        "total_steps": 6,
        "min_lr": 0.0,
    }


@KATA.example
def printed_noam_step_1():
    return noam_case(1, 512, 4000)


@KATA.example
def printed_noam_step_2000():
    return noam_case(2000, 512, 4000)


@KATA.example
def printed_noam_step_4000():
    return noam_case(4000, 512, 4000)


@KATA.example
def printed_noam_step_16000():
    return noam_case(16_000, 512, 4000)


@KATA.example
def printed_cosine_step_0():
    return printed_cosine(0)


@KATA.example
def printed_cosine_step_1():
    return printed_cosine(1)


@KATA.example
def printed_cosine_step_2():
    return printed_cosine(2)


@KATA.example
def printed_cosine_step_3():
    return printed_cosine(3)


@KATA.example
def printed_cosine_step_4():
    return printed_cosine(4)


@KATA.example
def printed_cosine_step_6():
    return printed_cosine(6)


@KATA.example
def printed_cosine_step_7():
    return printed_cosine(7)


@KATA.example
def end_above_zero():
    """The last step but one, with a min_lr."""
    return {**printed_cosine(5), "min_lr": 0.25}


@KATA.example
def first_step_without_a_warmup():
    return {**printed_cosine(0), "warmup_steps": 0}


@KATA.example
def second_step_without_a_warmup():
    return {**printed_cosine(1), "warmup_steps": 0, "min_lr": 0.25}


@KATA.example
def warmup_below_a_min_lr():
    return {**printed_cosine(1), "warmup_steps": 4, "min_lr": 0.5}


@KATA.example
def long_after_the_end():
    return {**printed_cosine(1000), "min_lr": 0.25}


@KATA.observe
def observe(student, schedule, step, warmup_steps, **others):
    """The rate; a min_lr of 0 is left out, so that the default is judged too."""
    if schedule == "noam":
        return {"result": student.noam_lr(step, others["d_model"], warmup_steps)}
    given = {} if others["min_lr"] == 0 else {"min_lr": others["min_lr"]}
    rate = student.warmup_cosine_lr(step, others["max_lr"], warmup_steps, others["total_steps"], **given)
    return {"result": without_rounding(rate, step, others["max_lr"])}


@KATA.graded_part("warmup_cosine_lr")
def without_rounding(rate, _step, max_lr, *_, **__):
    """The rate, and 0 where it is 0 but for rounding: the cosine of pi/2 is 6e-17 in floats."""
    return 0.0 if isinstance(rate, float) and abs(rate) < 1e-12 * max_lr else rate


def rates(student, name, steps, *arguments):
    """The rates of some steps as an array, once each of them is one number."""
    found = [getattr(student, name)(step, *arguments) for step in steps]
    for step, rate in zip(steps, found, strict=True):
        number = isinstance(rate, float | int) or getattr(rate, "shape", None) == ()
        expect.true(
            number, f"{name} must return one number; for step {step} it returns {type(rate).__name__}."
        )
    return np.array([float(rate) for rate in found])


def schedules(draw):
    """The arguments of short schedules of both kinds, without the step."""
    warmup_steps, length = draw(st.integers(1, 6)), draw(st.integers(2, 8))
    max_lr = draw(st.sampled_from([1.0, 0.5, 3e-4, 6.0]))
    return {
        "d_model": draw(st.sampled_from([1, 3, 16, 64, 512])),
        "max_lr": max_lr,
        "warmup_steps": warmup_steps,
        "total_steps": warmup_steps + length,
        "min_lr": max_lr * draw(st.sampled_from([0.0, 0.125, 0.5])),
    }


@KATA.law(points=0.5, cases=schedules)
def test_largest_rate_ends_the_warmup(student, d_model, max_lr, warmup_steps, total_steps, min_lr):
    """The largest rate of either schedule is at warmup_steps, and is max_lr where that is given."""
    cosine = rates(
        student, "warmup_cosine_lr", range(total_steps + 3), max_lr, warmup_steps, total_steps, min_lr
    )
    noam = rates(student, "noam_lr", range(1, 3 * warmup_steps + 1), d_model, warmup_steps)
    for name, curve, first in (("warmup_cosine_lr", cosine, 0), ("noam_lr", noam, 1)):
        where = f"The largest rate of {name} is at step {warmup_steps} = warmup_steps"
        expect.true(
            first + int(curve.argmax()) == warmup_steps, f"{where}, and not at {first + curve.argmax()}."
        )
    expect.close(
        cosine[warmup_steps], max_lr, "the rate of warmup_cosine_lr at warmup_steps", roundings=ROUNDINGS
    )


@KATA.law(points=0.5, cases=schedules)
def test_warmup_is_proportional(student, d_model, max_lr, warmup_steps, total_steps, min_lr):
    """Up to warmup_steps the rate of either schedule is proportional to the step."""
    steps = range(1, warmup_steps + 1)
    shares = np.array(steps) / warmup_steps
    noam = rates(student, "noam_lr", steps, d_model, warmup_steps)
    expect.close(noam, noam[-1] * shares, f"noam_lr at the steps 1 to {warmup_steps}", roundings=ROUNDINGS)
    cosine = rates(student, "warmup_cosine_lr", steps, max_lr, warmup_steps, total_steps, min_lr)
    expect.close(
        cosine, cosine[-1] * shares, f"warmup_cosine_lr at the steps 1 to {warmup_steps}", roundings=4
    )


@KATA.law(points=0.5, cases=schedules)
def test_decay_is_symmetric(student, max_lr, warmup_steps, total_steps, min_lr):
    """Steps of the decay as far before its middle as behind have rates that add up to max_lr + min_lr."""
    steps = range(warmup_steps, total_steps + 1)
    falling = rates(student, "warmup_cosine_lr", steps, max_lr, warmup_steps, total_steps, min_lr)
    what = f"the sum of the rates at two steps of {warmup_steps} to {total_steps}, each as far from an end,"
    expect.close(falling + falling[::-1], np.full(len(steps), max_lr + min_lr), what, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=schedules)
def test_noam_halves_with_four_times_as_much(student, d_model, warmup_steps):
    """noam_lr halves when d_model is four times as large, and, after the warm-up, when the step is."""
    steps = [1, warmup_steps, warmup_steps + 5]
    narrow = rates(student, "noam_lr", steps, d_model, warmup_steps)
    wide = rates(student, "noam_lr", steps, 4 * d_model, warmup_steps)
    expect.close(
        wide, narrow / 2, f"noam_lr at the steps {steps} for four times the width", roundings=ROUNDINGS
    )
    late = rates(student, "noam_lr", [4 * step for step in steps[1:]], d_model, warmup_steps)
    what = f"noam_lr at the steps {[4 * step for step in steps[1:]]}, against half of those at {steps[1:]},"
    expect.close(late, narrow[1:] / 2, what, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=schedules)
def test_never_rises_after_the_warmup(student, d_model, max_lr, warmup_steps, total_steps, min_lr):
    """Neither schedule rises after warmup_steps, nor after total_steps."""
    steps = range(warmup_steps, 2 * total_steps)
    cosine = rates(student, "warmup_cosine_lr", steps, max_lr, warmup_steps, total_steps, min_lr)
    noam = rates(student, "noam_lr", steps, d_model, warmup_steps)
    for name, curve in (("warmup_cosine_lr", cosine), ("noam_lr", noam)):
        for step, (before, after) in enumerate(itertools.pairwise(curve), start=warmup_steps):
            rises = after > before + 1e-9 * max(abs(curve))
            expect.true(
                not rises, f"{name} rises from {before:.6g} at step {step} to {after:.6g} at the next."
            )
