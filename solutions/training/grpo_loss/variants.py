"""Right answers to grpo_loss in other styles."""

import math

import numpy as np


class token_by_token:
    """Loops over groups, answers and tokens, in Python's own floats."""

    @staticmethod
    def group_advantages(rewards):
        result = np.zeros_like(rewards)
        for row, group in enumerate(rewards.tolist()):
            if max(group) > min(group):
                mean = math.fsum(group) / len(group)
                deviation = math.sqrt(math.fsum((r - mean) ** 2 for r in group) / len(group))
                result[row] = [(r - mean) / deviation for r in group]
        return result

    @staticmethod
    def grpo_loss(log_probs, old_log_probs, reference_log_probs, advantages, mask, clip=0.2, kl_weight=0.04):
        total = 0.0
        for answer, advantage in enumerate(advantages):
            losses = []
            for t in np.flatnonzero(mask[answer]):
                new = float(log_probs[answer, t])
                ratio = math.exp(new - float(old_log_probs[answer, t]))
                best = min(ratio, 1 + clip) if advantage > 0 else max(ratio, 1 - clip)
                gap = float(reference_log_probs[answer, t]) - new
                losses.append(kl_weight * (math.expm1(gap) - gap) - best * float(advantage))
            total += sum(losses) / len(losses)
        return total / len(advantages)


class by_flat_tokens:
    """Another way: only the tokens that count, as one vector, weighted by one over their answer's length."""

    @staticmethod
    def group_advantages(rewards):
        deviation = np.std(rewards, axis=1)[:, None]
        centred = rewards - np.mean(rewards, axis=1)[:, None]
        return np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 1e-6)

    @staticmethod
    def grpo_loss(log_probs, old_log_probs, reference_log_probs, advantages, mask, clip=0.2, kl_weight=0.04):
        answer, _ = np.nonzero(mask)
        new, old, reference = log_probs[mask], old_log_probs[mask], reference_log_probs[mask]
        ratio, a = np.exp(new) / np.exp(old), advantages[answer]
        loss = np.maximum(-ratio * a, -np.clip(ratio, 1 - clip, 1 + clip) * a)
        quotient = np.exp(reference - new)
        loss = loss + kl_weight * (quotient - np.log(quotient) - 1)
        weights = 1 / np.bincount(answer)[answer] / len(advantages)
        return float(np.dot(loss, weights))


class with_means_of_masked_arrays:
    """The deviation from the norm of the differences; the loss by numpy.ma, in float64."""

    @staticmethod
    def group_advantages(rewards):
        centred = np.asarray(rewards, np.float64)
        centred = centred - centred.mean(axis=1, keepdims=True)
        norm = np.linalg.norm(centred, axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            result = centred / norm * math.sqrt(rewards.shape[1])
        return np.where(norm > 0, result, 0.0).astype(rewards.dtype)

    @staticmethod
    def grpo_loss(log_probs, old_log_probs, reference_log_probs, advantages, mask, clip=0.2, kl_weight=0.04):
        new, old, reference = (
            np.ma.array(x.astype(np.float64), mask=~mask)
            for x in (log_probs, old_log_probs, reference_log_probs)
        )
        ratio, a = np.ma.exp(new - old), advantages[:, None].astype(np.float64)
        gain = np.ma.where(a > 0, np.ma.minimum(ratio, 1 + clip), np.ma.maximum(ratio, 1 - clip)) * a
        kl = np.ma.exp(reference - new) + new - reference - 1
        return -float(gain.mean(axis=1).mean() - kl_weight * kl.mean(axis=1).mean())
