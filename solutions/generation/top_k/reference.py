"""Top-k filtering: each row's k largest logits, all else out of reach."""


def top_k_filter(logits, k):
    """Keep the k largest logits of each row, drop the rest to -inf."""
    if k < 1:
        raise ValueError(f"k={k} must be at least 1: without any token there is nothing to sample.")
    largest = logits.topk(min(k, logits.shape[-1]), dim=-1).values  # [..., min(k, V)], largest first
    threshold = largest[..., -1:]  # [..., 1], the smallest logit that is kept
    return logits.masked_fill(logits < threshold, float("-inf"))  # [..., V]
