"""As schedules are written for a LambdaLR: a factor of progress, with max and min around it."""

import math


def noam_lr(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
    if step < warmup_steps:
        return max_lr * float(step) / float(max(1, warmup_steps))
    if step > total_steps:
        return min_lr
    progress = float(step - warmup_steps) / float(max(1, total_steps - warmup_steps))
    coefficient = 0.5 * (1.0 + math.cos(math.pi * progress))
    return min_lr + coefficient * (max_lr - min_lr)
