"""Group relative policy optimization: reinforcement learning without a value model.

PPO needs a second model that predicts how good an answer will be. GRPO asks the model
for a group of answers to each prompt instead, and takes the average reward of the group
for what was to be expected. The models that learned to reason by rewards for right
results were trained like this. First the advantages, each group by itself:

    advantage  =  (reward - mean of the group) / (standard deviation of the group)

The deviation is the root of the mean of the squared differences: it divides by G, not
by G - 1, and nothing is added to it. A group of equal rewards teaches nothing: all its
advantages are 0. Then the loss, over N answers of up to T tokens:

    ratio       =  exp(log_probs - old_log_probs)                                 [N, T]
    gain        =  the smaller of  ratio * advantage  and
                   (ratio, limited to 1 - clip ... 1 + clip) * advantage          [N, T]
    kl          =  exp(reference_log_probs - log_probs)
                   - (reference_log_probs - log_probs) - 1                        [N, T]
    of answer   =  the average of gain - kl_weight * kl over the answer's tokens     [N]
    grpo_loss   =  minus the average over the N answers

All tokens of an answer have the answer's advantage. `mask` is True at the tokens of the
answer; the other positions hold any finite numbers and do not count. The limit holds on
one side alone. For a good answer (advantage above 0) a ratio above 1 + clip counts as
1 + clip, and for a bad one a ratio below 1 - clip counts as 1 - clip: there is nothing
more to gain. All other ratios count as they are.

Example: rewards [[1, 0, 0, 1], [2, 2, 2, 2]] have the advantages
[[1, -1, -1, 1], [0, 0, 0, 0]].

Example: clip = 0.2, advantages [1, -1], ratios [[1.5, 1], [1.5, masked]].

    gains      [[1.2, 1], [-1.5, -]]    averages [1.1, -1.5]    kl_weight 0: loss 0.2
    kl         [[0.072, 0], [0.072, -]]  where reference and old log-probabilities are
                                         the same               kl_weight 0.1: 0.205

Where public code differs: many trainers divide by the deviation with G - 1 and add 1e-4
to it. DAPO averages over all tokens of the batch, so that long answers count more. Dr.
GRPO neither divides by the deviation nor by an answer's length.

What goes wrong: the larger of the two products is taken; deviation or average run over
the whole batch; a large difference at a masked position makes the loss NaN.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, groups of equal rewards, masked positions that hold large numbers, clip or
kl_weight left out.

Source: Shao et al. 2024, "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in
Open Language Models", sections 4.1.1 (equations 3 and 4) and 4.1.2.
"""

import numpy as np


def group_advantages(rewards: np.ndarray) -> np.ndarray:
    """Compare each reward with those of its group.

    rewards: [P, G], the rewards of G answers to each of P prompts; float32 or float64.
             G is at least 2. Within a group the rewards are all equal, or their
             standard deviation is at least 0.001.
    returns: [P, G], in the dtype of rewards.

    The array is not changed. Equal rewards whose average is rounded are not graded.
    """
    raise NotImplementedError


def grpo_loss(
    log_probs: np.ndarray,
    old_log_probs: np.ndarray,
    reference_log_probs: np.ndarray,
    advantages: np.ndarray,
    mask: np.ndarray,
    clip: float = 0.2,
    kl_weight: float = 0.04,
) -> float:
    """Return the GRPO loss of a batch of answers.

    log_probs:           [N, T], the log-probability of each token under the policy.
    old_log_probs:       [N, T], the same under the policy that wrote the answers.
    reference_log_probs: [N, T], the same under the frozen reference.
    advantages:          [N], one for each answer.
    mask:                bool [N, T], True at the tokens of the answer, anywhere in the
                         row, at least one in each row. At these the log-probabilities
                         lie between -20 and 0.
    clip:                how far a ratio pays; above 0 and below 1.
    kl_weight:           the weight of the divergence from the reference, 0 or more.
    returns:             one number, a Python or NumPy float.

    The float arrays are all float32 or all float64. No argument is changed.
    """
    raise NotImplementedError
