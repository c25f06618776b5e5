"""Greedy generation in one batch, padded on the left."""

import torch


def batched_generate(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Append the most likely token to every row that has not ended, one call a step."""
    rows = [list(prompt) for prompt in prompts]
    running = list(rows)
    for _ in range(max_new_tokens):
        if not running:
            break
        logits = model(*_padded(running, pad_id))  # [N, V]
        for row, token in zip(running, logits.argmax(dim=-1).tolist(), strict=True):
            row.append(token)
        running = [row for row in running if row[-1] != eos_id]
    return rows


def _padded(rows, pad_id):
    """Return the rows' ids, which of them are real, and their positions; each [N, T]."""
    lengths = torch.tensor([len(row) for row in rows])[:, None]  # [N, 1]
    longest = int(lengths.max())
    ids = torch.tensor([[pad_id] * (longest - len(row)) + row for row in rows])  # [N, T]
    position_ids = torch.arange(longest) - (longest - lengths)  # [N, T]
    return ids, position_ids >= 0, position_ids.clamp(min=0)
