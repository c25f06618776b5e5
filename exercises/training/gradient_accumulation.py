"""Gradient accumulation: a large batch in small pieces.

A batch that does not fit into memory is cut into micro-batches. Each goes through the
model by itself and is back-propagated at once, so that only one graph is in memory at a
time; PyTorch adds each gradient to what `.grad` holds already. In the end `.grad` must
hold what the whole batch would have given.

The loss is the mean cross-entropy over all targets that count, those that are not
`ignore_index`:

    count     = how many targets of all micro-batches together count
    loss      = (sum of -log softmax(logits)[target] over these targets) / count
    .grad     = the gradient of this loss with respect to each parameter

Micro-batches differ in shape and in how many targets count, so the mean of their means
is another number: it gives each micro-batch the same weight, and a target in a short
one more than a target in a long one. Trainers that many people use had this fault until
2024.

Example: in one micro-batch three targets count, with the losses 1.0, 1.0, 1.0; in
another one, with 3.0.

    loss   = 6.0 / 4 = 1.5       and each of the four has the weight 1/4 in the gradient
    not      (1.0 + 3.0) / 2 = 2.0

A model's `.grad` may hold something from before the call; it counts for nothing. A
parameter that takes no part in the logits has None or zeros afterwards. The model runs
once for each micro-batch, in the mode in which it comes, and is back-propagated through
before it runs for the next one; a micro-batch without a target that counts may be left
out. No parameter is changed.

Where public code differs: Transformers divides sums by the count of the whole batch
since version 4.46; to divide the gradients by it at the end is as right. To add up the
losses and go backward once gives the same numbers and keeps the graphs of all
micro-batches, which is what this kata is to save.

What goes wrong: the mean of the means; ignored targets in the count; gradients of an
earlier call; NaN from a micro-batch in which no target counts.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, another ignore_index, a micro-batch without a target that counts,
old gradients.

Source: Ott et al. 2018, "Scaling Neural Machine Translation" (delayed updates); Hugging
Face 2024, "Fixing Gradient Accumulation" (the count).
"""

import torch
from torch import nn


def accumulate_gradients(
    model: nn.Module,
    micro_batches: list[tuple[torch.Tensor, torch.Tensor]],
    ignore_index: int = -100,
) -> float:
    """Set each `.grad` to the gradient of the mean loss over all micro-batches.

    model:         called as model(inputs), int64 [B_i, T_i] -> logits [B_i, T_i, V].
    micro_batches: pairs (inputs, targets), int64 [B_i, T_i] each, of different shapes;
                   targets in any memory layout. At least one target counts; in a single
                   micro-batch it may be none.
    ignore_index:  targets of this number do not count; all others are in [0, V). It may
                   be in [0, V) itself.
    returns:       the mean loss, a Python float.
    """
    raise NotImplementedError
