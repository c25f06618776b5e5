"""Vaswani et al. 2017, section 3.4: linear transformation, softmax, the most likely token."""

import numpy as np


def next_token(hidden, output_weight):
    """Logits, probabilities and id of the token after the last position."""
    logits = hidden[-1] @ output_weight  # [V]
    exps = np.exp(logits - logits.max())  # [V]
    probabilities = exps / exps.sum()  # [V]
    return logits, probabilities, int(logits.argmax())
