"""What people write instead, and what to tell them.

A function replaces `noam_lr` (it takes `d_model`) or `warmup_cosine_lr`; a class replaces both.
"""

import math

from grader.mistakes import crude, subtle


def _noam(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def _cosine(
    step, max_lr, warmup_steps, total_steps, min_lr=0.0, share=lambda p: (1 + math.cos(math.pi * p)) / 2
):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    progress = min((step - warmup_steps) / (total_steps - warmup_steps), 1)
    return min_lr + (max_lr - min_lr) * share(progress)


@crude
class returns_all_rates_so_far:
    """The result is a list: the rates of all steps up to the one that was asked for. One number is due, that
    of the step itself."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        return [_noam(i, d_model, warmup_steps) for i in range(1, step + 1)][:100]

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        return [_cosine(i, max_lr, warmup_steps, total_steps, min_lr) for i in range(step + 1)][:100]


@crude
class falls_first_and_then_rises:
    """Both schedules are upside down: they fall during the warm-up and rise after it. Check which of the two
    curves is larger at step 1, and the sign of the cosine."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        return max_lr + min_lr - _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@crude
class leaves_out_the_warmups:
    """Both schedules begin with their largest rate: only the part that falls was written. Before warmup_steps
    the rate rises in proportion to the step."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):  # noqa: ARG004 - the mistake
        return d_model**-0.5 * step**-0.5

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):  # noqa: ARG004 - the mistake
        return _cosine(step, max_lr, 0, total_steps, min_lr)


class keeps_the_largest_rate:
    """Both schedules rise and then stay: after warmup_steps nothing falls. Check what is returned from there
    on."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        return _noam(min(step, warmup_steps), d_model, warmup_steps)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        return _cosine(min(step, warmup_steps), max_lr, warmup_steps, total_steps, min_lr)


class divides_integers:
    """During the warm-up the rate is 0, and in the decay it does not move: `//` cuts off what is behind the
    point. A share of steps needs `/`."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        return (d_model * max(step, warmup_steps)) ** -0.5 * min(step // warmup_steps, 1)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        if step < warmup_steps:
            return max_lr * (step // warmup_steps)
        return _cosine(
            warmup_steps if step < total_steps else step, max_lr, warmup_steps, total_steps, min_lr
        )


@crude
class counts_its_own_calls:
    """The rate changes from call to call although the arguments do not: the calls are counted, and `step` is
    not read. A step that is asked for twice has the same rate twice."""

    calls = 0

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):  # noqa: ARG004 - the mistake
        counts_its_own_calls.calls += 1
        return _noam(counts_its_own_calls.calls, d_model, warmup_steps)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):  # noqa: ARG004 - the mistake
        counts_its_own_calls.calls += 1
        return _cosine(counts_its_own_calls.calls - 1, max_lr, warmup_steps, total_steps, min_lr)


def forgets_the_width(step, d_model, warmup_steps):
    """The rate is the same for every d_model, and too large. Check the first factor of the formula."""
    return _noam(step, 1, warmup_steps) + 0 * d_model


def divides_by_the_width(step, d_model, warmup_steps):
    """The rate is too small for every width but 1: it falls with d_model itself. The exponent of d_model is
    -1/2."""
    return _noam(step, d_model * d_model, warmup_steps)


def multiplies_by_the_root_of_the_width(step, d_model, warmup_steps):
    """The rate grows with d_model: its exponent is 1/2 in place of -1/2. A wider model has a smaller rate.
    Check the sign."""
    return _noam(step, 1 / d_model, warmup_steps)


def takes_the_larger_curve(step, d_model, warmup_steps):
    """The rate falls where it must rise and rises for ever after: the larger one of the two curves was taken.
    They meet at warmup_steps, and the smaller one counts."""
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


def rises_too_steeply(step, d_model, warmup_steps):
    """The warm-up is over too early: the line has the exponent -1/2 or -1 for warmup_steps, so it meets the
    falling curve before warmup_steps. Work out the exponent with which both are equal there."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.0)


def rises_with_the_root(step, d_model, warmup_steps):
    """Right from warmup_steps on; before it the rate rises as the root of the step. The warm-up is a straight
    line: the step itself is its factor."""
    return d_model**-0.5 * min(step**-0.5, step**0.5 / warmup_steps)


def falls_with_the_step(step, d_model, warmup_steps):
    """Right up to warmup_steps; from there on the rate falls too fast, as one over the step. It falls with
    the step's root."""
    peak = _noam(warmup_steps, d_model, warmup_steps)
    return peak * min(step / warmup_steps, warmup_steps / step)


def counts_noam_from_zero(step, d_model, warmup_steps):
    """The rate of the next step is returned: 1 was added to the step, as if steps counted from 0. noam_lr
    counts from 1."""
    return _noam(step + 1, d_model, warmup_steps)


def peaks_at_one(step, d_model, warmup_steps):
    """Too large by the root of warmup_steps: the largest rate is d_model^-0.5 whatever the warm-up. Compare
    the rate at warmup_steps with the formula."""
    return _noam(step, d_model, warmup_steps) * warmup_steps**0.5


def warms_up_for_4000_steps(step, d_model, warmup_steps):  # noqa: ARG001 - the mistake
    """Right for a warm-up of 4000 steps, the paper's number; another one changes nothing. Check that the
    parameter is used."""
    return _noam(step, d_model, 4000)


_RATES = {}


def keeps_the_rates_of_another_width(step, d_model, warmup_steps):
    """The first call is right, and later ones with the same step and warm-up get its rate, whatever d_model
    is: rates are kept between calls under too few of their arguments."""
    return _RATES.setdefault((step, warmup_steps), _noam(step, d_model, warmup_steps))


def warms_up_one_step_ahead(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The warm-up is one step ahead: step 0 has a rate above 0, and max_lr comes one step early. Steps count
    from 0, and step 0 has the rate 0."""
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


def divides_by_one_more(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right from warmup_steps on; the warm-up follows (step + 1) / (warmup_steps + 1), as some public code
    has it. Here it is step / warmup_steps, and 0 at step 0."""
    if step < warmup_steps:
        return max_lr * (step + 1) / (warmup_steps + 1)
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@subtle
def begins_with_the_first_step(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right but at step 0, which has the rate of step 1: a rate of 0 was avoided. Step 0 has the rate 0."""
    return _cosine(max(step, min(1, warmup_steps)), max_lr, warmup_steps, total_steps, min_lr)


def warms_up_from_min_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right where min_lr is 0; else the warm-up begins at min_lr. It begins at 0: min_lr belongs to the end
    of the schedule alone."""
    if step < warmup_steps:
        return min_lr + (max_lr - min_lr) * step / warmup_steps
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@subtle
def lifts_the_warmup_to_min_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right but where the warm-up is below min_lr, which is returned there. min_lr is the floor of the cosine
    and not of the warm-up."""
    return max(min_lr, _cosine(step, max_lr, warmup_steps, total_steps, min_lr))


def forgets_the_warmup_in_the_progress(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The rate jumps down where the warm-up ends: the progress of the cosine is counted from step 0. It is 0
    at warmup_steps and 1 at total_steps."""
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    return _cosine(step, max_lr, 0, total_steps, min_lr)


def decays_for_total_steps(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The rate falls too slowly, and is above min_lr at total_steps: the decay was made total_steps long. The
    warm-up is part of them."""
    return _cosine(step, max_lr, warmup_steps, total_steps + warmup_steps, min_lr)


def ends_one_step_early(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """min_lr is reached at total_steps - 1: the decay is one step too short. Its length is total_steps -
    warmup_steps, and its last step is total_steps."""
    if total_steps - warmup_steps < 2:
        return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)
    return _cosine(step, max_lr, warmup_steps, total_steps - 1, min_lr)


def decays_one_step_ahead(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right during the warm-up; warmup_steps itself has less than max_lr, since the decay is one step ahead.
    Its progress at warmup_steps is 0."""
    return _cosine(step + (step >= warmup_steps), max_lr, warmup_steps, total_steps, min_lr)


def decays_in_a_line(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right at both ends and in the middle of the decay; in between the rate lies on a straight line. The
    decay is half a cosine."""
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr, share=lambda p: 1 - p)


def takes_a_quarter_of_the_cosine(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right at both ends of the decay, too large in between: the cosine ran from 0 to pi/2 only. It runs to
    pi, from 1 to -1, and is brought to the range from 1 to 0."""
    return _cosine(
        step,
        max_lr,
        warmup_steps,
        total_steps,
        min_lr,
        share=lambda p: math.cos(math.pi / 2 * p) if p < 1 else 0.0,
    )


def takes_a_whole_cosine(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The rate reaches min_lr in the middle of the decay and is back at max_lr at the end: the cosine ran to
    2 pi. Half of its period is due."""
    return _cosine(
        step, max_lr, warmup_steps, total_steps, min_lr, share=lambda p: (1 + math.cos(2 * math.pi * p)) / 2
    )


def forgets_to_lift_the_cosine(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The rate is negative in the second half of the decay: a cosine runs from 1 to -1. Add 1 and halve it
    before it is used as a share."""
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr, share=lambda p: math.cos(math.pi * p))


def takes_degrees(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """The rate swings up and down during the decay: the cosine was given 180 times the progress. The angle is
    in radians, and half a turn is pi."""
    return _cosine(
        step, max_lr, warmup_steps, total_steps, min_lr, share=lambda p: (1 + math.cos(180 * p)) / 2
    )


def cuts_off_at_min_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right where min_lr is 0; else the cosine falls towards 0 and is cut off at min_lr long before the end.
    It must end at min_lr: scale it to the distance from max_lr."""
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    return max(min_lr, _cosine(step, max_lr, warmup_steps, total_steps))


def adds_min_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right where min_lr is 0; else the rate exceeds max_lr after the warm-up: min_lr was added to a cosine
    that begins at max_lr. The cosine spans max_lr - min_lr."""
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    return min_lr + _cosine(step, max_lr, warmup_steps, total_steps)


def ignores_min_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):  # noqa: ARG001 - the mistake
    """Right where min_lr is 0; else the rate falls to 0 all the same. Check where min_lr is used."""
    return _cosine(step, max_lr, warmup_steps, total_steps)


def takes_min_lr_for_a_share(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right where min_lr is 0 or max_lr is 1; else the rate ends at max_lr * min_lr. min_lr is a rate and not
    a share of max_lr."""
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr * max_lr)


def returns_the_factor(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right where max_lr is 1; else the rate is too large or too small by that factor. Schedulers of
    libraries want a factor for their base rate; here the rate itself is due."""
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr) / max_lr


@subtle
def rises_again_after_the_end(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right up to total_steps; beyond it the rate rises again, because the cosine goes on. From total_steps
    on the rate is min_lr."""
    if step <= total_steps:
        return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


@subtle
def decays_to_zero_after_the_end(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right up to total_steps; beyond it the rate is 0, although min_lr is larger. From total_steps on the
    rate is min_lr."""
    return 0.0 if step > total_steps else _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@subtle
def begins_again_after_the_end(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right up to total_steps; beyond it the schedule begins anew, with another warm-up. Restarts belong to
    SGDR; here the rate stays at min_lr."""
    if step > total_steps:
        step %= total_steps
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@subtle
def refuses_steps_beyond_the_end(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """A step beyond total_steps raises an error, and ends a run that goes on a little longer. From
    total_steps on the rate is min_lr."""
    if step > total_steps:
        raise IndexError(f"step {step} of {total_steps}")
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)


@subtle
def divides_by_a_warmup_of_0(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """A warm-up of 0 steps raises a ZeroDivisionError: the share of the warm-up is computed before it is
    known that there is one. Without a warm-up, step 0 has max_lr."""
    return min(max_lr * step / warmup_steps, _cosine(step, max_lr, warmup_steps, total_steps, min_lr))


@subtle
def warms_up_step_0_without_a_warmup(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """Right with a warm-up; without one, step 0 has the rate 0: the divisor was made 1, and 0 / 1 is 0. No
    step is below a warm-up of 0 steps, so step 0 has max_lr."""
    if step <= warmup_steps:
        return max_lr * step / max(warmup_steps, 1)
    return _cosine(step, max_lr, warmup_steps, total_steps, min_lr)
