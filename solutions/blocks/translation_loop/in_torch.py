"""Sutskever, Vinyals and Le 2014, section 2, greedy, with logits that are a tensor of PyTorch."""

from collections.abc import Callable

import torch


def translate(
    next_logits: Callable[[list[int]], torch.Tensor], start_id: int, end_id: int, max_steps: int = 10
) -> list[int]:
    ids = [start_id]
    for _ in range(max_steps):
        logits = next_logits(list(ids))  # [V]
        ids.append(logits.argmax().item())
        if ids[-1] == end_id:
            break
    return ids
