"""Right answers to train_language_model in other styles."""

import torch
from torch import nn


def classes_in_the_middle(model, inputs, targets, steps, lr=1e-2):
    """nn.CrossEntropyLoss on [B, V, T]; gradients set to zero in place."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr)
    model.train(True)
    losses = []
    while len(losses) < steps:
        loss = criterion(model(inputs).transpose(1, 2), targets)
        losses.append(float(loss))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    return losses


def gathered_log_probabilities(model, inputs, targets, steps, lr=1e-2):
    """The loss written out with gather; contiguous views; the mode is put back."""
    was_training = model.training
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    losses = torch.zeros(steps, dtype=torch.float64)
    for step in range(steps):
        for parameter in model.parameters():
            parameter.grad = None
        log_probabilities = torch.log_softmax(model(inputs), dim=-1)
        chosen = torch.gather(log_probabilities, 2, targets.contiguous().view(*targets.shape, 1))
        loss = -chosen.sum() / targets.numel()
        loss.backward()
        optimizer.step()
        losses[step] = loss.detach()
    model.train(was_training)
    return losses.tolist()


def adamw_written_out(model, inputs, targets, steps, lr=1e-2):
    """AdamW by hand: decay, running means, their corrections."""
    model.train()
    parameters = list(model.parameters())
    means = [torch.zeros_like(p) for p in parameters]
    squares = [torch.zeros_like(p) for p in parameters]
    losses = []
    for step in range(1, steps + 1):
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g, mean, square in zip(parameters, gradients, means, squares, strict=True):
                p.mul_(1 - lr * 0.01)
                mean.mul_(0.9).add_(g, alpha=0.1)
                square.mul_(0.999).addcmul_(g, g, value=0.001)
                root = (square / (1 - 0.999**step)).sqrt() + 1e-8
                p.sub_(lr * (mean / (1 - 0.9**step)) / root)
        losses.append(loss.item())
    return losses


def closures(model, inputs, targets, steps, lr=1e-2):
    """The step takes a closure that computes the loss; one element at a time in the batch's mean."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, foreach=False)

    def closure():
        optimizer.zero_grad()
        rows = zip(model(inputs), targets, strict=True)
        loss = torch.stack([nn.functional.cross_entropy(logits, row) for logits, row in rows]).mean()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)]
