"""Right answers to ring_attention in other styles."""

import numpy as np


class numerator_and_denominator:
    """The running values of the paper: numerator, denominator, maximum; one division at the end."""

    @staticmethod
    def merge(first, second):
        """Both outputs multiplied out under the larger log-sum, which may be -inf in both."""
        (o1, l1), (o2, l2) = first, second
        top = np.maximum(l1, l2)
        safe = np.where(top > -np.inf, top, 0).astype(l1.dtype)
        w1, w2 = np.exp(l1 - safe), np.exp(l2 - safe)
        total = w1 + w2
        nonzero = np.where(total > 0, total, 1).astype(l1.dtype)
        with np.errstate(divide="ignore"):
            return (w1 * o1 + w2 * o2) / nonzero, safe + np.log(total)

    @staticmethod
    def ring_attention(q, k, v, rank, size, causal, shift):
        """Send before computing, as overlapping code does."""
        tokens, width = q.shape
        top = np.full((tokens, 1), -np.inf, q.dtype)
        down, up = np.zeros((tokens, 1), q.dtype), np.zeros((tokens, v.shape[1]), q.dtype)
        for hop in range(size):
            following = (shift(k), shift(v)) if hop + 1 < size else None
            source = (rank - hop) % size
            if not causal or source <= rank:
                scores = np.einsum("id,jd->ij", q, k) * width**-0.5
                if causal:
                    at = np.arange(tokens)
                    scores[rank * tokens + at[:, None] < source * tokens + at] = -np.inf
                new = np.maximum(top, scores.max(1, keepdims=True))
                powers, change = np.exp(scores - new), np.exp(top - new)
                down = down * change + powers.sum(1, keepdims=True)
                up = up * change + powers @ v
                top = new
            if following:
                k, v = following
        return up / down


class keys_and_values_together:
    """One array travels, with keys and values side by side; a shifted softmax for each row."""

    @staticmethod
    def merge(first, second):
        """Row by row, with an if for rows that have seen no key."""
        outputs, sums = np.empty_like(first[0]), np.empty_like(first[1])
        for row in range(len(sums)):
            a, b = float(first[1][row, 0]), float(second[1][row, 0])
            if b == -np.inf:
                outputs[row], sums[row] = first[0][row], a
            elif a == -np.inf:
                outputs[row], sums[row] = second[0][row], b
            else:
                share = 1 / (1 + np.exp(min(b - a, 500.0)))
                outputs[row] = share * first[0][row] + (1 - share) * second[0][row]
                sums[row] = np.logaddexp(a, b)
        return [outputs, sums]

    @staticmethod
    def ring_attention(q, k, v, rank, size, causal, shift):
        """One shift a hop; a rank with nothing to see merges with empty rows."""
        block = np.concatenate([k, v], axis=1)
        tokens, width = k.shape
        pair = np.zeros((tokens, v.shape[1]), q.dtype), np.full((tokens, 1), -np.inf, q.dtype)
        for hop in range(size):
            if hop:
                block = shift(block)
            source = (rank - hop + size) % size
            for row in range(tokens):
                seen = tokens
                if causal:
                    seen = int(np.clip(rank * tokens + row + 1 - source * tokens, 0, tokens))
                if not seen:
                    continue
                scores = block[:seen, :width] @ q[row] / np.sqrt(np.array(width, q.dtype))
                largest = scores.max()
                powers = np.exp(scores - largest)
                one = (powers / powers.sum() @ block[:seen, width:])[None]
                log_sum = (largest + np.log(powers.sum())).reshape(1, 1)
                here = (pair[0][row : row + 1], pair[1][row : row + 1])
                pair[0][row], pair[1][row] = keys_and_values_together.merge(here, (one, log_sum))
        return pair[0]


class in_float64:
    """All in float64, cast at the end; np.logaddexp over stacked pairs."""

    @staticmethod
    def merge(first, second):
        """Stack, reduce, weigh."""
        kind = first[0].dtype
        outputs = np.stack([first[0], second[0]]).astype(np.float64)
        sums = np.stack([first[1], second[1]]).astype(np.float64)
        both = np.logaddexp.reduce(sums, axis=0)
        shares = np.exp(sums - np.nan_to_num(both, neginf=0.0))
        return (shares * outputs).sum(0).astype(kind), both.astype(kind)

    @staticmethod
    def ring_attention(q, k, v, rank, size, causal, shift):
        """Values travel first; the pairs are merged in the order of arrival."""
        pair, wide = None, q.astype(np.float64) / q.shape[1] ** 0.5
        for hop in range(size):
            if hop > 0:
                v = shift(v)
                k = shift(k)
            if causal and hop > rank:
                continue
            scores = wide @ k.T.astype(np.float64)
            if causal and hop == 0:
                scores = scores + np.triu(np.full(scores.shape, -1e30), 1)
            log_sum = np.logaddexp.reduce(scores, axis=1, keepdims=True)
            here = (np.exp(scores - log_sum) @ v, log_sum)
            pair = here if pair is None else in_float64.merge(pair, here)
        return pair[0].astype(q.dtype)
