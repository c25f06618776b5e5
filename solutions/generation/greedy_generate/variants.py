"""Right answers to greedy_generate in other styles."""

import torch


def buffer_and_slices(model, ids, max_new_tokens, context_length, eos_id=None):
    """Another way: make a buffer for the whole result and fill it column by column.

    A buffer for the whole result, filled column by column; inference mode; try and finally.
    """
    mode = model.training
    batch, prompt = ids.shape
    text = torch.empty(batch, prompt + max_new_tokens, dtype=torch.long, device=ids.device)
    text[:, :prompt] = ids
    alive = torch.ones(batch, 1, dtype=torch.bool, device=ids.device)
    at = prompt
    model.eval()
    try:
        with torch.inference_mode():
            while at < text.size(1):
                logits = model(text[:, max(0, at - context_length) : at])
                new = torch.topk(logits[:, -1, :], k=1, dim=-1).indices
                if eos_id is not None:
                    new = torch.where(alive, new, torch.full_like(new, eos_id))
                    alive &= new != eos_id
                text[:, at : at + 1] = new
                at += 1
                if not alive.any():
                    break
    finally:
        model.train(mode)
    return text[:, :at]


def row_by_row(model, ids, max_new_tokens, context_length, eos_id=None):
    """Each row alone, as a Python list; padded with eos_id to the longest at the end."""
    was_training = model.training
    model.train(False)
    rows = []
    for prompt in ids.tolist():
        row = list(prompt)
        for _ in range(max_new_tokens):
            with torch.no_grad():
                window = torch.tensor([row[-context_length:]], device=ids.device)
                row.append(int(model(window)[0, -1].argmax()))
            if row[-1] == eos_id:
                break
        rows.append(row)
    model.train(was_training)
    longest = max(map(len, rows))
    return torch.tensor([row + [eos_id] * (longest - len(row)) for row in rows], device=ids.device)


def probabilities_and_multiplication(model, ids, max_new_tokens, context_length, eos_id=None):
    """The argmax of a softmax in float64; ended rows are filled by multiplying with a mask."""
    states = [(module, module.training) for module in model.modules()]
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    model.eval()
    unfinished = ids.new_ones(ids.shape[0])
    result = ids.clone()
    for _ in range(max_new_tokens):
        window = result if result.size(1) <= context_length else result[:, -context_length:]
        probabilities = torch.softmax(model(window)[:, -1, :].double(), dim=-1)
        _, following = probabilities.max(dim=-1)
        if eos_id is not None:
            following = following * unfinished + eos_id * (1 - unfinished)
            unfinished = unfinished * (following != eos_id).long()
        result = torch.cat((result, following.unsqueeze(1)), dim=1)
        if unfinished.max() == 0:
            break
    torch.set_grad_enabled(previous)
    for module, mode in states:
        module.training = mode
    return result


def only_rows_that_go_on(model, ids, max_new_tokens, context_length, eos_id=None):
    """Ended rows are no longer shown to the model; columns are collected in a list."""
    training = model.training
    model.eval()
    columns = list(ids.unbind(dim=1))
    running = torch.arange(ids.shape[0], device=ids.device)
    for _ in range(max_new_tokens):
        if len(running) == 0:
            break
        window = torch.stack(columns[-context_length:], dim=1)[running]
        with torch.no_grad():
            new = model(window)[:, -1].argmax(-1)
        column = torch.full_like(columns[0], 0 if eos_id is None else eos_id)
        column[running] = new
        columns.append(column)
        if eos_id is not None:
            running = running[new != eos_id]
    if training:
        model.train()
    return torch.stack(columns, dim=1)
