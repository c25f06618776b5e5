"""LoRA: a frozen layer learns by two thin matrices.

Fine-tuning all weights of a large model takes as much memory again for gradients and
for the optimizer's state. LoRA freezes the model and adds to a linear layer the product
of two thin matrices, which alone are trained. With d_in = d_out = 4096 and rank 8 these
are 65,536 numbers in place of 16.8 million. In use the product can be added to the
weight, and then the layer costs what it cost before:

    y       = base(x) + alpha / rank * (x lora_a^T) lora_b^T    [..., d_out]
    merged: base.weight' = base.weight + alpha / rank * lora_b lora_a,   y = base(x)

    base    the nn.Linear that is given, with or without a bias: the same object,
            not a copy
    lora_a  nn.Parameter [rank, d_in];   no row of it begins as zeros
    lora_b  nn.Parameter [d_out, rank];  begins as zeros: the layer begins as its base

The names are part of the contract, for weights are loaded by name. The constructor
freezes `base`, its weight and its bias, whether they were trainable or not, and they
stay frozen. The factors are always trainable, and have the dtype and the device of
base.weight. `rank` may exceed d_in and d_out.

`merge()` changes base.weight in place; it remains the same Parameter. `unmerge()` takes
out what was added: the weight is what it was, within rounding. Each has no effect where
it is done already. A call costs:

    not merged  at most twice what the two thin products take, beyond what base(x) takes
    merged      what base(x) takes

Example: base is the 2 x 2 identity without a bias, rank 1, alpha 2, lora_a = [[1, 1]],
lora_b = [[1], [0]]. Then x = [1, 2] gives [1, 2] + 2 * [3, 0] = [7, 2]. Merged,
base.weight is [[3, 2], [0, 1]], and x gives the same.

Elsewhere: PEFT has these matrices as `lora_A.weight` and `lora_B.weight`. loralib
merges in eval(); here only the two methods merge. rsLoRA divides alpha by the root of
the rank.

What goes wrong: the update counts twice after merge(); a second merge() adds it again;
the bias of the base keeps learning; the product lora_b lora_a is made at every call,
which costs more than the base itself.

Not graded: loading weights and gradients while merged, how lora_a is drawn, what merge
and unmerge return, and what train() and eval() do.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models",
section 4.1.
"""

import torch
from torch import nn


class LoRALinear(nn.Module):
    """A frozen nn.Linear and an update of low rank: [..., d_in] -> [..., d_out].

    Raises ValueError for rank < 1.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., d_in] -> [..., d_out], in the dtype of x, merged or not."""
        raise NotImplementedError

    def merge(self) -> None:
        """Add the update to base.weight, unless that is done already."""
        raise NotImplementedError

    def unmerge(self) -> None:
        """Take the update out of base.weight again, if it is in there."""
        raise NotImplementedError
