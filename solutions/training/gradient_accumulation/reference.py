"""One micro-batch at a time, each sum of losses divided by the count of all."""

from torch.nn import functional as F


def accumulate_gradients(model, micro_batches, ignore_index=-100):
    count = sum((targets != ignore_index).sum() for _, targets in micro_batches)  # []
    model.zero_grad()
    mean = 0.0
    for inputs, targets in micro_batches:
        logits = model(inputs).flatten(0, 1)  # [B_i * T_i, V]
        total = F.cross_entropy(logits, targets.flatten(), ignore_index=ignore_index, reduction="sum")  # []
        loss = total / count  # [], this micro-batch's share of the mean
        loss.backward()
        mean += loss.item()
    return mean
