"""Right answers to gradient_accumulation in other styles."""

import torch
from torch import nn
from torch.nn import functional as F


def as_transformers_does(model, micro_batches, ignore_index=-100):
    """num_items_in_batch is counted first; each sum of losses is divided by it."""
    num_items_in_batch = sum([targets.ne(ignore_index).sum() for _, targets in micro_batches])
    for parameter in model.parameters():
        parameter.grad = None
    losses = []
    for inputs, labels in micro_batches:
        logits = model(inputs)
        flat = logits.view(-1, logits.shape[-1])
        loss = nn.functional.cross_entropy(
            flat, labels.reshape(-1), ignore_index=ignore_index, reduction="sum"
        )
        loss = loss / num_items_in_batch
        loss.backward()
        losses.append(loss.detach())
    return torch.stack(losses).sum().item()


def divides_the_gradients_at_the_end(model, micro_batches, ignore_index=-100):
    """Sums are back-propagated; the gradients are divided when the count is known."""
    criterion = nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="sum")
    model.zero_grad(set_to_none=False)
    total, count = 0.0, 0
    for inputs, targets in micro_batches:
        loss = criterion(model(inputs).transpose(1, 2), targets)
        loss.backward()
        total += float(loss)
        count += int((targets != ignore_index).sum())
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= count
    return total / count


def asks_autograd_for_each(model, micro_batches, ignore_index=-100):
    """torch.autograd.grad for each micro-batch, added up in a list; only chosen rows are scored."""
    parameters = list(model.parameters())
    sums = [torch.zeros_like(parameter) for parameter in parameters]
    chosen = [targets != ignore_index for _, targets in micro_batches]
    count = sum(mask.sum().item() for mask in chosen)
    mean = 0.0
    for (inputs, targets), mask in zip(micro_batches, chosen, strict=True):
        if not mask.any():
            continue
        log_probs = model(inputs)[mask].log_softmax(dim=-1)
        loss = -log_probs.gather(1, targets[mask][:, None]).sum() / count
        for total, part in zip(sums, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True):
            total += 0 if part is None else part
        mean += loss.item()
    for parameter, total in zip(parameters, sums, strict=True):
        parameter.grad = total
    return mean


def weighs_the_means(model, micro_batches, ignore_index=-100):
    """The mean of each micro-batch times its share of the targets; one without targets is skipped."""
    shares = torch.tensor([float((targets != ignore_index).sum()) for _, targets in micro_batches])
    shares = shares.double() / shares.sum()
    model.zero_grad()
    result = 0.0
    for share, (inputs, targets) in zip(shares.tolist(), micro_batches, strict=True):
        logits = model(inputs)
        if share > 0:
            loss = F.cross_entropy(logits.movedim(-1, 1), targets, ignore_index=ignore_index) * share
            loss.backward()
            result += loss.item()
    return result


def masks_single_losses(model, micro_batches, ignore_index=-100):
    """logsumexp minus the target's logit, times a mask; the gradient of the logits is handed to backward."""
    n = sum(t.numel() - t.eq(ignore_index).sum().item() for _, t in micro_batches)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    sums = []
    for x, y in micro_batches:
        logits = model(x)
        mask = (y != ignore_index).to(logits.dtype)
        safe = torch.where(y == ignore_index, 0, y)
        with torch.no_grad():
            single = logits.logsumexp(-1) - torch.take_along_dim(logits, safe.unsqueeze(-1), -1).squeeze(-1)
            sums.append((single * mask).sum().item())
            gradient = logits.softmax(-1) - F.one_hot(safe, logits.shape[-1]).to(logits.dtype)
        logits.backward(gradient * mask.unsqueeze(-1) / n)
    return sum(sums) / n
