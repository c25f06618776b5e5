"""Right answers to dpo_loss in other styles."""

import math

import numpy as np


class token_by_token:
    """Loops over rows, tokens and pairs, in Python's own floats."""

    @staticmethod
    def answer_log_probs(logits, ids, is_answer):
        totals = np.zeros(len(logits), dtype=logits.dtype)
        for row in range(len(logits)):
            total = 0.0
            for t in range(1, ids.shape[1]):
                if is_answer[row, t]:
                    scores = [float(score) for score in logits[row, t - 1]]
                    top = max(scores)
                    total += scores[int(ids[row, t])] - top
                    total -= math.log(math.fsum(math.exp(score - top) for score in scores))
            totals[row] = total
        return totals

    @staticmethod
    def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=0.1):
        losses = []
        for pc, pr, rc, rr in zip(
            policy_chosen, policy_rejected, reference_chosen, reference_rejected, strict=True
        ):
            h = beta * ((float(pc) - float(pr)) - (float(rc) - float(rr)))
            losses.append(math.log1p(math.exp(-h)) if h > 0 else -h + math.log1p(math.exp(h)))
        return sum(losses) / len(losses)


class with_labels_to_ignore:
    """Labels of -100 for what does not count, moved by one; the loss by the maximum and log1p."""

    @staticmethod
    def answer_log_probs(logits, ids, is_answer):
        """Another way: labels of -100 mark what does not count, as in most trainers."""
        labels = np.where(is_answer, ids.astype(np.int64), -100)[:, 1:]
        rows, columns = np.nonzero(labels != -100)
        scores = logits[rows, columns]
        scores = scores - scores.max(axis=1)[:, None]
        picked = scores[np.arange(len(rows)), labels[rows, columns]]
        result = np.zeros(len(logits), dtype=logits.dtype)
        np.add.at(result, rows, picked - np.log(np.exp(scores).sum(axis=1)))
        return result

    @staticmethod
    def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=0.1):
        policy_ratio = policy_chosen - policy_rejected
        reference_ratio = reference_chosen - reference_rejected
        h = beta * (policy_ratio - reference_ratio)
        return float(np.mean(np.maximum(-h, 0) + np.log1p(np.exp(-np.abs(h)))))


class with_one_hot_and_einsum:
    """One-hot rows instead of indices, in float64, cast back; the rewards of the paper by name."""

    @staticmethod
    def answer_log_probs(logits, ids, is_answer):
        wide = np.asarray(logits, dtype=np.float64)
        top = wide.max(axis=-1)
        log_sum = top + np.log(np.exp(wide - top[..., None]).sum(axis=-1))
        hot = np.eye(wide.shape[-1])[ids]
        of_ids = np.einsum("btv,btv->bt", wide[:, :-1] - log_sum[:, :-1, None], hot[:, 1:])
        return np.where(is_answer[:, 1:], of_ids, 0.0).sum(axis=1).astype(logits.dtype)

    @staticmethod
    def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=0.1):
        reward_chosen = beta * (policy_chosen - reference_chosen)
        reward_rejected = beta * (policy_rejected - reference_rejected)
        top = np.maximum(reward_chosen, reward_rejected)
        total = np.exp(reward_chosen - top) + np.exp(reward_rejected - top)
        return np.average(top + np.log(total) - reward_chosen)


class with_a_sum_of_the_mask:
    """Rows rolled by one, the first column put to zero; the loss as a cross-entropy of two classes."""

    @staticmethod
    def answer_log_probs(logits, ids, is_answer):
        top = logits.max(axis=2, keepdims=True)
        log_probs = logits - top - np.log(np.exp(logits - top).sum(axis=2, keepdims=True))
        batch, tokens = ids.shape
        at = np.arange(batch)[:, None], np.arange(tokens)[None, :] - 1, ids
        counted = is_answer.copy()
        counted[:, 0] = False
        return np.sum(log_probs[at], axis=1, where=counted)

    @staticmethod
    def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=0.1):
        margins = policy_chosen - policy_rejected - reference_chosen + reference_rejected
        return np.logaddexp.reduce(np.stack([0 * margins, -beta * margins]), axis=0).sum() / margins.size
