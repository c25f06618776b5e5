"""Right answers to tensor_parallel in other styles."""

import numpy as np


def both_conjugates(x, w1, b1, w2, b2, grad, all_reduce):
    """Megatron's f and g as two small classes, forward and backward."""

    class Copy:  # f: the same forward, a sum backward
        forward, backward = staticmethod(lambda a: a), staticmethod(all_reduce)

    class Sum:  # g: a sum forward, the same backward
        forward, backward = staticmethod(all_reduce), staticmethod(lambda a: a)

    entered = Copy.forward(x)
    before = np.dot(entered, w1) + b1
    keeps = before > 0
    hidden = np.where(keeps, before, np.zeros_like(before))
    output = Sum.forward(np.dot(hidden, w2)) + b2
    g = Sum.backward(grad)
    d_before = np.where(keeps, np.dot(g, w2.T), np.zeros_like(before))
    return (
        output,
        Copy.backward(np.dot(d_before, w1.T)),
        np.dot(entered.T, d_before),
        np.sum(d_before, axis=0),
        np.dot(hidden.T, g),
        np.sum(grad, axis=0),
    )


def backward_first(x, w1, b1, w2, b2, grad, all_reduce):
    """With einsum; the ranks meet for the gradient before they meet for the output."""
    before = np.einsum("td,df->tf", x, w1) + b1
    gate = (before > 0).astype(x.dtype)
    d_before = np.einsum("tm,fm->tf", grad, w2) * gate
    d_x = all_reduce(np.einsum("tf,df->td", d_before, w1))
    output = all_reduce(np.einsum("tf,fm->tm", before * gate, w2))
    d_w1 = np.einsum("td,tf->df", x, d_before)
    d_w2 = np.einsum("tf,tm->fm", before * gate, grad)
    return [output + b2, d_x, d_w1, np.einsum("tf->f", d_before), d_w2, np.einsum("tm->m", grad)]


def in_one_sum(x, w1, b1, w2, b2, grad, all_reduce):
    """Both sums in one call, since grad is known beforehand."""
    before = x @ w1 + b1
    d_before = grad @ w2.T
    d_before[before <= 0] = 0
    hidden = before.clip(min=0)
    output, d_x = all_reduce(np.stack([hidden @ w2, d_before @ w1.T]))
    return output + b2, d_x, x.T @ d_before, d_before.sum(0), hidden.T @ grad, grad.sum(0)


def unit_by_unit(x, w1, b1, w2, b2, grad, all_reduce):
    """A loop over the rank's hidden numbers, in float64."""
    kind = x.dtype
    x, w1, b1, w2, grad = (np.asarray(a, dtype=np.float64) for a in (x, w1, b1, w2, grad))
    part, d_part = np.zeros(x.shape), np.zeros(x.shape)
    d_w1, d_b1, d_w2 = np.zeros(w1.shape), np.zeros(b1.shape), np.zeros(w2.shape)
    for unit in range(len(b1)):
        for t, token in enumerate(x):
            total = float(token @ w1[:, unit] + b1[unit])
            if total <= 0:
                continue
            part[t] += total * w2[unit]
            back = float(grad[t] @ w2[unit])
            d_part[t] += back * w1[:, unit]
            d_w1[:, unit] += back * token
            d_b1[unit] += back
            d_w2[unit] += total * grad[t]
    output, d_x = all_reduce(part) + b2, all_reduce(d_part)
    return tuple(a.astype(kind) for a in (output, d_x, d_w1, d_b1, d_w2, grad.sum(0)))
