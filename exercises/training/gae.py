"""Generalized advantage estimation: how much better was this step than expected?

Reinforcement learning makes an action more likely if it went better than expected. What
was expected is the value of the state, which a second model predicts. How it went can
be taken from one step (one reward and the next value: little noise, but as wrong as the
values are) or from all rewards that follow (right on average, but noisy). GAE mixes all
lengths, with weights that fall by the factor gamma * lam a step. PPO, and with it much
of the training of language models from human feedback, uses it.

    next_value[t]  =  values[t + 1],  and last_value at the last step
    delta[t]       =  reward[t] + gamma * next_value[t] - values[t]
    advantage[t]   =  delta[t] + gamma * lam * advantage[t + 1],  0 after the last step
    returns[t]     =  advantage[t] + values[t]

Each row is a stretch of T steps. dones[t] is True where an episode ended with step t:
what follows it in the row belongs to a new episode. So at such a step next_value
and advantage[t + 1] both count as 0, and the reward of the step itself counts as ever.
The values of the steps do not include last_value, the value of the state after the
last step; if the row ends with the end of an episode, last_value has no effect.

Example: rewards [1, 0, 2], values [0.5, 1, 1], last_value 4, gamma = lam = 0.5.

    dones          deltas           advantages            returns
    [F, F, F]      [1, -0.5, 3]     [1.0625, 0.25, 3]     [1.5625, 1.25, 4]
    [F, F, T]      [1, -0.5, 1]     [0.9375, -0.25, 1]    [1.4375, 0.75, 2]
    [F, T, F]      [1, -1,   3]     [0.75,   -1,   3]     [1.25,   0,    4]

Where public code differs: some rollout buffers note at step t whether the episode ended
with the step before (the observation is the first of an episode), so their flags stand
one step later. Many trainers bring the advantages to mean 0 and deviation 1 afterwards;
this function does not.

What goes wrong: the end of an episode cuts the next value and not the recursion, or the
other way round; the last step gets no next value, or an advantage of 0.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, gamma or lam left out, a row that ends with the end of an episode.

Source: Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized
Advantage Estimation", section 3.
"""

import numpy as np


def gae(
    rewards: np.ndarray,
    values: np.ndarray,
    dones: np.ndarray,
    last_value: np.ndarray,
    gamma: float = 0.99,
    lam: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the advantage and the return of every step.

    rewards:    [B, T], the reward of each step; float32 or float64.
    values:     [B, T], the predicted value of the state before each step.
    dones:      bool [B, T], True where an episode ended with the step.
    last_value: [B], the predicted value of the state after the last step.
    gamma:      the discount, from 0 to 1.
    lam:        the weight of longer estimates, from 0 to 1.
    returns:    the tuple (advantages, returns), each [B, T], in the dtype of rewards.

    The float arrays are all float32 or all float64. No argument is changed.
    """
    raise NotImplementedError
