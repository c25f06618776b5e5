"""Sinusoidal positions as a PyTorch module: a table that it keeps and does not learn.

The Transformer of 2017 tells positions apart by a fixed table of waves. Each pair of
columns is a hand of a clock: column 2i is the sine and column 2i+1 the cosine of the
same angle, and from pair to pair the hands go slower, from one radian a position down
to nearly 1/10000:

    pe[0, pos, 2i]   = sin(pos / 10000^(2i / d_model))
    pe[0, pos, 2i+1] = cos(pos / 10000^(2i / d_model))     an odd d_model ends on a sine
    forward(x)       = x + the first T rows of the table

    x     [B, T, d_model]     T <= max_len
    pe    [1, max_len, d_model]

The table is a *buffer* called `pe`: it is made once, in the constructor, and moves with
the module when that is sent to a GPU or cast to another dtype. It is no parameter, for
no optimiser may change it, and no plain attribute, for that would stay behind. x is
neither scaled nor changed. The result has the dtype of x, so with a float32 x the table
is float32 (float64 would widen the sum). It may be computed in float32 too, which is
right to 1e-5 for the first 64 positions, and to 1e-3 for the last of 5000.

Example: d_model 4, so the two angles are pos and pos / 100.

    pe[0, :3] = [[0.0,   1.0,    0.0,  1.0  ],
                 [0.841, 0.540,  0.01, 1.0  ],
                 [0.909, -0.416, 0.02, 1.0  ]]

What goes wrong: an odd d_model raises (one cosine too many); the columns of sines and
cosines stand in two halves and not in turn; a cosine has an angle of its own, and its
pair no longer is one hand; the position is read along the batch, which goes unnoticed
as long as the batch is as long as the text; the optimiser trains the table; checkpoints
load and the first step on a GPU raises.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, odd widths, calls after other calls, another device than the CPU.
For float64 input the module is cast to float64, for another device it is moved there.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
"""

import torch
from torch import nn


class SinusoidalPositionalEncoding(nn.Module):
    """Adds the buffer `pe [1, max_len, d_model]` to its input. It has no parameters."""

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x [B, T, d_model]` plus the table's first T rows; T is at most max_len."""
        raise NotImplementedError
