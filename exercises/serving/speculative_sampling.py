"""Speculative sampling: guess ahead, check once, change nothing.

A large model (the target) needs one run for each token, and most of its time is spent
reading its weights. A small model (the draft) guesses the next K tokens one after the
other. The target then looks at all of them in one run, and keeps as many as its own
probabilities allow. The text is distributed exactly as if the target had written it
alone, whatever the draft guesses; a good draft only makes it faster.

One step, for the drafted tokens i = 0 ... K - 1:

    accept token i    where uniforms[i] < target_probs[i, token] / draft_probs[i, token]
    the first that is not accepted is replaced by a token drawn from
                      max(0, target_probs[i] - draft_probs[i]), divided by its sum   [V]
    and the step ends. If all are accepted, one more is drawn from target_probs[K]   [V]

A draw takes the last of the uniforms, u: the first token whose cumulative probability
exceeds u.

Example: K = 1, two tokens in the vocabulary, drafted [0].

    target_probs = [[0.5, 0.5], [0.1, 0.9]]    draft_probs = [[0.8, 0.2]]
    token 0 is accepted below 0.5 / 0.8 = 0.625
    uniforms [0.5, 0.7]     [0, 1]       0.1 does not exceed 0.7, and 0.1 + 0.9 does
    uniforms [0.5, 0.05]    [0, 0]
    uniforms [0.7, 0.3]     [1]          max(0, [-0.3, 0.3]) leaves token 1 alone

The text is made in rounds. Each round drafts `num_draft` tokens, runs the target once
on all ids so far and the drafted ones, and takes a step. Round r reads row r of
`uniforms`: its first num_draft numbers draw the draft's tokens one after the other, by
the same rule as above; the other num_draft + 1 are those of the step. Every round
drafts num_draft tokens, the last one too; what goes beyond `max_new_tokens` is cut off.

Where public code differs: Leviathan et al. call the target p and the draft q, Chen
et al. the other way round. Some programs draft fewer tokens in the last round, or run
the draft once more to fill its cache; the draft may run as often as you like here. A
uniform within 0.001 of a ratio or of a cumulative probability is not graded, so `<` or
`<=` is the same; the last sum, 1 but for rounding, is one of these.

What goes wrong: the replacement is drawn from the target itself, and likely tokens come
too often; tokens behind the first that was refused are kept; the token after the last
accepted one is forgotten.

Edge cases with their own checks: tensors that are not contiguous, float64,
max_new_tokens=0.

Source: Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via
Speculative Decoding", section 2.3 and algorithm 1; Chen et al. 2023, "Accelerating
Large Language Model Decoding with Speculative Sampling", algorithm 2.
"""

from collections.abc import Callable

import torch


def speculative_step(
    target_probs: torch.Tensor,
    draft_probs: torch.Tensor,
    draft_ids: torch.Tensor,
    uniforms: torch.Tensor,
) -> torch.Tensor:
    """Accept as many drafted tokens as the target allows, and add one of the target's.

    target_probs: [K + 1, V], the target's probabilities at each drafted token and after
                  the last.
    draft_probs:  [K, V], the draft's; that of each drafted token is above 0. All rows
                  sum to 1.
    draft_ids:    int64 [K], the drafted tokens; K >= 1.
    uniforms:     [K + 1], in (0, 1), in the dtype of the probabilities.
    returns:      int64 [accepted + 1], the accepted tokens and the one that was drawn.
    """
    raise NotImplementedError


def speculative_generate(
    target: Callable[[torch.Tensor], torch.Tensor],
    draft: Callable[[torch.Tensor], torch.Tensor],
    prompt: torch.Tensor,
    max_new_tokens: int,
    num_draft: int,
    uniforms: torch.Tensor,
) -> torch.Tensor:
    """Continue the prompt as the target would, with one run of it for each round.

    target, draft:  take ids, int64 [T], and return [T, V]: after each position the
                    probabilities of the next token, in the dtype of `uniforms`.
    prompt:         int64 [T], T >= 1.
    max_new_tokens: 0 or more; with 0 neither model is called.
    num_draft:      how many tokens each round drafts, at least 1.
    uniforms:       [R, 2 * num_draft + 1] with R >= max_new_tokens and R >= 1; row r
                    belongs to round r.
    returns:        int64 [T + max_new_tokens], the prompt and the new tokens.
    """
    raise NotImplementedError
