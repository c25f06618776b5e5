"""Nucleus filtering: the smallest set of most likely tokens that holds the mass p."""


def top_p_filter(logits, p):
    """Keep each row's nucleus, drop the rest to -inf."""
    if p <= 0:
        raise ValueError(f"p={p} must be above 0: an empty nucleus leaves nothing to sample.")
    if p >= 1:
        return logits.clone()  # [..., V]
    ordered, order = logits.sort(dim=-1, descending=True)  # [..., V], [..., V]
    probabilities = ordered.softmax(dim=-1)  # [..., V], largest first
    mass_before = probabilities.cumsum(dim=-1) - probabilities  # [..., V]
    dropped_in_order = mass_before >= p  # [..., V]
    dropped = dropped_in_order.scatter(-1, order, dropped_in_order)  # [..., V], each token in its place
    return logits.masked_fill(dropped, float("-inf"))  # [..., V]
