"""Nguyen et al. 2024, section 3: a share of the largest probability."""


def min_p_filter(logits, p):
    """Drop to -inf what is less than p times as likely as the row's most likely token."""
    if not 0 <= p <= 1:
        raise ValueError(f"p={p} must lie between 0 and 1: it is a share of the largest probability.")
    probabilities = logits.softmax(dim=-1)  # [..., V]
    threshold = p * probabilities.amax(dim=-1, keepdim=True)  # [..., 1]
    return logits.masked_fill(probabilities < threshold, float("-inf"))  # [..., V]
