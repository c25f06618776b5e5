"""Rafailov et al. 2023, equation 7."""

import numpy as np


def answer_log_probs(logits, ids, is_answer):
    before = logits[:, :-1]  # [B, T - 1, V], the last position predicts nothing that is here
    shifted = before - before.max(axis=-1, keepdims=True)  # [B, T - 1, V]
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # [B, T - 1, V]
    of_ids = np.take_along_axis(log_probs, ids[:, 1:, None], axis=-1)[..., 0]  # [B, T - 1]
    return (of_ids * is_answer[:, 1:]).sum(axis=-1)  # [B]


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=0.1):
    chosen = policy_chosen - reference_chosen  # [N], how much likelier than under the reference
    rejected = policy_rejected - reference_rejected  # [N]
    losses = np.logaddexp(0, -beta * (chosen - rejected))  # [N], -log sigmoid
    return losses.mean()
