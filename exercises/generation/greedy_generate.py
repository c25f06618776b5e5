"""Greedy generation: a model writes on, one token at a time.

A decoder gives, for each position, the logits of the token that comes next. Generating
is a loop around it: show it what stands there so far, read the logits of the *last*
position, append the most likely token, and show it the longer text. Nothing is drawn at
random, so the same prompt always gives the same text.

    window  = the last context_length ids            [B, min(T, context_length)]
    logits  = model(window)                          [B, min(T, context_length), V]
    next    = argmax of logits at the last position  [B]
    ids     = ids with next behind it                [B, T + 1]

A model knows only so many positions, so it is never shown more than `context_length`
ids; the text itself keeps everything, prompt included.

Rows of a batch end at different times. With an `eos_id` (end of sequence), the row that
generates it has ended, and from then on gets `eos_id` at every step, whatever the model
says. Once all rows have ended the loop ends too. An `eos_id` in the prompt ends
nothing: only a generated one does.

Generating is no training: the model runs in evaluation mode (dropout would make the
text random) and with gradients disabled (autograd would keep every step's activations).
Whoever calls `generate` in the middle of training finds the model in the mode in which
it was (all its modules are in one), and gradients enabled or disabled as they were.

Example: a model with four tokens, for which the token after id is (id + 1) mod 4.

    generate(model, [[2]], 3, 8)                 [[2, 3, 0, 1]]
    generate(model, [[2], [1]], 9, 8, eos_id=0)  [[2, 3, 0, 0],
                                                  [1, 2, 3, 0]]
    generate(model, [[0]], 2, 8, eos_id=0)       [[0, 1, 2]]

In the second call row 0 ends after two steps, and the loop goes on for row 1. In the
third the 0 of the prompt ends nothing.

What goes wrong: an index error after a few dozen tokens (the window is not cut); the
text differs from run to run (dropout is on); memory grows with every token (gradients);
training gets worse after the first sample is printed (the model is left in evaluation
mode); all texts of a batch stop with the shortest.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, an eos_id of 0, no new tokens, a vocabulary of 50,257 tokens,
another device than the CPU.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 (auto-regressive:
the symbols generated so far are the next step's input); Radford et al. 2019, "Language
Models are Unsupervised Multitask Learners", section 2 (generation from a context of
fixed size).
"""

import torch
from torch import nn


def generate(
    model: nn.Module,
    ids: torch.Tensor,
    max_new_tokens: int,
    context_length: int,
    eos_id: int | None = None,
) -> torch.Tensor:
    """The prompt with up to `max_new_tokens` most likely tokens behind it.

    model:          called as model(window), int64 [B, T'] -> logits [B, T', V], T' <=
                    context_length.
    ids:            the prompt, int64 [B, T].
    max_new_tokens: 0 or more.
    context_length: the most ids that the model is ever shown, 1 or more.
    eos_id:         the token that ends a row once it is generated; None: rows never
                    end.
    returns:        int64 [B, T + n]; n is max_new_tokens, or fewer if all rows have
                    ended before.
    """
    raise NotImplementedError
