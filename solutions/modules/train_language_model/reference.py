"""Next-token cross-entropy, the whole batch, AdamW."""

import torch
from torch.nn import functional as F


def train(model, inputs, targets, steps, lr=1e-2):
    """Train in place; the loss before each update."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        logits = model(inputs)  # [B, T, V]
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # []
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
