"""As Hugging Face has it: gather, where by the sign, scatter."""

import torch


def repetition_penalty(logits, ids, penalty):
    if penalty <= 0:
        raise ValueError("the penalty is above 0")
    score = torch.gather(logits, 1, ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, ids, score)
