"""As PyTorch's single-tensor AdamW has it: the decay first, the root corrected by itself, a step size."""

import math

import numpy as np


def adamw_step(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    beta1, beta2 = betas
    parameter = parameter * (1 - lr * weight_decay)
    exp_avg = m + (gradient - m) * (1 - beta1)
    exp_avg_sq = v * beta2 + gradient * gradient * (1 - beta2)
    bias_correction1, bias_correction2 = 1 - beta1**step, 1 - beta2**step
    step_size = lr / bias_correction1
    denominator = np.sqrt(exp_avg_sq) / math.sqrt(bias_correction2) + eps
    return parameter - step_size * exp_avg / denominator, exp_avg, exp_avg_sq
