"""Right answers to adamw_step in other styles."""

import math

import numpy as np


def as_pytorch_does(
    parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    """On copies, in place: decay first, then lerp and addcmul, both corrections folded into scalars."""
    parameter, m, v = parameter.copy(), m.copy(), v.copy()
    beta1, beta2 = betas
    parameter *= 1 - lr * weight_decay
    m += (gradient - m) * (1 - beta1)
    v *= beta2
    v += (1 - beta2) * gradient * gradient
    denominator = np.sqrt(v) / math.sqrt(1 - beta2**step) + eps
    parameter -= lr / (1 - beta1**step) * m / denominator
    return parameter, m, v


def entry_by_entry(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """A loop over the entries, in Python's own floats."""
    results = np.empty_like(parameter), np.empty_like(m), np.empty_like(v)
    for at in np.ndindex(parameter.shape):
        p, g = float(parameter[at]), float(gradient[at])
        mean = betas[0] * float(m[at]) + (1 - betas[0]) * g
        square = betas[1] * float(v[at]) + (1 - betas[1]) * g * g
        root = math.sqrt(square / (1 - math.pow(betas[1], step)))
        p -= lr * (mean / (1 - math.pow(betas[0], step)) / (root + eps) + weight_decay * p)
        for result, number in zip(results, (p, mean, square), strict=True):
            result[at] = number
    return list(results)


def in_float64(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """Widened at the door, flat, and cast back at the end; the decay is subtracted at the end."""
    arrays = parameter, gradient, m, v
    p, g, m, v = (np.asarray(array, dtype=np.float64).reshape(-1) for array in arrays)
    m, v = np.average([m, g], axis=0, weights=[betas[0], 1 - betas[0]]), betas[1] * v + (1 - betas[1]) * g**2
    corrected = m / -np.expm1(step * np.log(betas[0])) if betas[0] else m
    moved = p - lr * corrected / (np.sqrt(v / (1 - np.power(betas[1], step))) + eps)
    moved -= lr * weight_decay * p
    return tuple(part.reshape(parameter.shape).astype(parameter.dtype) for part in (moved, m, v))


def with_scalars_of_the_dtype(
    parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    """Every factor is a scalar of the arrays' dtype, made from Python's floats."""
    kind = parameter.dtype.type
    beta1, beta2, rest1, rest2 = (kind(x) for x in (*betas, 1 - betas[0], 1 - betas[1]))
    m = np.add(np.multiply(beta1, m), np.multiply(rest1, gradient))
    v = np.add(np.multiply(beta2, v), np.multiply(rest2, np.square(gradient)))
    m_hat, v_hat = m / kind(1 - betas[0] ** step), v / kind(1 - betas[1] ** step)
    decayed = parameter * kind(1 - lr * weight_decay)
    return decayed - kind(lr) * m_hat / (np.sqrt(v_hat) + kind(eps)), m, v


class adamw_in_an_object:
    """An object that holds the state for one step."""

    class _Optimiser:
        def __init__(self, m, v, betas):
            self.m, self.v, self.betas = m, v, betas

        def observe(self, gradient):
            self.m = self.m * self.betas[0] + gradient * (1 - self.betas[0])
            self.v = self.v * self.betas[1] + gradient * gradient * (1 - self.betas[1])

        def direction(self, step, eps):
            corrections = [1 - beta**step for beta in self.betas]
            return (self.m / corrections[0]) / (np.power(self.v / corrections[1], 0.5) + eps)

    @staticmethod
    def adamw_step(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        """Observe the gradient, then move."""
        optimiser = adamw_in_an_object._Optimiser(m, v, betas)
        optimiser.observe(gradient)
        moved = parameter - lr * (weight_decay * parameter + optimiser.direction(step, eps))
        return moved, optimiser.m, optimiser.v
