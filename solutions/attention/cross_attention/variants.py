"""Right answers in other styles."""

import math

import numpy as np


def names_the_axes(x_dec, x_enc, w_q, w_k, w_v):
    """Another way: name the axes and let einsum contract them, so that nothing is transposed.

    np.einsum throughout, w_q and w_k multiplied first.
    """
    scores = np.einsum("bim,mn,bjn->bij", x_dec, w_q @ w_k.T, x_enc) * w_q.shape[1] ** -0.5
    powers = np.exp(scores - np.max(scores, axis=2)[:, :, None])
    weights = powers / np.einsum("bij->bi", powers)[..., None]
    return np.einsum("bij,bjm,md->bid", weights, x_enc, w_v), weights


def loops_over_tokens(x_dec, x_enc, w_q, w_k, w_v):
    """One target token at a time, into arrays of the same dtype."""
    output = np.zeros((*x_dec.shape[:2], w_v.shape[1]), dtype=x_dec.dtype)
    weights = np.zeros((*x_dec.shape[:2], x_enc.shape[1]), dtype=x_dec.dtype)
    for b, t in np.ndindex(x_dec.shape[:2]):
        scores = (x_enc[b] @ w_k) @ (x_dec[b, t] @ w_q) / math.sqrt(w_k.shape[1])
        powers = np.exp(scores - max(scores))
        weights[b, t] = powers / sum(powers)
        output[b, t] = weights[b, t] @ x_enc[b] @ w_v
    return output, weights


def works_on_one_copy(x_dec, x_enc, w_q, w_k, w_v):
    """The scores turned into weights in place; queries scaled before the product; a list."""
    weights = (x_dec @ w_q / math.sqrt(w_q.shape[-1])) @ np.swapaxes(x_enc @ w_k, -1, -2)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return [weights @ (x_enc @ w_v), weights]


def keeps_the_source_in_rows(x_dec, x_enc, w_q, w_k, w_v):
    """Scores as k qᵀ, softmax down the columns, both results transposed views."""
    scores = (x_enc @ w_k) @ (x_dec @ w_q).transpose(0, 2, 1) / math.sqrt(w_q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return ((x_enc @ w_v).transpose(0, 2, 1) @ weights).transpose(0, 2, 1), weights.transpose(0, 2, 1)


def computes_in_float64(x_dec, x_enc, w_q, w_k, w_v):
    """Sequence by sequence in float64, through logarithms, cast back at the end."""
    pairs = []
    for dec, enc in zip(x_dec.astype(np.float64), x_enc.astype(np.float64), strict=True):
        scores = np.dot(dec @ w_q, (enc @ w_k).T) / np.sqrt(w_q.shape[1])
        weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        pairs.append((weights @ enc @ w_v, weights))
    output, weights = (np.stack(parts).astype(x_dec.dtype) for parts in zip(*pairs, strict=True))
    return output, weights


def subtracts_the_log_of_the_sum(x_dec, x_enc, w_q, w_k, w_v):
    """Weights as exp(scores - logsumexp(scores)), which loses digits of large scores, and no more."""
    scores = (x_dec @ w_q) @ (x_enc @ w_k).swapaxes(1, 2) / math.sqrt(w_q.shape[1])
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - (largest + np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))))
    return weights @ (x_enc @ w_v), weights
