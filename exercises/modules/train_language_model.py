"""The training loop of a language model.

A language model learns to give the next token of every position a high probability. One
step:

    logits = model(inputs)                                     [B, T, V]
    loss   = mean over all B * T positions of  -log softmax(logits)[target]
    the gradient of this loss for every parameter, without that of earlier steps
    the optimiser moves the parameters

The optimiser is AdamW (`torch.optim.AdamW`) with its defaults but for the learning
rate. Its weight decay is one of them: every step also shrinks each weight by the factor
1 - lr * 0.01. (Adam's default is no decay.) One optimiser serves all steps of a call,
for it keeps running means of the gradients.

    inputs   int64 [B, T]
    targets  int64 [B, T], the token after each position; already shifted, as by
             `next_token_pairs`. They may be a slice or a transpose of something else,
             so their memory need not be contiguous.

All rows take part in every step. The model is trained in place and in training mode,
whatever mode it came in.

What comes back is the list of losses, one Python float a step, each of the model
*before* that step's update: the first is the loss of the model as it came. A model that
knows nothing gives all V tokens the same probability and has the loss log V, so look at
the first number before anything else: with V = 65 it should be near 4.17.

Example: two tokens, inputs [[0]], targets [[1]], and a model whose logits are a table
[V, V] of zeros, read at the row of the input. With lr=0.1:

    losses of three steps    0.693, 0.598, 0.513

The first is log 2, and each step moves both logits by 0.1.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, steps=0, evaluation mode, old gradients.

What goes wrong: the loss falls and rises again (gradients add up over the steps); the
first loss is below log V (it was noted after the update); the loss falls and the model
has learnt nothing (a copy was trained); dropout does nothing (evaluation mode); `view`
fails for some targets.

Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", section 2,
algorithm 2; Radford et al. 2018, "Improving Language Understanding by Generative
Pre-Training", section 3.1 (the objective).
"""

import torch
from torch import nn


def train(
    model: nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    steps: int,
    lr: float = 1e-2,
) -> list[float]:
    """Train `model` in place for `steps` steps; return the loss before each of them.

    model:   called as model(inputs), int64 [B, T] -> logits [B, T, V].
    inputs:  int64 [B, T].
    targets: int64 [B, T], already shifted; any memory layout.
    steps:   0 or more.
    lr:      AdamW's learning rate.
    """
    raise NotImplementedError
