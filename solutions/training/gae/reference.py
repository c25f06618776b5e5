"""Schulman et al. 2016, section 3."""

import numpy as np


def gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    next_values = np.concatenate([values[:, 1:], last_value[:, None]], axis=1)  # [B, T]
    deltas = rewards + gamma * np.where(dones, 0, next_values) - values  # [B, T]
    advantages = np.zeros_like(deltas)  # [B, T]
    following = np.zeros_like(last_value)  # [B], the advantage of the next step
    for t in reversed(range(rewards.shape[1])):
        following = deltas[:, t] + gamma * lam * np.where(dones[:, t], 0, following)  # [B]
        advantages[:, t] = following
    return advantages, advantages + values
