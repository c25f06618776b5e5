"""As Hugging Face has it: everything below the k-th largest is masked."""

import torch


def top_k_filter(logits, k):
    if k < 1:
        raise ValueError(f"`top_k` has to be a strictly positive integer, but is {k}")
    top_k = min(k, logits.size(-1))
    indices_to_remove = logits < torch.topk(logits, top_k)[0][..., -1, None]
    return logits.masked_fill(indices_to_remove, -float("inf"))
