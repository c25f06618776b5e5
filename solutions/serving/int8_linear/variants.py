"""Right answers to int8_linear in other styles."""

import numpy as np


class works_in_float64:
    """Everything in float64, sums as a product of float matrices, cast back at the end."""

    @staticmethod
    def quantize_rows(x):
        wide = x.astype(np.float64)
        largest = np.max(np.abs(wide), axis=-1, keepdims=True)
        scale = np.where(largest > 0, largest, 127.0) / 127.0
        return np.round(wide / scale).astype("int8"), scale.astype(x.dtype)

    @staticmethod
    def int8_linear(x, w_q, w_scale):
        q, scale = works_in_float64.quantize_rows(x)
        sums = np.matmul(q.astype(np.float64), w_q.T.astype(np.float64))
        return (sums * scale.astype(np.float64) * w_scale[:, 0].astype(np.float64)).astype(x.dtype)


class row_by_row:
    """Python's own numbers: round() rounds halves to even."""

    @staticmethod
    def quantize_rows(x):
        q = np.zeros(x.shape, dtype=np.int8)
        scale = np.ones((*x.shape[:-1], 1), dtype=x.dtype)
        for index in np.ndindex(*x.shape[:-1]):
            row = x[index].tolist()
            largest = max(abs(value) for value in row)
            if largest > 0:
                scale[index] = largest / 127
                q[index] = [round(value / (largest / 127)) for value in row]
        return q, scale

    @staticmethod
    def int8_linear(x, w_q, w_scale):
        q, scale = row_by_row.quantize_rows(x)
        weight, steps = w_q.tolist(), w_scale.ravel().tolist()
        result = np.zeros((*x.shape[:-1], len(weight)), dtype=x.dtype)
        for index in np.ndindex(*x.shape[:-1]):
            row = q[index].tolist()
            sums = [sum(a * b for a, b in zip(row, other, strict=True)) for other in weight]
            result[index] = [s * step * float(scale[index][0]) for s, step in zip(sums, steps, strict=True)]
        return result


def einsum_with_a_wide_sum(x, w_q, w_scale):
    """einsum in int64, the weight's scales as a row."""
    largest = abs(x).max(-1, keepdims=True)
    scale = (largest / 127).astype(x.dtype)
    safe = np.where(scale > 0, scale, np.ones_like(scale))
    q = np.clip(np.rint(x / safe), -127, 127).astype(np.int8)
    sums = np.einsum("...i,oi->...o", q, w_q, dtype=np.int64)
    return sums.astype(x.dtype) * (scale * w_scale.reshape(-1))


def multiplies_by_the_paper_s_factor(x):
    """As the paper has it, 127 divided by the largest, turned round for the scale."""
    largest = np.linalg.norm(x, ord=np.inf, axis=-1, keepdims=True) if x.ndim == 1 else None
    if largest is None:
        largest = np.maximum(x.max(axis=-1, keepdims=True), -x.min(axis=-1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.asarray(127, x.dtype) / largest
        q = np.nan_to_num(np.around(x * factor)).astype(np.int8)
    return q, (largest / np.asarray(127, x.dtype)).astype(x.dtype)


def divides_zeros_by_zero(x):
    """A row of zeros has the scale 0; 0 / 0 is NaN, of which the cast makes 0 here."""
    scale = np.abs(x).max(axis=-1, keepdims=True) / 127
    return np.rint(x / scale).astype(np.int8), scale


def clamps_the_scale(x):
    """A scale of at least one billionth, so that zeros divide by something; in place on own buffers."""
    scale = np.amax(np.absolute(x), axis=x.ndim - 1)[..., np.newaxis]
    scale = scale * x.dtype.type(1 / 127)
    np.maximum(scale, x.dtype.type(1e-9), out=scale)
    steps = np.divide(x, scale)
    np.rint(steps, out=steps)
    return steps.astype(np.int8), scale


def column_by_column(x, w_q, w_scale):
    """float32 products are exact up to 2**24: one output at a time, on flattened rows."""
    rows = x.reshape(-1, x.shape[-1])
    top = np.array([np.abs(row).max() for row in rows], dtype=x.dtype)
    step = np.where(top == 0, 1, top / 127).astype(x.dtype)
    q = np.rint(rows / step[:, None]).astype(np.float32)
    out = np.empty((len(rows), len(w_q)), dtype=x.dtype)
    for o, weights in enumerate(w_q):
        out[:, o] = (q @ weights.astype(np.float32)) * step * w_scale[o, 0]
    return out.reshape(*x.shape[:-1], len(w_q))
