"""As in nanoGPT: the loss by view(-1, V), gradients set to None at the end of each step."""

import torch
from torch.nn import functional as F


def train(model, inputs, targets, steps, lr=1e-2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    was_training = model.training
    model.train()
    losses = []
    optimizer.zero_grad(set_to_none=True)
    for _ in range(steps):
        logits = model(inputs)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    model.train(was_training)
    return losses
