"""Right answers to clip_gradients in other styles."""

import math

import numpy as np


def as_pytorch_does(gradients, max_norm):
    """The norm of the norms, 1e-6 beside it, a coefficient of at most 1 for every array, on copies."""
    if not max_norm > 0:
        raise ValueError("max_norm must be positive")
    copies = [None if g is None else g.copy() for g in gradients]
    norms = [np.linalg.norm(g.ravel()) for g in copies if g is not None]
    total_norm = np.linalg.norm(np.array(norms)) if norms else np.float32(0)
    if np.isnan(total_norm) or np.isinf(total_norm):
        raise ValueError("the total norm is not finite")
    coefficient = min(1.0, float(max_norm / (total_norm + 1e-6)))
    for copy in copies:
        if copy is not None:
            copy *= coefficient
    return copies, total_norm


def one_long_vector(gradients, max_norm):
    """All entries joined, scaled, and cut up again."""
    if max_norm <= 0:
        raise ValueError(max_norm)
    kept = [g for g in gradients if g is not None]
    vector = np.concatenate([g.reshape(-1) for g in kept]) if kept else np.zeros(0)
    norm = np.sqrt(np.dot(vector, vector))
    if not np.isfinite(norm):
        raise ValueError("not finite")
    if norm > max_norm:
        vector = (vector * (max_norm / norm)).astype(vector.dtype)
    pieces = iter(np.split(vector, np.cumsum([g.size for g in kept])[:-1]) if kept else [])
    return [None if g is None else next(pieces).reshape(g.shape) for g in gradients], norm


def entry_by_entry(gradients, max_norm):
    """Python's own floats and math.hypot; the check of NaN is a comparison with itself."""
    assert max_norm > 0
    norm = math.hypot(*(float(x) for g in gradients if g is not None for x in g.flat))
    if norm != norm or norm == math.inf:
        raise ValueError(norm)
    clipped = []
    for g in gradients:
        if g is None or norm <= max_norm:
            clipped.append(g)
            continue
        scaled = np.empty_like(g)
        for at in np.ndindex(g.shape):
            scaled[at] = float(g[at]) * max_norm / norm
        clipped.append(scaled)
    return clipped, norm


def in_float64(gradients, max_norm):
    """Widened, measured by einsum and fsum, divided, cast back; an empty array stands for None."""
    if max_norm <= 0:
        raise ValueError("max_norm")
    wide = [np.zeros(0) if g is None else g.astype(np.float64) for g in gradients]
    norm = math.fsum(np.einsum("i,i->", g.ravel(), g.ravel()) for g in wide) ** 0.5
    if not norm < math.inf:
        raise ValueError("norm")
    divisor = max(1.0, norm / max_norm)
    results = [
        None if g is None else (w / divisor).astype(g.dtype) for g, w in zip(gradients, wide, strict=True)
    ]
    return tuple(results), norm


def only_those_that_are_there(gradients, max_norm):
    """Indices of the arrays that are there; vdot; the factor has the arrays' dtype."""
    if max_norm <= 0:
        raise ValueError("the bound must be positive")
    present = {i: g for i, g in enumerate(gradients) if g is not None}
    if not all(np.isfinite(g).all() for g in present.values()):
        raise ValueError("an entry is not finite")
    squared = sum(np.vdot(g, g) for g in present.values())
    result = list(gradients)
    if squared > max_norm**2:
        for i, g in present.items():
            result[i] = np.multiply(g, g.dtype.type(max_norm / np.sqrt(squared)))
    return result, float(np.sqrt(squared))
