"""Learning rates: first up, then down.

At its first steps a Transformer has gradients of any size and an optimiser without a
memory, and a full learning rate can ruin it. So the rate grows from almost nothing
during the warm-up, and then falls, slowly, so that training can settle. Two schedules
are in common use.

The one of 2017 knows no end. Steps count from 1:

    noam_lr(step)           =  d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)

The two curves in the minimum meet at warmup_steps: before it the second one is smaller,
which is a straight line, after it the first one. The other schedule is given its
largest rate and its end. Steps count from 0:

    warmup_cosine_lr(step)
        step < warmup_steps   max_lr * step / warmup_steps
        up to total_steps     min_lr + (max_lr - min_lr) * (1 + cos(pi * progress)) / 2
        from then on          min_lr

    progress = (step - warmup_steps) / (total_steps - warmup_steps)        from 0 to 1

So the rate is 0 at step 0, max_lr at warmup_steps, the mean of max_lr and min_lr
half-way from there to the end, and min_lr at total_steps and ever after. warmup_steps
may be 0 here: then there is no warm-up, and step 0 has max_lr. min_lr is where the
cosine ends; the warm-up begins at 0 whatever min_lr is.

Example:

    noam_lr(step, d_model=512, warmup_steps=4000)
        step    1            2000         4000         16000
        rate    1.747e-7     3.494e-4     6.988e-4     3.494e-4

    warmup_cosine_lr(step, max_lr=1.0, warmup_steps=2, total_steps=6)
        step    0        1        2        3        4        5        6        7
        rate    0        0.5      1        0.854    0.5      0.146    0        0

Elsewhere: Hugging Face counts as here, but its cosine rises again after the end.
nanoGPT has counted it / warmup_iters, as here, and (it + 1) / (warmup_iters + 1). The
Annotated Transformer takes step 0 for step 1, which is not graded. Some cut the cosine
off by max(min_lr, ...), which is another curve.

What goes wrong: the boundaries. A cosine that counts from step 0 jumps where the
warm-up ends; one that ends a step early or late does not meet min_lr where it should; a
run that goes on beyond total_steps finds its rate rising; a warm-up of 0 steps divides
by zero.

Edge cases with their own checks: the first step, no warm-up, steps beyond the end, a
warm-up below min_lr.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.3, equation 3;
Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts",
section 3, for the cosine; both parts together in Radford et al. 2018, "Improving
Language Understanding by Generative Pre-Training", section 4.1.
"""


def noam_lr(step: int, d_model: int, warmup_steps: int) -> float:
    """Return the rate that rises with the step, then falls with its square root.

    step:         the number of the step, from 1.
    d_model:      the width of the model, at least 1.
    warmup_steps: the step with the largest rate, at least 1.
    """
    raise NotImplementedError


def warmup_cosine_lr(
    step: int, max_lr: float, warmup_steps: int, total_steps: int, min_lr: float = 0.0
) -> float:
    """Return the rate that rises with the step, then falls along half a cosine.

    step:         the number of the step, from 0; it may lie beyond total_steps.
    max_lr:       the rate at warmup_steps.
    warmup_steps: how many steps the rate rises, 0 or more.
    total_steps:  the step from which on the rate is min_lr; more than warmup_steps.
    min_lr:       the rate at the end; 0 <= min_lr <= max_lr.
    """
    raise NotImplementedError
