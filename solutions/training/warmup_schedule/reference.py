"""Vaswani et al. 2017, equation 3; Loshchilov and Hutter 2017, section 3, after a linear warm-up."""

import math


def noam_lr(step, d_model, warmup_steps):
    """The smaller one of a falling root and a rising line, which meet at warmup_steps."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    """A line up to warmup_steps, half a cosine up to total_steps, and min_lr from then on."""
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step >= total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2
