"""As Hugging Face's LabelSmoother has it: log-probabilities, a masked likelihood, a masked mean."""

import numpy as np


def label_smoothing_loss(logits, targets, smoothing=0.1, ignore_index=-100):
    if not 0 <= smoothing <= 1:
        raise ValueError("smoothing is a share")
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = -(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
    padding = (targets == ignore_index)[..., None]
    safe = np.where(padding[..., 0], 0, targets)[..., None]
    nll = np.take_along_axis(log_probs, safe, axis=-1)
    smoothed = log_probs.sum(axis=-1, keepdims=True)
    nll = np.where(padding, 0.0, nll)
    smoothed = np.where(padding, 0.0, smoothed)
    active = padding.size - padding.sum()
    nll, smoothed = nll.sum() / active, smoothed.sum() / (active * log_probs.shape[-1])
    return (1 - smoothing) * nll + smoothing * smoothed
