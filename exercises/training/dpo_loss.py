"""Direct preference optimization: learning from pairs of answers.

People say which of two answers to a prompt is better. To learn from such pairs one used
to train a reward model and then a policy by reinforcement learning. DPO needs neither:
it is a classification loss on the log-probabilities of the two answers, under the model
that learns (the policy) and under the frozen model that it began as (the reference).

First comes the log-probability of an answer. Logits at position t predict token t + 1:

    answer_log_probs  =  sum over t >= 1 with is_answer[t] of
                         log_softmax(logits[t - 1])[ids[t]]                          [B]

The tokens of the prompt and of the padding have is_answer False and add nothing. The
first token is predicted by no position, so it adds nothing whatever is_answer[0] says.
The sum is not divided by its length; a row without an answer gets 0. Then the loss:

    margin    =  (policy_chosen - reference_chosen)
                 - (policy_rejected - reference_rejected)                            [N]
    dpo_loss  =  the average over the N pairs of  - log sigmoid(beta * margin)

Example: V = 3 and one row, ids [2, 0, 1], logits [[9, 9, 0], [0, 2, 0], [5, 5, 5]].

    is_answer [F, F, T]   -0.240             2 - log(e^0 + e^2 + e^0)
    is_answer [F, T, T]   -0.693 - 0.240 = -0.933
    is_answer [T, T, T]   -0.933             token 0 has no prediction

Example: two pairs, beta = 0.5.

    policy     chosen [-10, -7]   rejected [-12, -4]
    reference  chosen [-11, -7]   rejected [-11, -4]
    margins    [2, 0]             losses [0.313, 0.693]      dpo_loss 0.503

Where public code differs: some losses (SimPO, an option of some DPO trainers) divide an
answer's log-probability by its number of tokens. Many trainers mark tokens to ignore by
labels of -100 in place of a mask.

What goes wrong: logits at t are read for token t; the prompt is counted; the log of a
sigmoid becomes infinite for a margin that is far below 0.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme logits, extreme margins, an answer that begins at the first token.

Source: Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is
Secretly a Reward Model", section 4, equation 7.
"""

import numpy as np


def answer_log_probs(
    logits: np.ndarray,
    ids: np.ndarray,
    is_answer: np.ndarray,
) -> np.ndarray:
    """Sum the log-probabilities of the tokens of each row's answer.

    logits:    [B, T, V], float32 or float64, finite, of any size; T is at least 2.
    ids:       [B, T], of any integer dtype, each a token in [0, V).
    is_answer: bool [B, T], True at the tokens of the answer.
    returns:   [B], in the dtype of logits.

    No array is changed.
    """
    raise NotImplementedError


def dpo_loss(
    policy_chosen: np.ndarray,
    policy_rejected: np.ndarray,
    reference_chosen: np.ndarray,
    reference_rejected: np.ndarray,
    beta: float = 0.1,
) -> float:
    """Average the DPO loss over pairs of answers.

    policy_chosen, policy_rejected:       [N], the policy's log-probability of the
                                          better and of the worse answer of each pair.
    reference_chosen, reference_rejected: [N], the same under the reference.
    beta:    above 0, how strongly the policy is held to the reference.
    returns: one number, a Python or NumPy float.

    All arrays are float32 or all are float64; none is changed.
    """
    raise NotImplementedError
