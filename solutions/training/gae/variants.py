"""Right answers to gae in other styles."""

import numpy as np


def by_mixed_returns(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """Another way: compute the returns first, each a mixture of the next value and the next return."""
    returns = np.empty_like(rewards)
    next_value = next_return = last_value
    for t in range(rewards.shape[1] - 1, -1, -1):
        mixture = (1 - lam) * next_value + lam * next_return
        mixture[dones[:, t]] = 0
        next_return = rewards[:, t] + gamma * mixture
        returns[:, t] = next_return
        next_value = values[:, t]
    return returns - values, returns


def as_a_sum_of_weights(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """One matrix of weights for each row: (gamma * lam) ** (s - t) where t and s are in one episode."""
    steps = np.arange(rewards.shape[1])
    alive = (~dones).astype(rewards.dtype)
    ahead = np.roll(values, -1, axis=1)
    ahead[:, -1] = last_value
    deltas = rewards - values + alive * ahead * rewards.dtype.type(gamma)
    episode = np.cumsum(dones, axis=1) - dones
    distance = steps[None, :] - steps[:, None]
    weights = np.where(distance >= 0, (gamma * lam) ** np.maximum(distance, 0), 0.0)
    together = episode[:, :, None] == episode[:, None, :]
    advantages = np.einsum("bts,bs->bt", weights * together, deltas).astype(rewards.dtype)
    return [advantages, advantages + values]


def step_by_step(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """Rows and steps in Python's own floats, forward from every step until its episode ends."""
    advantages, returns = np.zeros_like(rewards), np.zeros_like(rewards)
    batch, length = rewards.shape
    for b in range(batch):
        for start in range(length):
            total, weight = 0.0, 1.0
            for t in range(start, length):
                total += weight * (float(rewards[b, t]) - float(values[b, t]))
                if dones[b, t]:
                    break
                after = values[b, t + 1] if t + 1 < length else last_value[b]
                total += weight * gamma * float(after)
                weight *= gamma * lam
            advantages[b, start] = total
            returns[b, start] = total + float(values[b, start])
    return advantages, returns


def one_episode_after_another(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """Cut each row into episodes, in float64; cast back at the end."""
    advantages = np.zeros(rewards.shape)
    for b in range(len(rewards)):
        ends = sorted({*(np.flatnonzero(dones[b]) + 1).tolist(), rewards.shape[1]})
        for start, end in zip([0, *ends], ends, strict=False):
            after = 0.0 if dones[b, end - 1] else last_value[b]
            v = np.append(values[b, start:end], after).astype(np.float64)
            deltas = rewards[b, start:end] + gamma * v[1:] - v[:-1]
            for t in range(len(deltas)):
                powers = (gamma * lam) ** np.arange(len(deltas) - t)
                advantages[b, start + t] = powers @ deltas[t:]
    returns = advantages + values
    return advantages.astype(rewards.dtype), returns.astype(rewards.dtype)
