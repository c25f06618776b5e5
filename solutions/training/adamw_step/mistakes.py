"""What goes wrong in adamw_step: one function a mistake, its docstring what the student is told."""

import inspect
import math

import numpy as np

from grader.mistakes import crude, subtle

_STATE = {}


def _means(gradient, m, v, betas):
    """The new m and v, uncorrected."""
    return betas[0] * m + (1 - betas[0]) * gradient, betas[1] * v + (1 - betas[1]) * gradient**2


def _direction(m, v, step, betas, eps):
    """The corrected mean over the root of the corrected square."""
    return m / (1 - betas[0] ** step) / (np.sqrt(v / (1 - betas[1] ** step)) + eps)


def _adamw(
    parameter,
    gradient,
    m,
    v,
    step,
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.01,
    *,
    means=_means,
    direction=_direction,
    decay=lambda weight_decay, parameter: weight_decay * parameter,
):
    """Right, but for the part that is given."""
    m, v = means(gradient, m, v, betas)
    return parameter - lr * (direction(m, v, step, betas, eps) + decay(weight_decay, parameter)), m, v


def _filled(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """All arguments in their order, those left out as their defaults."""
    return parameter, gradient, m, v, step, lr, betas, eps, weight_decay


def _as_adamw_step(mistake):
    """Give a mistake the signature of the kata, by which the checks know what it replaces."""
    mistake.__signature__ = inspect.signature(_filled)
    return mistake


@_as_adamw_step
def adds_decay_to_the_gradient(*arguments, **options):
    """m and v change with weight_decay, and weights with small gradients shrink no more than others: the
    decay was added to the gradient and went through the root with it. That is Adam with L2; here decay stands
    apart. Check what m and v are made of."""
    parameter, gradient, *rest, weight_decay = _filled(*arguments, **options)
    return _adamw(parameter, gradient + weight_decay * parameter, *rest, weight_decay=0.0)


@_as_adamw_step
def decays_without_the_rate(*arguments, **options):
    """Where lr is small the weights shrink far too fast: the decay is not multiplied by lr. The paper
    multiplies it by a schedule instead; here lr multiplies both parts of the update."""
    *given, weight_decay = _filled(*arguments, **options)
    parameter, m, v = _adamw(*given, weight_decay=0.0)
    return parameter - weight_decay * given[0], m, v


@_as_adamw_step
def decays_the_moved_weights(*arguments, **options):
    """Right without decay or without a gradient; else a little too near to zero or too far from it: the decay
    is taken from weights that have moved already. Check which parameter the decay multiplies."""
    *given, weight_decay = _filled(*arguments, **options)
    parameter, m, v = _adamw(*given, weight_decay=0.0)
    return parameter - given[5] * weight_decay * parameter, m, v


@_as_adamw_step
def decays_upwards(*arguments, **options):
    """Without a gradient the weights grow: the sign of the decay is wrong. It is part of what is
    subtracted."""
    return _adamw(*arguments, decay=lambda weight_decay, parameter: -weight_decay * parameter, **options)


@_as_adamw_step
def forgets_the_decay(*arguments, **options):
    """Without a gradient the weights stay as they were, whatever weight_decay says: the decay is missing.
    What is left is Adam."""
    return _adamw(*arguments, **{**options, "weight_decay": 0.0})


@_as_adamw_step
def decays_towards_the_sign(*arguments, **options):
    """All weights lose the same amount, small ones too: the sign of the weight was taken (L1). Weight decay
    takes a share of the weight itself."""
    return _adamw(
        *arguments, decay=lambda weight_decay, parameter: weight_decay * np.sign(parameter), **options
    )


@subtle
@_as_adamw_step
def decays_matrices_alone(*arguments, **options):
    """Right for arrays of two axes and more; a vector is not decayed. Training scripts often spare biases and
    norms by such a rule, in front of the optimiser; this function decays whatever it is given."""
    spared = arguments[0].ndim < 2
    return _adamw(
        *arguments, decay=lambda weight_decay, parameter: weight_decay * parameter * (not spared), **options
    )


@subtle
@_as_adamw_step
def decays_nothing_by_default(*arguments, **options):
    """Right where weight_decay is given; where it is left out nothing shrinks. Adam has no decay by default,
    AdamW has: check the signature."""
    *given, weight_decay = _filled(*arguments, **{"weight_decay": 0.0, **options})
    return _adamw(*given, weight_decay)


@_as_adamw_step
def adds_eps_before_the_correction(*arguments, **options):
    """Later steps are right and first ones too short where eps is large: eps was added to the root of the raw
    v, and the correction made it larger with it. Correct v, take the root, and only then add eps."""

    def direction(m, v, step, betas, eps):
        correction = math.sqrt(1 - betas[1] ** step) / (1 - betas[0] ** step)
        return correction * m / (np.sqrt(v) + eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def adds_eps_under_the_root(*arguments, **options):
    """Right where eps is tiny beside v; a large eps changes the step too little or too much: it stands under
    the root. Take the root of the corrected v alone, and add eps to it."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] ** step) / np.sqrt(v / (1 - betas[1] ** step) + eps)

    return _adamw(*arguments, direction=direction, **options)


@subtle
@_as_adamw_step
def raises_small_roots_to_eps(*arguments, **options):
    """Entries whose root is above eps come out with too long a step: eps is used as a lower bound. It is
    added to every root."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] ** step) / np.maximum(np.sqrt(v / (1 - betas[1] ** step)), eps)

    return _adamw(*arguments, direction=direction, **options)


@subtle
@_as_adamw_step
def forgets_eps(*arguments, **options):
    """An entry that never had a gradient becomes NaN, and a large eps changes nothing: eps is not added to
    the root. Check a gradient of zero."""

    def direction(m, v, step, betas, _):
        return _direction(m, v, step, betas, 0.0)

    return _adamw(*arguments, direction=direction, **options)


@crude
@_as_adamw_step
def forgets_both_corrections(*arguments, **options):
    """First steps have a wrong length: m and v begin as zeros and are too small by one minus their beta to
    the power of step, and neither is corrected. Divide both before they meet."""

    def direction(m, v, step, betas, eps):  # noqa: ARG001 - the mistake
        return m / (np.sqrt(v) + eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def corrects_m_alone(*arguments, **options):
    """First steps are far too long: m is corrected and v is not, so the divisor is too small. Both begin as
    zeros."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] ** step) / (np.sqrt(v) + eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def corrects_v_alone(*arguments, **options):
    """First steps are too short, the first by the factor 1 - beta1: v is corrected and m is not. Both begin
    as zeros."""

    def direction(m, v, step, betas, eps):
        return m / (np.sqrt(v / (1 - betas[1] ** step)) + eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def corrects_the_root_of_v(*arguments, **options):
    """First steps are too short: the root of v was taken first and its correction afterwards, without a root
    of its own. Divide v itself, then take the root."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] ** step) / (np.sqrt(v) / (1 - betas[1] ** step) + eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def corrects_as_in_the_first_step(*arguments, **options):
    """The first step is right and later ones are not: m and v are divided by 1 - beta at every step. What is
    missing from them shrinks with the number of the step; check the power."""

    def direction(m, v, step, betas, eps):  # noqa: ARG001 - the mistake
        return _direction(m, v, 1, betas, eps)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def counts_steps_from_zero(*arguments, **options):
    """The first step gives NaN or infinities, and each later one has the correction of the step before: step
    counts from 1, and one was taken off. Use it as it comes."""
    *given, step, lr, betas, eps, weight_decay = _filled(*arguments, **options)
    return _adamw(*given, step - 1, lr, betas, eps, weight_decay)


@_as_adamw_step
def counts_one_step_more(*arguments, **options):
    """First steps have the correction of the step after them: one was added to step, which is 1 at the first
    update already."""
    *given, step, lr, betas, eps, weight_decay = _filled(*arguments, **options)
    return _adamw(*given, step + 1, lr, betas, eps, weight_decay)


@_as_adamw_step
def multiplies_beta_by_the_step(*arguments, **options):
    """The first step is right, later ones have the wrong length or sign: beta was multiplied by step. Its
    power is due."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] * step) / (np.sqrt(np.abs(v / (1 - betas[1] * step))) + eps)

    return _adamw(*arguments, direction=direction, **options)


@crude
@_as_adamw_step
def forgets_the_root(*arguments, **options):
    """Large gradients hardly move a weight and small ones throw it far: the quotient is taken with v itself.
    Its root has the size of a gradient."""

    def direction(m, v, step, betas, eps):
        return m / (1 - betas[0] ** step) / (v / (1 - betas[1] ** step) + eps)

    return _adamw(*arguments, direction=direction, **options)


@crude
@_as_adamw_step
def subtracts_the_gradient_alone(*arguments, **options):
    """The step grows with the gradient: lr times the gradient was subtracted, as in gradient descent, though
    m and v are kept. Check what the update is made of."""
    parameter, gradient, m, v, _, lr, betas, _, weight_decay = _filled(*arguments, **options)
    return parameter - lr * (gradient + weight_decay * parameter), *_means(gradient, m, v, betas)


@_as_adamw_step
def divides_the_gradient(*arguments, **options):
    """The step follows the newest gradient alone: it stands above the root in place of its running mean. That
    is RMSProp; check what m is used for."""
    parameter, gradient, m, v, step, lr, betas, eps, weight_decay = _filled(*arguments, **options)
    m, v = _means(gradient, m, v, betas)
    update = gradient / (np.sqrt(v / (1 - betas[1] ** step)) + eps) + weight_decay * parameter
    return parameter - lr * update, m, v


@crude
@_as_adamw_step
def climbs_the_gradient(*arguments, **options):
    """Weights move along the sign of their gradients, so that the loss rises: the update was added."""

    def direction(*means):
        return -_direction(*means)

    return _adamw(*arguments, direction=direction, **options)


@_as_adamw_step
def moves_by_the_old_means(*arguments, **options):
    """The first step moves nothing, and each later one lags behind: the update was made from m and v as they
    came in. Renew both first."""
    parameter, gradient, m, v, step, lr, betas, eps, weight_decay = _filled(*arguments, **options)
    update = _direction(m, v, step, betas, eps) + weight_decay * parameter
    return parameter - lr * update, *_means(gradient, m, v, betas)


@_as_adamw_step
def returns_corrected_means(*arguments, **options):
    """The parameter is right, m and v are too large in the first steps: the corrected ones came back. The
    next step would correct them again; return them raw."""
    parameter, m, v = _adamw(*arguments, **options)
    step, betas = arguments[4], _filled(*arguments, **options)[6]
    return parameter, m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)


@_as_adamw_step
def returns_the_old_means(*arguments, **options):
    """The parameter is right, m and v come back as they came in: the running means never begin to run. Return
    the new ones."""
    parameter, _, _ = _adamw(*arguments, **options)
    return parameter, arguments[2], arguments[3]


@crude
@_as_adamw_step
def returns_the_step(*arguments, **options):
    """The first of the three is near zero: it is the step itself. The parameter after the step is asked
    for."""
    parameter, m, v = _adamw(*arguments, **options)
    return parameter - arguments[0], m, v


@_as_adamw_step
def swaps_the_betas(*arguments, **options):
    """m changes as slowly as v should, and v as fast as m: the two betas are exchanged. The first is for the
    gradient's mean."""
    *given, betas, eps, weight_decay = _filled(*arguments, **options)
    return _adamw(*given, betas[::-1], eps, weight_decay)


@crude
@_as_adamw_step
def keeps_what_is_to_be_dropped(*arguments, **options):
    """m and v jump with every gradient: beta multiplies the new part and 1 - beta the old one. Beta is how
    much of the old mean is kept."""

    def means(gradient, m, v, betas):
        return _means(gradient, m, v, (1 - betas[0], 1 - betas[1]))

    return _adamw(*arguments, means=means, **options)


@_as_adamw_step
def squares_the_mean(*arguments, **options):
    """m is right and v is wrong: it averages the square of m. The square of the gradient belongs there."""

    def means(gradient, m, v, betas):
        m, _ = _means(gradient, m, v, betas)
        return m, betas[1] * v + (1 - betas[1]) * m**2

    return _adamw(*arguments, means=means, **options)


@_as_adamw_step
def forgets_to_square(*arguments, **options):
    """m is right; v averages the sizes of the gradients, and its root no longer has the size of a gradient.
    Square the gradient on its way into v."""

    def means(gradient, m, v, betas):
        return _means(gradient, m, v, betas)[0], betas[1] * v + (1 - betas[1]) * np.abs(gradient)

    return _adamw(*arguments, means=means, **options)


@_as_adamw_step
def adds_the_whole_gradient(*arguments, **options):
    """m is too large: the gradient was added whole, as in SGD with momentum. A running mean takes 1 - beta1
    of it."""

    def means(gradient, m, v, betas):
        return betas[0] * m + gradient, _means(gradient, m, v, betas)[1]

    return _adamw(*arguments, means=means, **options)


@_as_adamw_step
def shares_one_v(*arguments, **options):
    """Right for a single weight; with several all are divided by the same root: v was averaged over the
    array. Every entry has a v of its own."""

    def means(gradient, m, v, betas):
        m, v = _means(gradient, m, v, betas)
        return m, np.full_like(v, v.mean())

    return _adamw(*arguments, means=means, **options)


@subtle
@_as_adamw_step
def ignores_the_betas_given(*arguments, **options):
    """Right for betas of 0.9 and 0.999; others change nothing, since these numbers are written into the code.
    Check that both come from the argument."""
    return _adamw(*arguments, **{**options, "betas": (0.9, 0.999)})


@subtle
@_as_adamw_step
def ignores_the_eps_given(*arguments, **options):
    """Right for an eps of 1e-8; a larger one changes nothing, since the number is written into the code.
    Check that the argument is what is added."""
    return _adamw(*arguments, **{**options, "eps": 1e-8})


@subtle
@_as_adamw_step
def has_another_default_of_lr(*arguments, **options):
    """Right where lr is given; where it is left out the step has another length than 1e-3. Check the
    signature."""
    return _adamw(*arguments, **{"lr": 1e-2, **options})


@subtle
@_as_adamw_step
def has_another_default_of_beta2(*arguments, **options):
    """Right where betas is given; where it is left out v is wrong: its default is that of some training
    recipe (0.95, 0.98). Check the signature."""
    return _adamw(*arguments, **{"betas": (0.9, 0.95), **options})


@subtle
@_as_adamw_step
def has_another_default_of_eps(*arguments, **options):
    """Right where eps is given or gradients are large; where it is left out, steps with tiny gradients are
    too short. The default is larger than the 1e-8 of the signature."""
    return _adamw(*arguments, **{"eps": 1e-6, **options})


@subtle
@_as_adamw_step
def updates_m_and_v_in_place(parameter, gradient, m, v, *rest, **options):
    """The caller's m and v hold the new means after the call: `*=` or `out=` on an argument writes into the
    caller's memory. Make new arrays in the first step."""
    new, m[...], v[...] = _adamw(parameter, gradient, m, v, *rest, **options)
    return new, m, v


@subtle
@_as_adamw_step
def updates_the_parameter_in_place(parameter, *arguments, **options):
    """The caller's parameter has moved after the call: `-=` on an argument writes into the caller's memory.
    Return a new array; it is the caller who decides what becomes of the old one."""
    parameter[...], m, v = _adamw(parameter, *arguments, **options)
    return parameter, m, v


@_as_adamw_step
def starts_from_its_own_state(parameter, gradient, m, v, *rest, **options):
    """The first call is right; a later one with arrays of the same shape goes on from the m and v of the call
    before, whatever it is given. The state belongs to the caller: check what is kept between calls."""
    m, v = _STATE.get((parameter.shape, parameter.dtype), (m, v))
    answer = _adamw(parameter, gradient, m, v, *rest, **options)
    _STATE[parameter.shape, parameter.dtype] = answer[1:]
    return answer


@subtle
@_as_adamw_step
def stops_correcting_after_1000_steps(*arguments, **options):
    """Late steps are of another length: the means are no longer corrected. With a beta2 of 0.999 v is a ninth
    too small at step 2000 without it; the formula has no limit."""
    parameter, gradient, m, v, step, *rest = _filled(*arguments, **options)
    return _adamw(parameter, gradient, m, v, step if step < 1000 else math.inf, *rest)


@subtle
@_as_adamw_step
def raises_a_small_eps(*arguments, **options):
    """Tiny gradients move their weights too little where eps is below 1e-8: it was raised to that. The number
    given is added."""
    *given, eps, weight_decay = _filled(*arguments, **options)
    return _adamw(*given, max(eps, 1e-8), weight_decay)
