"""Shao et al. 2024, equations 3 and 4."""

import numpy as np


def group_advantages(rewards):
    centred = rewards - rewards.mean(axis=-1, keepdims=True)  # [P, G]
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True))  # [P, 1]
    return centred / np.where(deviation == 0, 1, deviation)  # [P, G]


def grpo_loss(log_probs, old_log_probs, reference_log_probs, advantages, mask, clip=0.2, kl_weight=0.04):
    ratio = np.exp(np.where(mask, log_probs - old_log_probs, 0))  # [N, T]
    limited = np.clip(ratio, 1 - clip, 1 + clip)  # [N, T]
    gain = np.minimum(ratio * advantages[:, None], limited * advantages[:, None])  # [N, T]
    to_reference = np.where(mask, reference_log_probs - log_probs, 0)  # [N, T]
    kl = np.exp(to_reference) - to_reference - 1  # [N, T], never below 0
    of_token = (gain - kl_weight * kl) * mask  # [N, T]
    of_answer = of_token.sum(axis=1) / mask.sum(axis=1)  # [N]
    return -of_answer.mean()
