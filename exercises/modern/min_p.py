"""A threshold that follows the most likely token.

TODO: say the idea in the field's terms, the formula, and the shape of every argument and result

Example: TODO: give a small one with its numbers, worked out by hand

What goes wrong: TODO: tell the symptoms that a learner will see

Source: Nguyen et al. 2024, section 3.
"""

import torch


def min_p_filter(logits: torch.Tensor, p: float) -> torch.Tensor:
    """TODO: say in one line what it does.

    logits:   TODO: say shape, dtype and values of logits
    p:        TODO: say shape, dtype and values of p
    returns:  TODO: say shape and dtype of the result
    """
    raise NotImplementedError
