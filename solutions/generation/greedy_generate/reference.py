"""Greedy decoding: the most likely token, appended and shown again."""

import torch


@torch.no_grad()
def generate(model, ids, max_new_tokens, context_length, eos_id=None):
    """Append the most likely token until all rows have ended or `max_new_tokens` were taken."""
    was_training = model.training
    model.eval()
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)  # [B]
    for _ in range(max_new_tokens):
        logits = model(ids[:, -context_length:])  # [B, min(T, context_length), V]
        chosen = logits[:, -1].argmax(dim=-1)  # [B]
        if eos_id is not None:
            chosen = chosen.masked_fill(ended, eos_id)  # [B]
            ended = ended | (chosen == eos_id)  # [B]
        ids = torch.cat([ids, chosen[:, None]], dim=1)  # [B, T + 1]
        if eos_id is not None and ended.all():
            break
    model.train(was_training)
    return ids
