"""Right answers in other styles."""

import math

import numpy as np


class counts_down_the_progress:
    """As in public training scripts: the three ranges by early returns, a coefficient from 1 to 0."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        return (d_model ** (-0.5)) * min(step ** (-0.5), step * warmup_steps ** (-1.5))

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        if step < warmup_steps:
            return max_lr * step / warmup_steps
        if step > total_steps:
            return min_lr
        decay_ratio = (step - warmup_steps) / (total_steps - warmup_steps)
        assert 0 <= decay_ratio <= 1
        coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
        return min_lr + coeff * (max_lr - min_lr)


class squares_half_the_angle:
    """(1 + cos x) / 2 as the square of cos(x / 2); progress cut to [0, 1]; noam as two cases."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        if step < warmup_steps:
            return step / (warmup_steps * math.sqrt(warmup_steps * d_model))
        return 1 / math.sqrt(d_model * step)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        if step <= warmup_steps and warmup_steps:
            return step / warmup_steps * max_lr
        progress = min((step - warmup_steps) / (total_steps - warmup_steps), 1.0)
        share = math.cos(math.pi / 2 * progress) ** 2
        return share * max_lr + (1 - share) * min_lr


class computes_in_numpy:
    """NumPy's scalars throughout, the ranges chosen by np.where."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        step, warmup_steps = np.float64(step), np.float64(warmup_steps)
        return np.minimum(step**-0.5, step * warmup_steps**-1.5) / np.sqrt(d_model)

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        progress = np.clip((step - warmup_steps) / (total_steps - warmup_steps), 0, 1)
        cosine = min_lr + 0.5 * (max_lr - min_lr) * (1 + np.cos(np.pi * progress))
        return np.where(step < warmup_steps, max_lr * step / max(warmup_steps, 1), cosine)[()]


class scales_the_peak:
    """noam as the peak times a share; the cosine between its two ends by their mean and half-distance."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        peak = math.pow(d_model * warmup_steps, -0.5)
        return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        middle, swing = (max_lr + min_lr) / 2, (max_lr - min_lr) / 2
        step = min(step, total_steps)
        if warmup_steps > step:
            return step * (max_lr / warmup_steps)
        return middle - swing * math.sin(
            math.pi * ((step - warmup_steps) / (total_steps - warmup_steps) - 0.5)
        )


class looks_up_the_table:
    """The whole curve as a list, of which the last entry serves all later steps; noam by logarithms."""

    @staticmethod
    def noam_lr(step, d_model, warmup_steps):
        logarithm = min(-0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup_steps))
        return math.exp(logarithm - 0.5 * math.log(d_model))

    @staticmethod
    def warmup_cosine_lr(step, max_lr, warmup_steps, total_steps, min_lr=0.0):
        rising = [max_lr * i / warmup_steps for i in range(warmup_steps)]
        length = total_steps - warmup_steps
        falling = [
            min_lr + (max_lr - min_lr) * 0.5 * (math.cos(math.pi * i / length) + 1) for i in range(length + 1)
        ]
        table = rising + falling
        return table[min(step, len(table) - 1)]
