"""Temperature sampling: one draw a row from the softmax of the divided logits."""

import torch


def sample(logits, temperature, generator=None):
    """Greedy at 0, else a draw from softmax(logits / temperature)."""
    if temperature < 0:
        raise ValueError(f"temperature={temperature} must not be negative: it would favour the unlikely.")
    if temperature == 0:
        return logits.argmax(dim=-1)  # [B]
    probabilities = (logits / temperature).softmax(dim=-1)  # [B, V]
    return torch.multinomial(probabilities, num_samples=1, generator=generator).squeeze(-1)  # [B, 1] -> [B]
